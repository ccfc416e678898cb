//! One slip against one friction force: slip = a − c f, by the smoothed law slip = 2 f / (κ (μ² f_n² − f²)), whose root
//! is found by bisection, and Coulomb's law itself as κ grows.

use fingertip::description::{Collision, Freedom, Object, Params, Robot, Scene, Shape};

use super::{compile, with_coulomb};
use support::numbers;
use support::single::step_with;

const MASS: f64 = 0.5;
const RADIUS: f64 = 0.05;
const G: f64 = 9.81;
const H: f64 = 0.01;
const EPSILON: f64 = 0.1;
/// Inertia of a step's P per kilogram: ε/h².
const FACTOR: f64 = EPSILON / (H * H);
/// Of a solution against its closed form, relative: the residual is 1e-12, and forces at the cone's boundary keep 1e-3
/// of that.
const EXACT: f64 = 1e-9;

/// The friction force for `slip = a − c f` at the normal force f_n on `contacts` equal contacts, f being the sum.
fn friction(a: f64, c: f64, f_n: f64, mu: f64, kappa: f64, contacts: f64) -> f64 {
    let (mut low, mut high) = (0.0, mu * f_n * contacts);
    for _ in 0..200 {
        let f = f64::midpoint(low, high);
        let one = f / contacts;
        let law = 2.0 * one / (kappa * (mu * f_n - one) * (mu * f_n + one));
        if a - c * f > law { low = f } else { high = f }
    }
    low
}

/// The normal force of a body that presses with `weight` over a gap φ, moved by 1/p per newton.
fn normal(weight: f64, p: f64, phi: f64, kappa: f64) -> f64 {
    // f = weight + p (gap − φ), gap = 1/(κ f)
    let b = weight - p * phi;
    f64::midpoint(b, (b * b + 4.0 * p / kappa).sqrt())
}

fn params(mu: f64, kappa: f64) -> Params {
    Params { h: H, epsilon: EPSILON, kappa, mu, ..Params::default() }
}

/// κ of friction, which is stiffer than normal forces.
fn of_friction(kappa: f64) -> f64 {
    kappa * Params::default().impratio
}

fn close(what: &str, found: f64, expected: f64, scale: f64) {
    let error = (found - expected).abs() / scale;
    assert!(error < EXACT, "{what}: {found} in the place of {expected}, {error:e} of {scale}");
}

fn ball(freedom: Freedom) -> Object {
    Object::rigid("ball", Shape::sphere(RADIUS), MASS).with_freedom(freedom)
}

/// Sticks below μ m g, slides above, with the weight as normal force whatever the slip; the relaxed law presses harder.
/// Friction that is stiffer than normal forces is that of so much larger a κ.
#[test]
fn a_growing_push() {
    for (mu, kappa, impratio) in
        [(0.3, 1e4, 1.0), (0.5, 1e6, 1.0), (1.0, 1e8, 1.0), (0.5, 1e10, 1.0), (0.5, 1e4, 100.0), (0.8, 1e2, 1e6)]
    {
        let params = Params { impratio, ..params(mu, kappa) };
        let scene = Scene::new().with_params(params).object(ball(Freedom::Translation));
        let model = compile(&with_coulomb(scene.object(Object::ground("ground", 0.0))));
        let (p, weight) = (FACTOR * MASS, MASS * G);
        let phi = 1.0 / (kappa * weight);
        for share in [0.0, 0.3, 0.9, 0.99, 1.01, 1.1, 2.0, 5.0] {
            let push = share * mu * weight;
            let (x, y) = (0.6 * push, 0.8 * push);
            let result = step_with(&model, &[0.0, 0.0, RADIUS + phi], &[], &[x, y, 0.0]);
            let force = numbers(&result.force);
            let f_n = normal(weight, p, phi, kappa);
            let f_t = friction(push / p, 1.0 / p, f_n, mu, kappa * impratio, 1.0);
            close("normal force", force[2], f_n, weight);
            close("friction along x", -force[0], 0.6 * f_t, weight);
            close("friction along y", -force[1], 0.8 * f_t, weight);
            let delta = numbers(&result.delta);
            close("slip", 0.6f64.mul_add(delta[0], 0.8 * delta[1]), (push - f_t) / p, RADIUS);
            if kappa == 1e10 {
                // The cone's boundary is 1/(μ κ slip) away, sticking creeps by 2 f/(κ (μ² f_n² − f²)).
                let expected = push.min(mu * weight);
                assert!((f_t - expected).abs() < 1e-6 * weight, "Coulomb: {f_t} at a push of {push}");
            }
        }
    }
}

/// Sticks below the angle of friction, slides above, by g (sin − μ cos) h²/ε in a step.
#[test]
fn an_incline() {
    let (mu, kappa) = (0.5, 1e8);
    for degrees in [5.0_f64, 20.0, 26.0, 27.0, 40.0, 70.0] {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let scene = Scene::new().with_params(params(mu, kappa)).with_gravity([G * sin, 0.0, -G * cos]);
        let scene = scene.object(ball(Freedom::Translation)).object(Object::ground("ground", 0.0));
        let model = compile(&with_coulomb(scene));
        let (p, weight) = (FACTOR * MASS, MASS * G * cos);
        let phi = 1.0 / (kappa * weight);
        let result = step_with(&model, &[0.0, 0.0, RADIUS + phi], &[], &[0.0; 3]);
        let f_t = friction(MASS * G * sin / p, 1.0 / p, weight, mu, of_friction(kappa), 1.0);
        close("normal force", numbers(&result.force)[2], weight, weight);
        close("friction", -numbers(&result.force)[0], f_t, weight);
        let slides = (MASS * G * (sin - mu * cos) / p).max(0.0);
        assert!((numbers(&result.delta)[0] - slides).abs() < 1e-6, "{degrees}°");
    }
}

