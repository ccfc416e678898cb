//! Whether a step's answer is what its status says, computed without the library's solver.

use fingertip::description::Friction;
use fingertip::solve::{Report, Status};
use nalgebra::{DMatrix, DVector, Matrix3, Rotation3, Vector3, Vector4};

use support::oracle::{Contact, Problem};

/// Largest relative residual of an answer that counts as solved: ten times what the library promises, as sums are taken
/// in another order.
const RESIDUAL: f64 = 1e-8;
/// Rounding of a slack in units of the last place of the lengths that it is made of, from the world's origin on; they
/// go through some tens of operations.
const ROUNDING: f64 = 32.0 * f64::EPSILON;

/// One world's answer.
pub struct Answer<'a> {
    pub delta: &'a [f64],
    /// World forces on B, three for each contact.
    pub force: &'a [f64],
    /// The torque on B about the normal, one for each contact.
    pub torque: &'a [f64],
    pub limit_force: &'a [f64],
    /// Weights of the contacts' barriers.
    pub weight: &'a [f64],
    pub report: Report,
    pub friction: Friction,
}

impl Answer<'_> {
    /// The largest violation of force balance and of complementarity, relative, and an error in words where a force
    /// leaves its cone.
    ///
    /// A contact's slack z = (ν_n, μ ν_t, γ θ) is compared with the one that belongs to its force η = (λ_n, λ_t/μ,
    /// τ/γ), (2 w/κ) (η_n, −η_t) / (η_n² − ‖η_t‖²), relative to that, with room for the rounding of lengths.
    ///
    /// By Coulomb's law the gap of a contact is larger by what makes the relaxed law that one, ‖z‖.
    pub fn residual(&self, problem: &Problem, friction: Friction) -> Result<f64, String> {
        let delta = DVector::from_column_slice(self.delta);
        let mut balance = &problem.p * &delta + &problem.g;
        let mut size = problem.p.abs() * delta.abs() + problem.g.abs();
        let mut worst = 0.0_f64;
        for (i, contact) in problem.contacts.iter().enumerate() {
            let force = Vector3::from_column_slice(&self.force[3 * i..3 * i + 3]);
            balance -= contact.jacobian.transpose() * force;
            size += contact.jacobian.transpose().abs() * force.abs();
            balance -= &contact.turn * self.torque[i];
            size += contact.turn.abs() * self.torque[i].abs();
            if self.weight[i] == 0.0 {
                if force.norm() != 0.0 || self.torque[i] != 0.0 {
                    return Err(format!("contact {i} has no weight and pushes with {force:?}"));
                }
                continue;
            }
            let (along, across) = scaled(contact, &force, self.torque[i], 1e-14);
            if !(along > 0.0 && across.norm() <= along * (1.0 + 1e-12) + 1e-14 * along) {
                return Err(format!("contact {i} is outside its cone: {along:e}, {across:?}, μ {}", contact.mu));
            }
            let (nu_n, nu_t) = problem.slack(i, &delta);
            let turned = contact.gamma * problem.turned(i, &delta);
            let nu_t = Vector4::new(contact.mu * nu_t.x, contact.mu * nu_t.y, contact.mu * nu_t.z, turned);
            let (nu_n, nu_t) = match friction {
                Friction::Relaxed => (nu_n, nu_t),
                Friction::Coulomb => {
                    let felt = nu_t * problem.impratio;
                    (nu_n + nu_n.hypot(felt.norm()), felt)
                }
            };
            let turns = contact.turn.abs().dot(&delta.abs());
            let lengths = contact.phi.abs() + contact.levers.dot(&delta.abs()) + contact.gamma * turns;
            let kappa = problem.kappa / self.weight[i];
            let mu = contact.mu;
            // z = (2/(κ ρ)) (η_n, −η_t): slip directions oppose forces.
            let rho = (along - across.norm()) * (along + across.norm());
            let (pole_n, pole_t) = (2.0 * along / (kappa * rho), across * (-2.0 / (kappa * rho)));
            let (error, scale) = ((nu_n - pole_n).abs().max((nu_t - pole_t).norm()), pole_n.abs() + pole_t.norm());
            // Near the cone's boundary both grow without bound: the digits of its width are those of the force. A world
            // force's components are rounded as it is, which across the normal, where the cone is μ times as wide, is
            // 1/μ times as much.
            let digits = (along * along / rho).abs().max(1.0);
            let lost = if mu == 0.0 { 0.0 } else { ROUNDING / mu };
            // μ ν_t has μ times the rounding of ν_t.
            let noise = ROUNDING * lengths * mu.max(1.0) + (1e-13 + lost) * digits * scale;
            worst = worst.max((error - noise).max(0.0) / scale);
        }
        for (l, &(gap, dof, sign)) in problem.limits.iter().enumerate() {
            let force = self.limit_force[l];
            if force <= 0.0 {
                return Err(format!("limit {l} pulls with {force:e}"));
            }
            balance[dof] -= sign * force;
            size[dof] += force;
            let pole = 2.0 / (problem.kappa * force);
            let noise = ROUNDING * (gap.abs() + delta[dof].abs());
            worst = worst.max(((gap + sign * delta[dof] - pole).abs() - noise).max(0.0) / pole);
        }
        for (&(dof, most), &force) in problem.dry.iter().zip(&self.limit_force[problem.limits.len()..]) {
            balance[dof] -= force;
            size[dof] += force.abs();
            let a = problem.kappa * most * delta[dof];
            worst = worst.max((force / most + a / (1.0 + a.hypot(1.0))).abs());
        }
        let (_, on_tables) = self.limit_force.split_at(problem.limits.len() + problem.dry.len());
        for ((most, motion), force) in problem.tables.iter().zip(on_tables.chunks(3)) {
            let force = DVector::from_column_slice(force);
            balance -= motion.transpose() * &force;
            size += (motion.transpose() * &force).abs();
            let b = motion * &delta * (problem.kappa * most);
            worst = worst.max((force / *most + &b / (1.0 + b.norm().hypot(1.0))).norm());
        }
        if !size.is_empty() {
            worst = worst.max(balance.amax() / size.amax().max(f64::MIN_POSITIVE));
        }
        if worst.is_nan() { Err("the residual is not a number".into()) } else { Ok(worst) }
    }

    /// An error in words where a force is outside its cone by more than rounding, wherever the iteration ended.
    fn inside(&self, problem: &Problem) -> Result<(), String> {
        for (i, contact) in problem.contacts.iter().enumerate() {
            let force = Vector3::from_column_slice(&self.force[3 * i..3 * i + 3]);
            let (along, across) = scaled(contact, &force, self.torque[i], 1e-12);
            let rounding = 1e-12 / if contact.mu > 0.0 { contact.mu } else { 1.0 };
            if across.norm() > along + rounding * force.norm() {
                return Err(format!("contact {i} is outside its cone: {along:e}, {across:?}, μ {}", contact.mu));
            }
        }
        let (limits, dry) = self.limit_force.split_at(problem.limits.len());
        if limits.iter().any(|&force| force < 0.0) {
            return Err("a limit pulls".into());
        }
        let too_much = dry.iter().zip(&problem.dry).any(|(force, &(_, most))| force.abs() > most);
        let on_tables = dry[problem.dry.len()..].chunks(3).zip(&problem.tables);
        let beyond = on_tables.into_iter().any(|(f, (most, _))| f[0].hypot(f[1]).hypot(f[2]) > *most);
        if too_much || beyond { Err("dry friction beyond its largest force".into()) } else { Ok(()) }
    }

    /// Is the status true?
    pub fn check(&self, problem: &Problem) -> Result<f64, String> {
        match self.report.status {
            Status::Solved | Status::Unsettled | Status::Frictionless => {
                let law = if self.report.status == Status::Solved { self.friction } else { Friction::Relaxed };
                let residual = self.residual(problem, law)?;
                if residual > RESIDUAL {
                    return Err(format!("{:?} with a residual of {residual:e}", self.report.status));
                }
                Ok(residual)
            }
            Status::IterationLimit => self.inside(problem).map(|()| 0.0),
            Status::Infeasible | Status::BadInput => {
                let moved =
                    self.delta.iter().chain(self.force).chain(self.torque).chain(self.limit_force).any(|&x| x != 0.0);
                if moved { Err("moves although it has no answer".into()) } else { Ok(0.0) }
            }
        }
    }
}

