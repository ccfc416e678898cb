//! Robots and objects as scene files spell them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use nalgebra::Matrix3;
use serde::Deserialize;

use super::joints::{ConnectionFile, JointKeys, Numbers, SpringFile, TendonFile};
use super::shapes::{CollisionFile, DecomposeFile, GridFile, Scale, ShapeKeys, exactly, pose, with_shape_keys};
use crate::left_out::{Said, hollows};
use crate::{Articulation, Collision, Freedom, Inertia, Mount, Object, ObjectBody, Robot, Shape, Site, Table, Tendon};
use fingertip_shapes::file::Folder;
use fingertip_shapes::{Error, Result};

/// An entry of `[[robot]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RobotFile {
    pub(super) name: String,
    urdf: Option<String>,
    mjcf: Option<String>,
    freedom: Option<Freedom>,
    base: Option<Base>,
    #[serde(default)]
    packages: Vec<String>,
    #[serde(default, deserialize_with = "exactly")]
    position: Option<[f64; 3]>,
    #[serde(default, deserialize_with = "exactly")]
    rpy: Option<[f64; 3]>,
    #[serde(default, deserialize_with = "exactly")]
    quaternion: Option<[f64; 4]>,
    stiffness: Option<Numbers>,
    #[serde(default)]
    home: BTreeMap<String, f64>,
    #[serde(default)]
    passive: BTreeSet<String>,
    #[serde(default)]
    tendons: Vec<TendonFile>,
    #[serde(default)]
    spring: BTreeMap<String, SpringFile>,
    damping: Option<Numbers>,
    armature: Option<Numbers>,
    dry_friction: Option<Numbers>,
    #[serde(default)]
    connections: Vec<ConnectionFile>,
    mount: Option<Mount>,
    #[serde(default)]
    collide: bool,
    decompose: Option<DecomposeFile>,
    hull_vertices: Option<usize>,
    grid: Option<GridFile>,
    #[serde(default)]
    sites: Vec<SiteFile>,
    collision: Option<Vec<CollisionFile>>,
}

/// The key `base` of a robot: a root link on commanded joints.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Base {
    Commanded,
}

with_shape_keys! {
    /// An entry of `[[object]]`.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct ObjectFile {
        pub(super) name: String,
        freedom: Option<Freedom>,
        #[serde(default, deserialize_with = "exactly")]
        position: Option<[f64; 3]>,
        #[serde(default, deserialize_with = "exactly")]
        rpy: Option<[f64; 3]>,
        #[serde(default, deserialize_with = "exactly")]
        quaternion: Option<[f64; 4]>,
        urdf: Option<String>,
        mjcf: Option<String>,
        #[serde(default)]
        packages: Vec<String>,
        home: Option<BTreeMap<String, f64>>,
        #[serde(default)]
        spring: BTreeMap<String, SpringFile>,
        damping: Option<Numbers>,
        armature: Option<Numbers>,
        dry_friction: Option<Numbers>,
        #[serde(default)]
        connections: Vec<ConnectionFile>,
        table: Option<TableFile>,
        #[serde(default)]
        sites: Vec<SiteFile>,
        #[serde(default)]
        collide: bool,
        hull_vertices: Option<usize>,
        collision: Option<Vec<CollisionFile>>,
        mass: Option<f64>,
        inertia: Option<Vec<f64>>,
        #[serde(default, deserialize_with = "exactly")]
        com: Option<[f64; 3]>,
    }
}

/// The key `table` of an object: its friction, alone or with a radius.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(super) struct TableFile(Table);

/// The keys of `table`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableKeys {
    friction: f64,
    radius: Option<f64>,
}

impl TryFrom<toml::Value> for TableFile {
    type Error = String;

