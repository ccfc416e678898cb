//! A recording as a figure: the contacts' forces over time, and how the objects move.

use std::path::Path;

use kuva::backend::svg::SvgBackend;
use kuva::plot::{LegendPosition, LinePlot};
use kuva::render::annotations::ReferenceLine;
use kuva::render::figure::Figure;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;

use super::recording::{PairRecord, Recording, write};
use crate::error::Result;

/// Contacts in the figure, at most: more lines cannot be told apart.
const MOST_LINES: usize = 10;
/// Contacts whose force stays below this part of the largest are left out.
const LEAST_FORCE: f64 = 0.02;
/// Directions in which an object moves less than this are left out, m.
const LEAST_MOTION: f64 = 1e-3;
/// Sizes in pixels.
const WIDTH: f64 = 900.0;
const HEIGHTS: [f64; 2] = [360.0, 260.0];
const LEGEND: f64 = 210.0;
const LINE: f64 = 2.2;
/// Told apart by everyone, dark enough for thin lines on white (after Okabe and Ito, and Tol).
const COLORS: [&str; 10] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#332288", "#882255", "#44aa99", "#777777"];
const FONT: &str = "DejaVu Sans, Helvetica, Arial, sans-serif";

/// Writes the figure as SVG: above, the size of each contact's force; below, each object's displacement from its start.
///
/// # Errors
/// If the file cannot be written.
pub fn plot(recording: &Recording, path: impl AsRef<Path>) -> Result<()> {
    write(path.as_ref(), &svg(recording))
}

fn svg(recording: &Recording) -> String {
    let end = recording.steps.last().map_or(1.0, |step| step.time);
    let layout = |plots: &[Plot], y: &str| {
        let mut layout = Layout::auto_from_plots(plots);
        layout = layout.with_x_axis_min(0.0).with_x_axis_max(end).with_y_label(y).with_font_family(FONT);
        layout = layout.with_legend_box(false).with_legend_width(LEGEND);
        layout.with_legend_position(LegendPosition::OutsideRightTop)
    };
    let (forces, motion) = (forces(recording), motion(recording));
    let layouts = vec![
        weights(recording, layout(&forces, "contact force (N)").with_y_axis_min(0.0)),
        layout(&motion, "displacement (mm)").with_x_label("time (s)"),
    ];
    let params = &recording.params;
    let title = format!("{}   (h = {} s, κ = {:.0e} 1/J)", recording.scene, params.h, params.kappa);
    let figure = Figure::new(2, 1)
        .with_title(title)
        .with_title_size(18)
        .with_plots(vec![forces, motion])
        .with_layouts(layouts)
        .with_cell_size(WIDTH, HEIGHTS[0])
        .with_row_height(1, HEIGHTS[1]);
    SvgBackend::new().render_scene(&figure.render())
}

/// A dashed line at each object's weight: what its contacts have to carry.
fn weights(recording: &Recording, mut layout: Layout) -> Layout {
    for object in recording.objects.iter().filter(|object| size(&object.load) > 0.0) {
        let line = ReferenceLine::horizontal(size(&object.load)).with_color("#888888");
        layout = layout.with_reference_line(line.with_label(format!("weight of {}", object.name)));
    }
    layout
}

/// A line for each contact that matters, the strongest first.
fn forces(recording: &Recording) -> Vec<Plot> {
    let most = |contact: usize| recording.steps.iter().map(|step| size(&step.force[contact])).fold(0.0, f64::max);
    let mut contacts: Vec<(usize, f64)> = (0..recording.contacts.len()).map(|i| (i, most(i))).collect();
    let largest = contacts.iter().map(|&(_, force)| force).fold(0.0, f64::max);
    contacts.retain(|&(_, force)| force >= LEAST_FORCE * largest);
    contacts.sort_by(|a, b| b.1.total_cmp(&a.1));
    contacts.truncate(MOST_LINES);
    contacts.sort_by_key(|&(contact, _)| contact);
    let line = |(contact, _): (usize, f64)| {
        let points = recording.steps.iter().map(|step| (step.time, size(&step.force[contact]))).collect();
        (pair_name(recording, &recording.contacts[contact]), points)
    };
    lines(contacts.into_iter().map(line))
}

/// A line for each direction in which an object moves.
fn motion(recording: &Recording) -> Vec<Plot> {
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
    lines(if moving.is_empty() { resting } else { moving }.into_iter())
}

fn size(force: &[f64; 3]) -> f64 {
    force.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn lines(series: impl Iterator<Item = (String, Vec<(f64, f64)>)>) -> Vec<Plot> {
    series
        .zip(COLORS.into_iter().cycle())
        .map(|((name, points), color)| {
            LinePlot::new().with_data(points).with_color(color).with_stroke_width(LINE).with_legend(name).into()
        })
        .collect()
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
