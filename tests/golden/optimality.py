"""Checks that the answers in contact_steps.json, grasp.json and cart.json are answers: `python3 tests/golden/optimality.py`.

Each is the one solution of a convex problem, told by its conditions: of a step of cubes, v+ = v + M^-1 J'x with
0 <= x, J v+ >= 0 and x.(J v+) = 0; of a grasp, multipliers of its balance and its bounds; of a cart, 0 <= f, a + M f >= 0 and
f.(a + M f) = 0. Needs numpy.
"""

import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
# The programs that made the files stopped here, relative to the largest number (grasps: to the largest multiplier).
SOLVED = 1e-9


def read(name):
    return json.loads((HERE / name).read_text())


def step(case):
    mass, slope, impulse, after = (np.array(case[key]) for key in ("M", "J", "impulse", "v_next"))
    motion = np.array(case["v_free"]) + np.linalg.solve(mass, slope.T @ impulse)
    own = np.einsum("ij,ji->i", slope, np.linalg.solve(mass, slope.T))
    scale = max(np.abs(case["v_free"]).max(), np.abs(own * impulse).max())
    return max(np.abs(motion - after).max(), np.abs(np.minimum(own * impulse, slope @ after)).max()) / scale


def grasp(case):
    """The objective's slope is J_o y + z with z >= 0 where f is at its bound, 0 elsewhere."""
    slope, weight, force, joints = np.array(case["J"]), np.array(case["g"]), np.array(case["f"]), 14
    torque = weight[:joints] - slope[:, :joints].T @ force
    gradient = -slope[:, :joints] @ torque
    free = force > case["eps"] + 1e-9
    push = slope[:, joints:]
    balance = np.linalg.lstsq(push[free], gradient[free], rcond=None)[0]
    multipliers = gradient - push @ balance
    return max(
        np.abs(push.T @ force - weight[joints:]).max() / np.abs(weight).max(),
        np.abs(torque - case["tau"]).max() / np.abs(torque).max(),
        abs(0.5 * torque @ torque / case["cost"] - 1),
        np.maximum(0, case["eps"] - force).max(),
        np.abs(multipliers[free]).max() / np.abs(gradient).max(),
        np.maximum(0, -multipliers).max() / np.abs(gradient).max(),
    )


def cart(case):
    """Semi-implicit Euler: v += h (u + f)/m, q += h v, with f the least that keeps q from the wall."""
    q, v, m, h = case["q0"], case["v0"], case["m"], case["h"]
    before, change, after = case["u"] if isinstance(case["u"], list) else (case["u"], 0, case["u"])
    rows = []
    for k in range(len(case["trajectory"])):
        u = before if k < change else after
        f = max(0.0, -(q + h * v + h * h * u / m) * m / h**2)
        v += h * (u + f) / m
        q += h * v
        rows.append((q, v, f))
    return np.abs(np.array(rows) - case["trajectory"]).max() / np.abs(rows).max()


def general(case):
    found = np.array(case["M"]) @ case["f"] + case["a"]
    own = np.diag(case["M"]) * case["f"]
    return max(np.abs(found - case["w"]).max(), np.abs(np.minimum(own, found)).max()) / np.abs(case["a"]).max()


def main():
    carts = read("cart.json")
    for name, errors in {
        "steps of cubes": [step(case) for case in read("contact_steps.json")["cases"]],
        "grasps": [grasp(case) for case in read("grasp.json")["cases"]],
        "carts": [cart(case) for case in carts["carts"]],
        "complementarity": [general(case) for case in carts["general"]],
    }.items():
        print(f"{name}: {len(errors)}, {max(errors):.0e} off")
        assert max(errors) < SOLVED, "not what the file says"


if __name__ == "__main__":
    main()
