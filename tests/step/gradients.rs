//! Derivatives of a step in q, u and every parameter against differences.
//!
//! The differences are Ridders': central ones at steps that shrink, extrapolated, until their own error estimate is
//! smallest. The estimate comes from the differences alone; a derivative whose differences are not sure of themselves
//! is counted and left out, and few may be.

use candle_core::{DType, Device, Tensor, Var};
use fingertip::description::{Freedom, Friction, JointKind, Object, PairRule, Scene};
use fingertip::kinematics::Coordinate;
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;
use fingertip::{Model, Parameters};

use support::differences::{FAINT, SHRINK, STEPS, SURE, extrapolate, size};
use support::oracle::{from_tangent, integrate, tangent, to_tangent};
use support::quadruped::quadruped;
use support::states::{self, Batch, Random, Ranges, SCENES, tensor};
use support::{jointed, solids};
use support::{largest, rows};

/// Largest error relative to the largest entry of the same derivative (A, B, C, D, ∂/∂parameter): the promise.
const TOLERANCE: f64 = 1e-6;
/// On the scale of what is faint the rounding of forces alone makes 2.5e-7 of the third step: there differences that
/// claim half of the promise count.
const FAINTLY_SURE: f64 = 5e-7;
/// The same as [`FAINT`] for forces of dry friction, as a share of the largest that they can be: what δ's rounding
/// makes of them is then up to 2e-7 of that scale in the first step.
const FAINT_FRICTION: f64 = 1e-3;
/// First step of the differences, relative to the size of the number. Physical parameters, all
/// smooth and positive, take a wide one: many move the results so little that a narrow one drowns in rounding.
const FIRST: f64 = 1e-2;
const FIRST_PHYSICAL: f64 = 0.15;
/// Rounding of a length or angle of q, and of δ where q stays.
const ROUNDING: f64 = 2e-16;
/// What the solver leaves of the forces' digits: it stops at a relative step of 1e-7, which squared is the error.
const FORCE_ROUNDING: f64 = 2e-14;

/// What is moved: a direction of the tangent, a command, or a number of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Input {
    Q(usize),
    U(usize),
    Parameter(usize, usize),
}

#[derive(Debug)]
struct World {
    q: Vec<f64>,
    u: Vec<f64>,
    parameters: Vec<Vec<f64>>,
}

impl World {
    fn moved(&self, model: &Model, input: Input, by: f64) -> Self {
        let (mut q, mut u, mut parameters) = (self.q.clone(), self.u.clone(), self.parameters.clone());
        match input {
            Input::Q(k) => {
                let mut delta = vec![0.0; model.nv()];
                delta[k] = by;
                q = integrate(model, &q, &delta);
            }
            Input::U(k) => u[k] += by,
            Input::Parameter(p, k) => parameters[p][k] += by,
        }
        Self { q, u, parameters }
    }

    /// The tangent by which `moved` moves q.
    fn tangent(model: &Model, input: Input, by: f64) -> Vec<f64> {
        (0..model.nv()).map(|k| if input == Input::Q(k) { by } else { 0.0 }).collect()
    }

    /// The differences' first step.
    fn first(&self, input: Input) -> f64 {
        let physical = ["stiffness", "mass", "inertia", "mu", "torsion", "epsilon"];
        let wide = matches!(input, Input::Parameter(p, _) if physical.contains(&Parameters::NAMES[p]));
        self.scale(input) * if wide { FIRST_PHYSICAL } else { FIRST }
    }

    /// A length, an angle or a number of the same order, to which steps are relative.
    fn scale(&self, input: Input) -> f64 {
        match input {
            Input::Q(_) | Input::U(_) => 0.1,
            Input::Parameter(p, k) => size(Parameters::NAMES[p], &self.parameters[p], k),
        }
    }
}

/// What a step gives in one world.
struct Outputs {
    delta: Vec<f64>,
    /// World forces, then torques and limit forces.
    forces: Vec<f64>,
    /// λ in the contact frames.
    lambda: Vec<f64>,
}

