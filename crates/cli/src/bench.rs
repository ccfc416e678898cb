//! `fingertip bench`: how fast is the step on this scene and machine?

use std::time::Instant;

use candle_core::{Result as TensorResult, Tensor, Var};
use fingertip::description::{PairRule, Scene};
use fingertip::kinematics::Manifold;
use fingertip::math::lane::InstructionSet;
use fingertip::rollout::rollout;
use fingertip::show::Source;
use fingertip::step::{Form, Quasidynamic};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::inspect::Contents;
use super::scene::{self, SceneArgs, TargetArgs};
use super::table::table;
use super::{Exit, Outcome, hints};

/// Steps of a rollout, and of one of a scene whose step takes longer than `SLOW`, s.
const STEPS: usize = 50;
const FEWER_STEPS: usize = 10;
const SLOW: f64 = 0.02;
/// Batches, as far as a rollout takes less than `LONG`, s.
const WORLDS: [usize; 5] = [1, 8, 64, 256, 1024];
const LONG: f64 = 2.0;
/// Worlds differ by up to this in each tangent coordinate and command, rad or m.
const NOISE: f64 = 5e-3;
/// A scene without a script is measured this far from its start, s.
const WITHOUT_SCRIPT: f64 = 0.5;
/// Calls are timed until this much time has passed, s, and no less often than this; calls longer than `LONG` once.
const LEAST_TIME: f64 = 0.3;
const LEAST_CALLS: usize = 5;

/// Times the step, its rollout, its gradient and its Jacobians.
///
/// Worlds start around the middle of the scene's script, each a little different. Times are medians, in µs per world:
/// `step` is one cold step, `rollout` one step of a rollout of 50 (10 where a step takes more than 20 ms), `backward` that step's share of the reverse pass
/// (without the forward pass), `linearize` a step with A, B, C and D. A second table says what the same takes with a
/// `contact_distance`, and without the contacts of two things.
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

#[derive(Serialize)]
struct Report {
    scene: String,
    form: &'static str,
    dtype: &'static str,
    /// Or the device, if it is not the CPU.
    instruction_set: String,
    cores: usize,
    nq: usize,
    nv: usize,
    nu: usize,
    contacts: usize,
    kappa: f64,
    rows: Vec<Row>,
    /// The same scene with less to do.
    savings: Vec<Saving>,
}

/// A changed scene on one thread, times in µs per world.
#[derive(Serialize)]
struct Saving {
    change: String,
    worlds: usize,
    /// Contacts that can still take part.
    contacts: usize,
    rollout: f64,
    backward: f64,
}

/// Times in µs per world.
#[derive(Serialize)]
struct Row {
    worlds: usize,
    threads: usize,
    /// Is this native code, or that of the form?
    native: bool,
    step: f64,
    rollout: f64,
    backward: f64,
    linearize: f64,
    /// Newton iterations of a cold step and of one of a rollout, mean over the worlds.
    iterations: f64,
    rollout_iterations: f64,
    /// What a whole rollout takes, s.
    #[serde(skip)]
    seconds: f64,
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

/// What the scene takes as it is, and with less to do, from the same states.
fn savings(
    args: &Args,
    source: &Source,
    step: &Quasidynamic,
    worlds: usize,
) -> Result<Vec<Saving>, Box<dyn std::error::Error>> {
    let contents = Contents::of(source, step)?;
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

/// A batch to be timed.
struct Work<'a> {
    step: &'a Quasidynamic,
    q: Tensor,
    u: Tensor,
    /// (B, T, nu).
    controls: Var,
}

impl<'a> Work<'a> {
    fn new(source: &Source, step: &'a Quasidynamic, worlds: usize) -> TensorResult<Self> {
        let model = step.model();
        let h = model.params.h;
        let middle = source.scene.script.last().map_or(WITHOUT_SCRIPT, |last| 0.5 * last.time);
        let commands = |from: f64, n: usize| -> TensorResult<Tensor> {
            let rows: Vec<Vec<f64>> = (1..=n).map(|t| source.scene.control(from + h * t as f64)).collect();
            model.tensor(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>())?.unsqueeze(0)
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "times are finite and not negative"
        )]
        let before = ((middle / h).round() as usize).max(1);
        let path = rollout(step, &model.home(1)?, &commands(0.0, before)?)?.q;
        let there = path.narrow(1, before, 1)?.squeeze(1)?;
        let start = Instant::now();
        step.step(&there, &commands(middle, 1)?.squeeze(1)?)?;
        let steps = if start.elapsed().as_secs_f64() > SLOW { FEWER_STEPS } else { STEPS };

        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut noise = |n: usize| -> TensorResult<Tensor> {
            let values: Vec<f64> = (0..worlds * n).map(|_| random.random_range(-NOISE..NOISE)).collect();
            Tensor::from_vec(values, (worlds, n), &model.device)
        };
        let there = there.broadcast_as((worlds, model.nq()))?.contiguous()?;
        let q = Manifold::new(&model.tree, &model.device)?.integrate(&there, &noise(model.nv())?)?;
        let controls = commands(middle, steps)?.broadcast_add(&noise(model.nu())?.unsqueeze(1)?)?;
        let u = controls.narrow(1, 0, 1)?.squeeze(1)?.contiguous()?;
        Ok(Self { step, q, u, controls: Var::from_tensor(&controls)? })
    }

