//! The second-order step with hard, frictionless contact, world by world.

use candle_core::{Device, Result, Tensor};
use nalgebra::{DMatrix, DVector, Vector3};
use rayon::prelude::*;

use crate::contact::Contacts;
use crate::kinematics::SCREW;
use crate::math::rows::Rows;
use crate::solve::{ContactPaths, Frictionless, Impact, Method, Report, Status};

/// One world's step as a problem of rigid contact.
#[derive(Clone, Debug)]
pub struct RigidContact {
    /// The problem. Its mass is M + h D; its rows are `contacts`, then all joint limits.
    pub problem: Frictionless,
    /// The contacts that take part, as places in [`Contacts`].
    pub contacts: Vec<usize>,
    /// Velocity of B against A at each of these contacts in world axes, by unit rates (3 n, nv); each at its own witness
    /// point. The problem's rows are its parts along the normals.
    pub relative: DMatrix<f64>,
    /// Unit normals from A to B.
    pub normals: Vec<Vector3<f64>>,
}

/// What all worlds' problems are made of; rows are worlds, one row may stand for all.
pub(super) struct RigidBatch<'a> {
    pub(super) paths: &'a [ContactPaths],
    /// Degree of freedom of each limit and the sign of its gap's slope.
    pub(super) limits: &'a [(usize, f64)],
    pub(super) screws: Rows<'static>,
    pub(super) normal: Rows<'static>,
    pub(super) point_a: Rows<'static>,
    pub(super) point_b: Rows<'static>,
    /// Gaps that the step may close (nc).
    pub(super) gap: Rows<'static>,
    /// Contacts of weight zero are left out.
    pub(super) weight: Rows<'static>,
    /// Gaps to the limits (nl).
    pub(super) limit_gap: Option<Rows<'static>>,
    /// M (nv · nv).
    pub(super) mass: Rows<'static>,
    /// D's diagonal (nv).
    pub(super) damping: Option<Rows<'static>>,
    /// M v + h (τ − b) (nv).
    pub(super) momentum: Rows<'static>,
    /// Largest impulses of dry friction (nv).
    pub(super) dry: Option<Rows<'static>>,
    pub(super) h: Rows<'static>,
}

/// A side of a contact.
struct Side<'a> {
    /// The screws that move it, with their degrees of freedom.
    path: &'a [(usize, usize)],
    /// Its witness point, whose velocity is ω × p + m for each screw.
    point: Vector3<f64>,
    /// How that counts in B's against A.
    sign: f64,
}

/// Numbers of one world's answer.
struct Answer {
    v_next: Vec<f64>,
    force: Vec<f64>,
    limit_force: Vec<f64>,
    report: Report,
}

/// All worlds' answers.
pub(super) struct RigidStep {
    /// (B, nv).
    pub(super) v_next: Tensor,
    /// (B, nc, 3), N.
    pub(super) force: Tensor,
    /// (B, nl), N or N·m.
    pub(super) limit_force: Tensor,
    pub(super) reports: Vec<Report>,
}

