//! The step that a fit changes: its rollouts under commands, and their derivatives.

use std::collections::BTreeMap;
use std::ops::Range;

use candle_core::{Device, Result, bail};
use nalgebra::DMatrix;

use fingertip_step::kinematics::{Manifold, Tree};
use fingertip_step::model::Model;
use fingertip_step::parameters::Parameters;
use fingertip_step::solve::Status;
use fingertip_step::step::{Direction, Dynamic, DynamicParams, Outputs, Quasidynamic, Sensitivities, StepNumbers};
use fingertip_step::tensor::numbers;

use super::unknown::places;

/// Steps whose derivatives are computed together.
pub(super) const TOGETHER: usize = 256;

/// A step with parameters.
#[derive(Clone, Debug)]
pub(super) struct World {
    step: Step,
    pub(super) manifold: Manifold,
    pub(super) nv: usize,
    pub(super) nu: usize,
    pub(super) h: f64,
    /// The places of the stiffness in the row of all parameters.
    stiffness: Range<usize>,
    drives: Drives,
    /// Degrees of freedom that rotate freely.
    turns: Vec<usize>,
    islands: Islands,
}

#[derive(Clone, Debug)]
enum Step {
    Quasidynamic(Box<Quasidynamic>),
    SecondOrder(Box<Dynamic>),
}

/// The springs of commands, τ = Rᵀ K (u − R q): for each its stiffness, N·m/rad or N/m, and what it pulls.
#[derive(Clone, Debug)]
struct Drives(Vec<(f64, Vec<Pull>)>);

/// A joint that a spring pulls: its degree of freedom, its place in q and its ratio.
type Pull = (usize, usize, f64);

/// A rollout: states x, which are q, or q and v side by side in tangent coordinates.
pub(super) struct Run {
    /// Configurations (T + 1, nq).
    pub(super) q: Vec<f64>,
    /// Velocities of a second-order step (T + 1, nv), or none.
    pub(super) v: Vec<f64>,
    /// Contact forces (T, nc, 3), N.
    pub(super) force: Vec<f64>,
    warm: Vec<f64>,
    pub(super) unsolved: usize,
}

/// Derivatives of one step: of the state after it, and of sums of forces.
pub(super) struct Derivatives {
    /// By the state (nx, nx), by u (nx, nu), and by each direction of the parameters (nx, p).
    pub(super) x: [DMatrix<f64>; 3],
    /// The same of the sums of forces.
    pub(super) force: [DMatrix<f64>; 3],
}

impl Drives {
    fn new(tree: &Tree, stiffness: Vec<f64>) -> Self {
        let leads = tree.coordinates.iter().filter(|c| c.u.is_some()).zip(stiffness);
        Self(
            leads
                .map(|(c, stiffness)| {
                    let others = c.others.iter().map(|&(other, ratio)| (&tree.coordinates[other], ratio));
                    let all = std::iter::once((c, 1.0)).chain(others).map(|(c, ratio)| (c.v, c.q, ratio));
                    (stiffness, all.collect())
                })
                .collect(),
        )
    }

    /// How far each spring is drawn, rad or m.
    fn drawn<'a>(&'a self, q: &'a [f64], u: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        self.0.iter().zip(u).map(|((_, pulls), u)| u - pulls.iter().map(|&(_, at, ratio)| ratio * q[at]).sum::<f64>())
    }

    /// The generalised forces (nv).
    fn tau(&self, q: &[f64], u: &[f64], nv: usize) -> Vec<f64> {
        let mut tau = vec![0.0; nv];
        for ((stiffness, pulls), drawn) in self.0.iter().zip(self.drawn(q, u)) {
            pulls.iter().for_each(|&(dof, _, ratio)| tau[dof] += ratio * stiffness * drawn);
        }
        tau
    }
}

