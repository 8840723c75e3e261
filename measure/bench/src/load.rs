//! Loads: a [`Load`] describes the requests of a run.
//!
//! A load is a stream of requests of one size, `depth_requests` of them in flight; a share of them reads. The order of
//! the requests follows from the seed alone, so both engines and every repetition issue the same requests.

use std::time::Duration;

use brisk_core::random::{Random, mix};

use crate::address::{Addresses, Region};
use crate::error::{Error, Result};
use crate::results::{Direction, Pattern};

/// Unit of every address and length: the largest sector in use, and the page of the file systems of phones.
pub const ALIGNMENT_BYTES: u64 = 4096;
/// The smallest request: a sector of 512 bytes.
pub const SMALLEST_BLOCK_BYTES: u64 = 512;
pub const LARGEST_BLOCK_BYTES: u64 = 16 << 20;
/// The most requests in flight.
pub const DEEPEST_REQUESTS: u32 = 1024;
/// Most memory for buffers of requests in flight.
pub const BUFFERS_BYTES: u64 = 256 << 20;

/// Limits of a run, which ends at the first that it reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct End {
    pub requests: Option<u64>,
    /// Most time; requests in flight then complete and count.
    pub time: Option<Duration>,
}

impl End {
    /// An end after a number of requests.
    #[must_use]
    pub fn after_requests(requests: u64) -> Self {
        Self { requests: Some(requests), time: None }
    }

