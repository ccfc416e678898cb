//! One cost of those of several worlds.

use fingertip::mpc::Risk;

/// The mean and nearly the largest; a cost that is not a number is no zero.
#[test]
fn one_cost_of_several() {
    assert_eq!(Risk::Mean.of(&[1.0, 3.0]), (2.0, vec![0.5, 0.5]));
    let (worst, weights) = Risk::Worst.of(&[1.0, 3.0]);
    assert!((worst - 3.0 * 0.5_f64.powf(0.125)).abs() < 1e-3 && weights[1] > 500.0 * weights[0]);
    for costs in [&[f64::NAN][..], &[f64::NAN, 1.0], &[1.0, f64::NAN]] {
        assert!(Risk::ALL.iter().all(|risk| risk.of(costs).0.is_nan()), "{costs:?}");
    }
}
