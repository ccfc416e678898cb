"""Gradients against central differences, and against each other."""

import pickle

import numpy as np
import pytest
from conftest import near_home

import fingertip as ft


def differences(cost, x, size):
    """The gradient of a cost by the numbers of an array."""
    x = np.array(x)
    gradient = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = size * max(1.0, abs(x[i]))
        at = [x.copy(), x.copy()]
        at[0][i] -= step
        at[1][i] += step
        gradient[i] = (cost(at[1]) - cost(at[0])) / (2 * step)
    return gradient


def near(a, b, tolerance):
    scale = max(1e-12, np.abs(b).max(initial=0))
    assert a.shape == b.shape
    assert np.abs(a - b).max(initial=0) <= tolerance * scale, (np.abs(a - b).max(), scale)


@pytest.fixture(scope="module")
def state(hand):
    """A softer hand in two worlds, with its fingers at the ball."""
    sim = ft.Quasidynamic(hand, kappa=1e3)
    q, u = near_home(hand, 2)
    q = sim.hold(q, u, 40).q[:, -1]
    return sim, q, u


def weights(seed, *shapes):
    random = np.random.default_rng(seed)
    return [random.standard_normal(shape) for shape in shapes]


def test_vjp(hand, state):
    sim, q, u = state
    w_q, w_force, w_phi = weights(2, (2, hand.nq), (2, hand.nc, 3), (2, hand.nc))

    def cost(q, u, sim=sim):
        step = sim.step(q, u)
        return (w_q * step.q_next).sum() + (w_force * step.force).sum() + (w_phi * step.phi).sum()

    assert np.abs(sim.step(q, u).force).max() > 0.1
    bars = {"q_next_bar": w_q, "force_bar": w_force, "phi_bar": w_phi}
    gradient = sim.vjp(q, u, **bars)
    near(gradient.q, differences(lambda q: cost(q, u), q, 1e-7), 1e-5)
    near(gradient.u, differences(lambda u: cost(q, u), u, 1e-7), 1e-5)
    for name in ["mass", "mu", "stiffness", "kappa", "gravity", "sizes"]:
        by = differences(lambda x: cost(q, u, sim.with_params(**{name: x})), sim.params[name], 1e-6)
        if name == "sizes":  # columns that a shape does not use
            by *= gradient.params[name] != 0
        near(gradient.params[name], by, 1e-5)
    given = sim.vjp(q, u, step=sim.step(q, u), **bars)
    assert np.array_equal(given.q, gradient.q) and np.array_equal(given.u, gradient.u)


def test_nothing_given_is_zero(state):
    sim, q, u = state
    gradient = sim.vjp(q, u)
    assert not gradient.q.any() and not gradient.u.any()
    assert not any(by.any() for by in gradient.params.values())


def test_rollout_vjp(hand, state):
    sim, q, u = state
    u = np.repeat(u[:, None], 3, 1)
    w_q, w_force = weights(3, (2, 4, hand.nq), (2, 3, hand.nc, 3))

    def cost(q, u, sim=sim):
        steps = sim.rollout(q, u)
        return (w_q * steps.q).sum() + (w_force * steps.force).sum()

    gradient = sim.rollout_vjp(u, sim.rollout(q, u), q_bar=w_q, force_bar=w_force)
    near(gradient.q, differences(lambda q: cost(q, u), q, 1e-7), 1e-5)
    near(gradient.u, differences(lambda u: cost(q, u), u, 1e-7), 1e-5)
    by = differences(lambda mass: cost(q, u, sim.with_params(mass=mass)), sim.params["mass"], 1e-6)
    near(gradient.params["mass"], by, 1e-5)


def test_jvp_is_the_transpose(hand, state):
    sim, q, u = state
    dq, du, w = weights(4, (2, hand.nv), (2, hand.nu), (2, hand.nq))
    pushed, dlambda = sim.jvp(q, u, dq=dq, du=du)
    assert pushed.shape == (2, hand.nv) and dlambda.shape == (2, hand.n_lambda)
    pulled = sim.vjp(q, u, q_next_bar=w)
    # Without free bodies, tangents are q's own coordinates.
    assert (w * pushed).sum() == pytest.approx((pulled.q * dq).sum() + (pulled.u * du).sum(), rel=1e-9)
    all = sim.linearize(q, u)
    near(pushed, np.einsum("bij,bj->bi", all.A, dq) + np.einsum("bij,bj->bi", all.B, du), 1e-13)
    near(dlambda, np.einsum("bij,bj->bi", all.C, dq) + np.einsum("bij,bj->bi", all.D, du), 1e-13)
    only, _ = sim.jvp(q[0], u[0], du=du[0])
    near(only, all.B[0] @ du[0], 1e-13)


