//! Makes the problems and the controller of an episode from a task's file.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::file::{BoundFile, ForceFile, OrderFile, WeightsFile};
use super::{Episode, Task, positive};
use crate::mpc::command::{Command, Law};
use crate::mpc::controller::Controller;
use crate::mpc::cost::{
    Closure, ContactForce, Cost, Goal, JointLimits, Objective, Order, Orientation, Position, Posture, Reach, Term,
};
use crate::mpc::estimate::{Estimator, Quantity};
use crate::mpc::problem::Problem;
use crate::mpc::robust::{Risk, Robust};
use crate::mpc::simulator::{Joint, Simulator};
use crate::mpc::start::Start;
use fingertip_scene::unknown;
use fingertip_shapes::{Error, Result, message};

/// Weight of the posture at home when a robot lets go, 1/rad² or 1/m².
const LETTING_GO: f64 = 0.03;

impl Task {
    /// A controller for an episode.
    ///
    /// # Errors
    /// If the first roll-out fails.
    pub fn controller(&self, episode: &Episode) -> candle_core::Result<Controller> {
        let mut settings = self.settings;
        let measure = &self.file.success;
        let WeightsFile { position, rotation, joints, .. } = self.file.weights;
        // Within what counts as success nothing has to be sampled.
        settings.ilqr.small = position * measure.position.map_or(0.0, |x| x * x)
            + rotation * measure.rotation.or(measure.quaternion.map(|x| 2.0 * x.sqrt())).map_or(0.0, |x| x * x)
            + joints * measure.joints.map_or(0.0, |x| x * x);
        let mut controller = Controller::new(self.problems(episode)?, &episode.start, settings)?;
        if let Some(estimator) = self.estimator()? {
            controller.estimate(estimator)?;
        }
        Ok(controller)
    }

    /// The estimator of the plant's parameters that the task asks for; none if it asks for none.
    pub(super) fn estimator(&self) -> Result<Option<Estimator>> {
        let quantity = |name: &String| {
            let known = Quantity::ALL.into_iter();
            let found = known.clone().find(|quantity| quantity.name() == name);
            found.ok_or_else(|| Error::invalid("estimate", unknown("quantity", name, known.map(Quantity::name))))
        };
        let quantities = self.file.estimate.iter().map(quantity).collect::<Result<Vec<_>>>()?;
        if quantities.is_empty() {
            return Ok(None);
        }
        if self.file.margin.is_some() && quantities.contains(&Quantity::Friction) {
            return Err(Error::invalid("margin", "expected none beside the estimate of friction, which has its own"));
        }
        let made = Estimator::new(self.simulator(), self.object(), &quantities);
        made.map(Some).map_err(|error| Error::invalid("estimate", message(&error)))
    }

    /// The problem of an episode for each κ.
    ///
    /// # Errors
    /// If a name is not a joint's or a body's.
    pub fn problems(&self, episode: &Episode) -> Result<Vec<Problem>> {
        let problem = |simulator: &Simulator| {
            let simulator = self.cautious(simulator).map_err(|error| Error::invalid("margin", message(&error)))?;
            Ok(Problem {
                command: self.command(&simulator, &episode.start)?,
                objective: self.objective(&simulator, episode)?,
                horizon: self.horizon(),
                robust: self.robust(&simulator)?,
                simulator,
            })
        };
        self.simulators.iter().map(problem).collect()
    }

    /// The problems of letting go: the object stays at `pose`, and the robots go to `place` (nq numbers); or these
    /// joints alone, by their indices, and the others yield. The object's cost counts by this share.
    pub(in crate::mpc) fn retreat(
        &self,
        episode: &Episode,
        pose: &Goal,
        place: &[f64],
        moved: Option<&[usize]>,
        share: f64,
    ) -> Result<Vec<Problem>> {
        let mut problems = self.problems(&Episode { goal: pose.clone(), ..episode.clone() })?;
        for problem in &mut problems {
            let objective = &mut problem.objective;
            objective.terms.retain(|term| term.purpose);
            for term in &mut objective.terms {
                (term.running, term.terminal) = (share * term.terminal, share * term.terminal);
            }
            let simulator = &problem.simulator;
            objective.terms.extend(self.order(simulator)?);
            let all = || Posture::new(simulator, place);
            let cost = Arc::new(moved.map_or_else(all, |joints| Posture::of_joints(simulator, place, joints)));
            objective.terms.push(Term { cost, running: LETTING_GO, terminal: LETTING_GO, purpose: false });
            objective.forces.clear();
        }
        Ok(problems)
    }

