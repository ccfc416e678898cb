//! Logs: what a robot was told, and what was measured.

use std::collections::HashSet;

use fingertip_scene::unknown;
use fingertip_shapes::{Error, Result};
use fingertip_step::model::Model;

use super::net::Net;

/// The prefix of the columns of commands, and of those of net forces.
const COMMAND: &str = "u:";
pub(crate) const FORCE: &str = "force:";
/// The fewest rows of a log.
const FEWEST: usize = 3;
/// Numbers of a quaternion.
const QUATERNION: usize = 4;

/// A trajectory of commands and of what was measured.
#[derive(Clone, Debug)]
pub struct Log {
    /// Its name in messages and results: that of its file.
    pub name: String,
    /// Times of the rows (n), s, each after the one before.
    pub time: Vec<f64>,
    /// Commands (n, nu), rad or m: each acts from its row's time until the next one's.
    pub commands: Vec<f64>,
    /// The measured columns, in the order of the file.
    pub channels: Vec<Channel>,
    /// Columns that mean nothing here.
    pub ignored: Vec<String>,
}

/// One thing that was measured.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Its column, as `hand/index_0`, `ball.x` or `force:ball.z`; `ball.q` for the four of a quaternion.
    pub name: String,
    /// Of what kind it is, which says its unit and its noise.
    pub kind: Kind,
    /// What was measured (n), or for a quaternion (n, 4), w first; NaN where nothing was.
    pub values: Vec<f64>,
    pub(crate) of: Of,
}

/// Kinds of measurements, which have a noise of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Joints, rad or m.
    Joint,
    /// Coordinates of objects' positions, m.
    Position,
    /// Rotations of objects, rad.
    Rotation,
    /// Net contact forces on things, N.
    Force,
}

/// What a channel measures of the world.
#[derive(Clone, Debug)]
pub(crate) enum Of {
    /// A number of q that adds: its place in q, and its degree of freedom.
    Coordinate { q: usize, v: usize },
    /// The quaternion from this place in q on, and its first degree of freedom.
    Rotation { q: usize, v: usize },
    /// A weighted sum of contact forces: places in (nc, 3), and signs.
    Force(Vec<(usize, f64)>),
}

impl Kind {
    /// All kinds of measurements.
    pub const ALL: [Self; 4] = [Self::Joint, Self::Position, Self::Rotation, Self::Force];

    /// Its name, and its unit.
    pub fn name(self) -> (&'static str, &'static str) {
        match self {
            Self::Joint => ("joint", "rad or m"),
            Self::Position => ("position", "m"),
            Self::Rotation => ("rotation", "rad"),
            Self::Force => ("force", "N"),
        }
    }

    /// The standard deviation that the search begins with.
    pub(super) fn noise(self) -> f64 {
        match self {
            Self::Joint | Self::Position => 1e-3,
            Self::Rotation => 1e-2,
            Self::Force => 0.1,
        }
    }
}

/// What a column means.
enum Column {
    Time,
    /// A place in u.
    Command(usize),
    /// A place in q.
    Coordinate(usize),
    Force(Vec<(usize, f64)>),
}

impl Log {
    /// A log of columns by name, each with a number for every row; NaN where there is none.
    ///
    /// `time` is needed, s. `u:JOINT` are commands, of which no row may lack one; without a column a joint is commanded
    /// to stay at home. Names of numbers in q, as `hand/index_0` or `ball.x`, are what was measured; of a quaternion
    /// all four are needed. `force:THING.x`, `.y` and `.z` are net contact forces on a body or a thing along world
    /// axes, N. A joint's name may do without its robot's if no other has the same. Where the first row has no
    /// commands, as in tables of `export`, those of a row acted until its time, and not from it on.
    ///
    /// # Errors
    /// If a column is missing or has another length, a joint or a thing is not known, a number is infinite, times do
    /// not increase, there are fewer than three rows, or nothing was measured. The message gives the log, row and
    /// column.
    pub fn new(model: &Model, name: &str, columns: &[(&str, &[f64])]) -> Result<Self> {
        Self::of(model, name, columns, |row| format!("row {row}"))
    }

