//! `fingertip bench`: how fast is the step on this scene and machine?

mod report;
mod work;

use fingertip::description::{PairRule, Scene};
use fingertip::math::lane::InstructionSet;
use fingertip::show::Source;
use fingertip::step::{Form, Quasidynamic};

use self::report::{Report, Row, Saving};
use self::work::{LONG, Work};
use super::inspect::{Contents, hints};
use super::scene::{self, SceneArgs, TargetArgs};
use super::{Exit, Outcome};

/// Batches, as far as a rollout takes less than [`LONG`].
const WORLDS: [usize; 5] = [1, 8, 64, 256, 1024];

/// Times the step, its rollout, its gradient and its Jacobians.
///
/// Worlds start around the middle of the scene's script, each a little different. Times are medians, in µs per world:
/// `step` is one cold step, `rollout` one step of a rollout of 50 (10 where a step takes more than 20 ms), `backward`
/// that step's share of the reverse pass (without the forward pass), `linearize` a step with A, B, C and D. A second
/// table says what the same takes with a `contact_distance`, and without the contacts of two things.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    scene: SceneArgs,

    /// Worlds in a batch, one row each [default: 1, 8, 64, 256, 1024, as far as a rollout takes less than 2 s].
    #[arg(long, value_name = "B,…", value_delimiter = ',')]
    worlds: Vec<usize>,

    /// Threads, one row each [default: 1, and as many as there are cores].
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    threads: Vec<usize>,

    /// Measures the tensor program instead of the fused form.
    #[arg(long)]
    tensor_program: bool,

    #[command(flatten)]
    target: TargetArgs,

    /// Also measures native code: kernels that the machine's C compiler compiles for this scene.
    #[arg(long)]
    native: bool,

    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    if args.worlds.contains(&0) || args.threads.contains(&0) {
        return Err("--worlds, --threads: expected numbers from 1 up, got 0".into());
    }
    let (source, double) = args.scene.load()?;
    let mut step = args.scene.compile_for(&source, &args.target)?;
    if args.tensor_program {
        step = step.as_tensor_program();
    }
    let native = args.native.then(|| scene::natively(step.clone(), true)).transpose()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let is_cpu = step.model().device.is_cpu();
    let mut threads = match &args.threads[..] {
        [] if is_cpu => vec![1, cores],
        [] => vec![1],
        given => given.to_vec(),
    };
    threads.dedup();
    let model = step.model();
    let mut report = Report {
        scene: source.name.clone(),
        form: if step.form() == Form::Fused { "fused" } else { "tensor program" },
        dtype: args.target.dtype().as_str(),
        instruction_set: if is_cpu { InstructionSet::detect().name().to_owned() } else { args.target.device.clone() },
        cores,
        nq: model.nq(),
        nv: model.nv(),
        nu: model.nu(),
        contacts: model.nc(),
        kappa: double.parameters().kappa.flatten_all()?.get(0)?.to_scalar()?,
        rows: Vec::new(),
        savings: Vec::new(),
    };
    let all = if args.worlds.is_empty() { &WORLDS[..] } else { &args.worlds };
    for n_threads in threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build()?;
        for &worlds in all {
            for (step, native) in [(Some(&step), false), (native.as_ref(), true)] {
                let Some(step) = step else { continue };
                let work = Work::new(&source, &double, worlds)?.with(step)?;
                let row = pool.install(|| work.measure(n_threads))?;
                report.rows.push(Row { native, ..row });
            }
            let is_long = report.rows.last().is_some_and(|row| row.seconds > LONG);
            if is_long && args.worlds.is_empty() {
                break;
            }
        }
    }
    if is_cpu && !args.tensor_program {
        let quick = report.rows.iter().filter(|row| row.seconds <= LONG).map(|row| row.worlds);
        report.savings = savings(args, &source, &double, quick.max().unwrap_or(1).min(SAVING_WORLDS))?;
    }
    if args.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        print!("{}", report.text());
    }
    Ok(Exit::Success)
}

/// Worlds in a batch of a changed scene, at most.
const SAVING_WORLDS: usize = 64;
/// Scenes with fewer contacts are quick as they are.
const FEW_CONTACTS: usize = 12;
/// Pairs of things that are left out in turn, those with the most contacts.
const LEFT_OUT: usize = 3;

/// The times of the scene as it is, and with fewer contacts, from the same states.
fn savings(
    args: &Args,
    source: &Source,
    step: &Quasidynamic,
    worlds: usize,
) -> Result<Vec<Saving>, Box<dyn std::error::Error>> {
    let contents = Contents::of(source, step.model(), step.parameters())?;
    if contents.nc < FEW_CONTACTS {
        return Ok(Vec::new());
    }
    let mut changed = vec![("as it is".to_owned(), source.scene.clone())];
    if contents.params.contact_distance.is_none() {
        let mut scene = source.scene.clone();
        scene.params.contact_distance = Some(hints::FAR);
        let force = hints::left_out(contents.params.kappa);
        changed.push((format!("contact_distance = {} (leaves out forces up to {force:.1e} N)", hints::FAR), scene));
    }
    for ((a, b), n) in hints::by_things(&contents.pairs).into_iter().take(LEFT_OUT) {
        let mut scene = source.scene.clone();
        scene.pairs.push(PairRule::exclude(a, b));
        let what = if a == b { format!("{a} with itself") } else { format!("{a} with {b}") };
        changed.push((format!("without the {n} contacts of {what}"), scene));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let measure = |(change, scene): (String, Scene)| -> Result<Saving, Box<dyn std::error::Error>> {
        let other = scene::compile(&scene, &args.scene.overrides()?)?;
        let work = Work::new(source, step, worlds)?.with(&other)?;
        let row = pool.install(|| work.measure(1))?;
        let contacts = other.model().nc();
        Ok(Saving { change, worlds, contacts, rollout: row.rollout, backward: row.backward })
    };
    changed.into_iter().map(measure).collect()
}
