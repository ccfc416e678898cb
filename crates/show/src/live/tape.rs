//! Recordings of a live world.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::recording::{Recording, StepRecord};
use crate::save::RecordingWriter;
use fingertip_shapes::Result;

/// A page's recording ends by itself at this size, bytes.
const MOST: u64 = 256 << 20;
/// If the program is killed, a file on the disk lacks no more than this.
const FLUSH: Duration = Duration::from_secs(1);

/// Recordings under way: one on the disk, if the program was started with a path, and one in memory while a page wants
/// it.
#[derive(Debug, Default)]
pub struct Tape {
    path: Option<PathBuf>,
    /// Files on the disk so far.
    n_files: usize,
    disk: Option<Reel<BufWriter<File>>>,
    flushed: Option<Instant>,
    memory: Option<Reel<Vec<u8>>>,
}

/// A recording and the time of the world at which it begins, s.
#[derive(Debug)]
struct Reel<W: Write> {
    file: RecordingWriter<W>,
    begin: f64,
}

impl<W: Write> Reel<W> {
    fn step(&mut self, step: &StepRecord) -> Result<()> {
        self.file.step(&StepRecord { time: step.time - self.begin, ..step.clone() })
    }
}

impl Tape {
    pub fn new(path: Option<&Path>) -> Self {
        Self { path: path.map(Path::to_owned), ..Self::default() }
    }

    /// Does the disk want all that happens?
    pub fn has_path(&self) -> bool {
        self.path.is_some()
    }

    /// Is there a page's recording?
    pub fn is_on(&self) -> bool {
        self.memory.is_some()
    }

    /// Begins the next file on the disk: `run.mcap`, then `run-2.mcap`. `here` starts where the world is, at the time
    /// `begin`, s.
    pub fn next_file(&mut self, here: &Recording, begin: f64) -> Result<()> {
        self.close()?;
        let Some(path) = &self.path else { return Ok(()) };
        self.n_files += 1;
        let path = if self.n_files == 1 { path.clone() } else { numbered(path, self.n_files) };
        self.disk = Some(Reel { file: RecordingWriter::create(path, here)?, begin });
        self.flushed = Some(Instant::now());
        Ok(())
    }

    /// Ends the file on the disk.
    pub fn close(&mut self) -> Result<()> {
        self.disk.take().map_or(Ok(()), |reel| reel.file.finish())
    }

    /// Begins a page's recording, as [`Tape::next_file`].
    pub fn begin(&mut self, here: &Recording, begin: f64) -> Result<()> {
        let file = RecordingWriter::new(Vec::new(), "recording.mcap", here)?;
        self.memory = Some(Reel { file, begin });
        Ok(())
    }

    /// Ends a page's recording, if there is one: the file's bytes.
    pub fn end(&mut self) -> Result<Option<Vec<u8>>> {
        self.memory.take().map(|reel| reel.file.into_inner()).transpose()
    }

    /// Adds a step. The bytes of a page's recording that has become too long.
    pub fn step(&mut self, step: &StepRecord) -> Result<Option<Vec<u8>>> {
        if let Some(reel) = &mut self.disk {
            reel.step(step)?;
            if self.flushed.is_none_or(|last| last.elapsed() > FLUSH) {
                reel.file.flush()?;
                self.flushed = Some(Instant::now());
            }
        }
        let Some(reel) = &mut self.memory else { return Ok(None) };
        reel.step(step)?;
        if reel.file.size() > MOST { self.end() } else { Ok(None) }
    }
}

/// `run-2.mcap` of `run.mcap`.
pub fn numbered(path: &Path, number: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{stem}-{number}");
    let name = path.extension().map_or(name.clone(), |ending| format!("{name}.{}", ending.to_string_lossy()));
    path.with_file_name(name)
}
