"""The quasi-dynamic step as research code solves it: Pinocchio for the kinematics, CasADi and IPOPT for the minimum.

    minimise over δ   ½ δᵀPδ + gᵀδ − (1/κ) Σ log(ν_n² − μ²‖ν_t‖²)   P = blkdiag(ε m/h², K_a)
                      ν = J δ + (φ, 0, 0),  q₊ = q + δ              g = −(m g; K_a (u − q_a))

Same equations, same numbers, same states as ours; q₊ and the forces are compared with those of `fingertip step`.
Two forms: `free` as above, and `bounded` with ν_n ≥ 0. The logarithm's argument is positive in the mirrored cone,
ν_n < 0, as well, and nothing keeps the free form from stepping across. Only solves that end right are timed.
Prints one JSON object, µs of wall clock.
"""

import argparse
import json
import shlex
import subprocess

import casadi
import numpy as np
import pinocchio

from scene import GRAVITY, NOISE, ROLLOUT_STEPS, ROOT, SCENE_FILE, Scene, median_microseconds, report

SAMPLES = 20  # states that the cold solve is timed on

Guess = np.ndarray | float
Given = tuple[np.ndarray, np.ndarray]  # q and u


class Kinematics:
    """Gaps, frames and Jacobians of the six contacts: table and ball first, then each fingertip and the ball."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.model = pinocchio.buildModelFromUrdf(str(scene.urdf))
        assert list(self.model.names)[1:] == scene.joints, "Pinocchio orders the joints otherwise than the URDF"
        self.frames: list[int] = []
        for fingertip in scene.fingertips:
            link = self.model.frames[self.model.getFrameId(fingertip["link"])]
            placement = link.placement * pinocchio.SE3(np.eye(3), np.array(fingertip["at"]))
            name = fingertip["link"] + "_tip"
            frame = pinocchio.Frame(name, link.parentJoint, 0, placement, pinocchio.FrameType.OP_FRAME)
            self.frames.append(self.model.addFrame(frame))
        self.data = self.model.createData()

    def __call__(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """J (18, 24), φ (6), and the frames F (6, 3, 3) with rows n, t₁, t₂."""
        scene, model, data = self.scene, self.model, self.data
        ball, angles = q[:3], q[3:]
        pinocchio.computeJointJacobians(model, data, angles)
        pinocchio.updateFramePlacements(model, data)
        n_contacts = 1 + len(self.frames)
        jacobian = np.zeros((3 * n_contacts, q.size))
        phi, bases = np.empty(n_contacts), np.empty((n_contacts, 3, 3))

        phi[0] = ball[2] - scene.table_offset - scene.ball_radius
        bases[0] = basis(np.array(scene.table_normal))
        jacobian[:3, :3] = bases[0]
        for i, (frame, fingertip) in enumerate(zip(self.frames, scene.fingertips), start=1):
            apart = ball - data.oMf[frame].translation
            distance = np.sqrt(apart @ apart)
            normal = apart / distance
            phi[i] = distance - fingertip["sphere"] - scene.ball_radius
            twist = pinocchio.getFrameJacobian(model, data, frame, pinocchio.LOCAL_WORLD_ALIGNED)
            # The fingertip's own witness point, one radius along n from its centre: v + ω × r.
            velocity = twist[:3] - fingertip["sphere"] * skew(normal) @ twist[3:]
            bases[i] = basis(normal)
            jacobian[3 * i : 3 * i + 3, :3] = bases[i]
            jacobian[3 * i : 3 * i + 3, 3:] = -bases[i] @ velocity
        return jacobian, phi, bases


def skew(a: np.ndarray) -> np.ndarray:
    """[a]× as a matrix."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def basis(normal: np.ndarray) -> np.ndarray:
    """Rows n, t₁, t₂ = n × t₁ (Duff et al. 2017)."""
    x, y, z = normal
    sign = 1.0 if z >= 0.0 else -1.0
    a = -1.0 / (sign + z)
    b = x * y * a
    return np.array([normal, [1.0 + sign * x * x * a, sign * b, -sign * x], [b, sign + y * y * a, -y]])


