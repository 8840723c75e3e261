//! The memory engine of brisk on a phone: how its daemon is run, and what it has learned before.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::flash::{Device, Kind, Preset, Request};
use crate::memory::day::PastUse;
use crate::memory::{Brisk, Engine, Killer, Policy};
use crate::phone::Phone;
use anyhow::Context as _;
use brisk_api::Client;
use brisk_core::causes::in_one_line;
use brisk_core::device::Speeds;
use brisk_daemon::daemon::Options;
use brisk_engine::iram::learned::Learned;
use brisk_engine::iram::{Config, Mode};
use brisk_engine::kit::predict::{Moment, Use};

use crate::study::briskd;

/// What a device with the engine has lived through.
#[derive(Debug, Clone, Copy)]
pub(super) struct Past<'a> {
    /// Which apps the user used before, in order.
    pub(super) history: &'a [PastUse],
    /// By what time is divided in the replay.
    pub(super) speed: f64,
    /// Whether what engines learn in one step of the measurement is known in the next: those of one device, rather than
    /// runs that begin alike.
    pub(super) goes_on: bool,
}

/// The daemon for `phone` where one of `policies` needs it. It manages no disk, and takes the phone's memory group for
/// the machine.
///
/// # Errors
/// When it is not installed.
pub(super) fn of(policies: &[&'static Policy], phone: &Phone, past: Past<'_>) -> anyhow::Result<Option<Engine>> {
    if policies.iter().all(|policy| !matches!(policy.killer, Killer::Brisk(_))) {
        return Ok(None);
    }
    let program = briskd::find(None)?;
    let group = phone.memory_group().context("the phone has no limit")?;
    let config = phone.state_dir().join("iram.toml");
    let run_dir = phone.daemon_dir();
    let learned = phone.state_dir().join("learned");
    let arguments = [
        ("--config", config.as_path()),
        ("--run-dir", run_dir.as_path()),
        ("--profiles", Path::new("/nonexistent")),
        ("--learned", learned.as_path()),
        ("--memory-group", group.dir()),
    ];
    let arguments = arguments.into_iter().flat_map(|(option, path)| [option.into(), path.as_os_str().to_owned()]);
    let command = std::iter::once(program.into_os_string()).chain(arguments).collect();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock of this machine is before 1970")?;
    let now_unix_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let flash = speeds(&crate::device::load_preset(&phone.facts()?.preset, &[])?)?;
    let mut files: Vec<(Brisk, PathBuf, String)> = Vec::new();
    for brisk in Brisk::ALL {
        files.push((brisk, config.clone(), configuration(brisk, past.speed, flash)));
        if let Some(mode) = mode_of_iram(brisk) {
            let text = serde_json::to_string(&learned_by(mode, past.history, now_unix_ms))?;
            files.push((brisk, learned.join("iram").join("learned.json"), text));
        }
    }
    let forgotten = if past.goes_on { Vec::new() } else { vec![learned.join("mars").join("learned.json")] };
    Ok(Some(Engine { command, files, forgotten, socket: Options::socket(&run_dir), tell_front }))
}

/// Tells the daemon which app is in front: the display of a measurement is none that a shell of this machine watches.
fn tell_front(socket: &Path, group: Option<&str>) -> Result<(), String> {
    let named: Vec<_> = group.map(|group| ("group", group.into())).into_iter().collect();
    let told = Client::connect(socket).and_then(|mut daemon| daemon.answer("SetFront", &named));
    told.map(|_| ()).map_err(|error| in_one_line(&error))
}

fn mode_of_iram(brisk: Brisk) -> Option<Mode> {
    match brisk {
        Brisk::Iram => Some(Mode::Adaptive),
        Brisk::IramPaper => Some(Mode::Paper),
        Brisk::Mars | Brisk::MarsPaper => None,
    }
}

/// Its configuration. Times in which users think are divided as the user's are: the paper's interval between checks,
/// and the time for which an app that was left keeps its memory.
fn configuration(brisk: Brisk, speed: f64, flash: Speeds) -> String {
    let divided = |span_s: u64| (span_s as f64 / speed).round().max(1.0);
    let begin = "[daemon]\ndevices = []\nrecord = { max_bytes = 0 }\n\n[engines]\ntrial = false\n";
    match brisk {
        Brisk::Iram => format!("{begin}order = [\"iram\"]\n"),
        Brisk::IramPaper => {
            let period_s = divided(Config::default().period_s);
            format!("{begin}order = [\"iram\"]\n\n[iram]\nmode = \"paper\"\nperiod_s = {period_s}\n")
        }
        Brisk::Mars | Brisk::MarsPaper => {
            let mode = if brisk == Brisk::Mars { "adaptive" } else { "paper" };
            let brisk_engine::mars::Config { grace_s, retry_after_s, .. } = brisk_engine::mars::Config::default();
            let flash = toml::to_string(&flash).expect("numbers are TOML");
            format!(
                "{begin}order = [\"mars\"]\n\n[mars]\nmode = \"{mode}\"\ngrace_s = {}\nretry_after_s = {}\n\n\
                 [mars.flash]\n{flash}",
                divided(grace_s),
                divided(retry_after_s)
            )
        }
    }
}

/// Speed of the flash, by its model, as `brisk tune` measures it on a device: random reads of 4 KiB, one at a time and
/// as many as it takes; sequential requests of 512 KiB, two at a time.
pub(crate) fn speeds(preset: &Preset) -> anyhow::Result<Speeds> {
    const SPAN_BYTES: u64 = 256 << 20;
    let run = |kind: Kind, len_bytes: u64, requests: u64, depth: u32, stride_bytes: u64| -> anyhow::Result<f64> {
        let mut device = Device::new(preset, SPAN_BYTES)?;
        let depth = depth.min(preset.queue_depth_requests());
        let (mut sent, mut done, mut now_ns) = (0_u64, Vec::new(), 0_u64);
        let mut completed = 0;
        while completed < requests {
            while sent < requests && device.in_flight() < depth {
                let offset_bytes = sent * stride_bytes % SPAN_BYTES;
                device.submit(now_ns, Request { tag: sent, kind, offset_bytes, len_bytes, fua: false })?;
                sent += 1;
            }
            now_ns = device.next_event_ns().context("the model of the flash stands still")?;
            device.advance(now_ns, &mut done);
            completed += done.drain(..).count() as u64;
        }
        Ok(now_ns as f64 / 1e3)
    };
    const LARGE_BYTES: u64 = 512 << 10;
    const REQUESTS: u64 = 128;
    let mib_per_s = |us: f64| (LARGE_BYTES * REQUESTS) as f64 / f64::from(1 << 20) / (us / 1e6);
    // Far from each other, in no order of pages: a prime number of pages apart.
    let random_us = run(Kind::Read, 4096, REQUESTS, 1, 40_961 * 4096)?;
    let together_us = run(Kind::Read, 4096, REQUESTS, 32, 40_961 * 4096)?;
    Ok(Speeds {
        parallel_reads: random_us / together_us,
        random_read_us: random_us / REQUESTS as f64,
        read_mib_per_s: mib_per_s(run(Kind::Read, LARGE_BYTES, REQUESTS, 2, LARGE_BYTES)?),
        write_mib_per_s: mib_per_s(run(Kind::Write, LARGE_BYTES, REQUESTS, 2, LARGE_BYTES)?),
    })
}

/// What an engine in that mode has learned of these uses. How much memory apps need, it learns in the run.
fn learned_by(mode: Mode, history: &[PastUse], now_unix_ms: u64) -> Learned {
    let mut learned = Learned::new(mode);
    for past in history {
        let at = Moment { at_unix_ms: now_unix_ms.saturating_sub(past.before_ms), local_minute_of_week: None };
        learned.predictor.observe(&Use { app: &past.app, at });
    }
    learned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemon_understands_its_configuration() {
        let parse = |brisk, speed| {
            let text = configuration(brisk, speed, Speeds { random_read_us: 99.5, ..Speeds::of_kind("") });
            brisk_daemon::config::Config::parse(&text).expect("valid")
        };
        for (brisk, mode, period_s) in [(Brisk::Iram, Mode::Adaptive, 20), (Brisk::IramPaper, Mode::Paper, 2)] {
            let config = parse(brisk, 10.0);
            assert_eq!((config.engines.names(), config.engines.trial), (vec!["iram"], false));
            assert_eq!((config.iram.mode, config.iram.period_s), (mode, period_s));
        }
        assert_eq!(parse(Brisk::IramPaper, 1000.0).iram.period_s, 1);
        let config = parse(Brisk::MarsPaper, 10.0);
        assert_eq!((config.engines.names(), config.mars.mode), (vec!["mars"], brisk_engine::mars::Mode::Paper));
        assert_eq!((config.mars.grace_s, config.mars.speeds().random_read_us), (3, 99.5));
        assert_eq!(parse(Brisk::Mars, 1.0).mars.grace_s, brisk_engine::mars::Config::default().grace_s);
    }

    #[test]
    fn the_speeds_of_a_flash_are_those_of_its_source() {
        let of = |name: &str| speeds(&Preset::builtin(name).expect("a preset")).expect("speeds");
        let nexus4 = of("nexus4-emmc");
        // MARS, tables 1 and 2: 64,619 and 16,386 KB/s.
        assert!((55.0..75.0).contains(&nexus4.read_mib_per_s), "{nexus4:?}");
        assert!((12.0..20.0).contains(&nexus4.write_mib_per_s), "{nexus4:?}");
        let s5 = of("galaxy-s5-emmc");
        assert!(s5.random_read_us < nexus4.random_read_us && s5.read_mib_per_s > nexus4.read_mib_per_s, "{s5:?}");
    }

    #[test]
    fn what_is_assumed_of_a_kind_is_the_middle_of_its_presets() {
        for (kind, mark) in [("emmc", "emmc"), ("sd", "sd-"), ("ufs", "ufs")] {
            let of_kind = Preset::builtin_names().into_iter().filter(|name| name.contains(mark));
            let all: Vec<Speeds> =
                of_kind.map(|name| speeds(&Preset::builtin(name).expect("a preset")).expect("speeds")).collect();
            let assumed = Speeds::of_kind(kind);
            let values: [fn(&Speeds) -> f64; 4] =
                [|of| of.random_read_us, |of| of.read_mib_per_s, |of| of.write_mib_per_s, |of| of.parallel_reads];
            for value in values {
                let middle = brisk_core::stats::median(&all.iter().map(value).collect::<Vec<_>>()).expect("presets");
                assert!((0.9..1.1).contains(&(value(&assumed) / middle)), "{kind}: {middle} of {all:?}");
            }
        }
    }

    #[test]
    fn what_the_user_did_before_is_known() {
        let past = |nth: u64, app: &str| PastUse { app: app.to_owned(), before_ms: (100 - nth) * 60_000 };
        let history: Vec<_> =
            (0..90).map(|nth| past(nth, ["mail", "maps", "mail", "chat"][nth as usize % 4])).collect();
        for mode in [Mode::Adaptive, Mode::Paper] {
            let learned = learned_by(mode, &history, 1_795_312_800_000);
            let again: Learned = serde_json::from_str(&serde_json::to_string(&learned).expect("JSON")).expect("read");
            let at = Moment { at_unix_ms: 1_795_312_800_000, local_minute_of_week: None };
            let next = again.predictor.next(at, 9);
            // The last use was of maps, after which mail has always come.
            assert_eq!(next.first().map(|chance| chance.app), Some("mail"), "{mode:?} {next:?}");
        }
    }
}
