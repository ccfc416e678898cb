//! Reading URDF through urdf-rs.
//!
//! Read are: links with their inertia; joints of every standard kind with limits, dynamics and mimic; spheres, boxes,
//! cylinders and capsules (a capsule's `length` is that of its segment, caps not counted). A collision mesh is replaced
//! by its convex hull if its file exists. Everything else, and anything that is odd but common, is recorded in
//! [`Articulation::notes`], and what moves otherwise for it in [`Articulation::warnings`].
//!
//! Common habits are accepted: without `<inertial>` a link has no mass, one without moments of inertia is a point, an
//! absent, zero or negative `effort` or `velocity` means no limit, negative damping or friction none, and infinite
//! limits are no limits. Shapes without a size and what [`habits`] lists are left out.

mod errors;
pub(crate) mod habits;
pub(crate) mod top_level;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use nalgebra::{Isometry3, Matrix3, Translation3, UnitQuaternion, Vector3};

use self::errors::{check_expanded, locate};
use self::top_level::{Element, top_level};
use super::left_out::{Said, without_meshes};
use super::{
    Articulation, Collision, Inertia, Joint, JointKind, Limits, Link, Look, MeshFile, Mimic, Shape, Visual, check,
};
use fingertip_shapes::file::Folder;
use fingertip_shapes::{Error, Findings, HEAVIEST, Places, Result, hull, xml};

impl Articulation {
    /// Reads a URDF file and checks it.
    ///
    /// # Errors
    /// If a file cannot be read, is larger than 16 MiB, is not URDF, or describes something impossible. The message
    /// names the file and the element.
    pub fn from_urdf(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_urdf_with(path, &[])
    }

    /// Reads a URDF file, with folders that contain packages. A mesh `package://name/file` is looked for as `name/file`
    /// and as `file`: in each of these folders, then in the URDF's own folder, then in every folder above it.
    ///
    /// # Errors
    /// As [`from_urdf`](Self::from_urdf).
    pub fn from_urdf_with(path: impl AsRef<Path>, packages: &[PathBuf]) -> Result<Self> {
        Self::from_urdf_in(&Folder::from(""), path, packages)
    }

    /// Reads a URDF file that is named relative to a folder; a folder of texts has no meshes.
    pub(crate) fn from_urdf_in(folder: &Folder, file: impl AsRef<Path>, packages: &[PathBuf]) -> Result<Self> {
        let path = folder.join(&file);
        let text = folder.text(file)?;
        let places = Places { folder: path.parent().unwrap_or(Path::new("")), packages };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let places = folder.is_of_disk().then_some(&places);
        read(&text, &name, places).map_err(|error| error.within(path.display()))
    }

    /// Reads a URDF's text, without its collision meshes. `name` is its name in errors.
    ///
    /// # Errors
    /// As [`from_urdf`](Self::from_urdf).
    pub fn from_urdf_str(text: &str, name: &str) -> Result<Self> {
        read(text, name, None).map_err(|error| error.within(name))
    }
}

/// A negative principal moment of a link that is this part of the file's largest number in an inertia is taken for 0.
const NEGLIGIBLE: f64 = 1e-6;

/// The link that some files hang their first joint on without having it.
const WORLD: &str = "world";

/// The tag of a text's root element, if it has elements.
pub(super) fn root_tag(text: &str) -> Option<&str> {
    top_level(text).0
}

