//! Arguments of `brisk prove`.

use std::path::PathBuf;

use crate::study::suite::arguments::{Every, Writing};

const AFTER_HELP: &str = "\
Examples:
  brisk prove                                       # a few apps on the flash of a Galaxy S5, about four minutes
  brisk prove --preset nexus4-emmc --apps xterm,evince --runs 6 --html proof.html
  brisk prove --config my.toml --json=proof.json   # with a configuration of your own
  brisk prove --engines prefetch,smartio            # these engines together, and each alone
  brisk prove --profiles found                      # with what brisk study frontier --save --profiles found has found

Launches alternate between the kernel's settings and brisk's, idle and concurrent with a background writer. Nothing of \
this machine but the emulated phone is managed by the daemon that is measured. A proof is refused while another briskd \
manages the phone's device. Exit codes: 0 measured, 1 measured but something could not be, or another program changed \
settings meanwhile, 2 not possible, 130 stopped by Ctrl-C.";

/// Arguments of `brisk prove`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// What all of them take.
    #[command(flatten)]
    pub(crate) every: Every,
    /// The background writer.
    #[command(flatten)]
    pub(crate) writing: Writing,
    /// Leave out the mixed load of readers and writers, their throughput and energy
    #[arg(long)]
    pub(crate) no_storage: bool,
    /// Configuration of the daemon [default: its defaults]; which devices it manages and where it records is set here
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Engines at work, first before last: with several, each is measured alone as well [default: those of the
    /// configuration, together]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) engines: Vec<String>,
    /// Profiles of devices for the daemon (see `brisk study frontier --save` and `brisk profile`); an empty
    /// directory stands for a device without measurements
    #[arg(long, value_name = "DIR", default_value = brisk_profile::store::PROFILES)]
    pub(crate) profiles: PathBuf,
    /// The daemon [default: briskd in the directory of this program, or in PATH]
    #[arg(long, value_name = "FILE")]
    pub(crate) briskd: Option<PathBuf>,
}