/// Along a groove with walls at the angle α to its middle plane both walls press with m g/(2 sin α).
#[test]
fn a_groove() {
    for (degrees, mu) in [(30.0_f64, 0.5), (10.0, 0.5), (10.0, 1.0), (60.0, 0.2)] {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let kappa = 1e7;
        let mut scene = Scene::new().with_params(params(mu, kappa)).object(ball(Freedom::Translation));
        for (name, side) in [("left", 1.0), ("right", -1.0)] {
            let wall = Collision::half_space([0.0, side * cos, sin], 0.0).unwrap();
            scene = scene.object(Object::compound(name, vec![wall], 1.0).with_freedom(Freedom::Fixed));
        }
        let model = compile(&with_coulomb(scene));
        let (p, f_n) = (FACTOR * MASS, MASS * G / (2.0 * sin));
        // The height at which the gaps are those of the weight.
        let height = (RADIUS + 1.0 / (kappa * f_n)) / sin;
        for share in [0.5, 0.95, 1.05, 3.0] {
            let push = share * 2.0 * mu * f_n;
            let result = step_with(&model, &[0.0, 0.0, height], &[], &[push, 0.0, 0.0]);
            let force = numbers(&result.force);
            let f_t = friction(push / p, 1.0 / p, f_n, mu, of_friction(kappa), 2.0);
            close("friction of both walls", -(force[0] + force[3]), f_t, f_n);
            close("height", numbers(&result.delta)[2], 0.0, RADIUS);
        }
    }
}

/// A torque about a horizontal axis: the ball rolls off, or spins on the spot that slides.
#[test]
fn a_spinning_ball() {
    let (mu, kappa) = (0.5, 1e7);
    let scene = Scene::new().with_params(params(mu, kappa)).object(ball(Freedom::Free));
    let model = compile(&with_coulomb(scene.object(Object::ground("ground", 0.0))));
    let (p, weight) = (FACTOR * MASS, MASS * G);
    let turning = FACTOR * 0.4 * MASS * RADIUS * RADIUS;
    let phi = 1.0 / (kappa * weight);
    for share in [0.2, 0.9, 1.5, 4.0] {
        let torque = share * mu * weight * RADIUS;
        let result =
            step_with(&model, &[0.0, 0.0, RADIUS + phi, 1.0, 0.0, 0.0, 0.0], &[], &[0.0, 0.0, 0.0, 0.0, torque, 0.0]);
        // The witness point is below the ball's lowest point by φ at most: as far as the law sees it, at its surface.
        let arm = RADIUS;
        let c = 1.0 / p + arm * arm / turning;
        let f_t = friction(torque * arm / turning, c, weight, mu, of_friction(kappa), 1.0);
        close("friction", numbers(&result.force)[0], f_t, weight);
        close("normal force", numbers(&result.force)[2], weight, weight);
    }
}

/// A fingertip pressed into the ground by 5 mm and dragged: no gap opens, over a metre.
#[test]
fn a_dragged_tip() {
    let (mu, kappa, stiffness) = (0.5, 1e6, 100.0);
    let robot = Robot::from_urdf("tips", "assets/robots/fingertips.urdf").unwrap().with_default_stiffness(stiffness);
    let scene = Scene::new().with_params(params(mu, kappa)).robot(robot).object(Object::ground("ground", 0.0));
    let model = compile(&with_coulomb(scene));
    let home = model.tree.home();
    let place = |name: &str| {
        let found = model.tree.coordinates.iter().find(|c| c.name.ends_with(name)).unwrap();
        (found.q, found.v)
    };
    let ((x, v_x), (z, v_z)) = (place("x0"), place("z0"));
    let others: Vec<usize> = ["z1", "z2"].iter().map(|name| place(name).0).collect();
    let mut q = home;
    // The tip at its gap under 0.5 N, the others high above.
    let f_n = 0.5;
    let (base, radius) = (0.03, 0.01);
    q[z] = radius - base + 1.0 / (kappa * f_n);
    others.iter().for_each(|&other| q[other] = 0.4);
    let mut travelled = 0.0;
    for _ in 0..50 {
        let mut u = q.clone();
        u[x] += 0.02;
        u[z] -= f_n / stiffness;
        let result = step_with(&model, &q, &u, &vec![0.0; model.nv()]);
        let delta = numbers(&result.delta);
        let f_t = friction(0.02, 1.0 / stiffness, f_n, mu, of_friction(kappa), 1.0);
        // The others' forces across 0.4 m are 2e-5 N.
        assert!((delta[v_x] - (0.02 - f_t / stiffness)).abs() < 1e-6, "dragged by {}", delta[v_x]);
        assert!(delta[v_z].abs() < 1e-8, "rises by {:e}", delta[v_z]);
        travelled += delta[v_x];
        q = numbers(&result.q_next);
    }
    let gap = q[z] + base - radius;
    assert!(travelled > 0.85 && gap < 0.01 * mu * 0.02, "after {travelled} m a gap of {gap:e} m");
}
