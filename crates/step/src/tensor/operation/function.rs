//! What an operation is made of: programs for a value and its adjoint, or kernels, and what they take and give.

use candle_core::{Result, Shape, Tensor, bail};

use fingertip_lanes::lane::Lane;
use fingertip_lanes::program::Program;
use fingertip_lanes::rows::Rows;

/// What a function takes and gives: its name for messages, names and columns of the operands, columns of the result.
pub(crate) struct Signature<const N: usize> {
    pub(crate) name: &'static str,
    pub(crate) operands: [(&'static str, usize); N],
    pub(crate) width: usize,
}

impl<const N: usize> Signature<N> {
    /// The name, as printed code has it.
    pub(super) fn identifier(&self) -> String {
        self.name.replace(' ', "_")
    }
}

/// An operand that gets no gradient: what messages say is expected, its columns, its rows if there are any. On a GPU zeros are in the
/// place of rows that are not there.
pub(crate) struct Given<'a> {
    pub(crate) expected: &'static str,
    pub(crate) width: usize,
    pub(crate) rows: Option<&'a Tensor>,
}

/// A function of N operands, matrices with a row per world or one for all, whose value and adjoint are programs.
pub(crate) trait Differentiable<const N: usize>: Send + Sync {
    /// What it takes and gives.
    fn signature(&self) -> Signature<N>;

    /// What the value's program reads besides.
    fn given(&self) -> Option<Given<'_>> {
        None
    }

    /// What the value's program is called among those of the same [`Kernels`].
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "for GPUs"))]
    fn kernel(&self) -> String {
        self.signature().identifier()
    }

    /// The program that writes the result.
    fn value<'a>(&'a self, operands: [Rows<'a>; N], given: Option<Rows<'a>>) -> Box<dyn Program + 'a>;

    /// The program that writes the gradients of all operands side by side, given the result and its gradient.
    fn adjoint<'a>(&'a self, operands: [Rows<'a>; N], result: Rows<'a>, grad: Rows<'a>) -> Box<dyn Program + 'a>;
}

/// A function of one world's operands that is one kernel, as is its adjoint. Implementations of both are `#[inline(always)]`.
pub(crate) trait Function<const N: usize>: Send + Sync {
    /// What it takes and gives.
    fn signature(&self) -> Signature<N>;

    /// Numbers that either kernel works on besides.
    fn scratch(&self) -> usize {
        0
    }

    /// Fills in the result.
    fn value<R: Lane>(&self, operands: [&[R]; N], scratch: &mut [R], out: &mut [R]);

    /// Fills in the gradients of all operands, which are zero, given that of the result.
    fn pull<R: Lane>(&self, operands: [&[R]; N], scratch: &mut [R], grad: &[R], to: [&mut [R]; N]);
}

/// Checks the operands' columns.
pub(super) fn check<const N: usize>(of: &Signature<N>, shapes: [&Shape; N], widths: [usize; N]) -> Result<()> {
    if widths == of.operands.map(|(_, columns)| columns) {
        return Ok(());
    }
    let named = of.operands.map(|(name, columns)| format!("{name} (B, {columns})")).join(", ");
    bail!("{}: expected {named}, got {shapes:?}", of.name)
}

/// Checks the rows of what is given for so many worlds.
pub(super) fn check_given(of: &Given, (rows, width): (usize, usize), worlds: usize) -> Result<()> {
    if width == of.width && (rows == worlds || rows == 1) {
        return Ok(());
    }
    bail!("{} (1 or {worlds}, {}), got ({rows}, {width})", of.expected, of.width)
}

/// [`array::map`] of what may fail.
pub(super) fn each<const N: usize, T, U>(of: [T; N], f: impl FnMut(T) -> Result<U>) -> Result<[U; N]> {
    let all = of.into_iter().map(f).collect::<Result<Vec<U>>>()?;
    all.try_into().or_else(|_| bail!("expected {N} operands"))
}
