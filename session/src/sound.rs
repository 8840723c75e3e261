//! Tells the daemon which processes play or record by the user's sound server: behind it the kernel shows the server
//! alone, and an app of which nothing tells whether it plays is neither stopped nor taken from.
//!
//! What was told holds for as long as the connection to the daemon is open: it ends with the sound server, with this
//! program, and with the daemon.
//!
//! Property: `a_process_in_a_sandbox_is_found_by_the_number_that_it_has_there`.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use brisk_api::ClientError;
use brisk_core::causes::in_one_line;
use brisk_program::{notice, warn};
use rustix::event::{PollFd, PollFlags, poll};

use crate::notices::connect;
use crate::pulse::{self, Pulse, Stream};

/// A daemon or sound server that is not there, or has ended.
const AGAIN: Duration = Duration::from_secs(30);
/// Streams are listed no more often: a volume that is drawn is many changes.
const QUIET: Duration = Duration::from_millis(250);

/// Why the daemon is not told any more.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error("the sound server at {} cannot be asked who plays", .path.display())]
    Server { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Daemon(#[from] ClientError),
    #[error("the daemon has ended")]
    Hung,
}

/// Tells for as long as this process lives; `sockets` of the daemon are tried in turn.
pub(crate) fn watch(sockets: &[PathBuf; 2], is_verbose: bool) {
    let mut warned = String::new();
    loop {
        let Some(path) = pulse::socket() else { return };
        let ended = match tell(&path, sockets, is_verbose) {
            Err(ended) => ended,
            Ok(never) => match never {},
        };
        // A server or daemon that restarts, or is not there, is no news.
        let is_news = match &ended {
            Ended::Server { source, .. } => {
                matches!(source.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidData | io::ErrorKind::Other)
            }
            Ended::Daemon(error) => !matches!(error, ClientError::NotRunning { .. } | ClientError::Broken { .. }),
            Ended::Hung => false,
        };
        let said = in_one_line(&ended);
        if is_news && said != warned {
            warn!("brisk-session: cannot tell which apps play or record: {said}; tries again");
            warned = said;
        }
        thread::sleep(AGAIN);
    }
}

fn tell(path: &Path, sockets: &[PathBuf; 2], is_verbose: bool) -> Result<std::convert::Infallible, Ended> {
    let failed = |source| Ended::Server { path: path.to_owned(), source };
    let mut pulse = Pulse::connect(path).map_err(failed)?;
    let mut client = connect(sockets)?;
    let mut told: Option<Vec<u32>> = None;
    loop {
        let streams = pulse.streams().map_err(failed)?;
        let mut pids: Vec<u32> = streams.iter().map(|stream| process_of(Path::new("/proc"), stream)).collect();
        pids.sort_unstable();
        if told.as_ref() != Some(&pids) {
            client.answer("SetSound", &[("pids", pids.clone().into())])?;
            if is_verbose {
                notice!("brisk-session: processes that play or record: {pids:?}");
            }
            told = Some(pids);
        }
        thread::sleep(QUIET);
        // Nothing comes from the daemon but its end.
        let mut fds = [PollFd::new(&pulse, PollFlags::IN), PollFd::new(&client, PollFlags::IN)];
        match poll(&mut fds, None) {
            Err(rustix::io::Errno::INTR) => continue,
            outcome => outcome.map_err(|errno| failed(errno.into()))?,
        };
        if !fds[1].revents().is_empty() {
            return Err(Ended::Hung);
        }
        pulse.take().map_err(failed)?;
    }
}

/// What the kernel says of a process.
struct Process {
    name: String,
    uid: u32,
    /// Its numbers, from the namespace of this program to the innermost.
    pids: Vec<u32>,
}

impl Process {
    fn read(proc: &Path, pid: u32) -> Option<Self> {
        let status = std::fs::read_to_string(proc.join(pid.to_string()).join("status")).ok()?;
        let field =
            |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
        let uid = field("Uid")?.split_whitespace().next()?.parse().ok()?;
        // Kernels without namespaces have no line.
        let pids = field("NSpid").map_or_else(|| vec![pid], |of| of.split_whitespace().flat_map(str::parse).collect());
        Some(Self { name: field("Name")?.to_owned(), uid, pids })
    }

    /// Whether it may run the file `binary`: the kernel keeps 15 bytes of a name, and programs change it.
    fn may_run(&self, proc: &Path, binary: Option<&str>) -> bool {
        let Some(binary) = binary else { return true };
        let pid = self.pids.first().map_or_else(String::new, u32::to_string);
        let program = std::fs::read_link(proc.join(pid).join("exe"));
        let is_file = |program: PathBuf| program.file_name().is_some_and(|name| name == binary);
        binary.starts_with(&self.name) || program.map_or(true, is_file)
    }
}

/// The process of a stream, as this program and the daemon know it; 0 where that cannot be told.
fn process_of(proc: &Path, stream: &Stream) -> u32 {
    // Of a program that speaks PulseAudio's protocol the peer is PipeWire's own server for that.
    let is_client = |pid: &u32| Process::read(proc, *pid).is_some_and(|process| process.name != "pipewire-pulse");
    if let Some(pid) = stream.peer_pid.filter(is_client) {
        return pid;
    }
    let Some(pid) = stream.pid else { return 0 };
    let own_uid = rustix::process::geteuid().as_raw();
    let binary = stream.binary.as_deref();
    let is_it = |process: &Process, depth: usize| {
        let is_number = process.pids.len() > depth && process.pids.last() == Some(&pid);
        process.uid == own_uid && is_number && process.may_run(proc, binary)
    };
    if Process::read(proc, pid).is_some_and(|process| is_it(&process, 0) && process.pids.len() == 1) {
        return pid;
    }
    // It is in a sandbox, where it has that number.
    let all = std::fs::read_dir(proc).into_iter().flatten().flatten();
    let mut pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let found = pids.find(|one| Process::read(proc, *one).is_some_and(|process| is_it(&process, 1)));
    found.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_in_a_sandbox_is_found_by_the_number_that_it_has_there() {
        let proc = tempfile::tempdir().expect("a directory");
        let uid = rustix::process::geteuid().as_raw();
        for (pid, name, uid, pids) in [
            (2, "kthreadd", uid + 1, "2"),
            (900, "player", uid, "900"),
            (901, "player", uid, "901\t2"),
            (902, "other", uid, "902\t2"),
            (950, "pipewire-pulse", uid, "950"),
        ] {
            let dir = proc.path().join(pid.to_string());
            std::fs::create_dir(&dir).expect("made");
            let status = format!("Name:\t{name}\nPid:\t{pid}\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nNSpid:\t{pids}\n");
            std::fs::write(dir.join("status"), status).expect("written");
            std::os::unix::fs::symlink(format!("/usr/bin/{name}"), dir.join("exe")).expect("made");
        }
        let of = |pid: Option<u32>, binary: &str, peer_pid: Option<u32>| {
            process_of(proc.path(), &Stream { pid, binary: Some(binary.to_owned()), peer_pid })
        };
        assert_eq!(of(Some(900), "player", None), 900);
        assert_eq!(of(Some(2), "player", None), 901);
        assert_eq!((of(Some(3), "player", None), of(None, "player", None), of(Some(900), "mpv", None)), (0, 0, 0));
        // PipeWire tells the peer, which is its own server for programs that speak the other protocol.
        assert_eq!((of(Some(2), "player", Some(902)), of(Some(2), "player", Some(950))), (902, 901));
    }
}
