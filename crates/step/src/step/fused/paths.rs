//! Kinematic paths for the step's Jacobians, as plain tables: the screws that move each side of a contact and each
//! body.

use std::sync::Arc;

use crate::kinematics::{Body, Tree};
use crate::model::Model;
use crate::solve::{ContactColumns, Structure};
use fingertip_lanes::layout;

use super::super::connection;
use super::super::problem::ProblemTables;
use super::super::strand::Strand;
use super::memory::GEOMETRY;
use crate::contact::kernels::{Method, PairKernel};

/// Columns that are solved for at once and stored side by side; a multiple of this is stored.
pub(super) const BLOCK: usize = 8;

/// A screw on the path from the world to a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathScrew {
    pub(super) screw: usize,
    /// The degree of freedom of this screw. `place` is its place in elimination order.
    pub(super) dof: usize,
    pub(super) place: usize,
    /// On paths of contacts: the slot of the screw's degree of freedom among those that move the contact.
    pub(super) slot: usize,
    /// Is the screw's degree of freedom one that no command pulls?
    pub(super) free: bool,
    /// Index in the path of the first screw that this one carries along; all later ones are carried too.
    pub(super) after: usize,
}

/// A body whose inertia or weight depends on q.
#[derive(Clone, Debug)]
pub(super) struct BodyPath {
    /// Index of the body among the inertial bodies.
    pub(super) body: usize,
    pub(super) screws: Vec<PathScrew>,
}

layout! {
    /// Working numbers of the Jacobian kernels, stored behind those of the step.
    pub(super) struct Jacobian {
        /// Seed of a vector-Jacobian product: the gradient of one number of a pair's contacts.
        seed,
        /// For each screw of a path: the twist Σ δ_j S_j by it and all screws behind it, the displacement of the step.
        sums,
        /// Rates of a convex pair's contacts by a rigid motion (twist) of one of its shapes.
        rates,
        /// Derivative of each contact's geometry by the degree of freedom of each of its slots.
        geometry,
        /// Derivative of each contact's barrier share by the degree of freedom of each slot; nothing where all shares
        /// are 1.
        share,
        /// Derivative of the force on B, and the torque, by the degree of freedom of each slot at fixed δ.
        force,
        /// Derivative of λ, and the torque, by the degree of freedom of each slot at fixed δ.
        lambda,
        /// Derivative of each contact's λ, and the torque, by δ.
        columns,
        /// −∂r/∂q, −∂r/∂u, then ∂δ/∂q, ∂δ/∂u: see [`Paths::entry`].
        x,
        /// Room for a contact's rows of derivatives by q and u before they are written, each padded to full blocks.
        rows,
    }
}

/// Paths and sparsity of the Jacobians of a model's step, as tables.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    /// For each contact the paths of A and B, which the contacts of two bodies share.
    pub(super) contacts: Vec<Arc<[Vec<PathScrew>; 2]>>,
    pub(super) bodies: Vec<BodyPath>,
    /// For each connection the paths of A and B, without what moves both as one body.
    pub(super) connections: Vec<[Vec<PathScrew>; 2]>,
    /// Rows of each block of x's columns that right-hand sides and elimination make nonzero.
    pub(super) reach: Vec<Vec<usize>>,
    /// The degree of freedom at each place in the order of elimination.
    pub(super) dofs: Vec<usize>,
    nv: usize,
    pub(super) at: Jacobian<std::ops::Range<usize>>,
}

