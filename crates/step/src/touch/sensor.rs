//! What is felt of a step, as tensors with gradients and on plain numbers.

use candle_core::backprop::GradStore;
use candle_core::{Result, Tensor, Var, bail};

use crate::contact::Contacts;
use crate::kinematics::{FrameSpec, Kinematics};
use crate::model::Model;
use crate::parameters::Parameters;
use crate::step::{DynamicStep, Step, StepCotangent, StepNumbers, usable};
use crate::tensor::operation::Kernels;
use crate::tensor::{beside, guarded, numbers, part};
use fingertip_scene::Shape;

/// A configuration q (B, nq), and the contacts and forces of a step from it.
#[derive(Clone, Copy, Debug)]
pub struct Felt<'a> {
    pub(super) q: &'a Tensor,
    pub(super) contacts: &'a Contacts,
    pub(super) force: &'a Tensor,
    pub(super) torque: &'a Tensor,
}

impl<'a> From<(&'a Tensor, &'a Step)> for Felt<'a> {
    fn from((q, step): (&'a Tensor, &'a Step)) -> Self {
        Self { q, contacts: &step.contacts, force: &step.force, torque: &step.torque }
    }
}

impl<'a> From<(&'a Tensor, &'a DynamicStep)> for Felt<'a> {
    fn from((q, step): (&'a Tensor, &'a DynamicStep)) -> Self {
        Self { q, contacts: &step.contacts, force: &step.force, torque: &step.torque }
    }
}

impl Felt<'_> {
    /// Normal, points and φ of each contact (B, 10 nc).
    pub(super) fn geometry(&self) -> Result<Tensor> {
        self.contacts.geometry(&self.contacts.phi)
    }

    /// Forces of all contacts, then the torques (B, 3 nc + n).
    pub(super) fn forces(&self) -> Result<Tensor> {
        beside(&[&self.force.flatten_from(1)?, self.torque], 1)
    }
}

/// Frames on a model's links, where parameters say that joints are.
#[derive(Clone, Debug)]
pub(super) struct Places {
    pub(super) model: Model,
    pub(super) parameters: Parameters,
    frames: Kinematics,
    kernels: Kernels,
}

impl Places {
    pub(super) fn new(model: &Model, parameters: &Parameters, frames: &[FrameSpec]) -> Result<Self> {
        let frames = Kinematics::new(&model.tree, frames, model.dtype, &model.device)?;
        Ok(Self { model: model.clone(), parameters: parameters.clone(), frames, kernels: Kernels::default() })
    }

    pub(super) fn with_parameters(&self, parameters: &Parameters) -> Self {
        Self { parameters: parameters.clone(), ..self.clone() }
    }

    /// Poses (B, n_shapes, 12) and sizes (1 or B, n_shapes, 4) of the model's shapes at q (B, nq), as of
    /// [`Places::poses`].
    pub(super) fn shapes(&self, q: &Tensor) -> Result<[Tensor; 2]> {
        let (model, parameters) = (&self.model, &self.parameters);
        let q = usable(model, &self.kernels, q)?;
        let frames = model.kinematics.frames(&q, &guarded(&parameters.offsets, q.dim(0)?)?)?;
        let sizes = guarded(&parameters.sizes, q.dim(0)?)?;
        let sizes = sizes.reshape((sizes.dim(0)?, model.shapes.len(), Shape::SIZES))?;
        Ok([frames.poses.narrow(1, 0, model.shapes.len())?.contiguous()?, sizes])
    }

    /// The poses (B, n, 12) of the frames at q (B, nq). Where q is not usable they are those at home, as the contacts
    /// of a step are.
    pub(super) fn poses(&self, q: &Tensor) -> Result<Tensor> {
        match q.dims() {
            [b, n] if *n == self.model.nq() && *b > 0 => {}
            got => bail!("touch: expected q (B, {}), got {got:?}", self.model.nq()),
        }
        let (own, theirs) = (self.frames.offsets(), &self.parameters.offsets);
        let (rows, joints) = (theirs.dim(0)?, 3 * self.model.tree.bodies.len());
        let of_frames = part(own, 1, joints, own.dim(1)? - joints)?;
        let of_frames = of_frames.broadcast_as((rows, of_frames.dim(1)?))?.contiguous()?;
        let offsets = beside(&[&theirs.narrow(1, 0, joints)?, &of_frames], 1)?;
        Ok(self.frames.frames(&usable(&self.model, &self.kernels, q)?, &guarded(&offsets, q.dim(0)?)?)?.poses)
    }
}

/// Gradients of a cost by what is felt of: q and parameters themselves, and the results of a step. What is empty is
/// zero.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the fields are those of `StepCotangent`")]
pub struct Cotangent {
    pub q: Vec<f64>,
    pub offsets: Vec<f64>,
    pub sizes: Vec<f64>,
    pub q_next: Vec<f64>,
    pub v_next: Vec<f64>,
    pub force: Vec<f64>,
    pub torque: Vec<f64>,
    pub normal: Vec<f64>,
    pub point_a: Vec<f64>,
    pub point_b: Vec<f64>,
    pub phi: Vec<f64>,
}

