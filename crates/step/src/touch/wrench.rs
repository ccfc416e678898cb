//! Net contact force and torque on things, by name.

use std::collections::BTreeSet;
use std::sync::Arc;

use candle_core::{Result, Tensor};

use super::sensor::{Felt, Places, Sensor};
use crate::contact::numbers::GEOMETRY;
use crate::kinematics::{FrameSpec, POSE, Pose};
use crate::model::Model;
use crate::parameters::Parameters;
use crate::tensor::operation::{Function, Kernels, Operation, Signature};
use fingertip_lanes::lane::{Lane, Real};
use fingertip_lanes::vector::{
    Vec3, add, add_vec3, axpy, cross, dot, put_vec3, rotate, rotate_back, scale, signed, sub, vec3_at, zero,
};
use fingertip_scene::unknown;
use fingertip_shapes::Error;

/// Numbers of a wrench: force, then torque.
pub(super) const WRENCH: usize = 6;

/// The axes that wrenches are along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axes {
    /// The world's.
    #[default]
    World,
    /// Those of the link that the wrench acts on.
    Link,
}

/// A wrench to be summed: on whom, by whom (none: everything), the frame's body, and the contacts that count.
#[derive(Clone, Debug)]
struct Net {
    on: String,
    by: Option<String>,
    body: usize,
    touches: Vec<Touch>,
}

/// A contact of which one side, 0 for A and 1 for B, belongs to the thing; and the place of its torque, if it has one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch {
    pub(super) contact: usize,
    pub(super) side: usize,
    pub(super) torque: Option<usize>,
}

/// Net contact wrenches of things that have names.
///
/// With f the force of a contact on its side B, and p its point on the side that belongs to the thing,
///
/// ```text
/// F = Σ ±f,    T = Σ (p − o) × (±f) ± τ n
/// ```
///
/// over the contacts of which one side belongs to the thing: + for side B, − for side A. o is the origin of the thing's
/// frame, that of its first link. τ is the torque about the normal n of contacts with torsional friction. Contacts
/// between two links of the thing cancel.
#[derive(Clone, Debug)]
pub struct Wrenches {
    sums: Arc<Sums>,
    places: Places,
    kernels: Kernels,
}

impl Wrenches {
    /// The wrenches on things: a body (`"hand/tip"`, `"ball"`), or all of a robot or an articulated object (`"hand"`).
    /// With a second name, only what that does to the first. `parameters` say where links are, as in a step.
    ///
    /// # Errors
    /// If nothing has a name, or the tensors cannot be made on the device.
    pub fn new(model: &Model, parameters: &Parameters, of: &[(&str, Option<&str>)], axes: Axes) -> Result<Self> {
        let all = of.iter().map(|&(on, by)| Net::new(model, on, by)).collect::<Result<Vec<_>>>()?;
        let frames: Vec<FrameSpec> = all.iter().map(|net| FrameSpec::of_body(net.body)).collect();
        let sums = Sums { all, axes, nc: model.nc(), n_torques: model.pairs.torsional.len() };
        Ok(Self { sums: Arc::new(sums), places: Places::new(model, parameters, &frames)?, kernels: Kernels::default() })
    }

    /// For each body that may touch something, in the order of [`Tree::bodies`](crate::kinematics::Tree::bodies): the
    /// wrench of everything on it, and then that of each body that may touch it. Bodies that cannot move are left out.
    ///
    /// # Errors
    /// As [`Wrenches::new`].
    pub fn of_all(model: &Model, parameters: &Parameters, axes: Axes) -> Result<Self> {
        let tree = &model.tree;
        let mut of = Vec::new();
        for on in (0..tree.bodies.len()).filter(|&body| !tree.path(body).is_empty()) {
            let others = model.pairs.pairs.iter().filter_map(|pair| {
                let [a, b] = [pair.a, pair.b].map(|shape| model.shapes[shape].body);
                (a == on).then_some(b).or((b == on).then_some(a))
            });
            let others: BTreeSet<usize> = others.collect();
            let name = |body: usize| tree.bodies[body].name.as_str();
            of.extend((!others.is_empty()).then(|| (name(on), None)));
            of.extend(others.into_iter().map(|by| (name(on), Some(name(by)))));
        }
        Self::new(model, parameters, &of, axes)
    }

