//! Poses by touch: Kalman's filter in closed form, a pose that a force tells, errors beside covariances over noise,
//! what touch cannot tell, wrong forces, and what cannot be used.

use std::path::PathBuf;

use fingertip::description::{Articulation, Robot, Scene};
use fingertip::feel::{Options, Smoother};
use fingertip::mpc::{Deviates, Simulator};
use fingertip::shipped;
use support::{apart, largest, median_and_max};

/// A fingertip of radius 1 cm on a rail along x.
const FINGER: &str = r#"<robot name="finger">
    <link name="rail"/>
    <link name="tip"><collision><geometry><sphere radius="0.01"/></geometry></collision></link>
    <joint name="slide" type="prismatic"><parent link="rail"/><child link="tip"/><axis xyz="1 0 0"/>
        <limit lower="-1" upper="1" effort="100" velocity="5"/></joint>
</robot>"#;
/// Its stiffness, N/m.
const STIFFNESS: f64 = 100.0;

/// The finger, and an object of a scene file.
fn simulator(object: &str, gravity: f64) -> Simulator {
    let text = format!("[params]\nh = 0.02\nkappa = 1e6\ngravity = [0.0, 0.0, {gravity:?}]\n[[object]]\n{object}");
    let robot = Robot::new("finger", Articulation::from_urdf_str(FINGER, "finger").unwrap());
    let scene = Scene::from_toml(&text, PathBuf::new()).unwrap();
    Simulator::new(&scene.robot(robot.with_default_stiffness(STIFFNESS)), 2).unwrap()
}

/// A ball of 2 cm that nothing touches.
const FAR: &str = "name = \"ball\"\nsphere = 0.02\nmass = 0.1\nfreedom = \"free\"\nposition = [0.5, 0.0, 0.0]";

/// Nothing is measured (n).
fn none(n: usize) -> Vec<f64> {
    vec![f64::NAN; n]
}

/// Where nothing touches, all is linear: a joint goes to its command, an object stays. The window and what came before
/// it are together what Kalman's filter is, to the rounding of small forces at a distance.
#[test]
fn without_contact_it_is_kalmans_filter() {
    let simulator = simulator(FAR, 0.0);
    let options = Options { window: 4, share: 0.0, ..Options::default() };
    let mut smoother = Smoother::new(&simulator, &[], &options).unwrap();
    let [q_ball, q_joint] = [3e-2, 0.02_f64];
    let (drift, joint_drift) = (options.drift[0].powi(2), options.joint_drift.powi(2));
    let period = simulator.period();
    let (mut x, mut p) = (0.5, options.start[0].powi(2));
    let mut deviates = Deviates::new(1, 0);
    for k in 0..12 {
        let u = 0.01 * f64::from(k % 3);
        let mut measured = none(8);
        measured[7] = u + q_joint * deviates.normal();
        // The ball's x alone is seen, in every third period.
        p += drift * period;
        if k % 3 == 0 {
            measured[0] = 0.5 + q_ball * deviates.normal();
            let gain = p / (p + options.pose[0].powi(2));
            x += gain * (measured[0] - x);
            p *= 1.0 - gain;
        }
        smoother.step(&[u], &measured, &[]).unwrap();
        let prior = joint_drift * period;
        let gain = prior / (prior + options.joint.powi(2));
        let joint = u + gain * (measured[7] - u);
        let covariance = smoother.covariance_of("ball").unwrap();
        // The finger pushes the ball with micronewtons from afar.
        assert!((smoother.q()[0] - x).abs() < 5e-6, "period {k}: {} and {x}", smoother.q()[0]);
        assert!((covariance[(0, 0)] / p - 1.0).abs() < 1e-4, "period {k}: {} and {p}", covariance[(0, 0)]);
        assert!((smoother.q()[7] - joint).abs() < 1e-7, "period {k}: {} and {joint}", smoother.q()[7]);
        let variance = smoother.covariance()[(6, 6)];
        assert!((variance / ((1.0 - gain) * prior) - 1.0).abs() < 1e-4, "period {k}: {variance}");
    }
}

