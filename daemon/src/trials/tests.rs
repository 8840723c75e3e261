use brisk_core::app::{AppFacts, classify};
use brisk_core::event::Event;
use brisk_core::snapshot::{AppTotals, DiskTotals, IoTotals, Snapshot, StallTotals};
use brisk_core::trial::Figure;

use super::*;

const S_NS: u64 = 1_000_000_000;
const GROUP: &str = "app-reader-1.scope";
const LAUNCHES: Plan = Plan { scope: Scope::App, span: Span::Launch, figure: Figure::StorageWait, learn: 1 };
const LOADS: Plan =
    Plan { scope: Scope::Disk, span: Span::Load { most_s: 30 }, figure: Figure::StorageShare, learn: 1 };
const TIMES: Plan = Plan {
    scope: Scope::Machine,
    span: Span::Time { block_s: 1_800, wash_out_s: 300 },
    figure: Figure::StallShare,
    learn: 1,
};

/// A machine with one app and one disk, on which `engine` is tried by `plan`.
struct World {
    trials: Trials,
    engine: &'static str,
    now: Snapshot,
    devices: Vec<Device>,
    is_launching: bool,
    changes: Vec<Change>,
}

impl World {
    fn new(engine: &'static str, plan: Plan) -> Self {
        Self::with(engine, plan, Trials::default(), "6.12")
    }

    fn with(engine: &'static str, plan: Plan, mut trials: Trials, kernel: &str) -> Self {
        trials.configure(&config::Engines::default(), [(engine.to_owned(), Some(plan))].into(), kernel, 77);
        let app = AppTotals {
            name: GROUP.to_owned(),
            io_pressure: Some(StallTotals::default()),
            memory_pressure: Some(StallTotals::default()),
            ..AppTotals::default()
        };
        let now = Snapshot {
            at_ns: S_NS,
            wall_unix_ms: 1_795_000_000_000,
            apps: vec![app],
            disks: vec![DiskTotals { name: "sda".to_owned(), ..DiskTotals::default() }],
            ..Snapshot::default()
        };
        let device = Device { name: "sda".to_owned(), model: "KLUBG".to_owned(), ..Device::default() };
        Self { trials, engine, now, devices: vec![device], is_launching: false, changes: Vec::new() }
    }

    fn apps(&self) -> Vec<App> {
        let facts = AppFacts {
            group: GROUP.to_owned(),
            id: "reader".to_owned(),
            of_user: true,
            launching: self.is_launching,
            ..AppFacts::default()
        };
        vec![classify(&facts)]
    }

    fn left_out(&mut self) -> Vec<LeftOut> {
        let (apps, now_ns, wall) = (self.apps(), self.now.at_ns, self.now.wall_unix_ms);
        self.trials.left_out(&apps, &self.devices, now_ns, wall)
    }

    fn scans(&mut self) -> Scans {
        self.trials.scans("mars", self.now.at_ns, self.now.wall_unix_ms)
    }

    fn arm(&mut self) -> Arm {
        self.left_out().first().map_or(Arm::On, |one| one.arm)
    }

    /// So much later a round with these events, in which the engine has something to request for the subject.
    fn round(&mut self, ms: u64, subject: Option<&Subject>, told: Option<Told>, kinds: &[EventKind]) {
        self.now.at_ns += ms * 1_000_000;
        self.now.wall_unix_ms += ms;
        let at_ns = self.now.at_ns;
        let events: Vec<Event> = kinds.iter().map(|kind| Event { at_ns, kind: kind.clone() }).collect();
        let touched = subject.iter().map(|subject| (self.engine.to_owned(), (*subject).clone()));
        let of_app = told.map(|told| (self.engine.to_owned(), Subject::App("reader".to_owned()), told));
        let round = ForTrials { touched: touched.collect(), told: of_app.into_iter().collect() };
        let apps = self.apps();
        let observed =
            Observed { previous: None, now: &self.now, events: &events, devices: &self.devices, apps: &apps };
        self.changes.extend(self.trials.after(&round, &observed));
    }

    fn waits(&mut self, us: u64) {
        self.now.apps[0].io_pressure.as_mut().expect("counted").some_us += us;
    }

