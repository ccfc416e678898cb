"""MJCF as we read it against MuJoCo's own compiler: poses of bodies, masses, inertias, pairs that may touch.

    python3 benches/peers/mjcf.py --binary target/release/fingertip FILE.xml …     # a table, in Markdown
    python3 benches/peers/mjcf.py --golden                                         # writes tests/mjcf/golden.json

It needs a Python with the `mujoco` and `numpy` of requirements.txt. Our side is `fingertip inspect --json`, of a scene that holds the
file's robot in a random pose: at home on a fixed base, for poses and pairs, and on a free base, for masses. Where a file holds more than
a robot, its other bodies and the world's geoms are not compared.
"""

import argparse
import json
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import mujoco
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/mjcf"
FILES = ["actuators", "contacts", "include", "kinematics", "masses", "tendon"]
TOLERANCE = 1e-9  # m, kg, kg m²
POSES = 3
SHAPES = {0: "halfspace", 2: "sphere", 3: "capsule", 4: "ellipsoid", 5: "cylinder", 6: "box", 7: "hull"}
FREE, SLIDE, HINGE = (int(kind) for kind in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE))
COUPLED = int(mujoco.mjtEq.mjEQ_JOINT)


def body_name(model: mujoco.MjModel, body: int) -> str:
    """Its name, or the one that we give a body without one."""
    return model.body(body).name or f"body{body}"


def joint_name(model: mujoco.MjModel, joint: int) -> str:
    return model.joint(joint).name or body_name(model, model.jnt_bodyid[joint])


def random_pose(model: mujoco.MjModel, random: np.random.Generator) -> np.ndarray:
    """q with each joint within its range, coupled joints as their equalities have them."""
    q = model.qpos0.copy()
    for joint in range(model.njnt):
        if model.jnt_type[joint] in (SLIDE, HINGE):
            low, high = model.jnt_range[joint] if model.jnt_limited[joint] else (-1.0, 1.0)
            q[model.jnt_qposadr[joint]] = random.uniform(low, high)
    return q


def coupled(model: mujoco.MjModel, q: np.ndarray, followers: set[str]) -> np.ndarray:
    """q with the joints that follow others where MuJoCo's equalities want them."""
    q = q.copy()
    for _ in range(3):  # chains
        for equality in np.flatnonzero((model.eq_type == COUPLED) & (model.eq_active0 == 1)):
            a, b = model.eq_obj1id[equality], model.eq_obj2id[equality]
            if b < 0:
                continue
            constant, slope = model.eq_data[equality][:2]
            at_a, at_b = model.jnt_qposadr[a], model.jnt_qposadr[b]
            if joint_name(model, a) in followers:
                q[at_a] = model.qpos0[at_a] + constant + slope * (q[at_b] - model.qpos0[at_b])
            elif joint_name(model, b) in followers:
                q[at_b] = model.qpos0[at_b] + (q[at_a] - model.qpos0[at_a] - constant) / slope
    return q