impl World {
    pub(super) fn new(model: &Model, parameters: &Parameters, second_order: bool) -> Result<Self> {
        let tree = &model.tree;
        let step = if second_order {
            Step::SecondOrder(Box::new(Dynamic::new(model, parameters, DynamicParams::default())?))
        } else {
            Step::Quasidynamic(Box::new(Quasidynamic::new(model, parameters)?))
        };
        let turns = tree.coordinates.iter().filter_map(|c| Some(c.v + c.kind.quaternion()?));
        let world = Self {
            step,
            manifold: Manifold::new(tree, &Device::Cpu)?,
            nv: model.nv(),
            nu: model.nu(),
            h: 0.0,
            stiffness: places(parameters, "stiffness")?,
            drives: Drives::new(tree, Vec::new()),
            turns: turns.flat_map(|first| first..first + 3).collect(),
            islands: Islands::new(model, parameters)?,
        };
        world.with_parameters(parameters)
    }

    /// This world with other parameters.
    pub(super) fn with_parameters(&self, parameters: &Parameters) -> Result<Self> {
        let step = match &self.step {
            Step::Quasidynamic(step) => Step::Quasidynamic(Box::new(step.with_parameters(parameters)?)),
            Step::SecondOrder(step) => Step::SecondOrder(Box::new(step.with_parameters(parameters)?)),
        };
        let drives = Drives::new(&self.model().tree, numbers(&parameters.stiffness)?);
        Ok(Self { step, h: numbers(&parameters.h)?[0], drives, ..self.clone() })
    }

    pub(super) fn model(&self) -> &Model {
        match &self.step {
            Step::Quasidynamic(step) => step.model(),
            Step::SecondOrder(step) => step.model(),
        }
    }

    pub(super) fn has_velocities(&self) -> bool {
        matches!(self.step, Step::SecondOrder(_))
    }

    /// nx, the length of a state in tangent coordinates.
    pub(super) fn nx(&self) -> usize {
        if self.has_velocities() { 2 * self.nv } else { self.nv }
    }

    fn steps(&self, [q, v, u, warm]: [&[f64]; 4]) -> Result<StepNumbers> {
        match &self.step {
            Step::Quasidynamic(step) => step.step_numbers(q, u, warm),
            Step::SecondOrder(step) => step.step_numbers(q, v, &self.tau(q, u), warm),
        }
    }

    /// τ (B, nv) at q (B, nq) under u (B, nu).
    fn tau(&self, q: &[f64], u: &[f64]) -> Vec<f64> {
        let nq = self.manifold.nq();
        let rows = q.chunks_exact(nq).enumerate();
        rows.flat_map(|(k, q)| self.drives.tau(q, &u[k * self.nu..(k + 1) * self.nu], self.nv)).collect()
    }

    /// Rolls out from q and v under u (T, nu).
    pub(super) fn run(&self, q: Vec<f64>, v: Vec<f64>, u: &[f64], n_steps: usize) -> Result<Run> {
        let (nq, nv) = (q.len(), v.len());
        let mut run = Run { q, v, force: Vec::new(), warm: Vec::new(), unsolved: 0 };
        let mut warm = Vec::new();
        for k in 0..n_steps {
            let (q, v) = (&run.q[k * nq..], &run.v[k * nv..]);
            let step = self.steps([q, v, &u[k * self.nu..(k + 1) * self.nu], &warm])?;
            run.unsolved += step.reports.iter().filter(|report| report.status != Status::Solved).count();
            run.q.extend(step.q_next);
            run.v.extend(step.v_next);
            run.force.extend(step.force);
            run.warm.extend_from_slice(&step.warm);
            warm = step.warm;
        }
        Ok(run)
    }

