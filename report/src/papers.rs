//! What the papers published about devices of which brisk has a preset: data only, with the place of every figure.
//!
//! Reports print these numbers next to ours, so that the reader can judge both. Where a paper disagrees with itself the
//! disagreement is a [`Published::remarks`] entry, and a test holds it in place.
//!
//! Figures that exist only as drawings are not read off with a ruler: what the text and the tables do not say is not
//! here.

use crate::results::Direction::{self, Read, Write};
use crate::results::Pattern::{self, Random, Sequential};

/// Mean response time of a 4 KiB request alone on the device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AloneTime {
    /// Order of addresses.
    pub pattern: Pattern,
    /// Read or write.
    pub direction: Direction,
    /// Microseconds.
    pub mean_us: f64,
}

/// Response time concurrent with the other kind over response time alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowdownRatio {
    /// Order of addresses of both sides.
    pub pattern: Pattern,
    /// Which side is slowed.
    pub direction: Direction,
    /// Readers, and as many writers.
    pub streams: u32,
    /// Size of a request.
    pub block_bytes: u64,
    /// With the scheduler that the phone came with.
    pub stock: f64,
    /// With the paper's own scheduler, where it was tried.
    pub smartio: Option<f64>,
}

/// The number of concurrent streams with the largest speed-up over serial ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BestConcurrency {
    /// Order of addresses.
    pub pattern: Pattern,
    /// Read or write.
    pub direction: Direction,
    /// Streams.
    pub streams: u32,
    /// Serial over concurrent time.
    pub speedup: f64,
}

/// Time to complete a mix of reads and writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MixTime {
    /// Scheduler by its name in the paper.
    pub scheduler: &'static str,
    /// What stands in for it on today's kernels; `None` for the paper's own.
    pub stands_in: Option<&'static str>,
    /// Order of addresses.
    pub pattern: Pattern,
    /// Share of reads.
    pub read_percent: u32,
    /// Seconds for the whole mix.
    pub response_s: f64,
}

/// Bytes of the mixes in [`MixTime`].
pub const MIX_BYTES: u64 = 128 << 20;
/// Requests that the load kept in flight for [`MixTime`].
pub const MIX_DEPTH_REQUESTS: u32 = 128;

/// Bandwidth of one kind of load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bandwidth {
    /// Order of addresses.
    pub pattern: Pattern,
    /// Read or write.
    pub direction: Direction,
    /// Size of a request; `None` where the paper gives the size of the whole transfer only.
    pub block_bytes: Option<u64>,
    /// Bytes a second.
    pub bytes_per_s: f64,
}

/// Everything published about one device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    /// Name of the preset.
    pub preset: &'static str,
    /// The device in words.
    pub device: &'static str,
    /// The year in which it was first sold, of phones.
    pub year: Option<u16>,
    /// Paper and sections.
    pub source: &'static str,
    /// Response times alone.
    pub alone: &'static [AloneTime],
    /// Slowdowns.
    pub slowdown: &'static [SlowdownRatio],
    /// Concurrency parameters.
    pub concurrency: &'static [BestConcurrency],
    /// Scheduler comparison.
    pub mixes: &'static [MixTime],
    /// Bandwidths.
    pub bandwidths: &'static [Bandwidth],
    /// How throughput goes with the range of random writes, in words.
    pub footprint: Option<&'static str>,
    /// What to know when comparing, contradictions included.
    pub remarks: &'static [(Topic, &'static str)],
}

/// What a remark is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// Slowdowns.
    Slowdown,
    /// The scheduler comparison.
    Mixes,
    /// Bandwidths.
    Bandwidth,
}

