//! What the daemon says, asked for only while a page is looked at.
//!
//! ```text
//! page ──look──> Feed ──GetPressure GetJob (2 s), GetStatus GetApps GetTrials (5 s, or on an event)──> briskd
//! briskd ──Monitor──> Feed ──wakes──> pages
//! ```
//!
//! Nothing asks by itself: who shows a page looks, and the first one whose view is too old asks the daemon, for all.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use brisk_api::{Apps, Client, ClientError, Happening, Job, Pressure, PressureSpan, Said, Status, Trials};
use brisk_core::causes::in_one_line;
use brisk_sense::Sense;
use serde_json::Value;

/// A view of pressure is that long of use, and one of all else, where nothing happened.
const PRESSURE_EACH: Duration = Duration::from_secs(2);
const ALL_EACH: Duration = Duration::from_secs(5);
const DAY_EACH: Duration = Duration::from_secs(60);
/// What happens often is shown together.
const SHOWN_EACH: Duration = Duration::from_millis(700);
/// A daemon that ended is looked for again after this time.
const LISTEN_AGAIN: Duration = Duration::from_secs(2);
/// Without a look for so long, nothing listens to the daemon.
const LISTENS_FOR: Duration = Duration::from_secs(3600);
/// Points of the last minutes.
const POINTS_MAX: usize = 150;
const EVENTS_MAX: usize = 100;

/// Everything at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) daemon: Result<Arc<Machine>, Unreachable>,
    pub(crate) pressure: Pressure,
    pub(crate) day: Arc<Vec<PressureSpan>>,
    /// Shares of the last minutes, oldest first.
    pub(crate) minutes: Vec<Point>,
    /// Newest first.
    pub(crate) events: Vec<Event>,
    pub(crate) events_since_unix_ms: u64,
    /// The measurement that runs, or ran last.
    pub(crate) job: Option<Job>,
    /// Memory of this program.
    pub(crate) own_bytes: u64,
}

/// What the daemon says of itself, engines and apps.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machine {
    pub(crate) status: Status,
    pub(crate) apps: Apps,
    pub(crate) trials: Trials,
}

/// Why there is nothing to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unreachable {
    NotRunning(String),
    NotAllowed(String),
    Other(String),
}

/// Shares of time in which some task waited, between two looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) at_ns: u64,
    pub(crate) storage_percent: Option<f64>,
    pub(crate) memory_percent: Option<f64>,
}

/// Something that happened, with its number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) number: u64,
    pub(crate) at_unix_ms: u64,
    pub(crate) said: Said,
}

#[derive(Debug)]
pub(crate) struct Feed {
    socket: PathBuf,
    kept: Mutex<Kept>,
    heard: Mutex<Heard>,
    wakes: Condvar,
}

/// The last views, and when they were taken.
#[derive(Debug, Clone)]
struct Kept {
    daemon: Result<Arc<Machine>, Unreachable>,
    asked: Option<Instant>,
    /// When the daemon had answered, or had not in time: those who waited for that take its answer.
    tried: Option<Instant>,
    /// Something happened since the last view of all.
    is_old: bool,
    pressure: Pressure,
    pressure_asked: Option<Instant>,
    day: Arc<Vec<PressureSpan>>,
    day_asked: Option<Instant>,
    minutes: VecDeque<Point>,
    own_bytes: u64,
    job: Option<Job>,
}

/// What was heard of the daemon without being asked for.
#[derive(Debug)]
struct Heard {
    events: VecDeque<Event>,
    number: u64,
    since_unix_ms: u64,
    is_news: bool,
    looked: Instant,
    listens: bool,
}

impl Feed {
    pub(crate) fn new(socket: PathBuf) -> Arc<Self> {
        let kept = Kept {
            daemon: Err(Unreachable::Other(String::new())),
            asked: None,
            tried: None,
            is_old: false,
            pressure: Pressure::default(),
            pressure_asked: None,
            day: Arc::default(),
            day_asked: None,
            minutes: VecDeque::new(),
            own_bytes: 0,
            job: None,
        };
        let heard = Heard {
            events: VecDeque::new(),
            number: 0,
            since_unix_ms: now_unix_ms(),
            is_news: false,
            looked: Instant::now(),
            listens: false,
        };
        Arc::new(Self { socket, kept: Mutex::new(kept), heard: Mutex::new(heard), wakes: Condvar::new() })
    }

