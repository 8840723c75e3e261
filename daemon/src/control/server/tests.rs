use std::io::{Read, Write};

use brisk_api::{Call, reply_with};
use brisk_requires::requires;
use rustix::event::{PollFd, Timespec, poll};
use rustix::process::Uid;

use super::*;

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("socket");
    (dir, path)
}

fn connect(path: &Path) -> UnixStream {
    let stream = UnixStream::connect(path).expect("a server");
    stream.set_nonblocking(true).expect("a socket");
    stream
}

fn message(method: &str) -> Vec<u8> {
    let more = method.ends_with("Monitor").then_some(true);
    let mut bytes = serde_json::to_vec(&Call { method: method.to_owned(), more, ..Call::default() }).expect("JSON");
    bytes.push(0);
    bytes
}

/// One turn of the loop, without waiting; answers everything; how many were asked, and whether poll said anything.
fn turn(server: &mut Server, now_ns: u64) -> (usize, bool) {
    let happened: Vec<PollFlags> = {
        let interests = server.interests(now_ns);
        let mut fds: Vec<PollFd<'_>> = interests.iter().map(|(fd, flags)| PollFd::new(fd, *flags)).collect();
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).expect("poll");
        fds.iter().map(PollFd::revents).collect()
    };
    let woken = happened.iter().any(|flags| !flags.is_empty());
    let asked = server.turn(now_ns, &happened);
    for one in &asked {
        server.answer(one, &reply_with(&[("text", &"x".repeat(20_000))]), now_ns);
    }
    (asked.len(), woken)
}

/// Everything that a client can read now; whether the server is still there.
fn read(stream: &mut UnixStream) -> (Vec<u8>, bool) {
    let mut all = Vec::new();
    let outcome = stream.read_to_end(&mut all);
    (all, outcome.is_err())
}

fn alive(server: &Server) -> usize {
    server.connections.iter().flatten().count()
}

#[test]
fn a_call_in_pieces_is_answered_once() {
    let (_dir, path) = place();
    let mut server = Server::open(&path, None).expect("a socket");
    let mut client = connect(&path);
    let call = message("org.varlink.service.GetInfo");
    turn(&mut server, S);
    client.write_all(&call[..10]).expect("sent");
    turn(&mut server, S);
    client.write_all(&call[10..]).expect("sent");
    turn(&mut server, S);
    let (answer, there) = read(&mut client);
    assert_eq!((answer.iter().filter(|&&byte| byte == 0).count(), there), (1, true));
    assert!(String::from_utf8_lossy(&answer).contains("\"product\":\"briskd\""));
}

#[test]
fn a_flooding_client_is_served_at_the_budget_without_wake_ups_between() {
    let (_dir, path) = place();
    let mut server = Server::open(&path, None).expect("a socket");
    let mut client = connect(&path);
    let call = message("org.brisk.Daemon.GetStatus");
    let (mut answered, mut wake_ups) = (0, 0);
    let mut now_ns = S;
    // A hundred seconds in which the client sends whenever it can and reads what it gets.
    while now_ns < 101 * S {
        while client.write(&call).is_ok_and(|bytes| bytes == call.len()) {}
        let (asked, woken) = turn(&mut server, now_ns);
        answered += asked;
        let _ = read(&mut client);
        if woken {
            wake_ups += 1;
            now_ns += MS / 10;
        } else {
            now_ns = server.next_ns(now_ns).expect("a client waits").max(now_ns + MS / 10);
        }
    }
    let most = (BURST + 100 * PER_S) as usize;
    assert!((most / 2..=most).contains(&answered), "{answered} of {most}");
    assert!(wake_ups <= 5 * most, "{wake_ups} wake-ups");
}