impl Published {
    /// The device without its part: `Samsung Galaxy S5`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.device.split(',').next().unwrap_or(self.device)
    }

    /// Where the figures are from, and what to know about those of a topic.
    #[must_use]
    pub fn note(&self, topic: Option<Topic>) -> String {
        let mut parts = vec![format!("Published in {}.", self.source)];
        parts.extend(self.remarks.iter().filter(|(of, _)| Some(*of) == topic).map(|(_, text)| (*text).to_owned()));
        parts.join(" ")
    }

    /// The response time alone of one kind.
    #[must_use]
    pub fn alone(&self, pattern: Pattern, direction: Direction) -> Option<&AloneTime> {
        self.alone.iter().find(|a| a.pattern == pattern && a.direction == direction)
    }

    /// The slowdown of one kind, for as many streams and the same size of requests.
    #[must_use]
    pub fn slowdown(
        &self,
        pattern: Pattern,
        direction: Direction,
        streams: u32,
        block_bytes: u64,
    ) -> Option<&SlowdownRatio> {
        self.slowdown
            .iter()
            .find(|s| (s.pattern, s.direction, s.streams, s.block_bytes) == (pattern, direction, streams, block_bytes))
    }

    /// The concurrency parameter of one kind.
    #[must_use]
    pub fn best_concurrency(&self, pattern: Pattern, direction: Direction) -> Option<&BestConcurrency> {
        self.concurrency.iter().find(|c| c.pattern == pattern && c.direction == direction)
    }
}

/// What was published about the device of a preset.
#[must_use]
pub fn for_preset(preset: &str) -> Option<&'static Published> {
    ALL.iter().find(|p| p.preset == preset)
}

/// The dissertation on smartphone I/O.
const DISSERTATION: &str = "Nguyen, dissertation, sections 4.2.3 to 4.2.5, 4.5.2 and 4.5.3";
/// The paper on swapping for mobile devices.
const MARS: &str = "Guo et al., MARS, tables 1 and 2";
/// The study of storage on phones.
const REVISITING: &str = "Kim et al., Revisiting Storage for Smartphones, table III (on the phone) and figure 15";

const KIB4: u64 = 4 << 10;
const KIB64: u64 = 64 << 10;

const fn alone(pattern: Pattern, direction: Direction, mean_us: f64) -> AloneTime {
    AloneTime { pattern, direction, mean_us }
}

const fn slow(pattern: Pattern, direction: Direction, streams: u32, stock: f64, smartio: f64) -> SlowdownRatio {
    SlowdownRatio { pattern, direction, streams, block_bytes: KIB4, stock, smartio: Some(smartio) }
}

/// From two bandwidths in KB/s: for a stream that waits for each request, times go as the inverse of bandwidths.
const fn slow_from_kb(pattern: Pattern, direction: Direction, alone_kb: f64, mixed_kb: f64) -> SlowdownRatio {
    SlowdownRatio { pattern, direction, streams: 1, block_bytes: KIB64, stock: alone_kb / mixed_kb, smartio: None }
}

const fn best(pattern: Pattern, direction: Direction, streams: u32, speedup: f64) -> BestConcurrency {
    BestConcurrency { pattern, direction, streams, speedup }
}

const fn mix(scheduler: &'static str, stands_in: Option<&'static str>, read_percent: u32, response_s: f64) -> MixTime {
    MixTime { scheduler, stands_in, pattern: Sequential, read_percent, response_s }
}

const fn kb(pattern: Pattern, direction: Direction, block_bytes: u64, kb_per_s: f64) -> Bandwidth {
    Bandwidth { pattern, direction, block_bytes: Some(block_bytes), bytes_per_s: kb_per_s * 1024.0 }
}

/// The four columns "on the phone" of table III in MB/s: sequential write and read, random write and read (4 KB).
const fn card(sw: f64, sr: f64, rw: f64, rr: f64) -> [Bandwidth; 4] {
    const fn of(pattern: Pattern, direction: Direction, block_bytes: Option<u64>, mb: f64) -> Bandwidth {
        Bandwidth { pattern, direction, block_bytes, bytes_per_s: mb * 1e6 }
    }
    [
        of(Sequential, Write, None, sw),
        of(Sequential, Read, None, sr),
        of(Random, Write, Some(KIB4), rw),
        of(Random, Read, Some(KIB4), rr),
    ]
}