    fn try_from(value: toml::Value) -> std::result::Result<Self, String> {
        match value {
            toml::Value::Float(friction) => Ok(Self(Table { friction, radius: None })),
            #[expect(clippy::cast_precision_loss, reason = "a coefficient")]
            toml::Value::Integer(friction) => Ok(Self(Table { friction: friction as f64, radius: None })),
            toml::Value::Table(_) => {
                let TableKeys { friction, radius } =
                    value.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
                Ok(Self(Table { friction, radius }))
            }
            other => {
                Err(format!("expected a friction coefficient or {{ friction, radius }}, got {}", other.type_str()))
            }
        }
    }
}

/// A named point of a link, or of an object that is one rigid body.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteFile {
    name: String,
    link: Option<String>,
    at: Option<[f64; 3]>,
    rpy: Option<[f64; 3]>,
    quaternion: Option<[f64; 4]>,
}

impl SiteFile {
    fn site(&self) -> Result<Site> {
        let pose = pose(self.at, self.rpy, self.quaternion);
        let pose = pose.map_err(|error| error.within(format!("site \"{}\"", self.name)))?;
        Ok(Site { name: self.name.clone(), link: self.link.clone(), pose })
    }
}

impl RobotFile {
    pub(super) fn robot(self, folder: &Folder) -> Result<Robot> {
        let mut robot = match (&self.urdf, &self.mjcf) {
            (Some(urdf), None) => Robot::new(self.name, read_urdf(folder, urdf, &self.packages)?),
            (None, Some(_)) if !self.packages.is_empty() => {
                return Err(Error::invalid("packages", "expected with a urdf only"));
            }
            (None, Some(mjcf)) => Robot::from_mjcf(self.name, folder.join(mjcf))?,
            (Some(_), Some(_)) => return Err(Error::invalid("urdf", "expected urdf or mjcf, got both")),
            (None, None) => return Err(Error::invalid("urdf", "expected urdf or mjcf, got none")),
        };
        replace_collisions(&mut robot.articulation, folder, self.collision.as_deref(), self.collide)?;
        self.grid.map_or(Ok(()), |grid| grid.apply(&mut robot.articulation))?;
        if let Some(how) = self.decompose {
            robot.articulation.decompose(&how.settings(), None)?;
        }
        self.hull_vertices.map_or(Ok(()), |most| robot.articulation.reduce_hulls(most))?;
        let [damping, armature, dry_friction] = [&self.damping, &self.armature, &self.dry_friction].map(Option::as_ref);
        JointKeys { spring: &self.spring, damping, armature, dry_friction, connections: &self.connections }
            .apply(&mut robot.articulation)?;
        robot.freedom = self.freedom.unwrap_or(robot.freedom);
        robot.base = pose(self.position, self.rpy, self.quaternion)? * robot.base;
        robot.home.extend(self.home);
        robot.passive.extend(self.passive);
        for TendonFile { joint, others } in self.tendons {
            robot.tendons.push(Tendon { joint, others });
        }
        match self.stiffness {
            None => {}
            Some(Numbers::All(stiffness)) => {
                robot.default_stiffness = stiffness;
                robot.stiffness.clear();
            }
            Some(Numbers::ByJoint(mut stiffness)) => {
                robot.default_stiffness = stiffness.remove("default").unwrap_or(robot.default_stiffness);
                robot.stiffness.extend(stiffness);
            }
        }
        for file in &self.sites {
            robot.sites.push(file.site()?);
        }
        robot.mount = self.mount;
        match (self.base, self.freedom) {
            (None, _) => Ok(robot),
            (Some(Base::Commanded), None) => Ok(robot.with_commanded_base(Robot::BASE_STIFFNESS)),
            (Some(Base::Commanded), Some(_)) => {
                Err(Error::invalid("base", "expected no freedom beside it: a commanded base has joints"))
            }
        }
    }
}

