//! Programs: sequences of stages that work on lanes of worlds. Each stage is compiled for each instruction set; worlds
//! are divided among threads.

use rayon::prelude::*;

use super::lane::{Arithmetic, Eight, EightF32, Four, InstructionSet, Lane, Precision, Single, SixteenF32};
use super::order::Order;
use super::pool;
use super::record::{Recorded, Recorder, Row, Trace, record_run};
use super::rows::{Output, Part};
use super::scratch::Scratch;

/// The number of worlds that one thread takes at a time: enough lanes to pay for the handover, few enough that no
/// thread waits long for the last ones.
const CHUNK: usize = 32;

/// A step of a [`Program`], written once for all kinds of lanes.
///
/// The provided methods are [`Stage::run`] compiled for each instruction set, once for each stage. They are methods so
/// that the compiler puts each into its stage's own module, and compiles modules in parallel.
pub trait Stage {
    /// Is the stage compiled for [`InstructionSet::Eight`]? Programs with a stage that is not run on narrower ones.
    const EIGHT: bool = true;

    /// Computes the worlds `first .. first + R::WIDTH`. Worlds beyond the last are no concern:
    /// [`Rows`](super::rows::Rows) repeats the last one for them, and [`Output`] leaves them out. Implementations are
    /// `#[inline(always)]`.
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output);

    /// [`Stage::run`] compiled for [`InstructionSet::Eight`] in double precision.
    ///
    /// # Safety
    /// The processor must have the instruction set.
    #[cfg_attr(
        all(target_arch = "x86_64", not(feature = "emulate-avx512")),
        target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512vl")
    )]
    #[cfg_attr(all(target_arch = "x86_64", feature = "emulate-avx512"), target_feature(enable = "avx2,fma"))]
    unsafe fn run_eight(&self, first: usize, scratch: &mut Scratch, out: &mut Output) {
        self.run::<Eight>(first, scratch.lanes(), out);
    }

    /// [`Stage::run`] compiled for [`InstructionSet::Four`] in double precision.
    ///
    /// # Safety
    /// The processor must have the instruction set.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    unsafe fn run_four(&self, first: usize, scratch: &mut Scratch, out: &mut Output) {
        self.run::<Four>(first, scratch.lanes(), out);
    }

    /// [`Stage::run`] compiled for [`InstructionSet::Fma`].
    ///
    /// # Safety
    /// The processor must have the instruction set.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    unsafe fn run_fma(&self, first: usize, scratch: &mut Scratch, out: &mut Output) {
        self.run::<Single<f64, true>>(first, scratch.lanes(), out);
    }

    /// [`Stage::run`] compiled for [`InstructionSet::Eight`] in single precision, sixteen worlds at a time.
    ///
    /// # Safety
    /// The processor must have the instruction set.
    #[cfg_attr(
        all(target_arch = "x86_64", not(feature = "emulate-avx512")),
        target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512vl")
    )]
    #[cfg_attr(all(target_arch = "x86_64", feature = "emulate-avx512"), target_feature(enable = "avx2,fma"))]
    unsafe fn run_sixteen_f32(&self, first: usize, scratch: &mut Scratch, out: &mut Output) {
        self.run::<SixteenF32>(first, scratch.lanes(), out);
    }

    /// [`Stage::run`] compiled for [`InstructionSet::Four`] in single precision, eight worlds at a time.
    ///
    /// # Safety
    /// The processor must have the instruction set.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    unsafe fn run_eight_f32(&self, first: usize, scratch: &mut Scratch, out: &mut Output) {
        self.run::<EightF32>(first, scratch.lanes(), out);
    }

    /// [`Stage::run`] compiled for [`InstructionSet::Baseline`].
    #[inline(never)]
    fn run_baseline(&self, first: usize, scratch: &mut Scratch, out: &mut Output) {
        self.run::<Single<f64, false>>(first, scratch.lanes(), out);
    }

    /// Records the operations that [`Stage::run`] does for one world.
    #[inline(never)]
    fn record(&self, memory: &mut [Recorded], out: &mut Output) {
        self.run(0, memory, out);
    }
}

/// A computation on lanes of worlds, made of stages that share a working memory.
///
/// Stages are compiled once each. Without them, an algorithm that a kernel uses twice, or that two kernels use, would
/// be compiled into each place.
pub trait Program: Sync {
    /// The size of the working memory for one world, in numbers.
    fn scratch(&self) -> usize;
    /// Runs the program on one lane of worlds: calls [`Group::run`] or [`Group::run_in_either`] for one stage after the
    /// other.
    fn group(&self, group: &mut Group);

