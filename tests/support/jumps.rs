//! Jumps along paths.

use candle_core::Result;
use nalgebra::Vector3;

use super::largest;

/// The total of the contact forces of a step, N, and of their moments about the origin over 2 cm, and the motion of one
/// free body.
pub fn whole(force: &[f64], point: &[f64], delta: &[f64]) -> [f64; 12] {
    let mut all = [0.0; 12];
    for (f, p) in force.chunks(3).zip(point.chunks(3)) {
        let (f, p) = (Vector3::from_column_slice(f), Vector3::from_column_slice(p));
        let moment = p.cross(&f);
        (0..3).for_each(|k| (all[k], all[3 + k]) = (all[k] + f[k], all[3 + k] + moment[k] / 0.02));
    }
    all[6..].copy_from_slice(delta);
    all
}

/// The places of a path from 0 to 1 at which a number changes by more than `most` at once, each with by how much, and
/// in how many of forty parts of the path it changes by that at all. Where there are no numbers nothing is compared.
pub fn jumps<const N: usize>(
    at: impl Fn(f64) -> Result<Option<[f64; N]>>,
    most: f64,
) -> Result<(usize, Vec<(f64, f64)>)> {
    let change = |x: &[f64; N], y: &[f64; N]| largest(x.iter().zip(y).map(|(x, y)| x - y));
    let (mut changes, mut found) = (0, Vec::new());
    for k in 0..40 {
        let (mut low, mut high) = (f64::from(k) / 40.0, f64::from(k + 1) / 40.0);
        let (Some(mut first), Some(mut last)) = (at(low)?, at(high)?) else { continue };
        changes += usize::from(change(&first, &last) > most);
        while change(&first, &last) > most && high - low > 1e-12 {
            let middle = (low + high) / 2.0;
            let Some(here) = at(middle)? else { break };
            if change(&first, &here) > change(&here, &last) {
                (high, last) = (middle, here);
            } else {
                (low, first) = (middle, here);
            }
        }
        if change(&first, &last) > most && high - low <= 1e-12 {
            found.push((low, change(&first, &last)));
        }
    }
    Ok((changes, found))
}
