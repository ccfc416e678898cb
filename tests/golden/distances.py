"""Compares the distances of pairs.json and collision.json with their definition: `python3 tests/golden/distances.py`.

The signed distance of convex bodies is the largest of n.(t_b - t_a) - h_b(-n) - h_a(n) over unit n, with their support
functions h. It is searched for from random directions, by steps that shrink. Needs numpy; takes half a minute.
"""

import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
# What iterations leave: coal's on curved bodies, the first program's search, and this one's.
COAL, FIRST, SEARCH = 1e-5, 1e-8, 1e-9
random = np.random.default_rng(1)


def support(shape):
    """The support function h of directions (k, 3)."""
    ((kind, size),) = shape.items()
    size = np.array(size)
    if kind == "box":
        rounding = size[3] if len(size) > 3 else 0.0
        core = size[:3] - rounding
        return lambda n: np.abs(n) @ core + rounding
    return {
        "sphere": lambda n: size[0] + 0 * n[:, 0],
        "capsule": lambda n: size[0] + size[1] * np.abs(n[:, 2]),
        "cylinder": lambda n: size[0] * np.hypot(n[:, 0], n[:, 1]) + size[1] * np.abs(n[:, 2]),
        "ellipsoid": lambda n: np.linalg.norm(n * size, axis=1),
        "hull": lambda n: (n @ size.T).max(axis=1),
        "halfspace": lambda n: np.where(n[:, 2] > 1 - 1e-12, 0.0, np.inf),
    }[kind]


def pose(numbers):
    return np.array(numbers[3:]).reshape(3, 3).T, np.array(numbers[:3])


def searched(gap):
    """The largest gap(n) over unit n."""
    best, size = random.normal(size=(4000, 3)), 1.0
    while size > 1e-9:
        best /= np.linalg.norm(best, axis=1)[:, None]
        best = best[np.argsort(-gap(best))[:20]]
        near = best.repeat(200, axis=0) + size * random.normal(size=(20 * 200, 3))
        best, size = np.concatenate([best, near]), 0.6 * size
    return gap(best / np.linalg.norm(best, axis=1)[:, None]).max()


def check(pair):
    """How far the file's distance and its bound are off, m."""
    (turn_a, at_a), (turn_b, at_b) = pose(pair["pose_a"]), pose(pair["pose_b"])
    h_a, h_b = support(pair["a"]), support(pair["b"])

    def gap(n):
        return n @ (at_b - at_a) - h_b(-n @ turn_b) - h_a(n @ turn_a)

    phi = gap(-turn_b[:, 2][None])[0] if "halfspace" in pair["b"] else searched(gap)
    return abs(phi - pair["phi"]), 0.0 if pair["bound"] is None else abs(phi - pair["bound"])


def main():
    for file in ("pairs", "collision"):
        pairs = json.loads((HERE / f"{file}.json").read_text())["pairs"]
        errors = np.array([check(pair) for pair in pairs if pair.get("reliable", True)])
        phi, bound = errors.max(axis=0)
        print(f"{file}.json: {len(errors)} of {len(pairs)} reliable, distances {phi:.0e} m off, bounds {bound:.0e} m")
        assert phi < COAL + SEARCH and bound < FIRST + SEARCH, "not what the file says"


if __name__ == "__main__":
    main()
