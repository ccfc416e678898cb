"""Where a hand comes to rest under loads: our quasi-dynamic step against MuJoCo.

    python3 benches/peers/rest.py --binary target/release/fingertip shadow_hand/right_hand.xml

It needs a Python with the `mujoco` and `numpy` of requirements.txt. Commands are random within the controls' ranges, loads are weak springs
with far rests, random for each joint, and both sides have the file's own springs, tendons and joint limits. Neither has weight, dry
friction or contacts. MuJoCo's limits are made stiff (solref), ours by κ. A line gives the largest difference of a joint, rad or m.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import mujoco
import numpy as np

from mjcf import ROOT, joint_name

WEAK = 0.01  # N·m/rad of the springs that load
LOAD = 0.05  # N·m at most
CASES = 5
STEPS = 3000
KAPPA = 1e8


def rest_of_mujoco(file: Path, ctrl: np.ndarray, loads: np.ndarray) -> np.ndarray:
    spec = mujoco.MjSpec.from_file(str(file))
    model = spec.compile()
    model.opt.gravity[:] = 0.0
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.timestep = 5e-4
    model.dof_frictionloss[:] = 0.0
    # Their springs with ours: one spring of the sum, and the torque of both.
    own, weak = model.jnt_stiffness.copy(), WEAK
    rests = model.qpos_spring.copy()
    model.jnt_stiffness[:] = own + weak
    model.qpos_spring[:] = (own * rests + loads) / (own + weak)
    # A limit yields by the load over its stiffness.
    model.jnt_solref[:] = [1.1e-3, 1.0]
    model.jnt_solimp[:] = [0.9999, 0.9999, 1e-3, 0.5, 2.0]
    # So do loops and joints that follow others.
    model.eq_solref[:] = [1.1e-3, 1.0]
    model.eq_solimp[:] = [0.9999, 0.9999, 1e-3, 0.5, 2.0]
    data = mujoco.MjData(model)
    data.ctrl[:] = ctrl
    for _ in range(200_000):
        mujoco.mj_step(model, data)
        if np.abs(data.qvel).max() < 1e-10:
            break
    return data.qpos.copy()


def rest_of_ours(binary: Path, file: Path, model: mujoco.MjModel, ctrl: np.ndarray, loads: np.ndarray) -> dict[str, float]:
    own = model.jnt_stiffness
    springs = []
    for j in range(model.njnt):
        stiffness = float(own[j] + WEAK)
        rest = float(own[j] * model.qpos_spring[model.jnt_qposadr[j]] + loads[j]) / stiffness
        springs.append(f"{json.dumps(joint_name(model, j))} = {{ stiffness = {stiffness!r}, rest = {rest!r} }}")
    with tempfile.TemporaryDirectory() as folder:
        scene = Path(folder) / "scene.toml"
        scene.write_text(
            f"gravity = [0, 0, 0]\n[params]\nkappa = {KAPPA}\njoint_limits = true\n"
            f'[[robot]]\nname = "r"\nmjcf = {json.dumps(str(file.resolve()))}\nspring = {{ {", ".join(springs)} }}\n'
            '[[pair]]\na = "r"\nb = "r"\nenabled = false\n'
        )
        contents = json.loads(subprocess.run([binary, "inspect", "--json", scene], capture_output=True, text=True, check=True).stdout)
        controls = {model.actuator(a).name: ctrl[a] for a in range(model.nu)}
        u = np.zeros(contents["nu"])
        places = {c["name"].removeprefix("r/"): c for c in contents["coordinates"]}
        for actuator in contents["actuators"]:
            place = places[actuator["joint"].removeprefix("r/")]["u"]
            u[place] += actuator["gain"] * controls[actuator["name"].removeprefix("r/")] + actuator["offset"]
        with subprocess.Popen([binary, "step", scene], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            q = None
            for _ in range(STEPS):
                process.stdin.write(json.dumps({"u": u.tolist(), **({} if q is None else {"q": q})}) + "\n")
                process.stdin.flush()
                answer = json.loads(process.stdout.readline())
                q = answer["q_next"]
            process.stdin.close()
    return {name: q[c["q"]] for name, c in places.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/fingertip")
    arguments = parser.parse_args()
    for file in arguments.files:
        random = np.random.default_rng(0)
        model = mujoco.MjModel.from_xml_path(str(file))
        worst = 0.0
        for _ in range(CASES):
            ctrl = random.uniform(*model.actuator_ctrlrange.T)
            loads = random.uniform(-LOAD, LOAD, model.njnt)
            theirs = rest_of_mujoco(file, ctrl, loads)
            ours = rest_of_ours(arguments.binary, file, model, ctrl, loads)
            differences = {
                name: abs(ours[name] - theirs[model.jnt_qposadr[j]])
                for j in range(model.njnt)
                if (name := joint_name(model, j)) in ours
            }
            name, difference = max(differences.items(), key=lambda item: item[1])
            worst = max(worst, difference)
            print(f"{file.parent.name}/{file.name}: {len(differences)} joints, off by {difference:.1e} at {name}", flush=True)
        print(f"{file.parent.name}/{file.name}: MuJoCo {mujoco.__version__}, off by {worst:.1e} at most in {CASES} cases", flush=True)


if __name__ == "__main__":
    main()
