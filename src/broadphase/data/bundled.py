"""Load the bundled sets."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from broadphase.boxes import from_segments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

NAMES = ("us_counties", "world_coast_segments")
"""The names that `load` knows."""


@dataclass(frozen=True, slots=True)
class DataSet:
    """What is known about a bundled set.

    Attributes
    ----------
    name, title : str
        What `load` calls it, and what it shows.
    axes : tuple of str
        What the coordinates are, and their unit.
    source, license : str
        Where the data come from, and their terms.
    box_count, dimension, pair_count : int
        Its size, and the number of its overlapping pairs.
    pair_checksum : str
        Fingerprint of the set of pairs, as by `broadphase.testing.checksum`.
    sha256 : str
        Of the boxes' bytes, little-endian float64 in C order.
    """

    name: str
    title: str
    axes: tuple[str, ...]
    source: str
    license: str
    box_count: int
    dimension: int
    pair_count: int
    pair_checksum: str
    sha256: str


def describe(name: str) -> DataSet:
    """Tell what is known about a bundled set.

    Parameters
    ----------
    name : str
        One of `NAMES`.

    Returns
    -------
    DataSet

    Raises
    ------
    ValueError
        Another name.

    Examples
    --------
    >>> describe("us_counties").pair_count
    10465
    """
    _check(name)
    fields = json.loads(resources.files(__package__).joinpath(f"{name}.json").read_text("utf-8"))
    return DataSet(name, **{**fields, "axes": tuple(fields["axes"])})


def load(name: str) -> NDArray[np.float64]:
    """Load the boxes of a bundled set.

    Parameters
    ----------
    name : str
        One of `NAMES`:

        - ``us_counties``: 3510 boxes, d = 2, of the counties of the United States, one for each polygon.
        - ``world_coast_segments``: 472 660 boxes, d = 2, of the straight segments of all coasts and borders. Thin,
          touching their neighbours, many of no width.

    Returns
    -------
    boxes : ndarray, shape (n, 2, d), float64
        Lower and upper corners, longitude and latitude in degrees. A new array.

    Raises
    ------
    ValueError
        Another name.

    Examples
    --------
    >>> from broadphase import data
    >>> data.load("us_counties").shape
    (3510, 2, 2)
    """
    _check(name)
    with (
        resources.as_file(resources.files(__package__).joinpath(f"{name}.npz")) as path,
        np.load(path, allow_pickle=False) as arrays,
    ):
        if "boxes" in arrays:
            boxes: NDArray[np.float64] = arrays["boxes"]
            return boxes
        return _trace(arrays)


def _check(name: str) -> None:
    if name not in NAMES:
        raise ValueError(f"no bundled data set {name!r}; there are {', '.join(NAMES)}")


def _trace(arrays: Mapping[str, NDArray[np.generic]]) -> NDArray[np.float64]:
    """Follow coded polylines, and return the boxes of their segments.

    The points of all lines lie on a lattice. A line is its first point and the steps from point to point; a step s is
    coded as 2s, or as -2s - 1 if negative, its low byte apart from the rest, which most steps do not have.
    """
    code = arrays["low"].astype(np.int64)
    code[:, arrays["high_rows"]] |= arrays["high"].astype(np.int64) << 8
    steps = np.where(code & 1, -(code + 1) >> 1, code >> 1).T  # (segments, 2)
    walked = np.cumsum(steps, axis=0)
    begins = arrays["begins"].astype(np.int64)  # the first segment of each line
    lengths = np.diff(begins, append=len(steps))
    offsets = arrays["starts"].astype(np.int64) - (walked[begins] - steps[begins])
    ends = walked + np.repeat(offsets, lengths, axis=0)
    scale, origin = arrays["scale"], arrays["origin"]
    boxes: NDArray[np.float64] = from_segments((ends - steps) * scale + origin, ends * scale + origin)
    return boxes
