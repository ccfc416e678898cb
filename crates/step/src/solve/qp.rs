//! Frictionless contact as a quadratic program, by Clarabel's interior-point method.
//!
//! ```text
//! primal   min over v₊, s   ½ ‖v₊ − v_f‖²_M + cᵀ s     s.t.  J v₊ ≥ l,  −s ≤ v₊ ≤ s     (s where there is dry friction)
//! dual     min over Λ       ½ ΛᵀDΛ + (J v_f − l)ᵀ Λ    s.t.  Λ ≥ 0,  −c ≤ Λ ≤ c         (D = J M⁻¹ Jᵀ)
//! ```
//!
//! Both are scaled by the problem's largest velocity and inertia. The interior-point iterate stops a little inside the
//! bounds; [`Delassus::polish`] moves it onto the bounds and makes it exact.

use nalgebra::{DMatrix, DVector};

use super::delassus::{Delassus, Found};
use super::frictionless::Frictionless;
use super::program::{Optimum, Program};
use super::status::Accuracy;

/// The primal program of these contacts; none if it cannot be set up.
pub(super) fn primal(problem: &Frictionless, contacts: &[usize], delassus: &Delassus) -> Option<Found> {
    let (nv, nc) = (problem.nv(), contacts.len());
    let dry: Vec<(usize, f64)> = problem.dry().collect();
    let (n, m) = (nv + dry.len(), nc + 2 * dry.len());
    let (speed, mass) = (speed(delassus), problem.mass().amax());
    let mut p = DMatrix::zeros(n, n);
    p.view_mut((0, 0), (nv, nv)).copy_from(&(problem.mass() / mass));
    let mut q = DVector::zeros(n);
    q.rows_mut(0, nv).copy_from(&-(problem.mass() * problem.v_free() / (mass * speed)));
    let mut a = DMatrix::zeros(m, n);
    let mut b = DVector::zeros(m);
    for (k, &i) in contacts.iter().enumerate() {
        a.view_mut((k, 0), (1, nv)).copy_from(&-problem.jacobian().row(i));
        b[k] = -problem.bounds()[i] / speed;
    }
    for (k, &(dof, limit)) in dry.iter().enumerate() {
        q[nv + k] = limit / (mass * speed);
        for (row, sign) in [(nc + 2 * k, 1.0), (nc + 2 * k + 1, -1.0)] {
            a[(row, dof)] = sign;
            a[(row, nv + k)] = -1.0;
        }
    }
    let Optimum { z, iterations, none, .. } =
        Program { p, q, a, b, equal: 0, cones: 0, accuracy: Accuracy::Rough }.solve()?;
    let z = |k: usize| mass * speed * z[k];
    let impulse = |k: usize| match k.checked_sub(nc) {
        None => z(k).max(0.0),
        Some(d) => (z(nc + 2 * d + 1) - z(nc + 2 * d)).clamp(-dry[d].1, dry[d].1),
    };
    let impulses = DVector::from_fn(nc + dry.len(), |k, _| impulse(k));
    Some(Found { impulses: delassus.polish(impulses), iterations, infeasible: none.is_some() })
}

/// The dual program; none if it cannot be set up.
pub(super) fn dual(delassus: &Delassus) -> Option<Found> {
    let n = delassus.len();
    let boxed: Vec<usize> = (0..n).filter(|&i| delassus.upper[i].is_finite()).collect();
    // Λ = unit · x gives D a unit diagonal; a row that nothing moves has none.
    let speed = speed(delassus);
    let own = delassus.matrix.diagonal().map(|own| if own > 0.0 { own.sqrt().recip() } else { 1.0 });
    let unit = &own * speed;
    let p = DMatrix::from_fn(n, n, |i, j| own[i] * delassus.matrix[(i, j)] * own[j]);
    let mut a = DMatrix::zeros(n + boxed.len(), n);
    let mut b = DVector::zeros(n + boxed.len());
    for i in 0..n {
        a[(i, i)] = -1.0;
        b[i] = -delassus.lower[i] / unit[i];
    }
    for (k, &i) in boxed.iter().enumerate() {
        a[(n + k, i)] = 1.0;
        b[n + k] = delassus.upper[i] / unit[i];
    }
    let q = own.component_mul(&delassus.offset) / speed;
    let Optimum { x, iterations, none, .. } =
        Program { p, q, a, b, equal: 0, cones: 0, accuracy: Accuracy::Rough }.solve()?;
    let impulses = DVector::from_fn(n, |i, _| (unit[i] * x[i]).clamp(delassus.lower[i], delassus.upper[i]));
    Some(Found { impulses: delassus.polish(impulses), iterations, infeasible: none.is_some() })
}

/// The largest velocity at Λ = 0, or 1 where nothing moves.
fn speed(delassus: &Delassus) -> f64 {
    Some(delassus.offset.amax()).filter(|&speed| speed > 0.0).unwrap_or(1.0)
}
