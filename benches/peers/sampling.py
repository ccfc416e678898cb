"""Predictive sampling (arXiv 2212.00541) with the costs, weights, knots and horizon of MuJoCo MPC's Allegro hand, on MuJoCo's own model of the plant.

Not a program: reorient.py and sequences.py have it beside the planner.
"""

import argparse

import mujoco
import numpy as np
from mujoco import rollout

PERIOD = 0.05  # s between commands
STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    group = parser.add_argument_group("sampling")
    group.add_argument("--samples", type=int, default=50, help="rollouts for a command")
    group.add_argument("--horizon", type=float, default=0.25, help="s")
    group.add_argument("--spread", type=float, default=0.2, help="standard deviation of changes, as a share of half of each joint's range")


class Sampler:
    """The best of some random changes of the plan before."""

    KNOTS = 2

    def __init__(self, model: mujoco.MjModel, place: int, given: argparse.Namespace) -> None:
        """By rollouts of this model. `place` is where the pose of the cube begins in its state."""
        self.model, self.place, self.samples = model, place, given.samples
        self.data = mujoco.MjData(model)
        joints = model.actuator_trnid[:, 0]
        limited = model.actuator_ctrllimited[:, None].astype(bool)
        self.least, self.most = np.where(limited, model.actuator_ctrlrange, model.jnt_range[joints]).T
        self.steps = round(given.horizon / model.opt.timestep)
        # Zero-order splines: which knot holds in which step.
        self.held = np.minimum(np.arange(self.steps) * self.KNOTS // self.steps, self.KNOTS - 1)
        self.spread = given.spread * 0.5 * (self.most - self.least)

    def begin(self, data: mujoco.MjData, number: int) -> None:
        """A new sequence."""
        self.random = np.random.default_rng(7000 + number)
        self.knots = np.repeat(data.ctrl[None], self.KNOTS, axis=0)

    def command(self, data: mujoco.MjData, position: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """Where actuators are to go, rad, for a goal of the cube."""
        tries = np.repeat(self.knots[None], self.samples, axis=0)
        tries[1:] += self.spread * self.random.normal(size=tries[1:].shape)
        tries = np.clip(tries, self.least, self.most)
        state = np.zeros(mujoco.mj_stateSize(self.model, STATE))
        mujoco.mj_getState(self.model, data, state, STATE)
        states, _ = rollout.rollout(self.model, self.data, np.repeat(state[None], self.samples, axis=0), tries[:, self.held])
        best = tries[int(np.argmin(self._costs(states, position, turn)))]
        # The plan moves on by a period.
        by = PERIOD / (self.steps * self.model.opt.timestep / self.KNOTS)
        at = np.minimum(np.arange(self.KNOTS) + by, self.KNOTS - 1).astype(int)
        self.knots = best[at]
        return best[0]

    def _costs(self, states: np.ndarray, position: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """Of each rollout: means over its steps of the residuals, weighted."""
        cube = states[..., 1 + self.place : 8 + self.place]
        own = cube[..., 3:] / np.linalg.norm(cube[..., 3:], axis=-1, keepdims=True)
        off_by = 2 * np.arccos(np.clip(np.abs(own @ turn), 0, 1))
        smooth = np.sqrt(np.sum((cube[..., :3] - position) ** 2, axis=-1) + 0.02**2) - 0.02
        cost = 100 * smooth + 15 * 0.5 * off_by**2
        return np.mean(np.nan_to_num(cost, nan=1e9), axis=-1)
