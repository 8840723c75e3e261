"""The command `brisk-fleet`: wiring."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from pathlib import Path

from brisk_fleet import __version__, files
from brisk_fleet.errors import FleetError
from brisk_fleet.table import Table


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; gives the exit code: 0, 1 for refused files, 2 for a failure."""
    args = _parser().parse_args(arguments)
    try:
        code: int = args.run(args)
    except FleetError as error:
        sys.stderr.write(f"brisk-fleet: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="brisk-fleet", description="Storage results of many devices: receive, rank, publish.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: object, about: str, has_table: bool = True) -> argparse.ArgumentParser:
        found = commands.add_parser(name, help=about, description=about)
        found.set_defaults(run=run)
        if has_table:
            found.add_argument(
                "--table",
                required=True,
                metavar="PLACE",
                help="directory of the table, or URL of S3-compatible storage",
            )
        return found

    serve = command("serve", _serve, "Receive submissions over HTTP, until it is stopped")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen at (default: %(default)s)")
    serve.add_argument("--port", type=int, default=8029, help="0: any free one (default: %(default)s)")
    serve.add_argument("--per-minute", type=float, default=30.0, metavar="N", help="submissions of one address (default: %(default)s)")
    serve.add_argument("--burst", type=int, default=30, metavar="N", help="of these at once (default: %(default)s)")

    ingest = command("ingest", _ingest, "Store the submissions of files, as 'brisk submit --output' writes them")
    ingest.add_argument("folder", type=Path, metavar="DIR")

    command("compact", _compact, "Join small files, and remove files that no version needs")

    export = command("export", _export, "Write the table as FILE.parquet (for analysis) or FILE.jsonl (to ingest again)")
    export.add_argument("out", type=Path, metavar="FILE")

    publish = command("publish", _publish, "Write a static site: distributions, ranked models, a page for each")
    publish.add_argument("out", type=Path, metavar="OUT")
    publish.add_argument("--engine", choices=("duckdb", "spark"), default="duckdb", help="(default: %(default)s)")
    publish.add_argument("--emulated", action="store_true", help="of emulated devices instead of real ones; each page says so")

    profiles = command("profiles", _profiles, "Write signed settings with evidence for each model and firmware")
    profiles.add_argument("out", type=Path, metavar="OUT")
    profiles.add_argument("--key", type=Path, required=True, metavar="FILE", help="secret key, of keygen or 'minisign -G -W'")
    profiles.add_argument("--emulated", action="store_true", help="of emulated devices instead of real ones")

    keygen = command("keygen", _keygen, "Make a pair of keys: FILE, and FILE with the ending .pub", has_table=False)
    keygen.add_argument("file", type=Path, metavar="FILE")

    simulate = command("simulate", _simulate, "Submit emulated devices to a fleet, measured in model time", has_table=False)
    simulate.add_argument("--server", required=True, metavar="URL")
    simulate.add_argument("--devices", type=int, default=2611, metavar="N", help="(default: %(default)s, as in the published study)")
    simulate.add_argument("--seed", type=int, default=1, metavar="S", help="(default: %(default)s)")
    simulate.add_argument("--storebench", type=Path, required=True, metavar="PROGRAM", help="the example storebench of brisk-flash")
    simulate.add_argument("--brisk", type=Path, required=True, metavar="PROGRAM", help="the command brisk")
    return parser


def _today() -> dt.date:
    return dt.datetime.now(dt.UTC).date()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _serve(args: argparse.Namespace) -> int:
    from brisk_fleet import server

    if args.per_minute <= 0 or args.burst < 1:
        raise FleetError("--per-minute and --burst are positive")
    server.serve(args.table, args.host, args.port, server.Options(args.per_minute, args.burst))
    return 0


def _ingest(args: argparse.Namespace) -> int:
    found = files.ingest(Table.create(args.table), args.folder, _today())
    for sentence in found.refused:
        sys.stderr.write(f"refused: {sentence}\n")
    _say(f"{found.stored} stored, {found.known} known already, {len(found.refused)} refused")
    return 1 if found.refused else 0


def _compact(args: argparse.Namespace) -> int:
    table = Table(args.table)
    with table.writing():
        before, after = table.compact()
    _say(f"{before} files became {after}")
    return 0


def _export(args: argparse.Namespace) -> int:
    _say(f"{files.export(Table(args.table), args.out)} submissions written to {args.out}")
    return 0


def _publish(args: argparse.Namespace) -> int:
    from brisk_fleet import site

    pages = site.publish(Table(args.table), args.out, args.engine, args.emulated, _today())
    _say(f"{pages} pages written: {args.out / 'index.html'}")
    return 0


def _profiles(args: argparse.Namespace) -> int:
    from brisk_fleet import minisign, profiles, queries

    try:
        key = minisign.Key.parse(args.key.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise FleetError(f"cannot read the key {args.key}: {error}") from error
    table = queries.usable(queries.whole(queries.connect("duckdb"), Table(args.table)), args.emulated)
    count = profiles.write(table, args.emulated, args.out, key, dt.datetime.now(dt.UTC))
    _say(f"{count} profiles written and signed: {args.out / 'profiles.json'}")
    return 0


def _keygen(args: argparse.Namespace) -> int:
    from brisk_fleet import minisign

    public = minisign.write_pair(args.file)
    _say(f"secret key: {args.file}; public key, to give away: {public}")
    return 0


def _simulate(args: argparse.Namespace) -> int:
    from brisk_fleet import simulate

    if args.devices < 1:
        raise FleetError("--devices is positive")
    programs = simulate.Programs(args.storebench, args.brisk)
    _say(f"{simulate.simulate(programs, args.server, args.devices, args.seed)} emulated devices submitted to {args.server}")
    return 0
