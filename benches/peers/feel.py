"""Where a cube is that fingers turn, by touch alone: `fingertip.Smoother` beside MuJoCo's true poses.

    python3 benches/peers/feel.py [TASK.toml] [--episodes N] [--seconds S] [--seed S] [--no-palm] [--open] [--binary PATH] [--json FILE]

The planner (`fingertip mpc TASK --stdio`) turns the cube on MuJoCo, see mpc.py. 50 times a second the smoother gets the joints with 1e-3 rad of
noise, the net force on each fingertip and on the palm with 5 % of noise, and the command; the cube's pose at the start of each episode alone, off
by 1 mm and 0.01 rad in each direction. Its model is that of the plant: MuJoCo's boxes have sharp edges, where our scenes round them. Twice each
episode: once the planner sees true poses and the smoother looks on, once the planner sees nothing but the estimate. A goal is reached where the
true pose meets the task's limits. Needs the Python package `fingertip` beside `mujoco` and `numpy`.
"""

import argparse
import json
import math
import statistics
import sys
import time
import tomllib
from pathlib import Path

import mujoco
import numpy as np

import fingertip as ft
from mpc import BINARY, REST, ROOT, Measure, Planner, machine
from plant import Plant

TASK = ROOT / "assets" / "tasks" / "allegro_cube.toml"
JOINT = 1e-3  # rad
FORCE = 0.05  # of a force
RATE = 50  # measurements in a second
# Forces are off by what accelerates: they say what touches.
OPTIONS = {"force": [FORCE, math.inf]}
START = [1e-3, 0.01]  # m, rad


def net_forces(plant: Plant, bodies: list[int]) -> np.ndarray:
    """What all contacts do to each body, in world axes, N."""
    forces, one = np.zeros((len(bodies), 3)), np.zeros(6)
    for k, contact in enumerate(plant.data.contact):
        mujoco.mj_contactForce(plant.model, plant.data, k, one)
        force = contact.frame.reshape(3, 3).T @ one[:3]
        for side, sign in ((contact.geom1, -1.0), (contact.geom2, 1.0)):
            body = plant.model.geom_bodyid[side]
            if body in bodies:
                forces[bodies.index(body)] += sign * force
    return forces


