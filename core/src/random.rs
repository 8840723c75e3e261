//! Seeded pseudo-random numbers for simulations, the order of measurements and tests: SplitMix64 (Steele, Lea, Flood
//! 2014).
//!
//! A seed gives the same numbers in every version of brisk, which a library's generator does not promise. They are not
//! for secrets.

/// The fractional part of the golden ratio: an odd constant without structure.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Spreads the bits of a number over all 64.
#[inline]
#[must_use]
pub const fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(GOLDEN);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A generator with its seed.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// The stream of a seed with this number; streams of one seed have nothing in common.
    #[must_use]
    pub const fn stream(seed: u64, number: u64) -> Self {
        Self(mix(seed) ^ number.wrapping_mul(0xd6e8_feb8_6659_fd93))
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let bits = mix(self.0);
        self.0 = self.0.wrapping_add(GOLDEN);
        bits
    }

    /// A number below `end`; 0 for none.
    #[inline]
    pub fn below(&mut self, end: u64) -> u64 {
        self.bits() % end.max(1)
    }

    /// A place in a list of this length.
    pub fn place(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// A number from 0 to 1, without 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About normal: mean 0, deviation 1, at most 6.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// Puts a list into any order, each as likely as the others (Fisher and Yates).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.place(last + 1));
        }
    }

    /// Fills memory with bytes that cannot be compressed.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for word in bytes.chunks_mut(8) {
            word.copy_from_slice(&self.bits().to_le_bytes()[..word.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_published_numbers() {
        let mut random = Random(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423_u64];
        assert_eq!(expected.map(|_| random.bits()), expected);
    }

    #[test]
    fn all_orders_of_a_list_are_as_likely() {
        let mut random = Random(1);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            let mut list = [0, 1, 2];
            random.shuffle(&mut list);
            *counts.entry(list).or_insert(0) += 1;
        }
        assert!(counts.len() == 6 && counts.values().all(|count| (850..1_150).contains(count)), "{counts:?}");
    }

    #[test]
    fn numbers_are_within_their_range() {
        let mut random = Random::stream(7, 1);
        assert!((0..1_000).all(|_| (0.0..1.0).contains(&random.unit()) && random.below(3) < 3));
        assert_eq!((random.below(0), random.below(1)), (0, 0));
        assert_ne!(Random::stream(7, 1).bits(), Random::stream(7, 2).bits());
        let (mut short, mut empty) = ([0; 11], []);
        random.fill(&mut short);
        random.fill(&mut empty);
        assert!(short[8..].iter().any(|byte| *byte != 0));
    }
}
