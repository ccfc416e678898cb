//! Cuts a mesh along planes into pieces whose hulls keep close to it.
//!
//! A piece is what of the mesh lies in a convex cell, as triangles cut at the cell's planes. The hull of what it
//! encloses there is that of these triangles and of those corners of the cell that are inside. The piece whose hull
//! sticks out most is cut next, by the plane that leaves the least volume in both hulls; of planes that leave as much,
//! by one that halves it. At last, pieces that fit into one hull are joined.

use nalgebra::{Matrix3, SymmetricEigen, Vector3};

use super::boundary::{Boundary, samples};
use super::quickhull;

/// Protrusions are measured at points no farther apart than this on the surface of a hull, relative to the mesh's size.
pub(super) const SPACING: f64 = 0.02;
/// Pieces that are cut before they are joined, as a multiple of the parts that there may be.
const SPARE: usize = 2;
/// Planes across each axis that are tried, as parts of the piece's extent.
const ACROSS: [f64; 3] = [0.5, 0.25, 0.75];
/// Planes of the mesh's own triangles that are tried: the largest ones.
const OWN: usize = 24;
/// How much halving a piece counts, as a part of its volume.
const BALANCE: f64 = 0.1;
/// Points this near to a plane are on it, relative to the mesh's size.
const ON_PLANE: f64 = 1e-9;
/// The most triangles of a piece by which planes are compared.
const COMPARED: usize = 1500;

type Triangle = [Vector3<f64>; 3];

/// The half-space n · x ≤ offset.
#[derive(Clone, Copy)]
struct Plane {
    normal: Vector3<f64>,
    offset: f64,
}

impl Plane {
    fn through(point: &Vector3<f64>, normal: Vector3<f64>) -> Self {
        Self { normal, offset: normal.dot(point) }
    }

    fn height(&self, point: &Vector3<f64>) -> f64 {
        self.normal.dot(point) - self.offset
    }

    fn flipped(&self) -> Self {
        Self { normal: -self.normal, offset: -self.offset }
    }
}

/// A convex polyhedron: its corners, and the triangles of its surface.
struct Polyhedron {
    corners: Vec<Vector3<f64>>,
    faces: Vec<[usize; 3]>,
}

impl Polyhedron {
    /// The hull of points; none if they are flat.
    fn hull(points: &[Vector3<f64>]) -> Option<Self> {
        if points.is_empty() {
            return None;
        }
        let faces = quickhull::triangles(points)?;
        let mut used: Vec<usize> = faces.iter().flatten().copied().collect();
        used.sort_unstable();
        used.dedup();
        let at = |i: usize| used.partition_point(|&other| other < i);
        let faces = faces.iter().map(|face| face.map(at)).collect();
        Some(Self { corners: used.iter().map(|&i| points[i]).collect(), faces })
    }

    fn volume(&self) -> f64 {
        let from = self.corners[0];
        let corner = |i: usize| self.corners[i] - from;
        self.faces.iter().map(|&[a, b, c]| corner(a).dot(&corner(b).cross(&corner(c)))).sum::<f64>() / 6.0
    }
}

/// What of a mesh lies in a convex cell.
struct Piece {
    triangles: Vec<Triangle>,
    cell: Vec<Plane>,
    hull: Polyhedron,
    /// How far the hull sticks out of the mesh, m, if it is more than the tolerance; else 0.
    protrusion: f64,
}

