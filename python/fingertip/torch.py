"""The steps as functions that torch differentiates.

Each call is one node of torch's graph. Gradients are exact; second derivatives raise. Tensors are on the CPU; those that
are not double precision are computed in double precision, and results have the type of q.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from ._fingertip import Quasidynamic

__all__ = ["RolloutResult", "StepResult", "rollout", "step"]


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
    """The step as a function of q (B, nq), u (B, nu), and parameters by name, as `Quasidynamic` takes them."""

    def of(q: torch.Tensor, u: torch.Tensor, **params: torch.Tensor | float) -> StepResult:
        return StepResult(*_Step.apply(sim, tuple(params), q, u, *_tensors(params)))

    return of


def rollout(sim: Quasidynamic) -> Callable[..., RolloutResult]:
    """T steps as a function of q0 (B, nq), u (B, T, nu), and parameters by name, as `Quasidynamic` takes them."""

    def of(q0: torch.Tensor, u: torch.Tensor, **params: torch.Tensor | float) -> RolloutResult:
        return RolloutResult(*_Rollout.apply(sim, tuple(params), q0, u, *_tensors(params)))

    return of


def _tensors(params: dict[str, torch.Tensor | float]) -> list[torch.Tensor]:
    return [x if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=torch.float64) for x in params.values()]


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, sim: Quasidynamic, names: tuple[str, ...], *inputs: torch.Tensor) -> Any:
        sim, q, u = _begin(ctx, sim, names, inputs)
        made = ctx.made = sim.step(q, u)
        return _results(ctx, inputs[0], made.q_next, made.force, made.torque, made.phi, made.status)

    @staticmethod
    def backward(ctx: Any, q_next: Any, force: Any, torque: Any, phi: Any, _status: Any) -> Any:
        q, u, *_ = ctx.saved_tensors
        gradient = ctx.sim.vjp(
            _numbers(q),
            _numbers(u),
            q_next_bar=_numbers(q_next),
            force_bar=_numbers(force),
            torque_bar=_numbers(torque),
            phi_bar=_numbers(phi),
            step=ctx.made,
        )
        return _gradients(ctx, gradient)


class _Rollout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, sim: Quasidynamic, names: tuple[str, ...], *inputs: torch.Tensor) -> Any:
        sim, q0, u = _begin(ctx, sim, names, inputs)
        made = ctx.made = sim.rollout(q0, u)
        return _results(ctx, inputs[0], made.q, made.force, made.status)

    @staticmethod
    def backward(ctx: Any, q: Any, force: Any, _status: Any) -> Any:
        _, u, *_ = ctx.saved_tensors
        gradient = ctx.sim.rollout_vjp(_numbers(u), ctx.made, q_bar=_numbers(q), force_bar=_numbers(force))
        return _gradients(ctx, gradient)


def _numbers(tensor: torch.Tensor | None) -> Any:
    """The same memory as an array where it can be."""
    if tensor is None:
        return None
    tensor = tensor.detach() if tensor.is_cpu else tensor.detach().cpu()
    return (tensor if tensor.is_contiguous() else tensor.contiguous()).numpy()


def _tensor(array: np.ndarray[Any, Any], like: torch.Tensor) -> torch.Tensor:
    """The same memory as a tensor where it can be: nobody else has these arrays."""
    tensor = torch.from_numpy(array)
    if like.dtype == torch.float64 and like.is_cpu:
        return tensor
    return tensor.to(like) if like.is_floating_point() else tensor.to(like.device)


def _begin(ctx: Any, sim: Quasidynamic, names: tuple[str, ...], inputs: tuple[torch.Tensor, ...]) -> Any:
    """Keeps what the way back needs; the step with these parameters, and q and u."""
    if names:
        sim = sim.with_params(**{name: _numbers(x) for name, x in zip(names, inputs[2:], strict=True)})
    ctx.sim, ctx.names = sim, names
    ctx.save_for_backward(*inputs)
    ctx.set_materialize_grads(False)
    return sim, _numbers(inputs[0]), _numbers(inputs[1])


def _results(ctx: Any, q: torch.Tensor, *arrays: np.ndarray[Any, Any]) -> Any:
    *results, status = arrays
    status_of = torch.from_numpy(status)
    status_of = status_of if q.is_cpu else status_of.to(q.device)
    ctx.mark_non_differentiable(status_of)
    return *(_tensor(array, q) for array in results), status_of


def _gradients(ctx: Any, gradient: Any) -> Any:
    arrays = [gradient.q, gradient.u]
    if ctx.names:
        params = gradient.params
        arrays += [params[name] for name in ctx.names]
    made: list[torch.Tensor | None] = []
    for array, x, is_needed in zip(arrays, ctx.saved_tensors, ctx.needs_input_grad[2:], strict=True):
        if is_needed and array.shape != x.shape:
            # One number stands for all columns, and (n,) for (1, n).
            array = array.reshape(x.shape) if x.ndim else np.array(array.sum())
        made.append(_tensor(array, x) if is_needed else None)
    # Only with `create_graph`. torch's once_differentiable would call these constants where the cost is linear.
    if torch.is_grad_enabled():
        made = list(_Once.apply(torch.ones((), requires_grad=True), *made))
    return None, None, *made


class _Once(torch.autograd.Function):
    """Gradients that cannot be differentiated again."""

    @staticmethod
    def forward(_ctx: Any, _tracked: torch.Tensor, *gradients: torch.Tensor | None) -> Any:
        return tuple(None if x is None else x.clone() for x in gradients)

    @staticmethod
    def backward(_ctx: Any, *_gradients: Any) -> Any:
        raise RuntimeError("fingertip: second derivatives are not available")
