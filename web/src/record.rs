//! A record of the daemon, for the page of makers: the moments at which something was decided, each with what was seen,
//! what was decided, and what was written. It is read once and stays in memory; nothing else is asked. What a record of
//! a few megabytes unpacks to may be gigabytes, so that only the newest moments stay that fit [`BYTES_MAX`].
//!
//! A record without decisions, as `brisk monitor` writes, has its samples as moments.
//!
//! Properties: `each_decision_is_a_moment_with_what_led_to_it`; `a_record_without_decisions_shows_its_samples`;
//! `of_a_record_that_unpacks_to_much_the_newest_moments_stay`.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use brisk_api::{Device, Pressure, PressureSpan, Status, render};
use brisk_core::device::Device as Disk;
use brisk_core::outcome::Outcomes;
use brisk_core::snapshot::{AppTotals, Interval, Snapshot};
use brisk_core::trial::LeftOut;
use brisk_record::{Decided, Item, Lost, Scene, Session};

use crate::feed::{Event, Machine, Point, Seen};

/// Spans of the whole record.
const SPANS: u64 = 288;
/// Seconds before a moment whose pressure is drawn.
const BEFORE_S: u64 = 300;
/// Events that are kept of those before a moment.
const EVENTS_MAX: usize = 100;
/// What is kept of a record, by its length as JSON; in memory it is about as large.
const BYTES_MAX: usize = 256 << 20;

/// A record.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) name: String,
    pub(crate) moments: Vec<Moment>,
    /// Pressure over all of it.
    day: Arc<Vec<PressureSpan>>,
    points: Vec<Point>,
    /// Whether a part of it could not be read.
    pub(crate) is_damaged: bool,
    /// Moments that were left out, the earliest, as all of them are too much.
    pub(crate) left_out: usize,
}

/// When something was decided.
#[derive(Debug, Clone, Default)]
pub(crate) struct Moment {
    pub(crate) at_unix_ms: u64,
    pub(crate) session: Arc<Session>,
    scene: Arc<Scene>,
    /// What was seen, and since the sample before.
    snapshot: Arc<Snapshot>,
    interval: Option<Interval>,
    /// What happened since the moment before, newest first.
    events: Vec<Event>,
    pub(crate) decided: Option<Arc<Decided>>,
}

/// What an app used at a moment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AppUse {
    pub(crate) group: String,
    pub(crate) name: String,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) swap_bytes: Option<u64>,
    pub(crate) cpu_percent: Option<f64>,
    pub(crate) is_in_front: bool,
    pub(crate) is_launching: bool,
}

impl Moment {
    /// What of the decision is new: outcomes of settings.
    pub(crate) fn written(&self) -> &Outcomes {
        static NONE: Outcomes = BTreeMap::new();
        self.decided.as_ref().map_or(&NONE, |decided| &decided.outcomes)
    }

    /// What the trials of engines left out.
    pub(crate) fn left_out(&self) -> &[LeftOut] {
        &self.scene.left_out
    }

    /// Apps with memory, most first.
    pub(crate) fn apps(&self) -> Vec<AppUse> {
        let rate = |name: &str| {
            let rates = self.interval.as_ref()?.apps.iter().find(|app| app.name == name)?;
            rates.cpu_percent
        };
        let of = |totals: &AppTotals| {
            let app = self.scene.apps.iter().find(|app| app.group == totals.name);
            let id = app.map(|app| app.id.as_str()).filter(|id| !id.is_empty());
            AppUse {
                group: totals.name.clone(),
                name: id.unwrap_or(brisk_core::group::name(&totals.name)).to_owned(),
                memory_bytes: totals.memory_bytes.or(totals.rss_bytes),
                swap_bytes: totals.swap_bytes,
                cpu_percent: rate(&totals.name),
                is_in_front: app.is_some_and(|app| app.activity.focused == Some(true)),
                is_launching: app.is_some_and(|app| app.launching),
            }
        };
        let mut apps: Vec<AppUse> = self.snapshot.apps.iter().map(of).collect();
        apps.sort_by_key(|app| (std::cmp::Reverse(app.memory_bytes), app.name.clone()));
        apps
    }
}

impl Recorded {
    /// Reads the record at `path`, with its older part.
    ///
    /// # Errors
    /// When it is no record, or cannot be read.
    pub(crate) fn read(path: &Path) -> brisk_record::Result<Self> {
        let mut taken = Taken::of_at_most(BYTES_MAX);
        let lost: Lost = brisk_record::read_with_older_part(path, |item| {
            taken.take(item);
            Ok::<(), brisk_record::Error>(())
        })?;
        let mut recorded = taken.end();
        recorded.name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        recorded.is_damaged = lost.is_damage();
        Ok(recorded)
    }

