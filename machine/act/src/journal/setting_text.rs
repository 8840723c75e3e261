//! The text form of a setting, as in [`Knob`].

use brisk_core::knob::{Knob, QueueSetting};
use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

pub(super) fn serialize<S: Serializer>(setting: &QueueSetting, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(setting)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<QueueSetting, D::Error> {
    let text = String::deserialize(deserializer)?;
    match format!("queue/any/{text}").parse() {
        Ok(Knob::Queue { setting, .. }) => Ok(setting),
        _ => Err(D::Error::custom(format!("'{text}' is no setting of a queue"))),
    }
}
