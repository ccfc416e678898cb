//! The threads that batches are shared among.
//!
//! Threads do not follow a process into its fork: rayon's global pool is then a pool of threads that are not there, and whoever waits
//! for it waits for ever. Each process has a pool of its own here.

use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The pool, and the process that made it.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Does work on as many threads as rayon's global pool has: on the caller's, if it is one of a pool's, else on the process's own.
pub fn share<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if rayon::current_thread_index().is_some() {
        return work();
    }
    match own() {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// This process's pool; none where the system gives no threads.
fn own() -> Option<Arc<ThreadPool>> {
    let mut own = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = process::id();
    if let Some((_, pool)) = own.as_ref().filter(|(maker, _)| *maker == process) {
        return Some(pool.clone());
    }
    let threads = ThreadPoolBuilder::new().num_threads(rayon::current_num_threads());
    let pool = Arc::new(threads.build().ok()?);
    // To drop a pool is to tell its threads, and those of another process are not there.
    std::mem::forget(own.replace((process, pool.clone())));
    Some(pool)
}