fn evaluate(model: &Model, worlds: &[World]) -> Vec<Outputs> {
    let column = |part: &dyn Fn(&World) -> Vec<f64>| tensor(model, &worlds.iter().map(part).collect::<Vec<_>>());
    let mut p = 0;
    let parameters = model
        .parameters
        .map(|_, _| {
            p += 1;
            Ok(column(&|w| w.parameters[p - 1].clone()))
        })
        .unwrap();
    let step = Quasidynamic::new(model, &parameters).unwrap();
    let step = step.step(&column(&|w| w.q.clone()), &column(&|w| w.u.clone())).unwrap();
    for (w, report) in step.reports.iter().enumerate() {
        assert_eq!(report.status, Status::Solved, "moved world {w}: {report:?} {:?}", worlds[w]);
    }
    let (next, delta, force, limit) =
        (rows(&step.q_next), rows(&step.delta), rows(&step.force), rows(&step.limit_force));
    let (lambda, torque) = (rows(&step.lambda().unwrap()), rows(&step.torque));
    (0..worlds.len())
        .map(|w| {
            let expected = integrate(model, &worlds[w].q, &delta[w]);
            let off = largest(next[w].iter().zip(expected).map(|(a, b)| a - b));
            assert!(off < 1e-15, "q₊ is not q ⊕ δ by {off:e}");
            let forces = [force[w].as_slice(), &torque[w], &limit[w]].concat();
            Outputs { delta: delta[w].clone(), forces, lambda: [lambda[w].as_slice(), &torque[w]].concat() }
        })
        .collect()
}

#[derive(Default)]
struct Tally {
    worst: std::collections::BTreeMap<&'static str, f64>,
    compared: usize,
    unsure: usize,
    unsure_in: std::collections::BTreeMap<&'static str, usize>,
}

impl Tally {
    /// Compares the columns of one derivative, `exact[input][output]`, on the scale of its largest entry or the input's
    /// own `faint`.
    fn compare(
        &mut self,
        name: &'static str,
        place: &str,
        faint: impl Fn(usize) -> f64,
        exact: &[Vec<f64>],
        differences: &[Vec<(f64, f64)>],
    ) {
        let scale = largest(exact.iter().flatten().copied());
        assert!(scale.is_finite(), "{place}: {name} is not finite");
        let claimed = largest(differences.iter().flatten().map(|d| d.0));
        let common = scale.max(claimed).max(f64::MIN_POSITIVE);
        for (i, (exact, differences)) in exact.iter().zip(differences).enumerate() {
            let scale = common.max(faint(i));
            let sure = if scale > common { FAINTLY_SURE } else { SURE };
            for (o, (exact, &(found, own))) in exact.iter().zip(differences).enumerate() {
                self.compared += 1;
                if own > sure * scale {
                    self.unsure += 1;
                    *self.unsure_in.entry(name).or_insert(0) += 1;
                    continue;
                }
                let error = (exact - found).abs() / scale;
                assert!(
                    error < TOLERANCE,
                    "{place}: {name}, input {i}, output {o}: {exact:e}, differences give {found:e} ± {own:.1e}, of {scale:e}"
                );
                let worst = self.worst.entry(name).or_insert(0.0);
                *worst = worst.max(error);
            }
        }
    }
}

