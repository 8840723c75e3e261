//! Terminals and sessions: control groups in which a person has started several things, of which one can be ended
//! alone.
//!
//! A control group is taken for one app. In the group of a terminal, a login or a desktop session are a shell, what was
//! started from it, and the terminal itself: when one of them takes all memory, the end of the group would end the
//! shell and all other work in it. Which groups these are is seen by structure, whatever the terminal is called: a
//! process in it leads the session of a controlling terminal, and is a shell or was started by another process of the
//! group.
//!
//! What can be ended are *branches*: a process with all that it has started, as near to the shell as may be, so that
//! `make` ends and not one of its compilers. In no branch are interactive shells, terminals, what the configuration
//! protects, window managers, and what any of these was started by.
//!
//! Properties, each with a test of the same name: `the_shell_and_the_terminal_are_in_no_branch`;
//! `an_app_that_is_one_has_no_branches`; `a_branch_is_all_that_the_shell_started_at_once`;
//! `what_has_grown_is_known_by_half_a_minute_before`.

use std::collections::{BTreeMap, BTreeSet};

use brisk_core::app::{Branch, Preference};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    /// The process that started or adopted it.
    pub parent: u32,
    /// The leader of its session.
    pub session: u32,
    /// Whether it has a controlling terminal.
    pub has_terminal: bool,
    /// When it started, in ticks after boot.
    pub start_ticks: u64,
    pub name: String,
    /// Its anonymous memory and swap.
    pub memory_bytes: u64,
}

/// Growth is that since the sample before the last of this distance.
const GROWTH_NS: u64 = 30_000_000_000;

const SHELLS: &[&str] = &[
    "ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "ksh93", "mksh", "nu", "oksh", "sh", "tcsh", "xonsh",
    "yash", "zsh",
];

/// Parts of names of terminals and of what hands out terminals. Another program that has one, such as an editor, is an
/// app.
const TERMINALS: &[&str] = &[
    "term",
    "konsole",
    "console",
    "kgx",
    "kitty",
    "foot",
    "ptyxis",
    "tilix",
    "tilda",
    "guake",
    "yakuake",
    "alacritty",
    "rxvt",
    "tmux",
    "screen",
    "zellij",
    "dvtm",
    "sshd",
    "login",
    "dropbear",
    "mosh",
    "script",
    "sudo",
    "doas",
    "agetty",
    "su",
];

/// What a session has only one of.
const MANAGERS: &[&str] = &[
    "awesome",
    "bspwm",
    "cage",
    "cinnamon",
    "cosmic-",
    "dwm",
    "enlightenment",
    "fluxbox",
    "herbstluftwm",
    "hyprland",
    "i3",
    "icewm",
    "jwm",
    "lxqt-",
    "lxsession",
    "marco",
    "mate-session",
    "matchbox-window",
    "niri",
    "openbox",
    "plasma",
    "qtile",
    "river",
    "startplasma",
    "startx",
    "systemd",
    "wayfire",
    "xfce4-",
    "xfdesktop",
    "xfwm",
    "xinit",
    "xmonad",
];

fn is_shell(process: &Process) -> bool {
    // A login shell is called with a dash in front.
    SHELLS.contains(&process.name.trim_start_matches('-'))
}

fn leads_a_terminal(process: &Process) -> bool {
    process.has_terminal && process.session == process.pid
}

fn is_terminal_by_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    TERMINALS.iter().any(|part| name == *part || (part.len() > 3 && name.contains(part)))
}

/// What can be ended in a group of these processes; `None` where it is one app. `is_protected` knows names that are
/// never ended.
#[must_use]
pub(super) fn branches(
    group: &str,
    processes: &[Process],
    is_protected: impl Fn(&str) -> bool,
) -> Option<Vec<Vec<u32>>> {
    let by_pid: BTreeMap<u32, &Process> = processes.iter().map(|process| (process.pid, process)).collect();
    let has_parent_here = |process: &&Process| by_pid.contains_key(&process.parent);
    let leaders = || processes.iter().filter(|process| leads_a_terminal(process));
    // A session of processes without a terminal is whatever has begun it.
    let of_session = group.starts_with("session-") && (group.ends_with(".scope") || leaders().any(is_shell));
    if !of_session && !leaders().any(|process| is_shell(process) || has_parent_here(&process)) {
        return None;
    }
    let opens_terminal: BTreeSet<u32> =
        leaders().filter(has_parent_here).map(|process| process.parent).filter(|pid| *pid != 0).collect();
    let stays = |process: &Process| {
        let name = process.name.to_ascii_lowercase();
        (is_shell(process) && (leads_a_terminal(process) || process.session == process.pid))
            || opens_terminal.contains(&process.pid)
            || is_protected(&process.name)
            || is_terminal_by_name(&name)
            || MANAGERS.iter().any(|manager| name.starts_with(manager))
    };
    // What has one that stays below it stays as well.
    let mut kept: BTreeSet<u32> = BTreeSet::new();
    for process in processes.iter().filter(|process| stays(process)) {
        let mut next = Some(process);
        while let Some(above) = next.filter(|above| kept.insert(above.pid)) {
            next = by_pid.get(&above.parent).copied();
        }
    }
    let mut found: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for process in processes.iter().filter(|process| !kept.contains(&process.pid)) {
        let (mut root, mut steps) = (process, 0);
        while let Some(above) = by_pid.get(&root.parent).filter(|above| !kept.contains(&above.pid)) {
            root = above;
            steps += 1;
            // A listing is no moment: numbers may have gone round.
            if steps > processes.len() {
                break;
            }
        }
        found.entry(root.pid).or_default().push(process.pid);
    }
    let bytes = |pid: &u32| by_pid.get(pid).map_or(0, |process| process.memory_bytes);
    let all: u64 = processes.iter().map(|process| process.memory_bytes).sum();
    // An editor with a terminal in it, of which it has most of the memory itself, is an app.
    let is_app_with_terminal = !of_session
        && opens_terminal.iter().any(|pid| {
            bytes(pid) > all / 2 && by_pid.get(pid).is_some_and(|process| !is_terminal_by_name(&process.name))
        });
    (!is_app_with_terminal).then(|| found.into_values().collect())
}

