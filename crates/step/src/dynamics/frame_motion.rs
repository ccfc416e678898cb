//! Jacobians and velocities of frames fixed to bodies.
//!
//! The column of a screw (ω; m) at the point p of a frame with axes R. The linear part comes first, as in the tangent
//! of a free body:
//!
//! | reference | linear | angular |
//! |---|---|---|
//! | world | m | ω |
//! | local, world-aligned | m + ω × p | ω |
//! | local | Rᵀ (m + ω × p) | Rᵀ ω |

use candle_core::{DType, Device, Result, Tensor, bail};

use crate::kinematics::{FrameSpec, Frames, Kinematics, Tree};
use crate::tensor::{cross, index};

/// Reference frame of a velocity: the point that it is the velocity of, and the axes that it is expressed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceFrame {
    /// The velocity of the body's material point at the world's origin, in world axes: the spatial velocity.
    World,
    /// The velocity of the frame's origin in the frame's axes.
    Local,
    /// The velocity of the frame's origin in world axes.
    LocalWorldAligned,
}

/// Frames fixed to bodies, with their Jacobians.
#[derive(Clone, Debug)]
pub struct FrameMotion {
    kinematics: Kinematics,
    /// For each frame, its screws and their degrees of freedom.
    paths: Vec<Option<(Tensor, Tensor)>>,
    nq: usize,
    nv: usize,
}

impl FrameMotion {
    /// Frames fixed to the bodies of a forest.
    ///
    /// # Errors
    /// If a body does not exist, or the device cannot hold tensors.
    pub fn new(tree: &Tree, frames: &[FrameSpec], dtype: DType, device: &Device) -> Result<Self> {
        let mut paths = Vec::with_capacity(frames.len());
        for frame in frames {
            if frame.body >= tree.bodies.len() {
                bail!("frame: expected a body below {}, got {}", tree.bodies.len(), frame.body);
            }
            let path = tree.path(frame.body);
            let dofs = path.clone().into_iter().map(|screw| tree.screw_dof[screw]);
            paths.push(if path.is_empty() {
                None
            } else {
                Some((index(path.into_iter(), device)?, index(dofs, device)?))
            });
        }
        Ok(Self { kinematics: Kinematics::new(tree, frames, dtype, device)?, paths, nq: tree.nq, nv: tree.nv })
    }

    /// Poses and screws at q (B, nq), from which [`FrameMotion::jacobian`] computes Jacobians.
    ///
    /// # Errors
    /// If the shape of q is wrong.
    pub fn frames(&self, q: &Tensor) -> Result<Frames> {
        match q.dims2() {
            Ok((_, width)) if width == self.nq => self.kinematics.frames(q, self.kinematics.offsets()),
            _ => bail!("q: expected shape (B, {}), got {:?}", self.nq, q.shape()),
        }
    }

    /// The Jacobian (B, 6, nv) of a frame, with the linear velocity first: m/s and rad/s per unit of v. It has
    /// gradients.
    ///
    /// # Errors
    /// If there is no such frame.
    pub fn jacobian(&self, frames: &Frames, frame: usize, reference: ReferenceFrame) -> Result<Tensor> {
        let Some(path) = self.paths.get(frame) else {
            bail!("frame: expected an index below {}, got {frame}", self.paths.len());
        };
        let b = frames.poses.dim(0)?;
        let zeros = Tensor::zeros((b, self.nv, 6), frames.poses.dtype(), frames.poses.device())?;
        let Some((path, dofs)) = path else { return zeros.transpose(1, 2)?.contiguous() };
        let ns = frames.screws.dim(1)? / 6;
        let screws = frames.screws.reshape((b, ns, 6))?.contiguous()?.index_select(path, 1)?;
        let (omega, m) = (screws.narrow(2, 0, 3)?, screws.narrow(2, 3, 3)?);
        let pose = frames.poses.narrow(1, frame, 1)?;
        let linear = match reference {
            ReferenceFrame::World => m,
            _ => (m + cross(&omega, &pose.narrow(2, 0, 3)?)?)?,
        };
        let (linear, omega) = match reference {
            ReferenceFrame::Local => {
                let axes = pose.narrow(2, 3, 9)?.reshape((b, 1, 3, 3))?;
                let seen = |x: &Tensor| axes.broadcast_mul(&x.unsqueeze(2)?)?.sum(3);
                (seen(&linear)?, seen(&omega)?)
            }
            _ => (linear, omega),
        };
        let columns = Tensor::cat(&[linear, omega], 2)?;
        zeros.index_add(dofs, &columns, 1)?.transpose(1, 2)?.contiguous()
    }

    /// The velocity (B, 6) of a frame at the rates v (B, nv): linear in m/s, then angular in rad/s. It has gradients.
    ///
    /// # Errors
    /// If there is no such frame or a shape is wrong.
    pub fn velocity(&self, q: &Tensor, v: &Tensor, frame: usize, reference: ReferenceFrame) -> Result<Tensor> {
        let jacobian = self.jacobian(&self.frames(q)?, frame, reference)?;
        match v.dims2() {
            Ok((_, width)) if width == self.nv => jacobian.broadcast_mul(&v.unsqueeze(1)?)?.sum(2),
            _ => bail!("v: expected shape (B, {}), got {:?}", self.nv, v.shape()),
        }
    }
}
