//! Waits for an answer over IP.
//!
//! A socket waits from the first request (or the call for a connection) to the last part of the answer, that is the
//! last bytes received before the next request on it; a refusal is an answer. A request that is never answered
//! (telemetry, a kept-open channel) counts as waiting for [`UNANSWERED_NS`] at most, as does a pause between two parts
//! of an answer.

use std::collections::HashMap;
use std::ops::Range;

use crate::probes::{Connection, Event, Kind};

/// Longest silence that counts as waiting.
pub(crate) const UNANSWERED_NS: u64 = 10_000_000_000;

/// Disjoint spans in order of time in which at least one socket waits.
pub(crate) fn awaited(events: &[Event]) -> Vec<Range<u64>> {
    let (mut spans, unanswered) = spans(events);
    spans.extend(unanswered);
    merged(spans)
}

/// The same without requests that are never answered in `events`.
pub(crate) fn answered_spans(events: &[Event]) -> Vec<Range<u64>> {
    merged(spans(events).0)
}

/// Spans that ended with an answer, and those without.
fn spans(events: &[Event]) -> (Vec<Range<u64>>, Vec<Range<u64>>) {
    let mut open: HashMap<u64, Range<u64>> = HashMap::new();
    let mut spans = Vec::new();
    for event in events {
        let Kind::Network(connection) = event.kind else { continue };
        let now = event.at_ns;
        match connection {
            Connection::Opening { socket } | Connection::Sent { socket, .. } => {
                let span = open.entry(socket).or_insert(now..now);
                if span.end > span.start {
                    // The previous request was answered: that wait is over, a new one begins.
                    spans.push(span.clone());
                    *span = now..now;
                }
            }
            Connection::Opened { socket } => {
                if let Some(span) = open.remove(&socket) {
                    spans.push(span.start..answered(&span, now));
                }
            }
            Connection::Received { socket, .. } => {
                let Some(span) = open.get_mut(&socket) else { continue };
                let end = answered(span, now);
                if end < now {
                    // After a long silence: an unsolicited part.
                    spans.push(span.start..end);
                    open.remove(&socket);
                } else {
                    span.end = now;
                }
            }
        }
    }
    let (answered, unanswered): (Vec<_>, Vec<_>) = open.into_values().partition(|span| span.end > span.start);
    spans.extend(answered);
    (spans, unanswered.into_iter().map(|span| span.start..span.start + UNANSWERED_NS).collect())
}

fn answered(span: &Range<u64>, now: u64) -> u64 {
    now.min(span.end.max(span.start) + UNANSWERED_NS)
}

fn merged(mut spans: Vec<Range<u64>>) -> Vec<Range<u64>> {
    spans.retain(|span| span.start < span.end);
    spans.sort_by_key(|span| span.start);
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}
