//! Bodies that overlap part: the step takes the way out that convex bodies always have, for every pair of kinds.

use std::sync::LazyLock;

use candle_core::{DType, Device, Result, Tensor};
use fingertip::collision::Collider;
use fingertip::contact::pair::PairFunction;
use fingertip::description::{Freedom, Object, ObjectBody, Scene, Shape};
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;
use fingertip::{Model, Parameters};
use nalgebra::{Isometry3, Quaternion, Translation3, UnitQuaternion};

use support::states::Random;
use support::{largest, rows};

const KINDS: [&str; 7] = ["sphere", "capsule", "box", "cylinder", "ellipsoid", "hull", "half-space"];
/// Worlds of each pair of kinds: 500, or `FINGERTIP_WORLDS` at length.
static WORLDS: LazyLock<usize> =
    LazyLock::new(|| std::env::var("FINGERTIP_WORLDS").map_or(500, |n| n.parse().expect("a number")));
/// Steps after which all bodies are apart. A step moves by gaps that are linear in it, and large turns leave something
/// to the next; seven steps are the most seen, of ellipsoids that roll out of a half-space.
const STEPS: usize = 12;
/// Corners within 5° of the normal take part in a contact. A body that turns by less in the first step leaves none of
/// them deeper than the overlap was; one that turns by more may come down onto others, and parts in the steps that
/// follow.
const TURN: f64 = 5.0 * std::f64::consts::PI / 180.0;

/// Of this part of the worlds at most: seen of 2 in 500, where flat sides meet.
const DEEPER: f64 = 0.01;
/// The same of hulls in a half-space, whose other corners come down onto it: seen of 20 in 1,500.
const DEEPER_HULLS: f64 = 0.02;

#[derive(Clone, Copy, PartialEq)]
enum Moves {
    /// A is free.
    One,
    /// A is free but does not turn.
    Straight,
    /// Both are free.
    Both,
}

struct Batch {
    model: Model,
    parameters: Parameters,
    pairs: Vec<[Shape; 2]>,
    q: Tensor,
    moves: Moves,
    turn: UnitQuaternion<f64>,
}

/// One of the kinds, of 1 to 10 cm each way: plates, rods and needles among them.
fn shape(random: &mut Random, kind: &str) -> Shape {
    let mut length = || random.scale(0.01, 0.1);
    let (x, y, z) = (length(), length(), length());
    match kind {
        "sphere" => Shape::sphere(x),
        "capsule" => Shape::capsule(x, y),
        "box" => Shape::rounded_cuboid([x, y, z], random.between(-0.9, 0.9).max(0.0) * x.min(y).min(z)),
        "cylinder" => Shape::cylinder(x, y),
        "ellipsoid" => Shape::ellipsoid([x, y, z]),
        "hull" => {
            let corner = |random: &mut Random| {
                let v = random.vector(1.0);
                [x * v.x, y * v.y, z * v.z]
            };
            Shape::hull(&std::array::from_fn::<_, 14, _>(|_| corner(random))).unwrap()
        }
        _ => Shape::HalfSpace,
    }
}

fn reach(shape: &Shape) -> f64 {
    match shape {
        Shape::HalfSpace => 0.0,
        _ => Collider::new(shape).bounds(&Isometry3::identity()).iter().map(|corner| corner.norm()).sum::<f64>() / 2.0,
    }
}

fn numbers(pose: &Isometry3<f64>) -> [f64; 7] {
    let (x, r) = (pose.translation, pose.rotation);
    [x.x, x.y, x.z, r.w, r.i, r.j, r.k]
}

