//! What a hand is to follow: points of it, and keypoints.

use nalgebra::{Matrix3, Vector3};

use fingertip_shapes::{Error, Result, unknown};
use fingertip_step::kinematics::{FrameSpec, Tree};

/// The 21 keypoints of a hand as trackers number them (MediaPipe, OpenPose).
pub const KEYPOINTS: [&str; 21] = [
    "wrist",
    "thumb_cmc",
    "thumb_mcp",
    "thumb_ip",
    "thumb_tip",
    "index_mcp",
    "index_pip",
    "index_dip",
    "index_tip",
    "middle_mcp",
    "middle_pip",
    "middle_dip",
    "middle_tip",
    "ring_mcp",
    "ring_pip",
    "ring_dip",
    "ring_tip",
    "little_mcp",
    "little_pip",
    "little_dip",
    "little_tip",
];
/// The same as MANO has them: its sixteen joints, then the five tips.
pub const MANO: [&str; 21] = [
    "wrist",
    "index_mcp",
    "index_pip",
    "index_dip",
    "middle_mcp",
    "middle_pip",
    "middle_dip",
    "little_mcp",
    "little_pip",
    "little_dip",
    "ring_mcp",
    "ring_pip",
    "ring_dip",
    "thumb_cmc",
    "thumb_mcp",
    "thumb_ip",
    "thumb_tip",
    "index_tip",
    "middle_tip",
    "ring_tip",
    "little_tip",
];

/// A point of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The body, `"owner/link"`.
    pub body: String,
    /// The point in the body's frame, m.
    pub point: [f64; 3],
}

impl Place {
    /// A point (m) in the frame of a body, `"owner/link"`.
    pub fn new(body: impl Into<String>, point: [f64; 3]) -> Self {
        Self { body: body.into(), point }
    }

    /// Its frame.
    ///
    /// # Errors
    /// If there is no such body, or a number is not finite.
    pub(super) fn frame(&self, tree: &Tree) -> Result<FrameSpec> {
        if self.point.iter().any(|x| !x.is_finite()) {
            return Err(Error::invalid(format!("point of \"{}\"", self.body), "expected finite numbers"));
        }
        Ok(FrameSpec { xyz: self.point, ..FrameSpec::of_body(tree.find(&self.body)?) })
    }
}

/// How much larger a hand is than what it follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// By this factor.
    Given(f64),
    /// As far as the hand reaches there, over the length along the keypoints' bones.
    Auto,
}

/// Two fingertips that draw together as the human's do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pinch {
    /// Up to this distance of the keypoints, m, they are closed.
    pub near: f64,
    /// From this distance on, m, the target has no weight.
    pub far: f64,
    /// The distance of the hand's points when they are closed, m.
    pub touch: f64,
}

/// Something to follow: a point of the hand, or the vector from one to another, is to be that of two keypoints.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// What messages and tables call it.
    pub name: String,
    /// Where the vector begins; without, the target is a position.
    pub from: Option<Place>,
    /// The point that is to be somewhere, or where the vector ends.
    pub to: Place,
    /// The keypoints that say where: the vector's beginning and end; of a position, the origin if there is one.
    pub keypoints: (Option<String>, String),
    /// How much longer the vector is than that of the keypoints.
    pub scale: Scale,
    /// How much it counts.
    pub weight: f64,
    /// Draws the two points together, and has no weight where the keypoints are far apart.
    pub pinch: Option<Pinch>,
}

impl Target {
    /// A target that brings a point to a keypoint.
    pub fn position(to: Place, keypoint: impl Into<String>) -> Self {
        let keypoint = keypoint.into();
        Self {
            name: keypoint.clone(),
            from: None,
            to,
            keypoints: (None, keypoint),
            scale: Scale::Given(1.0),
            weight: 1.0,
            pinch: None,
        }
    }

    /// A target that makes the vector from one point to another that of two keypoints.
    pub fn vector(from: Place, to: Place, keypoints: [&str; 2], scale: Scale) -> Self {
        let [a, b] = keypoints.map(str::to_owned);
        let name = format!("{a} → {b}");
        Self { name, from: Some(from), to, keypoints: (Some(a), b), scale, weight: 1.0, pinch: None }
    }

    /// The target with another weight.
    #[must_use]
    pub fn with_weight(self, weight: f64) -> Self {
        Self { weight, ..self }
    }

