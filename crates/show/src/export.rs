//! Recordings as tables and arrays: CSV and NPZ. docs/recordings.md says what is in them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use super::file;
use super::npz::{Array, Npz};
use super::recording::{Recording, StepRecord};
use fingertip_shapes::{Error, Result};

/// The digits of a number in a table after its first.
const DIGITS: usize = 8;

/// Writes a table: a header, a line for the start, and a line for each step. Numbers have nine digits.
///
/// Columns: `time`; q by `q_names`; `u:` and the joint; for each contact `B<A#i phi`, its distance, and `B<A#i fx`,
/// `fy`, `fz`, the force of body A on body B, N, where i is the contact's number; for each taxel that is ever pressed
/// `pad[i]`, the force on it, N; the scalars; `status`, `iterations`, `residual`, `seconds`. Cells without a number are
/// empty: what the start does not have, and the distance of a contact that takes no part.
///
/// # Errors
/// If the file cannot be written.
pub fn write_csv(recording: &Recording, path: impl AsRef<Path>) -> Result<()> {
    let (scalars, taxels) = (recording.scalar_names(), recording.pressed_taxels());
    let contacts = recording.contact_names().into_iter();
    let contacts = contacts.flat_map(|name| ["phi", "fx", "fy", "fz"].map(|part| format!("{name} {part}")));
    let names = std::iter::once("time".to_owned())
        .chain(recording.q_names.iter().cloned())
        .chain(recording.u_names.iter().map(|name| format!("u:{name}")))
        .chain(contacts)
        .chain(taxels.iter().map(|&taxel| recording.taxel_name(taxel)))
        .chain(scalars.iter().map(|&name| name.to_owned()))
        .chain(["status", "iterations", "residual", "seconds"].map(str::to_owned));
    let names: Vec<String> = names.map(quoted).collect();
    let mut text = names.join(",") + "\n";
    let start: Vec<String> = std::iter::once(&0.0).chain(&recording.start.q).map(|&x| cell(x)).collect();
    let empty = ",".repeat(names.len() - start.len());
    let _ = writeln!(text, "{}{empty}", start.join(","));
    for step in &recording.steps {
        let contacts = (0..step.contacts.nc()).flat_map(|contact| {
            let [x, y, z] = step.contacts.force(contact);
            [step.contacts.distance(contact), x, y, z]
        });
        let numbers = std::iter::once(step.time)
            .chain(step.end.q.iter().copied())
            .chain(step.u.iter().copied())
            .chain(contacts)
            .chain(pressed(step, &taxels))
            .chain(scalars.iter().map(|&name| scalar(step, name)));
        numbers.for_each(|x| text += &(cell(x) + ","));
        let _ = writeln!(text, "{},{},{},{}", step.status, step.iterations, cell(step.residual), cell(step.seconds));
    }
    file::write(path.as_ref(), text)
}

