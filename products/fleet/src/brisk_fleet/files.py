"""`brisk-fleet ingest` and `export`: submissions from files, and the table as a file."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq

from brisk_fleet import columns, submission
from brisk_fleet.errors import FleetError
from brisk_fleet.table import Table

_BATCH = 2000


@dataclass
class Ingested:
    """What came of files: `refused` has a sentence for each file that is no submission."""

    stored: int
    known: int
    refused: list[str]


def ingest(table: Table, folder: Path, today: dt.date) -> Ingested:
    """Stores each `*.json` (an envelope) and each line of `*.jsonl` below `folder`."""
    found = Ingested(0, 0, [])
    with table.writing():
        known = table.ids()
        batch: dict[bytes, submission.Accepted] = {}

        def commit() -> None:
            if batch:
                table.append([submission.row(accepted, today) for accepted in batch.values()])
                known.update(batch)
                found.stored += len(batch)
                batch.clear()

        for name, body in _bodies(folder):
            try:
                accepted = submission.check(body)
            except submission.InvalidError as error:
                found.refused.append(f"{name}: {error}")
                continue
            key = bytes.fromhex(accepted.id)
            if key in known or key in batch:
                found.known += 1
                continue
            batch[key] = accepted
            if len(batch) >= _BATCH:
                commit()
        commit()
    return found


def _bodies(folder: Path) -> Iterator[tuple[str, bytes]]:
    if not folder.is_dir():
        raise FleetError(f"{folder} is no folder")
    for path in sorted(folder.rglob("*")):
        try:
            if path.suffix == ".json":
                with path.open("rb") as file:
                    # One byte more than is accepted: a huge file is not read whole.
                    yield str(path), file.read(submission.BODY_BYTES_MAX + 1)
            elif path.suffix == ".jsonl":
                with path.open("rb") as file:
                    for number, line in enumerate(file, 1):
                        yield f"{path}:{number}", line
        except OSError as error:
            raise FleetError(f"cannot read {path}: {error.strerror}") from error


def export(table: Table, out: Path) -> int:
    """Writes the published columns as Parquet, or all submissions as JSON lines, by the name's ending; gives the number."""
    count = 0
    try:
        if out.suffix == ".parquet":
            count = write_public(table, out)
        elif out.suffix == ".jsonl":
            with out.open("w", encoding="utf-8") as file:
                for batch in table.dataset().to_batches(columns=["id", "deletion_key_sha256", "document"]):
                    for row in batch.to_pylist():
                        envelope = {key: row[key] for key in ("id", "deletion_key_sha256")}
                        envelope["submission"] = submission.document(row["document"])
                        file.write(json.dumps(envelope, separators=(",", ":")) + "\n")
                        count += 1
        else:
            raise FleetError(f"{out}: a name ends in .parquet (for analysis) or .jsonl (to ingest again)")
    except OSError as error:
        raise FleetError(f"cannot write {out}: {error.strerror}") from error
    return count


def write_public(table: Table, out: Path, rows: ds.Expression | None = None) -> int:
    """Writes the published columns as Parquet, of all submissions or of those that `rows` selects; gives the number.

    Memory does not grow with the table: one group of rows is read after the other.
    """
    names = [column.name for column in columns.PUBLIC]
    schema = columns.SCHEMA.empty_table().select(names).schema
    count = 0
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        scanner = table.dataset().scanner(columns=names, filter=rows, batch_readahead=1, fragment_readahead=1)
        for batch in scanner.to_batches():
            if batch.num_rows:
                writer.write_batch(batch.cast(schema))
                count += batch.num_rows
    return count