    /// A launch that waits so long for storage with the engine, and a second without. Gives its arm.
    fn launch(&mut self, on_us: u64, touches: bool, told: Option<Told>) -> Arm {
        let (group, subject) = (GROUP.to_owned(), Subject::App("reader".to_owned()));
        let subject = Some(&subject).filter(|_| touches);
        self.is_launching = true;
        self.round(1_000, subject, None, &[EventKind::LaunchBegan { group: group.clone() }]);
        let arm = self.arm();
        self.waits(if arm == Arm::On { on_us } else { 1_000_000 });
        self.round(1_000, None, None, &[]);
        self.is_launching = false;
        self.round(1_000, None, told, &[EventKind::LaunchEnded { group }]);
        arm
    }

    /// So many of them.
    fn launches(&mut self, count: usize, on_us: u64) {
        for _ in 0..count {
            self.launch(on_us, true, None);
        }
    }

    fn only(&self) -> SubjectTrial {
        let shown = self.trials.show(true);
        let [engine] = shown.engines.as_slice() else { panic!("{shown:?}") };
        let [subject] = engine.subjects.as_slice() else { panic!("{shown:?}") };
        subject.clone()
    }
}

#[test]
fn what_is_observed_changes_nothing() {
    let mut world = World::new("prefetch", LAUNCHES);
    let of_app = |arm| {
        let subject = Some(Subject::App("reader".to_owned()));
        vec![LeftOut { engine: "prefetch".to_owned(), subject, arm, reads_back: false }]
    };
    assert_eq!(world.left_out(), of_app(Arm::Observing));
    assert_eq!(world.launch(0, false, None), Arm::Observing);
    assert_eq!(world.left_out(), of_app(Arm::Observing), "it had nothing to request");
    world.launch(0, true, None);
    assert_eq!((world.only().phase, world.only().learned), (Phase::OnTrial, 1));
}

#[test]
fn half_of_the_launches_are_held_out_and_their_waits_compared() {
    let mut world = World::new("prefetch", LAUNCHES);
    world.launch(0, true, None);
    let arms: Vec<Arm> = (0..10).map(|_| world.launch(600_000, true, None)).collect();
    assert_eq!(arms.iter().filter(|arm| **arm == Arm::HeldOut).count(), 5);
    let of = world.only();
    assert_eq!((of.pairs, of.acted.episodes, of.held_out.episodes), (5, 5, 5));
    assert!((of.acted.storage_s - 3.0).abs() < 1e-9 && (of.held_out.storage_s - 5.0).abs() < 1e-9, "{of:?}");
    world.launches(14, 600_000);
    let last = world.changes.last().expect("it gains");
    assert_eq!((last.phase, last.why, &last.subject), (Phase::Acting, Why::Gains, &Subject::App("reader".to_owned())));
    let shown = world.trials.show(false);
    let effect = shown.engines[0].effect.expect("known");
    assert!(effect.high < 1.0 && (effect.ratio - 0.6).abs() < 0.01, "{effect:?}");
    assert!((shown.engines[0].acting, shown.engines[0].subjects.len()) == (1, 0), "{shown:?}");
}

#[test]
fn an_episode_in_which_nothing_was_requested_does_not_count() {
    let mut world = World::new("prefetch", LAUNCHES);
    world.launch(0, true, None);
    let arm = world.arm();
    (0..5).for_each(|_| assert_eq!(world.launch(0, false, None), arm));
    assert_eq!(world.only().acted.episodes + world.only().held_out.episodes, 0);
    // What the engine calls void is counted in no arm either.
    world.launch(0, true, Some(Told::Void));
    assert_eq!((world.only().acted.episodes + world.only().held_out.episodes, world.only().pairs), (0, 0));
    world.launch(0, true, Some(Told::Anew));
    assert_eq!((world.only().phase, world.only().why), (Phase::OnTrial, Why::Changed));
}

