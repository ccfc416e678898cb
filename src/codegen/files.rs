//! The header, the source and the build file.

use std::fmt::Write;

use crate::math::lane::Precision;
use crate::math::record::Row;
use crate::math::record::c::{CFunction, PRELUDE, literal, number};
use crate::math::record::cuda;
use crate::step::Kernel;

use super::{Codegen, Part, Printed};

/// The first lines of every file.
pub(super) fn head(name: &str) -> String {
    format!("/* {name}: printed by fingertip {}. Do not edit. */\n", env!("CARGO_PKG_VERSION"))
}

impl Codegen {
    pub(super) fn header(&self) -> String {
        let Self { name, parameters, row, .. } = self;
        let big = name.to_uppercase();
        let mut text = head(name);
        let _ = write!(
            text,
            "\n/* SI units and radians. Rows may not overlap. A call reads and writes its arguments alone: calls with other results\n   \
             and other working memory may run at the same time. Nothing is kept in the memory from call to call. */\n\n\
             #ifndef {big}_H\n#define {big}_H\n\n#ifdef __cplusplus\nextern \"C\" {{\n#define restrict\n#endif\n\n"
        );
        let mut places = |title: &str, prefix: &str, parts: &[Part]| {
            let _ = writeln!(text, "/* {title} */");
            for Part { name, about, first, width } in parts.iter().filter(|part| part.width > 0) {
                let define = format!("#define {big}_{prefix}_{} {first}", name.to_uppercase());
                let plural = if *width == 1 { "" } else { "s" };
                let about = if about.is_empty() { String::new() } else { format!(": {about}") };
                let _ = writeln!(text, "{define:<44} /* {width} number{plural}{about} */");
            }
            let end = parts.last().map_or(0, |part| part.first + part.width);
            let _ = writeln!(text, "#define {big}_{prefix}_SIZE {end}\n");
        };
        places("Places in the row of a step.", "ROW", row);
        places("Places in the row of parameters.", "PAR", parameters);
        text.push_str("/* The scene's own parameters. */\n");
        for (_, declaration) in self.parameter_tables() {
            let _ = writeln!(text, "extern {declaration};");
        }
        text.push('\n');
        for printed in &self.printed {
            let CFunction { work, signature, .. } = &printed.function;
            let _ = writeln!(text, "{}{work}\nvoid {signature};\n", printed.comment());
        }
        text.push_str("#ifdef __cplusplus\n#undef restrict\n}\n#endif\n\n#endif\n");
        text
    }

    pub(super) fn source(&self) -> String {
        let mut text = head(&self.name);
        let _ = write!(text, "\n#include \"{}.h\"\n\n{PRELUDE}\n", self.name);
        for (precision, declaration) in self.parameter_tables() {
            let values: Vec<String> = self.values.iter().map(|&x| literal(precision, precision.rounded(x))).collect();
            let lines: Vec<String> = values.chunks(8).map(|line| format!("  {},\n", line.join(", "))).collect();
            let _ = writeln!(text, "{declaration} = {{\n{}}};\n", lines.concat());
        }
        for Printed { function: CFunction { stages, signature, body, .. }, .. } in &self.printed {
            let _ = writeln!(text, "{stages}void {signature}\n{body}");
        }
        text
    }

    /// Text in CUDA C: kernels `NAME_KERNEL_worlds` with a thread for each world. Their arguments are each operand and the distance
    /// between its rows, in numbers (0: one row for all worlds), the results, the number of steps where rows have many, the
    /// number of worlds, null (or a place on the device that holds a smaller number of them) and working memory: so many bytes
    /// for each block of 32 threads as the comment before the kernel says. For NVRTC or `nvcc`, with `--fmad=false`.
    pub fn cuda(&self) -> String {
        let mut text = head(&self.name);
        let _ = write!(
            text,
            "\n/* Compile with --fmad=false: products and sums that are to be one operation are written so. */\n\n{}",
            cuda::PRELUDE
        );
        for Printed { kernel, trace, .. } in &self.printed {
            let name = format!("{}_{}", self.name, kernel.name());
            let _ = write!(text, "\n{}", cuda::kernel(trace, &name, kernel.precision(self.precision)).text);
        }
        text
    }

