//! The values that travel over the control socket, as `org.brisk.Daemon.varlink` describes them.

use brisk_act::ChangedExternally;
use brisk_core::app::App;
use brisk_core::decision::Note;
use brisk_core::device;
use brisk_core::state::{ActionState, SettingState};
pub use brisk_core::survey::{
    AppLaunches, AppMemory as Row, AppPages, MemorySurvey, PagesSurvey, Prefetched, SwapWrites,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::attempts::Resting;
use crate::devices;
use crate::killers::MemoryProgram;

/// Name of brisk's interface.
pub const INTERFACE: &str = "org.brisk.Daemon";
/// Its description.
pub const DESCRIPTION: &str = include_str!("org.brisk.Daemon.varlink");
/// The interface that every varlink service has.
pub const SERVICE: &str = "org.varlink.service";
/// Its description (varlink.org/Service).
pub const SERVICE_DESCRIPTION: &str = include_str!("org.varlink.service.varlink");

/// A call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Interface and method.
    pub method: String,
    /// By name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Map<String, Value>>,
    /// Whether the caller takes more than one reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<bool>,
    /// Whether the caller expects no reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oneway: Option<bool>,
    /// Whether the caller asks for another protocol, which brisk lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<bool>,
}

/// A reply.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// By name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Map<String, Value>>,
    /// Whether more replies to the same call follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<bool>,
    /// Interface and name of an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A managed device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Kernel name.
    pub name: String,
    /// What it calls itself.
    pub model: String,
    /// Sort of device.
    pub kind: String,
}

impl From<&device::Device> for Device {
    fn from(device: &device::Device) -> Self {
        Self { name: device.name.clone(), model: device.model.clone(), kind: device.kind.clone() }
    }
}

/// A disk that is not managed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftAlone {
    /// The disk, and the reason as a word.
    #[serde(flatten)]
    pub disk: devices::LeftAlone,
    /// The reason as a sentence, with what to do.
    pub text: String,
}

impl From<&devices::LeftAlone> for LeftAlone {
    fn from(disk: &devices::LeftAlone) -> Self {
        Self { disk: disk.clone(), text: disk.why.text().to_owned() }
    }
}

/// What the daemon did since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Times that it woke up.
    pub wake_ups: u64,
    /// Times that engines were asked.
    pub rounds: u64,
    /// Events.
    pub events: u64,
    /// Launches of apps.
    pub launches: u64,
    /// Settings written.
    pub writes: u64,
    /// Settings that could not be written.
    pub refusals: u64,
    /// One-shot actions that were done.
    #[serde(default)]
    pub actions: u64,
    /// Settings that were changed externally.
    pub changed_externally: u64,
    /// Scans of the devices.
    #[serde(default)]
    pub device_scans: u64,
}

/// What the daemon itself costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Processor time since it began.
    pub cpu_us: u64,
    /// Memory now.
    pub rss_bytes: u64,
}

/// A number with its 95 % interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number; negative where something was lost.
    pub value: i64,
    /// Lower end of the interval.
    pub low: i64,
    /// Upper end of it.
    pub high: i64,
}

/// What the settings of engines have saved on a device since the daemon began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// The device.
    pub device: String,
    /// The engines, joined by `+`.
    pub engines: String,
    /// Time for which their settings were in force and the device was sampled.
    pub elapsed_s: u64,
    /// Reads meanwhile.
    pub reads: u64,
    /// Of these, the ones for which like was seen without brisk's settings.
    pub reads_compared: u64,
    /// What those took less in all; `None` until enough was seen.
    pub read_delay_us: Option<Estimate>,
    /// Writes meanwhile.
    pub writes: u64,
    /// Of these, the ones for which like was seen without brisk's settings.
    pub writes_compared: u64,
    /// What those took less in all; `None` until enough was seen.
    pub write_delay_us: Option<Estimate>,
    /// Energy, modelled; `None` until enough was seen.
    pub energy_uj: Option<Estimate>,
    /// Requests that the energy is about.
    pub energy_requests_compared: u64,
}

/// Where the session is recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The file.
    pub path: String,
    /// Bytes written by this session.
    pub bytes: u64,
    /// Why nothing is recorded at the moment.
    #[serde(default)]
    pub trouble: Option<String>,
}

/// Everything at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Version of brisk.
    pub brisk_version: String,
    /// The daemon's process.
    pub pid: u32,
    /// When it began.
    pub started_unix_ms: u64,
    /// Now.
    pub at_unix_ms: u64,
    /// Whether it only plans.
    pub dry_run: bool,
    /// Whether everything is as before brisk, until the configuration is read again.
    pub paused: bool,
    /// Where the configuration is.
    pub config_path: String,
    /// Engines that run, in order.
    pub engines: Vec<String>,
    /// Managed devices.
    pub devices: Vec<Device>,
    /// The other disks, each with the reason.
    pub left_alone: Vec<LeftAlone>,
    /// Apps that run.
    pub apps: Vec<App>,
    /// Requested levels, with what became of each.
    pub settings: Vec<SettingState>,
    /// The last one-shot actions, with what became of each.
    #[serde(default)]
    pub actions: Vec<ActionState>,
    /// Messages of engines.
    pub notes: Vec<Note>,
    /// Settings that were changed externally.
    pub changed_externally: Vec<ChangedExternally>,
    /// What the daemon lacks or could not do.
    pub trouble: Vec<String>,
    /// Parts that it does without, since it has died in them.
    #[serde(default)]
    pub resting: Vec<Resting>,
    /// What it did.
    pub counts: Counts,
    /// What it costs.
    pub cost: Cost,
    /// What was saved.
    #[serde(default)]
    pub saved: Vec<Saved>,
    /// How that was measured.
    #[serde(default)]
    pub saved_how: String,
    /// What the engine for swap writes; `None` while it does not run.
    #[serde(default)]
    pub swap_writes: Option<SwapWrites>,
    /// What the engine for launch prefetch has read ahead; `None` while it does not run.
    #[serde(default)]
    pub prefetched: Option<Prefetched>,
    /// Other programs that act when memory is short.
    #[serde(default)]
    pub memory_programs: Vec<MemoryProgram>,
    /// Where it records.
    #[serde(default)]
    pub record: Option<Record>,
}

