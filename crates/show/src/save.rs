//! Writing recordings, step by step.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::channels::{
    CONTACTS, ContactsMessage, FORCES, ForcesMessage, MARKERS, PLAN, Q, QMessage, SCALARS, SCENE, SHAPES, STATUS,
    StatusMessage, TAXELS, TF, TF_STATIC, TaxelsMessage, U, UMessage, channels,
};
use super::contacts::ContactRecord;
use super::foxglove;
use super::recording::{Configuration, PlanRecord, Recording, StepRecord};
use super::{file, mcap};
use fingertip_shapes::{Error, Result};
use fingertip_step::contact::UNUSED;

/// Messages wait for a chunk of this size, bytes: half a second of a hand. A crash loses no more.
const CHUNK: usize = 1 << 19;
/// Pictures of contacts for other tools are this far apart at least, ns: about thirty a second.
const MARKERS_APART: u64 = 30_000_000;
/// Contacts' numbers are written in multiples of one part of this many, m and N.
const PARTS: f64 = 1e9;
/// Poses of plans are written in multiples of one part of this many.
const POSE_PARTS: f64 = 1e6;
/// Ticks of a file's clock, 1/s.
const NANOSECONDS: f64 = 1e9;

/// The file of a recording, which grows with the steps.
pub struct RecordingWriter<W: Write = BufWriter<File>> {
    /// The path, as errors name it.
    path: PathBuf,
    file: mcap::Writer<W>,
    /// Everything but the steps.
    scene: Recording,
    /// When contacts are to be pictured next, ns.
    next_markers: u64,
}

impl RecordingWriter<BufWriter<File>> {
    /// Creates the file and any missing folders above it, for the steps that follow those in `recording`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(path: impl AsRef<Path>, recording: &Recording) -> Result<Self> {
        Self::new(BufWriter::new(file::create(path.as_ref())?), path, recording)
    }
}

impl<W: Write> RecordingWriter<W> {
    /// Writes to `to`, which errors call `name`, as [`RecordingWriter::create`].
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn new(to: W, name: impl AsRef<Path>, recording: &Recording) -> Result<Self> {
        let path = name.as_ref().to_owned();
        let scene = Recording { steps: Vec::new(), ..recording.clone() };
        let file = mcap::Writer::new(to, "fingertip", &scene.generator, &channels())
            .map_err(|source| Error::file(&path, source))?;
        let mut writer = Self { path, file, scene, next_markers: 0 };
        writer.start()?;
        Ok(writer)
    }

    fn start(&mut self) -> Result<()> {
        let relative = foxglove::relative(&self.scene, &self.scene.start);
        let fixed = foxglove::transforms(&self.scene, &relative, 0, |body| !body.moves);
        let (shapes, q) = (foxglove::shapes(&self.scene), QMessage { q: self.scene.start.q.clone() });
        let scene = json(&self.path, &self.scene)?;
        self.file.message(SCENE, 0, &scene);
        self.file.message(SHAPES, 0, &shapes);
        self.file.message(TF_STATIC, 0, &fixed);
        self.send(Q, 0, &q)?;
        self.place(0, &self.scene.start.clone());
        self.flush()
    }

    /// Adds a step.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn step(&mut self, step: &StepRecord) -> Result<()> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times are not negative")]
        let time = (step.time * NANOSECONDS).round() as u64;
        let vectors = |of: fn(&ContactRecord) -> [f64; 3]| step.contacts.vectors(|one| of(one).map(brief));
        self.send(Q, time, &QMessage { q: step.end.q.clone() })?;
        self.send(U, time, &UMessage { u: step.u.clone() })?;
        let phi = step.contacts.distances(UNUSED).into_iter().map(brief).collect();
        let (normal, point) = (vectors(|one| one.normal), vectors(|one| one.point));
        self.send(CONTACTS, time, &ContactsMessage { phi, normal, point })?;
        self.send(FORCES, time, &ForcesMessage { force: vectors(|one| one.force) })?;
        if !self.scene.taxels.is_empty() {
            let (taxel, force) = step.pressed.iter().map(|one| (one.taxel, brief(one.force))).unzip();
            self.send(TAXELS, time, &TaxelsMessage { taxel, force })?;
        }
        self.send(SCALARS, time, &step.scalars)?;
        if let Some(plan) = &step.plan {
            self.send(PLAN, time, &brief_plan(plan))?;
        }
        self.place(time, &step.end);
        if time >= self.next_markers {
            self.file.message(MARKERS, time, &foxglove::markers(step, &self.scene.bodies[0].name, time));
            self.next_markers = time + MARKERS_APART;
        }
        let StepRecord { time: seconds_from_start, status, iterations, residual, seconds, .. } = step;
        let status = StatusMessage {
            time: *seconds_from_start,
            status: status.clone(),
            iterations: *iterations,
            residual: *residual,
            seconds: *seconds,
        };
        self.send(STATUS, time, &status)?;
        if self.file.waiting() >= CHUNK { self.flush() } else { Ok(()) }
    }

    /// Writes what is buffered, and the index that lets readers seek.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self) -> Result<()> {
        self.into_inner().map(drop)
    }

    /// [`RecordingWriter::finish`], and what has been written to.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn into_inner(self) -> Result<W> {
        self.file.finish().map_err(|source| Error::file(&self.path, source))
    }

    /// The number of bytes written so far; up to half a megabyte waits besides.
    pub(super) fn size(&self) -> u64 {
        self.file.size()
    }

    fn place(&mut self, time: u64, configuration: &Configuration) {
        let relative = foxglove::relative(&self.scene, configuration);
        let transforms = foxglove::transforms(&self.scene, &relative, time, |body| body.moves);
        self.file.message(TF, time, &transforms);
    }

    fn send(&mut self, channel: usize, time: u64, message: &impl Serialize) -> Result<()> {
        let data = json(&self.path, message)?;
        self.file.message(channel, time, &data);
        Ok(())
    }

    /// Writes what waits.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.file.flush().map_err(|source| Error::file(&self.path, source))
    }
}

impl<W: Write> std::fmt::Debug for RecordingWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordingWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Recording {
    /// Writes a file and any missing folders above it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut writer = RecordingWriter::create(path, self)?;
        self.steps.iter().try_for_each(|step| writer.step(step))?;
        writer.finish()
    }
}

fn brief_plan(plan: &PlanRecord) -> PlanRecord {
    let mut plan = plan.clone();
    for x in plan.poses.iter_mut().flatten().flatten() {
        *x = rounded(*x, POSE_PARTS);
    }
    plan
}

fn json(path: &Path, message: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(message).map_err(|error| Error::Syntax { path: path.to_owned(), message: error.to_string() })
}

fn brief(x: f64) -> f64 {
    rounded(x, PARTS)
}

/// To a multiple of 1/`parts`, a power of ten: a whole number divided by it is the double whose shortest decimal is
/// that multiple. No −0.
fn rounded(x: f64, parts: f64) -> f64 {
    (x * parts).round() / parts + 0.0
}
