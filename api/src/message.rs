//! Calls and replies of the varlink protocol, and the interfaces by which they are described.

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

/// The longest call.
pub const CALL_BYTES_MAX: usize = 64 << 10;

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

/// A reply with these values by name.
#[must_use]
pub fn reply_with(parameters: &[(&str, &dyn ErasedValue)]) -> Reply {
    let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), value.value())).collect();
    Reply { parameters: Some(parameters), ..Reply::default() }
}

/// What has a form in JSON.
pub trait ErasedValue {
    /// The text in that form.
    fn value(&self) -> Value;
}

impl<T: Serialize> ErasedValue for T {
    fn value(&self) -> Value {
        serde_json::to_value(self).unwrap_or(Value::Null)
    }
}
