"""Our tasks with MuJoCo as the plant: `fingertip mpc TASK --stdio` plans, MuJoCo moves.

    python3 benches/peers/mpc.py assets/tasks/tips_ground.toml … [--episodes N] [--binary PATH] [--json FILE] [-- PLANNER OPTIONS]

Prints a line per episode and a table with a row per task; see plant.py for how a scene becomes MuJoCo's, and perturbed.py for plants other
than believed. Errors and successes are those of the true state, computed here, and so is the end of an episode. Where the planner measures
exactly, what it tells has to agree.
"""

import argparse
import datetime
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path

import mujoco
import numpy as np

import perturbed
from plant import HARD, SOFT, TABLE, Plant

ROOT = Path(__file__).resolve().parents[2]
BINARY = ROOT / "target" / "release" / "fingertip"
# Errors of the planner and ours are the same formulas on the same numbers.
AGREEMENT = 1e-9
# An object is dropped when it comes to be so much farther from its goal than it was at the start, m.
DROPPED = 0.05
# Push-T's success: at most so much of the goal is not covered.
COVERED = 0.05
# What the names of an object's numbers end in.
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz", "yaw")
# Seconds that the plant gets to come to rest at the start, before anything counts.
REST = 0.5


class Planner:
    """The process on the other side of the pipe."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, question: dict) -> dict:
        """One line there, one line back."""
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the planner ended with status {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"the planner says: {answer['error']}")
        return answer

    def close(self) -> None:
        """No more lines."""
        self.process.stdin.close()
        self.process.wait()


def clipped(polygon: np.ndarray, by: np.ndarray) -> np.ndarray:
    """The part of a polygon in a convex one, both counterclockwise (Sutherland and Hodgman)."""
    for a, b in zip(by, np.roll(by, -1, axis=0)):
        if not len(polygon):
            break
        (x, y), kept = b - a, []
        heights = x * (polygon[:, 1] - a[1]) - y * (polygon[:, 0] - a[0])
        for (p, h), (q, k) in zip(zip(polygon, heights), zip(np.roll(polygon, -1, axis=0), np.roll(heights, -1))):
            if h >= 0:
                kept.append(p)
            if (h >= 0) != (k >= 0):
                kept.append(p + h / (h - k) * (q - p))
        polygon = np.array(kept)
    return polygon


def area(polygon: np.ndarray) -> float:
    """Gauss's formula."""
    if not len(polygon):
        return 0.0
    (x, y), (u, v) = polygon.T, np.roll(polygon, -1, axis=0).T
    return 0.5 * float(np.sum(x * v - u * y))


class Coverage:
    """How much of its goal a planar object of boxes covers, as Push-T measures it: the area that both share, of the goal's."""

    def __init__(self, entry: dict, goal: dict) -> None:
        corners = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
        self.parts = [corners * own["box"][:2] + own.get("at", [0.0, 0.0, 0.0])[:2] for own in entry["collision"]]
        self.goal = self.at([*goal["position"][:2], goal["yaw"]])

    def at(self, pose: np.ndarray) -> list[np.ndarray]:
        """The boxes in the world."""
        x, y, yaw = pose
        turn = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
        return [part @ turn + [x, y] for part in self.parts]

    def __call__(self, pose: np.ndarray) -> float:
        shared = sum(area(clipped(part, goal)) for part in self.at(pose) for goal in self.goal)
        return shared / sum(area(goal) for goal in self.goal)


def coverage_of(scene: dict, goal: dict) -> Coverage | None:
    """That of an object of several boxes whose goal is a place and a yaw."""
    (entry,) = [entry for entry in scene["object"] if entry["name"] == goal["object"]] or [{}]
    is_flat = entry.get("freedom") == "planar" and all("box" in own and "rpy" not in own for own in entry.get("collision", [{}]))
    return Coverage(entry, goal) if is_flat and goal.get("position") and goal.get("yaw") is not None else None


