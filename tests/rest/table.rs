//! What does not rest, by support, family and cell.

use std::collections::BTreeMap;
use std::fmt::Write;

use fingertip::description::Friction;
use fingertip::solve::Status;

use super::drop::{EPSILONS, FAMILIES, STEPS, SUPPORTS, World, folder};
use super::run::{End, Outcome};

/// So many of what is wrong are written down whole.
const WORST: usize = 3;
/// Lines of the table by support, family and cell.
const LINES: usize = 100;

/// A world and what came of it.
pub struct Row {
    /// Of the scene, and the world's place in it.
    pub number: usize,
    pub place: usize,
    pub support: usize,
    pub family: usize,
    pub law: Friction,
    pub world: World,
    pub outcome: Outcome,
}

/// How many of some worlds do what.
#[derive(Clone, Copy, Default)]
struct Count {
    all: usize,
    rolls: usize,
    alternates: usize,
    moves: usize,
    falls: usize,
    deep: usize,
    gains: usize,
    unsolved: usize,
    wrong: usize,
}

impl Count {
    fn add(&mut self, outcome: &Outcome) {
        self.all += 1;
        self.rolls += usize::from(outcome.end == End::Rolls);
        self.alternates += usize::from(outcome.end == End::Alternates);
        self.moves += usize::from(outcome.end == End::Moves);
        self.falls += usize::from(outcome.end == End::Falls);
        self.deep += usize::from(outcome.is_deep());
        self.gains += usize::from(outcome.gains_energy());
        self.unsolved += usize::from(outcome.unsolved > 0);
        self.wrong += usize::from(!outcome.is_right());
    }

    fn words(&self) -> String {
        let Self { all, rolls, alternates, moves, falls, deep, gains, unsolved, wrong } = *self;
        let of = [
            (rolls, "roll slowly downhill"),
            (alternates, "alternate"),
            (moves, "move"),
            (falls, "fall off or through"),
            (deep, "are deep"),
            (gains, "gain energy"),
            (unsolved, "have unsolved steps"),
        ];
        let of: Vec<String> = of.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        format!("{wrong} of {all} not right: {}", if of.is_empty() { "all rest".to_owned() } else { of.join(", ") })
    }
}

fn counts<K: Ord>(rows: &[Row], key: impl Fn(&Row) -> K) -> BTreeMap<K, Count> {
    let mut counts: BTreeMap<K, Count> = BTreeMap::new();
    rows.iter().for_each(|row| counts.entry(key(row)).or_default().add(&row.outcome));
    counts
}

fn place(of: &[f64], value: f64) -> usize {
    of.iter().position(|x| *x == value).unwrap()
}

fn cell(row: &Row) -> (usize, usize) {
    (place(&EPSILONS, row.world.epsilon), place(&STEPS, row.world.h))
}

/// Wrong and all of support by family and of ε by h; then all counts of what is wrong.
pub fn summary(rows: &[Row]) -> String {
    let mut text = format!("{}\n", counts(rows, |_| ())[&()].words());
    if let Some(count) = counts(rows, |row| row.outcome.is_violent()).get(&true) {
        let _ = writeln!(text, "those that fall by more than their size in a step: {}", count.words());
    }
    for law in Friction::ALL {
        if let Some(count) = counts(rows, |row| row.law.name()).get(law.name()) {
            let _ = writeln!(text, "{}: {}", law.name(), count.words());
        }
    }
    let shown = |count: Option<&Count>| count.map_or("-".to_owned(), |count| format!("{}/{}", count.wrong, count.all));
    let of = counts(rows, |row| (row.support, row.family));
    let _ = write!(text, "\nnot right, of all  ");
    FAMILIES.iter().for_each(|family| {
        let _ = write!(text, " {family:>11}");
    });
    for (s, support) in SUPPORTS.iter().enumerate() {
        let _ = write!(text, "\n{support:<19}");
        (0..FAMILIES.len()).for_each(|f| {
            let _ = write!(text, " {:>11}", shown(of.get(&(s, f))));
        });
    }
    let of = counts(rows, cell);
    let _ = write!(text, "\n\nnot right, of all  ");
    STEPS.iter().for_each(|h| {
        let _ = write!(text, " {:>11}", format!("h {h}"));
    });
    for (e, epsilon) in EPSILONS.iter().enumerate() {
        let _ = write!(text, "\nε {epsilon:<17}");
        (0..STEPS.len()).for_each(|h| {
            let _ = write!(text, " {:>11}", shown(of.get(&(e, h))));
        });
    }
    text.push_str("\n\n");
    let of = counts(rows, |row| (row.support, row.family, cell(row)));
    let some = of.iter().filter(|(_, count)| count.wrong > 0);
    for ((support, family, (e, h)), count) in some.clone().take(LINES) {
        let (support, family) = (SUPPORTS[*support], FAMILIES[*family]);
        let _ = writeln!(text, "{family} on {support}, ε {}, h {}: {}", EPSILONS[*e], STEPS[*h], count.words());
    }
    if some.clone().count() > LINES {
        let _ = writeln!(text, "and {} more", some.count() - LINES);
    }
    let mean = rows.iter().map(|row| row.outcome.iterations).sum::<f64>() / rows.len() as f64;
    let _ = writeln!(text, "{mean:.2} Newton iterations a step");
    text
}

/// A line for each world that is not right, the worst ones first and with their scene files.
pub fn wrong(rows: &[Row], seed: usize) -> Vec<String> {
    let mut rows: Vec<&Row> = rows.iter().filter(|row| !row.outcome.is_right()).collect();
    let worst = |row: &Row| {
        let Outcome { surface, depth, size, .. } = row.outcome;
        surface.max(depth) / size
    };
    rows.sort_by(|a, b| worst(b).total_cmp(&worst(a)));
    let line = |(rank, row): (usize, &&Row)| {
        let Row { number, place, support, family, law, world: World { text, epsilon, h, kappa, mu }, outcome } = row;
        let Outcome { end, surface, motion, turn, depth, creep, rise, plain_rise, thrown, unit, hover, size, .. } =
            outcome;
        let file = folder().join(format!("seed{seed}_scene{number}_world{place}.toml"));
        std::fs::write(&file, text).unwrap();
        let said = match outcome.status {
            Status::Solved => String::new(),
            status => format!(", {} steps {}", outcome.unsolved, status.name()),
        };
        let mut line = format!(
            "FINGERTIP_SEED={seed} FINGERTIP_SCENE={number}, world {place}: {} on {}, {}, ε {epsilon}, h {h}, κ {kappa:.1e}, μ {mu:.2}: \
             {end:?}, {motion:.1e} m and {turn:.1e} rad a step, surface {surface:.1e} m (creep {creep:.1e}) of {size:.1e}, depth {depth:.1e} \
             (hover {hover:.1e}), energy rises by {:.1e} ({:.1e} more than it may), thrown by {:.1e} m g size{said}: {}",
            FAMILIES[*family],
            SUPPORTS[*support],
            law.name(),
            plain_rise / unit,
            rise / unit,
            thrown / unit,
            file.display()
        );
        if rank < WORST {
            let _ = write!(line, "\n{text}");
        }
        line
    };
    rows.iter().enumerate().map(line).collect()
}
