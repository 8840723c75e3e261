//! Arguments of `brisk phone`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use brisk_command::json::Json;
use brisk_command::output::Outputs;
use brisk_command::{duration, size};

use crate::phone::App;
use crate::phone::architecture::Architecture;
use crate::phone::measure::Brisk;
use crate::phone::memory_map::KERNEL_MIB;
use crate::phone::plan::{Surroundings, Swap, Without};
use crate::study::day::arguments::Replayed;
use crate::study::launch::arguments::Watching;
use crate::vm::device::{Device, DeviceSpec};

/// Memory that a phone takes without apps, about: its kernel, services and display server.
const SYSTEM_MIB: u64 = 110;

/// Limits of --after-start.
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

const AFTER_HELP: &str = "\
Examples:
  brisk phone launch                                # four apps, without brisk and with its defaults
  brisk phone launch evince --arch arm64 --preset nexus4-emmc --brisk off,prefetch+smartio+smartstorage
  brisk phone launch --seeds 5 --json=launches.json # five starts of each, side by side
  brisk phone launch --writers --warm-up 30         # while apps are installed, after trials have found something
  brisk phone launch --warm                         # with the app's files in memory
  brisk phone launch --after-start --preset nexus4-emmc --runs 3    # a minute after the phone was started
  brisk phone latency mousepad --without sync,journal --json=without.json
  brisk phone latency evince --monkey 500 --brisk default --json=with.json
  brisk phone returns --memory 256M --swap zram --brisk off,iram+mars
  brisk phone day usage.csv.gz --user u2 --from 48h --span 24h --switches 60
  brisk phone run --memory 400M --swap zram -- brisk doctor
  brisk phone run --brisk off -- brisk-lab launch --as-phone --cold --virtual evince --json

A whole emulated device in virtual time: Debian 12 with systemd, brisk's packages from `make deb`, and one flash. It \
works from a source tree of brisk: the first time a kernel is fetched and the phone installs itself (some minutes). No \
root is needed, and the load of this machine changes no figure: the same seed gives the same document. One processor \
of 10^9 instructions a second stands for a phone's; with --shift 1 it has half. Exit codes: 0 measured, 1 a command \
failed inside, 2 not possible, 130 stopped by Ctrl-C.";

/// Arguments of `brisk phone`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Source tree of brisk [default: the one that this directory is in]
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) source: Option<PathBuf>,
    /// The subcommand.
    #[command(subcommand)]
    pub(crate) what: What,
}

/// The subcommands.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum What {
    /// Launch apps with nothing in memory, without brisk and with it
    Launch(LaunchArgs),
    /// Measure answers of an app to inputs, without brisk or with it
    Latency(LatencyArgs),
    /// Switch between open apps with little memory, without brisk and with it
    Returns(ReturnsArgs),
    /// Replay a day of use from a trace with little memory, without brisk and with it
    Day(DayArgs),
    /// Run any command in a phone, and print what it prints
    Run(RunArgs),
    /// Make the image, if it is missing, and show what is in it
    Image(ImageArgs),
    /// Show the apps that a phone can have
    Apps {
        /// As a document.
        #[command(flatten)]
        json: Json,
    },
    /// Show the flash that a phone can have
    Presets {
        /// As a document.
        #[command(flatten)]
        json: Json,
    },
    /// Write in the background as one that installs apps does (started by phones)
    #[command(hide = true)]
    Write {
        /// What is written, as JSON
        spec: String,
    },
    /// Switch between apps where this machine is a phone (started by `returns` and `day`)
    #[command(hide = true)]
    Inside(InsideArgs),
}

/// What an image depends on.
#[derive(Debug, clap::Args)]
pub(crate) struct ImageChoice {
    /// Architecture of the phone
    #[arg(long, value_enum, value_name = "NAME", default_value = "amd64")]
    pub(crate) arch: Architecture,
    /// Series of its kernel
    #[arg(long, value_name = "SERIES", default_value = "6.12")]
    pub(crate) kernel: String,
    /// Its apps: names from `brisk phone apps`
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "evince,mousepad,galculator,xterm")]
    pub(crate) apps: Vec<String>,
    /// Folder with brisk's packages [default: target/dist, where make deb puts them]
    #[arg(long, value_name = "DIR")]
    pub(crate) packages: Option<PathBuf>,
}

/// The conditions of all starts.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "The phone")]
pub(crate) struct Phone {
    #[command(flatten)]
    pub(crate) image: ImageChoice,
    /// Its flash: a name from `brisk phone presets`, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "galaxy-s5-emmc")]
    preset: String,
    /// Changes a parameter of the flash: read_us=200
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Its memory, of 192 MiB to 2 GiB
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = memory)]
    pub(crate) memory: u64,
    /// Where it swaps to
    #[arg(long, value_enum, value_name = "WHERE", default_value = "none")]
    swap: Swap,
    /// Size of each swap area [default: half of the memory]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    swap_size: Option<u64>,
    /// Costs of storage that it is to be without, for what-ifs
    #[arg(long, value_enum, value_name = "COSTS", value_delimiter = ',')]
    pub(crate) without: Vec<Without>,
    /// Slowness of its processor: an instruction takes 2^N nanoseconds
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=4))]
    pub(crate) shift: u8,
    /// Time that one start may take on this machine
    #[arg(long, value_name = "TIME", default_value = "2h", value_parser = duration::parse)]
    pub(crate) time_limit: Duration,
}

