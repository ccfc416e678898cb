"""Scenes of MuJoCo's models, and MuJoCo as a plant."""

import pickle
import tomllib

import numpy as np
import pytest
from conftest import ROOT

import fingertip as ft

mujoco = pytest.importorskip("mujoco")

# All but the one that names files which are not there.
FILES = sorted(path for path in (ROOT / "tests" / "mjcf").glob("*.xml") if path.stem != "left_out")
# A tip on two slides pushes a box that slides and turns in the plane.
PUSHER = """
<mujoco model="pusher">
  <option timestep="0.002" gravity="0 0 0"/>
  <worldbody>
    <body name="box" pos="0 0.5 0">
      <joint name="box_x" type="slide" axis="1 0 0" damping="20"/>
      <joint name="box_y" type="slide" axis="0 1 0" damping="20"/>
      <joint name="box_yaw" axis="0 0 1" damping="2"/>
      <geom name="box" type="box" size="0.2 0.2 0.1" mass="1" friction="0.5"/>
    </body>
    <body name="tip" pos="0 0 0">
      <joint name="x" type="slide" axis="1 0 0" range="-2 2" damping="20"/>
      <joint name="y" type="slide" axis="0 1 0" range="-2 2" damping="20"/>
      <geom name="tip" type="sphere" size="0.1" mass="0.2" friction="0.5"/>
      <site name="middle" pos="0 0.1 0"/>
    </body>
  </worldbody>
  <actuator>
    <position name="x" joint="x" kp="100"/>
    <position name="y" joint="y" kp="100"/>
  </actuator>
  <sensor><jointpos joint="x"/></sensor>
</mujoco>
"""
TASK = """
scene = "pusher.xml"
title = "A tip pushes a box of MuJoCo's"
h = 0.02
hold = 5
horizon = 15
kappa = 1e4
iterations = 3
cap = 30
[command]
type = "relative"
bound = 0.1
[goal]
object = "box"
joints = { box_y = 0.3 }
[weights]
joints = 20.0
reach = 0.0
command = 1.0
[weights.terminal]
joints = 2000.0
[success]
joints = 0.05
held = 3
"""


@pytest.fixture(scope="module")
def pusher():
    return mujoco.MjModel.from_xml_string(PUSHER)


def by_name(names, values):
    return dict(zip(names, np.asarray(values).tolist(), strict=True))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_compiled_model_is_its_file(path):
    """What is read from the arrays that MuJoCo compiles is what is read from the file."""
    file, compiled = ft.Model.load(path), mujoco.MjModel.from_xml_path(str(path))
    model = ft.mujoco.from_mujoco(compiled)
    assert model.u_names == file.u_names and model.q_names == file.q_names and model.nc == file.nc
    assert np.allclose(model.home(), file.home(), atol=1e-9)
    assert by_name(model.inertial_names, model.params["mass"][0]) == pytest.approx(by_name(file.inertial_names, file.params["mass"][0]))
    for name in ("stiffness", "spring", "damping", "armature", "gravity", "mu"):
        assert np.allclose(model.params[name], file.params[name], atol=1e-9), name
    q = file.home() + 0.01
    for ours, theirs in zip(model.site_poses(q), file.site_poses(q), strict=True):
        assert np.allclose(ours, theirs, atol=1e-9)


def test_points_are_where_mujoco_has_them(pusher):
    model, random = ft.mujoco.from_mujoco(pusher), np.random.default_rng(2)
    data, places = mujoco.MjData(pusher), ft.mujoco.Places(model, pusher)
    q = random.standard_normal(model.nq)
    data.qpos[:] = places.to_qpos(q)
    mujoco.mj_forward(pusher, data)
    assert model.sites == ["pusher/middle"]
    position, rotation = model.site_poses(q)
    assert np.allclose(position, data.site_xpos) and np.allclose(rotation.reshape(1, 9), data.site_xmat)


def test_what_is_left_out_is_named(pusher):
    model = ft.mujoco.from_mujoco(pusher)
    assert any("sensor" in note for note in model.notes), model.notes
    again = pickle.loads(pickle.dumps(model))
    assert again.q_names == model.q_names and again.text == model.text
    assert np.array_equal(ft.Model.from_mjcf(model.text).home(), model.home())


