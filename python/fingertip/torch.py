"""The steps as functions that torch differentiates.

Each call is one node of torch's graph. Gradients are exact; second derivatives raise. Tensors are on the CPU; those that
are not double precision are computed in double precision, and results have the type of q.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from ._fingertip import Quasidynamic, Rollout, Step

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

    def of(q: torch.Tensor, u: torch.Tensor, **params: torch.Tensor) -> StepResult:
        return StepResult(*_Step.apply(sim, tuple(params), q, u, *params.values()))

    return of


def rollout(sim: Quasidynamic) -> Callable[..., RolloutResult]:
    """T steps as a function of q0 (B, nq), u (B, T, nu), and parameters by name, as `Quasidynamic` takes them."""

    def of(q0: torch.Tensor, u: torch.Tensor, **params: torch.Tensor) -> RolloutResult:
        return RolloutResult(*_Rollout.apply(sim, tuple(params), q0, u, *params.values()))

    return of


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, sim: Quasidynamic, names: tuple[str, ...], *inputs: torch.Tensor) -> Any:
        sim = _keep(ctx, sim, names, inputs)
        made = ctx.made = sim.step(_numbers(inputs[0]), _numbers(inputs[1]))
        return _results(ctx, inputs[0], made, made.q_next, made.force, made.torque, made.phi)

    @staticmethod
    def backward(ctx: Any, q_next: Any, force: Any, torque: Any, phi: Any, _status: Any) -> Any:
        gradient = ctx.sim.vjp(
            *map(_numbers, ctx.saved_tensors),
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
        sim = _keep(ctx, sim, names, inputs)
        made = ctx.made = sim.rollout(_numbers(inputs[0]), _numbers(inputs[1]))
        return _results(ctx, inputs[0], made, made.q, made.force)

    @staticmethod
    def backward(ctx: Any, q: Any, force: Any, _status: Any) -> Any:
        _, u = map(_numbers, ctx.saved_tensors)
        gradient = ctx.sim.rollout_vjp(u, ctx.made, q_bar=_numbers(q), force_bar=_numbers(force))
        return _gradients(ctx, gradient)


def _numbers(tensor: torch.Tensor | None) -> Any:
    return None if tensor is None else tensor.detach().cpu().numpy()


def _keep(ctx: Any, sim: Quasidynamic, names: tuple[str, ...], inputs: tuple[torch.Tensor, ...]) -> Quasidynamic:
    """Keeps what the way back needs; the step with these parameters."""
    if names:
        sim = sim.with_params(**{name: _numbers(x) for name, x in zip(names, inputs[2:], strict=True)})
    ctx.sim, ctx.names = sim, names
    ctx.like = [(x.shape, x.dtype, x.device) for x in inputs]
    ctx.save_for_backward(*inputs[:2])
    ctx.set_materialize_grads(False)
    return sim


def _results(ctx: Any, q: torch.Tensor, made: Step | Rollout, *arrays: np.ndarray[Any, Any]) -> Any:
    status = torch.from_numpy(np.array(made.status)).to(q.device)
    ctx.mark_non_differentiable(status)
    dtype = q.dtype if q.is_floating_point() else torch.float64
    # New tensors: the arrays are the result's own.
    return *(torch.tensor(array, dtype=dtype, device=q.device) for array in arrays), status


def _gradients(ctx: Any, gradient: Any) -> Any:
    arrays = [gradient.q, gradient.u]
    if ctx.names:
        params = gradient.params
        arrays += [params[name] for name in ctx.names]
    made = []
    for array, (shape, dtype, device) in zip(arrays, ctx.like, strict=True):
        tensor = torch.tensor(array, dtype=dtype, device=device)
        # One number stands for all columns.
        made.append(tensor.sum() if len(shape) == 0 else tensor.reshape(shape))
    # Only with `create_graph`. torch's once_differentiable would call these constants where the cost is linear.
    if torch.is_grad_enabled():
        made = list(_Once.apply(torch.ones((), requires_grad=True), *made))
    return None, None, *made


class _Once(torch.autograd.Function):
    """Gradients that cannot be differentiated again."""

    @staticmethod
    def forward(_ctx: Any, _tracked: torch.Tensor, *gradients: torch.Tensor) -> Any:
        return tuple(x.clone() for x in gradients)

    @staticmethod
    def backward(_ctx: Any, *_gradients: Any) -> Any:
        raise RuntimeError("fingertip: second derivatives are not available")
