//! Net wrenches: against the momentum that they give, against each other, and their gradients against differences.

use candle_core::{DType, Device, Tensor, Var};
use fingertip::description::{Freedom, Scene};
use fingertip::math::tensor::numbers;
use fingertip::step::{Dynamic, DynamicParams, Quasidynamic, StepCotangent};
use fingertip::touch::{Axes, Sensor, Wrenches};
use fingertip::{Model, Parameters};
use nalgebra::{DVector, Matrix3, Quaternion, UnitQuaternion, Vector3};

use support::differences::{SHRINK, STEPS, extrapolate};
use support::oracle::{integrate, to_tangent};
use support::states::{Batch, RANGES, Random, batch, model, tensor};

const WORLDS: usize = 12;
/// What the solver leaves of the forces' digits, relative to the largest.
const SOLVED: f64 = 1e-8;

/// A hand and a ball that may turn, whose contacts resist turning or do not.
fn hand_ball(torsion: f64) -> Model {
    let mut scene = Scene::load("assets/scenes/hand_ball.toml").unwrap();
    scene.params.torsion = torsion;
    scene.objects[0].freedom = Freedom::Free;
    Model::new(&scene, DType::F64, &Device::Cpu).unwrap()
}

fn vec3(of: &[f64]) -> Vector3<f64> {
    Vector3::from_column_slice(of)
}

pub fn rows(t: &Tensor) -> Vec<Vec<f64>> {
    let width = t.elem_count() / t.dim(0).unwrap();
    numbers(t).unwrap().chunks(width).map(<[f64]>::to_vec).collect()
}

#[track_caller]
pub fn near(own: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(own.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1e-9_f64, |most, x| most.max(x.abs()));
    let error = own.iter().zip(expected).fold(0.0_f64, |most, (x, y)| most.max((x - y).abs()));
    assert!(error <= tolerance * scale, "{what}: {error:e} of {scale:e}");
}

/// From rest, m v₊ = h (m g + F), and R I Rᵀ ω₊ = h T about the centre of mass, which is each body's origin here.
#[test]
fn wrenches_are_the_momentum_that_they_give() {
    for (model, stray) in [(hand_ball(0.0), 0.03), (hand_ball(5e-3), 0.03), (model("three_bodies"), 0.05)] {
        let batch = batch(&model, stray, WORLDS, &RANGES, &mut Random::new(5));
        let step = Dynamic::new(&model, &model.parameters, DynamicParams::default()).unwrap();
        let still = Tensor::zeros((WORLDS, model.nv()), DType::F64, &Device::Cpu).unwrap();
        let result = step.step(&batch.q, &still, &still).unwrap();
        let free: Vec<_> = model.tree.coordinates.iter().filter(|c| c.kind.nv() == 6).collect();
        let of: Vec<_> = free.iter().map(|c| (c.name.as_str(), None)).collect();
        let wrenches = Wrenches::new(&model, &model.parameters, &of, Axes::World).unwrap();
        let felt = rows(&wrenches.at((&batch.q, &result)).unwrap());
        let first = |t: &Tensor| rows(t).remove(0);
        let [h, gravity, mass, inertia] = ["h", "gravity", "mass", "inertia"].map(|name| {
            let place = Parameters::NAMES.iter().position(|known| *known == name).unwrap();
            first(model.parameters.tensors()[place])
        });
        let mut largest = [0.0_f64; 2];
        for ((felt, q), v) in felt.iter().zip(rows(&batch.q)).zip(rows(&result.v_next)) {
            for (k, c) in free.iter().enumerate() {
                let body = model.inertial.iter().position(|&body| body == c.body).unwrap();
                let force = mass[body] * (vec3(&v[c.v..c.v + 3]) / h[0] - vec3(&gravity));
                let [w, x, y, z] = std::array::from_fn(|i| q[c.q + 3 + i]);
                let turned = UnitQuaternion::new_normalize(Quaternion::new(w, x, y, z)).to_rotation_matrix();
                let [xx, yy, zz, xy, xz, yz] = std::array::from_fn(|i| inertia[6 * body + i]);
                let inertia = turned * Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz) * turned.inverse();
                let torque = inertia * vec3(&v[c.v + 3..c.v + 6]) / h[0];
                let (own, size) = (&felt[6 * k..6 * k + 6], force.norm().max(mass[body]));
                near(&own[..3], force.as_slice(), SOLVED * size / force.amax().max(1e-9), &c.name);
                // Torques of forces that cancel keep the forces' digits.
                let rounding = SOLVED * size * 0.1 / torque.amax().max(1e-9);
                near(&own[3..], torque.as_slice(), rounding.max(SOLVED), &c.name);
                largest = [largest[0].max(force.norm()), largest[1].max(torque.norm())];
            }
        }
        assert!(largest[0] > 1.0 && largest[1] > 1e-3, "{largest:?}");
    }
}

