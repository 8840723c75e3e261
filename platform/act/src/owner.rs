//! Who changed a setting: a process, told from later ones with the same number.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A process of this boot. The start time tells it from a later process with the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) pid: u32,
    pub(crate) start_ticks: u64,
    pub(crate) boot_id: String,
}

impl Owner {
    /// This process.
    pub(crate) fn this(proc: &Path) -> Self {
        let pid = std::process::id();
        Self { pid, start_ticks: start_ticks(proc, pid).unwrap_or(0), boot_id: boot_id(proc) }
    }

    /// Another process; `None` when it does not run.
    pub(crate) fn of(proc: &Path, pid: u32) -> Option<Self> {
        Some(Self { pid, start_ticks: start_ticks(proc, pid)?, boot_id: boot_id(proc) })
    }

    /// Whether it still runs.
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
    parse_start_ticks(&fs::read_to_string(proc.join(pid.to_string()).join("stat")).ok()?)
}

/// Field 22 of `/proc/PID/stat` (proc_pid_stat(5)). The name in parentheses may itself hold blanks and parentheses.
pub(crate) fn parse_start_ticks(stat: &str) -> Option<u64> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    let mut fields = behind_name.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") { None } else { fields.nth(18)?.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = "7 (a) R (b)) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1 2";
        assert_eq!(parse_start_ticks(stat), Some(4242));
        assert_eq!(parse_start_ticks(&stat.replace(" S 1", " Z 1")), None);
    }

    #[test]
    fn this_process_is_alive_and_its_double_is_not() {
        let proc = Path::new("/proc");
        let me = Owner::this(proc);
        assert!(me.is_alive(proc));
        assert!(!Owner { start_ticks: me.start_ticks + 1, ..me.clone() }.is_alive(proc));
        assert!(!Owner { boot_id: "another".into(), ..me }.is_alive(proc));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".*") {
            let _ = parse_start_ticks(&text);
        }
    }
}
