//! The flash model as a real block device on this machine.