def test_a_model_of_parts():
    """A specification that was put together has no file."""
    spec = mujoco.MjSpec()
    for name, x in (("left", -0.1), ("right", 0.1)):
        arm = mujoco.MjSpec()
        body = arm.worldbody.add_body(name="link")
        body.add_joint(name="hinge", axis=[0, 0, 1])
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.02, 0, 0], mass=0.1)
        spec.worldbody.add_frame(pos=[x, 0, 0]).attach_body(body, f"{name}_", "")
    model = ft.mujoco.from_mujoco(spec.compile())
    assert [name.split("/")[-1] for name in model.u_names] == ["left_hinge", "right_hinge"]


def test_meshes_are_hulls():
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float) * [0.1, 0.2, 0.3]
    inside = [[0.05, 0.1, 0.1]]
    spec = mujoco.MjSpec()
    spec.add_mesh(name="box", uservert=np.concatenate([corners, inside]).ravel())
    body = spec.worldbody.add_body(name="thing")
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="box", mass=0.5)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], pos=[0, 0, -0.5])
    compiled = spec.compile()
    model = ft.mujoco.from_mujoco(compiled)
    q = model.home()
    # The lowest corner is 0.5 m above the plane, whatever frame MuJoCo gives the mesh.
    assert ft.Quasidynamic(model).step(q, np.zeros(0)).phi.min() == pytest.approx(0.5, abs=1e-6)
    assert model.params["mass"][0, 0] == 0.5


def test_distance_grids_are_refused(tmp_path):
    corners = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    sides = [(1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4)]
    text = [f"v {x} {y} {z}" for x, y, z in corners] + ["f " + " ".join(map(str, side)) for side in sides]
    (tmp_path / "box.obj").write_text("\n".join(text))
    scene = """
[[object]]
name = "box"
mesh = "box.obj"
scale = 0.1
mass = 1
freedom = "free"
{grid}
"""
    ft.mujoco.to_mujoco(ft.Model.from_toml(scene.format(grid=""), tmp_path))
    gridded = ft.Model.from_toml(scene.format(grid="grid = { tolerance = 0.003 }"), tmp_path)
    with pytest.raises(ft.Error, match="expected a model without distance grids"):
        ft.mujoco.to_mujoco(gridded)


def test_mujoco_is_a_plant(pusher, tmp_path):
    """The plan of the model pushes MuJoCo's box to its place."""
    model = ft.mujoco.from_mujoco(pusher)
    (tmp_path / "pusher.xml").write_text(model.text)
    task = ft.Task.from_toml(TASK, tmp_path)
    plant = ft.mujoco.Plant(task, pusher)
    run = ft.mpc.run(task, plant)
    assert run.success, run
    places = plant.places
    assert run.path.shape == (len(run.u) * task.hold + 1, model.nq)
    assert np.array_equal(run.q[-1], plant.data.qpos[places.q]) and plant.data.time == pytest.approx(len(run.u) * task.period)
    assert run.q[-1][task.model.q_names.index("box/box_y")] == pytest.approx(0.3, abs=0.05)
    # Once more from the start it is the same, and the servo of a joint at its command is at rest.
    again = ft.mpc.run(task, plant)
    assert np.array_equal(again.path, run.path)


def test_a_task_of_a_model_of_mujocos(pusher, tmp_path):
    """Without files: the task of the same text, on the plant that it is from."""
    model = ft.mujoco.from_mujoco(pusher)
    (tmp_path / "pusher.xml").write_text(model.text)
    keys = tomllib.loads(TASK)
    del keys["scene"]
    task = ft.Task(model, **keys)
    of_file = ft.Task.from_toml(TASK, tmp_path)
    assert task.model.q_names == model.q_names and np.array_equal(task.model.home(), of_file.model.home())
    runs = [ft.mpc.run(of, ft.mujoco.Plant(of, pusher), each=lambda answer, _: answer.step == 2) for of in (task, of_file)]
    assert np.array_equal(runs[0].u, runs[1].u)
    assert pickle.loads(pickle.dumps(task)).replace(horizon=4).model.text == model.text


