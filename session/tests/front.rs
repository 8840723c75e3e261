//! `brisk-session` with a real daemon: two terminals on a Wayland compositor, and two apps on an X11 server; and a
//! compositor that lacks the protocol.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use brisk_api::{Client, SOCKET, Status};
use brisk_lab::screen::{Screen as _, VirtualSway, VirtualX, Wayland};
use brisk_requires::requires;
use rustix::process::{Pid, Signal, kill_process};

/// A guard against hanging, no measure of anything.
const PATIENCE: Duration = Duration::from_secs(60);
/// The protocol of wlroots for the windows of others.
const WINDOWS: &str = "zwlr_foreign_toplevel_manager_v1";

/// Waits until `done` gives something.
fn until<T>(what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = done() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::yield_now();
    }
}

/// A program that is killed when dropped.
struct Program {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Program {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let (sender, lines) = channel();
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).all(|line| sender.send(line).is_ok()));
        Self { child, lines, seen: Vec::new() }
    }

    fn watch(display: &str, run_dir: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-session"));
        command.args(["--verbose", "--display", display, "--run-dir"]).arg(run_dir).env_remove("XDG_RUNTIME_DIR");
        Self::start(&mut command)
    }

    /// Waits for a line that has `part`.
    fn line(&mut self, part: &str) -> String {
        let begun = Instant::now();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
            self.seen.push(line.clone());
            if line.contains(part) {
                return line;
            }
        }
        panic!("no line has '{part}': {:#?}", self.seen);
    }

    fn wait(&mut self) -> ExitStatus {
        let Self { child, .. } = self;
        until("its end", || child.try_wait().expect("ours"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An example of the laboratory: a daemon, an app.
fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().expect("this program");
    let program = tests.ancestors().nth(2).expect("a target directory").join("examples").join(name);
    assert!(program.exists(), "cargo build -p brisk-lab --examples makes it");
    program
}

/// A daemon without devices and engines, in `dir`.
fn daemon(dir: &Path) -> Program {
    let config = dir.join("brisk.toml");
    let text = "[daemon]\ndevices = []\nsocket_group = \"\"\nrecord = { max_bytes = 0 }\n[engines]\norder = []\n";
    std::fs::write(&config, text).expect("written");
    let mut command = Command::new(example("briskd"));
    command.arg("--foreground").arg("--config").arg(config).arg("--run-dir").arg(dir.join("run"));
    command.arg("--learned").arg(dir.join("learned")).args(["--profiles", "/nonexistent"]).env_remove("WATCHDOG_USEC");
    let daemon = Program::start(&mut command);
    until("the daemon", || Client::connect(&dir.join("run").join(SOCKET)).ok());
    daemon
}

/// An app in a control group of its own.
struct App {
    program: Program,
    group: Option<PathBuf>,
}

impl App {
    /// A terminal with an app id.
    fn terminal(display: &Path, dir: &Path, app_id: &str, group: Option<&str>) -> Self {
        let mut command = Command::new("foot");
        command.args(["--config=/dev/null", &format!("--app-id={app_id}"), "sleep", "600"]);
        command.env("LC_ALL", "C.UTF-8").env("WAYLAND_DISPLAY", display).env("XDG_RUNTIME_DIR", dir);
        Self::start(&mut command, group)
    }

    fn start(command: &mut Command, group: Option<&str>) -> Self {
        let mut app = Self { program: Program::start(command), group: None };
        if let Some(group) = group {
            app.join(group);
        }
        app
    }

    /// Moves it to a new group of this name.
    fn join(&mut self, name: &str) {
        let v2 = brisk_sense::Sense::default().cgroups().expect("Linux").v2.expect("mounted");
        let group = v2.mount_point.join(name);
        std::fs::create_dir(&group).expect("root makes groups");
        std::fs::write(group.join("cgroup.procs"), self.program.child.id().to_string()).expect("moved");
        self.group = Some(group);
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.program.child.kill();
        let _ = self.program.child.wait();
        let Some(group) = &self.group else { return };
        let _ = std::fs::write(group.join("cgroup.kill"), "1");
        let begun = Instant::now();
        while std::fs::remove_dir(group).is_err() && group.exists() && begun.elapsed() < PATIENCE {
            std::thread::yield_now();
        }
    }
}

/// Whether each of the apps in these groups that the daemon in `dir` knows is in the foreground.
fn focused(dir: &Path, names: &[String]) -> BTreeMap<String, Option<bool>> {
    let mut client = Client::connect(&dir.join("run").join(SOCKET)).expect("it listens");
    let status: Status = client.call("GetStatus", &[], "status").expect("it answers");
    // A name is the last part of a key.
    let name = |key: &str| key.rsplit('/').next().unwrap_or(key).to_owned();
    let all = status.apps.into_iter().map(|app| (name(&app.group), app.activity.focused));
    all.filter(|(name, _)| names.contains(name)).collect()
}

/// Waits until one of the apps is in the foreground and the others are not.
fn in_front(dir: &Path, names: &[String], which: Option<usize>) {
    let is_it = |place: usize| Some(which == Some(place));
    let wanted: BTreeMap<_, _> = names.iter().enumerate().map(|(place, name)| (name.clone(), is_it(place))).collect();
    let mut last = BTreeMap::new();
    let begun = Instant::now();
    while last != wanted {
        assert!(begun.elapsed() < PATIENCE, "{last:?} is not {wanted:?}");
        last = focused(dir, names);
    }
}

#[test]
fn the_daemon_knows_which_of_two_terminals_is_in_front() {
    requires!(Groups, Program("sway"), Program("foot"));
    let dir = tempfile::tempdir().expect("a directory");
    let server = VirtualSway::start((640, 480)).expect("a compositor");
    let display = server.socket().to_str().expect("a path");
    let _daemon = daemon(dir.path());
    let names = ["One", "Two"].map(|name| format!("app-org.brisk.Front{name}-{}.scope", std::process::id()));
    let is_in_front = |which: Option<usize>| in_front(dir.path(), &names, which);
    let mut screen = Wayland::connect(Some(display)).expect("it answers");
    let mut window = |app_id: &str| {
        until("a window", || {
            let windows = screen.windows().expect("it answers");
            windows.into_iter().find(|window| window.app_id == app_id).map(|window| window.id)
        })
    };
    let terminal = |app_id: &str, group: Option<&str>| App::terminal(server.socket(), dir.path(), app_id, group);
    let _one = terminal("org.brisk.FrontOne", Some(&names[0]));
    let of_one = window("org.brisk.FrontOne");
    // An id that differs in case.
    let _two = terminal("org.brisk.fronttwo", Some(&names[1]));
    let of_two = window("org.brisk.fronttwo");
    until("the groups", || (focused(dir.path(), &names).len() == 2).then_some(()));
    let mut watch = Program::watch(display, &dir.path().join("run"));
    watch.line("watches ");
    is_in_front(Some(1));
    screen.activate(of_one).expect("a window");
    is_in_front(Some(0));
    screen.activate(of_two).expect("a window");
    is_in_front(Some(1));
    // A window of an app that has no group.
    let other = terminal("org.brisk.FrontOther", None);
    let warning = watch.line("no running app is known by the app id");
    assert!(warning.contains("\"org.brisk.FrontOther\"") && warning.contains("brisk front PID"), "{warning}");
    is_in_front(None);
    drop(other);
    is_in_front(Some(1));
    // One that gets its group after its window.
    let late = [format!("app-org.brisk.FrontLate-{}.scope", std::process::id())];
    let mut third = terminal("org.brisk.FrontLate", None);
    watch.line("\"org.brisk.FrontLate\"");
    third.join(&late[0]);
    in_front(dir.path(), &late, Some(0));
    drop(third);
    is_in_front(Some(1));
    // The compositor ends.
    let pid = Pid::from_raw(i32::try_from(server.pid()).expect("a pid")).expect("a pid");
    kill_process(pid, Signal::KILL).expect("it runs");
    let end = watch.line("has ended");
    assert!(end.contains(display), "{end}");
    assert_eq!(watch.wait().code(), Some(0));
}

#[test]
fn on_x11_the_daemon_knows_it_by_the_process_of_the_window() {
    requires!(Groups, Program("Xvfb"), Program("matchbox-window-manager"));
    let dir = tempfile::tempdir().expect("a directory");
    let server = VirtualX::start_as_phone((640, 480), 24).expect("a display");
    let _daemon = daemon(dir.path());
    let names = ["One", "Two"].map(|name| format!("app-org.brisk.X11{name}-{}.scope", std::process::id()));
    let mut watch = Program::watch(server.display(), &dir.path().join("run"));
    watch.line("watches ");
    let app = |name: &str| {
        let mut command = Command::new(example("specimen"));
        App::start(command.args(["window", "draw", "stay"]).env("DISPLAY", server.display()), Some(name))
    };
    let _one = app(&names[0]);
    in_front(dir.path(), &names[..1], Some(0));
    let two = app(&names[1]);
    in_front(dir.path(), &names, Some(1));
    drop(two);
    in_front(dir.path(), &names[..1], Some(0));
    let display = server.display().to_owned();
    drop(server);
    watch.line(&format!("{display} has ended"));
    assert_eq!(watch.wait().code(), Some(0));
}

/// A compositor with these globals, which answers no more than what there is. The first global that is bound gets
/// `finished`, the second event of the manager of windows.
fn compositor(path: &Path, globals: &'static [&str]) {
    let listener = UnixListener::bind(path).expect("a socket");
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        serve(&mut client, globals)
    });
}