impl Boundary<'_> {
    /// The points of convex parts of the mesh, at most `most` of them, that stick out of it by at most the tolerance if
    /// that can be.
    pub(super) fn cut(&self, tolerance: f64, most: usize) -> Vec<Vec<[f64; 3]>> {
        let sign = if self.volume() < 0.0 { [0, 2, 1] } else { [0, 1, 2] };
        let corner = |i: usize| Vector3::from(self.mesh.vertices[i]);
        let triangles = self.mesh.faces.iter().map(|face| sign.map(|k| corner(face[k]))).collect();
        let Some(whole) = self.piece(triangles, Vec::new(), tolerance) else { return Vec::new() };
        let mut pieces = vec![whole];
        while pieces.len() < SPARE * most {
            let worst = (0..pieces.len()).max_by(|&i, &j| pieces[i].protrusion.total_cmp(&pieces[j].protrusion));
            let Some(worst) = worst.filter(|&worst| pieces[worst].protrusion > 0.0) else { break };
            let Some(plane) = self.best_plane(&pieces[worst]) else {
                // Nothing cuts it: it stays as it is.
                pieces[worst].protrusion = 0.0;
                continue;
            };
            let Piece { triangles, cell, .. } = pieces.swap_remove(worst);
            for side in [plane, plane.flipped()] {
                let cell: Vec<Plane> = cell.iter().copied().chain([side]).collect();
                pieces.extend(self.piece(self.below(&triangles, &side), cell, tolerance));
            }
        }
        let points = |piece: Piece| piece.hull.corners.iter().map(|point| (*point).into()).collect();
        self.joined(pieces, tolerance).map(points).collect()
    }

    /// Six times the volume that the mesh encloses, negative if its triangles are seen from inside.
    fn volume(&self) -> f64 {
        let corner = |i: usize| Vector3::from(self.mesh.vertices[i]);
        self.mesh.faces.iter().map(|&[a, b, c]| corner(a).dot(&corner(b).cross(&corner(c)))).sum()
    }

    /// The piece of these triangles in a cell; none if it is flat.
    fn piece(&self, triangles: Vec<Triangle>, cell: Vec<Plane>, tolerance: f64) -> Option<Piece> {
        let mut points: Vec<Vector3<f64>> = triangles.iter().flatten().copied().collect();
        points.extend(self.inner_corners(&cell));
        self.hull_of(&points, (triangles, cell), tolerance)
    }

    /// The piece whose hull is that of these points.
    fn hull_of(
        &self,
        points: &[Vector3<f64>],
        (triangles, cell): (Vec<Triangle>, Vec<Plane>),
        tolerance: f64,
    ) -> Option<Piece> {
        let hull = Polyhedron::hull(points)?;
        let protrusion = self.sticks_out(&hull, tolerance);
        Some(Piece { triangles, cell, hull, protrusion })
    }

    /// Corners of a cell that are inside of the mesh. Those on its surface are corners of its triangles, or of others'.
    fn inner_corners(&self, cell: &[Plane]) -> Vec<Vector3<f64>> {
        let mut corners = Vec::new();
        for i in 0..cell.len() {
            for j in 0..i {
                for k in 0..j {
                    let rows = [i, j, k].map(|at| cell[at].normal.transpose());
                    let offsets = Vector3::new(cell[i].offset, cell[j].offset, cell[k].offset);
                    let Some(corner) = Matrix3::from_rows(&rows).lu().solve(&offsets) else { continue };
                    let is_corner = cell.iter().all(|plane| plane.height(&corner) <= ON_PLANE * self.size);
                    if is_corner && self.distance(&corner) > 1e-6 * self.size && self.contains(&corner) {
                        corners.push(corner);
                    }
                }
            }
        }
        corners
    }

    /// How far a hull sticks out of the mesh if that is more than the tolerance, else 0.
    fn sticks_out(&self, hull: &Polyhedron, tolerance: f64) -> f64 {
        let corners = hull.faces.iter().map(|face| face.map(|i| hull.corners[i]));
        let far = corners.flat_map(|triangle| samples(triangle, SPACING * self.size));
        let mut far: Vec<(f64, Vector3<f64>)> =
            far.map(|point| (self.distance(&point), point)).filter(|(distance, _)| *distance > tolerance).collect();
        far.sort_by(|a, b| b.0.total_cmp(&a.0));
        far.iter().find(|(_, point)| !self.contains(point)).map_or(0.0, |(distance, _)| *distance)
    }

    /// The part of triangles below a plane. Triangles that lie in it belong to the side of what they enclose.
    fn below(&self, triangles: &[Triangle], plane: &Plane) -> Vec<Triangle> {
        let mut kept = Vec::new();
        for triangle in triangles {
            let heights = triangle.map(|corner| {
                let height = plane.height(&corner);
                if height.abs() <= ON_PLANE * self.size { 0.0 } else { height }
            });
            if heights == [0.0; 3] {
                let [a, b, c] = triangle;
                if (b - a).cross(&(c - a)).dot(&plane.normal) > 0.0 {
                    kept.push(*triangle);
                }
                continue;
            }
            let mut polygon: Vec<Vector3<f64>> = Vec::with_capacity(4);
            for k in 0..3 {
                let (p, q, low, high) = (triangle[k], triangle[(k + 1) % 3], heights[k], heights[(k + 1) % 3]);
                if low <= 0.0 {
                    polygon.push(p);
                }
                if low * high < 0.0 {
                    polygon.push(p + (q - p) * (low / (low - high)));
                }
            }
            // What only touches the plane from above is no part.
            if heights.iter().any(|&height| height < 0.0) {
                kept.extend(polygon.windows(2).skip(1).map(|pair| [polygon[0], pair[0], pair[1]]));
            }
        }
        kept
    }

    /// The plane that leaves the least volume in the hulls of both of its sides; none if no plane cuts the piece.
    fn best_plane(&self, piece: &Piece) -> Option<Plane> {
        let step = piece.triangles.len().div_ceil(COMPARED);
        let triangles: Vec<Triangle> = piece.triangles.iter().step_by(step).copied().collect();
        let whole = piece.hull.volume();
        let mut best: Option<(f64, Plane)> = None;
        for plane in self.planes(piece) {
            let volume = |side: &Plane| {
                let points: Vec<Vector3<f64>> = self.below(&triangles, side).into_iter().flatten().collect();
                Polyhedron::hull(&points).map_or(0.0, |hull| hull.volume())
            };
            let [below, above] = [plane, plane.flipped()].map(|side| volume(&side));
            let score = below + above + BALANCE * (below - above).abs();
            let is_cut = below > 1e-6 * whole && above > 1e-6 * whole;
            if is_cut && best.is_none_or(|(least, _)| score < least * (1.0 - 1e-9)) {
                best = Some((score, plane));
            }
        }
        best.map(|(_, plane)| plane)
    }

    /// Planes that may cut a piece: across its own axes and the frame's, and along the largest of its triangles that
    /// are not on its hull.
    fn planes(&self, piece: &Piece) -> Vec<Plane> {
        let mut planes = Vec::new();
        let extent = |axis: &Vector3<f64>| {
            let along = piece.hull.corners.iter().map(|point| axis.dot(point));
            along.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)])
        };
        let axes = principal(&piece.triangles);
        let mut axes: Vec<Vector3<f64>> = axes.into_iter().chain((0..3).map(|k| Vector3::ith(k, 1.0))).collect();
        let length = |axis: &Vector3<f64>| {
            let [low, high] = extent(axis);
            high - low
        };
        axes.sort_by(|a, b| length(b).total_cmp(&length(a)));
        for part in ACROSS {
            for normal in &axes {
                let [low, high] = extent(normal);
                planes.push(Plane { normal: *normal, offset: low + part * (high - low) });
            }
        }
        let mut own: Vec<(f64, Plane)> = Vec::new();
        for [a, b, c] in &piece.triangles {
            let across = (b - a).cross(&(c - a));
            let area = across.norm();
            if area <= ON_PLANE * self.size * self.size {
                continue;
            }
            let plane = Plane::through(a, across / area);
            let is_same = |other: &Plane| {
                other.normal.dot(&plane.normal) > 1.0 - 1e-6 && (other.offset - plane.offset).abs() < 1e-4 * self.size
            };
            match own.iter().position(|(_, other)| is_same(other)) {
                Some(at) => own[at].0 += area,
                None if own.len() < 8 * OWN => own.push((area, plane)),
                None => {}
            }
        }
        let cuts = |plane: &Plane| piece.hull.corners.iter().any(|point| plane.height(point) > 1e-3 * self.size);
        own.retain(|(_, plane)| cuts(plane));
        own.sort_by(|a, b| b.0.total_cmp(&a.0));
        planes.extend(own.into_iter().take(OWN).map(|(_, plane)| plane));
        planes
    }

    /// The pieces, of which those that fit into one hull are joined, first those that add least to their volume.
    fn joined(&self, pieces: Vec<Piece>, tolerance: f64) -> impl Iterator<Item = Piece> {
        let mut pieces: Vec<Option<Piece>> = pieces.into_iter().map(Some).collect();
        let pair = |pieces: &[Option<Piece>], i: usize, j: usize| {
            let both = [pieces[i].as_ref()?, pieces[j].as_ref()?];
            let fits = both.iter().all(|piece| piece.protrusion == 0.0) && Self::are_near(both, tolerance);
            let hull = Polyhedron::hull(&together(both)).filter(|_| fits)?;
            Some((hull.volume() - both.iter().map(|piece| piece.hull.volume()).sum::<f64>(), i, j))
        };
        let mut pairs: Vec<(f64, usize, usize)> = (0..pieces.len())
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .filter_map(|(i, j)| pair(&pieces, i, j))
            .collect();
        while let Some(least) = (0..pairs.len()).min_by(|&a, &b| pairs[a].0.total_cmp(&pairs[b].0)) {
            let (_, i, j) = pairs.swap_remove(least);
            let (Some(a), Some(b)) = (&pieces[i], &pieces[j]) else { continue };
            let both = self.hull_of(&together([a, b]), (Vec::new(), Vec::new()), tolerance);
            let Some(both) = both.filter(|both| both.protrusion == 0.0) else { continue };
            (pieces[i], pieces[j]) = (None, None);
            pieces.push(Some(both));
            let last = pieces.len() - 1;
            pairs.extend((0..last).filter_map(|j| pair(&pieces, last, j)));
        }
        pieces.into_iter().flatten()
    }

    /// Are the boxes around two pieces no farther apart than the tolerance?
    fn are_near([a, b]: [&Piece; 2], tolerance: f64) -> bool {
        let ends = |piece: &Piece| {
            piece
                .hull
                .corners
                .iter()
                .fold((piece.hull.corners[0], piece.hull.corners[0]), |(low, high), p| (low.inf(p), high.sup(p)))
        };
        let ((low_a, high_a), (low_b, high_b)) = (ends(a), ends(b));
        (0..3).all(|k| low_a[k] <= high_b[k] + tolerance && low_b[k] <= high_a[k] + tolerance)
    }
}

/// The corners of the hulls of two pieces.
fn together(pieces: [&Piece; 2]) -> Vec<Vector3<f64>> {
    pieces.iter().flat_map(|piece| &piece.hull.corners).copied().collect()
}

/// The principal axes of triangles' areas.
fn principal(triangles: &[Triangle]) -> [Vector3<f64>; 3] {
    let area = |[a, b, c]: &Triangle| (b - a).cross(&(c - a)).norm();
    let middle = |[a, b, c]: &Triangle| (a + b + c) / 3.0;
    let total: f64 = triangles.iter().map(area).sum();
    let mean = triangles.iter().map(|t| middle(t) * area(t)).sum::<Vector3<f64>>() / total;
    let spread = triangles.iter().map(|t| {
        let off = middle(t) - mean;
        off * off.transpose() * (area(t) / total)
    });
    let axes = SymmetricEigen::new(spread.sum::<Matrix3<f64>>()).eigenvectors;
    [0, 1, 2].map(|k| axes.column(k).into_owned())
}