/// What each link does adds up to what the hand does; what A does to B, B does to A, about another origin; and a link's
/// axes are the world's, turned.
#[test]
fn sums_of_links_and_both_sides_of_a_pair() {
    let model = hand_ball(5e-3);
    let batch = batch(&model, 0.03, WORLDS, &RANGES, &mut Random::new(6));
    let step = Quasidynamic::new(&model, &batch.parameters).unwrap().step(&batch.q, &batch.u).unwrap();
    let links: Vec<&str> =
        model.tree.bodies.iter().map(|b| b.name.as_str()).filter(|b| b.starts_with("hand/")).collect();
    let mut of = vec![("ball", None), ("ball", Some("hand")), ("hand", Some("ball"))];
    of.extend(links.iter().map(|&link| ("ball", Some(link))));
    let at = |axes| {
        let wrenches = Wrenches::new(&model, &batch.parameters, &of, axes).unwrap();
        assert_eq!(wrenches.names().collect::<Vec<_>>(), of);
        rows(&wrenches.at((&batch.q, &step)).unwrap())
    };
    let (world, own) = (at(Axes::World), at(Axes::Link));
    for ((world, own), q) in world.iter().zip(&own).zip(rows(&batch.q)) {
        let wrench = |k: usize| &world[6 * k..6 * k + 6];
        let sum: DVector<f64> = (0..links.len()).map(|k| DVector::from_column_slice(wrench(3 + k))).sum();
        near(sum.as_slice(), wrench(1), 1e-12, "links");
        let back: Vec<f64> = wrench(2)[..3].iter().map(|x| -x).collect();
        near(&back, &wrench(1)[..3], 1e-12, "reaction");
        let c = model.object("ball").unwrap();
        let [w, x, y, z] = std::array::from_fn(|i| q[c.q + 3 + i]);
        let turned = UnitQuaternion::new_normalize(Quaternion::new(w, x, y, z));
        for part in [0, 3] {
            let expected = turned.inverse() * vec3(&world[part..part + 3]);
            near(&own[part..part + 3], expected.as_slice(), 1e-12, "axes");
        }
    }
    // The table and the hand are all that touches the ball.
    let ground = Wrenches::new(&model, &batch.parameters, &[("ball", Some("table"))], Axes::World).unwrap();
    for (world, ground) in world.iter().zip(rows(&ground.at((&batch.q, &step)).unwrap())) {
        let sum: Vec<f64> = (0..6).map(|k| world[6 + k] + ground[k]).collect();
        near(&sum, &world[..6], 1e-12, "everything");
    }
}

#[test]
fn names_that_nothing_has() {
    let model = hand_ball(0.0);
    for of in [("bal", None), ("ball", Some("hund"))] {
        let error = Wrenches::new(&model, &model.parameters, &[of], Axes::World).unwrap_err().to_string();
        assert!(error.contains("body, object or robot") && error.contains(of.1.unwrap_or(of.0)), "{error}");
    }
}

pub fn numbers_of_any_kind(n: usize) -> Vec<f64> {
    (0..n).map(|k| 0.3 + ((7 * k) % 11) as f64 - 5.0).collect()
}

/// Gradients on plain numbers are those of tensors, in worlds that cannot be used too.
#[test]
fn gradients_on_numbers_are_those_of_tensors() {
    let model = hand_ball(5e-3);
    let batch = Batch::strange(&model, 5, &mut Random::new(11));
    for axes in [Axes::World, Axes::Link] {
        let of = [("hand", None), ("ball", Some("hand")), ("hand/finger_r_link_2_index4", None)];
        let wrenches = Wrenches::new(&model, &batch.parameters, &of, axes).unwrap();
        let step = Quasidynamic::new(&model, &batch.parameters).unwrap();
        let [q, u] = [&batch.q, &batch.u].map(|t| numbers(t).unwrap());
        let result = step.step_numbers(&q, &u, &[]).unwrap();
        let felt = wrenches.numbers(&q, &result).unwrap();
        assert!(felt.iter().all(|x| x.is_finite()));
        let by = numbers_of_any_kind(felt.len());
        let by_q_next = numbers_of_any_kind(result.q_next.len());
        let mut cotangent = wrenches.cotangent(&q, &result, &by).unwrap();
        cotangent.add(&StepCotangent { q_next: &by_q_next, ..StepCotangent::default() });
        let gradient = step.vjp(&q, &u, &result, &cotangent.borrowed()).unwrap();

        let tracked = batch.parameters.map(|_, t| Ok(Var::from_tensor(&t.detach())?.into_inner())).unwrap();
        let [q, u] = [&batch.q, &batch.u].map(|t| Var::from_tensor(t).unwrap());
        let all = step.with_parameters(&tracked).unwrap().step(&q, &u).unwrap();
        let own = wrenches.with_parameters(&tracked).at((q.as_tensor(), &all)).unwrap();
        assert_eq!(numbers(&own).unwrap(), felt);
        let dot = |t: &Tensor, w: &[f64]| {
            (t * Tensor::from_slice(w, t.shape(), &Device::Cpu).unwrap()).unwrap().sum_all().unwrap()
        };
        let expected = (dot(&own, &by) + dot(&all.q_next, &by_q_next)).unwrap().backward().unwrap();
        near(&gradient.q, &numbers(expected.get(&q).unwrap()).unwrap(), 1e-12, "q");
        near(&gradient.u, &numbers(expected.get(&u).unwrap()).unwrap(), 1e-12, "u");
        for ((tensor, own), name) in tracked.tensors().into_iter().zip(&gradient.parameters).zip(Parameters::NAMES) {
            if let Some(expected) = expected.get(tensor) {
                near(own, &numbers(expected).unwrap(), 1e-12, name);
            }
        }
    }
}

