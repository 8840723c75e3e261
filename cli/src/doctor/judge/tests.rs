use std::collections::BTreeMap;
use std::path::PathBuf;

use brisk_core::snapshot::MemoryLevels;
use brisk_sense::{
    AppGroups, BlockQueue, CgroupV1, CgroupV2, Cgroups, DalvikHeap, PowerSupply, PowercapZone, ProcessStatus,
    Schedulers, Swap, WearTenths, Zram, Zswap,
};

use super::*;
use crate::doctor::facts::{Card, Home, Running};

const GIB: u64 = 1 << 30;

fn queue(name: &str, schedulers: &[&str]) -> BlockQueue {
    BlockQueue {
        name: name.to_owned(),
        schedulers: Schedulers {
            current: schedulers.first().map(|&name| name.to_owned()),
            available: schedulers.iter().map(|&name| name.to_owned()).collect(),
        },
        depth_requests: Some(64),
        read_ahead_kib: 128,
        max_request_kib: 512,
        max_hardware_request_kib: 512,
        rotational: false,
        write_cache: Some("write back".to_owned()),
        fua: Some(true),
        logical_block_bytes: 512,
        physical_block_bytes: 4096,
        minimum_io_bytes: 4096,
        optimal_io_bytes: 0,
        writeback_throttle_us: None,
        discard_granularity_bytes: 4096,
        discard_max_bytes: GIB,
        no_merges: 0,
        completion_affinity: Some(1),
        counts_io: true,
    }
}

fn battery(power_now_uw: Option<i64>) -> PowerSupply {
    PowerSupply {
        name: "battery".to_owned(),
        kind: "Battery".to_owned(),
        status: None,
        capacity_percent: Some(50),
        current_now_ua: None,
        voltage_now_uv: Some(3_800_000),
        power_now_uw,
    }
}

fn zone(energy_uj: Option<u64>) -> PowercapZone {
    PowercapZone { zone: "intel-rapl:0".to_owned(), name: "package-0".to_owned(), energy_uj, max_energy_range_uj: None }
}

fn memory_program(name: &str, ends_apps: bool) -> brisk_api::MemoryProgram {
    let (name, does) = (name.to_owned(), "does something".to_owned());
    brisk_api::MemoryProgram { name, pid: 7, ends_apps, does }
}

/// A machine that lacks nothing.
fn perfect() -> Facts {
    Facts {
        kernel_release: Ok("6.12.48".to_owned()),
        status: Ok(ProcessStatus { effective_uid: 0, effective_capabilities: u64::MAX }),
        cpus: Ok(8),
        memory: Ok(MemoryLevels { total_bytes: 8 * GIB, available_bytes: Some(6 * GIB), ..MemoryLevels::default() }),
        counted_devices: Ok(vec!["nvme0n1".to_owned()]),
        queues: Ok(vec![queue("nvme0n1", &["none", "mq-deadline", "kyber", "bfq"])]),
        flash: Ok(vec!["nvme0n1".to_owned()]),
        home: Ok(Home { path: PathBuf::from("/home/a"), fs_type: "ext4".to_owned(), disk: Some("nvme0n1".to_owned()) }),
        pressure_cpu: Ok(()),
        pressure_io: Ok(()),
        pressure_memory: Ok(()),
        trigger_short: Answer::Works,
        trigger_long: Answer::Works,
        cgroups: Ok(Cgroups {
            v1: vec![],
            v2: Some(CgroupV2 {
                controllers: vec!["io".to_owned(), "memory".to_owned()],
                mount_point: PathBuf::from("/sys/fs/cgroup"),
                group_files: Some(vec!["cgroup.freeze".to_owned(), "cgroup.kill".to_owned()]),
            }),
        }),
        app_groups: Ok(Some(AppGroups {
            mount_point: PathBuf::from("/sys/fs/cgroup"),
            root: PathBuf::from("/sys/fs/cgroup"),
            v1: None,
        })),
        android: None,
        memory_programs: Ok(vec![]),
        dalvik_heap: Ok(None),
        needs_bytes: Ok(BTreeMap::new()),
        lru_gen: Ok(Some(7)),
        swaps: Ok(vec![Swap {
            path: PathBuf::from("/dev/zram0"),
            kind: "partition".to_owned(),
            size_bytes: 2 * GIB,
            used_bytes: 0,
            priority: -2,
        }]),
        zrams: Ok(vec![]),
        zswap: Ok(None),
        cards: Ok(vec![]),
        io_uring: Answer::Works,
        io_uring_disabled: Some("0".to_owned()),
        pidfd: Answer::Works,
        madvise_page_out: Answer::Works,
        fanotify: Answer::Works,
        madvise_will_need: Answer::Works,
        bpf_tracing: Answer::Works,
        btf: true,
        modules_disabled: Some("0".to_owned()),
        lab_program: Some(PathBuf::from("/usr/bin/brisk-lab")),
        powercap: Ok(vec![zone(Some(1))]),
        supplies: Ok(vec![]),
        init: brisk_api::init::Init::Systemd,
        lacking_rights: Vec::new(),
        daemon: None,
    }
}