    /// What the page shows of a moment, as if the daemon had said it.
    pub(crate) fn seen(&self, moment: &Moment) -> Seen {
        let (scene, snapshot) = (&moment.scene, &moment.snapshot);
        let decided = moment.decided.as_deref().cloned().unwrap_or_default();
        let original = |setting: brisk_core::state::SettingState| brisk_core::state::SettingState {
            original: setting
                .original
                .clone()
                .or_else(|| Disk::original_of(&scene.devices, setting.knob()).map(str::to_owned)),
            ..setting
        };
        let status = Status {
            brisk_version: moment.session.brisk_version.clone(),
            started_unix_ms: moment.session.started_unix_ms,
            at_unix_ms: moment.at_unix_ms,
            devices: scene.devices.iter().map(|disk| Device::new(disk, Vec::new(), Vec::new())).collect(),
            apps: scene.apps.clone(),
            settings: decided.settings.into_iter().map(original).collect(),
            actions: decided.actions,
            notes: decided.notes,
            ..Status::default()
        };
        let until_ns = wall_ns(moment.at_unix_ms);
        let from_ns = until_ns.saturating_sub(BEFORE_S * 1_000_000_000);
        let begin = self.points.partition_point(|point| point.at_ns < from_ns);
        let end = self.points.partition_point(|point| point.at_ns <= until_ns);
        Seen {
            daemon: Ok(Arc::new(Machine { status, ..Machine::default() })),
            pressure: pressure(snapshot),
            day: self.day.clone(),
            minutes: self.points.get(begin..end).unwrap_or_default().to_vec(),
            events: moment.events.clone(),
            events_since_unix_ms: moment.session.started_unix_ms,
            job: None,
            own_bytes: 0,
        }
    }
}

fn wall_ns(unix_ms: u64) -> u64 {
    unix_ms.saturating_mul(1_000_000)
}

fn pressure(snapshot: &Snapshot) -> Pressure {
    let some_us = |of: Option<brisk_core::snapshot::StallTotals>| of.map(|of| of.some_us);
    Pressure {
        at_ns: wall_ns(snapshot.wall_unix_ms),
        storage_us: some_us(snapshot.pressure.io),
        memory_us: some_us(snapshot.pressure.memory),
        total_bytes: snapshot.memory.total_bytes,
        available_bytes: snapshot.memory.available_bytes,
        swap_total_bytes: snapshot.memory.swap_total_bytes,
        swap_free_bytes: snapshot.memory.swap_free_bytes,
        day: Vec::new(),
    }
}

/// What was read so far.
#[derive(Debug, Default)]
struct Taken {
    session: Arc<Session>,
    scene: Arc<Scene>,
    snapshot: Arc<Snapshot>,
    interval: Option<Interval>,
    events: Vec<Event>,
    number: u64,
    /// Those whose moment by the wall clock the next sample tells.
    undated: VecDeque<brisk_core::event::Event>,
    decisions: Moments,
    samples: Moments,
    points: Vec<(Point, Option<u64>)>,
}

/// The newest moments that fit.
#[derive(Debug, Default)]
struct Moments {
    /// Each with its bytes.
    all: VecDeque<(Moment, usize)>,
    bytes: usize,
    bytes_max: usize,
    left_out: usize,
}

impl Moments {
    fn push(&mut self, moment: Moment) {
        // The scene is mostly that of the moment before.
        let is_new = |last: &(Moment, usize)| !Arc::ptr_eq(&last.0.scene, &moment.scene);
        let scene = self.all.back().is_none_or(is_new).then(|| json_bytes(&*moment.scene));
        let said: usize = moment.events.iter().map(|event| json_bytes(&event.said)).sum();
        let bytes = size_of::<Moment>()
            + json_bytes(&*moment.snapshot)
            + json_bytes(&moment.interval)
            + json_bytes(&moment.decided.as_deref())
            + scene.unwrap_or(0)
            + said;
        self.bytes += bytes;
        self.all.push_back((moment, bytes));
        // The newest stays, however large it is.
        while self.bytes > self.bytes_max
            && self.all.len() > 1
            && let Some((_, bytes)) = self.all.pop_front()
        {
            self.bytes -= bytes;
            self.left_out += 1;
        }
    }
}

/// Length as JSON, which is not made.
fn json_bytes(value: &impl serde::Serialize) -> usize {
    struct Counted(usize);
    impl std::io::Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counted = Counted(0);
    // What has no form in JSON is as long as it was so far.
    let _ = serde_json::to_writer(&mut counted, value);
    counted.0
}

