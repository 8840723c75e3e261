//! Notices for the user: an app was ended for want of memory, or could not be kept.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use brisk_api::{Client, ClientError, Loss};
use brisk_core::causes::in_one_line;
use brisk_program::{notice, warn};

use crate::bus::Bus;

/// A daemon that does not answer, or has ended.
const AGAIN: Duration = Duration::from_secs(10);
/// Of one app a user hears once in this time: several of its processes may end.
const QUIET: Duration = Duration::from_secs(60);

/// Shows a notice for each app that is lost, for as long as this process lives; `sockets` are tried in turn.
pub(crate) fn watch(sockets: &[PathBuf; 2], is_verbose: bool) {
    let mut shown: BTreeMap<String, Instant> = BTreeMap::new();
    let mut warned = String::new();
    loop {
        let outcome = connect(sockets).and_then(|mut client| {
            client.watch_losses(|loss| {
                match loss {
                    Some(loss) if is_new(&mut shown, &loss.app, Instant::now()) => show(&loss, is_verbose),
                    None if is_verbose => notice!("brisk-session: hears of apps that are closed for want of memory"),
                    _ => {}
                }
                true
            })
        });
        // A daemon that restarts is no news.
        if let Err(error) = outcome
            && !matches!(error, ClientError::NotRunning { .. } | ClientError::Broken { .. })
        {
            let said = in_one_line(&error);
            if said != warned {
                warn!("brisk-session: hears of no app that is closed for want of memory: {said}; tries again");
                warned = said;
            }
        }
        thread::sleep(AGAIN);
    }
}

/// A connection to the daemon.
pub(crate) fn connect(sockets: &[PathBuf; 2]) -> Result<Client, ClientError> {
    match Client::connect(&sockets[0]) {
        Err(ClientError::NotRunning { .. } | ClientError::NotAllowed { .. }) => Client::connect(&sockets[1]),
        connected => connected,
    }
}

/// Whether the user has not heard of this app lately.
fn is_new(shown: &mut BTreeMap<String, Instant>, app: &str, now: Instant) -> bool {
    shown.retain(|_, then| now.duration_since(*then) < QUIET);
    let is_new = !shown.contains_key(app);
    if is_new {
        shown.insert(app.to_owned(), now);
    }
    is_new
}

fn show(loss: &Loss, is_verbose: bool) {
    let (head, text) = loss.notice();
    match Bus::connect().and_then(|mut bus| bus.notify(&head, &text)) {
        Ok(()) if is_verbose => notice!("brisk-session: showed: {head}"),
        Ok(()) => {}
        // It is in the log of the session at least.
        Err(error) => warn!("brisk-session: {head}. {text} (not shown: {error})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_one_app_a_user_hears_once_in_a_while() {
        let (mut shown, now) = (BTreeMap::new(), Instant::now());
        assert!(is_new(&mut shown, "a", now));
        assert!(!is_new(&mut shown, "a", now + QUIET / 2));
        assert!(is_new(&mut shown, "b", now + QUIET / 2));
        assert!(is_new(&mut shown, "a", now + QUIET));
    }
}
