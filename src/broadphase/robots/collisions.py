"""Which parts of a robot collide, and where they are nearest: the broad and narrow phase for many configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase import _native
from broadphase.narrow.clearance import Solids
from broadphase.narrow.queries import distance, overlaps
from broadphase.narrow.row_pairs import contacts_of, overlap_mask
from broadphase.representations import shown
from broadphase.searches import pairs as box_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from broadphase.shapes import Shapes

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]

__all__ = ["Candidates", "Collisions", "NearestParts", "PlacedRobots", "find_collisions", "find_nearest"]

_MOST_PARTS, _MOST_PAIRS = 1 << 16, 1 << 20  # that are placed and compared at a time: some 50 MB


@shown
class Collisions(NamedTuple):
    """Which parts of a robot collide, in n configurations.

    Attributes
    ----------
    collides : ndarray, shape (n,), bool
        Whether there is a pair. For one configuration, a bool of NumPy.
    rows : ndarray, shape (m,), int32
        The configuration of each pair, ascending.
    parts : ndarray, shape (m, 2), int32
        The parts of the robot, by number: rows of `placed`. The second is -1 for an obstacle.
    obstacles : ndarray, shape (m,), int32
        The row of the obstacle; -1 for two parts.
    links : ndarray, shape (m, 2), object
        The names of the links of the parts; None for an obstacle. That is how ``allowed=`` names pairs.
    """

    collides: Any
    rows: Rows
    parts: Rows
    obstacles: Rows
    links: NDArray[np.object_]


@shown
class NearestParts(NamedTuple):
    """How far a robot is from a collision, in n configurations, and where. For one, each without the first axis.

    Attributes
    ----------
    distances : ndarray, shape (n,), float64
        As `clearance` gives them.
    parts : ndarray, shape (n, 2), int32
        The parts that are the nearest, or the deepest of those that collide, by number: rows of `placed`. The second is
        -1 for an obstacle, and both are if the distance is infinite.
    obstacles : ndarray, shape (n,), int32
        The row of the obstacle; -1 for two parts, or none.
    links : ndarray, shape (n, 2), object
        The names of the links of the parts; None for an obstacle, or none.
    points : ndarray, shape (n, 2, 3), float64
        The nearest points: on the first part, and on the second or the obstacle. If they collide, the first point of
        their contact, twice; see `contacts`. NaN if the distance is infinite.
    """

    distances: Any
    parts: Rows
    obstacles: Any
    links: NDArray[np.object_]
    points: Floats


class PlacedRobots(NamedTuple):
    """The parts of a robot in some configurations, one configuration after another."""

    shapes: Shapes
    part_count: int
    meet_obstacles: NDArray[np.bool_]  # of each part of a configuration
    pairs: Rows  # of parts of a configuration that are compared

    @property
    def robot_count(self) -> int:
        """How many configurations these are."""
        return len(self.shapes) // self.part_count

    def own_pairs(self) -> Rows:
        """Give the rows of all parts that are compared with each other."""
        begins = self.part_count * np.arange(self.robot_count, dtype=np.int32)
        return (begins[:, np.newaxis, np.newaxis] + self.pairs).reshape(-1, 2).astype(np.int32)

    def beyond_rounding(self, distances: Floats) -> Floats:
        """Give distances that are larger by more than all roundings of boxes and distances."""
        farthest = float(np.abs(self.shapes.boxes).max(initial=0.0))
        return distances * (1 + 1e-9) + 1e-12 * farthest

    def pairs_near(self, obstacles: Shapes | None, margins: Floats) -> Rows:
        """Give the rows of parts and obstacles whose boxes are at most as far apart as its configuration says."""
        which = np.flatnonzero(np.tile(self.meet_obstacles, self.robot_count))
        if obstacles is None or not len(obstacles) or not len(which):
            return np.empty((0, 2), np.int32)
        boxes = self.shapes.boxes[which].copy()
        by = margins[which // self.part_count, np.newaxis]
        boxes[:, 0] -= by
        boxes[:, 1] += by
        found: Rows = box_pairs(boxes, obstacles.boxes)
        return np.column_stack([which[found[:, 0]].astype(np.int32), found[:, 1]])


class Candidates(NamedTuple):
    """Pairs of parts, or of a part and an obstacle, by configuration; -1 where there is none."""

    rows: Rows
    parts: Rows
    obstacles: Rows


_NO_PAIRS = Candidates(np.empty(0, np.int32), np.empty((0, 2), np.int32), np.empty(0, np.int32))
_NO_POINTS = np.empty((0, 2, 3))


def find_collisions(
    place: Callable[[NDArray[np.intp]], PlacedRobots],
    rows: NDArray[np.intp],
    counts: tuple[int, int],
    obstacles: Shapes | None,
    padding: float,
) -> Candidates:
    """Find all pairs that collide, in lexicographic order, in configurations of which each has at least one.

    `place` places the parts of some configurations; `counts` are those of parts, and of pairs that are compared.
    """
    found = [_NO_PAIRS]
    for some in _portions(rows, *counts):
        placed = place(some)
        own = overlaps(placed.shapes, pairs=placed.own_pairs())
        others = placed.pairs_near(obstacles, placed.beyond_rounding(np.full(len(some), padding)))
        if obstacles is not None and padding > 0:
            others = others[distance(placed.shapes, obstacles, pairs=others, max_distance=padding) <= padding]
        elif obstacles is not None:
            others = overlaps(placed.shapes, obstacles, pairs=others)
        found.append(_sorted(_by_configuration(own, others, some, counts[0])))
    return Candidates(*map(np.concatenate, zip(*found, strict=True)))


def find_nearest(
    place: Callable[[NDArray[np.intp]], PlacedRobots],
    rows: NDArray[np.intp],
    gaps: Floats,
    counts: tuple[int, int],
    obstacles: Shapes | None,
    workers: int,
) -> tuple[Candidates, Floats]:
    """Find the nearest pair of each configuration, whose least distance is known, and its nearest points.

    `place` and `counts` are as of `find_collisions`.
    """
    nearest, points = [_NO_PAIRS], [_NO_POINTS]
    for some in _portions(rows[np.argsort(gaps[rows], kind="stable")], *counts):  # of like distances: one limit
        placed = place(some)
        boxes, own = placed.shapes.boxes, placed.own_pairs()
        reach = placed.beyond_rounding(gaps[some])
        if len(own):
            a, b = boxes[own[:, 0]], boxes[own[:, 1]]
            apart = np.maximum(a[:, 0] - b[:, 1], b[:, 0] - a[:, 1]).max(axis=1)
            own = own[apart <= reach[own[:, 0] // counts[0]]]
        others = placed.pairs_near(obstacles, reach)
        limit = float(placed.beyond_rounding(reach).max())  # of what is measured, which is rounded once more
        solids = Solids(placed.shapes, "parts", solid=False)
        own_gaps, own_points = _measured(solids, solids, own, limit, workers)
        if len(others):
            static = Solids(obstacles, "obstacles", solid=False)
            other_gaps, other_points = _measured(solids, static, others, limit, workers)
        else:
            other_gaps, other_points = np.empty(0), _NO_POINTS
        pairs = _by_configuration(own, others, some, counts[0])
        measured, where = np.concatenate([own_gaps, other_gaps]), np.concatenate([own_points, other_points])
        order = np.lexsort((pairs.obstacles, pairs.parts[:, 1], pairs.parts[:, 0], measured, pairs.rows))
        first = order[np.unique(pairs.rows[order], return_index=True)[1]]
        nearest.append(Candidates(*(column[first] for column in pairs)))
        points.append(where[first] + 0.0)
    return Candidates(*map(np.concatenate, zip(*nearest, strict=True))), np.concatenate(points)


def _measured(first: Solids, second: Solids, pairs: Rows, limit: float, workers: int) -> tuple[Floats, Floats]:
    """Compute signed distances of pairs, and their nearest points; of those that overlap, a point of the contact."""
    if not len(pairs):
        return np.empty(0), _NO_POINTS
    columns = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    found: Any = _native.mesh_clearances(*first.native, *second.native, *columns, limit, workers)
    gaps, points, _ = found
    meet = np.flatnonzero(gaps <= 0)
    meet = meet[overlap_mask(first.shapes, second.shapes, columns[0][meet], columns[1][meet])]
    touching = contacts_of(first.shapes, second.shapes, columns[0][meet], columns[1][meet])
    gaps[meet], points[meet] = -touching.depths, touching.points[:, :1]
    return gaps, points


def _portions(rows: NDArray[np.intp], part_count: int, pair_count: int) -> Iterator[NDArray[np.intp]]:
    count = max(1, min(_MOST_PARTS // max(1, part_count), _MOST_PAIRS // max(1, pair_count)))
    return (rows[begin : begin + count] for begin in range(0, len(rows), count))


def _by_configuration(own: Rows, others: Rows, configurations: NDArray[np.intp], part_count: int) -> Candidates:
    """Split rows of placed parts, in pairs with each other and with obstacles, into configurations and parts."""
    rows = configurations[np.concatenate([own[:, 0], others[:, 0]]) // part_count].astype(np.int32)
    none = np.full(len(others), -1, np.int32)
    parts = np.concatenate([own % part_count, np.column_stack([others[:, 0] % part_count, none])])
    return Candidates(rows, parts.astype(np.int32), np.concatenate([np.full(len(own), -1, np.int32), others[:, 1]]))


def _sorted(pairs: Candidates) -> Candidates:
    order = np.lexsort((pairs.obstacles, pairs.parts[:, 1], pairs.parts[:, 0], pairs.rows))
    return Candidates(*(column[order] for column in pairs))
