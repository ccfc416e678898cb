//! Contacts with weights, as a formula over [`Scalar`]. It runs on plain lanes for values, and on a tape for
//! derivatives: the Jacobian by a motion of B, and vector-Jacobian products.
//!
//! A formula works in A's frame. A common motion of both shapes carries all contacts along, so a motion of A is a
//! common motion minus one of B.

use std::cell::RefCell;

use super::scalar::{self, Scalar, Traced, V3, axpy};
use super::sides::{Contact, Contacts, Gradients, Reaction, Side};
use super::tape::{Place, Rates, Results, Slopes, Structure, Tape};
use super::total;
use crate::contact::numbers::{OWN_RATES, UNUSED, WEIGHTED_GEOMETRY};
use fingertip_lanes::lane::{Mask, Real, Single, clear, inlined};
use fingertip_lanes::vector::{Vec3, add, cross, rotate, rotate_back, scale, splat, sub};
use fingertip_scene::Shape;

/// The number of variables on a tape: B's origin, its axes, the sizes of A and B.
const VARIABLES: usize = 20;
/// Contacts of less weight than this are left out.
const LEAST: f64 = 1e-4;
/// Contacts of less weight than this stand back: see [`stand_back`].
const LIGHT: f64 = 0.02;

/// A formula for the contacts of a pair. `NUMBERS` is the room on its tape, constants not counted.
pub(super) trait Formula<const CONTACTS: usize, const NUMBERS: usize> {
    /// The features in contact, found beforehand on plain lanes and not differentiated.
    type Features<R: Real>;
    /// Are both shapes of one type? Then A is the smaller one, by sizes and then position, whichever the caller named
    /// A.
    const ARE_ALIKE: bool;

    /// Finds the features in contact.
    fn features<R: Real>(pair: &Couple<R>) -> Self::Features<R>;
    /// Computes the contacts for given features.
    fn contacts<S: Scalar>(features: &Self::Features<S::Lane>, pair: &Couple<S>) -> [Spot<S>; CONTACTS];
    /// Are these valid sizes of shapes of the formula's types?
    fn are_sizes<R: Real>(pair: &Couple<R>) -> R::Mask;
    /// The places of variables and results on the formula's tape.
    fn places() -> &'static Places;
}

/// A pair of shapes in A's frame.
pub(super) struct Couple<S> {
    /// The origin of B.
    pub(super) t: V3<S>,
    /// The axes of B.
    pub(super) b: [V3<S>; 3],
    /// The sizes of A, in the order of [`Shape::sizes`].
    pub(super) size_a: [S; Shape::SIZES],
    /// The sizes of B, in the order of [`Shape::sizes`].
    pub(super) size_b: [S; Shape::SIZES],
}

impl<S: Scalar> Couple<S> {
    /// A constant, for formulas over this pair's numbers.
    #[inline(always)]
    pub(super) fn constant(&self, value: f64) -> S {
        self.t[0].constant(S::Lane::splat(value))
    }

    /// A constant vector, for formulas over this pair's numbers.
    #[inline(always)]
    pub(super) fn vector(&self, [x, y, z]: Vec3<S::Lane>) -> V3<S> {
        let of = self.t[0];
        [of.constant(x), of.constant(y), of.constant(z)]
    }
}

impl<R: Real> Couple<R> {
    /// This pair with its numbers made variables of a tape, in their places.
    #[inline(always)]
    fn variables<S: Scalar<Lane = R>>(&self, variable: &impl Fn(R) -> S) -> Couple<S> {
        let vector = inlined(
            #[inline(always)]
            |v: Vec3<R>| [variable(v[0]), variable(v[1]), variable(v[2])],
        );
        let sizes = inlined(
            #[inline(always)]
            |s: [R; Shape::SIZES]| [variable(s[0]), variable(s[1]), variable(s[2]), variable(s[3])],
        );
        Couple {
            t: vector(self.t),
            b: [vector(self.b[0]), vector(self.b[1]), vector(self.b[2])],
            size_a: sizes(self.size_a),
            size_b: sizes(self.size_b),
        }
    }
}

/// A contact in A's frame and its weight.
#[derive(Clone, Copy)]
pub(super) struct Spot<S> {
    pub(super) contact: Contact<S>,
    pub(super) weight: S,
}

impl<T: Copy> Spot<T> {
    /// All its numbers.
    fn numbers(&self) -> [T; WEIGHTED_GEOMETRY] {
        let Contact { normal: [a, b, c], point_a: [d, e, f], point_b: [g, h, i], phi } = self.contact;
        [a, b, c, d, e, f, g, h, i, phi, self.weight]
    }
}

