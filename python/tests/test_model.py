import pickle

import numpy as np
import pytest
from conftest import ROOT, SCENES

import fingertip as ft


def test_sizes_and_names(hand):
    assert (hand.nq, hand.nv, hand.nu, hand.nc) == (24, 24, 21, 6)
    assert len(hand.q_names) == hand.nq and hand.q_names[:3] == ["ball.x", "ball.y", "ball.z"]
    assert len(hand.v_names) == hand.nv
    assert len(hand.u_names) == hand.nu and hand.q_names[3:] == hand.u_names
    assert len(hand.contact_names) == hand.nc
    assert hand.inertial_names == ["ball"]
    assert set(hand.shape_names) >= {"ball", "table"}
    assert hand.contacts_between("ball", "table") == hand.contacts_between("table", "ball") != []
    assert "nq=24" in repr(hand)


def test_coordinates(hand, cube):
    slider = hand.joint("hand/slider_z")
    assert hand.q_names[slider.q] == ["hand/slider_z"] == [hand.u_names[slider.u]]
    assert slider.limits is None or slider.limits[0] < slider.limits[1]
    ball = hand.object("ball")
    assert (ball.name, ball.q, ball.v, ball.u) == ("ball", slice(0, 3, 1), slice(0, 3, 1), None)
    free = cube.object("cube")
    assert (free.q, free.v) == (slice(0, 7, 1), slice(0, 6, 1))


def test_home_and_control(hand):
    home = hand.home()
    assert home.shape == (24,) and home.dtype == np.float64
    assert np.array_equal(hand.home(3), np.tile(home, (3, 1)))
    times = np.array([0.0, 0.1, 1e3])
    assert hand.control(0.1).shape == (21,)
    assert np.array_equal(hand.control(times), [hand.control(t) for t in times])


def test_parameters(hand):
    params = hand.params
    assert tuple(params) == ft.PARAMETERS
    assert params["mass"].tolist() == [[0.52]] and params["kappa"].tolist() == [[1e4]]
    assert params["mu"].shape == (1, len(hand.pair_names))
    assert params["sizes"].shape == (1, 4 * len(hand.shape_names))
    params["mass"][:] = 7  # a copy
    assert hand.params["mass"].tolist() == [[0.52]]


def test_overrides():
    changes = {"params": {"kappa": 1e3, "friction": "coulomb"}, "mass": {"ball": np.float32(0.25)}}
    model = ft.Model.load(SCENES / "hand_ball.toml", changes)
    assert model.params["mass"].tolist() == [[0.25]] and model.params["kappa"].tolist() == [[1e3]]
    again = pickle.loads(pickle.dumps(model))
    assert again.params["mass"].tolist() == [[0.25]]


def test_text(hand):
    text = (SCENES / "hand_ball.toml").read_text()
    model = ft.Model.from_toml(text, SCENES)
    assert model.text == hand.text == text
    assert model.folder == hand.folder
    assert np.array_equal(model.home(), hand.home())


def test_urdf():
    model = ft.Model.from_urdf(ROOT / "assets/robots/allegro16.urdf")
    assert model.nu == 16 and all(name.startswith("allegro16/") for name in model.u_names)
    named = ft.Model.from_urdf(ROOT / "assets/robots/allegro16.urdf", name='a "b"')
    assert all(name.startswith('a "b"/') for name in named.u_names)
    assert pickle.loads(pickle.dumps(named)).u_names == named.u_names


def test_relative_path(monkeypatch, tmp_path, hand):
    monkeypatch.chdir(SCENES)
    model = ft.Model.load("hand_ball.toml")
    data = pickle.dumps(model)
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(data).q_names == hand.q_names


def test_names(monkeypatch, tmp_path, hand):
    monkeypatch.chdir(tmp_path)
    assert "hand_ball" in ft.Model.names()
    model = ft.Model.load("hand_ball", {"mass": {"ball": 0.3}})
    assert np.array_equal(model.home(), hand.home()) and model.text == hand.text
    assert pickle.loads(pickle.dumps(model)).params["mass"].tolist() == [[0.3]]
    with pytest.raises(ValueError, match='did you mean "hand_ball"'):
        ft.Model.load("hand_bal")


def test_mjcf(monkeypatch):
    monkeypatch.chdir(ROOT / "tests/mjcf")
    model = ft.Model.load("actuators.xml")
    assert model.nu > 0
    data = pickle.dumps(model)
    monkeypatch.chdir(ROOT)
    assert pickle.loads(data).u_names == model.u_names


def test_warnings(hand):
    assert all(isinstance(line, str) for line in hand.warnings)


def test_statuses():
    assert tuple(status.name.lower() for status in ft.Status) == ft.STATUSES
    assert [int(status) for status in ft.Status] == list(range(len(ft.STATUSES)))


def test_inverse_kinematics(hand):
    reached = ft.inverse_kinematics(
        hand, hand.home(), [("hand/finger_r_link_2_index4", (0, 0, 0.027), np.array([0.1, 0.02, -0.1]))]
    )
    assert reached.q.shape == (24,) and reached.distances.shape == (1,)
    assert reached.converged == (reached.distances[0] < 1e-6)
    assert np.array_equal(reached.q[:3], hand.home()[:3]) and reached.iterations > 0


@pytest.mark.parametrize("name", sorted(path.name for path in SCENES.glob("*.toml")))
def test_every_scene_steps(name):
    model = ft.Model.load(SCENES / name)
    step = ft.Quasidynamic(model).step(model.home(2), np.tile(model.control(0.0), (2, 1)))
    assert step.q_next.shape == (2, model.nq) and np.isfinite(step.q_next).all()
