//! How far contacts reach where the scene says nothing of it: what is left out is a hundredth of a weight.

use candle_core::{Result, Tensor};
use fingertip::Overrides;
use fingertip::description::{Freedom, Object, Params, Scene, Shape};
use fingertip::solve::Status;
use fingertip::step::{Dynamic, DynamicParams, Quasidynamic};

use support::numbers;
use support::single::compile;

const GRAVITY: f64 = 9.81;
/// Half of a cube's sides, m.
const HALF: f64 = 0.02;
/// Three quarters of its diameter, and more than any weight says below.
const DIAMETERS: f64 = 1.5 * 1.732_050_807_568_877_2 * HALF;

/// A cube of this mass, its underside at a height over a table's top. The table is a box.
fn cube(mass: f64, height: f64, params: Params) -> Scene {
    let table = Object::rigid("table", Shape::cuboid([0.2, 0.2, 0.05]), 1.0).at([0.0, 0.0, -0.05]);
    Scene::new()
        .with_params(params)
        .object(Object::rigid("cube", Shape::cuboid([HALF; 3]), mass).at([0.0, 0.0, HALF + height]))
        .object(table.with_freedom(Freedom::Fixed))
}

/// The reach of all contacts, which is one.
fn reach(scene: &Scene) -> f64 {
    let model = compile(scene);
    let all: Vec<f64> = model.pairs.windows().map(|window| window.reach).collect();
    assert!(!all.is_empty() && all.iter().all(|reach| *reach == all[0]), "{all:?}");
    all[0]
}

#[test]
fn a_hundredth_of_the_weight_is_left_out() {
    let usual = Params::default();
    let (kappa, mass) = (usual.kappa, 1e-3);
    let by_weight = 2.0 / (kappa * 0.01 * mass * GRAVITY);
    let named = Overrides::from_json(r#"{"params": {"contact_distance": "inf"}}"#).unwrap();
    let named = named.params(&Params { contact_distance: Some(0.03), ..usual.clone() }).unwrap();
    let falling = Object::rigid("cube", Shape::cuboid([HALF; 3]), 0.05).at([0.0, 0.0, 1.0]);
    let ball = |radius: f64, height: f64| Object::rigid("ball", Shape::sphere(radius), mass).at([0.0, 0.0, height]);
    let [balls, ground] = [Scene::new(), Scene::new().object(Object::ground("ground", 0.0))];
    let cases = [
        ("by weight", cube(mass, 0.01, usual.clone()), by_weight),
        ("without gravity", cube(mass, 0.01, usual.clone()).with_gravity([0.0; 3]), by_weight),
        ("by size", cube(0.05, 0.01, usual.clone()), DIAMETERS),
        ("a long step", cube(0.05, 0.01, Params { h: 0.02, ..usual.clone() }), 0.06),
        ("hard", cube(mass, 0.01, Params { kappa: 10.0 * kappa, ..usual.clone() }), 0.1 * by_weight),
        ("given", cube(mass, 0.01, Params { contact_distance: Some(0.03), ..usual.clone() }), 0.03),
        ("without end", cube(mass, 0.01, Params { contact_distance: Some(f64::INFINITY), ..usual }), f64::INFINITY),
        ("without end, by name", cube(mass, 0.01, named), f64::INFINITY),
        ("a half-space", ground.clone().object(falling), f64::INFINITY),
        ("one contact", ground.object(ball(0.01, 0.1)), f64::INFINITY),
        (
            "two balls",
            balls.object(ball(0.01, 0.1)).object(Object::rigid("other", Shape::sphere(0.01), mass)),
            f64::INFINITY,
        ),
    ];
    for (name, scene, expected) in cases {
        let found = reach(&scene);
        assert!(found == expected || (found / expected - 1.0).abs() < 1e-12, "{name}: {found} for {expected}");
    }
}

/// The table's push on the cube in a step, N.
fn push(mass: f64, height: f64, params: Params) -> Result<f64> {
    let model = compile(&cube(mass, height, params).with_gravity([0.0; 3]));
    let step = Quasidynamic::new(&model, &model.parameters)?;
    let next = step.step(&model.home(1)?, &model.tensor(&[&[]])?)?;
    assert_eq!(next.reports[0].status, Status::Solved);
    Ok(numbers(&next.force).chunks_exact(3).map(|force| force[2]).sum())
}

/// Up to three quarters of the reach the push is what it is without end, to the last bit; from there it fades, and at
/// the reach it is gone. What fades is less than 4/3 of a hundredth of the weight, which is the push from three
/// quarters of the least reach.
#[test]
fn pushes_fade_where_they_are_small() -> Result<()> {
    let (mass, whole) = (0.05, Params { contact_distance: Some(f64::INFINITY), ..Params::default() });
    for height in [1e-3, 0.01, 0.025, 0.74 * DIAMETERS] {
        let of = |params| push(mass, height, params);
        assert_eq!(of(Params::default())?, of(whole.clone())?, "{height} m");
    }
    let mut before = f64::INFINITY;
    for part in [0.76, 0.8, 0.85, 0.9, 0.95, 0.99] {
        let [own, all] = [Params::default(), whole.clone()].map(|params| push(mass, part * DIAMETERS, params));
        let (own, all) = (own?, all?);
        assert!(own > 0.0 && own < all && own < before, "{part}: {own} of {all} N, {before} N before");
        assert!(all < 0.01 * mass * GRAVITY / 0.75, "{part}: {all} N");
        before = own;
    }
    assert_eq!(push(mass, 1.01 * DIAMETERS, Params::default())?, 0.0);
    Ok(())
}

/// A cube that is let go comes to rest as it does where contacts have no end, to the last bit: on a side, all its
/// corners are nearer than where weights fall.
#[test]
fn what_lies_does_not_feel_it() -> Result<()> {
    let rest = |params: Params| -> Result<Vec<f64>> {
        let model = compile(&cube(0.05, 0.01, params));
        let step = Quasidynamic::new(&model, &model.parameters)?;
        let (mut q, u) = (model.home(1)?, model.tensor(&[&[]])?);
        for _ in 0..300 {
            q = step.step(&q, &u)?.q_next;
        }
        Ok(numbers(&q))
    };
    assert_eq!(rest(Params::default())?, rest(Params { contact_distance: Some(f64::INFINITY), ..Params::default() })?);
    Ok(())
}

/// What falls from 4 m, in second-order steps of 10 ms, does not pass through a table of 10 cm.
#[test]
fn what_falls_is_stopped() -> Result<()> {
    let model = compile(&cube(0.05, 4.0, Params::default()));
    let step = Dynamic::new(&model, &model.parameters, DynamicParams::default())?;
    let mut q = model.home(1)?;
    let tau = Tensor::zeros((1, model.nv()), q.dtype(), q.device())?;
    let (mut v, mut fastest) = (tau.clone(), 0.0_f64);
    for _ in 0..200 {
        let next = step.step(&q, &v, &tau)?;
        (q, v) = (next.q_next, next.v_next);
        fastest = fastest.max(-numbers(&v)[2]);
    }
    let height = numbers(&q)[2] - HALF;
    assert!(fastest > 8.5 && height > 0.0 && height < 0.01, "{fastest} m/s, {height} m");
    Ok(())
}
