//! `brisk lab`.

use std::process::ExitCode;

/// Arguments of `brisk lab`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs it.
pub(crate) fn run(_args: &Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("brisk lab is not built yet")
}
