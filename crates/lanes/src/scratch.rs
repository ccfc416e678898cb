//! Allocation of working memory for programs. Each thread keeps one block of memory for its next program.

use std::cell::Cell;

use super::lane::{Arithmetic, Packed, WIDTH};

/// What a memory has: the [mark](super::program::Program::mark) of the program that ran last and how it computed.
pub(super) type Held = Option<(u64, Arithmetic)>;

/// The largest memory that a thread keeps, in numbers: 512 MiB, four worlds of 35,000 contacts. Fresh pages take as
/// long as steps; what programs do not touch has none.
const SPARE: usize = 1 << 26;

thread_local! {
    /// The spare memory of this thread, for its next program, and what it has.
    static SPARES: Cell<(Vec<f64>, Held)> = const { Cell::new((Vec::new(), None)) };
}

/// A unit of memory, as large and as aligned as the widest SIMD register.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Block {
    _numbers: [f64; WIDTH],
}

/// Memory for blocks, with leftovers of other programs as its initial content.
pub(super) struct Blocks {
    numbers: Vec<f64>,
    held: Held,
}

impl Blocks {
    /// A memory of at least `n` blocks: the thread's spare one if it is large enough.
    #[cfg(feature = "native")]
    pub(super) fn new(n: usize) -> Self {
        let mut blocks = Self::kept(n);
        blocks.held = None;
        blocks
    }

    /// A memory of at least `n` blocks: the thread's spare one, with what it has, if it is large enough.
    fn kept(n: usize) -> Self {
        // Room for one block more, so that they can be aligned. The allocator has zeroed pages at hand for plain
        // numbers; what asks it for aligned ones clears them, and so touches pages that the program never does.
        let n = (n + 1) * WIDTH;
        let (mut numbers, mut held) = SPARES.take();
        if numbers.len() < n {
            (numbers, held) = (vec![0.0; n], None);
        }
        if cfg!(any(test, debug_assertions)) {
            // Programs must write before they read: NaN makes a mistake visible.
            numbers.fill(f64::NAN);
            held = None;
        }
        Self { numbers, held }
    }

    /// All blocks of the memory.
    #[inline(always)]
    pub(super) fn all(&mut self) -> &mut [Block] {
        // SAFETY: a block is numbers and nothing else.
        unsafe { self.numbers.align_to_mut::<Block>() }.1
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        if self.numbers.len() <= SPARE {
            SPARES.set((std::mem::take(&mut self.numbers), self.held));
        }
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
        Self { blocks: Blocks::kept((numbers * arithmetic.width()).div_ceil(WIDTH)), numbers }
    }

    /// Does it have what a program leaves that can go on from it? It has not any more, until that is said again.
    pub(super) fn release(&mut self, held: Held) -> bool {
        let own = self.blocks.held.take();
        held.is_some() && own == held
    }

    /// Says what it has.
    pub(super) fn hold(&mut self, held: Held) {
        self.blocks.held = held;
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
