"""Differentiable contact simulation for robot hands.

A `Model` is a scene, of a file or of a `Scene` written in Python. `Quasidynamic` and `Dynamic` step it: numpy arrays in, numpy arrays
out, many worlds at a time, with exact gradients. B is the number of worlds. Units are SI, and forces are newtons, not impulses.

`fit` finds parameters from logs, `Smoother` poses by touch, and `follow` lets a hand follow keypoints.

A `Task` says what to do in a scene, a `Controller` does it by model-predictive control, and `fingertip.mpc.run` is a loop of the
two with any plant.

`fingertip.torch` and `fingertip.jax` have the steps as functions that torch and JAX differentiate, `fingertip.gym`
environments for gymnasium's trainers, `fingertip.mujoco` MuJoCo's models as scenes and as plants, `fingertip.cluster` many worlds on
many processes or machines, `fingertip.export` recordings as data sets, `fingertip.dynamics` mass matrices and inverse dynamics,
`fingertip.grasp` closed hands and least efforts, `fingertip.collision` the distances of two shapes.
"""

import enum
import importlib
import types
from typing import TYPE_CHECKING

from . import collision, dynamics, grasp, mpc
from ._fingertip import (
    PARAMETERS,
    STATUSES,
    Controller,
    Coordinate,
    DeviceArray,
    DeviceGradient,
    DeviceLinearization,
    DeviceRollout,
    DeviceStep,
    Dynamic,
    DynamicGradient,
    DynamicLinearization,
    DynamicRollout,
    DynamicStep,
    Error,
    Fit,
    Followed,
    Follower,
    Gradient,
    Hold,
    Linearization,
    Live,
    Model,
    OnDevice,
    Quasidynamic,
    Reached,
    Replay,
    Rollout,
    Smoother,
    Solves,
    Step,
    Task,
    Taxels,
    Unsolved,
    Wrenches,
    __version__,
    follow,
    inverse_kinematics,
)

from ._contact import Contact
from ._fit import fit
from ._scene import Scene
from ._show import live, show

__all__ = [
    "PARAMETERS",
    "STATUSES",
    "Contact",
    "Controller",
    "Coordinate",
    "DeviceArray",
    "DeviceGradient",
    "DeviceLinearization",
    "DeviceRollout",
    "DeviceStep",
    "Dynamic",
    "DynamicGradient",
    "DynamicLinearization",
    "DynamicRollout",
    "DynamicStep",
    "Error",
    "Fit",
    "Followed",
    "Follower",
    "Gradient",
    "Hold",
    "Linearization",
    "Live",
    "Model",
    "OnDevice",
    "Quasidynamic",
    "Reached",
    "Replay",
    "Rollout",
    "Scene",
    "Smoother",
    "Solves",
    "Status",
    "Step",
    "Task",
    "Taxels",
    "Unsolved",
    "Wrenches",
    "__version__",
    "collision",
    "dynamics",
    "fit",
    "follow",
    "grasp",
    "inverse_kinematics",
    "live",
    "mpc",
    "show",
]


class Status(enum.IntEnum):
    """How a world's solve ended."""

    SOLVED = 0
    """The minimiser was found."""
    ITERATION_LIMIT = 1
    """The last iterate; the residual says how far it is from the minimiser."""
    UNSETTLED = 2
    """No answer by Coulomb's law was found; this is the relaxed law's."""
    FRICTIONLESS = 3
    """Nothing satisfies the contacts with friction; this is the relaxed law's answer without."""
    INFEASIBLE = 4
    """Nothing satisfies the contacts and limits; the world did not move."""
    BAD_INPUT = 5
    """A number is NaN or out of its range; the world did not move."""


# They need what not everyone has, and take seconds to import: only for those who ask. Editors know them.
if TYPE_CHECKING:
    from . import cluster, export, gym, jax, mujoco, torch

_ON_DEMAND = ("cluster", "export", "gym", "jax", "mujoco", "torch")


def __getattr__(name: str) -> types.ModuleType:
    if name in _ON_DEMAND:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ON_DEMAND})
