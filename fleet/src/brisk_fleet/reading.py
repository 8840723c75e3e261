"""Submissions of files and folders: finds the files, and the documents in them. What cannot be read is named; the rest
is given.

A folder is searched whole, linked folders once, for files that end as `SUFFIXES`, also with `.gz`; a file that is named
itself may have any name. The content decides: compressed or not; one document, several one after the other, an array,
or lines of them (`.jsonl` and `.ndjson`: each line for itself, so that a damaged one takes no other with it).

Only ordinary files are opened: a pipe would wait for its writer. Those that the caller names are read, and `-` is
standard input.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from brisk_fleet.submission import BODY_BYTES_MAX

SUFFIXES: Final = (".json", ".jsonl", ".ndjson")
_LINES: Final = (".jsonl", ".ndjson")
STDIN: Final = frozenset({"-", "/dev/stdin"})
# A line that goes on for longer is given up, with the rest of its file.
_LINE_BYTES_MAX: Final = 64 << 20
# So many lines that no document begins with: the file is of something else.
_STRANGE_MAX: Final = 10
_UNREAD: Final = "; the rest of the file is not read"
_GZIP: Final = b"\x1f\x8b"
_BOM: Final = b"\xef\xbb\xbf"
_MARKS: Final = re.compile(rb'["{}\[\]]')
_STRING: Final = re.compile(rb'(?:[^"\\]|\\.)*"', re.DOTALL)


@dataclass(frozen=True)
class Document:
    """Bytes that should be a submission, and where they were found."""

    place: str
    body: bytes


@dataclass(frozen=True)
class Refused:
    """What is no submission or cannot be read, and why."""

    place: str
    why: str


@dataclass(frozen=True)
class Skipped:
    """What is left out on purpose, and why."""

    place: str
    why: str


Found = Document | Refused | Skipped


def found(paths: list[Path]) -> Iterator[Found]:
    """Gives what is in `paths`, folders in the order of their names."""
    for path in paths:
        if str(path) in STDIN:
            if sys.stdin is None:
                yield Refused("standard input", "it is closed")
            else:
                yield from _documents("standard input", sys.stdin.buffer, is_lines=False, may_be_empty=True)
            continue
        try:
            kind = path.stat().st_mode
        except OSError as error:
            yield Refused(shown(path), _why(error))
            continue
        if stat.S_ISDIR(kind):
            yield from _folder(path, set())
        else:
            yield from _file(path, is_named=True)


def shown(path: Path | str) -> str:
    """Gives a name as one line of text, whatever its bytes."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _folder(folder: Path, seen: set[tuple[int, int]]) -> Iterator[Found]:
    try:
        own = folder.stat()
        # A link may lead back to where it is.
        if (own.st_dev, own.st_ino) in seen:
            return
        seen.add((own.st_dev, own.st_ino))
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
    except OSError as error:
        yield Refused(shown(folder), _why(error))
        return
    if "_delta_log" in names:
        yield Skipped(shown(folder), "it is a table: 'brisk-fleet export' makes a file of it")
        return
    for name in names:
        path = folder / name
        try:
            kind = path.stat().st_mode
        except OSError as error:
            if _is_wanted(name):
                yield Refused(shown(path), _why(error))
            continue
        if stat.S_ISDIR(kind):
            if _is_wanted(name):
                yield Refused(shown(path), "it is a folder with the name of a file; the files in it are read")
            yield from _folder(path, seen)
        elif _is_wanted(name):
            yield from _file(path, is_named=False)


def _is_wanted(name: str) -> bool:
    return name.lower().removesuffix(".gz").endswith(SUFFIXES)


def _why(error: OSError) -> str:
    return f"it cannot be read: {error.strerror or error}"


def _file(path: Path, is_named: bool) -> Iterator[Found]:
    name = shown(path)
    try:
        # It may have become a pipe since it was looked at.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | (0 if is_named and path.is_fifo() else os.O_NONBLOCK))
    except OSError as error:
        kind = _kind(path)
        yield Refused(name, f"it is {kind}, no file" if kind else _why(error))
        return
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        is_pipe = stat.S_ISFIFO(status.st_mode)
        if not stat.S_ISREG(status.st_mode) and not (is_pipe and is_named):
            yield Refused(name, f"it is {_KINDS.get(stat.S_IFMT(status.st_mode), 'something else')}, no file")
            return
        is_lines = path.name.lower().removesuffix(".gz").endswith(_LINES)
        # A file that grows meanwhile is read up to the size that it had.
        source = file if is_pipe else io.BufferedReader(_Limited(file, status.st_size))
        yield from _documents(name, source, is_lines, may_be_empty=is_lines or is_pipe)


_KINDS: Final = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


def _kind(path: Path) -> str | None:
    try:
        return _KINDS.get(stat.S_IFMT(path.stat().st_mode))
    except OSError:
        return None


