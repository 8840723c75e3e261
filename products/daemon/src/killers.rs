//! Other programs that act when memory is short. Two that end apps would free twice what is needed, as neither knows what the other is
//! ending: brisk then leaves it to the other one, unless the configuration says otherwise.
//!
//! They are known by the names of their programs. All processes are listed at the start, when a group or session of such a name comes or
//! goes, and before an app is ended when the list is older than a minute: an idle daemon lists none.

use brisk_sense::Sense;
use serde::{Deserialize, Serialize};

/// How long the list counts as fresh when an app is to be ended.
const FRESH_NS: u64 = 60_000_000_000;

/// A program that acts when memory is short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Killer {
    /// Name of the program.
    pub name: &'static str,
    /// Whether it ends apps.
    pub ends_apps: bool,
    /// What it does.
    pub does: &'static str,
}

/// Those that are known.
pub const KILLERS: &[Killer] = &[
    Killer {
        name: "systemd-oomd",
        ends_apps: true,
        does: "kills the groups that systemd marks for it (ManagedOOMMemoryPressure=, ManagedOOMSwap=) at high pressure or full swap",
    },
    Killer {
        name: "earlyoom",
        ends_apps: true,
        does: "ends the process with the highest score when memory and swap run out",
    },
    Killer {
        name: "nohang",
        ends_apps: true,
        does: "ends processes by its rules when memory, swap or pressure pass a limit",
    },
    Killer {
        name: "lmkd",
        ends_apps: true,
        does: "kills apps by their importance to Android (oom_score_adj) at high pressure",
    },
    Killer {
        name: "uresourced",
        ends_apps: false,
        does: "reserves memory and processors for the active user (memory.low, cpu.weight); it ends nothing",
    },
    Killer {
        name: "low-memory-monitor",
        ends_apps: false,
        does: "warns apps over D-Bus when memory is short; it ends nothing unless it is set to have the kernel do so",
    },
];

/// A program that acts when memory is short and runs now, as clients of the control socket see it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryProgram {
    /// Its name.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// Whether it ends apps, so that brisk does not.
    pub ends_apps: bool,
    /// What it does.
    pub does: String,
}

/// Those that run now.
///
/// # Errors
/// When /proc cannot be read.
pub fn running(sense: &Sense) -> brisk_sense::Result<Vec<MemoryProgram>> {
    let names: Vec<&str> = KILLERS.iter().map(|killer| killer.name).collect();
    let found = sense.processes_named(&names)?;
    // Of several processes of one program the first.
    let of = |killer: &Killer| {
        let (pid, _) = found.iter().find(|(_, name)| *name == killer.name)?;
        let (name, does) = (killer.name.to_owned(), killer.does.to_owned());
        Some(MemoryProgram { name, pid: *pid, ends_apps: killer.ends_apps, does })
    };
    Ok(KILLERS.iter().filter_map(of).collect())
}

/// Those that run, as of the last time that they were listed.
#[derive(Debug, Default)]
pub struct Killers {
    running: Vec<MemoryProgram>,
    listed_ns: Option<u64>,
}

impl Killers {
    /// Those that ran then.
    #[must_use]
    pub fn running(&self) -> &[MemoryProgram] {
        &self.running
    }

    /// Names of those that end apps.
    #[must_use]
    pub fn ending(&self) -> Vec<String> {
        self.running.iter().filter(|program| program.ends_apps).map(|program| program.name.clone()).collect()
    }

    /// A group or session of this name or id came or went: what runs is listed anew when it is one of theirs.
    pub fn note(&mut self, name: &str) {
        if KILLERS.iter().any(|killer| name.split(['.', '@']).next() == Some(killer.name)) {
            self.listed_ns = None;
        }
    }

    /// Lists them unless that was done within a minute. What cannot be listed stays as it was.
    pub fn refresh(&mut self, sense: &Sense, now_ns: u64) {
        if self.listed_ns.is_some_and(|then_ns| now_ns.saturating_sub(then_ns) < FRESH_NS) {
            return;
        }
        if let Ok(running) = running(sense) {
            self.running = running;
        }
        self.listed_ns = Some(now_ns);
    }

    /// Whether they are to be listed at the next occasion: at the start, and after [`Self::note`].
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.listed_ns.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(comms: &[(u32, &str)]) -> (tempfile::TempDir, Sense) {
        let root = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(root.path().join("proc")).expect("made");
        let sense = Sense::new(root.path());
        set(&root, comms);
        (root, sense)
    }

    fn set(root: &tempfile::TempDir, comms: &[(u32, &str)]) {
        for (pid, comm) in comms {
            let dir = root.path().join("proc").join(pid.to_string());
            std::fs::create_dir_all(&dir).expect("made");
            std::fs::write(dir.join("comm"), format!("{comm}\n")).expect("written");
        }
    }

    #[test]
    fn each_program_that_acts_on_memory_is_found_and_said_what_it_does() {
        let (_root, sense) = machine(&[
            (1, "systemd"),
            (40, "earlyoom"),
            (41, "earlyoom"),
            (50, "uresourced"),
            (60, "low-memory-moni"),
            (70, "systemd-oomd"),
            (80, "nohang"),
            (90, "lmkd"),
        ]);
        let found = running(&sense).expect("readable");
        let found: Vec<(&str, u32, bool)> =
            found.iter().map(|one| (one.name.as_str(), one.pid, one.ends_apps)).collect();
        let expected = [
            ("systemd-oomd", 70, true),
            ("earlyoom", 40, true),
            ("nohang", 80, true),
            ("lmkd", 90, true),
            ("uresourced", 50, false),
            ("low-memory-monitor", 60, false),
        ];
        assert_eq!(found, expected);
        assert_eq!(running(&machine(&[(1, "init"), (2, "earlyoom2")]).1).expect("readable"), []);
    }

    #[test]
    fn a_killer_that_comes_later_is_found_without_polling() {
        let (root, sense) = machine(&[(1, "init")]);
        let mut killers = Killers::default();
        killers.refresh(&sense, 0);
        assert_eq!((killers.ending().len(), killers.is_unknown()), (0, false));
        set(&root, &[(40, "earlyoom")]);
        killers.refresh(&sense, FRESH_NS - 1);
        assert_eq!(killers.ending().len(), 0);
        for name in ["cron.service", "earlyoom2.service", "session-40"] {
            killers.note(name);
            assert!(!killers.is_unknown(), "{name}");
        }
        killers.note("earlyoom.service");
        assert!(killers.is_unknown());
        killers.refresh(&sense, FRESH_NS - 1);
        assert_eq!(killers.ending(), ["earlyoom"]);
        std::fs::remove_dir_all(root.path().join("proc/40")).expect("ended");
        killers.refresh(&sense, 3 * FRESH_NS);
        assert_eq!(killers.ending().len(), 0);
    }
}