/// Arguments of `brisk phone run`.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) phone: Phone,
    /// What runs of brisk: off, default, or engines such as prefetch+smartio
    #[arg(long, value_name = "WHAT", default_value = "default", value_parser = Brisk::parse)]
    pub(crate) brisk: Brisk,
    /// Seed of all that differs between two starts
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) json: Json,
    /// Program and arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Starts of phones that are compared.
#[derive(Debug, clap::Args)]
pub(crate) struct Compared {
    /// What runs of brisk, each in starts of its own: off, default, or engines such as prefetch+smartio, or mars-paper
    /// for an engine in its mode paper
    #[arg(long, value_name = "WHAT", value_delimiter = ',', default_value = "off,default", value_parser = Brisk::parse)]
    pub(crate) brisk: Vec<Brisk>,
    /// Starts of each, with different seeds
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) seeds: u16,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Machines at the same time; their number does not change the figures [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) jobs: Option<u16>,
    /// Where the results go.
    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

/// Arguments of `brisk phone launch`.
#[derive(Debug, clap::Args)]
pub(crate) struct LaunchArgs {
    /// Apps to launch [default: all of --apps]
    #[arg(value_name = "APP")]
    pub(crate) launched: Vec<String>,
    #[command(flatten)]
    pub(crate) phone: Phone,
    #[command(flatten)]
    pub(crate) compared: Compared,
    /// Launch with the app's files in memory, after a launch that does not count
    #[arg(long)]
    pub(crate) warm: bool,
    /// Launch so long after a start [default: 60s]: before each launch all caches are dropped and brisk's service
    /// starts anew, after it has seen one launch of each app (or --warm-up)
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "60s",
        value_parser = duration::between(SECOND, HOUR), conflicts_with = "warm")]
    pub(crate) after_start: Option<Duration>,
    /// Launch also while a service writes in the background, as one that installs apps and syncs accounts does: so much
    /// a second [default: 6MB]
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true, default_missing_value = "6MB",
        value_parser = size)]
    pub(crate) writers: Option<u64>,
    /// Launches of each app in a start
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) runs: u16,
    /// Launches of each app before those that count, in starts with brisk: what it learns, and what its trials find by
    /// then
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1_000))]
    pub(crate) warm_up: u16,
}

/// Arguments of `brisk phone latency`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("brisk", |arg| arg.default_value("off").value_delimiter(None)))]
pub(crate) struct LatencyArgs {
    /// The app; its inputs are those of the script with its name (see `brisk latency --list`)
    #[arg(value_name = "APP")]
    pub(crate) app: String,
    /// Send so many pseudo-random events instead of a script, and measure how long they take (the paper: 500)
    #[arg(long, value_name = "EVENTS", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) monkey: Option<u64>,
    /// Repetitions in a start, each in a freshly launched app
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) runs: u16,
    /// Drop all caches before each repetition, so that the app's files are read again
    #[arg(long)]
    pub(crate) cold: bool,
    #[command(flatten)]
    pub(crate) phone: Phone,
    #[command(flatten)]
    pub(crate) compared: Compared,
}

/// What surrounds apps that stay open.
#[derive(Debug, clap::Args)]
pub(crate) struct Around {
    /// Have a service write in the background all the time, as one that installs apps and syncs accounts does: so much
    /// a second [default: 6MB]
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true, default_missing_value = "6MB",
        value_parser = size)]
    pub(crate) writers: Option<u64>,
    /// Whether the kernel ages pages in generations (MGLRU), as Debian's kernels do
    #[arg(long, value_name = "WHETHER", default_value_t = true, action = clap::ArgAction::Set)]
    pub(crate) mglru: bool,
}

/// Arguments of `brisk phone returns`.
#[derive(Debug, clap::Args)]
pub(crate) struct ReturnsArgs {
    #[command(flatten)]
    pub(crate) phone: Phone,
    #[command(flatten)]
    pub(crate) compared: Compared,
    #[command(flatten)]
    pub(crate) around: Around,
    /// Returns to each app in a start
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) rounds: u16,
}

/// Arguments of `brisk phone day`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("memory", |arg| arg.default_value("600M")))]
#[command(mut_arg("swap", |arg| arg.default_value("zram")))]
pub(crate) struct DayArgs {
    /// What is replayed.
    #[command(flatten)]
    pub(crate) replayed: Replayed,
    #[command(flatten)]
    pub(crate) phone: Phone,
    #[command(flatten)]
    pub(crate) compared: Compared,
    #[command(flatten)]
    pub(crate) around: Around,
}

