//! Start-up: everything is opened, and settings that a killed daemon left changed are restored.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use brisk_act::{Actuator, Keeper, Lock, Paths, Restored, damaged_journals, restore_all};
use brisk_api::Counts;
use brisk_api::dirs::{JOURNAL, SESSION_SOCKET, SOCKET};
use brisk_api::resting::part;
use brisk_core::causes::in_one_line;
use brisk_formats::group_id;
use brisk_record::{Configuration, Session};
use brisk_sense::{Hierarchies, LocalTime, ProcessSession, SampleChoice, Sampler, Sense, SessionWatch};

use super::{Daemon, Machine, Moment, Policy, State, TIMERS};
use crate::account::Account;
use crate::apps::{Apps, ProcessGroups, is_told_by_session};
use crate::attempts::Attempts;
use crate::clocks::Reading;
use crate::config::{Config, Record};
use crate::control::{Server, ServerError};
use crate::devices;
use crate::engines::Engines;
use crate::hook::Hook;
use crate::jobs::Jobs;
use crate::killers::Killers;
use crate::learned;
use crate::places::Places;
use crate::pressure;
use crate::profiles;
use crate::recorder::Recorder;
use crate::returns::Returns;
use crate::savings::Savings;
use crate::screen::Screen;
use crate::service::ServiceManager;
use crate::settings::Settings;
use crate::sources::Sources;
use crate::timers::Timers;
use crate::writer::Writer;

/// The program of the keeper: this one, under another name (`command.rs`).
const KEEPER: &str = "/proc/self/exe";
/// How long a daemon that was killed just now may take to end.
const PATIENCE: Duration = Duration::from_secs(2);

/// Options of the command line.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the configuration is.
    pub config_path: PathBuf,
    /// Whether a missing file means defaults: its path was not named on the command line.
    pub or_default: bool,
    /// Where lock, socket and journals are.
    pub run_dir: PathBuf,
    /// Where what was measured on devices is.
    pub profiles_dir: PathBuf,
    /// Where what engines have learned is.
    pub learned_dir: PathBuf,
    /// Decide, and change nothing.
    pub dry_run: bool,
    /// Decide twice, a second apart, and end.
    pub once: bool,
    /// Log each decision.
    pub foreground: bool,
}

