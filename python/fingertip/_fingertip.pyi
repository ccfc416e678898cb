# Types of what the library in Rust defines. The docstrings are written by tests/stub_docs.py.
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import disjoint_base

from ._contact import Contact
from ._scene import Scene

__all__ = [
    "Answer",
    "Controller",
    "Coordinate",
    "Cost",
    "DeviceArray",
    "DeviceGradient",
    "DeviceLinearization",
    "DeviceRollout",
    "DeviceStep",
    "Distance",
    "Dynamic",
    "DynamicGradient",
    "DynamicLinearization",
    "DynamicRollout",
    "DynamicStep",
    "Dynamics",
    "Effort",
    "Episode",
    "Error",
    "Errors",
    "Fit",
    "Followed",
    "Follower",
    "Goal",
    "Gradient",
    "Grasp",
    "Hold",
    "Linearization",
    "Live",
    "Model",
    "OnDevice",
    "Outcome",
    "PARAMETERS",
    "Plan",
    "Plant",
    "Progress",
    "Quasidynamic",
    "Reached",
    "Replay",
    "Rollout",
    "Smoother",
    "STATUSES",
    "Shape",
    "Solves",
    "Step",
    "Task",
    "Taxels",
    "Unsolved",
    "Wrenches",
    "_CUDA",
    "__version__",
    "_fit",
    "_panic",
    "_parts",
    "_replay",
    "_restore",
    "_run",
    "_seconds",
    "_thing",
    "_xla_function",
    "_xla_handler",
    "close",
    "distance",
    "follow",
    "inverse_kinematics",
    "trial",
]

_Array: TypeAlias = NDArray[np.float64]
_Overrides: TypeAlias = dict[str, Mapping[str, Any]]

_CUDA: Final[bool]
__version__: Final[str]
STATUSES: Final[tuple[str, ...]]
PARAMETERS: Final[tuple[str, ...]]

class Error(ValueError):
    """What was given cannot be used; the message says what was expected and what was given."""
class Unsolved(RuntimeError):
    """Some worlds have no solution; raised by `raise_for_status` alone, the message says which."""

@final
class Coordinate:
    """Where one joint or movable object is in q, v and u."""

    @property
    def name(self) -> str:
        """The name of the joint or the object, as `"hand/index_0"`."""
    @property
    def q(self) -> slice:
        """The slice of q that belongs to it."""
    @property
    def v(self) -> slice:
        """The slice of v, and of δ, that belongs to it."""
    @property
    def u(self) -> int | None:
        """The index in u of a commanded joint; None for others."""
    @property
    def limits(self) -> tuple[float, float] | None:
        """The range of a joint with one number, rad or m; none if it has none."""

@final
class Model:
    """A scene compiled for simulation, from a TOML file or text, a URDF or an MJCF. It does not change, and it pickles: as
    the scene's text and folder, so files that the scene names must be there where it is unpickled. A scene that comes
    with the package is there wherever the package is.

    `overrides` replace the scene's numbers by name, as `--with` does on the command line: `{"params": {"kappa": 1e4,
    "friction": "coulomb"}, "mass": {"ball": 0.3}, "mu": {"ball/hand": 0.4}, "stiffness": {"hand": 1.0}, "size":
    {"ball": 0.05}}`."""

    @classmethod
    def load(cls, path: str | os.PathLike[str], overrides: _Overrides | str | None = None) -> Model:
        """Reads a scene file: TOML, or MuJoCo's MJCF. What is no file is the name of a scene that comes with the package,
        as `"hand_ball"`."""
    @staticmethod
    def names() -> list[str]:
        """The names of the scenes that come with the package."""
    @classmethod
    def from_toml(
        cls, text: str, folder: str | os.PathLike[str] | None = None, overrides: _Overrides | str | None = None
    ) -> Model:
        """Reads a scene's text (TOML). The files that it names are relative to `folder`; without one, as the scenes name
        theirs that come with the package, whose files those are, or else relative to where the program runs. So the
        `text` of any model with its `folder` is the scene again."""
    @classmethod
    def from_mjcf(
        cls, text: str, folder: str | os.PathLike[str] = ..., overrides: _Overrides | str | None = None
    ) -> Model:
        """Reads a text in MuJoCo's MJCF. The files that it names are relative to `folder`. `notes` say what was left out."""
    @classmethod
    def from_urdf(
        cls,
        path: str | os.PathLike[str],
        name: str | None = None,
        overrides: _Overrides | str | None = None,
    ) -> Model:
        """A scene of one robot from a URDF file, its root link fixed in the world and its joints' stiffness 1 N·m/rad or
        N/m. The robot's name is the file's, if none is given."""
    @property
    def nq(self) -> int:
        """nq, the length of q: objects in file order, then robots. A free body has (x, y, z, qw, qx, qy, qz)."""
    @property
    def nv(self) -> int:
        """nv, the number of degrees of freedom. A free body has (v, ω) along the world's axes."""
    @property
    def nu(self) -> int:
        """nu, the number of commanded joints."""
    @property
    def nc(self) -> int:
        """nc, the number of contacts."""
    @property
    def n_lambda(self) -> int:
        """The length of λ: three numbers for each contact, one more for each with torsional friction."""
    @property
    def q_names(self) -> list[str]:
        """A name for each number in q (nq): a joint's own, or `"ball.x"`, `"ball.qw"` and so on."""
    @property
    def v_names(self) -> list[str]:
        """A name for each degree of freedom (nv): a joint's own, or `"ball.x"`, `"ball.ωx"` and so on."""
    @property
    def u_names(self) -> list[str]:
        """The commanded joints' names (nu)."""
    @property
    def contact_names(self) -> list[tuple[str, str]]:
        """The bodies on side A and B of each contact (nc); the force on B acts as given, that on A is opposite."""
    @property
    def pair_names(self) -> list[tuple[str, str]]:
        """The bodies on side A and B of each pair: the columns of `params["mu"]`."""
    @property
    def inertial_names(self) -> list[str]:
        """The bodies whose mass counts: the columns of `params["mass"]`."""
    @property
    def shape_names(self) -> list[str]:
        """The body of each shape: four columns each of `params["sizes"]`."""
    def joint(self, name: str) -> Coordinate:
        """Where a joint is in q, v and u, by its name: `"hand/thumb1"`."""
    def object(self, name: str) -> Coordinate:
        """Where a movable object, or a robot's floating base, is in q and v: `"ball"`."""
    def contacts_between(self, a: str, b: str) -> list[int]:
        """The indices of the contacts between two things or bodies, in either order: `("ball", "hand")`. None if these may
        not touch."""
    def home(self, worlds: int | None = None) -> _Array:
        """The starting configuration (nq,), or that of some worlds (worlds, nq); m, rad."""
    def control(self, time: ArrayLike) -> _Array:
        """The command (nu,) of the scene's script at a time, s; or (T, nu) at T times. Joints without a script stay at
        home. rad, m."""
    @property
    def sites(self) -> list[str]:
        """The names of the sites, points with axes that are fixed to bodies: `"hand/tip"`."""
    def site_poses(self, q: ArrayLike, names: Sequence[str] | None = None) -> tuple[_Array, _Array]:
        """Where sites are at q (B, nq): positions (B, n, 3), m, and rotations (B, n, 3, 3), whose columns are the site's
        axes, in the world; of all `sites`, or of those with these names. One world may be without its axis."""
    def site_poses_vjp(
        self,
        q: ArrayLike,
        names: Sequence[str] | None = None,
        *,
        position_bar: ArrayLike | None = None,
        rotation_bar: ArrayLike | None = None,
    ) -> _Array:
        """The gradient by q (B, nq) of a cost whose gradients by the positions (B, n, 3) and rotations (B, n, 3, 3) of
        `site_poses` are given; what is left out is 0."""
    @property
    def body_names(self) -> list[str]:
        """The names of the bodies but for the world: `"hand/palm"`, `"ball"`."""
    def body_poses(self, q: ArrayLike, names: Sequence[str] | None = None) -> tuple[_Array, _Array]:
        """Where bodies are at q (B, nq): positions (B, n, 3) of their frames' origins, m, and rotations (B, n, 3, 3),
        whose columns are the body's axes, in the world; of all `body_names`, or of those with these names. One world
        may be without its axis."""
    def body_poses_vjp(
        self,
        q: ArrayLike,
        names: Sequence[str] | None = None,
        *,
        position_bar: ArrayLike | None = None,
        rotation_bar: ArrayLike | None = None,
    ) -> _Array:
        """The gradient by q (B, nq) of a cost whose gradients by the positions (B, n, 3) and rotations (B, n, 3, 3) of
        `body_poses` are given; what is left out is 0."""
    def jacobian(self, q: ArrayLike, name: str, point: ArrayLike | None = None) -> _Array:
        """The Jacobian (B, 6, nv) of a body's or a site's `point` (3,), m in its own axes, its origin if it is left out:
        the point's velocity, then the angular velocity, both in world axes, are J v. m/rad, m/m, rad/rad, rad/m."""
    def jacobian_vjp(self, q: ArrayLike, name: str, bar: ArrayLike, point: ArrayLike | None = None) -> _Array:
        """The gradient by q (B, nq) of a cost whose gradient by the Jacobian of `jacobian` is `bar` (B, 6, nv)."""
    @property
    def joint_damping(self) -> bool:
        """Do damping and armature of commanded joints act in the quasi-dynamic step? A scene's `joint_damping`, or
        `overrides={"params": {"joint_damping": True}}`."""
    @property
    def joint_friction(self) -> bool:
        """Does dry friction of commanded joints act in the quasi-dynamic step? A scene's `joint_friction`, or
        `overrides={"params": {"joint_friction": True}}`."""
    @property
    def notes(self) -> list[str]:
        """Notes, one line each, on what was left out of the scene's files and moves nothing, and on what the quasi-dynamic
        step does not have as the scene sets it: the weight of links that commands carry, damping of commanded joints,
        limits and so on."""
    @property
    def warnings(self) -> list[str]:
        """Warnings for the scene's author, one line each: what the model lacks of the scene's files and so moves or
        touches otherwise, bodies that overlap at home, and what hovers. Making the model gives all but the last as
        Python warnings, too."""
    @property
    def params(self) -> dict[str, _Array]:
        """The parameters by name, as new arrays (1, n): h s, kappa 1/J, epsilon, gravity m/s², mu (a column for each of
        `pair_names`), torsion m, stiffness N·m/rad or N/m (`u_names`), spring, spring_rest, damping and armature of
        joints that have them (N·m/rad, rad, N·m·s/rad, kg·m², or N/m, m, N·s/m, kg), dry_friction N·m or N,
        table_friction, table_radius m, connection N/m, mass kg (`inertial_names`), inertia kg·m² (six for each), sizes
        m (four for each of `shape_names`), offsets m, tau N or N·m (`v_names`)."""
    @property
    def text(self) -> str:
        """The scene's text: `from_toml(text, folder)` reads it again, or `from_mjcf`."""
    @property
    def _is_as_read(self) -> bool:
        """Is it what its text says, without overrides and what a task sets?"""
    @property
    def folder(self) -> os.PathLike[str] | None:
        """The folder that the scene's files are relative to; none of a scene that comes with the package."""
    def __reduce__(self) -> tuple[Any, ...]: ...

