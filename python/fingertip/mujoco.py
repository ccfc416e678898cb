"""MuJoCo's models as scenes, and MuJoCo as the plant of a task.

    scene = mujoco.MjModel.from_xml_path("hand.xml")  # or compiled from an MjSpec
    model = fingertip.mujoco.from_mujoco(scene)
    run = fingertip.mpc.run(task, fingertip.mujoco.Plant(task, scene))

What was compiled counts, so that any model will do that MuJoCo has in memory: `mujoco.MjSpec`'s with attached parts, or those of a
file that this library does not read as it stands. The module needs the package `mujoco`.
"""

from __future__ import annotations

import itertools
import os
import re
from typing import Any, TypeAlias
from xml.etree import ElementTree

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._fingertip import Episode, Error, Model, Task, _parts

__all__ = ["Places", "Plant", "from_mujoco", "to_mjcf", "to_mujoco", "weigh_contacts"]

_Array: TypeAlias = NDArray[np.float64]

_JOINTS = ["free", "ball", "slide", "hinge"]
_FREE, _BALL, _SLIDE, _HINGE = range(4)
_GEOMS = ["plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf"]
_MESH = _GEOMS.index("mesh")
# How many sizes a geom's kind has.
_SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3, "plane": 3}
_TARGETS = {0: "joint", 1: "jointinparent", 2: "cranksite", 3: "tendon", 4: "site", 5: "body"}
_EQUALITIES = ["connect", "weld", "joint", "tendon"]
_OF_JOINT = int(mujoco.mjtWrap.mjWRAP_JOINT)
# A centre of mass with less than this share of its shape's inverse inertia is held by the joints' axes.
_HELD = 1e-6
# How many feet a body in the plane stands on, and their radius, m.
_FEET, _FOOT = 8, 0.002
# What has no place in a scene, by MuJoCo's count and its element: the reader's notes say that it was left out.
_OTHERS = {"nflex": "deformable", "nskin": "deformable", "nplugin": "extension", "ntuple": "custom"}


def from_mujoco(model: Any, overrides: dict[str, Any] | str | None = None) -> Model:
    """The scene of a compiled `mujoco.MjModel`: its bodies, joints, collision shapes, actuators, tendons, keyframe and gravity, as
    `docs/mjcf.md` of the repository says. `Model.notes` names what was left out. The model pickles without files.

    q has the model's own order: `Places` goes from MuJoCo's and back. `overrides` are those of `Model.load`."""
    if not isinstance(model, mujoco.MjModel):
        how = "spec.compile() is one" if isinstance(model, mujoco.MjSpec) else "Model.load reads a file"
        raise Error(f"from_mujoco: expected a compiled mujoco.MjModel, got {type(model).__name__}; {how}")
    try:
        return Model.from_mjcf(to_mjcf(model), ".", overrides)
    except Error as error:
        # Lines of a text that nobody has written.
        raise Error(re.sub(r"MJCF: line \d+: ", "", str(error))) from None


def to_mjcf(model: Any) -> str:
    """A compiled `mujoco.MjModel` as MJCF in one text without other files: what `from_mujoco` reads. Meshes are their convex hulls,
    which are what touches; what touches nothing, textures, cameras and lights are not in it."""
    text: str = ElementTree.tostring(_Writer(model).root, encoding="unicode")
    return text


def _name(model: Any, kind: str, index: int) -> str:
    """A thing's name; what has none gets one from its place."""
    return model.__getattribute__(kind)(int(index)).name or f"{kind}{index}"


def _numbers(values: ArrayLike) -> str:
    return " ".join(repr(float(value)) for value in np.ravel(values))


