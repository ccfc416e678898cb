import subprocess
import sys

import numpy as np
import pytest
from conftest import SCENES, near_home
from test_gradients import differences, near, weights

import fingertip as ft

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy


@pytest.fixture(scope="module")
def state(hand):
    """A softer hand in two worlds, with its fingers at the ball."""
    sim = ft.Quasidynamic(hand, kappa=1e3)
    q, u = near_home(hand, 2)
    q = sim.hold(q, u, 40).q[:, -1]
    return sim, q, u


def same(made, plain, names):
    for name in names:
        array = getattr(made, name)
        assert array.dtype == getattr(plain, name).dtype and np.array_equal(array, getattr(plain, name)), name


STEP = ["q_next", "force", "torque", "phi", "status"]
ROLLOUT = ["q", "force", "status"]


def test_step_has_the_bits(state):
    sim, q, u = state
    of = ft.jax.step(sim)
    same(of(q, u), sim.step(q, u), STEP)
    same(jax.jit(of)(q, u), sim.step(q, u), STEP)
    same(of(q[0], u[0]), sim.step(q[0], u[0]), STEP)
    same(of(q[:1], u[:1]), sim.step(q[:1], u[:1]), STEP)
    same(jax.vmap(of)(q, u), sim.step(q, u), STEP)
    same(jax.vmap(lambda u: of(q[0], u))(u), sim.step(np.tile(q[0], (2, 1)), u), STEP)


def test_torsional_contacts():
    text = '[params]\nmu = 0.5\ntorsion = 0.01\n[[object]]\nname = "ball"\nsphere = 0.1\nmass = 1.0\nfreedom = "free"\n'
    text += 'position = [0, 0, 0.1]\n[[object]]\nname = "table"\nhalfspace = [0.0, 0.0, 1.0, 0.0]\n'
    model = ft.Model.from_toml(text)
    sim = ft.Quasidynamic(model)
    q, u = model.home(2), np.zeros((2, 0))
    plain = sim.step(q, u)
    assert plain.torque.shape == (2, 1)
    same(ft.jax.step(sim)(q, u), plain, STEP)
    by = jax.grad(lambda q: ft.jax.step(sim)(q, u).torque.sum())(q)
    assert np.array_equal(by, sim.vjp(q, u, torque_bar=np.ones((2, 1))).q)


def test_without_robots():
    ball = '[[object]]\nname = "ball"\nsphere = 0.1\nmass = 1.0\nfreedom = "free"\nposition = [0, 0, 1]\n'
    model = ft.Model.from_toml(ball)
    sim, q, u = ft.Quasidynamic(model), model.home(2), np.zeros((2, 0))
    of = ft.jax.step(sim)
    same(of(q, u), sim.step(q, u), STEP)
    by = jax.grad(lambda params: of(q, u, **params).q_next[:, 2].sum())({"stiffness": np.zeros((2, 0)), "mass": np.ones((2, 1))})
    assert by["stiffness"].shape == (2, 0) and by["mass"].shape == (2, 1)


def test_vmap_of_vmap(state):
    sim, q, u = state
    of = ft.jax.step(sim)
    random = np.random.default_rng(3)
    us = u + 1e-3 * random.standard_normal((3, 2, u.shape[1]))
    masses = np.array([0.4, 0.5, 0.6])[:, None]
    made = jax.jit(jax.vmap(lambda us, mass: jax.vmap(lambda q, u: of(q, u, mass=mass))(q, us)))(us, masses)
    for k in range(3):
        plain = sim.with_params(mass=masses[k]).step(q, us[k])
        assert np.array_equal(made.q_next[k], plain.q_next) and np.array_equal(made.force[k], plain.force)


def test_rollout_has_the_bits(state):
    sim, q, u = state
    u = np.repeat(u[:, None], 3, 1)
    of = ft.jax.rollout(sim)
    same(of(q, u), sim.rollout(q, u), ROLLOUT)
    same(jax.jit(of)(q[0], u[0]), sim.rollout(q[0], u[0]), ROLLOUT)
    same(jax.vmap(of)(q, u), sim.rollout(q, u), ROLLOUT)