/// A user other than root, on a machine that lacks nothing else.
fn not_root(facts: &mut Facts) {
    facts.status = Ok(ProcessStatus { effective_uid: 1000, effective_capabilities: 0 });
    facts.bpf_tracing = Answer::Refused;
    facts.powercap = Ok(vec![zone(None)]);
}

/// No /proc and no /sys: a bare chroot.
fn no_kernel_files(facts: &mut Facts) {
    fn gone<T>() -> Known<T> {
        Err("/proc/x does not exist: mount it with 'mount -t proc proc /proc'".to_owned())
    }
    *facts = Facts {
        kernel_release: gone(),
        status: gone(),
        cpus: gone(),
        memory: gone(),
        counted_devices: gone(),
        queues: gone(),
        flash: gone(),
        home: gone(),
        pressure_cpu: gone(),
        pressure_io: gone(),
        pressure_memory: gone(),
        trigger_short: Answer::Unknown,
        trigger_long: Answer::Unknown,
        cgroups: gone(),
        app_groups: gone(),
        memory_programs: gone(),
        dalvik_heap: Ok(None),
        needs_bytes: Ok(BTreeMap::new()),
        lru_gen: Ok(None),
        swaps: gone(),
        zrams: gone(),
        zswap: gone(),
        cards: gone(),
        io_uring_disabled: None,
        btf: false,
        modules_disabled: None,
        powercap: Ok(vec![]),
        supplies: Ok(vec![]),
        ..perfect()
    };
}

fn state_of(findings: &[Finding], part: Part, check: &str) -> State {
    worst(findings.iter().filter(|finding| finding.part == part && finding.check == check))
}

type Change = fn(&mut Facts);

