//! The small checks that every description makes, and how they word what is wrong.

use nalgebra::{Isometry3, Vector3};

use crate::error::{Error, Result};

/// Largest coordinate and size, m: squares and cubes of it are far from overflowing, and it is the length of a country.
pub const LONGEST: f64 = 1e6;

/// `what` must not be larger than `most`.
pub fn at_most(what: &str, value: f64, most: f64, unit: &str) -> Result<()> {
    if value.abs() <= most {
        Ok(())
    } else {
        Err(Error::invalid(what, format!("expected at most {most:e} {unit}, got {value:e}")))
    }
}

/// `what` must be a length, greater than zero and no more than [`LONGEST`].
pub fn length(what: &str, value: f64) -> Result<()> {
    positive(what, value)?;
    at_most(what, value, LONGEST, "m")
}

/// `what` must have three finite coordinates, none beyond [`LONGEST`].
pub fn position(what: &str, position: &Vector3<f64>) -> Result<()> {
    finite_vector(what, position)?;
    position.iter().try_for_each(|&x| at_most(what, x, LONGEST, "m"))
}

/// A number in as few digits as it has.
fn short(value: f64) -> String {
    let is_plain = value == 0.0 || !value.is_finite() || (1e-6..1e16).contains(&value.abs());
    if is_plain { format!("{value}") } else { format!("{value:e}") }
}

/// `what` must be finite.
pub fn finite(what: &str, value: f64) -> Result<()> {
    if value.is_finite() {
        Ok(())
    } else {
        Err(Error::invalid(what, format!("expected a finite number, got {}", short(value))))
    }
}

/// `what` must be finite and greater than zero.
pub fn positive(what: &str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(Error::invalid(what, format!("expected a positive number, got {}", short(value))))
    }
}

/// `what` must be finite and not negative.
pub fn not_negative(what: &str, value: f64) -> Result<()> {
    if value.is_finite() && value >= 0.0 {
        Ok(())
    } else {
        Err(Error::invalid(what, format!("expected a number from 0 up, got {}", short(value))))
    }
}

/// All three components of `what` must be finite.
pub fn finite_vector(what: &str, vector: &Vector3<f64>) -> Result<()> {
    if vector.iter().all(|x| x.is_finite()) {
        Ok(())
    } else {
        let [x, y, z] = vector.data.0[0];
        Err(Error::invalid(what, format!("expected three finite numbers, got [{x}, {y}, {z}]")))
    }
}

/// Position and orientation of `what` must be finite, and the position no farther than [`LONGEST`].
pub fn finite_pose(what: &str, pose: &Isometry3<f64>) -> Result<()> {
    position(&format!("{what} position"), &pose.translation.vector)?;
    if pose.rotation.coords.iter().all(|x| x.is_finite()) {
        Ok(())
    } else {
        Err(Error::invalid(format!("{what} orientation"), "expected finite angles or a quaternion other than zero"))
    }
}

/// No name may stand twice, and none may be empty or longer than a page of text: it stands in each line of a report.
pub fn unique<'a>(kind: &str, names: impl Iterator<Item = &'a str>) -> Result<()> {
    const LONGEST: usize = 1000;
    let mut seen = std::collections::HashSet::new();
    for name in names {
        if name.is_empty() {
            return Err(Error::invalid(kind, "expected a name, got an empty one"));
        }
        if name.len() > LONGEST {
            let start: String = name.chars().take(20).collect();
            let message = format!("expected a name of at most {LONGEST} bytes, got {}", name.len());
            return Err(Error::invalid(format!("{kind} \"{start}…\""), message));
        }
        if !seen.insert(name) {
            return Err(Error::invalid(format!("{kind} \"{name}\""), "expected a unique name, but it stands twice"));
        }
    }
    Ok(())
}

/// "there is no joint "indx2"; did you mean "index2"?", or all the names where none is near and they are few.
pub fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    const FEW: usize = 16;
    /// Characters of a name that are shown; one that is longer is near to none.
    const LONG: usize = 100;
    if let Some((end, _)) = name.char_indices().nth(LONG) {
        return format!("there is no {kind} \"{}…\"", &name[..end]);
    }
    let known: Vec<&str> = known.collect();
    let near = known.iter().map(|other| (distance(name, other), other)).min();
    match near {
        Some((d, other)) if d <= reach(name) => {
            format!("there is no {kind} \"{name}\"; did you mean \"{other}\"?")
        }
        _ if known.is_empty() => format!("there is no {kind} \"{name}\": there are none at all"),
        _ if known.len() <= FEW => {
            format!("there is no {kind} \"{name}\"; expected one of \"{}\"", known.join("\", \""))
        }
        _ => format!("there is no {kind} \"{name}\" among the {}", known.len()),
    }
}

/// A parser's message on one line, and the name that a key that is not known is nearest to in place of the list of all:
/// "unknown field `spere`; did you mean `sphere`?".
pub fn of_parser(message: &str) -> String {
    let message = message.lines().map(str::trim).collect::<Vec<_>>().join(", ");
    let mut quoted = message.split('`').skip(1).step_by(2);
    let Some(name) = quoted.next().filter(|_| message.contains("unknown ")) else { return message };
    let near = quoted.map(|other| (distance(name, other), other)).min();
    match near.filter(|(d, _)| *d <= reach(name)) {
        Some((_, other)) => format!("{}; did you mean `{other}`?", message.split(',').next().unwrap_or_default()),
        None => message,
    }
}

/// A name so far from another may be meant for it.
fn reach(name: &str) -> usize {
    2.max(name.chars().count() / 3)
}

/// Insertions, deletions and substitutions that turn `a` into `b` (Levenshtein 1966).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_named() {
        let long = "unknown field `spere`, expected one of `name`, `sphere`, `mesh`";
        assert_eq!(of_parser(long), "unknown field `spere`; did you mean `sphere`?");
        for other in ["unknown field `colour`, expected `name` or `mesh`", "missing field `spere`, `sphere`", "no"] {
            assert_eq!(of_parser(other), other);
        }
    }

    #[test]
    fn edit_distances() {
        for (a, b, expected) in [("", "abc", 3), ("kitten", "sitting", 3), ("slider_z", "slider_z", 0), ("ab", "ba", 2)]
        {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }
}
