//! The second-order step in the fused form: P and g from mass, damping and forces, the bound l, and the next velocity.
//!
//! ```text
//! P = M/h² + D/h + S        g = −(M v/h + S (r − q) + τ − b)        −h l in place of φ        v₊ = δ/h
//! ```
//!
//! S stands for the joints' springs and the connections.
//! The command's place is taken by v and τ, side by side. Kinematics have a frame on each body with mass behind those of the
//! shapes, so that the dynamics walk the same poses and screws as the contacts. Everything else, from contacts to forces, is the
//! quasi-dynamic step's own.

mod assembly;
mod stages;
mod vjp;

use std::ops::Range;
use std::sync::Arc;

use candle_core::{DType, Result};

use super::super::bound::Bound;
use super::super::connection::ConnectionTables;
use super::super::limits::LimitTables;
use super::super::operands::ContactTables;
use super::super::problem::ProblemTables;
use super::inertial::{Body, Extra, ExtraGradients, JointForces, SecondOrder};
use super::memory::Places;
use super::paths::Paths;
use super::plan::Plan;
use crate::dynamics::{Dynamics, INERTIA, MassAndBias, MassGradients, MassNumbers, State};
use crate::kinematics::{FrameSpec, FrameTables, POSE};
use crate::model::Model;
use crate::solve::Structure;
use fingertip_lanes::program::Group;

pub(in super::super) use assembly::{Assembly, CONTACT};
use stages::{Finish, Problem, SetUp};
use vjp::{PullFinish, PullParameters, PullProblem};

/// The second-order step's own inputs to a [`Plan`]: dynamics, joint forces, bound, stiction speed and P's entries.
pub(in super::super) struct Choices<'a> {
    pub(in super::super) dynamics: &'a Dynamics,
    pub(in super::super) joints: JointForces,
    pub(in super::super) bound: Bound,
    pub(in super::super) stiction_speed: f64,
    /// The entries of P as degrees of freedom, the diagonal first.
    pub(in super::super) entries: &'a [(usize, usize)],
    /// Springs between points of links; their own entries of P are behind those.
    pub(in super::super) connections: ConnectionTables,
}

impl Plan {
    /// The plan of a model's second-order step.
    pub(in super::super) fn second_order(
        model: &Model,
        structure: &Arc<Structure>,
        limits: &Arc<LimitTables>,
        choices: Choices,
    ) -> Result<Self> {
        let Choices { dynamics, joints, bound, stiction_speed, entries, connections } = choices;
        let (tree, links) = (&model.tree, dynamics.links());
        let (contacts, problem) = (ContactTables::new(model), Arc::new(ProblemTables::nothing(model, limits)?));
        let plan = Self::new(model, structure, &contacts, &problem)?;
        let shapes = model.shapes.iter().map(|shape| shape.frame());
        let bodies = dynamics.bodies().iter().map(|&body| FrameSpec::of_body(body));
        let frames = shapes.chain(FrameSpec::of_connections(tree)).chain(bodies);
        let frames = Arc::new(FrameTables::new(tree, &frames.collect::<Vec<_>>()));

        let extra = Extra { offsets: frames.n_offsets(), momentum: tree.nv, force: tree.nv };
        let extra_gradients = ExtraGradients { offsets: frames.n_offsets(), momentum: tree.nv };
        let (numbers, gradients) = (MassNumbers::sizes(links), MassGradients::sizes(links));
        let sizes = [
            numbers.clone().from(extra.clone().from(0).end()).end(),
            gradients.clone().from(extra_gradients.clone().from(0).end()).end(),
        ];
        let n = [tree.nq, 2 * tree.nv];
        let mut places =
            Places::new(n, structure, &frames, &plan.pairs, &contacts, (&problem, &plan.rolling), Some(sizes));
        let at = extra.from(places.numbers.extra.start);
        let mass_at = numbers.from(at.end());
        let to = extra_gradients.from(places.gradients.extra.start);
        let mass_to = gradients.from(to.end());
        places.frames.offsets = at.offsets.clone();
        places.frame_gradients.offsets = to.offsets.clone();

        let first = |of: &Range<usize>, n: usize| of.start..of.start + n;
        let behind_shapes = |of: &Range<usize>| of.start + POSE * model.n_front_frames()..of.end;
        let (v, grad_v) = (first(&places.numbers.u, tree.nv), first(&places.gradients.u, tree.nv));
        let [placed, grad_placed] = [&places.numbers.kin, &places.gradients.kin].map(behind_shapes);
        let state = State { placed: &placed, v: &v };
        let mass = MassAndBias::new(links, (&mass_at, state), (&mass_to, State { placed: &grad_placed, v: &grad_v }));

        let own = model.parameters.packed()?.to_dtype(DType::F64)?.to_device(&candle_core::Device::Cpu)?;
        let described = dynamics.described(tree);
        let body = |(body, numbers): (&usize, [f64; INERTIA])| {
            let place = model.inertial.iter().position(|other| other == body);
            place.map_or(Body::Described(numbers), Body::Parameters)
        };
        let second_order = SecondOrder {
            n_offsets: 3 * (tree.bodies.len() + model.n_front_frames()),
            own: own.narrow(0, 0, 1)?.flatten_all()?.to_vec1()?,
            bodies: dynamics.bodies().iter().zip(described).map(body).collect(),
            entries: entries.iter().map(|&(i, j)| (i, j, mass.entry(i, j))).collect(),
            limits: limits.clone(),
            mass,
            at,
            mass_at,
            to,
            mass_to,
            joints,
            connections,
            bound,
            stiction_speed,
        };
        Ok(Self {
            nu: 2 * tree.nv,
            paths: Paths::new(model, structure, &plan.pairs.pairs, &problem, places.solve.work.end()),
            frames,
            places,
            second_order: Some(Arc::new(second_order)),
            ..plan
        })
    }

    /// Runs the stage of a second-order step that comes before the kinematics: see [`SetUp`].
    pub(super) fn set_up_second_order(&self, group: &mut Group) {
        if let Some(of) = self.of_second_order() {
            group.run_in_either(&SetUp(of));
        }
    }

    /// Assembles the problem of a second-order step from frames and contacts. False if the plan is of a quasi-dynamic step.
    pub(super) fn assemble_second_order(&self, group: &mut Group) -> bool {
        let Some(of) = self.of_second_order() else { return false };
        of.more.mass.run(group);
        group.run_in_either(&Problem(of));
        true
    }

    /// Computes v₊ from δ, and replaces the results of worlds that cannot be used or have no solution.
    pub(super) fn finish_second_order(&self, group: &mut Group) {
        if let Some(of) = self.of_second_order() {
            group.run_in_either(&Finish(of));
        }
    }

    /// The adjoint of [`Plan::finish_second_order`].
    pub(super) fn vjp_finish_second_order(&self, group: &mut Group) {
        if let Some(of) = self.of_second_order() {
            group.run(&PullFinish(of));
        }
    }

    /// The adjoint of [`Plan::assemble_second_order`]. False if the plan is of a quasi-dynamic step.
    pub(super) fn vjp_second_order(&self, group: &mut Group) -> bool {
        let Some(of) = self.of_second_order() else { return false };
        group.run(&PullProblem(of));
        of.more.mass.vjp(group);
        true
    }

    /// The adjoint of [`Plan::set_up_second_order`].
    pub(super) fn vjp_set_up_second_order(&self, group: &mut Group) {
        if let Some(of) = self.of_second_order() {
            group.run(&PullParameters(of));
        }
    }
}
