"""What of rclpy and of ROS 2's messages the example's node uses, without ROS: names, fields and defaults are theirs."""

import sys
import types
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Vector3:
    x: float = 0.0
    y: float = 0.0
    z: float = 0.0


@dataclass
class Quaternion(Vector3):
    w: float = 1.0


@dataclass
class Header:
    stamp: Any = None
    frame_id: str = ""


@dataclass
class JointState:
    header: Header = field(default_factory=Header)
    name: list = field(default_factory=list)
    position: list = field(default_factory=list)
    velocity: list = field(default_factory=list)
    effort: list = field(default_factory=list)


@dataclass
class Float64MultiArray:
    layout: Any = None
    data: list = field(default_factory=list)


@dataclass
class Wrench:
    force: Vector3 = field(default_factory=Vector3)
    torque: Vector3 = field(default_factory=Vector3)


@dataclass
class WrenchStamped:
    header: Header = field(default_factory=Header)
    wrench: Wrench = field(default_factory=Wrench)


@dataclass
class Pose:
    position: Vector3 = field(default_factory=Vector3)
    orientation: Quaternion = field(default_factory=Quaternion)


@dataclass
class PoseStamped:
    header: Header = field(default_factory=Header)
    pose: Pose = field(default_factory=Pose)


@dataclass
class Colour:
    r: float = 0.0
    g: float = 0.0
    b: float = 0.0
    a: float = 0.0


@dataclass
class Marker:
    ARROW = 0
    ADD, DELETEALL = 0, 3
    header: Header = field(default_factory=Header)
    ns: str = ""
    id: int = 0
    type: int = 0
    action: int = 0
    scale: Vector3 = field(default_factory=Vector3)
    color: Colour = field(default_factory=Colour)
    points: list = field(default_factory=list)


@dataclass
class MarkerArray:
    markers: list = field(default_factory=list)


@dataclass
class Parameter:
    value: Any


class Publisher:
    def __init__(self, kind):
        self.kind, self.sent = kind, []

    def publish(self, message):
        assert isinstance(message, self.kind)
        self.sent.append(message)


class Logger:
    def __init__(self):
        self.lines = []

    def info(self, text):
        self.lines.append(("info", text))

    def warning(self, text):
        self.lines.append(("warning", text))


class Clock:
    def now(self):
        return self

    def to_msg(self):
        return 0


class Node:
    """A node whose timer the test ticks, and whose topics it writes and reads."""

    given: dict = {}

    def __init__(self, name):
        self.name, self.publishers_, self.subscriptions_, self.timers_ = name, {}, {}, []
        self.parameters, self.logger = {}, Logger()

    def declare_parameter(self, name, value):
        self.parameters[name] = Parameter(self.given.get(name, value))
        return self.parameters[name]

    def create_publisher(self, kind, topic, depth):
        assert topic not in self.publishers_ and depth > 0
        self.publishers_[topic] = Publisher(kind)
        return self.publishers_[topic]

    def create_subscription(self, kind, topic, callback, depth):
        assert depth > 0
        self.subscriptions_[topic] = (kind, callback)

    def create_timer(self, period, callback):
        self.timers_.append((period, callback))
        return self.timers_[-1]

    def get_clock(self):
        return Clock()

    def get_logger(self):
        return self.logger

    def destroy_node(self):
        pass


def install(monkeypatch):
    """Puts the modules where `import` finds them."""
    contents = {
        "rclpy": {"init": lambda: None, "spin": lambda node: None, "try_shutdown": lambda: None},
        "rclpy.node": {"Node": Node},
        "sensor_msgs": {},
        "sensor_msgs.msg": {"JointState": JointState},
        "std_msgs": {},
        "std_msgs.msg": {"Float64MultiArray": Float64MultiArray},
        "geometry_msgs": {},
        "geometry_msgs.msg": {"Point": Vector3, "PoseStamped": PoseStamped, "WrenchStamped": WrenchStamped},
        "visualization_msgs": {},
        "visualization_msgs.msg": {"Marker": Marker, "MarkerArray": MarkerArray},
    }
    for name, things in contents.items():
        module = types.ModuleType(name)
        vars(module).update(things)
        monkeypatch.setitem(sys.modules, name, module)
