"""Charts as SVG, by Vega-Lite (Altair), drawn without a browser or network, in the manner of `brisk report`: as wide as
a phone, colours of the page's style by name, the same marks, keys outside of the drawing. Each chart has a table with
its values beside it on the page: the text is for all readers, the picture for a glance."""

from __future__ import annotations

from html import escape
from typing import Any

import altair as alt
import pandas as pd
import vl_convert

WIDTH = 420
"""Of a chart in its own units: letters stay readable on a phone, and pages set several side by side."""

LOADS = ("sequential read", "sequential write", "random read", "random write")
# As in reports: the colour says read or write, the line sequential or random.
_COLOURS = ["var(--read)", "var(--write)", "var(--read)", "var(--write)"]
_SHAPES = ["circle", "square", "triangle-up", "cross"]
_DASHES: list[Any] = [[1, 0], [1, 0], [5.5, 4.5], [5.5, 4.5]]


def keys() -> str:
    """The list that says which mark is which load."""
    marks = {
        "circle": '<circle cx="15" cy="8" r="4.2"/>',
        "square": '<rect x="11" y="4" width="8" height="8"/>',
        "triangle-up": '<polygon points="15,3 20,12 10,12"/>',
        "cross": '<path d="M13.4 3.5h3.2v2.9h2.9v3.2h-2.9v2.9h-3.2v-2.9h-2.9v-3.2h2.9z"/>',
    }
    items = "".join(
        f'<li><svg viewBox="0 0 30 16" aria-hidden="true">'
        f'<line x1="2" y1="8" x2="28" y2="8" stroke="{colour}" stroke-width="2" '
        f'stroke-dasharray="{" ".join(map(str, dash)) if dash[1] else "none"}"/>'
        f'<g fill="{colour}">{marks[shape]}</g></svg>{load}</li>'
        for load, colour, shape, dash in zip(LOADS, _COLOURS, _SHAPES, _DASHES, strict=True)
    )
    return f'<ul class="keys">{items}</ul>'


def _svg(chart: Any, label: str) -> str:
    axis = {
        "labelColor": "var(--soft)",
        "titleColor": "var(--soft)",
        "domainColor": "var(--axis)",
        "tickColor": "var(--axis)",
        "gridColor": "var(--rule)",
        "labelFontSize": 12.5,
        "titleFontSize": 12.5,
        "titleFontWeight": "normal",
    }
    themed = chart.properties(autosize=alt.AutoSizeParams(type="fit-x", contains="padding"), padding=2)
    themed = (
        themed.configure(background="transparent", font="system-ui, sans-serif")
        .configure_axis(**axis)
        .configure_view(stroke=None)
    )
    themed = themed.configure_axisY(domain=False, ticks=False)
    svg: str = vl_convert.vegalite_to_svg(themed.to_dict())
    # Its name is for readers that do not see it.
    head, rest = svg.split(">", 1)
    return f'{head} role="img" aria-label="{escape(label)}">{rest}'


def _by_load() -> dict[str, Any]:
    return {
        "color": alt.Color("load:N", scale=alt.Scale(domain=list(LOADS), range=_COLOURS), legend=None),
        "strokeDash": alt.StrokeDash("load:N", scale=alt.Scale(domain=list(LOADS), range=_DASHES), legend=None),
    }


def _shape() -> alt.Shape:
    return alt.Shape("load:N", scale=alt.Scale(domain=list(LOADS), range=_SHAPES), legend=None)


def distributions(points: pd.DataFrame) -> str:
    """Cumulative distributions of response times (columns load, us, share): figure 4.4 of the dissertation."""
    chart = (
        alt.Chart(points, width=WIDTH, height=250)
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X(
                "us:Q",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(tickCount=5, grid=False),
                title="median response time of a device, us (logarithmic)",
            ),
            y=alt.Y("share:Q", axis=alt.Axis(format="%", tickCount=4), title="devices at or below"),
            **_by_load(),
        )
    )
    return _svg(chart, "Cumulative distributions of response times over all devices; the table below has the quartiles")


def ranges(points: pd.DataFrame, title: str, label: str) -> str:
    """Median and quartiles (columns device_class, load, p25, p50, p75) by class, loads side by side."""
    base = alt.Chart(points, width=WIDTH, height=alt.Step(14)).encode(
        y=alt.Y("device_class:N", title=None),
        yOffset=alt.YOffset("load:N", scale=alt.Scale(domain=list(LOADS))),
        color=alt.Color("load:N", scale=alt.Scale(domain=list(LOADS), range=_COLOURS), legend=None),
    )
    span = base.mark_rule(strokeWidth=1.3).encode(
        x=alt.X("p25:Q", title=title, scale=alt.Scale(type="log", nice=False, padding=10), axis=alt.Axis(tickCount=5)),
        x2=alt.X2("p75:Q"),
    )
    dots = base.mark_point(filled=True, size=50, opacity=1).encode(x="p50:Q", shape=_shape())
    return _svg(alt.layer(span, dots), label)


def speedups(points: pd.DataFrame, label: str) -> str:
    """Speed-up over serial of one class by number of streams (columns load, streams, speedup): figure 4.6."""
    base = alt.Chart(points, width=WIDTH, height=190).encode(
        x=alt.X("streams:O", title="streams at once", axis=alt.Axis(labelAngle=0, grid=False)),
        y=alt.Y("speedup:Q", title="speed-up", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=4)),
        **_by_load(),
    )
    dots = base.mark_point(filled=True, size=50, opacity=1).encode(shape=_shape(), strokeDash=alt.value([1, 0]))
    return _svg(alt.layer(base.mark_line(strokeWidth=2), dots), label)
