//! Inertia and weight of everything that no command holds, as the step's P and τ.
//!
//! For the degrees of freedom i, j without command, with the bodies b that both move, v and ω the velocity of b's centre
//! of mass and its angular velocity for a unit rate:
//!
//! ```text
//! M_ij = Σ_b m vᵢ · vⱼ + ωᵢ · I ωⱼ        τ_i = Σ_b m g · vᵢ
//! ```
//!
//! For one free body with its centre of mass at c from the frame's origin that is [[m 1, −m[c]×], [m[c]×, R I Rᵀ − m[c]×²]]
//! and (m g, c × m g). It depends on q unless nothing but translations is free.

use std::collections::HashMap;

use candle_core::{Device, Result, Tensor};

use crate::description::JointKind;
use crate::kinematics::{Frames, Tree};
use crate::math::tensor::{cross, index, position, rotate_back};
use crate::parameters::Parameters;

/// Which bodies weigh on which degrees of freedom.
#[derive(Clone, Debug)]
pub(super) struct InertiaTables {
    /// Entries (i, j), j ≤ i, of M that can be nonzero, as degrees of freedom; all diagonal ones are there.
    pub(super) entries: Vec<(usize, usize)>,
    /// The degrees of freedom without command.
    pub(super) free: Vec<usize>,
    /// (inertial body, screw, place in `free`): the screw moves the body.
    pub(super) incidences: Vec<(usize, usize, usize)>,
    /// (incidence, incidence, entry): products that add up to M's entries.
    pub(super) terms: Vec<(usize, usize, usize)>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Nothing is free.
    Nothing,
    /// Each free degree of freedom moves one body along a world axis.
    Translations {
        body: Tensor,
        axis: Tensor,
    },
    Moving(Moving),
}

/// Incidences are (body, screw) with the screw free and moving the body.
#[derive(Clone, Debug)]
struct Moving {
    n_shapes: usize,
    n_inertial: usize,
    n_entries: usize,
    n_free: usize,
    body: Tensor,
    screw: Tensor,
    /// Place of the incidence's degree of freedom in `free`.
    dof: Tensor,
    /// Terms of M: two incidences with the same body, and the entry that they add to.
    left: Tensor,
    right: Tensor,
    entry: Tensor,
    /// From six numbers to a symmetric matrix.
    matrix: Tensor,
}

impl InertiaTables {
    /// Of a step whose inertia is another: that of [`super::dynamic`].
    pub(super) fn nothing() -> Self {
        Self { entries: Vec::new(), free: Vec::new(), incidences: Vec::new(), terms: Vec::new(), kind: Kind::Nothing }
    }

    pub(super) fn new(tree: &Tree, inertial: &[usize], n_shapes: usize, device: &Device) -> Result<Self> {
        let free = tree.passive();
        let mut place = vec![None; tree.nv];
        free.iter().enumerate().for_each(|(k, &dof)| place[dof] = Some(k));
        let mut incidences = Vec::new();
        for (n, &body) in inertial.iter().enumerate() {
            for screw in tree.path(body) {
                incidences.extend(place[tree.screw_dof[screw]].map(|dof| (n, screw, dof)));
            }
        }
        let mut entries: Vec<(usize, usize)> = (0..free.len()).map(|k| (k, k)).collect();
        let mut entry_of: HashMap<(usize, usize), usize> = entries.iter().copied().zip(0..).collect();
        let mut terms = Vec::new();
        let mut first = 0;
        for body in incidences.chunk_by(|x, y| x.0 == y.0) {
            for (l, &(_, _, i)) in (first..).zip(body) {
                for (r, &(_, _, j)) in (first..).zip(body).filter(|(_, other)| other.2 <= i) {
                    let entry = *entry_of.entry((i, j)).or_insert_with(|| {
                        entries.push((i, j));
                        entries.len() - 1
                    });
                    terms.push((l, r, entry));
                }
            }
            first += body.len();
        }
        let translations = tree
            .coordinates
            .iter()
            .filter(|c| c.u.is_none())
            .all(|c| c.kind == JointKind::Translation && tree.bodies[c.body].parent == 0)
            && incidences.len() == free.len();
        let of = |values: Vec<usize>| index(values.into_iter(), device);
        let kind = if free.is_empty() {
            Kind::Nothing
        } else if translations {
            // Of a body that does not turn the axes do not couple.
            entries.truncate(free.len());
            terms.retain(|term| term.0 == term.1);
            let axis = of((0..free.len()).map(|k| k % 3).collect())?;
            Kind::Translations { body: of(incidences.iter().map(|i| i.0).collect())?, axis }
        } else {
            Kind::Moving(Moving {
                n_shapes,
                n_inertial: inertial.len(),
                n_entries: entries.len(),
                n_free: free.len(),
                body: of(incidences.iter().map(|i| i.0).collect())?,
                screw: of(incidences.iter().map(|i| i.1).collect())?,
                dof: of(incidences.iter().map(|i| i.2).collect())?,
                left: of(terms.iter().map(|t| t.0).collect())?,
                right: of(terms.iter().map(|t| t.1).collect())?,
                entry: of(terms.iter().map(|t| t.2).collect())?,
                matrix: of(vec![0, 3, 4, 3, 1, 5, 4, 5, 2])?,
            })
        };
        let entries = entries.into_iter().map(|(i, j)| (free[i], free[j])).collect();
        Ok(Self { entries, free, incidences, terms, kind })
    }