/// All derivatives of the worlds of a batch.
fn check(name: &str, batch: &Batch, tally: &mut Tally) {
    let model = &batch.model;
    let (nv, nu, n_force) = (model.nv(), model.nu(), model.n_lambda());
    let values: Vec<Vec<Vec<f64>>> = batch.parameters.tensors().into_iter().map(rows).collect();
    let (q, u) = (rows(&batch.q), rows(&batch.u));
    let step = Quasidynamic::new(model, &batch.parameters).unwrap();
    let linear = step.linearize(&batch.q, &batch.u).unwrap();
    let matrices = [&linear.a, &linear.b, &linear.c, &linear.d].map(|m| m.to_vec3::<f64>().unwrap());
    let next = rows(&linear.q_next);
    for w in 0..q.len() {
        let place = format!("{name}, world {w}, nearest {:e} m", batch.nearest[w]);
        let own = |p: usize| values[p][w.min(values[p].len() - 1)].clone();
        let world = World { q: q[w].clone(), u: u[w].clone(), parameters: (0..values.len()).map(own).collect() };
        let mut inputs: Vec<Input> = (0..nv).map(Input::Q).chain((0..nu).map(Input::U)).collect();
        for (p, values) in world.parameters.iter().enumerate() {
            inputs.extend((0..values.len()).map(|k| Input::Parameter(p, k)));
        }
        // Derivatives in everything at once: one copy of the world per output.
        let exact = reverse(model, &world, &next[w]);
        let mut worlds = Vec::new();
        for &input in &inputs {
            let mut h = world.first(input);
            for _ in 0..STEPS {
                worlds.extend([world.moved(model, input, h), world.moved(model, input, -h)]);
                h /= SHRINK;
            }
        }
        worlds.push(world.moved(model, Input::Q(0), 0.0));
        let mut results = evaluate(model, &worlds);
        let base = results.pop().unwrap();
        // Where geometry moves, every length is rounded anew.
        let geometry = |input: Input| match input {
            Input::Q(_) => true,
            Input::U(_) => false,
            Input::Parameter(p, _) => ["offsets", "sizes"].contains(&Parameters::NAMES[p]),
        };
        // Forces of dry friction and of tables have the digits of the largest that they can be, F, and answer δ's
        // rounding with up to κ F²/2.
        let rubs = |c: &&Coordinate| c.friction > 0.0 && model.tree.is_resisted(c, model.params.joint_friction);
        let own = |name: &str| &world.parameters[Parameters::NAMES.iter().position(|&other| other == name).unwrap()];
        let heaviest = largest(own("mass").iter().copied()) * own("gravity")[2].abs();
        let on_tables = own("table_friction").iter().map(|friction| friction * heaviest);
        let most = largest(model.tree.coordinates.iter().filter(rubs).map(|c| c.friction).chain(on_tables));
        let kappa = Parameters::NAMES.iter().position(|&name| name == "kappa").unwrap();
        let stiffest = 0.5 * world.parameters[kappa][0] * most * most;
        let differences = |k: usize, frames: bool| -> Vec<(f64, f64)> {
            let first = world.first(inputs[k]);
            let mut h = first;
            let mut slopes = Vec::new();
            for pair in results[2 * STEPS * k..2 * STEPS * (k + 1)].chunks(2) {
                let row = |outputs: &Outputs, by: f64| {
                    let moved = World::tangent(model, inputs[k], by);
                    let forces = if frames { &outputs.lambda } else { &outputs.forces };
                    [tangent(model, &moved, &outputs.delta, &base.delta), forces.clone()].concat()
                };
                let (plus, minus) = (row(&pair[0], h), row(&pair[1], -h));
                slopes.push(plus.iter().zip(minus).map(|(a, b)| (a - b) / (2.0 * h)).collect::<Vec<f64>>());
                h /= SHRINK;
            }
            let of_delta = if geometry(inputs[k]) { ROUNDING } else { ROUNDING * largest(base.delta.iter().copied()) };
            let of_forces = |range: &[f64]| FORCE_ROUNDING * largest(range.iter().copied());
            let (forces, limits) = base.forces.split_at(n_force);
            let rounding = |o: usize| match o < nv {
                true => of_delta,
                // Contact forces and limit forces have sizes of their own.
                false if o < nv + n_force => of_forces(forces),
                false => of_forces(limits).max(of_delta * stiffest),
            };
            let central = |o: usize| slopes.iter().map(|row| row[o]).collect::<Vec<_>>();
            (0..slopes[0].len()).map(|o| extrapolate(&central(o), first, rounding(o))).collect()
        };
        let all: Vec<Vec<(f64, f64)>> = (0..inputs.len()).map(|k| differences(k, false)).collect();
        let of = |wanted: &dyn Fn(Input) -> bool, range: std::ops::Range<usize>| {
            let picked: Vec<usize> = (0..inputs.len()).filter(|&k| wanted(inputs[k])).collect();
            let exact: Vec<Vec<f64>> = picked.iter().map(|&k| exact[k][range.clone()].to_vec()).collect();
            let differences: Vec<Vec<(f64, f64)>> = picked.iter().map(|&k| all[k][range.clone()].to_vec()).collect();
            (exact, differences)
        };
        let n = exact[0].len();
        let parts = [("q₊", 0..nv), ("force", nv..nv + n_force), ("limits", nv + n_force..n)];
        for (k, (_, range)) in parts.iter().enumerate().filter(|(_, (_, range))| !range.is_empty()) {
            let results = [base.delta.as_slice(), &base.forces].concat();
            let size = FAINT * largest(results[range.clone()].iter().copied());
            let size = size.max(if k == 2 { FAINT_FRICTION * most } else { 0.0 });
            let angle = size / world.scale(Input::Q(0));
            let (exact, differences) = of(&|i| matches!(i, Input::Q(_)), range.clone());
            tally.compare(["∂q₊/∂q", "∂f/∂q", "∂limit/∂q"][k], &place, |_| angle, &exact, &differences);
            let (exact, differences) = of(&|i| matches!(i, Input::U(_)), range.clone());
            tally.compare(["∂q₊/∂u", "∂f/∂u", "∂limit/∂u"][k], &place, |_| angle, &exact, &differences);
            for (p, name) in Parameters::NAMES.iter().enumerate() {
                let (exact, differences) = of(&|i| matches!(i, Input::Parameter(o, _) if o == p), range.clone());
                let faint = |n: usize| size / world.scale(Input::Parameter(p, n));
                tally.compare(name, &format!("{place}, of {}", parts[k].0), faint, &exact, &differences);
            }
        }
        // A, B, C, D themselves; λ in the contact frames jumps where a normal crosses n_z = 0, which the error
        // estimate shows.
        let column = |m: &Vec<Vec<f64>>, k: usize| m.iter().map(|row| row[k]).collect::<Vec<_>>();
        let columns = |m: usize, n: usize| (0..n).map(|k| column(&matrices[m][w], k)).collect::<Vec<_>>();
        let angle = |results: &[f64]| FAINT * largest(results) / world.scale(Input::Q(0));
        let (faint, faint_force) = (angle(&base.delta), angle(&base.forces[..n_force]));
        let differences_q = |k: usize| all[k][..nv].to_vec();
        tally.compare("A", &place, |_| faint, &columns(0, nv), &(0..nv).map(differences_q).collect::<Vec<_>>());
        tally.compare("B", &place, |_| faint, &columns(1, nu), &(nv..nv + nu).map(differences_q).collect::<Vec<_>>());
        let lambda = |k: usize| differences(k, true)[nv..].to_vec();
        tally.compare("C", &place, |_| faint_force, &columns(2, nv), &(0..nv).map(lambda).collect::<Vec<_>>());
        tally.compare("D", &place, |_| faint_force, &columns(3, nu), &(nv..nv + nu).map(lambda).collect::<Vec<_>>());
    }
}

