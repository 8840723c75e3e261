//! Addresses of the requests of one stream: a pure function of the request's number.
//!
//! A stream works on a [`Region`] of the file, block by block. A sequential stream wraps around at the end of its
//! region. A random stream visits every block once in an order drawn from the seed, then again in another order. No
//! block repeats within a pass, so a cache below gains nothing from repeats, and no state is kept however large the
//! region is.
//!
//! The order is a permutation of `0..2^b`, the smallest power of two that holds the region. Its steps are invertible
//! (multiply by an odd number, fold the upper half onto the lower). A value beyond the region is permuted again until
//! it falls inside, which keeps it a permutation of the region.
//!
//! Properties: one pass visits each block exactly once; equal seeds give equal addresses; every address lies inside.

use crate::results::Pattern;
use brisk_core::random::{GOLDEN, mix};
use serde::{Deserialize, Serialize};

/// A contiguous part of the work file or device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    pub start_bytes: u64,
    pub len_bytes: u64,
}

impl Region {
    /// The first `len_bytes` of a file.
    #[must_use]
    pub fn first(len_bytes: u64) -> Self {
        Self { start_bytes: 0, len_bytes }
    }

    /// Number `index` of the consecutive parts of `len_bytes` from the start of a file.
    #[must_use]
    pub fn nth(index: u64, len_bytes: u64) -> Self {
        Self { start_bytes: index * len_bytes, len_bytes }
    }

    /// End of the region (exclusive).
    #[must_use]
    pub fn end_bytes(&self) -> u64 {
        self.start_bytes + self.len_bytes
    }
}

/// The addresses of one stream.
#[derive(Debug, Clone)]
pub struct Addresses {
    start_bytes: u64,
    block_bytes: u64,
    blocks: u64,
    order: Order,
}

#[derive(Debug, Clone)]
enum Order {
    Sequential { first: u64 },
    Random { seed: u64, bits: u32 },
}

impl Addresses {
    /// Addresses of whole blocks of `block_bytes` in `region`. The seed chooses the random order, or the block at which
    /// a sequential stream begins.
    ///
    /// The region must hold at least one block; [`crate::load::Load::check`] ensures that.
    #[must_use]
    pub fn new(pattern: Pattern, region: Region, block_bytes: u64, seed: u64) -> Self {
        let blocks = (region.len_bytes / block_bytes).max(1);
        let order = match pattern {
            Pattern::Sequential => Order::Sequential { first: mix(seed) % blocks },
            Pattern::Random => Order::Random { seed, bits: u64::BITS - (blocks - 1).leading_zeros() },
        };
        Self { start_bytes: region.start_bytes, block_bytes, blocks, order }
    }

    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Offset of request number `index` of the stream.
    #[inline]
    #[must_use]
    pub fn at(&self, index: u64) -> u64 {
        let block = match self.order {
            Order::Sequential { first } => (first + index) % self.blocks,
            Order::Random { seed, bits } => {
                let key = mix(seed ^ (index / self.blocks).wrapping_mul(GOLDEN));
                let mut value = index % self.blocks;
                loop {
                    value = permute(value, bits, key);
                    if value < self.blocks {
                        break value;
                    }
                }
            }
        };
        self.start_bytes + block * self.block_bytes
    }
}

/// A permutation of the numbers of `bits` bits, chosen by `key`.
#[inline]
fn permute(mut value: u64, bits: u32, key: u64) -> u64 {
    if bits == 0 {
        return 0;
    }
    let mask = u64::MAX >> (u64::BITS - bits);
    let fold = bits.div_ceil(2);
    let mut round_key = key;
    for _ in 0..3 {
        value = value.wrapping_add(round_key).wrapping_mul(round_key | 1) & mask;
        value ^= value >> fold;
        round_key = round_key.rotate_left(21) ^ GOLDEN;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn one_pass_visits_each_block_exactly_once(blocks in 1u64..3_000, seed: u64, pass in 0u64..3, random: bool) {
            let pattern = if random { Pattern::Random } else { Pattern::Sequential };
            let region = Region { start_bytes: 4096 * 7, len_bytes: blocks * 4096 };
            let addresses = Addresses::new(pattern, region, 4096, seed);
            let mut seen = vec![false; blocks as usize];
            for index in pass * blocks..(pass + 1) * blocks {
                let at = addresses.at(index);
                prop_assert!(at >= region.start_bytes && at + 4096 <= region.end_bytes());
                prop_assert_eq!((at - region.start_bytes) % 4096, 0);
                let block = ((at - region.start_bytes) / 4096) as usize;
                prop_assert!(!std::mem::replace(&mut seen[block], true), "block {} twice", block);
            }
        }

        #[test]
        fn equal_seeds_give_equal_addresses(seed: u64, index in 0u64..1_000_000) {
            let make = || Addresses::new(Pattern::Random, Region::first(1 << 30), 4096, seed);
            prop_assert_eq!(make().at(index), make().at(index));
        }
    }

    #[test]
    fn sequential_streams_step_by_one_block_and_start_over() {
        let addresses = Addresses::new(Pattern::Sequential, Region::first(16 * 4096), 4096, 3);
        for index in 0..40 {
            assert_eq!((addresses.at(index) + 4096) % (16 * 4096), addresses.at(index + 1));
        }
    }

    #[test]
    fn random_order_is_not_sequential_and_differs_between_passes_and_seeds() {
        let blocks = 4_096u64;
        let order = |seed: u64, pass: u64| -> Vec<u64> {
            let addresses = Addresses::new(Pattern::Random, Region::first(blocks * 4096), 4096, seed);
            (0..blocks).map(|i| addresses.at(pass * blocks + i) / 4096).collect()
        };
        let first = order(1, 0);
        let in_sequence = first.windows(2).filter(|w| w[1] == w[0] + 1).count();
        assert!(in_sequence < 16, "{in_sequence} of {blocks} steps are sequential");
        // Of a uniform order, half of the steps go up, and the mean distance is a third of the range.
        let mean = first.windows(2).map(|w| w[0].abs_diff(w[1])).sum::<u64>() / (blocks - 1);
        assert!((blocks / 4..blocks / 2).contains(&mean), "mean distance {mean}");
        assert_ne!(first, order(2, 0));
        assert_ne!(first, order(1, 1));
    }
}