impl ObjectFile {
    /// The object. `said` gets what is said of its MJCF.
    pub(super) fn object(self, folder: &Folder, said: &mut Said) -> Result<Object> {
        let pose = pose(self.position, self.rpy, self.quaternion)?;
        if let Some(mjcf) = &self.mjcf {
            self.alone("mjcf", folder)?;
            let (mut object, own) = Object::from_mjcf(&self.name, &folder.join(mjcf), self.collide)?;
            let named = |line: String| format!("{}: {line}", self.name);
            said.notes.extend(own.notes.into_iter().map(named));
            said.warnings.extend(own.warnings.into_iter().map(named));
            object.pose = pose * object.pose;
            object.freedom = self.freedom.unwrap_or(object.freedom);
            object.table = self.table.map(|TableFile(table)| table);
            let given = self.joint_keys().given();
            let how = self.decompose.map(DecomposeFile::settings);
            match &mut object.body {
                ObjectBody::Articulated { articulation, home } => {
                    self.grid.as_ref().map_or(Ok(()), |grid| grid.apply(articulation))?;
                    how.map_or(Ok(()), |how| articulation.decompose(&how, None))?;
                    self.hull_vertices.map_or(Ok(()), |most| articulation.reduce_hulls(most))?;
                    self.joint_keys().apply(articulation)?;
                    home.extend(self.home.unwrap_or_default());
                }
                ObjectBody::Rigid { collisions, .. } => {
                    without_joints(given)?;
                    if let Some(grid) = &self.grid {
                        let how = grid.settings()?;
                        let grids = collisions.iter().map(|collision| collision.gridded(&how));
                        *collisions = grids.collect::<Result<Vec<_>>>()?.concat();
                    }
                    if let Some(how) = how {
                        let parts = collisions.iter().map(|collision| collision.decompose(&how));
                        *collisions = parts.collect::<Result<Vec<_>>>()?.concat();
                    }
                    self.reduce_hulls(collisions, said)?;
                }
            }
            for file in &self.sites {
                object.sites.push(file.site()?);
            }
            return Ok(object);
        }
        let body = match &self.urdf {
            Some(urdf) => self.articulated(folder, urdf)?,
            None => self.rigid(folder, said)?,
        };
        let sites = self.sites.iter().map(SiteFile::site).collect::<Result<_>>()?;
        let table = self.table.map(|TableFile(table)| table);
        Ok(Object { freedom: self.freedom(&body)?, name: self.name, body, pose, table, sites })
    }

