//! Watches a command and prints its events and their cost: `watch COMMAND [ARGUMENT...]`, as root.
//!
//! With `--files` it lists the requests to files too.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use brisk_probes::{Connection, Kind, Options, Trace};

#[path = "../tests/watched/scratch.rs"]
mod scratch;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).peekable();
    let files = arguments.next_if(|first| first == "--files").is_some();
    let program = arguments.next().ok_or("usage: watch [--files] COMMAND [ARGUMENT...]")?;
    let group = scratch::ScratchGroup::below(&scratch::mounted()?)?;
    let begin = std::time::Instant::now();
    let trace = Trace::start(Path::new(group.path()), &Options { count_cost: true, ..Options::default() })?;
    let start_up = begin.elapsed();
    let status = group.command(program)?.args(arguments).status()?;
    let activity = trace.activity();
    let begin = std::time::Instant::now();
    let recording = trace.stop();
    let cost = recording.cost;
    println!("{status}; start took {start_up:?}, stop {:?}", begin.elapsed());
    println!("{activity:?}");
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for event in &recording.events {
        *counts.entry(name(&event.kind)).or_default() += 1;
        if let (true, Kind::Submitted(request)) = (files, &event.kind) {
            let path = request.file.and_then(|(inode, _)| recording.files.get(&inode));
            let path = path.map_or_else(|| "-".into(), |path| String::from_utf8_lossy(path));
            let offset = request.file.map_or(0, |(_, offset)| offset);
            println!("{:?} {} bytes at {} of {path}", request.operation, request.bytes, offset);
        }
    }
    println!("{counts:?}; lost {}, mended {}, missing {:?}", recording.lost, recording.mended, recording.missing);
    let share = |ns: u64| 100.0 * ns as f64 / cost.wall_ns.max(1) as f64;
    let events = recording.events.len().max(1) as u64;
    println!(
        "{} events in {:.2} s; reader {:.3} % of a processor, {} ns an event",
        recording.events.len(),
        cost.wall_ns as f64 / 1e9,
        share(cost.reader_ns),
        cost.reader_ns / events,
    );
    if let (Some(ns), Some(runs)) = (cost.programs_ns, cost.program_runs) {
        let (of_runs, of_events) = (ns / runs.max(1), ns / events);
        println!("programs {:.3} %: {runs} runs of {of_runs} ns, {of_events} ns an event", share(ns));
    }
    Ok(())
}

fn name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Born { .. } => "born",
        Kind::Exec { .. } => "exec",
        Kind::Died => "died",
        Kind::Runnable => "runnable",
        Kind::Running => "running",
        Kind::Waiting(_) => "waiting",
        Kind::ReclaimBegan => "reclaim began",
        Kind::ReclaimEnded => "reclaim ended",
        Kind::Network(Connection::Opening { .. }) => "opening",
        Kind::Network(Connection::Opened { .. }) => "opened",
        Kind::Network(Connection::Sent { .. }) => "sent",
        Kind::Network(Connection::Received { .. }) => "received",
        Kind::Submitted(_) => "submitted",
        Kind::Completed { .. } => "completed",
    }
}
