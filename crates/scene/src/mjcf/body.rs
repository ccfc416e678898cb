//! The tree of bodies as a list, parents first, with frames and replicas resolved.

use std::collections::HashMap;

use nalgebra::{Isometry3, Matrix3, Vector3};

use super::compiler::Compiler;
use super::defaults::Defaults;
use super::document::Document;
use super::geom::{Geom, between, stretched};
use super::mesh::Meshes;
use super::node::Node;
use crate::{Inertia, JointKind, Limits, Spring};
use fingertip_shapes::{Error, Result};

/// Replicas of one element.
const MOST_REPLICAS: f64 = 10_000.0;
/// Elements within bodies, those of replicas counted.
const MOST_ELEMENTS: usize = 200_000;

/// The body that is the world.
pub(super) const WORLD: &str = "world";

pub(super) struct Joint {
    pub(super) name: String,
    /// Revolute, prismatic, spherical or floating.
    pub(super) kind: JointKind,
    pub(super) axis: Vector3<f64>,
    /// A point of the axis in the body's frame.
    pub(super) anchor: Vector3<f64>,
    pub(super) limits: Option<Limits>,
    /// q in the pose that the file describes.
    pub(super) reference: f64,
    pub(super) effort: f64,
    pub(super) damping: f64,
    pub(super) friction: f64,
    pub(super) spring: Spring,
    pub(super) armature: f64,
    /// Do stiffness or damping change with q?
    pub(super) is_nonlinear: bool,
}

pub(super) struct Site {
    pub(super) name: String,
    /// In its body's frame.
    pub(super) pose: Isometry3<f64>,
    /// The kind of shape, and its sizes as those of a geom, m.
    pub(super) kind: &'static str,
    pub(super) size: [f64; 3],
}

pub(super) struct Body {
    pub(super) name: String,
    /// Index in [`Tree::bodies`].
    pub(super) parent: usize,
    /// In the parent's frame.
    pub(super) pose: Isometry3<f64>,
    pub(super) joints: Vec<Joint>,
    pub(super) geoms: Vec<Geom>,
    pub(super) sites: Vec<Site>,
    pub(super) inertia: Option<Inertia>,
    /// Is its mass that of its geoms?
    pub(super) by_geoms: bool,
    /// Is it moved from outside, so that it is fixed here?
    pub(super) is_mocap: bool,
    /// The part of its weight that is compensated for.
    pub(super) weightless: f64,
}

/// All bodies, the world first, then in the order of the file.
pub(super) struct Tree {
    pub(super) bodies: Vec<Body>,
}

/// Settings that an element inherits from those around it.
#[derive(Clone)]
struct Around<'a> {
    body: usize,
    frame: Isometry3<f64>,
    childclass: Option<&'a str>,
    suffix: String,
}

struct Reader<'a, 'r> {
    compiler: &'r Compiler,
    defaults: &'r Defaults<'a>,
    meshes: &'r Meshes<'a>,
    colours: &'r HashMap<&'a str, [f64; 4]>,
    bodies: Vec<Body>,
    given: Vec<Option<Inertia>>,
    names: Names,
    joints: Names,
    sites: Names,
    elements: usize,
}

impl Tree {
    pub(super) fn read<'a>(
        document: &'a Document,
        compiler: &Compiler,
        defaults: &Defaults<'a>,
        meshes: &Meshes<'a>,
        colours: &HashMap<&'a str, [f64; 4]>,
    ) -> Result<Self> {
        let (bodies, given) = (Vec::new(), Vec::new());
        let (names, joints, sites) = (Names::from([(WORLD.to_owned(), 0)]), Names::new(), Names::new());
        let mut reader =
            Reader { compiler, defaults, meshes, colours, bodies, given, names, joints, sites, elements: 0 };
        let world = reader.add(WORLD.to_owned(), 0, Isometry3::identity());
        let around = Around { body: world, frame: Isometry3::identity(), childclass: None, suffix: String::new() };
        for section in document.sections("worldbody") {
            reader.children(&section, &around)?;
        }
        reader.masses()?;
        Ok(Self { bodies: reader.bodies })
    }

    /// The bodies that hang on the world.
    pub(super) fn roots(&self) -> impl Iterator<Item = usize> {
        (1..self.bodies.len()).filter(|&body| self.bodies[body].parent == 0)
    }

    /// The root that a body hangs on; the world's is itself.
    pub(super) fn root_of(&self, body: usize) -> usize {
        let mut at = body;
        while self.bodies[at].parent != 0 {
            at = self.bodies[at].parent;
        }
        at
    }

    pub(super) fn joints(&self) -> impl Iterator<Item = (usize, &Joint)> {
        self.bodies.iter().enumerate().flat_map(|(i, body)| body.joints.iter().map(move |joint| (i, joint)))
    }
}

