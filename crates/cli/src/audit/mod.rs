//! `fingertip audit`: is the step right on this scene?

mod balance;
pub(crate) mod differences;
pub(crate) mod gradients;
pub(crate) mod inputs;
mod optimality;
pub(crate) mod quantities;
mod rolling;
pub(crate) mod states;

use candle_core::{Result, Tensor};
use fingertip::Model;
use fingertip::description::Friction;
use fingertip::math::largest::largest;
use fingertip::solve::Status;
use fingertip::step::{Quasidynamic, Step};
use indicatif::{ProgressBar, ProgressStyle};
use nalgebra::Vector3;

use self::differences::{Comparison, Finding, GRADIENT};
use self::gradients::{Gradients, asymmetry};
use self::inputs::Inputs;
use self::optimality::Optimality;
use self::quantities::{Kind, Quantities};
use self::states::State;
use super::blame::Why;
use super::scene::SceneArgs;
use super::table::table;
use super::{Exit, Outcome};

/// The library's promise for residuals, relative.
const RESIDUAL: f64 = 1e-9;
/// A force that is κ times a rounding of its gap off errs by this, relative, at κ = 1e6 and gaps of micrometres.
const LAW: f64 = 1e-6;
/// H⁻¹ is symmetric up to rounding times its condition number.
const SYMMETRY: f64 = 1e-9;

/// Checks the step on random states around home; every third one penetrates by up to 5 mm.
///
/// Optimality is recomputed without the solver's code: force balance, force law, ν·λ = 2/κ. Gradients of q₊ and of the
/// force and moment between each pair of bodies with respect to q, u and all parameters are compared with differences:
/// to one side at bounds, such as a size of 0. Where differences to both sides disagree with each other there is a
/// kink, and a gradient of either side or between them is right. Each check names where it is worst. The exit status is
/// 1 if a check fails.
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
    /// A value for each solved state.
    values: Vec<Value>,
    /// The largest value may be this; none for what is only reported.
    limit: Option<f64>,
}

/// The result of one check in one state.
struct Value {
    off: f64,
    /// The place in the state where the error is largest, if it is known.
    place: String,
}

/// All results of a solved state.
struct Audited {
    /// The state's number, from 1.
    number: usize,
    optimality: Optimality,
    asymmetry: f64,
    /// Findings on the derivatives of `linearize`.
    linearized: Vec<Finding>,
    /// Findings on the derivatives of backpropagation: by q and u, and by parameters.
    pulled: [Vec<Finding>; 2],
}

impl Audited {
    fn of(step: &Quasidynamic, number: usize, state: &State, result: &Step, seed: u64) -> Result<Self> {
        let (inputs, quantities) = (Inputs::new(step, state)?, Quantities::new(step, result)?);
        let compare = |gradients: &Gradients| {
            Comparison { gradients, inputs: &inputs, quantities: &quantities, warm: &result.warm }.findings(seed)
        };
        let linear = step.linearize(&state.q, &state.u)?;
        let linearized = compare(&Gradients::linearized(step, &quantities, &linear)?)?;
        let pulled = compare(&Gradients::pulled(step, &quantities, &inputs, &result.warm)?)?;
        let (by_state, by_parameters) = pulled.into_iter().partition(|finding| finding.is_by_state);
        Ok(Self {
            number,
            optimality: Optimality::of(step, state, result)?,
            asymmetry: asymmetry(step, state, &linear.b)?,
            linearized,
            pulled: [by_state, by_parameters],
        })
    }

    fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.linearized.iter().chain(self.pulled.iter().flatten())
    }
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
    let mut audited = Vec::new();
    let (mut infeasible, mut unsolved) = (0_usize, 0_usize);
    let mut why = None;
    for (k, (seed, state)) in (args.seed..).zip(&states).enumerate() {
        let result = step.step(&state.q, &state.u)?;
        let status = result.reports[0].status;
        if status != Status::Solved && why.is_none() {
            why = Some(Why::of(&source.scene, &step, &state.q, &state.u)?);
        }
        match status {
            Status::Solved => audited.push(Audited::of(&step, k + 1, state, &result, seed)?),
            // Their answer is that of another scene, one without friction.
            Status::Infeasible | Status::Frictionless => infeasible += 1,
            Status::IterationLimit | Status::Unsettled | Status::BadInput => unsolved += 1,
        }
        bar.inc(1);
    }
    bar.finish_and_clear();

    let penetrating = audited.iter().filter(|state| state.optimality.least_phi < 0.0).count();
    println!(
        "{}: {} states, {} solved ({penetrating} of them penetrating), {infeasible} infeasible with friction, {unsolved} unsolved\n",
        source.name,
        states.len(),
        audited.len()
    );
    if let Some(why) = why {
        println!("The first state without a solution: {why}\n");
    }
    if audited.is_empty() {
        println!("FAILED: no state was solved, so that nothing could be checked");
        return Ok(Exit::Failed);
    }
    let all = checks(&audited, step.model());
    println!("{}", report(&all));
    worst_places(&all, &audited);
    let failed = all.iter().filter(|check| !check.passes()).count();
    if failed == 0 && unsolved == 0 {
        println!("\npassed");
        return Ok(Exit::Success);
    }
    println!("\nFAILED: {failed} checks, {unsolved} unsolved states");
    Ok(Exit::Failed)
}

