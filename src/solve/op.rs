//! The barrier solve and its adjoint (implicit function theorem) as one differentiable tensor operation.
//!
//! With f = M η(ζ) the force on B as a function of δ and the operands θ, optimality is P δ + g = Σ Jᵀ f. For gradients
//! δ̄ and f̄, solve H y = δ̄ − Σ Jᵀ M W M f̄ with the factor of H and set e = J y + f̄ for each contact. Then
//!
//! ```text
//! ḡ = −y      P̄ = −y δᵀ (symmetric part)      J̄ = f yᵀ + d̄ δᵀ
//! d̄, n̄, φ̄, μ̄, κ̄ : the gradients of f(d, n, φ, μ, κ) for f̄ = e, d = J δ
//! ```
//!
//! and a screw of B's path, with column ω × p + m of J, takes ω̄ = p × c̄, m̄ = c̄ and gives p̄ = c̄ × ω.

use std::sync::Arc;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor, bail};

use crate::math::lane::{Lane, Real};
use crate::math::op::{Output, RowKernel, Rows, gradient, run_rows, storage, worlds};
use crate::math::vector::{add, axpy, cross, scale, sub};

use super::barrier::{self, Problem, Work, add_force, at3, put3};
use super::cone::{CONTACT, Cone};
use super::structure::Structure;

/// Numbers after δ, the forces and η: status, iterations, residual.
pub(super) const INFO: usize = 3;

/// (screws, contacts, [P | g | κ | gaps]) → [δ | f | limit forces | η | status, iterations, residual].
pub(super) struct BarrierOp {
    pub(super) structure: Arc<Structure>,
    pub(super) max_iterations: usize,
    /// Scaled forces to start from (B, 3 nc + nl).
    pub(super) warm: Option<Tensor>,
}

impl Structure {
    /// Numbers of δ and the forces: what gradients flow into.
    pub(super) fn n_results(&self) -> usize {
        self.nv + 3 * self.nc() + self.nl()
    }

    fn n_problem(&self) -> usize {
        self.np() + self.nv + 1 + self.nl()
    }

    fn n_operands(&self) -> usize {
        6 * self.ns + CONTACT * self.nc() + self.n_problem()
    }
}

struct Operands<'a> {
    screws: Rows<'a>,
    contacts: Rows<'a>,
    problem: Rows<'a>,
}

impl Operands<'_> {
    /// Fills `memory` with a lane of operands and gives them as a problem.
    #[inline(always)]
    fn load<'m, R: Lane>(&self, s: &Structure, first: usize, memory: &'m mut [R]) -> Problem<'m, R> {
        let (screws, rest) = memory.split_at_mut(6 * s.ns);
        let (contacts, rest) = rest.split_at_mut(CONTACT * s.nc());
        let (p, rest) = rest.split_at_mut(s.np());
        let (g, gaps) = rest.split_at_mut(s.nv);
        self.screws.load_all(first, 0, screws);
        self.contacts.load_all(first, 0, contacts);
        self.problem.load_all(first, 0, p);
        for (dof, &place) in s.place.iter().enumerate() {
            g[place] = self.problem.load(first, s.np() + dof);
        }
        let kappa = self.problem.load(first, s.np() + s.nv);
        self.problem.load_all(first, s.np() + s.nv + 1, gaps);
        Problem { screws, contacts, p, g, kappa, gaps }
    }
}

struct Forward<'a> {
    structure: &'a Structure,
    max_iterations: usize,
    operands: Operands<'a>,
    warm: Option<Rows<'static>>,
}

