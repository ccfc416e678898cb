//! The TOML form of a task.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::SceneOf;
use crate::mpc::robust::Variation;
use fingertip_scene::Friction;
use fingertip_shapes::{Error, Result, check};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskFile {
    pub scene: SceneOf,
    #[serde(default)]
    pub title: String,
    pub h: Option<f64>,
    pub hold: Option<usize>,
    pub substeps: Option<usize>,
    pub horizon: Option<usize>,
    pub kappa: Option<f64>,
    pub schedule: Option<Vec<f64>>,
    pub epsilon: Option<f64>,
    pub friction: Option<Friction>,
    pub impratio: Option<f64>,
    pub method: Option<String>,
    pub iterations: Option<usize>,
    pub most_iterations: Option<usize>,
    pub latency: Option<f64>,
    pub lead: Option<f64>,
    pub margin: Option<f64>,
    pub noise: Option<NoiseFile>,
    #[serde(default)]
    pub estimate: Vec<String>,
    pub tolerance: Option<f64>,
    pub cap: Option<usize>,
    pub lost: Option<f64>,
    pub command: CommandFile,
    #[serde(default)]
    pub start: StartFile,
    pub goal: GoalFile,
    pub weights: WeightsFile,
    pub reach: Option<ReachFile>,
    #[serde(default)]
    pub order: Vec<OrderFile>,
    #[serde(default)]
    pub force: Vec<ForceFile>,
    pub sampling: Option<SamplingFile>,
    pub robust: Option<RobustFile>,
    #[serde(default)]
    pub success: SuccessFile,
    pub sequence: Option<SequenceFile>,
    pub supervisor: Option<SupervisorFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommandFile {
    #[serde(rename = "type")]
    pub law: String,
    pub bound: BoundFile,
    pub speed: Option<BoundFile>,
    pub limits: Option<bool>,
}

/// One number, or a number for each joint.
#[derive(Debug, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(super) struct BoundFile {
    pub default: Option<f64>,
    pub joints: BTreeMap<String, f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StartFile {
    #[serde(default)]
    pub apart: bool,
    #[serde(default)]
    pub joints: BTreeMap<String, JointStart>,
    #[serde(default)]
    pub objects: BTreeMap<String, PoseFile>,
}

/// A position, plus where an object's coordinate starts.
#[derive(Debug, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(super) struct JointStart {
    pub at: Option<String>,
    pub plus: f64,
}

/// A pose, or what it is drawn from.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PoseFile {
    pub position: Option<Range>,
    pub rpy: Option<Range>,
    pub quaternion: Option<Range>,
    pub rotation: Option<Rotation>,
    pub yaw: Option<Range>,
    #[serde(default)]
    pub joints: BTreeMap<String, Range>,
}

impl PoseFile {
    /// Does it say where the object as a whole is?
    pub fn has_pose(&self) -> bool {
        self.position.is_some() || self.has_turn()
    }

    pub fn has_turn(&self) -> bool {
        self.rpy.is_some() || self.quaternion.is_some() || self.rotation.is_some() || self.yaw.is_some()
    }
}

/// A table with keys of its own and those of the goal of one object or robot.
macro_rules! goal {
    ($(#[$doc:meta])* $name:ident { $($own:tt)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $name {
            $($own)*
            pub from: Option<String>,
            pub position: Option<Range>,
            pub rpy: Option<Range>,
            pub quaternion: Option<Range>,
            pub rotation: Option<Rotation>,
            pub yaw: Option<Range>,
            pub axis: Option<[f64; 3]>,
            pub lowest: Option<f64>,
            #[serde(default)]
            pub joints: BTreeMap<String, Range>,
        }

        impl $name {
            fn wanted<'a>(&'a self, object: &'a str, place: String, weight: f64) -> Wanted<'a> {
                let Self { position, rpy, quaternion, rotation, yaw, joints, .. } = self.clone();
                let pose = PoseFile { position, rpy, quaternion, rotation, yaw, joints };
                Wanted { object, place, pose, from: self.from.as_deref(), axis: self.axis, lowest: self.lowest, weight }
            }
        }
    };
}

