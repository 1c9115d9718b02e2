"""Bars for a comparison of queries: one panel for each kind of question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from broadphase.bench.extras import load
from broadphase.bench.machine import footnote
from broadphase.bench.query_table import first_own, ratio, task_title
from broadphase.bench.table import duration, factor

if TYPE_CHECKING:
    from broadphase.bench.query_contest import QueryComparison, QueryOutcome

__all__ = ["draw_task", "plot_queries"]

# Told apart by people with any kind of colour vision and in a black and white print: ours are the dark bars.
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
    figure_module = load("matplotlib.figure", "matplotlib", extra="plot")
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
    """Draw the bars of one kind of question into a Matplotlib panel, the quickest on top, times on a log axis."""
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
    """Give who is drawn, the quickest first: all peers that were timed, and a few of ours."""
    timed = sorted((o for o in outcomes if o.milliseconds is not None), key=lambda outcome: outcome.milliseconds or 0.0)
    first = first_own(outcomes)
    own = [outcome for outcome in timed if outcome.ours and outcome is not first][: MOST_OWN - 1]
    return [outcome for outcome in timed if not outcome.ours or outcome is first or outcome in own]
