//! Answers to clients of the control socket.

use brisk_api::{
    Cost, Device, Fault, Happening, Launches, Loss, Method, Pressure, Record, Reply, Said, Status, render, reply_with,
};
use brisk_core::action::Once;
use brisk_core::causes::in_one_line;
use brisk_core::decision::Note;
use brisk_core::event::EventKind;
use brisk_core::outcome::Outcome;
use brisk_core::survey::{Shown, Topic};
use brisk_record::Configuration;
use brisk_sense::Resource;
use rustix::event::PollFlags;

use super::Daemon;
use super::start::group_of;
use crate::clocks::Reading;
use crate::config::Config;
use crate::control::ClientCall;
use crate::devices;
use crate::engines::Engines;
use crate::{learned, profiles, savings};

impl Daemon {
    /// Answers the calls of clients.
    pub(super) fn answer_all(&mut self, said: &[PollFlags]) {
        let now_ns = self.moment.now.monotonic_ns;
        let Some(server) = &mut self.server else { return };
        for call in server.turn(now_ns, said) {
            let reply = self.reply(&call).unwrap_or_else(Reply::from);
            if let Some(server) = &mut self.server {
                server.answer(&call, &reply, now_ns);
            }
        }
    }

    fn reply(&mut self, call: &ClientCall) -> Result<Reply, Fault> {
        if call.is_of_session && !call.method.is_of_sessions() {
            return Err(Fault::NotAllowed(
                "this socket takes what a session tells; ask at the control socket".to_owned(),
            ));
        }
        let may_change = self.server.as_ref().is_some_and(|server| server.may_change(call.peer));
        if call.method.changes() && !may_change {
            return Err(Fault::NotAllowed(format!(
                "changing something takes root, and you are user {}",
                call.peer.uid
            )));
        }
        match &call.method {
            Method::GetStatus => {
                self.observe_apps_when_due();
                Ok(reply_with(&[("status", &self.status())]))
            }
            Method::Explain(None) => Ok(reply_with(&[("settings", &self.settings())])),
            Method::Explain(Some(knob)) => {
                let mut settings = self.settings();
                settings.retain(|setting| setting.knob().is_meant(knob));
                if settings.is_empty() {
                    Err(Fault::NoSuchSetting(knob.clone()))
                } else {
                    Ok(reply_with(&[("settings", &settings)]))
                }
            }
            Method::Monitor => {
                let begin = self.happening("event", Said::new("listens", Vec::new()));
                Ok(Reply { continues: Some(true), ..reply_with(&[("happening", &begin)]) })
            }
            Method::WatchLosses => Ok(Reply { continues: Some(true), ..reply_with(&[("loss", &None::<Loss>)]) }),
            Method::Reload(retry) => self.reload(*retry).map(|()| reply_with(&[])).map_err(Fault::BadConfig),
            Method::Reset => self.reset(),
            Method::SetFront(target) => self.set_front(target.as_ref(), call.peer),
            Method::LaunchBegins(target) => self.launch_begins(target, call.peer),
            Method::LaunchEnds(target) => self.launch_ends(target, call.peer),
            Method::SetIdle(idle) => self.set_idle(*idle),
            // The connection holds it; what apps do is observed before any is stopped.
            Method::SetSound(_) => Ok(reply_with(&[])),
            Method::GetPressure(day) => self.pressure(*day),
            Method::GetApps => self.survey_memory(),
            Method::GetPages(app) => self.survey_pages(app.as_deref()),
            Method::GetLaunches(app) => Ok(self.launches(app.as_deref())),
            Method::GetTrials => Ok(reply_with(&[("trials", &self.policy.trials.show(true))])),
            Method::SetTrial(engine, ladder) => self.set_trial(engine, *ladder),
            Method::Forget(app) => self.forget(app.as_deref()),
            Method::SetApp(app, to) => self.set_app(app, to),
            Method::GetConfig => self.config_text(may_change),
            Method::SetConfig(text, version, check) => self.set_config(text, version, *check),
            Method::StartJob(job, device) => self.start_job(*job, device.clone()),
            Method::StopJob => self.jobs.stop().map(|()| reply_with(&[])).map_err(Fault::CannotRun),
            Method::GetJob => Ok(reply_with(&[("job", &self.jobs.shown())])),
        }
    }

