//! What apps do for their users: sound, inhibitor locks, the freezer, and kills by the kernel.

use std::path::{Path, PathBuf};

use brisk_formats::{
    AppGroups, Inhibitor, ProcessCgroup, fields, parse_active_user, parse_frozen, parse_inhibitor, parse_oom_kills,
    parse_pcm_owner,
};

use crate::error::{Absent as _, Result};
use crate::machine::Sense;

/// Where logind keeps its seats.
const SEATS: &str = "/run/systemd/seats";
/// Where logind and elogind keep inhibitor locks.
const INHIBITORS: &str = "/run/systemd/inhibit";
/// Locks and streams that are read at most.
const READ_MAX: usize = 256;

/// Where control groups are mounted, for files of one group in several hierarchies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hierarchies {
    /// That in which apps have groups.
    apps: Option<AppGroups>,
    memory: Option<PathBuf>,
    freezer: Option<PathBuf>,
}

impl Hierarchies {
    /// Those of this machine.
    ///
    /// # Errors
    /// When /proc is missing, or a file is not readable or not understood.
    pub fn of(sense: &Sense) -> Result<Self> {
        let cgroups = sense.cgroups()?;
        let v1 = |controller| cgroups.v1_with(controller).map(|hierarchy| hierarchy.mount_point.clone());
        Ok(Self { memory: v1("memory"), freezer: v1("freezer"), apps: sense.app_groups()? })
    }

    /// Of the groups that a process is in, the one in the hierarchy in which apps have groups.
    #[must_use]
    pub fn group(&self, groups: &[ProcessCgroup]) -> Option<PathBuf> {
        let apps = self.apps.as_ref()?;
        let is_it = |group: &&ProcessCgroup| match apps.v1 {
            None => group.hierarchy == 0,
            Some(controller) => group.controllers.iter().any(|name| name == controller),
        };
        let group = groups.iter().find(is_it).filter(|group| !group.deleted)?;
        Some(apps.mount_point.join(group.path.strip_prefix("/").unwrap_or(&group.path)))
    }

    /// Where an app's group is in the memory controller of version 1.
    pub(crate) fn in_old_memory(&self, sense: &Sense, dir: &Path) -> Option<PathBuf> {
        self.in_other(sense, self.memory.as_ref(), dir)
    }

    /// Where an app's group is in another hierarchy: under the same name, on Android maybe below `apps`.
    fn in_other(&self, sense: &Sense, other: Option<&PathBuf>, dir: &Path) -> Option<PathBuf> {
        let (apps, other) = (self.apps.as_ref()?, other?);
        if *other == apps.mount_point {
            return Some(dir.to_owned());
        }
        apps.in_other(other, dir).into_iter().find(|dir| sense.path(dir).is_dir())
    }

    /// How many processes of the group at `dir`, its directory where apps have groups, the out-of-memory killer has
    /// ended. `None` without a memory controller, before Linux 4.19 of the first version, and once the group is gone.
    ///
    /// # Errors
    /// When a file is not readable or not understood.
    pub fn oom_kills(&self, sense: &Sense, dir: &Path) -> Result<Option<u64>> {
        match sense.parse_optional_flat(dir.join("memory.events"), parse_oom_kills)? {
            None => match self.in_old_memory(sense, dir) {
                Some(dir) => sense.parse_optional_flat(dir.join("memory.oom_control"), parse_oom_kills),
                None => Ok(None),
            },
            kills => Ok(kills),
        }
    }

    /// Whether the group at `dir`, its directory where apps have groups, is frozen in either version; `None` where
    /// neither has a freezer for it.
    ///
    /// # Errors
    /// When a file is not readable or not understood.
    pub fn is_frozen(&self, sense: &Sense, dir: &Path) -> Result<Option<bool>> {
        let unified = sense.parse_optional_flat(dir.join("cgroup.events"), parse_frozen)?;
        let old = match self.in_other(sense, self.freezer.as_ref(), dir) {
            Some(dir) => sense.parse_optional_flat(dir.join("freezer.state"), parse_frozen)?,
            None => None,
        };
        Ok(unified.into_iter().chain(old).reduce(|one, other| one || other))
    }
}

