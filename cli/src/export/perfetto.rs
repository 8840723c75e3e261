//! A trace for ui.perfetto.dev: one counter track for each value, grouped by what they belong to.
//!
//! The messages are those few of perfetto_trace.proto that counters need (TracePacket, ClockSnapshot, TrackDescriptor,
//! CounterDescriptor, TrackEvent), with the numbers of their fields. A counter holds its value until the next one, so a
//! rate stands at the start of its interval, a level at its end, and a zero where a rate becomes unavailable.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use prost::Message;

use super::metric::{Key, Part};
use super::names::{is_level, sign};
use super::table::Columns;
use super::{Row, Rows};

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

#[derive(Clone, PartialEq, Message)]
struct TracePacket {
    #[prost(message, optional, tag = "6")]
    clock_snapshot: Option<ClockSnapshot>,
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(uint32, optional, tag = "13")]
    sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct ClockSnapshot {
    #[prost(message, repeated, tag = "1")]
    clocks: Vec<Clock>,
}

#[derive(Clone, PartialEq, Message)]
struct Clock {
    #[prost(uint32, optional, tag = "1")]
    clock_id: Option<u32>,
    #[prost(uint64, optional, tag = "2")]
    timestamp: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(uint64, optional, tag = "5")]
    parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    counter: Option<CounterDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct CounterDescriptor {
    #[prost(int32, optional, tag = "3")]
    unit: Option<i32>,
    #[prost(string, optional, tag = "6")]
    unit_name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(int32, optional, tag = "9")]
    r#type: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    track_uuid: Option<u64>,
    #[prost(double, optional, tag = "44")]
    double_counter_value: Option<f64>,
}

/// BuiltinClock of builtin_clock.proto. Times without a clock are of the second.
const CLOCK_REALTIME: u32 = 1;
const CLOCK_BOOTTIME: u32 = 6;
const TYPE_COUNTER: i32 = 4;
/// CounterDescriptor.Unit.
const UNIT_SIZE_BYTES: i32 = 3;
/// TracePacket.SequenceFlags.
const SEQ_INCREMENTAL_STATE_CLEARED: u32 = 1;
const SEQUENCE: u32 = 1;

/// Writes the trace of a record.
pub(crate) fn trace(columns: &Columns, rows: &Rows<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
    let (tracks, descriptors) = tracks(columns);
    let mut first = Some(descriptors);
    let mut last: Option<Row> = None;
    rows(&mut |row| {
        let mut packets = Vec::new();
        if let Some(descriptors) = first.take() {
            packets.push(clock(row.start_unix_ns));
            packets.extend(descriptors);
        }
        // A value that is unavailable in this interval does not continue. A gap between sessions ends all.
        if let Some(last) = &last {
            let gap = last.session != row.session;
            let known: BTreeSet<_> = row.metrics.iter().filter(|_| !gap).map(|metric| &metric.key).collect();
            let gone = last.metrics.iter().filter(|metric| !known.contains(&metric.key));
            packets.extend(gone.map(|metric| counter(tracks[&metric.key], last.end_unix_ns, 0.0)));
        }
        packets.extend(row.metrics.iter().map(|metric| {
            let at_ns = if is_level(&metric.key.1) { row.end_unix_ns } else { row.start_unix_ns };
            counter(tracks[&metric.key], at_ns, metric.value)
        }));
        last = Some(row);
        Ok(out.write_all(&Trace { packet: packets }.encode_to_vec())?)
    })?;
    let end = last.map_or_else(Vec::new, |last| {
        let rates = last.metrics.iter().filter(|metric| !is_level(&metric.key.1));
        rates.map(|metric| counter(tracks[&metric.key], last.end_unix_ns, 0.0)).collect()
    });
    Ok(out.write_all(&Trace { packet: end }.encode_to_vec())?)
}

/// A number for each counter, and the packets that describe it and its group.
fn tracks(columns: &Columns) -> (BTreeMap<&Key, u64>, Vec<TracePacket>) {
    let mut numbers = BTreeMap::new();
    let mut groups: BTreeMap<&Part, u64> = BTreeMap::new();
    let mut packets = Vec::new();
    let mut uuids = 1u64..;
    let mut uuid = || uuids.next().unwrap_or_default();
    let describe = |descriptor| TracePacket {
        trusted_packet_sequence_id: Some(SEQUENCE),
        track_descriptor: Some(descriptor),
        ..TracePacket::default()
    };
    for key @ (part, name) in columns.iter() {
        let group = *groups.entry(part).or_insert_with(|| {
            let group = uuid();
            let name = format!("{} {}", part.kind, part.name).trim_end().to_owned();
            packets.push(describe(TrackDescriptor {
                uuid: Some(group),
                name: Some(name),
                ..TrackDescriptor::default()
            }));
            group
        });
        let number = uuid();
        let (unit, unit_name) = match sign(name) {
            "bytes" => (Some(UNIT_SIZE_BYTES), None),
            unit => (None, Some(unit.to_owned())),
        };
        packets.push(describe(TrackDescriptor {
            uuid: Some(number),
            name: Some(name.to_string()),
            parent_uuid: Some(group),
            counter: Some(CounterDescriptor { unit, unit_name }),
        }));
        numbers.insert(key, number);
    }
    if let Some(packet) = packets.first_mut() {
        packet.sequence_flags = Some(SEQ_INCREMENTAL_STATE_CLEARED);
    }
    (numbers, packets)
}

/// Lets the viewer show the time of day: both clocks are the same here.
fn clock(unix_ns: u64) -> TracePacket {
    let same = |clock_id| Clock { clock_id: Some(clock_id), timestamp: Some(unix_ns) };
    TracePacket {
        timestamp: Some(unix_ns),
        trusted_packet_sequence_id: Some(SEQUENCE),
        clock_snapshot: Some(ClockSnapshot { clocks: vec![same(CLOCK_BOOTTIME), same(CLOCK_REALTIME)] }),
        ..TracePacket::default()
    }
}

fn counter(track: u64, at_unix_ns: u64, value: f64) -> TracePacket {
    TracePacket {
        timestamp: Some(at_unix_ns),
        trusted_packet_sequence_id: Some(SEQUENCE),
        track_event: Some(TrackEvent {
            r#type: Some(TYPE_COUNTER),
            track_uuid: Some(track),
            double_counter_value: Some(value),
        }),
        ..TracePacket::default()
    }
}
