"""A cube in a LEAP hand, by the conventions of MuJoCo Playground: what it sees, does and is rated by are those of `LeapCubeReorient` in
mujoco_playground/_src/manipulation/leap_hand/reorient.py of playground 0.2.0 (Apache-2.0), with that file's defaults."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import ArrayLike, NDArray

from .. import Status
from .._fingertip import Error, Model
from .rotations import angle, matrix, rotation_error, turned, uniform
from .worlds import Worlds

_Floats: TypeAlias = NDArray[np.float64]
_Bools: TypeAlias = NDArray[np.bool_]

_JOINTS = [f"{finger}_{joint}" for finger in ("if", "mf", "rf") for joint in ("mcp", "rot", "pip", "dip")]
_JOINTS += ["th_cmc", "th_axl", "th_mcp", "th_ipl"]
_TIPS = ["th_tip", "if_tip", "mf_tip", "rf_tip"]


@dataclasses.dataclass(frozen=True)
class LeapSettings:
    """Numbers of the task: MuJoCo Playground's."""

    period: float = 0.05
    """Time from action to action, s."""
    substeps: int = 5
    """Simulation steps in a period."""
    periods: int = 1000
    """Length of an episode, in periods; then it is truncated."""
    action_scale: float = 0.5
    """What an action of 1 adds to a command, rad."""
    smoothing: float = 1.0
    """The new command's share beside the one before."""
    tolerance: float = 0.1
    """The goal is reached within this angle, rad."""
    fall_height: float = -0.05
    """The episode ends when the cube's centre is below this, m."""
    joint_noise: float = 0.05
    """Half range of what observed joint positions are off by, rad."""
    position_noise: float = 0.02
    """Half range of what the observed cube's coordinates are off by, m."""
    rotation_noise: float = 0.1
    """Standard deviation of what is added to the observed cube's quaternion, which is then made of length 1."""
    start_joint_noise: float = 0.1
    """Standard deviation of the joints' starting positions, rad."""
    start_position_noise: float = 0.01
    """Half range of the cube's starting coordinates, m."""
    orientation_weight: float = 5.0
    """A second's reward for a cube that is turned to the goal; less, linearly in the angle, from 0.2 rad on."""
    position_weight: float = 0.5
    """A second's reward for a cube within 20 mm of the palm's site; less, linearly in the distance, to none at 76 mm."""
    termination_weight: float = -100.0
    """A second's reward for a fall."""
    pose_weight: float = -0.5
    """A second's reward for the joints' squared distance from home, 1/rad²."""
    action_rate_weight: float = -0.001
    """A second's reward for squared first and second differences of actions."""
    velocity_weight: float = 0.0
    """A second's reward for squared joint velocities in units of 4 rad/s."""
    energy_weight: float = -0.001
    """A second's reward for the joints' |velocity · torque|, 1/W."""
    bonus: float = 100.0
    """Reward for a goal that is reached; the next goal follows."""


def leap_reward_terms(
    turn: _Floats,
    distance: _Floats,
    joints_away: _Floats,
    actions: tuple[_Floats, _Floats, _Floats],
    velocity: _Floats,
    torque: _Floats,
    fallen: _Bools,
    settings: LeapSettings = LeapSettings(),
) -> dict[str, _Floats]:
    """The terms (B,) of a second's reward, by Playground's names: of the cube's angle `turn` (B,) from the goal, rad, and its `distance`
    (B,) from the palm's site, m; of the joints' way from home (B, n), rad; of this action, the last and the one before
    (B, n); of joint velocities (B, n), rad/s, and torques (B, n), N·m; and of falls (B,)."""
    s = settings
    action, last, before = actions
    return {
        "orientation": s.orientation_weight * _tolerance(turn, 0.2, np.pi),
        "position": s.position_weight * _tolerance(distance, 0.02, 0.05),
        "termination": s.termination_weight * fallen,
        "hand_pose": s.pose_weight * (joints_away**2).sum(-1),
        "action_rate": s.action_rate_weight * ((action - last) ** 2 + (action - 2 * last + before) ** 2).sum(-1),
        "joint_vel": s.velocity_weight * ((velocity / 4.0) ** 2).sum(-1),
        "energy": s.energy_weight * np.abs(velocity * torque).sum(-1),
    }


