//! The table of the pairs of shapes in a scene that may touch.

use std::collections::HashSet;
use std::sync::Arc;

use candle_core::{Result as TensorResult, Tensor};

use crate::kinematics::Tree;
use fingertip_scene::{Articulation, ObjectBody, PairRule, Params, Scene, Shape, Surface};
use fingertip_shapes::collision::Detail;
use fingertip_shapes::{Error, Result, message};

use super::contacts::Contacts;
use super::convex::ConvexPair;
use super::home::{AtHome, Depth};
use super::kernels::PairKernels;
use super::kind::PairFunction;
use super::overlap::Overlap;
use super::shapes::{BodyShape, Pair};
use super::window::Window;

/// All points of two things count up to the diameter of the smaller one, and up to this part of it where one is a
/// robot's link, or up to where a point may push with the least force. From twice that on the closest ones stand for
/// all. What is free falls and rests on all its corners; a robot's joints hold its links upright.
const LINK_DETAIL: f64 = 0.125;
/// The same for links of one robot, as parts of their reach, and how many points they have at most. They close in on
/// each other as commands move them.
const OWN_DETAIL: [f64; 2] = [0.125, 0.25];
const OWN_POINTS: usize = 5;
/// Contacts do not push a robot with less than this force, N, nor an object with less than this part of its weight,
/// unless what is apart could meet within a step at a speed of a robot's links among themselves, or of others, m/s.
const LEAST_FORCE: f64 = 0.02;
const LEAST_SHARE: f64 = 0.01;
const OWN_SPEED: f64 = 1.0;
const SPEED: f64 = 3.0;
/// Two things that do not belong to one robot reach at least as far as this part of the diameter of the smaller one:
/// what lies in a bowl or between rails has its corners within three quarters of that, from where on weights fall.
const DIAMETERS: f64 = 0.75;
/// The acceleration by which things are weighed where there is no gravity, m/s².
const STANDARD_GRAVITY: f64 = 9.81;
/// The [ranks](Side::rank) of a robot's links and of objects that can move.
const LINK: u8 = 1;
const MOVABLE: u8 = 2;

/// All pairs of a scene that may touch. Pairs of the same two types of shapes are next to each other.
#[derive(Clone, Debug)]
pub struct PairTable {
    /// The pairs, grouped by the types of their shapes.
    pub pairs: Vec<Pair>,
    /// Bodies of one robot or object that overlap or touch at home. They have no contacts, unless a rule of the scene
    /// has `enabled = true` for them.
    pub left_out: Vec<Overlap>,
    /// Bodies of other pairs that overlap deeply at home: by more than 1 mm, or by more than a twentieth of the thinner
    /// shape.
    pub deep: Vec<Overlap>,
    /// For each contact, the index of its pair. A pair has one or more contacts.
    pub pair_of_contact: Vec<usize>,
    /// The indices of the contacts that resist turning about their normal: those of pairs with torsional friction.
    pub torsional: Vec<usize>,
    pub(crate) kernels: Arc<PairKernels>,
}

impl PairTable {
    /// The pairs of a scene that has passed [`Scene::validate`]. It leaves out shapes that cannot move relative to each
    /// other, links of one thing that a joint joins, two half-spaces, what the scene's rules exclude, and links of one
    /// thing that overlap or touch at home, see [`PairTable::left_out`].
    ///
    /// Kinds of shapes without a formula are handled as convex bodies, see [`fingertip_shapes::collision`]. They have
    /// as many contacts as their [`Manifold`](fingertip_shapes::collision::Manifold) can have.
    ///
    /// # Errors
    /// If the tables cannot be created on the device.
    pub fn new(scene: &Scene, tree: &Tree, shapes: &[BodyShape]) -> Result<Self> {
        let mut pairs: Vec<Pair> = Vec::new();
        let sides: Vec<Side> = shapes.iter().map(|shape| Side::new(scene, tree, shape)).collect();
        for b in 0..shapes.len() {
            for a in 0..b {
                pairs.extend(Self::pair(scene, shapes, &sides, a, b));
            }
        }
        let (left_out, deep) = leave_out(scene, tree, shapes, &sides, &mut pairs)
            .map_err(|error| Error::invalid("shapes at home", message(&error)))?;
        // Groups pairs by types, in the order in which the types first appear.
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
        let resists = |&contact: &usize| pairs[pair_of_contact[contact]].torsion > 0.0;
        let torsional = (0..pair_of_contact.len()).filter(resists).collect();
        let kernels = Arc::new(PairKernels::new(&pairs, shapes));
        Ok(Self { pairs, left_out, deep, pair_of_contact, torsional, kernels })
    }

