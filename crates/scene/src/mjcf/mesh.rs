//! Mesh assets: where their vertices are, their hulls, and their mass.

use std::cell::{Cell, OnceCell};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use nalgebra::{Isometry3, Matrix3, Point3, UnitQuaternion, Vector3};

use super::compiler::{Compiler, quaternion};
use super::defaults::Defaults;
use super::document::Document;
use super::node::Node;
use crate::{Inertia, Look, MeshFile, Shape, Triangles};
use fingertip_shapes::{Error, Result, unknown, vertices};

/// A mesh without a hull is flat if its thickness is at most this part of its size.
const FLAT: f64 = 1e-3;

/// The distribution of a mesh's mass.
#[derive(Clone, Copy, PartialEq)]
enum Filling {
    /// The solid within the surface.
    Exact,
    /// Exact, but with all volumes positive, as seen from the middle of the surface: MuJoCo's default.
    Legacy,
    /// The solid within the convex hull.
    Convex,
    /// The surface alone, with a density by area.
    Shell,
}

enum Source {
    File(PathBuf),
    /// Vertices and, if there are faces, their corners.
    Inline(Vec<[f64; 3]>, Vec<[usize; 3]>),
}

/// A mesh asset. Its vertices are S R⁻¹ (v − p) with those of its file, v.
pub(super) struct Mesh<'a> {
    node: Node<'a>,
    pub(super) name: String,
    source: Source,
    scale: [f64; 3],
    position: Vector3<f64>,
    rotation: UnitQuaternion<f64>,
    filling: Filling,
    hull: OnceCell<Shape>,
    /// The most vertices that its hull has where it touches, if the file says so.
    pub(super) most: Option<usize>,
    /// Faces that stand twice, of a mesh whose mass is exact; known once that has been asked for.
    doubled: Cell<usize>,
}

/// All mesh assets.
pub(super) struct Meshes<'a> {
    meshes: Vec<Mesh<'a>>,
    by_name: HashMap<String, usize>,
}

impl<'a> Meshes<'a> {
    pub(super) fn read(document: &'a Document, compiler: &Compiler, defaults: &Defaults<'a>) -> Result<Self> {
        let (mut meshes, mut by_name) = (Vec::new(), HashMap::new());
        for asset in document.sections("asset") {
            for node in asset.children().filter(|node| node.tag() == "mesh") {
                let mesh = Mesh::read(defaults.apply(node, None)?, document, compiler)?;
                by_name.insert(mesh.name.clone(), meshes.len());
                meshes.push(mesh);
            }
        }
        Ok(Self { meshes, by_name })
    }

    /// The index of the mesh that an element names.
    pub(super) fn find(&self, node: &Node, name: &str) -> Result<usize> {
        let message = || unknown("mesh", name, self.by_name.keys().map(String::as_str));
        self.by_name.get(name).copied().ok_or_else(|| node.invalid("mesh", message()))
    }

    /// A warning for each mesh whose exact mass is that of fewer faces than it has.
    pub(super) fn warnings(&self) -> impl Iterator<Item = String> {
        let doubled = self.meshes.iter().filter(|mesh| mesh.doubled.get() > 0);
        doubled.map(|mesh| {
            format!("mesh \"{}\": {} faces stand twice and count once in its mass", mesh.name, mesh.doubled.get())
        })
    }

    pub(super) fn get(&self, index: usize) -> &Mesh<'a> {
        &self.meshes[index]
    }
}