#[test]
fn who_asks_once_is_served_among_those_who_flood() {
    // Other users have fewer connections than this test makes.
    requires!(Root);
    let (_dir, path) = place();
    let mut server = Server::open(&path, None).expect("a socket");
    let call = message("org.brisk.Daemon.GetStatus");
    let mut floods: Vec<UnixStream> = (0..6).map(|_| connect(&path)).collect();
    let (mut now_ns, mut asks) = (S, 0);
    let mut modest: Option<UnixStream> = None;
    while now_ns < 60 * S {
        for flood in &mut floods {
            while flood.write(&call).is_ok_and(|bytes| bytes == call.len()) {}
            let _ = read(flood);
        }
        // One that comes when the budget has long been used up, asks, reads the answer and goes.
        if now_ns > 10 * S {
            let one = modest.get_or_insert_with(|| {
                let mut one = connect(&path);
                one.write_all(&call).expect("sent");
                one
            });
            if !read(one).0.is_empty() {
                asks += 1;
                modest = None;
            }
        }
        let (_, woken) = turn(&mut server, now_ns);
        let next_ns = server.next_ns(now_ns).filter(|_| !woken);
        now_ns = next_ns.unwrap_or(now_ns).max(now_ns + MS);
    }
    // Each takes two of the twenty pieces a second, in turn with six others.
    assert!(asks >= 50, "{asks}");
}

#[test]
fn who_does_not_read_is_dropped_with_bounded_memory() {
    let (_dir, path) = place();
    let mut server = Server::open(&path, None).expect("a socket");
    let mut monitor = connect(&path);
    turn(&mut server, S);
    monitor.write_all(&message("org.brisk.Daemon.Monitor")).expect("sent");
    turn(&mut server, S);
    assert!(server.is_monitored());
    let reply = reply_with(&[("text", &"x".repeat(10_000))]);
    let count = (0..1000)
        .take_while(|_| {
            server.tell(&reply, 2 * S);
            server.is_monitored()
        })
        .count();
    assert!((1..200).contains(&count), "{count}");
    assert_eq!(alive(&server), 0);

    let mut stalled = connect(&path);
    turn(&mut server, 3 * S);
    // Many calls at once, whose answers are not read: one after the other until the socket is full.
    for _ in 0..100 {
        let _ = stalled.write(&message("org.brisk.Daemon.GetStatus"));
    }
    for step in 0..100 {
        turn(&mut server, 3 * S + step * 50 * MS);
    }
    assert_eq!(alive(&server), 1);
    turn(&mut server, 30 * S);
    assert_eq!(alive(&server), 0);
}

#[test]
fn nonsense_and_idleness_end_a_connection() {
    let (_dir, path) = place();
    let mut server = Server::open(&path, None).expect("a socket");
    for bytes in [&b"{\"method\":7}\0"[..], b"\0", b"\xff\xfe\0", &vec![b'x'; brisk_api::CALL_BYTES_MAX + 4000]] {
        let mut client = connect(&path);
        turn(&mut server, S);
        assert_eq!(alive(&server), 1);
        client.write_all(bytes).expect("sent");
        turn(&mut server, S);
        assert_eq!(alive(&server), 0);
    }
    let _idle = connect(&path);
    turn(&mut server, 2 * S);
    let deadline_ns = server.next_ns(2 * S).expect("patience has an end");
    turn(&mut server, deadline_ns - MS);
    assert_eq!(alive(&server), 1);
    turn(&mut server, deadline_ns);
    assert_eq!(alive(&server), 0);
    assert_eq!(server.next_ns(deadline_ns), None);
}

#[test]
fn no_user_but_root_takes_all_places() {
    let (_dir, path) = place();
    let mut server = Server::open(&path, None).expect("a socket");
    let (mine, _other) = UnixStream::pair().expect("a pair");
    let mut fill = |uid: u32, want: usize| {
        let mut got = 0;
        for _ in 0..want {
            let peer = Peer { uid };
            if server.has_room_for(peer) {
                let stream = mine.try_clone().expect("a copy");
                *server.connections.iter_mut().find(|place| place.is_none()).expect("a free place") =
                    Some(Connection::new(stream, peer, false, S));
                got += 1;
            }
        }
        got
    };
    assert_eq!(fill(1000, 9), OF_ONE_USER_MAX);
    assert_eq!(fill(1001, 9) + fill(1002, 9) + fill(1003, 9), STRANGERS_MAX - OF_ONE_USER_MAX);
    assert_eq!(fill(0, 4), CLIENTS_MAX - STRANGERS_MAX);
}