    /// The names of whom each wrench acts on, and of what does it; none for everything.
    pub fn names(&self) -> impl ExactSizeIterator<Item = (&str, Option<&str>)> {
        self.sums.all.iter().map(|net| (net.on.as_str(), net.by.as_deref()))
    }
}

impl Sensor for Wrenches {
    /// The wrenches (B, n, 6) that act during a step from q: force, N, then torque about the origin of the thing's
    /// frame, N·m.
    fn at<'a>(&self, felt: impl Into<Felt<'a>>) -> Result<Tensor> {
        let felt = felt.into();
        let (worlds, n) = (felt.q.dim(0)?, self.sums.all.len());
        if n == 0 || self.sums.nc == 0 {
            return Tensor::zeros((worlds, n, WRENCH), felt.q.dtype(), felt.q.device());
        }
        let poses = self.places.poses(felt.q)?.flatten_from(1)?;
        let op = Operation::rowwise(SumsOp(self.sums.clone()), &self.kernels);
        poses.apply_op3(&felt.geometry()?, &felt.forces()?, op)?.reshape((worlds, n, WRENCH))
    }

    fn model(&self) -> &Model {
        &self.places.model
    }

    fn parameters(&self) -> &Parameters {
        &self.places.parameters
    }

    fn with_parameters(&self, parameters: &Parameters) -> Self {
        Self { places: self.places.with_parameters(parameters), ..self.clone() }
    }
}

impl Net {
    fn new(model: &Model, on: &str, by: Option<&str>) -> Result<Self> {
        let tree = &model.tree;
        let known = |name: &str| {
            let body = (0..tree.bodies.len()).find(|&body| tree.is_called(body, name));
            let names = || {
                let owners = tree.owners.iter().map(|owner| owner.name.as_str());
                owners.chain(tree.bodies.iter().map(|body| body.name.as_str()))
            };
            body.ok_or_else(|| Error::invalid("touch", unknown("body, object or robot", name, names())))
        };
        let body = known(on)?;
        by.map(known).transpose()?;
        let is_on = |body: usize| tree.is_called(body, on);
        let touches = Touch::all(model, |own, other| {
            is_on(own) && !is_on(other) && by.is_none_or(|by| tree.is_called(other, by))
        });
        Ok(Self { on: on.to_owned(), by: by.map(str::to_owned), body, touches })
    }
}

/// The wrenches to sum, and the axes to give them in.
#[derive(Debug)]
struct Sums {
    all: Vec<Net>,
    axes: Axes,
    nc: usize,
    n_torques: usize,
}

/// A touch's force on the thing, its arm, its normal towards the thing, and its torque about that.
struct Part<R> {
    force: Vec3<R>,
    arm: Vec3<R>,
    normal: Vec3<R>,
    torque: Option<R>,
}

impl Touch {
    /// The contacts of which one side counts, given its body and the other side's.
    pub(super) fn all(model: &Model, counts: impl Fn(usize, usize) -> bool) -> Vec<Self> {
        let pairs = &model.pairs;
        let touch = |contact: usize| {
            let pair = &pairs.pairs[pairs.pair_of_contact[contact]];
            let sides = [pair.a, pair.b].map(|shape| model.shapes[shape].body);
            let torque = pairs.torsional.binary_search(&contact).ok();
            let side = (0..2).find(|&side| counts(sides[side], sides[1 - side]))?;
            Some(Self { contact, side, torque })
        };
        (0..model.nc()).filter_map(touch).collect()
    }

