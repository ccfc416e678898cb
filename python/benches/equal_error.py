"""What a second of motion costs at equal error: long steps by the rule beside steps that leave out how surfaces curve.

    python python/benches/equal_error.py

Each scene follows its script, and the truth is its path in steps of 1 ms, κ and ε by the rule of `Params::with_step` (κ h and ε/h are the
same for every step length). From states of that path, 25 ms apart, each way goes on for 0.2 s in steps of 5 to 100 ms. An error is how far the
objects are from the truth then, as a share of their motion, root mean square over these starts. "Before" keeps κ and ε as they are for steps of 10 ms, with
`rolling = false`; "now" is the rule. The cost is that of a rollout from all starts, per start and second of motion, on one thread: processor time, so
that what else runs counts less.

"At equal error" is now's time over before's for the error that before has with the steps in the table, along straight lines between now's points on
logarithmic scales. "< x" says that now's longest steps are better still, "> x" that its shortest are not as good.
"""

import argparse
import re
import time
from pathlib import Path

import numpy as np

import fingertip as ft

ASSETS = Path(__file__).parents[2] / "assets"
H, TRUTH = 0.01, 0.001
SECONDS, AHEAD = 2.0, 0.2
STEPS = (0.005, 0.01, 0.02, 0.05, 0.1)
SHOWN = (0.02, 0.05)
ROUNDS = 9

GROUND = '[[object]]\nname = "ground"\nhalfspace = [0.0, 0.0, 1.0, 0.0]\n'


def tips(home, *script):
    """Round fingertips of 1 cm on three slides each, pressed and moved by a script of times and slides."""

    def said(of, name):
        return ", ".join(f"\"{name}{slide}\" = {x}" for slide, x in of.items())

    robot = f'[[robot]]\nname = "tips"\nurdf = "../robots/fingertips.urdf"\nstiffness = 300.0\nhome = {{ {said(home, "")} }}\n'
    lines = (f'[[script]]\ntime = {t}\nu = {{ {said(u, "tips/")} }}\n' for t, u in script)
    return robot + "".join(lines)


def scene(thing, fingers, freedom="free"):
    """A thing on the ground or on a fixed rail, and fingertips."""
    params = "[params]\nh = 0.01\nepsilon = 0.1\nmu = 0.8\n"
    return params + GROUND + f'[[object]]\nname = "thing"\nfreedom = "{freedom}"\n{thing}\n' + fingers


RAIL = '[[object]]\nname = "rail"\ncylinder = [0.04, 0.1]\nfreedom = "fixed"\nposition = [0.0, 0.0, 0.04]\nrpy = [1.5707963267948966, 0.0, 0.0]\n'
OWN = {
    "an ellipsoid rolled under a fingertip": scene(
        "ellipsoid = [0.05, 0.03, 0.02]\nmass = 0.1\nposition = [0.0, 0.0, 0.0201]",
        tips({"x0": -0.2, "z0": 0.021, "y1": 0.2, "x2": 0.3}, (0.5, {"z0": 0.01}), (2.5, {"x0": -0.17, "y0": 0.03})),
    ),
    "a plank tipped on a round rail": scene(
        "box = [0.1, 0.03, 0.01]\nmass = 0.2\nposition = [0.0, 0.0, 0.0901]",
        RAIL + tips({"x0": -0.15, "z0": 0.081, "y1": 0.2, "x2": 0.3}, (2.5, {"z0": 0.04})),
    ),
    "a pen pinched and lifted": scene(
        "capsule = [0.006, 0.06]\nmass = 0.02\nposition = [0.0, 0.0, 0.0065]\nrpy = [1.5707963267948966, 0.0, 0.0]",
        tips({"x0": -0.18, "z0": -0.018, "y1": 0.2, "x2": 0.18, "z2": -0.018}, (0.4, {"x0": -0.2, "x2": 0.2}), (2.5, {"z0": 0.03, "z2": 0.03, "y0": 0.02, "y2": -0.02})),
    ),
    "a block dragged": (ASSETS / "scenes" / "press_and_drag.toml").read_text().split("[[robot]]")[0]
    + tips({"x0": -0.2, "z0": 0.021}, (0.4, {"z0": 0.0}), (2.5, {"x0": -0.1, "y0": 0.03})),
}
SHIPPED = ("two_fingers", "hand_ball", "cube_fingertips", "push")


