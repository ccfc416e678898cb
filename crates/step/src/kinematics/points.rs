//! Points on bodies and their velocities, on plain numbers.

use candle_core::{Result, bail};
use nalgebra::DMatrix;

use super::frames::{FrameSpec, FrameTables};
use super::pose::{POSE, SCREW};
use super::tree::Tree;
use fingertip_lanes::lane::{Packed, Single};

/// One plain number as a lane.
pub(super) type One = Single<f64, false>;

/// Plain numbers as lanes.
pub(super) fn lanes(numbers: &[f64]) -> Vec<One> {
    let mut lanes = zeros(numbers.len());
    One::numbers_mut(&mut lanes).copy_from_slice(numbers);
    lanes
}

pub(super) fn zeros(n: usize) -> Vec<One> {
    use fingertip_lanes::lane::Real;
    vec![One::zero(); n]
}

/// Points fixed to bodies.
#[derive(Debug)]
pub struct Points {
    tables: FrameTables,
    offsets: Vec<One>,
    /// The (screw, degree of freedom) pairs that move each point.
    paths: Vec<Vec<(usize, usize)>>,
    nv: usize,
}

impl Points {
    /// The origins of frames on the bodies of a forest.
    pub fn new(tree: &Tree, frames: &[FrameSpec]) -> Self {
        let joints = tree.bodies.iter().flat_map(|body| [body.xyz.x, body.xyz.y, body.xyz.z]);
        let offsets: Vec<f64> = joints.chain(frames.iter().flat_map(|frame| frame.xyz)).collect();
        let path = |frame: &FrameSpec| {
            let screws = tree.path(frame.body).into_iter();
            screws.map(|screw| (screw, tree.screw_dof[screw])).collect()
        };
        Self {
            tables: FrameTables::new(tree, frames),
            offsets: lanes(&offsets),
            paths: frames.iter().map(path).collect(),
            nv: tree.nv,
        }
    }

    /// The points' positions at q (nq numbers) in the world, m.
    ///
    /// # Errors
    /// If q has a wrong length.
    pub fn positions(&self, q: &[f64]) -> Result<Vec<[f64; 3]>> {
        Ok(self.place(q)?.chunks_exact(POSE).take(self.paths.len()).map(|p| [p[0], p[1], p[2]]).collect())
    }

    /// The positions, and the points' velocities per degree of freedom (3 n, nv), m/rad or m/m.
    ///
    /// # Errors
    /// As [`Points::positions`].
    pub fn with_jacobian(&self, q: &[f64]) -> Result<(Vec<[f64; 3]>, DMatrix<f64>)> {
        let all = self.place(q)?;
        let (poses, screws) = all.split_at(POSE * self.paths.len());
        let mut jacobian = DMatrix::zeros(3 * self.paths.len(), self.nv);
        let points: Vec<[f64; 3]> = poses.chunks_exact(POSE).map(|p| [p[0], p[1], p[2]]).collect();
        for (i, (p, path)) in points.iter().zip(&self.paths).enumerate() {
            for &(screw, dof) in path {
                let s = &screws[SCREW * screw..SCREW * (screw + 1)];
                for k in 0..3 {
                    let (a, b) = ((k + 1) % 3, (k + 2) % 3);
                    jacobian[(3 * i + k, dof)] += s[a] * p[b] - s[b] * p[a] + s[3 + k];
                }
            }
        }
        Ok((points, jacobian))
    }

    /// Computes the frames' poses, then the screws.
    fn place(&self, q: &[f64]) -> Result<Vec<f64>> {
        if q.len() != self.tables.nq() {
            bail!("points: expected {} numbers in q, got {}", self.tables.nq(), q.len());
        }
        let (mut bodies, mut out) = (zeros(self.tables.n_bodies()), zeros(self.tables.n_outputs()));
        self.tables.forward(&lanes(q), &self.offsets, &mut bodies, &mut out);
        Ok(One::numbers(&out).to_vec())
    }
}
