//! Ridders' differences.

/// An input that moves the results by less than this share of them, as it moves by its own size, is compared on that
/// scale: its differences drown in the rounding of the rest.
pub const FAINT: f64 = 1e-4;
/// Differences that claim less error than this, on the same scale, count.
pub const SURE: f64 = 2e-7;

/// A number of the order of a parameter's `values[k]`, to which steps are relative.
pub fn size(parameter: &str, values: &[f64], k: usize) -> f64 {
    match parameter {
        "offsets" | "sizes" => 0.1,
        "gravity" => 10.0,
        "tau" => 1.0,
        // Off-diagonal inertias may be zero; beside the smallest diagonal one they keep the matrix definite.
        "inertia" if k % 6 >= 3 => values[6 * (k / 6)..][..3].iter().copied().fold(f64::INFINITY, f64::min),
        _ => values[k],
    }
}

/// How steps shrink, and how many there are.
pub const SHRINK: f64 = 2.5;
pub const STEPS: usize = 10;

/// Ridders' extrapolation of central differences at h, h/2.5, …, of numbers rounded to `rounding`: the value and its
/// own error.
pub fn extrapolate(central: &[f64], h: f64, rounding: f64) -> (f64, f64) {
    let mut table = vec![vec![0.0; central.len()]; central.len()];
    let (mut best, mut error) = (central[0], f64::INFINITY);
    for i in 0..central.len() {
        let noise = 2.0 * rounding / (h / SHRINK.powi(i as i32));
        table[i][0] = central[i];
        let mut factor = SHRINK * SHRINK;
        for j in 1..=i {
            table[i][j] = (table[i][j - 1] * factor - table[i - 1][j - 1]) / (factor - 1.0);
            factor *= SHRINK * SHRINK;
            let own = (table[i][j] - table[i][j - 1]).abs().max((table[i][j] - table[i - 1][j - 1]).abs());
            let own = own.max(noise);
            if own < error {
                (best, error) = (table[i][j], own);
            }
        }
    }
    (best, error)
}
