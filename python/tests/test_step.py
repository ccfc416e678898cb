import json
import pickle
import subprocess
import warnings

import numpy as np
import pytest
from conftest import ROOT, SCENES, TARGET, near_home

import fingertip as ft

GOLDEN = json.loads((ROOT / "tests/golden/quasidynamic_hand.json").read_text())["cases"]


def golden(case):
    """The hand of a case, its q and u: as in tests/step/golden_hand.rs."""
    text = (SCENES / "hand_ball.toml").read_text()
    table = "halfspace = [0.0, 0.0, 1.0, -0.2]"
    assert table in text
    text = text.replace(table, f"halfspace = [0.0, 0.0, 1.0, {case['table_height']!r}]")
    numbers = {"h": case["h"], "epsilon": case["eps"], "kappa": case["kappa"], "mu": case["mu"]}
    changes = {
        "params": {**numbers, "contact_distance": case["threshold_phi"]},
        "mass": {"ball": case["M_o"]},
        "size": {"ball": case["radius"]},
    }
    model = ft.Model.from_toml(text, SCENES, changes)
    return ft.Quasidynamic(model, stiffness=case["K_a"]), np.array(case["q_o"] + case["q_a"]), np.array(case["u"])


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: str(case["id"]))
def test_golden_hand(case):
    sim, q, u = golden(case)
    step = sim.step(q, u)
    step.raise_for_status()
    assert np.abs(step.phi - case["phi"]).max() < 1e-14
    assert np.abs(step.q_next - case["q_plus"]).max() < 2e-14
    force = np.zeros((6, 3))
    if any(case["flag"]):
        force[case["flag"]] = case["force"]
    assert np.abs(step.force - force).max() <= 3e-13 * np.abs(force).max()


def test_golden_derivatives():
    cases = [case for case in GOLDEN if case.get("derivatives")]
    assert len(cases) == 13
    for case in cases:
        sim, q, u = golden(case)
        all, expected = sim.linearize(q, u), case["derivatives"]
        for found, name in [
            (all.A[:, :3], "dqplus_dqo"),
            (all.A[:, 3:], "dqplus_dqa"),
            (all.B, "dqplus_du"),
        ]:
            expected_of = np.array(expected[name])
            assert np.abs(found - expected_of).max() <= 3e-9 * np.abs(expected_of).max(), name
        step, eye = sim.step(q, u), np.eye(24)
        rows = [sim.vjp(q, u, q_next_bar=row, step=step).params for row in eye]
        for column, name in [
            ([row["kappa"][0, 0] for row in rows], "dqplus_dkappa"),
            ([row["mu"].sum() for row in rows], "dqplus_dmu"),
            ([row["sizes"][0, 0] for row in rows], "dqplus_dradius"),
        ]:
            expected_of = np.array(expected[name])
            assert np.abs(column - expected_of).max() <= 3e-9 * np.abs(expected_of).max() + 1e-300, name


def test_bits_of_the_command_line(hand, sim):
    program = TARGET / "release" / "fingertip"
    if not program.exists():
        pytest.skip("the command line is not built")
    q, u = near_home(hand, 40)
    lines = "".join(json.dumps({"q": list(q), "u": list(u)}) + "\n" for q, u in zip(q, u))
    command = [program, "step", SCENES / "hand_ball.toml"]
    out = subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout
    answers = [json.loads(line) for line in out.splitlines()]
    step = sim.step(q, u)
    assert np.array_equal([answer["q_next"] for answer in answers], step.q_next)
    assert np.array_equal([answer["forces"] for answer in answers], step.force)
    assert [answer["status"] for answer in answers] == [ft.STATUSES[k] for k in step.status]


