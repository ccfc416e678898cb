"""What a step costs when it is called from Python, beside the same call from Rust in the same process; with torch, if it is there.

python python/benches/calls.py assets/scenes/hand_ball.toml

With a kind of call and a number it does nothing but these, of one world, so that a busy machine can count instructions: those of 3000 less
those of 1000 are 2000 calls'.

valgrind --tool=callgrind python python/benches/calls.py assets/scenes/hand_ball.toml step 1000    # or rust, array, vjp
"""

import sys
import time

import numpy as np

import fingertip as ft
from fingertip import _fingertip

try:
    import torch
except ImportError:
    torch = None

ROUNDS = 300
"""The best of so many counts, fewer of large batches: others use the machine, too."""
SPAN = 1e-3
"""A count takes about so long, s."""


def counted(work):
    """A function that does the work n times and returns the seconds."""

    def of(n):
        start = time.perf_counter()
        for _ in range(n):
            work()
        return time.perf_counter() - start

    return of


def best(worlds, n, *works):
    """The least time of a call of each, µs: they take turns, n calls at a time."""
    rounds = range(max(30, ROUNDS // worlds))
    return 1e6 / n * np.min([[work(n) for work in works] for _ in rounds], axis=0)


def alone(sim, q, u, kind, n):
    step, weights = sim.step(q, u), np.ones_like(q)
    works = {"step": lambda: sim.step(q, u), "array": lambda: sim.step(q, u).q_next}
    works |= {"vjp": lambda: sim.vjp(q, u, q_next_bar=weights, step=step)}
    if kind == "rust":
        _fingertip._seconds(sim, q, u, n)
    else:
        counted(works[kind])(n)


def main(path, kind=None, n=1000):
    model = ft.Model.load(path)
    sim = ft.Quasidynamic(model)
    if kind:
        alone(sim, model.home(1), model.control(0.1)[None], kind, int(n))
        return
    for worlds in [1, 64, 1024]:
        q, u = model.home(worlds), np.tile(model.control(0.1), (worlds, 1))
        n = max(1, int(SPAN / _fingertip._seconds(sim, q, u, 3) * 3))
        rust, python, array = best(
            worlds,
            n,
            lambda n: _fingertip._seconds(sim, q, u, n),
            counted(lambda: sim.step(q, u)),
            counted(lambda: sim.step(q, u).q_next),
        )
        step, weights = sim.step(q, u), np.ones_like(q)
        [vjp] = best(worlds, n, counted(lambda: sim.vjp(q, u, q_next_bar=weights, step=step)))
        print(f"B = {worlds}: step from Rust {rust:.2f} µs, from Python {python:.2f}, with q_next {array:.2f}; vjp {vjp:.2f}")
        if torch is not None:
            forward, both, other = by_torch(sim, q, u, n)
            print(f"  torch: forward {forward:.1f} µs, with backward {both:.1f}; (2 u).sum() with backward {other:.1f}")


def by_torch(sim, q, u, n):
    torch.set_num_threads(1)
    step, q, u = ft.torch.step(sim), torch.tensor(q), torch.tensor(u, requires_grad=True)

    def backward(cost):
        u.grad = None
        cost.backward()

    forward = counted(lambda: step(q, u))
    both = counted(lambda: backward(step(q, u).q_next.sum()))
    return best(len(q), n, forward, both, counted(lambda: backward((2 * u).sum())))


main(*sys.argv[1:])