impl Cotangent {
    /// For [`Quasidynamic::vjp`](crate::step::Quasidynamic::vjp) and [`Dynamic::vjp`](crate::step::Dynamic::vjp).
    pub fn borrowed(&self) -> StepCotangent<'_> {
        let Self { q, offsets, sizes, q_next, v_next, force, torque, normal, point_a, point_b, phi } = self;
        StepCotangent { q, offsets, sizes, q_next, v_next, force, torque, normal, point_a, point_b, phi }
    }

    /// Adds that of another cost of the same worlds.
    pub fn add(&mut self, other: &StepCotangent) {
        let StepCotangent { q, offsets, sizes, q_next, v_next, force, torque, normal, point_a, point_b, phi } = other;
        let own =
            [&mut self.q, &mut self.offsets, &mut self.sizes, &mut self.q_next, &mut self.v_next, &mut self.force];
        let rest = [&mut self.torque, &mut self.normal, &mut self.point_a, &mut self.point_b, &mut self.phi];
        let theirs = [q, offsets, sizes, q_next, v_next, force, torque, normal, point_a, point_b, phi];
        for (sum, other) in own.into_iter().chain(rest).zip(theirs) {
            if sum.is_empty() {
                sum.extend_from_slice(other);
            } else {
                sum.iter_mut().zip(*other).for_each(|(sum, x)| *sum += x);
            }
        }
    }
}

impl From<&StepCotangent<'_>> for Cotangent {
    fn from(of: &StepCotangent) -> Self {
        let mut own = Self::default();
        own.add(of);
        own
    }
}

/// What is felt during a step: of tensors with gradients, or on plain numbers.
pub trait Sensor: Sized {
    /// What is felt during a step from q: a row for each world (B, …). Differentiable in q, the step's results and
    /// parameters.
    ///
    /// # Errors
    /// If q and the step are not of the model.
    fn at<'a>(&self, felt: impl Into<Felt<'a>>) -> Result<Tensor>;

    /// The model whose bodies it is on.
    fn model(&self) -> &Model;

    /// The step's parameters, which say where links are.
    fn parameters(&self) -> &Parameters;

    /// The same with other parameters of the model.
    #[must_use]
    fn with_parameters(&self, parameters: &Parameters) -> Self;

    /// [`Sensor::at`] on plain numbers: of q (B, nq), and the step from it.
    ///
    /// # Errors
    /// As [`Sensor::at`], or if the model is not `f64` on the CPU.
    fn numbers(&self, q: &[f64], step: &StepNumbers) -> Result<Vec<f64>> {
        let state = State::new(q, step, self.model())?;
        numbers(&self.at(state.felt())?)
    }

    /// From the gradient `by` of a cost by what is felt, as long as [`Sensor::numbers`], to its gradients by q, offsets
    /// and the step's results: for [`Quasidynamic::vjp`](crate::step::Quasidynamic::vjp) at this step.
    ///
    /// # Errors
    /// As [`Sensor::numbers`], or if `by` has another length.
    fn cotangent(&self, q: &[f64], step: &StepNumbers, by: &[f64]) -> Result<Cotangent> {
        let state = State::new(q, step, self.model())?;
        let offsets = Var::from_tensor(&self.parameters().offsets)?;
        let parameters = Parameters { offsets: offsets.as_tensor().clone(), ..self.parameters().clone() };
        let felt = self.with_parameters(&parameters).at(state.felt())?;
        let gradients = pulled(&felt, by)?;
        let of = |t: &Tensor| gradients.get(t).map_or_else(|| Ok(Vec::new()), numbers);
        let Contacts { point_a, point_b, normal, phi, .. } = &state.contacts;
        Ok(Cotangent {
            q: of(&state.q)?,
            offsets: of(&offsets)?,
            force: of(&state.force)?,
            torque: of(&state.torque)?,
            normal: of(normal)?,
            point_a: of(point_a)?,
            point_b: of(point_b)?,
            phi: of(phi)?,
            ..Cotangent::default()
        })
    }
}

/// The gradients of a cost whose gradient by these numbers is given.
pub(super) fn pulled(of: &Tensor, by: &[f64]) -> Result<GradStore> {
    if by.len() != of.elem_count() {
        bail!("gradient by what is felt: expected {} numbers, got {}", of.elem_count(), by.len());
    }
    (of * Tensor::from_slice(by, of.shape(), of.device())?)?.sum_all()?.backward()
}

/// What [`Felt`] borrows, as tracked tensors of plain numbers.
struct State {
    q: Tensor,
    contacts: Contacts,
    force: Tensor,
    torque: Tensor,
}

impl State {
    fn new(q: &[f64], step: &StepNumbers, model: &Model) -> Result<Self> {
        let (nq, got) = (model.nq(), q.len());
        if got == 0 || !got.is_multiple_of(nq) || got != step.q_next.len() {
            bail!("touch: expected q (B, {nq}) of a step of {} worlds, got {got} numbers", step.q_next.len() / nq);
        }
        let (worlds, device) = (got / nq, &model.device);
        let rows = |of: &[f64], item: usize| -> Result<Tensor> {
            let n = of.len() / worlds;
            let shape = if item == 1 { vec![worlds, n] } else { vec![worlds, n / item, item] };
            Ok(Var::from_slice(of, shape, device)?.into_inner())
        };
        let contacts = Contacts {
            point_a: rows(&step.point_a, 3)?,
            point_b: rows(&step.point_b, 3)?,
            normal: rows(&step.normal, 3)?,
            phi: rows(&step.phi, 1)?,
            weight: None,
        };
        Ok(Self { q: rows(q, 1)?, contacts, force: rows(&step.force, 3)?, torque: rows(&step.torque, 1)? })
    }

    fn felt(&self) -> Felt<'_> {
        Felt { q: &self.q, contacts: &self.contacts, force: &self.force, torque: &self.torque }
    }
}
