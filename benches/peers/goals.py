"""Writes assets/goals/tips_*.csv: the twenty published trials of three fingertips and a cube.

Starts and goals are drawn as `examples/mpc/fingertips/cube/params.py` of asu-iris/Complementarity-Free-Dexterous-Manipulation
(arXiv 2408.07855) draws them at its commit 87b320f, in the same order and from the same generator and seeds, so that
these are the very trials. Needs NumPy alone.

    python3 benches/peers/goals.py
    python3 benches/peers/goals.py --folder out --first 1000 --trials 40     # others of the kind, in out/tips_*.csv
"""

import argparse
import csv
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "goals"
TRIALS = 20
HALF_EDGE = 0.03  # m
COLUMNS = [f"{pose}_{part}" for pose in ("goal", "init") for part in ("x", "y", "z", "qw", "qx", "qy", "qz")]


def about(axis: np.ndarray, angle: float) -> np.ndarray:
    """Quaternion w, x, y, z of a turn about an axis of any length."""
    return np.concatenate(([np.cos(angle / 2)], np.sin(angle / 2) * axis / np.linalg.norm(axis)))


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The turn b, then a."""
    vector = a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])
    return np.concatenate(([a[0] * b[0] - a[1:] @ b[1:]], vector))


def trial(kind: str, seed: int) -> np.ndarray:
    """Goal and start of one trial."""
    random = np.random.RandomState(100 + seed)
    x, y, z = np.eye(3)
    even = lambda low, high, *count: low + (high - low) * random.rand(*count)
    start = np.concatenate((even(-0.025, 0.025, 2), [HALF_EDGE], about(z, even(-np.pi, np.pi))))
    height = even(0.05, 0.1) if kind == "air" else {"ground": HALF_EDGE, "flip": HALF_EDGE + 0.02}[kind]
    position = np.append(even(-0.1, 0.1, 2), height)
    if kind == "air":
        angle = even(-np.pi, np.pi)
        rotation = about(y + z + 0.1 * random.randn(3), angle)
    else:
        rotation = about(z, even(-np.pi, np.pi))
        if kind == "flip":
            rotation = product(rotation, about(y, even(-np.pi / 2, np.pi / 2)))
            rotation = product(rotation, about(x, even(-np.pi / 2, np.pi / 2)))
    return np.concatenate((position, rotation, start))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--trials", type=int, default=TRIALS)
    arguments = parser.parse_args()
    for kind in ("ground", "air", "flip"):
        with (arguments.folder / f"tips_{kind}.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["id", *COLUMNS])
            for seed in range(arguments.first, arguments.first + arguments.trials):
                writer.writerow([f"seed_{100 + seed}", *(f"{value + 0.0:.9g}" for value in trial(kind, seed))])


if __name__ == "__main__":
    main()
