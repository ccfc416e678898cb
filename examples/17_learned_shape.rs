//! A shape that is learned: a small network as the distance to an object, instead of the scene's shapes.
//!
//! The network learns the signed distance to a peanut, two spheres that overlap, from samples; then it is the object
//! that a tip pushes. Its forces and motions are compared with those of the two spheres themselves, and gradients of
//! where the object ends with differences: by the commands, and by the network's own weights.
//!
//! ```text
//! cargo run --release --example 17_learned_shape
//! ```

mod check;

use std::sync::Arc;

use candle_core::{D, DType, Device, Error, Result, Tensor, Var};
use candle_nn::{AdamW, Linear, Module, Optimizer, ParamsAdamW, VarBuilder, VarMap, linear, loss::mse};
use fingertip::Model;
use fingertip::contact::Contacts;
use fingertip::description::{Collision, Freedom, Inertia, Object, Params, Robot, Scene, Shape};
use fingertip::mpc::Deviates;
use fingertip::rollout::rollout;
use fingertip::step::{Geometry, Quasidynamic};

use check::{below, near};

/// Radius of the two spheres, and how far from the middle they are, m.
const RADIUS: f64 = 0.03;
const APART: f64 = 0.025;
/// The tip's radius, m.
const TIP: f64 = 0.015;
/// The network works in this unit, m.
const UNIT: f64 = 0.03;
const HIDDEN: usize = 48;
const SAMPLES: usize = 256;
const CHANGES: usize = 2000;
/// Steps, and how far a command goes in each, m.
const STEPS: usize = 40;
const STRIDE: f64 = 0.002;
/// Where the tip starts, m.
const START: [f64; 2] = [-0.012, -0.06];
/// Of the object, kg.
const MASS: f64 = 0.2;
/// Of differences, m.
const DIFFERENCE: f64 = 1e-6;

/// The distance to the object in its own frame, as a network with two inner layers.
#[derive(Clone, Debug)]
struct Distance {
    layers: [Linear; 3],
}

impl Distance {
    fn new(weights: VarBuilder) -> Result<Self> {
        let of = |name, n, m| linear(n, m, weights.pp(name));
        Ok(Self { layers: [of("first", 3, HIDDEN)?, of("second", HIDDEN, HIDDEN)?, of("last", HIDDEN, 1)?] })
    }

    /// Distances (n, 1) and their gradients (n, 3) at points (n, 3) in the object's frame; m.
    fn at(&self, points: &Tensor) -> Result<(Tensor, Tensor)> {
        let [first, second, last] = &self.layers;
        let one = first.forward(&(points / UNIT)?)?.tanh()?;
        let two = second.forward(&one)?.tanh()?;
        let slope = |layer: &Tensor| layer.sqr()?.affine(-1.0, 1.0);
        let by_two = slope(&two)?.broadcast_mul(last.weight())?;
        let by_one = (by_two.matmul(second.weight())? * slope(&one)?)?;
        Ok(((last.forward(&two)? * UNIT)?, by_one.matmul(first.weight())?))
    }

    /// Learns distances and their gradients from random points around the object.
    fn learn(weights: &VarMap) -> Result<Self> {
        let distance = Self::new(VarBuilder::from_varmap(weights, DType::F64, &Device::Cpu))?;
        let mut random = Deviates::new(1, 0);
        // As candle's own start, but the same in every run.
        for name in ["first", "second", "last"] {
            let lock = weights.data().lock().map_err(|_| Error::msg("the weights are lost"))?;
            let weight = &lock[&format!("{name}.weight")];
            let (rows, columns) = weight.dims2()?;
            let numbers = (0..rows * columns).map(|_| random.normal() / (columns as f64).sqrt()).collect();
            weight.set(&Tensor::from_vec(numbers, (rows, columns), &Device::Cpu)?)?;
            let bias = &lock[&format!("{name}.bias")];
            bias.set(&bias.zeros_like()?)?;
        }
        let mut adam = AdamW::new(weights.all_vars(), ParamsAdamW { weight_decay: 0.0, ..ParamsAdamW::default() })?;
        for change in 0..CHANGES {
            adam.set_learning_rate(5e-3 * (1.0 - change as f64 / CHANGES as f64));
            let points: Vec<f64> = (0..3 * SAMPLES).map(|_| 1.3 * UNIT * random.normal()).collect();
            let points = Tensor::from_vec(points, (SAMPLES, 3), &Device::Cpu)?;
            let (expected, gradients) = peanut(&points)?;
            let (got, slopes) = distance.at(&points)?;
            let loss = (mse(&(got / UNIT)?, &(expected / UNIT)?)? + mse(&slopes, &gradients)?)?;
            adam.backward_step(&loss)?;
        }
        Ok(distance)
    }
}

/// The true distances (n, 1) and gradients (n, 3).
fn peanut(points: &Tensor) -> Result<(Tensor, Tensor)> {
    let nearer = points.narrow(1, 0, 1)?.ge(0.0)?.to_dtype(DType::F64)?.affine(2.0 * APART, -APART)?;
    let from = Tensor::cat(&[&(points.narrow(1, 0, 1)? - nearer)?, &points.narrow(1, 1, 2)?], 1)?;
    let size = from.sqr()?.sum_keepdim(D::Minus1)?.sqrt()?;
    Ok(((&size - RADIUS)?, from.broadcast_div(&size)?))
}

/// The contact of the tip, which is a sphere, with the object, which is what the network says.
#[derive(Debug)]
struct Learned {
    tip: usize,
    object: usize,
    distance: Distance,
}

