"""MuJoCo on the hand, ball and table: step, derivatives, batched rollouts.

Prints one JSON object, µs of wall clock.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor

import mujoco
import numpy as np
from mujoco import rollout

from scene import GRAVITY, NOISE, ROLLOUT_STEPS, Scene, median_microseconds, report

# MuJoCo's default. With the scene's 0.01 s its soft contacts chatter on this hand and it never comes to rest.
TIME_STEP = 0.002
SETTLE_SECONDS = 1.0
# What a fingertip that misses the ball closes further by, in parts of the script's closing motion, and how often.
FURTHER = 0.05
TRIES = 20
FULL_STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS


def build(scene: Scene) -> mujoco.MjModel:
    """Our URDF with fingertip spheres for its geoms, the ball as a free body, the table as a plane."""
    spec = mujoco.MjSpec.from_file(str(scene.urdf))
    for geom in list(spec.geoms):
        spec.delete(geom)
    spec.option.timestep = TIME_STEP
    # As in our model the robot carries itself: `gravcomp` makes a step 18 % slower than a weight on the ball.
    spec.option.gravity = [0, 0, 0]

    def collide(body: mujoco.MjsBody, is_ball: bool, **shape: object) -> None:
        # The ball touches all the rest, which does not touch itself. Masses are the bodies' own.
        masks = {"contype": int(is_ball), "conaffinity": int(not is_ball)}
        body.add_geom(**masks, friction=[scene.friction, 0, 0], mass=0, **shape)

    sphere = mujoco.mjtGeom.mjGEOM_SPHERE
    for joint in spec.joints:
        joint.frictionloss = 0  # a constraint more, which our step does not have
    for fingertip in scene.fingertips:
        radius = [fingertip["sphere"], 0, 0]
        collide(spec.body(fingertip["link"]), False, type=sphere, size=radius, pos=fingertip["at"])
    table = {"type": mujoco.mjtGeom.mjGEOM_PLANE, "size": [0, 0, 1], "pos": [0, 0, scene.table_offset]}
    collide(spec.worldbody, False, **table)

    inertia = 0.4 * scene.ball_mass * scene.ball_radius**2
    ball = spec.worldbody.add_body(
        name="ball", pos=scene.ball_start, mass=scene.ball_mass, inertia=3 * [inertia], explicitinertial=True
    )
    ball.add_freejoint(name="ball")
    collide(ball, True, type=sphere, size=[scene.ball_radius, 0, 0])

    on_joint = mujoco.mjtTrn.mjTRN_JOINT
    for joint, stiffness in zip(scene.joints, scene.stiffness):
        spec.add_actuator(name=joint, target=joint, trntype=on_joint).set_to_position(kp=stiffness)
    weight = spec.add_actuator(name="weight", target="ball", trntype=on_joint, gear=[*GRAVITY, 0, 0, 0])
    weight.biastype = mujoco.mjtBias.mjBIAS_AFFINE
    weight.biasprm[0], weight.gainprm[0] = scene.ball_mass, 0
    return spec.compile()


def grasp(scene: Scene, model: mujoco.MjModel) -> mujoco.MjData:
    """The hand closed around the ball: the script up to its middle, then that command until all is at rest.

    The ball rolls as the fingers close on it, which our particle does not; fingers that miss it then go on closing.
    """
    data = mujoco.MjData(model)
    for joint, angle in zip(scene.joints, scene.home):
        data.joint(joint).qpos[0] = angle
    for i in range(round(scene.middle() / TIME_STEP)):
        data.ctrl[: len(scene.joints)] = scene.control(TIME_STEP * (i + 1))
        mujoco.mj_step(model, data)
    closing = data.ctrl[: len(scene.joints)] - scene.control(scene.script[0]["time"])
    for _ in range(TRIES):
        mujoco.mj_step(model, data, nstep=round(SETTLE_SECONDS / TIME_STEP))
        mujoco.mj_forward(model, data)
        touching = set(data.contact.geom.flat)
        bodies = [model.body(fingertip["link"]) for fingertip in scene.fingertips]
        missing = [body for body in bodies if body.geomadr[0] not in touching]
        if not missing:
            break
        for body in missing:
            while model.body(body.parentid[0]).name != "world" and body.jntnum[0] == 1:
                actuator = model.actuator(model.joint(body.jntadr[0]).name).id
                data.ctrl[actuator] += FURTHER * closing[actuator]
                body = model.body(body.parentid[0])
    return data


def copy_of(model: mujoco.MjModel, data: mujoco.MjData) -> mujoco.MjData:
    """Its own data in the same state."""
    other = mujoco.MjData(model)
    mujoco.mj_copyData(other, model, data)
    return other


def step_time(model: mujoco.MjModel, start: mujoco.MjData) -> float:
    """One world, held: the mean of a run of steps, the median over runs."""
    data = copy_of(model, start)
    return median_microseconds(lambda: mujoco.mj_step(model, data, nstep=ROLLOUT_STEPS)) / ROLLOUT_STEPS


def derivatives_time(model: mujoco.MjModel, start: mujoco.MjData, threads: int, per_thread: int = 16) -> float:
    """A and B by MuJoCo's own forward differences, many on each thread."""
    n_state = 2 * model.nv + model.na

    def work(data: mujoco.MjData) -> None:
        a, b = np.zeros((n_state, n_state)), np.zeros((n_state, model.nu))
        for _ in range(per_thread):
            mujoco.mjd_transitionFD(model, data, 1e-6, False, a, b, None, None)

    datas = [copy_of(model, start) for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        return median_microseconds(lambda: list(pool.map(work, datas))) / (threads * per_thread)


def rollout_time(model: mujoco.MjModel, start: mujoco.MjData, threads: int, worlds: int) -> float:
    """A step of a batched rollout; the worlds' commands differ a little."""
    state = np.zeros(mujoco.mj_stateSize(model, FULL_STATE))
    mujoco.mj_getState(model, start, state, FULL_STATE)
    noise = np.random.default_rng(1).uniform(-NOISE, NOISE, (worlds, 1, model.nu))
    control = np.repeat(start.ctrl + noise, ROLLOUT_STEPS, axis=1)
    states = np.tile(state, (worlds, 1))
    # Without one, the solver of each world's first step starts cold, the others from the step before.
    warm = np.tile(start.qacc_warmstart, (worlds, 1))
    datas = [mujoco.MjData(model) for _ in range(threads)]
    with rollout.Rollout(nthread=threads if threads > 1 else 0) as runner:
        call = lambda: runner.rollout(model, datas, states, control, initial_warmstart=warm)
        return median_microseconds(call) / (worlds * ROLLOUT_STEPS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--worlds", type=int, default=1024)
    arguments = parser.parse_args()
    scene = Scene()
    model = build(scene)
    start = grasp(scene, model)
    touching = int(start.ncon)
    values = {"version": mujoco.__version__, "nv": model.nv, "nu": model.nu, "contacts": touching, "step": None}
    values["largest_overlap_mm"] = 1e3 * max(0.0, -float(start.contact.dist.min())) if touching else 0.0
    if arguments.threads == 1:
        values["step"] = step_time(model, start)
    values["derivatives"] = derivatives_time(model, start, arguments.threads)
    values["rollout"] = rollout_time(model, start, arguments.threads, arguments.worlds)
    report(values)


if __name__ == "__main__":
    main()