def test_shapes_of_a_batch(cube):
    sim = ft.Quasidynamic(cube)
    q, u = near_home(cube, 5)
    step = sim.step(q, u)
    nc = cube.nc
    shapes = {
        "q_next": (5, cube.nq),
        "delta": (5, cube.nv),
        "force": (5, nc, 3),
        "torque": (5, 0),
        "limit_force": (5, 0),
        "normal": (5, nc, 3),
        "point_a": (5, nc, 3),
        "point_b": (5, nc, 3),
        "phi": (5, nc),
        "warm": (5, sim.n_warm),
        "status": (5,),
        "ok": (5,),
        "iterations": (5,),
        "residual": (5,),
        "slip_gap": (5,),
    }
    for name, shape in shapes.items():
        assert getattr(step, name).shape == shape, name
        assert getattr(step, name) is getattr(step, name), name
    assert step.status.dtype == np.uint8 and step.ok.dtype == bool
    gap = step.point_b - step.point_a - step.phi[..., None] * step.normal
    assert np.abs(gap).max() < 1e-12


def test_one_world_has_no_axis(cube):
    sim = ft.Quasidynamic(cube)
    q, u = near_home(cube, 1)
    many, one = sim.step(q, u), sim.step(q[0], u[0])
    for name in ["q_next", "delta", "force", "phi", "warm", "status", "ok"]:
        assert np.array_equal(getattr(many, name)[0], getattr(one, name)), name
        assert getattr(many, name)[0].shape == getattr(one, name).shape, name
    steps = np.repeat(u[:, None], 3, 1)
    assert np.array_equal(sim.rollout(q, steps).q[0], sim.rollout(q[0], steps[0]).q)
    assert np.array_equal(sim.linearize(q, u).D[0], sim.linearize(q[0], u[0]).D)
    assert np.array_equal(sim.hold(q, u, 3).q[0], sim.hold(q[0], u[0], 3).q)
    weights = np.ones_like(q)
    assert np.array_equal(sim.vjp(q, u, q_next_bar=weights).q[0], sim.vjp(q[0], u[0], q_next_bar=weights[0]).q)


def test_worlds_do_not_depend_on_each_other(hand, sim):
    q, u = near_home(hand, 70)
    all = sim.step(q, u)
    assert np.array_equal(sim.step(q[:5], u[:5]).q_next, all.q_next[:5])
    assert np.array_equal(sim.step(q[33], u[33]).force, all.force[33])


def test_rollout_is_its_steps(hand, sim):
    q, _ = near_home(hand, 3)
    u = np.tile(hand.control(0.01 * np.arange(4)), (3, 1, 1))
    steps = sim.rollout(q, u)
    assert steps.q.shape == (3, 5, hand.nq) and steps.force.shape == (3, 4, hand.nc, 3)
    assert steps.torque.shape == (3, 4, 0) and steps.status.shape == (3, 4)
    assert np.array_equal(steps.q[:, 0], q)
    for k in range(4):
        step = sim.step(steps.q[:, k], u[:, k])
        assert np.abs(step.q_next - steps.q[:, k + 1]).max() < 1e-9
    steps.raise_for_status()


def test_hold(hand, sim):
    q, u = near_home(hand, 2)
    held = sim.hold(q, u, 3)
    assert held.q.shape == (2, 3, hand.nq) and held.force.shape == (2, 3, hand.nc, 3)
    assert held.warm.shape == (2, 3, sim.n_warm)
    assert held.torque.shape == (2, 3, 0) and held.status.shape == (2, 3)
    step = sim.step(q, u)
    assert np.array_equal(held.q[:, 0], step.q_next)
    warm = sim.step(held.q[:, 0], u, warm=held.warm[:, 0])
    assert np.abs(warm.q_next - held.q[:, 1]).max() < 1e-12