/// ∂outputs/∂inputs `[input][output]` by one reverse pass over a copy of the world for each output.
fn reverse(model: &Model, world: &World, next: &[f64]) -> Vec<Vec<f64>> {
    let nv = model.nv();
    let structure = Quasidynamic::new(model, &model.parameters).unwrap();
    let n_limits = structure
        .step(&tensor(model, std::slice::from_ref(&world.q)), &tensor(model, std::slice::from_ref(&world.u)))
        .unwrap();
    let n = nv + model.n_lambda() + n_limits.limit_force.dim(1).unwrap();
    let variable = |values: &[f64]| Var::from_tensor(&tensor(model, &vec![values.to_vec(); n])).unwrap();
    let (q, u) = (variable(&world.q), variable(&world.u));
    let vars: Vec<Var> = world.parameters.iter().map(|p| variable(p)).collect();
    let mut p = 0;
    let parameters = model
        .parameters
        .map(|_, _| {
            p += 1;
            Ok(vars[p - 1].as_tensor().clone())
        })
        .unwrap();
    let step = Quasidynamic::new(model, &parameters).unwrap().step(&q, &u).unwrap();
    let unit = |row: usize| (0..nv).map(|k| if k == row { 1.0 } else { 0.0 }).collect::<Vec<_>>();
    let seeds: Vec<Vec<f64>> = (0..n).map(|row| from_tangent(model, next, &unit(row))).collect();
    let seeds = tensor(model, &seeds);
    let eye = Tensor::eye(n, DType::F64, &Device::Cpu).unwrap();
    let part = |from: usize, width: usize| eye.narrow(1, from, width).unwrap();
    let mut value = (&step.q_next * seeds).unwrap().sum_all().unwrap();
    let (forces, torques, limits) = (3 * model.nc(), step.torque.dim(1).unwrap(), n - nv - model.n_lambda());
    if forces > 0 {
        let product = (step.force.flatten_from(1).unwrap() * part(nv, forces)).unwrap();
        value = (value + product.sum_all().unwrap()).unwrap();
    }
    if torques > 0 {
        value = (value + (&step.torque * part(nv + forces, torques)).unwrap().sum_all().unwrap()).unwrap();
    }
    if limits > 0 {
        value =
            (value + (&step.limit_force * part(nv + model.n_lambda(), limits)).unwrap().sum_all().unwrap()).unwrap();
    }
    let grads = value.backward().unwrap();
    let of = |var: &Var| grads.get(var).map_or_else(|| vec![vec![0.0; var.dim(1).unwrap()]; n], rows);
    let by_q: Vec<Vec<f64>> = of(&q).iter().map(|row| to_tangent(model, &world.q, row)).collect();
    let mut columns = Vec::new();
    for block in [by_q, of(&u)].into_iter().chain(vars.iter().map(of)) {
        let width = block[0].len();
        columns.extend((0..width).map(|k| block.iter().map(|row| row[k]).collect::<Vec<_>>()));
    }
    columns
}

