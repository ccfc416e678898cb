//! Gradients in everything at once, against Ridders' differences along random directions.
//!
//! A random weighting of q₊ and the forces is a function of q, u and all parameters. Its gradient by one reverse pass,
//! times a random direction, is compared with differences along that direction: an error in any entry shows in some
//! world.

use candle_core::{Tensor, Var};
use fingertip::description::JointKind;
use fingertip::solve::Status;
use fingertip::step::{Quasidynamic, Step};
use fingertip::{Model, Parameters};

use super::digits::Digits;
use super::is_long;
use support::differences::{SHRINK, STEPS, extrapolate};
use support::oracle::{from_tangent, integrate, tangent, to_tangent};
use support::states::{Batch, Random, tensor};
use support::{largest, numbers, rows};

/// Largest error relative to the sum of the absolute values of the derivative's parts: the promise.
pub const TOLERANCE: f64 = 1e-6;
/// Differences that claim less error than this, on the same scale, count.
const SURE: f64 = 1e-7;

/// What came of some derivatives.
#[derive(Default, Debug)]
pub struct Tally {
    pub compared: usize,
    /// Differences not sure of themselves: near a kink of the geometry, or drowned in rounding.
    pub unsure: usize,
    /// Of those compared, the ones that rounding leaves less than the promised digits, see [`Digits`].
    pub lost: usize,
    /// Of the others.
    pub worst: f64,
    pub wrong: Vec<String>,
}

impl Tally {
    pub fn words(&self) -> String {
        let Self { compared, unsure, lost, worst, .. } = self;
        format!("{compared} derivatives compared, worst {worst:.1e}; {lost} of them with fewer digits, {unsure} unsure")
    }
}

/// A world's numbers as rows of one number list each: q, u, then the parameters.
type World = Vec<Vec<f64>>;

struct Direction {
    /// Tangent of q.
    q: Vec<f64>,
    u: Vec<f64>,
    parameters: Vec<Vec<f64>>,
}

impl Direction {
    /// Lengths and angles move by about 1, parameters by about their own size, all of them or one kind alone.
    fn new(model: &Model, world: &World, random: &mut Random) -> Self {
        let kinds = 2 + Parameters::NAMES.len();
        let only = random.chance(0.6).then(|| random.below(kinds));
        let on = |kind: usize| only.is_none_or(|only| only == kind);
        let mut draw = |kind: usize, scale: f64| if on(kind) { scale * random.between(-1.0, 1.0) } else { 0.0 };
        let q = (0..model.nv()).map(|_| draw(0, 1.0)).collect();
        let u = world[1].iter().map(|_| draw(1, 1.0)).collect();
        let parameters = Parameters::NAMES
            .iter()
            .enumerate()
            .map(|(p, name)| {
                let values = &world[2 + p];
                let scale = |k: usize| match *name {
                    "sizes" if values[k] == 0.0 => 0.0,
                    "offsets" | "sizes" => 1.0,
                    "tau" => 10.0,
                    "inertia" if k % 6 >= 3 => {
                        0.3 * values[6 * (k / 6)..6 * (k / 6) + 3].iter().copied().fold(f64::INFINITY, f64::min)
                    }
                    "gravity" => 10.0,
                    // The boundary of what is possible: no friction.
                    "mu" if values[k] == 0.0 => 0.0,
                    _ => 3.0 * values[k],
                };
                (0..values.len()).map(|k| draw(2 + p, scale(k))).collect()
            })
            .collect();
        Self { q, u, parameters }
    }

    /// What each input adds to the derivative along the direction, given the gradient by each kind.
    fn parts<'a>(&self, model: &Model, world: &World, gradient: impl Fn(usize) -> &'a Vec<f64>) -> Vec<f64> {
        let by_q = to_tangent(model, &world[0], gradient(0));
        let mut parts: Vec<f64> = by_q.iter().zip(&self.q).map(|(g, d)| g * d).collect();
        for (k, d) in std::iter::once(&self.u).chain(&self.parameters).enumerate() {
            parts.extend(gradient(1 + k).iter().zip(d).map(|(g, d)| g * d));
        }
        parts
    }

    fn moved(&self, model: &Model, world: &World, by: f64) -> World {
        let add = |x: &[f64], d: &[f64]| x.iter().zip(d).map(|(x, d)| x + by * d).collect::<Vec<_>>();
        let delta: Vec<f64> = self.q.iter().map(|x| by * x).collect();
        let mut moved = vec![integrate(model, &world[0], &delta), add(&world[1], &self.u)];
        moved.extend(self.parameters.iter().zip(&world[2..]).map(|(d, x)| add(x, d)));
        moved
    }
}

fn stack(model: &Model, worlds: &[World], part: usize) -> Tensor {
    tensor(model, &worlds.iter().map(|world| world[part].clone()).collect::<Vec<_>>())
}

fn parameters(model: &Model, mut part: impl FnMut(usize) -> Tensor) -> Parameters {
    let mut p = 0;
    let next = |_: &str, _: &Tensor| {
        p += 1;
        Ok(part(p + 1))
    };
    model.parameters.map(next).unwrap()
}

