//! Box A, box B, rounded or not: the contacts that [`crate::collision::Manifold`] says, in a place for each edge of the two sides
//! that are shown, so that a contact stays in its place as long as its edge bounds the overlap. Where one pair of sides does not
//! have all points, two are shown: worlds in which this is so are computed apart.
//!
//! Formulas are written once, over [`Scalar`]: on a tape they have tangents by a motion of B, and adjoints. A motion of both
//! carries everything, so that a motion of A is one of both less one of B. The box that is smaller, by half extents, rounding and
//! then place, is A, whichever was named so.

mod cell;
mod closest;
mod faces;
mod joint;
mod pair;
mod roof;
mod spread;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::sync::LazyLock;

use super::scalar::{self, Scalar, Traced, V3};
use super::tape::{Place, Rates, Slopes, Structure, Tape};
use super::{Contact, Contacts, Gradients, Reaction, Side, total};
use crate::contact::{OWN_RATES, SHARED_RATES};
use crate::math::lane::{Mask, Real, Routine, Single, clear, inlined};
use crate::math::vector::{Vec3, add, cross, rotate, rotate_back, splat, sub};

use closest::Features;
use faces::Shown;
pub(crate) use pair::POINTS;
use pair::{Boxes, Spot};

/// Places on a tape: B's place, its axes, half extents of A and B, their radii.
const VARIABLES: usize = 20;
/// Room for the numbers that the formula computes for one pair of sides, except for constants; ...
const OF_ONE: usize = 1024;
/// ... and for two.
const OF_TWO: usize = 1664;

/// Both boxes in the order in which they are worked with.
struct Ordered<R: Real> {
    a: Side<R>,
    b: Side<R>,
    /// Is A the one that was named B?
    swapped: R::Mask,
}

impl<R: Real> Ordered<R> {
    #[inline(always)]
    fn new(a: &Side<R>, b: &Side<R>) -> Self {
        let key = inlined(
            #[inline(always)]
            |side: &Side<R>| {
                let [x, y, z] = side.box_core();
                [x, y, z, side.size[3], side.pose.p[0], side.pose.p[1], side.pose.p[2]]
            },
        );
        let (key_a, key_b) = (key(a), key(b));
        let (mut larger, mut decided) = (R::Mask::splat(false), R::Mask::splat(false));
        for k in 0..7 {
            let (above, below) = (key_a[k].gt(key_b[k]), key_a[k].lt(key_b[k]));
            larger = larger.or(above.and(decided.not()));
            decided = decided.or(above).or(below);
        }
        Self { a: selected(larger, b, a), b: selected(larger, a, b), swapped: larger }
    }

    #[inline(always)]
    fn boxes(&self) -> Boxes<R> {
        let axes = &self.a.pose.axes;
        let b = &self.b.pose.axes;
        Boxes {
            t: rotate(axes, sub(self.b.pose.p, self.a.pose.p)),
            b: [rotate(axes, b[0]), rotate(axes, b[1]), rotate(axes, b[2])],
            half_a: self.a.box_core(),
            half_b: self.b.box_core(),
            radius_a: self.a.size[3],
            radius_b: self.b.size[3],
        }
    }

    /// A vector of A's frame in the world.
    #[inline(always)]
    fn turned(&self, v: Vec3<R>) -> Vec3<R> {
        rotate_back(&self.a.pose.axes, v)
    }

    /// 0, or NaN where boxes are none: a half extent that is not positive, a rounding that is negative, numbers out of range.
    #[inline(always)]
    fn doubt(&self) -> R {
        let (zero, mut doubt) = (R::zero(), R::zero());
        for side in [&self.a, &self.b] {
            let core = side.box_core();
            let mut is_box = side.size[3].lt(zero).not();
            for k in 0..3 {
                is_box = is_box.and(core[k].gt(zero));
                doubt = side.pose.p[k].doubt(side.size[k].doubt(doubt));
                for axis in &side.pose.axes {
                    doubt = axis[k].doubt(doubt);
                }
            }
            doubt = R::select(is_box, side.size[3].doubt(doubt), R::splat(f64::NAN));
        }
        doubt
    }
}

