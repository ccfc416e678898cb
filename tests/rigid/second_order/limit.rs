//! As κ grows, the barrier's step becomes the rigid one, with an error that falls as 1/κ.

use candle_core::Result;
use fingertip::Model;
use fingertip::description::Friction;
use fingertip::solve::{Frictionless, Method, Status};
use fingertip::step::{ContactModel, Dynamic, DynamicParams, DynamicStep};

use super::situations::{Situation, situations};
use support::states::tensor;
use support::{largest, numbers};

const STATES: usize = 8;
/// κ from 10⁴ to 10⁹, 1/J.
const EXPONENTS: std::ops::RangeInclusive<i32> = 4..=9;
/// The barrier leaves a contact Λ_i w_i = 2/κ: what the law leaves out is as large, relative to it, as contacts are
/// [`unsettled`].
const SETTLED: f64 = 7e-3;
/// The slope's distance from −1 where all contacts are settled: the sum of what some contacts leave out. 2.5 times what
/// the most unsettled one does is seen.
const BAND: f64 = 0.02;
/// A contact that touches without force stays at √(2 D_ii/κ): slope −½ in the worst case, until it is settled.
const TOUCHING: f64 = -0.45;
/// Of a scene's decades this part at least must be settled: of 40 it is 37 with three bodies, and 3 where cubes meet by
/// faces.
const PART: f64 = 0.05;

/// How far contacts and limits are from what they are at κ = ∞: the larger of
///
/// - 2 S_ii/κ over Λ_i² of those that push, S the pseudo-inverse of their Delassus matrix, and 2 D_ii/κ over w_i² of
///   the others,
/// - of each, the distance of κ Λ_i w_i/(2 a_i) from 0, where it pushes, or 1, where it is apart, w_i the exact one and
///   a_i its weight: points of a manifold that stand back a little push at a small κ and are apart at a large one.
fn unsettled(problem: &Frictionless, contacts: &[usize], smooth: &DynamicStep, h: f64, kappa: f64) -> Result<f64> {
    let delassus = problem.delassus().unwrap().matrix;
    let slack = problem.jacobian() * problem.solve(Method::Lemke).v_next - problem.bounds();
    let normal = numbers(&(&smooth.force * &smooth.contacts.normal)?.sum(2)?);
    let parts = smooth.contacts.weight.as_ref().map(numbers);
    let part = |k: usize| parts.as_ref().and_then(|parts| Some(parts[*contacts.get(k)?])).unwrap_or(1.0);
    let forces = contacts.iter().map(|&i| normal[i]).chain(numbers(&smooth.limit_force));
    let impulses: Vec<f64> = forces.map(|force| h * force).collect();
    let share = |k: usize| kappa * impulses[k] * slack[k] / (2.0 * part(k));
    let (pushing, apart): (Vec<usize>, Vec<usize>) = (0..impulses.len()).partition(|&k| share(k) < 0.5);
    let among = delassus.select_rows(&pushing).select_columns(&pushing);
    let stiffness = among.clone().pseudo_inverse(1e-9 * among.amax().max(f64::MIN_POSITIVE)).unwrap();
    let of_pushing = pushing.iter().enumerate().map(|(n, &k)| stiffness[(n, n)] / impulses[k].powi(2));
    let of_apart = apart.iter().map(|&k| delassus[(k, k)] / slack[k].powi(2));
    let between = pushing.iter().map(|&k| share(k)).chain(apart.iter().map(|&k| share(k) - 1.0));
    Ok(largest(of_pushing.chain(of_apart).map(|ratio| 2.0 / kappa * ratio).chain(between)))
}

/// Errors of v₊ for each κ, and how unsettled the contacts are.
fn errors(model: &Model, situation: &Situation, state: usize) -> Result<Vec<(f64, f64)>> {
    let (q, v) = &situation.states[state];
    let params = DynamicParams { friction: Friction::Relaxed, ..DynamicParams::default() };
    let rigid = DynamicParams { contact: ContactModel::Rigid(Method::Lemke), ..params };
    let contact =
        Dynamic::new(model, &model.parameters, rigid)?.rigid_contact(q, v, &situation.tau)?.remove(0).unwrap();
    let exact = contact.problem.solve(Method::Lemke);
    assert_eq!(exact.status, Status::Solved);
    let h = numbers(&model.parameters.h)[0];
    let at = |exponent: i32| {
        let kappa = 10_f64.powi(exponent);
        let parameters = model
            .parameters
            .map(|name, t| if name == "kappa" { Ok(tensor(model, &[vec![kappa]])) } else { Ok(t.clone()) });
        let next = Dynamic::new(model, &parameters?, params)?.step(q, v, &situation.tau)?;
        assert_eq!(next.reports[0].status, Status::Solved, "{} {state}, κ = {kappa:e}", situation.name);
        let unsettled = unsettled(&contact.problem, &contact.contacts, &next, h, kappa)?;
        let error = largest(numbers(&next.v_next).iter().zip(&exact.v_next).map(|(a, b)| a - b));
        Ok((error, unsettled))
    };
    EXPONENTS.map(at).collect()
}

#[test]
fn barrier_becomes_rigid_as_one_over_kappa() -> Result<()> {
    for situation in situations(STATES)? {
        let (name, mut decades, mut settled) = (situation.name, 0, 0);
        for state in 0..STATES {
            let errors = errors(&situation.model, &situation, state)?;
            for (pair, exponent) in errors.windows(2).zip(EXPONENTS) {
                let slope = (pair[1].0 / pair[0].0).log10();
                decades += 1;
                if pair[0].1 < SETTLED {
                    settled += 1;
                    assert!((slope + 1.0).abs() < BAND, "{name} {state}, from κ = 1e{exponent}: slope {slope}");
                } else {
                    assert!(slope < TOUCHING, "{name} {state}, from κ = 1e{exponent}: slope {slope}");
                }
            }
        }
        println!("{name}: {settled} of {decades} decades with all contacts settled");
        assert!(f64::from(settled) > PART * f64::from(decades), "{name}: {settled} of {decades} decades are settled");
    }
    Ok(())
}
