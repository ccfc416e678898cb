//! The part of −∂r/∂q that comes from the stiffness M of what hangs, as the moment M ω. Its axes do not turn with the
//! body, nor do those that the body turns about: only the sums over its contacts change.

use crate::contact::lanes::hanging::{self, BODY, SUMS};
use crate::kinematics::spatial::Twist;
use fingertip_lanes::lane::{Lane, copy};
use fingertip_lanes::vector::zero;

use super::super::super::hanging::Hanger;
use super::super::memory::Numbers;
use super::super::paths::Jacobian;
use super::super::plan::Plan;
use super::balance::sum_up;
use super::rolling::{by_stiffness, sum_of};

impl Plan {
    /// Adds one hanging body's part of −∂r/∂q to x.
    #[inline(always)]
    pub(super) fn push_hanger<R: Lane>(
        &self,
        hanger: &Hanger,
        m: &Numbers<&mut [R]>,
        delta: &[R],
        to: &mut Jacobian<&mut [R]>,
    ) {
        let Jacobian { x, sums, geometry, share, .. } = to;
        let rates = (&**geometry, &**share);
        let weighed = hanger.weighed(&self.rolling.stiffened.at, m.par);
        R::when(
            hanging::may_swing(&weighed),
            &mut (&mut **x, &mut **sums),
            #[inline(always)]
            |(x, sums)| {
                let mut v = weighed;
                hanger.sum_up(&self.rolling.stiffened, [m.kin, m.par], &self.placed(m.geometry, m.share), &mut v);
                R::when(
                    hanging::holds(&v),
                    &mut (&mut **x, &mut **sums),
                    #[inline(always)]
                    |(x, sums)| {
                        let (first, on_b) = hanger.contacts[0];
                        let path = &self.paths.contacts[first][usize::from(on_b)];
                        sum_up(path, self.screws(m.kin), delta, true, sums);
                        let turn = Twist::read(sums, 0).omega;
                        let by = hanging::vjp(&v, by_stiffness(turn).each_ref());
                        let mut by_sums = [[R::zero(); SUMS]; 3];
                        for i in 0..3 {
                            copy(&mut by_sums[i], &by[i][BODY.sums]);
                        }
                        for &held in R::parts(&hanger.contacts) {
                            self.push_held((hanger, held), m, &by_sums, rates, x);
                        }
                    },
                );
            },
        );
    }

    /// Adds the part of one of its contacts, given the derivatives of M ω by the sums. `rates` are those of the
    /// contacts' geometry and shares.
    #[inline(always)]
    fn push_held<R: Lane>(
        &self,
        (hanger, (contact, on_b)): (&Hanger, (usize, bool)),
        m: &Numbers<&mut [R]>,
        by_sums: &[[R; SUMS]; 3],
        rates: (&[R], &[R]),
        x: &mut [R],
    ) {
        let numbers = self.placed(m.geometry, m.share)(contact);
        R::when(
            numbers.1.gt(R::zero()),
            x,
            #[inline(always)]
            |x| {
                let path = &*self.paths.contacts[contact][usize::from(on_b)];
                let v = hanger.holding(&self.rolling.stiffened.at, on_b, [m.kin, m.par], numbers);
                let by = hanging::vjp_part(self.rolling.stiffened.k, &v, by_sums.each_ref());
                for (slot, &place) in R::parts(self.structure.contacts[contact].dofs.iter().enumerate()) {
                    let rates = self.rates_of((contact, on_b, path), slot, &v, m, rates);
                    self.push_change(path, place, self.screws(m.kin), sum_of(&by, &rates, zero()), x);
                }
            },
        );
    }
}
