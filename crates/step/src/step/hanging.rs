//! The stiffness of bodies that hang from their contacts: see [`crate::contact::lanes::hanging`]. It is added to P as
//! that of [rolling](super::rolling).

use crate::contact::lanes::hanging::{self, BODY, CONTACT, OF_BODY, OF_CONTACT, SUMS};
use crate::model::Model;
use crate::parameters::ParameterPlaces;
use fingertip_lanes::lane::{Real, copy};
use fingertip_lanes::vector::{add_vec3, vec3_at};
use fingertip_scene::{JointKind, Shape};

use super::problem::ProblemTables;
use super::stiffened::{ContactLayout, Stiffened, Terms, give_contact, put_contact};

/// A body that may hang: one that moves freely by itself, and is no ball.
#[derive(Debug)]
pub(super) struct Hanger {
    /// Its contacts, and whether it is their side B.
    pub(super) contacts: Vec<(usize, bool)>,
    /// Index among the inertial bodies, and the offset of its centre of mass in the kinematics' results.
    body: usize,
    centre: usize,
    terms: Terms,
}

impl Hanger {
    /// An inertial body of a model, if it may hang.
    pub(super) fn new(model: &Model, problem: &ProblemTables, body: usize, stiffened: &mut Stiffened) -> Option<Self> {
        let (index, tree) = (model.inertial[body], &model.tree);
        let moves = &tree.bodies[index];
        let alone = moves.parent == 0 && tree.bodies.iter().skip(1).all(|other| other.parent != index);
        let shapes: Vec<_> = model.shapes.iter().filter(|shape| shape.body == index).collect();
        let is_ball = matches!(shapes[..], [one] if matches!(one.shape, Shape::Sphere { .. }));
        let floats = matches!(moves.kind, JointKind::Floating | JointKind::Planar);
        let passive = tree.passive();
        let free = tree.path(index).iter().all(|&screw| passive.contains(&tree.screw_dof[screw]));
        if !(alone && floats && free) || is_ball {
            return None;
        }
        let sides = |(contact, &pair): (usize, &usize)| {
            let pair = &model.pairs.pairs[pair];
            let on_b = [pair.a, pair.b].iter().position(|&shape| model.shapes[shape].body == index)?;
            Some((contact, on_b == 1))
        };
        let contacts: Vec<_> = model.pairs.pair_of_contact.iter().enumerate().filter_map(sides).collect();
        let turning = problem.turning(tree, body);
        let terms = stiffened.terms(turning);
        let hangs = !contacts.is_empty() && !terms.is_empty();
        hangs.then(|| Self { contacts, body, centre: problem.pose(body), terms })
    }

    /// Gathers the operands of a body's [`hanging::stiffness`]; the sums are left 0.
    #[inline(always)]
    pub(super) fn weighed<R: Real>(&self, at: &ParameterPlaces, par: &[R]) -> [R; OF_BODY] {
        let mut v = [R::zero(); OF_BODY];
        v[BODY.mass.start] = par[at.mass + self.body];
        copy(&mut v[BODY.gravity], &vec3_at(par, at.gravity));
        copy(&mut v[BODY.inertia], &par[at.inertia + 6 * self.body..at.inertia + 6 * (self.body + 1)]);
        (v[BODY.epsilon.start], v[BODY.h.start]) = (par[at.epsilon], par[at.h]);
        v
    }

    /// Gathers the operands of a contact's [`hanging::part`].
    #[inline(always)]
    pub(super) fn holding<R: Real>(
        &self,
        at: &ParameterPlaces,
        on_b: bool,
        [kin, par]: [&[R]; 2],
        contact: (&[R], R),
    ) -> [R; OF_CONTACT] {
        let mut v = [R::zero(); OF_CONTACT];
        put_contact(&mut v, on_b, contact);
        copy(&mut v[CONTACT.centre], &vec3_at(kin, self.centre));
        (v[CONTACT.kappa.start], v[CONTACT.mass.start]) = (par[at.kappa], par[at.mass + self.body]);
        copy(&mut v[CONTACT.gravity], &vec3_at(par, at.gravity));
        v
    }

    /// Adds a body's contacts to the sums among the operands of its stiffness.
    #[inline(always)]
    pub(super) fn sum_up<'a, R: Real>(
        &self,
        stiffened: &Stiffened,
        [kin, par]: [&[R]; 2],
        of: &impl Fn(usize) -> (&'a [R], R),
        v: &mut [R; OF_BODY],
    ) {
        for &(contact, on_b) in R::parts(&self.contacts) {
            let numbers = of(contact);
            R::when(
                numbers.1.gt(R::zero()),
                v,
                #[inline(always)]
                |v| {
                    let part = hanging::part(stiffened.k, &self.holding(&stiffened.at, on_b, [kin, par], numbers));
                    for i in 0..SUMS {
                        v[i] += part[i];
                    }
                },
            );
        }
    }

