//! `brisk study`.

use std::process::ExitCode;

/// Arguments of `brisk study`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs it.
pub(crate) fn run(_args: &Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("brisk study is not built yet")
}
