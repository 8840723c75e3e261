"""The command `brisk-fleet`: wiring."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime as dt
import ipaddress
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from brisk_fleet import __version__, files, reading, whole
from brisk_fleet.errors import FleetError
from brisk_fleet.limits import Network
from brisk_fleet.table import Table


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; gives the exit code: 0, 1 for refused entries of files, 2 for a failure, 128 and the number of a
    signal."""
    args = _parser().parse_args(arguments)
    try:
        with contextlib.nullcontext() if args.run is _serve else _ended_by_signals():
            code: int = args.run(args)
    except FleetError as error:
        code = 2
        _tell(f"brisk-fleet: {error}")
    except OSError as error:
        # Of what no sentence was made, such as a folder for temporary files: it names the file.
        code = 2
        _tell(f"brisk-fleet: {error}")
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except _EndedError as ended:
        code = 128 + ended.signal
    return _closed(code)


class _EndedError(BaseException):  # no fault: what is half written goes on the way out
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Signals that would end the process at once end the command as Ctrl-C does: it leaves no half-written file."""

    def end(number: int, _frame: object) -> None:
        raise _EndedError(number)

    wanted = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]
    for number in wanted:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in wanted:
            signal.signal(number, signal.SIG_DFL)


def _closed(code: int) -> int:
    """Hands what was written to its readers. One that has gone changes no status; a full disk does."""
    try:
        sys.stdout.flush()
    except OSError as error:
        # The interpreter would try again at its end, and fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            _tell(f"brisk-fleet: cannot write standard output: {error.strerror}")
            return code or 2
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="brisk-fleet",
        description="Storage results of many devices: receive, rank, publish.",
        epilog="Exit status: 0 done; 1 some entries of ingested files were refused, the rest is stored; 2 failure, "
        "files that were to be written are as before; 130, 143 ended by a signal, likewise.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(
        name: str, run: object, about: str, has_table: bool = True, epilog: str | None = None
    ) -> argparse.ArgumentParser:
        found = commands.add_parser(name, help=about, description=about, epilog=epilog)
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
    serve.add_argument("--port", type=_port, default=8029, help="0: any free one (default: %(default)s)")
    serve.add_argument(
        "--per-minute", type=float, default=30.0, metavar="N", help="submissions of one address (default: %(default)s)"
    )
    serve.add_argument("--burst", type=int, default=30, metavar="N", help="of these at once (default: %(default)s)")
    serve.add_argument(
        "--proxy",
        type=_network,
        action="append",
        default=[],
        metavar="ADDRESS",
        help="reverse proxy, or network of some, whose X-Forwarded-For tells the sender's address (repeatable)",
    )
    serve.add_argument(
        "--own",
        type=_network,
        action="append",
        default=[],
        metavar="NETWORK",
        help="network of your own devices, such as 192.168.0.0/16 (repeatable): each of its submissions has a vote; "
        "any other network, /24 of IPv4 or /48 of IPv6, has one vote a day",
    )

    ingest = command(
        "ingest",
        _ingest,
        "Store the submissions of files, as 'brisk submit --output' and 'export' write them; compressed by gzip or not",
        epilog="Exit status: 0 all are in the table; 1 some entries were refused (standard error names each), "
        "the rest is in the table; "
        "2 failure: standard error says why.",
    )
    ingest.add_argument(
        "paths",
        type=Path,
        nargs="+",
        metavar="PATH",
        help="file; folder: its .json, .jsonl and .ndjson files, also with .gz, at any depth; -: standard input",
    )
    ingest.add_argument("--json", action="store_true", help="counts and refused entries as JSON on standard output")

    command("compact", _compact, "Join small files, and remove files that no version needs")

    export = command(
        "export", _export, "Write the table as FILE.parquet (for analysis) or FILE.jsonl (to ingest again)"
    )
    export.add_argument("out", type=Path, metavar="FILE", help="it is whole or as before; -: standard output")
    export.add_argument("--format", choices=("parquet", "jsonl"), help="(default: by the ending of FILE)")

    publish = command("publish", _publish, "Write a static site: distributions, ranked models, a page for each")
    publish.add_argument("out", type=Path, metavar="OUT")
    publish.add_argument("--engine", choices=("duckdb", "spark"), default="duckdb", help="(default: %(default)s)")
    publish.add_argument(
        "--emulated", action="store_true", help="of emulated devices instead of real ones; each page says so"
    )

    profiles = command("profiles", _profiles, "Write signed settings with evidence for each model and firmware")
    profiles.add_argument("out", type=Path, metavar="OUT")
    profiles.add_argument(
        "--key", type=Path, required=True, metavar="FILE", help="secret key, of keygen or 'minisign -G -W'"
    )
    profiles.add_argument("--emulated", action="store_true", help="of emulated devices instead of real ones")

    keygen = command("keygen", _keygen, "Make a pair of keys: FILE, and FILE with the ending .pub", has_table=False)
    keygen.add_argument("file", type=Path, metavar="FILE")

    simulate = command(
        "simulate", _simulate, "Submit emulated devices to a fleet, measured in model time", has_table=False
    )
    simulate.add_argument("--server", required=True, metavar="URL")
    simulate.add_argument(
        "--devices", type=int, default=2611, metavar="N", help="(default: %(default)s, as in the published study)"
    )
    simulate.add_argument("--seed", type=int, default=1, metavar="S", help="(default: %(default)s)")
    simulate.add_argument(
        "--storebench", type=Path, required=True, metavar="PROGRAM", help="the example storebench of brisk-lab"
    )
    simulate.add_argument("--brisk", type=Path, required=True, metavar="PROGRAM", help="the command brisk")
    return parser


def _today() -> dt.date:
    return dt.datetime.now(dt.UTC).date()


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 1 << 16):
        raise argparse.ArgumentTypeError(f"'{text}' is no port: 0 to 65535")
    return int(text)


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no address or network: {error}") from error


def _say(text: str) -> None:
    """A report. Without a reader it changes nothing."""
    try:
        sys.stdout.write(f"{text}\n")
    except BrokenPipeError:
        return
    except OSError as error:
        raise FleetError(f"cannot write standard output: {error.strerror}") from error


def _tell(text: str) -> None:
    """A message; without a reader it changes nothing."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{text}\n")


