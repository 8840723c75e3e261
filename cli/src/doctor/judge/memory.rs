//! What acting on memory needs: seeing pressure, moving pages of others, and a place to move them to.

use brisk_core::units::format_bytes;
use brisk_sense::{Capability, KernelVersion, WearTenths};

use super::{Need, Needs, REFUSED_TO_ROOT, State};
use crate::doctor::facts::{Card, Facts};
use crate::doctor::probe::Answer;

const OTHERS: &[(Capability, &str)] =
    &[(Capability::SysPtrace, "CAP_SYS_PTRACE"), (Capability::SysNice, "CAP_SYS_NICE")];

/// The heap limit of Android when the property is unset (frameworks/base/core/jni/AndroidRuntime.cpp, startVm).
const DALVIK_DEFAULT_BYTES: u64 = 16 << 20;
/// A recommended limit is a multiple of this, and this part above the largest need,
const DALVIK_STEP_BYTES: u64 = 16 << 20;
const DALVIK_HEAD_ROOM_PART: u64 = 4;
/// and at most this part of the memory: one app is not to take more.
const DALVIK_MEMORY_PART: u64 = 4;
/// A limit of more than so many times the recommended one is far above the needs,
const DALVIK_FAR: u64 = 2;
/// when so many apps are known at least.
const DALVIK_APPS_MIN: usize = 5;

/// Whom to reclaim, freeze or kill when memory is short.
pub(super) fn iram(facts: &Facts, mut needs: Needs<'_>) {
    needs.privilege(facts, OTHERS, "move the memory of other programs");
    pidfd(facts, &mut needs);
    page_out(facts, &mut needs, State::Degraded);
    triggers(facts, &mut needs);
    let why = "memory of groups of programs is counted and reclaimed through them";
    if let Some(groups) = needs.known(State::Degraded, "memory groups", &facts.cgroups, why) {
        match (groups.v2_with("memory"), groups.v1_with("memory")) {
            (Some(v2), _) => needs.ok("memory groups", format!("version 2 at {}", v2.mount_point.display())),
            (None, Some(v1)) => needs.ok("memory groups", format!("version 1 at {}", v1.mount_point.display())),
            (None, None) => needs.lacks(
                State::Degraded,
                "memory groups",
                "no controller for memory",
                why,
                "boot with cgroup_enable=memory, or use a kernel with CONFIG_MEMCG",
            ),
        }
    }
    if let Ok(groups) = &facts.cgroups {
        match (groups.v2_with("memory"), groups.v1_with("memory")) {
            (Some(_), _) => {
                needs.ok("memory limits", "memory.high slows a group that grows, memory.low keeps what one uses")
            }
            (None, Some(_)) => needs.lacks(
                State::Degraded,
                "memory limits",
                "soft limits only",
                "a group above its soft limit gives memory first, but is not slowed, and none is kept for a group \
                 (version 1)",
                "boot with systemd.unified_cgroup_hierarchy=1",
            ),
            (None, None) => {}
        }
    }
    let why = "without it only caches of background apps can be freed before an app has to be ended";
    swap(facts, &mut needs, State::Degraded, why);
    freezing(facts, &mut needs);
    other_killers(facts, &mut needs);
    dalvik_heap(facts, &mut needs);
    let why = "the age of pages shows which programs still use their memory";
    if let Some(bits) = needs.known(State::Degraded, "page ages", &facts.lru_gen, why) {
        match bits {
            Some(0) => needs.lacks(
                State::Degraded,
                "page ages",
                "the multi-generational LRU is off",
                why,
                "as root: echo y >/sys/kernel/mm/lru_gen/enabled",
            ),
            Some(bits) => needs.ok("page ages", format!("the multi-generational LRU runs ({bits:#06x})")),
            None => needs.lacks(
                State::Degraded,
                "page ages",
                "no multi-generational LRU",
                "ages are then guessed from refaults and accessed bits",
                "use Linux 6.1 or newer with CONFIG_LRU_GEN",
            ),
        }
    }
}

fn pidfd(facts: &Facts, needs: &mut Needs<'_>) {
    let need = Need {
        works: "processes can be held by descriptor",
        lacking: "not in this kernel",
        state: State::Missing,
        reason: "without it an action may hit another process that got the same number",
        remedy: "use Linux 5.3 or newer",
        refused_to_root: REFUSED_TO_ROOT,
    };
    needs.answer(facts, "pidfd", &facts.pidfd, &need);
}

