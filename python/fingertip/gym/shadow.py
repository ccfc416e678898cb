"""A block in a Shadow hand, by the conventions of Gymnasium-Robotics: what is seen, done and rated is that of `HandManipulateBlock` in
gymnasium_robotics/envs/shadow_dexterous_hand of 1.4.2 (MIT). The hand is in that package (Apache-2.0), not in this one."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree import ElementTree

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import ArrayLike, NDArray

from .._fingertip import Error, Model
from .rotations import matrix, product
from .worlds import Worlds

_Floats: TypeAlias = NDArray[np.float64]
_Bools: TypeAlias = NDArray[np.bool_]

_FINGERS = ["FF", "MF", "RF", "LF"]


@dataclasses.dataclass(frozen=True)
class ShadowSettings:
    """Numbers of the task: Gymnasium-Robotics' `HandManipulateBlock-v1`, but for the length of simulation steps."""

    period: float = 0.04
    """Time from action to action, s."""
    substeps: int = 4
    """Simulation steps in a period. Theirs has 20."""
    periods: int = 50
    """Length of an episode, in periods; then it is truncated."""
    reward: str = "sparse"
    """`"sparse"`, 0 at the goal and −1 elsewhere, or `"dense"`, −(10 distance + angle)."""
    is_placed: bool = True
    """Has the goal a place? Without one (`target_position="ignore"`) only the rotation counts."""
    about_z: bool = False
    """Are goals and starts turned about z alone (`target_rotation="z"`), not about any axis (`"xyz"`)?"""
    place: tuple[tuple[float, float], ...] = ((-0.04, 0.04), (-0.06, 0.02), (0.0, 0.06))
    """The range of the goal's place from where the block starts, m."""
    distance: float = 0.01
    """The goal is reached within this distance, m,"""
    angle: float = 0.1
    """and within this angle, rad."""
    position_noise: float = 0.005
    """Standard deviation of the block's starting coordinates, m."""
    settling: int = 10
    """Periods in which the hand goes to the middle of its commands and the block comes to rest before an episode."""
    palm_height: float = 0.04
    """A block that is below this then, m, is dropped again."""
    drops: int = 5
    """How often at most."""


def goal_distance(achieved: _Floats, goal: _Floats, settings: ShadowSettings = ShadowSettings()) -> tuple[_Floats, _Floats]:
    """Distances (…,), m, and angles (…,) from 0 to 2 π, rad, of poses (…, 7) from goals (…, 7): positions and quaternions, w first. Angles
    of more than π are those of quaternions with the other sign, as there."""
    away = np.sqrt(((achieved - goal)[..., :3] ** 2).sum(-1)) * settings.is_placed
    turn = product(achieved[..., 3:], goal[..., 3:] * [1, -1, -1, -1])[..., 0]
    return away, 2 * np.arccos(np.clip(turn, -1.0, 1.0))


def _own_scene() -> Path:
    """The path of the file in Gymnasium-Robotics."""
    package = importlib.util.find_spec("gymnasium_robotics")
    if package is None or package.origin is None:
        raise Error(
            "scene: expected the path of Gymnasium-Robotics' manipulate_block.xml, got none, and that package is not installed; "
            "pip install gymnasium-robotics"
        )
    return Path(package.origin).parent / "envs" / "assets" / "hand" / "manipulate_block.xml"


def shadow_model(path: str | os.PathLike[str]) -> Model:
    """The scene of `manipulate_block.xml`, in gymnasium_robotics/envs/assets/hand of that package, without the block that shows the goal:
    with the joints' damping and largest efforts, and contacts of pairs within 5 mm."""
    path = Path(path)
    tree = ElementTree.parse(path)
    for world in tree.iter("worldbody"):
        for body in [body for body in world.iterfind("body") if body.get("name") == "target"]:
            world.remove(body)
    overrides: dict[str, Mapping[str, Any]] = {"params": {"joint_damping": True, "effort_limits": True, "contact_distance": 0.005}}
    return Model.from_mjcf(ElementTree.tostring(tree.getroot(), "unicode"), path.parent, overrides)


