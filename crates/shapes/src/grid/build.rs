//! Makes a distance grid: distances at its nodes, their signs, the spline through them, and how far it is off.

use std::f64::consts::PI;
use std::sync::Arc;

use nalgebra::Vector3;

use super::super::boundary::{Boundary, samples};
use super::super::{Hull, Inertia, Triangles};
use super::{DistanceGrid, GridSettings, Spline};
use crate::error::{Error, Result};
use crate::largest::largest;

/// The most nodes. They take 4 bytes each.
const MOST_NODES: usize = 8_000_000;
/// The usual reach, and the first spacing of nodes that is tried, relative to the diagonal of the mesh's box.
const REACH: f64 = 0.2;
const FIRST: f64 = 0.04;
/// How many places beneath a mesh's faces are looked at, and how far they are from the faces, relative to that
/// diagonal.
const PLACES: usize = 200;
const BENEATH: f64 = 1e-4;

/// A spline of signed distances.
pub(super) struct Measured {
    pub(super) spline: Spline,
    /// By how much it is off at most, m.
    pub(super) error: f64,
}

impl DistanceGrid {
    /// The distance grid of a mesh, with nodes near enough to each other for the tolerance. What is inside is decided
    /// by winding numbers, so that small holes and overlaps do no harm.
    ///
    /// # Errors
    /// If a number of `how` is out of its range, if the mesh is empty, flat or encloses nothing, or if eight million
    /// nodes are too few for the tolerance; the message then says how near they came.
    pub fn new(mesh: Triangles, how: &GridSettings) -> Result<Self> {
        let measured = Measured::new(&mesh, how)?;
        Self::assembled(mesh, how, measured)
    }

    pub(super) fn assembled(
        mut mesh: Triangles,
        how: &GridSettings,
        Measured { spline, error }: Measured,
    ) -> Result<Self> {
        let hull = Hull::new(&mesh.vertices)?;
        if mesh.solid().mass < 0.0 {
            mesh.faces.iter_mut().for_each(|face| face.swap(1, 2));
        }
        let (solid, reach) = (mesh.solid(), how.reach(&Boundary::new(&mesh)?));
        Ok(Self { spline, mesh: Arc::new(mesh), hull: Arc::new(hull), solid, reach, error })
    }
}

impl Triangles {
    /// Inertia of what the triangles enclose, at unit density. Its mass is negative if they look inwards.
    fn solid(&self) -> Inertia {
        Inertia::enclosed(self.faces.iter().map(|face| face.map(|i| Vector3::from(self.vertices[i]))))
    }
}

impl GridSettings {
    fn reach(&self, boundary: &Boundary) -> f64 {
        self.reach.unwrap_or(REACH * boundary.size)
    }
}

impl Boundary<'_> {
    /// An error unless the mesh is all around most of what lies beneath its faces.
    fn is_closed(&self) -> Result<()> {
        let Triangles { vertices, faces } = self.mesh;
        let outwards = self.mesh.solid().mass.signum();
        let looked_at = faces.iter().step_by(faces.len().div_ceil(PLACES));
        let beneath = looked_at.clone().filter(|face| {
            let [a, b, c] = face.map(|i| Vector3::from(vertices[i]));
            let normal = (b - a).cross(&(c - a)).try_normalize(0.0).unwrap_or_default() * outwards;
            self.solid_angle(&((a + b + c) / 3.0 - normal * (BENEATH * self.size))) > 3.0 * PI
        });
        if 2 * beneath.count() < looked_at.count() {
            return Err(Error::invalid("grid", "expected a closed mesh, got one that encloses nothing"));
        }
        Ok(())
    }
}

