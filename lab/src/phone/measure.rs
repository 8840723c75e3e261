//! A measurement in a phone: an image, conditions, commands; what they printed comes back.

use std::path::Path;
use std::time::Duration;

use brisk_core::device::Speeds;
use brisk_daemon::profiles::MeasuredSpeeds;
use serde::Serialize;

use crate::phone::image::{Images, Made};
use crate::phone::machine::Machine;
use crate::phone::memory_map::{FLASH_MIB, PAGES_PER_MIB};
use crate::phone::plan::{self, Surroundings, Swap, Task, Without};
use crate::phone::port::Port;
use crate::preset::kind_of_preset;
use crate::vm::Watch;
use crate::vm::device::Device;
use crate::vm::error::{Error, Result};

/// Memory with which the phone's kernel takes no pages back that are in use.
const AMPLE_MIB: u64 = 768;
/// Units of brisk that act or measure by themselves.
const UNITS: [&str; 6] = [
    "briskd.service",
    "brisk-job.socket",
    "brisk-tune.service",
    "brisk-tune.timer",
    "brisk-metrics.service",
    "brisk-metrics.timer",
];

/// What runs of brisk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Brisk {
    /// Nothing: its files are there, its units are masked.
    Off,
    /// As the package comes.
    Default,
    /// Its service with these engines; those with `-paper` at the end of the name in their mode `paper`.
    Engines(Vec<String>),
}

/// The end of an engine's name where it works as its paper has it.
const PAPER: &str = "-paper";

impl Brisk {
    /// Parses `off`, `default`, or engines: `prefetch+smartio`, `mars-paper`.
    ///
    /// # Errors
    /// When an engine is none, in words for clap.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let engines = ["smartio", "smartstorage", "prefetch", "iram", "mars"];
        match text {
            "off" => Ok(Self::Off),
            "default" => Ok(Self::Default),
            list => {
                let named: Vec<String> = list.split('+').map(str::to_owned).collect();
                match named.iter().find(|name| !engines.contains(&plain(name))) {
                    Some(name) => Err(format!(
                        "'{name}' is no engine: off, default, or some of {}, each with {PAPER} for its mode paper",
                        engines.join("+")
                    )),
                    None => Ok(Self::Engines(named)),
                }
            }
        }
    }

    /// Its name where it is a policy among others.
    #[must_use]
    pub fn policy(&self) -> String {
        match self {
            Self::Off => "no brisk".to_owned(),
            Self::Default => "brisk".to_owned(),
            Self::Engines(engines) => format!("brisk ({})", engines.join(", ")),
        }
    }

    /// The same in a sentence, where brisk-session runs with it.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Off => "brisk does not run".to_owned(),
            Self::Default => "brisk and brisk-session run as their packages come".to_owned(),
            Self::Engines(engines) => {
                format!("brisk runs with {} named, and brisk-session", brisk_report::format::list(engines))
            }
        }
    }

    /// Whether it may end apps.
    #[must_use]
    pub fn ends_apps(&self) -> bool {
        matches!(self, Self::Engines(engines) if engines.iter().any(|name| plain(name) == "iram"))
    }

    /// Its name as it is written on the command line.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Off => "off".to_owned(),
            Self::Default => "default".to_owned(),
            Self::Engines(engines) => engines.join("+"),
        }
    }
}

/// The engine of a name.
fn plain(name: &str) -> &str {
    name.strip_suffix(PAPER).unwrap_or(name)
}

/// The configuration of engines in their mode `paper`.
fn paper_modes(engines: &[String]) -> String {
    let papers = engines.iter().filter_map(|name| name.strip_suffix(PAPER));
    papers.map(|engine| format!("[{engine}]\nmode = \"paper\"\n")).collect()
}

/// What brisk assumes of a device like that of the preset, by the bus that such a device is on: the module that stands
/// for it is on none, and counts as eMMC without this.
fn speeds(preset: &str) -> Result<String> {
    let speeds = Speeds::of_kind(kind_of_preset(preset));
    if speeds == Speeds::of_kind("") {
        return Ok(String::new());
    }
    let measured = MeasuredSpeeds { model: preset.to_owned(), measured_at: "2026-01-01T00:00:00Z".to_owned(), speeds };
    toml::to_string(&measured).map_err(|error| Error::BadOption(error.to_string()))
}

/// The conditions of a start.
#[derive(Debug, Clone)]
pub struct Conditions {
    /// Times of the flash; its capacity is that of the image.
    pub flash: Device,
    pub memory_mib: u64,
    pub around: Surroundings,
    pub brisk: Brisk,
    pub seed: u64,
    pub shift: u8,
    /// Costs of storage that it does not have.
    pub without: Vec<Without>,
}

