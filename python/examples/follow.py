"""A hand follows a human's 21 keypoints, as a whole and frame by frame, and the motion drives the simulator.

python python/examples/follow.py

The commands go to the step of the scene, where joints are springs: what the fingertips do there is what they were told, but for what
they touch.
"""

from pathlib import Path

import numpy as np

import fingertip as ft

ROOT = Path(__file__).resolve().parents[2]
model = ft.Model.load("allegro_plate")
found = ft.follow(model, ROOT / "assets/recorded/human_hand.csv")
print(found)
assert found.least_gap > 0, "own parts overlap"

# The same, a frame at a time, as from a tracker.
follower = ft.Follower(model)
for frame, expected in zip(found.keypoints[:20], found.u[:20]):
    u = follower.step(frame, dt=1 / 30)
    assert np.allclose(u, expected, atol=0.05)

# Rolled out with contact, the cube on the palm.
sim = ft.Quasidynamic(model, h=1 / 30)
run = sim.rollout(model.home(), found.u[:60])
first = model.nq - model.nu
print(f"joints are within {np.abs(run.q[1:, first:] - found.u[:60]).max():.3f} rad of their commands; the cube moved by "
      f"{1e3 * np.linalg.norm(run.q[-1, :3] - run.q[0, :3]):.0f} mm")  # fmt: skip
