//! Rigid contact as quadratic and linear inequalities ½ xᵀQx + rᵀx + c ≥ 0: for external solvers, and as a check.
//!
//! The complementarity 0 ≤ φ ⟂ f ≥ 0 becomes three inequalities: φ ≥ 0, f ≥ 0 and −φ f ≥ 0 (φ f ≥ 0 follows). The Q of
//! the product is indefinite in (q, f). So the feasible set is not convex, and no multiplier rule holds at any of its
//! points. In terms of the impulses alone, φ f = Λ_i (D Λ + r)_i, and minimising ½ ΛᵀDΛ + rᵀΛ is a convex program with
//! the same solutions.

use nalgebra::{DMatrix, DVector};

use super::delassus::Delassus;
use super::frictionless::Frictionless;
use fingertip_shapes::{Error, Result};

/// A quadratic inequality ½ xᵀQx + rᵀx + c ≥ 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Inequality {
    /// The inequality's name, such as `"-phi3 f3 >= 0"`.
    pub name: String,
    /// Entries (i, j, value) of the symmetric Q, both (i, j) and (j, i); repeated entries are added.
    pub q: Vec<(usize, usize, f64)>,
    /// Entries of r.
    pub r: Vec<(usize, f64)>,
    /// The constant c.
    pub c: f64,
}

/// All inequalities of a problem.
#[derive(Clone, Debug)]
pub struct Qcqp {
    /// Length of x.
    pub n: usize,
    /// The inequalities.
    pub inequalities: Vec<Inequality>,
}

/// A violated inequality.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Index of the violated inequality in [`Qcqp::inequalities`].
    pub index: usize,
    /// Name of the violated inequality.
    pub name: String,
    /// The inequality's value ½ xᵀQx + rᵀx + c, which is negative.
    pub value: f64,
}

/// A function that is affine in x: Σ r_j x_j + c.
#[derive(Clone, Debug, Default)]
struct Affine {
    r: Vec<(usize, f64)>,
    c: f64,
}

impl Affine {
    fn row<'a>(values: impl Iterator<Item = &'a f64>, first: usize, c: f64) -> Self {
        let nonzero = values.enumerate().filter(|(_, x)| **x != 0.0);
        Self { r: nonzero.map(|(j, &x)| (first + j, x)).collect(), c }
    }

    fn variable(i: usize) -> Self {
        Self { r: vec![(i, 1.0)], c: 0.0 }
    }

    fn scaled(&self, s: f64) -> Self {
        Self { r: self.r.iter().map(|&(j, x)| (j, s * x)).collect(), c: s * self.c }
    }

    fn plus(&self, other: &Self) -> Self {
        Self { r: self.r.iter().chain(&other.r).copied().collect(), c: self.c + other.c }
    }

    fn not_negative(&self, name: String) -> Inequality {
        Inequality { name, q: Vec::new(), r: self.r.clone(), c: self.c }
    }

    /// The inequality self · other ≥ 0.
    fn product(&self, other: &Self, name: String) -> Inequality {
        let mut q = Vec::new();
        for &(i, x) in &self.r {
            for &(j, y) in &other.r {
                q.push((i, j, x * y));
                q.push((j, i, x * y));
            }
        }
        let r = self.scaled(other.c).r.into_iter().chain(other.scaled(self.c).r).filter(|e| e.1 != 0.0).collect();
        Inequality { name, q, r, c: self.c * other.c }
    }
}

impl Inequality {
    /// The value ½ xᵀQx + rᵀx + c at x; the inequality holds if it is ≥ 0.
    pub fn value(&self, x: &DVector<f64>) -> f64 {
        let quadratic: f64 = self.q.iter().map(|&(i, j, value)| value * x[i] * x[j]).sum();
        let linear: f64 = self.r.iter().map(|&(j, value)| value * x[j]).sum();
        0.5 * quadratic + linear + self.c
    }

    /// Q as a matrix (n, n).
    pub fn matrix(&self, n: usize) -> DMatrix<f64> {
        let mut matrix = DMatrix::zeros(n, n);
        self.q.iter().for_each(|&(i, j, value)| matrix[(i, j)] += value);
        matrix
    }

    /// r as a vector (n).
    pub fn vector(&self, n: usize) -> DVector<f64> {
        let mut vector = DVector::zeros(n);
        self.r.iter().for_each(|&(j, value)| vector[j] += value);
        vector
    }
}

