//! The step of a scene, printed.

use candle_core::{Result, Tensor};

use fingertip_lanes::lane::Precision;
use fingertip_lanes::record::c::declared;
use fingertip_lanes::record::{Row, Trace};
use fingertip_step::parameters::Parameters;
use fingertip_step::solve::INFO;
use fingertip_step::step::{Dynamic, Kernel, Programs, Quasidynamic};

use super::{CHECKED_STEPS, Check, Codegen, Constant, Part, Places, Printed, State, check_some, weights};

impl Codegen {
    /// Adds kernels of a step: see [`Codegen::new`].
    ///
    /// # Errors
    /// As [`Codegen::new`].
    pub fn with_step(mut self, step: &Quasidynamic, kernels: &[Kernel], states: &[State]) -> Result<Self> {
        check_some(states)?;
        let values = self.add_parameters(step.parameters(), &step.packed_parameters()?)?;
        let programs = step.programs("record")?;
        for &kernel in kernels {
            let n_steps = if kernel.has_steps() { CHECKED_STEPS } else { 1 };
            let operands = |State { q, u }: &State| {
                // Later commands are a little less.
                let n_commands = if kernel.has_commands() { n_steps } else { 1 };
                let controls = (0..n_commands).flat_map(|t| u.iter().map(move |u| u * 0.99_f64.powi(t as i32)));
                vec![q.clone(), controls.collect(), values.clone()]
            };
            let name = kernel.name().to_owned();
            let about = about(kernel).to_owned();
            self.add_kernel(programs, (kernel, kernels), name, about, states.iter().map(operands))?;
        }
        self.start_cold(kernels, "");
        self.places.push(Places {
            title: "Places in the row of a step.",
            prefix: "ROW",
            parts: parts(programs.row_parts()),
        });
        Ok(self)
    }

    /// Adds kernels of a second-order step, out of [`Kernel::SECOND_ORDER`]. The parameters, of one world, remain
    /// operands. The printed program checks the kernels at these configurations (nq numbers each), with velocities,
    /// forces and gradients in [−1, 1].
    ///
    /// # Errors
    /// If the step cannot be recorded (see [`Dynamic::record`]), there is no configuration, or a configuration does not
    /// have nq numbers.
    pub fn with_second_order(
        mut self,
        step: &Dynamic,
        kernels: &[Kernel],
        configurations: &[Vec<f64>],
    ) -> Result<Self> {
        check_some(configurations)?;
        let values = self.add_parameters(step.parameters(), &step.packed_parameters()?)?;
        let nv = step.model().nv();
        for &kernel in kernels {
            let operands = |(state, q): (usize, &Vec<f64>)| {
                // Others at each state.
                let mut motion = weights(2 * nv * (state + 1)).split_off(2 * nv * state);
                let tau = motion.split_off(nv);
                vec![q.clone(), motion, tau, values.clone()]
            };
            let name = format!("second_order_{}", kernel.name());
            let about = about_second_order(kernel).to_owned();
            self.add_kernel(
                step.programs(kernel)?,
                (kernel, kernels),
                name,
                about,
                configurations.iter().enumerate().map(operands),
            )?;
        }
        self.start_cold(kernels, "second_order_");
        self.places.push(Places {
            title: "Places in the row of a second-order step.",
            prefix: "SECOND_ORDER_ROW",
            parts: parts(step.row_parts()?),
        });
        Ok(self)
    }

    /// Adds a kernel of a step, one of these, to be checked at states; without a body where [`Codegen::start_cold`]
    /// gives it one.
    fn add_kernel(
        &mut self,
        step: Programs,
        (kernel, kernels): (Kernel, &[Kernel]),
        name: String,
        about: String,
        states: impl Iterator<Item = Vec<Vec<f64>>>,
    ) -> Result<()> {
        let trace = step.record(kernel, self.precision)?;
        let precision = kernel.precision(self.precision);
        let check = |operands| Check::of_step(step, &trace, kernel, precision, operands);
        let checks = states.map(check).collect::<Result<_>>()?;
        if kernel.from_forces().is_some_and(|from| kernels.contains(&from)) {
            let function = declared(&trace, &format!("{}_{name}", self.name), precision);
            self.printed.push(Printed { name, trace, about, precision, function, checks });
        } else {
            self.print(name, about, precision, trace, checks);
        }
        Ok(())
    }

    /// Where a kernel is printed that starts from given forces, the same from a cold start calls it with none: forces
    /// of zero mean just that, to the last bit.
    fn start_cold(&mut self, kernels: &[Kernel], prefix: &str) {
        for &kernel in kernels {
            let Some(from) = kernel.from_forces().filter(|from| kernels.contains(from)) else { continue };
            let place = |kernel: Kernel| {
                let name = format!("{prefix}{}", kernel.name());
                self.printed.iter().position(|printed| printed.name == name)
            };
            if let (Some(cold), Some(warm)) = (place(kernel), place(from)) {
                self.call_from_nothing(cold, warm);
            }
        }
    }

    /// The parameters of a step's first world, which become a table unless they are one.
    fn add_parameters(&mut self, parameters: &Parameters, packed: &Tensor) -> Result<Vec<f64>> {
        let values = packed.to_dtype(candle_core::DType::F64)?.to_vec2::<f64>()?;
        let values = values.into_iter().next().unwrap_or_default();
        if self.constants.iter().all(|constant| constant.name != "par") {
            let tensors = Parameters::NAMES.iter().copied().zip(parameters.tensors());
            let rows = tensors.map(|(name, tensor)| Ok(Row::new(name, tensor.dim(1)?))).collect::<Result<Vec<_>>>()?;
            let title = "Places in the row of parameters.";
            self.places.push(Places { title, prefix: "PAR", parts: parts(rows) });
            self.constants.push(Constant { name: "par", values: values.clone() });
        }
        Ok(values)
    }
}

