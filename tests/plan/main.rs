//! Planning, fits, hands that follow, and grasping.

mod fit;
mod follow;
mod grasp;
mod mpc;