def turned(q, omega):
    """The rate of a quaternion (w, x, y, z) that turns with ω along the world's axes."""
    w, v = q[0], q[1:]
    return 0.5 * np.array([-omega @ v, *(w * omega + np.cross(omega, v))])


def test_jvp_of_a_free_body(cube):
    sim = ft.Quasidynamic(cube, kappa=1e3)
    q = sim.hold(cube.home(), cube.control(0.0), 20).q[-1]
    u = cube.control(0.5)
    dv, w = weights(5, cube.nv, cube.nq)
    pushed, _ = sim.jvp(q, u, dq=dv)
    q_next = sim.step(q, u).q_next

    def rates(q, tangent):
        return np.concatenate([tangent[:3], turned(q[3:7], tangent[3:6]), tangent[6:]])

    pulled = sim.vjp(q, u, q_next_bar=w)
    assert w @ rates(q_next, pushed) == pytest.approx(pulled.q @ rates(q, dv), rel=1e-8)


def test_linearize_without_forces(state):
    sim, q, u = state
    all, some = sim.linearize(q, u), sim.linearize(q, u, forces=False)
    near(some.A, all.A, 1e-9)
    assert some.C.shape[1] == some.D.shape[1] == 0 and some.lambda_.shape == (2, 0)
    force = sim.step(q, u).force
    lambdas = all.lambda_.reshape(force.shape)
    near(np.linalg.norm(lambdas, axis=2), np.linalg.norm(force, axis=2), 1e-12)


def test_rows_of_contacts_with_a_force(state):
    """λ, C and D are zero but for their listed rows, also of one world, and after a pickle."""
    sim, q, u = state
    for all in (sim.linearize(q, u), pickle.loads(pickle.dumps(sim.linearize(q, u))), sim.linearize(q[0], u[0])):
        worlds, places = all.force_rows.T
        assert all.force_rows.dtype == np.int64 and (np.diff(worlds) >= 0).all()
        for dense, rows in ((all.lambda_, all.lambda_rows), (all.C, all.C_rows), (all.D, all.D_rows)):
            dense = dense.reshape(-1, sim.model.n_lambda, *rows.shape[1:])
            made = np.zeros_like(dense)
            made[worlds, places] = rows
            assert np.array_equal(made, dense)
        assert all.lambda_rows.any()
    none = sim.linearize(q, u, forces=False)
    assert none.force_rows.shape == (0, 2) and none.C_rows.shape[0] == none.D_rows.shape[0] == 0


def test_second_order_vjp(hand):
    sim = ft.Dynamic(hand, h=0.002, kappa=1e3)
    q, u = near_home(hand, 2)
    v, tau = weights(6, (2, hand.nv), (2, hand.nv))
    v *= 0.1
    w_q, w_v, w_force = weights(7, (2, hand.nq), (2, hand.nv), (2, hand.nc, 3))

    def cost(q, v, tau, sim=sim):
        step = sim.step(q, v, tau)
        return (w_q * step.q_next).sum() + (w_v * step.v_next).sum() + (w_force * step.force).sum()

    bars = {"q_next_bar": w_q, "v_next_bar": w_v, "force_bar": w_force}
    gradient = sim.vjp(q, v, tau, **bars)
    near(gradient.q, differences(lambda q: cost(q, v, tau), q, 1e-7), 1e-5)
    near(gradient.v, differences(lambda v: cost(q, v, tau), v, 1e-7), 1e-5)
    near(gradient.tau, differences(lambda tau: cost(q, v, tau), tau, 1e-7), 1e-5)
    by = differences(lambda mass: cost(q, v, tau, sim.with_params(mass=mass)), sim.params["mass"], 1e-6)
    near(gradient.params["mass"], by, 1e-5)
    given = sim.vjp(q, v, tau, step=sim.step(q, v, tau), **bars)
    assert np.array_equal(given.q, gradient.q)


