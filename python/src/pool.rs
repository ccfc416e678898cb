//! The threads of one object.

use std::mem::forget;
use std::num::NonZeroUsize;
use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::arrays::count;

/// So few worlds are computed where the call comes from: another thread would first have to wake up.
const FEW: usize = 32;

/// A number of threads, or the library's choice. The threads start when they are first needed.
#[derive(Debug)]
pub struct Pool {
    threads: Option<NonZeroUsize>,
    /// The threads, and the process that they belong to: they do not follow it into its fork.
    own: Mutex<Option<(u32, Arc<ThreadPool>)>>,
}

impl Pool {
    /// As many threads as are asked for, or the library's choice.
    pub fn new(threads: Option<i64>) -> PyResult<Self> {
        let threads = threads.map(|n| count("threads", n)).transpose()?;
        Ok(Self { threads: threads.and_then(NonZeroUsize::new), own: Mutex::new(None) })
    }

    /// The number asked for.
    pub fn threads(&self) -> Option<usize> {
        self.threads.map(NonZeroUsize::get)
    }

    /// Does work for some worlds on these threads.
    pub fn run<T: Send>(&self, worlds: usize, work: impl FnOnce() -> T + Send) -> T {
        match self.threads.filter(|_| worlds > FEW).and_then(|threads| self.own(threads)) {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// This process's threads; none where the system gives none.
    fn own(&self, threads: NonZeroUsize) -> Option<Arc<ThreadPool>> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let process = process::id();
        if let Some((_, pool)) = own.as_ref().filter(|(maker, _)| *maker == process) {
            return Some(pool.clone());
        }
        let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads.get()).build().ok()?);
        // To drop a pool is to tell its threads, and those of another process are not there.
        forget(own.replace((process, pool.clone())));
        Some(pool)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let own = self.own.get_mut().unwrap_or_else(PoisonError::into_inner);
        if own.as_ref().is_some_and(|(maker, _)| *maker != process::id()) {
            forget(own.take());
        }
    }
}
