//! The printed C has the bits of the lanes: compiled with the machine's compiler, at random states, in the step, its
//! gradients and its Jacobians, and in rigid-body dynamics. Without a compiler these tests say that they were skipped.

mod cuda;
mod dynamics;
mod second_order;

use std::path::{Path, PathBuf};
use std::process::Command;

use candle_core::{DType, Device, Tensor};
use fingertip::Model;
use fingertip::codegen::{Codegen, State};
use fingertip::description::{Friction, Object, Scene, Shape};
use fingertip::math::lane::Precision;
use fingertip::step::{Kernel, Quasidynamic};

use support::states::{self, Random};

/// The machine's C compiler.
fn compiler() -> Option<String> {
    let name = std::env::var("CC").unwrap_or_else(|_| String::from("cc"));
    let found = Command::new(&name).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        println!("skipped: there is no C compiler {name}");
    }
    found.then_some(name)
}

/// As `CMakeLists.txt` compiles, but for the level of optimisation, which must not matter.
fn compile(compiler: &str, level: &str, folder: &Path, name: &str) -> PathBuf {
    let mut command = Command::new(compiler);
    command.args(["-std=c99", level, "-ffp-contract=off", "-Wall", "-Wextra", "-Wno-unused-variable", "-Werror"]);
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("fma") {
        command.arg("-mfma");
    }
    let program = folder.join("check");
    command.arg(folder.join(format!("{name}.c"))).arg(folder.join("main.c")).arg("-o").arg(&program).arg("-lm");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

/// The words of the program that checks itself, which must find no difference in any kernel.
#[track_caller]
fn check(compiler: &str, level: &str, folder: &Path, name: &str, code: &Codegen) -> String {
    code.write(folder).unwrap();
    let (status, words) = run(&compile(compiler, level, folder, name));
    assert_eq!(status, Some(0), "{name}: {words}");
    for printed in code.printed() {
        let zero = format!("{}: 0 of ", printed.name);
        assert!(words.lines().any(|line| line.starts_with(&zero)), "{name}: {words}");
    }
    words
}

/// Exit status and words of the program that checks itself.
fn run(program: &Path) -> (Option<i32>, String) {
    let output = Command::new(program).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("codegen").join(name)
}

/// Home, states near it, one that is not usable and one that is far from everything.
fn states(model: &Model, random: &mut Random) -> Vec<State> {
    let mut all: Vec<State> = (0..10)
        .map(|_| {
            let q = states::configuration(model, 0.03, random);
            let u = states::command(model, &q, random);
            State { q, u }
        })
        .collect();
    all[0].q = model.tree.home();
    all[1].q[0] = f64::NAN;
    all[2].q.iter_mut().for_each(|x| *x *= 1e6);
    all
}

fn stepper(name: &str, kappa: f64) -> Quasidynamic {
    stepper_by(name, kappa, Friction::Relaxed)
}

fn stepper_by(name: &str, kappa: f64, friction: Friction) -> Quasidynamic {
    let mut scene = Scene::load(format!("assets/scenes/{name}.toml")).unwrap();
    (scene.params.kappa, scene.params.friction, scene.params.impratio) = (kappa, friction, 3.0);
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    Quasidynamic::new(&model, &model.parameters).unwrap()
}

#[test]
fn printed_code_has_the_bits_of_the_lanes() {
    let Some(compiler) = compiler() else { return };
    let mut random = Random::new(51);
    for (name, kappa, kernels, precision, level) in [
        ("two_fingers", 1e2, &Kernel::ALL[..], Precision::Double, "-O2"),
        ("two_fingers", 1e4, &[Kernel::Step, Kernel::WarmStep, Kernel::Rollout], Precision::Single, "-O1"),
        ("push", 1e4, &Kernel::ALL, Precision::Double, "-O0"),
        ("hand_ball", 1e4, &[Kernel::Step, Kernel::Adjoint], Precision::Double, "-O1"),
    ] {
        let step = stepper(name, kappa);
        let code = Codegen::new(&step, name, kernels, precision, &states(step.model(), &mut random)).unwrap();
        check(&compiler, level, &folder(&format!("{name}_{}_{precision:?}", kernels.len())), name, &code);
    }
}

/// Two boxes, whose contacts have weights.
#[test]
fn printed_code_of_boxes_has_the_bits_of_the_lanes() {
    let Some(compiler) = compiler() else { return };
    let model = Model::new(&states::bricks(), DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let states = states(&model, &mut Random::new(57));
    let folder = folder("bricks");
    let kernels = [Kernel::WarmStep, Kernel::Adjoint, Kernel::Jacobians];
    Codegen::new(&step, "bricks", &kernels, Precision::Double, &states).unwrap().write(&folder).unwrap();
    let (status, words) = run(&compile(&compiler, "-O1", &folder, "bricks"));
    assert_eq!(status, Some(0), "{words}");
}

#[test]
fn printed_code_by_coulombs_law_has_the_bits_of_the_lanes() {
    let Some(compiler) = compiler() else { return };
    let step = stepper_by("push", 1e4, Friction::Coulomb);
    let states = states(step.model(), &mut Random::new(55));
    let folder = folder("coulomb");
    Codegen::new(&step, "push", &Kernel::ALL, Precision::Double, &states).unwrap().write(&folder).unwrap();
    let (status, words) = run(&compile(&compiler, "-O1", &folder, "push"));
    assert_eq!(status, Some(0), "{words}");
    let error = Codegen::new(&step, "push", &Kernel::ALL, Precision::Single, &states).err().unwrap().to_string();
    assert!(error.contains("double precision") && error.contains("friction law coulomb"), "{error}");
}

/// Contacts that resist turning: recorded, printed and compiled, all kernels have the bits of the lanes.
#[test]
fn printed_code_with_torsional_friction_has_the_bits_of_the_lanes() {
    let Some(compiler) = compiler() else { return };
    for friction in Friction::ALL {
        let mut scene = Scene::load("assets/scenes/pull.toml").unwrap();
        (scene.params.friction, scene.params.torsion) = (friction, 0.01);
        let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
        let step = Quasidynamic::new(&model, &model.parameters).unwrap();
        let states = states(&model, &mut Random::new(56));
        let folder = folder(&format!("torsion_{}", friction.name()));
        Codegen::new(&step, "pull", &Kernel::ALL, Precision::Double, &states).unwrap().write(&folder).unwrap();
        let (status, words) = run(&compile(&compiler, "-O0", &folder, "pull"));
        assert_eq!(status, Some(0), "{friction:?}: {words}");
    }
}

#[test]
fn what_is_alike_is_printed_once() {
    let step = stepper("hand_ball", 1e4);
    let states = states(step.model(), &mut Random::new(56));
    let folder = folder("alike");
    let kernel = Kernel::Jacobians;
    Codegen::new(&step, "hand_ball", &[kernel], Precision::Double, &states[..1]).unwrap().write(&folder).unwrap();
    let text = std::fs::read_to_string(folder.join("hand_ball.c")).unwrap();
    let printed = text.lines().filter(|line| line.trim_start().starts_with("const double v")).count();
    let operations: usize =
        step.record(kernel, Precision::Double).unwrap().operations().iter().map(|(_, count)| count).sum();
    // Five fingers of one build: what each of them has is printed once or twice, and a fifth of all is not a finger's.
    assert!(2 * printed < operations, "{printed} of {operations} operations are printed");
}

/// A gripper with parallel pads and a box, by Coulomb's law: contacts of a kind share their functions, and the cold
/// step is a call of the one from given forces. It was 22 MB.
#[test]
fn a_gripper_is_printed_in_less_than_six_megabytes() {
    let Some(compiler) = compiler() else { return };
    let scene = Scene::load("crates/cli/tests/audit/gripper.toml").unwrap();
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let states = [State { q: model.tree.home(), u: scene.control(0.0) }];
    let kernels = [Kernel::Step, Kernel::WarmStep];
    let code = Codegen::new(&step, "gripper", &kernels, Precision::Double, &states).unwrap();
    let folder = folder("gripper");
    check(&compiler, "-O0", &folder, "gripper", &code);
    let size = std::fs::metadata(folder.join("gripper.c")).unwrap().len();
    assert!(size < 6_000_000, "{size} bytes");
    let [cold, warm] = code.printed() else { panic!("two functions") };
    assert_eq!(cold.memory(), warm.memory());
}

#[test]
fn the_program_that_checks_itself_sees_one_bit() {
    let Some(compiler) = compiler() else { return };
    let step = stepper("push", 1e2);
    let code =
        Codegen::new(&step, "push", &[Kernel::Step], Precision::Double, &states(step.model(), &mut Random::new(52)));
    let folder = folder("one_bit");
    code.unwrap().write(&folder).unwrap();
    let path = folder.join("main.c");
    let text = std::fs::read_to_string(&path).unwrap();
    let place = text.find("step_results").unwrap() + text[text.find("step_results").unwrap()..].find("0x").unwrap();
    let digit = place + "0x".len() + 15;
    let other = if &text[digit..=digit] == "0" { "1" } else { "0" };
    std::fs::write(&path, format!("{}{other}{}", &text[..digit], &text[digit + 1..])).unwrap();
    let (status, words) = run(&compile(&compiler, "-O1", &folder, "push"));
    assert_eq!(status, Some(1), "{words}");
    assert!(words.contains("state 0, number 0") && words.contains("1 of "), "{words}");
}

#[test]
fn what_cannot_be_printed_is_an_error_that_says_why() {
    let step = stepper("push", 1e2);
    let state = |nq, nu| [State { q: vec![0.0; nq], u: vec![0.0; nu] }];
    let (nq, nu) = (step.model().nq(), step.model().nu());
    let print = |step: &Quasidynamic, name: &str, states: &[State]| {
        Codegen::new(step, name, &[Kernel::Step], Precision::Double, states).err().map(|error| error.to_string())
    };
    assert_eq!(print(&step, "push", &state(nq, nu)), None);
    let error = print(&step, "2 arms", &state(nq, nu)).unwrap();
    assert!(error.contains("\"2 arms\"") && error.contains("letter"), "{error}");
    // The program that checks would be written over the code, the header hide the system's.
    for name in ["main", "math", "test"] {
        let error = print(&step, name, &state(nq, nu)).unwrap();
        assert!(error.contains(&format!("\"{name}\"")) && error.contains("taken"), "{error}");
    }
    let error = print(&step, "push", &[]).unwrap();
    assert!(error.contains("expected a state"), "{error}");
    let error = print(&step, "push", &state(nq + 1, nu)).unwrap();
    assert!(error.contains(&format!("{}", nq + 1)) && error.contains("expected"), "{error}");

    let scene = Scene::new()
        .object(Object::rigid("egg", Shape::ellipsoid([0.02, 0.03, 0.04]), 0.1))
        .object(Object::rigid("brick", Shape::cuboid([0.02, 0.03, 0.04]), 0.1));
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let error = print(&step, "eggs", &state(model.nq(), model.nu())).unwrap();
    assert!(error.contains("\"egg\"") && error.contains("\"brick\""), "{error}");
}

#[test]
fn the_main_in_the_documentation_computes_what_the_library_computes() {
    let Some(compiler) = compiler() else { return };
    let model = states::model("two_fingers");
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let states = states(&model, &mut Random::new(53));
    let folder = folder("documentation");
    Codegen::new(&step, "two_fingers", &[Kernel::WarmStep], Precision::Double, &states)
        .unwrap()
        .write(&folder)
        .unwrap();
    let text = include_str!("../../docs/codegen.md");
    let main = text.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    std::fs::write(folder.join("main.c"), main).unwrap();
    let (status, words) = run(&compile(&compiler, "-O1", &folder, "two_fingers"));
    assert_eq!(status, Some(0), "{words}");

    let mass = Tensor::new(&[[0.3]], &Device::Cpu).unwrap();
    let parameters = model.parameters.map(|name, t| Ok(if name == "mass" { mass.clone() } else { t.clone() })).unwrap();
    let step = Quasidynamic::new(&model, &parameters).unwrap();
    let u = support::row(&[0.6, -1.5, -0.6, 1.5]);
    let mut q = support::row(&[0.13, 0.0, 0.0, 0.66, -1.54, -0.66, 1.54]);
    let mut warm = Tensor::zeros((1, 3 * model.nc()), DType::F64, &Device::Cpu).unwrap();
    for _ in 0..20 {
        let next = step.step_from(&q, &u, Some(&warm)).unwrap();
        (q, warm) = (next.q_next, next.warm);
    }
    let x: f64 = words.split_whitespace().next().unwrap().parse().unwrap();
    assert_eq!(x.to_bits(), support::numbers(&q)[0].to_bits(), "{words}");
}
