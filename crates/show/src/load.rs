//! Reading recordings, complete ones and those that were cut off.

use std::path::Path;

use nalgebra::Isometry3;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::channels::{
    ContactsMessage, ForcesMessage, QMessage, ScalarsMessage, StatusMessage, TaxelsMessage, UMessage,
};
use super::contacts::StepContacts;
use super::foxglove::{read_transforms, relative};
use super::mcap;
use super::observe::isometry;
use super::recording::{Configuration, PlanRecord, Recording, StepRecord, TaxelRecord, VERSION};
use fingertip_shapes::{Error, Result};

/// A recording from a file.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The recording. If the file was cut off, it has the steps that are there.
    pub recording: Recording,
    /// Was the file written to its end?
    pub complete: bool,
}

impl Recording {
    /// Reads a file that [`Recording::write`] or [`super::RecordingWriter`] wrote. [`Loaded::read`] also says whether
    /// it was cut off.
    ///
    /// # Errors
    /// If it cannot be read, is not a recording of this version, is damaged, or its lists do not fit together.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Loaded::read(path)?.recording)
    }
}

impl Loaded {
    /// Reads a file. If it was cut off, for example in the middle of a write, it gives the steps of the complete
    /// chunks.
    ///
    /// # Errors
    /// As [`Recording::read`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| Error::file(path, source))?;
        let wrong = |message: String| Error::Syntax { path: path.to_owned(), message };
        let mut reader = Reader::default();
        let log = mcap::read(&bytes, |topic, _, data| reader.take(topic, data)).map_err(wrong)?;
        let Some(mut recording) = reader.scene else {
            let topics: Vec<String> = log.topics().iter().map(|topic| format!("\"{}\"", topic.name)).collect();
            let found = if topics.is_empty() { "none".to_owned() } else { topics.join(", ") };
            let expected = "expected a recording of fingertip, with a message on channel \"/scene\"";
            return Err(wrong(format!("{expected}; the channels are: {found}")));
        };
        recording.steps = reader.steps;
        recording.validate().map_err(|error| error.within(path.display()))?;
        Ok(Self { recording, complete: log.complete })
    }
}

/// State of reading a recording: the scene, the finished steps, and the parts of the step that is being read.
#[derive(Default)]
struct Reader {
    scene: Option<Recording>,
    steps: Vec<StepRecord>,
    /// The pose of each body in its parent's frame, as last read.
    relative: Vec<Isometry3<f64>>,
    /// q of the step whose status is still to come; the fields that follow are of that step too.
    q: Vec<f64>,
    u: Vec<f64>,
    contacts: Option<ContactsMessage>,
    forces: Option<ForcesMessage>,
    taxels: TaxelsMessage,
    scalars: ScalarsMessage,
    plan: Option<PlanRecord>,
}

/// The version alone, for files of another one.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

impl Reader {
    fn take(&mut self, topic: &mcap::Topic, data: &[u8]) -> std::result::Result<(), String> {
        match topic.name.as_str() {
            "/tf" if topic.encoding == "protobuf" => return self.place(data),
            _ if topic.encoding != "json" => return Ok(()),
            "/scene" if topic.schema == "fingertip.Scene" => {
                let Version { version } = parse(topic, data)?;
                if version != VERSION {
                    return Err(format!("expected version {VERSION} of the format, got {version}"));
                }
                let scene: Recording = parse(topic, data)?;
                scene.validate().map_err(|error| format!("{}: {error}", topic.name))?;
                self.relative = relative(&scene, &scene.start);
                self.scene = Some(scene);
            }
            "/q" => self.q = parse::<QMessage>(topic, data)?.q,
            "/u" => self.u = parse::<UMessage>(topic, data)?.u,
            "/contacts" => self.contacts = Some(parse(topic, data)?),
            "/forces" => self.forces = Some(parse(topic, data)?),
            "/taxels" => self.taxels = parse(topic, data)?,
            "/scalars" => self.scalars = parse(topic, data)?,
            "/plan" => self.plan = Some(parse(topic, data)?),
            "/status" => self.finish(parse(topic, data)?)?,
            _ => {}
        }
        Ok(())
    }

    fn place(&mut self, message: &[u8]) -> std::result::Result<(), String> {
        let Some(scene) = &self.scene else { return Ok(()) };
        let transforms = read_transforms(message).ok_or("channel \"/tf\": expected foxglove.FrameTransforms")?;
        for (name, transform) in transforms {
            if let Some(body) = scene.bodies.iter().skip(1).position(|body| body.name == name) {
                self.relative[body] = transform;
            }
        }
        Ok(())
    }

    /// A step is whole with its status.
    fn finish(&mut self, status: StatusMessage) -> std::result::Result<(), String> {
        let n = self.steps.len() + 1;
        let missing = |channel: &str| format!("step {n}: expected a message on channel \"{channel}\"");
        let scene = self.scene.as_ref().ok_or_else(|| missing("/scene"))?;
        let contacts = self.contacts.take().ok_or_else(|| missing("/contacts"))?;
        let forces = self.forces.take().ok_or_else(|| missing("/forces"))?;
        let nc = contacts.phi.len();
        for (name, list) in [("normal", &contacts.normal), ("point", &contacts.point), ("force", &forces.force)] {
            if list.len() != nc {
                return Err(format!("step {n}: {name}: expected {nc} entries, got {}", list.len()));
            }
        }
        let TaxelsMessage { taxel, force } = std::mem::take(&mut self.taxels);
        if force.len() != taxel.len() {
            return Err(format!("step {n}: force of taxels: expected {} entries, got {}", taxel.len(), force.len()));
        }
        let mut poses = vec![scene.start.poses[0]];
        for (body, relative) in scene.bodies.iter().skip(1).zip(&self.relative) {
            let Isometry3 { rotation: r, translation: t } = isometry(&poses[body.parent]) * relative;
            poses.push([t.x, t.y, t.z, r.w, r.i, r.j, r.k]);
        }
        self.steps.push(StepRecord {
            time: status.time,
            u: std::mem::take(&mut self.u),
            end: Configuration { q: std::mem::take(&mut self.q), poses },
            contacts: StepContacts::of_all(
                nc,
                |_| f64::INFINITY,
                |i| contacts.phi[i],
                |i| [contacts.normal[i], contacts.point[i], forces.force[i]],
            )
            .0,
            pressed: taxel.into_iter().zip(force).map(|(taxel, force)| TaxelRecord { taxel, force }).collect(),
            status: status.status,
            iterations: status.iterations,
            residual: status.residual,
            seconds: status.seconds,
            scalars: std::mem::take(&mut self.scalars),
            plan: self.plan.take(),
        });
        Ok(())
    }
}

fn parse<T: DeserializeOwned>(topic: &mcap::Topic, data: &[u8]) -> std::result::Result<T, String> {
    serde_json::from_slice(data).map_err(|error| format!("channel \"{}\": {error}", topic.name))
}
