//! One job of fio: from its options to the requests that it asks for.
//!
//! What several options decide together is decided after the last of them, so their order does not matter but for
//! `rwmixread` and `rwmixwrite`, of which the later one counts, as in fio.

use crate::results::Pattern;

use super::Given;
use super::options::check_ignored;
use super::value::{Way, direction, number};
use crate::error::{Error, Result};
use crate::workload::{Action, Ask, Stream};

/// Block sizes that a profile can issue: for requests at a rate, which have buffers for the deepest queue, and for
/// others.
const BLOCK_BYTES_MIN: u64 = 4096;
const RATED_BLOCK_BYTES_MAX: u64 = 1 << 20;
const BLOCK_BYTES_MAX: u64 = 16 << 20;
/// Most requests in flight.
const DEPTH_MAX: u64 = 256;
/// Most memory for requests in flight.
const IN_FLIGHT_BYTES_MAX: u64 = 256 << 20;
/// Highest rate of a direction.
const RATE_MAX: f64 = 1e5;

/// I/O engines that have one request in flight, whatever `iodepth` is; the first is fio's default on Linux.
const SYNCHRONOUS: [&str; 6] = ["psync", "sync", "vsync", "pvsync", "pvsync2", "posix"];
/// Those that have `iodepth` requests in flight.
const QUEUED: [&str; 5] = ["libaio", "io_uring", "posixaio", "windowsaio", "solarisaio"];

/// Limits of reads and of writes; 0 is none.
#[derive(Debug, Clone, Copy)]
struct Rates<'a> {
    by: &'a Given,
    of: [u64; 2],
}

