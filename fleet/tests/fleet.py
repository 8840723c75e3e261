"""Made-up submissions for tests: log-normal devices around a model, or what a caller sets. Emulated, as they are."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from brisk_fleet import submission
from brisk_fleet.submission import Accepted

SAMPLES = Path(__file__).parent / "samples.jsonl"
LOADS = [
    ("sequential", "read", 60e6),
    ("sequential", "write", 22e6),
    ("random", "read", 22e6),
    ("random", "write", 10e6),
]


def samples() -> list[dict[str, Any]]:
    """An envelope of each kind, as the device's side makes them."""
    return [json.loads(line) for line in SAMPLES.read_text(encoding="utf-8").splitlines()]


def spread(value: float) -> dict[str, Any]:
    return {"count": 3, "median": sig(value), "low": sig(value * 0.97), "high": sig(value * 1.03)}


def sig(value: float) -> float:
    return float(f"{value:.3e}")


def bench(factor: float, warnings: tuple[str, ...] = ()) -> dict[str, Any]:
    jobs = [
        {
            "pattern": pattern,
            "direction": direction,
            "block_bytes": 4096,
            "depth_requests": depth,
            "bandwidth_bytes_per_s": spread(rate * factor * (1.5 if depth > 1 else 1.0)),
            "latency_us_p50": sig(depth * 4096e6 / (rate * factor)),
            "latency_us_p95": sig(depth * 1.4 * 4096e6 / (rate * factor)),
            "latency_us_p99": sig(depth * 2.0 * 4096e6 / (rate * factor)),
            "iowait_percent": 41.0,
        }
        for depth in (1, 8)
        for pattern, direction, rate in LOADS
    ]
    return {
        "kind": "bench",
        "budget": "model",
        "cache": "direct",
        "warnings": list(warnings),
        "jobs": jobs,
        "syncs": [],
    }


def slowdown(factor: float) -> dict[str, Any]:
    rows = [
        {
            "pattern": pattern,
            "streams": streams,
            "read_alone_us": spread(72.0),
            "write_alone_us": spread(190.0),
            "read_slowdown": spread(6.15 * factor * streams),
            "write_slowdown": spread(1.13 * streams),
        }
        for pattern in ("sequential", "random")
        for streams in (1, 4)
    ]
    return {"kind": "slowdown", "warnings": [], "block_bytes": 4096, "rows": rows}


def concurrency(factor: float) -> dict[str, Any]:
    points = [
        {
            "pattern": pattern,
            "direction": direction,
            "streams": streams,
            "speedup": spread(factor * (1.0 + 0.5 * (streams == 4))),
        }
        for pattern, direction, _ in LOADS
        for streams in (2, 4, 8)
    ]
    return {"kind": "concurrency", "warnings": [], "block_bytes": 4096, "points": points}


def frontier(ratio: float) -> dict[str, Any]:
    found = {
        "scheduler": "mq-deadline",
        "settings": {},
        "priorities": False,
        "read_ratio": 1.0,
        "write_percent": 100.0,
        "trials": 5,
    }
    best = found | {
        "settings": {"nr_requests": "4", "scheduler": "mq-deadline"},
        "read_ratio": sig(ratio),
        "write_percent": 95.0,
    }
    return {
        "kind": "frontier",
        "warnings": [],
        "write_min_percent": 90.0,
        "points": [found | {"chosen": False}, best | {"chosen": True}],
    }


def envelope(
    results: list[dict[str, Any]], model: str = "X1", secret: str = "secret", **storage: Any
) -> dict[str, Any]:
    inner = {
        "schema_version": 1,
        "day": "2026-10-05",
        "brisk_version": "0.1",
        "machine": {"model": model, "kernel": "6.12", "architecture": "aarch64", "cpus": 4},
        "storage": {"model": "BGND3R", "kind": "emmc", "size_gib": 16, "emulated": True} | storage,
        "results": results,
    }
    return {
        "id": submission.identity(inner),
        "deletion_key_sha256": hashlib.sha256(secret.encode()).hexdigest(),
        "submission": inner,
    }


def body(one: dict[str, Any]) -> bytes:
    return json.dumps(one).encode()


def accepted(one: dict[str, Any]) -> Accepted:
    return submission.check(body(one))


def devices(
    model: str, count: int, centre: float, seed: int, sigma: float = 0.1, **storage: Any
) -> list[dict[str, Any]]:
    """Envelopes of devices whose speed is log-normal around `centre` times the sample's."""
    random = np.random.default_rng(seed)
    factors = centre * np.exp(sigma * random.standard_normal(count))
    return [
        envelope([bench(factor), slowdown(factor), concurrency(factor)], model, **storage)
        for factor in factors.tolist()
    ]
