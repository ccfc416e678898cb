//! `fingertip audit`: is the step right on this scene?

mod differences;
mod optimality;
mod rolling;
mod states;

use std::process::ExitCode;

use fingertip::description::Friction;
use fingertip::math::largest::largest;
use fingertip::solve::Status;
use indicatif::{ProgressBar, ProgressStyle};

use self::differences::Gradients;
use self::optimality::Optimality;
use super::blame::Why;
use super::scene::SceneArgs;
use super::table::table;
use super::{FAILED, Outcome};

/// The library's promise for residuals, relative.
const RESIDUAL: f64 = 1e-9;
/// A force that is κ times a rounding of its gap off errs by this, relative, at κ = 1e6 and gaps of micrometres.
const LAW: f64 = 1e-6;
/// The library's promise for gradients, relative to the largest entry.
const GRADIENT: f64 = 1e-6;
/// H⁻¹ is symmetric up to rounding times its condition number.
const SYMMETRY: f64 = 1e-9;

/// Checks the step on random states around home; every third one penetrates by up to 5 mm.
///
/// Optimality is recomputed without the solver's code: force balance, force law, ν·λ = 2/κ. Gradients of q₊ and of the
/// forces with respect to q, u and all parameters are compared with central differences. The exit status is 1 if a
/// check fails.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    scene: SceneArgs,

    /// Number of random states.
    #[arg(long, value_name = "N", default_value_t = 30)]
    states: usize,

    /// Seed of the random states.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

/// One line of the table.
struct Check {
    name: &'static str,
    values: Vec<f64>,
    /// The largest value may be this; none for what is only reported.
    limit: Option<f64>,
}

pub fn run(args: &Args) -> Outcome {
    if args.states == 0 {
        return Err("--states: expected at least 1, got 0".into());
    }
    let (source, step) = args.scene.load()?;
    let states = states::states(&step, args.states, args.seed)?;
    let bar = ProgressBar::new(states.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} states, {eta} left") {
        bar.set_style(style);
    }
    let (mut optimality, mut gradients) = (Vec::new(), Vec::new());
    let (mut infeasible, mut unsolved) = (0_usize, 0_usize);
    let mut why = None;
    for (seed, state) in (args.seed..).zip(&states) {
        let result = step.step(&state.q, &state.u)?;
        let status = result.reports[0].status;
        if status != Status::Solved && why.is_none() {
            why = Some(Why::of(&source.scene, &step, &state.q, &state.u)?);
        }
        match status {
            Status::Solved => {
                optimality.push(Optimality::of(&step, state, &result)?);
                gradients.push(Gradients::of(&step, state, &result.warm, seed)?);
            }
            Status::Infeasible => infeasible += 1,
            Status::IterationLimit | Status::Unsettled | Status::BadInput => unsolved += 1,
        }
        bar.inc(1);
    }
    bar.finish_and_clear();

    let penetrating = optimality.iter().filter(|o| o.least_phi < 0.0).count();
    println!(
        "{}: {} states, {} solved ({penetrating} of them penetrating), {infeasible} infeasible, {unsolved} unsolved\n",
        source.name,
        states.len(),
        optimality.len()
    );
    if let Some(why) = why {
        println!("The first state without a solution: {why}\n");
    }
    if optimality.is_empty() {
        println!("FAILED: no state was solved, so that nothing could be checked");
        return Ok(ExitCode::from(FAILED));
    }
    let all = checks(&optimality, &gradients, step.model().params.friction);
    println!("{}", report(&all));
    let failed = all.iter().filter(|check| !check.passes()).count();
    if failed == 0 && unsolved == 0 {
        println!("\npassed");
        return Ok(ExitCode::SUCCESS);
    }
    println!("\nFAILED: {failed} checks, {unsolved} unsolved states");
    Ok(ExitCode::from(FAILED))
}

fn checks(optimality: &[Optimality], gradients: &[Gradients], friction: Friction) -> Vec<Check> {
    let of = |name, limit, value: fn(&Optimality) -> f64| Check {
        name,
        limit,
        values: optimality.iter().map(value).collect(),
    };
    let by = |name, limit, value: fn(&Gradients) -> f64| Check {
        name,
        limit,
        values: gradients.iter().map(value).collect(),
    };
    // By Coulomb's law the step is no function's minimiser.
    let symmetry = (friction == Friction::Relaxed).then_some(SYMMETRY);
    vec![
        of("force balance P δ + g − Σ Jᵀf", Some(RESIDUAL), |o| o.balance),
        of("force law f(ν)", Some(LAW), |o| o.law),
        of("ν·λ κ/2 − 1", Some(LAW), |o| o.complementarity),
        by("∂q₊/∂q, ∂q₊/∂u against differences", Some(GRADIENT), |g| g.motion),
        by("∂λ/∂q, ∂λ/∂u against differences", Some(GRADIENT), |g| g.force),
        by("∂(q₊, λ)/∂ all parameters against differences", Some(GRADIENT), |g| g.parameters),
        by("asymmetry of ∂δ/∂u K⁻¹", symmetry, |g| g.asymmetry),
        of("condition number of H", None, |o| o.conditioning),
        of("share of force at φ > 1 mm", None, |o| if o.force > 0.0 { o.distant_force / o.force } else { 0.0 }),
    ]
}

impl Check {
    fn largest(&self) -> f64 {
        largest(&self.values)
    }

    fn median(&self) -> f64 {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
    }

    /// What is only reported passes if it is finite: H is positive definite then.
    fn passes(&self) -> bool {
        self.largest().is_finite() && self.limit.is_none_or(|limit| self.largest() <= limit)
    }
}

fn report(checks: &[Check]) -> String {
    let mut table = table(&["check", "median", "largest", "allowed", ""], 1);
    for check in checks {
        table.add_row([
            check.name.to_owned(),
            format!("{:.1e}", check.median()),
            format!("{:.1e}", check.largest()),
            check.limit.map_or("–".to_owned(), |limit| format!("{limit:.0e}")),
            match (check.limit, check.passes()) {
                (_, false) => "FAILED",
                (Some(_), true) => "ok",
                (None, true) => "",
            }
            .to_owned(),
        ]);
    }
    table.to_string()
}
