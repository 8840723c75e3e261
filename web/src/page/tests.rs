use brisk_api::{AppMemory, Effect, EngineTrial, Part, Phase, Pressure, PressureSpan, Said};
use brisk_core::reason::Reason;
use brisk_core::survey::{Importance, Step};
use brisk_core::trial::{Figure, Ladder, Why};
use std::sync::Arc;

use super::*;
use crate::feed::{Event, Machine, Point, Unreachable};

const NOW_MS: u64 = 1_795_000_000_000;
const HOSTILE: &str = "<img src=x onerror=alert(1)>\"'&";

pub(crate) fn engine(name: &str, phase: Phase, effect: Option<Effect>) -> EngineTrial {
    let figure = Some(if name == "prefetch" { Figure::StorageWait } else { Figure::StallShare });
    EngineTrial {
        engine: name.to_owned(),
        tried: true,
        ladder: Ladder::Auto,
        phase,
        since_unix_ms: Some(NOW_MS - 86_400_000),
        why: Why::Gains,
        figure,
        effect,
        acting: 1,
        ..EngineTrial::default()
    }
}

pub(crate) fn machine(engines: Vec<EngineTrial>) -> Machine {
    let mut machine = Machine::default();
    machine.trials.on = true;
    machine.trials.engines = engines;
    machine.status.started_unix_ms = NOW_MS - 7_200_000;
    machine
}

fn app(id: &str, memory_bytes: u64) -> AppMemory {
    AppMemory {
        group: format!("app-{id}-1.scope"),
        id: id.to_owned(),
        user: None,
        importance: Importance::Background,
        reason: Reason::rule("not_in_front"),
        memory_bytes: Some(memory_bytes),
        swap_bytes: Some(1 << 20),
        threshold_bytes: None,
        chance: 0.25,
        relaunch_s: 1.0,
        cost_s_per_mib: 0.01,
        protected: None,
        steps: vec![Step::Reclaim, Step::End],
        frozen: false,
        ends_first: None,
        preference: None,
    }
}

fn seen(machine: Machine) -> Seen {
    let share = |percent: f64| Some(percent);
    let point = |s: u64| Point { at_ns: s * 2_000_000_000, storage_percent: share(3.0), memory_percent: share(0.5) };
    let span = |n: u64| PressureSpan {
        until_unix_ms: NOW_MS - 86_400_000 + n * 300_000,
        length_s: 300.0,
        storage_percent: share(n as f64 % 7.0),
        memory_percent: None,
        available_bytes_min: Some(1 << 30),
    };
    let said = Said { form: "{0} ended".into(), values: vec![Part::Text(format!("app-{HOSTILE}-1.scope"))] };
    Seen {
        daemon: Ok(Arc::new(machine)),
        pressure: Pressure { at_ns: 1, storage_us: Some(1), total_bytes: 4 << 30, ..Pressure::default() },
        day: Arc::new((1..=288).map(span).collect()),
        minutes: (0..100).map(point).collect(),
        events: vec![Event { number: 1, at_unix_ms: NOW_MS, said }],
        events_since_unix_ms: NOW_MS - 60_000,
        job: None,
        own_bytes: 5 << 20,
    }
}

fn sample() -> Seen {
    let effect = Some(Effect { ratio: 0.62, low: 0.55, high: 0.7, pairs: 34 });
    let mut machine = machine(vec![engine("prefetch", Phase::Acting, effect), engine("iram", Phase::OnTrial, None)]);
    machine.apps.active = true;
    machine.apps.survey.apps = vec![app(HOSTILE, 100 << 20), app("mpv", 50 << 20)];
    machine.status.trouble = vec![format!("cannot read {HOSTILE}")];
    seen(machine)
}

fn view(seen: &Seen, language: Language) -> View<'_> {
    View { seen, language, token: "token", now_unix_ms: NOW_MS, is_record: false }
}

fn of(seen: &Seen, language: Language) -> String {
    let view = view(seen, language);
    whole(&view, &Parts::of(&view))
}

#[test]
fn names_of_the_machine_become_no_markup() {
    for language in [Language::English, Language::German] {
        let page = of(&sample(), language);
        assert!(!page.contains("<img"), "{page}");
        assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;"));
        let parts = Parts::of(&view(&sample(), language));
        let patch = Sent::default().patch(&parts).expect("a patch");
        assert!(!patch.contains("<img"), "{patch}");
    }
}

