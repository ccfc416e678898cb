"""The network that `cargo run --release --example 15_policy -- FILE` has trained, with MuJoCo as what moves.

    python3 benches/peers/policy.py out/policy.json [--episodes N] [--periods N]

Prints the mean errors of goals that the network has not seen, at the start and at the end.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from plant import TABLE, Plant

ROOT = Path(__file__).resolve().parents[2]
SCENE = ROOT / "assets" / "scenes" / "two_fingers.toml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--episodes", type=int, default=64)
    parser.add_argument("--periods", type=int, default=25)
    parser.add_argument("--table", type=float, default=TABLE, help="friction coefficient under the disc")
    arguments = parser.parse_args()
    net = {key: np.array(value) for key, value in json.loads(arguments.weights.read_text()).items()}
    plant = Plant(SCENE, float(net["period"]), table=arguments.table)
    home, spread = net["home"], net["spread"]

    def command(q: np.ndarray, goal: np.ndarray) -> np.ndarray:
        seen = np.concatenate(((q[:3] - goal) / spread, (q[3:] - home[3:]) / 0.2))
        inner = np.tanh(seen @ net["w1"] + net["b1"])
        return q[3:] + net["bound"] * np.tanh(inner @ net["w2"] + net["b2"])

    def error(q: np.ndarray, goal: np.ndarray) -> list[float]:
        return [1e3 * float(np.linalg.norm(q[:2] - goal[:2])), abs(float(q[2] - goal[2]))]

    random = np.random.default_rng(0)
    starts, ends = [], []
    for _ in range(arguments.episodes):
        goal = home[:3] + spread * random.uniform(-1.0, 1.0, 3)
        plant.reset(home, home[3:])
        starts.append(error(plant.q(), goal))
        for _ in range(arguments.periods):
            plant.hold(command(plant.q(), goal))
        ends.append(error(plant.q(), goal))
    for name, errors in (("at the start", starts), ("at the end", ends)):
        mean, median = np.mean(errors, axis=0), np.median(errors, axis=0)
        print(f"{name}: mean {mean[0]:.2f} mm, {mean[1]:.4f} rad; median {median[0]:.2f} mm, {median[1]:.4f} rad")


if __name__ == "__main__":
    main()
