"""Where bodies and sites are, and how they move, as functions of q alone that torch and JAX differentiate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._fingertip import Error, Model

_Array: TypeAlias = NDArray[np.float64]


class Places(NamedTuple):
    """A function of q (B, nq)."""

    nq: int
    shapes: list[tuple[int, ...]]
    """The shapes of its results of one world."""
    made: Callable[[_Array], tuple[_Array, ...]]
    """Its results at q."""
    pulled: Callable[[_Array, Sequence[Any]], _Array]
    """The gradient by q of a cost whose gradients by the results are given; None is 0."""


def expect(name: str, given: Any, kind: type) -> None:
    """Raises the error of an argument that is of another kind."""
    if not isinstance(given, kind):
        raise Error(f"{name}: expected a {kind.__name__}, got {type(given).__name__}")


def body_poses(model: Model, names: Sequence[str] | None) -> Places:
    expect("model", model, Model)
    own = model.body_names if names is None else list(names)
    return _poses(model, own, model.body_poses, model.body_poses_vjp)


def site_poses(model: Model, names: Sequence[str] | None) -> Places:
    expect("model", model, Model)
    own = model.sites if names is None else list(names)
    return _poses(model, own, model.site_poses, model.site_poses_vjp)


def jacobian(model: Model, name: str, point: ArrayLike | None) -> Places:
    expect("model", model, Model)
    # What is wrong with a name or the point is said here, and not where a compiled program calls back.
    model.jacobian(model.home(), name, point)
    return Places(
        model.nq,
        [(6, model.nv)],
        lambda q: (model.jacobian(q, name, point),),
        lambda q, bars: np.zeros_like(q) if bars[0] is None else model.jacobian_vjp(q, name, bars[0], point),
    )


def _poses(model: Model, names: list[str], made: Callable[..., Any], pulled: Callable[..., _Array]) -> Places:
    made(model.home(), names)
    return Places(
        model.nq,
        [(len(names), 3), (len(names), 3, 3)],
        lambda q: made(q, names),
        lambda q, bars: pulled(q, names, position_bar=bars[0], rotation_bar=bars[1]),
    )
