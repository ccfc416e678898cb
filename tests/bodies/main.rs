//! Bodies and joints: kinematics and rigid-body dynamics.

mod dynamics;
mod floating_base;
mod inverse_kinematics;
mod joints;
mod kinematics;
mod loops;
mod manifold;
mod tables;
mod teaching_hand;
