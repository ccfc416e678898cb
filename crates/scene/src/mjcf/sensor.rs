//! `touch` sensors: pads of taxels that fill their sites.

use std::collections::HashMap;

use nalgebra::{Point3, Vector3};

use super::body::Site;
use super::document::Document;
use super::{Mjcf, Names};
use crate::Taxels;
use fingertip_shapes::{Error, Result, unknown};

/// Up to this part of its reach a taxel feels a contact in full, whatever the contact's normal: (1 − d²/r²)³ is 1/64.
const FULL: f64 = 0.866_025_403_784_438_6;
/// Cells along the axis of a round site, and along each side of another, at most.
const MOST_CELLS: [f64; 2] = [32.0, 4.0];

/// A `touch` sensor and its site.
pub(super) struct TouchSensor {
    name: String,
    site: String,
}

/// The `touch` sensors of a file, and a note on its `tactile` ones.
pub(super) fn touch(document: &Document) -> Result<(Vec<TouchSensor>, Option<String>)> {
    let (mut sensors, mut tactile) = (Vec::new(), Vec::new());
    for node in document.sections("sensor").flat_map(|section| section.children().collect::<Vec<_>>()) {
        match node.tag() {
            "touch" => {
                let site = node.required("site")?.to_owned();
                sensors.push(TouchSensor { name: node.own("name").unwrap_or(&site).to_owned(), site });
            }
            "tactile" => tactile.push(node.named("name").or(node.named("geom")).unwrap_or("without a name")),
            _ => {}
        }
    }
    let note = (!tactile.is_empty()).then(|| format!("tactile sensors left out: {}", tactile.join(", ")));
    Ok((sensors, note))
}

impl Mjcf<'_> {
    /// Are the sites of `touch` sensors there?
    pub(super) fn check_sensors(&self) -> Result<()> {
        for TouchSensor { name, site } in &self.sensors {
            if self.find_site(site).is_none() {
                let known = self.tree.bodies.iter().flat_map(|body| &body.sites).map(|site| site.name.as_str());
                return Err(Error::invalid(format!("touch \"{name}\""), unknown("site", site, known)));
            }
        }
        Ok(())
    }

    /// The pads of `touch` sensors on bodies that are `called` so, and a note on the others.
    pub(super) fn pads(&self, called: &HashMap<usize, String>) -> (Vec<Taxels>, Option<String>) {
        let (mut pads, mut others, mut names) = (Vec::new(), Vec::new(), Names::default());
        for TouchSensor { name, site } in &self.sensors {
            match self.find_site(site).and_then(|(body, site)| Some((called.get(&body)?, site))) {
                Some((link, site)) => pads.push(site.pad(names.unique(name), link.clone())),
                None => others.push(name.as_str()),
            }
        }
        let note = (!others.is_empty()).then(|| format!("touch sensors left out: {}", others.join(", ")));
        (pads, note)
    }
}

impl Site {
    /// Taxels that feel a contact in full wherever in the site it is, and however it presses: at some places within one
    /// for each direction of three axes.
    fn pad(&self, name: String, link: String) -> Taxels {
        let (places, radius) = self.places();
        let axes = || (0..3).flat_map(|k| [Vector3::ith(k, 1.0), Vector3::ith(k, -1.0)]);
        let points = places.iter().flat_map(|place| [(self.pose * place).coords.into(); 6]).collect();
        let normals = places.iter().flat_map(|_| axes().map(|axis| (self.pose * axis).into())).collect();
        Taxels { name, link, points, normals, reach: radius / FULL }
    }

    /// Places in the site, and the radius of balls around them that cover it, m.
    fn places(&self) -> (Vec<Point3<f64>>, f64) {
        let [x, y, z] = self.size;
        // Round ones have their places along the axis.
        let (half, across) = match self.kind {
            "sphere" => return (vec![Point3::origin()], x),
            "capsule" => ([0.0, 0.0, x + y], x),
            "cylinder" => ([0.0, 0.0, y], x),
            _ => ([x, y, z], 0.0),
        };
        let (thin, most) = if across > 0.0 { (across, MOST_CELLS[0]) } else { (x.min(y).min(z), MOST_CELLS[1]) };
        let cells = half.map(|half| (2.0 * half / thin).ceil().clamp(1.0, most));
        let cell: Vector3<f64> = std::array::from_fn(|k| half[k] / cells[k]).into();
        let along = |k: usize| (0..cells[k] as usize).map(move |i| (2 * i + 1) as f64 * cell[k] - half[k]);
        let mut places = Vec::new();
        for x in along(0) {
            for y in along(1) {
                places.extend(along(2).map(|z| Point3::new(x, y, z)));
            }
        }
        (places, cell.norm().hypot(across))
    }
}