/// Starts a phone and has it run `tasks`. Its console is kept in `log`.
///
/// # Errors
/// When the machine fails, the plan does not come to its end, or the user cancels.
pub fn run(
    images: &Images<'_>,
    made: &Made,
    conditions: &Conditions,
    tasks: &[Task],
    log: &Path,
    limit: Duration,
    watch: Watch<'_>,
) -> Result<Port> {
    let work =
        tempfile::tempdir_in(images.source.phones()).map_err(Error::io("make a folder in", images.source.phones()))?;
    let initramfs = work.path().join("initramfs");
    let functions = images.script("functions.sh")?;
    let plan = plan::measurement(&functions, &conditions.around, conditions.seed, tasks);
    let off =
        if conditions.brisk == Brisk::Off { UNITS.map(|unit| unit.to_owned() + "\n").concat() } else { String::new() };
    let (engines, modes) = match &conditions.brisk {
        Brisk::Engines(engines) => {
            let named: Vec<String> = engines.iter().map(|name| format!("\"{}\"", plain(name))).collect();
            (named.join(", "), paper_modes(engines))
        }
        _ => Default::default(),
    };
    let texts = [
        ("phone/plan", plan),
        ("phone/off", off),
        ("phone/engines", engines),
        ("phone/modes.toml", modes),
        ("phone/speeds.toml", speeds(&conditions.flash.preset)?),
    ];
    let mut texts = texts.map(|(name, text)| (name.to_owned(), text.into_bytes())).to_vec();
    for without in &conditions.without {
        texts.push(match without {
            Without::Sync => ("phone/nosync.so".to_owned(), images.without_sync(work.path())?),
            Without::Journal => ("phone/no-journal".to_owned(), Vec::new()),
        });
    }
    let devices = flash(&conditions.flash, images.architecture.flash_at_mib()) + "\n";
    images.pack(&initramfs, &made.busybox, &devices, &images.script("start")?, conditions.seed, texts)?;
    let steady = work.path().join("steady.so");
    images.steady(&steady)?;
    let machine = Machine {
        architecture: images.architecture,
        kernel: &images.kernel.image(),
        initramfs: &initramfs,
        memory: &made.memory,
        packages_mib: 0,
        keeps: false,
        memory_mib: conditions.memory_mib,
        shift: conditions.shift,
        steady: Some(&steady),
        is_short: conditions.around.swap != Swap::None || conditions.memory_mib < AMPLE_MIB,
    };
    let mut port = Port::default();
    machine.boot(log, limit, watch, |line| {
        if let Some(step) = port.take(line) {
            (watch.progress)(0.0, &step);
        }
    })?;
    match port.trouble() {
        None => Ok(port),
        Some(why) => Err(Error::Refused { why, log: log.to_owned() }),
    }
}

