//! Motions of keypoints: from tables, JSON lines, and from another hand.

use std::path::Path;

use serde::Deserialize;

use candle_core::Result as TensorResult;
use fingertip_shapes::{Error, Result};
use fingertip_step::kinematics::Points;
use fingertip_step::model::Model;

use super::fingers::fingers;
use super::target::{KEYPOINTS, Place};
use crate::fit::{Channel, Kind, Log};

/// Keypoints over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Motion {
    /// What messages call it: the name of its file.
    pub name: String,
    /// Times (n), s, each after the one before.
    pub time: Vec<f64>,
    /// The keypoints' names.
    pub keypoints: Vec<String>,
    /// Their positions (n, keypoints), m; NaN where one is not known.
    pub frames: Vec<Vec<[f64; 3]>>,
}

/// A line of JSON.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Bare(Vec<[Option<f64>; 3]>),
    #[serde(rename_all = "snake_case")]
    Timed {
        time: Option<f64>,
        keypoints: Vec<[Option<f64>; 3]>,
    },
}

impl Motion {
    /// A motion of the 21 keypoints of a hand, or of others by name.
    ///
    /// # Errors
    /// If there are no frames, one has another number of keypoints, a number is infinite, or times do not increase.
    pub fn new(name: &str, keypoints: &[String], time: Vec<f64>, frames: Vec<Vec<[f64; 3]>>) -> Result<Self> {
        let wrong = |place: String, message: String| Err(Error::invalid(format!("{name}: {place}"), message));
        if frames.is_empty() {
            return Err(Error::invalid(name, "expected at least one frame"));
        }
        if time.len() != frames.len() {
            return Err(Error::invalid(name, format!("expected {} times, got {}", frames.len(), time.len())));
        }
        for (k, frame) in frames.iter().enumerate() {
            if frame.len() != keypoints.len() {
                return wrong(
                    format!("frame {k}"),
                    format!("expected {} keypoints, got {}", keypoints.len(), frame.len()),
                );
            }
            if let Some(p) = frame.iter().position(|p| p.iter().any(|x| x.is_infinite())) {
                return wrong(format!("frame {k}: {}", keypoints[p]), "expected finite numbers".to_owned());
            }
            if !time[k].is_finite() || (k > 0 && time[k] <= time[k - 1]) {
                let after = if k > 0 { format!("after {} s", time[k - 1]) } else { "in s".to_owned() };
                return wrong(format!("frame {k}"), format!("expected a time {after}, got {}", time[k]));
            }
        }
        Ok(Self { name: name.to_owned(), time, keypoints: keypoints.to_vec(), frames })
    }

    /// A motion from a file: see [`Motion::from_text`].
    ///
    /// # Errors
    /// If the file cannot be read, or as [`Motion::from_text`].
    pub fn read(path: impl AsRef<Path>, keypoints: &[String], rate: f64) -> Result<Self> {
        Self::from_text(&path.as_ref().display().to_string(), &text(path.as_ref())?, keypoints, rate)
    }

    /// A motion from text: a table (CSV) with a column for each of `NAME.x`, `NAME.y` and `NAME.z`, and one of `time`
    /// in s if there is one; or JSON lines, `[[x, y, z], …]` or `{"time": …, "keypoints": [[x, y, z], …]}`, in the
    /// order of `keypoints`. Without times the frames are at `rate`, Hz. An empty cell and `null` are not known.
    ///
    /// # Errors
    /// As [`Motion::new`], or what cannot be read; the message gives line and column.
    pub fn from_text(name: &str, text: &str, keypoints: &[String], rate: f64) -> Result<Self> {
        if !(rate.is_finite() && rate > 0.0) {
            return Err(Error::invalid("rate", format!("expected a positive frequency in Hz, got {rate}")));
        }
        let text = text.trim_start_matches('\u{feff}');
        if text.trim_start().starts_with(['[', '{']) {
            return Self::from_json_lines(name, text, keypoints, rate);
        }
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let Some((_, header)) = lines.next() else {
            return Err(Error::invalid(name, "expected a line of column names"));
        };
        let columns: Vec<&str> = header.split(',').map(|cell| cell.trim().trim_matches('"')).collect();
        let mut names: Vec<String> = Vec::new();
        let mut meaning = Vec::new();
        for column in &columns {
            let axis = |end: &str| ["x", "y", "z"].iter().position(|axis| *axis == end);
            meaning.push(match column.rsplit_once('.').and_then(|(own, end)| Some((own, axis(end)?))) {
                Some((own, axis)) => {
                    let at = names.iter().position(|name| name == own).unwrap_or_else(|| {
                        names.push(own.to_owned());
                        names.len() - 1
                    });
                    Some((at, axis))
                }
                None => None,
            });
        }
        let time_at = columns.iter().position(|column| *column == "time");
        for (at, own) in names.iter().enumerate() {
            for (axis, letter) in ["x", "y", "z"].iter().enumerate() {
                let n = meaning.iter().flatten().filter(|one| **one == (at, axis)).count();
                if n != 1 {
                    let message = format!("expected one column \"{own}.{letter}\", got {n}");
                    return Err(Error::invalid(name, message));
                }
            }
        }
        if names.is_empty() {
            let message = "expected columns of keypoints, as \"wrist.x\", \"wrist.y\", \"wrist.z\", got none";
            return Err(Error::invalid(name, message));
        }
        let (mut time, mut frames) = (Vec::new(), Vec::new());
        for (i, line) in lines {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            if cells.len() != columns.len() {
                let message = format!("expected {} cells as in the first line, got {}", columns.len(), cells.len());
                return Err(Error::invalid(format!("{name}: line {}", i + 1), message));
            }
            let number = |k: usize| match cells[k].parse::<f64>() {
                _ if cells[k].is_empty() => Ok(f64::NAN),
                Ok(x) if !x.is_infinite() => Ok(x),
                _ => {
                    let place = format!("{name}: line {}: column \"{}\"", i + 1, columns[k]);
                    Err(Error::invalid(place, format!("expected a number, got \"{}\"", cells[k])))
                }
            };
            let mut frame = vec![[f64::NAN; 3]; names.len()];
            for (k, place) in meaning.iter().enumerate() {
                if let Some((at, axis)) = *place {
                    frame[at][axis] = number(k)?;
                }
            }
            time.push(time_at.map_or(Ok(frames.len() as f64 / rate), number)?);
            frames.push(frame);
        }
        Self::new(name, &names, time, frames)
    }

