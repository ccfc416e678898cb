"""A cube in an Allegro hand, by the conventions of Isaac Lab."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import ArrayLike, NDArray

from .._fingertip import Model
from .rotations import angle, product, rotation_error
from .worlds import Worlds

_Floats: TypeAlias = NDArray[np.float64]
_Bools: TypeAlias = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class Settings:
    """Numbers of the task. Those of the reward, the times and the fall are Isaac Lab's."""

    period: float = 1 / 30
    """Time from action to action, s."""
    substeps: int = 4
    """Simulation steps in a period."""
    seconds: float = 10.0
    """Length of an episode, s; then it is truncated."""
    speed: float = 7.0
    """Commands move to their targets no faster than this, rad/s. Without it, a hand without inertia would be there at once."""
    distance_weight: float = -10.0
    """Reward for each metre from the cube's place."""
    rotation_weight: float = 1.0
    """Reward for 1/(angle + `rotation_epsilon`)."""
    rotation_epsilon: float = 0.1
    """The angle that this reward is softened by, rad."""
    action_weight: float = -2e-4
    """Reward for the sum of squared actions."""
    bonus: float = 250.0
    """Reward for a goal that is reached; the next goal follows."""
    tolerance: float = 0.2
    """The goal is reached within this angle, rad."""
    fall_distance: float = 0.24
    """The episode ends when the cube is this far from its place, m."""
    velocity_scale: float = 0.2
    """Scale of joint and angular velocities in observations, s/rad."""
    position_noise: float = 0.005
    """Half range of the cube's starting place in the palm's plane, m."""
    joint_noise: float = 0.03
    """Half range of the joints' starting positions, in half ranges of the joints."""


def scaled(action: _Floats, lower: _Floats, upper: _Floats) -> _Floats:
    """Joint positions (…, n) of actions from −1, at `lower`, to 1, at `upper`."""
    return lower + 0.5 * (action + 1) * (upper - lower)


def unscaled(position: _Floats, lower: _Floats, upper: _Floats) -> _Floats:
    """Actions of joint positions: the inverse of `scaled`."""
    return (2 * position - upper - lower) / (upper - lower)


def goal_rotation(numbers: _Floats) -> _Floats:
    """Goals (…, 4), w first, of two numbers (…, 2) from −1 to 1: the second's part of a half turn about y, then the first's
    about x."""
    x, y = 0.5 * np.pi * numbers[..., 0], 0.5 * np.pi * numbers[..., 1]
    zero = np.zeros_like(x)
    about_x = np.stack([np.cos(x), np.sin(x), zero, zero], -1)
    about_y = np.stack([np.cos(y), zero, np.sin(y), zero], -1)
    return product(about_x, about_y)


def reward(distance: _Floats, angle: _Floats, action: _Floats, settings: Settings = Settings()) -> _Floats:
    """The reward (B,) of cubes `distance` (B,) m from their place and `angle` (B,) rad from their goals after actions (B, n):
    −10 distance + 1/(angle + 0.1) − 2e-4 Σ action², and 250 where the goal is reached."""
    s = settings
    of_rotation = s.rotation_weight / (np.abs(angle) + s.rotation_epsilon)
    of_action = s.action_weight * (action**2).sum(-1)
    made: _Floats = s.distance_weight * distance + of_rotation + of_action + s.bonus * (np.abs(angle) <= s.tolerance)
    return made


