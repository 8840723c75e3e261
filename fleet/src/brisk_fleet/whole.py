"""Files that are whole or absent: written beside their place, flushed to the disk, and renamed.

A target that is no ordinary file (a pipe, a device, standard output) cannot be replaced: it is written to as it is.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from brisk_fleet.errors import FleetError

STDOUT = frozenset({"-", "/dev/stdout"})
"""Names of standard output. By a path it would be replaced where the shell has opened a file for it."""


class Target:
    """What a block of `replaced` writes to: its failures name the target. It tells its place, which writers of Parquet
    ask a pipe for."""

    closed = False

    def __init__(self, below: BinaryIO, name: Path) -> None:
        self._below, self._name, self._at = below, name, 0

    def write(self, data: bytes | memoryview) -> int:
        """Writes all of `data`."""
        with _named(self._name):
            self._below.write(data)
        size = memoryview(data).nbytes
        self._at += size
        return size

    def tell(self) -> int:
        """Gives the number of bytes written."""
        return self._at

    def flush(self) -> None:
        """Hands all that was written to the system."""
        with _named(self._name):
            self._below.flush()

    def close(self) -> None:
        """Does nothing: the block's end closes it."""


@contextmanager
def replaced(target: Path) -> Iterator[Target]:
    """Opens `target` for writing bytes; it is replaced only when the block ends without an exception.

    A link stays, and the file that it names is replaced. An existing file keeps its mode.

    Raises:
        FleetError: when it cannot be written.
    """
    with _named(target):
        if str(target) in STDOUT:
            yield Target(sys.stdout.buffer, target)
            sys.stdout.buffer.flush()
            return
        before = target.stat() if target.exists() else None
        if before is not None and stat.S_ISDIR(before.st_mode):
            raise FleetError(f"cannot write {target}: it is a folder; name a file in it")
        if before is not None and not stat.S_ISREG(before.st_mode):
            with target.open("wb") as file:
                yield Target(file, target)
            return
        # Of a link, also of one whose file is not there yet, the file is written.
        real = target.resolve()
        if before is not None and not os.access(real, os.W_OK):
            raise PermissionError(None, "the file may not be written")
        with _beside(real, stat.S_IMODE(before.st_mode) if before is not None else None) as file:
            yield Target(file, target)


@contextmanager
def _beside(real: Path, mode: int | None) -> Iterator[BinaryIO]:
    temporary = real.parent / f".brisk-fleet-{secrets.token_hex(8)}"
    # A signal may end the command at any place: also between two lines.
    try:
        # What is written so far is not for other users if the target is not.
        descriptor = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666 if mode is None else 0o600
        )
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        temporary.replace(real)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    flush(real.parent)


@contextmanager
def folder(target: Path) -> Iterator[Path]:
    """Gives an empty folder; when the block ends without an exception, its files replace those of `target`, which may
    have others.

    A target that does not exist comes to be in one step. In one that does, each file is replaced in one step, those in
    subfolders first.

    Raises:
        FleetError: when it cannot be written.
    """
    with _named(target):
        if target.exists() and not target.is_dir():
            raise FleetError(f"cannot write {target}: it is no folder")
        real = target.resolve()
        parent = next(parent for parent in (real, *real.parents) if parent.exists())
        # On the file system of the target, which a rename needs.
        staged = parent / f".brisk-fleet-{secrets.token_hex(8)}"
        try:
            staged.mkdir()
            yield staged
            files = [Path(below) / name for below, _, names in os.walk(staged, topdown=False) for name in names]
            for path in (*files, *{file.parent for file in files}):
                flush(path)
            if parent == real:
                for file in sorted(files, key=lambda file: -len(file.parts)):
                    place = real / file.relative_to(staged)
                    place.parent.mkdir(exist_ok=True)
                    file.replace(place)
                for path in {(real / file.relative_to(staged)).parent for file in files}:
                    flush(path)
            else:
                real.parent.mkdir(parents=True, exist_ok=True)
                staged.rename(real)
                flush(real.parent)
        finally:
            shutil.rmtree(staged, ignore_errors=True)


@contextmanager
def made(path: Path, mode: int) -> Iterator[BinaryIO]:
    """Opens a file that must not exist yet; it is removed again when the block ends by an exception.

    Raises:
        FileExistsError: when it exists.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def flush(path: Path) -> None:
    """Flushes a file or a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _named(target: Path) -> Iterator[None]:
    """Failures of the system as sentences that name the target."""
    try:
        yield
    except OSError as error:
        shown = "standard output" if str(target) in STDOUT else str(target)
        raise FleetError(f"cannot write {shown}: {error.strerror or error}") from error
