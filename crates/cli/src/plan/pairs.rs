//! Episodes of a task as pairs of a start at rest and a goal: their ways by the roadmap, and runs.

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use fingertip::mpc::plant::{Options, Plant};
use fingertip::mpc::roadmap::{Guide, Hop, Passage, Roadmap};
use fingertip::mpc::task::{Episode, Errors, Progress};
use fingertip::mpc::{Supervisor, Task};
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;

use super::Args;
use crate::table::table;

/// Time for which the joints are held before an episode, so that the object comes to rest, s.
const REST: Duration = Duration::from_secs(1);
/// Episodes that run side by side, with the roadmap as it was before them.
const ROUND: usize = 8;

/// A way to run an episode: plainly, or along a roadmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Way {
    /// By the planner, without supervisor and roadmap.
    Plain,
    /// Under the supervisor.
    Supervised,
    /// By the roadmap.
    Roadmap,
}

impl Way {
    pub const ALL: [Self; 3] = [Self::Plain, Self::Supervised, Self::Roadmap];

    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Supervised => "supervised",
            Self::Roadmap => "roadmap",
        }
    }
}

/// The outcomes of a pair of states.
pub struct Row {
    pub episode: usize,
    /// Errors at the start.
    pub start: Errors,
    /// In the order that was asked for.
    pub ways: Vec<Run>,
}

/// The outcome of a pair in one way.
pub struct Run {
    /// Time after which it succeeded, s; none if it did not.
    pub success: Option<f64>,
    /// Errors at the end.
    pub end: Errors,
    /// Times of queries, s.
    pub queries: Vec<f64>,
    passages: Vec<Passage>,
}

/// The plant of an episode at rest, and the episode that begins there.
fn rested(task: &Task, seed: u64, number: usize) -> candle_core::Result<(Plant, Episode)> {
    let mut episode = task.episode(seed, number)?;
    let mut plant = Plant::new(task, &Options::default(), seed, &episode)?;
    let mut seconds = 0.0;
    while seconds < REST.as_secs_f64() {
        plant.advance(&episode.start.u)?;
        seconds += task.period();
    }
    task.begin_at(&mut episode, plant.q.clone())?;
    Ok((plant, episode))
}

/// A table of the ways of episodes.
pub fn queries(task: &Task, roadmap: &Roadmap, seed: u64, episodes: Range<usize>) -> candle_core::Result<String> {
    let mut table = table(&["episode", "way", "expected s", "query ms"], 2);
    for number in episodes {
        let (_, episode) = rested(task, seed, number)?;
        let query = roadmap.query(task, &episode.start.q, &episode.goal)?;
        let hop = |hop: &Hop| match hop {
            Hop::Node(node) => node.to_string(),
            Hop::Goal => "goal".to_owned(),
        };
        let (way, cost) = query.path.map_or(("none".to_owned(), "–".to_owned()), |path| {
            (path.hops.iter().map(hop).collect::<Vec<_>>().join(" → "), format!("{:.1}", path.cost))
        });
        table.add_row([number.to_string(), way, cost, format!("{:.0}", 1e3 * query.seconds)]);
    }
    Ok(table.to_string())
}

/// Runs episodes in all ways that are asked for, and counts in the roadmap and its file what happened.
pub fn run(
    task: &Task,
    roadmap: &mut Roadmap,
    path: &Path,
    args: &Args,
    episodes: Range<usize>,
) -> Result<Vec<Row>, Box<dyn std::error::Error>> {
    let bar = ProgressBar::new(episodes.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("episodes {bar:20} {pos}/{len} {elapsed}") {
        bar.set_style(style);
    }
    let (mut rows, all): (Vec<Row>, Vec<usize>) = (Vec::new(), episodes.collect());
    for round in all.chunks(ROUND) {
        let now = &*roadmap;
        let done: Vec<Row> = round
            .par_iter()
            .map(|&number| {
                let row = pair(task, now, args, number);
                bar.inc(1);
                row
            })
            .collect::<candle_core::Result<_>>()?;
        for run in done.iter().flat_map(|row| &row.ways) {
            roadmap.note(&run.passages);
        }
        roadmap.save(path)?;
        rows.extend(done);
    }
    bar.finish_and_clear();
    Ok(rows)
}

fn pair(task: &Task, roadmap: &Roadmap, args: &Args, number: usize) -> candle_core::Result<Row> {
    let (plant, episode) = rested(task, args.seed, number)?;
    let start = task.errors(&episode.goal, &plant.q)?;
    let ways = args.ways.iter().map(|way| one(task, roadmap, *way, plant.clone(), &episode));
    Ok(Row { episode: number, start, ways: ways.collect::<candle_core::Result<_>>()? })
}

fn one(task: &Task, roadmap: &Roadmap, way: Way, mut plant: Plant, episode: &Episode) -> candle_core::Result<Run> {
    let mut plain = task.clone();
    plain.supervision = None;
    let mut supervisor = match way {
        Way::Plain => Supervisor::new(&plain, episode),
        Way::Supervised => Supervisor::new(task, episode),
        Way::Roadmap => Ok(Supervisor::new(task, episode)?.with_guide(Guide::new(roadmap.clone()))),
    }?;
    let mut progress = Progress::default();
    let mut end = task.errors(&episode.goal, &plant.q)?;
    while progress.success.is_none() && !task.is_over(&progress) {
        let answer = supervisor.answer(&plant.measure()?, None)?;
        plant.advance(&answer.u)?;
        end = task.errors(&episode.goal, &plant.q)?;
        task.count(&mut progress, &end);
    }
    let (queries, passages) =
        supervisor.guide().map_or_else(Default::default, |guide| (guide.queries().to_vec(), guide.passages().to_vec()));
    Ok(Run { success: progress.success.map(|period| period as f64 * task.period()), end, queries, passages })
}
