//! Lists of goals in CSV files.

use std::path::PathBuf;

use crate::mpc::cost::{Goal, Turn, object_joints};
use fingertip_scene::{Folder, JointKind, unknown};
use fingertip_shapes::{Error, Result};
use fingertip_step::model::Model;

/// A row: the goals, and the starts if the columns `init_…` are read.
pub(super) type Row = (Goal, Option<Goal>);

/// Reads columns `goal_x, goal_y, goal_z, goal_qw, goal_qx, goal_qy, goal_qz` for a free object,
/// `goal_x, goal_y, goal_theta` for a planar one, `goal_` and a joint's own name, and the same with `init_` if `start`.
/// Those of another object or robot begin with its name, as in `lid.goal_hinge`; one without such a column has no goal
/// from here. Other columns are ignored.
///
/// # Errors
/// With the file, the line and the column: if a column is missing, is there twice, or is of another object but none of
/// its own; if a cell is no finite number, or a quaternion zero; if there is no row.
pub(super) fn read(
    folder: &Folder,
    file: &str,
    model: &Model,
    object: &str,
    others: &[&str],
    start: bool,
) -> Result<Vec<Row>> {
    let (path, text) = (folder.join(file), folder.text(file)?);
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let header = lines.next().map_or("", |(_, header)| header);
    let table = Table { path, names: header.split(',').map(str::trim).collect() };
    if header.is_empty() {
        return Err(table.bad(0, "expected the names of columns"));
    }
    table.check(model, others)?;
    let all = |part: &str| -> Result<Vec<(&str, Columns)>> {
        let mut found = Vec::new();
        if let Some(columns) = table.columns(model, object, part, true)? {
            found.push((object, columns));
        }
        for other in others {
            found.extend(
                table.columns(model, other, &format!("{other}.{part}"), false)?.map(|columns| (*other, columns)),
            );
        }
        Ok(found)
    };
    let (goals, inits) = (all("goal_")?, start.then(|| all("init_")).transpose()?);
    let read = |columns: &[(&str, Columns)], line: usize, cells: &[&str]| -> Result<Goal> {
        let [(_, own), others @ ..] = columns else { return Ok(Goal::default()) };
        let others = others.iter().map(|(name, own)| Ok(((*name).to_owned(), table.goal(own, line, cells)?)));
        Ok(Goal { others: others.collect::<Result<_>>()?, ..table.goal(own, line, cells)? })
    };
    let row = |(line, text): (usize, &str)| -> Result<Row> {
        let cells: Vec<&str> = text.split(',').map(str::trim).collect();
        let init = inits.as_ref().map(|inits| read(inits, line, &cells));
        Ok((read(&goals, line, &cells)?, init.transpose()?))
    };
    let rows: Vec<Row> = lines.map(row).collect::<Result<_>>()?;
    if rows.is_empty() { Err(table.bad(1, "expected at least one goal")) } else { Ok(rows) }
}

/// A file and the names of its columns.
struct Table<'a> {
    path: PathBuf,
    names: Vec<&'a str>,
}

/// The columns of one object or robot.
struct Columns {
    kind: JointKind,
    /// Of its pose; none if the file has none.
    pose: Vec<usize>,
    joints: Vec<(String, usize)>,
}

/// The names of the numbers of an object's or a robot's pose, if it can move as a whole, without prefix.
fn pose_names(model: &Model, object: &str) -> (JointKind, &'static [&'static str]) {
    match model.object(object).map(|c| c.kind) {
        Ok(kind @ JointKind::Planar) => (kind, &["x", "y", "theta"]),
        Ok(kind @ JointKind::Translation) => (kind, &["x", "y", "z"]),
        Ok(kind) => (kind, &["x", "y", "z", "qw", "qx", "qy", "qz"]),
        Err(_) => (JointKind::Fixed, &[]),
    }
}

