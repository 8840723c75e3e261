//! Runs cases in the guest and prints what they wrote and how long they took: by this the constants of `workload.rs`
//! are set.
//!
//! `cargo run --release -p brisk-lab --example amounts -- PRESETS APPS SOLUTIONS SEEDS PAGES`, each but the last a
//! list with commas, 0 for all pages; from a source tree.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "an example shows what it found")]

use std::path::Path;
use std::sync::atomic::AtomicBool;

use brisk_lab::cures::guest::{self, Case};
use brisk_lab::cures::solution::{SOLUTIONS, find};
use brisk_lab::cures::workload::App;
use brisk_lab::vm::lab::Lab;
use brisk_lab::vm::sources::Source;
use brisk_lab::vm::{Error, Watch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [presets, apps, solutions, seeds, pages] = words.as_slice() else {
        return Err(Error::BadOption("usage: amounts PRESETS APPS SOLUTIONS SEEDS PAGES".to_owned()).into());
    };
    let source = Source::find(Path::new("."), std::env::var_os("CARGO_TARGET_DIR").map(Into::into))?;
    let stop = AtomicBool::new(false);
    let watch = Watch { stop: &stop, progress: &|done, words| eprintln!("{:3.0} % {words}", 100.0 * done) };
    let lab = Lab::prepare(&source, "6.12-full", watch)?;
    let mut cases = Vec::new();
    for preset in presets.split(',') {
        for app in App::ALL.iter().filter(|app| apps.split(',').any(|name| name == app.name())) {
            for solution in SOLUTIONS {
                if solutions != "all" && !solutions.split(',').any(|name| find(name) == Some(solution)) {
                    continue;
                }
                for seed in seeds.split(',') {
                    let pages = match pages.parse()? {
                        0 => app.shape().pages,
                        pages => pages,
                    };
                    cases.push(Case { app: *app, seed: seed.parse()?, pages, preset, solution });
                }
            }
        }
    }
    let outcomes = guest::run(&lab, &source, &cases, 1, watch)?;
    for (case, outcome) in cases.iter().zip(outcomes) {
        match outcome {
            Err(why) => println!("{}: {why}", case.words()),
            Ok(ran) => {
                let (s, mb) = (|ns: u64| ns as f64 / 1e9, |bytes: u64| bytes as f64 / 1e6);
                println!(
                    "{}: {:.1} s ({:.1} think, {:.1} files, {:.1} databases), {} transactions; {:.1} MB in sequence, \
                     {:.1} at random, {} writes, {:.1} read",
                    case.words(),
                    s(ran.app.run_ns),
                    s(ran.app.think_ns),
                    s(ran.app.file_ns),
                    s(ran.app.database_ns),
                    ran.app.transactions,
                    mb(ran.traffic.sequential_bytes),
                    mb(ran.traffic.random_bytes),
                    ran.traffic.writes,
                    mb(ran.traffic.read_bytes)
                );
            }
        }
    }
    Ok(())
}
