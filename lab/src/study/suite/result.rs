//! Many apps under several conditions on an emulated phone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::results::{Condition, Header, PhoneFacts, SuiteApp};

/// `brisk suite run`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteReport {
    /// Common head.
    #[serde(flatten)]
    pub header: Header,
    /// The phone.
    pub phone: PhoneFacts,
    /// Conditions, the base first.
    pub conditions: Vec<Condition>,
    /// The apps.
    pub apps: Vec<SuiteApp>,
}
