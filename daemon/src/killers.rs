//! Other programs that act when memory is short. Two that end apps would free twice what is needed, as neither knows
//! what the other is ending: brisk then leaves it to the other one, unless the configuration says otherwise.
//!
//! They are known by the name of their process, by their command line (nohang is a script, so that its process is
//! called `python3`), and by their unit. Those in another namespace of processes, as in a container, end nothing out
//! here, and do not count. All processes are listed at the start, when a group or session of such a name comes or goes,
//! and before an app is ended when the list is older than a minute: an idle daemon lists none.

use std::collections::BTreeMap;

use brisk_api::MemoryProgram;
use brisk_formats::ProcessCgroup;
use brisk_sense::Sense;

/// How long the list counts as fresh when an app is to be ended.
const FRESH_NS: u64 = 60_000_000_000;

/// A program that acts when memory is short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Killer {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub ends_apps: bool,
    pub does: &'static str,
}

pub const KILLERS: &[Killer] = &[
    Killer {
        name: "systemd-oomd",
        aliases: &[],
        ends_apps: true,
        does: "kills the groups that systemd marks for it (ManagedOOMMemoryPressure=, ManagedOOMSwap=) at high \
               pressure or full swap",
    },
    Killer {
        name: "earlyoom",
        aliases: &[],
        ends_apps: true,
        does: "ends the process with the highest score when memory and swap run out",
    },
    Killer {
        name: "nohang",
        aliases: &["nohang-desktop"],
        ends_apps: true,
        does: "ends processes by its rules when memory, swap or pressure pass a limit",
    },
    Killer {
        name: "oomd",
        aliases: &["oomd_bin"],
        ends_apps: true,
        does: "kills control groups by its rules of pressure and swap",
    },
    Killer {
        name: "bustd",
        aliases: &[],
        ends_apps: true,
        does: "ends the process with the highest score when memory runs out or pressure is high",
    },
    Killer {
        name: "lmkd",
        aliases: &[],
        ends_apps: true,
        does: "kills apps by their importance to Android (oom_score_adj) at high pressure",
    },
    // lmkd-linux.
    Killer {
        name: "mgd",
        aliases: &[],
        ends_apps: true,
        does: "stops, checkpoints or kills processes by their priority when pressure is high",
    },
    Killer {
        name: "frostbyte",
        aliases: &[],
        ends_apps: true,
        does: "stops or ends apps in the background when memory is short",
    },
    Killer {
        name: "uresourced",
        aliases: &[],
        ends_apps: false,
        does: "reserves memory and processors for the active user (memory.low, cpu.weight); it ends nothing",
    },
    Killer {
        name: "low-memory-monitor",
        aliases: &[],
        ends_apps: false,
        does: "warns apps over D-Bus when memory is short; it ends nothing unless it is set to have the kernel do so",
    },
];

/// What runs another program, and stands before it in a command line: interpreters and wrappers.
const RUNNERS: &[&str] = &[
    "ash",
    "bash",
    "busybox",
    "chrt",
    "dash",
    "doas",
    "env",
    "exec",
    "firejail",
    "ionice",
    "ksh",
    "nice",
    "nohup",
    "perl",
    "pypy3",
    "ruby",
    "setsid",
    "sh",
    "stdbuf",
    "sudo",
    "systemd-run",
    "taskset",
    "toybox",
    "unshare",
    "zsh",
];

/// Bytes of the name of a process that the kernel keeps.
const COMM_BYTES: usize = 15;

impl Killer {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Whether a process is one of it: by its name, as far as the kernel keeps it, its command line, and the name of
    /// its unit.
    fn is(&self, comm: &str, words: &[String], unit: &str) -> bool {
        let program = program_of(words, 0);
        let unit = unit.strip_suffix(".service").and_then(|unit| unit.split('@').next());
        self.names().any(|name| {
            name.get(..COMM_BYTES).unwrap_or(name) == comm || program.as_deref() == Some(name) || unit == Some(name)
        })
    }
}

/// The name of the program that a command line runs, behind interpreters and wrappers.
fn program_of(words: &[String], depth: u32) -> Option<String> {
    let mut words = words.iter();
    loop {
        let word = words.next()?;
        let base = word.rsplit('/').next().unwrap_or_default();
        let base = base.strip_suffix(".py").unwrap_or(base);
        let is_runner = base.starts_with("python") || RUNNERS.contains(&base.trim_start_matches('-'));
        if !is_runner {
            return Some(base.to_owned());
        }
        // Its options and variables; of `-c` a command, of `-m` a module.
        let mut rest = words.as_slice();
        while let Some((first, behind)) = rest.split_first() {
            match first.as_str() {
                "-m" => return behind.first().map(|module| module.split('.').next().unwrap_or_default().to_owned()),
                "-c" if depth < 2 => {
                    let command = shlex::split(behind.first()?)?;
                    return program_of(&command, depth + 1);
                }
                word if word.starts_with('-') || (word.contains('=') && !word.starts_with('/')) => rest = behind,
                // The value of an option, as of `nice -n 5`.
                word if word.parse::<i64>().is_ok() => rest = behind,
                _ => break,
            }
        }
        words = rest.iter();
    }
}

