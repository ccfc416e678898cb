//! Shapes and poses as scene files spell them.

use std::path::Path;

use nalgebra::{Isometry3, Quaternion, Translation3, UnitQuaternion};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::{Articulation, Collision, Shape};
use fingertip_shapes::file::Folder;
use fingertip_shapes::{Decompose, Error, GridSettings, MeshFile, Result};

/// A table of a scene file that has the keys of a shape beside its own. Serde's `flatten` would not tell where in a
/// file an error is.
macro_rules! with_shape_keys {
    ($(#[$attribute:meta])* $seen:vis struct $name:ident { $($own:tt)* }) => {
        $(#[$attribute])*
        $seen struct $name {
            $($own)*
            sphere: Option<f64>,
            #[serde(default, deserialize_with = "exactly")]
            r#box: Option<[f64; 3]>,
            rounding: Option<f64>,
            #[serde(default, deserialize_with = "exactly")]
            capsule: Option<[f64; 2]>,
            #[serde(default, deserialize_with = "exactly")]
            cylinder: Option<[f64; 2]>,
            #[serde(default, deserialize_with = "exactly")]
            ellipsoid: Option<[f64; 3]>,
            hull: Option<Vec<[f64; 3]>>,
            mesh: Option<String>,
            scale: Option<Scale>,
            parts: Option<bool>,
            decompose: Option<DecomposeFile>,
            grid: Option<GridFile>,
            #[serde(default, deserialize_with = "exactly")]
            halfspace: Option<[f64; 4]>,
        }

        impl $name {
            fn shape_keys(&self) -> ShapeKeys<'_> {
                ShapeKeys {
                    sphere: self.sphere,
                    r#box: self.r#box,
                    rounding: self.rounding,
                    capsule: self.capsule,
                    cylinder: self.cylinder,
                    ellipsoid: self.ellipsoid,
                    hull: self.hull.as_deref(),
                    mesh: self.mesh.as_deref(),
                    scale: self.scale,
                    parts: self.parts,
                    decompose: self.decompose,
                    grid: self.grid.as_ref(),
                    halfspace: self.halfspace,
                }
            }
        }
    };
}
pub(super) use with_shape_keys;

with_shape_keys! {
    /// An entry of a `collision` list.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct CollisionFile {
        pub(super) link: Option<String>,
        #[serde(default, deserialize_with = "exactly")]
        at: Option<[f64; 3]>,
        #[serde(default, deserialize_with = "exactly")]
        rpy: Option<[f64; 3]>,
        #[serde(default, deserialize_with = "exactly")]
        quaternion: Option<[f64; 4]>,
    }
}

impl CollisionFile {
    /// The shapes where their entry puts them, one if it is no mesh in parts; mesh files are relative to `folder`.
    pub(super) fn collisions(&self, folder: &Folder) -> Result<Vec<Collision>> {
        let pose = pose(self.at, self.rpy, self.quaternion)?;
        let place = |own: Collision| Collision { pose: pose * own.pose, ..own };
        let shapes = self.shape_keys().collisions(folder)?.ok_or_else(ShapeKeys::missing)?;
        Ok(shapes.into_iter().map(place).collect())
    }
}

/// The key that cuts a mesh into convex parts.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DecomposeFile {
    tolerance: f64,
    parts: Option<usize>,
    vertices: Option<usize>,
}

impl DecomposeFile {
    pub(super) fn settings(self) -> Decompose {
        let default = Decompose::within(self.tolerance);
        Decompose {
            parts: self.parts.unwrap_or(default.parts),
            vertices: self.vertices.unwrap_or(default.vertices),
            ..default
        }
    }
}

/// The `grid` entry of a mesh: how its distance grid is made.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GridFile {
    tolerance: f64,
    reach: Option<f64>,
    /// The links whose meshes get one; all if it is not given.
    links: Option<Vec<String>>,
}

impl GridFile {
    /// How grids are made of something without links.
    pub(super) fn settings(&self) -> Result<GridSettings> {
        match self.links {
            Some(_) => Err(Error::invalid("links", "expected beside a urdf or an mjcf with links only").within("grid")),
            None => Ok(self.of_links()),
        }
    }

    fn of_links(&self) -> GridSettings {
        GridSettings { tolerance: self.tolerance, reach: self.reach }
    }

    /// Gives the links' meshes their grids.
    pub(super) fn apply(&self, articulation: &mut Articulation) -> Result<()> {
        let how = self.of_links();
        match &self.links {
            Some(links) => links.iter().try_for_each(|link| articulation.grid(&how, Some(link))),
            None => articulation.grid(&how, None),
        }
    }
}

/// The scale of a mesh relative to its file: one number, or three along x, y and z.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "expected a number or three along x, y and z")]
pub(super) enum Scale {
    Uniform(f64),
    Each([f64; 3]),
}

impl Scale {
    fn factors(self) -> [f64; 3] {
        match self {
            Self::Uniform(factor) => [factor; 3],
            Self::Each(factors) => factors,
        }
    }
}

/// A list of N numbers, and no more: what serde reads as an array may go on behind its end.
pub(super) fn exactly<'de, D: Deserializer<'de>, const N: usize>(
    from: D,
) -> std::result::Result<Option<[f64; N]>, D::Error> {
    let list = Vec::<f64>::deserialize(from)?;
    let wrong = |list: Vec<f64>| D::Error::invalid_length(list.len(), &format!("an array of length {N}").as_str());
    list.try_into().map(Some).map_err(wrong)
}

