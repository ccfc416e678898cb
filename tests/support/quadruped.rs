//! A small robot on four legs of two joints each, 3.2 kg, made for the tests.

use fingertip::description::{Articulation, Freedom, Robot};
use nalgebra::Isometry3;

/// Its mass, kg.
pub const MASS: f64 = 2.0 + 4.0 * (0.2 + 0.1);
/// Height of the trunk's frame over the feet's lowest points at home, m: thigh and shin of 0.1 m, bent by 0.6 rad to
/// both sides, and a foot's radius.
pub const HEIGHT: f64 = 0.2 * 0.825_335_614_909_678_3 + 0.015;

/// A free robot of this kind, its trunk in this pose.
pub fn quadruped(base: Isometry3<f64>) -> Robot {
    let mut robot =
        Robot::new("dog", articulation()).with_freedom(Freedom::Free).with_base(base).with_default_stiffness(50.0);
    for leg in ["fl", "fr", "rl", "rr"] {
        robot = robot.with_home(format!("{leg}_hip"), 0.6).with_home(format!("{leg}_knee"), -1.2);
    }
    robot
}

/// Trunk and legs; the trunk's centre of mass is off its frame.
pub fn articulation() -> Articulation {
    let mut text = String::from(
        r#"<robot name="dog"><link name="trunk"><inertial><mass value="2"/><origin xyz="0.01 0 0.005"/>
        <inertia ixx="0.003" iyy="0.007" izz="0.009" ixy="0.0001" ixz="0" iyz="0"/></inertial>
        <collision><geometry><box size="0.2 0.12 0.06"/></geometry></collision></link>"#,
    );
    for (leg, x, y) in [("fl", 0.08, 0.07), ("fr", 0.08, -0.07), ("rl", -0.08, 0.07), ("rr", -0.08, -0.07)] {
        text += &format!(
            r#"<link name="{leg}_thigh"><inertial><mass value="0.2"/><origin xyz="0 0 -0.05"/>
            <inertia ixx="2e-4" iyy="2e-4" izz="3e-5" ixy="0" ixz="0" iyz="0"/></inertial></link>
            <link name="{leg}_shin"><inertial><mass value="0.1"/><origin xyz="0 0 -0.05"/>
            <inertia ixx="1e-4" iyy="1e-4" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial>
            <collision><origin xyz="0 0 -0.1"/><geometry><sphere radius="0.015"/></geometry></collision></link>
            <joint name="{leg}_hip" type="revolute"><parent link="trunk"/><child link="{leg}_thigh"/>
            <origin xyz="{x} {y} 0"/><axis xyz="0 1 0"/><limit lower="-1.5" upper="1.5" effort="20" velocity="10"/></joint>
            <joint name="{leg}_knee" type="revolute"><parent link="{leg}_thigh"/><child link="{leg}_shin"/>
            <origin xyz="0 0 -0.1"/><axis xyz="0 1 0"/><limit lower="-2.5" upper="0" effort="20" velocity="10"/></joint>"#
        );
    }
    Articulation::from_urdf_str(&(text + "</robot>"), "dog").unwrap()
}
