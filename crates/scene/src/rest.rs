//! Bodies that gravity presses onto contacts: how high they hover on the barrier, and the κ for a given height.
//!
//! The barrier's force at a gap φ is 2 s/(κ φ) by the relaxed law of friction, and half of that by Coulomb's, where s
//! is the contact's share of its pair. So a weight w on contacts with shares that sum up to S rests at
//!
//! φ = 2 S/(κ w), or S/(κ w).
//!
//! The contacts of a pair have S = 1 together.

use nalgebra::Vector3;

use super::{Collision, Freedom, Friction, Link, ObjectBody, Scene, Shape, check};
use fingertip_shapes::largest::largest;
use fingertip_shapes::{Error, Result};

/// A body that gravity can press onto contacts: an object, or a robot with a floating base.
#[derive(Clone, Debug, PartialEq)]
pub struct Rest {
    /// The name of the thing.
    pub name: String,
    /// Mass including all links, kg.
    pub mass: f64,
    /// The most contacts that all its shapes together can have with one plane.
    pub contacts: usize,
    /// κ w φ for its weight w and the height φ at which it rests if all its shapes carry: 2 for each of them, or 1 by
    /// Coulomb's law.
    pub softness: f64,
    /// The smallest extent, m; for an articulation, that of its largest link.
    pub size: f64,
    /// The motions that the thing, or its root link, is free to make.
    pub freedom: Freedom,
}

impl Rest {
    /// Hovering by more than this share of the size is worth a warning.
    const NOTICEABLE: f64 = 0.1;
    /// Where nobody chooses κ, nothing hovers by more than this share of its size.
    const UNNOTICED: f64 = 0.05;
    /// The largest κ that nobody chose, 1/J.
    const HARDEST: f64 = 1e8;

    /// The component of its weight that can move it, N; for a planar object, the component in the plane.
    pub fn weight(&self, gravity: [f64; 3]) -> f64 {
        let pull = Vector3::from(gravity);
        self.mass * if self.freedom == Freedom::Planar { pull.xy().norm() } else { pull.norm() }
    }

    /// The height, m, at which it rests on something flat if all its shapes share its weight. On fewer contacts it
    /// rests lower. Infinite without a weight.
    pub fn hover(&self, kappa: f64, gravity: [f64; 3]) -> f64 {
        self.softness / (kappa * self.weight(gravity))
    }

    /// The smallest κ, 1/J, at which none of these rests higher than `hover`, m. The one with the smallest weight on
    /// each contact decides.
    ///
    /// # Errors
    /// If the height is not positive, or gravity presses nothing onto contacts.
    pub fn kappa(things: &[Self], hover: f64, gravity: [f64; 3]) -> Result<f64> {
        check::positive("hover", hover)?;
        // φ and κ change places in φ = 2 S/(κ w).
        let kappa = things.iter().filter(|thing| thing.weight(gravity) > 0.0).map(|thing| thing.hover(hover, gravity));
        let message = match kappa.max_by(f64::total_cmp) {
            Some(kappa) if kappa.is_finite() => return Ok(kappa),
            Some(_) => format!("expected a height that a finite κ gives, got {hover:?}"),
            None => {
                let found = "there is nothing that may move and has shapes";
                let found = if things.is_empty() { found } else { "it pulls on none" };
                format!("expected gravity on something that can rest, but {found}; give kappa instead")
            }
        };
        Err(Error::invalid("hover", message))
    }

    /// The warning, if it would hover by more than a tenth of its size.
    pub fn warning(&self, kappa: f64, gravity: [f64; 3]) -> Option<String> {
        let hover = self.hover(kappa, gravity);
        let noticeable = hover.is_finite() && hover > Self::NOTICEABLE * self.size;
        noticeable.then(|| {
            let (name, size, least) = (&self.name, self.size, kappa * hover / (Self::NOTICEABLE * self.size));
            format!(
                "{name}: at rest it hovers by up to {hover:.2e} m, with a size of {size:.2e} m, as κ is {kappa:.2e}; a κ \
                 above {least:.1e}, or params: hover, holds it lower"
            )
        })
    }
}

