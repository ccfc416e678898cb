//! Tables and memory layout that only the second-order step has: inertias, joint forces, momentum.

use std::ops::Range;
use std::sync::Arc;

use crate::dynamics::{INERTIA, MassAndBias, MassGradients, MassNumbers};
use crate::step::bound::Bound;
use crate::step::connection::ConnectionTables;
use crate::step::limits::LimitTables;
use fingertip_lanes::layout;

layout! {
    /// Working numbers of a second-order step that the quasi-dynamic one does not have. Those of the dynamics follow
    /// behind.
    pub(super) struct Extra {
        /// Offsets (positions) of all frames of the kinematics, three numbers each, m.
        offsets,
        /// Generalised momentum M v (nv), in the order of v.
        momentum,
        /// Generalised force τ − b (nv): τ clamped to the joints' largest efforts, plus the external forces and those
        /// of springs, less the bias force b.
        force,
    }
}

layout! {
    /// Gradients of a second-order step's extra numbers. Those of the dynamics follow behind.
    pub(super) struct ExtraGradients {
        offsets,
        /// Gradient of the momentum M v.
        momentum,
    }
}

/// The source of a body's inertia: the differentiable parameters, or fixed numbers from the scene.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// The parameters of the inertial body with this number.
    Parameters(usize),
    /// Ten fixed numbers that the scene describes.
    Described([f64; INERTIA]),
}

/// The joints' own forces: places of springs, damping, armature and dry friction among the parameters; effort limits as
/// numbers, one for each degree of freedom.
#[derive(Clone, Debug)]
pub(in crate::step) struct JointForces {
    /// (parameter, degree of freedom, place in q) of each spring.
    pub(in crate::step) springs: Vec<(usize, usize, usize)>,
    /// (parameter, degree of freedom) of viscous damping D, N·m·s/rad or N·s/m; `armature` is like it.
    pub(in crate::step) damping: Vec<(usize, usize)>,
    pub(in crate::step) armature: Vec<(usize, usize)>,
    /// For each degree of freedom the parameter of its dry friction c, N·m or N, if it has some.
    pub(in crate::step) friction: Vec<Option<usize>>,
    /// Largest effort, N·m or N.
    pub(in crate::step) effort: Vec<f64>,
}

/// The second-order step's own tables.
#[derive(Clone, Debug)]
pub(in crate::step) struct SecondOrder {
    pub(super) mass: MassAndBias,
    pub(super) at: Extra<Range<usize>>,
    pub(super) mass_at: MassNumbers<Range<usize>>,
    pub(super) to: ExtraGradients<Range<usize>>,
    pub(super) mass_to: MassGradients<Range<usize>>,
    /// Length of the offsets of bodies and shapes.
    pub(super) n_offsets: usize,
    /// The parameters as the model has them, for worlds with a number that cannot be used.
    pub(super) own: Vec<f64>,
    pub(super) bodies: Vec<Body>,
    pub(super) limits: Arc<LimitTables>,
    /// P's entries that M has: degrees of freedom and place in M. The diagonal comes first.
    pub(super) entries: Vec<(usize, usize, usize)>,
    pub(super) joints: JointForces,
    pub(super) connections: ConnectionTables,
    pub(super) bound: Bound,
    pub(super) stiction_speed: f64,
}