@disjoint_base
class Solves:
    """How solves went: (B,) of a step, (B, T) of T steps; without the first axis if one world was given without it."""

    @property
    def status(self) -> NDArray[np.uint8]:
        """How each solve ended, uint8: an index into `fingertip.STATUSES`, a value of `fingertip.Status`."""
    @property
    def ok(self) -> NDArray[np.bool_]:
        """Was it solved? bool."""
    @property
    def iterations(self) -> NDArray[np.int64]:
        """Newton iterations, int64."""
    @property
    def residual(self) -> _Array:
        """Relative residual of the optimality conditions, from 0 to 1."""
    @property
    def slip_gap(self) -> _Array:
        """How far an `unsettled` answer is from Coulomb's law, m: the largest gap that slip opens at a contact."""
    @property
    def _reports(self) -> Any:
        """The reports as a pickle keeps them."""
    def raise_for_status(self) -> None:
        """Raises `fingertip.Unsolved` if a world was not solved."""

@disjoint_base
class Step(Solves):
    """Result of a step of B worlds; without the first axis if one world was given without it."""

    @property
    def q_next(self) -> _Array:
        """Next configuration (B, nq), m and rad. In worlds without a solution it is q, or home if q is not finite."""
    @property
    def delta(self) -> _Array:
        """The step in tangent coordinates (B, nv), m and rad."""
    @property
    def force(self) -> _Array:
        """Contact forces on B in world axes (B, nc, 3), N; the opposite acts on A."""
    @property
    def torque(self) -> _Array:
        """Torque on B about its normal of each contact with torsional friction (B, n), N·m."""
    @property
    def limit_force(self) -> _Array:
        """Forces of the joint limits (B, nl), N·m or N, if the scene turns them on; then what dry friction pushes each of
        its degrees of freedom with; then three numbers of each table: force along x and y, torque over its radius, N."""
    @property
    def normal(self) -> _Array:
        """Unit normal of each contact from A to B (B, nc, 3), in world axes."""
    @property
    def point_a(self) -> _Array:
        """Contact points on A (B, nc, 3), m, in the world."""
    @property
    def point_b(self) -> _Array:
        """Contact points on B (B, nc, 3), m, in the world."""
    @property
    def phi(self) -> _Array:
        """Signed distances at q (B, nc), m; positive apart."""
    @property
    def warm(self) -> _Array:
        """The solver's forces (B, `n_warm`): a start for steps nearby."""
    @property
    def contacts(self) -> list[Contact]:
        """The contacts that take part, world by world: those that are nearer than the scene's `contact_distance` or carry
        force. A step from a pickle has lost their names: an error."""
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...

@final
class DynamicStep(Step):
    """Result of a second-order step."""

    @property
    def v_next(self) -> _Array:
        """Next velocity (B, nv), m/s and rad/s; zero in worlds without a solution."""
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...

@final
class Rollout(Solves):
    """Result of T steps of B worlds; without the first axis if one world was given without it."""

    @property
    def q(self) -> _Array:
        """Configurations (B, T + 1, nq), m and rad; the first is q0."""
    @property
    def force(self) -> _Array:
        """Contact forces on B in world axes (B, T, nc, 3), N."""
    @property
    def torque(self) -> _Array:
        """Torques on B of the contacts with torsional friction (B, T, n), N·m."""
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...

@final
class DynamicRollout(Solves):
    """Result of T second-order steps of B worlds; without the first axis if one world was given without it."""

    @property
    def q(self) -> _Array:
        """Configurations (B, T + 1, nq), m and rad; the first is q0."""
    @property
    def v(self) -> _Array:
        """Velocities (B, T + 1, nv), m/s and rad/s; the first is v0."""
    @property
    def force(self) -> _Array:
        """Contact forces on B in world axes (B, T, nc, 3), N."""
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...

@final
class Hold(Solves):
    """Result of n steps of B worlds under one command; without the first axis if one world was given without it."""

    @property
    def q(self) -> _Array:
        """Configuration after each step (B, n, nq), m and rad."""
    @property
    def force(self) -> _Array:
        """Contact forces on B in world axes (B, n, nc, 3), N."""
    @property
    def torque(self) -> _Array:
        """Torques on B of the contacts with torsional friction (B, n, n_torsional), N·m."""
    @property
    def warm(self) -> _Array:
        """The solver's forces of each step (B, n, n_warm): a start for steps nearby."""
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...

@final
class Linearization:
    """First derivatives of a step of B worlds in tangent coordinates: of q ⊕ δ by δ, world axes for free bodies. Without
    the first axis if one world was given without it. Most contacts have no force, and rows of zeros in C and D:
    `force_rows` says which have one, and `lambda_rows`, `C_rows` and `D_rows` are theirs alone. `lambda_`, `C` and `D`
    have all rows; they are made when they are asked for."""

    @property
    def A(self) -> _Array:
        """∂q₊/∂q (B, nv, nv)."""
    @property
    def B(self) -> _Array:
        """∂q₊/∂u (B, nv, nu)."""
    @property
    def C(self) -> _Array:
        """∂λ/∂q (B, n_lambda, nv), N/m and N/rad; n_lambda = 0 without `forces`."""
    @property
    def D(self) -> _Array:
        """∂λ/∂u (B, n_lambda, nu), N/rad and N/m; n_lambda = 0 without `forces`."""
    @property
    def lambda_(self) -> _Array:
        """λ (B, n_lambda): for each contact the force on B along its normal and two tangents, N; then the torques, N·m."""
    @property
    def force_rows(self) -> NDArray[np.int64]:
        """The rows of λ, C and D of contacts with a force (n, 2), int64: world and place in λ, in this order. All others
        are zero."""
    @property
    def lambda_rows(self) -> _Array:
        """λ in `force_rows` (n,)."""
    @property
    def C_rows(self) -> _Array:
        """C in `force_rows` (n, nv)."""
    @property
    def D_rows(self) -> _Array:
        """D in `force_rows` (n, nu)."""
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...

@final
class DynamicLinearization:
    """First derivatives of a second-order step of B worlds. The state is (q, v), changes of q are tangent, so that it has
    2 nv numbers. Without the first axis if one world was given without it."""

    @property
    def A(self) -> _Array:
        """∂(q₊, v₊)/∂(q, v) (B, 2 nv, 2 nv)."""
    @property
    def B(self) -> _Array:
        """∂(q₊, v₊)/∂τ (B, 2 nv, nv)."""
    @property
    def C(self) -> _Array:
        """The derivatives of the contact forces in world axes by (q, v) (B, 3 nc, 2 nv)."""
    @property
    def D(self) -> _Array:
        """The derivatives of those forces by τ (B, 3 nc, nv)."""
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...

@final
class Gradient:
    """Gradients of a cost by what a step or rollout was given."""

    @property
    def q(self) -> _Array:
        """By q (B, nq); of a rollout, by q0."""
    @property
    def u(self) -> _Array:
        """By u: (B, nu), of a rollout (B, T, nu)."""
    @property
    def params(self) -> dict[str, _Array]:
        """By each parameter, by name: new arrays with as many rows, 1 or B, as the parameter has."""
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...

