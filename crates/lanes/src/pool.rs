//! The thread pool that works on batches of worlds.
//!
//! A forked process does not inherit its parent's threads: rayon's global pool would have none there, and waiting for
//! it would never end. So each process makes a pool of its own.

use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The pool, and the id of the process that made it.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Runs `work` on this process's thread pool, which has as many threads as rayon's global pool. Inside a pool it runs
/// on the calling thread.
pub fn share<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if rayon::current_thread_index().is_some() {
        return work();
    }
    match own() {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// The pool of this process; `None` if the system provides no threads.
fn own() -> Option<Arc<ThreadPool>> {
    let mut own = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = process::id();
    if let Some((_, pool)) = own.as_ref().filter(|(maker, _)| *maker == process) {
        return Some(pool.clone());
    }
    let threads = ThreadPoolBuilder::new().num_threads(rayon::current_num_threads());
    let pool = Arc::new(threads.build().ok()?);
    // Dropping a pool signals its threads, and the threads of another process do not exist here. So an inherited pool
    // is leaked.
    std::mem::forget(own.replace((process, pool.clone())));
    Some(pool)
}
