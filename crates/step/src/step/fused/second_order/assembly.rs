//! A second-order step's problem before it is solved, for solvers outside the kernels, such as rigid contact.

use candle_core::{Device, Result, Tensor};

use crate::contact::Contacts;
use crate::tensor::rows::worlds;
use fingertip_lanes::lane::Lane;
use fingertip_lanes::program::{Group, Program, Stage, run_parts_on};
use fingertip_lanes::rows::{Output, Rows};

use super::super::inertial::SecondOrder;
use super::super::memory::GEOMETRY;
use super::super::plan::Plan;
use super::super::stages::{Load, Operands};
use super::stages::{Of, allowed};

/// The assembled problem: matrices with one row for each world. Worlds that cannot be used have the numbers of the home
/// configuration at rest.
pub(in super::super::super) struct Assembly {
    /// 1 where the world can be used.
    pub(in super::super::super) usable: Rows<'static>,
    pub(in super::super::super) q: Rows<'static>,
    pub(in super::super::super) h: Rows<'static>,
    /// Normal, points on A and B and φ of each contact.
    pub(in super::super::super) geometry: Rows<'static>,
    /// Each contact's part of its pair's barrier; nothing where that is 1 for all.
    share: Rows<'static>,
    /// Weight of each contact by its φ.
    pub(in super::super::super) weight: Rows<'static>,
    /// The part of each contact's gap that the step may close, −h l of the `Bound`, m.
    pub(in super::super::super) gap: Rows<'static>,
    /// The part of each joint limit's gap that the step may close, rad or m.
    pub(in super::super::super) limit_gap: Rows<'static>,
    pub(in super::super::super) screws: Rows<'static>,
    /// M with armature, h D of damping and h² S of springs on its diagonal, row by row.
    pub(in super::super::super) mass: Rows<'static>,
    /// M v + h (τ − b).
    pub(in super::super::super) momentum: Rows<'static>,
}

/// Numbers of a contact in [`Assembly::geometry`].
pub(in super::super::super) const CONTACT: usize = GEOMETRY;

struct Assemble<'a> {
    of: Of<'a>,
    operands: Operands<'a>,
}

impl Program for Assemble<'_> {
    fn scratch(&self) -> usize {
        self.of.plan.places.gradients.end()
    }

    fn group(&self, group: &mut Group) {
        let Self { of, operands } = self;
        group.run(&Load { plan: of.plan, operands, goes_on: false });
        of.plan.prepare(group);
        group.run(&Store(*of));
    }
}

/// Writes the parts of an [`Assembly`].
struct Store<'a>(Of<'a>);

impl Stage for Store<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let Of { plan, more } = self.0;
        let (memory, to) = plan.places.both(memory);
        let m = memory.numbers;
        let (extra, rest) = more.at.cut(m.extra);
        let dense = more.mass_to.cut(more.to.cut(to.extra).1).0.m;
        more.mass.dense(more.mass_at.cut(rest).0.m, dense);
        let h = m.par[plan.at.h];
        let nv = plan.structure.nv;
        for &(k, dof) in &more.joints.damping {
            dense[dof * nv + dof] += h * m.par[plan.at.damping + k];
        }
        for &(k, dof, _) in &more.joints.springs {
            dense[dof * nv + dof] += h * h * m.par[plan.at.spring + k];
        }
        more.connections.stiffen(
            [m.kin, &m.par[plan.at.connection..]],
            #[inline(always)]
            |_, [i, j], by| {
                dense[i * nv + j] += h * h * by;
                if i != j {
                    dense[j * nv + i] += h * h * by;
                }
            },
        );
        for (momentum, &force) in extra.momentum.iter_mut().zip(extra.force.iter()) {
            *momentum = force.mul_add(h, *momentum);
        }
        let screws = &m.kin[plan.first_screw()..];
        let blocks = [&*m.usable, m.q, &[h], m.geometry, m.share, m.gaps, screws, dense, extra.momentum];
        for (part, block) in blocks.into_iter().enumerate() {
            out.store_in(part, first, 0, block);
        }
        for c in 0..plan.nc {
            let phi = m.geometry[GEOMETRY * c + GEOMETRY - 1];
            out.store_in(blocks.len(), first, c, &[plan.weight(c, phi).0]);
            out.store_in(blocks.len() + 1, first, c, &[allowed(phi, more.bound.contact_slopes()).0]);
        }
    }
}

impl SecondOrder {
    /// The problem of every world, of q (B, nq), v and τ side by side (B, 2 nv) and all parameters (1 or B, n).
    pub(in super::super::super) fn assembly(&self, plan: &Plan, operands: [Rows; 3]) -> Result<Assembly> {
        let [q, u, par] = operands;
        let b = worlds("dynamic step", &[&q, &u, &par])?;
        let (s, nc) = (&plan.structure, plan.nc);
        let screws = plan.frames.n_outputs() - plan.first_screw();
        let geometry = GEOMETRY * nc;
        let widths = [1, plan.nq, 1, geometry, plan.n_shares(), s.n_gaps(), screws, s.nv * s.nv, s.nv, nc, nc];
        let operands = Operands { q, u, par, warm: None };
        let data = run_parts_on(plan.set.into(), &Assemble { of: Of { plan, more: self }, operands }, b, widths);
        let mut widths = widths.into_iter();
        let rows = data.map(|data| Rows::of_worlds_of(data, b, widths.next().unwrap_or(0)));
        let [usable, q, h, geometry, share, limit_gap, screws, mass, momentum, weight, gap] = rows;
        Ok(Assembly { usable, q, h, geometry, share, weight, gap, limit_gap, screws, mass, momentum })
    }
}

impl Assembly {
    /// The contacts as tensors of the type of one; no gradients.
    pub(in super::super::super) fn contacts(&self, like: &Tensor) -> Result<Contacts> {
        let (b, n) = (self.geometry.rows(), self.geometry.width() + self.share.width());
        let row = |world| self.geometry.row(world).iter().chain(self.share.row(world)).copied();
        let rows = Tensor::from_vec((0..b).flat_map(row).collect::<Vec<_>>(), (b, n), &Device::Cpu)?;
        Contacts::of_row(&rows.to_dtype(like.dtype())?, self.weight.width())
    }
}
