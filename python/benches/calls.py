"""What a step costs when it is called from Python, beside the same call from Rust in the same process.

python python/benches/calls.py assets/scenes/hand_ball.toml
"""

import sys
import time

import numpy as np

import fingertip as ft
from fingertip import _fingertip

ROUNDS = 300
"""The best of so many counts: others use the machine, too."""
SPAN = 1e-3
"""A round takes about so long, s."""


def main(path):
    model = ft.Model.load(path)
    sim = ft.Quasidynamic(model)
    print("|    B | Python µs | and q_next µs | Rust µs | Python − Rust |")
    for worlds in [1, 64, 1024]:
        q, u = model.home(worlds), np.tile(model.control(0.1), (worlds, 1))
        n = max(1, int(SPAN / _fingertip._seconds(sim, q, u, 3) * 3))

        def python():
            for _ in range(n):
                sim.step(q, u)

        def with_an_array():
            for _ in range(n):
                sim.step(q, u).q_next

        best = [np.inf] * 3
        for _ in range(max(30, ROUNDS // worlds)):
            for k, work in enumerate([python, with_an_array]):
                start = time.perf_counter()
                work()
                best[k] = min(best[k], (time.perf_counter() - start) / n)
            best[2] = min(best[2], _fingertip._seconds(sim, q, u, n) / n)
        step, array, rust = (1e6 * x for x in best)
        print(f"| {worlds:4} | {step:9.2f} | {array:13.2f} | {rust:7.2f} | {step - rust:6.2f}, {step / rust - 1:4.0%} |")


main(*sys.argv[1:])
