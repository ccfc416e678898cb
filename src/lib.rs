//! Differentiable contact simulation for robot hands.
//!
//! Given a robot with springs in its joints, objects, and commanded joint positions u, one step returns the next
//! configuration q₊ and the contact forces λ. It also gives exact gradients of both with respect to every input: q, u,
//! masses, sizes, friction, stiffness and more. The step is meant to be the model inside gradient-based manipulation
//! planning, system identification and policy learning. Everything is a batched candle tensor.
//!
//! ```
//! use candle_core::{DType, Device, Var};
//! use fingertip::{Model, description::Scene, step::Quasidynamic};
//!
//! # fn main() -> candle_core::Result<()> {
//! let scene = Scene::load("assets/scenes/hand_ball.toml")?;
//! let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
//! let step = Quasidynamic::new(&model, &model.parameters)?;
//!
//! // 64 worlds with the hand above the ball. The command is the one that
//! // the scene's script gives at 0.1 s.
//! let worlds = 64;
//! let q = model.home(worlds)?;
//! let u = model.tensor(&vec![&scene.control(0.1)[..]; worlds])?;
//! let u = Var::from_tensor(&u)?;
//! let result = step.step(&q, &u)?;
//! assert_eq!(result.q_next.dims(), [worlds, model.nq()]);
//! assert_eq!(result.force.dims(), [worlds, model.nc(), 3]);
//!
//! // How does the ball's height, q[2], depend on the commands?
//! let height = result.q_next.narrow(1, 2, 1)?.sum_all()?;
//! let gradient = height.backward()?.remove(&u);
//! assert!(gradient.is_some_and(|g| g.dims() == [worlds, model.nu()]));
//!
//! // All derivatives in q and u at once: A = ∂q₊/∂q, B = ∂q₊/∂u, C = ∂λ/∂q, D = ∂λ/∂u.
//! let all = step.linearize(&q, &u)?;
//! assert_eq!(all.b.dims(), [worlds, model.nv(), model.nu()]);
//! # Ok(())
//! # }
//! ```
//!
//! # The equations
//!
#![doc = include_str!("equations.md")]
//!
//! Sources: Suh, Pang, Zhao, Tedrake, *Dexterous Contact-Rich Manipulation via the Contact Trust Region*, 2025
//! ([arXiv 2505.02291](https://arxiv.org/abs/2505.02291)); Pang, Suh, Yang, Tedrake, *Global Planning for Contact-Rich
//! Manipulation via Local Smoothing of Quasi-dynamic Contact Models*, 2023
//! ([arXiv 2206.10787](https://arxiv.org/abs/2206.10787)); Featherstone, *Rigid Body Dynamics Algorithms*, 2008.
//!
//! | letter | in the code | shape | unit | meaning |
//! |---|---|---|---|---|
//! | q, q₊ | `q`, `q_next` | (B, nq) | m, rad | configuration: objects in file order, then robots |
//! | δ | `delta` | (B, nv) | m, rad | the step in tangent coordinates |
//! | u | `u` | (B, nu) | rad, m | commanded joint positions |
//! | φ, n | `phi`, `normal` | (B, nc), (B, nc, 3) | m | signed distance, positive apart; unit normal from A to B |
//! | λ | [`lambda()`](step::Step::lambda), `force` | (B, nc, 3) | N | force on B along (n, t₁, t₂); in world axes |
//! | κ | `kappa` | (1 or B, 1) | 1/J | barrier parameter: large is hard contact |
//! | μ | `mu` | (1 or B, pairs) | | friction coefficient |
//! | γ | `torsion` | (1 or B, pairs that have it) | m | torsional friction: largest torque about the normal per normal force |
//! | K_a | `stiffness` | (1 or B, nu) | N·m/rad, N/m | springs between u and the joints |
//! | s, r | `spring`, `spring_rest` | (1 or B, joints that have it) | N·m/rad, N/m; rad, m | springs of joints themselves |
//! | d, a | `damping`, `armature` | (1 or B, joints that have it) | N·m·s/rad, N·s/m; kg·m², kg | d/h and ε a/h² in P |
//! | F | `dry_friction` | (1 or B, joints that have it) | N·m, N | largest force of dry friction |
//! | μ, c | `table_friction`, `table_radius` | (1 or B, tables) | –; m | friction under planar bodies: ‖f‖² + (τ/c)² ≤ (μ m g)² |
//! | k | `connection` | (1 or B, connections) | N/m | springs that hold points of links together |
//! | ε, h | `epsilon`, `h` | (1 or B, 1) | –, s | regularisation of inertia, time step |
//!
//! The configuration of a free body is (x, y, z, qw, qx, qy, qz); its tangent (v, ω) lies along **world** axes. v is
//! the velocity of the body frame's origin. q ⊕ δ multiplies Exp(ω) from the **left**.
//!
//! # What is where
//!
//! This crate is the front page of a few others. Each uses those above it in this table, and can be used without those
//! below.
//!
//! | crate | modules here | what it has |
//! |---|---|---|
//! | `fingertip-lanes` | [`math::lane`] | kernels written once, run on SIMD lanes of worlds, recorded, printed as C and CUDA |
//! | `fingertip-shapes` | [`collision`] | shapes, hulls and meshes; signed distance, witness points, normal and contact manifolds of any two convex bodies, in plain `f64` |
//! | `fingertip-scene` | [`description`], [`scenes`] | plain data: URDF, scenes from TOML or a builder, and the checks of all these; scenes generated from a number and a seed |
//! | `fingertip-step` | [`kinematics`], [`dynamics`] | poses, screws, Jacobians, q ⊕ δ, inverse kinematics; rigid-body dynamics |
//! | | [`contact`], [`solve`] | which shapes may touch, and their contacts as tensors; the barrier solver with its adjoint; rigid frictionless contact as QP, LCP and QCQP |
//! | | [`model`], [`parameters`], [`overrides`] | a scene compiled to tables and tensors, its differentiable parameters, and changes of them by name |
//! | | [`step`], [`rollout`](mod@rollout) | the quasi-dynamic step and its linearisation; the second-order step, control laws, separation; many steps, differentiable end to end |
//! | | [`touch`] | net contact forces and torques by name, taxels and their distances, with gradients |
//! | | [`device()`], [`math::tensor`] | devices by name; small vectors as tensors |
//! | `fingertip-codegen` | [`codegen`] | one scene's step, rollouts, adjoints, Jacobians and rigid-body dynamics, printed as C |
//! | `fingertip-plan` | [`mpc`], [`fit`], [`feel`], [`follow`], [`grasp`] | planning and model-predictive control with the step's gradients, tasks; parameters from logs; poses by touch; hands that follow keypoints; closing a hand on an object, the least effort that holds it |
//! | `fingertip-show` | [`show`] | recordings, plots, and checks whether an object is held; with the feature `show` files, the page and the live server |
//! | `fingertip` itself | [`shipped`] | the scenes, tasks and robots that come with the crate, by name |
//!
//! The command line is a crate of its own, `fingertip-cli`, and so is the Python package, `fingertip-python`.
//!
//! # What to expect
//!
//! - **A step always returns.** It neither panics nor returns NaN. A world that fails does not affect the others: each
//!   has its own [`Status`](solve::Status) in its [`Report`](solve::Report). Misuse (shapes, types, names) is an `Err`
//!   that says what was expected and what was given.
//! - **Gradients are exact**, also for touching, sliding and penetrating bodies. Second derivatives are not available.
//! - **A world's result does not depend on the other worlds.** It is the same to the last bit alone, in any batch and
//!   on any number of threads.
//! - **SI units everywhere**; forces are newtons, not impulses.

// Here and not in Cargo.toml, where it would apply to a reader's own examples too.
#![deny(missing_docs)]

#[doc(inline)]
pub use fingertip_codegen as codegen;
#[doc(inline)]
pub use fingertip_plan::{feel, fit, follow, grasp, mpc};
#[doc(inline)]
pub use fingertip_scene::{self as description, scenes};
#[doc(inline)]
pub use fingertip_shapes::{Error, Result, collision, message};
#[doc(inline)]
pub use fingertip_show as show;
#[doc(inline)]
pub use fingertip_step::{
    Model, Overrides, Parameters, contact, device, dynamics, kinematics, model, overrides, parameters, rollout, solve,
    step, touch,
};

pub mod shipped;

/// Kinds of numbers, maxima that keep NaN, and small vectors as tensors.
pub mod math {
    #[doc(inline)]
    pub use fingertip_lanes::lane;
    #[doc(inline)]
    pub use fingertip_shapes::largest;
    #[doc(inline)]
    pub use fingertip_step::tensor;
}

/// The code of the README and of the guide, as tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    struct Readme;

    #[doc = include_str!("../docs/guide.md")]
    struct Guide;
}
