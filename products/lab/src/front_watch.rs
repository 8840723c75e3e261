//! `brisk front-watch`: tells the daemon which app has the active window of an X11 display.
//!
//! The daemon itself links no display. This program sleeps until the window manager names another window, and calls `SetFront` with the
//! process of that window. A daemon that does not answer is asked
//! again; one that was restarted meanwhile is told at the next change.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use brisk_command::lab::front_watch::Args;
use brisk_command::terminal::step;
use brisk_core::causes::in_one_line;
use brisk_daemon::control::{Client, ClientError, SOCKET};
use brisk_screen::{ActiveWindow, Error};

/// A daemon that did not answer is asked again after this time.
const AGAIN: Duration = Duration::from_secs(10);
/// Without news: as long as a wait may take.
const LONG: Duration = Duration::from_secs(3600);

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let socket = brisk_daemon::run_dir(args.run_dir.clone()).join(SOCKET);
    let mut active = ActiveWindow::connect(args.display.as_deref()).context("cannot watch the screen")?;
    step(&format!("watches the active window of {}", active.display()));
    let mut told: Option<Option<u32>> = None;
    let mut warned = String::new();
    // Once, as it may be so for long.
    let mut warn = |error: String| {
        if error != warned {
            eprintln!("brisk: warning: {error}; tries again");
            warned = error;
        }
    };
    loop {
        let pid = match active.get() {
            Ok(window) => window.and_then(|window| window.pid),
            Err(Error::Lost { .. }) => return Ok(ExitCode::SUCCESS),
            // An app holds the server: it answers later.
            Err(error @ Error::Refused { .. }) => {
                warn(in_one_line(&error));
                told.flatten()
            }
            Err(error) => return Err(error.into()),
        };
        if told != Some(pid) {
            told = match Client::connect(&socket).and_then(|mut client| tell(&mut client, pid)) {
                Ok(group) => {
                    step(&format!("in front: {}", group.as_deref().unwrap_or("no app")));
                    Some(pid)
                }
                Err(error @ ClientError::NotAllowed { .. }) => return Err(error.into()),
                Err(error) => {
                    warn(in_one_line(&error));
                    None
                }
            };
        }
        match active.wait(if told.is_some() { LONG } else { AGAIN }) {
            Ok(_) | Err(Error::Refused { .. }) => {}
            Err(Error::Lost { .. }) => return Ok(ExitCode::SUCCESS),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Tells the daemon; a window of no app, such as the desktop's, puts no app in front.
fn tell(client: &mut Client, pid: Option<u32>) -> Result<Option<String>, ClientError> {
    let of_pid = pid.map(|pid| client.call("SetFront", &[("pid", pid.into())], "group"));
    match of_pid {
        Some(Err(ClientError::Refused { name, .. })) if name == "NoSuchApp" => client.call("SetFront", &[], "group"),
        Some(told) => told,
        None => client.call("SetFront", &[], "group"),
    }
}
