//! The process that changed a setting, distinct from later ones with the same number.

use std::fs;
use std::path::Path;

use brisk_formats::parse_process_stat;
use serde::{Deserialize, Serialize};

/// A process of this boot. The start time tells it from a later process with the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) pid: u32,
    pub(crate) start_ticks: u64,
    pub(crate) boot_id: String,
}

impl Owner {
    pub(crate) fn this(proc: &Path) -> Self {
        let pid = std::process::id();
        Self { pid, start_ticks: start_ticks(proc, pid).unwrap_or(0), boot_id: boot_id(proc) }
    }

    /// Another process; `None` when it does not run.
    pub(crate) fn of(proc: &Path, pid: u32) -> Option<Self> {
        Some(Self { pid, start_ticks: start_ticks(proc, pid)?, boot_id: boot_id(proc) })
    }

    pub(crate) fn is_alive(&self, proc: &Path) -> bool {
        self.is_of_this_boot(proc) && start_ticks(proc, self.pid) == Some(self.start_ticks)
    }

    /// Whether the machine has not been restarted since: a reboot undoes every setting by itself.
    pub(crate) fn is_of_this_boot(&self, proc: &Path) -> bool {
        self.boot_id == boot_id(proc)
    }
}

fn boot_id(proc: &Path) -> String {
    fs::read_to_string(proc.join("sys/kernel/random/boot_id")).unwrap_or_default().trim().to_owned()
}

/// Start of a process in clock ticks since boot; `None` when there is none or it is a zombie.
fn start_ticks(proc: &Path, pid: u32) -> Option<u64> {
    let stat = parse_process_stat(&fs::read(proc.join(pid.to_string()).join("stat")).ok()?).ok()?;
    (!stat.has_ended()).then_some(stat.start_ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_its_double_is_not() {
        let proc = Path::new("/proc");
        let me = Owner::this(proc);
        assert!(me.is_alive(proc));
        assert!(!Owner { start_ticks: me.start_ticks + 1, ..me.clone() }.is_alive(proc));
        assert!(!Owner { boot_id: "another".into(), ..me }.is_alive(proc));
    }
}
