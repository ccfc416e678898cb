//! Contacts of all pairs at a configuration.

use candle_core::{Result, Tensor};

use super::pair::{PairFunction, Shapes, Witness};
use super::table::{Group, Method, PairTable};
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
    /// [`PairTable::detect`] on the CPU, with all pairs that have a formula in one operation: the same up to rounding.
    pub(crate) fn detect_on_lanes(&self, poses: &Tensor, sizes: &Tensor) -> Result<Contacts> {
        let formulas = self.formulas.contacts(poses, sizes)?;
        if self.has_formulas_only() {
            return Contacts::of_rows(&formulas);
        }
        let mut first = 0;
        self.collect(poses, sizes, |function, [a, _]| {
            let n = function.contacts() * a.pose.dim(1)?;
            first += n;
            formulas.narrow(1, first - n, n)
        })
    }

    /// The contacts of all pairs, given the shapes' poses (B, n_shapes, 12) and sizes (1 or B, n_shapes, 4).
    ///
    /// # Errors
    /// If the tensors' shapes do not fit.
    pub fn detect(&self, poses: &Tensor, sizes: &Tensor) -> Result<Contacts> {
        if self.groups.is_empty() {
            let (b, _, _) = poses.dims3()?;
            return Contacts::of_rows(&Tensor::zeros((b, 0, 10), poses.dtype(), poses.device())?);
        }
        self.collect(poses, sizes, |function, [a, b]| {
            let Witness { normal, point_a, point_b, phi } = function.witness(a, b)?;
            Tensor::cat(&[&normal, &point_a, &point_b, &phi.unsqueeze(2)?], 2)
        })
    }

    /// The contacts of all groups, given rows (B, n, 10) of those with a formula.
    fn collect(
        &self,
        poses: &Tensor,
        sizes: &Tensor,
        mut of_formula: impl FnMut(&PairFunction, &[Shapes; 2]) -> Result<Tensor>,
    ) -> Result<Contacts> {
        let mut rows = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            let sides = group.sides(poses, sizes)?;
            rows.push(match &group.method {
                Method::Formula(function) => {
                    let rows = of_formula(function, &sides)?;
                    let (b, n, _) = rows.dims3()?;
                    if self.has_formulas_only() {
                        rows
                    } else {
                        Tensor::cat(&[&rows, &Tensor::ones((b, n, 1), rows.dtype(), rows.device())?], 2)?
                    }
                }
                Method::Convex(pairs) => pairs.contacts(&sides[0], &sides[1])?,
            });
        }
        match rows.as_slice() {
            [one] => Contacts::of_rows(one),
            several => Contacts::of_rows(&Tensor::cat(several, 1)?),
        }
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