impl Sense {
    /// Threads that play or record sound now, by the streams of sound cards (/proc/asound); those of a sound server are
    /// the server's, whichever program it plays for. 0 is a thread of another namespace. Nothing plays on a machine
    /// without any sound device; `None` where there is one that /proc does not show.
    ///
    /// # Errors
    /// When a file is not readable or not understood.
    pub fn sound_owners(&self) -> Result<Option<Vec<u32>>> {
        let root = Path::new("/proc/asound");
        if !self.path(root).is_dir() {
            let has_none = self.path("/sys/class").is_dir() && !self.path("/sys/class/sound").is_dir();
            return Ok(has_none.then(Vec::new));
        }
        let below = |dir: &Path, begins: &[&str]| -> Result<Vec<PathBuf>> {
            let names = self.names_in(dir).or_hidden()?.unwrap_or_default();
            let is_one = |name: &String| {
                let number = begins.iter().find_map(|begin| name.strip_prefix(begin));
                number.is_some_and(|number| number.starts_with(|first: char| first.is_ascii_digit()))
            };
            Ok(names.into_iter().filter(is_one).map(|name| dir.join(name)).collect())
        };
        let (mut owners, mut read) = (Vec::new(), 0);
        for card in below(root, &["card"])? {
            for device in below(&card, &["pcm"])? {
                for stream in below(&device, &["sub"])? {
                    read += 1;
                    if read > READ_MAX {
                        // One of those that are left may play.
                        return Ok(None);
                    }
                    // Unplugged meanwhile: silent.
                    owners.extend(self.parse_optional_flat(stream.join("status"), parse_pcm_owner)?);
                }
            }
        }
        owners.sort_unstable();
        owners.dedup();
        Ok(Some(owners))
    }

    /// Whether a device is connected by Bluetooth, to which sound may go that no sound card shows.
    ///
    /// # Errors
    /// When the directory is not readable.
    pub fn has_bluetooth_connection(&self) -> Result<bool> {
        // A connection is `hci0:42` beside the adapter `hci0`.
        Ok(self.names_in("/sys/class/bluetooth").or_hidden()?.unwrap_or_default().iter().any(|name| name.contains(':')))
    }

    /// The inhibitor locks of logind: none where there is no logind, as no app can take one. `None` where there are
    /// more than are read, or one that cannot be read: any app may hold it.
    ///
    /// # Errors
    /// When the directory is not readable.
    pub fn inhibitors(&self) -> Result<Option<Vec<Inhibitor>>> {
        if !self.path(INHIBITORS).is_dir() {
            return Ok(Some(Vec::new()));
        }
        // `7.ref` is the pipe whose end releases the lock `7`: to open it would wait.
        let is_lock = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
        let names: Vec<String> = self.names_in(INHIBITORS)?.into_iter().filter(is_lock).collect();
        if names.len() > READ_MAX {
            return Ok(None);
        }
        let paths = names.into_iter().map(|name| Path::new(INHIBITORS).join(name));
        let files = paths.filter(|path| self.path(path).is_file());
        // Released meanwhile: no lock.
        let locks = files.map(|path| self.parse_optional(path, parse_inhibitor)).filter_map(Result::transpose);
        Ok(locks.collect::<Result<_>>().ok())
    }

    /// The users whose sessions are active on the seats of logind; none where there is no logind.
    ///
    /// # Errors
    /// When the directory of seats is not readable.
    pub fn users_of_active_sessions(&self) -> Result<Vec<u32>> {
        if !self.path(SEATS).is_dir() {
            return Ok(Vec::new());
        }
        let names = self.names_in(SEATS)?.into_iter().take(READ_MAX);
        let paths = names.map(|name| Path::new(SEATS).join(name));
        let users = paths.filter_map(|path| self.parse(path, |bytes| Ok(parse_active_user(bytes))).ok().flatten());
        Ok(users.collect())
    }

    /// How readily the out-of-memory killer takes process `pid`, from /proc/PID/oom_score_adj: -1000 never, 1000 first;
    /// `None` when there is no such process.
    ///
    /// # Errors
    /// When it is not readable or not understood.
    pub fn oom_score_adj(&self, pid: u32) -> Result<Option<i16>> {
        self.parse_optional(format!("/proc/{pid}/oom_score_adj"), |bytes| fields::only_number("oom_score_adj", bytes))
    }

    /// The name of a process, of which the kernel keeps 15 bytes: that of the program's file until the program changes
    /// it. `None` when it has ended.
    ///
    /// # Errors
    /// When /proc is missing or not readable.
    pub fn process_name(&self, pid: u32) -> Result<Option<String>> {
        let comm = self.read_optional(format!("/proc/{pid}/comm"))?;
        Ok(comm.map(|comm| String::from_utf8_lossy(comm.strip_suffix(b"\n").unwrap_or(&comm)).into_owned()))
    }

    /// Whether a process is in the same namespace of processes as this one, so that it can end what this one sees. What
    /// cannot be told is taken for that.
    #[must_use]
    pub fn shares_processes(&self, pid: u32) -> bool {
        let space = |pid: &str| std::fs::read_link(self.path(format!("/proc/{pid}/ns/pid"))).ok();
        match (space("self"), space(&pid.to_string())) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use brisk_formats::parse_process_cgroups;

    use super::*;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Sense) {
        let root = tempfile::tempdir().expect("a directory");
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let sense = Sense::new(root.path());
        (root, sense)
    }

