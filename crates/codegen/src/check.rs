//! A program that checks printed code on recorded states.

use std::fmt::Write;

use fingertip_lanes::lane::Precision;
use fingertip_lanes::record::Row;
use fingertip_lanes::record::c::number;

use super::{Codegen, Printed};

/// Bits of a number.
fn bits(precision: Precision, x: f64) -> String {
    match precision {
        Precision::Double => format!("0x{:016x}", x.to_bits()),
        #[expect(clippy::cast_possible_truncation, reason = "it is a number of single precision")]
        Precision::Single => format!("0x{:08x}", (x as f32).to_bits()),
    }
}

fn table(name: &str, precision: Precision, rows: &[&[f64]]) -> String {
    let word = if precision == Precision::Double { "uint64_t" } else { "uint32_t" };
    let width = rows.first().map_or(0, |row| row.len()).max(1);
    let mut text = format!("static const {word} {name}[{}][{width}] = {{\n", rows.len());
    for row in rows {
        text.push_str("  {\n");
        for line in row.chunks(6) {
            let line: Vec<String> = line.iter().map(|&x| bits(precision, x)).collect();
            let _ = writeln!(text, "    {},", line.join(", "));
        }
        text.push_str("  },\n");
    }
    text.push_str("};\n");
    text
}

impl Codegen {
    pub(super) fn check_program(&self) -> String {
        let mut text = super::files::head(&self.name);
        let _ = write!(
            text,
            "\n/* Compares all results at recorded states with what fingertip computed, bit for bit: exit status 1 when one differs. */\n\n\
             #include <inttypes.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n\n#include \"{}.h\"\n\n",
            self.name
        );
        self.printed.iter().for_each(|printed| text.push_str(&self.check_function(printed)));
        text.push_str("int main(void)\n{\n  int wrong = 0;\n");
        for Printed { name, .. } in &self.printed {
            let _ = writeln!(text, "  wrong += check_{name}();");
        }
        text.push_str("  return wrong > 0;\n}\n");
        text
    }

    fn check_function(&self, printed: &Printed) -> String {
        let Printed { name, trace, checks, precision, .. } = printed;
        let (precision, n_steps) = (*precision, printed.checked_steps());
        let rows = |of: fn(&super::Check) -> &[f64]| checks.iter().map(of).collect::<Vec<_>>();
        let mut text = table(&format!("{name}_operands"), precision, &rows(|check| &check.operands));
        text.push_str(&table(&format!("{name}_results"), precision, &rows(|check| &check.results)));
        let width = |rows: &[Row]| rows.iter().map(|row| row.length(n_steps)).sum::<usize>();
        let (n_in, n_out) = (width(trace.operands()), width(trace.results()));
        let places = |array: &str, rows: &[Row]| {
            let mut first = 0;
            let of = rows.iter().map(|row| {
                let length = row.length(n_steps);
                first += length;
                if length == 0 { String::from("NULL") } else { format!("{array} + {}", first - length) }
            });
            of.collect::<Vec<_>>().join(", ")
        };
        let format = if precision == Precision::Double { "PRIx64" } else { "PRIx32" };
        let word = if precision == Precision::Double { "uint64_t" } else { "uint32_t" };
        let _ = write!(
            text,
            "\nstatic int check_{name}(void)\n{{\n  \
             static {number} in[{n_in}], out[{n_out}];\n  \
             static {all}_{name}_work work;\n  \
             int wrong = 0;\n  \
             for (int state = 0; state < {n}; ++state) {{\n    \
             memcpy(in, {name}_operands[state], sizeof in);\n    \
             {all}_{name}({operands}, {results}{steps}, &work);\n    \
             for (int k = 0; k < {n_out}; ++k) {{\n      \
             {number} expected;\n      \
             {word} bits;\n      \
             memcpy(&expected, {name}_results[state] + k, sizeof expected);\n      \
             memcpy(&bits, out + k, sizeof bits);\n      \
             /* What is not a number has no bits to compare. */\n      \
             if (bits != {name}_results[state][k] && (expected == expected || out[k] == out[k])) {{\n        \
             if (wrong++ == 0) printf(\"{name}: state %d, number %d: expected %\" {format} \", got %\" {format} \"\\n\", state, k, \
             {name}_results[state][k], bits);\n      }}\n    }}\n  }}\n  \
             printf(\"{name}: %d of {total} numbers differ\\n\", wrong);\n  \
             return wrong;\n}}\n\n",
            number = number(precision),
            all = self.name,
            n = checks.len(),
            total = checks.len() * n_out,
            steps = if trace.has_steps() { format!(", {n_steps}") } else { String::new() },
            operands = places("in", trace.operands()),
            results = places("out", trace.results()),
        );
        text
    }
}
