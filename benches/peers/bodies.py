"""Rigid-body dynamics against Pinocchio and distances against coal, one thread, both sides in one run; adds to
benches/results/bodies.csv, of which BODIES.md is made.

    python3 benches/peers/bodies.py [ARGUMENTS OF CARGO]        # after run.py, which makes the virtual environment

Ours are the figures of `cargo bench --bench dynamics` (256 states) and `--bench collision` (ready colliders). Pinocchio's RNEA and ABA are
its own loops over 256 states in C++; for what it has no such loop, and for coal, calls from Python are timed and the
cost of a call with as many arguments is taken off. Distances on a path begin from the answer before: coal's guess is that of its last
result, ours `Collider::distance_from`.
"""

import json
import os
import re
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches" / "results"))
import render

PYTHON = ROOT / "target" / "peers-venv" / "bin" / "python"
ROBOTS = {"hand, 14 joints": "teaching_hand.urdf", "hand, 21 joints": "hand21.urdf"}
STATES = 256
REPEATS = 50
# Steps from a pose to the next on a path, and poses on it, as in benches/collision.rs.
STEPS, PATH = 32, 1024


def best(call, n):
    """The least time of a call over `n`, µs."""
    call()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * min(times) / n


def pinocchio_figures():
    import numpy as np
    import pinocchio as pin

    figures = {}
    for name, urdf in ROBOTS.items():
        model = pin.buildModelFromUrdf(str(ROOT / "assets" / "robots" / urdf))
        pool, data = pin.ModelPool(model, 1), model.createData()
        rng = np.random.default_rng(0)
        q, v, x = (np.asfortranarray(rng.uniform(-1.0, 1.0, (model.nv, STATES))) for _ in range(3))
        out = np.zeros((model.nv, STATES), order="F")
        states = [tuple(np.ascontiguousarray(row) for row in rows) for rows in zip(q.T, v.T, x.T)]
        called = lambda f, n: best(lambda: [f(model, data, *state[:n]) for state in states], STATES)
        rnea = best(lambda: pin.rneaInParallel(1, pool, q, v, x, out), STATES)
        aba = best(lambda: pin.abaInParallel(1, pool, q, v, x, out), STATES)
        call = called(pin.rnea, 3) - rnea
        figures |= {
            (name, "rnea"): rnea,
            (name, "aba"): aba,
            (name, "crba"): called(pin.crba, 1) - call,
            (name, "rnea derivatives"): called(pin.computeRNEADerivatives, 3) - call,
            (name, "aba derivatives"): called(pin.computeABADerivatives, 3) - call,
        }
    return figures, pin.__version__


def coal_figures():
    import coal
    import numpy as np
    import pinocchio as pin

    rng = np.random.default_rng(2)
    sphere, capsule = coal.Sphere(0.08), coal.Capsule(0.05, 0.16)
    box, cylinder = coal.Box(0.2, 0.16, 0.12), coal.Cylinder(0.06, 0.16)
    ellipsoid = coal.Ellipsoid(0.1, 0.08, 0.06)
    place = lambda: pin.SE3(pin.SE3.Random().rotation, rng.uniform(-0.15, 0.15, 3))
    places = [(place(), place()) for _ in range(STATES)]
    steps = [[pin.SE3.Interpolate(*ends, k / STEPS) for ends in zip(*both)] for both in zip(places, places[1:]) for k in range(STEPS)]
    transforms = lambda all: [[coal.Transform3s(at.rotation, at.translation) for at in pair] for pair in all]
    poses, path = transforms(places), transforms(steps[:PATH])
    free, guided = coal.DistanceRequest(), coal.DistanceRequest()
    guided.gjk_initial_guess = coal.GJKInitialGuess.CachedGuess
    result = coal.DistanceResult()

    def alone(a, b):
        for p, q in poses:
            result.clear()
            coal.distance(a, p, b, q, free, result)

    def along(a, b):
        for p, q in path:
            result.clear()
            coal.distance(a, p, b, q, guided, result)
            guided.updateGuess(result)

    def timed(calls, n, a, b):
        time, call = (best(lambda: calls(*bodies), n) for bodies in [(a, b), (coal.Sphere(0.01),) * 2])
        return time - call

    pairs = {
        "sphere-box": (sphere, box), "capsule-capsule": (capsule, capsule), "capsule-box": (capsule, box),
        "box-box": (box, box), "cylinder-box": (cylinder, box), "ellipsoid-ellipsoid": (ellipsoid, ellipsoid),
    }
    figures = {("distance", name): timed(alone, STATES, *pair) for name, pair in pairs.items()}
    iterative = list(pairs.items())[2:]
    figures |= {("distance on a path", name): timed(along, PATH, *pair) for name, pair in iterative}
    return figures, coal.__version__


def ours(arguments):
    """Our figures by group and name, µs."""
    environment = os.environ | {"RAYON_NUM_THREADS": "1"}
    run = lambda bench: subprocess.run(["cargo", "bench", *arguments, "--bench", bench], cwd=ROOT, env=environment,
                                       capture_output=True, text=True, check=True).stdout
    figures = {}
    for group, name, time in re.findall(r"^(.*?): (.*?): best of 50: ([\d.]+) µs", run("dynamics"), re.M):
        figures[group, name] = float(time)
    units = {"ns": 1e-3, "µs": 1.0, "ms": 1e3}
    listing = run("collision")
    for kind, group, n in [("distance", "distance", STATES), ("path", "distance on a path", PATH)]:
        for name, low, unit in re.findall(rf"collision/{kind}/(\S+)\s+time:\s+\[([\d.]+) (\S+)", listing):
            figures[group, name] = float(low) * units[unit] / n
    return figures


def main():
    if "--peers" in sys.argv:
        bodies, pinocchio = pinocchio_figures()
        distances, coal = coal_figures()
        print(json.dumps({"versions": [pinocchio, coal], "figures": [[*k, t] for k, t in (bodies | distances).items()]}))
        return
    arguments = sys.argv[1:]
    found = ours(arguments)
    peers = json.loads(subprocess.run([PYTHON, __file__, "--peers"], capture_output=True, text=True, check=True,
                                      env=os.environ | {"OMP_NUM_THREADS": "1"}).stdout)
    described = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    measured = {
        "date": f"{date.today()}",
        "commit": described.stdout.strip(),
        "machine": "one thread",
        "with": f"Pinocchio {peers['versions'][0]}, coal {peers['versions'][1]}",
        "command": " ".join(["python3 benches/peers/bodies.py", *arguments]),
    }
    columns = ["what", "of", "peer, µs", "ours, µs", "peer / ours"]
    rows = []
    for group, name, peer in peers["figures"]:
        our = found[group, name]
        rows.append([group, name, f"{peer:.2f}", f"{our:.3f}", f"{peer / our:.2f}"])
        print("  ".join(rows[-1]))
    render.append("bodies", [measured | dict(zip(columns, row)) for row in rows])


if __name__ == "__main__":
    main()