impl Table<'_> {
    fn bad(&self, line: usize, message: impl Into<String>) -> Error {
        Error::invalid(format!("{}: line {}", self.path.display(), line + 1), message)
    }

    /// Checks that columns of other objects are theirs, and that no column of a goal or start is there twice.
    fn check(&self, model: &Model, others: &[&str]) -> Result<()> {
        for (k, name) in self.names.iter().enumerate() {
            let Some((prefix, own)) = ["goal_", "init_"].iter().find_map(|part| {
                let at = name.find(part).filter(|at| *at == 0 || name[..*at].ends_with('.'))?;
                Some((&name[..at], &name[at + part.len()..]))
            }) else {
                continue;
            };
            if self.names[..k].contains(name) {
                return Err(self.bad(0, format!("expected each column once, got \"{name}\" twice")));
            }
            let Some(object) = prefix.strip_suffix('.') else { continue };
            if !others.contains(&object) {
                let is_none = unknown("table in goal.others", object, others.iter().copied());
                return Err(self.bad(0, format!("column \"{name}\": {is_none}")));
            }
            let joints = object_joints(model, object).into_iter().map(|(joint, _)| joint);
            let known: Vec<&str> = pose_names(model, object).1.iter().copied().chain(joints).collect();
            if !known.contains(&own) {
                let is_none = unknown("coordinate", own, known.into_iter());
                return Err(self.bad(0, format!("column \"{name}\": {is_none}")));
            }
        }
        Ok(())
    }

    /// The columns of an object whose names begin with a prefix; none if there is none and none is needed.
    fn columns(&self, model: &Model, object: &str, prefix: &str, is_needed: bool) -> Result<Option<Columns>> {
        let find = |name: &str| {
            let name = format!("{prefix}{name}");
            self.names
                .iter()
                .position(|own| *own == name)
                .ok_or_else(|| self.bad(0, format!("expected a column \"{name}\"")))
        };
        let (kind, names) = pose_names(model, object);
        let all = object_joints(model, object);
        let joints: Vec<(String, usize)> =
            all.iter().filter_map(|(joint, _)| Some(((*joint).to_owned(), find(joint).ok()?))).collect();
        let pose = if names.iter().any(|name| find(name).is_ok()) || (is_needed && joints.is_empty()) {
            names.iter().map(|name| find(name)).collect::<Result<_>>()?
        } else {
            Vec::new()
        };
        if let (true, true, Some((joint, _))) = (pose.is_empty() && joints.is_empty(), is_needed, all.first()) {
            find(joint)?;
        }
        Ok((!pose.is_empty() || !joints.is_empty()).then_some(Columns { kind, pose, joints }))
    }

    /// The goal of one object in a line.
    fn goal(&self, columns: &Columns, line: usize, cells: &[&str]) -> Result<Goal> {
        let number = |column: usize| {
            let cell = cells.get(column).copied().unwrap_or_default();
            let name = self.names[column];
            let expected = || self.bad(line, format!("{name}: expected a finite number, got \"{cell}\""));
            cell.parse::<f64>().ok().filter(|x| x.is_finite()).ok_or_else(expected)
        };
        let pose = columns.pose.iter().map(|&column| number(column)).collect::<Result<Vec<_>>>()?;
        let joints = columns.joints.iter().map(|(name, column)| Ok((name.clone(), number(*column)?)));
        let joints = joints.collect::<Result<_>>()?;
        let (position, turn) = match *pose {
            [x, y, z] if columns.kind == JointKind::Translation => (Some([x, y, z]), None),
            [x, y, theta] => (Some([x, y, 0.0]), Some(Turn::Yaw(theta))),
            [x, y, z, ref q @ ..] => {
                let length = q.iter().map(|x| x * x).sum::<f64>().sqrt();
                if !length.is_normal() {
                    let names = format!("{} to {}", self.names[columns.pose[3]], self.names[columns.pose[6]]);
                    return Err(self.bad(line, format!("{names}: expected a quaternion other than zero")));
                }
                (Some([x, y, z]), Some(Turn::Quaternion(std::array::from_fn(|k| q[k] / length))))
            }
            _ => (None, None),
        };
        Ok(Goal { position, turn, joints, ..Goal::default() })
    }
}