#[inline(always)]
fn selected<R: Real>(mask: R::Mask, yes: &Side<R>, no: &Side<R>) -> Side<R> {
    let mut side = *no;
    side.pose.p = scalar::choose(mask, yes.pose.p, no.pose.p);
    for k in 0..3 {
        side.pose.axes[k] = scalar::choose(mask, yes.pose.axes[k], no.pose.axes[k]);
    }
    side.size = total::choose(mask, yes.size, no.size);
    side
}

/// A contact with the sides' names exchanged where the mask is set.
#[inline(always)]
fn exchanged<R: Real>(mask: R::Mask, contact: Contact<R>) -> Contact<R> {
    let Contact { normal, point_a, point_b, phi } = contact;
    let [x, y, z] = normal;
    Contact {
        normal: scalar::choose(mask, [-x, -y, -z], normal),
        point_a: scalar::choose(mask, point_b, point_a),
        point_b: scalar::choose(mask, point_a, point_b),
        phi,
    }
}

/// The contacts in A's frame, given which features are in contact, and which sides are shown.
#[inline(always)]
fn contacts<S: Scalar, const PAIRS: usize>(
    features: &Features<S::Lane>,
    shown: &Shown<S::Lane>,
    boxes: &Boxes<S>,
) -> (V3<S>, [Spot<S>; POINTS]) {
    let closest = features.closest(boxes);
    (closest.normal, spread::spread::<S, PAIRS>(boxes, &closest, shown))
}

/// The contacts of two boxes, in the world, and their weights.
#[inline(always)]
pub(super) fn witness<R: Real>(sides: &[Side<R>; 2], contacts: &mut Contacts<R>, weights: &mut [R]) {
    let mut two = R::zero();
    R::call(&mut Witness::<R, 1> { sides, contacts, weights, two: &mut two });
    let swapped = contacts.swapped;
    R::when(
        are_two(two),
        &mut (&mut *contacts.numbers, weights),
        #[inline(always)]
        |(numbers, weights)| {
            let contacts = &mut Contacts { numbers, swapped };
            R::call(&mut Witness::<R, 2> { sides, contacts, weights, two: &mut R::zero() });
        },
    );
}

/// Is this 1 rather than 0?
#[inline(always)]
fn are_two<R: Real>(two: R) -> R::Mask {
    two.gt(R::splat(0.5))
}

/// The contacts of two boxes of which one pair of sides is shown, or two: compiled once for each kind of lane.
struct Witness<'a, 'b, R, const PAIRS: usize> {
    sides: &'a [Side<R>; 2],
    contacts: &'a mut Contacts<'b, R>,
    weights: &'a mut [R],
    /// Set to 1 where two pairs are shown, worlds that are for the other routine, and to 0 elsewhere.
    two: &'a mut R,
}

impl<R: Real, const PAIRS: usize> Routine for Witness<'_, '_, R, PAIRS> {
    #[inline(always)]
    fn run(&mut self) {
        let [a, b] = self.sides;
        let pair = Ordered::new(a, b);
        let boxes = pair.boxes();
        let features = Features::new(&boxes);
        let shown = faces::shown(&boxes, &features);
        let (normal, spots) = contacts::<R, PAIRS>(&features, &shown, &boxes);
        let (normal, doubt) = (pair.turned(normal), pair.doubt());
        *self.two = total::indicator(shown.are_two);
        let counts = if PAIRS == 1 { R::Mask::splat(true) } else { shown.are_two };
        for k in 0..POINTS {
            let Spot { phi, point_a, point_b, weight } = spots[k];
            let place = inlined(
                #[inline(always)]
                |p: Vec3<R>| add(pair.a.pose.p, pair.turned(p)),
            );
            let (point_a, point_b) = (place(point_a), place(point_b));
            let contact = Contact { normal, point_a, point_b, phi: phi + doubt };
            self.contacts.set_where(counts, k, exchanged(pair.swapped, contact));
            self.weights[k] = R::select(counts, weight, self.weights[k]);
        }
    }
}