class ShadowBlock(Worlds):
    """A Shadow hand turns and moves a block to a goal, as in Gymnasium-Robotics' `HandManipulateBlock-v1` and its variants.

    `scene` is the path of that package's `manipulate_block.xml`, which this package does not have, or a model of it (`shadow_model`); of the
    package itself, where it is installed, if it is left out.
    `params` are the step's but for h, as `Quasidynamic` takes them.

    Actions (B, 20) from −1 to 1 are commands between the joints' limits. An observation is a dictionary in single precision, as that of a
    `GoalEnv`: `observation` (B, 61), the hand's 24 joint positions and velocities, the block's velocity and angular velocity in its own
    axes, and its pose; `achieved_goal` (B, 7), its pose; `desired_goal` (B, 7). `compute_reward(achieved, desired, info)` takes any of
    these, for goals in hindsight. An episode is truncated after 50 periods and does not terminate.

    What differs is the step, not the task: it has no inertia but the commands' lag, by the joints' damping over their stiffness; velocities are (q₊ − q)/h of the last simulation step; the last joints of the
    four fingers, which tendons couple to those before, have their commands here; and h is 10 ms, not 2.

    Infos `success`, `successes`, `is_success` and `status`, autoreset modes, `first_world`, `render_mode` and `touch` are as in `CubeReorient`.
    """

    def __init__(
        self,
        scene: Model | str | os.PathLike[str] | None = None,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        settings: ShadowSettings = ShadowSettings(),
        threads: int | None = None,
        first_world: int = 0,
        render_mode: str | None = None,
        touch: bool | Sequence[str] = False,
        **params: ArrayLike,
    ) -> None:
        if settings.reward not in ("sparse", "dense"):
            raise Error(f'reward: expected "sparse" or "dense", got {settings.reward!r}')
        super().__init__(
            scene if isinstance(scene, Model) else shadow_model(_own_scene() if scene is None else scene),
            num_envs,
            autoreset_mode=autoreset_mode,
            cube="object",
            period=settings.period,
            substeps=settings.substeps,
            periods=settings.periods,
            threads=threads,
            first_world=first_world,
            render_mode=render_mode,
            touch=touch,
            params=params,
        )
        names = [name.rsplit(":")[-1] for name in self.sim.model.u_names]
        coupled = [f"{finger}J0" for finger in _FINGERS]
        if len(names) != 24 or not set(coupled) <= set(names):
            raise Error(f"scene: expected the 24 joints of a Shadow hand, got {', '.join(names)}")
        self.settings = settings
        # Each command's action: that of the joint before for those that tendons couple.
        acted = [name for name in names if name not in coupled]
        self._acts = np.array([acted.index(name.replace("J0", "J1") if name in coupled else name) for name in names])
        self.goal = np.zeros((num_envs, 7))
        """The goals' poses (B, 7), m, and w first."""
        self._action = np.zeros((num_envs, len(acted)))
        self._info["is_success"] = np.zeros(num_envs, np.float32)
        self._spaces({"observation": 61, "achieved_goal": 7, "desired_goal": 7}, len(acted))

    def compute_reward(self, achieved: ArrayLike, desired: ArrayLike, info: Any = None) -> _Floats:
        """Rewards (…,) of achieved poses (…, 7) for desired ones (…, 7)."""
        away, turn = goal_distance(np.asarray(achieved, np.float64), np.asarray(desired, np.float64), self.settings)
        is_dense = self.settings.reward == "dense"
        made: _Floats = -(10.0 * away + turn) if is_dense else self._is_reached(away, turn) - np.float64(1.0)
        return made

    def _is_reached(self, away: _Floats, turn: _Floats) -> _Bools:
        return (away < self.settings.distance) & (turn < self.settings.angle)

    def _begin(self, worlds: _Bools) -> None:
        left = worlds.copy()
        for _ in range(self.settings.drops):
            super()._begin(left)
            middle = np.repeat(self._commands(np.zeros_like(self._action)), self.settings.settling, axis=1)
            rest = self.sim.rollout(self.q, middle).q[:, -1]
            self.q[left], self.u[left] = rest[left], middle[left, -1]
            left &= self.q[:, self._cube][:, 2] <= self.settings.palm_height
            if not left.any():
                break
        for world in np.flatnonzero(worlds).tolist():
            self._aim(world)
        self._observe(worlds)

    def _start(self, world: int) -> None:
        random, cube = self._streams[world], self.q[world][self._cube]
        turned = product(cube[3:], self._rotation(random))
        place = cube[:3] + self.settings.position_noise * random.standard_normal(3)
        self.q[world][self._cube] = [*place, *(turned / np.sqrt((turned**2).sum()))]

    def _aim(self, world: int) -> None:
        """A goal for a world whose block is at rest."""
        random = self._streams[world]
        place = self.q[world][self._cube][:3]
        if self.settings.is_placed:
            place = place + random.uniform(*np.transpose(self.settings.place))
        self.goal[world] = [*place, *self._rotation(random)]

    def _rotation(self, random: np.random.Generator) -> _Floats:
        """A rotation by any angle about any axis, or about z."""
        half = 0.5 * random.uniform(-np.pi, np.pi)
        axis = np.array([0.0, 0.0, 1.0]) if self.settings.about_z else random.uniform(-1.0, 1.0, 3)
        made: _Floats = np.concatenate([[np.cos(half)], np.sin(half) * axis / np.sqrt((axis**2).sum())])
        return made

    def _commands(self, action: _Floats) -> _Floats:
        commands = 0.5 * (self.upper + self.lower) + 0.5 * (self.upper - self.lower) * action[:, self._acts]
        return np.repeat(np.clip(commands, self.lower, self.upper)[:, None], self._substeps, axis=1)

    def _rate(self, moved: _Bools, action: _Floats) -> tuple[_Floats, _Bools, _Bools]:
        pose = self.q[:, self._cube]
        success = self._is_reached(*goal_distance(pose, self.goal, self.settings))
        self._info["is_success"] = (moved & success).astype(np.float32)
        self._observe(moved)
        return self.compute_reward(pose, self.goal), np.zeros(self.num_envs, np.bool_), success

    def _observe(self, worlds: _Bools) -> None:
        pose, v = self.q[:, self._cube], self.v[:, self._cube_v]
        own = (v[:, None, 3:] @ matrix(pose[:, 3:]))[:, 0]
        parts = [self.q[:, self._joints], self.v[:, self._joints_v], v[:, :3], own, pose, pose, self.goal]
        self._seen[worlds] = np.concatenate(parts, axis=1)[worlds]
