"""A cube in an Allegro hand that is to be turned about the vertical, by the conventions of ManiSkill: what is seen, done and rated is that
of `RotateSingleObjectInHandLevel0` in mani_skill/envs/tasks/dexterity/rotate_single_object_in_hand.py of ManiSkill 3.0.1 (Apache-2.0)."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import ArrayLike, NDArray

from .._fingertip import Error, Model
from .rotations import matrix, of_matrix
from .worlds import Worlds

_Floats: TypeAlias = NDArray[np.float64]
_Bools: TypeAlias = NDArray[np.bool_]

_TIPS = ["thumb_tip", "index_tip", "middle_tip", "ring_tip"]


@dataclasses.dataclass(frozen=True)
class RotateSettings:
    """Numbers of the task: ManiSkill's."""

    period: float = 0.05
    """Time from action to action, s."""
    substeps: int = 5
    """Simulation steps in a period."""
    periods: int = 300
    """Length of an episode, in periods; then it is truncated."""
    action_scale: float = 0.1
    """What an action of 1 adds to a joint's position, rad."""
    stiffness: float = 400.0
    """The controller's gain by position in the rewards' torques, N·m/rad."""
    damping: float = 10.0
    """Its gain by velocity, N·m·s/rad."""
    torque_limit: float = 50.0
    """What these torques are cut at, N·m."""
    hand_height: float = 0.25
    """Where the hand is, m; the episode ends when the cube's centre is 50 mm below it."""
    start_height: float = 0.0502
    """Where the cube's centre starts above the hand at least, m: flat on the palm."""
    position_noise: float = 0.02
    """Standard deviation of the cube's starting coordinates, m; of its height the absolute value counts."""
    largest_turn: float = np.pi / 20
    """The largest angle that counts in a period, rad."""
    turned: float = 4 * np.pi
    """The episode ends with success when angles add up to more, rad."""
    turn_weight: float = 20.0
    """Reward for a period's angle, 1/rad."""
    speed_weight: float = -0.1
    """Reward for the cube's speed, s/m."""
    fall_weight: float = -50.0
    """Reward for a fall."""
    power_weight: float = -0.0003
    """Reward for |torques · joint velocities|, 1/W."""
    torque_weight: float = -0.0003
    """Reward for the torques' length, 1/(N·m)."""
    reward_scale: float = 0.25
    """What rewards are times: ManiSkill's `normalized_dense`; 1 is `dense`."""


def rotate_reward_terms(
    turn: _Floats,
    speed: _Floats,
    fallen: _Bools,
    torque: _Floats,
    velocity: _Floats,
    tip_distance: _Floats,
    settings: RotateSettings = RotateSettings(),
) -> dict[str, _Floats]:
    """The terms (B,) of a period's reward: of the cube's angle `turn` (B,) in it, rad, and its `speed` (B,), m/s; of falls (B,); of the
    controller's torques (B, n), N·m, and joint velocities (B, n), rad/s; and of the fingertips' distances from the cube's centre
    (B, 4), m."""
    s = settings
    return {
        "turn": s.turn_weight * turn,
        "speed": s.speed_weight * speed,
        "fall": s.fall_weight * fallen,
        "power": s.power_weight * np.abs((torque * velocity).sum(-1)),
        "torque": s.torque_weight * np.sqrt((torque**2).sum(-1)),
        "tips": np.clip(0.1 / (0.02 + 4 * tip_distance), 0.0, 1.0).mean(-1),
    }


