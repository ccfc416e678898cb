//! Modules use each other in one direction: of what stands side by side in a folder, nothing uses what uses it, over
//! any number of steps. What a file has with the folder that it is in is left out, and so are tests and the classes of
//! the Python package, which give each other to users. For crates, the compiler sees to that.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::slice::Iter;

/// What CONTRIBUTING says of the modules inside `step`: each uses only those before it, among these.
const INSIDE_STEP: [&str; 7] = ["kinematics", "dynamics", "contact", "solve", "model", "step", "touch"];

/// A module or an item: the names on the way to it.
type Names = Vec<String>;

/// The paths that a module writes: those of others that it uses, and those that it passes on (`pub use`) by their last
/// name.
#[derive(Default)]
struct Written {
    used: Vec<Names>,
    passed_on: BTreeMap<String, Names>,
}

/// A crate's modules.
type House = BTreeMap<Names, Written>;

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|ending| ending == "rs")).collect()
}

/// A file's names and signs, without comments, strings and the tests at its end.
fn tokens(text: &str) -> Names {
    let text = text.split("mod tests {").next().unwrap();
    let code = text.replace("'\"'", "").replace("::", "∷");
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let (mut tokens, mut chars) = (vec![String::new()], code.chars().peekable());
    while let Some(c) = chars.next() {
        let last = tokens.last_mut().unwrap();
        if c == '/' && chars.next_if_eq(&'/').is_some() {
            chars.find(|&c| c == '\n');
        } else if c == '"' {
            while let Some(c) = chars.next().filter(|&c| c != '"') {
                chars.next_if(|_| c == '\\');
            }
        } else if is_name(c) && last.ends_with(is_name) {
            last.push(c);
            continue;
        } else if !c.is_whitespace() && c != '$' {
            tokens.push(c.to_string());
            continue;
        }
        tokens.push(String::new());
    }
    tokens.retain(|token| !token.is_empty());
    tokens
}

/// The paths of a `use`, from behind what they begin with; each with the name that it gives.
fn imports(tokens: &mut Peekable<Iter<String>>, before: &[String]) -> Vec<(String, Names)> {
    let (mut path, mut found) = (before.to_vec(), Vec::new());
    while let Some(token) = tokens.next_if(|token| ![",", "}", ";"].contains(&token.as_str())) {
        match token.as_str() {
            "{" => {
                while tokens.next_if(|token| *token == "}").is_none() {
                    assert!(tokens.peek().is_some_and(|token| *token != ";"), "use {path:?} … has no end");
                    found.extend(imports(tokens, &path));
                    tokens.next_if(|token| *token == ",");
                }
                return found;
            }
            "as" => found.push((tokens.next().unwrap().clone(), path.clone())),
            "∷" | "*" | "self" if !path.is_empty() => {}
            name => path.push(name.to_owned()),
        }
    }
    if found.is_empty() {
        found.push((path.last().cloned().unwrap_or_default(), path));
    }
    found
}

fn written(text: &str) -> Written {
    let tokens = tokens(text);
    let mut written = Written::default();
    let is_name =
        |at: usize| tokens.get(at).is_some_and(|token| token.starts_with(|c: char| c.is_alphabetic() || c == '_'));
    let is_sign = |at: usize| tokens.get(at).is_some_and(|token| token == "∷");
    let mut at = 0;
    while at < tokens.len() {
        // `use<…>` is of a type.
        if tokens[at] == "use" && tokens[at + 1] != "<" {
            let is_public = at > 0 && ["pub", ")"].contains(&tokens[at - 1].as_str());
            let found = imports(&mut tokens[at + 1..].iter().peekable(), &[]);
            if is_public {
                written.passed_on.extend(found)
            } else {
                written.used.extend(found.into_iter().map(|of| of.1))
            }
            at += tokens[at..].iter().position(|token| token == ";").unwrap();
        } else if is_name(at) && is_sign(at + 1) {
            let mut path = vec![tokens[at].clone()];
            while is_sign(at + 1) && is_name(at + 2) {
                path.push(tokens[at + 2].clone());
                at += 2;
            }
            written.used.push(path);
        }
        at += 1;
    }
    written
}

