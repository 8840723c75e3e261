//! Properties of predictors, on letters and on a made-up person.

use proptest::prelude::*;

use super::*;

const HOUR_MS: u64 = 3_600_000;

fn at(at_ms: u64) -> Moment {
    Moment { at_unix_ms: at_ms, local_minute_of_week: None }
}

/// Uses the apps that the letters name, 20 s apart.
fn used(predictor: &mut Predictor, letters: &str) {
    for (nth, letter) in letters.chars().enumerate() {
        predictor.observe(&Use { app: &letter.to_string(), at: at(nth as u64 * 20_000) });
    }
}

fn after(mode: Mode, letters: &str) -> Predictor {
    let mut predictor = Predictor::new(mode, Repeats::Kept);
    used(&mut predictor, letters);
    predictor
}

fn names(chances: &[Chance<'_>]) -> String {
    chances.iter().map(|chance| chance.app).collect()
}

/// A person with habits and a few hundred apps; the numbers are from a linear congruence.
fn person(apps: u64, launches: u64) -> impl Iterator<Item = (String, u64)> {
    let mut state = 7_u64;
    let mut now_ms = 1_700_000_000_000_u64;
    let mut last = 0;
    (0..launches).map(move |nth| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let random = state >> 33;
        now_ms += 1_000 * (1 + (random % 97) * (random % 53)) + if nth % 40 == 0 { 8 * HOUR_MS } else { 0 };
        last = match random % 4 {
            0 => (last + 1) % apps,
            1 => random / 7 % apps,
            _ => random / 7 % (1 + apps / 25),
        };
        (format!("org.example.Application{last:04}"), now_ms)
    })
}

mod paper {
    use super::*;

    /// Dissertation 5.5: the longest match of `abracadabra` is `abra`, and `c` followed it. After `a` came b twice, c
    /// and d; `a` and `r` never followed one of these contexts. Method C: c 1/2 (order 4); of the rest, after `a` and
    /// without c, b 2/5 and d 1/5; of what is left (1/2 x 2/5), the more recent a 2/3 and r 1/3.
    #[test]
    fn abracadabra_is_followed_by_c() {
        let predictor = after(Mode::Paper, "abracadabra");
        let chances = predictor.next(at(u64::MAX), NEXT_APPS);
        assert_eq!(names(&chances), "cbadr");
        let expected = [1.0 / 2.0, 1.0 / 5.0, 2.0 / 15.0, 1.0 / 10.0, 1.0 / 15.0];
        for (chance, expected) in chances.iter().zip(expected) {
            assert!((chance.probability - expected).abs() < 1e-6, "{chances:?}");
        }
    }

    #[test]
    fn before_anything_was_seen_nothing_is_predicted() {
        assert!(Predictor::new(Mode::Paper, Repeats::Kept).next(at(0), NEXT_APPS).is_empty());
    }

    #[test]
    fn nine_are_predicted_where_nine_are_known() {
        for repeats in [Repeats::Kept, Repeats::Collapsed] {
            let mut predictor = Predictor::new(Mode::Paper, repeats);
            used(&mut predictor, "abcdefghij");
            assert_eq!(predictor.next(at(0), NEXT_APPS).len(), 9, "{repeats:?}");
        }
    }

    #[test]
    fn an_app_whose_launches_are_forgotten_is_still_known() {
        let mut predictor = Predictor::new(Mode::Paper, Repeats::Kept);
        used(&mut predictor, &("z".to_owned() + &"ab".repeat(3_000)));
        assert_eq!(names(&predictor.next(at(0), NEXT_APPS)), "abz");
    }
}

#[test]
fn habits_are_learned() {
    // After b always c, after d always a; in between by turns.
    let letters = "abcd".repeat(60);
    for mode in [Mode::Paper, Mode::Adaptive] {
        let predictor = after(mode, &letters);
        let now = at(letters.len() as u64 * 20_000);
        let next = predictor.next(now, 1);
        assert_eq!(names(&next), "a", "{mode:?}");
        assert!(next[0].probability > 0.7, "{mode:?}: {next:?}");
    }
}

