//! Settings of virtual memory: written, restored, and left to others; on a tree of plain files, and on this machine's
//! kernel.

use crate::journal_lines;
use crate::plain_tree;

use std::fs::{self, File};
use std::io::BufReader;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use brisk_act::{Actuator, Paths, restore_leftovers};
use brisk_core::action::Setting;
use brisk_core::knob::{Knob, VmSetting};
use brisk_core::outcome::Outcome;
use brisk_requires::{line_with, requires};
use journal_lines::of_a_dead_owner;
use plain_tree::{Tree, outcome, written};
use proptest::prelude::*;

const FILES: [(&str, &str); 8] = [
    ("proc/sys/vm/page-cluster", "3\n"),
    ("proc/sys/vm/swappiness", "60\n"),
    ("proc/sys/vm/watermark_scale_factor", "10\n"),
    ("proc/sys/vm/min_free_kbytes", "67584\n"),
    ("proc/sys/vm/vfs_cache_pressure", "100\n"),
    ("sys/kernel/mm/lru_gen/min_ttl_ms", "0\n"),
    ("proc/sys/vm/dirty_background_ratio", "10\n"),
    ("proc/sys/vm/dirty_writeback_centisecs", "500\n"),
];

fn machine() -> Tree {
    Tree::new(&FILES)
}

fn all(machine: &Tree) -> Vec<String> {
    FILES.iter().map(|(file, _)| machine.get(file)).collect()
}

#[test]
fn a_measurement_holds_a_setting_for_as_long_as_it_names_it() {
    let machine = machine();
    let before = all(&machine);
    let mut actuator = machine.actuator(false);
    let wanted = machine.targets(&[("vm/page-cluster", "0"), ("vm/lru_gen/min_ttl_ms", "1000")]);
    let applied = actuator.apply(&wanted);
    assert_eq!(outcome(&applied, "vm/page-cluster"), written("3", "0"));
    assert_eq!(outcome(&applied, "vm/lru_gen/min_ttl_ms"), written("0", "1000"));
    assert_eq!(actuator.original(&wanted[0].knob), Some("3"));
    assert_eq!(outcome(&actuator.apply(&wanted), "vm/page-cluster"), Outcome::Unchanged);
    let applied = actuator.apply(&machine.targets(&[("vm/page-cluster", "5")]));
    assert_eq!(outcome(&applied, "vm/page-cluster"), written("0", "5"));
    assert_eq!(outcome(&applied, "vm/lru_gen/min_ttl_ms"), Outcome::Restored { to: "0".to_owned() });
    let report = actuator.restore().expect("restored");
    assert_eq!(report.restored, [("vm".to_owned(), "page-cluster".to_owned())]);
    assert_eq!((all(&machine), machine.journals()), (before, Vec::new()));
}

#[test]
fn an_external_change_is_left_until_forgiven() {
    let machine = machine();
    let mut actuator = machine.actuator(false);
    let wanted = machine.targets(&[("vm/swappiness", "100")]);
    actuator.apply(&wanted);
    fs::write(machine.path("proc/sys/vm/swappiness"), "10\n").expect("external change");
    assert_eq!(outcome(&actuator.apply(&wanted), "vm/swappiness"), Outcome::Left { found: "10".to_owned() });
    let changed = actuator.check();
    assert_eq!((changed[0].knob.to_string(), changed[0].found.as_str()), ("vm/swappiness".to_owned(), "10"));
    assert_eq!(outcome(&actuator.apply(&[]), "vm/swappiness"), Outcome::Left { found: "10".to_owned() });
    assert_eq!(machine.get("proc/sys/vm/swappiness"), "10");

    actuator.apply(&wanted);
    fs::write(machine.path("proc/sys/vm/swappiness"), "20\n").expect("external change");
    let report = actuator.restore().expect("restored");
    assert_eq!((report.left[0].device.as_str(), report.left[0].found.as_deref()), ("vm", Some("20")));
    assert_eq!(machine.get("proc/sys/vm/swappiness"), "20");
}

#[test]
fn a_setting_is_restored_after_procfs_has_made_its_file_anew() {
    let machine = machine();
    let mut actuator = machine.actuator(false);
    actuator.apply(&machine.targets(&[("vm/vfs_cache_pressure", "50")]));
    // Made before the first is gone, so that it has another inode.
    let file = machine.path("proc/sys/vm/vfs_cache_pressure");
    fs::write(machine.path("anew"), "50\n").expect("fixture");
    fs::rename(machine.path("anew"), &file).expect("fixture");
    actuator.restore().expect("restored");
    assert_eq!(machine.get("proc/sys/vm/vfs_cache_pressure"), "100");
}

#[test]
fn a_value_is_a_whole_number_and_read_as_decimal() {
    let machine = machine();
    let before = all(&machine);
    let mut actuator = machine.actuator(false);
    for value in ["many", "-1", "0x10", "1.5", "3 4", ""] {
        let applied = actuator.apply(&machine.targets(&[("vm/page-cluster", value)]));
        assert!(matches!(outcome(&applied, "vm/page-cluster"), Outcome::Refused { .. }), "{value}: {applied:?}");
    }
    assert_eq!((all(&machine), machine.journals()), (before, Vec::new()));
    // The kernel alone would take it for 8.
    assert_eq!(
        outcome(&actuator.apply(&machine.targets(&[("vm/page-cluster", "010")])), "vm/page-cluster"),
        written("3", "10")
    );
}

