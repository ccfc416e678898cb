//! Planning, poses by touch, fits, hands that follow, and grasping.

mod feel;
mod fit;
mod follow;
mod follow_objective;
mod grasp;
mod mpc;
mod normal_equations;