/// Reads a URDF's text; `file` is its name in warnings.
fn read(text: &str, file: &str, places: Option<&Places>) -> Result<Articulation> {
    xml::check_depth(text)?;
    let (text, mended) = habits::mend(text);
    let (root, elements) = top_level(&text);
    if root != Some("robot") {
        let found = root.map_or("no element at all".into(), |tag| format!("<{tag}>"));
        return Err(Error::invalid("root element", format!("expected <robot>, got {found}")));
    }
    check_expanded(&elements)?;
    let mut robot = urdf_rs::read_from_string(&text).map_err(|error| locate(&error, &elements, &text))?;
    let mut said = Said { notes: notes(&elements), warnings: Vec::new() };
    said.notes.extend(mended);
    let mut hangs_on_world = robot.joints.iter().filter(|joint| joint.parent.link == WORLD);
    if let Some(joint) = hangs_on_world.next().filter(|_| robot.links.iter().all(|link| link.name != WORLD)) {
        said.notes.push(format!("link \"{WORLD}\": added, as joint \"{}\" hangs on it", joint.name));
        let alone = format!("<robot name=\"r\"><link name=\"{WORLD}\"/></robot>");
        robot.links.extend(urdf_rs::read_from_string(&alone).map_err(|error| locate(&error, &elements, &text))?.links);
    }
    let links = links(&robot, file, places, &mut said)?;
    let joints = joints(&robot, &elements, &mut said)?;
    let Said { notes, warnings } = said;
    let articulation = Articulation { links, joints, notes, warnings, ..Articulation::default() };
    articulation.validate()?;
    Ok(articulation)
}

/// One line for each kind of thing that is not read.
fn notes(elements: &[Element]) -> Vec<String> {
    let mut skipped = BTreeMap::<&str, usize>::new();
    for element in elements.iter().filter(|element| !["link", "joint", "material"].contains(&element.tag)) {
        *skipped.entry(element.tag).or_default() += 1;
    }
    skipped.iter().map(|(tag, n)| format!("<{tag}>: {n} left out")).collect()
}

fn links(robot: &urdf_rs::Robot, file: &str, places: Option<&Places>, said: &mut Said) -> Result<Vec<Link>> {
    let mut colors = HashMap::new();
    let materials = robot.links.iter().flat_map(|link| &link.visual).filter_map(|visual| visual.material.as_ref());
    for material in materials.chain(&robot.materials) {
        if let Some(color) = &material.color {
            colors.insert(material.name.as_str(), color.rgba.0);
        }
    }
    let mut findings = Findings::default();
    let mut missing = Missing::default();
    let matrices = robot.links.iter().map(|link| matrix(&link.inertial).amax());
    let negligible = NEGLIGIBLE * matrices.fold(0.0, f64::max);
    let mut read = |link| findings.take(read_link(link, places, negligible, &colors, said, &mut missing));
    let links = robot.links.iter().filter_map(&mut read).collect();
    if let Some(first) = missing.visual.first() {
        said.notes.push(format!("visual meshes: {} left out: {first}", missing.visual.len()));
    }
    said.warnings.extend(without_meshes(file, &missing.collision, missing.why.as_deref().unwrap_or_default()));
    findings.result().map(|()| links)
}

/// Meshes that are not there.
#[derive(Default)]
struct Missing {
    /// What was looked for in vain, for each visual mesh.
    visual: Vec<String>,
    /// The link and the name of each collision mesh, ...
    collision: Vec<(String, String)>,
    /// ... and what was looked for in vain for the first.
    why: Option<String>,
}