    /// The pair of two shapes, by their indices; `None` if they may not touch.
    fn pair(scene: &Scene, shapes: &[BodyShape], sides: &[Side], a: usize, b: usize) -> Option<Pair> {
        let (side_a, side_b) = (&sides[a], &sides[b]);
        // Bodies with the same carrier do not move relative to each other. A carrier is joined to the one above it.
        let neighbours = |inner: &Side, outer: &Side| outer.carrier.is_some() && outer.above == inner.carrier;
        let joined = side_a.assembly == side_b.assembly && (neighbours(side_a, side_b) || neighbours(side_b, side_a));
        let planes = [a, b].iter().all(|&shape| shapes[shape].shape == Shape::HalfSpace);
        let (shape_a, shape_b) = (&shapes[a], &shapes[b]);
        let are_partners = shape_a.partners.include(&shape_b.shape) && shape_b.partners.include(&shape_a.shape);
        if side_a.carrier == side_b.carrier || planes || !are_partners {
            return None;
        }
        // As in MuJoCo: there what is fixed in the world may touch what is joined to it.
        let fixed = side_a.carrier.is_none() || side_b.carrier.is_none();
        let touches_neighbours = fixed && side_a.surface.is_some() && side_b.surface.is_some();
        let Ruling { mu, torsion, enabled, is_named } = Ruling::of(scene, side_a, side_b);
        if enabled == Some(false) || (joined && !touches_neighbours && !is_named) {
            return None;
        }
        let (a, b) = if side_a.rank > side_b.rank { (b, a) } else { (a, b) };
        let (detail, window) = reach(&scene.params, [&shapes[a].shape, &shapes[b].shape], [side_a, side_b]);
        Some(Pair::new([a, b], shapes, [mu, torsion], detail, window))
    }

    /// The contacts of all pairs, from the shapes' poses (B, n_shapes, 12) and sizes (1 or B, n_shapes, 4), as one
    /// differentiable operation.
    ///
    /// # Errors
    /// If the tensors' shapes do not fit, or, on a GPU, if a pair has no formula.
    pub fn detect(&self, poses: &Tensor, sizes: &Tensor) -> TensorResult<Contacts> {
        self.kernels.contacts(poses, sizes)
    }

    /// A warning for each two bodies that are left out, or that overlap deeply.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        let left_out = self.left_out.iter().map(|overlap @ Overlap { a, b, .. }| {
            let (without, with) = (PairRule::exclude(a, b), PairRule::include(a, b));
            format!("{overlap} at home and are left out: {without} says so without this warning, {with} keeps them")
        });
        let deep = self.deep.iter().map(|overlap @ Overlap { a, b, .. }| {
            let rule = PairRule::exclude(a, b);
            format!("{overlap} at the start, which the first step undoes at once: move one, or exclude them by {rule}")
        });
        left_out.chain(deep)
    }

    /// Do all pairs have a formula of constant weights?
    pub(crate) fn has_formulas_only(&self) -> bool {
        self.pairs.iter().all(|pair| pair.formula.is_some())
    }

    /// How far each contact reaches.
    pub fn windows(&self) -> impl Iterator<Item = Window> {
        self.pair_of_contact.iter().map(|&pair| self.pairs[pair].window)
    }

    /// The number of contacts of all pairs.
    pub fn nc(&self) -> usize {
        self.pair_of_contact.len()
    }

    /// The indices of the pairs with torsional friction.
    pub fn torsional_pairs(&self) -> impl Iterator<Item = usize> {
        (0..self.pairs.len()).filter(|&pair| self.pairs[pair].torsion > 0.0)
    }
}

