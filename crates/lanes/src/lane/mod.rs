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
//! loops instead. Closures need `#[inline(always)]` too; those with a name get it from `inlined`. `inlined`, a test of
//! the command line, finds what was forgotten. [`Real::call`] has functions that are compiled on their own for the
//! lanes, which are worth it where they are long.

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

pub use crate::{state, when};
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
pub use zip::{Pairs, Zip, copy};

#[cfg(not(target_arch = "x86_64"))]
pub(crate) type Four = array::Array<f64, 4>;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) type EightF32 = array::Array<f32, 8>;
#[cfg(any(not(target_arch = "x86_64"), feature = "emulate-avx512"))]
pub(crate) type Eight = array::Array<f64, 8>;
#[cfg(any(not(target_arch = "x86_64"), feature = "emulate-avx512"))]
pub(crate) type SixteenF32 = array::Array<f32, 16>;

/// Implements the operators of a lane type, given each one as an expression in x and y.
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

/// The most numbers of double precision that any lane has.
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
    /// The result of a comparison: one flag per world.
    type Mask: Mask;
    /// The number type of each world, `f64` or `f32`.
    type Number: Number;
    /// Are kernels to be fast with these numbers? Else they are to be short: loops are not unrolled for sizes that are
    /// common.
    const FAST: bool = true;

    /// A lane with one value in every world, rounded to the lane's precision.
    fn splat(value: f64) -> Self;
    /// Multiply-add `self · a + b`, fused where the processor has it.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Square root; NaN for negative numbers.
    fn sqrt(self) -> Self;
    /// Sine and cosine of an angle in radians.
    fn sin_cos(self) -> (Self, Self);
    /// Sine and cosine from the standard library, world by world. [`Real::sin_cos`] uses them for large angles.
    fn library_sin_cos(self) -> (Self, Self);
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// The angle of the point (x, self) from the x axis, from −π to π.
    fn atan2(self, x: Self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// The smaller of two numbers, world by world.
    fn min(self, other: Self) -> Self;
    /// The larger of two numbers, world by world.
    fn max(self, other: Self) -> Self;
    /// `self < other`, world by world; false for NaN.
    fn lt(self, other: Self) -> Self::Mask;
    /// `yes` in worlds where the mask is set, `no` in the others.
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

    /// Is the mask known to be set in no world? Lanes know; a recording does not. What is left out because of this must
    /// not change the bits of anything that is read later.
    #[inline(always)]
    fn is_nowhere(_mask: Self::Mask) -> bool {
        false
    }

    /// The whole number that all worlds have in common, as an index. Lanes know it; a recording does not.
    #[inline(always)]
    fn index(self) -> Option<usize> {
        None
    }

    /// Calls a function of the kernel that is compiled on its own for this kind of lane, rather than into each caller:
    /// what is called from several places, and pieces of what would be one long function, which compilers take much
    /// longer for than for its parts. The closure is `#[inline(always)]`.
    fn call<T>(function: impl FnOnce() -> T) -> T;

    /// Loops over alike parts: contacts, bodies, columns. It is an ordinary loop. But in a recording it marks the
    /// parts, so that equal ones are printed as one function.
    #[inline(always)]
    fn parts<I: IntoIterator>(of: I) -> Parts<Self, I::IntoIter> {
        Parts::new(of.into_iter())
    }
    /// Marks in a recording that a part of [`Real::parts`] starts or ends here. For other numbers it does nothing.
    #[inline(always)]
    fn part() {}

    /// The precision of the lane's numbers.
    #[inline(always)]
    fn precision() -> Precision {
        Self::Number::PRECISION
    }
    /// The smallest positive number of full precision, for denominators that must not be zero.
    #[inline(always)]
    fn tiny() -> Self {
        Self::splat(Self::precision().tiny())
    }
    /// Zero in every world.
    #[inline(always)]
    fn zero() -> Self {
        Self::splat(0.0)
    }
    /// One in every world.
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
    /// Adds 0 to `sum` if the number is in the range in which kernels compute, and NaN otherwise. Beyond about 1e30,
    /// products of a few numbers overflow.
    #[inline(always)]
    fn doubt(self, sum: Self) -> Self {
        self.scale(Self::precision().out_of_range()).mul_add(Self::zero(), sum)
    }
    /// Multiplies by the same plain number in every world.
    #[inline(always)]
    fn scale(self, factor: f64) -> Self {
        self * Self::splat(factor)
    }
}

