//! What joints have of their own: springs, damping, armature, and tendons that one command pulls, against closed forms.

use candle_core::{DType, Device, Result, Tensor};
use fingertip::description::{Articulation, Friction, Mimic, Object, Robot, Scene, Shape};
use fingertip::mpc::plant::SecondOrder;
use fingertip::solve::{Method, Status};
use fingertip::step::{ContactModel, Dynamic, DynamicParams, Quasidynamic, StepCotangent};
use fingertip::{Model, Overrides};

use support::{largest, rows};

const ROUNDING: f64 = 1e-12;

/// Two bodies on hinges about z in a row, 0.3 m apart; 1 kg at 0.1 m, then 0.5 kg at 0.2 m, without size.
fn scene(keys: &str) -> Scene {
    let text =
        format!("gravity = [0, -10, 0]\n[params]\nh = 0.02\n[[robot]]\nname = \"arm\"\nurdf = \"arm.urdf\"\n{keys}");
    Scene::from_toml(&text, "tests/joints").unwrap_or_else(|error| panic!("{keys}: {error}"))
}

fn model(scene: &Scene) -> Model {
    Model::new(scene, DType::F64, &Device::Cpu).unwrap()
}

/// q₊ of one step.
fn next(model: &Model, q: &[f64], u: &[f64]) -> Vec<f64> {
    let step = Quasidynamic::new(model, &model.parameters).unwrap();
    let step = step.step(&model.tensor(&[q]).unwrap(), &model.tensor(&[u]).unwrap()).unwrap();
    rows(&step.q_next).remove(0)
}

fn near(found: &[f64], expected: &[f64]) {
    let error = largest(found.iter().zip(expected).map(|(a, b)| a - b));
    assert!(found.len() == expected.len() && error < ROUNDING, "{found:?} are not {expected:?}");
}

/// A spring beside a command: both pull.
#[test]
fn a_spring_beside_a_command() {
    let model = model(&scene("stiffness = 2\nspring = { j1 = { stiffness = 3, rest = 0.5 } }\n"));
    assert_eq!((model.nu(), model.inertial.len()), (2, 0));
    near(&next(&model, &[0.1, 0.2], &[-0.4, 0.3]), &[(2.0 * -0.4 + 3.0 * 0.5) / 5.0, 0.3]);
}

/// A commanded joint with damping covers K/(K + d/h) of its way, with armature K/(K + d/h + ε a/h²), and only if asked
/// to.
#[test]
fn damping_and_armature_of_commanded_joints() {
    let mut scene = scene("stiffness = 2\ndamping = { j1 = 0.1 }\narmature = { default = 0.004, j2 = 0.02 }\n");
    near(&next(&model(&scene), &[0.1, 0.2], &[0.5, 0.3]), &[0.5, 0.3]);
    scene.params.joint_damping = true;
    let (h, epsilon) = (scene.params.h, scene.params.epsilon);
    let [first, second] = [0.1 / h + epsilon * 0.004 / (h * h), epsilon * 0.02 / (h * h)];
    near(
        &next(&model(&scene), &[0.1, 0.2], &[0.5, 0.3]),
        &[0.1 + 0.4 * 2.0 / (2.0 + first), 0.2 + 0.1 * 2.0 / (2.0 + second)],
    );
}

/// A joint without a command: weight, spring, damping, armature and the inertia of what it carries.
#[test]
fn a_passive_joint() {
    let scene = scene(
        "stiffness = 2\npassive = [\"j2\"]\nspring = { j2 = { stiffness = 3, rest = 0.5 } }\n\
         damping = { j2 = 0.1 }\narmature = { j2 = 0.01 }\n",
    );
    let model = model(&scene);
    assert_eq!((model.nu(), model.u_names()), (1, vec!["arm/j1".to_owned()]));
    let (h, epsilon) = (scene.params.h, scene.params.epsilon);
    let q: [f64; 2] = [0.3, -0.2];
    // The command reaches its target; weight on the second joint is that of where the step begins.
    let weight = -10.0 * 0.5 * 0.2 * (q[0] + q[1]).cos();
    let p = 3.0 + 0.1 / h + epsilon * (0.01 + 0.5 * 0.2 * 0.2) / (h * h);
    near(&next(&model, &q, &[0.7]), &[0.7, q[1] + (3.0 * (0.5 - q[1]) + weight) / p]);
    assert_eq!(scene.control(0.0), [0.0]);
}

