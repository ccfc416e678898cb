//! Scenes in TOML.
