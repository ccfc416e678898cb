//! The second-order step recorded, with its adjoint, against that of the lanes.

use candle_core::{DType, Device, Tensor, Var};
use fingertip::Model;
use fingertip::description::{Friction, Scene};
use fingertip::math::lane::{InstructionSet, Precision};
use fingertip::step::{Bound, Dynamic, DynamicParams, DynamicStep, Kernel, Row};

use super::rows::{code, differences, unsigned_zeros};
use support::random_scenes;
use support::rows;
use support::states::{self, Batch, Random, tensor};
use super::{SCENES, WORLDS, is_recordable};

/// What the row of a step consists of, and from which on there are no gradients.
const DIFFERENTIABLE: [&str; 8] = ["q_next", "delta", "v_next", "force", "turning", "limit_force", "contact", "share"];

/// A world's parts of the row that tensors give, δ and what turns being none of them.
fn given(step: &DynamicStep) -> Vec<(&'static str, Tensor)> {
    let c = &step.contacts;
    let geometry = Tensor::cat(&[&c.normal, &c.point_a, &c.point_b, &c.phi.unsqueeze(2).unwrap()], 2).unwrap();
    let parts = [
        ("q_next", &step.q_next),
        ("v_next", &step.v_next),
        ("force", &step.force),
        ("limit_force", &step.limit_force),
        ("contact", &geometry),
        ("warm", step.warm.as_ref().unwrap()),
    ];
    let share = c.weight.as_ref().map(|share| ("share", share));
    parts.into_iter().chain(share).map(|(name, part)| (name, part.flatten_from(1).unwrap())).collect()
}

/// Part `name` of a row.
fn part<'a>(parts: &[Row], row: &'a [f64], name: &str) -> &'a [f64] {
    let at = parts.iter().position(|part| part.name == name).unwrap();
    let first: usize = parts[..at].iter().map(|part| part.width).sum();
    &row[first..first + parts[at].width]
}

/// Compares the step, the step from other forces and the adjoint of a batch.
pub fn compare(name: &str, batch: &Batch, bound: Bound, random: &mut Random) {
    let model = &batch.model;
    let params = DynamicParams { bound, friction: model.params.friction, ..DynamicParams::default() };
    let step = Dynamic::new(model, &batch.parameters, params).unwrap().on(InstructionSet::Fma).unwrap();
    let mut draw = |size: f64| -> Vec<Vec<f64>> {
        (0..WORLDS).map(|_| (0..model.nv()).map(|_| random.between(-size, size)).collect()).collect()
    };
    let (mut v, mut tau) = (draw(0.5), draw(0.3));
    v[WORLDS - 4][0] = f64::INFINITY;
    tau[WORLDS - 5][0] = f64::NAN;
    v[WORLDS - 6][0] = 1e200;
    let state = [batch.q.clone(), tensor(model, &v), tensor(model, &tau)];
    let par = rows(&step.packed_parameters().unwrap());
    let operands = |world: usize| -> Vec<Vec<f64>> {
        let mut all: Vec<Vec<f64>> = state.iter().map(|of| rows(of)[world].clone()).collect();
        all.push(par[world.min(par.len() - 1)].clone());
        all
    };
    let recorded = |kernel: Kernel, more: &dyn Fn(usize) -> Vec<Vec<f64>>| -> Vec<Vec<f64>> {
        let trace = step.record(kernel, Precision::Double).unwrap();
        let world = |w: usize| {
            let all = [operands(w), more(w)].concat();
            let found = trace.run(&all.concat());
            // Lanes of one world, asked for by themselves.
            if let Some(lanes) = step.run_kernel(kernel, Precision::Double, &all).unwrap() {
                let different = differences(std::slice::from_ref(&found), &[lanes]);
                assert_eq!(different, Vec::<String>::new(), "{name}: {}, world {w}", kernel.name());
            }
            found
        };
        (0..WORLDS).map(world).collect()
    };
    let parts = step.row_parts().unwrap();
    let is_step = |what: &str, found: &[Vec<f64>], step: &DynamicStep| {
        for (part_name, tensor) in given(step) {
            if tensor.elem_count() == 0 {
                continue;
            }
            let found: Vec<Vec<f64>> = found.iter().map(|row| part(&parts, row, part_name).to_vec()).collect();
            assert_eq!(differences(&found, &rows(&tensor)), Vec::<String>::new(), "{name}: {what}, {part_name}");
        }
        let reports: Vec<Vec<f64>> = found.iter().map(|row| row[row.len() - 4..].to_vec()).collect();
        let expected: Vec<Vec<f64>> = step.reports.iter().map(|report| code(report).to_vec()).collect();
        assert_eq!(differences(&reports, &expected), Vec::<String>::new(), "{name}: {what}, report");
    };

    let [q, v, tau] = &state;
    let cold = recorded(Kernel::Step, &|_| Vec::new());
    let next = step.step(q, v, tau).unwrap();
    is_step("step", &cold, &next);
    let forces = rows(next.warm.as_ref().unwrap());
    let warm = recorded(Kernel::WarmStep, &|w| vec![forces[w].clone()]);
    is_step("step from forces", &warm, &step.step_from(q, v, tau, next.warm.as_ref()).unwrap());

    // Gradients of a random linear function of what tensors give.
    let vars = state.each_ref().map(|of| Var::from_tensor(of).unwrap());
    let mut tracked: Vec<Var> = Vec::new();
    let parameters = batch.parameters.map(|_, t| {
        tracked.push(Var::from_tensor(t)?);
        Ok(tracked[tracked.len() - 1].as_tensor().clone())
    });
    let next = step.with_parameters(&parameters.unwrap()).unwrap().step(&vars[0], &vars[1], &vars[2]).unwrap();
    let mut seeds: Vec<(&str, Vec<Vec<f64>>)> = Vec::new();
    let mut sum: Option<Tensor> = None;
    for (part_name, t) in given(&next).into_iter().filter(|(name, t)| *name != "warm" && t.elem_count() > 0) {
        let values: Vec<f64> = (0..t.elem_count()).map(|_| random.between(-1.0, 1.0)).collect();
        let factor = Tensor::from_vec(values, t.shape(), t.device()).unwrap();
        seeds.push((part_name, rows(&factor)));
        let product = (t * factor).unwrap().sum_all().unwrap();
        sum = Some(sum.map_or_else(|| product.clone(), |sum| (sum + &product).unwrap()));
    }
    let seed = |w: usize| -> Vec<f64> {
        let of = |row: &Row| {
            let seed = seeds.iter().find(|(name, _)| *name == row.name);
            seed.map_or_else(|| vec![0.0; row.width], |(_, rows)| rows[w].clone())
        };
        parts.iter().filter(|row| DIFFERENTIABLE.contains(&row.name)).flat_map(of).collect()
    };
    let store = sum.unwrap().backward().unwrap();
    let of = |var: &Var| store.get(var).map_or_else(|| vec![vec![0.0; var.dim(1).unwrap()]; WORLDS], rows);
    let gradients: Vec<Vec<Vec<f64>>> = vars.iter().chain(&tracked).map(of).collect();
    let expected = (0..WORLDS).map(|w| gradients.iter().flat_map(|of| of[w].iter().copied()).collect()).collect();
    let found = recorded(Kernel::Adjoint, &|w| vec![cold[w].clone(), seed(w)]);
    let differences = differences(&unsigned_zeros(found), &unsigned_zeros(expected));
    assert_eq!(differences, Vec::<String>::new(), "{name}: adjoint");
}

