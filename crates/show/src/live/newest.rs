//! The newest frame and state, from the simulator to all clients.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The newest frame and state, shared by the simulator and all clients. A client sends them on when they are newer than
/// its last ones.
#[derive(Debug, Default)]
pub struct Newest {
    news: Mutex<News>,
    /// The number of clients that somebody looks at.
    seen: AtomicUsize,
}

/// A client that somebody looks at, until it is dropped.
#[derive(Debug)]
pub struct Look<'a>(&'a AtomicUsize);

impl Drop for Look<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A frame (little-endian 32-bit floats) and a state (JSON), each with its number.
#[derive(Clone, Debug)]
pub struct News {
    pub frame: Arc<[u8]>,
    pub n_frames: u64,
    pub state: Arc<str>,
    pub n_states: u64,
    /// The last recording that has ended: a file in MCAP.
    pub recording: Option<Arc<[u8]>>,
}

impl Default for News {
    fn default() -> Self {
        Self { frame: Arc::from([]), n_frames: 0, state: Arc::from("{}"), n_states: 0, recording: None }
    }
}

impl Newest {
    /// Counts a client that somebody looks at.
    pub fn look(&self) -> Look<'_> {
        self.seen.fetch_add(1, Ordering::Relaxed);
        Look(&self.seen)
    }

    /// Does anybody look?
    pub fn is_seen(&self) -> bool {
        self.seen.load(Ordering::Relaxed) > 0
    }

    pub fn read(&self) -> News {
        self.news.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set_frame(&self, row: &[f32]) {
        let frame = row.iter().flat_map(|x| x.to_le_bytes()).collect();
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        (news.frame, news.n_frames) = (frame, news.n_frames + 1);
    }

    pub fn set_recording(&self, file: Vec<u8>) {
        self.news.lock().unwrap_or_else(PoisonError::into_inner).recording = Some(file.into());
    }

    pub fn set_state(&self, state: &serde_json::Value) {
        let state = state.to_string().into();
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        (news.state, news.n_states) = (state, news.n_states + 1);
    }
}
