//! The quasi-dynamic step of the 21-joint hand against reference solutions in 40-digit arithmetic.

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::description::{ObjectBody, Scene, Shape};
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;
use fingertip::{Model, Parameters};
use serde::Deserialize;

use support::{apart, larger, largest, numbers, sets};

/// Lengths of decimetres through a dozen rotations, m.
const PHI_TOLERANCE: f64 = 1e-14;
/// Angles up to 2 rad, a few roundings of each: 2e-15 is seen. The library promises 1e-9.
const Q_TOLERANCE: f64 = 2e-14;
/// Relative to the largest force of the case: a rounding of δ over the slacks of a tenth of a millimetre; 2e-14 is
/// seen.
const FORCE_TOLERANCE: f64 = 3e-13;
/// Relative to the largest entry of the derivative: rounding times the condition of the Hessian at κ = 1e6; 3e-10 is
/// seen.
const DERIVATIVE_TOLERANCE: f64 = 3e-9;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[allow(non_snake_case)]
struct Case {
    id: usize,
    q_a: Vec<f64>,
    q_o: Vec<f64>,
    u: Vec<f64>,
    radius: f64,
    table_height: f64,
    threshold_phi: f64,
    mu: f64,
    kappa: f64,
    eps: f64,
    h: f64,
    M_o: f64,
    K_a: Vec<f64>,
    phi: Vec<f64>,
    q_plus: Vec<f64>,
    force: Vec<Vec<f64>>,
    flag: Vec<bool>,
    derivatives: Option<Derivatives>,
}

#[derive(Deserialize)]
struct Derivatives {
    dqplus_dqo: Vec<Vec<f64>>,
    dqplus_dqa: Vec<Vec<f64>>,
    dqplus_du: Vec<Vec<f64>>,
    dqplus_dradius: Vec<f64>,
    dqplus_dtable_height: Vec<f64>,
    dqplus_dmu: Vec<f64>,
    dqplus_dkappa: Vec<f64>,
}

impl Case {
    fn model(&self, dtype: DType) -> Model {
        let mut scene = Scene::load("assets/scenes/hand_ball.toml").unwrap();
        scene.params.h = self.h;
        scene.params.epsilon = self.eps;
        scene.params.kappa = self.kappa;
        scene.params.mu = self.mu;
        scene.params.contact_distance = Some(self.threshold_phi);
        let ObjectBody::Rigid { inertia: Some(inertia), collisions } = &mut scene.objects[0].body else { panic!() };
        inertia.mass = self.M_o;
        collisions[0].shape = Shape::Sphere { radius: self.radius };
        let height = self.table_height - scene.objects[1].pose.translation.z;
        let ObjectBody::Rigid { collisions, .. } = &mut scene.objects[1].body else { panic!() };
        collisions[0].pose.translation.z = height;
        Model::new(&scene, dtype, &Device::Cpu).unwrap()
    }

    fn parameters(&self, model: &Model) -> Parameters {
        let mut parameters = model.parameters.clone();
        parameters.stiffness = model.tensor(&[&self.K_a]).unwrap();
        parameters
    }

    fn state(&self, model: &Model) -> (Tensor, Tensor) {
        let q = [self.q_o.clone(), self.q_a.clone()].concat();
        (model.tensor(&[&q]).unwrap(), model.tensor(&[&self.u]).unwrap())
    }
}

fn cases() -> Vec<Case> {
    let text = std::fs::read_to_string("tests/golden/quasidynamic_hand.json").unwrap();
    serde_json::from_str::<Golden>(&text).unwrap().cases
}

