//! Contacts from elsewhere than the scene's shapes, against the shapes' own.

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::Model;
use fingertip::contact::Contacts;
use fingertip::description::{Freedom, Inertia, Object, Params, Robot, Scene, Shape};
use fingertip::mpc::Simulator;
use fingertip::rollout::rollout;
use fingertip::solve::Status;
use fingertip::step::{Geometry, Quasidynamic};

use support::{apart, numbers};

const BALL: f64 = 0.03;
const TIP: f64 = 0.015;

/// Both compute the same formula, in another order; a rollout of some steps amplifies the rounding.
const ROUNDING: f64 = 1e-11;

/// A ball of another size than the scene says.
#[derive(Debug)]
struct Ball {
    tip: usize,
    ball: usize,
    radius: Var,
}

impl Geometry for Ball {
    fn contacts(&self, poses: &Tensor, own: Contacts) -> Result<Contacts> {
        let at = |shape: usize| poses.narrow(1, shape, 1)?.narrow(2, 0, 3);
        let (tip, ball) = (at(self.tip)?, at(self.ball)?);
        let ahead = (&ball - &tip)?;
        let distance = ahead.sqr()?.sum_keepdim(2)?.sqrt()?;
        let normal = ahead.broadcast_div(&distance)?;
        let point_a = (tip + (&normal * TIP)?)?;
        let point_b = (ball - normal.broadcast_mul(&self.radius.unsqueeze(2)?)?)?;
        let phi = (distance.squeeze(2)?.broadcast_sub(&self.radius)? - TIP)?;
        Ok(Contacts { point_a, point_b, normal, phi, weight: own.weight })
    }
}

/// What the shapes have, changed.
struct Changed(Change);

type Change = Box<dyn Fn(Contacts) -> Result<Contacts> + Send + Sync>;

impl std::fmt::Debug for Changed {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("Changed")
    }
}

impl Geometry for Changed {
    fn contacts(&self, _: &Tensor, own: Contacts) -> Result<Contacts> {
        self.0(own)
    }
}

/// A tip and a ball of a radius in the plane; the ball's inertia is the same for all.
fn step(radius: f64) -> Result<Quasidynamic> {
    let inertia = Inertia::solid(&Shape::Sphere { radius: BALL }, 0.2).expect("a ball has an inside");
    let ball = Object::rigid("ball", Shape::Sphere { radius }, 0.2).with_inertia(inertia);
    let robot = Robot::from_urdf("tip", "assets/robots/slider_tip.urdf")?.with_default_stiffness(200.0);
    let robot = robot.with_home("x", -0.01).with_home("y", -0.045);
    let params = Params { kappa: 1e5, epsilon: 0.1, h: 0.02, ..Params::default() };
    let scene = Scene::new().with_params(params).with_gravity([0.0; 3]);
    let scene = scene.object(ball.with_freedom(Freedom::Planar)).robot(robot);
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    Quasidynamic::new(&model, &model.parameters)
}

/// Two worlds pushed along.
fn commands(steps: usize) -> Result<Var> {
    let world = |x: f64| (1..=steps).flat_map(move |t| [x, -0.045 + 0.002 * t as f64]);
    Var::from_vec([-0.01, -0.004].into_iter().flat_map(world).collect(), (2, steps, 2), &Device::Cpu)
}

