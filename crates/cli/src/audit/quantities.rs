//! The quantities whose derivatives an audit checks: a step's motion, and the force and moment of each pair of bodies.
//!
//! A pair's contacts may exchange places while bodies move, and nothing is wrong then. Their sums over the pair do not
//! know of that.

use candle_core::{Result, Tensor};
use fingertip::contact::JUMP;
use fingertip::kinematics::Manifold;
use fingertip::step::{Quasidynamic, Step};
use nalgebra::DMatrix;

use super::inputs::velocity_name;
use super::{numbers, vectors};

/// Pairs whose forces are a smaller part of all are left out, ...
const NOTICEABLE: f64 = 1e-4;
/// ... and all but this many of the strongest.
const STRONGEST: usize = 32;
/// Numbers of a pair: the force along the normal and two tangents of the contacts' frames, the torque about the normal,
/// ...
const FORCE: [&str; 4] = ["normal force", "force along the first tangent", "force along the second tangent", "torque"];
/// ... and the moment in world axes, about a point that stays.
const MOMENT: [&str; 3] = ["moment about x", "moment about y", "moment about z"];

/// A kind of quantities: all of one kind are measured by the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// q₊ in tangent coordinates, m and rad.
    Motion,
    /// Forces of pairs in their contacts' frames, N, and torques, N·m.
    Force,
    /// Moments of pairs, N·m.
    Moment,
}

/// The checked quantities of steps around a given one. Each is a row of the Jacobians: the motion, the forces, the
/// moments.
pub struct Quantities<'a> {
    step: &'a Quasidynamic,
    manifold: Manifold,
    /// q₊ of the step itself (1, nq).
    center: Tensor,
    /// The pairs that are looked at.
    pub pairs: Vec<usize>,
    /// The place of each contact's pair in `pairs` (nc), its length if the pair is not there.
    places: Tensor,
    /// The half of the directions that the frame of a contact is for (1, nc, 1), 1 or −1: at the border, frames jump.
    sides: Tensor,
    /// The point about which a contact's moment is taken (1, nc, 3), m.
    about: Tensor,
    /// The contacts with torsional friction.
    torsional: Tensor,
}

impl<'a> Quantities<'a> {
    /// The quantities of steps around this one, which is of a single world.
    pub fn new(step: &'a Quasidynamic, result: &Step) -> Result<Self> {
        let model = step.model();
        let (forces, normals) = (vectors(&result.force)?, vectors(&result.contacts.normal)?);
        let points = vectors(&result.contacts.point_b)?;
        let (n, nc, device) = (model.pairs.pairs.len(), model.nc(), &model.device);
        // The sum of a pair's forces, the mean of its points by force, and the side of its strongest contact.
        let (mut size, mut point, mut side) = (vec![0.0; n], vec![nalgebra::Vector3::zeros(); n], vec![(0.0, 1.0); n]);
        for (contact, &pair) in model.pairs.pair_of_contact.iter().enumerate() {
            let force = forces[contact].norm();
            size[pair] += force;
            point[pair] += force * points[contact];
            if force > side[pair].0 {
                side[pair] = (force, if normals[contact].z < JUMP { -1.0 } else { 1.0 });
            }
        }
        let least = NOTICEABLE * size.iter().sum::<f64>();
        let mut pairs: Vec<usize> = (0..n).filter(|&pair| size[pair] > least).collect();
        pairs.sort_by(|&a, &b| size[b].total_cmp(&size[a]));
        pairs.truncate(STRONGEST);
        let index = |places: Vec<usize>| {
            let n = places.len();
            Tensor::from_vec(places.into_iter().map(|k| k as u32).collect::<Vec<u32>>(), n, device)
        };
        let of_contact = || model.pairs.pair_of_contact.iter();
        let place = |pair: &usize| pairs.iter().position(|other| other == pair).unwrap_or(pairs.len());
        let about = of_contact().flat_map(|&p| if size[p] > least { point[p] / size[p] } else { point[p] }.data.0[0]);
        Ok(Self {
            step,
            manifold: Manifold::new(&model.tree, device)?,
            center: result.q_next.detach(),
            places: index(of_contact().map(place).collect())?,
            sides: Tensor::from_vec(of_contact().map(|&p| side[p].1).collect::<Vec<f64>>(), (1, nc, 1), device)?,
            about: Tensor::from_vec(about.collect::<Vec<f64>>(), (1, nc, 3), device)?,
            torsional: index(model.pairs.torsional.clone())?,
            pairs,
        })
    }

    /// The number of quantities.
    pub fn count(&self) -> usize {
        self.step.model().nv() + (FORCE.len() + MOMENT.len()) * self.pairs.len()
    }

    /// The kind of a row.
    pub fn kind(&self, row: usize) -> Kind {
        let forces = self.step.model().nv();
        match row {
            _ if row < forces => Kind::Motion,
            _ if row < forces + FORCE.len() * self.pairs.len() => Kind::Force,
            _ => Kind::Moment,
        }
    }

    /// The name of a quantity by its row, such as `normal force of "hand/tip" on "ball"`.
    pub fn name(&self, row: usize) -> String {
        let model = self.step.model();
        let (names, at): (&[&str], usize) = match self.kind(row) {
            Kind::Motion => return format!("q₊ of {}", velocity_name(self.step, row)),
            Kind::Force => (&FORCE, row - model.nv()),
            Kind::Moment => (&MOMENT, row - model.nv() - FORCE.len() * self.pairs.len()),
        };
        let pair = &model.pairs.pairs[self.pairs[at / names.len()]];
        let body = |shape: usize| &model.tree.bodies[model.shapes[shape].body].name;
        format!("{} of \"{}\" on \"{}\"", names[at % names.len()], body(pair.a), body(pair.b))
    }

