//! Logs from recordings, and fits as figures and tables.

use std::fmt::Write;
use std::path::Path;

use super::chart::{Chart, Panel};
use super::file;
use super::recording::Recording;
use fingertip_plan::fit::{Fit, Kind, Log, Prediction};
use fingertip_shapes::largest::largest;
use fingertip_shapes::{Error, Result};
use fingertip_step::model::Model;

/// Channels of each kind in a figure, those with the largest residuals: more lines cannot be told apart.
const MOST: usize = 4;
/// Heights of the panels, pixels.
const HEIGHT: f64 = 260.0;

/// Reads a log: a recording (`*.mcap`), or else a table (CSV).
///
/// # Errors
/// If the file cannot be read, or as [`Log::from_csv`].
pub fn read_log(model: &Model, path: impl AsRef<Path>) -> Result<Log> {
    let (path, name) = (path.as_ref(), path.as_ref().display().to_string());
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("mcap")) {
        return Recording::read(path)?.log(model, &name);
    }
    let bytes = std::fs::read(path).map_err(|source| Error::file(path, source))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let wrong = error.utf8_error();
        Error::invalid(name.clone(), format!("expected a table (CSV) in UTF-8, or a recording (*.mcap): {wrong}"))
    })?;
    Log::from_csv(model, &name, &text)
}

impl Recording {
    /// The recording as a log named `name`: its commands, and the configurations as if they had been measured.
    ///
    /// # Errors
    /// If it is of another model, or too short: see [`Log::new`].
    pub fn log(&self, model: &Model, name: &str) -> Result<Log> {
        let commands: Vec<String> = self.u_names.iter().map(|name| format!("u:{name}")).collect();
        let names = std::iter::once("time").chain(self.q_names.iter().map(String::as_str));
        let names: Vec<&str> = names.chain(commands.iter().map(String::as_str)).collect();
        let start = std::iter::once(0.0).chain(self.start.q.iter().copied()).chain(vec![f64::NAN; commands.len()]);
        let steps = self.steps.iter().map(|step| {
            let row = std::iter::once(step.time).chain(step.end.q.iter().copied()).chain(step.u.iter().copied());
            row.collect::<Vec<f64>>()
        });
        let rows: Vec<Vec<f64>> = std::iter::once(start.collect()).chain(steps).collect();
        let columns: Vec<Vec<f64>> = (0..names.len()).map(|k| rows.iter().map(|row| row[k]).collect()).collect();
        let columns: Vec<(&str, &[f64])> = names.iter().zip(&columns).map(|(name, of)| (*name, &of[..])).collect();
        Log::new(model, name, &columns)
    }
}

/// A channel's name, with its log's where there are several.
fn title(logs: &[Log], of: &Prediction) -> String {
    let channel = &logs[of.log].channels[of.channel].name;
    if logs.len() > 1 { format!("{}: {channel}", logs[of.log].name) } else { channel.clone() }
}

/// Times and numbers of one part of a channel.
fn series<'a>(of: &'a Prediction, numbers: &'a [f64], part: usize) -> impl Iterator<Item = (f64, f64)> + 'a {
    let width = numbers.len() / of.time.len().max(1);
    of.time.iter().enumerate().map(move |(row, time)| (*time, numbers[row * width + part]))
}

/// Writes a fit as a figure, as [`Chart::write`] does: for each kind of measurement what was predicted, dashed, beside
/// what was measured, and the residuals; of each the channels that are off most.
///
/// # Errors
/// If the file cannot be written.
pub fn plot_fit(fit: &Fit, logs: &[Log], path: impl AsRef<Path>) -> Result<()> {
    let off = |of: &Prediction| largest(of.measured.iter().zip(&of.predicted).map(|(a, b)| (a - b).abs()));
    let mut chart = Chart::new("fit", "time (s)");
    for kind in Kind::ALL {
        let is_own = |of: &&Prediction| logs[of.log].channels[of.channel].kind == kind && !of.time.is_empty();
        let mut own: Vec<&Prediction> = fit.predictions.iter().filter(is_own).collect();
        own.sort_by(|a, b| off(b).total_cmp(&off(a)));
        own.truncate(MOST);
        if own.is_empty() {
            continue;
        }
        // Of quaternions there are residuals alone.
        let has_lines = own.iter().any(|of| of.measured.len() == of.time.len());
        let (name, unit) = kind.name();
        let mut both = Panel::new(format!("{name} ({unit})"), HEIGHT);
        let mut rest = Panel::new(format!("{name}: residual ({unit})"), HEIGHT);
        for of in own {
            let width = of.measured.len() / of.time.len();
            for part in 0..width {
                let name =
                    if width == 1 { title(logs, of) } else { format!("{} {}", title(logs, of), ["x", "y", "z"][part]) };
                if width == 1 {
                    both = both.line(name.clone(), series(of, &of.measured, part));
                    both = both.dashed(format!("{name}, predicted"), series(of, &of.predicted, part));
                }
                let pairs = series(of, &of.measured, part).zip(series(of, &of.predicted, part));
                rest = rest.line(name, pairs.map(|((time, a), (_, b))| (time, a - b)));
            }
        }
        chart = if has_lines { chart.panel(both) } else { chart }.panel(rest);
    }
    chart.write(path)
}

/// Writes what a fit predicts beside what was measured as a table: `log`, `time`, `channel`, `measured`, `predicted`.
/// Rotations have three lines for each time, `ball.q x`, `y` and `z`: zero, and the rotation vector from what was
/// measured to what was predicted.
///
/// # Errors
/// If the file cannot be written.
pub fn write_fit(fit: &Fit, logs: &[Log], path: impl AsRef<Path>) -> Result<()> {
    let mut text = "log,time,channel,measured,predicted\n".to_owned();
    for of in fit.predictions.iter().filter(|of| !of.time.is_empty()) {
        let (log, channel) = (&logs[of.log].name, &logs[of.log].channels[of.channel].name);
        let width = of.measured.len() / of.time.len();
        for (k, (measured, predicted)) in of.measured.iter().zip(&of.predicted).enumerate() {
            let axis = if width == 3 { [" x", " y", " z"][k % 3] } else { "" };
            let _ = writeln!(text, "\"{log}\",{},\"{channel}{axis}\",{measured},{predicted}", of.time[k / width]);
        }
    }
    file::write(path.as_ref(), text)
}
