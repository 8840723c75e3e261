//! A phone with limited memory, the apps that stay in it, and what fills the rest.
//!
//! Device time is off while a state is made ([`Ground::launch`], [`Ground::evict_all`], [`Ground::fill`],
//! [`Ground::apply`]): on a phone that is done hours before. It is on during [`Ground::go_to`], which is measured. With
//! zram, the memory that compressed pages take is deducted from the limit when a state has been made, since the kernel
//! charges it to no group; what is compressed during a return is deducted before the next.

mod day;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::launch::{Launcher, Relaunched, Resident};
use crate::phone::{App, MemoryGroup, MemorySpec, Phone};
use crate::results::{AppVisit, EndedApp, EndedBy, MemoryCensus, Warning};
use crate::screen::{Input, Screen};
use brisk_act::{Actuator, Paths};
use brisk_core::action::Setting;
use brisk_core::knob::{Knob, VmSetting};

use crate::memory::answers::Answer;
use crate::memory::balloon::Balloon;
use crate::memory::error::{Error, Result};
use crate::memory::killer::Watch;
use crate::memory::policy::{Brisk, Killer, Policy};
use crate::memory::roster::{Member, Roster};

/// Name of the process that fills memory, of its group and in results.
const BALLOON: &str = "balloon";
/// Time from the end of making a state until a return begins: requests of that state end, and the machine is quiet.
const SETTLE: Duration = Duration::from_millis(300);
/// How often a limit is tried that the kernel cannot reach at once.
const LIMIT_TRIES: u32 = 10;

/// Programs that the ground runs.
#[derive(Debug, Clone)]
pub struct Programs {
    /// Calls [`crate::memory::serve_balloon`].
    pub balloon: Vec<OsString>,
    /// Where settings of the machine are journaled.
    pub paths: Paths,
    /// The daemon of brisk with its memory engine; `None` where no policy needs it.
    pub engine: Option<Engine>,
}

/// How the daemon of brisk is run for the phone.
#[derive(Debug, Clone)]
pub struct Engine {
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// Files with their texts, by the engine that they are for. They are written before each start, so that each run
    /// begins alike.
    pub files: Vec<(Brisk, PathBuf, String)>,
    /// Removed before each start: what an engine learned in the run before.
    pub forgotten: Vec<PathBuf>,
    /// Its control socket, which it makes when it is ready.
    pub socket: PathBuf,
    /// Tells it, by its socket, which control group came to the front; `None` is no app's. An error is a sentence.
    pub tell_front: fn(&Path, Option<&str>) -> std::result::Result<(), String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The app is brought to the front, or launched.
    Front,
    /// It has answered, or its visit has ended without that.
    Ready,
}

/// Who hears of the moments of visits, with the app.
type Listener<'a> = Box<dyn FnMut(Moment, &str) + 'a>;

struct Stay {
    resident: Resident,
    answer: Answer,
    turns: u64,
}

/// The ground of a measurement.
pub struct Ground<'a> {
    phone: &'a mut Phone,
    group: MemoryGroup,
    launcher: Launcher<'a>,
    screen: &'a mut dyn Screen,
    programs: Programs,
    policy: &'static Policy,
    apps: BTreeMap<String, Stay>,
    roster: Roster,
    balloon: Option<Balloon>,
    watch: Option<Watch>,
    settings: Actuator,
    /// Visits of each app that ever ran here, for its keys.
    turns: BTreeMap<String, u64>,
    /// Processes of each that the kernel had ended, since memory had run out, when it was started or counted last.
    oom_kills: BTreeMap<String, u64>,
    /// Apps that ended since the last visit.
    ended: Vec<EndedApp>,
    warnings: Vec<Warning>,
    listener: Option<Listener<'a>>,
}

