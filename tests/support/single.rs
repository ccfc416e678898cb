//! One step of one world.

use candle_core::{DType, Device, Tensor};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::solve::Status;
use fingertip::step::{Quasidynamic, Step};

pub fn compile(scene: &Scene) -> Model {
    Model::new(scene, DType::F64, &Device::Cpu).unwrap()
}

/// A step that is solved, with an external force: nv numbers, or nothing for the model's own.
pub fn step_with(model: &Model, q: &[f64], u: &[f64], tau: &[f64]) -> Step {
    let mut parameters = model.parameters.clone();
    if !tau.is_empty() {
        parameters.tau = model.tensor(&[tau]).unwrap();
    }
    let u = Tensor::from_vec(u.to_vec(), (1, u.len()), &Device::Cpu).unwrap();
    let step = Quasidynamic::new(model, &parameters).unwrap().step(&model.tensor(&[q]).unwrap(), &u).unwrap();
    assert_eq!(step.reports[0].status, Status::Solved, "{:?}", step.reports[0]);
    step
}
