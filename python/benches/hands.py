"""Batches of public hands as they ship beside MuJoCo, for a world, on one thread.

    RAYON_NUM_THREADS=1 python python/benches/hands.py [--worlds 64] HAND …

The scenes are those of `benches/peers/hands.py`, which measures one world: own pairs on, a free cube beside, nothing
weighs. Ours are steps of 10 ms of rollouts under home's command, each from where the one before ended, so that the
hand has come to rest; then a call of `step` and of `linearize` for a world. MuJoCo's are five steps of 2 ms of one world.
"""

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path

import mujoco
import numpy as np

import fingertip as ft

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches" / "peers"))
import hands

STEPS, RUNS = 20, 7


def median(work, worlds: int) -> float:
    """The median of some runs, µs for a world."""
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return 1e6 * float(np.median(times)) / worlds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=64)
    parser.add_argument("hands", nargs="+", type=Path, metavar="HAND")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for hand in args.hands:
        with tempfile.TemporaryDirectory() as folder:
            scene = Path(folder) / "scene.toml"
            for aside in hands.ASIDE:
                at = (aside, 0.0, hands.HEIGHT)
                scene.write_text(hands.scene(hand, None, None, at))
                model = ft.Model.load(scene)
                at_home = ft.Quasidynamic(model).step(model.home(1), model.control(0.0)[None])
                if all(contact.gap > 0.0 for contact in at_home.contacts if "cube" in (contact.a, contact.b)):
                    break
        sim, q = ft.Quasidynamic(model), model.home(args.worlds)
        u = np.repeat(np.tile(model.control(0.0), (args.worlds, 1))[:, None], STEPS, 1)
        for _ in range(5):
            q = sim.rollout(q, u).q[:, -1]
        rollout = median(lambda: sim.rollout(q, u), args.worlds) / STEPS
        step = median(lambda: sim.step(q, u[:, 0]), args.worlds)
        linear = median(lambda: sim.linearize(q, u[:, 0]), args.worlds)
        other = hands.theirs(hand, at)
        print(
            f"{hand.stem}: a rollout's step {rollout:.1f} µs, `step` {step:.1f}, `linearize` {linear:.1f}, "
            f"MuJoCo {mujoco.__version__} {other:.0f} µs for 10 ms: {rollout / other:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
