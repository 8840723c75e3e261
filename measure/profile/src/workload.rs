//! Workloads of a profile.
//!
//! The reference workloads are the eight benchmarks of dissertation table 3.2 with their published rates, and mixes of
//! other phone loads, so that the table covers sizes, order and flushes, which the paper does not state. Sizes and
//! order of the eight are assumed: 4 KiB, random reads, nine in ten writes sequential, a flush for each hundred writes
//! (most writes of phones are of 4 KiB, and most are sequential in a database's journal or a log).
//!
//! The held-out workloads are for judging a profile; none of them is in it.

use crate::results::{Direction, Pattern};
use brisk_core::random::Random;
use brisk_engine::smartstorage::paper;
use serde::{Deserialize, Serialize};

/// Operation of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Read,
    Write,
    /// Makes durable what was written (fdatasync).
    Flush,
}

/// Requests of one kind that arrive at random times (a Poisson process).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    pub action: Action,
    pub pattern: Pattern,
    /// Size of a request; 0 for flushes.
    pub block_bytes: u64,
    /// How many arrive.
    pub requests_per_s: f64,
}

/// A request of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    pub at_us: u64,
    pub action: Action,
    /// In whole blocks of 4 KiB; wrapped into the work file.
    pub offset_bytes: u64,
    /// In whole blocks; 0 for flushes.
    pub size_bytes: u64,
}

/// Requests of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Streams that arrive at their rates, however slow the device is.
    Open(Vec<Stream>),
    /// Requests at recorded times, in their order, however slow the device is.
    Recorded(Vec<Arrival>),
    /// A constant number of requests in flight.
    Closed {
        pattern: Pattern,
        read_percent: u32,
        block_bytes: u64,
        depth_requests: u32,
        /// Sequential streams in turn, each in its own part of the work file; 1 for random requests.
        streams: u32,
        /// Every so many writes, one returns when it is durable; 0 for none.
        durable_every_writes: u32,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    pub name: String,
    pub about: String,
    /// Whether it uses the page cache, as most apps do: read-ahead and write-back throttling then matter.
    #[serde(default)]
    pub cached: bool,
    pub ask: Ask,
}

const KIB: u64 = 1024;

fn stream(direction: Direction, pattern: Pattern, block_kib: u64, requests_per_s: f64) -> Stream {
    let action = if direction == Direction::Read { Action::Read } else { Action::Write };
    Stream { action, pattern, block_bytes: block_kib * KIB, requests_per_s }
}

fn flushes(requests_per_s: f64) -> Stream {
    Stream { action: Action::Flush, pattern: Pattern::Sequential, block_bytes: 0, requests_per_s }
}

fn open(name: &str, about: &str, streams: &[Stream]) -> Workload {
    let streams = streams.iter().filter(|stream| stream.requests_per_s > 0.0).copied().collect();
    Workload { name: name.to_owned(), about: about.to_owned(), cached: false, ask: Ask::Open(streams) }
}

/// Random reads and mostly sequential writes of 4 KiB.
fn app(name: &str, about: &str, reads_per_s: f64, writes_per_s: f64) -> Workload {
    open(
        name,
        about,
        &[
            stream(Direction::Read, Pattern::Random, 4, reads_per_s),
            stream(Direction::Write, Pattern::Sequential, 4, writes_per_s * 0.9),
            stream(Direction::Write, Pattern::Random, 4, writes_per_s * 0.1),
            flushes(writes_per_s * 0.01),
        ],
    )
}

