//! `fingertip codegen`: the step of a scene as C.

use std::path::PathBuf;

use candle_core::Tensor;
use fingertip::codegen::{Codegen, State};
use fingertip::description::Scene;
use fingertip::dynamics::{self, Dynamics};
use fingertip::math::lane::Precision;
use fingertip::rollout::rollout;
use fingertip::step::{Dynamic, DynamicParams, Kernel, Quasidynamic};

use super::scene::SceneArgs;
use super::table::table;
use super::{Exit, Outcome, message};

/// States that the printed program checks itself at, along the scene's script.
const STATES: usize = 8;
/// Simulated time for which a scene without a script is followed, s.
const UNSCRIPTED: f64 = 1.0;
/// All functions of dynamics.
const ALL: &str = "all";
/// Steps between home and the last state, at most.
const STEPS: usize = 400;

/// Prints the step of a scene, its second-order step or its dynamics as C.
///
/// The code allocates nothing, depends only on libm, and computes bit for bit what fingertip computes.
///
/// Writes NAME.c, NAME.h, CMakeLists.txt and main.c, a program that checks the code on recorded states. Parameters
/// remain arguments. Without one of --step, --adjoint, --jacobians, --hold, --rollout, --second-order and --dynamics,
/// the step and its adjoint are printed.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    scene: SceneArgs,

    /// The folder for the files; its name begins all names in the code.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// The step, cold and started from the forces of an earlier step.
    #[arg(long)]
    step: bool,

    /// Gradients with respect to q, u and all parameters, given those of a step's results.
    #[arg(long)]
    adjoint: bool,

    /// The step with its Jacobians A, B, C, D.
    #[arg(long)]
    jacobians: bool,

    /// As many steps under one command as the caller says, to full accuracy and to a planner's.
    #[arg(long)]
    hold: bool,

    /// A rollout of as many steps as the caller says, and its gradients.
    #[arg(long)]
    rollout: bool,

    /// Rigid-body dynamics: mass matrix, inverse and forward dynamics, gravity, energy, with their derivatives and
    /// adjoints. With names, as in `--dynamics=mass_matrix,bias`, only these functions.
    #[arg(long, value_name = "NAMES", num_args = 0..=1, require_equals = true, default_missing_value = ALL)]
    dynamics: Option<String>,

    /// The second-order step with smoothed contact, from q, v and forces to the next q and v; and its gradients.
    #[arg(long)]
    second_order: bool,

    /// The steps, the rollout and the dynamics in single precision; the steps' adjoints and the Jacobians stay in
    /// double precision.
    #[arg(long)]
    f32: bool,

    /// Also writes NAME.cu: the same for CUDA, with one thread per world.
    #[arg(long)]
    cuda: bool,
}

pub fn run(args: &Args) -> Outcome {
    let (source, step) = args.scene.load()?;
    let of_step = args.step || args.adjoint || args.jacobians || args.hold || args.rollout;
    let default = !(of_step || args.second_order || args.dynamics.is_some());
    let wanted = |kernel: &Kernel| match kernel {
        Kernel::Step | Kernel::WarmStep => args.step || default,
        Kernel::Adjoint => args.adjoint || default,
        Kernel::Jacobians | Kernel::WarmJacobians => args.jacobians,
        Kernel::Hold | Kernel::RoughHold => args.hold,
        Kernel::Rollout | Kernel::RolloutAdjoint | Kernel::RolloutForceAdjoint => args.rollout,
    };
    let kernels: Vec<Kernel> = Kernel::ALL.into_iter().filter(wanted).collect();
    let precision = if args.f32 { Precision::Single } else { Precision::Double };
    let name = args.out.file_name().map_or_else(|| source.name.clone(), |name| name.to_string_lossy().into_owned());
    let states = states(&step, &source.scene)?;
    let mut code = Codegen::empty(&name, precision)?;
    if !kernels.is_empty() {
        code = code.with_step(&step, &kernels, &states)?;
    }
    if args.second_order || args.dynamics.is_some() {
        let all = Dynamic::new(step.model(), step.parameters(), DynamicParams::default())?;
        let q: Vec<Vec<f64>> = states.iter().map(|state| state.q.clone()).collect();
        if args.second_order {
            code = code.with_second_order(&all, &Kernel::SECOND_ORDER, &q)?;
        }
        if let Some(names) = &args.dynamics {
            code = code.with_dynamics(all.dynamics(), &chosen(all.dynamics(), names)?, &q)?;
        }
    }
    code.write(&args.out)?;
    if args.cuda {
        let path = args.out.join(format!("{name}.cu"));
        std::fs::write(&path, code.cuda()).map_err(|source| fingertip::Error::File { path, source })?;
    }

    let mut table = table(&["kernel", "stage", "operations"], 2);
    for printed in code.printed() {
        let kernel = &printed.name;
        let operations = printed.trace.operations();
        let total = operations.iter().map(|(_, count)| count).sum::<usize>();
        table
            .add_rows(operations.iter().map(|(stage, count)| [kernel.clone(), (*stage).to_owned(), count.to_string()]));
        table.add_row([kernel.clone(), String::from("all"), total.to_string()]);
    }
    println!("{table}");
    for printed in code.printed() {
        println!("{:<35} {} bytes of working memory", printed.name, printed.memory());
    }
    println!("{:<35} {}", "C", args.out.display());
    Ok(Exit::Success)
}

/// The kernels of dynamics with these names; of all those that the scene has, and why others are left out goes to
/// stderr.
fn chosen(dynamics: &Dynamics, names: &str) -> Result<Vec<dynamics::Kernel>, String> {
    let all = dynamics::Kernel::ALL;
    if names != ALL {
        let names: Vec<&str> = names.split(',').map(str::trim).collect();
        if let Some(name) = names.iter().find(|name| all.iter().all(|kernel| kernel.name() != **name)) {
            let known = all.map(dynamics::Kernel::name).join(", ");
            return Err(format!("--dynamics: expected names out of {known}, got \"{name}\""));
        }
        return Ok(all.into_iter().filter(|kernel| names.contains(&kernel.name().as_str())).collect());
    }
    let (mut kernels, mut left_out) = (Vec::new(), Vec::new());
    for kernel in all {
        match dynamics.rows_of(kernel) {
            Ok(_) => kernels.push(kernel),
            Err(reason) => left_out.push((kernel.name(), reason)),
        }
    }
    if let Some((_, reason)) = left_out.first() {
        let names: Vec<&str> = left_out.iter().map(|(name, _)| name.as_str()).collect();
        eprintln!("warning: left out {}: {}", names.join(", "), message::plain(reason));
    }
    Ok(kernels)
}

/// Home, and states along the script.
fn states(step: &Quasidynamic, scene: &Scene) -> candle_core::Result<Vec<State>> {
    let (model, h) = (step.model(), scene.params.h);
    let end = scene.script.last().map_or(UNSCRIPTED, |last| last.time);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
    let n = ((end / h).min(STEPS as f64) as usize).max(STATES);
    let control = |t: usize| scene.control(h * t as f64);
    let commands: Vec<Vec<f64>> = (1..=n).map(control).collect();
    let u: Tensor = model.tensor(&commands.iter().map(Vec::as_slice).collect::<Vec<_>>())?.unsqueeze(0)?;
    let q = rollout(step, &model.home(1)?, &u)?.q.squeeze(0)?.to_vec2::<f64>()?;
    let at = |k: usize| {
        let t = k * (n - 1) / (STATES - 1);
        State { q: q[t].clone(), u: control(t + 1) }
    };
    Ok((0..STATES).map(at).collect())
}