pub const GAP: Bound = Bound::Gap { beta: 0.2 };

#[test]
fn recorded_second_order_steps_of_the_shipped_scenes_compute_what_lanes_compute() {
    let mut random = Random::new(45);
    for name in SCENES {
        let model = states::model(name);
        compare(name, &Batch::strange(&model, WORLDS, &mut random), GAP, &mut random);
    }
}

#[test]
fn recorded_second_order_steps_by_coulombs_law_and_another_bound_compute_what_lanes_compute() {
    let mut random = Random::new(46);
    for name in ["hand_ball", "push", "two_arms"] {
        let mut scene = Scene::load(format!("assets/scenes/{name}.toml")).unwrap();
        scene.params.friction = Friction::Coulomb;
        scene.params.joint_limits = true;
        let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
        compare(name, &Batch::strange(&model, WORLDS, &mut random), Bound::Velocity { margin: 1e-3 }, &mut random);
    }
}

#[test]
fn recorded_second_order_steps_of_random_scenes_compute_what_lanes_compute() {
    let mut random = Random::new(47);
    let mut done = 0;
    while done < 12 {
        let Ok(model) = Model::new(&random_scenes::scene(&mut random), DType::F64, &Device::Cpu) else { continue };
        let moves = model.nv() > 0 && model.nc() > 0;
        if !moves
            || !is_recordable(&model)
            || Dynamic::new(&model, &model.parameters, DynamicParams::default()).is_err()
        {
            continue;
        }
        compare(&format!("random scene {done}"), &Batch::strange(&model, WORLDS, &mut random), GAP, &mut random);
        done += 1;
    }
}

#[test]
fn programs_that_a_second_order_step_does_not_have_are_named() {
    let model = states::model("two_fingers");
    let step = Dynamic::new(&model, &model.parameters, DynamicParams::default()).unwrap();
    let error = step.record(Kernel::Rollout, Precision::Double).unwrap_err().to_string();
    assert!(error.contains("rollout"), "{error}");
    let contact = fingertip::step::ContactModel::Rigid(fingertip::solve::Method::Lemke);
    let rigid = Dynamic::new(&model, &model.parameters, DynamicParams { contact, ..DynamicParams::default() }).unwrap();
    let error = rigid.record(Kernel::Step, Precision::Double).unwrap_err().to_string();
    assert!(error.contains("barrier"), "{error}");
}
