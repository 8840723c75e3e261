"""From submissions to a site and to signed settings, with the real table and engine."""

from __future__ import annotations

import datetime as dt
import functools
import json
import pickle
import re
import shutil
import subprocess
import sys
import threading
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import engines
import fleet
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from brisk_fleet import charts, minisign, queries, robust, site, submission
from brisk_fleet.cli import main
from brisk_fleet.errors import FleetError
from brisk_fleet.table import Table

TODAY = dt.date(2026, 11, 25)
FLEET = [
    ("A <b>1", 40, 1.0, "emmc"),
    ("A2", 12, 1.3, "emmc"),
    ("A3", 3, 2.0, "emmc"),
    ("U1", 20, 4.0, "ufs"),
    ("C1", 8, 0.2, "sd"),
]


def filled(place: Path) -> Table:
    table = Table.create(str(place))
    rows = []
    for seed, (model, count, centre, kind) in enumerate(FLEET):
        # The schema has no such name: the site has to hold without it.
        made = fleet.devices("A1" if "<" in model else model, count, centre, seed, kind=kind)
        rows += [submission.row(fleet.accepted(one), TODAY) | {"model": model} for one in made]
    rows.append(submission.row(fleet.accepted(fleet.envelope([fleet.bench(1.0, ("cpu_pressure",))], "A2")), TODAY))
    with table.writing():
        table.append(rows)
    return table


class Page(HTMLParser):
    """Links and ids of a page, and whether it names anything outside."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.outside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src", "action", "data") and value:
                (self.outside if re.match(r"[a-z]+:|//", value) else self.links).append(value)


def test_a_site_is_whole_honest_and_asks_for_nothing(tmp_path: Path) -> None:
    table = filled(tmp_path / "table")
    out = tmp_path / "site"
    assert site.publish(table, out, "duckdb", True, TODAY) == 3 + len(FLEET)
    pages = sorted(out.rglob("*.html"))
    for path in pages:
        text = path.read_text(encoding="utf-8")
        page = Page(text)
        assert "All devices on this page are emulated" in text
        assert page.outside == []
        assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text
        assert "<b>1" not in text
        for link in page.links:
            target = link.split("#")[0]
            assert not target or (path.parent / target).resolve().is_file(), f"{path}: {link}"
    index = (out / "index.html").read_text(encoding="utf-8")
    # Response times, slowdown, and the streams of each class.
    assert index.count('role="img"') == 2 + len({kind for *_, kind in FLEET})
    assert index.count('class="interval"') == sum(count >= robust.DEVICES_MIN for _, count, _, _ in FLEET)
    assert "too few devices" in index
    assert "1 more submissions are excluded" in index
    data = pq.read_table(out / "data" / "fleet.parquet")
    assert data.num_rows == sum(count for _, count, _, _ in FLEET)
    assert "deletion_key_sha256" not in data.column_names
    assert "document" not in data.column_names


REPORT_STYLE = Path(__file__).parents[2] / "report" / "src" / "page" / "style.css"


def test_pages_have_the_style_of_reports_and_charts_their_width(tmp_path: Path) -> None:
    site.publish(filled(tmp_path / "table"), tmp_path / "site", "duckdb", True, TODAY)
    for path in (tmp_path / "site").rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert REPORT_STYLE.read_text(encoding="utf-8") in text
        assert '<h1 class="brand">' in text
        # A chart is drawn for a phone's width, and shrinks with its page.
        for box in re.findall(r'<svg[^>]*viewBox="([^"]*)"[^>]*role="img"', text):
            assert float(box.split()[2]) <= charts.WIDTH + 5, box
        # No colour but those of the style, which has them for light, dark and paper.
        for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
            assert not re.search(r'(?:fill|stroke)="(?:#|rgb|black|white)', svg)


MEASURE = """<!doctype html>
<iframe id="page" width="390" height="2000" style="border:0" src="/index.html"></iframe>
<script>
addEventListener("load", () => {
  const page = document.getElementById("page").contentDocument;
  const all = [...page.querySelectorAll("svg[role=img], p, h3, .keys li, header *")];
  const cut = all.filter((one) => one.getBoundingClientRect().right > 390);
  const charts = page.querySelectorAll("svg[role=img]").length;
  document.title = `charts ${charts} width ${page.documentElement.scrollWidth} cut ${cut.map((one) => one.tagName)}`;
});
</script>"""


def test_nothing_is_cut_on_a_phone(tmp_path: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium to lay a page out")
    site.publish(filled(tmp_path / "table"), tmp_path / "site", "duckdb", True, TODAY)
    (tmp_path / "site" / "measure.html").write_text(MEASURE, encoding="utf-8")
    handler = functools.partial(QuietHandler, directory=str(tmp_path / "site"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
        ]
        flags += [
            "--disable-component-update",
            "--disable-sync",
            f"--user-data-dir={tmp_path / 'chromium'}",
            "--window-size=800,2100",
            "--hide-scrollbars",
        ]
        command = [chromium, *flags, "--dump-dom", f"http://127.0.0.1:{server.server_address[1]}/measure.html"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
        server.shutdown()
    assert "<title>charts 5 width 390 cut </title>" in shown, shown[:2000]


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Says nothing of requests."""


