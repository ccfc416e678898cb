//! `fingertip rollout`: simulates many steps and reports their outcome.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fingertip::description::{JointKind, Limits, Scene};
use fingertip::kinematics::Coordinate;
use fingertip::math::tensor::numbers;
use fingertip::mpc::plant::SecondOrder;
use fingertip::show::{self, Recording, RecordingWriter, Source, States, StepRecord};
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;
use indicatif::{ProgressBar, ProgressStyle};

use super::blame::Why;
use super::scene::{self, SceneArgs, TargetArgs};
use super::{Exit, Outcome, controls, message, names, summary};

/// The rollout goes on for this long after the script's last keyframe, s.
const AFTER_SCRIPT: f64 = 1.5;
/// Steps of a scene without a script.
const WITHOUT_SCRIPT: usize = 100;

/// Rolls a scene out: each step starts where the previous one ended.
///
/// Commands come from the scene's script, or from a file with one command per step; after the end of the file its last
/// command is held. The summary says what touches what with which force at the end, and whether the objects are held.
/// If a step is not solved, it says why instead, and the exit status is 1.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    scene: SceneArgs,

    #[command(flatten)]
    target: TargetArgs,

    /// Steps [default: all of the commands file; else until 1.5 s after the script's end; else 100].
    #[arg(long, short = 'n', value_name = "N")]
    steps: Option<usize>,

    /// Commands, one line per step: JSON lines ([…] or {"u": […]}), or CSV with or without a header of joint names.
    #[arg(long, value_name = "FILE")]
    controls: Option<PathBuf>,

    /// Writes a recording to this file (MCAP); `view` shows it, `export` converts it to tables.
    #[arg(long, value_name = "FILE", value_parser = names::recording)]
    record: Option<PathBuf>,

    /// Moves by the second-order step instead: the world has velocities, and critically damped springs pull the joints
    /// to their commands.
    #[arg(long, conflicts_with_all = ["native", "device", "f32"])]
    second_order: bool,

    /// Compiles the step for this scene and processor with the machine's C compiler: same numbers, less time.
    #[arg(long)]
    native: bool,

    /// Plots forces and motion to this file (SVG; PNG in builds with the feature `png`).
    #[arg(long, value_name = "FILE", value_parser = names::figure)]
    plot: Option<PathBuf>,
}

pub fn run(args: &Args) -> Outcome {
    let (source, step) = args.scene.load()?;
    let step = scene::natively(step, args.native)?;
    let rows = args.controls.as_ref().map(|path| controls::read(path, step.model())).transpose()?;
    let n_steps = match (args.steps, &rows) {
        (Some(0), _) => return Err("--steps: expected at least 1, got 0".into()),
        (Some(n), _) => n,
        (None, Some(rows)) => rows.len(),
        (None, None) => steps_of_script(&source.scene, step.model().params.h),
    };
    let control = |k: usize, time: f64| match &rows {
        Some(rows) => rows[k.min(rows.len() - 1)].clone(),
        None => source.scene.control(time),
    };
    if args.second_order {
        let (recording, unsolved) = second_order(args, &source, &step, n_steps, control)?;
        if let Some(path) = &args.record {
            recording.write(path)?;
        }
        let exit = report(&source.scene, &step, &recording, args.record.as_deref(), args.plot.as_deref())?;
        if unsolved == 0 {
            return Ok(exit);
        }
        eprintln!(
            "error: {unsolved} of the second-order steps had no solution: the world stood still in them, whatever is said above"
        );
        return Ok(Exit::Failed);
    }
    let other = if args.target.is_default() { None } else { Some(args.scene.compile_for(&source, &args.target)?) };
    let recording = roll_out(&source, other.as_ref().unwrap_or(&step), n_steps, control, args.record.as_deref())?;
    report(&source.scene, &step, &recording, args.record.as_deref(), args.plot.as_deref())
}

fn steps_of_script(scene: &Scene, h: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times are finite and not negative")]
    scene.script.last().map_or(WITHOUT_SCRIPT, |keyframe| ((keyframe.time + AFTER_SCRIPT) / h).round() as usize)
}

/// Rolls out by the second-order step: what it did, and how many of its steps had no solution.
fn second_order(
    args: &Args,
    source: &Source,
    step: &Quasidynamic,
    n_steps: usize,
    control: impl Fn(usize, f64) -> Vec<f64>,
) -> Result<(Recording, usize), Box<dyn std::error::Error>> {
    let (overrides, h) = (args.scene.overrides()?, numbers(&step.parameters().h)?[0]);
    let scene = Scene { params: overrides.params(&source.scene.params)?, ..source.scene.clone() };
    let mut world = SecondOrder::new(&scene, &overrides)?;
    let mut at = numbers(&step.model().home(1)?)?;
    let (mut q, mut time, mut u, mut force) = (at.clone(), vec![0.0], Vec::new(), Vec::new());
    let mut unsolved = 0;
    for k in 0..n_steps {
        let command = control(k, time[k]);
        let next = world.advance(&at, &command)?;
        (at, unsolved) = (next.q, unsolved + next.unsolved);
        q.extend_from_slice(&at);
        time.push((k + 1) as f64 * h);
        u.extend(command);
        force.extend(next.force);
    }
    let states = States { q: &q, time: &time, u: &u, force: &force };
    Ok((Recording::of_states(source, step, states)?, unsolved))
}