def test_scan_is_the_rollout(state):
    sim, q, u = state
    step, of = ft.jax.step(sim), ft.jax.rollout(sim)
    u = np.repeat(u[:, None], 4, 1)

    def by_steps(u):
        return jax.lax.scan(lambda q, u: (step(q, u).q_next,) * 2, jnp.asarray(q), jnp.moveaxis(u, 1, 0))[1]

    cost = lambda q: jnp.sin(100 * q).sum()
    states = jnp.moveaxis(jax.jit(by_steps)(u), 0, 1)
    near(np.asarray(states), np.asarray(of(q, u).q[:, 1:]), 1e-9)
    found = jax.jit(jax.grad(lambda u: cost(by_steps(u))))(u)
    near(np.asarray(found), np.asarray(jax.grad(lambda u: cost(of(q, u).q[:, 1:]))(u)), 1e-6)


def test_gradients_of_a_step(hand, state):
    sim, q, u = state
    w_q, w_force, w_phi = weights(2, (2, hand.nq), (2, hand.nc, 3), (2, hand.nc))
    of = ft.jax.step(sim)
    params = {"mass": sim.params["mass"][0], "mu": 0.5, "stiffness": np.tile(sim.params["stiffness"], (2, 1))}

    def cost(q, u, params):
        made = of(q, u, **params)
        return (w_q * made.q_next).sum() + (w_force * made.force).sum() + (w_phi * made.phi).sum()

    by_q, by_u, by = jax.jit(jax.grad(cost, (0, 1, 2)))(q, u, params)
    plain = sim.with_params(**params).vjp(q, u, q_next_bar=w_q, force_bar=w_force, phi_bar=w_phi)
    assert np.array_equal(by_q, plain.q) and np.array_equal(by_u, plain.u)
    assert np.array_equal(by["stiffness"], plain.params["stiffness"])
    # Sums over worlds and columns, in another order.
    near(np.asarray(by["mass"]), plain.params["mass"][0], 1e-13)
    near(np.asarray(by["mu"]), plain.params["mu"].sum(), 1e-13)
    near(np.asarray(by_q), differences(lambda q: float(cost(q, u, params)), q, 1e-7), 1e-5)
    near(np.asarray(by["mu"]), differences(lambda mu: float(cost(q, u, params | {"mu": mu})), 0.5, 1e-6), 1e-5)


def test_gradients_of_a_rollout(hand, state):
    sim, q, u = state
    u = np.repeat(u[:, None], 3, 1)
    w_q, w_force = weights(3, (2, 4, hand.nq), (2, 3, hand.nc, 3))
    of = ft.jax.rollout(sim)

    def cost(q, u, mass):
        made = of(q, u, mass=mass)
        return (w_q * made.q).sum() + (w_force * made.force).sum()

    mass = np.array([0.5])
    by_q, by_u, by_mass = jax.grad(cost, (0, 1, 2))(q, u, mass)
    one = sim.with_params(mass=mass)
    plain = one.rollout_vjp(u, one.rollout(q, u), q_bar=w_q, force_bar=w_force)
    assert np.array_equal(by_q, plain.q) and np.array_equal(by_u, plain.u)
    near(np.asarray(by_mass), plain.params["mass"][0], 1e-13)
    near(np.asarray(by_mass), differences(lambda mass: float(cost(q, u, mass)), mass, 1e-6), 1e-5)
    each = jax.vmap(jax.grad(lambda q, u: of(q, u).q[-1, 2]), (0, 0))(q, u)
    bar = np.zeros((2, 4, hand.nq))
    bar[:, -1, 2] = 1
    assert np.array_equal(each, sim.rollout_vjp(u, sim.rollout(q, u), q_bar=bar).q)


