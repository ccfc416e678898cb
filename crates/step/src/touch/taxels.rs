//! Taxels: how hard a body is pressed near points of its surface.

use std::ops::Range;
use std::sync::Arc;

use candle_core::{Result, Tensor, Var, bail};
use nalgebra::Isometry3;

use super::distance::Distances;
use super::sensor::{Cotangent, Felt, Places, Sensor, pulled};
use super::wrench::Touch;
use crate::contact::numbers::GEOMETRY;
use crate::kinematics::{FrameSpec, POSE, Pose};
use crate::model::Model;
use crate::parameters::Parameters;
use crate::tensor::numbers;
use crate::tensor::operation::{Function, Kernels, Operation, Signature};
use fingertip_lanes::lane::{Lane, Packed, Real, Single, clear};
use fingertip_lanes::vector::{
    Mat3, Vec3, add_vec3, axpy, dot, rotate, rotate_back, scale, signed, splat, sub, vec3_at,
};
use fingertip_scene::unknown;
use fingertip_shapes::Error;

/// The sum of weights up to which a contact is felt in full. One taxel has it that is 0.87 of the reach away.
const FULL: f64 = 1.0 / 64.0;
/// A contact so much farther from a pad than its taxels reach is left out, as a share of that length.
const MARGIN: f64 = 1e-6;

/// A contact of one world on plain numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touching {
    /// Its index among all contacts of the scene.
    pub contact: usize,
    /// Unit normal from A to B.
    pub normal: [f64; 3],
    /// The points on A and on B, m, in world axes.
    pub points: [[f64; 3]; 2],
    /// Force on B, N, in world axes.
    pub force: [f64; 3],
}

/// A number of one world.
type Plain = Single<f64, false>;

fn plain(pose: &Isometry3<f64>) -> Pose<Plain> {
    let axes = pose.rotation.to_rotation_matrix();
    let axis = |k: usize| splat(axes.matrix().column(k).into());
    Pose { p: splat(pose.translation.vector.into()), axes: [axis(0), axis(1), axis(2)] }
}

/// A pad: its taxels in the body's frame, and the contacts that press it.
#[derive(Clone, Debug)]
struct Pad {
    name: String,
    body: usize,
    /// The places of its taxels among all.
    at: Range<usize>,
    taxels: Vec<Taxel>,
    reach: f64,
    /// A ball around all taxels: its middle, and how far from that a contact may be felt, m.
    middle: [f64; 3],
    far: f64,
    touches: Vec<Touch>,
}

#[derive(Clone, Copy, Debug)]
struct Taxel {
    point: [f64; 3],
    normal: [f64; 3],
}

/// The taxels of a model's pads.
///
/// A contact presses with the force f_n along its normal at the point p of the body, where m is the normal out of the
/// body. Taxel i, at x_i with the outward normal ν_i, feels a share of that:
///
/// ```text
/// w_i = max(0, 1 − |p − x_i|²/r²)³ · max(0, m · ν_i),    s = Σ w_i,    F_i = f_n w_i/s
/// ```
///
/// r is the pad's reach. So the forces of a pad's taxels add up to the normal forces of the contacts near it. Where s
/// is below 1/64, as of a contact at the edge of what a pad reaches, 1/s is replaced by its tangent there, (2 − 64
/// s)·64: such a contact is felt in part.
#[derive(Clone, Debug)]
pub struct Taxels {
    pads: Arc<Pads>,
    places: Places,
    distances: Distances,
    kernels: Kernels,
}

impl Taxels {
    /// The pads with these names, or all that the scene has if there are none. `parameters` say where links are, as in
    /// a step.
    ///
    /// # Errors
    /// If no pad has a name, or the tensors cannot be made on the device.
    pub fn new(model: &Model, parameters: &Parameters, names: &[&str]) -> Result<Self> {
        let known = || model.taxels.iter().map(|pad| pad.name.as_str());
        let all: Vec<&str> = if names.is_empty() { known().collect() } else { names.to_vec() };
        let mut pads = Vec::new();
        for name in all {
            let Some(own) = model.taxels.iter().find(|pad| pad.name == name) else {
                return Err(Error::invalid("touch", unknown("pad of taxels", name, known())).into());
            };
            let body = model.tree.find(&own.link)?;
            let first = pads.last().map_or(0, |pad: &Pad| pad.at.end);
            pads.push(Pad::new(own, body, first, Touch::all(model, |own, _| own == body)));
        }
        let frames: Vec<FrameSpec> = pads.iter().map(|pad| FrameSpec::of_body(pad.body)).collect();
        let points = pads.iter().flat_map(|pad| pad.taxels.iter().map(|taxel| (pad.body, taxel.point)));
        let distances = Distances::new(model, parameters, &points.collect::<Vec<_>>())?;
        let places = Places::new(model, parameters, &frames)?;
        let pads = Pads { all: pads, nc: model.nc(), n_torques: model.pairs.torsional.len() };
        Ok(Self { pads: Arc::new(pads), places, distances, kernels: Kernels::default() })
    }

