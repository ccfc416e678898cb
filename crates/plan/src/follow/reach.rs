//! How far a hand reaches from one of its points to another.

use nalgebra::Vector3;

use candle_core::Result;
use fingertip_step::kinematics::Points;
use fingertip_step::model::Model;

use super::joints::{Lead, leads};
use super::target::Place;

/// Values tried for each joint, and how often all are gone through.
const TRIED: u32 = 9;
const SWEEPS: usize = 3;
/// The half range of joints without limits, rad or m.
const FREE: f64 = 1.5;
/// What a longer reach has to gain, m, for a joint to leave where it is.
const GAIN: f64 = 1e-6;

/// The range of a lead, in numbers.
fn range(lead: &Lead) -> (f64, f64) {
    (lead.range.0.max(lead.home - FREE), lead.range.1.min(lead.home + FREE))
}

/// The largest distance of two points that joints allow, m, and q there: by one joint after the other, from zero on.
pub(super) fn reach(model: &Model, from: &Place, to: &Place) -> Result<(f64, Vec<f64>)> {
    let tree = &model.tree;
    let points = Points::new(tree, &[from.frame(tree)?, to.frame(tree)?]);
    let distance = |q: &[f64]| {
        let all = points.positions(q)?;
        Ok::<f64, candle_core::Error>((Vector3::from(all[1]) - Vector3::from(all[0])).norm())
    };
    let all = leads(tree);
    let mut q = tree.home();
    all.iter().for_each(|lead| lead.put(0.0_f64.clamp(lead.range.0, lead.range.1), &mut q));
    let mut best = distance(&q)?;
    for _ in 0..SWEEPS {
        for lead in &all {
            let (low, high) = range(lead);
            let mut trial = q.clone();
            for k in 0..TRIED {
                lead.put(low + (high - low) * f64::from(k) / f64::from(TRIED - 1), &mut trial);
                let found = distance(&trial)?;
                if found > best + GAIN {
                    best = found;
                    q.copy_from_slice(&trial);
                }
            }
        }
    }
    Ok((best, q))
}
