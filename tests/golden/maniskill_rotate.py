"""What ManiSkill's RotateSingleObjectInHand sees and is rated by, for maniskill_rotate.json.

    pip download --no-deps mani_skill==3.0.1 && unzip mani_skill-*.whl -d FOLDER && python tests/golden/maniskill_rotate.py FOLDER

States are drawn. Its own `evaluate`, rewards and rotations are run on them, by torch in double precision; SAPIEN and the rest of the
package are not needed. The fingertips' poses are those of its own URDF, by the products of matrices below.
"""

import contextlib
import importlib.util
import json
import sys
import types
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import torch

torch.set_default_dtype(torch.float64)
# Older torch cannot be entered like this, and there is one device.
torch.device = lambda _: contextlib.nullcontext()
FILE = Path(__file__).resolve().with_suffix(".json")
STATES = 8
FINGERS = [(12, 15), (0, 3), (4, 7), (8, 11)]


class Anything(types.ModuleType):
    """A module in which every name is a class."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (), {})
        setattr(self, name, made)
        return made


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def task(folder):
    names = "agents.robots envs.sapien_env sensors.camera utils.building.actors utils.io_utils utils.registration utils.scene_builder.table"
    names += " utils.structs.actor utils.structs.pose utils.structs.types utils.common utils.sapien_utils utils.building utils.geometry utils.structs utils"
    for name in ["sapien", "mani_skill", *(f"mani_skill.{name}" for name in names.split())]:
        sys.modules[name] = Anything(name)
    sys.modules["mani_skill.utils.registration"].register_env = lambda *_, **__: lambda made: made
    device = sys.modules["mani_skill.utils.structs.types"]
    device.Device = str
    load("mani_skill.utils.geometry.rotation_conversions", folder / "mani_skill/utils/geometry/rotation_conversions.py")
    sys.modules["mani_skill.utils.structs.pose"].vectorize_pose = lambda pose: torch.cat([pose.p, pose.q], -1)
    return load("task", folder / "mani_skill/envs/tasks/dexterity/rotate_single_object_in_hand.py")


def turn(axis, angle):
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def forward(urdf, base, joints):
    """The poses (4, 4) of all links."""
    poses = {"base_link": base}
    waiting = list(ElementTree.parse(urdf).getroot().iter("joint"))
    while waiting:
        joint = waiting.pop(0)
        parent = joint.find("parent").get("link")
        if parent not in poses:
            waiting.append(joint)
            continue
        origin, pose = joint.find("origin"), np.eye(4)
        numbers = lambda name: np.array((origin.get(name) or "0 0 0").split(), float)
        roll, pitch, yaw = numbers("rpy")
        pose[:3, :3] = turn([0, 0, 1], yaw) @ turn([0, 1, 0], pitch) @ turn([1, 0, 0], roll)
        pose[:3, 3] = numbers("xyz")
        if joint.get("type") == "revolute":
            axis = np.array(joint.find("axis").get("xyz").split(), float)
            pose[:3, :3] = pose[:3, :3] @ turn(axis, joints[int(joint.get("name")[6:].split(".")[0])])
        poses[joint.find("child").get("link")] = poses[parent] @ pose
    return poses


def quaternion(matrix):
    """By the eigenvector of Bar-Itzhack's symmetric matrix, w first and not negative."""
    (a, b, c), (d, e, f), (g, h, i) = matrix
    k = np.array(
        [[a + e + i, h - f, c - g, d - b], [h - f, a - e - i, b + d, c + g], [c - g, b + d, e - a - i, f + h], [d - b, c + g, f + h, i - a - e]]
    )
    q = np.linalg.eigh(k / 3)[1][:, -1]
    return -q if q[0] < 0 else q