    /// The derivatives of some steps of a rollout.
    pub(super) fn derivatives(
        &self,
        run: &Run,
        u: &[f64],
        steps: Range<usize>,
        forces: &[Vec<(usize, f64)>],
        directions: &[Direction],
    ) -> Result<Vec<Derivatives>> {
        let (nq, nv, nu, b) = (self.manifold.nq(), self.nv, self.nu, steps.len());
        let of = |rows: &'_ [f64], width: usize| rows[steps.start * width..steps.end * width].to_vec();
        let n_warm = run.warm.len() / (run.q.len() / nq - 1).max(1);
        let (q, u, warm) = (of(&run.q, nq), of(u, nu), of(&run.warm, n_warm));
        let v = if self.has_velocities() { of(&run.v, nv) } else { Vec::new() };
        let step = self.steps([&q, &v, &u, &warm])?;
        let islands = self.islands.of(directions);
        let (all, turns) = (islands.sums(0..nv), islands.sums(self.turns.iter().copied()));
        match &self.step {
            Step::Quasidynamic(quasidynamic) => {
                let outputs = Outputs { q_next: &all, force: forces, ..Outputs::default() };
                let by = quasidynamic.sensitivities([&q, &u], &step, &outputs, &islands.directions)?;
                let of_u = self.drives.0.iter().map(|(_, pulls)| self.islands.of_dof[pulls[0].0]).collect::<Vec<_>>();
                let one = |k: usize| {
                    let rows = islands.apart(&by, k, ([&all], forces.len()), (nv, &of_u));
                    Derivatives::split(rows, nv)
                };
                Ok((0..b).map(one).collect())
            }
            Step::SecondOrder(dynamic) => {
                let outputs = Outputs { q_next: &turns, v_next: &all, force: forces };
                let tau = self.tau(&q, &u);
                let by = dynamic.sensitivities([&q, &v, &tau], &step, &outputs, &islands.directions)?;
                let of_motion = self.islands.of_dof.repeat(2);
                let one = |k: usize| {
                    let blocks = islands.apart(&by, k, ([&turns, &all], forces.len()), (nv, &of_motion));
                    self.with_drives(blocks, [&q[k * nq..(k + 1) * nq], &u[k * nu..(k + 1) * nu]], directions)
                };
                Ok((0..b).map(one).collect())
            }
        }
    }

    /// The derivatives of a second-order step by its state and its commands: those by τ go through the springs, and q₊
    /// = q ⊕ h v₊ where coordinates add.
    fn with_drives(
        &self,
        [by_q, by_motion, mut by_p]: [DMatrix<f64>; 3],
        [q, u]: [&[f64]; 2],
        directions: &[Direction],
    ) -> Derivatives {
        let (nv, m, turns) = (self.nv, by_q.nrows(), self.turns.len());
        let (by_v, by_tau) = (by_motion.columns(0, nv), by_motion.columns(nv, nv));
        let (mut by_x, mut by_u) = (DMatrix::zeros(m, 2 * nv), DMatrix::zeros(m, self.nu));
        by_x.columns_mut(0, nv).copy_from(&by_q);
        by_x.columns_mut(nv, nv).copy_from(&by_v);
        for (j, ((stiffness, pulls), drawn)) in self.drives.0.iter().zip(self.drives.drawn(q, u)).enumerate() {
            let mut along = nalgebra::DVector::zeros(m);
            pulls.iter().for_each(|&(dof, _, ratio)| along.axpy(ratio, &by_tau.column(dof), 1.0));
            by_u.column_mut(j).axpy(*stiffness, &along, 1.0);
            pulls.iter().for_each(|&(dof, _, ratio)| by_x.column_mut(dof).axpy(-stiffness * ratio, &along, 1.0));
            for (p, direction) in directions.iter().enumerate() {
                let rate: f64 =
                    direction.iter().filter(|(at, _)| *at == self.stiffness.start + j).map(|(_, rate)| rate).sum();
                by_p.column_mut(p).axpy(rate * drawn, &along, 1.0);
            }
        }
        let all = [by_x, by_u, by_p];
        let x = all.each_ref().map(|by| {
            let mut rows = DMatrix::zeros(2 * nv, by.ncols());
            rows.rows_mut(nv, nv).copy_from(&by.rows(turns, nv));
            let moved = by.rows(turns, nv) * self.h;
            rows.rows_mut(0, nv).copy_from(&moved);
            rows
        });
        let [mut x, u, p] = x;
        (0..nv).for_each(|dof| x[(dof, dof)] += 1.0);
        let mut x = [x, u, p];
        for (k, &dof) in self.turns.iter().enumerate() {
            x.iter_mut().zip(&all).for_each(|(x, by)| x.row_mut(dof).copy_from(&by.row(k)));
        }
        Derivatives { x, force: all.map(|by| by.rows(turns + nv, m - turns - nv).into_owned()) }
    }