def test_second_order_jacobians_and_rollouts(hand):
    sim = ft.Dynamic(hand, h=0.002, kappa=1e3)
    q, u = near_home(hand, 2)
    v, tau = weights(8, (2, hand.nv), (2, 3, hand.nv))
    v *= 0.1
    of = sim.linearize(q, v, tau[:, 0])
    n = hand.nv
    assert of.A.shape == (2, 2 * n, 2 * n) and of.B.shape == (2, 2 * n, n)
    assert of.C.shape == (2, 3 * hand.nc, 2 * n) and of.D.shape == (2, 3 * hand.nc, n)
    alone = sim.linearize(q[1], v[1], tau[1, 0])
    assert np.array_equal(alone.A, of.A[1]) and np.array_equal(alone.D, of.D[1])
    # By v and by tau the Jacobians are those of numpy's numbers themselves.
    eps = 1e-6
    for k in range(0, n, 5):
        unit = eps * np.eye(n)[k]
        up, down = (sim.step(q, v + by * unit, tau[:, 0]) for by in (1, -1))
        near(of.A[:, n:, n + k], (up.v_next - down.v_next) / (2 * eps), 1e-5)
        up, down = (sim.step(q, v, tau[:, 0] + by * unit) for by in (1, -1))
        near(of.B[:, n:, k], (up.v_next - down.v_next) / (2 * eps), 1e-5)

    rollout = sim.rollout(q, v, tau)
    assert rollout.q.shape == (2, 4, hand.nq) and rollout.v.shape == (2, 4, n) and rollout.ok.shape == (2, 3)
    first = sim.step(q, v, tau[:, 0])
    assert np.array_equal(rollout.q[:, 1], first.q_next) and np.array_equal(rollout.v[:, 1], first.v_next)
    w_q, w_v, w_force = weights(9, rollout.q.shape, rollout.v.shape, rollout.force.shape)

    def cost(v, tau):
        of = sim.rollout(q, v, tau)
        return (w_q * of.q).sum() + (w_v * of.v).sum() + (w_force * of.force).sum()

    gradient = sim.rollout_vjp(tau, rollout, q_bar=w_q, v_bar=w_v, force_bar=w_force)
    near(gradient.v, differences(lambda v: cost(v, tau), v, 1e-7), 1e-5)
    near(gradient.tau, differences(lambda tau: cost(v, tau), tau, 1e-6), 1e-5)
    with pytest.raises(ValueError, match=r"tau: expected shape \(2, T, "):
        sim.rollout(q, v, tau[:, 0])


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_no_number_gives_none(state, wrong):
    """A world whose given gradient is not finite has no gradient; the other one keeps its own."""
    sim, q, u = state
    step = sim.step(q, u)
    (bar,) = weights(3, q.shape)
    sound = sim.vjp(q, u, q_next_bar=bar, step=step)
    bar[1, 2] = wrong
    broken = sim.vjp(q, u, q_next_bar=bar, step=step)
    assert (broken.q[0] == sound.q[0]).all() and (broken.u[0] == sound.u[0]).all()
    assert np.isnan(broken.q[1]).all() and np.isnan(broken.u[1]).all()
    # Parameters of all worlds have the sum.
    assert np.isnan(broken.params["mass"]).all()
    many = np.repeat(u[:, None], 3, axis=1)
    rollout = sim.rollout(q, many)
    for bars in ({"q_bar": np.ones_like(rollout.q)}, {"force_bar": np.ones_like(rollout.force)}):
        for bar in bars.values():
            bar[1, 1] = wrong
        broken = sim.rollout_vjp(many, rollout, **bars)
        assert np.isfinite(broken.q[0]).all() and np.isnan(broken.q[1]).all(), bars.keys()


def test_a_result_at_other_inputs_is_refused(state):
    sim, q, u = state
    step, many = sim.step(q, u), np.repeat(u[:, None], 3, axis=1)
    rollout = sim.rollout(q, many)
    for q_of, u_of in [(q, u + 1e-9), (q + 1e-9, u)]:
        with pytest.raises(ft.Error, match="step: expected the step at these inputs, got that at others"):
            sim.vjp(q_of, u_of, q_next_bar=np.ones_like(q), step=step)
    with pytest.raises(ft.Error, match="expected the rollout under this u, got that under another"):
        sim.rollout_vjp(many + 1e-9, rollout, q_bar=np.ones_like(rollout.q))
