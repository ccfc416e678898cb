//! Spatial (six-dimensional) motions, forces and inertias, all in world axes and about the world's origin.
//!
//! A twist (ω; m) moves the point p with ω × p + m. A wrench is (moment about the origin; force), and
//! twist · wrench is power. Featherstone, *Rigid Body Dynamics Algorithms*, ch. 2, with the same order of the halves.

use fingertip_lanes::lane::{Real, copy};
use fingertip_lanes::vector::{Vec3, add, axpy, cross, dot, scale, sub, zero};

/// A motion: angular part, and the velocity of the material point at the world's origin.
#[derive(Clone, Copy, Debug)]
pub struct Twist<R> {
    /// Angular part ω, rad/s for a velocity.
    pub omega: Vec3<R>,
    /// Linear part m, at the world's origin, m/s for a velocity.
    pub m: Vec3<R>,
}

impl<R: Real> Twist<R> {
    /// The velocity of the material point that is at p: ω × p + m.
    #[inline(always)]
    pub fn velocity(&self, p: Vec3<R>) -> Vec3<R> {
        add(self.m, cross(self.omega, p))
    }
}

/// A force: moment about the world's origin, and force.
#[derive(Clone, Copy, Debug)]
pub struct Wrench<R> {
    /// Moment about the world's origin, N·m.
    pub moment: Vec3<R>,
    /// Force, N.
    pub force: Vec3<R>,
}

/// Mass, first moment and inertia tensor about the world's origin.
#[derive(Clone, Copy, Debug)]
pub struct SpatialInertia<R> {
    /// Mass M, kg.
    pub mass: R,
    /// M c, c the centre of mass; kg·m.
    pub first: Vec3<R>,
    /// xx, xy, xz, yy, yz, zz about the origin, kg·m².
    pub second: [R; 6],
}

macro_rules! six_numbers {
    ($type:ident, $first:ident, $second:ident) => {
        impl<R: Real> $type<R> {
            /// Zero in both halves.
            #[inline(always)]
            pub fn zero() -> Self {
                Self { $first: zero(), $second: zero() }
            }
            /// Reads the motion or force with index `i` from rows of six numbers.
            #[inline(always)]
            pub fn read(from: &[R], i: usize) -> Self {
                let from = &from[6 * i..6 * i + 6];
                Self { $first: [from[0], from[1], from[2]], $second: [from[3], from[4], from[5]] }
            }
            /// Writes the motion or force to index `i` of rows of six numbers.
            #[inline(always)]
            pub fn write(self, to: &mut [R], i: usize) {
                let to = &mut to[6 * i..6 * i + 6];
                copy(&mut to[..3], &self.$first);
                copy(&mut to[3..], &self.$second);
            }
            /// Adds to the one with index `i`.
            #[inline(always)]
            pub fn accumulate(self, to: &mut [R], i: usize) {
                Self::read(to, i).plus(self).write(to, i);
            }
            /// self + other.
            #[inline(always)]
            pub fn plus(self, other: Self) -> Self {
                Self { $first: add(self.$first, other.$first), $second: add(self.$second, other.$second) }
            }
            /// self − other.
            #[inline(always)]
            pub fn minus(self, other: Self) -> Self {
                Self { $first: sub(self.$first, other.$first), $second: sub(self.$second, other.$second) }
            }
            /// s · self + other.
            #[inline(always)]
            pub fn axpy(self, s: R, other: Self) -> Self {
                Self { $first: axpy(s, self.$first, other.$first), $second: axpy(s, self.$second, other.$second) }
            }
            /// s · self.
            #[inline(always)]
            pub fn times(self, s: R) -> Self {
                Self { $first: scale(s, self.$first), $second: scale(s, self.$second) }
            }
        }
    };
}
six_numbers!(Twist, omega, m);
six_numbers!(Wrench, moment, force);

impl<R: Real> Twist<R> {
    /// self × other: the rate of a motion `other` that is carried along by `self`.
    #[inline(always)]
    pub fn cross(self, other: Self) -> Self {
        Self { omega: cross(self.omega, other.omega), m: add(cross(self.omega, other.m), cross(self.m, other.omega)) }
    }

    /// self ×* wrench: the rate of a force that is carried along by `self`.
    #[inline(always)]
    pub fn cross_wrench(self, wrench: Wrench<R>) -> Wrench<R> {
        Wrench {
            moment: add(cross(self.omega, wrench.moment), cross(self.m, wrench.force)),
            force: cross(self.omega, wrench.force),
        }
    }

    /// self · wrench.
    #[inline(always)]
    pub fn dot(self, wrench: Wrench<R>) -> R {
        dot(self.omega, wrench.moment) + dot(self.m, wrench.force)
    }
}

impl<R: Real> SpatialInertia<R> {
    /// Numbers of an inertia: mass, first moment, second moment.
    pub const LEN: usize = 10;

    /// Reads the inertia with index `i` from rows of ten numbers.
    #[inline(always)]
    pub fn read(from: &[R], i: usize) -> Self {
        let x = &from[Self::LEN * i..Self::LEN * (i + 1)];
        Self { mass: x[0], first: [x[1], x[2], x[3]], second: [x[4], x[5], x[6], x[7], x[8], x[9]] }
    }

    /// Adds to the one with index `i`.
    #[inline(always)]
    pub fn accumulate(self, to: &mut [R], i: usize) {
        let to = &mut to[Self::LEN * i..Self::LEN * (i + 1)];
        to[0] += self.mass;
        for k in 0..3 {
            to[1 + k] += self.first[k];
        }
        for k in 0..6 {
            to[4 + k] += self.second[k];
        }
    }

    /// Ī a for the inertia tensor Ī about the origin.
    #[inline(always)]
    pub fn tensor(&self, a: Vec3<R>) -> Vec3<R> {
        let [xx, xy, xz, yy, yz, zz] = self.second;
        [dot([xx, xy, xz], a), dot([xy, yy, yz], a), dot([xz, yz, zz], a)]
    }

    /// The momentum (or force) that belongs to a velocity (or acceleration).
    #[inline(always)]
    pub fn apply(&self, x: Twist<R>) -> Wrench<R> {
        Wrench {
            moment: add(self.tensor(x.omega), cross(self.first, x.m)),
            force: axpy(self.mass, x.m, cross(x.omega, self.first)),
        }
    }

    /// The gradient of x · I y by the ten numbers of I.
    #[inline(always)]
    pub fn gradient(x: Twist<R>, y: Twist<R>) -> Self {
        let (a, b) = (x.omega, y.omega);
        let pair = |i: usize, j: usize| a[i].mul_add(b[j], a[j] * b[i]);
        Self {
            mass: dot(x.m, y.m),
            first: add(cross(y.m, a), cross(x.m, b)),
            second: [a[0] * b[0], pair(0, 1), pair(0, 2), a[1] * b[1], pair(1, 2), a[2] * b[2]],
        }
    }

    /// s · self.
    #[inline(always)]
    pub fn times(self, s: R) -> Self {
        let mut second = self.second;
        second.iter_mut().for_each(
            #[inline(always)]
            |x| *x = *x * s,
        );
        Self { mass: self.mass * s, first: scale(s, self.first), second }
    }
}
