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


def uniform(numbers: _Floats) -> _Floats:
    """Rotations (…, 4), all equally likely, of three numbers (…, 3) from 0 to 1, by K. Shoemake, Uniform Random Rotations (Graphics
    Gems III, 1992)."""
    u, v, w = np.moveaxis(numbers, -1, 0)
    a, b = np.sqrt(1 - u), np.sqrt(u)
    turns = 2 * np.pi
    return np.stack([a * np.sin(turns * v), a * np.cos(turns * v), b * np.sin(turns * w), b * np.cos(turns * w)], -1)