    fn joint_keys(&self) -> JointKeys<'_> {
        JointKeys {
            spring: &self.spring,
            damping: self.damping.as_ref(),
            armature: self.armature.as_ref(),
            dry_friction: self.dry_friction.as_ref(),
            connections: &self.connections,
        }
    }

    /// The file's freedom; an object with a half-space can only be fixed.
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
        // Those of a URDF's or an MJCF's meshes are theirs.
        let of_file = self.urdf.is_some() || self.mjcf.is_some();
        let (decompose, grid) = (self.decompose.filter(|_| !of_file), self.grid.as_ref().filter(|_| !of_file));
        ShapeKeys { decompose, grid, ..self.shape_keys() }.collisions(folder)
    }

    /// Beside a file there may be no keys that say what it says.
    fn alone(&self, file: &str, folder: &Folder) -> Result<()> {
        let is_mjcf = file == "mjcf";
        let given = [
            ("urdf", is_mjcf && self.urdf.is_some()),
            ("packages", is_mjcf && !self.packages.is_empty()),
            ("collision", is_mjcf && self.collision.is_some()),
            ("mass", self.mass.is_some()),
            ("inertia", self.inertia.is_some()),
            ("com", self.com.is_some()),
            ("a shape", self.shapes(folder)?.is_some()),
        ];
        if let Some((key, _)) = given.iter().find(|(_, is_given)| *is_given) {
            let message =
                format!("expected {} file alone, got {key} beside it", if is_mjcf { "an MJCF" } else { "a URDF" });
            return Err(Error::invalid(file, message));
        }
        Ok(())
    }

    fn articulated(&self, folder: &Folder, urdf: &str) -> Result<ObjectBody> {
        self.alone("urdf", folder)?;
        let mut articulation = read_urdf(folder, urdf, &self.packages)?;
        replace_collisions(&mut articulation, folder, self.collision.as_deref(), self.collide)?;
        self.grid.as_ref().map_or(Ok(()), |grid| grid.apply(&mut articulation))?;
        if let Some(how) = self.decompose {
            articulation.decompose(&how.settings(), None)?;
        }
        self.hull_vertices.map_or(Ok(()), |most| articulation.reduce_hulls(most))?;
        self.joint_keys().apply(&mut articulation)?;
        Ok(ObjectBody::Articulated { articulation, home: self.home.clone().unwrap_or_default() })
    }

    fn rigid(&self, folder: &Folder, said: &mut Said) -> Result<ObjectBody> {
        if !self.packages.is_empty() {
            return Err(Error::invalid("packages", "expected with a urdf only"));
        }
        if self.collide {
            return Err(Error::invalid("collide", "expected with a urdf or an mjcf only"));
        }
        if self.home.is_some() {
            return Err(Error::invalid("home", "expected with a urdf only; a rigid object starts at its position"));
        }
        without_joints(self.joint_keys().given())?;
        let mut collisions = match (self.shapes(folder)?, &self.collision) {
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
        said.warnings.extend(collisions.iter().filter_map(hollows).map(|hollows| format!("{}: {hollows}", self.name)));
        let inertia = self.mass_distribution(&collisions)?;
        self.reduce_hulls(&mut collisions, said)?;
        Ok(ObjectBody::Rigid { inertia, collisions })
    }

    /// Leaves the hulls as many vertices as the file says.
    fn reduce_hulls(&self, collisions: &mut [Collision], said: &mut Said) -> Result<()> {
        let Some(most) = self.hull_vertices else { return Ok(()) };
        for collision in collisions {
            let note = collision.reduce_hull(most)?;
            said.notes.extend(note.map(|note| format!("{}: {note}", self.name)));
        }
        Ok(())
    }

    /// The file's inertia, completed by that of the uniform solid; none without a mass.
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

/// One rigid body may have no keys of joints.
fn without_joints(given: Option<&str>) -> Result<()> {
    given.map_or(Ok(()), |key| Err(Error::invalid(key, "expected with joints only; this object is one rigid body")))
}

fn rigid_collisions(i: usize, file: &CollisionFile, folder: &Folder) -> Result<Vec<Collision>> {
    let place = |error: Error| error.within(format!("collision {}", i + 1));
    if file.link.is_some() {
        return Err(place(Error::invalid("link", "expected with a urdf only, as this object is one rigid body")));
    }
    file.collisions(folder).map_err(place)
}

fn read_urdf(folder: &Folder, urdf: &str, packages: &[String]) -> Result<Articulation> {
    let packages: Vec<PathBuf> = packages.iter().map(|package| folder.join(package)).collect();
    Articulation::from_urdf_in(folder, urdf, &packages)
}

/// Puts the shapes of a `collision` list, if there is one, in place of those of the links, or, if they are to
/// `collide`, those that they are drawn with in place of none.
fn replace_collisions(
    articulation: &mut Articulation,
    folder: &Folder,
    list: Option<&[CollisionFile]>,
    collide: bool,
) -> Result<()> {
    if collide && list.is_some() {
        return Err(Error::invalid("collide", "expected without a list of collision shapes, which has them all"));
    }
    if collide {
        return articulation.collide();
    }
    let Some(list) = list else { return Ok(()) };
    let mut collisions = Vec::with_capacity(list.len());
    for (i, file) in list.iter().enumerate() {
        let place = |error: Error| error.within(format!("collision {}", i + 1));
        let missing = || Error::invalid("link", "expected the name of the link that the shape is on, got none");
        let link = file.link.as_deref().ok_or_else(missing).map_err(place)?;
        collisions.extend(file.collisions(folder).map_err(place)?.into_iter().map(|collision| (link, collision)));
    }
    articulation.replace_collisions(collisions)
}