/// Serves until the client is gone. A message is the object, size and operation, and arguments
/// (wayland.freedesktop.org, Wire Format).
fn serve(client: &mut UnixStream, globals: &[&str]) -> std::io::Result<()> {
    let send = |client: &mut UnixStream, object: u32, operation: u32, arguments: &[u8]| {
        let size = 8 + u32::try_from(arguments.len()).expect("short");
        client.write_all(&[&object.to_ne_bytes()[..], &(size << 16 | operation).to_ne_bytes(), arguments].concat())
    };
    loop {
        let mut head = [0; 8];
        client.read_exact(&mut head)?;
        let word = |bytes: &[u8]| u32::from_ne_bytes(bytes.try_into().expect("four bytes"));
        let (object, second) = (word(&head[..4]), word(&head[4..]));
        let mut arguments = vec![0; (second >> 16) as usize - 8];
        client.read_exact(&mut arguments)?;
        let new = word(&arguments[arguments.len() - 4..]);
        match (object, second & 0xffff) {
            // wl_display.sync: the callback is done.
            (1, 0) => send(client, new, 0, &0_u32.to_ne_bytes())?,
            (1, 1) => {
                for (number, global) in (1_u32..).zip(globals) {
                    let mut name = [global.as_bytes(), b"\0"].concat();
                    let length = u32::try_from(name.len()).expect("short");
                    name.resize(name.len().next_multiple_of(4), 0);
                    let arguments = [&number.to_ne_bytes()[..], &length.to_ne_bytes(), &name, &3_u32.to_ne_bytes()];
                    send(client, new, 0, &arguments.concat())?;
                }
            }
            // wl_registry.bind.
            (2, 0) => send(client, new, 1, &[])?,
            _ => {}
        }
    }
}

