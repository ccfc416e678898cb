"""Unit quaternions (…, 4), w first."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_Floats: TypeAlias = NDArray[np.float64]


def product(a: _Floats, b: _Floats) -> _Floats:
    """Products a · b of quaternions (…, 4)."""
    (w, x, y, z), (i, j, k, m) = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
    return np.stack(
        [
            w * i - x * j - y * k - z * m,
            w * j + x * i + y * m - z * k,
            w * k - x * m + y * i + z * j,
            w * m + x * k - y * j + z * i,
        ],
        -1,
    )


def rotation_error(rotation: _Floats, goal: _Floats) -> _Floats:
    """rotation · goal⁻¹ of unit quaternions (…, 4), w first: the rotation from the goal, in world axes."""
    return product(rotation, goal * [1, -1, -1, -1])


def angle(error: _Floats) -> _Floats:
    """Angles of unit quaternions (…, 4), w first: from 0 to π, rad."""
    length = np.sqrt((error[..., 1:] ** 2).sum(-1))
    made: _Floats = 2 * np.arctan2(length, np.abs(error[..., 0]))
    return made


def angular_velocity(before: _Floats, after: _Floats, h: float) -> _Floats:
    """The steady angular velocity (…, 3) along world axes that turns `before` into `after`, unit quaternions (…, 4), in h s;
    rad/s."""
    error = rotation_error(after, before)
    error = np.where(error[..., :1] < 0, -error, error)
    length = np.sqrt((error[..., 1:] ** 2).sum(-1, keepdims=True))
    # The angle over its sine goes to 2.
    factor = np.where(length > 1e-9, 2 * np.arctan2(length, error[..., :1]) / np.maximum(length, 1e-9), 2.0)
    return factor * error[..., 1:] / h


def turned(rotation: _Floats, velocity: _Floats, time: float) -> _Floats:
    """Unit quaternions (…, 4) turned by steady angular velocities (…, 3), rad/s along their own axes, for some time, s."""
    rate = np.sqrt((velocity**2).sum(-1, keepdims=True))
    half = 0.5 * time * rate
    # The sine over the rate goes to time/2.
    by = np.where(rate > 1e-9, np.sin(half) / np.maximum(rate, 1e-9), 0.5 * time)
    made: _Floats = product(rotation, np.concatenate([np.cos(half), by * velocity], -1))
    made /= np.sqrt((made**2).sum(-1, keepdims=True))
    return made


def matrix(rotation: _Floats) -> _Floats:
    """Rotation matrices (…, 3, 3) of unit quaternions (…, 4)."""
    w, x, y, z = np.moveaxis(rotation, -1, 0)
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def of_matrix(axes: _Floats) -> _Floats:
    """Unit quaternions (…, 4), w ≥ 0, of rotation matrices (…, 3, 3)."""
    d = np.diagonal(axes, axis1=-2, axis2=-1)
    signs = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    # The largest of the four numbers, which none of the others is divided by in vain.
    largest = np.argmax(1 + d @ signs.T, axis=-1)
    differ = axes - np.swapaxes(axes, -1, -2)
    add = axes + np.swapaxes(axes, -1, -2)
    w = [1 + d.sum(-1), differ[..., 2, 1], differ[..., 0, 2], differ[..., 1, 0]]
    x = [w[1], 1 + d @ signs[1], add[..., 0, 1], add[..., 0, 2]]
    y = [w[2], x[2], 1 + d @ signs[2], add[..., 1, 2]]
    z = [w[3], x[3], y[3], 1 + d @ signs[3]]
    rows = np.stack([np.stack(row, -1) for row in (w, x, y, z)], -2)
    made: _Floats = np.take_along_axis(rows, largest[..., None, None], -2)[..., 0, :]
    made = made / np.sqrt((made**2).sum(-1, keepdims=True))
    return np.where(made[..., :1] < 0, -made, made)


def uniform(numbers: _Floats) -> _Floats:
    """Rotations (…, 4), all equally likely, of three numbers (…, 3) from 0 to 1, by K. Shoemake, Uniform Random Rotations (Graphics
    Gems III, 1992)."""
    u, v, w = np.moveaxis(numbers, -1, 0)
    a, b = np.sqrt(1 - u), np.sqrt(u)
    turns = 2 * np.pi
    return np.stack([a * np.sin(turns * v), a * np.cos(turns * v), b * np.sin(turns * w), b * np.cos(turns * w)], -1)
