//! Which shapes of a scene may touch.

use std::sync::Arc;

use candle_core::{Device, Result as TensorResult, Tensor};

use crate::description::{Scene, Shape};
use crate::error::{Error, Result};
use crate::kinematics::Tree;
use crate::math::tensor::index;

use super::convex::{self, ConvexPairs};
use super::formulas::FormulaPairs;
use super::pair::PairFunction;

/// A collision shape on a body.
#[derive(Clone, Debug)]
pub struct BodyShape {
    /// Index of the body in the tree.
    pub body: usize,
    /// The shape.
    pub shape: Shape,
    /// Rotation of the shape's frame in the body's frame, row by row.
    pub rotation: [[f64; 3]; 3],
    /// Position of the shape's frame in the body's frame, m.
    pub xyz: [f64; 3],
}

/// Two shapes that may touch. Forces are reported on B.
///
/// B is the side that more likely asks for it: a movable object before a robot, a robot before a fixed object; among
/// equals the later one.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Index of the shape on side A.
    pub a: usize,
    /// Index of the shape on side B.
    pub b: usize,
    /// Friction coefficient.
    pub mu: f64,
    /// Contacts of the pair.
    pub contacts: usize,
    /// The pair's formula; none for those that [`crate::collision`] handles.
    pub(crate) formula: Option<PairFunction>,
}

/// How the contacts of a group come about.
#[derive(Clone, Debug)]
pub(super) enum Method {
    Formula(PairFunction),
    Convex(ConvexPairs),
}

/// Pairs of two kinds of shapes, which one call handles.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) method: Method,
    /// Indices of the shapes of side A and B, one per pair.
    pub(super) a: Tensor,
    pub(super) b: Tensor,
}

/// All pairs of a scene, those of the same two kinds of shapes together.
#[derive(Clone, Debug)]
pub struct PairTable {
    /// The pairs.
    pub pairs: Vec<Pair>,
    /// The pair that each contact belongs to; a pair has one or more contacts.
    pub pair_of_contact: Vec<usize>,
    pub(super) groups: Vec<Group>,
    /// The pairs of all groups with a formula.
    pub(super) formulas: Arc<FormulaPairs>,
    /// `pair_of_contact` on the device, none if every pair has one contact.
    pub(crate) contact_index: Option<Tensor>,
}

impl PairTable {
    /// The pairs of a scene that has passed [`Scene::validate`]. Left out are: shapes that cannot move against each other,
    /// links of one thing that a joint joins, two half-spaces, and what the scene's rules exclude.
    ///
    /// Kinds of shapes that have no formula of their own are handled as convex bodies, see [`crate::collision`]: with as
    /// many contacts as their [`Manifold`](crate::collision::Manifold) can have.
    ///
    /// # Errors
    /// If the tables cannot be made on the device.
    pub fn new(scene: &Scene, tree: &Tree, shapes: &[BodyShape], device: &Device) -> Result<Self> {
        let mut pairs: Vec<Pair> = Vec::new();
        for b in 0..shapes.len() {
            for a in 0..b {
                pairs.extend(Self::pair(scene, tree, shapes, a, b));
            }
        }
        // Together by kinds, in the order in which the kinds first appear.
        let kinds = |pair: &Pair| (shapes[pair.a].shape.name(), shapes[pair.b].shape.name());
        let mut order: Vec<_> = Vec::new();
        for kind in pairs.iter().map(kinds) {
            if !order.contains(&kind) {
                order.push(kind);
            }
        }
        pairs.sort_by_key(|pair| order.iter().position(|kind| *kind == kinds(pair)));
        let pair_of_contact: Vec<usize> =
            pairs.iter().enumerate().flat_map(|(p, pair)| std::iter::repeat_n(p, pair.contacts)).collect();
        let groups = pairs
            .chunk_by(|x, y| kinds(x) == kinds(y))
            .map(|chunk| {
                let a = index(chunk.iter().map(|pair| pair.a), device)?;
                let method = chunk[0].formula.map(Method::Formula).unwrap_or_else(|| {
                    let shape = |place: usize| shapes[place].shape.clone();
                    Method::Convex(ConvexPairs::new(chunk.iter().map(|pair| (shape(pair.a), shape(pair.b)))))
                });
                Ok(Group { method, a, b: index(chunk.iter().map(|pair| pair.b), device)? })
            })
            .collect::<TensorResult<_>>();
        let single = pair_of_contact.len() == pairs.len();
        let contact_index = (!single).then(|| index(pair_of_contact.iter().copied(), device)).transpose();
        let (groups, contact_index) = groups
            .and_then(|groups| Ok((groups, contact_index?)))
            .map_err(|error| Error::invalid("contact pairs", error.to_string()))?;
        let with_formula = pairs.iter().filter_map(|pair| Some((pair.a, pair.b, pair.formula?)));
        let formulas = Arc::new(FormulaPairs::new(with_formula, shapes.len()));
        Ok(Self { pairs, pair_of_contact, groups, formulas, contact_index })
    }

    fn pair(scene: &Scene, tree: &Tree, shapes: &[BodyShape], a: usize, b: usize) -> Option<Pair> {
        let (body_a, body_b) = (shapes[a].body, shapes[b].body);
        let (path_a, path_b) = (tree.path(body_a), tree.path(body_b));
        let same_owner = tree.bodies[body_a].owner == tree.bodies[body_b].owner;
        let neighbours = |inner: &[usize], outer: usize| {
            tree.carrier(outer).is_some_and(|j| tree.path(tree.bodies[j].parent) == inner)
        };
        let joined = same_owner && (neighbours(&path_a, body_b) || neighbours(&path_b, body_a));
        let planes = [a, b].iter().all(|&shape| shapes[shape].shape == Shape::HalfSpace);
        if path_a == path_b || joined || planes {
            return None;
        }
        let (mut mu, mut enabled) = (scene.params.mu, true);
        for rule in &scene.pairs {
            let is = |name: &str, body: usize| tree.is_called(body, name);
            if (is(&rule.a, body_a) && is(&rule.b, body_b)) || (is(&rule.a, body_b) && is(&rule.b, body_a)) {
                mu = rule.mu.unwrap_or(mu);
                enabled = rule.enabled;
            }
        }
        if !enabled {
            return None;
        }
        let (a, b) = if rank(tree, body_a) > rank(tree, body_b) { (b, a) } else { (a, b) };
        let formula = PairFunction::find(&shapes[a].shape, &shapes[b].shape);
        let contacts =
            formula.map_or_else(|| convex::contacts(&shapes[a].shape, &shapes[b].shape), |formula| formula.contacts());
        Some(Pair { a, b, mu, contacts, formula })
    }

    /// Have all pairs a formula of their own?
    pub(crate) fn has_formulas_only(&self) -> bool {
        self.pairs.iter().all(|pair| pair.formula.is_some())
    }

    /// Contacts.
    pub fn nc(&self) -> usize {
        self.pair_of_contact.len()
    }
}

fn rank(tree: &Tree, body: usize) -> u8 {
    let robot = tree.bodies[body].owner.is_some_and(|owner| tree.owners[owner].robot);
    match (robot, tree.path(body).is_empty()) {
        (false, false) => 2,
        (true, _) => 1,
        (false, true) => 0,
    }
}
