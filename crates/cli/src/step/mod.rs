//! `fingertip step`: JSON lines in, JSON lines out.

mod line;
mod models;
mod output;

use std::io::{self, BufReader, Read, Write};

use rayon::prelude::*;

use self::line::answer;
use self::models::Models;
use self::output::Outputs;
use super::scene::{SceneArgs, TargetArgs};
use super::{Exit, Outcome};
use crate::lines;

/// Lines that are worked on together, at most. Lines are not waited for: what has arrived is answered.
const BLOCK: usize = 256;

/// Computes one step for each line of stdin and writes the result to the same line of stdout.
///
/// A line in: {"q": […], "u": […]}, each at home if it is left out. Optional: "params": {"kappa": 1e4, …}, "mu":
/// {"ball/hand": 0.4}, "stiffness": {"hand/slider_z": 50}, "mass": {"ball": 0.3}, "size": {"ball": 0.05}, for this line
/// only; "jacobians": true; and "output": ["q_next", "forces"] to choose what is written.
///
/// A line out: q_next, lambda (per contact along its normal and two tangents, N), forces (in world axes on b, N),
/// torques (on b about the normal, N·m, if contacts have torsional friction), contacts (a, b, phi, normal from a to b,
/// point on b), status (solved, iteration_limit, unsettled, frictionless, infeasible, bad_input), iterations and
/// residual. If the step is not solved, a message names the deepest overlap, if there is one, or the number that is
/// bad. One names bodies that pass through each other because they are farther apart than their contacts reach, or
/// what moves TOO FAR for planes to stand for what is in its way. If it is unsettled, slip_gap is the gap that slip
/// opens, m. On request: gaps, the gaps that the step leaves at the contacts, m; net_forces, for each body that may
/// touch something, and for each two bodies, the sum of the contact forces on it, N, and their torque about the origin
/// of its frame, N·m, in world axes (on, by: null is everything, force, torque); log, for each iteration of the solve
/// the friction law and the attempt, the length of its step and the error by which it goes on, the residual after it,
/// by how much δ moved, and the least gap and the largest force if the step ended there; and with "jacobians"
/// dq_next_dq, dq_next_du, dlambda_dq and dlambda_du as lists of rows, in tangent coordinates.
///
/// A bad line is answered with {"error": …}, and the run goes on. A line may have up to 1 MiB, and no object may have a
/// key twice. `inspect` names the numbers in q and u.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    scene: SceneArgs,

    #[command(flatten)]
    target: TargetArgs,

    /// The output for lines without "output" [default: everything except gaps, net_forces, log and Jacobians]. Any of
    /// q_next, lambda, forces, torques, contacts, status, iterations, residual, gaps, net_forces, log, dq_next_dq,
    /// dq_next_du, dlambda_dq, dlambda_du.
    #[arg(long, value_name = "KEY,…", value_delimiter = ',')]
    output: Vec<String>,

    /// Compiles the step for this scene and processor with the machine's C compiler: same numbers, less time.
    #[arg(long)]
    native: bool,
}

pub fn run(args: &Args) -> Outcome {
    let outputs = match &args.output[..] {
        [] => Outputs::default(),
        names => Outputs::named(names).map_err(|message| format!("--output: {message}"))?,
    };
    let (source, mut step) = args.scene.load()?;
    if !args.target.is_default() {
        step = args.scene.compile_for(&source, &args.target)?;
    }
    let is_cpu = step.model().device.is_cpu();
    let models = Models::new(source, args.scene.overrides()?, step, args.native)?;
    let mut input = lines::input();
    let mut output = io::stdout().lock();
    let (mut n_lines, mut n_bad) = (0_usize, 0_usize);
    loop {
        let block = block(&mut input)?;
        if block.is_empty() {
            break;
        }
        let of_line = |line: &Result<Vec<u8>, String>| {
            line.as_ref().map_err(Clone::clone).and_then(|line| answer(&models, &outputs, line))
        };
        // A GPU has one thread that tells it what to do.
        let answers: Vec<Result<String, String>> =
            if is_cpu { block.par_iter().map(of_line).collect() } else { block.iter().map(of_line).collect() };
        for answer in answers {
            n_lines += 1;
            match answer {
                Ok(text) => writeln!(output, "{text}")?,
                Err(message) => {
                    n_bad += 1;
                    writeln!(output, "{}", serde_json::json!({ "error": format!("line {n_lines}: {message}") }))?;
                }
            }
        }
        output.flush()?;
    }
    if n_bad > 0 {
        eprintln!("{n_bad} of {n_lines} lines are bad; their errors are in their places");
    }
    Ok(Exit::Success)
}

/// The next line, and those after it that are there already.
fn block(input: &mut BufReader<impl Read>) -> io::Result<Vec<Result<Vec<u8>, String>>> {
    let mut block = Vec::new();
    while block.is_empty() || (block.len() < BLOCK && input.buffer().contains(&b'\n')) {
        let Some(line) = lines::next(input)? else { break };
        block.push(line);
    }
    Ok(block)
}