#[test]
fn an_hour_of_day_is_learned() {
    // Two weeks: `m` at 7 h; in the evening all others, from another one on each day.
    let mut predictor = Predictor::new(Mode::Adaptive, Repeats::Collapsed);
    let day_ms = 24 * HOUR_MS;
    for day in 0..14 {
        predictor.observe(&Use { app: "m", at: at(day * day_ms + 7 * HOUR_MS) });
        for (nth, app) in "abcdefghijklbgchdielfka".chars().cycle().skip(5 * day as usize).take(20).enumerate() {
            predictor
                .observe(&Use { app: &app.to_string(), at: at(day * day_ms + 18 * HOUR_MS + nth as u64 * 60_000) });
        }
    }
    let chance = |hour: u64| {
        let all = predictor.chances(at(14 * day_ms + hour * HOUR_MS));
        all.iter().find(|chance| chance.app == "m").expect("known").probability
    };
    assert!(chance(7) > 2.0 * chance(20), "{} {}", chance(7), chance(20));
}

#[test]
fn a_notification_makes_its_app_likelier() {
    let mut predictor = after(Mode::Adaptive, &"abcdebacdeab".repeat(10));
    let now = at(120 * 20_000);
    let chance = |predictor: &Predictor| {
        predictor.chances(now).iter().find(|chance| chance.app == "e").expect("known").probability
    };
    let before = chance(&predictor);
    predictor.note(now, Note::Notified { app: "e" });
    predictor.note(now, Note::Notified { app: "unknown" });
    assert!(chance(&predictor) > before);
}

#[test]
fn a_return_is_likelier_within_a_longer_time() {
    let mut predictor = Predictor::new(Mode::Adaptive, Repeats::Collapsed);
    // `often` returns after a minute, `daily` after a day.
    let mut now_ms = 0;
    for _ in 0..30 {
        predictor.observe(&Use { app: "daily", at: at(now_ms) });
        for _ in 0..20 {
            for app in ["often", "other"] {
                now_ms += 30_000;
                predictor.observe(&Use { app, at: at(now_ms) });
            }
        }
        now_ms += 24 * HOUR_MS;
    }
    now_ms -= 24 * HOUR_MS;
    let within = |app, horizon_s| predictor.chance_within(app, at(now_ms), horizon_s);
    assert!(within("often", 120.0) > 0.5, "{}", within("often", 120.0));
    assert!(within("daily", 120.0) < 0.1, "{}", within("daily", 120.0));
    assert!(within("daily", 48.0 * 3_600.0) > 0.7, "{}", within("daily", 48.0 * 3_600.0));
    assert_eq!((within("unknown", 1e9), within("other", 0.0), within("often", 0.0)), (0.0, 1.0, 0.0));
}

#[test]
fn a_forgotten_app_leaves_no_trace() {
    for mode in [Mode::Paper, Mode::Adaptive] {
        let mut predictor = after(mode, "abracadabra");
        assert!(predictor.forget("b") && !predictor.forget("b"));
        let now = at(1_000_000);
        let mut left: Vec<char> = names(&predictor.chances(now)).chars().collect();
        left.sort_unstable();
        assert_eq!(left, ['a', 'c', 'd', 'r']);
        assert!(!serde_json::to_string(&predictor).expect("JSON").contains("\"b\""));
    }
}

#[test]
fn years_of_500_apps_stay_below_256_kib() {
    for mode in [Mode::Paper, Mode::Adaptive] {
        let mut predictor = Predictor::new(mode, Repeats::Collapsed);
        let mut largest = 0;
        for (nth, (app, at_ms)) in person(500, 9_000).enumerate() {
            predictor.note(at(at_ms), Note::Notified { app: &app });
            predictor.observe(&Use { app: &app, at: at(at_ms) });
            if nth % 512 == 511 {
                largest = largest.max(serde_json::to_vec(&predictor).expect("JSON").len());
            }
        }
        assert!(predictor.chances(at(u64::MAX)).len() > 480 && largest < 256 << 10, "{mode:?}: {largest} bytes");
    }
}

