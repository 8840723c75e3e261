//! The only reader of the machine.
