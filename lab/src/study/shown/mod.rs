//! What pages of several studies share: launches, their sets and endings, apps of a suite, how they open, and facts.

pub(crate) mod apps;
pub(crate) mod endings;
pub(crate) mod facts;
pub(crate) mod launches;
pub(crate) mod opening;
pub(crate) mod sets;
pub(crate) mod starts;