#[test]
fn apps_used_long_ago_are_ranked_too() {
    let mut predictor = Predictor::new(Mode::Adaptive, Repeats::Collapsed);
    let mut used = std::collections::BTreeSet::new();
    for (app, at_ms) in person(200, 1_500) {
        predictor.observe(&Use { app: &app, at: at(at_ms) });
        used.insert(app);
    }
    let all = predictor.chances(at(1_800_000_000_000));
    assert!(used.len() > 2 * experts::CANDIDATES_MAX && all.len() == used.len() - 1, "{} of {}", all.len(), used.len());
    assert!(all.windows(2).all(|pair| pair[0].probability >= pair[1].probability));
    assert!(all.iter().map(|chance| chance.probability).sum::<f64>() < 1.0);
}

#[test]
fn names_have_a_bound_together_and_each() {
    let mut predictor = Predictor::new(Mode::Adaptive, Repeats::Kept);
    for nth in 0..1_000 {
        let app = format!("{nth:0200}");
        predictor.observe(&Use { app: &app, at: at(nth * 1_000) });
    }
    let known = predictor.chances(at(0));
    assert!(known.len() * 200 <= history::NAMES_BYTES_MAX && known.len() > 200, "{}", known.len());
    predictor.observe(&Use { app: &"x".repeat(APP_BYTES_MAX + 1), at: at(0) });
    predictor.observe(&Use { app: "", at: at(0) });
    assert!(predictor.chances(at(0)).iter().all(|chance| chance.app.len() == 200));
}

#[test]
fn invented_apps_of_one_user_evict_no_app_of_another() {
    let uses = |predictor: &Predictor| predictor.history.launches.iter().filter(|launch| launch.app == 0).count();
    for id_bytes in [10, 200] {
        let mut predictor = Predictor::new(Mode::Adaptive, Repeats::Kept);
        for nth in 0..6 {
            predictor.observe(&Use { app: "1000/mail", at: at(nth * 1_000) });
        }
        for nth in 0..5_000 {
            let app = format!("65534/{nth:0id_bytes$}");
            predictor.observe(&Use { app: &app, at: at(10_000 + nth * 1_000) });
        }
        assert!(predictor.history.find("1000/mail") == Some(0) && uses(&predictor) == 6, "{}", uses(&predictor));
        assert!(predictor.history.launches.len() <= history::LAUNCHES_MAX);
        // Nor do many launches of one app.
        for nth in 0..5_000 {
            predictor.observe(&Use { app: "65534/one", at: at(10_000_000 + nth * 1_000) });
        }
        assert_eq!(
            (uses(&predictor), predictor.history.launches.last().map(|last| last.app)),
            (6, predictor.history.front())
        );
        let text = serde_json::to_string(&predictor).expect("JSON");
        assert_eq!(serde_json::from_str::<Predictor>(&text).expect("a predictor"), predictor);
    }
}

#[test]
fn a_stored_predictor_goes_on_as_before() {
    let mut predictor = Predictor::new(Mode::Adaptive, Repeats::Collapsed);
    for (app, at_ms) in person(60, 5_000) {
        predictor.observe(&Use { app: &app, at: at(at_ms) });
    }
    let text = serde_json::to_string(&predictor).expect("JSON");
    let mut read: Predictor = serde_json::from_str(&text).expect("a predictor");
    assert_eq!(read, predictor);
    let now = at(1_800_000_000_000);
    assert_eq!(read.chances(now), predictor.chances(now));
    for one in [&mut read, &mut predictor] {
        one.observe(&Use { app: "org.example.Application0003", at: now });
    }
    assert_eq!(read, predictor);
}

