"""Writes assets/recorded/press_and_drag.csv: a fingertip drags a block in MuJoCo while it presses more and less.

    python3 benches/peers/press_and_drag.py

The scene is assets/scenes/press_and_drag.toml, but for the truth below, which is what identification has to find. With
the measured forces of the fingertip's servos all three are to be had: stiffness from force over lag, friction and
mass from the drag at different loads. Joint encoders, a force sensor and a motion capture system would give the same.
"""

import argparse
import csv
from pathlib import Path

import mujoco
import numpy as np

from plant import GRAVITY, Plant

ROOT = Path(__file__).resolve().parents[2]
SCENE = ROOT / "assets" / "scenes" / "press_and_drag.toml"
FILE = ROOT / "assets" / "recorded" / "press_and_drag.csv"
PERIOD = 0.05  # s, between rows
TRUE_MASS, TRUE_FRICTION, TRUE_STIFFNESS = 0.2, 0.4, 220.0  # kg, of block and ground, N/m
# Time, commanded x and depth of the fingertip from where it stands at the start, s, m.
# Slow, 2 cm/s, so that the servos' damping weighs little.
KEYFRAMES = [
    (0, 0, 0), (1, 0, -0.012), (4, 0.06, -0.012), (5, 0.06, -0.02), (8, 0, -0.02), (9, 0, -0.035), (12, 0.06, -0.035), (13, 0.05, 0)
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    plant = Plant(SCENE, PERIOD)
    model, data = plant.model, plant.data
    model.body_inertia[model.body("block").id] *= TRUE_MASS / model.body("block").mass[0]
    model.body("block").mass[0] = TRUE_MASS
    for pair in range(model.npair):
        sides = [model.geom_bodyid[geom[pair]] for geom in (model.pair_geom1, model.pair_geom2)]
        if {model.body(side).name for side in sides} == {"block", "ground"}:
            model.pair_friction[pair, :2] = TRUE_FRICTION
    damping = np.sqrt(TRUE_STIFFNESS / model.actuator_gainprm[:, 0])
    model.actuator_gainprm[:, 0], model.actuator_biasprm[:, 1] = TRUE_STIFFNESS, -TRUE_STIFFNESS
    model.actuator_biasprm[:, 2] *= damping
    mujoco.mj_setConst(model, data)
    home = plant.of.home()
    plant.reset(home, home[7:])
    for _ in range(25):
        plant.hold(home[7:])
    times, x, z = np.array(KEYFRAMES).T
    rows = []
    u = home[7:].copy()
    for row in range(round(times[-1] / PERIOD)):
        force = np.zeros(3)
        for step in range(plant.steps):
            time = PERIOD * (row + (step + 1) / plant.steps)
            u[[0, 2]] = home[[7, 9]] + [np.interp(time, times, x), np.interp(time, times, z)]
            data.ctrl[:] = plant.places.to_ctrl(u)
            mujoco.mj_step(model, data)
            force += data.actuator_force[plant.places.ctrl[:3]] / plant.steps
        rows.append([time, *u[:3], *plant.q()[7:10], *force, *plant.q()[:7]])
    names = ["time", *(f"{kind}_{axis}0" for kind in ("u", "q", "force") for axis in "xyz")]
    names += [f"block_{part}" for part in ("x", "y", "z", "qw", "qx", "qy", "qz")]
    FILE.parent.mkdir(exist_ok=True)
    with FILE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([f"{value + 0.0:.6g}" for value in row] for row in rows)
    table = np.array(rows)
    # By hand: while it slides the drag is μ (m g + load).
    speed = np.gradient(table[:, 10], PERIOD)
    slides = np.abs(speed) > 0.01
    load, drag = -table[slides, 9], np.abs(table[slides, 7])
    slope, offset = np.polyfit(load, drag, 1)
    print(f"{len(rows)} rows; sliding {slides.sum()}; by hand: friction {slope:.3f}, mass {offset / slope / GRAVITY:.3f} kg, "
          f"stiffness {np.median(table[:, 9] / (table[:, 3] - table[:, 6] + 1e-12)[:]):.1f} N/m")


if __name__ == "__main__":
    main()
