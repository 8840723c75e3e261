//! `brisk lab phone`: emulated phones with real apps.

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use brisk_phone::{Catalogue, Error, Images, Inside, NewPhone, Phones, Variant, become_app, serve_writer};
use clap::Subcommand;
use indicatif::ProgressBar;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::{key_value, phone_view as view, print, print_json, size};

/// Where images are kept when nothing else is said.
const CACHE_DIR: &str = "/var/cache/brisk";

const AFTER_HELP: &str = "\
Examples:
  brisk lab phone up                          # the first time builds the image: some minutes, 4 GB
  brisk lab phone enter -- ls Documents
  DISPLAY=:99 brisk lab phone enter -- evince Documents/report.pdf
  brisk lab phone down --all

A phone is a small Debian with real apps on an emulated flash device. Its image is kept in the cache; each phone gets a copy,
in memory, which goes with it.";

/// Arguments of `brisk lab phone`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, arg_required_else_help = true)]
pub(super) struct Args {
    /// Where images of phones are kept [default: $BRISK_CACHE_DIR, or /var/cache/brisk]
    #[arg(long, value_name = "DIR", global = true)]
    cache_dir: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the apps that a phone can have
    Apps {
        /// Print one JSON document for programs
        #[arg(long)]
        json: bool,
    },
    /// Build the image of a phone now, with Debian's packages of today
    Build {
        /// Only these apps, separated by commas
        #[arg(long, value_name = "NAMES", value_delimiter = ',')]
        apps: Vec<String>,
        /// Print one JSON document for programs
        #[arg(long)]
        json: bool,
    },
    /// Bring up a phone and print its root directory; the first time builds the image
    Up(Up),
    /// Show the phones
    List {
        /// Print one JSON document for programs
        #[arg(long)]
        json: bool,
    },
    /// Run a command in a phone, as its user
    Enter {
        /// The phone [default: the only one]
        id: Option<String>,
        /// Program and arguments [default: a shell]
        #[arg(last = true)]
        command: Vec<OsString>,
    },
    /// Put what apps store into memory, or undo that, to see what storage costs them
    Variant {
        /// The phone [default: the only one]
        #[arg(long, value_name = "ID")]
        id: Option<String>,
        /// baseline, cache_in_ram, databases_in_ram, all_in_ram, sync_off or no_journal; ends the apps that run
        #[arg(value_parser = variant)]
        variant: Variant,
    },
    /// Take phones down
    Down(Down),
    /// Clear up after phones whose maker was killed or whose device is gone
    Repair,
    /// Write in the background (started by `suite`)
    #[command(hide = true)]
    Write {
        /// The phone's root directory
        root: PathBuf,
    },
    /// Become a program in a root that is being built (started by `build`)
    #[command(hide = true)]
    Inside {
        /// As the phone's user instead of root
        #[arg(long)]
        user: bool,
        /// Show a directory of this machine elsewhere in the root
        #[arg(long, value_name = "FROM:TO", value_parser = bind)]
        bind: Vec<(PathBuf, PathBuf)>,
        /// Display for the program
        #[arg(long)]
        display: Option<String>,
        /// The root directory
        root: PathBuf,
        /// Program and arguments
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
}

#[derive(Debug, clap::Args)]
struct Up {
    /// Flash to emulate: a name from `brisk lab presets`, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "galaxy-s5-emmc")]
    preset: String,
    /// Size of the flash; the data is kept in memory as it is written
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = size)]
    size: u64,
    /// Only these apps, separated by commas (a smaller image)
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "image")]
    apps: Vec<String>,
    /// An ext4 image of a root directory of one's own, instead of Debian
    #[arg(long, value_name = "FILE")]
    image: Option<PathBuf>,
    /// Change a parameter of the preset
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
    /// I/O scheduler [default: mq-deadline where the kernel has it, as on phones]
    #[arg(long, value_name = "NAME")]
    scheduler: Option<String>,
    /// Print one JSON document for programs instead of the path
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Down {
    /// The phones
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    ids: Vec<String>,
    /// All phones, and what is left of those whose maker was killed
    #[arg(long)]
    all: bool,
    /// Also when somebody outside uses its files
    #[arg(long)]
    force: bool,
}

