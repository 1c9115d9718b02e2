"""Plots of the figures: times of all pairs, work and memory of the methods, times of queries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.measuring import footnote, load
from benchmarks.queries import first_own, ratio, task_title
from benchmarks.tables import duration, factor, grouped

if TYPE_CHECKING:
    from benchmarks.pairs import Comparison, Work
    from benchmarks.queries import QueryComparison, QueryOutcome


# The colours of Okabe and Ito, distinct for any kind of colour vision; black is broadphase. Markers, dashes and labels
# at the line ends carry the same information for black and white prints.
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
    figure_module = load("matplotlib.figure", "matplotlib")
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
    """Return the lines of a scene; a contestant looks the same in every scene."""
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
    >>> from benchmarks.plots import spread
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


POINTER = 8  # bytes of each cell of a table that has room for all of them
UNITS = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))


def draw_tests(panel: Any, works: Sequence[Work], gap: float) -> None:
    """Draw how many tests each method makes on one scene; names at the ends, with how many times fewer than all.

    `gap` is the least distance of two names, as a part of the panel's height.
    """
    lines: dict[str, list[Work]] = {}
    for work in works:
        lines.setdefault(work.title, []).append(work)
    sizes = sorted({work.box_count for work in works})
    every = [size * (size - 1) / 2 for size in sizes]
    panel.plot(sizes, every, color="black", linestyle=(0, (5, 2)), linewidth=1.6)
    ends: list[tuple[float, int, str, str]] = [(every[-1], sizes[-1], "all against all", "black")]
    for place, (title, line) in enumerate(lines.items()):
        look = {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}
        tests = [max(1, work.tests) for work in line]
        panel.plot([work.box_count for work in line], tests, markersize=5, linewidth=1.4, **look)
        saved = factor(line[-1].brute_force_tests / tests[-1])
        ends.append((tests[-1], line[-1].box_count, f"{title}  {saved}× fewer", look["color"]))
    panel.set_xscale("log")
    panel.set_yscale("log")
    decades = np.log10(sizes[-1] / sizes[0])
    panel.set_xlim(sizes[0] / 1.4, sizes[-1] * 10 ** (0.85 * max(decades, 0.5)))
    low, high = (np.log10(limit) for limit in panel.get_ylim())
    ends.sort()
    heights = spread(np.array([(np.log10(value) - low) / (high - low) for value, *_ in ends]), gap)
    for (value, count, text, colour), height in zip(ends, heights, strict=True):
        panel.annotate(
            text,
            (count, value),
            (sizes[-1] * 1.35, 10 ** (low + height * (high - low))),
            va="center",
            fontsize=9,
            color=colour,
            arrowprops={"arrowstyle": "-", "linewidth": 0.6, "color": colour, "shrinkA": 1, "shrinkB": 4,
                        "relpos": (0.0, 0.5)},
        )  # fmt: skip
    panel.set_xticks(sizes, [grouped(size) for size in sizes])
    panel.minorticks_off()
    panel.set_title(f"{works[0].scene}: boxes compared", loc="left", fontsize=11)
    panel.set_xlabel("boxes")
    panel.set_ylabel("tests for all pairs")
    _dress(panel)


def draw_memory(panel: Any, work: Work) -> None:
    """Draw the memory of the cells of each level, beside that of a table with room for all of them."""
    levels = np.arange(len(work.bytes_by_level))
    full = POINTER * 2.0 ** (work.dimension * levels)
    title = f"{work.title}, {grouped(work.box_count)} boxes"
    for shift, amounts, label, colour in (
        (-0.2, full, "a table of all cells, one pointer each", "#D3DCE6"),
        (0.2, np.array(work.bytes_by_level, float), f"{title}: cells in use", "#0072B2"),
    ):
        panel.bar(levels + shift, amounts, 0.38, color=colour, edgecolor="0.25", linewidth=0.6, label=label)
    for level, amount in enumerate(work.bytes_by_level):
        panel.text(level + 0.2, amount * 1.15, _bytes(amount), ha="center", va="bottom", fontsize=7)
    panel.set_yscale("log")
    panel.set_ylim(4.0, max(float(full.max()), float(max(work.bytes_by_level))) * 30)
    powers = [1 << power for power in range(3, 41, 5) if 1 << power < panel.get_ylim()[1]]
    panel.set_yticks(powers, [_bytes(power) for power in powers])
    panel.minorticks_off()
    panel.set_xticks(levels)
    panel.set_title(f"{work.scene}: memory by level", loc="left", fontsize=11)
    panel.set_xlabel("level")
    panel.set_ylabel("memory of the cells")
    panel.legend(loc="upper left", fontsize=8, frameon=False)
    _dress(panel)


def _dress(panel: Any) -> None:
    panel.grid(True, axis="y", color="0.9", linewidth=0.8)
    panel.set_axisbelow(True)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def _bytes(amount: float) -> str:
    for unit, name in UNITS:
        if amount >= unit:
            return f"{amount / unit:.3g} {name}"
    return f"{amount:.0f} B"


# Distinct for any kind of colour vision and in a black and white print: ours are the dark bars.
OWN_COLOUR, OTHER_COLOUR = "#0072B2", "#F0C27B"
COLUMNS = 3
LEAST_BARS = 6  # room for as many, so that bars look alike in all panels
MOST_OWN = 3  # bars of broadphase in a panel: the one that stands for it, and the quickest others


def plot_queries(comparison: QueryComparison, path: str | Path) -> None:
    """Draw a comparison of queries and write it to a file.

    Parameters
    ----------
    comparison : QueryComparison
        From `compare_queries`.
    path : str or Path
        Where to write; the ending says what: .svg, .png, .pdf.

    Raises
    ------
    MissingExtraError
        Matplotlib is not installed.
    ValueError
        Matplotlib does not know the ending.
    """
    figure_module = load("matplotlib.figure", "matplotlib")
    tasks = list(dict.fromkeys(outcome.task for outcome in comparison.outcomes))
    columns = min(COLUMNS, max(1, len(tasks)))
    rows = -(-len(tasks) // columns)
    figure = figure_module.Figure(figsize=(5.4 * columns, 2.6 * rows + 0.3), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, task in zip(panels, tasks, strict=False):
        draw_task(panel, comparison.of(task))
    for panel in panels[len(tasks) :]:
        panel.set_axis_off()
    figure.text(0.995, 0.002, footnote(comparison.machine), ha="right", va="bottom", fontsize=7, color="0.35")
    figure.get_layout_engine().set(rect=(0, 0.025, 1, 0.975), h_pad=0.12)
    figure.savefig(path, dpi=200)


def draw_task(panel: Any, outcomes: list[QueryOutcome]) -> None:
    """Draw the bars of one kind of query into a Matplotlib panel, the quickest on top, times on a log axis."""
    shown = chosen(outcomes)
    panel.set_title(task_title(outcomes), loc="left", fontsize=10)
    if not shown:
        panel.set_axis_off()
        return
    times = [outcome.milliseconds or 0.0 for outcome in shown]
    colours = [OWN_COLOUR if outcome.ours else OTHER_COLOUR for outcome in shown]
    panel.barh(range(len(shown)), times, color=colours, height=0.72, edgecolor="0.25", linewidth=0.6)
    panel.set_yticks(range(len(shown)), [outcome.title for outcome in shown], fontsize=9)
    for label, outcome in zip(panel.get_yticklabels(), shown, strict=True):
        label.set_fontweight("bold" if outcome.ours else "normal")
    panel.set_ylim(max(len(shown), LEAST_BARS) - 0.5, -0.5)
    panel.set_xscale("log")
    low, high = min(times), max(times)
    panel.set_xlim(low / 3.0, high * (high / low) ** 0.45 * 2.0)  # room for the words at the ends
    ours = first_own(outcomes)
    for place, (outcome, time) in enumerate(zip(shown, times, strict=True)):
        times_ours = f"  {factor(ratio(outcome, ours))}×" if ours and outcome is not ours else ""
        panel.text(time * 1.08, place, f"{duration(time)}{times_ours}", va="center", fontsize=8.5)
    ticks = [10.0**power for power in range(-6, 8) if low / 3.0 <= 10.0**power <= high * 2.0]
    panel.set_xticks(ticks, [duration(tick).replace(".00", "").replace("0.0 ", "0 ") for tick in ticks], fontsize=8)
    panel.minorticks_off()
    panel.grid(True, axis="x", color="0.9", linewidth=0.8)
    panel.set_axisbelow(True)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def chosen(outcomes: list[QueryOutcome]) -> list[QueryOutcome]:
    """Return what is drawn, the quickest first: all peers that were timed, and a few of ours."""
    timed = sorted((o for o in outcomes if o.milliseconds is not None), key=lambda outcome: outcome.milliseconds or 0.0)
    first = first_own(outcomes)
    own = [outcome for outcome in timed if outcome.ours and outcome is not first][: MOST_OWN - 1]
    return [outcome for outcome in timed if not outcome.ours or outcome is first or outcome in own]
