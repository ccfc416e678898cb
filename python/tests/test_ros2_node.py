"""The example's ROS 2 node on a stub of rclpy: what it hears, says and does when nothing comes."""

import sys

import numpy as np
import pytest
import ros_stub
from conftest import ROOT

import fingertip as ft

PARAMETERS = {"task": "allegro_ball", "rate": 10.0, "misses": 3}


@pytest.fixture
def example(monkeypatch):
    ros_stub.install(monkeypatch)
    monkeypatch.syspath_prepend(ROOT / "python" / "examples")
    monkeypatch.setattr(ros_stub.Node, "given", dict(PARAMETERS))
    for name in ("control_loop", "ros2_node"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import ros2_node

    return ros2_node


class Plant:
    """The hand behind the topics: it follows the last command."""

    def __init__(self, node, seed=1):
        self.node, self.model, self.task = node, node.model, node.task
        self.sim, self.q = ft.Quasidynamic(node.model, threads=1, kappa=1e6), np.array(node.q)
        self.random = np.random.default_rng(seed)

    def say(self, joints=True, pose=True):
        """Publishes what is measured, the joints in two messages and in any order."""
        if joints:
            for names in np.array_split(self.random.permutation(self.node.joints), 2):
                kind, hear = self.node.subscriptions_["joint_states"]
                # A wrist that is not the hand's comes along.
                where = [float(self.q[self.model.q_names.index(f"hand/{name}")]) for name in names]
                hear(kind(name=[*names, "wrist"], position=[*where, 7.0]))
        if pose:
            kind, hear = self.node.subscriptions_["object_pose"]
            x, y, z, w, i, j, k = self.q[self.model.object("ball").q]
            hear(kind(pose=ros_stub.Pose(ros_stub.Vector3(x, y, z), ros_stub.Quaternion(i, j, k, w))))

    def period(self):
        """A tick of the node's timer; the plan that it begins is waited for, and the plant moves on."""
        (_, tick), = self.node.timers_
        tick()
        if self.node.loop.job is not None:
            self.node.loop.job.exception()
        u = np.array(self.node.publishers_["commands"].sent[-1].data)
        self.q = self.sim.hold(self.q, u, self.task.hold).q[-1]
        return u


def warnings(node):
    return [text for level, text in node.logger.lines if level == "warning"]


def test_it_turns_the_ball(example):
    node = example.Hand()
    plant, goal = Plant(node), node.task.episode(0).goal
    assert node.timers_[0][0] == pytest.approx(0.1) and node.parameters["joints"].value[0] == "index_0"
    before = node.task.errors(goal, plant.q).rotation
    for _ in range(20):
        plant.say()
        # What is heard is what was measured, joint by joint.
        assert np.array_equal(node.q, plant.q)
        plant.period()
    assert node.task.errors(goal, plant.q).rotation < 0.7 * before and not warnings(node)
    links = {topic for topic in node.publishers_ if topic.startswith("wrenches/")}
    assert {"wrenches/ball", "wrenches/hand/index_tip", "wrenches/hand/thumb_tip"} <= links
    assert all(len(publisher.sent) == 20 for publisher in node.publishers_.values())


def test_what_is_felt(example):
    """Wrenches add up to those of the contacts that are drawn, and are what a step says."""
    node = example.Hand()
    plant = Plant(node)
    for _ in range(12):
        plant.say()
        q, u = plant.q.copy(), plant.period()
    step = ft.Quasidynamic(node.model).step(q, u)
    (wrench,) = ft.Wrenches(node.model, ["ball"], axes="link").at(q, step)
    message = node.publishers_["wrenches/ball"].sent[-1]
    force, torque = message.wrench.force, message.wrench.torque
    # Warm starts leave the solver's tolerance.
    assert np.allclose([force.x, force.y, force.z, torque.x, torque.y, torque.z], wrench, atol=1e-4)
    assert message.header.frame_id == "ball" and np.linalg.norm(wrench[:3]) > 0.01
    clear, *arrows = node.publishers_["contacts"].sent[-1].markers
    assert clear.action == ros_stub.Marker.DELETEALL and arrows and all(arrow.header.frame_id == "world" and "<" in arrow.ns for arrow in arrows)
    felt = {contact.contact: contact for contact in step.contacts}
    for arrow in arrows:
        (x0, y0, z0), (x1, y1, z1) = ((p.x, p.y, p.z) for p in arrow.points)
        assert np.allclose(np.subtract((x1, y1, z1), (x0, y0, z0)) / example.LENGTH, felt[arrow.id].force, atol=1e-4)


def test_the_watchdog(example):
    """Joints that are not measured, or no pose of the ball: the last command is held, then the joints stay."""
    for silent in ({"joints": False}, {"pose": False}):
        node = example.Hand()
        plant = Plant(node)
        for _ in range(4):
            plant.say()
            held = plant.period()
        # What was planned still comes in the first period of silence, and then nothing.
        plant.say(**silent)
        held = plant.period()
        sent = []
        for _ in range(4):
            plant.say(**silent)
            sent.append(plant.period())
        assert np.array_equal(sent[0], held) and np.array_equal(sent[1], held) and not np.array_equal(sent[2], held)
        assert np.array_equal(sent[2], sent[3])
        said = warnings(node)
        assert len(said) == 3 and said[0].endswith("the last command is held") and said[2].startswith("miss 3 of 3")
        assert said[2].endswith("the joints stay where they are") and ("object_pose" in said[0]) == ("pose" in silent)
        # It is for good.
        plant.say()
        assert np.array_equal(plant.period(), sent[3])


def test_without_a_camera(example, monkeypatch):
    monkeypatch.setitem(ros_stub.Node.given, "use_object_pose", False)
    node = example.Hand()
    plant, ball = Plant(node), node.model.object("ball").q
    start = plant.q[ball].copy()
    for _ in range(10):
        plant.say(pose=False)
        plant.period()
    # Where the model expects the ball is near where it is: both have moved.
    assert not warnings(node) and np.abs(plant.q[ball] - start).max() > 5e-3
    assert np.abs(node.q[ball] - plant.q[ball]).max() < 0.5 * np.abs(plant.q[ball] - start).max()


def test_bad_parameters_and_messages(example, monkeypatch):
    # The program itself comes to its end.
    example.main()
    node = example.Hand()
    kind, hear = node.subscriptions_["joint_states"]
    hear(kind(name=["index_0"], position=[]))
    assert warnings(node) == ["joint_states: expected a position for each of 1 names, got 0"]
    hear(kind(name=["index_0"], position=[float("nan")]))
    assert "index_0" in node.missing
    for name, value, says in [
        ("rate", 7.0, r"rate: expected 1/\(n · 0.02 s\) with a whole n, or 0, got 7.0 Hz"),
        ("misses", 0, "misses: expected at least 1, got 0"),
        ("task", "planar_push", "use_object_pose: expected false, since box does not move freely"),
    ]:
        with monkeypatch.context() as patch:
            patch.setattr(ros_stub.Node, "given", {**PARAMETERS, "rate": 0.0, name: value})
            with pytest.raises(ft.Error, match=says):
                example.Hand()
