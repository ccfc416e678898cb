"""MuJoCo Warp and MJX on a GPU, on the hand, ball and table: steps of rollouts of 50, by the number of worlds, as Markdown.

python benches/peers/gpu.py [--device cpu] [--worlds 1 1024 …]

Model and state are those of mujoco_peer.py: six contacts, all active, commands that differ by world. One step is recorded as a CUDA
graph and launched 50 times, as MuJoCo Warp's documentation recommends. MJX steps in a compiled `scan` under `vmap`, and its derivatives
are `jacfwd` of a step by q, v and u. Both compute in single precision; MJX takes few numbers of worlds, since it compiles each anew.
`cuda/check` measures our side on the same card.
"""

import argparse
import statistics
import time

import mujoco
import numpy as np

from mujoco_peer import TIME_STEP, build, copy_of, grasp
from scene import NOISE, ROLLOUT_STEPS, Scene

LEAST_CALLS = 5
# A rollout ends this near to MuJoCo's own in double precision, rad and m; else the figures are of something else.
NEAR = 2e-3


def seconds(call) -> float:
    """The median wall clock of a call that waits for the device; the first one does not count."""
    call()
    times = []
    for _ in range(LEAST_CALLS):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def commands(start: mujoco.MjData, worlds: int) -> np.ndarray:
    noise = np.random.default_rng(1).uniform(-NOISE, NOISE, (worlds, len(start.ctrl)))
    noise[:, -1] = 0.0  # the ball's weight
    return (start.ctrl + noise).astype(np.float32)


def expected(model: mujoco.MjModel, start: mujoco.MjData, command: np.ndarray) -> np.ndarray:
    """Where MuJoCo itself ends under a constant command."""
    data = copy_of(model, start)
    data.ctrl[:] = command
    mujoco.mj_step(model, data, nstep=ROLLOUT_STEPS)
    return data.qpos


def of_warp(model: mujoco.MjModel, start: mujoco.MjData, worlds: int, device: str) -> tuple[float, np.ndarray]:
    """Seconds of a rollout, and the first world's end."""
    import mujoco_warp
    import warp

    with warp.ScopedDevice(device):
        theirs = mujoco_warp.put_model(model)
        data = mujoco_warp.put_data(model, start, nworld=worlds, nconmax=2 * start.ncon, njmax=2 * start.nefc)
        data.ctrl.assign(commands(start, worlds))
        at, speed, warm = (warp.clone(x) for x in (data.qpos, data.qvel, data.qacc_warmstart))
        mujoco_warp.step(theirs, data)
        graph = None
        if warp.get_device().is_cuda:
            with warp.ScopedCapture() as capture:
                mujoco_warp.step(theirs, data)
            graph = capture.graph

        def rollout() -> None:
            for to, origin in ((data.qpos, at), (data.qvel, speed), (data.qacc_warmstart, warm)):
                warp.copy(to, origin)
            for _ in range(ROLLOUT_STEPS):
                warp.capture_launch(graph) if graph else mujoco_warp.step(theirs, data)
            warp.synchronize()

        return seconds(rollout), data.qpos.numpy()[0]


def of_mjx(model: mujoco.MjModel, start: mujoco.MjData, worlds: int, with_derivatives: bool) -> tuple[float, np.ndarray, float | None]:
    """Seconds of a rollout, the first world's end, and seconds of all worlds' derivatives of a step."""
    import jax
    from mujoco import mjx

    theirs, at = mjx.put_model(model, impl="jax"), mjx.put_data(model, start, impl="jax")
    control = jax.numpy.asarray(commands(start, worlds))

    def rollout(u):
        step = lambda data, _: (mjx.step(theirs, data.replace(ctrl=u)), None)
        return jax.lax.scan(step, at, None, ROLLOUT_STEPS)[0].qpos

    def after(q, v, u):
        data = mjx.step(theirs, at.replace(qpos=q, qvel=v, ctrl=u))
        return data.qpos, data.qvel

    compiled = jax.jit(jax.vmap(rollout))
    end = np.asarray(compiled(control))[0]
    of = seconds(lambda: jax.block_until_ready(compiled(control)))
    if not with_derivatives:
        return of, end, None
    linear = jax.jit(jax.vmap(jax.jacfwd(after, (0, 1, 2)), (None, None, 0)))
    return of, end, seconds(lambda: jax.block_until_ready(linear(at.qpos, at.qvel, control)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--worlds", type=int, nargs="+", default=[1, 64, 1024, 4096, 16384, 65536, 262144])
    parser.add_argument("--mjx", type=int, nargs="*", default=[1024, 8192])
    arguments = parser.parse_args()
    scene = Scene()
    model = build(scene)
    start = grasp(scene, model)
    print(f"MuJoCo {mujoco.__version__}, {start.ncon} contacts, {1e3 * TIME_STEP:g} ms a step; million world-steps per second\n", flush=True)
    print("| | worlds | step of a rollout | derivatives | differs from MuJoCo by |\n|---|--:|--:|--:|--:|", flush=True)
    goal = expected(model, start, commands(start, 1)[0])
    far = 0.0
    for name, sizes in (("MuJoCo Warp", arguments.worlds), ("MJX", arguments.mjx)):
        for worlds in sizes:
            try:
                if name == "MJX":
                    of, end, linear = of_mjx(model, start, worlds, worlds == min(sizes))
                else:
                    (of, end), linear = of_warp(model, start, worlds, arguments.device), None
            except Exception as error:
                print(f"| {name} | {worlds} | {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''} | | |", flush=True)
                continue
            differs = float(abs(end - goal).max())
            far = max(far, differs)
            rate = lambda s, steps: "" if s is None else f"{worlds * steps / s / 1e6:.3g}"
            print(f"| {name} | {worlds} | {rate(of, ROLLOUT_STEPS)} | {rate(linear, 1)} | {differs:.0e} |", flush=True)
    if not far < NEAR:
        raise SystemExit(f"expected ends within {NEAR:g} of MuJoCo's, got {far:g}")


if __name__ == "__main__":
    main()
