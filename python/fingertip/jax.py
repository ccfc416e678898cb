"""The steps, and where bodies are, as functions that JAX differentiates, maps and compiles.

Each call of a step is one node of JAX's program, which computes all worlds of a `vmap` at once. On the CPU, and on the first NVIDIA GPU if the
package is built for it (docs/cuda.md), the compiled program calls the library in Rust, without Python (XLA's foreign functions); on other
devices, it calls back into Python. Gradients are exact; second
derivatives raise, and forward-mode ones do but of `step(sim, forward=True)`. The way back computes the steps again. JAX must be in double precision:
`jax.config.update("jax_enable_x64", True)`. What is of another type is computed in double precision, and results have the type
of q.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from . import _places
from ._fingertip import _CUDA, Error, Gradient, Model, OnDevice, Quasidynamic, _xla_function, _xla_handler

TARGET = "fingertip"
"""The handler's name in JAX's programs."""

for _platform in ("cpu", "CUDA") if _CUDA else ("cpu",):
    jax.ffi.register_ffi_target(TARGET, _xla_handler(), platform=_platform)

__all__ = ["RolloutResult", "StepResult", "body_poses", "jacobian", "rollout", "site_poses", "step"]


class StepResult(NamedTuple):
    """A step's arrays; without the first axis if one world was given without it."""

    q_next: jax.Array
    """Next configuration (B, nq), m and rad."""
    force: jax.Array
    """Contact forces on B in world axes (B, nc, 3), N."""
    torque: jax.Array
    """Torques of the contacts with torsional friction (B, n), N·m."""
    phi: jax.Array
    """Signed distances at q (B, nc), m."""
    status: jax.Array
    """`fingertip.Status` of each world (B,), uint8; no gradient."""


class RolloutResult(NamedTuple):
    """The arrays of T steps; without the first axis if one world was given without it."""

    q: jax.Array
    """Configurations (B, T + 1, nq), m and rad; the first is q0."""
    force: jax.Array
    """Contact forces on B in world axes (B, T, nc, 3), N."""
    status: jax.Array
    """`fingertip.Status` of each step (B, T), uint8; no gradient."""


_Array: TypeAlias = np.ndarray[Any, Any]
_Params: TypeAlias = dict[str, Any]


def step(sim: Quasidynamic, forward: bool = False) -> Callable[..., StepResult]:
    """The step as a function of q (B, nq), u (B, nu), and parameters by name, as `Quasidynamic` takes them. What has no axis for worlds
    stands for all of them, and its gradient is their sum.

    With `forward` there are derivatives in both modes, so `jvp` and `jacfwd` too, through a `scan` of steps as well. They are those of the
    step's whole Jacobian, by as many gradients as the results have numbers: use it for Jacobians, and for gradients the other."""
    _places.expect("sim", sim, Quasidynamic)
    model = sim.model
    shapes = [(model.nq,), (model.nc, 3), (model.n_lambda - 3 * model.nc,), (model.nc,), ()]

    def made(sim: Quasidynamic, q: _Array, u: _Array) -> tuple[_Array, ...]:
        of = sim.step(q, u)
        return of.q_next, of.force, of.torque, of.phi, of.status

    def backward(sim: Quasidynamic, q: _Array, u: _Array, bars: list[_Array]) -> Gradient:
        q_next, force, torque, phi = bars
        return sim.vjp(q, u, q_next_bar=q_next, force_bar=force, torque_bar=torque, phi_bar=phi)

    node = _Node(sim, "step", lambda _: shapes, made, backward, u_axes=1, forward=forward)

    def of(q: jax.typing.ArrayLike, u: jax.typing.ArrayLike, **params: jax.typing.ArrayLike) -> StepResult:
        return StepResult(*node(q, u, params))

    return of


def rollout(sim: Quasidynamic) -> Callable[..., RolloutResult]:
    """T steps as a function of q0 (B, nq), u (B, T, nu), and parameters by name, as `Quasidynamic` takes them, and as `step`; u for all
    worlds of q0 is (1, T, nu)."""
    _places.expect("sim", sim, Quasidynamic)
    model = sim.model

    def shapes(u: Any) -> list[tuple[int, ...]]:
        n = u.shape[0]
        return [(n + 1, model.nq), (n, model.nc, 3), (n,)]

    def made(sim: Quasidynamic, q0: _Array, u: _Array) -> tuple[_Array, ...]:
        of = sim.rollout(q0, u)
        return of.q, of.force, of.status

    def backward(sim: Quasidynamic, q0: _Array, u: _Array, bars: list[_Array]) -> Gradient:
        q, force = bars
        return sim.rollout_vjp(u, sim.rollout(q0, u), q_bar=q, force_bar=force)

    node = _Node(sim, "rollout", shapes, made, backward, u_axes=2)

    def of(q0: jax.typing.ArrayLike, u: jax.typing.ArrayLike, **params: jax.typing.ArrayLike) -> RolloutResult:
        return RolloutResult(*node(q0, u, params))

    return of


