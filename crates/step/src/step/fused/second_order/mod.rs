//! The second-order step in the fused form: P and g from mass, damping and forces, the bound l, and the next velocity.
//!
//! ```text
//! P = M/h² + D/h + S        g = −(M v/h + S (r − q) + τ − b)        −h l in place of φ        v₊ = δ/h
//! ```
//!
//! S stands for the joints' springs and the connections. The command's place is taken by v and τ, side by side.
//! Kinematics have a frame on each body with mass behind those of the shapes, so that the dynamics walk the same poses
//! and screws as the contacts. Everything else, from contacts to forces, is the quasi-dynamic step's own.

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
use super::plan::{Equations, Plan};
use super::statics::Statics;
use crate::dynamics::{Dynamics, INERTIA, MassAndBias, MassGradients, MassNumbers, State};
use crate::kinematics::{FrameSpec, FrameTables, POSE};
use crate::model::Model;
use crate::solve::Structure;
use fingertip_lanes::program::Group;
use fingertip_lanes::record::Row;

pub(in super::super) use assembly::{Assembly, CONTACT};
use stages::{Finish, Of, Problem, SetUp};
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

/// The plan of a model's second-order step, and its own tables.
pub(in super::super) fn second_order(
    model: &Model,
    structure: &Arc<Structure>,
    limits: &Arc<LimitTables>,
    choices: Choices,
) -> Result<(Plan, Arc<SecondOrder>)> {
    let Choices { dynamics, joints, bound, stiction_speed, entries, connections } = choices;
    let (tree, links) = (&model.tree, dynamics.links());
    let (contacts, problem) = (ContactTables::new(model), Arc::new(ProblemTables::nothing(model, limits)?));
    let plan = Plan::new(model, structure, &contacts, &problem, Arc::new(Statics))?;
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
    let mut places = Places::new(n, structure, &frames, &plan.pairs, &contacts, (&problem, &plan.rolling), Some(sizes));
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
    let margin = bound.margin();
    let second_order = Arc::new(SecondOrder {
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
    });
    let plan = Plan {
        nu: 2 * tree.nv,
        paths: Paths::new(model, structure, &plan.pairs.pairs, &problem, places.solve.work.end()),
        frames,
        places,
        equations: second_order.clone(),
        margin,
        ..plan
    };
    Ok((plan, second_order))
}

impl Equations for SecondOrder {
    fn inputs(&self, plan: &Plan) -> Vec<Row> {
        ["v", "tau"].map(|name| Row::new(name, plan.structure.nv)).to_vec()
    }

    fn has_single_precision(&self) -> bool {
        false
    }

    fn set_up(&self, plan: &Plan, group: &mut Group) {
        group.run_in_either(&SetUp(Of { plan, more: self }));
    }

    fn assemble(&self, plan: &Plan, group: &mut Group) {
        self.mass.run(group);
        group.run_in_either(&Problem(Of { plan, more: self }));
    }

    fn finish(&self, plan: &Plan, group: &mut Group) {
        group.run_in_either(&Finish(Of { plan, more: self }));
    }

    fn vjp_finish(&self, plan: &Plan, group: &mut Group) {
        group.run(&PullFinish(Of { plan, more: self }));
    }

    fn vjp_assemble(&self, plan: &Plan, group: &mut Group) {
        group.run(&PullProblem(Of { plan, more: self }));
        self.mass.vjp(group);
    }

    fn vjp_set_up(&self, plan: &Plan, group: &mut Group) {
        group.run(&PullParameters(Of { plan, more: self }));
    }
}
