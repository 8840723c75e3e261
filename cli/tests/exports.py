"""Reads exports of records in the programs that they are for: `exports.py DIR`, called by `scripts/exports-test`."""

import sys
from pathlib import Path

import duckdb
import pandas
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
from prometheus_client.openmetrics.parser import text_string_to_metric_families


def openmetrics(file: Path) -> str:
    """The reference parser refuses times that go back, series in two places, units that do not end a name, ..."""
    # A name may hold a carriage return, which must not become the end of a line.
    text = file.read_bytes().decode("utf-8")
    families = list(text_string_to_metric_families(text))
    samples = sum(len(family.samples) for family in families)
    assert samples > 0 and all(family.type == "gauge" for family in families)
    return f"{len(families)} families, {samples} samples"


def csv(file: Path) -> str:
    """pandas and DuckDB see the same table: numbers in all columns."""
    table = pandas.read_csv(file)
    assert len(table) > 0 and table.columns.is_unique
    assert all(pandas.api.types.is_numeric_dtype(kind) for kind in table.dtypes), table.dtypes
    for _, session in table.groupby("session"):
        assert session["end_unix_ns"].is_monotonic_increasing
    rows, columns = duckdb.read_csv(str(file)).shape
    assert (rows, columns) == table.shape, ((rows, columns), table.shape)
    return f"{rows} rows, {columns} columns"


def pftrace(file: Path) -> str:
    """By the messages of the format itself: each counter belongs to a track that is described before it."""
    trace = Trace.FromString(file.read_bytes())
    tracks, values = {}, 0
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in tracks and (not track.parent_uuid or track.parent_uuid in tracks)
            tracks[track.uuid] = track.name
        if packet.HasField("track_event"):
            event = packet.track_event
            assert event.track_uuid in tracks and event.double_counter_value == event.double_counter_value
            values += 1
    assert values > 0
    return f"{len(tracks)} tracks, {values} values"


READERS = {".om": openmetrics, ".csv": csv, ".pftrace": pftrace}

failed = 0
for path in sorted(Path(sys.argv[1]).iterdir()):
    if path.suffix not in READERS:
        continue
    try:
        print(f"ok      {path.name}: {READERS[path.suffix](path)}")
    except Exception as error:
        failed += 1
        print(f"FAILED  {path.name}: {type(error).__name__}: {error}")
sys.exit(failed > 0)
