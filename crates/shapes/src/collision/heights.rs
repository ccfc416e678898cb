//! Heights of a point over many planes, four planes at a time.

use nalgebra::Vector3;

/// Planes, each as a vector q and a number c: a point p is q·p − c above it.
pub(super) struct Heights {
    /// The planes in fours: their q by components, then their c. The last ones may be filled up with planes that are
    /// infinitely far below.
    fours: Vec<[[f64; 4]; 4]>,
}

impl Heights {
    pub(super) fn new(planes: impl Iterator<Item = (Vector3<f64>, f64)>) -> Self {
        let mut fours = Vec::with_capacity(planes.size_hint().1.unwrap_or_default().div_ceil(4));
        for (k, (q, c)) in planes.enumerate() {
            if k % 4 == 0 {
                fours.push([[0.0; 4], [0.0; 4], [0.0; 4], [f64::NEG_INFINITY; 4]]);
            }
            let four: &mut [[f64; 4]; 4] = &mut fours[k / 4];
            for (place, number) in four.iter_mut().zip([q.x, q.y, q.z, c]) {
                place[k % 4] = number;
            }
        }
        Self { fours }
    }

    /// The heights over the planes, in fours.
    fn at(&self, p: &Vector3<f64>) -> impl Iterator<Item = [f64; 4]> {
        let p = *p;
        self.fours.iter().map(move |[x, y, z, c]| std::array::from_fn(|k| x[k] * p.x + y[k] * p.y + z[k] * p.z - c[k]))
    }

    /// The least height; infinite if there is no plane.
    pub(super) fn least(&self, p: &Vector3<f64>) -> f64 {
        let lesser = |x: f64, y: f64| if y < x { y } else { x };
        let least = |least: [f64; 4], heights: [f64; 4]| std::array::from_fn(|k| lesser(least[k], heights[k]));
        self.at(p).fold([f64::INFINITY; 4], least).into_iter().fold(f64::INFINITY, lesser)
    }

    /// One of the planes over which the point is lowest, by its place.
    pub(super) fn lowest(&self, p: &Vector3<f64>) -> Option<usize> {
        let least = self.least(p);
        let mut of_planes = self.at(p).flatten();
        of_planes.position(|height| height == least).filter(|_| least < f64::INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_of_any_number_of_planes_is_found() {
        let p = Vector3::new(0.3, -0.2, 0.5);
        for n in 0..10 {
            // The heights are 1, 2, … but for one plane, over which the point is lower.
            for low in 0..n {
                let height = |k: usize| if k == low { 0.5 } else { 1.0 + k as f64 };
                let q = |k: usize| Vector3::new(k as f64, 1.0, -2.0);
                let heights = Heights::new((0..n).map(|k| (q(k), q(k).dot(&p) - height(k))));
                assert_eq!(heights.lowest(&p), Some(low));
                assert!((heights.least(&p) - 0.5).abs() < 1e-12);
            }
        }
        let none = Heights::new(std::iter::empty());
        assert_eq!((none.lowest(&p), none.least(&p)), (None, f64::INFINITY));
    }
}
