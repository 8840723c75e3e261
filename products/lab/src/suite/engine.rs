//! The memory engine of brisk on a phone: how its daemon is run, and what it has learned before.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use brisk_core::causes::in_one_line;
use brisk_daemon::control::Client;
use brisk_daemon::daemon::Options;
use brisk_iram::learned::Learned;
use brisk_iram::predict::{Moment, Use};
use brisk_iram::{Config, Mode};
use brisk_memory::day::PastUse;
use brisk_memory::{Engine, Killer, Policy};
use brisk_phone::Phone;

use crate::briskd;

/// What a device with the engine has lived through.
#[derive(Debug, Clone, Copy)]
pub(super) struct Past<'a> {
    /// Which apps the user used before, in order.
    pub(super) history: &'a [PastUse],
    /// By what time is divided in the replay.
    pub(super) speed: f64,
}

/// The daemon for `phone` where one of `policies` needs it. It manages no disk, and takes the phone's memory group for the machine.
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
    let mut files: Vec<(Mode, PathBuf, String)> = Vec::new();
    for mode in [Mode::Adaptive, Mode::Paper] {
        files.push((mode, config.clone(), configuration(mode, past.speed)));
        let text = serde_json::to_string(&learned_by(mode, past.history, now_unix_ms))?;
        files.push((mode, learned.join("iram").join("learned.json"), text));
    }
    Ok(Some(Engine { command, files, socket: Options::socket(&run_dir), tell_front }))
}

/// Tells the daemon which app is in front: the display of a measurement is none that a shell of this machine watches.
fn tell_front(socket: &Path, group: Option<&str>) -> Result<(), String> {
    let named: Vec<_> = group.map(|group| ("group", group.into())).into_iter().collect();
    let told = Client::connect(socket).and_then(|mut daemon| daemon.answer("SetFront", &named));
    told.map(|_| ()).map_err(|error| in_one_line(&error))
}

/// Its configuration. The paper's interval between checks is one of real time, and so divided like the user's.
fn configuration(mode: Mode, speed: f64) -> String {
    let mut text = "[daemon]\ndevices = []\n\n[engines]\norder = [\"iram\"]\n".to_owned();
    if mode == Mode::Paper {
        let period_s = (Config::default().period_s as f64 / speed).round().max(1.0);
        text.push_str(&format!("\n[iram]\nmode = \"paper\"\nperiod_s = {period_s}\n"));
    }
    text
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
        for (mode, period_s) in [(Mode::Adaptive, 20), (Mode::Paper, 2)] {
            let config = brisk_daemon::config::Config::parse(&configuration(mode, 10.0)).expect("valid");
            assert_eq!(config.engines.order, ["iram"]);
            assert_eq!((config.iram.mode, config.iram.period_s), (mode, period_s));
        }
        let fast = brisk_daemon::config::Config::parse(&configuration(Mode::Paper, 1000.0)).expect("valid");
        assert_eq!(fast.iram.period_s, 1);
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