/// What branches had before.
#[derive(Debug, Default)]
pub(super) struct Growth {
    /// By process and its start: two samples, the older first.
    samples: BTreeMap<(u32, u64), [(u64, u64); 2]>,
    is_begun: bool,
}

impl Growth {
    /// The branches with what they have and by how much they have grown. `preference` knows that of a name.
    pub(super) fn weigh(
        &mut self,
        at_ns: u64,
        processes: &[Process],
        branches: &[Vec<u32>],
        preference: impl Fn(&[&str]) -> Option<Preference>,
    ) -> Vec<Branch> {
        let by_pid: BTreeMap<u32, &Process> = processes.iter().map(|process| (process.pid, process)).collect();
        let mut kept = BTreeMap::new();
        let mut weighed = Vec::new();
        for pids in branches {
            let of: Vec<&Process> = pids.iter().filter_map(|pid| by_pid.get(pid).copied()).collect();
            let in_branch = |process: &&&Process| !of.iter().any(|other| other.pid == process.parent);
            let Some(root) = of.iter().find(in_branch) else { continue };
            let memory_bytes = of.iter().map(|process| process.memory_bytes).sum();
            let key = (root.pid, root.start_ticks);
            // What came since the first sample has come from nothing.
            let first = (at_ns, if self.is_begun { 0 } else { memory_bytes });
            let mut samples = self.samples.get(&key).copied().unwrap_or([first; 2]);
            if at_ns.saturating_sub(samples[1].0) >= GROWTH_NS {
                samples = [samples[1], (at_ns, memory_bytes)];
            }
            kept.insert(key, samples);
            let names: Vec<&str> = of.iter().map(|process| process.name.as_str()).collect();
            weighed.push(Branch {
                pid: root.pid,
                start_ticks: root.start_ticks,
                name: root.name.clone(),
                memory_bytes,
                growth_bytes: u64::saturating_sub(memory_bytes, samples[0].1),
                preference: preference(&names),
            });
        }
        (self.samples, self.is_begun) = (kept, true);
        weighed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn process(pid: u32, parent: u32, name: &str, memory_mib: u64) -> Process {
        let (name, memory_bytes) = (name.to_owned(), memory_mib * MIB);
        Process { pid, parent, session: 1, start_ticks: u64::from(pid), name, memory_bytes, has_terminal: false }
    }

    /// A process with a session and a terminal of its own.
    fn leader(pid: u32, parent: u32, name: &str, memory_mib: u64) -> Process {
        Process { session: pid, has_terminal: true, ..process(pid, parent, name, memory_mib) }
    }

    /// A process of the session of a shell.
    fn job(pid: u32, parent: u32, shell: u32, name: &str, memory_mib: u64) -> Process {
        Process { session: shell, has_terminal: true, ..process(pid, parent, name, memory_mib) }
    }

    fn of(group: &str, processes: &[Process]) -> Option<Vec<Vec<u32>>> {
        branches(group, processes, |name| name == "Xorg" || name == "sway")
    }

    #[test]
    fn the_shell_and_the_terminal_are_in_no_branch() {
        // xterm, its shell, an editor and a hog; and a shell in a shell.
        let xterm = [
            process(10, 1, "xterm", 9),
            leader(11, 10, "bash", 3),
            job(12, 11, 11, "vim", 30),
            job(13, 11, 11, "hog", 900),
            job(14, 11, 11, "dash", 1),
            job(15, 14, 11, "sleep", 1),
        ];
        assert_eq!(of("app-xterm-10.scope", &xterm), Some(vec![vec![12], vec![13], vec![14, 15]]));
        // The same of a login, whose shell has another parent; of vte, where the terminal is in another group; of tmux.
        for (group, shells_parent, terminal) in [
            ("session-4.scope", 20, Some("sshd")),
            ("vte-spawn-1.scope", 1, None),
            ("tmux-spawn-1.scope", 20, Some("tmux: server")),
        ] {
            let mut all: Vec<Process> = terminal.into_iter().map(|name| process(20, 1, name, 5)).collect();
            all.extend([leader(21, shells_parent, "-zsh", 3), job(22, 21, 21, "hog", 900)]);
            assert_eq!(of(group, &all), Some(vec![vec![22]]), "{group}");
        }
        // A desktop that a login shell has started: neither the display nor the window manager.
        let desktop = [
            leader(30, 1, "bash", 3),
            job(31, 30, 30, "startx", 1),
            job(32, 31, 30, "xinit", 1),
            leader(33, 32, "Xorg", 90),
            job(34, 32, 30, "i3", 9),
            job(35, 34, 30, "firefox", 800),
            job(36, 35, 30, "Web Content", 500),
        ];
        assert_eq!(of("session-1.scope", &desktop), Some(vec![vec![35, 36]]));
        // Nothing but the shell.
        assert_eq!(of("session-1.scope", &[leader(11, 1, "bash", 3)]), Some(vec![]));
        // A session of processes, of a shell and of another program.
        assert_eq!(of("session-11", &[leader(11, 1, "bash", 3), job(12, 11, 11, "hog", 900)]), Some(vec![vec![12]]));
        let editor = [Process { session: 11, ..process(11, 1, "editor", 300) }, job(12, 11, 11, "helper", 9)];
        assert_eq!(of("session-11", &editor), None);
        // What has left its shell.
        let left = [leader(11, 1, "bash", 3), Process { session: 12, ..process(12, 1, "hog", 900) }];
        assert_eq!(of("session-1.scope", &left), Some(vec![vec![12]]));
    }

    #[test]
    fn an_app_that_is_one_has_no_branches() {
        let browser = [process(10, 1, "firefox", 400), process(11, 10, "Web Content", 900), process(12, 10, "sh", 1)];
        assert_eq!(of("app-firefox-1.scope", &browser), None);
        // Started from a terminal that is elsewhere.
        let by_hand = [job(10, 1, 5, "make", 4), job(11, 10, 5, "cc1", 400)];
        assert_eq!(of("run-1.scope", &by_hand), None);
        // An editor with a terminal of its own has most of the memory.
        let editor = |own_mib, hog_mib| {
            [process(10, 1, "code", own_mib), leader(11, 10, "bash", 3), job(12, 11, 11, "hog", hog_mib)]
        };
        assert_eq!(of("app-code-1.scope", &editor(900, 20)), None);
        assert_eq!(of("app-code-1.scope", &editor(300, 900)), Some(vec![vec![12]]));
        assert_eq!(of("app-x-1.scope", &[]), None);
    }

    #[test]
    fn a_branch_is_all_that_the_shell_started_at_once() {
        let build = [
            leader(11, 1, "bash", 3),
            job(12, 11, 11, "make", 4),
            job(13, 12, 11, "sh", 1),
            job(14, 13, 11, "cc1", 300),
            job(15, 12, 11, "cc1", 310),
        ];
        assert_eq!(of("vte-spawn-1.scope", &build), Some(vec![vec![12, 13, 14, 15]]));
        // Whatever the order and however odd the numbers.
        let mut odd = build.to_vec();
        odd.reverse();
        odd.push(Process { parent: 17, ..job(16, 17, 11, "a", 1) });
        odd.push(Process { parent: 16, ..job(17, 16, 11, "b", 1) });
        assert!(of("vte-spawn-1.scope", &odd).is_some());
    }

    #[test]
    fn what_has_grown_is_known_by_half_a_minute_before() {
        let mut growth = Growth::default();
        let mut weigh = |second: u64, hog_mib: u64, late_mib: Option<u64>| {
            let mut all =
                vec![leader(11, 1, "bash", 3), job(12, 11, 11, "editor", 700), job(13, 11, 11, "hog", hog_mib)];
            all.extend(late_mib.map(|mib| job(14, 11, 11, "late", mib)));
            let branches = of("vte-spawn-1.scope", &all).expect("a terminal");
            let weighed = growth.weigh(second * 1_000_000_000, &all, &branches, |_| None);
            weighed.into_iter().map(|branch| (branch.pid, branch.growth_bytes / MIB)).collect::<Vec<_>>()
        };
        // What was there before says nothing of growth.
        assert_eq!(weigh(0, 100, None), [(12, 0), (13, 0)]);
        assert_eq!(weigh(10, 200, None), [(12, 0), (13, 100)]);
        assert_eq!(weigh(31, 300, Some(50)), [(12, 0), (13, 200), (14, 50)]);
        assert_eq!(weigh(62, 310, Some(50)), [(12, 0), (13, 10), (14, 50)]);
        assert_eq!(weigh(120, 310, None), [(12, 0), (13, 0)]);
    }
}
