//! Launches with brisk's launch prefetch, for comparison: the daemon with that engine alone, on an emulated phone.
//!
//! The daemon is the real one. It learns two cold launches of each app, and is then started before each launch that is
//! to have it and ended after. What it has learned stays in the phone's directory meanwhile. All of these launches are
//! read ahead: the comparison is made by the measurement, so that none goes without.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::launch::{App, Launcher, Resident, Setup, cold};
use crate::phone::{Companion, Phone};
use crate::screen::Screen;
use anyhow::{Context as _, bail};
use brisk_api::{AppLaunches, Client, Launches};
use brisk_core::device::Speeds;
use brisk_core::units::format_bytes;
use brisk_daemon::daemon::Options;

use crate::study::briskd;
use crate::study::on_phone::AtOne;
use crate::study::suite;

/// The launch of an app ends for the daemon within 20 s; then it reads the files.
const LEARN_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Place of the setup with prefetch.
const SETUP: usize = 1;

/// Daemon and configuration, checked before minutes go into a phone.
#[derive(Debug)]
pub(crate) struct Chosen {
    briskd: PathBuf,
    /// The section `[prefetch]`.
    section: toml::Table,
}

impl Chosen {
    /// Finds the daemon, and takes the section of a configuration.
    ///
    /// # Errors
    /// When there is no daemon, or the configuration cannot be used.
    pub(crate) fn check(config: Option<&Path>) -> anyhow::Result<Self> {
        // Checks the whole file.
        let text = config.map(|path| brisk_daemon::config::Config::load(path, false)).transpose()?;
        Self::of(briskd::find(None)?, &text.map(|(_, text)| text).unwrap_or_default())
    }

    /// The daemon `briskd`, and the section of the configuration `text`, which was checked.
    ///
    /// # Errors
    /// When `text` is not TOML.
    pub(crate) fn of(briskd: PathBuf, text: &str) -> anyhow::Result<Self> {
        let mut table: toml::Table = text.parse().context("the configuration is not TOML")?;
        let section = match table.remove(brisk_engine::prefetch::NAME) {
            Some(toml::Value::Table(section)) => section,
            _ => toml::Table::new(),
        };
        Ok(Self { briskd, section })
    }
}

/// The same setup with prefetch.
pub(crate) fn setup(of: &Setup) -> Setup {
    Setup { label: format!("{} with prefetch", of.label), app: of.app.clone() }
}

/// The daemon of the launches with prefetch.
#[derive(Debug)]
pub(crate) struct Prefetching {
    command: Vec<OsString>,
    section: toml::Table,
    learned: PathBuf,
    socket: PathBuf,
    notify: PathBuf,
    companion: Option<Companion>,
}