/// One command for a sum of joints: P = K c cᵀ + D/h.
#[test]
fn a_tendon() {
    let scene = scene(
        "stiffness = 2\npassive = [\"j2\"]\ntendons = [{ joint = \"j1\", others = { j2 = 0.5 } }]\n\
         damping = 0.04\nhome = { j1 = 0.4, j2 = 0.2 }\n",
    );
    let model = model(&scene);
    assert_eq!((model.nu(), model.inertial.len()), (1, 0));
    // Its home command is its length.
    assert_eq!(scene.control(0.0), [0.5]);
    let d = 0.04 / scene.params.h;
    // (K c cᵀ + D) δ = K c s has δ = c x with x = K s/(K cᵀc + D).
    let short = 0.9 - (0.3 + 0.5 * -0.2);
    let x = 2.0 * short / (2.0 * 1.25 + d);
    near(&next(&model, &[0.3, -0.2], &[0.9]), &[0.3 + x, -0.2 + 0.5 * x]);
}

/// K (u − cᵀq₊), and which are beyond the joints' efforts.
#[test]
fn forces_of_commands() -> Result<()> {
    let mut scene = scene("stiffness = { j1 = 2, j2 = 3 }\ntendons = [{ joint = \"j1\", others = { j2 = 0.5 } }]\n");
    scene.robots[0].articulation.joints[0].effort = 0.5;
    scene.robots[0].articulation.joints[1].effort = 2.0;
    let model = model(&scene);
    let step = Quasidynamic::new(&model, &model.parameters)?;
    let (q, u) = (model.tensor(&[&[0.1, 0.2], &[0.3, 0.4]])?, model.tensor(&[&[0.5, -0.1], &[0.6, -0.3]])?);
    let forces = step.command_forces(&q, &u)?.flatten_all()?.to_vec1::<f64>()?;
    near(&forces, &[2.0 * (0.5 - 0.2), 3.0 * -0.3, 2.0 * (0.6 - 0.5), 3.0 * -0.7]);
    let beyond = step.beyond_efforts(&q, &u)?;
    let found: Vec<_> = beyond.iter().map(|beyond| (beyond.world, beyond.command, beyond.effort)).collect();
    assert_eq!(found, [(0, 0, 0.5), (1, 1, 2.0)]);
    Ok(())
}

