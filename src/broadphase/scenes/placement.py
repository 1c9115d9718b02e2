"""Where the actors of a group are put."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from broadphase.scenes.spread import point

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.scenes.table import Table
    from broadphase.testing.draws import Draws

    Corners = tuple[tuple[float, ...], tuple[float, ...]]

__all__ = ["Placement", "read_corners", "read_placement"]

_WAYS = ("uniform", "grid", "clusters", "list")


@dataclass(frozen=True, slots=True)
class Placement:
    """How places are chosen.

    Attributes
    ----------
    how : str
        ``uniform``, ``grid``, ``clusters`` or ``list``.
    corners : tuple of two tuples, or None
        Lower and upper corner of the region; None for a list.
    spacing : tuple of float
        Of the grid, along each axis.
    clusters : int
        Number of the clusters.
    spread : float
        Standard deviation within a cluster, along each axis.
    points : tuple of tuples
        The list.
    """

    how: str
    corners: Corners | None = None
    spacing: tuple[float, ...] = ()
    clusters: int = 0
    spread: float = 0.0
    points: tuple[tuple[float, ...], ...] = ()

    @property
    def room(self) -> int | None:
        """Number of different places: of points of a list or a grid; None where there is no end of them."""
        return prod(self.shape) if self.how == "grid" else len(self.points) if self.how == "list" else None

    def draw(self, draws: Draws, count: int, first: int = 0) -> NDArray[np.float64]:
        """Choose places, (count, d). Those of a grid or list follow each other from number `first` on, and recur."""
        if self.how == "list":
            numbers = np.arange(first, first + count) % len(self.points)
            return np.asarray(np.array(self.points, np.float64)[numbers])
        lower, upper = map(np.array, cast("Corners", self.corners))
        if self.how == "grid":
            numbers = np.arange(first, first + count) % prod(self.shape)
            cells = np.stack(np.unravel_index(numbers, self.shape[::-1])[::-1], axis=-1)  # the first axis quickest
            return np.asarray(lower + (cells + 0.5) * np.array(self.spacing))
        if self.how == "uniform":
            return np.asarray(lower + (upper - lower) * draws.random((count, len(lower))))
        middles = lower + (upper - lower) * draws.random((self.clusters, len(lower)))
        chosen = draws.integers(0, self.clusters, count)
        places = middles[chosen] + self.spread * draws.normal((count, len(lower)))
        return np.asarray(np.clip(places, lower, upper))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of grid cells along each axis."""
        lower, upper = cast("Corners", self.corners)
        return tuple(int((high - low) / step) for low, high, step in zip(lower, upper, self.spacing, strict=True))


def read_placement(table: Table, dimension: int, bounds: Corners | None) -> Placement:
    """Read the table ``place``.

    Parameters
    ----------
    table : Table
        What the file has.
    dimension : int
        Number of axes.
    bounds : tuple of two tuples, or None
        The region where none is named: all of the world, if that has an end.

    Returns
    -------
    Placement

    Raises
    ------
    ValueError
        Something is wrong with it; names the key.
    """
    how = table.text("how", "uniform", choices=_WAYS)
    if how == "list":
        at = table.take("at")
        if not isinstance(at, list) or not at:
            raise table.wrong("at", "must be a list of points")
        placement = Placement(how, points=tuple(point(table, "at", one, dimension) for one in at))
    else:
        region = table.take("in", None)
        corners = bounds if region is None else read_corners(table, "in", region, dimension)
        if corners is None:
            raise table.wrong("in", "is missing: two corners, as the world has no bounds")
        if how == "grid":
            placement = Placement(how, corners, spacing=_spacing(table, dimension))
            if not 0 < prod(placement.shape) <= 2**31 - 64:
                raise table.wrong("spacing", f"gives {prod(placement.shape)} places")
        elif how == "clusters":
            clusters, spread = table.whole("clusters", least=1), table.number("spread", least=0)
            placement = Placement(how, corners, clusters=clusters, spread=spread)
        else:
            placement = Placement(how, corners)
    table.finish()
    return placement


def read_corners(table: Table, key: str, value: Any, dimension: int) -> Corners:
    """Read a lower and an upper corner."""
    if not isinstance(value, list) or len(value) != 2:
        raise table.wrong(key, f"must be a lower and an upper corner: [{[0] * dimension}, {[9] * dimension}]")
    lower, upper = (point(table, key, corner, dimension) for corner in value)
    for axis, (low, high) in enumerate(zip(lower, upper, strict=True)):
        if low > high:
            raise table.wrong(key, f"lower > upper, axis {axis}: {low:g} > {high:g}")
    return lower, upper


def _spacing(table: Table, dimension: int) -> tuple[float, ...]:
    value = table.take("spacing")
    spacing = point(table, "spacing", value if isinstance(value, list) else [value] * dimension, dimension)
    if min(spacing) <= 0:
        raise table.wrong("spacing", "must be above 0")
    return spacing
