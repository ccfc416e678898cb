//! Rolling out one world while writing down everything.

use std::collections::BTreeMap;
use std::time::Instant;

use candle_core::{DType, Result, Tensor};
use nalgebra::{Matrix3, Rotation3, UnitQuaternion};

use super::cast::cast;
use super::recording::{Configuration, Recording, StepRecord};
use crate::description::Scene;
use crate::kinematics::{FrameSpec, Kinematics, POSE};
use crate::model::Model;
use crate::step::{Quasidynamic, Step};

/// A scene and where it comes from.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// The scene file's text; empty for a scene built in code.
    pub text: String,
    /// The scene.
    pub scene: Scene,
}

/// Rolls out `n_steps` steps from home under `control`, the command (nu numbers) of the step that starts at a time (s).
/// `after` sees the recording as it grows: before the first step and after each.
///
/// Each step starts at the end of the one before, its solve at the forces of the one before.
///
/// # Errors
/// Of the step: a command with another number of entries than the model has commands; and what `after` says.
pub fn record(
    source: &Source,
    step: &Quasidynamic,
    n_steps: usize,
    control: impl Fn(usize, f64) -> Vec<f64>,
    mut after: impl FnMut(&Recording) -> Result<()>,
) -> Result<Recording> {
    let mut recorder = Recorder::new(source, step)?;
    after(&recorder.recording)?;
    for k in 0..n_steps {
        let u = control(k, k as f64 * recorder.recording.params.h);
        let record = recorder.step(step, u)?;
        recorder.recording.steps.push(record);
        after(&recorder.recording)?;
    }
    Ok(recorder.recording)
}

/// Steps a world and writes down what happens.
#[derive(Debug)]
pub struct Recorder {
    /// Everything but the steps, unless somebody adds them.
    pub recording: Recording,
    observer: Observer,
    /// Where the world is (1, nq).
    q: Tensor,
    warm: Option<Tensor>,
    /// s.
    time: f64,
    n_steps: usize,
}

impl Recorder {
    /// A world at home.
    ///
    /// # Errors
    /// Of the tensor operations.
    pub fn new(source: &Source, step: &Quasidynamic) -> Result<Self> {
        let model = step.model();
        let observer = Observer::new(model)?;
        let mut recording = cast(source, step)?;
        let q = model.home(1)?;
        recording.start = observer.configuration(&q)?;
        Ok(Self { recording, observer, q, warm: None, time: 0.0, n_steps: 0 })
    }

    /// Where the world is (1, nq).
    pub fn q(&self) -> &Tensor {
        &self.q
    }

    /// The time that has gone by, s.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Puts a world that has not been stepped elsewhere (1, nq).
    ///
    /// # Errors
    /// If q has another shape.
    pub fn put(&mut self, q: &Tensor) -> Result<()> {
        self.recording.start = self.observer.configuration(q)?;
        (self.q, self.warm) = (q.clone(), None);
        Ok(())
    }

    /// Puts the world home; time starts again.
    ///
    /// # Errors
    /// Of the tensor operations.
    pub fn reset(&mut self, model: &Model) -> Result<()> {
        (self.q, self.warm, self.time, self.n_steps) = (model.home(1)?, None, 0.0, 0);
        Ok(())
    }

    /// One step under the command `u` (nu numbers). The step may be another one at each call, of the same scene.
    ///
    /// # Errors
    /// A command with another number of entries than the model has commands.
    pub fn step(&mut self, step: &Quasidynamic, u: Vec<f64>) -> Result<StepRecord> {
        let h = numbers(&step.parameters().h)?[0];
        let command = step.model().tensor(&[&u])?;
        let begin = Instant::now();
        let result = step.step_from(&self.q, &command, self.warm.as_ref())?;
        let seconds = begin.elapsed().as_secs_f64();
        self.n_steps += 1;
        // A multiple, as long as the step stays what it was.
        let regular = self.n_steps as f64 * h;
        let time = self.time + h;
        self.time = if (regular - time).abs() < 1e-6 * h { regular } else { time };
        let record = self.write_down(u, &result, seconds)?;
        (self.q, self.warm) = (result.q_next, Some(result.warm));
        Ok(record)
    }

    fn write_down(&self, u: Vec<f64>, result: &Step, seconds: f64) -> Result<StepRecord> {
        let (contacts, report) = (&result.contacts, &result.reports[0]);
        let mut record = StepRecord {
            time: self.time,
            u,
            end: self.observer.configuration(&result.q_next)?,
            phi: numbers(&contacts.phi)?,
            normal: vectors(&contacts.normal)?,
            point: vectors(&contacts.point_b)?,
            force: vectors(&result.force)?,
            status: report.status.name().to_owned(),
            iterations: report.iterations,
            residual: report.residual,
            seconds,
            scalars: BTreeMap::new(),
        };
        record.scalars = scalars(&self.recording, &record);
        Ok(record)
    }
}

/// What people plot first.
fn scalars(recording: &Recording, step: &StepRecord) -> BTreeMap<String, f64> {
    let mut scalars = BTreeMap::new();
    if let Some(gap) = step.phi.iter().copied().min_by(f64::total_cmp) {
        scalars.insert("gap".to_owned(), gap);
    }
    for object in &recording.objects {
        let mut sum = [0.0; 3];
        for (pair, force) in recording.contacts.iter().zip(&step.force) {
            let sign = f64::from(u8::from(pair.b == object.body)) - f64::from(u8::from(pair.a == object.body));
            (0..3).for_each(|k| sum[k] += sign * force[k]);
        }
        let size = sum.iter().map(|f| f * f).sum::<f64>().sqrt();
        scalars.insert(format!("force on {}", object.name), size);
    }
    scalars
}

/// Knows where all bodies are.
#[derive(Debug)]
struct Observer(Kinematics);

impl Observer {
    fn new(model: &Model) -> Result<Self> {
        let frames: Vec<FrameSpec> = (0..model.tree.bodies.len()).map(FrameSpec::of_body).collect();
        Ok(Self(Kinematics::new(&model.tree, &frames, model.dtype, &model.device)?))
    }

    fn configuration(&self, q: &Tensor) -> Result<Configuration> {
        let poses = numbers(&self.0.frames(q, self.0.offsets())?.poses)?;
        let pose = |p: &[f64]| {
            let rotation = Matrix3::from_column_slice(&p[3..12]);
            let [w, x, y, z] = quaternion(&rotation);
            [p[0], p[1], p[2], w, x, y, z]
        };
        Ok(Configuration { q: numbers(q)?, poses: poses.chunks_exact(POSE).map(pose).collect() })
    }
}

pub(super) fn quaternion(rotation: &Matrix3<f64>) -> [f64; 4] {
    let q = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(*rotation));
    [q.w, q.i, q.j, q.k]
}

pub(super) fn numbers(tensor: &Tensor) -> Result<Vec<f64>> {
    tensor.flatten_all()?.to_dtype(DType::F64)?.to_vec1()
}

pub(super) fn vectors(tensor: &Tensor) -> Result<Vec<[f64; 3]>> {
    Ok(numbers(tensor)?.chunks_exact(3).map(|v| [v[0], v[1], v[2]]).collect())
}