const fn sd(
    preset: &'static str,
    device: &'static str,
    bandwidths: &'static [Bandwidth],
    footprint: &'static str,
) -> Published {
    Published {
        preset,
        device,
        year: None,
        source: REVISITING,
        alone: &[],
        slowdown: &[],
        concurrency: &[],
        mixes: &[],
        bandwidths,
        footprint: Some(footprint),
        remarks: &[
            (
                Topic::Bandwidth,
                "Random rates are printed with two decimals: 0.01 MB/s stands for anything from 0.005 to 0.015.",
            ),
            (Topic::Bandwidth, "The sequential figures are for 128 MB in all; the size of a request is not given."),
        ],
    }
}

const FALLS: &str = "falls sharply as the range grows, then stays low";

/// Every device with published figures.
pub static ALL: &[Published] = &[
    Published {
        preset: "galaxy-s5-emmc",
        device: "Samsung Galaxy S5, internal eMMC",
        year: Some(2014),
        source: DISSERTATION,
        alone: &[
            alone(Sequential, Read, 72.0),
            alone(Random, Read, 187.0),
            alone(Sequential, Write, 190.0),
            alone(Random, Write, 410.0),
        ],
        slowdown: &[
            slow(Sequential, Read, 1, 6.15, 1.72),
            slow(Sequential, Write, 1, 1.13, 1.51),
            slow(Random, Read, 1, 3.18, 1.97),
            slow(Random, Write, 1, 1.6, 1.83),
            slow(Sequential, Read, 4, 28.03, 5.12),
            slow(Sequential, Write, 4, 4.21, 6.12),
            slow(Random, Read, 4, 19.22, 8.75),
            slow(Random, Write, 4, 8.01, 9.32),
        ],
        concurrency: &[
            best(Sequential, Read, 2, 1.45),
            best(Sequential, Write, 4, 1.29),
            best(Random, Read, 4, 1.55),
            best(Random, Write, 2, 1.41),
        ],
        mixes: &[
            mix("SmartIO", None, 10, 9.0),
            mix("CFQ", Some("bfq"), 10, 16.0),
            mix("Deadline", Some("mq-deadline"), 10, 28.0),
            mix("Noop", Some("none"), 10, 30.0),
            mix("SmartIO", None, 50, 3.0),
            mix("CFQ", Some("bfq"), 50, 8.0),
            mix("Deadline", Some("mq-deadline"), 50, 20.0),
            mix("Noop", Some("none"), 50, 22.0),
        ],
        bandwidths: &[],
        footprint: None,
        remarks: &[
            (
                Topic::Mixes,
                "CFQ left the kernel with 5.0: bfq stands in for it, mq-deadline for Deadline, none for Noop.",
            ),
            (
                Topic::Mixes,
                "The times do not follow from the paper's times of single requests: 128 MB with 10 % reads, one \
                 request after the other, would take 5.8 s, and its four schedulers took 9 to 30 s.",
            ),
            (
                Topic::Slowdown,
                "The printed read slowdown of 6.15 is 6.18 when taken from the printed times (0.445 ms over 0.072 ms).",
            ),
            (
                Topic::Slowdown,
                "The random write slowdown at 4 + 4 is printed as 8.01 for this phone and for a second one.",
            ),
        ],
    },
    Published {
        preset: "nexus4-emmc",
        device: "Google Nexus 4, internal eMMC",
        year: Some(2012),
        source: MARS,
        alone: &[],
        slowdown: &[
            slow_from_kb(Sequential, Read, 64_619.0, 34_071.0),
            slow_from_kb(Sequential, Write, 16_386.0, 14_153.0),
            slow_from_kb(Random, Read, 18_658.0, 4_503.0),
            slow_from_kb(Random, Write, 5_758.0, 4_359.0),
        ],
        concurrency: &[],
        mixes: &[],
        bandwidths: &[
            kb(Sequential, Read, KIB4, 63_071.0),
            kb(Sequential, Read, 16 << 10, 61_105.0),
            kb(Sequential, Read, KIB64, 64_619.0),
            kb(Sequential, Read, 256 << 10, 61_648.0),
            kb(Sequential, Read, 1 << 20, 63_957.0),
            kb(Random, Read, KIB4, 6_839.0),
            kb(Random, Read, 16 << 10, 11_676.0),
            kb(Random, Read, KIB64, 18_658.0),
            kb(Random, Read, 256 << 10, 29_330.0),
            kb(Random, Read, 1 << 20, 55_352.0),
            kb(Sequential, Write, KIB64, 16_386.0),
            kb(Random, Write, KIB64, 5_758.0),
        ],
        footprint: None,
        remarks: &[
            (Topic::Bandwidth, "KB is taken as 1024 bytes; the paper does not say."),
            (Topic::Slowdown, "The paper prints bandwidths at 64 KB; the slowdowns are their ratios."),
            (
                Topic::Bandwidth,
                "The text puts sequential reads at up to ten times the scattered ones; its table gives 9.2 times at 4 \
                 KB.",
            ),
        ],
    },
    sd(
        "sd-transcend",
        "Transcend SD card, 16 GB, class 2",
        &card(4.35, 13.52, 1.38, 2.92),
        "stays high over all ranges",
    ),
    sd("sd-ridata", "RiData SD card, 16 GB, class 2", &card(5.86, 11.51, 0.03, 2.76), "falls, less sharply than most"),
    sd(
        "sd-sandisk",
        "Sandisk SD card, 16 GB, class 4",
        &card(4.93, 8.44, 0.67, 0.73),
        "falls twice: near 32 MB and near 1,024 MB",
    ),
    sd("sd-kingston", "Kingston SD card, 16 GB, class 4", &card(4.56, 9.84, 0.01, 1.94), FALLS),
    sd("sd-wintec", "Wintec SD card, 16 GB, class 6", &card(9.91, 13.38, 0.01, 3.82), FALLS),
    sd("sd-adata", "A-Data SD card, 16 GB, class 6", &card(8.93, 13.49, 0.01, 3.64), FALLS),
    sd("sd-patriot", "Patriot SD card, 16 GB, class 10", &card(8.83, 13.38, 0.01, 3.72), FALLS),
    sd("sd-pny", "PNY SD card, 16 GB, class 10", &card(10.28, 14.02, 0.01, 3.95), FALLS),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn s5() -> &'static Published {
        for_preset("galaxy-s5-emmc").expect("the phone of the dissertation")
    }

    /// Times concurrent with the other kind, as the text prints them; the write's are not printed.
    const MIXED_US: [(Pattern, f64); 2] = [(Sequential, 445.0), (Random, 595.0)];

    #[test]
    fn every_preset_stands_once() {
        for published in ALL {
            assert_eq!(ALL.iter().filter(|p| p.preset == published.preset).count(), 1, "{}", published.preset);
            assert_eq!(for_preset(published.preset).map(|p| p.device), Some(published.device));
        }
        assert_eq!(for_preset("galaxy-s6"), None);
    }

    #[test]
    fn printed_slowdowns_follow_from_printed_times_within_rounding() {
        for (pattern, mixed_us) in MIXED_US {
            let alone = s5().alone(pattern, Read).expect("printed").mean_us;
            let printed = s5().slowdown(pattern, Read, 1, KIB4).expect("printed").stock;
            assert!((mixed_us / alone / printed - 1.0).abs() < 0.006, "{pattern:?}");
        }
    }

    #[test]
    fn the_sequential_read_slowdown_contradicts_its_own_times() {
        // 445 / 72 is 6.18. What three decimals leave open is wider (6.13 to 6.23) and holds 6.15: the times were
        // rounded before they were printed, and the ratio was not taken from the rounded ones.
        let alone = s5().alone(Sequential, Read).expect("printed").mean_us;
        let printed = s5().slowdown(Sequential, Read, 1, KIB4).expect("printed").stock;
        assert_eq!(format!("{:.2}", MIXED_US[0].1 / alone), "6.18");
        assert!((MIXED_US[0].1 - 0.5) / (alone + 0.5) < printed && printed < (MIXED_US[0].1 + 0.5) / (alone - 0.5));
        assert!(s5().remarks.iter().any(|(_, r)| r.contains("6.15") && r.contains("6.18")));
    }

    #[test]
    fn the_scheduler_comparison_contradicts_the_times_alone() {
        let requests = (MIX_BYTES / KIB4) as f64;
        let us = |direction| s5().alone(Sequential, direction).expect("printed").mean_us;
        let serial_s = requests * (0.1 * us(Read) + 0.9 * us(Write)) / 1e6;
        assert_eq!(format!("{serial_s:.1}"), "5.8");
        assert!(s5().mixes.iter().filter(|m| m.read_percent == 10).all(|m| m.response_s > serial_s));
        assert!(s5().remarks.iter().any(|(_, r)| r.contains("5.8 s")));
    }

    #[test]
    fn claims_of_the_text_hold_in_the_figures() {
        let us = |p, d| s5().alone(p, d).expect("printed").mean_us;
        assert_eq!(format!("{:.1}", us(Random, Read) / us(Sequential, Read)), "2.6");
        // Reads suffer more than writes, and gain more from concurrency; SmartIO turns the former around.
        for pattern in [Sequential, Random] {
            for streams in [1, 4] {
                let of = |d| s5().slowdown(pattern, d, streams, KIB4).expect("printed");
                assert!(of(Read).stock > of(Write).stock);
                assert!(of(Read).smartio < Some(of(Read).stock) && of(Write).smartio > Some(of(Write).stock));
            }
            let speedup = |d| s5().best_concurrency(pattern, d).expect("printed").speedup;
            assert!(speedup(Read) > speedup(Write));
        }
        // More reads, less time; SmartIO first, CFQ second; the largest gain over CFQ is within the 64 % of the text.
        for mix in s5().mixes.iter().filter(|m| m.read_percent == 10) {
            let half = s5().mixes.iter().find(|m| m.read_percent == 50 && m.scheduler == mix.scheduler);
            assert!(half.is_some_and(|h| h.response_s < mix.response_s));
        }
        let gain = |percent| {
            let of = |name| s5().mixes.iter().find(|m| m.read_percent == percent && m.scheduler == name);
            1.0 - of("SmartIO").expect("printed").response_s / of("CFQ").expect("printed").response_s
        };
        assert!(gain(10) > 0.4 && gain(50) < 0.64);
    }

    #[test]
    fn the_nexus_4_tables_agree_where_they_meet() {
        let nexus = for_preset("nexus4-emmc").expect("the phone of MARS");
        let rate = |p, block| {
            let of =
                nexus.bandwidths.iter().find(|b| (b.pattern, b.direction, b.block_bytes) == (p, Read, Some(block)));
            of.expect("printed").bytes_per_s
        };
        assert_eq!(format!("{:.1}", rate(Sequential, KIB4) / rate(Random, KIB4)), "9.2");
        assert!(nexus.remarks.iter().any(|(_, r)| r.contains("9.2")));
        // Random reads gain from size, sequential ones do not.
        assert!(rate(Random, 1 << 20) > 8.0 * rate(Random, KIB4));
        assert!((rate(Sequential, 1 << 20) / rate(Sequential, KIB4) - 1.0).abs() < 0.05);
        assert_eq!(format!("{:.2}", nexus.slowdown(Random, Read, 1, KIB64).expect("printed").stock), "4.14");
    }

    #[test]
    fn cards_have_four_figures_and_a_shape() {
        let cards: Vec<_> = ALL.iter().filter(|p| p.preset.starts_with("sd-")).collect();
        assert_eq!(cards.len(), 8);
        for card in cards {
            assert_eq!(card.bandwidths.len(), 4);
            assert!(card.footprint.is_some());
            assert!(card.bandwidths.iter().all(|b| b.bytes_per_s > 0.0));
        }
    }
}
