"""The quasi-dynamic step as research code solves it: Pinocchio for the kinematics, CasADi and IPOPT for the minimum.

    minimise over δ   ½ δᵀPδ + gᵀδ − (1/κ) Σ log(ν_n² − μ²‖ν_t‖²)      P = blkdiag(ε m/h², K_a),  g = −(m g; K_a (u − q_a))
                      ν = J δ + (φ, 0, 0),  q₊ = q + δ

Same equations, same numbers, same states as ours; q₊ and the forces are compared with those of `fingertip step`.
Prints one JSON object, µs of wall clock.
"""

import argparse
import json
import subprocess

import casadi
import numpy as np
import pinocchio

from scene import GRAVITY, NOISE, ROLLOUT_STEPS, ROOT, SCENE_FILE, Scene, median_microseconds, report

SAMPLES = 20  # states that the cold solve is timed on


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

    def __init__(self, scene: Scene, kappa: float) -> None:
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
        program = {"x": delta, "f": energy - casadi.sum1(casadi.log(margin)) / kappa, "p": parameters, "g": normal}
        quiet = {"print_time": False, "show_eval_warnings": False, "ipopt": {"print_level": 0, "sb": "yes"}}
        self.solver = casadi.nlpsol("step", "ipopt", program, quiet)

    def minimise(self, jacobian: np.ndarray, phi: np.ndarray, q: np.ndarray, u: np.ndarray, guess: object = 0) -> np.ndarray:
        """δ by IPOPT from a guess, with its own tolerances."""
        parameters = np.concatenate((jacobian.ravel(order="F"), phi, q[3:], u))
        return self.solver(x0=guess, p=parameters, lbg=0.0)["x"].full().ravel()

    def __call__(self, q: np.ndarray, u: np.ndarray, guess: object = 0) -> np.ndarray:
        """δ: kinematics and solve."""
        jacobian, phi, _ = self.kinematics(q)
        return self.minimise(jacobian, phi, q, u, guess)

    def forces(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """Forces on the ball in world axes, (6, 3): λ = 2 G ν/(κ s)."""
        jacobian, phi, bases = self.kinematics(q)
        slack = (jacobian @ delta).reshape(-1, 3)
        slack[:, 0] += phi
        scaled = slack * np.array([1.0, -(self.scene.friction**2), -(self.scene.friction**2)])
        margin = np.einsum("ij,ij->i", slack, scaled)
        return np.einsum("i,ij,ijk->ik", 2.0 / (self.kappa * margin), scaled, bases)


def trajectory(step: Step, q: np.ndarray, controls: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """States and steps from q on, each solve started from the one before."""
    states, deltas = [], []
    guess = np.zeros(q.size)
    for u in controls:
        guess = step(q, u, guess)
        states.append(q)
        deltas.append(guess)
        q = q + guess
    return states, deltas


def compare(ours: list[str], step: Step, states: list, controls: list, deltas: list) -> dict:
    """The largest differences between IPOPT's steps and ours, of the same states and commands."""
    lines = [
        json.dumps({"q": q.tolist(), "u": list(u), "params": {"kappa": step.kappa}}) for q, u in zip(states, controls)
    ]
    done = subprocess.run(
        [*ours, "step", SCENE_FILE], input="\n".join(lines), capture_output=True, text=True, check=True, cwd=ROOT
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    position, force = 0.0, 0.0
    for q, delta, answer in zip(states, deltas, answers, strict=True):
        position = max(position, np.abs(q + delta - answer["q_next"]).max())
        forces = np.array(answer["forces"])
        force = max(force, np.abs(step.forces(q, delta) - forces).max() / np.abs(forces).max())
    solved = sum(answer["status"] == "solved" for answer in answers)
    return {"compared": len(answers), "solved": solved, "q_next": position, "forces": force}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kappa", type=float, default=100.0)
    parser.add_argument("--ours", nargs="+", required=True, help="our command line, for the comparison of the steps")
    arguments = parser.parse_args()
    scene = Scene()
    step = Step(scene, arguments.kappa)

    # From home to the middle of the script, as `fingertip bench` does, then on for a rollout.
    before = round(scene.middle() / scene.time_step)
    controls = np.array(scene.controls(0.0, before + ROLLOUT_STEPS))
    start = np.r_[scene.ball_start, scene.home]
    states, deltas = trajectory(step, start, controls)
    agreement = compare(arguments.ours, step, states, controls, deltas)

    # Cold: states around the middle. Warm: the steps of the rollout, each from the one before.
    random = np.random.default_rng(1)
    noisy = [states[before] + random.uniform(-NOISE, NOISE, start.size) for _ in range(SAMPLES)]
    commands = [controls[before] + random.uniform(-NOISE, NOISE, len(scene.joints)) for _ in range(SAMPLES)]
    ready = [(*step.kinematics(q)[:2], q, u) for q, u in zip(noisy, commands)]
    iterations = []
    for arguments_of in ready:
        step.minimise(*arguments_of)
        iterations.append(step.solver.stats()["iter_count"])

    def all_cold() -> None:
        for of_state in ready:
            step.minimise(*of_state)

    def all_cold_with_kinematics() -> None:
        for q, u in zip(noisy, commands):
            step(q, u)

    def all_kinematics() -> None:
        for q in noisy:
            step.kinematics(q)

    tail = list(zip([step.kinematics(q)[:2] for q in states[before:]], states[before:], controls[before:]))

    def all_warm() -> None:
        guess = deltas[before - 1]
        for (jacobian, phi), q, u in tail:
            guess = step.minimise(jacobian, phi, q, u, guess)

    report({
        "versions": {"casadi": casadi.__version__, "pinocchio": pinocchio.__version__},
        "kappa": arguments.kappa,
        "agreement": agreement,
        "iterations": float(np.mean(iterations)),
        "cold": median_microseconds(all_cold, 1.0) / SAMPLES,
        "cold_with_kinematics": median_microseconds(all_cold_with_kinematics, 1.0) / SAMPLES,
        "kinematics": median_microseconds(all_kinematics) / SAMPLES,
        "warm": median_microseconds(all_warm, 1.0) / ROLLOUT_STEPS,
        "rollout": median_microseconds(lambda: trajectory(step, states[before], controls[before:]), 1.0) / ROLLOUT_STEPS,
    })


if __name__ == "__main__":
    main()