def test_real_and_emulated_devices_are_never_mixed(tmp_path: Path) -> None:
    table = filled(tmp_path / "table")
    with pytest.raises(FleetError, match="no usable results of real devices; there are 83 of emulated ones"):
        site.publish(table, tmp_path / "site", "duckdb", False, TODAY)


def test_a_fleet_of_excluded_results_alone_says_why(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path / "table"))
    made = [fleet.envelope([fleet.bench(1.0 + n / 10, ("cpu_pressure", "few_repeats"))]) for n in range(2)]
    with table.writing():
        table.append([submission.row(fleet.accepted(one), TODAY) for one in made])
    with pytest.raises(
        FleetError, match=r"of emulated devices; 2 are excluded by warnings \(cpu_pressure\): measure again"
    ):
        site.publish(table, tmp_path / "site", "duckdb", True, TODAY)


def test_ranks_are_within_classes_and_need_devices(tmp_path: Path) -> None:
    usable = queries.usable(queries.whole(queries.connect("duckdb"), filled(tmp_path / "table")), True)
    ranks = {model.name: model.rank for model in site.models(usable)}
    assert ranks == {"A2": 1, "A <b>1": 2, "A3": 0, "U1": 1, "C1": 1}


def test_queries_agree_with_numpy(tmp_path: Path) -> None:
    usable = queries.usable(queries.whole(queries.connect("duckdb"), filled(tmp_path / "table")), True)
    frame = usable.to_pandas()
    for row in queries.models(usable, "total_bytes_per_s").to_pandas().to_dict("records"):
        values = frame[(frame.model == row["model"]) & (frame.device_class == row["device_class"])][
            "total_bytes_per_s"
        ].to_numpy()
        median, low, high, kept, left = robust.summary(values)
        assert np.allclose([row["median"], row["lower_quartile"], row["upper_quartile"]], [median, low, high])
        assert (row["devices"], row["outliers"]) == (kept, left)
    row = queries.distribution(usable, "random_read_us_p50").to_pandas().iloc[0]
    assert row[f"q{queries.GRID.index(0.5)}"] == pytest.approx(frame["random_read_us_p50"].median())


def test_the_best_number_of_streams_is_one_where_more_gain_nothing() -> None:
    speedups = {"emmc": (1.5, 1.6, 1.61), "sd": (0.01, 1.0, 0.99)}
    points = [
        {"device_class": name, "load": "random write", "streams": streams, "speedup": value}
        for name, values in speedups.items()
        for streams, value in zip((2, 4, 8), values, strict=True)
    ]
    best = [(row["device_class"], row["streams"], row["speedup"]) for row in site._best(pd.DataFrame(points))]
    assert best == [("emmc", 4, 1.6), ("sd", 1, 1.0)]


def test_poisoned_submissions_move_no_published_median(tmp_path: Path) -> None:
    honest = fleet.devices("P1", 60, 1.0, 5)
    liars = fleet.devices("P1", 8, 1.25, 6, sigma=0.01) + fleet.devices("P1", 7, 4.0, 7, sigma=0.01)
    medians = []
    for number, made in enumerate([honest, honest + liars]):
        table = Table.create(str(tmp_path / str(number)))
        with table.writing():
            table.append([submission.row(fleet.accepted(one), TODAY) for one in made])
        usable = queries.usable(queries.whole(queries.connect("duckdb"), table), True)
        medians.append(site.models(usable)[0])
    assert len(liars) / (len(honest) + len(liars)) == 0.2
    assert abs(medians[1].median / medians[0].median - 1) < 0.05
    assert medians[1].outliers >= 7