/// η of a force and a torque: along the normal, and across it. What has no coefficient has no more than this part of
/// the force.
fn scaled(contact: &Contact, force: &Vector3<f64>, torque: f64, rounding: f64) -> (f64, Vector4<f64>) {
    let along = force.dot(&contact.normal);
    let across = force - contact.normal * along;
    let per = |x: f64, by: f64, least: f64| match by > 0.0 {
        true => x / by,
        false if x.abs() <= least => 0.0,
        false => f64::INFINITY,
    };
    let slides = across.map(|x| per(x, contact.mu, rounding * force.norm()));
    (along, Vector4::new(slides.x, slides.y, slides.z, per(torque, contact.gamma, 0.0)))
}

/// A body of stiffness 1 pressed onto a plane and along it, in closed form for a slack in the plane's frame: what the
/// judge says of it where it is off by this much.
fn judged(turn: &Rotation3<f64>, mu: f64, kappa: f64, slack: &Vector3<f64>, off: f64) -> Result<f64, String> {
    let rho = (slack.z - mu * slack.x) * (slack.z + mu * slack.x);
    let force = turn * (Vector3::new(-mu * mu * slack.x, 0.0, slack.z) * (2.0 / (kappa * rho)));
    let delta = turn * Vector3::new(slack.x + off, 1.0, slack.z - 1.0);
    let delta = DVector::from_column_slice(delta.as_slice());
    let across = Matrix3::from_diagonal(&Vector3::new(1.0, 0.0, 1.0));
    let contact = Contact {
        normal: turn * Vector3::z(),
        point_a: Vector3::zeros(),
        point_b: Vector3::zeros(),
        phi: 1.0,
        mu,
        // A metre aside does not count.
        jacobian: DMatrix::from_column_slice(3, 3, (turn.matrix() * across * turn.matrix().transpose()).as_slice()),
        levers: DVector::from_element(3, 1.0),
        part: 1.0,
        gamma: 0.0,
        turn: DVector::zeros(3),
        turns: false,
    };
    let p = DMatrix::identity(3, 3);
    let g = DVector::from_column_slice(force.as_slice()) - &p * &delta;
    let problem = Problem {
        p,
        g,
        contacts: vec![contact],
        limits: Vec::new(),
        dry: Vec::new(),
        tables: Vec::new(),
        kappa,
        impratio: 1.0,
    };
    let report = Report { status: Status::Solved, iterations: 1, residual: 0.0, slip_gap: 0.0 };
    let answer = Answer {
        delta: delta.as_slice(),
        force: force.as_slice(),
        torque: &[0.0],
        limit_force: &[],
        weight: &[1.0],
        report,
        friction: Friction::Relaxed,
    };
    answer.check(&problem)
}

