//! Box A, box B, rounded or not: the contacts that [`crate::collision::Manifold`] says, in a place for each edge of the two faces
//! that meet, so that a contact stays in its place as long as its edge bounds the overlap.
//!
//! Formulas are written once, over [`Scalar`]: on a tape they have tangents by a motion of B, and adjoints. A motion of both
//! carries everything, so that a motion of A is one of both less one of B. The box that is smaller, by half extents, rounding and
//! then place, is A, whichever was named so.

mod closest;
mod faces;
mod pair;
mod spread;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::sync::LazyLock;

use super::scalar::{self, Scalar, Traced, V3};
use super::tape::{NUMBERS, Place, Rates, Slopes, Structure, Tape};
use super::{Contact, Contacts, Gradients, Reaction, Side, total};
use crate::contact::{OWN_RATES, SHARED_RATES};
use crate::math::lane::{Mask, Real, Routine, Single, inlined};
use crate::math::vector::{Vec3, add, cross, rotate, rotate_back, splat, sub};

use closest::Features;
pub(crate) use pair::POINTS;
use pair::{Boxes, Spot};

/// Places on a tape: B's place, its axes, half extents of A and B, their radii.
const VARIABLES: usize = 20;

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

/// The contacts in A's frame, given which features are in contact.
#[inline(always)]
fn contacts<S: Scalar>(features: &Features<S::Lane>, boxes: &Boxes<S>) -> (V3<S>, [Spot<S>; POINTS]) {
    let closest = features.closest(boxes);
    (closest.normal, spread::spread(boxes, &closest))
}

/// The contacts of two boxes, in the world, and their weights: compiled once for each kind of lane.
pub(super) struct Witness<'a, 'b, R> {
    pub(super) sides: &'a [Side<R>; 2],
    pub(super) contacts: &'a mut Contacts<'b, R>,
    pub(super) weights: &'a mut [R],
}

impl<R: Real> Routine for Witness<'_, '_, R> {
    #[inline(always)]
    fn run(&mut self) {
        let [a, b] = self.sides;
        let pair = Ordered::new(a, b);
        let boxes = pair.boxes();
        let (normal, spots) = contacts(&Features::new(&boxes), &boxes);
        let (normal, doubt) = (pair.turned(normal), pair.doubt());
        for k in 0..POINTS {
            let Spot { phi, point_a, point_b, weight } = spots[k];
            let place = inlined(
                #[inline(always)]
                |p: Vec3<R>| add(pair.a.pose.p, pair.turned(p)),
            );
            let (point_a, point_b) = (place(point_a), place(point_b));
            let contact = Contact { normal, point_a, point_b, phi: phi + doubt };
            self.contacts.set(k, exchanged(pair.swapped, contact));
            self.weights[k] = weight;
        }
    }
}

/// The places of variables and of results in the [`Structure`].
struct Places {
    structure: Structure,
    normal: Vec3<usize>,
    spots: [Spot<usize>; POINTS],
}

static PLACES: LazyLock<Places> = LazyLock::new(|| {
    let structure = RefCell::default();
    let (normal, spots) = {
        let boxes = variables(&Boxes::<Plain>::any(), &|value| Traced { value, origin: Place::variable(&structure) });
        let (normal, spots) = contacts(&Features::any(), &boxes);
        let place = |number: Traced<Plain, Place>| number.origin.place;
        let spots = spots.map(|Spot { phi, point_a, point_b, weight }| Spot {
            phi: place(phi),
            point_a: point_a.map(place),
            point_b: point_b.map(place),
            weight: place(weight),
        });
        (normal.map(place), spots)
    };
    Places { structure: structure.into_inner(), normal, spots }
});

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

/// The adjoint or the tangents of [`Witness`], in worlds where that is asked for: compiled once for each kind of lane.
pub(super) struct Derivatives<'a, R: Real> {
    pub(super) sides: &'a [Side<R>; 2],
    pub(super) is_needed: R::Mask,
    pub(super) task: Task<'a, R>,
}