class _Writer:
    """Elements of a compiled model."""

    def __init__(self, model: Any) -> None:
        self.model = model
        title = model.names.split(b"\0", 1)[0].decode()
        self.root = ElementTree.Element("mujoco", model=title or "robot")
        self.add(self.root, "compiler", angle="radian", autolimits="false", inertiafromgeom="false")
        # What pushes bodies through a fluid is named as left out.
        fluid = {"density": model.opt.density, "viscosity": model.opt.viscosity, "wind": model.opt.wind}
        self.add(self.root, "option", gravity=model.opt.gravity, **{key: value for key, value in fluid.items() if np.any(value)})
        self.meshes: dict[int, str] = {}
        self.asset = self.add(self.root, "asset")
        world = self.add(self.root, "worldbody")
        elements = {0: world}
        for body in range(model.nbody):
            if body:
                elements[body] = self.body(elements[int(model.body_parentid[body])], body)
            self.inside(elements[body], body)
        self.tendons()
        self.actuators()
        self.contact()
        self.equality()
        if model.nkey:
            names = [model.key(key).name for key in range(model.nkey)]
            key = names.index("home") if "home" in names else 0
            keyframe = self.add(self.root, "keyframe")
            self.add(keyframe, "key", name=names[key], qpos=model.key_qpos[key], ctrl=model.key_ctrl[key])
        self.sensors()
        for count, element in _OTHERS.items():
            for _ in range(getattr(model, count, 0)):
                self.add(self.root, element)

    def add(self, to: Any, tag: str, **attributes: Any) -> Any:
        """An element with attributes: texts, numbers or rows of them; None is left out."""
        given = {name: value for name, value in attributes.items() if value is not None}
        texts = {name: value if isinstance(value, str) else _numbers(value) for name, value in given.items()}
        return ElementTree.SubElement(to, tag, texts)

    def sensors(self) -> None:
        """Touch sensors with their sites; of the others what the reader's notes name."""
        model = self.model
        section = self.add(self.root, "sensor") if model.nsensor else None
        for sensor in range(model.nsensor):
            kind = mujoco.mjtSensor(model.sensor_type[sensor]).name.removeprefix("mjSENS_").lower()
            name, site = _name(model, "sensor", sensor), None
            if kind == "touch":
                site = _name(model, "site", model.sensor_objid[sensor])
            self.add(section, kind, name=name, site=site)

    def body(self, parent: Any, body: int) -> Any:
        model = self.model
        name, mocap = _name(model, "body", body), "true" if model.body_mocapid[body] >= 0 else None
        gravcomp = model.body_gravcomp[body] or None
        made = self.add(
            parent, "body", name=name, pos=model.body_pos[body], quat=model.body_quat[body], mocap=mocap, gravcomp=gravcomp
        )
        if model.body_mass[body] > 0:
            place = {"pos": model.body_ipos[body], "quat": model.body_iquat[body]}
            self.add(made, "inertial", mass=model.body_mass[body], diaginertia=model.body_inertia[body], **place)
        return made

    def inside(self, element: Any, body: int) -> None:
        model = self.model
        for joint in range(model.njnt):
            if model.jnt_bodyid[joint] == body:
                self.joint(element, joint)
        for geom in range(model.ngeom):
            if model.geom_bodyid[geom] == body and self.touches(geom):
                self.geom(element, geom)
        for site in range(model.nsite):
            if model.site_bodyid[site] == body:
                name, pose = _name(model, "site", site), {"pos": model.site_pos[site], "quat": model.site_quat[site]}
                kind = mujoco.mjtGeom(model.site_type[site]).name.removeprefix("mjGEOM_").lower()
                self.add(element, "site", name=name, type=kind, size=model.site_size[site], **pose)

    def touches(self, geom: int) -> bool:
        model = self.model
        is_paired = geom in model.pair_geom1 or geom in model.pair_geom2
        return bool(model.geom_contype[geom] or model.geom_conaffinity[geom] or is_paired)

    def joint(self, element: Any, joint: int) -> None:
        model = self.model
        name, kind = _name(model, "joint", joint), int(model.jnt_type[joint])
        if kind == _FREE:
            self.add(element, "freejoint", name=name)
            return
        q, v = model.jnt_qposadr[joint], model.jnt_dofadr[joint]
        curved = np.any(getattr(model, "jnt_stiffnesspoly", np.zeros(1))[joint : joint + 1])
        self.add(
            element,
            "joint",
            name=name,
            type=_JOINTS[kind],
            pos=model.jnt_pos[joint],
            axis=model.jnt_axis[joint],
            range=model.jnt_range[joint],
            limited=_truth(model.jnt_limited[joint]),
            ref=model.qpos0[q],
            stiffness=np.ravel(model.jnt_stiffness[joint])[0] or None,
            springref=model.qpos_spring[q],
            damping=np.ravel(model.dof_damping[v])[0] or None,
            armature=model.dof_armature[v] or None,
            frictionloss=model.dof_frictionloss[v] or None,
            actuatorfrcrange=model.jnt_actfrcrange[joint] if model.jnt_actfrclimited[joint] else None,
            # No name of MuJoCo's: so that the notes say it.
            stiffnesspoly="yes" if curved else None,
        )

    def geom(self, element: Any, geom: int) -> None:
        model = self.model
        kind = _GEOMS[int(model.geom_type[geom])] if model.geom_type[geom] < len(_GEOMS) else "sdf"
        mesh = self.mesh(int(model.geom_dataid[geom])) if kind == "mesh" else None
        size = model.geom_size[geom][: _SIZES[kind]] if kind in _SIZES else None
        if kind == "plane":
            # Endless, as it is in contact.
            size = [0.0, 0.0, 1.0]
        self.add(
            element,
            "geom",
            name=_name(model, "geom", geom),
            type=kind,
            mesh=mesh,
            size=size,
            pos=model.geom_pos[geom],
            quat=model.geom_quat[geom],
            mass="0",
            contype=str(model.geom_contype[geom]),
            conaffinity=str(model.geom_conaffinity[geom]),
            condim=str(model.geom_condim[geom]),
            priority=str(model.geom_priority[geom]),
            friction=model.geom_friction[geom],
            rgba=model.geom_rgba[geom],
        )

    def mesh(self, mesh: int) -> str:
        """The name of a mesh's convex hull."""
        if mesh not in self.meshes:
            model = self.model
            first, graph = int(model.mesh_vertadr[mesh]), int(model.mesh_graphadr[mesh])
            vertices = model.mesh_vert[first : first + int(model.mesh_vertnum[mesh])]
            if graph >= 0:
                # A hull: the numbers of its vertices and faces, a place for each vertex, and its vertices.
                n = int(model.mesh_graph[graph])
                vertices = vertices[model.mesh_graph[graph + 2 + n : graph + 2 + 2 * n]]
            self.meshes[mesh] = _name(model, "mesh", mesh)
            self.add(self.asset, "mesh", name=self.meshes[mesh], vertex=vertices)
        return self.meshes[mesh]

    def tendons(self) -> None:
        model, section = self.model, self.add(self.root, "tendon")
        for tendon in range(model.ntendon):
            wraps = range(int(model.tendon_adr[tendon]), int(model.tendon_adr[tendon] + model.tendon_num[tendon]))
            name = _name(model, "tendon", tendon)
            if any(model.wrap_type[wrap] != _OF_JOINT for wrap in wraps):
                self.add(section, "spatial", name=name)
                continue
            made = self.add(section, "fixed", name=name)
            for wrap in wraps:
                self.add(made, "joint", joint=_name(model, "joint", model.wrap_objid[wrap]), coef=model.wrap_prm[wrap])

    def actuators(self) -> None:
        model, section = self.model, self.add(self.root, "actuator")
        for actuator in range(_n_actuators(model)):
            target = _TARGETS.get(int(model.actuator_trntype[actuator]), "body")
            kind = {"jointinparent": "joint", "cranksite": "site"}.get(target, target)
            control = _control(model, actuator)
            dynamics, bias = int(model.actuator_dyntype[actuator]), int(model.actuator_biastype[actuator])
            words = ["none", "integrator", "filter", "filterexact", "muscle"]
            self.add(
                section,
                "general",
                name=_name(model, "actuator", actuator),
                gear=model.actuator_gear[actuator],
                # Only what somebody wrote is left out with a note.
                dyntype=(words[dynamics] if dynamics < len(words) else "user") if dynamics else None,
                biastype=["none", "affine", "muscle"][bias] if bias < 3 else "user",
                gaintype="fixed" if model.actuator_gaintype[actuator] == 0 else "affine",
                gainprm=model.actuator_gainprm[actuator],
                biasprm=model.actuator_biasprm[actuator],
                ctrllimited=_truth(model.actuator_ctrllimited[control]),
                ctrlrange=model.actuator_ctrlrange[control],
                forcelimited=_truth(model.actuator_forcelimited[actuator]),
                forcerange=model.actuator_forcerange[actuator],
                **{target: _name(model, kind, model.actuator_trnid[actuator, 0])},
            )

    def contact(self) -> None:
        model, section = self.model, self.add(self.root, "contact")
        body = lambda index: _name(model, "body", index) if index else "world"
        for signature in map(int, model.exclude_signature):
            self.add(section, "exclude", body1=body(signature >> 16), body2=body(signature & 0xFFFF))
        for pair in range(model.npair):
            one, two = (_name(model, "geom", of[pair]) for of in (model.pair_geom1, model.pair_geom2))
            friction = {"condim": str(model.pair_dim[pair]), "friction": model.pair_friction[pair]}
            self.add(section, "pair", geom1=one, geom2=two, **friction)

    def equality(self) -> None:
        model, section = self.model, self.add(self.root, "equality")
        for equality in range(model.neq):
            kind = int(model.eq_type[equality])
            tag = _EQUALITIES[kind] if kind < len(_EQUALITIES) else "flex"
            if tag in ("connect", "weld"):
                self.add(section, tag, **self.joining(equality, tag))
                continue
            if tag != "joint":
                self.add(section, tag)
                continue
            follower, leader = int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])
            self.add(
                section,
                "joint",
                joint1=_name(model, "joint", follower),
                joint2=_name(model, "joint", leader) if leader >= 0 else None,
                polycoef=model.eq_data[equality][:5],
                active=_truth(model.eq_active0[equality]),
            )


    def joining(self, equality: int, tag: str) -> dict[str, Any]:
        """What holds two bodies, or two sites, together."""
        model = self.model
        is_site = model.eq_objtype[equality] == mujoco.mjtObj.mjOBJ_SITE
        ends = int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])
        active = {"active": _truth(model.eq_active0[equality])}
        if is_site:
            one, two = (_name(model, "site", end) for end in ends)
            return {"site1": one, "site2": two, **active}
        one, two = (_name(model, "body", end) if end else "world" for end in ends)
        data = model.eq_data[equality]
        pose = {"relpose": data[3:10]} if tag == "weld" else {}
        return {"body1": one, "body2": two, "anchor": data[:3], **pose, **active}


