"""Is what rests here at rest in MuJoCo, and the other way round?

Random things (boxes, cans, pens, convex meshes, boxes whose vertices carry noise) are let go a little above the ground, tilted.

- *ours in MuJoCo*: our pose after 400 steps is the start of 3 s in MuJoCo.
- *MuJoCo's here*: MuJoCo's pose after 5 s, lifted out of the ground by as much as it sank in, is the start of 100 steps here.

Each line says by how much the thing then turned, and how far its centre of mass went sideways, in its size (the radius of the ball about
it). A thing that rolls is not at rest in either program for as long as nothing resists rolling: it is counted beside the others.

    python3 benches/peers/rest_poses.py --binary target/release/fingertip
"""

import argparse
import csv
import json
import math
import subprocess
import tempfile
from pathlib import Path

import mujoco
import numpy as np

STEPS, STEPS_AFTER = 400, 100
SECONDS, SECONDS_AFTER = 5.0, 3.0
HOVER = 1e-6  # m: κ follows from it
FRICTION = 0.8
MOST_TURN, MOST_MOTION = 1e-3, 1e-3  # rad, sizes
POSITION, TURN = ("x", "y", "z"), ("qw", "qx", "qy", "qz")
KINDS = ["box", "cylinder", "capsule", "mesh", "noisy box"]


def quaternion(random):
    """A random orientation (w, x, y, z)."""
    of = random.normal(size=4)
    return of / np.linalg.norm(of)


def cube_points(half):
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return signs * half


class Thing:
    """A random thing: its kind, numbers and mass."""

    def __init__(self, kind, random):
        self.kind = kind
        self.mass = random.uniform(0.02, 0.5)
        half = random.uniform(0.008, 0.03, size=3)
        self.points = None
        if kind == "box":
            self.numbers, self.size = half, float(np.linalg.norm(half))
        elif kind == "cylinder":
            self.numbers, self.size = half[:2], float(np.hypot(*half[:2]))
        elif kind == "capsule":
            self.numbers, self.size = np.array([half[0] / 2, half[1]]), float(half[0] / 2 + half[1])
        else:
            if kind == "mesh":
                points = random.normal(size=(30, 3))
                self.points = points / np.linalg.norm(points, axis=1)[:, None] * half
            else:
                self.points = cube_points(half) + random.normal(size=(8, 3)) * 1e-3 * half.min()
            self.numbers, self.size = None, float(np.linalg.norm(self.points, axis=1).max())
        self.pose = (np.array([0.0, 0.0, 1.05 * self.size]), quaternion(random))

    def scene(self, pose):
        """Our scene with the thing at a pose. A mesh's frame stays where its file has it."""
        if self.points is not None:
            hull = [[float(x) for x in point] for point in self.points]
            shape = f"hull = {hull}"
        elif self.kind == "box":
            shape = f"box = {[float(x) for x in self.numbers]}"
        else:
            shape = f"{self.kind} = {[float(x) for x in self.numbers]}"
        position, turn = pose
        return (
            f"[params]\nhover = {HOVER}\nmu = {FRICTION}\n[[object]]\nname = 'ground'\nfreedom = 'fixed'\nhalfspace = [0, 0, 1, 0]\n"
            f"[[object]]\nname = 'thing'\nfreedom = 'free'\n{shape}\nmass = {self.mass}\n"
            f"position = {[float(x) for x in position]}\nquaternion = {[float(x) for x in turn]}\n"
        )

    def mjcf(self):
        """The same in MuJoCo, with contacts as hard as its time step allows."""
        asset = ""
        if self.points is not None:
            vertices = " ".join(f"{x:.17g}" for x in self.points.flatten())
            asset = f'<asset><mesh name="m" vertex="{vertices}"/></asset>'
            geom = 'type="mesh" mesh="m"'
        else:
            geom = f'type="{self.kind}" size="{" ".join(f"{x:.17g}" for x in self.numbers)}"'
        return f"""<mujoco><option timestep="0.0005" cone="elliptic" impratio="10" iterations="100" tolerance="1e-12"/>{asset}
<default><geom friction="{FRICTION}" solref="0.002 1" solimp="0.99 0.999 0.0001"/></default>
<worldbody><geom type="plane" size="1 1 1"/><body name="thing"><freejoint/><geom {geom} mass="{self.mass}"/></body></worldbody></mujoco>"""