/// What is changed on the perfect machine, and what must then stand of one check of one part.
const CASES: &[(&str, Change, Part, &str, State)] = &[
    ("3.4", |f| f.kernel_release = Ok("3.4.0-g12".to_owned()), Part::Bench, "kernel", State::Missing),
    ("4.14", |f| f.kernel_release = Ok("4.14.336".to_owned()), Part::Bench, "kernel", State::Ok),
    ("4.13", |f| f.kernel_release = Ok("4.13.0".to_owned()), Part::Bench, "kernel", State::Missing),
    ("no release", |f| f.kernel_release = Ok("x".to_owned()), Part::Bench, "kernel", State::Degraded),
    ("ENOSYS", |f| f.io_uring = Answer::Unknown, Part::Bench, "io_uring", State::Degraded),
    ("EPERM", |f| f.io_uring = Answer::Refused, Part::Bench, "io_uring", State::Degraded),
    ("EMFILE", |f| f.io_uring = Answer::Failed("files".to_owned()), Part::Bench, "io_uring", State::Degraded),
    ("overlay", |f| set_home_disk(f, None), Part::Bench, "home", State::Degraded),
    ("no disk", |f| f.queues = Ok(vec![]), Part::Bench, "/sys", State::Degraded),
    ("no disk", |f| f.queues = Ok(vec![]), Part::SmartStorage, "schedulers", State::Missing),
    ("no flash", |f| f.flash = Ok(vec![]), Part::Prefetch, "storage", State::Degraded),
    ("one processor", |f| f.cpus = Ok(1), Part::Bench, "processors", State::Degraded),
    ("no brisk-lab", |f| f.lab_program = None, Part::Lab, "brisk-lab", State::Missing),
    ("not root", not_root, Part::Energy, "meter", State::Degraded),
    ("not root", not_root, Part::Launch, "bpf", State::Degraded),
    (
        "one scheduler",
        |f| f.queues = Ok(vec![queue("sda", &["none"])]),
        Part::SmartStorage,
        "schedulers",
        State::Degraded,
    ),
    (
        "none and kyber",
        |f| f.queues = Ok(vec![queue("sda", &["none", "kyber"])]),
        Part::SmartIo,
        "priorities",
        State::Degraded,
    ),
    ("no counting", uncounted, Part::SmartStorage, "counters", State::Degraded),
    ("no modules", |f| f.modules_disabled = None, Part::SmartIo, "modules", State::Degraded),
    ("modules locked", |f| f.modules_disabled = Some("1".to_owned()), Part::SmartIo, "modules", State::Degraded),
    (
        "groups v1",
        |f| f.cgroups = Ok(version_1(&["blkio", "memory", "freezer"])),
        Part::SmartIo,
        "io groups",
        State::Ok,
    ),
    (
        "groups v1",
        |f| f.cgroups = Ok(version_1(&["blkio", "memory", "freezer"])),
        Part::Iram,
        "memory groups",
        State::Ok,
    ),
    ("groups v1", |f| f.cgroups = Ok(version_1(&["blkio", "memory", "freezer"])), Part::Iram, "freezing", State::Ok),
    (
        "groups v1",
        |f| f.cgroups = Ok(version_1(&["blkio", "memory", "freezer"])),
        Part::Iram,
        "killing",
        State::Degraded,
    ),
    ("no groups", |f| f.cgroups = Ok(Cgroups::default()), Part::Iram, "memory groups", State::Degraded),
    ("no groups", |f| f.cgroups = Ok(Cgroups::default()), Part::Iram, "freezing", State::Degraded),
    (
        "groups v1",
        |f| f.cgroups = Ok(version_1(&["blkio", "memory", "freezer"])),
        Part::Iram,
        "memory limits",
        State::Degraded,
    ),
    ("no swap", |f| f.swaps = Ok(Vec::new()), Part::Iram, "swap", State::Degraded),
    ("no groups", |f| f.app_groups = Ok(None), Part::Launch, "group counters", State::Missing),
    ("root group, 6.12", |f| root_group(f, "6.12.1"), Part::Iram, "killing", State::Ok),
    ("root group, 5.10", |f| root_group(f, "5.10.1"), Part::Iram, "killing", State::Degraded),
    ("root group, 5.10", |f| root_group(f, "5.10.1"), Part::Iram, "freezing", State::Ok),
    ("2 s windows", |f| f.trigger_short = Answer::Refused, Part::Iram, "memory pressure", State::Degraded),
    ("no triggers", no_triggers, Part::Iram, "memory pressure", State::Degraded),
    ("no PSI", |f| f.pressure_memory = Err("x".to_owned()), Part::Iram, "memory pressure", State::Missing),
    ("no PSI", |f| f.pressure_io = Err("x".to_owned()), Part::SmartStorage, "io pressure", State::Degraded),
    (
        "oomd",
        |f| f.memory_programs = Ok(vec![memory_program("systemd-oomd", true)]),
        Part::Iram,
        "ending apps",
        State::Degraded,
    ),
    (
        "uresourced",
        |f| f.memory_programs = Ok(vec![memory_program("uresourced", false)]),
        Part::Iram,
        "ending apps",
        State::Ok,
    ),
    ("no MGLRU", |f| f.lru_gen = Ok(None), Part::Iram, "page ages", State::Degraded),
    ("MGLRU off", |f| f.lru_gen = Ok(Some(0)), Part::Iram, "page ages", State::Degraded),
    ("no pidfd", |f| f.pidfd = Answer::Unknown, Part::Mars, "pidfd", State::Missing),
    ("no page-out", |f| f.madvise_page_out = Answer::Unknown, Part::Iram, "page out", State::Degraded),
    ("no page-out", |f| f.madvise_page_out = Answer::Unknown, Part::Mars, "page out", State::Missing),
    ("no WILLNEED", |f| f.madvise_will_need = Answer::Unknown, Part::Mars, "bring back", State::Degraded),
    ("no swap", |f| f.swaps = Ok(vec![]), Part::Mars, "swap", State::Missing),
    ("kernel without swap", |f| f.swaps = Err("x".to_owned()), Part::Mars, "swap", State::Missing),
    ("no BPF", |f| f.bpf_tracing = Answer::Unknown, Part::Launch, "bpf", State::Degraded),
    ("neither BPF nor groups", blind, Part::Launch, "group counters", State::Missing),
    ("no BTF", |f| f.btf = false, Part::Launch, "btf", State::Degraded),
    ("no meter", |f| f.powercap = Ok(vec![]), Part::Energy, "meter", State::Missing),
    (
        "battery",
        |f| (f.powercap, f.supplies) = (Ok(vec![]), Ok(vec![battery(Some(1))])),
        Part::Energy,
        "meter",
        State::Ok,
    ),
    (
        "dumb battery",
        |f| (f.powercap, f.supplies) = (Ok(vec![]), Ok(vec![battery(None)])),
        Part::Energy,
        "meter",
        State::Missing,
    ),
];

