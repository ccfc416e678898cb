"""A hand closes on a pill, holds it with the least effort, and keeps it under pushes."""

import numpy as np
import pytest

import fingertip as ft
from fingertip import grasp


@pytest.fixture(scope="module")
def hand():
    return ft.Model.load("teaching_hand_item")


@pytest.fixture(scope="module")
def closed(hand):
    return grasp.close(hand, seed=18)


def test_closed(hand, closed):
    assert closed.q.shape == (hand.nq,) and -1e-9 <= closed.least_gap < 1e-5 and len(closed.contacts) > 2
    # The gaps of the closed contacts, by a step of the model from there.
    phi = ft.Quasidynamic(hand).step(closed.q, hand.control(0.0)).phi
    assert np.abs(phi[closed.contacts]).max() < 2e-5 and phi.min() == pytest.approx(closed.least_gap, abs=1e-12)
    assert np.array_equal(grasp.close(hand, seed=18).q, closed.q) and not np.array_equal(grasp.close(hand, seed=19).q, closed.q)


def test_least_effort(hand, closed):
    """The forces on the pill carry its weight, and the effort is that of the torques."""
    effort = closed.least_effort(0.7)
    assert effort.torque.shape == (hand.nu,) and effort.cost == pytest.approx(0.5 * effort.torque @ effort.torque)
    assert closed.margin() > 0.7 and closed.least_effort(0.0).cost < effort.cost
    names = hand.contact_names
    bodies = {name for contact in closed.contacts for name in names[contact]}
    item = next(body for body in hand.inertial_names if body in bodies)
    sign = np.array([1.0 if names[contact][1] == item else -1.0 for contact in closed.contacts])
    weight = hand.params["mass"][0, hand.inertial_names.index(item)] * hand.params["gravity"][0]
    assert np.allclose(sign @ effort.force.reshape(-1, 3), -weight, atol=1e-6)


def test_a_trial(hand, closed):
    effort = closed.least_effort(0.7)
    quick = {"rest": 0.4, "pushing": 0.05}
    held, limp = grasp.trial(hand, np.array([closed.q] * 2), np.array([effort.torque, 0 * effort.torque]), kp=0.0, **quick)
    assert held.held and held.moved < 1e-3 and not limp.held and limp.moved > 10 * held.moved
    [alone] = grasp.trial(hand, closed.q, effort.torque, kp=0.0, **quick)
    assert (alone.moved, alone.pushed, alone.displaced) == (held.moved, held.pushed, held.displaced)


def test_what_cannot_be_grasped(hand, closed, cube):
    for work, says in [
        (lambda: grasp.close(hand, reach=0.0), "reach: expected a positive length, got 0"),
        (lambda: grasp.close(hand, force=-1.0), "close: expected numbers from 0 up, got -1"),
        (lambda: closed.least_effort(-1.0), "reserve: expected a number from 0 up, got -1"),
        (lambda: grasp.trial(hand, closed.q, closed.q), "torque: expected shape (14,), for one world"),
        (lambda: grasp.trial(hand, closed.q, np.zeros(14), h=0.0), "h: expected a positive number, got 0"),
        (lambda: grasp.close(ft.Model.from_toml("")), "scene: expected a robot with joints or an object"),
    ]:
        with pytest.raises(ft.Error) as caught:
            work()
        assert says in str(caught.value), str(caught.value)
