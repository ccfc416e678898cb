"""A cube in a LEAP hand, goal after goal: our planner, the policy that MuJoCo Playground ships, and predictive sampling on MuJoCo's own model.

    python3 benches/peers/reorient.py PLAYGROUND --by planner policy sampling [--sequences N] [--within RAD] [--goals N] [--json FILE]

PLAYGROUND is a checkout of google-deepmind/mujoco_playground. The plant is the scene of its LeapCubeReorient (C MuJoCo, steps of 2 ms as in its
`play_leap_reorient.py`), less the meshes and textures that are only seen. All controllers have the same starts, the same goals and the same measure:

- The hand is at Playground's home, the cube at [0.1, 0, 0.05] in any orientation. A goal is any orientation at least 0.5 rad away.
- It is reached when the cube is within `--within` for `--held` s. Then comes the next.
- The sequence ends when the cube is lower than -0.05 m (Playground's measure of a drop), after 60 s for one goal, after `--goals`, or by the plant, where
  MuJoCo's own state is no number any more.

Controllers:

- **planner**: `fingertip mpc TASK --stdio`, one command in each of the task's control periods.
- **policy**: `leap_reorient_policy.onnx` at 20 Hz, with the observation and the scale of the script that ships with it. Needs onnxruntime.
- **sampling**: predictive sampling (sampling.py), 20 commands a second, with rollouts in steps of 10 ms, as Playground trains.

MuJoCo runs while nobody computes: a controller's time costs nothing, and its mean is told.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import mujoco
import numpy as np

import sampling
from mpc import BINARY, Planner, machine
from sequences import table

ROOT = Path(__file__).resolve().parents[2]
TASK = ROOT / "assets" / "tasks" / "leap_cube.toml"
LEAP = "mujoco_playground/_src/manipulation/leap_hand/xmls/scene_mjx_cube.xml"
POLICY = "mujoco_playground/experimental/sim2sim/onnx/leap_reorient_policy.onnx"
TIME_STEP = 0.002
ROLLOUT_STEP = 0.01  # of sampling, as Playground trains
LEAST = 0.5  # rad, from where the cube is to a new goal
PATIENCE = 60.0  # s for a goal
LOWEST = -0.05  # m, of the cube's middle
# MuJoCo met a number that is none, or a huge one, and began anew from its own home.
BAD = (mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC)
JOINTS, CUBE = slice(0, 16), slice(16, 23)


def scene(playground: Path, time_step: float) -> mujoco.MjModel:
    """Playground's scene without what is only seen."""
    spec = mujoco.MjSpec.from_file(str(playground / LEAP))
    for geom in list(spec.geoms):
        geom.material = ""
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH:
            spec.delete(geom)
    for seen in (*spec.meshes, *spec.materials, *spec.textures):
        spec.delete(seen)
    spec.option.timestep = time_step
    return spec.compile()


def angle(a: np.ndarray, b: np.ndarray) -> float:
    """Between two orientations, rad."""
    between = np.zeros(4)
    mujoco.mju_mulQuat(between, a, b * [1, -1, -1, -1])
    return float(2 * np.arctan2(np.linalg.norm(between[1:]), abs(between[0])))


def draw(random: np.random.Generator, away: np.ndarray | None) -> np.ndarray:
    """An orientation, evenly, at least LEAST from another."""
    while True:
        turn = random.normal(size=4)
        turn /= np.linalg.norm(turn)
        if away is None or angle(turn, away) >= LEAST:
            return turn


class ByPlanner:
    """Our planner behind a pipe."""

    def __init__(self, given: argparse.Namespace, model: mujoco.MjModel) -> None:
        self.planner = Planner([given.binary, "mpc", str(given.task), "--stdio", *given.options])
        begin = self.planner.ask({"episode": 0})
        self.period = begin["period"]
        names = [model.joint(i).name for i in range(16)]
        assert [name.split("/")[1] for name in begin["u_names"]] == names, "the joints' order is the same"
        self.place = begin["goal"]["position"]
        self.asked = None

    def begin(self, data: mujoco.MjData, goal: np.ndarray, number: int) -> None:
        """A new sequence."""
        self.planner.ask({"episode": number, "q": self._q(data), "goal": self._goal(goal)})
        self.asked = goal

    def command(self, data: mujoco.MjData, goal: np.ndarray) -> np.ndarray:
        """Where joints are to go, rad."""
        line = {"q": self._q(data)}
        if goal is not self.asked:
            line["goal"] = self._goal(goal)
            self.asked = goal
        return np.array(self.planner.ask(line)["u"])

    def _q(self, data: mujoco.MjData) -> list[float]:
        return [*data.qpos[CUBE], *data.qpos[JOINTS]]

    def _goal(self, goal: np.ndarray) -> dict:
        return {"position": self.place, "quaternion": goal.tolist()}


