//! The problem of a quasi-dynamic step: P, g and the gaps to the joint limits, from q, u, the bodies' poses and the
//! parameters.
//!
//! For a commanded degree of freedom P is its stiffness K, and g = −(K (u − q) + τ). A command that pulls a tendon has
//! K c cᵀ in P and g = −(c K (u − cᵀq) + τ), c being 1 for its own joint and the ratios of the others. With
//! `effort_limits` the force K (u − cᵀq) is bounded. A joint's own spring is one more of these, with its rest in place
//! of u; damping d adds d/h to P, and armature a adds ε a/h²; [connections](super::connection) come last. For two
//! degrees of freedom i and j without a command, sum over the bodies b that both move. With v and ω the velocity of b's
//! centre of mass and its angular velocity at unit rate:
//!
//! ```text
//! P_ij = ε/h² M_ij        M_ij = Σ_b m vᵢ · vⱼ + ωᵢ · I ωⱼ        g_i = −(τ_i + Σ_b m g · vᵢ)
//! ```
//!
//! For one free body whose centre of mass is at c from the frame's origin, M is [[m 1, −m[c]×], [m[c]×, R I Rᵀ −
//! m[c]×²]]. It depends on q unless only translations are free.

use std::collections::HashMap;
use std::sync::Arc;

use candle_core::{Result, Tensor};

use crate::kinematics::{Coordinate, Frames, POSE, Pose, SCREW, Tree};
use crate::model::Model;
use crate::parameters::{ParameterPlaces, Parameters};
use crate::solve::Structure;
use crate::tensor::beside;
use crate::tensor::operation::{Function, Operation, Signature};
use fingertip_lanes::lane::{Lane, Real, Zip, clear, inlined};
use fingertip_lanes::vector::{Mat3, add, add_vec3, axpy, cross, dot, put_vec3, rotate, rotate_back, scale, vec3_at};
use fingertip_scene::JointKind;

use super::connection::ConnectionTables;
use super::limits::LimitTables;
use super::strand::{Entries, Strand};

/// Numbers of an incidence: velocity of the centre of mass, angular velocity in the body's axes.
pub(super) const MOTION: usize = 6;

/// Tables to assemble the quasi-dynamic step's P and g: which bodies' masses act on which degrees of freedom, and which
/// are commanded.
#[derive(Debug)]
pub(super) struct ProblemTables {
    /// Entries (i, j), j ≤ i, of P that can be nonzero, as degrees of freedom: those of M, its diagonal first, then the
    /// stiffnesses.
    pub(super) entries: Vec<(usize, usize)>,
    /// The degrees of freedom without command.
    free: Vec<usize>,
    /// (inertial body, screw, place in `free`): the screw moves the body.
    incidences: Vec<(usize, usize, usize)>,
    /// (incidence, incidence, entry): products that add up to M's entries.
    terms: Vec<(usize, usize, usize)>,
    /// The commands' springs.
    pub(super) commands: Vec<Strand>,
    /// The joints' own springs.
    pub(super) springs: Vec<Strand>,
    /// (parameter, entry) of damping that acts, and of armature.
    damped: Vec<(usize, usize)>,
    armoured: Vec<(usize, usize)>,
    /// Springs between points of links.
    pub(super) connections: ConnectionTables,
    limits: Arc<LimitTables>,
    pub(super) at: ParameterPlaces,
    nq: usize,
    /// Offset of the first inertial body's pose in the kinematics' results.
    first_pose: usize,
    /// Length of the kinematics' results; `screws` is the offset of the first screw in them.
    n_kin: usize,
    pub(super) screws: usize,
}

impl ProblemTables {
    /// Tables without inertia, springs, damping and commands, for the second-order step, which assembles its own P and
    /// g. Joint limits are kept.
    pub(super) fn nothing(model: &Model, limits: &Arc<LimitTables>) -> Result<Self> {
        let (entries, free, incidences, terms) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (commands, springs, damped, armoured) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (own, connections) = (Self::new(model, limits)?, ConnectionTables::default());
        Ok(Self { entries, free, incidences, terms, commands, springs, damped, armoured, connections, ..own })
    }

