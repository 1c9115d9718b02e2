"""Plans: all of space divided into tiles that hold about as many boxes each, and that fit into memory one by one."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.errors import quoted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Plan", "divide"]

_KIND = "broadphase plan"
_MAX_DEPTH = 20
_LEAST_SAMPLE = 16  # boxes of a sample that are worth dividing
_WORTHWHILE = 0.9  # a plane is kept only if neither side meets more than this share of the boxes
_LEAST_COPIES = 8
_TILES_PER_COPY = 64


@dataclass(frozen=True, eq=False)
class Plan:
    """All of space, divided into half-open tiles by a k-d tree of planes.

    Coordinates below a plane are on its first side, the plane itself and everything above on its second. The outermost
    tiles reach to infinity, so each point is in exactly one tile.

    Attributes
    ----------
    dim : int
        Number of axes, 1 to 4.
    at : ndarray, shape (2**depth - 1,), float64
        Where each plane is, the children of plane k being 2k + 1 and 2k + 2. NaN: no plane, all is on the first side.
    axis : ndarray, shape (2**depth - 1,), int32
        The axis of each plane.
    leaves : ndarray, shape (2**depth,), int32
        The number of each leaf's tile; -1 for leaves that nothing reaches.

    Examples
    --------
    Two tiles, left and right of x = 5:

    >>> plan = Plan(2, np.array([5.0]), np.array([0], np.int32), np.array([0, 1], np.int32))
    >>> plan.tile_count, plan.most_copies
    (2, 8)
    >>> plan.bounds[1].tolist()
    [[5.0, -inf], [inf, inf]]
    """

    dim: int
    at: NDArray[np.float64]
    axis: NDArray[np.int32]
    leaves: NDArray[np.int32]

    def __reduce__(self) -> tuple[type[Plan], tuple[Any, ...]]:
        return type(self), (self.dim, self.at, self.axis, self.leaves)

    @cached_property
    def tiling(self) -> _native.Tiling:
        """The planes in the form of the core."""
        return _native.Tiling(self.at, self.axis, self.leaves, self.dim)

    @property
    def tile_count(self) -> int:
        """Number of tiles."""
        return self.tiling.tiles

    @property
    def most_copies(self) -> int:
        """Boxes that meet more tiles than this are not copied to each, but read by all: an eighth or so of the work."""
        return max(_LEAST_COPIES, self.tile_count // _TILES_PER_COPY)

    @cached_property
    def bounds(self) -> NDArray[np.float64]:
        """Lower corner of each tile, which belongs to it, and upper corner, which does not; (tiles, 2, d)."""
        bounds = np.empty((self.tile_count, 2, self.dim))
        waiting: list[tuple[int, list[float], list[float]]] = [(0, [-math.inf] * self.dim, [math.inf] * self.dim)]
        while waiting:
            node, lower, upper = waiting.pop()
            if node >= len(self.at):
                bounds[self.leaves[node - len(self.at)]] = lower, upper
                continue
            at, axis = float(self.at[node]), int(self.axis[node])
            if math.isnan(at):
                waiting.append((2 * node + 1, lower, upper))
                continue
            waiting.append((2 * node + 1, lower, [min(at, end) if k == axis else end for k, end in enumerate(upper)]))
            waiting.append((2 * node + 2, [max(at, end) if k == axis else end for k, end in enumerate(lower)], upper))
        return bounds

    @property
    def digest(self) -> str:
        """A fingerprint of the tiles."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def to_json(self) -> str:
        """Write the plan as JSON; numbers come back as they were."""
        at = [None if math.isnan(one) else one for one in self.at.tolist()]
        return json.dumps(
            {"kind": _KIND, "dim": self.dim, "at": at, "axis": self.axis.tolist(), "leaves": self.leaves.tolist()}
        )

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Read what `to_json` wrote, or raise ValueError."""
        try:
            facts = json.loads(text)
            if facts["kind"] != _KIND:
                raise ValueError(f"its kind is {quoted(facts['kind'])}")
            at = np.array([math.nan if one is None else one for one in facts["at"]], np.float64)
            axis, leaves = (np.array(facts[name], np.int32) for name in ("axis", "leaves"))
            plan = cls(int(facts["dim"]), at, axis, leaves)
            _ = plan.tiling
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"not a plan of tiles: {error}") from None
        return plan


def divide(lower: NDArray[Any], upper: NDArray[Any], box_count: int, rows_per_tile: float) -> Plan:
    """Divide space so that few tiles meet more than `rows_per_tile` of `box_count` boxes, judged by a sample (s, d).

    Each plane goes through the median of the lower corners, along the axis where it cuts the fewest boxes. Boxes that
    cover a whole region are left out of the count, since no plane would help them. O(s * log(tiles)) time.
    """
    dim = lower.shape[1]
    weight = box_count / max(len(lower), 1)
    planes: dict[int, tuple[int, float]] = {}
    waiting = [(0, 0, np.arange(len(lower)), np.full(dim, -np.inf), np.full(dim, np.inf))]
    depth = 0
    while waiting:
        node, level, rows, begin, end = waiting.pop()
        covering = np.all((lower[rows] <= begin) & (upper[rows] >= end), axis=1)
        rows = rows[~covering]
        if len(rows) * weight <= rows_per_tile or len(rows) < _LEAST_SAMPLE or level == _MAX_DEPTH:
            continue
        plane = _best_plane(lower[rows], upper[rows], begin)
        if plane is None:
            continue
        axis, at = planes[node] = plane
        depth = max(depth, level + 1)
        below, above = end.copy(), begin.copy()
        below[axis] = above[axis] = at
        waiting.append((2 * node + 1, level + 1, rows[lower[rows, axis] < at], begin, below))
        waiting.append((2 * node + 2, level + 1, rows[upper[rows, axis] >= at], above, end))
    return _complete(dim, depth, planes)


def _best_plane(lower: NDArray[Any], upper: NDArray[Any], begin: NDArray[Any]) -> tuple[int, float] | None:
    best, least = None, _WORTHWHILE * len(lower)
    for axis in range(lower.shape[1]):
        places = np.sort(np.maximum(lower[:, axis], begin[axis]))
        at = float(places[len(places) // 2])
        if at == places[0]:  # nothing would be below it
            later: NDArray[Any] = places[np.searchsorted(places, at, side="right") :]
            if len(later) == 0:
                continue
            at = float(later[0])
        larger = max(int(np.count_nonzero(lower[:, axis] < at)), int(np.count_nonzero(upper[:, axis] >= at)))
        if larger < least and math.isfinite(at):
            best, least = (axis, at), larger
    return best


def _complete(dim: int, depth: int, planes: dict[int, tuple[int, float]]) -> Plan:
    """Fill a tree up to its depth with planes at NaN."""
    count = 2**depth - 1
    at, axis = np.full(count, np.nan), np.zeros(count, np.int32)
    for node, (along, place) in planes.items():
        at[node], axis[node] = place, along
    reached = np.zeros(2 * count + 1, np.bool_)
    reached[0] = True
    for node in range(count):
        reached[2 * node + 1] = reached[node]
        reached[2 * node + 2] = reached[node] and not math.isnan(at[node])
    last = reached[count:]
    leaves = np.where(last, np.cumsum(last) - 1, -1).astype(np.int32)
    return Plan(dim, at, axis, leaves)