fn checks(audited: &[Audited], model: &Model) -> Vec<Check> {
    let of = |name, limit, value: fn(&Optimality) -> f64| Check {
        name,
        limit,
        values: audited.iter().map(|state| Value { off: value(&state.optimality), place: String::new() }).collect(),
    };
    let law = |name, value: fn(&Optimality) -> f64| {
        let mut check = of(name, Some(LAW), value);
        for (value, state) in check.values.iter_mut().zip(audited) {
            let names = state.optimality.worst.map(|contact| model.contact_names(contact));
            value.place = names.map_or_else(String::new, |(a, b)| format!("contact of \"{a}\" and \"{b}\""));
        }
        check
    };
    let by = |name, kinds: &[Kind], findings: fn(&Audited) -> &[Finding]| Check {
        name,
        limit: Some(GRADIENT),
        values: audited.iter().map(|state| Value::worst(findings(state), kinds)).collect(),
    };
    // By Coulomb's law the step is no function's minimiser.
    let symmetry = (model.params.friction == Friction::Relaxed).then_some(SYMMETRY);
    let asymmetry = audited.iter().map(|state| Value { off: state.asymmetry, place: String::new() });
    vec![
        of("force balance P δ + g − Σ Jᵀf", Some(RESIDUAL), |o| o.balance),
        law("force law f(ν)", |o| o.law),
        law("ν·λ κ/2 − 1", |o| o.complementarity),
        by("∂q₊/∂q, ∂q₊/∂u of linearize", &[Kind::Motion], |state| &state.linearized),
        by("∂λ/∂q, ∂λ/∂u of linearize, by pair", &[Kind::Force], |state| &state.linearized),
        by("∂q₊/∂(q, u)", &[Kind::Motion], |state| &state.pulled[0]),
        by("∂(force, moment of pairs)/∂(q, u)", &[Kind::Force, Kind::Moment], |state| &state.pulled[0]),
        by("∂q₊/∂ all parameters", &[Kind::Motion], |state| &state.pulled[1]),
        by("∂(force, moment of pairs)/∂ all parameters", &[Kind::Force, Kind::Moment], |state| &state.pulled[1]),
        Check { name: "asymmetry of ∂δ/∂u K⁻¹", limit: symmetry, values: asymmetry.collect() },
        of("condition number of H", None, |o| o.conditioning),
        of("share of force at φ > 1 mm", None, |o| if o.force > 0.0 { o.distant_force / o.force } else { 0.0 }),
    ]
}

/// Says where each check is worst, and where kinks are.
fn worst_places(checks: &[Check], audited: &[Audited]) {
    for check in checks {
        if let Some((at, worst)) = check.worst().filter(|_| check.limit.is_some()) {
            let place = if worst.place.is_empty() { String::new() } else { format!(", {}", worst.place) };
            println!("{}, worst: state {}{place}", check.name, audited[at].number);
        }
    }
    let kinks = || {
        audited
            .iter()
            .flat_map(|state| state.findings().map(move |f| (state.number, f)))
            .filter(|(_, f)| f.judgement.is_kink)
    };
    if let Some((number, first)) = kinks().next() {
        println!("{} kinks, the first: state {number}, {first}", kinks().count());
    }
}

impl Value {
    /// The worst of some kinds.
    fn worst(findings: &[Finding], kinds: &[Kind]) -> Self {
        let of_kinds = findings.iter().filter(|finding| kinds.contains(&finding.kind));
        let worst = of_kinds.max_by(|x, y| x.judgement.off.total_cmp(&y.judgement.off));
        worst.map_or(Self { off: 0.0, place: String::new() }, |f| Self { off: f.judgement.off, place: f.to_string() })
    }
}

impl Check {
    fn largest(&self) -> f64 {
        largest(self.values.iter().map(|value| value.off))
    }

    /// The largest value and the place of its state.
    fn worst(&self) -> Option<(usize, &Value)> {
        self.values.iter().enumerate().max_by(|(_, x), (_, y)| x.off.total_cmp(&y.off))
    }

    fn median(&self) -> f64 {
        let mut sorted: Vec<f64> = self.values.iter().map(|value| value.off).collect();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
    }

    /// Does the check pass? One without a limit is only reported, and passes if it is finite: H is positive definite
    /// then.
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

/// All numbers of a tensor.
fn numbers(tensor: &Tensor) -> Result<Vec<f64>> {
    tensor.flatten_all()?.to_vec1()
}

/// All vectors of a tensor whose last dimension is x, y, z.
fn vectors(tensor: &Tensor) -> Result<Vec<Vector3<f64>>> {
    Ok(numbers(tensor)?.chunks_exact(3).map(|v| Vector3::new(v[0], v[1], v[2])).collect())
}