    #[must_use]
    pub fn after_time(time: Duration) -> Self {
        Self { requests: None, time: Some(time) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    pub pattern: Pattern,
    /// Share of requests that read.
    pub read_percent: u32,
    pub block_bytes: u64,
    /// Requests kept in flight.
    pub depth_requests: u32,
    /// Sequential streams in turn, each in its own part of the region; a random load has one.
    pub streams: u32,
    /// Every so many writes, one returns when it and the writes that returned before it are durable (RWF_DSYNC); 0 for
    /// none.
    pub durable_every_writes: u32,
    pub reads: Region,
    pub writes: Region,
    /// Seed of addresses, mix and data.
    pub seed: u64,
    pub end: End,
}

impl Load {
    /// A load of one direction on one region.
    #[must_use]
    pub fn plain(pattern: Pattern, direction: Direction, block_bytes: u64, region: Region) -> Self {
        Self {
            pattern,
            read_percent: if direction == Direction::Read { 100 } else { 0 },
            block_bytes,
            depth_requests: 1,
            streams: 1,
            durable_every_writes: 0,
            reads: region,
            writes: region,
            seed: 0,
            end: End::default(),
        }
    }

    /// Whether the load has reads.
    #[must_use]
    pub fn has_reads(&self) -> bool {
        self.read_percent > 0
    }

    /// Whether the load has writes.
    #[must_use]
    pub fn has_writes(&self) -> bool {
        self.read_percent < 100
    }

    /// Refuses a load that cannot be issued.
    ///
    /// # Errors
    /// [`Error::BadLoad`] for a size that is zero, unaligned or larger than the region, or a depth out of range.
    pub fn check(&self) -> Result<()> {
        check_block(self.block_bytes)?;
        check_depth(self.depth_requests, self.block_bytes)?;
        for (used, region) in [(self.has_reads(), self.reads), (self.has_writes(), self.writes)] {
            let part_bytes = region.len_bytes / u64::from(self.streams.max(1));
            if used && part_bytes < self.block_bytes {
                return Err(Error::BadLoad(format!(
                    "a request of {} bytes does not fit into {part_bytes} bytes: use a larger --size or a smaller \
                     --block",
                    self.block_bytes
                )));
            }
        }
        Ok(())
    }
}

/// Refuses an invalid request size.
///
/// # Errors
/// [`Error::BadLoad`] when it is not a power of two between 512 bytes and 16 MiB.
pub fn check_block(block_bytes: u64) -> Result<()> {
    if !block_bytes.is_power_of_two() || !(SMALLEST_BLOCK_BYTES..=LARGEST_BLOCK_BYTES).contains(&block_bytes) {
        return Err(Error::BadLoad(format!(
            "a request cannot have {block_bytes} bytes: use a power of two from 512 to 16M, such as 4k"
        )));
    }
    Ok(())
}

/// Refuses a depth out of range, or one whose buffers need more memory than [`BUFFERS_BYTES`].
///
/// # Errors
/// [`Error::BadLoad`].
pub fn check_depth(depth_requests: u32, block_bytes: u64) -> Result<()> {
    if !(1..=DEEPEST_REQUESTS).contains(&depth_requests) {
        return Err(Error::BadLoad(format!(
            "a depth of {depth_requests} requests is not possible: use 1 to {DEEPEST_REQUESTS}"
        )));
    }
    if u64::from(depth_requests) * block_bytes > BUFFERS_BYTES {
        return Err(Error::BadLoad(format!(
            "{depth_requests} requests of {block_bytes} bytes in flight need more than 256 MiB of buffers: \
             use a smaller --depth or --block"
        )));
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub direction: Direction,
    pub offset_bytes: u64,
    /// Whether it is a write that returns when it is durable.
    pub durable: bool,
}

/// The requests of a load, by number.
#[derive(Debug, Clone)]
pub struct Requests {
    reads: Streams,
    writes: Streams,
    mix: Mix,
    durable_every_writes: u64,
}

/// Addresses of one direction: streams in turn, each in its own part of the region.
#[derive(Debug, Clone)]
struct Streams(Box<[Addresses]>);

impl Streams {
    fn new(load: &Load, region: Region, seed: u64) -> Self {
        let count = if load.pattern == Pattern::Sequential { u64::from(load.streams.max(1)) } else { 1 };
        let part_bytes = region.len_bytes / count / load.block_bytes * load.block_bytes;
        let stream = |index: u64| {
            let len_bytes = if count == 1 { region.len_bytes } else { part_bytes };
            let part = Region { start_bytes: region.start_bytes + index * part_bytes, len_bytes };
            Addresses::new(load.pattern, part, load.block_bytes, mix(seed ^ index))
        };
        Self((0..count).map(stream).collect())
    }

    #[inline]
    fn at(&self, index: u64) -> u64 {
        match &*self.0 {
            [one] => one.at(index),
            several => {
                let count = several.len() as u64;
                several[(index % count) as usize].at(index / count)
            }
        }
    }
}

#[derive(Debug, Clone)]
enum Mix {
    Reads,
    Writes,
    /// One hundred requests in random order: direction, and the number of requests of that direction before it.
    Both {
        window: Box<[(Direction, u64); 100]>,
        reads_per_window: u64,
    },
}

impl Requests {
    /// The requests of `load`.
    #[must_use]
    pub fn new(load: &Load) -> Self {
        let reads = Streams::new(load, load.reads, load.seed);
        let writes = Streams::new(load, load.writes, !load.seed);
        let mix = match load.read_percent {
            0 => Mix::Writes,
            1..100 => Mix::drawn(u64::from(load.read_percent), load.seed),
            _ => Mix::Reads,
        };
        Self { reads, writes, mix, durable_every_writes: load.durable_every_writes.into() }
    }

    /// Request number `index`.
    #[inline]
    #[must_use]
    pub fn at(&self, index: u64) -> Request {
        let (direction, index) = match &self.mix {
            Mix::Reads => (Direction::Read, index),
            Mix::Writes => (Direction::Write, index),
            Mix::Both { window, reads_per_window } => {
                let (direction, rank) = window[(index % 100) as usize];
                let per_window = if direction == Direction::Read { *reads_per_window } else { 100 - reads_per_window };
                (direction, index / 100 * per_window + rank)
            }
        };
        let streams = if direction == Direction::Read { &self.reads } else { &self.writes };
        let every = self.durable_every_writes;
        let durable = direction == Direction::Write && every > 0 && (index + 1).is_multiple_of(every);
        Request { direction, offset_bytes: streams.at(index), durable }
    }
}

impl Mix {
    fn drawn(read_percent: u64, seed: u64) -> Self {
        let mut directions: Vec<Direction> =
            (0..100).map(|i| if i < read_percent { Direction::Read } else { Direction::Write }).collect();
        Random(seed).shuffle(&mut directions);
        let (mut reads, mut writes) = (0, 0);
        let mut window = Box::new([(Direction::Read, 0); 100]);
        for (slot, direction) in window.iter_mut().zip(directions) {
            let rank = if direction == Direction::Read { &mut reads } else { &mut writes };
            *slot = (direction, *rank);
            *rank += 1;
        }
        Self::Both { window, reads_per_window: read_percent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mixed(pattern: Pattern, read_percent: u32) -> Load {
        Load {
            read_percent,
            reads: Region::first(1 << 20),
            writes: Region { start_bytes: 1 << 20, len_bytes: 1 << 20 },
            ..Load::plain(pattern, Direction::Read, 4096, Region::first(0))
        }
    }

    proptest! {
        #[test]
        fn every_hundred_requests_hold_the_share_of_reads(percent in 0u32..=100, seed: u64, window in 0u64..50) {
            let load = Load { seed, ..mixed(Pattern::Random, percent) };
            let requests = Requests::new(&load);
            let reads = (window * 100..window * 100 + 100)
                .filter(|i| requests.at(*i).direction == Direction::Read).count();
            prop_assert_eq!(reads as u32, percent);
        }

        #[test]
        fn each_side_of_a_sequential_mix_is_sequential(percent in 1u32..100, seed: u64) {
            let requests = Requests::new(&Load { seed, ..mixed(Pattern::Sequential, percent) });
            for direction in [Direction::Read, Direction::Write] {
                let mine: Vec<u64> = (0..300).map(|i| requests.at(i))
                    .filter(|r| r.direction == direction).map(|r| r.offset_bytes % (1 << 20)).collect();
                prop_assert!(mine.windows(2).all(|w| (w[0] + 4096) % (1 << 20) == w[1]));
            }
        }
    }

    #[test]
    fn sequential_streams_take_turns_in_parts_of_their_own() {
        let region = Region { start_bytes: 8192, len_bytes: 12 * 4096 };
        let load = Load { streams: 3, ..Load::plain(Pattern::Sequential, Direction::Read, 4096, region) };
        let requests = Requests::new(&load);
        for stream in 0..3u64 {
            let part = 8192 + stream * 4 * 4096;
            let at: Vec<u64> = (0..9).map(|turn| requests.at(turn * 3 + stream).offset_bytes).collect();
            assert!(at.iter().all(|at| (part..part + 4 * 4096).contains(at)), "stream {stream}: {at:?}");
            assert!(at.windows(2).all(|w| (w[0] - part + 4096) % (4 * 4096) + part == w[1]), "stream {stream}: {at:?}");
        }
        assert!(Load { streams: 13, ..load }.check().is_err());
    }

    #[test]
    fn every_so_many_writes_one_is_durable_and_no_read_is() {
        let load = Load { durable_every_writes: 4, ..mixed(Pattern::Random, 50) };
        let requests = Requests::new(&load);
        let all: Vec<Request> = (0..800).map(|index| requests.at(index)).collect();
        let writes: Vec<bool> = all.iter().filter(|r| r.direction == Direction::Write).map(|r| r.durable).collect();
        assert_eq!(writes.chunks(4).collect::<Vec<_>>(), vec![&[false, false, false, true][..]; 100]);
        assert!(all.iter().all(|r| r.direction == Direction::Write || !r.durable));
        assert!((0..800).all(|index| !Requests::new(&mixed(Pattern::Random, 0)).at(index).durable));
    }

    #[test]
    fn impossible_loads_are_refused_with_the_value() {
        let good = Load::plain(Pattern::Random, Direction::Read, 4096, Region::first(1 << 20));
        assert!(good.check().is_ok());
        for (load, word) in [
            (Load { block_bytes: 0, ..good.clone() }, "0 bytes"),
            (Load { block_bytes: 1000, ..good.clone() }, "1000 bytes"),
            (Load { block_bytes: 256, ..good.clone() }, "256 bytes"),
            (Load { block_bytes: 32 << 20, ..good.clone() }, "power of two"),
            (Load { block_bytes: 2 << 20, ..good.clone() }, "does not fit"),
            (Load { depth_requests: 0, ..good.clone() }, "depth of 0"),
            (Load { depth_requests: 1025, ..good.clone() }, "depth of 1025"),
            (Load { depth_requests: 1024, block_bytes: 1 << 20, ..good.clone() }, "256 MiB"),
        ] {
            let error = load.check().expect_err(word).to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
