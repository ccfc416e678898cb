//! Fewer contact points: those that matter least give their weight to others.
//!
//! A point i may give its weight to a heavier one, j. The cost is by how much this moves weight (Ward, 1963), and more
//! if j is hardly heavier, so that nothing jumps as the two change places:
//!
//! ```text
//! c_ij = w_i w_j / (w_i + w_j) |x_i − x_j|² / ω(w_i / w_j),   ω(r) = 1 + EVEN − r²
//! ```
//!
//! With n points and room for m of them, the n − m points to which the least c_i = min_j c_ij belong give all they have. Let ℓ be the
//! largest of these. Points up to 2 ℓ give a share that falls from all to nothing. In the same way a point's weight is divided
//! among those that cost up to 2 c_i. So nothing jumps when a point splits or appears, for both cost nothing, or when
//! others become the cheapest. Who receives weight moves to the middle of what it has.

use nalgebra::{Vector2, Vector3};

use super::number::{Number, along, along2, dot2, sub, sub2};
use super::spot::Spot;
use super::tilt::part;

/// What is left of ω between points of equal weight.
const EVEN: f64 = 0.01;

/// Merges points, all of them with weight, until there is room for them.
pub(super) fn merge<S: Number>(places: &mut Vec<Vector2<S>>, spots: &mut Vec<Spot<S>>, room: usize) {
    let n = spots.len();
    if n <= room {
        return;
    }
    let mut lightest_first: Vec<usize> = (0..n).collect();
    lightest_first.sort_by(|&i, &j| spots[i].weight.value().total_cmp(&spots[j].weight.value()));
    let gifts: Vec<Gift<S>> =
        (0..n - 1).map(|k| Gift::new(lightest_first[k], &lightest_first[k + 1..], places, spots)).collect();
    let mut least: Vec<S> = gifts.iter().map(|gift| gift.cost).collect();
    least.sort_by(by_value);
    let last = least[n - room - 1];
    let mut keep = vec![true; n];
    for Gift { from, to, cost } in &gifts {
        let given = fading(*cost, last) * spots[*from].weight;
        for &(to, share) in to {
            move_weight(places, spots, *from, to, given * share);
        }
        spots[*from].weight -= given;
        keep[*from] = cost.value() > last.value();
    }
    let (mut of_places, mut of_spots) = (keep.iter(), keep.iter());
    places.retain(|_| of_places.next() == Some(&true));
    spots.retain(|_| of_spots.next() == Some(&true));
}

/// How a point may give its weight away.
struct Gift<S> {
    from: usize,
    /// To whom, and which share.
    to: Vec<(usize, S)>,
    cost: S,
}

impl<S: Number> Gift<S> {
    fn new(from: usize, heavier: &[usize], places: &[Vector2<S>], spots: &[Spot<S>]) -> Self {
        let own = spots[from].weight;
        let costs = heavier.iter().map(|&to| {
            let (other, apart) = (spots[to].weight, sub2(&places[from], &places[to]));
            let ratio = own / other;
            let evenness = S::constant(1.0 + EVEN) - ratio * ratio;
            own * other / (own + other) * dot2(&apart, &apart) / evenness
        });
        let costs: Vec<S> = costs.collect();
        let cost = costs.iter().copied().min_by(by_value).unwrap_or(S::constant(f64::INFINITY));
        let shares = heavier.iter().zip(costs).map(|(&to, other)| (to, fading(other, cost)));
        let mut to: Vec<(usize, S)> = shares.filter(|(_, share)| share.value() > 0.0).collect();
        let all = to.iter().fold(S::constant(0.0), |sum, &(_, share)| sum + share);
        to.iter_mut().for_each(|(_, share)| *share = *share / all);
        Self { from, to, cost }
    }
}

fn by_value<S: Number>(x: &S, y: &S) -> std::cmp::Ordering {
    x.value().total_cmp(&y.value())
}

/// One up to the least cost, and nothing from twice that on.
fn fading<S: Number>(cost: S, least: S) -> S {
    if cost.value() <= least.value() {
        return S::constant(1.0);
    }
    let over = (cost - least) / least;
    if over.value() < 1.0 { S::constant(1.0) - part(over * over) } else { S::constant(0.0) }
}

