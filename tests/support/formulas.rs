//! The step's problem and its forces a second time: as candle operations on whole batches, which candle differentiates.

use std::collections::HashMap;

use candle_core::{Result, Tensor};
use fingertip::contact::{Contacts, UNUSED, Window};
use fingertip::description::JointKind;
use fingertip::kinematics::{Coordinate, Frames};
use fingertip::math::tensor::{cross, position, rotate_back};
use fingertip::solve::{ContactProblem, Solution};
use fingertip::{Model, Parameters};

use super::oracle::unpulled;

/// A model and its parameters.
pub struct Formulas<'a> {
    pub model: &'a Model,
    pub parameters: &'a Parameters,
}

fn index(values: impl IntoIterator<Item = usize>) -> Result<Tensor> {
    let values: Vec<u32> = values.into_iter().map(|i| i as u32).collect();
    let n = values.len();
    Tensor::from_vec(values, n, &candle_core::Device::Cpu)
}

/// What a connection puts into a step: k JᵀJ (B, nv, nv), −k Jᵀr (B, nv), and the degrees of freedom that move its
/// points.
pub struct Connection {
    pub stiffness: Tensor,
    pub pull: Tensor,
    pub dofs: Vec<usize>,
}

/// (row, column) of entries of a symmetric matrix.
type Pairs = Vec<(usize, usize)>;

/// Entries of symmetric matrices, a row for each world.
struct Matrix {
    entries: Pairs,
    rows: Tensor,
}

impl Matrix {
    /// Adds numbers (B, 1) to an entry; a new one comes last.
    fn add(&mut self, i: usize, j: usize, numbers: &Tensor) -> Result<()> {
        let is = |&(k, l): &(usize, usize)| (k, l) == (i, j) || (l, k) == (i, j);
        self.rows = match self.entries.iter().position(is) {
            Some(place) => self.rows.index_add(&index([place])?, &numbers.contiguous()?, 1)?,
            None => {
                self.entries.push((i, j));
                Tensor::cat(&[&self.rows, numbers], 1)?
            }
        };
        Ok(())
    }
}

