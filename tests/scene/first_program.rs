//! What a reader meets first: the library's lints are its own, and the equations of the front page are those of docs/.

use std::fs;

#[test]
fn lints_on_documentation_bind_the_library_alone() {
    let crates = fs::read_dir("crates").unwrap().map(|entry| entry.unwrap().path());
    for folder in crates.chain([".".into()]) {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        assert!(!manifest.contains("missing_docs"), "{}", folder.display());
        let Ok(root) = fs::read_to_string(folder.join("src/lib.rs")) else { continue };
        assert!(root.contains("#![deny(missing_docs)]"), "{}", folder.display());
    }
}

/// src/equations.md is made of docs/equations.md by docs/equations.mjs: the same text, and the same TeX in each
/// formula.
#[test]
fn the_front_page_has_the_equations_of_the_docs() {
    let source = fs::read_to_string("docs/equations.md").unwrap();
    let source = source.split_once("\n\n").unwrap().1;
    let made = fs::read_to_string("src/equations.md").unwrap();
    let plain = |text: &str| text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let mut unmade = String::new();
    let mut rest = &made[..];
    while let Some((before, after)) = rest.split_once("<div") {
        let (formula, after) = after.split_once("</div>").unwrap();
        let tex = formula.split_once("x-tex\">").unwrap().1.split_once("</annotation>").unwrap().0;
        unmade += &format!("{before}```math\n{}\n```", plain(tex));
        rest = after;
    }
    assert_eq!(unmade + rest, source, "run docs/equations.mjs");
}
