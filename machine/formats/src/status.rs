//! Who a process is and what it may do: /proc/PID/status (proc_pid_status(5)).

use serde::{Deserialize, Serialize};

use crate::ParseError;
use crate::fields::lines;

/// The capabilities that brisk asks about, with their numbers in capabilities(7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// Lock memory beyond the limit.
    IpcLock = 14,
    /// Follow and change the memory of other processes.
    SysPtrace = 19,
    /// Mount, set up loop devices, change block queues.
    SysAdmin = 21,
    /// Give real-time priority.
    SysNice = 23,
    /// Ask PSI for windows of any length, override limits.
    SysResource = 24,
    Perfmon = 38,
    /// Load BPF programs.
    Bpf = 39,
}

impl Capability {
    /// Its name in capabilities(7).
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::IpcLock => "CAP_IPC_LOCK",
            Self::SysPtrace => "CAP_SYS_PTRACE",
            Self::SysAdmin => "CAP_SYS_ADMIN",
            Self::SysNice => "CAP_SYS_NICE",
            Self::SysResource => "CAP_SYS_RESOURCE",
            Self::Perfmon => "CAP_PERFMON",
            Self::Bpf => "CAP_BPF",
        }
    }
}

/// What /proc/PID/status says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessStatus {
    /// Effective user; 0 is root.
    pub effective_uid: u32,
    /// Bits of the effective capabilities.
    pub effective_capabilities: u64,
}

impl ProcessStatus {
    /// Whether the process has `capability`.
    #[must_use]
    pub fn has(&self, capability: Capability) -> bool {
        self.effective_capabilities & (1 << capability as u32) != 0
    }
}

/// Reads the text of /proc/PID/status.
///
/// # Errors
/// When the line `Uid` or `CapEff` is missing or not understood.
pub fn parse_process_status(bytes: &[u8]) -> Result<ProcessStatus, ParseError> {
    let (mut uid, mut capabilities) = (None, None);
    for mut words in lines(bytes) {
        match words.next_word() {
            Some(b"Uid:") => {
                let _real: u32 = words.number("real UID")?;
                uid = Some(words.number("effective UID")?);
            }
            Some(b"CapEff:") => {
                let word = words.word("capabilities")?;
                let bits = std::str::from_utf8(word).ok().and_then(|text| u64::from_str_radix(text, 16).ok());
                capabilities = Some(bits.ok_or_else(|| ParseError::BadField {
                    line: words.line,
                    field: "capabilities",
                    text: crate::fields::text(word),
                })?);
            }
            _ => {}
        }
    }
    Ok(ProcessStatus {
        effective_uid: uid.ok_or(ParseError::MissingLine("Uid"))?,
        effective_capabilities: capabilities.ok_or(ParseError::MissingLine("CapEff"))?,
    })
}

/// Memory of a process, as the kernel counts it without reading its page tables. A page that several processes map
/// counts for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessMemory {
    /// Anonymous pages in memory (`RssAnon`).
    pub anonymous_bytes: u64,
    /// Pages of files and shared memory that are mapped and in memory (`RssFile`, `RssShmem`).
    pub file_bytes: u64,
    /// Anonymous pages in swap (`VmSwap`).
    pub swapped_bytes: u64,
}

/// Reads the memory from the text of /proc/PID/status; `None` for a process without memory: it has ended, or is the
/// kernel's.
///
/// # Errors
/// When a number is not understood, or there are some of the lines only.
pub fn parse_process_memory(bytes: &[u8]) -> Result<Option<ProcessMemory>, ParseError> {
    const NAMES: [&str; 4] = ["RssAnon:", "RssFile:", "RssShmem:", "VmSwap:"];
    let mut found = [None; NAMES.len()];
    for mut words in lines(bytes) {
        let name = words.next_word();
        let Some(place) = NAMES.iter().position(|known| name == Some(known.as_bytes())) else { continue };
        found[place] = Some(words.number::<u64>("kilobytes")?.saturating_mul(1024));
    }
    if found.iter().all(Option::is_none) {
        return Ok(None);
    }
    let of = |place: usize| found[place].ok_or(ParseError::MissingLine(NAMES[place]));
    Ok(Some(ProcessMemory {
        anonymous_bytes: of(0)?,
        file_bytes: of(1)?.saturating_add(of(2)?),
        // A kernel without swap has no such line.
        swapped_bytes: found[3].unwrap_or_default(),
    }))
}