    /// Checks that the step can be differentiated, and has a solution at home.
    pub(super) fn check(&self) -> Result<()> {
        let model = self.model();
        let (q, v) = (model.tree.home(), vec![0.0; if self.has_velocities() { self.nv } else { 0 }]);
        let step = self.steps([&q, &v, &model.tree.home_command(), &[]])?;
        match step.reports.first() {
            Some(report) if report.status == Status::BadInput => {
                bail!(
                    "{}: no step begins at home: a joint without mass?",
                    if self.has_velocities() { "second-order step" } else { "step" }
                )
            }
            _ => Ok(()),
        }
    }
}

/// Degrees of freedom that nothing couples with others, as those of fingers of a hand in the air: sums of one number of
/// each are differentiated together, and taken apart by what each depends on.
#[derive(Clone, Debug)]
struct Islands {
    /// The island of each degree of freedom.
    of_dof: Vec<usize>,
    /// The island of each parameter that belongs to one, by its place in the row of all.
    of_place: BTreeMap<usize, usize>,
}

/// Islands, if all directions can be taken apart; and the directions' parts.
struct Apart<'a> {
    of_dof: Option<&'a [usize]>,
    directions: Vec<Direction>,
    /// For each part its direction, and its island.
    parts: Vec<(usize, usize)>,
    n: usize,
}

impl Islands {
    fn new(model: &Model, parameters: &Parameters) -> Result<Self> {
        let tree = &model.tree;
        let dofs = |body: usize| tree.path(body).into_iter().map(|screw| tree.screw_dof[screw]);
        let mut joined: Vec<Vec<usize>> = (0..tree.bodies.len()).map(|body| dofs(body).collect()).collect();
        joined.extend(tree.coordinates.iter().map(|c| c.dofs().collect()));
        for pair in &model.pairs.pairs {
            joined.push([pair.a, pair.b].into_iter().flat_map(|shape| dofs(model.shapes[shape].body)).collect());
        }
        joined.extend(tree.connections.iter().map(|one| one.bodies.into_iter().flat_map(dofs).collect()));
        for c in &tree.coordinates {
            joined.push(c.others.iter().map(|&(other, _)| tree.coordinates[other].v).chain([c.v]).collect());
        }
        let mut of_dof: Vec<usize> = (0..tree.nv).collect();
        for one in joined {
            let Some(least) = one.iter().map(|&dof| of_dof[dof]).min() else { continue };
            let merged: Vec<usize> = one.iter().map(|&dof| of_dof[dof]).collect();
            of_dof.iter_mut().filter(|own| merged.contains(own)).for_each(|own| *own = least);
        }
        let mut of_place = BTreeMap::new();
        let mut put = |name: &str, each: usize, of: &mut dyn Iterator<Item = Option<usize>>| -> Result<()> {
            let first = places(parameters, name)?.start;
            for (k, dof) in of.enumerate() {
                let own = dof.map(|dof| of_dof[dof]);
                (0..each).for_each(|i| of_place.extend(own.map(|own| (first + each * k + i, own))));
            }
            Ok(())
        };
        put("stiffness", 1, &mut tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| Some(c.v)))?;
        put("damping", 1, &mut tree.damped().map(|c| Some(c.v)))?;
        put("armature", 1, &mut tree.armoured().map(|c| Some(c.v)))?;
        put("dry_friction", 1, &mut tree.dry().map(|c| Some(c.v)))?;
        put("table_friction", 1, &mut tree.tables().map(|(c, _)| Some(c.v)))?;
        put("table_radius", 1, &mut tree.tables().map(|(c, _)| Some(c.v)))?;
        put("spring", 1, &mut tree.sprung().map(|c| Some(c.v)))?;
        put("spring_rest", 1, &mut tree.sprung().map(|c| Some(c.v)))?;
        put("tau", 1, &mut (0..tree.nv).map(Some))?;
        put("mass", 1, &mut model.inertial.iter().map(|&body| dofs(body).next()))?;
        put("inertia", 6, &mut model.inertial.iter().map(|&body| dofs(body).next()))?;
        Ok(Self { of_dof, of_place })
    }

    fn of(&self, directions: &[Direction]) -> Apart<'_> {
        let n = directions.len();
        let is_apart = directions.iter().flatten().all(|(at, _)| self.of_place.contains_key(at));
        if !is_apart {
            return Apart { of_dof: None, directions: directions.to_vec(), parts: (0..n).map(|k| (k, 0)).collect(), n };
        }
        let mut all: BTreeMap<(usize, usize), Direction> = BTreeMap::new();
        for (k, direction) in directions.iter().enumerate() {
            direction.iter().for_each(|&(at, rate)| all.entry((k, self.of_place[&at])).or_default().push((at, rate)));
        }
        let (parts, directions) = all.into_iter().unzip();
        Apart { of_dof: Some(&self.of_dof), directions, parts, n }
    }
}