def main(folder):
    module, random = task(folder), np.random.default_rng(0)
    urdf = folder / "mani_skill/assets/robots/allegro/variation/allegro_hand_right_fsr_simple.urdf"
    limits = {joint.get("name"): joint.find("limit") for joint in ElementTree.parse(urdf).getroot().iter("joint") if joint.get("type") == "revolute"}
    lower, upper = (np.array([float(limits[f"joint_{i}.0"].get(side)) for i in range(16)]) for side in ("lower", "upper"))
    base = np.eye(4)
    # Their pose's quaternion (-0.707, 0, 0.707, 0), of length 1.
    base[:3, :3], base[:3, 3] = turn([0, 1, 0], -np.pi / 2), [0, 0, 0.25]
    t = torch.tensor
    made = []
    for k in range(STATES):
        joints, before = random.uniform(lower, upper, (2, 16))
        action, velocity = random.uniform(-1, 1, 16), random.standard_normal(16)
        q = random.standard_normal(4)
        cube = np.array([*(np.array([0.0, 0.0, 0.3]) + 0.02 * random.standard_normal(3)), *(q / np.linalg.norm(q))])
        speed, turned = 0.2 * random.standard_normal(3), random.uniform(0, 10)
        if k == 1:  # a fall
            cube[2] = 0.19
        if k == 2:  # a success, of more than can count in a period
            turned = 4 * np.pi - 0.1
        pointed = random.standard_normal(3) * [1, 1, 0]
        if k > 2:  # less than can count
            x = turn([0, 0, 1], 0.1 * random.standard_normal()) @ (np.array([1, 1, 0]) * first_axis(cube[3:]))
            pointed = x
        pointed /= np.linalg.norm(pointed)
        if k == 2:
            pointed = turn([0, 0, 1], 1.0) @ (first_axis(cube[3:]) * [1, 1, 0])
            pointed /= np.linalg.norm(pointed)

        links = forward(urdf, base, joints)
        poses = [np.r_[links[name][:3, 3], quaternion(links[name][:3, :3])] for name in ["palm", *(f"link_{last}.0_tip" for _, last in FINGERS)]]
        pose = lambda numbers: types.SimpleNamespace(pose=types.SimpleNamespace(p=t(numbers[None, :3]), q=t(numbers[None, 3:])))
        env = types.SimpleNamespace(device="cpu", num_envs=1, hand_init_height=0.25, success_threshold=torch.pi * 4)
        env.obj = pose(cube)
        env.obj.get_linear_velocity = lambda: t(speed[None])
        env.unit_vector, env.rot_dir = t([[1.0, 0.0, 0.0]]), t([[0, 0, 1]])
        env.prev_unit_vector, env.cum_rotation_angle = t(pointed[None]), t([turned])
        env.controller_param = tuple(torch.full((1, 16), x) for x in (4e2, 1e1, 5e1))
        # set_action of PDJointPosController with use_delta: the positions before, and the action from -1 to 1 on -0.1 to 0.1.
        target = before + 0.1 * action
        controller = types.SimpleNamespace(_target_qpos=t(target[None]))
        robot = types.SimpleNamespace(qpos=t(joints[None]), qvel=t(velocity[None]))
        env.agent = types.SimpleNamespace(tip_links=[pose(tip) for tip in poses[1:]], controller=controller, robot=robot)
        task_of = module.RotateSingleObjectInHand
        env.compute_dense_reward = types.MethodType(task_of.compute_dense_reward, env)
        info = task_of.evaluate(env)
        reward = task_of.compute_normalized_dense_reward(env, None, None, info)
        number = lambda array: np.round(np.asarray(array, float), 12).tolist()
        given = dict(joints=joints, before=before, action=action, velocity=velocity, cube=cube, speed=speed, turned=turned, pointed=pointed)
        after = dict(poses=np.concatenate(poses), tips=info["obj_tip_vec"][0].flatten(), turn=info["rotation_angle"][0], reward=reward[0])
        after |= dict(turned_after=env.cum_rotation_angle[0], torque=info["qf"][0], pointed_after=env.prev_unit_vector[0])
        made.append({name: number(value) for name, value in {**given, **after}.items()} | {name: bool(info[name][0]) for name in ("success", "fail")})
        print(k, float(reward), made[-1]["turn"], made[-1]["success"], made[-1]["fail"])
    text = json.dumps({"source": f"{__doc__.splitlines()[0]} ManiSkill 3.0.1, torch {torch.__version__}", "states": made})
    FILE.write_text(text.replace('{"joints"', '\n{"joints"') + "\n")


def first_axis(q):
    w, x, y, z = q
    return np.array([w * w + x * x - y * y - z * z, 2 * (x * y + w * z), 2 * (x * z - w * y)])


main(Path(sys.argv[1]))
