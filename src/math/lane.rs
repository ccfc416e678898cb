//! One numerical kernel, any width: [`Real`] is either one number or a lane of numbers, one per world.
//!
//! A [`Kernel`] is written once over `R: Real`. [`dispatch`] looks at the processor and runs it on lanes of
//! as many worlds as fill a register, then on single worlds for the rest, inside a function that is compiled for the widest
//! instruction set there is, so that a plain build is fast.
//!
//! Two rules keep a world's result independent of its company:
//! every world's arithmetic is the same sequence of operations at any width (fused multiply-adds included),
//! and a loop that ends when *all* worlds are done must not change a world that is done already
//! (use [`Real::select`]).
//!
//! Everything that a kernel calls must be `#[inline(always)]`: a function that is compiled on its own is compiled
//! for the baseline processor.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// Most worlds per SIMD lane.
pub const WIDTH: usize = 8;

/// A number, or one number per world of a lane.
///
/// Comparisons give masks; a mask chooses with [`Real::select`], so that worlds of a lane may take different branches.
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

    /// The same value in every world.
    fn splat(value: f64) -> Self;
    /// `self · a + b`, fused where the processor has it.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Square root; NaN for negative numbers.
    fn sqrt(self) -> Self;
    /// Sine and cosine.
    fn sin_cos(self) -> (Self, Self);
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
    /// Multiplication by a plain number.
    #[inline(always)]
    fn scale(self, factor: f64) -> Self {
        self * Self::splat(factor)
    }
}

/// A [`Real`] that is nothing but one number per world.
///
/// # Safety
/// A value must be `WIDTH` numbers in memory and nothing else, so that working memory can be read as lanes of any width.
pub unsafe trait Lane: Real {
    /// Worlds in one value.
    const WIDTH: usize;
    /// The value of world `i < WIDTH`.
    fn get(self, i: usize) -> f64;
    /// Sets the value of world `i < WIDTH`.
    fn set(&mut self, i: usize, value: f64);
}

/// Flags, one per world of a lane.
pub trait Mask: Copy + Send + Sync {
    /// The same flag in every world.
    fn splat(flag: bool) -> Self;
    /// Both.
    fn and(self, other: Self) -> Self;
    /// Either.
    fn or(self, other: Self) -> Self;
    /// The opposite.
    fn not(self) -> Self;
    /// Is any world's flag set?
    fn any(self) -> bool;
    /// The flag of world `i`.
    fn get(self, i: usize) -> bool;
    /// Sets the flag of world `i`.
    fn set(&mut self, i: usize, flag: bool);
}

/// `W` double-precision numbers, one per world. `FMA` says whether multiply-adds are fused.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct Wide<const W: usize, const FMA: bool>([f64; W]);

/// One double-precision number. `FMA` says whether multiply-adds are fused.
#[derive(Clone, Copy, Debug)]
pub struct Single<const FMA: bool>(f64);

/// `W` flags.
///
/// Stored as 64-bit words, all ones or zero, the form in which SIMD compares and blends have them.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct WideMask<const W: usize>([u64; W]);

macro_rules! lanewise {
    ($trait:ident, $method:ident, $assign:tt) => {
        impl<const W: usize, const FMA: bool> $trait for Wide<W, FMA> {
            type Output = Self;
            #[inline(always)]
            fn $method(mut self, other: Self) -> Self {
                for i in 0..W {
                    self.0[i] $assign other.0[i];
                }
                self
            }
        }
        impl<const FMA: bool> $trait for Single<FMA> {
            type Output = Self;
            #[inline(always)]
            fn $method(mut self, other: Self) -> Self {
                self.0 $assign other.0;
                self
            }
        }
    };
}
lanewise!(Add, add, +=);
lanewise!(Sub, sub, -=);
lanewise!(Mul, mul, *=);
lanewise!(Div, div, /=);

