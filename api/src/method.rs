//! The methods of the interface, and its errors: calls as methods, and what is refused as replies.

use brisk_core::trial::Ladder;
use serde_json::{Map, Value, json};

use crate::job::JobKind;
use crate::message::{Call, DESCRIPTION, INTERFACE, Reply, SERVICE, SERVICE_DESCRIPTION, reply_with};

/// A method with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Method {
    /// Everything at this moment.
    GetStatus,
    /// The settings, or one of them, with the reasons.
    Explain(Option<String>),
    /// To subscribe to events.
    Monitor,
    /// To hear of the user's own apps that are ended, or could not be kept.
    WatchLosses,
    /// To read the configuration again; with true, to try again the parts that rest.
    Reload(bool),
    /// To restore everything.
    Reset,
    /// Tells which app is in front, or that none is.
    SetFront(Option<Target>),
    /// Tells that an app is being launched.
    LaunchBegins(Target),
    /// Tells that the launch of an app has ended.
    LaunchEnds(Target),
    /// Tells whether the user is idle.
    SetIdle(bool),
    /// Tells which processes play or record by the sound server of the user, a process for each stream; 0 for one that
    /// the server does not tell.
    SetSound(Vec<u32>),
    /// Pressure on storage and memory; with true, over the last day too.
    GetPressure(bool),
    /// What the memory engine makes of each app.
    GetApps,
    /// Where the engine for swap sees the pages of each app; those of this one, by id or group, are scanned first.
    GetPages(Option<String>),
    /// What the engine for launch prefetch knows of an app, by id, or of all.
    GetLaunches(Option<String>),
    /// The trials of engines.
    GetTrials,
    /// To switch an engine on or off, or to have its evidence decide (`None`).
    SetTrial(String, Option<Ladder>),
    /// To forget what was learned of an app, or all.
    Forget(Option<String>),
    /// What is to be done with the app of this id when memory is short: `protect`, `end_first` or `none`.
    SetApp(String, String),
    /// The text of the main file of the configuration.
    GetConfig,
    /// To replace that text where it is still of this version, or, with true, only to check it.
    SetConfig(String, String, bool),
    /// To begin a measurement, on a device or on all.
    StartJob(JobKind, Option<String>),
    /// To stop the measurement that runs.
    StopJob,
    /// The measurement that runs, or ran last.
    GetJob,
}

/// An app that a caller names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// By the name of its control group, or session.
    Group(String),
    /// By one of its processes.
    Pid(u32),
    /// By its id.
    Id(String),
}

impl Method {
    /// Whether sessions may call it: to tell who is in front, what is launched, who plays or records and whether their
    /// user is idle, and to hear of apps of that user.
    #[must_use]
    pub fn is_of_sessions(&self) -> bool {
        matches!(
            self,
            Self::SetFront(_)
                | Self::LaunchBegins(_)
                | Self::LaunchEnds(_)
                | Self::SetIdle(_)
                | Self::SetSound(_)
                | Self::WatchLosses
        )
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Group(name) | Self::Id(name) => f.write_str(name),
            Self::Pid(pid) => write!(f, "process {pid}"),
        }
    }
}

/// Why a call is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The method takes root.
    NotAllowed(String),
    /// The configuration cannot be used.
    BadConfig(String),
    /// Something could not be restored.
    CannotRestore(String),
    /// There is no such setting.
    NoSuchSetting(String),
    /// No such app runs.
    NoSuchApp(String),
    /// No such engine runs.
    NoSuchEngine(String),
    /// What was learned could not be removed from a file.
    CannotForget(String),
    /// The machine could not be read.
    CannotSense(String),
    /// A measurement could not be begun or stopped.
    CannotRun(String),
}

impl Method {
    /// Whether it changes anything, which takes root.
    #[must_use]
    pub fn changes(&self) -> bool {
        matches!(
            self,
            Self::Reload(_)
                | Self::Reset
                | Self::Forget(_)
                | Self::SetTrial(..)
                | Self::SetApp(..)
                | Self::SetConfig(_, _, false)
                | Self::StartJob(..)
                | Self::StopJob
        )
    }
}

