//! What holds for any list of events.

use std::collections::{HashMap, HashSet};

use brisk_lab::probes::{Connection, Event, Kind};

pub(crate) fn check_order(events: &[Event]) {
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum State {
        Unknown,
        Ready,
        Running,
        Waiting,
        Dead,
    }
    let mut threads: HashMap<u32, State> = HashMap::new();
    let mut reclaiming = HashSet::new();
    let mut in_flight: HashMap<(u32, u64), u32> = HashMap::new();
    let mut before_ns = 0;
    for event in events {
        assert!(event.at_ns >= before_ns, "{event:?} is before its predecessor");
        before_ns = event.at_ns;
        let state = threads.entry(event.tid).or_insert(State::Unknown);
        let was = *state;
        let fine = match &event.kind {
            Kind::Born { .. } => {
                *state = State::Unknown;
                matches!(was, State::Unknown | State::Dead)
            }
            Kind::Runnable => {
                *state = State::Ready;
                was != State::Dead
            }
            Kind::Running => {
                *state = State::Running;
                matches!(was, State::Unknown | State::Ready)
            }
            Kind::Waiting(_) => {
                *state = State::Waiting;
                matches!(was, State::Unknown | State::Running)
            }
            Kind::Died => {
                *state = State::Dead;
                was != State::Dead
            }
            Kind::Submitted(request) => {
                *in_flight.entry((request.device, request.sector)).or_default() += 1;
                matches!(was, State::Unknown | State::Running)
            }
            Kind::Completed { device, sector } => {
                let requests = in_flight.entry((*device, *sector)).or_default();
                *requests = requests.checked_sub(1).expect("only what was handed in is done");
                true
            }
            Kind::ReclaimBegan => reclaiming.insert(event.tid) && matches!(was, State::Unknown | State::Running),
            Kind::ReclaimEnded => reclaiming.remove(&event.tid) && matches!(was, State::Unknown | State::Running),
            Kind::Network(Connection::Opened { .. }) => true,
            Kind::Exec { .. } | Kind::Network(_) => matches!(was, State::Unknown | State::Running),
        };
        assert!(fine, "{event:?} of a thread that was {was:?}");
    }
}
