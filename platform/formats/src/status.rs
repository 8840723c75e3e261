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
    /// Trace.
    Perfmon = 38,
    /// Load BPF programs.
    Bpf = 39,
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn what_the_kernel_renders_is_read_back(uid in any::<u32>(), caps in any::<u64>()) {
            let text = format!("Umask:\t0022\nUid:\t1\t{uid}\t3\t4\nCapEff:\t{caps:016x}\n");
            let status = ProcessStatus { effective_uid: uid, effective_capabilities: caps };
            prop_assert_eq!(parse_process_status(text.as_bytes()), Ok(status));
        }
    }
}
