//! Derivatives where faces, edges or axes meet exactly, as they do at everybody's home pose: those of the smooth motion
//! where there is one, else between the one-sided ones.

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::Model;
use fingertip::description::{Friction, Scene};
use fingertip::solve::Status;
use fingertip::step::{Quasidynamic, Step};
use support::{numbers, oracle, row};

/// Steps by which one-sided differences are taken, rad and m: what is parallel but for rounding is on the scale of the
/// first.
const STEPS: [f64; 3] = [1e-8, 1e-7, 1e-6];
/// What differences lose, relative to the largest derivative of their kind.
const LOST: f64 = 1e-5;

/// One thing on another, which is fixed; both are of the last two words, at this height.
const TIES: [(&str, &str, &str, f64); 9] = [
    ("equal hulls", CUBE, CUBE, 0.060004),
    ("equal boxes", "box = [0.03, 0.03, 0.03]", "box = [0.03, 0.03, 0.03]", 0.060004),
    ("a can on a box of its width", "box = [0.03, 0.03, 0.03]", "cylinder = [0.03, 0.03]", 0.0605),
    ("a hull on a box of its size", "box = [0.03, 0.03, 0.03]", CUBE, 0.0601),
    ("coaxial cans", "cylinder = [0.03, 0.03]", "cylinder = [0.03, 0.03]", 0.0601),
    (
        "parallel capsules",
        "capsule = [0.01, 0.03]\nrpy = [1.5707963267948966, 0.0, 0.0]",
        "capsule = [0.01, 0.03]\nrpy = [1.5707963267948966, 0.0, 0.0]",
        0.0201,
    ),
    (
        "a capsule along a box",
        "box = [0.03, 0.03, 0.03]",
        "capsule = [0.01, 0.03]\nrpy = [1.5707963267948966, 0.0, 0.0]",
        0.0401,
    ),
    (
        "a small box on a box, sides flush",
        "box = [0.03, 0.03, 0.03]\nposition = [0.01, 0.0, 0.0]",
        "box = [0.02, 0.02, 0.02]",
        0.0501,
    ),
    (
        "a lying can on a box of its length",
        "box = [0.03, 0.03, 0.03]",
        "cylinder = [0.02, 0.03]\nrpy = [1.5707963267948966, 0.0, 0.0]",
        0.0501,
    ),
];
const CUBE: &str = "hull = [[-0.03, -0.03, -0.03], [-0.03, -0.03, 0.03], [-0.03, 0.03, -0.03], [-0.03, 0.03, 0.03], \
                    [0.03, -0.03, -0.03], [0.03, -0.03, 0.03], [0.03, 0.03, -0.03], [0.03, 0.03, 0.03]]";

/// The sum of the forces on the thing, which is the pair's B or A.
fn total(step: &Step) -> Result<Tensor> {
    step.force.sum(1)
}

#[test]
fn derivatives_at_ties_are_between_one_sided_ones() -> Result<()> {
    let mut wrong = Vec::new();
    for (name, below, above, height) in TIES {
        for friction in Friction::ALL {
            let law = friction.name();
            let scene = format!(
                "[params]\nkappa = 1e5\nmu = 0.5\nfriction = \"{law}\"\n[[object]]\nname = \"a\"\nfreedom = \"fixed\"\n{below}\n\
                 [[object]]\nname = \"b\"\nmass = 0.1\nfreedom = \"free\"\nposition = [0.0, 0.0, {height}]\n{above}\n"
            );
            let model = Model::new(&Scene::from_toml(&scene, "")?, DType::F64, &Device::Cpu)?;
            let step = Quasidynamic::new(&model, &model.parameters)?;
            let (q, u) = (numbers(&model.home(1)?), model.tensor(&[&[]])?);
            let nv = model.nv();
            let start = Var::from_tensor(&row(&q))?;
            let base = step.step(&start, &u)?;
            assert_eq!(base.reports[0].status, Status::Solved, "{name}, {law}");
            let a = numbers(&step.linearize(&row(&q), &u)?.a);
            let forces: Vec<Vec<f64>> = (0..3)
                .map(|k| {
                    let gradients = total(&base)?.narrow(1, k, 1)?.sum_all()?.backward()?;
                    Ok(oracle::to_tangent(&model, &q, &numbers(gradients.get(&start).unwrap())))
                })
                .collect::<Result<_>>()?;
            for dof in 0..nv {
                let sides = STEPS.iter().flat_map(|&e| [e, -e]).map(|e| {
                    let mut moved = vec![0.0; nv];
                    moved[dof] = e;
                    let there = step.step(&row(&oracle::integrate(&model, &q, &moved)), &u)?;
                    let motion = oracle::tangent(&model, &moved, &numbers(&there.delta), &numbers(&base.delta));
                    let force = (total(&there)? - total(&base)?)?;
                    Ok(motion.into_iter().chain(numbers(&force)).map(|x| x / e).collect::<Vec<f64>>())
                });
                let sides = sides.collect::<Result<Vec<_>>>()?;
                for k in 0..nv + 3 {
                    let (derivative, what) =
                        if k < nv { (a[k * nv + dof], "q₊") } else { (forces[k - nv][dof], "force") };
                    let least = sides.iter().map(|side| side[k]).fold(f64::INFINITY, f64::min);
                    let most = sides.iter().map(|side| side[k]).fold(f64::NEG_INFINITY, f64::max);
                    let scale = if k < nv { 1.0 } else { 100.0 };
                    if !((least - LOST * scale..=most + LOST * scale).contains(&derivative)) {
                        wrong.push(format!(
                            "{name}, {law}: {what} {k} by {dof}: {derivative:e}, one-sided {least:e} to {most:e}"
                        ));
                    }
                }
            }
        }
    }
    wrong.iter().for_each(|line| println!("{line}"));
    assert!(wrong.is_empty(), "{} wrong", wrong.len());
    Ok(())
}
