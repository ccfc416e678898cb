//! Ridders' differences.

/// How steps shrink, and how many there are.
pub const SHRINK: f64 = 2.5;
pub const STEPS: usize = 10;

/// Ridders' extrapolation of central differences at h, h/2.5, …, of numbers rounded to `rounding`: the value and its own
/// error.
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