def test_statuses_are_data(hand, sim):
    q, u = near_home(hand, 4)
    q[2, 5] = np.nan
    step = sim.step(q, u)
    assert step.status.tolist() == [0, 0, ft.Status.BAD_INPUT, 0]
    assert step.ok.tolist() == [True, True, False, True]
    assert np.isfinite(step.q_next).all()
    with pytest.raises(ft.Unsolved, match="1 of 4 .* 2: bad_input"):
        step.raise_for_status()
    with pytest.raises(ft.Unsolved, match="world 2 at step 0: bad_input"):
        sim.rollout(q, np.repeat(u[:, None], 2, 1)).raise_for_status()
    assert not sim.step(q[2], u[2]).ok.all()


def test_parameters_per_world(hand):
    q, u = near_home(hand, 3)
    mass = np.array([[0.2], [0.4], [0.6]])
    sim = ft.Quasidynamic(hand, mass=mass)
    assert sim.params["mass"].tolist() == mass.tolist()
    all = sim.step(q, u)
    for world in range(3):
        alone = ft.Quasidynamic(hand).with_params(mass=mass[world]).step(q[world], u[world])
        assert np.array_equal(alone.q_next, all.q_next[world])
    gradient = sim.vjp(q, u, q_next_bar=np.ones_like(q))
    assert gradient.params["mass"].shape == (3, 1) and gradient.params["mu"].shape == sim.params["mu"].shape


def test_one_number_for_all_columns(hand):
    sim = ft.Quasidynamic(hand, mu=0.25, kappa=1e3)
    assert (sim.params["mu"] == 0.25).all() and sim.params["mu"].shape == hand.params["mu"].shape


def test_second_order_step(cube):
    sim = ft.Dynamic(cube, h=0.002)
    q, v = cube.home(3), np.zeros((3, cube.nv))
    step = sim.step(q, v)
    assert isinstance(step, ft.Step) and isinstance(step, ft.Solves)
    assert step.v_next.shape == (3, cube.nv) and step.q_next.shape == (3, cube.nq)
    assert np.array_equal(step.q_next, sim.step(q, v, np.zeros_like(v)).q_next)
    assert sim.step(q[0], v[0]).v_next.shape == (cube.nv,)
    again = sim.step(q, v, warm=step.warm)
    assert np.abs(again.q_next - step.q_next).max() < 1e-9
    # The cube falls from 2 mm above where it rests.
    free = ft.Dynamic(cube, h=0.002, mu=0.0).step(cube.home() + np.eye(cube.nq)[2], v[0])
    assert free.v_next[2] == pytest.approx(-9.81 * 0.002, rel=1e-3)


def test_without_robots_or_contacts():
    ball = '[[object]]\nname = "ball"\nsphere = 0.1\nmass = 1.0\nfreedom = "free"\nposition = [0, 0, 1]\n'
    model = ft.Model.from_toml(ball)
    assert (model.nq, model.nv, model.nu, model.nc) == (7, 6, 0, 0)
    sim, q, u = ft.Quasidynamic(model), model.home(2), np.zeros((2, 0))
    step = sim.step(q, u)
    assert step.force.shape == (2, 0, 3) and step.phi.shape == (2, 0)
    # ε M/h² δ = weight
    assert np.allclose(step.q_next[:, 2], 1 - 9.81 * 0.01**2 / 0.1)
    assert sim.rollout(q, np.zeros((2, 3, 0))).q.shape == (2, 4, 7)
    gradient = sim.vjp(q, u, q_next_bar=np.ones_like(q))
    assert gradient.q.shape == (2, 7) and gradient.u.shape == (2, 0)
    pushed, dlambda = sim.jvp(q, u, dq=np.eye(6)[:2])
    assert np.allclose(pushed, np.eye(6)[:2]) and dlambda.shape == (2, 0)
    assert sim.linearize(q, u).B.shape == (2, 6, 0)
    assert model.control([0.0, 1.0]).shape == (2, 0)


