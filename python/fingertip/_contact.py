"""Contacts of a step."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Contact(NamedTuple):
    """A contact that takes part in a step: one of `Step.contacts`, of which `pandas.DataFrame` makes a table."""

    a: str
    """The body on side A, as `Model.contact_names` has it."""
    b: str
    """The body on side B."""
    point: NDArray[np.float64]
    """The contact point on B (3,), m, in the world."""
    normal: NDArray[np.float64]
    """The unit normal from A to B (3,), in world axes."""
    gap: float
    """The signed distance at the step's start, m; positive apart."""
    force: NDArray[np.float64]
    """The force on B (3,), N, in world axes; the opposite acts on A."""
    contact: int
    """Its index among `Model.contact_names`."""
    world: int
    """Its world."""

    def __repr__(self) -> str:
        place = ", ".join(f"{x:.3f}" for x in self.point)
        size = float(np.linalg.norm(self.force))
        return f"<fingertip.Contact {self.a} – {self.b} at ({place}) m: gap {1e3 * self.gap:.3g} mm, force {size:.3g} N, world {self.world}>"
