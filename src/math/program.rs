//! Programs: stages of work on lanes of worlds, compiled for each instruction set, worlds shared among threads.

use rayon::prelude::*;

use super::lane::{Eight, Four, InstructionSet, Lane, Single, WIDTH};
use super::rows::{Output, Part};

/// Worlds that one thread takes at a time: enough lanes to pay for the handover.
const CHUNK: usize = 64;

/// A part of a [`Program`].
///
/// The provided methods are [`Stage::run`] as compiled for each instruction set, once for each stage; they are methods so
/// that the compiler puts each into its stage's own module and compiles modules side by side.
pub trait Stage {
    /// Handles the worlds `first .. first + R::WIDTH`. Implementations are `#[inline(always)]`.
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output);

    /// [`InstructionSet::Eight`].
    ///
    /// # Safety
    /// The processor must have it.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512vl"))]
    unsafe fn run_eight(&self, first: usize, scratch: &mut Scratch, out: &mut Output) {
        self.run::<Eight>(first, scratch.lanes(), out);
    }

    /// [`InstructionSet::Four`].
    ///
    /// # Safety
    /// The processor must have it.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    unsafe fn run_four(&self, first: usize, scratch: &mut Scratch, out: &mut Output) {
        self.run::<Four>(first, scratch.lanes(), out);
    }

    /// [`InstructionSet::Fma`].
    ///
    /// # Safety
    /// The processor must have it.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    unsafe fn run_fma(&self, first: usize, scratch: &mut Scratch, out: &mut Output) {
        self.run::<Single<true>>(first, scratch.lanes(), out);
    }

    /// [`InstructionSet::Baseline`].
    #[inline(never)]
    fn run_baseline(&self, first: usize, scratch: &mut Scratch, out: &mut Output) {
        self.run::<Single<false>>(first, scratch.lanes(), out);
    }
}

/// Work on lanes of worlds in stages that share their working memory.
///
/// A kernel that uses an algorithm twice, or two kernels that use the same one, would be compiled with two copies of it;
/// stages are compiled once each.
pub trait Program: Sync {
    /// Numbers of working memory for one world.
    fn scratch(&self) -> usize;
    /// Calls [`Group::run`] for one stage after the other.
    fn group(&self, group: &mut Group);
}

/// A lane of worlds on its way through a [`Program`].
pub struct Group<'a, 'b> {
    set: InstructionSet,
    first: usize,
    scratch: &'a mut Scratch,
    out: &'a mut Output<'b>,
}

impl Group<'_, '_> {
    /// Runs one stage.
    pub fn run(&mut self, stage: &impl Stage) {
        let Self { set, first, scratch, out } = self;
        // SAFETY: `run_on` has asserted that the processor has the set.
        unsafe {
            match set {
                InstructionSet::Eight => stage.run_eight(*first, scratch, out),
                InstructionSet::Four => stage.run_four(*first, scratch, out),
                InstructionSet::Fma => stage.run_fma(*first, scratch, out),
                InstructionSet::Baseline => stage.run_baseline(*first, scratch, out),
            }
        }
    }
}

/// Runs a program over `worlds` worlds on rayon's threads, with the processor's widest instruction set, and returns its rows
/// of `width` numbers.
pub fn run<P: Program>(program: &P, worlds: usize, width: usize) -> Vec<f64> {
    run_on(InstructionSet::detect(), program, worlds, width)
}

/// [`run`] with a given instruction set.
///
/// # Panics
/// If the processor lacks it.
pub fn run_on<P: Program>(set: InstructionSet, program: &P, worlds: usize, width: usize) -> Vec<f64> {
    let [data] = run_parts_on(set, program, worlds, [width]);
    data
}

