//! `brisk bench`.

use std::process::ExitCode;

/// Arguments of `brisk bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs it.
pub(crate) fn run(_args: &Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("brisk bench is not built yet")
}
