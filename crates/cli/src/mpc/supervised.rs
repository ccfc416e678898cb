//! The actions of a supervisor and their reasons, as text.

use std::collections::BTreeMap;

use fingertip::mpc::Supervisor;
use serde::Serialize;

/// The number of each of a supervisor's actions; nothing without a supervisor.
#[derive(Serialize)]
pub struct Supervised {
    does: BTreeMap<&'static str, usize>,
    stalls: BTreeMap<String, usize>,
}

impl Supervised {
    pub fn new(supervisor: &Supervisor) -> Self {
        let does = supervisor.times().iter().map(|(doing, n)| (doing.name(), *n)).collect();
        Self { does, stalls: supervisor.stalls().clone() }
    }
}

/// The supervisor's present action and its reason, for the start of a line; nothing without a supervisor.
pub fn now(supervisor: &Supervisor) -> String {
    if supervisor.times().is_empty() {
        return String::new();
    }
    let why = supervisor.stall().map_or(String::new(), |stall| format!(" ({stall})"));
    format!("{}{why}, ", supervisor.doing().name())
}

/// A line of all that was done, and one of the stalls.
pub fn report<'a>(all: impl Iterator<Item = &'a Supervised>) -> String {
    let (mut does, mut stalls) = (BTreeMap::new(), BTreeMap::new());
    for one in all {
        one.does.iter().for_each(|(name, n)| *does.entry(*name).or_insert(0) += n);
        one.stalls.iter().for_each(|(why, n)| *stalls.entry(why.as_str()).or_insert(0) += n);
    }
    let line = |what: &str, counts: BTreeMap<&str, usize>| {
        let counts: Vec<String> = counts.iter().map(|(name, n)| format!("{n} {name}")).collect();
        if counts.is_empty() { String::new() } else { format!("{what}: {}\n", counts.join(", ")) }
    };
    line("supervisor", does) + &line("stalls", stalls)
}
