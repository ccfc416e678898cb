"""Environments for gymnasium's trainers: many worlds in one process, stepped as a batch.

`CubeReorient` turns a cube in a hand, by the conventions of Isaac Lab's Allegro cube where they apply. The step has no
velocities: those in observations are (q₊ − q)/h, of the last simulation step. World i draws from a stream of its own, given by
the seed and i: what it does depends neither on the number of worlds nor on threads.

```python
env = gymnasium.make_vec("fingertip.gym:FingertipAllegroCube-v0", num_envs=64, scene="allegro_cube")
```
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from ._fingertip import Error, Model, Quasidynamic
from ._show import show

__all__ = [
    "CubeReorient",
    "Settings",
    "angle",
    "angular_velocity",
    "goal_rotation",
    "reward",
    "rotation_error",
    "scaled",
    "unscaled",
]

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


def rotation_error(rotation: _Floats, goal: _Floats) -> _Floats:
    """rotation · goal⁻¹ of unit quaternions (…, 4), w first: the rotation from the goal, in world axes."""
    return _product(rotation, goal * [1, -1, -1, -1])


def angle(error: _Floats) -> _Floats:
    """Angles of unit quaternions (…, 4), w first: from 0 to π, rad."""
    length = np.sqrt((error[..., 1:] ** 2).sum(-1))
    made: _Floats = 2 * np.arctan2(length, np.abs(error[..., 0]))
    return made


def angular_velocity(before: _Floats, after: _Floats, h: float) -> _Floats:
    """The steady angular velocity (…, 3) along world axes that turns `before` into `after`, unit quaternions (…, 4), in h s;
    rad/s."""
    error = rotation_error(after, before)
    error = np.where(error[..., :1] < 0, -error, error)
    length = np.sqrt((error[..., 1:] ** 2).sum(-1, keepdims=True))
    # The angle over its sine goes to 2.
    factor = np.where(length > 1e-9, 2 * np.arctan2(length, error[..., :1]) / np.maximum(length, 1e-9), 2.0)
    return factor * error[..., 1:] / h


def goal_rotation(numbers: _Floats) -> _Floats:
    """Goals (…, 4), w first, of two numbers (…, 2) from −1 to 1: the second's part of a half turn about y, then the first's
    about x."""
    x, y = 0.5 * np.pi * numbers[..., 0], 0.5 * np.pi * numbers[..., 1]
    zero = np.zeros_like(x)
    about_x = np.stack([np.cos(x), np.sin(x), zero, zero], -1)
    about_y = np.stack([np.cos(y), zero, np.sin(y), zero], -1)
    return _product(about_x, about_y)


def reward(distance: _Floats, angle: _Floats, action: _Floats, settings: Settings = Settings()) -> _Floats:
    """The reward (B,) of cubes `distance` (B,) m from their place and `angle` (B,) rad from their goals after actions (B, n):
    −10 distance + 1/(angle + 0.1) − 2e-4 Σ action², and 250 where the goal is reached."""
    s = settings
    of_rotation = s.rotation_weight / (np.abs(angle) + s.rotation_epsilon)
    of_action = s.action_weight * (action**2).sum(-1)
    made: _Floats = s.distance_weight * distance + of_rotation + of_action + s.bonus * (np.abs(angle) <= s.tolerance)
    return made


def _product(a: _Floats, b: _Floats) -> _Floats:
    """Products of quaternions (…, 4), w first."""
    (w, x, y, z), (i, j, k, m) = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
    return np.stack(
        [
            w * i - x * j - y * k - z * m,
            w * j + x * i + y * m - z * k,
            w * k - x * m + y * i + z * j,
            w * m + x * k - y * j + z * i,
        ],
        -1,
    )


class CubeReorient(VectorEnv[NDArray[np.float32], NDArray[np.float32], NDArray[Any]]):
    """A hand turns a cube on its palm to goals, one after another.

    `scene` is a scene's path, its name if it ships (`"allegro_cube"`), or a model; what it commands is the hand, and `cube` names a
    free object. `params` are the step's but for h, as `Quasidynamic` takes them: with a row for
    each world, worlds differ.

    Actions (B, n) from −1 to 1 are targets of the n commanded joints, scaled to their limits; what is outside is cut. An
    observation has Isaac Lab's "full" order without the fingertips, 3n + 24 numbers in single precision: joint positions scaled to
    −1…1, joint velocities, the cube's position, rotation, velocity and angular velocity, its place, the goal's rotation, the
    rotation from the goal, the last action. Quaternions have w first, and lengths are in m. Rewards are `reward`'s. An episode terminates when the cube is too far from its place, its home, and is truncated at its time. The
    cube starts flat on the palm, not at a random rotation as Isaac Lab's, which falls from above.

    Infos are arrays (B,): `success`, is a goal reached now; `successes` in this episode; `status`, the largest
    `fingertip.Status` of the simulation steps.

    All three of gymnasium's autoreset modes are there, `AutoresetMode.NEXT_STEP` if none is given. In `DISABLED`, worlds that have
    ended must be reset by `reset(options={"reset_mask": ended})` before the next step. World i of this environment is world
    `first_world` + i of the seed: parts of a large batch may be computed apart, with the same bits.

    With `render_mode="replay"`, `render` gives the first world's episode so far as `fingertip.show` does: a notebook's cell plays
    it, and `.save` writes it.
    """

    def __init__(
        self,
        scene: Model | str | os.PathLike[str],
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        settings: Settings = Settings(),
        cube: str = "cube",
        threads: int | None = None,
        first_world: int = 0,
        render_mode: str | None = None,
        **params: ArrayLike,
    ) -> None:
        if num_envs < 1:
            raise Error(f"num_envs: expected at least 1, got {num_envs}")
        if settings.substeps < 1:
            raise Error(f"substeps: expected at least 1, got {settings.substeps}")
        if "h" in params:
            raise Error("h: expected `period` and `substeps` of the settings instead, which give the step's length")
        model = scene if isinstance(scene, Model) else Model.load(scene)
        self.num_envs, self.settings, self.first_world = num_envs, settings, first_world
        self.h = settings.period / settings.substeps
        self.sim = Quasidynamic(model, threads, h=self.h, **params)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": ["replay"], "autoreset_mode": self.autoreset_mode}
        if render_mode not in (None, "replay"):
            raise Error(f'render_mode: expected None or "replay", got {render_mode!r}')
        self.render_mode = render_mode

        joints = [model.joint(name) for name in model.u_names]
        limits = [joint.limits for joint in joints]
        if not joints or None in limits:
            raise Error("scene: expected commanded joints with limits")
        self.lower, self.upper = np.array(limits, np.float64).T
        self._joints = np.array([joint.q.start for joint in joints])
        self._joints_v = np.array([joint.v.start for joint in joints])
        place = model.object(cube)
        if place.q.stop - place.q.start != 7:
            raise Error(f"cube: expected a free object, got {cube!r}, which has {place.q.stop - place.q.start} coordinates")
        self._cube, self._cube_v = place.q, place.v
        self._home = model.home()
        self.place = self._home[place.q][:3]
        """Where the cube is wanted (3,), m."""

        n = len(joints)
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (n,), np.float32)
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3 * n + 24,), np.float32)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)

        self.q = np.tile(self._home, (num_envs, 1))
        """Configurations (B, nq), m and rad."""
        self.v = np.zeros((num_envs, model.nv))
        """Velocities (B, nv), the last simulation step over h; m/s and rad/s."""
        self.u = np.tile(self._home[self._joints], (num_envs, 1))
        """Commands (B, nu), rad."""
        self.goal = np.tile(goal_rotation(np.zeros(2)), (num_envs, 1))
        """The goals' rotations (B, 4), w first."""
        self._action = np.zeros((num_envs, n))
        self._steps = np.zeros(num_envs, np.int64)
        self._ended = np.zeros(num_envs, np.bool_)
        self._info: dict[str, NDArray[Any]] = {
            "success": np.zeros(num_envs, np.bool_),
            "successes": np.zeros(num_envs, np.int64),
            "status": np.zeros(num_envs, np.uint8),
        }
        self._streams: list[np.random.Generator] = []
        # The first world's states, commands and forces in its episode, and in the one before.
        self._path: list[tuple[_Floats, _Floats, _Floats]] = []
        self._path_before: list[tuple[_Floats, _Floats, _Floats]] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins episodes: of all worlds, or of those where `options["reset_mask"]` (B,), bool, is true. With a seed their streams
        begin anew; without one they go on."""
        mask = self._mask((options or {}).get("reset_mask"))
        super().reset(seed=seed)
        if seed is not None or not self._streams:
            fresh = [self._stream(world) for world in range(self.num_envs)]
            kept = self._streams or fresh
            self._streams = [new if again else old for new, old, again in zip(fresh, kept, mask, strict=True)]
        self._begin(mask)
        return self._observation(), self._infos(mask)

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Observations (B, n), rewards (B,), terminations and truncations (B,), bool, and infos after actions (B, n)."""
        action = self._checked(actions)
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            begun = self._ended
        elif self._ended.any():
            worlds = ", ".join(map(str, np.flatnonzero(self._ended)[:5]))
            raise Error(f'worlds {worlds} have ended: expected reset(options={{"reset_mask": …}}) before the next step')
        else:
            begun = np.zeros(self.num_envs, np.bool_)
        moved = ~begun
        if moved.any():
            self._move(moved, action)

        away = self.q[:, self._cube][:, :3] - self.place
        distance = np.sqrt((away**2).sum(-1))
        turn = angle(rotation_error(self.q[:, self._cube][:, 3:], self.goal))
        rewards = np.where(moved, reward(distance, turn, action, self.settings), 0.0)
        terminated = moved & (distance >= self.settings.fall_distance)
        truncated = moved & (self._steps >= round(self.settings.seconds / self.settings.period))
        success = self._info["success"] = moved & (turn <= self.settings.tolerance)
        self._info["successes"] = self._info["successes"] + success
        self._aim(success)
        if begun.any():
            self._begin(begun)
        self._ended = terminated | truncated

        observation, infos = self._observation(), self._infos(np.ones(self.num_envs, np.bool_))
        if self.autoreset_mode is AutoresetMode.SAME_STEP and self._ended.any():
            ended = self._ended
            final = np.full(self.num_envs, None, object)
            for world in np.flatnonzero(ended):
                final[world] = observation[world].copy()
            final_info = self._infos(ended)
            self._begin(ended)
            observation, infos = self._observation(), self._infos(np.ones(self.num_envs, np.bool_))
            infos |= {"final_obs": final, "_final_obs": ended.copy(), "final_info": final_info, "_final_info": ended.copy()}
        return observation, rewards, terminated, truncated, infos

    def render(self) -> Any:
        """The first world's episode so far, or the one before if it has just begun: a `fingertip.Replay`; None without
        `render_mode="replay"` or before the first step."""
        path = self._path or self._path_before
        if not path:
            return None
        q = np.concatenate([path[0][0][:1], *(states[1:] for states, _, _ in path)])
        u, force = (np.concatenate(parts) for parts in list(zip(*path))[1:])
        return show(self.sim.model, q, u=u, force=force, time=self.h * np.arange(len(q)))

    def _move(self, moved: _Bools, action: _Floats) -> None:
        """The worlds' simulation steps under the actions."""
        reach = self.settings.speed * self.h * (1 + np.arange(self.settings.substeps))[:, None]
        change = scaled(action, self.lower, self.upper) - self.u
        u = self.u[:, None] + np.clip(change[:, None], -reach, reach)
        # Of all worlds, since each may have its own parameters; those that begin anew are few.
        made = self.sim.rollout(self.q, u)
        before, after = made.q[:, -2], made.q[:, -1]
        v = np.zeros_like(self.v)
        v[:, self._joints_v] = (after - before)[:, self._joints] / self.h
        cube, was = after[:, self._cube], before[:, self._cube]
        turn = angular_velocity(was[:, 3:], cube[:, 3:], self.h)
        v[:, self._cube_v] = np.concatenate([(cube - was)[:, :3] / self.h, turn], axis=1)
        self.q[moved], self.v[moved], self.u[moved] = after[moved], v[moved], u[moved, -1]
        self._action[moved] = action[moved]
        self._steps[moved] += 1
        self._info["status"][moved] = made.status.max(axis=1)[moved]
        if self.render_mode and moved[0]:
            # Copies: the arrays are of all worlds.
            self._path.append((made.q[0].copy(), u[0].copy(), made.force[0].copy()))

    def _begin(self, worlds: _Bools) -> None:
        """Begins episodes of some worlds."""
        s, n = self.settings, len(self._joints)
        half = 0.5 * (self.upper - self.lower)
        for world in np.flatnonzero(worlds):
            numbers = self._streams[world].uniform(-1.0, 1.0, 2 + n)
            q = self._home.copy()
            q[self._cube][:2] += s.position_noise * numbers[:2]
            joints = q[self._joints] + s.joint_noise * half * numbers[2:]
            q[self._joints] = np.clip(joints, self.lower, self.upper)
            self.q[world] = q
        if worlds[0]:
            self._path, self._path_before = [], self._path or self._path_before
        self.v[worlds] = 0.0
        self.u[worlds] = self.q[worlds][:, self._joints]
        self._action[worlds] = unscaled(self.u[worlds], self.lower, self.upper)
        self._steps[worlds] = 0
        self._ended = self._ended & ~worlds
        for array in self._info.values():
            array[worlds] = 0
        self._aim(worlds)

    def _aim(self, worlds: _Bools) -> None:
        """New goals for some worlds."""
        for world in np.flatnonzero(worlds):
            self.goal[world] = goal_rotation(self._streams[world].uniform(-1.0, 1.0, 2))

    def _observation(self) -> NDArray[np.float32]:
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
        return np.concatenate(parts, axis=1).astype(np.float32)

    def _infos(self, worlds: _Bools) -> dict[str, Any]:
        """Infos of some worlds as gymnasium has them: each with a mask of the worlds that have it."""
        infos: dict[str, Any] = {}
        for name, array in self._info.items():
            infos[name], infos[f"_{name}"] = np.where(worlds, array, array.dtype.type(0)), worlds.copy()
        return infos

    def _stream(self, world: int) -> np.random.Generator:
        """A world's random numbers: of the seed and its number alone."""
        sequence = np.random.SeedSequence(self.np_random_seed, spawn_key=(self.first_world + world,))
        return np.random.Generator(np.random.Philox(sequence))

    def _checked(self, actions: Any) -> _Floats:
        action = np.asarray(actions, np.float64)
        if action.shape != self._action.shape:
            raise Error(f"actions: expected shape {self._action.shape}, got {action.shape}")
        if not self._streams:
            raise Error("expected reset() before the first step")
        if not np.isfinite(action).all():
            raise Error(f"actions: expected finite numbers, got {action[~np.isfinite(action)][0]}")
        return np.clip(action, -1.0, 1.0)

    def _mask(self, mask: Any) -> _Bools:
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
            raise Error(f"reset_mask: expected a bool array ({self.num_envs},) with a true element, got {mask!r}")
        return mask.copy()


if "FingertipAllegroCube-v0" not in gymnasium.registry:
    gymnasium.register("FingertipAllegroCube-v0", vector_entry_point="fingertip.gym:CubeReorient")
