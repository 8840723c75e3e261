//! What shells and launchers tell the running daemon of apps, and who may. Needs root; skipped with the reason
//! elsewhere.

use crate::harness;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use brisk_act::{Actuator, Keeper, Paths, Sensed};
use brisk_api::{Client, ClientError, FoundBy, Happening, LossKind, SOCKET, Status};
use brisk_core::action::Once;
use brisk_core::app::{Activity, App as Listed, AppFacts, Role, classify};
use brisk_core::group::{self, GroupKey};
use brisk_core::outcome::Outcome;
use brisk_requires::{Capability, requires, skip};
use harness::{App, Briskd, configure, place};
use rustix::process::{Gid, Signal, Uid};

/// Apps of others that are launched meanwhile are none of a test's business.
const NO_ENGINE: &str = "[engines]\norder = []\n";

/// The user nobody and its group, on every Linux.
const NOBODY: u32 = 65534;

/// The directory of a group for an app of this id, and its name.
fn group_of(id: &str) -> (PathBuf, String) {
    let v2 = brisk_sense::Sense::default().cgroups().expect("Linux").v2.expect("mounted");
    let name = format!("app-{id}-{}.scope", std::process::id());
    (v2.mount_point.join(&name), name)
}

fn find<'a>(status: &'a Status, group: &str) -> Option<&'a Listed> {
    status.apps.iter().find(|app| brisk_core::group::is_meant(&app.group, group))
}

fn refusal<T: std::fmt::Debug>(outcome: Result<T, ClientError>) -> (String, String) {
    match outcome.expect_err("refused") {
        ClientError::Refused { name, what } => (name, what),
        other => panic!("{other}"),
    }
}

#[test]
fn a_shell_tells_which_app_is_in_front() {
    requires!(Groups);
    let daemon = Briskd::start(place(&[], NO_ENGINE), &[]);
    let (dir, name) = group_of("briskfront");
    let Some(mut app) = App::new(&dir) else { return };
    app.begin();
    daemon.status_when(|status| find(status, &name).is_some());
    let mut client = daemon.client();
    let set = |client: &mut Client, key: &str, value: serde_json::Value| {
        let told = client.call::<Option<String>>("SetFront", &[(key, value)], "group");
        told.map(|key| key.map(|key| group::name(&key).to_owned()))
    };
    // By a process, and by the name.
    let pid: u32 = std::fs::read_to_string(dir.join("cgroup.procs")).expect("a group").trim().parse().expect("one");
    assert_eq!(set(&mut client, "pid", pid.into()).expect("told").as_deref(), Some(name.as_str()));
    let focused = |status: &Status| find(status, &name).and_then(|app| app.activity.focused);
    let status = daemon.status();
    assert_eq!(focused(&status), Some(true));
    assert!(find(&status, &name).expect("listed").activity.front_at_ns.is_some());
    daemon.line(&format!("{name} came to the foreground"));
    // No engine acts: nothing is lost by telling the next one later, once no app of this machine is launched any more.
    daemon.status_when(|_| daemon.client().call::<u64>("SetFront", &[], "patience_ms").expect("told") == 1_000);
    assert_eq!(focused(&daemon.status()), Some(false));
    assert!(set(&mut client, "group", name.as_str().into()).is_ok());
    assert_eq!(focused(&daemon.status()), Some(true));
    // By the app id of its window: a second app of that id is in front too.
    let (other_dir, other) = group_of("x-briskfront");
    let Some(mut second) = App::new(&other_dir) else { return };
    second.begin();
    daemon.status_when(|status| find(status, &other).is_some());
    assert!(set(&mut client, "id", "org.example.BriskFront".into()).is_ok());
    let status = daemon.status();
    let of_other = find(&status, &other).and_then(|app| app.activity.focused);
    assert_eq!((focused(&status), of_other), (Some(true), Some(true)));
    second.end();
    // An app with the same id is meant alone.
    let (exact_dir, exact) = group_of("BriskFront");
    let Some(mut third) = App::new(&exact_dir) else { return };
    third.begin();
    daemon.status_when(|status| find(status, &exact).is_some());
    assert_eq!(set(&mut client, "id", "BriskFront".into()).expect("told").as_deref(), Some(exact.as_str()));
    assert_eq!(focused(&daemon.status()), Some(false));
    third.end();
    // What is no app.
    for (key, value) in [
        ("pid", 1.into()),
        ("pid", std::process::id().into()),
        ("group", "app-none-1.scope".into()),
        ("id", "org.example.None".into()),
    ] {
        let (error, what) = refusal(set(&mut client, key, value));
        assert_eq!(error, "NoSuchApp", "{what}");
        assert!(what.contains("brisk status --json"), "{what}");
    }
    app.end();
    daemon.status_when(|status| find(status, &name).is_none());
}

