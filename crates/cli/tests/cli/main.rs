//! The command line.

mod audit;
mod cli;
mod cli_hostile;
mod command_line;
mod feel;
mod follow;
mod inlined;
mod mpc_plants;
mod mpc_stdio;
mod names;
mod plan;
mod recording;
mod replay;
mod report;
mod visual_meshes;
mod wrong_gradients;
