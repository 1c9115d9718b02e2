"""Colours that people with any kind of colour vision can tell apart, on a dark ground."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "APART",
    "ASKED",
    "CELLS",
    "CONTACT",
    "FAST",
    "GROUND",
    "LEVELS",
    "SELECTED",
    "STILL",
    "TOUCHED",
    "TOUCHING",
    "colours_of_cells",
    "css",
    "linear",
]

Colour = tuple[int, int, int]

# The hues of Okabe and Ito, "Color Universal Design", 2008; greys for what is not to be looked at.
TOUCHING: Colour = (0xD5, 0x5E, 0x00)
TOUCHED: Colour = (0x9A, 0x48, 0x0C)
"""For what stands still, and is touched."""
FAST: Colour = (0xFF, 0xFF, 0xFF)
"""For bullets and their like."""
APART: Colour = (0x8A, 0x9B, 0xB0)
STILL: Colour = (0x4A, 0x55, 0x63)
ASKED: Colour = (0x56, 0xB4, 0xE9)
SELECTED: Colour = (0xF0, 0xE4, 0x42)
CONTACT: Colour = (0xFF, 0xFF, 0xFF)
GROUND: Colour = (0x14, 0x17, 0x1C)
LEVELS: tuple[Colour, ...] = (
    (0x56, 0xB4, 0xE9),
    (0x00, 0x9E, 0x73),
    (0xF0, 0xE4, 0x42),
    (0xE6, 0x9F, 0x00),
    (0xCC, 0x79, 0xA7),
    (0x00, 0x72, 0xB2),
)
"""For cells, by their level."""
CELLS: NDArray[np.uint8] = np.array([*LEVELS, (0xD5, 0x5E, 0x00), (0xB8, 0xC4, 0xD4)], np.uint8)
"""For things, by their cell."""


def colours_of_cells(cells: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Give each cell a colour that its neighbours hardly have; what is in none is grey."""
    # A multiplicative hash (Knuth): neighbouring numbers fall far apart.
    mixed = (cells.astype(np.uint64) * np.uint64(2654435761)) >> np.uint64(8)
    colours: NDArray[np.uint8] = CELLS[mixed % np.uint64(len(CELLS))]
    colours[cells < 0] = APART
    return colours


def css(colour: Colour) -> str:
    """Write a colour as style sheets do."""
    return f"#{colour[0]:02x}{colour[1]:02x}{colour[2]:02x}"


_SHARES = np.arange(256) / 255
_LINEAR = np.round(
    255 * np.where(_SHARES <= 0.04045, _SHARES / 12.92, ((_SHARES + 0.055) / 1.055) ** 2.4)  # IEC 61966-2-1
).astype(np.uint8)


def linear(colours: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Take colours from sRGB to shares of light, which is what viser has instances of meshes shine with."""
    light: NDArray[np.uint8] = _LINEAR[colours]
    return light