impl Daemon {
    /// Opens everything. Nothing is changed yet but what a daemon before left.
    ///
    /// # Errors
    /// When another daemon runs, the configuration cannot be used, or /proc cannot be read.
    pub fn start(options: Options) -> anyhow::Result<Self> {
        let now = Reading::now();
        let (config, text) = Config::load(&options.config_path, options.or_default)?;
        let lock = Lock::acquire(&options.run_dir)?;
        let paths = Paths::with_run_dir(&options.run_dir);
        let mut trouble = Vec::new();
        if !options.dry_run {
            restore_changes_of_the_dead(&paths, &mut trouble);
        }
        let sense = Sense::default();
        devices::absent(&sense, &config).iter().for_each(|absent| brisk_program::warn!("briskd: warning: {absent}"));
        let (mut attempts, complaints) = Attempts::open(&options.run_dir, &options.learned_dir, options.dry_run);
        trouble.extend(complaints);
        let sources = Sources::open(&sense, &mut attempts).context("cannot receive signals")?;
        trouble.extend(sources.lacking.iter().cloned());
        if let Err(errno) = crate::rights::give_up_net_admin() {
            trouble.push(format!("CAP_NET_ADMIN is kept, as capset is refused: {errno}"));
        }
        attempts.resting().for_each(|resting| brisk_program::warn!("briskd: {resting}"));
        trouble.iter().for_each(|trouble| brisk_program::warn!("briskd: {trouble}"));
        let mut apps = Apps::default();
        apps.expect_front(sources.knows_front());
        sources.groups.iter().flat_map(|groups| groups.living()).for_each(|group| apps.was_there(group.clone()));
        // Without control groups no app has one.
        let hierarchies = Hierarchies::of(&sense).unwrap_or_default();
        if let Some(Ok(listed)) = sources.sessions.as_ref().map(SessionWatch::listed) {
            let group = |pid| ProcessGroups::of(&sense, &hierarchies, pid).group;
            let counts =
                |session: &ProcessSession| is_told_by_session(group(session.pid).as_deref(), sources.groups.is_some());
            listed.into_values().filter(counts).for_each(|session| apps.session_was_there(session));
        }
        if let Ok(Some(front)) = sense.front_processes() {
            let processes = |dir: &Path| sense.cgroup_processes(dir).ok().flatten().unwrap_or_default();
            apps.update_front(now.monotonic_ns, Some(&front.into_iter().collect()), processes);
        }
        let (files, mut complaints) = learned::read(&options.learned_dir, options.dry_run);
        let saved = files.iter().map(|(name, text)| (name.clone(), learned::digest(text))).collect();
        let measured = profiles::read(&options.profiles_dir);
        let files = measured.clone().into_iter().chain(files).collect();
        let configuration = Configuration { text, files: learned::recorded(&files) };
        let (engines, unusable) = Engines::new(&config, &files);
        complaints.extend(learned::left_out(&options.learned_dir, unusable, options.dry_run));
        complaints.iter().for_each(|complaint| brisk_program::warn!("briskd: {complaint}"));
        trouble.extend(complaints);
        let (mut trials, complaint) = learned::trials(&options.learned_dir, options.dry_run);
        trouble.extend(complaint.into_iter().inspect(|complaint| brisk_program::warn!("briskd: {complaint}")));
        let kernel = sense.kernel_release().unwrap_or_default();
        trials.configure(&config.engines, engines.plans(), &kernel, now.wall_unix_ms());
        let group = group_of(&config, &mut trouble);
        let open = || {
            let mut server = Server::open(&options.run_dir.join(SOCKET), group)?;
            server.open_for_sessions(&options.run_dir.join(SESSION_SOCKET), &sense)?;
            Ok::<_, ServerError>(server)
        };
        let server = match open() {
            Ok(server) => Some(server),
            Err(error) => {
                brisk_program::warn!("briskd: {}; continues without the control socket", in_one_line(&error));
                trouble.push(in_one_line(&error));
                None
            }
        };
        let mut actuator = Actuator::new(&paths, JOURNAL, options.dry_run)?.guarded_by(Keeper::new([KEEPER.into()]));
        let uses = engines.uses();
        if let Some((ends, per_minute_max)) = uses.ends {
            actuator.limit_ends(ends, per_minute_max);
        }
        // The keeper runs from the start, as its program may have to be read from flash.
        let mut start = |is_needed: bool, name: &str, start: &mut dyn FnMut() -> Result<(), brisk_act::Error>| {
            // One that rests is shown as such.
            is_needed.then(|| attempts.using(name, start).unwrap_or(Ok(())).err()).flatten()
        };
        let keeper = start(uses.keeper, part::KEEPER, &mut || actuator.start_keeper());
        let worker = start(uses.worker, part::WORKER, &mut || actuator.start_worker(JOURNAL));
        for failed in keeper.into_iter().chain(worker) {
            let why = in_one_line(&failed);
            brisk_program::warn!("briskd: {why}");
            trouble.push(why);
        }
        let mut killers = Killers::default();
        killers.refresh(&sense, now.monotonic_ns);
        let mut hook = Hook::default();
        hook.configure(&config.hook);
        let record = options.record(&config);
        let recorder = Recorder::new(record.clone(), about(&sense), configuration);
        let learned_dir = options.learned_dir.clone();
        let keep = move |name: &str, text: &str| learned::write(&learned_dir, name, text);
        let writer = Writer::start(record, recorder, keep).context("cannot start the thread that writes files")?;
        let mut sampler = Sampler::new(sense.clone(), SampleChoice::default())?;
        sampler.weigh_apps(uses.activities);
        // Its own names are those of groups; those of the daemon are keys.
        sampler.look_at(Vec::new(), apps.groups());
        Ok(Self {
            machine: Machine {
                sampler,
                hierarchies,
                screen: Screen::default(),
                local_time: LocalTime::default(),
                told_utc_offset_s: None,
                killers,
                sense,
                sources,
                apps,
                returns: Returns::default(),
                pages_scanned_ns: None,
                opens: super::pages::Opens::default(),
                places: Places::default(),
                devices: Vec::new(),
                left_alone: Vec::new(),
                scanned_ns: None,
            },
            policy: Policy { config, measured, engines, trials, kernel, saved },
            moment: Moment {
                now,
                previous: None,
                events: Vec::new(),
                events_due_ns: None,
                last_round_ns: None,
                wanted_ns: None,
                answered_ns: None,
            },
            state: State {
                settings: Settings::default(),
                actions: VecDeque::new(),
                notes: Vec::new(),
                changed_externally: Vec::new(),
                savings: Savings::default(),
                day: pressure::Day::default(),
                under: BTreeMap::new(),
                trouble,
                failing: BTreeSet::new(),
                lacking_rights: Vec::new(),
                account: Account::default(),
                counts: Counts::default(),
                started_unix_ms: now.wall_unix_ms(),
                is_paused: false,
            },
            timers: Timers::new(TIMERS),
            attempts,
            actuator,
            writer,
            server,
            hook,
            jobs: Jobs::default(),
            manager: ServiceManager::of_environment(now.monotonic_ns),
            is_finished: false,
            options,
            _lock: lock,
        })
    }
}

