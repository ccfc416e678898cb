"""What a step costs inside a compiled `scan` of JAX: the library's function, Python's callback, and a loop of numpy calls beside them.

python python/benches/jax_scan.py [assets/scenes/hand_ball.toml]
"""

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

import fingertip as ft

jax.config.update("jax_enable_x64", True)

STEPS = 100
ROUNDS = 15
"""The best of so many: others use the machine, too."""


def best(work):
    """The least time of a step, µs."""
    times = []
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e6 / STEPS * min(times[1:])


def main(scene="hand_ball"):
    model = ft.Model.load(scene)
    sim = ft.Quasidynamic(model, threads=1)

    def called_back(q, u):
        like = jax.ShapeDtypeStruct(q.shape, np.float64)
        return jax.pure_callback(lambda q, u: sim.step(q, u).q_next, like, q, u)

    own = ft.jax.step(sim)
    for worlds in [1, 64]:
        q, u = model.home(worlds), np.tile(model.control(0.1), (worlds, 1))
        commands = jnp.asarray(np.repeat(u[None], STEPS, 0))

        def scanned(step):
            roll = jax.jit(lambda q, us: jax.lax.scan(lambda q, u: (step(q, u), None), q, us)[0])
            return best(lambda: jax.block_until_ready(roll(q, commands)))

        def loop():
            at = q
            for _ in range(STEPS):
                at = sim.step(at, u).q_next

        by = scanned(lambda q, u: own(q, u).q_next), scanned(called_back), best(loop)
        print("B = {}: fingertip.jax {:.1f} µs, pure_callback {:.1f}, numpy {:.1f}".format(worlds, *by))


main(*sys.argv[1:])
