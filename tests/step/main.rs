//! Steps, their gradients, batches and rollouts.

mod batch;
mod fused;
mod golden_hand;
mod gradients;
mod linearize;
mod numbers;
mod physics;
mod rollout;
mod taxels;
mod touch;
mod walk;