#[test]
fn no_part_of_the_page_is_inline_script_or_style() {
    let mut seen = sample();
    for page in [of(&seen, Language::English), denied(Language::German), entered(Language::English), {
        seen.daemon = Err(Unreachable::NotRunning("briskd does not run".to_owned()));
        of(&seen, Language::German)
    }] {
        assert!(!page.contains(" style=") && !page.contains("<style") && !page.contains(" onclick="), "{page}");
        let scripts = page.matches("<script").count();
        assert_eq!(scripts, page.matches("<script src=\"/").count(), "{page}");
        assert!(!page.contains("://") || page.contains("http://www.w3.org"), "{page}");
    }
}

#[test]
fn each_id_is_there_once_and_each_named_one_is_there() {
    let page = of(&sample(), Language::English);
    let values = |name: &str| -> Vec<String> {
        let begin = format!(" {name}=\"");
        page.split(&begin).skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
    };
    let mut ids = values("id");
    ids.sort();
    let twice = ids.windows(2).find(|two| two[0] == two[1]);
    assert_eq!(twice, None);
    for name in ["aria-labelledby", "for"] {
        for named in values(name).iter().flat_map(|list| list.split(' ')) {
            assert!(ids.iter().any(|id| id == named), "{name} {named}");
        }
    }
}

#[test]
fn a_browser_gets_only_what_differs() {
    let (mut sent, mut seen) = (Sent::default(), sample());
    let patch = |sent: &mut Sent, seen: &Seen| -> Option<serde_json::Value> {
        let text = sent.patch(&Parts::of(&view(seen, Language::English)))?;
        Some(serde_json::from_str(&text).expect("JSON"))
    };
    let first = patch(&mut sent, &seen).expect("all");
    assert!(first["blocks"].as_object().expect("blocks").len() > 10);
    assert_eq!(first["lists"]["app-list"].as_array().expect("a list").len(), 2);
    assert_eq!(patch(&mut sent, &seen), None);
    let mut other = (**seen.daemon.as_ref().expect("a machine")).clone();
    other.apps.survey.apps[1].memory_bytes = Some(80 << 20);
    other.apps.survey.apps.swap(0, 1);
    seen.daemon = Ok(Arc::new(other));
    let next = patch(&mut sent, &seen).expect("a row and the order");
    // Both places changed, and so both rows.
    assert_eq!(next["blocks"].as_object().expect("blocks").len(), 2);
    assert_eq!(next["lists"].as_object().expect("lists").len(), 1);
    seen.daemon = Err(Unreachable::NotRunning("gone".to_owned()));
    let gone = patch(&mut sent, &seen).expect("what is wrong");
    let blocks: Vec<&String> = gone["blocks"].as_object().expect("blocks").keys().collect();
    assert_eq!(blocks, ["lead"]);
}

#[test]
fn what_the_daemon_says_is_in_the_language_of_the_page() {
    let mut sample = sample();
    let reason = Reason::rule("audible").number("share_percent", 1.5);
    let mut machine = (**sample.daemon.as_ref().expect("a machine")).clone();
    machine.apps.survey.apps[1].protected = Some(reason);
    sample.daemon = Ok(Arc::new(machine));
    let german = of(&sample, Language::German);
    assert!(german.contains("gibt Ton wieder oder nimmt auf (Anteil, %: 1,5)"), "{german}");
    assert!(german.contains("-1.scope ist beendet"), "{german}");
    let english = of(&sample, Language::English);
    assert!(english.contains("audible (share_percent 1.5)") && english.contains("-1.scope ended"), "{english}");
}

#[test]
fn two_hundred_apps_make_two_hundred_rows() {
    let mut machine = machine(Vec::new());
    machine.apps.survey.apps = (0..200).map(|n| app(&format!("app{n}"), 1 << 20)).collect();
    let seen = seen(machine);
    let page = of(&seen, Language::English);
    assert_eq!(page.matches("<tr id=\"app-").count(), 200);
}

#[test]
fn a_day_with_a_gap_is_drawn() {
    let mut seen = sample();
    let day: Vec<_> = seen.day.iter().copied().enumerate().filter(|(n, _)| !(100..150).contains(n)).collect();
    seen.day = Arc::new(day.into_iter().map(|(_, span)| span).collect());
    let page = of(&seen, Language::English);
    assert!(page.contains("id=\"day0") && !page.contains("NaN"), "{page}");
    // The kernel of the sample counts no memory pressure.
    assert!(!page.contains("id=\"day1"));
}