/// What nothing touches stays as uncertain as it was, and grows less certain where it may drift.
#[test]
fn what_cannot_be_felt_is_not_known() {
    let simulator = simulator(FAR, 0.0);
    for drift in [[0.0; 2], [1e-3, 0.02]] {
        let options = Options { drift, share: 0.0, window: 3, ..Options::default() };
        let mut smoother = Smoother::new(&simulator, &[("finger/tip", None)], &options).unwrap();
        for _ in 0..10 {
            let measured = [none(7), vec![0.0]].concat();
            smoother.step(&[0.0], &measured, &[0.0; 3]).unwrap();
        }
        let covariance = smoother.covariance_of("ball").unwrap();
        let time = 10.0 * simulator.period();
        for k in 0..6 {
            let expected = options.start[k / 3].powi(2) + drift[k / 3].powi(2) * time;
            assert!((covariance[(k, k)] / expected - 1.0).abs() < 1e-3, "{k}: {} and {expected}", covariance[(k, k)]);
        }
    }
}

/// A box of 4 cm on a table whose friction holds it against the finger's 1 N.
const BOX: &str = "name = \"box\"\nbox = [0.02, 0.02, 0.02]\nmass = 1.0\nfreedom = \"planar\"\ntable = 0.8\n\
                   position = [0.033, 0.0, 0.0]";

/// A finger of known stiffness presses a box and nobody measures its joint: F = K (u − q) says where the tip is, and so
/// where the box is, to σ/K. Along the side nothing is told.
#[test]
fn a_force_tells_a_pose() {
    let simulator = simulator(BOX, -9.81);
    // The true box is 2 mm farther than it was seen.
    let (x, u) = (0.035, 0.015);
    let mut true_q = simulator.model().tree.home();
    (true_q[0], true_q[3]) = (x, 0.004);
    let options = Options { start: [3e-3, 0.02], drift: [1e-5, 1e-4], share: 0.0, ..Options::default() };
    let mut smoother = Smoother::new(&simulator, &[("finger/tip", Some("box"))], &options).unwrap();
    for _ in 0..12 {
        let held = simulator.advance(&true_q, &[u], None).unwrap();
        true_q = held.q[held.q.len() - 4..].to_vec();
        let step = simulator.step().step_numbers(&true_q, &[u], &[]).unwrap();
        // Forces are those on the box, which is side B.
        let force: Vec<f64> = (0..3).map(|axis| -step.force.chunks(3).map(|f| f[axis]).sum::<f64>()).collect();
        smoother.step(&[u], &none(4), &force).unwrap();
    }
    let expected = STIFFNESS * (u - true_q[3]);
    assert!(expected > 0.5, "the finger presses with {expected} N");
    let q = smoother.q();
    assert!((q[0] - true_q[0]).abs() < 3e-4, "{} and {}", q[0], true_q[0]);
    let covariance = smoother.covariance_of("box").unwrap();
    let [along, across] = [covariance[(0, 0)].sqrt(), covariance[(1, 1)].sqrt()];
    // One force alone: its deviation over K. Twelve that are alike: a third of it and less, beside gap and drift.
    let one = options.force[1].hypot(options.force[0] * expected) / STIFFNESS;
    assert!(along < one && along > one / 12.0, "{along} and {one}");
    assert!((across / options.start[0] - 1.0).abs() < 0.02, "{across}");
}

/// What `fingertip.feel` is given in a scene of two fingers that carry a disc, whose step is disturbed as the options
/// say: the true states (T, nq), commands, measured joints and forces.
struct Carried {
    q: Vec<Vec<f64>>,
    u: Vec<Vec<f64>>,
    measured: Vec<Vec<f64>>,
    force: Vec<Vec<f64>>,
}