impl Scene {
    /// All bodies that gravity can press onto contacts: movable objects and robots with a movable root link, if they
    /// have mass and shapes.
    pub fn rests(&self) -> Vec<Rest> {
        let softness = if self.params.friction == Friction::Coulomb { 1.0 } else { 2.0 };
        let objects = self.objects.iter().filter_map(|object| match &object.body {
            ObjectBody::Rigid { inertia, collisions } => {
                let mass = inertia.as_ref().map_or(0.0, |inertia| inertia.mass);
                Rest::of(softness, &object.name, mass, &[collisions.as_slice()], object.freedom)
            }
            ObjectBody::Articulated { articulation, .. } => {
                let links: Vec<&Link> = articulation.links.iter().collect();
                Rest::of_links(softness, &object.name, &links, object.freedom)
            }
        });
        let robots = self.robots.iter().map(|robot| {
            let links: Vec<&Link> = self.carried(robot).flat_map(|robot| &robot.articulation.links).collect();
            Rest::of_links(softness, &robot.name, &links, robot.freedom)
        });
        objects.chain(robots.flatten()).collect()
    }

    /// With the κ at which nothing rests higher than `hover`, m, above a plane: see [`Rest::kappa`]. Call it after
    /// objects, robots and gravity are set.
    ///
    /// # Errors
    /// If the height is not positive, or gravity presses nothing onto contacts.
    pub fn with_hover(mut self, hover: f64) -> Result<Self> {
        self.params.kappa = Rest::kappa(&self.rests(), hover, self.gravity)?;
        Ok(self)
    }
}

impl Scene {
    /// With the κ of a scene that says nothing of it: the one that it has, or, if something could rest higher than by a
    /// twentieth of its size, by either law of friction and with the share of the weight that each of its contacts
    /// carries on any one of them, the smallest with which nothing does, 1e8 at most. A note says so.
    pub(crate) fn with_kappa_by_default(mut self) -> Self {
        let (kappa, gravity) = (self.params.kappa, self.gravity);
        let things = self.rests();
        let needs = |thing: &Rest| 2.0 * thing.contacts as f64 / (thing.weight(gravity) * Rest::UNNOTICED * thing.size);
        let needs = things.iter().map(|thing| (needs(thing), thing)).filter(|(needs, _)| needs.is_finite());
        let most = needs.max_by(|(a, _), (b, _)| a.total_cmp(b));
        if let Some((needs, Rest { name, size, .. })) = most.filter(|(needs, _)| *needs > kappa) {
            let needs = needs.min(Rest::HARDEST);
            self.params.kappa = needs;
            self.notes.push(format!(
                "params: without kappa or hover, kappa is {needs:.1e} 1/J, so that {name}, of {size:.1e} m, rests no higher than a twentieth of that"
            ));
        }
        self
    }
}

impl Rest {
    /// Of a body with these links, if it can rest. `softness` is that of one shape.
    fn of_links(softness: f64, name: &str, links: &[&Link], freedom: Freedom) -> Option<Self> {
        let mass = links.iter().filter_map(|link| link.inertia.as_ref()).map(|inertia| inertia.mass).sum();
        let collisions: Vec<&[Collision]> = links.iter().map(|link| link.collisions.as_slice()).collect();
        Self::of(softness, name, mass, &collisions, freedom)
    }

    /// [`Rest::of_links`] from the shapes of each link.
    fn of(softness: f64, name: &str, mass: f64, bodies: &[&[Collision]], freedom: Freedom) -> Option<Self> {
        let shapes = || bodies.iter().copied().flatten().map(|collision| &collision.shape);
        let contacts = shapes().map(Shape::contacts_on_plane).sum();
        let softness = softness * shapes().filter(|shape| **shape != Shape::HalfSpace).count() as f64;
        let size = largest(bodies.iter().filter(|body| !body.is_empty()).map(|body| smallest_extent(body)));
        let can_rest = freedom != Freedom::Fixed && mass > 0.0 && contacts > 0;
        can_rest.then(|| Self { name: name.to_owned(), mass, contacts, softness, size, freedom })
    }
}

/// The smallest of the extents of all shapes together along the body's axes, m.
fn smallest_extent(collisions: &[Collision]) -> f64 {
    let extent = |axis: usize| {
        let ends = collisions.iter().map(|Collision { shape, pose, .. }| shape.ends(pose, axis));
        let (low, high) =
            ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (a, b)| (low.min(a), high.max(b)));
        high - low
    };
    (0..3).map(extent).fold(f64::INFINITY, f64::min)
}
