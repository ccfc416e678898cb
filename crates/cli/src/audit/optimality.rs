//! The optimality conditions of a step, recomputed in plain loops: nothing here is shared with the solver.
//!
//! ```text
//! balance         P δ + g − Σ Jᵀf − Σ ± f_limit = 0         relative to the largest term
//! force law       f = (2 w / (κ s)) (ν_n n − μ² ν_t)          s = ν_n² − μ²‖ν_t‖², ν = J δ + φ n
//! complementarity ν · f = 2 w / κ                             w: the contact's weight where it fades
//! Hessian         H = P + Σ Jᵀ S J + Σ f_limit² κ/2           S = −∂f/∂ν
//! ```
//!
//! A contact with torsional friction γ is two, each of half the weight: the second has γ and its turn about n in the
//! places of μ and ν_t; by Coulomb's law μ and γ are twice as large. By Coulomb's law ν_n is larger by what makes it
//! so. P = blkdiag(ε M_o/h², K) and g = −(τ_o ; K (u − q)) come from masses, screws and stiffness; ellipsoids add to P
//! what [`super::rolling`] says.

use candle_core::Result;
use fingertip::contact::{UNUSED, Window};
use fingertip::description::{Friction, JointKind};
use fingertip::kinematics::Coordinate;
use fingertip::math::largest::{larger, largest};
use fingertip::step::{Quasidynamic, Step};
use nalgebra::{DMatrix, DVector, Matrix3, Matrix3xX, Vector3};

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
            let mut jacobian = Matrix3xX::zeros(model.nv());
            let mut turning = jacobian.clone();
            for (shape, point, sign) in [(pair.b, points_b[i], 1.0), (pair.a, points_a[i], -1.0)] {
                for screw in tree.path(model.shapes[shape].body) {
                    let (omega, m) = screws[screw];
                    let mut column = jacobian.column_mut(tree.screw_dof[screw]);
                    column += sign * (omega.cross(&point) + m);
                    let mut column = turning.column_mut(tree.screw_dof[screw]);
                    column += sign * omega;
                }
            }
            let mut pull = jacobian.tr_mul(&f);
            let displaced = &jacobian * &delta + phi[i] * n;
            let friction = model.params.friction;
            let law_before = own.law;
            // By Coulomb's law friction answers to a slip that is larger by this ratio.
            let impratio = if friction == Friction::Coulomb { model.params.impratio } else { 1.0 };
            let across = |by: f64| n * n.transpose() + by * (Matrix3::identity() - n * n.transpose());
            let law = |mu: f64, weight: f64, nu: Vector3<f64>| {
                let Law { force, stiffness, nu } = Law::of(friction, n, mu, weight / kappa, across(impratio) * nu);
                Law { force, stiffness: across(impratio.sqrt()) * stiffness * across(impratio.sqrt()), nu }
            };
            match torsion.of_contact(i) {
                None => {
                    let Law { force, stiffness, nu } = law(mu, weight, displaced);
                    own.law = larger(own.law, (f - force).norm() / f.norm());
                    own.complementarity =
                        larger(own.complementarity, (nu.dot(&f) * kappa / (2.0 * weight) - 1.0).abs());
                    p += jacobian.tr_mul(&(stiffness * &jacobian));
                }
                Some((at, gamma)) => {
                    let (half, times, torque) = (weight / 2.0, torsion.times, torques[at]);
                    let across = n.cross(&if n.x.abs() < 0.5 { Vector3::x() } else { Vector3::y() }).normalize();
                    let spins = n * n.tr_mul(&jacobian) + across * n.tr_mul(&turning);
                    let slides = law(times * mu, half, displaced);
                    let turns = law(times * gamma, half, &spins * &delta + phi[i] * n);
                    let (force, moment) = (slides.force + n * n.dot(&turns.force), across.dot(&turns.force));
                    let off = (f - force).norm().max((torque - moment).abs() / gamma);
                    own.law = larger(own.law, off / f.norm());
                    let work = match friction {
                        Friction::Relaxed => displaced.dot(&f) + n.dot(&(&turning * &delta)) * torque,
                        Friction::Coulomb => 2.0 * n.dot(&displaced) * n.dot(&f),
                    };
                    own.complementarity = larger(own.complementarity, (work * kappa / (2.0 * weight) - 1.0).abs());
                    pull += turning.tr_mul(&(torque * n));
                    p += jacobian.tr_mul(&(slides.stiffness * &jacobian));
                    p += spins.tr_mul(&(turns.stiffness * &spins));
                }
            }
            if own.law > law_before {
                own.worst = Some(i);
            }
            scale = scale.max(pull.amax());
            balance -= pull;
            own.force += f.norm();
            own.distant_force += if phi[i] > DISTANCE { f.norm() } else { 0.0 };
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

/// The force law of one contact.
struct Law {
    force: Vector3<f64>,
    /// −∂f/∂ν.
    stiffness: Matrix3<f64>,
    /// The displacement, its gap lifted as the law has it.
    nu: Vector3<f64>,
}

impl Law {
    /// At a displacement ν, with w/κ.
    fn of(friction: Friction, n: Vector3<f64>, mu: f64, weight_over_kappa: f64, nu: Vector3<f64>) -> Self {
        let nu_t = nu - n * n.dot(&nu);
        let nu_n = lifted(friction, n.dot(&nu), mu * nu_t.norm());
        let s = (nu_n - mu * nu_t.norm()) * (nu_n + mu * nu_t.norm());
        let w = nu_n * n - mu * mu * nu_t;
        let g_matrix = n * n.transpose() - mu * mu * (Matrix3::identity() - n * n.transpose());
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
    /// Factor on friction coefficients in a contact with torsional friction.
    times: f64,
}

impl Torsion {
    fn of(step: &Quasidynamic) -> Result<Self> {
        let pairs = &step.model().pairs;
        let values = numbers(&step.parameters().torsion)?;
        let of_pair = |pair| pairs.torsional_pairs().position(|other| other == pair).map_or(0.0, |k| values[k]);
        Ok(Self {
            contacts: pairs.torsional.clone(),
            coefficients: pairs.torsional.iter().map(|&contact| of_pair(pairs.pair_of_contact[contact])).collect(),
            times: if step.model().params.friction == Friction::Coulomb { 2.0 } else { 1.0 },
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
