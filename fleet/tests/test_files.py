"""Files: what `ingest` takes and refuses."""

from __future__ import annotations

import gzip
import io
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import fleet
import pyarrow.parquet as pq
import pytest
from conftest import fleet_command
from hypothesis import given
from hypothesis import strategies as st

from brisk_fleet import reading
from brisk_fleet.cli import main
from brisk_fleet.table import Table

SAMPLES = [line + b"\n" for line in fleet.SAMPLES.read_bytes().splitlines()]


def pretty(number: int) -> bytes:
    return json.dumps(json.loads(SAMPLES[number]), indent=2).encode() + b"\n"


def ingested(capsys: pytest.CaptureFixture[str], table: Path, *paths: object) -> tuple[int, dict[str, Any], str]:
    """Exit code, the JSON of standard output, and standard error."""
    code = main(["ingest", "--json", "--table", str(table), *map(str, paths)])
    shown = capsys.readouterr()
    return code, json.loads(shown.out), shown.err


def test_files_go_in_and_out_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "bad.json").write_text("{}", encoding="utf-8")
    (folder / "one.json").write_bytes(SAMPLES[0])
    (folder / "all.jsonl").write_bytes(fleet.SAMPLES.read_bytes())
    place = str(tmp_path / "table")
    assert main(["ingest", "--table", place, str(folder)]) == 1
    assert "7 stored, 1 known already, 1 refused" in capsys.readouterr().out
    (folder / "bad.json").unlink()
    assert main(["ingest", "--table", place, str(folder)]) == 0
    assert main(["compact", "--table", place]) == 0
    assert main(["export", "--table", place, str(tmp_path / "out.jsonl")]) == 0
    assert (tmp_path / "out.jsonl").read_bytes() == fleet.SAMPLES.read_bytes()
    assert main(["export", "--table", place, str(tmp_path / "out.parquet")]) == 0
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 7
    assert main(["export", "--table", place, str(tmp_path / "out.txt")]) == 2
    assert main(["export", "--table", str(tmp_path / "none"), str(tmp_path / "out.jsonl")]) == 2


def test_bad_entries_of_a_folder_are_named_and_the_rest_is_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "in"
    (folder / "deep" / "deeper").mkdir(parents=True)
    (folder / "a.json").symlink_to("nowhere")
    (folder / "b.json").mkdir()
    (folder / "b.json" / "in-it.json").write_bytes(SAMPLES[0])
    os.mkfifo(folder / "c.json")
    (folder / "d1.json").symlink_to("d2.json")
    (folder / "d2.json").symlink_to("d1.json")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(folder / "e.json"))
    (folder / "f.json").write_bytes(b"")
    (folder / "g.json").write_bytes(b"\xff\xfe{\x00}\x00")
    (folder / "h.json").write_bytes(b'{"id": "\xe9"}')
    (folder / "i.json").write_bytes(SAMPLES[0][:-20])
    (folder / "j.json.gz").write_bytes(gzip.compress(SAMPLES[0])[:-8])
    with (folder / "k.json").open("wb") as file:
        file.truncate(1 << 40)
    (folder / "l.jsonl").symlink_to("/dev/zero")
    (folder / "m.jsonl").write_bytes(
        b"\n" + SAMPLES[1].replace(b"\n", b"\r\n") + b"  \n\nno JSON\n" + SAMPLES[2] + SAMPLES[3][:40]
    )
    Path(os.fsdecode(os.fsencode(folder) + b"/n\xff\n\x1b.json")).write_bytes(b"[1]")
    # What is well:
    (folder / "deep" / "up").symlink_to("..")
    (folder / "deep" / "deeper" / "bom.json").write_bytes(b"\xef\xbb\xbf" + pretty(3))
    (folder / "deep" / "crlf.ndjson").write_bytes(SAMPLES[4].replace(b"\n", b"\r\n"))
    (folder / "deep" / "ZIP.JSON.GZ").write_bytes(gzip.compress(pretty(5)))
    (folder / "none.jsonl").write_bytes(b"\n")
    (folder / "notes.txt").write_text("not looked at", encoding="utf-8")
    other = Table.create(str(folder / "table"))
    assert other.ids() == set()

    code, got, err = ingested(capsys, tmp_path / "table", folder)
    assert code == 1
    refused = {
        entry["entry"].removeprefix(f"{folder}/"): entry["why"]
        for entry in got["entries"]
        if entry["state"] == "refused"
    }
    assert set(refused) == {
        *(
            "a.json",
            "b.json",
            "c.json",
            "d1.json",
            "d2.json",
            "e.json",
            "f.json",
            "g.json",
            "h.json",
            "i.json",
            "j.json.gz",
        ),
        *("k.json", "l.jsonl", "m.jsonl:5", "m.jsonl:7", "n\\xff\\n\\x1b.json"),
    }
    assert "pipe" in refused["c.json"]
    assert "UTF-16" in refused["g.json"]
    assert "No such file" in refused["a.json"]
    assert all(f"refused: {folder}/{name}: " in err for name in refused)
    assert [entry["entry"] for entry in got["entries"] if entry["state"] == "skipped"] == [str(folder / "table")]
    assert (got["stored"], got["refused"], got["skipped"]) == (6, len(refused), 1)
    assert len(Table(str(tmp_path / "table")).ids()) == 6


