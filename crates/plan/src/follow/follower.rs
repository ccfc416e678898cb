//! One frame after the other.

use candle_core::Result;
use nalgebra::{DMatrix, DVector, Matrix3, Vector3};

use fingertip_shapes::Error;
use fingertip_step::kinematics::Points;
use fingertip_step::model::Model;

use super::joints::moved;
use super::problem::{Goal, Linear, Problem, Weights};
use super::reach::reach;
use super::target::{Map, Palm, Pinch, Scale, Target, axes};
use crate::mpc::box_qp;

/// Damping of a step, m² per rad²: at first, at least, at most, and what it falls and grows by.
const DAMPING: [f64; 3] = [1e-6, 1e-12, 1e3];
const EASED: f64 = 0.2;
const RAISED: f64 = 10.0;
/// A frame is done where a step gains less than this part of the objective.
const GAIN: f64 = 1e-5;

/// The error of a target is said where it has this part of its weight.
const SEEN: f64 = 0.5;

/// How a hand follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Weight of changes from frame to frame, m/rad: a change of 1 rad counts as a target that is off by this.
    pub smooth: f64,
    /// Targets that are off by more than this, m, pull no harder.
    pub huber: f64,
    /// Least gap of the hand's own parts, m; none lets them overlap.
    pub margin: Option<f64>,
    /// Weight of what is missing of the margin, beside targets of weight 1.
    pub stiffness: f64,
    /// Do joints move no faster than their robot's file says?
    pub speed_limits: bool,
    /// Keypoints pass through a low-pass filter with this cutoff, Hz.
    pub cutoff: Option<f64>,
    /// Steps of Gauss and Newton for a frame, at most; ten times as many for the first.
    pub max_iterations: usize,
    /// A frame is done where a step moves no joint by more than this, rad or m.
    pub tolerance: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            smooth: 0.02,
            huber: 0.02,
            margin: Some(1e-3),
            stiffness: 1000.0,
            speed_limits: true,
            cutoff: None,
            max_iterations: 10,
            tolerance: 1e-6,
        }
    }
}

impl Options {
    fn check(&self) -> fingertip_shapes::Result<()> {
        let wrong = |place: &str, message: String| Err(Error::invalid(place, message));
        for (name, value) in [("huber", self.huber), ("stiffness", self.stiffness), ("tolerance", self.tolerance)] {
            if !(value.is_finite() && value > 0.0) {
                return wrong(name, format!("expected a positive number, got {value}"));
            }
        }
        for (name, value) in [("smooth", Some(self.smooth)), ("margin", self.margin)] {
            if let Some(value) = value.filter(|value| !value.is_finite() || *value < 0.0) {
                return wrong(name, format!("expected a number that is not negative, got {value}"));
            }
        }
        if let Some(cutoff) = self.cutoff.filter(|cutoff| !cutoff.is_finite() || *cutoff <= 0.0) {
            return wrong("cutoff", format!("expected a positive frequency in Hz, got {cutoff}"));
        }
        if self.max_iterations == 0 {
            return wrong("max_iterations", "expected at least 1, got 0".to_owned());
        }
        Ok(())
    }
}

/// A target, with places in the motion's rows.
#[derive(Debug)]
struct Aim {
    target: Target,
    keypoints: (Option<usize>, usize),
    /// How much longer the vector is than that of the keypoints; not known before the first frame if it is the hand's
    /// reach over the length along these bones.
    scale: Option<f64>,
    reach: Option<(f64, Vec<usize>)>,
}

/// The palm of the hand, and places in the motion's rows.
#[derive(Debug)]
struct Turned {
    keypoints: [usize; 3],
    wrist: Vector3<f64>,
    axes: Matrix3<f64>,
    /// The rotation from keypoints to the hand, as the last frame had it.
    turn: Option<Matrix3<f64>>,
}

/// A hand that follows keypoints, frame by frame.
#[derive(Debug)]
pub struct Follower {
    problem: Problem,
    aims: Vec<Aim>,
    palm: Option<Turned>,
    mirror: bool,
    options: Options,
    n_keypoints: usize,
    x: DVector<f64>,
    is_begun: bool,
    damping: f64,
    filtered: Option<Vec<[f64; 3]>>,
    q: Vec<f64>,
    u: Vec<f64>,
    errors: Vec<f64>,
    gap: Option<f64>,
    iterations: usize,
}