/// With `effort_limits` a command pulls no harder than its joint can: it goes F/K a step until it is nearer than that,
/// holds a load below F where K says, and yields to a larger one. Jacobians and gradients by the stiffness are those of
/// the bounded force.
#[test]
fn commands_within_their_efforts() -> Result<()> {
    let mut scene = scene("stiffness = { j1 = 2, j2 = 3 }\n");
    scene.params.effort_limits = true;
    scene.robots[0].articulation.joints[0].effort = 0.5;
    let model = model(&scene);
    near(&next(&model, &[0.1, 0.2], &[1.0, -1.0]), &[0.1 + 0.5 / 2.0, -1.0]);
    near(&next(&model, &[0.1, 0.2], &[0.3, -1.0]), &[0.3, -1.0]);
    let step_by = |stiffness: f64, load: f64| {
        let mut parameters = model.parameters.clone();
        parameters.stiffness = model.tensor(&[&[stiffness, 3.0]]).unwrap();
        parameters.tau = model.tensor(&[&[load, 0.0]]).unwrap();
        Quasidynamic::new(&model, &parameters).unwrap()
    };
    let (q, u) = ([0.1, 0.2], [0.1, 0.2]);
    let after = |load: f64, steps: usize| {
        step_by(2.0, load).rollout_numbers(&q, &u.repeat(steps), steps).map(|rollout| rollout.q[2 * steps])
    };
    near(&[after(0.4, 50)?], &[0.1 + 0.4 / 2.0]);
    // From where the spring gives all that it can, each step yields by what the load is beyond that.
    near(&[after(0.7, 20)? - after(0.7, 19)?], &[(0.7 - 0.5) / 2.0]);
    let u = [1.0, 0.2];
    let step = step_by(2.0, 0.0);
    let linear = step.linearize(&model.tensor(&[&q])?, &model.tensor(&[&u])?)?;
    near(&linear.a.flatten_all()?.to_vec1::<f64>()?, &[1.0, 0.0, 0.0, 0.0]);
    near(&linear.b.flatten_all()?.to_vec1::<f64>()?, &[0.0, 0.0, 0.0, 1.0]);
    let solved = step.step_numbers(&q, &u, &[])?;
    let by = StepCotangent { q_next: &[1.0, 0.0], ..StepCotangent::default() };
    let gradient = step.vjp(&q, &u, &solved, &by)?;
    let place = fingertip::Parameters::NAMES.iter().position(|name| *name == "stiffness").unwrap();
    near(&gradient.parameters[place], &[-0.5 / 4.0, 0.0]);
    near(&gradient.u, &[0.0, 0.0]);
    // It gives no more than 0.5 where a step ends, either.
    let forces = step.command_forces(&model.tensor(&[&q])?, &model.tensor(&[&u])?)?;
    near(&forces.flatten_all()?.to_vec1::<f64>()?, &[0.5, 0.0]);
    Ok(())
}

/// F a/(1 + √(1 + a²)), the friction of a joint that moves by δ in a step, a = κ F δ, and its slope.
fn dry_friction(kappa: f64, most: f64, delta: f64) -> (f64, f64) {
    let (a, s) = (kappa * most * delta, (kappa * most * delta).hypot(1.0));
    (most * a / (1.0 + s), kappa * most * most / (s * (1.0 + s)))
}

/// How far a load moves a joint of stiffness K, by bisection of K δ + friction = load.
fn slip(kappa: f64, stiffness: f64, most: f64, load: f64) -> f64 {
    let (mut low, mut high) = (0.0, load.abs() / stiffness);
    for _ in 0..2_000 {
        let middle = 0.5 * (low + high);
        if stiffness * middle + dry_friction(kappa, most, middle).0 < load.abs() { low = middle } else { high = middle }
    }
    high.copysign(load)
}

