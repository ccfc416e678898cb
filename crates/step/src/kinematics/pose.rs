//! Poses of frames: a position and three axes, stored as twelve numbers; the sizes of poses and screws.

use fingertip_lanes::lane::Real;
use fingertip_lanes::vector::{Mat3, Vec3};

/// Numbers of a pose: position (3), then the columns of the rotation matrix (9).
pub const POSE: usize = 12;
/// Numbers of a screw: (ω; m).
pub const SCREW: usize = 6;

/// Position and rotation (as columns) of a body or a frame.
#[derive(Clone, Copy)]
pub struct Pose<R> {
    /// Position, m.
    pub p: Vec3<R>,
    /// The axes in the world: the columns of the rotation matrix.
    pub axes: Mat3<R>,
}

impl<R: Real> Pose<R> {
    /// Reads a pose from twelve numbers.
    #[inline(always)]
    pub fn read(from: &[R]) -> Self {
        let v = |k: usize| [from[k], from[k + 1], from[k + 2]];
        Self { p: v(0), axes: [v(3), v(6), v(9)] }
    }
    /// Writes the pose as twelve numbers.
    #[inline(always)]
    pub fn write(&self, to: &mut [R]) {
        for i in 0..3 {
            to[i] = self.p[i];
            for j in 0..3 {
                to[3 + 3 * i + j] = self.axes[i][j];
            }
        }
    }
}

pub(super) fn is_identity(m: &[[f64; 3]; 3]) -> bool {
    *m == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
}