goal! {
    GoalFile {
        pub object: String,
        pub file: Option<String>,
        #[serde(default)]
        pub start: bool,
        #[serde(default)]
        pub others: BTreeMap<String, OtherFile>,
    }
}

goal! {
    /// The goal of another object or of a robot.
    OtherFile {
        pub weight: Option<f64>,
    }
}

/// The goal of one object or robot.
pub(super) struct Wanted<'a> {
    pub object: &'a str,
    /// The place of the entry in messages.
    pub place: String,
    pub pose: PoseFile,
    pub from: Option<&'a str>,
    /// The only axis of the object, in its own frame, whose direction counts.
    pub axis: Option<[f64; 3]>,
    pub lowest: Option<f64>,
    /// Factor on the task's weights for this object's costs.
    pub weight: f64,
}

impl GoalFile {
    /// The goal of the object itself.
    pub fn own(&self) -> Wanted<'_> {
        self.wanted(&self.object, "goal".to_owned(), 1.0)
    }

    /// The goals of the others.
    pub fn others(&self) -> impl Iterator<Item = Wanted<'_>> {
        let place = |object| format!("goal.others.{object}");
        self.others.iter().map(move |(object, file)| file.wanted(object, place(object), file.weight.unwrap_or(1.0)))
    }
}

/// Numbers, each between two bounds, which are the same where it is not drawn.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(super) struct Range {
    pub low: Vec<f64>,
    pub high: Vec<f64>,
}

/// The distribution that an orientation is drawn from.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(super) enum Rotation {
    About(About),
    /// All orientations, evenly.
    Any,
    /// The 24 orientations in which a cube lies along the axes.
    Quarters,
}

/// A turn by an angle in ± `most` about an axis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct About {
    pub about: Axis,
    pub most: f64,
    #[serde(default)]
    pub spread: f64,
}

/// An axis; none is any.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(super) struct Axis(pub Option<[f64; 3]>);

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WeightsFile {
    #[serde(default)]
    pub position: f64,
    #[serde(default)]
    pub rotation: f64,
    #[serde(default)]
    pub joints: f64,
    #[serde(default)]
    pub posture: f64,
    pub posture_at: Option<String>,
    #[serde(default)]
    pub reach: f64,
    #[serde(default)]
    pub closure: f64,
    #[serde(default)]
    pub limits: f64,
    #[serde(default)]
    pub command: f64,
    #[serde(default)]
    pub smoothness: f64,
    #[serde(default)]
    pub effort: f64,
    #[serde(default)]
    pub terminal: TerminalFile,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TerminalFile {
    pub position: Option<f64>,
    pub rotation: Option<f64>,
    pub joints: Option<f64>,
    pub posture: Option<f64>,
    pub reach: Option<f64>,
    pub closure: Option<f64>,
    pub limits: Option<f64>,
}

impl WeightsFile {
    /// Every number with its name.
    pub fn all(&self) -> Vec<(&'static str, f64)> {
        #[rustfmt::skip]
        let Self {
            position, rotation, joints, posture, posture_at: _, reach, closure, limits, command, smoothness, effort, terminal,
        } =
            self;
        let last = [
            ("terminal.position", terminal.position),
            ("terminal.rotation", terminal.rotation),
            ("terminal.joints", terminal.joints),
            ("terminal.posture", terminal.posture),
            ("terminal.reach", terminal.reach),
            ("terminal.closure", terminal.closure),
            ("terminal.limits", terminal.limits),
        ];
        let mut all = vec![("position", *position), ("rotation", *rotation), ("posture", *posture), ("reach", *reach)];
        all.extend([
            ("joints", *joints),
            ("closure", *closure),
            ("limits", *limits),
            ("command", *command),
            ("smoothness", *smoothness),
            ("effort", *effort),
        ]);
        all.extend(last.into_iter().filter_map(|(name, weight)| weight.map(|weight| (name, weight))));
        all
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReachFile {
    pub points: Vec<PointFile>,
    #[serde(default)]
    pub distance: f64,
    pub object: Option<String>,
}

/// A body's name, or with a place on it and how much it counts in a grasp.
#[derive(Debug, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(super) struct PointFile {
    pub link: String,
    pub at: [f64; 3],
    pub weight: f64,
}

/// Bodies that stay in an order along an axis.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OrderFile {
    pub points: Vec<String>,
    pub axis: [f64; 3],
    #[serde(default)]
    pub distance: f64,
    pub weight: f64,
}

/// Forces between two things, for each pair of their bodies.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ForceFile {
    pub a: String,
    pub b: String,
    #[serde(default)]
    pub size: f64,
    pub weight: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SamplingFile {
    pub samples: Option<usize>,
    pub rounds: Option<usize>,
    pub spread: Option<f64>,
}

/// Standard deviations of measured coordinates of objects, m and rad.
#[derive(Debug, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(super) struct NoiseFile {
    pub position: f64,
    pub rotation: f64,
}

