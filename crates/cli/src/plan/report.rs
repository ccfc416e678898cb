//! Tables of roadmaps and of runs by them.

use fingertip::math::largest::largest;
use fingertip::mpc::roadmap::Roadmap;

use super::pairs::{Row, Run, Way};
use crate::table::table;

/// A summary of a roadmap.
pub fn roadmap(roadmap: &Roadmap) -> String {
    let n = roadmap.nodes().len();
    let edges: Vec<_> = roadmap.edges().map(|(_, edge)| *edge).collect();
    let sum = |of: fn(&fingertip::mpc::roadmap::Edge) -> usize| edges.iter().map(of).sum::<usize>();
    let (tries, successes) = (sum(|edge| edge.tries), sum(|edge| edge.successes));
    let usable = edges.iter().filter(|edge| edge.successes > 0).count();
    let seconds = edges.iter().map(|edge| edge.seconds).sum::<f64>() / successes.max(1) as f64;
    // Each node reaches itself.
    let linked = roadmap.reachable().iter().flatten().filter(|is| **is).count() - n;
    let mut table =
        table(&["nodes", "edges", "usable", "tries", "successes", "s for an edge", "pairs of nodes with a way"], 0);
    table.add_row([
        n.to_string(),
        edges.len().to_string(),
        usable.to_string(),
        tries.to_string(),
        successes.to_string(),
        format!("{seconds:.1}"),
        format!("{linked} of {}", n * n.saturating_sub(1)),
    ]);
    table.to_string()
}

/// All pairs, and a summary of each way.
pub fn runs(rows: &[Row], ways: &[Way]) -> String {
    let mut header = vec!["episode".to_owned(), "start rad".to_owned()];
    header.extend(ways.iter().map(|way| format!("{} s", way.name())));
    let mut each = table(&header.iter().map(String::as_str).collect::<Vec<_>>(), 0);
    let number = |x: Option<f64>, digits: usize| x.map_or("–".to_owned(), |x| format!("{x:.digits$}"));
    for row in rows {
        let mut cells = vec![row.episode.to_string(), number(row.start.rotation, 2)];
        cells.extend(row.ways.iter().map(|run| number(run.success, 1)));
        each.add_row(cells);
    }
    let mut all = table(
        &[
            "way",
            "successes",
            "s, median",
            "s, 90 %",
            "mm at the end",
            "rad at the end",
            "queries",
            "query s, median",
            "worst",
        ],
        1,
    );
    for (k, way) in ways.iter().enumerate() {
        let runs: Vec<&Run> = rows.iter().map(|row| &row.ways[k]).collect();
        let times: Vec<f64> = runs.iter().filter_map(|run| run.success).collect();
        let mean = |all: Vec<f64>| (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64);
        let queries: Vec<f64> = runs.iter().flat_map(|run| run.queries.iter().copied()).collect();
        all.add_row([
            way.name().to_owned(),
            format!("{} of {}", times.len(), runs.len()),
            number(quantile(&times, 0.5), 1),
            number(quantile(&times, 0.9), 1),
            number(mean(runs.iter().filter_map(|run| Some(1e3 * run.end.position?)).collect()), 1),
            number(mean(runs.iter().filter_map(|run| run.end.rotation).collect()), 3),
            queries.len().to_string(),
            number(quantile(&queries, 0.5), 2),
            number((!queries.is_empty()).then(|| largest(queries)), 2),
        ]);
    }
    format!("{each}\n{all}")
}

/// The smallest number that is at least as large as this share of them; none of nothing.
fn quantile(numbers: &[f64], share: f64) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the length")]
    let place = ((share * sorted.len() as f64).ceil() as usize).saturating_sub(1);
    sorted.get(place).copied()
}