    /// Where this contact's point is among the numbers of all contacts.
    pub(super) fn point(&self) -> usize {
        GEOMETRY * self.contact + 3 + 3 * self.side
    }

    #[inline(always)]
    fn part<R: Real>(&self, origin: Vec3<R>, contacts: &[R], forces: &[R], nc: usize) -> Part<R> {
        Part {
            force: signed(self.side, vec3_at(forces, 3 * self.contact)),
            arm: sub(vec3_at(contacts, self.point()), origin),
            normal: signed(self.side, vec3_at(contacts, GEOMETRY * self.contact)),
            torque: self.torque.map(|k| forces[3 * nc + k]),
        }
    }
}

impl Sums {
    /// Force and torque of a net in the world's axes.
    #[inline(always)]
    fn net<R: Real>(&self, net: &Net, origin: Vec3<R>, contacts: &[R], forces: &[R]) -> [Vec3<R>; 2] {
        let mut sum = [zero(); 2];
        for touch in R::parts(net.touches.iter()) {
            let part = touch.part(origin, contacts, forces, self.nc);
            sum[0] = add(sum[0], part.force);
            sum[1] = add(sum[1], cross(part.arm, part.force));
            if let Some(torque) = part.torque {
                sum[1] = axpy(torque, part.normal, sum[1]);
            }
        }
        sum
    }
}

/// (poses, geometry of contacts, forces and torques) → wrenches.
struct SumsOp(Arc<Sums>);

impl Function<3> for SumsOp {
    fn signature(&self) -> Signature<3> {
        let Sums { all, nc, n_torques, .. } = &*self.0;
        let operands = [("poses", POSE * all.len()), ("contacts", GEOMETRY * nc), ("forces", 3 * nc + n_torques)];
        Signature { name: "net wrenches", operands, width: WRENCH * all.len() }
    }

    #[inline(always)]
    fn value<R: Lane>(&self, [poses, contacts, forces]: [&[R]; 3], _: &mut [R], out: &mut [R]) {
        for (k, net) in self.0.all.iter().enumerate() {
            let pose = Pose::read(&poses[POSE * k..]);
            let sum = self.0.net(net, pose.p, contacts, forces);
            for (at, of) in [(0, sum[0]), (3, sum[1])] {
                let of = if self.0.axes == Axes::Link { rotate(&pose.axes, of) } else { of };
                put_vec3(out, WRENCH * k + at, of);
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
        let nc = self.0.nc;
        for (k, net) in self.0.all.iter().enumerate() {
            let pose = Pose::read(&poses[POSE * k..]);
            let mut by = [vec3_at(grad, WRENCH * k), vec3_at(grad, WRENCH * k + 3)];
            if self.0.axes == Axes::Link {
                let sum = self.0.net(net, pose.p, contacts, forces);
                for i in 0..3 {
                    let axis = POSE * k + 3 + 3 * i;
                    add_vec3(to_poses, axis, axpy(by[0][i], sum[0], scale(by[1][i], sum[1])));
                }
                by = [rotate_back(&pose.axes, by[0]), rotate_back(&pose.axes, by[1])];
            }
            for touch in R::parts(net.touches.iter()) {
                let part = touch.part(pose.p, contacts, forces, nc);
                let by_force = add(by[0], cross(by[1], part.arm));
                add_vec3(to_forces, 3 * touch.contact, signed(touch.side, by_force));
                let by_arm = cross(part.force, by[1]);
                add_vec3(to_contacts, touch.point(), by_arm);
                add_vec3(to_poses, POSE * k, signed(0, by_arm));
                if let (Some(torque), Some(place)) = (part.torque, touch.torque) {
                    to_forces[3 * nc + place] += dot(by[1], part.normal);
                    add_vec3(to_contacts, GEOMETRY * touch.contact, signed(touch.side, scale(torque, by[1])));
                }
            }
        }
    }
}