    /// The target as a pinch.
    #[must_use]
    pub fn with_pinch(self, pinch: Pinch) -> Self {
        Self { pinch: Some(pinch), ..self }
    }

    /// Are its weight, its scale and its pinch in their ranges?
    pub(super) fn check(&self) -> Result<()> {
        let place = |what: &str| format!("target \"{}\": {what}", self.name);
        let positive = |what: &str, value: f64| match value.is_finite() && value > 0.0 {
            true => Ok(()),
            false => Err(Error::invalid(place(what), format!("expected a positive number, got {value}"))),
        };
        positive("weight", self.weight)?;
        if let Scale::Given(scale) = self.scale {
            positive("scale", scale)?;
        }
        if let Some(Pinch { near, far, touch }) = self.pinch {
            if self.from.is_none() {
                return Err(Error::invalid(place("pinch"), "expected two points of the hand, got one"));
            }
            if !(near.is_finite() && far.is_finite() && near >= 0.0 && far > near) {
                let message = format!("expected 0 ≤ near < far in m, got near = {near}, far = {far}");
                return Err(Error::invalid(place("pinch"), message));
            }
            if !(touch.is_finite() && touch >= 0.0) {
                let message = format!("expected a distance in m that is not negative, got {touch}");
                return Err(Error::invalid(place("touch"), message));
            }
        }
        Ok(())
    }
}

/// Which three keypoints and points of the hand are the palm: wrist, the knuckle of the index finger, and that of the
/// last finger. With a palm, where the human's hand is and how it is turned plays no part.
#[derive(Clone, Debug, PartialEq)]
pub struct Palm {
    /// The keypoints' names: wrist, index finger's knuckle, last finger's knuckle.
    pub keypoints: [String; 3],
    /// The points of the hand that are like them, at home.
    pub places: [Place; 3],
}

/// What to follow, and how the numbers of a motion are named.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// The keypoints in the order of a motion's rows.
    pub keypoints: Vec<String>,
    /// The points and vectors of the hand that follow keypoints.
    pub targets: Vec<Target>,
    /// Takes the motion of the palm out.
    pub palm: Option<Palm>,
    /// Mirrors the keypoints: a left hand's for a right one.
    pub mirror: bool,
    /// Commanded joints that stay at home, `"owner/joint"`.
    pub hold: Vec<String>,
}

impl Map {
    /// The place of a keypoint.
    ///
    /// # Errors
    /// If there is none of that name.
    pub(super) fn keypoint(&self, name: &str) -> Result<usize> {
        let known = self.keypoints.iter().map(String::as_str);
        let found = self.keypoints.iter().position(|own| own == name);
        found.ok_or_else(|| Error::invalid("keypoints", unknown("keypoint", name, known)))
    }

    /// The keypoints between two, both included, along the bones of a hand: of one finger, or from the wrist or another
    /// finger's knuckle to one. The two alone where they have other names.
    pub(super) fn bones(&self, from: &str, to: &str) -> Vec<String> {
        let number = |name: &str| KEYPOINTS.iter().position(|own| *own == name);
        let along = |a: usize, b: usize| {
            let root = (b.checked_sub(1)? / 4) * 4 + 1;
            let is_knuckle = a == 0 || a % 4 == 1;
            match (root..=b).contains(&a) {
                true => Some((a..=b).collect::<Vec<_>>()),
                false if is_knuckle => Some(std::iter::once(a).chain(root..=b).collect()),
                false => None,
            }
        };
        let bones = number(from).zip(number(to)).and_then(|(a, b)| along(a, b)).unwrap_or_default();
        let bones: Vec<String> = bones.into_iter().map(|k| KEYPOINTS[k].to_owned()).collect();
        let is_known = !bones.is_empty() && bones.iter().all(|name| self.keypoints.contains(name));
        if is_known { bones } else { vec![from.to_owned(), to.to_owned()] }
    }
}

/// The axes of a palm as columns: from the wrist forward, from the last finger to the index finger, and their normal.
/// None where the three points are on a line.
pub(super) fn axes([wrist, index, last]: [Vector3<f64>; 3]) -> Option<Matrix3<f64>> {
    let forward = ((index + last) / 2.0 - wrist).try_normalize(f64::MIN_POSITIVE)?;
    let side = index - last;
    let across = (side - forward * forward.dot(&side)).try_normalize(1e-6 * side.norm())?;
    Some(Matrix3::from_columns(&[forward, across, forward.cross(&across)]))
}