/// A commanded joint with dry friction F stays, but for its creep, while its command pulls by less than F, and else
/// stops F/K before it; only if asked to. Both laws, both forms, every κ; the force, Jacobians and gradients by κ and K
/// in closed form.
#[test]
fn dry_friction_of_commanded_joints() -> Result<()> {
    let (stiffness, most) = (2.0, 0.05);
    let mut scene = scene("stiffness = 2\ndry_friction = { j1 = 0.05 }\n");
    near(&next(&model(&scene), &[0.1, 0.2], &[0.11, 0.3]), &[0.11, 0.3]);
    scene.params.joint_friction = true;
    for (friction, kappa) in
        [Friction::Relaxed, Friction::Coulomb].into_iter().zip([1e2, 1e4, 1e6, 1e8, 1e12].repeat(2))
    {
        scene.params.friction = friction;
        scene.params.kappa = kappa;
        let model = model(&scene);
        let step = Quasidynamic::new(&model, &model.parameters)?;
        let q = [0.1, 0.2];
        for load in [0.0, 1e-5, 0.01, -0.03, 0.0499, 0.05, -0.0501, 0.07, 1.0, -30.0, 1e4] {
            let place = format!("{friction:?}, kappa {kappa}, load {load}");
            let u = [q[0] + load / stiffness, 0.3];
            let (qs, us) = (model.tensor(&[&q])?, model.tensor(&[&u])?);
            let found = step.step(&qs, &us)?;
            assert!(found.reports[0].status == Status::Solved, "{place}: {:?}", found.reports[0]);
            let [delta, expected] = [rows(&found.delta)[0][0], slip(kappa, stiffness, most, load)];
            // δ is small against K δ's and F's rounding where the joint sticks.
            assert!(
                (delta - expected).abs() <= 1e-8 * expected.abs() + 1e-14 * load.abs(),
                "{place}: {delta:e}, {expected:e}"
            );
            let (force, slope) = dry_friction(kappa, most, expected);
            let held = rows(&found.limit_force)[0][0];
            assert!((held + force).abs() < 1e-9 * most, "{place}: {held}, {force}");
            let program = step.as_tensor_program().step(&qs, &us)?;
            assert_eq!(rows(&program.delta), rows(&found.delta), "{place}");
            let linear = step.linearize(&qs, &us)?;
            let by_u = stiffness / (stiffness + slope);
            let relative = |found: f64, expected: f64| (found - expected).abs() < 1e-6 * expected.abs() + 1e-12;
            assert!(relative(rows(&linear.b)[0][0], by_u), "{place}: {linear:?}, {by_u}");
            assert!(relative(rows(&linear.a)[0][0], 1.0 - by_u), "{place}: {linear:?}, {by_u}");
            let solved = step.step_numbers(&q, &u, &[])?;
            let by = StepCotangent { q_next: &[1.0, 0.0], ..StepCotangent::default() };
            let gradient = step.vjp(&q, &u, &solved, &by)?;
            let of = |name: &str| {
                let place = fingertip::Parameters::NAMES.iter().position(|other| *other == name).unwrap();
                gradient.parameters[place][0]
            };
            // The force depends on κ δ.
            assert!(relative(of("kappa") * kappa, -slope * expected / (stiffness + slope)), "{place}: {}", of("kappa"));
            assert!(relative(of("stiffness"), (load / stiffness - expected) / (stiffness + slope)), "{place}");
            // −1/K where it slides.
            let a: f64 = kappa * most * expected;
            let by_most = -(a / a.hypot(1.0)) / (stiffness + slope);
            assert!(relative(of("dry_friction"), by_most), "{place}: {}, {by_most}", of("dry_friction"));
        }
        // Hard: what the load is beyond F moves it.
        if kappa > 1e11 {
            let moved = |load: f64| next(&model, &q, &[q[0] + load / stiffness, 0.3])[0] - q[0];
            assert!((moved(0.08) - 0.03 / stiffness).abs() < 1e-9 && moved(0.03).abs() < 1e-9);
        }
    }
    Ok(())
}

/// A warm start, and what is held creeps by 2 r/((1 − r²) κ F) a step.
#[test]
fn what_dry_friction_holds_creeps() -> Result<()> {
    let mut scene = scene(
        "stiffness = 2\npassive = [\"j2\"]\nspring = { j2 = { stiffness = 1e-9 } }\ndry_friction = { j2 = 0.02 }\n",
    );
    scene.gravity = [0.0; 3];
    scene.params.kappa = 1e7;
    let model = model(&scene);
    let mut parameters = model.parameters.clone();
    parameters.tau = model.tensor(&[&[0.0, 0.012]])?;
    parameters.epsilon = model.tensor(&[&[1e-9]])?;
    let step = Quasidynamic::new(&model, &parameters)?;
    let rollout = step.rollout_numbers(&[0.0, 0.5], &[0.0; 100], 100)?;
    let (r, steps) = (0.012 / 0.02, 100.0);
    let creep = 2.0 * r / ((1.0 - r * r) * 1e7 * 0.02);
    let moved = rollout.q[2 * 100 + 1] - 0.5;
    assert!((moved / (steps * creep) - 1.0).abs() < 1e-6, "{moved:e} in 100 steps, creep {creep:e}");
    Ok(())
}

