//! The least effort that holds a grasped object: torques τ of the joints and forces f of the contacts.
//!
//! ```text
//! minimise ½ ‖τ‖²   subject to   (0; τ) + Jᵀ f = g(q),   ‖f_t‖ ≤ μ (f_n − ε)      without a command, no torque
//! ```
//!
//! g is the weight in generalised forces, J the contacts' velocities. τ follows from f, so f is the only unknown:
//! minimise ½ ‖g_a − J_aᵀ f‖² with J_oᵀ f = g_o. ε is a reserve: the normal force of a contact beyond what its friction
//! needs. Without a reserve, the least effort puts forces on the edges of their cones, where the smallest push makes
//! contacts slip. The largest ε with a solution is the margin of the grasp. It is infinite if the contacts can squeeze
//! the object with any force while all forces stay inside their cones; this is force closure.

use nalgebra::{DMatrix, DVector, Matrix3, Vector3};

use fingertip_shapes::{Error, Result};
use fingertip_step::solve::Accuracy;
use fingertip_step::solve::program::{CONE, NoOptimum, Optimum, Program};

/// Forces balance the weight up to this share of it, or up to this many N for weights below 1 N: the accuracy of the
/// interior-point method.
const BALANCED: f64 = 1e-8;

/// The balance of a grasp. The unknown forces have one number for each contact (along its normal) or three (along the
/// world's axes).
#[derive(Clone, Debug)]
pub struct Balance {
    /// Robot's part of the balance: J_a (n, robot's degrees of freedom) and g_a.
    robot: (DMatrix<f64>, DVector<f64>),
    /// Object's part of the balance: J_o (n, other degrees of freedom) and g_o.
    object: (DMatrix<f64>, DVector<f64>),
    /// Matrix (contacts, n) that gives the normal force f_n of each contact from the unknowns.
    normal: DMatrix<f64>,
    /// μ and the normal of each contact with friction; none without.
    friction: Vec<(f64, Vector3<f64>)>,
}

/// Torques and forces that hold the object.
#[derive(Clone, Debug)]
pub struct Effort {
    /// τ of the commanded degrees of freedom, N·m or N.
    pub torque: DVector<f64>,
    /// Forces in the unknowns of the balance, N.
    pub force: DVector<f64>,
    /// The objective ½ ‖τ‖², the effort that was minimised.
    pub cost: f64,
}

impl Balance {
    /// The balance without friction, from the gaps' slopes J (contacts, nv), g (nv) and the degrees of freedom that
    /// have a torque.
    ///
    /// # Errors
    /// If the sizes do not fit.
    pub fn frictionless(slope: &DMatrix<f64>, weight: &DVector<f64>, commanded: &[usize]) -> Result<Self> {
        let n = slope.nrows();
        Self::of(slope, weight, commanded, DMatrix::identity(n, n), Vec::new())
    }

    /// The balance with friction, from B's velocities relative to A in world axes (3 contacts, nv), each contact's μ
    /// and normal, g (nv), and the degrees of freedom that have a torque.
    ///
    /// # Errors
    /// If the sizes do not fit.
    pub fn with_friction(
        relative: &DMatrix<f64>,
        friction: Vec<(f64, Vector3<f64>)>,
        weight: &DVector<f64>,
        commanded: &[usize],
    ) -> Result<Self> {
        let n = friction.len();
        if relative.nrows() != 3 * n {
            let message = format!("expected J with {} rows, got {}", 3 * n, relative.nrows());
            return Err(Error::invalid("grasp", message));
        }
        let normal = DMatrix::from_fn(n, 3 * n, |i, k| if k / 3 == i { friction[i].1[k % 3] } else { 0.0 });
        Self::of(relative, weight, commanded, normal, friction)
    }

