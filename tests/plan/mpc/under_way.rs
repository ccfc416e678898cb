//! Commands under way.

use fingertip::mpc::UnderWay;

fn parts(parts: &[(&[f64], usize)]) -> Vec<(f64, usize)> {
    parts.iter().map(|(u, n)| (u[0], *n)).collect()
}

/// Step by step: the command given at step k n is in effect from step k n + m on.
#[test]
fn a_command_takes_effect_after_the_latency() {
    let n = 5;
    for m in 0..=3 * n {
        let mut under_way = UnderWay::new(&[-1.0]);
        let in_effect = |step: usize| step.checked_sub(m).map_or(-1.0, |since| (since / n) as f64);
        let steps = |parts: Vec<(f64, usize)>| -> Vec<f64> {
            parts.into_iter().flat_map(|(u, n)| std::iter::repeat_n(u, n)).collect()
        };
        for k in 0..8 {
            let ahead = steps(parts(&under_way.ahead(m, n)));
            assert_eq!(ahead, (k * n..k * n + m).map(in_effect).collect::<Vec<_>>(), "latency {m}, period {k}");
            under_way.give(&[k as f64]);
            let during = steps(parts(&under_way.during(m, n)));
            assert_eq!(during, (k * n..k * n + n).map(in_effect).collect::<Vec<_>>(), "latency {m}, period {k}");
        }
    }
}

#[test]
fn a_command_that_the_plant_did_not_follow_is_replaced() {
    let mut under_way = UnderWay::new(&[-1.0]);
    (0..4).for_each(|k| under_way.give(&[f64::from(k)]));
    under_way.correct(2, 2, &[7.0]);
    assert_eq!(parts(&under_way.ahead(8, 2)), [(0.0, 2), (1.0, 2), (7.0, 2), (3.0, 2)]);
    under_way.correct(0, 2, &[8.0]);
    assert_eq!(under_way.newest(), [8.0]);
    // Of before the beginning nothing is kept.
    UnderWay::new(&[0.0]).correct(4, 2, &[1.0]);
}
