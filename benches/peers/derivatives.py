"""Derivatives of a step where contacts and connections are stiff, against its formulas in 140 digits.

    python benches/peers/derivatives.py [--states 800] [--seed 7] [--fingertip target/release/fingertip]

A ball on three slides is pulled over a plane by a connection of 10^3 to 10^8 N/m to a commanded slide, up to 1 m open,
by both laws, with impratio up to 10^6 and kappa from 10^4 to 3 10^8. Prints how many states were solved, and the
largest errors of dq/dq and of the normal force's derivative by q, relative to the largest entry of each.
"""

import argparse
import json
import pathlib
import random
import subprocess
import tempfile

import mpmath as mp

mp.mp.dps = 140
TINY = mp.mpf(10) ** -80
RADIUS, MASS, LIGHT, STIFFNESS = 0.02, 0.1, 1e-3, 100.0
BATCH = 4


def urdf():
    inertia = "<inertia ixx='1e-5' iyy='1e-5' izz='1e-5' ixy='0' ixz='0' iyz='0'/>"
    ball = f"<collision><geometry><sphere radius='{RADIUS}'/></geometry></collision>"
    link = lambda name, mass, more="": f"<link name='{name}'><inertial><mass value='{mass}'/>{inertia}</inertial>{more}</link>"
    limit = "<limit lower='-5' upper='5' effort='1' velocity='1'/>"
    joint = lambda name, parent, child, axis: (
        f"<joint name='{name}' type='prismatic'><parent link='{parent}'/><child link='{child}'/><axis xyz='{axis}'/>{limit}</joint>"
    )
    links = "<link name='w'/>" + link("x", LIGHT) + link("y", LIGHT) + link("ball", MASS, ball) + link("c", MASS)
    joints = joint("jx", "w", "x", "1 0 0") + joint("jy", "x", "y", "0 1 0") + joint("jz", "y", "ball", "0 0 1")
    return f"<robot name='r'>{links}{joints}{joint('jc', 'w', 'c', '1 0 0')}</robot>"


def scene(law, k, impratio, kappa, mu, at):
    return f"""[params]
kappa = {kappa}
mu = {mu}
friction = "{law}"
impratio = {impratio}
[[object]]
name = "g"
halfspace = [0, 0, 1, 0]
[[robot]]
name = "r"
urdf = "ball.urdf"
stiffness = {STIFFNESS}
passive = ["jx", "jy", "jz"]
home = {{ jz = 0.05 }}
connections = [{{ a = "ball", b = "c", at_b = {at}, stiffness = {k} }}]
[[pair]]
a = "r"
b = "r"
enabled = false
"""


def balance(delta, q, u, law, k, impratio, kappa, mu, at):
    """P delta + g - f, and the force f on the ball."""
    masses = [MASS + 2 * mp.mpf(LIGHT), MASS + mp.mpf(LIGHT), mp.mpf(MASS)]
    p = mp.diag([mp.mpf("0.1") / mp.mpf("0.01") ** 2 * mass for mass in masses] + [mp.mpf(STIFFNESS)])
    j = mp.matrix([[-1, 0, 0, 1], [0, -1, 0, 0], [0, 0, -1, 0]])
    gap = mp.matrix([q[3] - q[0] + at[0], at[1] - q[1], at[2] - q[2]])
    g = mp.matrix([0, 0, masses[2] * mp.mpf("9.81"), -STIFFNESS * (u - q[3])])
    left = (p + k * j.T * j) * mp.matrix(delta) + g + k * j.T * gap
    ratio = impratio if law == "coulomb" else 1
    slip = [ratio * delta[0], ratio * delta[1]]
    across, normal = mu * mp.hypot(*slip), q[2] - RADIUS + delta[2]
    if law == "coulomb":
        normal += mp.hypot(normal, across)
    factor = 2 / (kappa * (normal - across) * (normal + across))
    force = [-factor * mu**2 * slip[0], -factor * mu**2 * slip[1], factor * normal]
    return [left[i] - (force[i] if i < 3 else 0) for i in range(4)], force


def columns(of, x):
    """The derivatives of a function of four numbers."""
    here = of(x)
    moved = [of([x[i] + (TINY if i == j else 0) for i in range(4)]) for j in range(4)]
    return mp.matrix([[(moved[j][i] - here[i]) / TINY for j in range(4)] for i in range(len(here))])


def derivatives(delta, q, u, of):
    for _ in range(60):
        slope = columns(lambda delta: balance(delta, q, u, *of)[0], delta)
        change = mp.lu_solve(slope, -mp.matrix(balance(delta, q, u, *of)[0]))
        delta = [delta[i] + change[i] for i in range(4)]
        if max(abs(x) for x in change) < mp.mpf(10) ** -70:
            break
    by_q = -mp.inverse(slope) * columns(lambda q: balance(delta, q, u, *of)[0], q)
    forces = columns(lambda delta: balance(delta, q, u, *of)[1], delta) * by_q
    return by_q + mp.eye(4), forces + columns(lambda q: balance(delta, q, u, *of)[1], q)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=800)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--fingertip", default="target/release/fingertip")
    args = parser.parse_args()
    random.seed(args.seed)
    between = random.uniform
    solved, worst = 0, [0.0, 0.0]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "ball.urdf").write_text(urdf())
        for _ in range(args.states // BATCH):
            law = random.choice(["relaxed", "coulomb"])
            impratio = 1 if law == "relaxed" else 10 ** between(0, 6)
            k, kappa, mu = 10 ** between(3, 8), 10 ** between(4, 8.5), between(0.2, 1)
            at = [between(-0.3, 0.3) for _ in range(3)]
            (path / "scene.toml").write_text(scene(law, k, impratio, kappa, mu, at))
            states = [
                ([between(-0.3, 0.3), between(-0.1, 0.1), RADIUS + 10 ** between(-5, -1.5), between(-0.3, 0.3)], between(-0.5, 0.5))
                for _ in range(BATCH)
            ]
            lines = [{"q": q, "u": [u], "output": ["q_next", "status", "dq_next_dq", "dlambda_dq"]} for q, u in states]
            answer = subprocess.run(
                [args.fingertip, "step", str(path / "scene.toml")],
                input="".join(json.dumps(line) + "\n" for line in lines), capture_output=True, text=True, check=True,
            ).stdout
            of = (law, mp.mpf(k), mp.mpf(impratio), mp.mpf(kappa), mp.mpf(mu), [mp.mpf(x) for x in at])
            for (q, u), line in zip(states, map(json.loads, answer.splitlines())):
                if line["status"] != "solved":
                    continue
                solved += 1
                q = [mp.mpf(x) for x in q]
                delta = [mp.mpf(x) - y for x, y in zip(line["q_next"], q)]
                motion, force = derivatives(delta, q, mp.mpf(u), of)
                errors = [
                    max(abs(motion[i, j] - line["dq_next_dq"][i][j]) for i in range(4) for j in range(4)) / max(map(abs, motion)),
                    max(abs(force[2, j] - line["dlambda_dq"][0][j]) for j in range(4)) / max(map(abs, force)),
                ]
                worst = [max(a, float(b)) for a, b in zip(worst, errors)]
    print(f"{solved} of {args.states} states solved; largest errors: dq/dq {worst[0]:.1e}, dlambda/dq {worst[1]:.1e}")


if __name__ == "__main__":
    main()