#[test]
fn what_is_prepared_between_two_launches_is_judged_by_the_next() {
    let plan = Plan { scope: Scope::App, span: Span::Prepared, figure: Figure::StorageWait, learn: 0 };
    let mut world = World::new("ready", plan);
    let subject = Subject::App("reader".to_owned());
    assert_eq!(world.left_out(), [], "it is not expected");
    world.trials.expect(["reader".to_owned()].into());
    let mut arms = Vec::new();
    for _ in 0..10 {
        arms.push(world.arm());
        let (on, before) = (arms.last() == Some(&Arm::On), world.trials.text());
        world.round(1_000, Some(&subject), None, &[]);
        assert_eq!((world.arm(), world.trials.text()), (*arms.last().expect("one"), before), "until the launch ends");
        let group = GROUP.to_owned();
        world.is_launching = true;
        world.round(1_000, None, None, &[EventKind::LaunchBegan { group: group.clone() }]);
        world.waits(if on { 300_000 } else { 1_000_000 });
        world.is_launching = false;
        world.round(1_000, None, None, &[EventKind::LaunchEnded { group }]);
    }
    assert_eq!(
        arms.iter().filter(|arm| **arm == Arm::HeldOut).count(),
        5,
        "there is nothing to observe first: {arms:?}"
    );
    let of = world.only();
    assert_eq!((of.pairs, of.acted.episodes, of.held_out.episodes), (5, 5, 5));
    assert!((of.acted.storage_s - 1.5).abs() < 1e-9 && (of.held_out.storage_s - 5.0).abs() < 1e-9, "{of:?}");
    // A launch for which nothing was prepared does not count, nor one before which the daemon was paused.
    world.launch(0, false, None);
    world.round(1_000, Some(&subject), None, &[]);
    world.trials.void();
    world.launch(0, false, None);
    assert_eq!(world.only().pairs, 5);
}

#[test]
fn an_app_that_ends_in_its_launch_is_void() {
    let mut world = World::new("prefetch", LAUNCHES);
    world.launch(0, true, None);
    let (group, subject) = (GROUP.to_owned(), Subject::App("reader".to_owned()));
    world.is_launching = true;
    world.round(1_000, Some(&subject), None, &[EventKind::LaunchBegan { group: group.clone() }]);
    world.round(1_000, None, None, &[EventKind::AppGone { group }]);
    assert_eq!(world.only().acted.episodes + world.only().held_out.episodes, 0);
    world.launches(2, 0);
    assert_eq!(world.only().pairs, 1, "another pair begins");
}

#[test]
fn a_suspend_voids_launches_and_no_blocks_of_time() {
    let mut world = World::new("prefetch", LAUNCHES);
    world.launch(0, true, None);
    let (group, subject) = (GROUP.to_owned(), Subject::App("reader".to_owned()));
    world.is_launching = true;
    world.round(1_000, Some(&subject), None, &[EventKind::LaunchBegan { group: group.clone() }]);
    world.round(9_000, None, None, &[EventKind::Resumed { gap_ms: 9_000 }]);
    world.round(1_000, None, None, &[EventKind::LaunchEnded { group }]);
    assert_eq!(world.only().acted.episodes + world.only().held_out.episodes, 0);

    // A phone that sleeps whenever it was used for three minutes.
    let mut world = World::new("mars", TIMES);
    for _ in 0..35 {
        let kinds = [EventKind::Resumed { gap_ms: 900_000 }, focused()];
        world.now.wall_unix_ms += 900_000;
        world.round(90_000, Some(&Subject::Machine), None, &kinds);
        world.round(90_000, Some(&Subject::Machine), None, &[]);
    }
    let of = world.only();
    assert_eq!((of.phase, of.acted.episodes + of.held_out.episodes), (Phase::OnTrial, 2), "{of:?}");
}

fn focused() -> EventKind {
    EventKind::Focused { group: GROUP.to_owned() }
}

/// So many minutes in which the engine has something to request, a round each, after the wash-out with an app that
/// comes to the foreground, or none.
fn minutes(world: &mut World, count: u64, is_used: bool) {
    for minute in 0..count {
        let kinds = if is_used && minute > 5 { vec![focused()] } else { Vec::new() };
        world.round(60_000, Some(&Subject::Machine), None, &kinds);
    }
}

#[test]
fn a_block_in_which_nobody_used_the_device_does_not_count() {
    let mut world = World::new("mars", TIMES);
    minutes(&mut world, 300, false);
    assert!(world.trials.show(true).engines[0].subjects.is_empty());
    minutes(&mut world, 32, true);
    assert_eq!(world.only().phase, Phase::OnTrial);
    let before = world.only();
    minutes(&mut world, 300, false);
    let after = world.only();
    assert_eq!(before.acted.episodes + before.held_out.episodes, after.acted.episodes + after.held_out.episodes);
}

