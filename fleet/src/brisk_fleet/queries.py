"""What the site asks of the table: Ibis expressions, the same for DuckDB and Spark.

`usable` is the table without what quality flags exclude, of emulated devices or of real ones, never both. Each function
takes it (or the whole table, where it says so) and gives an expression.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import duckdb
import ibis
from ibis import _
from ibis.expr.types import FloatingColumn, FloatingScalar, Table

from brisk_fleet import columns
from brisk_fleet.errors import FleetError
from brisk_fleet.robust import FENCE, NORMAL_QUARTILES
from brisk_fleet.table import Table as FleetTable

GRID = tuple(round(step / 40.0, 4) for step in range(1, 40))
"""Probabilities at which distributions are drawn."""

QUARTILES = (0.25, 0.5, 0.75)

_SPREAD_MIN = 0.01


def connect(engine: str) -> Any:
    """Gives a backend: `duckdb`, embedded, or `spark`.

    Raises:
        FleetError: when the engine is not installed.
    """
    if engine == "duckdb":
        # Its own choice for what memory does not hold is the folder in which the command was started.
        return ibis.duckdb.connect(temp_directory=_spill(), **DUCKDB)
    return ibis.pyspark.connect(_spark())


DUCKDB: dict[str, Any] = {}
"""More settings of DuckDB."""


def _spill() -> str:
    """The folder for what memory does not hold; none where no folder for temporary files can be written, as in a
    container."""
    try:
        return str(Path(tempfile.gettempdir(), f"brisk-fleet-{os.getpid()}"))
    except FileNotFoundError:
        return ""


@contextmanager
def failures(table: FleetTable) -> Iterator[None]:
    """Turns failures of the engines into sentences: a damaged table, too little memory, a full disk for what memory
    does not hold."""
    try:
        yield
    except _engine_errors() as error:
        why = str(error).strip().split("\n", 1)[0][:400]
        hint = ""
        if isinstance(error, duckdb.OutOfMemoryException):
            hint = f"; what memory does not hold goes to '{_spill()}': TMPDIR names a folder with more space"
        raise FleetError(f"cannot compute from the table {table.place}: {why}{hint}") from error


def _engine_errors() -> tuple[type[Exception], ...]:
    if "pyspark" not in sys.modules:
        return (duckdb.Error,)
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return (duckdb.Error, Py4JError, PySparkException)


def _spark() -> Any:
    """A Spark session, by default on this machine; PYSPARK_SUBMIT_ARGS (`--master ... pyspark-shell`) names another,
    and its memory."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise FleetError("Spark is not installed: pip install 'brisk-fleet[spark]'; it needs Java 17") from error
    session = SparkSession.builder.appName("brisk-fleet").config("spark.sql.session.timeZone", "UTC")
    session = (
        session.config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.ui.showConsoleProgress", "false")
    )
    if "PYSPARK_SUBMIT_ARGS" not in os.environ:
        # Spark's own default is 1 GiB whatever the machine has, and 200 tasks for each grouping whatever its size.
        memory_mib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
        session = session.master("local[*]").config("spark.driver.memory", f"{max(1024, memory_mib // 2)}m")
        session = session.config("spark.sql.shuffle.partitions", str(4 * (os.cpu_count() or 1)))
        # All is one process. One that was stopped, or waited for a processor, for two minutes is not dead.
        session = session.config("spark.network.timeout", "1d").config("spark.driver.host", "127.0.0.1")
        session = session.config("spark.driver.bindAddress", "127.0.0.1")
    try:
        return session.getOrCreate()
    except (RuntimeError, OSError) as error:
        raise FleetError(f"Spark does not start ({error}); it needs Java 17, by PATH or JAVA_HOME") from error


def whole(backend: Any, table: FleetTable) -> Table:
    """Gives the published columns of all submissions of the current version."""
    files = table.files()
    if not files:
        return cast(
            Table, ibis.memtable(columns.SCHEMA.empty_table().select([column.name for column in columns.PUBLIC]))
        )
    if backend.name == "pyspark":
        # Ibis takes one path only. Hadoop's name of S3 is another.
        backend._session.read.parquet(*(file.replace("s3://", "s3a://", 1) for file in files)).createOrReplaceTempView(
            "submissions"
        )
        found = backend.table("submissions")
    elif table.local is None:
        # DuckDB would have to download an extension for S3.
        found = ibis.memtable(table.dataset())
    else:
        found = backend.read_parquet(files, table_name="submissions")
    return cast(Table, found.select([column.name for column in columns.PUBLIC] + ["settings"]))


def usable(table: Table, emulated: bool) -> Table:
    """Submissions that statistics use."""
    return table.filter(~table.excluded, table.emulated == emulated)


def counts(table: Table) -> Table:
    """Of the whole table: submissions, by emulated or not and by excluded or not."""
    return table.group_by("emulated", "excluded").agg(submissions=_.count(), models=_.model.nunique())


def by_class(table: Table) -> Table:
    """Devices and models of each class."""
    return table.group_by("device_class").agg(devices=_.count(), models=_.model.nunique()).order_by("device_class")


def by_month(table: Table) -> Table:
    """Devices by the month of measuring."""
    return table.group_by(month=_.day.strftime("%Y-%m")).agg(devices=_.count()).order_by("month")


def flags(table: Table) -> Table:
    """Of the whole table: how often each warning occurs."""
    return table.select(flag=_.flags.unnest()).group_by("flag").agg(submissions=_.count()).order_by("flag")


def kernels(table: Table) -> Table:
    """Devices and median durable write by kernel version."""
    return table.group_by("kernel").agg(devices=_.count(), fsync_us=_.fsync_us_p50.quantile(0.5)).order_by("kernel")


