//! The second-order step with hard, frictionless contact, world by world.

use candle_core::{Device, Result, Tensor};
use nalgebra::{DMatrix, DVector, Vector3};
use rayon::prelude::*;

use crate::kinematics::SCREW;
use crate::solve::{ContactPaths, Frictionless, Impact, Method, Report, Status};
use crate::step::fused::{Assembly, CONTACT, JointForces};
use fingertip_lanes::pool;
use fingertip_lanes::rows::Rows;

/// One world's step as a problem of rigid contact.
#[derive(Clone, Debug)]
pub struct RigidContact {
    /// The problem. Its mass is M + h D; its rows are `contacts`, then all joint limits.
    pub problem: Frictionless,
    /// The contacts that take part, as places in [`Contacts`](crate::contact::Contacts).
    pub contacts: Vec<usize>,
    /// Velocity of B relative to A at each of these contacts in world axes, for unit rates (3 n, nv), each body at its
    /// own witness point. The problem's rows are its components along the normals.
    pub relative: DMatrix<f64>,
    /// Unit normals from A to B.
    pub normals: Vec<Vector3<f64>>,
}

/// The assembled contact problems of all worlds, for the rigid solvers. Rows are worlds; one row may stand for all.
pub(super) struct RigidBatch<'a> {
    pub(super) paths: &'a [ContactPaths],
    /// Degree of freedom of each limit and the sign of its gap's slope.
    pub(super) limits: &'a [(usize, f64)],
    /// Mass matrices, momenta and contact geometry. Contacts of weight zero are left out of the problems.
    pub(super) of: Assembly,
    pub(super) joints: &'a JointForces,
    /// Largest forces of dry friction, see [`Parameters::dry_friction`](crate::Parameters::dry_friction).
    pub(super) dry_friction: Rows<'a>,
}

/// One side, A or B, of a contact.
struct Side<'a> {
    /// The screws that move this side, each with its degree of freedom.
    path: &'a [(usize, usize)],
    /// The witness point on this side, in world axes, m. A screw (ω; m) moves it at ω × p + m.
    point: Vector3<f64>,
    /// Sign of this side's velocity in the relative velocity of B against A: −1 for A, +1 for B.
    sign: f64,
}

/// Result of one world's rigid step.
struct Answer {
    v_next: Vec<f64>,
    delta: Vec<f64>,
    force: Vec<f64>,
    limit_force: Vec<f64>,
    report: Report,
}

/// Results of the rigid step of all worlds.
pub(super) struct RigidStep {
    /// Next velocity v₊ (B, nv).
    pub(super) v_next: Tensor,
    /// Displacement δ = h v₊ (B, nv).
    pub(super) delta: Tensor,
    /// Contact force on B in world axes (B, nc, 3), N.
    pub(super) force: Tensor,
    /// Forces of the joint limits (B, nl), N or N·m.
    pub(super) limit_force: Tensor,
    pub(super) reports: Vec<Report>,
}

