//! What a scene's files say and its model lacks, and what is odd about their numbers.

use nalgebra::Vector3;

use crate::{Articulation, Collision, Freedom, Inertia, Link, Look, ObjectBody, Scene, Shape};
use fingertip_shapes::Result;

/// Names in a line, at most.
const NAMED: usize = 8;
/// A mesh that fills less of its hull than this has hollows, ...
const SOLID: f64 = 0.9;
/// ... and one that fills less than this has faces that look both ways.
const SLIVER: f64 = 1e-3;
/// A link whose radius of gyration is so many times the distance that its shapes reach has an inertia in other units,
/// or a placeholder.
const ODD_GYRATION: f64 = 3.0;
/// A mesh that reaches farther from its middle than this, m, is likely one in millimetres.
const HUGE: f64 = 10.0;
/// A step of more than this, s, is likely a number in other units.
const LONG: f64 = 1.0;
/// What files' digits leave of an inertia that is that of a plate, relative.
const ROUNDING: f64 = 1e-6;

/// What is said of a file: [`Articulation::notes`] and [`Articulation::warnings`].
#[derive(Clone, Default)]
pub(crate) struct Said {
    pub(crate) notes: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

impl Scene {
    /// All notes of the scene and of its articulations, each after its thing's name: what is left out and moves
    /// nothing, inertias that no solid has, and where hulls touch in place of hollow meshes, whose files are read for
    /// this.
    pub fn all_notes(&self) -> Vec<String> {
        let own = self.articulations().flat_map(|(name, of)| {
            let impossible = of
                .links
                .iter()
                .filter_map(|Link { name, inertia, .. }| impossible(&format!("link \"{name}\""), inertia));
            let all = of.notes.iter().cloned().chain(impossible).chain(of.hollow_links());
            all.map(move |note| format!("{name}: {note}"))
        });
        let rigid = self.objects.iter().filter_map(|object| match &object.body {
            ObjectBody::Rigid { inertia, .. } => impossible(&object.name, inertia),
            ObjectBody::Articulated { .. } => None,
        });
        self.notes.iter().cloned().chain(own).chain(rigid).collect()
    }

    /// All warnings of the scene and of its articulations, each after its thing's name: what is left out or changed, so
    /// that things move or touch otherwise than the files say. What moves and has no shape that touches is among them,
    /// and so are inertias that no link of its size has.
    pub fn all_warnings(&self) -> Vec<String> {
        let own = |(name, of): (&'_ str, &Articulation)| -> Vec<String> {
            let odd = of.odd_inertias();
            of.warnings.iter().cloned().chain(odd).map(|warning| format!("{name}: {warning}")).collect()
        };
        let rigid = self.objects.iter().filter_map(|object| match &object.body {
            ObjectBody::Rigid { inertia, collisions } if object.freedom != Freedom::Fixed => {
                let odd = odd_inertia(inertia.as_ref(), reach(inertia.as_ref(), collisions));
                odd.map(|odd| format!("{}: {odd}", object.name))
            }
            _ => None,
        });
        let of_articulations = self.articulations().flat_map(own);
        let all = self.warnings.iter().cloned().chain(of_articulations).chain(rigid).chain(self.untouchable());
        all.chain(self.huge_meshes()).chain(self.long_step()).collect()
    }

    /// The robots and objects that have links.
    fn articulations(&self) -> impl Iterator<Item = (&str, &Articulation)> {
        let objects = self.objects.iter().filter_map(|object| match &object.body {
            ObjectBody::Articulated { articulation, .. } => Some((&*object.name, articulation)),
            ObjectBody::Rigid { .. } => None,
        });
        objects.chain(self.robots.iter().map(|robot| (&*robot.name, &robot.articulation)))
    }

    /// A line on each thing with a mesh that is as large as if its numbers were millimetres.
    fn huge_meshes(&self) -> impl Iterator<Item = String> {
        let line = |name: &str, collisions: &mut dyn Iterator<Item = &Collision>| {
            let of_mesh =
                collisions.filter(|of| of.mesh.is_some() || matches!(of.shape, Shape::Hull(_) | Shape::Grid(_)));
            let size = of_mesh.map(|of| of.shape.radius()).filter(|radius| radius.is_finite()).max_by(f64::total_cmp);
            size.filter(|size| *size > HUGE).map(|size| {
                format!(
                    "{name}: its mesh reaches {size:.0} m from its middle; for a file in millimetres, scale = 0.001"
                )
            })
        };
        let rigid = self.objects.iter().filter_map(move |object| match &object.body {
            ObjectBody::Rigid { collisions, .. } if object.freedom != Freedom::Fixed => {
                line(&object.name, &mut collisions.iter())
            }
            _ => None,
        });
        let links =
            move |(name, of): (&str, &Articulation)| line(name, &mut of.links.iter().flat_map(|link| &link.collisions));
        rigid.chain(self.articulations().filter_map(links))
    }

