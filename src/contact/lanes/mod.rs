//! TEMPORARY: replaced by the lanes branch.
use crate::description::Shape;
use crate::kinematics::Pose;
use crate::math::lane::Real;
use crate::math::vector::{add, axpy, cross, dot, scale, sub};
#[derive(Clone, Copy, Debug)]
pub(crate) enum LanePair {
    SphereSphere,
    SphereHalfSpace,
}
impl LanePair {
    pub(crate) fn find(a: &Shape, b: &Shape) -> Option<(Self, bool)> {
        match (a, b) {
            (Shape::Sphere { .. }, Shape::Sphere { .. }) => Some((Self::SphereSphere, false)),
            (Shape::Sphere { .. }, Shape::HalfSpace) => Some((Self::SphereHalfSpace, false)),
            (Shape::HalfSpace, Shape::Sphere { .. }) => Some((Self::SphereHalfSpace, true)),
            _ => None,
        }
    }
    pub(crate) fn contacts(self) -> usize {
        1
    }
}
#[inline(always)]
pub(crate) fn witness<R: Real>(
    pair: LanePair,
    swapped: bool,
    a: &Pose<R>,
    sa: &[R],
    b: &Pose<R>,
    sb: &[R],
    out: &mut [R],
) {
    match pair {
        LanePair::SphereSphere => {
            let d = sub(b.p, a.p);
            let len = dot(d, d).sqrt();
            let n = scale(R::one() / len, d);
            out[..3].copy_from_slice(&n);
            out[3..6].copy_from_slice(&axpy(sa[0], n, a.p));
            out[6..9].copy_from_slice(&axpy(-sb[0], n, b.p));
            out[9] = len - sa[0] - sb[0];
        }
        LanePair::SphereHalfSpace => {
            let (s, r, h) = if swapped { (b, sb[0], a) } else { (a, sa[0], b) };
            let n = h.axes[2];
            let dist = dot(n, sub(s.p, h.p));
            let ps = axpy(-r, n, s.p);
            let ph = axpy(-dist, n, s.p);
            let (n, pa, pb) = if swapped { (n, ph, ps) } else { (scale(-R::one(), n), ps, ph) };
            out[..3].copy_from_slice(&n);
            out[3..6].copy_from_slice(&pa);
            out[6..9].copy_from_slice(&pb);
            out[9] = dist - r;
        }
    }
}
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(crate) fn pull<R: Real>(
    pair: LanePair,
    swapped: bool,
    a: &Pose<R>,
    sa: &[R],
    b: &Pose<R>,
    sb: &[R],
    g: &[R],
    wa: &mut [R],
    wb: &mut [R],
    ga: &mut [R],
    gb: &mut [R],
) {
    let v = |k: usize| [g[k], g[k + 1], g[k + 2]];
    let (gn, gpa, gpb, gphi) = (v(0), v(3), v(6), g[9]);
    match pair {
        LanePair::SphereSphere => {
            let d = sub(b.p, a.p);
            let len = dot(d, d).sqrt();
            let n = scale(R::one() / len, d);
            let gn = axpy(sa[0], gpa, axpy(-sb[0], gpb, gn));
            ga[0] += dot(gpa, n) - gphi;
            gb[0] -= dot(gpb, n) + gphi;
            let t = axpy(-dot(gn, n), n, gn);
            let gd = axpy(gphi, n, scale(R::one() / len, t));
            for k in 0..3 {
                wa[k] += gpa[k] - gd[k];
                wb[k] += gpb[k] + gd[k];
            }
        }
        LanePair::SphereHalfSpace => {
            let (s, r, h) = if swapped { (b, sb[0], a) } else { (a, sa[0], b) };
            let n = h.axes[2];
            let rel = sub(s.p, h.p);
            let dist = dot(n, rel);
            let (gps, gph, gn) = if swapped { (gpb, gpa, gn) } else { (gpa, gpb, scale(-R::one(), gn)) };
            // ps = s - r n ; ph = s - dist n ; phi = dist - r
            let gdist = gphi - dot(gph, n);
            let gs = add(gps, axpy(gdist, n, gph));
            let gr = -(gphi + dot(gps, n));
            let gn = add(gn, axpy(-r, gps, axpy(-dist, gph, scale(gdist, rel))));
            let (ws, wh, gsr) = if swapped { (wb, wa, gb) } else { (wa, wb, ga) };
            gsr[0] += gr;
            let m = cross(n, gn);
            for k in 0..3 {
                ws[k] += gs[k];
                wh[k] -= gdist * n[k];
                wh[3 + k] += m[k];
            }
        }
    }
}
