"""Computes the numbers of dynamics.json and hand_sim.json again with Pinocchio, and compares.

    pip install pin==4.1.0 && python3 tests/golden/rigid_bodies.py
"""

import json
from pathlib import Path

import numpy as np
import pinocchio as pin

HERE = Path(__file__).parent
JOINTS = {
    "revolute": lambda axis: pin.JointModelRevoluteUnaligned(np.array(axis, float)),
    "prismatic": lambda axis: pin.JointModelPrismaticUnaligned(np.array(axis, float)),
    "floating": lambda _: pin.JointModelFreeFlyer(),
}
FRAMES = {"J_LOCAL": pin.LOCAL, "J_WORLD": pin.WORLD, "J_LWA": pin.LOCAL_WORLD_ALIGNED}
worst = {}


def compare(name, found, expected):
    expected = np.array(expected)
    error = np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-300)
    worst[name] = max(error, worst.get(name, 0.0))


def model_of(joints):
    model = pin.Model()
    for joint in joints:
        place = pin.SE3(np.array(joint["rotation"]), np.array(joint["xyz"]))
        added = model.addJoint(joint["parent"], JOINTS[joint["kind"]](joint["axis"]), place, joint["name"])
        inertia = pin.Inertia(joint["mass"], np.array(joint["com"]), np.array(joint["inertia"]))
        model.appendBodyToJoint(added, inertia, pin.SE3.Identity())
    return model


def check_state(model, state):
    data = model.createData()
    q, v, a, tau = (np.array(state[key]) for key in ("q", "v", "a", "tau"))
    compare("rnea", pin.rnea(model, data, q, v, a), state["rnea"])
    compare("nle", pin.nonLinearEffects(model, data, q, v), state["nle"])
    compare("gravity", pin.computeGeneralizedGravity(model, data, q), state["gravity"])
    compare("aba", pin.aba(model, data, q, v, tau), state["aba"])
    compare("kinetic", pin.computeKineticEnergy(model, data, q, v), state["kinetic"])
    compare("potential", pin.computePotentialEnergy(model, data, q), state["potential"])
    compare("com", pin.centerOfMass(model, data, q), state["com"])
    if state.get("M"):
        found = pin.crba(model, data, q)
        for row, expected in enumerate(state["M"]):
            compare("M", found[: row + 1, row], expected[: row + 1])
    if state.get("drnea_dq"):
        by_q, by_v, _ = pin.computeRNEADerivatives(model, data, q, v, a)
        compare("drnea_dq", by_q, state["drnea_dq"])
        compare("drnea_dv", by_v, state["drnea_dv"])
    if state.get("joint"):
        pin.computeJointJacobians(model, data, q)
        for key, frame in FRAMES.items():
            compare(key, pin.getJointJacobian(model, data, state["joint"]["id"], frame), state["joint"][key])


def follow(model, sim, run, law):
    """Semi-implicit Euler with steps of 1 ms under a law's torques."""
    data, golden = model.createData(), sim["runs"][run]
    q, v = np.array(sim["q0"]), np.zeros(model.nv)
    start = pin.computeMechanicalEnergy(model, data, q, v)
    for k in range(1, 1001):
        tau = law(data, (k - 1) * 1e-3, q, v)
        v = v + 1e-3 * pin.aba(model, data, q, v, tau)
        q = q + 1e-3 * v
        drift = pin.computeMechanicalEnergy(model, data, q, v) - start
        for key, found in (("q", q), ("v", v), ("tau", tau), ("energy_drift", drift)):
            expected = golden.get(key, {}).get(str(k))
            if expected is not None and np.any(expected):
                compare(f"{run}: {key}", found, expected)


def check_runs(model, sim):
    kp, kv = (sim["runs"]["control_pd"][key] for key in ("Kp", "Kv"))
    omega, amplitude, q0 = np.array(sim["omega"]), sim["amplitude"], np.array(sim["q0"])

    def position(t):
        return q0 + amplitude * np.sin(omega * t)

    def along(t, q, v):
        return -kp * (q - position(t)) - kv * (v - amplitude * omega * np.cos(omega * t))

    def acceleration(t, q, v):
        return along(t, q, v) - amplitude * omega**2 * np.sin(omega * t)

    def bias(data, q, v):
        return pin.nonLinearEffects(model, data, q, v)

    def own_inertia(data, q):
        return np.diag(pin.crba(model, data, q))

    laws = {
        "free_fall": lambda data, t, q, v: 0 * q,
        "friction_0.1": lambda data, t, q, v: -0.1 * v,
        "friction_1.0": lambda data, t, q, v: -1.0 * v,
        "control_pd": lambda data, t, q, v: -kp * (q - position(t)) - kv * v,
        "control_pd_v": lambda data, t, q, v: along(t, q, v),
        "control_pd_ref": lambda data, t, q, v: acceleration(t, q, v),
        "control_pd_g": lambda data, t, q, v: along(t, q, v) + bias(data, q, v),
        "control_ct": lambda data, t, q, v: pin.rnea(model, data, q, v, acceleration(t, q, v)),
        "control_ct_diag": lambda data, t, q, v: own_inertia(data, q) * acceleration(t, q, v) + bias(data, q, v),
    }
    for run, law in laws.items():
        follow(model, sim, run, law)


def main():
    models = json.loads((HERE / "dynamics.json").read_text())["models"]
    for model in models.values():
        for state in model["states"]:
            check_state(model_of(model["joints"]), state)
    check_runs(model_of(models["hand"]["joints"]), json.loads((HERE / "hand_sim.json").read_text()))
    for name, error in worst.items():
        print(f"{name}: {error:.0e} of the largest number")
    # Another build of Pinocchio rounds otherwise; a thousand steps amplify that.
    assert max(worst.values()) < 1e-9, "not what the files say"


if __name__ == "__main__":
    main()
