//! The algorithms as stages on a world's working memory.

use std::ops::Range;

use fingertip_lanes::lane::{Lane, Real, clear, copy};
use fingertip_lanes::layout::parts;
use fingertip_lanes::program::Stage;
use fingertip_lanes::rows::{Output, Rows};

use super::links::{Links, Placed};
use super::quantity::Places;
use super::rnea::Motion;
use super::{aba, crba, derivatives, energy};

/// The forest and the places of its numbers.
#[derive(Clone, Copy)]
pub(super) struct Stages<'a> {
    pub(super) links: &'a Links,
    pub(super) at: &'a Places,
}

/// The operands' rows.
pub(super) struct Operands<'a> {
    pub(super) state: Rows<'a>,
    pub(super) parameters: Rows<'a>,
    pub(super) offsets: Rows<'a>,
}

/// A view of screws, inertias and gravity in memory as a placed forest.
#[inline(always)]
pub(super) fn view<'a, R: Real>(links: &Links, placed: &'a [R], inertias: &'a [R], parameters: &[R]) -> Placed<'a, R> {
    let gravity = [parameters[0], parameters[1], parameters[2]];
    Placed { screws: &placed[links.screws_from()..], inertias, gravity }
}

/// Reads the operands.
pub(super) struct Load<'a>(pub(super) Stages<'a>, pub(super) &'a Operands<'a>);

impl Stage for Load<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], _: &mut Output) {
        let Self(Stages { links, at }, operands) = self;
        let [state, parameters, offsets] = parts(memory, [&at.state, &at.parameters, &at.frames.offsets]);
        operands.state.load_all(first, 0, state);
        operands.parameters.load_all(first, 0, parameters);
        operands.offsets.load_all(first, 0, &mut offsets[..links.n_offsets]);
        // The frames are those of the bodies themselves.
        clear(&mut offsets[links.n_offsets..]);
    }
}

/// Computes the links' inertias in the world, after the kinematics.
pub(super) struct PlaceInertias<'a>(pub(super) Stages<'a>);

impl Stage for PlaceInertias<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Stages { links, at } = self.0;
        let [parameters, placed, inertias] = parts(memory, [&at.parameters, &at.frames.result, &at.inertias]);
        links.place_inertias(placed, parameters, inertias);
    }
}

/// Inverse dynamics (RNEA) at an acceleration; τ goes to another place.
pub(super) struct InverseDynamics<'a> {
    pub(super) of: Stages<'a>,
    pub(super) a: &'a Range<usize>,
    pub(super) tau: &'a Range<usize>,
}

impl Stage for InverseDynamics<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Stages { links, at } = self.of;
        let [parameters, placed, inertias, v, a, tau, motion] =
            parts(memory, [&at.parameters, &at.frames.result, &at.inertias, &at.v, self.a, self.tau, &at.motion]);
        clear(tau);
        Motion::new(links, motion).inverse_dynamics(links, &view(links, placed, inertias, parameters), v, a, tau);
    }
}

/// Computes M in its sparsity pattern (CRBA), and the composite inertias.
pub(super) struct MassMatrix<'a>(pub(super) Stages<'a>);

impl Stage for MassMatrix<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Stages { links, at } = self.0;
        let [parameters, placed, inertias, composites, m] =
            parts(memory, [&at.parameters, &at.frames.result, &at.inertias, &at.composites, &at.m]);
        crba::packed(links, &view(links, placed, inertias, parameters), composites, m);
    }
}

/// Factors M in place.
pub(super) struct Factor<'a>(pub(super) Stages<'a>);

impl Stage for Factor<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Stages { links, at } = self.0;
        links.pattern.factor(&mut memory[at.m.clone()]);
    }
}

/// Solves with the factor of M: `to` = M⁻¹ (of − less), or M⁻¹ of.
pub(super) struct Solve<'a> {
    pub(super) stages: Stages<'a>,
    pub(super) of: &'a Range<usize>,
    pub(super) less: Option<&'a Range<usize>>,
    pub(super) to: &'a Range<usize>,
}

impl Stage for Solve<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Stages { links, at } = self.stages;
        for k in 0..links.nv {
            let of = memory[self.of.start + k];
            let less = self.less.map_or(R::zero(), |less| memory[less.start + k]);
            memory[self.to.start + k] = of - less;
        }
        let [m, to, spare] = parts(memory, [&at.m, self.to, &at.spare]);
        crba::solve(links, m, to, spare);
    }
}

