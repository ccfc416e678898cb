//! The part of H that contacts share, and of its right-hand side.
//!
//! The contacts of a hand with one object mostly see the same few degrees of freedom, the leading and dense rows of H.
//! For the sizes of a ball and of a free body, alone or in a hand on one joint, loops are unrolled.

use fingertip_lanes::factor::Pattern;
use fingertip_lanes::lane::{Real, Zip, inlined};

use super::cone::SLIDING;
use super::response::Response;
use super::structure::{ContactColumns, Structure};
use super::vector::dot;

/// Returns what a function of a constant size gives, where there is one for this size. There are none for contacts that
/// turn, which are rarer: they would take as long to compile as all others.
macro_rules! sized {
    ($R:ty, $N:expr, $n:expr, $S:ident => $unrolled:expr) => {
        if const { <$R>::FAST && $N == SLIDING } {
            match $n {
                3 => {
                    const $S: usize = 3;
                    return $unrolled;
                }
                4 => {
                    const $S: usize = 4;
                    return $unrolled;
                }
                6 => {
                    const $S: usize = 6;
                    return $unrolled;
                }
                7 => {
                    const $S: usize = 7;
                    return $unrolled;
                }
                _ => {}
            }
        }
    };
}

/// h += J̃_sᵀ A J̃_s and x −= J̃_sᵀ force of a contact. `scaled` has room for its shared columns.
#[inline(always)]
pub(super) fn add<R: Real, const N: usize>(
    contact: &ContactColumns,
    columns: &[[R; N]],
    response: &Response<R, N>,
    force: [R; N],
    scaled: &mut [[R; N]],
    h: &mut [R],
    x: &mut [R],
) {
    let columns = contact.shared_part(columns);
    sized!(R, N, contact.n_leading, S => add_leading::<R, N, S>(contact, columns, response, force, h, x));
    let scaled = &mut scaled[..columns.len()];
    for ((&column, &dof), along) in columns.iter().zip_inline(contact.shared()).zip_inline(scaled.iter_mut()) {
        x[dof] -= dot(column, force);
        *along = response.along(column);
    }
    let weighed = inlined(
        #[inline(always)]
        |along| weighed(contact, response, along),
    );
    add_products(scaled, weighed, &contact.entries, h);
}

/// E x of a contact's response A = Zᵀ E Z.
#[inline(always)]
pub(super) fn weighed<R: Real, const N: usize>(
    contact: &ContactColumns,
    response: &Response<R, N>,
    x: [R; N],
) -> [R; N] {
    if contact.is_rigid() { x } else { response.weighed(x) }
}

/// h_ab += `left`(v_a) · v_b, where `entries` says that the lower triangle is. Two rows go together, to read each v
/// once.
#[inline(always)]
pub(super) fn add_products<R: Real, const N: usize>(
    v: &[[R; N]],
    left: impl Fn([R; N]) -> [R; N],
    mut entries: &[usize],
    h: &mut [R],
) {
    let mut row = 0;
    if v.len() % 2 == 1 {
        h[entries[0]] += dot(left(v[0]), v[0]);
        (row, entries) = (1, &entries[1..]);
    }
    while row < v.len() {
        let (upper, rest) = entries.split_at(row + 1);
        let (lower, rest) = rest.split_at(row + 1);
        let (first, second) = (left(v[row]), left(v[row + 1]));
        for ((&other, &above), &below) in v[..=row].iter().zip_inline(upper).zip_inline(lower) {
            h[above] += dot(first, other);
            h[below] += dot(second, other);
        }
        h[rest[0]] += dot(second, v[row + 1]);
        (row, entries) = (row + 2, &rest[1..]);
    }
}

#[inline(always)]
fn add_leading<R: Real, const N: usize, const S: usize>(
    contact: &ContactColumns,
    columns: &[[R; N]],
    response: &Response<R, N>,
    force: [R; N],
    h: &mut [R],
    x: &mut [R],
) {
    let (columns, h, x) = (&columns[..S], &mut h[..S * (S + 1) / 2], &mut x[..S]);
    let mut scaled = [[R::zero(); N]; S];
    for a in 0..S {
        x[a] -= dot(columns[a], force);
        scaled[a] = response.along(columns[a]);
        let weighed = weighed(contact, response, scaled[a]);
        for b in 0..=a {
            h[a * (a + 1) / 2 + b] += dot(weighed, scaled[b]);
        }
    }
}

/// M += J̃_sᵀ up downᵀ J̃_s of a contact, for an M whose lower triangle is in `h`; in `upper` what the upper one has
/// beside it.
#[inline(always)]
pub(super) fn add_tilt<R: Real, const N: usize>(
    contact: &ContactColumns,
    columns: &[[R; N]],
    (up, down): ([R; N], [R; N]),
    scaled: &mut [[R; N]],
    h: &mut [R],
    upper: &mut [R],
) {
    let columns = contact.shared_part(columns);
    sized!(R, N, contact.n_leading, S => add_leading_tilt::<R, N, S>(columns, (up, down), h, upper));
    let mut entries = contact.entries.iter();
    for (a, &column) in columns.iter().enumerate() {
        let (row, along) = (dot(column, up), dot(column, down));
        (scaled[a][0], scaled[a][1]) = (row, along);
        for (other, &entry) in scaled[..=a].iter().zip_inline(entries.by_ref()) {
            let below = row * other[1];
            h[entry] += below;
            upper[entry] += other[0] * along - below;
        }
    }
}

#[inline(always)]
fn add_leading_tilt<R: Real, const N: usize, const S: usize>(
    columns: &[[R; N]],
    (up, down): ([R; N], [R; N]),
    h: &mut [R],
    upper: &mut [R],
) {
    let (columns, h, upper) = (&columns[..S], &mut h[..S * (S + 1) / 2], &mut upper[..S * (S + 1) / 2]);
    let (mut rows, mut alongs) = ([R::zero(); S], [R::zero(); S]);
    for a in 0..S {
        rows[a] = dot(columns[a], up);
        alongs[a] = dot(columns[a], down);
        for b in 0..=a {
            let below = rows[a] * alongs[b];
            h[a * (a + 1) / 2 + b] += below;
            upper[a * (a + 1) / 2 + b] += rows[b] * alongs[a] - below;
        }
    }
}

/// x_s ← M_s⁻¹ x_s for an M that is not symmetric, in two triangles; they become its factors.
#[inline(always)]
pub(super) fn solve_pair<R: Real, const N: usize>(s: &Structure, h: &mut [R], upper: &mut [R], x: &mut [R]) {
    sized!(R, N, s.n_dense, S => Pattern::solve_dense_pair::<R, S>(h, upper, x));
    s.factor_h.factor_pair_leading(h, upper, s.n_shared);
    s.factor_h.solve_leading([upper, h], x, s.n_shared);
}

/// x_s ← H_s⁻¹ x_s; H becomes its factor.
#[inline(always)]
pub(super) fn solve<R: Real, const N: usize>(s: &Structure, h: &mut [R], x: &mut [R]) {
    sized!(R, N, s.n_dense, S => Pattern::solve_dense::<R, S>(h, x));
    s.factor_h.factor_leading(h, s.n_shared);
    s.factor_h.solve_leading([h, h], x, s.n_shared);
}