/// The motion of a model that errs as the options say.
fn carried(simulator: &Simulator, scene: &Scene, options: &Options, seed: u64) -> Carried {
    let (model, period) = (simulator.model(), simulator.period());
    let mut deviates = Deviates::new(seed, 0);
    let mut all = Carried { q: Vec::new(), u: Vec::new(), measured: Vec::new(), force: Vec::new() };
    let start: Vec<f64> = [options.start[0], options.start[0], options.start[1]]
        .into_iter()
        .chain([options.joint; 4])
        .map(|deviation| deviation * deviates.normal())
        .collect();
    let mut q = simulator.plus(&model.tree.home(), &start).unwrap();
    for k in 0..40 {
        let u = scene.control(f64::from(k) * period);
        let held = simulator.advance(&q, &u, None).unwrap();
        let drift = [options.drift[0], options.drift[0], options.drift[1]].into_iter().chain([options.joint_drift; 4]);
        let drift: Vec<f64> = drift.map(|drift| drift * period.sqrt() * deviates.normal()).collect();
        q = simulator.plus(&held.q[held.q.len() - 7..], &drift).unwrap();
        let step = simulator.step().step_numbers(&q, &u, &[]).unwrap();
        let tips = ["fingers/left_lower", "fingers/right_lower"];
        let mut force = Vec::new();
        for tip in tips {
            for axis in 0..3 {
                let of = (0..model.nc()).map(|contact| {
                    let (a, b) = model.contact_names(contact);
                    let sign = f64::from(u8::from(b == tip)) - f64::from(u8::from(a == tip));
                    sign * step.force[3 * contact + axis]
                });
                force.push(of.sum::<f64>());
            }
        }
        for of_tip in force.chunks_mut(3) {
            let size = of_tip.iter().map(|x| x * x).sum::<f64>().sqrt();
            let deviation = options.force[1].hypot(options.force[0] * size);
            of_tip.iter_mut().for_each(|x| *x += deviation * deviates.normal());
        }
        let joints = q[3..].iter().map(|x| x + options.joint * deviates.normal());
        all.measured.push(none(3).into_iter().chain(joints).collect());
        all.q.push(q.clone());
        all.u.push(u);
        all.force.push(force);
    }
    all
}

/// Over draws of noise, the square of errors over covariances is what it is for normal numbers: 3 in the mean for three
/// degrees of freedom, while the fingers close. At the end of the motion a disc may have slipped out, so that the
/// median counts there.
#[test]
fn errors_are_what_covariances_say() {
    const DRAWS: u32 = 60;
    const CLOSING: usize = 6;
    let scene = shipped::scene("two_fingers").unwrap();
    // Contact this soft is near what its derivatives say over the noise.
    let simulator = Simulator::new(&scene, 1).unwrap().with_kappa(300.0).unwrap();
    let options = Options {
        start: [1e-3, 0.01],
        drift: [1e-3, 0.01],
        joint_drift: 5e-3,
        share: 0.0,
        // Disturbed states are not where contacts put them.
        touch: 1e6,
        gap: 1.0,
        huber: 1e3,
        ..Options::default()
    };
    let forces = [("fingers/left_lower", None), ("fingers/right_lower", None)];
    let (mut squares, mut deviations) = ([Vec::new(), Vec::new()], [0.0; 2]);
    for seed in 0..DRAWS {
        let motion = carried(&simulator, &scene, &options, u64::from(seed));
        let mut smoother = Smoother::new(&simulator, &forces, &options).unwrap();
        for k in 0..motion.u.len() {
            smoother.step(&motion.u[k], &motion.measured[k], &motion.force[k]).unwrap();
            if k + 1 == CLOSING || k + 1 == motion.u.len() {
                let off = simulator.minus(smoother.q(), &motion.q[k]).unwrap();
                let off = nalgebra::DVector::from_row_slice(&off[..3]);
                let covariance = smoother.covariance_of("disc").unwrap();
                if k + 1 == CLOSING {
                    (0..2).for_each(|axis| deviations[axis] += covariance[(axis, axis)].sqrt() / f64::from(DRAWS));
                }
                let square = off.dot(&covariance.cholesky().unwrap().solve(&off));
                squares[usize::from(k + 1 > CLOSING)].push(square);
            }
        }
    }
    // The mean of so many of χ² with 3 degrees deviates by √(6/60) = 0.32; their median, 2.37, by 0.3.
    let mean = squares[0].iter().sum::<f64>() / f64::from(DRAWS);
    assert!((mean - 3.0).abs() < 1.0, "{mean}");
    let (median, _) = median_and_max(squares[1].iter().copied());
    assert!((median - 2.37).abs() < 1.0, "{median}");
    // Between the fingers its place is told to a part of what it was known to and has drifted since, 1.1 mm; across
    // not.
    assert!(deviations[1] < 4e-4 && deviations[0] > 1e-3, "{deviations:?}");
}