impl Check {
    /// A check at a state and parameters.
    fn of_step(
        step: Programs,
        trace: &Trace,
        kernel: Kernel,
        precision: Precision,
        mut operands: Vec<Vec<f64>>,
    ) -> Result<Self> {
        let n_steps = if kernel.has_steps() { CHECKED_STEPS } else { 1 };
        let [rows, _] = step.rows_of(kernel);
        let given = operands.len();
        let run = |kernel: Kernel, operands: &[Vec<f64>]| {
            let n_steps = if kernel.has_steps() { n_steps } else { 1 };
            match step.run(kernel, Precision::Double, n_steps, operands)? {
                Some(row) => Ok::<_, candle_core::Error>(row),
                None => Ok(step.record(kernel, Precision::Double)?.run_steps(&operands.concat(), n_steps)),
            }
        };
        match kernel {
            Kernel::Step | Kernel::Jacobians | Kernel::Rollout => {}
            Kernel::WarmStep | Kernel::WarmJacobians | Kernel::Hold | Kernel::RoughHold | Kernel::Adjoint => {
                let row = run(Kernel::Step, &operands)?;
                for Row { name, width, .. } in &rows[given..] {
                    operands.push(match *name {
                        "warm" => row[row.len() - INFO - width..row.len() - INFO].to_vec(),
                        "row" => row.clone(),
                        _ => weights(*width),
                    });
                }
            }
            Kernel::RolloutAdjoint | Kernel::RolloutForceAdjoint => {
                let mut results = run(Kernel::Rollout, &operands)?;
                operands[0] = results.drain(..rows[0].length(n_steps)).collect();
                for row in &rows[given..rows.len() - 1] {
                    operands.push(results.drain(..row.length(n_steps)).collect());
                }
                operands.push(weights(rows[rows.len() - 1].length(n_steps)));
            }
        }
        operands.iter_mut().flatten().for_each(|x| *x = precision.rounded(*x));
        let results = match step.run(kernel, precision, n_steps, &operands)? {
            Some(results) => results,
            None => trace.run_steps(&operands.concat(), n_steps),
        };
        Ok(Self { operands: operands.concat(), results })
    }
}

/// The comment above a kernel of the quasi-dynamic step.
fn about(kernel: Kernel) -> &'static str {
    match kernel {
        Kernel::Step => "One step.",
        Kernel::WarmStep => "One step, its solve started at the forces `warm` of a step before.",
        Kernel::Adjoint => {
            "Gradients of q, u and the parameters, given those of a step's results: of the row up to `warm`."
        }
        Kernel::Jacobians => {
            "One step, of whose contacts those without weight are zeros, and its Jacobians, row by row: a = dq_next/dq and\n   \
             b = dq_next/du in tangent coordinates, c and d the same of the forces along normal and tangents. Where growth\n   \
             exceeds 1e7 they have few digits."
        }
        Kernel::WarmJacobians => "The same, with the solve started at the forces `warm` of a step before.",
        Kernel::Hold => {
            "Steps one after the other under one command, the first solve started at the forces `warm`, each later one at the forces
   \
             before: of each step the state after it, the forces to start from, contact forces and its report."
        }
        Kernel::RoughHold => "The same, not to full accuracy: enough to tell which of some commands is better.",
        Kernel::Rollout => {
            "Steps one after the other, each solve started at the forces before: all states, the first among them, and each step's\n   \
             contact forces, limit forces and report (status, iterations, residual, slip_gap)."
        }
        Kernel::RolloutAdjoint => {
            "Gradients of the first state, the commands and the parameters, given those of all states; from what the rollout wrote."
        }
        Kernel::RolloutForceAdjoint => {
            "Gradients of each state, the commands and the parameters, given those of the contact forces alone: add those of the\n   \
             states to what the other adjoint is given, and its gradients of commands and parameters to these."
        }
    }
}

/// The comment above a kernel of the second-order step.
fn about_second_order(kernel: Kernel) -> &'static str {
    match kernel {
        Kernel::WarmStep => "One second-order step, its solve started at the forces `warm` of a step before.",
        Kernel::Adjoint => {
            "Gradients of q, v, tau and the parameters, given those of a second-order step's results: of the row up to `warm`."
        }
        _ => "One second-order step: configuration and velocity after h under the forces tau, N and N m.",
    }
}

/// Descriptions of the parts of a step's row.
fn about_part(name: &str) -> &'static str {
    match name {
        "q_next" => "the next configuration",
        "delta" => "the step in tangent coordinates",
        "v_next" => "the next velocity",
        "force" => "force on B of each contact in world axes, N",
        "torque" => "torque on B about the normal of each contact with torsional friction, N m",
        "limit_force" => "force of each joint limit, then of dry friction and of tables (three each), N or N m",
        "contact" => "each contact's normal from A to B, point on A, point on B, distance",
        "warm" => "forces for the next step to start from",
        "status" => "0 solved, 1 iteration limit, 2 unsettled, 3 frictionless, 4 infeasible, 5 bad input",
        "iterations" => "of Newton's method",
        "residual" => "of the optimality conditions, relative",
        "slip_gap" => "m, that slip opens where the status is unsettled",
        _ => "",
    }
}

/// The offset of each of some rows that follow each other.
fn parts(rows: impl IntoIterator<Item = Row>) -> Vec<Part> {
    let mut first = 0;
    let part = |Row { name, width, .. }| {
        first += width;
        Part { name, about: about_part(name), first: first - width, width }
    };
    rows.into_iter().map(part).collect()
}
