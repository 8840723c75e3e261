//! The terminal: the other screen of it while this runs, and one's own back at the end, however it ends.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use brisk_command::terminal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};

/// Another screen, no cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
const WIDTH: usize = 80;
const HEIGHT: usize = 24;

/// A command of the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Quit,
}

/// Where pictures go.
pub(super) struct Screen {
    /// The terminal's settings from before; `None` where there is no terminal.
    before: Option<Termios>,
    signals: UnixStream,
    resized: UnixStream,
}

impl Screen {
    pub(super) fn open() -> io::Result<Self> {
        let (signals, raise) = UnixStream::pair()?;
        let (resized, resize) = UnixStream::pair()?;
        for number in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::low_level::pipe::register(number, raise.try_clone()?)?;
        }
        signal_hook::low_level::pipe::register(SIGWINCH, resize)?;
        resized.set_nonblocking(true)?;
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let terminal = !dumb && io::stdout().is_terminal() && io::stdin().is_terminal();
        let before = if terminal { Some(tcgetattr(io::stdin())?) } else { None };
        let screen = Self { before, signals, resized };
        if let Some(before) = &screen.before {
            // Keys as they are pressed, and unseen.
            let mut raw = before.clone();
            raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
            tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
            write(ENTER)?;
        }
        Ok(screen)
    }

    pub(super) fn is_terminal(&self) -> bool {
        self.before.is_some()
    }

    /// Shows lines, as many and as much of each as fit.
    pub(super) fn show(&self, lines: &[String]) -> io::Result<()> {
        if !self.is_terminal() {
            return crate::print(&(lines.join("\n") + "\n")).map_err(io::Error::other);
        }
        let size = tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
        let (width, height) = size.map_or((WIDTH, HEIGHT), |size| (usize::from(size.ws_col), usize::from(size.ws_row)));
        let mut text = String::from("\x1b[H");
        let shown: Vec<String> = lines.iter().take(height).map(|line| fitted(line, width) + "\x1b[K").collect();
        text += &shown.join("\n");
        text += "\x1b[J";
        write(&text)
    }

    /// Sleeps for `span`, or until a key is pressed that means something.
    pub(super) fn wait(&mut self, span: Duration) -> io::Result<Option<Key>> {
        let stdin = io::stdin();
        let span = Timespec { tv_sec: i64::try_from(span.as_secs()).unwrap_or(1), tv_nsec: span.subsec_nanos().into() };
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN), PollFd::new(&self.resized, PollFlags::IN)];
        if self.before.is_some() {
            fds.push(PollFd::new(&stdin, PollFlags::IN));
        }
        match poll(&mut fds, Some(&span)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let said: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        if said[0] {
            return Ok(Some(Key::Quit));
        }
        if said[1] {
            let _ = self.resized.read(&mut [0; 64]);
        }
        if said.get(2) == Some(&true) {
            let mut keys = [0; 64];
            let count = rustix::io::read(&stdin, &mut keys)?;
            // No terminal any more.
            if count == 0 || keys[..count].contains(&b'q') {
                return Ok(Some(Key::Quit));
            }
        }
        Ok(None)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = write(LEAVE);
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// The first `width` characters, with colours where they are wanted.
fn fitted(line: &str, width: usize) -> String {
    terminal::shown(&terminal::cut(line, width))
}
