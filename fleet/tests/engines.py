"""The twelve questions of the site on tables of many rows: time, memory, and whether two engines agree.

    python tests/engines.py make PLACE ROWS        # a table of made-up rows
    python tests/engines.py ask PLACE ENGINE OUT   # asks, in a process of its own; OUT/ENGINE.json has time and memory

Made-up rows have what statistics read: log-normal figures with four digits of 300 models in four classes, a tenth of
them without a kind of result, a twentieth with settings. The column of the original document, which no question reads,
is empty.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from brisk_fleet import columns, queries
from brisk_fleet.table import Table

BATCH_ROWS = 100_000
MODELS = 300
CLASSES = ("emmc", "sd", "ufs", "nvme")


def questions(usable: Any, whole: Any) -> dict[str, Any]:
    """The twelve questions of the site."""
    loads = [f"{pattern}_{direction}" for pattern, direction in columns.LOADS]
    return {
        "counts": queries.counts(whole),
        "by_class": queries.by_class(usable),
        "by_month": queries.by_month(usable),
        "kernels": queries.kernels(usable),
        "distribution": queries.distribution(usable, "random_read_us_p50"),
        "slowdown": queries.medians_by_class(
            usable, [f"{load}_slowdown_{n}_ratio" for load in loads for n in columns.SLOWDOWN_STREAMS]
        ),
        "asymmetry": queries.asymmetry(usable),
        "models": queries.models(usable, "total_bytes_per_s"),
        "facts": queries.facts(usable),
        "settings": queries.settings(usable),
        "proofs": queries.proofs(usable),
        "flags": queries.flags(whole),
    }


def differences(left: pd.DataFrame, right: pd.DataFrame) -> list[str]:
    """Columns in which two answers differ, floating point aside; the order of rows is that of their texts and whole
    numbers."""
    if list(left.columns) != list(right.columns) or len(left) != len(right):
        return [f"{len(left)} rows of {list(left.columns)}, and {len(right)} of {list(right.columns)}"]
    keys = [name for name in left.columns if left[name].dtype.kind != "f"]
    frames = [frame.sort_values(keys).reset_index(drop=True) if keys else frame for frame in (left, right)]
    found = []
    for name in left.columns:
        a, b = (frame[name].to_numpy() for frame in frames)
        same = (
            np.allclose(a, b.astype(float), rtol=1e-9, equal_nan=True)
            if a.dtype.kind == "f"
            else a.tolist() == b.tolist()
        )
        if not same:
            found.append(name)
    return found


def _four_digits(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    scale = 10.0 ** (np.floor(np.log10(values)) - 3)
    rounded: npt.NDArray[np.float64] = np.round(values / scale) * scale
    return rounded


def _texts(indices: npt.NDArray[np.int64], words: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(indices.astype(np.int32)), pa.array(words)).cast(pa.string())


def _settings(random: np.random.Generator, rows: int) -> pa.Array:
    """Points of frontiers: three for a twentieth of the rows."""
    has = random.random(rows) < 0.05
    offsets = np.concatenate([[0], np.cumsum(has * 3)]).astype(np.int32)
    points = int(offsets[-1])
    depths = random.integers(0, 3, points)
    fields = [
        _texts(np.zeros(points, dtype=np.int64), ["mq-deadline"]),
        _texts(depths, [f'{{"nr_requests":"{depth}","scheduler":"mq-deadline"}}' for depth in (4, 8, 16)]),
        pa.array(depths == 0),
        pa.array(_four_digits(0.4 * (1 + depths) * np.exp(0.1 * random.standard_normal(points)))),
        pa.array(_four_digits(95.0 * np.exp(0.02 * random.standard_normal(points)))),
        pa.array(np.full(points, 5, dtype=np.int32)),
        pa.array(depths == 0),
    ]
    struct = pa.StructArray.from_arrays(fields, fields=list(columns.SETTING))
    return pa.ListArray.from_arrays(pa.array(offsets), struct)


def batch(seed: int, first: int, rows: int) -> pa.RecordBatch:
    """Made-up rows of the table's schema."""
    random = np.random.default_rng([seed, first])
    model = random.integers(0, MODELS, rows)
    model_class = model % len(CLASSES)
    centre = np.exp(0.5 * np.random.default_rng(seed).standard_normal(MODELS))[model]
    flagged = random.random(rows) < 0.02
    flags = pa.ListArray.from_arrays(
        pa.array(np.concatenate([[0], np.cumsum(flagged)]).astype(np.int32)),
        _texts(random.integers(0, 2, int(flagged.sum())), ["few_repeats", "cpu_pressure"]),
    )
    excluded = np.array([value == ["cpu_pressure"] for value in flags.to_pylist()])
    names = [f"Maker M{number}" for number in range(MODELS)]
    days = np.datetime64("2026-01-01") + random.integers(0, 365, rows)
    facts: dict[str, pa.Array] = {
        "id": pa.array([f"{first + number:064x}" for number in range(rows)]),
        "day": pa.array(days.astype("datetime64[D]")),
        "received": pa.array(days.astype("datetime64[D]")),
        "model": _texts(model, names),
        "machine_model": _texts(model, names),
        "storage_model": _texts(model, [f"S{number // 3}" for number in range(MODELS)]),
        "firmware": _texts(random.integers(0, 3, rows), ["0100", "0200", "0300"]),
        "device_class": _texts(model_class, list(CLASSES)),
        "emulated": pa.array(np.zeros(rows, dtype=bool)),
        "size_gib": pa.array((1 << random.integers(4, 9, rows)).astype(np.int32)),
        "kernel": _texts(random.integers(0, 12, rows), [f"6.{minor}" for minor in range(1, 13)]),
        "architecture": _texts(np.zeros(rows, dtype=np.int64), ["aarch64"]),
        "cpus": pa.array(np.full(rows, 8, dtype=np.int32)),
        "brisk_version": _texts(np.zeros(rows, dtype=np.int64), ["0.1"]),
        "flags": flags,
        "excluded": pa.array(excluded),
        "settings": _settings(random, rows),
        "deletion_key_sha256": pa.array(["0" * 64] * rows),
        "document": pa.array([b""] * rows, pa.large_binary()),
    }
    measures = {}
    for column in columns.MEASURES:
        scale = 2e7 if column.name.endswith("_bytes_per_s") else 2.0 if column.name.endswith("_ratio") else 300.0
        values = _four_digits(scale * centre * np.exp(0.15 * random.standard_normal(rows)))
        measures[column.name] = pa.array(values, mask=random.random(rows) < 0.1)
    all_columns = facts | measures
    return pa.record_batch(
        [all_columns[field.name].cast(field.type) for field in columns.SCHEMA], schema=columns.SCHEMA
    )


