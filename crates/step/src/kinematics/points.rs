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

    /// The frames at q (nq numbers), and what moves them.
    ///
    /// # Errors
    /// If q has a wrong length.
    pub fn at(&self, q: &[f64]) -> Result<PlacedPoints<'_>> {
        if q.len() != self.tables.nq() {
            bail!("points: expected {} numbers in q, got {}", self.tables.nq(), q.len());
        }
        let (mut bodies, mut out) = (zeros(self.tables.n_bodies()), zeros(self.tables.n_outputs()));
        self.tables.forward(&lanes(q), &self.offsets, &mut bodies, &mut out);
        Ok(PlacedPoints { of: self, numbers: One::numbers(&out).to_vec() })
    }

    /// The points' positions at q (nq numbers) in the world, m.
    ///
    /// # Errors
    /// As [`Points::at`].
    pub fn positions(&self, q: &[f64]) -> Result<Vec<[f64; 3]>> {
        Ok(self.at(q)?.positions())
    }

    /// The positions, and the points' velocities per degree of freedom (3 n, nv), m/rad or m/m.
    ///
    /// # Errors
    /// As [`Points::at`].
    pub fn with_jacobian(&self, q: &[f64]) -> Result<(Vec<[f64; 3]>, DMatrix<f64>)> {
        let placed = self.at(q)?;
        let (points, mut jacobian) = (placed.positions(), DMatrix::zeros(3 * self.paths.len(), self.nv));
        for (i, &p) in points.iter().enumerate() {
            for (dof, velocity) in placed.velocities(i, p) {
                (0..3).for_each(|k| jacobian[(3 * i + k, dof)] += velocity[k]);
            }
        }
        Ok((points, jacobian))
    }
}

/// Frames fixed to bodies, at one configuration.
#[derive(Debug)]
pub struct PlacedPoints<'a> {
    of: &'a Points,
    /// The frames' poses, then the screws.
    numbers: Vec<f64>,
}

impl PlacedPoints<'_> {
    /// The position of frame `i` in the world, m.
    pub fn position(&self, i: usize) -> [f64; 3] {
        std::array::from_fn(|k| self.numbers[POSE * i + k])
    }

    /// The positions of all frames in the world, m.
    pub fn positions(&self) -> Vec<[f64; 3]> {
        (0..self.of.paths.len()).map(|i| self.position(i)).collect()
    }

    /// The axes of frame `i` in the world: the columns of its rotation matrix.
    pub fn axes(&self, i: usize) -> [[f64; 3]; 3] {
        std::array::from_fn(|axis| std::array::from_fn(|k| self.numbers[POSE * i + 3 + 3 * axis + k]))
    }

    /// The degrees of freedom that move frame `i`, each with the velocity per unit that it gives to the point of the
    /// frame's body that is at `p` in the world, m/rad or m/m. One that moves it by several joints comes several times.
    pub fn velocities(&self, i: usize, p: [f64; 3]) -> impl Iterator<Item = (usize, [f64; 3])> {
        let screws = &self.numbers[POSE * self.of.paths.len()..];
        self.of.paths[i].iter().map(move |&(screw, dof)| {
            let s = &screws[SCREW * screw..SCREW * (screw + 1)];
            let velocity = |k: usize| s[(k + 1) % 3] * p[(k + 2) % 3] - s[(k + 2) % 3] * p[(k + 1) % 3] + s[3 + k];
            (dof, std::array::from_fn(velocity))
        })
    }
}
