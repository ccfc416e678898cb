//! What single steps move too far, and what they take through each other.

use std::collections::HashSet;

use candle_core::{Device, Result, Tensor};

use super::cast::bare;
use super::contacts::{ContactRecord, StepContacts};
use super::observe::Observer;
use super::passage::Bodies;
use super::recording::Recording;
use super::unrest::{Motion, TURNED, Watched, is_grid};
use fingertip_step::kinematics::Tree;
use fingertip_step::model::Model;
use fingertip_step::parameters::Parameters;
use fingertip_step::step::Step;

/// The angle between two rotations, rad, is at most so many times the distance of their quaternions.
const CHORD: f64 = 2.3;
/// How far what slides without limits may be, m.
const FARTHEST: f64 = 1e3;

/// Says of single steps what moves too far in them.
#[derive(Debug)]
pub struct FarWatch {
    scene: Recording,
    observer: Observer,
    watched: Vec<Watched>,
    bounds: Vec<Bound>,
    /// If no number in q changes by more, nothing moves too far.
    still: f64,
    reach: Vec<f64>,
}

impl FarWatch {
    /// Of the steps of a model.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn new(model: &Model, parameters: &Parameters) -> Result<Self> {
        let scene = bare(model, parameters)?;
        let watched = Watched::all(&scene);
        let bounds: Vec<Bound> = watched.iter().map(|one| Bound::new(&model.tree, &scene, one)).collect();
        let still = bounds.iter().map(Bound::still).fold(f64::INFINITY, f64::min);
        let reach = model.pairs.windows().map(|window| window.reach).collect();
        Ok(Self { scene, observer: Observer::new(model)?, watched, bounds, still, reach })
    }

    /// The first of some contacts whose bodies a step of one world from q (1, nq) takes into or through each other, on
    /// the straight way; of distance grids the first one.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn passed(&self, q: &Tensor, step: &Step, contacts: &[usize]) -> Result<Option<usize>> {
        let [before, after] = [self.observer.poses(q)?, self.observer.poses(&step.q_next)?];
        let (bodies, mut apart) = (Bodies::new(&self.scene), HashSet::new());
        let mut meet = |contact: usize| {
            let pair = [self.scene.contacts[contact].a, self.scene.contacts[contact].b];
            let is_open = || pair.into_iter().any(|body| is_grid(&self.scene, body));
            !apart.contains(&pair) && (is_open() || bodies.meet(pair, [&before, &after]) || !apart.insert(pair))
        };
        Ok(contacts.iter().copied().find(|&contact| meet(contact)))
    }

    /// The names of the bodies that a step of one world from q (1, nq) moves too far, each with its motion and its
    /// size, m.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn far(&self, q: &Tensor, step: &Step) -> Result<Vec<(&str, Motion, f64)>> {
        let [before, after] = [self.observer.poses(q)?, self.observer.poses(&step.q_next)?];
        let (contacts, _) = StepContacts::of_step(&step.contacts, &step.force, &self.reach)?;
        let of = |watched: &Watched| {
            let motion = watched.too_far(&self.scene, [&before, &after], contacts.iter().as_slice())?;
            Some((self.scene.bodies[watched.body].name.as_str(), motion, watched.size))
        };
        Ok(self.watched.iter().filter_map(of).collect())
    }
    /// The bodies that may move too far between two configurations (nq), by the numbers in q alone: few, found in
    /// nanoseconds, for [`FarWatch::too_far`].
    pub fn suspects<'a>(&'a self, [before, after]: [&'a [f64]; 2]) -> impl Iterator<Item = usize> {
        let is_still = before.iter().zip(after).fold(true, |still, (a, b)| still & ((b - a).abs() <= self.still));
        let bounds = if is_still { &[] } else { &self.bounds[..] };
        bounds.iter().enumerate().filter(move |(_, bound)| bound.is_crossed(before, after)).map(|(suspect, _)| suspect)
    }

    /// The name of a [suspect](FarWatch::suspects), its motion and its size, m, if a step between the configurations
    /// moves it too far. Asked for by the index of a contact are the force on B in world axes, N, and, where one of the
    /// two has a distance grid, the signed distance at the step's start, m.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn too_far(
        &self,
        suspect: usize,
        [before, after]: [&[f64]; 2],
        force: impl Fn(usize) -> [f64; 3],
        distance: impl Fn(usize) -> f64,
    ) -> Result<Option<(&str, Motion, f64)>> {
        let watched = &self.watched[suspect];
        let mut contacts = Vec::new();
        for &(contact, has_grid) in &self.bounds[suspect].contacts {
            let force = force(contact);
            if has_grid || watched.is_pressed(&force) {
                let phi = if has_grid { distance(contact) } else { f64::INFINITY };
                contacts.push(ContactRecord { contact, phi, normal: [0.0; 3], point: [0.0; 3], force });
            }
        }
        if contacts.is_empty() {
            return Ok(None);
        }
        let both = [before, after].concat();
        let poses = self.observer.poses(&Tensor::from_vec(both, (2, before.len()), &Device::Cpu)?)?;
        let (before, after) = poses.split_at(poses.len() / 2);
        let motion = watched.too_far(&self.scene, [before, after], &contacts);
        Ok(motion.map(|motion| (self.scene.bodies[watched.body].name.as_str(), motion, watched.size)))
    }
}

