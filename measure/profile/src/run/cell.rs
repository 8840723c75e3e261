//! One cell: the load, its energy, and the kernel's counters.

use std::os::fd::{AsFd as _, AsRawFd as _};
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::results::Direction;
use brisk_bench::load::{End, Load};
use brisk_bench::work_file::WorkFile;
use brisk_engine::smartstorage::pattern::Window;
use serde::{Deserialize, Serialize};

use super::Bench;
use crate::error::{Error, Result};
use crate::meter::Work;
use crate::open_loop::Served;
use crate::workload::{Action, Ask, Workload};

/// One round of a cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Sums {
    pub(super) energy_uj: f64,
    pub(super) elapsed_s: f64,
    pub(super) reads: u64,
    pub(super) writes: u64,
    pub(super) read_us: f64,
    pub(super) write_us: f64,
    pub(super) left: u64,
    pub(super) window: Window,
}

impl Sums {
    /// Adds the result of a load.
    fn take(&mut self, served: &Served) {
        let sum_us = |times: &brisk_bench::latency::Times| {
            times.mean_us().map_or((0, 0.0), |mean| (times.count(), mean * times.count() as f64))
        };
        (self.reads, self.read_us) = sum_us(&served.reads);
        (self.writes, self.write_us) = sum_us(&served.writes);
        self.left = if served.is_saturated() { served.left } else { 0 };
    }
}

impl Bench<'_> {
    fn cached_failed(&self, errno: rustix::io::Errno) -> Error {
        Error::File { doing: "empty the page cache of", path: self.place.path.clone(), source: errno.into() }
    }

    /// Runs one workload under the current setting; returns its result and the bytes written.
    pub(super) fn cell(&mut self, workload: &Workload) -> Result<(Sums, u64)> {
        if self.control.stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped);
        }
        self.work.sync(&self.place)?;
        if workload.cached {
            rustix::fs::fdatasync(&self.cached).map_err(|errno| self.cached_failed(errno))?;
            let all = rustix::fs::Advice::DontNeed;
            rustix::fs::fadvise(&self.cached, 0, None, all).map_err(|errno| self.cached_failed(errno))?;
        }
        let seed = self.options.seed;
        let before = self.sampler.snapshot()?;
        self.meter.begin()?;
        let mut sums = Sums::default();
        let (written_bytes, cpu_ns, elapsed) = match &workload.ask {
            Ask::Open(streams) => {
                let file = if workload.cached { self.cached.as_fd() } else { self.work.fd() };
                let served = self.open_loop.run(
                    file,
                    self.work.region(),
                    streams,
                    self.options.cell,
                    seed,
                    self.control.stop,
                )?;
                let largest = streams.iter().map(|stream| stream.block_bytes).max().unwrap_or(0);
                sums.take(&served);
                (sums.writes * largest, served.cpu_ns, served.elapsed)
            }
            Ask::Recorded(arrivals) => {
                let written = arrivals.iter().filter(|arrival| arrival.action == Action::Write);
                let written_bytes = written.map(|arrival| arrival.size_bytes).sum();
                let (file, region) = (self.work.fd(), self.work.region());
                let served = self.open_loop.replay(
                    file,
                    region,
                    arrivals.clone(),
                    self.options.cell,
                    seed,
                    self.control.stop,
                )?;
                sums.take(&served);
                (written_bytes, served.cpu_ns, served.elapsed)
            }
            Ask::Closed { pattern, read_percent, block_bytes, depth_requests, streams, durable_every_writes } => {
                let load = Load {
                    read_percent: *read_percent,
                    depth_requests: *depth_requests,
                    streams: *streams,
                    durable_every_writes: *durable_every_writes,
                    seed,
                    end: End::after_time(self.options.cell),
                    ..Load::plain(*pattern, Direction::Read, *block_bytes, self.work.region())
                };
                let file = if workload.cached { self.cached.as_fd() } else { self.work.fd() };
                let outcome = self.engine.run(file, &load, self.control.stop)?;
                if self.control.stop.load(Ordering::Relaxed) {
                    return Err(Error::Stopped);
                }
                (sums.reads, sums.writes) = (outcome.reads.count(), outcome.writes.count());
                sums.read_us = outcome.reads.mean_us().unwrap_or(0.0) * sums.reads as f64;
                sums.write_us = outcome.writes.mean_us().unwrap_or(0.0) * sums.writes as f64;
                (sums.writes * block_bytes, outcome.cpu_ns, Duration::from_nanos(outcome.wall_ns))
            }
        };
        sums.elapsed_s = elapsed.as_secs_f64();
        let after = self.sampler.snapshot()?;
        // Data in the page cache and the device's buffer belongs to this cell.
        if workload.cached {
            rustix::fs::fdatasync(&self.cached).map_err(|errno| self.cached_failed(errno))?;
        }
        self.work.sync(&self.place)?;
        sums.energy_uj = self.meter.end(&Work { cpu_ns, requests: sums.reads + sums.writes })?;
        if let Some(interval) = after.since(&before)
            && let Some(rates) = interval.disks.iter().find(|disk| disk.name == self.disk)
        {
            sums.window = Window::of(rates, interval.elapsed_ns as f64 / 1e9);
        }
        Ok((sums, written_bytes))
    }
}

/// The work file once more, through the page cache.
pub(super) fn reopened(work: &WorkFile) -> std::io::Result<std::fs::File> {
    let path = format!("/proc/self/fd/{}", work.fd().as_raw_fd());
    std::fs::File::options().read(true).write(true).open(path)
}
