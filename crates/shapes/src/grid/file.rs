//! Distance grids of mesh files, and how they are kept.

use std::path::Path;

use nalgebra::Vector3;

use super::super::mesh::MeshFile;
use super::build::Measured;
use super::{DistanceGrid, GridSettings, Spline};
use crate::error::Result;

/// The numbers before the coefficients: origin, spacing, numbers of nodes, error.
const HEAD: usize = 8;

impl MeshFile {
    /// The distance grid of this mesh, see [`DistanceGrid::new`]. It is kept in the user's cache folder (`fingertip` in
    /// `$XDG_CACHE_HOME`, else in `~/.cache`), by the content of the file and how it is made, and read from there the
    /// next time. A folder that cannot be written to is no error.
    ///
    /// # Errors
    /// As of [`MeshFile::read`] and [`DistanceGrid::new`]. The error's place is the file.
    pub fn grid(&self, how: &GridSettings) -> Result<DistanceGrid> {
        let mesh = self.read()?;
        let of_file = |error: crate::Error| error.within(self.path.display());
        let settings = (how.tolerance.to_bits(), how.reach.map(f64::to_bits));
        let made = || Measured::new(&mesh, how).map_err(of_file);
        let measured = self.kept(["grid", "bin"], settings, Measured::read, made, Measured::bytes)?;
        DistanceGrid::assembled(mesh, how, measured).map_err(of_file)
    }
}

impl Measured {
    /// All its numbers: the head in double precision, then the coefficients in single, little-endian.
    fn bytes(&self) -> Vec<u8> {
        let Self { spline: Spline { origin, spacing, nodes, coefficients }, error } = self;
        let head = origin.iter().copied().chain([*spacing]).chain(nodes.map(|n| n as f64)).chain([*error]);
        head.flat_map(f64::to_le_bytes).chain(coefficients.iter().flat_map(|c| c.to_le_bytes())).collect()
    }

    /// Reads what [`Measured::bytes`] wrote; none if the file is damaged.
    fn read(path: &Path) -> Option<Self> {
        let bytes = std::fs::read(path).ok()?;
        let (head, rest) = bytes.split_at_checked(8 * HEAD)?;
        let mut numbers = [0.0; HEAD];
        numbers.iter_mut().zip(head.as_chunks().0).for_each(|(number, bytes)| *number = f64::from_le_bytes(*bytes));
        let [x, y, z, spacing, nx, ny, nz, error] = numbers;
        let nodes = [nx, ny, nz].map(|n| n as usize);
        let count = nodes.iter().try_fold(1_usize, |count, n| count.checked_mul(n.checked_add(2)?))?;
        let (coefficients, left) = rest.as_chunks::<4>();
        let is_whole = left.is_empty() && coefficients.len() == count && nodes.iter().all(|&n| n >= 2);
        let coefficients: Vec<f32> = coefficients.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let is_finite = numbers.iter().all(|x| x.is_finite()) && coefficients.iter().all(|c| c.is_finite());
        let spline = Spline { origin: Vector3::new(x, y, z), spacing, nodes, coefficients };
        (is_whole && is_finite && spacing > 0.0).then_some(Self { spline, error })
    }
}