const RANGES: Ranges =
    Ranges { kappa: (1e2, 1e5), mu: (0.05, 1.5), mu_also: &[], stiffness: (1.0, 1e2), mass: (5e-2, 2.0) };

/// Differences that are not sure of themselves may be this share.
const UNSURE: f64 = 0.001;

fn finish(name: &str, tally: &Tally) {
    let share = tally.unsure as f64 / tally.compared as f64;
    println!("{name}: {} derivatives, differences unsure in {:.2} %", tally.compared, 100.0 * share);
    for (name, worst) in &tally.worst {
        println!("  {name}: worst {worst:.1e}, unsure {}", tally.unsure_in.get(name).unwrap_or(&0));
    }
    assert!(share < UNSURE, "{name}: differences unsure in {share}");
}

#[test]
fn every_derivative_on_random_states() {
    let mut random = Random::new(11);
    for ((name, stray), n) in SCENES.into_iter().zip([45, 25, 115, 115]) {
        let batch = states::batch(&states::model(name), stray, n, &RANGES, &mut random);
        let mut tally = Tally::default();
        check(name, &batch, &mut tally);
        finish(name, &tally);
    }
}

/// A scene, random states near its home, and their derivatives.
fn check_scene(name: &str, scene: &Scene, stray: f64, n: usize, seed: u64) {
    let model = Model::new(scene, DType::F64, &Device::Cpu).unwrap();
    let batch = states::batch(&model, stray, n, &RANGES, &mut Random::new(seed));
    let mut tally = Tally::default();
    check(name, &batch, &mut tally);
    finish(name, &tally);
}

#[test]
fn joint_limits() {
    let mut scene = Scene::load("assets/scenes/two_fingers.toml").unwrap();
    scene.params.joint_limits = true;
    check_scene("limits", &scene, 0.03, 10, 12);
}

/// States are drawn with the nearest pair up to 2 cm away, the window is from 5 to 25 mm.
#[test]
fn fading_contacts() {
    let mut scene = Scene::load("assets/scenes/hand_ball.toml").unwrap();
    (scene.params.contact_distance, scene.params.fade) = (Some(0.025), 0.02);
    check_scene("fade", &scene, 0.03, 10, 13);
}

