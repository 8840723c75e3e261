"""A table on S3-compatible storage, by URL. Needs a server of it: `moto_server` of the package moto, in PATH."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import fleet
import httpx
import pyarrow.parquet as pq
import pytest
from conftest import Start

from brisk_fleet.cli import main
from brisk_fleet.table import Table

pytestmark = pytest.mark.full


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of an empty bucket."""
    program = shutil.which("moto_server")
    if program is None:
        pytest.skip("needs moto_server, a server of S3's protocol: pip install 'moto[server]'")
    server = subprocess.Popen(
        [program, "-H", "127.0.0.1", "-p", "0"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    address = None
    while address is None:
        line = server.stderr.readline()
        assert line, "the server of S3 did not start"
        address = re.search(r"Running on (http://\S+)", line)
    for name, value in (
        ("AWS_ENDPOINT_URL", address[1]),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    httpx.put(f"{address[1]}/fleet", timeout=60).raise_for_status()
    yield "s3://fleet"
    server.kill()
    server.wait(30)


def test_a_table_on_s3_is_served_and_published_like_one_in_a_directory(
    bucket: str, start: Start, tmp_path: Path
) -> None:
    place = f"{bucket}/results"
    server = start("--per-minute", "1000000", "--burst", "1000000", "--own", "127.0.0.0/8", table=place)
    sent = fleet.devices("M1", 8, 1.0, 1) + fleet.devices("M2", 6, 2.0, 2)
    for one in sent:
        for status in (201, 200):
            assert server.client.post("/v1/submissions", content=fleet.body(one)).status_code == status
    gone = sent.pop()
    path = f"/v1/submissions/{gone['id']}"
    assert server.client.delete(path, headers={"authorization": "Bearer wrong"}).status_code == 403
    assert server.client.delete(path, headers={"authorization": "Bearer secret"}).status_code == 200
    server.stop()
    # Another process finds what was acknowledged.
    again = start(table=place)
    assert again.count == len(sent)
    again.stop()
    assert main(["compact", "--table", place]) == 0
    assert {value.hex() for value in Table(place).ids()} == {one["id"] for one in sent}
    for number, one in enumerate(sent):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"{number}.json").write_bytes(fleet.body(one))
    assert main(["ingest", "--table", str(tmp_path / "table"), str(tmp_path / "in")]) == 0
    for table, out in ((place, "s3"), (str(tmp_path / "table"), "directory")):
        assert main(["publish", "--table", table, "--emulated", str(tmp_path / out)]) == 0
    pages = sorted(page.relative_to(tmp_path / "s3") for page in (tmp_path / "s3").rglob("*.html"))
    assert len(pages) == 5
    for page in pages:
        assert (tmp_path / "s3" / page).read_text(encoding="utf-8") == (tmp_path / "directory" / page).read_text(
            encoding="utf-8"
        )
    data = [pq.read_table(tmp_path / out / "data" / "fleet.parquet").sort_by("id") for out in ("s3", "directory")]
    assert data[0].equals(data[1])
    assert main(["publish", "--table", "s3://no-such-bucket/results", str(tmp_path / "none")]) == 2
