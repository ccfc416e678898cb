//! Floor 7: the step of one scene as C, for embedded controllers and other languages.
//!
//! The kernels of [`crate::step`] are run once on numbers that record what is done with them, and the operations of one world are
//! printed: specialised to the scene, without tables, without allocation, with nothing but `libm` to depend on. Every number has
//! the bits that the library gives, as long as the compiler rounds as it is told to (`-ffp-contract=off`); a program that is
//! printed too checks that.
//!
//! ```no_run
//! use fingertip::codegen::{Codegen, State};
//! use fingertip::math::lane::Precision;
//! use fingertip::step::{Kernel, Quasidynamic};
//! use fingertip::{Model, description::Scene};
//! # use candle_core::{DType, Device};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let scene = Scene::load("assets/scenes/hand_ball.toml")?;
//! let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
//! let step = Quasidynamic::new(&model, &model.parameters)?;
//! let states = [State { q: model.tree.home(), u: scene.control(0.1) }];
//! let code = Codegen::new(&step, "hand_ball", &[Kernel::Step, Kernel::Adjoint], Precision::Double, &states)?;
//! code.write("out/hand_ball".as_ref())?;
//! # Ok(())
//! # }
//! ```

mod check;
mod files;

use std::path::Path;

use candle_core::Result;

use crate::math::lane::Precision;
use crate::math::record::c::{CFunction, Worlds, print};
use crate::math::record::{Row, Trace};
use crate::parameters::Parameters;
use crate::solve::INFO;
use crate::step::{Kernel, Quasidynamic};

/// A configuration and a command to check printed code at.
#[derive(Clone, Debug)]
pub struct State {
    /// q, as long as the model's.
    pub q: Vec<f64>,
    /// u, as long as the model's.
    pub u: Vec<f64>,
}

/// Kernels of one scene's step, printed.
pub struct Codegen {
    name: String,
    precision: Precision,
    printed: Vec<Printed>,
    /// Places in a step's row and in the parameters: name, what it is, first number, how many.
    row: Vec<Part>,
    parameters: Vec<Part>,
    /// The scene's own parameters.
    values: Vec<f64>,
}

/// A kernel, printed.
pub struct Printed {
    /// Which.
    pub kernel: Kernel,
    /// Its operations.
    pub trace: Trace,
    function: CFunction,
    checks: Vec<Check>,
}

/// Operands and results at a state.
struct Check {
    operands: Vec<f64>,
    results: Vec<f64>,
}

/// Steps of a rollout that is checked.
const CHECKED_STEPS: usize = 4;

/// A part of a row.
struct Part {
    name: &'static str,
    about: &'static str,
    first: usize,
    width: usize,
}

impl Printed {
    /// Bytes of working memory that a call needs.
    pub fn memory(&self) -> usize {
        self.function.memory
    }
}

impl Codegen {
    /// Prints kernels of a step for the parameters of one world that it has, which remain operands; `states` become the checks of
    /// the program that checks itself. `name` begins all names in the code.
    ///
    /// # Errors
    /// If the step cannot be recorded, see [`Quasidynamic::record`]; if the name is none of C's; if there is no state, or one that
    /// is not as long as the model's.
    pub fn new(
        step: &Quasidynamic,
        name: &str,
        kernels: &[Kernel],
        precision: Precision,
        states: &[State],
    ) -> Result<Self> {
        check_name(name)?;
        if states.is_empty() {
            return Err(crate::Error::invalid("codegen", "expected a state to check the code at, got none").into());
        }
        let values = step.packed_parameters()?.to_dtype(candle_core::DType::F64)?.to_vec2::<f64>()?;
        let values = values.into_iter().next().unwrap_or_default();
        let printed = kernels
            .iter()
            .map(|&kernel| {
                let trace = step.record(kernel, precision)?;
                let own = kernel.precision(precision);
                let function = print(&trace, &format!("{name}_{}", kernel.name()), own, Worlds::One);
                let checks = states
                    .iter()
                    .map(|state| Check::new(step, &trace, kernel, own, state, &values))
                    .collect::<Result<_>>()?;
                Ok(Printed { kernel, trace, function, checks })
            })
            .collect::<Result<_>>()?;
        let tensors = Parameters::NAMES.iter().copied().zip(step.parameters().tensors());
        let parameters =
            tensors.map(|(name, tensor)| Ok(Row::new(name, tensor.dim(1)?))).collect::<Result<Vec<_>>>()?;
        let row = parts(step.row_parts()?);
        Ok(Self { name: name.to_owned(), precision, printed, row, parameters: parts(parameters), values })
    }

    /// The kernels.
    pub fn printed(&self) -> &[Printed] {
        &self.printed
    }

