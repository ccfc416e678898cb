//! The optimality conditions of a step, recomputed in plain loops: nothing here is shared with the solver.
//!
//! ```text
//! balance         P δ + g − Σ Jᵀf − Σ ± f_limit = 0         relative to the largest term
//! force law       f = (2 w / (κ s)) (ν_n n − μ² ν_t)          s = ν_n² − μ²‖ν_t‖² − γ²θ², ν = J δ + φ n
//! torque law      τ = −(2 w / (κ s)) γ² θ                     θ: the turn of B against A about n
//! complementarity ν · f + θ τ = 2 w / κ                     w: the contact's weight where it fades
//! Hessian         H = P + Σ Jᵀ S J + Σ f_limit² κ/2           S = −∂f/∂ν
//! ```
//!
//! γ is 0 but for contacts with torsional friction. By Coulomb's law ν_n is larger by what makes it so. P =
//! blkdiag(ε M_o/h², K) and g = −(τ_o ; K (u − q)) come from masses, screws and stiffness; ellipsoids add to P what
//! [`super::rolling`] says.

use candle_core::Result;
use fingertip::contact::{UNUSED, Window};
use fingertip::description::{Friction, JointKind};
use fingertip::kinematics::Coordinate;
use fingertip::math::largest::{larger, largest};
use fingertip::step::{Quasidynamic, Step};
use nalgebra::{DMatrix, DVector, Matrix3, Matrix3xX, Matrix4, Matrix4xX, Vector3, Vector4};

use super::balance::Balance;
use super::states::State;
use super::{numbers, vectors};

/// Relative errors of a step in the optimality conditions.
pub struct Optimality {
    /// Force balance.
    pub balance: f64,
    /// Force law, the worst contact.
    pub law: f64,
    /// The contact with the largest error in the force law.
    pub worst: Option<usize>,
    /// Complementarity, the worst contact.
    pub complementarity: f64,
    /// Condition number of H with unit diagonal; infinite if H is not positive definite.
    pub conditioning: f64,
    /// Sums of the contact forces, and of those at a distance, N.
    pub force: f64,
    pub distant_force: f64,
    /// The smallest φ, m.
    pub least_phi: f64,
}

/// φ from which a force acts at a distance, m.
const DISTANCE: f64 = 1e-3;

