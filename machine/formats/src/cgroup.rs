//! Control groups (Documentation/admin-guide/cgroup-v1/cgroups.rst, cgroup-v2.rst): which there are, which a process is
//! in, and the files of a group of the second version that brisk reads.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::ParseError;
use crate::block::DeviceNumber;
use crate::fields::{self, lines, split_deleted};
use crate::process::BytesMoved;

/// Time that the group's tasks have run on processors, groups below it included, since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupCpu {
    /// User and system.
    pub usage_us: u64,
    pub user_us: u64,
    pub system_us: u64,
}

/// The place of a process in one hierarchy of control groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessCgroup {
    /// 0 for the second version.
    pub hierarchy: u32,
    /// The controllers or the name of a hierarchy of the first version; empty for the second version.
    pub controllers: Vec<String>,
    /// Its group, from the root of the hierarchy as this process sees it.
    pub path: PathBuf,
    /// Whether the group was removed and only this process, which has ended, is left of it.
    pub deleted: bool,
}

/// Reads the text of cpu.stat. Unknown lines are skipped.
///
/// # Errors
/// When `usage_usec`, `user_usec` or `system_usec` is missing or not a number.
pub fn parse_cgroup_cpu(bytes: &[u8]) -> Result<CgroupCpu, ParseError> {
    let (mut usage, mut user, mut system) = (None, None, None);
    for mut words in lines(bytes) {
        let slot = match words.next_word() {
            Some(b"usage_usec") => &mut usage,
            Some(b"user_usec") => &mut user,
            Some(b"system_usec") => &mut system,
            _ => continue,
        };
        *slot = Some(words.number("time")?);
    }
    Ok(CgroupCpu {
        usage_us: usage.ok_or(ParseError::MissingLine("usage_usec"))?,
        user_us: user.ok_or(ParseError::MissingLine("user_usec"))?,
        system_us: system.ok_or(ParseError::MissingLine("system_usec"))?,
    })
}

/// Reads the text of io.stat: device, and the bytes that the group has read from it and written to it. Devices without
/// either are left out.
///
/// # Errors
/// When a line has no device number, or a value is not a number.
pub fn parse_io_stat(bytes: &[u8]) -> Result<Vec<(DeviceNumber, BytesMoved)>, ParseError> {
    let mut devices = Vec::new();
    for mut words in lines(bytes) {
        let line = words.line;
        let device = fields::text(words.word("device")?);
        let device = device.parse().map_err(|_| ParseError::BadField { line, field: "device", text: device })?;
        let mut moved = BytesMoved::default();
        while let Some(word) = words.next_word() {
            let Some(at) = word.iter().position(|&byte| byte == b'=') else { continue };
            match &word[..at] {
                b"rbytes" => moved.read_bytes = fields::number(line, "rbytes", &word[at + 1..])?,
                b"wbytes" => moved.write_bytes = fields::number(line, "wbytes", &word[at + 1..])?,
                _ => {}
            }
        }
        if moved != BytesMoved::default() {
            devices.push((device, moved));
        }
    }
    Ok(devices)
}

/// Reads the text of cgroup.procs: process ids, one a line, in no order and now and then twice. Those of processes that
/// this PID namespace does not see are 0 there and left out.
///
/// # Errors
/// When a line is not a number.
pub fn parse_cgroup_processes(bytes: &[u8]) -> Result<Vec<u32>, ParseError> {
    let mut pids = Vec::new();
    for mut words in lines(bytes) {
        pids.push(words.number("process id")?);
    }
    pids.retain(|&pid| pid != 0);
    pids.sort_unstable();
    pids.dedup();
    Ok(pids)
}

/// Reads whether a process is in a group from the text of cgroup.events.
///
/// # Errors
/// When there is no such line, or its value is not a number.
pub fn parse_populated(bytes: &[u8]) -> Result<bool, ParseError> {
    for mut words in lines(bytes) {
        if words.next_word() == Some(b"populated") {
            return Ok(words.number::<u8>("populated")? != 0);
        }
    }
    Err(ParseError::MissingLine("populated"))
}

/// Reads how many processes of a group the out-of-memory killer has ended, from the text of memory.events, or of
/// memory.oom_control of the first version (Linux 4.19); `None` when it does not say.
///
/// # Errors
/// When the value is not a number.
pub fn parse_oom_kills(bytes: &[u8]) -> Result<Option<u64>, ParseError> {
    for mut words in lines(bytes) {
        if words.next_word() == Some(b"oom_kill") {
            return words.number("oom_kill").map(Some);
        }
    }
    Ok(None)
}

