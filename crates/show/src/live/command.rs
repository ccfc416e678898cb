//! Commands that a live page sends to the simulator.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A message of a page: JSON with any of these.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Stops the world (`true`), or lets it go on (`false`).
    pub pause: Option<bool>,
    /// Takes one step, while the world is stopped.
    #[serde(default)]
    pub step: bool,
    /// Puts everything back to the start.
    #[serde(default)]
    pub reset: bool,
    /// Begins this episode of a task, from its start.
    pub episode: Option<usize>,
    /// Takes the goal of this episode of a task, from where everything is.
    pub goal: Option<usize>,
    /// Begins a recording of what happens (`true`), or ends it (`false`).
    pub record: Option<bool>,
    /// New values of sliders, by name.
    #[serde(default)]
    pub set: BTreeMap<String, f64>,
    /// Is the page seen (`true`), or is it behind others (`false`)?
    pub look: Option<bool>,
    /// Takes hold of a body, or, null, lets go.
    #[serde(default, deserialize_with = "present")]
    pub pull: Option<Option<Pull>>,
}

/// Pulls a point of a body to a point of the world, by a spring.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Pull {
    /// Index of the body.
    pub body: usize,
    /// The pulled point in the body's frame, m.
    pub at: [f64; 3],
    /// The point of the world that it is pulled to, m.
    pub to: [f64; 3],
    /// Pull by commands of the body's own joints, instead of a spring?
    #[serde(default)]
    pub joints: bool,
}

/// Reads a field whose `null` differs from its absence.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Option<Pull>>, D::Error> {
    Option::deserialize(from).map(Some)
}

impl Command {
    /// Reads a message.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("expected a command, got what is none: {error}"))
    }
}
