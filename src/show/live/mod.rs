//! A scene in the browser while it is simulated: one thread steps the world, one per client carries frames and commands.
//!
//! ```text
//! client ── commands ──▶ bounded queue ──▶ simulator ──▶ the newest frame ──▶ every client
//! ```
//!
//! With a task, a thread of its own plans the coming period while the simulator goes through the one before it.
//!
//! A slow client misses frames and delays no other; one that reads nothing is dropped. Pages of other origins are refused.

mod client;
mod command;
mod controls;
mod http;
mod newest;
mod pilot;
mod planner;
mod reach;
mod server;
mod simulator;
mod spring;

pub use server::LiveServer;
