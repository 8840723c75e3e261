"""`brisk-fleet profiles`: settings with evidence for each model and firmware of storage devices, signed.

A setting qualifies where at least `DEVICES_MIN` devices of that model and firmware had it on their frontier, where it
leaves the write throughput that the search demands by default, and where the interval of its gain excludes no gain. Of
those, the one with the lowest read time is named. It is a place to start a search from (`brisk tune --from`), not a
result for a device that has not been measured. Devices without a name of their own have no profile: they are different
devices.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from pathlib import Path
from typing import Any

from ibis.expr.types import Table

from brisk_fleet import queries, whole
from brisk_fleet.minisign import Key
from brisk_fleet.robust import DEVICES_MIN, NORMAL_QUARTILES

WRITE_MIN_PERCENT = 90.0
FORMAT = 1
UNNAMED = "unnamed"
"""What the device's side sends for a device that reports no model."""


def best(table: Table) -> list[dict[str, Any]]:
    """Gives the best setting of each model and firmware, by read time; in the order of models."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in queries.settings(table).to_pandas().to_dict("records"):
        low, high = _interval(row)
        if (
            row["storage_model"] == UNNAMED
            or row["devices"] < DEVICES_MIN
            or high >= 1.0
            or row["write_percent_p50"] < WRITE_MIN_PERCENT
        ):
            continue
        key = (str(row["device_class"]), str(row["storage_model"]), str(row["firmware"]))
        candidate = {
            "kind": key[0],
            "model": key[1],
            "firmware": key[2] or None,
            "scheduler": row["scheduler"],
            "settings": json.loads(row["settings"]),
            "priorities": bool(row["priorities"]),
            "evidence": {
                "devices": int(row["devices"]),
                "read_ratio": round(row["read_ratio_p50"], 4),
                "read_ratio_low": round(low, 4),
                "read_ratio_high": round(high, 4),
                "write_percent": round(row["write_percent_p50"], 2),
            },
        }
        other = found.get(key)
        if other is None or candidate["evidence"]["read_ratio"] < other["evidence"]["read_ratio"]:
            found[key] = candidate
    return [found[key] for key in sorted(found)]


def _interval(row: dict[str, Any]) -> tuple[float, float]:
    """Interval of 95 % of the median read ratio, on a logarithmic scale, with a spread of at least 1 %."""
    quartiles = [max(float(row[f"read_ratio_{p}"]), 1e-9) for p in ("p25", "p75")]
    spread = max(0.01, (math.log(quartiles[1]) - math.log(quartiles[0])) / NORMAL_QUARTILES)
    reach = 1.96 * 1.2533 * spread / math.sqrt(row["devices"])
    centre = math.log(max(float(row["read_ratio_p50"]), 1e-9))
    return math.exp(centre - reach), math.exp(centre + reach)


def write(table: Table, emulated: bool, out: Path, key: Key, now: dt.datetime) -> int:
    """Writes `profiles.json` and `profiles.json.minisig`; gives the number of profiles."""
    profiles = best(table)
    document = {
        "kind": "fleet_profiles",
        "schema_version": FORMAT,
        "made": now.date().isoformat(),
        "emulated": emulated,
        "write_min_percent": WRITE_MIN_PERCENT,
        "devices_min": DEVICES_MIN,
        "profiles": profiles,
    }
    content = (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()
    comment = f"timestamp:{int(now.timestamp())}\tfile:profiles.json\thashed"
    with whole.folder(out) as staged:
        (staged / "profiles.json").write_bytes(content)
        (staged / "profiles.json.minisig").write_text(key.sign(content, comment), encoding="utf-8")
    return len(profiles)
