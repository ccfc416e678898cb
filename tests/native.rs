//! Native code has the bits of the lanes: steps from nothing and from forces, their gradients, rollouts and theirs,
//! Jacobians, on shipped and on random scenes, for registers of all widths. Without a compiler these tests say that
//! they were skipped.

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::Model;
use fingertip::description::{Freedom, Friction, Object, Scene, Shape};
use fingertip::math::lane::InstructionSet;
use fingertip::mpc::Task;
use fingertip::rollout::rollout;
use fingertip::solve::Report;
use fingertip::step::Quasidynamic;

use fingertip::step::SparseRows;
use support::random_scenes;
use support::rows;
use support::states::{self, Batch, Random};

/// More than one register of any width, and not a multiple of one.
const WORLDS: usize = 37;
const STEPS: usize = 3;

/// Rows of numbers, and what they are.
type Named = (&'static str, Vec<Vec<f64>>);

/// Everything that a step gives.
fn all(step: &Quasidynamic, q: &Tensor, u: &Tensor) -> Result<Vec<Named>> {
    let mut found = Vec::new();
    let mut tracked: Vec<Var> = Vec::new();
    let mut track = |t: &Tensor| {
        tracked.push(Var::from_tensor(t)?);
        Ok::<_, candle_core::Error>(tracked[tracked.len() - 1].as_tensor().clone())
    };
    let (q, u) = (track(q)?, track(u)?);
    let parameters = step.parameters().map(|_, t| track(t))?;
    let step = step.with_parameters(&parameters)?;
    let reports = |reports: &[Report]| -> Vec<Vec<f64>> {
        reports.iter().map(|r| vec![r.status as u8 as f64, r.iterations as f64, r.residual]).collect()
    };
    let flat = |t: &Tensor| -> Result<Vec<Vec<f64>>> { Ok(rows(&t.flatten_from(1)?.contiguous()?)) };
    let gradients = |value: &Tensor| -> Result<Vec<Vec<Vec<f64>>>> {
        let store = value.backward()?;
        tracked.iter().map(|var| store.get(var).map_or_else(|| flat(&var.zeros_like()?), flat)).collect()
    };

    let cold = step.step(&q, &u)?;
    found.extend([("q_next", flat(&cold.q_next)?), ("force", flat(&cold.force)?), ("report", reports(&cold.reports))]);
    found.push(("torque", flat(&cold.torque)?));
    let value = ((cold.q_next.sqr()?.sum_all()? + cold.force.sum_all()?)? + cold.torque.sum_all()?)?;
    found.extend(gradients(&value)?.into_iter().map(|gradient| ("gradient", gradient)));
    let warm = step.step_from(&q, &u, Some(&cold.warm))?;
    found.extend([("warm q_next", flat(&warm.q_next)?), ("warm report", reports(&warm.reports))]);

    let controls = Tensor::stack(&[&u; STEPS], 1)?;
    let long = rollout(&step, &q, &controls)?;
    found.extend([("states", flat(&long.q)?), ("forces", flat(&long.force)?)]);
    found.extend(long.reports.iter().map(|of_step| ("reports", reports(of_step))));
    let value = (long.q.sqr()?.sum_all()? + long.force.sum_all()?)?;
    found.extend(gradients(&value)?.into_iter().map(|gradient| ("gradient of a rollout", gradient)));

    let linear = step.linearize(&q.detach(), &u.detach())?;
    let jacobians = [("A", &linear.a), ("B", &linear.b), ("C", &linear.c), ("D", &linear.d)];
    for (name, jacobian) in jacobians {
        found.push((name, flat(jacobian)?));
    }
    let linear = step.linearize_from(&q.detach(), &u.detach(), Some(&cold.warm))?;
    found.push(("A from forces", flat(&linear.a)?));
    Ok(found)
}

/// The same natively; nothing without a compiler.
fn natively<T, U>(name: &str, of: T, native: impl Fn(T) -> Result<U>) -> Option<U> {
    match native(of) {
        Ok(native) => Some(native),
        Err(error) if error.to_string().contains("expected a C compiler") => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

/// Compares all that a native step gives with what lanes give; false without a compiler.
fn compare(
    name: &str,
    step: &Quasidynamic,
    native: impl Fn(&Quasidynamic) -> Result<Quasidynamic>,
    batch: &Batch,
) -> bool {
    let Some(native) = natively(name, step, native) else { return false };
    let (expected, found) = (all(step, &batch.q, &batch.u).unwrap(), all(&native, &batch.q, &batch.u).unwrap());
    assert_eq!(expected.len(), found.len());
    for ((what, expected), (_, found)) in expected.iter().zip(&found) {
        assert_eq!(expected.len(), found.len(), "{name}: {what}");
        for (w, (expected, found)) in expected.iter().zip(found).enumerate() {
            let bits = |row: &[f64]| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert!(bits(expected) == bits(found), "{name}: {what} of world {w}: {found:?}, expected {expected:?}");
        }
    }
    true
}

fn step_of(batch: &Batch) -> Quasidynamic {
    Quasidynamic::new(&batch.model, &batch.parameters).unwrap()
}

#[test]
fn shipped_scenes_have_the_bits_of_the_lanes() {
    let mut random = Random::new(61);
    for name in ["push", "two_fingers"] {
        let batch = Batch::strange(&states::model(name), WORLDS, &mut random);
        if !compare(name, &step_of(&batch), Quasidynamic::native, &batch) {
            return;
        }
    }
}

/// A tendon, springs, damping and armature of joints.
#[test]
fn joints_with_elements_have_the_bits_of_the_lanes() {
    let model = Model::new(&support::jointed::with_elements(), DType::F64, &Device::Cpu).unwrap();
    let batch = Batch::strange(&model, WORLDS, &mut Random::new(68));
    compare("elements", &step_of(&batch), Quasidynamic::native, &batch);
}

#[test]
fn what_hangs_has_the_bits_of_the_lanes() {
    let model = Model::new(&support::solids::hanging(), DType::F64, &Device::Cpu).unwrap();
    let batch = Batch::strange(&model, WORLDS, &mut Random::new(69));
    compare("what hangs", &step_of(&batch), Quasidynamic::native, &batch);
}

#[test]
fn boxes_on_boxes_have_the_bits_of_the_lanes() {
    let model = Model::new(&states::bricks(), DType::F64, &Device::Cpu).unwrap();
    let batch = Batch::strange(&model, WORLDS, &mut Random::new(67));
    compare("bricks", &step_of(&batch), Quasidynamic::native, &batch);
}

#[test]
fn registers_of_all_widths_have_the_bits_of_the_lanes() {
    let batch = Batch::strange(&states::model("push"), WORLDS, &mut Random::new(62));
    // The widest is the others' business.
    for set in [InstructionSet::Fma, InstructionSet::Four] {
        let native = |step: &Quasidynamic| step.native_on(set);
        if let Err(error) = native(&step_of(&batch)) {
            println!("skipped: {error}");
            continue;
        }
        compare(set.name(), &step_of(&batch), native, &batch);
    }
}

#[test]
fn coulombs_law_has_the_bits_of_the_lanes() {
    let mut scene = Scene::load("assets/scenes/push.toml").unwrap();
    (scene.params.friction, scene.params.impratio) = (Friction::Coulomb, 3.0);
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let batch = Batch::strange(&model, WORLDS, &mut Random::new(63));
    compare("push by Coulomb's law", &step_of(&batch), Quasidynamic::native, &batch);
}

/// By each law a scene; `FINGERTIP_SEED=1` looks at other ones.
#[test]
fn random_scenes_have_the_bits_of_the_lanes() {
    let seed = std::env::var("FINGERTIP_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let mut random = Random::new(64 + seed);
    let laws =
        [(Friction::Relaxed, false), (Friction::Relaxed, true), (Friction::Coulomb, false), (Friction::Coulomb, true)];
    let mut left = laws.into_iter();
    let mut next = left.next();
    while let Some((friction, torsion)) = next {
        let mut scene = random_scenes::scene(&mut random);
        scene.params.friction = friction;
        if torsion {
            random_scenes::resist_turning(&mut scene, &mut random);
        }
        let moves = scene.robots.iter().any(|r| r.articulation.joints.iter().any(|j| j.is_commandable()))
            || scene.objects.iter().any(|o| o.freedom != Freedom::Fixed);
        let Ok(model) = Model::new(&scene, DType::F64, &Device::Cpu) else { continue };
        if !moves || model.nc() == 0 || model.nc() > 4 || torsion == model.pairs.torsional.is_empty() {
            continue;
        }
        let batch = Batch::strange(&model, WORLDS, &mut random);
        let step = step_of(&batch);
        if step.record(fingertip::step::Kernel::Step, fingertip::math::lane::Precision::Double).is_err() {
            continue;
        }
        let name = format!("random scene, {friction:?}, torsion: {torsion}");
        if !compare(&name, &step, Quasidynamic::native, &batch) {
            return;
        }
        next = left.next();
    }
}

/// Steps in single precision, worlds that are not solved done again in double precision. The lanes of builds with the
/// feature `narrow` have no single precision to compare with.
#[test]
fn single_precision_has_the_bits_of_the_lanes() {
    let scene = Scene::load("assets/scenes/push.toml").unwrap();
    let double = Batch::strange(&Model::new(&scene, DType::F64, &Device::Cpu).unwrap(), WORLDS, &mut Random::new(65));
    let model = Model::new(&scene, DType::F32, &Device::Cpu).unwrap();
    let to = |t: &Tensor| t.to_dtype(DType::F32).unwrap();
    let parameters = double.parameters.map(|_, t| Ok(to(t))).unwrap();
    let batch = Batch { q: to(&double.q), u: to(&double.u), parameters, model, nearest: Vec::new() };
    let step = step_of(&batch);
    if cfg!(feature = "narrow") {
        let Ok(native) = step.native() else { return };
        let found = native.step(&batch.q, &batch.u).unwrap();
        let expected = step_of(&double).step(&double.q, &double.u).unwrap();
        let solved = |reports: &[Report]| {
            reports.iter().map(|report| report.status == fingertip::solve::Status::Solved).collect::<Vec<_>>()
        };
        assert_eq!(solved(&found.reports), solved(&expected.reports));
        return;
    }
    compare("single precision", &step, Quasidynamic::native, &batch);
}

#[test]
fn what_cannot_be_compiled_is_told() {
    let scene = Scene::new()
        .object(Object::rigid("egg", Shape::ellipsoid([0.02, 0.03, 0.04]), 0.1))
        .object(Object::rigid("brick", Shape::cuboid([0.02, 0.03, 0.04]), 0.1));
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let error = step.native().unwrap_err().to_string();
    assert!(error.contains("\"egg\"") && error.contains("\"brick\""), "{error}");
    let error = step.as_tensor_program().native().unwrap_err().to_string();
    assert!(error.contains("fused form"), "{error}");
    let push = states::model("push");
    let push = Quasidynamic::new(&push, &push.parameters).unwrap();
    let error = push.native_on(InstructionSet::Baseline).unwrap_err().to_string();
    assert!(error.contains("fused multiply-adds"), "{error}");
}

/// Of as many worlds as narrower registers have too.
#[test]
fn held_commands_have_the_bits_of_the_lanes() {
    let batch = Batch::strange(&states::model("push"), WORLDS, &mut Random::new(71));
    let step = step_of(&batch);
    let Some(native) = natively("push", &step, Quasidynamic::native) else { return };
    let numbers = |t: &Tensor, worlds| t.narrow(0, 0, worlds)?.flatten_all()?.to_vec1::<f64>();
    let held = |step: &Quasidynamic, worlds: usize, is_warm: bool| -> Result<[Vec<u64>; 3]> {
        let parameters = step.parameters().map(|_, t| t.narrow(0, 0, worlds.min(t.dim(0)?)))?;
        let warm = if is_warm { numbers(&step.step(&batch.q, &batch.u)?.warm, worlds)? } else { Vec::new() };
        let (q, u) = (numbers(&batch.q, worlds)?, numbers(&batch.u, worlds)?);
        let held =
            step.with_parameters(&parameters)?.hold(&q, &u, Some(&SparseRows::whole(warm, step.n_warm())), STEPS)?;
        Ok([held.q.as_slice(), &held.warm.dense(), &held.force.dense()]
            .map(|of| of.iter().map(|x| x.to_bits()).collect()))
    };
    for (worlds, is_warm) in [(1, true), (3, true), (3, false), (WORLDS, true)] {
        assert_eq!(held(&step, worlds, is_warm).unwrap(), held(&native, worlds, is_warm).unwrap(), "{worlds} worlds");
    }
}

/// Everything that a planner tries, and how far it goes, is in the command.
#[test]
fn plans_have_the_bits_of_the_lanes() {
    let task = || Task::load("assets/tasks/planar_push.toml").unwrap();
    let commands = |task: &Task| -> Result<Vec<u64>> {
        let episode = task.episode(0, 0)?;
        let mut controller = task.controller(&episode)?;
        let mut q = episode.start.q.clone();
        let mut commands = Vec::new();
        for _ in 0..4 {
            let u = controller.command(&q, None)?.u;
            q = task.simulator().advance(&q, &u, None)?.q.split_off((task.simulator().hold() - 1) * q.len());
            commands.extend(u.iter().chain(&q).map(|x| x.to_bits()));
        }
        Ok(commands)
    };
    let Some(native) = natively("planar_push", task(), Task::native) else { return };
    assert_eq!(commands(&task()).unwrap(), commands(&native).unwrap());
}