def test_out(sim, hand):
    """Results are written where they are wanted, also over q; the gradients know what q was."""
    q, u = near_home(hand, 5)
    step, commands = sim.step(q, u), np.tile(u[:, None], (1, 3, 1))
    q_next, force = np.full((5, 24), np.nan), np.full((5, 6, 3), np.nan)
    made = sim.step(q, u, out={"q_next": q_next, "force": force})
    assert made.q_next is q_next and made.force is force
    assert np.array_equal(q_next, step.q_next) and np.array_equal(force, step.force)
    assert np.array_equal(sim.vjp(q, u, q_next_bar=q, step=made).u, sim.vjp(q, u, q_next_bar=q, step=step).u)
    state = q.copy()
    for _ in range(3):
        sim.step(state, u, out={"q_next": state})
    assert np.array_equal(state, sim.step(sim.step(step.q_next, u).q_next, u).q_next)
    rollout, path = sim.rollout(q, commands), np.zeros((5, 4, 24))
    assert sim.rollout(q, commands, out={"q": path}).q is path and np.array_equal(path, rollout.q)
    one = np.zeros(24)
    assert np.array_equal(sim.step(q[0], u[0], out={"q_next": one}).q_next, one) and np.array_equal(one, step.q_next[0])


def test_forces_of_commands(sim, hand):
    q, u = near_home(hand, 3)
    u[1, hand.joint("hand/slider_z").u] += 100.0
    step = sim.step(q, u)
    places = [hand.joint(name).q.start for name in hand.u_names]
    force = sim.params["stiffness"] * (u - step.q_next[:, places])
    assert np.allclose(sim.command_forces(step.q_next, u), force, atol=1e-9)
    beyond = sim.beyond_efforts(step.q_next, u)
    assert all(abs(f) > effort and f == pytest.approx(force[world, command]) for world, command, f, effort in beyond)
    assert sim.command_forces(step.q_next[0], u[0]).shape == (21,)


def test_contacts(cube):
    """Each contact that takes part, with its names and the numbers of the step's arrays."""
    sim = ft.Quasidynamic(cube)
    q, u = near_home(cube, 2)
    step = sim.step(q, u)
    contacts = step.contacts
    assert len(contacts) > 4 and {one.world for one in contacts} == {0, 1}
    reach = 1000.0  # what is nowhere
    taking_part = [(world, i) for world, i in np.ndindex(*step.phi.shape) if step.phi[world, i] < reach or step.force[world, i].any()]
    assert [(one.world, one.contact) for one in contacts] == taking_part
    for one in contacts:
        at = one.world, one.contact
        assert (one.a, one.b) == cube.contact_names[one.contact] and one.gap == step.phi[at]
        for name, array in {"point": step.point_b, "normal": step.normal, "force": step.force}.items():
            assert np.array_equal(getattr(one, name), array[at]), name
    # Along the normal with B's force, and the cube is among them.
    largest = max(contacts, key=lambda one: np.linalg.norm(one.force))
    assert largest.force @ largest.normal > 0 and "cube" in (largest.a, largest.b)
    assert f"{largest.a} – {largest.b}" in repr(largest) and " N, world" in repr(largest)
    assert [one.world for one in sim.step(q[0], u[0]).contacts] == [0] * len([one for one in contacts if one.world == 0])
    assert ft.Dynamic(cube).step(q, np.zeros((2, cube.nv))).contacts
    with pytest.raises(ft.Error, match="contacts: expected a step of this process, got a pickle's"):
        pickle.loads(pickle.dumps(step)).contacts


