//! The description of the interface names what is sent.

use std::collections::BTreeSet;

use brisk_core::action::{AddressRange, Once, Setting};
use brisk_core::app::{Activity, AppFacts, Branch, EndOrder, Preference, classify};
use brisk_core::arbiter::{Overruled, Resolved, Rule};
use brisk_core::decision::Note;
use brisk_core::knob::GroupSetting;
use brisk_core::outcome::Outcome;
use brisk_core::reason::Reason;
use brisk_core::state::{ActionState, ChangedExternally, SettingState};
use serde::Serialize;
use serde_json::Value;
use varlink_parser::{IDL, VStructOrEnum};

use crate::*;

fn fields(idl: &IDL<'_>, name: &str) -> BTreeSet<String> {
    let Some(typedef) = idl.typedefs.get(name) else { panic!("no type {name}") };
    match &typedef.elt {
        VStructOrEnum::VStruct(fields) => fields.elts.iter().map(|field| field.name.to_owned()).collect(),
        VStructOrEnum::VEnum(_) => panic!("{name} is an enumeration"),
    }
}

fn names(idl: &IDL<'_>, name: &str) -> BTreeSet<String> {
    let Some(typedef) = idl.typedefs.get(name) else { panic!("no type {name}") };
    match &typedef.elt {
        VStructOrEnum::VEnum(names) => names.elts.iter().map(|name| (*name).to_owned()).collect(),
        VStructOrEnum::VStruct(_) => panic!("{name} is a structure"),
    }
}

fn keys(value: &impl Serialize) -> BTreeSet<String> {
    let Ok(Value::Object(object)) = serde_json::to_value(value) else { panic!("no object") };
    object.keys().cloned().collect()
}

fn word(value: &impl Serialize) -> String {
    let Ok(Value::String(word)) = serde_json::to_value(value) else { panic!("no word") };
    word
}

fn resolved<T>(what: T) -> Resolved<T> {
    let over = vec![Overruled { engine: "mars".to_owned(), value: "1".to_owned() }];
    let (engine, reason) = ("iram".to_owned(), Reason::rule("test").number("share_percent", 1.0));
    Resolved { what, engine, rule: Rule::OnlyRequest, reason, over }
}

/// One of each outcome.
fn outcomes() -> Vec<Outcome> {
    let text = || "1".to_owned();
    vec![
        Outcome::Unchanged,
        Outcome::Written { from: text(), to: text() },
        Outcome::Restored { to: text() },
        Outcome::Begun,
        Outcome::Done,
        Outcome::Cancelled { done_bytes: 4096 },
        Outcome::Prefetched { read_bytes: 1, changed_files: 0, complete: true },
        Outcome::Pending { why: text() },
        Outcome::Planned { from: Some(text()), to: Some(text()) },
        Outcome::Left { found: text() },
        Outcome::Gone,
        Outcome::Refused { why: text() },
        Outcome::Paused,
        Outcome::Dropped,
        Outcome::HeldOut,
    ]
}

fn setting(outcome: Outcome) -> SettingState {
    let what = Setting { knob: "queue/sda/scheduler".parse().expect("a knob"), value: "bfq".to_owned() };
    SettingState { resolved: resolved(what), original: Some("none".to_owned()), since_unix_ms: 1, outcome }
}

fn action(outcome: Outcome) -> ActionState {
    let ranges = vec![AddressRange { pid: 1, start: 0, size_bytes: 4096 }];
    ActionState { resolved: resolved(Once::PageIn { group: "a".to_owned(), ranges }), outcome }
}

fn branch() -> Branch {
    let preference = Some(Preference { order: EndOrder::Last, by: "earlyoom --avoid".to_owned() });
    Branch { pid: 7, start_ticks: 9, name: "make".to_owned(), memory_bytes: 1, growth_bytes: 1, preference }
}