#[test]
fn a_state_that_is_damaged_or_newer_is_an_error() {
    let good = serde_json::to_value(after(Mode::Adaptive, "abracadabra")).expect("JSON");
    let with = |key: &str, value: serde_json::Value| {
        let mut changed = good.clone();
        changed[key] = value;
        serde_json::from_value::<Predictor>(changed).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(with("unlocked", true.into()), Ok(()));
    let newer = with("version", 2.into()).expect_err("newer");
    assert!(newer.contains("version 2") && newer.contains("begin with a new one"), "{newer}");
    let largest = serde_json::json!(u64::MAX);
    for (key, value) in [
        ("recent", serde_json::json!([0, 1, 2, 3, 3])),
        ("recent", serde_json::json!([1, 0, 2, 3, 4])),
        ("launched", serde_json::json!([0, 1, 2, 0, 3, 0, 4, 0, 1, 2, 9])),
        ("launched", serde_json::json!([])),
        ("minutes", serde_json::json!(vec![10_080; 11])),
        ("pauses_s", serde_json::json!(vec![u64::MAX; 11])),
        ("begins", serde_json::json!([11])),
        ("nth", 3.into()),
        ("nth", largest.clone()),
        ("front_s", 3.into()),
        ("names", serde_json::json!(["a", "b", "r", "c", "a"])),
        ("names", serde_json::json!(["a", "b"])),
        ("counts", serde_json::json!(vec![[-1.0; 4]; 5])),
        ("shares", serde_json::json!(vec![[1.0; experts::EXPERTS]; history::CONTEXTS])),
    ] {
        let said = with(key, value.clone()).expect_err(key);
        assert!(said.contains("is damaged"), "{key} {value}: {said}");
    }
}

/// Letters and pauses, in s.
fn any_day() -> impl Strategy<Value = Vec<(u8, u64)>> {
    prop::collection::vec((0_u8..14, prop_oneof![0_u64..90, 0_u64..40_000]), 1..60)
}

fn any_mode() -> impl Strategy<Value = (Mode, Repeats)> {
    let modes = prop_oneof![Just(Mode::Paper), Just(Mode::Adaptive)];
    (modes, prop_oneof![Just(Repeats::Kept), Just(Repeats::Collapsed)])
}

fn lived((mode, repeats): (Mode, Repeats), day: &[(u8, u64)]) -> (Predictor, Moment) {
    let mut predictor = Predictor::new(mode, repeats);
    let mut now_ms = 1_700_000_000_000;
    for (app, pause_s) in day {
        now_ms += pause_s * 1_000;
        if pause_s % 5 == 0 {
            predictor.note(at(now_ms), Note::Unlocked);
        }
        predictor.observe(&Use { app: &char::from(b'a' + app).to_string(), at: at(now_ms) });
    }
    (predictor, at(now_ms + 1_000))
}

proptest! {
    #[test]
    fn the_same_uses_give_the_same_prediction(mode in any_mode(), day in any_day()) {
        let [(one, now), (other, _)] = [lived(mode, &day), lived(mode, &day)];
        prop_assert_eq!(one.chances(now), other.chances(now));
    }

    #[test]
    fn a_prediction_has_at_most_n_apps_none_twice_and_not_the_one_in_front(
        mode in any_mode(), day in any_day(), n in 0_usize..20
    ) {
        let (predictor, now) = lived(mode, &day);
        let next = predictor.next(now, n);
        let mut apps: Vec<&str> = next.iter().map(|chance| chance.app).collect();
        let known: std::collections::BTreeSet<u8> = day.iter().map(|(app, _)| *app).collect();
        let most = known.len() - usize::from(mode.1 == Repeats::Collapsed);
        prop_assert_eq!(apps.len(), n.min(most));
        apps.sort_unstable();
        prop_assert!(apps.windows(2).all(|pair| pair[0] != pair[1]));
        if mode.1 == Repeats::Collapsed {
            let front = char::from(b'a' + day[day.len() - 1].0).to_string();
            prop_assert!(!apps.contains(&front.as_str()));
        }
    }

    #[test]
    fn chances_lie_between_0_and_1_and_sum_up_to_at_most_1(
        mode in any_mode(),
        day in any_day(),
        horizon_s in 0.0..1e6,
    ) {
        let (predictor, now) = lived(mode, &day);
        let all = predictor.chances(now);
        prop_assert!(all.iter().all(|chance| (0.0..=1.0).contains(&chance.probability)));
        prop_assert!(all.windows(2).all(|pair| pair[0].probability >= pair[1].probability));
        prop_assert!(all.iter().map(|chance| chance.probability).sum::<f64>() <= 1.0 + 1e-5);
        for chance in &all {
            let within = predictor.chance_within(chance.app, now, horizon_s);
            prop_assert!((0.0..=1.0).contains(&within));
            prop_assert!(within <= predictor.chance_within(chance.app, now, 2.0 * horizon_s) + 1e-9);
        }
    }

    #[test]
    fn any_bytes_are_an_error_or_a_predictor_and_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(serde_json::from_slice::<Predictor>(&bytes).is_err());
    }

    /// Damage of single characters of a good state: what is still read still predicts and learns.
    #[test]
    fn a_state_with_other_digits_never_panics(
        mode in any_mode(), day in any_day(), damage in prop::collection::vec((any::<usize>(), 0_u8..10), 1..8)
    ) {
        let (predictor, now) = lived(mode, &day);
        let mut text = serde_json::to_vec(&predictor).expect("JSON");
        for (place, digit) in damage {
            let digits: Vec<usize> = (0..text.len()).filter(|&n| text[n].is_ascii_digit()).collect();
            text[digits[place % digits.len()]] = b'0' + digit;
        }
        if let Ok(mut read) = serde_json::from_slice::<Predictor>(&text) {
            let _ = read.chances(now);
            read.observe(&Use { app: "b", at: now });
            read.observe(&Use { app: "new", at: at(0) });
            read.forget("b");
            prop_assert!(read.chances(now).iter().all(|chance| chance.probability.is_finite()));
        }
    }

    /// Against the definition: the longest match by trying all places.
    #[test]
    fn the_app_after_the_longest_match_is_predicted(day in any_day()) {
        let letters: Vec<u8> = day.iter().map(|(app, _)| app % 3).collect();
        let text: String = letters.iter().map(|letter| char::from(b'a' + letter)).collect();
        let predictor = after(Mode::Paper, &text);
        let last = letters.len() - 1;
        let is_same = |end: usize, back: usize| letters[end - back] == letters[last - back];
        let length = |end: usize| (0..=end).take_while(|&back| is_same(end, back)).take(ppm::ORDER_MAX).count();
        let longest = (0..last).map(length).max().unwrap_or(0);
        if longest > 0 {
            let ends = (0..last).filter(|&end| length(end) == longest);
            let followers: Vec<u8> = ends.map(|end| letters[end + 1]).collect();
            let count = |letter: u8| followers.iter().filter(|one| **one == letter).count();
            let best = (0..3).map(count).max().expect("three letters");
            // An app with a chance above one half cannot be overtaken by one of a shorter context.
            if best * 2 > followers.len() + followers.iter().collect::<std::collections::BTreeSet<_>>().len() {
                let next = predictor.next(at(0), 1);
                prop_assert_eq!(count(next[0].app.as_bytes()[0] - b'a'), best);
            }
        }
    }
}

#[test]
fn days_and_weeks_are_those_of_local_time_where_the_system_tells() {
    // Monday, 2026-11-23 22:00 UTC.
    let now = Snapshot { at_ns: 90_000_000_000, wall_unix_ms: 1_795_471_200_000, ..Snapshot::default() };
    let minute = |utc_offset_s| Moment::at(&now, 30_000_000_000, utc_offset_s).local_minute_of_week;
    assert_eq!(minute(None), None);
    assert_eq!(minute(Some(0)), Some(21 * 60 + 59));
    // Tuesday in India, and the hour before in New York.
    assert_eq!(minute(Some(19_800)), Some(24 * 60 + 3 * 60 + 29));
    assert_eq!(minute(Some(-18_000)), Some(16 * 60 + 59));
    // Sunday, where the week begins later.
    let monday = Snapshot { wall_unix_ms: 1_795_471_200_000 - 22 * 3_600_000, ..now.clone() };
    let of_monday = Moment::at(&monday, monday.at_ns, Some(-60)).local_minute_of_week;
    assert_eq!(of_monday, Some(7 * 24 * 60 - 1));
}
