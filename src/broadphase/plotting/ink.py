"""Colours for print: told apart with any kind of colour vision, and by lightness in black and white."""

from __future__ import annotations

from typing import Any

__all__ = [
    "APART", "APART_EDGE", "CONTACT", "MISS", "PAIR", "RAY", "STATIC", "STATIC_EDGE", "TOUCHING", "TOUCHING_EDGE",
    "label", "level_colours",
]  # fmt: skip

# The hues of Okabe and Ito, "Color Universal Design", 2008. Touching shapes are darker than others.
APART, APART_EDGE = "#d3dce6", "#54657a"
TOUCHING, TOUCHING_EDGE = "#d55e00", "#6e3000"
STATIC, STATIC_EDGE = "#a3acb7", "#3d4752"
PAIR = "#111111"
CONTACT = "#0072b2"
RAY, MISS = "#007a5a", "#6f7a86"

# Samples of Matplotlib's "inferno": evenly spaced in lightness, from dark to the lightest that shows as a thin line on
# white.
_LEVELS = ("#1b0c41", "#4a0c6b", "#781c6d", "#a52c60", "#cf4446", "#ed6925", "#f08f10")


def label() -> dict[str, Any]:
    """Return the look of row numbers: a white border keeps them readable on lines and dark faces."""
    from matplotlib.patheffects import withStroke

    border = withStroke(linewidth=2.5, foreground="white")
    return {"fontsize": 7, "ha": "center", "va": "center", "path_effects": [border]}


def level_colours(count: int) -> list[str]:
    """Return a colour for each level of cells, from dark (the coarsest) to light.

    >>> level_colours(3)
    ['#1b0c41', '#a52c60', '#f08f10']
    """
    last = len(_LEVELS) - 1
    return [_LEVELS[round(level * last / max(1, count - 1))] for level in range(count)]
