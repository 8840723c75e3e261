"""`brisk-fleet publish`: the table as a static site that needs no network.

Queries give the numbers (`queries`), `robust` ranks, `charts` draws, templates lay out. Nothing else computes.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import math
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd
import pyarrow.dataset as ds
from markupsafe import Markup

from brisk_fleet import charts, columns, files, queries, robust, submission
from brisk_fleet.errors import FleetError
from brisk_fleet.table import Table
from brisk_fleet.whole import Target, folder

RANKED = "total_bytes_per_s"

PUBLISHED = (
    ("Sequential read slowed by a write", "sequential_read_slowdown_1_ratio", 6.15),
    ("Sequential write slowed by a read", "sequential_write_slowdown_1_ratio", 1.13),
    ("Random read slowed by a write", "random_read_slowdown_1_ratio", 3.18),
    ("Random write slowed by a read", "random_write_slowdown_1_ratio", 1.6),
    ("Best speed-up of sequential reads", "sequential_read_speedup_2_ratio", 1.45),
    ("Best speed-up of sequential writes", "sequential_write_speedup_4_ratio", 1.29),
    ("Best speed-up of random reads", "random_read_speedup_4_ratio", 1.55),
    ("Best speed-up of random writes", "random_write_speedup_2_ratio", 1.41),
)
"""Figures of one Galaxy S5 (dissertation 4.2.3 to 4.2.5), with the columns that hold ours."""


@dataclass(frozen=True)
class Model:
    """A model on the site: numbers in units for people (MB/s, us), ranks within its class."""

    name: str
    device_class: str
    slug: str
    devices: int
    outliers: int
    rank: int
    rank_low: int
    rank_high: int
    ranked_of: int
    median: float
    low: float
    high: float
    shrunk: float
    facts: dict[str, float | None]
    size: str

    @property
    def rank_text(self) -> str:
        """Gives the rank with its range, or that there is none."""
        if self.rank == 0:
            return "too few devices"
        return f"{self.rank}" if self.rank_low == self.rank_high else f"{self.rank} ({self.rank_low}–{self.rank_high})"


def publish(table: Table, out: Path, engine: str, emulated: bool, today: dt.date) -> int:
    """Writes the site into the directory `out`; gives the number of pages.

    Raises:
        FleetError: when there is no device to show, or a file cannot be written.
    """
    backend = queries.connect(engine)
    whole = queries.whole(backend, table)
    count = queries.counts(whole).to_pandas()
    usable = queries.usable(whole, emulated)
    number = int(count[(count["emulated"] == emulated) & ~count["excluded"]]["submissions"].sum())
    excluded = int(count[(count["emulated"] == emulated) & count["excluded"]]["submissions"].sum())
    if number == 0:
        other = int(count[(count["emulated"] != emulated) & ~count["excluded"]]["submissions"].sum())
        hint = (
            f"; there are {other} of {'real' if emulated else 'emulated'} ones: "
            f"{'leave out' if emulated else 'give'} --emulated"
            if other
            else ""
        )
        if excluded:
            found_flags = queries.flags(whole.filter(whole.excluded, whole.emulated == emulated)).to_pandas()["flag"]
            codes = ", ".join(sorted(set(found_flags) & submission.EXCLUDING))
            verb = "is" if excluded == 1 else "are"
            hint = f"; {excluded} {verb} excluded by warnings ({codes}): measure again on an idle device{hint}"
        raise FleetError(f"the table has no usable results of {'emulated' if emulated else 'real'} devices{hint}")
    context = {
        "emulated": emulated,
        "devices": number,
        "excluded": excluded,
        "today": today.isoformat(),
        "devices_min": robust.DEVICES_MIN,
        "fence": robust.FENCE,
    }
    found = models(usable)
    pages = {
        "index.html": _index(usable, whole, found, context),
        "method.html": _render("method.html", context | {"up": ""}),
    }
    medians = {
        row["device_class"]: row
        for row in queries.medians_by_class(usable, list(queries.FACTS)).to_pandas().to_dict("records")
    }
    for model in found:
        page = context | {"model": model, "class_median": medians[model.device_class], "labels": LABELS, "up": "../"}
        pages[f"models/{model.slug}.html"] = _render("model.html", page)
    dictionary = [{"name": column.name, "type": str(column.type), "about": column.about} for column in columns.PUBLIC]
    pages["data/index.html"] = _render("data.html", context | {"dictionary": dictionary, "up": "../"})
    with folder(out) as staged:
        for name, text in pages.items():
            (staged / name).parent.mkdir(exist_ok=True)
            (staged / name).write_text(text, encoding="utf-8")
        data = Path("data", "fleet.parquet")
        shown = ~ds.field("excluded") & (ds.field("emulated") == emulated)
        with (staged / data).open("wb") as file, table.failures("read"):
            files.write_public(table, Target(file, out / data), shown)
    for old in (out / "models").glob("*.html"):
        # Models that are no longer there.
        if f"models/{old.name}" not in pages:
            old.unlink(missing_ok=True)
    return len(pages)


LABELS = {
    "sequential_read_bytes_per_s": ("Sequential reads", "MB/s", 1e-6),
    "sequential_write_bytes_per_s": ("Sequential writes", "MB/s", 1e-6),
    "random_read_bytes_per_s": ("Random reads", "MB/s", 1e-6),
    "random_write_bytes_per_s": ("Random writes", "MB/s", 1e-6),
    "random_read_us_p50": ("Random read, median response time", "us", 1.0),
    "random_read_us_p99": ("Random read, 99th percentile", "us", 1.0),
    "random_write_us_p50": ("Random write, median response time", "us", 1.0),
    "fsync_us_p50": ("Durable write (fsync), median", "us", 1.0),
    "sequential_read_slowdown_1_ratio": ("Sequential read slowed by a write", "times", 1.0),
    "random_read_slowdown_1_ratio": ("Random read slowed by a write", "times", 1.0),
}


def models(usable: Any) -> list[Model]:
    """All models, ranked within their classes by total bandwidth, shrunk to the class; best first."""
    rows = queries.models(usable, RANKED).to_pandas()
    facts = {(row["device_class"], row["model"]): row for row in queries.facts(usable).to_pandas().to_dict("records")}
    found: list[Model] = []
    slugs: set[str] = set()
    for device_class, group in rows.groupby("device_class"):
        values = {
            name: group[name].to_numpy(dtype=np.float64)
            for name in ("median", "lower_quartile", "upper_quartile", "devices")
        }
        estimates = robust.estimate(**values, larger_is_better=True)
        for index, row in enumerate(group.to_dict("records")):
            own = facts[(device_class, row["model"])]
            found.append(
                Model(
                    name=row["model"],
                    device_class=str(device_class),
                    slug=_slug(f"{device_class}-{row['model']}", slugs),
                    devices=int(row["devices"]),
                    outliers=int(row["outliers"]),
                    rank=int(estimates.rank[index]),
                    rank_low=int(estimates.rank_low[index]),
                    rank_high=int(estimates.rank_high[index]),
                    ranked_of=int((estimates.rank > 0).sum()),
                    median=estimates.median[index] / 1e6,
                    low=estimates.low[index] / 1e6,
                    high=estimates.high[index] / 1e6,
                    shrunk=estimates.shrunk[index] / 1e6,
                    facts={name: _number(own[name]) for name in queries.FACTS},
                    size=_sizes(int(own["size_min_gib"]), int(own["size_max_gib"])),
                )
            )
    return sorted(found, key=lambda model: (model.device_class, model.rank == 0, model.rank, model.name))


def _index(usable: Any, whole: Any, found: list[Model], context: dict[str, Any]) -> str:
    curves, quartiles = _distributions(usable)
    slow_names = [f"{p}_{d}_slowdown_{n}_ratio" for n in columns.SLOWDOWN_STREAMS for p, d in columns.LOADS]
    slow = queries.medians_by_class(usable, slow_names).to_pandas()
    speed_names = [f"{p}_{d}_speedup_{n}_ratio" for p, d in columns.LOADS for n in columns.SPEEDUP_STREAMS]
    speed = queries.medians_by_class(usable, speed_names).to_pandas()
    slow_points, speed_points = _slow_points(slow), _speed_points(speed)
    slow_chart = (
        charts.ranges(slow_points, "times slower than alone", "Slowdown by class") if len(slow_points) else None
    )
    asymmetry = queries.asymmetry(usable).to_pandas().to_dict("records")
    # Bars are on the scale of their class.
    widest: dict[str, float] = {}
    for model in found:
        if model.rank:
            widest[model.device_class] = max(widest.get(model.device_class, 0.0), model.high)
    page = context | {
        "up": "",
        "models": found,
        "ranked": sum(model.rank > 0 for model in found),
        "classes": queries.by_class(usable).to_pandas().to_dict("records"),
        "flags": queries.flags(whole).to_pandas().to_dict("records"),
        "excluding": submission.EXCLUDING,
        # SVG of our own, from numbers.
        "curves": Markup(charts.distributions(curves)) if len(curves) else None,  # noqa: S704
        "quartiles": quartiles,
        "keys": Markup(charts.keys()),  # noqa: S704
        "slowdown": Markup(slow_chart) if slow_chart else None,  # noqa: S704
        "slowdown_rows": slow_points.to_dict("records"),
        "asymmetry": [row for row in asymmetry if not math.isnan(row["sequential"] or math.nan)],
        "speedups": _speedups(speed_points),
        "best_speedups": _best(speed_points),
        "published": _published(slow, speed),
        "widest": widest,
    }
    return _render("index.html", page)


def _distributions(usable: Any) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """Points of the four curves, and their quartiles in us."""
    points: list[dict[str, Any]] = []
    quartiles: list[dict[str, Any]] = []
    for pattern, direction in columns.LOADS:
        row = queries.distribution(usable, f"{pattern}_{direction}_us_p50").to_pandas().iloc[0]
        if row["devices"] == 0:
            continue
        load = f"{pattern} {direction}"
        values = {p: float(row[f"q{index}"]) for index, p in enumerate(queries.GRID)}
        points += [{"load": load, "us": us, "share": p} for p, us in values.items()]
        quartiles.append(
            {"load": load, "devices": int(row["devices"]), "p25": values[0.25], "p50": values[0.5], "p75": values[0.75]}
        )
    return pd.DataFrame(points), quartiles


def _slow_points(slow: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for record in slow.to_dict("records"):
        for pattern, direction in columns.LOADS:
            name = f"{pattern}_{direction}_slowdown_1_ratio"
            if record[f"{name}_devices"]:
                quartiles = {p: record[f"{name}_{p}"] for p in ("p25", "p50", "p75")}
                four = _number(record[f"{pattern}_{direction}_slowdown_4_ratio_p50"])
                rows.append(
                    {
                        "device_class": record["device_class"],
                        "load": f"{pattern} {direction}",
                        **quartiles,
                        "four": four,
                    }
                )
    return pd.DataFrame(rows)


def _speed_points(speed: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for record in speed.to_dict("records"):
        for pattern, direction in columns.LOADS:
            for streams in columns.SPEEDUP_STREAMS:
                name = f"{pattern}_{direction}_speedup_{streams}_ratio"
                if record[f"{name}_devices"]:
                    load = f"{pattern} {direction}"
                    rows.append(
                        {
                            "device_class": record["device_class"],
                            "load": load,
                            "streams": streams,
                            "speedup": record[f"{name}_p50"],
                        }
                    )
    return pd.DataFrame(rows)


def _speedups(points: pd.DataFrame) -> list[tuple[str, Markup]]:
    """A chart for each class."""
    if not len(points):
        return []
    name = "Speed-up of concurrent streams over streams one after the other, {}; the table below has the best"
    return [
        (str(device_class), Markup(charts.speedups(group, name.format(device_class))))  # noqa: S704
        for device_class, group in points.groupby("device_class")
    ]


def _best(speed_points: pd.DataFrame) -> list[dict[str, Any]]:
    """By class and load, the fewest streams whose speed-up is within 2 % of the best; one stream where more gain
    nothing."""
    rows: list[dict[str, Any]] = []
    if not len(speed_points):
        return rows
    for (device_class, load), group in speed_points.groupby(["device_class", "load"]):
        best = group["speedup"].max()
        first = group[group["speedup"] >= 0.98 * best].sort_values("streams").iloc[0]
        streams, speedup = (int(first["streams"]), float(first["speedup"])) if best > 1.02 else (1, 1.0)
        rows.append({"device_class": device_class, "load": load, "streams": streams, "speedup": speedup})
    return rows


def _published(slow: pd.DataFrame, speed: pd.DataFrame) -> list[dict[str, Any]]:
    """The published figures of a Galaxy S5 beside the medians of this fleet's eMMC devices."""
    rows = []
    for text, column, value in PUBLISHED:
        frame = slow if "slowdown" in column else speed
        own = frame[frame["device_class"] == "emmc"]
        ours = _number(own[f"{column}_p50"].iloc[0]) if len(own) else None
        rows.append({"text": text, "published": value, "ours": ours})
    return rows


