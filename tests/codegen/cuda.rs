//! The text for CUDA, compiled as C++.

use std::process::Command;

use fingertip::codegen::{Codegen, Printed};
use fingertip::dynamics;
use fingertip::math::lane::Precision;
use fingertip::step::{Dynamic, DynamicParams, Kernel, Row};

use super::{compiler, folder, run, states, stepper};
use support::states::Random;

/// What CUDA has and a host compiler lacks.
const SHIM: &str = "
#include <math.h>
#include <string.h>
struct Dimension { unsigned x; };
static Dimension blockIdx, blockDim, gridDim, threadIdx;
#define __device__
#define __global__
#define __launch_bounds__(n)
#define __noinline__ __attribute__((noinline))
namespace cuda {
";

/// A function of the C code that runs the CUDA kernel on three worlds, all of them this one, in a single thread that
/// does one after the other, and hands back what the second wrote. The third is one too many: a place says that there
/// are two.
fn through_cuda(name: &str, printed: &Printed) -> String {
    let (read, written) = (printed.trace.operands(), printed.trace.results());
    let function = format!("{name}_{}", printed.name);
    let has_steps = read.iter().chain(written).any(|row| row.step > 0);
    // The program that checks itself takes four steps.
    let steps = if has_steps { 4 } else { 1 };
    let all = || read.iter().chain(written);
    let mut arguments: Vec<String> = all().map(|row| format!("double *{}", row.name)).collect();
    arguments.extend(has_steps.then(|| String::from("unsigned long long n_steps")));
    let mut text = format!("extern \"C\" void {function}({}, void *) {{\n", arguments.join(", "));
    for row in all() {
        let (row, n) = (row.name, row.length(steps));
        text += &format!("  static double {row}s[3 * {n} + 1];\n");
        text += &format!("  for (int i = 0; i < 3; ++i) memcpy({row}s + i * {n}, {row}, {n} * sizeof(double));\n");
    }
    let of_operand = |row: &Row| format!("{}s, {}", row.name, row.length(steps));
    let mut names: Vec<String> = read.iter().map(of_operand).collect();
    names.extend(written.iter().map(|row| format!("{}s", row.name)));
    names.extend(has_steps.then(|| String::from("n_steps")));
    text += "  static double memory[1 << 20];\n  const unsigned two = 2;\n  blockDim.x = gridDim.x = 1;\n";
    text += &format!("  cuda::{function}_worlds({}, 3, &two, (char *)memory);\n", names.join(", "));
    for row in written {
        let (row, n) = (row.name, row.length(steps));
        text += &format!("  if (memcmp({row}s + 2 * {n}, {row}, {n} * sizeof(double))) {row}s[{n}] = -1e9;\n");
        text += &format!("  memcpy({row}, {row}s + {n}, {n} * sizeof(double));\n");
    }
    text + "}\n"
}

#[test]
fn the_text_for_cuda_has_the_bits_of_the_lanes() {
    let (Some(compiler), name) = (compiler(), "push") else { return };
    let step = stepper(name, 1e4);
    let states = states(step.model(), &mut Random::new(54));
    let dynamics = Dynamic::new(step.model(), step.parameters(), DynamicParams::default()).unwrap();
    let q: Vec<Vec<f64>> = states.iter().map(|state| state.q.clone()).collect();
    let code = Codegen::new(&step, name, &Kernel::ALL, Precision::Double, &states)
        .unwrap()
        .with_second_order(&dynamics, &Kernel::SECOND_ORDER, &q)
        .unwrap()
        .with_dynamics(dynamics.dynamics(), &dynamics::Kernel::ALL, &q)
        .unwrap();
    let folder = folder("cuda");
    code.write(&folder).unwrap();
    let wrappers: String = code.printed().iter().map(|printed| through_cuda(name, printed)).collect();
    // In the place of the C code, so that the same program checks it.
    std::fs::write(folder.join(format!("{name}.cpp")), format!("{SHIM}{}}}\n{wrappers}", code.cuda())).unwrap();
    let object = folder.join("cuda.o");
    let source = folder.join(format!("{name}.cpp"));
    let mut command = Command::new(&compiler);
    command.args(["-x", "c++", "-std=c++14", "-O0", "-ffp-contract=off", "-c"]).arg(source).arg("-o").arg(&object);
    let output = command.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    if words.contains("cc1plus") {
        println!("skipped: there is no compiler for C++");
        return;
    }
    assert!(output.status.success(), "{words}");
    let program = folder.join("check");
    let mut command = Command::new(&compiler);
    command.args(["-std=c99", "-O0"]).arg(folder.join("main.c")).arg(&object).arg("-o").arg(&program).arg("-lm");
    assert!(command.status().unwrap().success());
    let (status, words) = run(&program);
    assert_eq!(status, Some(0), "{words}");
}