impl Taken {
    fn of_at_most(bytes_max: usize) -> Self {
        let moments = || Moments { bytes_max, ..Moments::default() };
        Self { decisions: moments(), samples: moments(), ..Self::default() }
    }

    fn take(&mut self, item: Item) {
        match item {
            Item::Session(session) if session.part == 0 || self.session.started_unix_ms == 0 => {
                self.session = Arc::new(session);
                self.interval = None;
                self.snapshot = Arc::default();
            }
            Item::Scene(scene) => self.scene = Arc::new(scene),
            Item::Event(event) => {
                self.undated.push_back(event);
                if self.undated.len() > EVENTS_MAX {
                    self.undated.pop_front();
                }
            }
            Item::Snapshot(snapshot) => self.sample(*snapshot),
            Item::Decided(decided) => {
                let at_unix_ms = decided.wall_unix_ms;
                let moment = self.moment(at_unix_ms, Some(Arc::new(decided)));
                self.decisions.push(moment);
                // A record with decisions has no need of the samples between.
                self.samples = Moments::default();
                self.events.clear();
            }
            _ => {}
        }
    }

    fn sample(&mut self, snapshot: Snapshot) {
        for event in std::mem::take(&mut self.undated) {
            let ago_ms = snapshot.at_ns.saturating_sub(event.at_ns) / 1_000_000;
            self.number += 1;
            let at_unix_ms = snapshot.wall_unix_ms.saturating_sub(ago_ms);
            self.events.insert(0, Event { number: self.number, at_unix_ms, said: render::event(&event.kind) });
            self.events.truncate(EVENTS_MAX);
        }
        self.interval = (self.snapshot.at_ns > 0).then(|| snapshot.since(&self.snapshot)).flatten();
        let shares = self.interval.as_ref().map(|interval| &interval.pressure);
        self.points.push((
            Point {
                at_ns: wall_ns(snapshot.wall_unix_ms),
                storage_percent: shares.and_then(|shares| Some(shares.io?.some_percent)),
                memory_percent: shares.and_then(|shares| Some(shares.memory?.some_percent)),
            },
            snapshot.memory.available_bytes,
        ));
        let at_unix_ms = snapshot.wall_unix_ms;
        self.snapshot = Arc::new(snapshot);
        if self.has_no_decision() {
            let moment = self.moment(at_unix_ms, None);
            self.samples.push(moment);
        }
    }

    fn has_no_decision(&self) -> bool {
        self.decisions.all.is_empty() && self.decisions.left_out == 0
    }

    fn moment(&self, at_unix_ms: u64, decided: Option<Arc<Decided>>) -> Moment {
        Moment {
            at_unix_ms,
            session: self.session.clone(),
            scene: self.scene.clone(),
            snapshot: self.snapshot.clone(),
            interval: self.interval.clone(),
            events: self.events.clone(),
            decided,
        }
    }

    fn end(mut self) -> Recorded {
        let moments = if self.has_no_decision() { self.samples } else { self.decisions };
        // Clocks may have been set back between sessions.
        self.points.sort_by_key(|(point, _)| point.at_ns);
        Recorded {
            left_out: moments.left_out,
            moments: moments.all.into_iter().map(|(moment, _)| moment).collect(),
            day: Arc::new(spans(&self.points)),
            points: self.points.into_iter().map(|(point, _)| point).collect(),
            ..Recorded::default()
        }
    }
}

