"""The table of submissions: Delta Lake, on a directory or on S3-compatible storage by URL.

What `append` and `delete` have returned from is durable: on a directory, the files of the commit and their folders are
flushed to the disk before. One process writes at a time (a lock on the directory); any number reads. A deletion
rewrites the files that hold the row and removes the old ones at once, and those of commits that failed, so that deleted
data is gone from the disk too. The id stays, as the name of an empty file in the folder `_deleted`.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq
from deltalake import DeltaTable, WriterProperties, write_deltalake
from deltalake.exceptions import DeltaError, TableNotFoundError

from brisk_fleet import columns
from brisk_fleet.errors import FleetError
from brisk_fleet.whole import flush

# Small files of single commits are joined once there are so many.
FILES_MAX = 200
_CHECKPOINT_COMMITS = 100
# Readers of such tables ignore names with this beginning.
_DELETED = "_deleted"
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
            raise FleetError(
                f"there is no table at {place}: 'brisk-fleet serve' or 'brisk-fleet ingest' makes one"
            ) from error
        except (DeltaError, OSError, ValueError) as error:
            raise FleetError(f"cannot open the table {place}: {_sentence(error)}") from error
        found = {field.name for field in self._delta.schema().fields}
        lacking = [name for name in columns.SCHEMA.names if name not in found]
        if lacking:
            raise FleetError(
                f"{place} is a table of something else: it has no column '{lacking[0]}'; name another with --table"
            )

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
        except (DeltaError, OSError, ValueError) as error:
            raise FleetError(f"cannot make a table at {place}: {_sentence(error)}") from error
        return cls(place)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Holds the lock of the only writer."""
        if self.local is None:
            yield
            return
        try:
            lock = (self.local / ".writer.lock").open("a+")
        except OSError as error:
            raise FleetError(f"cannot write to the table {self.place}: {error.strerror}") from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                lock.seek(0)
                holder = lock.read().strip() or "unknown"
                raise FleetError(
                    f"another process writes to {self.place} (process {holder}): stop it, or send to it"
                ) from error
            # The holder's name is a help in a message: a full disk takes no more than that.
            with contextlib.suppress(OSError):
                os.ftruncate(lock.fileno(), 0)
                os.write(lock.fileno(), f"{os.getpid()}\n".encode())
            with self.failures("write to"):
                self.refresh()
            yield

    @contextmanager
    def failures(self, act: str) -> Iterator[None]:
        """Turns failures of storage and its libraries into sentences: `act` is what was tried, such as `read`."""
        try:
            yield
        except (DeltaError, pa.ArrowException, OSError) as error:
            raise FleetError(f"cannot {act} the table {self.place}: {_sentence(error)}") from error
        except BaseException as error:
            # A panic of the Delta library, whose type it does not export; it is no Exception.
            if type(error).__name__ != "PanicException":
                raise
            raise FleetError(f"cannot {act} the table {self.place}: {_sentence(error)}") from error

    def refresh(self) -> None:
        """Sees what others have committed."""
        self._delta.update_incremental()

    def ids(self) -> set[bytes]:
        """Gives the ids of all submissions, as 32 bytes each."""
        column = self.dataset().to_table(columns=["id"]).column("id")
        return {bytes.fromhex(value) for chunk in column.chunks for value in chunk.to_pylist()}

    def deleted_ids(self) -> set[bytes]:
        """Gives the ids of all submissions that were deleted, as 32 bytes each."""
        found = self._files().get_file_info(pa_fs.FileSelector(_DELETED, allow_not_found=True))
        return {bytes.fromhex(file.base_name) for file in found if _is_id(file.base_name)}

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
        if not _is_id(submission_id):
            raise FleetError(f"'{submission_id[:80]}' is no id of a submission")
        # First: a deletion that is cut short is repeated, and one that is done stays.
        self._files().create_dir(_DELETED)
        self._files().open_output_stream(f"{_DELETED}/{submission_id}").close()
        if self.local is not None:
            flush(self.local / _DELETED)
        before = self._delta.version()
        self._delta.delete(f"id = '{submission_id}'", writer_properties=_PARQUET)
        self._flush(before)
        self._vacuum()

    def compact(self) -> tuple[int, int]:
        """Joins small files and removes what no version needs; gives the numbers of files before and after.

        What failed commits have left, as on a full disk, goes first: its space may be what is missing.
        """
        self._vacuum()
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
        return self._delta.to_pyarrow_dataset(filesystem=self._files() if self.local else None)

    def _files(self) -> pa_fs.FileSystem:
        """The file system whose root is the table."""
        if self.local is None:
            return self._delta.to_pyarrow_dataset().filesystem
        # The library's own file system is Python's: threads that still read when the interpreter ends would wait for
        # it, or abort.
        return pa_fs.SubTreeFileSystem(str(self.local.absolute()), pa_fs.LocalFileSystem())

    def batches(self, names: list[str], rows: ds.Expression | None = None) -> Iterator[pa.RecordBatch]:
        """Gives columns of the current version, of all rows or of those that `rows` selects by these columns.

        Memory does not grow with the table. All is read by the caller's thread: none reads ahead, or is left when the
        caller stops.
        """
        dataset = self.dataset()
        for file in dataset.files:
            with dataset.filesystem.open_input_file(file) as source:
                for batch in pq.ParquetFile(source).iter_batches(1 << 15, columns=names, use_threads=False):
                    table = pa.Table.from_batches([batch]).select(names)
                    yield from (table if rows is None else table.filter(rows)).to_batches()

    def _vacuum(self) -> None:
        """Removes the files of data that the current version does not need."""
        if self.local is None:
            self._delta.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False, full=True)
            return
        # The library compares times of its log with the clock, and keeps all that a clock that went back calls newer
        # than now.
        needed = {Path(action).name for action in self._delta.file_uris()}
        for file in self.local.glob("part-*.parquet"):
            if file.name not in needed:
                file.unlink(missing_ok=True)
        flush(self.local)

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
                    flush(self.local / added["path"])
            flush(entry)
        flush(self.local)
        flush(log)


def _is_id(text: str) -> bool:
    return len(text) == 64 and set(text) <= set("0123456789abcdef")


def _sentence(error: BaseException) -> str:
    """What a library says, without the stack that it may add."""
    said = itertools.takewhile(lambda line: not re.match(r"\s*0: ", line), str(error).splitlines())
    return " ".join(" ".join(said).split())[:600]