#[test]
fn a_compositor_without_the_protocol_is_refused_by_its_name() {
    let dir = tempfile::tempdir().expect("a directory");
    let socket = dir.path().join("wayland-7");
    compositor(&socket, &["wl_compositor", "xdg_wm_base"]);
    let mut watch = Program::watch(socket.to_str().expect("a path"), dir.path());
    let refusal = watch.line("tells no program which window is in front");
    assert!(refusal.contains("wayland-7") && refusal.contains("GNOME"), "{refusal}");
    assert_eq!(watch.wait().code(), Some(2));
}

#[test]
fn a_compositor_that_tells_of_windows_no_more_ends_the_watch() {
    let dir = tempfile::tempdir().expect("a directory");
    let socket = dir.path().join("wayland-7");
    compositor(&socket, &[WINDOWS]);
    let mut watch = Program::watch(socket.to_str().expect("a path"), dir.path());
    watch.line("wayland-7 has ended");
    assert_eq!(watch.wait().code(), Some(0));
}

#[test]
fn one_program_tells_for_a_display() {
    requires!(Program("Xvfb"));
    let dir = tempfile::tempdir().expect("a directory");
    let server = VirtualX::start((640, 480), 24).expect("a display");
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-session"));
        command.args(["--verbose", "--display", server.display(), "--run-dir"]).arg(dir.path());
        Program::start(command.env("XDG_RUNTIME_DIR", dir.path()))
    };
    let mut first = start();
    first.line("watches ");
    let mut second = start();
    second.line("another one watches ");
    assert_eq!(second.wait().code(), Some(0));
    assert!(first.child.try_wait().expect("ours").is_none());
}

