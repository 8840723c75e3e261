"""`brisk-fleet ingest` and `export`: submissions from files, and the table as a file."""

from __future__ import annotations

import datetime as dt
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq

from brisk_fleet import columns, reading, submission, whole
from brisk_fleet.errors import FleetError
from brisk_fleet.table import Table

_BATCH = 2000
FORMATS = ("parquet", "jsonl")


@dataclass
class Ingested:
    """What came of files: submissions stored and known already, entries refused and skipped."""

    stored: int = 0
    known: int = 0
    refused: int = 0
    skipped: int = 0


Told = Callable[[reading.Refused | reading.Skipped], None]


def ingest(place: str, paths: list[Path], today: dt.date, tell: Told) -> Ingested:
    """Stores the submissions of `paths` (`reading`) in the table at `place`; calls `tell` for each entry that is
    refused or skipped.

    What was stored before a failure stays; the same files can be given again.

    Raises:
        FleetError: when none of `paths` is there, or the table cannot be written.
    """
    for path in paths:
        if str(path) in reading.STDIN or path.exists() or path.is_symlink():
            break
    else:
        raise FleetError(f"cannot read {', '.join(reading.shown(path) for path in paths[:3])}: no such file or folder")
    table = Table.create(place)
    got = Ingested()
    with table.writing(), table.failures("write to"):
        with table.failures("read"):
            known, deleted = table.ids(), table.deleted_ids()
        batch: dict[bytes, submission.Accepted] = {}

        def commit() -> None:
            if batch:
                table.append([submission.row(accepted, today) for accepted in batch.values()])
                known.update(batch)
                got.stored += len(batch)
                batch.clear()

        for item in reading.found(paths):
            if isinstance(item, reading.Document):
                try:
                    accepted = submission.check(item.body, is_exported=True)
                    key = bytes.fromhex(accepted.id)
                    if key in deleted and key not in known:
                        raise submission.DeletedError
                except submission.DeletedError as error:
                    item = reading.Skipped(item.place, str(error))
                except submission.InvalidError as error:
                    item = reading.Refused(item.place, str(error))
                else:
                    if key in known or key in batch:
                        got.known += 1
                    else:
                        batch[key] = accepted
                    if len(batch) >= _BATCH:
                        commit()
                    continue
            if isinstance(item, reading.Refused):
                got.refused += 1
            else:
                got.skipped += 1
            tell(item)
        commit()
    return got


def export(table: Table, out: Path, form: str | None) -> int:
    """Writes the published columns as Parquet, or all submissions as JSON lines; gives their number. `form`: the ending
    of the name.

    Raises:
        FleetError: when the file cannot be written, which then is as it was before, or the table cannot be read.
    """
    form = form or out.suffix.removeprefix(".")
    if form not in FORMATS:
        raise FleetError(
            f"{out}: a name ends in .parquet (for analysis) or .jsonl (to ingest again), or --format says which"
        )
    count = 0
    with whole.replaced(out) as file, table.failures("read"):
        if form == "parquet":
            return write_public(table, file)
        for batch in table.batches(["id", "flags", "deletion_key_sha256", "document"]):
            for row in batch.to_pylist():
                envelope = {key: row[key] for key in ("id", "deletion_key_sha256")}
                if submission.SAME_NETWORK in row["flags"]:
                    envelope[submission.SAME_NETWORK] = True
                try:
                    envelope["submission"] = submission.document(row["document"])
                except (zlib.error, ValueError) as error:
                    raise FleetError(
                        f"cannot read the table {table.place}: the submission {row['id']} is damaged"
                    ) from error
                file.write((json.dumps(envelope, separators=(",", ":")) + "\n").encode())
                count += 1
    return count


def write_public(table: Table, file: whole.Target, rows: ds.Expression | None = None) -> int:
    """Writes the published columns as Parquet, of all submissions or of those that `rows` selects; gives the number."""
    names = [column.name for column in columns.PUBLIC]
    schema = columns.SCHEMA.empty_table().select(names).schema
    count = 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in table.batches(names, rows):
            if batch.num_rows:
                writer.write_batch(batch.cast(schema))
                count += batch.num_rows
    return count