    /// All of them (B, count) at steps of B worlds, differentiable. The motion is linear in q₊: right next to the
    /// center.
    pub fn of(&self, result: &Step) -> Result<Tensor> {
        let model = self.step.model();
        // Nᵀ dq/dt is a quarter of ω, as NᵀN = ¼ 1.
        let mut factors = vec![1.0; model.nv()];
        for coordinate in &model.tree.coordinates {
            if let Some(at) = coordinate.kind.quaternion() {
                factors[coordinate.v + at..][..3].fill(4.0);
            }
        }
        let motion =
            self.manifold.to_tangent(&self.center, &result.q_next)?.broadcast_mul(&model.tensor(&[&factors])?)?;
        let (worlds, nc) = (motion.dim(0)?, model.nc());
        if self.pairs.is_empty() {
            return Ok(motion);
        }
        let zeros = |n: usize, k: usize| Tensor::zeros((worlds, n, k), model.dtype, &model.device);
        let torque = zeros(nc, 1)?.index_add(&self.torsional, &result.torque.unsqueeze(2)?.contiguous()?, 1)?;
        let arm = result.contacts.point_b.broadcast_sub(&self.about)?;
        let twist = result.contacts.normal.broadcast_mul(&torque)?;
        let moment = (cross(&arm, &result.force)? + twist)?;
        let local = Tensor::cat(&[&self.local(&result.contacts.normal, &result.force)?, &torque], 2)?;
        let sums = |t: &Tensor, k: usize| -> Result<Tensor> {
            let all = zeros(self.pairs.len() + 1, k)?.index_add(&self.places, &t.contiguous()?, 1)?;
            all.narrow(1, 0, self.pairs.len())?.flatten_from(1)
        };
        Tensor::cat(&[motion, sums(&local, FORCE.len())?, sums(&moment, MOMENT.len())?], 1)
    }

    /// The quantities as plain numbers, a row per world; NaN where a world has no solution.
    pub fn numbers(&self, result: &Step) -> Result<DMatrix<f64>> {
        let all = self.of(result)?;
        let mut matrix = DMatrix::from_row_slice(all.dim(0)?, all.dim(1)?, &numbers(&all)?);
        for (world, report) in result.reports.iter().enumerate() {
            if report.status != fingertip::solve::Status::Solved {
                matrix.row_mut(world).fill(f64::NAN);
            }
        }
        Ok(matrix)
    }

    /// Forces (B, nc, 3) in frames as those of [`fingertip::contact::frame`], but by the formula of one side
    /// throughout.
    fn local(&self, normal: &Tensor, force: &Tensor) -> Result<Tensor> {
        let part = |t: &Tensor, k: usize| t.narrow(2, k, 1);
        let (x, y, z) = (part(normal, 0)?, part(normal, 1)?, part(normal, 2)?);
        let (fx, fy, fz) = (part(force, 0)?, part(force, 1)?, part(force, 2)?);
        let side = &self.sides;
        let along = (((&x * &fx)? + (&y * &fy)?)? + (&z * &fz)?)?;
        // With a = −1/(σ + z): t₁·f = f_x + σ (a x (x f_x + y f_y) − x f_z), t₂·f = σ f_y + a y (x f_x + y f_y) − y
        // f_z.
        let below = z.broadcast_add(side)?;
        // A contact that the pair does not have now may have no normal.
        let below = (&below + below.eq(0.0)?.to_dtype(below.dtype())?)?;
        let a = below.recip()?.neg()?;
        let flat = (((&x * &fx)? + (&y * &fy)?)? * &a)?;
        let pull = (flat - &fz)?;
        let first = (&fx + (&x * &pull)?.broadcast_mul(side)?)?;
        let second = (fy.broadcast_mul(side)? + (&y * &pull)?)?;
        Tensor::cat(&[along, first, second], 2)
    }

    /// The rows of C or D, three for each contact and then one for each with torsional friction, summed to those of
    /// pairs.
    pub fn forces_of_pairs(&self, rows: &DMatrix<f64>) -> DMatrix<f64> {
        let pairs = &self.step.model().pairs;
        let mut sums = DMatrix::zeros(FORCE.len() * self.pairs.len(), rows.ncols());
        let place = |contact: usize| self.pairs.iter().position(|pair| *pair == pairs.pair_of_contact[contact]);
        let nc = pairs.pair_of_contact.len();
        let forces = (0..3 * nc).map(|row| (row / 3, row % 3, row));
        let torques = pairs.torsional.iter().enumerate().map(|(k, &contact)| (contact, 3, 3 * nc + k));
        for (contact, part, row) in forces.chain(torques) {
            if let Some(place) = place(contact) {
                let mut sum = sums.row_mut(FORCE.len() * place + part);
                sum += rows.row(row);
            }
        }
        sums
    }
}

fn cross(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let part = |t: &Tensor, k: usize| t.narrow(2, k, 1);
    let component = |i: usize, j: usize| (part(a, i)? * part(b, j)?)? - (part(a, j)? * part(b, i)?)?;
    Tensor::cat(&[component(1, 2)?, component(2, 0)?, component(0, 1)?], 2)
}
