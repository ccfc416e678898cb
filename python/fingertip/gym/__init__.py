"""Environments for gymnasium's trainers: many worlds in one process, stepped as a batch.

`CubeReorient` turns a cube in an Allegro hand, by the conventions of Isaac Lab where they apply; `LeapCubeReorient` turns one in a LEAP
hand, by those of MuJoCo Playground; `RotateInHand` turns one about the vertical, by those of ManiSkill, and `ShadowBlock` one in a Shadow
hand, by those of Gymnasium-Robotics. The step has no velocities: those in observations are (q₊ − q)/h, of the last simulation step.
World i draws from a stream of its own, given by the seed and i: what it does depends neither on the number of worlds nor on
threads.

```python
env = gymnasium.make_vec("fingertip.gym:FingertipAllegroCube-v0", num_envs=64)
env = gymnasium.make_vec("fingertip.gym:FingertipLeapCubeReorient-v0", num_envs=64)
env = gymnasium.make_vec("fingertip.gym:FingertipAllegroRotate-v0", num_envs=64)
env = gymnasium.make_vec("fingertip.gym:FingertipShadowBlock-v0", num_envs=64)  # with Gymnasium-Robotics' hand
env = gymnasium.make("fingertip.gym:FingertipAllegroCube-v0")  # one world, without a batch's axis
```
"""

import functools

import gymnasium

from .allegro import CubeReorient, Settings, goal_rotation, reward, scaled, unscaled
from .leap import LeapCubeReorient, LeapSettings, leap_reward_terms
from .rotate import RotateInHand, RotateSettings, rotate_reward_terms
from .rotations import angle, angular_velocity, rotation_error
from .shadow import ShadowBlock, ShadowSettings, goal_distance, shadow_model
from .single import Single
from .worlds import Worlds

__all__ = [
    "CubeReorient",
    "LeapCubeReorient",
    "LeapSettings",
    "RotateInHand",
    "RotateSettings",
    "Settings",
    "ShadowBlock",
    "ShadowSettings",
    "Single",
    "Worlds",
    "angle",
    "angular_velocity",
    "goal_distance",
    "goal_rotation",
    "leap_reward_terms",
    "reward",
    "rotate_reward_terms",
    "rotation_error",
    "scaled",
    "shadow_model",
    "unscaled",
]

for _name, _class in (
    ("FingertipAllegroCube-v0", CubeReorient),
    ("FingertipLeapCubeReorient-v0", LeapCubeReorient),
    ("FingertipAllegroRotate-v0", RotateInHand),
    ("FingertipShadowBlock-v0", ShadowBlock),
):
    if _name not in gymnasium.registry:
        gymnasium.register(_name, functools.partial(Single, _class), vector_entry_point=f"fingertip.gym:{_class.__name__}")
