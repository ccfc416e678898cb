//! The page that draws recordings: HTML, CSS and JavaScript of our own, in one file that needs no network.
//!
//! The modules stay modules: an import map gives each a `data:` address, so that a page from a disk can import them.

use data_encoding::BASE64;
use serde_json::{Map, Value, json};

use super::frames::Layout;
use super::recording::Recording;
use fingertip_shapes::{Error, Result};

const INDEX: &str = include_str!("index.html");
pub const STYLE: &str = include_str!("style.css");

macro_rules! modules {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!($name, ".js")))),*] };
}
/// The modules, by the names under which they import each other: `fingertip/vec`.
pub const MODULES: &[(&str, &str)] = modules![
    "address",
    "camera",
    "film",
    "ghosts",
    "gl",
    "inspector",
    "keys",
    "live",
    "main",
    "marks",
    "measure",
    "meshes",
    "names",
    "pick",
    "picker",
    "player",
    "plot",
    "pointer",
    "series",
    "shaders",
    "skin",
    "stage",
    "task",
    "theme",
    "track",
    "vec",
    "view",
    "worlds",
];

impl Recording {
    /// A page of its own, with everything in it: it can be opened from a disk and mailed.
    pub fn html(&self) -> String {
        self.html_of(&Layout::new(self))
    }

    /// [`Recording::html`] of about so many bytes at most: where it would be longer, steps are left out evenly
    /// ([`Recording::thinned`]). The page itself and meshes stay whole, and one step in any case.
    pub fn html_within(&self, bytes: usize) -> String {
        let layout = Layout::new(self);
        let frame = 4 * layout.stride() * size_of::<f32>() / 3;
        let without_frames = fill(&layout.header(self), "").len();
        let most = (bytes.saturating_sub(without_frames) / frame.max(1)).saturating_sub(1);
        if self.steps.len() <= most { self.html_of(&layout) } else { self.thinned(most).html() }
    }

    /// [`Recording::html`] with other recordings of the same bodies, by name, which can be seen over this one or beside
    /// it.
    ///
    /// # Errors
    /// If a recording has other bodies.
    pub fn html_beside(&self, others: &[(String, Self)]) -> Result<String> {
        let layout = Layout::new(self);
        let names = |recording: &Self| recording.bodies.iter().map(|body| body.name.clone()).collect::<Vec<_>>();
        let world = |(name, other): &(String, Self)| {
            if names(other) != names(self) {
                return Err(Error::invalid(name, format!("expected the bodies of \"{}\", got others", self.scene)));
            }
            let start = std::iter::once((0.0, &other.start));
            let all = start.chain(other.steps.iter().map(|step| (step.time, &step.end)));
            #[expect(clippy::cast_possible_truncation, reason = "a screen needs no more")]
            let bytes = all.flat_map(|(time, at)| std::iter::once(time).chain(at.poses.concat())).map(|x| x as f32);
            let rows: Vec<u8> = bytes.flat_map(f32::to_le_bytes).collect();
            Ok(json!({ "name": name, "rows": BASE64.encode(&rows) }))
        };
        let mut header = layout.header(self);
        header["worlds"] = others.iter().map(world).collect::<Result<_>>()?;
        Ok(fill(&header, &self.frames(&layout)))
    }

    fn html_of(&self, layout: &Layout) -> String {
        fill(&layout.header(self), &self.frames(layout))
    }

    fn frames(&self, layout: &Layout) -> String {
        let rows: Vec<u8> = layout.rows(self).into_iter().flat_map(f32::to_le_bytes).collect();
        BASE64.encode(&rows)
    }
}

/// The page with a header and frames (base64 of little-endian 32-bit floats).
pub fn fill(header: &Value, frames: &str) -> String {
    let modules = MODULES.iter().map(|(name, text)| {
        // The name is what a browser's tools show.
        let text = format!("{text}\n//# sourceURL=fingertip/{name}.js\n");
        let address = format!("data:text/javascript;base64,{}", BASE64.encode(text.as_bytes()));
        (format!("fingertip/{name}"), Value::String(address))
    });
    let imports = Value::Object(Map::from_iter([("imports".to_owned(), Value::Object(modules.collect()))]));
    // Nothing in JSON may end the element that it is in.
    let inside = |json: &Value| json.to_string().replace('<', "\\u003c");
    let pieces = [
        ("style", STYLE.to_owned()),
        ("modules", inside(&imports)),
        ("header", inside(header)),
        ("frames", frames.to_owned()),
    ];
    let mut page = String::new();
    let mut rest = INDEX;
    for (name, piece) in pieces {
        let mark = format!("{{{{{name}}}}}");
        let (before, after) = rest.split_once(&mark).unwrap_or((rest, ""));
        page.extend([before, &piece]);
        rest = after;
    }
    page + rest
}
