//! Contacts of all pairs at a configuration.

use candle_core::{Device, Result, Tensor};

use super::pair::Shapes;
use super::table::{Group, PairTable};
use crate::math::tensor::part;

/// All contacts, in the order of [`PairTable::pair_of_contact`]. Differentiable.
#[derive(Clone, Debug)]
pub struct Contacts {
    /// Witness point on A in the world (B, nc, 3), m.
    pub point_a: Tensor,
    /// Witness point on B in the world (B, nc, 3), m; `point_b − point_a = phi · normal`, but for the points of a
    /// [manifold](crate::collision::Manifold) with little weight, which stand back by more.
    pub point_b: Tensor,
    /// Unit normal from A to B (B, nc, 3).
    pub normal: Tensor,
    /// Signed distance (B, nc), m; positive apart.
    pub phi: Tensor,
    /// The part of its pair's barrier that each contact has (B, nc): 1 for pairs with a formula, less for the points of a
    /// [manifold](crate::collision::Manifold). None if it is 1 for all.
    pub weight: Option<Tensor>,
}

impl Contacts {
    /// All of them by a function.
    pub(crate) fn map(&self, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Self> {
        Ok(Self {
            point_a: f(&self.point_a)?,
            point_b: f(&self.point_b)?,
            normal: f(&self.normal)?,
            phi: f(&self.phi)?,
            weight: self.weight.as_ref().map(f).transpose()?,
        })
    }

    /// Of rows (B, nc, 10 or 11): normal, points on A and B, φ, weight if there is one.
    fn of_rows(rows: &Tensor) -> Result<Self> {
        let number = |k: usize| part(rows, 2, k, 1)?.squeeze(2);
        Ok(Self {
            normal: part(rows, 2, 0, 3)?,
            point_a: part(rows, 2, 3, 3)?,
            point_b: part(rows, 2, 6, 3)?,
            phi: number(9)?,
            weight: (rows.dim(2)? > 10).then(|| number(10)).transpose()?,
        })
    }
}

impl PairTable {
    /// The contacts of all pairs, given the shapes' poses (B, n_shapes, 12) and sizes (1 or B, n_shapes, 4). All pairs that have a
    /// formula are one operation, on the CPU.
    ///
    /// # Errors
    /// If the tensors' shapes do not fit.
    pub fn detect(&self, poses: &Tensor, sizes: &Tensor) -> Result<Contacts> {
        let on_cpu = |t: &Tensor| t.to_device(&Device::Cpu)?.contiguous();
        let formulas = self.formulas.contacts(&on_cpu(poses)?, &on_cpu(sizes)?)?.to_device(poses.device())?;
        if self.has_formulas_only() {
            return Contacts::of_rows(&formulas);
        }
        let mut rows = Vec::with_capacity(self.groups.len());
        let mut first = 0;
        for group in &self.groups {
            rows.push(match group {
                Group::Formula { contacts } => {
                    first += contacts;
                    formulas.narrow(1, first - contacts, *contacts)?
                }
                Group::Convex { pairs, sides } => {
                    let side = |index: &Tensor| -> Result<Shapes> {
                        Ok(Shapes { pose: poses.index_select(index, 1)?, size: sizes.index_select(index, 1)? })
                    };
                    pairs.contacts(&side(&sides[0])?, &side(&sides[1])?)?
                }
            });
        }
        Contacts::of_rows(&Tensor::cat(&rows, 1)?)
    }
}
