//! Geoms: shapes with a pose, a surface, a mass and a colour.

use std::collections::HashMap;

use nalgebra::{Isometry3, Unit, Vector3};

use super::compiler::{Compiler, z_to};
use super::mesh::Meshes;
use super::node::Node;
use crate::{Inertia, Look, Shape, Surface};
use fingertip_shapes::Result;

/// Groups that MuJoCo's viewer shows.
const VISIBLE: i64 = 2;
const KINDS: [&str; 9] = ["plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf"];

pub(super) enum Form {
    Shape(Shape),
    Mesh(usize),
    /// A kind of geom that is not read.
    Other(&'static str),
}

pub(super) struct Geom {
    pub(super) name: Option<String>,
    pub(super) form: Form,
    /// In its body's frame.
    pub(super) pose: Isometry3<f64>,
    pub(super) surface: Surface,
    pub(super) group: i64,
    pub(super) rgba: Option<[f64; 4]>,
    mass: Option<f64>,
    density: f64,
}

impl Geom {
    /// May it touch anything by its groups?
    pub(super) fn touches(&self) -> bool {
        self.surface.contype != 0 || self.surface.conaffinity != 0
    }

    pub(super) fn is_visible(&self) -> bool {
        self.group <= VISIBLE || !self.touches()
    }

    pub(super) fn read(
        node: &Node,
        name: Option<String>,
        frame: &Isometry3<f64>,
        compiler: &Compiler,
        meshes: &Meshes,
        colours: &HashMap<&str, [f64; 4]>,
    ) -> Result<Self> {
        let kind = node.word("type", &KINDS)?.unwrap_or("sphere");
        let mesh = node.text("mesh").map(|mesh| meshes.find(node, mesh)).transpose()?;
        let mut size = node.filled("size", [0.0; 3])?;
        let mut pose = compiler.pose(node)?;
        if let Some(ends) = node.numbers::<6>("fromto")? {
            let half;
            (pose, half) = between(node, &ends)?;
            size = stretched(kind, size, half)
                .ok_or_else(|| node.invalid("fromto", format!("expected with a long shape, got a {kind}")))?;
        }
        let form = match (kind, mesh) {
            ("mesh", Some(mesh)) => Form::Mesh(mesh),
            ("mesh", None) => return Err(node.invalid("mesh", "expected the name of a mesh, got none")),
            ("hfield" | "sdf", _) => Form::Other(if kind == "sdf" { "sdf" } else { "hfield" }),
            ("plane", None) => Form::Shape(Shape::HalfSpace),
            ("sphere", None) => Form::Shape(Shape::sphere(size[0])),
            ("capsule", None) => Form::Shape(Shape::capsule(size[0], size[1])),
            ("cylinder", None) => Form::Shape(Shape::cylinder(size[0], size[1])),
            ("box", None) => Form::Shape(Shape::cuboid(size)),
            (_, Some(mesh)) => {
                let (shape, at) = fitted(kind, &meshes.get(mesh).solid()?)
                    .ok_or_else(|| node.invalid("mesh", format!("expected a mesh that a {kind} can be fitted to")))?;
                pose *= at;
                Form::Shape(shape)
            }
            (_, None) => Form::Shape(Shape::ellipsoid(size)),
        };
        if let Form::Shape(shape) = &form {
            shape.validate().map_err(|error| error.within(node.place()))?;
        }
        let usual = Surface::default();
        let [mu, torsion, _] = node.filled("friction", [usual.mu, usual.torsion, 1e-4])?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the bits of an int")]
        let bits = |name: &str| Ok::<_, fingertip_shapes::Error>(node.integer(name)?.map_or(1, |bits| bits as u32));
        let own = node.numbers::<4>("rgba")?;
        let condim = node.word("condim", &["1", "3", "4", "6"])?;
        Ok(Self {
            name,
            form,
            pose: frame * pose,
            surface: Surface {
                contype: bits("contype")?,
                conaffinity: bits("conaffinity")?,
                priority: node.integer("priority")?.unwrap_or(usual.priority),
                condim: condim.and_then(|condim| condim.parse().ok()).unwrap_or(usual.condim),
                mu,
                torsion,
            },
            group: node.integer("group")?.unwrap_or(0),
            rgba: own.or_else(|| node.text("material").and_then(|name| colours.get(name).copied())),
            mass: node.number("mass")?,
            density: node.number("density")?.unwrap_or(1000.0),
        })
    }

