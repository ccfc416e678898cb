"""Environments for gymnasium's trainers: many worlds in one process, stepped as a batch.

`CubeReorient` turns a cube in an Allegro hand, by the conventions of Isaac Lab where they apply; `LeapCubeReorient` turns one in a LEAP
hand, by those of MuJoCo Playground. The step has no velocities: those in observations are (q₊ − q)/h, of the last simulation step.
World i draws from a stream of its own, given by the seed and i: what it does depends neither on the number of worlds nor on
threads.

```python
env = gymnasium.make_vec("fingertip.gym:FingertipAllegroCube-v0", num_envs=64, scene="allegro_cube")
env = gymnasium.make_vec("fingertip.gym:FingertipLeapCubeReorient-v0", num_envs=64)
```
"""

import gymnasium

from .allegro import CubeReorient, Settings, goal_rotation, reward, scaled, unscaled
from .leap import LeapCubeReorient, LeapSettings, leap_reward_terms
from .rotations import angle, angular_velocity, rotation_error
from .worlds import Worlds

__all__ = [
    "CubeReorient",
    "LeapCubeReorient",
    "LeapSettings",
    "Settings",
    "Worlds",
    "angle",
    "angular_velocity",
    "goal_rotation",
    "leap_reward_terms",
    "reward",
    "rotation_error",
    "scaled",
    "unscaled",
]

for _name, _class in (("FingertipAllegroCube-v0", "CubeReorient"), ("FingertipLeapCubeReorient-v0", "LeapCubeReorient")):
    if _name not in gymnasium.registry:
        gymnasium.register(_name, vector_entry_point=f"fingertip.gym:{_class}")
