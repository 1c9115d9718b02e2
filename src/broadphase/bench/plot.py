"""Time against the number of boxes, log-log, one panel for each scene and one line for each contestant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase.bench.extras import load
from broadphase.bench.machine import footnote
from broadphase.bench.table import duration, factor, grouped
from broadphase.bench.work_plot import draw_memory, draw_tests

if TYPE_CHECKING:
    from broadphase.bench.compare import Comparison
    from broadphase.bench.work import Work

__all__ = ["draw_scene", "plot_comparison"]

# The colours of Okabe and Ito, told apart by people with any kind of colour vision; black is for broadphase. Markers,
# dashes and labels at the line ends carry the same information, so that nothing is lost in a black and white print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
MARKERS = "sD^v<>pPX*hd"
DASHES = ("-", (0, (5, 1.5)))
LEADER = {"arrowstyle": "-", "linewidth": 0.6, "shrinkA": 1, "shrinkB": 4, "relpos": (0.0, 0.5)}
HIGHEST_LABEL = 0.97  # keeps clear of the title
LABEL_GAP = 0.05  # least distance of two labels, as a part of the panel's height


class Line(NamedTuple):
    """One contestant on one scene: box counts, milliseconds, and how it is drawn."""

    title: str
    counts: tuple[int, ...]
    times: tuple[float, ...]
    style: dict[str, Any]
    ours: bool = False
    yardstick: bool = False


def plot_comparison(comparison: Comparison, path: str | Path, works: Sequence[Work] = ()) -> None:
    """Draw a comparison and write it to a file: a column for each scene.

    Parameters
    ----------
    comparison : Comparison
        From `compare`.
    path : str or Path
        Where to write; the ending says what: .svg, .png, .pdf.
    works : sequence of Work, optional
        From `measure_work`: below the times, how many tests the methods make, and the memory of cells by level.

    Raises
    ------
    MissingExtraError
        Matplotlib is not installed.
    ValueError
        Matplotlib does not know the ending.
    """
    figure_module = load("matplotlib.figure", "matplotlib", extra="plot")
    scenes = list(dict.fromkeys(outcome.scene for outcome in comparison.outcomes))
    rows = 3 if works else 1
    size = 6.6 * len(scenes), 5.4 + 4.2 * (rows - 1)
    figure = figure_module.Figure(figsize=size, layout="constrained")
    panels = figure.subplots(rows, len(scenes), squeeze=False, height_ratios=[5.4, 4.2, 4.2][:rows])
    for column, scene in zip(panels.T, scenes, strict=True):
        draw_scene(column[0], comparison, scene)
        here = [work for work in works if work.scene == scene]
        if here:
            draw_tests(column[1], here, LABEL_GAP * 5.4 / 4.2)
        # The largest of those that say so.
        for work in [work for work in here if work.bytes_by_level][-1:]:
            draw_memory(column[2], work)
    for panel in panels.ravel():
        if not panel.has_data():
            panel.set_axis_off()
    figure.text(0.995, 0.002, footnote(comparison.machine), ha="right", va="bottom", fontsize=7, color="0.35")
    figure.get_layout_engine().set(rect=(0, 0.16 / size[1], 1, 1 - 0.16 / size[1]))
    figure.savefig(path, dpi=200)


def draw_scene(panel: Any, comparison: Comparison, scene: str) -> None:
    """Draw the lines of one scene into a Matplotlib panel, each labelled at its end."""
    lines = lines_of(comparison, scene)
    for line in lines:
        panel.plot(line.counts, line.times, **line.style)
    dress(panel, comparison, scene)
    label_ends(panel, lines)


def lines_of(comparison: Comparison, scene: str) -> list[Line]:
    """Give the lines of a scene; a contestant looks the same in every scene."""
    lines, others = [], 0
    for name, title in dict.fromkeys((outcome.contestant, outcome.title) for outcome in comparison.outcomes):
        ours = title.startswith("broadphase")
        style: dict[str, Any] = {"color": "black", "marker": "o", "markersize": 6, "linewidth": 2.6, "zorder": 3}
        if not ours:
            style = {
                "color": COLOURS[others % len(COLOURS)],
                "marker": MARKERS[others % len(MARKERS)],
                "linestyle": DASHES[others // len(COLOURS) % len(DASHES)],
                "markersize": 5,
                "linewidth": 1.3,
            }
            others += 1
        points = sorted(
            (outcome.box_count, outcome.milliseconds)
            for outcome in comparison.outcomes
            if outcome.scene == scene and outcome.contestant == name and outcome.milliseconds is not None
        )
        if points:
            counts, times = zip(*points, strict=True)
            lines.append(Line(title, counts, times, ours=ours, style=style))
    sizes = {outcome.box_count for outcome in comparison.outcomes if outcome.scene == scene}
    if sorts := sorted(item for item in comparison.argsort_milliseconds.items() if item[0] in sizes):
        style = {"color": "0.5", "linestyle": (0, (1.5, 1.5)), "linewidth": 1.2, "zorder": 1}
        counts, times = zip(*sorts, strict=True)
        lines.append(Line("np.argsort of n float32", counts, times, yardstick=True, style=style))
    return lines


def dress(panel: Any, comparison: Comparison, scene: str) -> None:
    """Set scales, limits, grid and title."""
    panel.set_xscale("log")
    panel.set_yscale("log")
    here = [outcome for outcome in comparison.outcomes if outcome.scene == scene]
    sizes = sorted({outcome.box_count for outcome in here})
    decades = np.log10(sizes[-1] / sizes[0])
    panel.set_xlim(sizes[0] / 1.4, sizes[-1] * 10 ** (0.85 * max(decades, 0.5)))  # room for labels on the right
    low, high = panel.get_ylim()
    panel.set_ylim(low, high * 2.5)  # room for labels that are moved up
    ticks = [10.0**power for power in range(-9, 10) if low <= 10.0**power <= high * 2.5]
    panel.set_yticks(ticks, [duration(tick).replace(".00", "").replace("0.0 ", "0 ") for tick in ticks])
    panel.set_xticks(sizes, [grouped(n) for n in sizes])
    panel.minorticks_off()
    pairs = next((o.pair_count for o in reversed(here) if o.box_count == sizes[-1] and o.verdict == "exact"), None)
    panel.set_title(f"{scene}: {grouped(sizes[-1])} boxes, {grouped(pairs)} pairs", loc="left", fontsize=11)
    panel.set_xlabel("boxes")
    panel.set_ylabel("time for all pairs")
    panel.grid(True, color="0.9", linewidth=0.8)
    panel.set_axisbelow(True)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def label_ends(panel: Any, lines: Sequence[Line]) -> None:
    """Write each line's name beside its last point, and how many times slower it is than broadphase there."""
    if not lines:
        return
    fastest = next((dict(zip(line.counts, line.times, strict=True)) for line in lines if line.ours), {})
    right = max(line.counts[-1] for line in lines)
    low, high = (np.log10(limit) for limit in panel.get_ylim())
    order = sorted((line for line in lines if line.counts[-1] == right), key=lambda line: line.times[-1])
    heights = spread(np.array([(np.log10(line.times[-1]) - low) / (high - low) for line in order]), LABEL_GAP)
    for line, height in zip(order, heights, strict=True):
        ratio = line.times[-1] / fastest[right] if right in fastest and not line.ours and not line.yardstick else 0.0
        panel.annotate(
            f"{line.title}  {factor(ratio)}×" if ratio else line.title,
            (right, line.times[-1]),
            (right * 1.35, 10 ** (low + height * (high - low))),
            textcoords="data",
            va="center",
            fontsize=9,
            color=line.style["color"],
            weight="bold" if line.ours else "normal",
            arrowprops={**LEADER, "color": line.style["color"]},
        )
    label_early_ends(panel, [line for line in lines if line.counts[-1] != right])


