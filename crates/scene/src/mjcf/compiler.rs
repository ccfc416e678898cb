//! The options of `<compiler>`, and how orientations are spelled.

use std::path::PathBuf;

use nalgebra::{Isometry3, Matrix3, Quaternion, Rotation3, Unit, UnitQuaternion, Vector3};

use super::document::Document;
use super::node::Node;
use fingertip_shapes::Result;

/// The settings of all `<compiler>` elements together; a later one wins.
pub(super) struct Compiler {
    degree: bool,
    pub(super) autolimits: bool,
    /// Axes of euler angles; and, do they turn with the body?
    euler: [(usize, bool); 3],
    pub(super) meshes: PathBuf,
    pub(super) strip_path: bool,
    /// None: where a body has no inertial.
    pub(super) inertia_from_geoms: Option<bool>,
    /// The groups of geoms that have mass.
    pub(super) inertia_groups: [f64; 2],
    pub(super) least_mass: f64,
    pub(super) least_inertia: f64,
    pub(super) total_mass: Option<f64>,
}

impl Compiler {
    pub(super) fn read(document: &Document) -> Result<Self> {
        let mut compiler = Self {
            degree: true,
            autolimits: true,
            euler: [(0, true), (1, true), (2, true)],
            meshes: PathBuf::new(),
            strip_path: false,
            inertia_from_geoms: None,
            inertia_groups: [0.0, 5.0],
            least_mass: 0.0,
            least_inertia: 0.0,
            total_mass: None,
        };
        for node in document.sections("compiler") {
            if let Some(angle) = node.word("angle", &["degree", "radian"])? {
                compiler.degree = angle == "degree";
            }
            compiler.autolimits = node.flag("autolimits")?.unwrap_or(compiler.autolimits);
            if let Some(sequence) = node.text("eulerseq") {
                compiler.euler = euler_axes(sequence).ok_or_else(|| {
                    node.invalid("eulerseq", format!("expected three of x, y, z, X, Y, Z, got \"{sequence}\""))
                })?;
            }
            if let Some(folder) = node.text("assetdir") {
                compiler.meshes = folder.into();
            }
            if let Some(folder) = node.text("meshdir") {
                compiler.meshes = folder.into();
            }
            compiler.strip_path = node.flag("strippath")?.unwrap_or(compiler.strip_path);
            if node.text("inertiafromgeom").is_some() {
                compiler.inertia_from_geoms = node.flag_or_auto("inertiafromgeom")?;
            }
            compiler.inertia_groups = node.numbers("inertiagrouprange")?.unwrap_or(compiler.inertia_groups);
            compiler.least_mass = node.number("boundmass")?.unwrap_or(compiler.least_mass);
            compiler.least_inertia = node.number("boundinertia")?.unwrap_or(compiler.least_inertia);
            compiler.total_mass = node.number("settotalmass")?.filter(|&mass| mass > 0.0).or(compiler.total_mass);
        }
        Ok(compiler)
    }

    /// An angle in rad.
    pub(super) fn angle(&self, angle: f64) -> f64 {
        if self.degree { angle.to_radians() } else { angle }
    }

    /// `pos`, and an orientation in any of its forms.
    pub(super) fn pose(&self, node: &Node) -> Result<Isometry3<f64>> {
        let position = node.numbers::<3>("pos")?.unwrap_or_default();
        Ok(Isometry3::from_parts(position.into(), self.orientation(node)?))
    }

    pub(super) fn orientation(&self, node: &Node) -> Result<UnitQuaternion<f64>> {
        let Some((name, text)) = node.one_of(&["quat", "axisangle", "xyaxes", "zaxis", "euler"])? else {
            return Ok(UnitQuaternion::identity());
        };
        let direction = |vector: Vector3<f64>| {
            let unit = Unit::try_new(vector, f64::MIN_POSITIVE);
            unit.ok_or_else(|| node.invalid(name, "expected directions, got one without length"))
        };
        match name {
            "quat" => {
                let quaternion = quaternion(node.exactly(name, text)?);
                quaternion.ok_or_else(|| node.invalid(name, "expected some length, got none"))
            }
            "axisangle" => {
                let [x, y, z, angle] = node.exactly(name, text)?;
                Ok(UnitQuaternion::from_axis_angle(&direction(Vector3::new(x, y, z))?, self.angle(angle)))
            }
            "xyaxes" => {
                let [a, b, c, d, e, f] = node.exactly(name, text)?;
                let x = direction(Vector3::new(a, b, c))?.into_inner();
                let y = Vector3::new(d, e, f);
                let y = direction(y - x * x.dot(&y))?.into_inner();
                let axes = Matrix3::from_columns(&[x, y, x.cross(&y)]);
                Ok(UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(axes)))
            }
            "zaxis" => Ok(z_to(&direction(node.exactly::<3>(name, text)?.into())?)),
            _ => Ok(self.euler(node.exactly(name, text)?)),
        }
    }

    /// Turns about three axes, one after the other.
    pub(super) fn euler(&self, angles: [f64; 3]) -> UnitQuaternion<f64> {
        let turns = self.euler.iter().zip(angles);
        turns.fold(UnitQuaternion::identity(), |turned, (&(axis, with_body), angle)| {
            let turn = UnitQuaternion::from_axis_angle(&Vector3::ith_axis(axis), self.angle(angle));
            if with_body { turned * turn } else { turn * turned }
        })
    }
}

fn euler_axes(sequence: &str) -> Option<[(usize, bool); 3]> {
    let axes = sequence.chars().map(|c| Some(("xyz".find(c.to_ascii_lowercase())?, c.is_ascii_lowercase())));
    axes.collect::<Option<Vec<_>>>()?.try_into().ok()
}

/// w, x, y, z of any length.
pub(super) fn quaternion([w, x, y, z]: [f64; 4]) -> Option<UnitQuaternion<f64>> {
    UnitQuaternion::try_new(Quaternion::new(w, x, y, z), f64::MIN_POSITIVE)
}

/// The least turn that brings z to a direction; half of one is about x.
pub(super) fn z_to(direction: &Unit<Vector3<f64>>) -> UnitQuaternion<f64> {
    /// Sines of angles at which the axis is not to be trusted, as MuJoCo has it.
    const ALONG: f64 = 1e-10;
    let axis = Vector3::z().cross(direction);
    let sine = axis.norm();
    let axis = if sine < ALONG { Vector3::x_axis() } else { Unit::new_normalize(axis) };
    UnitQuaternion::from_axis_angle(&axis, sine.atan2(direction.z))
}
