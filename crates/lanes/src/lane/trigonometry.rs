//! Sine and cosine for lanes, without table or branch: a joint angle costs the same few multiply-adds in every world.

use super::{Mask, Real};

// π/2 in three parts, the first two with 33 significant bits each, so that k·π/2 is exact for |k| < 2^20
// (Cody and Waite, Software Manual for the Elementary Functions, 1980).
const HALF_PI: [f64; 3] = [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_950_7e-21];
// The largest angle for which the reduction is exact enough; the standard library does larger ones.
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

/// Sine and cosine of angles in radians, computed in double precision.
#[inline(always)]
pub(crate) fn sin_cos<R: Real>(x: R) -> (R, R) {
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
    let mut result = [R::select(sin_negative, -s, s), R::select(cos_negative, -c, c)];
    let far = x.abs().lt(R::splat(LIMIT)).not();
    R::when(
        far,
        &mut result,
        #[inline(always)]
        |[s, c]| {
            let (sin, cos) = x.library_sin_cos();
            (*s, *c) = (R::select(far, sin, *s), R::select(far, cos, *c));
        },
    );
    let [s, c] = result;
    (s, c)
}