pub(super) enum Task<'a, R> {
    /// Adds to the reactions on A and B, given gradients of the contacts and of their weights.
    Pull { gradients: (&'a Gradients<'a, R>, &'a [R]), reactions: &'a mut (Reaction<R>, Reaction<R>) },
    /// How the contacts change with a motion of one box while the other stays, as
    /// [`ConvexPair::rates`](crate::contact::ConvexPair::rates) says.
    Push { rates: &'a mut [R] },
}

impl<R: Real> Routine for Derivatives<'_, R> {
    #[inline(always)]
    fn run(&mut self) {
        let [a, b] = self.sides;
        let pair = Ordered::new(a, b);
        let boxes = pair.boxes();
        let slopes = Slopes::new();
        let tape = Tape::new(&slopes);
        let traced = variables(&boxes, &|value| tape.variable(value));
        let (normal, spots) = contacts(&Features::new(&boxes), &traced);
        match &mut self.task {
            Task::Pull { gradients: (contacts, weights), reactions } => {
                let normal = scalar::values(normal);
                let mut arms = [[boxes.t; 2]; POINTS];
                for k in 0..POINTS {
                    arms[k] = [scalar::values(spots[k].point_a), scalar::values(spots[k].point_b)];
                }
                pull(&tape, &pair, &boxes, (normal, &arms), self.is_needed, (contacts, weights), reactions);
            }
            // Each derivative of an operation is read once for all motions that go together: half of them where all take too much memory.
            Task::Push { rates } if size_of::<R>() > 32 => push::<R, 3>(&tape, &pair, &boxes, self.is_needed, rates),
            Task::Push { rates } => push::<R, 6>(&tape, &pair, &boxes, self.is_needed, rates),
        }
    }
}

#[inline(always)]
fn pull<R: Real>(
    tape: &Tape<R>,
    pair: &Ordered<R>,
    boxes: &Boxes<R>,
    (normal, arms): (Vec3<R>, &[[Vec3<R>; 2]; POINTS]),
    is_needed: R::Mask,
    (grad, weights): (&Gradients<R>, &[R]),
    (on_a, on_b): &mut (Reaction<R>, Reaction<R>),
) {
    let axes = &pair.a.pose.axes;
    let places = &*PLACES;
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
fn push<R: Real, const AT_ONCE: usize>(
    tape: &Tape<R>,
    pair: &Ordered<R>,
    boxes: &Boxes<R>,
    is_needed: R::Mask,
    out: &mut [R],
) {
    let places = &*PLACES;
    let mut rates = Rates::<R, AT_ONCE>::new();
    let (shared, own) = out.split_at_mut(SHARED_RATES);
    shared[0] = R::select(pair.swapped, R::zero(), R::one());
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
                |place: usize| R::select(is_needed, rates.get(place)[k], R::zero()),
            );
            let vector = inlined(
                #[inline(always)]
                |v: Vec3<usize>| pair.turned([rate(v[0]), rate(v[1]), rate(v[2])]),
            );
            let turned = vector(places.normal);
            for i in 0..3 {
                shared[1 + 6 * i + motion] = R::select(pair.swapped, -turned[i], turned[i]);
            }
            for point in 0..POINTS {
                let Spot { phi, point_a, point_b, weight } = places.spots[point];
                let own = &mut own[OWN_RATES * point..OWN_RATES * (point + 1)];
                let (on_a, on_b) = (vector(point_a), vector(point_b));
                for i in 0..3 {
                    own[6 * i + motion] = R::select(pair.swapped, on_b[i], on_a[i]);
                    own[18 + 6 * i + motion] = R::select(pair.swapped, on_a[i], on_b[i]);
                }
                own[36 + motion] = rate(phi);
                own[42 + motion] = rate(weight);
            }
        }
    }
}
