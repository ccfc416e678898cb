//! The stiffness against rolling of ellipsoids, and of what rests on fixed round supports: see
//! [`crate::contact::lanes::rolling`]. It is [added to P](super::stiffened), and so is that of what
//! [hangs](super::hanging).

use std::ops::Range;
use std::sync::Arc;

use candle_core::{Result, Tensor};

use crate::contact::lanes::rolling::{self, AT, Curved, OPERANDS, axis};
use crate::contact::numbers::GEOMETRY;
use crate::kinematics::{Frames, POSE};
use crate::model::Model;
use crate::parameters::Parameters;
use crate::solve::Structure;
use crate::tensor::beside;
use crate::tensor::operation::{Function, Operation, Signature};
use fingertip_lanes::lane::{Lane, Real, Zip, clear, copy, inlined};
use fingertip_lanes::vector::{add_vec3, vec3_at};
use fingertip_scene::Shape;

use super::hanging::Hanger;
use super::problem::ProblemTables;
use super::stiffened::{ContactLayout, Stiffened, Terms, give_contact, put_contact};

/// The contacts that resist rolling and the bodies that may hang, and the entries of P to which their stiffness is
/// added.
#[derive(Debug)]
pub(super) struct RollingTables {
    pub(super) contacts: Vec<Roller>,
    /// The bodies that may hang from their contacts.
    pub(super) hangers: Vec<Hanger>,
    pub(super) stiffened: Stiffened,
}

/// A contact that resists rolling: of an ellipsoid, or of a body that rolls on the side of a fixed cylinder or capsule.
#[derive(Debug)]
pub(super) struct Roller {
    pub(super) contact: usize,
    /// Is the rolling body on side B?
    pub(super) on_b: bool,
    pub(super) shape: usize,
    /// The fixed line (a cylinder's or capsule's side) that the body rolls on; none if the body itself is an ellipsoid.
    line: Option<Line>,
    /// Index of the rolling body among the inertial bodies. `centre` is the offset of its centre of mass in the
    /// kinematics' results.
    pub(super) body: usize,
    centre: usize,
    terms: Terms,
}

/// The side of a fixed cylinder or capsule.
#[derive(Debug)]
struct Line {
    shape: usize,
    /// Is the rolling body's own surface a line too, that of a cylinder or capsule?
    under_line: bool,
}

/// Length of a pose's point, which is before its axes.
const POINT: usize = 3;
/// Offset of a line's axis (the z axis of its shape) in the shape's pose of twelve numbers.
const AXIS: usize = 9;

impl Roller {
    /// Which side of the contact is curved: a fixed line, or the rolling ellipsoid.
    #[inline(always)]
    pub(super) fn curved(&self) -> Curved {
        if self.line.is_some() { Curved::Line } else { Curved::Ellipsoid }
    }

    /// Those of the operands' axes that turn with the rolling body.
    pub(super) fn carried(&self) -> Range<usize> {
        match &self.line {
            None => 0..3,
            Some(Line { under_line: true, .. }) => 1..2,
            Some(_) => 0..0,
        }
    }
}

impl RollingTables {
    /// Finds the contacts of a model that resist rolling. There are none if the model's `rolling` is off, or for a
    /// second-order step, whose `problem` has no entries.
    pub(super) fn new(model: &Model, problem: &ProblemTables) -> Self {
        let mut tables = Self { contacts: Vec::new(), hangers: Vec::new(), stiffened: Stiffened::new(model, problem) };
        let all = model.pairs.pair_of_contact.iter().enumerate();
        for (contact, &pair) in all.filter(|_| model.params.rolling) {
            let pair = &model.pairs.pairs[pair];
            for (shape, other, on_b) in [(pair.a, pair.b, false), (pair.b, pair.a, true)] {
                tables.add(model, problem, (contact, on_b), [shape, other]);
            }
        }
        for body in (0..model.inertial.len()).filter(|_| model.params.rolling) {
            let hanger = Hanger::new(model, problem, body, &mut tables.stiffened);
            tables.hangers.extend(hanger);
        }
        tables
    }

    /// Does nothing stiffen P?
    pub(super) fn is_empty(&self) -> bool {
        self.contacts.is_empty() && self.hangers.is_empty()
    }

    fn add(
        &mut self,
        model: &Model,
        problem: &ProblemTables,
        (contact, on_b): (usize, bool),
        [shape, other]: [usize; 2],
    ) {
        let of = &model.shapes[shape];
        let Some(body) = model.inertial.iter().position(|&body| body == of.body) else { return };
        let is_line = |shape: &Shape| matches!(shape, Shape::Cylinder { .. } | Shape::Capsule { .. });
        let on = &model.shapes[other];
        let line = match of.shape {
            Shape::Ellipsoid { .. } => None,
            Shape::Sphere { .. } | Shape::HalfSpace => return,
            _ if is_line(&on.shape) && model.tree.path(on.body).is_empty() => {
                Some(Line { shape: other, under_line: is_line(&of.shape) })
            }
            _ => return,
        };
        let terms = self.stiffened.terms(problem.turning(&model.tree, body));
        if !terms.is_empty() {
            self.contacts.push(Roller { contact, on_b, shape, line, body, centre: problem.pose(body), terms });
        }
    }