impl Formulas<'_> {
    /// What a step from q (B, nq) under u (B, nu) solves, and its contacts.
    pub fn problem(&self, q: &Tensor, u: &Tensor) -> Result<(ContactProblem, Contacts)> {
        let (model, parameters) = (self.model, self.parameters);
        let frames = model.kinematics.frames(q, &parameters.offsets)?;
        let poses = frames.poses.narrow(1, 0, model.shapes.len())?.contiguous()?;
        let sizes = parameters.sizes.reshape((parameters.sizes.dim(0)?, model.shapes.len(), ()))?;
        let contacts = model.pairs.detect(&poses, &sizes)?;
        let problem = ContactProblem {
            contacts: self.contacts(&contacts)?,
            problem: self.balance(q, u, &frames)?,
            screws: frames.screws,
        };
        Ok((problem, contacts))
    }

    /// [P | g | κ | gaps] (B, ·).
    fn balance(&self, q: &Tensor, u: &Tensor, frames: &Frames) -> Result<Tensor> {
        let (parameters, tree) = (self.parameters, &self.model.tree);
        let b = q.dim(0)?;
        let wide = |t: &Tensor| t.broadcast_as((b, t.dim(1)?));
        let free = unpulled(self.model);
        let (inertia, pairs, weight) = self.inertia(&free, frames)?;
        let factor = parameters.epsilon.broadcast_div(&parameters.h.sqr()?)?;
        let mut p = Matrix { entries: pairs, rows: wide(&inertia.broadcast_mul(&factor)?)? };
        let mut force = Tensor::zeros((b, tree.nv), q.dtype(), q.device())?;
        force = force.index_add(&index(free.iter().copied())?, &weight, 1)?;
        // Springs on sums of coordinates: commands, then joints' own.
        let sums = tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| {
            let others = c.others.iter().map(|&(other, ratio)| (&tree.coordinates[other], ratio));
            std::iter::once((c, 1.0)).chain(others).collect::<Vec<_>>()
        });
        let sums: Vec<Vec<(&Coordinate, f64)>> = sums.chain(tree.sprung().map(|c| vec![(c, 1.0)])).collect();
        let commanded = tree.coordinates.iter().filter(|c| c.u.is_some());
        let efforts: Vec<f64> = commanded.map(|c| self.model.params.bounded_effort(c.effort)).collect();
        let stiffness = Tensor::cat(&[wide(&parameters.stiffness)?, wide(&parameters.spring)?], 1)?;
        let target = Tensor::cat(&[u, &wide(&parameters.spring_rest)?], 1)?;
        for (k, sum) in sums.iter().enumerate() {
            let stiffness = stiffness.narrow(1, k, 1)?;
            let mut short = target.narrow(1, k, 1)?;
            for (c, ratio) in sum {
                short = (short - (q.narrow(1, c.q, 1)? * *ratio)?)?;
            }
            let mut pull = (&stiffness * short)?;
            if let Some(effort) = efforts.get(k).copied().filter(|effort| effort.is_finite()) {
                pull = pull.clamp(-effort, effort)?;
            }
            for (l, (left, by)) in sum.iter().enumerate() {
                force = force.index_add(&index([left.v])?, &(&pull * *by)?, 1)?;
                for (right, ratio) in &sum[..=l] {
                    p.add(left.v, right.v, &(&stiffness * (by * ratio))?)?;
                }
            }
        }
        let commanded = self.model.params.joint_damping;
        for (k, c) in tree.damped().enumerate().filter(|(_, c)| tree.is_resisted(c, commanded)) {
            let damping = parameters.damping.narrow(1, k, 1)?.broadcast_div(&parameters.h)?;
            c.dofs().try_for_each(|dof| p.add(dof, dof, &wide(&damping)?))?;
        }
        for (k, c) in tree.armoured().enumerate().filter(|(_, c)| tree.is_resisted(c, commanded)) {
            let armature = parameters.armature.narrow(1, k, 1)?.broadcast_mul(&factor)?;
            c.dofs().try_for_each(|dof| p.add(dof, dof, &wide(&armature)?))?;
        }
        for Connection { stiffness, pull, dofs } in self.connections(frames)? {
            force = (force + pull)?;
            for &i in &dofs {
                for &j in dofs.iter().filter(|&&j| j <= i) {
                    p.add(i, j, &stiffness.narrow(1, i, 1)?.narrow(2, j, 1)?.squeeze(2)?)?;
                }
            }
        }
        let g = force.broadcast_add(&parameters.tau)?.neg()?;
        let mut parts = vec![p.rows, g, wide(&parameters.kappa)?];
        for coordinate in tree.coordinates.iter().filter(|_| self.model.params.joint_limits) {
            let Some(limits) = coordinate.limits else { continue };
            let at = q.narrow(1, coordinate.q, 1)?;
            parts.extend([at.affine(1.0, -limits.lower)?, at.affine(-1.0, limits.upper)?]);
        }
        let commanded = self.model.params.joint_friction;
        let rough = tree.coordinates.iter().filter(|c| c.friction > 0.0).enumerate();
        for (k, c) in rough.filter(|(_, c)| tree.is_resisted(c, commanded)) {
            let most = wide(&parameters.dry_friction.narrow(1, k, 1)?)?;
            parts.extend(c.dofs().map(|_| most.clone()));
        }
        for (k, c) in tree.coordinates.iter().filter(|c| c.table.is_some()).enumerate() {
            let place = self.model.inertial.iter().position(|&body| body == c.body).unwrap();
            let of = |t: &Tensor, k: usize| wide(&t.narrow(1, k, 1)?);
            let pull = of(&parameters.gravity, 2)?.abs()?;
            parts.push(((of(&parameters.table_friction, k)? * of(&parameters.mass, place)?)? * pull)?);
            let first = parameters.offsets.dim(1)? - 3 * (self.model.inertial.len() - place);
            let (x, y) = (of(&parameters.offsets, first)?, of(&parameters.offsets, first + 1)?);
            let yaw = q.narrow(1, c.q + 2, 1)?;
            let (sin, cos) = (yaw.sin()?, yaw.cos()?);
            parts.push(((&sin * &x)? + (&cos * &y)?)?.neg()?);
            parts.push(((&cos * &x)? - (&sin * &y)?)?);
            parts.push(of(&parameters.table_radius, k)?);
        }
        Tensor::cat(&parts, 1)
    }

    /// The springs between points of links.
    pub fn connections(&self, frames: &Frames) -> Result<Vec<Connection>> {
        let (tree, parameters) = (&self.model.tree, self.parameters);
        let (b, _, _) = frames.poses.dims3()?;
        let screws = frames.screws.contiguous()?.reshape((b, (), 6))?;
        let of = |(k, connection): (usize, &fingertip::kinematics::Connection)| {
            let mut jacobian = Tensor::zeros((b, 3, tree.nv), screws.dtype(), screws.device())?;
            let mut points = Vec::new();
            let mut dofs = Vec::new();
            for (side, &body) in connection.bodies.iter().enumerate() {
                let point = frames.poses.narrow(1, self.model.shapes.len() + 2 * k + side, 1)?.narrow(2, 0, 3)?;
                for screw in tree.path(body) {
                    let screw_of = screws.narrow(1, screw, 1)?;
                    let (omega, m) = (screw_of.narrow(2, 0, 3)?.contiguous()?, screw_of.narrow(2, 3, 3)?);
                    let velocity = (m + cross(&omega, &point.contiguous()?)?)?.transpose(1, 2)?;
                    let velocity = if side == 0 { velocity.neg()? } else { velocity };
                    jacobian = jacobian.index_add(&index([tree.screw_dof[screw]])?, &velocity.contiguous()?, 2)?;
                    dofs.push(tree.screw_dof[screw]);
                }
                points.push(point.squeeze(1)?);
            }
            let k = parameters.connection.narrow(1, k, 1)?.unsqueeze(2)?;
            let apart = (&points[1] - &points[0])?.unsqueeze(2)?;
            let forces = jacobian.broadcast_mul(&k)?;
            let pull = forces.broadcast_mul(&apart)?.sum(1)?.neg()?;
            let stiffness = jacobian.transpose(1, 2)?.contiguous()?.matmul(&forces.contiguous()?)?;
            dofs.sort_unstable();
            dofs.dedup();
            Ok(Connection { stiffness, pull, dofs })
        };
        tree.connections.iter().enumerate().map(of).collect()
    }

    /// Entries of M (B, n) of the degrees of freedom without command, which these are, and the pull of gravity on them
    /// (B, n).
    fn inertia(&self, free: &[usize], frames: &Frames) -> Result<(Tensor, Pairs, Tensor)> {
        let (model, parameters) = (self.model, self.parameters);
        let (tree, n_inertial) = (&model.tree, model.inertial.len());
        let mut incidences = Vec::new();
        for (n, &body) in model.inertial.iter().enumerate() {
            for screw in tree.path(body) {
                let place = free.iter().position(|dof| *dof == tree.screw_dof[screw]);
                incidences.extend(place.map(|dof| (n, screw, dof)));
            }
        }
        // The diagonal comes first, then what couples in the order in which bodies do it.
        let mut entry_of: HashMap<(usize, usize), usize> = (0..free.len()).map(|k| ((k, k), k)).collect();
        let mut terms = Vec::new();
        for (l, &(body, _, i)) in incidences.iter().enumerate() {
            for (r, &(other, _, j)) in incidences.iter().enumerate() {
                if body == other && j <= i {
                    let next = entry_of.len();
                    terms.push((l, r, *entry_of.entry((i, j)).or_insert(next)));
                }
            }
        }
        let (b, dtype) = (frames.screws.dim(0)?, frames.screws.dtype());
        let zeros = |n: usize| Tensor::zeros((b, n), dtype, frames.screws.device());
        let mut pairs = vec![(0, 0); entry_of.len()];
        entry_of.iter().for_each(|(&(i, j), &k)| pairs[k] = (free[i], free[j]));
        if incidences.is_empty() {
            return Ok((zeros(free.len())?, pairs, zeros(free.len())?));
        }
        let body = index(incidences.iter().map(|i| i.0))?;
        let first = model.shapes.len() + 2 * tree.connections.len();
        let poses = frames.poses.narrow(1, first, n_inertial)?.contiguous()?.index_select(&body, 1)?;
        let screws = frames.screws.contiguous()?.reshape((b, (), 6))?;
        let screws = screws.index_select(&index(incidences.iter().map(|i| i.1))?, 1)?;
        let (omega, m) = (screws.narrow(2, 0, 3)?, screws.narrow(2, 3, 3)?);
        let velocity = (m + cross(&omega, &position(&poses)?)?)?;
        let turning = rotate_back(&poses, &omega)?;

        let mass = parameters.mass.index_select(&body, 1)?.unsqueeze(2)?;
        let inertia = parameters.inertia.reshape(((), n_inertial, 6))?;
        let matrix = inertia.index_select(&index([0, 3, 4, 3, 1, 5, 4, 5, 2])?, 2)?;
        let matrix = matrix.index_select(&body, 1)?.reshape(((), incidences.len(), 3, 3))?;
        let momentum = velocity.broadcast_mul(&mass)?;
        let spin = matrix.broadcast_mul(&turning.unsqueeze(2)?)?.sum(3)?;

        let rates = Tensor::cat(&[velocity, turning], 2)?.index_select(&index(terms.iter().map(|t| t.0))?, 1)?;
        let momenta = Tensor::cat(&[&momentum, &spin], 2)?.index_select(&index(terms.iter().map(|t| t.1))?, 1)?;
        let products = (rates * momenta)?.sum(2)?;
        let entries = zeros(entry_of.len())?.index_add(&index(terms.iter().map(|t| t.2))?, &products, 1)?;
        let slides = |c: &Coordinate| c.kind == JointKind::Translation && tree.bodies[c.body].parent == 0;
        let only_slides = tree.coordinates.iter().filter(|c| free.contains(&c.v)).all(slides);
        // Of a body that does not turn the axes do not couple.
        let n = if only_slides && incidences.len() == free.len() { free.len() } else { entry_of.len() };
        let entries = entries.narrow(1, 0, n)?;
        let weights = momentum.broadcast_mul(&parameters.gravity.unsqueeze(1)?)?.sum(2)?;
        let weight = zeros(free.len())?.index_add(&index(incidences.iter().map(|i| i.2))?, &weights, 1)?;
        pairs.truncate(n);
        Ok((entries, pairs, weight))
    }

    /// Normal, points, gap, μ and weight of each contact (B, 12 n), then, where some resist turning, γ of each.
    pub fn contacts(&self, contacts: &Contacts) -> Result<Tensor> {
        let Contacts { point_a, point_b, normal, phi, weight: part } = contacts;
        let mut weight = self.weights(phi)?;
        if let Some(part) = part {
            weight = (weight * part)?;
        }
        let pairs = &self.model.pairs;
        let mu = self.parameters.mu.index_select(&index(pairs.pair_of_contact.iter().copied())?, 1)?;
        let mu = mu.broadcast_as(phi.shape())?;
        let numbers = [phi, &mu, &weight].map(|t| t.unsqueeze(2).expect("a matrix"));
        let rows = Tensor::cat(&[normal, point_a, point_b, &numbers[0], &numbers[1], &numbers[2]], 2)?;
        self.with_gammas(&rows.flatten_from(1)?)
    }

    /// 1 up to `reach − fade`, 0 from `reach` on, between them t³ (10 − 15 t + 6 t²), t falling from 1 to 0.
    fn weights(&self, phi: &Tensor) -> Result<Tensor> {
        let row = |of: fn(Window) -> f64| {
            let numbers: Vec<f64> = self.model.pairs.windows().map(of).collect();
            Tensor::from_vec(numbers, (1, self.model.nc()), phi.device())?.broadcast_as(phi.shape())
        };
        let reach = row(|window| window.reach.min(UNUSED))?;
        // Where nothing fades, as steep as can be.
        let fade = row(|window| window.fade.max(1e-100))?;
        let t = (&reach - phi)?.div(&fade)?.clamp(0.0, 1.0)?;
        let polynomial = t.affine(6.0, -15.0)?.mul(&t)?.affine(1.0, 10.0)?;
        // One that has a weight has at least so much.
        (polynomial * t.powf(3.0)?)?.maximum(1e-6)? * phi.lt(&reach)?.to_dtype(phi.dtype())?
    }

    fn with_gammas(&self, contacts: &Tensor) -> Result<Tensor> {
        let pairs = &self.model.pairs;
        if pairs.torsional.is_empty() {
            return Ok(contacts.clone());
        }
        // Behind those of the pairs, 0 for the others.
        let torsion = self.parameters.torsion.pad_with_zeros(1, 0, 1)?;
        let all: Vec<usize> = pairs.torsional_pairs().collect();
        let of = |pair: &usize| all.iter().position(|other| other == pair).unwrap_or(all.len());
        let gammas = torsion.index_select(&index(pairs.pair_of_contact.iter().map(of))?, 1)?;
        let gammas = gammas.broadcast_as((contacts.dim(0)?, self.model.nc()))?;
        Tensor::cat(&[contacts, &gammas], 1)
    }

    /// Forces (B, nc, 3) on B and torques about the normal (B, n) of a solution.
    pub fn totals(&self, solution: &Solution) -> Result<[Tensor; 2]> {
        let (forces, turning) = (&solution.force, &self.model.pairs.torsional);
        let b = forces.dim(0)?;
        if turning.is_empty() {
            return Ok([forces.clone(), Tensor::zeros((b, 0), forces.dtype(), forces.device())?]);
        }
        let own = forces.contiguous()?.index_select(&index(turning.iter().copied())?, 1)?;
        Ok([forces.narrow(2, 0, 3)?, own.narrow(2, 3, 1)?.flatten_from(1)?])
    }
}
