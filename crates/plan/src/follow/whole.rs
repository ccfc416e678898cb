//! A motion as a whole.

use std::time::Instant;

use candle_core::Result;

use fingertip_shapes::Error;
use fingertip_step::model::Model;

use super::follower::{Follower, Options};
use super::motion::Motion;
use super::target::Map;

/// A joint within this of an end of its range is at it, rad or m.
const AT_LIMIT: f64 = 1e-6;

/// A motion that a hand followed.
#[derive(Clone, Debug)]
pub struct Followed {
    /// Times of the frames (n), s.
    pub time: Vec<f64>,
    /// Configurations (n, nq), rad and m.
    pub q: Vec<f64>,
    /// Commands (n, nu), rad and m.
    pub u: Vec<f64>,
    /// The targets' names, in the order of the columns of `errors`.
    pub targets: Vec<String>,
    /// How far each target was missed (n, targets), m; NaN where it had less than half its weight.
    pub errors: Vec<f64>,
    /// How much larger the hand's vectors are than the keypoints'.
    pub scales: Vec<f64>,
    /// The least gap of own pairs in each frame (n), m; none where none was near.
    pub gaps: Vec<Option<f64>>,
    /// The number of own pairs.
    pub n_pairs: usize,
    /// The joints that moved, and in how many frames each was at an end of its range.
    pub at_limits: Vec<(String, usize)>,
    /// Steps of Gauss and Newton in each frame (n).
    pub iterations: Vec<usize>,
    /// Time that each frame took (n), s.
    pub seconds: Vec<f64>,
}

impl Followed {
    /// Of a target, the mean and the largest error, m, over frames in which it had at least half its weight, and their
    /// number.
    pub fn error(&self, target: usize) -> (f64, f64, usize) {
        let own = self.errors.iter().skip(target).step_by(self.targets.len()).filter(|e| !e.is_nan());
        let (sum, most, n) = own.fold((0.0, 0.0_f64, 0), |(sum, most, n), &e| (sum + e, most.max(e), n + 1));
        (sum / f64::from(n.max(1)), most, n as usize)
    }

    /// The least gap of own pairs over all frames, m; none if none was ever near.
    pub fn least_gap(&self) -> Option<f64> {
        self.gaps.iter().flatten().copied().reduce(f64::min)
    }
}

/// Follows a motion from its first frame to its last. The hand begins at home, and the first frame is not smoothed.
///
/// # Errors
/// As [`Follower::new`] and [`Follower::step`], or if the motion has no keypoint that the map asks for.
pub fn follow(model: &Model, motion: &Motion, map: &Map, options: &Options) -> Result<Followed> {
    let map = Map { keypoints: motion.keypoints.clone(), ..map.clone() };
    let within = |error: candle_core::Error| {
        candle_core::Error::from(Error::invalid(motion.name.clone(), fingertip_shapes::message(&error)))
    };
    let mut follower = Follower::new(model, &map, options)?;
    follower.measure(motion.frames.iter().map(Vec::as_slice)).map_err(within)?;
    let mut all = Followed {
        time: motion.time.clone(),
        q: Vec::new(),
        u: Vec::new(),
        targets: map.targets.iter().map(|target| target.name.clone()).collect(),
        errors: Vec::new(),
        scales: follower.scales().into_iter().flatten().collect(),
        gaps: Vec::new(),
        n_pairs: follower.n_pairs(),
        at_limits: follower.joints().map(|(name, ..)| (name.to_owned(), 0)).collect(),
        iterations: Vec::new(),
        seconds: Vec::new(),
    };
    let usual = motion.time.get(1).map_or(1.0, |second| second - motion.time[0]);
    for (k, frame) in motion.frames.iter().enumerate() {
        let dt = if k > 0 { motion.time[k] - motion.time[k - 1] } else { usual };
        let start = Instant::now();
        follower.step(frame, dt).map_err(within)?;
        all.seconds.push(start.elapsed().as_secs_f64());
        all.q.extend_from_slice(follower.q());
        all.u.extend_from_slice(follower.u());
        all.errors.extend_from_slice(follower.errors());
        all.gaps.push(follower.gap());
        all.iterations.push(follower.iterations());
        for ((_, x, (low, high)), (_, n)) in follower.joints().zip(&mut all.at_limits) {
            *n += usize::from(x <= low + AT_LIMIT || x >= high - AT_LIMIT);
        }
    }
    Ok(all)
}
