//! Visualisation and analysis: recordings of rollouts, plots, charts, the live page, and reports on where the objects
//! ended up.
//!
//! # Recordings
//!
#![doc = include_str!("../docs/recordings.md")]
#![deny(missing_docs)]

mod cast;
#[cfg(feature = "full")]
mod channels;
#[cfg(feature = "full")]
mod chart;
mod contacts;
mod energy;
#[cfg(feature = "full")]
mod export;
mod far_watch;
#[cfg(feature = "full")]
mod file;
#[cfg(feature = "full")]
mod fit;
#[cfg(feature = "full")]
mod foxglove;
#[cfg(feature = "full")]
mod frames;
#[cfg(feature = "full")]
mod live;
#[cfg(feature = "full")]
mod load;
#[cfg(feature = "full")]
mod mcap;
#[cfg(feature = "full")]
mod npz;
mod observe;
#[cfg(feature = "full")]
mod page;
mod passage;
mod plan;
#[cfg(feature = "full")]
mod plot;
#[cfg(feature = "full")]
mod protobuf;
mod record;
mod recording;
#[cfg(feature = "rerun")]
mod rrd;
#[cfg(feature = "full")]
mod save;
#[cfg(feature = "full")]
mod schema;
mod skin;
mod source;
mod states;
mod unrest;
mod verdict;

#[cfg(feature = "full")]
pub use chart::{Chart, Panel};
pub use contacts::{ContactRecord, StepContacts};
#[cfg(feature = "full")]
pub use export::{write_csv, write_npz};
pub use far_watch::FarWatch;
#[cfg(feature = "full")]
pub use fit::{plot_fit, read_log, write_fit};
#[cfg(feature = "full")]
pub use live::{Entry, Gallery, LiveServer, Mirrored, Shown};
#[cfg(feature = "full")]
pub use load::Loaded;
pub use passage::{Passage, passages};
pub use plan::Expected;
#[cfg(feature = "full")]
pub use plot::plot;
pub use record::{Recorder, StepResult, record};
pub use recording::{
    BodyRecord, Configuration, GoalRecord, ObjectRecord, PadRecord, PairRecord, ParamsRecord, PlanRecord, Recording,
    Role, ShapeRecord, StepRecord, TaxelRecord,
};
#[cfg(feature = "rerun")]
pub use rrd::write_rrd;
#[cfg(feature = "full")]
pub use save::RecordingWriter;
pub use source::Source;
pub use states::States;
pub use unrest::{DeepAgain, EnergyReport, FarStep, Motion, Mover, deep_again, far_steps, still_moving};
pub use verdict::{ContactForce, ObjectReport, Verdict, contact_forces, touching_gap};

/// For the repository's tests, and no part of the interface.
#[doc(hidden)]
#[cfg(feature = "full")]
pub mod inner {
    pub use crate::live::command::Command;
    pub use crate::live::http::Request;
    pub use crate::live::tape::numbered;
    pub use crate::page::{MODULES, fill};
    pub use crate::protobuf::{Message, Value, fields};
}