def test_places():
    spec = mujoco.MjModel.from_xml_path(str(ROOT / "tests" / "mjcf" / "hand.xml"))
    model = ft.mujoco.from_mujoco(spec)
    places, random = ft.mujoco.Places(model, spec), np.random.default_rng(0)
    qpos = random.standard_normal(spec.nq)
    assert np.array_equal(places.to_qpos(places.to_q(qpos)), qpos)
    ball = model.object("ball")
    # The angular velocity by differences of the rotation.
    data = mujoco.MjData(spec)
    data.qpos[:] = places.to_qpos(model.home())
    data.qpos[places.q[ball.q][3:]] = [0.5, 0.5, -0.5, 0.5]
    before, qvel = data.qpos.copy(), random.standard_normal(spec.nv)
    mujoco.mj_integratePos(spec, data.qpos, qvel, 1e-6)
    v = places.to_v(before, qvel)
    delta = (places.to_q(data.qpos) - places.to_q(before))[ball.q]
    w, x, y, z = before[places.q[ball.q][3:]]
    # q̇ = ½ (0, ω) ⊗ q with ω along the world's axes.
    rate = 0.5 * np.array([[-x, -y, -z], [w, z, -y], [-z, w, x], [y, -x, w]]) @ v[ball.v][3:]
    assert np.allclose(delta[3:] * 1e6, rate, atol=1e-5) and np.allclose(delta[:3] * 1e6, v[ball.v][:3], atol=1e-5)
    with pytest.raises(ft.Error, match='expected a (free body|joint) "'):
        ft.mujoco.Places(ft.Model.load("hand_turn"), spec)
    passive = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body><joint name="a"/><geom size=".1"/></body></worldbody></mujoco>'
    )
    with pytest.raises(ft.Error, match="expected a position actuator"):
        ft.mujoco.Places(ft.mujoco.from_mujoco(passive), passive)


def test_steps_of_mujoco_go_into_the_tasks(pusher, tmp_path):
    (tmp_path / "pusher.xml").write_text(PUSHER)
    task = ft.Task.from_toml(TASK, tmp_path)
    pusher = mujoco.MjModel.from_xml_string(PUSHER.replace("0.002", "0.003"))
    with pytest.raises(ft.Error, match="timestep: expected one of which 0.02 s"):
        ft.mujoco.Plant(task, pusher)


SHIPPED = ["hand_ball", "hand_turn", "allegro_cube", "two_fingers", "tips", "valve", "allegro_capsules", "planar_push", "push_t"]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_scene_in_mujoco(name):
    """Bodies, masses, joints and shapes: MuJoCo's inertia matrix and its distances of geoms are ours, anywhere."""
    model = ft.Model.load(name)
    compiled = ft.mujoco.to_mujoco(model)
    places, data = ft.mujoco.Places(model, compiled), mujoco.MjData(compiled)
    random = np.random.default_rng(3)
    q = model.home() + 0.05 * random.standard_normal(model.nq)
    for thing in {coordinate.split(".")[0] for coordinate in model.q_names if coordinate.endswith(".qw")}:
        at = model.object(thing).q
        q[at][3:] /= np.linalg.norm(q[at][3:])
    data.qpos[:] = places.to_qpos(q)
    mujoco.mj_forward(compiled, data)
    # Gaps of spheres, capsules and planes, and of other shapes without rounded edges.
    phi = ft.Quasidynamic(model).step(q, np.zeros(model.nu)).phi
    between = {}
    for contact, pair in enumerate(model.contact_names):
        between.setdefault(pair, []).append(phi[contact])
    round_ones = (int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_SPHERE), int(mujoco.mjtGeom.mjGEOM_CAPSULE))
    found = {}
    for one, two in zip(compiled.pair_geom1, compiled.pair_geom2, strict=True):
        # Shapes have their places as names, and MuJoCo sorts pairs.
        bodies = frozenset(model.shape_names[int(compiled.geom(geom).name.removeprefix("shape"))] for geom in (one, two))
        is_round = compiled.geom_type[one] in round_ones and compiled.geom_type[two] in round_ones
        gap = mujoco.mj_geomDistance(compiled, data, one, two, 10.0, None) if is_round else np.nan
        found[bodies] = min(found.get(bodies, np.inf), gap) if np.isfinite(gap) else np.nan
    ours = {frozenset(names): min(gaps) for names, gaps in between.items()}
    assert found.keys() == ours.keys()
    assert all(gap == pytest.approx(ours[bodies], abs=1e-6) for bodies, gap in found.items() if np.isfinite(gap))
    # Mᵢⱼ along our v: of hinges, slides, and free bodies with ω along the world's axes.
    theirs = np.zeros((compiled.nv, compiled.nv))
    for row, unit in zip(theirs, np.eye(compiled.nv), strict=True):
        mujoco.mj_mulM(compiled, data, row, unit)
    ours = ft.dynamics.Dynamics(model).mass_matrix(q)
    columns = np.array([places.to_v(data.qpos, column) for column in np.eye(compiled.nv)]).T
    back = np.linalg.inv(columns)
    # Links without mass have 1 mg there. The published inertia of the Allegro's thumb is no body's: MuJoCo changes it.
    tolerance = 2e-5 if name.startswith("allegro") else 4e-6
    assert np.allclose(back.T @ (theirs - np.diag(compiled.dof_armature)) @ back, ours, atol=tolerance)


