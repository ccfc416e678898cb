//! Allocation of working memory for programs. Each thread keeps one block of memory for its next program.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::cell::Cell;

use super::lane::{Arithmetic, Packed, WIDTH};

/// The largest memory that a thread keeps, in blocks: 64 MiB, a world of a hundred thousand contacts. Fresh pages for
/// that much take as long as a step.
const SPARE: usize = 1 << 20;

thread_local! {
    /// The spare memory of this thread, for its next program.
    static SPARES: Cell<Vec<Block>> = const { Cell::new(Vec::new()) };
}

/// A unit of memory, as large and as aligned as the widest SIMD register.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Block {
    _numbers: [f64; WIDTH],
}

/// Aligned memory, with leftovers of other programs as its initial content.
pub(super) struct Blocks(Vec<Block>);

impl Blocks {
    /// A memory of at least `n` blocks: the thread's spare one if it is large enough.
    pub(super) fn new(n: usize) -> Self {
        let mut blocks = SPARES.take();
        if blocks.len() < n {
            blocks = zeros(n);
        }
        if cfg!(any(test, debug_assertions)) {
            // Programs must write before they read: NaN makes a mistake visible.
            blocks.fill(Block { _numbers: [f64::NAN; WIDTH] });
        }
        Self(blocks)
    }

    /// All blocks of the memory.
    #[inline(always)]
    pub(super) fn all(&mut self) -> &mut [Block] {
        &mut self.0
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        if self.0.len() <= SPARE {
            SPARES.set(std::mem::take(&mut self.0));
        }
    }
}

/// Zeroed blocks. The allocator often has zeroed pages at hand, so this is cheaper than clearing.
fn zeros(n: usize) -> Vec<Block> {
    let Ok(layout) = Layout::array::<Block>(n) else { handle_alloc_error(Layout::new::<Block>()) };
    if n == 0 {
        return Vec::new();
    }
    // SAFETY: the layout is that of `n` blocks and not empty, and zeros are numbers.
    unsafe {
        let start = alloc_zeroed(layout).cast::<Block>();
        if start.is_null() {
            handle_alloc_error(layout);
        }
        Vec::from_raw_parts(start, n, n)
    }
}

/// The working memory of a program, usable as lanes of any width.
pub struct Scratch {
    blocks: Blocks,
    numbers: usize,
}

impl Scratch {
    /// Memory for so many numbers per world.
    pub(super) fn new(numbers: usize, arithmetic: Arithmetic) -> Self {
        Self { blocks: Blocks::new((numbers * arithmetic.width()).div_ceil(WIDTH)), numbers }
    }

    /// The memory as lanes of type `R`.
    #[inline(always)]
    pub(super) fn lanes<R: Packed>(&mut self) -> &mut [R] {
        let blocks = self.blocks.all();
        assert!(self.numbers * size_of::<R>() <= size_of_val(blocks) && align_of::<R>() <= align_of::<Block>());
        // SAFETY: the memory is large enough and aligned, as asserted; `Packed` is `unsafe` to implement because its
        // implementations must be valid for any bits that were written as numbers.
        unsafe { std::slice::from_raw_parts_mut(blocks.as_mut_ptr().cast(), self.numbers) }
    }
}
