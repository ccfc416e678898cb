//! Gradients against differences.
//!
//! A difference errs by truncation, which grows with its step, and by rounding, which falls with it; no one step suits
//! a gap of a micrometre and one of a centimetre. So several are tried, to both sides and across, and the best
//! agreement counts: a wrong gradient agrees with none of them. An input at its bound is changed to one side only.
//!
//! All inputs of a kind are changed together, in a random direction. If gradient and differences disagree, halves of
//! them are, until the inputs are found that it is due to. There, a gradient among differences that disagree with each
//! other is that of a kink, and right. Which side of a kink it is of may depend on other inputs, such as the sizes of
//! two boxes that are equal. So the differences are also taken next to random changes of all others: of f along w + d
//! less that along w.

use std::fmt::{self, Display, Formatter};

use candle_core::{Result, Tensor};
use nalgebra::{DMatrix, DVector};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::gradients::Gradients;
use super::inputs::{Inputs, LENGTH};
use super::quantities::{Kind, Quantities};

/// The library's promise for gradients, relative to the largest of a kind by inputs of a kind.
pub const GRADIENT: f64 = 1e-6;
/// Steps of the differences, in units of the inputs.
const STEPS: [f64; 5] = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8];
/// With larger ones, curves look like kinks.
const SMALL: f64 = 1e-6;
/// Where several kinks meet, the known slopes are only some of many: a gradient may lie this part of their range beyond
/// them.
const BEYOND: f64 = 0.1;
/// Values are rounded by less than this times [`GRADIENT`], relative to the largest of their kind.
const ROUNDING: f64 = 1e-9;
/// So many inputs of a kind are named as wrong, at most.
const NAMED: usize = 8;
/// So many random changes of all inputs a kink is looked at beside, ...
const BESIDE: usize = 16;
/// ... and by this part of them its own input changes there.
const PART: f64 = 0.1;

/// The result of comparing one derivative with differences.
pub struct Finding {
    /// The kind of quantity that is differentiated.
    pub kind: Kind,
    /// The name of the derivative: the quantity, and the input that it is taken by.
    pub place: String,
    /// Is the derivative by q or u, not by a parameter?
    pub is_by_state: bool,
    /// The judgement whether the derivative is right.
    pub judgement: Judgement,
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let [claimed, ahead, behind] = self.judgement.numbers;
        let place = &self.place;
        match self.judgement.is_kink {
            true => write!(f, "{place}: {claimed:.6e}, by differences from {ahead:.6e} to {behind:.6e}"),
            false if behind.is_nan() => write!(f, "{place}: {claimed:.6e}, by differences {ahead:.6e}"),
            false => write!(f, "{place}: {claimed:.6e}, by differences {ahead:.6e} ahead, {behind:.6e} behind"),
        }
    }
}

/// Whether a derivative is right.
#[derive(Clone, Copy)]
pub struct Judgement {
    /// Relative error of the derivative.
    pub off: f64,
    /// Has the function a kink there, and is the derivative one of its sides or between them?
    pub is_kink: bool,
    /// The derivative, and the differences ahead and behind (NaN at a bound) at the step that suits best; of a kink,
    /// the least and the largest.
    pub numbers: [f64; 3],
}

/// Gradients and the function whose they are said to be.
pub struct Comparison<'a> {
    /// The derivatives that are judged.
    pub gradients: &'a Gradients,
    /// What they are taken by.
    pub inputs: &'a Inputs<'a>,
    /// The function of the inputs whose derivatives they are.
    pub quantities: &'a Quantities<'a>,
    /// The forces that solves start from (1, n).
    pub warm: &'a Tensor,
}

/// Inputs of a kind that are searched together.
struct Search {
    name: &'static str,
    /// The random direction, in units.
    direction: Vec<f64>,
    is_one_sided: bool,
    /// The largest derivative of each kind of quantity by these inputs.
    scales: [f64; 3],
    found: Vec<Finding>,
    wrong: usize,
}

/// A derivative by differences of one step size, for all quantities.
pub struct Slopes {
    /// The step, in units of the inputs.
    pub size: f64,
    /// To one side: ahead, behind unless at a bound, beside if these are asked for.
    pub sides: Vec<DVector<f64>>,
    /// Across, unless at a bound.
    pub across: Option<DVector<f64>>,
}

