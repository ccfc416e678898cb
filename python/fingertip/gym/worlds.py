"""What the environments share: worlds as a batch, their streams, episodes and autoreset modes."""

from __future__ import annotations

import abc
import os
from collections.abc import Sequence
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from .._fingertip import Error, Model, Quasidynamic, Taxels, Wrenches
from .._show import show
from .rotations import angular_velocity

_Floats: TypeAlias = NDArray[np.float64]
_Bools: TypeAlias = NDArray[np.bool_]


class Worlds(VectorEnv[Any, NDArray[np.float32], NDArray[Any]]):
    """Worlds of a hand, whose n commanded joints have limits, and a free object, the `cube`. A period has `substeps` simulation
    steps; an episode is truncated after `periods` of them.

    An environment says how it begins (`_start`), what an action commands (`_commands`), what a period is worth (`_rate`) and what is
    seen (`_observe`). Actions from −1 to 1 and observations are arrays in single precision.

    With `touch`, an observation is a dictionary: `observation`, what it is without, and what the hand felt in the last simulation step:
    `force` (B, L, 3), the net contact force on each thing of `touched`, N, along the axes of its link; and, where the scene has pads,
    `taxels` (B, N), the normal force on each taxel, N, in the order of `skin.pads`. After a reset nothing has been felt. `touch` is
    True for all bodies that may touch something but the cube, or names of things as `Wrenches` takes them. It costs a simulation step
    more in each period; `gymnasium.wrappers.vector.FlattenObservation` makes one array of it.
    """

    def __init__(
        self,
        scene: Model | str | os.PathLike[str],
        num_envs: int,
        *,
        autoreset_mode: AutoresetMode | str,
        cube: str,
        period: float,
        substeps: int,
        periods: int,
        threads: int | None,
        first_world: int,
        render_mode: str | None,
        touch: bool | Sequence[str],
        params: dict[str, ArrayLike],
    ) -> None:
        if num_envs < 1:
            raise Error(f"num_envs: expected at least 1, got {num_envs}")
        if substeps < 1:
            raise Error(f"substeps: expected at least 1, got {substeps}")
        if "h" in params:
            raise Error("h: expected `period` and `substeps` of the settings instead, which give the step's length")
        model = scene if isinstance(scene, Model) else Model.load(scene)
        self.num_envs, self.first_world = num_envs, first_world
        self.h = period / substeps
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
        self._substeps, self._periods = substeps, periods

        own: dict[str, Any] = {name: params[name] for name in ("offsets", "sizes") if name in params}
        self.touched: list[str] = [] if touch is True else list(touch or ())
        """The things whose net contact forces are observed: none without `touch`."""
        if touch is True:
            self.touched = [on for on, by in Wrenches(model).names if by is None and on != cube]
        self._net = Wrenches(model, self.touched, axes="link", **own)
        skin = Taxels(model, **own) if touch else None
        self.skin = skin if skin and skin.count else None
        """The taxels that are observed, of all pads of the scene: None without `touch` or pads."""
        self._force = np.zeros((num_envs, len(self.touched), 3), np.float32)
        self._pressed = np.zeros((num_envs, self.skin.count if self.skin else 0), np.float32)

        n = len(joints)
        self.q = np.tile(self._home, (num_envs, 1))
        """Configurations (B, nq), m and rad."""
        self.v = np.zeros((num_envs, model.nv))
        """Velocities (B, nv), the last simulation step over h; m/s and rad/s."""
        self.u = np.tile(self._home[self._joints], (num_envs, 1))
        """Commands (B, nu), rad."""
        self.goal = np.tile([1.0, 0.0, 0.0, 0.0], (num_envs, 1))
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

    def _spaces(self, parts: int | dict[str, int], actions: int | None = None) -> None:
        """The spaces, of observations and actions with so many numbers, where observations may have parts by name; without `actions`, one
        for each command."""
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (actions or len(self._joints),), np.float32)
        self._parts = {"observation": parts} if isinstance(parts, int) else parts
        boxes: dict[str, gymnasium.spaces.Space[Any]] = {}
        for name, n in self._parts.items():
            boxes[name] = gymnasium.spaces.Box(-np.inf, np.inf, (n,), np.float32)
        if self.touched:
            boxes["force"] = gymnasium.spaces.Box(-np.inf, np.inf, self._force.shape[1:], np.float32)
        if self.skin:
            boxes["taxels"] = gymnasium.spaces.Box(0.0, np.inf, self._pressed.shape[1:], np.float32)
        self.single_observation_space: gymnasium.spaces.Space[Any] = gymnasium.spaces.Dict(boxes)
        if len(boxes) == 1:
            self.single_observation_space = boxes["observation"]
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._seen = np.zeros((self.num_envs, sum(self._parts.values())), np.float32)

    @abc.abstractmethod
    def _start(self, world: int) -> None:
        """Begins an episode of a world: its q, its goal and what else the environment keeps of it."""

    @abc.abstractmethod
    def _commands(self, action: _Floats) -> _Floats:
        """Commands (B, substeps, nu) in the period of actions (B, n)."""

    @abc.abstractmethod
    def _rate(self, moved: _Bools, action: _Floats) -> tuple[_Floats, _Bools, _Bools]:
        """Rewards, terminations and successes (B,) of a period in the worlds that moved; observes them, and aims anew."""

    @abc.abstractmethod
    def _observe(self, worlds: _Bools) -> None:
        """Writes what some worlds show to `_seen`."""

    def _shown(self, worlds: int | slice = slice(None)) -> Any:
        """What an environment shows of worlds: copies."""
        if not isinstance(self.single_observation_space, gymnasium.spaces.Dict):
            return self._seen[worlds].copy()
        cuts = np.cumsum(list(self._parts.values()))[:-1]
        shown = dict(zip(self._parts, np.split(self._seen[worlds], cuts, axis=-1), strict=True))
        shown |= {"force": self._force[worlds], "taxels": self._pressed[worlds]}
        return {name: shown[name].copy() for name in self.single_observation_space}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins episodes: of all worlds, or of those where `options["reset_mask"]` (B,), bool, is true. With a seed their streams
        begin anew; without one they go on."""
        mask = self._mask((options or {}).get("reset_mask"))
        super().reset(seed=seed)
        if seed is not None or not self._streams:
            fresh = [self._stream(world) for world in range(self.num_envs)]
            kept = self._streams or fresh
            self._streams = [new if again else old for new, old, again in zip(fresh, kept, mask, strict=True)]
        self._begin(mask)
        return self._shown(), self._infos(mask)

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
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
        rewards, terminated = np.zeros(self.num_envs), np.zeros(self.num_envs, np.bool_)
        if moved.any():
            self._move(moved, action)
            rated, fallen, success = self._rate(moved, action)
            rewards, terminated = np.where(moved, rated, 0.0), moved & fallen
            self._info["success"] = moved & success
            self._info["successes"] = self._info["successes"] + self._info["success"]
        truncated = moved & (self._steps >= self._periods)
        if begun.any():
            self._begin(begun)
        self._ended = terminated | truncated

        every = np.ones(self.num_envs, np.bool_)
        observation, infos = self._shown(), self._infos(every)
        if self.autoreset_mode is AutoresetMode.SAME_STEP and self._ended.any():
            ended = self._ended
            final = np.full(self.num_envs, None, object)
            for world in np.flatnonzero(ended):
                final[world] = self._shown(int(world))
            final_info = self._infos(ended)
            self._begin(ended)
            observation, infos = self._shown(), self._infos(every)
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
        u = self._commands(action)
        # Of all worlds, since each may have its own parameters; those that begin anew are few.
        made = self.sim.rollout(self.q, u)
        before, after = made.q[:, -2], made.q[:, -1]
        v = np.zeros_like(self.v)
        v[:, self._joints_v] = (after - before)[:, self._joints] / self.h
        cube, was = after[:, self._cube], before[:, self._cube]
        turn = angular_velocity(was[:, 3:], cube[:, 3:], self.h)
        v[:, self._cube_v] = np.concatenate([(cube - was)[:, :3] / self.h, turn], axis=1)
        if self.touched or self.skin:
            step = self.sim.step(before, u[:, -1])
            self._force[moved] = self._net.at(before, step)[moved, :, :3]
            if self.skin:
                self._pressed[moved] = self.skin.at(before, step)[moved]
        self.q[moved], self.v[moved], self.u[moved] = after[moved], v[moved], u[moved, -1]
        self._steps[moved] += 1
        self._info["status"][moved] = made.status.max(axis=1)[moved]
        if self.render_mode and moved[0]:
            # Copies: the arrays are of all worlds.
            self._path.append((made.q[0].copy(), u[0].copy(), made.force[0].copy()))

    def _begin(self, worlds: _Bools) -> None:
        """Begins episodes of some worlds."""
        for array in self._info.values():
            array[worlds] = 0
        self.q[worlds] = self._home
        for world in np.flatnonzero(worlds).tolist():
            self._start(world)
        if worlds[0]:
            self._path, self._path_before = [], self._path or self._path_before
        self.v[worlds], self._force[worlds], self._pressed[worlds] = 0.0, 0.0, 0.0
        self.u[worlds] = self.q[worlds][:, self._joints]
        self._steps[worlds] = 0
        self._ended = self._ended & ~worlds
        self._observe(worlds)

    def _infos(self, worlds: _Bools) -> dict[str, Any]:
        """Infos of some worlds as gymnasium has them: each with a mask of the worlds that have it."""
        infos: dict[str, Any] = {}
        for name, array in self._info.items():
            has = worlds.reshape(-1, *[1] * (array.ndim - 1))
            infos[name], infos[f"_{name}"] = np.where(has, array, array.dtype.type(0)), worlds.copy()
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