fn page_out(facts: &Facts, needs: &mut Needs<'_>, state: State) {
    let need = Need {
        works: "pages of a process can be paged out from outside",
        lacking: "not in this kernel",
        state,
        reason: "programs cannot be paged out one by one (process_madvise, MADV_PAGEOUT)",
        remedy: "use Linux 5.10 or newer with CONFIG_ADVISE_SYSCALLS",
        refused_to_root: REFUSED_TO_ROOT,
    };
    needs.answer(facts, "page out", &facts.madvise_page_out, &need);
}

fn triggers(facts: &Facts, needs: &mut Needs<'_>) {
    let why = "brisk has to be woken when memory gets short";
    if needs.known(State::Missing, "memory pressure", &facts.pressure_memory, why).is_none() {
        return;
    }
    match (&facts.trigger_short, &facts.trigger_long) {
        (Answer::Works, _) => needs.ok("memory pressure", "wakes brisk within any window"),
        (_, Answer::Works) => needs.lacks(
            State::Degraded,
            "memory pressure",
            "windows in multiples of 2 s only",
            "shorter ones need CAP_SYS_RESOURCE; brisk detects pressure later",
            "grant CAP_SYS_RESOURCE",
        ),
        (short, _) => {
            let need = Need {
                works: "",
                lacking: "not in this kernel",
                state: State::Degraded,
                reason: "brisk has to poll the pressure instead of being woken",
                remedy: "use Linux 5.2 or newer with CONFIG_PSI",
                refused_to_root: REFUSED_TO_ROOT,
            };
            needs.answer(facts, "memory pressure", short, &need);
        }
    }
}

fn freezing(facts: &Facts, needs: &mut Needs<'_>) {
    if facts.android.is_some() {
        return needs
            .ok("freezing", "by Android itself, which holds calls to the apps that it freezes; brisk freezes none");
    }
    let why = "a program that is frozen as a group neither runs nor faults its pages back";
    let Some(groups) = needs.known(State::Degraded, "freezing", &facts.cgroups, why) else { return };
    // The root group has none of these files; where there is no other group, the release has to tell.
    let release = facts.kernel_release.as_deref().ok().and_then(KernelVersion::of);
    let has = |file: &str, since: KernelVersion| {
        groups.v2.as_ref().is_some_and(|v2| match &v2.group_files {
            Some(files) => files.iter().any(|name| name == file),
            None => release.is_some_and(|release| release >= since),
        })
    };
    let freeze = has("cgroup.freeze", KernelVersion { major: 5, minor: 2 });
    let kill = has("cgroup.kill", KernelVersion { major: 5, minor: 14 });
    match (freeze, groups.v1_with("freezer").is_some()) {
        (true, _) => needs.ok("freezing", "by cgroup.freeze"),
        (false, true) => needs.ok("freezing", "by the freezer of control groups version 1"),
        (false, false) => needs.lacks(
            State::Degraded,
            "freezing",
            "no group can be frozen",
            why,
            "mount -t cgroup2 none /sys/fs/cgroup (Linux 5.2 or newer)",
        ),
    }
    if kill {
        needs.ok("killing", "by cgroup.kill");
    } else {
        needs.lacks(
            State::Degraded,
            "killing",
            "no cgroup.kill",
            "the processes of a program have to be killed one by one, and may fork meanwhile",
            "mount -t cgroup2 none /sys/fs/cgroup (Linux 5.14 or newer)",
        );
    }
}

/// Two programs that end apps at once free twice what is needed.
fn other_killers(facts: &Facts, needs: &mut Needs<'_>) {
    let why = "two programs that end apps at once would free twice what is needed";
    let Some(programs) = needs.known(State::Degraded, "ending apps", &facts.memory_programs, why) else { return };
    let say = |ends: bool| {
        let these = programs.iter().filter(|program| program.ends_apps == ends);
        these.map(|program| format!("{} {}", program.name, program.does)).collect::<Vec<_>>().join("; ")
    };
    let (ending, others) = (say(true), say(false));
    if !ending.is_empty() {
        let names = programs.iter().filter(|program| program.ends_apps).map(|program| program.name.as_str());
        let stop: Vec<String> = names.map(|name| facts.init.disable(name)).collect();
        let remedy = format!("to have brisk end apps, which asks them first: {}", stop.join("; "));
        needs.lacks(State::Degraded, "ending apps", format!("{ending}: brisk ends none"), why, remedy);
    } else if others.is_empty() {
        needs.ok("ending apps", "by brisk, the kernel last; no other program does");
    } else {
        needs.ok("ending apps", format!("by brisk, the kernel last; {others}"));
    }
}

