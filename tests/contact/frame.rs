//! Contact frames: orthonormal and right-handed for every normal, and differentiable.

use approx::assert_abs_diff_eq;
use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::contact::{JUMP, frame};
use support::numbers;
use support::pairs::*;

/// Rounding of unit vectors through a dozen operations.
const ROUNDING: f64 = 1e-15 * 8.0;

fn normals() -> Vec<V3> {
    let mut random = Random::new(1);
    let mut normals: Vec<V3> = (0..24).map(|_| random.direction()).collect();
    for i in 0..3 {
        for s in [1.0, -1.0] {
            normals.push(std::array::from_fn(|k| if k == i { s } else { 0.0 }));
        }
    }
    normals.push([0.6, -0.8, -0.0]);
    normals.push(unit([1.0, 1.0, 1.0]));
    normals.push(unit([1e-9, -1e-9, -1.0]));
    normals
}

fn tensor(normals: &[V3], b: usize) -> Tensor {
    let values = normals.as_flattened().to_vec();
    Tensor::from_vec(values, (b, normals.len() / b, 3), &Device::Cpu).unwrap()
}

#[test]
fn frames_are_right_handed_for_every_normal() {
    let normals = normals();
    for b in [1, 3] {
        let f = frame(&tensor(&normals, b)).unwrap();
        let f: Vec<V3> = f
            .reshape((normals.len() * 3, 3))
            .unwrap()
            .to_vec2()
            .unwrap()
            .iter()
            .map(|r: &Vec<f64>| [r[0], r[1], r[2]])
            .collect();
        for (n, rows) in normals.iter().zip(f.chunks(3)) {
            assert_eq!(rows[0], *n);
            assert_abs_diff_eq!(norm(rows[1]), 1.0, epsilon = ROUNDING);
            assert_abs_diff_eq!(dot(rows[0], rows[1]), 0.0, epsilon = ROUNDING);
            assert!(norm(add(cross(rows[0], rows[1]), -1.0, rows[2])) < ROUNDING, "{rows:?}");
        }
    }
}

/// Rounding does not decide about the tangents of walls and of what is planar.
#[test]
fn frames_of_walls_do_not_jump() {
    const TILT: f64 = 1e-12;
    let flat = (0..360).map(|degrees| f64::from(degrees).to_radians());
    for angle in flat {
        // In the plane of x and y, and in those of z.
        for n in [[angle.cos(), angle.sin(), 0.0], [angle.cos(), 0.0, angle.sin()], [0.0, angle.cos(), angle.sin()]] {
            let all: Vec<f64> = [-TILT, TILT]
                .map(|tilt| numbers(&frame(&tensor(&[unit(add(n, tilt, [1.0, 1.0, 1.0]))], 1)).unwrap()))
                .concat();
            let (one, other) = all.split_at(9);
            assert!(one.iter().zip(other).all(|(a, b)| (a - b).abs() < 20.0 * TILT), "{n:?}: {one:?} {other:?}");
        }
    }
}

#[test]
fn derivatives_are_central_differences() -> Result<()> {
    /// Second-order differences of functions with third derivatives of order one: h² and rounding over h.
    const DIFFERENCE: f64 = 1e-8;
    let step = 1e-5;
    let weights = Tensor::from_vec((0..9).map(|k| (1.0 + k as f64).sin()).collect(), (1, 1, 3, 3), &Device::Cpu)?;
    let value = |n: &Tensor| frame(n)?.broadcast_mul(&weights)?.sum_all();
    for n in normals() {
        if (n[2] - JUMP).abs() < 2.0 * step {
            continue;
        }
        let variable = Var::from_tensor(&tensor(&[n], 1))?;
        let gradient = numbers(value(&variable)?.backward()?.get(&variable).unwrap());
        for (k, gradient) in gradient.iter().enumerate() {
            let at = |s: f64| {
                let mut n = n;
                n[k] += s;
                value(&tensor(&[n], 1)).unwrap().to_scalar::<f64>().unwrap()
            };
            let difference = (at(step) - at(-step)) / (2.0 * step);
            assert!((gradient - difference).abs() < DIFFERENCE, "{n:?} {k}: {gradient} {difference}");
        }
    }
    assert_eq!(frame(&tensor(&normals(), 1).to_dtype(DType::F32)?)?.dtype(), DType::F32);
    Ok(())
}
