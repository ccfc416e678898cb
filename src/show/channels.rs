//! The channels of a recording's file, and the messages of our own ones.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::mcap::Channel;

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

/// All channels, each at its place.
pub const CHANNELS: [Channel; 11] = [
    Channel { topic: "/scene", schema: "fingertip.Scene", definition: include_str!("schemas/scene.json") },
    Channel { topic: "/q", schema: "fingertip.Configuration", definition: include_str!("schemas/configuration.json") },
    Channel { topic: "/u", schema: "fingertip.Command", definition: include_str!("schemas/command.json") },
    Channel { topic: "/contacts", schema: "fingertip.Contacts", definition: include_str!("schemas/contacts.json") },
    Channel { topic: "/forces", schema: "fingertip.Forces", definition: include_str!("schemas/forces.json") },
    Channel { topic: "/status", schema: "fingertip.Status", definition: include_str!("schemas/status.json") },
    Channel { topic: "/scalars", schema: "fingertip.Scalars", definition: include_str!("schemas/scalars.json") },
    Channel {
        topic: "/tf_static",
        schema: "foxglove.FrameTransforms",
        definition: include_str!("schemas/frame_transforms.json"),
    },
    Channel {
        topic: "/tf",
        schema: "foxglove.FrameTransforms",
        definition: include_str!("schemas/frame_transforms.json"),
    },
    Channel { topic: "/shapes", schema: "foxglove.SceneUpdate", definition: include_str!("schemas/scene_update.json") },
    Channel {
        topic: "/contact_markers",
        schema: "foxglove.SceneUpdate",
        definition: include_str!("schemas/scene_update.json"),
    },
];

/// On `/q`.
#[derive(Debug, Serialize, Deserialize)]
pub struct QMessage {
    pub q: Vec<f64>,
}

/// On `/u`.
#[derive(Debug, Serialize, Deserialize)]
pub struct UMessage {
    pub u: Vec<f64>,
}

/// On `/contacts`: at the step's start.
#[derive(Debug, Serialize, Deserialize)]
pub struct ContactsMessage {
    pub phi: Vec<f64>,
    pub normal: Vec<[f64; 3]>,
    pub point: Vec<[f64; 3]>,
}

/// On `/forces`.
#[derive(Debug, Serialize, Deserialize)]
pub struct ForcesMessage {
    pub force: Vec<[f64; 3]>,
}

/// On `/status`: the last message of a step.
#[derive(Debug, Serialize, Deserialize)]
pub struct StatusMessage {
    pub time: f64,
    pub status: String,
    pub iterations: usize,
    /// None stands for a residual that is not finite, for which JSON has no number.
    pub residual: Option<f64>,
    pub seconds: f64,
}

/// On `/scalars`.
pub type ScalarsMessage = BTreeMap<String, f64>;