impl Batch {
    /// Overlapping bodies in random places, sizes by `pair`; without gravity, so that nothing but the contact moves
    /// them.
    fn new(
        moves: Moves,
        n: usize,
        mu: f64,
        random: &mut Random,
        pair: impl Fn(&mut Random) -> [Shape; 2],
    ) -> Result<Self> {
        let first = pair(random);
        let (turn, n_moving) = (random.rotation(), if moves == Moves::Both { 2 } else { 1 });
        let (mut pairs, mut q) = (Vec::new(), Vec::new());
        let (mut sizes, mut inertia, mut friction) = (Vec::new(), Vec::new(), Vec::new());
        while pairs.len() < n {
            let mut pair = pair(random);
            // A hull has no sizes: it is the batch's own.
            for (shape, own) in pair.iter_mut().zip(&first) {
                if matches!(own, Shape::Hull(_)) {
                    *shape = own.clone();
                }
            }
            let place = random.vector(reach(&pair[0]) + reach(&pair[1]));
            let rotation = if moves == Moves::Straight { turn } else { random.rotation() };
            let at = Isometry3::from_parts(place.into(), rotation);
            let [a, b] = [&pair[0], &pair[1]].map(Collider::new);
            if a.distance(&at, &b, &Isometry3::identity()).unwrap().phi >= 0.0 {
                continue;
            }
            let of_b = Isometry3::from_parts(random.vector(1.0).into(), random.rotation());
            q.extend(match moves {
                Moves::One => numbers(&at).to_vec(),
                Moves::Straight => numbers(&at)[..3].to_vec(),
                Moves::Both => [numbers(&(of_b * at)), numbers(&of_b)].concat(),
            });
            friction.push(random.between(0.0, mu));
            for shape in &pair {
                sizes.extend(shape.sizes());
            }
            for shape in &pair[..n_moving] {
                let ObjectBody::Rigid { inertia: Some(body), .. } = Object::rigid("", shape.clone(), 0.1).body else {
                    unreachable!()
                };
                let m = body.matrix;
                inertia.extend([m.m11, m.m22, m.m33, m.m12, m.m13, m.m23]);
            }
            pairs.push(pair);
        }

        let [a, b] = first;
        let freedom = if moves == Moves::Straight { Freedom::Translation } else { Freedom::Free };
        let a = Object::rigid("a", a, 0.1)
            .with_freedom(freedom)
            .with_pose(Isometry3::from_parts(Translation3::identity(), turn));
        let b = if n_moving == 2 { Object::rigid("b", b, 0.1) } else { Object::fixed("b", b) };
        let model = Model::new(&Scene::new().with_gravity([0.0; 3]).object(a).object(b), DType::F64, &Device::Cpu)?;
        let tensor = |values: Vec<f64>| {
            let width = values.len() / n;
            Tensor::from_vec(values, (n, width), &Device::Cpu)
        };
        let mut parameters = model.parameters.clone();
        (parameters.sizes, parameters.mu) = (tensor(sizes)?, tensor(friction)?);
        if moves != Moves::Straight {
            parameters.inertia = tensor(inertia)?;
        }
        Ok(Self { q: tensor(q)?, model, parameters, pairs, moves, turn })
    }

    /// Signed distances at q, by `collision`.
    fn distances(&self, q: &Tensor) -> Vec<f64> {
        let pose = |q: &[f64]| {
            let turn = match q {
                [_, _, _, w, i, j, k, ..] => UnitQuaternion::from_quaternion(Quaternion::new(*w, *i, *j, *k)),
                _ => self.turn,
            };
            Isometry3::from_parts(Translation3::new(q[0], q[1], q[2]), turn)
        };
        let all = rows(q).into_iter().zip(&self.pairs).map(|(q, [a, b])| {
            assert!(q.iter().all(|x| x.is_finite()), "{q:?}");
            let at_b = if self.moves == Moves::Both { pose(&q[7..]) } else { Isometry3::identity() };
            Collider::new(a).distance(&pose(&q), &Collider::new(b), &at_b).unwrap().phi
        });
        all.collect()
    }

    /// The largest angle by which a body of each world turns from q to another state.
    fn turns(&self, to: &Tensor) -> Vec<f64> {
        let turn = |q: &[f64]| UnitQuaternion::from_quaternion(Quaternion::new(q[3], q[4], q[5], q[6]));
        let of_world = |(from, to): (Vec<f64>, Vec<f64>)| -> f64 {
            largest(from.chunks_exact(7).zip(to.chunks_exact(7)).map(|(from, to)| turn(from).angle_to(&turn(to))))
        };
        rows(&self.q).into_iter().zip(rows(to)).map(of_world).collect()
    }

    /// Distances before and after each step, until all are apart, and how far the first one turns a body; every step
    /// must be solved.
    fn part(&self, name: &str, steps: usize) -> Result<(Vec<Vec<f64>>, Vec<f64>)> {
        let step = Quasidynamic::new(&self.model, &self.parameters)?;
        let mut q = self.q.clone();
        let u = Tensor::zeros((self.pairs.len(), 0), DType::F64, &Device::Cpu)?;
        let (mut all, mut turns) = (vec![self.distances(&q)], Vec::new());
        for k in 0..steps {
            let next = step.step(&q, &u)?;
            let unsolved = |w: &usize| next.reports[*w].status != Status::Solved;
            if let Some(w) = (0..self.pairs.len()).find(unsolved) {
                let count = (0..self.pairs.len()).filter(unsolved).count();
                let (report, pair, q) = (&next.reports[w], &self.pairs[w], &rows(&q)[w]);
                panic!("{name}, step {k}: {count} worlds unsolved, the first: {report:?}\n{pair:?}\nq {q:?}");
            }
            q = next.q_next;
            if k == 0 {
                turns = self.turns(&q);
            }
            all.push(self.distances(&q));
            if all[k + 1].iter().all(|phi| *phi >= 0.0) {
                return Ok((all, turns));
            }
        }
        Ok((all, turns))
    }
}

/// Every pair of kinds with at most one half-space.
fn pairs_of_kinds() -> impl Iterator<Item = [&'static str; 2]> {
    let of = |i: usize| KINDS[i..].iter().map(move |b| [KINDS[i], *b]);
    (0..KINDS.len() - 1).flat_map(of)
}

