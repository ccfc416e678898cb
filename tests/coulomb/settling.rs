//! How often the law settles on random states of the shipped scenes.

use fingertip::description::{Friction, Scene};
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;

use super::support::rows;
use super::support::states::{self, Random, Ranges};
use super::{compile, with_coulomb};

/// States in all; `FINGERTIP_COULOMB` asks for another number.
const STATES: usize = 12000;
/// Of those that the relaxed law solves.
const UNSETTLED: f64 = 1e-3;

#[test]
fn random_states_settle() {
    let states = std::env::var("FINGERTIP_COULOMB").ok().and_then(|n| n.parse().ok()).unwrap_or(STATES);
    let mut random = Random::new(81);
    let (mut unsettled, mut all) = (0, 0);
    for (name, stray) in
        [("hand_ball", 0.03), ("tips", 0.02), ("allegro_cube", 0.02), ("push", 0.06), ("two_fingers", 0.03)]
    {
        for (kappa, mu) in [(1e4, 0.5), (1e6, 0.5), (1e5, 0.2), (1e5, 1.0)] {
            let mut scene = with_coulomb(Scene::load(format!("assets/scenes/{name}.toml")).unwrap());
            (scene.params.kappa, scene.params.mu) = (kappa, mu);
            let model = compile(&scene);
            scene.params.friction = Friction::Relaxed;
            let relaxed = compile(&scene);
            let ranges =
                Ranges { kappa: (kappa, kappa), mu: (mu, mu), mu_also: &[], stiffness: (10.0, 1e2), mass: (5e-2, 1.0) };
            let batch = states::batch(&model, stray, states / 20, &ranges, &mut random);
            let step = Quasidynamic::new(&model, &batch.parameters).unwrap().step(&batch.q, &batch.u).unwrap();
            let other = Quasidynamic::new(&relaxed, &batch.parameters).unwrap().step(&batch.q, &batch.u).unwrap();
            let mut open = 0;
            for (w, (report, expected)) in step.reports.iter().zip(&other.reports).enumerate() {
                if report.status != Status::Solved && expected.status == Status::Solved {
                    open += 1;
                    // The relaxed answer stands in, with its residual.
                    let place = format!("{name}, world {w}");
                    assert_eq!((report.status, report.residual), (Status::Unsettled, expected.residual), "{place}");
                    assert_eq!(rows(&step.q_next)[w], rows(&other.q_next)[w], "{place}");
                }
            }
            let iterations: usize = step.reports.iter().map(|report| report.iterations).sum();
            let solved = step.reports.iter().filter(|report| report.status == Status::Solved).count();
            println!(
                "{name}, κ {kappa:.0e}, μ {mu}: {solved} solved, {open} unsettled, {:.1} iterations",
                iterations as f64 / step.reports.len() as f64
            );
            unsettled += open;
            all += open + solved;
        }
    }
    assert!((unsettled as f64) < UNSETTLED * all as f64, "{unsettled} of {all} unsettled");
}

/// What an unsettled step leaves is the largest gap μ‖ν_t‖ of the relaxed law, ν = 2/(κ s) (μ² λ_n, −λ_t) with
/// s = μ² λ_n² − ‖λ_t‖².
#[test]
fn what_is_left_unsettled_is_told() {
    let (kappa, mu) = (1e6, 0.5);
    let mut scene = with_coulomb(Scene::load("assets/scenes/planar_hand.toml").unwrap());
    (scene.params.kappa, scene.params.mu) = (kappa, mu);
    let model = compile(&scene);
    let ranges =
        Ranges { kappa: (kappa, kappa), mu: (mu, mu), mu_also: &[], stiffness: (10.0, 1e2), mass: (5e-2, 1.0) };
    let batch = states::batch(&model, 0.05, 600, &ranges, &mut Random::new(83));
    let simulator = Quasidynamic::new(&model, &batch.parameters).unwrap();
    let step = simulator.step(&batch.q, &batch.u).unwrap();
    let lambda = rows(&step.lambda().unwrap().flatten_from(1).unwrap());
    let weight = step.contacts.weight.as_ref().map(rows);
    let mut unsettled = 0;
    for (w, report) in step.reports.iter().enumerate() {
        if report.status != Status::Unsettled {
            assert_eq!(report.slip_gap, 0.0, "world {w}: {report:?}");
            continue;
        }
        unsettled += 1;
        let gap = |(i, force): (usize, &[f64])| {
            let weight = weight.as_ref().map_or(1.0, |weight| weight[w][i]);
            let slip = force[1].hypot(force[2]);
            let s = (mu * force[0] - slip) * (mu * force[0] + slip);
            if weight > 0.0 { 2.0 * weight / kappa * mu * slip / s } else { 0.0 }
        };
        let expected = lambda[w].chunks(3).enumerate().map(gap).fold(0.0, f64::max);
        let error = (report.slip_gap - expected).abs();
        // Forces near the boundary of their cone keep that many digits of s.
        assert!(expected > 0.0 && error < 1e-6 * expected, "world {w}: {report:?}, by the forces {expected:e}");
    }
    assert!(unsettled > 0, "all settle");
    println!("{unsettled} of 600 unsettled");
}
