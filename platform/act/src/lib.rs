//! The only writer of the machine's settings: plan, apply, read back, journal.