    /// A connection to the daemon.
    pub(crate) fn connect(&self) -> Result<Client, ClientError> {
        Client::connect(&self.socket)
    }

    /// The present view, asked for where the last one is too old.
    pub(crate) fn look(self: &Arc<Self>) -> Seen {
        self.listen();
        let is_news = {
            let mut heard = lock(&self.heard);
            heard.looked = Instant::now();
            std::mem::take(&mut heard.is_news)
        };
        let kept = {
            let mut kept = lock(&self.kept);
            kept.is_old |= is_news;
            if kept.tried.is_none_or(|tried| tried.elapsed() >= SHOWN_EACH / 2) {
                kept.refresh(self);
                kept.tried = Some(Instant::now());
            }
            kept.clone()
        };
        let Kept { daemon, pressure, day, minutes, own_bytes, job, .. } = kept;
        let heard = lock(&self.heard);
        let (events, events_since_unix_ms) = (heard.events.iter().cloned().collect(), heard.since_unix_ms);
        Seen { daemon, pressure, day, minutes: minutes.into(), events, events_since_unix_ms, own_bytes, job }
    }

    /// Sleeps until the present view may differ from the last one.
    pub(crate) fn wait(&self) {
        let begun = Instant::now();
        let heard = lock(&self.heard);
        let waited = self.wakes.wait_timeout_while(heard, PRESSURE_EACH, |heard| !heard.is_news);
        drop(waited);
        if let Some(rest) = SHOWN_EACH.checked_sub(begun.elapsed()) {
            std::thread::sleep(rest);
        }
    }

    /// Something was changed by way of the page: the view is old.
    pub(crate) fn stir(&self) {
        lock(&self.heard).is_news = true;
        self.wakes.notify_all();
    }

    /// Hears of what happens, as long as pages are looked at.
    fn listen(self: &Arc<Self>) {
        if std::mem::replace(&mut lock(&self.heard).listens, true) {
            return;
        }
        let feed = self.clone();
        let listener = std::thread::Builder::new().name("listener".to_owned()).stack_size(256 << 10);
        if listener.spawn(move || feed.hear_all()).is_err() {
            lock(&self.heard).listens = false;
        }
    }

    fn hear_all(&self) {
        let is_looked_at = || lock(&self.heard).looked.elapsed() < LISTENS_FOR;
        while is_looked_at() {
            if let Ok(mut client) = self.connect() {
                // The first one only says that it listens.
                let mut is_first = true;
                let outcome = client.monitor(|happening: Happening| {
                    if !std::mem::take(&mut is_first) {
                        self.hear(happening);
                    }
                    is_looked_at()
                });
                if outcome.is_err() {
                    self.stir();
                }
            }
            std::thread::sleep(LISTEN_AGAIN);
        }
        lock(&self.heard).listens = false;
    }

    fn hear(&self, happening: Happening) {
        let Happening { at_unix_ms, text, said, .. } = happening;
        let said = said.unwrap_or_else(|| Said { form: text.replace(['{', '}'], "").into(), values: Vec::new() });
        let mut heard = lock(&self.heard);
        heard.is_news = true;
        heard.number += 1;
        let number = heard.number;
        heard.events.push_front(Event { number, at_unix_ms, said });
        heard.events.truncate(EVENTS_MAX);
        drop(heard);
        self.wakes.notify_all();
    }
}

