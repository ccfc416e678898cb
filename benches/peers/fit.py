"""Parameters of a LEAP hand from logs that MuJoCo made: `fingertip fit`, beside Gauss-Newton steps on MuJoCo itself by differences.

    python3 benches/peers/fit.py --binary target/release/fingertip [--seeds 5] [--write assets/recorded/leap_hand.csv]

It needs a Python with the `mujoco` of requirements.txt. The hand of `assets/robots/leap16.urdf` follows sines in the air. The stiffness
and damping of each joint are hidden, up to 1.65 times as large or small as both begin with; encoders have 1 mrad of noise and are read
100 times a second. MuJoCo steps by 2 ms, and so do we. Both look for the 32 numbers and for where the joints were at first; we look for
their velocities, too. Each seed is another hand, motion and noise. `--write` writes the log of seed 0 alone, 3 s long.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import mujoco
import mujoco.rollout
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
H, EVERY, NOISE, SECONDS, JOINTS = 0.002, 5, 1e-3, 8.0, 16
STIFFNESS, DAMPING, ARMATURE = 1.0, 0.05, 1e-3
EFFORT = 0.2196  # N·m, as the URDF says
CENTRE = np.array([0.5, 0.0, 0.5, 0.5] * 3 + [0.8, 0.3, 0.5, 0.5])
SCENE = f"""
[params]
h = {H}
kappa = 1e6

[[robot]]
name = "hand"
urdf = "{ROOT}/assets/robots/leap16.urdf"
stiffness = {STIFFNESS}
damping = {DAMPING}
armature = {ARMATURE}
dry_friction = 0

