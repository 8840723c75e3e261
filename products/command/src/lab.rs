//! The subcommands of the laboratory, which the program `brisk-lab` runs: what each takes.

pub mod devices;
pub mod front_watch;
pub mod heap_study;
pub mod kernel;
pub mod latency;
pub mod launch;
pub mod memory_study;
pub mod on_phone;
pub mod phone;
pub mod predict;
pub mod prove;
pub mod screen;
pub mod suite;
pub mod swap;

/// A subcommand of the laboratory.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Launch an app and measure it from outside: window, settled screen, work done, and a split of the time by cause
    Launch(launch::Args),
    /// Measure how long an app takes to respond to keys, clicks and scrolling
    Latency(latency::Args),
    /// Measure real apps on an emulated phone: the suite, and the most that faster storage could gain
    Suite(suite::Args),
    /// Score predictors of the next app on a usage trace of your own
    Predict(predict::Args),
    /// Prove what brisk changes: the same launches with the daemon and without, interleaved
    Prove(prove::Args),
    /// Make, list, change and remove emulated flash devices
    Lab(devices::Args),
    /// Compare I/O schedulers of Linux on emulated flash in a virtual machine, with figures that repeat anywhere
    Kernel(kernel::Args),
    /// Tell the daemon which app has the active window of an X11 display, as long as that is there
    FrontWatch(front_watch::Args),
    /// Set up swap on flash; show swap traces, and replay them with another allocation of swap slots
    Swap(swap::Args),
}

impl Command {
    /// The word by which it is called.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Launch(_) => "launch",
            Self::Latency(_) => "latency",
            Self::Suite(_) => "suite",
            Self::Predict(_) => "predict",
            Self::Prove(_) => "prove",
            Self::Lab(_) => "lab",
            Self::Kernel(_) => "kernel",
            Self::FrontWatch(_) => "front-watch",
            Self::Swap(_) => "swap",
        }
    }
}

/// Names of a phone's variants, as results have them.
pub const VARIANTS: [&str; 6] =
    ["baseline", "cache_in_ram", "databases_in_ram", "all_in_ram", "sync_off", "no_journal"];

/// Reads the name of a variant, with dashes or underscores.
fn variant(text: &str) -> Result<String, String> {
    let wanted = text.replace('-', "_");
    let found = VARIANTS.contains(&wanted.as_str());
    found.then_some(wanted).ok_or_else(|| format!("there is no variant {text}: there are {}", VARIANTS.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_named_with_dashes_or_underscores() {
        assert_eq!(variant("sync-off").as_deref(), Ok("sync_off"));
        assert_eq!(variant("all_in_ram").as_deref(), Ok("all_in_ram"));
        assert!(variant("fast").expect_err("none").contains("no_journal"));
    }
}
