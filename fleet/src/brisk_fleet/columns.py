"""The columns of the table of submissions, their units and meaning: schema, data dictionary and queries derive from
this list.

One row is one submission: one device, one vote. Where a submission has several results of a kind, a column has their
median.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import pyarrow as pa

PATTERNS = ("sequential", "random")
DIRECTIONS = ("read", "write")
LOADS = tuple(product(PATTERNS, DIRECTIONS))
SPEEDUP_STREAMS = (2, 4, 8, 16, 32)
SLOWDOWN_STREAMS = (1, 4)


@dataclass(frozen=True)
class Column:
    """One column: name (the unit is its last word), type, and what it means."""

    name: str
    type: pa.DataType
    about: str


def _measures() -> list[Column]:
    """Columns of measured values, all `double`, null where a submission lacks them."""
    found: list[Column] = []

    def add(name: str, about: str) -> None:
        found.append(Column(name, pa.float64(), about))

    for pattern, direction in LOADS:
        load = f"{pattern}_{direction}"
        alone = f"{pattern} {direction}s of the base block size"
        add(f"{load}_bytes_per_s", f"Bandwidth of {alone}, one request in flight")
        add(f"{load}_deep_bytes_per_s", f"Bandwidth of {alone}, most requests in flight that were measured")
        add(f"{load}_us_p50", f"Median response time of {alone}, one request in flight")
        add(f"{load}_us_p99", f"99th percentile of the response time of {alone}, one request in flight")
    add("total_bytes_per_s", "Sum of the four bandwidths with one request in flight (dissertation, figure 4.5)")
    add(
        "iowait_percent",
        "Largest share of processor time that was idle with storage requests outstanding (figure 4.2b)",
    )
    add("fsync_us_p50", "Median time of a small write with fsync")
    add("fsync_us_p99", "99th percentile of the time of a small write with fsync")
    for pattern, direction in LOADS:
        for streams in SLOWDOWN_STREAMS:
            add(
                f"{pattern}_{direction}_slowdown_{streams}_ratio",
                f"Response time of {pattern} {direction}s in {streams} streams "
                f"concurrent with {streams} of the other direction, "
                "over that of one stream alone (figure 4.3)",
            )
    for pattern, direction in LOADS:
        for streams in SPEEDUP_STREAMS:
            add(
                f"{pattern}_{direction}_speedup_{streams}_ratio",
                f"Time of {streams} streams of {pattern} {direction}s one after the other "
                "over their time at once (figure 4.6)",
            )
    add(
        "profile_energy_ratio",
        "Energy under the best setting of each workload over that under the device's own, median of workloads",
    )
    add("launch_cold_ms", "Time of a cold launch until the screen is settled, median of apps")
    add("launch_storage_percent", "Share of a cold launch that was spent on storage, median of apps")
    add("prove_loaded_ratio", "Launch time with brisk over that without, concurrent with writers, median of apps")
    add("prove_idle_ratio", "Launch time with brisk over that without, idle, median of apps")
    return found


MEASURES: tuple[Column, ...] = tuple(_measures())

SETTING = pa.struct(
    [
        pa.field("scheduler", pa.string()),
        pa.field("settings", pa.string()),
        pa.field("priorities", pa.bool_()),
        pa.field("read_ratio", pa.float64()),
        pa.field("write_percent", pa.float64()),
        pa.field("trials", pa.int32()),
        pa.field("chosen", pa.bool_()),
    ]
)

FACTS: tuple[Column, ...] = (
    Column("id", pa.string(), "SHA-256 of the canonical JSON of the submission"),
    Column("day", pa.date32(), "Day of the newest result (UTC)"),
    Column("received", pa.date32(), "Day on which the fleet received it (UTC)"),
    Column(
        "model", pa.string(), "What is ranked: the model of the machine where given, else that of the storage device"
    ),
    Column("machine_model", pa.string(), "Model of the machine, where its owner gave it"),
    Column("storage_model", pa.string(), "What the storage device calls itself; the preset of an emulated one"),
    Column("firmware", pa.string(), "Firmware of the storage device, where it tells it"),
    Column("device_class", pa.string(), "Kind of storage: emmc, sd, ufs, nvme, usb, virtual, disk"),
    Column("emulated", pa.bool_(), "The device is emulated"),
    Column("size_gib", pa.int32(), "Capacity, up to the next power of two"),
    Column("kernel", pa.string(), "Kernel version, two numbers"),
    Column("architecture", pa.string(), "Machine architecture"),
    Column("cpus", pa.int32(), "Processors"),
    Column("brisk_version", pa.string(), "Version of brisk that measured"),
    Column("flags", pa.list_(pa.string()), "Codes of warnings of the results, and of the receiver's own checks"),
    Column("excluded", pa.bool_(), "A flag forbids its use in statistics"),
)

SETTINGS = Column(
    "settings", pa.list_(SETTING), "Settings on the frontier of read latency and write throughput, with those found"
)
DELETION_KEY = Column("deletion_key_sha256", pa.string(), "Digest of the secret that deletes the submission")
DOCUMENT = Column("document", pa.large_binary(), "The submission as received: JSON, compressed with zlib")

ALL: tuple[Column, ...] = (*FACTS, *MEASURES, SETTINGS, DELETION_KEY, DOCUMENT)
# What is published: neither digests of secrets nor documents.
PUBLIC: tuple[Column, ...] = (*FACTS, *MEASURES)

SCHEMA = pa.schema([pa.field(column.name, column.type) for column in ALL])