/// Writes arrays with a row for the start and one for each step, n in all: `time` (n), `q` (n, nq), `poses` (n, bodies,
/// 7), `u` (n, nu), `phi` (n, nc), `normal`, `point`, `force` (n, nc, 3), `taxels` (n, m) of the m taxels that are ever
/// pressed, `iterations`, `residual`, `seconds` (n), and each scalar (n) as `scalar:name`. Texts are arrays of strings:
/// `q_names`, `u_names`, their `q_units` and `u_units`, `body_names`, `contact_names` (`B<A#i`), `taxel_names`
/// (`pad[i]`) and `status` (n). What the start does not have is NaN or empty, and so is the distance of a contact that
/// takes no part.
///
/// # Errors
/// If the file cannot be written.
pub fn write_npz(recording: &Recording, path: impl AsRef<Path>) -> Result<()> {
    let (path, steps) = (path.as_ref(), &recording.steps);
    let mut file = Npz::new(file::create(path)?);
    let n = steps.len() + 1;
    // A row of the start, then those of the steps.
    let rows = |width: &[usize], start: Option<Vec<f64>>, numbers: &dyn Fn(&StepRecord) -> Vec<f64>| {
        let mut all = start.unwrap_or_else(|| vec![f64::NAN; width.iter().product()]);
        all.extend(steps.iter().flat_map(numbers));
        Array::Numbers([&[n][..], width].concat(), all)
    };
    let (nq, nu, nc) = (recording.q_names.len(), recording.u_names.len(), recording.contacts.len());
    let (start, n_bodies) = (&recording.start, recording.bodies.len());
    let taxels = recording.pressed_taxels();
    let status = std::iter::once(String::new()).chain(steps.iter().map(|step| step.status.clone())).collect();
    let arrays = [
        ("time", rows(&[], Some(vec![0.0]), &|s| vec![s.time])),
        ("q", rows(&[nq], Some(start.q.clone()), &|s| s.end.q.clone())),
        ("poses", rows(&[n_bodies, 7], Some(start.poses.concat()), &|s| s.end.poses.concat())),
        ("u", rows(&[nu], None, &|s| s.u.clone())),
        ("phi", rows(&[nc], None, &|s| s.contacts.distances(f64::NAN))),
        ("normal", rows(&[nc, 3], None, &|s| s.contacts.vectors(|one| one.normal).concat())),
        ("point", rows(&[nc, 3], None, &|s| s.contacts.vectors(|one| one.point).concat())),
        ("force", rows(&[nc, 3], None, &|s| s.contacts.vectors(|one| one.force).concat())),
        ("taxels", rows(&[taxels.len()], None, &|s| pressed(s, &taxels).collect())),
        ("iterations", rows(&[], None, &|s| vec![s.iterations as f64])),
        ("residual", rows(&[], None, &|s| vec![s.residual])),
        ("seconds", rows(&[], None, &|s| vec![s.seconds])),
        ("q_names", Array::Texts(recording.q_names.clone())),
        ("u_names", Array::Texts(recording.u_names.clone())),
        ("q_units", Array::Texts(recording.q_units.clone())),
        ("u_units", Array::Texts(recording.u_units.clone())),
        ("body_names", Array::Texts(recording.bodies.iter().map(|body| body.name.clone()).collect())),
        ("contact_names", Array::Texts(recording.contact_names())),
        ("taxel_names", Array::Texts(taxels.iter().map(|&taxel| recording.taxel_name(taxel)).collect())),
        ("status", Array::Texts(status)),
    ];
    let scalars = recording.scalar_names().into_iter();
    let scalars = scalars.map(|name| (format!("scalar:{name}"), rows(&[], None, &|s| vec![scalar(s, name)])));
    let arrays = arrays.into_iter().map(|(name, array)| (name.to_owned(), array)).chain(scalars);
    let written = arrays.into_iter().try_for_each(|(name, array)| file.put(&name, &array));
    written.and_then(|()| file.finish()).map_err(|source| Error::file(path, source))
}

impl Recording {
    /// The names of all scalars that any step has.
    pub(super) fn scalar_names(&self) -> Vec<&str> {
        let all: BTreeSet<&str> = self.steps.iter().flat_map(|step| step.scalars.keys().map(String::as_str)).collect();
        all.into_iter().collect()
    }

    /// The taxels that any step presses, in ascending order.
    fn pressed_taxels(&self) -> Vec<usize> {
        let all: BTreeSet<usize> = self.steps.iter().flat_map(|step| &step.pressed).map(|one| one.taxel).collect();
        all.into_iter().collect()
    }

    /// A name for each contact: `"ball<table#3"`, what the table does to the ball in contact 3.
    fn contact_names(&self) -> Vec<String> {
        let name = |contact| {
            let [a, b] = self.sides(contact);
            format!("{b}<{a}#{contact}")
        };
        (0..self.contacts.len()).map(name).collect()
    }
}

/// The forces on these taxels, N.
fn pressed<'a>(step: &'a StepRecord, taxels: &'a [usize]) -> impl Iterator<Item = f64> + 'a {
    let force = |taxel: &usize| step.pressed.iter().find(|one| one.taxel == *taxel).map_or(0.0, |one| one.force);
    taxels.iter().map(force)
}

fn scalar(step: &StepRecord, name: &str) -> f64 {
    step.scalars.get(name).copied().unwrap_or(f64::NAN)
}

/// A number as a field of CSV, empty if it is none.
fn cell(x: f64) -> String {
    let rounded: f64 = format!("{x:.DIGITS$e}").parse().unwrap_or(x);
    if x.is_nan() { String::new() } else { format!("{rounded:?}") }
}

/// A name as a field of CSV.
fn quoted(name: String) -> String {
    if name.contains([',', '"', '\n']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name }
}