impl<'a> Mesh<'a> {
    fn read(node: Node<'a>, document: &Document, compiler: &Compiler) -> Result<Self> {
        let file = node.own("file");
        let stem = file.and_then(|file| Path::new(file).file_stem()).map(|stem| stem.to_string_lossy().into_owned());
        let name = node.own("name").map(str::to_owned).or(stem);
        let name = name.ok_or_else(|| node.invalid("name", "expected a name or a file, got none"))?;
        let source = match (file, node.list("vertex")?) {
            (Some(file), _) => {
                let file = Path::new(file);
                let file = if compiler.strip_path { file.file_name().map_or(file, Path::new) } else { file };
                Source::File(document.folder().join(&compiler.meshes).join(file))
            }
            (None, Some(numbers)) => Source::Inline(triples(&node, "vertex", numbers)?, faces(&node)?),
            (None, None) => return Err(node.invalid("", "expected a file or vertices, got none")),
        };
        let turned = node.numbers("refquat")?.map(|numbers| {
            quaternion(numbers).ok_or_else(|| node.invalid("refquat", "expected some length, got none"))
        });
        let filling = match node.word("inertia", &["legacy", "exact", "convex", "shell"])? {
            Some("exact") => Filling::Exact,
            Some("convex") => Filling::Convex,
            Some("shell") => Filling::Shell,
            _ => Filling::Legacy,
        };
        // −1 stands for no limit.
        let most = match node.numbers::<1>("maxhullvert")? {
            None | Some([-1.0]) => None,
            Some([most]) if most > 3.0 && most.fract() == 0.0 => Some(most as usize),
            Some([most]) => {
                let message = format!("expected a whole number of at least 4, or -1 for no limit, got {most}");
                return Err(node.invalid("maxhullvert", message));
            }
        };
        Ok(Self {
            name,
            source,
            scale: node.numbers("scale")?.unwrap_or([1.0; 3]),
            position: node.numbers::<3>("refpos")?.unwrap_or_default().into(),
            rotation: turned.transpose()?.unwrap_or_default(),
            filling,
            hull: OnceCell::new(),
            most,
            doubled: Cell::new(0),
            node,
        })
    }

    /// The file that is not there, if it is not.
    pub(super) fn missing(&self) -> Option<&Path> {
        match &self.source {
            Source::File(path) if !path.is_file() => Some(path),
            _ => None,
        }
    }

    /// The whole file as it is, if it is one and is not placed otherwise.
    pub(super) fn file(&self) -> Option<MeshFile> {
        let is_as_it_is = self.position == Vector3::zeros() && self.rotation == UnitQuaternion::identity();
        match &self.source {
            Source::File(path) if is_as_it_is => Some(MeshFile { path: path.clone(), scale: self.scale }),
            _ => None,
        }
    }

    fn placed(&self, vertex: [f64; 3]) -> [f64; 3] {
        let turned = self.rotation.inverse() * (Vector3::from(vertex) - self.position);
        std::array::from_fn(|k| turned[k] * self.scale[k])
    }

    fn points(&self) -> Result<Vec<[f64; 3]>> {
        let points = match &self.source {
            Source::File(path) => vertices(path).map_err(|error| self.within(error))?,
            Source::Inline(points, _) => points.clone(),
        };
        Ok(points.into_iter().map(|point| self.placed(point)).collect())
    }

    /// The convex hull of its vertices.
    pub(super) fn hull(&self) -> Result<Shape> {
        if let Some(hull) = self.hull.get() {
            return Ok(hull.clone());
        }
        let hull = Shape::hull(&self.points()?).map_err(|error| self.within(error))?;
        Ok(self.hull.get_or_init(|| hull).clone())
    }

    /// The mesh as a picture, and its frame in that of a geom.
    pub(super) fn look(&self) -> Result<(Look, Isometry3<f64>)> {
        let [x, y, z] = self.scale;
        let turns = self.rotation.angle() != 0.0;
        match &self.source {
            // A turn and a scale by axis are no pose.
            Source::File(path) if !turns || (x == y && y == z) => {
                let shift = Vector3::from(self.placed([0.0; 3]));
                let mesh = MeshFile { path: path.clone(), scale: self.scale };
                Ok((Look::Mesh(mesh), Isometry3::from_parts(shift.into(), self.rotation.inverse())))
            }
            _ => Ok((Look::Shape(self.hull()?), Isometry3::identity())),
        }
    }

