//! Descriptions: what readers and checks make of files, and what they say of wrong ones.

mod bad_input;
mod damaged_files;
mod description;
mod documented_keys;
mod first_program;
mod floors;
mod large_scenes;
mod mjcf;
mod mount;
mod scenes;
mod shipped;
mod tables;
mod taxels;
mod urdf_text;