def test_lines(hand, sim):
    """What a result is, as it is printed."""
    q, u = near_home(hand, 3)
    q[1] = np.nan
    step = sim.step(q, u)
    assert repr(step) == "<fingertip.Step of 3 worlds: 2 solved, 1 bad_input>"
    assert repr(pickle.loads(pickle.dumps(step))) == repr(step)
    q[1] = q[0]
    steps = np.repeat(u[:, None], 2, 1)
    rollout, v = sim.rollout(q, steps), np.zeros((3, hand.nv))
    assert repr(rollout) == "<fingertip.Rollout of 2 steps of 3 worlds: solved>"
    assert repr(sim.rollout(q[0], steps[0])) == "<fingertip.Rollout of 2 steps of 1 world: solved>"
    assert repr(sim.hold(q[0], u[0], 1)) == "<fingertip.Hold of 1 step of 1 world: solved>"
    assert repr(sim.vjp(q, u)) == "<fingertip.Gradient by q (3, 24), u (3, 21) and params>"
    dynamic = ft.Dynamic(hand)
    assert repr(dynamic.step(q, v)) == "<fingertip.DynamicStep of 3 worlds: solved>"
    assert repr(dynamic.vjp(q, v)) == "<fingertip.DynamicGradient by q (3, 24), v (3, 24), tau (3, 24) and params>"
    assert repr(sim.on("cpu").vjp(q, u)) == "<fingertip.DeviceGradient by q (3, 24), u (3, 21) and params>"
    assert repr(sim.on("cpu").step(q, u)) == "<fingertip.DeviceStep of 3 worlds: solved>"


def test_one_stands_for_all_worlds(hand, sim):
    """q, u, τ and parameters of one world beside others of several."""
    q, u = near_home(hand, 3)
    all = lambda x: np.repeat(x[:1], 3, axis=0)
    same = lambda a, b: np.array_equal(a.q_next if hasattr(a, "q_next") else a.q, b.q_next if hasattr(b, "q_next") else b.q)
    for one in (u[0], u[:1]):
        assert same(sim.step(q, one), sim.step(q, all(u))) and same(sim.hold(q, one, 2), sim.hold(q, all(u), 2))
    assert same(sim.step(q[0], u), sim.step(all(q), u)) and sim.step(q[:1], u).q_next.shape == (3, 24)
    masses = sim.with_params(mass=[[0.3], [0.4], [0.5]])
    assert same(masses.step(q[0], u[0]), masses.step(all(q), all(u))) and masses.linearize(q[0], u[0]).A.shape == (3, 24, 24)
    steps = np.repeat(u[:, None], 2, 1)
    assert same(sim.rollout(q, steps[:1]), sim.rollout(q, all(steps))) and same(sim.rollout(q[0], steps), sim.rollout(all(q), steps))
    assert same(masses.rollout(q[0], steps[0]), masses.rollout(all(q), all(steps)))
    # Gradients are each world's.
    step, bar = sim.step(q, u[0]), np.ones((3, 24))
    made, expected = (sim.vjp(q, given, q_next_bar=bar, step=step) for given in (u[0], all(u)))
    assert made.u.shape == (3, 21) and np.array_equal(made.u, expected.u)
    rollout, bars = sim.rollout(q, steps[:1]), np.ones((3, 3, 24))
    made, expected = (sim.rollout_vjp(given, rollout, q_bar=bars) for given in (steps[0], all(steps)))
    assert made.u.shape == (3, 2, 21) and np.array_equal(made.u, expected.u)
    assert np.array_equal(sim.command_forces(q, u[0]), sim.command_forces(q, all(u)))
    with pytest.raises(ft.Error, match=r"u: expected shape \(3, 2, 21\), for 3 worlds, got \(2, 2, 21\)"):
        sim.rollout_vjp(steps[:2], rollout)

    dynamic, v = ft.Dynamic(hand), np.full((3, hand.nv), 0.01)
    assert same(dynamic.step(q, v[0], np.zeros(hand.nv)), dynamic.step(q, v, np.zeros((3, hand.nv))))
    tau = np.zeros((2, hand.nv))
    assert same(dynamic.rollout(q, v[0], tau[None]), dynamic.rollout(q, v, np.tile(tau, (3, 1, 1))))
    assert same(dynamic.rollout(q[0], v[0], np.tile(tau, (3, 1, 1))), dynamic.rollout(all(q), v, np.tile(tau, (3, 1, 1))))
    heavy = ft.Dynamic(hand, mass=[[0.3], [0.4], [0.5]])
    assert same(heavy.step(q[0], v[0]), heavy.step(all(q), v))