class Part:
    """The goal of one object or robot, and where its numbers are in q."""

    def __init__(self, names: list[str], name: str, goal: dict) -> None:
        self.goal, own = goal, {part: names.index(f"{name}.{part}") for part in POSE if f"{name}.{part}" in names}
        self.pose = [own[part] for part in ("x", "y", "yaw") if part in own]
        self.position = [own[axis] for axis in "xyz" if axis in own]
        self.quaternion = [own[part] for part in ("qw", "qx", "qy", "qz") if part in own]
        self.yaw = own.get("yaw")
        self.joints = {names.index(f"{name}/{joint}"): at for joint, at in (goal.get("joints") or {}).items()}

    def errors(self, q: np.ndarray) -> dict[str, float]:
        """Those of this part."""
        errors = {}
        if self.goal.get("position") is not None:
            wanted = self.goal["position"][: len(self.position)]
            errors["position"] = float(np.linalg.norm(q[self.position] - wanted))
        if self.goal.get("axis") is not None:
            axis, (a, b) = np.array(self.goal["axis"], float), np.zeros((2, 3))
            mujoco.mju_rotVecQuat(a, axis, q[self.quaternion] / np.linalg.norm(q[self.quaternion]))
            mujoco.mju_rotVecQuat(b, axis, np.array(self.goal["quaternion"], float))
            errors["rotation"] = float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))
            errors["quaternion"] = float(np.sin(0.5 * errors["rotation"]) ** 2)
        elif self.goal.get("quaternion") is not None:
            turn, wanted = q[self.quaternion] / np.linalg.norm(q[self.quaternion]), np.array(self.goal["quaternion"], float)
            errors["quaternion"] = float(1.0 - (turn @ wanted) ** 2)
            between = np.zeros(4)
            mujoco.mju_mulQuat(between, turn, wanted * [1, -1, -1, -1])
            errors["rotation"] = float(2.0 * np.arctan2(np.linalg.norm(between[1:]), abs(between[0])))
        elif self.goal.get("yaw") is not None:
            turned = q[self.yaw] - self.goal["yaw"]
            errors["rotation"] = float(abs(np.arctan2(np.sin(turned), np.cos(turned))))
        if self.joints:
            errors["joints"] = float(max(abs(q[place] - at) for place, at in self.joints.items()))
        return errors


class Measure:
    """Errors and success as the task defines them, computed here: of several objects the largest."""

    def __init__(self, task: dict, names: list[str], goal: dict, coverage: Coverage | None) -> None:
        self.coverage = coverage
        self.limits = task.get("success", {})
        self.held = self.limits.get("held", 1)
        self.run, self.success = 0, False
        self.parts = [Part(names, goal["object"], goal), *(Part(names, *other) for other in (goal.get("others") or {}).items())]

    def errors(self, q: np.ndarray) -> dict[str, float]:
        """Distance, angle, 1 − ⟨q, q*⟩² and the joint farthest from the goal, as far as it has them."""
        all_of = [part.errors(q) for part in self.parts]
        errors = {key: max(own[key] for own in all_of if key in own) for key in dict.fromkeys(key for own in all_of for key in own)}
        if self.coverage is not None:
            errors["uncovered"] = 1.0 - self.coverage(q[self.parts[0].pose])
        return errors

    def take(self, q: np.ndarray) -> dict[str, float]:
        """Errors of a measured state; success is counted along."""
        errors = self.errors(q)
        self.run = self.run + 1 if self.is_near(errors) else 0
        self.success |= self.run >= self.held
        return errors

    def is_near(self, errors: dict[str, float]) -> bool:
        """Are these within the limits of success?"""
        wanted = [key for key in ("position", "rotation", "quaternion", "joints") if key in self.limits]
        return bool(wanted) and all(errors[key] < self.limits[key] for key in wanted if key in errors)


@dataclass
class Episode:
    """What became of one."""

    episode: int
    start: dict
    final: dict = field(default_factory=dict)
    best: dict = field(default_factory=dict)
    success: bool = False
    dropped: bool = False
    steps: int = 0
    ms: list[float] = field(default_factory=list)
    iterations: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    deepest: float = 0.0
    disagreement: float = 0.0

    def told(self) -> str:
        """A line about it."""
        verdict = ("success" if self.success else "no success") + (", dropped" if self.dropped else "")
        final = ", ".join(f"{key} {value:.4f} (best {self.best[key]:.4f})" for key, value in self.final.items())
        return f"{verdict} after {self.steps} steps; {final}; {statistics.median(self.ms or [0.0]):.2f} ms"


