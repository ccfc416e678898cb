//! A world that somebody else steps: its states come from outside, and the newest is shown.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use candle_core::Result;
use serde_json::{Value, json};

use super::newest::Newest;
use super::world::{Order, World};
use crate::frames::{Layout, PlanSize};
use crate::recording::Recording;
use crate::source::Source;
use crate::states::{States, Watched};
use fingertip_step::step::Quasidynamic;

/// Time between two frames, s: what is shown in between is passed over.
const FRAME: Duration = Duration::from_millis(16);

/// A state that is to be shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// Time since the beginning, s.
    pub time: f64,
    /// The state (nq).
    pub q: Vec<f64>,
    /// The command (nu); empty if it is not known.
    pub u: Vec<f64>,
    /// Contact forces on B in world axes (nc, 3), N; empty if they are not known.
    pub force: Vec<f64>,
}

/// Where the state waits that is shown next.
pub type Next = Arc<Mutex<Option<Shown>>>;

/// The thread that makes frames of states.
pub struct Mirror {
    watched: Watched,
    recording: Recording,
    layout: Layout,
    next: Next,
    newest: Arc<Newest>,
}

impl Mirror {
    /// At the model's home until the first state comes.
    pub fn new(source: &Source, step: &Quasidynamic, next: Next, newest: Arc<Newest>) -> Result<Self> {
        let home = step.model().tree.home();
        let watched = Watched::new(step)?;
        let mut recording = watched.begin(source, &home)?;
        // The names of the scalars are those of a step.
        recording.steps =
            watched.records(&recording, &States { q: &home.repeat(2), time: &[0.0; 2], ..States::default() })?;
        let layout = Layout::live(&recording, PlanSize::default());
        recording.steps.clear();
        newest.set_frame(&layout.start(&recording));
        newest.set_state(&json!({ "paused": false, "recording": false }));
        Ok(Self { watched, recording, layout, next, newest })
    }

    /// A state as a step that stays there.
    fn show(&self, shown: &Shown) -> Result<()> {
        let states = States { q: &shown.q.repeat(2), time: &[0.0, shown.time], u: &shown.u, force: &shown.force };
        for record in self.watched.records(&self.recording, &states)? {
            self.newest.set_frame(&self.layout.row(&record, None));
        }
        Ok(())
    }
}

impl World for Mirror {
    fn left_out(&self) -> &[String] {
        &self.recording.left_out
    }

    fn header(&self) -> Value {
        let mut header = self.layout.header(&self.recording);
        let none = vec![false; self.recording.bodies.len()];
        header["live"] = json!({ "controls": [], "movable": none, "limbs": none, "task": null, "mirror": true });
        header
    }

    /// Shows the newest state until `stop`; pages have nothing to order.
    fn run(self, orders: &Receiver<Order>, stop: &AtomicBool) -> Result<()> {
        while !stop.load(Ordering::Relaxed) {
            match orders.recv_timeout(FRAME) {
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => {
                    let next = self.next.lock().unwrap_or_else(PoisonError::into_inner).take();
                    next.map_or(Ok(()), |next| self.show(&next))?;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(())
    }
}