impl<S: Scalar> Spot<S> {
    /// A contact with this point on A. `width` is the width of the weights' rims, m.
    #[inline(always)]
    pub(super) fn on_a(normal: V3<S>, point_a: V3<S>, phi: S, weight: S, width: S) -> Self {
        Self::new(Contact { normal, point_a, point_b: axpy(phi, normal, point_a), phi }, weight, width)
    }

    /// A contact with this point on B. `width` is the width of the weights' rims, m.
    #[inline(always)]
    pub(super) fn on_b(normal: V3<S>, point_b: V3<S>, phi: S, weight: S, width: S) -> Self {
        Self::new(Contact { normal, point_a: axpy(-phi, normal, point_b), point_b, phi }, weight, width)
    }

    /// A contact with this weight, standing back if the weight is small. If the weight is next to none, the contact is
    /// unused.
    #[inline(always)]
    pub(super) fn new(mut contact: Contact<S>, weight: S, width: S) -> Self {
        let constant = inlined(
            #[inline(always)]
            |x: f64| weight.constant(S::Lane::splat(x)),
        );
        let is_there = weight.value().gt(S::Lane::splat(LEAST));
        contact.phi = S::choose(is_there, width.fused(stand_back(weight), contact.phi), constant(UNUSED));
        Self { contact, weight: S::choose(is_there, weight, constant(0.0)) }
    }
}

/// How far a contact of a small weight w stands back, in widths of the weights' rims: by (`LIGHT` − w)²/(w `LIGHT`). A
/// hard contact carries load however small its weight is, and one with next to none makes Newton's steps short. So
/// contacts stand back before they vanish, where heavier ones beside them have almost the same gap.
#[inline(always)]
fn stand_back<S: Scalar>(weight: S) -> S {
    let light = S::Lane::splat(LIGHT);
    let own = weight.value().max(S::Lane::splat(LEAST)).min(light);
    let (lacks, inverse) = (light - own, S::Lane::one() / (own * light));
    weight.by(-(lacks * (own + light) * inverse) / own);
    weight.result(lacks * lacks * inverse)
}

/// Both shapes of a pair in the order of the formula.
struct Ordered<R: Real> {
    a: Side<R>,
    b: Side<R>,
    /// Is A the shape that the caller named B?
    swapped: R::Mask,
}

