//! Versioned record of sessions: what was sensed, decided and done.
