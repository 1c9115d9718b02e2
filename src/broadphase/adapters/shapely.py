"""``shapely.STRtree`` and ``geopandas.sjoin`` over `broadphase.Index`: same arguments, same results, same order.

Queries by arrays are answered here; those by one geometry and by few by shapely's own tree, which is built when it is
first needed.
"""

from __future__ import annotations

import ctypes
import sys
from contextvars import ContextVar
from functools import cache, cached_property
from operator import index as as_index
from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from broadphase._native import (
    GeosFunctions,
    NearestKind,
    StrTree,
    are_geometries,
    features_meet,
    features_relate,
    geometry_bounds,
    nearest_features,
    overlap_areas,
    pairs_in_order,
    places_in_areas,
    points_in_areas,
)
from broadphase.arguments import as_whole
from broadphase.extras import import_extra
from broadphase.periods import periods_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.periods import Period

__all__ = ["STRtree", "sjoin", "sjoin_nearest"]

theirs: Any = import_extra("shapely", purpose=__name__, install="shapely")

_GEOMETRY = theirs.Geometry
_TREE = theirs.STRtree  # which may be replaced by that of here
# Arrays do not pay for fewer pairs or points, nor for fewer geometries in a tree, unless very many inputs ask for them.
_FEW = 128
# Fewer inputs are left to shapely's tree, which is made at once of fewer geometries. Before there is an index, it
# answers until there were as many inputs as this share of the geometries, or more pairs are expected than geometries.
_MANY, _FIRST_SHARE = 1000, 0.1
_SAMPLE = 128  # geometries, or pairs, that are looked at first
_SYMMETRIC = frozenset(("intersects", "overlaps", "crosses", "touches"))
_OUTER = frozenset(("contains", "covers", "contains_properly"))  # the box of the input is around that of the other
_INNER = frozenset(("within", "covered_by"))
# Of a valid area and itself.
_OF_ITSELF = {"within": True, "contains": True, "covers": True, "covered_by": True, "touches": False, "overlaps": False}
# By type, and last for None: of points, lines, areas; or of any.
_DIMENSIONS = np.array((0, 1, 1, 2, 0, 1, 2, 3, 3), np.uint8)
_AREA, _ANY = 2, 3


def _table(*dimensions: tuple[int, int]) -> NDArray[np.bool_]:
    table = np.zeros((_ANY + 1, _ANY + 1), np.bool_)
    table[tuple(zip(*dimensions, strict=True))] = True
    return table


# The dimensions of an input and a geometry of which GEOS, since 3.13, reads no more before it answers False. A line
# without length counts as a point there.
_IMPOSSIBLE = {
    "crosses": _table((0, 0), (2, 2)),
    "touches": _table((0, 0)),
    "overlaps": _table((0, 2), (2, 0), (1, 2), (2, 1)),
    **dict.fromkeys(("contains", "covers"), _table((0, 2), (1, 2))),
    **dict.fromkeys(_INNER, _table((2, 0), (2, 1))),
}
if theirs.geos_version < (3, 13):
    _IMPOSSIBLE = {}
# Those of which other predicates than intersects can be decided here.
_DECIDABLE = _table((0, 2), (2, 0), (1, 1), (1, 2), (2, 1), (2, 2))
_PREDICATES = _SYMMETRIC | _OUTER | _INNER
_NUMBERS = {None: 0, **{one.name: one.value for one in theirs.strtree.BinaryPredicate}}  # as shapely's tree takes them
_IN_DOUBT = 2
_IN_ANY_ORDER = ContextVar("in_any_order", default=False)  # what queries give
# Ratios and distances that rounding does not alter; and a part of the size of all, below which it decides.
_SURELY, _TINY, _HUGE, _ROUNDED = 1 - 1e-12, 1e-140, 1e140, 2.0**-44
_NEAREST_COUNT: ContextVar[int | None] = ContextVar("nearest_count", default=None)  # `k` of a join by geopandas
_POINT, _POLYGON, _WITH_POLYGONS = 0, 3, (3, 6, 7)
_MULTIPLE = 4  # the first type of several parts
_ABOVE = 1 + 1e-12  # more than a distance is rounded by
# Of a point and an area, by where the point is: outside, inside, on the boundary; in doubt, which shapely decides.
_INTERIOR, _CLOSED, _BOUNDARY, _NEVER = ((0, 1, 0, 2), (0, 1, 1, 2), (0, 0, 1, 2), (0, 0, 0, 2))
_POINT_IN_AREA = {
    "intersects": _CLOSED,
    "dwithin": _CLOSED,
    "within": _INTERIOR,
    "covered_by": _CLOSED,
    "touches": _BOUNDARY,
    "overlaps": _NEVER,
    "crosses": _NEVER,
}
_AREA_AROUND_POINT = _POINT_IN_AREA | {"contains": _INTERIOR, "covers": _CLOSED, "contains_properly": _INTERIOR}
for _one in _INNER:
    del _AREA_AROUND_POINT[_one]
# Of lines and valid areas: apart, the first inside, the second inside, areas that overlap, a line that crosses an area,
# an area whose boundary the other one meets; in doubt.
_OF_RELATIONS = {
    "touches": (0, 0, 0, 0, 0, 2, 2),
    "overlaps": (0, 0, 0, 1, 0, 2, 2),
    "crosses": (0, 0, 0, 0, 1, 2, 2),
    **dict.fromkeys(_INNER, (0, 1, 0, 0, 0, 2, 2)),
    **dict.fromkeys(_OUTER, (0, 0, 1, 0, 0, 2, 2)),
    "contains_properly": (0, 0, 1, 0, 0, 0, 2),
}
_CROSSING = 3


