//! Marks of numbers, to tell whether they are the same.

/// A number that differs between inputs that differ, for the check whether they are the same.
pub(super) fn mark<const N: usize>(inputs: [&[f64]; N]) -> u64 {
    /// An odd number without a pattern, as of the golden ratio.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    // Four chains side by side, each of which a processor runs while it waits for the others.
    let mut chains = [0_u64; 4];
    for input in inputs {
        for (k, x) in input.iter().enumerate() {
            let chain = &mut chains[k % 4];
            *chain = (*chain ^ x.to_bits()).wrapping_mul(SPREAD).rotate_left(23);
        }
    }
    chains.iter().fold(0, |sum, chain| (sum ^ chain).wrapping_mul(SPREAD))
}