impl Optimality {
    /// Recomputes everything at a solved step.
    pub fn of(step: &Quasidynamic, state: &State, result: &Step) -> Result<Self> {
        let model = step.model();
        let (parameters, tree) = (step.parameters(), &model.tree);
        let kappa = numbers(&parameters.kappa)?[0];
        let mu = numbers(&parameters.mu)?;
        let delta = DVector::from_vec(numbers(&result.delta)?);
        let free = Balance::of(step, state)?;
        let Balance { mut p, g, screws, .. } = free.clone();

        // Terms of the balance, whose largest is the scale.
        let elastic = &p * &delta;
        let mut balance = &elastic + &g;
        let mut scale = elastic.amax().max(g.amax());
        let mut own = Self {
            balance: 0.0,
            law: 0.0,
            worst: None,
            complementarity: 0.0,
            conditioning: 0.0,
            force: 0.0,
            distant_force: 0.0,
            least_phi: f64::INFINITY,
        };

        let phi = numbers(&result.contacts.phi)?;
        let parts = result.contacts.weight.as_ref().map(numbers).transpose()?;
        let (normals, forces) = (vectors(&result.contacts.normal)?, vectors(&result.force)?);
        let (torsion, torques) = (Torsion::of(step)?, numbers(&result.torque)?);
        let (points_a, points_b) = (vectors(&result.contacts.point_a)?, vectors(&result.contacts.point_b)?);
        let mut held = Vec::new();
        for i in 0..model.nc() {
            let pair = &model.pairs.pairs[model.pairs.pair_of_contact[i]];
            let (mu, n, f) = (mu[model.pairs.pair_of_contact[i]], normals[i], forces[i]);
            own.least_phi = own.least_phi.min(phi[i]);
            let part = parts.as_ref().map_or(1.0, |parts| parts[i]);
            let weight = part * weight(phi[i], pair.window);
            if weight == 0.0 {
                continue;
            }
            let geometry = (n, [points_a[i], points_b[i]], phi[i], weight);
            let rolling = free.rolling(step, i, geometry)?;
            p += &rolling;
            balance += rolling * &delta;
            held.push((i, geometry));
            // The motion of B against A, and the turn about n.
            let mut jacobian = Matrix4xX::zeros(model.nv());
            for (shape, point, sign) in [(pair.b, points_b[i], 1.0), (pair.a, points_a[i], -1.0)] {
                for screw in tree.path(model.shapes[shape].body) {
                    let (omega, m) = screws[screw];
                    let mut column = jacobian.column_mut(tree.screw_dof[screw]);
                    column += sign * (omega.cross(&point) + m).push(n.dot(&omega));
                }
            }
            let (torque, gamma) = torsion.of_contact(i).map_or((0.0, 0.0), |(at, gamma)| (torques[at], gamma));
            let (n, f) = (n.push(0.0), f.push(torque));
            let pull = jacobian.tr_mul(&f);
            let displaced = &jacobian * &delta + phi[i] * n;
            let friction = model.params.friction;
            let law_before = own.law;
            // By Coulomb's law friction answers to a slip that is larger by this ratio.
            let impratio = if friction == Friction::Coulomb { model.params.impratio } else { 1.0 };
            let across = |by: f64| n * n.transpose() + by * (Matrix4::identity() - n * n.transpose());
            let Law { force, stiffness, nu } =
                Law::of(friction, n, [mu, gamma], weight / kappa, across(impratio) * displaced);
            let (off, size) = (f - force, f.xyz().norm());
            own.law = larger(own.law, off.xyz().norm() / size);
            if gamma > 0.0 {
                own.law = larger(own.law, off.w.abs() / (gamma * size));
            }
            own.complementarity = larger(own.complementarity, (nu.dot(&f) * kappa / (2.0 * weight) - 1.0).abs());
            let stiffness = across(impratio.sqrt()) * stiffness * across(impratio.sqrt());
            p += jacobian.tr_mul(&(stiffness * &jacobian));
            if own.law > law_before {
                own.worst = Some(i);
            }
            scale = scale.max(pull.amax());
            balance -= pull;
            own.force += size;
            own.distant_force += if phi[i] > DISTANCE { size } else { 0.0 };
        }
        let hanging = free.hanging(step, &held)?;
        p += &hanging;
        balance += hanging * &delta;
        self::limits(step, state, result, |dof, sign, force, gap| {
            balance[dof] -= sign * force;
            scale = scale.max(force);
            let opened = gap + sign * delta[dof];
            own.complementarity = larger(own.complementarity, (force * opened * kappa / 2.0 - 1.0).abs());
            p[(dof, dof)] += kappa / 2.0 * force * force;
        })?;
        for ((dof, most), force) in dry_friction(step, result)? {
            balance[dof] -= force;
            scale = scale.max(force.abs());
            let (a, s) = (kappa * most * delta[dof], (kappa * most * delta[dof]).hypot(1.0));
            own.law = larger(own.law, (force + most * a / (1.0 + s)).abs() / most);
            p[(dof, dof)] += kappa * most * most / (s * (1.0 + s));
        }
        for Table { motion, most, force } in tables(step, &free, result)? {
            let b = &motion * &delta * (kappa * most);
            let s = b.norm().hypot(1.0);
            let pull = motion.tr_mul(&force);
            scale = scale.max(pull.amax());
            balance -= pull;
            own.law = larger(own.law, (force + b * (most / (1.0 + s))).norm() / most);
            let along = b * b.transpose() / (s * (1.0 + s).powi(2));
            let stiffness = (Matrix3::identity() / (1.0 + s) - along) * (kappa * most * most);
            p += motion.tr_mul(&(stiffness * &motion));
        }
        own.balance = largest(&balance) / scale.max(f64::MIN_POSITIVE);
        own.conditioning = conditioning(&p);
        Ok(own)
    }
}

/// The force law of one contact: of the force and the torque about n.
struct Law {
    force: Vector4<f64>,
    /// −∂f/∂ν.
    stiffness: Matrix4<f64>,
    /// The displacement, its gap lifted as the law has it.
    nu: Vector4<f64>,
}

impl Law {
    /// At a displacement and turn ν, with w/κ.
    fn of(
        friction: Friction,
        n: Vector4<f64>,
        [mu, gamma]: [f64; 2],
        weight_over_kappa: f64,
        nu: Vector4<f64>,
    ) -> Self {
        let coefficients = Matrix4::from_diagonal(&Vector4::new(mu, mu, mu, gamma));
        let nu_t = nu - n * n.dot(&nu);
        let slip = (coefficients * nu_t).norm();
        let nu_n = lifted(friction, n.dot(&nu), slip);
        let s = (nu_n - slip) * (nu_n + slip);
        let w = nu_n * n - coefficients * coefficients * nu_t;
        let g_matrix = n * n.transpose() - coefficients * coefficients * (Matrix4::identity() - n * n.transpose());
        Self {
            force: 2.0 * weight_over_kappa / s * w,
            stiffness: weight_over_kappa * (4.0 / (s * s) * w * w.transpose() - 2.0 / s * g_matrix),
            nu: nu_t + nu_n * n,
        }
    }
}

/// The contacts with torsional friction and their coefficients, m.
struct Torsion {
    contacts: Vec<usize>,
    coefficients: Vec<f64>,
}

impl Torsion {
    fn of(step: &Quasidynamic) -> Result<Self> {
        let pairs = &step.model().pairs;
        let values = numbers(&step.parameters().torsion)?;
        let of_pair = |pair| pairs.torsional_pairs().position(|other| other == pair).map_or(0.0, |k| values[k]);
        Ok(Self {
            contacts: pairs.torsional.clone(),
            coefficients: pairs.torsional.iter().map(|&contact| of_pair(pairs.pair_of_contact[contact])).collect(),
        })
    }

