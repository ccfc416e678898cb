//! The header, the source and the build file.

use std::fmt::Write;

use fingertip_lanes::lane::Precision;
use fingertip_lanes::record::Row;
use fingertip_lanes::record::c::{CFunction, PRELUDE, literal, number};
use fingertip_lanes::record::cuda;

use super::{Codegen, Constant, Part, Places, Printed};

/// The first lines of every file.
pub(super) fn head(name: &str) -> String {
    format!("/* {name}: printed by fingertip {}. Do not edit. */\n", env!("CARGO_PKG_VERSION"))
}

impl Codegen {
    pub(super) fn header(&self) -> String {
        let name = &self.name;
        let big = name.to_uppercase();
        let mut text = head(name);
        let _ = write!(
            text,
            "\n/* SI units and radians. Rows may not overlap. A call reads and writes its arguments alone: calls with other results\n   \
             and other working memory may run at the same time. Nothing is kept in the memory from call to call. */\n\n\
             #ifndef {big}_H\n#define {big}_H\n\n#ifdef __cplusplus\nextern \"C\" {{\n#define restrict\n#endif\n\n"
        );
        for Places { title, prefix, parts } in &self.places {
            let _ = writeln!(text, "/* {title} */");
            for Part { name, about, first, width } in parts.iter().filter(|part| part.width > 0) {
                let define = format!("#define {big}_{prefix}_{} {first}", name.to_uppercase());
                let plural = if *width == 1 { "" } else { "s" };
                let about = if about.is_empty() { String::new() } else { format!(": {about}") };
                let _ = writeln!(text, "{define:<44} /* {width} number{plural}{about} */");
            }
            let end = parts.last().map_or(0, |part| part.first + part.width);
            let _ = writeln!(text, "#define {big}_{prefix}_SIZE {end}\n");
        }
        text.push_str(&self.notes);
        text.push_str("/* The scene's own parameters. */\n");
        for (_, _, declaration) in self.tables() {
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
        for (precision, values, declaration) in self.tables() {
            let values: Vec<String> = values.iter().map(|&x| literal(precision, precision.rounded(x))).collect();
            let lines: Vec<String> = values.chunks(8).map(|line| format!("  {},\n", line.join(", "))).collect();
            let _ = writeln!(text, "{declaration} = {{\n{}}};\n", lines.concat());
        }
        for Printed { function: CFunction { stages, signature, body, .. }, .. } in &self.printed {
            let _ = writeln!(text, "{stages}void {signature}\n{body}");
        }
        text
    }

    /// Text in CUDA C: kernels `NAME_KERNEL_worlds` with a thread for each world. Their arguments are, in order: each
    /// operand, followed by the distance between its rows, in numbers (0: one row for all worlds); the results; the
    /// number of steps, for rollouts; the number of worlds; null, or a pointer on the device to a smaller number of
    /// worlds; and working memory. For each block of 32 threads it needs as many bytes as the comment before the kernel
    /// says. Compile the text by NVRTC or `nvcc` with `--fmad=false`.
    pub fn cuda(&self) -> String {
        let mut text = head(&self.name);
        let _ = write!(
            text,
            "\n/* Compile with --fmad=false: products and sums that are to be one operation are written so. */\n\n{}",
            cuda::PRELUDE
        );
        for Printed { name, trace, precision, .. } in &self.printed {
            let name = format!("{}_{name}", self.name);
            let _ = write!(text, "\n{}", cuda::kernel(trace, &name, *precision).text);
        }
        text
    }

    /// The scene's own numbers in the precisions in which kernels read them, and how they are declared.
    fn tables(&self) -> Vec<(Precision, &[f64], String)> {
        let mut tables = Vec::new();
        for (precision, suffix) in [(Precision::Double, ""), (Precision::Single, "_f32")] {
            for Constant { name, values } in self.constants.iter().filter(|constant| !constant.values.is_empty()) {
                let reads = |printed: &Printed| printed.trace.operands().iter().any(|row| row.name == *name);
                if self.printed.iter().any(|printed| printed.precision == precision && reads(printed)) {
                    let n = values.len();
                    let declaration = format!("const {} {}_{name}{suffix}[{n}]", number(precision), self.name);
                    tables.push((precision, values.as_slice(), declaration));
                }
            }
        }
        tables
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
        format!(
            "/* {}\n   Reads {}; writes {}; works in {} bytes. */\n",
            self.about,
            rows(self.trace.operands()),
            rows(self.trace.results()),
            self.memory()
        )
    }
}
