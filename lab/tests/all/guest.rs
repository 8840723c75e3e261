//! The whole way once: modules built, a kernel booted, schedulers under a short load, figures out of the console.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use brisk_lab::vm::Watch;
use brisk_lab::vm::compare::{Found, Options, compare};
use brisk_lab::vm::lab::Lab;
use brisk_lab::vm::scenario::Scenario;
use brisk_lab::vm::schedulers::Settings;
use brisk_lab::vm::sources::Source;
use brisk_requires::{Capability, available, skip};

const SERIES: &str = "6.12";

/// The lab, or none where a kernel or an emulator cannot be had.
fn lab(watch: Watch<'_>) -> Option<(Source, Lab)> {
    let target = std::env::var_os("CARGO_TARGET_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    // Relative to where cargo was called, which is the root of the tree.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = target.map(|target| if target.is_absolute() { target } else { root.join(target) });
    let source = Source::find(&root, target).expect("this tree");
    available(&["qemu-system-x86_64", "busybox", "xz"].map(Capability::Program))?;
    source.fetch(SERIES, watch).map_err(|error| skip(Capability::Kernel, error)).ok()?;
    let lab = Lab::prepare(&source, SERIES, watch).expect("modules build for a kernel that is there");
    Some((source, lab))
}

#[test]
fn schedulers_serve_a_load_in_the_guest_and_a_lacking_one_is_named() {
    let stop = AtomicBool::new(false);
    let watch = Watch { stop: &stop, progress: &|_, _| {} };
    let Some((source, mut lab)) = lab(watch) else { return };
    let scenario = Scenario::find(&source.scenarios(), "smoke").expect("it is in the tree");
    let mut schedulers = vec!["none".to_owned(), "mq-deadline".to_owned(), "smartio".to_owned()];
    let built = lab.check_scheduler("smartio").is_ok();
    let mut options = Options {
        schedulers: schedulers.clone(),
        settings: Settings::new(),
        tuned: false,
        seeds: vec![1],
        scale: 0.3,
        search_scale: 1.0,
        search_budget: 1,
        also: Vec::new(),
        write_min_percent: None,
        repeat_percent_max: Some(brisk_lab::vm::refuse::SEARCH_REPEAT_PERCENT_MAX),
    };
    let measured =
        compare(&mut lab, &scenario, &options, &mut Found::new(), watch).expect("a boot that is not refused");
    if !built {
        schedulers.pop();
        assert_eq!(measured.refused[0].0, "smartio");
    }
    assert_eq!(measured.rows.iter().map(|row| row.scheduler.clone()).collect::<Vec<_>>(), schedulers);
    for row in &measured.rows {
        let read = row.loads[0].side("read").expect("readers");
        // The preset's read takes 187 us, and nothing in the guest is faster than the device.
        assert!(read.delay_us_mean.median > 187.0, "{}: {:?}", row.scheduler, read.delay_us_mean);
        assert!(row.loads[0].side("write").expect("a writer").bytes_per_s.median > 0.0);
        assert!(row.loads[0].side("trim").expect("discards").requests_per_s.median > 0.0);
    }
    assert!(measured.fidelity.lateness_ns_mean > 0.0 && measured.fidelity.cases > 1);

    // A setting that the scheduler lacks is reported, and gives no figure.
    options.settings = [("no_such_tunable".to_owned(), "1".to_owned())].into();
    options.schedulers = vec!["mq-deadline".to_owned()];
    let refused = compare(&mut lab, &scenario, &options, &mut Found::new(), watch).expect("a boot");
    assert!(refused.rows.is_empty());
    assert!(refused.refused[0].1.contains("there is no setting no_such_tunable"), "{:?}", refused.refused);
}