fn read_link(
    link: &urdf_rs::Link,
    places: Option<&Places>,
    negligible: f64,
    colors: &HashMap<&str, [f64; 4]>,
    Said { notes, warnings }: &mut Said,
    missing: &mut Missing,
) -> Result<Link> {
    let name = &link.name;
    let mut raised = None;
    let inertia = inertia(&link.inertial, negligible, &mut raised);
    let inertia = inertia.map_err(|error| error.within(format!("link \"{name}\"")))?;
    if let Some(least) = raised {
        notes.push(format!("link \"{name}\": principal moment {least:.3e} kg m^2 taken for 0"));
    }
    if inertia.is_none() && matrix(&link.inertial) != Matrix3::zeros() {
        warnings.push(format!("link \"{name}\": inertia without a mass left out"));
    }
    let without = || Err("a URDF's text alone has no files beside it".to_owned());
    let find = |filename: &str| places.map_or_else(without, |places| places.find(filename));
    let mut collisions = Vec::new();
    let mut empty = 0;
    for collision in &link.collision {
        if is_empty(&collision.geometry) {
            empty += 1;
            continue;
        }
        let (shape, mesh) = match shape(&collision.geometry) {
            Ok(shape) => (shape, None),
            Err((filename, scale)) => match find(filename) {
                Ok(path) => {
                    let hull = hull(&path, scale).map_err(|error| error.within(format!("link \"{name}\"")))?;
                    (hull, Some(MeshFile { path, scale }))
                }
                Err(why) => {
                    missing.collision.push((name.clone(), filename.to_owned()));
                    missing.why.get_or_insert(why);
                    continue;
                }
            },
        };
        collisions.push(Collision { mesh, ..Collision::new(shape, pose(&collision.origin)) });
    }
    let mut visual = |visual: &urdf_rs::Visual| {
        if is_empty(&visual.geometry) {
            empty += 1;
            return None;
        }
        let look = match shape(&visual.geometry) {
            Ok(shape) => Look::Shape(shape),
            Err((filename, scale)) => match find(filename) {
                Ok(path) => Look::Mesh(MeshFile { path, scale }),
                Err(why) => {
                    missing.visual.push(why);
                    return None;
                }
            },
        };
        let material = visual.material.as_ref();
        let own = material.and_then(|material| material.color.as_ref()).map(|color| color.rgba.0);
        Some(Visual {
            look,
            pose: pose(&visual.origin),
            rgba: own.or_else(|| colors.get(material?.name.as_str()).copied()),
        })
    };
    let visuals = link.visual.iter().filter_map(&mut visual).collect();
    if empty > 0 {
        notes.push(format!("link \"{name}\": {empty} shapes of size 0 left out"));
    }
    Ok(Link { name: name.clone(), inertia, collisions, visuals })
}

/// An inertia as it is written, kg·m².
fn matrix(inertial: &urdf_rs::Inertial) -> Matrix3<f64> {
    let urdf_rs::Inertia { ixx, ixy, ixz, iyy, iyz, izz } = inertial.inertia;
    Matrix3::new(ixx, ixy, ixz, ixy, iyy, iyz, ixz, iyz, izz)
}

/// The inertia in the link's frame: R I Rᵀ with the inertial frame's R. None without a mass. Negative moments that are
/// `negligible`, kg·m², become 0, and `raised` the least of them.
fn inertia(inertial: &urdf_rs::Inertial, negligible: f64, raised: &mut Option<f64>) -> Result<Option<Inertia>> {
    let mass = inertial.mass.value;
    check::not_negative("mass", mass)?;
    check::at_most("mass", mass, HEAVIEST, "kg")?;
    let mut own = Inertia { mass, com: Vector3::zeros(), matrix: matrix(inertial) };
    check::finite_pose("inertial origin", &pose(&inertial.origin))?;
    if mass == 0.0 {
        return Ok(None);
    }
    if own.validate().is_err() && own.matrix.iter().all(|x| x.is_finite()) {
        let least = own.principal_moments()[0];
        if least < 0.0 && least > -negligible {
            let mut eigen = own.matrix.symmetric_eigen();
            eigen.eigenvalues.apply(|moment| *moment = moment.max(0.0));
            own.matrix = eigen.recompose();
            *raised = Some(least);
        }
    }
    own.validate()?;
    Ok(Some(own.moved(&pose(&inertial.origin))))
}

/// A primitive, or the file name and scale of a mesh.
fn shape(geometry: &urdf_rs::Geometry) -> std::result::Result<Shape, (&str, [f64; 3])> {
    match geometry {
        urdf_rs::Geometry::Box { size } => Ok(Shape::cuboid(size.0.map(|edge| edge / 2.0))),
        urdf_rs::Geometry::Cylinder { radius, length } => Ok(Shape::cylinder(*radius, length / 2.0)),
        urdf_rs::Geometry::Capsule { radius, length: 0.0 } => Ok(Shape::sphere(*radius)),
        urdf_rs::Geometry::Capsule { radius, length } => Ok(Shape::capsule(*radius, length / 2.0)),
        urdf_rs::Geometry::Sphere { radius } => Ok(Shape::sphere(*radius)),
        urdf_rs::Geometry::Mesh { filename, scale } => Err((filename, scale.map_or([1.0; 3], |scale| scale.0))),
    }
}

