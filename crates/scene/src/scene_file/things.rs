//! Robots and objects as scene files spell them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use nalgebra::Matrix3;
use serde::Deserialize;

use super::shapes::{CollisionFile, DecomposeFile, Scale, ShapeKeys, pose};
use crate::{Articulation, Collision, Freedom, Inertia, Object, ObjectBody, Robot, Shape};
use fingertip_shapes::file::Folder;
use fingertip_shapes::{Error, Result};

/// An entry of `[[robot]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RobotFile {
    pub(super) name: String,
    urdf: String,
    freedom: Option<Freedom>,
    #[serde(default)]
    packages: Vec<String>,
    position: Option<[f64; 3]>,
    rpy: Option<[f64; 3]>,
    quaternion: Option<[f64; 4]>,
    stiffness: Option<Stiffness>,
    #[serde(default)]
    home: BTreeMap<String, f64>,
    collision: Option<Vec<CollisionFile>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number or a table of numbers by joint name")]
enum Stiffness {
    All(f64),
    ByJoint(BTreeMap<String, f64>),
}

/// An entry of `[[object]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ObjectFile {
    pub(super) name: String,
    freedom: Option<Freedom>,
    position: Option<[f64; 3]>,
    rpy: Option<[f64; 3]>,
    quaternion: Option<[f64; 4]>,
    urdf: Option<String>,
    #[serde(default)]
    packages: Vec<String>,
    home: Option<BTreeMap<String, f64>>,
    sphere: Option<f64>,
    r#box: Option<[f64; 3]>,
    rounding: Option<f64>,
    capsule: Option<[f64; 2]>,
    cylinder: Option<[f64; 2]>,
    ellipsoid: Option<[f64; 3]>,
    hull: Option<Vec<[f64; 3]>>,
    mesh: Option<String>,
    scale: Option<Scale>,
    parts: Option<bool>,
    decompose: Option<DecomposeFile>,
    halfspace: Option<[f64; 4]>,
    collision: Option<Vec<CollisionFile>>,
    mass: Option<f64>,
    inertia: Option<Vec<f64>>,
    com: Option<[f64; 3]>,
}

impl RobotFile {
    pub(super) fn robot(self, folder: &Folder) -> Result<Robot> {
        let mut robot =
            Robot::new(self.name, articulation(folder, &self.urdf, &self.packages, self.collision.as_deref())?);
        robot.freedom = self.freedom.unwrap_or(robot.freedom);
        robot.base = pose(self.position, self.rpy, self.quaternion)?;
        robot.home = self.home;
        match self.stiffness {
            None => {}
            Some(Stiffness::All(stiffness)) => robot.default_stiffness = stiffness,
            Some(Stiffness::ByJoint(mut stiffness)) => {
                robot.default_stiffness = stiffness.remove("default").unwrap_or(robot.default_stiffness);
                robot.stiffness = stiffness;
            }
        }
        Ok(robot)
    }
}

impl ObjectFile {
    pub(super) fn object(self, folder: &Folder) -> Result<Object> {
        let pose = pose(self.position, self.rpy, self.quaternion)?;
        let body = match &self.urdf {
            Some(urdf) => self.articulated(folder, urdf)?,
            None => self.rigid(folder)?,
        };
        Ok(Object { freedom: self.freedom(&body)?, name: self.name, body, pose })
    }

    /// What the file says; what holds a half-space can only be fixed.
    fn freedom(&self, body: &ObjectBody) -> Result<Freedom> {
        let half_space = |collision: &Collision| collision.shape == Shape::HalfSpace;
        let endless = matches!(body, ObjectBody::Rigid { collisions, .. } if collisions.iter().any(half_space));
        self.freedom.or(endless.then_some(Freedom::Fixed)).ok_or_else(|| {
            let choices =
                "expected \"free\", \"planar\" (x, y, yaw), \"translation\" (no rotation) or \"fixed\", got none";
            Error::invalid("freedom", choices)
        })
    }