impl Kept {
    fn refresh(&mut self, feed: &Feed) {
        let is_due = |asked: Option<Instant>, each: Duration| asked.is_none_or(|asked| asked.elapsed() >= each);
        // A little early, so that who waits for that long finds a new view.
        let early = |each: Duration| each - Duration::from_millis(200);
        let all = self.is_old || is_due(self.asked, early(ALL_EACH)) || self.daemon.is_err();
        if !all && !is_due(self.pressure_asked, early(PRESSURE_EACH)) {
            return;
        }
        let with_day = is_due(self.day_asked, DAY_EACH);
        let asked = Instant::now();
        let outcome = feed.connect().and_then(|mut client| {
            let pressure: Pressure = client.call("GetPressure", &[("day", Value::Bool(with_day))], "pressure")?;
            let job: Option<Job> = client.call("GetJob", &[], "job")?;
            let machine = match all {
                true => Some(Machine {
                    status: client.call("GetStatus", &[], "status")?,
                    apps: client.call("GetApps", &[], "apps")?,
                    trials: client.call("GetTrials", &[], "trials")?,
                }),
                false => None,
            };
            Ok((pressure, machine, job))
        });
        let (pressure, machine, job) = match outcome {
            Ok(seen) => seen,
            Err(error) => {
                let why = in_one_line(&error);
                self.daemon = Err(match error {
                    ClientError::NotRunning { .. } => Unreachable::NotRunning(why),
                    ClientError::NotAllowed { .. } => Unreachable::NotAllowed(why),
                    _ => Unreachable::Other(why),
                });
                (self.asked, self.pressure_asked, self.day_asked) = (None, None, None);
                self.minutes.clear();
                self.job = None;
                return;
            }
        };
        if let Some(point) = point(&self.pressure, &pressure) {
            self.minutes.push_back(point);
            if self.minutes.len() > POINTS_MAX {
                self.minutes.pop_front();
            }
        }
        if with_day {
            (self.day, self.day_asked) = (Arc::new(pressure.day.clone()), Some(asked));
        }
        (self.pressure, self.pressure_asked, self.job) = (pressure, Some(asked), job);
        if let Some(machine) = machine {
            (self.daemon, self.asked, self.is_old) = (Ok(Arc::new(machine)), Some(asked), false);
            let own = Sense::default().process_stat(std::process::id()).ok().flatten();
            self.own_bytes = own.map_or(0, |own| own.resident_pages * rustix::param::page_size() as u64);
        }
    }
}

/// Shares of the time between two looks; `None` where there was no earlier one, or too long ago.
fn point(before: &Pressure, now: &Pressure) -> Option<Point> {
    const LONG_NS: u64 = 30_000_000_000;
    let elapsed_ns = now.at_ns.checked_sub(before.at_ns).filter(|ns| (1..LONG_NS).contains(ns))?;
    let share = |before: Option<u64>, now: Option<u64>| {
        let stalled_us = now?.checked_sub(before?)?;
        Some((stalled_us as f64 * 1e5 / elapsed_ns as f64).min(100.0))
    };
    Some(Point {
        at_ns: now.at_ns,
        storage_percent: share(before.storage_us, now.storage_us),
        memory_percent: share(before.memory_us, now.memory_us),
    })
}

pub(crate) fn now_unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// What a thread that panicked left is no worse than what it began with.
pub(crate) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_what_totals_grew_by_between_two_looks() {
        let at = |s: u64, storage_us: Option<u64>| Pressure {
            at_ns: s * 1_000_000_000,
            storage_us,
            memory_us: Some(7),
            ..Pressure::default()
        };
        let of = |before, now| point(&before, &now).map(|point| (point.storage_percent, point.memory_percent));
        assert_eq!(of(at(10, Some(1_000_000)), at(12, Some(1_500_000))), Some((Some(25.0), Some(0.0))));
        assert_eq!(of(at(10, None), at(12, Some(5))), Some((None, Some(0.0))));
        assert_eq!(of(Pressure::default(), at(90, Some(5))), None);
        assert_eq!(of(at(12, Some(1)), at(12, Some(1))), None);
    }

    #[test]
    fn without_a_daemon_it_says_why() {
        let dir = tempfile::tempdir().expect("a directory");
        let seen = Feed::new(dir.path().join("none")).look();
        assert!(matches!(seen.daemon, Err(Unreachable::NotRunning(why)) if why.contains("start it as root")));
    }
}
