"""`brisk-fleet simulate`: a fleet of emulated devices, submitted through the real path.

The devices are drawn and measured in model time by the flash model (`lab/src/flash`, example `storebench`), which
writes documents; `brisk submit` turns each device's documents into a submission and sends it to a fleet.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from brisk_fleet.errors import FleetError


@dataclass(frozen=True)
class Programs:
    """The two programs of the device's side."""

    storebench: Path
    brisk: Path


def simulate(programs: Programs, server: str, devices: int, seed: int, workers: int = 16) -> int:
    """Draws, measures and submits; gives the number of devices.

    Sends `workers` submissions at a time, so that the server can commit them together. Raises `FleetError` when a
    program fails.
    """
    with tempfile.TemporaryDirectory(prefix="brisk-fleet-") as name:
        folder = Path(name)
        _run([str(programs.storebench), str(folder / "results"), str(devices), str(seed)])
        lines = (folder / "results" / "devices.tsv").read_text(encoding="utf-8").splitlines()

        def submit(line: str) -> None:
            file, machine = line.split("\t")
            _run(
                [
                    str(programs.brisk),
                    "submit",
                    str(folder / "results" / file),
                    *("--machine", machine, "--server", server, "--yes", "--quiet"),
                    *("--receipts", str(folder / "receipts")),
                ]
            )

        with ThreadPoolExecutor(workers) as pool:
            for done, _ in enumerate(_in_turn(pool, submit, lines), 1):
                if done % 500 == 0:
                    sys.stderr.write(f"{done} of {devices} devices submitted\n")
        return len(lines)


def _in_turn(pool: ThreadPoolExecutor, submit: object, lines: list[str]) -> Iterator[None]:
    yield from pool.map(submit, lines)  # type: ignore[arg-type]


def _run(command: list[str]) -> None:
    try:
        # The two programs that the user named.
        ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        raise FleetError(f"cannot start {command[0]}: {error.strerror}; 'make fleet' builds it") from error
    if ended.returncode != 0:
        raise FleetError(
            f"{' '.join(command[:3])} failed with status {ended.returncode}: {ended.stderr.strip()[-500:]}"
        )