fn set_home_disk(facts: &mut Facts, disk: Option<&str>) {
    if let Ok(home) = &mut facts.home {
        home.disk = disk.map(str::to_owned);
    }
}

fn uncounted(facts: &mut Facts) {
    if let Ok(queues) = &mut facts.queues {
        queues[0].counts_io = false;
    }
}

fn version_1(controllers: &[&str]) -> Cgroups {
    let hierarchy = |&name: &&str| CgroupV1 {
        controllers: vec![name.to_owned()],
        mount_point: PathBuf::from("/sys/fs/cgroup").join(name),
    };
    Cgroups { v1: controllers.iter().map(hierarchy).collect(), v2: None }
}

fn root_group(facts: &mut Facts, release: &str) {
    facts.kernel_release = Ok(release.to_owned());
    if let Ok(Cgroups { v2: Some(v2), .. }) = &mut facts.cgroups {
        v2.group_files = None;
    }
}

fn no_triggers(facts: &mut Facts) {
    (facts.trigger_short, facts.trigger_long) = (Answer::Refused, Answer::Refused);
}

fn blind(facts: &mut Facts) {
    facts.bpf_tracing = Answer::Unknown;
    facts.app_groups = Ok(None);
}

#[test]
fn a_machine_that_lacks_nothing_is_ok() {
    let findings = judge(&perfect());
    assert_eq!(findings.iter().find(|finding| finding.state != State::Ok), None);
    assert_eq!(overall(&findings), State::Ok);
}

#[test]
fn each_lack_shows_where_it_hurts() {
    for (what, change, part, check, expected) in CASES {
        let mut facts = perfect();
        change(&mut facts);
        let findings = judge(&facts);
        assert!(findings.iter().any(|f| f.part == *part && f.check == *check), "{what}: no check '{check}'");
        assert_eq!(state_of(&findings, *part, check), *expected, "{what}: {part:?} {check}");
    }
}