/// A force that is wrong by 50 N pulls no harder than one that is off by three deviations.
#[test]
fn a_wrong_force_does_little() {
    let simulator = simulator(BOX, -9.81);
    let off = |huber: f64, wrong: f64| {
        let options = Options { huber, ..Options::default() };
        let mut smoother = Smoother::new(&simulator, &[("finger/tip", None)], &options).unwrap();
        let u = 0.015;
        let mut q = simulator.model().tree.home();
        for k in 0..8 {
            let held = simulator.advance(&q, &[u], None).unwrap();
            q = held.q[held.q.len() - 4..].to_vec();
            let force = if k == 5 { wrong } else { -STIFFNESS * (u - q[3]) };
            smoother.step(&[u], &[none(3), vec![q[3]]].concat(), &[force, 0.0, 0.0]).unwrap();
            assert!(smoother.q().iter().chain(smoother.covariance().iter()).all(|x| x.is_finite()));
        }
        (smoother.q()[0] - q[0]).abs()
    };
    let [right, robust, wrong] = [off(3.0, -1.2), off(3.0, -50.0), off(1e9, -50.0)];
    assert!(right < 2e-4 && robust < 3e-4, "{right}, {robust}");
    assert!(wrong > 2.0 * robust, "{wrong} without Huber's loss, {robust} with it");
}

/// The estimate in the order of q, with the object at the start where it was seen.
#[test]
fn it_begins_where_it_is_told() {
    let simulator = simulator(FAR, 0.0);
    let mut smoother = Smoother::new(&simulator, &[], &Options::default()).unwrap();
    assert!(apart(smoother.q(), &simulator.model().tree.home()) < 1e-15);
    let mut q = simulator.model().tree.home();
    q[1] = 0.2;
    smoother.step(&[0.1], &none(8), &[]).unwrap();
    smoother.reset(&q).unwrap();
    assert!(apart(smoother.q(), &q) < 1e-15);
    let deviations = smoother.covariance_of("ball").unwrap().diagonal().map(f64::sqrt);
    assert!(largest(deviations.iter().enumerate().map(|(k, d)| d - Options::default().start[k / 3])) < 1e-12);
}

#[test]
fn what_cannot_be_used_says_so() {
    let simulator = simulator(FAR, 0.0);
    let new = |forces: &[(&str, Option<&str>)], options: &Options| {
        Smoother::new(&simulator, forces, options).map(|_| ()).unwrap_err().to_string()
    };
    let standard = Options::default;
    for (said, expected) in [
        (new(&[("finger/tipp", None)], &standard()), "force: there is no thing or body \"finger/tipp\""),
        (new(&[("finger/tip", Some("bal"))], &standard()), "did you mean \"ball\"?"),
        (new(&[("finger/rail", None)], &standard()), "\"finger/rail\" has no contacts"),
        (new(&[], &Options { window: 0, ..standard() }), "window: expected at least 1, got 0"),
        (
            new(&[], &Options { force: [0.05, 0.0], ..standard() }),
            "force: expected a positive least deviation or infinity",
        ),
        (new(&[], &Options { joint: 0.0, ..standard() }), "joint: expected a positive number, got 0"),
        (
            new(&[], &Options { share: f64::NAN, ..standard() }),
            "share: expected a number that is not negative, got NaN",
        ),
    ] {
        assert!(said.contains(expected), "{said}");
    }
    let mut smoother = Smoother::new(&simulator, &[("ball", None)], &standard()).unwrap();
    let mut step = |u: &[f64], q: &[f64], force: &[f64]| smoother.step(u, q, force).unwrap_err().to_string();
    for (said, expected) in [
        (step(&[0.0; 2], &none(8), &none(3)), "u: expected 1 finite numbers, got 2"),
        (step(&[f64::NAN], &none(8), &none(3)), "u: expected 1 finite numbers, got NaN among 1"),
        (step(&[0.0], &none(7), &none(3)), "q: expected 8 finite numbers, or NaN for what is not measured, got 7"),
        (step(&[0.0], &[f64::INFINITY; 8], &none(3)), "got inf among 8"),
        (step(&[0.0], &none(8), &none(6)), "forces: expected 3 finite numbers"),
    ] {
        assert!(said.contains(expected), "{said}");
    }
    assert!(smoother.reset(&none(8)).is_err());
    assert!(smoother.covariance_of("cube").unwrap_err().to_string().contains("cube"));
    // What was refused has changed nothing.
    assert!(apart(smoother.q(), &simulator.model().tree.home()) < 1e-15);
}
