//! The contacts of all pairs of a scene, as tensors.

use candle_core::{Result, Tensor};

use super::numbers::GEOMETRY;
use crate::tensor::{beside, part};

/// All contacts, in the order of [`PairTable::pair_of_contact`](super::PairTable::pair_of_contact). Differentiable.
#[derive(Clone, Debug)]
pub struct Contacts {
    /// Witness point on A in the world (B, nc, 3), m.
    pub point_a: Tensor,
    /// Witness point on B in the world (B, nc, 3), m; `point_b − point_a = phi · normal`, except for contacts without
    /// weight.
    pub point_b: Tensor,
    /// Unit normal from A to B (B, nc, 3).
    pub normal: Tensor,
    /// Signed distance (B, nc), m. Positive for separate bodies.
    pub phi: Tensor,
    /// The factor of each contact's barrier (B, nc), see `docs/contact_points.md`. `None` if all are 1.
    pub weight: Option<Tensor>,
}

impl Contacts {
    /// Applies a function to each of the tensors.
    pub(crate) fn map(&self, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Self> {
        Ok(Self {
            point_a: f(&self.point_a)?,
            point_b: f(&self.point_b)?,
            normal: f(&self.normal)?,
            phi: f(&self.phi)?,
            weight: self.weight.as_ref().map(f).transpose()?,
        })
    }

    /// Packs the contacts' geometry into rows (B, 10 nc): normal, points on A and B, and the given gap (B, nc) of each
    /// contact.
    pub(crate) fn geometry(&self, gap: &Tensor) -> Result<Tensor> {
        beside(&[&self.normal, &self.point_a, &self.point_b, &gap.unsqueeze(2)?], 2)?.flatten_from(1)
    }

    /// Unpacks the contacts from rows (B, ·): normal, points on A and B and φ of each of n contacts, then their weights
    /// if the rows have any.
    pub(crate) fn of_row(row: &Tensor, n: usize) -> Result<Self> {
        let (worlds, width) = row.dims2()?;
        let geometry = part(row, 1, 0, GEOMETRY * n)?.reshape((worlds, n, GEOMETRY))?;
        Ok(Self {
            normal: part(&geometry, 2, 0, 3)?,
            point_a: part(&geometry, 2, 3, 3)?,
            point_b: part(&geometry, 2, 6, 3)?,
            phi: part(&geometry, 2, 9, 1)?.squeeze(2)?,
            weight: (width > GEOMETRY * n).then(|| part(row, 1, GEOMETRY * n, n)).transpose()?,
        })
    }
}