#[test]
fn whatever_is_not_ok_has_a_reason_and_a_remedy() {
    let all_changes = CASES.iter().map(|case| case.1).chain([no_kernel_files as Change]);
    for change in all_changes {
        let mut facts = perfect();
        change(&mut facts);
        let findings = judge(&facts);
        for part in Part::ALL {
            assert!(findings.iter().any(|finding| finding.part == part), "{part:?} has no finding");
        }
        for finding in findings {
            assert!(!finding.seen.is_empty(), "{finding:?}");
            let explained = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
            assert_eq!(explained(&finding.reason), finding.state != State::Ok, "{finding:?}");
            assert_eq!(explained(&finding.remedy), finding.state != State::Ok, "{finding:?}");
        }
    }
}

#[test]
fn who_is_not_root_is_degraded_and_told_to_be_root() {
    let mut facts = perfect();
    not_root(&mut facts);
    let findings = judge(&facts);
    assert_eq!(overall(&findings), State::Degraded);
    for finding in findings.iter().filter(|finding| finding.state != State::Ok) {
        assert_eq!(finding.state, State::Degraded, "{finding:?}");
        assert!(finding.remedy.as_deref().is_some_and(|remedy| remedy.contains("root")), "{finding:?}");
    }
}

#[test]
fn without_the_kernels_files_brisk_is_of_no_use() {
    let mut facts = perfect();
    no_kernel_files(&mut facts);
    let findings = judge(&facts);
    assert_eq!(overall(&findings), State::Missing);
    assert!(findings.iter().any(|f| f.remedy.as_deref().is_some_and(|remedy| remedy.contains("mount -t proc"))));
}

#[test]
fn a_missing_part_alone_does_not_make_brisk_useless() {
    for change in [(|f| f.lab_program = None) as Change, |f| f.powercap = Ok(vec![]), |f| f.swaps = Ok(vec![])] {
        let mut facts = perfect();
        change(&mut facts);
        assert_eq!(overall(&judge(&facts)), State::Degraded);
    }
}

#[test]
fn a_zram_that_waits_is_offered_for_swap() {
    let mut facts = perfect();
    facts.swaps = Ok(vec![]);
    facts.zrams = Ok(vec![Zram {
        name: "zram0".to_owned(),
        disk_bytes: 0,
        original_bytes: 0,
        compressed_bytes: 0,
        memory_bytes: 0,
        backing_device: None,
    }]);
    let remedies: Vec<_> = judge(&facts).into_iter().filter_map(|finding| finding.remedy).collect();
    assert!(remedies.iter().any(|remedy| remedy.contains("/dev/zram0")), "{remedies:?}");
}

#[test]
fn a_disabled_io_uring_names_the_setting() {
    let mut facts = perfect();
    (facts.io_uring, facts.io_uring_disabled) = (Answer::Refused, Some("2".to_owned()));
    let findings = judge(&facts);
    let finding = findings.iter().find(|finding| finding.check == "io_uring").expect("always judged");
    assert!(
        finding.seen.contains("is 2")
            && finding.remedy.as_deref() == Some("as root: sysctl kernel.io_uring_disabled=0")
    );
}

/// The finding on the heap limit of a machine with 8 GiB, for limits and needs in MiB.
fn heap_limit(size_mib: Option<u64>, growth_mib: Option<u64>, needs_mib: &[u64]) -> Option<Finding> {
    let mut facts = perfect();
    let bytes = |mib: Option<u64>| mib.map(|mib| mib << 20);
    facts.dalvik_heap = Ok(Some(DalvikHeap { size_bytes: bytes(size_mib), growth_limit_bytes: bytes(growth_mib) }));
    let needs = (10_100..).zip(needs_mib).map(|(uid, mib)| (format!("uid_{uid}"), mib << 20));
    facts.needs_bytes = Ok(needs.collect());
    judge(&facts).into_iter().find(|finding| finding.part == Part::Iram && finding.check == "heap limit")
}

