//! Which instructions kernels are compiled for, and what the processor has.

/// An instruction set that kernels are compiled for, with the number of worlds that it handles at a time.
///
/// All but the baseline fuse multiply-adds and give the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// All of them, from the narrowest to the widest.
    pub const ALL: [Self; 4] = [Self::Baseline, Self::Fma, Self::Four, Self::Eight];

    /// The widest set that this processor has.
    pub fn detect() -> Self {
        let widest = Self::ALL.into_iter().rev().find(|set| set.is_available());
        widest.unwrap_or(Self::Baseline)
    }

    /// Has this processor the set? With the feature `narrow` there is [`InstructionSet::Fma`] alone.
    pub fn is_available(self) -> bool {
        if cfg!(feature = "narrow") && self != Self::Fma {
            return false;
        }
        self.is_there() || (cfg!(feature = "emulate-avx512") && self == Self::Eight && Self::Four.is_there())
    }

    /// Has this processor the set, whatever kernels are compiled for?
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

    /// Worlds per lane: as many as fill one register. With two registers per value the sixteen registers of AVX2 do
    /// not hold a contact.
    pub fn width(self) -> usize {
        match self {
            Self::Baseline | Self::Fma => 1,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// The set's usual name.
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

/// What a kernel computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arithmetic {
    /// The instructions.
    pub set: InstructionSet,
    /// That of the numbers.
    pub precision: Precision,
}

/// Of a kernel's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// `f64`.
    Double,
    /// `f32`: twice as many worlds in a register.
    Single,
}

impl Precision {
    /// The smallest positive number of full precision.
    #[inline(always)]
    pub const fn tiny(self) -> f64 {
        match self {
            Self::Double => f64::MIN_POSITIVE,
            Self::Single => f32::MIN_POSITIVE as f64,
        }
    }
    /// The distance from 1 to the next number.
    #[inline(always)]
    pub const fn epsilon(self) -> f64 {
        match self {
            Self::Double => f64::EPSILON,
            Self::Single => f32::EPSILON as f64,
        }
    }
    /// Lengths up to this one, in metres, count as zero where a direction is asked for: far below any length that matters
    /// and above the rounding of coordinates of a few centimetres.
    #[inline(always)]
    pub const fn no_length(self) -> f64 {
        match self {
            Self::Double => 1e-14,
            Self::Single => 1e-8,
        }
    }
    /// Times this, a number out of the range that kernels compute in, beyond about 1e30, is infinite.
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
    /// That of lanes. The baseline has no single precision, and there are no lanes of one world in it.
    pub fn new(set: InstructionSet, precision: Precision) -> Self {
        if precision == Precision::Double || set == InstructionSet::Baseline || cfg!(feature = "narrow") {
            return set.into();
        }
        let set = if set == InstructionSet::Fma { InstructionSet::Four } else { set };
        Self { set, precision }
    }

    /// Worlds per lane.
    pub(crate) fn width(self) -> usize {
        match self.precision {
            Precision::Double => self.set.width(),
            Precision::Single => 2 * self.set.width(),
        }
    }

    /// The narrowest part that takes so many worlds at once, or else the whole. A lane costs the same however few of its worlds
    /// are wanted: four 1.2 times as much as one, eight 1.6 times as much as four.
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