class RotateInHand(Worlds):
    """An Allegro hand turns a cube on its palm about the vertical, as in ManiSkill's `RotateSingleObjectInHandLevel0-v1`.

    `scene` is `"allegro_rotate"`, which ships, or another with 16 commanded joints, sites `palm`, `thumb_tip`, `index_tip`, `middle_tip` and
    `ring_tip`, and a free object `cube`. `params` are the step's but for h, as `Quasidynamic` takes them: with a row for each world,
    worlds differ.

    Actions (B, 16) from −1 to 1 are added to the joints' positions, times 0.1 rad (`pd_joint_delta_pos`). An observation (B, 89) in single
    precision has ManiSkill's `state` without the touch sensors' 16 numbers: joint positions and velocities, the palm's pose, the
    fingertips' poses (thumb, index, middle, ring), the axis (0, 0, 1), the cube's pose, and the fingertips' places less the cube's.
    Poses are positions and quaternions, w first. A reward is the sum of `rotate_reward_terms`, over 4. What counts is the cube's
    angle about the vertical in each period, either way around, at most π/20. An episode terminates when angles add up to 4 π, a
    success, or when the cube falls below the hand; it is truncated after 300 periods.

    What differs: joints are in the order index, middle, ring, thumb; fingertips alone touch the cube, and a plane stands for the palm, so
    that in `"allegro_rotate"` nothing falls; commands stay within the joints' limits, torques in rewards do not know of it; velocities are
    (q₊ − q)/h of the last simulation step; the cube starts on or above the palm, not up to 10 mm inside it. There are no cubes of other
    sizes (level 1) and no other objects or axes (levels 2 and 3).

    Infos `success`, `successes` and `status`, autoreset modes, `first_world`, `render_mode` and `touch` are as in `CubeReorient`; `turned` is the sum
    of the angles, rad.
    """

    def __init__(
        self,
        scene: Model | str | os.PathLike[str] = "allegro_rotate",
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        settings: RotateSettings = RotateSettings(),
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
        if len(self._joints) != 16:
            raise Error(f"scene: expected 16 commanded joints, got {len(self._joints)}")
        sites = {name.rsplit("/")[-1]: name for name in model.sites}
        if missing := [name for name in ("palm", *_TIPS) if name not in sites]:
            raise Error(f"scene: expected a site {missing[0]!r}, got {', '.join(model.sites) or 'none'}")
        self.settings = settings
        self._sites = [sites[name] for name in ("palm", *_TIPS)]
        self._target = self.u.copy()
        # Where the cube's x axis pointed in the plane.
        self._pointed = np.tile([1.0, 0.0, 0.0], (num_envs, 1))
        self._info["turned"] = np.zeros(num_envs)
        self._spaces(89)

    def _start(self, world: int) -> None:
        s, q = self.settings, self.q[world]
        x, y, z = s.position_noise * self._streams[world].standard_normal(3)
        q[self._cube] = [x, y, abs(z) + s.hand_height + s.start_height, 1.0, 0.0, 0.0, 0.0]
        q[self._joints] = np.clip(0.0, self.lower, self.upper)
        self._target[world] = q[self._joints]
        self._pointed[world] = [1.0, 0.0, 0.0]

    def _commands(self, action: _Floats) -> _Floats:
        self._target = self.q[:, self._joints] + self.settings.action_scale * action
        return np.repeat(np.clip(self._target, self.lower, self.upper)[:, None], self._substeps, axis=1)

    def _rate(self, moved: _Bools, action: _Floats) -> tuple[_Floats, _Bools, _Bools]:
        s, joints, cube, v = self.settings, self.q[:, self._joints], self.q[:, self._cube], self.v[:, self._joints_v]
        points = matrix(cube[:, 3:])[..., 0] * [1.0, 1.0, 0.0]
        points /= np.maximum(np.sqrt((points**2).sum(-1, keepdims=True)), 1e-12)
        turn = np.minimum(np.arccos(np.clip((points * self._pointed).sum(-1), 0.0, 1.0)), s.largest_turn)
        self._pointed[moved] = points[moved]
        self._info["turned"] = self._info["turned"] + moved * turn
        success = self._info["turned"] > s.turned
        fallen = cube[:, 2] < s.hand_height - 0.05
        torque = np.clip(s.stiffness * (self._target - joints) - s.damping * v, -s.torque_limit, s.torque_limit)
        speed = np.sqrt((self.v[:, self._cube_v][:, :3] ** 2).sum(-1))
        self._observe(moved)
        away = np.sqrt((self._tips()[0] ** 2).sum(-1))
        terms = rotate_reward_terms(turn, speed, fallen, torque, v, away, s)
        rewards: _Floats = s.reward_scale * np.sum(list(terms.values()), axis=0)
        return rewards, fallen | success, success

    def _tips(self) -> tuple[_Floats, _Floats]:
        """The fingertips' places less the cube's (B, 4, 3), m, and the poses of the palm and of the fingertips (B, 5, 7)."""
        positions, axes = self.sim.model.site_poses(self.q, self._sites)
        return positions[:, 1:] - self.q[:, None, self._cube][..., :3], np.concatenate([positions, of_matrix(axes)], -1)

    def _observe(self, worlds: _Bools) -> None:
        away, poses = self._tips()
        parts = [
            self.q[:, self._joints],
            self.v[:, self._joints_v],
            poses.reshape(self.num_envs, -1),
            np.tile([0.0, 0.0, 1.0], (self.num_envs, 1)),
            self.q[:, self._cube],
            away.reshape(self.num_envs, -1),
        ]
        self._seen[worlds] = np.concatenate(parts, axis=1)[worlds]
