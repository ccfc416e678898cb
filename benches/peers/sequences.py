"""Goal after goal with MuJoCo as the plant: `fingertip mpc TASK --stdio` plans and draws the goals, MuJoCo moves.

    python3 benches/peers/sequences.py assets/tasks/allegro_cube_sequence.toml … [--by sampling] [--episodes N] [--binary PATH] [--json FILE] [-- PLANNER OPTIONS]

Prints a line per sequence and a table with a row per task. Where MuJoCo's own state is no number any more, which it begins anew from, the
sequence has ended by the plant. With `--by sampling` commands are those of predictive sampling (sampling.py), 20 in a second, on MuJoCo's own model with all
that the plant is, in steps of 5 ms; the planner draws the goals and measures. See plant.py for how a scene becomes MuJoCo's, and perturbed.py for plants other
than believed.
"""

import argparse
import copy
import json
import statistics
import sys
import time
import tomllib
from pathlib import Path

import numpy as np

import perturbed
import sampling
from mpc import BINARY, REST, Planner, machine
from plant import Plant


ROLLOUT_STEP = 0.005  # of sampling, s


class BySampling:
    """Predictive sampling in the planner's place."""

    def __init__(self, plant: Plant, name: str, given: argparse.Namespace) -> None:
        model = copy.copy(plant.model)
        model.opt.timestep = ROLLOUT_STEP
        place = model.joint(model.body(name).jntadr[0]).qposadr[0]
        self.sampler = sampling.Sampler(model, place, given)
        self.parts = round(plant.period / sampling.PERIOD)

    def hold(self, plant: Plant, goal: dict) -> list[float]:
        """One control period: what each command took, ms."""
        spent = []
        for _ in range(self.parts):
            clock = time.perf_counter()
            u = self.sampler.command(plant.data, np.array(goal["position"]), np.array(goal["quaternion"]))
            spent.append(1e3 * (time.perf_counter() - clock))
            plant.hold(u[plant.places.ctrl], self.parts)
        return spent


def run(planner: Planner, plant: Plant, number: int, given: argparse.Namespace) -> dict:
    """One sequence, until the planner says that it has ended."""
    begin = planner.ask({"episode": number, "seed": given.seed})
    u = np.array(begin["start"]["u"])
    plant.reset(np.array(begin["start"]["q"]), u)
    for _ in range(round(REST / plant.period)):
        plant.hold(u)
    sensor = perturbed.Sensor(plant, begin["goal"]["object"], given, 1000 + number)
    late = perturbed.Late(u, given.latency)
    sampler = BySampling(plant, begin["goal"]["object"], given) if given.by == "sampling" else None
    if sampler:
        sampler.sampler.begin(plant.data, number)
    push = perturbed.Push(plant, begin["goal"]["object"], given, 2000 + number)
    times, ms, does, retreats, steps, periods, before = [], [], {}, [], 0, 0, None
    place = [i for i, name in enumerate(begin["q_names"]) if name.rpartition(".")[0] == begin["goal"]["object"]][:3]
    while True:
        question = {"q": sensor.measure(plant.q()).tolist()}
        if given.latency and not given.untold:
            question["latency_ms"] = 1e3 * given.latency * plant.period
        answer = planner.ask(question)
        if answer["success"]:
            times.append(periods * plant.period)
            periods = 0
        doing = (answer.get("supervisor") or {}).get("does")
        if doing != before:
            if before == "retreat":
                retreats.append(float(np.linalg.norm(plant.q()[place] - from_there)))
            from_there = plant.q()[place]
            does[doing] = does.get(doing, 0) + 1
        before = doing
        if answer["done"] or len(times) >= (given.goals or len(times) + 1):
            break
        if plant.is_lost():
            answer["ended"] = "plant"
            break
        periods += 1
        push.apply(steps)
        steps += 1
        if sampler:
            ms += sampler.hold(plant, answer["goal"])
        else:
            ms.append(answer["ms"])
            plant.hold(late.take(np.array(answer["u"])))
    return {"sequence": number, "goals": len(times), "ended": answer["ended"] or "all goals", "seconds": times,
            "errors": answer["errors"], "ms": statistics.mean(ms), "does": does,
            "retreats_mm": [1e3 * x for x in retreats]}


def table(of: str, rows: list[dict]) -> str:
    """Markdown, with a row for each `of`."""
    lines = [
        f"| {of} | sequences | goals in a row, mean / median | each | s a goal, median | ended by drop / stall / plant / all goals | ms a command, mean |",
        "|---|--:|--:|---|--:|--:|--:|",
    ]
    for row in rows:
        goals = [one["goals"] for one in row["sequences"]]
        seconds = [x for one in row["sequences"] for x in one["seconds"]]
        ends = [sum(one["ended"] == end for one in row["sequences"]) for end in ("drop", "stall", "plant", "all goals")]
        cells = [row[of], len(goals), f"{statistics.mean(goals):.1f} / {statistics.median(goals):g}", ", ".join(map(str, sorted(goals)))]
        cells += [f"{statistics.median(seconds):.1f}" if seconds else "–", " / ".join(map(str, ends))]
        cells += [f"{statistics.mean(one['ms'] for one in row['sequences']):.1f}"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", type=Path)
    parser.add_argument("--by", default="planner", choices=("planner", "sampling"))
    parser.add_argument("--binary", default=str(BINARY))
    parser.add_argument("--episodes", type=int, default=5, help="sequences")
    parser.add_argument("--first", type=int, default=0, help="number of the first sequence")
    parser.add_argument("--goals", type=int, help="most goals of a sequence, if fewer than the task's")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scene", type=Path, help="the plant's scene, where it is not the planner's")
    parser.add_argument("--json", type=Path, help="every sequence, for programs")
    sampling.arguments(parser)
    perturbed.arguments(parser)
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    arguments, options = parser.parse_args(sys.argv[1:at]), sys.argv[at + 1 :]
    if arguments.by == "sampling" and (arguments.latency or any(arguments.noise + arguments.offset)):
        parser.error("--by sampling: expected a plant without --latency, --noise and --offset, as sampling has the true state at once")
    rows = []
    for path in arguments.tasks:
        planner = Planner([arguments.binary, "mpc", str(path), "--stdio", *options])
        period = planner.ask({"episode": arguments.first, "seed": arguments.seed})["period"]
        plant = Plant(arguments.scene or path.parent / tomllib.loads(path.read_text())["scene"], period)
        perturbed.change(plant, arguments)
        sequences = []
        for number in range(arguments.first, arguments.first + arguments.episodes):
            sequences.append(run(planner, plant, number, arguments))
            told = {key: value for key, value in sequences[-1].items() if key != "seconds"}
            print(f"{path.stem} {told}", file=sys.stderr, flush=True)
        planner.close()
        rows.append({"task": path.stem, "sequences": sequences})
    print(table("task", rows))
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": machine(arguments), "tasks": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
