//! Scenes that are made on the spot.

use std::path::Path;

use fingertip::description::Scene;
use fingertip::scenes::{Cubes, Pills};
use fingertip::show::Source;

/// Things in scenes that are made on the spot, at most.
const MOST_THINGS: usize = 200;
/// Pills farther apart than this take no part, m.
const NEAR: f64 = 0.1;

/// The name of a scene that is made on the spot: its kind, and how many things it is to have.
fn parts(path: &Path) -> Option<(&str, Option<&str>)> {
    let name = path.to_str().filter(|_| !path.is_file())?;
    let (kind, count) = name.split_once(':').map_or((name, None), |(kind, count)| (kind, Some(count)));
    ["cubes", "pills"].contains(&kind).then_some((kind, count))
}

/// Is this the name of a scene that is made on the spot?
pub fn is_made(path: &Path) -> bool {
    parts(path).is_some()
}

/// The scene that is made on the spot if it has this name.
pub fn made(path: &Path) -> fingertip::Result<Option<Source>> {
    let source =
        |(kind, count): (&str, _)| Ok(Source { name: kind.to_owned(), text: String::new(), scene: make(kind, count)? });
    parts(path).map(source).transpose()
}

fn make(kind: &str, count: Option<&str>) -> fingertip::Result<Scene> {
    let number = |count: &str| {
        let number = count.parse().ok().filter(|n| (1..=MOST_THINGS).contains(n));
        let message = || format!("expected a number from 1 to {MOST_THINGS}, got \"{count}\"");
        number.ok_or_else(|| fingertip::Error::Invalid { place: kind.to_owned(), message: message() })
    };
    let count = count.map(number).transpose()?;
    if kind == "cubes" {
        let default = Cubes::default();
        return Ok(Cubes { count: count.unwrap_or(default.count), ..default }.scene());
    }
    let default = Pills::default();
    let n = count.unwrap_or(default.ellipsoids + default.capsules);
    let mut scene = Pills { ellipsoids: n.div_ceil(2), capsules: n / 2, ..default }.scene();
    scene.params.contact_distance = Some(NEAR);
    Ok(scene)
}