impl Follower {
    /// The robot of a scene, at home.
    ///
    /// # Errors
    /// If a name of the map is none of the scene's or of the motion's, a number is not possible, or nothing moves.
    pub fn new(model: &Model, map: &Map, options: &Options) -> Result<Self> {
        options.check()?;
        if map.targets.is_empty() {
            return Err(Error::invalid("follow", "expected at least one target").into());
        }
        map.targets.iter().try_for_each(Target::check)?;
        let problem = Problem::new(model, map, moved(&model.tree, &map.hold)?)?;
        let palm = map.palm.as_ref().map(|palm| turned(model, map, palm)).transpose()?;
        let aims = map.targets.iter().map(|target| aim(model, map, target)).collect::<Result<_>>()?;
        let x = DVector::from_iterator(problem.leads.len(), problem.leads.iter().map(|lead| lead.home));
        let q = problem.configuration(&x);
        Ok(Self {
            aims,
            palm,
            mirror: map.mirror,
            options: options.clone(),
            n_keypoints: map.keypoints.len(),
            u: model.tree.home_command(),
            errors: vec![f64::NAN; map.targets.len()],
            x,
            is_begun: false,
            damping: DAMPING[0],
            filtered: None,
            gap: None,
            iterations: 0,
            q,
            problem,
        })
    }

    /// Begins anew, at q (nq numbers) or at home.
    ///
    /// # Errors
    /// If q has another length or is not finite.
    pub fn reset(&mut self, q: Option<&[f64]>) -> Result<()> {
        if let Some(q) = q {
            let n = self.q.len();
            if q.len() != n || q.iter().any(|x| !x.is_finite()) {
                return Err(Error::invalid("q", format!("expected {n} finite numbers, got {}", q.len())).into());
            }
        }
        for (x, lead) in self.x.iter_mut().zip(&self.problem.leads) {
            *x = q.map_or(lead.home, |q| q[lead.moves[0].q].clamp(lead.range.0, lead.range.1));
        }
        (self.is_begun, self.filtered, self.damping) = (false, None, DAMPING[0]);
        self.update()
    }

