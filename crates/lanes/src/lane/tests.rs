//! Tests that all lane types give the same bits as single numbers.

use super::array::Array;
use super::{Eight, EightF32, Flags, Four, InstructionSet, Mask, Packed, Single, SixteenF32};

const SPECIAL: [f64; 12] =
    [0.0, -0.0, 1.0, -1.5, 1e-308, 3e200, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.1, -7.25, 1e-17];

/// The bits of the results of every operation, for all pairs of numbers in [`SPECIAL`].
fn bits<R: Packed>() -> Vec<u64> {
    let mut bits = Vec::new();
    let n = SPECIAL.len();
    for first in (0..n * n).step_by(R::WIDTH) {
        let (mut x, mut y) = (R::zero(), R::zero());
        for i in 0..R::WIDTH {
            x.set(i, SPECIAL[(first + i) % n]);
            y.set(i, SPECIAL[(first + i) / n % n]);
        }
        let less = x.lt(y);
        let mut odd = R::Mask::splat(false);
        (0..R::WIDTH).filter(|i| (first + i) % 2 == 1).for_each(|i| odd.set(i, true));
        let results = [
            [x + y, x - y, x * y, x / y, -x, x.abs(), x.min(y), x.max(y)],
            [x.mul_add(y, x), x.abs().sqrt(), x.abs().ln(), x.atan2(y), x.sin_cos().0, x.sin_cos().1, x, y],
            [
                R::select(less, x, y),
                R::select(odd, x, y),
                R::select(less.and(odd), x, y),
                R::select(less.or(odd), x, y),
                R::select(less.not(), x, y),
                R::select(x.is_finite(), x, y),
                R::select(R::Mask::splat(true), x, y),
                R::select(x.gt(y), x, y),
            ],
        ];
        for i in 0..R::WIDTH {
            assert_eq!(odd.get(i), (first + i) % 2 == 1);
            // The sign and payload of a NaN may differ.
            let number = |x: f64| if x.is_nan() { f64::NAN } else { x }.to_bits();
            bits.extend(results.iter().flatten().map(|result| number(result.get(i))));
            bits.push(u64::from(less.get(i)));
        }
        assert!(!R::Mask::splat(false).any() && R::Mask::splat(true).any());
        assert_eq!(odd.any(), R::WIDTH > 1 || first % 2 == 1);
    }
    bits
}

#[test]
fn every_width_gives_the_same_bits() {
    let (double, single) = (bits::<Single<f64, true>>(), bits::<Single<f32, true>>());
    assert_eq!(bits::<Array<f64, 2>>(), double);
    assert_eq!(bits::<Array<f64, 8>>(), double);
    assert_eq!(bits::<Array<f32, 4>>(), single);
    if InstructionSet::Four.is_available() {
        assert_eq!(bits::<Four>(), double);
        assert_eq!(bits::<EightF32>(), single);
    }
    if InstructionSet::Eight.is_available() {
        assert_eq!(bits::<Eight>(), double);
        assert_eq!(bits::<SixteenF32>(), single);
    }
}
