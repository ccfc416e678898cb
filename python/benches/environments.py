"""A control period of each vector environment, for a world: random actions, from states that random actions have led to.

    RAYON_NUM_THREADS=1 python python/benches/environments.py [WORLDS …]

The median of five runs of 20 periods; "others" is what of it Python takes between rollouts.
"""

import sys
import time

import numpy as np

import fingertip.gym as envs

PERIODS, RUNS = 20, 5
ALL = (envs.CubeReorient, envs.LeapCubeReorient, envs.RotateInHand, envs.ShadowBlock)


def timed(env, actions):
    """Seconds of a period, and of the rollout in it."""
    inside = 0.0
    rollout = env.sim.rollout

    class Sim:
        def __getattr__(self, name):
            return getattr(env_sim, name)

        def rollout(self, *args, **kwargs):
            nonlocal inside
            began = time.perf_counter()
            made = rollout(*args, **kwargs)
            inside += time.perf_counter() - began
            return made

    env_sim, env.sim = env.sim, Sim()
    began = time.perf_counter()
    for action in actions:
        env.step(action)
    whole = time.perf_counter() - began
    env.sim = env_sim
    return whole / len(actions), inside / len(actions)


def main():
    print("| environment | worlds | µs for a world | others | periods a second |")
    print("|---|--:|--:|--:|--:|")
    for env_class in ALL:
        for worlds in map(int, sys.argv[1:] or (1, 64, 1024)):
            env = env_class(num_envs=worlds)
            env.reset(seed=1)
            rng = np.random.default_rng(0)
            actions = lambda n: rng.uniform(-1, 1, (n, *env.action_space.shape)).astype(np.float32)
            timed(env, actions(PERIODS))
            whole, inside = np.median([timed(env, actions(PERIODS)) for _ in range(RUNS)], axis=0)
            us = 1e6 / worlds
            print(f"| `{env_class.__name__}` | {worlds} | {us * whole:.0f} | {us * (whole - inside):.0f} | {worlds / whole:.0f} |", flush=True)


if __name__ == "__main__":
    main()