/// The places of variables and of results in the [`Structure`].
struct Places {
    structure: Structure,
    normal: Vec3<usize>,
    spots: [Spot<usize>; POINTS],
}

impl Places {
    /// Those of one pair of sides or of two.
    fn of<const PAIRS: usize>() -> &'static Self {
        static ONE: LazyLock<Places> = LazyLock::new(Places::new::<1>);
        static TWO: LazyLock<Places> = LazyLock::new(Places::new::<2>);
        if PAIRS == 1 { &ONE } else { &TWO }
    }

    fn new<const PAIRS: usize>() -> Self {
        let structure = RefCell::default();
        let (normal, spots) = {
            let boxes = Boxes::<Plain>::any();
            let (features, shown) = (Features::any(), Shown::any());
            let boxes = variables(&boxes, &|value| Traced { value, origin: Place::variable(&structure) });
            let (normal, spots) = contacts::<_, PAIRS>(&features, &shown, &boxes);
            let place = |number: Traced<Plain, Place>| number.origin.place;
            let spots = spots.map(|Spot { phi, point_a, point_b, weight }| Spot {
                phi: place(phi),
                point_a: point_a.map(place),
                point_b: point_b.map(place),
                weight: place(weight),
            });
            (normal.map(place), spots)
        };
        Self { structure: structure.into_inner(), normal, spots }
    }
}

/// What stands for lanes where it does not matter what the numbers are.
type Plain = Single<f64, false>;

/// Two boxes whose numbers are variables, in their places.
#[inline(always)]
fn variables<R: Real, S: Scalar<Lane = R>>(boxes: &Boxes<R>, variable: &impl Fn(R) -> S) -> Boxes<S> {
    let vector = inlined(
        #[inline(always)]
        |v: Vec3<R>| [variable(v[0]), variable(v[1]), variable(v[2])],
    );
    Boxes {
        t: vector(boxes.t),
        b: [vector(boxes.b[0]), vector(boxes.b[1]), vector(boxes.b[2])],
        half_a: vector(boxes.half_a),
        half_b: vector(boxes.half_b),
        radius_a: variable(boxes.radius_a),
        radius_b: variable(boxes.radius_b),
    }
}

/// Adds to the reactions on A and B, given gradients of the contacts and of their weights, in worlds where any is not zero.
#[inline(always)]
pub(super) fn pull<R: Real>(
    sides: &[Side<R>; 2],
    (contacts, weights): (&Gradients<R>, &[R]),
    reactions: &mut (Reaction<R>, Reaction<R>),
) {
    let mut most = R::zero();
    for gradient in contacts.numbers.iter().chain(weights) {
        most = most.max(gradient.abs());
    }
    let is_needed = most.gt(R::zero());
    let gradients = (contacts, weights);
    let mut two = [R::zero()];
    R::when(
        is_needed,
        &mut (&mut *reactions, &mut two),
        #[inline(always)]
        |(reactions, two)| {
            let task = Task::Pull { gradients, reactions };
            R::call(&mut Derivatives::<R, 1, OF_ONE> { sides, is_needed, task, two: &mut two[0] });
        },
    );
    let is_needed = is_needed.and(are_two(two[0]));
    R::when(
        is_needed,
        reactions,
        #[inline(always)]
        |reactions| {
            let task = Task::Pull { gradients, reactions };
            R::call(&mut Derivatives::<R, 2, OF_TWO> { sides, is_needed, task, two: &mut R::zero() });
        },
    );
}

/// Sets how the contacts change with a motion of one box while the other stays, as
/// [`ConvexPair::rates`](crate::contact::ConvexPair::rates) says; zeros in worlds where this is not needed.
#[inline(always)]
pub(super) fn rates<R: Real>(sides: &[Side<R>; 2], is_needed: R::Mask, rates: &mut [R]) {
    clear(rates);
    let mut two = [R::zero()];
    R::when(
        is_needed,
        &mut (&mut *rates, &mut two),
        #[inline(always)]
        |(rates, two)| {
            let task = Task::Push { rates };
            R::call(&mut Derivatives::<R, 1, OF_ONE> { sides, is_needed, task, two: &mut two[0] });
        },
    );
    let is_needed = is_needed.and(are_two(two[0]));
    R::when(
        is_needed,
        rates,
        #[inline(always)]
        |rates| {
            let task = Task::Push { rates };
            R::call(&mut Derivatives::<R, 2, OF_TWO> { sides, is_needed, task, two: &mut R::zero() });
        },
    );
}

