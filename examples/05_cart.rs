//! Hard contact in its smallest form: a cart is pushed against a wall and pulled away again. Each step is one
//! complementarity problem, 0 ≤ f ⟂ φ₊ ≥ 0 with φ₊ = a + (h²/m) f, here by Lemke's method and against closed forms.
//!
//! ```text
//! cargo run --release --example 05_cart
//! ```

mod check;

use candle_core::Result;
use fingertip::math::largest::{larger, largest};
use fingertip::show::{Chart, Panel};
use fingertip::solve::Status;
use fingertip::solve::lcp::Lcp;
use nalgebra::{DMatrix, DVector};

use check::below;

/// Mass, kg; time step, s; distance of the wall at q = 0 from the start, m.
const MASS: f64 = 2.0;
const H: f64 = 0.01;
const START: f64 = 1.0;
/// The force on the cart, N, and from which step on it pulls.
const PUSH: f64 = -2.0;
const PULL: f64 = 1.0;
const CHANGE: usize = 300;
const STEPS: usize = 500;
/// Shown of the force, N: that of the impact is a hundred times as large.
const SHOWN: f64 = 10.0;

/// The cart's position and velocity, and the wall's force in the step that led there.
#[derive(Clone, Copy)]
struct State {
    q: f64,
    v: f64,
    f: f64,
}

/// Semi-implicit Euler sums up: k steps at the acceleration a move the cart from rest by a h² k (k + 1)/2.
fn closed_form(k: usize) -> State {
    let from_rest = |u: f64, k: usize| {
        let k = k as f64;
        State { q: u / MASS * H * H * k * (k + 1.0) / 2.0, v: u / MASS * H * k, f: 0.0 }
    };
    let before = |k: usize| State { q: START + from_rest(PUSH, k).q, ..from_rest(PUSH, k) };
    let hit = (0..CHANGE).find(|&k| before(k).q < 0.0).unwrap_or(CHANGE);
    let State { q, v, .. } = before(hit.saturating_sub(1));
    match k {
        _ if k < hit => before(k),
        _ if k > CHANGE => from_rest(PULL, k - CHANGE),
        // The first step ends at the wall with the velocity −q/h that goes there, the second stops it, the others
        // carry.
        _ if k == hit => State { q: 0.0, v: -q / H, f: MASS / H * (-q / H - v) - PUSH },
        _ if k == hit + 1 => State { q: 0.0, v: 0.0, f: MASS / H * (q / H) - PUSH },
        _ => State { q: 0.0, v: 0.0, f: -PUSH },
    }
}

fn main() -> Result<()> {
    let mut states = vec![State { q: START, v: 0.0, f: 0.0 }];
    for k in 0..STEPS {
        let (State { q, v, .. }, u) = (states[k], if k < CHANGE { PUSH } else { PULL });
        let free = q + H * v + H * H * u / MASS;
        let problem = Lcp::new(DMatrix::from_element(1, 1, H * H / MASS), DVector::from_element(1, free))?;
        let solution = problem.lemke(10);
        if solution.status != Status::Solved {
            candle_core::bail!("step {k}: {:?}", solution.status);
        }
        let v = v + H * (u + solution.z[0]) / MASS;
        states.push(State { q: q + H * v, v, f: solution.z[0] });
    }

    let expected: Vec<State> = (0..=STEPS).map(closed_form).collect();
    let off = |of: fn(&State) -> f64| {
        largest(states.iter().zip(&expected).map(|(a, b)| of(a) - of(b))) / largest(expected.iter().map(of))
    };
    let worst = largest([off(|s| s.q), off(|s| s.v), off(|s| s.f)]);
    below("largest difference from the closed form, relative", worst, 1e-12)?;
    let forces: Vec<f64> = states.iter().map(|s| s.f).filter(|&f| f > 0.0).collect();
    println!("the wall's forces begin {:.1?} N: two steps of impact, then it carries the push", &forces[..3]);
    let deepest = states.iter().map(|s| -s.q).fold(0.0, larger);
    below("deepest in the wall, m", deepest, 1e-15)?;

    let over_time = |states: &[State], of: fn(&State) -> f64| -> Vec<(f64, f64)> {
        states.iter().enumerate().map(|(k, state)| (k as f64 * H, of(state))).collect()
    };
    let panel = |label: &str, of: fn(&State) -> f64| {
        Panel::new(label, 220.0).line("LCP", over_time(&states, of)).dashed("closed form", over_time(&expected, of))
    };
    let chart = Chart::new("A cart against a wall", "time (s)");
    let chart = chart.panel(panel("position (m)", |s| s.q)).panel(panel("velocity (m/s)", |s| s.v));
    chart.panel(panel("force of the wall (N)", |s| if s.f < SHOWN { s.f } else { f64::NAN })).write("out/cart.svg")?;
    println!("wrote out/cart.svg");
    Ok(())
}
