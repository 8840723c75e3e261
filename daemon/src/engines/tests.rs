use super::*;
use brisk_core::event::EventKind;
use brisk_core::snapshot::{Snapshot, Unread};
use std::sync::{Arc, Mutex};

/// What an engine was asked: the number of its events, and whether there was a moment before.
type Asked = Arc<Mutex<Vec<(usize, bool)>>>;

struct Watching {
    memory: bool,
    asked: Asked,
}

impl AnyEngine for Watching {
    fn uses(&self) -> Uses {
        Uses { memory: self.memory, ..Uses::default() }
    }

    fn decide(&mut self, observed: &Observed<'_>) -> Decision<()> {
        self.asked.lock().expect("one thread").push((observed.events.len(), observed.previous.is_some()));
        Decision { state: (), requests: Vec::new(), notes: Vec::new(), next_look_ns: None, needs: Needs::default() }
    }

    fn trial(&self) -> Option<Plan> {
        None
    }

    fn told(&self) -> Vec<(Subject, Told)> {
        Vec::new()
    }

    fn learned(&mut self) -> Option<String> {
        None
    }

    fn forget(&mut self, _app: Option<&str>) -> bool {
        false
    }

    fn show(&self, _topic: Topic<'_>) -> Option<Shown> {
        None
    }

    fn end(&mut self) -> Vec<Once> {
        Vec::new()
    }
}

#[test]
fn engines_of_memory_wait_while_it_cannot_be_read_and_miss_no_event() {
    let (memory, storage): (Asked, Asked) = (Asked::default(), Asked::default());
    let engine =
        |memory, asked: &Asked| -> Box<dyn AnyEngine> { Box::new(Watching { memory, asked: Arc::clone(asked) }) };
    let mut engines = Engines::these(vec![
        ("iram".to_owned(), engine(true, &memory)),
        ("smartio".to_owned(), engine(false, &storage)),
    ]);
    let snapshot = |at_ns: u64, is_unread: bool| {
        let mut unread = Unread::default();
        if is_unread {
            unread.add(Part::Memory);
        }
        Snapshot { at_ns, unread, ..Snapshot::default() }
    };
    let snapshots = [snapshot(1, false), snapshot(2, true), snapshot(3, true), snapshot(4, false), snapshot(5, false)];
    let mut waits = Vec::new();
    for (index, now) in snapshots.iter().enumerate() {
        let events = [Event { at_ns: now.at_ns, kind: EventKind::Screen { on: true } }];
        let previous = index.checked_sub(1).map(|before| &snapshots[before]);
        let observed = Observed { previous, now, events: &events, devices: &[], apps: &[] };
        let round = engines.decide(&Config::default(), &observed, &[]);
        let notes: Vec<&str> = round.notes.iter().map(|note| note.engine.as_str()).collect();
        waits.push((notes == ["iram"], round.next_look_ns.is_some()));
    }
    assert_eq!(waits, [(false, false), (true, true), (true, true), (false, false), (false, false)]);
    // After the gap the moment before says nothing of memory.
    assert_eq!(*memory.lock().expect("one thread"), [(1, false), (3, false), (1, true)]);
    assert_eq!(*storage.lock().expect("one thread"), [(1, false), (1, true), (1, true), (1, true), (1, true)]);
}

#[test]
fn apps_end_only_where_a_person_names_the_engine_or_wants_it() {
    use brisk_core::action::Ends;
    let ends = |text: &str| {
        let config = Config::parse(text).expect("a configuration");
        let engines = Engines::new(&config, &BTreeMap::new()).0;
        (engines.names().len(), engines.uses().ends.map(|(ends, _)| ends))
    };
    let all = by_default().len();
    assert_eq!(ends(""), (all, Some(Ends::Never)));
    assert_eq!(ends("[engines]\norder = \"auto\"\n[iram]\nends = \"always\"\n"), (all, Some(Ends::Always)));
    assert_eq!(ends("[engines]\norder = [\"iram\"]\n"), (1, Some(Ends::Auto)));
}

/// An engine with these requests, which is tried on each app, and wants to be asked each second.
struct Requests(Vec<Request>);

impl AnyEngine for Requests {
    fn uses(&self) -> Uses {
        Uses::default()
    }

    fn decide(&mut self, observed: &Observed<'_>) -> Decision<()> {
        let (requests, next_look_ns) = (self.0.clone(), Some(observed.now.at_ns + 1_000_000_000));
        Decision { state: (), requests, notes: Vec::new(), next_look_ns, needs: Needs::default() }
    }

    fn trial_ahead(&self) -> Option<(&'static str, Plan)> {
        use brisk_core::trial::{Figure, Span};
        let (span, figure) = (Span::Prepared, Figure::StorageWait);
        Some(("ready", Plan { scope: Scope::App, span, figure, learn: 0 }))
    }

    fn trial(&self) -> Option<Plan> {
        use brisk_core::trial::{Figure, Span};
        let (span, figure) = (Span::Time { block_s: 100, wash_out_s: 10 }, Figure::StallShare);
        Some(Plan { scope: Scope::App, span, figure, learn: 1 })
    }

