//! What engines wish for, and why.
//!
//! An engine is a function of what was observed. It gives a [`Decision`]: its next state, and *all* that it wishes for now.
//! A knob that it does not name is not its business any more, and gets back the value that it had before brisk. So nothing
//! has to be remembered to be undone, and leaving a wish out is how an engine backs off.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::event::Event;
use crate::knob::{Knob, QueueSetting};
use crate::snapshot::Snapshot;

/// What a wish is for. The order is that of precedence, first before last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// Somebody waits now: an app is launched, or the app in front reads.
    Delay,
    /// Nobody waits.
    Energy,
}

/// Why something is as it is: data that people can be told and tests can compare.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// Name of the rule that held.
    pub rule: Cow<'static, str>,
    /// What it was held against.
    #[serde(default)]
    pub facts: Vec<Fact>,
}

/// One thing that a rule looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// What, with its unit as the last word, such as `reads_per_s`.
    pub name: Cow<'static, str>,
    /// What it was.
    pub value: Value,
}

/// A number or a word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A word.
    Word(String),
}

impl Reason {
    /// A rule without facts.
    #[must_use]
    pub fn rule(rule: &'static str) -> Self {
        Self { rule: Cow::Borrowed(rule), facts: Vec::new() }
    }

    /// The same with a number that it looked at.
    #[must_use]
    pub fn number(mut self, name: &'static str, value: f64) -> Self {
        self.facts.push(Fact { name: Cow::Borrowed(name), value: Value::Number(value) });
        self
    }

    /// The same with a word that it looked at.
    #[must_use]
    pub fn word(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.facts.push(Fact { name: Cow::Borrowed(name), value: Value::Word(value.into()) });
        self
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rule.replace('_', " "))?;
        for (i, fact) in self.facts.iter().enumerate() {
            f.write_str(if i == 0 { " (" } else { ", " })?;
            match &fact.value {
                Value::Number(number) => write!(f, "{} {}", fact.name, (number * 100.0).round() / 100.0)?,
                Value::Word(word) => write!(f, "{} {word}", fact.name)?,
            }
        }
        if self.facts.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

/// One knob as an engine wants it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wish {
    /// The knob.
    pub knob: Knob,
    /// The value, as the kernel shows it.
    pub value: String,
    /// What for.
    pub objective: Objective,
    /// Why.
    pub reason: Reason,
}

/// What an engine makes of what it saw.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision<State> {
    /// What it keeps until the next time.
    pub state: State,
    /// All that it wishes for now.
    pub wishes: Vec<Wish>,
    /// What it wants people to know besides, such as that it backed off.
    pub notes: Vec<Reason>,
}

/// A block device as engines see it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Kernel name.
    pub name: String,
    /// What it calls itself, firmware included: parameters that were measured are kept under this name.
    pub model: String,
    /// Emulated or real: `emmc`, `sd`, `ufs`, `nvme`, `usb`, `virtual` or `disk`.
    pub kind: String,
    /// Schedulers that this kernel offers for it.
    pub schedulers: Vec<String>,
    /// Settings that it has and their values before brisk changed any.
    pub originals: Vec<(QueueSettingText, String)>,
}

/// A setting in its text form: as part of a record it must stay readable when settings are added.
pub type QueueSettingText = String;

/// Stands between the name of a model and the revision of its firmware.
const FIRMWARE: &str = ", firmware ";

/// What a device calls itself, firmware included.
#[must_use]
pub fn with_firmware(model: &str, revision: &str) -> String {
    format!("{model}{FIRMWARE}{revision}")
}

impl Device {
    /// What it calls itself without its firmware, under which parameters were kept by versions of brisk that did not tell
    /// firmware apart; `None` where it names no firmware.
    #[must_use]
    pub fn model_of_any_firmware(&self) -> Option<&str> {
        self.model.rsplit_once(FIRMWARE).map(|(model, _)| model)
    }

    /// What a setting was before brisk.
    #[must_use]
    pub fn original(&self, setting: &QueueSetting) -> Option<&str> {
        let name = setting.to_string();
        self.originals.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// Whether the kernel offers this scheduler for it.
    #[must_use]
    pub fn has_scheduler(&self, name: &str) -> bool {
        self.schedulers.iter().any(|known| known == name)
    }
}

/// What an engine sees: two moments, what happened between them, and what is there.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// The moment before; `None` at the start and after a gap.
    pub previous: Option<&'a Snapshot>,
    /// Now.
    pub now: &'a Snapshot,
    /// What happened in between, in order of time.
    pub events: &'a [Event],
    /// Devices that brisk manages.
    pub devices: &'a [Device],
    /// Apps that run.
    pub apps: &'a [App],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_reads_as_words_with_its_facts() {
        let reason = Reason::rule("nearest_rate_proportion").number("rp", 0.791_3).word("benchmark", "AnTuTu");
        assert_eq!(reason.to_string(), "nearest rate proportion (rp 0.79, benchmark AnTuTu)");
        assert_eq!(Reason::rule("default").to_string(), "default");
    }

    #[test]
    fn a_model_is_told_with_its_firmware_and_without() {
        let model = with_firmware("KLUDG8V1EE", "0100");
        assert_eq!(model, "KLUDG8V1EE, firmware 0100");
        let named = |model: &str| Device { model: model.to_owned(), ..Device::default() };
        assert_eq!(named(&model).model_of_any_firmware(), Some("KLUDG8V1EE"));
        assert_eq!(named("galaxy-s5-emmc").model_of_any_firmware(), None);
    }

    #[test]
    fn a_device_knows_what_it_was() {
        let tunable = QueueSetting::tunable("mq-deadline", "fifo_batch");
        let originals = vec![("scheduler".to_owned(), "bfq".to_owned()), (tunable.to_string(), "16".to_owned())];
        let device = Device { originals, ..Device::default() };
        assert_eq!(device.original(&QueueSetting::Scheduler), Some("bfq"));
        assert_eq!(device.original(&tunable), Some("16"));
        assert_eq!(device.original(&QueueSetting::NrRequests), None);
    }
}
