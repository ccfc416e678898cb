//! The pose of every body, and how it moves with each degree of freedom.
//!
//! [`Kinematics`] computes poses and Jacobians from configurations q (B, nq), as tensors with gradients:
//!
//! ```
//! use candle_core::{DType, Device};
//! use fingertip::{Model, description::Scene, kinematics::Kinematics};
//!
//! # fn main() -> candle_core::Result<()> {
//! # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
//! let model = Model::new(&Scene::load("assets/scenes/hand_ball.toml")?, DType::F64, &Device::Cpu)?;
//! let tip = Kinematics::of_bodies(&model.tree, &["hand/finger_r_link_2_index4"], DType::F64, &Device::Cpu)?;
//! let frames = tip.at(&model.home(2)?)?;
//! assert_eq!(frames.poses.dims(), [2, 1, 12]);
//! let pad = [-0.001, 0.0, 0.027];
//! assert_eq!(tip.points(&frames, 0, pad)?.dims(), [2, 3]);
//! assert_eq!(tip.point_jacobian(&frames, 0, pad)?.dims(), [2, 3, model.nv()]);
//! # Ok(())
//! # }
//! ```

mod frames;
pub mod ik;
mod joint;
mod manifold;
mod manifold_op;
mod op;
mod points;
mod pose;
mod retraction;
mod rotation;
mod sample;
pub mod spatial;
mod stages;
mod tree;

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor, bail};

use crate::tensor::operation::{Kernels, Operation};
use crate::tensor::{constant, cross, index, part, position, rotate};

pub use frames::{FrameSpec, FrameTables};
pub use manifold::Manifold;
pub use points::{PlacedPoints, Points};
pub use pose::{POSE, Pose, SCREW};
pub(crate) use retraction::{Difference, Integrate, Map as ManifoldMap, Retraction};
pub(crate) use stages::{FrameGradients, FrameNumbers, PlaceFrames, PullFrames};
pub use tree::{Body, Connection, Coordinate, Owner, Site, Tree};

/// Poses of chosen frames and the screws of all degrees of freedom, as differentiable tensors.
#[derive(Clone, Debug)]
pub struct Kinematics {
    tables: Arc<FrameTables>,
    kernels: Kernels,
    offsets: Tensor,
    paths: Arc<[Path]>,
    nv: usize,
}

/// The screws that move a frame, and the degree of freedom of each.
#[derive(Debug)]
struct Path {
    screws: Tensor,
    dofs: Tensor,
}

/// Poses of frames, and how they move.
#[derive(Clone, Debug)]
pub struct Frames {
    /// Poses (B, n_frames, 12): position, then the three columns of the rotation matrix; m.
    pub poses: Tensor,
    /// Screws (B, 6 ns), six numbers (ω; m) each: the unit velocity of screw s moves the point p by ω × p + m.
    /// [`Tree::screw_dof`] says which degree of freedom it belongs to.
    pub screws: Tensor,
}

impl Kinematics {
    /// The kinematics of frames fixed to the bodies of a forest.
    ///
    /// # Errors
    /// If the tensors cannot be made on the device.
    pub fn new(tree: &Tree, frames: &[FrameSpec], dtype: DType, device: &Device) -> Result<Self> {
        let tables = Arc::new(FrameTables::new(tree, frames));
        let joints = tree.bodies.iter().flat_map(|body| [body.xyz.x, body.xyz.y, body.xyz.z]);
        let offsets: Vec<f64> = joints.chain(frames.iter().flat_map(|frame| frame.xyz)).collect();
        let offsets = Tensor::from_vec(offsets, (1, tables.n_offsets()), device)?.to_dtype(dtype)?;
        let path = |frame: &FrameSpec| {
            let screws = tree.path(frame.body);
            let dofs = index(screws.iter().map(|&screw| tree.screw_dof[screw]), device)?;
            Ok(Path { screws: index(screws.into_iter(), device)?, dofs })
        };
        let paths = frames.iter().map(path).collect::<Result<_>>()?;
        Ok(Self { tables, kernels: Kernels::default(), offsets, paths, nv: tree.nv })
    }

