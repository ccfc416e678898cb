//! Steps, their gradients, batches and rollouts.

mod batch;
mod device;
mod fused;
mod golden_hand;
mod gradients;
mod linearize;
mod numbers;
mod physics;
mod rollout;
mod taxels;
mod touch;
mod unique_keys;
mod walk;
