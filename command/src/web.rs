//! `brisk web` as both programs know it: its arguments, and the program `brisk-web` that brisk becomes. It is a package
//! of its own, as a device needs no server.

use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::str::FromStr;

use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::{duration, lab};

const DAY: Duration = Duration::from_secs(86_400);

/// The program and its package.
pub const PROGRAM: &str = "brisk-web";

pub const AFTER_HELP: &str = "\
The page shows what is in front, pressure on storage and memory, what each engine gains with its evidence, apps with \
their memory and what would be taken from first, every setting that brisk has changed with its reason, and what \
happens. It switches engines, protects apps, edits the configuration, has this device measured and puts everything \
back where the daemon lets this user, and names the command otherwise.

Of a record it shows, with a slider over decisions, what was seen, decided and written; such a page changes nothing.

The link works once, and lets one browser in. Only processes of this user, and of root, are answered; no request \
leaves the machine. Where the unit brisk-web.socket of the user is enabled, the command prints a link of its service, \
which begins with that and ends after ten minutes without a page. What is begun with --open ends likewise.

Examples:
  brisk web --open
  brisk web --listen 127.0.0.1:8262
  brisk web day.brisk --open
  ssh -L 8262:127.0.0.1:8262 device brisk web --listen 127.0.0.1:8262    # the page of another device

Exit codes: 0 ended, or the link of a service was printed, 2 not possible.";

/// Arguments of `brisk web`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Show this record of the daemon instead: what was seen, decided and written at each decision
    pub record: Option<PathBuf>,
    /// Open the page in the browser of this session
    #[arg(long)]
    pub open: bool,
    /// Listen at 127.0.0.1:PORT, or at the path of a Unix socket [default: a free port of 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<Address>,
    /// End after this time without a page [default: 10m of a unit and with --open, otherwise never]
    #[arg(long, value_name = "TIME", value_parser = duration::between(Duration::from_secs(1), DAY))]
    pub idle: Option<Duration>,
    /// Where the daemon has its socket [default: $BRISK_RUN_DIR, or /run/brisk]
    #[arg(long, value_name = "DIR")]
    pub run_dir: Option<PathBuf>,
}

/// An address to listen at, as a person names it; no other machine reaches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains('/') {
            return Ok(Self::Unix(text.into()));
        }
        let text = text.replace("localhost", "127.0.0.1");
        let address: SocketAddr =
            text.parse().map_err(|_| "name 127.0.0.1:PORT, or the path of a socket".to_owned())?;
        if !address.ip().is_loopback() {
            let what =
                "an address that other machines reach: listen at 127.0.0.1, and let 'ssh -L' bring it to another";
            return Err(what.to_owned());
        }
        Ok(Self::Tcp(address))
    }
}

/// Becomes the program.
///
/// # Errors
/// When it is not installed or cannot be run.
pub fn hand_over(args: &Args) -> anyhow::Result<ExitCode> {
    let Some(program) = lab::find(PROGRAM) else {
        bail!(
            "'brisk web' needs the program {PROGRAM}, which is neither in the directory of this program nor in PATH: \
             install the package {PROGRAM}, or in a source tree run: make build"
        );
    };
    let mut command = Command::new(&program);
    if args.open {
        command.arg("--open");
    }
    match &args.listen {
        Some(Address::Tcp(address)) => drop(command.arg(format!("--listen={address}"))),
        Some(Address::Unix(path)) => drop(command.arg("--listen").arg(path)),
        None => {}
    }
    if let Some(idle) = args.idle {
        command.arg("--idle").arg(duration::written(idle));
    }
    if let Some(dir) = &args.run_dir {
        command.arg("--run-dir").arg(dir);
    }
    command.args(&args.record);
    let failed = command.exec();
    Err(failed).with_context(|| format!("cannot run {}: install the package {PROGRAM} anew", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_and_paths_are_listened_at() {
        let tcp = |text: &str| Address::Tcp(text.parse().expect("an address"));
        assert_eq!("127.0.0.1:80".parse(), Ok(tcp("127.0.0.1:80")));
        assert_eq!("localhost:80".parse(), Ok(tcp("127.0.0.1:80")));
        assert_eq!("[::1]:80".parse(), Ok(tcp("[::1]:80")));
        assert_eq!("./x".parse(), Ok(Address::Unix("./x".into())));
        for text in ["0.0.0.0:80", "192.168.1.2:80", "[::]:80"] {
            assert!(text.parse::<Address>().is_err_and(|why| why.contains("other machines")), "{text}");
        }
        for text in ["80", "evil.example:80", ""] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