def _number(value: Any) -> float | None:
    return None if value is None or math.isnan(float(value)) else float(value)


def _sizes(least: int, most: int) -> str:
    return f"{least} GiB" if least == most else f"{least} to {most} GiB"


def _slug(text: str, taken: set[str]) -> str:
    """A file name: letters, digits and dashes, unique."""
    stem = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "model"
    slug, number = stem, 1
    while slug in taken:
        number += 1
        slug = f"{stem}-{number}"
    taken.add(slug)
    return slug


def _sig(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits, as people read it."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    rounded = round(value, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{rounded:,.{decimals}f}"


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("brisk_fleet", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["sig"] = _sig
    return environment


@cache
def _inline() -> dict[str, Any]:
    """Style, script and policy: inline, and nothing else may run or load. A page works from a folder, and no request
    leaves it."""
    folder = resources.files("brisk_fleet").joinpath("templates")
    # The style of `brisk report` itself, and what it has no need of.
    style = "".join(folder.joinpath(name).read_text(encoding="utf-8") for name in ("report.css", "site.css"))
    script = folder.joinpath("site.js").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return {"style": Markup(style), "script": Markup(script), "policy": policy}  # noqa: S704  # files of this package


def _render(name: str, context: dict[str, Any]) -> str:
    return _environment().get_template(name).render(**context, **_inline())


def _digest(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