def test_limits_in_mujoco():
    """Those of hinges are angles in rad, whatever MuJoCo takes by default."""
    compiled = ft.mujoco.to_mujoco(ft.Model.load("allegro_cube"))
    joint = compiled.joint("hand/index_1")
    assert joint.range == pytest.approx([-0.196, 1.61])


def test_links_that_turn_about_their_centres_of_mass_touch_in_mujoco():
    """The Allegro's proximal links do. By MuJoCo's own scale their contacts had no softness, and its solver answered with 10 MN."""
    model = ft.Model.load("allegro_plate")
    compiled = ft.mujoco.to_mujoco(model)
    places, data = ft.mujoco.Places(model, compiled), mujoco.MjData(compiled)
    weights = compiled.body_invweight0[:, 0]
    ones, others = (weights[compiled.geom_bodyid[geoms]] for geoms in (compiled.pair_geom1, compiled.pair_geom2))
    assert (ones + others).min() > 1.0, "1/kg"
    # MuJoCo's own constants, and the softness again.
    before = weights.copy()
    mujoco.mj_setConst(compiled, data)
    assert (compiled.body_invweight0[:, 0] < 1e-6 * before)[before > 0].any()
    ft.mujoco.weigh_contacts(compiled)
    assert np.allclose(compiled.body_invweight0[:, 0], before)
    q = model.home()
    q[model.q_names.index("cube.x")] = 0.5
    data.qpos[:] = places.to_qpos(q)
    # Two bent fingers swing against each other.
    bent = {"hand/index_1": 1.5, "hand/middle_1": 0.9}
    swung = bent | {"hand/index_0": -1.5, "hand/middle_0": 1.5}
    touch, fastest = 0, 0.0
    for command in [bent] * 100 + [swung] * 400:
        data.ctrl[:] = places.to_ctrl([command.get(name, 0.0) for name in model.u_names])
        mujoco.mj_step(compiled, data)
        bodies = ({compiled.body(compiled.geom_bodyid[geom]).name for geom in contact.geom} for contact in data.contact)
        touch += {"hand/index_link_1", "hand/middle_link_1"} in bodies
        fastest = max(fastest, np.abs(data.qvel).max())
    # 140 rad/s where they strike each other. Without softness it is millions.
    assert touch > 0
    assert fastest < 500.0


@pytest.mark.parametrize(("name", "cap"), [("tips_ground", 60), ("planar_push", 120)])
def test_plans_in_mujoco(name, cap):
    """What is planned with the step brings objects to their goals in MuJoCo."""
    task = ft.Task.load(name).replace(cap=cap)
    run = ft.mpc.run(task, ft.mujoco.Plant(task))
    assert run.success, run


ARM = """
<mujoco model="arm"><option gravity="{gravity}"/><worldbody>
  <body name="link" gravcomp="{link}"><joint name="j" axis="0 1 0" damping="0.5" frictionloss="0.01"/>
    <geom type="capsule" fromto="0 0 0 .2 0 0" size=".02" mass="0.35"/>
    <body name="tip" pos=".2 0 0" gravcomp="{tip}"><joint name="k" axis="0 1 0"/><geom size=".02" mass=".1"/></body></body>
  <body name="cube" pos="0 0 -1" gravcomp="{cube}"><freejoint/><geom type="box" size=".02 .02 .02" mass=".1"/></body>
</worldbody><actuator><position joint="j" kp="10"/><position joint="k" kp="10" forcerange="-2 2"/></actuator></mujoco>
"""
WEIGHT = "commanded joints carry these links without their weight, as with gravcomp: "