impl From<Fault> for Reply {
    fn from(fault: Fault) -> Self {
        let (name, key, value) = match fault {
            Fault::NotAllowed(why) => ("NotAllowed", "why", why),
            Fault::BadConfig(why) => ("BadConfig", "why", why),
            Fault::CannotRestore(why) => ("CannotRestore", "why", why),
            Fault::NoSuchSetting(knob) => ("NoSuchSetting", "knob", knob),
            Fault::NoSuchEngine(engine) => ("NoSuchEngine", "engine", engine),
            Fault::NoSuchApp(app) => ("NoSuchApp", "app", app),
            Fault::CannotForget(why) => ("CannotForget", "why", why),
            Fault::CannotSense(why) => ("CannotSense", "why", why),
            Fault::CannotRun(why) => ("CannotRun", "why", why),
        };
        error(INTERFACE, name, &[(key, value)])
    }
}

fn error(interface: &str, name: &str, parameters: &[(&str, String)]) -> Reply {
    let parameters = parameters.iter().map(|(key, value)| ((*key).to_owned(), Value::from(value.as_str()))).collect();
    Reply { error: Some(format!("{interface}.{name}")), parameters: Some(parameters), ..Reply::default() }
}

/// The method that is called.
///
/// # Errors
/// A reply where the daemon is not needed: the service describes itself, or there is no such method or parameter.
pub fn understand(call: &Call) -> Result<Method, Reply> {
    let of_service = |name: &str, key: &str, value: &str| error(SERVICE, name, &[(key, value.to_owned())]);
    let Some((interface, method)) = call.method.rsplit_once('.') else {
        return Err(of_service("InterfaceNotFound", "interface", &call.method));
    };
    let nothing = Map::new();
    let given = call.parameters.as_ref().unwrap_or(&nothing);
    let allowed: &[&str] = match (interface, method) {
        (SERVICE, "GetInterfaceDescription") => &["interface"],
        (INTERFACE, "Explain") => &["knob"],
        (INTERFACE, "SetFront") => &["group", "pid", "id"],
        (INTERFACE, "LaunchBegins" | "LaunchEnds") => &["id", "pid"],
        (INTERFACE, "SetIdle") => &["idle"],
        (INTERFACE, "SetSound") => &["pids"],
        (INTERFACE, "Reload") => &["retry"],
        (INTERFACE, "GetPressure") => &["day"],
        (INTERFACE, "SetTrial") => &["engine", "to"],
        (INTERFACE, "GetPages" | "GetLaunches" | "Forget") => &["app"],
        (INTERFACE, "SetApp") => &["app", "to"],
        (INTERFACE, "SetConfig") => &["text", "version", "check"],
        (INTERFACE, "StartJob") => &["job", "device"],
        _ => &[],
    };
    if !matches!(interface, SERVICE | INTERFACE) {
        return Err(of_service("InterfaceNotFound", "interface", interface));
    }
    let text = |key: &str| match given.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(of_service("InvalidParameter", "parameter", key)),
    };
    let some = |key: &str| text(key)?.ok_or_else(|| of_service("InvalidParameter", "parameter", key));
    let flag = |key: &str| match given.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(of_service("InvalidParameter", "parameter", key)),
    };
    let app = |name: &str, of_name: fn(String) -> Target| {
        let pid = match given.get("pid") {
            None | Some(Value::Null) => None,
            Some(pid) => {
                let pid = pid.as_u64().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0);
                Some(Target::Pid(pid.ok_or_else(|| of_service("InvalidParameter", "parameter", "pid"))?))
            }
        };
        match (text(name)?.map(of_name), pid) {
            // Both may be of different apps.
            (Some(_), Some(_)) => Err(of_service("InvalidParameter", "parameter", "pid")),
            (named, pid) => Ok(named.or(pid)),
        }
    };
    let some_app = |name: &str| {
        app(name, Target::Id).and_then(|app| app.ok_or_else(|| of_service("InvalidParameter", "parameter", name)))
    };
    let unknown = given.keys().find(|key| !allowed.contains(&key.as_str()));
    let ask = match (interface, method) {
        (SERVICE, "GetInfo" | "GetInterfaceDescription")
        | (INTERFACE, "GetStatus" | "Explain" | "Monitor" | "Reload" | "Reset" | "GetApps" | "GetPages" | "Forget")
        | (
            INTERFACE,
            "SetFront" | "LaunchBegins" | "LaunchEnds" | "SetIdle" | "SetSound" | "GetLaunches" | "GetTrials"
            | "SetTrial" | "WatchLosses" | "GetPressure" | "SetApp" | "GetConfig" | "SetConfig" | "StartJob"
            | "StopJob" | "GetJob",
        ) if unknown.is_some() => {
            return Err(of_service("InvalidParameter", "parameter", unknown.map_or("", String::as_str)));
        }
        (SERVICE, "GetInfo") => return Err(info()),
        (SERVICE, "GetInterfaceDescription") => {
            return Err(match text("interface")?.as_deref() {
                Some(INTERFACE) => reply_with(&[("description", &DESCRIPTION)]),
                Some(SERVICE) => reply_with(&[("description", &SERVICE_DESCRIPTION)]),
                Some(other) => of_service("InterfaceNotFound", "interface", other),
                None => of_service("InvalidParameter", "parameter", "interface"),
            });
        }
        (INTERFACE, "GetStatus") => Method::GetStatus,
        (INTERFACE, "Explain") => Method::Explain(text("knob")?),
        (INTERFACE, "Monitor" | "WatchLosses") if call.more != Some(true) => {
            return Err(error(SERVICE, "ExpectedMore", &[]));
        }
        (INTERFACE, "Monitor") => Method::Monitor,
        (INTERFACE, "WatchLosses") => Method::WatchLosses,
        (INTERFACE, "Reload") => Method::Reload(flag("retry")?),
        (INTERFACE, "GetPressure") => Method::GetPressure(flag("day")?),
        (INTERFACE, "Reset") => Method::Reset,
        (INTERFACE, "SetFront") => match (app("group", Target::Group)?, text("id")?.map(Target::Id)) {
            (Some(_), Some(_)) => return Err(of_service("InvalidParameter", "parameter", "id")),
            (named, id) => Method::SetFront(named.or(id)),
        },
        (INTERFACE, "LaunchBegins") => Method::LaunchBegins(some_app("id")?),
        (INTERFACE, "LaunchEnds") => Method::LaunchEnds(some_app("id")?),
        (INTERFACE, "SetIdle") => match given.get("idle") {
            Some(Value::Bool(idle)) => Method::SetIdle(*idle),
            _ => return Err(of_service("InvalidParameter", "parameter", "idle")),
        },
        (INTERFACE, "SetSound") => {
            let pid = |pid: &Value| pid.as_u64().and_then(|pid| u32::try_from(pid).ok());
            let pids = given.get("pids").and_then(Value::as_array).and_then(|pids| pids.iter().map(pid).collect());
            Method::SetSound(pids.ok_or_else(|| of_service("InvalidParameter", "parameter", "pids"))?)
        }
        (INTERFACE, "GetApps") => Method::GetApps,
        (INTERFACE, "GetPages") => Method::GetPages(text("app")?),
        (INTERFACE, "GetLaunches") => Method::GetLaunches(text("app")?),
        (INTERFACE, "GetTrials") => Method::GetTrials,
        (INTERFACE, "SetTrial") => {
            let invalid = |key| of_service("InvalidParameter", "parameter", key);
            let ladder = match text("to")?.as_deref() {
                Some("on") => Some(Ladder::On),
                Some("off") => Some(Ladder::Off),
                Some("auto") => None,
                _ => return Err(invalid("to")),
            };
            Method::SetTrial(text("engine")?.ok_or_else(|| invalid("engine"))?, ladder)
        }
        (INTERFACE, "Forget") => Method::Forget(text("app")?),
        (INTERFACE, "SetApp") => Method::SetApp(some("app")?, some("to")?),
        (INTERFACE, "GetConfig") => Method::GetConfig,
        (INTERFACE, "SetConfig") => Method::SetConfig(some("text")?, some("version")?, flag("check")?),
        (INTERFACE, "StartJob") => {
            let job = JobKind::of(&some("job")?).ok_or_else(|| of_service("InvalidParameter", "parameter", "job"))?;
            Method::StartJob(job, text("device")?)
        }
        (INTERFACE, "StopJob") => Method::StopJob,
        (INTERFACE, "GetJob") => Method::GetJob,
        _ => return Err(of_service("MethodNotFound", "method", &call.method)),
    };
    Ok(ask)
}

