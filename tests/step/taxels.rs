//! Taxels: a pad pressed by a ball, MuJoCo's touch sensor, sums, distances, and gradients against differences.

use candle_core::{DType, Device};
use fingertip::description::{Freedom, Scene, Taxels as Pad};
use fingertip::kinematics::Kinematics;
use fingertip::math::tensor::numbers;
use fingertip::step::Quasidynamic;
use fingertip::touch::{Axes, Sensor, Taxels, Touching, Wrenches};
use fingertip::{Model, Parameters};
use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector3};

use super::touch::{agree, differences, near, numbers_of_any_kind, rows, with};
use support::oracle::{integrate, to_tangent};
use support::states::{RANGES, Random, batch};

/// A ball of 0.1 kg on a plate with a pad of 4 × 4, 4 mm apart.
fn pressed(x: f64, y: f64) -> (Model, Vec<f64>) {
    let text = format!(
        "[params]\nmu = 0.5\nkappa = 1e4\n[[object]]\nname = \"plate\"\nbox = [0.03, 0.03, 0.005]\nfreedom = \"fixed\"\n\
         position = [0.0, 0.0, 0.1]\n\
         [[object]]\nname = \"ball\"\nsphere = 0.01\nmass = 0.1\nfreedom = \"free\"\nposition = [{x}, {y}, 0.1152]\n\
         [[taxels]]\nname = \"pad\"\nlink = \"plate\"\nat = [0.0, 0.0, 0.005]\nrows = 4\ncolumns = 4\nsize = [0.016, 0.016]\n"
    );
    let model = Model::new(&Scene::from_toml(&text, "").unwrap(), DType::F64, &Device::Cpu).unwrap();
    let taxels = Taxels::new(&model, &model.parameters, &[]).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let q = model.tree.home();
    let felt = taxels.numbers(&q, &step.step_numbers(&q, &[], &[]).unwrap()).unwrap();
    (model, felt)
}

fn centre(felt: &[f64]) -> [f64; 2] {
    let place = |i: usize| (i as f64 - 1.5) * 0.004;
    let moment = |of: &dyn Fn(usize) -> f64| felt.iter().enumerate().map(|(k, f)| f * of(k)).sum::<f64>();
    let sum: f64 = felt.iter().sum();
    [moment(&|k| place(k % 4)) / sum, moment(&|k| place(k / 4)) / sum]
}

#[test]
fn a_ball_on_a_pad() {
    let (model, felt) = pressed(0.0, 0.0);
    assert_eq!(felt.len(), 16);
    let wrench = Wrenches::new(&model, &model.parameters, &[("ball", Some("plate"))], Axes::World).unwrap();
    let q = model.tree.home();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap().step_numbers(&q, &[], &[]).unwrap();
    let up = wrench.numbers(&q, &step).unwrap()[2];
    let sum: f64 = felt.iter().sum();
    assert!(up > 0.5 && (sum - up).abs() < 1e-14, "{sum} {up}");
    // Under the middle all is symmetric, and the centre of pressure is below the ball.
    for (row, column) in (0..4).flat_map(|row| (0..4).map(move |column| (row, column))) {
        let own = felt[4 * row + column];
        for other in [felt[4 * column + row], felt[4 * (3 - row) + column], felt[4 * row + 3 - column]] {
            assert!((own - other).abs() < 1e-14, "{felt:?}");
        }
    }
    assert!(felt[5] > 3.0 * felt[4] && felt[4] > felt[0] && felt[0] >= 0.0, "{felt:?}");
    assert!(centre(&felt).iter().all(|x| x.abs() < 1e-15));
    // Between taxels the centre is where the ball is, to a share of the 4 mm between them.
    let (_, felt) = pressed(0.0013, -0.0006);
    let [x, y] = centre(&felt);
    assert!((x - 0.0013).abs() < 4e-4 && (y + 0.0006).abs() < 4e-4, "{x} {y}");
    // Far from the pad it is not felt, and near its edge in part.
    assert!(pressed(0.025, 0.0).1.iter().all(|f| *f == 0.0));
    let edge: f64 = pressed(0.0135, 0.0).1.iter().sum();
    assert!(edge > 0.01 && edge < 0.9 * sum, "{edge} {sum}");
}