    /// Writes `NAME.c`, `NAME.h`, `main.c` (it checks itself: exit status 1 when a bit differs) and `CMakeLists.txt` to a folder,
    /// which is made if it is not there.
    ///
    /// # Errors
    /// If a file cannot be written; the message names it.
    pub fn write(&self, folder: &Path) -> crate::Result<()> {
        let failed = |path: &Path, source| crate::Error::File { path: path.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        for (file, text) in [
            (format!("{}.h", self.name), self.header()),
            (format!("{}.c", self.name), self.source()),
            (String::from("main.c"), self.check_program()),
            (String::from("CMakeLists.txt"), self.cmake()),
        ] {
            let path = folder.join(file);
            std::fs::write(&path, text).map_err(|error| failed(&path, error))?;
        }
        Ok(())
    }
}

impl Check {
    fn new(
        step: &Quasidynamic,
        trace: &Trace,
        kernel: Kernel,
        precision: Precision,
        State { q, u }: &State,
        par: &[f64],
    ) -> Result<Self> {
        let n_steps = if kernel.has_steps() { CHECKED_STEPS } else { 1 };
        // Later commands are a little less.
        let controls = (0..n_steps).flat_map(|t| u.iter().map(move |u| u * 0.99_f64.powi(t as i32))).collect();
        let mut operands = vec![q.clone(), controls, par.to_vec()];
        let [rows, _] = step.rows_of(kernel)?;
        let run = |kernel, operands: &[Vec<f64>]| match step.run_kernel(kernel, Precision::Double, n_steps, operands)? {
            Some(row) => Ok::<_, candle_core::Error>(row),
            None => Ok(step.record(kernel, Precision::Double)?.run_steps(&operands.concat(), n_steps)),
        };
        match kernel {
            Kernel::Step | Kernel::Jacobians | Kernel::Rollout => {}
            Kernel::WarmStep | Kernel::WarmJacobians | Kernel::Adjoint => {
                let row = run(Kernel::Step, &operands)?;
                for Row { name, width, .. } in &rows[3..] {
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
                for row in &rows[3..rows.len() - 1] {
                    operands.push(results.drain(..row.length(n_steps)).collect());
                }
                operands.push(weights(rows[rows.len() - 1].length(n_steps)));
            }
        }
        operands.iter_mut().flatten().for_each(|x| *x = precision.rounded(*x));
        let results = match step.run_kernel(kernel, precision, n_steps, &operands)? {
            Some(results) => results,
            None => trace.run_steps(&operands.concat(), n_steps),
        };
        Ok(Self { operands: operands.concat(), results })
    }
}

/// Numbers between −1 and 1 that look like any.
fn weights(n: usize) -> Vec<f64> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    #[expect(clippy::cast_precision_loss, reason = "a count")]
    (1..=n).map(|k| 2.0 * (k as f64 * GOLDEN).fract() - 1.0).collect()
}

/// Names that are taken: `main.c` is the program that checks, NAME.h would hide a header that it includes, and CMake has targets of its
/// own.
const TAKEN: [&str; 22] = [
    "main", "math", "string", "stdint", "inttypes", "stdio", "stddef", "stdlib", "float", "limits", "features",
    "errno", "time", "wchar", "endian", "test", "all", "clean", "install", "package", "help", "depend",
];

fn check_name(name: &str) -> Result<()> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let message = if !(name.chars().all(is_word) && name.chars().next().is_some_and(|c| c.is_ascii_alphabetic())) {
        format!("expected a name of letters, digits and _ that starts with a letter, got \"{name}\"")
    } else if TAKEN.contains(&name) {
        format!("expected a name that C and CMake have not taken, got \"{name}\"")
    } else {
        return Ok(());
    };
    Err(crate::Error::invalid("codegen", message).into())
}

/// What the parts of a step's row are.
fn about(name: &str) -> &'static str {
    match name {
        "q_next" => "the next configuration",
        "delta" => "the step in tangent coordinates",
        "force" => "force on B of each contact in world axes, N",
        "turning" => {
            "of each contact with torsional friction: the normal force that goes with it, N, and the torque, N m"
        }
        "limit_force" => "force of each joint limit, N or N m",
        "contact" => "each contact's normal from A to B, point on A, point on B, distance",
        "warm" => "forces for the next step to start from",
        "status" => "0 solved, 1 iteration limit, 2 unsettled, 3 infeasible, 4 bad input",
        "iterations" => "of Newton's method",
        "residual" => "of the optimality conditions, relative",
        "slip_gap" => "m, that slip opens where the status is unsettled",
        _ => "",
    }
}

/// Where each row starts that stand one after the other.
fn parts(rows: impl IntoIterator<Item = Row>) -> Vec<Part> {
    let mut first = 0;
    let part = |Row { name, width, .. }| {
        first += width;
        Part { name, about: about(name), first: first - width, width }
    };
    rows.into_iter().map(part).collect()
}
