"""Parameters of an Allegro hand and of the cube that it turns, from logs that MuJoCo made: `fingertip fit --second-order`.

    python3 benches/peers/fit_cube.py --binary target/release/fingertip [--seeds 3] [--seconds 6] [-- OPTIONS OF fit]

The planner (`fingertip mpc allegro_cube --stdio`) turns the cube on MuJoCo, see mpc.py; plant.py says what that is. Hidden are the stiffness and
damping of each joint, the cube's mass and the friction between fingertips and cube, 34 numbers up to 1.65 times as large or small as the fit
begins with (friction: 1.35). Joint limits are off on both sides, links have their weight, and the cube's edges are sharp. Joints are read 100
times a second with 1 mrad of noise, the cube's position with 0.5 mm and its rotation with 5 mrad. Each seed is another hand, goal and noise.
"""

import argparse
import json
import subprocess
import tempfile
import tomllib
from pathlib import Path

import mujoco
import numpy as np

from mpc import BINARY, REST, ROOT, Planner
from plant import Plant

TASK = ROOT / "assets" / "tasks" / "allegro_cube.toml"
RATE = 100  # measurements in a second
JOINT, PLACE, TURN = 1e-3, 5e-4, 5e-3  # rad, m, rad
H, KAPPA, WINDOW = 0.002, 1e6, 0.15  # s, 1/J, s
STIFFNESS, DAMPING, ARMATURE, MASS, FRICTION = 1.0, 0.05, 1e-3, 0.1, 0.8


