import numpy as np
import pytest

import fingertip as ft
from fingertip.collision import Shape, distance

HERE = [0, 0, 0, 1, 0, 0, 0]


def test_box_and_egg():
    near = distance(Shape.box([0.1, 0.1, 0.1]), HERE, Shape.ellipsoid([0.02, 0.02, 0.03]), [0, 0, 0.15, 1, 0, 0, 0])
    assert near.phi == pytest.approx(0.02, abs=1e-15) and near.phi.shape == ()
    assert near.normal.tolist() == pytest.approx([0, 0, 1])
    assert np.allclose(near.point_b - near.point_a, near.phi * near.normal)


def test_many_poses():
    poses = np.array([[x, 0, 0, 2, 0, 0, 0] for x in np.linspace(-0.1, 0.1, 5)])  # quaternions of any length
    near = distance(Shape.sphere(0.02), poses, Shape.capsule(0.01, 0.03), HERE)
    assert near.phi.shape == (5,) and near.normal.shape == near.point_a.shape == near.point_b.shape == (5, 3)
    assert np.allclose(near.phi, np.abs(poses[:, 0]) - 0.03)
    both = distance(Shape.sphere(0.02), poses, Shape.capsule(0.01, 0.03), np.tile(HERE, (5, 1)))
    assert np.array_equal(both.phi, near.phi)


def test_shapes():
    corners = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T * 0.1
    hull, box = Shape.hull(corners), Shape.box((0.1, 0.1, 0.1))
    below, above = Shape.halfspace(), [0.0, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0]
    phi = [float(distance(below, HERE, shape, above).phi) for shape in (hull, box)]
    assert phi == pytest.approx([0.2, 0.2])
    assert Shape.cylinder(0.1, 0.2) == Shape.cylinder(0.1, 0.2) != Shape.cylinder(0.1, 0.3)
    assert "radius: 0.1" in repr(Shape.sphere(0.1)) and "8" in repr(hull)


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (lambda: Shape.sphere(-1), "sphere radius: expected"),
        (lambda: Shape.box([1, 1]), r"half_extents: expected shape \(3,\), got \(2,\)"),
        (lambda: Shape.box([1, 1, 1], 2), "box rounding"),
        (lambda: Shape.hull([[0, 0, 0]]), "hull"),
        (lambda: distance(Shape.sphere(1), [0, 0, 0], Shape.sphere(1), HERE), r"pose_a: expected shape \(B, 7\)"),
        (lambda: distance(Shape.sphere(1), HERE, Shape.sphere(1), [0] * 7), "pose_b: expected finite .* other than zero"),
        (lambda: distance(Shape.sphere(1), [HERE] * 2, Shape.sphere(1), [HERE] * 3), "pose_b: expected 2 poses"),
        (lambda: distance(Shape.halfspace(), HERE, Shape.halfspace(), HERE), "at most one half-space"),
    ],
)
def test_bad_input(work, expected):
    with pytest.raises(ft.Error, match=expected):
        work()
