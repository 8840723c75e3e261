//! A load of the hunt as levels: one small number for each dimension of device and jobs, level 0 the simplest.
//!
//! Levels keep drawing, changing and shrinking a load free of any knowledge of what a dimension means; `text.rs` turns
//! them into a scenario. Dimensions without effect (a pause of readers where there are none) have level 0, so that
//! equal loads are equal values.
//!
//! Properties, each with a test: the same seed and number give the same load; a plain load stays as it is; every load
//! has a job.

/// A dimension: its values by level, and how often each is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Dimension {
    pub values: &'static [u32],
    /// Weights of the levels in a draw; as many as values.
    pub weights: &'static [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dim {
    Preset,
    Dies,
    ReadUs,
    ProgramUs,
    WriteCache,
    Tags,
    FileSystem,
    Readers,
    ReadKib,
    ReadDepth,
    ReadPauseUs,
    ReadBurst,
    ReadOrder,
    ReadHow,
    ReadPriority,
    Writers,
    WriteKib,
    WriteDepth,
    WritePauseUs,
    WriteOrder,
    WriteHow,
    FsyncKib,
    WritePriority,
    Commits,
    CommitPauseUs,
    Discards,
    DiscardKib,
}

use Dim::*;
use brisk_core::random::Random;

pub const DIMENSIONS: usize = 27;