#[test]
fn a_protected_app_is_known_by_its_id_once_the_configuration_is_read_again() {
    requires!(Groups);
    let daemon = Briskd::start(place(&[], NO_ENGINE), &[]);
    let (dir, name) = group_of("org.example.BriskKeep");
    let Some(app) = App::new(&dir) else { return };
    app.begin();
    let status = daemon.status_when(|status| find(status, &name).is_some());
    assert_eq!(find(&status, &name).expect("listed").activity.protected, None);
    let folder = daemon.dir.path().join("brisk.d");
    std::fs::create_dir(&folder).expect("made");
    std::fs::write(folder.join("50.toml"), "[apps]\nprotect = [\"briskkeep\"]\n").expect("written");
    daemon.signal(Signal::HUP);
    let protected = |status: &Status| find(status, &name).and_then(|app| app.activity.protected.clone());
    daemon.status_when(|status| protected(status).as_deref() == Some("briskkeep"));
}

#[test]
fn a_launcher_tells_a_launch_before_there_is_a_process() {
    requires!(Groups);
    let daemon = Briskd::start(place(&[], NO_ENGINE), &[]);
    let mut client = daemon.client();
    // All that is published until the second launch ends; apps of others may be launched meanwhile.
    let (listens, begun) = std::sync::mpsc::channel();
    let mut monitor = daemon.client();
    let _limit = brisk_requires::killed_late(daemon.pid(), "the events of the launches");
    let published = std::thread::spawn(move || {
        let (mut texts, mut ends) = (Vec::new(), 0);
        let outcome = monitor.monitor(|happening: Happening| {
            let is_end = happening.text.starts_with("launch of ") && happening.text.contains("brisklaunch");
            ends += u32::from(is_end);
            texts.push(happening.text);
            let _ = listens.send(());
            ends < 2
        });
        outcome.map(|()| texts)
    });
    begun.recv_timeout(brisk_requires::LIMIT).expect("it listens");
    let tell = |client: &mut Client, method: &str| {
        let key = client.call::<String>(method, &[("id", "brisklaunch".into())], "group").expect("told");
        group::name(&key).to_owned()
    };
    assert_eq!(tell(&mut client, "LaunchBegins"), "brisklaunch");
    assert_eq!(find(&daemon.status(), "brisklaunch"), None, "a launch without a process is none");
    let (dir, name) = group_of("brisklaunch");
    let Some(app) = App::new(&dir) else { return };
    app.begin();
    let status = daemon.status_when(|status| find(status, &name).is_some());
    assert!(find(&status, &name).expect("listed").launching);
    assert_eq!(find(&status, "brisklaunch"), None);
    assert_eq!(tell(&mut client, "LaunchEnds"), name);
    assert!(!find(&daemon.status(), &name).expect("listed").launching);
    // Again, as a return to it; told twice it is one launch.
    assert_eq!((tell(&mut client, "LaunchBegins"), tell(&mut client, "LaunchBegins")), (name.clone(), name.clone()));
    assert_eq!(tell(&mut client, "LaunchEnds"), name);
    let texts = published.join().expect("no panic").expect("it answers");
    let of_app: Vec<&str> = texts.iter().filter(|text| text.contains("brisklaunch")).map(String::as_str).collect();
    let (begun, ended) = (format!("{name} is being launched"), format!("launch of {name} ended"));
    let expected = [begun.clone(), ended.clone(), begun, ended];
    assert_eq!(of_app, expected);
    assert!(daemon.end(Signal::TERM).0.success());
}