    /// The same states and commands, converted to the device and number type of another step.
    fn with(self, step: &'a Quasidynamic) -> TensorResult<Self> {
        let to = |t: &Tensor| t.to_device(&step.model().device)?.to_dtype(step.model().dtype);
        let controls = Var::from_tensor(&to(&self.controls)?)?;
        Ok(Self { step, q: to(&self.q)?, u: to(&self.u)?, controls })
    }

    fn measure(&self, threads: usize) -> TensorResult<Row> {
        let Self { step, q, u, controls } = self;
        let (worlds, steps) = (q.dim(0)?, controls.dim(1)?);
        let constant = controls.detach();
        let one = |seconds: f64| 1e6 * seconds / worlds as f64;
        let cold = step.step(q, u)?;
        let long = rollout(step, q, &constant)?;
        let of_rollout = long.reports.iter().flatten().map(|report| report.iterations).sum::<usize>();
        let device = &step.model().device;
        // A call has ended when the device has.
        let median = |call: &dyn Fn() -> TensorResult<()>| median(|| call().and_then(|()| device.synchronize()));
        let forward = median(&|| rollout(step, q, controls).map(drop))?;
        let both = median(&|| rollout(step, q, controls)?.q.sum_all()?.backward().map(drop))?;
        let seconds = median(&|| rollout(step, q, &constant).map(drop))?;
        Ok(Row {
            worlds,
            threads,
            native: false,
            step: one(median(&|| step.step(q, u).map(drop))?),
            rollout: one(seconds) / steps as f64,
            backward: one(both - forward) / steps as f64,
            linearize: one(median(&|| step.linearize(q, u).map(drop))?),
            iterations: cold.reports.iter().map(|report| report.iterations).sum::<usize>() as f64 / worlds as f64,
            rollout_iterations: of_rollout as f64 / (worlds * steps) as f64,
            seconds,
        })
    }
}

/// Median time of a call, s; the first one, which warms up, does not count.
fn median(call: impl Fn() -> TensorResult<()>) -> TensorResult<f64> {
    let start = Instant::now();
    call()?;
    let first = start.elapsed().as_secs_f64();
    if first > LONG {
        return Ok(first);
    }
    let mut times = Vec::new();
    let start = Instant::now();
    while times.len() < LEAST_CALLS || start.elapsed().as_secs_f64() < LEAST_TIME {
        let start = Instant::now();
        call()?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

impl Report {
    fn text(&self) -> String {
        let mut table = table(
            &[
                "threads",
                "worlds",
                "code",
                "step",
                "iterations",
                "rollout step",
                "iterations",
                "its backward",
                "linearize",
            ],
            0,
        );
        for row in &self.rows {
            let time = |us: f64| if us < 100.0 { format!("{us:.2}") } else { format!("{us:.0}") };
            table.add_row([
                row.threads.to_string(),
                row.worlds.to_string(),
                String::from(if row.native { "native" } else { self.form }),
                time(row.step),
                format!("{:.1}", row.iterations),
                time(row.rollout),
                format!("{:.1}", row.rollout_iterations),
                time(row.backward),
                time(row.linearize),
            ]);
        }
        // What native code takes of the time of the row before.
        for pair in self.rows.windows(2).filter(|pair| pair[1].native) {
            let share = |of: fn(&Row) -> f64| format!("{:.2}", of(&pair[1]) / of(&pair[0]));
            let none = String::new;
            table.add_row([
                pair[1].threads.to_string(),
                pair[1].worlds.to_string(),
                String::from("ratio"),
                share(|row| row.step),
                none(),
                share(|row| row.rollout),
                none(),
                share(|row| row.backward),
                share(|row| row.linearize),
            ]);
        }
        format!(
            "{}: {} degrees of freedom, {} contacts, κ = {}; {} in {}, {}, {} cores; µs per world\n{table}\n{}",
            self.scene,
            self.nv,
            self.contacts,
            self.kappa,
            self.form,
            self.dtype,
            self.instruction_set,
            self.cores,
            self.savings_text()
        )
    }

    fn savings_text(&self) -> String {
        if self.savings.is_empty() {
            return String::new();
        }
        let of = format!("with less to do, {} worlds, 1 thread", self.savings[0].worlds);
        let mut table = table(&[&of, "contacts", "rollout step", "its backward"], 1);
        for Saving { change, contacts, rollout, backward, .. } in &self.savings {
            table.add_row([change.clone(), contacts.to_string(), format!("{rollout:.2}"), format!("{backward:.2}")]);
        }
        format!("{table}\n")
    }
}