@pytest.fixture(scope="module")
def leap():
    """A hand with hundreds of contacts whose steps list those with a force, three worlds in which it presses a cube, and
    the numbers of a step of theirs that lists nothing."""
    model = ft.Model.load("leap_cube")
    sim = ft.Quasidynamic(model)
    start = np.tile(model.control(0.0), (3, 1)) + np.array([0.0, 0.2, 0.3])[:, None]
    q = sim.rollout(model.home(3), np.repeat(start[:, None], 6, 1)).q[:, -1]
    u = start + 0.05
    return sim, q, u, sim.on("cpu").step(q, u)


def test_what_many_contacts_tell_comes_when_it_is_asked_for(leap):
    sim, q, u, whole = leap
    step = sim.step(q, u)
    assert np.array_equal(step.status, whole.status) and step.ok.all()
    assert np.array_equal(step.iterations, whole.iterations)
    assert np.array_equal(step.residual, whole.residual)
    force, expected = step.force, np.from_dlpack(whole.force)
    assert (np.abs(expected) > 1e-6).any() and (expected == 0.0).any()
    for name in ("q_next", "force", "torque", "warm", "phi", "delta"):
        assert np.array_equal(getattr(step, name), np.from_dlpack(getattr(whole, name))), name
    assert step.force is force and step.normal.shape == step.point_a.shape == step.force.shape
    assert all(np.linalg.norm(contact.normal) == pytest.approx(1.0) for contact in step.contacts)
    warm = sim.step(q, u, step.warm)
    again = np.from_dlpack(sim.on("cpu").step(q, u, whole.warm).phi)
    assert np.array_equal(warm.phi, again) and warm.iterations.max() < step.iterations.max()
    for names in (("q_next", "phi"), ("phi", "q_next")):
        other = pickle.loads(pickle.dumps(sim.step(q, u)))
        assert all(np.array_equal(getattr(other, name), getattr(step, name)) for name in names)


def test_gradients_of_a_step_whose_numbers_come_later(leap):
    sim, q, u, whole = leap
    random = np.random.default_rng(3)
    bars = {"q_next_bar": random.standard_normal(q.shape), "force_bar": random.standard_normal((*whole.phi.shape, 3))}
    given, fresh = sim.vjp(q, u, **bars, step=sim.step(q, u)), sim.vjp(q, u, **bars)
    assert np.array_equal(given.q, fresh.q) and np.array_equal(given.u, fresh.u) and np.abs(given.q).max() > 1e-3
    with pytest.raises(ft.Error, match="these inputs"):
        sim.vjp(q, u + 1e-3, **bars, step=sim.step(q, u))
    out = {"q_next": np.empty(q.shape), "force": np.empty((*whole.phi.shape, 3))}
    step = sim.step(q, u, out=out)
    assert step.q_next is out["q_next"] and step.force is out["force"]
    assert np.array_equal(out["force"], np.from_dlpack(whole.force))


def test_a_rollout_lists_forces_and_pulls_back_through_them(leap):
    sim, q, u, whole = leap
    commands = np.repeat(u[:, None], 2, 1)
    device = sim.on("cpu")
    rollout, there = sim.rollout(q, commands), device.rollout(q, commands)
    for name in ("q", "force", "torque"):
        assert np.array_equal(getattr(rollout, name), np.from_dlpack(getattr(there, name))), name
    random = np.random.default_rng(4)
    bars = {"q_bar": random.standard_normal(rollout.q.shape), "force_bar": random.standard_normal(rollout.force.shape)}
    own, other = sim.rollout_vjp(commands, rollout, **bars), device.rollout_vjp(commands, there, **bars)
    assert np.array_equal(own.q, np.from_dlpack(other.q)) and np.array_equal(own.u, np.from_dlpack(other.u))
    assert np.abs(own.q).max() > 1e-3