impl<R: Real> Ordered<R> {
    #[inline(always)]
    fn new(are_alike: bool, swapped: bool, [a, b]: &[Side<R>; 2]) -> Self {
        if !are_alike {
            let (a, b) = Side::ordered(swapped, *a, *b);
            return Self { a, b, swapped: R::Mask::splat(swapped) };
        }
        let key = inlined(
            #[inline(always)]
            |&Side { size: [x, y, z, w], pose }: &Side<R>| [x, y, z, w, pose.p[0], pose.p[1], pose.p[2]],
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
    fn couple(&self) -> Couple<R> {
        let axes = &self.a.pose.axes;
        let b = &self.b.pose.axes;
        Couple {
            t: rotate(axes, sub(self.b.pose.p, self.a.pose.p)),
            b: [rotate(axes, b[0]), rotate(axes, b[1]), rotate(axes, b[2])],
            size_a: self.a.size,
            size_b: self.b.size,
        }
    }

    /// Turns a vector from A's frame to the world.
    #[inline(always)]
    fn turned(&self, v: Vec3<R>) -> Vec3<R> {
        rotate_back(&self.a.pose.axes, v)
    }

    /// 0, or NaN if sizes are not valid or numbers are out of range.
    #[inline(always)]
    fn doubt(&self, are_sizes: R::Mask) -> R {
        let mut doubt = R::zero();
        for side in [&self.a, &self.b] {
            for k in 0..3 {
                doubt = side.pose.p[k].doubt(doubt);
                for axis in &side.pose.axes {
                    doubt = axis[k].doubt(doubt);
                }
            }
            for size in side.size {
                doubt = size.doubt(doubt);
            }
        }
        R::select(are_sizes, doubt, R::splat(f64::NAN))
    }
}

/// The side `yes` in worlds where the mask is set, `no` in the others.
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

/// The contact with A and B exchanged in worlds where the mask is set.
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

/// Computes the contacts of two shapes in the world, and their weights. `swapped` says whether A and B are the
/// formula's B and A.
#[inline(always)]
pub(super) fn witness<R: Real, F: Formula<CONTACTS, NUMBERS>, const CONTACTS: usize, const NUMBERS: usize>(
    sides: &[Side<R>; 2],
    swapped: bool,
    contacts: &mut [R],
    weights: &mut [R],
) {
    let mut contacts = Contacts { numbers: contacts, swapped: false };
    R::call(
        #[inline(always)]
        || {
            let pair = Ordered::new(F::ARE_ALIKE, swapped, sides);
            let couple = pair.couple();
            let spots = F::contacts::<R>(&F::features(&couple), &couple);
            let doubt = pair.doubt(F::are_sizes(&couple));
            let place = inlined(
                #[inline(always)]
                |p: Vec3<R>| add(pair.a.pose.p, pair.turned(p)),
            );
            for k in 0..CONTACTS {
                let Spot { contact: Contact { normal, point_a, point_b, phi }, weight } = spots[k];
                // Unused contacts are at A's origin: elsewhere rounding would decide their place.
                let there = total::indicator::<R>(weight.gt(R::zero()));
                let contact = Contact {
                    normal: pair.turned(normal),
                    point_a: place(scale(there, point_a)),
                    point_b: place(scale(there, point_b)),
                    phi: phi + doubt,
                };
                contacts.set(k, exchanged(pair.swapped, contact));
                weights[k] = weight;
            }
        },
    );
}

/// The places of a formula's results on its tape, and the [`Structure`] of the tape.
pub(super) struct Places {
    pub(super) structure: Structure,
    spots: Vec<Spot<usize>>,
}

impl Places {
    /// Traces the formula once, on arbitrary numbers: places do not depend on them.
    pub(super) fn of<F: Formula<CONTACTS, NUMBERS>, const CONTACTS: usize, const NUMBERS: usize>() -> Self {
        /// The number type that stands in for lanes while the formula is traced.
        type Plain = Single<f64, false>;
        let (zero, one) = (Plain::zero(), Plain::one());
        let couple = Couple {
            t: [zero, zero, Plain::splat(3.0)],
            b: [[one, zero, zero], [zero, one, zero], [zero, zero, one]],
            size_a: [one; 4],
            size_b: [one; 4],
        };
        let structure = RefCell::default();
        let spots = {
            let traced = couple.variables(&|value| Traced { value, origin: Place::variable(&structure) });
            let place = |number: Traced<Plain, Place>| number.origin.place;
            let spots = F::contacts(&F::features(&couple), &traced);
            let places = spots.map(|Spot { contact: Contact { normal, point_a, point_b, phi }, weight }| Spot {
                contact: Contact {
                    normal: normal.map(place),
                    point_a: point_a.map(place),
                    point_b: point_b.map(place),
                    phi: place(phi),
                },
                weight: place(weight),
            });
            places.to_vec()
        };
        let mut structure = structure.into_inner();
        structure.set_results(spots.iter().map(Spot::numbers));
        Self { structure, spots }
    }
}

/// Vector-Jacobian product of [`witness`]: adds to the reactions on A and B, given the gradients of the contacts and
/// their weights, in worlds where it is needed.
#[inline(always)]
pub(super) fn vjp<R: Real, F: Formula<CONTACTS, NUMBERS>, const CONTACTS: usize, const NUMBERS: usize>(
    sides: &[Side<R>; 2],
    swapped: bool,
    is_needed: R::Mask,
    (contacts, weights): (&[R], &[R]),
    reactions: &mut (Reaction<R>, Reaction<R>),
) {
    let contacts = &Gradients { numbers: contacts, swapped: false };
    R::when(
        is_needed,
        reactions,
        #[inline(always)]
        |reactions| {
            let task = Task::Pull { gradients: (contacts, weights), reactions };
            derivatives::<R, F, CONTACTS, NUMBERS>(sides, swapped, is_needed, task);
        },
    );
}

/// Jacobian of [`witness`] by the motion of one shape while the other stays, in the layout of
/// [`ConvexPair::rates`](crate::contact::convex::ConvexPair::rates). Worlds where it is not needed, and contacts
/// without weight, get zeros.
#[inline(always)]
pub(super) fn rates<R: Real, F: Formula<CONTACTS, NUMBERS>, const CONTACTS: usize, const NUMBERS: usize>(
    sides: &[Side<R>; 2],
    swapped: bool,
    is_needed: R::Mask,
    rates: &mut [R],
) {
    clear(rates);
    R::when(
        is_needed,
        rates,
        #[inline(always)]
        |rates| {
            derivatives::<R, F, CONTACTS, NUMBERS>(sides, swapped, is_needed, Task::Push { rates });
        },
    );
}

/// The derivative to compute: a vector-Jacobian product, or the Jacobian by a motion.
enum Task<'a, R> {
    Pull { gradients: (&'a Gradients<'a, R>, &'a [R]), reactions: &'a mut (Reaction<R>, Reaction<R>) },
    Push { rates: &'a mut [R] },
}

/// The derivatives of [`witness`], in worlds where they are needed. They are compiled once for each kind of lane.
#[inline(always)]
fn derivatives<R: Real, F: Formula<CONTACTS, NUMBERS>, const CONTACTS: usize, const NUMBERS: usize>(
    sides: &[Side<R>; 2],
    swapped: bool,
    is_needed: R::Mask,
    task: Task<R>,
) {
    R::call(
        #[inline(always)]
        || {
            let pair = Ordered::new(F::ARE_ALIKE, swapped, sides);
            let couple = pair.couple();
            let slopes = Slopes::new();
            let tape = Tape::new(&slopes);
            let traced = couple.variables(&|value| tape.variable(value));
            let spots = F::contacts(&F::features(&couple), &traced);
            // As in [`witness`], unused contacts are at A's origin.
            let mut there = [R::zero(); CONTACTS];
            for k in 0..CONTACTS {
                there[k] = total::indicator::<R>(spots[k].weight.value().gt(R::zero()));
            }
            match task {
                Task::Pull { gradients, reactions } => {
                    let (grad, weights) = gradients;
                    let mut most = [R::zero(); CONTACTS];
                    for k in 0..CONTACTS {
                        most[k] = weights[k].abs();
                        for number in grad.of(k) {
                            most[k] = most[k].max(number.abs());
                        }
                    }
                    let tape = (&tape, F::places(), wanted(&most));
                    let mut fixed = [[couple.t; 3]; CONTACTS];
                    for k in 0..CONTACTS {
                        let Contact { normal, point_a, point_b, .. } = spots[k].contact;
                        let place = [scalar::values(point_a), scalar::values(point_b)];
                        fixed[k] = [scalar::values(normal), scale(there[k], place[0]), scale(there[k], place[1])];
                    }
                    let fixed = (&fixed, &there);
                    vjp_back::<R, CONTACTS, NUMBERS>(tape, &pair, &couple, fixed, is_needed, gradients, reactions);
                }
                // Each partial derivative is read once for all motions that go together. That is half of them where all
                // take too much memory.
                Task::Push { rates } => {
                    let (tape, there) = ((&tape, F::places(), wanted(&there)), (is_needed, &there[..]));
                    if size_of::<R>() > 32 {
                        jvp::<R, 3, NUMBERS>(tape, &pair, &couple, there, rates);
                    } else {
                        jvp::<R, 6, NUMBERS>(tape, &pair, &couple, there, rates);
                    }
                }
            }
        },
    );
}

/// The contacts whose number is positive in any world.
#[inline(always)]
fn wanted<R: Real>(numbers: &[R]) -> Results {
    let mut wanted = 0;
    for k in 0..numbers.len() {
        wanted |= Results::from(!R::is_nowhere(numbers[k].gt(R::zero()))) << k;
    }
    wanted
}

/// The vector-Jacobian product of [`derivatives`]. `fixed` has the normal and points of each contact; `there` is 1 for
/// contacts that have weight.
#[inline(always)]
fn vjp_back<R: Real, const CONTACTS: usize, const NUMBERS: usize>(
    (tape, places, wanted): (&Tape<R>, &Places, Results),
    pair: &Ordered<R>,
    couple: &Couple<R>,
    (fixed, there): (&[[Vec3<R>; 3]; CONTACTS], &[R; CONTACTS]),
    is_needed: R::Mask,
    (grad, weights): (&Gradients<R>, &[R]),
    (on_a, on_b): &mut (Reaction<R>, Reaction<R>),
) {
    let axes = &pair.a.pose.axes;
    let mut by = [R::zero(); NUMBERS];
    // The wrench of a common motion of both shapes, about A's origin.
    let (mut force, mut moment) = (splat([0.0; 3]), splat([0.0; 3]));
    for k in 0..CONTACTS {
        let grad = exchanged(pair.swapped, grad.get(k));
        let (by_a, by_b) = (rotate(axes, grad.point_a), rotate(axes, grad.point_b));
        let by_n = rotate(axes, grad.normal);
        let Spot { contact: Contact { normal, point_a, point_b, phi }, weight } = &places.spots[k];
        by[*phi] += grad.phi;
        by[*weight] += weights[k];
        for i in 0..3 {
            by[point_a[i]] += there[k] * by_a[i];
            by[point_b[i]] += there[k] * by_b[i];
            by[normal[i]] += by_n[i];
        }
        force = add(force, add(by_a, by_b));
        let [normal, point_a, point_b] = fixed[k];
        let arms = add(cross(point_a, by_a), cross(point_b, by_b));
        moment = add(moment, add(arms, cross(normal, by_n)));
    }
    tape.vjp(&places.structure, wanted, &mut by);

    let v = inlined(
        #[inline(always)]
        |k: usize| [by[k], by[k + 1], by[k + 2]],
    );
    let force_b = v(1);
    let turn = inlined(
        #[inline(always)]
        |k: usize| cross(couple.b[k], v(4 + 3 * k)),
    );
    let moment_b = add(turn(0), add(turn(1), turn(2)));
    let moment_a = sub(sub(moment, moment_b), cross(couple.t, force_b));
    let size = inlined(
        #[inline(always)]
        |k: usize| [by[k], by[k + 1], by[k + 2], by[k + 3]],
    );
    let reaction_b = Reaction { force: pair.turned(force_b), moment: pair.turned(moment_b), size: size(17) };
    let reaction_a =
        Reaction { force: pair.turned(sub(force, force_b)), moment: pair.turned(moment_a), size: size(13) };
    let none = Reaction::none();
    for (on, first, second) in [(on_a, &reaction_b, &reaction_a), (on_b, &reaction_a, &reaction_b)] {
        let mut all = Reaction::none();
        all.accumulate(pair.swapped, first, second);
        on.accumulate(is_needed, &all, &none);
    }
}

/// The Jacobian of [`derivatives`] by six unit motions, `AT_ONCE` of them at a time.
#[inline(always)]
fn jvp<R: Real, const AT_ONCE: usize, const NUMBERS: usize>(
    (tape, places, wanted): (&Tape<R>, &Places, Results),
    pair: &Ordered<R>,
    couple: &Couple<R>,
    (is_needed, there): (R::Mask, &[R]),
    out: &mut [R],
) {
    let mut rates = Rates::<R, AT_ONCE, NUMBERS>::new();
    let set = inlined(
        #[inline(always)]
        |mask: R::Mask, to: &mut R, value: R| *to = R::select(mask, value, *to),
    );
    let (of_b, own) = out.split_at_mut(1);
    set(is_needed, &mut of_b[0], R::select(pair.swapped, R::zero(), R::one()));
    for part in R::parts(0..6 / AT_ONCE) {
        let mut moved = [[R::zero(); AT_ONCE]; VARIABLES];
        for k in 0..AT_ONCE {
            let motion = AT_ONCE * part + k;
            let mut unit = [0.0; 3];
            unit[motion % 3] = 1.0;
            // The unit motion is along the world's axes.
            let unit = rotate(&pair.a.pose.axes, splat(unit));
            for i in 0..3 {
                if motion < 3 {
                    moved[i][k] = unit[i];
                } else {
                    let turned = cross(unit, couple.b[i]);
                    for j in 0..3 {
                        moved[3 + 3 * i + j][k] = turned[j];
                    }
                }
            }
        }
        tape.jvp(&places.structure, wanted, &moved, &mut rates);
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
            for point in 0..places.spots.len() {
                let Spot { contact: Contact { normal, point_a, point_b, phi }, weight } = places.spots[point];
                let own = &mut own[OWN_RATES * point..OWN_RATES * (point + 1)];
                let rates = Contact {
                    normal: vector(normal),
                    point_a: vector(point_a),
                    point_b: vector(point_b),
                    phi: rate(phi),
                };
                let rates = exchanged(pair.swapped, rates);
                let mask = is_needed.and(there[point].gt(R::zero()));
                for i in 0..3 {
                    set(mask, &mut own[6 * i + motion], rates.normal[i]);
                    set(mask, &mut own[18 + 6 * i + motion], rates.point_a[i]);
                    set(mask, &mut own[36 + 6 * i + motion], rates.point_b[i]);
                }
                set(mask, &mut own[54 + motion], rates.phi);
                set(mask, &mut own[60 + motion], rate(weight));
            }
        }
    }
}