def _tolerance(x: _Floats, bound: float, margin: float) -> _Floats:
    """1 up to a bound, from there linearly to 0.1 at a margin beyond it, and to 0: dm_control's `tolerance` with its linear sigmoid."""
    return np.clip(1.0 - 0.9 * np.maximum(x - bound, 0.0) / margin, 0.0, 1.0)


class LeapCubeReorient(Worlds):
    """A LEAP hand turns a cube to goals, one after another, as in MuJoCo Playground.

    `scene` is `"leap_cube"`, which ships, or another with the same joints, a site `grasp_site` and one on each fingertip, and a free
    object `cube`: Playground's own file, with `overrides={"params": {"joint_damping": True, "effort_limits": True}}`. `params`
    are the step's but for h, as `Quasidynamic` takes them: with a row for each world, worlds differ.

    Actions (B, 16) from −1 to 1 are added to the commands, times 0.5 rad, which stay within the joints' limits. An observation (B, 57) in
    single precision is Playground's `state`: joint positions, their way from the commands, the palm's site less the cube's
    place, the last two rows of the matrix of the cube's rotation from the goal, all with noise, and the action before this one. An
    info `privileged_state` (B, 128) is Playground's: the state, then without noise joint positions and velocities, fingertips in
    the palm's site's axes, the same place and rows, the cube's velocity and angular velocity, and 12 zeros, as nothing pushes it.
    Rewards are those of a period, `leap_reward_terms` times 0.05 s, and 100 where a goal is reached. Then the goal
    turns on for some periods, and the hand has to follow. An episode terminates when the cube falls, or a world has no solution and
    stands still.

    What differs is the step, not the task: it has no inertia but the commands' lag, by the joints' damping (`joint_damping`) over their
    stiffness; velocities are (q₊ − q)/h of the last simulation step, torques the springs' before motors bound them, as there; a
    hand's parts do not touch each other in `"leap_cube"`; weight does not bend the fingers, joints have no dry friction; and a
    cube in the air sinks by g h² in each step. There are no pushes, no histories longer than one, and no observations of a cube elsewhere
    (`random_ori_injection_prob`).

    Infos `success`, `successes` and `status`, autoreset modes, `first_world`, `render_mode` and `touch` are as in `CubeReorient`.
    """

    def __init__(
        self,
        scene: Model | str | os.PathLike[str] = "leap_cube",
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        settings: LeapSettings = LeapSettings(),
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
            cube="cube",
            period=settings.period,
            substeps=settings.substeps,
            periods=settings.periods,
            threads=threads,
            first_world=first_world,
            render_mode=render_mode,
            touch=touch,
            params=params,
        )
        model = self.sim.model
        names = [name.rsplit("/")[-1] for name in model.u_names]
        if names != _JOINTS:
            raise Error(f"scene: expected the commanded joints {', '.join(_JOINTS)}, got {', '.join(names)}")
        sites = {name.rsplit("/")[-1]: name for name in model.sites}
        if missing := [name for name in ("grasp_site", *_TIPS) if name not in sites]:
            raise Error(f"scene: expected a site {missing[0]!r}, got {', '.join(model.sites) or 'none'}")
        self.settings = settings
        self._sites = [sites[name] for name in ("grasp_site", *_TIPS)]
        self._last, self._before = self._action.copy(), self._action.copy()
        self._turning = np.zeros((num_envs, 3))
        self._info["privileged_state"] = np.zeros((num_envs, 128), np.float32)
        self._spaces(57)

    def _start(self, world: int) -> None:
        s, random, q = self.settings, self._streams[world], self.q[world]
        self.goal[world] = uniform(random.random(3))
        self._turning[world] = 0.0
        q[self._joints] = np.clip(
            q[self._joints] + s.start_joint_noise * random.standard_normal(len(_JOINTS)), self.lower, self.upper
        )
        q[self._cube] = [
            *(q[self._cube][:3] + s.start_position_noise * random.uniform(-1.0, 1.0, 3)),
            *uniform(random.random(3)),
        ]
        for actions in (self._action, self._last, self._before):
            actions[world] = 0.0

    def _commands(self, action: _Floats) -> _Floats:
        s = self.settings
        target = np.clip(self.u + s.action_scale * action, self.lower, self.upper)
        target = s.smoothing * target + (1 - s.smoothing) * self.u
        return np.repeat(target[:, None], self._substeps, axis=1)

    def _rate(self, moved: _Bools, action: _Floats) -> tuple[_Floats, _Bools, _Bools]:
        s, joints, cube = self.settings, self.q[:, self._joints], self.q[:, self._cube]
        turn = angle(rotation_error(cube[:, 3:], self.goal))
        success = turn < s.tolerance
        fallen = (cube[:, 2] < s.fall_height) | (self._info["status"] >= Status.INFEASIBLE)
        terms = leap_reward_terms(
            turn,
            np.sqrt(((self._palm() - cube[:, :3]) ** 2).sum(-1)),
            joints - self._home[self._joints],
            (action, self._last, self._before),
            self.v[:, self._joints_v],
            self.sim.params["stiffness"] * (self.u - joints),
            fallen,
            s,
        )
        rewards = s.period * np.sum(list(terms.values()), axis=0) + s.bonus * success
        # As there, what is seen has the goal and the last action from before this period.
        self._observe(moved)
        for world in np.flatnonzero(moved & success):
            self._turning[world] = 3.0 + self._streams[world].uniform(-2.0, 2.0, 3)
        self._turning[moved & ~success] *= 0.8
        self.goal[moved] = turned(self.goal, self._turning, 2 * s.period)[moved]
        self._before[moved], self._last[moved] = self._last[moved], action[moved]
        return rewards, fallen, success

    def _palm(self) -> _Floats:
        """Where the palm's site is (B, 3), m."""
        return self.sim.model.site_poses(self.q, self._sites[:1])[0][:, 0]

    def _rows(self, rotation: _Floats) -> _Floats:
        """The last two rows of the matrices of rotations from the goals (B, 6)."""
        return matrix(rotation_error(rotation, self.goal))[:, 1:].reshape(-1, 6)

    def _observe(self, worlds: _Bools) -> None:
        s, n = self.settings, len(_JOINTS)
        joints, cube = self.q[:, self._joints], self.q[:, self._cube]
        numbers = np.zeros((self.num_envs, n + 7))
        for world in np.flatnonzero(worlds):
            random = self._streams[world]
            numbers[world] = [*random.uniform(-1.0, 1.0, n + 3), *random.standard_normal(4)]
        seen_joints = joints + s.joint_noise * numbers[:, :n]
        seen_place = cube[:, :3] + s.position_noise * numbers[:, n : n + 3]
        seen_rotation = cube[:, 3:] + s.rotation_noise * numbers[:, n + 3 :]
        seen_rotation /= np.sqrt((seen_rotation**2).sum(-1, keepdims=True))

        positions, axes = self.sim.model.site_poses(self.q, self._sites)
        palm, tips = positions[:, 0], positions[:, 1:]
        state = [seen_joints, seen_joints - self.u, palm - seen_place, self._rows(seen_rotation), self._last]
        more = [
            joints,
            self.v[:, self._joints_v],
            ((tips - palm[:, None]) @ axes[:, 0]).reshape(-1, 3 * len(_TIPS)),
            palm - cube[:, :3],
            self._rows(cube[:, 3:]),
            self.v[:, self._cube_v],
            np.zeros((self.num_envs, 12)),
        ]
        self._seen[worlds] = np.concatenate(state, axis=1)[worlds]
        self._info["privileged_state"][worlds] = np.concatenate(state + more, axis=1)[worlds]
