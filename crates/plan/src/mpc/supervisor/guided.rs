//! A supervisor that a roadmap leads.

use candle_core::Result;

use super::Supervisor;
use crate::mpc::roadmap::Advice;
use crate::mpc::supervision::Doing;

impl Supervisor {
    /// Does what the roadmap says, if it leads, or if the goal is new: whether it does.
    pub(super) fn is_guided(&mut self, is_new: bool, q: &[f64]) -> Result<bool> {
        if self.guide.as_ref().is_none_or(|guide| guide.walk.is_none()) {
            return if is_new { self.is_led(q) } else { Ok(false) };
        }
        let here = self.put_down(true, q)?;
        let Some(guide) = &mut self.guide else { return Ok(false) };
        let advice = guide.follow(&self.task, q, &self.episode.goal, here)?;
        self.heed(advice)
    }

    /// Looks for a way by the roadmap, if there is one: whether there is a way.
    pub(super) fn is_led(&mut self, q: &[f64]) -> Result<bool> {
        let Some(guide) = &mut self.guide else { return Ok(false) };
        let advice = guide.lead(&self.task, q, &self.episode.goal)?;
        self.heed(advice)
    }

    /// Plans for what the roadmap says: whether it leads.
    fn heed(&mut self, advice: Advice) -> Result<bool> {
        let walk = self.guide.as_ref().and_then(|guide| guide.walk.as_ref());
        match (advice, walk.map(|walk| (walk.doing(), walk.goal.clone()))) {
            (Advice::Same, _) => Ok(true),
            (Advice::Other, Some((doing, goal))) => self.begin(doing, goal).map(|()| true),
            _ => {
                (self.least, self.idle) = (f64::INFINITY, 0);
                self.begin(Doing::Goal, self.episode.goal.clone()).map(|()| false)
            }
        }
    }
}
