"""Submissions: validation of what arrives, and the row of the table that it becomes. Pure: bytes in, values out.

The form is `submission.schema.json`, generated from the forms of the device's side (`report/src/submission.rs`).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import statistics
import zlib
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

import jsonschema_rs
import rfc8785

from brisk_fleet import columns

# A submission of all kinds has about 20 KB.
BODY_BYTES_MAX: Final = 256 << 10

# Warnings that forbid the use of a result: the figures are not those of the storage alone.
EXCLUDING: Final = frozenset(
    {"not_direct", "cpu_pressure", "foreign_io", "lab_late", "cache_unverified", "implausible", "same_network"}
)
# The flag of a submission whose network had its vote of the day, and its member of a line of an export.
SAME_NETWORK: Final = "same_network"

# Fastest that the interface of a class transfers, in bytes/s, with a margin of a quarter: JEDEC eMMC 5.1 HS400
# (400 MB/s), SD UHS-II (312 MB/s), UFS 4.0 (4,640 MB/s), NVMe over PCIe 5.0 x4 (15,750 MB/s), USB 3.2 2x2 (2,500 MB/s),
# SATA and SAS (2,400 MB/s).
INTERFACE_BYTES_PER_S: Final = {
    "emmc": 500e6,
    "sd": 390e6,
    "ufs": 5_800e6,
    "nvme": 19_700e6,
    "usb": 3_100e6,
    "disk": 3_000e6,
    "virtual": 50_000e6,
}


class InvalidError(ValueError):
    """A submission that is refused; its text says why, without repeating what was sent."""


class WrongIdError(InvalidError):
    """A submission of the schema whose id is not that of its content."""


class DeletedError(InvalidError):
    """A submission that was in the table and was deleted."""

    def __init__(self) -> None:
        super().__init__("it was deleted, and a deletion stays")


@dataclass(frozen=True)
class Accepted:
    """A submission that is valid: its id, the digest of its deletion key, the submission itself, and whether its
    network has a vote for it."""

    id: str
    deletion_key_sha256: str
    submission: dict[str, Any]
    has_vote: bool = True


def schema() -> dict[str, Any]:
    """Gives the JSON Schema of an envelope (draft 2020-12)."""
    text = resources.files("brisk_fleet").joinpath("submission.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


_VALIDATOR: Final = jsonschema_rs.Draft202012Validator(schema())


def _no_constant(name: str) -> float:
    raise InvalidError(f"it has {name}, which is no JSON number")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidError("it has a name twice in one object")
    return found


def check(body: bytes, is_exported: bool = False) -> Accepted:
    """Validates the bytes of an envelope, or of a line of an export.

    Raises:
        InvalidError: when it is too large, no JSON in UTF-8, or not of the schema.
        WrongIdError: when its id is not that of its content.
    """
    if len(body) > BODY_BYTES_MAX:
        raise InvalidError(f"it has more than {BODY_BYTES_MAX} bytes")
    try:
        value = json.loads(body.decode("utf-8-sig"), parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
    except InvalidError:
        raise
    except UnicodeDecodeError as error:
        raise InvalidError("it is not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise InvalidError("it is no JSON") from error
    has_vote = not (is_exported and isinstance(value, dict) and value.pop(SAME_NETWORK, False))
    try:
        fault = next(_VALIDATOR.iter_errors(value), None)
    except UnicodeEncodeError as error:
        # JSON can escape half of a surrogate pair, which neither UTF-8 nor the table can hold.
        raise InvalidError("a text of it is no Unicode: it has half of a surrogate pair") from error
    except ValueError as error:
        raise InvalidError("it is nested too deeply") from error
    if fault is not None:
        where = "/".join(str(part) for part in fault.instance_path) or "the document"
        raise InvalidError(f"{where[:120]} does not agree with the schema ({_rule(fault)})")
    submission = value["submission"]
    if value["id"] != identity(submission):
        raise WrongIdError("its id is not that of its content")
    return Accepted(value["id"], value["deletion_key_sha256"], submission, has_vote)


def _rule(fault: Any) -> str:
    path = [str(part) for part in fault.schema_path]
    return path[-1] if path else "type"


def identity(submission: dict[str, Any]) -> str:
    """Gives the SHA-256 of the canonical JSON (RFC 8785), in hexadecimal digits."""
    try:
        canonical = rfc8785.dumps(submission)
    except rfc8785.CanonicalizationError as error:
        raise InvalidError("it has a number that canonical JSON cannot hold") from error
    return hashlib.sha256(canonical).hexdigest()


def row(accepted: Accepted, received: dt.date) -> dict[str, Any]:
    """Gives the row of a submission: a value for each of `columns.ALL`."""
    submission = accepted.submission
    storage, machine = submission["storage"], submission["machine"]
    measures = _measures(submission["results"])
    flags = sorted(
        {*_flags(submission["results"]), *_implausible(storage["kind"], measures)}
        | (set() if accepted.has_vote else {SAME_NETWORK})
    )
    return {
        "id": accepted.id,
        "day": dt.date.fromisoformat(submission["day"]),
        "received": received,
        "model": machine.get("model") or storage["model"],
        "machine_model": machine.get("model"),
        "storage_model": storage["model"],
        "firmware": storage.get("firmware"),
        "device_class": storage["kind"],
        "emulated": storage["emulated"],
        "size_gib": storage["size_gib"],
        "kernel": machine["kernel"],
        "architecture": machine["architecture"],
        "cpus": machine["cpus"],
        "brisk_version": submission["brisk_version"],
        "flags": flags,
        "excluded": not EXCLUDING.isdisjoint(flags),
        **measures,
        "settings": _settings(submission["results"]),
        "deletion_key_sha256": accepted.deletion_key_sha256,
        "document": zlib.compress(json.dumps(submission, separators=(",", ":")).encode(), 6),
    }


def document(compressed: bytes) -> dict[str, Any]:
    """Gives the submission that `row` put into the column `document`."""
    loaded: dict[str, Any] = json.loads(zlib.decompress(compressed))
    return loaded


def _flags(results: list[dict[str, Any]]) -> list[str]:
    found: list[str] = []
    for result in results:
        found.extend(result.get("warnings", []))
        # Figures of a cache say nothing of the storage.
        if result.get("cache") in ("memory", "lying", "unverified"):
            found.append("cache_unverified")
    return found


def _implausible(kind: str, measures: dict[str, float | None]) -> list[str]:
    limit = INTERFACE_BYTES_PER_S[kind]
    bandwidths = [
        value for name, value in measures.items() if name.endswith("_bytes_per_s") and not name.startswith("total")
    ]
    beyond = any(value is not None and value > limit for value in bandwidths)
    instant = any(value == 0.0 for name, value in measures.items() if "_us_p" in name or name.endswith("_bytes_per_s"))
    return ["implausible"] if beyond or instant else []


def _measures(results: list[dict[str, Any]]) -> dict[str, float | None]:
    """The measured columns: medians over the results of the submission."""
    values: dict[str, list[float]] = {}

    def add(name: str, value: float) -> None:
        values.setdefault(name, []).append(float(value))

    for result in results:
        # Results of other kinds have no column: they stay in the document.
        if take := _TAKE.get(result["kind"]):
            take(result, add)
    bandwidths = [values.get(f"{pattern}_{direction}_bytes_per_s") for pattern, direction in columns.LOADS]
    if all(bandwidths):
        add("total_bytes_per_s", sum(statistics.median(one) for one in bandwidths if one))
    return {
        column.name: statistics.median(values[column.name]) if column.name in values else None
        for column in columns.MEASURES
    }


def _bench(result: dict[str, Any], add: Any) -> None:
    jobs = result["jobs"]
    for pattern, direction in columns.LOADS:
        own = sorted(
            (job for job in jobs if (job["pattern"], job["direction"]) == (pattern, direction)),
            key=lambda job: job["depth_requests"],
        )
        if not own:
            continue
        load = f"{pattern}_{direction}"
        first, last = own[0], own[-1]
        if first["depth_requests"] == 1:
            add(f"{load}_bytes_per_s", first["bandwidth_bytes_per_s"]["median"])
            add(f"{load}_us_p50", first["latency_us_p50"])
            add(f"{load}_us_p99", first["latency_us_p99"])
        if last["depth_requests"] > 1:
            add(f"{load}_deep_bytes_per_s", last["bandwidth_bytes_per_s"]["median"])
    if jobs:
        add("iowait_percent", max(job["iowait_percent"] for job in jobs))
    for sync in result["syncs"]:
        if sync["call"] == "fsync":
            add("fsync_us_p50", sync["latency_us_p50"])
            add("fsync_us_p99", sync["latency_us_p99"])


def _slowdown(result: dict[str, Any], add: Any) -> None:
    for one in result["rows"]:
        if one["streams"] in columns.SLOWDOWN_STREAMS:
            for direction in columns.DIRECTIONS:
                name = f"{one['pattern']}_{direction}_slowdown_{one['streams']}_ratio"
                add(name, one[f"{direction}_slowdown"]["median"])


def _concurrency(result: dict[str, Any], add: Any) -> None:
    for point in result["points"]:
        if point["streams"] in columns.SPEEDUP_STREAMS:
            add(f"{point['pattern']}_{point['direction']}_speedup_{point['streams']}_ratio", point["speedup"]["median"])


def _profile(result: dict[str, Any], add: Any) -> None:
    if result["best"]:
        add("profile_energy_ratio", statistics.median(one["energy_ratio"] for one in result["best"]))


def _launch(result: dict[str, Any], add: Any) -> None:
    for one in result["sets"]:
        settled = one["settled_ms"]["median"]
        if one["temperature"] == "cold":
            add("launch_cold_ms", settled)
            if settled > 0 and "storage_ms" in one:
                add("launch_storage_percent", min(100.0, 100.0 * one["storage_ms"] / settled))


def _prove(result: dict[str, Any], add: Any) -> None:
    for gain in result["gains"]:
        for name in ("loaded_ratio", "idle_ratio"):
            if name in gain:
                add(f"prove_{name}", gain[name]["median"])


_TAKE: Final = {
    "bench": _bench,
    "slowdown": _slowdown,
    "concurrency": _concurrency,
    "profile": _profile,
    "launch": _launch,
    "prove": _prove,
}


def _settings(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Points of frontiers; settings as canonical JSON, so that equal ones are equal texts."""
    return [
        {
            "scheduler": point["scheduler"],
            "settings": json.dumps(point["settings"], sort_keys=True, separators=(",", ":")),
            "priorities": point["priorities"],
            "read_ratio": point["read_ratio"],
            "write_percent": point["write_percent"],
            "trials": point["trials"],
            "chosen": point["chosen"],
        }
        for result in results
        if result["kind"] == "frontier"
        for point in result["points"]
    ]
