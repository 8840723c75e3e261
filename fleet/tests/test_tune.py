"""From the frontiers of a fleet to a tuned device: `brisk-fleet profiles`, then `brisk tune --from` on an emulated
device.

Needs root, the commands brisk and brisk-lab (option --brisk), and FUSE and loop devices.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fleet
import pytest

from brisk_fleet import submission
from brisk_fleet.cli import main
from brisk_fleet.minisign import Key
from brisk_fleet.table import Table

pytestmark = pytest.mark.full

# Its gain is large beside the noise of six pairs; that of galaxy-s5-emmc is not.
PRESET = "nexus4-emmc"
# Reads before writes, and no more writes in flight than the device takes, so that writes keep their throughput.
GOOD = {
    "scheduler": "mq-deadline",
    "mq-deadline/async_depth": "4",
    "mq-deadline/fifo_batch": "1",
    "mq-deadline/prio_aging_expire": "100",
}


@dataclass
class Device:
    """An emulated device with a file system, and where this test keeps things."""

    brisk: Path
    name: str
    folder: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"BRISK_RUN_DIR": str(self.folder / "run")}
        return subprocess.run(
            [str(self.brisk), *arguments], env=environment, capture_output=True, text=True, check=False
        )

    def tune(self, file: Path, *more: str) -> subprocess.CompletedProcess[str]:
        folders = ("--profiles", str(self.folder / "kept"), "--run-dir", str(self.folder / "run"))
        return self.run(
            "tune", self.name, "--from", str(file), "--key", str(self.folder / "fleet.pub"), *folders, *more
        )

    def queue(self) -> dict[str, str]:
        files = [
            Path(f"/sys/block/{self.name}/queue") / name
            for name in ("scheduler", "nr_requests", "wbt_lat_usec", "max_sectors_kb")
        ]
        return {file.name: file.read_text(encoding="utf-8") for file in files}

    def kept(self) -> str | None:
        file = next((self.folder / "kept").rglob("*.toml"), None)
        return file.read_text(encoding="utf-8") if file else None


@pytest.fixture
def device(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Device]:
    brisk = request.config.getoption("--brisk")
    if brisk is None:
        pytest.skip("needs the command brisk: --brisk")
    found = Device(Path(brisk), "", tmp_path)
    up = found.run("lab", "up", "--preset", PRESET, "--size", "1GiB", "--backend", "fuse", "--quiet")
    if up.returncode != 0:
        pytest.skip(f"no emulated device here: {up.stderr.strip()[-300:]}")
    node = up.stdout.strip().splitlines()[-1]
    found.name = node.removeprefix("/dev/")
    place = tmp_path / "mounted"
    place.mkdir()
    subprocess.run(["mkfs.ext4", "-q", node], check=True)
    subprocess.run(["mount", node, str(place)], check=True)
    yield found
    subprocess.run(["umount", str(place)], check=True)
    down = found.run("lab", "down", node)
    assert down.returncode == 0, down.stderr


def made(folder: Path, settings: dict[str, str], priorities: bool = False, model: str = PRESET) -> Path:
    """The settings of a fleet of six devices, through table, ranking and signature."""
    rows = []
    for number in range(6):
        one = fleet.frontier(0.3 + 0.01 * number)
        one["points"][1] |= {"scheduler": settings["scheduler"], "settings": settings, "priorities": priorities}
        rows.append(
            submission.row(fleet.accepted(fleet.envelope([one], kind="emmc") | {}), dt.date(2026, 11, 25))
            | {"storage_model": model}
        )
    out = folder / f"out-{len(list(folder.glob('out-*')))}"
    table = Table.create(str(out / "table"))
    with table.writing():
        table.append(rows)
    key = folder / "fleet.key"
    if not key.exists():
        assert main(["keygen", str(key)]) == 0
    assert main(["profiles", "--table", str(out / "table"), "--key", str(key), "--emulated", str(out)]) == 0
    return out / "profiles.json"


def test_settings_of_a_fleet_are_kept_where_the_device_agrees(device: Device) -> None:
    before = device.queue()
    file = made(device.folder, GOOD, priorities=True)
    checked = device.tune(file, "--check", "--json")
    assert (checked.returncode, json.loads(checked.stdout)["devices"][0]["outcome"]) == (1, "to_compare")
    tuned = device.tune(file, "--json")
    assert tuned.returncode == 0, tuned.stderr
    one: dict[str, Any] = json.loads(tuned.stdout)["devices"][0]
    print(one["outcome"], one["measured"])
    if one["outcome"] == "searched" and "cpu_pressure" in one["measured"]["warnings"]:
        pytest.skip(f"this machine is too busy for the emulated device's times: {one['measured']}")
    assert one["outcome"] == "kept", one
    assert one["measured"]["pairs"] >= 6
    assert one["measured"]["read_ratio_high"] < 1
    assert one["measured"]["write_percent"] >= 90
    kept = device.kept()
    assert kept is not None
    assert kept.startswith("# Of a fleet, made 20")
    assert 'async_depth = "4"' in kept
    assert "[evidence]" in kept
    assert device.queue() == before
    # What was measured here stays.
    again = device.tune(made(device.folder, {"scheduler": "none"}), "--json")
    assert (again.returncode, json.loads(again.stdout)["devices"][0]["outcome"]) == (0, "present")
    assert device.kept() == kept


def test_settings_without_a_gain_here_are_not_kept(device: Device) -> None:
    before = device.queue()
    current = before["scheduler"].split("[")[1].split("]")[0]
    # What the device has already, whatever the fleet says of it.
    tuned = device.tune(made(device.folder, {"scheduler": current, "max_sectors_kb": "256"}), "--quick", "--json")
    assert tuned.returncode == 0, tuned.stderr
    one = json.loads(tuned.stdout)["devices"][0]
    assert one["outcome"] == "searched", one
    assert one["measured"]["agrees"] is False
    assert one["why"] in ("reads are not faster here for certain", "writes lose too much here")
    assert "Of a fleet" not in (device.kept() or "")
    assert device.queue() == before


def test_what_cannot_be_trusted_or_applied_changes_nothing(device: Device) -> None:
    before = device.queue()

    def refused(file: Path, *more: str) -> str:
        tuned = device.tune(file, *more)
        assert tuned.returncode == 2, tuned
        assert device.kept() is None
        assert device.queue() == before
        return tuned.stderr

    good = made(device.folder, GOOD, priorities=True)
    assert "is out of range: 4 to 16" in refused(
        made(device.folder, {"scheduler": "mq-deadline", "nr_requests": "4096"})
    )
    unknown = refused(made(device.folder, {"scheduler": "mq-deadline", "rotational": "1"}))
    assert "'rotational' is no setting that a search tries with scheduler mq-deadline" in unknown
    assert "this kernel has no scheduler 'adios'" in refused(
        made(device.folder, {"scheduler": "adios", "nr_requests": "8"})
    )
    other = refused(made(device.folder, GOOD, True, "galaxy-s5-emmc"))
    assert f"the file has no settings for model {PRESET}" in other
    good.write_bytes(good.read_bytes().replace(b'"100"', b'"999"'))
    assert "is damaged or was changed" in refused(good)
    (device.folder / "fleet.pub").write_text(Key.generate().public_text(), encoding="utf-8")
    assert "it is by another key than" in refused(good)
    (device.folder / "fleet.pub").unlink()
    assert "fleet.pub" in refused(good)
