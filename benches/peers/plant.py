"""A scene of ours as a MuJoCo model: what a plan is tried on.

Shapes, masses, joints and poses are read from the scene's own files; names, order, stiffness, friction and the pairs
that may touch from `fingertip inspect --json`, so that both sides have the same. What our step does not have is chosen
here, by rules that need no figure of a task but its control period:

- Joints are position servos, kp the scene's stiffness, damped critically: kv = 2 √(kp I), I the joint's inertia at home
  (MuJoCo's `dampratio`), so that they neither overshoot nor creep. After a step of the command 2 % are left at
  t = 5.8 √(I/kp): `settling` gives it, and a scene should have stiffness enough for it to be within a control period.
- Robots carry themselves (`gravcomp`), as in our step; joint limits act, joint friction and the URDF's damping do not.
- Objects in the plane lie on a table: the scene's own (`table`), or, where it has none, one of friction 0.3 that the planner
  does not know, with two thirds of the object's radius. It is dry friction along x, y and about z. Each axis resists on its own:
  what slides along y is moved along x by no less than μ m g. `standing` lets them stand on it by contacts, whose friction is one force
  against the motion: on a scene's own table by feet on a ring of the table's radius, which resist turns by as much as it does.
- Contacts are MuJoCo's own, with a time constant of 4 ms in the place of its default 20 ms (`soft`): its contacts are as soft
  as the lighter body is light, and a fingertip of 4 g that presses with 1 N would sink in by 5 mm. Elliptic cones and
  impratio 10 keep grips from creeping. Spinning is resisted where our scene has torsional friction; rolling is not.
- MuJoCo scales that softness by the inverse inertia that it finds at bodies' centres of mass. Where that is a point which no joint moves, it is
  taken at the body's shape (`weigh_contacts`): else contacts of two such bodies have no softness at all, and MuJoCo's solver fails at them.
"""

import json
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np

# MuJoCo's default of 2 ms is half of it: light fingertips on stiff springs strike the object less hard in smaller steps.
TIME_STEP = 0.001
IMPEDANCE_RATIO = 10
HARD, SOFT = 0.004, 0.02  # time constants of contacts, s
FEET, FOOT = 8, 0.002  # how many feet a standing object has, and their radius, m
TABLE = 0.3  # friction coefficient under objects in the plane
GRAVITY = 9.81  # m/s², what presses them on it in scenes without gravity
HELD = 1e-6  # a centre of mass with less than this share of its shape's inverse inertia is held by the joints' axes
SETTLED = 5.8  # a critically damped spring is within 2 % after 5.8/ω
GEOMS = mujoco.mjtGeom
HALF_SPACE_SIZE = [2.0, 2.0, 0.1]  # of a plane that is infinite in contact, for pictures


@dataclass
class Shape:
    """A collision shape in its body's frame: our name of its kind, our sizes, and where it is."""

    kind: str
    sizes: list[float]
    position: list[float]
    quaternion: list[float]

    def add_to(self, body: mujoco.MjsBody, name: str) -> None:
        """A geom without mass that touches only what a pair names."""
        kinds = {
            "sphere": GEOMS.mjGEOM_SPHERE,
            "box": GEOMS.mjGEOM_BOX,
            "capsule": GEOMS.mjGEOM_CAPSULE,
            "cylinder": GEOMS.mjGEOM_CYLINDER,
            "ellipsoid": GEOMS.mjGEOM_ELLIPSOID,
            "halfspace": GEOMS.mjGEOM_PLANE,
        }
        if self.kind not in kinds:
            raise ValueError(f"{name}: expected one of {', '.join(kinds)}, got {self.kind}")
        position, quaternion, size = self.position, self.quaternion, self.sizes
        if self.kind == "halfspace":
            *normal, offset = self.sizes
            position, quaternion, size = list(offset * np.array(normal)), upwards_to(normal), HALF_SPACE_SIZE
        size = [*size, 0.0, 0.0][:3]
        body.add_geom(
            name=name, type=kinds[self.kind], size=size, pos=position, quat=quaternion, mass=0, contype=0, conaffinity=0
        )


def upwards_to(normal: list[float]) -> list[float]:
    """A turn that takes z to a unit normal."""
    x, y, z = normal
    turn = np.array([1.0 + z, -y, x, 0.0]) if z > -1.0 else np.array([0.0, 1.0, 0.0, 0.0])
    return list(turn / np.linalg.norm(turn))