    /// Reads the configuration again; the current one stays when the new one cannot be used, and the error says why.
    /// With `retry`, parts that rest are tried again.
    pub(super) fn reload(&mut self, retry: bool) -> Result<(), String> {
        self.manager.reloading(self.moment.now.monotonic_ns);
        let loaded = Config::load(&self.options.config_path, self.options.or_default);
        let outcome = match loaded {
            Ok((config, text)) => {
                let retried = if retry { self.retry() } else { Ok(()) };
                self.configure(config, text, retry);
                retried
            }
            Err(error) => {
                let why = in_one_line(&error);
                brisk_program::error!("briskd: the current configuration stays: {why}");
                Err(why)
            }
        };
        self.manager.ready();
        outcome
    }

    /// Has the parts that rest tried again.
    fn retry(&mut self) -> Result<(), String> {
        self.machine.opens = super::pages::Opens::default();
        self.attempts
            .retry()
            .map_err(|error| format!("the parts that rest will rest again after the next start: {error}"))
    }

    fn configure(&mut self, config: Config, text: String, anew: bool) {
        devices::absent(&self.machine.sense, &config)
            .iter()
            .for_each(|absent| brisk_program::warn!("briskd: warning: {absent}"));
        let measured = profiles::read(&self.options.profiles_dir);
        let is_measured = |(name, _): &(&String, &String)| !profiles::is_of_tries(name);
        // The state of engines stays as long as nothing that concerns them changes; what they have learned stays
        // anyway.
        let differs = anew
            || config != self.policy.config
            || !measured.iter().filter(is_measured).eq(self.policy.measured.iter().filter(is_measured));
        // An engine that ends now is to know this again, and one that begins knows what it had learned when it ran
        // last.
        self.save_learned();
        let waiting = self.writer.waiting();
        let (kept, complaints) = learned::read(&self.options.learned_dir, self.options.dry_run);
        complaints.into_iter().for_each(|complaint| self.report_trouble(complaint));
        let kept = kept.into_iter().chain(waiting).chain(self.policy.engines.learned());
        let files = measured.clone().into_iter().chain(kept).collect();
        let configuration = Configuration { text, files: learned::recorded(&files) };
        self.writer.configure(self.options.record(&config), configuration, self.moment.now);
        if differs {
            let (engines, unusable) = Engines::new(&config, &files);
            let complaints = learned::left_out(&self.options.learned_dir, unusable, self.options.dry_run);
            let now_unix_ms = self.moment.now.wall_unix_ms();
            self.policy.trials.configure(&config.engines, engines.plans(), &self.policy.kernel, now_unix_ms);
            self.replace_engines(engines);
            complaints.into_iter().for_each(|complaint| self.report_trouble(complaint));
        }
        (self.policy.config, self.policy.measured) = (config, measured);
        let group = group_of(&self.policy.config, &mut self.state.trouble);
        if let Some(Err(error)) = self.server.as_ref().map(|server| server.let_in(group)) {
            self.report_trouble(format!("the control socket's group cannot be changed: {error}"));
        }
        self.hook.configure(&self.policy.config.hook);
        self.read_preferences();
        self.actuator.forgive();
        self.state.changed_externally.clear();
        self.state.is_paused = false;
        self.scan_devices();
        self.push_event(EventKind::Configured);
    }

    fn reset(&mut self) -> Result<Reply, Fault> {
        self.state.is_paused = true;
        let frozen = self.actuator.frozen_groups();
        let restored = self.actuator.restore();
        // Engines are to freeze an app anew before they write it out.
        let left = self.actuator.frozen_groups();
        for group in frozen.difference(&left).cloned() {
            self.push_event(EventKind::Performed { once: Once::Thaw { group }, outcome: Outcome::Done });
        }
        // From here on nothing is requested of the actuator, and the record says so.
        self.round();
        let report = restored.map_err(|error| Fault::CannotRestore(in_one_line(&error)))?;
        let name = |(device, setting): &(String, String)| format!("{device}: {setting}");
        let restored: Vec<String> = report.restored.iter().map(name).collect();
        let left: Vec<String> =
            report.left.iter().map(|left| format!("{}: {}: {}", left.device, left.knob, left.reason)).collect();
        Ok(reply_with(&[("restored", &restored), ("left", &left)]))
    }