    /// The kinematics of the bodies with these names, `"owner/link"` or `"owner"` for a rigid object: a frame each, the
    /// body's own.
    ///
    /// # Errors
    /// If a name is not a body's, or a tensor cannot be made on the device.
    pub fn of_bodies(tree: &Tree, names: &[&str], dtype: DType, device: &Device) -> Result<Self> {
        let frames = names.iter().map(|name| Ok(FrameSpec::of_body(tree.find(name)?)));
        Self::new(tree, &frames.collect::<Result<Vec<_>>>()?, dtype, device)
    }

    /// The kinematics of the sites with these names, `"owner/site"`: a frame each.
    ///
    /// # Errors
    /// If a name is not a site's, or a tensor cannot be made on the device.
    pub fn of_sites(tree: &Tree, names: &[&str], dtype: DType, device: &Device) -> Result<Self> {
        let frames = names.iter().map(|name| {
            let Site { body, pose, .. } = tree.site(name)?;
            Ok(FrameSpec::at(*body, pose))
        });
        Self::new(tree, &frames.collect::<Result<Vec<_>>>()?, dtype, device)
    }

    /// The offsets (1, 3 (bodies + frames)) as described: the position of each body's joint in the parent's frame, body
    /// by body, then of each frame in its body's frame; m. A changed or tracked copy goes to [`Kinematics::frames`].
    pub fn offsets(&self) -> &Tensor {
        &self.offsets
    }

    /// The number of frames.
    pub(crate) fn n_frames(&self) -> usize {
        self.paths.len()
    }

    /// The tables that the kernels walk over.
    pub(crate) fn tables(&self) -> &Arc<FrameTables> {
        &self.tables
    }

    /// Poses and screws at q (B, nq) with the given offsets (1 or B, 3 (bodies + frames)).
    ///
    /// # Errors
    /// If a shape is wrong; the message says what was expected.
    pub fn frames(&self, q: &Tensor, offsets: &Tensor) -> Result<Frames> {
        let packed = q.apply_op2(offsets, Operation::new(op::FramesOp(self.tables.clone()), &self.kernels))?;
        let (b, n) = packed.dims2()?;
        let n_frames = self.n_frames();
        let n_poses = POSE * n_frames;
        Ok(Frames {
            poses: packed.narrow(1, 0, n_poses)?.reshape((b, n_frames, POSE))?,
            screws: part(&packed, 1, n_poses, n - n_poses)?,
        })
    }

    /// Poses and screws at q (B, nq) with the offsets as described.
    ///
    /// # Errors
    /// If q has another width.
    pub fn at(&self, q: &Tensor) -> Result<Frames> {
        self.frames(q, &self.offsets)
    }

    /// The position in the world of a point c (m, in the frame's own axes) of frame `frame`: p = x + R c (B, 3), m.
    /// Differentiable.
    ///
    /// # Errors
    /// If there is no such frame.
    pub fn points(&self, frames: &Frames, frame: usize, point: [f64; 3]) -> Result<Tensor> {
        self.path(frame)?;
        let pose = frames.poses.narrow(1, frame, 1)?.squeeze(1)?;
        position(&pose)? + rotate(&pose, &constant(&point, &pose)?)?
    }

    /// The Jacobian J (B, 3, nv) of that material point: its velocity in world axes is J times the velocity in tangent
    /// coordinates. Column by column ω × p + m, summed over the screws of a degree of freedom; zero for those that do
    /// not move the frame. Differentiable.
    ///
    /// # Errors
    /// If there is no such frame.
    pub fn point_jacobian(&self, frames: &Frames, frame: usize, point: [f64; 3]) -> Result<Tensor> {
        let path = self.path(frame)?;
        let p = self.points(frames, frame, point)?.unsqueeze(1)?;
        let b = p.dim(0)?;
        let rows = Tensor::zeros((b, self.nv, 3), p.dtype(), p.device())?;
        if path.screws.dim(0)? == 0 {
            return rows.transpose(1, 2)?.contiguous();
        }
        let screws = frames.screws.contiguous()?.reshape((b, (), SCREW))?.index_select(&path.screws, 1)?;
        let columns = (cross(&screws.narrow(2, 0, 3)?, &p)? + screws.narrow(2, 3, 3)?)?;
        rows.index_add(&path.dofs, &columns, 1)?.transpose(1, 2)?.contiguous()
    }

    fn path(&self, frame: usize) -> Result<&Path> {
        match self.paths.get(frame) {
            Some(path) => Ok(path),
            None => bail!("kinematics: expected a frame below {}, got {frame}", self.paths.len()),
        }
    }
}
