//! What no plan mends: starts whose bodies overlap, and objects that no robot can reach any more.

use candle_core::{Result, bail};
use nalgebra::Vector3;

use super::Task;
use super::episode::pose_of;
use super::file::TaskFile;
use fingertip_scene::JointKind;
use fingertip_shapes::largest::larger;
use fingertip_step::Model;
use fingertip_step::contact::Overlap;

/// Overlaps up to this depth, m, are those of things that touch: the soft contacts of other simulators press in as far.
const TOUCHING: f64 = 1e-4;
/// The most steps that move a start apart.
const MOTIONS: usize = 50;

/// How far robots reach.
#[derive(Clone, Debug)]
pub(super) struct Reach {
    robots: Vec<Ball>,
    /// The radius of a ball about each body's origin that holds its shapes, m.
    extents: Vec<f64>,
}

/// A ball outside which no part of a robot can be.
#[derive(Clone, Debug)]
struct Ball {
    centre: Vector3<f64>,
    radius: f64,
}

impl Reach {
    /// A robot reaches as far as its links and its slides' travel are long, one behind the other. What drives or slides
    /// without limits reaches everything.
    pub(super) fn new(model: &Model) -> Self {
        let tree = &model.tree;
        let mut extents = vec![0.0_f64; tree.bodies.len()];
        for own in &model.shapes {
            extents[own.body] = larger(extents[own.body], Vector3::from(own.xyz).norm() + own.shape.radius());
        }
        let mut all = vec![Ball { centre: Vector3::zeros(), radius: 0.0 }];
        for body in &tree.bodies[1..] {
            let limits = || tree.coordinates.iter().find(|c| c.q == body.q).and_then(|c| c.limits);
            let travel = match body.kind {
                JointKind::Fixed | JointKind::Revolute | JointKind::Continuous | JointKind::Spherical => 0.0,
                JointKind::Prismatic => limits().map_or(f64::INFINITY, |limits| {
                    let at = |q: f64| (body.ratio * q + body.shift).abs();
                    at(limits.lower).max(at(limits.upper))
                }),
                JointKind::Translation | JointKind::Planar | JointKind::Floating => f64::INFINITY,
            };
            let above = &all[body.parent];
            all.push(match body.parent {
                0 => Ball { centre: body.xyz, radius: travel },
                _ => Ball { centre: above.centre, radius: above.radius + body.xyz.norm() + travel },
            });
        }
        let robots = tree.owners.iter().filter(|owner| owner.robot);
        let robots = robots.map(|robot| {
            let bodies = robot.bodies.clone();
            let radius = bodies.clone().map(|body| all[body].radius + extents[body]).fold(0.0, larger);
            Ball { centre: all[bodies.start].centre, radius }
        });
        Self { robots: robots.collect(), extents }
    }

    /// Is a body at this place farther than `beyond`, m, from all that robots can touch; farther than as far again as
    /// each reaches, if that is not given?
    fn is_beyond(&self, body: usize, place: &Vector3<f64>, beyond: Option<f64>) -> bool {
        let gap = |robot: &Ball| (place - robot.centre).norm() - self.extents[body] - robot.radius;
        self.robots.iter().all(|robot| gap(robot) > beyond.unwrap_or(robot.radius))
    }
}

impl Task {
    /// The bodies that overlap at q (nq) by more than what touches does, the deepest first.
    ///
    /// # Errors
    /// If q has a wrong length.
    pub fn overlaps(&self, q: &[f64]) -> Result<Vec<Overlap>> {
        let (simulator, model) = (self.simulator(), self.simulator().model());
        let u = simulator.positions(q);
        let step = simulator.step().step(&model.tensor(&[q])?, &model.tensor(&[&u])?)?;
        let mut overlaps = model.overlaps(&step.contacts.phi.flatten_all()?.to_vec1::<f64>()?);
        overlaps.retain(|overlap| overlap.depth > TOUCHING);
        Ok(overlaps)
    }

    /// A warning for each two bodies that overlap at the start of an episode: who, how deep, and what to do.
    ///
    /// # Errors
    /// As [`Task::overlaps`].
    pub fn start_warnings(&self, number: usize, q: &[f64]) -> Result<Vec<String>> {
        let line = |overlap: &Overlap| {
            format!(
                "at the start of episode {number} {overlap}, and a plant with momentum throws them apart; start them elsewhere, or \
                 let `apart = true` in [start] move them apart"
            )
        };
        Ok(self.overlaps(q)?.iter().map(line).collect())
    }

    /// q (nq) if nothing overlaps there, and else where the model's own steps under the command u (nu) move it apart.
    pub(super) fn apart(&self, mut q: Vec<f64>, u: &[f64]) -> Result<Vec<f64>> {
        for _ in 0..MOTIONS {
            if self.overlaps(&q)?.is_empty() {
                return Ok(q);
            }
            q = self.simulator().step().hold(&q, u, None, 1)?.q;
        }
        match self.overlaps(&q)?.first() {
            Some(overlap) => bail!("expected a start that {MOTIONS} steps move apart, but {overlap} still"),
            None => Ok(q),
        }
    }

    /// Is an object at q (nq) out of every robot's reach, and as far beyond it as the task says? What is not measured
    /// is not lost, nor what cannot move as a whole.
    pub(super) fn is_lost(&self, object: &str, q: &[f64]) -> bool {
        let TaskFile { lost, .. } = &*self.file;
        let Some(c) = self.coordinate(object, "goal: object").ok().filter(|_| !self.is_robot(object)) else {
            return false;
        };
        let Some(position) = pose_of(c, q).position else { return false };
        let body = &self.simulator().model().tree.bodies[c.body];
        self.reach.is_beyond(c.body, &(body.xyz + body.rotation * Vector3::from(position)), *lost)
    }
}