    fn of(
        jacobian: &DMatrix<f64>,
        weight: &DVector<f64>,
        commanded: &[usize],
        normal: DMatrix<f64>,
        friction: Vec<(f64, Vector3<f64>)>,
    ) -> Result<Self> {
        let nv = weight.len();
        if jacobian.ncols() != nv || commanded.iter().any(|&dof| dof >= nv) {
            let message = format!("expected J with {nv} columns and commands below {nv}, got {:?}", jacobian.shape());
            return Err(Error::invalid("grasp", message));
        }
        let others: Vec<usize> = (0..nv).filter(|dof| !commanded.contains(dof)).collect();
        let part = |dofs: &[usize]| (jacobian.select_columns(dofs), weight.select_rows(dofs));
        Ok(Self { robot: part(commanded), object: part(&others), normal, friction })
    }

    /// The least effort with every normal force at least `reserve` (N) above what its friction needs: f_n ≥ ‖f_t‖/μ +
    /// `reserve`. None if no forces balance. With a reserve of p (1 + 1/μ), a push p (N) carried by one contact leaves
    /// it in its cone.
    pub fn least_effort(&self, reserve: f64) -> Option<Effort> {
        let (slope, weight) = &self.robot;
        let program = Program { p: slope * slope.transpose(), q: -(slope * weight), ..self.program(reserve, false) };
        let Optimum { x, none: None, .. } = program.solve()? else { return None };
        let force = DVector::from_vec(x);
        let torque = weight - slope.tr_mul(&force);
        let (slope_o, weight_o) = &self.object;
        let imbalance = (weight_o - slope_o.tr_mul(&force)).norm();
        let cost = 0.5 * torque.norm_squared();
        (imbalance <= BALANCED * weight_o.norm().max(1.0)).then_some(Effort { torque, force, cost })
    }

    /// The largest reserve that all contacts can have, N. It is infinite under force closure and may be negative. None
    /// if no forces balance.
    pub fn margin(&self) -> Option<f64> {
        let program = self.program(0.0, true);
        let n = program.q.len();
        let Optimum { x, none, .. } = program.solve()?;
        match none {
            None => Some(x[n - 1]),
            Some(NoOptimum::Unbounded) => Some(f64::INFINITY),
            Some(NoOptimum::Infeasible) => None,
        }
    }

    /// The constraints in x = f, or in x = (f, ε) with the objective −ε: J_oᵀ f = g_o, (ε) − f_n ≤ −`reserve`, and
    /// ‖f_t‖ ≤ μ (f_n − `reserve` (− ε)).
    fn program(&self, reserve: f64, margin: bool) -> Program {
        let (slope, weight) = &self.object;
        let (n, equal, contacts) = (slope.nrows(), weight.len(), self.normal.nrows());
        let width = n + usize::from(margin);
        let rows = equal + contacts + CONE * self.friction.len();
        let mut a = DMatrix::zeros(rows, width);
        a.view_mut((0, 0), (equal, n)).copy_from(&slope.transpose());
        a.view_mut((equal, 0), (contacts, n)).copy_from(&-&self.normal);
        let mut q = DVector::zeros(width);
        if margin {
            a.view_mut((equal, n), (contacts, 1)).fill(1.0);
            q[n] = -1.0;
        }
        for (i, (mu, normal)) in self.friction.iter().enumerate() {
            let row = equal + contacts + CONE * i;
            let tangent = Matrix3::identity() - normal * normal.transpose();
            a.view_mut((row, 3 * i), (1, 3)).copy_from(&(-normal.transpose() * *mu));
            if margin {
                a[(row, n)] = *mu;
            }
            a.view_mut((row + 1, 3 * i), (3, 3)).copy_from(&-tangent);
        }
        let mut b = DVector::zeros(rows);
        b.rows_mut(0, equal).copy_from(weight);
        b.rows_mut(equal, contacts).fill(-reserve);
        self.friction.iter().enumerate().for_each(|(i, (mu, _))| b[equal + contacts + CONE * i] = -mu * reserve);
        let (p, cones) = (DMatrix::zeros(width, width), self.friction.len());
        Program { p, q, a, b, equal, cones, accuracy: Accuracy::Fine }
    }
}
