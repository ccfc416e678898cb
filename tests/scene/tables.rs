//! The key `table` of objects: what it takes, and what is said of what it does not.

use fingertip::description::{Scene, Table};

fn scene(gravity: &str, keys: &str) -> Result<Scene, String> {
    let object = format!("[[object]]\nname = \"block\"\nmass = 0.3\n{keys}\n");
    let scene = Scene::from_toml(&format!("{gravity}\n{object}"), "").map_err(|error| error.to_string())?;
    scene.validate().map_err(|error| error.to_string())?;
    Ok(scene)
}

const BOX: &str = "box = [0.05, 0.05, 0.02]\nfreedom = \"planar\"\n";

#[test]
fn numbers_and_keys() {
    let table = |keys: &str| scene("", &format!("{BOX}{keys}")).unwrap().objects[0].table;
    assert_eq!(table(""), None);
    assert_eq!(table("table = 1"), Some(Table { friction: 1.0, radius: None }));
    assert_eq!(table("table = { friction = 0.3 }"), Some(Table { friction: 0.3, radius: None }));
    assert_eq!(table("table = { friction = 0.3, radius = 0.02 }"), Some(Table { friction: 0.3, radius: Some(0.02) }));
}

#[test]
fn errors() {
    let planar = |keys: &str| format!("{BOX}{keys}");
    let sphere = |freedom: &str| format!("sphere = 0.05\nfreedom = \"{freedom}\"\ntable = 0.3");
    for (gravity, keys, expected) in [
        ("", planar("table = 0.0"), "object \"block\": table: friction: expected a positive"),
        ("", planar("table = { friction = 0.3, radius = -1.0 }"), "table: radius: expected"),
        ("", planar("table = { radius = 0.02 }"), "missing field `friction`"),
        ("", planar("table = \"rough\""), "expected a friction coefficient or { friction, radius }, got string"),
        ("", sphere("free"), "object \"block\": table: freedom: expected \"planar\""),
        ("", sphere("translation"), "table: freedom: expected \"planar\""),
        ("gravity = [0.0, 0.0, 0.0]", planar("table = 0.3"), "table: gravity: expected some along z"),
        ("gravity = [0.0, -9.81, 0.0]", planar("table = 0.3"), "got [0.0, -9.81, 0.0]"),
    ] {
        let found = scene(gravity, &keys).unwrap_err();
        assert!(found.contains(expected), "{keys}: expected {expected}, got {found}");
    }
}
