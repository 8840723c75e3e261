//! Workloads from job files of fio.
//!
//! Supported: `rw` (or `readwrite`) of read, write, randread, randwrite, rw, randrw; `rwmixread`; `bs`; `iodepth`;
//! `rate_iops`; `[global]`; comments. A job with `rate_iops` arrives at that rate; one without keeps `iodepth` requests in
//! flight. Keys for place and time (`filename`, `size`, `runtime`, ...) are ignored, as the profile has its own; any other
//! key is refused, because it would change the measurement.

use std::path::Path;

use brisk_core::units::parse_bytes;
use brisk_results::Pattern;

use crate::error::{Error, Result};
use crate::workload::{Action, Ask, Stream, Workload};

/// Ignored keys.
const PASSED_OVER: [&str; 19] = [
    "description",
    "direct",
    "directory",
    "filename",
    "filesize",
    "group_reporting",
    "ioengine",
    "invalidate",
    "name",
    "norandommap",
    "numjobs",
    "ramp_time",
    "randrepeat",
    "refill_buffers",
    "runtime",
    "size",
    "startdelay",
    "stonewall",
    "time_based",
];

#[derive(Debug, Clone)]
struct Job {
    pattern: Pattern,
    /// 100 for reads alone, 0 for writes alone, absent for a mix.
    fixed_percent: Option<u32>,
    mix_percent: u32,
    block_bytes: u64,
    depth_requests: u32,
    /// Of reads and of writes.
    rate_iops: Option<(f64, f64)>,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            pattern: Pattern::Sequential,
            fixed_percent: Some(100),
            mix_percent: 50,
            block_bytes: 4096,
            depth_requests: 1,
            rate_iops: None,
        }
    }
}

/// The workloads of the job file `path` with content `text`, one for each job.
///
/// # Errors
/// When a line is invalid, or there is no job; the error names the line.
pub fn parse(path: &Path, text: &str) -> Result<Vec<Workload>> {
    let wrong = |line: usize, why: String| Error::Job { path: path.to_owned(), line, why };
    let mut global = Job::default();
    let mut jobs: Vec<(String, Job)> = Vec::new();
    let mut in_global = true;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            in_global = name == "global";
            if !in_global {
                jobs.push((name.to_owned(), global.clone()));
            }
            continue;
        }
        let (key, value) = line.split_once('=').map_or((line, ""), |(key, value)| (key.trim(), value.trim()));
        let job = match jobs.last_mut() {
            Some((_, job)) if !in_global => job,
            _ => &mut global,
        };
        job.set(key, value).map_err(|why| wrong(number, why))?;
    }
    if jobs.is_empty() {
        return Err(wrong(
            1,
            "there is no job in it: a job begins with its name in brackets, such as [mail]".to_owned(),
        ));
    }
    let about = format!("job of {}", path.display());
    Ok(jobs
        .into_iter()
        .map(|(name, job)| Workload { name, about: about.clone(), cached: false, ask: job.ask() })
        .collect())
}

impl Job {
    fn set(&mut self, key: &str, value: &str) -> std::result::Result<(), String> {
        let number = |value: &str, allowed: std::ops::RangeInclusive<f64>| {
            value
                .parse()
                .ok()
                .filter(|number| allowed.contains(number))
                .ok_or_else(|| format!("{key}={value} cannot be: use {} to {}", allowed.start(), allowed.end()))
        };
        match key {
            "rw" | "readwrite" => {
                let (pattern, percent) = match value {
                    "read" => (Pattern::Sequential, Some(100)),
                    "write" => (Pattern::Sequential, Some(0)),
                    "rw" | "readwrite" => (Pattern::Sequential, None),
                    "randread" => (Pattern::Random, Some(100)),
                    "randwrite" => (Pattern::Random, Some(0)),
                    "randrw" => (Pattern::Random, None),
                    other => {
                        return Err(format!(
                            "{key}={other} is not understood: use read, write, rw, randread, randwrite or randrw"
                        ));
                    }
                };
                (self.pattern, self.fixed_percent) = (pattern, percent);
            }
            "rwmixread" => self.mix_percent = number(value, 0.0..=100.0)? as u32,
            "bs" | "blocksize" => {
                self.block_bytes = parse_bytes(&in_powers_of_1024(value))
                    .ok()
                    .filter(|bytes| bytes.is_power_of_two() && (4096..=1 << 20).contains(bytes))
                    .ok_or_else(|| format!("{key}={value} cannot be: use a power of two from 4k to 1m"))?;
            }
            "iodepth" => self.depth_requests = number(value, 1.0..=256.0)? as u32,
            "rate_iops" => {
                let (reads, writes) = match value.split_once(',') {
                    Some((reads, writes)) => (number(reads, 0.0..=1e5)?, number(writes, 0.0..=1e5)?),
                    None => (number(value, 0.0..=1e5)?, number(value, 0.0..=1e5)?),
                };
                self.rate_iops = Some((reads, writes));
            }
            key if PASSED_OVER.contains(&key) => {}
            other => {
                return Err(format!(
                    "'{other}' is not understood: a workload has the keys rw, rwmixread, bs, iodepth and rate_iops"
                ));
            }
        }
        Ok(())
    }