macro_rules! common {
    ([$($params:tt)*], $type:ty) => {
        impl<$($params)*> Neg for $type {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self::map(self, #[inline(always)] |x| -x)
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
}
common!([const W: usize, const FMA: bool], Wide<W, FMA>);
common!([const FMA: bool], Single<FMA>);

impl<const W: usize, const FMA: bool> Wide<W, FMA> {
    #[inline(always)]
    fn map(mut self, f: impl Fn(f64) -> f64) -> Self {
        for i in 0..W {
            self.0[i] = f(self.0[i]);
        }
        self
    }
}

impl<const FMA: bool> Single<FMA> {
    #[inline(always)]
    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self(f(self.0))
    }
}

#[inline(always)]
fn fused<const FMA: bool>(x: f64, a: f64, b: f64) -> f64 {
    if FMA { x.mul_add(a, b) } else { x * a + b }
}

// `f64::min` and `max` promise more for NaN than one instruction gives.
#[inline(always)]
fn smaller(x: f64, y: f64) -> f64 {
    if x < y { x } else { y }
}

#[inline(always)]
fn larger(x: f64, y: f64) -> f64 {
    if x > y { x } else { y }
}

// SAFETY: an array of numbers.
unsafe impl<const W: usize, const FMA: bool> Lane for Wide<W, FMA> {
    const WIDTH: usize = W;

    #[inline(always)]
    fn get(self, i: usize) -> f64 {
        self.0[i]
    }
    #[inline(always)]
    fn set(&mut self, i: usize, value: f64) {
        self.0[i] = value;
    }
}

impl<const W: usize, const FMA: bool> Real for Wide<W, FMA> {
    type Mask = WideMask<W>;

    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self([value; W])
    }
    #[inline(always)]
    fn mul_add(mut self, a: Self, b: Self) -> Self {
        for i in 0..W {
            self.0[i] = fused::<FMA>(self.0[i], a.0[i], b.0[i]);
        }
        self
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(f64::sqrt)
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        trigonometry::sin_cos(self)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        self.map(f64::ln)
    }
    #[inline(always)]
    fn atan2(mut self, x: Self) -> Self {
        for i in 0..W {
            self.0[i] = self.0[i].atan2(x.0[i]);
        }
        self
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self.map(f64::abs)
    }
    #[inline(always)]
    fn min(mut self, other: Self) -> Self {
        for i in 0..W {
            self.0[i] = smaller(self.0[i], other.0[i]);
        }
        self
    }
    #[inline(always)]
    fn max(mut self, other: Self) -> Self {
        for i in 0..W {
            self.0[i] = larger(self.0[i], other.0[i]);
        }
        self
    }
    #[inline(always)]
    fn lt(self, other: Self) -> WideMask<W> {
        let mut mask = WideMask([0; W]);
        for i in 0..W {
            mask.0[i] = if self.0[i] < other.0[i] { u64::MAX } else { 0 };
        }
        mask
    }
    #[inline(always)]
    fn select(mask: WideMask<W>, yes: Self, mut no: Self) -> Self {
        for i in 0..W {
            no.0[i] = if mask.0[i] != 0 { yes.0[i] } else { no.0[i] };
        }
        no
    }
}

// SAFETY: one number.
unsafe impl<const FMA: bool> Lane for Single<FMA> {
    const WIDTH: usize = 1;

    #[inline(always)]
    fn get(self, _: usize) -> f64 {
        self.0
    }
    #[inline(always)]
    fn set(&mut self, _: usize, value: f64) {
        self.0 = value;
    }
}

impl<const FMA: bool> Real for Single<FMA> {
    type Mask = bool;

    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self(value)
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self(fused::<FMA>(self.0, a.0, b.0))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(f64::sqrt)
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        trigonometry::sin_cos(self)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        self.map(f64::ln)
    }
    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        Self(self.0.atan2(x.0))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self.map(f64::abs)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(smaller(self.0, other.0))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(larger(self.0, other.0))
    }
    #[inline(always)]
    fn lt(self, other: Self) -> bool {
        self.0 < other.0
    }
    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
}

impl Mask for bool {
    #[inline(always)]
    fn splat(flag: bool) -> Self {
        flag
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self & other
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self | other
    }
    #[inline(always)]
    fn not(self) -> Self {
        !self
    }
    #[inline(always)]
    fn any(self) -> bool {
        self
    }
    #[inline(always)]
    fn get(self, _: usize) -> bool {
        self
    }
    #[inline(always)]
    fn set(&mut self, _: usize, flag: bool) {
        *self = flag;
    }
}

impl<const W: usize> Mask for WideMask<W> {
    #[inline(always)]
    fn splat(flag: bool) -> Self {
        Self([if flag { u64::MAX } else { 0 }; W])
    }
    #[inline(always)]
    fn and(mut self, other: Self) -> Self {
        for i in 0..W {
            self.0[i] &= other.0[i];
        }
        self
    }
    #[inline(always)]
    fn or(mut self, other: Self) -> Self {
        for i in 0..W {
            self.0[i] |= other.0[i];
        }
        self
    }
    #[inline(always)]
    fn not(mut self) -> Self {
        for i in 0..W {
            self.0[i] = !self.0[i];
        }
        self
    }
    #[inline(always)]
    fn any(self) -> bool {
        let mut any = 0;
        for i in 0..W {
            any |= self.0[i];
        }
        any != 0
    }
    #[inline(always)]
    fn get(self, i: usize) -> bool {
        self.0[i] != 0
    }
    #[inline(always)]
    fn set(&mut self, i: usize, flag: bool) {
        self.0[i] = if flag { u64::MAX } else { 0 };
    }
}