def test_derivatives_of_forces_where_nothing_presses():
    model = ft.Model.load("leap_cube")
    q = model.home(2)
    q[:, 2] += 5.0
    linear = ft.Quasidynamic(model).linearize(q, np.tile(model.control(0.0), (2, 1)))
    assert len(linear.force_rows) == 0 and linear.lambda_.shape == (2, 3 * model.nc)
    assert linear.C.shape == (2, 3 * model.nc, model.nv) and linear.D.shape == (2, 3 * model.nc, model.nu)
    assert not linear.C.any() and not linear.D.any() and not linear.lambda_.any()


def poked(folder, more=""):
    """A ball on a slider, 2 cm before a fixed block, which its command may go through."""
    link = '<link name="t"><collision><geometry><sphere radius="0.008"/></geometry></collision></link>'
    joint = '<joint name="x" type="prismatic"><parent link="w"/><child link="t"/><axis xyz="1 0 0"/>'
    joint += '<limit lower="-1" upper="1" effort="100" velocity="1"/></joint>'
    (folder / "finger.urdf").write_text(f'<robot name="f"><link name="w"/>{link}{joint}</robot>')
    text = """
[params]
kappa = 1e5
[[object]]
name = "thing"
freedom = "fixed"
box = [0.01, 0.1, 0.1]
position = [0.05, 0.0, 0.0]
[[robot]]
name = "f"
urdf = "finger.urdf"
stiffness = 100.0
position = [-0.01, 0.0, 0.0]
"""
    return ft.Model.from_toml(text + more, folder)


def told(of):
    with warnings.catch_warnings(record=True) as all:
        warnings.simplefilter("always")
        of()
    return [(str(one.message), one.filename) for one in all]


def test_a_step_that_moves_something_too_far_is_a_warning(tmp_path):
    """As `fingertip step` has it: once for each body, whatever the call, and never of shorter steps."""
    model = poked(tmp_path)
    far = np.full((2, 1), 0.07)
    q = model.home(2)
    sims = [ft.Quasidynamic(model) for _ in range(4)]
    calls = [
        lambda: sims[0].step(q, far),
        lambda: sims[1].hold(q, far, 3),
        lambda: sims[2].rollout(q, np.concatenate([0.1 * far, far], 1)[..., None]),
        # With masses of each world.
        lambda: ft.Quasidynamic(model, stiffness=np.full((2, 1), 100.0)).step(q, far),
    ]
    for call in calls:
        [(message, where)] = told(call)
        assert message.startswith("TOO FAR f/t: something is in its way in a step that moves it by more than its size, 8 mm")
        assert ": by 42 mm and 0°" in message or ": by 35 mm and 0°" in message, message
        assert where == __file__
    assert told(lambda: sims[0].rollout(q, far[:, None])) == []
    assert told(lambda: sims[3].rollout(q[0], np.linspace(0.0, 0.07, 15)[:, None])) == []
    # Where nothing is in its way it may go as far as it likes.
    away = ft.Quasidynamic(model)
    assert told(lambda: away.step(q, -far)) == []
    assert len(told(lambda: away.step(q, far))) == 1


def test_a_plant_that_moves_something_too_far_is_a_warning(tmp_path):
    ball = '[[object]]\nname = "ball"\nsphere = 0.01\nmass = 0.1\nfreedom = "free"\nposition = [0.0, 0.5, 0.0]\n'
    goal = {"object": "ball", "position": [0.0, 0.6, 0.0]}
    command = {"type": "relative", "bound": 0.1}
    task = ft.Task(poked(tmp_path, ball), command=command, goal=goal, weights={"position": 1.0}, h=0.01, hold=1, cap=2)
    plant = ft.mpc.Plant(task)
    plant.reset(ft.Controller(task).episode)
    [(message, where)] = told(lambda: plant.advance(np.array([0.07])))
    assert message.startswith("TOO FAR f/t") and where == __file__
