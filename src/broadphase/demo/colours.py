"""Colours that people with any kind of colour vision can tell apart, on a dark background."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "APART", "BACKGROUND", "CCD", "CELLS", "CONTACT", "LEVELS", "QUERIED", "SELECTED", "STATIC", "TOUCHING",
    "TOUCHING_STATIC", "TRACER", "WRONG", "colours_of_cells", "css", "faded", "linear",
]  # fmt: skip

Colour = tuple[int, int, int]

# The hues of Okabe and Ito, "Color Universal Design", 2008; greys for what is less important.
TOUCHING: Colour = (0xD5, 0x5E, 0x00)
TOUCHING_STATIC: Colour = (0x9A, 0x48, 0x0C)
CCD: Colour = (0xFF, 0xFF, 0xFF)
"""For bodies with continuous collision detection, such as bullets."""
TRACER: Colour = (0xFF, 0xE0, 0x9A)
"""For the way of a bullet in the last step."""
APART: Colour = (0x8A, 0x9B, 0xB0)
STATIC: Colour = (0x4A, 0x55, 0x63)
QUERIED: Colour = (0x56, 0xB4, 0xE9)
SELECTED: Colour = (0xF0, 0xE4, 0x42)
WRONG: Colour = (0xE6, 0x9F, 0x00)
"""For messages about wrong input."""
CONTACT: Colour = (0xFF, 0xFF, 0xFF)
BACKGROUND: Colour = (0x14, 0x17, 0x1C)
LEVELS: tuple[Colour, ...] = (
    (0x56, 0xB4, 0xE9),
    (0x00, 0x9E, 0x73),
    (0xF0, 0xE4, 0x42),
    (0xE6, 0x9F, 0x00),
    (0xCC, 0x79, 0xA7),
    (0x00, 0x72, 0xB2),
)
"""For cells, by level."""
CELLS: NDArray[np.uint8] = np.array([*LEVELS, (0xD5, 0x5E, 0x00), (0xB8, 0xC4, 0xD4)], np.uint8)
"""For bodies, by the cell that they are in."""


def colours_of_cells(cells: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return a colour for each cell number, mostly different for neighbouring cells; -1 (no cell) is grey."""
    # A multiplicative hash (Knuth) spreads neighbouring numbers over the palette.
    mixed = (cells.astype(np.uint64) * np.uint64(2654435761)) >> np.uint64(8)
    colours: NDArray[np.uint8] = CELLS[mixed % np.uint64(len(CELLS))]
    colours[cells < 0] = APART
    return colours


def css(colour: Colour) -> str:
    """Write a colour as style sheets do: #rrggbb."""
    return f"#{colour[0]:02x}{colour[1]:02x}{colour[2]:02x}"


def faded(colours: NDArray[np.uint8], strength: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Mix colours (n, 3) with the background: lines have no opacity of their own. A strength of 0 hides them."""
    ground = np.array(BACKGROUND)
    mixed: NDArray[np.uint8] = np.round(ground + strength[:, None] * (colours - ground)).astype(np.uint8)
    return mixed


_SHARES = np.arange(256) / 255
_LINEAR = np.round(
    255 * np.where(_SHARES <= 0.04045, _SHARES / 12.92, ((_SHARES + 0.055) / 1.055) ** 2.4)  # IEC 61966-2-1
).astype(np.uint8)


def linear(colours: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Convert colours from sRGB to linear light, which viser expects for instanced meshes and for lines."""
    return _LINEAR[colours]