/// Reads whether a group is frozen from the text of cgroup.events, or of freezer.state of the first version; `None`
/// when it does not say. A group on its way into the freezer of the first version counts as frozen.
///
/// # Errors
/// When the value is not a number.
pub fn parse_frozen(bytes: &[u8]) -> Result<Option<bool>, ParseError> {
    for mut words in lines(bytes) {
        match words.next_word() {
            Some(b"frozen") => return Ok(Some(words.number::<u8>("frozen")? != 0)),
            Some(b"FROZEN" | b"FREEZING") => return Ok(Some(true)),
            Some(b"THAWED") => return Ok(Some(false)),
            _ => {}
        }
    }
    Ok(None)
}

/// The value of `io.weight` and its like, lines for single devices left out, or of a file that holds one word.
#[must_use]
pub fn common_value(text: &str) -> &str {
    let default = text.lines().find_map(|line| line.strip_prefix("default "));
    default.unwrap_or_else(|| text.lines().next().unwrap_or_default()).trim()
}

/// Reads the names of the controllers that are enabled from the text of /proc/cgroups.
///
/// # Errors
/// When a line lacks a field or a value is not a number.
pub fn parse_controllers_v1(bytes: &[u8]) -> Result<Vec<String>, ParseError> {
    let mut names = Vec::new();
    for mut words in lines(bytes) {
        let name = words.word("subsys_name")?;
        if name.starts_with(b"#") {
            continue;
        }
        let _hierarchy: u32 = words.number("hierarchy")?;
        let _groups: u64 = words.number("num_cgroups")?;
        if words.number::<u32>("enabled")? != 0 {
            names.push(fields::text(name));
        }
    }
    Ok(names)
}

/// Reads the text of `cgroup.controllers`: names in one line.
#[must_use]
pub fn parse_controllers_v2(bytes: &[u8]) -> Vec<String> {
    fields::text(bytes).split_ascii_whitespace().map(str::to_owned).collect()
}

