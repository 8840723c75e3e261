//! The virtual machine: QEMU's emulator with virtual time.
//!
//! With `icount` the guest's clock advances by one nanosecond for each instruction, and jumps to the next timer when
//! idle. Times inside depend only on the guest's instructions, and load on the host only makes a run longer. This
//! requires one processor: in virtual time several ones take turns of whole slices, and Linux 6.1 then waits forever
//! for its second one. A machine with more has the host's clock, and is used for tests only, as its times include
//! effects of the host.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::vm::Watch;
use crate::vm::error::{Error, Result};
use crate::vm::run::{Ended, Line, run};

/// Parameters of a boot.
#[derive(Debug, Clone, Copy)]
pub struct Machine<'a> {
    pub image: &'a Path,
    pub initramfs: &'a Path,
    pub memory_bytes: u64,
    /// Processors; with more than one, the clock is the host's.
    pub cpus: u32,
    /// Additional kernel arguments.
    pub append: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Instructions: times are reproducible.
    Instructions,
    /// The host's clock: times include effects of the host and give no figures.
    Host,
}

impl Clock {
    /// The clock for a number of processors.
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

/// Boots a machine and returns its console, which is also written to `log`.
///
/// # Errors
/// When QEMU is missing or fails, the limit passes, or the user cancels.
pub fn boot(
    machine: Machine<'_>,
    log: &Path,
    limit: Duration,
    watch: Watch<'_>,
    mut on_line: impl FnMut(&str),
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
            on_line(&line);
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
    fn only_a_single_processor_has_virtual_time() {
        assert_eq!((Clock::of(1), Clock::of(2)), (Clock::Instructions, Clock::Host));
        assert!(Clock::Instructions.arguments().contains(&"-icount"));
        assert!(!Clock::Host.arguments().contains(&"-icount"));
    }
}