def arm(gravity="0 0 -9.81", link=0, tip=0, cube=0):
    return mujoco.MjModel.from_xml_string(ARM.format(gravity=gravity, link=link, tip=tip, cube=cube))


def test_what_differs_on_commanded_joints_is_noted():
    """MuJoCo's servos sag under weight and are slowed by damping: who fits masses to it must know that ours are not."""
    notes = ft.mujoco.from_mujoco(arm()).notes
    assert notes == [
        WEIGHT + "link, tip",
        "efforts of joints: commands pull harder if their springs do (params: effort_limits)",
        "damping and armature of commanded joints: no part of the quasi-dynamic step here (params: joint_damping)",
        "dry friction of commanded joints: no part of the quasi-dynamic step here (params: joint_friction)",
    ]
    params = {"joint_damping": True, "joint_friction": True, "effort_limits": True}
    assert ft.mujoco.from_mujoco(arm(), {"params": params}).notes == notes[:1]
    # The same of the file itself.
    assert ft.Model.from_mjcf(ARM.format(gravity="0 0 -9.81", link=0, tip=0, cube=0)).notes == notes
    # Where MuJoCo has no weight either, there is nothing to say.
    assert WEIGHT + "tip" in ft.mujoco.from_mujoco(arm(link=1)).notes
    for same in (arm(link=1, tip=1), arm(gravity="0 0 0")):
        assert not any(WEIGHT in note for note in ft.mujoco.from_mujoco(same).notes)
    with pytest.warns(UserWarning, match="gravcomp left out, weight acts on cube"):
        ft.mujoco.from_mujoco(arm(cube=1))
    assert ft.mujoco.from_mujoco(arm(gravity="0 0 0", cube=1)).warnings == []
    # What pushes bodies through a fluid.
    wet = mujoco.MjModel.from_xml_string(
        '<mujoco><option viscosity="1"/><worldbody><geom size="1 1 1" type="plane"/>'
        '<body pos="0 0 1"><freejoint/><geom size=".1"/></body></worldbody></mujoco>'
    )
    with pytest.warns(UserWarning, match="<option>: viscosity left out"):
        ft.mujoco.from_mujoco(wet)


def test_limits_of_actuators_forces():
    """Only a range that MuJoCo has switched on counts."""
    model = ft.mujoco.from_mujoco(arm())
    sim, q, u = ft.Quasidynamic(model), model.home(), model.home()[[model.joint(name).q.start for name in model.u_names]]
    beyond = sim.beyond_efforts(q, u + 1.0)
    assert [(command, effort) for _, command, _, effort in beyond] == [(model.joint("arm/k").u, 2.0)]


def test_what_is_no_model_of_mujocos(pusher):
    with pytest.raises(ft.Error, match="from_mujoco: expected a compiled mujoco.MjModel, got str; Model.load reads a file"):
        ft.mujoco.from_mujoco("hand.xml")
    with pytest.raises(ft.Error, match=r"got MjSpec; spec.compile\(\) is one"):
        ft.mujoco.from_mujoco(mujoco.MjSpec())
    assert ft.mujoco.Plant("tips_ground").task.title == ft.Task.load("tips_ground").title


@pytest.mark.parametrize("v", [[0.6, -0.8, 0.0], [0.0, 0.0, 12.0]])
def test_what_stands_slides_on_its_table(v):
    """A disc on the scene's table loses μ g of its speed in a second, or μ g m c/I of its turn, in any direction, and stops."""
    scene = """
        [[object]]
        name = "disc"
        freedom = "planar"
        cylinder = [0.05, 0.02]
        mass = 0.5
        table = 0.3
    """
    compiled = ft.mujoco.to_mujoco(ft.Model.from_toml(scene), standing=True)
    data, v = mujoco.MjData(compiled), np.array(v)
    at = [compiled.joint(f"disc.{part}").dofadr[0] for part in ("x", "y", "yaw")]
    for _ in range(300):
        mujoco.mj_step(compiled, data)
    data.qvel[at] = v
    slows = 0.3 * 9.81 * (1.0 if v[2] == 0 else 2 / 3 * 0.05 * 2 / 0.05**2)
    # MuJoCo's contacts carry more than the weight where something has just begun to slide.
    speeds = []
    for _ in range(130):
        mujoco.mj_step(compiled, data)
        speeds.append(np.linalg.norm(data.qvel[at]))
    assert speeds[30] - speeds[130 - 1] == pytest.approx(slows * 99 * compiled.opt.timestep, rel=0.05)
    for _ in range(800):
        mujoco.mj_step(compiled, data)
    assert np.linalg.norm(data.qvel[at]) < 1e-3 * np.linalg.norm(v)


