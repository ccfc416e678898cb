//! Checks of an articulation: one tree, sound axes, ranges, masses and shapes.

use nalgebra::Vector3;

use crate::{Articulation, Connection, Inertia, Joint, JointKind, Limits, Link, LinkPair, Look, check};
use fingertip_shapes::{Error, Findings, Result};

/// A unit axis may be this far from unit length: what rounding leaves.
const UNIT: f64 = 1e-9;

impl Articulation {
    /// Checks the tree, the links and the joints.
    ///
    /// # Errors
    /// All findings; the place of each names the link or the joint.
    pub fn validate(&self) -> Result<()> {
        if self.links.is_empty() {
            return Err(Error::invalid("links", "expected at least one link, got none"));
        }
        check::unique("link", self.links.iter().map(|link| link.name.as_str()))?;
        check::unique("joint", self.joints.iter().map(|joint| joint.name.as_str()))?;
        self.validate_tree()?;
        let mut findings = Findings::default();
        for link in &self.links {
            findings.take(validate_link(link).map_err(|error| error.within(format!("link \"{}\"", link.name))));
        }
        for joint in &self.joints {
            findings
                .take(self.validate_joint(joint).map_err(|error| error.within(format!("joint \"{}\"", joint.name))));
        }
        for (i, pair) in self.pairs.iter().enumerate() {
            findings.take(self.validate_pair(pair).map_err(|error| error.within(format!("pair {}", i + 1))));
        }
        for (i, connection) in self.connections.iter().enumerate() {
            let found = self.validate_connection(connection);
            findings.take(found.map_err(|error| error.within(format!("connection {}", i + 1))));
        }
        findings.result()
    }

    fn validate_connection(&self, connection: &Connection) -> Result<()> {
        let [a, b] = connection.links;
        if a.max(b) >= self.links.len() {
            return Err(Error::invalid("links", format!("expected indices below {}", self.links.len())));
        }
        if a == b {
            return Err(Error::invalid("links", format!("expected two, got \"{}\" twice", self.links[a].name)));
        }
        for &x in connection.points.iter().flatten() {
            check::finite("point", x)?;
            check::at_most("point", x, check::LONGEST, "m")?;
        }
        check::positive("stiffness", connection.stiffness)
    }

    fn validate_pair(&self, pair: &LinkPair) -> Result<()> {
        let links = pair.links.map(|link| self.links.get(link));
        let [Some(a), Some(b)] = links else {
            return Err(Error::invalid("links", format!("expected indices below {}", self.links.len())));
        };
        if let Some([i, j]) = pair.shapes
            && (i >= a.collisions.len() || j >= b.collisions.len())
        {
            return Err(Error::invalid("shapes", "expected indices of the links' collision shapes"));
        }
        pair.friction.iter().flatten().try_for_each(|&value| check::not_negative("friction", value))
    }

    fn validate_tree(&self) -> Result<()> {
        let n_links = self.links.len();
        let mut above: Vec<Option<&Joint>> = vec![None; n_links];
        for joint in &self.joints {
            let place = format!("joint \"{}\"", joint.name);
            if joint.parent.max(joint.child) >= n_links {
                let index = joint.parent.max(joint.child);
                return Err(Error::invalid(place, format!("expected link indices below {n_links}, got {index}")));
            }
            if joint.parent == joint.child {
                let link = &self.links[joint.child].name;
                return Err(Error::invalid(place, format!("expected two links, but \"{link}\" is parent and child")));
            }
            if let Some(other) = above[joint.child].replace(joint) {
                let link = &self.links[joint.child].name;
                let message = format!("expected one parent joint, got \"{}\" and \"{}\"", other.name, joint.name);
                return Err(Error::invalid(format!("link \"{link}\""), message));
            }
        }
        // From the roots down; what is not reached hangs below a loop, or is part of it.
        let children = self.children();
        let mut reached: Vec<usize> = (0..n_links).filter(|&link| above[link].is_none()).collect();
        let mut at = 0;
        while at < reached.len() {
            reached.extend(children[reached[at]].iter().map(|&j| self.joints[j].child));
            at += 1;
        }
        if reached.len() < n_links {
            let mut is_reached = vec![false; n_links];
            reached.iter().for_each(|&link| is_reached[link] = true);
            let mut joint = self.joints.iter().find(|joint| !is_reached[joint.child]);
            // As many steps up as there are links end in the loop.
            for _ in 0..n_links {
                joint = joint.and_then(|joint| above[joint.parent]);
            }
            let name = joint.map_or("", |joint| &joint.name);
            let message = "expected a tree, but this joint is part of a loop";
            return Err(Error::invalid(format!("joint \"{name}\""), message));
        }
        let roots: Vec<&str> =
            self.links.iter().zip(&above).filter(|(_, joint)| joint.is_none()).map(|(link, _)| &*link.name).collect();
        match roots[..] {
            [_] => Ok(()),
            _ => Err(Error::invalid(
                "links",
                format!("expected one root link, but no joint leads to any of \"{}\"", roots.join("\", \"")),
            )),
        }
    }

