//! What a live page shows: a world that moves on a thread of its own, and what pages ask of it.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;

use candle_core::Result;
use serde_json::Value;

use super::command::Command;

/// Commands that wait, at most: a client whose command does not fit waits itself.
pub const QUEUE: usize = 256;

/// A command and the client that sends it; none when the client has gone.
pub type Order = (u64, Option<Command>);

/// A world that moves on a thread of its own.
pub trait World: Send + 'static {
    /// A line for each visual mesh that could not be read.
    fn left_out(&self) -> &[String];
    /// The page's data besides the frames, as JSON: the recording's header, controls, movable bodies, limbs and task.
    fn header(&self) -> Value;
    /// Goes on until `stop`; orders go first.
    fn run(self, orders: &Receiver<Order>, stop: &AtomicBool) -> Result<()>;
}