def test_tables_lie_where_gravity_does_not_pull_along_the_plane():
    """A vertical scene has none, a horizontal one that of the call or its own."""
    losses = [ft.mujoco.to_mujoco(ft.Model.load(name)).dof_frictionloss for name in ("box_over", "planar_push", "push_t")]
    assert not losses[0].any()
    assert losses[1].max() == pytest.approx(0.3 * 5.0 * 9.81)
    assert sorted(losses[2])[-2:] == pytest.approx([0.3 * 0.3 * 9.81] * 2)
    assert np.any(np.isclose(losses[2], 0.3 * 0.3 * 9.81 * 0.039905, rtol=1e-4))


TOUCH = """
<mujoco model="lean">
  <option gravity="0 0 -9.81"/>
  <worldbody>
    <body name="left" pos="-0.02 0 0" euler="0 60 0">
      <geom type="box" size="0.03 0.03 0.003" condim="1" friction="0 0 0"/>
      <site name="left" type="box" size="0.03 0.03 0.01"/>
      <site name="edge" type="sphere" size="0.004" pos="0.03 0 0.003"/>
    </body>
    <body name="right" pos="0.02 0 0" euler="0 -30 0">
      <geom type="box" size="0.03 0.03 0.003" condim="1" friction="0 0 0"/>
      <site name="right" type="ellipsoid" size="0.04 0.04 0.01"/>
      <site name="behind" type="sphere" size="0.004" pos="0 0.02 -0.003"/>
    </body>
    <body name="ball" pos="-0.0045 0 0.0032">
      <freejoint/>
      <geom type="sphere" size="0.012" mass="0.1" condim="1" friction="0 0 0"/>
      <site name="around" type="sphere" size="0.02"/>
    </body>
  </worldbody>
  <sensor>
    <touch name="left" site="left"/>
    <touch name="edge" site="edge"/>
    <touch name="right" site="right"/>
    <touch name="behind" site="behind"/>
    <touch name="all" site="around"/>
    <framepos objtype="body" objname="ball"/>
  </sensor>
</mujoco>
"""


def test_touch_sensors():
    """A ball between two plates that lean, at rest in MuJoCo: each sensor is the sum of the pad that it becomes, at MuJoCo's pose."""
    theirs = mujoco.MjModel.from_xml_string(TOUCH)
    data = mujoco.MjData(theirs)
    for _ in range(4000):
        mujoco.mj_step(theirs, data)
    expected = dict(zip(("left", "edge", "right", "behind", "all"), data.sensordata[:5], strict=True))
    weight = 0.981
    # By hand: the ball presses each plate with its weight's part across the other one's slope, for they are at right angles.
    assert expected["left"] == pytest.approx(weight * np.sin(np.pi / 6), rel=1e-6)
    assert expected["right"] == pytest.approx(weight * np.cos(np.pi / 6), rel=1e-6)
    assert expected["edge"] == expected["behind"] == 0.0
    both = [ft.Model.from_mjcf(TOUCH, ".", {"params": {"kappa": 1e6}}), ft.mujoco.from_mujoco(theirs, {"params": {"kappa": 1e6}})]
    for model in both:
        skin = ft.Taxels(model)
        assert list(skin.pads) == list(expected)
        assert "<sensor/framepos>: 1 left out" in model.notes
        sim = ft.Quasidynamic(model)
        q, u = model.home(), model.control(0.0)
        for _ in range(300):
            q = sim.step(q, u).q_next
        # MuJoCo's contacts give way by 0.4 mm by default.
        assert np.allclose(q[:3], data.qpos[:3], atol=5e-4)
        felt = skin.at(q, sim.step(q, u))
        for name, pad in skin.pads.items():
            assert felt[pad].sum() == pytest.approx(expected[name], rel=1e-4, abs=1e-9), name