/// The adjoint or the tangents of [`Witness`], in worlds where they are needed: compiled once for each kind of lane.
struct Derivatives<'a, R: Real, const PAIRS: usize, const NUMBERS: usize> {
    sides: &'a [Side<R>; 2],
    is_needed: R::Mask,
    task: Task<'a, R>,
    /// As [`Witness`] has it.
    two: &'a mut R,
}

enum Task<'a, R> {
    Pull { gradients: (&'a Gradients<'a, R>, &'a [R]), reactions: &'a mut (Reaction<R>, Reaction<R>) },
    Push { rates: &'a mut [R] },
}

impl<R: Real, const PAIRS: usize, const NUMBERS: usize> Routine for Derivatives<'_, R, PAIRS, NUMBERS> {
    #[inline(always)]
    fn run(&mut self) {
        let [a, b] = self.sides;
        let pair = Ordered::new(a, b);
        let boxes = pair.boxes();
        let features = Features::new(&boxes);
        let shown = faces::shown(&boxes, &features);
        *self.two = total::indicator(shown.are_two);
        let counts = if PAIRS == 1 { shown.are_two.not() } else { shown.are_two };
        let counts = self.is_needed.and(counts);
        let slopes = Slopes::new();
        let tape = Tape::new(&slopes);
        let traced = variables(&boxes, &|value| tape.variable(value));
        let (normal, spots) = contacts::<_, PAIRS>(&features, &shown, &traced);
        let places = Places::of::<PAIRS>();
        match &mut self.task {
            Task::Pull { gradients, reactions } => {
                let normal = scalar::values(normal);
                let mut arms = [[boxes.t; 2]; POINTS];
                for k in 0..POINTS {
                    arms[k] = [scalar::values(spots[k].point_a), scalar::values(spots[k].point_b)];
                }
                pull_back::<R, NUMBERS>((&tape, places), &pair, &boxes, (normal, &arms), counts, *gradients, reactions);
            }
            // Each derivative of an operation is read once for all motions that go together: half of them where all take too much memory.
            Task::Push { rates } if size_of::<R>() > 32 => {
                push::<R, 3, NUMBERS>((&tape, places), &pair, &boxes, counts, rates)
            }
            Task::Push { rates } => push::<R, 6, NUMBERS>((&tape, places), &pair, &boxes, counts, rates),
        }
    }
}