impl Comparison<'_> {
    /// The worst of each kind of quantities by each kind of inputs, all that is wrong (or as much as is worth naming),
    /// and all kinks.
    pub fn findings(&self, seed: u64) -> Result<Vec<Finding>> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut all = Vec::new();
        for group in &self.inputs.groups {
            let is_claimed = |column: &usize| *column < self.gradients.0.ncols() && self.inputs.is_there(*column);
            let claimed = group.columns.clone().filter(is_claimed);
            let is_at_bound = |column: &usize| self.inputs.is_at_bound(*column, 2.0 * STEPS[0]);
            let (at_bound, free): (Vec<_>, Vec<_>) = claimed.partition(is_at_bound);
            for (columns, is_one_sided) in [(free, false), (at_bound, true)] {
                if columns.is_empty() {
                    continue;
                }
                let mut direction = vec![0.0; self.inputs.count()];
                for &column in &columns {
                    let backward = !is_one_sided && random.random_bool(0.5);
                    direction[column] = random.random_range(0.5..1.0) * if backward { -1.0 } else { 1.0 };
                }
                let scales = self.scales(&columns);
                let mut search =
                    Search { name: group.name, direction, is_one_sided, scales, found: Vec::new(), wrong: 0 };
                self.search(&columns, &mut search)?;
                all.append(&mut search.found);
            }
        }
        Ok(all)
    }

    fn scales(&self, columns: &[usize]) -> [f64; 3] {
        let mut scales = [0.0_f64; 3];
        for row in 0..self.gradients.0.nrows() {
            let scale = &mut scales[self.quantities.kind(row) as usize];
            for &column in columns {
                *scale = scale.max((self.gradients.0[(row, column)] * self.inputs.unit(column)).abs());
            }
        }
        scales
    }

    fn search(&self, columns: &[usize], search: &mut Search) -> Result<()> {
        let mut direction = vec![0.0; self.inputs.count()];
        columns.iter().for_each(|&column| direction[column] = search.direction[column]);
        let claimed =
            &self.gradients.0 * DVector::from_fn(self.gradients.0.ncols(), |k, _| direction[k] * self.inputs.unit(k));
        let (mut slopes, rounding) = self.slopes(&direction, search.is_one_sided)?;
        let judge = |slopes: &[Slopes], of: Judge| {
            let of_row = |row: usize| {
                let kind = self.quantities.kind(row) as usize;
                of(claimed[row], slopes, row, &|size| search.scales[kind] + rounding[kind] / size + f64::MIN_POSITIVE)
            };
            (0..claimed.len()).map(of_row).collect::<Vec<Judgement>>()
        };
        let mut judgements = judge(&slopes, Judgement::of);
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let is_wrong = |judgements: &[Judgement]| judgements.iter().any(|judgement| judgement.off > GRADIENT);
        for _ in 0..BESIDE {
            if columns.len() > 1 || !is_wrong(&judgements) {
                break;
            }
            self.look_beside(&direction, &mut random, &mut slopes)?;
            for (judgement, kink) in judgements.iter_mut().zip(judge(&slopes, Judgement::of_kink)) {
                if judgement.off > GRADIENT && kink.off <= GRADIENT {
                    *judgement = kink;
                }
            }
        }
        let is_wrong = is_wrong(&judgements);
        if is_wrong && columns.len() > 1 {
            let (left, right) = columns.split_at(columns.len() / 2);
            self.search(left, search)?;
            return if search.wrong < NAMED { self.search(right, search) } else { Ok(()) };
        }
        search.wrong += usize::from(is_wrong);
        let by = if let [column] = columns { self.inputs.name(*column) } else { search.name.to_owned() };
        for kind in [Kind::Motion, Kind::Force, Kind::Moment] {
            let of_kind = || (0..judgements.len()).filter(|&row| self.quantities.kind(row) == kind);
            let worst = of_kind().max_by(|&x, &y| judgements[x].off.total_cmp(&judgements[y].off));
            let kink = of_kind().find(|&row| judgements[row].is_kink);
            let kink = kink.filter(|&row| Some(row) != worst);
            search.found.extend(worst.into_iter().chain(kink).map(|row| Finding {
                kind,
                place: format!("{} by {by}", self.quantities.name(row)),
                is_by_state: ["q", "u"].contains(&search.name),
                judgement: judgements[row],
            }));
        }
        Ok(())
    }

    /// Differences along a direction, and by what the values of each kind are rounded, over [`GRADIENT`].
    fn slopes(&self, direction: &[f64], is_one_sided: bool) -> Result<(Vec<Slopes>, [f64; 3])> {
        let times: &[f64] = if is_one_sided { &[1.0, 2.0] } else { &[1.0, 2.0, -1.0, -2.0] };
        let changes = STEPS.iter().flat_map(|size| times.iter().map(move |times| times * size));
        let changes: Vec<_> = changes.map(|size| scaled(direction, size)).collect();
        let values = self.values(&changes)?;
        let mut largest = [0.0_f64; 3];
        for (row, value) in values.column(0).iter().enumerate() {
            let most = &mut largest[self.quantities.kind(row) as usize];
            *most = most.max(value.abs());
        }
        // Moments are differences of those of forces.
        let [motion, force, moment] = largest;
        let rounding = [motion, force, moment.max(LENGTH * force)].map(|largest| ROUNDING * largest);
        let slopes = STEPS.iter().enumerate().map(|(k, &size)| {
            let at = 1 + k * times.len();
            let mut sides = vec![one_side(&values, at, size)];
            let mut across = None;
            if !is_one_sided {
                sides.push(-one_side(&values, at + 2, size));
                let change = |k: usize| values.column(at + k) - values.column(at + k + 2);
                across = Some((change(0) * 8.0 - change(1)) / (12.0 * size));
            }
            Slopes { size, sides, across }
        });
        Ok((slopes.collect(), rounding))
    }

    /// Adds differences beside a random change of all inputs that are not at a bound.
    fn look_beside(&self, direction: &[f64], random: &mut ChaCha8Rng, slopes: &mut [Slopes]) -> Result<()> {
        let is_free = |column| self.inputs.is_there(column) && !self.inputs.is_at_bound(column, 2.0 * STEPS[0]);
        let mut aside = |column| if is_free(column) { random.random_range(-1.0..1.0) } else { 0.0 };
        let aside: Vec<f64> = (0..direction.len()).map(&mut aside).collect();
        let both: Vec<f64> = aside.iter().zip(direction).map(|(aside, d)| aside + PART * d).collect();
        let changes = slopes.iter().flat_map(|Slopes { size, .. }| {
            let changes = [(&both, 1.0), (&both, 2.0), (&aside, 1.0), (&aside, 2.0)];
            changes.map(|(change, times)| scaled(change, times * size))
        });
        let values = self.values(&changes.collect::<Vec<_>>())?;
        for (k, Slopes { size, sides, .. }) in slopes.iter_mut().enumerate() {
            let at = 1 + 4 * k;
            sides.push((one_side(&values, at, *size) - one_side(&values, at + 2, *size)) / PART);
        }
        Ok(())
    }

    /// The quantities, in rows: without a change, then with each of these.
    fn values(&self, changes: &[Vec<f64>]) -> Result<DMatrix<f64>> {
        let none = vec![0.0; self.inputs.count()];
        let all: Vec<_> = std::iter::once(none).chain(changes.iter().cloned()).collect();
        Ok(self.quantities.numbers(&self.inputs.steps(&all, self.warm)?)?.transpose())
    }
}