/// The paper's heap manager sets a limit for each app; stock Android has one for all, which is read when the zygote
/// starts. Recorded needs are compared with it. A need is all anonymous memory of an app, so it is at least what its
/// heap took: that a limit is far above all needs is certain, that one below a need is too low is not.
///
/// Not tested on a device: the tests have made-up limits and needs.
fn dalvik_heap(facts: &Facts, needs: &mut Needs<'_>) {
    const CHECK: &str = "heap limit";
    let why = "an app whose heap reaches the limit ends with OutOfMemoryError";
    let Some(Some(heap)) = needs.known(State::Degraded, CHECK, &facts.dalvik_heap, why) else { return };
    let Some(all) = needs.known(State::Degraded, CHECK, &facts.needs_bytes, why) else { return };
    let limit_bytes = heap.size_bytes.unwrap_or(DALVIK_DEFAULT_BYTES);
    let unset = if heap.size_bytes.is_some() { "" } else { ", the default" };
    let limit = format!("{}{unset}", format_bytes(limit_bytes));
    let Some((id, most_bytes)) = all.iter().max_by_key(|(_, bytes)| **bytes) else {
        return needs.ok(CHECK, format!("{limit}; no need of an app is recorded yet"));
    };
    let (most, count) = (format_bytes(*most_bytes), all.len());
    let share_bytes = facts.memory.as_ref().map_or(u64::MAX, |memory| memory.total_bytes / DALVIK_MEMORY_PART);
    let share_bytes = share_bytes / DALVIK_STEP_BYTES * DALVIK_STEP_BYTES;
    let head_room_bytes = most_bytes.saturating_add(most_bytes / DALVIK_HEAD_ROOM_PART);
    let wanted_bytes = head_room_bytes.checked_next_multiple_of(DALVIK_STEP_BYTES).unwrap_or(share_bytes);
    // No recommendation reaches past a share of the memory; a limit that is there may.
    let wanted_bytes = wanted_bytes.min(share_bytes);
    let set = |price: String| {
        let mib = wanted_bytes >> 20;
        // A lower one would go on to hold for apps without a large heap; one above the size has no meaning.
        let is_raised = limit_bytes < wanted_bytes;
        let growth =
            heap.growth_limit_bytes.filter(|bytes| *bytes > wanted_bytes || (is_raised && *bytes < wanted_bytes));
        let growth = growth.map(|_| format!("setprop dalvik.vm.heapgrowthlimit {mib}m && ")).unwrap_or_default();
        format!(
            "as root: {growth}setprop dalvik.vm.heapsize {mib}m && stop && start; it ends all apps and holds until the \
             device restarts (a line in build.prop keeps it). {price}"
        )
    };
    if *most_bytes > limit_bytes && wanted_bytes > limit_bytes {
        let above = all.values().filter(|bytes| **bytes > limit_bytes).count();
        let more = format_bytes(wanted_bytes - limit_bytes);
        needs.lacks(
            State::Degraded,
            CHECK,
            format!("{limit}; {above} of {count} apps needed more, {id} the most ({most})"),
            format!(
                "{why}; what they needed includes memory outside of that heap, so the limit may suffice all the same"
            ),
            set(format!("An app that leaks may then take {more} more")),
        );
    } else if limit_bytes / DALVIK_FAR > wanted_bytes && count >= DALVIK_APPS_MIN {
        needs.lacks(
            State::Degraded,
            CHECK,
            format!("{limit}; none of {count} apps needed more than {most}"),
            "an app that leaks takes memory up to the limit, and others are ended for it",
            set(format!("An app that needs more than {} ends with OutOfMemoryError", format_bytes(wanted_bytes))),
        );
    } else if *most_bytes > limit_bytes {
        let share = format!("a larger one would be more than 1/{DALVIK_MEMORY_PART} of the memory");
        needs.ok(CHECK, format!("{limit}; {id} needed {most}, some of it outside of that heap; {share}"));
    } else {
        needs.ok(CHECK, format!("{limit}; the most that one of {count} apps needed is {most}"));
    }
}