/// [`run_on`] for a program that writes several matrices, with rows of these widths: no copy is needed to part them.
///
/// # Panics
/// As [`run_on`].
pub fn run_parts_on<P: Program, const N: usize>(
    set: InstructionSet,
    program: &P,
    worlds: usize,
    widths: [usize; N],
) -> [Vec<f64>; N] {
    assert!(set.is_available(), "this processor has no {}", set.name());
    let mut data = widths.map(|width| vec![0.0; worlds * width]);
    let work = |mut out: Output| {
        let range = out.worlds.clone();
        let mut scratch = Scratch::new(program.scratch(), set.within(range.len()));
        let mut first = range.start;
        while first < range.end {
            let set = set.within(range.end - first);
            program.group(&mut Group { set, first, scratch: &mut scratch, out: &mut out });
            first += set.width();
        }
    };
    let mut chunks = Vec::with_capacity(worlds.div_ceil(CHUNK));
    let mut rest = data.each_mut().map(Vec::as_mut_slice);
    for first in (0..worlds).step_by(CHUNK) {
        let worlds = first..worlds.min(first + CHUNK);
        let mut parts = Vec::with_capacity(N);
        for (rest, width) in rest.iter_mut().zip(widths) {
            let (data, behind) = std::mem::take(rest).split_at_mut(worlds.len() * width);
            *rest = behind;
            parts.push(Part { data, width });
        }
        chunks.push(Output { worlds, parts });
    }
    if chunks.len() == 1 {
        chunks.into_iter().for_each(work);
    } else {
        chunks.into_par_iter().for_each(work);
    }
    data
}

/// Working memory for lanes of any width.
pub struct Scratch {
    blocks: Vec<Block>,
    numbers: usize,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Block {
    _numbers: [f64; WIDTH],
}

impl Scratch {
    fn new(numbers: usize, set: InstructionSet) -> Self {
        let blocks = (numbers * set.width()).div_ceil(WIDTH);
        Self { blocks: vec![Block { _numbers: [0.0; WIDTH] }; blocks], numbers }
    }

    #[inline(always)]
    fn lanes<R: Lane>(&mut self) -> &mut [R] {
        let bytes = std::mem::size_of_val(self.blocks.as_slice());
        assert!(self.numbers * std::mem::size_of::<R>() <= bytes && std::mem::align_of::<R>() <= 64);
        // SAFETY: the memory is large enough and aligned, as asserted; `Lane` is `unsafe` to implement because its
        // implementations must be valid for any bits that were written as numbers.
        unsafe { std::slice::from_raw_parts_mut(self.blocks.as_mut_ptr().cast(), self.numbers) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One world's sine and cosine.
    struct Sines<'a>(&'a [f64]);

    impl Stage for Sines<'_> {
        #[inline(always)]
        fn run<R: Lane>(&self, first: usize, _: &mut [R], out: &mut Output) {
            let mut x = R::zero();
            for i in 0..R::WIDTH {
                x.set(i, self.0[first + i]);
            }
            let (s, c) = x.sin_cos();
            out.store_all(first, 0, &[s, c]);
        }
    }

    impl Program for Sines<'_> {
        fn scratch(&self) -> usize {
            0
        }
        fn group(&self, group: &mut Group) {
            group.run(self);
        }
    }

    #[test]
    fn sine_and_cosine_agree_with_the_standard_library_at_any_width() {
        let mut x: Vec<f64> = (-4000..4000).map(|i| f64::from(i) * 0.0173).collect();
        x.extend([0.0, -0.0, 1e-300, 1e5 - 0.1, 1e6, 1e15, -3e8, f64::NAN, f64::INFINITY, std::f64::consts::PI]);
        let available = InstructionSet::ALL.into_iter().filter(|set| set.is_available());
        let results: Vec<_> = available.map(|set| (set, run_on(set, &Sines(&x), x.len(), 2))).collect();
        for (set, values) in &results {
            for (x, value) in x.iter().zip(values.chunks(2)) {
                let (s, c) = (value[0], value[1]);
                if x.is_finite() {
                    // 2 units in the last place of 1: the polynomial and its reduction.
                    let close = (s - x.sin()).abs() < 4.5e-16 && (c - x.cos()).abs() < 4.5e-16;
                    assert!(close, "{}: {x}: {s} {c}", set.name());
                } else {
                    assert!(s.is_nan() && c.is_nan());
                }
            }
        }
        let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let fused: Vec<_> = results.iter().filter(|(set, _)| *set != InstructionSet::Baseline).collect();
        for pair in fused.windows(2) {
            assert_eq!(bits(&pair[0].1), bits(&pair[1].1));
        }
    }
}