    fn ask(&self) -> Ask {
        let read_percent = self.fixed_percent.unwrap_or(self.mix_percent);
        let Some((reads, writes)) = self.rate_iops else {
            return Ask::Closed {
                pattern: self.pattern,
                read_percent,
                block_bytes: self.block_bytes,
                depth_requests: self.depth_requests,
            };
        };
        // fio limits each direction by its own rate.
        let rates = [
            (Action::Read, if read_percent > 0 { reads } else { 0.0 }),
            (Action::Write, if read_percent < 100 { writes } else { 0.0 }),
        ];
        let streams = rates.into_iter().filter(|(_, rate)| *rate > 0.0).map(|(action, requests_per_s)| Stream {
            action,
            pattern: self.pattern,
            block_bytes: self.block_bytes,
            requests_per_s,
        });
        Ask::Open(streams.collect())
    }
}

/// A size with fio's units in those of brisk: without `kb_base`, 4kb are 4 KiB there.
fn in_powers_of_1024(value: &str) -> String {
    let lower = value.to_ascii_lowercase();
    if lower.ends_with("ib") { lower } else { lower.trim_end_matches('b').to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Vec<Workload>> {
        parse(Path::new("a.fio"), text)
    }

    #[test]
    fn jobs_inherit_from_global() {
        let text = "# mail\n[global]\nioengine=libaio\nbs=8k\nruntime=10\n\n[mail]\nrw=randrw\nrate_iops=150,60\n\
                    [copy]\nrw=write\nbs=64k\niodepth=4\n";
        let workloads = read(text).expect("understood");
        assert_eq!(workloads[0].name, "mail");
        let stream =
            |action, requests_per_s| Stream { action, pattern: Pattern::Random, block_bytes: 8192, requests_per_s };
        assert_eq!(workloads[0].ask, Ask::Open(vec![stream(Action::Read, 150.0), stream(Action::Write, 60.0)]));
        let copy =
            Ask::Closed { pattern: Pattern::Sequential, read_percent: 0, block_bytes: 65_536, depth_requests: 4 };
        assert_eq!(workloads[1].ask, copy);
    }

    #[test]
    fn block_sizes_are_in_powers_of_1024_as_fio_has_them() {
        for (text, bytes) in [("4k", 4096), ("4kb", 4096), ("4KiB", 4096), ("1MB", 1 << 20), ("8192", 8192)] {
            assert_eq!(parse_bytes(&in_powers_of_1024(text)), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn unsupported_keys_and_values_are_refused_with_their_line() {
        for (text, words) in [
            ("[a]\nrw=trim\n", "line 2: rw=trim"),
            ("[a]\nrw=read\nzonemode=zbd\n", "line 3: 'zonemode'"),
            ("[a]\nbs=5k\n", "line 2: bs=5k"),
            ("[a]\niodepth=0\n", "line 2: iodepth=0"),
            ("[a]\nrate_iops=x\n", "line 2: rate_iops=x"),
            ("rw=read\n", "no job"),
            ("", "no job"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(\\[[a-z]*\\]|[a-z_]{1,9}=[-a-z0-9.,]{0,6}|\\PC{0,12}|\n){0,20}") {
            let _ = read(&text);
        }
    }
}