#[derive(Debug)]
pub(super) struct Job<'a> {
    pattern: Pattern,
    way: Way,
    mix_percent: u32,
    kb_base: u64,
    /// Of reads and of writes.
    block_bytes: [u64; 2],
    blocks: Option<&'a Given>,
    align: Option<(&'a Given, u64)>,
    depth: u64,
    depth_by: Option<&'a Given>,
    engine: &'a str,
    jobs: u64,
    files: u64,
    several: Option<&'a Given>,
    in_turn: bool,
    buffered: bool,
    warm: Option<&'a Given>,
    rate_iops: Option<Rates<'a>>,
    rate_bytes: Option<Rates<'a>>,
    flush_every: u64,
    flush_by: Option<&'a Given>,
    dsync: bool,
    low: Option<(&'a Given, u64)>,
    percentage: Option<(&'a Given, u64)>,
    verify: Option<&'a Given>,
    /// Whether what was written is read at the end.
    reads_back: bool,
    /// Whether fio begins it when those before it have ended.
    pub(super) waits: bool,
    /// Options without effect.
    pub(super) ignored: Vec<&'a Given>,
}

impl<'a> Job<'a> {
    /// A job with these options, of which later ones count.
    ///
    /// # Errors
    /// When an option is unknown, invalid or cannot be honoured; the error names its line.
    pub(super) fn of(options: &'a [Given]) -> Result<Self> {
        let mut job = Self {
            pattern: Pattern::Sequential,
            way: Way::Read,
            mix_percent: 50,
            kb_base: 1024,
            block_bytes: [4096; 2],
            blocks: None,
            align: None,
            depth: 1,
            depth_by: None,
            engine: SYNCHRONOUS[0],
            jobs: 1,
            files: 1,
            several: None,
            in_turn: true,
            buffered: true,
            warm: None,
            rate_iops: None,
            rate_bytes: None,
            flush_every: 0,
            flush_by: None,
            dsync: false,
            low: None,
            percentage: None,
            verify: None,
            reads_back: true,
            waits: false,
            ignored: Vec::new(),
        };
        // Units of all sizes follow from it.
        for given in options.iter().filter(|given| given.key == "kb_base") {
            job.kb_base = match given.value.as_deref() {
                Some("1024") => 1024,
                Some("1000") => 1000,
                _ => return Err(given.wrong(format!("{} cannot be: use 1024 or 1000", given.text()))),
            };
        }
        for given in options.iter().filter(|given| given.key != "kb_base") {
            job.set(given).map_err(|why| given.wrong(why))?;
        }
        job.check()?;
        Ok(job)
    }

    fn set(&mut self, given: &'a Given) -> std::result::Result<(), String> {
        let key = given.key.as_str();
        let value = given.value.as_deref();
        let needed =
            || value.filter(|value| !value.is_empty()).ok_or_else(|| format!("{key} needs a value, as in {key}=..."));
        let whole = |least: u64, most: u64| {
            let value = needed()?;
            let number = number(value, self.kb_base).filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| format!("{key}={value} cannot be: use {least} to {most}"))
        };
        let flag = || match value {
            None | Some("1") => Ok(true),
            Some("0") => Ok(false),
            Some(other) => Err(format!("{key}={other} cannot be: use 0 or 1")),
        };
        match key {
            "rw" => (self.pattern, self.way) = direction(key, &needed()?.to_ascii_lowercase())?,
            "rwmixread" | "rwmixwrite" => {
                let value = needed()?;
                if let Some((_, last)) = value.rsplit_once(',') {
                    return Err(format!(
                        "{key}={value} has two numbers, of which fio takes the last: write {key}={last}"
                    ));
                }
                let percent = whole(0, 100)? as u32;
                self.mix_percent = if key == "rwmixread" { percent } else { 100 - percent };
            }
            "bs" | "bsrange" => {
                self.block_bytes = self.blocks_of(key, needed()?)?;
                self.blocks = Some(given);
            }
            "bssplit" => {
                let value = needed()?;
                let bytes = value.split('/').next().and_then(|first| number(first, self.kb_base));
                let is_one =
                    !value.contains([':', ',']) && matches!(value.split_once('/'), None | Some((_, "" | "100")));
                let bytes = bytes.filter(|_| is_one).ok_or_else(|| {
                    format!("{key}={value} asks for several sizes of requests: make one job for each")
                })?;
                (self.block_bytes, self.blocks) = ([bytes; 2], Some(given));
            }
            "ba" => self.align = Some((given, whole(1, u64::MAX)?)),
            "iodepth" => {
                self.depth = whole(1, DEPTH_MAX)?;
                self.depth_by = Some(given);
            }
            "iodepth_low" => self.low = Some((given, whole(0, u64::MAX)?)),
            "ioengine" => {
                let value = needed()?;
                if !SYNCHRONOUS.contains(&value) && !QUEUED.contains(&value) {
                    return Err(format!(
                        "{key}={value} cannot be: use {}, which read and write files by system calls",
                        [&SYNCHRONOUS[..], &QUEUED].concat().join(", ")
                    ));
                }
                self.engine = value;
            }
            "numjobs" => {
                self.jobs = whole(1, DEPTH_MAX)?;
                self.several = Some(given);
            }
            "nrfiles" | "filename" => {
                self.files = match key {
                    "nrfiles" => whole(1, u64::MAX)?,
                    // A colon of a name has a backslash before it.
                    _ => needed()?.replace("\\:", "").split(':').count() as u64,
                };
                self.several = Some(given);
                self.ignored.push(given);
            }
            "file_service_type" => {
                self.in_turn = match needed()? {
                    "sequential" => false,
                    "roundrobin" | "roundrobin:1" => true,
                    other => return Err(format!("{key}={other} cannot be: use roundrobin or sequential")),
                };
            }
            "direct" => {
                self.buffered =
                    !flag().and_then(|on| value.map(|_| on).ok_or_else(|| format!("{key} needs a value: 0 or 1")))?
            }
            "buffered" => self.buffered = flag()?,
            "invalidate" => self.warm = (!flag()?).then_some(given),
            "rate_iops" => self.rate_iops = Some(Rates { by: given, of: self.pair(key, needed()?)? }),
            "rate" => self.rate_bytes = Some(Rates { by: given, of: self.pair(key, needed()?)? }),
            "fsync" | "fdatasync" => {
                self.flush_every = whole(0, 1_000_000)?;
                self.flush_by = Some(given);
            }
            "sync" => {
                self.dsync = match needed()? {
                    "none" | "0" => false,
                    "sync" | "dsync" | "1" => true,
                    other => return Err(format!("{key}={other} cannot be: use none, sync or dsync")),
                };
            }
            "percentage_random" => self.percentage = Some((given, whole(0, 100)?)),
            "do_verify" => self.reads_back = flag()?,
            "verify" => self.verify = Some(given).filter(|_| value != Some("0")),
            "size" => {
                if matches!(needed()?.trim_end_matches('%'), zero if number(zero, self.kb_base) == Some(0)) {
                    return Err("size=0 leaves nothing to read or write: give the size that fio is to use".to_owned());
                }
                self.ignored.push(given);
            }
            _ => {
                check_ignored(key, value)?;
                self.waits |= matches!(key, "stonewall" | "wait_for") && value != Some("0");
                self.ignored.push(given);
            }
        }
        Ok(())
    }

    /// Sizes of reads and of writes in `bs=`; one that is not named stays.
    fn blocks_of(&self, key: &str, value: &str) -> std::result::Result<[u64; 2], String> {
        let one = |text: &str, earlier: u64| {
            if text.is_empty() {
                return Ok(earlier);
            }
            let (low, high) = text.split_once('-').unwrap_or((text, text));
            if low != high {
                return Err(format!("{key}={value} asks for several sizes of requests: make one job for each"));
            }
            number(low, self.kb_base).ok_or_else(|| format!("{key}={value} is no size, such as 4k"))
        };
        // Of reads, writes and discards.
        let [reads, writes] = self.block_bytes;
        match value.split(',').collect::<Vec<_>>()[..] {
            [both] => Ok([one(both, reads)?, one(both, writes)?]),
            [of_reads, of_writes] | [of_reads, of_writes, _] => Ok([one(of_reads, reads)?, one(of_writes, writes)?]),
            _ => Err(format!("{key}={value} has more than the sizes of reads, writes and discards")),
        }
    }

    /// Numbers of reads and of writes; one alone is for both.
    fn pair(&self, key: &str, value: &str) -> std::result::Result<[u64; 2], String> {
        let one = |text: &str| match text {
            "" => Ok(0),
            text => {
                number(text, self.kb_base).ok_or_else(|| format!("{key}={value} is no rate, such as 500 or 500,100"))
            }
        };
        match value.split(',').collect::<Vec<_>>()[..] {
            [both] => Ok([one(both)?; 2]),
            [reads, writes] | [reads, writes, _] => Ok([one(reads)?, one(writes)?]),
            _ => Err(format!("{key}={value} has more than the rates of reads, writes and discards")),
        }
    }

    /// What options are together.
    fn check(&mut self) -> Result<()> {
        if let Some((given, percent)) = self.percentage
            && self.pattern == Pattern::Random
        {
            match percent {
                100 => {}
                0 => self.pattern = Pattern::Sequential,
                _ => {
                    let why = format!("{} asks for a mix of orders: make a random and a sequential job", given.text());
                    return Err(given.wrong(why));
                }
            }
        }
        let [reads, writes] = self.block_bytes;
        let used: Vec<u64> = [(Way::Write, reads), (Way::Read, writes)]
            .into_iter()
            .filter_map(|(other, bytes)| (self.way_used() != other).then_some(bytes))
            .collect();
        let most = if self.rates()?.is_some() { RATED_BLOCK_BYTES_MAX } else { BLOCK_BYTES_MAX };
        for bytes in &used {
            if let Some(given) = self.blocks
                && !(bytes.is_power_of_two() && (BLOCK_BYTES_MIN..=most).contains(bytes))
            {
                let least = brisk_core::units::format_bytes(BLOCK_BYTES_MIN);
                let most = brisk_core::units::format_bytes(most);
                let why = format!(
                    "{} is {bytes} bytes for fio, and a profile has powers of two from {least} to {most}: write 4k for \
                     4096 bytes",
                    given.text()
                );
                return Err(given.wrong(why));
            }
        }
        if let (Some(given), None, [one, other]) = (self.blocks, self.rates()?, &used[..])
            && one != other
        {
            let why = format!("{} has two sizes, which need a rate: give rate_iops, or make two jobs", given.text());
            return Err(given.wrong(why));
        }
        if let Some((given, bytes)) = self.align
            && self.pattern == Pattern::Random
            && used.iter().any(|block| *block != bytes)
        {
            return Err(given.wrong(format!("{} is not the size of a request: leave it out", given.text())));
        }
        if let Some((given, low)) = self.low
            && low != 0
            && low != self.depth
        {
            return Err(given.wrong(format!("{} asks for requests in batches: leave it out", given.text())));
        }
        if let Some(given) = self.warm
            && self.buffered
        {
            let why = "a profile empties the page cache before each workload: leave it out, or add direct=1";
            return Err(given.wrong(why));
        }
        if let Some(given) = self.verify
            && self.reads_back
            && self.way_used() != Way::Read
        {
            return Err(given.wrong(format!("{} asks for reads of all that was written: leave it out", given.text())));
        }
        if self.pattern == Pattern::Sequential && self.streams() > DEPTH_MAX {
            return Err(self.refuse_several(format!(
                "asks for {} sequential streams, and a profile has {DEPTH_MAX}",
                self.streams()
            )));
        }
        let in_flight = self.in_flight();
        let largest = used.iter().max().copied().unwrap_or(BLOCK_BYTES_MIN);
        if in_flight > DEPTH_MAX || (self.rates()?.is_none() && in_flight * largest > IN_FLIGHT_BYTES_MAX) {
            return Err(self.refuse_several(format!(
                "asks for {in_flight} requests of {largest} bytes in flight, and a profile has {DEPTH_MAX} requests or \
                 256 MiB"
            )));
        }
        if let Some(given) = self.flush_by
            && self.flush_every > 1
            && self.buffered
            && !self.dsync
            && self.rates()?.is_none()
        {
            let why = format!(
                "{} needs direct=1 or a rate (rate_iops) here: one write of the page cache can be made durable",
                given.text()
            );
            return Err(given.wrong(why));
        }
        Ok(())
    }

    fn refuse_several(&self, why: String) -> Error {
        match self.several.or(self.depth_by).or(self.blocks) {
            Some(given) => given.wrong(format!("{} {why}", given.text())),
            None => Error::Workload { name: "of a job file".to_owned(), why },
        }
    }

    /// The way that requests take with the shares of a mix.
    fn way_used(&self) -> Way {
        match (self.way, self.mix_percent) {
            (Way::Mix, 100) => Way::Read,
            (Way::Mix, 0) => Way::Write,
            (way, _) => way,
        }
    }

    /// Whether the requests go through the page cache.
    pub(super) fn is_cached(&self) -> bool {
        self.buffered
    }

    /// Requests in flight of all processes of the job.
    fn in_flight(&self) -> u64 {
        let own = if QUEUED.contains(&self.engine) { self.depth } else { 1 };
        own * self.jobs
    }

    /// Sequential streams: each process has one in each file that it goes through in turn.
    fn streams(&self) -> u64 {
        self.jobs.saturating_mul(if self.in_turn { self.files } else { 1 })
    }

    /// Every so many writes are made durable; 0 is never.
    fn durable_every(&self) -> u64 {
        if self.dsync { 1 } else { self.flush_every }
    }

    /// Requests a second of reads and of writes of one process, where they have a limit.
    fn rates(&self) -> Result<Option<[f64; 2]>> {
        let (rates, unit) = match (self.rate_iops, self.rate_bytes) {
            (Some(_), Some(bytes)) if bytes.of != [0; 2] => {
                return Err(bytes.by.wrong("rate and rate_iops exclude each other: leave one out"));
            }
            (Some(iops), _) => (iops, [1; 2]),
            (None, Some(bytes)) => (bytes, self.block_bytes),
            (None, None) => return Ok(None),
        };
        let used: Vec<u64> = match self.way_used() {
            Way::Read => vec![rates.of[0]],
            Way::Write => vec![rates.of[1]],
            Way::Mix => rates.of.to_vec(),
        };
        if used.iter().all(|rate| *rate == 0) {
            return Ok(None);
        }
        if used.contains(&0) {
            let why = "limits one of reads and writes, and the other has no limit: give both rates, or none";
            return Err(rates.by.wrong(format!("{} {why}", rates.by.text())));
        }
        let [reads, writes] = [0, 1].map(|way| rates.of[way] as f64 / unit[way].max(1) as f64);
        if [reads, writes].iter().any(|rate| rate * self.jobs as f64 > RATE_MAX) {
            return Err(rates
                .by
                .wrong(format!("{} cannot be: a profile has at most {RATE_MAX} requests a second", rates.by.text())));
        }
        Ok(Some([reads, writes]))
    }

    /// What the user should know.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(given) = self.depth_by
            && self.depth > 1
            && SYNCHRONOUS.contains(&self.engine)
        {
            let default = if self.engine == SYNCHRONOUS[0] { ", fio's default" } else { "" };
            notes.push(format!(
                "{} (line {}) has no effect with the synchronous ioengine={}{default}: one request is in flight; use \
                 ioengine=libaio or io_uring for more",
                given.text(),
                given.line,
                self.engine
            ));
        }
        notes
    }

    /// The requests.
    ///
    /// # Errors
    /// When rates contradict each other.
    pub(super) fn ask(&self) -> Result<Ask> {
        let read_percent = match self.way {
            Way::Read => 100,
            Way::Write => 0,
            Way::Mix => self.mix_percent,
        };
        let streams = if self.pattern == Pattern::Sequential { self.streams() } else { 1 };
        let Some([reads, writes]) = self.rates()? else {
            return Ok(Ask::Closed {
                pattern: self.pattern,
                read_percent,
                block_bytes: self.block_bytes[usize::from(read_percent == 0)],
                depth_requests: self.in_flight() as u32,
                streams: streams as u32,
                durable_every_writes: self.durable_every() as u32,
            });
        };
        let mut all = Vec::new();
        for (action, rate, block_bytes) in [
            (Action::Read, if read_percent > 0 { reads } else { 0.0 }, self.block_bytes[0]),
            (Action::Write, if read_percent < 100 { writes } else { 0.0 }, self.block_bytes[1]),
        ] {
            if rate > 0.0 {
                let requests_per_s = rate * self.jobs as f64 / streams as f64;
                let stream = Stream { action, pattern: self.pattern, block_bytes, requests_per_s };
                all.extend(std::iter::repeat_n(stream, streams as usize));
            }
        }
        let written = if read_percent < 100 { writes * self.jobs as f64 } else { 0.0 };
        if self.durable_every() > 0 && written > 0.0 {
            all.push(Stream {
                action: Action::Flush,
                pattern: Pattern::Sequential,
                block_bytes: 0,
                requests_per_s: written / self.durable_every() as f64,
            });
        }
        Ok(Ask::Open(all))
    }
}
