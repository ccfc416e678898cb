//! What `cuda/check` runs on a machine with a GPU: values, gradients and Jacobians of the shipped scenes against the
//! CPU, and how fast steps, Jacobians and rollouts are, as Markdown. Scenes and numbers of worlds as arguments are
//! timed alone. `-- --quick` for cuda/emulator, whose times mean nothing.

use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::description::Scene;
use fingertip::kinematics::Manifold;
use fingertip::rollout::rollout;
use fingertip::solve::{Report, Status};
use fingertip::step::Quasidynamic;
use fingertip::{Model, device};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Scenes whose pairs a GPU can do.
const SCENES: [&str; 8] =
    ["hand_ball", "two_fingers", "push", "cube_fingertips", "planar_hand", "planar_push", "allegro_cube", "hand_turn"];
/// Those that are timed.
const TIMED: [&str; 3] = ["hand_ball", "allegro_cube", "planar_hand"];
/// Steps of a rollout.
const STEPS: usize = 50;
/// Worlds differ by up to this in each tangent coordinate and command, rad or m.
const NOISE: f64 = 5e-3;
/// Double precision may differ by this part of the largest number: logarithms and angles are other functions on a GPU.
const TOLERANCE: f64 = 1e-8;
/// Single precision, the same.
const TOLERANCE_F32: f64 = 1e-2;
/// A call is timed for so long.
const LEAST_TIME: Duration = Duration::from_millis(300);
/// A table ends after a row that took longer: four times as many worlds would take four times as long.
const LONGEST: Duration = Duration::from_secs(15);
/// Bytes that an H200 moves in a second, by its data sheet.
const H200: f64 = 4.8e12;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match check(&arguments) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// The number of comparisons that failed.
fn check(arguments: &[String]) -> Result<usize> {
    let gpu = device("cuda")?;
    about(&gpu)?;
    let is_quick = arguments.iter().any(|argument| argument == "--quick");
    let (mut timed, mut sizes) = (Vec::new(), Vec::new());
    for argument in arguments.iter().filter(|argument| *argument != "--quick") {
        match argument.parse::<usize>() {
            Ok(worlds) => sizes.push(worlds),
            Err(_) => timed.push(argument.as_str()),
        }
    }
    let wrong = match (timed.is_empty(), is_quick) {
        (false, _) => 0,
        (true, true) => agreement(&gpu, &SCENES[1..3])?,
        (true, false) => agreement(&gpu, &SCENES)?,
    };
    if timed.is_empty() {
        timed = if is_quick { vec!["push"] } else { TIMED.to_vec() };
    }
    if sizes.is_empty() {
        sizes = (0..=if is_quick { 6 } else { 20 }).step_by(2).map(|k| 1 << k).collect();
    }
    for scene in timed {
        for dtype in [DType::F64, DType::F32] {
            speed(&gpu, scene, dtype, &sizes)?;
        }
    }
    Ok(wrong)
}

fn about(gpu: &Device) -> Result<()> {
    let stream = gpu.as_cuda_device()?.cuda_stream();
    let context = stream.context();
    let name = context.name().unwrap_or_default();
    let (major, minor) = context.compute_capability().unwrap_or_default();
    let [free, total] = memory(gpu);
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu =
        cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map_or("", |(_, name)| name);
    let days = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / 86_400;
    println!(
        "fingertip {} on {name} (sm_{major}{minor}, {} of {} MB free), {cpu}, {}\n",
        env!("CARGO_PKG_VERSION"),
        free >> 20,
        total >> 20,
        date(days)
    );
    Ok(())
}

