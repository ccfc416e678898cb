//! One numerical kernel, any width: [`Real`] is either one number or a lane of numbers, one per world.
//!
//! A kernel is written once over `R: Real`, as a [`Stage`](super::program::Stage). [`super::program`] checks which
//! instruction sets the processor has. It runs the kernel on lanes of as many worlds as fill a register, inside a
//! function that is compiled for the widest instruction set. So an ordinary build is fast.
//!
//! Two rules make a world's result independent of the other worlds in its lane:
//!
//! - The arithmetic of a world is the same sequence of operations at any width (fused multiply-adds included).
//! - A loop ends when *all* worlds are done. Until then it must not change a world that is already done (use
//!   [`Real::select`]).
//!
//! A kernel cannot branch on a number or a mask. Where it needs a branch or a loop, it calls [`Real::when`] or
//! [`Real::repeat`], and names the state that the body may change. Lanes run the body for all their worlds if any of
//! them needs it. A number that records turns the call into a real branch or loop.
//!
//! Everything that a kernel calls must be `#[inline(always)]`: a function that is compiled on its own is compiled for
//! the baseline processor, and a call saves all vector registers. This includes the standard library: `zip`,
//! `copy_from_slice`, `fill` and `map` of arrays are not always inlined. Use `Zip::zip_inline`, `copy`, `clear` and
//! loops instead. Closures need `#[inline(always)]` too; those with a name get it from `inlined`. `inlined`, a test of the command line,
//! finds what was forgotten.

#[cfg(any(test, not(target_arch = "x86_64"), feature = "emulate-avx512"))]
mod array;
mod instruction_set;
mod number;
mod parts;
#[cfg(target_arch = "x86_64")]
#[cfg_attr(feature = "emulate-avx512", allow(dead_code, reason = "the emulation is in its place"))]
mod register;
mod single;
mod state;
#[cfg(test)]
mod tests;
mod trigonometry;
mod zip;

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

pub use crate::state;
pub use instruction_set::{Arithmetic, InstructionSet, Precision};
pub use number::Number;
pub use parts::Parts;
#[cfg(all(target_arch = "x86_64", not(feature = "emulate-avx512")))]
pub(crate) use register::{Eight, SixteenF32};
#[cfg(target_arch = "x86_64")]
pub(crate) use register::{EightF32, Four};
pub use single::Single;
pub use state::{Slot, State};
pub(crate) use trigonometry::sin_cos;
pub use zip::{Zip, copy};

#[cfg(not(target_arch = "x86_64"))]
pub(crate) type Four = array::Array<f64, 4>;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) type EightF32 = array::Array<f32, 8>;
#[cfg(any(not(target_arch = "x86_64"), feature = "emulate-avx512"))]
pub(crate) type Eight = array::Array<f64, 8>;
#[cfg(any(not(target_arch = "x86_64"), feature = "emulate-avx512"))]
pub(crate) type SixteenF32 = array::Array<f32, 16>;

/// The operators of a lane type, from expressions in x and y.
macro_rules! arithmetic {
    ([$($params:tt)*], $type:ty, |$x:ident, $y:ident| {
        add: $add:expr, sub: $sub:expr, mul: $mul:expr, div: $div:expr, neg: $neg:expr,
    }) => {
        $crate::lane::arithmetic!([$($params)*], $type, |$x, $y| Add add $add);
        $crate::lane::arithmetic!([$($params)*], $type, |$x, $y| Sub sub $sub);
        $crate::lane::arithmetic!([$($params)*], $type, |$x, $y| Mul mul $mul);
        $crate::lane::arithmetic!([$($params)*], $type, |$x, $y| Div div $div);
        impl<$($params)*> Neg for $type {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                let $x = self;
                $neg
            }
        }
        impl<$($params)*> AddAssign for $type {
            #[inline(always)]
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }
        impl<$($params)*> SubAssign for $type {
            #[inline(always)]
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }
    };
    ([$($params:tt)*], $type:ty, |$x:ident, $y:ident| $Trait:ident $method:ident $value:expr) => {
        impl<$($params)*> $Trait for $type {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                let ($x, $y) = (self, other);
                $value
            }
        }
    };
}
pub(crate) use arithmetic;

/// Most numbers of double precision in a lane.
pub const WIDTH: usize = 8;