/// Those that run now.
///
/// # Errors
/// When /proc cannot be read.
pub fn running(sense: &Sense) -> brisk_sense::Result<Vec<MemoryProgram>> {
    let mut found: BTreeMap<&str, u32> = BTreeMap::new();
    for pid in sense.process_ids()? {
        let Ok(Some(comm)) = sense.process_name(pid) else { continue };
        let words = sense.command_line(pid).ok().flatten().unwrap_or_default();
        let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let groups = sense.process_cgroups(pid).ok().flatten().unwrap_or_default();
        let unit = |group: &ProcessCgroup| Some(group.path.file_name()?.to_string_lossy().into_owned());
        let units: Vec<String> = groups.iter().filter_map(unit).collect();
        let is_it =
            |killer: &&Killer| killer.is(&comm, &words, "") || units.iter().any(|unit| killer.is("", &[], unit));
        let Some(killer) = KILLERS.iter().find(is_it) else { continue };
        if sense.shares_processes(pid) {
            // Of several processes of one program the first.
            found.entry(killer.name).or_insert(pid);
        }
    }
    let of = |killer: &Killer| {
        let pid = *found.get(killer.name)?;
        let (name, does) = (killer.name.to_owned(), killer.does.to_owned());
        Some(MemoryProgram { name, pid, ends_apps: killer.ends_apps, does })
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
        let program = name.split(['.', '@']).next().unwrap_or_default();
        // A script is a session of its interpreter.
        let may_be_script = program == "env" || name.starts_with("python");
        if may_be_script || KILLERS.iter().flat_map(Killer::names).any(|known| known == program) {
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
            (91, "mgd"),
            (92, "frostbyte"),
        ]);
        let found = running(&sense).expect("readable");
        let found: Vec<(&str, u32, bool)> =
            found.iter().map(|one| (one.name.as_str(), one.pid, one.ends_apps)).collect();
        let expected = [
            ("systemd-oomd", 70, true),
            ("earlyoom", 40, true),
            ("nohang", 80, true),
            ("lmkd", 90, true),
            ("mgd", 91, true),
            ("frostbyte", 92, true),
            ("uresourced", 50, false),
            ("low-memory-monitor", 60, false),
        ];
        assert_eq!(found, expected);
        assert_eq!(running(&machine(&[(1, "init"), (2, "earlyoom2")]).1).expect("readable"), []);
    }

    #[test]
    fn a_program_is_known_by_its_command_line_and_its_unit_too() {
        let found = |comm: &str, words: &[&str], unit: &str| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            KILLERS.iter().find(|killer| killer.is(comm, &words, unit)).map(|killer| killer.name)
        };
        let nohang: [&[&str]; 13] = [
            &["/usr/bin/nohang", "--monitor"],
            &["python3", "/usr/sbin/nohang", "--config", "/etc/nohang/nohang.conf", "--monitor"],
            &["/usr/bin/python3.11", "-u", "/usr/bin/nohang"],
            &["/usr/bin/env", "python3", "/usr/bin/nohang"],
            &["env", "-i", "PATH=/bin", "python3", "-O", "/opt/nohang.py"],
            &["python3", "-m", "nohang", "--monitor"],
            &["sh", "-c", "exec /usr/bin/nohang --monitor"],
            &["bash", "-c", "env python3 /usr/bin/nohang-desktop"],
            &["nice", "-n", "-5", "python3", "/usr/bin/nohang"],
            &["sudo", "-n", "nohang"],
            &["busybox", "sh", "/usr/bin/nohang"],
            &["/usr/bin/nohang-desktop"],
            &["pypy3", "/srv/nohang"],
        ];
        for words in nohang {
            assert_eq!(found("python3", words, "x.scope"), Some("nohang"), "{words:?}");
        }
        for unit in ["nohang.service", "nohang-desktop.service"] {
            assert_eq!(found("python3", &["python3", "/srv/renamed"], unit), Some("nohang"), "{unit}");
        }
        assert_eq!(found("oomd", &["/usr/bin/oomd"], "x"), Some("oomd"));
        assert_eq!(found("low-memory-moni", &[], ""), Some("low-memory-monitor"));
        let others: [(&str, &[&str], &str); 8] = [
            ("vim", &["vim", "/usr/bin/nohang"], "x"),
            ("grep", &["grep", "nohang", "earlyoom"], "x"),
            ("python3", &["python3", "/usr/bin/other", "nohang"], "x"),
            ("python3", &["python3"], "x"),
            ("python3", &["python3", "-c", "print('nohang')"], "x"),
            ("sh", &["sh", "-c", "'"], "x"),
            ("psi-notify", &["psi-notify"], "psi-notify.service"),
            ("", &[], "nohang"),
        ];
        for (comm, words, unit) in others {
            assert_eq!(found(comm, words, unit), None, "{comm} {words:?} {unit}");
        }
    }

    #[test]
    fn one_in_a_container_ends_nothing_out_here() {
        let (root, sense) = machine(&[(40, "earlyoom")]);
        let space = |pid: &str, space: &str| {
            let dir = root.path().join("proc").join(pid).join("ns");
            std::fs::create_dir_all(&dir).expect("made");
            let _ = std::fs::remove_file(dir.join("pid"));
            std::os::unix::fs::symlink(space, dir.join("pid")).expect("a link");
        };
        space("self", "pid:[1]");
        for (of_other, count) in [("pid:[1]", 1), ("pid:[2]", 0)] {
            space("40", of_other);
            assert_eq!(running(&sense).expect("readable").len(), count);
        }
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
