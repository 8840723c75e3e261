//! The memory engine of brisk on a phone: how its daemon is run.

use std::path::Path;

use anyhow::Context as _;
use brisk_core::causes::in_one_line;
use brisk_daemon::control::Client;
use brisk_daemon::daemon::Options;
use brisk_memory::{Engine, Killer, Policy};
use brisk_phone::Phone;

use crate::briskd;

/// The daemon for `phone` where one of `policies` needs it. It manages no disk, and takes the phone's memory group for the machine.
///
/// # Errors
/// When it is not installed, or its configuration cannot be written.
pub(super) fn of(policies: &[&'static Policy], phone: &Phone) -> anyhow::Result<Option<Engine>> {
    if policies.iter().all(|policy| policy.killer != Killer::Brisk) {
        return Ok(None);
    }
    let program = briskd::find(None)?;
    let group = phone.memory_group().context("the phone has no limit")?;
    let config = phone.state_dir().join("iram.toml");
    std::fs::write(&config, CONFIG).with_context(|| format!("cannot write {}", config.display()))?;
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
    Ok(Some(Engine { command, socket: Options::socket(&run_dir), tell_front }))
}

/// Tells the daemon which app is in front: the display of a measurement is none that a shell of this machine watches.
fn tell_front(socket: &Path, group: Option<&str>) -> Result<(), String> {
    let named: Vec<_> = group.map(|group| ("group", group.into())).into_iter().collect();
    let told = Client::connect(socket).and_then(|mut daemon| daemon.answer("SetFront", &named));
    told.map(|_| ()).map_err(|error| in_one_line(&error))
}

/// Its configuration.
const CONFIG: &str = "\
[daemon]
devices = []

[engines]
order = [\"iram\"]
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemon_understands_its_configuration() {
        let config = brisk_daemon::config::Config::parse(CONFIG).expect("valid");
        assert_eq!(config.engines.order, ["iram"]);
    }
}
