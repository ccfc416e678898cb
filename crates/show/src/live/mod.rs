//! A live scene in the browser. One thread steps the world; one thread per client carries frames and commands.
//!
//! ```text
//! client ── commands ──▶ bounded queue ──▶ simulator ──▶ the newest frame ──▶ every client
//! ```
//!
//! With a task, another thread plans the coming period while the simulator runs the current one.
//!
//! A slow client misses frames but does not delay others. A client that reads nothing is dropped. Pages of other
//! origins are refused.

mod client;
pub(crate) mod command;
mod controls;
mod gallery;
pub(crate) mod http;
mod mirror;
mod newest;
mod pilot;
mod planner;
mod reach;
mod server;
mod simulator;
mod spring;
pub(crate) mod tape;
mod world;

pub use gallery::{Entry, Gallery};
pub use mirror::Shown;
pub use server::{LiveServer, Mirrored};