/// A number, or one number per world of a lane.
///
/// Comparisons give masks. A mask selects with [`Real::select`], so that worlds of a lane may take different branches.
pub trait Real:
    Copy
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + 'static
{
    /// One flag per world.
    type Mask: Mask;
    /// What there is in each world.
    type Number: Number;

    /// The same value in every world.
    fn splat(value: f64) -> Self;
    /// `self · a + b`, fused where the processor has it.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Square root; NaN for negative numbers.
    fn sqrt(self) -> Self;
    /// Sine and cosine.
    fn sin_cos(self) -> (Self, Self);
    /// Sine and cosine as the standard library has them, number by number.
    fn library_sin_cos(self) -> (Self, Self);
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// The angle of the point (x, self) from the x axis, from −π to π.
    fn atan2(self, x: Self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// The smaller of two.
    fn min(self, other: Self) -> Self;
    /// The larger of two.
    fn max(self, other: Self) -> Self;
    /// `self < other`, world by world; false for NaN.
    fn lt(self, other: Self) -> Self::Mask;
    /// `self` where the mask is set, else `other`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;

    /// Calls `body` if the mask is set in any world. Changes of `state` count in those worlds. In the other worlds the
    /// body must not change the bits of anything that is read later. Adding zeros changes no bits, except that −0
    /// becomes 0: in sums from which a branch may be left out, write 0 − x for −x.
    fn when<S: State<Self> + ?Sized>(mask: Self::Mask, state: &mut S, body: impl Fn(&mut S));
    /// Calls `go` and then `body`, at most `most` times, until `go` is false in all worlds. In a world where it is
    /// false, `go` and `body` must not change anything that is read later.
    fn repeat<S: State<Self> + ?Sized>(
        most: usize,
        state: &mut S,
        go: impl Fn(&mut S) -> Self::Mask,
        body: impl Fn(&mut S),
    );

    /// Runs a routine that is compiled once for this kind of lane.
    fn call(routine: &mut impl Routine);

    /// Loops over things of a kind: contacts, bodies, columns. It is an ordinary loop, but a number that records prints
    /// parts that are alike only once.
    #[inline(always)]
    fn parts<I: IntoIterator>(of: I) -> Parts<Self, I::IntoIter> {
        Parts::new(of.into_iter())
    }
    /// Marks where such a part starts or ends.
    #[inline(always)]
    fn part() {}

    /// That of the numbers.
    #[inline(always)]
    fn precision() -> Precision {
        Self::Number::PRECISION
    }
    /// The smallest positive number of full precision, where a division by zero has to be kept away.
    #[inline(always)]
    fn tiny() -> Self {
        Self::splat(Self::precision().tiny())
    }
    /// Zero.
    #[inline(always)]
    fn zero() -> Self {
        Self::splat(0.0)
    }
    /// One.
    #[inline(always)]
    fn one() -> Self {
        Self::splat(1.0)
    }
    /// `self > other`, world by world; false for NaN.
    #[inline(always)]
    fn gt(self, other: Self) -> Self::Mask {
        other.lt(self)
    }
    /// Is the number neither NaN nor infinite?
    #[inline(always)]
    fn is_finite(self) -> Self::Mask {
        self.abs().lt(Self::splat(f64::INFINITY))
    }
    /// Adds 0 to `sum` if the number is in the range in which kernels compute, and NaN otherwise: beyond about 1e30,
    /// products of a few numbers overflow.
    #[inline(always)]
    fn doubt(self, sum: Self) -> Self {
        self.scale(Self::precision().out_of_range()).mul_add(Self::zero(), sum)
    }
    /// Multiplication by a plain number.
    #[inline(always)]
    fn scale(self, factor: f64) -> Self {
        self * Self::splat(factor)
    }
}

/// Work on lanes of one kind that is too long to be compiled into each stage that needs it: see [`Real::call`].
pub trait Routine {
    /// Does it. Implementations are `#[inline(always)]`.
    fn run(&mut self);
}

/// [`Real::call`] of lanes without registers of their own, whose multiply-adds are fused.
///
/// # Safety
/// The processor must have the instructions.
#[inline(never)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn call_fused(routine: &mut impl Routine) {
    routine.run();
}