impl RigidBatch<'_> {
    /// Sets all problems up and solves them; worlds that are not `good` are [`Status::BadInput`].
    pub(super) fn solve(&self, good: &[bool], method: Method, like: &Tensor) -> Result<RigidStep> {
        let answers: Vec<Answer> =
            (0..good.len()).into_par_iter().map(|world| self.world(world, good[world], method)).collect();
        let (b, nc, nl) = (good.len(), self.paths.len(), self.limits.len());
        let tensor = |of: fn(&Answer) -> &Vec<f64>, width: usize| -> Result<Tensor> {
            let data: Vec<f64> = answers.iter().flat_map(|answer| of(answer).iter().copied()).collect();
            Tensor::from_vec(data, (b, width), &Device::Cpu)?.to_dtype(like.dtype())?.to_device(like.device())
        };
        Ok(RigidStep {
            v_next: tensor(|a| &a.v_next, self.momentum.width())?,
            force: tensor(|a| &a.force, 3 * nc)?.reshape((b, nc, 3))?,
            limit_force: tensor(|a| &a.limit_force, nl)?,
            reports: answers.iter().map(|a| a.report).collect(),
        })
    }

    fn world(&self, world: usize, good: bool, method: Method) -> Answer {
        let problem = if good { self.problem(world) } else { None };
        let h = self.h.row(world)[0];
        let mut answer = Answer {
            v_next: vec![0.0; self.momentum.width()],
            force: vec![0.0; 3 * self.paths.len()],
            limit_force: vec![0.0; self.limits.len()],
            report: Report { status: Status::BadInput, iterations: 0, residual: 0.0, slip_gap: 0.0 },
        };
        let Some((problem, active)) = problem else { return answer };
        let Impact { v_next, impulse, status, iterations, residual, .. } = problem.solve(method);
        answer.v_next.copy_from_slice(v_next.as_slice());
        for (k, &i) in active.iter().enumerate() {
            let normal = &self.normal.row(world)[3 * i..3 * i + 3];
            (0..3).for_each(|axis| answer.force[3 * i + axis] = normal[axis] * impulse[k] / h);
        }
        let limits = answer.limit_force.iter_mut().zip(impulse.iter().skip(active.len()));
        limits.for_each(|(force, impulse)| *force = impulse / h);
        answer.report = Report { status, iterations, residual, slip_gap: 0.0 };
        answer
    }

    /// One world's problem in its active contacts, and the limits behind them; none if M is not positive definite.
    fn problem(&self, world: usize) -> Option<(Frictionless, Vec<usize>)> {
        let active: Vec<usize> = (0..self.paths.len()).filter(|&i| self.weight.row(world)[i] > 0.0).collect();
        let (nv, h) = (self.momentum.width(), self.h.row(world)[0]);
        let mut mass = DMatrix::from_row_slice(nv, nv, self.mass.row(world));
        if let Some(damping) = &self.damping {
            damping.row(world).iter().enumerate().for_each(|(i, d)| mass[(i, i)] += h * d);
        }
        let n = active.len() + self.limits.len();
        let mut jacobian = DMatrix::zeros(n, nv);
        let mut bounds = DVector::zeros(n);
        let screws = self.screws.row(world);
        for (row, &i) in active.iter().enumerate() {
            let normal = Self::vector(&self.normal, world, i);
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
            bounds[row] = -self.gap.row(world)[i] / h;
        }
        for (l, &(dof, sign)) in self.limits.iter().enumerate() {
            jacobian[(active.len() + l, dof)] = sign;
            bounds[active.len() + l] = -self.limit_gap.as_ref()?.row(world)[l] / h;
        }
        let momentum = DVector::from_column_slice(self.momentum.row(world));
        let problem = Frictionless::of_momentum(mass, &momentum, jacobian, bounds)?;
        let problem = match &self.dry {
            Some(dry) => problem.with_dry_friction(DVector::from_column_slice(dry.row(world))).ok()?,
            None => problem,
        };
        Some((problem, active))
    }

    /// The same with the contacts' velocities.
    pub(super) fn contact(&self, world: usize) -> Option<RigidContact> {
        let (problem, contacts) = self.problem(world)?;
        let mut relative = DMatrix::zeros(3 * contacts.len(), self.momentum.width());
        for (row, &i) in contacts.iter().enumerate() {
            for Side { path, point, sign } in self.sides(world, i) {
                for &(screw, dof) in path {
                    let [omega, m] = [2 * screw, 2 * screw + 1].map(|k| Self::vector(&self.screws, world, k));
                    let velocity = (omega.cross(&point) + m) * sign;
                    (0..3).for_each(|axis| relative[(3 * row + axis, dof)] += velocity[axis]);
                }
            }
        }
        let normals = contacts.iter().map(|&i| Self::vector(&self.normal, world, i)).collect();
        Some(RigidContact { problem, contacts, relative, normals })
    }

    /// A and B of contact `i`.
    fn sides(&self, world: usize, i: usize) -> [Side<'_>; 2] {
        let ContactPaths { a, b, .. } = &self.paths[i];
        let (point_a, point_b) = (Self::vector(&self.point_a, world, i), Self::vector(&self.point_b, world, i));
        [Side { path: a, point: point_a, sign: -1.0 }, Side { path: b, point: point_b, sign: 1.0 }]
    }

    fn vector(rows: &Rows, world: usize, k: usize) -> Vector3<f64> {
        let v = &rows.row(world)[3 * k..3 * k + 3];
        Vector3::new(v[0], v[1], v[2])
    }

    /// Rows of contacts: normal, point on A, point on B.
    pub(super) fn contact_rows(contacts: &Contacts) -> Result<[Rows<'static>; 3]> {
        let rows = |t: &Tensor| Rows::from_tensor(&t.detach().flatten_from(1)?.to_device(&Device::Cpu)?);
        Ok([rows(&contacts.normal)?, rows(&contacts.point_a)?, rows(&contacts.point_b)?])
    }
}
