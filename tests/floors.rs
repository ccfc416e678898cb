//! The house stands as `src/lib.rs` says: each module uses modules of lower floors, and at most those beside it that do not use it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// The module of the crate that a file below `src` belongs to.
fn module_of(file: &Path) -> String {
    let first = file.strip_prefix("src").unwrap().iter().next().unwrap().to_str().unwrap();
    first.trim_end_matches(".rs").to_owned()
}

/// The modules that a file's code names, comments left out.
fn used(text: &str) -> BTreeSet<String> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let paths = code.flat_map(|line| line.split("crate::").skip(1));
    let names = paths.map(|path| path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>());
    // `crate::Model` is the model's; `crate::{…}` is not read, and so must not be.
    names.inspect(|name| assert!(!name.is_empty(), "crate::{{ in {text}")).map(|name| name.to_lowercase()).collect()
}

/// The floor of each module by the table in `src/lib.rs`.
fn table() -> BTreeMap<String, u32> {
    let text = fs::read_to_string("src/lib.rs").unwrap();
    let mut floors = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("//! | ")) {
        let cells: Vec<&str> = line.split(" | ").collect();
        let Ok(floor) = cells[0].parse() else { continue };
        for name in cells[1].split('`').skip(1).step_by(2) {
            floors.insert(name.trim_end_matches("()").to_owned(), floor);
        }
    }
    floors
}

#[test]
fn each_module_uses_lower_floors() {
    let floors = table();
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files_below(Path::new("src")).iter().filter(|file| file.extension().is_some_and(|e| e == "rs")) {
        let (module, text) = (module_of(file), fs::read_to_string(file).unwrap());
        // The command line is another crate, lib.rs only lists the modules, and anything may fail with the crate's error.
        if !["bin", "lib", "error"].contains(&module.as_str()) {
            uses.entry(module)
                .or_default()
                .extend(used(&text).into_iter().filter(|name| !["error", "result"].contains(&name.as_str())));
        }
    }
    assert_eq!(floors.keys().collect::<Vec<_>>(), uses.keys().collect::<Vec<_>>(), "lib.rs lists all modules");
    for (module, others) in &uses {
        for other in others.iter().filter(|other| *other != module) {
            let (own, theirs) = (floors[module], floors[other.as_str()]);
            let is_below = theirs < own || (theirs == own && !uses[other].contains(module));
            assert!(is_below, "{module} (floor {own}) uses {other} (floor {theirs})");
        }
    }
}

#[test]
fn modules_name_their_floor() {
    for (module, floor) in table() {
        let file =
            [format!("src/{module}.rs"), format!("src/{module}/mod.rs")].into_iter().find(|f| Path::new(f).exists());
        let text = fs::read_to_string(file.unwrap()).unwrap();
        assert!(text.starts_with(&format!("//! Floor {floor}: ")), "{module} is on floor {floor} of lib.rs");
    }
}
