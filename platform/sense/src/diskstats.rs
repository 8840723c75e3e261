//! What block devices have done since boot: /proc/diskstats (Documentation/admin-guide/iostats.rst).

use serde::{Deserialize, Serialize};

use crate::block::DeviceNumber;
use crate::error::{ParseError, Result};
use crate::fields::{self, Words};
use crate::{Sense, fields::lines};

/// The kernel counts in sectors of this size, whatever the device's own block is.
pub const SECTOR_BYTES: u64 = 512;

/// Requests of one direction since boot. Every counter may wrap; the times wrap at 2^32 ms on most kernels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoCounters {
    /// Requests completed.
    pub requests: u64,
    /// Requests that were joined to a neighbour before they were issued.
    pub merges: u64,
    /// Sectors of 512 bytes moved.
    pub sectors: u64,
    /// Sum over the requests of the time from queueing to completion.
    pub time_ms: u64,
}

impl IoCounters {
    /// Bytes moved; stays at the largest number rather than overflow.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.sectors.saturating_mul(SECTOR_BYTES)
    }
}

/// Flush requests since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlushCounters {
    /// Flushes completed.
    pub requests: u64,
    /// Sum of their times.
    pub time_ms: u64,
}

/// One line of /proc/diskstats: a disk or a partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskStats {
    /// Major and minor number.
    pub device: DeviceNumber,
    /// Kernel name, such as `mmcblk0p2`.
    pub name: String,
    /// Reads.
    pub read: IoCounters,
    /// Writes.
    pub write: IoCounters,
    /// Requests issued and not completed, at this moment.
    pub in_flight_requests: u64,
    /// Time in which at least one request was in flight.
    pub busy_ms: u64,
    /// Sum of the times of all requests, also of those that wait.
    pub queue_ms: u64,
    /// Discards; `None` before Linux 4.18.
    pub discard: Option<IoCounters>,
    /// Flushes; `None` before Linux 5.5.
    pub flush: Option<FlushCounters>,
}

/// Reads the text of /proc/diskstats.
///
/// # Errors
/// When a line lacks one of the first fourteen fields or a field is not a number.
pub fn parse_disk_stats(bytes: &[u8]) -> std::result::Result<Vec<DiskStats>, ParseError> {
    lines(bytes).map(disk).collect()
}

fn disk(mut words: Words<'_>) -> std::result::Result<DiskStats, ParseError> {
    let device = DeviceNumber { major: words.number("major")?, minor: words.number("minor")? };
    let name = fields::text(words.word("name")?);
    counted(device, name, words)
}

/// Reads the text of a device's own `stat` in /sys (Documentation/block/stat.rst): the same counters without number and name.
pub(crate) fn parse_stat_of(
    device: DeviceNumber,
    name: &str,
    bytes: &[u8],
) -> std::result::Result<DiskStats, ParseError> {
    counted(device, name.to_owned(), lines(bytes).next().ok_or(ParseError::MissingLine("stat"))?)
}

fn counted(device: DeviceNumber, name: String, mut words: Words<'_>) -> std::result::Result<DiskStats, ParseError> {
    let read = counters(&mut words)?;
    let write = counters(&mut words)?;
    let in_flight_requests = words.number("in_flight")?;
    let busy_ms = words.number("io_ticks")?;
    let queue_ms = words.number("time_in_queue")?;
    let discard = match words.optional_number("discard requests")? {
        None => None,
        Some(requests) => Some(IoCounters {
            requests,
            merges: words.number("discard merges")?,
            sectors: words.number("discard sectors")?,
            time_ms: words.number("discard time")?,
        }),
    };
    let flush = match words.optional_number("flush requests")? {
        None => None,
        Some(requests) => Some(FlushCounters { requests, time_ms: words.number("flush time")? }),
    };
    Ok(DiskStats { device, name, read, write, in_flight_requests, busy_ms, queue_ms, discard, flush })
}

fn counters(words: &mut Words<'_>) -> std::result::Result<IoCounters, ParseError> {
    Ok(IoCounters {
        requests: words.number("requests")?,
        merges: words.number("merges")?,
        sectors: words.number("sectors")?,
        time_ms: words.number("time")?,
    })
}

impl Sense {
    /// The counters of every disk and partition, from /proc/diskstats.
    ///
    /// # Errors
    /// When the file is missing, not readable or not understood.
    pub fn disk_stats(&self) -> Result<Vec<DiskStats>> {
        self.parse("/proc/diskstats", parse_disk_stats)
    }

