//! A load of the hunt as a scenario file: device, jobs and lengths.
//!
//! What runs is the parsed text, so a file that the hunt writes is exactly the load that it measured. All guests have
//! the same memory, so that loads share boots.

use std::fmt::Write as _;

use brisk_core::units::format_bytes;

use super::load::Dim::*;
use super::load::Levels;

/// Base devices, their kinds as `brisk_core::device::Device::kind` has them, and their sequential write rate in MiB/s,
/// by which the lengths of loads are chosen.
const PRESETS: [(&str, &str, u32); 6] = [
    ("four-dies", "virtual", 0),
    ("emmc-5.1", "emmc", 100),
    ("galaxy-s5-emmc", "emmc", 20),
    ("nexus4-emmc", "emmc", 12),
    ("ufs-3.1", "ufs", 400),
    ("sd-sandisk", "sd", 8),
];
/// I/O priorities; empty: that of the process.
const PRIORITIES: [&str; 5] = ["", "be:0", "be:7", "rt:4", "idle"];
/// Capacity of the device.
const SIZE_MIB: u32 = 512;
/// Memory of every guest, the device's data included.
const GUEST_MIB: u32 = 896;
/// Reads, writes and discards have these parts of a raw device, in MiB: begin and length.
const PARTS_MIB: [(u32, u32); 3] = [(0, 192), (192, 192), (384, 128)];
/// Limits of a load's length, in seconds of the guest.
const SECONDS: (f64, f64) = (1.0, 4.0);
/// Requests and pauses that a load has at least, within the limits.
const REQUESTS_MIN: f64 = 300.0;
const PAUSES_MIN: f64 = 60.0;
/// Limit of what all copies write, in KiB: it fits into the device and the memory.
const COPIES_KIB_MAX: u32 = 200 << 10;
/// Copies last at most so long on the device alone, in seconds.
const COPIES_S_MAX: f64 = 4.0;
/// Readers of concurrent copies last so many times as long as the copies alone.
const READERS_OVER_COPIES: f64 = 1.5;

/// Kinds of reads, in words.
const READS: [&str; 4] = ["", "buffered cold ", "buffered ", "faulting "];

