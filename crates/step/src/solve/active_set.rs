//! From impulses that are nearly right to those that are: an active-set method for min ½ ΛᵀDΛ + (J v_f − l)ᵀΛ within
//! bounds.
//!
//! Rows are free, or held at a bound. The free ones are solved for w = 0, and go there as far as bounds allow: a row
//! that meets one is held from then on. Once all are there, the held one that pulls hardest into its range is set free.
//! No step raises the objective, so that no set of held rows comes twice except for rounding (Nocedal, Wright,
//! *Numerical Optimization*, §16.5, for bounds as in Lawson and Hanson's nonnegative least squares).
//!
//! An interior-point method alone cannot show which rows are held where a contact touches without force: w and Λ fall
//! together, both to the root of its tolerance.

use nalgebra::DVector;

use super::delassus::Delassus;

/// Proximal term relative to D's diagonal, as D is singular where contacts depend on each other: each repetition leaves
/// 1e-10 over the eigenvalue of what was there.
const PROXIMAL: f64 = 1e-10;
const REPETITIONS: usize = 4;
/// A held row whose |w| is beyond this part of the problem's largest velocity pulls into its range; less is rounding.
const PULL: f64 = 1e-13;
/// Most passes of the method per row before it gives up.
const PASSES: usize = 4;

/// The state of a row of the active set: free, or held at its lower or upper bound.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Free,
    Lower,
    Upper,
}

struct ActiveSet<'a> {
    delassus: &'a Delassus,
    impulses: DVector<f64>,
    places: Vec<Place>,
}

impl Delassus {
    /// Improves nearly right impulses by the active-set method, within their bounds. Returns the given impulses if that
    /// does not reduce their residual.
    pub(super) fn polish(&self, impulses: DVector<f64>) -> DVector<f64> {
        let mut set = ActiveSet::new(self, impulses.clone());
        for _ in 0..PASSES * (self.len() + 1) {
            let Some(arrived) = set.advance() else { break };
            if arrived && !set.set_free() {
                break;
            }
        }
        if self.residual(&set.impulses) < self.residual(&impulses) { set.impulses } else { impulses }
    }
}

impl<'a> ActiveSet<'a> {
    /// Holds the rows whose D_ii Λ_i − w_i is beyond a bound.
    fn new(delassus: &'a Delassus, mut impulses: DVector<f64>) -> Self {
        let slack = delassus.slack(&impulses);
        let mut places = vec![Place::Free; delassus.len()];
        for (i, place) in places.iter_mut().enumerate() {
            let [lower, upper] = delassus.range(i);
            let target = delassus.matrix[(i, i)] * impulses[i] - slack[i];
            if target <= lower {
                (*place, impulses[i]) = (Place::Lower, delassus.lower[i]);
            } else if target >= upper {
                (*place, impulses[i]) = (Place::Upper, delassus.upper[i]);
            }
        }
        Self { delassus, impulses, places }
    }

    /// Moves the free rows towards w = 0, up to the first bound. True if they arrived; none if the numbers do not allow
    /// a step.
    fn advance(&mut self) -> Option<bool> {
        let Delassus { lower, upper, .. } = self.delassus;
        let free: Vec<usize> = (0..self.places.len()).filter(|&i| self.places[i] == Place::Free).collect();
        let way = self.way(&free)?;
        let (mut part, mut met) = (1.0, None);
        for (&i, &way) in free.iter().zip(way.iter()) {
            let (room, place) = match way {
                way if way < 0.0 => (lower[i] - self.impulses[i], Place::Lower),
                _ => (upper[i] - self.impulses[i], Place::Upper),
            };
            if way.abs() * part > room.abs() {
                (part, met) = (room / way, Some((i, place)));
            }
        }
        for (&i, &way) in free.iter().zip(way.iter()) {
            self.impulses[i] = (self.impulses[i] + part * way).clamp(lower[i], upper[i]);
        }
        let Some((i, place)) = met else { return Some(true) };
        self.places[i] = place;
        self.impulses[i] = if place == Place::Lower { lower[i] } else { upper[i] };
        Some(false)
    }

    /// The step x of the free rows F to zero slack: D_FF x = −w_F, solved by proximal iterations. None if D_FF has no
    /// factor.
    fn way(&self, free: &[usize]) -> Option<DVector<f64>> {
        let slack = self.delassus.slack(&self.impulses);
        let inner = self.delassus.matrix.select_rows(free).select_columns(free);
        let mut proximal = inner.clone();
        (0..free.len()).for_each(|a| proximal[(a, a)] *= 1.0 + PROXIMAL);
        let factor = proximal.cholesky()?;
        let wanted = DVector::from_fn(free.len(), |a, _| -slack[free[a]]);
        let mut way = DVector::zeros(free.len());
        for _ in 0..REPETITIONS {
            way += factor.solve(&(&wanted - &inner * &way));
        }
        way.iter().all(|x| x.is_finite()).then_some(way)
    }

    /// Frees the held row that pulls hardest into its range. False if none pulls.
    fn set_free(&mut self) -> bool {
        let slack = self.delassus.slack(&self.impulses);
        let pull = |i: usize| match self.places[i] {
            Place::Free => 0.0,
            Place::Lower => -slack[i],
            Place::Upper => slack[i],
        };
        let hardest = (0..self.places.len()).max_by(|&i, &j| pull(i).total_cmp(&pull(j)));
        let least = PULL * self.delassus.scale(&self.impulses);
        let Some(i) = hardest.filter(|&i| pull(i) > least) else { return false };
        self.places[i] = Place::Free;
        true
    }
}
