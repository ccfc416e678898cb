//! The tables of a second-order step.

use std::ops::Range;
use std::sync::Arc;

use crate::dynamics::{INERTIA, MassAndBias, MassGradients, MassNumbers};
use crate::step::bound::Bound;
use crate::step::limits::LimitTables;
use fingertip_lanes::layout;

layout! {
    /// Numbers that the quasi-dynamic step does not have; those of the dynamics follow.
    pub(super) struct Extra {
        /// Of all frames of the kinematics.
        offsets,
        /// M v, in the order of v.
        momentum,
        /// τ within the joints' efforts, with the external forces, less b.
        force,
    }
}

layout! {
    /// Gradients; those of the dynamics follow.
    pub(super) struct ExtraGradients {
        offsets,
        /// Of M v.
        momentum,
    }
}

/// Where a body's inertia comes from.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// The parameters of the inertial body with this number.
    Parameters(usize),
    /// The scene: ten numbers.
    Described([f64; INERTIA]),
}

/// What the joints themselves do, for each degree of freedom.
#[derive(Clone, Debug)]
pub(in crate::step) struct JointForces {
    /// Viscous damping D, N·m·s/rad or N·s/m.
    pub(in crate::step) damping: Vec<f64>,
    /// Dry friction c, N·m or N.
    pub(in crate::step) friction: Vec<f64>,
    /// Largest effort, N·m or N.
    pub(in crate::step) effort: Vec<f64>,
}

/// The second-order step's own tables.
#[derive(Clone, Debug)]
pub(super) struct SecondOrder {
    pub(super) mass: MassAndBias,
    pub(super) at: Extra<Range<usize>>,
    pub(super) mass_at: MassNumbers<Range<usize>>,
    pub(super) to: ExtraGradients<Range<usize>>,
    pub(super) mass_to: MassGradients<Range<usize>>,
    /// Numbers of the offsets of bodies and shapes.
    pub(super) n_offsets: usize,
    /// The parameters as the model has them, for worlds with a number that cannot be used.
    pub(super) own: Vec<f64>,
    pub(super) bodies: Vec<Body>,
    pub(super) limits: Arc<LimitTables>,
    /// P's entries: degrees of freedom and place in M. The diagonal comes first.
    pub(super) entries: Vec<(usize, usize, usize)>,
    pub(super) joints: JointForces,
    pub(super) bound: Bound,
    pub(super) stiction_speed: f64,
}