impl Levels {
    /// The kind of its device: `emmc`, `ufs`, `sd`, or `virtual` for one made of dies.
    #[must_use]
    pub fn kind(self) -> &'static str {
        PRESETS[self.value(Preset) as usize].1
    }

    /// The load in words: jobs, then the device.
    #[must_use]
    pub fn words(self) -> String {
        let mut jobs = Vec::new();
        if self.value(Readers) > 0 {
            let count = self.value(Readers);
            let mut words = format!(
                "{count} {}{} {} of {}",
                READS[self.value(ReadHow) as usize],
                order(self.value(ReadOrder)),
                plural(count, "reader"),
                size(self.value(ReadKib)),
            );
            words.push_str(&depth(self.value(ReadDepth)));
            words.push_str(&pause(self.value(ReadPauseUs), self.value(ReadBurst)));
            words.push_str(&priority(self.value(ReadPriority)));
            jobs.push(words);
        }
        if self.value(Writers) > 0 {
            let count = self.value(Writers);
            let mut words = match self.value(WriteHow) {
                0 => format!(
                    "{count} {} {} of {}{}",
                    order(self.value(WriteOrder)),
                    plural(count, "writer"),
                    size(self.value(WriteKib)),
                    depth(self.value(WriteDepth)),
                ),
                _ => format!(
                    "{count} {} of {}, fsync every {}",
                    plural(count, "buffered copy"),
                    size(self.copy().0),
                    size(self.copy().1),
                ),
            };
            words.push_str(&pause(self.value(WritePauseUs), 1));
            words.push_str(&priority(self.value(WritePriority)));
            jobs.push(words);
        }
        if self.value(Commits) > 0 {
            let count = self.value(Commits);
            jobs.push(format!("{count} {}{}", plural(count, "committer"), pause(self.value(CommitPauseUs), 1)));
        }
        if self.value(Discards) > 0 {
            jobs.push(format!("discards of {}", size(self.value(DiscardKib))));
        }
        format!("{} on {}", jobs.join(" + "), self.device_words())
    }

    #[must_use]
    pub fn device_words(self) -> String {
        let mut words = match self.value(Preset) {
            0 => format!(
                "{} {} of {}/{} us{}",
                self.value(Dies),
                plural(self.value(Dies), "die"),
                self.value(ReadUs),
                self.value(ProgramUs),
                if self.value(WriteCache) > 0 { " with cache" } else { "" },
            ),
            preset => PRESETS[preset as usize].0.to_owned(),
        };
        if self.value(Tags) > 0 {
            let _ = write!(words, ", {} {}", self.value(Tags), plural(self.value(Tags), "tag"));
        }
        if self.value(FileSystem) > 0 {
            words.push_str(", ext4");
        }
        words
    }

    /// Sequential write rate of the device in KiB a second.
    fn rate_kib(self) -> f64 {
        match self.value(Preset) {
            // Pages of 4 KiB; a transfer of one takes 5 us.
            0 => (f64::from(self.value(Dies)) / f64::from(self.value(ProgramUs))).min(0.2) * 4e6,
            preset => f64::from(PRESETS[preset as usize].2) * 1024.0,
        }
    }

    /// What each copy writes in all, and between two fsyncs, in KiB.
    fn copy(self) -> (u32, u32) {
        let copies = self.value(Writers).max(1);
        let most = ((self.rate_kib() * COPIES_S_MAX) as u32).min(COPIES_KIB_MAX) / copies;
        let request = self.value(WriteKib);
        let whole = |kib: u32| (kib / request).max(1) * request;
        let fsync = whole(self.value(FsyncKib).min(most));
        let wanted = (self.rate_kib() * SECONDS.0 * 1.5) as u32 / copies;
        let all = (wanted.min(most) / fsync).max(1) * fsync;
        (all, fsync)
    }

    /// Length of the load and its warm-up, in seconds.
    fn seconds(self) -> (f64, f64) {
        if self.value(WriteHow) > 0 {
            let alone = f64::from(self.copy().0 * self.value(Writers)) / self.rate_kib();
            let seconds = (alone * READERS_OVER_COPIES).clamp(SECONDS.0, COPIES_S_MAX * READERS_OVER_COPIES);
            return (round(seconds), 0.0);
        }
        let read_s = if self.value(Preset) == 0 { f64::from(self.value(ReadUs)) * 1e-6 } else { 1e-3 };
        let write_s = f64::from(self.value(WriteKib)) / self.rate_kib();
        let pause_us = [ReadPauseUs, WritePauseUs, CommitPauseUs].map(|dim| self.value(dim));
        let pause_s = f64::from(pause_us.into_iter().max().unwrap_or(0)) * 1e-6;
        let requests_s = REQUESTS_MIN * read_s.max(if self.value(Writers) > 0 { write_s } else { 0.0 });
        let seconds = requests_s.max(PAUSES_MIN * pause_s).clamp(SECONDS.0, SECONDS.1);
        (round(seconds), round((seconds / 4.0).max(0.3)))
    }

    /// Size of the file that readers have in MiB: it is written before each case.
    fn file_mib(self) -> u32 {
        ((self.rate_kib() / 1024.0 * 1.5) as u32).clamp(8, 64)
    }

    /// The scenario. `question` is a sentence.
    #[must_use]
    pub fn scenario(self, question: &str) -> String {
        self.scenario_with(question, "")
    }

    /// The same, with further keys of the file.
    pub(super) fn scenario_with(self, question: &str, keys: &str) -> String {
        let on_files = self.value(FileSystem) > 0;
        let mut text = String::new();
        let _ = writeln!(text, "title = {}\nquestion = {}", quoted(&self.words()), quoted(question));
        let content = if on_files { SIZE_MIB } else { 0 };
        let _ = writeln!(text, "memory = \"{}MiB\"", GUEST_MIB - content);
        if on_files {
            text.push_str("file_system = \"ext4\"\n");
        }
        text.push_str("# Such loads may depend on chance in the guest.\nrepeat_percent_max = 5\n");
        text.push_str(keys);
        let _ = writeln!(
            text,
            "\n[device]\npreset = \"{}\"\nsize = \"{SIZE_MIB}MiB\"",
            PRESETS[self.value(Preset) as usize].0
        );
        if self.value(Tags) > 0 {
            let _ = writeln!(text, "depth_requests = {}", self.value(Tags));
        }
        if self.value(Preset) == 0 {
            let read = self.value(ReadUs);
            let _ = writeln!(
                text,
                "\n[device.set]\nunits = {}\nread_us = {read}\nread_next_us = {read}\nread_floor_us = {read}\n\
                 program_us = {}\nwrite_cache = {}",
                self.value(Dies),
                self.value(ProgramUs),
                self.value(WriteCache) > 0,
            );
        }
        let (seconds, warm) = self.seconds();
        let _ = writeln!(text, "\n[[load]]\nname = \"{LOAD}\"\nseconds = {seconds}\nwarm_seconds = {warm}");
        for job in self.jobs() {
            text.push_str(&job);
        }
        text
    }

    fn jobs(self) -> Vec<String> {
        let on_files = self.value(FileSystem) > 0;
        let mut jobs = Vec::new();
        let count = self.value(Readers);
        if count > 0 {
            let how = self.value(ReadHow);
            let op = if how == 3 { "fault" } else { "read" };
            let random = if self.value(ReadOrder) == 0 { "rand" } else { "" };
            let mut probe = format!(
                "op={random}{op} bytes={}KiB depth={}{}",
                self.value(ReadKib),
                self.value(ReadDepth),
                pauses(self.value(ReadPauseUs), self.value(ReadBurst)),
            );
            probe.push_str(["", " direct=0 cold=1", " direct=0", " cold=1"][how as usize]);
            let (part, place) = match on_files {
                true => (part_of(self.file_mib(), count), " file=data".to_owned()),
                false => (part_of(PARTS_MIB[0].1, count), String::new()),
            };
            let _ = write!(probe, "{place} size={part}MiB{}", level(self.value(ReadPriority)));
            jobs.push(job("reader", "read", count, &probe));
        }
        let count = self.value(Writers);
        if count > 0 {
            let kib = self.value(WriteKib);
            let (from, part) = PARTS_MIB[1];
            let part = part_of(part, count);
            let place = match on_files {
                true => format!(" file=written size={part}MiB"),
                false => format!(" offset={from}MiB size={part}MiB"),
            };
            let probe = match self.value(WriteHow) {
                0 => format!(
                    "op={}write bytes={kib}KiB depth={}{}{place}{}",
                    if self.value(WriteOrder) == 0 { "rand" } else { "" },
                    self.value(WriteDepth),
                    pauses(self.value(WritePauseUs), 1),
                    level(self.value(WritePriority)),
                ),
                _ => {
                    let (all, fsync) = self.copy();
                    format!(
                        "op=write bytes={kib}KiB direct=0 fsync_every={} file=written size={all}KiB \
                         stop_bytes={all}KiB{}",
                        fsync / kib,
                        level(self.value(WritePriority)),
                    )
                }
            };
            jobs.push(job("writer", "write", count, &probe));
        }
        let count = self.value(Commits);
        if count > 0 {
            let pause = pauses(self.value(CommitPauseUs), 1);
            jobs.push(job("commit", "sync", count, &format!("op=wal bytes=4KiB direct=0{pause} file=wal size=4MiB")));
        }
        if self.value(Discards) > 0 {
            let (from, part) = PARTS_MIB[2];
            let probe = format!("op=trim bytes={}KiB depth=4 offset={from}MiB size={part}MiB", self.value(DiscardKib));
            jobs.push(job("trim", "trim", 1, &probe));
        }
        jobs
    }

    /// Whether its writers are synchronous ones at depth 1.
    #[must_use]
    pub fn writes_one_by_one(self) -> bool {
        self.value(Writers) > 0 && self.value(WriteHow) == 0 && self.value(WriteDepth) == 1
    }
}