#[test]
fn a_block_that_the_end_of_the_daemon_cuts_short_counts() {
    let drive = |minutes_on: u64, text: Option<&str>| {
        let mut world = World::with("mars", TIMES, Trials::of(text).expect("a text"), "6.12");
        minutes(&mut world, minutes_on, true);
        world.trials.end(world.now.wall_unix_ms);
        world.trials
    };
    // Of a car that is driven for twenty minutes at a time, and of one for ten.
    let mut text = None;
    for _ in 0..9 {
        text = drive(20, text.as_deref()).text();
    }
    let shown = drive(10, text.as_deref()).show(true);
    let of = &shown.engines[0].subjects[0];
    assert_eq!((of.phase, of.acted.episodes + of.held_out.episodes), (Phase::OnTrial, 8), "{of:?}");
    assert!(drive(10, None).show(true).engines[0].subjects.is_empty());
}

#[test]
fn a_disk_is_tried_by_stretches_of_load() {
    let mut world = World::new("smartio", LOADS);
    let disk = Subject::Disk("KLUBG".to_owned());
    let stretch = |world: &mut World, requests: u64| {
        let arm = world.arm();
        let acts = if arm == Arm::On { Acts::OnDisks } else { Acts::No };
        assert_eq!(world.trials.acts(&world.devices, world.now.at_ns, world.now.wall_unix_ms), acts);
        world.round(1_000, Some(&disk), None, &[]);
        let read = &mut world.now.disks[0].read;
        *read = IoTotals { requests: read.requests + requests, ..*read };
        world.waits(if arm == Arm::On { 200_000 } else { 800_000 });
        world.round(1_000, Some(&disk), None, &[]);
        world.round(1_000, None, None, &[]);
        arm
    };
    assert_eq!(stretch(&mut world, 100), Arm::Observing);
    let arms: Vec<Arm> = (0..4).map(|_| stretch(&mut world, 100)).collect();
    assert_eq!((world.only().pairs, world.only().subject.as_str()), (2, "disk KLUBG"), "{arms:?}");
    assert!((0..2).all(|_| stretch(&mut world, 3) != Arm::Observing));
    assert_eq!(world.only().pairs, 2, "a disk that did next to nothing tells nothing");
    // A long one is cut.
    let subject = Subject::Disk("KLUBG".to_owned());
    for _ in 0..65 {
        world.now.disks[0].read.requests += 50;
        world.round(1_000, Some(&subject), None, &[]);
    }
    assert_eq!(world.only().pairs, 3);
}

#[test]
fn a_disk_that_rests_between_loads_is_tried_all_the_same() {
    let mut world = World::new("smartstorage", Plan { figure: Figure::BusyTime, ..LOADS });
    let disk = Subject::Disk("KLUBG".to_owned());
    // The engine requests a setting throughout; each load is followed by five minutes of rest.
    for _ in 0..40 {
        (0..2).for_each(|_| world.round(1_000, Some(&disk), None, &[]));
        let busy_ms = if world.arm() == Arm::On { 100 } else { 200 };
        let of_disk = &mut world.now.disks[0];
        (of_disk.read.requests, of_disk.busy_ms) = (of_disk.read.requests + 100, of_disk.busy_ms + busy_ms);
        (0..10).for_each(|_| world.round(31_000, Some(&disk), None, &[]));
    }
    let of = world.only();
    assert_eq!((of.phase, of.why), (Phase::Acting, Why::Gains), "{of:?}");
}

#[test]
fn waits_of_an_app_that_ends_within_an_episode_count() {
    let mut world = World::new("smartio", LOADS);
    let disk = Subject::Disk("KLUBG".to_owned());
    for _ in 0..3 {
        let before = world.now.apps.clone();
        world.round(1_000, Some(&disk), None, &[]);
        world.now.disks[0].read.requests += 100;
        world.waits(500_000);
        world.round(1_000, Some(&disk), None, &[]);
        // It is gone in the round that ends the episode.
        world.now.apps.clear();
        world.round(1_000, None, None, &[]);
        world.now.apps = before;
    }
    let (acted, held_out) = (world.only().acted, world.only().held_out);
    assert_eq!((acted.episodes, held_out.episodes), (1, 1));
    assert!((acted.storage_s - 0.5).abs() < 1e-9 && (held_out.storage_s - 0.5).abs() < 1e-9, "{acted:?} {held_out:?}");
}