/// First step of the differences along a direction.
const FIRST: f64 = 4e-3;
/// Fewest steps that tell.
const LEAST_STEPS: usize = 4;
/// Steps in a row that agree with a gradient, or lead to it, where the extrapolation of all of them does not.
const AGREEING: usize = 3;
/// A step turns bodies by less than this, rad.
const MOST_TURN: f64 = 1.0;
/// Where the derivative is asked for again: where a kink is as near as the steps are short, differences are between the
/// derivatives on both sides.
const ASIDE: [f64; 3] = [1e-6, 4e-6, 1.6e-5];

/// The gradient of what is weighed, by q, u and the parameters, for each world.
fn gradients(model: &Model, vars: &[Var], step: &Step, weights: &[[Vec<f64>; 4]]) -> Vec<Vec<Vec<f64>>> {
    let next = rows(&step.q_next);
    let seeds: Vec<Vec<f64>> = next.iter().zip(weights).map(|(next, w)| from_tangent(model, next, &w[0])).collect();
    let mut value = (&step.q_next * tensor(model, &seeds)).unwrap().sum_all().unwrap();
    for (k, part) in [&step.force, &step.limit_force, &step.torque].into_iter().enumerate() {
        let flat = part.flatten_from(1).unwrap();
        if flat.dim(1).unwrap() > 0 {
            let rows: Vec<Vec<f64>> = weights.iter().map(|w| w[1 + k].clone()).collect();
            value = (value + (flat * tensor(model, &rows)).unwrap().sum_all().unwrap()).unwrap();
        }
    }
    let grads = value.backward().unwrap();
    let none = |var: &Var| vec![vec![0.0; var.dim(1).unwrap()]; weights.len()];
    vars.iter().map(|var| grads.get(var).map_or_else(|| none(var), rows)).collect()
}

/// Directions in a world: what differences need is cheap beside its scene's set-up and its gradient, so that the long
/// mode asks along more of them.
fn n_directions() -> usize {
    if is_long() { 8 } else { 1 }
}