#[test]
fn a_user_is_notified_of_an_app_that_could_not_be_kept() {
    requires!(Groups, MemoryController, Program("dbus-daemon"), Program("dbus-monitor"));
    let cgroups = brisk_sense::Sense::default().cgroups().expect("Linux");
    let Some(memory) = cgroups.v1_with("memory").map(|hierarchy| hierarchy.mount_point.clone()) else {
        let why = "version 1 of the controller is not mounted";
        return brisk_requires::skip(brisk_requires::Capability::MemoryController, why);
    };
    let dir = tempfile::tempdir().expect("a directory");
    let socket = dir.path().join("bus");
    let address = format!("unix:path={}", socket.display());
    let mut bus = Program::start(Command::new("dbus-daemon").args(["--session", "--nofork", "--address", &address]));
    until("the bus", || UnixStream::connect(&socket).ok());
    // What is sent is printed on standard output.
    let mut monitor = Command::new("sh");
    let rule = "type='method_call',interface='org.freedesktop.Notifications'";
    monitor.args(["-c", "exec dbus-monitor --address \"$0\" \"$1\" >&2", &address, rule]);
    let mut monitor = Program::start(&mut monitor);
    monitor.line("NameLost");
    let _daemon = daemon(dir.path());
    let mut session = Command::new(env!("CARGO_BIN_EXE_brisk-session"));
    session.args(["--verbose", "--notices", "--run-dir"]).arg(dir.path().join("run")).env_remove("XDG_RUNTIME_DIR");
    let mut session = Program::start(session.env("DBUS_SESSION_BUS_ADDRESS", &address));
    session.line("hears of apps");
    // An app with little memory, which takes more once its kills are counted.
    let name = format!("app-org.brisk.Hog-{}.scope", std::process::id());
    let limited = memory.join(&name);
    std::fs::create_dir(&limited).expect("root makes groups");
    for (file, value) in [("memory.limit_in_bytes", "16M"), ("memory.swappiness", "0")] {
        std::fs::write(limited.join(file), value).expect("written");
    }
    let go = dir.path().join("go");
    let mut hog = Command::new("sh");
    hog.args(["-c", "until [ -e \"$0\" ]; do sleep 0.1; done; exec tail /dev/zero"]).arg(&go);
    let hog = App::start(&mut hog, Some(&name));
    std::fs::write(limited.join("cgroup.procs"), hog.program.child.id().to_string()).expect("moved");
    until("the app", || focused(dir.path(), std::slice::from_ref(&name)).first_key_value().map(|_| ()));
    std::fs::write(&go, "").expect("written");
    monitor.line("member=Notify");
    monitor.line("string \"org.brisk.Hog could not be kept\"");
    let text = monitor.line("for want of memory");
    assert!(text.contains("brisk apps protect org.brisk.Hog"), "{text}");
    // No service shows notifications on this bus, and that is said.
    session.line("not shown: Notify of the session bus failed: org.freedesktop.DBus.Error");
    bus.child.kill().expect("ours");
    assert_eq!(session.wait().code(), Some(0), "it ends with the session");
    drop(hog);
    until("the end of the group", || std::fs::remove_dir(&limited).ok());
}

#[test]
fn a_session_without_a_display_is_told_how_to_name_one() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-session"));
    command.env_remove("DISPLAY").env("WAYLAND_DISPLAY", "");
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("name one with --display"), "{said}");
}