#[test]
fn memory_is_tried_by_blocks_of_time_after_a_wash_out() {
    let mut world = World::new("mars", TIMES);
    let hour = |world: &mut World, touches: bool| {
        let subject = Some(&Subject::Machine).filter(|_| touches);
        let (mut reads_back, mut scans) = (Vec::new(), Vec::new());
        let mut arm = Arm::On;
        for minute in 0..30 {
            world.round(if minute == 0 { 0 } else { 60_000 }, subject, None, &[focused()]);
            arm = world.arm();
            reads_back.extend(world.left_out().first().map(|one| one.reads_back));
            scans.push(world.scans());
            // What carries over is much, and counts for nothing.
            world.waits(if minute < 5 { 30_000_000 } else { 1_000_000 });
        }
        world.round(60_000, subject, None, &[]);
        (arm, reads_back, scans)
    };
    assert_eq!(world.scans(), Scans::AtRest, "it reads nothing back");
    assert_eq!(world.trials.acts(&[], 0, 0), Acts::No);
    assert_eq!(hour(&mut world, true).0, Arm::Observing);
    assert_eq!((world.only().phase, world.scans()), (Phase::OnTrial, Scans::AtReturns));
    assert_eq!(world.trials.acts(&[], 0, 0), Acts::OnMemory);
    assert_eq!(world.trials.next_ns().map(|ns| ns > world.now.at_ns), Some(true));
    let blocks: Vec<(Arm, Vec<bool>, Vec<Scans>)> = (0..4).map(|_| hour(&mut world, true)).collect();
    let of = world.only();
    assert_eq!((of.pairs, of.acted.episodes), (2, 2));
    let (share, length_s) = (of.acted.storage_s / of.acted.length_s, of.acted.length_s / 2.0);
    assert!((0.016..0.018).contains(&share) && (1_490.0..1_510.0).contains(&length_s), "{of:?}");
    for (arm, reads_back, scans) in blocks {
        if arm == Arm::On {
            assert!(scans.iter().all(|scans| *scans == Scans::AtReturns), "{scans:?}");
            continue;
        }
        let first = reads_back.iter().filter(|back| **back).count();
        assert!((4..=6).contains(&first) && reads_back[..first].iter().all(|back| *back), "{reads_back:?}");
        // What a scan costs is in the difference of both arms, but as long as something is read back.
        assert!(scans[..first].iter().all(|scans| *scans == Scans::AtReturns), "{scans:?}");
        assert!(scans[first..].iter().all(|scans| *scans == Scans::AtRest), "{scans:?}");
    }
    hour(&mut world, false);
    assert_eq!(world.only().acted.episodes + world.only().held_out.episodes, 4, "nothing was to be done");
}

#[test]
fn a_person_switches_an_engine_and_it_is_kept() {
    let mut world = World::new("prefetch", LAUNCHES);
    assert!(!world.trials.switch("turbo", Some(Ladder::On), 0));
    assert!(world.trials.switch("prefetch", Some(Ladder::Off), 0));
    let off = LeftOut { engine: "prefetch".to_owned(), subject: None, arm: Arm::Off, reads_back: false };
    assert_eq!((world.left_out().as_slice(), world.trials.scans("prefetch", 0, 0)), (&[off.clone()][..], Scans::None));
    let text = world.trials.text().expect("something is known");
    let mut again = World::with("prefetch", LAUNCHES, Trials::of(Some(&text)).expect("a text"), "6.12");
    assert_eq!(again.left_out(), [off]);
    again.trials.switch("prefetch", Some(Ladder::On), 0);
    let arms: Vec<Arm> = (0..20).map(|_| again.launch(2_000_000, true, None)).collect();
    assert_eq!(arms.iter().filter(|arm| **arm == Arm::HeldOut).count(), 2, "{arms:?}");
    again.trials.switch("prefetch", None, 0);
    assert_eq!(again.only().phase, Phase::OnTrial);
}