/// Worlds beside the believed one, for which a plan is made too.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RobustFile {
    pub cost: Option<String>,
    pub worlds: Vec<Variation>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SuccessFile {
    pub position: Option<f64>,
    pub rotation: Option<f64>,
    pub quaternion: Option<f64>,
    pub joints: Option<f64>,
    pub held: Option<usize>,
    pub stop: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SequenceFile {
    pub goals: Option<usize>,
    pub least: Option<f64>,
    pub drop: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SupervisorFile {
    pub on: Option<bool>,
    pub subgoal: Option<f64>,
    pub away: Option<f64>,
    pub stall: Option<f64>,
}

fn number(value: &toml::Value) -> Option<f64> {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "a number that somebody typed")]
        toml::Value::Integer(x) => Some(*x as f64),
        toml::Value::Float(x) => Some(*x),
        _ => None,
    }
}

/// A number or a list of numbers.
fn numbers(value: &toml::Value) -> Option<Vec<f64>> {
    match value {
        toml::Value::Array(list) => list.iter().map(number).collect(),
        one => Some(vec![number(one)?]),
    }
}

/// A table with these keys only.
fn keys<'a>(value: &'a toml::Value, known: &[&str]) -> Option<&'a toml::Table> {
    value.as_table().filter(|table| table.keys().all(|key| known.contains(&key.as_str())))
}

impl TryFrom<toml::Value> for SceneOf {
    type Error = String;
    fn try_from(value: toml::Value) -> std::result::Result<Self, String> {
        match value {
            toml::Value::String(text) if text.trim_start().starts_with('<') => Ok(Self::Mjcf(text)),
            toml::Value::String(path) => Ok(Self::File(path)),
            toml::Value::Table(own) => Ok(Self::Keys(own)),
            other => Err(format!("expected a scene's file, or a scene's own keys as a table, got {other}")),
        }
    }
}

impl TryFrom<toml::Value> for BoundFile {
    type Error = String;
    fn try_from(value: toml::Value) -> std::result::Result<Self, String> {
        let expected = || {
            format!(
                "expected a number, or numbers by joint as in {{ default = 0.05, \"hand/thumb\" = 0.1 }}, got {value}"
            )
        };
        if let Some(bound) = number(&value) {
            return Ok(Self { default: Some(bound), joints: BTreeMap::new() });
        }
        let table = value.as_table().ok_or_else(expected)?;
        let all = table.iter().map(|(name, x)| Ok((name.clone(), number(x).ok_or_else(expected)?)));
        let mut joints = all.collect::<std::result::Result<BTreeMap<_, _>, String>>()?;
        Ok(Self { default: joints.remove("default"), joints })
    }
}

impl TryFrom<toml::Value> for NoiseFile {
    type Error = String;
    fn try_from(value: toml::Value) -> std::result::Result<Self, String> {
        let read = || -> Option<Self> {
            let table = keys(&value, &["position", "rotation"])?;
            Some(Self { position: number(table.get("position")?)?, rotation: number(table.get("rotation")?)? })
        };
        read().ok_or_else(|| format!("expected {{ position = 0.001, rotation = 0.02 }}, m and rad, got {value}"))
    }
}

