//! Synchronous streams, one thread each: the loads of the dissertation's studies (4.2.3 to 4.2.5). A stream waits for
//! each request before it issues the next.
//!
//! To measure one stream while others run, every stream continues beyond its quota, unmeasured, until all have met
//! their quotas: each measured request then ran concurrently with all other streams.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::address::Region;
use crate::engine::{Caller, STACK_BYTES, run_together};
use crate::error::{Error, Result};
use crate::latency::Clock;
use crate::load::Load;
use crate::results::{Direction, Pattern};
use brisk_core::random::mix;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    pub pattern: Pattern,
    pub direction: Direction,
    /// Its own part of the file; wraps around at its end.
    pub region: Region,
    pub block_bytes: u64,
    /// Requests to measure.
    pub quota: u64,
    /// Seed of addresses and data.
    pub seed: u64,
}

impl Stream {
    /// Stream `number` of `direction` with the other parameters of `self`, whose region gives the length of each part
    /// of the file: readers use the even parts, writers the odd ones.
    pub(crate) fn interleaved(&self, direction: Direction, number: u32) -> Self {
        let part = u64::from(number) * 2 + u64::from(direction == Direction::Write);
        let region = Region::nth(part, self.region.len_bytes);
        Self { direction, region, seed: mix(self.seed ^ (part << 48)), ..self.clone() }
    }
}

/// Measured times of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StreamTime {
    pub requests: u64,
    /// Sum of their response times.
    pub total_ns: u64,
    /// From the common start to the completion of the last of them.
    pub wall_ns: u64,
    /// Requests issued, including those beyond the quota.
    pub issued: u64,
}

/// Behaviour of a stream that has met its quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterQuota {
    End,
    /// It continues, unmeasured, until all streams have met their quotas.
    GoOn,
}

/// Mean response time over all requests of `times` in microseconds (4.2.3).
#[must_use]
pub fn mean_us(times: &[StreamTime]) -> f64 {
    let requests: u64 = times.iter().map(|t| t.requests).sum();
    let total_ns: u64 = times.iter().map(|t| t.total_ns).sum();
    total_ns as f64 / requests.max(1) as f64 / 1e3
}

fn callers<'a>(file: BorrowedFd<'a>, streams: &[Stream]) -> Result<Vec<Caller<'a>>> {
    let caller = |stream: &Stream| {
        let load = Load {
            seed: stream.seed,
            ..Load::plain(stream.pattern, stream.direction, stream.block_bytes, stream.region)
        };
        load.check()?;
        Caller::new(file, &load)
    };
    streams.iter().map(caller).collect()
}

/// Runs `streams` one after the other and returns their total time in nanoseconds. There is no pause between them: in a
/// pause the device would drain its write buffer, and short streams would seem fast.
///
/// # Errors
/// As for [`run`].
pub fn run_in_turn(file: BorrowedFd<'_>, streams: &[Stream], stop: &AtomicBool) -> Result<u64> {
    let mut callers = callers(file, streams)?;
    let clock = Clock::start();
    for (stream, caller) in streams.iter().zip(&mut callers) {
        for number in 0..stream.quota {
            caller.issue(number, &clock)?;
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
        }
    }
    Ok(clock.ns())
}