impl<'a> Ground<'a> {
    /// The ground on a phone with a limit, under the baseline policy.
    ///
    /// # Errors
    /// When the phone has no limit, or a policy cannot be applied.
    pub fn new(
        phone: &'a mut Phone,
        launcher: Launcher<'a>,
        screen: &'a mut dyn Screen,
        programs: Programs,
    ) -> Result<Self> {
        let group = phone.memory_group().ok_or(Error::NoLimit(phone.id()))?;
        let settings = Actuator::new(&programs.paths, "memory", false)?;
        let policy = Policy::named("default")?;
        let ground = Self {
            phone,
            group,
            launcher,
            screen,
            programs,
            policy,
            apps: BTreeMap::new(),
            roster: Roster::default(),
            balloon: None,
            watch: None,
            settings,
            turns: BTreeMap::new(),
            oom_kills: BTreeMap::new(),
            ended: Vec::new(),
            warnings: Vec::new(),
            listener: None,
        };
        // The display server compiles its keymap at the first key, which took 200 to 300 ms on Xvfb.
        ground.screen.send(&Input::Key("Shift_L".to_owned())).map_err(crate::launch::Error::from)?;
        ground.phone.set_timed(false)?;
        Ok(ground)
    }

    #[must_use]
    pub fn phone(&self) -> &Phone {
        self.phone
    }

