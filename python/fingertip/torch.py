"""The steps, and where bodies are, as functions that torch differentiates.

Each call is one node of torch's graph. Gradients are exact; second derivatives raise. Tensors that are not double precision are
computed in double precision, and results have the type of q. Tensors are on the CPU, or on an NVIDIA GPU if the package is built for it
(docs/cuda.md): then they stay there. Without that they are copied to the CPU and back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike

from . import _places
from ._fingertip import _CUDA, Model, OnDevice, Quasidynamic

__all__ = ["RolloutResult", "StepResult", "body_poses", "jacobian", "rollout", "site_poses", "step"]


class StepResult(NamedTuple):
    """A step's tensors; without the first axis if one world was given without it."""

    q_next: torch.Tensor
    """Next configuration (B, nq), m and rad."""
    force: torch.Tensor
    """Contact forces on B in world axes (B, nc, 3), N."""
    torque: torch.Tensor
    """Torques of the contacts with torsional friction (B, n), N·m."""
    phi: torch.Tensor
    """Signed distances at q (B, nc), m."""
    status: torch.Tensor
    """`fingertip.Status` of each world (B,), uint8; no gradient."""


class RolloutResult(NamedTuple):
    """The tensors of T steps; without the first axis if one world was given without it."""

    q: torch.Tensor
    """Configurations (B, T + 1, nq), m and rad; the first is q0."""
    force: torch.Tensor
    """Contact forces on B in world axes (B, T, nc, 3), N."""
    status: torch.Tensor
    """`fingertip.Status` of each step (B, T), uint8; no gradient."""


def step(sim: Quasidynamic) -> Callable[..., StepResult]:
    """The step as a function of q (B, nq), u (B, nu), and parameters by name, as `Quasidynamic` takes them. What has no axis for worlds
    stands for all of them, and its gradient is their sum."""

    places = _Places(sim)

    def of(q: torch.Tensor, u: torch.Tensor, **params: torch.Tensor | float) -> StepResult:
        tensors = _tensors(params)
        return StepResult(*_Step.apply(places.of(q), tuple(params), *places.beside(q, u, 1, tensors), *tensors))

    return of


def rollout(sim: Quasidynamic) -> Callable[..., RolloutResult]:
    """T steps as a function of q0 (B, nq), u (B, T, nu), and parameters by name, as `Quasidynamic` takes them, and as `step`; u for all
    worlds of q0 is (1, T, nu)."""

    places = _Places(sim)

    def of(q0: torch.Tensor, u: torch.Tensor, **params: torch.Tensor | float) -> RolloutResult:
        tensors = _tensors(params)
        return RolloutResult(*_Rollout.apply(places.of(q0), tuple(params), *places.beside(q0, u, 2, tensors), *tensors))

    return of


def body_poses(model: Model, names: Sequence[str] | None = None) -> Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    """Positions (B, n, 3), m, and rotations (B, n, 3, 3) of bodies as a function of q (B, nq) or (nq,), as `Model.body_poses` gives them.
    On the CPU; other tensors are copied there and back."""
    places = _places.body_poses(model, names)
    return lambda q: _OfQ.apply(places, q)


def site_poses(model: Model, names: Sequence[str] | None = None) -> Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    """Those of sites, as `Model.site_poses` gives them."""
    places = _places.site_poses(model, names)
    return lambda q: _OfQ.apply(places, q)


def jacobian(model: Model, name: str, point: ArrayLike | None = None) -> Callable[[torch.Tensor], torch.Tensor]:
    """The Jacobian (B, 6, nv) of a body's or a site's point as a function of q (B, nq) or (nq,), as `Model.jacobian` gives it."""
    places = _places.jacobian(model, name, point)
    return lambda q: _OfQ.apply(places, q)[0]


def _tensors(params: dict[str, torch.Tensor | float]) -> list[torch.Tensor]:
    return [x if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=torch.float64) for x in params.values()]


class _Places:
    """A step on the CPU, and on the devices for which it has been asked."""

    def __init__(self, sim: Quasidynamic) -> None:
        _places.expect("sim", sim, Quasidynamic)
        self.sim = sim
        self.on: dict[str, OnDevice] = {}
        self.rows = max((len(x) for x in sim.params.values() if len(x) > 1), default=None)

    def beside(self, q: torch.Tensor, u: torch.Tensor, axes: int, params: list[torch.Tensor]) -> list[torch.Tensor]:
        """q, and u with so many axes, with as many worlds as either or the parameters have: what has none or one stands for all."""
        worlds = [x.shape[0] for x in params if x.ndim == 2 and len(x) > 1]
        worlds += [x.shape[0] for x, own in ((q, 1), (u, axes)) if x.ndim > own] + ([self.rows] if self.rows else [])
        # Beside several worlds, u for all of them over time has an axis for worlds: of two axes either could be missing.
        if not worlds or (axes == 2 == u.ndim and q.ndim > 1):
            return [q, u]
        # Others than these are left to the call's message.
        n = max(worlds)
        one = [(x, x if x.ndim > own else x[None]) for x, own in ((q, 1), (u, axes))]
        return [wide.expand(n, *wide.shape[1:]) if len(wide) == 1 < n or wide is not x else x for x, wide in one]

    def of(self, tensor: torch.Tensor) -> Quasidynamic | OnDevice:
        if not (_CUDA and tensor.is_cuda):
            return self.sim
        name = str(tensor.device)
        if name not in self.on:
            self.on[name] = self.sim.on(name)
        return self.on[name]


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, sim: Any, names: tuple[str, ...], *inputs: torch.Tensor) -> Any:
        sim, q, u = _begin(ctx, sim, names, inputs)
        made = ctx.made = sim.step(q, u)
        return _results(ctx, inputs[0], made.q_next, made.force, made.torque, made.phi, made.status)

    @staticmethod
    def backward(ctx: Any, q_next: Any, force: Any, torque: Any, phi: Any, _status: Any) -> Any:
        q, u, *_ = ctx.saved_tensors
        # On a device the step is computed again.
        made = {} if isinstance(ctx.sim, OnDevice) else {"step": ctx.made}
        gradient = ctx.sim.vjp(
            _lent(ctx.sim, q),
            _lent(ctx.sim, u),
            q_next_bar=_lent(ctx.sim, q_next),
            force_bar=_lent(ctx.sim, force),
            torque_bar=_lent(ctx.sim, torque),
            phi_bar=_lent(ctx.sim, phi),
            **made,
        )
        return _gradients(ctx, gradient)


