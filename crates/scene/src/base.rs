//! A robot's base on joints that are commanded.

use nalgebra::Vector3;

use crate::{Freedom, Joint, JointKind, Link, Robot};

/// The joints from the base's pose to the root link: names, kinds, and their axes in the order of x, y, z.
const JOINTS: [(&str, JointKind, usize); 6] = [
    ("base_x", JointKind::Prismatic, 0),
    ("base_y", JointKind::Prismatic, 1),
    ("base_z", JointKind::Prismatic, 2),
    ("base_yaw", JointKind::Continuous, 2),
    ("base_pitch", JointKind::Continuous, 1),
    ("base_roll", JointKind::Continuous, 0),
];

impl Robot {
    /// Stiffness of a commanded base where none is given, N/m and N·m/rad: 10 N move it by 1 cm.
    pub const BASE_STIFFNESS: [f64; 2] = [1000.0, 50.0];

    /// With the root link on six commanded joints of its own, the first in u: `base_x`, `base_y`, `base_z` (m, along
    /// the axes of the base's pose), then `base_yaw`, `base_pitch`, `base_roll` (rad, about z, the turned y and the
    /// twice turned x). So a hand alone can be carried through the world. A pitch of ±90° is singular. `stiffness` is
    /// N/m and N·m/rad.
    pub fn with_commanded_base(mut self, stiffness: [f64; 2]) -> Self {
        let (n_links, root) = (self.articulation.links.len(), self.articulation.root().unwrap_or(0));
        let links = &mut self.articulation.links;
        let mut chain = Vec::with_capacity(JOINTS.len());
        for (i, (name, kind, axis)) in JOINTS.into_iter().enumerate() {
            let name = name.to_owned();
            let (inertia, collisions, visuals) = (None, Vec::new(), Vec::new());
            links.push(Link { name: format!("{name}:above"), inertia, collisions, visuals });
            self.stiffness.entry(name.clone()).or_insert(stiffness[usize::from(kind != JointKind::Prismatic)]);
            let child = if i + 1 < JOINTS.len() { n_links + i + 1 } else { root };
            let axis = Vector3::ith_axis(axis).into_inner();
            chain.push(Joint { axis, ..Joint::new(name, kind, n_links + i, child) });
        }
        let joints = &mut self.articulation.joints;
        joints.iter_mut().filter_map(|joint| joint.mimic.as_mut()).for_each(|mimic| mimic.joint += JOINTS.len());
        joints.splice(0..0, chain);
        self.freedom = Freedom::Fixed;
        self
    }
}
