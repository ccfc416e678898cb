//! The channels of a recording's file, and the messages of our own ones.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::mcap::{Channel, Schema};
use super::recording::or_nan;
use super::schema;

pub const SCENE: usize = 0;
pub const Q: usize = 1;
pub const U: usize = 2;
pub const CONTACTS: usize = 3;
pub const FORCES: usize = 4;
pub const STATUS: usize = 5;
pub const SCALARS: usize = 6;
pub const TF_STATIC: usize = 7;
pub const TF: usize = 8;
pub const SHAPES: usize = 9;
pub const MARKERS: usize = 10;
pub const PLAN: usize = 11;
pub const TAXELS: usize = 12;

/// All channels, each at its place.
pub fn channels() -> Vec<Channel> {
    let foxglove = Schema::Protobuf(schema::descriptors());
    let ours = |topic, name, text| Channel { topic, name, schema: Schema::Json(text) };
    let theirs = |topic, name| Channel { topic, name, schema: foxglove.clone() };
    vec![
        ours("/scene", "fingertip.Scene", include_str!("schemas/scene.json")),
        ours("/q", "fingertip.Configuration", include_str!("schemas/configuration.json")),
        ours("/u", "fingertip.Command", include_str!("schemas/command.json")),
        ours("/contacts", "fingertip.Contacts", include_str!("schemas/contacts.json")),
        ours("/forces", "fingertip.Forces", include_str!("schemas/forces.json")),
        ours("/status", "fingertip.Status", include_str!("schemas/status.json")),
        ours("/scalars", "fingertip.Scalars", include_str!("schemas/scalars.json")),
        theirs("/tf_static", "foxglove.FrameTransforms"),
        theirs("/tf", "foxglove.FrameTransforms"),
        theirs("/shapes", "foxglove.SceneUpdate"),
        theirs("/contact_markers", "foxglove.SceneUpdate"),
        ours("/plan", "fingertip.Plan", include_str!("schemas/plan.json")),
        ours("/taxels", "fingertip.Taxels", include_str!("schemas/taxels.json")),
    ]
}

/// Message on `/q`: the configuration.
#[derive(Debug, Serialize, Deserialize)]
pub struct QMessage {
    pub q: Vec<f64>,
}

/// Message on `/u`: the command.
#[derive(Debug, Serialize, Deserialize)]
pub struct UMessage {
    pub u: Vec<f64>,
}

/// Message on `/contacts`: the contacts' geometry at the step's start.
#[derive(Debug, Serialize, Deserialize)]
pub struct ContactsMessage {
    pub phi: Vec<f64>,
    pub normal: Vec<[f64; 3]>,
    pub point: Vec<[f64; 3]>,
}

/// Message on `/forces`: the contacts' forces.
#[derive(Debug, Serialize, Deserialize)]
pub struct ForcesMessage {
    pub force: Vec<[f64; 3]>,
}

/// Message on `/taxels`: the taxels that feel something, and the normal force on each.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct TaxelsMessage {
    pub taxel: Vec<usize>,
    pub force: Vec<f64>,
}

/// Message on `/status`: the report of the solve, the last message of a step.
#[derive(Debug, Serialize, Deserialize)]
pub struct StatusMessage {
    pub time: f64,
    pub status: String,
    pub iterations: usize,
    #[serde(deserialize_with = "or_nan")]
    pub residual: f64,
    pub seconds: f64,
}

/// Message on `/scalars`: numbers by name.
pub type ScalarsMessage = BTreeMap<String, f64>;