    pub(super) fn new(model: &Model, limits: &Arc<LimitTables>) -> Result<Self> {
        let tree = &model.tree;
        let free = tree.passive();
        let incidences = incidences(tree, &model.inertial, &free);
        let mut entries: Vec<(usize, usize)> = (0..free.len()).map(|k| (k, k)).collect();
        let mut entry_of: HashMap<(usize, usize), usize> = entries.iter().copied().zip(0..).collect();
        let mut terms = Vec::new();
        let mut first = 0;
        for body in incidences.chunk_by(|x, y| x.0 == y.0) {
            for (l, &(_, _, i)) in (first..).zip(body) {
                for (r, &(_, _, j)) in (first..).zip(body).filter(|(_, other)| other.2 <= i) {
                    let entry = *entry_of.entry((i, j)).or_insert_with(|| {
                        entries.push((i, j));
                        entries.len() - 1
                    });
                    terms.push((l, r, entry));
                }
            }
            first += body.len();
        }
        let slides = |c: &Coordinate| c.kind == JointKind::Translation && tree.bodies[c.body].parent == 0;
        if tree.coordinates.iter().filter(|c| free.contains(&c.v)).all(slides) && incidences.len() == free.len() {
            // Of a body that does not turn the axes do not couple.
            entries.truncate(free.len());
            terms.retain(|term| term.0 == term.1);
        }
        let entries = entries.into_iter().map(|(i, j)| (free[i], free[j])).collect();
        let mut entries = Entries::of(entries);
        let commands = tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| {
            let others = c.others.iter().map(|&(other, ratio)| (&tree.coordinates[other], ratio));
            let terms = std::iter::once((c, 1.0)).chain(others).map(|(c, ratio)| (c.v, c.q, ratio)).collect();
            Strand::new(terms, model.params.bounded_effort(c.effort), &mut entries)
        });
        let commands = commands.collect();
        let springs = tree.sprung().map(|c| Strand::new(vec![(c.v, c.q, 1.0)], f64::INFINITY, &mut entries)).collect();
        let acts = |c: &Coordinate| tree.is_resisted(c, model.params.joint_damping);
        let mut diagonal = |k: usize, c: &Coordinate| -> Vec<_> {
            c.dofs().filter(|_| acts(c)).map(|dof| (k, entries.at(dof, dof))).collect()
        };
        let damped = tree.damped().enumerate().flat_map(|(k, c)| diagonal(k, c)).collect();
        let armoured = tree.armoured().enumerate().flat_map(|(k, c)| diagonal(k, c)).collect();
        let n_kin = model.kinematics.tables().n_outputs();
        let screws = n_kin - SCREW * tree.ns;
        let connections = ConnectionTables::new(tree, model.shapes.len(), screws, |i, j| entries.at(i, j));
        let entries = entries.all;
        Ok(Self {
            entries,
            free,
            incidences,
            terms,
            commands,
            springs,
            damped,
            armoured,
            connections,
            limits: limits.clone(),
            at: ParameterPlaces::new(&model.parameters)?,
            nq: tree.nq,
            first_pose: POSE * model.n_front_frames(),
            n_kin,
            screws,
        })
    }

    /// (screw, screw, entry of P) of all pairs of degrees of freedom without command that turn an inertial body.
    pub(super) fn turning(&self, tree: &Tree, body: usize) -> Vec<(usize, usize, usize)> {
        let of = |&(l, r, entry): &(usize, usize, usize)| (self.incidences[l], self.incidences[r].1, entry);
        let all = self
            .terms
            .iter()
            .map(of)
            .filter(|&((of, left, _), right, _)| of == body && !tree.is_slide(left) && !tree.is_slide(right));
        all.map(|((_, left, _), right, entry)| (left, right, entry)).collect()
    }

    /// Length of the motions of all incidences.
    pub(super) fn n_motions(&self) -> usize {
        MOTION * self.incidences.len()
    }

    /// The factor ε/h² of the regularised inertia in P.
    #[inline(always)]
    pub(super) fn factor<R: Real>(&self, par: &[R]) -> R {
        let h = par[self.at.h];
        par[self.at.epsilon] / (h * h)
    }

    /// Inertia tensor I of a body about its centre of mass, kg·m², from the parameters.
    #[inline(always)]
    pub(super) fn inertia<R: Real>(&self, par: &[R], body: usize) -> Mat3<R> {
        let i = &par[self.at.inertia + 6 * body..];
        [[i[0], i[3], i[4]], [i[3], i[1], i[5]], [i[4], i[5], i[2]]]
    }

    /// The offset of an inertial body's pose, about its centre of mass, in the row of the kinematics' results.
    #[inline(always)]
    pub(super) fn pose(&self, body: usize) -> usize {
        self.first_pose + POSE * body
    }

    /// Velocity of the centre of mass and angular velocity along the body's axes, for each incidence.
    #[inline(always)]
    fn motions<R: Real>(&self, kin: &[R], motions: &mut [R]) {
        for (i, &(body, screw, _)) in R::parts(self.incidences.iter().enumerate()) {
            let (pose, at) = (Pose::read(&kin[self.pose(body)..]), self.screws + SCREW * screw);
            let omega = vec3_at(kin, at);
            put_vec3(motions, MOTION * i, add(vec3_at(kin, at + 3), cross(omega, pose.p)));
            put_vec3(motions, MOTION * i + 3, rotate(&pose.axes, omega));
        }
    }

    /// P's entries, g in the order of `place` and the gaps to the limits, of q, u, the kinematics' results and the
    /// parameters.
    #[inline(always)]
    pub(super) fn fill<R: Real>(
        &self,
        place: &[usize],
        [q, u, kin, par]: [&[R]; 4],
        [motions, p, g, gaps]: [&mut [R]; 4],
    ) {
        let at = &self.at;
        clear(p);
        clear(g);
        self.motions(kin, motions);
        let factor = self.factor(par);
        for &(l, r, entry) in &self.terms {
            let body = self.incidences[l].0;
            let (mass, inertia) = (par[at.mass + body], self.inertia(par, body));
            let (v_l, w_l) = (vec3_at(motions, MOTION * l), vec3_at(motions, MOTION * l + 3));
            let (v_r, w_r) = (vec3_at(motions, MOTION * r), vec3_at(motions, MOTION * r + 3));
            p[entry] += factor * (mass * dot(v_l, v_r) + dot(w_l, rotate(&inertia, w_r)));
        }
        let gravity = vec3_at(par, at.gravity);
        for (i, &(body, _, free)) in self.incidences.iter().enumerate() {
            g[place[self.free[free]]] -= par[at.mass + body] * dot(gravity, vec3_at(motions, MOTION * i));
        }
        for (k, command) in self.commands.iter().enumerate() {
            command.fill(place, [par[at.stiffness + k], u[k]], q, p, g);
        }
        for (k, spring) in self.springs.iter().enumerate() {
            spring.fill(place, [par[at.spring + k], par[at.spring_rest + k]], q, p, g);
        }
        let h = par[at.h];
        for &(k, entry) in &self.damped {
            p[entry] += par[at.damping + k] / h;
        }
        for &(k, entry) in &self.armoured {
            p[entry] += factor * par[at.armature + k];
        }
        for (dof, &place) in place.iter().enumerate() {
            g[place] -= par[at.tau + dof];
        }
        let held = [kin, &par[at.connection..]];
        self.connections.stiffen(
            held,
            #[inline(always)]
            |entry, _, more| p[entry] += more,
        );
        self.connections.vjp_together(
            held,
            #[inline(always)]
            |dof, force| g[place[dof]] -= force,
        );
        self.limits.fill(q, par, gaps);
    }

    /// After [`ProblemTables::fill`]: from the gradients of P, −g and the gaps to those of q, u, the kinematics'
    /// results, to which they are added, and the parameters; all but the third, and those of the motions, are zero.
    #[inline(always)]
    pub(super) fn vjp<R: Real>(
        &self,
        place: &[usize],
        [q, u, kin, par, motions]: [&[R]; 5],
        [grad_p, y, grad_gaps]: [&[R]; 3],
        [to_q, to_u, to_kin, to_par, to_motions]: [&mut [R]; 5],
    ) {
        let at = &self.at;
        for (dof, &place) in place.iter().enumerate() {
            to_par[at.tau + dof] = y[place];
        }
        for (k, command) in self.commands.iter().enumerate() {
            let of = [par[at.stiffness + k], u[k]];
            [to_par[at.stiffness + k], to_u[k]] = command.vjp(place, of, q, [grad_p, y], to_q);
        }
        for (k, spring) in self.springs.iter().enumerate() {
            let of = [par[at.spring + k], par[at.spring_rest + k]];
            [to_par[at.spring + k], to_par[at.spring_rest + k]] = spring.vjp(place, of, q, [grad_p, y], to_q);
        }
        self.limits.vjp_fill([q, par], grad_gaps, [&mut *to_q, &mut *to_par]);
        let force = inlined(
            #[inline(always)]
            |dof: usize| y[place[dof]],
        );
        self.connections.vjp([kin, &par[at.connection..]], grad_p, force, [&mut *to_kin, &mut to_par[at.connection..]]);

        let (h, epsilon, factor) = (par[at.h], par[at.epsilon], self.factor(par));
        // P = factor · M: the gradient of the factor is Σ P̄ M.
        let mut grad_factor = R::zero();
        for &(l, r, entry) in R::parts(&self.terms) {
            let body = self.incidences[l].0;
            let (mass, inertia) = (par[at.mass + body], self.inertia(par, body));
            let (v_l, w_l) = (vec3_at(motions, MOTION * l), vec3_at(motions, MOTION * l + 3));
            let (v_r, w_r) = (vec3_at(motions, MOTION * r), vec3_at(motions, MOTION * r + 3));
            let (spin_l, spin_r) = (rotate(&inertia, w_l), rotate(&inertia, w_r));
            grad_factor += grad_p[entry] * (mass * dot(v_l, v_r) + dot(w_l, spin_r));
            let grad = grad_p[entry] * factor;
            to_par[at.mass + body] += grad * dot(v_l, v_r);
            add_vec3(to_motions, MOTION * l, scale(grad * mass, v_r));
            add_vec3(to_motions, MOTION * r, scale(grad * mass, v_l));
            add_vec3(to_motions, MOTION * l + 3, scale(grad, spin_r));
            add_vec3(to_motions, MOTION * r + 3, scale(grad, spin_l));
            let six = &mut to_par[at.inertia + 6 * body..];
            for (k, (i, j)) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
                let product = w_l[i] * w_r[j];
                six[k] += grad * if i == j { product } else { product + w_l[j] * w_r[i] };
            }
        }
        for &(k, entry) in &self.armoured {
            grad_factor += grad_p[entry] * par[at.armature + k];
            to_par[at.armature + k] += grad_p[entry] * factor;
        }
        to_par[at.epsilon] += grad_factor / (h * h);
        to_par[at.h] -= (grad_factor * epsilon / (h * h * h)).scale(2.0);
        for &(k, entry) in &self.damped {
            to_par[at.damping + k] += grad_p[entry] / h;
            to_par[at.h] -= grad_p[entry] * par[at.damping + k] / (h * h);
        }

        let gravity = vec3_at(par, at.gravity);
        for (i, &(body, screw, free)) in R::parts(self.incidences.iter().enumerate()) {
            let (y, mass) = (y[place[self.free[free]]], par[at.mass + body]);
            let velocity = vec3_at(motions, MOTION * i);
            to_par[at.mass + body] += y * dot(gravity, velocity);
            add_vec3(to_par, at.gravity, scale(y * mass, velocity));
            let grad_v = axpy(y * mass, gravity, vec3_at(to_motions, MOTION * i));
            let grad_w = vec3_at(to_motions, MOTION * i + 3);
            // v = m + ω × p, w = axesᵀ ω
            let (pose_at, screw) = (self.pose(body), self.screws + SCREW * screw);
            let (pose, omega) = (Pose::read(&kin[pose_at..]), vec3_at(kin, screw));
            add_vec3(to_kin, screw + 3, grad_v);
            add_vec3(to_kin, screw, add(cross(pose.p, grad_v), rotate_back(&pose.axes, grad_w)));
            add_vec3(to_kin, pose_at, cross(grad_v, omega));
            for k in 0..3 {
                add_vec3(to_kin, pose_at + 3 + 3 * k, scale(grad_w[k], omega));
            }
        }
    }

    /// The problem's numbers [P | g | κ | gaps] (B, ·), g in the order of v.
    pub(super) fn operand(
        self: &Arc<Self>,
        structure: &Arc<Structure>,
        [q, u]: [&Tensor; 2],
        frames: &Frames,
        parameters: &Parameters,
    ) -> Result<Tensor> {
        let state = beside(&[q, u], 1)?;
        let kin = beside(&[&frames.poses.flatten_from(1)?, &frames.screws], 1)?;
        let op = ProblemOp { tables: self.clone(), structure: structure.clone() };
        state.apply_op3(&kin, &parameters.packed()?, Operation::rowwise(op, &structure.kernels))
    }
}

