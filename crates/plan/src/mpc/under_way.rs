//! Commands under way: with latency, what was commanded some time ago is what happens now.
//!
//! With a latency of m steps of the model, and n steps in a control period, the command of a period is in effect from m
//! steps after the period's beginning on, for n steps.

use std::collections::VecDeque;

/// The longest latency, in control periods.
pub const LONGEST: usize = 32;

/// Commands that were given, at least one.
#[derive(Clone, Debug)]
pub struct UnderWay {
    /// Commands (nu each), the newest last.
    given: VecDeque<Vec<f64>>,
}

impl UnderWay {
    /// Commands that were given elsewhere, the newest last; none if there is not one.
    pub fn of(given: Vec<Vec<f64>>) -> Option<Self> {
        (!given.is_empty()).then(|| Self { given: given.into() })
    }

    /// The commands that were given, the newest last.
    pub fn given(&self) -> impl Iterator<Item = &[f64]> {
        self.given.iter().map(Vec::as_slice)
    }

    /// Before the first command the plant holds this one (nu).
    pub fn new(u: &[f64]) -> Self {
        Self { given: VecDeque::from([u.to_vec()]) }
    }

    /// The newest command (nu).
    pub fn newest(&self) -> &[f64] {
        self.before(0)
    }

    /// Adds a command (nu).
    pub fn give(&mut self, u: &[f64]) {
        self.given.push_back(u.to_vec());
        if self.given.len() > LONGEST + 2 {
            self.given.pop_front();
        }
    }

    /// Replaces the command that was in effect at the end of the period that the newest command belongs to: the plant
    /// followed this one (nu).
    pub fn correct(&mut self, latency: usize, hold: usize, u: &[f64]) {
        // Before the first command there is nothing to replace.
        if let Some(place) = self.given.len().checked_sub(1 + latency / hold) {
            self.given[place] = u.to_vec();
        }
    }

    /// The commands that are held from now on until a command that is given now takes effect, with numbers of steps,
    /// `latency` in all.
    pub fn ahead(&self, latency: usize, hold: usize) -> Vec<(&[f64], usize)> {
        let (whole, rest) = (latency / hold, latency % hold);
        let begun = (rest > 0).then(|| (self.before(whole), rest));
        begun.into_iter().chain((0..whole).rev().map(|k| (self.before(k), hold))).collect()
    }

    /// The commands that are held in the period that the newest command belongs to, with numbers of steps, `hold` in
    /// all.
    pub fn during(&self, latency: usize, hold: usize) -> Vec<(&[f64], usize)> {
        let (whole, rest) = (latency / hold, latency % hold);
        let begun = (rest > 0).then(|| (self.before(whole + 1), rest));
        begun.into_iter().chain([(self.before(whole), hold - rest)]).collect()
    }

    /// The command of `periods` before the newest, or the first.
    fn before(&self, periods: usize) -> &[f64] {
        &self.given[self.given.len().saturating_sub(1 + periods)]
    }
}
