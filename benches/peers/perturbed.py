"""A plant that is not what the planner believes: other parameters, late commands, wrong and noisy measurements, pushes.

Factors scale what MuJoCo's model has of our scene; the planner is not told. Errors are those of the measured pose of the goal's object.
"""

import argparse
import math
from collections import deque

import fingertip as ft
import mujoco
import numpy as np

from plant import GRAVITY, Plant


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    group = parser.add_argument_group("a plant other than believed")
    for name in ("friction", "mass", "size", "stiffness"):
        group.add_argument(f"--{name}", type=float, default=1.0, help="its true value, as a factor of the believed one")
    group.add_argument("--noise", type=float, nargs=2, default=[0.0, 0.0], metavar=("MM", "DEGREES"), help="standard deviations, per axis")
    group.add_argument("--offset", type=float, nargs=2, default=[0.0, 0.0], metavar=("MM", "DEGREES"), help="constant error, in a direction drawn for each episode")
    group.add_argument("--latency", type=int, default=0, metavar="PERIODS", help="control periods until a command takes effect")
    group.add_argument("--untold", action="store_true", help="the planner is not told of the latency")
    group.add_argument("--push", type=float, nargs=2, default=[0.0, 0.0], metavar=("WEIGHTS", "SECONDS"), help="so many of its weights push the object to a side, drawn for each episode, for 0.1 s from then on")
    group.add_argument("--velocity", action="store_true", help="the planner is told velocities")


def change(plant: Plant, given: argparse.Namespace) -> None:
    """Gives the plant its true parameters."""
    model = plant.model
    model.pair_friction[:, :3] *= given.friction
    for entry in plant.scene["object"]:
        if entry.get("freedom", "fixed") == "fixed":
            continue
        body = model.body(entry["name"])
        body.mass *= given.mass
        body.inertia *= given.mass
        geoms = [geom for geom in range(body.geomadr[0], body.geomadr[0] + body.geomnum[0]) if model.geom(geom).name.startswith("shape")]
        if given.size != 1.0 and any(model.geom_type[geoms] == mujoco.mjtGeom.mjGEOM_MESH):
            raise ValueError(f"{entry['name']}: expected shapes without meshes, whose size is in their vertices")
        for sizes in (model.geom_size, model.geom_rbound, model.geom_aabb, model.geom_pos):
            sizes[geoms] *= given.size
    model.actuator_gainprm[:, 0] *= given.stiffness
    model.actuator_biasprm[:, 1] *= given.stiffness
    # Servos stay critically damped.
    model.actuator_biasprm[:, 2] *= math.sqrt(given.stiffness)
    mujoco.mj_setConst(model, plant.data)
    ft.mujoco.weigh_contacts(model)


class Sensor:
    """Measures q, with an offset and noise on the pose of one object."""

    def __init__(self, plant: Plant, name: str, given: argparse.Namespace, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.noise, self.offset = ([1e-3 * mm, math.radians(degrees)] for mm, degrees in (given.noise, given.offset))
        self.is_exact = not any([*given.noise, *given.offset])
        if self.is_exact:
            return
        place = plant.of.object(name).q
        names = plant.of.q_names[place]
        self.first, self.is_free = place.start, len(names) == 7
        self.is_planar = names[-1].endswith(".yaw")
        self.n = 2 if self.is_planar else 3
        self.towards = [self._direction(self.n), self._direction(3) if self.n == 3 else np.array([0.0, 0.0, 1.0])] if any(given.offset) else [0.0, 0.0]

    def _direction(self, n: int) -> np.ndarray:
        """A unit vector, evenly drawn."""
        vector = self.random.normal(size=n)
        return vector / np.linalg.norm(vector)

    def measure(self, q: np.ndarray) -> np.ndarray:
        """q (nq) with its errors."""
        if self.is_exact:
            return q.copy()
        q, at = q.copy(), self.first
        shift = self.offset[0] * self.towards[0] + self.noise[0] * self.random.normal(size=self.n)
        turn = self.offset[1] * self.towards[1] + self.noise[1] * self.random.normal(size=3)
        q[at : at + self.n] += shift
        if self.is_free:
            by, turned = np.zeros(4), np.zeros(4)
            angle = float(np.linalg.norm(turn))
            mujoco.mju_axisAngle2Quat(by, turn / max(angle, 1e-300), angle)
            mujoco.mju_mulQuat(turned, by, q[at + 3 : at + 7])
            q[at + 3 : at + 7] = turned
        elif self.is_planar:
            q[at + 2] += turn[2]
        return q


class Late:
    """Commands that take effect some periods after they were given."""

    def __init__(self, u: np.ndarray, periods: int) -> None:
        self.queue = deque([u] * periods)

    def take(self, u: np.ndarray) -> np.ndarray:
        """What is in effect in the period for which u was given."""
        self.queue.append(u)
        return self.queue.popleft()


class Push:
    """A horizontal force on one object for a short time, in a direction drawn for each episode."""

    LENGTH = 0.1  # s

    def __init__(self, plant: Plant, name: str, given: argparse.Namespace, seed: int) -> None:
        # Of an articulated object the link at its end.
        own = [body for body in range(plant.model.nbody) if plant.model.body(body).name.split("/")[0] == name]
        self.plant, self.body = plant, own[-1]
        weights, begin = given.push
        angle = np.random.default_rng(seed).uniform(0.0, 2.0 * math.pi)
        weight = GRAVITY * plant.model.body_mass[self.body]
        self.force = weights * weight * np.array([math.cos(angle), math.sin(angle), 0.0])
        length = round(self.LENGTH / plant.period) if weights else 0
        self.periods = range(round(begin / plant.period), round(begin / plant.period) + length)

    def apply(self, period: int) -> None:
        """The force of the control period with this number."""
        self.plant.data.xfrc_applied[self.body, :3] = self.force if period in self.periods else 0.0