impl Qcqp {
    /// Contacts with gaps φ = G q + φ₀ (nc) that are affine in the configuration q (n), in x = (q, f). For each
    /// contact: φ f ≥ 0, −φ f ≥ 0, φ ≥ 0, f ≥ 0.
    pub fn of_gaps(slope: &DMatrix<f64>, gap: &DVector<f64>) -> Self {
        let (nc, n) = slope.shape();
        let inequalities = (0..nc).flat_map(|i| {
            let phi = Affine::row(slope.row(i).iter(), 0, gap[i]);
            let f = Affine::variable(n + i);
            [
                phi.product(&f, format!("phi{i} f{i} >= 0")),
                phi.scaled(-1.0).product(&f, format!("-phi{i} f{i} >= 0")),
                phi.not_negative(format!("phi{i} >= 0")),
                f.not_negative(format!("f{i} >= 0")),
            ]
        });
        Self { n: n + nc, inequalities: inequalities.collect() }
    }

    /// A step in terms of its impulses, x = Λ (contacts, then dry friction). For a contact: −Λ w ≥ 0, w ≥ 0, Λ ≥ 0. For
    /// dry friction: −w (Λ + c) ≥ 0, w (c − Λ) ≥ 0, Λ + c ≥ 0, c − Λ ≥ 0.
    pub fn of_impulses(delassus: &Delassus) -> Self {
        let n = delassus.len();
        let slack = |i: usize| Affine::row(delassus.matrix.row(i).iter(), 0, delassus.offset[i]);
        let bounds = |i: usize| (delassus.lower[i], delassus.upper[i]);
        let inequalities = (0..n).flat_map(|i| complementarity(i, &slack(i), &Affine::variable(i), bounds(i)));
        Self { n, inequalities: inequalities.collect() }
    }

    /// A step in terms of velocities and impulses, x = (v₊, Λ): the inequalities of [`Qcqp::of_impulses`] with w = J v₊
    /// − l, and M (v₊ − v_f) − JᵀΛ = 0 as two linear inequalities for each degree of freedom.
    pub fn of_velocities(problem: &Frictionless) -> Self {
        let (nv, nc) = (problem.nv(), problem.nc());
        let dry: Vec<(usize, f64)> = problem.dry().collect();
        let mut inequalities = Vec::new();
        for i in 0..nc {
            let slack = Affine::row(problem.jacobian().row(i).iter(), 0, -problem.bounds()[i]);
            inequalities.extend(complementarity(i, &slack, &Affine::variable(nv + i), (0.0, f64::INFINITY)));
        }
        for (k, &(dof, limit)) in dry.iter().enumerate() {
            let (slack, own) = (Affine::variable(dof), Affine::variable(nv + nc + k));
            inequalities.extend(complementarity(nc + k, &slack, &own, (-limit, limit)));
        }
        let momentum = problem.mass() * problem.v_free();
        for dof in 0..nv {
            let pushes = -problem.jacobian().column(dof);
            let mut balance = Affine::row(problem.mass().row(dof).iter(), 0, -momentum[dof]).plus(&Affine::row(
                pushes.iter(),
                nv,
                0.0,
            ));
            if let Some(k) = dry.iter().position(|d| d.0 == dof) {
                balance.r.push((nv + nc + k, -1.0));
            }
            inequalities.push(balance.not_negative(format!("balance{dof} >= 0")));
            inequalities.push(balance.scaled(-1.0).not_negative(format!("-balance{dof} >= 0")));
        }
        Self { n: nv + nc + dry.len(), inequalities }
    }

    /// The inequalities whose value at x (n) is below −`tolerance`.
    ///
    /// # Errors
    /// If x does not have n numbers.
    pub fn violations(&self, x: &DVector<f64>, tolerance: f64) -> Result<Vec<Violation>> {
        if x.len() != self.n {
            return Err(Error::invalid("QCQP", format!("expected x of {} numbers, got {}", self.n, x.len())));
        }
        let of = |(index, inequality): (usize, &Inequality)| {
            let value = inequality.value(x);
            // A value that is not a number is a violation.
            let holds = value >= -tolerance;
            (!holds).then(|| Violation { index, name: inequality.name.clone(), value })
        };
        Ok(self.inequalities.iter().enumerate().filter_map(of).collect())
    }
}

/// w and Λ of row `i`, with Λ between bounds; an infinite upper bound is a contact.
fn complementarity(i: usize, w: &Affine, impulse: &Affine, (lower, upper): (f64, f64)) -> Vec<Inequality> {
    let constant = |c: f64| Affine { r: Vec::new(), c };
    if upper.is_finite() {
        let (above, below) = (impulse.plus(&constant(-lower)), impulse.scaled(-1.0).plus(&constant(upper)));
        return vec![
            w.scaled(-1.0).product(&above, format!("-w{i} (f{i} - lower) >= 0")),
            w.product(&below, format!("w{i} (upper - f{i}) >= 0")),
            above.not_negative(format!("f{i} - lower >= 0")),
            below.not_negative(format!("upper - f{i} >= 0")),
        ];
    }
    vec![
        w.scaled(-1.0).product(impulse, format!("-w{i} f{i} >= 0")),
        w.not_negative(format!("w{i} >= 0")),
        impulse.not_negative(format!("f{i} >= 0")),
    ]
}