#[test]
fn the_heap_limit_of_android_is_compared_with_what_apps_needed() {
    assert!(judge(&perfect()).iter().all(|finding| finding.check != "heap limit"), "this is no Android");
    for (size_mib, needs_mib, state, words) in [
        (Some(512), &[][..], State::Ok, "no need of an app is recorded"),
        (Some(512), &[300, 200], State::Ok, "one of 2 apps needed is 300 MiB"),
        // 300 MiB and a quarter are 375, so 384.
        (Some(768), &[300, 20, 20, 20, 20], State::Ok, "one of 5 apps"),
        (Some(769), &[300, 20, 20, 20, 20], State::Degraded, "none of 5 apps needed more than 300 MiB"),
        // Too few apps to lower it.
        (Some(2000), &[300, 20, 20, 20], State::Ok, "one of 4 apps"),
        (Some(299), &[300, 20, 310], State::Degraded, "2 of 3 apps needed more, uid_10102 the most (310 MiB)"),
        (Some(300), &[300], State::Ok, "one of 1 apps"),
        (None, &[20], State::Degraded, "16 MiB, the default; 1 of 1 apps"),
        // A quarter of the memory is 2 GiB.
        (Some(2048), &[3000], State::Ok, "more than 1/4 of the memory"),
    ] {
        let finding = heap_limit(size_mib, None, needs_mib).expect("Android");
        assert_eq!(finding.state, state, "{size_mib:?} {needs_mib:?}: {finding:?}");
        assert!(finding.seen.contains(words), "{finding:?}");
    }
}

#[test]
fn a_heap_limit_comes_with_the_value_to_set_and_its_cost() {
    let remedy = |size_mib, growth_mib, needs_mib: &[u64]| {
        heap_limit(Some(size_mib), growth_mib, needs_mib).and_then(|finding| finding.remedy).expect("a remedy")
    };
    let higher = remedy(256, None, &[300]);
    assert!(
        higher.starts_with("as root: setprop dalvik.vm.heapsize 384m && stop && start; it ends all apps"),
        "{higher}"
    );
    assert!(higher.ends_with("may then take 128 MiB more"), "{higher}");
    // The limit of apps without a large heap would hold still.
    let both = remedy(256, Some(192), &[300]);
    assert!(both.contains("setprop dalvik.vm.heapgrowthlimit 384m && setprop dalvik.vm.heapsize 384m"), "{both}");
    let lower = remedy(1024, Some(192), &[300, 1, 1, 1, 1]);
    assert!(
        lower.contains("as root: setprop dalvik.vm.heapsize 384m && ") && lower.contains("OutOfMemoryError"),
        "{lower}"
    );
    let below_growth = remedy(1024, Some(512), &[300, 1, 1, 1, 1]);
    assert!(below_growth.contains("setprop dalvik.vm.heapgrowthlimit 384m && "), "{below_growth}");
    // No more than a quarter of the memory.
    assert!(remedy(1024, None, &[3000]).contains("heapsize 2048m"));
}

#[test]
fn a_heap_limit_or_needs_that_cannot_be_read_are_no_good_limit() {
    for change in [(|facts| facts.dalvik_heap = Err("cannot read getprop".to_owned())) as Change, |facts| {
        facts.dalvik_heap = Ok(Some(DalvikHeap::default()));
        facts.needs_bytes = Err("no permission to read learned.json".to_owned());
    }] {
        let mut facts = perfect();
        change(&mut facts);
        assert_eq!(state_of(&judge(&facts), Part::Iram, "heap limit"), State::Degraded);
    }
}

