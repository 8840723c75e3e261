//! What tracing the start of an app needs: control groups to keep it together, and BPF programs for the whole picture.

use super::{Need, Needs, REFUSED_TO_ROOT, State};
use crate::doctor::facts::Facts;

/// Where the time of an app's start goes.
pub(super) fn launch(facts: &Facts, mut needs: Needs<'_>) {
    let groups = facts.cgroups.as_ref().ok().and_then(|groups| groups.v2.as_ref());
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
    match groups {
        Some(v2) => needs.ok("group counters", format!("version 2 at {}", v2.mount_point.display())),
        None => needs.lacks(
            State::Missing,
            "group counters",
            "no control groups of version 2",
            "an app's processes cannot be kept together and distinguished from others",
            "mount -t cgroup2 none /sys/fs/cgroup/unified",
        ),
    }
}
