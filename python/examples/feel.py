"""Where two fingers hold a disc, by touch alone: joints, commands and net forces, with noise.

python python/examples/feel.py

The disc is seen once, off by 2 mm. After that the estimate stands on what the fingers feel, and its covariance says how sure it is: of the
disc's turn, which a round side hardly tells, less and less.
"""

import numpy as np

import fingertip as ft

TIPS = ["fingers/left_lower", "fingers/right_lower"]
model = ft.Model.load("two_fingers")
sim = ft.Quasidynamic(model)
touch = ft.Wrenches(model, TIPS)
smoother = ft.Smoother(sim, TIPS, start=[2e-3, 0.02], drift=[1e-3, 0.01])
random = np.random.default_rng(1)

q = model.home()
smoother.reset(q + [2e-3, -1e-3, 0.02, 0, 0, 0, 0])
errors = []
for k in range(60):
    u = model.control(0.05 * k)
    q = sim.step(q, u).q_next
    forces = touch.at(q, sim.step(q, u))[:, :3]
    joints = q[3:] + 1e-3 * random.normal(size=4)
    felt = forces * (1 + 0.05 * random.normal(size=forces.shape))
    estimate = smoother.step(u, [np.nan, np.nan, np.nan, *joints], felt)
    errors.append(1e3 * np.linalg.norm(estimate[:2] - q[:2]))
    if k % 10 == 9:
        x, y, turn = np.sqrt(np.diag(smoother.covariance("disc")))
        print(f"{0.05 * k:.2f} s: off by {errors[-1]:.2f} mm; deviations {1e3 * x:.2f} and {1e3 * y:.2f} mm, {turn:.3f} rad")
assert np.mean(errors[20:]) < 1.5, "the disc's place is lost"