def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in" / "closed").mkdir(parents=True)
    (tmp_path / "in" / "a.json").write_bytes(SAMPLES[0])
    (tmp_path / "in" / "b.json").write_bytes(SAMPLES[1])
    (tmp_path / "in" / "b.json").chmod(0)
    (tmp_path / "in" / "closed").chmod(0)
    # Root reads all, unless it has given that right away.
    without = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    if without and subprocess.run([*without, "true"], check=False).returncode != 0:
        pytest.skip("root cannot give away the right to read all files here")
    command = [
        *without,
        sys.executable,
        "-m",
        "brisk_fleet",
        "ingest",
        "--table",
        str(tmp_path / "table"),
        str(tmp_path / "in"),
    ]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        (tmp_path / "in" / "closed").chmod(0o700)
    assert ended.returncode == 1, ended.stderr
    assert "1 stored, 0 known already, 2 refused" in ended.stdout
    assert f"refused: {tmp_path}/in/b.json: it cannot be read: Permission denied" in ended.stderr
    assert f"refused: {tmp_path}/in/closed: it cannot be read: Permission denied" in ended.stderr


def test_files_are_taken_by_name_whatever_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # As `brisk submit --output` writes it: one line of JSON.
    (tmp_path / "submission").write_bytes(SAMPLES[0])
    (tmp_path / "packed").write_bytes(gzip.compress(SAMPLES[1]))
    (tmp_path / "several.json").write_bytes(pretty(2) + pretty(3) + SAMPLES[4] + SAMPLES[4])
    (tmp_path / "array.json").write_bytes(b"[\n" + b",\n".join([*SAMPLES[5:], SAMPLES[0]]) + b"]")
    paths = [tmp_path / name for name in ("submission", "packed", "several.json", "array.json")]
    code, got, _ = ingested(capsys, tmp_path / "table", *paths)
    assert (code, got["stored"], got["known"], got["refused"]) == (0, 7, 2, 0)
    code, got, err = ingested(capsys, tmp_path / "table", tmp_path / "submission", tmp_path / "missing")
    assert (code, got["known"], got["refused"]) == (1, 1, 1)
    assert "missing: it cannot be read: No such file" in err
    # A wrong name alone makes no table.
    assert main(["ingest", "--table", str(tmp_path / "none"), str(tmp_path / "missing")]) == 2
    assert "no such file or folder" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_pipes_and_standard_input_are_read(tmp_path: Path) -> None:
    table = tmp_path / "table"
    command = [sys.executable, "-m", "brisk_fleet", "ingest", "--table", str(table), "-"]
    ended = subprocess.run(command, input=gzip.compress(b"".join(SAMPLES[:2])), capture_output=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, b"2 stored, 0 known already, 0 refused\n")
    read, write = os.pipe()
    with os.fdopen(write, "wb") as file:
        file.write(SAMPLES[2])
    other = fleet_command("ingest", "--table", table, f"/dev/fd/{read}", pass_fds=[read])
    os.close(read)
    assert (other.returncode, other.stdout) == (0, "1 stored, 0 known already, 0 refused\n")


def test_a_file_that_goes_or_grows_meanwhile_ends_nothing(tmp_path: Path) -> None:
    for name in ("a.json", "b.json", "c.jsonl"):
        (tmp_path / name).write_bytes(SAMPLES[0])
    items = reading.found([tmp_path])
    assert isinstance(next(items), reading.Document)
    (tmp_path / "b.json").unlink()
    second = next(items)
    assert isinstance(second, reading.Refused)
    assert "No such file" in second.why
    third = next(items)
    assert isinstance(third, reading.Document)
    with (tmp_path / "c.jsonl").open("ab") as file:
        file.write(SAMPLES[1] * 100)
    assert list(items) == []


@given(
    st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=6),
    st.sampled_from(["", "\n", " \r\n", ","]),
    st.booleans(),
)
def test_documents_are_found_however_they_are_put_together(
    chosen: list[tuple[int, bool]], between: str, is_array: bool
) -> None:
    parts = [pretty(number).rstrip() if is_pretty else SAMPLES[number].rstrip() for number, is_pretty in chosen]
    content = between.encode().join(parts)
    content = b"[" + content + b"]" if is_array else content
    source = io.BufferedReader(io.BytesIO(content))
    items = list(reading._documents("x", source, False, True))
    bodies = [json.loads(item.body) for item in items if isinstance(item, reading.Document)]
    assert bodies == [json.loads(SAMPLES[number]) for number, _ in chosen]
    assert len(bodies) == len(items)


@given(
    st.lists(
        st.sampled_from([b"{", b"}", b"[", b'"', b"\\", b"\n", b"{}", b"1", b"\x1f\x8b", b"\xef\xbb\xbf", b" "]),
        max_size=40,
    ),
    st.booleans(),
)
def test_no_bytes_end_the_reading_otherwise(parts: list[bytes], is_lines: bool) -> None:
    source = io.BufferedReader(io.BytesIO(b"".join(parts)))
    for item in reading._documents("x", source, is_lines, False):
        assert isinstance(item, reading.Document | reading.Refused)
