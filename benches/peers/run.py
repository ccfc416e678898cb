"""Our simulator and its peers on the same scene, one after another; a table of ratios to stdout and to benches/results/peers.csv,
of which RESULTS.md is made.

    python3 benches/peers/run.py [--binary PATH] [--kappa 100 10000]
"""

import argparse
import datetime
import json
import os
import platform
import shlex
import subprocess
import sys
import venv
from pathlib import Path

from scene import ROOT, SCENE_FILE

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "benches" / "results"))
import render

ENVIRONMENT = ROOT / "target" / "peers-venv"
THREADS = (1, 2)
WORLDS = (1, 64, 256, 1024)
LARGE_BATCH = 1024
# Both sides take turns so often: the least of a figure's medians counts, for machines change their speed while they run.
ROUNDS = 3
# Libraries inside the peers that thread by themselves; threads here are only those that are asked for.
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


class Runner:
    """Runs each side as its own process and remembers the commands."""

    def __init__(self, ours: list[str]) -> None:
        self.ours = ours
        self.python = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin") / "python"
        self.commands: list[str] = []

    def install(self) -> None:
        """The virtual environment of the peers, as requirements.txt pins it."""
        if not self.python.exists():
            venv.create(ENVIRONMENT, with_pip=True)
        requirements = str(HERE / "requirements.txt")
        subprocess.run([self.python, "-m", "pip", "install", "--quiet", "-r", requirements], check=True)

    def run(self, command: list[str]) -> dict:
        """The JSON object that a side prints."""
        line = shlex.join(part.replace(f"{ROOT}{os.sep}", "") for part in command)
        if line not in self.commands:
            self.commands.append(line)
        print(line, file=sys.stderr, flush=True)
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=ROOT, env=os.environ | ONE_THREAD)
        return json.loads(done.stdout)

    def bench(self, kappa: float, threads: int) -> dict[int, dict]:
        """Our rows by number of worlds."""
        numbers = json.dumps({"params": {"kappa": kappa}})
        worlds = ",".join(map(str, WORLDS))
        options = ["--with", numbers, "--worlds", worlds, "--threads", str(threads), "--json"]
        rows = self.run([*self.ours, "bench", SCENE_FILE, *options])["rows"]
        return {row["worlds"]: row for row in rows}

    def peer(self, script: str, *options: str) -> dict:
        """A peer's figures."""
        return self.run([str(self.python), str(HERE / script), *options])


def least(one: dict | None, other: dict) -> dict:
    """The smaller of each pair of figures, in dictionaries of the same form."""
    if one is None:
        return other
    return {
        key: least(one[key], value) if isinstance(value, dict) else min(one[key], value) if isinstance(value, float) else value
        for key, value in other.items()
    }


def time_text(microseconds: float) -> str:
    """Three digits."""
    return f"{microseconds:.{0 if microseconds >= 100 else 1 if microseconds >= 10 else 2}f}"


def ratio_row(what: str, threads: int, worlds: str, peer: float | None, ours: float) -> list[str]:
    """A row of the table; a peer without the figure leaves its places empty."""
    ratio = "–" if peer is None else f"{peer / ours:.3g}" if peer < 100 * ours else f"{peer / ours:.0f}"
    return [what, str(threads), worlds, "–" if peer is None else time_text(peer), time_text(ours), ratio]


def rows_of(ours: dict[int, dict[int, dict]], mujoco: dict[int, dict], ipopt: dict) -> list[list[str]]:
    """The table for one κ: ours by threads and worlds."""
    rows = [
        ratio_row("MuJoCo, `mj_step`; our `step`, cold", 1, "1", mujoco[1]["step"], ours[1][1]["step"]),
        ratio_row("MuJoCo, `mj_step`; our `rollout`", 1, "1", mujoco[1]["step"], ours[1][1]["rollout"]),
    ]
    for threads in THREADS:
        row = ours[threads][LARGE_BATCH]
        what = "MuJoCo, step of a batched rollout; our `rollout`"
        rows.append(ratio_row(what, threads, str(LARGE_BATCH), mujoco[threads]["rollout"], row["rollout"]))
    what = "MuJoCo, `mjd_transitionFD`; our `linearize`"
    for threads, worlds in ((1, 1), (1, 256), (2, 256)):
        row = ours[threads][worlds]
        rows.append(ratio_row(what, threads, str(worlds), mujoco[threads]["derivatives"], row["linearize"]))
    one = ours[1][1]
    for form, name in (("free", "IPOPT"), ("bounded", "IPOPT with ν_n ≥ 0")):
        cold = ipopt[form]["cold"] or {"solve": None, "step": None}
        rows.append(ratio_row(f"{name}, solve alone, cold; our `step`", 1, "1", cold["solve"], one["step"]))
        rows.append(ratio_row(f"{name}, kinematics and solve, cold; our `step`", 1, "1", cold["step"], one["step"]))
        what = f"{name}, kinematics and solve, warm; our `rollout`"
        rows.append(ratio_row(what, 1, "1", ipopt[form]["rollout"], one["rollout"]))
    for threads in THREADS:
        row = ours[threads][LARGE_BATCH]
        rows.append(ratio_row("no peer; our reverse pass, per step", threads, str(LARGE_BATCH), None, row["backward"]))
    return rows