def _serve(args: argparse.Namespace) -> int:
    from brisk_fleet import server

    if args.per_minute <= 0 or args.burst < 1:
        raise FleetError("--per-minute and --burst are positive")
    options = server.Options(args.per_minute, args.burst, proxies=tuple(args.proxy), own=tuple(args.own))
    server.serve(args.table, args.host, args.port, options)
    return 0


def _ingest(args: argparse.Namespace) -> int:
    entries: list[dict[str, str]] = []

    def tell(entry: reading.Refused | reading.Skipped) -> None:
        state = "refused" if isinstance(entry, reading.Refused) else "skipped"
        _tell(f"{state}: {entry.place}: {entry.why}")
        if args.json:
            entries.append({"state": state, "entry": entry.place, "why": entry.why})

    got = files.ingest(args.table, args.paths, _today(), tell)
    if args.json:
        _say(json.dumps({"kind": "fleet_ingest", **dataclasses.asdict(got), "entries": entries}, indent=1))
    else:
        _say(
            f"{got.stored} stored, {got.known} known already, {got.refused} refused"
            + (f", {got.skipped} skipped" if got.skipped else "")
        )
    return 1 if got.refused else 0


def _compact(args: argparse.Namespace) -> int:
    table = Table(args.table)
    with table.writing(), table.failures("write to"):
        before, after = table.compact()
    _say(f"{before} files became {after}")
    return 0


def _export(args: argparse.Namespace) -> int:
    count = files.export(Table(args.table), args.out, args.format)
    (_tell if str(args.out) in whole.STDOUT else _say)(f"{count} submissions written to {args.out}")
    return 0


def _publish(args: argparse.Namespace) -> int:
    from brisk_fleet import queries, site

    table = Table(args.table)
    with queries.failures(table):
        pages = site.publish(table, args.out, args.engine, args.emulated, _today())
    _say(f"{pages} pages written: {args.out / 'index.html'}")
    return 0


def _profiles(args: argparse.Namespace) -> int:
    from brisk_fleet import minisign, profiles, queries

    try:
        key = minisign.Key.parse(args.key.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise FleetError(f"cannot read the key {args.key}: {error}") from error
    table = Table(args.table)
    with queries.failures(table), table.failures("read"):
        usable = queries.usable(queries.whole(queries.connect("duckdb"), table), args.emulated)
        count = profiles.write(usable, args.emulated, args.out, key, dt.datetime.now(dt.UTC))
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
    submitted = simulate.simulate(programs, args.server, args.devices, args.seed)
    _say(f"{submitted} emulated devices submitted to {args.server}")
    return 0