#[test]
fn a_kernel_without_the_setting_is_named() {
    let machine = machine();
    fs::remove_dir_all(machine.path("sys/kernel/mm/lru_gen")).expect("fixture");
    let applied = machine.actuator(false).apply(&machine.targets(&[("vm/lru_gen/min_ttl_ms", "1000")]));
    let Outcome::Refused { why } = outcome(&applied, "vm/lru_gen/min_ttl_ms") else { panic!("{applied:?}") };
    assert!(why.contains("kernel/mm/lru_gen/min_ttl_ms is missing"), "{why}");
}

#[test]
fn a_dry_run_says_what_it_would_write() {
    let machine = machine();
    let before = all(&machine);
    let mut dry = Actuator::new(&machine.paths, "briskd", true).expect("no journal");
    let applied = dry.apply(&machine.targets(&[("vm/page-cluster", "0"), ("vm/swappiness", "60")]));
    let planned = Outcome::Planned { from: Some("3".to_owned()), to: Some("0".to_owned()) };
    assert_eq!(outcome(&applied, "vm/page-cluster"), planned);
    assert_eq!(outcome(&applied, "vm/swappiness"), Outcome::Unchanged);
    assert_eq!((all(&machine), machine.journals()), (before, Vec::new()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn undo_after_apply_is_identity(
        rounds in prop::collection::vec(prop::collection::btree_map(0..FILES.len(), 0u32..1000, 0..4), 1..5),
        how in 0..3,
    ) {
        let machine = machine();
        let before = all(&machine);
        let mut actuator = machine.actuator(false);
        for round in &rounds {
            let wanted = round.iter().map(|(of, number)| {
                Setting::new(Knob::Vm { setting: VmSetting::ALL[*of] }, number.to_string())
            });
            let wanted: Vec<Setting> = wanted.collect();
            actuator.apply(&wanted);
            for (of, number) in round {
                prop_assert_eq!(machine.get(FILES[*of].0), number.to_string());
            }
        }
        match how {
            0 => drop(actuator),
            1 => drop(actuator.apply(&[])),
            // By death: the next process finds the journal.
            _ => {
                std::mem::forget(actuator);
                for file in machine.journals() {
                    let text = fs::read_to_string(&file).expect("a journal");
                    fs::write(&file, of_a_dead_owner(&text)).expect("a journal");
                }
                restore_leftovers(&machine.paths).expect("undone");
            }
        }
        prop_assert_eq!(all(&machine), before);
        prop_assert_eq!(machine.journals(), Vec::<PathBuf>::new());
    }
}

const JOURNALS: &str = "BRISK_ACT_TEST_VM_JOURNALS";

#[test]
#[ignore = "is killed by another test"]
fn child_that_holds_settings_until_it_is_killed() {
    let journal = std::env::var_os(JOURNALS).expect("set by the test that starts this").into();
    let mut actuator = Actuator::new(&Paths { journal, ..Paths::default() }, "suite", false).expect("a journal");
    let applied = actuator.apply(&wanted_here());
    println!("held {}", serde_json::to_string(&applied).expect("JSON"));
    loop {
        std::thread::park();
    }
}

/// Values next to those that stand, so that the machine hardly notices.
fn wanted_here() -> Vec<Setting> {
    let next = |setting: VmSetting| {
        let text = fs::read_to_string(PathBuf::from("/proc/sys/vm").join(setting.name())).expect("a setting");
        let now: u64 = text.trim().parse().expect("a number");
        Setting::new(Knob::Vm { setting }, (now + 1).to_string())
    };
    vec![next(VmSetting::PageCluster), next(VmSetting::VfsCachePressure)]
}

fn stands(settings: &[Setting]) -> Vec<String> {
    let file = |setting: &Setting| PathBuf::from("/proc/sys/vm").join(setting.knob.setting());
    settings.iter().map(|one| fs::read_to_string(file(one)).expect("a setting").trim().to_owned()).collect()
}

#[test]
fn settings_of_a_killed_process_are_restored_by_the_next() {
    requires!(Sysctl);
    // They are the machine's: one test at a time, also of other runs.
    let alone = File::open("/proc/sys/vm").expect("settings");
    alone.lock().expect("locked");
    let wanted = wanted_here();
    let before = stands(&wanted);
    let dir = tempfile::tempdir().expect("temporary directory");
    let paths = Paths::with_run_dir(dir.path());
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "vm_settings::child_that_holds_settings_until_it_is_killed", "--ignored", "--nocapture"])
        .env(JOURNALS, &paths.journal)
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program runs");
    let mut said = BufReader::new(child.stdout.take().expect("piped"));
    let line = line_with(&mut said, "held", |line| line.contains("held"));
    let held = stands(&wanted);
    child.kill().and_then(|()| child.wait()).expect("killed");
    let reports = restore_leftovers(&paths).expect("undone");
    let values: Vec<String> = wanted.iter().map(|setting| setting.value.clone()).collect();
    assert_eq!(held, values, "{line:?}");
    assert_eq!(reports[0].1.restored.len(), 2, "{reports:?}");
    assert_eq!(stands(&wanted), before);

    // What the kernel does not take is refused with what it takes.
    let mut actuator = Actuator::new(&paths, "suite", false).expect("a journal");
    let applied = actuator.apply(&Tree::new(&[]).targets(&[("vm/swappiness", "9999")]));
    let Outcome::Refused { why } = outcome(&applied, "vm/swappiness") else { panic!("{applied:?}") };
    assert!(why.contains("from 0 to 200"), "{why}");
    assert_eq!(fs::read_dir(&paths.journal).expect("journals").count(), 0);
}