    /// The pads: their names, and where the taxels of each are among all.
    pub fn pads(&self) -> impl ExactSizeIterator<Item = (&str, Range<usize>)> {
        self.pads.all.iter().map(|pad| (pad.name.as_str(), pad.at.clone()))
    }

    /// The number N of taxels of all pads.
    pub fn count(&self) -> usize {
        self.pads.count()
    }

    /// The normal forces, N, of the taxels that contacts press, each with its place among all: [`Sensor::at`] where
    /// only the contacts that are near are known. `pose` says where a body's frame is in the world.
    pub fn pressed(&self, pose: impl Fn(usize) -> Isometry3<f64>, contacts: &[Touching]) -> Vec<(usize, f64)> {
        let mut pressed = Vec::new();
        for pad in &self.pads.all {
            let place = |of: &Touching| pad.touches.binary_search_by_key(&of.contact, |touch| touch.contact).ok();
            let near: Vec<_> = contacts.iter().filter_map(|of| Some((of, &pad.touches[place(of)?]))).collect();
            if near.is_empty() {
                continue;
            }
            let pose = plain(&pose(pad.body));
            let mut forces = vec![Plain::zero(); pad.taxels.len()];
            let mut weights = forces.clone();
            for (Touching { normal, points: [a, b], force, .. }, touch) in near {
                let contact = [*normal, *a, *b].map(splat).concat();
                let press = Press::of(&Touch { contact: 0, ..*touch }, &pose, &contact, &splat(*force));
                if press.is_near(pad) {
                    press.spread(pad, &mut weights, &mut forces);
                }
            }
            let felt = forces.iter().enumerate().map(|(i, force)| (pad.at.start + i, force.get(0)));
            pressed.extend(felt.filter(|&(_, force)| force != 0.0));
        }
        pressed
    }

    /// The signed distance (B, N), m, of each taxel from the nearest shape that its body may touch, at q (B, nq):
    /// negative inside, and [`UNUSED`](crate::contact::UNUSED) where there is none. Differentiable in q, sizes and
    /// offsets.
    ///
    /// # Errors
    /// If q has another width, or, on a GPU, if closest points of one of the shapes have no formula.
    pub fn distances(&self, q: &Tensor) -> Result<Tensor> {
        self.distances.at(q)
    }

    /// From the gradient `by` (B, N) of a cost by the distances at q (B, nq), on plain numbers, to its gradients by q,
    /// offsets and sizes.
    ///
    /// # Errors
    /// As [`Taxels::distances`], or if the lengths do not fit, or the model is not `f64`.
    pub fn distances_cotangent(&self, q: &[f64], by: &[f64]) -> Result<Cotangent> {
        let (nq, device) = (self.places.model.nq(), self.places.parameters.offsets.device());
        if q.is_empty() || !q.len().is_multiple_of(nq) {
            bail!("taxels: expected q (B, {nq}), got {} numbers", q.len());
        }
        let q = Var::from_slice(q, (q.len() / nq, nq), device)?;
        let tracked = |t: &Tensor| Ok::<_, candle_core::Error>(Var::from_tensor(t)?.into_inner());
        let (offsets, sizes) = (tracked(&self.parameters().offsets)?, tracked(&self.parameters().sizes)?);
        let parameters = Parameters { offsets, sizes, ..self.parameters().clone() };
        let own = self.distances.with_parameters(&parameters).at(&q)?;
        let gradients = pulled(&own, by)?;
        let of = |t: &Tensor| gradients.get(t).map_or_else(|| Ok(Vec::new()), numbers);
        let (offsets, sizes) = (of(&parameters.offsets)?, of(&parameters.sizes)?);
        Ok(Cotangent { q: of(&q)?, offsets, sizes, ..Cotangent::default() })
    }
}

impl Sensor for Taxels {
    /// The normal force (B, N), N, that each taxel feels during a step from q. Differentiable.
    fn at<'a>(&self, felt: impl Into<Felt<'a>>) -> Result<Tensor> {
        let felt = felt.into();
        if self.count() == 0 || self.pads.nc == 0 {
            return Tensor::zeros((felt.q.dim(0)?, self.count()), felt.q.dtype(), felt.q.device());
        }
        let poses = self.places.poses(felt.q)?.flatten_from(1)?;
        poses.apply_op3(&felt.geometry()?, &felt.forces()?, Operation::rowwise(Feel(self.pads.clone()), &self.kernels))
    }

    fn model(&self) -> &Model {
        &self.places.model
    }

    fn parameters(&self) -> &Parameters {
        &self.places.parameters
    }

    fn with_parameters(&self, parameters: &Parameters) -> Self {
        let (places, distances) = (self.places.with_parameters(parameters), self.distances.with_parameters(parameters));
        Self { places, distances, ..self.clone() }
    }
}

