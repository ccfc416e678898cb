"""Signed distances of two convex shapes, without a scene."""

from ._fingertip import Distance, Shape, distance

__all__ = ["Distance", "Shape", "distance"]
