//! What an example claims: said together with what it should be; where it is not so, the run ends with a failure.
#![allow(dead_code, reason = "each example uses its part")]

use candle_core::{Result, bail};

/// A number that should be below a bound.
pub fn below(what: &str, value: f64, bound: f64) -> Result<()> {
    claim(value < bound, format!("{what}: {} (should be below {})", number(value), number(bound)))
}

/// A number that should be above a bound.
pub fn above(what: &str, value: f64, bound: f64) -> Result<()> {
    claim(value > bound, format!("{what}: {} (should be above {})", number(value), number(bound)))
}

/// A number that should be near another one, at most this share of it away.
pub fn near(what: &str, value: f64, expected: f64, share: f64) -> Result<()> {
    let is_near = (value - expected).abs() <= share * expected.abs();
    claim(is_near, format!("{what}: {value:.6} (should be within {share:e} of {expected:.6})"))
}

/// Something that should be so.
pub fn holds(what: &str, is_so: bool) -> Result<()> {
    claim(is_so, format!("{what}: {is_so} (should be true)"))
}

fn number(x: f64) -> String {
    if (1e-2..1e4).contains(&x.abs()) { format!("{x:.3}") } else { format!("{x:.1e}") }
}

fn claim(holds: bool, said: String) -> Result<()> {
    println!("{said}");
    if !holds {
        bail!("this does not hold: {said}");
    }
    Ok(())
}
