//! Plans: what a phone does from its start to its end, as a shell script for `guest/functions.sh`.

use std::fmt::Write as _;

use brisk_core::random::Random;
use clap::ValueEnum;
use serde::Serialize;

use crate::phone::WriterSpec;

/// Time for what a start leaves to be done.
const SETTLE_S: u32 = 10;
/// The plan begins up to this much later, by the seed.
const OFFSET_MS: u64 = 2_000;

/// Where a phone swaps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Swap {
    /// Nowhere
    None,
    /// Compressed memory
    Zram,
    /// A file on its flash
    Flash,
    /// Compressed memory, and a file for what does not fit
    ZramFlash,
}

impl Swap {
    /// Its areas, with their priorities.
    pub(super) fn areas(self) -> &'static [(&'static str, u32)] {
        match self {
            Self::None => &[],
            Self::Zram => &[("zram", 10)],
            Self::Flash => &[("flash", 1)],
            Self::ZramFlash => &[("zram", 10), ("flash", 1)],
        }
    }
}

/// A cost of storage that a phone can be without (user-perceived latency paper, figures 2 and 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Without {
    /// fsync and related calls of apps do nothing
    Sync,
    /// Its ext4 has no journal
    Journal,
}

/// A command that runs inside, and its name in the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub name: String,
    pub command: Vec<String>,
}

/// What is there while a phone runs its commands.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Surroundings {
    pub swap: Swap,
    /// Size of each swap area.
    pub swap_mib: u64,
    /// What a service writes in the background ([`WriterSpec`]).
    pub writers_bytes_per_s: Option<u64>,
    /// Whether the kernel ages pages in generations.
    pub mglru: bool,
}

/// The plan of a measurement; `functions` is `guest/functions.sh`.
#[must_use]
pub fn measurement(functions: &str, around: &Surroundings, seed: u64, tasks: &[Task]) -> String {
    let mut plan = format!("{functions}\n# ---- plan\nquiet\nstep 'starting'\nsettle {SETTLE_S}\n");
    for (kind, priority) in around.swap.areas() {
        let _ = writeln!(plan, "swap_up {kind} {} {priority}", around.swap_mib);
    }
    if !around.mglru {
        plan += "mglru_off\n";
    }
    if let Some(bytes_per_s) = around.writers_bytes_per_s {
        let spec = WriterSpec { target_bytes_per_s: bytes_per_s as f64, seed, ..WriterSpec::default() };
        let spec = serde_json::to_string(&spec).expect("numbers are JSON");
        let _ = writeln!(plan, "writers_up {}", quoted(&spec));
    }
    let offset_ms = Random::stream(seed, 0).below(OFFSET_MS);
    let _ = writeln!(plan, "sleep {}.{:03}", offset_ms / 1_000, offset_ms % 1_000);
    for task in tasks {
        let words = std::iter::once(&task.name).chain(&task.command).map(|word| quoted(word));
        let _ = writeln!(plan, "inside {}", words.collect::<Vec<_>>().join(" "));
    }
    plan + "finish\n"
}

/// The plan that installs brisk's packages, of which `/run/phone` has the files, and shuts down in order. Before that
/// it makes the cache of the icon theme hicolor, as on a device its trigger does (in the phone it was unpacked before
/// that trigger was known): without it each launch reads the theme's 400 directories.
#[must_use]
pub fn installation(functions: &str) -> String {
    format!(
        "{functions}\n# ---- plan\nquiet\nstep 'installing brisk'\nsettle 1\n\
         update-icon-caches /usr/share/icons/hicolor || fail 'no cache of icons'\n\
         inside install sh -c 'dpkg --install /run/phone/*.deb'\n\
         [ $code = 0 ] || fail 'the packages of brisk cannot be installed'\n\
         step 'shutting down'\njournalctl --flush --rotate >/dev/null 2>&1\nemit '{{\"end\":true}}'\n\
         systemctl poweroff\n"
    )
}

/// A word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Words as a command line for the shell.
#[must_use]
pub fn command_line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// `items` in the order of a seed; the first seed leaves them as they are.
#[must_use]
pub fn in_order<T: Clone>(items: &[T], seed: u64) -> Vec<T> {
    let mut items = items.to_vec();
    if seed > 1 {
        let mut random = Random::stream(seed, 1);
        for last in (1..items.len()).rev() {
            items.swap(last, random.place(last + 1));
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks() -> Vec<Task> {
        vec![Task { name: "it's".to_owned(), command: vec!["brisk-lab".to_owned(), "launch".to_owned()] }]
    }

    #[test]
    fn a_plan_makes_swap_runs_its_commands_and_ends() {
        let mut around = Surroundings { swap: Swap::ZramFlash, swap_mib: 300, writers_bytes_per_s: None, mglru: true };
        let plan = measurement("F", &around, 1, &tasks());
        let lines: Vec<&str> = plan.lines().collect();
        assert_eq!(lines[..4], ["F", "# ---- plan", "quiet", "step 'starting'"]);
        assert_eq!(lines[5..7], ["swap_up zram 300 10", "swap_up flash 300 1"]);
        assert_eq!(lines[8..], [r"inside 'it'\''s' 'brisk-lab' 'launch'", "finish"]);
        (around.writers_bytes_per_s, around.mglru) = (Some(4_000_000), false);
        let beside = measurement("F", &around, 9, &tasks());
        assert!(beside.contains("\nmglru_off\n"));
        let spec = beside.lines().find_map(|line| line.strip_prefix("writers_up '")?.strip_suffix('\''));
        let spec: WriterSpec = serde_json::from_str(spec.expect("writers")).expect("what the writer reads");
        assert_eq!((spec.target_bytes_per_s, spec.seed), (4e6, 9));
    }

    #[test]
    fn a_seed_decides_offset_and_order() {
        let around = Surroundings { swap: Swap::None, swap_mib: 0, writers_bytes_per_s: None, mglru: true };
        let plan = |seed| measurement("", &around, seed, &tasks());
        assert_eq!(plan(3), plan(3));
        assert_ne!(plan(3), plan(4));
        let items: Vec<u32> = (0..8).collect();
        assert_eq!((in_order(&items, 1), in_order(&items, 5)), (items.clone(), in_order(&items, 5)));
        assert_ne!(in_order(&items, 5), in_order(&items, 6));
        let mut sorted = in_order(&items, 5);
        sorted.sort_unstable();
        assert_eq!(sorted, items);
    }
}