def test_jacobians(state):
    """`vmap` of the way back alone."""
    sim, q, u = state
    of, lin = ft.jax.step(sim), sim.linearize(q, u)
    one = lambda q, u, mu: of(q, u, mu=mu).q_next
    by_q, by_u, by_mu = jax.jit(jax.vmap(jax.jacrev(one, (0, 1, 2)), (0, 0, None)))(q, u, sim.params["mu"][0])
    # Without free bodies, tangents are q's own coordinates.
    near(np.asarray(by_q), lin.A, 1e-9)
    near(np.asarray(by_u), lin.B, 1e-9)
    rows = [sim.vjp(q[1], u[1], q_next_bar=row).params["mu"][0] for row in np.eye(q.shape[1])]
    near(np.asarray(by_mu[1]), np.array(rows), 1e-13)


def test_checkpoint(state):
    sim, q, u = state
    of = ft.jax.step(sim)

    def cost(u, step):
        return jax.lax.scan(lambda q, u: (step(q, u), None), q, u)[0].sum()

    step = lambda q, u: of(q, u).q_next
    u = np.repeat(u[None], 3, 0)
    by = [jax.grad(cost)(u, step) for step in [step, jax.checkpoint(step)]]
    assert np.array_equal(*by)


def test_parameters_of_each_world(hand, state):
    _, q, u = state
    mass = np.array([[0.4], [0.6]])
    sim = ft.Quasidynamic(hand, kappa=1e3, mass=mass)
    plain = sim.step(q, u)
    same(ft.jax.step(sim)(q, u), plain, STEP)
    same(ft.jax.step(ft.Quasidynamic(hand, kappa=1e3))(q, u, mass=mass), plain, STEP)
    same(ft.jax.step(sim)(q, u, mass=0.5), ft.Quasidynamic(hand, kappa=1e3, mass=0.5).step(q, u), STEP)
    by = jax.grad(lambda mass: ft.jax.step(sim)(q, u, mass=mass).q_next[:, 2].sum())(mass)
    bar = np.zeros_like(q)
    bar[:, 2] = 1
    assert np.array_equal(by, sim.vjp(q, u, q_next_bar=bar).params["mass"])


def test_statuses_are_data(state):
    sim, q, u = state
    q = q.copy()
    q[1, 5] = np.nan
    made = jax.jit(ft.jax.step(sim))(q, u)
    assert made.status.tolist() == [0, ft.Status.BAD_INPUT] and np.isfinite(made.q_next).all()
    masses = ft.jax.step(sim)(q[:1], u[:1], mass=-1.0)
    assert masses.status.tolist() == [ft.Status.BAD_INPUT]


def test_single_precision(state):
    sim, q, u = state
    q32, u32 = jnp.asarray(q, jnp.float32), jnp.asarray(u, jnp.float32)
    of = ft.jax.step(sim)
    made = of(q32, u32)
    plain = sim.step(np.asarray(q32), np.asarray(u32))
    assert made.q_next.dtype == jnp.float32 and np.array_equal(made.q_next, plain.q_next.astype(np.float32))
    assert jax.grad(lambda u: of(q32, u).q_next.sum())(u32).dtype == jnp.float32


def test_single_precision_of_jax_is_refused(state):
    sim, q, u = state
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(ft.Error, match=r'double precision, got single; jax.config.update\("jax_enable_x64", True\)'):
            ft.jax.step(sim)(q, u)
    finally:
        jax.config.update("jax_enable_x64", True)


@pytest.mark.parametrize("power", [1, 2])
def test_second_derivatives_raise(state, power):
    sim, q, u = state
    of = ft.jax.step(sim)
    slope = jax.grad(lambda u: (of(q, u).q_next ** power).sum())
    for work in [jax.grad(lambda u: slope(u).sum()), jax.jit(jax.jacrev(slope))]:
        with pytest.raises(RuntimeError, match="second derivatives are not available"):
            work(u)
    for work in [jax.jacfwd(slope), jax.jacfwd(lambda u: of(q, u).q_next)]:
        with pytest.raises(TypeError, match="forward-mode"):
            work(u)


MANY = """
import sys, threading, jax, numpy as np, fingertip as ft
jax.config.update("jax_enable_x64", True)
model = ft.Model.load(sys.argv[1])
q, u = model.home(2000), np.tile(model.control(0.1), (2000, 1))
of = ft.jax.step(ft.Quasidynamic(model))
works = [jax.jit(jax.grad(lambda u, k=k: k * of(q, u).q_next[:, 2].sum())) for k in range(8)]
threads = [threading.Thread(target=lambda work=work: [work(u).block_until_ready() for _ in range(3)]) for work in works]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("all end")
"""