/// By Coulomb's law, whose linear system is not symmetric.
#[test]
fn coulombs_law() {
    for ((name, stray), n) in SCENES.into_iter().zip([10, 8, 25, 200]) {
        let mut scene = Scene::load(format!("assets/scenes/{name}.toml")).unwrap();
        scene.params.friction = Friction::Coulomb;
        scene.params.joint_limits = name == "two_fingers";
        check_scene(&format!("{name}, Coulomb"), &scene, stray, n, 18);
    }
    for ((name, stray), n) in SCENES.into_iter().zip([5, 4]) {
        let mut scene = Scene::load(format!("assets/scenes/{name}.toml")).unwrap();
        (scene.params.friction, scene.params.impratio) = (Friction::Coulomb, 30.0);
        check_scene(&format!("{name}, Coulomb, stiffer friction"), &scene, stray, n, 18);
    }
}

/// A body on a table, whose centre of mass is away from its frame. It is light, and contact soft: forces answer δ's
/// rounding with κ F²/2.
#[test]
fn tables() {
    for friction in Friction::ALL {
        let mut scene = jointed::pushed_on_table();
        scene.params.friction = friction;
        let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
        let ranges = Ranges { kappa: (1e2, 1e4), mass: (2e-2, 1e-1), ..RANGES };
        let batch = states::batch(&model, 0.02, 20, &ranges, &mut Random::new(21));
        let mut tally = Tally::default();
        let name = format!("on a table, {friction:?}");
        check(&name, &batch, &mut tally);
        finish(&name, &tally);
    }
}

/// Contacts that resist turning. The torques are compared among the forces, on the scale of these.
#[test]
fn torsional_friction() {
    for ((name, stray), n) in SCENES.into_iter().zip([6, 5]) {
        for friction in Friction::ALL {
            let mut scene = Scene::load(format!("assets/scenes/{name}.toml")).unwrap();
            scene.params.friction = friction;
            scene.params.torsion = 0.02;
            check_scene(&format!("{name}, torsion, {friction:?}"), &scene, stray, n, 19);
        }
    }
}

/// What resists rolling on a cylinder's or a capsule's side. (The rounding of boxes cannot be less.)
#[test]
fn things_on_a_line() {
    let shapes = solids::shapes();
    for (k, (name, shape)) in shapes.iter().filter(|(name, _)| !["block", "dice", "ball"].contains(name)).enumerate() {
        for (friction, under) in Friction::ALL.into_iter().zip(solids::lines()) {
            let mut scene = solids::on_a_line(name, shape, under);
            scene.params.friction = friction;
            check_scene(&format!("{name} on a line, {friction:?}"), &scene, 0.02, 3, 20 + k as u64);
        }
    }
}

/// What hangs from a grip, where the step knows how gravity pulls it back.
#[test]
fn what_hangs() {
    for friction in Friction::ALL {
        let mut scene = solids::hanging();
        scene.params.friction = friction;
        check_scene(&format!("hanging, {friction:?}"), &scene, 0.01, 8, 26);
    }
}

#[test]
fn a_mimic_joint() {
    check_scene("mimic", &jointed::mimic(), 0.02, 8, 14);
}

/// An elbow that turns freely.
#[test]
fn a_ball_joint() {
    let mut arm = jointed::arm();
    let elbow = jointed::joint(&arm, "elbow");
    (arm.joints[elbow].kind, arm.joints[elbow].limits) = (JointKind::Spherical, None);
    check_scene("ball joint", &jointed::push_with(arm, "elbow"), 0.02, 8, 25);
}

/// A tendon, springs, damping, armature and a connection of joints.
#[test]
fn passive_elements_of_joints() {
    check_scene("elements", &jointed::with_elements(), 0.02, 12, 24);
}

/// A door that a ball touches, in the world and with a free-floating frame: bodies with several joints and off-centre
/// masses.
#[test]
fn an_articulated_object() {
    check_scene("door", &jointed::door(Freedom::Fixed), 0.02, 8, 15);
    check_scene("free door", &jointed::door(Freedom::Free), 0.02, 4, 16);
}

/// A robot on legs, base and joints in one problem: its inertia about the base depends on the joints.
#[test]
fn a_floating_base() {
    let scene = Scene::new()
        .object(Object::ground("ground", 0.0))
        .robot(quadruped(nalgebra::Isometry3::translation(0.0, 0.0, 0.2)))
        .pair(PairRule::exclude("dog", "dog"));
    check_scene("dog", &scene, 0.02, 4, 17);
}
