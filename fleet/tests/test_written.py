"""What commands write is whole or as before, and what they cannot read or write is said."""

from __future__ import annotations

import datetime as dt
import io
import os
import re
import resource
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import engines
import fleet
import pyarrow.parquet as pq
import pytest
from conftest import fleet_command

from brisk_fleet import queries, submission, whole
from brisk_fleet.cli import main
from brisk_fleet.table import Table


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of many groups of rows: one that is read ahead while it is written out."""
    place = tmp_path_factory.mktemp("many") / "table"
    engines.make(place, 300_000)
    return place


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("small") / "table"
    assert main(["ingest", "--table", str(place), str(fleet.SAMPLES)]) == 0
    return place


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose documents are as large as those of devices."""
    place = tmp_path_factory.mktemp("documents") / "table"
    rows = [submission.row(fleet.accepted(one), dt.date(2026, 11, 25)) for one in fleet.samples()]
    for _ in range(2):
        Table.create(str(place)).append(rows * 600)
    return place


@pytest.mark.parametrize("name", ["out.parquet", "out.jsonl"])
def test_an_export_to_a_full_disk_ends_with_a_message_and_leaves_what_was(
    small_disk: Path, many: Path, documents: Path, table: Path, name: str
) -> None:
    many = documents if name.endswith("jsonl") else many
    ended = fleet_command("export", "--table", many, small_disk / name)
    assert (ended.returncode, ended.stderr) == (
        2,
        f"brisk-fleet: cannot write {small_disk / name}: No space left on device\n",
    )
    assert list(small_disk.iterdir()) == []
    (small_disk / name).write_bytes(b"as before")
    (small_disk / name).chmod(0o640)
    assert fleet_command("export", "--table", many, small_disk / name).returncode == 2
    assert (small_disk / name).read_bytes() == b"as before"
    assert main(["export", "--table", str(table), str(small_disk / name)]) == 0
    assert stat.S_IMODE((small_disk / name).stat().st_mode) == 0o640
    assert [file.name for file in small_disk.iterdir()] == [name]


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
@pytest.mark.parametrize("limit_bytes", [0, 1, 1000, -1])
def test_an_export_beyond_the_limit_of_a_file_leaves_nothing(
    tmp_path: Path, table: Path, form: str, limit_bytes: int
) -> None:
    if limit_bytes < 0:
        assert main(["export", "--table", str(table), str(tmp_path / f"whole.{form}")]) == 0
        limit_bytes = (tmp_path / f"whole.{form}").stat().st_size - 1
        (tmp_path / f"whole.{form}").unlink()
    out = tmp_path / f"out.{form}"

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    ended = fleet_command("export", "--table", table, out, preexec_fn=limited)
    assert (ended.returncode, ended.stderr) == (2, f"brisk-fleet: cannot write {out}: File too large\n")
    assert list(tmp_path.iterdir()) == []


def test_targets_that_are_no_files_are_written_to_or_refused(
    tmp_path: Path, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(out: Path) -> str:
        assert main(["export", "--table", str(table), str(out)]) == 2
        return capsys.readouterr().err

    (tmp_path / "full.parquet").symlink_to("/dev/full")
    assert "No space left" in refused(tmp_path / "full.parquet")
    (tmp_path / "folder.jsonl").mkdir()
    assert "it is a folder" in refused(tmp_path / "folder.jsonl")
    assert "No such file" in refused(tmp_path / "none" / "out.jsonl")
    assert "--format" in refused(Path("-"))
    # A link stays one, also to a file that is not there yet.
    (tmp_path / "link.jsonl").symlink_to("real.jsonl")
    assert main(["export", "--table", str(table), str(tmp_path / "link.jsonl")]) == 0
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "real.jsonl").read_bytes() == fleet.SAMPLES.read_bytes()
    for out in ("-", "/dev/stdout"):
        command = [sys.executable, "-m", "brisk_fleet", "export", "--table", str(table), "--format", "parquet", out]
        piped = subprocess.run(command, capture_output=True, check=True)
        assert pq.read_table(io.BytesIO(piped.stdout)).num_rows == 7
    os.mkfifo(tmp_path / "pipe.jsonl")
    reader = subprocess.Popen(["cat", str(tmp_path / "pipe.jsonl")], stdout=subprocess.PIPE)
    assert main(["export", "--table", str(table), str(tmp_path / "pipe.jsonl")]) == 0
    assert reader.communicate(timeout=60)[0] == fleet.SAMPLES.read_bytes()