#[test]
fn a_ball_of_another_size_is_that_ball() -> Result<()> {
    const STEPS: usize = 12;
    let (ball, stand_in) = (step(BALL)?, step(0.7 * BALL)?);
    let pair = &stand_in.model().pairs.pairs[0];
    let radius = Var::from_slice(&[BALL], (1, 1), &Device::Cpu)?;
    let geometry = Ball { tip: pair.a, ball: pair.b, radius: radius.clone() };
    let made = stand_in.with_geometry(Arc::new(geometry));

    let home = ball.model().home(2)?;
    assert!(apart(&numbers(&made.contacts(&home)?.phi), &numbers(&ball.contacts(&home)?.phi)) < ROUNDING);
    assert!(apart(&numbers(&stand_in.contacts(&home)?.phi), &numbers(&ball.contacts(&home)?.phi)) > 0.1 * BALL);

    let u = commands(STEPS)?;
    let mut sizes = ball.parameters().clone();
    let tracked = Var::from_tensor(&sizes.sizes)?;
    sizes.sizes = tracked.as_tensor().clone();
    let [(q, by_u, by_size), (other_q, by_other_u, by_radius)] =
        [(&ball.with_parameters(&sizes)?, &tracked), (&made, &radius)]
            .map(|(step, size)| -> Result<_> {
                let run = rollout(step, &home, &u)?;
                assert!(run.reports.iter().flatten().all(|report| report.status == Status::Solved));
                let cost = (run.q.narrow(1, STEPS, 1)?.sqr()?.sum_all()? + (run.force.sqr()?.sum_all()? * 1e-3)?)?;
                let grads = cost.backward()?;
                let of = |var: &Var| grads.get(var).map(numbers).expect("a gradient");
                Ok((numbers(&run.q), of(&u), of(size)))
            })
            .map(|run| run.expect("two rollouts"));
    assert!(apart(&q, &other_q) < ROUNDING, "{:e}", apart(&q, &other_q));
    // The fused rollout's own sweep against the graph of all steps; gradients are of the order of one, by the size of
    // ten.
    assert!(apart(&by_u, &by_other_u) < 1e-8, "{:e}", apart(&by_u, &by_other_u));
    let place = ball.model().pairs.pairs[0].b * Shape::SIZES;
    assert!((by_size[place] - by_radius[0]).abs() < 1e-8 * by_radius[0].abs(), "{} {}", by_size[place], by_radius[0]);
    assert!(by_radius[0].abs() > 1e-3);

    // What a planner asks for.
    let [(held, linear), (other_held, other_linear)] = [&ball, &made].map(|step| {
        let simulator = Simulator::of_step(step.clone(), 3).expect("one row of parameters");
        let q = numbers(&home.narrow(0, 0, 1).expect("a world"));
        let held = simulator.advance(&q, &[-0.01, -0.035], None).expect("lengths that fit");
        let states = [&q[..], &held.q[..2 * q.len()]].concat();
        let linear = simulator.linearize(&states, &[-0.01, -0.035], Some(&held.warm), true).expect("lengths that fit");
        (held, linear)
    });
    assert!(apart(&held.q, &other_held.q) < ROUNDING);
    let (a, b) = (&linear[0], &other_linear[0]);
    assert!(apart(a.a.as_slice(), b.a.as_slice()) < 1e-8 && apart(a.b.as_slice(), b.b.as_slice()) < 1e-8);

    let (q, u) = (rollout(&ball, &home, &u)?.q.narrow(1, 8, 1)?.squeeze(1)?, u.narrow(1, 8, 1)?.squeeze(1)?);
    let [a, b] = [&ball, &made].map(|step| step.linearize(&q, &u).expect("two linearisations"));
    for (a, b) in [(&a.a, &b.a), (&a.b, &b.b), (&a.c, &b.c), (&a.d, &b.d)] {
        let (a, b) = (numbers(a), numbers(b));
        let size = a.iter().fold(1.0, |size: f64, x| size.max(x.abs()));
        assert!(apart(&a, &b) < 1e-9 * size, "{:e}", apart(&a, &b));
    }
    Ok(())
}

