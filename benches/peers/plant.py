"""A scene of ours as a MuJoCo model, by `fingertip.mujoco.to_mujoco`, whose rules need no figure of a task: what a plan is tried on.

- Joints are position servos, kp the scene's stiffness, damped critically, so that they neither overshoot nor creep. After a step of the
  command 2 % are left at t = 5.8 √(I/kp): `settling` gives it, and a scene should have stiffness enough for it to be within a control period.
- Robots carry themselves, as in our step; joint limits and efforts act, joint friction and damping do not.
- Objects in the plane lie on a table: the scene's own (`table`), or, where it has none, one of friction 0.3 that the planner does not know,
  with two thirds of the object's radius. It is dry friction along x, y and about z. Each axis resists on its own: what slides along y is moved
  along x by no less than μ m g. `standing` lets them stand on it by feet, whose friction is one force against the motion.
- Contacts have a time constant of 4 ms in the place of MuJoCo's default 20 ms (`SOFT`): its contacts are as soft as the lighter body is light,
  and a fingertip of 4 g that presses with 1 N would sink in by 5 mm. Elliptic cones and impratio 10 keep grips from creeping. Spinning is
  resisted where our scene has torsional friction; rolling is not.
"""

import tomllib
from pathlib import Path

import fingertip as ft
import mujoco
import numpy as np

# MuJoCo's default of 2 ms is half of it: light fingertips on stiff springs strike the object less hard in smaller steps.
TIME_STEP = 0.001
HARD, SOFT = 0.004, 0.02  # time constants of contacts, s
TABLE = 0.3  # friction coefficient under objects in the plane
GRAVITY = 9.81  # m/s²
SETTLED = 5.8  # a critically damped spring is within 2 % after 5.8/ω


class Plant:
    """A scene in MuJoCo, in our order of q and u."""

    def __init__(self, scene: Path, period: float, *, table: float = TABLE, contact: float = HARD, standing: bool = False) -> None:
        self.scene, self.of, self.period = tomllib.loads(scene.read_text()), ft.Model.load(scene), period
        self.model = ft.mujoco.to_mujoco(self.of, timestep=TIME_STEP, contact=contact, table=table, standing=standing)
        self.data, self.places = mujoco.MjData(self.model), ft.mujoco.Places(self.of, self.model)
        self.steps = round(period / TIME_STEP)
        if abs(self.steps * TIME_STEP - period) > 1e-9:
            raise ValueError(f"expected a control period of whole steps of {TIME_STEP} s, got {period}")

    def q(self) -> np.ndarray:
        """The measured state."""
        return self.places.to_q(self.data.qpos)

    def v(self) -> np.ndarray:
        """Its velocity, that of free bodies in world axes."""
        return self.places.to_v(self.data.qpos, self.data.qvel)

    def reset(self, q: np.ndarray, u: np.ndarray) -> None:
        """At rest at q under the command u."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = self.places.to_qpos(q)
        self.data.ctrl[:] = self.places.to_ctrl(u)
        mujoco.mj_forward(self.model, self.data)

    def hold(self, u: np.ndarray, parts: int = 1) -> None:
        """One control period, or one of so many parts of it."""
        self.data.ctrl[:] = self.places.to_ctrl(u)
        mujoco.mj_step(self.model, self.data, nstep=self.steps // parts)

    def is_lost(self) -> bool:
        """Has MuJoCo met a number that is none, or a huge one, since the start? It then begins anew from its own home."""
        kinds = (mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC)
        return any(self.data.warning[kind].number for kind in kinds)

    def settling(self) -> float:
        """How long the slowest joint takes, s: see above."""
        stiffness, damping = self.model.actuator_gainprm[:, 0], -self.model.actuator_biasprm[:, 2]
        # Critical: kv = 2 √(kp I), so that √(I/kp) = kv/(2 kp).
        return float(np.max(SETTLED * damping / (2 * stiffness)))
