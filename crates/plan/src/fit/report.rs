//! What a fit found, with what it predicts.

use std::collections::BTreeMap;

use candle_core::Result;

use super::log::{Kind, Log, Of};
use super::search::{Found, Problem};
use super::segment::{Residual, Segment};
use super::sure::sure;
use super::unknown::parameters_of;
use super::{Fit, Prediction, root_mean_square};

impl Problem<'_> {
    /// The result, with `first`, half the sum of squares at first.
    pub(super) fn result(&self, found: &Found, first: f64) -> Result<Fit> {
        let (numbers, blind) = sure(self, found)?;
        let values = self.values(&found.x);
        let (row, _) = self.row_at(&values);
        let mut noise = BTreeMap::new();
        for kind in Kind::ALL {
            let (n, size) = self.size_of(found, kind);
            if n > 0 {
                noise.insert(kind, (n, size, found.noise[kind as usize]));
            }
        }
        let parts = || self.segments.iter().zip(&found.residuals).map(|(part, (all, _))| (part.log, &all[..]));
        Ok(Fit {
            numbers,
            parameters: parameters_of(&row, self.parameters)?,
            blind,
            noise,
            cost: [first, found.cost],
            correlation: correlation(parts()),
            predictions: self.predictions(parts()),
            iterations: found.iterations,
            converged: found.converged,
            steps: [
                self.segments.iter().map(Segment::n_steps).sum(),
                found.residuals.iter().map(|(_, unsolved)| unsolved).sum(),
            ],
        })
    }

    fn predictions<'b>(&self, parts: impl Iterator<Item = (usize, &'b [Residual])>) -> Vec<Prediction> {
        let of_log = |(log, of): (usize, &Log)| {
            (0..of.channels.len()).map(move |channel| Prediction {
                log,
                channel,
                time: vec![],
                measured: vec![],
                predicted: vec![],
            })
        };
        let mut all: Vec<Prediction> = self.logs.iter().enumerate().flat_map(of_log).collect();
        for (log, residuals) in parts {
            let first: usize = self.logs[..log].iter().map(|log| log.channels.len()).sum();
            for one in residuals {
                let (own, to) = (&self.logs[log], &mut all[first + one.channel]);
                let channel = &own.channels[one.channel];
                let measured = if let Of::Rotation { .. } = channel.of { 0.0 } else { channel.values[one.row] };
                if one.part == 0 {
                    to.time.push(own.time[one.row]);
                }
                to.measured.push(measured);
                to.predicted.push(measured - one.value);
            }
        }
        all
    }
}

/// Residuals below this, m, rad or N, are rounding.
const ROUNDING: f64 = 1e-10;

/// How alike residuals are that follow each other: Σ r r₊ over Σ r², channel by channel; those of rounding tell
/// nothing.
fn correlation<'a>(residuals: impl Iterator<Item = (usize, &'a [Residual])>) -> f64 {
    let mut series: BTreeMap<(usize, usize, usize), Vec<f64>> = BTreeMap::new();
    for (log, residuals) in residuals {
        for one in residuals {
            series.entry((log, one.channel, one.part)).or_default().push(one.value);
        }
    }
    let (mut together, mut alone) = (0.0, 0.0);
    for values in series.into_values() {
        let scale = root_mean_square(values.iter().copied()).1;
        if scale < ROUNDING {
            continue;
        }
        together += values.windows(2).map(|pair| pair[0] * pair[1] / (scale * scale)).sum::<f64>();
        alone += values.len() as f64;
    }
    together / f64::max(alone, 1.0)
}