/// Pauses of 0 to 50 ms.
const PAUSES_US: &[u32] = &[0, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000];
const SIZES_KIB: &[u32] = &[4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// All dimensions, in the order of [`Dim`].
const TABLE: [(Dim, Dimension); DIMENSIONS] = [
    // Places in text::PRESETS; 0 is the device made of dies below.
    (Preset, of(&[0, 1, 2, 3, 4, 5], &[60, 10, 10, 8, 7, 5])),
    (Dies, of(&[4, 1, 2, 8, 16, 32], &[30, 15, 15, 15, 15, 10])),
    (ReadUs, of(&[70, 20, 40, 200, 600, 2_000], &[40, 10, 15, 20, 10, 5])),
    (ProgramUs, of(&[400, 50, 100, 200, 1_000, 3_000, 10_000], &[35, 5, 10, 15, 20, 10, 5])),
    (WriteCache, of(&[0, 1], &[60, 40])),
    // 0: as many as the preset has.
    (Tags, of(&[0, 64, 16, 8, 4, 2, 1], &[50, 10, 10, 10, 8, 6, 6])),
    (FileSystem, of(&[0, 1], &[50, 50])),
    (Readers, of(&[0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32], &[12, 25, 12, 6, 14, 6, 10, 4, 5, 3, 3])),
    (ReadKib, of(SIZES_KIB, &[50, 5, 12, 5, 8, 10, 4, 3, 3])),
    (ReadDepth, of(&[1, 2, 4, 8, 16, 32], &[60, 10, 10, 8, 6, 6])),
    (ReadPauseUs, of(PAUSES_US, &[45, 4, 6, 8, 8, 8, 8, 5, 4, 4])),
    // Requests between two pauses.
    (ReadBurst, of(&[1, 4, 16, 64], &[65, 15, 12, 8])),
    // 0: random, 1: sequential.
    (ReadOrder, of(&[0, 1], &[75, 25])),
    // 0: direct, 1: page cache, dropped after each read, 2: page cache, 3: faults of a mapped file.
    (ReadHow, of(&[0, 1, 2, 3], &[50, 20, 15, 15])),
    // Places in text::PRIORITIES.
    (ReadPriority, of(&[0, 1, 2, 3, 4], &[80, 6, 6, 4, 4])),
    (Writers, of(&[0, 1, 2, 3, 4, 6, 8], &[15, 30, 17, 6, 20, 6, 6])),
    (WriteKib, of(SIZES_KIB, &[30, 5, 20, 5, 10, 15, 5, 7, 3])),
    (WriteDepth, of(&[1, 2, 4, 8, 16, 32, 64], &[35, 8, 12, 12, 17, 10, 6])),
    (WritePauseUs, of(PAUSES_US, &[75, 2, 3, 3, 4, 4, 3, 2, 2, 2])),
    (WriteOrder, of(&[0, 1], &[60, 40])),
    // 0: direct, 1: page cache and fsync, a fixed amount.
    (WriteHow, of(&[0, 1], &[55, 45])),
    (FsyncKib, of(&[1_024, 256, 4_096, 16_384, 65_536], &[25, 15, 25, 20, 15])),
    (WritePriority, of(&[0, 1, 2, 3, 4], &[80, 4, 6, 3, 7])),
    (Commits, of(&[0, 1, 2, 4], &[55, 30, 8, 7])),
    (CommitPauseUs, of(PAUSES_US, &[40, 4, 4, 6, 8, 8, 10, 8, 6, 6])),
    (Discards, of(&[0, 1], &[88, 12])),
    (DiscardKib, of(&[64, 256, 1_024], &[40, 30, 30])),
];

const fn of(values: &'static [u32], weights: &'static [u8]) -> Dimension {
    Dimension { values, weights }
}

/// Requests that all readers or all writers together keep in flight at most.
const IN_FLIGHT_MAX: u32 = 128;

/// A load: a level for each dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Levels([u8; DIMENSIONS]);

impl Levels {
    /// The load of these levels without those that have no effect.
    #[must_use]
    pub fn new(levels: [u8; DIMENSIONS]) -> Self {
        Self(levels).plain()
    }

    /// Load number `number` of the seed: all levels drawn by their weights.
    #[must_use]
    pub fn draw(seed: u64, number: u64) -> Self {
        let mut random = Random::stream(seed, number);
        Self::new(TABLE.map(|(_, dimension)| weighted(&mut random, dimension.weights)))
    }

    /// The load with one to three dimensions drawn anew.
    #[must_use]
    pub fn changed(self, random: &mut Random) -> Self {
        let mut levels = self.0;
        for _ in 0..=random.below(3) {
            let place = random.below(DIMENSIONS as u64) as usize;
            levels[place] = weighted(random, TABLE[place].1.weights);
        }
        Self::new(levels)
    }

    /// Loads that are simpler in one dimension: its simplest level first, then half of the way, then the next lower
    /// one.
    #[must_use]
    pub fn simpler(self) -> Vec<Self> {
        let mut all = Vec::new();
        for place in 0..DIMENSIONS {
            let level = self.0[place];
            for lower in [0, level / 2, level.saturating_sub(1)] {
                let mut levels = self.0;
                levels[place] = lower;
                let candidate = Self::new(levels);
                if lower < level && candidate.size() < self.size() && !all.contains(&candidate) {
                    all.push(candidate);
                }
            }
        }
        all
    }

    /// The load with every dimension in which one of `others` differs from it at the level of that one.
    #[must_use]
    pub fn merged(self, others: &[Self]) -> Self {
        let mut levels = self.0;
        for other in others {
            for (place, level) in levels.iter_mut().enumerate() {
                if other.0[place] != self.0[place] {
                    *level = other.0[place];
                }
            }
        }
        Self::new(levels)
    }

    /// Sum of all levels: less is simpler; that of one simplest job is 1.
    #[must_use]
    pub fn size(self) -> u32 {
        self.0.iter().map(|level| u32::from(*level)).sum()
    }

    #[must_use]
    pub fn value(self, dim: Dim) -> u32 {
        TABLE[dim as usize].1.values[usize::from(self.0[dim as usize])]
    }

    /// The level of the dimension at a place of the table.
    #[cfg(test)]
    pub(super) fn level(self, place: usize) -> u8 {
        self.0[place]
    }

    fn has(self, dim: Dim) -> bool {
        self.value(dim) > 0
    }

    fn clear(&mut self, dims: &[Dim]) {
        for dim in dims {
            self.0[*dim as usize] = 0;
        }
    }

    fn plain(mut self) -> Self {
        for (level, (_, dimension)) in self.0.iter_mut().zip(TABLE) {
            *level = (*level).min(dimension.values.len() as u8 - 1);
        }
        if self.has(Preset) {
            self.clear(&[Dies, ReadUs, ProgramUs, WriteCache]);
        }
        if self.has(FileSystem) {
            self.clear(&[Discards]);
        } else {
            self.clear(&[ReadHow, WriteHow, Commits]);
        }
        let jobs = [Readers, Writers, Commits, Discards];
        if !jobs.iter().any(|dim| self.has(*dim)) {
            self.0[Readers as usize] = 1;
        }
        if !self.has(Readers) {
            self.clear(&[ReadKib, ReadDepth, ReadPauseUs, ReadBurst, ReadOrder, ReadHow, ReadPriority]);
        }
        // A fault reads a page and what is around it.
        if self.value(ReadHow) == 3 {
            self.clear(&[ReadKib]);
        }
        if !self.has(ReadPauseUs) {
            self.clear(&[ReadBurst]);
        }
        if !self.has(Writers) {
            self.clear(&[WriteKib, WriteDepth, WritePauseUs, WriteOrder, WriteHow, WritePriority]);
        }
        if self.has(WriteHow) {
            // The order is that of a copy: sequential.
            self.clear(&[WriteDepth, WriteOrder, WritePauseUs]);
        } else {
            self.clear(&[FsyncKib]);
        }
        if !self.has(Commits) {
            self.clear(&[CommitPauseUs]);
        }
        if !self.has(Discards) {
            self.clear(&[DiscardKib]);
        }
        for (count, depth) in [(Readers, ReadDepth), (Writers, WriteDepth)] {
            while self.value(count) * self.value(depth) > IN_FLIGHT_MAX {
                self.0[depth as usize] -= 1;
            }
        }
        self
    }
}

/// A place, drawn by the weights.
fn weighted(random: &mut Random, weights: &[u8]) -> u8 {
    let mut left = random.below(weights.iter().map(|weight| u64::from(*weight)).sum());
    for (place, weight) in weights.iter().enumerate() {
        let weight = u64::from(*weight);
        if left < weight {
            return place as u8;
        }
        left -= weight;
    }
    0
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_table_is_in_order_and_has_a_weight_for_each_value() {
        for (place, (dim, dimension)) in TABLE.iter().enumerate() {
            assert_eq!(*dim as usize, place, "{dim:?}");
            assert_eq!(dimension.values.len(), dimension.weights.len(), "{dim:?}");
            assert!(dimension.weights.iter().all(|weight| *weight > 0), "{dim:?}");
        }
    }

    #[test]
    fn draws_reach_every_level_and_differ() {
        let all: Vec<Levels> = (0..4_000).map(|number| Levels::draw(7, number)).collect();
        for (dim, dimension) in TABLE {
            let seen: HashSet<u32> = all.iter().map(|load| load.value(dim)).collect();
            assert_eq!(seen.len(), dimension.values.len(), "{dim:?}");
        }
        let different: HashSet<Levels> = all.iter().copied().collect();
        assert!(different.len() > 3_900, "{}", different.len());
        assert_eq!(all[3], Levels::draw(7, 3));
        assert_ne!(Levels::draw(7, 3), Levels::draw(8, 3));
    }

    proptest! {
        #[test]
        fn a_plain_load_stays_as_it_is_and_has_a_job(levels in prop::array::uniform27(0u8..12)) {
            let load = Levels::new(levels);
            prop_assert_eq!(Levels::new(load.0), load);
            prop_assert!([Readers, Writers, Commits, Discards].iter().any(|dim| load.has(*dim)));
            prop_assert!(load.value(Readers) * load.value(ReadDepth) <= IN_FLIGHT_MAX);
            prop_assert!(load.has(FileSystem) || load.value(ReadHow) + load.value(WriteHow) + load.value(Commits) == 0);
        }

        #[test]
        fn simpler_loads_are_simpler_and_lead_to_one_simplest_job(levels in prop::array::uniform27(0u8..12)) {
            let mut load = Levels::new(levels);
            while let Some(next) = load.simpler().into_iter().min_by_key(|next| next.size()) {
                prop_assert!(next.size() < load.size());
                load = next;
            }
            prop_assert_eq!(load.size(), 1);
        }
    }
}