    /// A log from the text of a CSV file: a line of names, then a line of numbers for each row. Cells of measurements
    /// may be empty. Names and meanings are those of [`Log::new`]; other columns are left out.
    ///
    /// # Errors
    /// As [`Log::new`], or a cell that is no finite number; the message gives line and column.
    pub fn from_csv(model: &Model, name: &str, text: &str) -> Result<Self> {
        let within = |error: Error| error.within(name);
        let mut lines = text.trim_start_matches('\u{feff}').lines().enumerate();
        let mut lines = lines.by_ref().filter(|(_, line)| !line.trim().is_empty());
        let Some((_, header)) = lines.next() else {
            return Err(Error::invalid(name, "expected a line of column names, got an empty file"));
        };
        let names = cells(header);
        let means = names.iter().map(|name| Ok(meaning(model, name).map_err(within)?.is_some()));
        let is_read = means.collect::<Result<Vec<bool>>>()?;
        let (mut columns, mut places) = (vec![Vec::new(); names.len()], Vec::new());
        for (i, line) in lines {
            let (place, row) = (format!("line {}", i + 1), cells(line));
            if row.len() != names.len() {
                let message = format!("expected {} cells as in the first line, got {}", names.len(), row.len());
                return Err(Error::invalid(format!("{name}: {place}"), message));
            }
            for (k, cell) in row.iter().enumerate().filter(|&(k, _)| is_read[k]) {
                columns[k].push(match cell.parse::<f64>() {
                    _ if cell.is_empty() => f64::NAN,
                    Ok(x) if x.is_finite() => x,
                    _ => {
                        let place = format!("{name}: {place}: column \"{}\"", names[k]);
                        return Err(Error::invalid(place, format!("expected a finite number, got \"{cell}\"")));
                    }
                });
            }
            places.push(place);
        }
        let ignored = vec![f64::NAN; places.len()];
        let all = names.iter().zip(&columns).zip(&is_read);
        let all: Vec<(&str, &[f64])> = all
            .map(|((name, column), &is_read)| (name.as_str(), if is_read { &column[..] } else { &ignored }))
            .collect();
        Self::of(model, name, &all, |row| places[row].clone())
    }

    fn of(model: &Model, name: &str, columns: &[(&str, &[f64])], place: impl Fn(usize) -> String) -> Result<Self> {
        let wrong = |at: String, message: String| Error::invalid(format!("{name}: {at}"), message);
        let column = |name: &str| format!("column \"{name}\"");
        let Some(&(_, time)) = columns.iter().find(|(own, _)| *own == "time") else {
            let names: Vec<&str> = columns.iter().map(|(own, _)| *own).take(3).collect();
            let message =
                format!("expected a column \"time\" in s, with commas between columns, got \"{}\"", names.join(","));
            return Err(Error::invalid(name, message));
        };
        let (n, nu) = (time.len(), model.nu());
        if n < FEWEST {
            return Err(Error::invalid(name, format!("expected at least {FEWEST} rows, got {n}")));
        }
        let mut log = Self {
            name: name.to_owned(),
            time: time.to_vec(),
            commands: model.tree.home_command().repeat(n),
            channels: Vec::new(),
            ignored: Vec::new(),
        };
        let (mut seen, mut told, mut quaternions) = (HashSet::new(), Vec::new(), Vec::new());
        for &(own, numbers) in columns {
            if !seen.insert(own) {
                return Err(wrong(column(own), "expected each column once".to_owned()));
            }
            if numbers.len() != n {
                return Err(wrong(column(own), format!("expected {n} numbers as in \"time\", got {}", numbers.len())));
            }
            if let Some(row) = numbers.iter().position(|x| x.is_infinite()) {
                return Err(wrong(format!("{}: {}", place(row), column(own)), "expected a finite number".to_owned()));
            }
            match meaning(model, own).map_err(|error| error.within(name))? {
                None => log.ignored.push(own.to_owned()),
                Some(Column::Time) => {}
                Some(Column::Command(u)) => {
                    told.push((u, own));
                    (0..n).for_each(|row| log.commands[row * nu + u] = numbers[row]);
                }
                Some(Column::Coordinate(q)) => {
                    let Some(c) = model.tree.coordinates.iter().find(|c| (c.q..c.q + c.kind.nq()).contains(&q)) else {
                        continue;
                    };
                    let turn = c.kind.quaternion().map(|at| c.q + at);
                    if let Some(first) = turn.filter(|&first| (first..first + QUATERNION).contains(&q)) {
                        quaternions.push((first, c, q - first, numbers));
                        continue;
                    }
                    let kind = match c.kind.coordinates()[q - c.q] {
                        _ if c.kind.nq() == 1 => Kind::Joint,
                        (_, "rad") => Kind::Rotation,
                        _ => Kind::Position,
                    };
                    let of = Of::Coordinate { q, v: c.v + (q - c.q) };
                    log.channels.push(Channel { name: own.to_owned(), kind, values: numbers.to_vec(), of });
                }
                Some(Column::Force(sum)) => {
                    let of = Of::Force(sum);
                    log.channels.push(Channel {
                        name: own.to_owned(),
                        kind: Kind::Force,
                        values: numbers.to_vec(),
                        of,
                    });
                }
            }
        }
        if let Some(row) = (0..n).find(|&row| time[row].is_nan() || (row > 0 && time[row] <= time[row - 1])) {
            let before = if row > 0 { format!("after {} s", time[row - 1]) } else { "in s".to_owned() };
            return Err(wrong(
                format!("{}: column \"time\"", place(row)),
                format!("expected a time {before}, got {}", time[row]),
            ));
        }
        while let Some(&(first, c, ..)) = quaternions.first() {
            let (own, rest): (Vec<_>, Vec<_>) = quaternions.into_iter().partition(|other| other.0 == first);
            quaternions = rest;
            if own.len() < QUATERNION {
                let message = format!("expected all of {0}.qw, {0}.qx, {0}.qy and {0}.qz, or none", c.name);
                return Err(Error::invalid(name, message));
            }
            let mut values = vec![0.0; n * QUATERNION];
            for (_, _, k, numbers) in own {
                (0..n).for_each(|row| values[row * QUATERNION + k] = numbers[row]);
            }
            let at = first - c.q;
            let of = Of::Rotation { q: first, v: c.v + at };
            log.channels.push(Channel { name: format!("{}.q", c.name), kind: Kind::Rotation, values, of });
        }
        log.check_commands(&told, nu, |row, own| format!("{name}: {}: {}", place(row), column(own)))?;
        if log.channels.iter().all(|channel| channel.values.iter().all(|x| x.is_nan())) {
            let few = model.q_names().into_iter().take(3).collect::<Vec<_>>().join("\", \"");
            return Err(Error::invalid(name, format!("expected columns of what was measured, as \"{few}\", got none")));
        }
        Ok(log)
    }