def turned(by: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    """A quaternion turned by a rotation vector."""
    turn, result, angle = np.zeros(4), np.zeros(4), float(np.linalg.norm(by))
    mujoco.mju_axisAngle2Quat(turn, by / max(angle, 1e-300), angle)
    mujoco.mju_mulQuat(result, turn, quaternion)
    return result


class Feeling:
    """The smoother, with what it is given of the plant, and how far off it is."""

    def __init__(self, plant: Plant, task: dict, tips: list[str], names: list[str], given: argparse.Namespace) -> None:
        self.plant, self.tips = plant, [plant.model.body(tip).id for tip in tips]
        scene = given.task.parent / task["scene"]
        sharp = "\n".join(line for line in scene.read_text().splitlines() if not line.startswith("rounding"))
        model = ft.Model.from_toml(sharp, scene.parent)
        # Contact is as hard as the scene has it; the task's is softer, for plans.
        sim = ft.Quasidynamic(model, h=1 / RATE, epsilon=task["epsilon"])
        self.smoother = ft.Smoother(sim, tips, start=START, joint=JOINT, **(OPTIONS | json.loads(given.options)))
        self.object = task["goal"]["object"]
        self.first = next(i for i, name in enumerate(names) if name.startswith(f"{self.object}."))
        self.random = np.random.default_rng(given.seed)

    def begin(self) -> None:
        """The cube is seen."""
        q, at = self.plant.q(), self.first
        q[at : at + 3] += START[0] * self.random.normal(size=3)
        q[at + 3 : at + 7] = turned(START[1] * self.random.normal(size=3), q[at + 3 : at + 7])
        self.smoother.reset(q)
        self.errors, self.deviations, self.ms = [], [], []

    def feel(self, u: np.ndarray) -> np.ndarray:
        """The estimate after a period."""
        true, at = self.plant.q(), self.first
        measured = true + JOINT * self.random.normal(size=len(true))
        measured[at : at + 7] = np.nan
        forces = net_forces(self.plant, self.tips)
        sizes = np.linalg.norm(forces, axis=1, keepdims=True)
        forces += FORCE * sizes * self.random.normal(size=forces.shape)
        clock = time.perf_counter()
        q = self.smoother.step(u, measured, forces)
        self.ms.append(1e3 * (time.perf_counter() - clock))
        turn = abs(q[at + 3 : at + 7] @ true[at + 3 : at + 7])
        self.errors.append([1e3 * np.linalg.norm(q[at : at + 3] - true[at : at + 3]), 2 * np.degrees(np.arccos(min(1.0, turn)))])
        covariance = self.smoother.covariance(self.object)
        largest = [np.sqrt(np.linalg.eigvalsh(block)[-1]) for block in (covariance[:3, :3], covariance[3:, 3:])]
        self.deviations.append([1e3 * largest[0], np.degrees(largest[1])])
        return q


def run(planner: Planner, plant: Plant, feeling: Feeling, task: dict, number: int, given: argparse.Namespace, *, closed: bool) -> dict:
    """One episode of so many seconds, or until the planner says that it has ended."""
    begin = planner.ask({"episode": number, "seed": given.seed})
    u = np.array(begin["start"]["u"])
    plant.reset(np.array(begin["start"]["q"]), u)
    for _ in range(round(REST / plant.period)):
        plant.hold(u)
    feeling.begin()
    measure, seen, parts = Measure(task, begin["q_names"], begin["goal"], None), feeling.smoother.q, round(plant.period * RATE)
    for _ in range(round(given.seconds / plant.period)):
        measure.take(plant.q())
        answer = planner.ask({"q": (seen if closed else plant.q()).tolist()})
        if answer["done"] or plant.is_lost():
            break
        u = np.array(answer["u"])
        for _ in range(parts):
            plant.hold(u, parts)
            seen = feeling.feel(u)
    errors, deviations = np.array(feeling.errors), np.array(feeling.deviations)
    return {
        "episode": number, "closed": closed, "seconds": len(errors) / RATE, "success": measure.success, "errors": measure.errors(plant.q()),
        "mean": errors.mean(0).tolist(), "largest": errors.max(0).tolist(), "last": errors[-1].tolist(), "deviation": deviations.mean(0).tolist(),
        "ms": statistics.mean(feeling.ms),
    }


def table(rows: list[dict]) -> str:
    """Markdown."""
    lines = ["| the planner sees | episodes | s | goals | mm, mean / median of episodes / largest | degrees | deviation | ms |", "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for closed in (False, True):
        own = [row for row in rows if row["closed"] == closed]
        if not own:
            continue
        seconds, of = [row["seconds"] for row in own], lambda key: np.array([row[key] for row in own])
        mean, middle, most = np.average(of("mean"), axis=0, weights=seconds), np.median(of("mean"), axis=0), of("largest").max(0)
        errors = [f"{mean[k]:.2f} / {middle[k]:.2f} / {most[k]:.1f}" for k in range(2)]
        deviation = "{:.2f} mm, {:.2f}°".format(*np.average(of("deviation"), axis=0, weights=seconds))
        cells = ["the estimate" if closed else "true poses", len(own), f"{sum(seconds):.0f}", int(of("success").sum()), *errors, deviation, f"{of('ms').mean():.1f}"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="?", type=Path, default=TASK)
    parser.add_argument("--seconds", type=float, default=6.0, help="of an episode, at most")
    parser.add_argument("--episodes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--options", default="{}", help="of the smoother, as JSON")
    parser.add_argument("--no-palm", action="store_true", help="the palm feels nothing")
    parser.add_argument("--open", action="store_true", help="only with the planner that sees true poses")
    parser.add_argument("--binary", default=str(BINARY))
    parser.add_argument("--json", type=Path, help="every episode, for programs")
    given = parser.parse_args()
    task = tomllib.loads(given.task.read_text())
    planner = Planner([given.binary, "mpc", str(given.task), "--stdio"])
    begin = planner.ask({"episode": 0, "seed": given.seed})
    plant = Plant(given.task.parent / task["scene"], begin["period"])
    things = [*task["reach"]["points"], *([] if given.no_palm else ["palm"])]
    feeling = Feeling(plant, task, things, begin["q_names"], given)
    rows = []
    for number in range(given.episodes):
        for closed in (False,) if given.open else (False, True):
            rows.append(run(planner, plant, feeling, task, number, given, closed=closed))
            print(rows[-1], file=sys.stderr, flush=True)
    planner.close()
    print(table(rows))
    if given.json:
        given.json.write_text(json.dumps({"machine": machine(given), "episodes": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
