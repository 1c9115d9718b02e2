"""Bundled data: boxes of real scenes, in the public domain, each with the known number of its overlapping pairs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from broadphase.errors import unknown_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NAMES", "DataSet", "describe", "load"]

NAMES = ("us_counties",)
"""The names that `load` knows."""


@dataclass(frozen=True, slots=True)
class DataSet:
    """What is known about a data set.

    Attributes
    ----------
    name, title : str
        The name that `load` takes, and one line about the content.
    axes : tuple of str
        Meaning and unit of each coordinate.
    source, license : str
        Where the data come from, and their terms.
    box_count, dim, pair_count : int
        Number of boxes, of dimensions, and of overlapping pairs.
    pair_checksum : str
        Fingerprint of the set of pairs, as computed by `broadphase.testing.checksum`.
    sha256 : str
        Digest of the bytes of the boxes, as little-endian float64 in C order.
    """

    name: str
    title: str
    axes: tuple[str, ...]
    source: str
    license: str
    box_count: int
    dim: int
    pair_count: int
    pair_checksum: str
    sha256: str


def describe(name: str) -> DataSet:
    """Return what is known about a bundled data set.

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
        `name` is unknown.

    Examples
    --------
    >>> describe("us_counties").pair_count
    10465
    """
    _check(name)
    fields = json.loads(resources.files(__package__).joinpath(f"{name}.json").read_text("utf-8"))
    return DataSet(name, **{**fields, "axes": tuple(fields["axes"])})


def load(name: str) -> NDArray[np.float64]:
    """Load the boxes of a bundled data set.

    Parameters
    ----------
    name : str
        One of `NAMES`:

        - ``us_counties``: 3510 boxes, d = 2, of the counties of the United States, one for each polygon.

    Returns
    -------
    boxes : ndarray, shape (n, 2, d), float64
        Lower and upper corners, longitude and latitude in degrees. A new array.

    Raises
    ------
    ValueError
        `name` is unknown.

    Examples
    --------
    >>> from broadphase import data
    >>> data.load("us_counties").shape
    (3510, 2, 2)
    """
    _check(name)
    # The coordinates are multiples of a step, so each box is stored as whole numbers: lower corner and size.
    with (
        resources.as_file(resources.files(__package__).joinpath(f"{name}.npz")) as path,
        np.load(path, allow_pickle=False) as arrays,
    ):
        lower = arrays["lower"].astype(np.int64)
        boxes: NDArray[np.float64] = np.stack([lower, lower + arrays["size"]], axis=1) * arrays["scale"]
        boxes += arrays["origin"]
    return boxes


def _check(name: str) -> None:
    if name not in NAMES:
        raise ValueError(unknown_name("data set", name, NAMES))
