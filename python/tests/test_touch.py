"""Net forces by name and taxels: against sums by hand and closed forms, and their gradients against differences."""

import pickle

import numpy as np
import pytest
from conftest import near_home
from test_gradients import differences, near, weights

import fingertip as ft

TIP = "hand/finger_r_link_2_index4"


@pytest.fixture(scope="module")
def state(hand):
    """Two worlds of a softer hand with its fingers at the ball."""
    sim = ft.Quasidynamic(hand, kappa=1e3)
    q, u = near_home(hand, 2)
    return sim, sim.hold(q, u, 40).q[:, -1], u


def test_sums(hand, state):
    sim, q, u = state
    step = sim.step(q, u)
    wrenches = ft.Wrenches(hand, ["ball", ("ball", "hand"), ("hand", "ball")])
    assert wrenches.names == [("ball", None), ("ball", "hand"), ("hand", "ball")]
    at = wrenches.at(q, step)
    assert at.shape == (2, 3, 6)
    by_hand = hand.contacts_between("ball", "hand")
    signs = np.array([1.0 if b == "ball" else -1.0 for _, b in hand.contact_names])[:, None]
    force = (step.force * signs)[:, by_hand].sum(1)
    near(at[:, 1, :3], force, 1e-12)
    near(at[:, 2, :3], -force, 1e-12)
    assert np.abs(force).max() > 0.1
    one = wrenches.at(q[0], sim.step(q[0], u[0]))
    assert np.array_equal(one, at[0])
    again = pickle.loads(pickle.dumps(wrenches))
    assert again.names == wrenches.names and np.array_equal(again.at(q, step), at)
    every = ft.Wrenches(hand)
    assert ("ball", None) in every.names and ("ball", TIP) in every.names


@pytest.mark.parametrize("axes", ["world", "link"])
def test_gradients(hand, state, axes):
    sim, q, u = state
    wrenches = ft.Wrenches(hand, ["ball", (TIP, "ball"), "hand"], axes)
    w, w_q = weights(4, (2, 3, 6), (2, hand.nq))

    def cost(q, u):
        step = sim.step(q, u)
        return (w * wrenches.at(q, step)).sum() + (w_q * step.q_next).sum()

    gradient = sim.vjp(q, u, touch=[(wrenches, w)], q_next_bar=w_q)
    near(gradient.q, differences(lambda q: cost(q, u), q, 1e-7), 1e-5)
    near(gradient.u, differences(lambda u: cost(q, u), u, 1e-7), 1e-5)
    halves = [(wrenches, 0.5 * w), (wrenches, 0.5 * w)]
    near(sim.vjp(q, u, touch=halves, q_next_bar=w_q).q, gradient.q, 1e-12)


def test_gradients_of_the_second_order_step(hand, state):
    _, q, _ = state
    sim, v = ft.Dynamic(hand, kappa=1e3), np.zeros((2, hand.nv))
    wrenches = ft.Wrenches(hand, ["ball", TIP], "link")
    (w,) = weights(5, (2, 2, 6))

    def cost(q, v):
        return (w * wrenches.at(q, sim.step(q, v))).sum()

    gradient = sim.vjp(q, v, touch=[(wrenches, w)])
    near(gradient.q, differences(lambda q: cost(q, v), q, 1e-7), 1e-5)
    near(gradient.v, differences(lambda v: cost(q, v), v, 1e-6), 1e-5)


def on_a_pad(x):
    """A ball that rests on a plate at x (m), with a pad of 4 × 4 around x = 0."""
    return (
        ft.Scene(kappa=1e4)
        .object("plate", box=[0.03, 0.03, 0.005], freedom="fixed")
        .object("ball", sphere=0.01, mass=0.1, freedom="translation", position=[x, 0.0, 0.0152])
        .taxels("pad", "plate", at=[0.0, 0.0, 0.005], rows=4, columns=4, size=[0.016, 0.016])
        .model()
    )


def test_taxels():
    model = on_a_pad(0.001)
    sim, skin = ft.Quasidynamic(model), ft.Taxels(model)
    assert skin.pads == {"pad": slice(0, 16, 1)} and skin.count == 16
    q, u = model.home(3), np.zeros((3, 0))
    q[1, 0], q[2, 0] = 0.0, -0.001
    step = sim.step(q, u)
    felt = skin.at(q, step)
    assert felt.shape == (3, 16)
    near(felt.sum(1), ft.Wrenches(model, [("ball", "plate")]).at(q, step)[:, 0, 2], 1e-12)
    # Columns are along x.
    near(felt.reshape(3, 4, 4)[0], felt.reshape(3, 4, 4)[2][:, ::-1], 1e-12)
    again = pickle.loads(pickle.dumps(skin))
    assert np.array_equal(again.at(q, step), felt)
    one = skin.at(q[0], sim.step(q[0], u[0]))
    assert np.array_equal(one, felt[0])
    place = (np.arange(4) - 1.5) * 0.004
    x, y = np.meshgrid(place, place)
    apart = np.sqrt((q[:, None, 0] - x.ravel()) ** 2 + y.ravel() ** 2 + 0.0102**2) - 0.01
    near(skin.distances(q), apart, 1e-12)


def test_gradients_of_taxels():
    model = on_a_pad(0.001)
    sim, skin = ft.Quasidynamic(model), ft.Taxels(model)
    wrenches = ft.Wrenches(model, ["ball"])
    q, u = model.home(2), np.zeros((2, 0))
    w, w_net = weights(6, (2, 16), (2, 1, 6))

    def cost(q):
        step = sim.step(q, u)
        return (w * skin.at(q, step)).sum() + (w_net * wrenches.at(q, step)).sum()

    gradient = sim.vjp(q, u, touch=[(skin, w), (wrenches, w_net)])
    near(gradient.q, differences(cost, q, 1e-7), 1e-5)
    near(skin.distances_vjp(q, w), differences(lambda q: (w * skin.distances(q)).sum(), q, 1e-6), 1e-6)


@pytest.mark.parametrize(
    ("work", "says"),
    [
        (lambda hand, sim, q, u: ft.Wrenches(hand, ["bal"]), 'did you mean "ball"'),
        (lambda hand, sim, q, u: ft.Wrenches(hand, axes="body"), 'axes: expected "world" or "link", got "body"'),
        (lambda hand, sim, q, u: ft.Wrenches(hand).at(q, sim.step(q[0], u[0])), "expected a step of 2 worlds"),
        (lambda hand, sim, q, u: sim.vjp(q, u, touch=[(ft.Wrenches(hand, ["ball"]), np.ones(6))]), "touch: expected shape"),
        (lambda hand, sim, q, u: ft.Taxels(hand, ["pad"]), "pad of taxels"),
    ],
)
def test_messages(hand, state, work, says):
    with pytest.raises(ft.Error, match=says):
        work(hand, *state)