#[test]
fn a_user_tells_of_apps_of_that_user_alone() {
    requires!(Root, Groups);
    let groups = std::fs::read_to_string("/etc/group").expect("groups");
    let Some(nogroup) = groups.lines().find_map(|line| {
        let words: Vec<&str> = line.split(':').collect();
        (words.get(2)? == &NOBODY.to_string().as_str()).then(|| words[0].to_owned())
    }) else {
        return brisk_requires::skip(brisk_requires::Capability::Root, "there is no group 65534");
    };
    let dir = place(&[], NO_ENGINE);
    let config = dir.path().join("brisk.toml");
    let text = std::fs::read_to_string(&config).expect("written");
    let text = text.replace("socket_group = \"\"", &format!("socket_group = {nogroup:?}"));
    std::fs::write(&config, text).expect("written");
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).expect("own");
    let daemon = Briskd::start(dir, &[]);
    let ((roots_dir, roots), (theirs_dir, theirs)) = (group_of("briskroot"), group_of("brisknobody"));
    let Some(of_root) = App::new(&roots_dir) else { return };
    let Some(of_nobody) = App::with(&theirs_dir, Command::new("sleep").arg("600").uid(NOBODY)) else { return };
    of_root.begin();
    of_nobody.begin();
    daemon.status_when(|status| find(status, &roots).is_some() && find(status, &theirs).is_some());
    let socket = daemon.dir.path().join("run").join(SOCKET);
    let as_nobody = |method: &'static str, key: &'static str, value: String| {
        let socket = socket.clone();
        // The credentials of this thread alone change.
        let asked = std::thread::spawn(move || {
            rustix::thread::set_thread_groups(&[]).expect("root");
            rustix::thread::set_thread_gid(Gid::from_raw(NOBODY)).expect("root");
            rustix::thread::set_thread_uid(Uid::from_raw(NOBODY)).expect("root");
            let mut client = Client::connect(Path::new(&socket))?;
            let told = client.call::<Option<String>>(method, &[(key, value.into())], "group");
            told.map(|key| key.map(|key| group::name(&key).to_owned()))
        });
        asked.join().expect("no panic")
    };
    assert_eq!(as_nobody("SetFront", "group", theirs.clone()).expect("its own").as_deref(), Some(theirs.as_str()));
    assert_eq!(as_nobody("LaunchBegins", "id", "brisknobody".to_owned()).expect("its own"), Some(theirs));
    // Of two users' apps with one app id, the own one is meant.
    let (also_dir, also) = group_of("BriskRoot");
    let Some(of_nobody_too) = App::with(&also_dir, Command::new("sleep").arg("600").uid(NOBODY)) else { return };
    let by_id = |id: &str| as_nobody("SetFront", "id", id.to_owned());
    assert_eq!(refusal(by_id("org.example.briskroot")).0, "NotAllowed");
    of_nobody_too.begin();
    daemon.status_when(|status| find(status, &also).is_some());
    assert_eq!(by_id("org.example.briskroot").expect("its own").as_deref(), Some(also.as_str()));
    // Nobody's front says nothing of the seat of another user.
    assert_eq!(find(&daemon.status(), &roots).and_then(|app| app.activity.focused), None);
    let key = find(&daemon.status(), &roots).expect("it runs").group.clone();
    for text in [roots.clone(), key] {
        let (error, what) = refusal(as_nobody("SetFront", "group", text));
        assert_eq!(error, "NotAllowed", "{what}");
        assert!(what.contains("of another user"), "{what}");
    }
    // Its own launch is over.
    daemon.status_when(|status| find(status, &roots).is_some_and(|app| !app.launching));
    // An id means an app of that user, which has no group yet: the one of root's is not launched by it.
    assert_eq!(as_nobody("LaunchBegins", "id", "briskroot".to_owned()).expect("an id").as_deref(), Some("briskroot"));
    assert!(!find(&daemon.status(), &roots).expect("it runs").launching);
}