/// Parameters of which one is replaced.
pub fn with(parameters: &Parameters, name: &str, by: &Tensor) -> Parameters {
    parameters.map(|own, t| Ok(if own == name { by.clone() } else { t.clone() })).unwrap()
}

/// The slope of a cost of about this size at 0, by Ridders' differences.
pub fn differences(size: f64, moved: &dyn Fn(f64) -> f64) -> f64 {
    let first = 1e-3;
    let central = (0..STEPS).map(|i| {
        let h = first / SHRINK.powi(i as i32);
        (moved(h) - moved(-h)) / (2.0 * h)
    });
    extrapolate(&central.collect::<Vec<_>>(), first, 1e-13 * size.max(1.0)).0
}

/// The gradient of a sum of what a sensor feels by q, u, sizes and offsets, against differences of whole steps.
pub fn agree<S: Sensor>(model: &Model, make: impl Fn(&Parameters) -> S) {
    let batch = batch(model, 0.03, 4, &RANGES, &mut Random::new(8));
    // A world that overlaps, and contacts soft enough for differences.
    let (q, u) = (rows(&batch.q).remove(3), rows(&batch.u).remove(3));
    let parameters = with(&model.parameters, "kappa", &tensor(model, &[vec![1e3]]));
    let sensor = make(&parameters);
    let feel = |q: &[f64], u: &[f64], parameters: &Parameters| {
        let step = Quasidynamic::new(model, parameters).unwrap().step_numbers(q, u, &[]).unwrap();
        sensor.with_parameters(parameters).numbers(q, &step).unwrap()
    };
    let felt = feel(&q, &u, &parameters);
    assert!(felt.iter().any(|x| x.abs() > 0.01), "{felt:?}");
    let by = numbers_of_any_kind(felt.len());
    let cost = |q: &[f64], u: &[f64], parameters: &Parameters| -> f64 {
        feel(q, u, parameters).iter().zip(&by).map(|(x, w)| x * w).sum()
    };
    let step = Quasidynamic::new(model, &parameters).unwrap();
    let result = step.step_numbers(&q, &u, &[]).unwrap();
    let cotangent = sensor.cotangent(&q, &result, &by).unwrap();
    let gradient = step.vjp(&q, &u, &result, &cotangent.borrowed()).unwrap();
    let size = cost(&q, &u, &parameters).abs();
    let by_q: Vec<f64> = (0..model.nv())
        .map(|k| {
            let delta = |by: f64| (0..model.nv()).map(|i| if i == k { by } else { 0.0 }).collect::<Vec<_>>();
            differences(size, &|by| cost(&integrate(model, &q, &delta(by)), &u, &parameters))
        })
        .collect();
    near(&to_tangent(model, &q, &gradient.q), &by_q, 1e-6, "q");
    let moved = |of: &[f64], k: usize, by: f64| {
        let mut of = of.to_vec();
        of[k] += by;
        of
    };
    let by_u: Vec<f64> =
        (0..model.nu()).map(|k| differences(size, &|by| cost(&q, &moved(&u, k, by), &parameters))).collect();
    near(&gradient.u, &by_u, 1e-6, "u");
    for (name, of) in [("sizes", &parameters.sizes), ("offsets", &parameters.offsets)] {
        let (values, own) = (numbers(of).unwrap(), gradient.parameter(name).unwrap());
        // Three of four sizes of a ball are none, and centres of mass are not felt.
        let used: Vec<usize> = (0..values.len()).filter(|&k| own[k] != 0.0).collect();
        assert!(used.len() >= 3, "{name}: {own:?}");
        let by_values = used.iter().map(|&k| {
            differences(size, &|by| {
                let changed = tensor(model, &[moved(&values, k, by)]);
                cost(&q, &u, &with(&parameters, name, &changed))
            })
        });
        let own: Vec<f64> = used.iter().map(|&k| own[k]).collect();
        near(&own, &by_values.collect::<Vec<_>>(), 1e-6, name);
    }
}

#[test]
fn gradients_are_those_of_differences() {
    let model = hand_ball(5e-3);
    let of = [("ball", None), ("hand", Some("ball")), ("hand/finger_r_link_2_index4", None), ("ball", Some("hand"))];
    for axes in [Axes::World, Axes::Link] {
        agree(&model, |parameters| Wrenches::new(&model, parameters, &of, axes).unwrap());
    }
}
