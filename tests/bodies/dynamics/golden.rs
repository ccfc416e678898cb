//! Numbers of Pinocchio 4.1 in `tests/golden/dynamics.json`, brought to our order and axes.

use candle_core::{DType, Device};
use fingertip::dynamics::{Dynamics, FrameMotion, ReferenceFrame};
use fingertip::kinematics::FrameSpec;
use nalgebra::{DMatrix, DVector};
use serde_json::Value;

use support::models::Case;
use support::robots::assert_close;
use support::{matrix, numbers, row, values};

/// The two programs round differently, by tens of operations.
const VALUE: f64 = 1e-13;
/// Condition numbers of M are up to 1e5.
const SOLVED: f64 = 1e-11;

fn row_major(m: &DMatrix<f64>) -> Vec<f64> {
    m.transpose().as_slice().to_vec()
}

#[test]
fn every_number_of_pinocchio_is_met() {
    let golden: Value = serde_json::from_str(include_str!("../../golden/dynamics.json")).unwrap();
    for (name, model) in golden["models"].as_object().unwrap() {
        let case = Case::new(model["joints"].as_array().unwrap());
        let dynamics = Dynamics::new(&case.tree, [0.0, 0.0, -9.81], DType::F64, &Device::Cpu).unwrap();
        for (i, state) in model["states"].as_array().unwrap().iter().enumerate() {
            let what = |quantity: &str| format!("{name} state {i}: {quantity}");
            let of = |key: &str| DVector::from_vec(values(&state[key]));
            let t = case.tangent(&values(&state["q"]));
            let (v, carried) = (of("v"), case.carried(&of("v")));
            let q = row(&case.q(&values(&state["q"])));
            let ours = |x: &DVector<f64>| row((&t * x).as_slice());
            let check = |found, expected: &DVector<f64>, quantity: &str| {
                let tolerance = if quantity == "ABA" { SOLVED } else { VALUE };
                assert_close(&numbers(&found), (&t * expected).as_slice(), tolerance, &what(quantity));
            };
            let a = ours(&(of("a") + &carried));
            check(dynamics.inverse_dynamics(&q, &ours(&v), &a).unwrap(), &of("rnea"), "RNEA");
            check(dynamics.gravity(&q).unwrap(), &of("gravity"), "gravity");
            let aba = dynamics.forward_dynamics(&q, &ours(&v), &ours(&of("tau"))).unwrap();
            check(aba, &(of("aba") + &carried), "ABA");
            let energy = numbers(&dynamics.energy(&q, &ours(&v)).unwrap());
            assert_close(&energy[..1], &[state["kinetic"].as_f64().unwrap()], VALUE, &what("kinetic energy"));
            assert_close(&energy[1..], &[state["potential"].as_f64().unwrap()], VALUE, &what("potential energy"));
            let com = numbers(&dynamics.centre_of_mass(&q).unwrap());
            assert_close(&com, &values(&state["com"]), VALUE, &what("centre of mass"));
            if let Some(rows) = state["M"].as_array() {
                let rows: Vec<Vec<f64>> = rows.iter().map(values).collect();
                let m = DMatrix::from_fn(rows.len(), rows.len(), |i, j| rows[i.max(j)][i.min(j)]);
                let expected = &t * &m * t.transpose();
                let found = numbers(&dynamics.mass_matrix(&q).unwrap());
                assert_close(&found, &row_major(&expected), VALUE, &what("CRBA"));
                check(dynamics.bias(&q, &ours(&v)).unwrap(), &(of("nle") - &m * &carried), "bias");
                let inverse = numbers(&dynamics.inverse_mass_matrix(&q).unwrap());
                let product = expected * DMatrix::from_row_slice(v.len(), v.len(), &inverse);
                let one = DMatrix::<f64>::identity(v.len(), v.len());
                assert_close(&row_major(&product), &row_major(&one), SOLVED, &what("M · M⁻¹"));
            }
            if case.free.is_none() && !state["drnea_dq"].is_null() {
                let found = dynamics.inverse_dynamics_derivatives(&q, &ours(&v), &a).unwrap();
                for (found, key) in [(found.by_q, "drnea_dq"), (found.by_v, "drnea_dv")] {
                    assert_close(&numbers(&found), &row_major(&matrix(&state[key])), VALUE, &what(key));
                }
            }
            let joint = &state["joint"];
            if !joint.is_null() {
                let body = case.bodies[joint["id"].as_u64().unwrap() as usize];
                let identity = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
                let frame = [FrameSpec { body, rotation: identity, xyz: [0.0; 3] }];
                let motion = FrameMotion::new(&case.tree, &frame, DType::F64, &Device::Cpu).unwrap();
                let frames = motion.frames(&q).unwrap();
                for (key, reference) in [
                    ("J_LOCAL", ReferenceFrame::Local),
                    ("J_WORLD", ReferenceFrame::World),
                    ("J_LWA", ReferenceFrame::LocalWorldAligned),
                ] {
                    let expected = matrix(&joint[key]) * t.transpose();
                    let found = numbers(&motion.jacobian(&frames, 0, reference).unwrap());
                    assert_close(&found, &row_major(&expected), VALUE, &what(key));
                    let velocity = numbers(&motion.velocity(&q, &ours(&v), 0, reference).unwrap());
                    assert_close(&velocity, (matrix(&joint[key]) * &v).as_slice(), VALUE, &what("frame velocity"));
                }
            }
        }
    }
}