#[test]
fn the_program_of_the_daemon_is_its_keeper() {
    requires!(Groups);
    let (group, name) = group_of("briskkeeper");
    let Some(app) = App::new(&group) else { return };
    app.begin();
    let dir = tempfile::tempdir().expect("a directory");
    let keeper = Keeper::new([env!("CARGO_BIN_EXE_briskd").into()]);
    let actuator = Actuator::new(&Paths::with_run_dir(dir.path()), "briskd", false).expect("a journal");
    let mut actuator = actuator.guarded_by(keeper);
    let inode = std::fs::metadata(&group).expect("a group").ino();
    let key = GroupKey::Control { inode, path: &name }.text();
    let activity = Activity { audible: Some(false), inhibits: Some(false), works: Some(false), ..Activity::default() };
    let (group, role, focused) = (key.clone(), Role::App, Some(false));
    let facts = AppFacts { group, of_user: true, role, focused, activity, ..AppFacts::default() };
    let listed = classify(&facts);
    let frozen = actuator.perform(&Once::Freeze { group: key }, &Sensed { app: Some(&listed), killers: &[] }, 0);
    assert_eq!(frozen, Outcome::Done);
    let pid = actuator.keeper().and_then(Keeper::pid).expect("it runs");
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    assert!(status.starts_with("Name:\tbriskd-keeper\n"), "{status}");
    let kib = |key: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("a line");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    };
    // Of its own; what it maps of the program is in memory for the daemon anyway.
    assert!(kib("RssAnon:") < 1024, "{status}");
    eprintln!("the keeper has {} KiB resident, {} KiB of its own", kib("VmRSS:"), kib("RssAnon:"));
}

#[test]
fn a_keeper_without_a_daemon_says_what_it_is() {
    let output = Command::new(env!("CARGO_BIN_EXE_briskd")).arg0("briskd-keeper").output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("briskd starts this program"), "{output:?}");
}

#[test]
fn a_kill_by_the_kernel_for_want_of_memory_is_seen() {
    requires!(Groups, MemoryController);
    let cgroups = brisk_sense::Sense::default().cgroups().expect("Linux");
    let Some(memory) = cgroups.v1_with("memory").map(|hierarchy| hierarchy.mount_point.clone()) else {
        let why = "version 1 of the controller is not mounted";
        return brisk_requires::skip(brisk_requires::Capability::MemoryController, why);
    };
    let place = place(&[], "");
    let heard = place.path().join("heard");
    // The hook says which rights it has, too.
    let hook = format!("/bin/sh -c 'grep CapEff /proc/self/status >\"$0\"; cat >>\"$0\"' {}", heard.display());
    configure(place.path(), &[], &format!("{NO_ENGINE}[hook]\ncommand = {hook:?}\n"));
    let daemon = Briskd::start(place, &[]);
    let (listens, losses) = std::sync::mpsc::channel();
    let mut watch = daemon.client();
    std::thread::spawn(move || watch.watch_losses(|loss| listens.send(loss).is_ok()));
    assert_eq!(losses.recv_timeout(brisk_requires::LIMIT).expect("it listens"), None);
    let (dir, name) = group_of("briskoom");
    // The same group in the hierarchy of the controller, with little memory and no swap.
    let limited = memory.join(&name);
    std::fs::create_dir(&limited).expect("root makes groups");
    for (file, value) in [("memory.limit_in_bytes", "16M"), ("memory.swappiness", "0")] {
        std::fs::write(limited.join(file), value).expect("written");
    }
    let mut grows = Command::new("sh");
    grows.args(["-c", "read line; exec tail /dev/zero"]);
    if let Some(mut app) = App::with(&dir, &mut grows) {
        app.begin();
        let pid = std::fs::read_to_string(dir.join("cgroup.procs")).expect("a group");
        std::fs::write(limited.join("cgroup.procs"), pid.trim()).expect("moved");
        // The kills so far are counted when the app is observed.
        daemon.status_when(|status| find(status, &name).is_some_and(|app| app.activity.oom_score_adj.is_some()));
        app.go();
        daemon.line(&format!("the kernel ended a process of {name}"));
        daemon.line(&format!("{name} ended"));
        let loss = losses.recv_timeout(brisk_requires::LIMIT).expect("it tells").expect("a loss");
        assert_eq!((loss.kind, loss.by.as_str(), loss.group.as_str()), (LossKind::NotKept, "kernel", name.as_str()));
        assert_eq!((loss.app.as_str(), loss.protect.as_str()), ("briskoom", "brisk apps protect briskoom"));
        let mut said = String::new();
        brisk_requires::until("the hook", || {
            said = std::fs::read_to_string(&heard).unwrap_or_default();
            said.ends_with("}\n")
        });
        let (rights, event) = said.split_once('\n').expect("two lines");
        assert_eq!(rights, "CapEff:\t0000000000000000");
        let event: serde_json::Value = serde_json::from_str(event).expect("JSON");
        assert_eq!((&event["event"], &event["app"]), (&"loss".into(), &"briskoom".into()));
        // Its group is root's, who alone hears of it.
        assert_eq!(event["user"], 0, "{event}");
        assert_eq!(daemon.status().trouble.iter().filter(|what| what.contains("hook")).count(), 0);
    }
    brisk_requires::until("the end of the group", || std::fs::remove_dir(&limited).is_ok());
}