/// Restores what a killed daemon left changed, and logs it.
fn restore_changes_of_the_dead(paths: &Paths, trouble: &mut Vec<String>) {
    match restore_all(paths, PATIENCE, |_| ()) {
        Ok(Restored { reports, .. }) => {
            for (name, report) in reports.iter().filter(|(_, report)| *report != Default::default()) {
                brisk_program::notice!(
                    "briskd: restored {} settings that a killed {name} had changed",
                    report.restored.len()
                );
                for left in &report.left {
                    brisk_program::warn!("briskd: left {} of {} alone: {}", left.knob, left.device, left.reason);
                }
            }
        }
        Err(error) => trouble.push(format!("not everything from before brisk is restored: {}", in_one_line(&error))),
    }
    trouble.extend(damaged_journals(paths).iter().map(ToString::to_string));
}

/// Checks at the end that nothing that a killed daemon changed is left: undoes again what the start could not.
///
/// # Errors
/// When settings cannot be restored, or a damaged journal lies there, so that some are unknown. Exit code 1, whatever
/// the damage.
pub(super) fn check_restored(paths: &Paths) -> anyhow::Result<()> {
    restore_all(paths, Duration::ZERO, |_| ()).context("not everything from before brisk is restored")?;
    let damaged = damaged_journals(paths);
    if !damaged.is_empty() {
        let damaged: Vec<String> = damaged.iter().map(ToString::to_string).collect();
        anyhow::bail!("not everything from before brisk is known to be restored: {}", damaged.join("; "));
    }
    Ok(())
}

/// Groups of users. The C library's look-up would also ask other sources, load their libraries into this program, and
/// fail in one that has a C library inside.
const GROUPS: &str = "/etc/group";
/// A longer file is none.
const GROUPS_BYTES_MAX: u64 = 1 << 20;

/// The id of the group that may use the socket.
pub(super) fn group_of(config: &Config, trouble: &mut Vec<String>) -> Option<u32> {
    let name = &config.daemon.socket_group;
    let groups = brisk_program::files::read_text(GROUPS.as_ref(), GROUPS_BYTES_MAX);
    match groups.ok().and_then(|groups| group_id(&groups, name)) {
        Some(id) => Some(id),
        _ if name.is_empty() => None,
        _ => {
            let what = format!("there is no group '{name}', so only root may ask (groupadd --system {name})");
            if !trouble.contains(&what) {
                trouble.push(what);
            }
            None
        }
    }
}

/// Description of this session for the record.
fn about(sense: &Sense) -> Session {
    let processors = sense.cpus_online().map_or_else(|_| "?".to_owned(), |count| count.to_string());
    Session {
        brisk_version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel_release: sense.kernel_release().unwrap_or_default(),
        machine: format!("{}, {processors} processors", std::env::consts::ARCH),
        ..Session::default()
    }
}

impl Options {
    pub(super) fn record(&self, config: &Config) -> Record {
        config.daemon.record.of(&self.run_dir, !self.or_default)
    }

    /// Where the control socket is.
    #[must_use]
    pub fn socket(run_dir: &Path) -> PathBuf {
        run_dir.join(SOCKET)
    }
}
