"""Charts as SVG, by Vega-Lite (Altair), drawn without a browser or network. Colours are variables of the page, so that charts follow it
from light to dark. Each chart has a table with its values beside it on the page: the text is for all readers, the picture for a glance."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd
import vl_convert

SERIES = ["var(--s1)", "var(--s2)", "var(--s3)", "var(--s4)", "var(--s5)", "var(--s6)", "var(--s7)"]
_INK = "var(--ink)"
_LINE = "var(--line)"
LOADS = ["sequential read", "sequential write", "random read", "random write"]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2]]


def _svg(chart: Any, label: str) -> str:
    axis = {
        "labelColor": _INK,
        "titleColor": _INK,
        "domainColor": _LINE,
        "tickColor": _LINE,
        "gridColor": _LINE,
        "labelFontSize": 12,
    }
    themed = chart.configure(background="transparent", font="system-ui, sans-serif").configure_axis(**axis, titleFontSize=12)
    themed = themed.configure_legend(labelColor=_INK, titleColor=_INK, orient="top", labelFontSize=12, columnPadding=24).configure_view(
        stroke=None
    )
    themed = themed.configure_header(labelColor=_INK, titleColor=_INK)
    svg: str = vl_convert.vegalite_to_svg(themed.to_dict())
    # It grows and shrinks with the page; its name is for readers that do not see it.
    head, rest = svg.split(">", 1)
    name = label.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return f'{head} role="img" aria-label="{name}">{rest}'


def distributions(points: pd.DataFrame) -> str:
    """Cumulative distributions of response times (columns load, us, share): figure 4.4 of the dissertation."""
    chart = (
        alt.Chart(points, width=640, height=280)
        .mark_line(strokeWidth=2.5)
        .encode(
            x=alt.X(
                "us:Q",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(tickCount=5),
                title="median response time of a device, us (logarithmic)",
            ),
            y=alt.Y("share:Q", axis=alt.Axis(format="%"), title="devices at or below"),
            color=alt.Color("load:N", scale=alt.Scale(domain=LOADS, range=SERIES[:4]), title=None),
            strokeDash=alt.StrokeDash("load:N", scale=alt.Scale(domain=LOADS, range=DASHES), title=None),
        )
    )
    return _svg(chart, "Cumulative distributions of response times over all devices; the table below has the quartiles")


def ranges(points: pd.DataFrame, title: str, label: str) -> str:
    """Median and quartiles (columns device_class, load, p25, p50, p75) by class, loads side by side."""
    base = alt.Chart(points, width=640, height=alt.Step(14)).encode(
        y=alt.Y("device_class:N", title=None),
        yOffset=alt.YOffset("load:N", scale=alt.Scale(domain=LOADS)),
        color=alt.Color("load:N", scale=alt.Scale(domain=LOADS, range=SERIES[:4]), title=None),
    )
    span = base.mark_rule(strokeWidth=3, opacity=0.5).encode(
        x=alt.X("p25:Q", title=title, scale=alt.Scale(type="log", nice=False)), x2=alt.X2("p75:Q")
    )
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        x="p50:Q", shape=alt.Shape("load:N", scale=alt.Scale(domain=LOADS), title=None)
    )
    return _svg(alt.layer(span, dots), label)


def speedups(points: pd.DataFrame) -> str:
    """Speed-up over serial by number of streams (columns device_class, load, streams, speedup): figure 4.6."""
    order = sorted(points["device_class"].unique())
    chart = (
        alt.Chart(points, width=190, height=150)
        .mark_line(point=True)
        .encode(
            x=alt.X("streams:O", title="streams at once", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("speedup:Q", title="speed-up", scale=alt.Scale(zero=True)),
            color=alt.Color("load:N", scale=alt.Scale(domain=LOADS, range=SERIES[:4]), title=None),
            strokeDash=alt.StrokeDash("load:N", scale=alt.Scale(domain=LOADS, range=DASHES), title=None),
        )
        .facet(facet=alt.Facet("device_class:N", title=None, sort=order), columns=3)
    )
    return _svg(chart, "Speed-up of concurrent streams over streams one after the other, by class; the table below has the best")