def _truth(value: Any) -> str:
    return "true" if value else "false"


def _n_actuators(model: Any) -> int:
    """Actuators; before MuJoCo 4 each had one control."""
    return int(getattr(model, "nactuator", model.nu))


def _control(model: Any, actuator: int) -> int:
    """Where an actuator's control is in `ctrl`."""
    return int(model.actuator_ctrladr[actuator]) if hasattr(model, "actuator_ctrladr") else actuator


def to_mujoco(
    model: Model, *, timestep: float = 0.001, contact: float = 0.004, impratio: float = 10.0, table: float = 0.3, standing: bool = False
) -> Any:
    """A model as a `mujoco.MjModel`: bodies, joints, shapes, servos, and the pairs that may touch with their friction. `Places` fits it.

    What the quasi-dynamic step does not have is chosen here. Joints are position servos with the model's stiffness, damped critically. What
    commands carry has no weight (`gravcomp`). Contacts have the time constant `contact`, s, elliptic cones and `impratio`, which
    keeps grips from creeping. Objects in the plane rub on the model's own tables, or, where gravity does not pull along the plane, on one of
    the friction `table`: dry friction by axis, each on its own. With `standing` they stand on it by eight feet on a ring of the table's
    radius, whose friction is one force against the motion. A scene without gravity has 9.81 m/s² for that.
    What MuJoCo scales contacts by, `body_invweight0`, is set where no joint moves a body's centre of mass: `mj_setConst` undoes that, and
    `weigh_contacts` sets it again.
    Edges are not rounded, and limits of joints act. A mesh with a distance grid is an error: MuJoCo touches hulls and parts of meshes."""
    parts, params = _parts(model), model.params
    if any(kind == "grid" for _, kind, _, _ in parts["shapes"]):
        raise Error("to_mujoco: expected a model without distance grids, which MuJoCo lacks: leave out `grid`, and use `decompose`")
    spec = mujoco.MjSpec()
    # Ranges and springs' rests of hinges are in rad.
    spec.compiler.degree = False
    gravity = np.array(params["gravity"][0])
    pull, tables = abs(gravity[2]) or 9.81, _tables(parts, params, table)
    if standing and tables:
        gravity[2] = gravity[2] or -pull
    spec.option.timestep, spec.option.gravity = timestep, gravity
    spec.option.cone, spec.option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, impratio
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    # Links between joints may have no mass, and published inertias may be no body's.
    spec.compiler.boundmass, spec.compiler.boundinertia, spec.compiler.balanceinertia = 1e-6, 1e-9, True
    masses = dict(zip(model.inertial_names, params["mass"][0], strict=True))
    inertias = dict(zip(model.inertial_names, params["inertia"][0].reshape(-1, 6), strict=True))
    made, joints = [spec.worldbody], {joint["body"]: joint for joint in parts["joints"]}
    for index, body in enumerate(parts["bodies"][1:], 1):
        name, pose = body["name"], np.array(body["pose"])
        here = made[body["parent"]].add_body(name=name, pos=pose[:3], quat=pose[3:])
        made.append(here)
        here.gravcomp = 0.0 if name in masses else 1.0
        if body["inertia"] is not None:
            mass, com, matrix = body["inertia"]
            (xx, xy, xz), (_, yy, yz), (*_, zz) = matrix
            here.mass, here.fullinertia = masses.get(name, mass), inertias.get(name, [xx, yy, zz, xy, xz, yz])
            here.ipos, here.explicitinertial = com, True
        stands = standing and index in tables
        if stands:
            _stand(spec, here, body, tables[index], np.sign(gravity[2]), contact)
        rubs, radius = (0.0, 0.0) if stands else tables.get(index, (0.0, 0.0))
        _add_joints(spec, here, body, joints.get(index), parts, (rubs * pull, radius))
    _add_servos(spec, parts, params["stiffness"][0])
    for number, (body, kind, sizes, pose) in enumerate(parts["shapes"]):
        _add_shape(spec, made[body], number, kind, sizes, np.array(pose))
    torsion = dict(zip(parts["torsional"], params["torsion"][0], strict=True))
    for number, ((a, b), mu) in enumerate(zip(parts["pairs"], params["mu"][0], strict=True)):
        spin = torsion.get(number, 0.0)
        friction, names = [mu, mu, spin, 0.0, 0.0], {"geomname1": f"shape{a}", "geomname2": f"shape{b}"}
        spec.add_pair(condim=4 if spin > 0 else 3, friction=friction, solref=[contact, 1.0], **names)
    compiled = spec.compile()
    weigh_contacts(compiled)
    return compiled