def model(name, law, rolling):
    """A scene with a friction law of its own."""
    plain = re.sub(r"(?m)^(friction|rolling)\s*=.*$", "", (OWN.get(name) or (ASSETS / "scenes" / f"{name}.toml").read_text()))
    keys = f'[params]\nfriction = "{law}"\nrolling = {str(rolling).lower()}'
    return ft.Model.from_toml(plain.replace("[params]", keys, 1), folder=ASSETS / "scenes")


class Way:
    """A model in steps of any length, with one thread."""

    def __init__(self, model, kappa, rule):
        self.step = ft.Quasidynamic(model, threads=1)
        self.kappa, self.rule = kappa, rule
        # The scene's ε is for its own h, as tasks take it.
        self.epsilon = model.params["epsilon"] * H / model.params["h"]

    def of(self, h):
        """The step of this length."""
        scale = h / H if self.rule else 1.0
        return self.step.with_params(h=h, kappa=self.kappa / scale, epsilon=self.epsilon * scale)

    def rollouts(self, h, times):
        """A function that makes rollouts from starts at these times and says where they end."""
        of, model = self.of(h), self.step.model
        n = round(AHEAD / h)
        u = np.stack([model.control(t + h * np.arange(1, n + 1)) for t in times])
        return lambda starts: of.rollout(starts, u).q[:, -1]


def curves(ways, starts, times, reference, objects):
    """Errors of each way at each step length, and costs per start and second of motion, µs of processor time: the least of rounds in turns."""
    motion = np.sqrt(np.mean((reference - starts)[:, objects] ** 2))
    errors, costs = (np.full((len(ways), len(STEPS)), np.inf) for _ in range(2))
    for k, h in enumerate(STEPS):
        rollouts = [way.rollouts(h, times) for way in ways]
        for _ in range(ROUNDS):
            for w, rollout in enumerate(rollouts):
                began = time.process_time()
                end = rollout(starts)
                costs[w, k] = min(costs[w, k], 1e6 * (time.process_time() - began) / len(starts) / AHEAD)
                errors[w, k] = np.sqrt(np.mean((end - reference)[:, objects] ** 2)) / motion
    return list(zip(errors, costs))


def ratio(now, before, at):
    """Now's cost at before's error with a step, over before's."""
    (errors, costs), (error, cost) = now, (before[0][at], before[1][at])
    # The longest step that is as good, and the next one.
    good = [k for k in range(len(STEPS)) if errors[k] <= error]
    if not good:
        return f"> {costs[0] / cost:.2f}"
    k = max(good)
    if k + 1 == len(STEPS):
        return f"< {costs[k] / cost:.2f}"
    share = np.log(error / errors[k]) / np.log(errors[k + 1] / errors[k])
    return f"{np.exp(np.log(costs[k]) + share * np.log(costs[k + 1] / costs[k])) / cost:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scene", help="only scenes whose name has this in it")
    wanted = parser.parse_args().scene or ""
    ms = [f"{1000 * h:.0f}" for h in STEPS]
    shown = [STEPS.index(h) for h in SHOWN]
    print("| scene | law | κ | error before, steps of " + ", ".join(ms) + " ms | now | µs per second before | now |", end="")
    print("".join(f" at equal error, {ms[k]} ms |" for k in shown))
    print("|---|---|--:|--:|--:|--:|--:|" + "--:|" * len(shown))
    for name in (*SHIPPED, *OWN):
        if wanted not in name:
            continue
        for law in ("relaxed", "coulomb"):
            scene, frozen = model(name, law, True), model(name, law, False)
            objects = ~np.isin(scene.q_names, scene.u_names)
            for kappa in (1e4, 1e5, 1e6):
                now, before = Way(scene, kappa, True), Way(frozen, kappa, False)
                n = round((SECONDS + AHEAD) / TRUTH)
                path = now.of(TRUTH).rollout(scene.home(), scene.control(TRUTH * np.arange(1, n + 1))).q
                at = np.arange(round(0.5 / TRUTH), round(SECONDS / TRUTH), 25)
                starts, reference = path[at], path[at + round(AHEAD / TRUTH)]
                both = curves((before, now), starts, TRUTH * at, reference, objects)
                errors = [", ".join(f"{x:.3f}" for x in errors) for errors, _ in both]
                costs = [", ".join(f"{x:.0f}" for x in costs) for _, costs in both]
                cells = [*errors, *costs, *(ratio(both[1], both[0], k) for k in shown)]
                print(f"| {name} | {law} | {kappa:.0e} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
