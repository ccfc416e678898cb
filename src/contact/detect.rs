//! Contacts of all pairs at a configuration.

use candle_core::{Result, Tensor};

use super::pair::{Shapes, Witness};
use super::table::PairTable;

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

impl PairTable {
    /// The contacts of all pairs, given the shapes' poses (B, n_shapes, 12) and sizes (1 or B, n_shapes, 4).
    ///
    /// # Errors
    /// If the tensors' shapes do not fit.
    pub fn detect(&self, poses: &Tensor, sizes: &Tensor) -> Result<Contacts> {
        let witnesses = self
            .groups
            .iter()
            .map(|group| {
                let side = |index: &Tensor| -> Result<Shapes> {
                    Ok(Shapes { pose: poses.index_select(index, 1)?, size: sizes.index_select(index, 1)? })
                };
                group.witness(&side(&group.a)?, &side(&group.b)?)
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