/// (inertial body, screw, place among the free degrees of freedom) of all screws that move a body with mass and have no
/// command.
fn incidences(tree: &Tree, inertial: &[usize], free: &[usize]) -> Vec<(usize, usize, usize)> {
    let place = |screw: usize| free.iter().position(|&dof| dof == tree.screw_dof[screw]);
    let of = |(n, &body): (usize, &usize)| {
        let moving = tree.path(body).into_iter().filter_map(|screw| Some((n, screw, place(screw)?)));
        moving.collect::<Vec<_>>()
    };
    inertial.iter().enumerate().flat_map(of).collect()
}

/// ([q | u], poses and screws, parameters) → [P | g | κ | gaps].
struct ProblemOp {
    tables: Arc<ProblemTables>,
    structure: Arc<Structure>,
}

impl Function<3> for ProblemOp {
    fn signature(&self) -> Signature<3> {
        let (ProblemTables { nq, commands, n_kin, at, .. }, s) = (&*self.tables, &self.structure);
        let operands = [("q and u", nq + commands.len()), ("poses and screws", *n_kin), ("parameters", at.n)];
        Signature { name: "force balance", operands, width: s.np() + s.nv + 1 + s.n_gaps() }
    }

    /// Room for the motions and g in elimination order, and for their gradients.
    fn scratch(&self) -> usize {
        2 * (self.tables.n_motions() + self.structure.nv)
    }

