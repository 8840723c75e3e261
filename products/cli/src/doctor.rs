//! `brisk doctor`.

use std::process::ExitCode;

/// Arguments of `brisk doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs it.
pub(crate) fn run(_args: &Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("brisk doctor is not built yet")
}