def run(
    planner: Planner, plant: Plant, task: dict, number: int, given: argparse.Namespace, record: list | None
) -> Episode:
    """One episode from its start until the planner says that it is done."""
    seed = given.seed
    begin = planner.ask({"episode": number, "seed": seed})
    q, u = np.array(begin["start"]["q"]), np.array(begin["start"]["u"])
    plant.reset(q, u)
    for _ in range(round(REST / plant.period)):
        plant.hold(u)
    measure = Measure(task, begin["q_names"], begin["goal"], coverage_of(plant.scene, begin["goal"]))
    result = Episode(number, measure.errors(plant.q()))
    sensor = perturbed.Sensor(plant, begin["goal"]["object"], given, 1000 + number)
    late = perturbed.Late(u, given.latency)
    push = perturbed.Push(plant, begin["goal"]["object"], given, 2000 + number)
    is_exact = sensor.is_exact
    while True:
        q = plant.q()
        question = {"q": sensor.measure(q).tolist()}
        if given.latency and not given.untold:
            question["latency_ms"] = 1e3 * given.latency * plant.period
        if given.velocity:
            question["velocity"] = plant.v().tolist()
        answer = planner.ask(question)
        errors = measure.take(q)
        result.final = errors
        result.best = {key: min(value, result.best.get(key, value)) for key, value in errors.items()}
        told = [answer["errors"].get(key) for key in errors if is_exact]
        result.disagreement = max([result.disagreement, *(abs(a - b) for a, b in zip(told, errors.values()) if a is not None)])
        result.dropped |= errors.get("position", 0.0) > result.start.get("position", 0.0) + DROPPED
        # What was reached before a push, and is not held beyond it, is nothing that withstands it.
        result.success = (result.success and result.steps != push.periods.stop) or measure.run >= measure.held
        if is_exact and answer["success"] != measure.success:
            raise RuntimeError(f"episode {number}: the planner's success is {answer['success']}, computed here {measure.success}")
        # By wrong measurements the planner cannot tell the end.
        stops = result.success and measure.limits.get("stop", True)
        if answer.get("done") if is_exact else stops or result.steps + 1 >= begin["cap"]:
            break
        push.apply(result.steps)
        result.steps += 1
        result.ms.append(answer["ms"])
        result.iterations += answer["iterations"]
        result.statuses[answer["status"]] = result.statuses.get(answer["status"], 0) + 1
        plant.hold(late.take(np.array(answer["u"])))
        result.deepest = min(result.deepest, float(min(plant.data.contact.dist, default=0.0)))
        if record is not None:
            record.append({"q": q.tolist(), "u": answer["u"], "next": plant.q().tolist(), "predicted": answer["q_predicted"][0]})
    if result.disagreement > AGREEMENT:
        print(f"episode {number}: errors differ from the planner's by {result.disagreement:.1e}", file=sys.stderr)
    return result


def summary(name: str, plant: Plant, episodes: list[Episode]) -> dict:
    """A row of the table."""
    times = [ms for episode in episodes for ms in episode.ms]
    final = lambda key: [episode.final[key] for episode in episodes if key in episode.final]
    mean = lambda values: statistics.mean(values) if values else None
    median = lambda values: statistics.median(values) if values else None
    statuses: dict[str, int] = {}
    for episode in episodes:
        for key, count in episode.statuses.items():
            statuses[key] = statuses.get(key, 0) + count
    return {
        "task": name,
        "episodes": len(episodes),
        "successes": sum(episode.success for episode in episodes),
        "covered": sum(episode.best.get("uncovered", 1.0) <= COVERED for episode in episodes),
        "drops": sum(episode.dropped for episode in episodes),
        "position_mean": mean(final("position")),
        "position_median": median(final("position")),
        "rotation_mean": mean(final("rotation")),
        "rotation_median": median(final("rotation")),
        "steps_mean": mean([episode.steps for episode in episodes]),
        "ms_median": median(times),
        "ms_worst": max(times, default=None),
        "hz": 1e3 / median(times) if times else None,
        "iterations": mean([episode.iterations / max(1, episode.steps) for episode in episodes]),
        "statuses": statuses,
        "deepest_mm": 1e3 * min((episode.deepest for episode in episodes), default=0.0),
        "settling_s": plant.settling(),
    }