/// A free body overlaps a fixed one, or another free one: solved, less deep after a step, apart after a few.
#[test]
fn every_pair_parts() -> Result<()> {
    let mut random = Random::new(61);
    let (mut n_pairs, mut most_steady) = (0, 0);
    for kinds in pairs_of_kinds() {
        n_pairs += 1;
        for (moves, n) in [(Moves::One, *WORLDS), (Moves::Both, *WORLDS / 3)] {
            if moves == Moves::Both && kinds[1] == "half-space" {
                continue;
            }
            let batch = Batch::new(moves, n, 1.5, &mut random, |random| kinds.map(|kind| shape(random, kind)))?;
            let name = format!("{kinds:?}, {} moving", if moves == Moves::Both { "both" } else { "one" });
            let (all, turns) = batch.part(&name, STEPS)?;
            let deeper: Vec<usize> = (0..n).filter(|&w| all[1][w] <= all[0][w]).collect();
            let left = all[all.len() - 1].iter().filter(|phi| **phi < 0.0).count();
            let (count, steady) = (deeper.len(), turns.iter().filter(|turn| **turn < TURN).count());
            println!(
                "{name}: {count} of {n} deeper after a step, {left} not apart after {}; {steady} turn little",
                all.len() - 1
            );
            let share = if kinds == ["hull", "half-space"] { DEEPER_HULLS } else { DEEPER };
            assert!(count as f64 <= share * n as f64, "{name}: {count} of {n} are deeper after a step");
            for w in deeper {
                let [before, after] = [all[0][w], all[1][w]];
                assert!(
                    turns[w] > TURN,
                    "{name}, world {w}: {before:e} before, {after:e} after a turn by {}",
                    turns[w]
                );
            }
            most_steady = most_steady.max(steady);
            // Two cylinders may turn from rim to rim.
            assert!(left * 100 <= n, "{name}: {left} not apart after {STEPS} steps");
        }
    }
    assert_eq!(n_pairs, 27);
    assert!(most_steady > *WORLDS / 4, "{most_steady} worlds at most turn little");
    Ok(())
}

/// A body that does not turn is out after one step: the separation along a fixed normal is linear in its motion and
/// never more than the distance. Of pairs with a formula, whose first contact is the distance itself.
#[test]
fn one_step_parts_what_does_not_turn() -> Result<()> {
    let mut random = Random::new(62);
    let mut compared = 0;
    for kinds in pairs_of_kinds() {
        for _ in 0..5 {
            let batch =
                Batch::new(Moves::Straight, 60, 1.5, &mut random, |random| kinds.map(|kind| shape(random, kind)))?;
            if PairFunction::find(&batch.pairs[0][0], &batch.pairs[0][1]).is_none() {
                continue;
            }
            let (all, _) = batch.part(&format!("{kinds:?} straight"), 1)?;
            assert!(all[1].iter().all(|phi| *phi > 0.0), "{kinds:?}: {:?}", all[1]);
            compared += 1;
        }
    }
    assert_eq!(compared, 35);
    Ok(())
}

/// A pill pokes through a plate, with friction up to 3: never deeper, and out after six steps.
#[test]
fn pills_leave_a_plate() -> Result<()> {
    let mut random = Random::new(63);
    for moves in [Moves::One, Moves::Both] {
        let pair = |_: &mut Random| [Shape::capsule(0.01, 0.06), Shape::cuboid([0.1, 0.1, 0.01])];
        let (all, _) = Batch::new(moves, *WORLDS, 3.0, &mut random, pair)?.part("pill and plate", 6)?;
        assert!((0..*WORLDS).all(|w| all[1][w] > all[0][w]));
        let left = all[all.len() - 1].iter().filter(|phi| **phi < 0.0).count();
        println!("{left} of {} not out after {} steps", *WORLDS, all.len() - 1);
        assert!(left * 100 <= *WORLDS, "{left} of {} are not out", *WORLDS);
    }
    Ok(())
}

/// A cube inside a capsule's rounds, whose ends lie in its faces.
#[test]
fn cube_leaves_a_capsule() -> Result<()> {
    let scene = Scene::new()
        .with_gravity([0.0; 3])
        .object(Object::rigid("cube", Shape::cuboid([0.05; 3]), 0.1).at([0.04, 0.0, 0.0]))
        .object(Object::rigid("capsule", Shape::capsule(0.03, 0.05), 0.1));
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let step = Quasidynamic::new(&model, &model.parameters)?;
    for step in [step.clone(), step.as_tensor_program()] {
        let next = step.step(&model.home(1)?, &Tensor::zeros((1, 0), DType::F64, &Device::Cpu)?)?;
        assert_eq!(next.reports[0].status, Status::Solved);
        let q = &rows(&next.q_next)[0];
        // Side by side as before, the cube's half and the radius apart.
        assert!(q[0] - q[7] > 0.08 && q[0] - q[7] < 0.09 && q.iter().all(|x| x.is_finite()), "{q:?}");
    }
    Ok(())
}
