//! Rigid-body dynamics, printed.

use std::fmt::Write;

use candle_core::Result;

use fingertip_lanes::lane::Precision;
use fingertip_lanes::record::{Row, Trace};
use fingertip_step::dynamics::{Dynamics, Kernel, Quantity};

use super::{Check, Codegen, Constant, check_some, weights};

impl Codegen {
    /// Adds kernels of rigid-body dynamics in the requested precision. Gravity, inertias and offsets, those of the
    /// first world, are printed as tables and remain operands. The printed program checks the kernels at these
    /// configurations (nq numbers each), with velocities, accelerations, forces and gradients in [−1, 1].
    ///
    /// # Errors
    /// If there is no configuration, a configuration does not have nq numbers, or a kernel cannot be recorded (see
    /// [`Dynamics::rows_of`]).
    pub fn with_dynamics(
        mut self,
        dynamics: &Dynamics,
        kernels: &[Kernel],
        configurations: &[Vec<f64>],
    ) -> Result<Self> {
        check_some(configurations)?;
        let constants = dynamics.constants()?;
        for &kernel in kernels {
            let trace = dynamics.record(kernel, self.precision)?;
            let check = |(state, q): (usize, &Vec<f64>)| {
                Check::of_dynamics(dynamics, &trace, kernel, self.precision, &constants, state, q)
            };
            let checks = configurations.iter().enumerate().map(check).collect::<Result<_>>()?;
            self.print(kernel.name(), about(kernel), self.precision, trace, checks);
        }
        let notes = self.notes_on(dynamics, &constants);
        self.notes.push_str(&notes);
        self.constants.extend(constants.map(|(row, values)| Constant { name: row.name, values }));
        Ok(self)
    }

    /// Comment on the lengths of rows, and on the bodies and joints that inertias and offsets belong to.
    fn notes_on(&self, dynamics: &Dynamics, [_, inertias, offsets]: &[(Row, Vec<f64>); 3]) -> String {
        let (big, [nq, nv], names) = (self.name.to_uppercase(), dynamics.dimensions(), dynamics.names());
        let list = |bodies: &[usize], numbers: usize| {
            let line = |(k, &body): (usize, &usize)| {
                // What would end the comment.
                let name = names[body].replace("*/", "* /").replace(char::is_control, " ");
                format!("   {:>4} {name}\n", numbers / bodies.len() * k)
            };
            bodies.iter().enumerate().map(line).collect::<String>()
        };
        let mut text =
            String::from("/* Numbers of q; numbers of v, a and tau. Matrices have NV rows of NV numbers. */\n");
        let _ = writeln!(text, "#define {big}_NQ {nq}\n#define {big}_NV {nv}\n");
        let _ = writeln!(
            text,
            "/* Inertias: of each body its mass, kg, its mass times its centre of mass (3), kg m, and xx, xy, xz, yy, yz, zz of its inertia\n   \
             about the origin of its frame, kg m^2; all in its frame. First number and body:\n{}*/\n",
            list(dynamics.bodies(), inertias.0.width)
        );
        let all: Vec<usize> = (0..names.len()).collect();
        let _ = writeln!(
            text,
            "/* Offsets: of each body the place of its joint in its parent's frame (3), m. First number and body:\n{}*/\n",
            list(&all, offsets.0.width)
        );
        text
    }
}

impl Check {
    fn of_dynamics(
        dynamics: &Dynamics,
        trace: &Trace,
        kernel: Kernel,
        precision: Precision,
        constants: &[(Row, Vec<f64>)],
        state: usize,
        q: &[f64],
    ) -> Result<Self> {
        let operand = |row: &Row| {
            let constant = constants.iter().find(|(of, _)| of.name == row.name);
            let values = match constant {
                Some((_, values)) => values.clone(),
                None if row.name == "q" => q.to_vec(),
                // Others at each state.
                None => weights((state + 1) * row.width).split_off(state * row.width),
            };
            values.into_iter().map(|x| precision.rounded(x)).collect()
        };
        let operands: Vec<Vec<f64>> = trace.operands().iter().map(operand).collect();
        let of_lanes = dynamics.run_kernel(kernel, &operands)?.filter(|_| precision == Precision::Double);
        let results = of_lanes.unwrap_or_else(|| trace.run(&operands.concat()));
        Ok(Self { operands: operands.concat(), results })
    }
}

/// The comment above a kernel.
fn about(kernel: Kernel) -> String {
    let quantity = kernel.quantity();
    if let Kernel::Adjoint(_) = kernel {
        let name = quantity.name();
        return format!("Gradients of all operands, of each number of q too, given those of what {name} writes.");
    }
    let about = match quantity {
        Quantity::InverseDynamics => {
            "Forces, N and N m, that give the accelerations a at (q, v): tau = M(q) a + b(q, v)."
        }
        Quantity::Bias => "Coriolis, centrifugal and gravity forces b(q, v): tau at a = 0.",
        Quantity::Gravity => "Forces that carry the weight at rest: tau at v = a = 0.",
        Quantity::ForwardDynamics => "Accelerations under the forces tau at (q, v).",
        Quantity::MassMatrix => "Joint-space inertia matrix M(q); its unit is kg, kg m or kg m^2.",
        Quantity::InverseMassMatrix => "Inverse of the joint-space inertia matrix.",
        Quantity::Energy => "Kinetic and potential energy, J; the potential one is zero at the world's origin.",
        Quantity::CentreOfMass => "Centre of mass of all that can move, m in world axes.",
        Quantity::InverseDynamicsDerivatives => {
            "tau of inverse_dynamics with its derivatives by q in tangent coordinates, by v and by a, which is M."
        }
        Quantity::ForwardDynamicsDerivatives => {
            "a of forward_dynamics with its derivatives by q in tangent coordinates, by v and by tau, which is the inverse of M."
        }
    };
    about.to_owned()
}