/// [`Real::call`] for lanes that are arrays or single numbers with fused multiply-adds.
///
/// # Safety
/// The processor must have AVX2 and fused multiply-adds (x86-64).
#[inline(never)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn call_fused<T>(function: impl FnOnce() -> T) -> T {
    function()
}

/// A [`Real`] that can be loaded from and stored to rows of numbers.
pub trait Lane: Real {
    /// The number of worlds in one value.
    const WIDTH: usize;
    /// Calls `f` with lanes as plain numbers, `WIDTH` for each lane: first those to read, then those to set.
    fn exchange<const N: usize, const M: usize>(
        read: [&[Self]; N],
        set: [&mut [Self]; M],
        f: impl FnOnce([&[Self::Number]; N], [&mut [Self::Number]; M]),
    );
}

/// A [`Lane`] that is laid out in memory as one number per world and nothing else.
///
/// # Safety
/// A value must be `WIDTH` numbers of type `Number` in memory and nothing else, so that working memory can be read as
/// lanes of any width.
pub unsafe trait Packed: Real<Mask: Flags> {
    /// The number of worlds in one value.
    const WIDTH: usize;
    /// The number of world `i < WIDTH`.
    fn get(self, i: usize) -> f64;
    /// Sets the number of world `i < WIDTH`.
    fn set(&mut self, i: usize, value: f64);

    /// Lanes as a slice of plain numbers, `WIDTH` for each lane.
    #[inline(always)]
    fn numbers(lanes: &[Self]) -> &[Self::Number] {
        // SAFETY: a lane is `WIDTH` numbers, as the trait demands, and no less aligned than one.
        unsafe { std::slice::from_raw_parts(lanes.as_ptr().cast(), lanes.len() * Self::WIDTH) }
    }
    /// Lanes as a mutable slice of plain numbers, `WIDTH` for each lane.
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

/// One flag per world.
pub trait Mask: Copy + Send + Sync {
    /// A mask with one flag in every world.
    fn splat(flag: bool) -> Self;
    /// Logical and, world by world.
    fn and(self, other: Self) -> Self;
    /// Logical or, world by world.
    fn or(self, other: Self) -> Self;
    /// Logical not, world by world.
    fn not(self) -> Self;
}

/// A [`Mask`] whose flags are known and can be read. Those of a recording are not.
pub trait Flags: Mask {
    /// Is any world's flag set?
    fn any(self) -> bool;
    /// The flag of world `i`.
    fn get(self, i: usize) -> bool;
    /// Sets the flag of world `i`.
    fn set(&mut self, i: usize, flag: bool);
}

/// Wraps a closure that has a name, so that `#[inline(always)]` can be put before it as an argument.
#[inline(always)]
pub fn inlined<F>(f: F) -> F {
    f
}

/// The number of numbers that loops over long rows treat as one part, see [`Real::parts`].
const PART: usize = 48;

/// Sets all numbers to zero in worlds where the mask is not set.
#[inline(always)]
pub fn zero_unless<R: Real>(mask: R::Mask, numbers: &mut [R]) {
    if R::is_nowhere(mask.not()) {
        return;
    }
    for part in R::parts(numbers.chunks_mut(PART)) {
        for x in part {
            *x = R::select(mask, *x, R::zero());
        }
    }
}

/// Copies `from` to `to` in worlds where the mask is set. Both must have the same length.
#[inline(always)]
pub fn copy_where<R: Real>(mask: R::Mask, to: &mut [R], from: &[R]) {
    debug_assert_eq!(to.len(), from.len());
    for (to, from) in R::parts(to.chunks_mut(PART).zip_inline(from.chunks(PART))) {
        for (to, &x) in to.iter_mut().zip_inline(from) {
            *to = R::select(mask, x, *to);
        }
    }
}

/// Sets all numbers to zero. The standard `fill` is a function of its own, compiled for the baseline processor.
#[inline(always)]
pub fn clear<R: Real>(numbers: &mut [R]) {
    for x in numbers {
        *x = R::zero();
    }
}