/// Adds some weight from one place to another point, which moves to the middle. The giver keeps its own.
fn move_weight<S: Number>(places: &mut [Vector2<S>], spots: &mut [Spot<S>], from: usize, to: usize, weight: S) {
    let all = spots[to].weight + weight;
    let part = weight / all;
    let nearer = |here: &Vector3<S>, there: &Vector3<S>| along(here, &sub(there, here), part);
    let (giver, taker) = (&spots[from], &spots[to]);
    let phi = taker.phi + (giver.phi - taker.phi) * part;
    let [point_a, point_b] = [nearer(&taker.point_a, &giver.point_a), nearer(&taker.point_b, &giver.point_b)];
    spots[to] = Spot { phi, point_a, point_b, weight: all };
    places[to] = along2(&places[to], &sub2(&places[from], &places[to]), part);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::largest::largest;

    fn spot(at: [f64; 2], weight: f64) -> (Vector2<f64>, Spot<f64>) {
        let point_a = Vector3::new(at[0], at[1], 0.0);
        (at.into(), Spot { phi: at[0], point_a, point_b: point_a + Vector3::z() * at[0], weight })
    }

    fn merged(points: &[([f64; 2], f64)], room: usize) -> (Vec<Vector2<f64>>, Vec<Spot<f64>>) {
        let (mut places, mut spots) = points.iter().map(|&(at, weight)| spot(at, weight)).unzip();
        merge(&mut places, &mut spots, room);
        (places, spots)
    }

    /// The middle of all points and their second moments: what a force and a moment see of them.
    fn moments(points: &[([f64; 2], f64)], room: usize) -> [f64; 6] {
        let (places, spots) = merged(points, room);
        assert!(places.len() <= room && places.len() == spots.len());
        let mut all = [0.0; 6];
        for (at, Spot { phi, point_a, point_b, weight }) in places.iter().zip(&spots) {
            assert!(
                (point_a.xy() - at).norm() < 1e-15 && (point_b.z - phi).abs() < 1e-15 && (phi - at.x).abs() < 1e-15
            );
            for (sum, part) in all.iter_mut().zip([1.0, at.x, at.y, at.x * at.x, at.x * at.y, at.y * at.y]) {
                *sum += weight * part;
            }
        }
        all
    }

    const SQUARE: [([f64; 2], f64); 4] = [([0.0, 0.0], 0.3), ([1.0, 0.1], 0.3), ([1.0, 1.2], 0.2), ([-0.1, 1.0], 0.2)];

    fn change(x: [f64; 6], y: [f64; 6]) -> f64 {
        largest(x.iter().zip(y).map(|(x, y)| x - y))
    }

    #[test]
    fn room_for_all_changes_nothing() {
        let (places, spots) = merged(&SQUARE, 4);
        assert!(places.iter().zip(SQUARE).all(|(at, (from, _))| *at == Vector2::from(from)));
        assert!(spots.iter().zip(SQUARE).all(|(spot, (_, weight))| spot.weight == weight));
    }

    /// A point that splits, or a new one, goes into its neighbour, and nothing else moves.
    #[test]
    fn splitting_and_new_points_do_not_jump() {
        let whole = moments(&SQUARE, 4);
        let [a, b, c, d] = SQUARE;
        for apart in [1e-9, 1e-6, 1e-4] {
            let twins = [a, ([1.0, 0.1], 0.1), ([1.0, 0.1 + apart], 0.2), c, d];
            assert!(change(moments(&twins, 4), whole) < 2.0 * apart);
            let new = [a, b, c, ([0.5, 1.3], apart), ([-0.1, 1.0], 0.2 - apart)];
            let moved = change(moments(&new, 4), whole);
            assert!(moved < 5.0 * apart, "{moved} {apart}");
        }
    }

    /// As one of seven points goes past all others, with room for four, what is left moves as far as it does.
    #[test]
    fn other_neighbours_do_not_jump() {
        let points = |t: f64| {
            let [a, b, c, d] = SQUARE;
            let (e, f) = (([0.45, 0.52], 0.04), ([0.7, -0.3], 0.06));
            [a, b, c, d, e, f, ([2.0 * t - 0.5, 0.9 - 0.7 * t], 0.05)]
        };
        let steps = 100_000;
        let mut before = moments(&points(0.0), 4);
        for k in 1..=steps {
            let here = moments(&points(f64::from(k) / f64::from(steps)), 4);
            assert!(change(before, here) < 20.0 / f64::from(steps), "{k}");
            before = here;
        }
    }
}