@final
class DynamicGradient:
    """Gradients of a cost by what a second-order step or rollout was given."""

    @property
    def q(self) -> _Array:
        """By q (B, nq); of a rollout, by q0."""
    @property
    def v(self) -> _Array:
        """By v (B, nv); of a rollout, by v0."""
    @property
    def tau(self) -> _Array:
        """By τ: (B, nv), of a rollout (B, T, nv)."""
    @property
    def params(self) -> dict[str, _Array]:
        """By each parameter, by name: new arrays with as many rows, 1 or B, as the parameter has."""
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...

@final
class OnDevice:
    """The quasi-dynamic step on a device: what `Quasidynamic.on` makes. It has that object's calls, on arrays that stay on
    the device.

    Arguments are arrays of double or single precision, row after row, with `__dlpack__` on this device, as those of
    torch, JAX and CuPy; or anything that `Quasidynamic` takes, which is then copied there. They are copied on the
    device, once. q and u have as many worlds. Results are `DeviceArray`s in double precision, complete when a call
    returns; how solves went comes to the host."""

    def with_params(self, **params: Any) -> OnDevice:
        """This step with some parameters replaced, by arrays as those of `Quasidynamic.with_params`, on the device or not."""
    @property
    def device_name(self) -> str:
        """The device's name, as `"cuda:0"`."""
    def step(self, q: Any, u: Any, warm: Any | None = None) -> DeviceStep:
        """One step from q (B, nq), m and rad, under u (B, nu), rad or m. The solve starts from `warm`, a step's nearby, or
        cold."""
    def vjp(
        self,
        q: Any,
        u: Any,
        *,
        q_next_bar: Any | None = None,
        force_bar: Any | None = None,
        torque_bar: Any | None = None,
        phi_bar: Any | None = None,
    ) -> DeviceGradient:
        """Gradients by q, u and all parameters of a cost whose gradients by a step's results are given, as
        `Quasidynamic.vjp`. The step is computed again."""
    def rollout(self, q0: Any, u: Any) -> DeviceRollout:
        """T steps from q0 (B, nq) under u (B, T, nu), or one world's, (nq,) and (T, nu)."""
    def rollout_vjp(
        self, u: Any, rollout: DeviceRollout, *, q_bar: Any | None = None, force_bar: Any | None = None
    ) -> DeviceGradient:
        """Gradients by q0, u (B, T, nu) and all parameters of a cost whose gradients by a rollout's states `q` (B, T + 1,
        nq) and `force` (B, T, nc, 3) are given, as `Quasidynamic.rollout_vjp`. `rollout` is this object's rollout under
        this u; it is computed again."""
    def linearize(self, q: Any, u: Any) -> DeviceLinearization:
        """All derivatives of one step in tangent coordinates: A, B, C and D."""