impl RigidBatch<'_> {
    fn nv(&self) -> usize {
        self.of.momentum.width()
    }

    /// The configurations (B, nq) that the step starts from, with the type and device of `like`.
    pub(super) fn q(&self, like: &Tensor) -> Result<Tensor> {
        let q = &self.of.q;
        let all: Vec<f64> = (0..q.rows()).flat_map(|world| q.row(world)).copied().collect();
        Tensor::from_vec(all, (q.rows(), q.width()), &Device::Cpu)?.to_dtype(like.dtype())
    }

    /// Sets all problems up and solves them; worlds that cannot be used are [`Status::BadInput`].
    pub(super) fn solve(&self, method: Method, like: &Tensor) -> Result<RigidStep> {
        let worlds = 0..self.of.usable.rows();
        let answers: Vec<Answer> =
            pool::share(|| worlds.into_par_iter().map(|world| self.world(world, method)).collect());
        let (b, nc, nl) = (answers.len(), self.paths.len(), self.limits.len());
        let tensor = |of: fn(&Answer) -> &Vec<f64>, width: usize| -> Result<Tensor> {
            let data: Vec<f64> = answers.iter().flat_map(|answer| of(answer).iter().copied()).collect();
            Tensor::from_vec(data, (b, width), &Device::Cpu)?.to_dtype(like.dtype())?.to_device(like.device())
        };
        Ok(RigidStep {
            v_next: tensor(|a| &a.v_next, self.nv())?,
            delta: tensor(|a| &a.delta, self.nv())?,
            force: tensor(|a| &a.force, 3 * nc)?.reshape((b, nc, 3))?,
            limit_force: tensor(|a| &a.limit_force, nl)?,
            reports: answers.iter().map(|a| a.report).collect(),
        })
    }

    fn world(&self, world: usize, method: Method) -> Answer {
        let h = self.of.h.row(world)[0];
        let mut answer = Answer {
            v_next: vec![0.0; self.nv()],
            delta: vec![0.0; self.nv()],
            force: vec![0.0; 3 * self.paths.len()],
            limit_force: vec![0.0; self.limits.len()],
            report: Report { status: Status::BadInput, iterations: 0, residual: 0.0, slip_gap: 0.0 },
        };
        let Some((problem, active)) = self.problem(world) else { return answer };
        let Impact { v_next, impulse, status, iterations, residual, .. } = problem.solve(method);
        answer.v_next.copy_from_slice(v_next.as_slice());
        answer.delta.copy_from_slice((v_next * h).as_slice());
        for (k, &i) in active.iter().enumerate() {
            let normal = self.contact_vector(world, i, 0);
            (0..3).for_each(|axis| answer.force[3 * i + axis] = normal[axis] * impulse[k] / h);
        }
        let limits = answer.limit_force.iter_mut().zip(impulse.iter().skip(active.len()));
        limits.for_each(|(force, impulse)| *force = impulse / h);
        answer.report = Report { status, iterations, residual, slip_gap: 0.0 };
        answer
    }

    /// One world's problem in its active contacts, and the limits behind them; none if the world cannot be used or M is
    /// not positive definite.
    fn problem(&self, world: usize) -> Option<(Frictionless, Vec<usize>)> {
        let of = &self.of;
        if of.usable.row(world)[0] == 0.0 {
            return None;
        }
        let active: Vec<usize> = (0..self.paths.len()).filter(|&i| of.weight.row(world)[i] > 0.0).collect();
        let (nv, h) = (self.nv(), of.h.row(world)[0]);
        let mass = DMatrix::from_row_slice(nv, nv, of.mass.row(world));
        let n = active.len() + self.limits.len();
        let mut jacobian = DMatrix::zeros(n, nv);
        let mut bounds = DVector::zeros(n);
        let screws = of.screws.row(world);
        for (row, &i) in active.iter().enumerate() {
            let normal = self.contact_vector(world, i, 0);
            for Side { path, point, sign } in self.sides(world, i) {
                // n·(ω × p + m) = ω·(p × n) + m·n.
                let (moment, normal) = (point.cross(&normal) * sign, normal * sign);
                for &(screw, dof) in path {
                    let screw = &screws[SCREW * screw..SCREW * (screw + 1)];
                    let turning = screw[0] * moment.x + screw[1] * moment.y + screw[2] * moment.z;
                    let moving = screw[3] * normal.x + screw[4] * normal.y + screw[5] * normal.z;
                    jacobian[(row, dof)] += turning + moving;
                }
            }
            bounds[row] = -of.gap.row(world)[i] / h;
        }
        for (l, &(dof, sign)) in self.limits.iter().enumerate() {
            jacobian[(active.len() + l, dof)] = sign;
            bounds[active.len() + l] = -of.limit_gap.row(world)[l] / h;
        }
        let momentum = DVector::from_column_slice(of.momentum.row(world));
        let mut problem = Frictionless::of_momentum(mass, &momentum, jacobian, bounds)?;
        if self.joints.friction.iter().any(Option::is_some) {
            let most = |dof: usize, _| self.joints.friction[dof].map_or(0.0, |k| self.dry_friction.row(world)[k]);
            problem = problem.with_dry_friction(DVector::from_fn(nv, most) * h).ok()?;
        }
        Some((problem, active))
    }

    /// The frictionless problem of a world together with the contacts' full relative-velocity Jacobian and their
    /// normals. None if the world has no problem.
    pub(super) fn contact(&self, world: usize) -> Option<RigidContact> {
        let (problem, contacts) = self.problem(world)?;
        let mut relative = DMatrix::zeros(3 * contacts.len(), self.nv());
        for (row, &i) in contacts.iter().enumerate() {
            for Side { path, point, sign } in self.sides(world, i) {
                for &(screw, dof) in path {
                    let [omega, m] = [2 * screw, 2 * screw + 1].map(|k| vector(&self.of.screws, world, 3 * k));
                    let velocity = (omega.cross(&point) + m) * sign;
                    (0..3).for_each(|axis| relative[(3 * row + axis, dof)] += velocity[axis]);
                }
            }
        }
        let normals = contacts.iter().map(|&i| self.contact_vector(world, i, 0)).collect();
        Some(RigidContact { problem, contacts, relative, normals })
    }

    /// Sides A and B of contact `i`.
    fn sides(&self, world: usize, i: usize) -> [Side<'_>; 2] {
        let ContactPaths { a, b, .. } = &self.paths[i];
        let (point_a, point_b) = (self.contact_vector(world, i, 1), self.contact_vector(world, i, 2));
        [Side { path: a, point: point_a, sign: -1.0 }, Side { path: b, point: point_b, sign: 1.0 }]
    }

    /// Normal, point on A or point on B of contact `i`.
    fn contact_vector(&self, world: usize, i: usize, which: usize) -> Vector3<f64> {
        vector(&self.of.geometry, world, CONTACT * i + 3 * which)
    }
}

fn vector(rows: &Rows, world: usize, first: usize) -> Vector3<f64> {
    let v = &rows.row(world)[first..first + 3];
    Vector3::new(v[0], v[1], v[2])
}