class Step:
    """One step: the program is built once, states are its parameters."""

    def __init__(self, scene: Scene, kappa: float, bounded: bool) -> None:
        self.scene, self.kappa = scene, kappa
        self.kinematics = Kinematics(scene)
        n_robot = len(scene.joints)
        n_contacts = 1 + len(scene.fingertips)
        self.weight = scene.ball_mass * np.array(GRAVITY)
        mass = scene.epsilon * scene.ball_mass / scene.time_step**2
        diagonal = np.r_[3 * [mass], scene.stiffness]

        delta = casadi.SX.sym("delta", 3 + n_robot)
        jacobian = casadi.SX.sym("jacobian", 3 * n_contacts, 3 + n_robot)
        phi, q_a, u = (casadi.SX.sym(*of) for of in (("phi", n_contacts), ("q_a", n_robot), ("u", n_robot)))
        gradient = -casadi.vertcat(self.weight, casadi.DM(scene.stiffness) * (u - q_a))
        slack = casadi.reshape(jacobian @ delta, 3, n_contacts)
        normal = slack[0, :].T + phi
        margin = normal**2 - scene.friction**2 * (slack[1, :] ** 2 + slack[2, :] ** 2).T
        energy = 0.5 * casadi.dot(diagonal * delta, delta) + casadi.dot(gradient, delta)
        parameters = casadi.vertcat(casadi.vec(jacobian), phi, q_a, u)
        program = {"x": delta, "f": energy - casadi.sum1(casadi.log(margin)) / kappa, "p": parameters}
        if bounded:
            program["g"] = normal
        self.limits = {"lbg": 0.0} if bounded else {}
        options = {"print_time": False, "show_eval_warnings": False, "calc_lam_p": False}
        self.solver = casadi.nlpsol("step", "ipopt", program, options | {"ipopt": {"print_level": 0, "sb": "yes"}})

    def minimise(
        self, jacobian: np.ndarray, phi: np.ndarray, q: np.ndarray, u: np.ndarray, guess: Guess = 0.0
    ) -> np.ndarray:
        """δ by IPOPT from a guess, with its own tolerances."""
        parameters = np.concatenate((jacobian.ravel(order="F"), phi, q[3:], u))
        return self.solver(x0=guess, p=parameters, **self.limits)["x"].full().ravel()

    def __call__(self, q: np.ndarray, u: np.ndarray, guess: Guess = 0.0) -> np.ndarray:
        """δ: kinematics and solve."""
        jacobian, phi, _ = self.kinematics(q)
        return self.minimise(jacobian, phi, q, u, guess)

    def slack(self, q: np.ndarray, delta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ν (6, 3) and the frames that it is in."""
        jacobian, phi, bases = self.kinematics(q)
        slack = (jacobian @ delta).reshape(-1, 3)
        slack[:, 0] += phi
        return slack, bases

    def is_inside(self, q: np.ndarray, delta: np.ndarray) -> bool:
        """Whether every contact ends in the cone rather than in its mirror image."""
        return bool((self.slack(q, delta)[0][:, 0] > 0.0).all())

    def forces(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """Forces on the ball in world axes, (6, 3): λ = 2 G ν/(κ s)."""
        slack, bases = self.slack(q, delta)
        scaled = slack * np.array([1.0, -(self.scene.friction**2), -(self.scene.friction**2)])
        margin = np.einsum("ij,ij->i", slack, scaled)
        return np.einsum("i,ij,ijk->ik", 2.0 / (self.kappa * margin), scaled, bases)


def trajectory(step: Step, q: np.ndarray, controls: np.ndarray) -> list[np.ndarray]:
    """States from q on, each solve started from the one before."""
    states, delta = [q], np.zeros(q.size)
    for u in controls:
        delta = step(states[-1], u, delta)
        states.append(states[-1] + delta)
    return states


def ours_of(command: list[str], kappa: float, given: list[Given]) -> list[dict]:
    """Our steps of the same states and commands."""
    lines = [json.dumps({"q": q.tolist(), "u": u.tolist(), "params": {"kappa": kappa}}) for q, u in given]
    done = subprocess.run(
        [*command, "step", SCENE_FILE], input="\n".join(lines), capture_output=True, text=True, check=True, cwd=ROOT
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(lines) and all(answer["status"] == "solved" for answer in answers)
    return answers


def compare(step: Step, given: list[Given], answers: list[dict]) -> tuple[dict, list[bool]]:
    """Largest differences between IPOPT's cold steps and ours, of those that neither failed nor ended mirrored."""
    right = []
    result = {"compared": len(answers), "failed": 0, "mirrored": 0, "q_next": 0.0, "forces": 0.0}
    for (q, u), answer in zip(given, answers):
        delta = step(q, u)
        right.append(step.solver.stats()["success"] and step.is_inside(q, delta))
        if not step.solver.stats()["success"]:
            result["failed"] += 1
        elif not right[-1]:
            result["mirrored"] += 1
        else:
            forces = np.array(answer["forces"])
            apart = float(np.abs(step.forces(q, delta) - forces).max() / np.abs(forces).max())
            result["q_next"] = max(result["q_next"], float(np.abs(q + delta - answer["q_next"]).max()))
            result["forces"] = max(result["forces"], apart)
    return result, right


def cold_times(step: Step, given: list[Given]) -> dict:
    """Solves from δ = 0, µs per step."""
    ready = [(*step.kinematics(q)[:2], q, u) for q, u in given]
    iterations = []
    for problem in ready:
        step.minimise(*problem)
        iterations.append(step.solver.stats()["iter_count"])
    return {
        "iterations": float(np.mean(iterations)),
        "kinematics": median_microseconds(lambda: [step.kinematics(q) for q, _ in given]) / len(given),
        "solve": median_microseconds(lambda: [step.minimise(*problem) for problem in ready], 1.0) / len(given),
        "step": median_microseconds(lambda: [step(q, u) for q, u in given], 1.0) / len(given),
    }


def rollout_time(step: Step, start: np.ndarray, controls: np.ndarray) -> float | None:
    """A step of a rollout, kinematics included, each solve started from the one before; nothing if one goes wrong."""
    q, delta = start, np.zeros(start.size)
    for u in controls:
        delta = step(q, u, delta)
        if not (step.solver.stats()["success"] and step.is_inside(q, delta)):
            return None
        q = q + delta
    return median_microseconds(lambda: trajectory(step, start, controls), 1.0) / len(controls)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kappa", type=float, default=100.0)
    parser.add_argument("--ours", required=True, help="our command line, for the comparison of the steps")
    arguments = parser.parse_args()
    scene, kappa = Scene(), arguments.kappa
    forms = {"free": Step(scene, kappa, bounded=False), "bounded": Step(scene, kappa, bounded=True)}

    # From home to the middle of the script, as `fingertip bench` does, then on for a rollout.
    before = round(scene.middle() / scene.time_step)
    controls = np.array(scene.controls(0.0, before + ROLLOUT_STEPS))
    home = np.array([*scene.ball_start, *scene.home])
    path = list(zip(trajectory(forms["bounded"], home, controls)[:-1], controls))
    random = np.random.default_rng(1)
    around = [tuple(part + random.uniform(-NOISE, NOISE, part.size) for part in path[before]) for _ in range(SAMPLES)]
    answers = ours_of(shlex.split(arguments.ours), kappa, path + around)

    values: dict = {"versions": {"casadi": casadi.__version__, "pinocchio": pinocchio.__version__}, "kappa": kappa}
    for name, step in forms.items():
        agreement, right = compare(step, path + around, answers)
        cold = [given for given, is_right in zip(around, right[len(path) :]) if is_right]
        values[name] = {
            "agreement": agreement,
            "cold": cold_times(step, cold) if 2 * len(cold) >= SAMPLES else None,
            "rollout": rollout_time(step, path[before][0], controls[before:]),
        }
    report(values)


if __name__ == "__main__":
    main()