/// The workloads of a profile: the eight of the paper, and mixes.
#[must_use]
pub fn reference() -> Vec<Workload> {
    use Direction::{Read, Write};
    use Pattern::{Random, Sequential};
    let published = paper::BENCHMARKS
        .iter()
        .map(|row| app(row.name, "dissertation table 3.2, by its published rates", row.reads_per_s, row.writes_per_s));
    let mixes = [
        open(
            "launch",
            "an app starts: its files are read, its state is written",
            &[
                stream(Read, Random, 16, 400.0),
                stream(Read, Sequential, 128, 60.0),
                stream(Write, Sequential, 4, 40.0),
                flushes(4.0),
            ],
        ),
        open(
            "database",
            "small transactions, each made durable",
            &[
                stream(Read, Random, 4, 60.0),
                stream(Write, Sequential, 4, 120.0),
                stream(Write, Random, 4, 30.0),
                flushes(60.0),
            ],
        ),
        open(
            "stream-in",
            "a video or song is read ahead of its time",
            &[stream(Read, Sequential, 128, 30.0), stream(Write, Sequential, 4, 8.0), flushes(1.0)],
        ),
        open(
            "record",
            "a camera writes while little is read",
            &[stream(Write, Sequential, 256, 16.0), stream(Read, Random, 4, 30.0), flushes(1.0)],
        ),
        open(
            "install",
            "a package is unpacked beside an app that reads",
            &[
                stream(Write, Sequential, 64, 60.0),
                stream(Write, Random, 4, 40.0),
                stream(Read, Random, 4, 200.0),
                flushes(3.0),
            ],
        ),
        open(
            "scan",
            "a gallery or indexer reads everything",
            &[stream(Read, Sequential, 64, 200.0), stream(Read, Random, 4, 150.0)],
        ),
        open(
            "logs",
            "small writes at random, hardly a read",
            &[stream(Write, Random, 4, 60.0), stream(Read, Random, 4, 5.0), flushes(6.0)],
        ),
        open(
            "browse",
            "pages come from a cache and go to it",
            &[stream(Read, Random, 8, 120.0), stream(Write, Sequential, 16, 60.0), flushes(5.0)],
        ),
    ];
    published.chain(mixes).chain(cached()).collect()
}

/// Workloads through the page cache, which is empty at their start.
fn cached() -> impl Iterator<Item = Workload> {
    use Direction::{Read, Write};
    use Pattern::{Random, Sequential};
    let play = open(
        "play",
        "a player reads a file in small steps, through the page cache",
        &[stream(Read, Sequential, 16, 300.0), stream(Read, Random, 4, 30.0)],
    );
    let unpack = open(
        "unpack",
        "a package is unpacked into the page cache beside an app that reads",
        &[stream(Write, Sequential, 64, 50.0), flushes(2.0), stream(Read, Random, 4, 120.0)],
    );
    [play, unpack].into_iter().map(|workload| Workload { cached: true, ..workload })
}

/// Workloads that no profile contains, for judging one.
#[must_use]
pub fn held_out() -> Vec<Workload> {
    use Direction::{Read, Write};
    use Pattern::{Random, Sequential};
    let about = "held out";
    vec![
        app("mail", about, 150.0, 60.0),
        app("social", about, 90.0, 320.0),
        app("maps", about, 420.0, 105.0),
        app("reader", about, 700.0, 55.0),
        app("sync", about, 40.0, 700.0),
        app("game", about, 1_500.0, 90.0),
        app("office", about, 220.0, 220.0),
        open(
            "chat",
            about,
            &[
                stream(Read, Random, 4, 40.0),
                stream(Write, Sequential, 4, 80.0),
                stream(Write, Random, 4, 20.0),
                flushes(40.0),
            ],
        ),
        open(
            "second launch",
            about,
            &[
                stream(Read, Random, 16, 250.0),
                stream(Read, Sequential, 128, 35.0),
                stream(Write, Sequential, 4, 25.0),
                flushes(2.0),
            ],
        ),
        open(
            "update",
            about,
            &[
                stream(Write, Sequential, 64, 40.0),
                stream(Write, Random, 4, 25.0),
                stream(Read, Random, 4, 130.0),
                flushes(2.0),
            ],
        ),
        open("film", about, &[stream(Read, Sequential, 128, 45.0), stream(Write, Sequential, 4, 12.0), flushes(1.0)]),
        open("gallery", about, &[stream(Read, Sequential, 64, 130.0), stream(Read, Random, 4, 100.0)]),
    ]
}

