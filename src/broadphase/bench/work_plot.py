"""Panels that say where the time goes: tests against the number of boxes, and memory by level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.bench.table import factor, grouped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broadphase.bench.work import Work

__all__ = ["draw_memory", "draw_tests"]

# As in the panels of times.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "sD^v<>"
POINTER = 8  # bytes of each cell of a table that has room for all of them
UNITS = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))


def draw_tests(panel: Any, works: Sequence[Work], gap: float) -> None:
    """Draw how many tests each method makes on one scene; names at the ends, with how many times fewer than all.

    `gap` is the least distance of two names, as a part of the panel's height.
    """
    from broadphase.bench.plot import spread

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