    fn told(&self) -> Vec<(Subject, Told)> {
        Vec::new()
    }

    fn learned(&mut self) -> Option<String> {
        None
    }

    fn forget(&mut self, _app: Option<&str>) -> bool {
        false
    }

    fn show(&self, _topic: Topic<'_>) -> Option<Shown> {
        None
    }

    fn end(&mut self) -> Vec<Once> {
        Vec::new()
    }
}

#[test]
fn what_is_left_out_is_of_its_subject_and_what_reads_back_may_go_on() {
    use brisk_core::app::{AppFacts, classify};
    use brisk_core::arbiter::Rule;
    use brisk_core::decision::Objective;
    let once = |once: Once| Request::once(once, Objective::Delay, Reason::rule("test"));
    let group = |id: &str| format!("app-{id}-1.scope");
    let apps: Vec<App> = ["a", "b"]
        .map(|id| classify(&AppFacts { group: group(id), id: id.to_owned(), of_user: true, ..AppFacts::default() }))
        .into();
    let requests = vec![
        once(Once::Freeze { group: group("a") }),
        once(Once::PageIn { group: group("b"), ranges: Vec::new() }),
        once(Once::Thaw { group: group("b") }),
    ];
    let now = Snapshot::default();
    let observed = Observed { previous: None, now: &now, events: &[], devices: &[], apps: &apps };
    let mut engines = Engines::these(vec![("mars".to_owned(), Box::new(Requests(requests)) as Box<dyn AnyEngine>)]);
    let left_out = |id: Option<&str>, arm, reads_back| LeftOut {
        engine: "mars".to_owned(),
        subject: id.map(|id| Subject::App(id.to_owned())),
        arm,
        reads_back,
    };
    let mut names = |left_out: &[LeftOut]| {
        let round = engines.decide(&Config::default(), &observed, left_out);
        let dropped = round.resolution.dropped_actions.iter().map(|one| (one.what.name(), one.rule));
        // Whatever is applied, it was requested.
        assert_eq!(round.trials.touched.len(), 2);
        dropped.collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), []);
    assert_eq!(names(&[left_out(Some("a"), Arm::HeldOut, false)]), [("freeze", Rule::HeldOut)]);
    assert_eq!(names(&[left_out(Some("b"), Arm::HeldOut, false)]), [("page_in", Rule::HeldOut)]);
    assert_eq!(names(&[left_out(Some("b"), Arm::HeldOut, true)]), []);
    let all = [("freeze", Rule::SwitchedOff), ("page_in", Rule::SwitchedOff)];
    assert_eq!(names(&[left_out(None, Arm::Off, false)]), all, "and the app is thawed");
    assert_eq!(names(&[LeftOut { engine: "iram".to_owned(), ..left_out(None, Arm::Off, false) }]), []);
}

#[test]
fn what_is_done_between_launches_has_a_trial_of_its_own() {
    use brisk_core::arbiter::Rule;
    use brisk_core::decision::Objective;
    let once = Once::MakeReady { group: "a".to_owned(), most_bytes: 1, files: Vec::new(), pieces: Vec::new() };
    let requests = vec![Request::once(once, Objective::Energy, Reason::rule("test"))];
    let engine = Box::new(Requests(requests)) as Box<dyn AnyEngine>;
    let mut engines = Engines::these(vec![("prefetch".to_owned(), engine)]);
    assert_eq!(engines.plans().into_keys().collect::<Vec<_>>(), ["prefetch", "ready"]);
    let now = Snapshot::default();
    let observed = Observed { previous: None, now: &now, events: &[], devices: &[], apps: &[] };
    let subject = Subject::App("a".to_owned());
    let mut dropped = |engine: &str, subject: Option<&Subject>, arm| {
        let left_out = LeftOut { engine: engine.to_owned(), subject: subject.cloned(), arm, reads_back: false };
        let round = engines.decide(&Config::default(), &observed, &[left_out]);
        let touched: Vec<_> = round.trials.touched.into_iter().collect();
        assert_eq!(touched, [("ready".to_owned(), Subject::App("a".to_owned()))]);
        round.resolution.dropped_actions.first().map(|one| one.rule)
    };
    assert_eq!(dropped("ready", Some(&subject), Arm::HeldOut), Some(Rule::HeldOut));
    assert_eq!(dropped("ready", Some(&Subject::App("b".to_owned())), Arm::HeldOut), None);
    assert_eq!(dropped("prefetch", Some(&subject), Arm::HeldOut), None, "that is of launches");
    assert_eq!(dropped("prefetch", None, Arm::Off), Some(Rule::SwitchedOff));
    assert_eq!(dropped("ready", None, Arm::Off), Some(Rule::SwitchedOff));
}

