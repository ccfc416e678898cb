//! Computes the poses of all bodies at a configuration, as plain numbers.

use candle_core::{DType, Device, Result, Tensor};
use nalgebra::{Isometry3, Matrix3, Quaternion, Rotation3, Translation3, UnitQuaternion};

use super::recording::Configuration;
use fingertip_step::kinematics::{FrameSpec, Kinematics, POSE};
use fingertip_step::model::Model;
use fingertip_step::tensor::numbers;

/// Knows where all bodies are, on the CPU wherever the model is.
#[derive(Debug)]
pub(super) struct Observer(Kinematics);

impl Observer {
    pub(super) fn new(model: &Model) -> Result<Self> {
        let frames: Vec<FrameSpec> = (0..model.tree.bodies.len()).map(FrameSpec::of_body).collect();
        Ok(Self(Kinematics::new(&model.tree, &frames, DType::F64, &Device::Cpu)?))
    }

    pub(super) fn configuration(&self, q: &Tensor) -> Result<Configuration> {
        Ok(Configuration { q: numbers(q)?, poses: self.poses(q)? })
    }

    /// Poses of all bodies in each world of q (worlds, nq), one world after the other.
    pub(super) fn poses(&self, q: &Tensor) -> Result<Vec<[f64; 7]>> {
        let q = q.to_device(&Device::Cpu)?.to_dtype(DType::F64)?;
        let poses = numbers(&self.0.frames(&q, self.0.offsets())?.poses)?;
        let pose = |p: &[f64]| {
            let rotation = Matrix3::from_column_slice(&p[3..12]);
            let [w, x, y, z] = quaternion(&rotation);
            [p[0], p[1], p[2], w, x, y, z]
        };
        Ok(poses.chunks_exact(POSE).map(pose).collect())
    }
}

/// The pose of a body's frame: position, then quaternion (w, x, y, z).
pub(super) fn isometry(pose: &[f64; 7]) -> Isometry3<f64> {
    let [x, y, z, w, i, j, k] = *pose;
    Isometry3::from_parts(Translation3::new(x, y, z), UnitQuaternion::new_normalize(Quaternion::new(w, i, j, k)))
}

pub(super) fn quaternion(rotation: &Matrix3<f64>) -> [f64; 4] {
    let q = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(*rotation));
    [q.w, q.i, q.j, q.k]
}

pub(super) fn vectors(tensor: &Tensor) -> Result<Vec<[f64; 3]>> {
    Ok(numbers(tensor)?.chunks_exact(3).map(|v| [v[0], v[1], v[2]]).collect())
}