WAITING = """
import signal, sys
from brisk_fleet import cli
from brisk_fleet.table import Table
# Whoever began the tests may ignore it (nohup), and what is ignored stays so.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
batches = Table.batches
def waiting(*arguments):
    yield from batches(*arguments)
    print("all but the end is written", flush=True)
    signal.pause()
Table.batches = waiting
sys.exit(cli.main())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_export_that_is_ended_leaves_nothing(tmp_path: Path, table: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", WAITING, "export", "--table", str(table), str(tmp_path / "out.jsonl")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "all but the end is written\n"
    assert len(list(tmp_path.iterdir())) == 1
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (128 + number, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", ["/dev/full", "closed"])
def test_a_report_without_a_reader_changes_no_status_and_one_on_a_full_disk_does(
    tmp_path: Path, table: Path, target: str
) -> None:
    command = [sys.executable, "-m", "brisk_fleet", "export", "--table", str(table), str(tmp_path / "out.jsonl")]
    if target == "closed":
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "wb") as gone:
            ended = subprocess.run(command, stdout=gone, stderr=subprocess.PIPE, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (0, "")
    else:
        with Path(target).open("wb") as full:
            ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (
            2,
            "brisk-fleet: cannot write standard output: No space left on device\n",
        )
    assert (tmp_path / "out.jsonl").read_bytes() == fleet.SAMPLES.read_bytes()


def filled(disk: Path, free_bytes: int) -> None:
    """Leaves so much space on a small disk."""
    with (disk / "ballast").open("wb") as file:
        file.write(bytes(os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize - free_bytes))


def test_a_site_and_profiles_on_a_full_disk_stay_as_they_were(
    small_disk: Path, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = small_disk / "fleet.key"
    assert main(["keygen", str(key)]) == 0
    publish = ["publish", "--emulated", "--table", str(table), str(small_disk / "site")]
    profiles = ["profiles", "--emulated", "--table", str(table), "--key", str(key), str(small_disk / "out")]
    filled(small_disk, 40 << 10)
    assert main(publish) == 2
    assert not (small_disk / "site").exists()
    assert f"cannot write {small_disk}/site: No space left on device" in capsys.readouterr().err
    (small_disk / "ballast").unlink()
    assert main(publish) == 0
    assert main(profiles) == 0
    (small_disk / "site" / "index.html").write_text("as before", encoding="utf-8")
    (small_disk / "site" / "robots.txt").write_text("the owner's", encoding="utf-8")
    (small_disk / "out" / "profiles.json").write_text("as before", encoding="utf-8")
    before = sorted(small_disk.rglob("*"))
    filled(small_disk, 0)
    assert (main(publish), main(profiles)) == (2, 2)
    assert sorted(path for path in small_disk.rglob("*") if path.name != "ballast") == before
    assert (small_disk / "site" / "index.html").read_text(encoding="utf-8") == "as before"
    assert (small_disk / "out" / "profiles.json").read_text(encoding="utf-8") == "as before"
    (small_disk / "ballast").unlink()
    assert main(publish) == 0
    assert "<h1" in (small_disk / "site" / "index.html").read_text(encoding="utf-8")
    assert (small_disk / "site" / "robots.txt").exists()
    assert sorted(small_disk.rglob("*")) == before


def test_keys_on_a_full_disk_are_not_there_and_none_is_overwritten(
    small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(small_disk, 0)
    assert main(["keygen", str(small_disk / "fleet.key")]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert [file.name for file in small_disk.iterdir()] == ["ballast"]
    (small_disk / "ballast").unlink()
    (small_disk / "fleet.pub").write_text("of another pair", encoding="utf-8")
    assert main(["keygen", str(small_disk / "fleet.key")]) == 2
    assert "fleet.pub exists: a key is never overwritten" in capsys.readouterr().err
    assert [file.name for file in small_disk.iterdir()] == ["fleet.pub"]
    assert main(["keygen", str(small_disk / "other.pub")]) == 2
    assert not (small_disk / "other.pub").exists()


def test_a_table_on_a_full_disk_keeps_what_it_has_and_no_rest_of_what_failed(small_disk: Path, tmp_path: Path) -> None:
    place = small_disk / "table"
    made = fleet.devices("X1", 30, 1.0, 1)
    (tmp_path / "in.jsonl").write_bytes(b"".join(fleet.body(one) + b"\n" for one in made))
    assert main(["ingest", "--table", str(place), str(fleet.SAMPLES)]) == 0
    filled(small_disk, 12 << 10)
    ended = fleet_command("ingest", "--table", place, tmp_path / "in.jsonl")
    assert ended.returncode == 2
    assert "cannot write to the table" in ended.stderr
    assert "No space left on device" in ended.stderr
    assert len(Table(str(place)).ids()) == 7
    (small_disk / "ballast").unlink()
    # As a commit leaves it whose last step failed.
    (place / "part-00000-left-c000.snappy.parquet").write_bytes(b"x" * 1000)
    assert main(["ingest", "--table", str(place), str(tmp_path / "in.jsonl")]) == 0
    assert main(["compact", "--table", str(place)]) == 0
    assert {file.name for file in place.glob("*.parquet")} == {Path(file).name for file in Table(str(place)).files()}
    assert len(Table(str(place)).ids()) == 37


@pytest.fixture
def read_only(small_disk: Path, table: Path) -> Iterator[Path]:
    subprocess.run(["cp", "-r", str(table), str(small_disk / "table")], check=True)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    yield small_disk / "table"
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)


def test_a_table_that_cannot_be_written_is_read(
    read_only: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "--table", str(read_only), str(tmp_path / "out.jsonl")]) == 0
    assert main(["publish", "--emulated", "--table", str(read_only), str(tmp_path / "site")]) == 0
    for command in (["compact"], ["ingest", str(fleet.SAMPLES)], ["serve", "--port", "0"]):
        capsys.readouterr()
        assert main([command[0], "--table", str(read_only), *command[1:]]) == 2
        assert "Read-only file system" in capsys.readouterr().err


def damaged_log(place: Path) -> None:
    next((place / "_delta_log").glob("*.json")).write_text("{", encoding="utf-8")


def newer(place: Path) -> None:
    first = next((place / "_delta_log").glob("*0.json"))
    first.write_text(
        first.read_text(encoding="utf-8").replace('"minReaderVersion":1', '"minReaderVersion":99'), encoding="utf-8"
    )


def cut_data(place: Path) -> None:
    for file in place.glob("*.parquet"):
        os.truncate(file, 1000)


def no_data(place: Path) -> None:
    for file in place.glob("*.parquet"):
        file.unlink()


def of_something_else(place: Path) -> None:
    import pyarrow as pa
    from deltalake import write_deltalake

    subprocess.run(["rm", "-r", str(place)], check=True)
    write_deltalake(str(place), pa.table({"other": [1]}))


def test_a_site_needs_no_folder_for_temporary_files(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("tempfile.gettempdir", none)
    assert main(["publish", "--emulated", "--table", str(table), str(tmp_path / "site")]) == 0
    capsys.readouterr()
    simulate = ["simulate", "--server", "http://127.0.0.1:1", "--storebench", "/bin/true", "--brisk", "/bin/true"]
    assert main(simulate) == 2
    assert "No usable temporary directory" in capsys.readouterr().err


@pytest.mark.parametrize("damage", [damaged_log, newer, cut_data, no_data, of_something_else])
def test_a_table_that_cannot_be_read_is_named_by_each_command(
    tmp_path: Path, table: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None]
) -> None:
    place, key = tmp_path / "table", tmp_path / "fleet.key"
    subprocess.run(["cp", "-r", str(table), str(place)], check=True)
    damage(place)
    assert main(["keygen", str(key)]) == 0
    for command in (
        ["export", str(tmp_path / "out.jsonl")],
        ["export", str(tmp_path / "out.parquet")],
        ["publish", "--emulated", str(tmp_path / "site")],
        ["profiles", "--emulated", "--key", str(key), str(tmp_path / "out")],
        ["ingest", str(fleet.SAMPLES)],
        ["serve", "--port", "0"],
    ):
        capsys.readouterr()
        assert main([command[0], "--table", str(place), *command[1:]]) == 2, command
        err = capsys.readouterr().err
        assert str(place) in err
        assert len(err.splitlines()) == 1, err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fleet.key", "fleet.pub", "table"]


def test_what_memory_does_not_hold_and_the_disk_does_not_either_is_said(
    small_disk: Path, many: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(small_disk))
    monkeypatch.setitem(queries.DUCKDB, "memory_limit", "30MB")
    assert main(["publish", "--table", str(many), str(small_disk / "site")]) == 2
    assert re.search(r"Out of Memory.*TMPDIR names a folder with more space", capsys.readouterr().err)


def half_a_file(folder: Path) -> None:
    with whole.replaced(folder / "one") as file:
        file.write(b"half")
        raise KeyError


def half_a_folder(folder: Path) -> None:
    with whole.folder(folder / "many") as staged:
        (staged / "half").write_bytes(b"half")
        raise KeyError


@pytest.mark.parametrize("act", [half_a_file, half_a_folder])
def test_an_exception_within_leaves_the_target_as_it_was(tmp_path: Path, act: Callable[[Path], None]) -> None:
    (tmp_path / "one").write_bytes(b"as before")
    with pytest.raises(KeyError):
        act(tmp_path)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("one", b"as before")]


def test_a_port_that_is_taken_or_none_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["serve", "--table", str(tmp_path / "table"), "--port", str(port)]) == 2
        assert f"port {port}: Address already in use; --port 0 takes any free one" in capsys.readouterr().err
    for port in ("70000", "-1", "x"):
        with pytest.raises(SystemExit) as ended:
            main(["serve", "--table", str(tmp_path / "table"), f"--port={port}"])
        assert ended.value.code == 2