    /// Gathers the operands of [`rolling::stiffness`] for a contact.
    #[inline(always)]
    pub(super) fn operands<R: Real>(
        &self,
        roller: &Roller,
        [kin, par]: [&[R]; 2],
        (geometry, weight): (&[R], R),
    ) -> [R; OPERANDS] {
        let mut v = [R::zero(); OPERANDS];
        let at = &self.stiffened.at;
        put_contact(&mut v, roller.on_b, (geometry, weight));
        copy(&mut v[AT.centre], &vec3_at(kin, roller.centre));
        let (own, [first, second, third]) = (POSE * roller.shape, [0, 1, 2].map(|k| AT.sizes.start + k));
        match &roller.line {
            None => {
                copy(&mut v[AT.axes], &kin[own + POINT..own + POSE]);
                copy(&mut v[AT.sizes], &vec3_at(par, at.sizes + Shape::SIZES * roller.shape));
            }
            Some(line) => {
                copy(&mut v[axis(0)], &vec3_at(kin, POSE * line.shape + AXIS));
                (v[first], v[second]) = (par[at.sizes + Shape::SIZES * line.shape], R::one());
                if line.under_line {
                    copy(&mut v[axis(1)], &vec3_at(kin, own + AXIS));
                    (v[second], v[third]) = (par[at.sizes + Shape::SIZES * roller.shape], R::one());
                }
            }
        }
        (v[AT.kappa.start], v[AT.mass.start]) = (par[at.kappa], par[at.mass + roller.body]);
        copy(&mut v[AT.gravity], &vec3_at(par, at.gravity));
        copy(&mut v[AT.inertia], &par[at.inertia + 6 * roller.body..at.inertia + 6 * (roller.body + 1)]);
        (v[AT.epsilon.start], v[AT.h.start]) = (par[at.epsilon], par[at.h]);
        v
    }

    /// Writes the rolling stiffness that is added to P, in the order of [`Stiffened::entries`]. `of` gives a contact's
    /// geometry and weight.
    #[inline(always)]
    pub(super) fn fill<'a, R: Real>(&self, [kin, par]: [&[R]; 2], of: impl Fn(usize) -> (&'a [R], R), out: &mut [R]) {
        clear(out);
        for roller in R::parts(&self.contacts) {
            let contact = of(roller.contact);
            R::when(
                contact.1.gt(R::zero()),
                out,
                #[inline(always)]
                |out| {
                    let v = self.operands(roller, [kin, par], contact);
                    let m = rolling::stiffness(roller.curved(), self.stiffened.k, &v);
                    self.stiffened.add(&roller.terms, kin, m, out);
                },
            );
        }
        for hanger in R::parts(&self.hangers) {
            hanger.fill(&self.stiffened, [kin, par], &of, out);
        }
    }

    /// The vector-Jacobian product of [`RollingTables::fill`]: adds to the gradients of the kinematics' results, the
    /// parameters and the contacts' geometry and weights, given the gradients of P's entries.
    #[inline(always)]
    pub(super) fn vjp<'a, R: Real>(
        &self,
        [kin, par]: [&[R]; 2],
        of: impl Fn(usize) -> (&'a [R], R),
        grad_p: impl Fn(usize) -> R,
        (to_kin, to_par): (&mut [R], &mut [R]),
        (to_contacts, layout): (&mut [R], ContactLayout),
    ) {
        for roller in R::parts(&self.contacts) {
            let contact = of(roller.contact);
            let at = layout.numbers * roller.contact;
            let to_contact = &mut to_contacts[at..at + layout.numbers];
            R::when(
                contact.1.gt(R::zero()),
                &mut (&mut *to_kin, &mut *to_par, to_contact),
                #[inline(always)]
                |(to_kin, to_par, to_contact)| {
                    let v = self.operands(roller, [kin, par], contact);
                    let m = rolling::stiffness(roller.curved(), self.stiffened.k, &v);
                    R::when(
                        rolling::holds(&m),
                        &mut (&mut **to_kin, &mut **to_par, &mut **to_contact),
                        #[inline(always)]
                        |(to_kin, to_par, to_contact)| {
                            let grad_m = self.stiffened.vjp(&roller.terms, kin, m, &grad_p, to_kin);
                            let [by] = rolling::vjp(roller.curved(), self.stiffened.k, &v, [&grad_m]);
                            self.give(roller, &by, [to_kin, to_par], (to_contact, layout.weight));
                        },
                    );
                },
            );
        }
        for hanger in R::parts(&self.hangers) {
            let to = (&mut *to_kin, &mut *to_par);
            hanger.vjp(&self.stiffened, [kin, par], &of, &grad_p, to, (&mut *to_contacts, layout));
        }
    }

    /// Adds gradients by [`RollingTables::operands`] to those of the numbers that these were gathered from.
    #[inline(always)]
    fn give<R: Real>(
        &self,
        roller: &Roller,
        by: &[R; OPERANDS],
        [to_kin, to_par]: [&mut [R]; 2],
        (to_contact, weight): (&mut [R], usize),
    ) {
        let at = &self.stiffened.at;
        give_contact(by, roller.on_b, (to_contact, weight));
        add_vec3(to_kin, roller.centre, vec3_at(by, AT.centre.start));
        let (own, [first, second]) = (POSE * roller.shape, [0, 1].map(|k| AT.sizes.start + k));
        match &roller.line {
            None => {
                for k in 0..3 {
                    add_vec3(to_kin, own + POINT + 3 * k, vec3_at(by, axis(k).start));
                }
                add_vec3(to_par, at.sizes + Shape::SIZES * roller.shape, vec3_at(by, AT.sizes.start));
            }
            Some(line) => {
                add_vec3(to_kin, POSE * line.shape + AXIS, vec3_at(by, axis(0).start));
                to_par[at.sizes + Shape::SIZES * line.shape] += by[first];
                if line.under_line {
                    add_vec3(to_kin, own + AXIS, vec3_at(by, axis(1).start));
                    to_par[at.sizes + Shape::SIZES * roller.shape] += by[second];
                }
            }
        }
        to_par[at.kappa] += by[AT.kappa.start];
        to_par[at.mass + roller.body] += by[AT.mass.start];
        add_vec3(to_par, at.gravity, vec3_at(by, AT.gravity.start));
        for i in 0..6 {
            to_par[at.inertia + 6 * roller.body + i] += by[AT.inertia.start + i];
        }
        to_par[at.epsilon] += by[AT.epsilon.start];
        to_par[at.h] += by[AT.h.start];
    }

    /// The additions to the problem's numbers (B, np + nv + 1 + nl): see [`ProblemTables::operand`]. `contacts` has
    /// each contact's geometry and weight (B, 11 nc).
    pub(super) fn operand(
        self: &Arc<Self>,
        structure: &Arc<Structure>,
        frames: &Frames,
        contacts: &Tensor,
        parameters: &Parameters,
    ) -> Result<Tensor> {
        let kin = beside(&[&frames.poses.flatten_from(1)?, &frames.screws], 1)?;
        let n_contacts = contacts.dim(1)?;
        let op = RollingOp { tables: self.clone(), structure: structure.clone(), n_kin: kin.dim(1)?, n_contacts };
        kin.apply_op3(contacts, &parameters.packed()?, Operation::rowwise(op, &structure.kernels))
    }
}

