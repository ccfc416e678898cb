//! Planning, poses by touch, fits, hands that follow, and grasping.

mod feel;
mod fit;
mod follow;
mod grasp;
mod mpc;