#[test]
fn the_socket_is_open_to_those_who_may_read() {
    let (_dir, path) = place();
    let own = rustix::process::getegid().as_raw();
    assert_eq!(Server::open(&path, None).expect("a socket").mode().expect("there"), 0o600);
    let server = Server::open(&path, Some(own)).expect("a second takes the place");
    assert_eq!(server.mode().expect("there"), 0o660);
    assert!(server.may_change(Peer { uid: 0 }) && !server.may_change(Peer { uid: 12_345 }));
    drop(server);
    assert!(!path.exists());
}

#[test]
fn what_is_no_socket_is_not_removed() {
    let (_dir, path) = place();
    std::fs::write(&path, "precious").expect("written");
    let refused = Server::open(&path, None).expect_err("a file is there");
    assert!(brisk_core::causes::in_one_line(&refused).contains("is no socket: move it away"), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&path).expect("there"), "precious");
}

/// A machine on whose seat the session of this user is active.
fn seat_of(dir: &Path, uid: u32) -> Sense {
    let seats = dir.join("run/systemd/seats");
    std::fs::create_dir_all(&seats).expect("made");
    std::fs::write(seats.join("seat0"), format!("IS_SEAT0=1\nACTIVE=c2\nACTIVE_UID={uid}\n")).expect("written");
    Sense::new(dir)
}

#[test]
fn the_user_of_the_active_session_tells_and_no_other() {
    requires!(Root);
    const USER: u32 = 4_321;
    let (dir, path) = place();
    chmod(dir.path(), Mode::from_raw_mode(0o755)).expect("owned");
    let of_sessions = dir.path().join("session");
    for (active, is_let_in) in [(USER, true), (USER + 1, false)] {
        let mut server = Server::open(&path, None).expect("a socket");
        server.open_for_sessions(&of_sessions, &seat_of(dir.path(), active)).expect("a socket");
        let (control, session) = (path.clone(), of_sessions.clone());
        let connects = std::thread::spawn(move || {
            let (user, group) = (Uid::from_raw(USER), Gid::from_raw(USER));
            // A system call of this thread alone: the other threads of the process stay root.
            rustix::thread::set_thread_res_gid(group, group, group).expect("root may");
            rustix::thread::set_thread_res_uid(user, user, user).expect("root may");
            let refused = UnixStream::connect(control).map_err(|error| error.kind()).map(drop);
            (refused, UnixStream::connect(session).expect("open to all"))
        });
        let (refused, mut client) = connects.join().expect("connected");
        assert_eq!(refused, Err(ErrorKind::PermissionDenied));
        client.set_nonblocking(true).expect("a socket");
        client.write_all(&message("org.brisk.Daemon.SetFront")).expect("sent");
        let mut calls = Vec::new();
        for _ in 0..3 {
            let quiet = vec![PollFlags::IN; server.interests(S).len()];
            calls.extend(server.turn(S, &quiet));
        }
        let told: Vec<_> = calls.iter().map(|call| (call.is_of_session, call.peer.uid)).collect();
        assert_eq!(told, if is_let_in { vec![(true, USER)] } else { vec![] });
    }
    assert!(!of_sessions.exists(), "it goes with the server");
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_the_server_panic(
        chunks in proptest::collection::vec(proptest::collection::vec(proptest::prelude::any::<u8>(), 0..60), 1..6),
    ) {
        let (_dir, path) = place();
        let mut server = Server::open(&path, None).expect("a socket");
        let mut client = connect(&path);
        turn(&mut server, S);
        for chunk in chunks {
            let _ = client.write(&chunk);
            turn(&mut server, S);
        }
    }
}