/// A sleep of the user nobody in a session of its own, in the group at `dir`.
fn in_session(dir: &Path) -> std::process::Child {
    let procs = std::ffi::CString::new(dir.join("cgroup.procs").into_os_string().into_encoded_bytes()).expect("a path");
    let mut command = Command::new("sleep");
    command.arg("600").gid(NOBODY);
    // SAFETY: system calls alone between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let file = rustix::fs::open(&*procs, rustix::fs::OFlags::WRONLY, rustix::fs::Mode::empty())?;
            rustix::io::write(&file, b"0")?;
            rustix::process::setsid()?;
            Ok(rustix::thread::set_thread_uid(Uid::from_raw(NOBODY))?)
        })
    };
    command.spawn().expect("it starts")
}

#[test]
fn apps_of_a_desktop_without_scopes_are_seen_before_and_after_one_that_makes_a_scope() {
    requires!(Groups);
    let daemon = Briskd::start(place(&[], NO_ENGINE), &[]);
    let found_by = daemon.status().found_by;
    if !found_by.contains(&FoundBy::Sessions) {
        return skip(Capability::Connector, daemon.status().trouble.join("; "));
    }
    assert_eq!(found_by, [FoundBy::Groups, FoundBy::Sessions]);
    let (dir, flatpak) = group_of("flatpak-org.brisk.Game");
    let login = dir.with_file_name(format!("session-brisk{}.scope", std::process::id()));
    // What is in the login's scope; both groups go at the end.
    let Some(compositor) = App::new(&login) else { return };
    compositor.begin();
    let Some(game) = App::new(&dir) else { return };
    let has = |status: &Status, group: &str| find(status, group).is_some();
    let session_of = |child: &std::process::Child| format!("session-{}", child.id());
    let first = in_session(&login);
    daemon.status_when(|status| has(status, &session_of(&first)));
    // It makes its scope after it has begun, as `flatpak run` does.
    let mover = in_session(&login);
    daemon.status_when(|status| has(status, &session_of(&mover)));
    std::fs::write(dir.join("cgroup.procs"), mover.id().to_string()).expect("moved");
    daemon.status_when(|status| has(status, &flatpak) && !has(status, &session_of(&mover)));
    let last = in_session(&login);
    daemon.status_when(|status| has(status, &session_of(&first)) && has(status, &session_of(&last)));
    for mut child in [first, mover, last] {
        child.kill().and_then(|()| child.wait()).expect("ended");
    }
    drop((game, compositor));
}
