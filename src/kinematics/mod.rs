//! Floor 3: where every body is, and how it moves with each degree of freedom.

mod charts;
mod frames;
mod manifold;
mod manifold_op;
mod op;
mod rotation;
mod sample;
mod tree;

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor};

pub(crate) use charts::{Charts, Integrate};
pub use frames::{FrameSpec, FrameTables, POSE, Pose, SCREW};
pub use manifold::Manifold;
pub(crate) use manifold_op::Map as ManifoldMap;
pub use tree::{Body, Coordinate, Owner, Tree};

/// Poses of chosen frames and the screws of all degrees of freedom, as differentiable tensors.
#[derive(Clone, Debug)]
pub struct Kinematics {
    tables: Arc<FrameTables>,
    offsets: Tensor,
    n_frames: usize,
}

/// Where frames are and how they move.
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
        Ok(Self { tables, offsets, n_frames: frames.len() })
    }

    /// The offsets (1, 3 (bodies + frames)) as described: the position of each body's joint in the parent's frame,
    /// body by body, then of each frame in its body's frame; m. A changed or tracked copy goes to [`Kinematics::frames`].
    pub fn offsets(&self) -> &Tensor {
        &self.offsets
    }

    /// The tables that the kernels walk over.
    pub(crate) fn tables(&self) -> &Arc<FrameTables> {
        &self.tables
    }

    /// Poses and screws at q (B, nq) with the given offsets (1 or B, 3 (bodies + frames)).
    ///
    /// # Errors
    /// If a shape is not as said, naming what was expected.
    pub fn frames(&self, q: &Tensor, offsets: &Tensor) -> Result<Frames> {
        let packed = q.apply_op2(offsets, op::FramesOp(self.tables.clone()))?;
        let (b, n) = packed.dims2()?;
        let n_poses = POSE * self.n_frames;
        Ok(Frames {
            poses: packed.narrow(1, 0, n_poses)?.reshape((b, self.n_frames, POSE))?,
            screws: packed.narrow(1, n_poses, n - n_poses)?,
        })
    }
}