fn info() -> Reply {
    let parameters = json!({
        "vendor": "brisk",
        "product": "briskd",
        "version": env!("CARGO_PKG_VERSION"),
        "url": "",
        "interfaces": [SERVICE, INTERFACE],
    });
    Reply { parameters: parameters.as_object().cloned(), ..Reply::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn call(method: &str, parameters: Value) -> Call {
        Call { method: method.to_owned(), parameters: parameters.as_object().cloned(), ..Call::default() }
    }

    fn error_of(method: &str, parameters: Value) -> String {
        understand(&call(method, parameters)).expect_err("no method").error.expect("an error")
    }

    #[test]
    fn calls_are_understood() {
        let ask = |method: &str, parameters| understand(&call(method, parameters)).expect("a method");
        assert_eq!(ask("org.brisk.Daemon.GetStatus", json!({})), Method::GetStatus);
        assert_eq!(ask("org.brisk.Daemon.Explain", json!({"knob": null})), Method::Explain(None));
        assert_eq!(
            ask("org.brisk.Daemon.Explain", json!({"knob": "queue/a/b"})),
            Method::Explain(Some("queue/a/b".into()))
        );
        assert_eq!(ask("org.brisk.Daemon.SetFront", json!({"pid": 41})), Method::SetFront(Some(Target::Pid(41))));
        assert_eq!(ask("org.brisk.Daemon.SetFront", json!({"group": null})), Method::SetFront(None));
        let foot = Method::SetFront(Some(Target::Id("foot".into())));
        assert_eq!(ask("org.brisk.Daemon.SetFront", json!({"id": "foot", "pid": null})), foot);
        let launch = ask("org.brisk.Daemon.LaunchBegins", json!({"id": "org.gnome.Evince"}));
        assert_eq!(launch, Method::LaunchBegins(Target::Id("org.gnome.Evince".into())));
        assert_eq!(ask("org.brisk.Daemon.SetIdle", json!({"idle": true})), Method::SetIdle(true));
        let sound = ask("org.brisk.Daemon.SetSound", json!({"pids": [41, 0]}));
        assert!(sound == Method::SetSound(vec![41, 0]) && sound.is_of_sessions() && !sound.changes());
        let monitor = Call { more: Some(true), ..call("org.brisk.Daemon.Monitor", json!({})) };
        assert_eq!(understand(&monitor), Ok(Method::Monitor));
        assert!(Method::Reset.changes() && Method::Reload(true).changes() && !Method::Monitor.changes());
        assert_eq!(ask("org.brisk.Daemon.Reload", json!({})), Method::Reload(false));
        assert_eq!(ask("org.brisk.Daemon.Reload", json!({"retry": true})), Method::Reload(true));
        let forget = ask("org.brisk.Daemon.Forget", json!({"app": "mpv"}));
        assert!(forget == Method::Forget(Some("mpv".to_owned())) && forget.changes());
        assert_eq!(ask("org.brisk.Daemon.Forget", json!({})), Method::Forget(None));
        let set = ask("org.brisk.Daemon.SetTrial", json!({"engine": "mars", "to": "off"}));
        assert!(set == Method::SetTrial("mars".to_owned(), Some(Ladder::Off)) && set.changes());
        let auto = ask("org.brisk.Daemon.SetTrial", json!({"engine": "mars", "to": "auto"}));
        assert_eq!(auto, Method::SetTrial("mars".to_owned(), None));
        assert!(!ask("org.brisk.Daemon.GetTrials", json!({})).changes());
        let app = ask("org.brisk.Daemon.SetApp", json!({"app": "mpv", "to": "protect"}));
        assert!(app == Method::SetApp("mpv".to_owned(), "protect".to_owned()) && app.changes());
        let config =
            |check: bool| ask("org.brisk.Daemon.SetConfig", json!({"text": "a", "version": "b", "check": check}));
        assert!(config(false).changes() && !config(true).changes());
        let job = ask("org.brisk.Daemon.StartJob", json!({"job": "bench", "device": "sda"}));
        assert!(job == Method::StartJob(JobKind::Bench, Some("sda".to_owned())) && job.changes());
        assert!(ask("org.brisk.Daemon.StopJob", json!({})).changes());
        assert!(!ask("org.brisk.Daemon.GetJob", json!({})).changes());
        assert!(!ask("org.brisk.Daemon.GetApps", json!({})).changes());
        let pressure = ask("org.brisk.Daemon.GetPressure", json!({"day": true}));
        assert!(pressure == Method::GetPressure(true) && !pressure.changes());
        assert_eq!(ask("org.brisk.Daemon.GetPressure", json!({})), Method::GetPressure(false));
        let launches = ask("org.brisk.Daemon.GetLaunches", json!({"app": "mpv"}));
        assert!(launches == Method::GetLaunches(Some("mpv".to_owned())) && !launches.changes());
        let pages = ask("org.brisk.Daemon.GetPages", json!({"app": "mpv"}));
        assert!(pages == Method::GetPages(Some("mpv".to_owned())) && !pages.changes());
    }

    #[test]
    fn the_service_describes_itself() {
        let info = understand(&call("org.varlink.service.GetInfo", json!({}))).expect_err("answered here");
        let interfaces = info.parameters.expect("values")["interfaces"].clone();
        assert_eq!(interfaces, json!(["org.varlink.service", "org.brisk.Daemon"]));
        for interface in [SERVICE, INTERFACE] {
            let asked = call("org.varlink.service.GetInterfaceDescription", json!({"interface": interface}));
            let description = understand(&asked).expect_err("answered here").parameters.expect("values");
            let text = description["description"].as_str().expect("a text").to_owned();
            assert_eq!(varlink_parser::IDL::try_from(text.as_str()).expect("an interface").name, interface);
        }
    }

    #[test]
    fn what_is_not_there_is_an_error_of_the_protocol() {
        for (method, parameters, name) in [
            ("GetStatus", json!({}), "InterfaceNotFound"),
            ("org.example.Other.Method", json!({}), "InterfaceNotFound"),
            ("org.brisk.Daemon.Destroy", json!({}), "MethodNotFound"),
            ("org.brisk.Daemon.GetStatus", json!({"a": 1}), "InvalidParameter"),
            ("org.brisk.Daemon.Explain", json!({"knob": 7}), "InvalidParameter"),
            ("org.brisk.Daemon.Monitor", json!({}), "ExpectedMore"),
            ("org.brisk.Daemon.WatchLosses", json!({}), "ExpectedMore"),
            ("org.brisk.Daemon.WatchLosses", json!({"a": 1}), "InvalidParameter"),
            ("org.brisk.Daemon.SetFront", json!({"group": "a", "pid": 1}), "InvalidParameter"),
            ("org.brisk.Daemon.SetFront", json!({"id": "a", "pid": 1}), "InvalidParameter"),
            ("org.brisk.Daemon.SetFront", json!({"id": "a", "group": "b"}), "InvalidParameter"),
            ("org.brisk.Daemon.SetFront", json!({"id": 7}), "InvalidParameter"),
            ("org.brisk.Daemon.SetFront", json!({"pid": -1}), "InvalidParameter"),
            ("org.brisk.Daemon.SetFront", json!({"pid": 0}), "InvalidParameter"),
            ("org.brisk.Daemon.LaunchBegins", json!({}), "InvalidParameter"),
            ("org.brisk.Daemon.LaunchEnds", json!({"id": 7}), "InvalidParameter"),
            ("org.brisk.Daemon.SetIdle", json!({"idle": "yes"}), "InvalidParameter"),
            ("org.brisk.Daemon.SetSound", json!({}), "InvalidParameter"),
            ("org.brisk.Daemon.SetSound", json!({"pids": [-1]}), "InvalidParameter"),
            ("org.brisk.Daemon.SetTrial", json!({"engine": "mars"}), "InvalidParameter"),
            ("org.brisk.Daemon.SetTrial", json!({"engine": "mars", "to": "maybe"}), "InvalidParameter"),
            ("org.brisk.Daemon.SetTrial", json!({"to": "on"}), "InvalidParameter"),
            ("org.brisk.Daemon.Reload", json!({"retry": "yes"}), "InvalidParameter"),
            ("org.brisk.Daemon.GetPressure", json!({"day": 1}), "InvalidParameter"),
            ("org.varlink.service.GetInterfaceDescription", json!({}), "InvalidParameter"),
            ("org.varlink.service.GetInterfaceDescription", json!({"interface": "a.b"}), "InterfaceNotFound"),
        ] {
            assert_eq!(error_of(method, parameters), format!("org.varlink.service.{name}"), "{method}");
        }
    }

    #[test]
    fn faults_are_errors_of_the_interface() {
        for fault in [
            Fault::NotAllowed("a".into()),
            Fault::BadConfig("a".into()),
            Fault::CannotRestore("a".into()),
            Fault::NoSuchSetting("a".into()),
            Fault::NoSuchApp("a".into()),
            Fault::NoSuchEngine("a".into()),
            Fault::CannotForget("a".into()),
            Fault::CannotSense("a".into()),
        ] {
            let error = Reply::from(fault).error.expect("an error");
            let name = error.strip_prefix("org.brisk.Daemon.").expect("of the interface");
            assert!(DESCRIPTION.contains(&format!("error {name} (")), "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_call_makes_it_panic(
            method in "(org\\.(brisk\\.Daemon|varlink\\.service))?\\.?[A-Za-z]{0,10}",
            key in "[a-z]{0,9}",
            number in any::<i64>(),
        ) {
            let _ = understand(&call(&method, json!({ (key): number })));
        }
    }
}