#[test]
fn engines_that_are_named_act_from_the_start() {
    let mut trials = Trials::default();
    let order = Order::These(vec!["prefetch".to_owned()]);
    let named = config::Engines { order, ..config::Engines::default() };
    trials.configure(&named, [("prefetch".to_owned(), Some(LAUNCHES))].into(), "6.12", 5);
    let mut world = World { trials, ..World::new("prefetch", LAUNCHES) };
    let arms: Vec<Arm> = (0..10).map(|_| world.launch(500_000, true, None)).collect();
    assert_eq!(arms.iter().filter(|arm| **arm == Arm::On).count(), 9, "{arms:?}");
    let without = config::Engines { trial: false, ..named };
    world.trials.configure(&without, [("prefetch".to_owned(), Some(LAUNCHES))].into(), "6.12", 5);
    assert!((0..20).all(|_| world.launch(500_000, true, None) == Arm::On));
}

#[test]
fn a_forgotten_app_has_no_trial() {
    let mut world = World::new("prefetch", LAUNCHES);
    world.launches(5, 1);
    assert!(world.trials.text().expect("known").contains("reader"));
    assert!(!world.trials.forget(Some("other")) && world.trials.forget(Some("reader")));
    assert!(!world.trials.text().expect("the pairs of all").contains("reader"));
    assert_eq!(world.arm(), Arm::Observing);
    assert!(!world.trials.forget(None));
    assert_eq!(world.trials.text(), None);
}

#[test]
fn another_kernel_begins_trials_anew() {
    let mut world = World::new("prefetch", LAUNCHES);
    world.launches(40, 4_000_000);
    assert_eq!(world.only().phase, Phase::Resting);
    let text = world.trials.text().expect("known");
    let phase = |kernel| {
        let world = World::with("prefetch", LAUNCHES, Trials::of(Some(&text)).expect("a text"), kernel);
        world.only().phase
    };
    assert_eq!((phase("6.12"), phase("6.18")), (Phase::Resting, Phase::OnTrial));
}

#[test]
fn what_is_kept_is_bounded() {
    let mut world = World::new("prefetch", LAUNCHES);
    let ended = Ended::Counts { value: 1.0, sums: brisk_core::trial::Sums::default() };
    for nth in 0..kept::SUBJECTS_MAX as u64 + 50 {
        let subject = Subject::App(format!("org.example.App{nth}"));
        world.trials.kept.take("prefetch", &LAUNCHES, &subject, &ended, nth);
    }
    let text = world.trials.text().expect("known");
    assert_eq!(world.trials.kept.trials("prefetch").count(), kept::SUBJECTS_MAX);
    assert!(text.contains("App249\"") && !text.contains("App49\"") && text.len() < 200_000, "{}", text.len());
    assert!(Trials::of(Some("{\"version\":2}")).is_err() && Trials::of(Some("{")).is_err());
}

#[test]
fn invented_apps_of_one_user_evict_no_trial_of_another() {
    let mut world = World::new("prefetch", LAUNCHES);
    let ended = Ended::Counts { value: 1.0, sums: brisk_core::trial::Sums::default() };
    let mail = Subject::App("1000/mail".to_owned());
    world.trials.kept.take("prefetch", &LAUNCHES, &mail, &ended, 0);
    for nth in 0..2 * kept::SUBJECTS_MAX as u64 {
        let subject = Subject::App(format!("65534/made-up-{nth}"));
        world.trials.kept.take("prefetch", &LAUNCHES, &subject, &ended, nth);
    }
    assert!(world.trials.kept.trials("prefetch").any(|(subject, _)| *subject == mail));
    assert_eq!(world.trials.kept.trials("prefetch").count(), kept::SUBJECTS_MAX);
}

#[test]
fn a_launch_that_began_and_ended_between_two_rounds_leaves_no_episode() {
    let mut world = World::new("prefetch", LAUNCHES);
    let group = GROUP.to_owned();
    let both = [EventKind::LaunchBegan { group: group.clone() }, EventKind::LaunchEnded { group }];
    world.round(1_000, None, None, &both);
    assert!(world.trials.open.is_empty());
    // What was prepared for apps that are no longer likely is forgotten where there is much of it.
    let plan = Plan { span: Span::Prepared, ..LAUNCHES };
    let mut world = World::new("ready", plan);
    for nth in 0..3 * kept::SUBJECTS_MAX {
        let id = format!("65534/made-up-{nth}");
        world.trials.expect([id.clone()].into());
        world.round(1_000, Some(&Subject::App(id)), None, &[]);
    }
    assert!(world.trials.prepared.len() <= kept::SUBJECTS_MAX, "{}", world.trials.prepared.len());
}