def quaternion_of(entry: dict) -> list[float]:
    """The rotation of a TOML or URDF pose: quaternion or roll, pitch, yaw about fixed axes."""
    if "quaternion" in entry:
        return entry["quaternion"]
    turn = np.zeros(4)
    mujoco.mju_euler2Quat(turn, np.array(entry.get("rpy", [0.0, 0.0, 0.0]), float), "XYZ")
    return list(turn)


def shape_of(entry: dict) -> Shape:
    """A shape of a scene file: `sphere = 0.04`, `box = […]`, … with `at` and `rpy`."""
    for kind in ("sphere", "box", "capsule", "cylinder", "ellipsoid", "halfspace"):
        if kind in entry:
            sizes = entry[kind] if isinstance(entry[kind], list) else [entry[kind]]
            return Shape(kind, sizes, entry.get("at", [0.0, 0.0, 0.0]), quaternion_of(entry))
    raise ValueError(f"expected a shape that MuJoCo has too, got {entry}")


def urdf_shapes(file: Path) -> list[tuple[str, Shape]]:
    """Link and shape of each `<collision>`; URDF cylinders and boxes have whole lengths."""
    shapes = []
    for link in ElementTree.parse(file).getroot().iter("link"):
        for collision in link.iter("collision"):
            origin = collision.find("origin")
            numbers = lambda key: [float(x) for x in origin.get(key, "0 0 0").split()] if origin is not None else [0.0] * 3
            (form,) = collision.find("geometry")
            if form.tag == "sphere":
                sizes = [float(form.get("radius"))]
            elif form.tag == "box":
                sizes = [0.5 * float(x) for x in form.get("size").split()]
            elif form.tag == "cylinder":
                sizes = [float(form.get("radius")), 0.5 * float(form.get("length"))]
            else:
                raise ValueError(f"{file}: expected sphere, box or cylinder, got {form.tag}")
            shapes.append((link.get("name"), Shape(form.tag, sizes, numbers("xyz"), quaternion_of({"rpy": numbers("rpy")}))))
    return shapes


