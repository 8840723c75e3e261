//! The unit that packages ship allows what the engines use, and little else. `scripts/service-test engines` holds the
//! same in a machine with systemd; this says it sooner.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use brisk_core::knob::VmSetting;
use brisk_requires::requires;

fn unit(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging").join(name);
    std::fs::read_to_string(path).expect("in the source tree")
}

fn values<'a>(unit: &'a str, key: &str) -> Vec<&'a str> {
    unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('=')).collect()
}

/// The calls of a set of systemd, such as `@system-service`, or the call itself.
fn expanded(name: &str) -> BTreeSet<String> {
    if !name.starts_with('@') {
        return BTreeSet::from([name.to_owned()]);
    }
    let output = Command::new("systemd-analyze").args(["syscall-filter", name]).output().expect("it runs");
    assert!(output.status.success(), "{name}: {output:?}");
    let text = String::from_utf8(output.stdout).expect("a text");
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.skip(1).flat_map(expanded).collect()
}

/// What the filter of a unit lets through: its lines one after the other, with `~` taken away.
fn allowed(unit: &str) -> BTreeSet<String> {
    let mut allowed = BTreeSet::new();
    for line in values(unit, "SystemCallFilter") {
        let (takes_away, sets) = line.strip_prefix('~').map_or((false, line), |sets| (true, sets));
        for call in sets.split_whitespace().flat_map(expanded) {
            if takes_away {
                allowed.remove(&call)
            } else {
                allowed.insert(call)
            };
        }
    }
    allowed
}

#[test]
fn the_filter_lets_through_what_engines_call_and_refuses_the_rest() {
    requires!(Program("systemd-analyze"));
    let unit = unit("briskd.service");
    let allowed = allowed(&unit);
    for call in [
        // Sources of events.
        "inotify_init1",
        "inotify_add_watch",
        "timerfd_create",
        "eventfd2",
        "poll",
        "ppoll",
        "socket",
        "bind",
        "setsockopt",
        // What launches and returns use: prefetch, mars.
        "fanotify_init",
        "fanotify_mark",
        "mincore",
        "mmap",
        "ioctl",
        "pread64",
        "fadvise64",
        "readahead",
        // What is done to apps: iram, mars, smartio.
        "pidfd_open",
        "pidfd_send_signal",
        "process_madvise",
        "process_vm_readv",
        "ioprio_set",
        "ioprio_get",
        // Files, the control socket, the keeper.
        "openat",
        "statx",
        "fstatfs",
        "fchown",
        "chown",
        "rename",
        "fsync",
        "execve",
        "clone3",
        "prctl",
        // The hook, which gives its rights up.
        "capset",
        "setsid",
        "kill",
        "waitid",
    ] {
        assert!(allowed.contains(call), "{call}");
    }
    for call in [
        "mount",
        "umount2",
        "open_tree",
        "move_mount",
        "pivot_root",
        "setns",
        "unshare",
        "swapon",
        "swapoff",
        "bpf",
        "perf_event_open",
        "ptrace",
        "process_vm_writev",
        "init_module",
        "finit_module",
        "reboot",
        "add_key",
        "setuid",
        "open_by_handle_at",
        "userfaultfd",
        "io_uring_setup",
        "quotactl",
        "settimeofday",
        "sethostname",
    ] {
        assert!(!allowed.contains(call), "{call}");
    }
    assert_eq!(values(&unit, "SystemCallErrorNumber"), ["EPERM"], "what is refused does not kill");
}

#[test]
fn the_unit_grants_the_rights_and_files_that_engines_use() {
    let unit = unit("briskd.service");
    let rights: BTreeSet<&str> =
        values(&unit, "CapabilityBoundingSet").iter().flat_map(|line| line.split(' ')).collect();
    let used = "CAP_SYS_NICE CAP_KILL CAP_DAC_OVERRIDE CAP_FOWNER CAP_SYS_PTRACE CAP_SYS_ADMIN CAP_NET_ADMIN";
    assert_eq!(rights, used.split(' ').collect());
    // OpenRC's script gives the same.
    let script = self::unit("briskd.openrc");
    let set = script.lines().find_map(|line| line.split_once("--bounding-set=-all,")).expect("given by setpriv").1;
    let given: BTreeSet<String> = set
        .split_whitespace()
        .next()
        .into_iter()
        .flat_map(|set| set.split(','))
        .map(|right| format!("CAP_{}", right.trim_start_matches('+').to_uppercase()))
        .collect();
    assert_eq!(given, used.split(' ').map(str::to_owned).collect());
    // The kernel sends messages of processes to the first network namespace alone.
    assert!(values(&unit, "PrivateNetwork").is_empty());
    let written: Vec<&str> = values(&unit, "ReadWritePaths").iter().flat_map(|line| line.split(' ')).collect();
    for setting in VmSetting::ALL {
        let name = setting.name();
        let file = match name.split_once('/') {
            Some((dir, _)) => format!("-/sys/kernel/mm/{dir}"),
            None => format!("-/proc/sys/vm/{name}"),
        };
        assert!(written.contains(&file.as_str()), "{file}");
    }
    assert!(written.contains(&"/sys/devices"), "settings of queues");
}

#[test]
fn units_are_no_more_exposed_than_they_say() {
    requires!(Program("systemd-analyze"));
    for (name, tenths) in [("briskd.service", 31), ("brisk-tune.service", 13)] {
        let dir = tempfile::tempdir().expect("a directory");
        // Under its own name, since that is part of the analysis.
        std::fs::write(dir.path().join(name), unit(name)).expect("written");
        let path = dir.path().join(name);
        let output = Command::new("systemd-analyze")
            .args(["security", "--offline=yes", "--no-pager", &format!("--threshold={tenths}")])
            .arg(&path)
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{name}: {}", said.lines().last().unwrap_or_default());
    }
}

#[test]
fn units_name_pages_that_there_are() {
    let of_daemon = unit("briskd.service");
    assert_eq!(values(&of_daemon, "Documentation"), ["man:briskd(8) man:brisk.toml(5)"]);
    for name in ["brisk-tune.service", "brisk-tune.timer"] {
        assert_eq!(values(&unit(name), "Documentation"), ["man:brisk-tune(1) man:briskd(8)"], "{name}");
    }
}