    /// Adds the body's stiffness to that of rolling: see [`RollingTables::fill`](super::rolling::RollingTables::fill).
    #[inline(always)]
    pub(super) fn fill<'a, R: Real>(
        &self,
        stiffened: &Stiffened,
        [kin, par]: [&[R]; 2],
        of: &impl Fn(usize) -> (&'a [R], R),
        out: &mut [R],
    ) {
        let weighed = self.weighed(&stiffened.at, par);
        R::when(
            hanging::may_swing(&weighed),
            out,
            #[inline(always)]
            |out| {
                let mut v = weighed;
                self.sum_up(stiffened, [kin, par], of, &mut v);
                stiffened.add(&self.terms, kin, hanging::stiffness(&v), out);
            },
        );
    }

    /// The vector-Jacobian product of [`Hanger::fill`]: see [`RollingTables::vjp`](super::rolling::RollingTables::vjp).
    #[inline(always)]
    pub(super) fn vjp<'a, R: Real>(
        &self,
        stiffened: &Stiffened,
        [kin, par]: [&[R]; 2],
        of: &impl Fn(usize) -> (&'a [R], R),
        grad_p: &impl Fn(usize) -> R,
        (to_kin, to_par): (&mut [R], &mut [R]),
        (to_contacts, layout): (&mut [R], ContactLayout),
    ) {
        let weighed = self.weighed(&stiffened.at, par);
        R::when(
            hanging::may_swing(&weighed),
            &mut (to_kin, to_par, to_contacts),
            #[inline(always)]
            |(to_kin, to_par, to_contacts)| {
                let mut v = weighed;
                self.sum_up(stiffened, [kin, par], of, &mut v);
                R::when(
                    hanging::holds(&v),
                    &mut (&mut **to_kin, &mut **to_par, &mut **to_contacts),
                    #[inline(always)]
                    |(to_kin, to_par, to_contacts)| {
                        let to = (&mut **to_kin, &mut **to_par);
                        self.vjp_held((stiffened, &v), [kin, par], of, grad_p, to, (to_contacts, layout));
                    },
                );
            },
        );
    }

    /// [`Hanger::vjp`] from the operands of the stiffness.
    #[inline(always)]
    fn vjp_held<'a, R: Real>(
        &self,
        (stiffened, v): (&Stiffened, &[R; OF_BODY]),
        [kin, par]: [&[R]; 2],
        of: &impl Fn(usize) -> (&'a [R], R),
        grad_p: &impl Fn(usize) -> R,
        (to_kin, to_par): (&mut [R], &mut [R]),
        (to_contacts, layout): (&mut [R], ContactLayout),
    ) {
        let grad_m = stiffened.vjp(&self.terms, kin, hanging::stiffness(v), grad_p, to_kin);
        let [by] = hanging::vjp(v, [&grad_m]);
        let at = &stiffened.at;
        to_par[at.mass + self.body] += by[BODY.mass.start];
        add_vec3(to_par, at.gravity, vec3_at(&by, BODY.gravity.start));
        for i in 0..6 {
            to_par[at.inertia + 6 * self.body + i] += by[BODY.inertia.start + i];
        }
        to_par[at.epsilon] += by[BODY.epsilon.start];
        to_par[at.h] += by[BODY.h.start];
        let mut grads = [R::zero(); SUMS];
        copy(&mut grads, &by[BODY.sums]);
        for &(contact, on_b) in R::parts(&self.contacts) {
            let numbers = of(contact);
            let to_contact = &mut to_contacts[layout.numbers * contact..layout.numbers * (contact + 1)];
            R::when(
                numbers.1.gt(R::zero()),
                &mut (&mut *to_kin, &mut *to_par, to_contact),
                #[inline(always)]
                |(to_kin, to_par, to_contact)| {
                    let v = self.holding(at, on_b, [kin, par], numbers);
                    let [by] = hanging::vjp_part(stiffened.k, &v, [&grads]);
                    give_contact(&by, on_b, (to_contact, layout.weight));
                    add_vec3(to_kin, self.centre, vec3_at(&by, CONTACT.centre.start));
                    to_par[at.kappa] += by[CONTACT.kappa.start];
                    to_par[at.mass + self.body] += by[CONTACT.mass.start];
                    add_vec3(to_par, at.gravity, vec3_at(&by, CONTACT.gravity.start));
                },
            );
        }
    }
}