fn app_memory() -> AppMemory {
    AppMemory {
        group: "app-x-1.scope".to_owned(),
        id: "x".to_owned(),
        user: Some(1000),
        importance: brisk_core::survey::Importance::Background,
        reason: Reason::rule("not_in_front"),
        memory_bytes: Some(1),
        swap_bytes: Some(1),
        threshold_bytes: Some(1),
        chance: 0.5,
        relaunch_s: 1.0,
        cost_s_per_mib: 0.5,
        protected: Some(Reason::rule("audible")),
        steps: vec![brisk_core::survey::Step::End],
        frozen: false,
        ends_first: Some(branch()),
        preference: branch().preference,
    }
}

#[test]
fn the_description_names_what_is_sent() {
    let idl = IDL::try_from(DESCRIPTION).expect("a varlink interface");
    assert_eq!(idl.name, INTERFACE);
    let all = |of: fn(Outcome) -> BTreeSet<String>| outcomes().into_iter().flat_map(of).collect::<BTreeSet<_>>();
    let mut of_actions = all(|outcome| keys(&action(outcome)));
    of_actions.extend(
        ["size_bytes", "most_bytes", "grace_ms", "pid", "start_ticks", "streams", "priority", "files", "pieces"]
            .map(str::to_owned),
    );
    let of_terminal = Activity {
        branches: Some(vec![branch()]),
        preference: branch().preference,
        protected: Some("x".to_owned()),
        ..Activity::default()
    };
    let offers = GroupSetting::ALL.into();
    let app = classify(&AppFacts { offers, user: Some(1000), activity: of_terminal, ..AppFacts::default() });
    let note = Note { engine: "iram".to_owned(), reason: Reason::rule("test") };
    let knob = "queue/sda/scheduler".parse().expect("a knob");
    let changed = ChangedExternally { knob, written: "1".to_owned(), found: "2".to_owned() };
    let survey = app_memory();
    let app_pages = AppPages {
        group: "app-x-1.scope".to_owned(),
        id: "x".to_owned(),
        left_ns: 1,
        spared: Some(Reason::rule("audible")),
        pages: Some(brisk_core::survey::PrivatePages::default()),
        need_bytes: Some(1),
        lost: Some(0.5),
        frozen: false,
    };
    let types: [(&str, BTreeSet<String>); 42] = [
        ("Status", keys(&Status::default())),
        // No setting is read ahead, or ended early.
        ("Setting", {
            let of_actions =
                |outcome: &Outcome| matches!(outcome, Outcome::Prefetched { .. } | Outcome::Cancelled { .. });
            let of_settings = outcomes().into_iter().filter(|outcome| !of_actions(outcome));
            of_settings.flat_map(|outcome| keys(&setting(outcome))).collect()
        }),
        ("Action", of_actions),
        ("Overruled", keys(&resolved(Once::Thaw { group: String::new() }).over[0])),
        ("Reason", keys(&note.reason)),
        ("Device", keys(&Device::default())),
        ("App", keys(&app)),
        ("Activity", keys(&app.activity)),
        ("Branch", keys(&branch())),
        ("Preference", keys(&branch().preference)),
        ("Note", keys(&note)),
        ("ChangedExternally", keys(&changed)),
        ("Counts", keys(&Counts::default())),
        ("Cost", keys(&Cost::default())),
        ("Estimate", keys(&Estimate::default())),
        ("Saved", keys(&Saved::default())),
        ("Record", keys(&Record::default())),
        ("MemoryProgram", keys(&MemoryProgram::default())),
        ("Resting", keys(&Resting::default())),
        ("LackingRight", keys(&LackingRight::default())),
        ("Happening", keys(&Happening::default())),
        ("Said", keys(&Said::new("{0} ended", Vec::new()))),
        ("Loss", keys(&Loss::default())),
        ("Job", keys(&Job::default())),
        ("Pressure", keys(&Pressure::default())),
        ("PressureSpan", keys(&PressureSpan::default())),
        ("Apps", keys(&Apps::default())),
        ("AppMemory", keys(&survey)),
        ("SwapWrites", keys(&SwapWrites::default())),
        ("Pages", keys(&Pages::default())),
        ("AppPages", keys(&app_pages)),
        ("Prefetched", keys(&Prefetched::default())),
        ("Readiness", keys(&Readiness::default())),
        ("Launches", keys(&Launches::default())),
        ("AppLaunches", keys(&AppLaunches::default())),
        ("Trials", keys(&Trials::default())),
        ("EngineTrial", keys(&EngineTrial::default())),
        ("SubjectTrial", keys(&SubjectTrial::default())),
        ("StageOfTrial", keys(&StageOfTrial::default())),
        ("Effect", keys(&Effect::default())),
        ("Sums", keys(&Sums::default())),
        ("PagesOfApp", keys(&brisk_core::survey::PrivatePages::default())),
    ];
    for (name, keys) in types {
        assert_eq!(fields(&idl, name), keys, "{name}");
    }
    let levels = brisk_core::survey::Importance::ALL.map(|(_, name)| name.to_owned());
    assert_eq!(names(&idl, "Importance"), levels.into());
    let steps = brisk_core::survey::Step::ALL.map(|step| step.name().to_owned());
    assert_eq!(names(&idl, "Step"), steps.into());
    let outcome = |outcome: Outcome| word(&serde_json::to_value(outcome).expect("JSON")["outcome"]);
    assert_eq!(names(&idl, "Outcome"), outcomes().into_iter().map(outcome).collect());
    for rule in [
        Rule::FixedChoice,
        Rule::TunableWithoutScheduler,
        Rule::AppEnds,
        Rule::SwapOutByAnother,
        Rule::HeldOut,
        Rule::Observing,
        Rule::Resting,
        Rule::SwitchedOff,
        Rule::Unknown,
    ] {
        assert!(names(&idl, "Rule").contains(&word(&rule)), "{rule:?}");
    }
    for (name, words) in [
        ("Phase", [Phase::Observing, Phase::OnTrial, Phase::Acting, Phase::Resting].map(|of| word(&of)).to_vec()),
        ("Ladder", [Ladder::Auto, Ladder::Named, Ladder::On, Ladder::Off].map(|of| word(&of)).to_vec()),
        ("Figure", {
            let all = [Figure::StorageWait, Figure::StorageShare, Figure::StallShare, Figure::BusyTime];
            all.map(|of| word(&of)).to_vec()
        }),
        ("JobKind", JobKind::ALL.map(|of| word(&of)).to_vec()),
        ("JobEnd", [JobEnd::Done, JobEnd::Failed, JobEnd::Stopped].map(|of| word(&of)).to_vec()),
        ("PhaseReason", {
            use brisk_core::trial::Why;
            let of_evidence = [Why::Gains, Why::Harms, Why::GainsTooLittle, Why::NotShown, Why::NotShownAgain];
            let others = [Why::New, Why::Learned, Why::Rested, Why::Changed, Why::Named, Why::Person];
            of_evidence.iter().chain(&others).map(word).collect()
        }),
    ] {
        assert_eq!(names(&idl, name), words.into_iter().collect(), "{name}");
    }
    let methods: Vec<&str> = idl.method_keys.clone();
    assert_eq!(
        methods,
        [
            "GetStatus",
            "Explain",
            "Monitor",
            "WatchLosses",
            "Reload",
            "Reset",
            "SetFront",
            "LaunchBegins",
            "LaunchEnds",
            "SetIdle",
            "SetSound",
            "GetPressure",
            "GetApps",
            "GetPages",
            "GetLaunches",
            "GetTrials",
            "SetTrial",
            "Forget",
            "SetApp",
            "GetConfig",
            "SetConfig",
            "StartJob",
            "StopJob",
            "GetJob"
        ]
    );
    assert!(IDL::try_from(SERVICE_DESCRIPTION).is_ok());
}