/// Forward dynamics (ABA): writes a to the result.
pub(super) struct ForwardDynamics<'a>(pub(super) Stages<'a>);

impl Stage for ForwardDynamics<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Stages { links, at } = self.0;
        let [parameters, placed, inertias, v, tau, a, work] =
            parts(memory, [&at.parameters, &at.frames.result, &at.inertias, &at.v, &at.input, &at.result, &at.work]);
        aba::forward_dynamics(links, &view(links, placed, inertias, parameters), v, tau, a, work);
    }
}

/// Computes ∂τ/∂q and ∂τ/∂v, column by column.
pub(super) struct Columns<'a>(pub(super) Stages<'a>);

impl Stage for Columns<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Stages { links, at } = self.0;
        let [parameters, placed, inertias, motion, composites, by_q, by_v, work] = parts(
            memory,
            [&at.parameters, &at.frames.result, &at.inertias, &at.motion, &at.composites, &at.by_q, &at.by_v, &at.work],
        );
        let placed = view(links, placed, inertias, parameters);
        derivatives::inverse_dynamics(links, &placed, &Motion::new(links, motion), composites, [by_q, by_v], work);
    }
}

/// Multiplies both matrices of [`Columns`] by M⁻¹.
pub(super) struct SolveColumns<'a>(pub(super) Stages<'a>);

impl Stage for SolveColumns<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Stages { links, at } = self.0;
        // The two matrices are neighbours.
        let [m, columns] = parts(memory, [&at.m, &(at.by_q.start..at.by_v.end)]);
        for column in R::parts(columns.chunks_exact_mut(links.nv.max(1))) {
            links.pattern.solve(m, column);
        }
    }
}

/// Writes a vector and both matrices of [`Columns`], with a sign, to the beginning of the result.
pub(super) struct StoreColumns<'a> {
    pub(super) of: Stages<'a>,
    pub(super) vector: &'a Range<usize>,
    pub(super) sign: f64,
}

impl Stage for StoreColumns<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Stages { links, at } = self.of;
        let n = links.nv;
        let [vector, by_q, by_v, result] = parts(memory, [self.vector, &at.by_q, &at.by_v, &at.result]);
        copy(&mut result[..n], vector);
        let (to_q, to_v) = result[n..n + 2 * n * n].split_at_mut(n * n);
        for (columns, to) in [(by_q, to_q), (by_v, to_v)] {
            derivatives::store(links, columns, self.sign, to);
        }
    }
}

/// Writes M to the end of the result.
pub(super) struct StoreMassMatrix<'a>(pub(super) Stages<'a>);

impl Stage for StoreMassMatrix<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Stages { links, at } = self.0;
        let [m, result] = parts(memory, [&at.m, &at.result]);
        let from = result.len() - links.nv * links.nv;
        crba::dense(links, m, &mut result[from..]);
    }
}

/// Writes M⁻¹ to the end of the result.
pub(super) struct StoreInverse<'a>(pub(super) Stages<'a>);

impl Stage for StoreInverse<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Stages { links, at } = self.0;
        let [m, result, work] = parts(memory, [&at.m, &at.result, &at.by_q]);
        let from = result.len() - links.nv * links.nv;
        crba::inverse(links, m, &mut result[from..], work);
    }
}

/// Computes kinetic and potential energy or, if there is no v, the centre of mass.
pub(super) struct Totals<'a>(pub(super) Stages<'a>);

impl Stage for Totals<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Stages { links, at } = self.0;
        let [parameters, placed, inertias, v, result, work] =
            parts(memory, [&at.parameters, &at.frames.result, &at.inertias, &at.v, &at.result, &at.work]);
        let placed = view(links, placed, inertias, parameters);
        if v.is_empty() {
            copy(result, &energy::centre_of_mass(links, &placed));
        } else {
            copy(result, &energy::energy(links, &placed, v, work));
        }
    }
}

/// Writes the result out.
pub(super) struct Finish<'a>(pub(super) Stages<'a>);

impl Stage for Finish<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        out.store_parts(first, &memory[self.0.at.result.clone()]);
    }
}