    /// A line on a step in which what falls goes farther than anything here is large.
    fn long_step(&self) -> Option<String> {
        let h = self.params.h;
        (h > LONG).then(|| format!("params: h = {h} s is a long step; usual ones are 0.001 to 0.1 s"))
    }

    /// A line for each thing that could touch another and has no collision shape.
    fn untouchable(&self) -> Vec<String> {
        let is_bare = |link: &Link| link.collisions.is_empty();
        let of_links = self.articulations().filter(|(_, of)| of.links.iter().all(is_bare)).map(|(name, of)| {
            let drawn: usize = of.links.iter().map(|link| link.visuals.len()).sum();
            let offer = match drawn {
                0 => String::new(),
                1 => "; `collide = true` takes the one that it is drawn with".to_owned(),
                n => format!("; `collide = true` takes the {n} that it is drawn with"),
            };
            (drawn > 0, format!("{name}: no link of it has a collision shape, so nothing touches it{offer}"))
        });
        let rigid = self.objects.iter().filter_map(|object| match &object.body {
            ObjectBody::Rigid { collisions, .. } if collisions.is_empty() && object.freedom != Freedom::Fixed => {
                Some((false, format!("{}: it has no collision shape, so nothing touches it", object.name)))
            }
            _ => None,
        });
        let bare: Vec<(bool, String)> = of_links.chain(rigid).collect();
        // A thing that is alone and was never meant to touch is no news.
        let others = self.robots.len() + self.objects.len() > 1;
        bare.into_iter().filter(|(is_drawn, _)| *is_drawn || others).map(|(_, line)| line).collect()
    }
}

impl Articulation {
    /// Gives links without a collision shape those that they are drawn with: files have their collision shapes off
    /// where pairs are named elsewhere, and some have visual meshes alone. A mesh becomes its convex hull.
    ///
    /// # Errors
    /// If a mesh cannot be read or has no hull; the error's place is the link.
    pub fn collide(&mut self) -> Result<()> {
        for link in self.links.iter_mut().filter(|link| link.collisions.is_empty()) {
            for visual in &link.visuals {
                let collision = match &visual.look {
                    Look::Shape(shape) => Collision::new(shape.clone(), visual.pose),
                    Look::Mesh(file) => {
                        let hull = fingertip_shapes::hull(&file.path, file.scale)
                            .map_err(|error| error.within(format!("link \"{}\"", link.name)))?;
                        Collision { mesh: Some(file.clone()), ..Collision::new(hull, visual.pose) }
                    }
                };
                // Files draw some things twice.
                if !link.collisions.contains(&collision) {
                    link.collisions.push(collision);
                }
            }
        }
        Ok(())
    }

    /// One line on the links that touch by the hulls of meshes with hollows. Those of MJCF do so in MuJoCo as well.
    fn hollow_links(&self) -> Option<String> {
        let is_hollow = |of: &Collision| of.surface.is_none() && hollows(of).is_some();
        let hollow = self.links.iter().filter(|link| link.collisions.iter().any(is_hollow));
        let names: Vec<&str> = hollow.map(|link| link.name.as_str()).collect();
        (!names.is_empty()).then(|| format!("the convex hulls of meshes with hollows touch: {}", listed(&names)))
    }