/// Name of the load in each scenario of the hunt.
pub const LOAD: &str = "hunted";

/// The part of each of `count` jobs in MiB, 1 at least.
fn part_of(whole_mib: u32, count: u32) -> u32 {
    whole_mib.checked_div(count).unwrap_or(whole_mib).max(1)
}

fn job(name: &str, side: &str, count: u32, probe: &str) -> String {
    format!("\n[[load.job]]\nname = \"{name}\"\nside = \"{side}\"\ncount = {count}\nprobe = \"{probe}\"\n")
}

fn quoted(words: &str) -> String {
    toml::Value::String(words.to_owned()).to_string()
}

/// Pauses of the probe. Linux AIO of one thread would pause between completions of one batch, so each request has its
/// thread.
fn pauses(us: u32, burst: u32) -> String {
    match (us, burst) {
        (0, _) => String::new(),
        (us, 1) => format!(" think_ns={us}000 engine=sync"),
        (us, burst) => format!(" think_ns={us}000 burst={burst} engine=sync"),
    }
}

fn level(priority: u32) -> String {
    match PRIORITIES[priority as usize] {
        "" => String::new(),
        priority => format!(" prio={priority}"),
    }
}

fn plural(count: u32, word: &str) -> String {
    match (count, word.strip_suffix('y')) {
        (1, _) => word.to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        _ => format!("{word}s"),
    }
}