    /// The model with as much less friction as the task's margin says.
    fn cautious(&self, simulator: &Simulator) -> candle_core::Result<Simulator> {
        let Some(margin) = self.file.margin else { return Ok(simulator.clone()) };
        let mut parameters = simulator.step().parameters().clone();
        parameters.mu = (parameters.mu * (1.0 - margin))?;
        simulator.with_parameters(&parameters)
    }

    /// The other worlds for which plans are made.
    fn robust(&self, simulator: &Simulator) -> Result<Option<Robust>> {
        let Some(file) = &self.file.robust else { return Ok(None) };
        let risk = match &file.cost {
            None => Risk::Mean,
            Some(name) => Risk::ALL.into_iter().find(|risk| risk.name() == name).ok_or_else(|| {
                Error::invalid("robust: cost", unknown("cost", name, Risk::ALL.into_iter().map(Risk::name)))
            })?,
        };
        let made = Robust::new(simulator, self.object(), &file.worlds, risk);
        made.map(Some).map_err(|error| Error::invalid("robust", message(&error)))
    }

    fn command(&self, simulator: &Simulator, start: &Start) -> Result<Command> {
        let file = &self.file.command;
        let law = match file.law.as_str() {
            "relative" => Law::Relative,
            "rate" => Law::Rate,
            "absolute" => Law::Absolute(start.u.clone()),
            other => {
                let known = ["relative", "rate", "absolute"].into_iter();
                return Err(Error::invalid("command: type", unknown("type", other, known)));
            }
        };
        let joints = simulator.joints();
        let bound = file.bound.by_joint("command: bound", joints)?.into_iter().zip(joints).map(|(own, joint)| {
            let expected = || format!("expected one for \"{}\", or a default", joint.name);
            own.ok_or_else(|| Error::invalid("command: bound", expected()))
        });
        let command = Command::with_bounds(simulator, law, bound.collect::<Result<_>>()?)
            .map_err(|error| Error::invalid("command", message(&error)))?;
        let keep_limits = file.limits.unwrap_or(true);
        let mut change = if keep_limits { command.change } else { vec![f64::INFINITY; joints.len()] };
        if let Some(speed) = &file.speed {
            for (most, speed) in change.iter_mut().zip(speed.by_joint("command: speed", joints)?) {
                positive("command: speed", speed)?;
                *most = speed.map_or(*most, |speed| most.min(speed * simulator.period()));
            }
        }
        Ok(Command { keep_limits, change, ..command })
    }

    fn objective(&self, simulator: &Simulator, episode: &Episode) -> Result<Objective> {
        let weights = &self.file.weights;
        let model = simulator.model();
        let bad = |error: candle_core::Error| Error::invalid("goal", message(&error));
        let mut terms = Vec::new();
        let mut add = |cost: Arc<dyn Cost>, running: f64, terminal: Option<f64>, purpose: bool| {
            let terminal = terminal.unwrap_or(running);
            if running > 0.0 || terminal > 0.0 {
                terms.push(Term { cost, running, terminal, purpose });
            }
        };
        for (object, goal) in self.parts(&episode.goal) {
            let share = self.share(object);
            let terminal = |weight: Option<f64>| weight.map(|weight| share * weight);
            if let Some(position) = goal.position {
                let cost = Position::new(model, object, position).map_err(bad)?;
                add(Arc::new(cost), share * weights.position, terminal(weights.terminal.position), true);
            }
            if let Some(turn) = goal.turn {
                let cost = Orientation::new(model, object, turn).map_err(bad)?;
                add(Arc::new(cost), share * weights.rotation, terminal(weights.terminal.rotation), true);
            }
            if !goal.joints.is_empty() {
                let cost = Posture::of_object(model, object, &goal.joints).map_err(bad)?;
                add(Arc::new(cost), share * weights.joints, terminal(weights.terminal.joints), true);
            }
        }
        let posture = match weights.posture_at.as_deref() {
            None | Some("start") => Posture::new(simulator, &episode.start.q),
            Some("now") => Posture::following(simulator, &episode.start.q),
            Some(other) => {
                return Err(Error::invalid(
                    "weights: posture_at",
                    unknown("place", other, ["start", "now"].into_iter()),
                ));
            }
        };
        add(Arc::new(posture), weights.posture, weights.terminal.posture, false);
        add(Arc::new(JointLimits::new(simulator)), weights.limits, weights.terminal.limits, false);
        let counts = |running: f64, terminal: Option<f64>| running > 0.0 || terminal.is_some_and(|weight| weight > 0.0);
        if counts(weights.reach, weights.terminal.reach) || counts(weights.closure, weights.terminal.closure) {
            let (reach, closure) = self.reach(simulator)?;
            add(Arc::new(reach), weights.reach, weights.terminal.reach, false);
            add(Arc::new(closure), weights.closure, weights.terminal.closure, false);
        }
        terms.extend(self.order(simulator)?);
        let WeightsFile { command, smoothness, effort, .. } = *weights;
        Ok(Objective { terms, command, smoothness, effort, forces: self.forces(simulator)? })
    }

