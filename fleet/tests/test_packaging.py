"""The unit and the container start what is there, and the unit is confined."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from brisk_fleet import cli

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "packaging" / "brisk-fleet.service"
CONTAINER = ROOT / "fleet" / "Containerfile"
PROGRAM = "/opt/brisk-fleet/bin/brisk-fleet"


def test_the_unit_and_the_container_give_the_server_what_it_takes() -> None:
    unit = UNIT.read_text(encoding="utf-8")
    start = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    values = re.search(r"^Environment=(.*)$", unit, re.MULTILINE)
    assert start
    assert values
    line = start[1].replace("%S", "/var/lib")
    for name, value in (one.split("=") for one in values[1].split()):
        line = line.replace(f"${{{name}}}", value)
    container = CONTAINER.read_text(encoding="utf-8")
    command = re.search(r"^CMD \[(.*)\]$", container, re.MULTILINE)
    assert command
    for program, *arguments in (shlex.split(line), [PROGRAM, *shlex.split(command[1].replace(",", " "))]):
        args = cli._parser().parse_args(arguments)
        assert (program, args.run, args.table) == (PROGRAM, cli._serve, "/var/lib/brisk-fleet/table")
    assert f'ENTRYPOINT ["{PROGRAM}"]' in container
    # All that the source links to is copied too.
    copied = [
        ROOT / line.split()[1] for line in container.splitlines() if line.startswith("COPY ") and "--from" not in line
    ]
    assert all(path.exists() for path in copied)
    source = ROOT / "fleet" / "src"
    links = {path.resolve() for path in source.rglob("*") if path.is_symlink()}
    assert links
    assert links <= set(copied)


def test_systemd_takes_the_unit_and_rates_it_as_confined(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze")
    # A program that is there, as the unit's own is where it is installed.
    unit = tmp_path / "brisk-fleet.service"
    unit.write_text(UNIT.read_text(encoding="utf-8").replace(PROGRAM, sys.executable), encoding="utf-8")
    verified = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    told = [line for line in verified.stderr.splitlines() if "brisk-fleet" in line]
    assert (told, verified.returncode) == ([], 0), verified.stderr
    rated = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=15", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert rated.returncode == 0, rated.stdout[-500:] + rated.stderr