class STRtree:
    """Geometries to search, as ``shapely.STRtree``; it keeps a copy of the array, as `geometries`."""

    def __init__(self, geoms: Any, node_capacity: int = 10) -> None:
        self._node_capacity = node_capacity
        self._asked = 0  # inputs of calls by many, before there was an index
        if type(geoms) in (np.ndarray, list) and np.size(geoms) < _MANY:
            self._tree = _TREE(geoms, node_capacity)  # a copy, or what is wrong
            self.geometries: NDArray[np.object_] = self._tree.geometries
            return
        geometries = self.geometries = np.array(geoms, dtype=np.object_, copy=True)
        is_plain = geometries.ndim == 1 and as_index(node_capacity) > 1
        if geometries.size < _MANY or not is_plain or (_GEOS is not None and not are_geometries(_GEOS, geometries)):
            _ = self._tree  # which says what is wrong
        elif _GEOS is None:
            _ = self._read

    def __len__(self) -> int:
        """Return how many geometries are there that are not None and not empty."""
        return len(self._present)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.geometries, self._node_capacity)

    # Queries

    def query(self, geometry: Any, predicate: str | None = None, distance: Any = None) -> NDArray[np.int64]:
        """Find the geometries whose box overlaps that of each input, or only touches it, and that meet a predicate.

        The results of one input are in the order of shapely's tree.
        """
        # The private tree of shapely's tree does not check arguments, which takes as long as a small query.
        number = _NUMBERS.get(predicate)
        found: Any = None
        if isinstance(geometry, _GEOMETRY) and number is not None:
            asked = np.empty(1, np.object_)
            asked[0] = geometry
            found = self._tree._tree.query(asked, number)[1]
            return found  # type: ignore[no-any-return]
        inputs = np.asarray(geometry)
        if inputs.ndim != 1:
            number = None
        elif len(inputs) >= _FEW:
            found = self._found(inputs, predicate, distance)
        if found is None and number is None:
            found = self._tree.query(inputs, predicate, distance)
        elif found is None:
            found = self._tree._tree.query(inputs, number)
        return found  # type: ignore[no-any-return]

    def nearest(self, geometry: Any) -> Any:
        """Find one geometry nearest to each input."""
        inputs = np.asarray(geometry)
        if inputs.ndim == 1 and len(inputs) >= _MANY and len(self):
            found = self._nearest(inputs, NearestKind.LAST)
            if found is not None and len(found[1]) == len(inputs):  # where all are there
                return found[0][1]
        return self._tree.nearest(geometry)

    def query_nearest(
        self,
        geometry: Any,
        max_distance: float | None = None,
        return_distance: bool = False,
        exclusive: bool = False,
        all_matches: bool = True,
        *,
        k: int | None = None,
    ) -> Any:
        """Find all geometries nearest to each input, or with `k` that many.

        Parameters
        ----------
        geometry, max_distance, return_distance, exclusive, all_matches
            As in shapely.
        k : int, optional
            How many geometries to find for each input; fewer where there are not so many. The nearest are first, and of
            those that are equally near the ones with smaller numbers. With `all_matches`, all that are as near as the
            last of them are found too. Default: None, the nearest ones in the order of shapely.

        Raises
        ------
        ValueError
            As in shapely; k below 1.
        """
        k = _NEAREST_COUNT.get() if k is None else k
        if k is not None:
            _NO_TREE.query_nearest([], max_distance, return_distance, exclusive, all_matches)  # says what is wrong
            return self._some_nearest(geometry, max_distance, return_distance, exclusive, all_matches, k)
        inputs = np.asarray(geometry)
        found = None
        if inputs.ndim == 1 and len(inputs) >= _MANY and _are_plain(max_distance, exclusive, all_matches):
            kind = NearestKind.ALL if all_matches else NearestKind.FIRST
            found = self._nearest(inputs, kind, max_distance, exclusive)
        if found is None:
            return self._tree.query_nearest(geometry, max_distance, return_distance, exclusive, all_matches)
        return found if return_distance else found[0]

    def _some_nearest(
        self,
        geometry: Any,
        max_distance: float | None,
        return_distance: bool,
        exclusive: bool,
        all_matches: bool,
        k: int,
    ) -> Any:
        k = min(as_whole(k, "k", 1), max(len(self), 1))
        given = np.asarray(geometry, np.object_)
        inputs = np.atleast_1d(given)
        if inputs.ndim != 1:
            raise TypeError("Array should be one dimensional")
        kind = NearestKind.SOME_AND_EQUAL if all_matches else NearestKind.SOME
        found = self._nearest(inputs, kind, max_distance, exclusive, k)
        if found is None:
            found = self._some_by_shapely(inputs, max_distance, exclusive, all_matches, k)
        pairs, distances = found if given.ndim else (found[0][1], found[1])
        return (pairs, distances) if return_distance else pairs

    def _nearest(
        self,
        inputs: NDArray[np.object_],
        kind: NearestKind,
        max_distance: float | None = None,
        exclusive: bool = False,
        k: int | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """Find pairs of inputs and nearest geometries, and distances; None where shapely's tree has to do it."""
        is_made = "_leaves" in self.__dict__ or "_index" in self.__dict__
        if k is None and not is_made and len(inputs) < _FIRST_SHARE * len(self.geometries):
            return None
        if _GEOS is None or not self._is_finite or not are_geometries(_GEOS, inputs):
            return None
        bounds, asking, is_finite = _bounded(inputs)
        if not is_finite:
            return None
        most, sure = _limit(max_distance), None
        if k is None and not exclusive and len(asking) >= max(_MANY, 1) and len(self):
            sure = self._nearest_points(inputs, bounds, asking, most)
        if sure is not None:
            pairs, distances, asking = sure
        asked, boxes = inputs[asking], bounds[asking]
        in_boxes = (_are_in_boxes(asked, boxes) & self._in_boxes).view(np.uint8)
        options = kind, k or 1, most, exclusive
        found: Any = nearest_features(_GEOS, self._leaves, self._there, asked, boxes, in_boxes, *options)
        if found is None:
            return None
        rows, numbers, lengths = found
        others = np.stack((_of(asking, rows, len(inputs)), _of(self._present, numbers, len(self.geometries))))
        if sure is None:
            return others, lengths
        order = np.argsort(np.concatenate((pairs[0], others[0])), kind="stable")
        return np.concatenate((pairs, others), axis=1)[:, order], np.concatenate((distances, lengths))[order]

    def _nearest_points(
        self, inputs: NDArray[np.object_], bounds: NDArray[np.float64], asking: NDArray[np.int64], most: float
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]] | None:
        """Find the point nearest to each, where rounding cannot decide, and the inputs where it can.

        None if not all are points, or if rounding can decide for most.
        """
        are_points = _are_points(theirs.get_type_id(inputs), bounds)
        if not are_points[asking].all() or not self._points[self._present].all():
            return None
        if "_index" not in self.__dict__ and self._leaves.is_open:  # its order would need shapely's tree
            return None
        own = self._bounds[self._present, :2]
        lower, upper = (
            bound(side(bounds[asking, :2], axis=0), side(own, axis=0))
            for bound, side in ((np.minimum, np.min), (np.maximum, np.max))
        )
        rounded = _ROUNDED * (upper - lower).sum()
        for some in (asking[:: 1 + len(asking) // _SAMPLE], asking):
            found = self._index.nearest(bounds[some, :2], 2)
            first, second = found.distances.T
            is_sure = (first + rounded < _SURELY * second) & (first > _TINY) & (first < _HUGE)
            is_sure &= (first + rounded < _SURELY * most) | (first > most / _SURELY + rounded)
            if 2 * np.count_nonzero(is_sure) < len(is_sure):
                return None
        is_found = is_sure & (first < most)
        pairs = np.stack((some[is_found], self._visited[found.rows[is_found, 0]]))
        apart = bounds[pairs[0], :2] - self._bounds[pairs[1], :2]
        return pairs, np.sqrt(apart[:, 0] * apart[:, 0] + apart[:, 1] * apart[:, 1]), some[~is_sure]

    def _some_by_shapely(
        self, inputs: NDArray[np.object_], max_distance: float | None, exclusive: bool, all_matches: bool, k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Find the k nearest of each input among all distances."""
        most = _limit(max_distance)
        pairs, lengths = [np.empty((2, 0), np.int64)], [np.empty(0)]
        for row in np.flatnonzero(~(theirs.is_missing(inputs) | theirs.is_empty(inputs))):
            distances = theirs.distance(inputs[row], self._there)
            is_near = distances <= most
            if exclusive:
                is_near &= ~theirs.equals(inputs[row], self._there)
            near = np.flatnonzero(is_near)
            near = near[np.argsort(distances[near], kind="stable")]
            if all_matches and len(near) > k:
                k_th = distances[near[k - 1]]
                near = near[distances[near] <= k_th]
            else:
                near = near[:k]
            pairs.append(np.stack((np.full(len(near), row), self._present[near])))
            lengths.append(distances[near])
        return np.concatenate(pairs, axis=1), np.concatenate(lengths)

    def _found(self, inputs: NDArray[np.object_], predicate: str | None, distance: Any) -> NDArray[np.int64] | None:
        """Do what `query` does for an array; None where shapely's tree has to, or is faster."""
        is_itself = (
            predicate != "dwithin"
            and len(inputs) == len(self.geometries)
            and np.array_equal(_addresses(inputs), _addresses(self.geometries))
        )
        if is_itself and predicate == "contains_properly" and len(inputs) < 4 * _MANY:
            return None  # GEOS looks at one point of each of the few pairs whose boxes allow it
        if not (is_itself or self._are_many(inputs, predicate)) or not self._is_finite:
            return None
        reach = None
        if predicate == "dwithin":
            try:
                reach = np.broadcast_to(np.asarray(distance, np.float64), inputs.shape)
            except (TypeError, ValueError):
                return None
            if not (np.isfinite(reach) & (reach >= 0)).all():
                return None
        elif predicate is not None and predicate not in _PREDICATES:
            return None
        if predicate not in (None, "intersects", "dwithin"):
            some = inputs if is_itself else inputs[:: 1 + len(inputs) // _SAMPLE]
            for asked in (some, inputs):  # some others may tell that there is something to decide
                both = np.ix_(_occurring(_DIMENSIONS[theirs.get_type_id(asked)]), _occurring(self._dimensions))
                if _DECIDABLE[both].any():
                    break
            else:
                is_impossible = predicate in _IMPOSSIBLE and _IMPOSSIBLE[predicate][both].all()
                return np.empty((2, 0), np.int64) if is_impossible else None
        if is_itself:
            return self._join_itself(predicate)
        bounds, asking, is_finite, types = _read(inputs)
        if not is_finite:
            return None
        if not len(asking) or not len(self):
            return np.empty((2, 0), np.int64)
        if predicate is not None and reach is None:
            found = self._points_in_areas(inputs, types, bounds, asking, predicate)
            if found is not None:
                return found
        return self._tested(inputs, types, bounds, asking, predicate, reach)

    def _tested(
        self,
        inputs: NDArray[np.object_],
        types: NDArray[np.int32],
        bounds: NDArray[np.float64],
        asking: NDArray[np.int64],
        predicate: str | None,
        reach: NDArray[np.float64] | None,
    ) -> NDArray[np.int64] | None:
        """Find the pairs whose boxes overlap, and test them; None where shapely's tree is faster."""
        lower, upper = bounds[asking, :2], bounds[asking, 2:]
        if reach is not None:  # rounded as shapely does
            margin = reach[asking, None]
            with np.errstate(over="ignore"):
                lower, upper = lower - margin, upper + margin
        pairs = self._overlapping(lower, upper, asking)
        if predicate is None:
            return pairs
        decided = self._decide(inputs, types, bounds, pairs, predicate, reach)
        if decided is None:
            return None
        return np.compress(self._or_by_geos(decided, inputs, pairs, predicate, reach), pairs, axis=1)

    def _overlapping(
        self, lower: NDArray[np.float64], upper: NDArray[np.float64], asking: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Find the geometries whose boxes overlap those of some inputs."""
        found = self._index.query((lower, upper))
        return np.stack((np.repeat(asking, np.diff(found.offsets)), self._visited[found.rows]))

    def _points_in_areas(
        self,
        inputs: NDArray[np.object_],
        types: NDArray[np.int32],
        bounds: NDArray[np.float64],
        asking: NDArray[np.int64],
        predicate: str,
    ) -> NDArray[np.int64] | None:
        """Find pairs where either all inputs are points and all geometries areas, or the other way round; else None."""
        own = self._types[self._present]
        points, areas = (types[asking], own), (own, types[asking])
        are_asked = [
            bool((one == _POINT).all() and (_DIMENSIONS[other] == _AREA).all()) for one, other in (points, areas)
        ]
        if _GEOS is None or not any(are_asked):
            return None
        meanings = (_POINT_IN_AREA if are_asked[0] else _AREA_AROUND_POINT).get(predicate)
        if meanings is None:
            return None
        table = np.array(meanings, np.uint8)
        order = self._present if _IN_ANY_ORDER.get() else self._visited
        found: Any
        if are_asked[0]:
            found = points_in_areas(_GEOS, self.geometries, self._bounds, order, bounds, asking, table, True)
        else:
            asked = inputs.copy()  # which no other thread changes
            found = points_in_areas(_GEOS, asked, bounds, asking, self._bounds, self._present, table, False)
        pairs, doubtful = found[0], np.unique(found[1][0])
        is_in_order = are_asked[0] or _IN_ANY_ORDER.get()
        if len(doubtful):  # as in _or_by_geos
            again = self._overlapping(bounds[doubtful, :2], bounds[doubtful, 2:], doubtful)
            again = np.compress(self._meeting(inputs, again, predicate), again, axis=1)
            pairs = np.compress(~_marked(doubtful, len(inputs))[pairs[0]], pairs, axis=1)
            pairs = np.concatenate((pairs, again), axis=1)
            is_in_order = False
        return pairs if is_in_order else self._in_order(pairs, input_count=len(inputs))

    def _are_many(self, inputs: NDArray[np.object_], predicate: str | None) -> bool:
        count, size = len(inputs), len(self.geometries)
        if count * min(size, _FEW) ** 2 < _MANY * _FEW**2 or (predicate is None and size < _MANY):
            return False
        if predicate in _OUTER and theirs.get_num_coordinates(inputs).max() <= 5:
            return False  # GEOS looks at the bounds alone where a rectangle may contain something
        if "_index" in self.__dict__:
            return True
        self._asked += count
        is_dear = predicate == "dwithin" or _IN_ANY_ORDER.get() or self._asked >= _FIRST_SHARE * size
        if not is_dear and predicate in _AREA_AROUND_POINT and "_tree" not in self.__dict__:
            some = (
                _DIMENSIONS[theirs.get_type_id(both[:: 1 + len(both) // _SAMPLE])] for both in (inputs, self.geometries)
            )
            is_dear = all((dimensions == expected).all() for dimensions, expected in zip(some, (_AREA, 0), strict=True))
        return is_dear or (predicate is not None and self._expected(inputs) >= size)

    def _expected(self, inputs: NDArray[np.object_]) -> float:
        """Guess from some of both how many boxes of inputs and geometries overlap."""
        some = [_bounded(geometries[:: 1 + len(geometries) // _SAMPLE]) for geometries in (inputs, self.geometries)]
        if not all(is_finite and len(present) for _, present, is_finite in some):
            return 0.0
        one, other = (bounds[present] for bounds, present, _ in some)
        return bp.count_pairs(one, other) / (len(one) * len(other)) * len(inputs) * len(self.geometries)

    def _join_itself(self, predicate: str | None) -> NDArray[np.int64] | None:
        """Query all the geometries; None where shapely's tree is faster."""
        geometries, types, alone = self.geometries, self._types, self._present
        if not len(alone):
            return np.empty((2, 0), np.int64)
        pairs = alone[bp.pairs(self._bounds[alone]).T]
        is_symmetric = predicate in _SYMMETRIC
        if predicate is not None and not is_symmetric:
            pairs = np.concatenate((pairs, pairs[::-1]), axis=1)
            pairs = np.compress(self._may_contain(self._bounds, pairs, predicate), pairs, axis=1)
        if predicate != "contains_properly":  # of nothing and itself
            pairs = np.concatenate((pairs, (alone, alone)), axis=1)
        if predicate is None:
            return self._in_order(pairs, both_ways=True)
        if not is_symmetric:
            pairs = self._in_order(pairs)
        decided = self._decide(geometries, types, self._bounds, pairs, predicate, None)
        if decided is None:
            return None
        if not is_symmetric:
            return np.compress(self._or_by_geos(decided, geometries, pairs, predicate), pairs, axis=1)
        meeting = self._in_order(np.compress(decided == 1, pairs, axis=1), both_ways=True)
        doubtful = pairs[:, decided == _IN_DOUBT]
        if not doubtful.size:
            return meeting
        is_doubtful = _marked(doubtful, len(geometries))  # as in _or_by_geos
        asked = self._in_order(pairs, both_ways=True)
        asked = np.compress(is_doubtful[asked[0]], asked, axis=1)
        asked = np.compress(self._meeting(geometries, asked, predicate), asked, axis=1)
        meeting = np.compress(~is_doubtful[meeting[0]], meeting, axis=1)
        return self._in_order(np.concatenate((meeting, asked), axis=1))

    def _in_order(
        self, pairs: NDArray[np.int64], *, both_ways: bool = False, input_count: int = 0
    ) -> NDArray[np.int64]:
        """Sort pairs, or pairs both ways, by input, and by the place in the tree of what it has found."""
        row_count = max(len(self.geometries), input_count)
        in_order: Any = pairs_in_order(pairs[0], pairs[1], both_ways, self._visited, row_count)
        found: NDArray[np.int64] = in_order
        return found

    def _may_contain(self, bounds: NDArray[np.float64], pairs: NDArray[np.int64], predicate: str) -> NDArray[np.bool_]:
        outer, inner = bounds[pairs[0]], self._bounds[pairs[1]]
        if predicate in _INNER:
            outer, inner = inner, outer
        around: NDArray[np.bool_] = outer[:, 0] <= inner[:, 0]
        around &= outer[:, 1] <= inner[:, 1]
        around &= outer[:, 2] >= inner[:, 2]
        around &= outer[:, 3] >= inner[:, 3]
        return around

    def _decide(
        self,
        inputs: NDArray[np.object_],
        types: NDArray[np.int32],
        bounds: NDArray[np.float64],
        pairs: NDArray[np.int64],
        predicate: str,
        reach: NDArray[np.float64] | None,
    ) -> NDArray[np.uint8] | None:
        """Decide which pairs meet: 0 no, 1 yes; or _IN_DOUBT. None if most are in doubt."""
        reaches = None if reach is None else reach[pairs[0]]
        decided = self._by_place(inputs, types, bounds, pairs, predicate, reaches)
        if predicate in _IMPOSSIBLE:
            impossible, dimensions = _IMPOSSIBLE[predicate], _DIMENSIONS[types]
            if impossible[np.ix_(_occurring(dimensions), _occurring(self._dimensions))].any():
                decided[impossible[dimensions[pairs[0]], self._dimensions[pairs[1]]]] = 0
        left = np.flatnonzero(decided == _IN_DOUBT)
        if len(left) and predicate == "intersects":
            decided[left] = self._decided(inputs, pairs[:, left])
        elif len(left) and reaches is not None:
            decided[left] = self._decided(inputs, pairs[:, left], reaches[left])
        elif len(left):
            if predicate not in _SYMMETRIC:
                decided[left[~self._may_contain(bounds, pairs[:, left], predicate)]] = 0
            if inputs is self.geometries:
                self._decide_alone(decided, pairs, predicate)
            if not self._relate(decided, inputs, pairs, predicate):
                return None
        return decided

    def _decide_alone(self, decided: NDArray[np.uint8], pairs: NDArray[np.int64], predicate: str) -> None:
        """Decide a predicate for valid areas and themselves."""
        if predicate not in _OF_ITSELF:
            return
        alone = np.flatnonzero((pairs[0] == pairs[1]) & (self._dimensions[pairs[0]] == _AREA))
        alone = alone[theirs.is_valid(self.geometries[pairs[0, alone]])]
        decided[alone] = _OF_ITSELF[predicate]

    def _relate(
        self, decided: NDArray[np.uint8], inputs: NDArray[np.object_], pairs: NDArray[np.int64], predicate: str
    ) -> bool:
        """Decide a predicate of pairs that are left; False, with nothing done, if most of them cannot be."""
        left = np.flatnonzero(decided == _IN_DOUBT)
        if _GEOS is None or len(left) < _FEW:
            return True
        needs_validity = predicate != "contains_properly"  # of which what crosses is False for all
        sample = [left[:: 1 + len(left) // _SAMPLE]] if len(left) >= _MANY else []
        for some in (*sample, left):
            features, one, other = self._features(inputs, pairs[:, some])
            found: Any = features_relate(_GEOS, features, one, other, needs_validity)
            relations, are_simple = found
            answers = np.take(np.array(_OF_RELATIONS[predicate], np.uint8), relations)
            known = answers != _IN_DOUBT
            if 2 * np.count_nonzero(known) < len(known):
                return False
        crossing = known & (relations >= _CROSSING)  # of which GEOS reads more than one place
        if needs_validity and crossing.any():
            invalid = _marked(np.concatenate((one[crossing], other[crossing])), len(features)) & (are_simple == 0)
            invalid[invalid] = ~theirs.is_valid(features[invalid])
            answers[crossing & (invalid[one] | invalid[other])] = _IN_DOUBT
        decided[left] = answers
        return True

    def _or_by_geos(
        self,
        decided: NDArray[np.uint8],
        inputs: NDArray[np.object_],
        pairs: NDArray[np.int64],
        predicate: str,
        reach: NDArray[np.float64] | None = None,
    ) -> NDArray[np.bool_]:
        """Let GEOS evaluate all pairs of inputs of which one is in doubt."""
        meeting: NDArray[np.bool_] = decided == 1
        doubtful = pairs[0, decided == _IN_DOUBT]
        if len(doubtful):
            # What GEOS answers for an invalid input depends on the questions before.
            again = np.flatnonzero(_marked(doubtful, len(inputs))[pairs[0]])
            meeting[again] = self._meeting(inputs, pairs[:, again], predicate, reach)
        return meeting

    def _by_place(
        self,
        inputs: NDArray[np.object_],
        types: NDArray[np.int32],
        bounds: NDArray[np.float64],
        pairs: NDArray[np.int64],
        predicate: str,
        reaches: NDArray[np.float64] | None,
    ) -> NDArray[np.uint8]:
        """Decide a predicate for points and areas: 0 no, 1 yes; _IN_DOUBT for all else."""
        decided = np.full(pairs.shape[1], _IN_DOUBT, np.uint8)
        if _GEOS is None or not decided.size:
            return decided
        asked, own = _are_points(types, bounds), self._points
        if predicate in _POINT_IN_AREA and np.count_nonzero(asked) >= _FEW and not own.all():
            meanings, areas = _POINT_IN_AREA[predicate], self.geometries
            self._place(_GEOS, decided, meanings, areas, pairs[1], bounds, pairs[0], asked, reaches)
        if predicate in _AREA_AROUND_POINT and np.count_nonzero(own) >= _FEW and not asked.all():
            meanings, areas = _AREA_AROUND_POINT[predicate], inputs.copy()  # which no other thread changes
            self._place(_GEOS, decided, meanings, areas, pairs[0], self._bounds, pairs[1], own, reaches)
        return decided

    @staticmethod
    def _place(
        geos: GeosFunctions,
        decided: NDArray[np.uint8],
        meanings: tuple[int, ...],
        areas: NDArray[np.object_],
        area: NDArray[np.int64],
        bounds: NDArray[np.float64],
        point: NDArray[np.int64],
        points: NDArray[np.bool_],
        reaches: NDArray[np.float64] | None,
    ) -> None:
        if _FEW * len(area) < len(areas):
            found, numbers = _numbered(area, len(areas))
            areas, area = areas[found], numbers[area]
        places: Any = places_in_areas(geos, areas, area, bounds, point, points.view(np.uint8), reaches)
        answers = np.take(np.array(meanings, np.uint8), places)
        np.minimum(decided, answers, out=decided)  # those in doubt are the largest

    def _decided(
        self, inputs: NDArray[np.object_], pairs: NDArray[np.int64], reaches: NDArray[np.float64] | None = None
    ) -> NDArray[np.uint8]:
        """Decide which pairs intersect, or are within reach: 0 no, 1 yes; _IN_DOUBT is for shapely."""
        if _GEOS is None or pairs.shape[1] < max(_FEW, 1):
            return np.full(pairs.shape[1], _IN_DOUBT, np.uint8)
        features, one, other = self._features(inputs, pairs)
        decided: Any = features_meet(_GEOS, features, one, other, reaches)
        meetings: NDArray[np.uint8] = decided
        return meetings

    def _features(
        self, inputs: NDArray[np.object_], pairs: NDArray[np.int64]
    ) -> tuple[NDArray[np.object_], NDArray[np.int64], NDArray[np.int64]]:
        """Return the geometries of pairs, which no other thread changes, and which two are a pair."""
        if inputs is self.geometries:
            return inputs.copy(), pairs[0], pairs[1]
        return _paired(inputs, self.geometries, pairs)

    def _meeting(
        self,
        inputs: NDArray[np.object_],
        pairs: NDArray[np.int64],
        predicate: str,
        reach: NDArray[np.float64] | None = None,
    ) -> NDArray[np.bool_]:
        """Evaluate a predicate, with the inputs prepared as in shapely's tree."""
        asking, found = pairs
        asked = _marked(asking, len(inputs))
        prepared = np.empty_like(inputs)
        prepared[asked] = _prepared(inputs[asked])
        given = () if reach is None else (reach[asking],)
        with np.errstate(all="ignore"):  # shapely's tree does not warn
            result: NDArray[np.bool_] = getattr(theirs, predicate)(prepared[asking], self.geometries[found], *given)
        return result

    # What is made when it is first needed

    @cached_property
    def _read(self) -> tuple[NDArray[np.float64], NDArray[np.int64], bool, NDArray[np.int32]]:
        return _read(self.geometries)

    @property
    def _bounds(self) -> NDArray[np.float64]:
        return self._read[0]

    @property
    def _present(self) -> NDArray[np.int64]:
        """The numbers of geometries that are not None and not empty."""
        return self._read[1]

    @property
    def _is_finite(self) -> bool:
        return self._read[2]

    @cached_property
    def _tree(self) -> Any:
        return _TREE(self.geometries, self._node_capacity)

    @cached_property
    def _index(self) -> bp.Index:
        return bp.Index(self._bounds[self._visited])

    @cached_property
    def _points(self) -> NDArray[np.bool_]:
        return _are_points(self._types, self._bounds)

    @property
    def _types(self) -> NDArray[np.int32]:
        return self._read[3]

    @cached_property
    def _dimensions(self) -> NDArray[np.uint8]:
        return _DIMENSIONS[self._types]

    @cached_property
    def _there(self) -> NDArray[np.object_]:
        """The geometries that are not None and not empty."""
        return self.geometries[self._present]

    @cached_property
    def _in_boxes(self) -> bool:
        return bool(_are_in_boxes(self._there, self._bounds[self._present]).all())

    @cached_property
    def _leaves(self) -> StrTree:
        """The tree that shapely makes of the geometries that are there."""
        bounds = self._bounds[self._present]
        return StrTree(bounds, min(as_index(self._node_capacity), max(len(bounds), 2)))

    @cached_property
    def _visited(self) -> NDArray[np.int64]:
        """The geometries in the order in which shapely's tree visits them."""
        if self._leaves.is_open:  # where centers are equal, the order is that of a sort in GEOS
            bounds = self._bounds[self._present]
            everything = theirs.box(*bounds[:, :2].min(axis=0), *bounds[:, 2:].max(axis=0))
            visited: NDArray[np.int64] = self._tree.query(everything)
        else:
            order: Any = self._leaves.visited()
            visited = self._present[order]
        return visited


class _PeriodicTree(STRtree):
    """Geometries in a plane that repeats: those that some image of an input meets, or is nearest to.

    An image is the input moved by whole multiples of the periods, in float64. With `is_flipped`, the images are those
    of the geometries of the tree, and the predicate is that of these and an input, which is "within".
    """

    def __init__(self, geoms: Any, periods: NDArray[np.float64], name: str, is_flipped: bool = False) -> None:
        super().__init__(geoms)
        self._periods, self._name, self._is_flipped = periods, name, is_flipped
        self._repeating = np.flatnonzero(np.isfinite(periods))

    def query(self, geometry: Any, predicate: str | None = None, distance: Any = None) -> NDArray[np.int64]:
        """Find the geometries that an image of each input meets, by input and number."""
        inputs, other = np.array(geometry, np.object_), _OTHER[self._name]
        if self._is_flipped:
            flipped = _PeriodicTree(inputs, self._periods, other)
            return flipped.query(self.geometries, "within")[::-1]
        bounds, asking = self._required(other, *_bounded(inputs))
        self._required(self._name, *self._read[:3])
        reach = None
        if predicate == "dwithin":
            reach = np.broadcast_to(np.asarray(distance, np.float64), inputs.shape)
            asking = asking[reach[asking] >= 0]
        if not len(asking) or not len(self):
            return np.empty((2, 0), np.int64)
        moved, steps, pairs = self._candidates(
            inputs, bounds, asking, np.zeros(len(inputs)) if reach is None else reach
        )
        images = self._moved(inputs, moved, steps)
        if predicate is not None:
            reach = None if reach is None else reach[moved]
            pairs = np.compress(self._meet(images, pairs, predicate, reach), pairs, axis=1)
        return self._once(moved[pairs[0]], pairs[1])

    def query_nearest(
        self,
        geometry: Any,
        max_distance: float | None = None,
        return_distance: bool = False,
        exclusive: bool = False,
        all_matches: bool = True,
        *,
        k: int | None = None,
    ) -> Any:
        """Find the geometries nearest to an image of each input, by input and number."""
        if exclusive:
            raise ValueError("exclusive=True is not for period, with which a geometry is near to its own images")
        if k is not None or _NEAREST_COUNT.get() is not None:
            raise ValueError("k is not for period, with which only the nearest geometries are found")
        inputs = np.array(geometry, np.object_)
        bounds, asking = self._required(_OTHER[self._name], *_bounded(inputs))
        self._required(self._name, *self._read[:3])
        pairs, distances = super().query_nearest(inputs, max_distance, return_distance=True)
        nearest = np.full(len(inputs), np.inf if max_distance is None else max_distance)
        np.minimum.at(nearest, pairs[0], distances)
        # An image is nearest only if it is not farther from all geometries than what is nearest so far.
        moved, steps = self._images(bounds[asking], nearest[asking]) if len(self) else (asking[:0], np.empty((0, 2)))
        is_away = steps.any(axis=1)
        moved, steps = asking[moved[is_away]], steps[is_away]
        if len(moved):
            images = self._moved(inputs, moved, steps)
            more, farther = super().query_nearest(images, max_distance, return_distance=True)
            pairs = np.concatenate((pairs, (moved[more[0]], more[1])), axis=1)
            distances = np.concatenate((distances, farther))
            np.minimum.at(nearest, pairs[0], distances)
        pairs = self._once(*pairs[:, distances == nearest[pairs[0]]])
        if not all_matches:
            pairs = pairs[:, np.unique(pairs[0], return_index=True)[1]]
        return (pairs, nearest[pairs[0]]) if return_distance else pairs

    def _candidates(
        self,
        inputs: NDArray[np.object_],
        bounds: NDArray[np.float64],
        asking: NDArray[np.int64],
        reach: NDArray[np.float64],
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """Return images, as inputs and steps in periods, and the pairs of one and a geometry whose boxes overlap."""
        boxes, numbers = self._pieces(inputs, bounds, asking)
        pieces, steps = self._images(boxes, reach[numbers])
        at = boxes[pieces] + np.tile(self._lengths(steps), 2)
        # Rounded outward; the predicate decides what is near.
        margin = (reach[numbers[pieces]] * _ABOVE)[:, np.newaxis]
        lower, upper = np.nextafter(at[:, :2] - margin, -np.inf), np.nextafter(at[:, 2:] + margin, np.inf)
        found = self._piece_index.query((lower, upper))
        # An image is one whichever of its pieces is found.
        across, along = (steps - steps.min(axis=0, initial=0)).astype(np.int64).T
        keys = (numbers[pieces] * (across.max(initial=0) + 1) + across) * (along.max(initial=0) + 1) + along
        _, one_of, image_of = np.unique(keys, return_index=True, return_inverse=True)
        pairs = self._once(np.repeat(image_of, np.diff(found.offsets)), self._own_pieces[1][found.rows])
        used, places = _numbered(pairs[0], len(one_of))
        return numbers[pieces[one_of[used]]], steps[one_of[used]], np.stack((places[pairs[0]], pairs[1]))

    def _images(
        self, boxes: NDArray[np.float64], reach: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return boxes and steps that take each within reach, or one period, of the box around all geometries."""
        own = self._bounds[self._present]
        least, most = own[:, :2].min(axis=0), own[:, 2:].max(axis=0)
        rows, steps = np.arange(len(boxes)), np.zeros((len(boxes), 2))
        for axis in self._repeating:
            period = self._periods[axis]
            # Where a step more brings two geometries nearer to each other along the axis, fewer are never nearest.
            far = np.minimum(reach[rows], period) * _ABOVE
            lower, upper = boxes[rows, axis], boxes[rows, 2 + axis]
            first = np.floor((least[axis] - far - upper) / period)
            counts = (np.ceil((most[axis] + far - lower) / period) - first + 1).astype(np.int64)
            begins = np.cumsum(counts) - counts
            of = np.repeat(np.arange(len(rows)), counts)
            step = first[of] + (np.arange(len(of)) - begins[of])
            far = np.nextafter(far[of], np.inf)
            is_near = np.nextafter(lower[of] + step * period - far, -np.inf) <= most[axis]
            is_near &= np.nextafter(upper[of] + step * period + far, np.inf) >= least[axis]
            of, step = of[is_near], step[is_near]
            rows, steps = rows[of], steps[of]
            steps[:, axis] = step
        return rows, steps

    def _pieces(
        self, geometries: NDArray[np.object_], bounds: NDArray[np.float64], rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the boxes of geometries, and their numbers: of the parts of one that is split and fills half a period.

        The box around both ends of a map is the box of all that is between them.
        """
        sizes = (bounds[:, 2:] - bounds[:, :2])[rows][:, self._repeating]
        is_wide = np.asarray((sizes > self._periods[self._repeating] / 2).any(axis=1))
        is_wide[is_wide] = theirs.get_type_id(geometries[rows[is_wide]]) >= _MULTIPLE
        whole, split = rows[~is_wide], rows[is_wide]
        parts, of = theirs.get_parts(geometries[split], return_index=True)
        boxes = theirs.bounds(parts)
        is_there = ~np.isnan(boxes[:, 0])
        return np.concatenate((bounds[whole], boxes[is_there])), np.concatenate((whole, split[of[is_there]]))

    def _meet(
        self,
        images: NDArray[np.object_],
        pairs: NDArray[np.int64],
        predicate: str,
        reach: NDArray[np.float64] | None,
    ) -> NDArray[np.bool_]:
        decided = None
        if reach is None or np.isfinite(reach).all():
            types, bounds = theirs.get_type_id(images), _bounded(images)[0]
            decided = self._decide(images, types, bounds, pairs, predicate, reach)
        if decided is None:
            return self._meeting(images, pairs, predicate, reach)
        return self._or_by_geos(decided, images, pairs, predicate, reach)

    def _moved(
        self, inputs: NDArray[np.object_], rows: NDArray[np.int64], steps: NDArray[np.float64]
    ) -> NDArray[np.object_]:
        images: NDArray[np.object_] = inputs[rows]
        away = np.flatnonzero(steps.any(axis=1))
        coordinates, of = theirs.get_coordinates(images[away], return_index=True)
        images[away] = theirs.set_coordinates(
            theirs.force_2d(images[away]), coordinates + self._lengths(steps[away])[of]
        )
        return images

    def _lengths(self, steps: NDArray[np.float64]) -> NDArray[np.float64]:
        return steps * np.where(np.isfinite(self._periods), self._periods, 0)

    def _once(self, rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return pairs in order, each once."""
        count = len(self.geometries)
        return np.stack(np.divmod(np.unique(rows * count + numbers), max(count, 1)))

    def _required(
        self, name: str, bounds: NDArray[np.float64], present: NDArray[np.int64], is_finite: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return bounds and present geometries; ValueError for those that do not fit into a period."""
        if not is_finite:
            bad = present[np.argmax(~np.isfinite(bounds[present]).all(axis=1))]
            raise ValueError(f"{name}: geometry {bad} has coordinates that are not finite, which period does not allow")
        there = bounds[present]
        for axis in self._repeating if len(there) else ():
            period, lower, upper = self._periods[axis], there[:, axis], there[:, 2 + axis]
            sizes = upper - lower
            widest, span = int(np.argmax(sizes)), upper.max() - lower.min()
            if sizes[widest] > period * (1 + 1e-6):
                what = f"{name}: geometry {present[widest]} is {sizes[widest]:.6g} wide"
            elif span > 2 * period:
                what = f"{name}: the geometries span {span:.6g}"
            else:
                continue
            limit = "the period" if sizes[widest] > period * (1 + 1e-6) else "two periods"
            raise ValueError(f"{what} along {'xy'[axis]}, more than {limit} of {period:.6g}: is that their unit?")
        return bounds, present

    @cached_property
    def _own_pieces(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        return self._pieces(self.geometries, self._bounds, self._present)

    @cached_property
    def _piece_index(self) -> bp.Index:
        return bp.Index(self._own_pieces[0])


_OTHER = {"left_df": "right_df", "right_df": "left_df"}


def sjoin(
    left_df: Any, right_df: Any, *args: Any, period: Period = None, area_col: str | None = None, **options: Any
) -> Any:
    """Join two GeoDataFrames by where their geometries are, as ``geopandas.sjoin``.

    Values, index, columns and order are those of geopandas. The ``sindex`` of one frame is made over `STRtree`, and
    kept by the frame as that of geopandas is.

    Parameters
    ----------
    left_df, right_df, *args, **options
        As of ``geopandas.sjoin``.
    period : float, or two floats or None, optional
        How far it is until the plane repeats, along x and y; None along an axis that does not. ``(360, None)`` for
        longitudes and latitudes in degrees: geometries on both sides of the antimeridian meet. Rows are joined if the
        predicate is true of some image of the left geometry and the right geometry. An image is the whole geometry,
        moved by whole multiples of the period; moved coordinates are rounded to float64. Rows of one geometry are in
        the order of the other frame, and no frame keeps a ``sindex`` of this.
    area_col : str, optional
        Name of a column for the area that the two geometries of a row have in common, in the square of the unit of the
        coordinates; NaN where one is missing. Not with `period`.

    Raises
    ------
    ValueError
        A period that is not positive, or not one for each axis; with `period`, infinite coordinates, a geometry wider
        than the period, or a frame wider than two: names the frame and the geometry, counted from 0; `area_col` and
        `period`.

    Examples
    --------
    >>> from geopandas import GeoDataFrame
    >>> from shapely import Point, box
    >>> zones = GeoDataFrame({"zone": ["Fiji", "Samoa"]}, geometry=[box(176, -20, 182, -15), box(-173, -15, -171, -13)])
    >>> ships = GeoDataFrame({"ship": ["a", "b"]}, geometry=[Point(-179, -18), Point(-172, -14)])
    >>> sjoin(ships, zones, period=(360, None))["zone"].tolist()
    ['Fiji', 'Samoa']
    """
    if area_col is not None:
        if period is not None:
            raise ValueError("area_col is not for period, with which several images may overlap")
        return _sjoin_with_area(left_df, right_df, area_col, args, options)
    predicate = options.get("predicate", args[1] if len(args) > 1 else "intersects")
    theirs_own = own("sjoin")
    left_df, right_df = _with_index(left_df, right_df, predicate == "within", period)  # as geopandas chooses
    token = _IN_ANY_ORDER.set(predicate == "within")  # what geopandas asks for then, it sorts
    try:
        return theirs_own(left_df, right_df, *args, **options)
    finally:
        _IN_ANY_ORDER.reset(token)


def _sjoin_with_area(left: Any, right: Any, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Join two frames, and compute the common area of the rows of each pair."""
    frames, columns = list[Any](), list[str]()
    for frame in (left, right):
        columns.append(f"{name} of row {len(columns)}")  # whose rows are a pair, is known by a column of each
        is_frame = isinstance(frame, sys.modules["geopandas"].GeoDataFrame)
        frames.append(frame.assign(**{columns[-1]: np.arange(len(frame))}) if is_frame else frame)
    joined = sjoin(*frames, *args, **options)
    rows = np.stack([joined.pop(column).to_numpy(np.float64, na_value=np.nan) for column in columns])
    is_pair = ~np.isnan(rows).any(axis=0)
    areas = np.full(len(joined), np.nan)
    one, other = (np.asarray(frame.geometry.values, np.object_) for frame in (left, right))
    areas[is_pair] = _overlap_areas(one, other, rows[:, is_pair].astype(np.int64))
    joined[name] = areas
    return joined


def sjoin_nearest(
    left_df: Any, right_df: Any, *args: Any, k: int | None = None, period: Period = None, **options: Any
) -> Any:
    """Join two GeoDataFrames by which geometries are nearest, as ``geopandas.sjoin_nearest``.

    Parameters
    ----------
    left_df, right_df, *args, **options
        As of ``geopandas.sjoin_nearest``; ``exclusive`` only without `period`.
    k : int, optional
        How many rows to find for each row of `left_df`, or of `right_df` with ``how="right"``: the nearest, and all
        that are as near as the last of these. The nearest are first, then the ones that are first in their frame.
        Default: None, the nearest ones, as in geopandas. Only without `period`.
    period : float, or two floats or None, optional
        As of `sjoin`. The distance is the least of those of all images, in the plane and the unit of the coordinates.

    Raises
    ------
    ValueError
        As of `sjoin`; k below 1; ``exclusive`` or `k`, and `period`.

    Examples
    --------
    >>> from geopandas import GeoDataFrame
    >>> from shapely import LineString, Point
    >>> roads = GeoDataFrame(
    ...     {"road": ["A", "B", "C"]},
    ...     geometry=[LineString([(0, y), (9, y)]) for y in (0, 4, 7)],
    ... )
    >>> houses = GeoDataFrame({"house": [1]}, geometry=[Point(3, 1)])
    >>> sjoin_nearest(houses, roads, k=2, distance_col="far")[["road", "far"]].to_numpy().tolist()
    [['A', 1.0], ['B', 3.0]]
    """
    how = options.get("how", args[0] if args else "inner")
    theirs_own = own("sjoin_nearest")
    left_df, right_df = _with_index(left_df, right_df, how == "right", period, is_nearest=True)
    token = _NEAREST_COUNT.set(k if k is None else as_whole(k, "k", 1))
    try:
        return theirs_own(left_df, right_df, *args, **options)
    finally:
        _NEAREST_COUNT.reset(token)


def own(name: str) -> Any:
    """Return `sjoin` or `sjoin_nearest` of geopandas, also where that of here has taken its place."""
    import_extra("geopandas", purpose=name, install="geopandas")
    return _own(name)


@cache
def _own(name: str) -> Any:
    return getattr(sys.modules["geopandas.tools.sjoin"], name)  # the attribute of the package is the function


def _with_index(left: Any, right: Any, of_left: bool, period: Period, is_nearest: bool = False) -> tuple[Any, Any]:
    """Return two frames of which one has a ``sindex`` over our tree; with a period, a copy of the frame has it."""
    geopandas: Any = sys.modules["geopandas"]
    periods = periods_of(period, 2)
    frame = left if of_left else right
    if not isinstance(frame, geopandas.GeoDataFrame):
        return left, right
    if periods is None:
        if not (frame.has_sindex and isinstance(frame.sindex._tree, STRtree)):
            _index_over(frame.geometry.values, STRtree)
        return left, right
    frame = frame.set_geometry(frame.geometry.copy())
    name, is_flipped = "left_df" if of_left else "right_df", of_left and not is_nearest
    _index_over(frame.geometry.values, lambda geometries: _PeriodicTree(geometries, periods, name, is_flipped))
    return (frame, right) if of_left else (left, frame)


def _index_over(geometries: Any, tree: Callable[[NDArray[np.object_]], STRtree]) -> None:
    """Make the ``sindex`` of geometries of geopandas over a tree."""
    geopandas: Any = sys.modules["geopandas"]
    index = geopandas.sindex.SpatialIndex.__new__(geopandas.sindex.SpatialIndex)
    index.geometries = np.array(geometries, dtype=np.object_)
    index._tree = tree(index.geometries)
    geometries._sindex = index


def _geos() -> GeosFunctions | None:
    """Find the functions of the GEOS that shapely has loaded; None where its symbols cannot be looked up."""
    try:
        library = ctypes.CDLL(theirs.lib.__file__)
        return GeosFunctions(lambda name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
    except (AttributeError, ImportError, OSError):
        return None


_GEOS = _geos()
_NO_TREE = _TREE(())  # which checks arguments all the same


def _bounded(geometries: NDArray[np.object_]) -> tuple[NDArray[np.float64], NDArray[np.int64], bool]:
    """Return the bounds, which geometries are neither None nor empty, and whether the bounds of these are finite."""
    return _read(geometries)[:3]


def _read(
    geometries: NDArray[np.object_],
) -> tuple[NDArray[np.float64], NDArray[np.int64], bool, NDArray[np.int32]]:
    """Return what `_bounded` does, and the types."""
    bounds: NDArray[np.float64]
    types: NDArray[np.int32]
    if _GEOS is None or geometries.dtype != np.object_ or geometries.ndim != 1:
        bounds, types = theirs.bounds(geometries), theirs.get_type_id(geometries)
        are_finite = bool(np.isfinite(bounds).all())
    else:
        found: Any = geometry_bounds(_GEOS, geometries.copy())  # which no other thread changes
        bounds, types, are_finite = found
    if are_finite:
        return bounds, np.arange(len(bounds)), True, types
    present = np.isfinite(bounds).all(axis=1)
    others = geometries[~present]
    is_finite = bool((theirs.is_missing(others) | theirs.is_empty(others)).all())
    if not is_finite:
        present = ~(theirs.is_missing(geometries) | theirs.is_empty(geometries))
    return bounds, np.flatnonzero(present), is_finite, types


def _overlap_areas(
    one: NDArray[np.object_], other: NDArray[np.object_], pairs: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the areas that pairs of geometries have in common."""
    found: Any
    if _GEOS is None:
        found = theirs.area(theirs.intersection(one[pairs[0]], other[pairs[1]]))
        return found  # type: ignore[no-any-return]
    features, first, second = _paired(one, other, pairs)
    found = overlap_areas(_GEOS, features, first, second)
    areas, are_unsure = found
    unsure = np.flatnonzero(are_unsure)
    invalid = _marked(unsure[~theirs.is_valid(features[unsure])], len(features))
    left = np.isnan(areas) | invalid[first] | invalid[second]
    areas[left] = theirs.area(theirs.intersection(features[first[left]], features[second[left]]))
    return areas  # type: ignore[no-any-return]


def _paired(
    one: NDArray[np.object_], other: NDArray[np.object_], pairs: NDArray[np.int64]
) -> tuple[NDArray[np.object_], NDArray[np.int64], NDArray[np.int64]]:
    """Return the geometries of pairs, which no other thread changes, and which two are a pair."""
    (first, numbers), (second, others) = _numbered(pairs[0], len(one)), _numbered(pairs[1], len(other))
    return np.concatenate((one[first], other[second])), numbers[pairs[0]], others[pairs[1]] + len(first)


def _marked(rows: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
    marked = np.zeros(count, np.bool_)
    marked[rows] = True
    return marked


def _are_in_boxes(geometries: NDArray[np.object_], bounds: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether boxes are around geometries: those of invalid polygons are not around holes outside their shells."""
    types, found = theirs.get_type_id(geometries), np.ones(len(geometries), np.bool_)
    rows = np.flatnonzero(np.isin(types, _WITH_POLYGONS))
    rows = rows[(types[rows] != _POLYGON) | (theirs.get_num_interior_rings(geometries[rows]) > 0)]
    places, of = theirs.get_coordinates(geometries[rows], return_index=True)
    boxes = bounds[rows][of]
    found[rows[of[((places < boxes[:, :2]) | (places > boxes[:, 2:])).any(axis=1)]]] = False
    return found


def _of(some: NDArray[np.int64], places: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return some[places], of some rows of as many."""
    return places if len(some) == count else some[places]


def _are_plain(max_distance: Any, exclusive: Any, all_matches: Any) -> bool:
    """Whether these need no check by shapely."""
    is_far = max_distance is None or (isinstance(max_distance, float | int) and 0 < max_distance < np.inf)
    return is_far and isinstance(exclusive, bool) and isinstance(all_matches, bool)


def _limit(max_distance: float | None) -> float:
    """Return the largest distance; for NaN none, as in shapely."""
    return float(max_distance) if max_distance is not None and max_distance > 0 else np.inf


def _numbered(rows: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows that occur, and by row the place among them."""
    kept = np.flatnonzero(_marked(rows, count))
    places = np.empty(count, np.int64)
    places[kept] = np.arange(len(kept))
    return kept, places


def _occurring(dimensions: NDArray[np.uint8]) -> NDArray[np.intp]:
    return np.flatnonzero(np.bincount(dimensions, minlength=_ANY + 1))


def _are_points(types: NDArray[np.int32], bounds: NDArray[np.float64]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = types == _POINT
    found &= (bounds[:, 0] == bounds[:, 2]) & (bounds[:, 1] == bounds[:, 3])  # not empty
    return found


def _prepared(geometries: NDArray[np.object_]) -> NDArray[np.object_]:
    """Return prepared copies: the geometries themselves may be in use by other threads."""
    copies: NDArray[np.object_] = theirs.force_2d(geometries)
    theirs.prepare(copies)
    return copies


def _addresses(geometries: NDArray[np.object_]) -> NDArray[np.intp]:
    """Return where the objects of an array are, which tells whether they are the same."""
    if geometries.dtype != np.object_ or not len(geometries):
        return np.empty(0, np.intp)
    contiguous = np.ascontiguousarray(geometries)
    return np.frombuffer(ctypes.string_at(contiguous.ctypes.data, contiguous.nbytes), np.intp)
