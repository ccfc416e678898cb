//! A scene in the browser while it is simulated: one thread steps the world, and one thread per client carries frames
//! and commands.
//!
//! ```text
//! client ── commands ──▶ bounded queue ──▶ simulator ──▶ the newest frame ──▶ every client
//! ```
//!
//! With a task, another thread plans the coming period while the simulator runs the previous one.
//!
//! A slow client misses frames and delays no other. A client that reads nothing is disconnected. Pages of other origins
//! are refused.

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