    /// Would it have mass if its mesh were there?
    pub(super) fn has_mass(&self) -> bool {
        self.mass.unwrap_or(self.density) != 0.0
    }

    /// The geom's mass distribution in the frame of its body, if it has mass and its group counts.
    pub(super) fn inertia(&self, meshes: &Meshes, groups: [f64; 2]) -> Result<Option<Inertia>> {
        let counts = (groups[0]..=groups[1]).contains(&(self.group as f64));
        if !counts || !self.has_mass() {
            return Ok(None);
        }
        let solid = match &self.form {
            Form::Shape(shape) => Inertia::unit_density(shape),
            Form::Mesh(mesh) if meshes.get(*mesh).missing().is_some() => None,
            Form::Mesh(mesh) => Some(meshes.get(*mesh).solid()?),
            Form::Other(_) => None,
        };
        Ok(solid.map(|Inertia { mass: volume, com, matrix }| {
            let mass = self.mass.unwrap_or(self.density * volume);
            Inertia { mass, com, matrix: matrix * (mass / volume) }.moved(&self.pose)
        }))
    }

    /// The picture of the geom, and the frame of that in the geom's. A plane has no end and is not shown.
    pub(super) fn look(&self, meshes: &Meshes) -> Result<Option<(Look, Isometry3<f64>)>> {
        match &self.form {
            Form::Shape(Shape::HalfSpace) | Form::Other(_) => Ok(None),
            Form::Shape(shape) => Ok(Some((Look::Shape(shape.clone()), Isometry3::identity()))),
            Form::Mesh(mesh) => meshes.get(*mesh).look().map(Some),
        }
    }
}

/// The pose in the middle of two points, with z along their line, and half their distance.
pub(super) fn between(node: &Node, ends: &[f64; 6]) -> Result<(Isometry3<f64>, f64)> {
    let [from, to] = [Vector3::from_column_slice(&ends[..3]), Vector3::from_column_slice(&ends[3..])];
    let along = Unit::try_new(from - to, f64::MIN_POSITIVE)
        .ok_or_else(|| node.invalid("fromto", "expected two points, got one twice"))?;
    Ok((Isometry3::from_parts(((from + to) / 2.0).into(), z_to(&along)), (from - to).norm() / 2.0))
}

/// The sizes of a long shape between two points that are twice `half` apart; none of other kinds.
pub(super) fn stretched(kind: &str, size: [f64; 3], half: f64) -> Option<[f64; 3]> {
    match kind {
        "capsule" | "cylinder" => Some([size[0], half, 0.0]),
        "box" | "ellipsoid" => Some([size[0], size[0], half]),
        _ => None,
    }
}

/// A shape with about the inertia of a solid of density 1, and its pose: MuJoCo's fit of primitives to meshes, by the
/// box that has the same inertia.
fn fitted(kind: &str, solid: &Inertia) -> Option<(Shape, Isometry3<f64>)> {
    let eigen = solid.matrix.symmetric_eigen();
    // The longest side is along z.
    let mut order = [0, 1, 2];
    order.sort_by(|&i, &j| eigen.eigenvalues[j].total_cmp(&eigen.eigenvalues[i]));
    let moments = order.map(|i| eigen.eigenvalues[i]);
    let total: f64 = moments.iter().sum();
    let half = moments.map(|moment| (6.0 * (total - 2.0 * moment) / solid.mass).max(0.0).sqrt() / 2.0);
    let [x, y] = [order[0], order[1]].map(|i| eigen.eigenvectors.column(i).into_owned());
    let axes = nalgebra::Rotation3::from_matrix_unchecked(nalgebra::Matrix3::from_columns(&[x, y, x.cross(&y)]));
    let across = (half[0] + half[1]) / 2.0;
    let shape = match kind {
        "sphere" => Shape::sphere(half.iter().sum::<f64>() / 3.0),
        "capsule" => Shape::capsule(across, (half[2] - across / 2.0).max(0.0)),
        "cylinder" => Shape::cylinder(across, half[2]),
        "box" => Shape::cuboid(half),
        "ellipsoid" => Shape::ellipsoid(half),
        _ => return None,
    };
    Some((shape, Isometry3::from_parts(solid.com.into(), nalgebra::UnitQuaternion::from_rotation_matrix(&axes))))
}
