//! A reader's first program compiles without a line of documentation: the library's lints are its own.

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
