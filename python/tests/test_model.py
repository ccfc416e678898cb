import pickle
import warnings

import numpy as np
import pytest
from conftest import ROOT, SCENES, near_home
from test_gradients import differences, near

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


@pytest.mark.parametrize("name", ft.Model.names())
def test_the_text_of_a_shipped_scene_is_the_scene_anywhere(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    shipped = ft.Model.load(name)
    model = ft.Model.from_toml(shipped.text, shipped.folder)
    assert shipped.folder is None and model.folder is None and np.array_equal(model.home(), shipped.home())
    assert pickle.loads(pickle.dumps(model)).q_names == shipped.q_names


def test_the_text_of_a_tasks_model_is_its_scene(monkeypatch, tmp_path):
    shipped = ft.Task.load("planar_push").model
    monkeypatch.chdir(ROOT)
    own = ft.Task.load("assets/tasks/planar_push.toml").model
    monkeypatch.chdir(tmp_path)
    assert shipped.folder is None and own.folder is not None
    for model in (shipped, own):
        assert ft.Model.from_toml(model.text, model.folder).q_names == shipped.q_names


def test_files_of_texts_without_a_folder(monkeypatch):
    """Where the package has none of that name, they are the user's own."""
    text = (ROOT / "tests/mjcf/hand.urdf").name
    monkeypatch.chdir(ROOT / "tests/mjcf")
    model = ft.Model.from_toml(f'[[robot]]\nname = "r"\nurdf = "{text}"\n')
    assert model.folder == ROOT / "tests/mjcf" and model.nu > 0


def test_sites():
    """A point on a finger: its place and axes by the chain of two turns."""
    model = ft.Model.from_mjcf(
        """<mujoco><worldbody><body name="a" pos="0 0 1"><joint name="a" axis="0 1 0"/><geom size="0.1"/>
        <body name="b" pos="0.5 0 0"><joint name="b" axis="0 0 1"/><geom size="0.1"/><site name="tip" pos="0.25 0 0" euler="90 0 0"/>
        <site name="root"/></body></body></worldbody><sensor><gyro site="tip"/></sensor></mujoco>"""
    )
    tip, root = model.sites
    assert (tip.split("/")[1], root.split("/")[1]) == ("tip", "root")
    a, b = q = np.array([0.3, -0.4])
    about_y = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    about_z = np.array([[np.cos(b), -np.sin(b), 0], [np.sin(b), np.cos(b), 0], [0, 0, 1]])
    position, rotation = model.site_poses(q)
    assert position.shape == (2, 3) and rotation.shape == (2, 3, 3)
    assert np.allclose(position[1], [0, 0, 1] + about_y @ [0.5, 0, 0]) and np.allclose(rotation[1], about_y @ about_z)
    assert np.allclose(position[0], position[1] + about_y @ about_z @ [0.25, 0, 0])
    assert np.allclose(rotation[0], about_y @ about_z @ [[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    batch = model.site_poses(np.tile(q, (3, 1)), [root])
    assert batch[0].shape == (3, 1, 3) and np.array_equal(batch[1][2, 0], rotation[1])
    assert any("sensor" in note for note in model.notes)
    assert ft.Model.load("push").site_poses(ft.Model.load("push").home())[0].shape == (0, 3)


def test_joint_damping():
    model = ft.Model.load("hand_ball")
    assert model.joint_damping is False
    assert ft.Model.load("hand_ball", {"params": {"joint_damping": True}}).joint_damping is True
    assert model.joint_friction is False
    assert ft.Model.load("hand_ball", {"params": {"joint_friction": True}}).joint_friction is True


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


def test_what_a_model_lacks_is_a_warning():
    path = ROOT / "tests" / "mjcf" / "off.xml"
    with pytest.warns(UserWarning, match="off: no link of it has a collision shape, .* `collide = true` takes the 2") as told:
        model = ft.Model.load(path)
    assert len(told) == 1 and str(told[0].message) in model.warnings and told[0].filename == __file__
    # At the line that called the package, however deep that gives it.
    with pytest.warns(UserWarning, match="off: no link") as told:
        ft.Scene().robot("off", mjcf=path).model()
    assert [each.filename for each in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ft.Model.load("hand_ball")
        ft.Model.from_toml(f'[[robot]]\nname = "off"\nmjcf = "{path.name}"\ncollide = true\n', path.parent)


def test_hollow_meshes_of_links_are_noted(tmp_path):
    """Of an object a warning, of a robot's links a note: their hulls touch."""
    corners = [(x, y, z) for z in (0, 1) for x, y in [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]]
    ends = [(1, 2, 3), (1, 3, 4), (1, 4, 5), (1, 5, 6)]
    faces = [end[::-1] for end in ends] + [tuple(i + 6 for i in end) for end in ends]
    for i in range(6):
        a, b = i + 1, (i + 1) % 6 + 1
        faces += [(a, b, b + 6), (a, b + 6, a + 6)]
    lines = [f"v {x / 50} {y / 50} {z / 50}" for x, y, z in corners] + ["f " + " ".join(map(str, face)) for face in faces]
    (tmp_path / "angle.obj").write_text("\n".join(lines))
    link = '<inertial><mass value="1"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial>'
    mesh = '<collision><geometry><mesh filename="angle.obj"/></geometry></collision>'
    joint = '<joint name="j" type="revolute"><parent link="base"/><child link="finger"/><axis xyz="0 0 1"/>'
    joint += '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm"><link name="base"/>{joint}<link name="finger">{link}{mesh}</link></robot>')
    model = ft.Model.from_urdf(tmp_path / "arm.urdf")
    assert model.warnings == [] and "arm: the convex hulls of meshes with hollows touch: finger" in model.notes
    with pytest.warns(UserWarning, match="angle.obj fills 86 % of its convex hull, which is what touches"):
        ft.Scene().object("angle", mesh="angle.obj", mass=0.1, freedom="free").model(tmp_path)


def test_names_and_numbers_that_cannot_be(hand):
    with pytest.raises(ft.Error, match='there is no thing or body "bal"; did you mean "ball"?'):
        hand.contacts_between("bal", "table")
    # A name that is wrong, in a scene whose robot ships.
    text = '[[robot]]\nname = "hand"\nurdf = "../robots/leap16.urdf"\nhome = { nowhere = 1.0 }\n'
    with pytest.raises(ft.Error, match='home: joint "nowhere": there is no joint "nowhere"'):
        ft.Model.from_toml(text)
    for name, value, expected in [
        ("kappa", -1.0, "expected a positive number, got -1e0"),
        ("mass", -0.1, "expected a positive number"),
        ("mu", -0.5, "expected a number from 0 up"),
        ("h", np.nan, "expected a finite number"),
    ]:
        with pytest.raises(ft.Error, match=f"{name}.*{expected}"):
            ft.Quasidynamic(hand, **{name: value})
        with pytest.raises(ft.Error, match=f"{name}.*{expected}"):
            ft.Quasidynamic(hand).with_params(**{name: value})
    # One world of many is told by its status.
    masses = np.tile(hand.params["mass"], (2, 1))
    masses[1] = -1
    step = ft.Quasidynamic(hand, mass=masses).step(hand.home(2), np.tile(hand.control(0.0), (2, 1)))
    assert list(step.ok) == [True, False]


def test_bodies_and_how_they_move(cube):
    """Positions, rotations and Jacobians against differences, sites among them, and their gradients."""
    sim = ft.Quasidynamic(cube)
    q, _ = near_home(cube, 2, size=0.05)
    at = cube.object("cube")
    q[:, at.q][:, 3:] /= np.linalg.norm(q[:, at.q][:, 3:], axis=1, keepdims=True)
    names = cube.body_names
    assert "cube" in names and "hand/index_tip" in names and "world" not in names
    positions, rotations = cube.body_poses(q)
    assert positions.shape == (2, len(names), 3) and rotations.shape == (2, len(names), 3, 3)
    assert np.allclose(positions[:, names.index("cube")], q[:, at.q][:, :3])
    w, x, y, z = q[0, at.q][3:]
    assert np.allclose(rotations[0, names.index("cube"), 0], [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)])
    one, turned = cube.body_poses(q[0], ["hand/index_tip"])
    assert np.array_equal(one[0], positions[0, names.index("hand/index_tip")]) and turned.shape == (1, 3, 3)
    assert sim.model.body_poses(q, [])[0].shape == (2, 0, 3)

    # A point of a fingertip: along each joint by differences; its angular velocity by those of the rotation.
    point = np.array([0.01, -0.02, 0.03])
    jacobian = cube.jacobian(q, "hand/index_tip", point)
    assert jacobian.shape == (2, 6, cube.nv) and np.array_equal(cube.jacobian(q[1], "hand/index_tip", point), jacobian[1])

    def placed(q):
        (at,), (turn,) = cube.body_poses(q, ["hand/index_tip"])
        return at + turn @ point, turn

    for name in cube.u_names:
        joint, step = cube.joint(name), np.zeros(cube.nq)
        step[joint.q] = 1e-6
        (after, turn), (before, back) = placed(q[0] + step), placed(q[0] - step)
        rate = (turn - back) @ turn.T / 2e-6
        spin = [rate[2, 1], rate[0, 2], rate[1, 0]]
        assert np.allclose(jacobian[0, :, joint.v.start], [*(after - before) / 2e-6, *spin], atol=1e-5), name
    # The cube's own point moves with v + ω × r.
    own = cube.jacobian(q[0], "cube", point)[:, at.v]
    r = rotations[0, names.index("cube")] @ point
    cross = np.array([[0, r[2], -r[1]], [-r[2], 0, r[0]], [r[1], -r[0], 0]])
    assert np.allclose(own, np.block([[np.eye(3), cross], [np.zeros((3, 3)), np.eye(3)]]))

    random = np.random.default_rng(0)
    p_bar, r_bar = random.standard_normal(positions.shape), random.standard_normal(rotations.shape)
    cost = lambda q: sum((bar * made).sum() for bar, made in zip((p_bar, r_bar), cube.body_poses(q), strict=True))
    near(cube.body_poses_vjp(q, position_bar=p_bar, rotation_bar=r_bar), differences(cost, q, 1e-6), 1e-6)
    only = cube.body_poses_vjp(q[0], ["cube"], position_bar=[[0.0, 0.0, 1.0]])
    assert only[at.q][2] == 1.0 and np.count_nonzero(only) == 1
    j_bar = random.standard_normal(jacobian.shape)
    cost = lambda q: (j_bar * cube.jacobian(q, "hand/index_tip", point)).sum()
    near(cube.jacobian_vjp(q, "hand/index_tip", j_bar, point), differences(cost, q, 1e-6), 1e-6)


def test_sites_move(hand):
    model = ft.Model.load("leap_cube")
    q, site = model.home(), model.sites[0]
    position, _ = model.site_poses(q, [site])
    bar = np.array([[1.0, -2.0, 0.5]])
    by_q = model.site_poses_vjp(q, [site], position_bar=bar)
    joints = [model.joint(name) for name in model.u_names]
    moves = model.jacobian(q, site)
    assert np.allclose([by_q[joint.q] for joint in joints], [[bar[0] @ moves[:3, joint.v.start]] for joint in joints])
    with pytest.raises(ft.Error, match='there is no body or site "hand/tipp"'):
        model.jacobian(q, "hand/tipp")
    with pytest.raises(ft.Error, match='there is no body "ball2"; did you mean "ball"'):
        hand.body_poses(hand.home(), ["ball2"])
    with pytest.raises(ft.Error, match=r"position_bar: expected shape \(1, 3\)"):
        hand.body_poses_vjp(hand.home(), ["ball"], position_bar=np.zeros(3))