/// URDF's `friction` and MJCF's `frictionloss` are one and the same, and act on passive joints by default.
#[test]
fn dry_friction_of_files() -> Result<()> {
    let urdf = r#"<robot name="arm"><link name="base"/><link name="a"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
        <inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/><dynamics damping="0.1" friction="0.4"/></joint>
        </robot>"#;
    let mjcf = r#"<mujoco><compiler angle="radian"/><worldbody><body name="base"><body name="a"><joint name="j" axis="0 0 1" damping="0.1"
        frictionloss="0.4"/><inertial pos="0.1 0 0" mass="1" diaginertia="1e-3 1e-3 1e-3"/></body></body></worldbody></mujoco>"#;
    let mut found = Vec::new();
    let door = Articulation::from_urdf_str(urdf, "arm").unwrap();
    for mut scene in [Scene::new().object(Object::articulated("door", door)), Scene::from_mjcf_text(mjcf, ".").unwrap()]
    {
        scene.gravity = [0.0, -10.0, 0.0];
        let (h, epsilon, kappa) = (scene.params.h, scene.params.epsilon, 1e9);
        scene.params.kappa = kappa;
        assert_eq!(scene.warnings, Vec::<String>::new());
        scene.robots.iter_mut().for_each(|robot| robot.passive.extend(["j".to_owned()]));
        let model = model(&scene);
        // Weight turns it by m g x cos q, less 0.4.
        for q in [0.0_f64, 1.3] {
            let load = -10.0 * 0.1 * q.cos();
            let stiffness = 0.1 / h + epsilon / (h * h) * (1e-3 + 0.1 * 0.1);
            let next = next(&model, &[q], &[]);
            assert!((next[0] - q - slip(kappa, stiffness, 0.4, load)).abs() < 1e-12, "{next:?} from {q}");
            found.push(next[0]);
        }
    }
    let apart = largest(found[..2].iter().zip(&found[2..]).map(|(a, b)| a - b));
    assert!(apart < ROUNDING, "{found:?}");
    Ok(())
}

/// What followers have of their own counts at their leader, with the square of the multiplier.
#[test]
fn elements_of_followers() {
    let keys = "stiffness = 2\nspring = { j1 = { stiffness = 1, rest = 0.1 }, j2 = { stiffness = 3, rest = 0.5 } }\n";
    let mut scene = scene(keys);
    scene.robots[0].articulation.joints[1].mimic = Some(Mimic { joint: 0, multiplier: -2.0, offset: 0.3 });
    let model = model(&scene);
    // Minimum of ½ 2 (q − u)² + ½ (q − 0.1)² + ½ 3 (0.3 − 2 q − 0.5)².
    near(&next(&model, &[0.2], &[0.6]), &[(2.0 * 0.6 + 0.1 - 2.0 * 3.0 * 0.2) / (2.0 + 1.0 + 12.0)]);
}

