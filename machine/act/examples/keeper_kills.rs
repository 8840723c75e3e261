//! Kills brisk, its keeper, or both, at random moments, and counts what stays frozen: `keeper_kills [ROUNDS [SEED]]`.
//! Needs root.
//!
//! Exit codes: 0 nothing stayed frozen, 1 something did, 2 not possible here.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "an example shows what it found")]

#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../tests/all/kills/mod.rs"]
mod kills;

use std::process::{Command, ExitCode};
use std::time::Instant;

const CONTROL: &str = "control";
const KEEP: &str = "keep";

fn main() -> ExitCode {
    let program = std::env::current_exe().expect("this program");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some(KEEP) => return brisk_act::keep(),
        Some(CONTROL) => {
            kills::control(vec![program.into(), KEEP.into()]);
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let number = |place: usize, default: u64| arguments.get(place).map_or(Ok(default), |text| text.parse());
    let (Ok(rounds), Ok(seed)) = (number(0, 1000), number(1, 1)) else {
        eprintln!("keeper_kills: give a number of rounds and a seed, such as 'keeper_kills 1000 1'");
        return ExitCode::from(2);
    };
    let (Ok(rounds), hierarchies) = (u32::try_from(rounds), kills::hierarchies()) else {
        eprintln!("keeper_kills: {rounds} rounds are too many");
        return ExitCode::from(2);
    };
    if hierarchies.is_empty() || !rustix::process::geteuid().is_root() {
        eprintln!("keeper_kills: needs root and a freezer of control groups (mount -t cgroup2 none /sys/fs/cgroup)");
        return ExitCode::from(2);
    }
    let began = Instant::now();
    let controller = || {
        let mut command = Command::new(&program);
        command.arg(CONTROL);
        command
    };
    let tally = kills::run(rounds, seed, &controller, &hierarchies);
    println!(
        "{rounds} rounds with seed {seed} on {} freezers in {:.0} s: {} processes killed; brisk {} times, the keeper \
         and later brisk {}, both at once {} ({} of these thawed by the journal alone); {} groups stayed frozen, {} \
         processes did not answer",
        hierarchies.len(),
        began.elapsed().as_secs_f64(),
        tally.kills,
        tally.of_brisk,
        tally.of_keeper,
        tally.of_both,
        tally.by_journal,
        tally.left_frozen,
        tally.silent,
    );
    if (tally.left_frozen, tally.silent) == (0, 0) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