def make(place: Path, rows: int, seed: int = 1) -> None:
    """Makes a table of `rows` rows."""
    table = Table.create(str(place))

    def batches() -> Iterator[pa.RecordBatch]:
        for first in range(0, rows, BATCH_ROWS):
            yield batch(seed, first, min(BATCH_ROWS, rows - first))

    reader = pa.RecordBatchReader.from_batches(columns.SCHEMA, batches())
    with table.writing():
        table.append_batch(reader)


def _peak_bytes() -> int:
    """Most memory of this process and of those that it started."""
    own = Path("/proc/self")
    children = [child for task in own.glob("task/*/children") for child in task.read_text().split()]
    total = 0
    for process in (own, *(Path("/proc") / child for child in children)):
        text = (process / "status").read_text(encoding="utf-8")
        total += next((int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("VmHWM:")), 0)
    return total


def ask(place: str, engine: str, out: Path) -> None:
    """Asks all questions; writes answers, and time and memory."""
    begun = time.monotonic()
    backend = queries.connect(engine)
    whole = queries.whole(backend, Table(place))
    usable = queries.usable(whole, False)
    took: dict[str, float] = {"start": time.monotonic() - begun}
    answers = {}
    for name, question in questions(usable, whole).items():
        begun = time.monotonic()
        answers[name] = question.to_pandas()
        took[name] = time.monotonic() - begun
    out.mkdir(parents=True, exist_ok=True)
    figures = {"engine": engine, "seconds": took, "total_s": sum(took.values()), "peak_bytes": _peak_bytes()}
    (out / f"{engine}.json").write_text(json.dumps(figures), encoding="utf-8")
    (out / f"{engine}.pickle").write_bytes(pickle.dumps(answers))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]), int(float(sys.argv[3])))
    else:
        ask(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