#[test]
fn an_android_tree_with_a_learned_file_is_judged() {
    let dir = tempfile::tempdir().expect("a directory");
    let phone = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../machine/sense/tests/fixtures/made-up-phone");
    let sense = brisk_sense::Sense::new(dir.path());
    std::os::unix::fs::symlink(phone.join("system"), sense.path("/system")).expect("made");
    let facts = Facts::gather(&sense);
    assert_eq!(
        (&facts.dalvik_heap, facts.needs_bytes.as_ref().map(BTreeMap::len)),
        (&Ok(Some(DalvikHeap { size_bytes: Some(512 << 20), growth_limit_bytes: Some(192 << 20) })), Ok(0))
    );
    let learned = sense.path("/var/lib/brisk/learned");
    brisk_daemon::learned::write(&learned, "iram/learned.json", "{}").expect("written");
    let why = Facts::gather(&sense).needs_bytes.expect_err("it is not understood");
    assert!(why.contains("iram/learned.json"), "{why}");
}

#[test]
fn boards_are_told_of_zswap_and_of_cards_that_do_not_say_how_worn_they_are() {
    let of = |change: Change, check: &str| {
        let mut facts = perfect();
        change(&mut facts);
        let finding = judge(&facts).into_iter().find(|finding| finding.part == Part::Mars && finding.check == check);
        finding.map(|finding| (finding.state, finding.seen))
    };
    let zstd = || Zswap { compressor: Some("zstd".to_owned()), max_pool_percent: Some(20) };
    assert_eq!(of(|_| (), "zswap"), None);
    // This machine swaps to zram.
    let twice = of(|facts| facts.zswap = Ok(Some(Zswap { compressor: None, max_pool_percent: None })), "zswap");
    assert_eq!(twice, Some((State::Degraded, "on: an unknown compressor, in front of zram".to_owned())));
    let mut facts = perfect();
    (facts.zswap, facts.swaps) = (Ok(Some(zstd())), Ok(vec![]));
    let alone = judge(&facts).into_iter().find(|finding| finding.part == Part::Mars && finding.check == "zswap");
    let seen = "on: zstd, at most 20 % of the memory; what does not fit goes on to the swap area";
    assert_eq!(alone.map(|finding| (finding.state, finding.seen)), Some((State::Ok, seen.to_owned())));

    let wear = |is_sd: bool, life_time: Option<(WearTenths, WearTenths)>| {
        let mut facts = perfect();
        facts.cards = Ok(vec![Card { name: "mmcblk0".to_owned(), is_sd, life_time }]);
        let found = judge(&facts).into_iter().find(|finding| finding.part == Part::Mars && finding.check == "wear");
        found.map(|finding| (finding.state, finding.seen)).expect("a finding")
    };
    let unseen = (State::Degraded, "mmcblk0, an SD card, does not say how worn it is".to_owned());
    assert_eq!(wear(true, None), unseen);
    let used = (State::Ok, "mmcblk0 has used 20 to 30 % of its life".to_owned());
    assert_eq!(wear(false, Some((WearTenths::Begun(3), WearTenths::Begun(1)))), used);
    assert_eq!(wear(false, Some((WearTenths::Begun(1), WearTenths::Exceeded))).0, State::Degraded);
    assert_eq!(of(|_| (), "wear"), None);
}

#[test]
fn phones_with_and_without_version_2_are_told_what_is_there_and_what_its_lack_costs() {
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../machine/sense/tests/fixtures");
    let of = |phone: &str| {
        let findings = judge(&Facts::gather(&brisk_sense::Sense::new(fixtures.join(phone))));
        move |part: Part, check: &str| {
            let finding = findings.iter().find(|finding| finding.part == part && finding.check == check);
            finding.map(|finding| (finding.state, finding.seen.clone())).expect("judged")
        }
    };
    let (old, new) = (of("android-10-linux-4.14"), of("android-14-linux-5.15"));
    let six = "6 packages in /data/system/packages.list".to_owned();
    for phone in [&old as &dyn Fn(Part, &str) -> (State, String), &new] {
        assert_eq!(phone(Part::Prefetch, "names of apps"), (State::Ok, six.clone()));
        assert_eq!(phone(Part::Prefetch, "app in front").0, State::Ok);
        assert_eq!(phone(Part::Iram, "freezing").0, State::Ok);
        let (state, seen) = phone(Part::Iram, "ending apps");
        assert!(state == State::Degraded && seen.contains("lmkd"), "{seen}");
    }
    let at = "version 1 (memory) at /dev/memcg/apps".to_owned();
    assert_eq!(old(Part::Prefetch, "group counters"), (State::Degraded, at));
    assert_eq!(new(Part::Prefetch, "group counters").0, State::Ok);
    assert_eq!(
        [old(Part::Prefetch, "i/o pressure").0, new(Part::Prefetch, "i/o pressure").0],
        [State::Degraded, State::Ok]
    );
    assert_eq!([old(Part::Launch, "btf").0, new(Part::Launch, "btf").0], [State::Degraded, State::Ok]);
    assert_eq!(new(Part::Prefetch, "storage"), (State::Ok, "sda, sdb, sde may be read ahead".to_owned()));
    assert_eq!(old(Part::Prefetch, "storage"), (State::Ok, "mmcblk0 may be read ahead".to_owned()));
}