def body_poses(model: Model, names: Sequence[str] | None = None) -> Callable[[jax.typing.ArrayLike], tuple[jax.Array, jax.Array]]:
    """Positions (B, n, 3), m, and rotations (B, n, 3, 3) of bodies as a function of q (B, nq) or (nq,), as `Model.body_poses` gives them.
    A compiled program calls back into Python for them."""
    return _of_q(_places.body_poses(model, names))


def site_poses(model: Model, names: Sequence[str] | None = None) -> Callable[[jax.typing.ArrayLike], tuple[jax.Array, jax.Array]]:
    """Those of sites, as `Model.site_poses` gives them."""
    return _of_q(_places.site_poses(model, names))


def jacobian(model: Model, name: str, point: ArrayLike | None = None) -> Callable[[jax.typing.ArrayLike], jax.Array]:
    """The Jacobian (B, 6, nv) of a body's or a site's point as a function of q (B, nq) or (nq,), as `Model.jacobian` gives it."""
    places = _of_q(_places.jacobian(model, name, point))
    return lambda q: places(q)[0]


def _of_q(places: _places.Places) -> Callable[[jax.typing.ArrayLike], Any]:
    """A function of q alone."""

    def of_rows(work: Callable[..., Any], *inputs: Any) -> Any:
        """What `work` makes of inputs with one axis for worlds, with all leading axes of q."""
        q, *bars = map(np.asarray, inputs)
        lead = q.shape[:-1]
        made = work(_flat(q, lead), *(_flat(bar, lead) for bar in bars))
        return jax.tree.map(lambda x: x.reshape(lead + x.shape[1:]), made)

    def call(q: Any) -> Any:
        like = tuple(_like((*q.shape[:-1], *shape)) for shape in places.shapes)
        return jax.pure_callback(lambda q: of_rows(places.made, q), like, q, vmap_method="broadcast_all")

    def pull(q: Any, bars: Any) -> Any:
        work = lambda q, *bars: places.pulled(q, bars)
        return jax.pure_callback(lambda *all: of_rows(work, *all), _like(q.shape), q, *bars, vmap_method="broadcast_all")

    one, pulled = jax.custom_vjp(call), _once(pull)
    one.defvjp(lambda q: (one(q), q), lambda q, bars: (pulled(q, bars),))

    def of(q: jax.typing.ArrayLike) -> Any:
        _check_precision()
        given = jnp.asarray(q)
        if given.ndim not in (1, 2) or given.shape[-1] != places.nq or 0 in given.shape[:-1]:
            raise Error(f"q: expected shape (B, {places.nq}) with B ≥ 1, or ({places.nq},) for one world, got {given.shape}")
        kind = given.dtype if jnp.issubdtype(given.dtype, jnp.floating) else np.float64
        return tuple(x.astype(kind) for x in one(given.astype(np.float64)))

    return of


def _once(work: Callable[..., Any]) -> Callable[..., Any]:
    """A gradient, which cannot be differentiated again."""
    made = jax.custom_jvp(work)

    @made.defjvp
    def again(_primals: Any, _tangents: Any) -> Any:
        raise RuntimeError("fingertip: second derivatives are not available")

    return made


def _check_precision() -> None:
    if not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        raise Error(
            'fingertip.jax: expected JAX in double precision, got single; jax.config.update("jax_enable_x64", True) '
            "at the start of the program"
        )