class ByPolicy:
    """The policy that Playground ships."""

    SCALE = 0.5

    def __init__(self, given: argparse.Namespace, model: mujoco.MjModel) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        path = str(given.playground / POLICY)
        self.network = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.period = 0.05
        self.least, self.most = model.actuator_ctrlrange.T

    def begin(self, data: mujoco.MjData, goal: np.ndarray, number: int) -> None:
        """A new sequence."""
        self.before, self.u = np.zeros(16), data.ctrl.copy()

    def command(self, data: mujoco.MjData, goal: np.ndarray) -> np.ndarray:
        """Where joints are to go, rad."""
        between, matrix = np.zeros(4), np.zeros(9)
        mujoco.mju_mulQuat(between, data.qpos[CUBE][3:], goal * [1, -1, -1, -1])
        mujoco.mju_quat2Mat(matrix, between)
        q = data.qpos[JOINTS]
        off = data.sensor("palm_position").data - data.qpos[CUBE][:3]
        seen = np.hstack([q, q - self.u, off, matrix[3:], self.before]).astype(np.float32)
        (answer,) = self.network.run(["continuous_actions"], {"obs": seen[None]})
        self.before = answer[0].astype(float)
        self.u = np.clip(self.u + self.SCALE * self.before, self.least, self.most)
        return self.u


class BySampling:
    """Predictive sampling."""

    def __init__(self, given: argparse.Namespace, model: mujoco.MjModel) -> None:
        self.period = sampling.PERIOD
        self.sampler = sampling.Sampler(scene(given.playground, ROLLOUT_STEP), CUBE.start, given)

    def begin(self, data: mujoco.MjData, goal: np.ndarray, number: int) -> None:
        """A new sequence."""
        self.sampler.begin(data, number)
        self.place = data.sensor("palm_position").data.copy()

    def command(self, data: mujoco.MjData, goal: np.ndarray) -> np.ndarray:
        """Where joints are to go, rad."""
        return self.sampler.command(data, self.place, goal)


CONTROLLERS = {"planner": ByPlanner, "policy": ByPolicy, "sampling": BySampling}


def run(controller, model: mujoco.MjModel, number: int, given: argparse.Namespace) -> dict:
    """One sequence."""
    random = np.random.default_rng(number)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    data.qpos[CUBE] = [0.1, 0.0, 0.05, *draw(random, None)]
    mujoco.mj_forward(model, data)
    goal, since, inside, seconds, spent, ended = draw(random, data.qpos[CUBE][3:]), 0.0, 0.0, [], [], "all goals"
    controller.begin(data, goal, number)
    while len(seconds) < given.goals:
        clock = time.perf_counter()
        u = controller.command(data, goal)
        spent.append(time.perf_counter() - clock)
        data.ctrl[:] = u
        mujoco.mj_step(model, data, nstep=round(controller.period / TIME_STEP))
        if any(data.warning[kind].number for kind in BAD):
            ended = "plant"
            break
        turn = data.qpos[CUBE][3:] / np.linalg.norm(data.qpos[CUBE][3:])
        near = angle(turn, goal) < given.within
        inside = inside + controller.period if near else 0.0
        if near and inside >= given.held:
            seconds.append(data.time - since)
            since, inside, goal = data.time, 0.0, draw(random, turn)
        if data.qpos[CUBE][2] < LOWEST:
            ended = "drop"
            break
        if data.time - since > PATIENCE:
            ended = "stall"
            break
    return {"sequence": number, "goals": len(seconds), "ended": ended, "seconds": seconds, "time": data.time, "ms": 1e3 * statistics.mean(spent)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("playground", type=Path, help="a checkout of mujoco_playground")
    parser.add_argument("--by", nargs="+", default=list(CONTROLLERS), choices=CONTROLLERS)
    parser.add_argument("--task", type=Path, default=TASK, help="the planner's")
    parser.add_argument("--binary", default=str(BINARY))
    parser.add_argument("--sequences", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first sequence")
    parser.add_argument("--goals", type=int, default=50, help="most goals of a sequence")
    parser.add_argument("--within", type=float, default=0.4, help="rad")
    parser.add_argument("--held", type=float, default=0.0, help="s")
    parser.add_argument("--json", type=Path, help="every sequence, for programs")
    sampling.arguments(parser)
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given = parser.parse_args(sys.argv[1:at])
    given.options = sys.argv[at + 1 :]
    for path in (LEAP, *[POLICY for name in given.by if name == "policy"]):
        if not (given.playground / path).is_file():
            parser.error(f"{given.playground}: expected a checkout of mujoco_playground, but there is no {path}")
    model = scene(given.playground, TIME_STEP)
    rows = []
    for name in given.by:
        controller = CONTROLLERS[name](given, model)
        sequences = []
        for number in range(given.first, given.first + given.sequences):
            sequences.append(run(controller, model, number, given))
            told = {key: value for key, value in sequences[-1].items() if key != "seconds"}
            print(f"{name} {told}", file=sys.stderr, flush=True)
        rows.append({"by": name, "sequences": sequences})
    print(table("by", rows))
    if given.json:
        given.json.write_text(json.dumps({"machine": machine(given), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
