"""How well the step predicts MuJoCo's motion over a control period, by κ, ε, h and the number of steps a command is held.

    python3 benches/peers/prediction.py SCENE RECORD.jsonl PERIOD [--binary PATH] [--kappa …] [--hold …] [--epsilon …]

RECORD has a control period per line, q, u and the next q, as `mpc.py --record` writes it. Every period is predicted from
its own measured state, whatever the planner's model was.
Prints, per κ, ε and hold (h is the period over it), the sum of all errors over the sum of all motions, over those
periods in which the object moves by more than 0.3 mm or 5 mrad: 0 is exact, 1 as good as saying that nothing moves.
"""

import argparse
import json
import subprocess
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
MOVED = (3e-4, 5e-3)  # m, rad


def predict(arguments: argparse.Namespace, q: np.ndarray, u: np.ndarray, params: dict, hold: int) -> np.ndarray:
    """The states at the end of the periods, all lines of one process at once for each step held."""
    command = [arguments.binary, "step", str(arguments.scene), "--output", "q_next", "--with", json.dumps({"params": params})]
    for _ in range(hold):
        lines = "\n".join(json.dumps({"q": a.tolist(), "u": b.tolist()}) for a, b in zip(q, u))
        said = subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout
        q = np.array([json.loads(line)["q_next"] for line in said.splitlines()])
    return q


def turned(a: np.ndarray, b: np.ndarray) -> float:
    """The angle between two quaternions."""
    return 2.0 * np.arccos(min(1.0, abs(a @ b) / (np.linalg.norm(a) * np.linalg.norm(b))))


def parts(contents: dict, a: np.ndarray, b: np.ndarray) -> tuple[float, float, float]:
    """Distance and angle of the first object, mean distance of the joints, from a to b."""
    n = contents["coordinates"][0]["nq"]
    joints = float(np.abs(a[n:] - b[n:]).mean())
    if n == 7:
        return float(np.linalg.norm(a[:3] - b[:3])), turned(a[3:7], b[3:7]), joints
    return float(np.linalg.norm(a[:2] - b[:2])), abs(a[2] - b[2]), joints


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene", type=Path)
    parser.add_argument("record", type=Path)
    parser.add_argument("period", type=float, help="of the record, s")
    parser.add_argument("--binary", default=str(ROOT / "target" / "release" / "fingertip"))
    parser.add_argument("--kappa", type=float, nargs="+", default=[1e3, 1e4, 1e5, 1e6, 1e7])
    parser.add_argument("--hold", type=int, nargs="+", default=[1, 2, 5, 10, 20])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.1])
    arguments = parser.parse_args()
    said = subprocess.run([arguments.binary, "inspect", str(arguments.scene), "--json"], stdout=subprocess.PIPE, check=True)
    contents = json.loads(said.stdout)
    rows = [json.loads(line) for line in arguments.record.read_text().splitlines()]
    q, u, following = (np.array([row[key] for row in rows]) for key in ("q", "u", "next"))
    moves = np.array([parts(contents, a, b) for a, b in zip(q, following)])
    moving = (moves[:, 0] > MOVED[0]) | (moves[:, 1] > MOVED[1])
    if not moving.any():
        raise SystemExit("nothing moves in this record")
    q, u, following, moves = q[moving], u[moving], following[moving], moves[moving]
    distance, angle, _ = 1e3 * moves.mean(axis=0)
    print(f"{len(moves)} of {len(rows)} periods of {arguments.period} s move: mean {distance:.2f} mm, {angle:.1f} mrad")
    print("| κ, 1/J | ε | hold | h, ms | position | rotation | joints |\n|--:|--:|--:|--:|--:|--:|--:|")
    for epsilon in arguments.epsilon:
        for kappa in arguments.kappa:
            for hold in arguments.hold:
                h = arguments.period / hold
                guess = predict(arguments, q, u, {"h": h, "kappa": kappa, "epsilon": epsilon}, hold)
                errors = np.array([parts(contents, a, b) for a, b in zip(guess, following)])
                shares = errors.sum(axis=0) / moves.sum(axis=0)
                cells = [f"{kappa:.0e}", f"{epsilon:g}", str(hold), f"{1e3 * h:g}", *(f"{share:.2f}" for share in shares)]
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