impl Geometry for Learned {
    fn contacts(&self, poses: &Tensor, own: Contacts) -> Result<Contacts> {
        let pose = |shape: usize| poses.narrow(1, shape, 1)?.squeeze(1);
        let (tip, object) = (pose(self.tip)?, pose(self.object)?);
        let centre = tip.narrow(1, 0, 3)?;
        let axes = object.narrow(1, 3, 9)?.reshape(((), 3, 3))?;
        // Its rows are the axes of the object's frame.
        let local = axes.matmul(&(&centre - object.narrow(1, 0, 3)?)?.unsqueeze(2)?)?.squeeze(2)?;
        let (distance, gradient) = self.distance.at(&local)?;
        let out = gradient.unsqueeze(1)?.matmul(&axes)?.squeeze(1)?;
        let normal = out.broadcast_div(&out.sqr()?.sum_keepdim(1)?.sqrt()?)?.neg()?;
        let phi = (distance - TIP)?;
        let point_a = (&centre + (&normal * TIP)?)?;
        let point_b = (&point_a + normal.broadcast_mul(&phi)?)?;
        let one = |t: Tensor| t.unsqueeze(1);
        Ok(Contacts { point_a: one(point_a)?, point_b: one(point_b)?, normal: one(normal)?, phi, ..own })
    }
}

/// A tip on two slides and an object in the plane, seen from above.
fn scene(object: Object) -> fingertip::Result<Scene> {
    let collision = Collision::at(Shape::Sphere { radius: TIP }, [0.0; 3]);
    let robot = Robot::from_urdf("tip", "assets/robots/slider_tip.urdf")?
        .with_default_stiffness(200.0)
        .with_home("x", START[0])
        .with_home("y", START[1])
        .with_collisions([("tip", collision)])?;
    let params = Params { h: 0.02, epsilon: 0.1, kappa: 1e6, mu: 0.5, ..Params::default() };
    Ok(Scene::new()
        .with_params(params)
        .with_gravity([0.0; 3])
        .object(object.with_freedom(Freedom::Planar))
        .robot(robot))
}

fn main() -> Result<()> {
    let started = std::time::Instant::now();
    let weights = VarMap::new();
    let distance = Distance::learn(&weights)?;
    println!("learned in {:.1} s", started.elapsed().as_secs_f64());

    let spheres = [-APART, APART].map(|x| Collision::at(Shape::Sphere { radius: RADIUS }, [x, 0.0, 0.0])).to_vec();
    let inertia =
        Inertia::solid_compound(&spheres, MASS).ok_or_else(|| Error::msg("expected shapes with an inside"))?;
    // The scene says that the two may touch in one contact; what it says of the shape is not asked.
    let stand_in = Object::rigid("peanut", Shape::Sphere { radius: RADIUS }, MASS).with_inertia(inertia);
    let step = |object| {
        let model = Model::new(&scene(object)?, DType::F64, &Device::Cpu)?;
        Quasidynamic::new(&model, &model.parameters)
    };
    let (exact, learned) = (step(Object::compound("peanut", spheres, MASS))?, step(stand_in)?);
    let pair = &learned.model().pairs.pairs[0];
    let geometry = Learned { tip: pair.a, object: pair.b, distance };
    let learned = learned.with_geometry(Arc::new(geometry));

    let home = learned.model().home(1)?;
    let commands: Vec<f64> = (1..=STEPS).flat_map(|t| [START[0], START[1] + STRIDE * t as f64]).collect();
    let commands = Var::from_vec(commands, (1, STEPS, 2), &Device::Cpu)?;
    let end = |step: &Quasidynamic, u: &Tensor| rollout(step, &home, u)?.q.narrow(1, STEPS, 1)?.flatten_all();
    let (by_shapes, by_network) = (end(&exact, &commands)?, end(&learned, &commands)?);
    let numbers = |t: &Tensor| t.to_vec1::<f64>();
    let (a, b) = (numbers(&by_shapes)?, numbers(&by_network)?);
    println!("pushed to x, y, yaw: {:.4} m {:.4} m {:.4} rad by the shapes", a[0], a[1], a[2]);
    println!("                     {:.4} m {:.4} m {:.4} rad by the network", b[0], b[1], b[2]);
    below("position differs, mm", 1e3 * (a[0] - b[0]).hypot(a[1] - b[1]), 1.0)?;
    below("turn differs, rad", (a[2] - b[2]).abs(), 0.03)?;

    // How the object's turn depends on all commands together, shifted along x, and on the weights of one layer.
    let grads = by_network.get(2)?.backward()?;
    let layer = &weights.data().lock().map_err(|_| Error::msg("the weights are lost"))?["second.weight"].clone();
    for (what, var) in [("commands", &commands), ("weights", layer)] {
        let gradient = grads.get(var).ok_or_else(|| Error::msg("expected a gradient"))?;
        let start = var.as_tensor().copy()?;
        let direction = (gradient / gradient.sqr()?.sum_all()?.sqrt()?.to_scalar::<f64>()?)?;
        let turn = |by: f64| -> Result<f64> {
            var.set(&(&start + (&direction * by)?)?)?;
            end(&learned, &commands)?.get(2)?.to_scalar::<f64>()
        };
        let difference = (turn(DIFFERENCE)? - turn(-DIFFERENCE)?) / (2.0 * DIFFERENCE);
        var.set(&start)?;
        let slope = (gradient * &direction)?.sum_all()?.to_scalar::<f64>()?;
        near(&format!("gradient of the turn by the {what}, against differences"), slope, difference, 1e-5)?;
    }
    Ok(())
}
