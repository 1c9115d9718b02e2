"""The segments of the world's coasts and borders: a real set too large for the wheel."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from broadphase.boxes import from_segments
from broadphase.data import DataSet

NAME = "world_coast_segments"
FOLDER = Path(__file__).resolve().parent / "data"


def describe() -> DataSet:
    """Return what is known about the set."""
    fields = json.loads((FOLDER / f"{NAME}.json").read_text("utf-8"))
    return DataSet(NAME, **{**fields, "axes": tuple(fields["axes"])})


def load() -> np.ndarray[Any, np.dtype[np.float64]]:
    """Load the boxes: 472 660 in the plane, thin, touching their neighbours, many of zero width.

    Returns
    -------
    boxes : ndarray, shape (472660, 2, 2), float64
        Lower and upper corners, longitude and latitude in degrees. A new array.
    """
    with np.load(FOLDER / f"{NAME}.npz", allow_pickle=False) as arrays:
        return trace(arrays)


def trace(arrays: Mapping[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, np.dtype[np.float64]]:
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
    return from_segments((ends - steps) * scale + origin, ends * scale + origin)
