//! The values that travel over the control socket, as `org.brisk.Daemon.varlink` describes them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
    /// Whether the caller wants no reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oneway: Option<bool>,
    /// Whether the caller wants to go on in another protocol, which brisk has not.
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

/// An app that runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct App {
    /// Its control group.
    pub group: String,
    /// Its id.
    pub id: String,
    /// Whether it is being launched.
    pub launching: bool,
    /// How much delay it tolerates.
    pub tolerance: String,
    /// Why it is in that class.
    pub reason: String,
}

/// Who wanted another value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Other {
    /// The engine.
    pub engine: String,
    /// What it wanted.
    pub value: String,
}

/// A setting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The knob's text.
    pub knob: String,
    /// What it is to be.
    pub value: String,
    /// What it was before brisk; `None` when that is not known.
    #[serde(default)]
    pub original: Option<String>,
    /// Whose wish it is, or `config`.
    pub engine: String,
    /// The rule that decided between wishes.
    pub rule: String,
    /// Why the engine wishes it.
    pub reason: String,
    /// Who wanted something else.
    pub over: Vec<Other>,
    /// Since when it is to be so, for this reason.
    pub since_unix_ms: u64,
    /// What became of it: `stands`, `planned` (a dry run), `left` (somebody else's, or gone), `refused`, `paused` or `unknown`
    /// (a record that does not say).
    pub outcome: String,
    /// Why it does not stand.
    #[serde(default)]
    pub why_not: Option<String>,
}

/// What an engine wants people to know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The engine.
    pub engine: String,
    /// What.
    pub text: String,
}

/// A setting that somebody else changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenOver {
    /// The knob's text.
    pub knob: String,
    /// What stands there.
    pub found: String,
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
    /// Settings that somebody else took over.
    pub taken_over: u64,
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
    /// For how long their settings were in force and the device was looked at.
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Of brisk.
    pub version: String,
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
    /// Apps that run.
    pub apps: Vec<App>,
    /// Settings that brisk wants.
    pub settings: Vec<Setting>,
    /// What engines want people to know.
    pub notes: Vec<Note>,
    /// Settings that are somebody else's.
    pub taken_over: Vec<TakenOver>,
    /// What the daemon lacks or could not do.
    pub trouble: Vec<String>,
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
    /// Where it records.
    #[serde(default)]
    pub record: Option<Record>,
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

    use varlink_parser::{IDL, VStructOrEnum};

    use super::*;

    fn fields(idl: &IDL<'_>, name: &str) -> BTreeSet<String> {
        let Some(typedef) = idl.typedefs.get(name) else { panic!("no type {name}") };
        match &typedef.elt {
            VStructOrEnum::VStruct(fields) => fields.elts.iter().map(|field| field.name.to_owned()).collect(),
            VStructOrEnum::VEnum(_) => panic!("{name} is an enumeration"),
        }
    }

    fn keys(value: &impl Serialize) -> BTreeSet<String> {
        let Ok(Value::Object(object)) = serde_json::to_value(value) else { panic!("no object") };
        object.keys().cloned().collect()
    }

    #[test]
    fn the_description_says_what_travels() {
        let idl = IDL::try_from(DESCRIPTION).expect("a varlink interface");
        assert_eq!(idl.name, INTERFACE);
        let types: [(&str, BTreeSet<String>); 12] = [
            ("Status", keys(&Status::default())),
            ("Setting", keys(&Setting::default())),
            ("Other", keys(&Other::default())),
            ("Device", keys(&Device::default())),
            ("App", keys(&App::default())),
            ("Note", keys(&Note::default())),
            ("TakenOver", keys(&TakenOver::default())),
            ("Counts", keys(&Counts::default())),
            ("Cost", keys(&Cost::default())),
            ("Estimate", keys(&Estimate::default())),
            ("Saved", keys(&Saved::default())),
            ("Record", keys(&Record::default())),
        ];
        for (name, keys) in types {
            assert_eq!(fields(&idl, name), keys, "{name}");
        }
        assert_eq!(fields(&idl, "Happening"), keys(&Happening::default()));
        let methods: Vec<&str> = idl.method_keys.clone();
        assert_eq!(methods, ["GetStatus", "Explain", "Monitor", "Reload", "Reset"]);
        assert!(IDL::try_from(SERVICE_DESCRIPTION).is_ok());
    }
}
