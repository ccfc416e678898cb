//! The instruction sets that kernels are compiled for, and a check of what the processor has. Also the precision of
//! numbers, with its constants.

/// An instruction set that kernels are compiled for, with the number of worlds that it handles at a time.
///
/// All but the baseline fuse multiply-adds and give the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstructionSet {
    /// One world, with what every x86-64 processor has.
    Baseline,
    /// One world, with fused multiply-add.
    Fma,
    /// Four worlds: AVX2 on x86-64, NEON (two registers per value) on aarch64.
    Four,
    /// Eight worlds: AVX-512 (F, DQ, VL).
    Eight,
}

impl InstructionSet {
    /// All instruction sets, from the narrowest to the widest.
    pub const ALL: [Self; 4] = [Self::Baseline, Self::Fma, Self::Four, Self::Eight];

    /// The widest instruction set that can be used on this processor.
    pub fn detect() -> Self {
        let widest = Self::ALL.into_iter().rev().find(|set| set.is_available());
        widest.unwrap_or(Self::Baseline)
    }

    /// Can this instruction set be used on this processor? With the feature `narrow` only [`InstructionSet::Fma`] can.
    pub fn is_available(self) -> bool {
        if cfg!(feature = "narrow") && self != Self::Fma {
            return false;
        }
        self.is_there() || (cfg!(feature = "emulate-avx512") && self == Self::Eight && Self::Four.is_there())
    }

    /// Does the processor have this instruction set, no matter what kernels are compiled for?
    pub fn is_there(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            let fma = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            match self {
                Self::Baseline => true,
                Self::Fma | Self::Four => fma,
                Self::Eight => {
                    fma && is_x86_feature_detected!("avx512f")
                        && is_x86_feature_detected!("avx512dq")
                        && is_x86_feature_detected!("avx512vl")
                }
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        match self {
            Self::Baseline => true,
            Self::Fma | Self::Four => cfg!(target_arch = "aarch64"),
            Self::Eight => false,
        }
    }

    /// The number of worlds in a lane of double precision: as many as fill one register. Two registers per value would
    /// be too many, as the sixteen registers of AVX2 do not even hold a contact.
    pub fn width(self) -> usize {
        match self {
            Self::Baseline | Self::Fma => 1,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// The usual name of the instruction set.
    pub fn name(self) -> &'static str {
        let arm = cfg!(target_arch = "aarch64");
        match self {
            Self::Baseline => std::env::consts::ARCH,
            Self::Fma => "fma",
            Self::Four if arm => "neon",
            Self::Four => "avx2",
            Self::Eight => "avx512",
        }
    }
}

/// The instruction set and the precision that a kernel computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arithmetic {
    /// The processor's instructions, and so the length of its registers.
    pub set: InstructionSet,
    /// The precision of the numbers.
    pub precision: Precision,
}

/// The precision of a kernel's numbers: single or double.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// Double precision, `f64`.
    Double,
    /// Single precision, `f32`: twice as many worlds in a register.
    Single,
}

impl Precision {
    /// The smallest positive number of full precision (not subnormal).
    #[inline(always)]
    pub const fn tiny(self) -> f64 {
        match self {
            Self::Double => f64::MIN_POSITIVE,
            Self::Single => f32::MIN_POSITIVE as f64,
        }
    }
    /// The machine epsilon: the distance from 1 to the next larger number.
    #[inline(always)]
    pub const fn epsilon(self) -> f64 {
        match self {
            Self::Double => f64::EPSILON,
            Self::Single => f32::EPSILON as f64,
        }
    }
    /// Vectors up to this length, in metres, count as zero where a direction is needed. It is far below any length that
    /// matters, and above the rounding of coordinates of a few centimetres.
    #[inline(always)]
    pub const fn no_length(self) -> f64 {
        match self {
            Self::Double => 1e-14,
            Self::Single => 1e-8,
        }
    }
    /// A factor that makes numbers beyond about 1e30 infinite: these are out of the range in which kernels compute.
    #[inline(always)]
    pub const fn out_of_range(self) -> f64 {
        match self {
            Self::Double => 1e278,
            Self::Single => 1e8,
        }
    }
}

impl From<InstructionSet> for Arithmetic {
    fn from(set: InstructionSet) -> Self {
        Self { set, precision: Precision::Double }
    }
}

impl Arithmetic {
    /// The arithmetic that is used for this set and precision. The baseline and the feature `narrow` have no single
    /// precision, and compute in double.
    pub fn new(set: InstructionSet, precision: Precision) -> Self {
        if precision == Precision::Double || set == InstructionSet::Baseline || cfg!(feature = "narrow") {
            return set.into();
        }
        let set = if set == InstructionSet::Fma { InstructionSet::Four } else { set };
        Self { set, precision }
    }

    /// The number of worlds in a lane.
    pub(crate) fn width(self) -> usize {
        match self.precision {
            Precision::Double => self.set.width(),
            Precision::Single => 2 * self.set.width(),
        }
    }

    /// The narrowest arithmetic that does so many worlds with one lane, or else this one. A lane costs the same however
    /// few of its worlds are used: a lane of four costs 1.2 times as much as a single world, and a lane of eight 1.6
    /// times as much as a lane of four.
    pub fn within(self, worlds: usize) -> Self {
        let narrower = match (self.set, self.precision) {
            (InstructionSet::Eight, _) => InstructionSet::Four,
            (InstructionSet::Four, Precision::Double) => InstructionSet::Fma,
            _ => return self,
        };
        let narrower = Self { set: narrower, ..self };
        if worlds <= narrower.width() { narrower.within(worlds) } else { self }
    }
}
