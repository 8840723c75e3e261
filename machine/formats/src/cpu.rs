//! Where the processors' time went: /proc/stat (proc_stat(5)); which processors run: /sys/devices/system/cpu/online.

use brisk_core::snapshot::{CpuTotals, TICK_US};

use crate::ParseError;
use crate::fields::{self, Words, lines};

/// Reads the text of /proc/stat: the time of all processors together, also of those that went offline since, and how
/// many are online. Time in guests is part of `user` and `nice` and not listed again.
///
/// # Errors
/// When there is no `cpu` line or one of its first four fields is not a number.
pub fn parse_cpu_stat(bytes: &[u8]) -> Result<CpuTotals, ParseError> {
    let mut all = None;
    let mut processors = 0;
    for mut words in lines(bytes) {
        let Some(number) = words.next_word().and_then(|word| word.strip_prefix(b"cpu")) else { continue };
        if number.is_empty() {
            all = Some(times(&mut words)?);
        } else {
            let _number: u32 = fields::number(words.line, "cpu number", number)?;
            times(&mut words)?;
            processors += 1;
        }
    }
    Ok(CpuTotals { processors, ..all.ok_or(ParseError::MissingLine("cpu"))? })
}

fn times(words: &mut Words<'_>) -> Result<CpuTotals, ParseError> {
    let mut us = |field| words.number::<u64>(field).map(|ticks| ticks.saturating_mul(TICK_US));
    let (user_us, nice_us, system_us, idle_us) = (us("user")?, us("nice")?, us("system")?, us("idle")?);
    let mut later = |field| Ok(words.optional_number::<u64>(field)?.unwrap_or(0).saturating_mul(TICK_US));
    let (iowait_us, irq_us) = (later("iowait")?, later("irq")?);
    let (softirq_us, steal_us) = (later("softirq")?, later("steal")?);
    Ok(CpuTotals { processors: 0, user_us, nice_us, system_us, idle_us, iowait_us, irq_us, softirq_us, steal_us })
}

/// Reads a list of processors such as `0-3,8`: (first, last) of each run.
///
/// # Errors
/// When a part is no number, or a run ends before it begins.
pub fn parse_cpu_list(bytes: &[u8]) -> Result<Vec<(u32, u32)>, ParseError> {
    let bytes = bytes.trim_ascii();
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let mut runs = Vec::new();
    for part in bytes.split(|&byte| byte == b',') {
        let mut ends = part.splitn(2, |&byte| byte == b'-');
        let first: u32 = fields::number(1, "cpu list", ends.next().unwrap_or_default())?;
        let last: u32 = ends.next().map_or(Ok(first), |word| fields::number(1, "cpu list", word))?;
        if last < first {
            return Err(ParseError::BadField { line: 1, field: "cpu list", text: fields::text(part) });
        }
        runs.push((first, last));
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_line_is_of_all_processors_and_each_has_its_own() {
        let text =
            b"cpu  13321 0 4588 218207 1221 0 65 42 0 0\ncpu0 6187 0 2033 110408 96 0 11 18 0 0\nintr 5 cpu\nbtime 1\n";
        let totals = parse_cpu_stat(text).expect("6.18");
        assert_eq!((totals.processors, totals.user_us, totals.steal_us), (1, 133_210_000, 420_000));
        assert_eq!((totals.idle_us, totals.iowait_us), (2_182_070_000, 12_210_000));
    }

    #[test]
    fn without_its_first_line_the_text_is_not_proc_stat() {
        assert_eq!(parse_cpu_stat(b"intr 1\n"), Err(ParseError::MissingLine("cpu")));
        assert!(parse_cpu_stat(b"cpu 1 2\n").is_err());
        assert!(parse_cpu_stat(b"cpu 1 2 3 4\ncpux 1 2 3 4\n").is_err());
    }

    #[test]
    fn lists_of_processors_are_read() {
        assert_eq!(parse_cpu_list(b"0-3,8\n"), Ok(vec![(0, 3), (8, 8)]));
        assert_eq!(parse_cpu_list(b"\n"), Ok(vec![]));
        assert!(parse_cpu_list(b"3-0").is_err());
        assert!(parse_cpu_list(b"0-").is_err());
        assert!(parse_cpu_list(b",").is_err());
    }

    proptest! {
        #[test]
        fn what_the_kernel_renders_is_read_back(
            ticks in prop::array::uniform8(0..u64::MAX / TICK_US),
            number in any::<u32>(),
        ) {
            let line = ticks.map(|ticks| ticks.to_string()).join(" ");
            let text = format!("cpu  {line} 0 0\ncpu{number} {line} 0 0\n");
            let read = parse_cpu_stat(text.as_bytes()).expect("rendered");
            let us = [
                read.user_us, read.nice_us, read.system_us, read.idle_us, read.iowait_us, read.irq_us, read.softirq_us,
                read.steal_us,
            ];
            prop_assert_eq!((read.processors, us), (1, ticks.map(|ticks| ticks * TICK_US)));
        }
    }
}