impl Apart<'_> {
    /// Sums of degrees of freedom: the first of each island, the second of each, and so on; or each alone.
    fn sums(&self, dofs: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
        let Some(of_dof) = self.of_dof else { return dofs.map(|dof| vec![dof]).collect() };
        let mut sums: Vec<Vec<usize>> = Vec::new();
        for dof in dofs {
            match sums.iter_mut().find(|sum| sum.iter().all(|&other| of_dof[other] != of_dof[dof])) {
                Some(sum) => sum.push(dof),
                None => sums.push(vec![dof]),
            }
        }
        sums
    }

    /// The derivatives of step k by q, u and the directions: a row for each degree of freedom of each list of sums, in
    /// their order, then for each force. Columns of u belong to these islands.
    fn apart<const N: usize>(
        &self,
        by: &Sensitivities,
        k: usize,
        (sums, n_forces): ([&[Vec<usize>]; N], usize),
        (nv, of_u): (usize, &[usize]),
    ) -> [DMatrix<f64>; 3] {
        let m = sums.iter().map(|sums| sums.len()).sum::<usize>() + n_forces;
        let (nu, np) = (of_u.len(), self.parts.len());
        let mut rows: Vec<(usize, Option<usize>, usize)> = Vec::new();
        let mut first = 0;
        let mut place = 0;
        for sums in sums {
            let mut own: Vec<(usize, usize)> =
                sums.iter().enumerate().flat_map(|(row, sum)| sum.iter().map(move |&dof| (dof, first + row))).collect();
            own.sort_unstable();
            rows.extend(
                own.into_iter().enumerate().map(|(i, (dof, row))| (row, self.of_dof.map(|of| of[dof]), place + i)),
            );
            place = rows.len();
            first += sums.len();
        }
        rows.extend((0..n_forces).map(|i| (first + i, None, place + i)));
        let n = rows.len();
        let mut all = [DMatrix::zeros(n, nv), DMatrix::zeros(n, nu), DMatrix::zeros(n, self.n)];
        for (row, island, to) in rows {
            let is_own = |other: usize| island.is_none_or(|island| island == other);
            let of =
                |numbers: &'_ [f64], width: usize| numbers[(k * m + row) * width..(k * m + row + 1) * width].to_vec();
            let of_q = |dof: usize| self.of_dof.map_or(0, |of| of[dof]);
            for (dof, x) in of(&by.q, nv).into_iter().enumerate().filter(|(dof, _)| is_own(of_q(*dof))) {
                all[0][(to, dof)] = x;
            }
            for (j, x) in of(&by.u, nu).into_iter().enumerate().filter(|(j, _)| is_own(of_u[*j])) {
                all[1][(to, j)] = x;
            }
            for (x, (direction, own)) in of(&by.parameters, np).into_iter().zip(&self.parts) {
                all[2][(to, *direction)] += if is_own(*own) { x } else { 0.0 };
            }
        }
        all
    }
}

impl Derivatives {
    /// The first n rows are the state's, the others the forces'.
    fn split(blocks: [DMatrix<f64>; 3], n: usize) -> Self {
        let below = |by: &DMatrix<f64>| by.rows(n, by.nrows() - n).into_owned();
        let force = blocks.each_ref().map(below);
        Self { x: blocks.map(|by| by.rows(0, n).into_owned()), force }
    }
}