/// Some derivatives of each world of a batch that is solved.
pub fn check(
    place: &str,
    batch: &Batch,
    form: impl Fn(Quasidynamic) -> Quasidynamic,
    random: &mut Random,
    tally: &mut Tally,
) {
    let model = &batch.model;
    let values: Vec<Vec<Vec<f64>>> =
        [&batch.q, &batch.u].into_iter().chain(batch.parameters.tensors()).map(rows).collect();
    let n = values[0].len();
    let worlds: Vec<World> = (0..n).map(|w| values.iter().map(|v| v[w.min(v.len() - 1)].clone()).collect()).collect();

    let at = |worlds: &[World]| {
        let vars: Vec<Var> = (0..values.len()).map(|k| Var::from_tensor(&stack(model, worlds, k)).unwrap()).collect();
        let step = form(Quasidynamic::new(model, &parameters(model, |k| vars[k].as_tensor().clone())).unwrap());
        let step = step.step(&vars[0], &vars[1]).unwrap();
        (vars, step)
    };
    let (vars, base) = at(&worlds);
    let delta = rows(&base.delta);
    let forces = |step: &Step| [&step.force, &step.limit_force, &step.torque].map(rows);
    let own = forces(&base);
    let digits = Digits::of(batch, &base);
    // Weights of about one over the size of what they weigh.
    let weigh = |row: &[f64], random: &mut Random| -> Vec<f64> {
        let size = largest(row.iter().copied()).max(1e-6);
        row.iter().map(|_| random.between(-1.0, 1.0) / size).collect()
    };
    let weights: Vec<[Vec<f64>; 4]> = (0..n)
        .map(|w| {
            let tangents: Vec<f64> = (0..model.nv()).map(|_| random.between(-1.0, 1.0)).collect();
            let [force, limit, torque] = own.each_ref().map(|of| weigh(&of[w], random));
            [tangents, force, limit, torque]
        })
        .collect();
    let gradient = gradients(model, &vars, &base, &weights);
    let finite = gradient.iter().flatten().flatten().all(|x| x.is_finite());
    if !finite {
        tally.wrong.push(format!("{place}: a gradient is not finite"));
        return;
    }

    // Each world that is solved along some directions; all that differences need in one batch.
    let mut asked = Vec::new();
    let solved = (0..n).filter(|&w| base.reports[w].status == Status::Solved);
    for w in solved.flat_map(|w| std::iter::repeat_n(w, n_directions())) {
        let direction = Direction::new(model, &worlds[w], random);
        let parts = direction.parts(model, &worlds[w], |k| &gradient[k][w]);
        if parts.iter().any(|x| *x != 0.0) {
            asked.push((w, direction, parts));
        }
    }
    if asked.is_empty() {
        return;
    }
    let moved: Vec<World> = asked
        .iter()
        .flat_map(|(w, direction, _)| steps().flat_map(|h| [h, -h]).map(|h| direction.moved(model, &worlds[*w], h)))
        .collect();
    let around = form(Quasidynamic::new(model, &parameters(model, |k| stack(model, &moved, k))).unwrap());
    let around = around.step(&stack(model, &moved, 0), &stack(model, &moved, 1)).unwrap();
    let (delta_moved, moved_forces) = (rows(&around.delta), forces(&around));

    for (k, (w, direction, parts)) in asked.iter().enumerate() {
        let (w, of_world) = (*w, 2 * STEPS * k..2 * STEPS * (k + 1));
        let exact: f64 = parts.iter().sum();
        let scale: f64 = parts.iter().map(|x| x.abs()).sum();
        let reports = &around.reports[of_world.clone()];
        if reports.iter().any(|report| report.status != Status::Solved) {
            tally.unsure += 1;
            continue;
        }
        let [by_q, by_forces @ ..] = &weights[w];
        let value = |row: usize, by: f64| -> f64 {
            let moved_q: Vec<f64> = direction.q.iter().map(|x| by * x).collect();
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let difference = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>();
            let of_forces = by_forces.iter().zip(&moved_forces).zip(&own);
            let of_forces = of_forces.map(|((by, moved), own)| dot(by, &difference(&moved[row], &own[w])));
            dot(by_q, &tangent(model, &moved_q, &delta_moved[row], &delta[w])) + of_forces.sum::<f64>()
        };
        // Turns are told up to whole ones only: steps that turn a body less.
        let turns = |row: usize| {
            let floating = model.tree.coordinates.iter().filter(|c| c.kind == JointKind::Floating);
            largest(floating.flat_map(|c| (3..6).map(|i| c.v + i)).map(|i| (delta_moved[row][i] - delta[w][i]).abs()))
        };
        let pairs = steps().zip(of_world.step_by(2)).skip_while(|(_, row)| turns(*row).max(turns(row + 1)) > MOST_TURN);
        let slopes: Vec<f64> = pairs.map(|(h, row)| (value(row, h) - value(row + 1, -h)) / (2.0 * h)).collect();
        if slopes.len() < LEAST_STEPS {
            tally.unsure += 1;
            continue;
        }
        // A solution is known to its residual.
        let noise = largest(reports.iter().map(|report| report.residual)).max(1e-14);
        let (found, own) = extrapolate(&slopes, steps().nth(STEPS - slopes.len()).unwrap(), noise);
        let scale = scale.max(found.abs());
        let error = (exact - found).abs() / scale;
        let kinked = || {
            let sides: Vec<World> =
                ASIDE.iter().flat_map(|h| [*h, -h]).map(|h| direction.moved(model, &worlds[w], h)).collect();
            let (vars, step) = at(&sides);
            let by = gradients(model, &vars, &step, &vec![weights[w].clone(); sides.len()]);
            let sides =
                (0..sides.len()).map(|k| direction.parts(model, &sides[k], |kind| &by[kind][k]).iter().sum::<f64>());
            let (low, high) = sides.fold((exact, exact), |(low, high), side| (low.min(side), high.max(side)));
            let room = TOLERANCE * scale;
            low - room < found && found < high + room && high - low > 2.0 * room
        };
        // Across a kink a few slopes may agree by chance; those of smaller steps then tell.
        let near = |slope: f64| (slope - exact).abs() < TOLERANCE * scale;
        let tells = |(k, some): (usize, &[f64])| {
            let first = steps().nth(STEPS - slopes.len() + k).unwrap();
            let (found, own) = extrapolate(some, first, noise);
            some.iter().copied().all(near) || (own < SURE * scale && near(found))
        };
        let fooled = || slopes.windows(AGREEING).enumerate().any(tells);
        if own > SURE * scale || (error > TOLERANCE && (fooled() || kinked())) {
            tally.unsure += 1;
            continue;
        }
        tally.compared += 1;
        let digits = digits[w].all;
        if digits > TOLERANCE {
            tally.lost += 1;
        } else {
            tally.worst = tally.worst.max(error);
        }
        if error.is_nan() || error > digits.max(TOLERANCE) {
            tally.wrong.push(format!(
                "{place}, world {w}: {exact:e}, differences {found:e} ± {own:.1e} of {scale:e}; least φ {:e}, digits {digits:e}; {}",
                numbers(&base.contacts.phi.narrow(0, w, 1).unwrap()).into_iter().fold(f64::INFINITY, f64::min),
                moving(direction),
            ));
        }
    }
}

/// Steps of the differences.
fn steps() -> impl Iterator<Item = f64> {
    (0..STEPS).map(|k| FIRST / SHRINK.powi(k as i32))
}

/// Which inputs a direction moves.
fn moving(direction: &Direction) -> String {
    let on = |x: &[f64]| x.iter().any(|x| *x != 0.0);
    let mut names = Vec::new();
    names.extend(on(&direction.q).then_some("q"));
    names.extend(on(&direction.u).then_some("u"));
    names.extend(Parameters::NAMES.iter().zip(&direction.parameters).filter(|(_, d)| on(d)).map(|(name, _)| *name));
    names.join(" ")
}