/// A slack that is off by what rounding makes of a metre is right, whatever the friction is: μ ν_t has μ times the
/// rounding of ν_t. One that is off by a thousand times that is not.
#[test]
fn rounding_of_a_slip_is_told_from_an_error() {
    for mu in [0.3_f64, 1.0, 6.5, 100.0] {
        let slack = Vector3::new(1e-9, 0.0, 3e-9 * mu.max(1.0));
        for (off, right) in [(0.0, true), (1e-14, true), (-1e-14, true), (3e-11, false)] {
            let found = judged(&Rotation3::identity(), mu, 1e6, &slack, off);
            assert_eq!(found.is_ok(), right, "μ {mu}, off by {off:e}: {found:?}");
        }
    }
}

/// What slides at this part of ν_n from the cone's boundary, over a plane that leans: the force's components are
/// rounded, and what is off by a thousand times what that makes of the slack is not right.
#[test]
fn rounding_of_a_force_is_told_from_an_error() {
    for k in 0..1000 {
        let turn = Rotation3::from_euler_angles(0.7 + 1e-3 * f64::from(k), 0.4, 1.1);
        for (mu, width) in [(1e-3, 1e-8), (1e-2, 1e-8), (0.3, 1e-8), (0.3, 1e-6), (2.0, 1e-6)] {
            let slack = Vector3::new(1e-3 * (1.0 - width) / mu, 0.0, 1e-3);
            let found = judged(&turn, mu, 4e5, &slack, 0.0);
            assert!(found.is_ok(), "μ {mu}, {width:e}: {found:?}");
            let off = 1e3 * (1e-13 + ROUNDING / mu) / width * slack.x;
            let found = judged(&turn, mu, 4e5, &slack, off);
            assert!(found.is_err(), "μ {mu}, {width:e}: {found:?}");
        }
    }
}