/// Rolls out with a progress bar, and writes a recording as it goes where one is asked for.
pub fn roll_out(
    source: &Source,
    step: &Quasidynamic,
    n_steps: usize,
    control: impl Fn(usize, f64) -> Vec<f64>,
    record: Option<&Path>,
) -> candle_core::Result<Recording> {
    let bar = ProgressBar::new(n_steps as u64);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} steps, {eta} left") {
        bar.set_style(style);
    }
    let mut writer: Option<RecordingWriter> = None;
    let recording = show::record(source, step, n_steps, control, |recording| {
        match (recording.steps.last(), &mut writer) {
            (None, _) => writer = record.map(|path| begin(path, recording)).transpose()?,
            (Some(step), Some(writer)) => writer.step(step)?,
            (Some(_), None) => {}
        }
        bar.set_position(recording.steps.len() as u64);
        Ok(())
    });
    bar.finish_and_clear();
    if let Some(writer) = writer {
        writer.finish()?;
    }
    recording
}

/// A line for each command that pulls harder than its joint's largest effort allows.
fn efforts(step: &Quasidynamic, recording: &Recording) -> candle_core::Result<Vec<String>> {
    let model = step.model();
    let mut worst: BTreeMap<usize, (f64, f64, usize)> = BTreeMap::new();
    let solved = recording.steps.iter().filter(|record| record.status == Status::Solved.name());
    for StepRecord { end, u, .. } in solved.filter(|_| model.nu() > 0) {
        for beyond in step.beyond_efforts(&model.tensor(&[&end.q])?, &model.tensor(&[u])?)? {
            let (most, _, steps) = worst.entry(beyond.command).or_insert((0.0, beyond.effort, 0));
            *most = most.max(beyond.force.abs());
            *steps += 1;
        }
    }
    let joints: Vec<&Coordinate> = model.tree.coordinates.iter().filter(|c| c.u.is_some()).collect();
    let line = |(command, (most, effort, steps)): (usize, (f64, f64, usize))| {
        let joint = joints[command];
        let unit = if joint.kind == JointKind::Prismatic { "N" } else { "N·m" };
        let name = &joint.name;
        format!(
            "{name}: its command pulls with up to {most:.3} {unit}, beyond its effort of {effort} {unit}, in {steps} steps"
        )
    };
    Ok(worst.into_iter().map(line).collect())
}

/// A joint that is told to go beyond its limits by more than this part of its range is named: plans pull a little from
/// there.
const BEYOND: f64 = 0.1;

/// A line for each joint that is told to go far beyond its limits.
fn limits(step: &Quasidynamic, recording: &Recording) -> Vec<String> {
    let joints = step.model().tree.coordinates.iter().filter(|c| c.u.is_some()).enumerate();
    let line = |(command, joint): (usize, &Coordinate)| {
        let Limits { lower, upper } = joint.limits?;
        let beyond = |u: f64| (lower - u).max(u - upper);
        let told = recording.steps.iter().filter_map(|record| record.u.get(command).copied());
        let farthest = told.max_by(|&a, &b| beyond(a).total_cmp(&beyond(b)))?;
        let unit = if joint.kind == JointKind::Prismatic { "m" } else { "rad" };
        (beyond(farthest) > BEYOND * (upper - lower)).then(|| {
            format!("{}: commanded to {farthest} {unit}, beyond its limits of {lower} to {upper} {unit}", joint.name)
        })
    };
    joints.filter_map(line).collect()
}

/// Begins a file, and says what will not be seen of it.
pub fn begin(path: &Path, recording: &Recording) -> fingertip::Result<RecordingWriter> {
    message::warn(&recording.left_out);
    RecordingWriter::create(path, recording)
}

/// Prints the summary, and why if a step was not solved, writes the plot if it is asked for, and names the files.
pub fn report(
    scene: &Scene,
    step: &Quasidynamic,
    recording: &Recording,
    record: Option<&Path>,
    plot: Option<&Path>,
) -> Outcome {
    let unsolved = recording.steps.iter().position(|step| step.status != Status::Solved.name());
    let why = unsolved.map(|k| Why::of_recording(scene, step, recording, k)).transpose()?;
    print!("{}", summary::summary(recording, why.as_ref()));
    limits(step, recording).iter().chain(&efforts(step, recording)?).for_each(|line| println!("{line}"));
    if let Some(path) = record {
        println!("recording  {}", path.display());
    }
    if let Some(path) = plot {
        show::plot(recording, path)?;
        println!("plot       {}", path.display());
    }
    Ok(if why.is_none() { Exit::Success } else { Exit::Failed })
}