/// Whether the text of /proc/PID/status says that the process has memory that cannot be swapped: locked (`VmLck`), or
/// in huge pages of hugetlbfs (`HugetlbPages`).
///
/// # Errors
/// When a number is not understood.
pub fn has_unswappable(bytes: &[u8]) -> Result<bool, ParseError> {
    let mut found = false;
    for mut words in lines(bytes) {
        if matches!(words.next_word(), Some(b"VmLck:" | b"HugetlbPages:")) {
            found |= words.number::<u64>("kilobytes")? > 0;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_process_without_memory_has_none_and_not_zero() {
        assert_eq!(parse_process_memory(b"Name:\tkthreadd\nUid:\t0\n"), Ok(None));
        assert_eq!(parse_process_memory(b"RssAnon:\t4 kB\n"), Err(ParseError::MissingLine("RssFile:")));
        assert!(parse_process_memory(b"RssAnon:\tmuch kB\n").is_err());
        let status =
            b"Name:\tx\nVmRSS:\t1664 kB\nRssAnon:\t108 kB\nRssFile:\t1500 kB\nRssShmem:\t56 kB\nVmSwap:\t8 kB\n";
        let memory = parse_process_memory(status).expect("understood").expect("it has memory");
        assert_eq!(
            [memory.anonymous_bytes, memory.file_bytes, memory.swapped_bytes],
            [108, 1556, 8].map(|kib| kib * 1024)
        );
    }

    #[test]
    fn capabilities_are_bits() {
        let status = parse_process_status(b"Name:\tx\nUid:\t1000\t0\t0\t0\nCapEff:\t000001fffeffffff\n").expect("both");
        assert_eq!(status.effective_uid, 0);
        assert!(status.has(Capability::SysAdmin) && status.has(Capability::Bpf));
        assert!(!status.has(Capability::SysResource));
        assert_eq!(parse_process_status(b"Uid:\t0\t0\n"), Err(ParseError::MissingLine("CapEff")));
        assert!(parse_process_status(b"Uid:\t0\nCapEff:\t0\n").is_err());
        assert!(parse_process_status(b"Uid:\t0\t0\nCapEff:\tall\n").is_err());
    }

    #[test]
    fn locked_memory_and_huge_pages_are_announced() {
        let says = |text: &str| has_unswappable(text.as_bytes());
        assert_eq!(says("Name:\tx\nVmLck:\t       0 kB\nHugetlbPages:\t 0 kB\n"), Ok(false));
        assert_eq!(says("VmLck:\t       4 kB\nHugetlbPages:\t 0 kB\n"), Ok(true));
        assert_eq!(says("VmLck:\t       0 kB\nHugetlbPages:\t 2048 kB\n"), Ok(true));
        assert_eq!(says("Name:\tkthreadd\n"), Ok(false));
        assert!(says("VmLck:\tx kB\n").is_err());
    }

    proptest! {
        #[test]
        fn what_the_kernel_renders_is_read_back(uid in any::<u32>(), caps in any::<u64>()) {
            let text = format!("Umask:\t0022\nUid:\t1\t{uid}\t3\t4\nCapEff:\t{caps:016x}\n");
            let status = ProcessStatus { effective_uid: uid, effective_capabilities: caps };
            prop_assert_eq!(parse_process_status(text.as_bytes()), Ok(status));
        }
    }
}
