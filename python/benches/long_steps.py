"""One long step for ten: how far it ends from where ten steps of a tenth end, as a share of the motion in that time.

    python python/benches/long_steps.py

Each scene follows its script in steps of 0.01 s. Every fifth state of the last two thirds is a start. "Same κ" keeps κ and ε for the step of 0.1 s as they are for those of 0.01 s; "rule" lets κ fall and ε rise with h, as
`Params::with_step` of the library and `substeps` of a task do. Shares are means over starts: of the objects (what no command moves) and of
the joints. "–" says that nothing moved by more than 1e-5 rad or m.
"""

import re
import time
from pathlib import Path

import numpy as np

import fingertip as ft

ASSETS = Path(__file__).parents[2] / "assets" / "scenes"
H, RATIO = 0.01, 10
SECONDS = 2.5
KAPPAS = (1e4, 1e5, 1e6)
SCENES = ["two_fingers", "hand_ball", "cube_fingertips", "push"]


def model(name, law):
    """A shipped scene with a friction law of its own."""
    text = re.sub(r"(?m)^friction\s*=.*$", "", (ASSETS / f"{name}.toml").read_text())
    return ft.Model.from_toml(text.replace("[params]", f'[params]\nfriction = "{law}"', 1), folder=ASSETS)


def share(of, steps, u, starts, reference, columns):
    """The error of so many steps, of the motion of some of the numbers of q."""
    end = of.rollout(starts, u).q[:, -1]
    error, motion = (np.linalg.norm((a - b)[:, columns], axis=1) for a, b in ((end, reference), (reference, starts)))
    return f"{error.mean() / motion.mean():.3f}"


def main():
    print("| scene | law | κ of the short steps | objects: same κ | rule | joints: same κ | rule |")
    print("|---|---|--:|--:|--:|--:|--:|")
    began = time.time()
    for name in SCENES:
        for law in ("relaxed", "coulomb"):
            scene = model(name, law)
            n = int(SECONDS / H)
            u = scene.control(H * np.arange(1, n + 1))
            joints = np.isin(scene.q_names, scene.u_names)
            for kappa in KAPPAS:
                fine, same, rule = (
                    ft.Quasidynamic(scene).with_params(h=h, kappa=kappa * H / to, epsilon=scene.params["epsilon"] * to / H)
                    for h, to in ((H, H), (RATIO * H, H), (RATIO * H, RATIO * H))
                )
                path = fine.rollout(scene.home(), u).q
                at = np.arange(n // 3, n - RATIO, 5)
                starts, reference = path[at], path[at + RATIO]
                last = np.stack([u[at + RATIO - 1]], axis=1)
                cells = [share(of, 1, last, starts, reference, of_these) for of_these in (~joints, joints) for of in (same, rule)]
                print(f"| {name} | {law} | {kappa:.0e} | {' | '.join(cells)} |", flush=True)
    print(f"\n{time.time() - began:.0f} s")


if __name__ == "__main__":
    main()