/// Sine and cosine in lanes, so that a joint angle costs the same few multiply-adds in every world.
mod trigonometry {
    use super::Lane;

    // π/2 in three parts, the first two with 33 significant bits each, so that k·π/2 is exact for |k| < 2^20
    // (Cody and Waite, Software Manual for the Elementary Functions, 1980).
    const HALF_PI: [f64; 3] = [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_950_7e-21];
    // Beyond this the reduction loses digits: the standard library takes over.
    const LIMIT: f64 = 1e5;
    // Adding and taking away 1.5·2^52 rounds to the nearest integer.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    // Minimax polynomials on [−π/4, π/4] of W. Cody and W. Waite's form as in fdlibm (k_sin.c, k_cos.c).
    const SIN: [f64; 6] = [
        -1.666_666_666_666_663_2e-1,
        8.333_333_333_322_49e-3,
        -1.984_126_982_985_795e-4,
        2.755_731_370_707_006_8e-6,
        -2.505_076_025_340_686_3e-8,
        1.589_690_995_211_55e-10,
    ];
    const COS: [f64; 6] = [
        4.166_666_666_666_66e-2,
        -1.388_888_888_887_411e-3,
        2.480_158_728_947_673e-5,
        -2.755_731_435_139_066_3e-7,
        2.087_572_321_298_175e-9,
        -1.135_964_755_778_819_5e-11,
    ];

    #[inline(always)]
    pub(super) fn sin_cos<R: Lane>(x: R) -> (R, R) {
        use super::Mask;
        let rounded = x.mul_add(R::splat(std::f64::consts::FRAC_2_PI), R::splat(ROUND)) - R::splat(ROUND);
        let mut r = (-rounded).mul_add(R::splat(HALF_PI[0]), x);
        r = (-rounded).mul_add(R::splat(HALF_PI[1]), r);
        r = (-rounded).mul_add(R::splat(HALF_PI[2]), r);
        let z = r * r;
        let mut p = R::splat(SIN[5]);
        let mut c = R::splat(COS[5]);
        for i in (0..5).rev() {
            p = p.mul_add(z, R::splat(SIN[i]));
            c = c.mul_add(z, R::splat(COS[i]));
        }
        let sin = (p * z).mul_add(r, r);
        let cos = (c * z).mul_add(z, z.mul_add(R::splat(-0.5), R::one()));
        // Quadrant k mod 4 from k/4 and k/2 without integers.
        let quarter = rounded.scale(0.25);
        let floor = (quarter - R::splat(0.375) + R::splat(ROUND)) - R::splat(ROUND);
        let quadrant = (quarter - floor).scale(4.0);
        let odd =
            (quadrant - R::splat(2.0)).abs().gt(R::splat(0.5)).and((quadrant - R::splat(2.0)).abs().lt(R::splat(1.5)));
        let sin_negative = quadrant.gt(R::splat(1.5));
        let cos_negative = (quadrant - R::splat(1.5)).abs().lt(R::one());
        let s = R::select(odd, cos, sin);
        let c = R::select(odd, sin, cos);
        let mut s = R::select(sin_negative, -s, s);
        let mut c = R::select(cos_negative, -c, c);
        let far = x.abs().lt(R::splat(LIMIT)).not();
        if far.any() {
            for i in 0..R::WIDTH {
                if far.get(i) {
                    let (sin, cos) = x.get(i).sin_cos();
                    s.set(i, sin);
                    c.set(i, cos);
                }
            }
        }
        (s, c)
    }
}

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionSet {
    /// What every processor of the architecture has.
    Baseline,
    /// x86-64 with AVX2 and fused multiply-add.
    Avx2,
    /// x86-64 with AVX-512 (F, DQ, VL).
    Avx512,
}

impl InstructionSet {
    /// The widest set that this processor has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let fma = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            if fma
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
            {
                return Self::Avx512;
            }
            if fma {
                return Self::Avx2;
            }
        }
        Self::Baseline
    }

    /// Worlds per SIMD lane: as many as fill one register. With two registers per value the sixteen registers of AVX2 do
    /// not hold a contact.
    pub fn width(self) -> usize {
        match self {
            Self::Avx512 => 8,
            Self::Avx2 => 4,
            Self::Baseline if cfg!(target_arch = "aarch64") => 4,
            Self::Baseline => 1,
        }
    }

    /// The set's usual name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => std::env::consts::ARCH,
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