#[inline(always)]
fn pull_back<R: Real, const NUMBERS: usize>(
    (tape, places): (&Tape<R>, &Places),
    pair: &Ordered<R>,
    boxes: &Boxes<R>,
    (normal, arms): (Vec3<R>, &[[Vec3<R>; 2]; POINTS]),
    is_needed: R::Mask,
    (grad, weights): (&Gradients<R>, &[R]),
    (on_a, on_b): &mut (Reaction<R>, Reaction<R>),
) {
    let axes = &pair.a.pose.axes;
    let mut by = [R::zero(); NUMBERS];
    // Of a motion of both, about A's origin.
    let (mut force, mut moment) = (splat([0.0; 3]), splat([0.0; 3]));
    for k in 0..POINTS {
        let grad = exchanged(pair.swapped, grad.get(k));
        let (by_a, by_b) = (rotate(axes, grad.point_a), rotate(axes, grad.point_b));
        let by_n = rotate(axes, grad.normal);
        let spot = &places.spots[k];
        by[spot.phi] += grad.phi;
        by[spot.weight] += weights[k];
        for i in 0..3 {
            by[spot.point_a[i]] += by_a[i];
            by[spot.point_b[i]] += by_b[i];
            by[places.normal[i]] += by_n[i];
        }
        force = add(force, add(by_a, by_b));
        let arms = add(cross(arms[k][0], by_a), cross(arms[k][1], by_b));
        moment = add(moment, add(arms, cross(normal, by_n)));
    }
    tape.pull(&places.structure, &mut by);

    let v = inlined(
        #[inline(always)]
        |k: usize| [by[k], by[k + 1], by[k + 2]],
    );
    let force_b = v(1);
    let turn = inlined(
        #[inline(always)]
        |k: usize| cross(boxes.b[k], v(4 + 3 * k)),
    );
    let moment_b = add(turn(0), add(turn(1), turn(2)));
    let (half_a, half_b) = (v(13), v(16));
    let moment_a = sub(sub(moment, moment_b), cross(boxes.t, force_b));
    let mut reaction_b = Reaction::none();
    reaction_b.force = pair.turned(force_b);
    reaction_b.moment = pair.turned(moment_b);
    reaction_b.size[3] = by[20];
    reaction_b.grow_box_core(half_b);
    let mut reaction_a = Reaction::none();
    reaction_a.force = pair.turned(sub(force, force_b));
    reaction_a.moment = pair.turned(moment_a);
    reaction_a.size[3] = by[19];
    reaction_a.grow_box_core(half_a);
    let none = Reaction::none();
    for (on, first, second) in [(on_a, &reaction_b, &reaction_a), (on_b, &reaction_a, &reaction_b)] {
        let mut all = Reaction::none();
        all.accumulate(pair.swapped, first, second);
        on.accumulate(is_needed, &all, &none);
    }
}

#[inline(always)]
fn push<R: Real, const AT_ONCE: usize, const NUMBERS: usize>(
    (tape, places): (&Tape<R>, &Places),
    pair: &Ordered<R>,
    boxes: &Boxes<R>,
    is_needed: R::Mask,
    out: &mut [R],
) {
    let mut rates = Rates::<R, AT_ONCE, NUMBERS>::new();
    let (shared, own) = out.split_at_mut(SHARED_RATES);
    let set = inlined(
        #[inline(always)]
        |to: &mut R, value: R| *to = R::select(is_needed, value, *to),
    );
    set(&mut shared[0], R::select(pair.swapped, R::zero(), R::one()));
    for part in R::parts(0..6 / AT_ONCE) {
        let mut moved = [[R::zero(); AT_ONCE]; VARIABLES];
        for k in 0..AT_ONCE {
            let motion = AT_ONCE * part + k;
            let mut unit = [0.0; 3];
            unit[motion % 3] = 1.0;
            // Along the world's axes.
            let unit = rotate(&pair.a.pose.axes, splat(unit));
            for i in 0..3 {
                if motion < 3 {
                    moved[i][k] = unit[i];
                } else {
                    let turned = cross(unit, boxes.b[i]);
                    for j in 0..3 {
                        moved[3 + 3 * i + j][k] = turned[j];
                    }
                }
            }
        }
        tape.push(&places.structure, &moved, &mut rates);
        for k in 0..AT_ONCE {
            let motion = AT_ONCE * part + k;
            let rate = inlined(
                #[inline(always)]
                |place: usize| rates.get(place)[k],
            );
            let vector = inlined(
                #[inline(always)]
                |v: Vec3<usize>| pair.turned([rate(v[0]), rate(v[1]), rate(v[2])]),
            );
            let turned = vector(places.normal);
            for i in 0..3 {
                set(&mut shared[1 + 6 * i + motion], R::select(pair.swapped, -turned[i], turned[i]));
            }
            for point in 0..POINTS {
                let Spot { phi, point_a, point_b, weight } = places.spots[point];
                let own = &mut own[OWN_RATES * point..OWN_RATES * (point + 1)];
                let (on_a, on_b) = (vector(point_a), vector(point_b));
                for i in 0..3 {
                    set(&mut own[6 * i + motion], R::select(pair.swapped, on_b[i], on_a[i]));
                    set(&mut own[18 + 6 * i + motion], R::select(pair.swapped, on_a[i], on_b[i]));
                }
                set(&mut own[36 + motion], rate(phi));
                set(&mut own[42 + motion], rate(weight));
            }
        }
    }
}