impl Prefetching {
    /// Prepares the daemon for `phone`, where it has learned nothing.
    ///
    /// # Errors
    /// When its files cannot be written.
    pub(crate) fn new(phone: &Phone, chosen: Chosen) -> anyhow::Result<Self> {
        let disk = phone.device()?.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let flash = suite::speeds(&crate::device::load_preset(&phone.facts()?.preset, &[])?)?;
        let config = phone.state_dir().join("prefetch.toml");
        let section = section(chosen.section, flash);
        let text = configuration(&section, &disk)?;
        std::fs::write(&config, text).with_context(|| format!("cannot write {}", config.display()))?;
        let learned = phone.state_dir().join("prefetch-learned");
        if let Err(error) = std::fs::remove_dir_all(&learned)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(error).with_context(|| format!("cannot remove {}", learned.display()));
        }
        let run_dir = phone.daemon_dir();
        let arguments = [
            ("--config", config.as_path()),
            ("--run-dir", run_dir.as_path()),
            ("--profiles", Path::new("/nonexistent")),
            ("--learned", learned.as_path()),
        ];
        let arguments = arguments.into_iter().flat_map(|(option, path)| [option.into(), path.as_os_str().to_owned()]);
        let command = std::iter::once(chosen.briskd.into_os_string()).chain(arguments).collect();
        let (socket, notify) = (Options::socket(&run_dir), phone.state_dir().join("notify"));
        Ok(Self { command, section, learned, socket, notify, companion: None })
    }

    /// The section `[prefetch]` of the daemon: as it was chosen, with the speeds of the phone's flash, and no launch
    /// without.
    pub(crate) fn section(&self) -> &toml::Table {
        &self.section
    }

    /// Directory of what daemons have learned.
    pub(crate) fn learned_dir(&self) -> &Path {
        &self.learned
    }

    /// Has the daemon learn two cold launches of `app`: the first one after an installation does what none does again.
    /// Says what it has learned.
    ///
    /// # Errors
    /// When the app cannot be launched, or the daemon does not learn it in time.
    pub(crate) fn learn(
        &mut self,
        launcher: &Launcher<'_>,
        app: &App,
        screen: &mut dyn Screen,
        phone: &Phone,
    ) -> anyhow::Result<String> {
        self.watched(launcher, app, screen, phone, |one, _| one.learned > 0)?;
        let is_learned = |one: &AppLaunches, _: &AppLaunches| one.learned > 1 && one.planned_bytes > 0;
        let (_, learned) = self.watched(launcher, app, screen, phone, is_learned)?;
        let exactly = if learned.exact { "exactly" } else { "not exactly: most of it was in memory" };
        let (bytes, files) = (format_bytes(learned.planned_bytes), learned.files);
        Ok(format!("{}: a cold launch uses {bytes} of {files} files (learned {exactly})", app.id))
    }

    /// Has the daemon count what one more cold launch of `app` uses of what is read ahead of it. Says its hit rate.
    ///
    /// # Errors
    /// As [`Self::learn`].
    pub(crate) fn hit_rate(
        &mut self,
        launcher: &Launcher<'_>,
        app: &App,
        screen: &mut dyn Screen,
        phone: &Phone,
    ) -> anyhow::Result<String> {
        let is_counted = |one: &AppLaunches, before: &AppLaunches| one.asked_bytes > before.asked_bytes;
        let (before, now) = self.watched(launcher, app, screen, phone, is_counted)?;
        let (asked, used) = (now.asked_bytes - before.asked_bytes, now.used_bytes.saturating_sub(before.used_bytes));
        let percent = used as f64 * 100.0 / asked as f64;
        let read = format_bytes(now.read_bytes.saturating_sub(before.read_bytes));
        let asked = format_bytes(asked);
        Ok(format!(
            "{}: {asked} were read ahead of one more launch, {read} of them from the device; it used {percent:.0} %",
            app.id
        ))
    }

    /// Ends the daemon, if it runs.
    ///
    /// # Errors
    /// When it does not end.
    pub(crate) fn end(&mut self) -> crate::phone::Result<()> {
        self.companion.take().map_or(Ok(()), Companion::stop)
    }

    /// Launches `app` once, cold, and lets it run until the daemon has counted it, by what was known before and what is
    /// now. Gives both.
    fn watched(
        &mut self,
        launcher: &Launcher<'_>,
        app: &App,
        screen: &mut dyn Screen,
        phone: &Phone,
        is_counted: fn(&AppLaunches, &AppLaunches) -> bool,
    ) -> anyhow::Result<(AppLaunches, AppLaunches)> {
        self.start()?;
        let before = self.launches(&app.id)?.pop().unwrap_or_default();
        cold::evict(launcher.sense, &BTreeSet::new(), true)?;
        let resident = launcher.keep(app, screen)?;
        let counted = self.counted(&resident, |one| is_counted(one, &before))?;
        resident.close()?;
        phone.end_apps()?;
        self.end()?;
        Ok((before, counted))
    }

    /// Waits until the daemon has counted the launch that has just been made.
    fn counted(&self, resident: &Resident, is_counted: impl Fn(&AppLaunches) -> bool) -> anyhow::Result<AppLaunches> {
        let deadline = Instant::now() + LEARN_TIMEOUT;
        loop {
            match self.launches(resident.id())?.into_iter().find(&is_counted) {
                Some(counted) => return Ok(counted),
                None if Instant::now() >= deadline => bail!(
                    "the daemon learned nothing of a launch of {} within {} s: it may not see its control group {}",
                    resident.id(),
                    LEARN_TIMEOUT.as_secs(),
                    resident.group().display()
                ),
                None => std::thread::sleep(POLL_INTERVAL),
            }
        }
    }

    fn start(&mut self) -> crate::phone::Result<()> {
        self.companion = Some(Companion::start(&self.command, self.notify.clone())?);
        Ok(())
    }

    /// What is known of launches of the app `id`: nothing before the first.
    fn launches(&self, id: &str) -> anyhow::Result<Vec<AppLaunches>> {
        let launches: Launches =
            Client::connect(&self.socket)?.call("GetLaunches", &[("app", id.into())], "launches")?;
        Ok(launches.apps)
    }
}

impl AtOne for Prefetching {
    fn before(&mut self, setup: usize) -> crate::phone::Result<()> {
        if setup == SETUP { self.start() } else { Ok(()) }
    }

    fn after(&mut self) -> crate::phone::Result<()> {
        self.end()
    }
}

/// The section of the engine: speeds where none were chosen.
fn section(mut section: toml::Table, flash: Speeds) -> toml::Table {
    section.entry("flash").or_insert(toml::Value::try_from(flash).expect("numbers are TOML"));
    section
}

/// The configuration of the daemon: that engine alone, on that disk.
fn configuration(section: &toml::Table, disk: &str) -> anyhow::Result<String> {
    let mut table = toml::Table::new();
    table.insert(brisk_engine::prefetch::NAME.to_owned(), toml::Value::Table(section.clone()));
    let section = toml::to_string(&table).context("cannot write the configuration")?;
    Ok(format!(
        "[daemon]\ndevices = [\"{disk}\"]\nrecord = {{ max_bytes = 0 }}\n\n[engines]\norder = [\"{}\"]\n\
         trial = false\n\n{section}",
        brisk_engine::prefetch::NAME
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemon_understands_its_configuration() {
        let flash = Speeds { random_read_us: 99.5, read_mib_per_s: 63.0, ..Speeds::of_kind("") };
        let chosen: toml::Table = "streams = 7\nmode = \"paper\"\n".parse().expect("TOML");
        let text = configuration(&section(chosen, flash), "loop7").expect("TOML");
        let config = brisk_daemon::config::Config::parse(&text).expect("valid");
        assert_eq!((config.engines.names(), config.engines.trial), (vec![brisk_engine::prefetch::NAME], false));
        let of = config.prefetch;
        assert_eq!((of.streams, of.mode), (7, brisk_engine::prefetch::Mode::Paper));
        assert_eq!(of.flash, Some(flash));
        let own = Speeds { random_read_us: 5.0, ..flash };
        let chosen = format!("[flash]\n{}", toml::to_string(&own).expect("TOML"));
        let chosen: toml::Table = chosen.parse().expect("TOML");
        let config =
            brisk_daemon::config::Config::parse(&configuration(&section(chosen, flash), "loop7").expect("TOML"));
        assert_eq!(config.expect("valid").prefetch.flash, Some(own));
    }
}
