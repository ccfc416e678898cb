//! Recordings as tables and arrays: CSV and NPZ.

use std::fmt::Write;
use std::path::Path;

use candle_core::{Device, Tensor};

use super::file;
use super::recording::{Recording, StepRecord};
use fingertip_shapes::{Error, Result};

/// Writes a table: a header, a line for the start, and a line for each step.
///
/// Columns: `time`; q by `q_names`; `u:` and the joint; for each contact `A > B phi` and `A > B fx`, `fy`, `fz` (the
/// force on B, N); the scalars; `status`, `iterations`, `residual`, `seconds`. Cells that the start does not have are
/// empty.
///
/// # Errors
/// If the file cannot be written.
pub fn write_csv(recording: &Recording, path: impl AsRef<Path>) -> Result<()> {
    let scalars: Vec<&str> =
        recording.steps.first().map_or_else(Vec::new, |step| step.scalars.keys().map(String::as_str).collect());
    let contacts = (0..recording.contacts.len()).flat_map(|contact| {
        let [a, b] = recording.sides(contact);
        ["phi", "fx", "fy", "fz"].map(|part| format!("{a} > {b} {part}"))
    });
    let names = std::iter::once("time".to_owned())
        .chain(recording.q_names.iter().cloned())
        .chain(recording.u_names.iter().map(|name| format!("u:{name}")))
        .chain(contacts)
        .chain(scalars.iter().map(|&name| name.to_owned()))
        .chain(["status", "iterations", "residual", "seconds"].map(str::to_owned));
    let names: Vec<String> = names.map(quoted).collect();
    let mut text = names.join(",") + "\n";
    let start: Vec<String> = std::iter::once(&0.0).chain(&recording.start.q).map(f64::to_string).collect();
    let empty = ",".repeat(names.len() - start.len());
    let _ = writeln!(text, "{}{empty}", start.join(","));
    for step in &recording.steps {
        let contacts = step.phi.iter().zip(&step.force).flat_map(|(phi, force)| [*phi, force[0], force[1], force[2]]);
        let numbers = std::iter::once(step.time)
            .chain(step.end.q.iter().copied())
            .chain(step.u.iter().copied())
            .chain(contacts)
            .chain(scalars.iter().map(|&name| scalar(step, name)));
        numbers.for_each(|x| _ = write!(text, "{x},"));
        let _ = writeln!(text, "{},{},{},{}", step.status, step.iterations, step.residual, step.seconds);
    }
    file::write(path.as_ref(), text)
}

/// Writes arrays: `time` (n), `q` (n, nq), `poses` (n, bodies, 7), `u` (n, nu), `phi` (n, nc), `normal`, `point`,
/// `force` (n, nc, 3), `iterations`, `residual`, `seconds` (n), each scalar (n) as `scalar:name`, and `start_q` (nq).
/// The names of q, u, bodies, contacts and statuses are bytes (UTF-8, one name per line): `q_names`, `u_names`,
/// `body_names`, `contact_names`, `status`.
///
/// # Errors
/// If the recording has no steps, or the file cannot be written.
pub fn write_npz(recording: &Recording, path: impl AsRef<Path>) -> candle_core::Result<()> {
    let (path, steps) = (path.as_ref(), &recording.steps);
    if steps.is_empty() {
        return Err(Error::invalid(path.display().to_string(), "expected a recording with steps, got none").into());
    }
    drop(file::create(path)?);
    let n = steps.len();
    let array = |width: &[usize], numbers: &dyn Fn(&StepRecord) -> Vec<f64>| {
        let dims = [&[n][..], width].concat();
        Tensor::from_vec(steps.iter().flat_map(numbers).collect::<Vec<f64>>(), dims, &Device::Cpu)
    };
    let lines = |names: Vec<String>| {
        let bytes = names.join("\n").into_bytes();
        Tensor::from_vec(bytes.clone(), bytes.len(), &Device::Cpu)
    };
    let (nq, nu, nc) = (recording.q_names.len(), recording.u_names.len(), recording.contacts.len());
    let contacts = (0..nc).map(|contact| recording.sides(contact).join(" > ")).collect();
    let mut arrays = vec![
        ("time".to_owned(), array(&[], &|s| vec![s.time])?),
        ("q".to_owned(), array(&[nq], &|s| s.end.q.clone())?),
        ("poses".to_owned(), array(&[recording.bodies.len(), 7], &|s| s.end.poses.concat())?),
        ("u".to_owned(), array(&[nu], &|s| s.u.clone())?),
        ("phi".to_owned(), array(&[nc], &|s| s.phi.clone())?),
        ("normal".to_owned(), array(&[nc, 3], &|s| s.normal.concat())?),
        ("point".to_owned(), array(&[nc, 3], &|s| s.point.concat())?),
        ("force".to_owned(), array(&[nc, 3], &|s| s.force.concat())?),
        ("iterations".to_owned(), array(&[], &|s| vec![s.iterations as f64])?),
        ("residual".to_owned(), array(&[], &|s| vec![s.residual])?),
        ("seconds".to_owned(), array(&[], &|s| vec![s.seconds])?),
        ("start_q".to_owned(), Tensor::from_vec(recording.start.q.clone(), nq, &Device::Cpu)?),
        ("q_names".to_owned(), lines(recording.q_names.clone())?),
        ("u_names".to_owned(), lines(recording.u_names.clone())?),
        ("body_names".to_owned(), lines(recording.bodies.iter().map(|body| body.name.clone()).collect())?),
        ("contact_names".to_owned(), lines(contacts)?),
        ("status".to_owned(), lines(steps.iter().map(|step| step.status.clone()).collect())?),
    ];
    for name in steps[0].scalars.keys() {
        arrays.push((format!("scalar:{name}"), array(&[], &|s| vec![scalar(s, name)])?));
    }
    // An array without entries is no array for every reader.
    arrays.retain(|(_, array)| array.elem_count() > 0);
    Tensor::write_npz(&arrays, path)
}

fn scalar(step: &StepRecord, name: &str) -> f64 {
    step.scalars.get(name).copied().unwrap_or(f64::NAN)
}

/// A name as a field of CSV.
fn quoted(name: String) -> String {
    if name.contains([',', '"', '\n']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name }
}