/// How far apart two shapes may be for their contacts to be told apart, and to have weight.
fn reach(params: &Params, [a, b]: [&Shape; 2], sides: [&Side; 2]) -> (Detail, Window) {
    let given = params.contact_distance.unwrap_or(f64::INFINITY);
    let is_lone = PairFunction::find(a, b).is_some_and(|formula| formula.contacts() == 1);
    if is_lone || ConvexPair::is_of_grid(a, b) {
        return (Detail { reach: given, ..Detail::ALL }, Window { reach: given, fade: params.fade });
    }
    // A contact pushes with at most 2/(κ φ) by either law of friction.
    let derived = |force: f64, speed: f64| (2.0 / (params.kappa * force)).max(speed * params.h);
    if sides[0].assembly == sides[1].assembly && sides.iter().all(|side| side.rank < MOVABLE) {
        let reach = given.min(derived(LEAST_FORCE, OWN_SPEED));
        let [all, closest] = OWN_DETAIL.map(|part| part * reach);
        let window = Window { reach, fade: params.fade.max(0.5 * reach) };
        return (Detail { all, closest, reach, beyond: false, points: OWN_POINTS }, window);
    }
    let diameter = 2.0 * a.radius().min(b.radius());
    let force = sides[0].least_force.min(sides[1].least_force);
    let window = match params.contact_distance {
        Some(reach) => Window { reach, fade: params.fade },
        // A ground stops whatever falls.
        None if [a, b].contains(&&Shape::HalfSpace) => Window::ALL,
        None => {
            let reach = derived(force, SPEED).max(DIAMETERS * diameter);
            Window { reach, fade: 0.25 * reach }
        }
    };
    let of_link = sides.iter().any(|side| side.rank == LINK);
    let all = if of_link { derived(force, 0.0).max(LINK_DETAIL * diameter) } else { diameter }.min(window.reach);
    (Detail { all, closest: 2.0 * all, reach: window.reach, ..Detail::ALL }, window)
}

/// The verdict of the scene's rules on the pairs of two bodies.
struct Ruling {
    mu: f64,
    torsion: f64,
    /// May the bodies touch? `None` if no rule says.
    enabled: Option<bool>,
    /// Does their own file name the two shapes?
    is_named: bool,
}

impl Ruling {
    /// Applies what the surfaces, the file of both and the scene's rules say to a pair, in this order; later ones
    /// override earlier ones.
    fn of(scene: &Scene, side_a: &Side, side_b: &Side) -> Self {
        let [a, b] = [side_a, side_b].map(|side| side.surface.unwrap_or_else(|| usual(&scene.params)));
        let [mu, torsion] = a.with(&b).friction();
        let mut ruling = Self { mu, torsion, enabled: (!a.meets(&b)).then_some(false), is_named: false };
        let own = side_a.owner.filter(|_| side_a.owner == side_b.owner).and_then(|owner| articulation(scene, owner));
        for pair in own.iter().flat_map(|own| &own.pairs) {
            let is = |x: &Side, y: &Side| {
                pair.links == [x.place[0], y.place[0]] && pair.shapes.is_none_or(|it| it == [x.place[1], y.place[1]])
            };
            if is(side_a, side_b) || is(side_b, side_a) {
                ruling = match pair.friction {
                    Some([mu, torsion]) => Self { mu, torsion, enabled: None, is_named: true },
                    None => Self { enabled: Some(false), is_named: false, ..ruling },
                };
            }
        }
        for (rule, (a, b)) in scene.pairs.iter().zip(side_a.called.iter().zip(&side_b.called)) {
            if (a[0] && b[1]) || (b[0] && a[1]) {
                ruling = Self {
                    mu: rule.mu.unwrap_or(ruling.mu),
                    torsion: rule.torsion.unwrap_or(ruling.torsion),
                    enabled: rule.enabled.or(ruling.enabled),
                    ..ruling
                };
            }
        }
        ruling
    }
}

/// The surface of a shape that has none of its own: it touches everything, with the scene's friction.
fn usual(params: &Params) -> Surface {
    let condim = if params.torsion > 0.0 { 4 } else { 3 };
    Surface { contype: !0, conaffinity: !0, priority: 0, condim, mu: params.mu, torsion: params.torsion }
}

