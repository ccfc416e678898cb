"""Rigid-body dynamics of a model's bodies: M(q) a + b(q, v) = τ, without contacts."""

from ._fingertip import Dynamics

__all__ = ["Dynamics"]