/// Work on `R::WIDTH` worlds at a time.
pub trait Kernel {
    /// Handles the worlds `first .. first + R::WIDTH`. Implementations are `#[inline(always)]`.
    fn run<R: Lane>(&mut self, first: usize);
}

/// Runs a kernel over the worlds `range`, a lane at a time and the rest singly, with the processor's instruction set.
pub fn dispatch<K: Kernel>(kernel: &mut K, range: std::ops::Range<usize>) {
    let set = InstructionSet::detect();
    dispatch_as(set, set.width(), kernel, range);
}

/// [`dispatch`] with the instruction set and the lane width (1, or the set's own) chosen by the caller.
///
/// # Panics
/// If the processor lacks the instruction set.
pub fn dispatch_as<K: Kernel>(set: InstructionSet, width: usize, kernel: &mut K, range: std::ops::Range<usize>) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn avx2<K: Kernel>(width: usize, kernel: &mut K, range: std::ops::Range<usize>) {
            lanes::<K, 4, true>(width, kernel, range);
        }
        #[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512vl")]
        fn avx512<K: Kernel>(width: usize, kernel: &mut K, range: std::ops::Range<usize>) {
            lanes::<K, 8, true>(width, kernel, range);
        }
        let have = InstructionSet::detect();
        match set {
            InstructionSet::Avx512 => {
                assert_eq!(have, InstructionSet::Avx512, "this processor has no AVX-512");
                // SAFETY: the processor has the features, as asserted above.
                return unsafe { avx512(width, kernel, range) };
            }
            InstructionSet::Avx2 => {
                assert_ne!(have, InstructionSet::Baseline, "this processor has no AVX2 with FMA");
                // SAFETY: the processor has the features, as asserted above.
                return unsafe { avx2(width, kernel, range) };
            }
            InstructionSet::Baseline => {}
        }
    }
    let _ = set;
    // aarch64 has fused multiply-add in its baseline, x86-64 has not; nor would lanes gain much in its two-wide
    // registers for the time that they take to compile.
    #[cfg(target_arch = "aarch64")]
    lanes::<K, 4, true>(width, kernel, range);
    #[cfg(not(target_arch = "aarch64"))]
    lanes::<K, 1, false>(width, kernel, range);
}

/// Lanes of `W` worlds if that is the wanted width, then single worlds.
#[inline(always)]
fn lanes<K: Kernel, const W: usize, const FMA: bool>(width: usize, kernel: &mut K, range: std::ops::Range<usize>) {
    let mut first = range.start;
    if W > 1 && width == W {
        while first + W <= range.end {
            kernel.run::<Wide<W, FMA>>(first);
            first += W;
        }
    }
    while first < range.end {
        kernel.run::<Single<FMA>>(first);
        first += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sines<'a> {
        x: &'a [f64],
        y: Vec<(f64, f64)>,
    }
    impl Kernel for Sines<'_> {
        #[inline(always)]
        fn run<R: Lane>(&mut self, first: usize) {
            let mut x = R::zero();
            for i in 0..R::WIDTH {
                x.set(i, self.x[first + i]);
            }
            let (s, c) = x.sin_cos();
            for i in 0..R::WIDTH {
                self.y[first + i] = (s.get(i), c.get(i));
            }
        }
    }

    #[test]
    fn sine_and_cosine_agree_with_the_standard_library_at_any_width() {
        let mut x: Vec<f64> = (-4000..4000).map(|i| f64::from(i) * 0.0173).collect();
        x.extend([0.0, -0.0, 1e-300, 1e5 - 0.1, 1e6, 1e15, -3e8, f64::NAN, f64::INFINITY, std::f64::consts::PI]);
        let mut widths = Vec::new();
        for width in [1, InstructionSet::detect().width()] {
            let mut kernel = Sines { x: &x, y: vec![(0.0, 0.0); x.len()] };
            dispatch_as(InstructionSet::detect(), width, &mut kernel, 0..x.len());
            for (x, (s, c)) in x.iter().zip(&kernel.y) {
                if x.is_finite() {
                    // 2 units in the last place of 1: the polynomial and its reduction.
                    assert!((s - x.sin()).abs() < 4.5e-16 && (c - x.cos()).abs() < 4.5e-16, "{x}: {s} {c}");
                } else {
                    assert!(s.is_nan() && c.is_nan());
                }
            }
            widths.push(kernel.y.iter().map(|(s, c)| (s.to_bits(), c.to_bits())).collect::<Vec<_>>());
        }
        assert_eq!(widths[0], widths[1]);
    }
}
