"""Calls of this package beside MuJoCo's own in Python, on the hand and ball: rollouts and derivatives of 1, 64 and 1024 worlds.

python python/benches/beside_mujoco.py [threads]

Both sides take turns in one process, with numpy arrays in and out. MuJoCo's model and its state, six fingertips at the ball, are those of
benches/peers: `mujoco.rollout` steps 2 ms, a fifth of ours, since its contacts need it; figures are for one of its steps and one of ours,
and for the same simulated time. `mjd_transitionFD` takes one world at a time.

Where `mujoco.mjx` is installed, its steps on this processor are in the table too: compiled, in single precision as it comes, with the same
solver; and its derivatives by `jax.jacfwd`, of one world alone. They take so long that fewer calls have to do.

Times are the process's own on its processors, the least of some calls: others use the machine, too. More threads than one share them.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mujoco
import numpy as np
from mujoco import rollout

import fingertip as ft

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches" / "peers"))
from mujoco_peer import FULL_STATE, build, copy_of, grasp  # noqa: E402
from scene import NOISE, Scene  # noqa: E402

STEPS = 50
ROUNDS = 20
SPAN = 0.05
"""A round of a call takes at least so long, s."""


def microseconds(call):
    """The mean time of a call, µs."""
    start, end, calls = time.process_time(), 0.0, 0
    while (end := time.process_time() - start) < SPAN:
        call()
        calls += 1
    return 1e6 * end / calls


def of_mjx(model, start, control):
    """What MJX costs, µs for a world: a step of a rollout under commands (B, nu) and, of one world, its derivatives by q, v and u; what is
    not measured is left out."""
    try:
        import jax
        from mujoco import mjx
    except ImportError:
        return {}
    theirs, at = mjx.put_model(model, impl="jax"), mjx.put_data(model, start, impl="jax")
    steps = 10

    def rollout(u):
        step = lambda data, _: (mjx.step(theirs, data.replace(ctrl=u)), None)
        return jax.lax.scan(step, at, None, steps)[0].qpos

    def after(q, v, u):
        data = mjx.step(theirs, at.replace(qpos=q, qvel=v, ctrl=u))
        return data.qpos, data.qvel

    def least(work, *given):
        compiled = jax.jit(work)
        call = lambda: jax.block_until_ready(compiled(*given))
        call()
        return min(microseconds(call) for _ in range(3))

    of = {"rollout": least(jax.vmap(rollout), control) / steps / len(control)}
    if len(control) == 1:
        of["linearize"] = least(jax.jacfwd(after, (0, 1, 2)), at.qpos, at.qvel, control[0])
    return of


def main(threads=1):
    threads = int(threads)
    scene = Scene()
    theirs = build(scene)
    start = grasp(scene, theirs)
    model = ft.Model.load("hand_ball")
    sim, random = ft.Quasidynamic(model, threads=threads), np.random.default_rng(1)
    # Ours from where the scene's script has the ball in the fingers, on the way to there from home.
    way = np.arange(0.0, scene.middle(), scene.time_step)
    q = sim.rollout(model.home(), model.control(way)).q[-1]
    state = np.zeros(mujoco.mj_stateSize(theirs, FULL_STATE))
    mujoco.mj_getState(theirs, start, state, FULL_STATE)
    n = 2 * theirs.nv + theirs.na
    a, b = np.zeros((n, n)), np.zeros((n, theirs.nu))
    print(f"MuJoCo {mujoco.__version__}, {threads} threads; µs for a world and step, the least of {ROUNDS} rounds in turns")
    with rollout.Rollout(nthread=threads if threads > 1 else 0) as runner, ThreadPoolExecutor(threads) as pool:
        datas = [copy_of(theirs, start) for _ in range(threads)]
        for worlds in (1, 64, 1024):
            noise = random.uniform(-NOISE, NOISE, (worlds, 1, model.nu))
            u = np.repeat(model.control(scene.middle()) + noise, STEPS, 1)
            control = np.concatenate([np.repeat(start.ctrl[: model.nu] + noise, STEPS, 1), np.tile(start.ctrl[model.nu :], (worlds, STEPS, 1))], 2)
            states, warm, q0 = np.tile(state, (worlds, 1)), np.tile(start.qacc_warmstart, (worlds, 1)), np.tile(q, (worlds, 1))
            # Each call takes as long as the last, so that some for each thread are enough.
            few = max(1, worlds // 16 // threads)
            differences = lambda data: [mujoco.mjd_transitionFD(theirs, data, 1e-6, False, a.copy(), b.copy(), None, None) for _ in range(few)]
            calls = {
                "rollout": lambda: sim.rollout(q0, u),
                "theirs": lambda: runner.rollout(theirs, datas, states, control, initial_warmstart=warm),
                "step": lambda: sim.step(q0, u[:, 0]),
                "linearize": lambda: sim.linearize(q0, u[:, 0]),
                "differences": lambda: list(pool.map(differences, datas)),
            }
            rounds = [{name: microseconds(call) for name, call in calls.items()} for _ in range(ROUNDS)]
            count = {"rollout": worlds * STEPS, "theirs": worlds * STEPS, "differences": few * threads}
            of = {name: min(each[name] for each in rounds) / count.get(name, worlds) for name in calls}
            ratio = of["theirs"] / of["rollout"]
            same_time = ratio * model.params["h"][0, 0] / theirs.opt.timestep
            print(
                f"B = {worlds}: step {of['step']:.2f}; rollout {of['rollout']:.2f}, mujoco.rollout {of['theirs']:.2f}: {ratio:.1f} times, "
                f"{same_time:.0f} for the same time; linearize {of['linearize']:.2f}, mjd_transitionFD {of['differences']:.0f}: "
                f"{of['differences'] / of['linearize']:.0f} times"
            )
            for name, cost in of_mjx(theirs, start, control[:, 0]).items():
                print(f"  MJX beside {name}: {cost:.0f}, {cost / of[name]:.0f} times")


main(*sys.argv[1:])
