"""What cannot be used is an error that says what was expected and what was given."""

import os
import pickle

import numpy as np
import pytest
from conftest import SCENES

import fingertip as ft


@pytest.fixture(scope="module")
def it(hand, cube):
    """Objects that the cases use."""

    class It:
        model = hand
        sim = ft.Quasidynamic(hand)
        other = ft.Quasidynamic(cube)
        dynamic = ft.Dynamic(hand)
        q, u = hand.home(3), np.tile(hand.control(0.0), (3, 1))
        v = np.zeros((3, hand.nv))
        steps = np.repeat(u[:, None], 2, 1)
        step = sim.step(q, u)
        rollout = sim.rollout(q, steps)
        task = ft.Task.load("hand_turn")
        other_step = other.step(cube.home(3), np.tile(cube.control(0.0), (3, 1)))

    return It


# What is done, and what its message says.
CASES = {
    "q too wide": (lambda it: it.sim.step(np.zeros((3, 25)), it.u), ["q: expected shape (B, 24)", "or (24,)", "got (3, 25)"]),
    "q of no world": (lambda it: it.sim.step(np.zeros((0, 24)), it.u), ["q: expected", "B ≥ 1", "got (0, 24)"]),
    "q a number": (lambda it: it.sim.step(1.0, it.u), ["q: expected shape (B, 24)", "got ()"]),
    "q of three axes": (lambda it: it.sim.step(np.zeros((1, 3, 24)), it.u), ["q: expected", "got (1, 3, 24)"]),
    "q of text": (lambda it: it.sim.step("home", it.u), ["q: expected real numbers", "<U4"]),
    "q None": (lambda it: it.sim.step(None, it.u), ["q: expected real numbers", "object"]),
    "q complex": (lambda it: it.sim.step(it.q * 1j, it.u), ["q: expected real numbers", "complex128"]),
    "q ragged": (lambda it: it.sim.step([[1.0, 2.0], [1.0]], it.u), ["q: expected an array of numbers"]),
    "q of dates": (lambda it: it.sim.step(np.zeros((3, 24), "M8[s]"), it.u), ["q: expected real numbers", "datetime64"]),
    "out of nothing": (lambda it: it.sim.step(it.q, it.u, out={"q": it.q}), ["there is no result to write \"q\"", "q_next"]),
    "out too narrow": (
        lambda it: it.sim.step(it.q, it.u, out={"q_next": it.u}),
        ["out of q_next: expected a writable array of float64", "of shape (3, 24), got float64 of shape (3, 21)"],
    ),
    "out of float32": (
        lambda it: it.sim.rollout(it.q, it.steps, out={"q": np.zeros((3, 3, 24), np.float32)}),
        ["out of q: expected", "shape (3, 3, 24), got float32 of shape (3, 3, 24)"],
    ),
    "out in columns": (
        lambda it: it.sim.step(it.q, it.u, out={"q_next": np.zeros((24, 3)).T}),
        ["out of q_next: expected", "got float64 of shape (3, 24), not row after row"],
    ),
    "out of a list": (lambda it: it.sim.step(it.q, it.u, out={"force": [0.0]}), ["out of force: expected", "got list"]),
    "forces of no command": (lambda it: it.sim.command_forces(it.q, it.q), ["u: expected shape (3, 21)", "got (3, 24)"]),
    "efforts at no state": (lambda it: it.sim.beyond_efforts(it.u, it.u), ["q_next: expected shape (B, 24)"]),
    "keypoints in the plane": (
        lambda it: ft.Follower(it.model).step(np.zeros((21, 2)), 0.1),
        ["keypoints: expected shape (keypoints, 3)", "got (21, 2)"],
    ),
    "smoother of no window": (lambda it: ft.Smoother(it.sim, window=0), ["window: expected at least 1, got 0"]),
    "smoother of no thing": (lambda it: ft.Smoother(it.sim, ["hand/tip"]), ["force: there is no thing or body \"hand/tip\""]),
    "smoother of no period": (lambda it: ft.Smoother(it.sim, hold=0), ["hold: expected at least 1, got 0"]),
    "smoother q": (lambda it: ft.Smoother(it.sim).step(it.u[0], it.u[0]), ["q: expected shape (24,), got (21,)"]),
    "smoother forces": (
        lambda it: ft.Smoother(it.sim, ["ball"]).step(it.u[0], it.q[0], np.zeros(3)),
        ["forces: expected shape (1, 3), got (3,)"],
    ),
    "smoother of no start": (lambda it: ft.Smoother(it.sim).reset(np.full(24, np.nan)), ["q: expected 24 finite numbers, got NaN"]),
    "unknown site": (lambda it: it.model.site_poses(it.q, ["hand/tip"]), ["site", "hand/tip"]),
    "not MJCF": (lambda it: ft.Model.from_mjcf("<robot name='r'/>"), ["MJCF: expected <mujoco>, got <robot>"]),
    "u too narrow": (lambda it: it.sim.step(it.q, it.u[:, :20]), ["u: expected shape (3, 21), for 3 worlds", "got (3, 20)"]),
    "u of other worlds": (lambda it: it.sim.step(it.q, it.u[:2]), ["u: expected shape (3, 21), for 3 worlds", "got (2, 21)"]),
    "u of one world": (lambda it: it.sim.step(it.q[0], it.u[:, :20]), ["u: expected shape (21,), for one world without an axis", "got (3, 20)"]),
    "warm too short": (lambda it: it.sim.step(it.q, it.u, np.zeros((3, 2))), ["warm: expected shape (3, 18)", "got (3, 2)"]),
    "rollout q0": (lambda it: it.sim.rollout(it.q[:, 1:], it.steps), ["q0: expected shape (B, 24)", "got (3, 23)"]),
    "rollout u of one step": (lambda it: it.sim.rollout(it.q, it.u), ["u: expected shape (3, T, 21)", "got (3, 21)"]),
    "rollout u without steps": (lambda it: it.sim.rollout(it.q, it.steps[:, :0]), ["expected at least 1 step"]),
    "rollout u of one world": (lambda it: it.sim.rollout(it.q[0], it.steps[:, :, :20]), ["u: expected shape (T, 21)", "got (3, 2, 20)"]),
    "rollout u of other worlds": (lambda it: it.sim.rollout(it.q, it.steps[:2]), ["u: expected shape (3, T, 21)", "got (2, 2, 21)"]),
    "hold no steps": (lambda it: it.sim.hold(it.q, it.u, 0), ["n: expected at least 1, got 0"]),
    "hold back": (lambda it: it.sim.hold(it.q, it.u, -3), ["n: expected at least 1, got -3"]),
    "vjp by q": (lambda it: it.sim.vjp(it.q, it.u, q_next_bar=it.u), ["q_next_bar: expected shape (3, 24)", "got (3, 21)"]),
    "vjp by force": (lambda it: it.sim.vjp(it.q, it.u, force_bar=np.zeros((3, 18))), ["force_bar: expected shape (3, 6, 3)", "got (3, 18)"]),
    "vjp by torque": (lambda it: it.sim.vjp(it.q, it.u, torque_bar=np.zeros((3, 1))), ["torque_bar: expected shape (3, 0)", "got (3, 1)"]),
    "vjp by phi": (lambda it: it.sim.vjp(it.q, it.u, phi_bar=[0.0] * 6), ["phi_bar: expected shape (3, 6)", "got (6,)"]),
    "vjp of another model": (lambda it: it.sim.vjp(it.q, it.u, step=it.other_step), ["step: expected a result of this object"]),
    "vjp of other parameters": (
        lambda it: it.sim.with_params(mass=1.0).vjp(it.q, it.u, step=it.step),
        ["step: expected a result of this object, got one of another"],
    ),
    "vjp of another second-order step": (
        lambda it: it.dynamic.vjp(it.q, it.v, step=it.dynamic.with_params(mass=1.0).step(it.q, it.v)),
        ["step: expected a result of this object"],
    ),
    "vjp of other worlds": (lambda it: it.sim.vjp(it.q[:2], it.u[:2], step=it.step), ["step: expected a result of 2 worlds", "3"]),
    "rollout_vjp of another model": (
        lambda it: it.other.rollout_vjp(it.steps, it.rollout),
        ["rollout: expected a result of this object"],
    ),
    "rollout_vjp u": (lambda it: it.sim.rollout_vjp(it.u, it.rollout), ["u: expected shape (3, 2, 21)", "got (3, 21)"]),
    "rollout_vjp by q": (
        lambda it: it.sim.rollout_vjp(it.steps, it.rollout, q_bar=np.zeros((3, 2, 24))),
        ["q_bar: expected shape (3, 3, 24)", "got (3, 2, 24)"],
    ),
    "jvp dq": (lambda it: it.sim.jvp(it.q, it.u, dq=np.zeros(24)), ["dq: expected shape (3, 24)", "got (24,)"]),
    "jvp du": (lambda it: it.sim.jvp(it.q, it.u, du=it.q), ["du: expected shape (3, 21)", "got (3, 24)"]),
    "unknown parameter": (lambda it: it.sim.with_params(masss=1.0), ["there is no parameter", "did you mean \"mass\"?"]),
    "parameter too wide": (lambda it: it.sim.with_params(mass=[1.0, 2.0]), ["mass: expected shape (1,)", "got (2,)"]),
    "parameter of no row": (lambda it: it.sim.with_params(mass=np.zeros((0, 1))), ["mass: expected", "got (0, 1)"]),
    "parameter of text": (lambda it: ft.Quasidynamic(it.model, mu="high"), ["mu: expected real numbers"]),
    "parameters of other worlds": (
        lambda it: it.sim.with_params(mass=np.ones((3, 1)), h=np.ones((2, 1))),
        ["mass: expected 1 or 2 rows, as h has, got 3"],
    ),
    "worlds of parameters": (
        lambda it: it.sim.with_params(mass=np.ones((4, 1))).step(it.q, it.u),
        ["q: expected 4 worlds, as the parameters have, got 3"],
    ),
    "worlds of parameters in a rollout": (
        lambda it: it.sim.with_params(mass=np.ones((4, 1))).rollout(it.q, it.steps),
        ["expected 4 worlds"],
    ),
    "no threads": (lambda it: ft.Quasidynamic(it.model, threads=0), ["threads: expected at least 1, got 0"]),
    "fewer threads": (lambda it: ft.Dynamic(it.model, threads=-1), ["threads: expected at least 1, got -1"]),
    "dynamic q": (lambda it: it.dynamic.step(it.u, it.v), ["q: expected shape (B, 24)", "got (3, 21)"]),
    "dynamic v": (lambda it: it.dynamic.step(it.q, it.u), ["v: expected shape (3, 24)", "got (3, 21)"]),
    "dynamic tau": (lambda it: it.dynamic.step(it.q, it.v, it.u), ["tau: expected shape (3, 24)", "got (3, 21)"]),
    "dynamic warm": (lambda it: it.dynamic.step(it.q, it.v, warm=[1.0]), ["warm: expected", "got 1"]),
    "dynamic vjp": (lambda it: it.dynamic.vjp(it.q, it.v, v_next_bar=it.u), ["v_next_bar: expected shape (3, 24)", "got (3, 21)"]),
    "dynamic beta": (lambda it: ft.Dynamic(it.model, beta=2.0), ["expected β from 0 to 1, got 2"]),
    "dynamic stiction": (lambda it: ft.Dynamic(it.model, stiction_speed=0.0), ["stiction_speed: expected a positive speed"]),
    "home of no world": (lambda it: it.model.home(0), ["worlds: expected at least 1, got 0"]),
    "home of fewer": (lambda it: it.model.home(-1), ["worlds: expected at least 1, got -1"]),
    "control of a table": (lambda it: it.model.control([[0.0]]), ["time: expected a number or (T,), got (1, 1)"]),
    "unknown joint": (lambda it: it.model.joint("hand/slider_y"), ["there is no joint \"hand/slider_y\"", "did you mean"]),
    "unknown object": (lambda it: it.model.object("bal"), ["there is no movable object \"bal\"", "\"ball\""]),
    "not TOML": (lambda it: ft.Model.from_toml("object = ["), ["line 1, column 11", "expected `]`"]),
    "unknown key": (lambda it: ft.Model.from_toml("[params]\nkapa = 1"), ["kapa"]),
    "no such mesh": (lambda it: ft.Model.from_toml("[[object]]\nname = \"a\"\nmesh = \"no.stl\"\nmass = 1"), ["no.stl"]),
    "two mistakes": (
        lambda it: ft.Model.from_toml("[[object]]\nname = \"a\"\nsphere = -1\nmass = 1\n[[object]]\nname = \"b\"\nsphere = 1\nmass = -1"),
        ["object \"a\"", "object \"b\""],
    ),
    "a URDF as a scene": (lambda it: ft.Model.load(SCENES / "../robots/hand21.urdf"), ["expected a scene in TOML", "URDF of a robot"]),
    "a scene as a URDF": (lambda it: ft.Model.from_urdf(SCENES / "push.toml"), ["push.toml"]),
    "a folder": (lambda it: ft.Model.load(SCENES), ["expected a regular file, got a folder"]),
    "overrides of nothing": (lambda it: ft.Model.load(SCENES / "push.toml", {"mas": {"a": 1}}), ["overrides", "mas"]),
    "overrides of no body": (lambda it: ft.Model.load(SCENES / "hand_ball.toml", {"mass": {"bal": 1}}), ["bal", "did you mean"]),
    "overrides of no number": (lambda it: ft.Model.load(SCENES / "push.toml", {"params": {"h": "x"}}), ["overrides", "h"]),
    "overrides out of range": (lambda it: ft.Model.load(SCENES / "push.toml", {"params": {"h": -1}}), ["h: expected"]),
    "overrides that are no JSON": (lambda it: ft.Model.load("push", "{bad"), ["overrides: column 2: expected"]),
    "overrides of an object": (lambda it: ft.Model.load(SCENES / "push.toml", {"mass": {"a": object()}}), ["overrides: expected names and numbers"]),
    "target of no body": (
        lambda it: ft.inverse_kinematics(it.model, it.q[0], [("hand/tip", [0, 0, 0], [0, 0, 0])]),
        ["there is no body \"hand/tip\""],
    ),
    "target of two numbers": (
        lambda it: ft.inverse_kinematics(it.model, it.q[0], [("ball", [0, 0], [0, 0, 0])]),
        ["point of \"ball\": expected shape (3,), got (2,)"],
    ),
    "search from q": (lambda it: ft.inverse_kinematics(it.model, it.q, []), ["q: expected shape (24,)", "got (3, 24)"]),
    "no such task": (lambda it: ft.Task.load("hand_tern"), ["there is no task \"hand_tern\"", "did you mean \"hand_turn\"?"]),
    "a scene as a task": (lambda it: ft.Task.load(SCENES / "push.toml"), ["push.toml"]),
    "a task of nothing": (lambda it: ft.Task.from_toml("scene = \"no.toml\""), ["missing field `command`"]),
    "unknown method": (lambda it: it.task.replace(method="ilqg"), ["method: there is no method \"ilqg\"", "\"ilqr\""]),
    "no iterations": (lambda it: it.task.replace(iterations=0), ["iterations: expected at least 1, got 0"]),
    "no cap": (lambda it: it.task.replace(cap=-1), ["cap: expected at least 1, got -1"]),
    "no tolerance": (lambda it: it.task.replace(tolerance=0.0), ["tolerance: expected a positive number, got 0"]),
    "negative lead": (lambda it: it.task.replace(lead=-1.0), ["lead: expected a number from 0 up, got -1"]),
    "latency of an hour": (lambda it: ft.Controller(it.task.replace(latency=3600.0)), ["latency: expected from 0 to 1.6 s"]),
    "beliefs of nothing": (lambda it: it.task.replace(overrides={"mass": {"bal": 1.0}}), ["bal"]),
    "no goal": (lambda it: ft.mpc.Goal(), ["goal: expected a position, a quaternion, an axis, a yaw or joints"]),
    "no axis": (lambda it: ft.mpc.Goal(axis=[0.0] * 3), ["axis: expected three finite numbers, not all zero"]),
    "an axis of a yaw": (lambda it: ft.mpc.Goal(yaw=1.0, axis=[0, 0, 1]), ["expected an axis or a yaw, got both"]),
    "two turns": (lambda it: ft.mpc.Goal(yaw=1.0, quaternion=[1, 0, 0, 0]), ["expected a quaternion or a yaw, got both"]),
    "a goal that is not": (lambda it: ft.mpc.Goal([0.0, 0.0, np.nan]), ["goal: expected finite numbers, got NaN"]),
    "a goal of two numbers": (lambda it: ft.mpc.Goal([0.0, 0.0]), ["position: expected shape (3,), got (2,)"]),
    "no quaternion": (lambda it: ft.mpc.Goal(quaternion=[0.0] * 4), ["quaternion: expected one other than zero"]),
    "a joint's goal": (lambda it: ft.Controller(it.task, goal=ft.mpc.Goal(joints={"hinge": 1.0})), ["hinge"]),
    "start of others": (lambda it: ft.Controller(it.task, q=it.q), ["q: expected shape (28,)", "got (3, 24)"]),
    "start nowhere": (lambda it: ft.Controller(it.task, q=np.full(28, np.inf)), ["q: expected finite numbers up to 1e6, got inf"]),
    "q of a command": (lambda it: ft.Controller(it.task).command(it.u[0]), ["q: expected shape (28,)", "got (21,)"]),
    "velocity of a command": (
        lambda it: ft.Controller(it.task).command(None, velocity=np.full(27, np.nan)),
        ["velocity: expected 27 finite numbers"],
    ),
    "limit of a command": (lambda it: ft.Controller(it.task).command(None, -1.0), ["limit: expected seconds from 0", "got -1"]),
    "weight of a cost": (lambda it: ft.mpc.Cost(len, len, -1.0), ["running: expected a number from 0 up, got -1"]),
    "unknown plant": (lambda it: ft.mpc.Plant(it.task, "second"), ["there is no plant \"second\"", "\"second-order\""]),
    "soft plant": (
        lambda it: ft.mpc.Plant(it.task, kappa=0.0).reset(it.task.episode()),
        ["kappa: expected a positive number, got 0"],
    ),
    "noise of a plant": (
        lambda it: ft.mpc.Plant(it.task, noise=(-1.0, 0.0)).reset(it.task.episode()),
        ["noise: expected numbers from 0 up, got -1"],
    ),
    "plant of nothing": (lambda it: ft.mpc.Plant(it.task, overrides={"mas": 1}), ["overrides", "mas"]),
    "plant before its start": (lambda it: ft.mpc.Plant(it.task).measure(), ["plant: expected reset(episode) first"]),
    "search without steps": (
        lambda it: ft.inverse_kinematics(it.model, it.q[0], [], max_iterations=0),
        ["max_iterations: expected at least 1, got 0"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_messages(it, name):
    work, says = CASES[name]
    with pytest.raises(ft.Error) as caught:
        work(it)
    message = str(caught.value)
    assert all(part in message for part in says), message
    assert "backtrace" not in message and "::" not in message and len(message) < 600, message


def test_errors_are_value_errors():
    assert issubclass(ft.Error, ValueError) and issubclass(ft.Unsolved, RuntimeError)
    assert ft.Error.__module__ == "fingertip"


@pytest.mark.parametrize("read", [ft.Model.load, ft.Model.from_urdf])
def test_no_such_file(read, tmp_path):
    path = tmp_path / "no_such_file.toml"
    with pytest.raises(FileNotFoundError, match="no_such_file.toml") as caught:
        read(path)
    assert os.fspath(caught.value.filename) == str(path)
    assert caught.value.errno == 2


def test_no_memory(hand):
    with pytest.raises(MemoryError, match="no memory for 1000000000000000 steps of 1 worlds"):
        ft.Quasidynamic(hand).hold(hand.home(), hand.control(0), 10**15)


def test_errors_pickle():
    for error in [ft.Error("expected"), ft.Unsolved("1 of 2")]:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)


def test_wrong_kinds_are_type_errors(hand):
    with pytest.raises(TypeError):
        ft.Quasidynamic("hand")
    with pytest.raises(TypeError):
        ft.Quasidynamic(hand).step(hand.home())
    with pytest.raises(TypeError):
        ft.Quasidynamic(hand).vjp(hand.home(), hand.control(0), step=1)
    with pytest.raises(AttributeError):
        ft.nothing
    with pytest.raises(AttributeError):
        ft.Quasidynamic(hand).step(hand.home(), hand.control(0)).q_next = 1
