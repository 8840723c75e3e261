//! Where the processors' time went: /proc/stat; which processors run: /sys/devices/system/cpu/online.

use serde::{Deserialize, Serialize};

use crate::Sense;
use crate::error::{ParseError, Result};
use crate::fields::{self, Words, lines};

/// Time since boot in ticks of USER_HZ, of which a second has 100 on every Linux (proc_stat(5)). Time in guests is part
/// of `user` and `nice` and not listed again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimes {
    /// Programs.
    pub user_ticks: u64,
    /// Programs of low priority.
    pub nice_ticks: u64,
    /// The kernel.
    pub system_ticks: u64,
    /// Nothing to do and no storage request outstanding.
    pub idle_ticks: u64,
    /// Nothing to do with a storage request of a task of this processor outstanding.
    pub iowait_ticks: u64,
    /// Interrupts.
    pub irq_ticks: u64,
    /// Deferred work of interrupts.
    pub softirq_ticks: u64,
    /// Taken by other guests of the host.
    pub steal_ticks: u64,
}

impl CpuTimes {
    /// All of it, idle time included.
    #[must_use]
    pub fn total_ticks(&self) -> u64 {
        [self.idle_ticks, self.iowait_ticks].into_iter().fold(self.busy_ticks(), u64::saturating_add)
    }

    /// What was not idle: programs, kernel, interrupts and what the host took.
    #[must_use]
    pub fn busy_ticks(&self) -> u64 {
        [self.user_ticks, self.nice_ticks, self.system_ticks, self.irq_ticks, self.softirq_ticks, self.steal_ticks]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// What passed since `earlier`; a counter that ran backwards (iowait does, now and then) counts as zero.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user_ticks: self.user_ticks.saturating_sub(earlier.user_ticks),
            nice_ticks: self.nice_ticks.saturating_sub(earlier.nice_ticks),
            system_ticks: self.system_ticks.saturating_sub(earlier.system_ticks),
            idle_ticks: self.idle_ticks.saturating_sub(earlier.idle_ticks),
            iowait_ticks: self.iowait_ticks.saturating_sub(earlier.iowait_ticks),
            irq_ticks: self.irq_ticks.saturating_sub(earlier.irq_ticks),
            softirq_ticks: self.softirq_ticks.saturating_sub(earlier.softirq_ticks),
            steal_ticks: self.steal_ticks.saturating_sub(earlier.steal_ticks),
        }
    }
}

/// The `cpu` lines of /proc/stat.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuStat {
    /// All processors together, also those that were taken offline since.
    pub all: CpuTimes,
    /// Each processor that is online, with its number.
    pub cpus: Vec<(u32, CpuTimes)>,
}

/// Reads the text of /proc/stat.
///
/// # Errors
/// When there is no `cpu` line or one of its first four fields is not a number.
pub fn parse_cpu_stat(bytes: &[u8]) -> std::result::Result<CpuStat, ParseError> {
    let mut all = None;
    let mut cpus = Vec::new();
    for mut words in lines(bytes) {
        let Some(number) = words.next_word().and_then(|word| word.strip_prefix(b"cpu")) else { continue };
        if number.is_empty() {
            all = Some(times(&mut words)?);
        } else {
            cpus.push((fields::number(words.line, "cpu number", number)?, times(&mut words)?));
        }
    }
    Ok(CpuStat { all: all.ok_or(ParseError::MissingLine("cpu"))?, cpus })
}

fn times(words: &mut Words<'_>) -> std::result::Result<CpuTimes, ParseError> {
    Ok(CpuTimes {
        user_ticks: words.number("user")?,
        nice_ticks: words.number("nice")?,
        system_ticks: words.number("system")?,
        idle_ticks: words.number("idle")?,
        iowait_ticks: words.optional_number("iowait")?.unwrap_or(0),
        irq_ticks: words.optional_number("irq")?.unwrap_or(0),
        softirq_ticks: words.optional_number("softirq")?.unwrap_or(0),
        steal_ticks: words.optional_number("steal")?.unwrap_or(0),
    })
}

/// Reads a list of processors such as `0-3,8`: (first, last) of each run.
///
/// # Errors
/// When a part is no number, or a run ends before it begins.
pub fn parse_cpu_list(bytes: &[u8]) -> std::result::Result<Vec<(u32, u32)>, ParseError> {
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

impl Sense {
    /// Where the processors' time went since boot, from /proc/stat.
    ///
    /// # Errors
    /// When the file is missing, not readable or not understood.
    pub fn cpu_stat(&self) -> Result<CpuStat> {
        self.parse("/proc/stat", parse_cpu_stat)
    }

    /// How many processors are online, from /sys/devices/system/cpu/online.
    ///
    /// # Errors
    /// When the file is missing, not readable or not understood.
    pub fn cpus_online(&self) -> Result<u32> {
        let runs = self.parse("/sys/devices/system/cpu/online", parse_cpu_list)?;
        Ok(runs.iter().fold(0u32, |sum, (first, last)| sum.saturating_add(last - first).saturating_add(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_processor_has_its_line() {
        let stat = parse_cpu_stat(
            b"cpu  13321 0 4588 218207 1221 0 65 42 0 0\ncpu0 6187 0 2033 110408 96 0 11 18 0 0\nintr 5 cpu\nbtime 1\n",
        )
        .expect("6.18");
        assert_eq!(stat.all.steal_ticks, 42);
        assert_eq!(stat.all.total_ticks(), 13321 + 4588 + 218_207 + 1221 + 65 + 42);
        assert_eq!(stat.all.busy_ticks(), 13321 + 4588 + 65 + 42);
        assert_eq!(stat.cpus.len(), 1);
        assert_eq!((stat.cpus[0].0, stat.cpus[0].1.iowait_ticks), (0, 96));
    }

    #[test]
    fn a_counter_that_ran_backwards_counts_as_zero() {
        let earlier = CpuTimes { iowait_ticks: 10, user_ticks: 5, ..CpuTimes::default() };
        let later = CpuTimes { iowait_ticks: 9, user_ticks: 8, ..CpuTimes::default() };
        assert_eq!(later.since(&earlier), CpuTimes { user_ticks: 3, ..CpuTimes::default() });
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
        fn no_bytes_make_the_parsers_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_cpu_stat(&bytes);
            let _ = parse_cpu_list(&bytes);
            let mut with_head = b"cpu ".to_vec();
            with_head.extend(&bytes);
            let _ = parse_cpu_stat(&with_head);
        }

        #[test]
        fn what_the_kernel_renders_is_read_back(ticks in any::<[u64; 8]>(), number in any::<u32>()) {
            let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
            let line = format!("{user} {nice} {system} {idle} {iowait} {irq} {softirq} {steal} 0 0");
            let stat = parse_cpu_stat(format!("cpu  {line}\ncpu{number} {line}\n").as_bytes()).expect("rendered");
            prop_assert_eq!(stat.cpus, vec![(number, stat.all)]);
            let read = stat.all;
            prop_assert_eq!(
                ticks,
                [read.user_ticks, read.nice_ticks, read.system_ticks, read.idle_ticks, read.iowait_ticks,
                 read.irq_ticks, read.softirq_ticks, read.steal_ticks]
            );
        }
    }
}