    /// M's entries (1 or B, n_entries) and gravity's τ (1 or B, n_free) where they do not depend on q.
    pub(super) fn constant(&self, parameters: &Parameters) -> Result<Option<(Tensor, Tensor)>> {
        let (mass, gravity) = (&parameters.mass, &parameters.gravity);
        match &self.kind {
            Kind::Nothing => Ok(Some((mass.narrow(1, 0, 0)?, mass.narrow(1, 0, 0)?))),
            Kind::Translations { body, axis } => {
                let mass = mass.contiguous()?.index_select(body, 1)?;
                let weight = mass.broadcast_mul(&gravity.contiguous()?.index_select(axis, 1)?)?;
                Ok(Some((mass, weight)))
            }
            Kind::Moving(_) => Ok(None),
        }
    }

    /// M's entries (B, n_entries) and gravity's τ (B, n_free) at a configuration.
    pub(super) fn at(&self, parameters: &Parameters, frames: &Frames) -> Result<(Tensor, Tensor)> {
        if let Some(constant) = self.constant(parameters)? {
            return Ok(constant);
        }
        let Kind::Moving(t) = &self.kind else { candle_core::bail!("inertia: no free degree of freedom") };
        let b = frames.poses.dim(0)?;
        let poses = frames.poses.narrow(1, t.n_shapes, t.n_inertial)?.contiguous()?.index_select(&t.body, 1)?;
        let screws = frames.screws.contiguous()?.reshape((b, (), 6))?.index_select(&t.screw, 1)?;
        let (omega, m) = (screws.narrow(2, 0, 3)?, screws.narrow(2, 3, 3)?);
        let velocity = (m + cross(&omega, &position(&poses)?)?)?;
        let turning = rotate_back(&poses, &omega)?;

        let mass = parameters.mass.contiguous()?.index_select(&t.body, 1)?.unsqueeze(2)?;
        let inertia = parameters.inertia.reshape(((), t.n_inertial, 6))?.index_select(&t.matrix, 2)?;
        let inertia = inertia.index_select(&t.body, 1)?.reshape(((), t.body.dim(0)?, 3, 3))?;
        let momentum = velocity.broadcast_mul(&mass)?;
        let spin = inertia.broadcast_mul(&turning.unsqueeze(2)?)?.sum(3)?;

        let rates = Tensor::cat(&[velocity, turning], 2)?.index_select(&t.left, 1)?;
        let momenta = Tensor::cat(&[&momentum, &spin], 2)?.index_select(&t.right, 1)?;
        let terms = (rates * momenta)?.sum(2)?;
        let zeros = |n: usize| Tensor::zeros((b, n), terms.dtype(), terms.device());
        let entries = zeros(t.n_entries)?.index_add(&t.entry, &terms, 1)?;
        let weights = momentum.broadcast_mul(&parameters.gravity.unsqueeze(1)?)?.sum(2)?;
        let weight = zeros(t.n_free)?.index_add(&t.dof, &weights, 1)?;
        Ok((entries, weight))
    }
}
