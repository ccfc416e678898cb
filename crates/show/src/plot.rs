//! A recording as a figure: the contacts' forces over time, and the motion of the objects.

use std::path::Path;

use super::chart::{Chart, Panel};
use super::contacts::ContactRecord;
use super::recording::{PairRecord, Recording};
use fingertip_shapes::Result;
use fingertip_shapes::largest::largest;

/// The most pairs of bodies in the figure, because more lines cannot be told apart.
const MOST_LINES: usize = 10;
/// Pairs whose force stays below this part of the largest are left out.
const LEAST_FORCE: f64 = 0.02;
/// Directions in which an object moves less than this are left out, m.
const LEAST_MOTION: f64 = 1e-3;
/// Heights of the panels, pixels.
const HEIGHTS: [f64; 2] = [360.0, 260.0];

/// A name, and points (time in s, y).
type Series = (String, Vec<(f64, f64)>);

/// Writes the figure as [`Chart::write`] does. The upper panel shows the size of the force between each two bodies,
/// with all their contacts together. The lower panels show each object's displacement from its start.
///
/// # Errors
/// If the file cannot be written.
pub fn plot(recording: &Recording, path: impl AsRef<Path>) -> Result<()> {
    let params = &recording.params;
    let title = format!("{}   (h = {} s, κ = {:.0e} 1/J)", recording.scene, params.h, params.kappa);
    let with =
        |panel: Panel, series: Vec<Series>| series.into_iter().fold(panel, |panel, (name, at)| panel.line(name, at));
    let force = with(Panel::new("contact force (N)", HEIGHTS[0]).from_zero(), forces(recording));
    let motion = with(Panel::new("displacement (mm)", HEIGHTS[1]), motion(recording));
    Chart::new(title, "time (s)").panel(weights(recording, force)).panel(motion).write(path)
}

/// A dashed line at each object's weight: what its contacts have to carry.
fn weights(recording: &Recording, panel: Panel) -> Panel {
    let loaded = recording.objects.iter().filter(|object| size(&object.load) > 0.0);
    loaded.fold(panel, |panel, object| panel.level(format!("weight of {}", object.name), size(&object.load)))
}

/// A line for each two bodies that matter, in the order of their first contacts: the size of the sum of their contacts'
/// forces.
fn forces(recording: &Recording) -> Vec<Series> {
    let mut lines: Vec<(&PairRecord, Vec<[f64; 3]>)> = Vec::new();
    let mut line_of = Vec::new();
    for pair in &recording.contacts {
        let known = lines.iter().position(|(known, _)| (known.a, known.b) == (pair.a, pair.b));
        line_of.push(known.unwrap_or(lines.len()));
        if known.is_none() {
            lines.push((pair, vec![[0.0; 3]; recording.steps.len()]));
        }
    }
    for (k, step) in recording.steps.iter().enumerate() {
        for ContactRecord { contact, force, .. } in &step.contacts {
            let sum = &mut lines[line_of[*contact]].1[k];
            (0..3).for_each(|i| sum[i] += force[i]);
        }
    }
    let most = |forces: &[[f64; 3]]| largest(forces.iter().map(size));
    let mut order: Vec<(usize, f64)> = lines.iter().map(|(_, forces)| most(forces)).enumerate().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    let strongest = order.first().map_or(0.0, |&(_, force)| force);
    order.retain(|&(_, force)| force >= LEAST_FORCE * strongest);
    order.truncate(MOST_LINES);
    order.sort_by_key(|&(line, _)| line);
    let series = |(line, _): (usize, f64)| {
        let (pair, forces) = &lines[line];
        let points = recording.steps.iter().zip(forces).map(|(step, force)| (step.time, size(force))).collect();
        (pair_name(recording, pair), points)
    };
    order.into_iter().map(series).collect()
}

/// A line for each direction in which an object moves.
fn motion(recording: &Recording) -> Vec<Series> {
    let directions = recording.objects.iter().flat_map(|object| (0..3).map(move |k| (object, k)));
    let series = directions.map(|(object, k)| {
        let start = recording.start.poses[object.body][k];
        let at = |pose: &[[f64; 7]]| 1e3 * (pose[object.body][k] - start);
        let mut points = vec![(0.0, at(&recording.start.poses))];
        points.extend(recording.steps.iter().map(|step| (step.time, at(&step.end.poses))));
        (format!("{} {}", object.name, ["x", "y", "z"][k]), points)
    });
    let moves = |points: &[(f64, f64)]| points.iter().any(|p| p.1.abs() > 1e3 * LEAST_MOTION);
    let (moving, resting): (Vec<_>, Vec<_>) = series.partition(|(_, points)| moves(points));
    if moving.is_empty() { resting } else { moving }
}

fn size(force: &[f64; 3]) -> f64 {
    force.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Both sides, each without what all bodies of its thing have in common: "hand/finger_link_" of the finger's tips.
fn pair_name(recording: &Recording, pair: &PairRecord) -> String {
    let side = |body: usize| -> &str {
        let name = recording.bodies[body].name.as_str();
        let sides = recording.contacts.iter().flat_map(|pair| [pair.a, pair.b]);
        let others = sides.map(|body| recording.bodies[body].name.as_str());
        let family = others.filter(|other| *other != name && other.split('/').next() == name.split('/').next());
        let common = |other: &str| name.bytes().zip(other.bytes()).take_while(|(x, y)| x == y).count();
        let cut = family.map(common).min().unwrap_or(0);
        name.get(cut..).filter(|rest| !rest.is_empty()).unwrap_or(name)
    };
    format!("{} on {}", side(pair.a), side(pair.b))
}