impl Pad {
    fn new(of: &fingertip_scene::Taxels, body: usize, first: usize, touches: Vec<Touch>) -> Self {
        let pairs = of.points.iter().zip(&of.normals);
        let taxels: Vec<Taxel> = pairs.map(|(&point, &normal)| Taxel { point, normal }).collect();
        let sum = |k: usize| taxels.iter().map(|taxel| taxel.point[k]).sum::<f64>();
        let middle: [f64; 3] = std::array::from_fn(|k| sum(k) / taxels.len() as f64);
        let away = |taxel: &Taxel| (0..3).map(|k| (taxel.point[k] - middle[k]).powi(2)).sum::<f64>().sqrt();
        let radius = taxels.iter().map(away).fold(0.0, f64::max);
        let at = first..first + taxels.len();
        let far = (radius + of.reach) * (1.0 + MARGIN);
        Self { name: of.name.clone(), body, at, taxels, reach: of.reach, middle, far, touches }
    }
}

/// The pads that are felt, and the sizes of what a step gives them.
#[derive(Debug)]
struct Pads {
    all: Vec<Pad>,
    nc: usize,
    n_torques: usize,
}

impl Pads {
    fn count(&self) -> usize {
        self.all.last().map_or(0, |pad| pad.at.end)
    }
}

/// A contact as its pad feels it.
struct Press<R> {
    force: Vec3<R>,
    normal: Vec3<R>,
    /// Its point from the body's origin, in the world's axes.
    arm: Vec3<R>,
    /// f_n.
    size: R,
    /// p and m in the body's axes.
    point: Vec3<R>,
    outwards: Vec3<R>,
}

/// What a taxel has of a contact: p − x, and both factors of w.
struct Share<R> {
    apart: Vec3<R>,
    near: R,
    faces: R,
}

impl<R: Real> Press<R> {
    #[inline(always)]
    fn of(touch: &Touch, pose: &Pose<R>, contacts: &[R], forces: &[R]) -> Self {
        let (force, normal) = (vec3_at(forces, 3 * touch.contact), vec3_at(contacts, GEOMETRY * touch.contact));
        let arm = sub(vec3_at(contacts, touch.point()), pose.p);
        let outwards = rotate(&pose.axes, signed(1 - touch.side, normal));
        Self { force, normal, arm, size: dot(force, normal), point: rotate(&pose.axes, arm), outwards }
    }

    /// Is it near enough to a pad to be felt?
    #[inline(always)]
    fn is_near(&self, pad: &Pad) -> R::Mask {
        let apart = sub(self.point, splat(pad.middle));
        dot(apart, apart).lt(R::splat(pad.far * pad.far))
    }

    #[inline(always)]
    fn share(&self, taxel: &Taxel, reach: f64) -> Share<R> {
        let apart = sub(self.point, splat(taxel.point));
        let near = (R::one() - dot(apart, apart).scale(1.0 / (reach * reach))).max(R::zero());
        Share { apart, near, faces: dot(self.outwards, splat(taxel.normal)).max(R::zero()) }
    }

    /// Adds what each of a pad's taxels feels of this; the weights are only kept for that.
    #[inline(always)]
    fn spread(&self, pad: &Pad, weights: &mut [R], out: &mut [R]) {
        let mut sum = R::zero();
        for i in 0..pad.taxels.len() {
            weights[i] = self.share(&pad.taxels[i], pad.reach).weight();
            sum += weights[i];
        }
        let each = self.size * gain(sum)[0];
        for i in 0..pad.taxels.len() {
            out[i] += each * weights[i];
        }
    }
}

impl<R: Real> Share<R> {
    #[inline(always)]
    fn weight(&self) -> R {
        self.near * self.near * self.near * self.faces
    }
}

/// What stands for 1/s, and its derivative.
#[inline(always)]
fn gain<R: Real>(sum: R) -> [R; 2] {
    let inverse = R::one() / sum.max(R::splat(FULL));
    let part = sum.lt(R::splat(FULL));
    let tangent = (R::splat(2.0) - sum.scale(1.0 / FULL)).scale(1.0 / FULL);
    let slope = R::select(part, R::splat(-1.0 / (FULL * FULL)), R::zero() - inverse * inverse);
    [R::select(part, tangent, inverse), slope]
}

/// (poses, geometry of contacts, forces and torques) → forces on taxels.
struct Feel(Arc<Pads>);