/// Parameters of a flash in the machine's own memory.
fn flash(device: &Device, at_mib: u64) -> String {
    let pages = ("pages".to_owned(), (FLASH_MIB * PAGES_PER_MIB).to_string());
    let fields = device.fields.iter().filter(|(name, _)| name != "pages").chain([&pages]);
    let fields: Vec<String> = fields.map(|(name, value)| format!("{name}={value}")).collect();
    let (depth, queues) = (device.depth_requests, device.queues);
    format!("name=flash0,memory_at_mib={at_mib},depth={depth},queues={queues},{}", fields.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phone::Catalogue;
    use crate::phone::architecture::Architecture;
    use crate::phone::image::brisk_packages;
    use crate::phone::plan::Swap;
    use crate::vm::device::DeviceSpec;
    use crate::vm::sources::{Kernel, Source};

    #[test]
    fn a_phone_knows_of_its_flash_what_the_bus_would_tell() {
        let of = |preset: &str| MeasuredSpeeds::parse(&speeds(preset).expect("a text")).ok().map(|found| found.speeds);
        for emmc in ["galaxy-s5-emmc", "nexus4-emmc", "emmc-5.1", "pcm"] {
            assert_eq!(of(emmc), None, "assumed anyway");
        }
        assert_eq!(of("ufs-3.1"), Some(Speeds::of_kind("ufs")));
        assert_eq!(of("sd-pny"), Some(Speeds::of_kind("sd")));
    }

    #[test]
    fn what_runs_of_brisk_is_parsed_as_it_is_named() {
        for text in ["off", "default", "prefetch+smartio", "mars-paper"] {
            assert_eq!(Brisk::parse(text).map(|brisk| brisk.name()).as_deref(), Ok(text));
        }
        let engines = ["smartio", "mars-paper"].map(str::to_owned);
        assert_eq!(paper_modes(&engines), "[mars]\nmode = \"paper\"\n");
        assert!(Brisk::Engines(vec!["iram-paper".to_owned()]).ends_apps());
        assert!(Brisk::parse("prefetch+fast").expect_err("no engine").contains("'fast'"));
    }

    /// The image of `brisk phone`, where it was made; making it takes minutes.
    fn made(architecture: Architecture) -> Option<(Source, Kernel, Made)> {
        brisk_requires::available(&[brisk_requires::Capability::Program(architecture.program().0)])?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map(std::path::PathBuf::from);
        let source = Source::find(Path::new(env!("CARGO_MANIFEST_DIR")), target).expect("this tree");
        let found = source.kernel_that_is_there(&architecture.kernel_series("6.12")).and_then(|kernel| {
            let packages = brisk_packages(&source.dist(), architecture).ok()?;
            let apps = ["evince", "mousepad", "galculator", "xterm"].map(str::to_owned);
            let apps = Catalogue::builtin().choose(&apps).expect("apps of the catalogue");
            let images = Images { source: &source, architecture, kernel: &kernel };
            let made = images.find(&apps, &packages).expect("readable")?;
            Some((kernel, made))
        });
        if found.is_none() {
            let name = architecture.name();
            let reason = format!("no image of a phone for {name}: brisk phone image --arch {name} makes it");
            brisk_requires::skip(brisk_requires::Capability::PhoneImage, reason);
        }
        found.map(|(kernel, made)| (source, kernel, made))
    }

    /// Two starts at the same time, with what they said on the console.
    fn twice(architecture: Architecture) -> Option<[(Port, String); 2]> {
        let (source, kernel, made) = made(architecture)?;
        let dir = tempfile::tempdir().expect("a folder");
        let start = |name: &str| {
            let spec = DeviceSpec {
                preset: "galaxy-s5-emmc".to_owned(),
                size: "3GiB".to_owned(),
                depth_requests: None,
                queues: 1,
                set: std::collections::BTreeMap::new(),
            };
            let conditions = Conditions {
                flash: spec.resolve(Path::new("/nowhere")).expect("valid"),
                memory_mib: 600,
                around: Surroundings { swap: Swap::ZramFlash, swap_mib: 64, writers_bytes_per_s: None, mglru: true },
                brisk: Brisk::Default,
                seed: 7,
                shift: 0,
                without: Vec::new(),
            };
            let command = ["brisk", "status", "--json"].map(str::to_owned).to_vec();
            let tasks = [Task { name: "status".to_owned(), command }];
            let images = Images { source: &source, architecture, kernel: &kernel };
            let stop = std::sync::atomic::AtomicBool::new(false);
            let watch = Watch { stop: &stop, progress: &|_, _| {} };
            let log = dir.path().join(name);
            let port = run(&images, &made, &conditions, &tasks, &log, Duration::from_secs(3_600), watch).expect("runs");
            (port, std::fs::read_to_string(log).expect("a console"))
        };
        let (one, other) = std::thread::scope(|scope| {
            let other = scope.spawn(|| start("other"));
            (start("one"), other.join().expect("no panic"))
        });
        Some([one, other])
    }

    fn is_whole_and_repeats(architecture: Architecture) {
        let Some([(port, console), (_, again)]) = twice(architecture) else { return };
        assert_eq!(console, again);
        let status: serde_json::Value = serde_json::from_str(&port.outputs[0].text).expect("JSON");
        assert!(status.to_string().contains("flash0"), "the daemon manages the flash: {status}");
        assert_eq!(port.facts["kernel_complaints"].as_u64(), Some(0), "{console}");
        assert!(port.facts["flash_lateness_mean_ns"].as_u64() < Some(2_000), "{:?}", port.facts);
    }

    #[test]
    fn two_starts_of_a_phone_say_the_same_to_the_last_byte() {
        is_whole_and_repeats(Architecture::Amd64);
    }

    #[test]
    fn two_starts_of_a_phone_with_arm_say_the_same_to_the_last_byte() {
        is_whole_and_repeats(Architecture::Arm64);
    }

    #[test]
    fn the_flash_has_the_images_capacity_and_the_presets_times() {
        let spec = DeviceSpec {
            preset: "galaxy-s5-emmc".to_owned(),
            size: "256MiB".to_owned(),
            depth_requests: None,
            queues: 1,
            set: std::collections::BTreeMap::new(),
        };
        let text = flash(&spec.resolve(Path::new("/nowhere")).expect("valid"), 4096);
        assert!(text.starts_with("name=flash0,memory_at_mib=4096,depth=4,queues=1,"), "{text}");
        assert!(text.contains(",read_ns=124000,") && text.ends_with(",pages=786432"), "{text}");
        assert_eq!(text.matches("pages=786432").count(), 1);
    }
}