impl TryFrom<toml::Value> for JointStart {
    type Error = String;
    fn try_from(value: toml::Value) -> std::result::Result<Self, String> {
        let read = || -> Option<Self> {
            if let Some(plus) = number(&value) {
                return Some(Self { at: None, plus });
            }
            let table = keys(&value, &["at", "plus"])?;
            let plus = table.get("plus").map_or(Some(0.0), number)?;
            Some(Self { at: Some(table.get("at")?.as_str()?.to_owned()), plus })
        };
        read().ok_or_else(|| format!("expected a number or {{ at = \"cube.x\", plus = 0.01 }}, got {value}"))
    }
}

impl TryFrom<toml::Value> for Range {
    type Error = String;
    fn try_from(value: toml::Value) -> std::result::Result<Self, String> {
        let read = || -> Option<Self> {
            if let Some(fixed) = numbers(&value) {
                return Some(Self { low: fixed.clone(), high: fixed });
            }
            let table = keys(&value, &["low", "high"])?;
            let (low, high) = (numbers(table.get("low")?)?, numbers(table.get("high")?)?);
            (low.len() == high.len() && low.iter().zip(&high).all(|(a, b)| a <= b)).then_some(Self { low, high })
        };
        let range = read().filter(|range| range.low.iter().chain(&range.high).all(|x| x.is_finite()));
        range.ok_or_else(|| {
            format!("expected a number, a list, or {{ low = …, high = … }} with as many finite numbers and low ≤ high, got {value}")
        })
    }
}

impl TryFrom<toml::Value> for Rotation {
    type Error = String;
    fn try_from(value: toml::Value) -> std::result::Result<Self, String> {
        match value.as_str() {
            Some("any") => Ok(Self::Any),
            Some("quarters") => Ok(Self::Quarters),
            _ if value.is_table() => value.try_into().map(Self::About).map_err(|error| error.message().to_owned()),
            _ => Err(format!("expected {{ about = [x, y, z], most = angle }}, \"any\" or \"quarters\", got {value}")),
        }
    }
}

impl TryFrom<toml::Value> for Axis {
    type Error = String;
    fn try_from(value: toml::Value) -> std::result::Result<Self, String> {
        let expected = || format!("expected three numbers, not all zero, or \"any\", got {value}");
        if value.as_str() == Some("any") {
            return Ok(Self(None));
        }
        let axis: [f64; 3] = numbers(&value).and_then(|list| list.try_into().ok()).ok_or_else(expected)?;
        let length = axis.iter().map(|x| x * x).sum::<f64>();
        if length.is_normal() { Ok(Self(Some(axis))) } else { Err(expected()) }
    }
}

impl TryFrom<toml::Value> for PointFile {
    type Error = String;
    fn try_from(value: toml::Value) -> std::result::Result<Self, String> {
        let read = || -> Option<Self> {
            if let Some(link) = value.as_str() {
                return Some(Self { link: link.to_owned(), at: [0.0; 3], weight: 1.0 });
            }
            let table = keys(&value, &["link", "at", "weight"])?;
            let at = table.get("at").map_or(Some([0.0; 3]), |at| numbers(at)?.try_into().ok())?;
            let weight = table.get("weight").map_or(Some(1.0), number).filter(|weight| weight.is_finite())?;
            Some(Self { link: table.get("link")?.as_str()?.to_owned(), at, weight })
        };
        let form = "{ link = \"hand/tip\", at = [x, y, z], weight = 1.0 }";
        read().ok_or_else(|| format!("expected a body's name or {form}, got {value}"))
    }
}

impl TaskFile {
    pub fn read(text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            let place = line.map_or_else(|| "TOML".to_owned(), |line| format!("line {line}"));
            let message = match error.message() {
                message if message.starts_with("missing field `scene`") => {
                    "expected scene = \"file.toml\", the scene of the task, got none".to_owned()
                }
                message => check::of_parser(message),
            };
            // What cannot be read is said with its key; that of a missing or an unknown one names it.
            let key = line.and_then(|line| text.lines().nth(line - 1)?.split_once('=')).map(|(key, _)| key.trim());
            match key.filter(|_| !message.contains(" field `")) {
                Some(key) => Error::invalid(place, format!("{key}: {message}")),
                None => Error::invalid(place, message),
            }
        })
    }
}
