//! Poses from a log.

use std::collections::BTreeMap;
use std::time::Instant;

use candle_core::Result;

use fingertip_shapes::Error;
use fingertip_step::step::Quasidynamic;

use super::{Options, Smoother};
use crate::fit::{FORCE, Log, Of};
use crate::mpc::{Simulator, is_object};

/// Rows of a log are as far apart as the first two, to this part of it.
const STEADY: f64 = 0.02;

/// What was estimated at each row of a log.
#[derive(Clone, Debug)]
pub struct Felt {
    /// Times (n), s.
    pub time: Vec<f64>,
    /// Estimates of q (n, nq), rad and m.
    pub q: Vec<f64>,
    /// Their standard deviations in tangent coordinates (n, nv), rad and m.
    pub deviation: Vec<f64>,
    /// Measured less estimated q in tangent coordinates (n, nv), rad and m; NaN where nothing was measured.
    pub off: Vec<f64>,
    /// Which degrees of freedom are an object's (nv).
    pub of_object: Vec<bool>,
    /// The time that each row took (n − 1), s.
    pub seconds: Vec<f64>,
}

/// Estimates poses at each row of a log, from its first row on: there objects are where it says, or at home. After it
/// poses of objects are measured if they are `seen`.
///
/// # Errors
/// If rows are not a whole number of steps apart, all the same; a force has no column of one axis; or as
/// [`Smoother::new`].
pub fn feel(step: &Quasidynamic, log: &Log, options: &Options, seen: bool) -> Result<Felt> {
    let wrong = |message: String| Err(Error::invalid(&log.name, message).into());
    let model = step.model();
    let h = Simulator::of_step(step.clone(), 1)?.period();
    let period = log.time[1] - log.time[0];
    let hold = (period / h).round();
    let is_steady = log.time.windows(2).all(|two| (two[1] - two[0] - period).abs() <= STEADY * period);
    if !is_steady || hold < 1.0 || (hold * h - period).abs() > STEADY * period {
        return wrong(format!(
            "expected rows a whole number of steps of {h} s apart, all the same, got {period} s first"
        ));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 1, and the log's own")]
    let simulator = Simulator::of_step(step.clone(), hold as usize)?;
    let (n, nq, nu) = (log.time.len(), model.nq(), model.nu());
    let mut measured = vec![f64::NAN; n * nq];
    let mut forces: BTreeMap<&str, [Option<&[f64]>; 3]> = BTreeMap::new();
    for channel in &log.channels {
        match &channel.of {
            Of::Coordinate { q, .. } => (0..n).for_each(|row| measured[row * nq + q] = channel.values[row]),
            Of::Rotation { q, .. } => {
                for (row, turn) in channel.values.chunks_exact(4).enumerate() {
                    measured[row * nq + q..row * nq + q + 4].copy_from_slice(turn);
                }
            }
            Of::Force(_) => {
                let name = channel.name.strip_prefix(FORCE).unwrap_or(&channel.name);
                let (thing, axis) = name.rsplit_once('.').unwrap_or((name, ""));
                let axis = ["x", "y", "z"].iter().position(|own| *own == axis);
                axis.into_iter().for_each(|axis| forces.entry(thing).or_default()[axis] = Some(&channel.values));
            }
        }
    }
    if let Some((thing, _)) = forces.iter().find(|(_, axes)| axes.iter().any(Option::is_none)) {
        return wrong(format!("expected all of {FORCE}{thing}.x, {FORCE}{thing}.y and {FORCE}{thing}.z, or none"));
    }
    let names: Vec<(&str, Option<&str>)> = forces.keys().map(|thing| (*thing, None)).collect();
    let mut smoother = Smoother::new(&simulator, &names, options)?;
    let start = smoother.with_measured(&model.tree.home(), &measured[..nq]);
    smoother.reset(&start)?;
    let (mut of_object, mut objects) = (vec![false; model.nv()], Vec::new());
    for c in &model.tree.coordinates {
        if is_object(model, c.body) {
            c.dofs().for_each(|dof| of_object[dof] = true);
            objects.extend(c.q..c.q + c.kind.nq());
        }
    }
    let time = log.time.clone();
    let [q, deviation, off, seconds] = std::array::from_fn(|_| Vec::new());
    let mut felt = Felt { time, q, deviation, off, of_object, seconds };
    for row in 0..n {
        let whole = &measured[row * nq..(row + 1) * nq];
        if row > 0 {
            let mut known = whole.to_vec();
            objects.iter().filter(|_| !seen).for_each(|&q| known[q] = f64::NAN);
            let axes = forces.values().flatten().flatten();
            let force: Vec<f64> = axes.map(|values| values[row]).collect();
            let start = Instant::now();
            smoother.step(&log.commands[(row - 1) * nu..row * nu], &known, &force)?;
            felt.seconds.push(start.elapsed().as_secs_f64());
        }
        felt.q.extend_from_slice(smoother.q());
        felt.deviation.extend(smoother.covariance().diagonal().iter().map(|variance| variance.sqrt()));
        felt.off.extend(smoother.off(whole)?);
    }
    Ok(felt)
}
