//! What block devices have done since boot: /proc/diskstats (Documentation/admin-guide/iostats.rst).

use brisk_core::snapshot::{DiskTotals, FlushTotals, IoTotals};

use crate::ParseError;
use crate::fields::{self, Words, lines};

/// The kernel counts in sectors of this size, whatever the device's own block is.
pub const SECTOR_BYTES: u64 = 512;

/// Reads the text of /proc/diskstats: every disk and partition.
///
/// # Errors
/// When a line lacks one of the first fourteen fields or a field is not a number.
pub fn parse_disk_stats(bytes: &[u8]) -> Result<Vec<DiskTotals>, ParseError> {
    let disk = |mut words: Words<'_>| {
        let (_major, _minor): (u32, u32) = (words.number("major")?, words.number("minor")?);
        counted(fields::text(words.word("name")?), words)
    };
    lines(bytes).map(disk).collect()
}

/// Reads the text of a device's own `stat` in /sys (Documentation/block/stat.rst): the same counters without number and
/// name.
///
/// # Errors
/// As [`parse_disk_stats`].
pub fn parse_stat_of(name: &str, bytes: &[u8]) -> Result<DiskTotals, ParseError> {
    counted(name.to_owned(), lines(bytes).next().ok_or(ParseError::MissingLine("stat"))?)
}

fn counted(name: String, mut words: Words<'_>) -> Result<DiskTotals, ParseError> {
    let (read, merged_reads) = counters(words.number("requests")?, &mut words)?;
    let (write, merged_writes) = counters(words.number("requests")?, &mut words)?;
    let in_flight_requests = words.number("in_flight")?;
    let busy_ms = words.number("io_ticks")?;
    let queue_ms = words.number("time_in_queue")?;
    let discard = match words.optional_number("requests")? {
        None => None,
        Some(requests) => Some(counters(requests, &mut words)?.0),
    };
    let flush = match words.optional_number("flush requests")? {
        None => None,
        Some(requests) => Some(FlushTotals { requests, time_ms: words.number("flush time")? }),
    };
    let (merged_reads, merged_writes) = (Some(merged_reads), Some(merged_writes));
    Ok(DiskTotals {
        name,
        read,
        write,
        discard,
        flush,
        in_flight_requests,
        busy_ms,
        queue_ms,
        merged_reads,
        merged_writes,
        in_flight_write_requests: None,
    })
}

/// Reads the number of writes in flight from the text of a device's `inflight` in /sys
/// (Documentation/ABI/stable/sysfs-block): reads, then writes, both issued to the driver and not completed.
///
/// # Errors
/// When a number is missing or none.
pub fn parse_writes_in_flight(bytes: &[u8]) -> Result<u64, ParseError> {
    let mut words = lines(bytes).next().ok_or(ParseError::MissingLine("inflight"))?;
    let _reads: u64 = words.number("reads")?;
    words.number("writes")
}

/// Counters of one direction, and the requests of it that were merged.
fn counters(requests: u64, words: &mut Words<'_>) -> Result<(IoTotals, u64), ParseError> {
    let (merged, sectors): (u64, u64) = (words.number("merges")?, words.number("sectors")?);
    Ok((IoTotals { requests, bytes: sectors.saturating_mul(SECTOR_BYTES), time_ms: words.number("time")? }, merged))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn writes_in_flight_are_the_second_number() {
        assert_eq!(parse_writes_in_flight(b"       3       12\n"), Ok(12));
        assert!(parse_writes_in_flight(b"3\n").is_err() && parse_writes_in_flight(b"").is_err());
    }

    const VDA: &str = " 254       0 vda 67074 7430 5170682 76114 10731 29243 8727744 28040 3 15360 104522";

    fn io(requests: u64, sectors: u64, time_ms: u64) -> IoTotals {
        IoTotals { requests, bytes: sectors * SECTOR_BYTES, time_ms }
    }

    #[test]
    fn kernels_of_three_ages_are_read() {
        let old = &parse_disk_stats(VDA.as_bytes()).expect("3.4")[0];
        assert_eq!((old.name.as_str(), old.merged_reads, old.merged_writes), ("vda", Some(7430), Some(29243)));
        assert_eq!((old.read, old.write), (io(67074, 5_170_682, 76114), io(10731, 8_727_744, 28040)));
        assert_eq!((old.in_flight_requests, old.busy_ms, old.queue_ms), (3, 15360, 104_522));
        assert_eq!((old.discard, old.flush), (None, None));

        let middle = &parse_disk_stats(format!("{VDA} 4301 15 229224 330\n").as_bytes()).expect("4.18")[0];
        assert_eq!((middle.discard, middle.flush), (Some(io(4301, 229_224, 330)), None));

        let new = &parse_disk_stats(format!("{VDA} 4301 15 229224 330 809 35\n").as_bytes()).expect("5.5")[0];
        assert_eq!(new.flush, Some(FlushTotals { requests: 809, time_ms: 35 }));
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

    #[test]
    fn a_device_itself_says_the_same() {
        let of_all = parse_disk_stats(VDA.as_bytes()).expect("a line").remove(0);
        let counters = VDA.split_once("vda").expect("the name").1;
        assert_eq!(parse_stat_of("vda", format!("{counters}\n").as_bytes()), Ok(of_all));
        assert!(parse_stat_of("vda", b"").is_err());
        assert!(parse_stat_of("vda", b"1 2 3\n").is_err());
    }

    proptest! {
        #[test]
        fn what_the_kernel_renders_is_read_back(
            name in "[a-z!]{1,12}[0-9]{0,3}",
            numbers in prop::array::uniform17(0..u64::MAX / 512),
        ) {
            let rendered = numbers.map(|number| number.to_string());
            for fields in [11, 15, 17] {
                let read = parse_disk_stats(format!("   8  0 {name} {}\n", rendered[..fields].join(" ")).as_bytes());
                let io = |at: usize| io(numbers[at], numbers[at + 2], numbers[at + 3]);
                let disk = DiskTotals {
                    name: name.clone(),
                    read: io(0),
                    write: io(4),
                    discard: (fields > 11).then(|| io(11)),
                    flush: (fields > 15).then_some(FlushTotals { requests: numbers[15], time_ms: numbers[16] }),
                    in_flight_requests: numbers[8],
                    busy_ms: numbers[9],
                    queue_ms: numbers[10],
                    merged_reads: Some(numbers[1]),
                    merged_writes: Some(numbers[5]),
                    in_flight_write_requests: None,
                };
                prop_assert_eq!(read, Ok(vec![disk]));
            }
        }
    }
}
