//! `brisk-web`, which `brisk web` becomes: a page for the owner of a device, in a browser of the same machine.
//!
//! ```text
//! browser ──HTTP, loopback──> serve ──look──> feed ──varlink──> briskd, or a record
//!    ^                          │ page: blocks in HTML           │
//!    └───server-sent patches────┘                 Monitor ───────┘
//! ```
//!
//! It has no right of its own, writes no file, and is asked by pages alone: without one nothing runs but a sleep. What
//! a page may change, the daemon decides by the user of this process.

mod actions;
mod diff;
mod door;
mod feed;
mod german;
mod guard;
mod http;
mod page;
mod record;
mod serve;
mod texts;

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use brisk_api::SOCKET;
use brisk_command::web::{Address, Args};
use brisk_core::causes::in_one_line;
use clap::Parser;

use crate::door::Door;
use crate::feed::Feed;
use crate::record::Recorded;
use crate::serve::{Server, Source};

/// Without a page for so long, a program that no person ends does so itself.
const IDLE: Duration = Duration::from_secs(600);

/// Shows in a browser what brisk sees, does and gains on this device.
#[derive(Debug, Parser)]
#[command(name = "brisk-web", version)]
struct Program {
    #[command(flatten)]
    args: Args,
}

fn main() -> ExitCode {
    match run(&Program::parse().args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            brisk_program::error!("brisk-web: {}", in_one_line(error.as_ref()));
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> anyhow::Result<()> {
    let mut doors = Door::given()?;
    let is_unit = !doors.is_empty();
    if !is_unit
        && args.listen.is_none()
        && args.run_dir.is_none()
        && args.record.is_none()
        && let Some(link) = link_of_unit()?
    {
        return show(&link, args.open);
    }
    let free = || Address::Tcp(([127, 0, 0, 1], 0).into());
    if doors.iter().all(|door| door.url().is_none()) {
        doors.push(Door::open(&args.listen.clone().unwrap_or_else(free))?);
    }
    let url = doors.iter().find_map(Door::url);
    let source = match &args.record {
        Some(path) => Source::Record(Recorded::read(path)?),
        None => Source::Daemon(Feed::new(brisk_api::run_dir(args.run_dir.clone()).join(SOCKET))),
    };
    let server = Server::new(source, url.clone().unwrap_or_else(|| "http://localhost".to_owned()));
    if !is_unit {
        show(&server.link(), args.open)?;
    }
    // Before anything of a browser is read. Not before its program was started, which may have rights of its own.
    rustix::thread::set_no_new_privs(true).context("cannot give up rights")?;
    server.run(&doors, args.idle.or((is_unit || args.open).then_some(IDLE)))
}

/// A link of the service of this user; `None` where its socket is not there.
fn link_of_unit() -> anyhow::Result<Option<String>> {
    let Some(dir) = std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()) else { return Ok(None) };
    let path = Path::new(&dir).join("brisk-web.sock");
    let Ok(mut stream) = UnixStream::connect(&path) else { return Ok(None) };
    let mut ask = || {
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        stream.write_all(b"POST /link HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        std::io::Result::Ok(answer)
    };
    let answer = ask().with_context(|| format!("brisk-web.service does not answer at {}", path.display()))?;
    match answer.rsplit_once("\r\n\r\n") {
        Some((head, link)) if head.starts_with("HTTP/1.1 200 ") => Ok(Some(link.trim().to_owned())),
        _ => bail!("brisk-web.service gives no link at {}: see 'systemctl --user status brisk-web'", path.display()),
    }
}

/// Prints a link, and opens it.
fn show(link: &str, opens: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{link}").and_then(|()| out.flush()).context("cannot print the link")?;
    if opens {
        let mut opener = Command::new("xdg-open");
        opener.arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        opener.spawn().context("cannot start xdg-open: install xdg-utils, or open the link that was printed")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_sound() {
        Program::command().debug_assert();
        assert!(Program::try_parse_from(["brisk-web", "--listen", "0.0.0.0:80"]).is_err());
    }
}