fn scaled(direction: &[f64], by: f64) -> Vec<f64> {
    direction.iter().map(|d| by * d).collect()
}

/// The derivative from the values at 0 (the first column), at a change (the column `at`) and at twice it (the next).
fn one_side(values: &DMatrix<f64>, at: usize, size: f64) -> DVector<f64> {
    let change = |k: usize| values.column(k) - values.column(0);
    (change(at) * 4.0 - change(at + 1)) / (2.0 * size)
}

/// Judges the derivative of a quantity, of which others' slopes are known, by what rounding a difference of a size has.
pub type Judge = fn(f64, &[Slopes], usize, &dyn Fn(f64) -> f64) -> Judgement;

impl Judgement {
    /// Judges the derivative `claimed` of a row where the function is smooth, or equals one of the sides of a kink.
    /// `scale` gives the size by which an error is measured, for differences of a step size. Differences without a
    /// solution are NaN and are ignored.
    pub fn of(claimed: f64, slopes: &[Slopes], row: usize, scale: &dyn Fn(f64) -> f64) -> Self {
        let mut own = Self { off: f64::INFINITY, is_kink: false, numbers: [claimed, f64::NAN, f64::NAN] };
        for Slopes { size, sides, across } in slopes {
            let all = sides.iter().chain(across).map(|side| side[row]);
            let off = all.fold(f64::INFINITY, |off, side| off.min((claimed - side).abs())) / scale(*size);
            if off < own.off {
                own = Self {
                    off,
                    numbers: [claimed, sides[0][row], sides.get(1).map_or(f64::NAN, |side| side[row])],
                    ..own
                };
            }
        }
        own
    }

    /// Judges the derivative `claimed` of a row where the slopes on the two sides disagree, as at a kink: the error is
    /// how far it lies beyond both, for a small enough step. The slopes on both sides of a smooth function are close to
    /// each other.
    pub fn of_kink(claimed: f64, slopes: &[Slopes], row: usize, scale: &dyn Fn(f64) -> f64) -> Self {
        let of_size = |Slopes { size, sides, .. }: &Slopes| {
            let all = || sides.iter().map(|side| side[row]);
            let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
            let beyond = (claimed - most).max(least - claimed) - BEYOND * (most - least);
            // `max` would make 0 of a derivative that is no number.
            let off = if beyond.is_nan() { f64::INFINITY } else { beyond.max(0.0) / scale(*size) };
            Self { off, is_kink: true, numbers: [claimed, least, most] }
        };
        let small = slopes.iter().filter(|slopes| slopes.size <= SMALL).map(of_size);
        let none = Self { off: f64::INFINITY, is_kink: true, numbers: [claimed, f64::NAN, f64::NAN] };
        small.fold(none, |best, own| if own.off < best.off { own } else { best })
    }
}
