"""What numpy makes an array of is taken."""

import numpy as np
import pytest
from conftest import near_home

import fingertip as ft


@pytest.fixture(scope="module")
def state(hand, sim):
    q, u = near_home(hand, 4)
    q, u = q.astype(np.float32).astype(np.float64), u.astype(np.float32).astype(np.float64)
    return q, u, sim.step(q, u).q_next


def unaligned(a):
    bytes_ = np.frombuffer(b"x" + a.tobytes(), dtype=np.uint8)[1:]
    made = bytes_.view(np.float64).reshape(a.shape)
    assert not made.flags.aligned
    return made


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


@pytest.mark.parametrize(
    "of",
    [
        lambda a: a.astype(np.float32),
        lambda a: a.tolist(),
        lambda a: tuple(map(list, a)),
        np.asfortranarray,
        lambda a: np.repeat(a, 2, axis=1)[:, ::2],
        lambda a: a[::-1].copy()[::-1],
        lambda a: np.stack([a, a], axis=1)[:, 0],
        lambda a: a.astype(">f8"),
        lambda a: a.astype(np.longdouble),
        read_only,
        unaligned,
        np.ma.array,
        memoryview,
    ],
    ids=["f32", "list", "tuple", "fortran", "strided", "reversed", "slice", "swapped", "long", "read-only", "unaligned", "masked", "buffer"],
)
def test_kinds_of_arrays(sim, state, of):
    q, u, expected = state
    given_q, given_u = of(q), of(u)
    assert np.array_equal(sim.step(given_q, given_u).q_next, expected)


def test_integers_and_bools(hand, sim):
    q, u = np.zeros((2, hand.nq)), np.zeros((2, hand.nu))
    expected = sim.step(q, u).q_next
    assert np.array_equal(sim.step(q.astype(np.int32), u.astype(bool)).q_next, expected)


def test_inputs_do_not_change(sim, state):
    q, u, _ = state
    before = q.copy(), u.copy()
    sim.rollout(q, np.repeat(u[:, None], 3, 1))
    assert np.array_equal(q, before[0]) and np.array_equal(u, before[1])


def test_results_are_one_s_own(sim, state):
    q, u, expected = state
    first = sim.step(q, u)
    first.q_next[:] = 0
    assert np.array_equal(sim.step(q, u).q_next, expected)
    # Its gradient does not go by what was written into its arrays.
    ones = np.ones_like(q)
    assert np.array_equal(sim.vjp(q, u, q_next_bar=ones, step=first).u, sim.vjp(q, u, q_next_bar=ones).u)


def test_an_object_with_dlpack_or_array(sim, state):
    class Wrapped:
        def __init__(self, a):
            self.a = a

        def __array__(self, dtype=None, copy=None):
            return self.a

    class Shared:
        def __init__(self, a):
            self.a = a

        def __dlpack__(self, **how):
            return self.a.__dlpack__(**how)

        def __dlpack_device__(self):
            return self.a.__dlpack_device__()

    q, u, expected = state
    for kind in (Wrapped, Shared):
        assert np.array_equal(sim.step(kind(q), kind(u)).q_next, expected)
    assert np.array_equal(np.from_dlpack(sim.step(q, u).q_next), expected)

    class Elsewhere(Shared):
        def __dlpack__(self, **how):
            raise BufferError("these numbers lie on a GPU")

    with pytest.raises(ft.Error, match="q: expected an array of numbers, got what numpy makes none of: .*on a GPU"):
        sim.step(Elsewhere(q), u)