impl Paths {
    /// The tables of a model; its step's numbers end at `start`.
    pub(super) fn new(
        model: &Model,
        s: &Structure,
        pairs: &[PairKernel],
        problem: &ProblemTables,
        start: usize,
    ) -> Self {
        let tree = &model.tree;
        let screws = Screws::new(tree);
        let path = |body: usize| screws.path(s, body);
        let mut contacts = Vec::with_capacity(s.nc());
        for alike in s.contacts.chunk_by(ContactColumns::is_like) {
            let pair = &model.pairs.pairs[model.pairs.pair_of_contact[contacts.len()]];
            let sides = [pair.a, pair.b].map(|shape| {
                let mut path = path(model.shapes[shape].body);
                for entry in &mut path {
                    entry.slot = alike[0].dofs.partition_point(|&place| place < entry.place);
                }
                path
            });
            contacts.extend(std::iter::repeat_n(Arc::new(sides), alike.len()));
        }
        // A body that only slides keeps its inertia, and the velocities that it gets.
        let turns = |path: &[PathScrew]| path.iter().any(|entry| !tree.is_slide(entry.screw));
        let bodies: Vec<_> = model
            .inertial
            .iter()
            .enumerate()
            .map(|(body, &index)| BodyPath { body, screws: path(index) })
            .filter(|path| turns(&path.screws))
            .collect();

        let connections: Vec<[Vec<PathScrew>; 2]> = connection::paths(tree)
            .zip(&tree.connections)
            .map(|(own, of)| {
                std::array::from_fn(|side| {
                    let mut path = path(of.bodies[side]);
                    let both = path.len() - own[side].len();
                    path.drain(..both);
                    path.iter_mut().for_each(|entry| entry.after -= both);
                    path
                })
            })
            .collect();

        let mut nonzero: Vec<Vec<usize>> = (0..s.nv).map(|place| vec![place]).collect();
        for alike in s.contacts.chunk_by(ContactColumns::is_like) {
            let columns = &alike[0];
            columns.dofs.iter().for_each(|&column| nonzero[column].extend(&columns.dofs));
        }
        for BodyPath { screws, .. } in &bodies {
            for column in screws {
                nonzero[column.place].extend(screws.iter().filter(|row| row.free).map(|row| row.place));
            }
        }
        for sides in &connections {
            let all: Vec<usize> = sides.iter().flatten().map(|entry| entry.place).collect();
            all.iter().for_each(|&column| nonzero[column].extend(&all));
        }
        let places = |strand: &Strand| strand.terms.iter().map(|&(dof, _, _)| s.place[dof]).collect::<Vec<_>>();
        for strand in problem.commands.iter().chain(&problem.springs).map(places) {
            strand.iter().for_each(|&column| nonzero[column].extend(&strand));
        }
        let mut dofs = vec![0; s.nv];
        s.place.iter().enumerate().for_each(|(dof, &place)| dofs[place] = dof);
        let by_q = s.place.iter().map(|&place| std::mem::take(&mut nonzero[place]));
        let columns: Vec<_> = by_q.chain(problem.commands.iter().map(places)).collect();
        let reach: Vec<_> =
            columns.chunks(BLOCK).map(|block| s.factor_h.reach(block.iter().flatten().copied())).collect();

        let lengths = contacts
            .iter()
            .map(|sides| &**sides)
            .chain(&connections)
            .flatten()
            .map(Vec::len)
            .chain(bodies.iter().map(|body| body.screws.len()));
        let n_seed = pairs.iter().map(|pair| GEOMETRY * pair.contacts).max();
        let n_rates = pairs.iter().filter_map(|pair| match &pair.method {
            Method::Formula(_) => None,
            Method::Convex(convex, _) => Some(convex.n_rates()),
        });
        let n_rates = n_rates.max();
        let sizes = Jacobian {
            seed: n_seed.unwrap_or(0),
            sums: 6 * (lengths.max().unwrap_or(0) + 1),
            rates: n_rates.unwrap_or(0),
            geometry: GEOMETRY * s.n_slots,
            share: if n_rates.is_some() { s.n_slots } else { 0 },
            force: s.dimension * s.n_slots,
            lambda: s.dimension * s.n_slots,
            columns: s.dimension * s.n_slots,
            x: s.nv * BLOCK * reach.len(),
            rows: s.dimension * BLOCK * reach.len(),
        };
        Self { contacts, bodies, connections, reach, dofs, nv: s.nv, at: sizes.from(start) }
    }

    /// Offset of an entry of x. Blocks of [`BLOCK`] columns follow each other; in a block, each row has its columns
    /// side by side. Columns are degrees of freedom, then commands; rows are in elimination order.
    #[inline(always)]
    pub(super) fn entry(&self, column: usize, row: usize) -> usize {
        (column / BLOCK * self.nv + row) * BLOCK + column % BLOCK
    }
}

/// The joint of each screw, and whether its degree of freedom is free of a command.
struct Screws<'a> {
    tree: &'a Tree,
    joint: Vec<&'a Body>,
    /// Is its degree of freedom without command?
    free: Vec<bool>,
}

impl<'a> Screws<'a> {
    fn new(tree: &'a Tree) -> Self {
        // Bodies' screws follow each other.
        let joints = tree.bodies.iter().flat_map(|body| std::iter::repeat_n(body, body.kind.nv()));
        let mut free = vec![false; tree.nv];
        tree.passive().into_iter().for_each(|dof| free[dof] = true);
        Self { tree, joint: joints.collect(), free: tree.screw_dof.iter().map(|&dof| free[dof]).collect() }
    }

    /// The path of screws from the world to a body.
    fn path(&self, s: &Structure, body: usize) -> Vec<PathScrew> {
        let entry = |(k, &screw): (usize, &usize)| {
            let joint = self.joint[screw];
            // Free rotations are about axes that stay in the parent: none carries another.
            let turns_freely = joint.kind.quaternion().is_some_and(|at| screw >= joint.screw + at);
            let after = if turns_freely { k + joint.screw + joint.kind.nv() - screw } else { k + 1 };
            let dof = self.tree.screw_dof[screw];
            PathScrew { screw, dof, place: s.place[dof], slot: 0, free: self.free[screw], after }
        };
        self.tree.path(body).iter().enumerate().map(entry).collect()
    }
}