    fn status(&self) -> Status {
        let (state, machine) = (&self.state, &self.machine);
        let rss_bytes = machine.sense.process_stat(std::process::id()).ok().flatten();
        let rss_bytes = rss_bytes.map_or(0, |own| own.resident_pages * rustix::param::page_size() as u64);
        let record = self.writer.record_path().map(|path| {
            let (bytes, trouble) = self.writer.record();
            Record { path: path.display().to_string(), bytes, trouble }
        });
        let mut prefetched = None;
        for shown in self.policy.engines.show(Topic::Totals) {
            if let Shown::Prefetched(of) = shown {
                prefetched = Some(of);
            }
        }
        Status {
            brisk_version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            started_unix_ms: state.started_unix_ms,
            at_unix_ms: self.moment.now.wall_unix_ms(),
            dry_run: self.options.dry_run,
            paused: state.is_paused,
            config_path: self.options.config_path.display().to_string(),
            engines: self.policy.engines.names().into_iter().map(str::to_owned).collect(),
            trials: self.policy.trials.show(false),
            devices: machine
                .devices
                .iter()
                .map(|device| {
                    let files = &self.policy.measured;
                    Device::new(device, profiles::measured(device, files), profiles::tried(device, files))
                })
                .collect(),
            left_alone: machine.left_alone.clone(),
            apps: machine.apps.list(&self.policy.config.apps, &self.policy.config.services),
            found_by: machine.sources.found_by(),
            settings: self.settings(),
            actions: state.actions.iter().cloned().collect(),
            notes: state.notes.clone(),
            changed_externally: state.changed_externally.clone(),
            trouble: state.trouble.iter().chain(&state.failing).cloned().collect(),
            resting: self.attempts.resting().collect(),
            lacking_rights: state.lacking_rights.clone(),
            counts: state.counts,
            saved: state.savings.estimates(),
            saved_how: savings::METHOD.to_owned(),
            cost: Cost { cpu_us: own_cpu_us(), rss_bytes },
            swap_writes: self.policy.engines.swap_writes(),
            prefetched,
            memory_programs: machine.killers.running().to_vec(),
            record,
        }
    }

    /// What an engine knows of the launches of an app, or of all.
    fn launches(&self, app: Option<&str>) -> Reply {
        let shown = self.policy.engines.show(Topic::Launches).next();
        let active = shown.is_some();
        let mut apps = if let Some(Shown::Launches(apps)) = shown { apps } else { Vec::new() };
        apps.retain(|one| app.is_none_or(|id| one.id == id));
        reply_with(&[("launches", &Launches { active, apps })])
    }

    /// Pressure on storage and memory; with `day`, over the last day too.
    fn pressure(&self, day: bool) -> Result<Reply, Fault> {
        let sense = &self.machine.sense;
        let memory = sense.mem_info().map_err(|error| Fault::CannotSense(in_one_line(&error)))?;
        // A kernel without these files counts none.
        let stalled_us = |resource| sense.pressure(resource).ok().map(|pressure| pressure.some.total_us);
        let now = Reading::now();
        let pressure = Pressure {
            at_ns: now.monotonic_ns,
            storage_us: stalled_us(Resource::Io),
            memory_us: stalled_us(Resource::Memory),
            total_bytes: memory.total_bytes,
            available_bytes: memory.available_bytes,
            swap_total_bytes: memory.swap_total_bytes,
            swap_free_bytes: memory.swap_free_bytes,
            day: if day { self.state.day.spans(now) } else { Vec::new() },
        };
        Ok(reply_with(&[("pressure", &pressure)]))
    }

    /// Writes a line to the log, and sends it to clients that monitor.
    pub(super) fn publish(&mut self, kind: &str, said: Said) {
        self.say(&said.to_string());
        if self.server.as_ref().is_some_and(crate::control::Server::is_monitored) {
            let reply = reply_with(&[("happening", &self.happening(kind, said))]);
            if let Some(server) = &mut self.server {
                server.tell(&reply, self.moment.now.monotonic_ns);
            }
        }
    }

    /// Publishes the notes that are new.
    pub(super) fn publish_notes(&mut self, notes: &[Note]) {
        let is_new = |note: &&Note| {
            !self.state.notes.iter().any(|known| known.engine == note.engine && known.reason.rule == note.reason.rule)
        };
        let new: Vec<Said> = notes.iter().filter(is_new).map(render::note).collect();
        new.into_iter().for_each(|said| self.publish("note", said));
    }

    fn happening(&self, kind: &str, said: Said) -> Happening {
        let (at_unix_ms, kind, text) = (self.moment.now.wall_unix_ms(), kind.to_owned(), said.to_string());
        Happening { at_unix_ms, kind, text, said: Some(said) }
    }
}

/// Processor time of this process, user and system.
fn own_cpu_us() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let whole_us = u64::try_from(time.tv_sec).unwrap_or(0).saturating_mul(1_000_000);
    whole_us.saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0) / 1000)
}
