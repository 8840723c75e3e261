//! brisk.
fn main() {}