class Plant:
    """A scene in MuJoCo, in our order of q and u."""

    def __init__(
        self, scene: Path, binary: str, period: float, *, table: float = TABLE, contact: float = HARD, standing: bool = False
    ) -> None:
        said = subprocess.run([binary, "inspect", str(scene), "--json"], stdout=subprocess.PIPE, check=True)
        self.contents = json.loads(said.stdout)
        self.scene = tomllib.loads(scene.read_text())
        self.folder, self.period, self.table, self.contact, self.standing = scene.parent, period, table, contact, standing
        self.model = self._compile()
        self.data = mujoco.MjData(self.model)
        self.weigh_contacts()
        self.steps = round(period / TIME_STEP)
        if abs(self.steps * TIME_STEP - period) > 1e-9:
            raise ValueError(f"expected a control period of whole steps of {TIME_STEP} s, got {period}")
        names = [name for entry in self.contents["coordinates"] for name in self.joints(entry)]
        joints = [self.model.joint(name) for name in names]
        self.places = np.concatenate([np.arange(len(joint.qpos0)) + joint.qposadr[0] for joint in joints])
        commanded = [entry["name"] for entry in self.contents["coordinates"] if entry["u"] is not None]
        self.actuators = [self.model.actuator(name).id for name in commanded]

    def q(self) -> np.ndarray:
        """The measured state."""
        return self.data.qpos[self.places].copy()

    def reset(self, q: np.ndarray, u: np.ndarray) -> None:
        """At rest at q under the command u."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[self.places] = q
        self.data.ctrl[self.actuators] = u
        mujoco.mj_forward(self.model, self.data)

    def hold(self, u: np.ndarray, parts: int = 1) -> None:
        """One control period, or one of so many parts of it."""
        self.data.ctrl[self.actuators] = u
        mujoco.mj_step(self.model, self.data, nstep=self.steps // parts)

    def is_lost(self) -> bool:
        """Has MuJoCo met a number that is none, or a huge one, since the start? It then begins anew from its own home."""
        kinds = (mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC)
        return any(self.data.warning[kind].number for kind in kinds)

    def weigh_contacts(self) -> None:
        """Gives bodies whose centre of mass no joint moves the inverse inertia of their shapes: a mean over directions, at home, as MuJoCo has it.
        What computes the model's constants anew (`mj_setConst`) undoes this."""
        model, home = self.model, mujoco.MjData(self.model)
        mujoco.mj_forward(model, home)
        for geom in range(model.ngeom):
            body = model.geom_bodyid[geom]
            moved, along = np.zeros((3, model.nv)), np.zeros((3, model.nv))
            mujoco.mj_jac(model, home, moved, None, home.geom_xpos[geom], body)
            mujoco.mj_solveM(model, home, along, moved)
            at_shape = float(np.sum(moved * along)) / 3
            if model.body_invweight0[body, 0] < HELD * at_shape:
                model.body_invweight0[body, 0] = at_shape

    def settling(self) -> float:
        """How long the slowest joint takes, s: see above."""
        ids = self.actuators
        stiffness = self.model.actuator_gainprm[ids, 0]
        damping = -self.model.actuator_biasprm[ids, 2]
        # Critical: kv = 2 √(kp I), so that √(I/kp) = kv/(2 kp).
        return float(np.max(SETTLED * damping / (2 * stiffness)))

    def joints(self, entry: dict) -> list[str]:
        """MuJoCo's joints for a coordinate of ours."""
        parts = {"planar: x y yaw": ["x", "y", "yaw"], "translation: x y z": ["x", "y", "z"]}.get(entry["motion"])
        return [f"{entry['name']}.{part}" for part in parts] if parts else [entry["name"]]

    def _compile(self) -> mujoco.MjModel:
        (robot,) = self.scene["robot"]
        spec = self._robot(robot)
        spec.option.timestep = TIME_STEP
        spec.option.gravity = self.contents["params"]["gravity"]
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        spec.option.impratio = IMPEDANCE_RATIO
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        # Our slides may have links without mass between them; the published inertias of one hand are no body's.
        spec.compiler.boundmass, spec.compiler.boundinertia, spec.compiler.balanceinertia = 1e-6, 1e-9, True
        for entry in self.scene["object"]:
            self._object(spec, entry)
        self._pairs(spec)
        return spec.compile()

    def _robot(self, robot: dict) -> mujoco.MjSpec:
        name, urdf = robot["name"], (self.folder / robot["urdf"]).resolve()
        spec = mujoco.MjSpec.from_file(str(urdf))
        spec.compiler.fusestatic = False
        for geom in list(spec.geoms):
            spec.delete(geom)
        root = ElementTree.parse(urdf).getroot()
        children = {joint.find("child").get("link") for joint in root.iter("joint")}
        (base,) = [link.get("name") for link in root.iter("link") if link.get("name") not in children]
        bodies = {body.name: body for body in spec.bodies}
        # MuJoCo takes a root link without mass for its world.
        place = {"position": robot.get("position", [0.0] * 3), "quaternion": quaternion_of(robot)}
        moved = [bodies[base]] if base in bodies else list(spec.worldbody.bodies)
        for body in moved:
            if base in bodies:
                body.pos, body.quat = place["position"], place["quaternion"]
            elif any(place["position"]) or place["quaternion"] != [1.0, 0.0, 0.0, 0.0]:
                body.pos = np.array(body.pos) + place["position"]
                assert place["quaternion"][0] == 1.0, "a root link without mass may not be turned"
        for link, body in bodies.items():
            if body != spec.worldbody:
                body.gravcomp, body.name = 1, f"{name}/{link}"
        own = [(entry["link"], shape_of(entry)) for entry in robot["collision"]] if "collision" in robot else urdf_shapes(urdf)
        for count, (link, shape) in enumerate(own):
            shape.add_to(bodies[link], f"{name}/{link}#{count}")
        stiffness = {entry["name"]: entry["stiffness"] for entry in self.contents["coordinates"]}
        for joint in spec.joints:
            joint.frictionloss, joint.armature, joint.actfrclimited = 0, 0, mujoco.mjtLimited.mjLIMITED_FALSE
            joint.damping = np.zeros_like(joint.damping)
            joint.name = f"{name}/{joint.name}"
            servo = spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            servo.set_to_position(kp=stiffness[joint.name], dampratio=1.0)
        return spec

    def _object(self, spec: mujoco.MjSpec, entry: dict) -> None:
        name, freedom = entry["name"], entry.get("freedom", "fixed")
        shapes = [shape_of(own) for own in entry.get("collision", [entry])]
        body = spec.worldbody.add_body(name=name, pos=entry.get("position", [0.0] * 3), quat=quaternion_of(entry))
        for count, shape in enumerate(shapes):
            shape.add_to(body, f"{name}#{count}")
        if freedom == "fixed":
            return
        (mass,) = [mass for mass in self.contents["masses"] if mass["body"] == name]
        xx, yy, zz, xy, xz, yz = mass["inertia"]
        body.mass, body.ipos, body.fullinertia, body.explicitinertial = mass["mass"], [0.0] * 3, [xx, yy, zz, xy, xz, yz], True
        if freedom == "free":
            body.add_freejoint(name=name)
            return
        slide, hinge = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE
        x, y, z = np.eye(3)
        kinds = [("x", slide, x), ("y", slide, y), ("yaw", hinge, z) if freedom == "planar" else ("z", slide, z)]
        (own,) = [own for own in self.contents["coordinates"] if own["name"] == name]
        own = own["table"] or {"friction": self.table, "radius": 2 / 3 * shapes[0].sizes[0]}
        if freedom == "planar" and self.standing and self._pull():
            self._stand(spec, body, name, shapes, own)
        for part, kind, axis in kinds:
            joint = body.add_joint(name=f"{name}.{part}", type=kind, axis=axis)
            joint.ref = 0.0
            if freedom == "planar" and not self.standing:
                joint.frictionloss = own["friction"] * mass["mass"] * self._pull() * (own["radius"] if kind == hinge else 1.0)
        # Slides count from the body's own place, our q from the world's origin.
        body.pos = [0.0, 0.0, body.pos[2] if freedom == "planar" else 0.0]
        assert freedom != "planar" or body.quat[0] == 1.0, "a planar object's own turn is its q"

    def _pull(self) -> float:
        """What presses planar objects on a table, m/s²: gravity along z, or what a scene without gravity gets. Where it lies in their plane,
        there is no table."""
        x, y, z = self.contents["params"]["gravity"]
        return abs(z) or (0.0 if x or y else GRAVITY)

    def _stand(self, spec: mujoco.MjSpec, body: "mujoco.MjsBody", name: str, shapes: list[Shape], own: dict) -> None:
        """A planar object stands on a ground by contacts, which its weight loads: their friction is one force against the motion and a moment,
        where dry friction of the joints resists along each axis on its own."""
        spec.option.gravity = [0.0, 0.0, -self._pull()]
        half = max(shape.sizes[{"sphere": 0, "cylinder": 1, "box": 2}[shape.kind]] for shape in shapes)
        feet = [f"{name}#0"]
        if any(entry["table"] for entry in self.contents["coordinates"] if entry["name"] == name):
            feet = [f"{name}.foot{k}" for k in range(FEET)]
            for k, foot in enumerate(feet):
                turn = 2 * np.pi * k / FEET
                place = [own["radius"] * np.cos(turn), own["radius"] * np.sin(turn), FOOT - half]
                body.add_geom(name=foot, type=GEOMS.mjGEOM_SPHERE, size=[FOOT, 0.0, 0.0], pos=place, mass=0, contype=0, conaffinity=0)
        body.add_joint(name=f"{name}.height", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0.0, 0.0, 1.0])
        spec.worldbody.add_geom(
            name=f"{name}.ground", type=GEOMS.mjGEOM_PLANE, size=HALF_SPACE_SIZE, pos=[0.0, 0.0, body.pos[2] - half], contype=0, conaffinity=0
        )
        friction = [own["friction"], own["friction"], 0.0, 0.0, 0.0]
        for foot in feet:
            spec.add_pair(geomname1=f"{name}.ground", geomname2=foot, condim=3, friction=friction, solref=[self.contact, 1.0])

    def _pairs(self, spec: mujoco.MjSpec) -> None:
        """The pairs of our scene, each of a body's shapes with each of the other's."""
        geoms: dict[str, list[str]] = {}
        for geom in spec.geoms:
            geoms.setdefault(geom.name.split("#")[0], []).append(geom.name)
        found = {(pair["a"]["body"], pair["b"]["body"]): (pair["mu"], pair["torsion"]) for pair in self.contents["pairs"]}
        for (a, b), (mu, torsion) in found.items():
            for one in geoms[a]:
                for other in geoms[b]:
                    friction = [mu, mu, torsion, 0.0, 0.0]
                    condim = 4 if torsion > 0 else 3
                    softness = [self.contact, 1.0]
                    spec.add_pair(geomname1=one, geomname2=other, condim=condim, friction=friction, solref=softness)