/// What the memory engine makes of each app.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Apps {
    /// Whether the engine runs: otherwise nothing is taken from any app, and nothing was learned.
    pub active: bool,
    /// Memory and apps.
    #[serde(flatten)]
    pub survey: MemorySurvey,
}

/// Where the pages of apps are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pages {
    /// Whether the engine for swap runs: otherwise nothing was learned, and nothing is written out or read back.
    pub active: bool,
    /// Memory and apps.
    #[serde(flatten)]
    pub survey: PagesSurvey,
}

/// What the engine for launch prefetch knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Launches {
    /// Whether the engine runs: otherwise nothing is read ahead and nothing is learned.
    pub active: bool,
    /// The apps, by id.
    pub apps: Vec<AppLaunches>,
}

/// Something that happened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Happening {
    /// When.
    pub at_unix_ms: u64,
    /// `event`, `setting` or `note`.
    pub kind: String,
    /// What, in a sentence.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use brisk_core::action::{AddressRange, Once, Setting};
    use brisk_core::app::{Activity, AppFacts, Branch, EndOrder, Preference, classify};
    use brisk_core::arbiter::{Overruled, Resolved, Rule};
    use brisk_core::knob::GroupSetting;
    use brisk_core::outcome::Outcome;
    use brisk_core::reason::Reason;
    use varlink_parser::{IDL, VStructOrEnum};

    use super::*;

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
            Outcome::Left { from: text() },
            Outcome::Gone,
            Outcome::Refused { why: text() },
            Outcome::Paused,
            Outcome::Dropped,
        ]
    }

    fn setting(outcome: Outcome) -> SettingState {
        let what = Setting { knob: "queue/sda/scheduler".parse().expect("a knob"), value: "bfq".to_owned() };
        let (original, outcome) = (Some("none".to_owned()), Some(outcome));
        SettingState { resolved: resolved(what), original, since_unix_ms: 1, outcome }
    }

    fn action(outcome: Outcome) -> ActionState {
        let ranges = vec![AddressRange { pid: 1, start: 0, size_bytes: 4096 }];
        ActionState { resolved: resolved(Once::PageIn { group: "a".to_owned(), ranges }), outcome }
    }

    fn branch() -> Branch {
        let preference = Some(Preference { order: EndOrder::Last, by: "earlyoom --avoid".to_owned() });
        Branch { pid: 7, start_ticks: 9, name: "make".to_owned(), memory_bytes: 1, growth_bytes: 1, preference }
    }

    fn row() -> Row {
        Row {
            group: "app-x-1.scope".to_owned(),
            id: "x".to_owned(),
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
            ["size_bytes", "grace_ms", "pid", "start_ticks", "streams", "priority", "files", "pieces"]
                .map(str::to_owned),
        );
        let of_terminal =
            Activity { branches: Some(vec![branch()]), preference: branch().preference, ..Activity::default() };
        let app =
            classify(&AppFacts { offers: GroupSetting::ALL.into(), activity: of_terminal, ..AppFacts::default() });
        let note = Note { engine: "iram".to_owned(), reason: Reason::rule("test") };
        let knob = "queue/sda/scheduler".parse().expect("a knob");
        let changed = ChangedExternally { knob, ours: "1".to_owned(), found: "2".to_owned() };
        let survey = row();
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
        let types: [(&str, BTreeSet<String>); 29] = [
            ("Status", keys(&Status::default())),
            // No level is read ahead, or ended early.
            ("Setting", {
                let of_actions =
                    |outcome: &Outcome| matches!(outcome, Outcome::Prefetched { .. } | Outcome::Cancelled { .. });
                let of_levels = outcomes().into_iter().filter(|outcome| !of_actions(outcome));
                of_levels.flat_map(|outcome| keys(&setting(outcome))).collect()
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
            ("Happening", keys(&Happening::default())),
            ("Apps", keys(&Apps::default())),
            ("AppMemory", keys(&survey)),
            ("SwapWrites", keys(&SwapWrites::default())),
            ("Pages", keys(&Pages::default())),
            ("AppPages", keys(&app_pages)),
            ("Prefetched", keys(&Prefetched::default())),
            ("Launches", keys(&Launches::default())),
            ("AppLaunches", keys(&AppLaunches::default())),
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
        for rule in
            [Rule::FixedChoice, Rule::TunableWithoutScheduler, Rule::AppEnds, Rule::SwapOutByAnother, Rule::Unknown]
        {
            assert!(names(&idl, "Rule").contains(&word(&rule)), "{rule:?}");
        }
        let methods: Vec<&str> = idl.method_keys.clone();
        assert_eq!(
            methods,
            [
                "GetStatus",
                "Explain",
                "Monitor",
                "Reload",
                "Reset",
                "SetFront",
                "LaunchBegins",
                "LaunchEnds",
                "SetIdle",
                "GetApps",
                "GetPages",
                "GetLaunches",
                "Forget"
            ]
        );
        assert!(IDL::try_from(SERVICE_DESCRIPTION).is_ok());
    }
}