@final
class DeviceArray:
    """An array on a device, in double precision, row after row. What has `from_dlpack` reads it without a copy:
    `torch.from_dlpack(array)`, `jax.numpy.from_dlpack(array)`; on the CPU numpy's, too. It is complete: no stream has
    to wait for it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape, as numpy has it."""
    def numpy(self) -> _Array:
        """A copy in numpy's memory."""
    def __dlpack__(
        self,
        *,
        stream: Any | None = None,
        max_version: Any | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

@final
class DeviceStep(Solves):
    """Result of a step of B worlds on a device: as `Step`, with arrays that stay there."""

    @property
    def q_next(self) -> DeviceArray:
        """Next configuration (B, nq), m and rad."""
    @property
    def delta(self) -> DeviceArray:
        """The step in tangent coordinates (B, nv), m and rad."""
    @property
    def force(self) -> DeviceArray:
        """Contact forces on B in world axes (B, nc, 3), N."""
    @property
    def torque(self) -> DeviceArray:
        """Torques on B of the contacts with torsional friction (B, n), N·m."""
    @property
    def phi(self) -> DeviceArray:
        """Signed distances at q (B, nc), m."""
    @property
    def warm(self) -> DeviceArray:
        """The solver's forces (B, n_warm): a start for steps nearby."""

@final
class DeviceRollout(Solves):
    """Result of T steps of B worlds on a device: as `Rollout`, with arrays that stay there."""

    @property
    def q(self) -> DeviceArray:
        """Configurations (B, T + 1, nq), m and rad; the first is q0."""
    @property
    def force(self) -> DeviceArray:
        """Contact forces on B in world axes (B, T, nc, 3), N."""
    @property
    def torque(self) -> DeviceArray:
        """Torques on B of the contacts with torsional friction (B, T, n), N·m."""

@final
class DeviceLinearization:
    """Derivatives of a step of B worlds on a device: as `Linearization`, with arrays that stay there."""

    @property
    def A(self) -> DeviceArray:
        """∂q₊/∂q (B, nv, nv)."""
    @property
    def B(self) -> DeviceArray:
        """∂q₊/∂u (B, nv, nu)."""
    @property
    def C(self) -> DeviceArray:
        """∂λ/∂q (B, n_lambda, nv), N/m and N/rad."""
    @property
    def D(self) -> DeviceArray:
        """∂λ/∂u (B, n_lambda, nu), N/rad and N/m."""

@final
class DeviceGradient:
    """Gradients of a cost on a device: as `Gradient`, with arrays that stay there."""

    @property
    def q(self) -> DeviceArray:
        """By q (B, nq); of a rollout, by q0."""
    @property
    def u(self) -> DeviceArray:
        """By u: (B, nu), of a rollout (B, T, nu)."""
    @property
    def params(self) -> dict[str, DeviceArray]:
        """By each parameter, by name: as many rows, 1 or B, as the parameter has."""

@final
class Quasidynamic:
    """The quasi-dynamic step of a model: a balance of forces, without velocities. Springs pull commanded joints to u, and
    objects have regularised inertia.

    `params` replace the model's by name (see `Model.params`): each an array (n,) for all worlds, (B, n) for B worlds,
    or one number for all columns. `threads` is the number of threads that calls use, None as many as there are
    processors; results do not depend on it. Calls release the interpreter's lock. An object pickles, and may be used by
    many threads.

    Arguments are arrays of any real type and strides, or lists. q is (B, nq) and u (B, nu); a single world may be
    without the first axis, and then results are, too. Beside several worlds, q, u or parameters of one stand for all;
    gradients are each world's.

    A body that a step of `step`, `rollout` or `hold` moves by more than its size, or turns by more than 45°, while
    something is in its way is a warning, once for each body of an object."""

    def __new__(cls, model: Model, threads: int | None = None, **params: ArrayLike) -> Quasidynamic: ...
    def with_params(self, **params: ArrayLike) -> Quasidynamic:
        """This step with some parameters replaced. It uses the same threads."""
    def on(self, device: str) -> OnDevice:
        """The same step on a device, for arrays that stay there: `"cuda:0"` is the first GPU, for a package built with the
        feature `cuda` (docs/cuda.md); `"cpu"` takes and makes the same arrays."""
    @property
    def model(self) -> Model:
        """The model that it steps."""
    @property
    def threads(self) -> int | None:
        """The number of threads that was asked for."""
    @property
    def params(self) -> dict[str, _Array]:
        """The parameters by name, as new arrays (1 or B, n): see `Model.params`."""
    @property
    def n_warm(self) -> int:
        """The length of a world's `warm`."""
    def step(
        self, q: ArrayLike, u: ArrayLike, warm: ArrayLike | None = None, *, out: dict[str, _Array] | None = None
    ) -> Step:
        """One step from q (B, nq), m and rad, under u (B, nu), rad or m. The solve starts from `warm` (B, n_warm), a
        step's or a hold's nearby, or cold. `out` has arrays by name that the results `q_next` and `force` are written
        to, double precision, row after row; they are then those of the result. `q` itself may be one.
        Where thousands of contacts may be, δ, limit forces and what says where contacts are come when they are asked
        for, by another solve."""
    def vjp(
        self,
        q: ArrayLike,
        u: ArrayLike,
        *,
        q_next_bar: ArrayLike | None = None,
        force_bar: ArrayLike | None = None,
        torque_bar: ArrayLike | None = None,
        phi_bar: ArrayLike | None = None,
        touch: Sequence[tuple[Wrenches | Taxels, ArrayLike]] | None = None,
        step: Step | None = None,
    ) -> Gradient:
        """Gradients by q, u and all parameters of a cost whose gradients by a step's results are given: by `q_next` (B,
        nq), `force` (B, nc, 3), `torque` (B, n) and `phi` (B, nc); what is left out is 0. `touch` has sensors with the
        gradient by what each feels: `[(wrenches, bar)]`, with `bar` of the shape of `wrenches.at(q, step)`. `step` is
        this object's step at q and u; without it, it is computed again. Where what is given of a world is not finite,
        its gradients are NaN."""
    def rollout(self, q0: ArrayLike, u: ArrayLike, *, out: dict[str, _Array] | None = None) -> Rollout:
        """T steps from q0 (B, nq) under u (B, T, nu), or one world's, (nq,) and (T, nu); u for all worlds of q0 is (1, T,
        nu). `out` has arrays by name that the results `q` and `force` are written to, as for `step`."""
    def rollout_vjp(
        self,
        u: ArrayLike,
        rollout: Rollout,
        *,
        q_bar: ArrayLike | None = None,
        force_bar: ArrayLike | None = None,
    ) -> Gradient:
        """Gradients by q0, u (B, T, nu) and all parameters of a cost whose gradients by a rollout's states `q` (B, T + 1,
        nq) and `force` (B, T, nc, 3) are given; what is left out is 0. `rollout` is this object's rollout under this u."""
    def linearize(
        self, q: ArrayLike, u: ArrayLike, forces: bool = True, warm: ArrayLike | None = None
    ) -> Linearization:
        """All derivatives of one step in tangent coordinates: A, B, and with `forces` λ, C and D."""
    def jvp(
        self, q: ArrayLike, u: ArrayLike, *, dq: ArrayLike | None = None, du: ArrayLike | None = None
    ) -> tuple[_Array, _Array]:
        """How q₊ and λ change with q and u: A dq + B du (B, nv) and C dq + D du (B, n_lambda) for `dq` (B, nv), in tangent
        coordinates, and `du` (B, nu); what is left out is 0."""
    def hold(self, q: ArrayLike, u: ArrayLike, n: int, warm: ArrayLike | None = None) -> Hold:
        """n steps from q (B, nq) under one command u (B, nu). Each solve starts from the forces of the step before, the
        first from `warm` (B, n_warm), or cold."""
    def command_forces(self, q_next: ArrayLike, u: ArrayLike) -> _Array:
        """The forces of the commands' springs where a step ended at `q_next` (B, nq) under u (B, nu): (B, nu), N·m or N.
        What a controller adds against weight is not in them."""
    def beyond_efforts(self, q_next: ArrayLike, u: ArrayLike) -> list[tuple[int, int, float, float]]:
        """The commands whose springs pull harder where a step ended at `q_next` (B, nq) under u (B, nu) than their joints'
        largest efforts allow, which the step does not bound: (world, index in u, force, largest effort) each, N·m or N."""
    def __getnewargs_ex__(self) -> tuple[tuple[Model], dict[str, Any]]: ...

@final
class Dynamic:
    """The second-order step of a model: semi-implicit Euler with inertia, joint friction and the barrier's contact. All
    joints move by inertia; stiffness and ε have no effect. Friction is by Coulomb's law, whatever the scene says.

    `beta`, from 0 to 1, is the share of an overlap that a step may take back; `stiction_speed`, rad/s or m/s, the speed
    below which dry friction holds a joint. `params` and `threads` are as in `Quasidynamic`, and so are arguments: q is
    (B, nq), v and tau are (B, nv)."""

    def __new__(
        cls,
        model: Model,
        threads: int | None = None,
        *,
        beta: float = 0.2,
        stiction_speed: float = 1e-3,
        **params: ArrayLike,
    ) -> Dynamic: ...
    def with_params(self, **params: ArrayLike) -> Dynamic:
        """This step with some parameters replaced. It uses the same threads."""
    @property
    def model(self) -> Model:
        """The model that it steps."""
    @property
    def threads(self) -> int | None:
        """The number of threads that was asked for."""
    @property
    def params(self) -> dict[str, _Array]:
        """The parameters by name, as new arrays (1 or B, n): see `Model.params`."""
    def step(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, warm: ArrayLike | None = None
    ) -> DynamicStep:
        """One step from q (B, nq), m and rad, and v (B, nv), m/s and rad/s, under the generalised forces `tau` (B, nv), N
        or N·m, or none. The solve starts from `warm`, a step's nearby, or cold."""
    def vjp(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        q_next_bar: ArrayLike | None = None,
        v_next_bar: ArrayLike | None = None,
        force_bar: ArrayLike | None = None,
        torque_bar: ArrayLike | None = None,
        phi_bar: ArrayLike | None = None,
        touch: Sequence[tuple[Wrenches | Taxels, ArrayLike]] | None = None,
        step: DynamicStep | None = None,
    ) -> DynamicGradient:
        """Gradients by q, v, tau and all parameters of a cost whose gradients by a step's results are given: by `q_next`
        (B, nq), `v_next` (B, nv), `force` (B, nc, 3), `torque` (B, n) and `phi` (B, nc); what is left out is 0. `touch`
        has sensors with the gradient by what each feels, as in `Quasidynamic.vjp`. `step` is this object's step at q, v
        and tau; without it, it is computed again."""
    def linearize(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, warm: ArrayLike | None = None
    ) -> DynamicLinearization:
        """All derivatives of one step by the state (q, v) and by `tau`. They are vector-Jacobian products: as costly as 2
        nv + 3 nc gradients."""
    def rollout(self, q0: ArrayLike, v0: ArrayLike, tau: ArrayLike) -> DynamicRollout:
        """T steps from q0 (B, nq) and v0 (B, nv) under `tau` (B, T, nv), or one world's, (nq,), (nv,) and (T, nv)."""
    def rollout_vjp(
        self,
        tau: ArrayLike,
        rollout: DynamicRollout,
        *,
        q_bar: ArrayLike | None = None,
        v_bar: ArrayLike | None = None,
        force_bar: ArrayLike | None = None,
    ) -> DynamicGradient:
        """Gradients by q0, v0, `tau` (B, T, nv) and all parameters of a cost whose gradients by a rollout's states `q` (B,
        T + 1, nq), `v` (B, T + 1, nv) and `force` (B, T, nc, 3) are given; what is left out is 0. `rollout` is this
        object's rollout under this `tau`."""
    def __getnewargs_ex__(self) -> tuple[tuple[Model], dict[str, Any]]: ...

@final
class Wrenches:
    """Net contact forces and torques on things, by name: a body (`"hand/tip"`, `"ball"`), or all of a robot or an
    articulated object (`"hand"`). A pair of names is what the second does to the first alone. Without names: for each
    body that can move and may touch something, everything on it, and then what each body does that it may touch.

    `axes` are `"world"` or `"link"`, those of the thing's first link, about whose origin torques are. `params` replace
    the model's by name, as in `Quasidynamic`; offsets count. For gradients see `touch` of `Quasidynamic.vjp`."""

    def __new__(
        cls,
        model: Model,
        of: Sequence[str | tuple[str, str]] | None = None,
        axes: str = "world",
        **params: ArrayLike,
    ) -> Wrenches: ...
    @property
    def model(self) -> Model:
        """The model whose contacts it feels."""
    @property
    def names(self) -> list[tuple[str, str | None]]:
        """What each wrench acts on, and what does it; None is everything."""
    def at(self, q: ArrayLike, step: Step) -> _Array:
        """The wrenches (B, n, 6) that act during a step from q (B, nq): forces, N, then torques, N·m."""
    def __getnewargs_ex__(self) -> tuple[tuple[Model, list[str | tuple[str, str]], str], dict[str, Any]]: ...

@final
class Taxels:
    """The taxels of a scene's pads, `[[taxels]]`: those with these names, or all. Their numbers follow each other pad by
    pad, N in all.

    `params` replace the model's by name, as in `Quasidynamic`; offsets and sizes count. For gradients see `touch` of
    `Quasidynamic.vjp`."""

    def __new__(cls, model: Model, names: Sequence[str] | None = None, **params: ArrayLike) -> Taxels: ...
    @property
    def model(self) -> Model:
        """The model whose contacts they feel."""
    @property
    def pads(self) -> dict[str, slice]:
        """The pads by name, each with the slice of its taxels among all."""
    @property
    def count(self) -> int:
        """The number N of taxels of all pads."""
    def at(self, q: ArrayLike, step: Step) -> _Array:
        """The normal force (B, N), N, that each taxel feels during a step from q (B, nq)."""
    def distances(self, q: ArrayLike) -> _Array:
        """The signed distance (B, N), m, of each taxel from the nearest shape that its body may touch, at q (B, nq):
        negative inside, 1000 where there is none."""
    def distances_vjp(self, q: ArrayLike, bar: ArrayLike) -> _Array:
        """The gradient by q (B, nq) of a cost whose gradient by the distances is `bar` (B, N)."""
    def __getnewargs_ex__(self) -> tuple[tuple[Model, list[str]], dict[str, Any]]: ...

@final
class Reached:
    """Result of a search for joint positions."""

    @property
    def q(self) -> _Array:
        """The configuration (nq,): commanded joints within their limits, all else unchanged."""
    @property
    def distances(self) -> _Array:
        """Distances that remain between each target's point and its goal (n,), m."""
    @property
    def converged(self) -> bool:
        """Is every distance within the tolerance? If not, the goals are out of reach, or another start may help."""
    @property
    def iterations(self) -> int:
        """The number of steps tried."""

def inverse_kinematics(
    model: Model,
    q: ArrayLike,
    targets: Sequence[tuple[str, ArrayLike, ArrayLike]],
    *,
    tolerance: float = 1e-6,
    damping: float = 1e-4,
    max_iterations: int = 200,
) -> Reached:
    """Searches from q (nq,) for positions of the commanded joints that bring points to their goals, all at once. A target
    is (body, point, goal): `"hand/tip"`, (3,) in the body's frame, (3,) in the world, m. `tolerance` is in m, `damping`
    in m². The search is local."""
@final
class Errors:
    """Distances of an object from its goal, or the largest of several objects. A part that the goal leaves free has
    none."""

    def __new__(
        cls, position: float | None, rotation: float | None, quaternion: float | None, joints: float | None, lost: bool
    ) -> Errors: ...
    @property
    def position(self) -> float | None:
        """Distance of positions, m."""
    @property
    def rotation(self) -> float | None:
        """Angle between orientations, rad."""
    @property
    def quaternion(self) -> float | None:
        """Quaternion error 1 − ⟨q, q*⟩², which is sin² of half the angle."""
    @property
    def joints(self) -> float | None:
        """Distance of the joint that is farthest from its goal, rad or m."""
    @property
    def lost(self) -> bool:
        """Is it lost: out of every robot's reach, and as far beyond it as the task says?"""
    def __getnewargs__(self) -> tuple[float | None, float | None, float | None, float | None, bool]: ...

@final
class Goal:
    """Where an object is to be. What is left out is free; some of it must be given. `position` is (3,) in m (z is ignored
    for planar objects), `quaternion` (w, x, y, z), or `yaw` in rad for a planar object; with `axis`, (3,) in the
    object's frame, only that axis has to point where the quaternion takes it, or, without one, where it points in the
    world: `axis=[0, 0, 1]` is upright, however it is turned. `joints` has positions of an articulated object's or a
    robot's joints by their own names, rad or m. `others` has goals of other objects and robots by name, all of which
    are to be reached at once."""

    def __new__(
        cls,
        position: ArrayLike | None = None,
        quaternion: ArrayLike | None = None,
        yaw: float | None = None,
        joints: Mapping[str, float] | None = None,
        others: Mapping[str, Goal] | None = None,
        axis: ArrayLike | None = None,
    ) -> Goal: ...
    @property
    def position(self) -> tuple[float, float, float] | None:
        """Position of the object's frame (x, y, z), m, if the goal has one."""
    @property
    def quaternion(self) -> tuple[float, float, float, float] | None:
        """Orientation of a free object (w, x, y, z), if the goal has one."""
    @property
    def yaw(self) -> float | None:
        """Yaw of a planar object, rad, if the goal has one."""
    @property
    def joints(self) -> dict[str, float]:
        """Positions of joints by their own names, rad or m."""
    @property
    def others(self) -> dict[str, Goal]:
        """Goals of other objects and robots, by name."""
    @property
    def axis(self) -> tuple[float, float, float] | None:
        """The axis of the object, in its own frame, that alone has to point where the orientation takes it, if the goal
        has one."""
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs__(self) -> tuple[Any, ...]: ...

@final
class Episode:
    """A start and a goal."""

    def __new__(cls, number: int, q: _Array, u: _Array, goal: Goal) -> Episode: ...
    @property
    def number(self) -> int:
        """The episode's number. Its random draws depend only on the seed and on this number."""
    @property
    def q(self) -> _Array:
        """The initial configuration (nq,), m and rad."""
    @property
    def u(self) -> _Array:
        """The command before the first one (nu,), rad and m."""
    @property
    def goal(self) -> Goal:
        """The goal of the object."""
    def __getnewargs__(self) -> tuple[int, _Array, _Array, Goal]: ...

@final
class Plan:
    """A plan over T control periods."""

    def __new__(
        cls,
        q: _Array,
        u: _Array,
        v: _Array,
        force: _Array,
        cost: float,
        unsolved: int,
        outcome: str,
        iterations: int,
        log: _Array,
    ) -> Plan: ...
    @property
    def q(self) -> _Array:
        """States (T + 1, nq), m and rad. The first is the one that was planned from."""
    @property
    def u(self) -> _Array:
        """Commands (T, nu), rad and m."""
    @property
    def v(self) -> _Array:
        """The decisions v (T, nu) from which the commands follow, rad and m."""
    @property
    def force(self) -> _Array:
        """Contact forces on B in world axes at the end of each period (T, nc, 3), N."""
    @property
    def cost(self) -> float:
        """The value of the objective."""
    @property
    def unsolved(self) -> int:
        """Steps without a solution, in which the world stood still."""
    @property
    def outcome(self) -> str:
        """Why the search ended: `"converged"`, `"iteration limit"`, `"deadline"`, `"no gradient"` or `"unsolved"`."""
    @property
    def iterations(self) -> int:
        """The number of iterations."""
    @property
    def log(self) -> _Array:
        """A row for each iteration (n, 4): the objective, the decrease that the local model predicted (NaN without
        one), the share of the step that was taken, and the time since the search began, s."""
    def __getnewargs__(self) -> tuple[Any, ...]: ...

@final
class Answer:
    """A command, and how it was found."""

    def __new__(
        cls,
        u: _Array,
        v: _Array,
        q_from: _Array,
        outcome: str,
        seconds: float,
        plan: Plan | None,
        errors: Errors,
        step: int,
        success: bool,
        done: bool,
        doing: str,
        stall: str | None,
    ) -> Answer: ...
    @property
    def u(self) -> _Array:
        """The command for the coming period (nu,), rad and m."""
    @property
    def v(self) -> _Array:
        """v of the period (nu,)."""
    @property
    def q_from(self) -> _Array:
        """The state that was planned from (nq,): the measured one, advanced to when the command takes effect."""
    @property
    def outcome(self) -> str:
        """Why the search ended, as `Plan.outcome`; or `"bad input"` or `"silent"`, where the rest of the last plan is
        followed."""
    @property
    def seconds(self) -> float:
        """Time taken, s."""
    @property
    def plan(self) -> Plan | None:
        """The plan; none if there was no time or no state to roll it out."""
    @property
    def errors(self) -> Errors:
        """The errors at the measured state."""
    @property
    def step(self) -> int:
        """Control periods so far, this one not counted."""
    @property
    def success(self) -> bool:
        """Has the episode succeeded?"""
    @property
    def done(self) -> bool:
        """Is it over: by success, if the task stops there, by its cap, or as an object is lost (`errors.lost`)?"""
    @property
    def doing(self) -> str:
        """What was planned for: `"goal"`, or what the task's supervisor put in its place: `"subgoal"`, `"return"`,
        `"nudge"`, `"sample"` or `"retreat"`."""
    @property
    def stall(self) -> str | None:
        """Why the plans before have stalled, where it is one of the last three; none otherwise."""
    def __getnewargs__(self) -> tuple[Any, ...]: ...

@final
class Task:
    """What to do in a scene: where things start, where an object is to go, what plans are rated by, and how far a
    controller looks ahead. It is a TOML file; `crates/plan/docs/tasks.md` of the repository has its keys. A task does
    not change, and it pickles: as its path or text and folder, so files that it names must be there where it is
    unpickled.

    `Task(scene, **keys)` is one written in Python: `scene` is a `Scene`, a `Model`, a scene's file, or the name of one
    that comes with the package; `keys` are those of a task's file, `goal`, `command`, `weights` and so on, their values
    numbers, strings, lists, arrays and dictionaries. Files are relative to `folder`, or as in `Model.from_toml`."""

    def __new__(
        cls,
        scene: Scene | Model | str | os.PathLike[str],
        folder: str | os.PathLike[str] | None = None,
        **keys: Any,
    ) -> Task: ...
    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Task:
        """Reads a task's file. What is no file is the name of a task that comes with the package, as `"hand_turn"`."""
    @classmethod
    def from_toml(cls, text: str, folder: str | os.PathLike[str] | None = None) -> Task:
        """Reads a task's text (TOML). The files that it names are relative to `folder`; without one they are as in
        `Model.from_toml`."""
    @staticmethod
    def names() -> list[str]:
        """The names of the tasks that come with the package."""
    def replace(
        self,
        *,
        method: str | None = None,
        iterations: int | None = None,
        most_iterations: int | None = None,
        tolerance: float | None = None,
        cap: int | None = None,
        latency: float | None = None,
        lead: float | None = None,
        seed: int | None = None,
        overrides: _Overrides | str | None = None,
        **keys: Any,
    ) -> Task:
        """This task with other settings: the `method` (`"ilqr"`, `"hybrid"`, `"mppi"`, `"cem"`, `"lbfgs"`, `"sqp"`,
        `"rctr"` or `"ctr"`), its `iterations` in each control period, the most of them where a command has a limit, the
        `tolerance` of its search, the `cap` on an episode's control periods, the `latency` and `lead` that plans reckon
        with, s, the `seed` of samples, and `overrides`, parameters of the model as `Model.load` takes them: what is
        believed of the plant.

        Other `keys` are those of the task's file: `horizon=8`, `weights={"reach": 0.0}`. Of a table those keys are
        replaced that are given; None leaves a key out, and a `Goal` takes the place of all of a goal but its object.
        The task is read again with them, which takes as long as it took at first."""
    @property
    def title(self) -> str:
        """Description in one line."""
    @property
    def object(self) -> str:
        """The name of the object that has a goal."""
    @property
    def n_goals(self) -> int | None:
        """The number of goals in the list; none if goals are drawn."""
    @property
    def cap(self) -> int:
        """The most control periods of an episode."""
    @property
    def period(self) -> float:
        """The length of a control period, s."""
    @property
    def hold(self) -> int:
        """Steps of the model in a control period."""
    @property
    def method(self) -> str:
        """The method that improves plans."""
    @property
    def iterations(self) -> int:
        """Iterations of the method in each control period."""
    @property
    def latency(self) -> float:
        """The latency that plans reckon with, s."""
    @property
    def model(self) -> Model:
        """The model that plans are made with: the scene with the task's h, κ, ε and friction."""
    def episode(self, number: int = 0, seed: int = 0) -> Episode:
        """Episode `number`: a start and a goal. With a list of goals it takes the goal of that number, and starts again at
        the end of the list. Draws depend only on the seed and the number."""
    def errors(self, goal: Goal, q: ArrayLike) -> Errors:
        """The errors relative to a goal at q (nq,), of several objects the largest. They are NaN if a number of q is not
        finite."""
    def is_small(self, errors: Errors) -> bool:
        """Are these errors small by the task's measure of success?"""
    @classmethod
    def _remake(cls, make: str, of: tuple[Any, ...], changes: dict[str, Any]) -> Task:
        """Makes a pickled task again."""
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...

@final
class Progress:
    """The progress of an episode: how long its errors have been small."""

    def __new__(cls, task: Task) -> Progress: ...
    def count(self, errors: Errors) -> None:
        """Counts a control period that ended with these errors."""
    @property
    def step(self) -> int:
        """Control periods so far."""
    @property
    def held(self) -> int:
        """Periods in a row with small errors."""
    @property
    def success(self) -> int | None:
        """The period in which the episode succeeded; none before that."""
    @property
    def lost(self) -> bool:
        """Is an object lost?"""
    @property
    def is_over(self) -> bool:
        """Is the episode over: by success, if the task stops there, by its cap, or as an object is lost?"""

@final
class Cost:
    """A term of the objective, weight · ‖r(q)‖², of the state after each command. `residual` takes q (nq,) to r (m,),
    `jacobian` takes q to ∂r/∂q: (m, nv) in tangent coordinates, or (m, nq) by q's own numbers, as JAX and torch give
    it. Their weights are `running` at every state but the last and `terminal` at the last, per squared unit of r;
    `terminal` is `running` if it is left out. A term that is part of the task's `purpose` counts in the check whether
    plans come nearer to their goal.

    Both functions are called many times for a command, one state at a time, and must not call the controller."""

    def __new__(
        cls,
        residual: Callable[[_Array], ArrayLike],
        jacobian: Callable[[_Array], ArrayLike],
        running: float = 1.0,
        terminal: float | None = None,
        purpose: bool = False,
    ) -> Cost: ...
    def __getnewargs__(self) -> tuple[Any, ...]: ...

@final
class Plant:
    """One of the library's steps as the plant of a task, unlike what the planner believes where that is asked for.

    `kind` is `"quasi-dynamic"`, the planner's step with harder contacts, or `"second-order"`, where objects have
    momentum. `kappa` is the plant's κ, 1/J; `latency` the time until a command takes effect, s; `noise` the standard
    deviations of measured positions and rotations of objects, m and rad; `overrides` parameters of the plant that the
    planner does not know, as `Model.load` takes them."""

    def __new__(
        cls,
        task: Task,
        kind: str = "quasi-dynamic",
        *,
        kappa: float = ...,
        latency: float = 0.0,
        noise: tuple[float, float] = ...,
        overrides: _Overrides | str | None = None,
    ) -> Plant: ...
    def reset(self, episode: Episode, seed: int = 0) -> None:
        """Begins an episode: at its start, at rest. Noise depends on the seed and the episode's number alone."""
    @property
    def q(self) -> _Array:
        """The state (nq,), m and rad."""
    @property
    def unsolved(self) -> int:
        """Steps that had no solution."""
    def measure(self) -> tuple[_Array, _Array | None]:
        """Measures q (nq,), with noise, and the velocity (nv,), m/s and rad/s, of a plant that has one."""
    def advance(self, u: ArrayLike) -> tuple[_Array, _Array]:
        """One control period after a controller's command u (nu,), rad and m: the states (hold, nq) and the contact forces
        (hold, nc, 3), N, after each step in it."""
    def __getnewargs_ex__(self) -> tuple[tuple[Task, str], dict[str, Any]]: ...

@final
class Controller:
    """Model-predictive control of one episode of a task: measured states in, commands out, one for each control period.
    `episode` is the episode or its number, drawn with the `seed`; `goal` and `q` (nq,) replace its goal and its start;
    `costs` are added to the task's objective. One roll-out is made at once to measure how long it takes.

    A task's supervisor changes what is planned for where the goal is far or nothing moves, as on the command line; with
    `supervised=False` the goal itself is always planned for.

    Bodies that overlap at the start are warned of: who, and how deep.

    A call releases the interpreter's lock while it plans. A controller answers one call at a time.

    It pickles: its task, costs and episode with the present goal, what it was told of the plant, its plan, the commands
    given and its progress. What it estimates, filters and draws, and how long its supervisor has waited, begins anew."""

    def __new__(
        cls,
        task: Task,
        episode: int | Episode = ...,
        seed: int = 0,
        *,
        goal: Goal | None = None,
        q: ArrayLike | None = None,
        costs: Sequence[Cost] = ...,
        supervised: bool = True,
    ) -> Controller: ...
    def reset(
        self,
        episode: int | Episode = ...,
        seed: int = 0,
        *,
        goal: Goal | None = None,
        q: ArrayLike | None = None,
    ) -> None:
        """Begins another episode, as a new controller does. What was believed of the plant is forgotten."""
    def command(
        self,
        q: ArrayLike | None,
        limit: float | None = None,
        *,
        velocity: ArrayLike | None = None,
        latency: float | None = None,
        applied: ArrayLike | None = None,
    ) -> Answer:
        """The command for the coming period at the measured state q (nq,), within the time `limit`, s, if one is given;
        None for q says that nothing was measured. `velocity` (nv,) is that of the plant, m/s and rad/s, if it is
        measured; `latency` the time, s, until the command takes effect, in place of the task's; `applied` (nu,) the
        command that was in effect at the end of the period before, if it was another than the one given. Numbers of q
        that were not measured are NaN; then, and where there is too little time, the rest of the last plan is followed."""
    def set_goal(self, goal: Goal) -> None:
        """Another goal from now on. The plan so far stays and is improved; progress begins again."""
    def set_parameters(self, overrides: _Overrides | str) -> None:
        """Other parameters of the model from now on, by name: what was found out about the plant. Only `mu`, `stiffness`,
        `mass` and `size` count."""
    @property
    def task(self) -> Task:
        """The task that it plans for."""
    @property
    def episode(self) -> Episode:
        """The episode: its start, and the present goal."""
    @property
    def u_before(self) -> _Array:
        """The previous command (nu,), rad and m."""
    @property
    def horizon(self) -> int:
        """The number of commands that are planned, T."""
    @property
    def friction(self) -> tuple[float, float] | None:
        """The estimate of the plant's friction, if the task estimates it: a factor on the friction of the object's pairs,
        and the standard deviation of its logarithm."""
    def standing(self, q: ArrayLike) -> list[tuple[str, float, bool]]:
        """What each term of the objective would cost if the state stayed at q (nq,) over the whole horizon: its name, its
        cost, and whether it is part of the purpose. Where a term that is not costs more than all that are, a plan may
        gain more from it than from the goal."""
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...
    @classmethod
    def _remake(
        cls,
        task: Task,
        episode: Episode,
        costs: Sequence[Cost],
        supervised: bool,
        beliefs: Sequence[str],
        going: tuple[Any, ...],
    ) -> Controller:
        """Makes a pickled controller again."""

@final
class Dynamics:
    """The rigid-body dynamics M(q) a + b(q, v) = τ of a model's bodies, without contacts, springs and dampers. `params`
    replace the model's by name, as in `Quasidynamic`; gravity, masses, inertias and offsets count.

    Arguments are arrays or lists: q (B, nq), v, a and tau (B, nv), or one world's without the first axis. Units are SI;
    a free body's v is (v, ω) along the world's axes. Quaternions are normalised on reading."""

    def __new__(cls, model: Model, **params: ArrayLike) -> Dynamics: ...
    @property
    def model(self) -> Model:
        """The model whose dynamics these are."""
    def mass_matrix(self, q: ArrayLike) -> _Array:
        """The joint-space inertia matrix M (B, nv, nv)."""
    def inverse_mass_matrix(self, q: ArrayLike) -> _Array:
        """M⁻¹ (B, nv, nv); an error if a joint moves no mass."""
    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> _Array:
        """Inverse dynamics: the τ (B, nv) that causes the accelerations `a` at (q, v)."""
    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> _Array:
        """Forward dynamics: the acceleration a (B, nv) under `tau` at (q, v); an error if a joint moves no mass."""
    def bias(self, q: ArrayLike, v: ArrayLike) -> _Array:
        """The bias b (B, nv): Coriolis, centrifugal and gravity terms."""
    def gravity(self, q: ArrayLike) -> _Array:
        """The τ (B, nv) that holds the weight at rest: b at v = 0."""
    def energy(self, q: ArrayLike, v: ArrayLike) -> _Array:
        """Kinetic and potential energy (B, 2), J. The potential energy is zero at the world's origin."""
    def centre_of_mass(self, q: ArrayLike) -> _Array:
        """Centre of mass (B, 3) of all bodies that can move, m in world axes."""
    def inverse_dynamics_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> list[_Array]:
        """τ (B, nv) of inverse dynamics with ∂τ/∂q, in tangent coordinates, ∂τ/∂v and ∂τ/∂a = M (B, nv, nv)."""
    def forward_dynamics_derivatives(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> list[_Array]:
        """a (B, nv) of forward dynamics with ∂a/∂q, in tangent coordinates, ∂a/∂v and ∂a/∂τ = M⁻¹ (B, nv, nv)."""
    def __getnewargs_ex__(self) -> tuple[tuple[Model], dict[str, Any]]: ...

@final
class Grasp:
    """A hand that is closed on an object."""

    @property
    def q(self) -> _Array:
        """The configuration (nq,), m and rad."""
    @property
    def contacts(self) -> list[int]:
        """The contacts with the object that are closed, as indices in `Model.contact_names`."""
    @property
    def least_gap(self) -> float:
        """The smallest gap of all contacts, m."""
    def least_effort(self, reserve: float = 0.0) -> Effort | None:
        """The least effort ½ ‖τ‖² that holds the object, with every normal force at least `reserve`, N, above what its
        friction needs: f_n ≥ ‖f_t‖/μ + reserve. None if no forces balance."""
    def margin(self) -> float | None:
        """The largest reserve that all contacts can have, N: infinite under force closure, and it may be negative. None if
        no forces balance."""

@final
class Effort:
    """Torques and forces that hold an object."""

    @property
    def torque(self) -> _Array:
        """τ of the commanded joints (nu,), N·m or N."""
    @property
    def force(self) -> _Array:
        """Forces of the closed contacts in the balance (n,), N: three each, along the world's axes."""
    @property
    def cost(self) -> float:
        """½ ‖τ‖², which was minimised."""

@final
class Outcome:
    """How far an object moved in a trial, and whether it was held."""

    @property
    def moved(self) -> float:
        """Distance of the object from its position in the grasp after the rest, m."""
    @property
    def pushed(self) -> float:
        """Largest distance from that position under the pushes, m."""
    @property
    def displaced(self) -> float:
        """Distance from that position after the last push and rest, m."""
    @property
    def held(self) -> bool:
        """Was the object held at rest, before the pushes?"""
    @property
    def held_pushed(self) -> bool:
        """Was it held at rest at the end too, after the pushes?"""

def close(
    model: Model,
    seed: int = 0,
    *,
    joints: float | None = None,
    object: tuple[float, float] | None = None,
    force: float | None = None,
    reach: float | None = None,
    alpha: float | None = None,
    steps: tuple[int, int] | None = None,
    touching: float | None = None,
) -> Grasp:
    """Closes the model's robots around its movable objects, from a random configuration around home. `joints` is the
    largest random offset of each joint from home at the start, rad or m; `object` that of the object in each direction,
    m and rad; `force` that with which each joint pulls its nearest part towards the object, N; `reach` the length over
    which parts attract it, m; `alpha` the time scale of a motion, s²; `steps` their number while the object is held
    still, and while it settles; gaps up to `touching`, m, count as contacts. What is left out is the library's choice."""
def trial(
    model: Model,
    q: ArrayLike,
    torque: ArrayLike,
    *,
    h: float | None = None,
    kappa: float | None = None,
    kp: float | None = None,
    kv: float | None = None,
    rest: float | None = None,
    push: float | None = None,
    pushing: float | None = None,
) -> list[Outcome]:
    """Simulated trials of grasps by the second-order step, side by side: some time at rest, then pushes along ±x, ±y and
    ±z of the world, each followed by a rest. q (B, nq) are the grasps and `torque` (B, nu) the torques of the commanded
    joints, or one of each without the first axis. `h` is the time step, s; `kappa` κ, 1/J; `kp` and `kv` the joints'
    gains, N·m/rad and N·m·s/rad; `rest` the time at rest, s; `push` the force of each push in weights of the object;
    `pushing` its time, s. What is left out is the library's choice. The scene counts as it was read: overrides but for
    its params do not."""
@final
class Shape:
    """A convex shape in its own frame, centred at the frame's origin; lengths in m."""

    @staticmethod
    def sphere(radius: float) -> Shape:
        """A ball."""
    @staticmethod
    def capsule(radius: float, half_length: float) -> Shape:
        """All points within `radius` of a segment of length 2 `half_length` along z."""
    @staticmethod
    def box(half_extents: ArrayLike, rounding: float = 0.0) -> Shape:
        """A box, given by its half extents (3,), rounding included, and the radius of its edges and corners."""
    @staticmethod
    def cylinder(radius: float, half_length: float) -> Shape:
        """A solid cylinder along z."""
    @staticmethod
    def ellipsoid(radii: ArrayLike) -> Shape:
        """A solid ellipsoid, given by half the lengths of its axes (3,)."""
    @staticmethod
    def hull(points: ArrayLike) -> Shape:
        """The convex hull of points (N, 3)."""
    @staticmethod
    def halfspace() -> Shape:
        """All points with z ≤ 0."""

@final
class Distance:
    """Closest points of two shapes, for one pair of poses or for N."""

    @property
    def phi(self) -> _Array:
        """Signed distance (N,), m: positive apart, minus the depth of an overlap."""
    @property
    def normal(self) -> _Array:
        """Unit normal from A to B (N, 3)."""
    @property
    def point_a(self) -> _Array:
        """Witness point on A (N, 3), m, in the world."""
    @property
    def point_b(self) -> _Array:
        """Witness point on B (N, 3), m, in the world: `point_b - point_a = phi * normal`."""

def distance(shape_a: Shape, pose_a: ArrayLike, shape_b: Shape, pose_b: ArrayLike) -> Distance:
    """Signed distance of two shapes at poses (x, y, z, qw, qx, qy, qz) in the world, m: each (7,), or (N, 7) for N pairs."""
@final
class Live:
    """The page beside a running loop that `fingertip.live` makes. It is there until `close`, or the end of a `with` block.

    `show` hands a state over and returns at once, in microseconds: frames are made on a thread of their own, some 60 in
    a second, each of the newest state. Nobody has to look."""

    def __new__(cls, model: Model, address: str = "127.0.0.1:0") -> Live: ...
    @property
    def url(self) -> str:
        """The page's address."""
    def show(
        self, q: ArrayLike, u: ArrayLike | None = None, force: ArrayLike | None = None, time: float | None = None
    ) -> None:
        """Shows the state q (nq,) from now on, with the commands `u` (nu,) and the contact forces `force` (nc, 3), N, if
        they are given. `time`, s, is that since the page was made if it is left out."""
    def close(self) -> None:
        """Ends the page."""
    def __enter__(self) -> Live: ...
    def __exit__(self, *_why: Any) -> None: ...

@final
class Replay:
    """States over time as a page that plays them: `fingertip.show` makes it. A notebook shows it where it is a cell's
    value."""

    @property
    def n_steps(self) -> int:
        """The number of steps."""
    def html(self, size: int | None = None) -> str:
        """The page with everything in it: HTML that needs no network. With a `size`, bytes, it is about so long at most,
        with fewer steps, evenly left out."""
    @staticmethod
    def load(path: str | os.PathLike[str], *, size: int = 2_000_000, height: int = 560) -> Replay:
        """Reads a recording, `*.mcap`: what `save`, or `--record` on the command line, has written. `height` is that of a
        notebook's frame, pixels."""
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all steps to a file: `*.html`, the page; `*.mcap`, a recording, which `fingertip view` shows and
        `fingertip export` converts to tables; or `*.npz`, arrays for `numpy.load`."""
    def _repr_html_(self) -> str: ...

def _replay(
    model: Model,
    q: ArrayLike,
    time: ArrayLike,
    u: ArrayLike | None,
    force: ArrayLike | None,
    run: Any,
    size: int,
    height: int,
) -> Replay:
    """A replay of states (n + 1, nq) at times (n + 1,) of a model, with what else is known; of a `Run` also its goal and
    plans."""
@final
class Fit:
    """What `fingertip.fit` found."""

    @property
    def names(self) -> list[str]:
        """The numbers' names (n), as `mass.ball`."""
    @property
    def units(self) -> list[str]:
        """Their units (n); empty for numbers without one, and for common factors of parameters that differ."""
    @property
    def start(self) -> _Array:
        """Where the search began (n,)."""
    @property
    def values(self) -> _Array:
        """What was found (n,)."""
    @property
    def errors(self) -> _Array:
        """The standard errors (n,): infinite where neither the logs nor a prior tell a number, NaN where it is at a bound."""
    @property
    def told(self) -> list[bool]:
        """Do the logs tell each number (n)? Else it is part of a combination of `blind`."""
    @property
    def params(self) -> dict[str, _Array]:
        """The parameters by name with these numbers, as new arrays (1, n): `Quasidynamic(model, **fit.params)`."""
    @property
    def blind(self) -> list[tuple[str, float]]:
        """Combinations of numbers that the logs do not tell, `"mass.ball × 2.000 with stiffness × 1.970"`, each with its
        standard error as a part of itself."""
    @property
    def noise(self) -> dict[str, tuple[int, float, float]]:
        """For each kind that was measured, `joint`, `position`, `rotation` or `force`: the number of residuals, their root
        mean square, and the standard deviation of noise that was reckoned with."""
    @property
    def cost(self) -> tuple[float, float]:
        """Half the sum of squares of residuals over noise, and of what is off from priors: before and after."""
    @property
    def correlation(self) -> float:
        """How alike residuals are that follow each other in time: about 0 for noise alone. Where they are alike, from 0.3
        on, the model cannot do all that was measured, and standard errors are too small."""
    @property
    def iterations(self) -> int:
        """Steps of Gauss and Newton."""
    @property
    def converged(self) -> bool:
        """Did the search end because there was nothing more to gain?"""
    @property
    def steps(self) -> tuple[int, int]:
        """Steps of the last rollouts, and how many of them had no solution."""
    @property
    def predictions(self) -> dict[tuple[int, str], tuple[_Array, _Array, _Array]]:
        """What was measured and predicted: for each log and channel that has numbers, by the log's place and the channel's
        name, the times (n,), what was measured and what was predicted there (n,). For rotations these are zeros (n, 3),
        and the rotation vectors from what was measured to what was predicted, rad."""
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes fit and residuals as a figure (`*.svg`), or what was measured and predicted as a table (`*.csv`)."""

def _fit(
    model: Model,
    logs: Sequence[tuple[str, dict[str, Any] | None]],
    by: Sequence[str],
    start: Sequence[tuple[str, float]],
    bounds: Sequence[tuple[str, tuple[float, float]]],
    prior: Sequence[tuple[str, tuple[float, float]]],
    noise: Sequence[tuple[str, float]],
    window: float | None,
    second_order: bool,
    max_iterations: int,
) -> Fit:
    """What `fingertip.fit` calls: logs are names of files, or names with columns by name."""
@final
class Smoother:
    """Where everything is by what a hand feels, for a control loop: joints, commands and net contact forces, without a
    camera. A smoother over a window of control periods, each of `hold` steps of `sim` under one command.

    `forces` are the things whose net force is measured, `"hand/tip"`, or `("hand/tip", "cube")` for what the second
    does to the first. Deviations: `start` of objects' poses when they are seen, m and rad; `joint` of measured joints,
    rad; `pose` of measured poses, m and rad; `force` of forces, as a part of them and N. What feels `touch`, N, and
    more has the gap of the barrier to `gap`, and slips by `slip` in a period, m. The model errs by `share` of each
    motion, and objects `drift` in a second by m and rad, joints by `joint_drift`. What is off by more than `huber`
    deviations pulls no harder. The page crates/plan/docs/feel.md says more."""

    def __new__(
        cls,
        sim: Quasidynamic,
        forces: Sequence[str | tuple[str, str | None]] = ...,
        *,
        hold: int = 1,
        window: int = 5,
        start: Sequence[float] = ...,
        joint: float = 0.001,
        pose: Sequence[float] = ...,
        force: Sequence[float] = ...,
        touch: float = 0.1,
        gap: float = 0.0001,
        slip: float = 0.0002,
        drift: Sequence[float] = ...,
        joint_drift: float = 0.5,
        share: float = 0.3,
        huber: float = 3.0,
        max_iterations: int = 3,
    ) -> Smoother: ...
    def reset(self, q: ArrayLike) -> None:
        """Begins anew at q (nq,) as it was seen, objects to the deviations `start`."""
    def step(self, u: ArrayLike, q: ArrayLike, forces: ArrayLike | None = None) -> _Array:
        """After the command u (nu,) was held for a period: q as it is measured now (nq,), and the net forces (forces, 3),
        N, in world axes. What is not measured is NaN; poses of objects as a rule. Returns the estimate of q (nq,)."""
    @property
    def q(self) -> _Array:
        """The estimate (nq,), rad and m."""
    def covariance(self, name: str | None = None) -> _Array:
        """The covariance of an object's pose in tangent coordinates, (6, 6) of a free one: m and rad, along world axes.
        Without a name, that of all of q (nv, nv)."""
    @property
    def iterations(self) -> int:
        """Steps of Gauss and Newton in the last period."""

@final
class Follower:
    """A hand that follows keypoints, frame by frame, for a control loop:
    `u = fingertip.Follower(model).step(keypoints, dt)`.

    Without `map`, the name of a TOML file, the fingers that the hand's links are named after follow the 21 keypoints of
    hand trackers. `scale` is how much larger the hand is, for all vectors; without, the hand's reach over the human's.
    `smooth`, m, is what a change of 1 rad counts as; `cutoff`, Hz, that of a filter on keypoints; `margin`, m, the
    least gap of own parts, None for none; `speed_limits` holds to the robot's largest speeds."""

    def __new__(
        cls,
        model: Model,
        map: str | os.PathLike[str] | None = None,
        *,
        scale: float | None = None,
        smooth: float = 0.02,
        cutoff: float | None = None,
        margin: float | None = ...,
        speed_limits: bool = True,
    ) -> Follower: ...
    def step(self, keypoints: ArrayLike, dt: float) -> _Array:
        """Follows one frame of keypoints (n, 3), m, `dt` seconds after the last one, and returns the commands (nu,). What
        is not known is NaN: what needs it has no weight."""
    def reset(self, q: ArrayLike | None = None) -> None:
        """Begins anew, at q (nq,) or at home."""
    @property
    def q(self) -> _Array:
        """The configuration (nq,), rad and m; what no command moves is at home."""
    @property
    def targets(self) -> list[str]:
        """The targets' names, in the order of `errors`."""
    @property
    def errors(self) -> _Array:
        """How far each target was missed in the last frame (targets,), m; NaN where it had less than half its weight."""
    @property
    def gap(self) -> float | None:
        """The least gap of own parts in the last frame, m; None if none was near."""
    @property
    def iterations(self) -> int:
        """Steps of Gauss and Newton in the last frame."""

@final
class Followed:
    """What `fingertip.follow` found."""

    @property
    def time(self) -> _Array:
        """Times of the frames (n,), s."""
    @property
    def q(self) -> _Array:
        """Configurations (n, nq), rad and m."""
    @property
    def u(self) -> _Array:
        """Commands (n, nu), rad and m."""
    @property
    def errors(self) -> _Array:
        """How far each target was missed (n, targets), m; NaN where it had less than half its weight."""
    @property
    def keypoints(self) -> _Array:
        """The keypoints that were followed (n, keypoints, 3), m."""
    @property
    def scales(self) -> _Array:
        """How much larger each target's vector is than the keypoints' (targets,)."""
    @property
    def seconds(self) -> _Array:
        """Time that each frame took (n,), s."""
    @property
    def targets(self) -> list[str]:
        """The targets' names, in the order of the columns of `errors`."""
    @property
    def least_gap(self) -> float | None:
        """The least gap of own parts over all frames, m; None if none was ever near."""
    @property
    def at_limits(self) -> dict[str, int]:
        """The joints that moved, and in how many frames each was at an end of its range."""

def follow(
    model: Model,
    motion: str | os.PathLike[str] | ArrayLike,
    map: str | os.PathLike[str] | None = None,
    *,
    of: Model | None = None,
    scale: float | None = None,
    rate: float = 30.0,
    smooth: float = 0.02,
    cutoff: float | None = None,
    margin: float | None = ...,
    speed_limits: bool = True,
) -> Followed:
    """A hand follows a motion of keypoints: `found.u` are the commands, a row for each frame.

    `motion` is a file (CSV, JSON lines) or an array (frames, keypoints, 3), m, at `rate`, Hz, where it has no times;
    with `of`, another hand's model, a log of its joints (CSV, MCAP). Without `map`, the name of a TOML file, the
    fingers that the hand's links are named after follow the 21 keypoints of hand trackers. The other arguments are
    those of `Follower`. The page crates/plan/docs/follow.md says more."""
def _parts(model: Model) -> dict[str, Any]:
    """The bodies, shapes, joints and pairs of a model, for `fingertip.mujoco`."""
def _thing(text: str, place: str) -> str:
    """The thing in a scene's text that a line is of, `line 3, column 1`, for messages of texts that nobody has written."""
def _restore(class_: str, arrays: list[_Array], reports: Any) -> Any:
    """A result from a pickle."""
def _xla_function(sim: Quasidynamic, kind: str, names: Sequence[str], device: OnDevice | None = None) -> int:
    """A function that JAX's programs can call, on a device if it is given: the number by which they do. It stays as long
    as the process, as a compiled program may."""
def _xla_handler() -> Any:
    """The handler, as JAX takes it."""
def _run(arguments: Sequence[str]) -> int:
    """Runs the program `fingertip` with these arguments, for `fingertip.__main__`, and gives its exit status."""
def _panic() -> None:
    """Panics where the library would, for the tests."""
def _seconds(sim: Quasidynamic, q: ArrayLike, u: ArrayLike, n: int) -> float:
    """Seconds of n steps called from Rust, for `benches/calls.py`."""