impl Function<3> for Feel {
    fn signature(&self) -> Signature<3> {
        let Pads { all, nc, n_torques } = &*self.0;
        let operands = [("poses", POSE * all.len()), ("contacts", GEOMETRY * nc), ("forces", 3 * nc + n_torques)];
        Signature { name: "taxels", operands, width: self.0.count() }
    }

    /// The weights of a pad's taxels.
    fn scratch(&self) -> usize {
        self.0.all.iter().map(|pad| pad.taxels.len()).max().unwrap_or(0)
    }

    #[inline(always)]
    fn value<R: Lane>(&self, [poses, contacts, forces]: [&[R]; 3], scratch: &mut [R], out: &mut [R]) {
        clear(out);
        for (k, pad) in self.0.all.iter().enumerate() {
            let pose = Pose::read(&poses[POSE * k..]);
            let (out, scratch) = (&mut out[pad.at.start..pad.at.end], &mut scratch[..pad.taxels.len()]);
            for touch in R::parts(pad.touches.iter()) {
                let press = Press::of(touch, &pose, contacts, forces);
                R::when(
                    press.is_near(pad),
                    &mut (&mut *out, &mut *scratch),
                    #[inline(always)]
                    |(out, weights)| press.spread(pad, weights, out),
                );
            }
        }
    }

    #[inline(always)]
    fn vjp<R: Lane>(
        &self,
        [poses, contacts, forces]: [&[R]; 3],
        _: &mut [R],
        grad: &[R],
        [to_poses, to_contacts, to_forces]: [&mut [R]; 3],
    ) {
        for (k, pad) in self.0.all.iter().enumerate() {
            let pose = Pose::read(&poses[POSE * k..]);
            let grad = &grad[pad.at.start..pad.at.end];
            for touch in R::parts(pad.touches.iter()) {
                let press = Press::of(touch, &pose, contacts, forces);
                let mut by = [[R::zero(); 3]; 3];
                R::when(
                    press.is_near(pad),
                    &mut by,
                    #[inline(always)]
                    |by| *by = press.pulled(pad, grad),
                );
                let [[by_size, ..], by_point, by_outwards] = by;
                press.pull(&pose.axes, [by_point, by_outwards], &mut to_poses[POSE * k..], to_contacts, touch);
                add_vec3(to_forces, 3 * touch.contact, scale(by_size, press.normal));
                add_vec3(to_contacts, GEOMETRY * touch.contact, scale(by_size, press.force));
            }
        }
    }
}

impl<R: Real> Press<R> {
    /// From the gradients of a pad's taxels to that of f_n, which is the first of three numbers, and those of p and m.
    #[inline(always)]
    fn pulled(&self, pad: &Pad, grad: &[R]) -> [Vec3<R>; 3] {
        let (mut sum, mut product) = (R::zero(), R::zero());
        for i in 0..pad.taxels.len() {
            let weight = self.share(&pad.taxels[i], pad.reach).weight();
            sum += weight;
            product = grad[i].mul_add(weight, product);
        }
        let [gain, slope] = gain(sum);
        let common = self.size * slope * product;
        let [mut by_point, mut by_outwards] = [[R::zero(); 3]; 2];
        for i in 0..pad.taxels.len() {
            let taxel = &pad.taxels[i];
            let Share { apart, near, faces } = self.share(taxel, pad.reach);
            let by_weight = (self.size * gain).mul_add(grad[i], common);
            let square = near * near;
            // Where a factor is zero, so is what the other one's derivative is multiplied by; that of m · ν counts only
            // where it is positive.
            let by_near = by_weight * faces * square.scale(-6.0 / (pad.reach * pad.reach));
            by_point = axpy(by_near, apart, by_point);
            let by_faces = R::select(R::zero().lt(faces), by_weight * square * near, R::zero());
            by_outwards = axpy(by_faces, splat(taxel.normal), by_outwards);
        }
        [[gain * product, R::zero(), R::zero()], by_point, by_outwards]
    }

    /// Adds the gradients of p and m, which are in the body's axes, to those of its pose and of the contact.
    #[inline(always)]
    fn pull(
        &self,
        axes: &Mat3<R>,
        [by_point, by_outwards]: [Vec3<R>; 2],
        to_pose: &mut [R],
        to_contacts: &mut [R],
        touch: &Touch,
    ) {
        let by_arm = rotate_back(axes, by_point);
        add_vec3(to_contacts, touch.point(), by_arm);
        add_vec3(to_pose, 0, signed(0, by_arm));
        let outwards = signed(1 - touch.side, self.normal);
        add_vec3(to_contacts, GEOMETRY * touch.contact, signed(1 - touch.side, rotate_back(axes, by_outwards)));
        for k in 0..3 {
            add_vec3(to_pose, 3 + 3 * k, axpy(by_point[k], self.arm, scale(by_outwards[k], outwards)));
        }
    }
}