class _Node:
    """A function of one world that JAX differentiates; worlds are its `vmap`."""

    def __init__(
        self,
        sim: Quasidynamic,
        kind: str,
        shapes: Callable[[Any], list[tuple[int, ...]]],
        made: Callable[[Quasidynamic, _Array, _Array], tuple[_Array, ...]],
        backward: Callable[[Quasidynamic, _Array, _Array, list[_Array]], Gradient],
        u_axes: int,
        forward: bool = False,
    ) -> None:
        # Parameters that differ between worlds become arguments.
        self.rows = {name: x for name, x in sim.params.items() if len(x) > 1}
        self.sim = sim.with_params(**{name: x[:1] for name, x in self.rows.items()}) if self.rows else sim
        self.widths = {name: x.shape[1] for name, x in self.sim.params.items()}
        self.nq, self.nu, self.u_axes = sim.model.nq, sim.model.nu, u_axes
        # What programs call, by its kind and the parameters that it is given.
        self.functions: dict[tuple[str, ...], int] = {}
        self.on_gpu: OnDevice | None = None

        def call(q: Any, u: Any, params: _Params) -> tuple[_Array, ...]:
            lead, sim, q, u, _ = self._worlds(q, u, params, None)
            return tuple(x.reshape(lead + x.shape[1:]) for x in made(sim, q, u))

        def pull(q: Any, u: Any, params: _Params, bars: tuple[Any, ...]) -> Any:
            lead, sim, q, u, flat = self._worlds(q, u, params, bars)
            gradient = backward(sim, q, u, flat)
            by = gradient.params if params else {}
            arrays = gradient.q, gradient.u, {name: by[name] for name in params}
            return jax.tree.map(lambda x: x.reshape(lead + x.shape[1:]), arrays)

        def work(q: Any, u: Any, params: _Params) -> Any:
            *floats, last = shapes(u)
            results = *(_like(x) for x in floats), _like(last, np.uint8)
            return self._call(kind, call, results, q, u, params)

        @_once
        def pulled(q: Any, u: Any, params: _Params, bars: Any) -> Any:
            like = jax.tree.map(lambda x: _like(x.shape), (q, u, params))
            return self._call(f"{kind}_vjp", pull, like, q, u, params, bars)

        def pushed(inputs: Any, tangents: Any) -> Any:
            *floats, status = results = one(*inputs)
            # Each number of the results by all inputs.
            n = sum(x.size for x in floats)
            rows = _parts(jnp.eye(n), [x.shape for x in floats])
            jacobians = jax.vmap(lambda bars: pulled(*inputs, bars))(rows)
            moved = jax.tree.map(lambda of, x: of.reshape(n, x.size) @ x.reshape(x.size), jacobians, tangents)
            by_number: Any = sum(jax.tree.leaves(moved))
            parts = _parts(by_number[None], [x.shape for x in floats])
            return results, (*(x[0] for x in parts), np.zeros(status.shape, jax.dtypes.float0))

        one: Any
        if forward:
            one = jax.custom_jvp(work)
            one.defjvp(pushed)
        else:
            one = jax.custom_vjp(work)
            one.defvjp(lambda *inputs: (one(*inputs), inputs), lambda inputs, bars: pulled(*inputs, bars[:-1]))

        def run(q: Any, u: Any, params: _Params) -> Any:
            kind = q.dtype if jnp.issubdtype(q.dtype, jnp.floating) else np.float64
            q, u, params = jax.tree.map(lambda x: x.astype(np.float64), (q, u, params))
            axes = 0, 0, {name: 0 if x.ndim == 2 else None for name, x in params.items()}
            *results, status = (jax.vmap(one, axes) if q.ndim == 2 else one)(q, u, params)
            return *(x.astype(kind) for x in results), status

        self.run = jax.jit(run)

    def __call__(self, q: jax.typing.ArrayLike, u: jax.typing.ArrayLike, params: Mapping[str, Any]) -> Any:
        """The results for q (B, nq) or (nq,), u with as many worlds, and parameters."""
        _check_precision()
        q, u = jnp.asarray(q), jnp.asarray(u)
        if q.ndim not in (1, 2) or q.shape[-1] != self.nq or 0 in q.shape[:-1]:
            name = "q0" if self.u_axes == 2 else "q"
            raise Error(f"{name}: expected shape (B, {self.nq}) with B ≥ 1, or ({self.nq},) for one world, got {q.shape}")
        worlds, own = q.shape[:-1], u.shape[: -self.u_axes]
        worlds = _beside(worlds, own)
        steps = u.shape[-2:-1] if self.u_axes == 2 else ()
        is_told = self.u_axes == 1 or q.ndim == 1 or u.ndim > 2
        if u.shape != (*own, *steps, self.nu) or own not in ((), (1,), worlds) or not is_told or 0 in steps:
            expected = ", ".join(map(str, [*worlds, *"T"[: self.u_axes - 1], self.nu]))
            raise Error(f"u: expected shape ({expected}) with as many worlds as q, got {u.shape}")
        unknown = set(params) - set(self.widths)
        if unknown:
            self.sim.with_params(**dict.fromkeys(unknown, 0.0))  # raises
        params = {**{name: x for name, x in self.rows.items() if name not in params}, **params}
        for shape in map(jnp.shape, params.values()):
            # One row is for all worlds.
            worlds = _beside(worlds, shape[:-1] if shape[:1] != (1,) else ())
        q, u = jnp.broadcast_to(q, (*worlds, self.nq)), jnp.broadcast_to(u, (*worlds, *steps, self.nu))
        return self.run(q, u, {name: self._parameter(name, x, worlds) for name, x in params.items()})

    def _call(self, kind: str, work: Callable[..., Any], like: Any, q: Any, u: Any, params: _Params, *bars: Any) -> Any:
        """The library's function of this kind in JAX's program; where it is for neither the CPU nor our GPU, `work` in Python."""
        on_gpu = _CUDA and jax.default_backend() in ("gpu", "cuda")
        if on_gpu:
            self.on_gpu = self.on_gpu or self.sim.on("cuda:0")
        elif jax.default_backend() != "cpu":
            return jax.pure_callback(work, like, q, u, params, *bars, vmap_method="expand_dims")
        names = tuple(sorted(params))
        key = (kind, *names)
        if key not in self.functions:
            self.functions[key] = _xla_function(self.sim, kind, list(names), self.on_gpu)
        results, tree = jax.tree.flatten(like)
        call = jax.ffi.ffi_call(TARGET, results, vmap_method="expand_dims")
        made = call(*jax.tree.leaves((q, u, params, *bars)), function=np.int64(self.functions[key]))
        return jax.tree.unflatten(tree, made)

    def _parameter(self, name: str, x: Any, worlds: tuple[int, ...]) -> Any:
        """A parameter for all worlds (n,), or of each (B, n)."""
        x, n = jnp.asarray(x), self.widths[name]
        if x.ndim == 0:
            return jnp.broadcast_to(x, (n,))
        if x.shape in [(n,), (1, n)]:
            return x.reshape(n)
        if x.shape != (*worlds, n):
            expected = ", ".join(map(str, [*worlds, n]))
            raise Error(f"{name}: expected a number or shape ({n},), (1, {n}) or ({expected}), got {x.shape}")
        return x

    def _worlds(self, q: Any, u: Any, params: _Params, bars: tuple[Any, ...] | None) -> Any:
        """What a callback is given, as worlds: the leading axes that `vmap` made, the step, q, u and `bars`. With `bars` each
        world has its own parameters, so that gradients by them are each world's, too."""
        q, u, params, bars = jax.tree.map(np.asarray, (q, u, params, bars))
        axes = q.ndim - 1
        lead = np.broadcast_shapes(*(x.shape[:axes] for x in [q, u, *params.values(), *(bars or ())]))
        sim = self.sim
        if params:
            is_shared = {name: bars is None and math.prod(x.shape[:-1]) == 1 for name, x in params.items()}
            rows = {name: _flat(x, (1,) * axes if is_shared[name] else lead) for name, x in params.items()}
            sim = sim.with_params(**rows)
        return lead, sim, _flat(q, lead), _flat(u, lead), [_flat(bar, lead) for bar in bars or ()]


def _beside(worlds: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """The worlds of two arrays beside each other, where one world stands for all."""
    return other if worlds in ((), (1,)) and len(other) == 1 else worlds


def _like(shape: tuple[int, ...], kind: Any = np.float64) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, kind)  # type: ignore[no-untyped-call]


def _parts(rows: Any, shapes: Sequence[tuple[int, ...]]) -> tuple[Any, ...]:
    """Rows (n, m) as arrays (n, …) of these shapes beside each other."""
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    return tuple(part.reshape(len(rows), *shape) for part, shape in zip(jnp.split(rows, ends[:-1], axis=1), shapes, strict=True))


def _flat(x: _Array, lead: tuple[int, ...]) -> _Array:
    """An array with one axis in place of the leading ones, repeated along them where it has 1."""
    own = x.shape[len(lead) :]
    return np.broadcast_to(x, lead + own).reshape((math.prod(lead), *own))