    /// Checks that no row lacks a command, or only the first does, as in tables whose commands acted until their rows.
    fn check_commands(
        &mut self,
        told: &[(usize, &str)],
        nu: usize,
        place: impl Fn(usize, &str) -> String,
    ) -> Result<()> {
        let lacks = |row: usize, &&(u, _): &&(usize, &str)| self.commands[row * nu + u].is_nan();
        let is_late = !told.is_empty() && told.iter().all(|one| lacks(0, &one));
        for row in usize::from(is_late)..self.time.len() {
            if let Some((_, own)) = told.iter().find(|one| lacks(row, one)) {
                return Err(Error::invalid(place(row, own), "expected a finite number, got none"));
            }
        }
        if is_late {
            let last = self.commands.len() - nu;
            self.commands.copy_within(nu.., 0);
            self.commands.copy_within(last - nu..last, last);
        }
        Ok(())
    }
}

/// The cells of a line, without quotes.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.iter_mut().last().into_iter().for_each(|cell| cell.push(c)),
        }
    }
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}

/// What a column means; none if nothing here.
fn meaning(model: &Model, column: &str) -> Result<Option<Column>> {
    if column == "time" {
        return Ok(Some(Column::Time));
    }
    if let Some(joint) = column.strip_prefix(COMMAND) {
        let names = model.u_names();
        let message = || {
            Error::invalid(
                format!("column \"{column}\""),
                unknown("commanded joint", joint, names.iter().map(String::as_str)),
            )
        };
        return find(&names, joint).map(|u| Some(Column::Command(u))).ok_or_else(message);
    }
    if let Some(of) = column.strip_prefix(FORCE) {
        let expected = |message: String| Error::invalid(format!("column \"{column}\""), message);
        let (thing, axis) = of.rsplit_once('.').unwrap_or((of, ""));
        let Some(axis) = ["x", "y", "z"].iter().position(|one| *one == axis) else {
            return Err(expected("expected a name that ends with .x, .y or .z".to_owned()));
        };
        let net = Net::new(model, &format!("column \"{column}\""), thing, None)?;
        return Ok(Some(Column::Force(net.along(axis))));
    }
    Ok(find(&model.q_names(), column).map(Column::Coordinate))
}

/// The place of a name, or of the one that ends with it behind its owner's.
fn find(names: &[String], name: &str) -> Option<usize> {
    let is_end = |own: &&String| own.split_once('/').is_some_and(|(_, end)| end == name);
    let only = || (names.iter().filter(is_end).count() == 1).then(|| names.iter().position(|own| is_end(&own)))?;
    names.iter().position(|own| own == name).or_else(only)
}