    /// A term for each pair of bodies.
    fn forces(&self, simulator: &Simulator) -> Result<Vec<ContactForce>> {
        let model = simulator.model();
        let mut all = Vec::new();
        for ForceFile { a, b, size, weight } in &self.file.force {
            let bad = |what: String| Err(Error::invalid("force", what));
            if let Some(x) = [size, weight].into_iter().find(|x| !(x.is_finite() && **x >= 0.0)) {
                return bad(format!("expected numbers from 0 up, got {x}"));
            }
            let mut by_pair: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
            for contact in model.contacts_between(a, b) {
                by_pair.entry(model.contact_names(contact)).or_default().push(contact);
            }
            if by_pair.is_empty() {
                return bad(format!("nothing of \"{a}\" can touch anything of \"{b}\""));
            }
            all.extend(by_pair.into_values().map(|contacts| ContactForce { contacts, size: *size, weight: *weight }));
        }
        Ok(all)
    }

    /// The terms of bodies that stay in an order.
    fn order(&self, simulator: &Simulator) -> Result<Vec<Term>> {
        let bad = |what: String| Error::invalid("order", what);
        let term = |OrderFile { points, axis, distance, weight }: &OrderFile| {
            if let Some(x) = [distance, weight].into_iter().find(|x| !(x.is_finite() && **x >= 0.0)) {
                return Err(bad(format!("expected numbers from 0 up, got {x}")));
            }
            if points.len() < 2 {
                return Err(bad(format!("expected two points or more, got {}", points.len())));
            }
            if !axis.iter().map(|x| x * x).sum::<f64>().is_normal() {
                return Err(bad(format!("expected an axis, three numbers, not all zero, got {axis:?}")));
            }
            let points: Vec<&str> = points.iter().map(String::as_str).collect();
            let cost =
                Order::new(simulator.model(), &points, *axis, *distance).map_err(|error| bad(message(&error)))?;
            Ok(Term { cost: Arc::new(cost), running: *weight, terminal: *weight, purpose: false })
        };
        self.file.order.iter().map(term).collect()
    }

    /// The points that should be near the object and on all sides of it.
    fn reach(&self, simulator: &Simulator) -> Result<(Reach, Closure)> {
        let model = simulator.model();
        let file = self.file.reach.as_ref();
        let object = match file.and_then(|file| file.object.as_deref()) {
            Some(object) => object,
            None => &model.tree.bodies[self.target()?].name,
        };
        let points: Vec<(&str, [f64; 3])> = match file {
            Some(file) => file.points.iter().map(|point| (point.link.as_str(), point.at)).collect(),
            None => last_links(simulator).into_iter().map(|name| (name, [0.0; 3])).collect(),
        };
        let distance = file.map_or(0.0, |file| file.distance);
        if !(distance.is_finite() && distance >= 0.0) {
            return Err(Error::invalid("reach: distance", format!("expected a number from 0 up, got {distance}")));
        }
        let weights =
            file.map_or(vec![1.0; points.len()], |file| file.points.iter().map(|point| point.weight).collect());
        let made = Reach::new(model, &points, object, distance)
            .and_then(|reach| Ok((reach, Closure::new(model, &points, &weights, object)?)));
        made.map_err(|error| Error::invalid("reach", message(&error)))
    }
}

impl BoundFile {
    /// The number of each joint, or the default; none where neither is given.
    fn by_joint(&self, place: &str, joints: &[Joint]) -> Result<Vec<Option<f64>>> {
        if let Some(name) = self.joints.keys().find(|name| !joints.iter().any(|joint| joint.name == **name)) {
            return Err(Error::invalid(place, unknown("joint", name, joints.iter().map(|j| j.name.as_str()))));
        }
        Ok(joints.iter().map(|joint| self.joints.get(&joint.name).copied().or(self.default)).collect())
    }
}

/// Robots' bodies that carry no other body.
fn last_links(simulator: &Simulator) -> Vec<&str> {
    let tree = &simulator.model().tree;
    let is_last = |body: &usize| !tree.bodies.iter().skip(1).any(|other| other.parent == *body);
    let robots = tree.owners.iter().filter(|owner| owner.robot).flat_map(|owner| owner.bodies.clone());
    robots.filter(is_last).map(|body| tree.bodies[body].name.as_str()).collect()
}