/// Runs it, in the lab whose state is in `run_dir`.
pub(super) fn run(args: &Args, run_dir: &Path) -> anyhow::Result<ExitCode> {
    let images = images(args.cache_dir.as_ref())?;
    let phones = Phones::new(run_dir);
    match &args.command {
        Command::Apps { json } => {
            let catalogue = Catalogue::builtin();
            if *json { print_json(&catalogue.apps)? } else { print(&view::apps(catalogue)) }
        }
        Command::Build { apps, json } => {
            let work = Work::begin()?;
            let built = work.follow(|stop, progress| images.build(apps, stop, progress));
            let image = match built {
                Err(Error::Stopped) => return Ok(work.stopped()),
                built => built?,
            };
            if *json { print_json(&image)? } else { print(&view::built(&image)) }
        }
        Command::Up(up) => return make(&phones, &images, up, run_dir),
        Command::List { json } => {
            let listed = phones.list()?;
            if *json { print_json(&listed)? } else { print(&view::list(&listed)) }
        }
        Command::Enter { id, command } => {
            let phone = phones.find(id.as_deref())?;
            let display = std::env::var("DISPLAY").ok();
            let shell = || vec![OsString::from("/bin/sh")];
            let command = if command.is_empty() { shell() } else { command.clone() };
            let never: Infallible = become_app(&phone.command(command, display.as_deref()))?;
            match never {}
        }
        Command::Variant { id, variant } => {
            let mut phone = phones.find(id.as_deref())?;
            Work::begin()?.follow(|_, progress| phone.set_variant(*variant, progress))?;
        }
        Command::Down(down) => return take_down(&phones, down),
        Command::Repair => phones.repair()?.iter().for_each(|sentence| eprintln!("repaired: {sentence}")),
        Command::Write { root } => serve_writer(root)?,
        Command::Inside { user, bind, display, root, command } => {
            let inside = Inside {
                root: root.clone(),
                as_user: *user,
                binds: bind.clone(),
                display: display.clone(),
                command: command.clone(),
            };
            let never: Infallible = inside.run()?;
            match never {}
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn make(phones: &Phones, images: &Images, up: &Up, run_dir: &Path) -> anyhow::Result<ExitCode> {
    let mut new = NewPhone {
        preset: up.preset.clone(),
        set: up.set.clone(),
        size_bytes: up.size,
        scheduler: up.scheduler.clone(),
        image: up.image.clone().unwrap_or_default(),
        apps: Vec::new(),
        server: super::brisk_lab(run_dir, &["serve"])?,
        take_down: super::brisk_lab(run_dir, &["down", "--force"])?,
        keep: true,
    };
    // A wrong preset is told now and not after minutes of building.
    phones.check_flash(&new)?;
    let work = Work::begin()?;
    let made = work.follow(|stop, progress| {
        if up.image.is_none() {
            let image = images.get(&up.apps, stop, progress)?;
            (new.image, new.apps) = (image.path, image.about.apps);
        }
        phones.up(&new, stop, progress)
    });
    let (phone, repaired) = match made {
        Err(Error::Stopped) => return Ok(work.stopped()),
        made => made?,
    };
    for sentence in &repaired {
        eprintln!("repaired: {sentence}");
    }
    let listed =
        phones.list()?.into_iter().find(|listed| listed.id == phone.id()).context("the phone went away at once")?;
    if up.json {
        print_json(&listed)?;
    } else {
        println!("{}", listed.root.display());
        eprint!("{}", view::made(&listed));
    }
    Ok(ExitCode::SUCCESS)
}

/// Goes through all phones even when one cannot be taken down.
fn take_down(phones: &Phones, down: &Down) -> anyhow::Result<ExitCode> {
    let mut ids = down.ids.clone();
    if down.all {
        phones.repair()?.iter().for_each(|sentence| eprintln!("repaired: {sentence}"));
        ids = phones.list()?.into_iter().map(|listed| listed.id.to_string()).collect();
    }
    let mut exit = ExitCode::SUCCESS;
    for id in &ids {
        match phones.down(id, down.force) {
            Ok(sentences) => sentences.iter().for_each(|sentence| eprintln!("{sentence}")),
            Err(error) => {
                eprintln!("brisk: {:#}", anyhow::Error::from(error));
                exit = ExitCode::from(2);
            }
        }
    }
    Ok(exit)
}

/// The images in `cache_dir`, or where they are kept when nothing is said.
pub(crate) fn images(cache_dir: Option<&PathBuf>) -> anyhow::Result<Images> {
    let dir = cache_dir.cloned().or_else(|| env_dir("BRISK_CACHE_DIR")).unwrap_or_else(|| CACHE_DIR.into());
    Ok(Images::new(&dir, program("inside")?))
}

fn env_dir(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|dir| !dir.is_empty()).map(PathBuf::from)
}

/// The command line of this program's `lab phone WORD`.
pub(crate) fn program(word: &str) -> anyhow::Result<Vec<OsString>> {
    let program = std::env::current_exe().context("cannot find the program file of brisk")?;
    Ok([program.into_os_string(), "lab".into(), "phone".into(), word.into()].into())
}

fn bind(text: &str) -> Result<(PathBuf, PathBuf), String> {
    match text.split_once(':') {
        Some((from, to)) if from.starts_with('/') && to.starts_with('/') => Ok((from.into(), to.into())),
        _ => Err("write two absolute paths, such as /etc/apt:/etc/apt".to_owned()),
    }
}

fn variant(text: &str) -> Result<Variant, String> {
    let known = || Variant::ALL.map(Variant::name).join(", ");
    Variant::ALL.into_iter().find(|variant| variant.name() == text).ok_or_else(|| format!("choose one of {}", known()))
}

/// Something that takes a while: it shows what it does, and Ctrl-C stops it in order.
struct Work {
    stop: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Work {
    /// Takes over the signals.
    fn begin() -> anyhow::Result<Self> {
        let work = Self { stop: Arc::default(), signal: Arc::default() };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let watch = || {
                let number = usize::try_from(signal).unwrap_or_default();
                // The second signal ends at once; what is left then, the next command removes.
                signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&work.stop))?;
                signal_hook::flag::register_usize(signal, Arc::clone(&work.signal), number)?;
                signal_hook::flag::register(signal, Arc::clone(&work.stop))
            };
            watch().context("cannot watch for signals")?;
        }
        Ok(work)
    }

    fn follow<T>(&self, work: impl FnOnce(&AtomicBool, &mut dyn FnMut(&str)) -> T) -> T {
        let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let spinner = if terminal { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        spinner.enable_steady_tick(Duration::from_millis(100));
        let done = work(&self.stop, &mut |what: &str| spinner.set_message(what.to_owned()));
        spinner.finish_and_clear();
        done
    }

    /// Says that it was stopped, and gives the exit code after the signal that did it.
    fn stopped(&self) -> ExitCode {
        eprintln!("brisk: stopped; nothing is left behind");
        ExitCode::from(128 + u8::try_from(self.signal.load(Ordering::Relaxed)).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_named_as_in_results() {
        for one in Variant::ALL {
            assert_eq!(variant(one.name()), Ok(one));
        }
        assert!(variant("fast").is_err_and(|said| said.contains("no_journal")));
    }

    #[test]
    fn a_bind_names_two_absolute_paths() {
        assert_eq!(bind("/a:/b/c"), Ok(("/a".into(), "/b/c".into())));
        for wrong in ["", "/a", "/a:", ":/b", "a:b", "/a:b"] {
            assert!(bind(wrong).is_err(), "{wrong}");
        }
    }
}