def label_early_ends(panel: Any, lines: Sequence[Line]) -> None:
    """Write the names of lines that end before the others above the highest of their last points, one on another."""
    for count in {line.counts[-1] for line in lines}:
        here = sorted((line for line in lines if line.counts[-1] == count), key=lambda line: line.times[-1])
        for number, line in enumerate(here):
            style = {"fontsize": 8, "color": line.style["color"], "ha": "center", "va": "bottom"}
            panel.annotate(
                line.title, (count, here[-1].times[-1]), (0, 6 + 10 * number), textcoords="offset points", **style
            )


def spread(wished: np.ndarray[Any, Any], gap: float) -> np.ndarray[Any, Any]:
    """Move sorted heights apart by at least `gap`, by the least sum of squares, within 0 and `HIGHEST_LABEL`.

    Taking off ``k * gap`` from the k-th height leaves an isotonic regression, which pools neighbours that clash.

    Examples
    --------
    >>> import numpy as np
    >>> from broadphase.bench.plot import spread
    >>> spread(np.array([0.5, 0.5, 0.9]), 0.1).round(2).tolist()
    [0.45, 0.55, 0.9]
    """
    steps = np.arange(len(wished)) * gap
    pools: list[tuple[float, int]] = []  # mean and size of each pool
    for value in wished - steps:
        mean, size = float(value), 1
        while pools and pools[-1][0] > mean:
            before, count = pools.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        pools.append((mean, size))
    pooled = np.repeat([mean for mean, _ in pools], [size for _, size in pools])
    return np.asarray(np.clip(pooled, 0.0, max(0.0, HIGHEST_LABEL - gap * (len(wished) - 1))) + steps)
