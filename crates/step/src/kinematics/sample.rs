//! Starting configurations: neutral and random ones.

use candle_core::{DType, Device, Result, Tensor};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use fingertip_scene::JointKind;

use super::manifold::Manifold;
use super::tree::Coordinate;

impl Manifold {
    /// The configuration (1, nq) of zeros and unit quaternions.
    ///
    /// # Errors
    /// If the device cannot hold tensors of this type.
    pub fn neutral(&self, dtype: DType, device: &Device) -> Result<Tensor> {
        let q: Vec<f64> = self.coordinates.iter().flat_map(|coordinate| coordinate.kind.neutral()).collect();
        Tensor::from_vec(q, (1, self.nq()), device)?.to_dtype(dtype)
    }

    /// `n` random configurations (n, nq). Joints are uniform within their limits. Without limits, angles are in (−π, π)
    /// and positions in (−1 m, 1 m). Rotations are uniform. World i depends only on `seed` and i.
    ///
    /// # Errors
    /// If the device cannot hold tensors of this type.
    pub fn random(&self, n: usize, seed: u64, dtype: DType, device: &Device) -> Result<Tensor> {
        let mut q = vec![0.0; n * self.nq()];
        for (i, row) in q.chunks_mut(self.nq().max(1)).enumerate().take(n) {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(i as u64);
            for coordinate in &self.coordinates {
                let at = coordinate.q;
                fill(coordinate, &mut row[at..at + coordinate.kind.nq()], &mut rng);
            }
        }
        Tensor::from_vec(q, (n, self.nq()), device)?.to_dtype(dtype)
    }
}

fn fill(coordinate: &Coordinate, to: &mut [f64], rng: &mut ChaCha8Rng) {
    let mut between = |low: f64, high: f64| low + (high - low) * rng.random::<f64>();
    let pi = std::f64::consts::PI;
    match coordinate.kind {
        JointKind::Fixed => {}
        JointKind::Revolute | JointKind::Continuous | JointKind::Prismatic => {
            let free = if coordinate.kind == JointKind::Prismatic { 1.0 } else { pi };
            let bounded = coordinate.limits.filter(|limits| (limits.upper - limits.lower).is_finite());
            let (low, high) = bounded.map_or((-free, free), |limits| (limits.lower, limits.upper));
            to[0] = between(low, high);
        }
        JointKind::Planar => to.copy_from_slice(&[between(-1.0, 1.0), between(-1.0, 1.0), between(-pi, pi)]),
        JointKind::Translation => to.fill_with(|| between(-1.0, 1.0)),
        JointKind::Spherical | JointKind::Floating => {
            let at = to.len() - 4;
            to[..at].fill_with(|| between(-1.0, 1.0));
            // Shoemake, Uniform random rotations, Graphics Gems III, 1992.
            let (u, a, b) = (between(0.0, 1.0), between(-pi, pi), between(-pi, pi));
            let (x, y) = ((1.0 - u).sqrt(), u.sqrt());
            to[at..].copy_from_slice(&[y * b.cos(), x * a.sin(), x * a.cos(), y * b.sin()]);
        }
    }
}