class CubeReorient(Worlds):
    """A hand turns a cube on its palm to goals, one after another.

    `scene` is a scene's path, its name if it ships (`"allegro_cube"`), or a model; what it commands is the hand, and `cube` names a
    free object. `params` are the step's but for h, as `Quasidynamic` takes them: with a row for each world, worlds differ.

    Actions (B, n) from −1 to 1 are targets of the n commanded joints, scaled to their limits; what is outside is cut. An
    observation has Isaac Lab's "full" order without the fingertips, 3n + 24 numbers in single precision: joint positions scaled to
    −1…1, joint velocities, the cube's position, rotation, velocity and angular velocity, its place, the goal's rotation, the
    rotation from the goal, the last action. Quaternions have w first, and lengths are in m. Rewards are `reward`'s. An episode
    terminates when the cube is too far from its place, its home, and is truncated at its time. The cube starts flat on the palm, not
    at a random rotation as Isaac Lab's, which falls from above.

    Infos are arrays (B,): `success`, is a goal reached now; `successes` in this episode; `status`, the largest
    `fingertip.Status` of the simulation steps.

    All three of gymnasium's autoreset modes are there, `AutoresetMode.NEXT_STEP` if none is given. In `DISABLED`, worlds that have
    ended must be reset by `reset(options={"reset_mask": ended})` before the next step. World i of this environment is world
    `first_world` + i of the seed: parts of a large batch may be computed apart, with the same bits.

    With `touch`, observations have what the hand feels besides, as `Worlds` says: net contact forces, and taxels where the scene has them.

    With `render_mode="replay"`, `render` gives the first world's episode so far as `fingertip.show` does: a notebook's cell plays
    it, and `.save` writes it.
    """

    def __init__(
        self,
        scene: Model | str | os.PathLike[str] = "allegro_cube",
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        settings: Settings = Settings(),
        cube: str = "cube",
        threads: int | None = None,
        first_world: int = 0,
        render_mode: str | None = None,
        touch: bool | Sequence[str] = False,
        **params: ArrayLike,
    ) -> None:
        super().__init__(
            scene,
            num_envs,
            autoreset_mode=autoreset_mode,
            cube=cube,
            period=settings.period,
            substeps=settings.substeps,
            periods=round(settings.seconds / settings.period),
            threads=threads,
            first_world=first_world,
            render_mode=render_mode,
            touch=touch,
            params=params,
        )
        self.settings = settings
        self.place = self._home[self._cube][:3]
        """Where the cube is wanted (3,), m."""
        self._spaces(3 * len(self._joints) + 24)

    def _start(self, world: int) -> None:
        s, n = self.settings, len(self._joints)
        half = 0.5 * (self.upper - self.lower)
        numbers = self._streams[world].uniform(-1.0, 1.0, 2 + n)
        q = self.q[world]
        q[self._cube][:2] += s.position_noise * numbers[:2]
        joints = np.clip(q[self._joints] + s.joint_noise * half * numbers[2:], self.lower, self.upper)
        q[self._joints] = joints
        self._action[world] = unscaled(joints, self.lower, self.upper)
        self._aim(world)

    def _commands(self, action: _Floats) -> _Floats:
        reach = self.settings.speed * self.h * (1 + np.arange(self._substeps))[:, None]
        change = scaled(action, self.lower, self.upper) - self.u
        commands: _Floats = self.u[:, None] + np.clip(change[:, None], -reach, reach)
        return commands

    def _rate(self, moved: _Bools, action: _Floats) -> tuple[_Floats, _Bools, _Bools]:
        self._action[moved] = action[moved]
        away = self.q[:, self._cube][:, :3] - self.place
        distance = np.sqrt((away**2).sum(-1))
        turn = angle(rotation_error(self.q[:, self._cube][:, 3:], self.goal))
        success = turn <= self.settings.tolerance
        for world in np.flatnonzero(moved & success).tolist():
            self._aim(world)
        self._observe(moved)
        return reward(distance, turn, action, self.settings), distance >= self.settings.fall_distance, success

    def _aim(self, world: int) -> None:
        """A new goal for a world."""
        self.goal[world] = goal_rotation(self._streams[world].uniform(-1.0, 1.0, 2))

    def _observe(self, worlds: _Bools) -> None:
        scale = self.settings.velocity_scale
        cube, v = self.q[:, self._cube], self.v[:, self._cube_v]
        parts = [
            unscaled(self.q[:, self._joints], self.lower, self.upper),
            scale * self.v[:, self._joints_v],
            cube,
            v[:, :3],
            scale * v[:, 3:],
            np.tile(self.place, (self.num_envs, 1)),
            self.goal,
            rotation_error(cube[:, 3:], self.goal),
            self._action,
        ]
        self._seen[worlds] = np.concatenate(parts, axis=1)[worlds]