    fn validate_joint(&self, joint: &Joint) -> Result<()> {
        check::finite_pose("origin", &joint.origin)?;
        check::finite_vector("axis", &joint.axis)?;
        let needs_axis = joint.kind.is_single() || joint.kind == JointKind::Planar;
        if needs_axis && (joint.axis.norm() - 1.0).abs() > UNIT {
            return Err(Error::invalid("axis", format!("expected unit length, got {}", joint.axis.norm())));
        }
        if let Some(Limits { lower, upper }) = joint.limits {
            check::finite("lower limit", lower)?;
            check::finite("upper limit", upper)?;
            if lower > upper {
                return Err(Error::invalid("limits", format!("expected lower <= upper, got {lower} and {upper}")));
            }
            // Files write 1e16 for no limit at all; but the joint must start somewhere.
            check::at_most("limits", joint.home(None), check::LONGEST, "rad or m between them and zero")?;
        }
        for (key, most) in [("effort", joint.effort), ("velocity", joint.velocity)] {
            if most.is_nan() || most < 0.0 {
                return Err(Error::invalid(key, format!("expected a number from 0 up, got {most}")));
            }
        }
        check::not_negative("damping", joint.damping)?;
        check::not_negative("friction", joint.friction)?;
        check::not_negative("armature", joint.armature)?;
        if joint.spring.stiffness > 0.0 && !joint.kind.is_single() {
            return Err(Error::invalid("spring", "expected with one coordinate only"));
        }
        check::not_negative("spring stiffness", joint.spring.stiffness)?;
        check::finite("spring rest", joint.spring.rest)?;
        check::at_most("spring rest", joint.spring.rest, check::LONGEST, "rad or m")?;
        let Some(mimic) = joint.mimic else {
            return Ok(());
        };
        check::finite("mimic multiplier", mimic.multiplier)?;
        check::finite("mimic offset", mimic.offset)?;
        check::at_most("mimic multiplier", mimic.multiplier, check::LONGEST, "in size")?;
        check::at_most("mimic offset", mimic.offset, check::LONGEST, "rad or m")?;
        if !joint.kind.is_single() {
            return Err(Error::invalid(
                "mimic",
                "expected a revolute, continuous or prismatic joint to follow another",
            ));
        }
        match self.joints.get(mimic.joint) {
            Some(leader) if leader.is_commandable() => Ok(()),
            Some(leader) => Err(Error::invalid(
                "mimic",
                format!("expected to follow a joint with one coordinate of its own, but \"{}\" has none", leader.name),
            )),
            None => Err(Error::invalid("mimic", "expected the index of a joint")),
        }
    }

    /// For each link, what hangs on it, the link included, as one rigid body in the link's frame with all joints at
    /// zero; none where there is no mass. The articulation is a tree.
    pub(super) fn composites(&self) -> Vec<Option<Inertia>> {
        let children = self.children();
        let mut order: Vec<usize> = self.root().into_iter().collect();
        let mut at = 0;
        while at < order.len() {
            order.extend(children[order[at]].iter().map(|&j| self.joints[j].child));
            at += 1;
        }
        let mut composites: Vec<Option<Inertia>> = vec![None; self.links.len()];
        for &link in order.iter().rev() {
            let below = children[link].iter().map(|&j| &self.joints[j]);
            let below = below.filter_map(|joint| Some(composites[joint.child].as_ref()?.moved(&joint.origin)));
            let parts: Vec<Inertia> = self.links[link].inertia.clone().into_iter().chain(below).collect();
            composites[link] = Inertia::sum(&parts);
        }
        composites
    }
}

fn validate_link(link: &Link) -> Result<()> {
    link.inertia.as_ref().map_or(Ok(()), Inertia::validate)?;
    for (i, collision) in link.collisions.iter().enumerate() {
        collision.validate().map_err(|error| error.within(format!("collision {}", i + 1)))?;
    }
    for (i, visual) in link.visuals.iter().enumerate() {
        let place = |error: Error| error.within(format!("visual {}", i + 1));
        match &visual.look {
            Look::Shape(shape) => shape.validate().map_err(place)?,
            Look::Mesh(mesh) => mesh.validate().map_err(place)?,
        }
        check::finite_pose("origin", &visual.pose).map_err(place)?;
    }
    Ok(())
}

/// Can an uncommanded motion of this kind be integrated: does every direction of it move some inertia?
///
/// `body` is all that moves, in the frame of the motion.
pub(super) fn validate_passive(kind: JointKind, axis: &Vector3<f64>, body: Option<&Inertia>) -> Result<()> {
    /// Smallest principal moment against the largest below which a body is a line or a point.
    const THIN: f64 = 1e-9;
    if kind == JointKind::Fixed {
        return Ok(());
    }
    let Some(body) = body else {
        return Err(Error::invalid("mass", "expected a positive mass of what moves here, got none"));
    };
    let moves = match kind {
        JointKind::Fixed | JointKind::Prismatic | JointKind::Translation => true,
        JointKind::Revolute | JointKind::Continuous => axis.dot(&(body.about(&Vector3::zeros()) * axis)) > 0.0,
        JointKind::Planar => axis.dot(&(body.matrix * axis)) > 0.0,
        JointKind::Spherical => {
            let matrix = body.about(&Vector3::zeros());
            let [least, _, largest] = Inertia { matrix, com: Vector3::zeros(), ..body.clone() }.principal_moments();
            least > THIN * largest
        }
        JointKind::Floating => {
            let [least, _, largest] = body.principal_moments();
            least > THIN * largest
        }
    };
    if moves {
        Ok(())
    } else {
        Err(Error::invalid(
            "inertia",
            "expected a positive moment of inertia about every axis of free rotation, got zero",
        ))
    }
}