/// Swapping whole apps out and back in.
pub(super) fn mars(facts: &Facts, mut needs: Needs<'_>) {
    needs.privilege(facts, OTHERS, "move the memory of other programs");
    pidfd(facts, &mut needs);
    page_out(facts, &mut needs, State::Missing);
    let need = Need {
        works: "pages of a process can be read ahead from outside",
        lacking: "not in this kernel",
        state: State::Degraded,
        reason: "a program's pages then come back one fault at a time (process_madvise, MADV_WILLNEED)",
        remedy: "use Linux 5.14 or newer",
        refused_to_root: REFUSED_TO_ROOT,
    };
    needs.answer(facts, "bring back", &facts.madvise_will_need, &need);
    swap(facts, &mut needs, State::Missing, "pages of programs that wait have to go somewhere");
    zswap(facts, &mut needs);
    wear(facts, &mut needs);
}

/// Pages that are compressed in memory before they go to a swap area: twice where that is compressed memory itself.
fn zswap(facts: &Facts, needs: &mut Needs<'_>) {
    const CHECK: &str = "zswap";
    let why = "what brisk writes out may then stay in memory, compressed";
    let Some(Some(zswap)) = needs.known(State::Degraded, CHECK, &facts.zswap, why) else { return };
    let by = zswap.compressor.as_deref().unwrap_or("an unknown compressor");
    let most = zswap.max_pool_percent.map(|percent| format!(", at most {percent} % of the memory")).unwrap_or_default();
    let is_on = format!("on: {by}{most}");
    let is_zram = |swap: &brisk_sense::Swap| swap.path.to_string_lossy().contains("zram");
    if facts.swaps.as_ref().is_ok_and(|swaps| swaps.iter().any(is_zram)) {
        needs.lacks(
            State::Degraded,
            CHECK,
            format!("{is_on}, in front of zram"),
            "pages are compressed twice, and take memory in two places",
            "as root: echo N >/sys/module/zswap/parameters/enabled (at each start: zswap.enabled=0 for the kernel)",
        );
    } else {
        needs.ok(CHECK, format!("{is_on}; what does not fit goes on to the swap area"));
    }
}

/// What cards say of how much of their life is used.
fn wear(facts: &Facts, needs: &mut Needs<'_>) {
    const CHECK: &str = "wear";
    let why = "what is swapped to flash wears it";
    let Some(cards) = needs.known(State::Degraded, CHECK, &facts.cards, why) else { return };
    for card in cards {
        let Card { name, is_sd, life_time } = card;
        let tenths = life_time.iter().flat_map(|(a, b)| [*a, *b]);
        let used = tenths.filter_map(|wear| match wear {
            WearTenths::Unknown => None,
            WearTenths::Begun(tenths) => Some(tenths),
            WearTenths::Exceeded => Some(u8::MAX),
        });
        match used.max() {
            Some(u8::MAX) => needs.lacks(
                State::Degraded,
                CHECK,
                format!("{name} is beyond the life that it was made for"),
                why,
                "save what is on it, and replace it",
            ),
            Some(tenths) => {
                needs.ok(CHECK, format!("{name} has used {} to {} % of its life", (tenths - 1) * 10, tenths * 10))
            }
            None => needs.lacks(
                State::Degraded,
                CHECK,
                format!("{name}{} does not say how worn it is", if *is_sd { ", an SD card," } else { "" }),
                format!("{why}, here unseen"),
                "let compressed memory be filled first (brisk swap setup); [engines] wear_mib_per_day limits what \
                 brisk writes",
            ),
        }
    }
}

/// Where pages go.
fn swap(facts: &Facts, needs: &mut Needs<'_>, state: State, why: &'static str) {
    let Some(swaps) = needs.known(state, "swap", &facts.swaps, why) else { return };
    if swaps.is_empty() {
        let remedy = match &facts.zrams {
            Ok(zrams) if !zrams.is_empty() => format!(
                "make an area on flash (mkswap, swapon), or in memory: echo 1G >/sys/block/{0}/disksize && mkswap \
                 /dev/{0} && swapon /dev/{0}",
                zrams[0].name
            ),
            _ => "make an area: fallocate -l 2G /swapfile && chmod 600 /swapfile && mkswap /swapfile && swapon \
                  /swapfile"
                .to_owned(),
        };
        needs.lacks(state, "swap", "no area in use", why, remedy);
    } else {
        let list = |swap: &brisk_sense::Swap| {
            format!(
                "{} {}, {} used, priority {}",
                swap.path.display(),
                format_bytes(swap.size_bytes),
                format_bytes(swap.used_bytes),
                swap.priority
            )
        };
        needs.ok("swap", swaps.iter().map(list).collect::<Vec<_>>().join("; "));
    }
}
