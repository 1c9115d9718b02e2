"""The figures of the demo as HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from broadphase.demo.colours import ASKED, TOUCHING, css

if TYPE_CHECKING:
    from broadphase.demo.figures import Figures

__all__ = ["as_html", "headline"]

_STYLE = (
    "<style>"
    ".bp{font:13px/1.45 system-ui,sans-serif;color:#d7dde6;padding:2px 14px 8px}"
    ".bp h1{font-size:15px;margin:6px 0 2px;color:#fff}"
    ".bp p{margin:2px 0 8px;color:#aeb8c6}"
    ".bp table{width:100%;border-collapse:collapse}"
    ".bp td{padding:1.5px 0;border-top:1px solid #2a3039;vertical-align:baseline}"
    ".bp td+td{text-align:right;font-variant-numeric:tabular-nums;color:#fff;font-weight:600}"
    ".bp .why{color:#aeb8c6;font-size:12px;margin:0 0 6px}"
    f".bp .big{{font-size:21px;font-weight:700;color:{css(ASKED)};margin:0}}"
    f".bp .hit{{color:{css(TOUCHING)}}}"
    "</style>"
)


def headline(figures: Figures) -> tuple[str, str]:
    """Say why it is fast, in a few words and in a line."""
    whole = figures.brute_force_tests
    if figures.used == "brute_force":
        return "all against all", f"This frame needed {whole:,} tests. Choose another method, and look."
    if not figures.tests:
        return "not one test", f"All against all (n²) would be {whole:,} tests; this frame needed none."
    return (
        f"{whole / figures.tests:,.0f}× fewer tests",
        f"All against all (n²) would be {whole:,} tests; this frame needed {figures.tests:,}.",
    )


def as_html(title: str, text: str, figures: Figures, paused: bool) -> str:
    """Make the panel of figures; each value has an id of its own, ``bp-`` and its name."""
    rows = [
        ("things", "count", f"{figures.count:,}"),
        ("broad phase", "broad", f"{figures.broad_ms:.2f} ms"),
        ("narrow phase", "narrow", f"{figures.narrow_ms:.2f} ms"),
        ("tests of boxes", "tests", f"{figures.tests:,}"),
        ("tests, all against all (n²)", "brute", f"{figures.brute_force_tests:,}"),
        ("pairs for the exact test", "pairs", f"{figures.pairs:,}"),
        ("hits: pairs that touch", "hits", f'<span class="hit">{figures.hits:,}</span>'),
        ("events: began / ended", "events", f"{figures.enters:,} / {figures.exits:,}"),
        (_depth(figures), "depth", f"{figures.parts:,}"),
        ("frames a second", "fps", "paused" if paused else f"{figures.fps:.0f}"),
    ]
    if figures.drawn or figures.culled:
        rows.append(("drawn / not in view", "drawn", f"{figures.drawn:,} / {figures.culled:,}"))
        rows.append(("in full, less, least detail", "details", " / ".join(f"{one:,}" for one in figures.details)))
    if figures.cells_idle or figures.cells_freed:
        kept = f"{figures.cells_idle:,} / {figures.cells_freed:,}"
        rows.append(("empty cells kept / given back", "kept", kept))
    cells = "".join(f'<tr><td>{name}</td><td id="bp-{key}">{value}</td></tr>' for name, key, value in rows)
    factor, line = headline(figures)
    chosen = figures.used if figures.method != "auto" else f"auto → {figures.used}"
    return (
        f'{_STYLE}<div class="bp"><h1 id="bp-title">{escape(title)}</h1><p id="bp-text">{escape(text)}</p>'
        f'<p class="big" id="bp-factor">{factor}</p><p id="bp-headline">{line}</p>'
        f'<table><tr><td>method</td><td id="bp-method">{escape(chosen)}</td></tr></table>'
        f'<p class="why" id="bp-why">{escape(_why(figures))}</p>'
        f"<table>{cells}</table></div>"
    )


def _depth(figures: Figures) -> str:
    return f"{figures.parts_name}, in {figures.depth} level{'s' * (figures.depth != 1)}"


def _why(figures: Figures) -> str:
    return figures.why if figures.method != "auto" else f"{figures.why} ({figures.reason})"
