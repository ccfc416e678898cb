//! The thread that plans, while the world goes on.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

use candle_core::Result;

use fingertip_plan::mpc::task::Episode;
use fingertip_plan::mpc::{Answer, Measured, Supervisor, Task};

/// A question for the command of the coming period.
pub struct Ask {
    /// Number of the question, which comes back with the answer.
    pub round: u64,
    /// If given, a new supervisor begins this episode.
    pub episode: Option<Episode>,
    /// The state now (nq).
    pub q: Vec<f64>,
    /// Is the answer for the period after the one that begins now, with the command that was answered last?
    pub is_ahead: bool,
}

/// A thread with a supervisor over a controller.
#[derive(Debug)]
pub struct Planner {
    asks: Option<Sender<Ask>>,
    answers: Receiver<(u64, Result<Answer>)>,
    thread: Option<JoinHandle<()>>,
}

impl Planner {
    pub fn start(task: Arc<Task>) -> Self {
        let (asks, questions) = channel::<Ask>();
        let (to, answers) = channel();
        let thread = std::thread::spawn(move || {
            let mut supervisor = None;
            for ask in questions {
                let round = ask.round;
                // After the world's end no answer is awaited.
                if to.send((round, answer(&task, &mut supervisor, ask))).is_err() {
                    break;
                }
            }
        });
        Self { asks: Some(asks), answers, thread: Some(thread) }
    }

    /// Asks. The question waits until those before it are answered.
    pub fn ask(&self, ask: Ask) -> Result<()> {
        self.asks.as_ref().ok_or_else(gone)?.send(ask).map_err(|_| gone())
    }

    /// The answer to a round's question, if it is there; what was asked before is forgotten.
    pub fn answer(&self, round: u64) -> Result<Option<Answer>> {
        loop {
            match self.answers.try_recv() {
                Ok((of, answer)) if of == round => return answer.map(Some),
                Ok(_) => {}
                Err(TryRecvError::Empty) => return Ok(None),
                Err(TryRecvError::Disconnected) => return Err(gone()),
            }
        }
    }
}

impl Drop for Planner {
    fn drop(&mut self) {
        self.asks = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn gone() -> candle_core::Error {
    candle_core::Error::msg("the planner has stopped unexpectedly")
}

/// The command for where the model will be at the end of the period that begins now, or for where it is.
fn answer(task: &Task, supervisor: &mut Option<Supervisor>, ask: Ask) -> Result<Answer> {
    let Ask { episode, q, is_ahead, .. } = ask;
    if let Some(episode) = episode {
        *supervisor = Some(Supervisor::new(task, &episode)?);
    }
    let supervisor = supervisor.as_mut().ok_or_else(|| candle_core::Error::msg("expected an episode first"))?;
    let latency = Some(if is_ahead { task.period() } else { 0.0 });
    supervisor.answer(&Measured { q, latency, ..Measured::default() }, None)
}