    /// Sets scales that depend on how long the keypoints' bones are: by the median over frames. Without it they come
    /// from the first frame.
    ///
    /// # Errors
    /// If a bone has no length in any frame.
    pub fn measure<'a>(&mut self, frames: impl Iterator<Item = &'a [[f64; 3]]> + Clone) -> Result<()> {
        for aim in &mut self.aims {
            let Some((reach, bones)) = aim.reach.as_ref().filter(|_| aim.scale.is_none()) else { continue };
            let mut lengths: Vec<f64> = frames.clone().map(|frame| length(frame, bones)).filter(|l| *l > 0.0).collect();
            lengths.sort_by(f64::total_cmp);
            let Some(&median) = lengths.get(lengths.len() / 2) else {
                let message = format!("target \"{}\": expected bones with a length, got none", aim.target.name);
                return Err(Error::invalid("scale", message).into());
            };
            aim.scale = Some(reach / median);
        }
        Ok(())
    }

    /// Follows one frame of keypoints, m, `dt` seconds after the last one. A keypoint that is not known is NaN: what
    /// needs it has no weight in this frame. The result is [`Follower::u`], [`Follower::q`].
    ///
    /// # Errors
    /// If there is another number of keypoints, one is infinite, dt is not positive, or the palm's are on a line.
    pub fn step(&mut self, keypoints: &[[f64; 3]], dt: f64) -> Result<()> {
        let wrong = |message: String| Err(Error::invalid("keypoints", message).into());
        if keypoints.len() != self.n_keypoints {
            return wrong(format!("expected {} of them, got {}", self.n_keypoints, keypoints.len()));
        }
        if keypoints.as_flattened().iter().any(|x| x.is_infinite()) {
            return wrong("expected finite numbers, or NaN for what is not known, got an infinite one".to_owned());
        }
        if !(dt.is_finite() && dt > 0.0) {
            return Err(Error::invalid("dt", format!("expected a positive time in s, got {dt}")).into());
        }
        let keypoints = self.smoothed(keypoints, dt);
        if self.aims.iter().any(|aim| aim.scale.is_none()) {
            self.measure(std::iter::once(&keypoints[..]))?;
        }
        if let Some(palm) = &mut self.palm {
            let three = palm.keypoints.map(|k| Vector3::from(keypoints[k]));
            if three.iter().all(|p| p.iter().all(|x| x.is_finite())) {
                let Some(human) = axes(three) else {
                    return wrong("expected a wrist and two knuckles that are not on a line".to_owned());
                };
                palm.turn = Some(palm.axes * human.transpose());
            }
        }
        let goals: Vec<Goal> = self.aims.iter().map(|aim| self.goal(aim, &keypoints)).collect();
        self.solve(&goals, dt)?;
        self.is_begun = true;
        Ok(())
    }

    /// The configuration (nq), rad and m. What no command moves is at home.
    pub fn q(&self) -> &[f64] {
        &self.q
    }

    /// The commands (nu), rad and m.
    pub fn u(&self) -> &[f64] {
        &self.u
    }

    /// How far each target was missed in the last frame, m; NaN where it has less than half its weight.
    pub fn errors(&self) -> &[f64] {
        &self.errors
    }

    /// The least gap of own pairs in the last frame, m; none if none was near.
    pub fn gap(&self) -> Option<f64> {
        self.gap
    }

    /// Steps of Gauss and Newton in the last frame.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// The number of own pairs that are kept apart.
    pub fn n_pairs(&self) -> usize {
        self.problem.apart.n_pairs()
    }

    /// How much larger each target's vector is than the keypoints'; none before the first frame if it is not given.
    pub fn scales(&self) -> Vec<Option<f64>> {
        self.aims.iter().map(|aim| aim.scale).collect()
    }

    /// The joints that move, each with its value and its range, rad or m.
    pub fn joints(&self) -> impl Iterator<Item = (&str, f64, (f64, f64))> {
        self.problem.leads.iter().zip(&self.x).map(|(lead, &x)| (lead.name.as_str(), x, lead.range))
    }

    /// The points at the targets' ends (n, 3) in the world, m.
    ///
    /// # Errors
    /// None that a follower's own configuration could make.
    pub fn ends(&self) -> Result<Vec<[f64; 3]>> {
        self.problem.ends(&self.x)
    }

    /// The keypoints after mirror and filter.
    fn smoothed(&mut self, keypoints: &[[f64; 3]], dt: f64) -> Vec<[f64; 3]> {
        let side = if self.mirror { -1.0 } else { 1.0 };
        let mut now: Vec<[f64; 3]> = keypoints.iter().map(|&[x, y, z]| [side * x, y, z]).collect();
        let Some(cutoff) = self.options.cutoff else { return now };
        if let Some(before) = &self.filtered {
            let share = 1.0 - (-std::f64::consts::TAU * cutoff * dt).exp();
            for (now, before) in now.as_flattened_mut().iter_mut().zip(before.as_flattened()) {
                // A keypoint that was lost begins anew.
                if before.is_finite() {
                    *now = before + share * (*now - before);
                }
            }
        }
        self.filtered = Some(now.clone());
        now
    }

    fn goal(&self, aim: &Aim, keypoints: &[[f64; 3]]) -> Goal {
        let (at, scale) = (|k: usize| Vector3::from(keypoints[k]), aim.scale.unwrap_or(1.0));
        let turn = |v: Vector3<f64>| match &self.palm {
            Some(palm) => palm.turn.map_or(v * f64::NAN, |turn| turn * v),
            None => v,
        };
        let end = at(aim.keypoints.1);
        let origin = match (aim.keypoints.0, &self.palm) {
            (Some(k), _) => at(k),
            (None, Some(palm)) => at(palm.keypoints[0]),
            (None, None) => Vector3::zeros(),
        };
        let vector = turn(end - origin);
        let (mut goal, mut weight) = (vector * scale, aim.target.weight);
        if let Some(Pinch { near, far, touch }) = aim.target.pinch {
            let distance = vector.norm();
            let share = ((far - distance) / (far - near)).clamp(0.0, 1.0);
            weight *= share * share * (3.0 - 2.0 * share);
            let way = vector.try_normalize(f64::MIN_POSITIVE).unwrap_or_else(Vector3::zeros);
            goal = way * (touch + scale * (distance - near).max(0.0));
        }
        if aim.target.from.is_none() {
            goal += self.palm.as_ref().map_or_else(Vector3::zeros, |palm| palm.wrist);
        }
        if !goal.iter().all(|x| x.is_finite()) {
            (goal, weight) = (Vector3::zeros(), 0.0);
        }
        Goal { at: goal, weight }
    }

    /// Minimises from the last x on, by the method of Levenberg and Marquardt in a box.
    fn solve(&mut self, goals: &[Goal], dt: f64) -> Result<()> {
        let options = self.options.clone();
        let weights = Weights {
            huber: options.huber,
            smooth: if self.is_begun { options.smooth * options.smooth } else { DAMPING[1] },
            apart: options.margin.map(|margin| (margin, options.stiffness)),
        };
        let before = self.x.clone();
        let range = |(lead, &x): (&super::joints::Lead, &f64)| {
            let far = lead.speed * dt;
            let free = !options.speed_limits || !self.is_begun || !far.is_finite() || far <= 0.0;
            if free { lead.range } else { (lead.range.0.max(x - far), lead.range.1.min(x + far)) }
        };
        let box_: Vec<(f64, f64)> = self.problem.leads.iter().zip(&before).map(range).collect();
        let most = if self.is_begun { options.max_iterations } else { 10 * options.max_iterations };
        let mut at = self.problem.linear(&self.x, goals, &before, &weights)?;
        let n = self.x.len();
        self.iterations = 0;
        while self.iterations < most && self.damping <= DAMPING[2] {
            self.iterations += 1;
            let around: Vec<(f64, f64)> = box_.iter().zip(&self.x).map(|(b, x)| (b.0 - x, b.1 - x)).collect();
            let damped = &at.matrix + DMatrix::identity(n, n) * self.damping;
            let Some(step) = box_qp::minimise(&damped, &at.gradient, &around, &DVector::zeros(n)) else {
                self.damping *= RAISED;
                continue;
            };
            let mut x = &self.x + &step.x;
            x.iter_mut().zip(&box_).for_each(|(x, (low, high))| *x = x.clamp(*low, *high));
            let next = self.problem.linear(&x, goals, &before, &weights)?;
            let moved = (&x - &self.x).amax();
            let gain = at.value - next.value;
            if gain > 0.0 {
                (self.x, self.damping) = (x, (self.damping * EASED).max(DAMPING[1]));
                let is_little = gain <= GAIN * at.value;
                at = next;
                if is_little {
                    break;
                }
            } else {
                self.damping *= RAISED;
            }
            if moved <= options.tolerance {
                break;
            }
        }
        self.damping = self.damping.min(DAMPING[0]);
        let Linear { errors, gap, .. } = at;
        let is_seen = |goal: &Goal, aim: &Aim| goal.weight >= SEEN * aim.target.weight;
        let errors = errors.into_iter().zip(goals).zip(&self.aims);
        self.errors = errors.map(|((e, goal), aim)| if is_seen(goal, aim) { e } else { f64::NAN }).collect();
        self.gap = gap;
        self.update()
    }

    fn update(&mut self) -> Result<()> {
        self.q = self.problem.configuration(&self.x);
        for lead in &self.problem.leads {
            self.u[lead.u] = lead.command(&self.q);
        }
        Ok(())
    }
}

