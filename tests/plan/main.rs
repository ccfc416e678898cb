//! Planning and grasping.

mod grasp;
mod mpc;
