//! The state of a contact during a solve: the contact itself and its iterates, side by side in memory.

use fingertip_lanes::lane::{Real, state};
use fingertip_lanes::vector::Vec3;

use super::cone::FrictionCone;
use super::response::Response;
use super::symmetric::Symmetric;
use super::vector::zero;

/// State of one contact during a solve, in a lane of problems: its cone, force, slack and the parts of the present
/// step.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct ContactState<R, const N: usize> {
    pub(super) cone: FrictionCone<R, N>,
    /// 1 over the contact's weight; 0 for a contact without weight, which has no force. κ times this is the κ of the
    /// contact's own barrier.
    pub(super) share: R,
    /// The contact's scaled force η, in the Lorentz cone. `d_eta` is its change Δη in a step.
    pub(super) eta: [R; N],
    pub(super) d_eta: [R; N],
    /// The contact's scaled slack ζ = J̃ δ + φ n at the present δ.
    pub(super) zeta: [R; N],
    /// The change of the scaled slack by a step of the shared degrees of freedom, J̃_s Δδ_s.
    pub(super) moved: [R; N],
    /// A slack inside the cone, of worlds on the way to the central path: see [`super::approach`].
    pub(super) slack: [R; N],
    pub(super) d_slack: [R; N],
    /// Response A = (W⁻¹ + D)⁻¹ = Zᵀ E Z of the force to a displacement, in factors.
    pub(super) response: Response<R, N>,
    /// L⁻¹F r₂, the scaled residual; `reduced` is L⁻¹F e, with the private degrees of freedom eliminated.
    pub(super) error: [R; N],
    pub(super) reduced: [R; N],
    /// D = J̃_p P_p⁻¹ J̃_pᵀ, the compliance of the contact's private degrees of freedom.
    pub(super) compliance: Symmetric<R, N>,
    /// Coefficients c₀, c₁, c₂ of ρ(η + α Δη) = c₀ + c₁ α + c₂ α² along a step.
    pub(super) along_step: Vec3<R>,
}

state!(ContactState[N] {
    numbers: [share],
    flags: [],
    states: [eta, d_eta, zeta, moved, slack, d_slack, response, error, reduced, compliance, along_step]
});

impl<R, const N: usize> ContactState<R, N> {
    /// Length in numbers.
    pub(super) const LENGTH: usize = size_of::<Self>() / size_of::<R>();
}

impl<R: Real, const N: usize> ContactState<R, N> {
    /// Views a slice of numbers as contact states, so many numbers each.
    #[inline(always)]
    pub(super) fn of(numbers: &mut [R]) -> &mut [Self] {
        // SAFETY: a `repr(C)` struct of nothing but `R`s is as aligned as one and as large as `LENGTH` of them.
        unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), numbers.len() / Self::LENGTH) }
    }

    /// Resets the state to a contact, with zero force and slack.
    #[inline(always)]
    pub(super) fn start(&mut self, cone: FrictionCone<R, N>) {
        self.cone = cone;
        let there = self.is_there();
        self.share = R::select(there, R::one() / R::select(there, self.cone.weight, R::one()), R::zero());
        (self.eta, self.d_eta) = (zero(), zero());
        (self.slack, self.d_slack) = (zero(), zero());
    }

    /// Has the contact a weight?
    #[inline(always)]
    pub(super) fn is_there(&self) -> R::Mask {
        self.cone.is_there()
    }
}
