"""Solves the steps of quasidynamic_hand.json again, in 50 digits, and compares: `python3 tests/golden/hand_steps.py [CASES]`.

Kinematics by a walk over assets/robots/hand21.urdf; the condition grad F = 0 of

    F(d) = d'Pd/2 + g'd - sum log(s_i)/kappa,   nu = J d + phi n,   s = nu_n^2 - mu^2 |nu_t|^2

by Newton's method. F is strictly convex, so that its one minimiser does not depend on where Newton starts: it starts at what
is to be checked. Derivatives are central differences of the whole, with a step of 1e-20. Needs mpmath; takes some minutes.
"""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

from mpmath import cos, diag, eye, lu_solve, matrix, mp, mpf, norm, sin, sqrt, zeros

mp.dps = 50
HERE = Path(__file__).parent
TIPS = ["1_thumb4", "2_index4", "3_middle4", "4_ring4", "5_little4"]
PAD, TIP = matrix([-0.001, 0.0, 0.027]), mpf(0.015)
GRAVITY = mpf(-9.81)
STEP = mpf(10) ** -20


def numbers(text):
    return matrix([float(x) for x in text.split()])


def cross(a, b):
    return matrix([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def turn(axis, angle):
    x, y, z = axis
    k = matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return eye(3) + sin(angle) * k + (1 - cos(angle)) * k * k


def joints():
    """Each child link's joint: parent, moves by turning?, number in q, origin, axis."""
    found, n = {}, 0
    for joint in ElementTree.parse(HERE / "../../assets/robots/hand21.urdf").getroot().iter("joint"):
        kind, origin = joint.get("type"), joint.find("origin")
        roll, pitch, yaw = numbers(origin.get("rpy", "0 0 0"))
        rotation = turn([0, 0, 1], yaw) * turn([0, 1, 0], pitch) * turn([1, 0, 0], roll)
        axis = numbers(joint.find("axis").get("xyz")) if kind != "fixed" else None
        found[joint.find("child").get("link")] = (
            joint.find("parent").get("link"), kind, n, rotation, numbers(origin.get("xyz")), axis,
        )
        n += kind != "fixed"
    return found


JOINTS = joints()


def fingertip(link, q):
    """Centre of a fingertip's sphere, and the way to it: (number, turns?, axis in the world, a point on it)."""
    path, at = [], link
    while at in JOINTS:
        path.append(JOINTS[at])
        at = path[-1][0]
    rotation, place, moves = eye(3), zeros(3, 1), []
    for _, kind, k, own, xyz, axis in reversed(path):
        place, rotation = place + rotation * xyz, rotation * own
        if kind == "prismatic":
            moves.append((k, False, rotation * axis, place))
            place = place + rotation * axis * q[k]
        elif kind != "fixed":
            moves.append((k, True, rotation * axis, place))
            rotation = rotation * turn(axis, q[k])
    return place + rotation * PAD, moves


def contacts(case):
    """(phi, n, J) of the contacts in the sum: of the ball against the table, then against the fingertips."""
    n = len(case["q_a"])
    ball, radius = matrix(case["q_o"]), case["radius"]
    up = matrix([0, 0, 1])
    all_contacts = [(ball[2] - radius - case["table_height"], up, [])]
    for tip in TIPS:
        centre, moves = fingertip(f"finger_r_link_{tip}", case["q_a"])
        away = ball - centre
        normal = away / norm(away)
        point = centre + TIP * normal
        columns = [(k, cross(axis, point - at) if turns else axis) for k, turns, axis, at in moves]
        all_contacts.append((norm(away) - radius - TIP, normal, columns))
    for touching, (phi, normal, columns) in zip(case["flag"], all_contacts):
        if touching:
            jacobian = zeros(3, 3 + n)
            jacobian[:, :3] = eye(3)
            for k, column in columns:
                jacobian[:, 3 + k] = -column
            yield phi, normal, jacobian


def solve(case, start):
    """The next configuration and the forces on the ball."""
    q = matrix(list(case["q_o"]) + list(case["q_a"]))
    mu, kappa, m = case["mu"], case["kappa"], case["M_o"]
    springs = [k * (u - x) for k, u, x in zip(case["K_a"], case["u"], case["q_a"])]
    p = diag([case["eps"] * m / case["h"] ** 2] * 3 + list(case["K_a"]))
    g = -matrix([0, 0, m * GRAVITY] + springs)
    found = list(contacts(case))
    delta = matrix(start) - q
    for _ in range(30):
        gradient, hessian, forces = p * delta + g, p.copy(), []
        for phi, normal, jacobian in found:
            nu = jacobian * delta + phi * normal
            along = dot(normal, nu)
            across = nu - along * normal
            s = along**2 - mu**2 * dot(across, across)
            assert along > 0 and s > 0, "outside of a cone"
            w = along * normal - mu**2 * across
            shape = normal * normal.T - mu**2 * (eye(3) - normal * normal.T)
            forces.append(2 / (kappa * s) * w)
            gradient -= jacobian.T * forces[-1]
            hessian += jacobian.T * (4 / s**2 * w * w.T - 2 / s * shape) / kappa * jacobian
        step = lu_solve(hessian, gradient)
        delta -= step
        if norm(step) < mpf(10) ** -40:
            return q + delta, forces
    raise ArithmeticError(f"case {case['id']}: Newton's method does not converge")


def exact(value):
    if isinstance(value, list):
        return [exact(x) for x in value]
    return mpf(value) if isinstance(value, float) else value


def moved(case, key, k, by):
    changed = dict(case)
    changed[key] = case[key] + by if k is None else [x + by * (i == k) for i, x in enumerate(case[key])]
    return changed


def off(found, expected):
    """The largest difference over the largest number, if there is one."""
    pairs = [(x, y) for a, b in zip(found, expected) for x, y in zip(a, b)]
    largest = max((abs(y) for _, y in pairs), default=0)
    return float(max((abs(x - y) for x, y in pairs), default=0) / (largest or 1))


def main():
    wanted = [int(x) for x in sys.argv[1:]]
    worst = {}
    for given in json.loads((HERE / "quasidynamic_hand.json").read_text())["cases"]:
        if wanted and given["id"] not in wanted:
            continue
        case = {key: exact(value) for key, value in given.items() if key != "derivatives"}
        next_q, forces = solve(case, given["q_plus"])
        errors = {"q_plus": off([next_q], [given["q_plus"]]), "force": off(forces, given["force"])}
        for name, columns in given.get("derivatives", {}).items():
            key = {"dqo": "q_o", "dqa": "q_a", "du": "u"}.get(name.split("_", 1)[1], name.split("_d", 1)[1])
            numbers_of = range(len(case[key])) if isinstance(case[key], list) else [None]
            ends = [[solve(moved(case, key, k, by), next_q)[0] for by in (STEP, -STEP)] for k in numbers_of]
            slopes = [(plus - minus) / (2 * STEP) for plus, minus in ends]
            rows = columns if isinstance(columns[0], list) else [[x] for x in columns]
            errors[name] = off([[slope[i] for slope in slopes] for i in range(len(rows))], rows)
        print(given["id"], {name: f"{error:.0e}" for name, error in errors.items()}, flush=True)
        worst = {name: max(error, worst.get(name, 0.0)) for name, error in {**worst, **errors}.items()}
    print("worst, relative to the largest number:", worst)
    # The file has the doubles next to the exact numbers.
    assert max(worst.values()) < 1e-15, "not what the file says"


if __name__ == "__main__":
    main()