def test_many_worlds_in_many_threads():
    """Calls with large arrays, more of them at a time than JAX has threads."""
    command = [sys.executable, "-c", MANY, SCENES / "hand_ball.toml"]
    assert subprocess.run(command, capture_output=True, text=True, timeout=100).stdout == "all end\n"


def test_on_other_devices(state, monkeypatch):
    """Where the library's functions are not for JAX's device, Python is called back."""
    sim, q, u = state
    mass = np.array([[0.4], [0.6]])
    cost = lambda of: lambda u, mass: of(q, u, mass=mass).q_next[:, 2].sum()
    expected = jax.value_and_grad(cost(ft.jax.step(sim)), (0, 1))(u, mass)
    steps = np.repeat(u[:, None], 2, 1)
    rolled = jax.grad(lambda u: ft.jax.rollout(sim)(q, u).q[:, -1, 2].sum())(steps)
    monkeypatch.setattr(jax, "default_backend", lambda: "other")
    found = jax.jit(jax.value_and_grad(cost(ft.jax.step(sim)), (0, 1)))(u, mass)
    assert all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected)))
    again = jax.grad(lambda u: ft.jax.rollout(sim)(q, u).q[:, -1, 2].sum())(steps)
    assert np.array_equal(again, rolled)


def test_programs_outlive_what_they_are_made_of(hand, state):
    sim, q, u = state
    program = jax.jit(ft.jax.step(ft.Quasidynamic(hand, kappa=1e3))).lower(q, u).compile()
    jax.clear_caches()
    same(program(q, u), sim.step(q, u), STEP)


def test_programs_of_others(state):
    """A number that is no function's, as in a program that another process has compiled, and arguments that do not fit."""
    sim, q, u = state
    number = ft._fingertip._xla_function(sim, "step", [])
    shapes = [(2, 24), (2, 6, 3), (2, 0), (2, 6)]
    like = [*(jax.ShapeDtypeStruct(shape, np.float64) for shape in shapes), jax.ShapeDtypeStruct((2,), np.uint8)]
    call = lambda like, *inputs, **more: jax.ffi.ffi_call(ft.jax.TARGET, like)(*inputs, **more)
    made = call(like, q, u, function=np.int64(number))
    assert np.array_equal(made[0], sim.step(q, u).q_next)
    for work, says in [
        (lambda: call(like, q, u, function=np.int64(1)), "expected a function of this process"),
        (lambda: call(like, q, u), "expected one number as attribute"),
        (lambda: call(like, q, u, function="step"), "expected one number as attribute"),
        (lambda: call(like, q, u, function=np.float64(2.5)), "expected a whole number"),
        (lambda: call(like, q, function=np.int64(number)), "expected more arguments"),
        (lambda: call(like, q, q, function=np.int64(number)), "expected an argument of shape"),
        (lambda: call(like, q[:1], u[:, :21].astype(np.float32), function=np.int64(number)), "expected numbers of type 12, got 11"),
        (lambda: call(like, np.tile(q, (2, 1))[:3], u, function=np.int64(number)), "expected leading axes"),
        (lambda: call(like[:3], q, u, function=np.int64(number)), "expected more results"),
        (lambda: call([like[0], like[0]], q, u, function=np.int64(number)), "expected a result of 36 numbers, got one of 48"),
        (lambda: call([*like[:4], like[3]], q, u, function=np.int64(number)), "expected numbers of type 6, got 12"),
    ]:
        with pytest.raises(Exception, match=says) as caught:
            jax.block_until_ready(work())
        assert "fingertip: " in str(caught.value)
    with pytest.raises(ft.Error, match="names: expected those of parameters"):
        ft._fingertip._xla_function(sim, "step", ["masss"])
    with pytest.raises(ft.Error, match='kind: expected a step or a rollout, got "walk"'):
        ft._fingertip._xla_function(sim, "walk", [])


