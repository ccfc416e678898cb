//! The working memory of programs. Each thread keeps a small one for its next program.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::cell::Cell;

use super::lane::{Arithmetic, Packed, WIDTH};

/// Blocks that a thread keeps: to clear them takes as long as a short program.
const SPARE: usize = 1 << 14;

thread_local! {
    static SPARES: Cell<Vec<Block>> = const { Cell::new(Vec::new()) };
}

/// As much memory as the widest register has.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Block {
    _numbers: [f64; WIDTH],
}

/// Aligned memory. What is in it at first is left from other programs.
pub(super) struct Blocks(Vec<Block>);

impl Blocks {
    /// At least so many, of which some may be spare ones.
    pub(super) fn new(n: usize) -> Self {
        let mut blocks = SPARES.take();
        if blocks.len() < n {
            blocks = zeros(n);
        }
        if cfg!(any(test, debug_assertions)) {
            // What a program reads it has written.
            blocks.fill(Block { _numbers: [f64::NAN; WIDTH] });
        }
        Self(blocks)
    }

    /// All of them.
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

/// Blocks of zeros, which the allocator may have without writing them.
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

/// Working memory for lanes of any width.
pub struct Scratch {
    blocks: Blocks,
    numbers: usize,
}

impl Scratch {
    pub(super) fn new(numbers: usize, arithmetic: Arithmetic) -> Self {
        Self { blocks: Blocks::new((numbers * arithmetic.width()).div_ceil(WIDTH)), numbers }
    }

    #[inline(always)]
    pub(super) fn lanes<R: Packed>(&mut self) -> &mut [R] {
        let blocks = self.blocks.all();
        assert!(self.numbers * size_of::<R>() <= size_of_val(blocks) && align_of::<R>() <= align_of::<Block>());
        // SAFETY: the memory is large enough and aligned, as asserted; `Packed` is `unsafe` to implement because its
        // implementations must be valid for any bits that were written as numbers.
        unsafe { std::slice::from_raw_parts_mut(blocks.as_mut_ptr().cast(), self.numbers) }
    }
}
