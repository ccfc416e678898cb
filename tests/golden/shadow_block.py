"""What Gymnasium-Robotics' HandManipulateBlock sees and is rated by, for shadow_block.json.

    pip install gymnasium-robotics==1.4.2 mujoco==3.2.7 && MUJOCO_GL=disable python tests/golden/shadow_block.py

States are drawn, and its own functions are run on them.
"""

import json
from pathlib import Path

import gymnasium
import gymnasium_robotics
import mujoco
import numpy as np

gymnasium.register_envs(gymnasium_robotics)
FILE = Path(__file__).resolve().with_suffix(".json")
STATES = 8


def quaternion(random):
    q = random.standard_normal(4)
    return q / np.linalg.norm(q)


def main():
    env, random = gymnasium.make("HandManipulateBlock-v1").unwrapped, np.random.default_rng(0)
    env.reset(seed=0)
    hand = [name for name in env._model_names.joint_names if name.startswith("robot")]
    ranges = np.array([env.model.joint(name).range for name in hand])
    made = []
    for k in range(STATES):
        joints, v, action = random.uniform(*ranges.T), random.standard_normal(30), random.uniform(-1, 1, 20)
        block = np.array([*(np.array([1.0, 0.87, 0.2]) + 0.05 * random.standard_normal(3)), *quaternion(random)])
        goal = np.array([*(block[:3] + 0.02 * random.standard_normal(3)), *quaternion(random)])
        if k in (1, 2, 3):  # near, and near enough, and near by the other sign
            goal = block + [0.02, 0.004, 0.004][k - 1] * np.r_[random.standard_normal(3) / 3, 0.5 * random.standard_normal(4)]
            goal[3:] *= (-1 if k == 3 else 1) / np.linalg.norm(goal[3:])
        for name, position, rate in zip(hand, joints, v[:24], strict=True):
            env._utils.set_joint_qpos(env.model, env.data, name, position)
            env._utils.set_joint_qvel(env.model, env.data, name, rate)
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, block[3:])
        env._utils.set_joint_qpos(env.model, env.data, "object:joint", block)
        env._utils.set_joint_qvel(env.model, env.data, "object:joint", np.r_[v[24:27], rotation.reshape(3, 3).T @ v[27:]])
        env.goal = goal
        env._set_action(action)
        commands = {env.model.actuator(i).name[9:]: env.data.ctrl[i] for i in range(20)}
        seen, rewards = env._get_obs(), {}
        for kind in ("sparse", "dense"):
            env.reward_type = kind
            rewards[kind] = float(env.compute_reward(seen["achieved_goal"], seen["desired_goal"], {}))
        number = lambda array: np.round(np.asarray(array, float), 12).tolist()
        made.append(
            {name: number(value) for name, value in dict(joints=joints, v=v, action=action, block=block, goal=goal, **seen).items()}
            | {"commands": {name: float(value) for name, value in commands.items()}, "success": bool(env._is_success(block, goal)), **rewards}
        )
        print(k, rewards, made[-1]["success"])
    text = json.dumps({"source": f"{__doc__.splitlines()[0]} 1.4.2, MuJoCo {mujoco.__version__}", "states": made})
    FILE.write_text(text.replace('{"joints"', '\n{"joints"') + "\n")


main()