    /// One line on the links whose inertia is that of something far larger than they are.
    fn odd_inertias(&self) -> Option<String> {
        let arm: f64 = self.joints.iter().map(|joint| joint.origin.translation.vector.norm()).sum();
        let odd = |link: &&Link| {
            let shapes = reach(link.inertia.as_ref(), &link.collisions);
            odd_inertia(link.inertia.as_ref(), shapes.or((arm > 0.0).then_some(arm))).is_some()
        };
        let odd: Vec<&Link> = self.links.iter().filter(odd).collect();
        let first = odd.first()?;
        let size = reach(first.inertia.as_ref(), &first.collisions).or(Some(arm));
        let what = odd_inertia(first.inertia.as_ref(), size)?;
        let names: Vec<&str> = odd.iter().map(|link| link.name.as_str()).collect();
        Some(format!("{what}: link{} {}", if odd.len() > 1 { "s" } else { "" }, listed(&names)))
    }
}

/// Meshes in a line, at most.
const MESHES: usize = 3;

/// One warning for all collision meshes of a file that are not there, each by its link and its name, where `why` says
/// what was looked for in vain for the first one.
pub(crate) fn without_meshes(file: &str, missing: &[(String, String)], why: &str) -> Option<String> {
    match missing {
        [] => None,
        [(link, mesh)] => Some(format!("link \"{link}\": collision mesh {mesh} left out: {why}")),
        all => {
            let first: Vec<String> =
                all.iter().take(MESHES).map(|(link, mesh)| format!("{mesh} of link \"{link}\"")).collect();
            let more = all.len().saturating_sub(MESHES);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let (n, first) = (all.len(), first.join(", "));
            Some(format!("{file}: {n} collision meshes left out: {first}{more}; {why}"))
        }
    }
}

/// Names in a line, the first of many.
pub(crate) fn listed(names: &[&str]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let first = names[..names.len() - more].join(", ");
    if more > 0 { format!("{first} and {more} more") } else { first }
}

/// What is said of a shape that is the hull of a mesh with hollows.
pub(crate) fn hollows(collision: &Collision) -> Option<String> {
    let (file, hull) = (collision.mesh.as_ref()?, Inertia::unit_density(&collision.shape)?);
    // One with too many faces for this has a hull all the same.
    let mesh = file.read().ok()?;
    let corners = mesh.faces.iter().map(|face| face.map(|corner| Vector3::from(mesh.vertices[corner])));
    let (mut volume, mut area, mut open) = (0.0, 0.0, Vector3::zeros());
    for [a, b, c] in corners {
        let of_face = (b - a).cross(&(c - a));
        volume += a.dot(&b.cross(&c)) / 6.0;
        area += of_face.norm();
        open += of_face;
    }
    let part = volume.abs() / hull.mass;
    // A surface with holes or with sides that look both ways encloses nothing.
    let is_closed = open.norm() < 1e-3 * area;
    (is_closed && part > SLIVER && part < SOLID).then(|| {
        format!(
            "{} fills {:.0} % of its convex hull, which is what touches: `decompose` cuts it into convex parts, `grid` lets spheres and capsules touch \
             the mesh itself",
            file.path.file_name().unwrap_or_default().display(),
            100.0 * part
        )
    })
}

/// How far from a body's centre of mass its shapes reach, m; none without shapes, or with one that has no end.
fn reach(inertia: Option<&Inertia>, collisions: &[Collision]) -> Option<f64> {
    let centre = inertia?.com;
    let farthest = |axis: usize| {
        let ends = collisions.iter().map(|Collision { shape, pose, .. }| shape.ends(pose, axis));
        ends.map(|(low, high)| (low - centre[axis]).abs().max((high - centre[axis]).abs())).fold(0.0, f64::max)
    };
    let far = Vector3::from_fn(|axis, _| farthest(axis)).norm();
    (far > 0.0 && far.is_finite()).then_some(far)
}

/// What is said of a thing's inertia that breaks the inequality of the triangle.
fn impossible(name: &str, inertia: &Option<Inertia>) -> Option<String> {
    let [a, b, c] = inertia.as_ref()?.principal_moments();
    (c > (a + b) * (1.0 + ROUNDING))
        .then(|| format!("{name}: no solid has this inertia, as {c:.3e} > {a:.3e} + {b:.3e} kg m^2"))
}

/// What is said of an inertia that no solid within `reach`, m, of its centre of mass comes near to.
fn odd_inertia(inertia: Option<&Inertia>, reach: Option<f64>) -> Option<String> {
    let (inertia, reach) = (inertia?, reach?);
    let [_, _, largest] = inertia.principal_moments();
    let radius = (largest / inertia.mass).sqrt();
    (radius > ODD_GYRATION * reach).then(|| {
        format!(
            "{largest:.1e} kg m^2 with {:.1e} kg is the inertia of something {radius:.1e} m in size, here of {reach:.1e} m",
            inertia.mass
        )
    })
}