/// (poses and screws, contacts, parameters) → additions to [P | g | κ | gaps].
struct RollingOp {
    tables: Arc<RollingTables>,
    structure: Arc<Structure>,
    n_kin: usize,
    n_contacts: usize,
}

impl RollingOp {
    const LAYOUT: ContactLayout = ContactLayout { numbers: GEOMETRY + 1, weight: GEOMETRY };
}

/// Access to a contact's geometry and weight by its index.
#[inline(always)]
fn placed<'a, R: Real>(contacts: &'a [R]) -> impl Fn(usize) -> (&'a [R], R) {
    inlined(
        #[inline(always)]
        |contact: usize| {
            let own = &contacts[(GEOMETRY + 1) * contact..(GEOMETRY + 1) * (contact + 1)];
            (&own[..GEOMETRY], own[GEOMETRY])
        },
    )
}

impl Function<3> for RollingOp {
    fn signature(&self) -> Signature<3> {
        let s = &self.structure;
        let n = self.tables.stiffened.at.n;
        let operands = [("poses and screws", self.n_kin), ("contacts", self.n_contacts), ("parameters", n)];
        Signature { name: "rolling", operands, width: s.np() + s.nv + 1 + s.n_gaps() }
    }

    fn scratch(&self) -> usize {
        self.tables.stiffened.entries.len()
    }

    #[inline(always)]
    fn value<R: Lane>(&self, [kin, contacts, par]: [&[R]; 3], more: &mut [R], out: &mut [R]) {
        self.tables.fill([kin, par], placed(contacts), more);
        clear(out);
        for (&entry, &more) in self.tables.stiffened.entries.iter().zip_inline(&*more) {
            out[entry] = more;
        }
    }

    #[inline(always)]
    fn vjp<R: Lane>(&self, [kin, contacts, par]: [&[R]; 3], _: &mut [R], grad: &[R], to: [&mut [R]; 3]) {
        let [to_kin, to_contacts, to_par] = to;
        let grad_p = inlined(
            #[inline(always)]
            |entry: usize| grad[entry],
        );
        let contacts = placed(contacts);
        self.tables.vjp([kin, par], contacts, grad_p, (to_kin, to_par), (to_contacts, Self::LAYOUT));
    }
}