/// Two plates lean against each other under a ball without friction. MuJoCo 3.17.0: geoms of condim 1 at 60° and 30°, a
/// ball of 0.1 kg, `touch` sensors on sites around the plates, after 4 s: 0.4905 and 0.8495709211125341 N. The same
/// poses here.
#[test]
fn mujocos_touch_sensor() {
    let text = "[params]\nmu = 0.0\nkappa = 1e6\n\
        [[object]]\nname = \"left\"\nbox = [0.03, 0.03, 0.003]\nfreedom = \"fixed\"\nposition = [-0.02, 0.0, 0.0]\n\
        rpy = [0.0, 1.0471975511965976, 0.0]\n\
        [[object]]\nname = \"right\"\nbox = [0.03, 0.03, 0.003]\nfreedom = \"fixed\"\nposition = [0.02, 0.0, 0.0]\n\
        rpy = [0.0, -0.5235987755982988, 0.0]\n\
        [[object]]\nname = \"ball\"\nsphere = 0.012\nmass = 0.1\nfreedom = \"translation\"\nposition = [-0.0045, 0.0, 0.0032]\n\
        [[taxels]]\nname = \"left\"\nlink = \"left\"\nat = [0.0, 0.0, 0.003]\nrows = 10\ncolumns = 10\nsize = [0.06, 0.06]\n\
        [[taxels]]\nname = \"right\"\nlink = \"right\"\nat = [0.0, 0.0, 0.003]\nrows = 10\ncolumns = 10\nsize = [0.06, 0.06]\n";
    let model = Model::new(&Scene::from_toml(text, "").unwrap(), DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let taxels = Taxels::new(&model, &model.parameters, &["right", "left"]).unwrap();
    assert_eq!(taxels.pads().collect::<Vec<_>>(), [("right", 0..100), ("left", 100..200)]);
    let mut q = model.tree.home();
    let mut felt = Vec::new();
    for _ in 0..200 {
        let result = step.step_numbers(&q, &[], &[]).unwrap();
        felt = taxels.numbers(&q, &result).unwrap();
        q = result.q_next;
    }
    let sums = [&felt[100..], &felt[..100]].map(|pad| pad.iter().sum::<f64>());
    // The quasi-dynamic step comes to rest by a share of what is left in each step.
    near(&sums, &[0.4905, 0.849_570_921_112_534_1], 1e-6, "touch sensors");
}

const TIPS: [&str; 5] = ["1_thumb4", "2_index4", "3_middle4", "4_ring4", "5_little4"];
/// The middle of a fingertip, and its radius.
const TIP: [f64; 3] = [-0.001, 0.0, 0.027];
const RADIUS: f64 = 0.015;

/// A hand with a pad of six on each fingertip, and two on the ball, which may turn.
fn hand_with_pads() -> Model {
    let mut scene = Scene::load("assets/scenes/hand_ball.toml").unwrap();
    scene.objects[0].freedom = Freedom::Free;
    let mut pad = |link: &str, at: [f64; 3], angles: [f64; 3], reach: f64| {
        let turned = UnitQuaternion::from_euler_angles(angles[0], angles[1], angles[2]);
        let pose = Isometry3::from_parts(Translation3::from(Vector3::from(at)), turned);
        let name = format!("pad {}", scene.taxels.len());
        let mut own = Pad { reach, ..Pad::grid(name, link, &pose, [3, 2], [0.03, 0.02]) };
        // Round as what they are on: with one normal for all, none would count.
        let middle = if link == "ball" { Vector3::zeros() } else { Vector3::from(TIP) };
        own.normals = own.points.iter().map(|&p| (Vector3::from(p) - middle).normalize().into()).collect();
        scene.taxels.push(own);
    };
    for tip in TIPS {
        pad(&format!("hand/finger_r_link_{tip}"), [TIP[0], TIP[1], TIP[2] + RADIUS], [0.2, 0.1, 0.3], 0.03);
    }
    pad("ball", [0.0, 0.0, 0.04], [0.0; 3], 0.06);
    pad("ball", [0.0, 0.0, -0.04], [3.0, 0.1, 0.0], 0.06);
    Model::new(&scene, DType::F64, &Device::Cpu).unwrap()
}

#[test]
fn gradients_are_those_of_differences() {
    let model = hand_with_pads();
    agree(&model, |parameters| Taxels::new(&model, parameters, &[]).unwrap());
}

/// Of single contacts: what all of them press in the row of a step, at any pose.
#[test]
fn pressed_by_contacts_that_are_near() {
    let model = hand_with_pads();
    let batch = batch(&model, 0.03, 6, &RANGES, &mut Random::new(8));
    let taxels = Taxels::new(&model, &model.parameters, &[]).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let names: Vec<&str> = model.tree.bodies.iter().map(|body| body.name.as_str()).collect();
    let kinematics = Kinematics::of_bodies(&model.tree, &names, DType::F64, &Device::Cpu).unwrap();
    let mut most = 0;
    for (q, u) in rows(&batch.q).iter().zip(rows(&batch.u)) {
        let result = step.step_numbers(q, &u, &[]).unwrap();
        let three = |of: &[f64], i: usize| [of[3 * i], of[3 * i + 1], of[3 * i + 2]];
        let touching = (0..model.nc()).map(|contact| Touching {
            contact,
            normal: three(&result.normal, contact),
            points: [three(&result.point_a, contact), three(&result.point_b, contact)],
            force: three(&result.force, contact),
        });
        let poses = numbers(&kinematics.at(&model.tensor(&[q]).unwrap()).unwrap().poses).unwrap();
        let pose = |body: usize| {
            let [p, x, y, z] = [0, 1, 2, 3].map(|k| Vector3::from(three(&poses[12 * body..], k)));
            let axes = nalgebra::Matrix3::from_columns(&[x, y, z]);
            Isometry3::from_parts(p.into(), UnitQuaternion::from_matrix(&axes))
        };
        let pressed = taxels.pressed(pose, &touching.collect::<Vec<_>>());
        let mut all = vec![0.0; taxels.count()];
        pressed.iter().for_each(|&(taxel, force)| all[taxel] = force);
        assert!(pressed.is_sorted_by(|a, b| a.0 < b.0) && pressed.iter().all(|(_, force)| *force != 0.0));
        // Rotations go through quaternions.
        near(&all, &taxels.numbers(q, &result).unwrap(), 1e-12, "pressed");
        most = most.max(pressed.len());
    }
    assert!(most > 6, "{most}");
}

/// Distances of points from balls and from a plane, and their gradient by q, sizes and offsets.
#[test]
fn distances() {
    let model = hand_with_pads();
    let batch = batch(&model, 0.03, 3, &RANGES, &mut Random::new(3));
    let taxels = Taxels::new(&model, &model.parameters, &[]).unwrap();
    let bodies: Vec<String> =
        TIPS.iter().map(|tip| format!("hand/finger_r_link_{tip}")).chain(["ball".to_owned()]).collect();
    let names: Vec<&str> = bodies.iter().map(String::as_str).collect();
    let kinematics = Kinematics::of_bodies(&model.tree, &names, DType::F64, &Device::Cpu).unwrap();
    let frames = kinematics.at(&batch.q).unwrap();
    let place = |body: usize, point: [f64; 3], world: usize| {
        Vector3::from_vec(rows(&kinematics.points(&frames, body, point).unwrap()).remove(world))
    };
    for (world, own) in rows(&taxels.distances(&batch.q).unwrap()).into_iter().enumerate() {
        assert_eq!(own.len(), 42);
        let tips: Vec<Vector3<f64>> = (0..5).map(|tip| place(tip, TIP, world)).collect();
        let ball = place(5, [0.0; 3], world);
        let of_tips = (0..30).map(|k| (place(k / 6, model.taxels[k / 6].points[k % 6], world) - ball).norm() - 0.04);
        let of_ball = (0..12).map(|k| {
            let point = place(5, model.taxels[5 + k / 6].points[k % 6], world);
            tips.iter().map(|tip| (point - tip).norm() - RADIUS).fold(point.z + 0.2, f64::min)
        });
        near(&own, &of_tips.chain(of_ball).collect::<Vec<_>>(), 1e-12, "distances");
    }
    let (q, by) = (rows(&batch.q).remove(0), numbers_of_any_kind(42));
    let cost = |q: &[f64], parameters: &Parameters| -> f64 {
        let taxels = taxels.with_parameters(parameters);
        let all = numbers(&taxels.distances(&model.tensor(&[q]).unwrap()).unwrap()).unwrap();
        all.iter().zip(&by).map(|(x, w)| x * w).sum()
    };
    let parameters = &model.parameters;
    let by_q: Vec<f64> = (0..model.nv())
        .map(|k| {
            let delta = |by: f64| (0..model.nv()).map(|i| if i == k { by } else { 0.0 }).collect::<Vec<_>>();
            differences(1.0, &|by| cost(&integrate(&model, &q, &delta(by)), parameters))
        })
        .collect();
    let gradient = taxels.distances_cotangent(&q, &by).unwrap();
    near(&to_tangent(&model, &q, &gradient.q), &by_q, 1e-6, "q");
    for (name, of, own) in
        [("sizes", &parameters.sizes, &gradient.sizes), ("offsets", &parameters.offsets, &gradient.offsets)]
    {
        let values = numbers(of).unwrap();
        let by_values: Vec<f64> = (0..values.len())
            .map(|k| {
                differences(1.0, &|by| {
                    let mut values = values.clone();
                    values[k] += by;
                    let changed = model.tensor(&[&values]).unwrap();
                    cost(&q, &with(parameters, name, &changed))
                })
            })
            .collect();
        near(own, &by_values, 1e-6, name);
    }
}

#[test]
fn pads_that_are_not_there() {
    let model = hand_with_pads();
    let error = Taxels::new(&model, &model.parameters, &["pad6"]).unwrap_err().to_string();
    assert!(error.contains("pad of taxels") && error.contains("did you mean \"pad 6\""), "{error}");
}