#[test]
fn what_the_running_daemon_does_without_is_a_finding_of_its_engine() {
    let mut facts = perfect();
    let rests = |part: &str| brisk_api::Resting { part: part.to_owned(), crashes: 2 };
    facts.daemon = Some(Running {
        pid: 7,
        engines: vec!["prefetch".to_owned(), "smartio".to_owned()],
        resting: vec![rests("opened_files"), rests("page_out"), rests("watch_of_mounts")],
        trouble: vec!["files that apps read without mapping them are not known".to_owned()],
    });
    let findings = judge(&facts);
    let of = |part: Part| -> Vec<(State, &str)> {
        let own = findings.iter().filter(|finding| finding.part == part && finding.check == "daemon");
        own.map(|finding| (finding.state, finding.seen.as_str())).collect()
    };
    assert_eq!(
        of(Part::Prefetch),
        [
            (State::Degraded, "opened files rests"),
            (State::Ok, "the engine runs in process 7"),
            (State::Degraded, "files that apps read without mapping them are not known")
        ]
    );
    assert_eq!(
        of(Part::SmartIo),
        [(State::Degraded, "watch of mounts rests"), (State::Ok, "the engine runs in process 7")]
    );
    assert_eq!(of(Part::Mars), [(State::Degraded, "page out rests")], "although its engine does not run");
    assert_eq!(of(Part::Iram), []);
    let way_out = findings.iter().find(|finding| finding.seen == "page out rests").and_then(|one| one.remedy.clone());
    assert!(way_out.is_some_and(|remedy| remedy.contains("brisk config reload --retry")));
}

#[test]
fn a_right_that_the_service_lacks_is_a_finding_of_each_engine_that_needs_it() {
    let mut facts = perfect();
    facts.lacking_rights = vec![brisk_api::LackingRight {
        right: "CAP_SYS_ADMIN".to_owned(),
        engines: vec!["prefetch".to_owned(), "mars".to_owned()],
        costs: "files are not learned".to_owned(),
    }];
    let rights = |facts: &Facts| -> Vec<(Part, String)> {
        let of = judge(facts).into_iter().filter(|finding| finding.check == "rights");
        of.map(|finding| (finding.part, format!("{}: {}", finding.seen, finding.reason.unwrap_or_default()))).collect()
    };
    let without_service = "this process lacks CAP_SYS_ADMIN: files are not learned".to_owned();
    assert_eq!(rights(&facts), [(Part::Prefetch, without_service.clone()), (Part::Mars, without_service)]);
    facts.daemon = Some(Running { pid: 7, engines: Vec::new(), resting: Vec::new(), trouble: Vec::new() });
    assert!(rights(&facts)[0].1.starts_with("the service lacks CAP_SYS_ADMIN"));
    // A user who asks for himself is told of privilege once.
    facts.daemon = None;
    facts.status = Ok(brisk_sense::ProcessStatus { effective_uid: 1000, effective_capabilities: 0 });
    assert_eq!(rights(&facts), []);
}