impl Measured {
    pub(super) fn new(mesh: &Triangles, how: &GridSettings) -> Result<Self> {
        how.validate()?;
        let boundary = Boundary::new(mesh)?;
        boundary.is_closed()?;
        let reach = how.reach(&boundary);
        let (mut spacing, mut nearest) = (FIRST * boundary.size, None);
        while let Some(lattice) = Lattice::around(mesh, reach, spacing) {
            let spline = lattice.spline(&lattice.signed_distances(&boundary));
            let error = spline.error(&boundary, reach);
            if error <= how.tolerance {
                return Ok(Self { spline, error });
            }
            nearest = Some(nearest.map_or(error, |least: f64| least.min(error)));
            // The error falls as the spacing does, or more slowly.
            let needed = 0.9 * how.tolerance / error;
            if Lattice::around(mesh, reach, 2.0 * needed * spacing).is_none() {
                break;
            }
            spacing *= needed.clamp(0.4, 0.8);
        }
        let mm = |length: f64| format!("{:.3} mm", 1e3 * length);
        let message = match nearest {
            Some(nearest) => format!(
                "expected distances within {}, which takes more than {MOST_NODES} nodes; got {} with fewer: allow a larger tolerance \
                 or a shorter reach",
                mm(how.tolerance),
                mm(nearest)
            ),
            None => format!(
                "expected a reach for which {MOST_NODES} nodes are enough, got {} around a mesh of {}",
                mm(reach),
                mm(boundary.size)
            ),
        };
        Err(Error::invalid("grid", message))
    }
}

/// The places of a grid's nodes.
struct Lattice {
    origin: Vector3<f64>,
    spacing: f64,
    nodes: [usize; 3],
}

impl Lattice {
    /// Nodes in a box around the mesh; none if they are too many.
    fn around(mesh: &Triangles, reach: f64, spacing: f64) -> Option<Self> {
        let points = || mesh.vertices.iter().map(|&vertex| Vector3::from(vertex));
        let low = points().reduce(|a, b| a.inf(&b))?;
        let high = points().reduce(|a, b| a.sup(&b))?;
        // Two cells more, as splines are less exact at the ends.
        let margin = reach + 2.0 * spacing;
        let cells = (high - low).map(|extent| ((extent + 2.0 * margin) / spacing).ceil());
        if cells.product() > MOST_NODES as f64 {
            return None;
        }
        let nodes: [usize; 3] = std::array::from_fn(|k| cells[k] as usize + 1);
        let origin = (low + high) / 2.0 - cells * (spacing / 2.0);
        (nodes.iter().product::<usize>() <= MOST_NODES).then_some(Self { origin, spacing, nodes })
    }

    fn index(&self, [i, j, k]: [usize; 3]) -> usize {
        (i * self.nodes[1] + j) * self.nodes[2] + k
    }

    fn place(&self, index: usize) -> [usize; 3] {
        let [_, ny, nz] = self.nodes;
        [index / (ny * nz), index / nz % ny, index % nz]
    }

    fn point(&self, index: usize) -> Vector3<f64> {
        self.origin + Vector3::from(self.place(index).map(|i| i as f64)) * self.spacing
    }

    /// The signed distances of all nodes. No surface passes between two neighbours if one of them is farther from it
    /// than they are from each other: then both are on the same side.
    fn signed_distances(&self, boundary: &Boundary) -> Vec<f64> {
        let mut distances = each(self.nodes.iter().product(), |node| boundary.distance(&self.point(node)));
        let mut known = vec![false; distances.len()];
        let mut found = Vec::new();
        for first in 0..distances.len() {
            if known[first] {
                continue;
            }
            known[first] = true;
            if boundary.contains(&self.point(first)) {
                distances[first] = -distances[first];
            }
            found.push(first);
            while let Some(node) = found.pop() {
                let place = self.place(node);
                for axis in 0..3 {
                    for next in [place[axis].wrapping_sub(1), place[axis] + 1] {
                        if next >= self.nodes[axis] {
                            continue;
                        }
                        let mut beside = place;
                        beside[axis] = next;
                        let other = self.index(beside);
                        if !known[other] && distances[node].abs().max(distances[other]) >= self.spacing {
                            known[other] = true;
                            distances[other] = distances[other].copysign(distances[node]);
                            found.push(other);
                        }
                    }
                }
            }
        }
        distances
    }