def test_profiles_have_evidence_and_a_signature(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path / "table"))
    rows = []
    for firmware, devices, ratio in [("0100", 6, 0.4), ("0200", 4, 0.4), ("0300", 9, 1.0)]:
        made = [fleet.envelope([fleet.frontier(ratio + 0.01 * one)], firmware=firmware) for one in range(devices)]
        rows += [submission.row(fleet.accepted(one), TODAY) for one in made]
    unnamed = [fleet.envelope([fleet.frontier(0.4 + 0.01 * one)], model=f"M{one}") for one in range(6)]
    rows += [submission.row(fleet.accepted(one), TODAY) | {"storage_model": "unnamed"} for one in unnamed]
    with table.writing():
        table.append(rows)
    key = tmp_path / "fleet.key"
    assert main(["keygen", str(key)]) == 0
    assert (
        main(["profiles", "--table", str(tmp_path / "table"), "--key", str(key), "--emulated", str(tmp_path / "out")])
        == 0
    )
    content = (tmp_path / "out" / "profiles.json").read_bytes()
    signature = (tmp_path / "out" / "profiles.json.minisig").read_text(encoding="utf-8")
    minisign.verify(key.with_suffix(".pub").read_text(encoding="utf-8"), content, signature)
    document = json.loads(content)
    # Four devices are too few, a setting without a gain is none, and devices without a name are different ones.
    assert [(one["model"], one["firmware"]) for one in document["profiles"]] == [("BGND3R", "0100")]
    profile = document["profiles"][0]
    assert profile["settings"] == {"nr_requests": "4", "scheduler": "mq-deadline"}
    assert profile["evidence"]["devices"] == 6
    assert profile["evidence"]["read_ratio_high"] < 1
    assert document["emulated"] is True


@pytest.mark.full
def test_spark_and_duckdb_give_the_same(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    rows = request.config.getoption("--rows")
    script = str(Path(__file__).with_name("engines.py"))
    subprocess.run([sys.executable, script, "make", str(tmp_path / "table"), str(rows)], check=True)
    answers = {}
    for engine in ("duckdb", "spark"):
        # Each in a process of its own, whose memory is its own.
        subprocess.run(
            [sys.executable, script, "ask", str(tmp_path / "table"), engine, str(tmp_path)],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        # Written a moment ago.
        answers[engine] = pickle.loads((tmp_path / f"{engine}.pickle").read_bytes())  # noqa: S301
        figures = json.loads((tmp_path / f"{engine}.json").read_text(encoding="utf-8"))
        print(f"{engine}, {rows} rows: {figures['total_s']:.1f} s, {figures['peak_bytes'] / 1e9:.2f} GB")  # pytest -s
    assert len(answers["duckdb"]) == 12
    for name, frame in answers["duckdb"].items():
        assert len(frame) > 0, name
        assert engines.differences(frame, answers["spark"][name]) == [], name


def test_differences_of_answers_are_found() -> None:
    one = pd.DataFrame({"key": ["b", "a"], "value": [2.0, np.nan]})
    assert engines.differences(one, pd.DataFrame({"key": ["a", "b"], "value": [np.nan, 2.0 + 1e-12]})) == []
    assert engines.differences(one, pd.DataFrame({"key": ["a", "b"], "value": [np.nan, 2.1]})) == ["value"]
    assert engines.differences(one, pd.DataFrame({"key": ["a", "c"], "value": [np.nan, 2.0]})) == ["key"]
    assert len(engines.differences(one, one[:1])) == 1


def test_the_command_says_what_it_can() -> None:
    shown = subprocess.run([sys.executable, "-m", "brisk_fleet", "--help"], capture_output=True, text=True, check=True)
    for command in ("serve", "ingest", "compact", "export", "publish", "profiles", "keygen", "simulate"):
        assert command in shown.stdout