/// The keys that name a shape; a TOML table holds them next to others.
pub(super) struct ShapeKeys<'a> {
    pub(super) sphere: Option<f64>,
    pub(super) r#box: Option<[f64; 3]>,
    pub(super) rounding: Option<f64>,
    pub(super) capsule: Option<[f64; 2]>,
    pub(super) cylinder: Option<[f64; 2]>,
    pub(super) ellipsoid: Option<[f64; 3]>,
    pub(super) hull: Option<&'a [[f64; 3]]>,
    pub(super) mesh: Option<&'a str>,
    pub(super) scale: Option<Scale>,
    pub(super) parts: Option<bool>,
    pub(super) decompose: Option<DecomposeFile>,
    pub(super) grid: Option<&'a GridFile>,
    pub(super) halfspace: Option<[f64; 4]>,
}

impl ShapeKeys<'_> {
    const EXPECTED: &'static str =
        "expected one of sphere, box, capsule, cylinder, ellipsoid, hull, mesh and halfspace";

    pub(super) fn missing() -> Error {
        Error::invalid("shape", format!("{}, got none", Self::EXPECTED))
    }

    /// The shape that is there, if any, or the parts of its mesh; mesh files are relative to `folder`.
    pub(super) fn collisions(&self, folder: &Folder) -> Result<Option<Vec<Collision>>> {
        let with_mesh = [
            ("scale", self.scale.is_some()),
            ("parts", self.parts.is_some()),
            ("decompose", self.decompose.is_some()),
            ("grid", self.grid.is_some()),
        ];
        if let Some((key, _)) = with_mesh.into_iter().find(|(_, is_given)| *is_given && self.mesh.is_none()) {
            return Err(Error::invalid(key, "expected with a mesh only"));
        }
        if self.rounding.is_some() && self.r#box.is_none() {
            return Err(Error::invalid("rounding", "expected with a box only"));
        }
        let half_space = |[x, y, z, offset]: [f64; 4]| {
            let message = format!("expected [normal, offset] with a normal of some length, got [{x}, {y}, {z}]");
            let half_space = Collision::half_space([x, y, z], offset);
            Ok(vec![half_space.ok_or_else(|| Error::invalid("halfspace", message))?])
        };
        let centred = |shape| Ok(vec![Collision::centred(shape)]);
        let candidates = [
            ("sphere", self.sphere.map(|radius| centred(Shape::sphere(radius)))),
            ("box", self.r#box.map(|half| centred(Shape::rounded_cuboid(half, self.rounding.unwrap_or(0.0))))),
            ("capsule", self.capsule.map(|[radius, half_length]| centred(Shape::capsule(radius, half_length)))),
            ("cylinder", self.cylinder.map(|[radius, half_length]| centred(Shape::cylinder(radius, half_length)))),
            ("ellipsoid", self.ellipsoid.map(|radii| centred(Shape::ellipsoid(radii)))),
            ("hull", self.hull.map(|points| Shape::hull(points).and_then(centred))),
            ("mesh", self.mesh.map(|file| self.of_mesh(&folder.join(file)))),
            ("halfspace", self.halfspace.map(half_space)),
        ];
        let mut found = None;
        for (key, candidate) in candidates {
            let Some(candidate) = candidate else { continue };
            if let Some((other, _)) = found.replace((key, candidate)) {
                return Err(Error::invalid("shape", format!("{}, got {other} and {key}", Self::EXPECTED)));
            }
        }
        found.map(|(_, collisions)| collisions).transpose()
    }

    /// The hull of a mesh file or its convex parts, and its distance grid.
    fn of_mesh(&self, path: &Path) -> Result<Vec<Collision>> {
        let scale = self.scale.map_or([1.0; 3], Scale::factors);
        let file = MeshFile { path: path.to_owned(), scale };
        let shapes = match (self.decompose, self.parts.unwrap_or(false)) {
            (Some(_), true) => {
                return Err(Error::invalid("decompose", "expected without parts, which are cut already"));
            }
            (Some(how), false) => file.decompose(&how.settings())?,
            (None, true) => {
                fingertip_shapes::hulls(path, scale)?.into_iter().map(|hull| Shape::Hull(hull.into())).collect()
            }
            (None, false) if self.grid.is_none() => {
                let hull = Collision::centred(fingertip_shapes::hull(path, scale)?);
                return Ok(vec![Collision { mesh: Some(file), ..hull }]);
            }
            (None, false) => vec![fingertip_shapes::hull(path, scale)?],
        };
        match self.grid {
            Some(how) => Ok(Collision::with_grid(file.grid(&how.settings()?)?, shapes)),
            None => Ok(shapes.into_iter().map(Collision::centred).collect()),
        }
    }
}

/// A pose from a position and either roll, pitch, yaw (rad, about fixed x, y, z) or a quaternion wxyz.
pub(super) fn pose(
    position: Option<[f64; 3]>,
    rpy: Option<[f64; 3]>,
    quaternion: Option<[f64; 4]>,
) -> Result<Isometry3<f64>> {
    let rotation = match (rpy, quaternion) {
        (Some(_), Some(_)) => {
            return Err(Error::invalid("orientation", "expected rpy or quaternion, got both"));
        }
        (Some([roll, pitch, yaw]), None) => UnitQuaternion::from_euler_angles(roll, pitch, yaw),
        (None, Some([w, x, y, z])) => UnitQuaternion::try_new(Quaternion::new(w, x, y, z), f64::MIN_POSITIVE)
            .ok_or_else(|| Error::invalid("quaternion", format!("expected some length, got [{w}, {x}, {y}, {z}]")))?,
        (None, None) => UnitQuaternion::identity(),
    };
    Ok(Isometry3::from_parts(Translation3::from(position.unwrap_or_default()), rotation))
}
