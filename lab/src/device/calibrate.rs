//! Measures the lab's own overhead on the finished device, before it is used.
//!
//! Reads of 4 KiB at random addresses with O_DIRECT, as in a benchmark, while the server gives every request a fixed
//! time. The excess over that time is the overhead. The fixed time lets processors go idle in between, as with real
//! flash: with a time of zero they stay awake, and the overhead appears smaller.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use brisk_profile::lab_client::Overhead;
use brisk_profile::lab_client::control::{Connection, ServerCommand};

use crate::device::error::{Result, io as failed};
use crate::device::store::PAGE_BYTES;

/// About the time of a random read on the devices of the papers.
const SERVICE: Duration = Duration::from_micros(250);
const ROUNDS: usize = 10;
const WARM_UP_READS: usize = 10;
const ROUND_READS: usize = 60;
/// Long enough for all readers to arrive before the first reply.
const BURST_SERVICE: Duration = Duration::from_millis(20);
/// Readers beyond the depth; their requests must wait.
const BURST_BEYOND: u32 = 8;

/// A page-aligned page, for O_DIRECT.
#[repr(align(4096))]
struct Page([u8; PAGE_BYTES as usize]);

/// Pseudo-random addresses: multiples of the golden ratio.
fn address(size_bytes: u64, number: usize) -> u64 {
    let pages = size_bytes / PAGE_BYTES;
    (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % pages * PAGE_BYTES
}

fn open(device: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(device)
}

/// Measures the overhead: the median of the medians of several short rounds, so that a burst of other load affects only
/// some rounds. The spread of all reads shows how quiet the machine was.
pub(crate) fn overhead(client: &mut Connection, device: &Path, size_bytes: u64) -> Result<Overhead> {
    let file = open(device).map_err(failed(format!("open {} for calibration", device.display())))?;
    let mut buffer = Box::new(Page([0; PAGE_BYTES as usize]));
    let mut round = |service: Duration, first: usize| -> Result<Vec<f64>> {
        client.order(&ServerCommand::Fixed { service_ns: service.as_nanos() as u64 })?;
        let mut times_us = Vec::with_capacity(ROUND_READS);
        for number in first..first + WARM_UP_READS + ROUND_READS {
            let start = Instant::now();
            file.read_exact_at(&mut buffer.0, address(size_bytes, number))
                .map_err(failed(format!("read from {} for calibration", device.display())))?;
            times_us.push((start.elapsed().as_nanos() as f64 - service.as_nanos() as f64) / 1e3);
        }
        times_us.drain(..WARM_UP_READS);
        times_us.sort_by(f64::total_cmp);
        Ok(times_us)
    };
    let (mut at_zero, mut overhead, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..ROUNDS {
        let first = number * (WARM_UP_READS + ROUND_READS);
        at_zero.push(round(Duration::ZERO, first)?[ROUND_READS / 2]);
        let timed = round(SERVICE, first)?;
        overhead.push(timed[ROUND_READS / 2]);
        all.extend(timed);
    }
    let middle = |values: &[f64]| brisk_core::stats::median(values).unwrap_or_default();
    all.sort_by(f64::total_cmp);
    Ok(Overhead {
        read_at_zero_us_p50: middle(&at_zero),
        overhead_us_p50: middle(&overhead),
        overhead_us_spread: all[all.len() * 3 / 4] - all[all.len() / 4],
        count: all.len() as u64,
    })
}

/// Measures the device's queue depth: more concurrent readers than `depth_requests`, and the most that the server saw.
pub(crate) fn shown_depth(client: &mut Connection, device: &Path, size_bytes: u64, depth_requests: u32) -> Result<u32> {
    client.order(&ServerCommand::Fixed { service_ns: BURST_SERVICE.as_nanos() as u64 })?;
    let file = open(device).map_err(failed(format!("open {} for calibration", device.display())))?;
    let read = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..depth_requests + BURST_BEYOND)
            .map(|number| {
                let file = &file;
                scope.spawn(move || {
                    let mut buffer = Box::new(Page([0; PAGE_BYTES as usize]));
                    // Every other page, so that requests are not adjacent and do not merge.
                    file.read_exact_at(&mut buffer.0, u64::from(number) * 2 * PAGE_BYTES % size_bytes)
                })
            })
            .collect();
        readers.into_iter().try_for_each(|reader| reader.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())))
    });
    read.map_err(failed(format!("read from {} for calibration", device.display())))?;
    Ok(client.status()?.requests.in_flight_max as u32)
}
