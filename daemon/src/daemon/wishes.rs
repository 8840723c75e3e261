//! What people ask for by a command or a page: what is to be done with an app, another configuration, a measurement.

use std::os::unix::fs::PermissionsExt as _;

use brisk_api::{Fault, JobKind, Reply, render, reply_with};
use brisk_core::causes::in_one_line;

use super::Daemon;
use crate::config::{self, Choice};
use crate::devices;
use crate::jobs::Order;

impl Daemon {
    pub(super) fn set_app(&mut self, app: &str, to: &str) -> Result<Reply, Fault> {
        let (path, or_default) = (&self.options.config_path, self.options.or_default);
        let refused = |error: config::WriteError| Fault::BadConfig(in_one_line(&error));
        let Some(choice) = Choice::of(to) else {
            return Err(Fault::BadConfig(format!("{to:?} is not protect, end_first or none")));
        };
        let changed = config::choose(path, or_default, app, choice).map_err(refused)?;
        if changed {
            self.reload_unpaused()?;
        }
        Ok(reply_with(&[("changed", &changed)]))
    }

    /// The text of the main file, for those who may read the file itself.
    pub(super) fn config_text(&self, may_change: bool) -> Result<Reply, Fault> {
        let path = &self.options.config_path;
        let all_may = std::fs::metadata(path).map_or(true, |file| file.permissions().mode() & 0o004 != 0);
        if !all_may && !may_change {
            return Err(Fault::NotAllowed(format!("{} is for root to read", path.display())));
        }
        let (text, version) =
            config::main_text(path, self.options.or_default).map_err(|error| Fault::BadConfig(in_one_line(&error)))?;
        Ok(reply_with(&[("path", &path.display().to_string()), ("text", &text), ("version", &version)]))
    }

    pub(super) fn set_config(&mut self, text: &str, version: &str, check: bool) -> Result<Reply, Fault> {
        let (path, or_default) = (&self.options.config_path, self.options.or_default);
        let config = config::edit(path, or_default, text, version, check)
            .map_err(|error| Fault::BadConfig(in_one_line(&error)))?;
        let warnings = devices::absent(&self.machine.sense, &config);
        if !check {
            self.reload_unpaused()?;
        }
        Ok(reply_with(&[("warnings", &warnings)]))
    }

    /// Reads the configuration again; a pause by a person goes on.
    fn reload_unpaused(&mut self) -> Result<(), Fault> {
        let was_paused = self.state.is_paused;
        let outcome = self.reload(false).map_err(Fault::BadConfig);
        self.state.is_paused = was_paused;
        outcome
    }

    pub(super) fn start_job(&mut self, job: JobKind, device: Option<String>) -> Result<Reply, Fault> {
        if let Some(device) = device.as_ref().filter(|name| !self.machine.devices.iter().any(|of| of.name == **name)) {
            return Err(Fault::CannotRun(format!("{device} is no device that brisk manages: see 'brisk status'")));
        }
        let options = &self.options;
        let order = Order {
            job,
            device,
            config: options.config_path.clone(),
            profiles: options.profiles_dir.clone(),
            run_dir: options.run_dir.clone(),
        };
        let now = self.moment.now;
        let is_confined = self.manager.is_there();
        let begun = self.jobs.start(&order, is_confined, now.monotonic_ns, now.wall_unix_ms());
        let (reply, said) =
            begun.map(|job| (reply_with(&[("job", job)]), render::job(job))).map_err(Fault::CannotRun)?;
        self.publish("job", said);
        Ok(reply)
    }

    /// Takes in what a measurement says.
    pub(super) fn tend_job(&mut self) {
        let now = self.moment.now;
        let Some(job) = self.jobs.tend(now.monotonic_ns, now.wall_unix_ms()) else { return };
        let said = render::job(job);
        self.publish("job", said);
    }
}