    /// The place of a contact among those with torsional friction, and its coefficient.
    fn of_contact(&self, contact: usize) -> Option<(usize, f64)> {
        let at = self.contacts.iter().position(|&other| other == contact)?;
        Some((at, self.coefficients[at]))
    }
}

/// Calls `f(degree of freedom, sign of the gap's slope, force, gap)` for each joint limit in force.
fn limits(step: &Quasidynamic, state: &State, result: &Step, mut f: impl FnMut(usize, f64, f64, f64)) -> Result<()> {
    let forces = numbers(&result.limit_force)?;
    let q = numbers(&state.q)?;
    let bounded = step.model().tree.coordinates.iter().filter(|c| c.kind != JointKind::Fixed);
    let bounded = bounded.filter_map(|c| Some((c, c.limits?)));
    let sides = bounded.flat_map(|(c, limits)| [(c, 1.0, limits.lower), (c, -1.0, limits.upper)]);
    for ((c, sign, bound), force) in sides.filter(|_| step.model().params.joint_limits).zip(forces) {
        f(c.v, sign, force, sign * (q[c.q] - bound));
    }
    Ok(())
}

/// A body on a table.
struct Table {
    /// How its centre of mass moves along x and y and turns, the latter times the table's radius.
    motion: Matrix3xX<f64>,
    /// The largest force, N, and the force that it has.
    most: f64,
    force: Vector3<f64>,
}

/// The bodies on tables; their forces are the last of the limits' forces.
fn tables(step: &Quasidynamic, free: &Balance, result: &Step) -> Result<Vec<Table>> {
    let (model, parameters) = (step.model(), step.parameters());
    let (friction, radius) = (numbers(&parameters.table_friction)?, numbers(&parameters.table_radius)?);
    let (mass, gravity) = (numbers(&parameters.mass)?, numbers(&parameters.gravity)?[2].abs());
    let forces = numbers(&result.limit_force)?;
    let first = forces.len() - 3 * friction.len();
    let of = |(k, (c, _)): (usize, (&Coordinate, _))| {
        let n = model.inertial.iter().position(|&body| body == c.body)?;
        let centre = free.centre(model, n);
        let mut motion = Matrix3xX::zeros(model.nv());
        for screw in model.tree.path(c.body) {
            let (omega, m) = free.screws[screw];
            let velocity = omega.cross(&centre) + m;
            let column = Vector3::new(velocity.x, velocity.y, radius[k] * omega.z);
            motion.set_column(model.tree.screw_dof[screw], &column);
        }
        let force = Vector3::from_column_slice(&forces[first + 3 * k..first + 3 * (k + 1)]);
        Some(Table { motion, most: friction[k] * mass[n] * gravity, force })
    };
    Ok(model.tree.tables().enumerate().filter_map(of).collect())
}

/// The degrees of freedom with dry friction, their largest forces and what they have: behind the limits' forces.
fn dry_friction(step: &Quasidynamic, result: &Step) -> Result<Vec<((usize, f64), f64)>> {
    let all = step.model().tree.dry_friction(step.model().params.joint_friction);
    let (forces, most) = (numbers(&result.limit_force)?, numbers(&step.parameters().dry_friction)?);
    let first = forces.len() - all.len() - 3 * step.model().tree.tables().count();
    Ok(all.into_iter().map(|(dof, k)| (dof, most[k])).zip(forces[first..].iter().copied()).collect())
}

/// The gap with what the law adds to it for a slip times μ: nothing, or what makes the relaxed law that of Coulomb,
/// smoothed, ζ the gap and √(gap² + slip²).
fn lifted(friction: Friction, gap: f64, slip: f64) -> f64 {
    match friction {
        Friction::Relaxed => gap,
        Friction::Coulomb => gap + gap.hypot(slip),
    }
}

/// 1 up to `reach − fade`, 0 from `reach` on, a C² polynomial between, but no less than 10⁻⁶; 0 for what a pair does
/// not use.
fn weight(phi: f64, Window { reach, fade }: Window) -> f64 {
    if phi >= reach.min(UNUSED) {
        return 0.0;
    }
    if fade == 0.0 {
        return 1.0;
    }
    let t = ((reach - phi) / fade).clamp(0.0, 1.0);
    (t.powi(3) * (10.0 - 15.0 * t + 6.0 * t * t)).max(1e-6)
}

/// Condition number of a symmetric matrix scaled to unit diagonal.
fn conditioning(matrix: &DMatrix<f64>) -> f64 {
    let root = matrix.diagonal().map(f64::sqrt);
    let scaled = DMatrix::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)] / (root[i] * root[j]));
    let values = scaled.symmetric_eigenvalues();
    if values.min() > 0.0 { values.max() / values.min() } else { f64::INFINITY }
}
