"""The server as a process: what it stores, refuses, deletes, and keeps when it is killed."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fleet
import httpx
import pytest
from conftest import Running, Start, fleet_command

from brisk_fleet import submission
from brisk_fleet.cli import main
from brisk_fleet.errors import FleetError
from brisk_fleet.server import DRAIN_BYTES_MAX
from brisk_fleet.table import Table
from brisk_fleet.writer import Deletion, Writer

MANY = ("--per-minute", "1000000", "--burst", "1000000")


def post(server: Running, body: bytes) -> httpx.Response:
    # A connection for each: on a busy machine the server may close an idle one while the next request is under way.
    return server.client.post("/v1/submissions", content=body, headers={"connection": "close"})


def test_a_submission_is_stored_once_and_deleted_by_its_secret(start: Start, tmp_path: Path) -> None:
    server = start()
    for one in fleet.samples():
        first, second = post(server, fleet.body(one)), post(server, fleet.body(one))
        assert (first.status_code, second.status_code) == (201, 200)
        assert first.json() == {"id": one["id"], "status": "stored"}
    path = f"/v1/submissions/{one['id']}"
    assert server.client.delete(path).status_code == 401
    assert server.client.delete(path, headers={"authorization": "Bearer wrong"}).status_code == 403
    deleted = server.client.delete(path, headers={"authorization": "Bearer secret"})
    assert (deleted.status_code, deleted.json()) == (200, {"id": one["id"], "status": "deleted"})
    assert server.client.delete(path, headers={"authorization": "Bearer secret"}).status_code == 404
    metrics = server.client.get("/metrics")
    assert metrics.headers["content-type"].startswith("application/openmetrics-text")
    assert "brisk_fleet_submissions 6.0" in metrics.text
    assert metrics.text.endswith("# EOF\n")
    assert server.client.get("/healthz").json() == {"status": "ok"}
    assert server.client.get("/v1/schema").json()["title"] == "Envelope"
    assert server.stop() == ""
    table = Table(str(tmp_path / "table"))
    assert {value.hex() for value in table.ids()} == {other["id"] for other in fleet.samples()[:-1]}
    # Deleted from the disk too.
    on_disk = {file for file in (tmp_path / "table").rglob("*.parquet") if "checkpoint" not in file.name}
    assert {str(file) for file in on_disk} == {file.removeprefix("file://") for file in table.files()}


def test_requests_beyond_the_rate_are_deferred(start: Start) -> None:
    server = start("--per-minute", "6", "--burst", "2")
    answers = [post(server, b"{}") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [422, 422, 429]
    assert int(answers[2].headers["retry-after"]) in range(1, 12)


def sent(server: Running, count: int, model: str, factor: float, **headers: str) -> list[dict[str, Any]]:
    """Submits devices of a model, each of which is a little different."""
    made = [fleet.envelope([fleet.bench(factor + number / 1e3)], model=model) for number in range(count)]
    for one in made:
        answer = server.client.post(
            "/v1/submissions", content=fleet.body(one), headers={"connection": "close", **headers}
        )
        assert answer.status_code == 201
    return made


def counted(table: Path | str) -> dict[str, int]:
    """How many submissions of each model have a vote."""
    rows = Table(str(table)).dataset().to_table(columns=["model", "flags", "excluded"]).to_pylist()
    assert all(row["excluded"] == ("same_network" in row["flags"]) for row in rows)
    return {
        model: sum(row["model"] == model and not row["excluded"] for row in rows)
        for row in rows
        for model in [row["model"]]
    }


def test_an_address_has_one_vote_a_day_whatever_it_sends(start: Start, tmp_path: Path) -> None:
    server = start("--proxy", "127.0.0.1", "--own", "192.168.0.0/16")
    # As many at once as the rate allows: with a vote each they would be a fifth of 120 devices.
    sent(server, 30, "A", 1.0, **{"x-forwarded-for": "203.0.113.7"})
    # Neighbours of it, also with the address that a sender made up before that of the proxy.
    sent(server, 2, "B", 1.1, **{"x-forwarded-for": "198.51.100.1, 203.0.113.8"})
    sent(server, 2, "C", 1.2, **{"x-forwarded-for": "2001:db8:7:1::1"})
    sent(server, 2, "D", 1.3, **{"x-forwarded-for": "2001:db8:7:2::1"})
    sent(server, 2, "E", 1.4, **{"x-forwarded-for": "::ffff:198.51.100.9"})
    # Devices of one's own.
    sent(server, 5, "F", 1.5, **{"x-forwarded-for": "192.168.7.7"})
    server.stop()
    votes = {"A": 1, "B": 0, "C": 1, "D": 0, "E": 1, "F": 5}
    assert counted(tmp_path / "table") == votes
    # A table that is made of an export has no other votes.
    assert main(["export", "--table", str(tmp_path / "table"), str(tmp_path / "out.jsonl")]) == 0
    assert main(["ingest", "--table", str(tmp_path / "again"), str(tmp_path / "out.jsonl")]) == 0
    assert counted(tmp_path / "again") == votes


def test_only_a_named_proxy_tells_the_senders_address(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    for number, (options, statuses) in enumerate(
        [((), [422, 429]), (("--proxy", "10.0.0.0/8"), [422, 429]), (("--proxy", "127.0.0.0/8"), [422, 422])]
    ):
        server = start("--per-minute", "1", "--burst", "1", *options, table=tmp_path / str(number))
        found = [
            server.client.post("/v1/submissions", content=b"{}", headers={"x-forwarded-for": address}).status_code
            for address in ("203.0.113.7", "198.51.100.7")
        ]
        assert found == statuses, options


def test_a_vote_is_taken_by_what_is_stored_and_has_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    days = [dt.date(2026, 11, 25)]
    table = Table.create(str(tmp_path / "table"))
    writer = Writer(table, lambda: days[-1])
    made = [fleet.accepted(fleet.envelope([fleet.bench(1.0 + n / 1e3)], model=f"M{n}")) for n in range(4)]
    excluded = fleet.accepted(fleet.envelope([fleet.bench(1.0, ("foreign_io",))], model="X"))
    writer.start()
    append = table.append

    def full(_rows: list[dict[str, Any]]) -> None:
        monkeypatch.setattr(table, "append", append)
        raise OSError(28, "No space left on device")

    # Neither an excluded one nor one that cannot be stored is a vote, nor one that is there already.
    assert writer.add(excluded, "203.0.113.1").result(60)
    monkeypatch.setattr(table, "append", full)
    with pytest.raises(OSError, match="No space"):
        writer.add(made[0], "203.0.113.1").result(60)
    assert writer.add(made[0], "203.0.113.1").result(60)
    assert not writer.add(made[0], "203.0.113.1").result(60)
    assert writer.add(made[1], "203.0.113.1").result(60)
    days.append(dt.date(2026, 11, 26))
    assert writer.add(made[2], "203.0.113.1").result(60)
    assert writer.add(made[3], "203.0.113.1").result(60)
    writer.stop()
    rows = Table(str(tmp_path / "table")).dataset().to_table(columns=["model", "flags"]).to_pylist()
    flags = {row["model"]: row["flags"] for row in rows}
    none = ["same_network"]
    assert flags == {"X": ["foreign_io"], "M0": [], "M1": none, "M2": [], "M3": none}


def test_a_deletion_stays(start: Start, tmp_path: Path) -> None:
    server = start(*MANY)
    one, other = fleet.samples()[:2]
    stolen = one | {"deletion_key_sha256": "0" * 64}
    path = f"/v1/submissions/{one['id']}"
    bearer = {"authorization": "Bearer secret"}
    assert post(server, fleet.body(one)).status_code == 201
    # It is known, with the key that it came with.
    assert post(server, fleet.body(stolen)).status_code == 200
    assert server.client.delete(path, headers=bearer).status_code == 200
    for _ in range(2):
        for again in (stolen, one):
            answer = post(server, fleet.body(again))
            assert (answer.status_code, answer.json()) == (
                410,
                {"error": "the submission is refused: it was deleted, and a deletion stays"},
            )
        assert server.client.delete(path, headers=bearer).status_code == 404
        # Also after a crash.
        server.kill()
        server = start(*MANY)
    assert post(server, fleet.body(other)).status_code == 201
    assert server.stop() == ""
    # And by files, among which an old export may be.
    (tmp_path / "in.jsonl").write_bytes(fleet.body(stolen) + b"\n" + fleet.body(other))
    assert main(["compact", "--table", str(tmp_path / "table")]) == 0
    said = fleet_command("ingest", "--json", "--table", tmp_path / "table", tmp_path / "in.jsonl")
    assert said.returncode == 0
    got = json.loads(said.stdout)
    assert (got["stored"], got["known"], got["skipped"]) == (0, 1, 1)
    assert got["entries"][0]["why"] == "it was deleted, and a deletion stays"
    assert {value.hex() for value in Table(str(tmp_path / "table")).ids()} == {other["id"]}


def test_a_deletion_that_was_cut_short_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = fleet.accepted(fleet.samples()[0])
    table = Table.create(str(tmp_path / "table"))
    table.append([submission.row(one, dt.date(2026, 11, 25))])

    class FailingDelta:
        def delete(self, *_arguments: Any, **_options: Any) -> None:
            raise OSError(5, "Input/output error")

        def version(self) -> int:
            return 1

    monkeypatch.setattr(table, "_delta", FailingDelta())
    with pytest.raises(OSError, match="Input"):
        table.delete(one.id)
    writer = Writer(Table(str(tmp_path / "table")), lambda: dt.date(2026, 11, 25))
    writer.start()
    # It is there until it is deleted.
    assert not writer.add(one).result(60)
    assert writer.delete(one.id, one.deletion_key_sha256).result(60) is Deletion.DONE
    with pytest.raises(submission.DeletedError):
        writer.add(one).result(60)
    writer.stop()
    assert writer.failure is None


def test_huge_and_slow_clients_do_no_harm(start: Start) -> None:
    server = start(*MANY)
    host, port = server.url.removeprefix("http://").split(":")
    # Larger than what the sockets hold: the sender has the answer because its body is read to the end.
    assert post(server, b"x" * (6 << 20)).status_code == 413
    # A body that does not come, and one in chunks without an end.
    slow = [socket.create_connection((host, int(port))) for _ in range(20)]
    for connection in slow:
        connection.sendall(b"POST /v1/submissions HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")
    chunked = socket.create_connection((host, int(port)))
    chunked.sendall(b"POST /v1/submissions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    with chunked:
        for _ in range(DRAIN_BYTES_MAX // 0x10000 + 6):
            try:
                chunked.sendall(chunk)
            except OSError:
                break
        assert b" 413 " in chunked.recv(4096)
    assert post(server, fleet.body(fleet.samples()[0])).status_code == 201
    slow[0].settimeout(30)
    assert b" 408 " in slow[0].recv(4096)
    for connection in slow:
        connection.close()
    assert server.client.get("/healthz").status_code == 200


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value within `value`, itself left out."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        yield (*path, key)
        yield from places(below, (*path, key))


def escaped(text: str) -> str:
    """A text with half of a surrogate pair at its end, as JSON can escape it."""
    return text + "\ud83d"


def damaged(random_: random.Random, inner: dict[str, Any]) -> None:
    """Makes one value of a submission wrong, whatever it is: of another type, beyond every limit, unknown, or
    missing."""
    path = random_.choice([path for path in places(inner) if "firmware" not in path[-1:]])
    *way, key = path
    parent: Any = inner
    for step in way:
        parent = parent[step]
    value = parent[key]
    wrong: list[Any] = [{"x": 1}, [[]], None, "\x00", -1e300, [value, value]]
    if isinstance(value, int | float) and not isinstance(value, bool):
        wrong += [-1, 10**400, "1", True]
    if isinstance(value, str):
        wrong += ["", "x" * 10_000, "/etc/passwd", "a\nb", "ünï", 7, escaped(value), escaped(value)[::-1]]
    if isinstance(value, list):
        wrong += ["x", {}, value * 10_000 if value else [{}] * 10_000]
    if isinstance(value, dict):
        wrong += [[], value | {"Unknown Key": 1}, value | {escaped("model"): 1}]
    parent[key] = random_.choice(wrong)


def mutations(random_: random.Random) -> bytes:
    """A malformed submission: bytes, structure or a value are wrong."""
    one = random_.choice(fleet.samples())
    text = fleet.body(one)
    kind = random_.randrange(10)
    if kind == 0:
        return text[: random_.randrange(len(text))]
    if kind == 1:
        at = random_.randrange(len(text))
        return text[:at] + bytes([random_.randrange(256)]) + text[at:]
    if kind == 2:
        return random_.randbytes(random_.randrange(2000))
    if kind == 3:
        one["submission"]["host"] = "annslaptop"
    elif kind == 4:
        one["id"] = f"{random_.getrandbits(256):064x}"
    elif kind == 5:
        one["submission"]["storage"]["model"] = random_.choice(["", "/dev/sda", "x" * 65, 7, None, "<b>", "\u202e"])
    elif kind == 6:
        depth = random_.choice([200, 300, 900, random_.randrange(1, 200_000)])
        begin, end = random_.choice([(b"[", b"]"), (b'{"id":', b"}")])
        return begin * depth + random_.choice([b"", b"1" + end * depth])
    elif kind == 7:
        return text.replace(b"{", b'{"id": 1,', random_.randrange(1, 3)).replace(b"true", b"NaN")
    else:
        damaged(random_, one["submission"])
        if kind == 9:
            # The sender computes the id of what it sends.
            with contextlib.suppress(submission.InvalidError, UnicodeEncodeError):
                one["id"] = submission.identity(one["submission"])
    return fleet.body(one)


def test_malformed_submissions_are_refused_and_end_nothing(start: Start, request: pytest.FixtureRequest) -> None:
    server = start(*MANY)
    random_ = random.Random(7)
    known = {json.dumps(one, sort_keys=True) for one in fleet.samples()}
    for _ in range(request.config.getoption("--malformed")):
        body = mutations(random_)
        try:
            # A space more between two values is no fault.
            if json.dumps(json.loads(body), sort_keys=True) in known:
                continue
        except (ValueError, RecursionError):
            pass
        try:
            answer = post(server, body)
        except httpx.TransportError:
            # Of what is much too large the rest is not read, so that the sender may miss the answer.
            assert len(body) > DRAIN_BYTES_MAX, body[:1000]
            continue
        if len(body) > submission.BODY_BYTES_MAX:
            assert answer.status_code == 413, body[:1000]
            continue
        # What is of the schema is refused for its id alone.
        assert answer.status_code == (409 if "its id" in answer.json()["error"] else 422), body
        assert answer.json()["error"].startswith("the submission is refused: ")
    assert server.client.get("/healthz").json() == {"status": "ok"}
    assert "brisk_fleet_submissions 0.0" in server.client.get("/metrics").text
    assert server.stop() == ""


def test_no_acknowledged_submission_is_lost_by_a_kill(
    start: Start, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    random_ = random.Random(11)
    acknowledged: set[str] = set()
    made = 0
    lock = threading.Lock()

    def send(server: Running) -> None:
        nonlocal made
        while True:
            with lock:
                made += 1
                one = fleet.envelope([fleet.bench(1.0 + made / 1e3)], model=f"M{made}")
            try:
                with httpx.Client(base_url=server.url, timeout=300) as client:
                    answer = client.post("/v1/submissions", content=fleet.body(one))
            except httpx.TransportError:
                return
            if answer.status_code == 201:
                with lock:
                    acknowledged.add(one["id"])
                    enough.release()

    for _ in range(request.config.getoption("--kills")):
        server = start(*MANY)
        assert server.count >= len(acknowledged)
        enough = threading.Semaphore(0)
        senders = [threading.Thread(target=send, args=(server,)) for _ in range(3)]
        for sender in senders:
            sender.start()
        # Killed after a random number of acknowledgements, in the middle of others.
        for _ in range(random_.randrange(1, 12)):
            assert enough.acquire(timeout=600)
        server.kill()
        for sender in senders:
            sender.join(60)
        column = Table(str(tmp_path / "table")).dataset().to_table(columns=["id"]).column("id").to_pylist()
        assert acknowledged <= set(column)
        assert len(column) == len(set(column))
    assert len(acknowledged) >= request.config.getoption("--kills")


def test_a_table_that_cannot_be_written_refuses_and_keeps_what_it_has(start: Start, tmp_path: Path) -> None:
    server = start(*MANY)
    assert post(server, fleet.body(fleet.samples()[0])).status_code == 201
    # The log's folder takes no new file, so a commit cannot be made. Root writes everywhere, so it is a file now.
    log = tmp_path / "table" / "_delta_log"
    log.rename(tmp_path / "log")
    log.write_text("", encoding="utf-8")
    answer = post(server, fleet.body(fleet.samples()[1]))
    assert answer.status_code == 503
    assert "retry-after" in answer.headers
    assert server.client.get("/healthz").status_code == 503
    log.unlink()
    (tmp_path / "log").rename(log)
    assert post(server, fleet.body(fleet.samples()[1])).status_code == 201
    assert post(server, fleet.body(fleet.samples()[0])).status_code == 200
    assert server.client.get("/healthz").status_code == 200


def test_a_submission_without_a_row_takes_no_other_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [fleet.accepted(one) for one in fleet.samples()[:3]]
    row = submission.row

    def failing(accepted: submission.Accepted, day: dt.date) -> dict[str, Any]:
        if accepted is made[1]:
            raise KeyError("unforeseen")
        return row(accepted, day)

    monkeypatch.setattr(submission, "row", failing)
    table = Table.create(str(tmp_path / "table"))
    writer = Writer(table, lambda: dt.date(2026, 11, 25))
    # One batch: all wait before the thread starts. The second comes twice.
    asked = [writer.add(one) for one in (*made, made[1])]
    writer.start()
    writer.stop()
    assert [asked[0].result(60), asked[2].result(60)] == [True, True]
    for refused in (asked[1], asked[3]):
        with pytest.raises(submission.InvalidError, match="no row of the table"):
            refused.result(60)
    assert writer.failure is None
    assert {value.hex() for value in Table(str(tmp_path / "table")).ids()} == {made[0].id, made[2].id}


def test_a_disk_that_runs_full_loses_nothing_that_was_acknowledged(start: Start, small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes(1 << 20))
    table = small_disk / "table"
    server = start(*MANY, table=table)
    acknowledged: set[str] = set()
    numbers = iter(range(10_000))

    def send() -> int:
        number = next(numbers)
        one = fleet.envelope([fleet.bench(1.0 + number / 1e3)], model=f"M{number}")
        answer = post(server, fleet.body(one))
        if answer.status_code == 201:
            acknowledged.add(one["id"])
        return answer.status_code

    statuses = [send()]
    while statuses[-1] == 201:
        statuses.append(send())
    assert statuses[-1] == 503
    assert len(statuses) > 10
    health = server.client.get("/healthz")
    assert health.status_code == 503
    assert health.json()["error"]
    assert {send() for _ in range(20)} <= {201, 503}
    # With space again it goes on by itself, with all that it had.
    (small_disk / "ballast").unlink()
    assert send() == 201
    assert server.client.get("/healthz").json() == {"status": "ok"}
    # The library of the table tells of its own failure on standard error; the server ends by the signal that it was
    # sent.
    server.stop()
    assert server.process.returncode == -signal.SIGTERM
    stored = Table(str(table)).dataset().to_table(columns=["id"]).column("id").to_pylist()
    assert acknowledged <= set(stored)
    assert len(stored) == len(set(stored))
    assert start(*MANY, table=table).count == len(stored)


def memory_bytes(process: int, field: str) -> int:
    line = next(
        line
        for line in Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
        if line.startswith(field)
    )
    return int(line.split()[1]) << 10


@pytest.mark.full
def test_hundreds_of_slow_and_huge_clients_hold_up_no_other(start: Start) -> None:
    server = start(*MANY)
    host, port = server.url.removeprefix("http://").split(":")
    assert post(server, fleet.body(fleet.samples()[0])).status_code == 201
    before = memory_bytes(server.process.pid, "VmRSS:")
    slow = [socket.create_connection((host, int(port))) for _ in range(400)]
    for connection in slow:
        connection.sendall(b"POST /v1/submissions HTTP/1.1\r\nhost: x\r\ncontent-length: 250000\r\n\r\n{")
    over = threading.Event()
    answers: list[bytes] = []

    def huge() -> None:
        """Sends a body without an end, again and again."""
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        while not over.is_set():
            with socket.create_connection((host, int(port))) as connection, contextlib.suppress(OSError):
                connection.sendall(b"POST /v1/submissions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
                with contextlib.suppress(OSError):
                    for _ in range(DRAIN_BYTES_MAX // 0x10000 + 64):
                        connection.sendall(chunk)
                answers.append(connection.recv(64))

    senders = [threading.Thread(target=huge) for _ in range(8)]
    for sender in senders:
        sender.start()
    took_s = []
    try:
        for number in range(200):
            one = fleet.envelope([fleet.bench(1.0 + number / 1e3)], model=f"M{number}")
            begun = time.monotonic()
            assert post(server, fleet.body(one)).status_code == 201
            took_s.append(time.monotonic() - begun)
    finally:
        over.set()
        for sender in senders:
            sender.join(60)
    slow[-1].settimeout(60)
    assert b" 408 " in slow[-1].recv(4096)
    for connection in slow:
        connection.close()
    took_s.sort()
    grown = memory_bytes(server.process.pid, "VmHWM:") - before
    print(  # figures of the run: pytest -s
        f"200 submissions with 400 slow and 8 huge clients: "
        f"median {took_s[100] * 1e3:.0f} ms, 95th percentile {took_s[190] * 1e3:.0f} ms, "
        f"{len(answers)} huge bodies cut, {grown / 1e6:.0f} MB more memory"
    )
    assert any(b" 413 " in answer for answer in answers)
    # As much as all bodies together may have, and what the table takes.
    assert grown < 400 * submission.BODY_BYTES_MAX + (150 << 20)
    assert took_s[190] < 10
    assert server.client.get("/healthz").json() == {"status": "ok"}


class PanicException(BaseException):  # as the Delta library's own
    pass


def test_a_panic_of_the_library_is_a_failure_and_not_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [fleet.accepted(one) for one in fleet.samples()[:2]]
    table = Table.create(str(tmp_path / "table"))
    writer = Writer(table, lambda: dt.date(2026, 11, 25))
    append = table.append

    def panicking(_rows: list[dict[str, Any]]) -> None:
        monkeypatch.setattr(table, "append", append)
        raise PanicException("unforeseen")

    monkeypatch.setattr(table, "append", panicking)
    writer.start()
    with pytest.raises(FleetError, match="PanicException: unforeseen"):
        writer.add(made[0]).result(60)
    assert writer.add(made[1]).result(60)
    writer.stop()
    assert writer.failure is None
    with pytest.raises(FleetError, match=r"cannot write to the table .*: unforeseen"), table.failures("write to"):
        raise PanicException("unforeseen")


def test_one_process_writes_at_a_time(start: Start, tmp_path: Path) -> None:
    start()
    command = [sys.executable, "-m", "brisk_fleet", "compact", "--table", str(tmp_path / "table")]
    second = subprocess.run(command, capture_output=True, text=True, check=False)
    assert second.returncode == 2
    assert "another process writes to" in second.stderr
