//! What the preload library adds to a call: `cargo run --release -p brisk-sync --example overhead`.
//!
//! The program runs itself with and without the library, in turns, and times fdatasync of a pipe, which the kernel
//! refuses at once, so that little else is measured. Medians of 15 runs of a million calls each: without the library,
//! with it and no rules, with rules that do not name the file.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::process::Command;
use std::time::Instant;

use brisk_sync::library::{RULES_VARIABLE, install};

const CALLS: u32 = 1_000_000;
const RUNS: usize = 15;

fn measured() {
    let (reader, _writer) = std::io::pipe().expect("a pipe");
    let begun = Instant::now();
    for _ in 0..CALLS {
        let _ = rustix::fs::fdatasync(&reader);
    }
    let raw = begun.elapsed();
    let file = std::fs::File::from(std::os::fd::OwnedFd::from(reader));
    let begun = Instant::now();
    for _ in 0..CALLS {
        // The C library's function, which the preloaded one replaces.
        let _ = std::hint::black_box(file.sync_data());
    }
    let through = begun.elapsed();
    println!("{} {}", raw.as_nanos() / u128::from(CALLS), through.as_nanos() / u128::from(CALLS));
}

fn median(values: &mut [i64]) -> i64 {
    values.sort_unstable();
    values[values.len() / 2]
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("measured") {
        return measured();
    }
    let dir = tempfile::tempdir().expect("a directory");
    let library = install(dir.path()).expect("the library");
    let program = std::env::current_exe().expect("a path");
    let run = |rules: Option<&str>| -> i64 {
        let mut command = Command::new(&program);
        command.arg("measured").env_remove(RULES_VARIABLE).env_remove("LD_PRELOAD");
        if let Some(rules) = rules {
            command.env("LD_PRELOAD", &library).env(RULES_VARIABLE, rules);
        }
        let output = command.output().expect("it runs");
        let text = String::from_utf8(output.stdout).expect("text");
        text.split_whitespace().nth(1).and_then(|ns| ns.parse().ok()).expect("a number")
    };
    let ways = [None, Some("brisk-sync 1\n"), Some("brisk-sync 1\nC /nowhere/ann/cache/\n")];
    let mut found = [const { Vec::new() }; 3];
    for _ in 0..RUNS {
        for (way, values) in ways.iter().zip(&mut found) {
            values.push(run(*way));
        }
    }
    let [without, no_rules, rules] = found.map(|mut values| median(&mut values));
    println!(
        "without {without} ns, no rules {no_rules} ns (+{}), rules for other files {rules} ns (+{})",
        no_rules - without,
        rules - without
    );
}