impl RowKernel for Forward<'_> {
    fn scratch(&self) -> usize {
        let s = self.structure;
        s.n_operands() + Work::<crate::math::lane::Single<false>>::size(s) + 3 * s.nc() + s.nl()
    }

    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, scratch: &mut [R], out: &mut Output) {
        let s = self.structure;
        let (operands, rest) = scratch.split_at_mut(s.n_operands() - 1);
        let problem = self.operands.load(s, first, operands);
        let (mut work, rest) = Work::new(s, rest);
        let n = 3 * s.nc() + s.nl();
        let warm = self.warm.as_ref().map(
            #[inline(always)]
            |rows| {
                rows.load_all(first, 0, &mut rest[..n]);
                &rest[..n]
            },
        );
        let outcome = barrier::solve(s, &problem, self.max_iterations, warm, &mut work);
        for (dof, &place) in s.place.iter().enumerate() {
            out.store(first, dof, work.delta[place]);
        }
        let mut at = s.nv;
        for i in 0..s.nc() {
            let force = Cone::read(problem.contacts, i).scaled(at3(work.eta, i));
            out.store_all(first, at, &force);
            at += 3;
        }
        out.store_all(first, at, &work.eta[3 * s.nc()..]);
        at += s.nl();
        out.store_all(first, at, work.eta);
        at += n;
        out.store_all(first, at, &[outcome.status, outcome.iterations, outcome.residual]);
    }
}

struct Backward<'a> {
    structure: &'a Structure,
    operands: Operands<'a>,
    result: Rows<'a>,
    grad: Rows<'a>,
}

impl RowKernel for Backward<'_> {
    fn scratch(&self) -> usize {
        let s = self.structure;
        2 * s.n_operands() - 1 + Work::<crate::math::lane::Single<false>>::size(s) + s.nv
    }

    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, scratch: &mut [R], out: &mut Output) {
        let s = self.structure;
        let (operands, rest) = scratch.split_at_mut(s.n_operands() - 1);
        let problem = self.operands.load(s, first, operands);
        let (work, rest) = Work::new(s, rest);
        let (y, grads) = rest.split_at_mut(s.nv);
        let (grad_screws, rest) = grads.split_at_mut(6 * s.ns);
        let (grad_contacts, grad_problem) = rest.split_at_mut(CONTACT * s.nc());
        let forces = s.nv;
        let limit_forces = forces + 3 * s.nc();
        let status: R = self.result.load(first, s.n_results() + work.eta.len());
        let keep = status.lt(R::splat(barrier::Status::Infeasible.code()));
        for (dof, &place) in s.place.iter().enumerate() {
            work.delta[place] = self.result.load(first, dof);
            y[place] = self.grad.load(first, dof);
        }
        self.result.load_all(first, s.n_results(), work.eta);
        barrier::columns(s, &problem, work.columns);
        barrier::fill_h(s, &problem, problem.kappa, work.columns, work.eta, work.h);
        s.factor_h.factor(work.h);
        for i in 0..s.nc() {
            let cone = Cone::read(problem.contacts, i);
            let eta = at3(work.eta, i);
            let given = [0, 1, 2].map(
                #[inline(always)]
                |k| self.grad.load(first, forces + 3 * i + k),
            );
            let weighed = cone.weigh(cone.kappa(problem.kappa), eta, cone.rho(eta), cone.scaled(given));
            add_force(s, work.columns, i, scale(-R::one(), weighed), y);
        }
        for (l, &(dof, sign)) in s.limits.iter().enumerate() {
            let eta = work.eta[3 * s.nc() + l];
            let given: R = self.grad.load(first, limit_forces + l);
            y[dof] -= (problem.kappa * eta * eta * given).scale(0.5 * sign);
        }
        s.factor_h.solve(work.h, y);
        for value in y.iter_mut() {
            *value = R::select(keep, *value, R::zero());
        }

        grad_screws.fill(R::zero());
        let mut grad_kappa = R::zero();
        for i in 0..s.nc() {
            let cone = Cone::read(problem.contacts, i);
            let (own, eta) = (cone.kappa(problem.kappa), at3(work.eta, i));
            // d = J δ and e = J y + f̄ with the plain columns.
            let given = [0, 1, 2].map(
                #[inline(always)]
                |k| R::select(keep, self.grad.load(first, forces + 3 * i + k), R::zero()),
            );
            let mut d = [R::zero(); 3];
            let mut e = given;
            for &(screw, slot, b) in &s.contacts[i].columns {
                let dof = s.contacts[i].dofs[slot];
                let velocity = self.velocity(&problem, &cone, screw, b);
                d = axpy(work.delta[dof], velocity, d);
                e = axpy(y[dof], velocity, e);
            }
            let pull = cone.pull(own, eta, d, e);
            let force = cone.scaled(eta);
            let mut grad_points = [[R::zero(); 3]; 2];
            for &(screw, slot, b) in &s.contacts[i].columns {
                let dof = s.contacts[i].dofs[slot];
                let column = axpy(y[dof], force, scale(work.delta[dof], pull.d));
                let column = if b { column } else { scale(-R::one(), column) };
                let point = if b { cone.point_b } else { cone.point_a };
                let omega = at3(problem.screws, 2 * screw);
                put3(grad_screws, 2 * screw, add(at3(grad_screws, 2 * screw), cross(point, column)));
                put3(grad_screws, 2 * screw + 1, add(at3(grad_screws, 2 * screw + 1), column));
                let side = &mut grad_points[usize::from(b)];
                *side = add(*side, cross(column, omega));
            }
            let there = cone.weight.gt(R::zero());
            let inverse = R::select(there, R::one() / R::select(there, cone.weight, R::one()), R::zero());
            grad_kappa += pull.kappa * inverse;
            let to = &mut grad_contacts[CONTACT * i..CONTACT * (i + 1)];
            put3(to, 0, pull.n);
            put3(to, 1, grad_points[0]);
            put3(to, 2, grad_points[1]);
            to[9] = pull.phi;
            to[10] = pull.mu;
            to[11] = -(pull.kappa * own * inverse);
        }

        let (grad_p, rest) = grad_problem.split_at_mut(s.np());
        for (entry, grad) in s.entries.iter().zip(grad_p) {
            let product = y[entry.row] * work.delta[entry.column];
            *grad =
                if entry.row == entry.column { -product } else { -product - y[entry.column] * work.delta[entry.row] };
        }
        for (dof, &place) in s.place.iter().enumerate() {
            rest[dof] = -y[place];
        }
        for (l, &(dof, sign)) in s.limits.iter().enumerate() {
            let eta = work.eta[3 * s.nc() + l];
            let given = R::select(keep, self.grad.load(first, limit_forces + l), R::zero());
            let e = y[dof].scale(sign) + given;
            rest[s.nv + 1 + l] = -(problem.kappa * eta * eta * e).scale(0.5);
            grad_kappa -= e * eta / problem.kappa;
        }
        rest[s.nv] = R::select(keep, grad_kappa, R::zero());
        // Worlds without a solution have no gradient; their other numbers may be NaN.
        let grads = [grad_screws, grad_contacts, grad_problem];
        let mut at = 0;
        for block in grads {
            for value in block.iter() {
                out.store(first, at, R::select(keep, *value, R::zero()));
                at += 1;
            }
        }
    }
}

