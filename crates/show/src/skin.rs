//! What taxels feel during recorded steps.

use candle_core::Result;

use super::contacts::{ContactRecord, StepContacts};
use super::observe::isometry;
use super::recording::{PadRecord, TaxelRecord};
use fingertip_step::model::Model;
use fingertip_step::parameters::Parameters;
use fingertip_step::touch::{Taxels, Touching};

/// The taxels of a scene's pads.
#[derive(Debug)]
pub(super) struct Skin(Taxels);

impl Skin {
    pub(super) fn new(model: &Model, parameters: &Parameters) -> Result<Self> {
        Ok(Self(Taxels::new(model, parameters, &[])?))
    }

    /// What contacts press, given the poses of all bodies at the step's start.
    pub(super) fn felt(&self, poses: &[[f64; 7]], contacts: &StepContacts) -> Vec<TaxelRecord> {
        let touching = |&ContactRecord { contact, phi, normal, point, force }: &ContactRecord| {
            let on_a = std::array::from_fn(|k| point[k] - phi * normal[k]);
            Touching { contact, normal, points: [on_a, point], force }
        };
        let contacts: Vec<Touching> = contacts.iter().map(touching).collect();
        let pressed = self.0.pressed(|body| isometry(&poses[body]), &contacts);
        pressed.into_iter().map(|(taxel, force)| TaxelRecord { taxel, force }).collect()
    }
}

/// The pads of a model, as a recording describes them.
pub(super) fn pads(model: &Model) -> Result<Vec<PadRecord>> {
    let pad = |pad: &fingertip_scene::Taxels| {
        Ok(PadRecord {
            name: pad.name.clone(),
            body: model.tree.find(&pad.link)?,
            points: pad.points.clone(),
            normals: pad.normals.clone(),
            reach: pad.reach,
        })
    };
    model.taxels.iter().map(pad).collect()
}