/// A [`Real`] whose values come from rows of numbers and go there.
pub trait Lane: Real {
    /// Worlds in one value.
    const WIDTH: usize;
    /// Hands `f` the numbers of lanes, `WIDTH` for each: some to read, others to set.
    fn exchange<const N: usize, const M: usize>(
        read: [&[Self]; N],
        set: [&mut [Self]; M],
        f: impl FnOnce([&[Self::Number]; N], [&mut [Self::Number]; M]),
    );
}

/// A [`Lane`] that is nothing but one number per world.
///
/// # Safety
/// A value must be `WIDTH` numbers of type `Number` in memory and nothing else, so that working memory can be read as lanes of
/// any width.
pub unsafe trait Packed: Real<Mask: Flags> {
    /// Worlds in one value.
    const WIDTH: usize;
    /// The value of world `i < WIDTH`.
    fn get(self, i: usize) -> f64;
    /// Sets the value of world `i < WIDTH`.
    fn set(&mut self, i: usize, value: f64);

    /// Lanes as the numbers that they are.
    #[inline(always)]
    fn numbers(lanes: &[Self]) -> &[Self::Number] {
        // SAFETY: a lane is `WIDTH` numbers, as the trait demands, and no less aligned than one.
        unsafe { std::slice::from_raw_parts(lanes.as_ptr().cast(), lanes.len() * Self::WIDTH) }
    }
    /// Lanes as the numbers that they are.
    #[inline(always)]
    fn numbers_mut(lanes: &mut [Self]) -> &mut [Self::Number] {
        // SAFETY: as for `numbers`.
        unsafe { std::slice::from_raw_parts_mut(lanes.as_mut_ptr().cast(), lanes.len() * Self::WIDTH) }
    }
}

impl<R: Packed> Lane for R {
    const WIDTH: usize = <R as Packed>::WIDTH;

    #[inline(always)]
    fn exchange<const N: usize, const M: usize>(
        read: [&[Self]; N],
        set: [&mut [Self]; M],
        f: impl FnOnce([&[Self::Number]; N], [&mut [Self::Number]; M]),
    ) {
        f(
            zip::map(
                read,
                #[inline(always)]
                |lanes| R::numbers(lanes),
            ),
            zip::map(
                set,
                #[inline(always)]
                |lanes| R::numbers_mut(lanes),
            ),
        );
    }
}

/// A flag per world.
pub trait Mask: Copy + Send + Sync {
    /// The same flag in every world.
    fn splat(flag: bool) -> Self;
    /// Both.
    fn and(self, other: Self) -> Self;
    /// Either.
    fn or(self, other: Self) -> Self;
    /// The opposite.
    fn not(self) -> Self;
}

/// A [`Mask`] that can be asked.
pub trait Flags: Mask {
    /// Is any world's flag set?
    fn any(self) -> bool;
    /// The flag of world `i`.
    fn get(self, i: usize) -> bool;
    /// Sets the flag of world `i`.
    fn set(&mut self, i: usize, flag: bool);
}

/// A closure that a kernel calls by a name. `#[inline(always)]` may stand before it where it is an argument, as it is here.
#[inline(always)]
pub fn inlined<F>(f: F) -> F {
    f
}

/// Numbers of a part, where rows are gone through one by one.
const PART: usize = 48;

/// Zeros in the worlds that are not in the mask.
#[inline(always)]
pub fn zero_unless<R: Real>(mask: R::Mask, numbers: &mut [R]) {
    for part in R::parts(numbers.chunks_mut(PART)) {
        for x in part {
            *x = R::select(mask, *x, R::zero());
        }
    }
}

/// to ← from in worlds of the mask; as long as each other.
#[inline(always)]
pub fn copy_where<R: Real>(mask: R::Mask, to: &mut [R], from: &[R]) {
    debug_assert_eq!(to.len(), from.len());
    for (to, from) in R::parts(to.chunks_mut(PART).zip_inline(from.chunks(PART))) {
        for (to, &x) in to.iter_mut().zip_inline(from) {
            *to = R::select(mask, x, *to);
        }
    }
}

/// Zeros for everything: `fill` is a function of its own, compiled for the baseline processor.
#[inline(always)]
pub fn clear<R: Real>(numbers: &mut [R]) {
    for x in numbers {
        *x = R::zero();
    }
}
