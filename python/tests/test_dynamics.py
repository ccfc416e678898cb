"""Rigid-body dynamics against closed forms, differences and the equation that they are of."""

import pickle

import numpy as np
import pytest
from conftest import near_home

import fingertip as ft

PENDULUM = """<mujoco><option gravity="0 0 -9.81"/><worldbody><body name="rod"><joint name="hinge" axis="0 1 0"/>
<inertial pos="0 0 -0.4" mass="0.5" diaginertia="0.01 0.01 0.001"/><geom type="sphere" size="0.01" contype="0" conaffinity="0"/>
</body></worldbody></mujoco>"""


@pytest.fixture(scope="module")
def state(cube):
    random = np.random.default_rng(5)
    q, _ = near_home(cube, 3, size=0.1)
    return q, *random.standard_normal((3, 3, cube.nv))


def test_a_pendulum(tmp_path):
    """A rod on a hinge, by hand: M = I + m l², g = m g l sin θ."""
    path = tmp_path / "pendulum.xml"
    path.write_text(PENDULUM)
    dynamics = ft.dynamics.Dynamics(ft.Model.load(path))
    mass, length, inertia = 0.5, 0.4, 0.01
    q, v, tau = np.array([0.3]), np.array([2.0]), np.array([0.7])
    m = inertia + mass * length**2
    weight = mass * 9.81 * length * np.sin(q)
    assert np.allclose(dynamics.mass_matrix(q), [[m]]) and np.allclose(dynamics.inverse_mass_matrix(q), [[1 / m]])
    assert np.allclose(dynamics.gravity(q), weight) and np.allclose(dynamics.bias(q, v), weight)
    assert np.allclose(dynamics.forward_dynamics(q, v, tau), (tau - weight) / m)
    assert np.allclose(dynamics.energy(q, v), [0.5 * m * 4.0, -mass * 9.81 * length * np.cos(0.3)])
    assert np.allclose(dynamics.centre_of_mass(q), length * np.array([-np.sin(0.3), 0.0, -np.cos(0.3)]))


def test_they_are_of_one_equation(cube, state):
    q, v, a, tau = state
    dynamics = ft.dynamics.Dynamics(cube)
    m, bias = dynamics.mass_matrix(q), dynamics.bias(q, v)
    assert m.shape == (3, cube.nv, cube.nv) and np.allclose(m, np.swapaxes(m, 1, 2)) and np.linalg.eigvalsh(m).min() > 0
    assert np.allclose(dynamics.inverse_dynamics(q, v, a), (m @ a[..., None])[..., 0] + bias)
    assert np.allclose(dynamics.bias(q, np.zeros_like(v)), dynamics.gravity(q))
    assert np.allclose(m @ dynamics.inverse_mass_matrix(q), np.eye(cube.nv), atol=1e-8)
    forward = dynamics.forward_dynamics(q, v, tau)
    assert np.allclose(dynamics.inverse_dynamics(q, v, forward), tau)
    # One world without an axis is the same to the last bit.
    assert np.array_equal(dynamics.mass_matrix(q[1]), m[1]) and dynamics.energy(q[1], v[1]).shape == (2,)
    assert np.allclose(dynamics.energy(q, v)[:, 0], 0.5 * np.einsum("bi,bij,bj->b", v, m, v))


def test_derivatives(cube, state):
    q, v, a, tau = state
    dynamics = ft.dynamics.Dynamics(cube)
    value, by_q, by_v, by_a = dynamics.inverse_dynamics_derivatives(q, v, a)
    assert np.array_equal(value, dynamics.inverse_dynamics(q, v, a)) and np.allclose(by_a, dynamics.mass_matrix(q))
    e = 1e-6
    joint = next(k for k, name in enumerate(cube.v_names) if name in cube.u_names)
    place = cube.joint(cube.v_names[joint]).q.start
    more, less = q.copy(), q.copy()
    more[:, place] += e
    less[:, place] -= e
    change = (dynamics.inverse_dynamics(more, v, a) - dynamics.inverse_dynamics(less, v, a)) / (2 * e)
    assert np.allclose(by_q[:, :, joint], change, rtol=1e-5, atol=1e-7)
    unit = e * np.eye(cube.nv)[joint]
    change = (dynamics.inverse_dynamics(q, v + unit, a) - dynamics.inverse_dynamics(q, v - unit, a)) / (2 * e)
    assert np.allclose(by_v[:, :, joint], change, rtol=1e-5, atol=1e-7)
    value, _, by_v, by_tau = dynamics.forward_dynamics_derivatives(q, v, tau)
    assert np.allclose(value, dynamics.forward_dynamics(q, v, tau)) and np.allclose(by_tau, dynamics.inverse_mass_matrix(q))


def test_parameters(cube, state):
    q, v, *_ = state
    dynamics = ft.dynamics.Dynamics(cube, gravity=[0.0, 0.0, 0.0])
    assert np.allclose(dynamics.gravity(q), 0) and not np.allclose(ft.dynamics.Dynamics(cube).gravity(q), 0)
    each = ft.dynamics.Dynamics(cube, mass=np.array([[0.1], [0.2], [0.3]]))
    at = cube.object("cube").v.start + 2
    assert np.allclose(each.gravity(q)[:, at], 9.81 * np.array([0.1, 0.2, 0.3]), rtol=2e-3)
    again = pickle.loads(pickle.dumps(each))
    assert np.array_equal(again.mass_matrix(q), each.mass_matrix(q)) and again.model.nq == cube.nq
    for work, says in [
        (lambda: each.gravity(q[:2]), "q: expected 3 worlds, as the parameters have, got 2"),
        (lambda: dynamics.bias(q, v[:, 1:]), "v: expected shape (3, "),
        (lambda: dynamics.inverse_dynamics(q, v, v[0]), "a: expected shape (3, "),
        (lambda: dynamics.mass_matrix(v), "q: expected shape (B, "),
    ]:
        with pytest.raises(ft.Error) as caught:
            work()
        assert says in str(caught.value)