/// The links of an owner, by its index in the tree; none of a rigid object.
fn articulation(scene: &Scene, owner: usize) -> Option<&Articulation> {
    match scene.objects.get(owner).map(|object| &object.body) {
        Some(ObjectBody::Articulated { articulation, .. }) => Some(articulation),
        Some(ObjectBody::Rigid { .. }) => None,
        None => scene.robots.get(owner - scene.objects.len()).map(|robot| &robot.articulation),
    }
}

/// Removes the pairs of bodies of one owner that overlap or touch at home, unless a rule keeps them. Returns their
/// overlaps, and the deep overlaps of other pairs.
fn leave_out(
    scene: &Scene,
    tree: &Tree,
    shapes: &[BodyShape],
    sides: &[Side],
    pairs: &mut Vec<Pair>,
) -> TensorResult<(Vec<Overlap>, Vec<Overlap>)> {
    let home = AtHome::new(tree, shapes)?;
    let bodies = |pair: &Pair| (shapes[pair.a].body, shapes[pair.b].body);
    let (mut out, mut left_out, mut deep) = (HashSet::new(), Vec::new(), Vec::new());
    for pair in pairs.iter() {
        let Some(Depth { depth, is_deep }) = home.depth(pair.a, pair.b) else { continue };
        let (a, b) = bodies(pair);
        let found = (tree.bodies[a].name.as_str(), tree.bodies[b].name.as_str(), depth);
        let (side_a, side_b) = (&sides[pair.a], &sides[pair.b]);
        if side_a.assembly == side_b.assembly && Ruling::of(scene, side_a, side_b).enabled != Some(true) {
            out.insert((a, b));
            left_out.push(found);
        } else if is_deep {
            deep.push(found);
        }
    }
    if !out.is_empty() {
        pairs.retain(|pair| !out.contains(&bodies(pair)));
    }
    Ok((Overlap::gather(left_out.into_iter()), Overlap::gather(deep.into_iter())))
}

/// The properties of a shape and its body that decide which shapes it may touch.
struct Side {
    surface: Option<Surface>,
    /// As [`BodyShape::place`].
    place: [usize; 2],
    owner: Option<usize>,
    /// The owner of all that hangs together: see [`Tree::assembly`].
    assembly: Option<usize>,
    /// The body that this one moves with, see [`Tree::carrier`].
    carrier: Option<usize>,
    /// The carrier of the body that the own carrier is joined to.
    above: Option<usize>,
    /// The shape with the higher rank is side B of a pair: objects 2, robots 1, fixed objects 0.
    rank: u8,
    /// The force below which contacts need not push it, N.
    least_force: f64,
    /// For each rule, whether the body is its `a`, and whether it is its `b`.
    called: Vec<[bool; 2]>,
}

impl Side {
    /// Looks up a body's owner, carrier and rank, and which rules name it.
    fn new(scene: &Scene, tree: &Tree, shape: &BodyShape) -> Self {
        let body = shape.body;
        let owner = tree.bodies[body].owner;
        let carrier = tree.carrier(body);
        let rank = match (owner.is_some_and(|owner| tree.owners[owner].robot), carrier) {
            (false, Some(_)) => MOVABLE,
            (true, _) => LINK,
            (false, None) => 0,
        };
        let gravity = scene.gravity.iter().map(|g| g * g).sum::<f64>().sqrt();
        let weight = tree.bodies[body].inertia.as_ref().map_or(0.0, |inertia| inertia.mass)
            * if gravity > 0.0 { gravity } else { STANDARD_GRAVITY };
        Self {
            surface: shape.surface,
            place: shape.place,
            owner,
            assembly: tree.assembly(body),
            carrier,
            above: carrier.and_then(|carrier| tree.carrier(tree.bodies[carrier].parent)),
            rank,
            least_force: if rank == MOVABLE { LEAST_FORCE.min(LEAST_SHARE * weight) } else { LEAST_FORCE },
            called: scene.pairs.iter().map(|rule| [&rule.a, &rule.b].map(|name| tree.is_called(body, name))).collect(),
        }
    }
}