    #[inline(always)]
    fn value<R: Lane>(&self, [state, kin, par]: [&[R]; 3], scratch: &mut [R], out: &mut [R]) {
        let Self { tables, structure: s } = self;
        let (q, u) = state.split_at(tables.nq);
        let (motions, g) = scratch.split_at_mut(tables.n_motions());
        let (p, rest) = out.split_at_mut(s.np());
        let (by_dof, rest) = rest.split_at_mut(s.nv);
        let (kappa, gaps) = rest.split_at_mut(1);
        tables.fill(&s.place, [q, u, kin, par], [motions, p, &mut g[..s.nv], gaps]);
        kappa[0] = par[tables.at.kappa];
        for (to, &place) in by_dof.iter_mut().zip_inline(&s.place) {
            *to = g[place];
        }
    }

    #[inline(always)]
    fn vjp<R: Lane>(&self, [state, kin, par]: [&[R]; 3], scratch: &mut [R], grad: &[R], to: [&mut [R]; 3]) {
        let Self { tables, structure: s } = self;
        let (q, u) = state.split_at(tables.nq);
        let (motions, scratch) = scratch.split_at_mut(tables.n_motions());
        let (to_motions, y) = scratch.split_at_mut(tables.n_motions());
        let (p, rest) = grad.split_at(s.np());
        let (g, rest) = rest.split_at(s.nv);
        let (kappa, gaps) = rest.split_at(1);
        for (&grad, &place) in g.iter().zip_inline(&s.place) {
            y[place] = -grad;
        }
        tables.motions(kin, motions);
        clear(to_motions);
        let [to_state, to_kin, to_par] = to;
        let (to_q, to_u) = to_state.split_at_mut(tables.nq);
        to_par[tables.at.kappa] = kappa[0];
        tables.vjp(
            &s.place,
            [q, u, kin, par, motions],
            [p, &y[..s.nv], gaps],
            [to_q, to_u, to_kin, to_par, to_motions],
        );
    }
}
