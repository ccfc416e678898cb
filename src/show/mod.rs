//! Floor 9: what one can look at: recordings of rollouts, plots of them, charts of anything, and what became of the objects.

#[cfg(feature = "cli")]
mod chart;
mod hold;
#[cfg(feature = "cli")]
mod plot;
mod record;
mod recording;

#[cfg(feature = "cli")]
pub use chart::{Chart, Panel};
pub use hold::{Hold, Touch, Verdict, touches};
#[cfg(feature = "cli")]
pub use plot::plot;
pub use record::{Source, record};
pub use recording::{
    BodyRecord, Configuration, ObjectRecord, PairRecord, ParamsRecord, Recording, Role, ShapeRecord, StepRecord,
};
