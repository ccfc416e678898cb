//! Does what is let go come to rest? Random things of all shapes on all kinds of supports, the scenes of reports that
//! did not, and closed forms.
//!
//! `FINGERTIP_WORLDS=10000` drops so many things, the usual number takes seconds; `FINGERTIP_SEED=1` other ones;
//! `FINGERTIP_SCENE=17` only those of one scene of that seed; `FINGERTIP_IMPRATIO=100` by Coulomb's law with friction
//! so much stiffer; with `FINGERTIP_REPORT=1` what is not right is printed and does not fail.

mod cases;
mod defaults;
mod drop;
mod forms;
mod hang;
mod run;
mod table;

use rayon::prelude::*;

use drop::{Draw, World};
use run::{Outcome, Worlds};
use support::states::Random;
use table::Row;

/// Steps of each world.
const STEPS: usize = 400;
/// Of those where something is then still on its way down.
const LONGER: usize = 4000;
/// What moves is seen in the last steps.
const LAST: usize = 10;
/// Less motion of the surface in a step is none, in sizes: the solver's 1e-8 of the forces moves what they balance by
/// less.
const STILL: f64 = 1e-6;
/// Creep: each contact uses at most this share of its friction cone. What needs more slides, and loses height by it.
const SHARE: f64 = 0.5;
/// What still rolls moves by less than this in a step, in sizes.
const SLOW: f64 = 1e-2;
/// What creeps may be faster, in sizes a step: where κ is small, that is how soft contacts are.
const SOFT: f64 = 0.5;
/// Rise of energy in a step, in m g times the size, over what linearised gaps explain: the solver's 1e-8 of the forces.
const ROUNDING: f64 = 1e-8;
/// What goes somewhere gets at least so much of its path away from where it was; what alternates comes back.
const ALTERNATES: f64 = 0.5;
/// Work against gravity and springs above the start, in m g times the size, besides what contacts push to where they
/// hover.
const THROWN: f64 = 0.02;

/// Everything rests on these, but for ellipsoids that fall by more than their size in a step.
const SURE: [&str; 3] = ["half-space", "box", "standing cylinder"];
/// What is not right yet, of all things, at most: three quarters are in cells that fall by more than their size in a
/// step.
const NOT_YET: f64 = 0.08;
/// The same, of what does not fall so.
const NOT_YET_GENTLE: f64 = 0.04;

/// Things that are dropped if nobody asks for another number.
const WORLDS: usize = 352;
/// Worlds of a scene.
const BATCH: usize = 4;

fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Prints what is not right, and fails unless a report is all that was asked for.
#[track_caller]
fn conclude(wrong: &[String]) {
    wrong.iter().for_each(|line| println!("{line}"));
    assert!(wrong.is_empty() || number("FINGERTIP_REPORT").is_some(), "{} wrong", wrong.len());
}

#[test]
fn things_come_to_rest() {
    let seed = number("FINGERTIP_SEED").unwrap_or(0);
    let n = number("FINGERTIP_WORLDS").unwrap_or(WORLDS).div_ceil(BATCH);
    let scenes = number("FINGERTIP_SCENE").map_or(0..n, |scene| scene..scene + 1);
    let rows: Vec<Row> = scenes
        .into_par_iter()
        .flat_map_iter(|number| {
            let mut random = Random::new((1000 * seed + 7) as u64 * 1_000_003 + number as u64);
            let draw = Draw::new(number, &mut random);
            let worlds: Vec<World> = (0..BATCH).map(|_| draw.world(&mut random)).collect();
            let texts: Vec<&str> = worlds.iter().map(|world| world.text.as_str()).collect();
            let mut outcomes: Vec<Outcome> = Worlds::new(&texts, &drop::folder()).run();
            outcomes.iter_mut().for_each(|outcome| outcome.hover += draw.noise);
            let rows = worlds.into_iter().zip(outcomes).enumerate();
            let number = draw.number;
            let (support, family, law) = (draw.support, draw.family, draw.law);
            rows.map(move |(place, (world, outcome))| Row { number, place, support, family, law, world, outcome })
                .collect::<Vec<_>>()
        })
        .collect();
    println!("{}", table::summary(&rows));
    let wrong: Vec<String> = table::wrong(&rows, seed);
    wrong.iter().for_each(|line| println!("{line}"));
    if number("FINGERTIP_REPORT").is_some() {
        return;
    }
    let is_sure = |row: &&Row| {
        SURE.contains(&drop::SUPPORTS[row.support])
            && !(drop::FAMILIES[row.family] == "ellipsoid" && row.outcome.is_violent())
    };
    let of_these = rows.iter().filter(is_sure).filter(|row| !row.outcome.is_right()).count();
    let of_all = rows.iter().filter(|row| !row.outcome.is_right()).count();
    let gentle = || rows.iter().filter(|row| !row.outcome.is_violent());
    let of_gentle = gentle().filter(|row| !row.outcome.is_right()).count();
    assert!(of_these == 0, "{of_these} on {SURE:?}");
    assert!(of_all as f64 <= NOT_YET * rows.len() as f64, "{of_all} of {}", rows.len());
    let n = gentle().count();
    assert!(
        of_gentle as f64 <= NOT_YET_GENTLE * n as f64,
        "{of_gentle} of {n} that do not fall by more than their size"
    );
}