def inertias(model: mujoco.MjModel, body: int) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre of mass, and the six numbers of the inertia about it along the body's axes: xx yy zz xy xz yz."""
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, model.body_iquat[body])
    turn = turn.reshape(3, 3)
    matrix = turn @ np.diag(model.body_inertia[body]) @ turn.T
    return model.body_mass[body], model.body_ipos[body], matrix[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


def allowed(model: mujoco.MjModel) -> list[tuple[int, int, float, float]]:
    """Geoms that MuJoCo's collision filters let touch, with friction and torsional friction (m)."""
    weld, pairs = model.body_weldid, []
    excluded = {tuple(sorted((s >> 16, s & 0xFFFF))) for s in map(int, model.exclude_signature)}
    named = {
        tuple(sorted((int(model.pair_geom1[p]), int(model.pair_geom2[p])))): (model.pair_friction[p], model.pair_dim[p])
        for p in range(model.npair)
    }
    for b in range(model.ngeom):
        for a in range(b):
            bodies = model.geom_bodyid[a], model.geom_bodyid[b]
            one, other = weld[bodies[0]], weld[bodies[1]]
            if one == other:
                continue
            if (a, b) in named:
                friction, condim = named[a, b]
                slide, spin = friction[0], friction[2]
            else:
                parents = weld[model.body_parentid[one]], weld[model.body_parentid[other]]
                joined = one != 0 and other != 0 and (one == parents[1] or other == parents[0])
                bits = model.geom_contype[a] & model.geom_conaffinity[b] or model.geom_contype[b] & model.geom_conaffinity[a]
                planes = model.geom_type[a] == 0 and model.geom_type[b] == 0
                if joined or not bits or planes or tuple(sorted(bodies)) in excluded:
                    continue
                first, second = model.geom_priority[a], model.geom_priority[b]
                if first == second:
                    condim = max(model.geom_condim[a], model.geom_condim[b])
                    slide, spin, _ = np.maximum(model.geom_friction[a], model.geom_friction[b])
                else:
                    higher = a if first > second else b
                    condim, (slide, spin, _) = model.geom_condim[higher], model.geom_friction[higher]
            pairs.append((a, b, float(slide) if condim > 1 else 0.0, float(spin) if condim > 3 else 0.0))
    return pairs


def shortened(text: str) -> str:
    """The first notes, where there are very many."""
    return text if len(text) < 900 else text[:900].rsplit("; ", 1)[0] + "; …"


def inspect(binary: Path, file: Path, freedom: str, home: dict[str, float]) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        scene = Path(folder) / "scene.toml"
        numbers = ", ".join(f"{json.dumps(name)} = {value!r}" for name, value in home.items())
        scene.write_text(
            f'[[robot]]\nname = "r"\nmjcf = {json.dumps(str(file.resolve()))}\nfreedom = "{freedom}"\nhome = {{ {numbers} }}\n'
        )
        done = subprocess.run([binary, "inspect", "--json", scene], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def compare(binary: Path, file: Path, random: np.random.Generator) -> str:
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    own = inspect(binary, file, "free", {})
    joints = {c["name"].removeprefix("r/"): c for c in own["coordinates"] if c["nq"] == 1}
    is_free = model.njnt > 0 and model.jnt_type[0] == FREE
    followers = {joint_name(model, j) for j in range(model.njnt)} - joints.keys()
    ours = {body["name"].removeprefix("r/") for body in own["bodies"]}
    bodies = [b for b in range(1, model.nbody) if body_name(model, b) in ours]

    masses = {mass["body"].removeprefix("r/"): mass for mass in own["masses"]}
    mass_error = inertia_error = 0.0
    for b in bodies:
        mass, com, matrix = inertias(model, b)
        if mass > 0.0:
            entry = masses[body_name(model, b)]
            mass_error = max(mass_error, abs(entry["mass"] - mass))
            inertia_error = max(inertia_error, *np.abs(np.array(entry["inertia"]) - matrix), *np.abs(np.array(entry["com"]) - com))
        elif body_name(model, b) in masses:
            mass_error = np.inf

    pose_error = 0.0
    for _ in range(POSES):
        q = random_pose(model, random)
        home = {j: float(q[model.jnt_qposadr[k]]) for k in range(model.njnt) if (j := joint_name(model, k)) in joints}
        own = inspect(binary, file, "free" if is_free else "fixed", home)
        places = {body["name"].removeprefix("r/"): body for body in own["bodies"]}
        data.qpos[:] = coupled(model, q, followers)
        # A free base stands where the keyframe has it.
        if model.nkey and is_free:
            names = [model.key(k).name for k in range(model.nkey)]
            data.qpos[:7] = model.key_qpos[names.index("home") if "home" in names else 0][:7]
        mujoco.mj_kinematics(model, data)
        for b in bodies:
            place, turn = places[body_name(model, b)], np.zeros(9)
            mujoco.mju_quat2Mat(turn, np.array(place["quaternion"]))
            pose_error = max(
                pose_error, *np.abs(place["position"] - data.xpos[b]), *np.abs(turn - data.xmat[b])
            )

    def counted(a, shape_a, b, shape_b, mu, torsion):
        return (*sorted([(a, shape_a), (b, shape_b)]), round(mu, 9), round(torsion, 9))

    mine = Counter(
        counted(p["a"]["body"][2:], p["a"]["shape"], p["b"]["body"][2:], p["b"]["shape"], p["mu"], p["torsion"])
        for p in own["pairs"]
    )
    apart = {
        frozenset(name.removeprefix("r/") for name in found.groups())
        for warning in own["warnings"]
        if "are left out" in warning and (found := re.match(r'"(.*?)" and "(.*?)" overlap', warning))
    }
    theirs, overlapping = Counter(), 0
    for a, b, mu, torsion in allowed(model):
        owners = [int(model.geom_bodyid[g]) for g in (a, b)]
        if not set(owners) <= set(bodies):
            continue
        names = [body_name(model, owner) for owner in owners]
        if frozenset(names) in apart:
            overlapping += 1
            continue
        kinds = [SHAPES[int(model.geom_type[g])] for g in (a, b)]
        theirs[counted(names[0], kinds[0], names[1], kinds[1], mu, torsion)] += 1
    wrong = (mine - theirs).total() + (theirs - mine).total()

    fine = max(pose_error, mass_error, inertia_error) < TOLERANCE and wrong == 0
    usual = ("fixed joints", "links have no", "joint limits: not constraints", "has no place in q", "of joints: no part", "commanded joints: no")
    notes = (note.removeprefix("r: ") for note in own["left_out"] + own["warnings"] if not any(part in note for part in usual))
    left_out = shortened("; ".join(notes)).replace("<", "`<").replace(">:", ">`:").replace("|", "\\|")
    pairs = f"{mine.total()}" + (f", {wrong} differ" if wrong else "") + (f" (+{overlapping} that overlap)" if overlapping else "")
    errors = " | ".join(f"{error:.0e}" for error in (pose_error, mass_error, inertia_error))
    name = f"{file.parent.name}/{file.name}"
    return f"| {name} | {'yes' if fine else '**no**'} | {len(bodies)} of {model.nbody - 1} | {len(joints)} | {errors} | {pairs} | {left_out} |"


def golden() -> dict:
    """Numbers of MuJoCo for the files of `tests/mjcf`."""
    random, numbers = np.random.default_rng(1), {"mujoco": mujoco.__version__}
    for file in (GOLDEN / f"{name}.xml" for name in FILES):
        model = mujoco.MjModel.from_xml_path(str(file))
        data = mujoco.MjData(model)
        entry = {"joints": [joint_name(model, j) for j in range(model.njnt)], "poses": [], "masses": {}}
        for _ in range(POSES):
            q = coupled(model, random_pose(model, random), {"left"})
            data.qpos[:] = q
            mujoco.mj_kinematics(model, data)
            bodies = {body_name(model, b): [*data.xpos[b], *data.xmat[b]] for b in range(1, model.nbody)}
            sites = {model.site(s).name: [*data.site_xpos[s], *data.site_xmat[s]] for s in range(model.nsite)}
            entry["poses"].append({"q": q.tolist(), "bodies": bodies, "sites": sites})
        for b in range(1, model.nbody):
            mass, com, matrix = inertias(model, b)
            entry["masses"][body_name(model, b)] = [mass, *com, *matrix]
        if file.stem == "contacts":
            # As MuJoCo finds them, not as `allowed` has them: all spheres overlap.
            mujoco.mj_resetData(model, data)
            mujoco.mj_forward(model, data)
            contacts = (data.contact[i] for i in range(data.ncon))
            entry["contacts"] = [
                [
                    *sorted(model.geom(int(g)).name for g in contact.geom),
                    float(contact.friction[0]) if contact.dim > 1 else 0.0,
                    float(contact.friction[2]) if contact.dim > 3 else 0.0,
                ]
                for contact in contacts
            ]
        if file.stem == "actuators":
            entry["ranges"] = {
                model.actuator(a).name: model.actuator_ctrlrange[a].tolist() for a in range(model.nu) if model.actuator_ctrllimited[a]
            }
            entry["forces"] = []
            for _ in range(POSES):
                q = random_pose(model, random)
                followed = coupled(model, q, {"left"})
                ctrl = random.uniform(-0.5, 0.5, model.nu)
                limited = model.actuator_ctrllimited == 1
                ctrl[limited] = np.clip(ctrl, *model.actuator_ctrlrange.T)[limited]
                data.qpos[:], data.ctrl[:], data.qvel[:] = followed, ctrl, 0.0
                mujoco.mj_forward(model, data)
                force = data.qfrc_actuator + data.qfrc_passive
                entry["forces"].append({"q": followed.tolist(), "ctrl": ctrl.tolist(), "force": force.tolist()})
        if file.stem == "tendon":
            entry["rests"] = []
            for _ in range(POSES):
                mujoco.mj_resetData(model, data)
                data.ctrl[:] = random.uniform(0.0, 1.0, model.nu)
                data.qfrc_applied[:] = random.uniform(-0.05, 0.05, model.nv)
                for _ in range(50_000):
                    mujoco.mj_step(model, data)
                assert np.abs(data.qvel).max() < 1e-13
                entry["rests"].append({"ctrl": data.ctrl.tolist(), "load": data.qfrc_applied.tolist(), "q": data.qpos.tolist()})
        numbers[file.stem] = entry
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/fingertip")
    parser.add_argument("--golden", action="store_true")
    arguments = parser.parse_args()
    if arguments.golden:
        (GOLDEN / "golden.json").write_text(json.dumps(golden(), indent=1) + "\n")
        return
    random = np.random.default_rng(0)
    print(f"MuJoCo {mujoco.__version__}; poses in m and entries of rotations, masses in kg, inertias in kg m² and centres of mass in m\n")
    print("| file | equal | bodies | joints | pose | mass | inertia | pairs | left out, or odd |\n|---|---|--:|--:|--:|--:|--:|--:|---|")
    for file in arguments.files:
        try:
            print(compare(arguments.binary, file, random), flush=True)
        except (RuntimeError, ValueError) as error:
            message = str(error).replace("\n", " ")
            print(f"| {file.parent.name}/{file.name} | – | | | | | | | {message} |", flush=True)


if __name__ == "__main__":
    main()