    /// The spline through these values at the nodes.
    fn spline(&self, values: &[f64]) -> Spline {
        let padded = self.nodes.map(|n| n + 2);
        let strides = [padded[1] * padded[2], padded[2], 1];
        let at = |place: [usize; 3]| (0..3).map(|k| place[k] * strides[k]).sum::<usize>();
        let mut all = vec![0.0; padded.iter().product()];
        for (node, value) in values.iter().enumerate() {
            all[at(self.place(node).map(|i| i + 1))] = *value;
        }
        for axis in 0..3 {
            let [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
            let mut lane = vec![0.0; padded[axis]];
            for i in 0..padded[u] {
                for j in 0..padded[v] {
                    let start = i * strides[u] + j * strides[v];
                    (0..lane.len()).for_each(|k| lane[k] = all[start + k * strides[axis]]);
                    natural(&mut lane);
                    (0..lane.len()).for_each(|k| all[start + k * strides[axis]] = lane[k]);
                }
            }
        }
        let coefficients = all.into_iter().map(|c| c as f32).collect();
        Spline { origin: self.origin, spacing: self.spacing, nodes: self.nodes, coefficients }
    }
}

/// Replaces values at the nodes, between two places for ends, by the coefficients of the natural cubic spline through
/// them: c₋₁ + 4 c₀ + c₁ = 6 f at each node, and no curvature at the first and the last.
fn natural(lane: &mut [f64]) {
    let last = lane.len() - 2;
    // Thomas's algorithm, forwards and back. The ends' own coefficients are their values.
    let mut factors = vec![0.0; lane.len()];
    for k in 2..last {
        let pivot = 1.0 / (4.0 - factors[k - 1]);
        factors[k] = pivot;
        let before = lane[k - 1];
        lane[k] = (6.0 * lane[k] - before) * pivot;
    }
    for k in (2..last).rev() {
        lane[k] -= factors[k] * lane[k + 1];
    }
    lane[0] = 2.0 * lane[1] - lane[2];
    lane[last + 1] = 2.0 * lane[last] - lane[last - 1];
}

impl Spline {
    /// By how much it differs from the true distance: where the mesh is outside of it, half a cell off the mesh, and in
    /// the middles of cells outside as far as `reach`. Where another side of the mesh is nearer than that half cell, a
    /// hollow is too narrow for the grid, which fills it.
    fn error(&self, boundary: &Boundary, reach: f64) -> f64 {
        let mesh = boundary.mesh;
        let off = self.spacing / 2.0;
        let outwards = mesh.solid().mass.signum();
        let on = mesh.faces.iter().flat_map(|face| {
            let corners = face.map(|i| Vector3::from(mesh.vertices[i]));
            let across = (corners[1] - corners[0]).cross(&(corners[2] - corners[0]));
            let normal = across.try_normalize(0.0).unwrap_or_default() * outwards;
            samples(corners, off).map(move |point| (point, normal))
        });
        let on = on.map(|(point, normal)| {
            let beside = point + normal * off;
            let distance = boundary.distance(&beside);
            let is_open = distance > off / 2.0;
            let error = if is_open { (self.at(&beside).value.abs() - distance).abs() } else { 0.0 };
            error.max(self.at(&point).value)
        });
        let cells = self.nodes.map(|n| n - 1);
        let middle = |i: usize| {
            let place = [i / (cells[1] * cells[2]), i / cells[2] % cells[1], i % cells[2]];
            self.origin + Vector3::from(place.map(|k| k as f64 + 0.5)) * self.spacing
        };
        let outside = each(cells.iter().product(), |cell| {
            let point = middle(cell);
            let value = self.at(&point).value;
            if value > 0.0 && value <= reach { (value - boundary.distance(&point)).abs() } else { 0.0 }
        });
        largest(on).max(largest(outside))
    }
}

/// A number for each of `n`, computed on all cores.
fn each(n: usize, of: impl Fn(usize) -> f64 + Sync) -> Vec<f64> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all = vec![0.0; n];
    let share = n.div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        for (k, part) in all.chunks_mut(share).enumerate() {
            let of = &of;
            scope.spawn(move || part.iter_mut().enumerate().for_each(|(i, number)| *number = of(k * share + i)));
        }
    });
    all
}
