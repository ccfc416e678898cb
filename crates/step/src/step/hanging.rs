//! The stiffness of bodies that hang from their contacts: see [`crate::contact::lanes::hanging`]. It is added to P as that of
//! [rolling](super::rolling).

use crate::contact::lanes::hanging::{self, OF_BODY, OF_CONTACT, SUMS};
use crate::model::Model;
use crate::parameters::ParameterPlaces;
use fingertip_lanes::lane::{Real, copy};
use fingertip_lanes::vector::{add_vec3, scale, vec3_at};
use fingertip_scene::{JointKind, Shape};

use super::problem::ProblemTables;
use super::stiffened::{ContactLayout, Stiffened, Terms};

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
        v[SUMS] = par[at.mass + self.body];
        copy(&mut v[5..8], &vec3_at(par, at.gravity));
        copy(&mut v[8..14], &par[at.inertia + 6 * self.body..at.inertia + 6 * (self.body + 1)]);
        (v[14], v[15]) = (par[at.epsilon], par[at.h]);
        v
    }

    /// Gathers the operands of a contact's [`hanging::part`].
    #[inline(always)]
    pub(super) fn holding<R: Real>(
        &self,
        at: &ParameterPlaces,
        on_b: bool,
        [kin, par]: [&[R]; 2],
        (geometry, weight): (&[R], R),
    ) -> [R; OF_CONTACT] {
        let mut v = [R::zero(); OF_CONTACT];
        let normal = vec3_at(geometry, 0);
        copy(&mut v[..3], &if on_b { scale(-R::one(), normal) } else { normal });
        copy(&mut v[3..6], &vec3_at(geometry, if on_b { 6 } else { 3 }));
        (v[6], v[7]) = (geometry[9], weight);
        copy(&mut v[8..11], &vec3_at(kin, self.centre));
        (v[11], v[12]) = (par[at.kappa], par[at.mass + self.body]);
        copy(&mut v[13..], &vec3_at(par, at.gravity));
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
        to_par[at.mass + self.body] += by[SUMS];
        add_vec3(to_par, at.gravity, vec3_at(&by, 5));
        for i in 0..6 {
            to_par[at.inertia + 6 * self.body + i] += by[8 + i];
        }
        to_par[at.epsilon] += by[14];
        to_par[at.h] += by[15];
        let mut grads = [R::zero(); SUMS];
        copy(&mut grads, &by[..SUMS]);
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
                    let normal = vec3_at(&by, 0);
                    add_vec3(to_contact, 0, if on_b { scale(-R::one(), normal) } else { normal });
                    add_vec3(to_contact, if on_b { 6 } else { 3 }, vec3_at(&by, 3));
                    to_contact[9] += by[6];
                    to_contact[layout.weight] += by[7];
                    add_vec3(to_kin, self.centre, vec3_at(&by, 8));
                    to_par[at.kappa] += by[11];
                    to_par[at.mass + self.body] += by[12];
                    add_vec3(to_par, at.gravity, vec3_at(&by, 13));
                },
            );
        }
    }
}
