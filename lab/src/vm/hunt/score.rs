//! How a scheduler stands in a load: its figures beside those of the stock schedulers, and the bounds that it shall
//! hold.
//!
//! A *bound* is a ratio of costs, the scheduler's over that of another one, so that more is worse; the cost of a
//! throughput is its inverse. *Dominated* means that a stock scheduler is better in read latency and in write
//! throughput at the same time: its value is the smaller of both ratios, of the stock scheduler for which that is
//! largest.
//!
//! Properties, each with a test: a scheduler equal to another holds every bound; a bound without figures does not
//! apply; the value of domination is that of a naive comparison.

use std::collections::BTreeMap;

use brisk_core::stats::Summary;

use super::load::Levels;
use crate::vm::figures::{Outcome, SideFigures};
use crate::vm::scenario::Side;

/// The scheduler that passes requests on as they come.
pub const NONE: &str = "none";

/// Figures of one scheduler in a load. A side that is not part of the load has none.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Figures {
    /// Mean response time of reads in microseconds.
    pub read_us_mean: Option<f64>,
    /// 99th percentile of reads, of the slowest job.
    pub read_us_p99: Option<f64>,
    pub reads_per_s: Option<f64>,
    /// 99th percentile of commits, of the slowest job.
    pub commit_us_p99: Option<f64>,
    /// Mean response time of writes.
    pub write_us_mean: Option<f64>,
    /// Bytes written a second: for copies of a fixed amount until the last one was durable.
    pub write_bytes_per_s: Option<f64>,
    pub discards_per_s: Option<f64>,
    /// Whether a side finished no request, so that its latencies are at least, and its throughput at most, those given.
    pub starved: bool,
}

impl Figures {
    /// The figures of a case; where a side finished no request, its bounds.
    ///
    /// # Errors
    /// Why there are none.
    pub fn of(outcome: &Outcome) -> Result<Self, String> {
        let starved = !outcome.bounds.is_empty();
        let sides = match &outcome.sides {
            Ok(sides) => sides,
            Err(_) if starved => &outcome.bounds,
            Err(why) => return Err(why.clone()),
        };
        let side = |side: Side| sides.iter().find(|figures| figures.side == side);
        let us = |of: Option<&SideFigures>, ns: fn(&SideFigures) -> f64| of.map(|figures| ns(figures) / 1e3);
        let (read, write) = (side(Side::Read), side(Side::Write));
        Ok(Self {
            read_us_mean: us(read, |figures| figures.delay_ns_mean),
            read_us_p99: us(read, |figures| figures.delay_ns_p99),
            reads_per_s: read.map(|figures| figures.requests_per_s),
            commit_us_p99: us(side(Side::Sync), |figures| figures.delay_ns_p99),
            write_us_mean: us(write, |figures| figures.delay_ns_mean),
            write_bytes_per_s: write.map(|figures| figures.bytes_per_s),
            discards_per_s: side(Side::Trim).map(|figures| figures.requests_per_s),
            starved,
        })
    }
}

/// Figures of all schedulers in a load with one seed, by their names.
pub type BySchedulers = BTreeMap<String, Figures>;

/// What a scheduler shall hold in every load to which it applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bound {
    /// No stock scheduler is better in read mean and in write throughput.
    Domination,
    /// Mean response time of reads over that under `none`.
    ReadMean,
    /// 99th percentile of reads over that under `none`.
    ReadP99,
    /// 99th percentile of commits over the best of the stock schedulers.
    CommitP99,
    /// Mean response time of synchronous writers at depth 1 over that under `none`.
    SyncWrite,
    /// Throughput under `none` over it, of reads alone.
    ReadsOnly,
    /// The same, of writes alone.
    WritesOnly,
    /// The same, of discards without writes.
    Discards,
}

impl Bound {
    pub const ALL: [Self; 8] = [
        Self::Domination,
        Self::ReadMean,
        Self::ReadP99,
        Self::CommitP99,
        Self::SyncWrite,
        Self::ReadsOnly,
        Self::WritesOnly,
        Self::Discards,
    ];