#[test]
fn next_configurations_and_forces() -> Result<()> {
    let cases = cases();
    assert_eq!(cases.len(), 38);
    let (mut worst_q, mut worst_force, mut most) = (0.0_f64, 0.0_f64, 0);
    for case in &cases {
        let model = case.model(DType::F64);
        let step = Quasidynamic::new(&model, &case.parameters(&model))?;
        let (q, u) = case.state(&model);
        let mut expected = case.force.iter();
        let expected: Vec<f64> = case
            .flag
            .iter()
            .flat_map(|&touching| if touching { expected.next().unwrap().clone() } else { vec![0.0; 3] })
            .collect();
        let scale = largest(&expected);
        for set in sets() {
            let place = format!("case {} on {}", case.id, set.name());
            let result = step.on(set)?.step(&q, &u)?;
            assert_eq!(result.reports[0].status, Status::Solved, "{place}");
            most = most.max(result.reports[0].iterations);
            let error = apart(&numbers(&result.contacts.phi), &case.phi);
            assert!(error < PHI_TOLERANCE, "{place}: φ off by {error:e}");
            let error = apart(&numbers(&result.q_next), &case.q_plus);
            assert!(error < Q_TOLERANCE, "{place}: q₊ off by {error:e}");
            worst_q = larger(worst_q, error);
            let error = apart(&numbers(&result.force), &expected);
            assert!(error <= FORCE_TOLERANCE * scale, "{place}: forces off by {error:e} of {scale}");
            worst_force = larger(worst_force, error / scale.max(1e-300));
        }
    }
    println!("worst q₊ {worst_q:.1e} m, force {worst_force:.1e} relative, {most} iterations at most");
    Ok(())
}

#[test]
fn derivatives() -> Result<()> {
    let (mut count, mut worst) = (0, 0.0);
    for case in cases() {
        let Some(expected) = &case.derivatives else { continue };
        count += 1;
        let model = case.model(DType::F64);
        let step = Quasidynamic::new(&model, &case.parameters(&model))?;
        let (q, u) = case.state(&model);
        let all = step.linearize(&q, &u)?;
        let a = all.a.squeeze(0)?.to_vec2::<f64>()?;
        let b = all.b.squeeze(0)?.to_vec2::<f64>()?;
        let mut check = |name: &str, found: &[f64], expected: &[f64]| {
            let scale = largest(expected);
            let error = apart(found, expected);
            assert!(
                error <= DERIVATIVE_TOLERANCE * scale + 1e-300,
                "case {}: {name} off by {error:e} of {scale:e}",
                case.id
            );
            worst = larger(worst, error / scale.max(1e-300));
        };
        let columns = |m: &[Vec<f64>], range: std::ops::Range<usize>| -> Vec<f64> {
            m.iter().flat_map(|row| row[range.clone()].to_vec()).collect()
        };
        check("∂q₊/∂q_o", &columns(&a, 0..3), &expected.dqplus_dqo.concat());
        check("∂q₊/∂q_a", &columns(&a, 3..24), &expected.dqplus_dqa.concat());
        check("∂q₊/∂u", &b.concat(), &expected.dqplus_du.concat());

        // Parameters: one reverse pass per row of q₊.
        let variable = |t: &Tensor| Var::from_tensor(t);
        let mut parameters = case.parameters(&model);
        let (sizes, offsets) = (variable(&parameters.sizes)?, variable(&parameters.offsets)?);
        let (mu, kappa) = (variable(&parameters.mu)?, variable(&parameters.kappa)?);
        parameters.sizes = sizes.as_tensor().clone();
        parameters.offsets = offsets.as_tensor().clone();
        parameters.mu = mu.as_tensor().clone();
        parameters.kappa = kappa.as_tensor().clone();
        let q_next = Quasidynamic::new(&model, &parameters)?.forward(&q, &u)?;
        let mut rows: [Vec<f64>; 4] = Default::default();
        for i in 0..24 {
            let grads = q_next.narrow(1, i, 1)?.sum_all()?.backward()?;
            let of = |var: &Var| numbers(grads.get(var).unwrap());
            rows[0].push(of(&sizes)[0]);
            // The table's shape is the second one; its height is the z of its offset.
            rows[1].push(of(&offsets)[3 * (model.tree.bodies.len() + 1) + 2]);
            rows[2].push(of(&mu).iter().sum());
            rows[3].push(of(&kappa)[0]);
        }
        check("∂q₊/∂radius", &rows[0], &expected.dqplus_dradius);
        check("∂q₊/∂height", &rows[1], &expected.dqplus_dtable_height);
        check("∂q₊/∂μ", &rows[2], &expected.dqplus_dmu);
        check("∂q₊/∂κ", &rows[3], &expected.dqplus_dkappa);
    }
    println!("worst derivative {worst:.1e} relative");
    assert_eq!(count, 13);
    Ok(())
}