/// Ranges of random streams: action, order, sizes in KiB, and rates. Together they span the named workloads.
type Range = (Direction, Pattern, &'static [u64], (f64, f64));
const RANGES: [Range; 5] = [
    (Direction::Read, Pattern::Random, &[4, 4, 8, 16], (5.0, 1_200.0)),
    (Direction::Read, Pattern::Sequential, &[16, 64, 128], (5.0, 150.0)),
    (Direction::Write, Pattern::Sequential, &[4, 4, 16], (5.0, 600.0)),
    (Direction::Write, Pattern::Sequential, &[64, 256], (2.0, 40.0)),
    (Direction::Write, Pattern::Random, &[4], (2.0, 60.0)),
];
/// Share of random workloads that have each of the streams.
const STREAM_SHARE: f64 = 0.5;
/// Flushes a second, in those with writes.
const FLUSHES_PER_S: (f64, f64) = (0.5, 50.0);

/// Random mixes, named by seed and number: to profile more kinds of load, and, with another seed, to judge a profile by
/// unselected ones.
#[must_use]
pub fn drawn(seed: u64, count: u32) -> Vec<Workload> {
    let mut random = Random(seed);
    // Log-uniform: twice as much is as likely as half as much.
    let within = |random: &mut Random, (low, high): (f64, f64)| low * (high / low).powf(random.unit());
    let draw = |number: u32| {
        let mut streams = Vec::new();
        while streams.is_empty() {
            for (direction, pattern, sizes, rates) in RANGES {
                if random.unit() < STREAM_SHARE {
                    let size = sizes[random.place(sizes.len())];
                    streams.push(stream(direction, pattern, size, within(&mut random, rates)));
                }
            }
        }
        if streams.iter().any(|stream| stream.action == Action::Write) {
            streams.push(flushes(within(&mut random, FLUSHES_PER_S)));
        }
        open(&format!("drawn {seed}.{number}"), "drawn at random", &streams)
    };
    (1..=count).map(draw).collect()
}

impl Ask {
    /// Whether it neither reads nor writes: nothing could be measured of it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Open(streams) => {
                !streams.iter().any(|stream| stream.action != Action::Flush && stream.requests_per_s > 0.0)
            }
            Self::Recorded(arrivals) => !arrivals.iter().any(|arrival| arrival.action != Action::Flush),
            Self::Closed { .. } => false,
        }
    }

    /// Whether anything is written.
    #[must_use]
    pub fn writes(&self) -> bool {
        match self {
            Self::Open(streams) => streams.iter().any(|stream| stream.action == Action::Write),
            Self::Recorded(arrivals) => arrivals.iter().any(|arrival| arrival.action == Action::Write),
            Self::Closed { read_percent, .. } => *read_percent < 100,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(workload: &Workload, action: Action) -> f64 {
        match &workload.ask {
            Ask::Open(streams) => streams.iter().filter(|s| s.action == action).map(|s| s.requests_per_s).sum(),
            Ask::Recorded(_) | Ask::Closed { .. } => 0.0,
        }
    }

    #[test]
    fn the_eight_have_their_published_rates() {
        let all = reference();
        for row in &paper::BENCHMARKS {
            let workload = all.iter().find(|w| w.name == row.name).expect(row.name);
            assert!((rate(workload, Action::Read) - row.reads_per_s).abs() < 1e-9, "{}", row.name);
            assert!((rate(workload, Action::Write) - row.writes_per_s).abs() < 1e-9, "{}", row.name);
        }
    }

    #[test]
    fn a_workload_of_flushes_alone_is_empty() {
        let idle = Stream { requests_per_s: 0.0, ..stream(Direction::Read, Pattern::Random, 4, 1.0) };
        assert!(Ask::Open(vec![flushes(5.0), idle]).is_empty() && Ask::Open(vec![]).is_empty());
        let flush = Arrival { at_us: 0, action: Action::Flush, offset_bytes: 0, size_bytes: 0 };
        assert!(Ask::Recorded(vec![flush]).is_empty());
        assert!(!Ask::Recorded(vec![flush, Arrival { action: Action::Write, ..flush }]).is_empty());
        assert!(reference().iter().all(|workload| !workload.ask.is_empty()));
    }

    #[test]
    fn random_workloads_follow_from_their_seed() {
        assert_eq!(drawn(1, 20), drawn(1, 20));
        let (one, two) = (drawn(1, 20), drawn(2, 20));
        assert!(one.iter().all(|a| two.iter().all(|b| a.ask != b.ask && a.name != b.name)));
        assert!(one.iter().all(|w| rate(w, Action::Read) + rate(w, Action::Write) > 0.0));
        assert!(one.iter().any(|w| rate(w, Action::Write) == 0.0) && one.iter().any(|w| rate(w, Action::Read) == 0.0));
    }

    #[test]
    fn names_are_unique_and_held_out_workloads_are_not_in_the_reference() {
        let mut names: Vec<String> = reference().into_iter().chain(held_out()).map(|w| w.name).collect();
        let asks: Vec<Ask> = reference().into_iter().map(|w| w.ask).collect();
        assert!(held_out().iter().all(|w| !asks.contains(&w.ask)));
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