/// The palm of a hand at home.
fn turned(model: &Model, map: &Map, palm: &Palm) -> Result<Turned> {
    let mut keypoints = [0; 3];
    for (k, name) in keypoints.iter_mut().zip(&palm.keypoints) {
        *k = map.keypoint(name).map_err(|error| error.within("palm"))?;
    }
    let frames = palm.places.iter().map(|place| place.frame(&model.tree).map_err(|error| error.within("palm")));
    let points = Points::new(&model.tree, &frames.collect::<fingertip_shapes::Result<Vec<_>>>()?);
    let three = points.positions(&model.tree.home())?;
    let three = [three[0], three[1], three[2]].map(Vector3::from);
    let Some(axes) = axes(three) else {
        return Err(Error::invalid("palm", "expected three points of the hand that are not on a line").into());
    };
    Ok(Turned { keypoints, wrist: three[0], axes, turn: None })
}

fn aim(model: &Model, map: &Map, target: &Target) -> Result<Aim> {
    let within = |error: Error| error.within(format!("target \"{}\"", target.name));
    let keypoint = |name: &String| map.keypoint(name).map_err(within);
    let keypoints = (target.keypoints.0.as_ref().map(keypoint).transpose()?, keypoint(&target.keypoints.1)?);
    let (scale, reach) = match (target.scale, &target.from, &map.palm) {
        (Scale::Given(scale), ..) => (Some(scale), None),
        (Scale::Auto, None, None) => {
            let message = "expected a number: a position without a palm has no length of its own, got auto";
            return Err(within(Error::invalid("scale", message)).into());
        }
        (Scale::Auto, from, palm) => {
            let (from, first) = match (from, palm) {
                (None, Some(palm)) => (&palm.places[0], &palm.keypoints[0]),
                (Some(from), _) => (from, target.keypoints.0.as_ref().unwrap_or(&target.keypoints.1)),
                (None, None) => (&target.to, &target.keypoints.1),
            };
            let bones = map.bones(first, &target.keypoints.1);
            let bones = bones.iter().map(keypoint).collect::<fingertip_shapes::Result<Vec<_>>>()?;
            (None, Some((reach(model, from, &target.to)?.0, bones)))
        }
    };
    Ok(Aim { target: target.clone(), keypoints, scale, reach })
}

/// The length along keypoints, m; 0 where one is not known.
fn length(keypoints: &[[f64; 3]], bones: &[usize]) -> f64 {
    let bone = |pair: &[usize]| (Vector3::from(keypoints[pair[1]]) - Vector3::from(keypoints[pair[0]])).norm();
    let sum: f64 = bones.windows(2).map(bone).sum();
    if sum.is_finite() { sum } else { 0.0 }
}