    fn shapes(&self, folder: &Folder) -> Result<Option<Vec<Collision>>> {
        let Self { sphere, r#box, rounding, capsule, cylinder, ellipsoid, scale, parts, decompose, halfspace, .. } =
            *self;
        let (hull, mesh) = (self.hull.as_deref(), self.mesh.as_deref());
        #[rustfmt::skip]
        let keys = ShapeKeys {
            sphere, r#box, rounding, capsule, cylinder, ellipsoid, hull, mesh, scale, parts, decompose, halfspace,
        };
        keys.collisions(folder)
    }

    fn articulated(&self, folder: &Folder, urdf: &str) -> Result<ObjectBody> {
        let given = [
            ("mass", self.mass.is_some()),
            ("inertia", self.inertia.is_some()),
            ("com", self.com.is_some()),
            ("a shape", self.shapes(folder)?.is_some()),
        ];
        if let Some((key, _)) = given.iter().find(|(_, is_given)| *is_given) {
            return Err(Error::invalid("urdf", format!("expected a URDF file alone, got {key} beside it")));
        }
        let articulation = articulation(folder, urdf, &self.packages, self.collision.as_deref())?;
        Ok(ObjectBody::Articulated { articulation, home: self.home.clone().unwrap_or_default() })
    }

    fn rigid(&self, folder: &Folder) -> Result<ObjectBody> {
        if !self.packages.is_empty() {
            return Err(Error::invalid("packages", "expected with a urdf only"));
        }
        if self.home.is_some() {
            return Err(Error::invalid("home", "expected with a urdf only; a rigid object starts at its position"));
        }
        let collisions = match (self.shapes(folder)?, &self.collision) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid("shape", "expected one shape or collision = […], got both"));
            }
            (Some(shapes), None) => shapes,
            (None, Some(list)) => {
                let of = list.iter().enumerate().map(|(i, file)| rigid_collisions(i, file, folder));
                of.collect::<Result<Vec<_>>>()?.concat()
            }
            (None, None) => return Err(ShapeKeys::missing()),
        };
        Ok(ObjectBody::Rigid { inertia: self.mass_distribution(&collisions)?, collisions })
    }

    /// What the file gives, and the uniform solid for the rest; none without a mass.
    fn mass_distribution(&self, collisions: &[Collision]) -> Result<Option<Inertia>> {
        let Some(mass) = self.mass else {
            return match (&self.inertia, self.com) {
                (None, None) => Ok(None),
                _ => Err(Error::invalid("mass", "expected beside inertia and com, got none")),
            };
        };
        let given = match self.inertia.as_deref() {
            None => None,
            Some(&[xx, yy, zz]) => Some(Matrix3::from_diagonal(&[xx, yy, zz].into())),
            Some(&[xx, yy, zz, xy, xz, yz]) => Some(Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz)),
            Some(other) => {
                let expected = "expected 3 numbers (ixx, iyy, izz) or 6 (ixx, iyy, izz, ixy, ixz, iyz)";
                return Err(Error::invalid("inertia", format!("{expected}, got {}", other.len())));
            }
        };
        let solid = Inertia::solid_compound(collisions, mass);
        let mut inertia = match given {
            Some(matrix) => Inertia { matrix, ..Inertia::point(mass) },
            None => solid.unwrap_or(Inertia::point(mass)),
        };
        inertia.com = self.com.map_or(inertia.com, Into::into);
        Ok(Some(inertia))
    }
}

fn rigid_collisions(i: usize, file: &CollisionFile, folder: &Folder) -> Result<Vec<Collision>> {
    let place = |error: Error| error.within(format!("collision {}", i + 1));
    if file.link.is_some() {
        return Err(place(Error::invalid("link", "expected with a urdf only, as this object is one rigid body")));
    }
    file.collisions(folder).map_err(place)
}

/// Reads a URDF, and puts the shapes of a `collision` list in place of its own.
fn articulation(
    folder: &Folder,
    urdf: &str,
    packages: &[String],
    list: Option<&[CollisionFile]>,
) -> Result<Articulation> {
    let packages: Vec<PathBuf> = packages.iter().map(|package| folder.join(package)).collect();
    let mut articulation = Articulation::from_urdf_in(folder, urdf, &packages)?;
    let Some(list) = list else {
        return Ok(articulation);
    };
    let mut collisions = Vec::with_capacity(list.len());
    for (i, file) in list.iter().enumerate() {
        let place = |error: Error| error.within(format!("collision {}", i + 1));
        let missing = || Error::invalid("link", "expected the name of the link that the shape is on, got none");
        let link = file.link.as_deref().ok_or_else(missing).map_err(place)?;
        collisions.extend(file.collisions(folder).map_err(place)?.into_iter().map(|collision| (link, collision)));
    }
    articulation.replace_collisions(collisions)?;
    Ok(articulation)
}
