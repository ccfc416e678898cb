//! The steps of one scene and its dynamics as C, for embedded controllers and other languages.
//!
//! The kernels of [`fingertip_step::step`] and [`fingertip_step::dynamics`] are run once on numbers that record the
//! operations done with them. The operations of one world are then printed. The code is specialised to the scene. It
//! has no tables, allocates nothing and depends only on `libm`. Every number has the same bits as in the library if the
//! code is compiled with `-ffp-contract=off`; a program that checks this is printed as well.
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

#![deny(missing_docs)]

mod check;
mod dynamics;
mod files;
mod step;

use std::path::Path;

use candle_core::Result;

use fingertip_lanes::lane::Precision;
use fingertip_lanes::record::c::{CFunction, Worlds, number, print};
use fingertip_lanes::record::{Row, Trace};
use fingertip_shapes::Error;
use fingertip_step::dynamics::Dynamics;
use fingertip_step::step::{Dynamic, Kernel, Quasidynamic};

/// A configuration and a command at which printed code is checked.
#[derive(Clone, Debug)]
pub struct State {
    /// q (nq).
    pub q: Vec<f64>,
    /// u (nu).
    pub u: Vec<f64>,
}

/// Kernels of one scene, printed as C.
pub struct Codegen {
    name: String,
    precision: Precision,
    printed: Vec<Printed>,
    /// Rows whose parts have names.
    places: Vec<Places>,
    /// Further text of the header.
    notes: String,
    /// Operands for which the scene has numbers.
    constants: Vec<Constant>,
}

/// A kernel, printed.
pub struct Printed {
    /// The kernel's name, with which the function's name ends: `"step"`, `"mass_matrix"`.
    pub name: String,
    /// The kernel's operations as they were recorded, from which its code is printed.
    pub trace: Trace,
    /// One sentence on the kernel, for the comment above it.
    about: String,
    precision: Precision,
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

/// The parts of a row.
struct Places {
    title: &'static str,
    prefix: &'static str,
    parts: Vec<Part>,
}

/// A part of a row.
struct Part {
    name: &'static str,
    about: &'static str,
    first: usize,
    width: usize,
}

/// The scene's own numbers of an operand.
struct Constant {
    name: &'static str,
    values: Vec<f64>,
}

impl Printed {
    /// Bytes of working memory that one call needs.
    pub fn memory(&self) -> usize {
        self.function.memory
    }

    /// Steps of a check: one, except for rollouts.
    fn checked_steps(&self) -> usize {
        if self.trace.has_steps() { CHECKED_STEPS } else { 1 }
    }
}

impl Codegen {
    /// Prints kernels of a step. The parameters, of one world, remain operands. The printed program checks the code at
    /// `states`. All names in the code begin with `name`.
    ///
    /// # Errors
    /// If the step cannot be recorded (see [`Quasidynamic::record`]), the name is not an identifier in C, there is no
    /// state, or a state's length does not fit the model.
    pub fn new(
        step: &Quasidynamic,
        name: &str,
        kernels: &[Kernel],
        precision: Precision,
        states: &[State],
    ) -> Result<Self> {
        Self::empty(name, precision)?.with_step(step, kernels, states)
    }

    /// Prints only kernels of rigid-body dynamics: see [`Codegen::with_dynamics`].
    ///
    /// # Errors
    /// As [`Codegen::with_dynamics`], or if the name is not an identifier in C.
    pub fn of_dynamics(
        dynamics: &Dynamics,
        name: &str,
        kernels: &[fingertip_step::dynamics::Kernel],
        precision: Precision,
        configurations: &[Vec<f64>],
    ) -> Result<Self> {
        Self::empty(name, precision)?.with_dynamics(dynamics, kernels, configurations)
    }

    /// Prints only kernels of a second-order step: see [`Codegen::with_second_order`].
    ///
    /// # Errors
    /// As [`Codegen::with_second_order`], or if the name is not an identifier in C.
    pub fn of_second_order(
        step: &Dynamic,
        name: &str,
        kernels: &[Kernel],
        precision: Precision,
        configurations: &[Vec<f64>],
    ) -> Result<Self> {
        Self::empty(name, precision)?.with_second_order(step, kernels, configurations)
    }

    /// Code without kernels yet. All names in the code begin with `name`.
    ///
    /// # Errors
    /// If the name is not an identifier in C.
    pub fn empty(name: &str, precision: Precision) -> Result<Self> {
        check_name(name)?;
        let name = name.to_owned();
        Ok(Self {
            name,
            precision,
            printed: Vec::new(),
            places: Vec::new(),
            notes: String::new(),
            constants: Vec::new(),
        })
    }

    /// Prints a trace whose numbers are of a precision.
    fn print(&mut self, name: String, about: String, precision: Precision, trace: Trace, checks: Vec<Check>) {
        let function = print(&trace, &format!("{}_{name}", self.name), precision, Worlds::One);
        self.printed.push(Printed { name, trace, about, precision, function, checks });
    }

    /// Makes the first of two kernels a call of the second, which has one more row to read, the last: it gets zeros
    /// there.
    fn call_from_nothing(&mut self, cold: usize, warm: usize) {
        let name = |k: usize| format!("{}_{}", self.name, self.printed[k].name);
        let (of_cold, of_warm) = (name(cold), name(warm));
        let (read, written) = (self.printed[cold].trace.operands(), self.printed[cold].trace.results());
        let rows = |rows: &[Row]| rows.iter().map(|row| row.name).collect::<Vec<_>>();
        let arguments = [rows(read), vec!["none"], rows(written), vec!["w"]].concat().join(", ");
        let n = self.printed[warm].trace.operands().last().map_or(0, |row| row.width).max(1);
        let number = number(self.printed[cold].precision);
        let body = format!("{{\n  static const {number} none[{n}] = {{0}};\n  {of_warm}({arguments});\n}}\n");
        // One memory, which the header defines where it names the first.
        let CFunction { memory, sizes, ref work, .. } = self.printed[warm].function;
        let work = work.replace(&format!("{of_warm}_work"), &format!("{of_cold}_work"));
        let function = &mut self.printed[cold].function;
        (function.body, function.stages, function.memory, function.sizes) = (body, String::new(), memory, sizes);
        function.work = work;
        self.printed[warm].function.work = format!("typedef {of_cold}_work {of_warm}_work;\n");
    }

    /// The scene's kernels, each printed as a function.
    pub fn printed(&self) -> &[Printed] {
        &self.printed
    }

    /// Writes `NAME.c`, `NAME.h`, `main.c` (the checking program, with exit status 1 if a bit differs) and
    /// `CMakeLists.txt` to a folder, and makes the folder if needed.
    ///
    /// # Errors
    /// If a file cannot be written. The message names it.
    pub fn write(&self, folder: &Path) -> fingertip_shapes::Result<()> {
        let failed = |path: &Path, source| Error::File { path: path.to_owned(), source };
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

/// Numbers between −1 and 1 that look like any.
fn weights(n: usize) -> Vec<f64> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    #[expect(clippy::cast_precision_loss, reason = "a count")]
    (1..=n).map(|k| 2.0 * (k as f64 * GOLDEN).fract() - 1.0).collect()
}

/// There must be something to check the code at.
fn check_some<T>(states: &[T]) -> Result<()> {
    if states.is_empty() {
        return Err(Error::invalid("codegen", "expected a state to check the code at, got none").into());
    }
    Ok(())
}

/// Reserved names: `main.c` is the checking program, NAME.h would hide a header that it includes, and CMake has its own
/// targets.
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
    Err(Error::invalid("codegen", message).into())
}