    #[must_use]
    pub fn policy(&self) -> &'static Policy {
        self.policy
    }

    /// Limit and swap of the phone.
    fn memory(&self) -> Result<MemorySpec> {
        self.phone.memory().ok_or(Error::NoLimit(self.phone.id()))
    }

    /// Calls `listener` when a visit begins and when it ends.
    pub fn listen(&mut self, listener: impl FnMut(Moment, &str) + 'a) {
        self.listener = Some(Box::new(listener));
    }

    fn tell(&mut self, moment: Moment, app: &str) {
        if let Some(listener) = &mut self.listener {
            listener(moment, app);
        }
    }

    /// Names of the apps that run.
    #[must_use]
    pub fn running(&self) -> Vec<String> {
        self.apps.keys().cloned().collect()
    }

    /// Warnings since the last call, one of each kind.
    pub fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }

    /// Puts `policy` in force. Apps stay where they have a place: those of a phone without swap are ended.
    ///
    /// # Errors
    /// When swap areas cannot be made, a setting cannot be changed, or a program that ends apps cannot run.
    pub fn apply(&mut self, policy: &'static Policy) -> Result<()> {
        let limit_bytes = self.memory()?.limit_bytes;
        self.apply_within(policy, limit_bytes)
    }

    /// The same with another limit of memory from then on.
    ///
    /// # Errors
    /// As [`Self::apply`], and when the limit is too small.
    pub fn apply_within(&mut self, policy: &'static Policy, limit_bytes: u64) -> Result<()> {
        self.watch = None;
        self.empty();
        self.phone.set_timed(false)?;
        let has = self.memory()?;
        if has.limit_bytes != limit_bytes {
            if limit_bytes < has.limit_bytes && !self.policy.has_swap() {
                self.close_all()?;
            }
            self.phone.change_limit(limit_bytes)?;
            self.charge()?;
        }
        if has.swap != policy.swap {
            if !policy.has_swap() {
                self.close_all()?;
            }
            self.phone.change_swap(policy.swap)?;
        }
        let wanted = policy
            .page_cluster
            .map(|value| Setting { knob: Knob::Vm { setting: VmSetting::PageCluster }, value: value.to_string() });
        for (knob, outcome) in self.settings.apply(wanted.as_slice()) {
            // Released settings are restored, which is no value that was asked for.
            if policy.page_cluster.is_some() && !outcome.is_in_force() {
                let reason = outcome.name().to_owned();
                return Err(Error::Setting { setting: knob.to_string(), reason });
            }
        }
        self.policy = policy;
        for name in self.running() {
            self.rest(&name)?;
        }
        self.watch = match policy.killer {
            Killer::Kernel => None,
            Killer::Oldest => Some(Watch::oldest(&self.group, self.roster.clone(), self.launcher.sense)?),
            Killer::Brisk(brisk) => Some(Watch::brisk(self.programs.engine.as_ref(), brisk, &self.group)?),
            Killer::Earlyoom => Some(Watch::earlyoom(&self.group, self.roster.clone(), &self.phone.state_dir())?),
        };
        Ok(())
    }

    /// Launches `app` unless it runs, with device time off, and leaves it in the background. Gives whether it runs now.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn launch(&mut self, app: &App) -> Result<bool> {
        self.reap()?;
        if self.apps.contains_key(&app.name) {
            return Ok(true);
        }
        self.phone.set_timed(false)?;
        let (_, stays) = self.start(app)?;
        if stays {
            self.leave(&app.name)?;
        }
        Ok(stays)
    }

    /// Goes to `app`, which answers one key, or is launched when it does not run. Device time is on.
    ///
    /// # Errors
    /// When the app cannot be started, or the display is lost; an app that does not answer is a result.
    pub fn go_to(&mut self, app: &App, round: u64) -> Result<AppVisit> {
        self.phone.set_timed(true)?;
        for name in self.running() {
            // Those that run in the background under this policy do so from now on.
            self.rest(&name)?;
        }
        self.wait(SETTLE)?;
        self.visit(app, round)
    }

    /// The same with device time off, to make a state.
    ///
    /// # Errors
    /// As [`Self::go_to`].
    pub fn go_to_untimed(&mut self, app: &App) -> Result<AppVisit> {
        self.phone.set_timed(false)?;
        self.visit(app, 0)
    }

    fn visit(&mut self, app: &App, round: u64) -> Result<AppVisit> {
        self.reap()?;
        let before = self.phone.flash()?.requests;
        self.tell(Moment::Front, &app.name);
        let running = self.apps.contains_key(&app.name);
        let relaunched =
            if running { self.relaunch(&app.name) } else { self.start(app).map(|(relaunched, _)| relaunched) };
        self.tell(Moment::Ready, &app.name);
        let relaunched = relaunched?;
        let after = self.phone.flash()?.requests;
        self.reap()?;
        self.note(relaunched.warnings);
        Ok(AppVisit {
            app: app.name.clone(),
            round,
            run: relaunched.run,
            flash_read_bytes: after.read.bytes.saturating_sub(before.read.bytes),
            flash_written_bytes: after.write.bytes.saturating_sub(before.write.bytes),
            flash_busy_ms: after.busy_ns.saturating_sub(before.busy_ns) as f64 / 1e6,
            ended: std::mem::take(&mut self.ended),
        })
    }

    /// Tells the engine of brisk, where it runs, that the app `name` is in front, or none.
    fn tell_front(&self, name: Option<&str>) -> Result<()> {
        let Some(engine) = self.programs.engine.as_ref().filter(|_| matches!(self.policy.killer, Killer::Brisk(_)))
        else {
            return Ok(());
        };
        let group = name.and_then(|name| self.apps.get(name)).and_then(|stay| stay.resident.group().file_name());
        let group = group.map(|group| group.to_string_lossy());
        (engine.tell_front)(&engine.socket, group.as_deref())
            .map_err(|reason| Error::Killer { program: crate::memory::killer::BRISK, reason })
    }

    fn relaunch(&mut self, name: &str) -> Result<Relaunched> {
        self.tell_front(Some(name))?;
        let stay = self.apps.get_mut(name).ok_or_else(|| Error::NotRunning(name.to_owned()))?;
        let key = Input::Key(stay.answer.key(stay.turns).to_owned());
        stay.turns += 1;
        self.turns.insert(name.to_owned(), stay.turns);
        self.roster.to_front(name);
        Ok(self.launcher.relaunch(&mut stay.resident, self.screen, &key)?)
    }

    /// Launches an app that stays; gives whether it does.
    fn start(&mut self, app: &App) -> Result<(Relaunched, bool)> {
        let answer = Answer::of(&app.name)?;
        let launch = self.phone.app(app, self.screen.display())?;
        let oom_kills = self.oom_kills(&app.name)?;
        self.oom_kills.insert(app.name.clone(), oom_kills);
        self.roster.add(&app.name, Member::Launching);
        let launched = self.launcher.relaunch_ended(&launch, self.screen);
        self.roster.remove(&app.name);
        let (resident, relaunched) = launched?;
        let stays = resident.is_some();
        if let Some(resident) = resident {
            self.roster.add(&app.name, Member::Group(resident.group().to_owned()));
            let turns = *self.turns.entry(app.name.clone()).or_insert(0);
            self.apps.insert(app.name.clone(), Stay { resident, answer, turns });
            self.tell_front(Some(&app.name))?;
        }
        Ok((relaunched, stays))
    }

    /// `app` goes to the background: what grabs the keyboard is taken back, and it is frozen where the policy does so.
    ///
    /// # Errors
    /// When the display is lost, or the app cannot be ended.
    pub fn leave(&mut self, name: &str) -> Result<()> {
        self.reap()?;
        // An app that was ended meanwhile has nothing to leave.
        let Some(stay) = self.apps.get_mut(name) else { return Ok(()) };
        if let Some(undo) = stay.answer.undo
            && stay.turns > 0
        {
            // Watched like a return, so that the menu is gone when it is frozen.
            self.launcher.relaunch(&mut stay.resident, self.screen, &Input::Key(undo.to_owned()))?;
        }
        self.rest(name)
    }

    /// Freezes an app in the background where the policy does so, and lets it run otherwise. One that does not freeze
    /// is ended.
    fn rest(&mut self, name: &str) -> Result<()> {
        if self.policy.frozen {
            return self.freeze(name);
        }
        let Some(stay) = self.apps.get_mut(name) else { return Ok(()) };
        Ok(stay.resident.thaw()?)
    }

    fn freeze(&mut self, name: &str) -> Result<()> {
        let Some(stay) = self.apps.get_mut(name) else { return Ok(()) };
        if stay.resident.is_alive()?
            && let Err(error) = stay.resident.freeze()
        {
            // Its processes wait for the flash for longer than the kernel is given: it begins anew.
            let text = format!("{name} could not be frozen ({error}), and was ended.");
            self.note(vec![Warning { code: "not_frozen".to_owned(), text }]);
            self.close(name)?;
        }
        Ok(())
    }

    /// The limit in force.
    ///
    /// # Errors
    /// When the kernel's file cannot be read.
    pub fn limit_bytes(&self) -> Result<u64> {
        Ok(self.group.limit_bytes()?)
    }

    /// Evicts all apps: heaps to swap, files from the page cache, with device time off. All are frozen until the next
    /// return, so that none reads its pages back before.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn evict_all(&mut self) -> Result<()> {
        self.phone.set_timed(false)?;
        for name in self.running() {
            self.freeze(&name)?;
        }
        // What an app that has ended left in the page cache is charged to its group, too.
        for name in self.turns.keys() {
            self.group.child(name)?.reclaim_all()?;
        }
        self.charge()
    }

    /// Fills what is free but for `keep_bytes`, by a process that is in front from then on; gives what it holds.
    ///
    /// # Errors
    /// When that process fails.
    pub fn fill(&mut self, keep_bytes: u64) -> Result<u64> {
        self.phone.set_timed(false)?;
        self.charge()?;
        if !self.balloon.as_mut().is_some_and(Balloon::is_alive) {
            let group = self.group.child(BALLOON)?;
            self.oom_kills.insert(BALLOON.to_owned(), group.oom_kills()?);
            self.balloon = Some(Balloon::start(&self.programs.balloon, &group)?);
        }
        self.tell_front(None)?;
        let Some(balloon) = &mut self.balloon else { return Ok(0) };
        self.roster.add(BALLOON, Member::Process(balloon.pid()));
        balloon.fill(&self.group, keep_bytes)
    }

    /// Ends the process that fills memory, if there is one.
    pub fn empty(&mut self) {
        if self.balloon.take().is_some() {
            self.roster.remove(BALLOON);
        }
    }

    /// Puts the limit in force, less what compressed memory takes; the kernel may need some tries to get below it.
    fn charge(&self) -> Result<()> {
        let mut tries = 1;
        loop {
            match self.phone.charge() {
                Ok(_) => return Ok(()),
                Err(error) if tries == LIMIT_TRIES => return Err(error.into()),
                Err(_) => tries += 1,
            }
        }
    }

    /// Memory of an app that runs.
    ///
    /// # Errors
    /// When the kernel's files cannot be read.
    pub fn census(&self, name: &str) -> Result<Option<MemoryCensus>> {
        let Some(stay) = self.apps.get(name) else { return Ok(None) };
        let sense = self.launcher.sense;
        let pids = sense.cgroup_processes(stay.resident.group())?.unwrap_or_default();
        Ok(Some(crate::launch::census::Pages::read(sense, &pids)?.census()))
    }

    /// Ends one app, if it runs.
    ///
    /// # Errors
    /// When a process does not end.
    pub fn close(&mut self, name: &str) -> Result<()> {
        self.roster.remove(name);
        match self.apps.remove(name) {
            Some(stay) => Ok(stay.resident.close()?),
            None => Ok(()),
        }
    }

    /// Ends all apps, and what they left in the phone.
    ///
    /// # Errors
    /// When a process does not end.
    pub fn close_all(&mut self) -> Result<()> {
        for name in self.running() {
            self.close(&name)?;
        }
        self.phone.end_apps()?;
        Ok(())
    }

    /// Takes off what has ended.
    fn reap(&mut self) -> Result<()> {
        for name in self.running() {
            if self.apps.get(&name).is_some_and(|stay| !stay.resident.is_alive().unwrap_or(false)) {
                let by = self.ended_by(&name)?;
                if let Some(stay) = self.apps.remove(&name) {
                    stay.resident.close()?;
                }
                self.ended.push(EndedApp { app: name, by });
            }
        }
        if self.balloon.as_mut().is_some_and(|balloon| !balloon.is_alive()) {
            self.balloon = None;
            let by = self.ended_by(BALLOON)?;
            self.ended.push(EndedApp { app: BALLOON.to_owned(), by });
        }
        Ok(())
    }

    /// Who ended what has ended: a killer that says so, or the kernel, which counts the processes that it ends.
    fn ended_by(&mut self, name: &str) -> Result<EndedBy> {
        let oom_kills = self.oom_kills(name)?;
        let before = self.oom_kills.insert(name.to_owned(), oom_kills).unwrap_or(0);
        // The engine runs in another process and reports no ends here; apps of a measurement do not end by themselves.
        let is_brisk = matches!(self.policy.killer, Killer::Brisk(_));
        let by_program = if is_brisk { EndedBy::Brisk } else { EndedBy::Itself };
        let unblamed = if oom_kills > before { EndedBy::Kernel } else { by_program };
        Ok(self.roster.remove(name).unwrap_or(unblamed))
    }

    /// Waits, unless the user stops.
    pub(crate) fn wait(&self, time: Duration) -> Result<()> {
        let until = std::time::Instant::now() + time;
        loop {
            if self.launcher.stop.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            let left = until.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(Duration::from_millis(100)));
        }
    }

    fn note(&mut self, warnings: Vec<Warning>) {
        for warning in warnings {
            if self.warnings.iter().all(|known| known.code != warning.code) {
                self.warnings.push(warning);
            }
        }
    }
}

impl Drop for Ground<'_> {
    fn drop(&mut self) {
        self.watch = None;
        self.balloon = None;
        // An app that stays is ended when it is dropped; frozen ones are ended by the kernel's kill of the group.
        self.apps.clear();
        let _ = self.settings.restore();
    }
}