/// Arguments of `brisk phone inside`.
#[derive(Debug, clap::Args)]
pub(crate) struct InsideArgs {
    /// Apps that are open
    #[arg(required = true)]
    pub(crate) apps: Vec<String>,
    /// Returns to each
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) rounds: u16,
    /// Seed of their order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Visits of a day instead, as JSON
    #[arg(long, value_name = "VISITS", conflicts_with_all = ["rounds", "seed"])]
    pub(crate) day: Option<String>,
    /// Brisk may end apps
    #[arg(long)]
    pub(crate) ends: bool,
    /// Have brisk-session tell which one is in front
    #[arg(long)]
    pub(crate) teller: bool,
    /// How apps are watched.
    #[command(flatten)]
    pub(crate) watching: Watching,
}

/// Arguments of `brisk phone image`.
#[derive(Debug, clap::Args)]
pub(crate) struct ImageArgs {
    #[command(flatten)]
    pub(crate) image: ImageChoice,
    #[command(flatten)]
    pub(crate) json: Json,
}

impl Phone {
    /// The flash; `devices` has files of presets.
    pub(crate) fn flash(&self, devices: &Path) -> anyhow::Result<Device> {
        let mut set = BTreeMap::new();
        for change in &self.set {
            let Some((name, value)) = change.split_once('=') else {
                anyhow::bail!("--set {change}: write it as KEY=VALUE, such as read_us=200");
            };
            set.insert(name.to_owned(), toml::Value::String(value.to_owned()));
        }
        // A file is found by its name in its folder.
        let file = Path::new(&self.preset);
        let (folder, preset) = match (file.parent(), file.file_stem()) {
            (Some(folder), Some(name)) if file.is_file() => (folder, name.to_string_lossy().into_owned()),
            _ => (devices, self.preset.clone()),
        };
        let spec = DeviceSpec { preset, size: "3GiB".to_owned(), depth_requests: None, queues: 1, set };
        spec.resolve(folder).map_err(anyhow::Error::msg)
    }

    pub(crate) fn memory_mib(&self) -> u64 {
        self.memory >> 20
    }

    /// Size of each of its swap areas.
    pub(crate) fn swap_bytes(&self) -> u64 {
        if self.swap == Swap::None { 0 } else { self.surroundings(None).swap_mib << 20 }
    }

    /// Where it swaps to, in words.
    pub(crate) fn swap_words(&self) -> String {
        let each = format!("{} MiB", self.surroundings(None).swap_mib);
        match self.swap {
            Swap::None => "nowhere".to_owned(),
            Swap::Zram => format!("zram of {each}"),
            Swap::Flash => format!("a file of {each} on its flash"),
            Swap::ZramFlash => format!("zram of {each}, then a file of {each} on its flash"),
        }
    }

    /// Refuses apps that cannot be open together, before an image is made for them.
    ///
    /// # Errors
    /// When they need more than the phone's memory and swap.
    pub(crate) fn check_room(&self, apps: &[&App]) -> anyhow::Result<()> {
        let needed_mib = SYSTEM_MIB + apps.iter().map(|app| app.memory_mib).sum::<u64>();
        let swap_mib = self.surroundings(None).swap_mib * self.swap.areas().len() as u64;
        let room_mib = self.memory_mib() + swap_mib;
        anyhow::ensure!(
            needed_mib <= room_mib,
            "{} and the system need about {needed_mib} MiB, and the phone has {room_mib} MiB of memory and swap: give \
             it more --memory, or --swap zram",
            apps.iter().map(|app| app.name.as_str()).collect::<Vec<_>>().join(", ")
        );
        Ok(())
    }

    pub(crate) fn surroundings(&self, writers_bytes_per_s: Option<u64>) -> Surroundings {
        let swap_mib = (self.swap_size.unwrap_or(self.memory / 2) >> 20).max(1);
        Surroundings { swap: self.swap, swap_mib, writers_bytes_per_s, mglru: true }
    }
}

/// Reads the size of a phone's memory.
fn memory(text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    if (192 << 20..=KERNEL_MIB << 20).contains(&bytes) {
        Ok(bytes)
    } else {
        Err("a phone has 192 MiB to 2 GiB".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apps_without_room_are_refused_by_name() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            phone: Phone,
        }
        let said = |words: &str| {
            let line = <Line as clap::Parser>::parse_from(std::iter::once("phone").chain(words.split(' ')));
            let apps = crate::phone::Catalogue::builtin().choose(&line.phone.image.apps).expect("apps");
            line.phone.check_room(&apps).err().map(|why| why.to_string())
        };
        assert_eq!(said("--memory 1G"), None);
        assert_eq!(said("--memory 192M --swap zram-flash --swap-size 96M"), None);
        assert_eq!(said("--memory 256M --apps gimp"), None);
        let why = said("--memory 256M --apps evince,mousepad,gimp,dino").expect("too much");
        assert!(why.contains("gimp") && why.contains("has 256 MiB") && why.contains("--swap zram"), "{why}");
        assert_eq!(said("--memory 256M --swap zram --apps evince,mousepad,gimp,dino"), None);
    }

    #[test]
    fn memory_has_bounds() {
        assert_eq!(memory("600M"), Ok(600 << 20));
        assert!(memory("3G").is_err() && memory("64M").is_err() && memory("much").is_err());
    }
}
