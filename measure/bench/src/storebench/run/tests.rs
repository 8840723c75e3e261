use super::*;
use crate::results::CacheVerdict;

fn options(path: PathBuf) -> Options {
    Options {
        path,
        destroy_data: false,
        budget: Budget::Quick,
        time: Some(Duration::from_millis(1)),
        size_bytes: Some(8 << 20),
        written_bytes_max: None,
        block_bytes: 4096,
        depth_requests: 32,
        engine: None,
        seed: 1,
    }
}

fn names(options: &Options, size_bytes: u64) -> Vec<String> {
    jobs(options, 2, size_bytes).iter().map(Job::name).collect()
}

#[test]
fn jobs_are_unique_and_the_base_jobs_come_first() {
    let names = names(&options(PathBuf::new()), 1 << 30);
    assert_eq!(names[0], "sequential read 4 KiB depth 1");
    assert_eq!(names[7], "random write 4 KiB depth 32");
    assert_eq!(names.iter().collect::<std::collections::HashSet<_>>().len(), names.len());
    // Four kinds of load, each for 2 base loads, 4 more block sizes and 4 more depths.
    assert_eq!(names.len(), 40);
}

#[test]
fn unusual_base_sizes_give_only_possible_jobs() {
    let shallow = Options { depth_requests: 1, ..options(PathBuf::new()) };
    assert_eq!(names(&shallow, 1 << 30).len(), 20);
    let large = Options { block_bytes: 4 << 20, depth_requests: 3, ..options(PathBuf::new()) };
    assert_eq!(names(&large, 1 << 30).len(), 12);
    // A file of 64 KiB holds no block of 256 KiB, and not 32 of 4 KiB in flight.
    assert_eq!(names(&options(PathBuf::new()), 64 << 10).len(), 28);
}

#[test]
fn a_short_run_reports_every_job_and_leaves_no_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let stop = AtomicBool::new(false);
    let control = Control { stop: &stop, progress: &|done, _| assert!((0.0..=1.0).contains(&done)) };
    let report = run(&Sense::default(), &options(dir.path().to_owned()), &control).expect("measured");
    assert_eq!((report.jobs.len(), report.block_sweep.len(), report.depth_sweep.len()), (8, 20, 24));
    assert_eq!(report.syncs.iter().map(|s| s.call.as_str()).collect::<Vec<_>>(), ["fsync", "fdatasync"]);
    assert_eq!(report.work_bytes, 8 << 20);
    assert!(report.header.written_bytes > report.work_bytes);
    assert!(!report.verdict.is_empty());
    // One round is too few for a narrow interval, and the report warns.
    assert!(report.header.warnings.iter().any(|w| w.code == "few_repeats"));
    assert_eq!(std::fs::read_dir(dir.path()).expect("listed").count(), 0);
    let json = serde_json::to_string(&report).expect("serialised");
    assert_eq!(serde_json::from_str::<BenchReport>(&json).expect("read back").verdict, report.verdict);
    if report.header.environment.file_system.as_deref() == Some("tmpfs") {
        assert_eq!(report.cache.verdict, CacheVerdict::Memory);
    }
}

#[test]
fn a_set_stop_flag_gives_no_result_and_leaves_no_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let stop = AtomicBool::new(false);
    // Set at the first job.
    let control = Control { stop: &stop, progress: &|_, doing| stop.store(doing.contains("depth"), Ordering::Relaxed) };
    assert!(matches!(run(&Sense::default(), &options(dir.path().to_owned()), &control), Err(Error::Stopped)));
    assert_eq!(std::fs::read_dir(dir.path()).expect("listed").count(), 0);
}

#[test]
fn writes_stop_at_the_write_limit() {
    let dir = tempfile::tempdir().expect("a directory");
    let stop = AtomicBool::new(false);
    let control = Control { stop: &stop, progress: &|_, _| {} };
    // Preparation leaves 1 MiB, so that only one round may be written.
    let options = Options {
        written_bytes_max: Some(9 << 20),
        time: Some(Duration::from_secs(3)),
        depth_requests: 2,
        ..options(dir.path().to_owned())
    };
    let report = run(&Sense::default(), &options, &control).expect("measured");
    // A slice has at least four requests, of 1 MiB at most; synchronous writes are few.
    assert!(report.header.written_bytes < 64 << 20, "{} written", report.header.written_bytes);
    assert!(report.header.warnings.iter().any(|w| w.code == "write_limit"), "{:?}", report.header.warnings);
    for job in report.jobs.iter().filter(|job| job.direction == Direction::Write) {
        assert_eq!(job.requests_per_s.count, 1, "{job:?}");
    }
    // Jobs that the write limit ended are not reported as out of time.
    let imprecise = report.header.warnings.iter().find(|w| w.code == "few_repeats");
    assert!(imprecise.is_none_or(|w| !w.text.contains("write")), "{imprecise:?}");
}
