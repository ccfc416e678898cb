//! Line charts as SVG or PNG: panels above each other with a common x axis.

use std::path::Path;

#[cfg(feature = "png")]
use kuva::backend::png::PngBackend;
use kuva::backend::svg::SvgBackend;
use kuva::plot::{LegendPosition, LinePlot};
use kuva::render::annotations::ReferenceLine;
use kuva::render::figure::Figure;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render::render::Scene;

use super::file::write;
use fingertip_shapes::{Error, Result};

/// Sizes in pixels.
const WIDTH: f64 = 900.0;
const LEGEND: f64 = 210.0;
const LINE: f64 = 2.2;
/// Colours that everyone can tell apart and that are dark enough for thin lines on white (after Okabe and Ito, and
/// Tol).
const COLORS: [&str; 10] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#332288", "#882255", "#44aa99", "#777777"];
const FONT: &str = "DejaVu Sans, Helvetica, Arial, sans-serif";

/// A figure of one or more panels with a common x axis.
#[derive(Clone, Debug)]
pub struct Chart {
    title: String,
    x_label: String,
    panels: Vec<Panel>,
    logarithmic: bool,
}

/// A panel: lines in one pair of axes.
#[derive(Clone, Debug)]
pub struct Panel {
    y_label: String,
    height: f64,
    lines: Vec<Line>,
    /// Horizontal reference lines: label and y.
    levels: Vec<(String, f64)>,
    from_zero: bool,
    logarithmic: bool,
}

#[derive(Clone, Debug)]
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
    dashed: bool,
}

impl Chart {
    /// A chart without panels.
    pub fn new(title: impl Into<String>, x_label: impl Into<String>) -> Self {
        Self { title: title.into(), x_label: x_label.into(), panels: Vec::new(), logarithmic: false }
    }

    /// Adds a panel below the others.
    pub fn panel(mut self, panel: Panel) -> Self {
        self.panels.push(panel);
        self
    }

    /// Makes the x axis logarithmic; all x must be positive.
    pub fn logarithmic(mut self) -> Self {
        self.logarithmic = true;
        self
    }

    /// Writes the chart and makes the folders of its path. A path that ends in `.png` gives PNG with twice as many
    /// pixels (feature `png`); any other gives SVG.
    ///
    /// # Errors
    /// If the file cannot be written, or PNG is requested without the feature.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png")) {
            write(path, png(&self.scene()).map_err(|message| Error::invalid(path.display().to_string(), message))?)
        } else {
            write(path, SvgBackend::new().render_scene(&self.scene()))
        }
    }

    fn scene(&self) -> Scene {
        let xs = || self.panels.iter().flat_map(|panel| panel.lines.iter()).flat_map(|line| &line.points).map(|p| p.0);
        let (first, last) = (xs().fold(f64::INFINITY, f64::min), xs().fold(f64::NEG_INFINITY, f64::max));
        let (first, last) = if first < last { (first, last) } else { (0.0, 1.0) };
        let plots: Vec<Vec<Plot>> = self.panels.iter().map(Panel::plots).collect();
        let layout = |(i, panel): (usize, &Panel)| {
            let layout = panel.layout(&plots[i]).with_x_axis_min(first).with_x_axis_max(last);
            let layout = if self.logarithmic { layout.with_log_x() } else { layout };
            if i + 1 == self.panels.len() { layout.with_x_label(&*self.x_label) } else { layout }
        };
        let layouts: Vec<Layout> = self.panels.iter().enumerate().map(layout).collect();
        let heights = self.panels.iter().map(|panel| panel.height);
        let figure = Figure::new(self.panels.len(), 1)
            .with_title(&*self.title)
            .with_title_size(18)
            .with_plots(plots)
            .with_layouts(layouts)
            .with_cell_size(WIDTH, heights.clone().next().unwrap_or(WIDTH));
        let figure = heights.enumerate().fold(figure, |figure, (row, height)| figure.with_row_height(row, height));
        figure.render()
    }
}

#[cfg(feature = "png")]
fn png(scene: &Scene) -> std::result::Result<Vec<u8>, String> {
    PngBackend::new().render_scene(scene)
}

#[cfg(not(feature = "png"))]
fn png(_: &Scene) -> std::result::Result<Vec<u8>, String> {
    Err("expected a name that ends with .svg: PNG is for builds with the feature `png`".to_owned())
}

impl Panel {
    /// An empty panel, `height` in pixels.
    pub fn new(y_label: impl Into<String>, height: f64) -> Self {
        Self {
            y_label: y_label.into(),
            height,
            lines: Vec::new(),
            levels: Vec::new(),
            from_zero: false,
            logarithmic: false,
        }
    }

    /// Starts the y axis at 0.
    pub fn from_zero(mut self) -> Self {
        self.from_zero = true;
        self
    }

    /// Makes the y axis logarithmic. Points that are not positive are left out.
    pub fn logarithmic(mut self) -> Self {
        self.logarithmic = true;
        self
    }

    /// Adds a line through points (x, y). Points that are not finite are left out.
    pub fn line(self, name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.with_line(name.into(), points.into_iter().collect(), false)
    }

    /// Adds a dashed line through points (x, y), for a reference.
    pub fn dashed(self, name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.with_line(name.into(), points.into_iter().collect(), true)
    }

    /// Adds a labelled horizontal line.
    pub fn level(mut self, label: impl Into<String>, y: f64) -> Self {
        self.levels.push((label.into(), y));
        self
    }

    fn with_line(mut self, name: String, points: Vec<(f64, f64)>, dashed: bool) -> Self {
        self.lines.push(Line { name, points, dashed });
        self
    }

    fn plots(&self) -> Vec<Plot> {
        let shown = |p: &(f64, f64)| p.0.is_finite() && p.1.is_finite() && (!self.logarithmic || p.1 > 0.0);
        let plot = |(line, color): (&Line, &str)| {
            let points: Vec<(f64, f64)> = line.points.iter().copied().filter(shown).collect();
            let plot = LinePlot::new().with_data(points).with_color(color).with_stroke_width(LINE);
            let plot = if line.dashed { plot.with_dashed() } else { plot };
            plot.with_legend(&*line.name).into()
        };
        self.lines.iter().zip(COLORS.into_iter().cycle()).map(plot).collect()
    }

    fn layout(&self, plots: &[Plot]) -> Layout {
        let mut layout = Layout::auto_from_plots(plots).with_y_label(&*self.y_label).with_font_family(FONT);
        layout = layout.with_legend_box(false).with_legend_width(LEGEND);
        layout = layout.with_legend_position(LegendPosition::OutsideRightTop);
        if self.from_zero {
            layout = layout.with_y_axis_min(0.0);
        }
        if self.logarithmic {
            layout = layout.with_log_y();
        }
        let level = |layout: Layout, (label, y): &(String, f64)| {
            layout.with_reference_line(ReferenceLine::horizontal(*y).with_color("#888888").with_label(&**label))
        };
        self.levels.iter().fold(layout, level)
    }
}