[[pair]]
a = "hand"
b = "hand"
enabled = false
"""


def hand(stiffness: np.ndarray, damping: np.ndarray) -> mujoco.MjModel:
    spec = mujoco.MjSpec.from_file(str(ROOT / "assets/robots/leap16.urdf"))
    spec.option.timestep = H
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    for geom in spec.geoms:
        geom.density = 0  # the URDF says what links weigh
    for joint, k in zip(spec.joints, stiffness):
        joint.armature, joint.limited, joint.actfrclimited = ARMATURE, 0, 0
        actuator = spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.set_to_position(kp=k)
        actuator.forcelimited, actuator.forcerange = 1, [-EFFORT, EFFORT]
    model = spec.compile()
    model.dof_damping[:], model.dof_frictionloss[:] = damping, 0.0
    return model


class Motion:
    """A motion of a hand with hidden numbers, and its log: times, commands of each row, and what was measured."""

    def __init__(self, seed: int, seconds: float) -> None:
        random = np.random.default_rng(seed)
        self.hidden = np.concatenate([m * np.exp(random.uniform(-0.5, 0.5, JOINTS)) for m in (STIFFNESS, DAMPING)])
        model = hand(*np.split(self.hidden, 2))
        self.names = [model.joint(j).name for j in range(JOINTS)]
        rate, phase = 2 * np.pi * random.uniform(0.3, 1.5, (JOINTS, 2)), random.uniform(0, 2 * np.pi, (JOINTS, 2))
        size = random.uniform(0.1, 0.25, (JOINTS, 2))
        self.time = np.arange(round(seconds / (H * EVERY)) + 1) * H * EVERY
        self.u = CENTRE + (size * np.sin(rate * self.time[:, None, None] + phase)).sum(-1)
        data = mujoco.MjData(model)
        data.qpos[:], data.ctrl[:] = CENTRE, self.u[0]
        mujoco.mj_step(model, data, 2000)  # at rest
        measured = []
        for u in self.u:
            measured.append(data.qpos + NOISE * random.standard_normal(JOINTS))
            data.ctrl[:] = u
            mujoco.mj_step(model, data, EVERY)
        self.measured = np.array(measured)

    def write(self, path: Path) -> None:
        names = [f"u:hand/{name}" for name in self.names] + [f"hand/{name}" for name in self.names]
        rows = np.column_stack([self.time, self.u, self.measured])
        np.savetxt(path, rows, delimiter=",", header=",".join(["time", *names]), comments="", fmt="%.6g")


def ours(motion: Motion, binary: Path) -> tuple[np.ndarray, np.ndarray, float]:
    """The numbers, their standard errors, and s."""
    with tempfile.TemporaryDirectory() as folder:
        scene, log = Path(folder) / "hand.toml", Path(folder) / "log.csv"
        scene.write_text(SCENE)
        motion.write(log)
        command = [binary, "fit", scene, log, "--by", "stiffness.*", "damping.*", "--second-order", "--json"]
        done = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    found = {one["name"]: (one["value"], one["error"]) for one in done["numbers"]}
    all = [found[f"{kind}.hand/{name}"] for kind in ("stiffness", "damping") for name in motion.names]
    return *np.array(all).T, done["seconds"]


def theirs(motion: Motion) -> tuple[np.ndarray, float]:
    """The numbers and s, by Levenberg's and Marquardt's method on differences of rollouts on all processors."""
    n = 2 * JOINTS + JOINTS
    model = hand(np.full(JOINTS, STIFFNESS), np.full(JOINTS, DAMPING))
    threads = 2
    data = [mujoco.MjData(model) for _ in range(threads)]
    control = np.repeat(motion.u, EVERY, axis=0)[: (len(motion.time) - 1) * EVERY]
    begin = time.perf_counter()

    def predicted(points: np.ndarray) -> np.ndarray:
        models, states = [], []
        for x in points:
            own = mujoco.MjModel.__copy__(model)
            values = np.exp(x[: 2 * JOINTS])
            own.actuator_gainprm[:, 0], own.actuator_biasprm[:, 1] = values[:JOINTS], -values[:JOINTS]
            own.dof_damping[:] = values[JOINTS:]
            models.append(own)
            states.append(np.concatenate([[0.0], x[2 * JOINTS :], np.zeros(JOINTS)]))
        state, _ = mujoco.rollout.rollout(models, data, np.array(states), np.tile(control, (len(points), 1, 1)))
        q = state[:, EVERY - 1 :: EVERY, 1 : 1 + JOINTS]
        return np.concatenate([points[:, None, 2 * JOINTS :], q], axis=1).reshape(len(points), -1)

    target = motion.measured.reshape(-1)
    x = np.concatenate([np.full(JOINTS, np.log(STIFFNESS)), np.full(JOINTS, np.log(DAMPING)), motion.measured[0]])
    damping, step = 1e-3, 1e-6
    [at] = predicted(x[None])
    cost = ((target - at) ** 2).sum()
    for _ in range(50):
        jacobian = ((predicted(x + step * np.eye(n)) - at) / step).T
        h, g = jacobian.T @ jacobian, jacobian.T @ (target - at)
        while damping < 1e9:
            change = np.linalg.solve(h + damping * np.diag(np.diag(h)), g)
            [there] = predicted((x + np.clip(change, -1, 1))[None])
            new = ((target - there) ** 2).sum()
            if new < cost:
                break
            damping *= 10
        gain, cost, x, at, damping = cost - new, new, x + np.clip(change, -1, 1), there, damping / 10
        if gain < 1e-3 * 2 * NOISE**2:
            break
    return np.exp(x[: 2 * JOINTS]), time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/fingertip")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    if given.write:
        Motion(0, 3.0).write(given.write)
        return
    print("seed  ours: s  median error  largest  rms of error/standard error | MuJoCo: s  median error  largest")
    for seed in range(given.seeds):
        motion = Motion(seed, SECONDS)
        values, errors, seconds = ours(motion, given.binary)
        others, other_seconds = theirs(motion)
        off, other = [np.abs(x / motion.hidden - 1) for x in (values, others)]
        score = np.sqrt((((values - motion.hidden) / errors) ** 2).mean())
        print(
            f"{seed}  {seconds:.2f}  {np.median(off):.2%}  {off.max():.2%}  {score:.2f} | "
            f"{other_seconds:.2f}  {np.median(other):.2%}  {other.max():.2%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
