"""Colours for paper: told apart by people with any kind of colour vision, and by their lightness in black and white."""

from __future__ import annotations

__all__ = [
    "APART",
    "APART_EDGE",
    "CONTACT",
    "MISS",
    "PAIR",
    "RAY",
    "STILL",
    "STILL_EDGE",
    "TOUCHING",
    "TOUCHING_EDGE",
    "level_colours",
]

# The hues of Okabe and Ito, "Color Universal Design", 2008. What touches is darker than what does not.
APART, APART_EDGE = "#d3dce6", "#54657a"
TOUCHING, TOUCHING_EDGE = "#d55e00", "#6e3000"
STILL, STILL_EDGE = "#a3acb7", "#3d4752"
PAIR = "#111111"
CONTACT = "#0072b2"
RAY, MISS = "#007a5a", "#6f7a86"

# From dark to light, evenly to the eye (samples of Matplotlib's "viridis" and "inferno" have the same property); the
# lightest is dark enough for a thin line on white.
_LEVELS = ("#1b0c41", "#4a0c6b", "#781c6d", "#a52c60", "#cf4446", "#ed6925", "#f08f10")


def level_colours(count: int) -> list[str]:
    """Give colours for so many levels of cells, the coarsest the darkest.

    Examples
    --------
    >>> level_colours(3)
    ['#1b0c41', '#a52c60', '#f08f10']
    """
    last = len(_LEVELS) - 1
    return [_LEVELS[round(level * last / max(1, count - 1))] for level in range(count)]