#[test]
fn root_is_served_at_once_beside_a_thousand_connections_of_another_user() {
    requires!(Root);
    const OTHER: u32 = 65_534;
    let (dir, path) = place();
    let mut server = Server::open(&path, Some(OTHER)).expect("a socket");
    chmod(dir.path(), Mode::from_raw_mode(0o755)).expect("owned");
    // The number of connections that wait to be accepted is limited, so they come while the server runs.
    let socket = path.clone();
    let connects = std::thread::spawn(move || {
        let (user, group) = (Uid::from_raw(OTHER), Gid::from_raw(OTHER));
        // A system call of this thread alone: the other threads of the process stay root.
        rustix::thread::set_thread_res_gid(group, group, group).expect("root may");
        rustix::thread::set_thread_res_uid(user, user, user).expect("root may");
        (0..1000).map(|_| UnixStream::connect(&socket).expect("in the group")).collect::<Vec<_>>()
    });
    while !connects.is_finished() {
        turn(&mut server, S);
    }
    let others = connects.join().expect("connected");
    assert_eq!(others.len(), 1000);
    let mut root = connect(&path);
    root.write_all(&message("org.brisk.Daemon.GetStatus")).expect("sent");
    let tenths = (0..100).find(|tenth| {
        turn(&mut server, 2 * S + tenth * S / 10);
        !read(&mut root).0.is_empty()
    });
    assert!(tenths.is_some_and(|tenths| tenths <= 10), "{tenths:?} tenths of a second");
    assert_eq!(alive(&server), OF_ONE_USER_MAX + 1);
}

/// Runs `attack` as another user of the socket's group; in how many tenths of a second root is then answered.
fn root_waits(attack: impl Fn(&Path) + Send + 'static) -> Option<u64> {
    const OTHER: u32 = 65_534;
    let (dir, path) = place();
    let mut server = Server::open(&path, Some(OTHER)).expect("a socket");
    chmod(dir.path(), Mode::from_raw_mode(0o755)).expect("owned");
    let socket = path.clone();
    let attacks = std::thread::spawn(move || {
        let (user, group) = (Uid::from_raw(OTHER), Gid::from_raw(OTHER));
        // A system call of this thread alone: the other threads of the process stay root.
        rustix::thread::set_thread_res_gid(group, group, group).expect("root may");
        rustix::thread::set_thread_res_uid(user, user, user).expect("root may");
        attack(&socket);
    });
    // The daemon's budgets were used up before; it serves nothing while they come.
    for _ in 0..2 * BURST {
        server.budgets.doors.spend(S);
        server.budgets.calls_of_others.spend(S);
    }
    attacks.join().expect("attacked");
    let mut root = connect(&path);
    root.write_all(&message("org.brisk.Daemon.GetStatus")).expect("sent");
    (0..300).find(|tenth| {
        turn(&mut server, S + tenth * S / 10);
        !read(&mut root).0.is_empty()
    })
}

#[test]
fn connections_that_hang_up_delay_root_by_three_seconds_at_most() {
    requires!(Root);
    // As many as wait to be accepted, less one for root.
    let somaxconn = std::fs::read_to_string("/proc/sys/net/core/somaxconn").expect("a kernel");
    let count: u32 = somaxconn.trim().parse().expect("a number");
    let hang_up =
        move |socket: &Path| (0..count).for_each(|_| drop(UnixStream::connect(socket).expect("in the group")));
    let call_and_hang_up = move |socket: &Path| {
        for _ in 0..count {
            let mut stream = UnixStream::connect(socket).expect("in the group");
            stream.write_all(&message("org.brisk.Daemon.GetStatus")).expect("sent");
        }
    };
    for tenths in [root_waits(hang_up), root_waits(call_and_hang_up)] {
        assert!(tenths.is_some_and(|tenths| tenths <= 30), "{tenths:?} tenths of a second");
    }
}
