//! Recordings of states alone, against one that was made while stepping; and recordings with fewer steps.

use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::mpc::task::Errors;
use fingertip::show::{self, Expected, Recording, Source, States};
use fingertip::step::Quasidynamic;

const STEPS: usize = 60;
/// Contacts are found by the tensor program and not in the step.
const ROUNDING: f64 = 1e-12;

fn hand() -> (Source, Quasidynamic, Recording) {
    let scene = Scene::load("assets/scenes/hand_ball.toml").unwrap();
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let source = Source { name: "hand_ball".into(), text: String::new(), scene };
    let recording = show::record(&source, &step, STEPS, |_, time| source.scene.control(time), |_| Ok(())).unwrap();
    (source, step, recording)
}

/// The numbers of a recording, as states.
fn numbers(of: &Recording) -> [Vec<f64>; 4] {
    let rows = |one: fn(&show::StepRecord) -> Vec<f64>| of.steps.iter().flat_map(one).collect::<Vec<_>>();
    let q = [of.start.q.clone(), rows(|step| step.end.q.clone())].concat();
    let time = [vec![0.0], rows(|step| vec![step.time])].concat();
    [
        q,
        time,
        rows(|step| step.u.clone()),
        rows(|step| (0..step.contacts.nc()).flat_map(|i| step.contacts.force(i)).collect()),
    ]
}

fn near(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < ROUNDING)
}

#[test]
fn states_are_the_recording() {
    let (source, step, made) = hand();
    let [q, time, u, force] = numbers(&made);
    let again = Recording::of_states(&source, &step, States { q: &q, time: &time, u: &u, force: &force }).unwrap();
    assert_eq!(again.start, made.start);
    assert_eq!((&again.bodies, &again.contacts), (&made.bodies, &made.contacts));
    for (found, step) in again.steps.iter().zip(&made.steps) {
        assert_eq!((found.time, &found.u, &found.end), (step.time, &step.u, &step.end));
        assert_eq!(found.contacts.iter().count(), step.contacts.iter().count());
        for (a, b) in found.contacts.iter().zip(&step.contacts) {
            assert_eq!((a.contact, a.force), (b.contact, b.force));
            let place = |of: &show::ContactRecord| [&[of.phi][..], &of.normal, &of.point].concat();
            assert!(near(&place(a), &place(b)));
        }
        let scalars: Vec<f64> = found.scalars.keys().map(|name| step.scalars[name]).collect();
        assert!(near(&found.scalars.values().copied().collect::<Vec<_>>(), &scalars) && scalars.len() == 2);
    }
    // Without commands and forces: the joints where they are, and no forces.
    let plain = Recording::of_states(&source, &step, States { q: &q, time: &time, ..States::default() }).unwrap();
    let joint = step.model().joint("hand/slider_z").unwrap();
    let last = plain.steps.last().unwrap();
    assert_eq!(last.u[joint.u.unwrap()], last.end.q[joint.q]);
    assert!(last.contacts.iter().all(|one| one.force == [0.0; 3]));
    for (states, says) in [
        (States { q: &q[1..], time: &time, ..States::default() }, "q: expected 1464 numbers for 60 steps, got 1463"),
        (States { q: &q, time: &time, u: &u[1..], ..States::default() }, "u: expected 1260 numbers"),
        (States { q: &q, time: &vec![0.0; STEPS + 1], ..States::default() }, "time: expected times that rise"),
    ] {
        let message = Recording::of_states(&source, &step, states).unwrap_err().to_string();
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn fewer_steps_say_the_same() {
    let (_, step, mut recording) = hand();
    let q = [recording.start.q.clone(), recording.start.q.clone()].concat();
    let plan = |cost| Expected { q: &q, cost, outcome: "converged", iterations: 1, seconds: 0.0 };
    let errors = Errors { position: Some(0.1), rotation: None, quaternion: None, joints: None, lost: false };
    let periods: Vec<_> = (0..6).map(|k| (errors, Some(plan(f64::from(k))))).collect();
    recording.add_periods(step.model(), 10, &periods).unwrap();
    assert!(recording.steps[19].plan.is_none() && recording.steps[20].plan.as_ref().unwrap().cost == 2.0);
    assert_eq!((recording.steps[59].scalars["cost"], recording.steps[59].scalars["position error"]), (5.0, 0.1));
    let fewer = recording.thinned(7);
    let times: Vec<f64> = fewer.steps.iter().map(|step| (step.time * 100.0).round()).collect();
    assert_eq!(times, [8.0, 17.0, 25.0, 34.0, 42.0, 51.0, 60.0]);
    // The newest plan up to then.
    let plans: Vec<Option<f64>> = fewer.steps.iter().map(|step| step.plan.as_ref().map(|plan| plan.cost)).collect();
    assert_eq!(plans, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(Some).into_iter().chain([None]).collect::<Vec<_>>());
    assert_eq!(recording.thinned(60), recording);
    let whole = recording.html();
    let cut = recording.html_within(whole.len() - 50_000);
    assert!(cut.len() <= whole.len() - 50_000 && cut.len() > whole.len() - 70_000, "{} of {}", cut.len(), whole.len());
    assert_eq!(recording.html_within(whole.len()), whole);
    assert_eq!(recording.thinned(0).steps, recording.thinned(1).steps);
}