/// The second-order step: (M + A)/h² + D/h + S, about M v/h.
#[test]
fn the_second_order_step() -> Result<()> {
    let mut scene = scene(
        "spring = { j1 = { stiffness = 30, rest = 0.5 }, j2 = { stiffness = 20, rest = -0.1 } }\n\
         damping = { j2 = 0.3 }\narmature = { j1 = 0.05 }\n",
    );
    scene.gravity = [0.0; 3];
    let model = model(&scene);
    let step = Dynamic::new(&model, &model.parameters, DynamicParams::default())?;
    let q: [f64; 2] = [0.3, -0.2];
    let row = |x: &[f64]| model.tensor(&[x]);
    let found = rows(&step.step(&row(&q)?, &row(&[0.0; 2])?, &row(&[0.1, -0.4])?)?.v_next).remove(0);
    let h = scene.params.h;
    let (far, coupling) = (0.5 * 0.2 * 0.2, 0.5 * 0.3 * 0.2 * q[1].cos());
    let m11 = 1.0 * 0.1 * 0.1 + 0.5 * 0.3 * 0.3 + far + 2.0 * coupling + 0.05;
    let (a, b, d) = (m11 / h + 30.0 * h, (far + coupling) / h, far / h + 0.3 + 20.0 * h);
    let (f, g) = (0.1 + 30.0 * (0.5 - 0.3), -0.4 + 20.0 * (-0.1 + 0.2));
    let det = a * d - b * b;
    near(&found, &[(d * f - b * g) / det, (a * g - b * f) / det]);
    // Left alone it comes to rest where its springs do.
    let (mut at, mut speed) = (row(&q)?, row(&[0.0; 2])?);
    let none = Tensor::zeros((1, 2), DType::F64, &Device::Cpu)?;
    for _ in 0..5_000 {
        let next = step.step(&at, &speed, &none)?;
        (at, speed) = (next.q_next, next.v_next);
    }
    let rest = rows(&at).remove(0);
    assert!((rest[0] - 0.5).abs() < 1e-6 && (rest[1] + 0.1).abs() < 1e-6, "{rest:?}");
    Ok(())
}

/// Rigid contact has the same springs, damping and armature.
#[test]
fn the_second_order_step_with_rigid_contact() -> Result<()> {
    let mut scene = support::jointed::with_elements();
    // The barrier's dry friction is smoothed.
    scene.robots[0].articulation.joints.iter_mut().for_each(|joint| joint.friction = 0.0);
    let model = model(&scene);
    let mut q = model.tree.home();
    // Far from the disc, so that nothing touches.
    q[0] += 3.0;
    let (v, tau): (Vec<f64>, Vec<f64>) = (0..model.nv()).map(|k| (0.1 * k as f64 - 0.2, 0.02 * k as f64)).unzip();
    let row = |x: &[f64]| model.tensor(&[x]);
    let step = |contact: ContactModel| -> Result<Vec<f64>> {
        let params = DynamicParams { contact, ..DynamicParams::default() };
        let step = Dynamic::new(&model, &model.parameters, params)?;
        Ok(rows(&step.step(&row(&q)?, &row(&v)?, &row(&tau)?)?.v_next).remove(0))
    };
    let (smooth, rigid) = (step(ContactModel::Barrier)?, step(ContactModel::Rigid(Method::Lemke))?);
    let error = largest(smooth.iter().zip(&rigid).map(|(a, b)| a - b));
    // The barrier pushes from afar: 2/(κ φ) is 1e-4 N.
    assert!(error < 1e-3, "{smooth:?} {rigid:?}");
    Ok(())
}

/// One error that names the place and what was expected.
#[test]
fn what_cannot_be() {
    let arm = Articulation::from_urdf("tests/joints/arm.urdf").unwrap();
    let scene = |robot: Robot| Scene::new().robot(robot);
    let robot = || Robot::new("arm", arm.clone());
    for (scene, expected) in [
        (scene(robot().with_passive("j3")), "robot \"arm\": passive: joint \"j3\": there is no joint \"j3\""),
        (
            scene(robot().with_passive("j2").with_tendon("j1", [("j2", 1.0)])),
            "tendon of joint \"j1\": joint \"j2\": expected a spring, damping or armature of its own",
        ),
        (
            scene(robot().with_passive("j1").with_tendon("j1", [("j2", 1.0)])),
            "expected one with a command, but it is passive",
        ),
        (scene(robot().with_tendon("j1", [("j1", 1.0)])), "joint \"j1\": expected other joints than the one"),
        (scene(robot().with_tendon("j1", [("j2", f64::NAN)])), "joint \"j2\": expected a finite number"),
        (scene(robot().with_tendon("j1", [("j2", 1.0)]).with_tendon("j1", [])), "expected one tendon for a command"),
    ] {
        let error = scene.validate().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\nis not {expected}");
    }
    let of = |keys: &str| {
        let text = format!("[[robot]]\nname = \"arm\"\nurdf = \"assets/robots/planar_arm.urdf\"\n{keys}\n");
        Scene::from_toml(&text, ".").unwrap_err().to_string()
    };
    for (keys, expected) in [
        (
            "damping = { elbo = 1 }",
            "robot \"arm\": damping: joint \"elbo\": there is no joint \"elbo\"; did you mean \"elbow\"?",
        ),
        ("damping = -1", "damping: expected a number from 0 up, got -1"),
        ("spring = { elbow = { stiffness = -1 } }", "spring stiffness: expected a number from 0 up, got -1"),
        ("spring = { elbow = { rest = 1 } }", "missing field `stiffness`"),
        ("armature = { elbow = \"a\" }", "expected a number or a table of numbers by joint name"),
    ] {
        let error = of(keys);
        assert!(error.contains(expected), "{error}\nis not {expected}");
    }
    let rigid =
        Scene::from_toml("[[object]]\nname = \"o\"\nsphere = 0.1\nmass = 1\nfreedom = \"free\"\ndamping = 1\n", ".");
    let error = rigid.unwrap_err().to_string();
    assert!(error.contains("damping: expected with joints only; this object is one rigid body"), "{error}");
}

