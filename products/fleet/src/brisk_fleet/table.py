"""The table of submissions: Delta Lake, on a directory or on S3-compatible storage by URL.

What `append` and `delete` have returned from is durable: on a directory, the files of the commit and their folders are flushed to the
disk before. One process writes at a time (a lock on the directory); any number reads. A deletion rewrites the files that hold the row
and removes the old ones at once, so that deleted data is gone from the disk too.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable, WriterProperties, write_deltalake
from deltalake.exceptions import DeltaError, TableNotFoundError

from brisk_fleet import columns
from brisk_fleet.errors import FleetError

# Small files of single commits are joined once there are so many.
FILES_MAX = 200
_CHECKPOINT_COMMITS = 100
# Readers decode a group of rows at once: the library's own million rows would be gigabytes, most of it documents.
_PARQUET = WriterProperties(max_row_group_size=1 << 15, compression="SNAPPY")


class Table:
    """The table at a directory or URL."""

    def __init__(self, place: str) -> None:
        """Opens the table, without a change to it."""
        self.place = place
        self.local = None if "://" in place else Path(place)
        try:
            self._delta = DeltaTable(place)
        except TableNotFoundError as error:
            raise FleetError(f"there is no table at {place}: 'brisk-fleet serve' or 'brisk-fleet ingest' makes one") from error
        except (DeltaError, OSError) as error:
            raise FleetError(f"cannot open the table {place}: {error}") from error

    @classmethod
    def create(cls, place: str) -> Table:
        """Opens the table, and makes it where there is none."""
        try:
            if "://" not in place:
                Path(place).mkdir(parents=True, exist_ok=True)
            DeltaTable.create(
                place,
                columns.SCHEMA,
                mode="ignore",
                name="submissions",
                configuration={
                    # Statistics of the first column, the id, alone: others would double the log.
                    "delta.dataSkippingNumIndexedCols": "1",
                    "delta.checkpointInterval": str(_CHECKPOINT_COMMITS),
                    "delta.logRetentionDuration": "interval 1 days",
                },
            )
        except (DeltaError, OSError) as error:
            raise FleetError(f"cannot make a table at {place}: {error}") from error
        return cls(place)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Holds the lock of the only writer."""
        if self.local is None:
            yield
            return
        with (self.local / ".writer.lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                lock.seek(0)
                holder = lock.read().strip() or "unknown"
                raise FleetError(f"another process writes to {self.place} (process {holder}): stop it, or send to it") from error
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
            self._delta.update_incremental()
            yield

    def refresh(self) -> None:
        """Sees what others have committed."""
        self._delta.update_incremental()

    def ids(self) -> set[bytes]:
        """Gives the ids of all submissions, as 32 bytes each."""
        column = self.dataset().to_table(columns=["id"]).column("id")
        return {bytes.fromhex(value) for chunk in column.chunks for value in chunk.to_pylist()}

    def append(self, rows: Sequence[dict[str, Any]]) -> None:
        """Adds rows in one commit; they are durable when it returns."""
        batch = pa.Table.from_pylist(list(rows), schema=columns.SCHEMA)
        self.append_batch(batch)

    def append_batch(self, batch: pa.Table | pa.RecordBatchReader) -> None:
        """Adds rows of the table's schema in one commit; they are durable when it returns."""
        before = self._delta.version()
        write_deltalake(self._delta, batch, mode="append", writer_properties=_PARQUET)
        self._flush(before)

    def deletion_key(self, submission_id: str) -> str | None:
        """Gives the digest of the secret of a submission; none where there is no such submission."""
        filter_ = ds.field("id") == submission_id
        found = self.dataset().to_table(columns=["deletion_key_sha256"], filter=filter_).column(0).to_pylist()
        return found[0] if found else None

    def delete(self, submission_id: str) -> None:
        """Removes a submission from the table and from the disk."""
        if not (len(submission_id) == 64 and set(submission_id) <= set("0123456789abcdef")):
            raise FleetError(f"'{submission_id[:80]}' is no id of a submission")
        before = self._delta.version()
        self._delta.delete(f"id = '{submission_id}'", writer_properties=_PARQUET)
        self._flush(before)
        self._vacuum()

    def compact(self) -> tuple[int, int]:
        """Joins small files and removes what no version needs; gives the numbers of files before and after."""
        before, files = self._delta.version(), len(self._delta.file_uris())
        self._delta.optimize.compact(writer_properties=_PARQUET)
        self._flush(before)
        self._vacuum()
        self._delta.create_checkpoint()
        self._delta.cleanup_metadata()
        return files, len(self._delta.file_uris())

    def file_count(self) -> int:
        """Gives the number of files of the current version."""
        return len(self._delta.file_uris())

    def files(self) -> list[str]:
        """Gives the Parquet files of the current version."""
        return sorted(self._delta.file_uris())

    def dataset(self) -> Any:
        """Gives the current version as an Arrow dataset."""
        return self._delta.to_pyarrow_dataset()

    def _vacuum(self) -> None:
        self._delta.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)

    def _flush(self, before: int) -> None:
        """Flushes the files of the commits since version `before`: data first, then the log, then the folders."""
        if self.local is None:
            return
        log = self.local / "_delta_log"
        for version in range(before + 1, self._delta.version() + 1):
            entry = log / f"{version:020}.json"
            for line in entry.read_text(encoding="utf-8").splitlines():
                added = json.loads(line).get("add")
                if added:
                    _fsync(self.local / added["path"])
            _fsync(entry)
        _fsync(self.local)
        _fsync(log)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
