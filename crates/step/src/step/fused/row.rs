//! Layout of the result rows of steps and rollouts. All code that writes or reads these rows asks here.

use std::ops::Range;

use fingertip_lanes::lane::{Packed, Real, Single};
use fingertip_lanes::layout;
use fingertip_lanes::record::Row;

use crate::contact::lanes;
use crate::solve::INFO;

use super::memory::GEOMETRY;
use super::plan::Plan;

layout! {
    /// The parts of a step's row. Gradients flow into those before `warm`.
    pub(in super::super) struct StepRow {
        /// q₊ (nq).
        q_next,
        /// δ (nv).
        delta,
        /// v₊ of a second-order step (nv), or nothing.
        v_next,
        /// Force on B of each contact (nc, 3), world axes.
        force,
        /// Torque on B about the normal of each contact that resists turning, N·m.
        torque,
        /// Forces of the joint limits (nl).
        limit_force,
        /// Normal, points on A and B and φ of each contact.
        contact,
        /// Each contact's part of its pair's barrier, or nothing where that is 1 for all.
        share,
        /// The solver's forces (n_eta).
        warm,
        /// Status, iterations, residual, slip gap.
        info,
    }
}

/// A contact's force on B, in world axes, along its normal and tangents.
pub(super) fn lambda_of(normal: &[f64], force: &[f64]) -> [f64; 3] {
    let axes = lanes::frame([normal[0], normal[1], normal[2]].map(Single::<f64, false>::splat));
    axes.map(|axis| axis[0].get(0) * force[0] + axis[1].get(0) * force[1] + axis[2].get(0) * force[2])
}

impl Plan {
    /// λ of a step's row: each force along its contact's normal and tangents, then the torques.
    pub(super) fn lambda(&self, row: &[f64]) -> Vec<f64> {
        let at = self.row();
        let (forces, torques) = (&row[at.force], &row[at.torque]);
        let mut lambda = vec![0.0; forces.len() + torques.len()];
        let (along, last) = lambda.split_at_mut(forces.len());
        let forces = along.as_chunks_mut::<3>().0.iter_mut().zip(forces.as_chunks::<3>().0).enumerate();
        for (contact, (along, force)) in forces.filter(|(_, (_, force))| **force != [0.0; 3]) {
            let n = at.contact.start + GEOMETRY * contact;
            *along = lambda_of(&row[n..n + 3], force);
        }
        last.copy_from_slice(torques);
        lambda
    }

    /// The ranges of the parts of a step's result row.
    pub(in super::super) fn row(&self) -> StepRow<Range<usize>> {
        let s = &self.structure;
        let torque = self.contacts.torsion.n_torques;
        let sizes = StepRow {
            q_next: self.nq,
            delta: s.nv,
            v_next: self.n_velocities(),
            force: self.n_forces() - torque,
            torque,
            limit_force: s.nl(),
            contact: GEOMETRY * self.nc,
            share: self.n_shares(),
            warm: s.n_eta(),
            info: INFO,
        };
        sizes.from(0)
    }

    /// Length of the part of a step's row that gradients flow into.
    pub(super) fn n_results(&self) -> usize {
        self.row().share.end
    }

    /// Length of a step's row.
    pub(super) fn n_row(&self) -> usize {
        self.row().info.end
    }

    /// The parts of a step's row that are there, by name and size.
    pub(in super::super) fn row_parts(&self) -> Vec<Row> {
        let report = ["status", "iterations", "residual", "slip_gap"];
        let optional = ["v_next", "torque", "share"];
        let row = self.row();
        let there = row.named().filter(|(name, at)| *name != "info" && (!at.is_empty() || !optional.contains(name)));
        there.map(|(name, at)| Row::new(name, at.len())).chain(report.map(|name| Row::new(name, 1))).collect()
    }

    /// The result rows of `Kernel::Hold`: states, forces for a warm start, forces and reports of steps under one
    /// command.
    pub(super) fn hold_rows(&self) -> [Row; 4] {
        let s = &self.structure;
        let parts = [("states", self.nq), ("warm_next", s.n_eta()), ("force", self.n_forces()), ("info", INFO)];
        parts.map(|(name, width)| Row { name, width, step: width })
    }

    /// The result rows of a rollout: states, forces, limit forces and reports.
    pub(in super::super) fn rollout_rows(&self) -> [Row; 4] {
        let s = &self.structure;
        let of_step = |name, width| Row { name, width, step: width };
        let states = Row { name: "states", width: 2 * self.nq, step: self.nq };
        [states, of_step("force", self.n_forces()), of_step("limit_force", s.nl()), of_step("info", INFO)]
    }
}