class _Limited(io.RawIOBase):
    """The first `size` bytes of a file."""

    def __init__(self, below: BinaryIO, size: int) -> None:
        self._below, self._left = below, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._below.read(min(len(view), self._left))
        view[: len(data)] = data
        self._left -= len(data)
        return len(data)


def _documents(name: str, source: BinaryIO | io.BufferedReader, is_lines: bool, may_be_empty: bool) -> Iterator[Found]:
    """The documents of a stream."""
    count = 0
    try:
        with ExitStack() as stack:
            first = source.peek(2)[:2] if isinstance(source, io.BufferedReader) else b""
            stream: BinaryIO | io.BufferedReader = source
            if first == _GZIP:
                stream = stack.enter_context(gzip.GzipFile(fileobj=source))  # type: ignore[assignment]
            elif first in (b"\xff\xfe", b"\xfe\xff"):
                yield Refused(name, "it is UTF-16, and JSON is UTF-8")
                return
            for item in _each_line(name, stream) if is_lines else _each_value(name, stream):
                count += 1
                yield item
    except (OSError, EOFError, zlib.error) as error:
        count += 1
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        yield Refused(name, f"it cannot be read to its end: {why}")
    if count == 0 and not may_be_empty:
        yield Refused(name, "it is empty")


def _lines(stream: BinaryIO | io.BufferedReader) -> Iterator[tuple[int, bytes, str]]:
    """Number and bytes of each line; of one that is too long, its beginning, and a sentence that says so."""
    limit = BODY_BYTES_MAX + 2
    number = 0
    while line := stream.readline(limit):
        number += 1
        if number == 1:
            line = line.removeprefix(_BOM)
        dropped = len(line)
        rest = line
        while not rest.endswith(b"\n") and len(rest) >= limit - len(_BOM) and dropped <= _LINE_BYTES_MAX:
            rest = stream.readline(limit)
            dropped += len(rest)
            if not rest:
                break
        too_long = "" if dropped == len(line) else f"it has more than {BODY_BYTES_MAX} bytes"
        if dropped > _LINE_BYTES_MAX:
            yield number, line, f"{too_long}{_UNREAD}"
            return
        yield number, line, too_long


def _each_line(name: str, stream: BinaryIO | io.BufferedReader) -> Iterator[Found]:
    for number, line, too_long in _lines(stream):
        if too_long:
            yield Refused(f"{name}:{number}", too_long)
        elif body := line.strip():
            yield Document(f"{name}:{number}", body)


def _each_value(name: str, stream: BinaryIO | io.BufferedReader) -> Iterator[Found]:
    """Documents one after the other, over lines or within one. After one that is cut off, the next begins with a line
    with `{` first."""
    kept: list[bytes] = []
    begun, size, depth, is_text, strange = 1, 0, 0, False, 0

    def place(line: int) -> str:
        return f"{name}:{line}" if line > 1 else name

    def document() -> Iterator[Found]:
        body = b"".join(kept).strip()
        kept.clear()
        if body:
            yield Document(place(begun), body)

    for number, line, too_long in _lines(stream):
        if too_long or ((size := size + len(line)) > BODY_BYTES_MAX and depth > 0):
            why = too_long.removesuffix(_UNREAD) or f"it has more than {BODY_BYTES_MAX} bytes"
            yield Refused(place(begun if kept else number), f"{why}{_UNREAD}")
            return
        if depth > 0 and line.startswith(b"{"):
            yield from document()
            depth, is_text = 0, False
        at = 0
        while at < len(line):
            if depth == 0:
                # Between documents: blanks, and the signs of an array of them.
                body = line[at:].lstrip(b" \t\r\n,[]")
                at = len(line) - len(body)
                if not body:
                    break
                begun, size = number, len(body)
                if not body.startswith(b"{"):
                    strange += 1
                    yield Refused(place(number), "it is no JSON" + (_UNREAD if strange == _STRANGE_MAX else ""))
                    if strange == _STRANGE_MAX:
                        return
                    break
            start = at
            depth, is_text, at = _end(line, at, depth, is_text)
            kept.append(line[start:at])
            if depth == 0:
                yield from document()
    yield from document()


def _end(line: bytes, at: int, depth: int, is_text: bool) -> tuple[int, bool, int]:
    """Reads from `at` to the end of the document or of the line; gives the depth, whether it is within a string, and
    the place."""
    while True:
        if is_text:
            string = _STRING.match(line, at)
            if string is None:
                return depth, True, len(line)
            at, is_text = string.end(), False
        mark = _MARKS.search(line, at)
        if mark is None:
            return depth, False, len(line)
        at = mark.end()
        if mark[0] == b'"':
            is_text = True
        else:
            depth += 1 if mark[0] in b"{[" else -1
            if depth <= 0:
                return 0, False, at
