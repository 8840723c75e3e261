//! What launches need: to be traced, control groups to keep an app together and BPF programs for the whole picture; to
//! be read ahead of, page tables, opens, and storage that neither rotates nor goes away.

use brisk_sense::{AppGroups, Capability};

use super::{Need, Needs, REFUSED_TO_ROOT, State};
use crate::doctor::facts::{Android, Facts};

/// Where the time of an app's start goes.
pub(super) fn launch(facts: &Facts, mut needs: Needs<'_>) {
    let need = Need {
        works: "tracing programs can be loaded",
        lacking: "not in this kernel",
        state: State::Degraded,
        reason: "a start cannot be split into running, waiting and reading; only sums of groups are left",
        remedy: "use a kernel with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS",
        refused_to_root: REFUSED_TO_ROOT,
    };
    needs.answer(facts, "bpf", &facts.bpf_tracing, &need);
    if facts.btf {
        needs.ok("btf", "/sys/kernel/btf/vmlinux");
    } else {
        needs.lacks(
            State::Degraded,
            "btf",
            "no /sys/kernel/btf/vmlinux",
            "programs cannot be fitted to the structures of this kernel",
            "use a kernel with CONFIG_DEBUG_INFO_BTF",
        );
    }
    group_counters(facts, &mut needs);
}

/// Control groups of apps.
fn group_counters(facts: &Facts, needs: &mut Needs<'_>) {
    const CHECK: &str = "group counters";
    let why = "an app's processes cannot be kept together and distinguished from others";
    let Some(groups) = needs.known(State::Missing, CHECK, &facts.app_groups, why) else { return };
    match groups {
        Some(AppGroups { root, v1: None, .. }) => needs.ok(CHECK, format!("version 2 at {}", root.display())),
        Some(AppGroups { root, v1: Some(controller), .. }) => needs.lacks(
            State::Degraded,
            CHECK,
            format!("version 1 ({controller}) at {}", root.display()),
            "no app's wait for storage is counted: a launch ends when the machine rests, or the app reads no more",
            "Android 12 or newer has version 2",
        ),
        None => needs.lacks(
            State::Missing,
            CHECK,
            "no control groups of version 2",
            why,
            "mount -t cgroup2 none /sys/fs/cgroup/unified",
        ),
    }
}

/// What Android tells of its apps: their names, and which is in front.
fn apps_of_android(facts: &Facts, needs: &mut Needs<'_>) {
    let Some(Android { packages, shows_front }) = &facts.android else { return };
    let why = "apps then go by the number of their user, as uid_10123, which another app may get later";
    if let Some(count) = needs.known(State::Degraded, "names of apps", packages, why) {
        match count {
            Some(count) => needs.ok("names of apps", format!("{count} packages in /data/system/packages.list")),
            None => needs.lacks(
                State::Degraded,
                "names of apps",
                "no /data/system/packages.list",
                why,
                "unlock the device once: it is on encrypted storage",
            ),
        }
    }
    let why = "each start of a process then counts as a launch, also for a service in the background, and no app in \
               the background is known as such";
    if let Some(shows_front) = needs.known(State::Degraded, "app in front", shows_front, why) {
        match shows_front {
            true => needs.ok("app in front", "by /dev/cpuset/top-app"),
            false => needs.lacks(
                State::Degraded,
                "app in front",
                "no /dev/cpuset/top-app",
                why,
                "use a kernel with CONFIG_CPUSETS",
            ),
        }
    }
}

/// Which file pages launches use, and reading them ahead of the next one.
pub(super) fn prefetch(facts: &Facts, mut needs: Needs<'_>) {
    needs.privilege(
        facts,
        &[(Capability::SysAdmin, "CAP_SYS_ADMIN"), (Capability::SysPtrace, "CAP_SYS_PTRACE")],
        "see which file pages an app uses",
    );
    group_counters(facts, &mut needs);
    apps_of_android(facts, &mut needs);
    let need = Need {
        works: "opens of files can be watched (fanotify)",
        lacking: "not in this kernel",
        state: State::Degraded,
        reason: "files that an app reads without mapping them are then not read ahead",
        remedy: "use a kernel with CONFIG_FANOTIFY",
        refused_to_root: REFUSED_TO_ROOT,
    };
    needs.answer(facts, "opens", &facts.fanotify, &need);
    let waits =
        "the wait of launches for storage is not known, so that their length has to show whether reading ahead pays";
    if needs.known(State::Degraded, "i/o pressure", &facts.pressure_io, waits).is_some() {
        needs.ok("i/o pressure", "the wait of launches for storage is counted");
    }
    let Some(flash) = needs.known(State::Missing, "storage", &facts.flash, "apps are read from somewhere") else {
        return;
    };
    if flash.is_empty() {
        needs.lacks(
            State::Degraded,
            "storage",
            "no device that is flash for certain",
            "files on devices that may rotate are left alone: they may have spun down",
            "where a device is flash all the same: echo 0 >/sys/block/DEVICE/queue/rotational",
        );
    } else {
        needs.ok("storage", format!("{} may be read ahead", flash.join(", ")));
    }
}
