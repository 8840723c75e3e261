//! What acting on storage needs: schedulers to choose from, and the right to choose.

use brisk_sense::{BlockQueue, Capability};

use super::{Needs, State};
use crate::doctor::facts::Facts;

const SCHEDULER_REMEDY: &str = "modprobe bfq kyber-iosched mq-deadline, or use a kernel with CONFIG_IOSCHED_BFQ, \
     CONFIG_MQ_IOSCHED_KYBER and CONFIG_MQ_IOSCHED_DEADLINE";

/// Scheduler and queue depth by the pattern of I/O.
pub(super) fn smart_storage(facts: &Facts, mut needs: Needs<'_>) {
    needs.privilege(facts, &[(Capability::SysAdmin, "CAP_SYS_ADMIN")], "change scheduler and queue depth");
    let why = "the settings that it chooses are there";
    if let Some(queues) = needs.known(State::Missing, "schedulers", &facts.queues, why) {
        schedulers(queues, &mut needs);
        let silent: Vec<_> = queues.iter().filter(|queue| !queue.counts_io).map(|queue| queue.name.as_str()).collect();
        if silent.is_empty() {
            needs.ok("counters", "every disk counts its I/O");
        } else {
            needs.lacks(
                State::Degraded,
                "counters",
                format!("off for {}", silent.join(", ")),
                "the pattern of I/O is read from them",
                format!("as root: echo 1 >/sys/block/{}/queue/iostats", silent[0]),
            );
        }
    }
    let why = "the effect of a choice is seen in the time that work waits for storage";
    if needs.known(State::Degraded, "io pressure", &facts.pressure_io, why).is_some() {
        needs.ok("io pressure", "reported by the kernel (PSI)");
    }
}

fn schedulers(queues: &[BlockQueue], needs: &mut Needs<'_>) {
    let list = |queue: &BlockQueue| {
        let current = queue.schedulers.current.as_deref();
        let mark = |name: &String| if Some(name.as_str()) == current { format!("[{name}]") } else { name.clone() };
        let names: Vec<String> = queue.schedulers.available.iter().map(mark).collect();
        let depth = queue.depth_requests.map_or(String::new(), |depth| format!(", depth {depth}"));
        format!("{}: {}{depth}", queue.name, names.join(" "))
    };
    let seen = queues.iter().map(list).collect::<Vec<_>>().join("; ");
    let most = queues.iter().map(|queue| queue.schedulers.available.len()).max().unwrap_or(0);
    if most >= 2 {
        needs.ok("schedulers", seen);
    } else if queues.is_empty() {
        needs.lacks(
            State::Missing,
            "schedulers",
            "no disk that queues requests",
            "there is nothing to choose a scheduler for",
            "use a machine with a disk, or an emulated phone (brisk phone)",
        );
    } else {
        needs.lacks(
            State::Degraded,
            "schedulers",
            seen,
            "with a single scheduler only the depth can be chosen",
            SCHEDULER_REMEDY,
        );
    }
}

/// Concurrency, read preference and priorities of I/O.
pub(super) fn smart_io(facts: &Facts, mut needs: Needs<'_>) {
    needs.privilege(
        facts,
        &[(Capability::SysAdmin, "CAP_SYS_ADMIN"), (Capability::SysNice, "CAP_SYS_NICE")],
        "change queues and the I/O priorities of other programs",
    );
    let why = "a scheduler has to be there that respects priorities";
    if let Some(queues) = needs.known(State::Missing, "priorities", &facts.queues, why) {
        let respects = |name: &str| queues.iter().any(|queue| queue.schedulers.available.iter().any(|a| a == name));
        let respecting: Vec<_> = ["bfq", "mq-deadline"].into_iter().filter(|name| respects(name)).collect();
        if respecting.is_empty() {
            needs.lacks(
                State::Degraded,
                "priorities",
                "neither bfq nor mq-deadline",
                "the others serve all alike, so only the number of writes in flight can be limited",
                SCHEDULER_REMEDY,
            );
        } else {
            needs.ok("priorities", format!("respected by {}", respecting.join(" and ")));
        }
    }
    match facts.modules_disabled.as_deref() {
        Some("0") => needs.ok("modules", "can be loaded"),
        seen => needs.lacks(
            State::Degraded,
            "modules",
            if seen.is_some() { "locked (kernel.modules_disabled is 1)" } else { "this kernel loads none" },
            "a scheduler of brisk's own cannot be loaded; the stock ones are steered instead",
            "boot with modules allowed, or use a kernel with CONFIG_MODULES",
        ),
    }
    let why = "bandwidth and latency of groups of programs are limited through them";
    if let Some(groups) = needs.known(State::Degraded, "io groups", &facts.cgroups, why) {
        match (groups.v2_with("io"), groups.v1_with("blkio")) {
            (Some(v2), _) => needs.ok("io groups", format!("version 2 at {}", v2.mount_point.display())),
            (None, Some(v1)) => needs.ok("io groups", format!("version 1 at {}", v1.mount_point.display())),
            (None, None) => needs.lacks(
                State::Degraded,
                "io groups",
                "no controller for I/O",
                why,
                "mount -t cgroup2 none /sys/fs/cgroup, or use a kernel with CONFIG_BLK_CGROUP",
            ),
        }
    }
}