    #[test]
    fn sound_is_owned_by_threads_whose_streams_run() {
        let runs = |owner: u32| format!("state: RUNNING\nowner_pid   : {owner}\n");
        let files = [
            ("proc/asound/card0/pcm0p/sub0/status", runs(70)),
            ("proc/asound/card0/pcm0c/sub0/status", "closed\n".to_owned()),
            ("proc/asound/card1/pcm3p/sub0/status", "state: PREPARED\nowner_pid   : 71\n".to_owned()),
            ("proc/asound/card1/pcm3p/sub1/status", runs(7)),
            ("proc/asound/card1/pcm3p/info", "card: 1\n".to_owned()),
            ("proc/asound/cards", " 0 [PCH ]\n".to_owned()),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let (_root, sense) = tree(&files);
        assert_eq!(sense.sound_owners().expect("readable"), Some(vec![7, 70]));
        assert_eq!(tree(&[]).1.sound_owners().expect("no error"), None, "nothing tells");
        // A device that is there and is not shown, as in a sandbox; and none at all.
        let hidden = tree(&[("sys/class/sound/card0/id", "PCH\n")]);
        assert_eq!(hidden.1.sound_owners().expect("no error"), None);
        assert_eq!(tree(&[("sys/class/net/lo", "")]).1.sound_owners().expect("no error"), Some(vec![]));
        assert_eq!(tree(&[("proc/asound/version", "k\n")]).1.sound_owners().expect("readable"), Some(vec![]));
    }

    #[test]
    fn a_connection_by_bluetooth_is_seen() {
        let (_root, sense) = tree(&[("sys/class/bluetooth/hci0/x", "")]);
        assert!(!sense.has_bluetooth_connection().expect("readable"));
        let (_root, sense) = tree(&[("sys/class/bluetooth/hci0:12/x", "")]);
        assert!(sense.has_bluetooth_connection().expect("readable"));
    }

    #[test]
    fn locks_are_read_and_pipes_left_alone() {
        let lock = "# This is private data. Do not parse.\nWHAT=idle\nMODE=block\nUID=1000\nPID=4711\nWHO=mpv\n";
        let (root, sense) = tree(&[("run/systemd/inhibit/1", lock)]);
        // To open a pipe without a writer would wait for ever.
        let pipe = root.path().join("run/systemd/inhibit/1.ref");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
        let locks = sense.inhibitors().expect("readable").expect("logind");
        assert_eq!(locks.iter().map(|lock| (lock.pid, lock.who.as_str())).collect::<Vec<_>>(), [(Some(4711), "mpv")]);
        // One that is not understood may be of any app.
        std::fs::write(root.path().join("run/systemd/inhibit/12"), "WHAT=idle\n").expect("written");
        assert_eq!(sense.inhibitors().expect("readable"), None);
        assert_eq!(tree(&[]).1.inhibitors().expect("no error"), Some(vec![]), "no logind, no lock");
    }

    #[test]
    fn processes_have_the_names_that_the_kernel_keeps() {
        let (_root, sense) = tree(&[
            ("proc/1/comm", "systemd\n"),
            ("proc/20/comm", "low-memory-moni\n"),
            ("proc/30/comm", "earlyoom\n"),
            ("proc/31/comm", "earlyoom2\n"),
        ]);
        let names = [20, 31, 7].map(|pid| sense.process_name(pid).expect("readable"));
        assert_eq!(names, [Some("low-memory-moni".to_owned()), Some("earlyoom2".to_owned()), None]);
        assert!(sense.shares_processes(20), "it cannot be told");
    }

    #[test]
    fn files_of_a_group_are_found_in_each_hierarchy() {
        let mounts = "30 1 0:27 / /c2 rw - cgroup2 cgroup2 rw\n31 1 0:28 / /mem rw - cgroup cgroup rw,memory\n\
                      32 1 0:29 / /frz rw - cgroup cgroup rw,freezer\n";
        let controllers = "#subsys_name\thierarchy\tnum_cgroups\tenabled\nmemory\t3\t1\t1\nfreezer\t4\t1\t1\n";
        let (_root, sense) = tree(&[
            ("proc/self/mountinfo", mounts),
            ("proc/cgroups", controllers),
            ("c2/phone/a/cgroup.events", "populated 1\nfrozen 0\n"),
            ("mem/phone/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"),
            ("frz/phone/a/freezer.state", "FROZEN\n"),
            ("c2/phone/b/memory.events", "low 0\noom_kill 1\n"),
            ("c2/phone/b/cgroup.events", "populated 1\nfrozen 0\n"),
        ]);
        let hierarchies = Hierarchies::of(&sense).expect("readable");
        let of = |name: &str| {
            let groups = parse_process_cgroups(format!("4:memory:/other\n0::{name}\n").as_bytes()).expect("groups");
            let dir = hierarchies.group(&groups).expect("mounted");
            let kills = hierarchies.oom_kills(&sense, &dir).expect("readable");
            (kills, hierarchies.is_frozen(&sense, &dir).expect("readable"))
        };
        assert_eq!(of("/phone/a"), (Some(3), Some(true)));
        assert_eq!(of("/phone/b"), (Some(1), Some(false)));
        assert_eq!(of("/phone/gone"), (None, None));
    }
}
