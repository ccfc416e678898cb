//! Closed loops: `connect` and `weld` of two bodies as connections of their links.

use std::collections::HashMap;

use nalgebra::{Isometry3, Point3};

use super::Mjcf;
use super::body::Site;
use super::relation::Joining;
use crate::{Articulation, Connection};
use fingertip_shapes::{Error, Result, unknown};

/// Distance from a weld's anchor of the three points that hold both bodies together, m: along each axis of the second
/// body.
const ARM: f64 = 0.05;

/// A point in the frame of a body, which is given by its index.
type Point = (usize, Point3<f64>);

impl Mjcf<'_> {
    /// Finds the bodies of joinings; those of a body with itself are left out, with a warning.
    pub(super) fn find_joinings(&mut self) -> Result<()> {
        for joining in std::mem::take(&mut self.joinings) {
            let bodies = self.bodies_of(&joining)?;
            if bodies[0] == bodies[1] {
                self.said.warnings.push(format!("equality {} left out: both are one body", joining.title()));
                continue;
            }
            self.joinings.push(joining);
            self.joined.push(bodies);
        }
        Ok(())
    }

    /// The trees that make up each thing, by their roots: those of robots are one, and so are trees that equalities
    /// join.
    pub(super) fn things(&self, coupled: &[[usize; 2]]) -> Vec<Vec<usize>> {
        let mut things: Vec<Vec<usize>> = self.tree.roots().map(|root| vec![root]).collect();
        let mut unite = |a: usize, b: usize| {
            let of = |root: usize| things.iter().position(|thing| thing.contains(&root));
            if let (Some(a), Some(b)) = (of(a), of(b))
                && a != b
            {
                let other = things.remove(a.max(b));
                things[a.min(b)].extend(other);
                things[a.min(b)].sort_unstable();
            }
        };
        let robots: Vec<usize> = self.tree.roots().filter(|&root| self.is_driven(root)).collect();
        robots.windows(2).for_each(|pair| unite(pair[0], pair[1]));
        for [a, b] in self.joined.iter().chain(coupled).filter(|both| !both.contains(&0)) {
            unite(self.tree.root_of(*a), self.tree.root_of(*b));
        }
        things
    }

    /// Does an equality hold a body of this tree in the world?
    pub(super) fn is_held(&self, root: usize) -> bool {
        let holds = |[a, b]: &[usize; 2]| *a.min(b) == 0 && self.tree.root_of(*a.max(b)) == root;
        self.joined.iter().any(holds)
    }

    /// The connections among these links of bodies. The world is the link of body 0, or the root link if nothing moves
    /// that.
    pub(super) fn connect(
        &self,
        links: &HashMap<usize, usize>,
        fixed_root: Option<usize>,
        articulation: &mut Articulation,
    ) {
        for (joining, &bodies) in self.joinings.iter().zip(&self.joined) {
            for pair in self.points(joining, bodies) {
                let place = |(body, point): Point| match (links.get(&body), fixed_root) {
                    (Some(&link), _) => Some((link, point)),
                    (None, Some(root)) if body == 0 => {
                        Some((*links.get(&root)?, self.tree.bodies[root].pose.inverse_transform_point(&point)))
                    }
                    _ => None,
                };
                if let [Some((a, p)), Some((b, r))] = pair.map(place)
                    && a != b
                {
                    let points = [p, r].map(|point| point.coords.into());
                    articulation.connections.push(Connection {
                        links: [a, b],
                        points,
                        stiffness: Connection::STIFFNESS,
                    });
                }
            }
        }
    }

    /// The bodies of a joining, as indices.
    fn bodies_of(&self, joining: &Joining) -> Result<[usize; 2]> {
        let bodies = &self.tree.bodies;
        let mut found = [0; 2];
        for (k, body) in found.iter_mut().enumerate() {
            let (kind, name, place) = match (&joining.bodies, &joining.sites) {
                (Some(names), _) => ("body", &names[k], bodies.iter().position(|body| body.name == names[k])),
                (None, Some(names)) => ("site", &names[k], self.find_site(&names[k]).map(|(body, _)| body)),
                (None, None) => continue,
            };
            *body = place.ok_or_else(|| {
                let names: Vec<&str> = match kind {
                    "body" => bodies.iter().map(|body| body.name.as_str()).collect(),
                    _ => bodies.iter().flat_map(|body| body.sites.iter().map(|site| site.name.as_str())).collect(),
                };
                let place = format!("equality {}", joining.title());
                Error::invalid(place, unknown(kind, name, names.into_iter()))
            })?;
        }
        Ok(found)
    }

    /// The site with this name, and its body.
    pub(super) fn find_site(&self, name: &str) -> Option<(usize, &Site)> {
        let mut bodies = self.tree.bodies.iter().enumerate();
        bodies.find_map(|(body, of)| Some((body, of.sites.iter().find(|site| site.name == name)?)))
    }

    /// The points that are held together, in both bodies' frames: one of `connect`, three of `weld`.
    fn points(&self, joining: &Joining, [a, b]: [usize; 2]) -> Vec<[Point; 2]> {
        let is_weld = joining.tag == "weld";
        let arms: Vec<Point3<f64>> = match is_weld {
            true => (0..3).map(|axis| Point3::from(nalgebra::Vector3::ith(axis, ARM))).collect(),
            false => vec![Point3::origin()],
        };
        if let Some(names) = &joining.sites {
            let pose = |name: &String| self.find_site(name).map_or_else(Isometry3::identity, |(_, site)| site.pose);
            let sites = names.each_ref().map(pose);
            return arms.iter().map(|arm| [(a, sites[0] * arm), (b, sites[1] * arm)]).collect();
        }
        // Of the second body in the first one's frame.
        let [x, y, z, w, i, j, k] = joining.relative;
        let relative = match super::compiler::quaternion([w, i, j, k]) {
            Some(turn) if is_weld => Isometry3::from_parts([x, y, z].into(), turn),
            _ => self.pose_of(a).inverse() * self.pose_of(b),
        };
        let anchor = Point3::from(joining.anchor);
        let of = |arm: &Point3<f64>| match is_weld {
            true => [(a, relative * (anchor + arm.coords)), (b, anchor + arm.coords)],
            false => [(a, anchor), (b, relative.inverse_transform_point(&anchor))],
        };
        arms.iter().map(of).collect()
    }

    /// The pose of a body in the world as the file describes it.
    fn pose_of(&self, body: usize) -> Isometry3<f64> {
        let of = &self.tree.bodies[body];
        if body == 0 { of.pose } else { self.pose_of(of.parent) * of.pose }
    }
}

impl Joining {
    /// The element's tag and the names of its two sides, for notes.
    pub(super) fn title(&self) -> String {
        let names = self.bodies.as_ref().or(self.sites.as_ref()).map_or_else(String::new, |names| names.join(" and "));
        format!("{} of {names}", self.tag)
    }
}