#[test]
fn what_is_not_a_contact_is_an_error_or_bad_input() -> Result<()> {
    let step = step(BALL)?;
    let (home, u) = (step.model().home(2)?, commands(1)?.squeeze(1)?);
    let with = |f: fn(Contacts) -> Result<Contacts>| step.with_geometry(Arc::new(Changed(Box::new(f))));

    let same = with(Ok).step(&home, &u)?;
    let own = step.as_tensor_program().step(&home, &u)?;
    assert_eq!(numbers(&same.q_next), numbers(&own.q_next));

    let short = with(|own| Ok(Contacts { phi: own.phi.narrow(0, 0, 1)?, ..own })).step(&home, &u);
    let message = short.expect_err("φ of one world").to_string();
    assert!(message.contains("`phi` [2, 1]") && message.contains("[1, 1]"), "{message}");
    let single = with(|own| Ok(Contacts { normal: own.normal.to_dtype(DType::F32)?, ..own })).step(&home, &u);
    let message = single.expect_err("a normal in single precision").to_string();
    assert!(message.contains("`normal`") && message.contains("F32"), "{message}");

    // In the world where the ball is farther.
    let home = Tensor::cat(&[&step.model().tensor(&[&[0.0, 1e-3, 0.0, -0.01, -0.045]])?, &home.narrow(0, 1, 1)?], 0)?;
    let gaps = numbers(&step.contacts(&home)?.phi);
    let between = f64::midpoint(gaps[0], gaps[1]);
    let own = step.as_tensor_program().step(&home, &u)?;
    let factor = move |own: &Contacts, by: f64| {
        let far = own.phi.gt(between)?;
        far.where_cond(&(own.phi.ones_like()? * by)?, &own.phi.ones_like()?)
    };
    let times = move |t: &Tensor, own: &Contacts, by: f64| t.broadcast_mul(&factor(own, by)?.unsqueeze(2)?);
    let nan = f64::NAN;
    let spoilt: [(&str, Change); 7] = [
        ("φ", Box::new(move |own| Ok(Contacts { phi: (&own.phi * factor(&own, nan)?)?, ..own }))),
        ("normal", Box::new(move |own| Ok(Contacts { normal: times(&own.normal, &own, nan)?, ..own }))),
        ("point", Box::new(move |own| Ok(Contacts { point_a: times(&own.point_a, &own, nan)?, ..own }))),
        ("weight", Box::new(move |own| Ok(Contacts { weight: Some(factor(&own, nan)?), ..own }))),
        ("a long normal", Box::new(move |own| Ok(Contacts { normal: times(&own.normal, &own, 2.0)?, ..own }))),
        ("no normal", Box::new(move |own| Ok(Contacts { normal: times(&own.normal, &own, 0.0)?, ..own }))),
        ("a point far away", Box::new(move |own| Ok(Contacts { point_b: times(&own.point_b, &own, 1e34)?, ..own }))),
    ];
    let (q, controls) = (numbers(&home), Tensor::stack(&[&u, &u], 1)?);
    let stiffness = |step: &Quasidynamic| -> Result<_> {
        let tracked = Var::from_tensor(&step.parameters().stiffness)?;
        let mut parameters = step.parameters().clone();
        parameters.stiffness = tracked.as_tensor().clone();
        Ok((step.with_parameters(&parameters)?, tracked))
    };
    let second = |t: &Tensor| t.narrow(0, 1, 1)?.sum_all();
    let (tracked, variable) = stiffness(&step.as_tensor_program())?;
    let expected = second(&tracked.step(&home, &u)?.q_next)?.backward()?.remove(&variable).expect("a gradient");
    for (name, change) in spoilt {
        let step = step.with_geometry(Arc::new(Changed(change)));
        let (tracked, variable) = stiffness(&step)?;
        let result = tracked.step(&home, &u)?;
        assert_eq!([Status::BadInput, Status::Solved], [result.reports[0].status, result.reports[1].status], "{name}");
        let next = result.q_next.to_vec2::<f64>()?;
        assert_eq!(next[0], home.to_vec2::<f64>()?[0], "{name}");
        assert_eq!(next[1], own.q_next.to_vec2::<f64>()?[1], "{name}");
        let found = second(&result.q_next)?.backward()?.remove(&variable).expect("a gradient");
        assert_eq!(numbers(&found), numbers(&expected), "{name}");
        let contacts = [&result.contacts, &step.contacts(&home)?];
        let contacts = contacts.map(|c| [&c.phi, &c.normal, &c.point_a, &c.point_b].map(numbers).concat()).concat();
        let (run, held) = (rollout(&step, &home, &controls)?, step.hold(&q, &numbers(&u), None, 2)?);
        let linear = step.linearize(&home, &u)?;
        for all in [
            contacts,
            numbers(&result.force),
            numbers(&step.gaps(&home, &result)?),
            numbers(&run.q),
            numbers(&run.force),
            held.q,
            numbers(&step.smoothing_error(&home, &u)?),
            numbers(&linear.a),
            numbers(&linear.d),
        ] {
            assert!(all.iter().all(|x| x.is_finite()), "{name}: {all:?}");
        }
    }

    // What all worlds share gets the good one's gradient.
    let shift = Var::zeros((1, 1), DType::F64, &Device::Cpu)?;
    let shared = shift.as_tensor().clone();
    let gradient = |by: f64| {
        let shared = shared.clone();
        let shifted = move |own: Contacts| {
            let phi = (own.phi.broadcast_add(&shared)? * factor(&own, by)?)?;
            Ok(Contacts { phi, ..own })
        };
        let step = step.with_geometry(Arc::new(Changed(Box::new(shifted))));
        let all = step.step(&home, &u)?.q_next;
        Ok::<_, candle_core::Error>(
            [second(&all)?, all.sum_all()?]
                .map(|value| numbers(&value.backward().expect("a gradient").remove(&shift).expect("a gradient"))[0]),
        )
    };
    let ([expected, _], found) = (gradient(1.0)?, gradient(nan)?);
    assert!(expected.abs() > 1e-3 && found == [expected; 2], "{found:?}, expected {expected}");

    // Of a contact that is none the normal does not matter.
    let none = |own: Contacts| {
        let weight = Some(own.phi.zeros_like()?);
        Ok(Contacts { normal: own.normal.zeros_like()?, weight, ..own })
    };
    let result = with(none).step(&home, &u)?;
    assert!(result.reports.iter().all(|report| report.status == Status::Solved), "{:?}", result.reports);
    Ok(())
}