/// Is this a primitive without a size, as files have where nothing is meant to be?
fn is_empty(geometry: &urdf_rs::Geometry) -> bool {
    match geometry {
        urdf_rs::Geometry::Box { size } => size.0.contains(&0.0),
        urdf_rs::Geometry::Cylinder { radius, length } => *radius == 0.0 || *length == 0.0,
        urdf_rs::Geometry::Capsule { radius, .. } | urdf_rs::Geometry::Sphere { radius } => *radius == 0.0,
        urdf_rs::Geometry::Mesh { .. } => false,
    }
}

fn pose(pose: &urdf_rs::Pose) -> Isometry3<f64> {
    let [roll, pitch, yaw] = pose.rpy.0;
    Isometry3::from_parts(Translation3::from(pose.xyz.0), UnitQuaternion::from_euler_angles(roll, pitch, yaw))
}

fn joints(robot: &urdf_rs::Robot, elements: &[Element], said: &mut Said) -> Result<Vec<Joint>> {
    let link_of: HashMap<&str, usize> = robot.links.iter().enumerate().map(|(i, link)| (&*link.name, i)).collect();
    let find = |role: &str, name: &str| {
        link_of.get(name).copied().ok_or_else(|| {
            Error::invalid(role, check::unknown("link", name, robot.links.iter().map(|link| link.name.as_str())))
        })
    };
    let Said { notes, warnings } = said;
    let mut findings = Findings::default();
    let mut text_of = HashMap::new();
    for element in elements.iter().rev().filter(|element| element.tag == "joint") {
        text_of.insert(element.name, element);
    }
    let joint_of = robot.joints.iter().enumerate().rev().map(|(i, joint)| (&*joint.name, i)).collect();
    let mut joints = Vec::with_capacity(robot.joints.len());
    for joint in &robot.joints {
        // urdf-rs gives zeros where there is no <limit>.
        let text = text_of.get(joint.name.as_str());
        let has_limit = text.is_none_or(|joint| top_level(joint.text).1.iter().any(|element| element.tag == "limit"));
        let [damping, friction] =
            joint.dynamics.as_ref().map_or([0.0; 2], |dynamics| [dynamics.damping, dynamics.friction]);
        let read = || {
            let (parent, child) = (find("parent", &joint.parent.link)?, find("child", &joint.child.link)?);
            let kind = kind(&joint.joint_type)?;
            Ok(Joint {
                origin: pose(&joint.origin),
                axis: axis(joint, kind)?,
                limits: limits(joint, kind, has_limit)?,
                effort: limit(joint.limit.effort),
                velocity: limit(joint.limit.velocity),
                damping: without_negative(damping),
                friction: without_negative(friction),
                mimic: mimic(robot, &joint_of, joint, kind)?,
                ..Joint::new(&joint.name, kind, parent, child)
            })
        };
        let read = read().map_err(|error: Error| error.within(format!("joint \"{}\"", joint.name)));
        let Some(read) = findings.take(read) else { continue };
        if joint.mimic.is_some() && read.mimic.is_none() {
            notes.push(format!("joint \"{}\": <mimic> of a fixed joint left out", joint.name));
        }
        for (key, given) in [("effort", joint.limit.effort), ("velocity", joint.limit.velocity)] {
            if given < 0.0 {
                notes.push(format!("joint \"{}\": {key} {given} taken for no limit", joint.name));
            }
        }
        for (key, given) in [("damping", damping), ("friction", friction)] {
            if given < 0.0 {
                notes.push(format!("joint \"{}\": {key} {given} taken for none", joint.name));
            }
        }
        let is_bounded = matches!(read.kind, JointKind::Revolute | JointKind::Prismatic);
        if is_bounded && joint.limit.lower > joint.limit.upper {
            warnings.push(format!("joint \"{}\": lower limit > upper limit, taken for no limits", joint.name));
        }
        if read.limits.is_some_and(|limits| limits.lower == limits.upper) {
            notes.push(format!("joint \"{}\": lower limit = upper limit, it may not move", joint.name));
        }
        joints.push(read);
    }
    findings.result().map(|()| joints)
}