def number(value: float | None, scale: float, digits: int) -> str:
    """A figure, or a dash."""
    return "–" if value is None else f"{scale * value:.{digits}f}"


def table(rows: list[dict]) -> str:
    """Markdown."""
    lines = [
        "| task | episodes | successes | drops | position, mm, mean / median | rotation, rad, mean / median | steps "
        "| ms, median / worst | Hz |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        position = f"{number(row['position_mean'], 1e3, 1)} / {number(row['position_median'], 1e3, 1)}"
        rotation = f"{number(row['rotation_mean'], 1, 4)} / {number(row['rotation_median'], 1, 4)}"
        times = f"{number(row['ms_median'], 1, 2)} / {number(row['ms_worst'], 1, 1)}"
        cells = [row["task"], row["episodes"], row["successes"], row["drops"], position, rotation]
        cells += [number(row["steps_mean"], 1, 0), times, number(row["hz"], 1, 0)]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def processor() -> str:
    """Its name, where the system tells."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def machine(arguments: argparse.Namespace) -> dict:
    """Where and with what."""
    said = subprocess.run([arguments.binary, "--version"], stdout=subprocess.PIPE, text=True)
    return {
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "mujoco": mujoco.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "fingertip": said.stdout.strip(),
        "threads": os.environ.get("RAYON_NUM_THREADS", "all"),
        "command": shlex.join(["python3", *(part.replace(f"{ROOT}{os.sep}", "") for part in sys.argv)]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", type=Path)
    parser.add_argument("--binary", default=str(BINARY))
    parser.add_argument("--episodes", type=int, help="how many; else all goals of the task's file, or 20")
    parser.add_argument("--first", type=int, default=0, help="number of the first episode")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scene", type=Path, help="the plant's scene, where it is not the planner's")
    parser.add_argument("--table", type=float, default=TABLE, help="friction coefficient under objects in the plane")
    parser.add_argument("--standing", action="store_true", help="planar objects stand on a ground by contacts, see plant.py")
    parser.add_argument("--soft", action="store_true", help="contacts as soft as MuJoCo's default, see plant.py")
    parser.add_argument("--json", type=Path, help="every episode, for programs")
    parser.add_argument("--record", type=Path, help="every control period: q, u, the next q and the predicted one, as JSON lines")
    perturbed.arguments(parser)
    if "--" in sys.argv:
        at = sys.argv.index("--")
        arguments, options = parser.parse_args(sys.argv[1:at]), sys.argv[at + 1 :]
    else:
        arguments, options = parser.parse_args(), []
    rows, everything = [], {"machine": machine(arguments), "tasks": []}
    record = [] if arguments.record else None
    for path in arguments.tasks:
        task = tomllib.loads(path.read_text())
        scene = arguments.scene or path.parent / task["scene"]
        planner = Planner([arguments.binary, "mpc", str(path), "--stdio", *options])
        first = planner.ask({"episode": arguments.first, "seed": arguments.seed})
        contact = SOFT if arguments.soft else HARD
        plant = Plant(scene, first["period"], table=arguments.table, contact=contact, standing=arguments.standing)
        perturbed.change(plant, arguments)
        count = arguments.episodes or (first["episodes"] or 20) - arguments.first
        episodes = []
        for number_of in range(arguments.first, arguments.first + count):
            episode = run(planner, plant, task, number_of, arguments, record)
            episodes.append(episode)
            print(f"{path.stem} {number_of}: {episode.told()}", file=sys.stderr, flush=True)
        planner.close()
        row = summary(path.stem, plant, episodes)
        rows.append(row)
        everything["tasks"].append({"summary": row, "episodes": [asdict(episode) for episode in episodes]})
        if any("uncovered" in episode.best for episode in episodes):
            print(f"{path.stem}: {row['covered']} of {len(episodes)} cover {1 - COVERED:.0%} of the goal", file=sys.stderr)
        print(f"{path.stem}: statuses {row['statuses']}, deepest overlap {row['deepest_mm']:.2f} mm", file=sys.stderr)
    print(table(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(everything, indent=1) + "\n")
    if arguments.record:
        arguments.record.write_text("".join(json.dumps(line) + "\n" for line in record))


if __name__ == "__main__":
    main()
