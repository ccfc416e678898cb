"""Parameters from a log: the stiffness and damping of each joint of a LEAP hand that MuJoCo moved.

The log, `assets/recorded/leap_hand.csv`, has three seconds of commands and encoders with 1 mrad of noise. With the damping left as the
scene has it, no stiffness fits, and the fit says so.

    python python/examples/fit.py
"""

from pathlib import Path

import numpy as np

import fingertip as ft

ROOT = Path(__file__).resolve().parents[2]
# What MuJoCo had, of the first joints: N·m/rad and N·m·s/rad.
HIDDEN = {"stiffness": [1.147, 0.7944, 0.6319, 0.6166], "damping": [0.07189, 0.05212, 0.04092, 0.04628]}

scene = (
    ft.Scene(h=0.002)
    .robot("hand", urdf="leap16.urdf", stiffness=1.0, damping=0.05, armature=1e-3, dry_friction=0.0)
    .pair("hand", "hand", enabled=False)
)
model = scene.model(ROOT / "assets" / "robots")
log = ROOT / "assets" / "recorded" / "leap_hand.csv"

fit = ft.fit(model, log, ["stiffness.*", "damping.*"], second_order=True)
print(fit)
for kind, hidden in HIDDEN.items():
    own = [k for k, name in enumerate(fit.names) if name.startswith(kind)][: len(hidden)]
    assert (np.abs(fit.values[own] - hidden) < 4 * fit.errors[own]).all(), (fit.values[own], hidden)
assert fit.converged and abs(fit.correlation) < 0.1

# A part of the log each, with what is known of the first joint.
known = ft.fit(model, log, "stiffness.*", second_order=True, window=1.0, prior={"stiffness.if_mcp": (1.147, 0.01)})
print(f"with damping as it is in the scene, residuals are alike by {known.correlation:.2f}: the model cannot do that")
assert known.correlation > 0.3
