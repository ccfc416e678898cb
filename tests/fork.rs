//! A process that forks after a step can step in the child: threads do not follow it there.
#![cfg(unix)]

use std::time::{Duration, Instant};

use candle_core::{DType, Device, Tensor};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::step::Quasidynamic;

/// More worlds than one thread takes at a time.
const WORLDS: usize = 256;
/// Longest time for a child's steps, thousands of times what they take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The C library's own, which every program is linked to.
mod libc {
    pub const WNOHANG: i32 = 1;
    pub const SIGKILL: i32 = 9;

    unsafe extern "C" {
        pub fn fork() -> i32;
        pub fn _exit(status: i32) -> !;
        pub fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
        pub fn kill(process: i32, signal: i32) -> i32;
    }
}

/// q₊ of many worlds, to the last bit.
fn bits(step: &Quasidynamic) -> Vec<u64> {
    let tree = &step.model().tree;
    let u: Vec<f64> = tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| c.home[0]).collect();
    let world = |row: &[f64], w: usize| row.iter().map(|x| x + 1e-4 * w as f64).collect::<Vec<_>>();
    let rows = |row: &[f64]| {
        let all: Vec<f64> = (0..WORLDS).flat_map(|w| world(row, w)).collect();
        Tensor::from_vec(all, (WORLDS, row.len()), &Device::Cpu).unwrap()
    };
    let q_next = step.step(&rows(&tree.home()), &rows(&u)).unwrap().q_next;
    q_next.flatten_all().unwrap().to_vec1::<f64>().unwrap().into_iter().map(f64::to_bits).collect()
}

/// Does the work in a child of this process; is it true there, and in time?
fn holds_in_a_child(work: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child only steps, in memory of its own, and ends without what this process would do at its end.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no fork");
    if child == 0 {
        let holds = work();
        // SAFETY: ends this process, and nothing else.
        unsafe { libc::_exit(i32::from(!holds)) };
    }
    let (begin, mut status) = (Instant::now(), 0);
    loop {
        // SAFETY: the child is this process's own, and the status has a place.
        let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
        if ended == child {
            // Of an exit with 0, and of nothing else.
            return status == 0;
        }
        if begin.elapsed() > PATIENCE {
            // SAFETY: as above.
            unsafe { (libc::kill(child, libc::SIGKILL), libc::waitpid(child, &raw mut status, 0)) };
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn steps_go_on_in_a_child_and_in_its_child() {
    // Two threads on any machine.
    rayon::ThreadPoolBuilder::new().num_threads(2).build_global().unwrap();
    let scene = Scene::load("assets/scenes/push.toml").unwrap();
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let here = bits(&step);
    let in_child = || bits(&step) == here && holds_in_a_child(|| bits(&step) == here);
    assert!(holds_in_a_child(in_child), "the child waits for threads that are not there");
    assert!(bits(&step) == here);
}
