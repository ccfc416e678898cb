//! The traits of a differentiable operation, as a pair of programs or as a pair of kernels, and its signature.

use candle_core::{Result, Shape, Tensor, bail};

use fingertip_lanes::lane::{InstructionSet, Lane};
use fingertip_lanes::program::Program;
use fingertip_lanes::rows::Rows;

/// Signature of a function: its name for messages, names and columns of the operands, columns of the result.
pub(crate) struct Signature<const N: usize> {
    pub(crate) name: &'static str,
    pub(crate) operands: [(&'static str, usize); N],
    pub(crate) width: usize,
}

impl<const N: usize> Signature<N> {
    /// The function's name as an identifier in printed code.
    pub(super) fn identifier(&self) -> String {
        self.name.replace(' ', "_")
    }
}

/// An operand that gets no gradient: the phrase for messages that says what is expected, its columns, and its rows if
/// there are any. On a GPU zeros take the place of missing rows.
pub(crate) struct Given<'a> {
    pub(crate) expected: &'static str,
    pub(crate) width: usize,
    pub(crate) rows: Option<&'a Tensor>,
}

/// A function of N operands, matrices with a row per world or one for all, whose value and adjoint are programs.
pub(crate) trait Differentiable<const N: usize>: Send + Sync {
    /// Names and columns of the function's operands and result.
    fn signature(&self) -> Signature<N>;

    /// A further operand without gradient that the value's program reads, if there is one.
    fn given(&self) -> Option<Given<'_>> {
        None
    }

    /// The instruction set that the programs run on.
    fn set(&self) -> InstructionSet {
        InstructionSet::detect()
    }

    /// The name of the value's program, unique among those that share the same [`Kernels`].
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "for GPUs"))]
    fn kernel(&self) -> String {
        self.signature().identifier()
    }

    /// The program that writes the result.
    fn value<'a>(&'a self, operands: [Rows<'a>; N], given: Option<Rows<'a>>) -> Box<dyn Program + 'a>;

    /// The program that writes the gradients of all operands side by side, given the result and its gradient.
    fn adjoint<'a>(&'a self, operands: [Rows<'a>; N], result: Rows<'a>, grad: Rows<'a>) -> Box<dyn Program + 'a>;
}

/// A function of one world's operands that is one kernel, as is its adjoint. Implementations of both are
/// `#[inline(always)]`.
pub(crate) trait Function<const N: usize>: Send + Sync {
    /// Names and columns of the function's operands and result.
    fn signature(&self) -> Signature<N>;

    /// The length of the scratch memory that the kernels of value and adjoint need.
    fn scratch(&self) -> usize {
        0
    }

    /// Fills in the result.
    fn value<R: Lane>(&self, operands: [&[R]; N], scratch: &mut [R], out: &mut [R]);

    /// The vector-Jacobian product: fills in the gradients `to` of all operands, which are zero on entry, given the
    /// gradient of the result.
    fn vjp<R: Lane>(&self, operands: [&[R]; N], scratch: &mut [R], grad: &[R], to: [&mut [R]; N]);
}

/// Checks the operands' columns.
pub(super) fn check<const N: usize>(of: &Signature<N>, shapes: [&Shape; N], widths: [usize; N]) -> Result<()> {
    if widths == of.operands.map(|(_, columns)| columns) {
        return Ok(());
    }
    let named = of.operands.map(|(name, columns)| format!("{name} (B, {columns})")).join(", ");
    bail!("{}: expected {named}, got {shapes:?}", of.name)
}

/// Checks the rows and columns of the [`Given`] operand for so many worlds.
pub(super) fn check_given(of: &Given, (rows, width): (usize, usize), worlds: usize) -> Result<()> {
    if width == of.width && (rows == worlds || rows == 1) {
        return Ok(());
    }
    bail!("{} (1 or {worlds}, {}), got ({rows}, {width})", of.expected, of.width)
}

/// [`array::map`] for a function that may fail.
pub(super) fn each<const N: usize, T, U>(of: [T; N], f: impl FnMut(T) -> Result<U>) -> Result<[U; N]> {
    let all = of.into_iter().map(f).collect::<Result<Vec<U>>>()?;
    all.try_into().or_else(|_| bail!("expected {N} operands"))
}
