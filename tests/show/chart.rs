//! Charts are SVG with everything named, whatever the numbers; and PNG.

use fingertip::show::{Chart, Panel};

#[test]
fn a_chart_of_difficult_numbers() {
    let folder = std::env::temp_dir().join(format!("fingertip-chart-{}", std::process::id()));
    let path = folder.join("deep").join("chart.svg");
    let points = [(0.0, 1.0), (1.0, f64::NAN), (2.0, 0.0), (3.0, 1e-3)];
    let upper = Panel::new("upper", 200.0).from_zero().line("one", points).level("limit", 0.5);
    let lower = Panel::new("lower", 200.0).logarithmic().line("two", points).dashed("three", points);
    let empty = Panel::new("empty", 100.0).line("nothing", []);
    Chart::new("title", "x").panel(upper).panel(lower).panel(empty).write(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
    for name in ["title", "upper", "lower", "one", "two", "three", "limit"] {
        assert!(text.contains(&format!(">{name}</text>")), "{name} is not in the chart");
    }
    assert!(!text.contains("NaN") && !text.contains("inf"));
    let png = folder.join("chart.png");
    let outcome = Chart::new("title", "x").panel(Panel::new("y", 100.0).line("one", points)).write(&png);
    if cfg!(feature = "png") {
        outcome.unwrap();
        assert!(std::fs::read(&png).unwrap().starts_with(b"\x89PNG\r\n"));
    } else {
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("chart.png") && error.contains("feature `png`"), "{error}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
    // A folder cannot be a file.
    assert!(Chart::new("title", "x").write(std::env::temp_dir()).is_err());
}