class _Rollout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, sim: Any, names: tuple[str, ...], *inputs: torch.Tensor) -> Any:
        sim, q0, u = _begin(ctx, sim, names, inputs)
        made = ctx.made = sim.rollout(q0, u)
        return _results(ctx, inputs[0], made.q, made.force, made.status)

    @staticmethod
    def backward(ctx: Any, q: Any, force: Any, _status: Any) -> Any:
        _, u, *_ = ctx.saved_tensors
        bars = {"q_bar": _lent(ctx.sim, q), "force_bar": _lent(ctx.sim, force)}
        gradient = ctx.sim.rollout_vjp(_lent(ctx.sim, u), ctx.made, **bars)
        return _gradients(ctx, gradient)


class _OfQ(torch.autograd.Function):
    """A function of q alone."""

    @staticmethod
    def forward(ctx: Any, places: _places.Places, q: torch.Tensor) -> Any:
        ctx.places = places
        ctx.save_for_backward(q)
        ctx.set_materialize_grads(False)
        return tuple(_as(_tensor(made), q) for made in places.made(_lent(None, q)))

    @staticmethod
    def backward(ctx: Any, *bars: torch.Tensor | None) -> Any:
        (q,) = ctx.saved_tensors
        gradient = _as(_tensor(ctx.places.pulled(_lent(None, q), [_lent(None, bar) for bar in bars])), q)
        return None, *_final([gradient])


def _lent(sim: Any, tensor: torch.Tensor | None) -> Any:
    """The same memory as an array where it can be: of numpy's, or for a step on a device the tensor itself."""
    if tensor is None:
        return None
    # Each of these takes a µs or two, also where there is nothing to do.
    if tensor.requires_grad:
        tensor = tensor.detach()
    if not tensor.is_contiguous():
        tensor = tensor.contiguous()
    if isinstance(sim, OnDevice):
        return tensor
    return (tensor if tensor.is_cpu else tensor.cpu()).numpy()


def _tensor(array: Any) -> torch.Tensor:
    """The same memory as a tensor: nobody else has these arrays."""
    return torch.from_numpy(array) if isinstance(array, np.ndarray) else torch.from_dlpack(array)


def _as(tensor: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """The tensor in the type and on the device of another, if that is floating-point."""
    if tensor.dtype == like.dtype and tensor.is_cpu and like.is_cpu:
        return tensor
    return tensor.to(like) if like.is_floating_point() else tensor.to(like.device)


def _begin(ctx: Any, sim: Any, names: tuple[str, ...], inputs: tuple[torch.Tensor, ...]) -> Any:
    """Keeps what the way back needs; the step with these parameters, and q and u."""
    if names:
        sim = sim.with_params(**{name: _lent(sim, x) for name, x in zip(names, inputs[2:], strict=True)})
    ctx.sim, ctx.names = sim, names
    ctx.save_for_backward(*inputs)
    ctx.set_materialize_grads(False)
    return sim, _lent(sim, inputs[0]), _lent(sim, inputs[1])


def _results(ctx: Any, q: torch.Tensor, *arrays: Any) -> Any:
    *results, status = map(_tensor, arrays)
    status_of = status if q.is_cpu else status.to(q.device)
    ctx.mark_non_differentiable(status_of)
    return *(_as(result, q) for result in results), status_of


def _gradients(ctx: Any, gradient: Any) -> Any:
    params = gradient.params if ctx.names else {}
    made: list[torch.Tensor | None] = []
    for name, x, is_needed in zip(("q", "u", *ctx.names), ctx.saved_tensors, ctx.needs_input_grad[2:], strict=True):
        if not is_needed:
            made.append(None)
            continue
        tensor = _tensor(params[name] if name in params else getattr(gradient, name))
        if tensor.shape != x.shape:
            # One number stands for all columns, and (n,) for (1, n).
            tensor = tensor.reshape(x.shape) if x.ndim else tensor.sum()
        made.append(_as(tensor, x))
    return None, None, *_final(made)


def _final(gradients: list[torch.Tensor | None]) -> list[torch.Tensor | None]:
    """Gradients of which there are none."""
    # Only with `create_graph`. torch's once_differentiable would call these constants where the cost is linear.
    if torch.is_grad_enabled():
        return list(_Once.apply(torch.ones((), requires_grad=True), *gradients))
    return gradients


class _Once(torch.autograd.Function):
    """Gradients that cannot be differentiated again."""

    @staticmethod
    def forward(_ctx: Any, _tracked: torch.Tensor, *gradients: torch.Tensor | None) -> Any:
        return tuple(None if x is None else x.clone() for x in gradients)

    @staticmethod
    def backward(_ctx: Any, *_gradients: Any) -> Any:
        raise RuntimeError("fingertip: second derivatives are not available")