def scene_text(path: Path) -> str:
    """The task's scene with what a second-order step needs besides."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("rounding")]
    text = "\n".join(lines).replace("../", f"{path.parent.parent}/")
    joints = f"stiffness = {STIFFNESS}\ndamping = {DAMPING}\narmature = {ARMATURE}\ndry_friction = 0"
    for old, new in (("h = 0.02", f"h = {H}"), ("kappa = 1e5", f"kappa = {KAPPA}"), (f"stiffness = {STIFFNESS}", joints)):
        assert text.count(f"\n{old}\n") == 1, f"{path}: expected a line {old}"
        text = text.replace(f"\n{old}\n", f"\n{new}\n")
    return text


def turned(by: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    """A quaternion turned by a rotation vector."""
    turn, result, angle = np.zeros(4), np.zeros(4), float(np.linalg.norm(by))
    mujoco.mju_axisAngle2Quat(turn, by / angle, angle)
    mujoco.mju_mulQuat(result, turn, quaternion)
    return result


class Turn:
    """A motion of a hand and a cube with hidden numbers, and its log."""

    def __init__(self, seed: int, seconds: float, binary: str) -> None:
        random = np.random.default_rng(seed)
        planner = Planner([binary, "mpc", str(TASK), "--stdio"])
        begin = planner.ask({"episode": seed, "seed": 0})
        self.scene = TASK.parent / tomllib.loads(TASK.read_text())["scene"]
        plant = Plant(self.scene, begin["period"])
        model, servos = plant.model, plant.places.ctrl
        self.names = [model.actuator(servo).name for servo in servos]
        wide = np.exp(random.uniform(-0.5, 0.5, 2 * len(servos) + 1))
        stiffness, damping = np.split(wide[:-1], 2)
        hidden = [STIFFNESS * stiffness, DAMPING * damping, [MASS * wide[-1], FRICTION * np.exp(random.uniform(-0.3, 0.3))]]
        self.hidden = np.concatenate(hidden)
        model.actuator_gainprm[servos, 0], model.actuator_biasprm[servos, 1:3] = hidden[0], np.column_stack([-hidden[0], 0 * stiffness])
        joints = model.actuator_trnid[servos, 0]
        dofs = model.jnt_dofadr[joints]
        model.dof_damping[dofs], model.dof_armature[dofs], model.jnt_limited[joints] = hidden[1], ARMATURE, 0
        model.body_gravcomp[:] = 0.0
        cube = model.body("cube").id
        model.body_inertia[cube] *= hidden[2][0] / model.body_mass[cube]
        model.body_mass[cube] = hidden[2][0]
        for pair in range(model.npair):
            bodies = {model.body(model.geom_bodyid[geom]).name for geom in (model.pair_geom1[pair], model.pair_geom2[pair])}
            if bodies != {"cube", "palm"}:
                model.pair_friction[pair, :2] = hidden[2][1]

        u = np.array(begin["start"]["u"])
        plant.reset(np.array(begin["start"]["q"]), u)
        for _ in range(round(REST / plant.period)):
            plant.hold(u)
        rows, parts = [], round(plant.period * RATE)
        for _ in range(round(seconds / plant.period)):
            answer = planner.ask({"q": plant.q().tolist()})
            if answer["done"] or plant.is_lost():
                break
            u = np.array(answer["u"])
            for _ in range(parts):
                rows.append([*u, *plant.q()])
                plant.hold(u, parts)
        planner.close()
        at = len(servos) + begin["q_names"].index("cube.x")
        self.rows = np.array(rows)
        self.turn = float(np.degrees(2 * np.arccos(np.abs(self.rows[:, at + 3 : at + 7] @ self.rows[0, at + 3 : at + 7]).clip(0, 1)).max()))
        is_joint = [k for k in range(len(servos), self.rows.shape[1]) if not at <= k < at + 7]
        self.rows[:, is_joint] += JOINT * random.standard_normal((len(rows), len(is_joint)))
        self.rows[:, at : at + 3] += PLACE * random.standard_normal((len(rows), 3))
        for row in self.rows:
            row[at + 3 : at + 7] = turned(TURN * random.standard_normal(3), row[at + 3 : at + 7].copy())
        self.header = ["time", *[f"u:{name}" for name in self.names], *begin["q_names"]]

    def fit(self, binary: str, options: list[str]) -> tuple[np.ndarray, np.ndarray, dict]:
        """The numbers, their standard errors, and all that the program says."""
        with tempfile.TemporaryDirectory() as folder:
            scene, log = Path(folder) / "hand.toml", Path(folder) / "log.csv"
            scene.write_text(scene_text(self.scene))
            time = np.arange(len(self.rows)) / RATE
            np.savetxt(log, np.column_stack([time, self.rows]), delimiter=",", header=",".join(self.header), comments="", fmt="%.7g")
            by = ["stiffness.*", "damping.*", "mass.cube", "mu.cube/hand"]
            command = [binary, "fit", scene, log, "--by", *by, "--second-order", "--json", "--window", str(WINDOW), *options]
            # Status 1 says that the search did not come to its end.
            said = subprocess.run(command, capture_output=True, text=True)
            if said.returncode not in (0, 1):
                raise RuntimeError(said.stderr)
        done = json.loads(said.stdout)
        found = {one["name"]: (one["value"], one["error"] or np.nan) for one in done["numbers"]}
        own = [f"{kind}.{name}" for kind in ("stiffness", "damping") for name in self.names]
        return *np.array([found[name] for name in [*own, "mass.cube", "mu.cube/hand"]]).T, done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(BINARY))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("options", nargs="*", help="of fit, behind --")
    given = parser.parse_args()
    print("seed  turned by  s  iterations  converged  median error  joints'  mass  friction  largest  noise of joints, rad")
    for seed in range(given.seeds):
        log = Turn(seed, given.seconds, given.binary)
        values, _, done = log.fit(given.binary, given.options)
        off = np.abs(values / log.hidden - 1)
        print(
            f"{seed}  {log.turn:.0f}°  {done['seconds']:.1f}  {done['iterations']}  {done['converged']}  {np.median(off):.2%}  "
            f"{np.median(off[:-2]):.2%}  {off[-2]:.2%}  {off[-1]:.2%}  {off.max():.2%}  {done['noise']['joint']['rms']:.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