    /// The counters of the disk or partition `name`; `None` when the kernel has no such device.
    ///
    /// # Errors
    /// As [`Sense::disk_stats`].
    pub fn disk_stats_of(&self, name: &str) -> Result<Option<DiskStats>> {
        Ok(self.disk_stats()?.into_iter().find(|disk| disk.name == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const VDA: &str = " 254       0 vda 67074 7430 5170682 76114 10731 29243 8727744 28040 3 15360 104522";

    #[test]
    fn kernels_of_three_ages_are_read() {
        let old = &parse_disk_stats(VDA.as_bytes()).expect("3.4")[0];
        assert_eq!((old.device, old.name.as_str()), (DeviceNumber { major: 254, minor: 0 }, "vda"));
        assert_eq!(old.read, IoCounters { requests: 67074, merges: 7430, sectors: 5_170_682, time_ms: 76114 });
        assert_eq!(old.write.bytes(), 8_727_744 * 512);
        assert_eq!((old.in_flight_requests, old.busy_ms, old.queue_ms), (3, 15360, 104_522));
        assert_eq!((old.discard, old.flush), (None, None));

        let middle = &parse_disk_stats(format!("{VDA} 4301 15 229224 330\n").as_bytes()).expect("4.18")[0];
        assert_eq!(middle.discard, Some(IoCounters { requests: 4301, merges: 15, sectors: 229_224, time_ms: 330 }));
        assert_eq!(middle.flush, None);

        let new = &parse_disk_stats(format!("{VDA} 4301 15 229224 330 809 35\n").as_bytes()).expect("5.5")[0];
        assert_eq!(new.flush, Some(FlushCounters { requests: 809, time_ms: 35 }));
        let future = format!("{VDA} 4301 15 229224 330 809 35 7 8 nine\n");
        assert_eq!(&parse_disk_stats(future.as_bytes()).expect("later")[0], new);
    }

    #[test]
    fn a_line_that_is_cut_short_is_an_error_and_not_a_zero() {
        assert_eq!(parse_disk_stats(b"254 0 vda 1 2 3\n"), Err(ParseError::MissingField { line: 1, field: "time" }));
        assert!(parse_disk_stats(format!("{VDA} 4301").as_bytes()).is_err());
        assert!(parse_disk_stats(b"254 0 vda -1 2 3 4 5 6 7 8 9 10 11").is_err());
        assert_eq!(parse_disk_stats(b""), Ok(vec![]));
    }

    fn io() -> impl Strategy<Value = IoCounters> {
        any::<(u64, u64, u64, u64)>().prop_map(|(requests, merges, sectors, time_ms)| IoCounters {
            requests,
            merges,
            sectors,
            time_ms,
        })
    }

    #[test]
    fn a_device_itself_says_the_same() {
        let of_all = parse_disk_stats(VDA.as_bytes()).expect("a line").remove(0);
        let counters = VDA.split_once("vda").expect("the name").1;
        assert_eq!(parse_stat_of(of_all.device, "vda", format!("{counters}\n").as_bytes()), Ok(of_all.clone()));
        assert!(parse_stat_of(of_all.device, "vda", b"").is_err());
        assert!(parse_stat_of(of_all.device, "vda", b"1 2 3\n").is_err());
    }

    fn render(disk: &DiskStats) -> String {
        let io = |c: &IoCounters| format!(" {} {} {} {}", c.requests, c.merges, c.sectors, c.time_ms);
        format!(
            "{:4} {:7} {}{}{} {} {} {}{}{}\n",
            disk.device.major,
            disk.device.minor,
            disk.name,
            io(&disk.read),
            io(&disk.write),
            disk.in_flight_requests,
            disk.busy_ms,
            disk.queue_ms,
            disk.discard.as_ref().map(io).unwrap_or_default(),
            disk.flush.map(|f| format!(" {} {}", f.requests, f.time_ms)).unwrap_or_default(),
        )
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse_disk_stats(&bytes);
        }

        #[test]
        fn what_the_kernel_renders_is_read_back(
            numbers in any::<(u32, u32, u64, u64, u64)>(),
            name in "[a-z!]{1,12}[0-9]{0,3}",
            (read, write) in (io(), io()),
            tail in prop::option::of((io(), prop::option::of(any::<(u64, u64)>()))),
        ) {
            let disk = DiskStats {
                device: DeviceNumber { major: numbers.0, minor: numbers.1 },
                name,
                read,
                write,
                in_flight_requests: numbers.2,
                busy_ms: numbers.3,
                queue_ms: numbers.4,
                discard: tail.map(|(discard, _)| discard),
                flush: tail.and_then(|(_, f)| f).map(|(requests, time_ms)| FlushCounters { requests, time_ms }),
            };
            let text = format!("{0}{0}", render(&disk));
            prop_assert_eq!(parse_disk_stats(text.as_bytes()), Ok(vec![disk.clone(), disk]));
        }
    }
}