    /// The tables of parameters that the kernels' precisions ask for, and how they are declared.
    fn parameter_tables(&self) -> Vec<(Precision, String)> {
        let has = |precision| self.printed.iter().any(|printed| printed.kernel.precision(self.precision) == precision);
        let tables = [(Precision::Double, "par"), (Precision::Single, "par_f32")];
        let declaration =
            |precision, suffix| format!("const {} {}_{suffix}[{}]", number(precision), self.name, self.values.len());
        let tables = tables.into_iter().filter(|(precision, _)| has(*precision));
        tables.map(|(precision, suffix)| (precision, declaration(precision, suffix))).collect()
    }

    pub(super) fn cmake(&self) -> String {
        let Self { name, .. } = self;
        format!(
            "# {name}: printed by fingertip {}.\n\
             cmake_minimum_required(VERSION 3.10)\n\
             project({name} C)\n\n\
             # Without the processor's own fused multiply-add libm's takes its place: the same bits, many times slower.\n\
             option(HAS_FMA \"Does the processor have a fused multiply-add?\" ON)\n\n\
             add_library({name} STATIC {name}.c)\n\
             target_include_directories({name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})\n\
             set_target_properties({name} PROPERTIES C_STANDARD 99)\n\
             # The code is straight and without repetitions: higher levels take twice the time and gain nothing.\n\
             target_compile_options({name} PRIVATE -O1 -ffp-contract=off)\n\
             # There are no dead stores, and to look for them takes a quarter of the compiler's time.\n\
             if(CMAKE_C_COMPILER_ID STREQUAL \"GNU\")\n  \
             target_compile_options({name} PRIVATE -fno-tree-dse -fno-dse)\n\
             endif()\n\
             if(HAS_FMA AND CMAKE_SYSTEM_PROCESSOR MATCHES \"x86_64|AMD64\")\n  \
             target_compile_options({name} PRIVATE -mfma)\n\
             endif()\n\
             target_link_libraries({name} PUBLIC m)\n\n\
             # Exit status 1 when a bit of a result differs from what fingertip computed.\n\
             add_executable({name}_check main.c)\n\
             set_target_properties({name}_check PROPERTIES C_STANDARD 99)\n\
             target_link_libraries({name}_check {name})\n\
             enable_testing()\n\
             add_test(NAME {name}_check COMMAND {name}_check)\n",
            env!("CARGO_PKG_VERSION")
        )
    }
}

impl Printed {
    fn comment(&self) -> String {
        let rows = |rows: &[Row]| -> String {
            let length = |row: &Row| match (row.width - row.step, row.step) {
                (width, 0) => width.to_string(),
                (0, step) => format!("n_steps * {step}"),
                (rest, step) => format!("{rest} + n_steps * {step}"),
            };
            rows.iter().map(|row| format!("{} [{}]", row.name, length(row))).collect::<Vec<_>>().join(", ")
        };
        let about = match self.kernel {
            Kernel::Step => "One step.",
            Kernel::WarmStep => "One step, its solve started at the forces `warm` of a step before.",
            Kernel::Adjoint => {
                "Gradients of q, u and the parameters, given those of a step's results: of the row up to `warm`."
            }
            Kernel::Jacobians => {
                "One step and its Jacobians, row by row: a = dq_next/dq and b = dq_next/du in tangent coordinates, c and d the\n   \
                 same of the forces along normal and tangents. Where growth exceeds 1e7 they have few digits."
            }
            Kernel::WarmJacobians => "The same, with the solve started at the forces `warm` of a step before.",
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
        };
        format!(
            "/* {about}\n   Reads {}; writes {}; works in {} bytes. */\n",
            rows(self.trace.operands()),
            rows(self.trace.results()),
            self.memory()
        )
    }
}
