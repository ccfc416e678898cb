//! The TOML form of a map.

use std::fmt::Write;
use std::path::Path;

use serde::Deserialize;

use fingertip_shapes::{Error, Result, check};

use super::motion::text;
use super::target::{KEYPOINTS, MANO, Map, Palm, Pinch, Place, Scale, Target};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MapFile {
    order: Option<String>,
    keypoints: Option<Vec<String>>,
    #[serde(default)]
    mirror: bool,
    #[serde(default)]
    hold: Vec<String>,
    palm: Option<PalmFile>,
    #[serde(default)]
    position: Vec<PositionFile>,
    #[serde(default)]
    vector: Vec<VectorFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PalmFile {
    keypoints: [String; 3],
    places: [PlaceFile; 3],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlaceFile {
    link: String,
    #[serde(default)]
    at: [f64; 3],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PositionFile {
    link: String,
    #[serde(default)]
    at: [f64; 3],
    keypoint: String,
    scale: Option<ScaleFile>,
    weight: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VectorFile {
    name: Option<String>,
    from: PlaceFile,
    to: PlaceFile,
    keypoints: [String; 2],
    scale: Option<ScaleFile>,
    weight: Option<f64>,
    pinch: Option<PinchFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PinchFile {
    near: f64,
    far: f64,
    #[serde(default)]
    touch: f64,
}

/// A number, or "auto".
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "toml::Value")]
struct ScaleFile(Scale);

impl TryFrom<toml::Value> for ScaleFile {
    type Error = String;

    fn try_from(value: toml::Value) -> std::result::Result<Self, String> {
        match value {
            toml::Value::Float(x) => Ok(Self(Scale::Given(x))),
            toml::Value::Integer(x) => Ok(Self(Scale::Given(x as f64))),
            toml::Value::String(text) if text == "auto" => Ok(Self(Scale::Auto)),
            other => Err(format!("expected a number or \"auto\", got {other}")),
        }
    }
}

impl From<PlaceFile> for Place {
    fn from(file: PlaceFile) -> Self {
        Self { body: file.link, point: file.at }
    }
}

impl Map {
    /// A map from a TOML file.
    ///
    /// # Errors
    /// If the file cannot be read, or as [`Map::from_toml`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_toml(&path.as_ref().display().to_string(), &text(path.as_ref())?)
    }

    /// This map with another scale for all targets but those that draw together.
    #[must_use]
    pub fn with_scale(mut self, scale: Scale) -> Self {
        self.targets.iter_mut().filter(|target| target.pinch.is_none()).for_each(|target| target.scale = scale);
        self
    }

    /// A map from the text of a TOML file named `name` in messages.
    ///
    /// # Errors
    /// If it is no TOML, a key is not known or missing, or there is no target. Names of links and keypoints are checked
    /// by [`Follower::new`](super::Follower::new).
    pub fn from_toml(name: &str, text: &str) -> Result<Self> {
        let wrong = |place: &str, message: String| Error::invalid(format!("{name}: {place}"), message);
        let file: MapFile = toml::from_str(text).map_err(|error| {
            let line = |start: usize| text[..start.min(text.len())].matches('\n').count() + 1;
            let place = error.span().map_or_else(|| "TOML".to_owned(), |span| format!("line {}", line(span.start)));
            wrong(&place, check::of_parser(error.message()))
        })?;
        let keypoints = match (file.order.as_deref(), file.keypoints) {
            (None | Some("mediapipe"), None) => KEYPOINTS.map(str::to_owned).to_vec(),
            (Some("mano"), None) => MANO.map(str::to_owned).to_vec(),
            (None, Some(names)) => names,
            (Some(_), Some(_)) => return Err(wrong("order", "expected this or keypoints, got both".to_owned())),
            (Some(other), None) => {
                return Err(wrong("order", format!("expected \"mediapipe\" or \"mano\", got \"{other}\"")));
            }
        };
        check::unique("keypoint", keypoints.iter().map(String::as_str)).map_err(|error| error.within(name))?;
        let position = |file: PositionFile| {
            let target = Target::position(Place::new(file.link, file.at), file.keypoint);
            let scale = file.scale.map_or(target.scale, |scale| scale.0);
            Target { scale, weight: file.weight.unwrap_or(1.0), ..target }
        };
        let vector = |file: VectorFile| {
            let usual = if file.pinch.is_some() { Scale::Given(1.0) } else { Scale::Auto };
            let scale = file.scale.map_or(usual, |scale| scale.0);
            let keypoints = [file.keypoints[0].as_str(), file.keypoints[1].as_str()];
            let target = Target::vector(file.from.into(), file.to.into(), keypoints, scale);
            let pinch = file.pinch.map(|PinchFile { near, far, touch }| Pinch { near, far, touch });
            Target { name: file.name.unwrap_or(target.name), weight: file.weight.unwrap_or(1.0), pinch, ..target }
        };
        let targets: Vec<Target> =
            file.position.into_iter().map(position).chain(file.vector.into_iter().map(vector)).collect();
        if targets.is_empty() {
            return Err(Error::invalid(name, "expected at least one [[position]] or [[vector]]"));
        }
        let palm = file.palm.map(|file| Palm { keypoints: file.keypoints, places: file.places.map(Place::from) });
        Ok(Self { keypoints, targets, palm, mirror: file.mirror, hold: file.hold })
    }

    /// The map as a TOML file.
    pub fn to_toml(&self) -> String {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let list = |all: &[String]| all.iter().map(|own| quoted(own)).collect::<Vec<_>>().join(", ");
        let place = |place: &Place| format!("{{ link = {}, at = {:?} }}", quoted(&place.body), place.point);
        let scale = |scale: Scale| match scale {
            Scale::Given(scale) => format!("{scale:?}"),
            Scale::Auto => "\"auto\"".to_owned(),
        };
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "keypoints = [{}]\nmirror = {}\nhold = [{}]",
            list(&self.keypoints),
            self.mirror,
            list(&self.hold)
        );
        if let Some(palm) = &self.palm {
            let places: Vec<String> = palm.places.iter().map(|own| format!("    {},\n", place(own))).collect();
            let _ =
                writeln!(out, "\n[palm]\nkeypoints = [{}]\nplaces = [\n{}]", list(&palm.keypoints), places.concat());
        }
        for target in &self.targets {
            let Target { name, from, to, keypoints, weight, pinch, .. } = target;
            let _ = match from {
                Some(from) => writeln!(
                    out,
                    "\n[[vector]]\nname = {}\nfrom = {}\nto = {}\nkeypoints = [{}, {}]",
                    quoted(name),
                    place(from),
                    place(to),
                    quoted(keypoints.0.as_ref().unwrap_or(&keypoints.1)),
                    quoted(&keypoints.1)
                ),
                None => {
                    let (link, keypoint) = (quoted(&to.body), quoted(&keypoints.1));
                    writeln!(out, "\n[[position]]\nlink = {link}\nat = {:?}\nkeypoint = {keypoint}", to.point)
                }
            };
            let _ = writeln!(out, "scale = {}\nweight = {weight:?}", scale(target.scale));
            if let Some(Pinch { near, far, touch }) = pinch {
                let _ = writeln!(out, "pinch = {{ near = {near:?}, far = {far:?}, touch = {touch:?} }}");
            }
        }
        out
    }
}
