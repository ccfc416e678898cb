//! Roadmaps as files: JSON, see the page on roadmaps.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Edge, Node, Roadmap};
use fingertip_shapes::{Error, Result};

/// The format's name and version.
const FORMAT: &str = "fingertip roadmap";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    version: u32,
    object: String,
    q_names: Vec<String>,
    near: f64,
    drawn: usize,
    nodes: Vec<Vec<f64>>,
    edges: Vec<EdgeLine>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EdgeLine {
    from: usize,
    to: usize,
    tries: usize,
    successes: usize,
    seconds: f64,
}

/// The head of a roadmap's file, which is read first, so that a later version is named and not its unknown keys.
#[derive(Deserialize)]
struct Head {
    format: Option<String>,
    version: Option<u32>,
}

impl Roadmap {
    /// The text of its file, JSON.
    pub fn to_json(&self) -> String {
        let edges = self.edges.iter().map(|(&(from, to), &Edge { tries, successes, seconds })| EdgeLine {
            from,
            to,
            tries,
            successes,
            seconds,
        });
        let file = File {
            format: FORMAT.to_owned(),
            version: VERSION,
            object: self.object.clone(),
            q_names: self.q_names.clone(),
            near: self.near,
            drawn: self.drawn,
            nodes: self.nodes.iter().map(|node| node.q.clone()).collect(),
            edges: edges.collect(),
        };
        // Numbers, texts and lists of them can be written.
        serde_json::to_string(&file).unwrap_or_default()
    }

    /// From JSON.
    ///
    /// # Errors
    /// If it is not a roadmap of this version, or a number is not possible: which, and what was expected.
    pub fn from_json(text: &str) -> Result<Self> {
        let syntax = |error: serde_json::Error| Error::invalid("roadmap", error.to_string());
        let head: Head = serde_json::from_str(text).map_err(syntax)?;
        if head.format.as_deref() != Some(FORMAT) {
            let got = head.format.map_or("none".to_owned(), |format| format!("\"{format}\""));
            return Err(Error::invalid("format", format!("expected \"{FORMAT}\", got {got}")));
        }
        if head.version != Some(VERSION) {
            let got = head.version.map_or("none".to_owned(), |version| version.to_string());
            return Err(Error::invalid("version", format!("expected {VERSION}, got {got}")));
        }
        let file: File = serde_json::from_str(text).map_err(syntax)?;
        let bad = |place: String, expected: String| Err(Error::invalid(place, expected));
        if !(file.near.is_finite() && file.near >= 0.0) {
            return bad("near".to_owned(), format!("expected a number from 0 up, got {}", file.near));
        }
        for (i, q) in file.nodes.iter().enumerate() {
            if q.len() != file.q_names.len() {
                return bad(format!("nodes[{i}]"), format!("expected {} numbers, got {}", file.q_names.len(), q.len()));
            }
        }
        let mut edges = std::collections::BTreeMap::new();
        for (i, EdgeLine { from, to, tries, successes, seconds }) in file.edges.into_iter().enumerate() {
            let place = format!("edges[{i}]");
            if let Some(node) = [from, to].into_iter().find(|node| *node >= file.nodes.len()) {
                return bad(place, format!("expected nodes below {}, got {node}", file.nodes.len()));
            }
            if from == to {
                return bad(place, format!("expected two nodes, got {from} twice"));
            }
            if successes > tries {
                return bad(place, format!("expected at most as many successes as tries, {tries}, got {successes}"));
            }
            if !(seconds.is_finite() && seconds >= 0.0) {
                return bad(place, format!("expected seconds from 0 up, got {seconds}"));
            }
            if edges.insert((from, to), Edge { tries, successes, seconds }).is_some() {
                return bad(place, format!("expected another edge than one from {from} to {to} again"));
            }
        }
        Ok(Self {
            object: file.object,
            q_names: file.q_names,
            near: file.near,
            drawn: file.drawn,
            nodes: file.nodes.into_iter().map(|q| Node { q }).collect(),
            edges,
        })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or as [`Roadmap::from_json`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = fs::read_to_string(path).map_err(|source| Error::file(path, source))?;
        Self::from_json(&text).map_err(|error| error.within(path.display()))
    }

    /// Writes a file. A file that is there is replaced at once, so that an end in the middle leaves the old one.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let written = fs::write(&part, self.to_json()).and_then(|()| fs::rename(&part, path));
        written.map_err(|source| Error::file(path, source))
    }
}
