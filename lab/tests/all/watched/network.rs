//! Conversations over IP.

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use brisk_lab::probes::{Connection, Event, Kind, Trace, Wait};

use crate::watched::order::check_order;
use crate::watched::role::{Facts, Player};
use crate::watched::{RUNS, call, group, in_most_runs, lacks, of, start, tid, waits, watch};

/// Returns when the watched threads all sleep. Where the machine has hidden that one fell asleep (see
/// [`in_most_runs`]), after some seconds.
fn until_asleep(trace: &Trace) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(5) {
        let activity = trace.activity();
        if activity.threads > 0 && activity.running + activity.runnable + activity.in_flight_requests == 0 {
            return;
        }
        std::thread::yield_now();
    }
}

#[test]
fn an_exchange_over_tcp_has_its_connection_its_bytes_and_its_wait() {
    let Some(group) = group() else { return };
    if lacks("bytes sent") || lacks("connections") {
        return;
    }
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let trace = start(&group);
    let address = server.local_addr().unwrap().to_string();
    let asked =
        |events: &[Event]| events.iter().any(|event| matches!(event.kind, Kind::Network(Connection::Sent { .. })));
    let run = |_| {
        let player = Player::start(Some(&group), "asks by TCP", address.as_ref());
        let (mut stream, _) = server.accept().unwrap();
        let mut question = [0; 5];
        stream.read_exact(&mut question).unwrap();
        until_asleep(&trace);
        assert!(trace.with_events(asked));
        stream.write_all(b"that!!!").unwrap();
        drop(stream);
        player.facts()
    };
    let runs: Vec<Facts> = (0..RUNS).map(run).collect();
    let recording = trace.stop();
    check_order(&recording.events);
    in_most_runs(&runs, |facts| {
        let steps = steps(&recording.events, facts);
        let Some(&Connection::Opening { socket }) = steps.first() else { panic!("{steps:?}") };
        assert_eq!(
            steps,
            [
                Connection::Opening { socket },
                Connection::Opened { socket },
                Connection::Sent { socket, bytes: 5, loopback: true },
                Connection::Received { socket, bytes: 7 },
                Connection::Received { socket, bytes: 0 },
            ]
        );
        let waits = waits(&of(&recording.events, tid(facts, "tid")));
        let in_receive = |wait: &Wait| [call(libc::SYS_recvfrom), call(libc::SYS_read)].contains(&wait.system_call);
        assert!(waits.iter().any(in_receive), "{waits:?}");
    });
}

/// Steps of the conversation that a run had.
fn steps(events: &[Event], facts: &Facts) -> Vec<Connection> {
    let step = |event: &Event| if let Kind::Network(connection) = event.kind { Some(connection) } else { None };
    of(events, tid(facts, "tid")).into_iter().filter_map(step).collect()
}

#[test]
fn a_datagram_and_its_answer_count_too() {
    let Some(group) = group() else { return };
    if lacks("bytes sent") || lacks("connections") {
        return;
    }
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap().to_string();
    let server = Arc::new(server);
    let answer = || {
        let server = Arc::clone(&server);
        std::thread::spawn(move || {
            let (_, from) = server.recv_from(&mut [0; 16]).unwrap();
            server.send_to(b"that!!!", from).unwrap();
        });
    };
    let (recording, runs) = watch(&group, "asks by UDP", address, answer);
    in_most_runs(&runs, |facts| {
        let steps = steps(&recording.events, facts);
        let [Connection::Sent { socket, bytes: 5, loopback: true }, received] = steps[..] else { panic!("{steps:?}") };
        assert_eq!(received, Connection::Received { socket, bytes: 7 });
    });
}

#[test]
fn a_datagram_that_is_refused_awaits_no_answer() {
    let Some(group) = group() else { return };
    if lacks("bytes sent") || lacks("errors of sockets") {
        return;
    }
    // A port that was free a moment ago.
    let address = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).unwrap().to_string();
    let (recording, runs) = watch(&group, "asks by UDP in vain", address, || {});
    in_most_runs(&runs, |facts| {
        let steps = steps(&recording.events, facts);
        let [Connection::Sent { socket, bytes: 5, loopback: true }, failed] = steps[..] else { panic!("{steps:?}") };
        assert_eq!(failed, Connection::Opened { socket });
    });
}
