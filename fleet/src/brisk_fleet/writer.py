"""The only writer of the server: takes accepted submissions from many requests, and commits those that wait together
(group commit).

A submission is acknowledged only when the commit that has it is on the disk. What is known already is not written
again.
"""

from __future__ import annotations

import datetime as dt
import hmac
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from brisk_fleet import submission
from brisk_fleet.errors import FleetError
from brisk_fleet.limits import Network, Votes
from brisk_fleet.table import FILES_MAX, Table

_BATCH_MAX = 1000


@dataclass(eq=False)
class _Add:
    accepted: submission.Accepted
    address: str | None
    done: Future[bool]


@dataclass
class _Delete:
    id: str
    digest: str
    done: Future[Deletion]


class Deletion(Enum):
    """What came of a deletion."""

    DONE = "deleted"
    FORBIDDEN = "the secret is another submission's"
    MISSING = "there is no such submission"


class Writer(threading.Thread):
    """Owns the table while the server runs."""

    def __init__(self, table: Table, today: Callable[[], dt.date], own: Sequence[Network] = ()) -> None:
        super().__init__(name="writer", daemon=True)
        self._table = table
        self._today = today
        self._queue: queue.Queue[_Add | _Delete | None] = queue.Queue(maxsize=10_000)
        self._known, self._deleted = table.ids(), table.deleted_ids()
        self._votes = Votes(own)
        self.failure: str | None = None
        self.files = table.file_count()
        self.commits = 0
        self.commit_s = 0.0

    @property
    def count(self) -> int:
        """Submissions in the table."""
        return len(self._known)

    def add(self, accepted: submission.Accepted, address: str | None = None) -> Future[bool]:
        """Asks to store what came from `address`, whose network has one vote a day; the future gives whether it is new.
        Raises `queue.Full` when too many wait."""
        done: Future[bool] = Future()
        self._queue.put_nowait(_Add(accepted, address, done))
        return done

    def delete(self, submission_id: str, digest: str) -> Future[Deletion]:
        """Asks to delete the submission whose deletion key has this digest. Raises `queue.Full` when too many wait."""
        done: Future[Deletion] = Future()
        self._queue.put_nowait(_Delete(submission_id, digest, done))
        return done

    def stop(self) -> None:
        """Ends the thread once all that waits is stored."""
        self._queue.put(None)
        self.join()

    def run(self) -> None:
        """Commits until it is stopped."""
        stopped = False
        while not stopped:
            first = self._queue.get()
            batch: list[_Add] = []
            task: _Add | _Delete | None = first
            while True:
                if task is None:
                    stopped = True
                    break
                if isinstance(task, _Delete):
                    self._commit(batch)
                    batch = []
                    self._remove(task)
                else:
                    batch.append(task)
                if len(batch) >= _BATCH_MAX:
                    break
                try:
                    task = self._queue.get_nowait()
                except queue.Empty:
                    break
            self._commit(batch)
            self._tidy()

    def _commit(self, batch: list[_Add]) -> None:
        new: dict[bytes, _Add] = {}
        for task in list(batch):
            key = bytes.fromhex(task.accepted.id)
            if key in self._known:
                continue
            if key in self._deleted:
                task.done.set_exception(submission.DeletedError())
                batch.remove(task)
            else:
                new.setdefault(key, task)
        rows = []
        voters: set[bytes] = set()
        today = self._today()
        for key, task in list(new.items()):
            accepted = task.accepted
            voter = None if task.address is None else self._votes.voter(task.address, today)
            if voter is not None and (voter in voters or self._votes.has_voted(voter)):
                accepted = replace(accepted, has_vote=False)
            try:
                row = submission.row(accepted, today)
                rows.append(row)
                # What its own warnings exclude has no vote, and takes none.
                if voter is not None and not row["excluded"]:
                    voters.add(voter)
            except Exception as error:  # of one submission, so that the others of the batch are stored
                del new[key]
                refused = submission.InvalidError("no row of the table can be made of it")
                refused.__cause__ = error
                for same in [other for other in batch if other.accepted.id == task.accepted.id]:
                    same.done.set_exception(refused)
                    batch.remove(same)
        if new:
            begun = time.monotonic()
            failure = self._tried(lambda: self._table.append(rows))
            if failure is not None:
                for task in batch:
                    task.done.set_exception(failure)
                return
            self.commits += 1
            self.commit_s += time.monotonic() - begun
            self._known.update(new)
            self._votes.count(voters)
        for task in batch:
            task.done.set_result(new.get(bytes.fromhex(task.accepted.id)) is task)

    def _remove(self, task: _Delete) -> None:
        key = bytes.fromhex(task.id)
        if key not in self._known:
            task.done.set_result(Deletion.MISSING)
            return

        def act() -> None:
            digest = self._table.deletion_key(task.id)
            if digest is None or not hmac.compare_digest(digest, task.digest):
                task.done.set_result(Deletion.FORBIDDEN)
                return
            self._table.delete(task.id)
            self._known.discard(key)
            self._deleted.add(key)
            self.files = self._table.file_count()
            task.done.set_result(Deletion.DONE)

        failure = self._tried(act)
        if failure is not None:
            task.done.set_exception(failure)

    def _tidy(self) -> None:
        self.files = self._table.file_count()
        if self.files > FILES_MAX:
            self._tried(self._table.compact)

    def _tried(self, act: Callable[[], Any]) -> Exception | None:
        """Acts; after a failure, what is known is read from the table again, since the commit may have come to be."""
        try:
            act()
        # Any failure of storage is the requests' to tell: also a panic of the Delta library, which is no Exception.
        except BaseException as error:
            self.failure = f"{type(error).__name__}: {error}"
            try:
                self._table.refresh()
                self._known, self._deleted = self._table.ids(), self._table.deleted_ids()
            except BaseException as again:
                self.failure = f"{type(again).__name__}: {again}"
            return error if isinstance(error, Exception) else FleetError(self.failure)
        self.failure = None
        return None
