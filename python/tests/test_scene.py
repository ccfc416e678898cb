"""Scenes written in Python are those of the same TOML."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, SCENES

import fingertip as ft


def pushed():
    """assets/scenes/push.toml's kind of scene, with values of all kinds."""
    return (
        ft.Scene(kappa=1e5, friction="coulomb", joint_limits=True, h=np.float64(0.02), max_iterations=60)
        .object("box", box=np.array([0.05, 0.04, 0.03]), mass=0.2, freedom="planar", position=(0.4, 0, 0.03))
        .object("grøund", halfspace=[0, 0, 1, 0])
        .robot(
            "arm",
            urdf=Path("planar_arm.urdf"),
            stiffness={"default": 2.0},
            home={"shoulder": -0.4},
            sites=[{"name": 'the "tip"', "at": [0.1, 0, 0]}],
        )
        .pair("arm", "grøund", enabled=False)
        .pair("arm", "box", mu=0.3)
    )


TEXT = """
[params]
kappa = 100000.0
friction = "coulomb"
joint_limits = true
h = 0.02
max_iterations = 60

[[object]]
name = "box"
box = [0.05, 0.04, 0.03]
mass = 0.2
freedom = "planar"
position = [0.4, 0, 0.03]

[[object]]
name = "grøund"
halfspace = [0, 0, 1, 0]

[[robot]]
name = "arm"
urdf = "planar_arm.urdf"
stiffness = { default = 2.0 }
home = { shoulder = -0.4 }
[[robot.sites]]
name = "the \\"tip\\""
at = [0.1, 0, 0]

[[pair]]
a = "arm"
b = "grøund"
enabled = false

[[pair]]
a = "arm"
b = "box"
mu = 0.3
"""


def same(a, b):
    assert a.q_names == b.q_names and a.contact_names == b.contact_names and a.sites == b.sites
    assert a.params.keys() == b.params.keys() and np.array_equal(a.home(), b.home())
    assert all(np.array_equal(a.params[name], b.params[name]) for name in a.params)


def test_it_is_the_scene_of_the_same_text():
    folder = ROOT / "assets" / "robots"
    model = pushed().model(folder)
    same(model, ft.Model.from_toml(TEXT, folder))
    assert model.params["kappa"] == 1e5 and model.nu == 2
    same(pickle.loads(pickle.dumps(model)), model)


def test_a_file(tmp_path):
    path = tmp_path / "scene.toml"
    ft.Scene().object("ball", sphere=0.03, mass=0.1, freedom="free").keyframe(0.5, {}).save(path)
    assert ft.Model.load(path).nq == 7


def test_a_script():
    scene = ft.Scene().robot("arm", urdf="planar_arm.urdf").keyframe(0.0, {"arm/shoulder": 0.0}).keyframe(1.0, {"arm/shoulder": 0.4})
    model = scene.model(ROOT / "assets" / "robots")
    assert model.control(0.5)[model.joint("arm/shoulder").u] == pytest.approx(0.2)


def test_robots_that_ship_are_found(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    model = ft.Scene().robot("hand", urdf="../robots/leap16.urdf").pair("hand", "hand", enabled=False).model()
    assert model.nu == 16


@pytest.mark.parametrize("urdf", ["leap16", "leap16.urdf", "../robots/leap.urdf"])
def test_robots_that_ship_are_named(urdf, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ft.Error, match=r'^robot "hand": .*No such file .*; the package has "\.\./robots/leap16\.urdf"$'):
        ft.Scene().robot("hand", urdf=urdf).model()


TETRAHEDRON = "v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def test_own_meshes_beside_robots_that_ship(monkeypatch, tmp_path):
    """A hand of the package and a mesh of one's own, where the program runs; in tasks, too."""
    monkeypatch.chdir(tmp_path)
    Path("part.obj").write_text(TETRAHEDRON)
    scene = ft.Scene().object("part", mesh="part.obj", mass=0.1, freedom="free", position=[0, 0, 1]).robot("hand", urdf="../robots/leap16.urdf")
    model = scene.model()
    assert model.nu == 16 and model.nq == 23 and "part.obj" in scene.text
    keys = {"command": {"type": "relative", "bound": 0.1}, "goal": {"object": "part", "position": [0, 0, 1]}, "weights": {"position": 1.0}}
    assert ft.Task(scene, **keys).model.nq == 23
    # What is nowhere is named as it was written, and nothing that is there.
    missing = ft.Scene().object("part", mesh="prt.obj", mass=0.1, freedom="free").robot("hand", urdf="../robots/leap16.urdf")
    for work in (missing.model, lambda: ft.Task(missing, **keys), lambda: ft.Model.from_toml(missing.text)):
        with pytest.raises(ft.Error, match=r'^(scene: )?object "part": \./prt\.obj: No such file or directory') as caught:
            work()
        assert "leap16" not in str(caught.value)


def test_misuse():
    with pytest.raises(ft.Error, match=r'home\.a\[1\]: expected a number, a string, .*, got None'):
        ft.Scene().robot("arm", home={"a": [1, None]})
    # The thing is named, and not a line of a text that nobody has written.
    with pytest.raises(ft.Error, match='^object "ball": unknown field `spere`; did you mean `sphere`?'):
        ft.Scene(kappa=1e5).object("ball", spere=0.03).model()
    with pytest.raises(ft.Error, match="^params: unknown field `kapa`"):
        ft.Scene(kapa=1e5).object("ball", sphere=0.03, mass=0.1, freedom="free").model()
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'b'"):
        ft.Scene().pair("arm")


def test_what_ships_can_be_written():
    """Every scene that ships, from the dictionaries that Python's own reader of TOML makes of it."""
    import tomllib

    for path in sorted(SCENES.glob("*.toml")):
        given = tomllib.loads(path.read_text())
        scene = ft.Scene(**given.pop("params", {}))
        for kind in ("robot", "object"):
            for keys in given.pop(kind, []):
                getattr(scene, kind)(**keys)
        for keys in given.pop("pair", []):
            scene.pair(**keys)
        for keys in given.pop("script", []):
            scene.keyframe(**keys)
        if not given:
            same(scene.model(SCENES), ft.Model.load(path))


def test_line():
    assert repr(ft.Scene(kappa=1e5)) == "<fingertip.Scene: empty>"
    assert repr(pushed()) == '<fingertip.Scene: object "box", object "grøund", robot "arm", 2 of [[pair]]>'