    /// A mark of what the program leaves in the working memory: a program with the same mark may
    /// [go on](Group::goes_on) from it. None if nothing can.
    fn mark(&self) -> Option<u64> {
        None
    }
}

impl Program for Box<dyn Program + '_> {
    fn scratch(&self) -> usize {
        (**self).scratch()
    }

    fn group(&self, group: &mut Group) {
        (**self).group(group);
    }

    fn mark(&self) -> Option<u64> {
        (**self).mark()
    }
}

/// A lane of worlds on its way through a [`Program`].
pub struct Group<'a, 'b> {
    numbers: Numbers<'a>,
    out: &'a mut Output<'b>,
}

/// The worlds that a group works on, or the recording that it makes.
enum Numbers<'a> {
    /// Computes the worlds from `first` on.
    Worlds { arithmetic: Arithmetic, goes_on: bool, first: usize, scratch: &'a mut Scratch },
    /// Computes nothing: the stages are recorded.
    Recorded(&'a mut Recorder),
}

impl<'a, 'b> Group<'a, 'b> {
    /// A group that computes worlds from `first` on.
    pub(crate) fn of_worlds(
        (arithmetic, goes_on): (Arithmetic, bool),
        first: usize,
        scratch: &'a mut Scratch,
        out: &'a mut Output<'b>,
    ) -> Self {
        Self { numbers: Numbers::Worlds { arithmetic, goes_on, first, scratch }, out }
    }

    /// Does the working memory have what a program with the same [mark](Program::mark) has left there? Else it may have
    /// anything.
    pub fn goes_on(&self) -> bool {
        matches!(self.numbers, Numbers::Worlds { goes_on: true, .. })
    }

    /// A group that records its stages.
    fn recording(recorder: &'a mut Recorder, out: &'a mut Output<'b>) -> Self {
        Self { numbers: Numbers::Recorded(recorder), out }
    }

    /// Calls `body` for each of `n` time steps, with the step's index. A recording contains the body of one step only.
    /// So places of operands and results must grow by the same amount from step to step, and the body must do the same
    /// in each step.
    pub fn each(&mut self, n: usize, order: Order, body: impl Fn(&mut Group, usize)) {
        if let Numbers::Recorded(recorder) = &mut self.numbers {
            return recorder.each(order, self.out, |recorder, out| body(&mut Group::recording(recorder, out), 0));
        }
        order.steps(n).for_each(|t| body(self, t));
    }

    /// Runs one stage in the program's precision, single or double.
    pub fn run_in_either(&mut self, stage: &impl Stage) {
        let out = &mut *self.out;
        let (arithmetic, first, scratch) = match &mut self.numbers {
            Numbers::Worlds { arithmetic, first, scratch, .. } => (arithmetic, first, scratch),
            Numbers::Recorded(recorder) => return recorder.stage(stage, |memory| stage.record(memory, out)),
        };
        if cfg!(feature = "narrow") || arithmetic.precision == Precision::Double {
            return self.run(stage);
        }
        // SAFETY: `run_parts_on` has asserted that the processor has the set.
        unsafe {
            match arithmetic.set {
                InstructionSet::Eight => stage.run_sixteen_f32(*first, scratch, out),
                _ => stage.run_eight_f32(*first, scratch, out),
            }
        }
    }

    /// Runs one stage in double precision. Programs that use only this method do not have their stages compiled twice.
    /// A recording may be of single precision all the same.
    pub fn run<S: Stage>(&mut self, stage: &S) {
        let out = &mut *self.out;
        let (Arithmetic { set, precision }, first, scratch) = match &mut self.numbers {
            Numbers::Worlds { arithmetic, first, scratch, .. } => (arithmetic, first, scratch),
            Numbers::Recorded(recorder) => return recorder.stage(stage, |memory| stage.record(memory, out)),
        };
        debug_assert_eq!(*precision, Precision::Double);
        if cfg!(feature = "narrow") {
            // SAFETY: as below; no other set is available.
            return unsafe { stage.run_fma(*first, scratch, out) };
        }
        // SAFETY: `run_parts_on` has asserted that the processor has the set.
        unsafe {
            match set {
                InstructionSet::Eight if const { S::EIGHT } => stage.run_eight(*first, scratch, out),
                InstructionSet::Eight => unreachable!("a stage that is not compiled for eight worlds"),
                InstructionSet::Four => stage.run_four(*first, scratch, out),
                InstructionSet::Fma => stage.run_fma(*first, scratch, out),
                InstructionSet::Baseline => stage.run_baseline(*first, scratch, out),
            }
        }
    }
}

/// Runs a program over `worlds` worlds on all threads, with the widest instruction set of the processor. Returns the
/// results (`worlds`, `width`), row by row.
pub fn run<P: Program>(program: &P, worlds: usize, width: usize) -> Vec<f64> {
    run_on(InstructionSet::detect(), program, worlds, width)
}

/// [`run`] with a given instruction set.
///
/// # Panics
/// If the processor lacks the instruction set.
pub fn run_on<P: Program>(set: InstructionSet, program: &P, worlds: usize, width: usize) -> Vec<f64> {
    let [data] = run_parts_on(set.into(), program, worlds, [width]);
    data
}

/// [`run_on`] for a program that writes several matrices of the given widths, in the given arithmetic. Returns one
/// vector per matrix.
///
/// # Panics
/// If the processor lacks the instruction set.
pub fn run_parts_on<P: Program + ?Sized, const N: usize>(
    arithmetic: Arithmetic,
    program: &P,
    worlds: usize,
    widths: [usize; N],
) -> [Vec<f64>; N] {
    run_listing_on(arithmetic, program, worlds, widths).0
}

/// [`run_parts_on`] for a program that also [lists](Output::list) what it finds. The list has the worlds of one lane
/// after those of another, in their order.
///
/// # Panics
/// If the processor lacks the instruction set.
pub fn run_listing_on<P: Program + ?Sized, const N: usize>(
    arithmetic: Arithmetic,
    program: &P,
    worlds: usize,
    widths: [usize; N],
) -> ([Vec<f64>; N], Vec<f64>) {
    let set = arithmetic.set;
    assert!(set.is_available(), "this processor has no {}", set.name());
    let scratch = || Scratch::new(program.scratch(), arithmetic.within(worlds.min(CHUNK)));
    share(worlds, widths, scratch, |scratch, out| {
        let range = out.worlds.clone();
        let mut first = range.start;
        while first < range.end {
            let arithmetic = arithmetic.within(range.end - first);
            let held = program.mark().map(|mark| (mark, arithmetic));
            let goes_on = scratch.release(held);
            program.group(&mut Group::of_worlds((arithmetic, goes_on), first, scratch, out));
            scratch.hold(held);
            first += arithmetic.width();
        }
    })
}

/// Records a program that writes the given results. The rows of its operands must hold
/// [`places`](super::record::places) in place of numbers, for one world.
///
/// # Errors
/// The reason, if a stage does something that cannot be recorded.
pub fn record(
    program: &dyn Program,
    precision: Precision,
    operands: Vec<Row>,
    results: Vec<Row>,
) -> Result<Trace, String> {
    record_run(program.scratch(), precision, operands, results, |recorder, out| {
        program.group(&mut Group::recording(recorder, out));
    })
}

/// Fills matrices with one row per world, of the given widths, and a list. The threads of the [pool] do chunks of
/// worlds, each thread with a working memory of its own.
pub(crate) fn share<M, const N: usize>(
    worlds: usize,
    widths: [usize; N],
    memory: impl Fn() -> M + Send + Sync,
    work: impl Fn(&mut M, &mut Output) + Send + Sync,
) -> ([Vec<f64>; N], Vec<f64>) {
    let mut data = widths.map(|width| vec![0.0; worlds * width]);
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
        chunks.push(Output::new(worlds, parts));
    }
    // With one chunk or one thread this thread does the work, as another would have to wake up first.
    if chunks.len() == 1 || rayon::current_num_threads() == 1 {
        let mut memory = memory();
        chunks.iter_mut().for_each(|out| work(&mut memory, out));
    } else {
        pool::share(|| chunks.par_iter_mut().for_each_init(&memory, &work));
    }
    let lists: Vec<Vec<f64>> = chunks.into_iter().map(|out| out.list).collect();
    (data, lists.concat())
}

#[cfg(test)]
mod tests {
    use super::super::rows::Rows;
    use super::*;

    /// A program that computes the sine and cosine of one number per world.
    struct Sines<'a>(&'a [f64]);

    impl Stage for Sines<'_> {
        #[inline(always)]
        fn run<R: Lane>(&self, first: usize, _: &mut [R], out: &mut Output) {
            let x = Rows::from_slice(self.0, self.0.len(), 1).load::<R>(first, 0);
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
