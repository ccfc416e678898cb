//! As κ grows, the barrier's step becomes the rigid one, with an error that falls as 1/κ.

use candle_core::Result;
use fingertip::Model;
use fingertip::solve::{Frictionless, Method, Status};
use fingertip::step::{Contact, Dynamic, DynamicParams, DynamicStep};

use super::situations::{Situation, situations};
use super::support::states::tensor;
use super::support::{largest, numbers};

const STATES: usize = 8;
/// κ from 10⁴ to 10⁹, 1/J.
const EXPONENTS: std::ops::RangeInclusive<i32> = 4..=9;
/// The barrier leaves a contact Λ_i w_i = 2/κ. Whether it pushes is settled where the larger of D_ii Λ_i and w_i is ten times
/// √(2 D_ii/κ); the other is then a hundredth of it, and so is what the law leaves out.
const SETTLED: f64 = 1e-2;
/// The slope's distance from −1 where all contacts are settled.
const BAND: f64 = 0.02;
/// The same where points of a manifold share a contact: in what proportion close ones do settles later than D_ii tells; 0.14
/// is seen.
const SHARED: f64 = 0.2;
/// A contact that touches without force stays at √(2 D_ii/κ): slope −½ in the worst case, until it is settled.
const TOUCHING: f64 = -0.45;
/// Of a scene's decades this part at least must be settled.
const PART: f64 = 0.1;

/// The largest 2 D_ii/κ over (D_ii Λ_i)² or w_i², whichever is larger, of all contacts and limits.
fn unsettled(problem: &Frictionless, contacts: &[usize], smooth: &DynamicStep, h: f64, kappa: f64) -> Result<f64> {
    let delassus = problem.delassus().unwrap();
    let slack = problem.jacobian() * problem.solve(Method::Lemke).v_next - problem.bounds();
    let normal = numbers(&(&smooth.force * &smooth.contacts.normal)?.sum(2)?);
    let forces = contacts.iter().map(|&i| normal[i]).chain(numbers(&smooth.limit_force));
    let ratio = |(i, force): (usize, f64)| {
        let own = delassus.matrix[(i, i)];
        2.0 * own / kappa / (own * h * force).max(slack[i]).powi(2)
    };
    Ok(largest(forces.enumerate().map(ratio)))
}

/// Errors of v₊ for each κ, and how unsettled the contacts are.
fn errors(model: &Model, situation: &Situation, state: usize) -> Result<Vec<(f64, f64)>> {
    let (q, v) = &situation.states[state];
    let params = DynamicParams::default();
    let rigid = DynamicParams { contact: Contact::Rigid(Method::Lemke), ..params };
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
        let band = if situation.model.pairs.pairs.iter().any(|pair| pair.contacts == 8) { SHARED } else { BAND };
        for state in 0..STATES {
            let errors = errors(&situation.model, &situation, state)?;
            for (pair, exponent) in errors.windows(2).zip(EXPONENTS) {
                let slope = (pair[1].0 / pair[0].0).log10();
                decades += 1;
                if pair[0].1 < SETTLED {
                    settled += 1;
                    assert!((slope + 1.0).abs() < band, "{name} {state}, from κ = 1e{exponent}: slope {slope}");
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
