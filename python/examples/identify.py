"""System identification with scipy: a box's mass and friction from how it moved.

A tip pushes a box in eight ways; where the box and the tip were in each step is "measured" with an error of 0.1 mm and 1 mrad. The
gradient of the squared differences goes back through all steps of all pushes in one call, and scipy's L-BFGS does the rest.

    python python/examples/identify.py
"""

import time

import numpy as np
import scipy.optimize

import fingertip as ft

TRUE = {"mass": 3.2, "mu": 0.35}
START = {"mass": 5.0, "mu": 0.6}
PUSHES, STEPS = 8, 60

model = ft.Model.load("planar_push")
sim = ft.Quasidynamic(model, kappa=1e4)
box, tip = model.object("box"), [model.joint(name) for name in model.u_names]

# Each push begins elsewhere below the box and goes up, askew.
random = np.random.default_rng(0)
q0 = model.home(PUSHES)
u = np.repeat(q0[:, None, [joint.q.start for joint in tip]], STEPS, 1)
u[..., 0] += np.linspace(-0.3, 0.3, PUSHES)[:, None]
q0[:, [joint.q.start for joint in tip]] = u[:, 0]
ways = np.stack([random.uniform(-0.4, 0.4, PUSHES), np.full(PUSHES, 0.8)], -1)
u += ways[:, None] * np.linspace(0, 1, STEPS)[:, None]

noise = np.where(np.arange(model.nq) == box.q.stop - 1, 1e-3, 1e-4)
seen = sim.with_params(**TRUE).rollout(q0, u).q + noise * random.standard_normal((PUSHES, STEPS + 1, model.nq))


def cost(logarithms):
    """½ Σ of squared differences over the measurements' errors, and its gradient by the logarithms of the parameters."""
    values = dict(zip(TRUE, np.exp(logarithms)))
    own = sim.with_params(**values)
    rollout = own.rollout(q0, u)
    away = (rollout.q - seen) / noise
    gradient = own.rollout_vjp(u, rollout, q_bar=away / noise).params
    # One number stands for all columns of a parameter.
    return 0.5 * (away**2).sum(), [values[name] * gradient[name].sum() for name in values]


start = time.perf_counter()
found = scipy.optimize.minimize(cost, np.log(list(START.values())), jac=True, method="L-BFGS-B", options={"ftol": 1e-12})
seconds = time.perf_counter() - start
for (name, true), value in zip(TRUE.items(), np.exp(found.x)):
    print(f"{name}: {START[name]} at first, {value:.4f} found, {true} true")
print(f"½ χ² {found.fun:.0f} of {seen.size} numbers, {found.nfev} rollouts of {PUSHES} × {STEPS} steps with gradients, {seconds:.2f} s")
errors = np.abs(np.exp(found.x) / np.array(list(TRUE.values())) - 1)
assert (errors < 0.02).all(), errors
