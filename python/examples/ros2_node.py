"""A ROS 2 node that drives a hand by model-predictive control: control_loop.py's loop between topics.

    python python/examples/ros2_node.py --ros-args -p task:=allegro_ball -p rate:=10.0 -r joint_states:=/hand/joint_states

| topic | type | |
|---|---|---|
| `joint_states` | sensor_msgs/JointState | in: positions by name, rad or m; in one or in several messages |
| `object_pose` | geometry_msgs/PoseStamped | in: the pose of the task's object in the scene's world |
| `commands` | std_msgs/Float64MultiArray | out, each period: positions in the order of the parameter `joints`, rad or m |
| `wrenches/NAME` | geometry_msgs/WrenchStamped | out: net contact force, N, and torque, N·m, on a link or object, in its axes |
| `contacts` | visualization_msgs/MarkerArray | out: an arrow of 1 cm/N at each contact; its `ns` says which body acts on which |

Parameters: `task`, a task's name or file, whose scene is used; `rate`, Hz, 0 for the task's own; `misses`, periods in a row without a plan
after which the joints stay where they are; `use_object_pose`, false where no camera is. What nobody measures is where the model expects
it, and wrenches and contacts are those that it expects in the measured state under the command.
"""

import re

import numpy as np
import rclpy
from control_loop import SAFE, Loop, planner, stay, task_at
from geometry_msgs.msg import Point, PoseStamped, WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from visualization_msgs.msg import Marker, MarkerArray

import fingertip as ft

# m of an arrow for a newton, and the least force that is drawn, N.
LENGTH, LEAST = 0.01, 0.01


class Hand(Node):
    """Measured states in, commands and what is felt out."""

    def __init__(self):
        super().__init__("fingertip")
        ask = lambda name, default: self.declare_parameter(name, default).value
        self.task = task_at(ask("task", "allegro_ball"), ask("rate", 0.0))
        self.uses_pose = ask("use_object_pose", True)
        controller = ft.Controller(self.task)
        model, episode = self.task.model, controller.episode
        self.loop = Loop(planner(self.task, controller), stay(model), episode.u, ask("misses", 5))
        self.model, self.sim = model, ft.Quasidynamic(model, threads=1)
        self.q, self.step = np.array(episode.q), None

        # Names of joints are those of the robot's description, without the scene's name for the robot.
        short = [name.rpartition("/")[2] for name in model.u_names]
        self.joints = short if len(set(short)) == len(short) else model.u_names
        self.places = {name: model.q_names.index(full) for name, full in zip(self.joints, model.u_names)}
        self.declare_parameter("joints", self.joints)
        self.object = model.object(self.task.object).q
        if self.uses_pose and len(model.home()[self.object]) != 7:
            raise ft.Error(f"use_object_pose: expected false, since {self.task.object} does not move freely")
        measured = [*self.places.values(), *(range(model.nq)[self.object] if self.uses_pose else [])]
        self.unseen = np.setdiff1d(np.arange(model.nq), measured)
        # What has not been measured in this period, and what was not in the one before, of which the plan is due.
        self.missing, self.unheard = self.expected(), set()

        self.touch = ft.Wrenches(model, [name for name, by in ft.Wrenches(model).names if by is None], axes="link")
        self.create_subscription(JointState, "joint_states", self.on_joints, 10)
        self.create_subscription(PoseStamped, "object_pose", self.on_object, 10)
        self.commands = self.create_publisher(Float64MultiArray, "commands", 10)
        # Names of topics have letters, digits, _ and /.
        topics = [f"wrenches/{re.sub(r'[^A-Za-z0-9_/]', '_', name)}" for name, _ in self.touch.names]
        self.wrenches = [self.create_publisher(WrenchStamped, topic, 10) for topic in topics]
        self.contacts = self.create_publisher(MarkerArray, "contacts", 10)
        self.timer = self.create_timer(self.task.period, self.on_timer)
        self.get_logger().info(f"{self.task.title}: {len(self.joints)} joints at {1 / self.task.period:.4g} Hz")

    def expected(self):
        """What has to be measured in each period."""
        return {*self.joints, *(["object_pose"] if self.uses_pose else [])}

    def on_joints(self, message):
        if len(message.name) != len(message.position):
            return self.get_logger().warning(
                f"joint_states: expected a position for each of {len(message.name)} names, got {len(message.position)}"
            )
        for name, position in zip(message.name, message.position):
            if name in self.places and np.isfinite(position):
                self.q[self.places[name]] = position
                self.missing.discard(name)

    def on_object(self, message):
        p, r = message.pose.position, message.pose.orientation
        self.q[self.object] = [p.x, p.y, p.z, r.w, r.x, r.y, r.z]
        self.missing.discard("object_pose")

    def on_timer(self):
        before = self.loop.misses
        u, kind = self.loop.tick(None if self.missing else self.q.copy())
        if self.loop.misses > before:
            why = f"not measured: {', '.join(sorted(self.unheard))}" if self.unheard else "the plan is late"
            what = "the joints stay where they are" if kind == SAFE else "the last command is held"
            self.get_logger().warning(f"miss {self.loop.misses} of {self.loop.most}, {why}: {what}")
        self.missing, self.unheard = self.expected(), self.missing
        self.commands.publish(Float64MultiArray(data=[float(x) for x in u]))
        self.feel(u)

    def feel(self, u):
        """Says what the model expects to be felt in this step."""
        now = self.get_clock().now().to_msg()
        self.step = self.sim.step(self.q, u, warm=None if self.step is None else self.step.warm)
        for (name, _), wrench, publisher in zip(self.touch.names, self.touch.at(self.q, self.step), self.wrenches):
            message = WrenchStamped()
            message.header.stamp, message.header.frame_id = now, name
            for part, numbers in ((message.wrench.force, wrench[:3]), (message.wrench.torque, wrench[3:])):
                part.x, part.y, part.z = map(float, numbers)
            publisher.publish(message)
        # Those of the period before are gone.
        arrows = MarkerArray(markers=[Marker(action=Marker.DELETEALL)])
        for contact in self.step.contacts:
            if np.linalg.norm(contact.force) > LEAST:
                arrow = Marker(ns=f"{contact.b}<{contact.a}", id=contact.contact, type=Marker.ARROW, action=Marker.ADD)
                arrow.header.stamp, arrow.header.frame_id = now, "world"
                ends = (contact.point, contact.point + LENGTH * contact.force)
                arrow.points = [Point(x=float(x), y=float(y), z=float(z)) for x, y, z in ends]
                arrow.scale.x, arrow.scale.y, arrow.color.r, arrow.color.a = 0.002, 0.004, 1.0, 1.0
                arrows.markers.append(arrow)
        self.contacts.publish(arrows)
        if len(self.unseen):
            self.q[self.unseen] = self.sim.hold(self.q, u, self.task.hold).q[-1, self.unseen]


def main():
    rclpy.init()
    node = Hand()
    try:
        rclpy.spin(node)
    except KeyboardInterrupt:
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
