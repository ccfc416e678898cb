//! Floor 9: what people look at: recordings of rollouts, plots of them, other charts, and where the objects ended up.
//!
//! # Recordings
//!
#![doc = include_str!("../../docs/recordings.md")]

mod cast;
#[cfg(feature = "cli")]
mod channels;
#[cfg(feature = "cli")]
mod chart;
mod energy;
#[cfg(feature = "cli")]
mod export;
#[cfg(feature = "cli")]
mod file;
#[cfg(feature = "cli")]
mod foxglove;
#[cfg(feature = "cli")]
mod frames;
#[cfg(feature = "cli")]
mod live;
#[cfg(feature = "cli")]
mod load;
#[cfg(feature = "cli")]
mod mcap;
mod observe;
#[cfg(feature = "cli")]
mod page;
mod plan;
#[cfg(feature = "cli")]
mod plot;
#[cfg(feature = "cli")]
mod protobuf;
mod record;
mod recording;
#[cfg(feature = "rerun")]
mod rrd;
#[cfg(feature = "cli")]
mod save;
#[cfg(feature = "cli")]
mod schema;
mod source;
mod unrest;
mod verdict;

#[cfg(feature = "cli")]
pub use chart::{Chart, Panel};
#[cfg(feature = "cli")]
pub use export::{write_csv, write_npz};
#[cfg(feature = "cli")]
pub use live::LiveServer;
#[cfg(feature = "cli")]
pub use load::Loaded;
#[cfg(feature = "cli")]
pub use plot::plot;
pub use record::{Recorder, StepResult, record};
pub use recording::{
    BodyRecord, Configuration, GoalRecord, ObjectRecord, PairRecord, ParamsRecord, PlanRecord, Recording, Role,
    ShapeRecord, StepRecord,
};
#[cfg(feature = "rerun")]
pub use rrd::write_rrd;
#[cfg(feature = "cli")]
pub use save::RecordingWriter;
pub use source::Source;
pub use unrest::{DeepAgain, EnergyReport, Motion, Mover, deep_again, still_moving};
pub use verdict::{ContactForce, ObjectReport, Verdict, contact_forces, touching_gap};
