"""The hand, ball and table in numbers, read from the files that our own side reads."""

import json
import statistics
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
SCENE_FILE = "assets/scenes/hand_ball.toml"
GRAVITY = [0.0, 0.0, -9.81]  # m/s², as our step has it where a scene gives none

# As in `fingertip bench`: worlds stand around the middle of the script, each a little different, and go on from there.
NOISE = 5e-3
ROLLOUT_STEPS = 50


class Scene:
    """One robot with fingertip spheres, one ball, one half-space."""

    def __init__(self) -> None:
        path = ROOT / SCENE_FILE
        description = tomllib.loads(path.read_text())
        objects = {entry["name"]: entry for entry in description["object"]}
        self.time_step: float = description["params"]["h"]
        self.epsilon: float = description["params"]["epsilon"]
        self.friction: float = description["params"]["mu"]
        self.ball_radius: float = objects["ball"]["sphere"]
        self.ball_mass: float = objects["ball"]["mass"]
        self.ball_start: list[float] = objects["ball"]["position"]
        *self.table_normal, self.table_offset = objects["table"]["halfspace"]
        assert self.table_normal == [0.0, 0.0, 1.0], "the peers' scenes have a level table"

        (robot,) = description["robot"]
        self.robot_name: str = robot["name"]
        self.urdf: Path = (path.parent / robot["urdf"]).resolve()
        self.fingertips: list[dict] = robot["collision"]  # link, sphere (radius), at (centre in the link's frame)
        joints = ElementTree.parse(self.urdf).getroot().iter("joint")
        self.joints: list[str] = [joint.get("name") for joint in joints if joint.get("type") != "fixed"]
        stiffness = robot["stiffness"]
        self.stiffness: list[float] = [stiffness.get(joint, stiffness["default"]) for joint in self.joints]
        self.home: list[float] = [robot["home"].get(joint, 0.0) for joint in self.joints]
        self.script: list[dict] = description["script"]

    def middle(self) -> float:
        """The middle of the script, s."""
        return 0.5 * self.script[-1]["time"]

    def control(self, at: float) -> list[float]:
        """The scripted command: home at first, linear between keyframes, held after the last."""
        before, value = 0.0, list(self.home)
        for keyframe in self.script:
            command = keyframe["u"]
            following = [command.get(f"{self.robot_name}/{joint}", v) for joint, v in zip(self.joints, value)]
            if at < keyframe["time"]:
                part = max(0.0, (at - before) / (keyframe["time"] - before))
                return [a + part * (b - a) for a, b in zip(value, following)]
            before, value = keyframe["time"], following
        return value

    def controls(self, start: float, steps: int) -> list[list[float]]:
        """The commands of the steps that follow `start`."""
        return [self.control(start + self.time_step * (i + 1)) for i in range(steps)]


def median_microseconds(call: Callable[[], object], least_seconds: float = 0.5, least_calls: int = 5) -> float:
    """Median wall clock time of a call; the first one, which warms up, does not count."""
    call()
    times: list[float] = []
    start = time.perf_counter()
    while len(times) < least_calls or time.perf_counter() - start < least_seconds:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return 1e6 * statistics.median(times)


def report(values: dict) -> None:
    """One JSON object on stdout: how a side hands its figures to `run.py`."""
    print(json.dumps(values))