/// Reads the text of /proc/PID/cgroup.
///
/// # Errors
/// When a line is not `number:controllers:path`.
pub fn parse_process_cgroups(bytes: &[u8]) -> Result<Vec<ProcessCgroup>, ParseError> {
    let mut groups = Vec::new();
    for words in lines(bytes) {
        let line = words.line;
        let mut parts = words.rest.splitn(3, |&byte| byte == b':');
        let hierarchy = fields::number(line, "hierarchy", parts.next().unwrap_or_default())?;
        let controllers = parts.next().ok_or(ParseError::MissingField { line, field: "controllers" })?;
        let path = parts.next().ok_or(ParseError::MissingField { line, field: "path" })?;
        let (path, deleted) = split_deleted(path);
        let names = controllers.split(|&byte| byte == b',').filter(|name| !name.is_empty());
        groups.push(ProcessCgroup {
            hierarchy,
            controllers: names.map(fields::text).collect(),
            path: OsString::from_vec(path.to_vec()).into(),
            deleted,
        });
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_moved_bytes_of_each_device() {
        let text = b"8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n\
                     7:2 rbytes=0 wbytes=0 rios=0 wios=0\n259:1 rbytes=4096\n254:0\n";
        let moved = |read_bytes, write_bytes| BytesMoved { read_bytes, write_bytes };
        let number = |major, minor| DeviceNumber { major, minor };
        let expected = [(number(8, 16), moved(1_459_200, 314_773_504)), (number(259, 1), moved(4096, 0))];
        assert_eq!(parse_io_stat(text), Ok(expected.into()));
        assert!(parse_io_stat(b"8 rbytes=1\n").is_err() && parse_io_stat(b"8:1 rbytes=x\n").is_err());
    }
    use proptest::prelude::*;

    #[test]
    fn both_versions_of_control_groups_name_the_process() {
        let text = b"4:memory:/a:b\n2:cpu,cpuacct:/\n1:name=systemd:/x (deleted)\n0::/app.slice/app-x.scope\n";
        let groups = parse_process_cgroups(text).expect("four");
        assert_eq!(groups[0].path, std::path::Path::new("/a:b"));
        assert_eq!(groups[1].controllers, ["cpu", "cpuacct"]);
        assert!(groups[2].deleted && groups[2].path == std::path::Path::new("/x"));
        assert_eq!((groups[3].hierarchy, groups[3].controllers.len()), (0, 0));
        assert_eq!(parse_process_cgroups(b"0:\n"), Err(ParseError::MissingField { line: 1, field: "path" }));
        assert!(parse_process_cgroups(b"x::/\n").is_err());
    }

    #[test]
    fn kills_and_the_freezer_are_read_of_both_versions() {
        assert_eq!(parse_oom_kills(b"low 0\nhigh 3\nmax 9\noom 1\noom_kill 2\noom_group_kill 0\n"), Ok(Some(2)));
        assert_eq!(parse_oom_kills(b"oom_kill_disable 0\nunder_oom 0\noom_kill 4\n"), Ok(Some(4)));
        assert_eq!(parse_oom_kills(b"oom_kill_disable 0\nunder_oom 0\n"), Ok(None));
        assert!(parse_oom_kills(b"oom_kill x\n").is_err());
        for (text, frozen) in [
            ("populated 1\nfrozen 1\n", Some(true)),
            ("populated 1\nfrozen 0\n", Some(false)),
            ("populated 1\n", None),
            ("FREEZING\n", Some(true)),
            ("FROZEN\n", Some(true)),
            ("THAWED\n", Some(false)),
        ] {
            assert_eq!(parse_frozen(text.as_bytes()), Ok(frozen), "{text}");
        }
    }

    #[test]
    fn disabled_controllers_are_left_out() {
        let text = b"#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t3\t1\t1\nmemory\t0\t1\t0\n";
        assert_eq!(parse_controllers_v1(text), Ok(vec!["cpuset".to_owned()]));
        assert!(parse_controllers_v1(b"cpuset\t3\n").is_err());
        assert_eq!(parse_controllers_v2(b"cpuset cpu io\n"), ["cpuset", "cpu", "io"]);
        assert_eq!(parse_controllers_v2(b"\n"), [""; 0]);
    }

    #[test]
    fn whether_a_process_is_in_a_group_is_one_of_its_events() {
        assert_eq!(parse_populated(b"populated 1\nfrozen 0\n"), Ok(true));
        assert_eq!(parse_populated(b"frozen 0\npopulated 0\n"), Ok(false));
        assert_eq!(parse_populated(b""), Err(ParseError::MissingLine("populated")));
    }

    #[test]
    fn a_weight_is_that_of_all_devices_and_a_class_is_one_word() {
        for (text, value) in
            [("default 100\n8:0 200\n", "100"), ("no-change\n", "no-change"), ("8:0 200\ndefault 50\n", "50"), ("", "")]
        {
            assert_eq!(common_value(text), value);
        }
    }

    #[test]
    fn the_three_times_are_found_among_others() {
        let text = b"usage_usec 30\nuser_usec 10\nsystem_usec 20\nnice_usec 0\ncore_sched.force_idle_usec 0\n";
        assert_eq!(parse_cgroup_cpu(text), Ok(CgroupCpu { usage_us: 30, user_us: 10, system_us: 20 }));
        assert_eq!(parse_cgroup_cpu(b"usage_usec 30\n"), Err(ParseError::MissingLine("user_usec")));
        assert!(parse_cgroup_cpu(b"usage_usec\nuser_usec 1\nsystem_usec 1\n").is_err());
    }

    #[test]
    fn processes_are_sorted_and_those_of_other_namespaces_left_out() {
        assert_eq!(parse_cgroup_processes(b"30\n0\n7\n30\n"), Ok(vec![7, 30]));
        assert_eq!(parse_cgroup_processes(b""), Ok(vec![]));
        assert!(parse_cgroup_processes(b"7 init\nx\n").is_err());
    }

    proptest! {
        #[test]
        fn what_the_kernel_renders_is_read_back(
            (usage_us, user_us, system_us) in any::<(u64, u64, u64)>(),
            pids in prop::collection::btree_set(1u32.., 0..20),
        ) {
            let text = format!("usage_usec {usage_us}\nuser_usec {user_us}\nsystem_usec {system_us}\nnice_usec 1\n");
            prop_assert_eq!(parse_cgroup_cpu(text.as_bytes()), Ok(CgroupCpu { usage_us, user_us, system_us }));
            let text: String = pids.iter().rev().map(|pid| format!("{pid}\n")).collect();
            prop_assert_eq!(parse_cgroup_processes(text.as_bytes()), Ok(pids.into_iter().collect::<Vec<_>>()));
        }
    }
}
