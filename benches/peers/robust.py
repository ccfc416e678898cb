"""Tasks on plants other than believed: the tables of MPC.md, one `mpc.py` after another.

    python3 benches/peers/robust.py FOLDER [TASK.toml …] [--episodes N] [--seed S] [--only WORD …] [--binary PATH] [-- PLANNER OPTIONS]
    python3 benches/peers/robust.py FOLDER --every [--episodes N] [--seed S] [--binary PATH]

Each cell's episodes are kept in FOLDER, and what is there already is not run again, so that a run may be ended and begun anew; use another
folder for another binary. Prints Markdown: successes, drops in brackets, mean mm, mean rad, of the true state at the end. `--every` takes
every shipped task but those of many goals in a row, on our own steps too; its rows go to benches/results/tasks.csv, and MPC.md is made anew.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

import mujoco

from mpc import BINARY, ROOT, number, processor

sys.path.insert(0, str(ROOT / "benches" / "results"))
import render

FOLDER_OF_TASKS = ROOT / "assets" / "tasks"
TASKS = [FOLDER_OF_TASKS / f"{name}.toml" for name in ("tips_air", "allegro_cube", "two_arms", "hand_turn")]
# In the middle of an episode of each task, s: when a push begins.
MIDDLE = {"tips_air": 1.0, "allegro_cube": 3.0, "two_arms": 7.5, "hand_turn": 6.0}
ALL = "--friction 0.75 --mass 1.15 --size 1.015 --stiffness 0.85 --noise 0.5 0.5 --latency 1"
PLANTS = {
    "nominal": "",
    "friction ½": "--friction 0.5",
    "friction 1½": "--friction 1.5",
    "mass 0.7": "--mass 0.7",
    "mass 1.3": "--mass 1.3",
    "size 0.97": "--size 0.97",
    "size 1.03": "--size 1.03",
    "stiffness 0.7": "--stiffness 0.7",
    "stiffness 1.3": "--stiffness 1.3",
    "noise 1 mm, 1°": "--noise 1 1",
    "offset 3 mm, 3°": "--offset 3 3",
    "latency of a period": "--latency 1",
    "latency of two": "--latency 2",
    "push of three weights": "--push 3 {middle}",
    "all at once": ALL,
}
# The plants of the table of every task: first our own steps, by their names in `fingertip mpc --plant`.
OWN = ("quasi-dynamic", "second-order")
EVERY = (*OWN, "nominal", "friction ½", "size 0.97", "size 1.03")


def cell(task: Path, plant: str, given: argparse.Namespace, options: list[str]) -> str:
    """What a cell of the table says, after its episodes if they are not there yet."""
    file = given.folder / f"{task.stem}, {plant}, seed {given.seed}.json"
    if not file.exists():
        perturbation = PLANTS[plant].format(middle=MIDDLE.get(task.stem, 3.0)).split()
        command = [sys.executable, str(Path(__file__).with_name("mpc.py")), str(task), "--binary", given.binary, "--json", f"{file}.new"]
        command += ["--episodes", str(given.episodes), "--seed", str(given.seed), *perturbation, "--", *options]
        environment = {**os.environ, "RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        with Path(f"{file}.log").open("w") as log:
            if subprocess.run(command, env=environment, stdout=log, stderr=log, preexec_fn=lambda: os.nice(2)).returncode != 0:
                return f"failed, see {log.name}"
        Path(f"{file}.new").rename(file)
    row = json.loads(file.read_text())["tasks"][0]["summary"]
    drops = f" ({row['drops']})" if row["drops"] else ""
    return f"{row['successes']}{drops}; {number(row['position_mean'], 1e3, 1)}, {number(row['rotation_mean'], 1, 3)}"


def own_cell(task: Path, plant: str, given: argparse.Namespace) -> int:
    """How many episodes succeed on one of our own steps."""
    file = given.folder / f"{task.stem}, {plant}, seed {given.seed}.jsonl"
    if not file.exists():
        command = [given.binary, "mpc", str(task), "--plant", plant, "--json"]
        command += ["--episodes", str(given.episodes), "--seed", str(given.seed)]
        environment = {**os.environ, "RAYON_NUM_THREADS": "1"}
        # The exit status tells of episodes that do not succeed, too.
        made = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.nice(2))
        file.write_text(made.stdout)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(lines) == given.episodes, f"{file}: expected {given.episodes} episodes, got {len(lines)}"
    return sum(line["success"] is not None for line in lines)


def every(given: argparse.Namespace) -> None:
    """A row for each task: its successes on every plant, and the errors on MuJoCo's nominal one."""
    described = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    measured = {
        "date": f"{datetime.date.today()}",
        "commit": described.stdout.strip(),
        "machine": f"{processor()}, {os.cpu_count()} cores, beside other work",
        "with": f"MuJoCo {mujoco.__version__}",
        "command": "python3 benches/peers/robust.py FOLDER --every --seed SEED",
    }
    columns, _ = render.read("tasks")
    rows = []
    for task in sorted(FOLDER_OF_TASKS.glob("*.toml")):
        if task.stem.endswith("_sequence"):
            continue
        row = [task.stem, given.seed, given.episodes, *(own_cell(task, plant, given) for plant in OWN)]
        cells = [cell(task, plant, given, []) for plant in EVERY[len(OWN) :]]
        if failed := [said for said in cells if said.startswith("failed")]:
            sys.exit(f"{task.stem}: {failed[0]}")
        said = [text.split("; ") for text in cells]
        # Successes and drops in brackets; then the errors.
        row += [successes.split(" ")[0] for successes, _ in said] + said[0][1].split(", ")
        rows.append(measured | dict(zip(columns, row, strict=True)))
        print(row, flush=True)
    render.append("tasks", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("tasks", nargs="*", type=Path, default=TASKS)
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=[""], metavar="WORD", help="plants whose names begin with one of these")
    parser.add_argument("--every", action="store_true", help="every task on our own steps and four of the plants: rows of CSV")
    parser.add_argument("--binary", default=str(BINARY))
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given, options = parser.parse_args(sys.argv[1:at]), sys.argv[at + 1 :]
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.every:
        return every(given)
    print("| plant | " + " | ".join(task.stem for task in given.tasks) + " |\n|---|" + "---|" * len(given.tasks), flush=True)
    for plant in PLANTS:
        if plant.startswith(tuple(given.only)):
            print(f"| {plant} | " + " | ".join(cell(task, plant, given, options) for task in given.tasks) + " |", flush=True)


if __name__ == "__main__":
    main()