    /// Stable word for programs and file names.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Domination => "dominated",
            Self::ReadMean => "read-mean",
            Self::ReadP99 => "read-p99",
            Self::CommitP99 => "commit-p99",
            Self::SyncWrite => "sync-write",
            Self::ReadsOnly => "reads-only",
            Self::WritesOnly => "writes-only",
            Self::Discards => "discards",
        }
    }

    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Domination => "no stock scheduler better in read mean and write throughput",
            Self::ReadMean => "read mean over none",
            Self::ReadP99 => "read p99 over none",
            Self::CommitP99 => "commit p99 over the best stock scheduler",
            Self::SyncWrite => "synchronous writes at depth 1 over none",
            Self::ReadsOnly => "reads only, throughput of none over it",
            Self::WritesOnly => "writes only, throughput of none over it",
            Self::Discards => "discards, throughput of none over it",
        }
    }

    /// The largest value that holds.
    #[must_use]
    pub fn at_most(self) -> f64 {
        match self {
            Self::Domination | Self::ReadMean | Self::CommitP99 => 1.05,
            Self::ReadP99 => 1.25,
            Self::SyncWrite => 1.5,
            Self::ReadsOnly | Self::WritesOnly | Self::Discards => 1.02,
        }
    }

    /// Its value for `scheduler`, and the scheduler of the other figure; absent where it does not apply or has no
    /// figures. With all of `by` but `scheduler` as peers.
    #[must_use]
    pub fn value(self, load: Levels, scheduler: &str, by: &BySchedulers) -> Option<Value> {
        let own = by.get(scheduler)?;
        let peers = || by.iter().filter(|(name, _)| *name != scheduler);
        let none = || Some((NONE, by.get(NONE).filter(|_| scheduler != NONE)?));
        let reads = own.read_us_mean.is_some();
        let writes = own.write_bytes_per_s.is_some();
        let commits = own.commit_us_p99.is_some();
        let discards = own.discards_per_s.is_some();
        let over = |of: fn(&Figures) -> Option<f64>| {
            let (name, peer) = none()?;
            Value::of(of(own)? / of(peer)?, name)
        };
        let behind = |of: fn(&Figures) -> Option<f64>| {
            let (name, peer) = none()?;
            Value::of(of(peer)? / of(own)?, name)
        };
        match self {
            Self::Domination => largest(peers().filter_map(|(name, peer)| {
                let read = own.read_us_mean? / peer.read_us_mean?;
                let write = peer.write_bytes_per_s? / own.write_bytes_per_s?;
                Value::of(read.min(write), name)
            })),
            Self::ReadMean => over(|figures| figures.read_us_mean),
            Self::ReadP99 => over(|figures| figures.read_us_p99),
            Self::CommitP99 => {
                largest(peers().filter_map(|(name, peer)| Value::of(own.commit_us_p99? / peer.commit_us_p99?, name)))
            }
            Self::SyncWrite => load.writes_one_by_one().then(|| over(|figures| figures.write_us_mean)).flatten(),
            Self::ReadsOnly if !(writes || commits || discards) => behind(|figures| figures.reads_per_s),
            Self::WritesOnly if !(reads || commits || discards) => behind(|figures| figures.write_bytes_per_s),
            Self::Discards if !(writes || commits) => behind(|figures| figures.discards_per_s),
            Self::ReadsOnly | Self::WritesOnly | Self::Discards => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// Ratio of costs; more is worse.
    pub ratio: f64,
    /// The scheduler of the other figure.
    pub against: String,
}

impl Value {
    fn of(ratio: f64, against: &str) -> Option<Self> {
        ratio.is_finite().then(|| Self { ratio, against: against.to_owned() })
    }
}

fn largest(values: impl Iterator<Item = Value>) -> Option<Value> {
    values.max_by(|a, b| a.ratio.total_cmp(&b.ratio))
}

/// The values of a bound with several seeds: their summary, and the peer of the median.
#[must_use]
pub fn over_seeds(bound: Bound, load: Levels, scheduler: &str, seeds: &[BySchedulers]) -> Option<(Summary, String)> {
    let mut values: Vec<Value> = seeds.iter().filter_map(|by| bound.value(load, scheduler, by)).collect();
    let ratios: Vec<f64> = values.iter().map(|value| value.ratio).collect();
    values.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let against = values.get(values.len() / 2)?.against.clone();
    Some((Summary::of(&ratios)?, against))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::vm::hunt::load::DIMENSIONS;

    fn load() -> Levels {
        Levels::new([0; DIMENSIONS])
    }

    fn both(read: f64, write: f64) -> Figures {
        Figures {
            read_us_mean: Some(read),
            read_us_p99: Some(2.0 * read),
            reads_per_s: Some(1e6 / read),
            write_us_mean: Some(1e9 / write),
            write_bytes_per_s: Some(write),
            ..Figures::default()
        }
    }

    fn by(all: &[(&str, Figures)]) -> BySchedulers {
        all.iter().map(|(name, figures)| ((*name).to_owned(), *figures)).collect()
    }

    #[test]
    fn one_that_gives_writes_for_reads_is_not_dominated() {
        let value = |own: Figures| {
            let by = by(&[("none", both(400.0, 100.0)), ("bfq", both(200.0, 90.0)), ("smartio", own)]);
            Bound::Domination.value(load(), "smartio", &by).expect("reads and writes")
        };
        assert!(value(both(100.0, 30.0)).ratio <= 1.0, "faster reads than all");
        assert!(value(both(500.0, 130.0)).ratio <= 1.0, "faster writes than all");
        let found = value(both(300.0, 60.0));
        assert_eq!((found.ratio, found.against.as_str()), (1.5, "bfq"), "both by half");
    }

    #[test]
    fn bounds_apply_to_their_own_loads() {
        let only_reads = Figures { write_us_mean: None, write_bytes_per_s: None, ..both(100.0, 1.0) };
        let slower = Figures { reads_per_s: Some(5e3), read_us_mean: Some(200.0), ..only_reads };
        let by = by(&[("none", only_reads), ("smartio", slower)]);
        let value = |bound: Bound| bound.value(load(), "smartio", &by).map(|value| value.ratio);
        assert_eq!(value(Bound::ReadsOnly), Some(2.0));
        assert_eq!(value(Bound::ReadMean), Some(2.0));
        for bound in [Bound::Domination, Bound::CommitP99, Bound::SyncWrite, Bound::WritesOnly, Bound::Discards] {
            assert_eq!(value(bound), None, "{bound:?}");
        }
        assert_eq!(Bound::ReadMean.value(load(), "none", &by), None, "none is not held against itself");
    }

    #[test]
    fn the_median_of_the_seeds_decides() {
        let seeds: Vec<BySchedulers> =
            [300.0, 100.0, 110.0].map(|read| by(&[("none", both(100.0, 1.0)), ("smartio", both(read, 1.0))])).to_vec();
        let (ratio, against) = over_seeds(Bound::ReadMean, load(), "smartio", &seeds).expect("figures");
        assert_eq!((ratio.median, ratio.count, against.as_str()), (1.1, 3, "none"));
        assert_eq!(over_seeds(Bound::CommitP99, load(), "smartio", &seeds), None);
    }

    proptest! {
        #[test]
        fn equals_hold_every_bound_and_domination_is_that_of_a_naive_comparison(
            figures in prop::collection::vec((1.0f64..1e3, 1.0f64..1e3), 2..6),
        ) {
            let names = ["smartio", "none", "mq-deadline", "kyber", "bfq"];
            let all: Vec<(&str, Figures)> =
                names.iter().copied().zip(figures.iter().map(|(read, write)| both(*read, *write))).collect();
            let found = Bound::Domination.value(load(), "smartio", &by(&all)).expect("two at least").ratio;
            // Naive: is there one that is better by more than the factor in both?
            for factor in [0.5, 1.0, 1.05, 2.0] {
                let (read, write) = figures[0];
                let dominated = figures[1..].iter().any(|peer| read / peer.0 > factor && peer.1 / write > factor);
                prop_assert_eq!(found > factor, dominated);
            }
            let equal: Vec<(&str, Figures)> = names.iter().map(|name| (*name, all[0].1)).collect();
            for bound in Bound::ALL {
                if let Some(value) = bound.value(load(), "smartio", &by(&equal)) {
                    prop_assert!(value.ratio <= bound.at_most());
                }
            }
        }
    }
}
