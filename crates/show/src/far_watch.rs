//! What single steps move too far, and what they take through each other.

use std::collections::HashSet;

use candle_core::{Result, Tensor};

use super::cast::cast;
use super::contacts::StepContacts;
use super::observe::Observer;
use super::passage::Bodies;
use super::recording::Recording;
use super::source::Source;
use super::unrest::{Motion, Watched, colliding};
use fingertip_step::model::Model;
use fingertip_step::parameters::Parameters;
use fingertip_step::step::Step;

/// Says of single steps what moves too far in them.
#[derive(Debug)]
pub struct FarWatch {
    scene: Recording,
    observer: Observer,
    watched: Vec<Watched>,
    reach: Vec<f64>,
}

impl FarWatch {
    /// Of the steps of a model.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn new(source: &Source, model: &Model, parameters: &Parameters) -> Result<Self> {
        let scene = cast(source, model, parameters)?;
        let watched = Watched::all(&scene);
        let reach = model.pairs.windows().map(|window| window.reach).collect();
        Ok(Self { scene, observer: Observer::new(model)?, watched, reach })
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
            let is_grid = |body: usize| colliding(&self.scene, body).any(|shape| shape.kind == "mesh");
            let is_open = || pair.into_iter().any(is_grid);
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
            let motion = watched.too_far(&self.scene, [&before, &after], &contacts)?;
            Some((self.scene.bodies[watched.body].name.as_str(), motion, watched.size))
        };
        Ok(self.watched.iter().filter_map(of).collect())
    }
}