impl Backward<'_> {
    /// A screw's velocity at its side's witness point, negative for A.
    #[inline(always)]
    fn velocity<R: Real>(&self, problem: &Problem<R>, cone: &Cone<R>, screw: usize, b: bool) -> [R; 3] {
        let (omega, m) = (at3(problem.screws, 2 * screw), at3(problem.screws, 2 * screw + 1));
        let velocity = add(m, cross(omega, if b { cone.point_b } else { cone.point_a }));
        if b { velocity } else { sub([R::zero(); 3], velocity) }
    }
}

impl BarrierOp {
    fn check(&self, operands: &Operands) -> Result<usize> {
        let s = &self.structure;
        let found = (operands.screws.width(), operands.contacts.width(), operands.problem.width());
        let expected = (6 * s.ns, CONTACT * s.nc(), s.n_problem());
        if found != expected {
            bail!("barrier solve: expected operands of width {expected:?}, got {found:?}");
        }
        worlds("barrier solve", &[&operands.screws, &operands.contacts, &operands.problem])
    }
}

impl CustomOp3 for BarrierOp {
    fn name(&self) -> &'static str {
        "barrier-solve"
    }

    fn cpu_fwd(
        &self,
        screws: &CpuStorage,
        l1: &Layout,
        contacts: &CpuStorage,
        l2: &Layout,
        problem: &CpuStorage,
        l3: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let s = &*self.structure;
        let dtype = screws.dtype();
        let operands = Operands {
            screws: Rows::from_storage(screws, l1)?,
            contacts: Rows::from_storage(contacts, l2)?,
            problem: Rows::from_storage(problem, l3)?,
        };
        let b = self.check(&operands)?;
        let n = s.n_results() + 3 * s.nc() + s.nl() + INFO;
        let warm = self.warm.as_ref().map(Rows::from_tensor).transpose()?;
        if let Some(warm) = &warm
            && (warm.width() != 3 * s.nc() + s.nl() || (warm.rows() != b && warm.rows() != 1))
        {
            bail!("warm start: expected forces (1 or {b}, {}), got {:?}", 3 * s.nc() + s.nl(), self.warm);
        }
        let kernel = Forward { structure: s, max_iterations: self.max_iterations, operands, warm };
        Ok((storage(run_rows(&kernel, b, n), dtype)?, Shape::from((b, n))))
    }

    fn bwd(
        &self,
        screws: &Tensor,
        contacts: &Tensor,
        problem: &Tensor,
        result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let s = &*self.structure;
        let (b, dtype) = (grad.dim(0)?, grad.dtype());
        let operands = Operands {
            screws: Rows::from_tensor(screws)?,
            contacts: Rows::from_tensor(contacts)?,
            problem: Rows::from_tensor(problem)?,
        };
        let rows = [operands.screws.rows(), operands.contacts.rows(), operands.problem.rows()];
        let widths = [operands.screws.width(), operands.contacts.width(), operands.problem.width()];
        let kernel =
            Backward { structure: s, operands, result: Rows::from_tensor(result)?, grad: Rows::from_tensor(grad)? };
        let width = widths.iter().sum();
        let data = run_rows(&kernel, b, width);
        let mut at = 0;
        let mut grads = [None, None, None];
        for (k, operand) in [screws, contacts, problem].into_iter().enumerate() {
            if operand.track_op() {
                grads[k] = Some(gradient(&data, width, at..at + widths[k], rows[k], dtype)?);
            }
            at += widths[k];
        }
        let [a, b, c] = grads;
        Ok((a, b, c))
    }
}

