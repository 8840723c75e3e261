//! Timing model of flash devices: pure and deterministic.
