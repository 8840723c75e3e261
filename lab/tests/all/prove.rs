//! `brisk prove` from outside: what is refused and in which words, and readers and writers as processes of their own.
//! What launches and daemon do is tested where they are.

use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use brisk_bench::study::Common;
use brisk_bench::study::jobs::{Options, Turns, run};
use brisk_bench::{Control, Error, Result, Sense};
use brisk_lab::results::{Direction, Pattern};

#[test]
fn each_invalid_input_is_refused_with_a_reason_and_code_2_before_anything_is_made() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    };
    brisk_requires::executable(&dir.path().join("briskd"), "#!/bin/sh\necho briskd 1.2.3\n");
    let briskd = dir.path().join("briskd").to_str().expect("UTF-8").to_owned();
    let text = file("text", "no program");
    let json = file("config.json", "{\"daemon\": {\"devices\": []}}");
    let broken = file("broken.toml", "[daemon\n");
    let unknown = file("unknown.toml", "[daemon]\n\ndevice = []\n");
    let disk = file("disk.toml", "[daemon]\ndevices = [\"no-such-disk\"]\n");
    file("profiles/smartio/a-model.toml", "x = [");
    let profiles = dir.path().join("profiles");
    let profiles = profiles.to_str().expect("UTF-8");
    let cases: &[(&[&str], &str)] = &[
        (&["--briskd", "/no/such/briskd"], "/no/such/briskd is no program"),
        (&["--briskd", &text], "cannot run"),
        (&["--briskd", "/bin/true"], "/bin/true is not briskd"),
        (&["--briskd", &briskd, "--config", &json], "the configuration is JSON, briskd reads TOML"),
        (&["--briskd", &briskd, "--config", &broken], "broken.toml:1"),
        (&["--briskd", &briskd, "--config", &unknown], "unknown.toml:3"),
        (&["--briskd", &briskd, "--config", &disk], "this machine has no disk 'no-such-disk'"),
        (&["--briskd", &briskd, "--profiles", profiles], "a-model.toml"),
        (&["--briskd", &briskd, "--profiles", &text], "there is no directory"),
        (&["--briskd", &briskd, "--scheduler", "fastest"], "this kernel has no I/O scheduler 'fastest'"),
        (&["--briskd", &briskd, "--config", "/no/such/config"], "cannot read /no/such/config"),
        (&["--briskd", &briskd, "--profiles", "/no/such/folder"], "there is no directory /no/such/folder"),
        (&["--briskd", &briskd, "--apps", "solitaire"], "solitaire"),
        (&["--engines", "prefetch,fast"], "there is no engine 'fast'; there are prefetch, smartio"),
        (&["--engines", "smartio,smartio"], "--engines names smartio twice"),
        (&["--runs", "0"], "1..=1000"),
        (&["--writer-rate", "fast"], "'fast' is not a size"),
    ];
    for (args, words) in cases {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-lab"));
        command.arg("prove").args(*args).env("BRISK_RUN_DIR", dir.path().join("run"));
        let output = command.env("BRISK_CACHE_DIR", dir.path().join("cache")).output().expect("brisk runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        // Who lacks a right is told so before the scheduler is checked.
        assert!(
            said.contains(words) || (args.contains(&"--scheduler") && said.contains("needs CAP_SYS_ADMIN")),
            "{args:?}: {said}"
        );
        assert!(!dir.path().join("run").exists() && !dir.path().join("cache").exists(), "{args:?}");
    }
}

/// Turns in which nothing is at work: what they were asked for, and who was put where.
#[derive(Default)]
struct Watched {
    turns: Vec<bool>,
    placed: Vec<(Direction, u32)>,
    /// Energies are handed out by turn.
    counts: bool,
}

impl Turns for Watched {
    fn enter(&mut self, with: bool) -> Result<()> {
        self.turns.push(with);
        Ok(())
    }

    fn place(&mut self, direction: Direction, pid: u32) -> Result<()> {
        // It is there, and waits: nothing was read or written yet.
        assert!(std::path::Path::new(&format!("/proc/{pid}/io")).exists());
        self.placed.push((direction, pid));
        Ok(())
    }

    fn begin(&mut self) -> Result<()> {
        assert!(!std::mem::replace(&mut self.counts, true), "it begins once in each turn");
        Ok(())
    }

    fn leave(&mut self, cpu_ns: u64, requests: u64) -> Result<f64> {
        assert!(std::mem::take(&mut self.counts) && cpu_ns > 0 && requests >= 4 * 64, "{cpu_ns} {requests}");
        Ok(if self.turns.last() == Some(&true) { 3.0 } else { 2.0 })
    }
}

fn options(dir: &std::path::Path, program: &[&str]) -> Options {
    Options {
        common: Common { path: dir.to_owned(), destroy_data: false, block_bytes: 4096, runs: 2, engine: None, seed: 1 },
        streams: 2,
        length: Duration::from_millis(1),
        program: program.iter().map(Into::into).collect(),
    }
}

#[test]
fn readers_and_writers_are_processes_that_take_turns_with_and_without() {
    let dir = tempfile::tempdir().expect("a folder");
    let stop = AtomicBool::new(false);
    let control = Control { stop: &stop, progress: &|done, _| assert!((0.0..=1.0).contains(&done), "{done}") };
    let mut watched = Watched::default();
    let streams = options(dir.path(), &[env!("CARGO_BIN_EXE_brisk-lab"), "lab", "stream-process"]);
    let outcome = run(&Sense::default(), &streams, &mut watched, &control).expect("measured");
    // Two repetitions of two patterns, the second in reverse.
    assert_eq!(watched.turns, [false, true, false, true, true, false, true, false]);
    let mut pids: Vec<u32> = watched.placed.iter().map(|(_, pid)| *pid).collect();
    pids.sort_unstable();
    pids.dedup();
    assert_eq!((watched.placed.len(), pids.len()), (16, 16));
    assert!(!pids.contains(&std::process::id()));
    assert_eq!(
        outcome.jobs.iter().map(|jobs| jobs.pattern).collect::<Vec<_>>(),
        [Pattern::Sequential, Pattern::Random]
    );
    for jobs in &outcome.jobs {
        assert_eq!((jobs.energy_uj.ratio.median, jobs.energy_uj.ratio.count), (1.5, 2));
        assert!(jobs.stream_bytes >= 64 * 4096 && jobs.read_us.with.median > 0.0);
    }
    let jobs_bytes: u64 = outcome.jobs.iter().map(|jobs| jobs.stream_bytes * 2 * 4).sum();
    assert!(outcome.header.written_bytes > jobs_bytes);
    // No process stays, and no file.
    assert!(pids.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()));
    assert_eq!(std::fs::read_dir(dir.path()).expect("listed").count(), 0);
}

#[test]
fn a_stream_process_that_fails_ends_the_study_with_its_reason() {
    let dir = tempfile::tempdir().expect("a folder");
    let stop = AtomicBool::new(false);
    let control = Control { stop: &stop, progress: &|_, _| () };
    let wrong = options(dir.path(), &["sh", "-c", "echo '{\"failed\":\"no hands\"}'"]);
    let error = run(&Sense::default(), &wrong, &mut Watched::default(), &control).expect_err("no stream process");
    assert!(matches!(&error, Error::StreamProcess(reason) if reason == "no hands"), "{error}");
}