/// How far numbers in q may move a body.
#[derive(Debug)]
struct Bound {
    size: f64,
    /// For each number in q above the body, its index and by how much a change of 1 may move the body's origin, m, and
    /// turn the body, rad.
    by: Vec<(usize, f64, f64)>,
    /// The body's contacts, and whether whom it meets there has a distance grid.
    contacts: Vec<(usize, bool)>,
}

impl Bound {
    fn new(tree: &Tree, scene: &Recording, of: &Watched) -> Self {
        let (mut by, mut at, mut arm) = (Vec::new(), of.body, 0.0);
        while at != 0 {
            let joint = &tree.bodies[at];
            let ratio = joint.ratio.abs();
            for (q, (_, unit)) in (joint.q..).zip(joint.kind.coordinates()) {
                by.push(match *unit {
                    "m" => (q, ratio, 0.0),
                    "rad" => (q, ratio * arm, ratio),
                    _ => (q, CHORD * arm, CHORD),
                });
            }
            // How far it slides bounds how far from what turns above it the body is.
            let slides = joint.kind.coordinates().iter().any(|(_, unit)| *unit == "m");
            let limits = tree.coordinates.iter().find(|c| c.q == joint.q).and_then(|c| c.limits);
            let farthest = limits.map_or(FARTHEST, |limits| limits.lower.abs().max(limits.upper.abs()));
            arm += joint.xyz.norm() + if slides { ratio * farthest + joint.shift.abs() } else { 0.0 };
            at = joint.parent;
        }
        let meets = |contact: usize| Some((contact, is_grid(scene, of.other(scene, contact)?)));
        Self { size: of.size, by, contacts: (0..scene.contacts.len()).filter_map(meets).collect() }
    }

    /// The largest change of all numbers in q that surely does not move the body too far.
    fn still(&self) -> f64 {
        let (distance, angle) =
            self.by.iter().fold((0.0, 0.0), |sum, (_, distance, angle)| (sum.0 + distance, sum.1 + angle));
        (self.size / distance).min(TURNED / angle)
    }

    fn is_crossed(&self, before: &[f64], after: &[f64]) -> bool {
        let add = |sum: (f64, f64), &(q, distance, angle): &(usize, f64, f64)| {
            let moved = (after[q] - before[q]).abs();
            (sum.0 + distance * moved, sum.1 + angle * moved)
        };
        let (distance, angle) = self.by.iter().fold((0.0, 0.0), add);
        distance > self.size || angle > TURNED
    }
}
