//! Taxels: points on a body that feel how hard it is pressed near them.

use nalgebra::{Isometry3, Point3, Vector3};

use super::check;
use fingertip_shapes::{Error, Result};

/// A pad of taxels on a body. It has no effect on the step.
#[derive(Clone, Debug, PartialEq)]
pub struct Taxels {
    /// The pad's name, unique in the scene.
    pub name: String,
    /// The body that it is on: `"hand/tip"`, or `"ball"` for an object that is one rigid body.
    pub link: String,
    /// Where each taxel is in the body's frame, m.
    pub points: Vec<[f64; 3]>,
    /// The outward unit normal of each, in the body's frame.
    pub normals: Vec<[f64; 3]>,
    /// How far from a contact a taxel still feels it, m.
    pub reach: f64,
}

impl Taxels {
    /// The most taxels that a pad may have.
    pub const MOST: usize = 100_000;

    /// A grid of rows × columns on a patch of this size, m, whose middle, axes and normal (z) are those of `pose` in
    /// the body's frame: columns follow each other along x, rows along y. Taxels are in the middle of their cells, row
    /// after row. The reach is two cells, of the longer side.
    pub fn grid(
        name: impl Into<String>,
        link: impl Into<String>,
        pose: &Isometry3<f64>,
        [rows, columns]: [usize; 2],
        size: [f64; 2],
    ) -> Self {
        let cell = [size[0] / columns as f64, size[1] / rows as f64];
        let middle = |i: usize, n: usize, cell: f64| (i as f64 + 0.5 - 0.5 * n as f64) * cell;
        let place = |(row, column): (usize, usize)| {
            let point = Point3::new(middle(column, columns, cell[0]), middle(row, rows, cell[1]), 0.0);
            (pose * point).coords.into()
        };
        let points: Vec<[f64; 3]> = (0..rows).flat_map(|row| (0..columns).map(move |c| (row, c))).map(place).collect();
        let normals = vec![(pose.rotation * Vector3::z()).into(); points.len()];
        Self { name: name.into(), link: link.into(), points, normals, reach: 2.0 * cell[0].max(cell[1]) }
    }

    /// Points and normals of a table: six numbers x, y, z, nx, ny, nz a line, m, in the frame of `pose`. Empty lines,
    /// what follows a `#`, and a first line of names do not count. Normals may have any length but zero.
    ///
    /// # Errors
    /// If a line has anything else; the error names it.
    pub fn table(
        name: impl Into<String>,
        link: impl Into<String>,
        pose: &Isometry3<f64>,
        text: &str,
        reach: f64,
    ) -> Result<Self> {
        let (mut points, mut normals) = (Vec::new(), Vec::new());
        let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
        let lines = lines.map(|(i, line)| (i, line.split('#').next().unwrap_or_default().trim()));
        for (k, (i, line)) in lines.filter(|(_, line)| !line.is_empty()).enumerate() {
            let numbers: Vec<f64> = line.split(',').map_while(|cell| cell.trim().parse().ok()).collect();
            if k == 0 && numbers.is_empty() && line.split(',').count() == 6 {
                continue;
            }
            let &[x, y, z, nx, ny, nz] = numbers.as_slice() else {
                let message = format!("expected six numbers x, y, z, nx, ny, nz, got \"{line}\"");
                return Err(Error::invalid(format!("line {}", i + 1), message));
            };
            let normal = Vector3::new(nx, ny, nz).try_normalize(0.0).filter(|n| n.iter().all(|x| x.is_finite()));
            let Some(normal) = normal else {
                return Err(Error::invalid(format!("line {}", i + 1), "expected a normal that has a length, got none"));
            };
            points.push((pose * Point3::new(x, y, z)).coords.into());
            normals.push((pose.rotation * normal).into());
        }
        Ok(Self { name: name.into(), link: link.into(), points, normals, reach })
    }

    /// Checks the numbers: each point finite and within the world, a reach, and one taxel or more.
    pub(super) fn validate(&self) -> Result<()> {
        check::length("reach", self.reach)?;
        if self.points.is_empty() || self.points.len() > Self::MOST || self.normals.len() != self.points.len() {
            let got = format!("{} points and {} normals", self.points.len(), self.normals.len());
            return Err(Error::invalid("taxels", format!("expected 1 to {}, got {got}", Self::MOST)));
        }
        let points = self.points.iter().map(|&point| check::position("point", &point.into()));
        let normals = self.normals.iter().map(|&normal| check::finite_vector("normal", &normal.into()));
        points.chain(normals).collect()
    }
}
