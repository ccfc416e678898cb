//! Planning, fits and grasping.

mod fit;
mod grasp;
mod mpc;
