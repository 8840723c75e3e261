"""A real server for tests."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import settings

# Machines that run tests may be busy: an example has no deadline.
settings.register_profile("brisk", deadline=None)
settings.load_profile("brisk")


class Running:
    """A server process and its address."""

    def __init__(self, table: Path | str, *options: str) -> None:
        command = [sys.executable, "-m", "brisk_fleet", "serve", "--table", str(table), "--port", "0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.match(r"listening at (http://\S+), (\d+) submissions", line)
        assert found, f"{line!r} {self.process.stderr.read() if self.process.stderr else ''}"
        self.url, self.count = found[1], int(found[2])
        self.client = httpx.Client(base_url=self.url, timeout=30)

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(30)
        self.client.close()

    def stop(self) -> str:
        self.client.close()
        self.process.terminate()
        _, err = self.process.communicate(timeout=60)
        return err


def fleet_command(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs the command as a process of its own."""
    command = [sys.executable, "-m", "brisk_fleet", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **options)


Start = Callable[..., Running]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts servers, by default over one table of this test, and ends those that are left."""
    running: list[Running] = []

    def started(*options: str, table: Path | str = tmp_path / "table") -> Running:
        running.append(Running(table, *options))
        return running[-1]

    yield started
    for one in running:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait(30)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MiB, in memory."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "brisk-fleet-test", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"no right to mount (CAP_SYS_ADMIN): {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kills", type=int, default=6, help="how often a server is killed under load")
    parser.addoption("--malformed", type=int, default=300, help="malformed submissions")
    parser.addoption("--rows", type=int, default=1_000_000, help="rows of the table on which engines are compared")
    parser.addoption("--brisk", default=None, help="the command brisk, which submits results")