impl<'a> Reader<'a, '_> {
    fn add(&mut self, name: String, parent: usize, pose: Isometry3<f64>) -> usize {
        let (joints, geoms, sites) = (Vec::new(), Vec::new(), Vec::new());
        let (inertia, by_geoms, is_mocap, weightless) = (None, false, false, 0.0);
        self.bodies.push(Body { name, parent, pose, joints, geoms, sites, inertia, by_geoms, is_mocap, weightless });
        self.given.push(None);
        self.bodies.len() - 1
    }

    fn children(&mut self, node: &Node<'a>, around: &Around<'a>) -> Result<()> {
        for child in node.children() {
            self.elements += 1;
            if self.elements > MOST_ELEMENTS {
                let message = format!("expected at most {MOST_ELEMENTS} elements, those of replicas counted");
                return Err(child.invalid("", message));
            }
            match child.tag() {
                "body" => self.body(&child, around)?,
                "frame" => {
                    let frame = around.frame * self.compiler.pose(&child)?;
                    let childclass = child.own("childclass").or(around.childclass);
                    self.children(&child, &Around { frame, childclass, ..around.clone() })?;
                }
                "replicate" => self.replicate(&child, around)?,
                "geom" => {
                    let child = self.defaults.apply(child, around.childclass)?;
                    let name = child.own("name").map(|name| format!("{name}{}", around.suffix));
                    let geom = Geom::read(&child, name, &around.frame, self.compiler, self.meshes, self.colours)?;
                    self.bodies[around.body].geoms.push(geom);
                }
                "site" => self.site(child, around)?,
                "joint" | "freejoint" => self.joint(child, around)?,
                "inertial" => self.given[around.body] = Some(self.inertial(&child)?),
                "attach" | "composite" | "flexcomp" => {
                    let message = "expected bodies that the file spells out; load it in MuJoCo and write it again \
                                   (mj_saveLastXML)";
                    return Err(child.invalid("", message));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn body(&mut self, node: &Node<'a>, around: &Around<'a>) -> Result<()> {
        let name = unique(node, around, &mut self.names, &format!("body{}", self.bodies.len()))?;
        let body = self.add(name, around.body, around.frame * self.compiler.pose(node)?);
        self.bodies[body].is_mocap = node.flag("mocap")?.unwrap_or(false);
        self.bodies[body].weightless = node.number("gravcomp")?.unwrap_or(0.0);
        let childclass = node.own("childclass").or(around.childclass);
        let suffix = around.suffix.clone();
        self.children(node, &Around { body, frame: Isometry3::identity(), childclass, suffix })
    }

    /// Repeats the elements of a `replicate`, each time moved on.
    fn replicate(&mut self, node: &Node<'a>, around: &Around<'a>) -> Result<()> {
        let count = node.number("count")?.unwrap_or(0.0);
        if !(1.0..=MOST_REPLICAS).contains(&count) || count.fract() != 0.0 {
            return Err(node.invalid("count", format!("expected an integer from 1 to {MOST_REPLICAS}, got {count}")));
        }
        let turn = self.compiler.euler(node.numbers("euler")?.unwrap_or_default());
        let shift = Vector3::from(node.numbers::<3>("offset")?.unwrap_or_default());
        let (step, separator) = (Isometry3::from_parts(shift.into(), turn), node.own("sep").unwrap_or_default());
        let digits = count.to_string().len();
        let mut frame = around.frame;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an integer in range, as above")]
        for i in 0..count as usize {
            let suffix = format!("{separator}{i:0digits$}{}", around.suffix);
            self.children(node, &Around { frame, suffix, ..around.clone() })?;
            frame *= step;
        }
        Ok(())
    }

    fn joint(&mut self, node: Node<'a>, around: &Around<'a>) -> Result<()> {
        let is_free = node.tag() == "freejoint";
        let node = if is_free { node } else { self.defaults.apply(node, around.childclass)? };
        let body = &self.bodies[around.body];
        let name = unique(&node, around, &mut self.joints, &body.name)?;
        let kind = match node.word("type", &["free", "ball", "slide", "hinge"])? {
            _ if is_free => JointKind::Floating,
            Some("free") => JointKind::Floating,
            Some("slide") => JointKind::Prismatic,
            Some("ball") => JointKind::Spherical,
            _ => JointKind::Revolute,
        };
        let misplaced = if around.body == 0 {
            Some("expected within a body")
        } else if kind == JointKind::Floating && (body.parent != 0 || !body.joints.is_empty()) {
            Some("expected a free joint alone, and on a body of the world")
        } else {
            None
        };
        if let Some(message) = misplaced {
            return Err(node.invalid("", message));
        }
        let angle = |value: f64| if kind == JointKind::Revolute { self.compiler.angle(value) } else { value };
        let range = node.numbers::<2>("range")?;
        let limited = node.flag_or_auto("limited")?.unwrap_or(self.compiler.autolimits && range.is_some());
        let limits =
            range.filter(|_| limited).map(|[lower, upper]| Limits { lower: angle(lower), upper: angle(upper) });
        let forces = node.numbers::<2>("actuatorfrcrange")?;
        let has_forces = node.flag_or_auto("actuatorfrclimited")?.unwrap_or(self.compiler.autolimits);
        let axis = Vector3::from(node.numbers::<3>("axis")?.unwrap_or([0.0, 0.0, 1.0]));
        let axis = axis.try_normalize(f64::MIN_POSITIVE).ok_or_else(|| node.invalid("axis", "expected a direction"))?;
        let anchor = Vector3::from(node.numbers::<3>("pos")?.unwrap_or_default());
        let coefficients = |name: &str| Ok::<_, Error>(node.list(name)?.unwrap_or_default());
        let first = |of: &[f64]| of.first().copied().unwrap_or(0.0);
        let [damping, stiffness] = [coefficients("damping")?, coefficients("stiffness")?];
        let joint = Joint {
            name,
            kind,
            axis: around.frame * axis,
            anchor: around.frame * nalgebra::Point3::from(anchor) - nalgebra::Point3::origin(),
            limits,
            reference: angle(node.number("ref")?.unwrap_or(0.0)),
            effort: forces.filter(|_| has_forces).map_or(f64::INFINITY, largest),
            damping: first(&damping),
            friction: node.number("frictionloss")?.unwrap_or(0.0),
            spring: Spring { stiffness: first(&stiffness), rest: angle(node.number("springref")?.unwrap_or(0.0)) },
            armature: node.number("armature")?.unwrap_or(0.0),
            is_nonlinear: [damping, stiffness].iter().any(|of| of.iter().skip(1).any(|&more| more != 0.0)),
        };
        self.bodies[around.body].joints.push(joint);
        Ok(())
    }

    fn site(&mut self, node: Node<'a>, around: &Around<'a>) -> Result<()> {
        let node = self.defaults.apply(node, around.childclass)?;
        let body = &self.bodies[around.body];
        let name = unique(&node, around, &mut self.sites, &format!("{}:site", body.name))?;
        let kind = node.word("type", &["sphere", "capsule", "ellipsoid", "cylinder", "box"])?.unwrap_or("sphere");
        let size = node.filled("size", [0.005; 3])?;
        let (pose, size) = match node.numbers::<6>("fromto")? {
            Some(ends) => {
                let (pose, half) = between(&node, &ends)?;
                (pose, stretched(kind, size, half).unwrap_or(size))
            }
            None => (self.compiler.pose(&node)?, size),
        };
        self.bodies[around.body].sites.push(Site { name, pose: around.frame * pose, kind, size });
        Ok(())
    }

    fn inertial(&self, node: &Node) -> Result<Inertia> {
        let pose = self.compiler.pose(node)?;
        let mass = node.number("mass")?.ok_or_else(|| node.invalid("mass", "expected a number, got none"))?;
        let full = node
            .numbers::<6>("fullinertia")?
            .map(|[xx, yy, zz, xy, xz, yz]| Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz));
        let diagonal = node.numbers::<3>("diaginertia")?.map(|moments| Matrix3::from_diagonal(&moments.into()));
        let matrix = full.or(diagonal).unwrap_or_else(Matrix3::zeros);
        Ok(Inertia { mass, com: Vector3::zeros(), matrix }.moved(&pose))
    }

    /// Gives each body the mass that it is given, or that of its geoms.
    fn masses(&mut self) -> Result<()> {
        let Compiler { inertia_from_geoms, inertia_groups, least_mass, least_inertia, total_mass, .. } = *self.compiler;
        for (body, given) in self.bodies.iter_mut().zip(&self.given).skip(1) {
            body.by_geoms = inertia_from_geoms.unwrap_or(given.is_none());
            body.inertia = if body.by_geoms {
                let parts: Vec<Inertia> = body
                    .geoms
                    .iter()
                    .filter_map(|geom| geom.inertia(self.meshes, inertia_groups).transpose())
                    .collect::<Result<_>>()?;
                Inertia::sum(&parts)
            } else {
                given.clone().filter(|inertia| inertia.mass > 0.0)
            };
            let point = || Inertia { mass: 0.0, com: Vector3::zeros(), matrix: Matrix3::zeros() };
            body.inertia = body.inertia.take().or_else(|| (least_mass > 0.0).then(point));
            if let Some(inertia) = &mut body.inertia {
                inertia.mass = inertia.mass.max(least_mass);
                bound(&mut inertia.matrix, least_inertia);
            }
        }
        let Some(total) = total_mass else { return Ok(()) };
        let inertias = || self.bodies.iter().filter_map(|body| body.inertia.as_ref());
        let factor = total / inertias().map(|inertia| inertia.mass).sum::<f64>();
        for inertia in self.bodies.iter_mut().filter_map(|body| body.inertia.as_mut()) {
            inertia.mass *= factor;
            inertia.matrix *= factor;
        }
        Ok(())
    }
}

/// An element's name, or one like `default` where it has none.
fn unique(node: &Node, around: &Around, names: &mut Names, default: &str) -> Result<String> {
    let given = node.own("name").map(|name| format!("{name}{}", around.suffix));
    let is_given = given.is_some();
    let first = given.unwrap_or_else(|| default.to_owned());
    let mut name = first.clone();
    while names.contains_key(&name) {
        if is_given {
            return Err(node.invalid("name", format!("expected a unique name, but \"{name}\" stands twice")));
        }
        // The first's own count, so that each of many finds its name at once.
        let alike = names.entry(first.clone()).or_insert(0);
        *alike += 1;
        name = if *alike == 1 { format!("{first}'") } else { format!("{first}'{alike}") };
    }
    names.insert(name.clone(), 0);
    Ok(name)
}

/// Names that are taken, and how many were made of each.
type Names = HashMap<String, usize>;

/// The larger of a range's ends in size.
pub(super) fn largest([lower, upper]: [f64; 2]) -> f64 {
    lower.abs().max(upper.abs())
}

/// Principal moments of at least this.
fn bound(matrix: &mut Matrix3<f64>, least: f64) {
    if least > 0.0 {
        let mut eigen = matrix.symmetric_eigen();
        eigen.eigenvalues.apply(|moment| *moment = moment.max(least));
        *matrix = eigen.recompose();
    }
}