/// Runs all `streams` concurrently.
///
/// # Errors
/// When a stream is invalid, memory or threads are missing, a request fails, or the stop flag is set.
pub fn run(file: BorrowedFd<'_>, streams: &[Stream], after: AfterQuota, stop: &AtomicBool) -> Result<Vec<StreamTime>> {
    let workers = streams.iter().zip(callers(file, streams)?).collect();
    let broken = AtomicBool::new(false);
    let unmet = AtomicUsize::new(streams.len());
    let work = |(stream, mut caller): (&Stream, Caller<'_>), clock: Clock| {
        let mut time = StreamTime::default();
        while !broken.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed) {
            if time.issued == stream.quota {
                time.wall_ns = clock.ns();
                let others = unmet.fetch_sub(1, Ordering::Relaxed) - 1;
                if after == AfterQuota::End || others == 0 {
                    break;
                }
            } else if time.issued > stream.quota && unmet.load(Ordering::Relaxed) == 0 {
                break;
            }
            let (_, time_ns) = caller.issue(time.issued, &clock)?;
            if time.issued < stream.quota {
                time.requests += 1;
                time.total_ns += time_ns;
            }
            time.issued += 1;
        }
        Ok(time)
    };
    let doing = "start a thread for each stream: use fewer --streams";
    let (times, _) = run_together(workers, STACK_BYTES, doing, &broken, work)?;
    if stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(times) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    fn streams(quotas: &[u64]) -> Vec<Stream> {
        (0..)
            .zip(quotas)
            .map(|(index, quota)| Stream {
                pattern: Pattern::Random,
                direction: if index % 2 == 0 { Direction::Read } else { Direction::Write },
                region: Region::nth(index, 1 << 20),
                block_bytes: 4096,
                quota: *quota,
                seed: index,
            })
            .collect()
    }

    fn file() -> std::fs::File {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(8 << 20).expect("enough space");
        file
    }

    #[test]
    fn exactly_the_quota_is_measured() {
        let file = file();
        for after in [AfterQuota::End, AfterQuota::GoOn] {
            let times = run(file.as_fd(), &streams(&[100, 7, 400]), after, &AtomicBool::new(false)).expect("run");
            assert_eq!(times.iter().map(|t| t.requests).collect::<Vec<_>>(), [100, 7, 400]);
            for time in &times {
                assert!(time.total_ns > 0 && time.total_ns <= time.wall_ns, "{time:?}");
                assert!(after == AfterQuota::GoOn || time.issued == time.requests);
            }
        }
    }

    #[test]
    fn a_stream_continues_until_the_others_have_met_their_quota() {
        // Whichever thread is slower, the faster one had to continue.
        let file = file();
        let times = run(file.as_fd(), &streams(&[50, 50]), AfterQuota::GoOn, &AtomicBool::new(false)).expect("run");
        assert!(times.iter().any(|time| time.issued > 50), "{times:?}");
        assert!(times.iter().all(|time| time.requests == 50), "{times:?}");
    }

    #[test]
    fn serial_streams_all_run_and_stop_on_request() {
        let file = file();
        let mut streams = streams(&[50, 50, 50]);
        // Each write stream leaves data in its own region.
        streams.iter_mut().for_each(|stream| stream.direction = Direction::Write);
        assert!(run_in_turn(file.as_fd(), &streams, &AtomicBool::new(false)).expect("run") > 0);
        let mut bytes = vec![0; 1 << 20];
        for stream in &streams {
            std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, stream.region.start_bytes).expect("read");
            let written = bytes.chunks(4096).filter(|block| block.iter().any(|byte| *byte != 0)).count();
            assert_eq!(written, 50);
        }
        assert!(matches!(run_in_turn(file.as_fd(), &streams, &AtomicBool::new(true)), Err(Error::Stopped)));
    }

    #[test]
    fn a_set_stop_flag_and_a_failed_request_end_all_streams() {
        let file = file();
        let stopped = run(file.as_fd(), &streams(&[u64::MAX, u64::MAX]), AfterQuota::GoOn, &AtomicBool::new(true));
        assert!(matches!(stopped, Err(Error::Stopped)));
        let null = std::fs::File::open("/dev/null").expect("there");
        let failed = run(null.as_fd(), &streams(&[u64::MAX, u64::MAX]), AfterQuota::End, &AtomicBool::new(false));
        assert!(matches!(failed, Err(Error::Short { .. } | Error::Request { .. })));
    }

    #[test]
    fn the_mean_is_over_requests_not_over_streams() {
        let time = |requests, total_ns| StreamTime { requests, total_ns, ..StreamTime::default() };
        assert_eq!(mean_us(&[time(1, 9_000), time(3, 3_000)]), 3.0);
        assert_eq!(mean_us(&[]), 0.0);
    }
}
