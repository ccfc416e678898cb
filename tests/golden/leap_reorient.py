"""What MuJoCo Playground's LeapCubeReorient sees and is rated by, for leap_reorient.json.

    pip install playground && python tests/golden/leap_reorient.py

States are drawn; its own `step` is run on them with the physics replaced by the next state, and without noise. Its visual meshes,
which have no mass, need not be there.
"""

import json
import sys
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jp
import mujoco
import numpy as np
from mujoco import mjx
from mujoco_playground._src import mjx_env
from mujoco_playground._src.manipulation.leap_hand import base, reorient
from mujoco_playground._src.manipulation.leap_hand import leap_hand_constants as consts

FILE = Path(__file__).resolve().with_suffix(".json")
STATES = 8


def assets():
    folder = consts.ROOT_PATH / "xmls"
    found = {}
    for path in (folder, folder / "reorientation_cube_textures", folder / "meshes"):
        mjx_env.update_assets(found, path)
    names = ["palm_right", "base", "proximal", "medial", "distal", "tip", "thumb_base", "thumb_proximal", "thumb_distal", "thumb_tip"]
    return {f"{name}.obj": found["dex_cube.obj"] for name in names} | found


def quaternion(random):
    q = random.standard_normal(4)
    return q / np.linalg.norm(q)


def main():
    base.get_assets = assets
    # JAX has renamed its arguments since.
    clip = jp.clip
    jp.clip = lambda *args, **kwargs: clip(*args, **{name.removeprefix("a_"): value for name, value in kwargs.items()})
    env = reorient.CubeReorient(config_overrides={"impl": "jax", "obs_noise.level": 0.0})
    model, random = env.mj_model, np.random.default_rng(0)
    lower, upper = model.actuator_ctrlrange.T
    made = []
    for k in range(STATES):
        joints = random.uniform(lower, upper)
        cube = np.array([*(np.array([0.11, 0.0, 0.03]) + 10.0 ** random.uniform(-3, -1) * random.standard_normal(3)), *quaternion(random)])
        v, u, action = random.standard_normal(22), random.uniform(lower, upper), random.uniform(-1, 1, 16)
        goal, turning = quaternion(random), random.standard_normal(3)
        if k == 1:  # a goal that is reached
            goal = cube[3:] + 0.01 * random.standard_normal(4)
            goal /= np.linalg.norm(goal)
        if k == 2:  # a fall
            cube[2] = -0.06
        if k == 3:  # at home, with little to rate
            joints, cube[:3] = np.array(env._default_pose) + 0.01, [0.11, 0.005, 0.04]
        last, before = random.uniform(-1, 1, (2, 16))

        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, cube[3:])
        own = rotation.reshape(3, 3).T @ v[19:]
        old = mjx_env.make_data(model, qpos=np.array(env._init_q), qvel=np.zeros(22), ctrl=u, mocap_pos=np.array(env._init_mpos), mocap_quat=goal, impl="jax")
        given = []

        def step(mjx_model, data, control, substeps):
            given.append(np.array(control))
            return mjx.forward(mjx_model, data.replace(qpos=jp.array([*joints, *cube]), qvel=jp.array([*v[:16], *v[16:19], *own]), ctrl=control))

        mjx_env.step = step
        state = env.reset(jax.random.PRNGKey(k))
        info = state.info | {"last_act": jp.array(last), "last_last_act": jp.array(before), "motor_targets": jp.array(u), "goal_quat_dquat": jp.array(turning)}
        after = env.step(state.replace(data=old, info=info), jp.array(action))
        number = lambda array: np.round(np.asarray(array, float), 12).tolist()
        made.append(
            {name: number(value) for name, value in dict(joints=joints, cube=cube, v=v, u=u, action=action, last=last, before=before, goal=goal, turning=turning).items()}
            | {
                "targets": number(given[0]),
                "state": number(after.obs["state"]),
                "privileged_state": number(after.obs["privileged_state"]),
                "reward": number(after.reward),
                "terms": {name[7:]: number(value) for name, value in after.metrics.items() if name.startswith("reward/")},
                "done": bool(after.done),
                "goal_after": number(after.data.mocap_quat[0]),
                "turning_after": number(after.info["goal_quat_dquat"]),
            }
        )
        print(k, float(after.reward), bool(after.done), after.metrics["reward/success"])
    text = json.dumps({"source": f"{__doc__.splitlines()[0]} MuJoCo {mujoco.__version__}", "states": made})
    FILE.write_text(text.replace('{"joints"', '\n{"joints"') + "\n")
    print(FILE, len(text), file=sys.stderr)


main()
