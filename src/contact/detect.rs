//! Contacts of all pairs at a configuration.

use candle_core::{Result, Tensor};

use super::pair::{Shapes, Witness};
use super::table::{Group, Method, PairTable};
use crate::math::tensor::part;

/// All contacts, in the order of [`PairTable::pair_of_contact`]. Differentiable.
#[derive(Clone, Debug)]
pub struct Contacts {
    /// Witness point on A in the world (B, nc, 3), m.
    pub point_a: Tensor,
    /// Witness point on B in the world (B, nc, 3), m; `point_b − point_a = phi · normal`.
    pub point_b: Tensor,
    /// Unit normal from A to B (B, nc, 3).
    pub normal: Tensor,
    /// Signed distance (B, nc), m; positive apart.
    pub phi: Tensor,
}

impl Contacts {
    /// Of rows (B, nc, 10): normal, points on A and B, φ.
    fn of_rows(rows: &Tensor) -> Result<Self> {
        Ok(Self {
            normal: part(rows, 2, 0, 3)?,
            point_a: part(rows, 2, 3, 3)?,
            point_b: part(rows, 2, 6, 3)?,
            phi: part(rows, 2, 9, 1)?.squeeze(2)?,
        })
    }
}

impl PairTable {
    /// [`PairTable::detect`] on the CPU, with all pairs that have a formula in one operation: the same up to rounding.
    pub(crate) fn detect_on_lanes(&self, poses: &Tensor, sizes: &Tensor) -> Result<Contacts> {
        let formulas = self.formulas.contacts(poses, sizes)?;
        if self.has_formulas_only() {
            return Contacts::of_rows(&formulas);
        }
        let mut first = 0;
        let mut rows = |group: &Group| match &group.method {
            Method::Formula(function) => {
                let n = function.contacts() * group.a.dim(0)?;
                first += n;
                formulas.narrow(1, first - n, n)
            }
            Method::Convex(pairs) => {
                let [a, b] = group.sides(poses, sizes)?;
                pairs.contacts(&a, &b)
            }
        };
        let rows = self.groups.iter().map(&mut rows).collect::<Result<Vec<_>>>()?;
        Contacts::of_rows(&Tensor::cat(&rows, 1)?)
    }

    /// The contacts of all pairs, given the shapes' poses (B, n_shapes, 12) and sizes (1 or B, n_shapes, 4).
    ///
    /// # Errors
    /// If the tensors' shapes do not fit.
    pub fn detect(&self, poses: &Tensor, sizes: &Tensor) -> Result<Contacts> {
        let witnesses = self
            .groups
            .iter()
            .map(|group| {
                let [a, b] = group.sides(poses, sizes)?;
                group.witness(&a, &b)
            })
            .collect::<Result<Vec<_>>>()?;
        let all = |part: fn(&Witness) -> &Tensor| match witnesses.as_slice() {
            [one] => Ok(part(one).clone()),
            several => Tensor::cat(&several.iter().map(part).collect::<Vec<_>>(), 1),
        };
        if witnesses.is_empty() {
            let (b, _, _) = poses.dims3()?;
            let none = Tensor::zeros((b, 0, 3), poses.dtype(), poses.device())?;
            let phi = Tensor::zeros((b, 0), poses.dtype(), poses.device())?;
            return Ok(Contacts { point_a: none.clone(), point_b: none.clone(), normal: none, phi });
        }
        Ok(Contacts {
            point_a: all(|w| &w.point_a)?,
            point_b: all(|w| &w.point_b)?,
            normal: all(|w| &w.normal)?,
            phi: all(|w| &w.phi)?,
        })
    }
}

impl Group {
    /// The shapes on side A and on side B of all pairs.
    fn sides(&self, poses: &Tensor, sizes: &Tensor) -> Result<[Shapes; 2]> {
        let side = |index: &Tensor| -> Result<Shapes> {
            Ok(Shapes { pose: poses.index_select(index, 1)?, size: sizes.index_select(index, 1)? })
        };
        Ok([side(&self.a)?, side(&self.b)?])
    }
}
