//! Lists of goals in CSV files.

use crate::mpc::cost::{Goal, Turn};
use fingertip_scene::{Folder, JointKind};
use fingertip_shapes::{Error, Result};

/// A row: the object's goal, and its start if the columns `init_…` are read.
pub(super) type Row = (Goal, Option<Goal>);

/// Reads columns `goal_x, goal_y, goal_z, goal_qw, goal_qx, goal_qy, goal_qz` for a free object, `goal_x, goal_y,
/// goal_theta` for a planar one, and the same with `init_` if `start`; other columns are ignored.
pub(super) fn read(folder: &Folder, file: &str, kind: JointKind, start: bool) -> Result<Vec<Row>> {
    let (path, text) = (folder.join(file), folder.text(file)?);
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let bad = |line: usize, message: String| Error::invalid(format!("{}: line {}", path.display(), line + 1), message);
    let (_, header) = lines.next().ok_or_else(|| bad(0, "expected the names of columns".to_owned()))?;
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let wanted: &[&str] = match kind {
        JointKind::Planar => &["x", "y", "theta"],
        JointKind::Translation => &["x", "y", "z"],
        _ => &["x", "y", "z", "qw", "qx", "qy", "qz"],
    };
    let columns = |prefix: &str| -> Result<Vec<usize>> {
        let find = |name: &&str| {
            let name = format!("{prefix}_{name}");
            names.iter().position(|own| *own == name).ok_or_else(|| bad(0, format!("expected a column \"{name}\"")))
        };
        wanted.iter().map(find).collect()
    };
    let goal = columns("goal")?;
    let init = if start { Some(columns("init")?) } else { None };
    let rows: Vec<Row> = lines
        .map(|(number, line)| {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            let pose = |columns: &[usize]| -> Result<Goal> {
                let numbers = columns.iter().map(|&column| {
                    let cell = cells.get(column).copied().unwrap_or_default();
                    let expected =
                        || bad(number, format!("{}: expected a finite number, got \"{cell}\"", names[column]));
                    cell.parse::<f64>().ok().filter(|x| x.is_finite()).ok_or_else(expected)
                });
                goal_of(kind, &numbers.collect::<Result<Vec<_>>>()?)
                    .ok_or_else(|| bad(number, "expected a quaternion other than zero".to_owned()))
            };
            Ok((pose(&goal)?, init.as_deref().map(pose).transpose()?))
        })
        .collect::<Result<_>>()?;
    if rows.is_empty() { Err(bad(1, "expected at least one goal".to_owned())) } else { Ok(rows) }
}

fn goal_of(kind: JointKind, numbers: &[f64]) -> Option<Goal> {
    let pose = |position, turn| Some(Goal { position: Some(position), turn, ..Goal::default() });
    match *numbers {
        [x, y, z] if kind == JointKind::Translation => pose([x, y, z], None),
        [x, y, theta] => pose([x, y, 0.0], Some(Turn::Yaw(theta))),
        [x, y, z, ref q @ ..] => {
            let length = q.iter().map(|x| x * x).sum::<f64>().sqrt();
            let turn = length.is_normal().then(|| Turn::Quaternion(std::array::from_fn(|k| q[k] / length)))?;
            pose([x, y, z], Some(turn))
        }
        _ => None,
    }
}
