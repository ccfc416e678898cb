"""Grasping: close a hand on an object, find the least effort that holds it, and try it in simulation.

    model = fingertip.Model.load("teaching_hand_item")
    grasp = fingertip.grasp.close(model, seed=18)
    effort = grasp.least_effort(0.7)
    [outcome] = fingertip.grasp.trial(model, grasp.q, effort.torque)
    print(outcome.held, outcome.moved)
"""

from ._fingertip import Effort, Grasp, Outcome, close, trial

__all__ = ["Effort", "Grasp", "Outcome", "close", "trial"]