HEADER = ["compared", "threads", "worlds", "peer, µs", "ours, µs", "peer / ours"]


def plain(rows: list[list[str]]) -> str:
    """A table for the terminal."""
    widths = [max(map(len, column)) for column in zip(HEADER, *rows)]
    pad = lambda row: [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]
    return "\n".join("  ".join(pad(row)) for row in [HEADER, *rows])


def agreement_text(ipopt: dict, ours: dict) -> str:
    """How IPOPT's steps and ours compare, a line for each form; `ours` is our row of one world."""
    lines = [f"- ours: {ours['iterations']:.1f} iterations cold, {ours['rollout_iterations']:.1f} in the rollout."]
    for form, name in (("free", "IPOPT"), ("bounded", "IPOPT with ν_n ≥ 0")):
        seen, cold = ipopt[form]["agreement"], ipopt[form]["cold"]
        right = seen["compared"] - seen["failed"] - seen["mirrored"]
        effort = ""
        if cold:
            effort = f" {cold['iterations']:.1f} iterations cold; kinematics take {time_text(cold['kinematics'])} µs."
        lines.append(
            f"- {name}: {right} of {seen['compared']} cold steps right ({seen['mirrored']} in the mirrored cone,"
            f" {seen['failed']} failed). On those, largest differences to ours: q₊ {seen['q_next']:.1e} m or rad,"
            f" forces {seen['forces']:.1e} of the largest.{effort}"
        )
    return "\n".join(lines)


def machine() -> str:
    """CPU, cores, load: what the figures depend on."""
    name = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        models = [line for line in information.read_text().splitlines() if line.startswith("model name")]
        name = models[0].split(":", 1)[1].strip() if models else name
    load = f", load average at the start {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{name}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}{load}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", help="our program, built already; without it cargo builds and runs it")
    parser.add_argument("--kappa", type=float, nargs="+", default=[100.0, 1e4], help="one table each")
    arguments = parser.parse_args()
    ours = [str(Path(arguments.binary).resolve())] if arguments.binary else ["cargo", "run", "--release", "--"]
    where = machine()
    runner = Runner(ours)
    runner.install()

    mujoco: dict[int, dict] = {}
    bench: dict[float, dict[int, dict]] = {kappa: {} for kappa in arguments.kappa}
    ipopt: dict[float, dict] = {}
    for threads in [threads for _ in range(ROUNDS) for threads in THREADS]:
        for kappa in arguments.kappa:
            bench[kappa][threads] = least(bench[kappa].get(threads), runner.bench(kappa, threads))
        figures = runner.peer("mujoco_peer.py", "--threads", str(threads), "--worlds", str(LARGE_BATCH))
        mujoco[threads] = least(mujoco.get(threads), figures)
    for kappa in arguments.kappa:
        ipopt[kappa] = runner.peer("ipopt_peer.py", "--kappa", f"{kappa:g}", "--ours", shlex.join(ours))

    state = mujoco[1]
    versions = ipopt[arguments.kappa[0]]["versions"]
    described = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    measured = {
        "date": f"{datetime.date.today()}",
        "commit": described.stdout.strip(),
        "machine": where,
        "with": f"MuJoCo {state['version']}, CasADi {versions['casadi']} with its IPOPT, Pinocchio {versions['pinocchio']},"
        f" Python {platform.python_version()}",
        "command": "python3 benches/peers/run.py",
    }
    found = []
    for kappa in arguments.kappa:
        rows = rows_of(bench[kappa], mujoco, ipopt[kappa])
        seen = agreement_text(ipopt[kappa], bench[kappa][1][1])
        print(f"\nκ = {kappa:g}\n\n{plain(rows)}\n\n{seen}")
        found += [measured | {"κ, 1/J": f"{kappa:,g}"} | dict(zip(HEADER, row)) for row in rows]
    print(f"\nMuJoCo's state has {state['contacts']} contacts, deepest {state['largest_overlap_mm']:.2f} mm. Commands:")
    print("\n".join(runner.commands))
    render.append("peers", found)
    print("\nadded to benches/results/peers.csv, and RESULTS.md made anew")


if __name__ == "__main__":
    main()
