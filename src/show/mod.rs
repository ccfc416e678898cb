//! Floor 9: what one can look at: recordings of rollouts, plots of them, and what became of the objects.

mod hold;
#[cfg(feature = "cli")]
mod plot;
mod record;
mod recording;

pub use hold::{Hold, Touch, Verdict, touches};
#[cfg(feature = "cli")]
pub use plot::plot;
pub use record::{Source, record};
pub use recording::{
    BodyRecord, Configuration, ObjectRecord, PairRecord, ParamsRecord, Recording, Role, ShapeRecord, StepRecord,
};
