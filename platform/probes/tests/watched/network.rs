//! Conversations over IP.

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::sync::Arc;

use brisk_probes::{Connection, Event, Kind, Trace, Wait};

use crate::order::check_order;
use crate::role::Player;
use crate::{call, group, in_one_of_five, lacks, of, start, tid, waits, watch};

/// Returns when the watched threads all sleep.
fn until_asleep(trace: &Trace) {
    loop {
        let activity = trace.activity();
        if activity.threads > 0 && activity.running + activity.runnable + activity.in_flight_requests == 0 {
            return;
        }
        std::thread::yield_now();
    }
}

#[test]
fn an_exchange_over_tcp_has_its_connection_its_bytes_and_its_wait() {
    in_one_of_five(an_exchange_over_tcp_has_its_connection_its_bytes_and_its_wait_once);
}

fn an_exchange_over_tcp_has_its_connection_its_bytes_and_its_wait_once() {
    let Some(group) = group() else { return };
    if lacks("bytes sent") || lacks("connections") {
        return;
    }
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let trace = start(&group);
    let address = server.local_addr().unwrap().to_string();
    let player = Player::start(Some(&group), "asks by TCP", address.as_ref());
    let (mut stream, _) = server.accept().unwrap();
    let mut question = [0; 5];
    stream.read_exact(&mut question).unwrap();
    until_asleep(&trace);
    let asked =
        |events: &[Event]| events.iter().any(|event| matches!(event.kind, Kind::Network(Connection::Sent { .. })));
    assert!(trace.with_events(asked));
    stream.write_all(b"that!!!").unwrap();
    drop(stream);
    let facts = player.facts();
    let recording = trace.stop();
    check_order(&recording.events);
    let own = of(&recording.events, tid(&facts, "tid"));
    let steps: Vec<Connection> = own
        .iter()
        .filter_map(|event| if let Kind::Network(connection) = event.kind { Some(connection) } else { None })
        .collect();
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
    let in_receive = |wait: &Wait| [call(libc::SYS_recvfrom), call(libc::SYS_read)].contains(&wait.system_call);
    assert!(waits(&own).iter().any(in_receive), "{:?}", waits(&own));
}

#[test]
fn a_datagram_and_its_answer_count_too() {
    in_one_of_five(a_datagram_and_its_answer_count_too_once);
}

fn a_datagram_and_its_answer_count_too_once() {
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
    let (recording, facts) = watch(&group, "asks by UDP", address, answer);
    let own = of(&recording.events, tid(&facts, "tid"));
    let steps: Vec<&Kind> =
        own.iter().map(|event| &event.kind).filter(|kind| matches!(kind, Kind::Network(_))).collect();
    let [Kind::Network(Connection::Sent { socket, bytes: 5, loopback: true }), received] = steps[..] else {
        panic!("{steps:?}");
    };
    assert_eq!(received, &Kind::Network(Connection::Received { socket: *socket, bytes: 7 }));
}

#[test]
fn a_datagram_that_is_refused_awaits_no_answer() {
    in_one_of_five(a_datagram_that_is_refused_awaits_no_answer_once);
}

fn a_datagram_that_is_refused_awaits_no_answer_once() {
    let Some(group) = group() else { return };
    if lacks("bytes sent") || lacks("errors of sockets") {
        return;
    }
    // A port that was free a moment ago.
    let address = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).unwrap().to_string();
    let (recording, facts) = watch(&group, "asks by UDP in vain", address, || {});
    let own = of(&recording.events, tid(&facts, "tid"));
    let steps: Vec<&Kind> =
        own.iter().map(|event| &event.kind).filter(|kind| matches!(kind, Kind::Network(_))).collect();
    let [Kind::Network(Connection::Sent { socket, bytes: 5, loopback: true }), failed] = steps[..] else {
        panic!("{steps:?}");
    };
    assert_eq!(failed, &Kind::Network(Connection::Opened { socket: *socket }));
}