/// The modules below a folder of sources, each by its place.
fn house(src: &Path) -> House {
    let of = |file: &PathBuf| {
        let below = file.strip_prefix(src).unwrap().with_extension("");
        let mut names: Names = below.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
        names.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
        (names, written(&fs::read_to_string(file).unwrap()))
    };
    let is_test = |file: &PathBuf| file.iter().any(|name| name == "tests" || name == "tests.rs");
    files_below(src).iter().filter(|file| !is_test(file)).map(of).collect()
}

/// A path from the crate's root, if it leads into the crate.
fn whole(house: &House, module: &[String], path: &[String]) -> Option<Names> {
    let ups = path.iter().take_while(|name| *name == "super").count();
    let rest = |n: usize| path[n..].iter().cloned();
    match path[0].as_str() {
        "crate" => Some(rest(1).collect()),
        "self" => Some(module.iter().cloned().chain(rest(1)).collect()),
        "super" => Some(module[..module.len().checked_sub(ups)?].iter().cloned().chain(rest(ups)).collect()),
        _ => {
            let below: Names = module.iter().cloned().chain(rest(0)).collect();
            house.contains_key(&below[..=module.len()]).then_some(below)
        }
    }
}

/// The module that a path from the crate's root leads to, through what others pass on.
fn target(house: &House, path: &[String]) -> Names {
    for (k, name) in path.iter().enumerate() {
        if house.contains_key(&path[..=k]) {
            continue;
        }
        let door = house.get(&path[..k]).and_then(|written| written.passed_on.get(name));
        let through = door.and_then(|door| whole(house, &path[..k], door)).filter(|through| through[..] != path[..=k]);
        return through.map_or(path[..k].to_vec(), |through| target(house, &[&through, &path[k + 1..]].concat()));
    }
    path.to_vec()
}

/// Who uses whom of what stands side by side, and a module in it that does.
type Uses = BTreeMap<Names, BTreeMap<Names, Names>>;

fn side_by_side(house: &House) -> Uses {
    let mut uses = Uses::new();
    for (module, written) in house {
        for path in written.used.iter().filter_map(|path| whole(house, module, path)) {
            let other = target(house, &path);
            let shared = module.iter().zip(&other).take_while(|(a, b)| a == b).count();
            if shared < module.len() && shared < other.len() {
                let [user, used] = [module, &other].map(|of| of[..=shared].to_vec());
                uses.entry(user).or_default().insert(used, module.clone());
            }
        }
    }
    uses
}

/// All that is used from here, over any number of steps.
fn reached<'a>(uses: &'a Uses, from: &'a Names) -> BTreeSet<&'a Names> {
    let (mut reached, mut new) = (BTreeSet::new(), vec![from]);
    while let Some(last) = new.pop() {
        let next = uses.get(last).into_iter().flat_map(BTreeMap::keys);
        new.extend(next.filter(|used| reached.insert(*used)).collect::<Vec<_>>());
    }
    reached
}

#[test]
fn nothing_uses_what_uses_it() {
    let crates = fs::read_dir("crates").unwrap().map(|entry| entry.unwrap().path());
    let mut circles = Vec::new();
    for root in crates {
        let uses = side_by_side(&house(&root.join("src")));
        assert!(!uses.is_empty(), "{} was not read", root.display());
        for (user, (used, module)) in uses.iter().flat_map(|(user, of)| of.iter().map(move |used| (user, used))) {
            if reached(&uses, used).contains(user) {
                circles.push(format!("{}: {} uses {}", root.display(), module.join("::"), used.join("::")));
            }
        }
    }
    assert!(circles.is_empty(), "These stand in a circle:\n{}", circles.join("\n"));
}

#[test]
fn step_keeps_its_order() {
    let place = |of: &Names| INSIDE_STEP.iter().position(|name| of[..] == [*name]);
    for (user, of) in side_by_side(&house(Path::new("crates/step/src"))) {
        for (used, module) in of {
            if let (Some(user), Some(place)) = (place(&user), place(&used)) {
                assert!(place < user, "{} uses {}, which stands above it", module.join("::"), used.join("::"));
            }
        }
    }
}