/// Days since 1970 as a date (Howard Hinnant, chrono-compatible low-level date algorithms).
fn date(days: u64) -> String {
    let z = days + 719_468;
    let (era, day) = (z / 146_097, z % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    format!("{}-{month:02}-{day:02}", year + era * 400 + u64::from(month <= 2))
}

/// Free and all bytes of the device.
fn memory(gpu: &Device) -> [usize; 2] {
    let info = gpu.as_cuda_device().ok().and_then(|device| device.cuda_stream().context().mem_get_info().ok());
    info.map_or([0, 0], |(free, total)| [free, total])
}

fn load(name: &str, dtype: DType, device: &Device) -> Result<Quasidynamic> {
    let model = Model::new(&Scene::load(format!("assets/scenes/{name}.toml"))?, dtype, device)?;
    Quasidynamic::new(&model, &model.parameters)
}

/// States and commands (B, T, nu) about the middle of the scene's script, on the CPU.
fn batch(name: &str, worlds: usize) -> Result<[Tensor; 2]> {
    let scene = Scene::load(format!("assets/scenes/{name}.toml"))?;
    let step = load(name, DType::F64, &Device::Cpu)?;
    let (model, h) = (step.model(), scene.params.h);
    let middle = scene.script.last().map_or(0.5, |last| 0.5 * last.time);
    let commands = |from: f64, n: usize| -> Result<Tensor> {
        let rows: Vec<Vec<f64>> = (1..=n).map(|t| scene.control(from + h * t as f64)).collect();
        model.tensor(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>())?.unsqueeze(0)
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times are finite and not negative")]
    let before = ((middle / h).round() as usize).max(1);
    let there = rollout(&step, &model.home(1)?, &commands(0.0, before)?)?.q.narrow(1, before, 1)?.squeeze(1)?;
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut noise = |n: usize| -> Result<Tensor> {
        let values: Vec<f64> = (0..worlds * n).map(|_| random.random_range(-NOISE..NOISE)).collect();
        Tensor::from_vec(values, (worlds, n), &Device::Cpu)
    };
    let there = there.broadcast_as((worlds, model.nq()))?.contiguous()?;
    let q = Manifold::new(&model.tree, &Device::Cpu)?.integrate(&there, &noise(model.nv())?)?;
    Ok([q, commands(middle, STEPS)?.broadcast_add(&noise(model.nu())?.unsqueeze(1)?)?])
}

/// What is compared: states and forces of a rollout, gradients of its end in q₀ and u and of its forces in u, A and B;
/// and how the solves went.
fn everything(step: &Quasidynamic, [q, u]: &[Tensor; 2]) -> Result<(Vec<Vec<f64>>, Vec<Report>)> {
    let model = step.model();
    let to = |t: &Tensor| t.to_dtype(model.dtype)?.to_device(&model.device);
    let (q, u) = (Var::from_tensor(&to(q)?)?, Var::from_tensor(&to(&u.narrow(1, 0, 10)?.contiguous()?)?)?);
    let path = rollout(step, &q, &u)?;
    let end = path.q.narrow(1, 10, 1)?.sqr()?.sum_all()?.backward()?;
    let by_forces = path.force.sqr()?.sum_all()?.backward()?;
    let first = u.narrow(1, 0, 1)?.squeeze(1)?.contiguous()?.detach();
    let linear = step.linearize(&q.detach(), &first)?;
    let numbers = |t: &Tensor| t.flatten_all()?.to_dtype(DType::F64)?.to_vec1::<f64>();
    let of = |gradients: &candle_core::backprop::GradStore, variable: &Var| match gradients.get(variable) {
        Some(gradient) => numbers(gradient),
        None => Ok(Vec::new()),
    };
    let values = vec![
        numbers(&path.q)?,
        numbers(&path.force)?,
        of(&end, &q)?,
        of(&end, &u)?,
        of(&by_forces, &u)?,
        numbers(&linear.a)?,
        numbers(&linear.b)?,
    ];
    Ok((values, path.reports.into_iter().flatten().collect()))
}

fn agreement(gpu: &Device, scenes: &[&str]) -> Result<usize> {
    println!("Largest difference over the largest number: q, force, dq/dq₀, dq/du, dforce/du, A, B.\n");
    println!("| scene | numbers | differences | status |\n|---|---|---|---|");
    let mut wrong = 0;
    for scene in scenes {
        let batch = batch(scene, 33)?;
        for (dtype, tolerance) in [(DType::F64, TOLERANCE), (DType::F32, TOLERANCE_F32)] {
            let (expected, expected_reports) = everything(&load(scene, dtype, &Device::Cpu)?, &batch)?;
            let (found, reports) = everything(&load(scene, dtype, gpu)?, &batch)?;
            let mut cells = Vec::new();
            for (found, expected) in found.iter().zip(&expected) {
                let largest = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs())).max(1e-300);
                let mut far = 0.0_f64;
                for (a, b) in found.iter().zip(expected) {
                    // What is no number is as far as can be.
                    let apart = (a - b).abs() / largest;
                    far = if apart.is_nan() { f64::INFINITY } else { far.max(apart) };
                }
                wrong += usize::from(far > tolerance || found.len() != expected.len());
                cells.push(if far == 0.0 { String::from("0") } else { format!("{far:.0e}") });
            }
            let solved = |reports: &[Report]| reports.iter().filter(|report| report.status == Status::Solved).count();
            let (solved, expected) = (solved(&reports), solved(&expected_reports));
            wrong += usize::from(solved != expected);
            println!(
                "| {scene} | {} | {} | {solved} of {} solved, {expected} on the CPU |",
                dtype.as_str(),
                cells.join(", "),
                reports.len()
            );
        }
    }
    println!();
    Ok(wrong)
}