    fn from_json_lines(name: &str, text: &str, keypoints: &[String], rate: f64) -> Result<Self> {
        let (mut time, mut frames): (Vec<f64>, Vec<Vec<[f64; 3]>>) = (Vec::new(), Vec::new());
        for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let place = format!("{name}: line {}", i + 1);
            let Ok(line) = serde_json::from_str::<Line>(line) else {
                let message = "expected [[x, y, z], …] or {\"time\": s, \"keypoints\": [[x, y, z], …]}";
                return Err(Error::invalid(place, message));
            };
            let (at, points) = match line {
                Line::Bare(points) => (None, points),
                Line::Timed { time, keypoints } => (time, keypoints),
            };
            if points.len() != keypoints.len() {
                let message = format!("expected {} keypoints, got {}", keypoints.len(), points.len());
                return Err(Error::invalid(place, message));
            }
            time.push(at.unwrap_or(frames.len() as f64 / rate));
            frames.push(points.into_iter().map(|p| p.map(|x| x.unwrap_or(f64::NAN))).collect());
        }
        Self::new(name, keypoints, time, frames)
    }

    /// The motion of another hand from a log of its joints: `wrist`, and of each finger the keypoints at its joints and
    /// its tip, under the names of [`KEYPOINTS`]. Joints that the log does not have stay at home.
    ///
    /// # Errors
    /// If the links do not say which finger is which, or the log has a joint in no row.
    pub fn of_hand(model: &Model, log: &Log) -> TensorResult<Self> {
        let (tree, fingers) = (&model.tree, fingers(model)?);
        let palm = super::target::Map::of_hand(model)?.palm;
        let mut named: Vec<(String, Place)> = Vec::new();
        named.extend(palm.map(|palm| ("wrist".to_owned(), palm.places[0].clone())));
        for finger in &fingers {
            let parts = if finger.name == "thumb" { ["cmc", "mcp", "ip"] } else { ["mcp", "pip", "dip"] };
            let part = |part: &str| format!("{}_{part}", finger.name);
            named.push((part(parts[0]), finger.knuckle.clone()));
            // The last two joints; where there are fewer, the tip stands for them.
            let joints = finger.joints.iter().skip(finger.joints.len().saturating_sub(2));
            let joints: Vec<&Place> = joints.chain([&finger.tip, &finger.tip]).take(2).collect();
            named.push((part(parts[1]), joints[0].clone()));
            named.push((part(parts[2]), joints[1].clone()));
            named.push((part("tip"), finger.tip.clone()));
        }
        named.sort_by_key(|(name, _)| KEYPOINTS.iter().position(|own| own == name));
        let frames = named.iter().map(|(_, place)| place.frame(tree)).collect::<Result<Vec<_>>>()?;
        let points = Points::new(tree, &frames);
        let names = model.q_names();
        let is_joint = |channel: &&Channel| channel.kind == Kind::Joint;
        let joints: Vec<(usize, &Channel)> = log
            .channels
            .iter()
            .filter(is_joint)
            .filter_map(|channel| {
                let own = |name: &&String| **name == channel.name || name.ends_with(&format!("/{}", channel.name));
                Some((names.iter().position(|name| own(&name))?, channel))
            })
            .collect();
        let mut q = tree.home();
        let mut all = Vec::new();
        for row in 0..log.time.len() {
            // What is not measured in a row stays where it was.
            joints.iter().filter(|(_, c)| c.values[row].is_finite()).for_each(|(at, c)| q[*at] = c.values[row]);
            all.push(points.positions(&q)?);
        }
        let names: Vec<String> = named.into_iter().map(|(name, _)| name).collect();
        Ok(Self::new(&log.name, &names, log.time.clone(), all)?)
    }
}

/// The text of a file.
pub(super) fn text(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).map_err(|error| Error::file(path, error))?;
    let message = |error: std::string::FromUtf8Error| format!("expected text in UTF-8: {}", error.utf8_error());
    String::from_utf8(bytes).map_err(|error| Error::invalid(path.display().to_string(), message(error)))
}