/// With velocities, a tendon's command holds the sum of its joints against weight.
#[test]
fn a_tendon_with_momentum() -> Result<()> {
    let scene = scene(
        "stiffness = 20\npassive = [\"j2\"]\ntendons = [{ joint = \"j1\", others = { j2 = 0.5 } }]\n\
         damping = { j2 = 0.5 }\nspring = { j2 = { stiffness = 3, rest = 0.4 } }\n",
    );
    let mut world = SecondOrder::new(&scene, &Overrides::default())?;
    let mut q = vec![0.0, 0.0];
    for _ in 0..400 {
        q = world.advance(&q, &[0.9])?.q;
    }
    // Nothing but the command turns j1, so that at rest its spring has the length 0.9, and j2 is where its own spring
    // rests.
    let rest: [f64; 2] = [0.9 - 0.5 * 0.4, 0.4];
    assert!((q[0] - rest[0]).abs() < 1e-6 && (q[1] - rest[1]).abs() < 1e-6, "{q:?} is not {rest:?}");
    assert!(world.velocity().iter().all(|v| v.abs() < 1e-6), "{:?}", world.velocity());
    let error = world.advance(&q, &[]).unwrap_err().to_string();
    assert!(error.contains("u: expected 1 numbers, got 0"), "{error}");
    Ok(())
}

/// A joint that moves no mass has no acceleration, of which the second-order step cannot begin. The error names it.
#[test]
fn momentum_needs_mass() {
    let mut arm = Articulation::from_urdf("assets/robots/planar_arm.urdf").unwrap();
    arm.links[2].inertia = None;
    let error = SecondOrder::new(&Scene::new().robot(Robot::new("arm", arm)), &Overrides::default()).unwrap_err();
    let message = error.to_string();
    let expected = "second-order step: \"arm/elbow\": expected it to move some mass";
    assert!(message.starts_with(expected), "{message}");
}

/// What falls has fallen by g h² n (n + 1)/2 after n steps of the semi-implicit Euler method.
#[test]
fn free_fall_with_momentum() -> Result<()> {
    let ball = Object::rigid("ball", Shape::sphere(0.05), 0.3).at([0.0, 0.0, 1.0]);
    let mut world = SecondOrder::new(&Scene::new().object(ball), &Overrides::default())?;
    let mut q = vec![0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0];
    let (steps, finer) = (20, (Scene::new().params.h / 1e-3).ceil());
    for _ in 0..steps {
        q = world.advance(&q, &[])?.q;
    }
    let (n, h) = (f64::from(steps) * finer, Scene::new().params.h / finer);
    let fallen = 9.81 * h * h * n * (n + 1.0) / 2.0;
    assert!((1.0 - q[2] - fallen).abs() < 1e-9, "{q:?}: not fallen by {fallen}");
    Ok(())
}