/// Median time of a call, s.
fn median(gpu: &Device, call: impl Fn() -> Result<()>) -> Result<f64> {
    call()?;
    gpu.synchronize()?;
    let (mut times, start) = (Vec::new(), Instant::now());
    while times.len() < 3 || start.elapsed() < LEAST_TIME {
        let begin = Instant::now();
        call()?;
        gpu.synchronize()?;
        times.push(begin.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// Does once what is timed, for one world, so that its kernels are there.
fn compile(step: &Quasidynamic, [q, u]: &[Tensor; 2]) -> Result<()> {
    let model = step.model();
    let first = |t: &Tensor| t.narrow(0, 0, 1)?.contiguous()?.to_dtype(model.dtype)?.to_device(&model.device);
    let (q, u) = (first(q)?, Var::from_tensor(&first(u)?)?);
    let at_first = u.narrow(1, 0, 1)?.squeeze(1)?.contiguous()?.detach();
    step.step(&q, &at_first)?;
    step.linearize(&q, &at_first)?;
    rollout(step, &q, &u)?.q.sum_all()?.backward().map(drop)
}

fn speed(gpu: &Device, scene: &str, dtype: DType, sizes: &[usize]) -> Result<()> {
    let step = load(scene, dtype, gpu)?;
    let model = step.model();
    println!("{scene}, {}: million world-steps per second; latency of a step, µs\n", dtype.as_str());
    println!(
        "| worlds | step | with Jacobians | rollout of {STEPS} | with backward | latency | memory, MB | of the bytes' limit |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let few = batch(scene, 1024)?;
    compile(&step, &few)?;
    for &worlds in sizes {
        let row = || -> Result<String> {
            let repeat = |t: &Tensor| -> Result<Tensor> {
                let copies = worlds.div_ceil(1024);
                let t = Tensor::cat(&vec![t; copies], 0)?.narrow(0, 0, worlds)?.contiguous()?;
                t.to_dtype(dtype)?.to_device(gpu)
            };
            let (q, u) = (repeat(&few[0])?, Var::from_tensor(&repeat(&few[1])?)?);
            let first = u.narrow(1, 0, 1)?.squeeze(1)?.contiguous()?.detach();
            let constant = u.detach();
            let before = memory(gpu)[0];
            let one = median(gpu, || step.step(&q, &first).map(drop))?;
            let linear = median(gpu, || step.linearize(&q, &first).map(drop))?;
            let path = median(gpu, || rollout(&step, &q, &constant).map(drop))?;
            let both = median(gpu, || rollout(&step, &q, &u)?.q.sum_all()?.backward().map(drop))?;
            let used = before.saturating_sub(memory(gpu)[0]) >> 20;
            let rate = |seconds: f64, steps: usize| (worlds * steps) as f64 / seconds / 1e6;
            // Commands in; states, forces and reports out.
            let bytes = (model.nu() + model.nq() + 3 * model.nc() + 3) * dtype.size_in_bytes();
            let share = 100.0 * rate(path, STEPS) * 1e6 * bytes as f64 / H200;
            Ok(format!(
                "| {worlds} | {:.3} | {:.3} | {:.3} | {:.3} | {:.0} | {used} | {share:.2} % |",
                rate(one, 1),
                rate(linear, 1),
                rate(path, STEPS),
                rate(both, STEPS),
                1e6 * one,
            ))
        };
        let start = Instant::now();
        match row() {
            Ok(row) => println!("{row}"),
            Err(error) => {
                println!("| {worlds} | {} | | | | | | |", error.to_string().lines().next().unwrap_or_default())
            }
        }
        if start.elapsed() > LONGEST {
            println!("| more | not tried: this row took {:.0} s | | | | | | |", start.elapsed().as_secs_f64());
            break;
        }
    }
    println!();
    Ok(())
}
