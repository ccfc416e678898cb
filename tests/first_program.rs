//! A reader's first program compiles without a line of documentation: the library's lints are its own.

#[test]
fn lints_on_documentation_bind_the_library_alone() {
    assert!(!include_str!("../Cargo.toml").contains("missing_docs"));
    assert!(include_str!("../src/lib.rs").contains("#![deny(missing_docs)]"));
}
