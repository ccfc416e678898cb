"""Threads, forks and pickles."""

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import near_home

import fingertip as ft
from fingertip import _fingertip


def _answer(connection, sim, q, u):
    other = sim.with_params(mass=0.4)
    other.linearize(q, u)
    steps = np.repeat(u[:, None], 2, 1)
    other.rollout_vjp(steps, other.rollout(q, steps), q_bar=np.ones((len(q), 3, q.shape[1])))
    connection.send(sim.step(q, u).q_next.tobytes())
    connection.close()


def _in_a_child(method, *args):
    context = multiprocessing.get_context(method)
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(there, *args))
    child.start()
    there.close()
    try:
        assert here.poll(60), f"a child by {method} does not answer"
        return here.recv()
    finally:
        child.kill()
        child.join()


@pytest.mark.parametrize("threads", [None, 1, 2])
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_after_a_step(hand, threads):
    sim = ft.Quasidynamic(hand, threads=threads)
    q, u = near_home(hand, 300)
    expected = sim.step(q, u).q_next.tobytes()
    assert _in_a_child("fork", sim, q, u) == expected
    assert sim.step(q, u).q_next.tobytes() == expected


def test_spawn(hand):
    sim = ft.Quasidynamic(hand, threads=1, mass=[0.3], mu=0.7)
    q, u = near_home(hand, 3)
    assert _in_a_child("spawn", sim, q, u) == sim.step(q, u).q_next.tobytes()


def test_pickles(hand, cube):
    sim = ft.Quasidynamic(hand, 2, kappa=2e3, mass=np.array([[0.3], [0.4]]))
    again = pickle.loads(pickle.dumps(sim))
    assert again.threads == 2
    assert {name: x.tolist() for name, x in again.params.items()} == {name: x.tolist() for name, x in sim.params.items()}
    dynamic = ft.Dynamic(cube, beta=0.5, stiction_speed=1e-2, h=0.001)
    again = pickle.loads(pickle.dumps(dynamic))
    q, v = cube.home(), 0.1 * np.ones(cube.nv)
    assert np.array_equal(again.step(q, v).v_next, dynamic.step(q, v).v_next)
    assert again.params["h"] == 0.001


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_do_not_depend_on_threads(hand, sim, threads):
    q, u = near_home(hand, 200)
    other = ft.Quasidynamic(hand, threads)
    assert other.threads == threads and other.with_params(mass=0.52).threads == threads
    assert np.array_equal(other.step(q, u).q_next, sim.step(q, u).q_next)
    steps = np.repeat(u[:, None], 2, 1)
    made = [of.rollout(q, steps) for of in (sim, other)]
    assert np.array_equal(made[0].q, made[1].q)
    pulled = [of.rollout_vjp(steps, made, q_bar=np.ones_like(made.q)) for of, made in zip((sim, other), made)]
    assert np.array_equal(pulled[0].u, pulled[1].u)
    assert all(np.array_equal(a, b) for a, b in zip(pulled[0].params.values(), pulled[1].params.values()))


def test_one_object_in_many_threads(hand):
    sim = ft.Quasidynamic(hand, threads=2)
    q, u = near_home(hand, 64)
    expected = sim.step(q, u).q_next
    found = [None] * 8

    def work(k):
        found[k] = sim.step(q, u).q_next

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(own, expected) for own in found)


def test_python_goes_on_during_a_call(hand, sim):
    q, u = near_home(hand, 512)

    def turns(steps):
        """How often this thread's turn comes during a rollout in another one."""
        commands = np.repeat(u[:, None], steps, 1)
        thread = threading.Thread(target=sim.rollout, args=(q, commands))
        thread.start()
        count = 0
        while thread.is_alive():
            count += 1
            time.sleep(0.001)
        return count

    # Where a call holds Python up, none is long enough; on a busy machine a turn may last as long as a short one.
    assert any(turns(steps) > 5 for steps in (30, 300, 3000))


def test_a_panic_is_an_exception():
    with pytest.raises(RuntimeError, match="has a bug, please report it: asked for"):
        _fingertip._panic()


def test_nothing_more_is_imported():
    """What not everyone has is imported on use."""
    program = "import sys, fingertip; print({'gymnasium', 'jax', 'torch'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "set()\n"
    with pytest.raises(AttributeError, match="has no attribute 'tensorflow'"):
        ft.tensorflow


def _arrays(result):
    """The arrays of a result, by name."""
    named = {name: getattr(result, name) for name in dir(result) if not name.startswith("_") and name not in ("contacts", "raise_for_status")}
    by_parameter = named.pop("params", {})
    return named | {f"params {name}": array for name, array in by_parameter.items()}


def test_results_pickle(hand, sim):
    """All arrays travel; what gradients read besides does not."""
    dynamic = ft.Dynamic(hand)
    q, u = near_home(hand, 3)
    v, tau = np.zeros((3, hand.nv)), np.zeros((3, 2, hand.nv))
    steps = np.repeat(u[:, None], 2, 1)
    step, rolled = sim.step(q, u), sim.rollout(q, steps)
    heavy, rolling = dynamic.step(q, v), dynamic.rollout(q, v, tau)
    results = [
        *(step, rolled, heavy, rolling, sim.step(q[0], u[0]), sim.rollout(q[0], steps[0]), sim.hold(q, u, 3)),
        *(sim.linearize(q, u), sim.linearize(q, u, forces=False), dynamic.linearize(q[:1], v[:1])),
        *(sim.vjp(q, u, phi_bar=np.ones((3, 6))), dynamic.vjp(q, v, phi_bar=np.ones((3, 6)))),
        *(sim.rollout_vjp(steps, rolled, q_bar=rolled.q), dynamic.rollout_vjp(tau, rolling, q_bar=rolling.q)),
    ]
    for result in results:
        again = pickle.loads(pickle.dumps(result))
        assert type(again) is type(result)
        expected, found = _arrays(result), _arrays(again)
        assert expected.keys() == found.keys() and len(expected) > 2
        for name, array in expected.items():
            assert array.dtype == found[name].dtype and np.array_equal(array, found[name]), name
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(step))))
    again.raise_for_status()
    with pytest.raises(ft.Error, match="step: expected a result of this object"):
        sim.vjp(q, u, step=again)
    failed = sim.step(np.full((2, hand.nq), np.nan), u[:2])
    with pytest.raises(ft.Unsolved, match="2 of 2 solves have no solution: 0: bad_input, 1: bad_input"):
        pickle.loads(pickle.dumps(failed)).raise_for_status()
    with pytest.raises(ft.Error, match='pickle: expected a result with its arrays, got "Stop"'):
        _fingertip._restore("Stop", [], None)
    with pytest.raises(ft.Error, match="pickle: expected more arrays"):
        _fingertip._restore("Step", [], None)