/// The largest effort or velocity: urdf-rs gives zero where there is none.
fn limit(given: f64) -> f64 {
    if given <= 0.0 { f64::INFINITY } else { given }
}

/// Damping or friction: exporters write negative numbers where there is none.
fn without_negative(given: f64) -> f64 {
    if given < 0.0 { 0.0 } else { given }
}

fn kind(joint_type: &urdf_rs::JointType) -> Result<JointKind> {
    match joint_type {
        urdf_rs::JointType::Revolute => Ok(JointKind::Revolute),
        urdf_rs::JointType::Continuous => Ok(JointKind::Continuous),
        urdf_rs::JointType::Prismatic => Ok(JointKind::Prismatic),
        urdf_rs::JointType::Fixed => Ok(JointKind::Fixed),
        urdf_rs::JointType::Floating => Ok(JointKind::Floating),
        urdf_rs::JointType::Planar => Ok(JointKind::Planar),
        urdf_rs::JointType::Spherical => {
            Err(Error::invalid("type", "expected a standard type, got \"spherical\"; use three revolute joints"))
        }
    }
}

/// The axis at unit length; only joints that have one need a good one.
fn axis(joint: &urdf_rs::Joint, kind: JointKind) -> Result<Vector3<f64>> {
    if !kind.is_single() && kind != JointKind::Planar {
        return Ok(Vector3::x());
    }
    let axis = Vector3::from(joint.axis.xyz.0);
    check::finite_vector("axis", &axis)?;
    let unit = axis.try_normalize(f64::MIN_POSITIVE).filter(|unit| unit.iter().all(|x| x.is_finite()));
    unit.ok_or_else(|| Error::invalid("axis", "expected a direction, got a vector without length"))
}

fn limits(joint: &urdf_rs::Joint, kind: JointKind, has_limit: bool) -> Result<Option<Limits>> {
    if !matches!(kind, JointKind::Revolute | JointKind::Prismatic) {
        return Ok(None);
    }
    if !has_limit {
        let or = if kind == JointKind::Revolute { ", or type=\"continuous\"" } else { "" };
        let message = format!("expected <limit lower=\"…\" upper=\"…\" …/> in a {kind:?} joint{or}").to_lowercase();
        return Err(Error::invalid("limit", message));
    }
    let urdf_rs::JointLimit { lower, upper, .. } = joint.limit;
    let is_unlimited = lower > upper || (lower == f64::NEG_INFINITY && upper == f64::INFINITY);
    Ok((!is_unlimited).then_some(Limits { lower, upper }))
}

/// The joint with a coordinate of its own that is followed in the end, through a chain of mimic joints.
fn mimic(
    robot: &urdf_rs::Robot,
    joint_of: &HashMap<&str, usize>,
    joint: &urdf_rs::Joint,
    kind: JointKind,
) -> Result<Option<Mimic>> {
    if kind == JointKind::Fixed {
        return Ok(None);
    }
    let (mut multiplier, mut offset) = (1.0, 0.0);
    let (mut index, mut at) = (None, joint);
    // q = m₁ q₁ + o₁ with q₁ = m₂ q₂ + o₂ is m₁ m₂ q₂ + (m₁ o₂ + o₁).
    while let Some(mimic) = &at.mimic {
        let Some(&next) = joint_of.get(mimic.joint.as_str()) else {
            let names = robot.joints.iter().map(|joint| joint.name.as_str());
            return Err(Error::invalid("mimic", check::unknown("joint", &mimic.joint, names)));
        };
        offset += multiplier * mimic.offset.unwrap_or(0.0);
        multiplier *= mimic.multiplier.unwrap_or(1.0);
        (index, at) = (Some((next, index.map_or(1, |(_, steps)| steps + 1))), &robot.joints[next]);
        if index.is_some_and(|(_, steps)| steps > robot.joints.len()) {
            return Err(Error::invalid(
                "mimic",
                "expected to end at a joint that follows none, but this goes in a circle",
            ));
        }
    }
    Ok(index.map(|(joint, _)| Mimic { joint, multiplier, offset }))
}
