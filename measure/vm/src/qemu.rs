//! The virtual machine: QEMU's emulator with virtual time.
//!
//! `icount` lets the guest's clock advance by one nanosecond an instruction, and jump to the next timer when it idles. So
//! times inside depend on the guest's instructions alone, and a busy host makes a run longer and nothing else. With more than
//! one processor they do not: in virtual time these take turns of whole slices, and Linux 6.1 waits for ever for its second
//! one. Such a machine has the host's clock, and is for tests alone: what it measured would be the host.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::Watch;
use crate::error::{Error, Result};
use crate::run::{Ended, Line, run};

/// What boots.
#[derive(Debug, Clone, Copy)]
pub struct Machine<'a> {
    /// The kernel.
    pub image: &'a Path,
    /// The initramfs.
    pub initramfs: &'a Path,
    /// Memory.
    pub memory_bytes: u64,
    /// Processors; with more than one the clock is the host's.
    pub cpus: u32,
    /// More words for the kernel.
    pub append: &'a str,
}

/// What a guest's clock counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Its instructions: times inside are figures.
    Instructions,
    /// The host's time: there are no figures, since the host's load shows in them.
    Host,
}

impl Clock {
    /// Of a machine with so many processors.
    #[must_use]
    pub fn of(cpus: u32) -> Self {
        if cpus > 1 { Self::Host } else { Self::Instructions }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Instructions => &["-icount", "shift=0,sleep=off", "-rtc", "clock=vm,base=2026-01-01"],
            Self::Host => &["-rtc", "clock=host,base=2026-01-01"],
        }
    }
}

/// Boots it and gives its console, which is also written to `log` while it comes.
///
/// # Errors
/// When QEMU lacks or fails, the limit passes, or the person stops it.
pub fn boot(
    machine: Machine<'_>,
    log: &Path,
    limit: Duration,
    watch: Watch<'_>,
    mut hear: impl FnMut(&str),
) -> Result<String> {
    let mut command = Command::new("qemu-system-x86_64");
    command
        .args(["-machine", "q35,accel=tcg", "-cpu", "qemu64,-rdrand"])
        .args(["-smp", &machine.cpus.to_string(), "-m", &format!("{}M", machine.memory_bytes.div_ceil(1 << 20))])
        .args(Clock::of(machine.cpus).arguments())
        .args(["-nodefaults", "-no-user-config", "-nographic", "-no-reboot", "-serial", "stdio"])
        .args(["-append", &format!("console=ttyS0 quiet nokaslr mitigations=off panic=-1 {}", machine.append)])
        .arg("-kernel")
        .arg(machine.image)
        .arg("-initrd")
        .arg(machine.initramfs);
    let mut file = std::fs::File::create(log).map_err(Error::io("write", log))?;
    let mut console = String::new();
    let mut words = String::new();
    let mut written = Ok(());
    let ended = run(command, ("qemu-system-x86_64", "qemu-system-x86"), limit, watch, |line| match line {
        Line::Said(line) => {
            if written.is_ok() {
                written = writeln!(file, "{line}");
            }
            hear(&line);
            console.push_str(&line);
            console.push('\n');
        }
        Line::Complained(line) => words = words.clone() + &line + "\n",
    })?;
    written.map_err(Error::io("write", log))?;
    match ended {
        Ended::Status(status) if status.success() => Ok(console),
        Ended::Status(status) => {
            Err(Error::Failed { what: "qemu-system-x86_64".to_owned(), words: format!("{status}: {}", words.trim()) })
        }
        Ended::TimeLimit => Err(Error::TimeLimit { limit_s: limit.as_secs(), log: log.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_processor_counts_its_instructions() {
        assert_eq!((Clock::of(1), Clock::of(2)), (Clock::Instructions, Clock::Host));
        assert!(Clock::Instructions.arguments().contains(&"-icount"));
        assert!(!Clock::Host.arguments().contains(&"-icount"));
    }
}