fn order(order: u32) -> &'static str {
    if order == 0 { "random" } else { "sequential" }
}

fn size(kib: u32) -> String {
    format_bytes(u64::from(kib) << 10)
}

fn depth(depth: u32) -> String {
    if depth == 1 { String::new() } else { format!(" at depth {depth}") }
}

fn pause(us: u32, burst: u32) -> String {
    let every = if burst > 1 { format!(" after {burst}") } else { String::new() };
    match us {
        0 => String::new(),
        us if us < 1_000 => format!(", pause {us} us{every}"),
        us => format!(", pause {} ms{every}", us / 1_000),
    }
}

fn priority(place: u32) -> String {
    match PRIORITIES[place as usize] {
        "" => String::new(),
        priority => format!(", {priority}"),
    }
}

/// Seconds with two decimals.
fn round(seconds: f64) -> f64 {
    (seconds * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::vm::scenario::Scenario;

    fn devices() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel/scenarios/devices")
    }

    #[test]
    fn every_load_is_a_scenario_of_one_load_in_guests_of_one_memory() {
        for number in 0..400 {
            let load = Levels::draw(3, number);
            let text = load.scenario("Does it hold?");
            let scenario = Scenario::parse("t", &text, &devices()).unwrap_or_else(|why| panic!("{why}:\n{text}"));
            assert_eq!(scenario.loads.len(), 1);
            assert_eq!(scenario.memory_bytes(), u64::from(GUEST_MIB) << 20);
            let length = scenario.loads[0].estimate_s(1.0);
            assert!((1.0..=30.0).contains(&length), "{length} s: {}", load.words());
            // All parts lie on the device, beside each other.
            for job in &scenario.loads[0].jobs {
                let number = |key: &str| job.argument(key).map_or(0, |text| text.parse::<u64>().expect("a number"));
                let end = number("offset") + number("size") * u64::from(job.count);
                assert!(end <= u64::from(SIZE_MIB) << 20, "{text}");
                assert!(number("size") >= number("bytes"), "{text}");
            }
        }
    }

    #[test]
    fn a_load_is_described_in_the_fields_words() {
        let mut seen = std::collections::HashSet::new();
        for number in 0..500 {
            let words = Levels::draw(3, number).words();
            assert!(!words.contains("  ") && words.contains(" on "), "{words}");
            seen.insert(words);
        }
        assert!(seen.len() > 480, "different loads have different words: {}", seen.len());
        let simplest = Levels::new([0; super::super::load::DIMENSIONS]);
        assert_eq!(simplest.words(), "1 random reader of 4 KiB on 4 dies of 70/400 us");
    }
}
