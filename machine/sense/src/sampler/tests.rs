use brisk_core::snapshot::AppTotals;

use super::*;

#[test]
fn a_few_devices_say_what_the_file_of_all_says() {
    let sense = Sense::default();
    let all = sense.disk_stats().expect("Linux");
    let Some(used) = all.iter().max_by_key(|disk| disk.read.requests).map(|disk| disk.name.clone()) else {
        return brisk_requires::skip(brisk_requires::Capability::Disk, "this machine has no block device");
    };
    let counted = || sense.disk_stats_of(&used).expect("Linux").expect("it stays");
    let choice = SampleChoice { devices: vec![used.clone()], ..SampleChoice::default() };
    let mut sampler = Sampler::new(sense.clone(), choice).expect("Linux");
    for _ in 0..2 {
        let before = counted();
        let disks = sampler.snapshot().expect("understood").disks;
        let after = counted();
        assert!(sampler.few.is_some() && disks.len() == 1 && disks[0].name == used, "{disks:?}");
        let grows = |of: fn(&DiskTotals) -> u64| of(&before) <= of(&disks[0]) && of(&disks[0]) <= of(&after);
        assert!(grows(|disk| disk.read.requests) && grows(|disk| disk.write.bytes), "{disks:?} {after:?}");
        assert!(grows(|disk| disk.flush.unwrap_or_default().requests), "{disks:?} {after:?}");
        assert!(disks[0].in_flight_write_requests.is_some(), "{disks:?}");
    }
    sampler.look_at(vec![used, "gone".to_owned()], std::iter::empty());
    assert_eq!(sampler.snapshot().expect("understood").disks.len(), 1);
    assert!(sampler.few.is_none());
}

#[test]
fn this_machine_gives_totals_that_grow() {
    let mut sampler = Sampler::new(Sense::default(), SampleChoice::default()).expect("Linux");
    let first = sampler.snapshot().expect("understood");
    let second = sampler.snapshot().expect("understood");
    assert!(first.cpu.processors > 0 && first.memory.total_bytes > first.memory.free_bytes);
    let interval = second.since(&first).expect("time passed");
    assert!(interval.elapsed_ns < 60_000_000_000 && interval.wall_step_ms.abs() < 60_000, "{interval:?}");
    assert!(first.nets.iter().all(|net| net.name != "lo"), "{:?}", first.nets);
}

#[test]
fn memory_of_an_app_is_that_of_its_group_of_version_1() {
    let root = tempfile::tempdir().expect("a directory");
    let put = |path: &str, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    put("proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\nmemory\t4\t3\t1\n");
    let mounts = "30 20 0:26 / /memory rw - cgroup cgroup rw,memory\n31 20 0:27 / /groups rw - cgroup2 cgroup2 rw\n";
    put("proc/self/mountinfo", mounts);
    put("proc/stat", "cpu  1 0 0 9 0 0 0 0\ncpu0 1 0 0 9 0 0 0 0\n");
    put("groups/app-x.scope/cpu.stat", "usage_usec 1\nuser_usec 1\nsystem_usec 0\n");
    let mut sampler = Sampler::new(Sense::new(root.path()), SampleChoice::default()).expect("a machine");
    sampler.look_at(Vec::new(), [(PathBuf::from("/groups/app-x.scope"), "app".to_owned())].into_iter());
    let mut of_app = || sampler.apps(0).remove(0).memory_bytes;
    assert_eq!(of_app(), None);
    // It may come later than the app's own.
    put("memory/app-x.scope/memory.usage_in_bytes", "4096\n");
    assert_eq!(of_app(), Some(4096));
}

#[test]
fn apps_are_weighed_by_their_processes_where_that_is_wanted() {
    let root = tempfile::tempdir().expect("a directory");
    let put = |path: &str, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    put("proc/stat", "cpu  1 0 0 9 0 0 0 0\ncpu0 1 0 0 9 0 0 0 0\n");
    put("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 500 kB\n");
    put("proc/vmstat", "pgmajfault 1\n");
    put("proc/diskstats", "");
    put("proc/cgroups", "");
    put("proc/self/mountinfo", "");
    put("proc/7/cgroup", "0::/group\n");
    put("group/cpu.stat", "usage_usec 1\nuser_usec 1\nsystem_usec 0\n");
    put("group/cgroup.procs", "7\n");
    put("group/inner/cgroup.procs", "8\n");
    let status =
        |anon: u64, swap: u64| format!("RssAnon: {anon} kB\nRssFile: 5 kB\nRssShmem: 0 kB\nVmSwap: {swap} kB\n");
    put("proc/7/status", &status(100, 10));
    put("proc/8/status", &status(200, 20));
    let mut sampler = Sampler::new(Sense::new(root.path()), SampleChoice::default()).expect("a machine");
    sampler.look_at(Vec::new(), [(PathBuf::from("/group"), "app".to_owned())].into_iter());
    let app = |sampler: &mut Sampler| sampler.snapshot().expect("understood").apps.remove(0);
    let of = |app: &AppTotals| (app.anon_bytes, app.swap_bytes, app.rss_bytes);
    assert_eq!(of(&app(&mut sampler)), (None, None, None));
    sampler.weigh_apps(true);
    let kib = |kib: u64| Some(kib << 10);
    assert_eq!(of(&app(&mut sampler)), (kib(300), kib(30), kib(310)));
    // Not again within a second.
    put("proc/7/status", &status(900, 0));
    assert_eq!(app(&mut sampler).anon_bytes, kib(300));
    let age = |sampler: &mut Sampler, elapsed_ns: u64| {
        let weight = sampler.groups[0].weight.as_mut().expect("weighed");
        weight.at_ns = weight.at_ns.saturating_sub(elapsed_ns);
    };
    // Nor later, while none of its tasks has run.
    age(&mut sampler, 2_000_000_000);
    assert_eq!(app(&mut sampler).anon_bytes, kib(300));
    put("group/cpu.stat", "usage_usec 2\nuser_usec 2\nsystem_usec 0\n");
    assert_eq!(app(&mut sampler).anon_bytes, kib(1100));
    // The machine has swapped.
    put("proc/8/status", &status(0, 220));
    put("proc/vmstat", "pgmajfault 1\npswpout 50\n");
    age(&mut sampler, 2_000_000_000);
    assert_eq!(of(&app(&mut sampler)), (kib(900), kib(220), kib(910)));
    put("proc/7/status", &status(100, 0));
    put("proc/8/status", &status(200, 0));
    age(&mut sampler, 10_000_000_000);
    assert_eq!(app(&mut sampler).anon_bytes, kib(300));
    // One that has just begun has nothing yet.
    put("proc/7/status", &status(0, 0));
    put("proc/8/status", &status(0, 0));
    age(&mut sampler, 10_000_000_000);
    assert_eq!(app(&mut sampler).anon_bytes, kib(0));
    put("proc/7/status", &status(100, 0));
    put("proc/8/status", &status(200, 0));
    age(&mut sampler, 2_000_000_000);
    assert_eq!(app(&mut sampler).anon_bytes, kib(300));
}