class Here:
    """Our program."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, Path(folder)

    def run(self, thing, pose, steps):
        scene, recording, table = (self.folder / name for name in ("scene.toml", "run.mcap", "run.csv"))
        scene.write_text(thing.scene(pose))
        done = subprocess.run(
            [self.binary, "rollout", scene, "--steps", str(steps), "--record", recording], capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        subprocess.run([self.binary, "export", recording, "--csv", table], check=True, capture_output=True)
        with table.open() as file:
            last = list(csv.DictReader(file))[-1]
        return tuple(np.array([float(last[f"thing.{name}"]) for name in names]) for names in (POSITION, TURN))


class There:
    """MuJoCo."""

    def __init__(self, thing):
        self.model = mujoco.MjModel.from_xml_string(thing.mjcf())

    def run(self, pose, seconds):
        data = mujoco.MjData(self.model)
        data.qpos[:3] = pose[0]
        data.qpos[3:7] = pose[1]
        while data.time < seconds:
            mujoco.mj_step(self.model, data)
        sunk = max([0.0] + [-float(contact.dist) for contact in data.contact])
        return data.qpos[:3].copy(), data.qpos[3:7].copy(), sunk


def change(thing, before, after):
    """Turn, rad, and sideways motion of the frame's origin, in sizes."""
    dot = min(1.0, abs(float(np.dot(before[1], after[1]))))
    (w, *u), (v, *t) = before[1], after[1]
    vector = np.multiply(t, w) - np.multiply(u, v) + np.cross(u, t)
    turn = 2 * math.atan2(float(np.linalg.norm(vector)), dot)
    return turn, float(np.linalg.norm((after[0] - before[0])[:2])) / thing.size


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--binary", default="target/release/fingertip")
    options.add_argument("--things", type=int, default=40, help="of each kind")
    options.add_argument("--seed", type=int, default=0)
    options = options.parse_args()
    random = np.random.default_rng(options.seed)
    print(f"MuJoCo {mujoco.__version__}, {options.things} things of each kind, seed {options.seed}")
    print("| | ours in MuJoCo: still | worst turn, rad | MuJoCo's here: still | worst turn, rad |")
    print("|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        here = Here(options.binary, folder)
        for kind in KINDS:
            rows = []
            for _ in range(options.things):
                thing = Thing(kind, random)
                there = There(thing)
                ours = here.run(thing, thing.pose, STEPS)
                forth = change(thing, ours, there.run(ours, SECONDS_AFTER)[:2])
                *theirs, sunk = there.run(thing.pose, SECONDS)
                lifted = (theirs[0] + [0.0, 0.0, sunk + HOVER], theirs[1])
                back = change(thing, theirs, here.run(thing, lifted, STEPS_AFTER))
                rows.append((forth, back, thing))
            cells = []
            for side in (0, 1):
                turns = [row[side][0] for row in rows]
                still = sum(row[side][0] < MOST_TURN and row[side][1] < MOST_MOTION for row in rows)
                cells += [f"{still} of {len(rows)}", f"{max(turns):.1e}"]
            print(f"| {kind} | {' | '.join(cells)} |", flush=True)
            for forth, back, thing in rows:
                for name, (turn, motion) in (("ours in MuJoCo", forth), ("MuJoCo's here", back)):
                    if turn >= MOST_TURN or motion >= MOST_MOTION:
                        about = {"kind": kind, "mass": thing.mass, "size": thing.size, "turn": turn, "motion": motion}
                        print("   ", name, json.dumps(about))


if __name__ == "__main__":
    main()
