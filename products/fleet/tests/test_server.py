"""The server as a process: what it stores, refuses, deletes, and keeps when it is killed."""

from __future__ import annotations

import json
import random
import socket
import threading
from pathlib import Path

import fleet
import httpx
import pytest
from conftest import Running, Start

from brisk_fleet.table import Table

MANY = ("--per-minute", "1000000", "--burst", "1000000")


def post(server: Running, body: bytes) -> httpx.Response:
    return server.client.post("/v1/submissions", content=body)


def test_a_submission_is_stored_once_and_deleted_by_its_secret(start: Start, tmp_path: Path) -> None:
    server = start()
    for one in fleet.samples():
        first, second = post(server, fleet.body(one)), post(server, fleet.body(one))
        assert (first.status_code, second.status_code) == (201, 200)
        assert first.json() == {"id": one["id"], "status": "stored"}
    path = f"/v1/submissions/{one['id']}"
    assert server.client.delete(path).status_code == 403
    assert server.client.delete(path, headers={"authorization": "Bearer wrong"}).status_code == 403
    assert server.client.delete(path, headers={"authorization": "Bearer secret"}).status_code == 204
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


def test_huge_and_slow_clients_do_no_harm(start: Start) -> None:
    server = start(*MANY)
    host, port = server.url.removeprefix("http://").split(":")
    assert post(server, b"x" * (300 << 10)).status_code == 413
    # A body that does not come, and one in chunks without an end.
    slow = [socket.create_connection((host, int(port))) for _ in range(20)]
    for connection in slow:
        connection.sendall(b"POST /v1/submissions HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")
    chunked = socket.create_connection((host, int(port)))
    chunked.sendall(b"POST /v1/submissions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    with chunked:
        for _ in range(6):
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


def mutations(random_: random.Random) -> bytes:
    """A malformed submission: bytes, structure or a value are wrong."""
    one = random_.choice(fleet.samples())
    text = fleet.body(one)
    kind = random_.randrange(6)
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
    else:
        one["submission"]["storage"]["model"] = random_.choice(["", "/dev/sda", "x" * 65, 7, None, "<b>", "\u202e"])
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
        except ValueError:
            pass
        answer = post(server, body)
        assert answer.status_code == 422, body
        assert answer.json()["error"].startswith("the submission is refused: ")
    assert server.client.get("/healthz").json() == {"status": "ok"}
    assert "brisk_fleet_submissions 0.0" in server.client.get("/metrics").text
    assert server.stop() == ""


def test_no_acknowledged_submission_is_lost_by_a_kill(start: Start, request: pytest.FixtureRequest, tmp_path: Path) -> None:
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
                with httpx.Client(base_url=server.url, timeout=30) as client:
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
            assert enough.acquire(timeout=60)
        server.kill()
        for sender in senders:
            sender.join(60)
        column = Table(str(tmp_path / "table")).dataset().to_table(columns=["id"]).column("id").to_pylist()
        assert acknowledged <= set(column)
        assert len(column) == len(set(column))
    assert len(acknowledged) >= request.config.getoption("--kills")


def test_a_full_disk_refuses_and_keeps_what_it_has(start: Start, tmp_path: Path) -> None:
    server = start(*MANY)
    assert post(server, fleet.body(fleet.samples()[0])).status_code == 201
    # The log's folder takes no new file: as with a full disk, a commit cannot be made. Root writes everywhere, so it is a file now.
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


def test_one_process_writes_at_a_time(start: Start, tmp_path: Path) -> None:
    start()
    import subprocess
    import sys

    command = [sys.executable, "-m", "brisk_fleet", "compact", "--table", str(tmp_path / "table")]
    second = subprocess.run(command, capture_output=True, text=True, check=False)
    assert second.returncode == 2
    assert "another process writes to" in second.stderr