def distribution(table: Table, column: str) -> Table:
    """Quantiles of a measure over all devices, at `GRID`: one row."""
    found = table.agg(devices=table[column].count(), grid=_quantiles(table, column, GRID))
    return found.select("devices", **{f"q{index}": found.grid[index] for index in range(len(GRID))})


def medians_by_class(table: Table, names: list[str]) -> Table:
    """Median and quartiles of measures by class: `NAME_p25`, `NAME_p50`, `NAME_p75`, `NAME_devices`."""
    aggregates: dict[str, Any] = {}
    for name in names:
        aggregates[f"{name}_devices"] = table[name].count()
        aggregates[name] = _quantiles(table, name, QUARTILES)
    found = table.group_by("device_class").agg(**aggregates)
    shown: dict[str, Any] = {}
    for name in names:
        shown[f"{name}_devices"] = found[f"{name}_devices"]
        for index, label in enumerate(("p25", "p50", "p75")):
            shown[f"{name}_{label}"] = found[name][index]
    return found.select("device_class", **shown).order_by("device_class")


def asymmetry(table: Table) -> Table:
    """Slowdown of reads over that of writes by class, median of devices, one stream of each (figure 4.3b)."""
    ratios = table.mutate(
        sequential=table.sequential_read_slowdown_1_ratio / table.sequential_write_slowdown_1_ratio,
        random=table.random_read_slowdown_1_ratio / table.random_write_slowdown_1_ratio,
    )
    return (
        ratios.group_by("device_class")
        .agg(sequential=_quantile(ratios, "sequential", 0.5), random=_quantile(ratios, "random", 0.5))
        .order_by("device_class")
    )


def models(table: Table, column: str) -> Table:
    """Median and quartiles of a measure by class and model, without outliers, and how many devices gave them
    (`robust.summary`)."""
    values = table.filter(table[column] > 0).select("device_class", "model", log=table[column].ln())
    keys = ["device_class", "model"]
    first = values.group_by(keys).agg(quartiles=_quantiles(values, "log", QUARTILES), all=values.count())
    spread = ibis.greatest((first.quartiles[2] - first.quartiles[0]) / NORMAL_QUARTILES, ibis.literal(_SPREAD_MIN))
    fences = first.select(*keys, "all", centre=first.quartiles[1], reach=FENCE * spread)
    joined = values.inner_join(fences, keys)
    kept = joined.filter((joined.log - joined.centre).abs() <= joined.reach)
    found = kept.group_by(keys).agg(
        quartiles=_quantiles(kept, "log", QUARTILES), devices=kept.count(), all=kept["all"].max()
    )
    return found.select(
        *keys,
        "devices",
        lower_quartile=found.quartiles[0].exp(),
        median=found.quartiles[1].exp(),
        upper_quartile=found.quartiles[2].exp(),
        outliers=found["all"] - found.devices,
    ).order_by(keys)


def facts(table: Table) -> Table:
    """Of each model: devices, capacities and medians that its page shows."""
    shown = {name: _quantile(table, name, 0.5) for name in FACTS}
    return (
        table.group_by("device_class", "model")
        .agg(all_devices=table.count(), size_min_gib=table.size_gib.min(), size_max_gib=table.size_gib.max(), **shown)
        .order_by("device_class", "model")
    )


FACTS = (
    "sequential_read_bytes_per_s",
    "sequential_write_bytes_per_s",
    "random_read_bytes_per_s",
    "random_write_bytes_per_s",
    "random_read_us_p50",
    "random_read_us_p99",
    "random_write_us_p50",
    "fsync_us_p50",
    "sequential_read_slowdown_1_ratio",
    "random_read_slowdown_1_ratio",
)


def settings(table: Table) -> Table:
    """Evidence for settings by model and firmware: each setting that any of its devices had on the frontier."""
    rows = table.select("device_class", "storage_model", "firmware", point=table.settings.unnest())
    flat = rows.select(
        "device_class",
        "storage_model",
        firmware=rows.firmware.fill_null(""),
        **{name: rows.point[name] for name in ("scheduler", "settings", "priorities", "read_ratio", "write_percent")},
    ).filter(_.settings != "{}")
    keys = ["device_class", "storage_model", "firmware", "scheduler", "settings", "priorities"]
    ratio, write = "read_ratio", "write_percent"
    found = flat.group_by(keys).agg(
        devices=flat.count(),
        read_ratio=_quantiles(flat, ratio, QUARTILES),
        write_percent_p50=_quantile(flat, write, 0.5),
    )
    quartiles = {f"read_ratio_{label}": found.read_ratio[index] for index, label in enumerate(("p25", "p50", "p75"))}
    return found.select(*keys, "devices", "write_percent_p50", **quartiles).order_by(keys)


def proofs(table: Table) -> Table:
    """Launch time with brisk over that without, by class."""
    return (
        table.group_by("device_class")
        .agg(
            devices=table.prove_loaded_ratio.count(),
            loaded=_quantile(table, "prove_loaded_ratio", 0.5),
            idle=_quantile(table, "prove_idle_ratio", 0.5),
        )
        .order_by("device_class")
    )


def _quantiles(table: Table, column: str, probabilities: Sequence[float]) -> Any:
    """An array of quantiles: engines then hold the values of a column once, not once for each quantile."""
    return cast(FloatingColumn, table[column]).quantile(list(probabilities))


def _quantile(table: Table, column: str, p: float) -> FloatingScalar:
    return cast(FloatingScalar, cast(FloatingColumn, table[column]).quantile(p))
