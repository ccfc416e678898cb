//! Closed loops: `connect` and `weld` of two bodies as connections of their links.

use std::collections::HashMap;

use nalgebra::{Isometry3, Point3};

use super::Mjcf;
use super::relation::Joining;
use crate::{Articulation, Connection};
use fingertip_shapes::{Error, Result, unknown};

/// Distance from a weld's anchor of the three points that hold both bodies together, m: along each axis of the second body.
const ARM: f64 = 0.05;

/// A point in the frame of a body, which is given by its index.
type Point = (usize, Point3<f64>);

impl Mjcf<'_> {
    /// Checks that the bodies and sites of joinings are there. Those between different things are left out, with a note.
    pub(super) fn check_joinings(&self) -> Result<Vec<String>> {
        let mut apart = Vec::new();
        for joining in &self.joinings {
            let [a, b] = self.bodies_of(joining)?;
            if !self.are_of_one([a, b]) {
                apart.push(format!("equality {} left out: not of one thing", joining.title()));
            }
        }
        Ok(apart)
    }

    /// Are they two bodies of one thing, or of one and the world?
    fn are_of_one(&self, [a, b]: [usize; 2]) -> bool {
        let roots = [a, b].map(|body| self.tree.root_of(body));
        let is_of_robot = |(body, root): (usize, usize)| body == 0 || self.is_robot(root);
        a != b && (roots[0] == roots[1] || [a, b].into_iter().zip(roots).all(is_of_robot))
    }

    /// The connections among these links of bodies. The world is the root link if nothing moves that; else a note says what is left out.
    pub(super) fn connect(
        &self,
        links: &HashMap<usize, usize>,
        fixed_root: Option<usize>,
        articulation: &mut Articulation,
    ) -> Result<()> {
        for joining in &self.joinings {
            let [a, b] = self.bodies_of(joining)?;
            if !self.are_of_one([a, b]) {
                continue;
            }
            let is_beside = |body: usize| body == 0 && !links.contains_key(&0) && fixed_root.is_none();
            if [a, b].into_iter().any(is_beside) && [a, b].iter().any(|body| links.contains_key(body)) {
                articulation
                    .notes
                    .push(format!("equality {} left out: nothing fixes its root to the world", joining.title()));
                continue;
            }
            for pair in self.points(joining, [a, b]) {
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
        Ok(())
    }

    /// The bodies of a joining, as indices.
    fn bodies_of(&self, joining: &Joining) -> Result<[usize; 2]> {
        let bodies = &self.tree.bodies;
        let mut found = [0; 2];
        for (k, body) in found.iter_mut().enumerate() {
            let (kind, name, place) = match (&joining.bodies, &joining.sites) {
                (Some(names), _) => ("body", &names[k], bodies.iter().position(|body| body.name == names[k])),
                (None, Some(names)) => ("site", &names[k], self.site(&names[k]).map(|(body, _)| body)),
                (None, None) => continue,
            };
            *body = place.ok_or_else(|| {
                let names: Vec<&str> = match kind {
                    "body" => bodies.iter().map(|body| body.name.as_str()).collect(),
                    _ => bodies.iter().flat_map(|body| body.sites.iter().map(|(name, _)| name.as_str())).collect(),
                };
                let place = format!("equality {}", joining.title());
                Error::invalid(place, unknown(kind, name, names.into_iter()))
            })?;
        }
        Ok(found)
    }

    fn site(&self, name: &str) -> Option<(usize, Isometry3<f64>)> {
        let named = |(body, of): (usize, &super::body::Body)| {
            of.sites.iter().find(|(site, _)| site == name).map(|(_, pose)| (body, *pose))
        };
        self.tree.bodies.iter().enumerate().find_map(named)
    }

    /// The points that are held together, in both bodies' frames: one of `connect`, three of `weld`.
    fn points(&self, joining: &Joining, [a, b]: [usize; 2]) -> Vec<[Point; 2]> {
        let is_weld = joining.tag == "weld";
        let arms: Vec<Point3<f64>> = match is_weld {
            true => (0..3).map(|axis| Point3::from(nalgebra::Vector3::ith(axis, ARM))).collect(),
            false => vec![Point3::origin()],
        };
        if let Some(names) = &joining.sites {
            let sites = names.each_ref().map(|name| self.site(name).map_or_else(Isometry3::identity, |(_, pose)| pose));
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
