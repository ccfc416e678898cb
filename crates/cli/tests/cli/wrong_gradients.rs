//! Gradients that are made wrong on purpose are found and named; those of kinks are not.

use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::scenes::Cubes;
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;
use fingertip_cli::inner::{
    Comparison, Finding, GRADIENT, Gradients, Inputs, Judge, Judgement, Quantities, Slopes, states,
};
use nalgebra::DVector;

fn compile(scene: &Scene) -> Quasidynamic {
    let model = Model::new(scene, DType::F64, &Device::Cpu).unwrap();
    Quasidynamic::new(&model, &model.parameters).unwrap()
}

/// The findings of an audit in one state of a scene, after the gradient of a quantity by an input has been multiplied
/// by a factor.
fn findings(scene: &Scene, state: usize, wrong: Option<(&str, &str, f64)>) -> Vec<Finding> {
    let step = compile(scene);
    let state = &states(&step, state + 1, 1).unwrap()[state];
    let result = step.step(&state.q, &state.u).unwrap();
    assert_eq!(result.reports[0].status, Status::Solved);
    let (inputs, quantities) = (Inputs::new(&step, state).unwrap(), Quantities::new(&step, &result).unwrap());
    let mut gradients = Gradients::pulled(&step, &quantities, &inputs, &result.warm).unwrap();
    if let Some((quantity, input, times)) = wrong {
        let row = (0..quantities.count()).find(|&row| quantities.name(row) == quantity).unwrap();
        let column = (0..inputs.count()).find(|&column| inputs.name(column) == input).unwrap();
        assert_ne!(gradients.0[(row, column)], 0.0);
        gradients.0[(row, column)] *= times;
    }
    let (inputs, quantities) = (&inputs, &quantities);
    Comparison { gradients: &gradients, inputs, quantities, warm: &result.warm }.findings(1).unwrap()
}

/// The places of those that are wrong.
fn wrong(findings: &[Finding]) -> Vec<&str> {
    findings.iter().filter(|finding| finding.judgement.off > GRADIENT).map(|finding| &*finding.place).collect()
}

#[test]
fn a_wrong_gradient_by_one_parameter_of_one_contact_is_named() {
    let scene = &Scene::load("assets/scenes/hand_ball.toml").unwrap();
    assert_eq!(wrong(&findings(scene, 2, None)), [""; 0]);
    for (input, times) in [("mu of \"table\" and \"ball\"", 1.001), ("radius of the sphere of \"ball\"", 0.999)] {
        let quantity = "normal force of \"table\" on \"ball\"";
        let found = findings(scene, 2, Some((quantity, input, times)));
        assert_eq!(wrong(&found), [format!("{quantity} by {input}")]);
    }
}

/// A derivative that is NaN is neither right nor on a kink.
#[test]
fn a_gradient_that_is_no_number_is_wrong() {
    let of = |claimed: f64, judge: Judge| {
        let sides = [1.0, 2.0].map(|side| DVector::from_element(1, side)).to_vec();
        judge(claimed, &[Slopes { size: 1e-7, sides, across: None }], 0, &|_| 1.0).off
    };
    for judge in [Judgement::of as Judge, Judgement::of_kink] {
        assert!(of(f64::NAN, judge) > GRADIENT);
        assert!(of(1.0, judge) <= GRADIENT);
    }
}

/// With equal cubes the smallest size decides, so that each has a kink there. A gradient beyond both sides is wrong all
/// the same.
#[test]
fn a_kink_is_one_and_a_gradient_beyond_its_sides_is_wrong() {
    let found = findings(&Cubes::default().scene(), 0, None);
    assert_eq!(wrong(&found), [""; 0]);
    let kink = found.iter().find(|finding| finding.judgement.is_kink).unwrap();
    let [claimed, least, most] = kink.judgement.numbers;
    assert!(least < claimed && claimed < most, "{kink}");
    let (quantity, input) = kink.place.split_once(" by ").unwrap();
    let beyond = (2.0 * most.abs().max(least.abs())) / claimed;
    assert_eq!(wrong(&findings(&Cubes::default().scene(), 0, Some((quantity, input, beyond)))), [&kink.place]);
}

/// A size of 0 is made larger, not smaller.
#[test]
fn inputs_at_a_bound_go_one_way() {
    let found = findings(&Cubes::default().scene(), 0, None);
    let rounding: Vec<_> = found.iter().filter(|finding| finding.place.contains("rounding")).collect();
    assert!(!rounding.is_empty());
    let step = compile(&Cubes::default().scene());
    let state = &states(&step, 1, 1).unwrap()[0];
    let inputs = Inputs::new(&step, state).unwrap();
    let at_bound = (0..inputs.count()).filter(|&k| inputs.is_there(k) && inputs.is_at_bound(k, 1e-4));
    let names: Vec<String> = at_bound.map(|column| inputs.name(column)).collect();
    assert_eq!(names, [0, 1, 2].map(|k| format!("rounding of the box of \"cube{k}\"")));
}