/// Means over spans of one length, without those in which nothing was sampled.
fn spans(points: &[(Point, Option<u64>)]) -> Vec<PressureSpan> {
    let Some(((first, _), (last, _))) = points.first().zip(points.last()) else { return Vec::new() };
    let length_ns = ((last.at_ns - first.at_ns) / SPANS).max(10_000_000_000);
    let mut by_span: BTreeMap<u64, Vec<&(Point, Option<u64>)>> = BTreeMap::new();
    for one in points {
        by_span.entry((one.0.at_ns - first.at_ns) / length_ns).or_default().push(one);
    }
    let mean = |values: Vec<f64>| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    let span = |(number, of): (u64, Vec<&(Point, Option<u64>)>)| PressureSpan {
        until_unix_ms: (first.at_ns + (number + 1) * length_ns) / 1_000_000,
        length_s: length_ns as f64 / 1e9,
        storage_percent: mean(of.iter().filter_map(|(point, _)| point.storage_percent).collect()),
        memory_percent: mean(of.iter().filter_map(|(point, _)| point.memory_percent).collect()),
        available_bytes_min: of.iter().filter_map(|(_, available)| *available).min(),
    };
    by_span.into_iter().map(span).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use brisk_core::app::{App, AppFacts, classify};
    use brisk_core::event::EventKind;
    use brisk_core::snapshot::StallTotals;

    fn snapshot(s: u64, stalled_us: u64) -> Item {
        let mut snapshot = Snapshot { at_ns: s * 1_000_000_000, wall_unix_ms: s * 1000, ..Snapshot::default() };
        snapshot.pressure.io = Some(StallTotals { some_us: stalled_us, ..StallTotals::default() });
        snapshot.apps =
            vec![AppTotals { name: "app-a-1.scope".to_owned(), memory_bytes: Some(s << 20), ..AppTotals::default() }];
        Item::Snapshot(Box::new(snapshot))
    }

    fn decided(s: u64) -> Item {
        Item::Decided(Decided { wall_unix_ms: s * 1000, ..Decided::default() })
    }

    pub(crate) fn of(items: Vec<Item>) -> Recorded {
        let mut taken = Taken::of_at_most(BYTES_MAX);
        items.into_iter().for_each(|item| taken.take(item));
        taken.end()
    }

    pub(crate) fn sample() -> Recorded {
        let group = "app-a-1.scope".to_owned();
        let app = App { id: "org.a".to_owned(), ..classify(&AppFacts { group, ..AppFacts::default() }) };
        let began = EventKind::LaunchBegan { group: "app-a-1.scope".to_owned() };
        of(vec![
            Item::Session(Session { started_unix_ms: 90_000, ..Session::default() }),
            Item::Scene(Scene { apps: vec![app], ..Scene::default() }),
            snapshot(100, 0),
            decided(100),
            Item::Event(brisk_core::event::Event { at_ns: 101_000_000_000, kind: began }),
            snapshot(102, 500_000),
            decided(102),
            snapshot(104, 500_000),
        ])
    }

    #[test]
    fn each_decision_is_a_moment_with_what_led_to_it() {
        let recorded = sample();
        assert_eq!(recorded.moments.len(), 2);
        let moment = &recorded.moments[1];
        let events: Vec<(u64, String)> =
            moment.events.iter().map(|event| (event.at_unix_ms, event.said.to_string())).collect();
        assert_eq!(events, [(101_000, "app-a-1.scope is being launched".to_owned())]);
        assert!(recorded.moments[0].events.is_empty());
        let apps = moment.apps();
        assert_eq!((apps[0].name.as_str(), apps[0].memory_bytes), ("org.a", Some(102 << 20)));
        let seen = recorded.seen(moment);
        let last = seen.minutes.last().expect("points");
        assert_eq!((seen.minutes.len(), last.storage_percent), (2, Some(25.0)));
        assert_eq!(seen.day.len(), 1);
    }

    #[test]
    fn of_a_record_that_unpacks_to_much_the_newest_moments_stay() {
        for is_decided in [false, true] {
            let mut taken = Taken::of_at_most(1 << 20);
            // A moment has the last events as well.
            let large = "x".repeat(2_000);
            for s in 1..200 {
                let event = EventKind::AppGone { group: large.clone() };
                taken.take(Item::Event(brisk_core::event::Event { at_ns: s * 1_000_000_000, kind: event }));
                let app = App { id: large.clone(), ..classify(&AppFacts::default()) };
                taken.take(Item::Scene(Scene { apps: vec![app], ..Scene::default() }));
                taken.take(snapshot(s, 0));
                if is_decided {
                    taken.take(decided(s));
                }
            }
            let of = |moments: &Moments| (moments.bytes, moments.all.len());
            let (bytes, count) = of(if is_decided { &taken.decisions } else { &taken.samples });
            assert!(bytes <= 1 << 20 && count > 0 && taken.events.len() <= EVENTS_MAX, "{bytes} bytes, {count}");
            let recorded = taken.end();
            assert_eq!(recorded.moments.len() + recorded.left_out, 199);
            assert!(recorded.left_out > 0);
            assert_eq!(recorded.moments.last().map(|moment| moment.at_unix_ms), Some(199_000));
        }
    }

    #[test]
    fn a_moment_that_is_too_much_by_itself_stays_as_the_newest() {
        let mut taken = Taken::of_at_most(1);
        (1..4).for_each(|s| taken.take(snapshot(s, 0)));
        let recorded = taken.end();
        let times: Vec<u64> = recorded.moments.iter().map(|moment| moment.at_unix_ms).collect();
        assert_eq!((times, recorded.left_out), (vec![3000], 2));
    }

    #[test]
    fn a_record_without_decisions_shows_its_samples() {
        let recorded = of(vec![Item::Session(Session::default()), snapshot(1, 0), snapshot(2, 0)]);
        assert_eq!(recorded.moments.iter().map(|moment| moment.at_unix_ms).collect::<Vec<_>>(), [1000, 2000]);
        assert!(of(Vec::new()).moments.is_empty());
    }
}