    /// How thick it is, m, if it is too flat for a hull.
    pub(super) fn flat(&self) -> Option<f64> {
        self.hull().err()?;
        let points = self.points().ok()?;
        if points.is_empty() || points.as_flattened().iter().any(|x| !x.is_finite()) {
            return None;
        }
        let n = points.len() as f64;
        let middle = points.iter().map(|&point| Vector3::from(point)).sum::<Vector3<f64>>() / n;
        let offsets = || points.iter().map(|&point| Vector3::from(point) - middle);
        let eigen = offsets().map(|x| x * x.transpose()).sum::<Matrix3<f64>>().symmetric_eigen();
        let extent = |axis: usize| {
            let along = offsets().map(|x| eigen.eigenvectors.column(axis).dot(&x));
            let (low, high) = along.fold((0.0_f64, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
            high - low
        };
        let [a, b, c] = [0, 1, 2].map(extent);
        let (thin, size) = (a.min(b).min(c), a.max(b).max(c));
        (size > 0.0 && thin <= FLAT * size).then_some(thin)
    }

    /// The body of density 1 that it encloses, or that its surface is.
    pub(super) fn solid(&self) -> Result<Inertia> {
        let triangles = match &self.source {
            _ if self.filling == Filling::Convex => None,
            Source::File(path) => {
                let mesh = MeshFile { path: path.clone(), scale: [1.0; 3] };
                Some(mesh.read().map_err(|error| self.within(error))?)
            }
            Source::Inline(_, faces) if faces.is_empty() => None,
            Source::Inline(vertices, faces) => Some(Triangles { vertices: vertices.clone(), faces: faces.clone() }),
        };
        let solid = match triangles {
            Some(mut mesh) => {
                if self.filling == Filling::Exact {
                    self.doubled.set(without_doubles(&mut mesh));
                }
                let vertices: Vec<Point3<f64>> = mesh.vertices.iter().map(|&v| self.placed(v).into()).collect();
                match self.filling {
                    Filling::Shell => shell(&vertices, &mesh.faces),
                    filling => enclosed(&vertices, &mesh.faces, filling == Filling::Legacy),
                }
            }
            None => match self.hull()? {
                Shape::Hull(hull) if self.filling == Filling::Shell => {
                    let vertices: Vec<Point3<f64>> = hull.vertices().iter().map(|&v| v.into()).collect();
                    let corners = hull.faces().iter().map(|face| face.corners.as_slice());
                    let fans = corners.flat_map(|all| all.windows(2).skip(1).map(|pair| [all[0], pair[0], pair[1]]));
                    shell(&vertices, &fans.collect::<Vec<_>>())
                }
                hull => Inertia::unit_density(&hull),
            },
        };
        let has = if self.filling == Filling::Shell { "has an area" } else { "encloses a volume" };
        solid.ok_or_else(|| self.node.invalid("", format!("expected a mesh that {has}")))
    }

    fn within(&self, error: Error) -> Error {
        error.within(self.node.place())
    }
}

/// Numbers in threes.
fn triples(node: &Node, name: &str, numbers: Vec<f64>) -> Result<Vec<[f64; 3]>> {
    match numbers.as_chunks::<3>() {
        (triples, []) => Ok(triples.to_vec()),
        _ => Err(node.invalid(name, format!("expected three numbers for each, got {} in all", numbers.len()))),
    }
}

fn faces(node: &Node) -> Result<Vec<[usize; 3]>> {
    let numbers = node.list("face")?.unwrap_or_default();
    let faces = triples(node, "face", numbers)?;
    let n = node.list("vertex")?.map_or(0, |numbers| numbers.len() / 3);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an integer in range")]
    let corner = |x: f64| (x.fract() == 0.0 && (0.0..n as f64).contains(&x)).then_some(x as usize);
    let face = |face: [f64; 3]| Some([corner(face[0])?, corner(face[1])?, corner(face[2])?]);
    let message = || node.invalid("face", format!("expected indices of the {n} vertices"));
    faces.into_iter().map(face).collect::<Option<_>>().ok_or_else(message)
}

/// Leaves out faces that look the same way as one before them with the same corners. Returns how many they were.
fn without_doubles(mesh: &mut Triangles) -> usize {
    let before = mesh.faces.len();
    let Triangles { vertices, faces } = mesh;
    let mut seen = HashSet::new();
    faces.retain(|face| {
        let corners = face.map(|corner| vertices[corner].map(f64::to_bits));
        let first = (0..3).min_by_key(|&k| corners[k]).unwrap_or(0);
        seen.insert([0, 1, 2].map(|k| corners[(first + k) % 3]))
    });
    before - mesh.faces.len()
}

/// The body of density 1 by area that triangles are. None without an area.
fn shell(vertices: &[Point3<f64>], faces: &[[usize; 3]]) -> Option<Inertia> {
    let triangles = || {
        faces.iter().map(|face| {
            let corners @ [a, b, c] = face.map(|i| vertices[i].coords);
            (corners, (b - a).cross(&(c - a)).norm() / 2.0)
        })
    };
    let area: f64 = triangles().map(|(_, area)| area).sum();
    if area <= 0.0 {
        return None;
    }
    let com = triangles().map(|([a, b, c], of_face)| (a + b + c) * (of_face / 3.0)).sum::<Vector3<f64>>() / area;
    // ∫ x xᵀ over a triangle is A/12 (Σ xᵢ xᵢᵀ + Σ xᵢ Σ xᵢᵀ).
    let moments = triangles().map(|(corners, of_face)| {
        let own = corners.map(|corner| corner - com);
        let sum: Vector3<f64> = own.iter().sum();
        let squares: Matrix3<f64> = own.iter().map(|x| x * x.transpose()).sum();
        (squares + sum * sum.transpose()) * (of_face / 12.0)
    });
    let moments: Matrix3<f64> = moments.sum();
    Some(Inertia { mass: area, com, matrix: Matrix3::identity() * moments.trace() - moments })
}

/// The body of density 1 within triangles, from tetrahedra with their tips in the middle of the surface; with `legacy`,
/// all of them count as positive (MuJoCo's `inertia="legacy"`). None without a volume.
fn enclosed(vertices: &[Point3<f64>], faces: &[[usize; 3]], legacy: bool) -> Option<Inertia> {
    let corners = |face: &[usize; 3]| face.map(|i| vertices[i].coords);
    let (mut area, mut middle) = (0.0, Vector3::zeros());
    for [a, b, c] in faces.iter().map(corners) {
        let of_face = (b - a).cross(&(c - a)).norm() / 2.0;
        area += of_face;
        middle += (a + b + c) * (of_face / 3.0);
    }
    if area <= 0.0 {
        return None;
    }
    middle /= area;
    let volume_of = |[a, b, c]: [Vector3<f64>; 3], tip: &Vector3<f64>| {
        let volume = (a - tip).dot(&(b - tip).cross(&(c - tip))) / 6.0;
        if legacy { volume.abs() } else { volume }
    };
    let (mut volume, mut com) = (0.0, Vector3::zeros());
    for face @ [a, b, c] in faces.iter().map(corners) {
        let of_face = volume_of(face, &middle);
        volume += of_face;
        com += (a + b + c + middle) * (of_face / 4.0);
    }
    if volume <= 0.0 {
        return None;
    }
    com /= volume;
    // Seen from the centre of mass, the volume is another one with `legacy`; this one counts in MuJoCo.
    // ∫ x xᵀ over a tetrahedron with its tip at 0 is V/20 (Σ xᵢ xᵢᵀ + Σ xᵢ Σ xᵢᵀ).
    let mut moments = Matrix3::zeros();
    volume = 0.0;
    for face in faces.iter().map(corners) {
        let of_face = volume_of(face, &com);
        volume += of_face;
        let own = face.map(|corner| corner - com);
        let sum: Vector3<f64> = own.iter().sum();
        let squares: Matrix3<f64> = own.iter().map(|x| x * x.transpose()).sum();
        moments += (squares + sum * sum.transpose()) * (of_face / 20.0);
    }
    let matrix = Matrix3::identity() * moments.trace() - moments;
    Some(Inertia { mass: volume, com, matrix })
}