/// −H⁻¹ Σ Jᵀf at a solution: see [`super::smoothing_error`].
struct Smoothing<'a> {
    structure: &'a Structure,
    operands: Operands<'a>,
    result: Rows<'a>,
}

impl RowKernel for Smoothing<'_> {
    fn scratch(&self) -> usize {
        self.structure.n_operands() + Work::<crate::math::lane::Single<false>>::size(self.structure)
    }

    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, scratch: &mut [R], out: &mut Output) {
        let s = self.structure;
        let (operands, rest) = scratch.split_at_mut(s.n_operands() - 1);
        let problem = self.operands.load(s, first, operands);
        let (work, _) = Work::new(s, rest);
        self.result.load_all(first, 0, work.eta);
        barrier::columns(s, &problem, work.columns);
        barrier::fill_h(s, &problem, problem.kappa, work.columns, work.eta, work.h);
        s.factor_h.factor(work.h);
        work.delta.fill(R::zero());
        for i in 0..s.nc() {
            add_force(s, work.columns, i, scale(-R::one(), at3(work.eta, i)), work.delta);
        }
        for (l, &(dof, sign)) in s.limits.iter().enumerate() {
            work.delta[dof] -= work.eta[3 * s.nc() + l].scale(sign);
        }
        s.factor_h.solve(work.h, work.delta);
        for (dof, &place) in s.place.iter().enumerate() {
            out.store(first, dof, work.delta[place]);
        }
    }
}

/// See [`super::smoothing_error`].
pub(super) fn smoothing_error(structure: &Structure, operands: [&Tensor; 3], warm: &Tensor) -> Result<Tensor> {
    let [screws, contacts, problem] = operands;
    let dtype = screws.dtype();
    let operands = Operands {
        screws: Rows::from_tensor(screws)?,
        contacts: Rows::from_tensor(contacts)?,
        problem: Rows::from_tensor(problem)?,
    };
    let (b, n) = (warm.dim(0)?, structure.nv);
    let data = run_rows(&Smoothing { structure, operands, result: Rows::from_tensor(warm)? }, b, n);
    Tensor::from_vec(data, (b, n), &candle_core::Device::Cpu)?.to_dtype(dtype)
}
