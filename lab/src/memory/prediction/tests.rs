//! The protocol on small traces, and figures on real ones where they are present.

use std::io::Read as _;
use std::path::Path;

use super::*;
use crate::memory::day::{Synthetic, UsageTrace};

static GO: AtomicBool = AtomicBool::new(false);

fn trace(lines: &[(u64, &str)]) -> UsageTrace {
    let sessions =
        lines.iter().map(|(at_s, app)| Session { at_ms: at_s * 1_000, app: (*app).to_owned(), front_ms: 1_000 });
    UsageTrace { users: vec![UserTrace { user: "u".to_owned(), sessions: sessions.collect() }] }
}

fn scored(scored: Scored, way: PredictionWay, trace: &UsageTrace, choice: &Choice) -> PredictionResult {
    let users: Vec<Replayed<'_>> = trace.users.iter().map(|user| Replayed::new(user, None, choice)).collect();
    score(scored, way, &users, &GO).expect("not stopped")
}

const ALL: [Scored; 4] = [Scored::Adaptive, Scored::Paper, Scored::Lru, Scored::Frequency];

#[test]
fn a_hit_is_scored_before_it_is_learned() {
    // First uses are misses; then b follows a as before, and a is the second of the recent ones.
    let trace = trace(&[(0, "a"), (60, "b"), (120, "a"), (180, "b")]);
    for one in ALL {
        let result = scored(one, PredictionWay::Collapsed, &trace, &Choice::default());
        assert_eq!(result.users[0].hits, [2; 5], "{one:?}: the only other app is predicted");
        let result = scored(one, PredictionWay::Uncollapsed, &trace, &Choice::default());
        assert_eq!(result.users[0].hits[1..], [2; 4], "{one:?}");
    }
    let result = scored(Scored::Lru, PredictionWay::Uncollapsed, &trace, &Choice::default());
    assert_eq!(result.users[0].hits[0], 0, "the most recent app is the one in front");
}

#[test]
fn the_app_in_front_is_never_predicted_when_collapsed() {
    let trace = trace(&[(0, "a"), (60, "a"), (120, "a"), (180, "b"), (240, "a")]);
    for one in ALL {
        let collapsed = scored(one, PredictionWay::Collapsed, &trace, &Choice::default());
        assert_eq!((collapsed.users[0].launches, collapsed.users[0].hits[4]), (3, 1), "{one:?}");
        let all = scored(one, PredictionWay::Uncollapsed, &trace, &Choice::default());
        assert_eq!((all.users[0].launches, all.users[0].hits[4]), (5, 3), "{one:?}");
    }
}

#[test]
fn rows_of_one_visit_are_joined_for_users_that_need_it() {
    let trace = trace(&[(0, "a"), (20, "a"), (49, "a"), (79, "a"), (85, "b"), (90, "a")]);
    let choice = Choice { joined: BTreeSet::from(["u".to_owned()]), ..Choice::default() };
    let user = Replayed::new(&trace.users[0], None, &choice);
    // The fourth row begins 30 s after the third.
    let at_s: Vec<u64> = user.launches.iter().map(|launch| launch.at_ms / 1_000).collect();
    assert_eq!((at_s, user.joined_rows), (vec![0, 79, 85, 90], 2));
    assert_eq!(Replayed::new(&trace.users[0], None, &Choice::default()).joined_rows, 0);
}

#[test]
fn local_time_is_that_of_the_offset() {
    // 2026-11-23 is a Monday.
    let monday_ms = 1_795_392_000_000;
    let trace = trace(&[(0, "a")]);
    let minute = |offset: Option<i32>| {
        let offsets_minutes = offset.map(|offset| ("u".to_owned(), offset)).into_iter().collect();
        let choice = Choice { offsets_minutes, ..Choice::default() };
        Replayed::new(&trace.users[0], None, &choice).moment(monday_ms + 90_000).local_minute_of_week
    };
    assert_eq!([None, Some(0), Some(330), Some(-60)].map(minute), [None, Some(1), Some(331), Some(10_021)]);
}

#[test]
fn the_same_trace_gives_the_same_hits() {
    let trace = Synthetic { seed: 3, sessions: 800 }.trace();
    for way in PredictionWay::ALL {
        let hits = |one: Scored| scored(one, way, &trace, &Choice::default()).users;
        let nine = |one: Scored| hits(one)[0].hits[1];
        assert!(ALL.into_iter().all(|one| hits(one) == hits(one)));
        // The synthetic person goes back and forth, and has a usual follower of each app.
        assert!(nine(Scored::Adaptive) > nine(Scored::Frequency), "{way:?}");
    }
}

#[test]
fn a_stop_ends_the_scoring() {
    let trace = trace(&[(0, "a")]);
    let users = [Replayed::new(&trace.users[0], None, &Choice::default())];
    assert!(score(Scored::Paper, PredictionWay::Collapsed, &users, &AtomicBool::new(true)).is_none());
}

/// The development users, where they are present: prediction by partial matching hits what it hits elsewhere (0.858
/// pooled over other users), and the mixture hits more than each baseline.
#[test]
fn real_users_are_predicted_as_published() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/app-usage");
    let Ok(packed) = std::fs::read(folder.join("dev.csv.gz")) else {
        brisk_requires::skip(brisk_requires::Capability::RealTraces, "../shared/data/app-usage/dev.csv.gz is absent");
        return;
    };
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(&packed[..]).read_to_string(&mut text).expect("unpacked");
    let trace = UsageTrace::parse(&text).expect("a trace");
    let choice = Choice { joined: BTreeSet::from(["u5".to_owned()]), ..Choice::default() };
    let pooled = |one, way| scored(one, way, &trace, &choice).pooled_percent(3).expect("launches");
    let paper = pooled(Scored::Paper, PredictionWay::Uncollapsed);
    assert!((85.0..87.0).contains(&paper), "{paper}");
    // The first months of each user, since a build for tests is slow.
    let mut first = trace.clone();
    first.users.iter_mut().for_each(|user| user.sessions.truncate(2_500));
    let pooled = |one, way| scored(one, way, &first, &choice).pooled_percent(3).expect("launches");
    for way in PredictionWay::ALL {
        let others = [Scored::Paper, Scored::Lru, Scored::Frequency].map(|one| pooled(one, way));
        let adaptive = pooled(Scored::Adaptive, way);
        assert!(others.iter().all(|other| adaptive > other + 2.0), "{adaptive} against {others:?}");
    }
}