def test_a_cost_of_planning():
    """A residual in JAX with its Jacobian by q's own numbers plans as one that is written out."""
    task = ft.Task.load("hand_turn").replace(cap=3)
    at, nv = task.model.object(task.object), task.model.nv
    place = jnp.array([0.1, 0.0, -0.1])
    residual = jax.jit(lambda q: q[at.q][:3] - place)
    plain = np.zeros((3, nv))
    plain[:, at.v][:, :3] = np.eye(3)
    written = ft.mpc.Cost(lambda q: q[at.q][:3] - np.asarray(place), lambda q: plain, running=10.0)
    by_jax = ft.mpc.Cost(residual, jax.jit(jax.jacobian(residual)), running=10.0)
    runs = [ft.mpc.run(task, costs=costs) for costs in ([by_jax], [written], [])]
    assert np.allclose(runs[0].u, runs[1].u, atol=1e-9) and not np.allclose(runs[0].u, runs[2].u, atol=1e-6)


BAD = {
    "q too wide": (lambda of, q, u: of(np.zeros((2, 25)), u), r"q: expected shape \(B, 24\).* got \(2, 25\)"),
    "q of no world": (lambda of, q, u: of(q[:0], u[:0]), r"q: expected .*B ≥ 1.* got \(0, 24\)"),
    "u of other worlds": (lambda of, q, u: of(q, np.zeros((3, 21))), r"u: expected shape \(2, 21\).* got \(3, 21\)"),
    "unknown parameter": (lambda of, q, u: of(q, u, masss=1.0), 'did you mean "mass"'),
    "parameter too wide": (lambda of, q, u: of(q, u, mass=np.ones(3)), r"mass: expected .*\(2, 1\), got \(3,\)"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(state, case):
    sim, q, u = state
    work, message = BAD[case]
    with pytest.raises(ft.Error, match=message):
        work(ft.jax.step(sim), q, u)


def test_bad_commands_of_a_rollout(state):
    sim, q, u = state
    of = ft.jax.rollout(sim)
    for bad in [u, u[0], u[:, None, None], np.zeros((2, 0, 21))]:
        with pytest.raises(ft.Error, match=r"u: expected shape \(2, T, 21\)"):
            of(q, bad)
    with pytest.raises(ft.Error, match=r"q0: expected shape \(B, 24\)"):
        of(q[:, 1:], u[:, None])


def test_bodies_and_how_they_move():
    """Poses and Jacobians with the numbers and gradients of the plain calls."""
    model = ft.Model.load("leap_cube")
    q = model.home(3) + 0.01
    names, site = ["cube", "hand/palm"], model.sites[1]
    works = {
        "bodies": (ft.jax.body_poses(model, names), lambda q: model.body_poses(q, names)),
        "sites": (ft.jax.site_poses(model), model.site_poses),
        "jacobian": (lambda q: (ft.jax.jacobian(model, site)(q),), lambda q: (model.jacobian(q, site),)),
    }
    for name, (of, plain) in works.items():
        cost = lambda q: sum((x**2).sum() for x in of(q))
        expected = plain(q)
        for made in (of(q), jax.jit(of)(q), jax.vmap(of)(q)):
            assert all(np.array_equal(x, y) for x, y in zip(made, expected, strict=True)), name
        assert all(np.array_equal(x, y[0]) for x, y in zip(of(q[0]), expected, strict=True)), name
        by = differences(lambda q: sum((x**2).sum() for x in plain(q)), q[:1], 1e-6)
        near(np.asarray(jax.grad(cost)(q[:1])), by, 1e-6)
        near(np.asarray(jax.jit(jax.vmap(jax.grad(cost)))(q))[:1], by, 1e-6)
    assert of(jnp.asarray(q, np.float32))[0].dtype == np.float32
    with pytest.raises(ft.Error, match=r"q: expected shape \(B, 23\)"):
        of(q[0, :5])
    with pytest.raises(RuntimeError, match="second derivatives are not available"):
        jax.grad(lambda q: jax.grad(cost)(q).sum())(q)
    # What is wrong is said before a program is compiled.
    for work, says in [
        (lambda: ft.jax.body_poses(model, ["cub"]), 'there is no body "cub"; did you mean "cube"'),
        (lambda: ft.jax.jacobian(model, "cub"), 'there is no body or site "cub"'),
        (lambda: ft.jax.body_poses(ft.Quasidynamic(model)), "model: expected a Model, got Quasidynamic"),
        (lambda: ft.jax.step(model), "sim: expected a Quasidynamic, got Model"),
    ]:
        with pytest.raises(ft.Error, match=says):
            work()


def test_one_stands_for_all_worlds(hand, state):
    """q, u and parameters without an axis for worlds beside others with one, and the sums of their gradients."""
    sim, q, u = state
    step, rollout = ft.jax.step(sim), ft.jax.rollout(sim)
    mass = np.array([[0.4], [0.5]])
    same(step(q, u[0]), sim.step(q, np.tile(u[0], (2, 1))), STEP)
    same(step(q[0], u), sim.step(np.tile(q[0], (2, 1)), u), STEP)
    same(step(q[0], u[0], mass=mass), sim.with_params(mass=mass).step(np.tile(q[0], (2, 1)), np.tile(u[0], (2, 1))), STEP)
    same(ft.jax.step(sim.with_params(mass=mass))(q[0], u[0]), step(q[0], u[0], mass=mass), STEP)
    same(step(q[0], u[0], mass=mass[:1]), sim.with_params(mass=mass[0]).step(q[0], u[0]), STEP)
    steps = np.repeat(u[:, None], 3, 1)
    same(rollout(q, steps[:1]), sim.rollout(q, np.tile(steps[0], (2, 1, 1))), ROLLOUT)
    same(rollout(q[0], steps), sim.rollout(np.tile(q[0], (2, 1)), steps), ROLLOUT)
    by = jax.grad(lambda u: step(q, u).q_next.sum())(u[0])
    near(np.asarray(by), sim.vjp(q, np.tile(u[0], (2, 1)), q_next_bar=np.ones_like(q)).u.sum(0), 1e-12)


def test_forward_mode(hand, state):
    """Of a step that is made for it: Jacobians are those of the other mode, through maps and scans, and the numbers those of both."""
    sim, q, u = state
    of, plain = ft.jax.step(sim, forward=True), ft.jax.step(sim)
    same(of(q, u), sim.step(q, u), STEP)
    mass = np.array([0.3])
    cost = lambda of: lambda q, u, mass: (of(q, u, mass=mass).q_next, of(q, u, mass=mass).force, of(q, u, mass=mass).phi)
    by, backward = jax.jit(jax.jacfwd(cost(of), (0, 1, 2)))(q[0], u[0], mass), jax.jacrev(cost(plain), (0, 1, 2))(q[0], u[0], mass)
    for found, expected in zip(jax.tree.leaves(by), jax.tree.leaves(backward), strict=True):
        near(np.asarray(found), np.asarray(expected), 1e-10)
    # Without free bodies, tangents are q's own coordinates.
    dq, du = weights(5, q.shape, u.shape)
    (moved, status), (tangent, _) = jax.jvp(lambda q, u: (of(q, u).q_next, of(q, u).status), (q, u), (dq, du))
    near(np.asarray(tangent), sim.jvp(q, u, dq=dq, du=du)[0], 1e-10)
    assert np.array_equal(moved, sim.step(q, u).q_next) and not status.any()
    slope = lambda of: jax.grad(lambda u: (of(q, u).q_next**2).sum())(u)
    near(np.asarray(slope(of)), np.asarray(slope(plain)), 1e-10)

    def end(of, u):
        return jax.lax.scan(lambda q, u: (of(q, u).q_next, None), q[0], jnp.tile(u, (3, 1)))[0]

    near(np.asarray(jax.jacfwd(lambda u: end(of, u))(u[0])), np.asarray(jax.jacrev(lambda u: end(plain, u))(u[0])), 1e-10)
    with pytest.raises(RuntimeError, match="second derivatives are not available"):
        jax.jacfwd(jax.jacfwd(lambda u: of(q[0], u).q_next))(u[0])