#[test]
fn an_engine_of_which_nothing_is_applied_is_asked_seldom() {
    let now = Snapshot::default();
    let observed = Observed { previous: None, now: &now, events: &[], devices: &[], apps: &[] };
    let mut engines = Engines::these(vec![("mars".to_owned(), Box::new(Requests(Vec::new())) as Box<dyn AnyEngine>)]);
    let mut look_s = |left_out: &[LeftOut]| {
        let round = engines.decide(&Config::default(), &observed, left_out);
        round.next_look_ns.map(|next_ns| next_ns / 1_000_000_000)
    };
    let of = |subject, reads_back| LeftOut { engine: "mars".to_owned(), subject, arm: Arm::HeldOut, reads_back };
    assert_eq!(look_s(&[]), Some(1));
    assert_eq!(look_s(&[of(None, false)]), Some(5));
    assert_eq!(look_s(&[of(Some(Subject::Machine), false)]), Some(5));
    assert_eq!(look_s(&[of(Some(Subject::Machine), true)]), Some(1), "what was taken before is read back");
    assert_eq!(look_s(&[of(Some(Subject::App("a".to_owned())), false)]), Some(1), "it acts on other apps");
}

#[test]
fn what_no_whole_device_has_shown_to_gain_acts_only_where_it_is_named() {
    assert_eq!(by_default(), ["prefetch", "smartio", "smartstorage", "iram"]);
    let names = |text: &str| {
        let config = Config::parse(text).expect("a configuration");
        Engines::new(&config, &BTreeMap::new()).0.names().join(" ")
    };
    assert_eq!(names(""), "prefetch smartio smartstorage iram");
    assert_eq!(names("[engines]\norder = [\"mars\", \"iram\"]\n"), "mars iram");
    // iRAM does not take memory then: a section alone names no engine.
    let mut own = brisk_engine::iram::Config::default();
    brisk_engine::iram::Iram::unnamed(&mut own);
    assert!(!own.reclaim && own.ends == brisk_core::action::Ends::Never);
}

/// An engine that wants to write as much as it is told that it may.
struct Writes(&'static str, Option<u64>);

impl AnyEngine for Writes {
    fn uses(&self) -> Uses {
        Uses { memory: true, ..Uses::default() }
    }

    fn wear(&mut self, wear: SwapWrites) {
        self.1 = wear.left_bytes;
    }

    fn decide(&mut self, _observed: &Observed<'_>) -> Decision<()> {
        use brisk_core::decision::Objective;
        let once = Once::Reclaim { group: self.0.to_owned(), size_bytes: self.1.unwrap_or(0) };
        let requests = vec![Request::once(once, Objective::Delay, Reason::rule("test"))];
        Decision { state: (), requests, notes: Vec::new(), next_look_ns: None, needs: Needs::default() }
    }

    fn trial(&self) -> Option<Plan> {
        None
    }

    fn told(&self) -> Vec<(Subject, Told)> {
        Vec::new()
    }

    fn learned(&mut self) -> Option<String> {
        None
    }

    fn forget(&mut self, _app: Option<&str>) -> bool {
        false
    }

    fn show(&self, _topic: Topic<'_>) -> Option<Shown> {
        None
    }

    fn end(&mut self) -> Vec<Once> {
        Vec::new()
    }
}

#[test]
fn all_engines_share_one_budget_of_wear() {
    const MIB: u64 = 1 << 20;
    let two =
        || ["one", "two"].map(|name| (name.to_owned(), Box::new(Writes(name, None)) as Box<dyn AnyEngine>)).into();
    let mut engines = Engines::these(two());
    let devices = [brisk_core::device::Device { has_swap: true, ..brisk_core::device::Device::default() }];
    let now = Snapshot { at_ns: 1, wall_unix_ms: 1_795_312_800_000, ..Snapshot::default() };
    let mut decide = |events: &[Event]| {
        let observed = Observed { previous: None, now: &now, events, devices: &devices, apps: &[] };
        let round = engines.decide(&Config::default(), &observed, &[]);
        let all = round.resolution.actions.iter().chain(&round.resolution.dropped_actions);
        let bytes = all.map(|one| match &one.what {
            Once::Reclaim { size_bytes, .. } => *size_bytes,
            other => panic!("{other:?}"),
        });
        (bytes.collect::<Vec<_>>(), engines.swap_writes().and_then(|writes| writes.left_bytes))
    };
    // A quarter of 2,048 MiB at once: the first takes it, and nothing is left for the second.
    let (mut bytes, left_bytes) = decide(&[]);
    bytes.sort_unstable();
    assert_eq!((bytes, left_bytes), (vec![0, 512 * MIB], Some(0)));
    // What came to nothing is given back.
    let once = Once::Reclaim { group: "one".to_owned(), size_bytes: 512 * MIB };
    let dropped =
        Event { at_ns: 1, kind: EventKind::Performed { once, outcome: brisk_core::outcome::Outcome::Dropped } };
    assert!(decide(&[dropped]).0.contains(&(512 * MIB)));
    // It is kept.
    let text = engines.learned().find(|(name, _)| name == "wear/learned.json").expect("kept").1;
    let files = BTreeMap::from([("wear/learned.json".to_owned(), text)]);
    let (again, complaints) = Engines::new(&Config::default(), &files);
    assert!(complaints.is_empty() && again.swap_writes().is_some_and(|writes| writes.written_bytes == 512 * MIB));
}