def _tables(parts: Any, params: Any, table: float) -> dict[int, tuple[float, float]]:
    """Friction and radius of the tables under bodies in the plane, by index of the body."""
    own = zip(params["table_friction"][0], params["table_radius"][0], strict=True)
    given = {joint["body"]: next(own) for joint in parts["joints"] if joint["table"] is not None}
    found: dict[int, tuple[float, float]] = {}
    for index, body in enumerate(parts["bodies"]):
        if body["kind"] == "Planar" and index in given:
            found[index] = (float(given[index][0]), float(given[index][1]))
        elif body["kind"] == "Planar" and table > 0 and not np.any(params["gravity"][0][:2]):
            # A radius of two thirds of the largest of its shapes.
            sizes = [max(shape[2], default=0.0) for shape in parts["shapes"] if shape[0] == index]
            found[index] = (table, 2 / 3 * max(sizes, default=0.0))
    return found


def _stand(spec: Any, to: Any, body: Any, table: tuple[float, float], down: float, contact: float) -> None:
    """Feet of a body in the plane, which its weight loads: all at the height of its centre of mass, where nothing tips, and touching their ground alone."""
    (friction, radius), name = table, body["name"]
    (x, y, z), height = body["inertia"][1], np.array(body["pose"])[2]
    to.add_joint(name=f"{name}.height", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0.0, 0.0, 1.0])
    ground = spec.worldbody.add_geom(name=f"{name}.ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[2.0, 2.0, 0.1])
    ground.pos, ground.contype, ground.conaffinity = [0.0, 0.0, height + z + down * _FOOT], 0, 0
    if down > 0:
        ground.quat = [0.0, 1.0, 0.0, 0.0]
    for k, turn in enumerate(np.arange(_FEET) * (2 * np.pi / _FEET)):
        place, foot = [x + radius * np.cos(turn), y + radius * np.sin(turn), z], f"{name}.foot{k}"
        to.add_geom(name=foot, type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[_FOOT, 0.0, 0.0], pos=place, mass=0, contype=0, conaffinity=0)
        spec.add_pair(
            geomname1=ground.name, geomname2=foot, condim=3, friction=[friction, friction, 0.0, 0.0, 0.0], solref=[contact, 1.0]
        )


def weigh_contacts(model: Any) -> None:
    """MuJoCo makes contacts as soft as the inverse inertia that it finds at bodies' centres of mass is large, at home. Where no joint moves that
    point, this is zero, and a contact of two such bodies is so hard that the solver fails. Such bodies get the inverse inertia of their shapes."""
    home = mujoco.MjData(model)
    mujoco.mj_forward(model, home)
    for geom, body in enumerate(model.geom_bodyid):
        moved, along = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jac(model, home, moved, None, home.geom_xpos[geom], body)
        mujoco.mj_solveM(model, home, along, moved)
        at_shape = np.sum(moved * along) / 3
        if model.body_invweight0[body, 0] < _HELD * at_shape:
            model.body_invweight0[body, 0] = at_shape


def _add_joints(spec: Any, to: Any, body: Any, own: Any, parts: Any, table: tuple[float, float]) -> None:
    """A body's joint. An object in the plane rubs by axis with this force for each of its kilograms, N/kg, about z at this radius, m."""
    slide, hinge = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE
    kind, axis, x, y, z = body["kind"], body["axis"], *np.eye(3)
    if kind == "Fixed":
        return
    if kind == "Floating":
        if body["parent"] != 0 or not np.allclose(body["pose"], [0, 0, 0, 1, 0, 0, 0]):
            raise Error(f'{body["name"]}: expected a floating body on the world itself')
        to.add_freejoint(name=own["name"])
    elif kind in ("Planar", "Translation"):
        if kind == "Planar" and not np.allclose(axis, z):
            raise Error(f'{body["name"]}: expected motion in the plane of x and y, got the axis {axis}')
        turned = np.zeros(9)
        mujoco.mju_quat2Mat(turned, np.array(body["pose"][3:]))
        # Translation is along the parent's axes, and MuJoCo's axes are the body's.
        x, y, other = np.eye(3) if kind == "Planar" else turned.reshape(3, 3)
        last = ("yaw", hinge, z) if kind == "Planar" else ("z", slide, other)
        for part, of, along in (("x", slide, x), ("y", slide, y), last):
            joint = to.add_joint(name=f"{own['name']}.{part}", type=of, axis=along)
            if kind == "Planar":
                friction, radius = table
                joint.frictionloss = friction * to.mass * (radius if of == hinge else 1.0)
    else:
        joint = to.add_joint(name=own["name"] if own else body["name"], type=slide if kind == "Prismatic" else hinge, axis=axis)
        if own is None:
            # It follows another joint.
            leader = next(joint["name"] for joint in parts["joints"] if parts["bodies"][joint["body"]]["q"] == body["q"])
            ratio, shift = body["follows"]
            equality = spec.add_equality(name=joint.name, type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT)
            equality.name1, equality.name2, equality.data[:2] = joint.name, leader, [shift, ratio]
            return
        if own["limits"] is not None:
            joint.limited, joint.range = mujoco.mjtLimited.mjLIMITED_TRUE, own["limits"]
        stiffness, rest = own["spring"]
        joint.springref, joint.armature = rest, own["armature"]
        joint.stiffness = _linear(joint.stiffness, stiffness)
        # Damping of a commanded joint is its servo's.
        joint.damping = _linear(joint.damping, own["damping"] if own["u"] is None else 0.0)


def _linear(like: Any, value: float) -> Any:
    """A coefficient as this MuJoCo has it: a number, or the first of a polynomial's."""
    return value if np.ndim(like) == 0 else value * (np.arange(np.size(like)) == 0)


def _add_servos(spec: Any, parts: Any, stiffness: _Array) -> None:
    for joint in sorted((joint for joint in parts["joints"] if joint["u"] is not None), key=lambda joint: joint["u"]):
        target, kind = joint["name"], mujoco.mjtTrn.mjTRN_JOINT
        if joint["others"]:
            tendon, kind = spec.add_tendon(name=target), mujoco.mjtTrn.mjTRN_TENDON
            tendon.wrap_joint(target, 1.0)
            for other, ratio in joint["others"]:
                tendon.wrap_joint(parts["joints"][other]["name"], ratio)
        servo = spec.add_actuator(name=target, target=target, trntype=kind)
        servo.set_to_position(kp=stiffness[joint["u"]], dampratio=1.0)
        if np.isfinite(joint["effort"]):
            servo.forcelimited, servo.forcerange = mujoco.mjtLimited.mjLIMITED_TRUE, [-joint["effort"], joint["effort"]]


def _add_shape(spec: Any, body: Any, number: int, kind: str, sizes: list[float], pose: _Array) -> None:
    """A geom without mass that touches only what a pair names."""
    word = {"halfspace": "plane", "hull": "mesh"}.get(kind, kind)
    given = {"type": getattr(mujoco.mjtGeom, f"mjGEOM_{word.upper()}"), "pos": pose[:3], "quat": pose[3:]}
    if kind == "hull":
        spec.add_mesh(name=f"hull{number}", uservert=sizes)
        given["meshname"] = f"hull{number}"
    else:
        # A plane is endless in contact; its size is for pictures.
        given["size"] = [2.0, 2.0, 0.1] if kind == "halfspace" else [*sizes, 0.0, 0.0][:3]
    body.add_geom(name=f"shape{number}", mass=0, contype=0, conaffinity=0, **given)


class Places:
    """Where a model's q, v and u are in a MuJoCo model's `qpos`, `qvel` and `ctrl`: found by name. A joint `"hand/thumb1"` is MuJoCo's
    joint `thumb1`, or the one of the whole name; a free object `"ball"` the free joint of the body `ball`. A model of `from_mujoco` fits the
    one that it is from; any other whose joints have the same names fits as well."""

    def __init__(self, model: Model, of: Any) -> None:
        self.model, self.of = model, of
        joints = {_name(of, "joint", joint): joint for joint in range(of.njnt)}
        free = {_name(of, "body", of.jnt_bodyid[j]): j for j in range(of.njnt) if of.jnt_type[j] == _FREE}
        # Of each joint ours and MuJoCo's, with its place in q and v.
        self._free: list[tuple[slice, slice, int, int]] = []
        q: list[int] = []
        v: list[int] = []
        for name, group in itertools.groupby(model.q_names, self._thing):
            names = list(group)
            if len(names) == 7:
                if name not in free and name not in joints:
                    raise Error(f'places: expected a free body "{name}" in the MuJoCo model; there are {", ".join(free) or "none"}')
                joint, place = free.get(name, joints.get(name)), model.object(name)
                at_q, at_v = int(of.jnt_qposadr[joint]), int(of.jnt_dofadr[joint])
                self._free.append((place.q, place.v, at_q, at_v))
                q.extend(range(at_q, at_q + 7))
                v.extend(range(at_v, at_v + 6))
                continue
            for own in names:
                joint = joints.get(own, joints.get(own.split("/", 1)[-1]))
                if joint is None or of.jnt_type[joint] not in (_SLIDE, _HINGE):
                    raise Error(f'places: expected a joint "{own}" in the MuJoCo model; there are {", ".join(joints) or "none"}')
                q.append(int(of.jnt_qposadr[joint]))
                v.append(int(of.jnt_dofadr[joint]))
        self.q = np.array(q)
        """For each number of q its place in `qpos` (nq,)."""
        self.v = np.array(v)
        """For each number of v its place in `qvel` (nv,)."""
        found = [self._servo(name, joints) for name in model.u_names]
        self.ctrl = np.array([control for control, _, _ in found], np.int64)
        """For each command its place in `ctrl` (nu,)."""
        self._gain: _Array = np.array([gain for _, gain, _ in found])
        self._bias: _Array = np.array([bias for _, _, bias in found])

    def _thing(self, name: str) -> str:
        """The joint or object that a number of q belongs to."""
        try:
            return self.model.joint(name).name
        except Error:
            return name.rsplit(".", 1)[0]

    def _servo(self, name: str, joints: dict[str, int]) -> tuple[int, float, float]:
        """The control of a commanded joint's actuator, and what it is for a command: ctrl = gain u + bias."""
        of = self.of
        joint = joints.get(name, joints.get(name.split("/", 1)[-1], -1))
        for actuator in range(_n_actuators(of)):
            target, index = int(of.actuator_trntype[actuator]), int(of.actuator_trnid[actuator, 0])
            if target == 3:
                # A tendon's command is that of the first of its joints.
                index = int(of.wrap_objid[of.tendon_adr[index]])
            gain, bias = of.actuator_gainprm[actuator], of.actuator_biasprm[actuator]
            is_servo = of.actuator_dyntype[actuator] == 0 and of.actuator_biastype[actuator] == 1 and gain[0] > 0 > bias[1]
            if target in (0, 1, 3) and index == joint and is_servo:
                # At rest gain · ctrl + bias₀ + bias₁ · gear · q is 0 at q = u.
                return _control(of, actuator), -bias[1] * of.actuator_gear[actuator, 0] / gain[0], -bias[0] / gain[0]
        raise Error(f'places: expected a position actuator of the joint "{name}" in the MuJoCo model, got none')

    def to_q(self, qpos: ArrayLike) -> _Array:
        """q (nq,) of MuJoCo's `qpos`."""
        return np.asarray(qpos, np.float64)[self.q]

    def to_v(self, qpos: ArrayLike, qvel: ArrayLike) -> _Array:
        """v (nv,) of MuJoCo's `qvel`, whose angular velocities of free bodies are along the bodies' axes."""
        given, turned = np.asarray(qvel, np.float64), np.asarray(qvel, np.float64)[self.v]
        for _, v, at_q, at_v in self._free:
            world = np.zeros(3)
            mujoco.mju_rotVecQuat(world, given[at_v + 3 : at_v + 6], np.asarray(qpos, np.float64)[at_q + 3 : at_q + 7])
            turned[v.start + 3 : v.stop] = world
        return turned

    def to_qpos(self, q: ArrayLike) -> _Array:
        """MuJoCo's `qpos` of q (nq,); what the model does not have is where it is in `qpos0`."""
        qpos: _Array = self.of.qpos0.copy()
        qpos[self.q] = q
        return qpos

    def to_ctrl(self, u: ArrayLike) -> _Array:
        """MuJoCo's `ctrl` of the command u (nu,); the controls of other actuators are 0."""
        ctrl = np.zeros(self.of.nu)
        ctrl[self.ctrl] = self._gain * np.asarray(u, np.float64) + self._bias
        return ctrl


class Plant:
    """MuJoCo as the plant of a task, or of that of a file or name, for `fingertip.mpc.run`: it is called with q and the command u (nu,), steps MuJoCo for a
    control period, and returns its states (hold, nq) and its velocity (nv,). The state between calls is MuJoCo's own, in `data`.

    `model` is a MuJoCo model, or that of the task's own scene by `to_mujoco` if it is left out. The MuJoCo model's time step must go evenly into the task's step; names are those of `Places`."""

    def __init__(self, task: Task | str | os.PathLike[str], model: Any = None) -> None:
        task = task if isinstance(task, Task) else Task.load(task)
        model = to_mujoco(task.model) if model is None else model
        self.task, self.places = task, Places(task.model, model)
        self.data = mujoco.MjData(model)
        """MuJoCo's state."""
        step, own = task.period / task.hold, float(model.opt.timestep)
        self.n = round(step / own)
        """MuJoCo's steps in each of the task's."""
        if self.n < 1 or abs(self.n * own - step) > 1e-9:
            raise Error(f"timestep: expected one of which {step} s, the task's step, is a multiple, got {own} s")

    def reset(self, episode: Episode) -> None:
        """Begins an episode: at its start, at rest."""
        mujoco.mj_resetData(self.places.of, self.data)
        self.data.qpos[:] = self.places.to_qpos(episode.q)
        self.data.ctrl[:] = self.places.to_ctrl(episode.u)
        mujoco.mj_forward(self.places.of, self.data)

    def __call__(self, q: ArrayLike, u: ArrayLike) -> tuple[_Array, _Array]:
        self.data.ctrl[:] = self.places.to_ctrl(u)
        path = []
        for _ in range(self.task.hold):
            mujoco.mj_step(self.places.of, self.data, nstep=self.n)
            path.append(self.places.to_q(self.data.qpos))
        return np.array(path), self.places.to_v(self.data.qpos, self.data.qvel)
