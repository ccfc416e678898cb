//! How far points on bodies are from what these may touch.

use std::collections::BTreeSet;

use candle_core::{Result, Tensor};

use super::sensor::Places;
use crate::contact::pair::PointDistances;
use crate::contact::{Pair, UNUSED};
use crate::kinematics::FrameSpec;
use crate::model::Model;
use crate::parameters::Parameters;
use crate::tensor::index;

/// The signed distances of points on bodies from the nearest of the shapes that each body may touch.
#[derive(Clone, Debug)]
pub(super) struct Distances {
    places: Places,
    of: PointDistances,
    /// The distances of each point among all (n, k), where one point has fewer than another, some of them twice.
    nearest: Tensor,
}

impl Distances {
    /// Of points, each a body and a place in its frame, m.
    pub(super) fn new(model: &Model, parameters: &Parameters, points: &[(usize, [f64; 3])]) -> Result<Self> {
        let frames = points.iter().map(|&(body, xyz)| FrameSpec { xyz, ..FrameSpec::of_body(body) });
        let mut pairs = Vec::new();
        for (point, &(body, _)) in points.iter().enumerate() {
            pairs.extend(partners(model, body).into_iter().map(|shape| (point, shape)));
        }
        let of = PointDistances::new(points.len(), &model.shapes, &pairs);
        let mut own = vec![Vec::new(); points.len()];
        for (&(point, _), places) in pairs.iter().zip(of.places()) {
            own[point].extend(places);
        }
        // A number behind all distances stands for none.
        let most = own.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let padded = own.iter().flat_map(|own| {
            let last = own.last().copied().unwrap_or(of.count());
            own.iter().copied().chain(std::iter::repeat(last)).take(most)
        });
        let nearest = index(padded, &model.device)?.reshape((points.len(), most))?;
        Ok(Self { places: Places::new(model, parameters, &frames.collect::<Vec<_>>())?, of, nearest })
    }

    pub(super) fn with_parameters(&self, parameters: &Parameters) -> Self {
        Self { places: self.places.with_parameters(parameters), ..self.clone() }
    }

    /// The distances (B, n), m, at q (B, nq).
    pub(super) fn at(&self, q: &Tensor) -> Result<Tensor> {
        let (n, most) = self.nearest.dims2()?;
        if n == 0 {
            return Tensor::zeros((q.dim(0)?, 0), q.dtype(), q.device());
        }
        let (points, [poses, sizes]) = (self.places.poses(q)?, self.places.shapes(q)?);
        let worlds = points.dim(0)?;
        let none = Tensor::full(UNUSED, (worlds, 1), q.device())?.to_dtype(q.dtype())?;
        let all = match self.of.count() {
            0 => none,
            _ => Tensor::cat(&[&self.of.at(&points, &poses, &sizes)?, &none], 1)?,
        };
        let own = all.contiguous()?.index_select(&self.nearest.flatten_all()?, 1)?.reshape((worlds, n, most))?;
        own.gather(&own.detach().argmin_keepdim(2)?, 2)?.squeeze(2)
    }
}

/// The shapes of other bodies that a body's may touch.
fn partners(model: &Model, body: usize) -> BTreeSet<usize> {
    let is_own = |shape: usize| model.shapes[shape].body == body;
    let other = |pair: &Pair| match (is_own(pair.a), is_own(pair.b)) {
        (true, false) => Some(pair.b),
        (false, true) => Some(pair.a),
        _ => None,
    };
    model.pairs.pairs.iter().filter_map(other).collect()
}
