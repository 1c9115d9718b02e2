"""``shapely.STRtree`` and ``geopandas.sjoin`` over `broadphase.Index`: same arguments, same results, same order.

Queries by arrays are answered here; those by one geometry, by few, and the nearest ones by shapely's own tree, which is
built when it is first needed.
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
    are_geometries,
    features_meet,
    features_relate,
    geometry_bounds,
    pairs_in_order,
    places_in_areas,
    str_order,
)
from broadphase.extras import import_extra

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
_SURELY, _TINY, _HUGE = 1 - 1e-12, 1e-140, 1e140  # ratios and distances that rounding does not alter
_POINT = 0
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
# Of lines and valid areas: apart, the first inside, the second inside, areas that overlap, a line that crosses an area;
# in doubt.
_OF_RELATIONS = {
    "touches": (0, 0, 0, 0, 0, 2),
    "overlaps": (0, 0, 0, 1, 0, 2),
    "crosses": (0, 0, 0, 0, 1, 2),
    **dict.fromkeys(_INNER, (0, 1, 0, 0, 0, 2)),
    **dict.fromkeys(_OUTER, (0, 0, 1, 0, 0, 2)),
}
_CROSSING, _UNRELATED = 3, 5


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
        """Find one geometry nearest to each input, by shapely's tree."""
        return self._tree.nearest(geometry)

    def query_nearest(
        self,
        geometry: Any,
        max_distance: float | None = None,
        return_distance: bool = False,
        exclusive: bool = False,
        all_matches: bool = True,
    ) -> Any:
        """Find all geometries nearest to each input: points among points here, all else by shapely's tree."""
        inputs = np.asarray(geometry)
        found = None
        if not exclusive and inputs.ndim == 1 and len(inputs) >= _MANY:
            found = self._nearest_points(inputs, max_distance)
        if found is None:
            return self._tree.query_nearest(geometry, max_distance, return_distance, exclusive, all_matches)
        rows, nearest, left = found
        distances: NDArray[np.float64] = theirs.distance(inputs[rows], self.geometries[nearest])
        pairs = np.stack((rows, nearest))
        if len(left):
            others, more = self._tree.query_nearest(inputs[left], max_distance, True, False, all_matches)
            pairs = np.concatenate((pairs, (left[others[0]], others[1])), axis=1)
            order = np.argsort(pairs[0], kind="stable")
            pairs, distances = pairs[:, order], np.concatenate((distances, more))[order]
        return (pairs, distances) if return_distance else pairs

    def _found(self, inputs: NDArray[np.object_], predicate: str | None, distance: Any) -> NDArray[np.int64] | None:
        """Do what `query` does for an array; None where shapely's tree has to, or is faster."""
        is_itself = (
            predicate != "dwithin"
            and len(inputs) == len(self.geometries)
            and np.array_equal(_addresses(inputs), _addresses(self.geometries))
        )
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
        types: Any = None if predicate is None else theirs.get_type_id(inputs)
        if predicate not in (None, "intersects", "dwithin"):
            both = np.ix_(_occurring(_DIMENSIONS[types]), _occurring(self._dimensions))
            if predicate in _IMPOSSIBLE and _IMPOSSIBLE[predicate][both].all():
                return np.empty((2, 0), np.int64)
            if not _DECIDABLE[both].any():
                return None
        if is_itself:
            return self._join_itself(predicate, types)
        bounds, asking, is_finite = _bounded(inputs)
        if not is_finite:
            return None
        if not len(asking) or not len(self):
            return np.empty((2, 0), np.int64)
        lower, upper = bounds[asking, :2], bounds[asking, 2:]
        if reach is not None:  # rounded as shapely does
            margin = reach[asking, None]
            with np.errstate(over="ignore"):
                lower, upper = lower - margin, upper + margin
        found = self._index.query((lower, upper))
        pairs = np.stack((np.repeat(asking, np.diff(found.offsets)), self._visited[found.rows]))
        if predicate is None:
            return pairs
        decided = self._decide(inputs, types, bounds, pairs, predicate, reach)
        if decided is None:
            return None
        return np.compress(self._or_by_geos(decided, inputs, pairs, predicate, reach), pairs, axis=1)

    def _nearest_points(
        self, inputs: NDArray[np.object_], max_distance: float | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
        """Find inputs and the point nearest to each, and inputs for which rounding could decide; None if not of use."""
        most = np.inf if max_distance is None else max_distance
        if "_index" not in self.__dict__ and len(inputs) < _FIRST_SHARE * len(self.geometries):
            return None
        if not (isinstance(most, float | int) and most > 0 and len(self.geometries) and self._is_finite):
            return None
        bounds, asking, is_finite = _bounded(inputs)
        are_points = _are_points(theirs.get_type_id(inputs), bounds)
        if not is_finite or not are_points[asking].all() or not self._points[self._present].all():
            return None
        for some in (asking[:: 1 + len(asking) // _SAMPLE], asking):
            found = self._index.nearest(bounds[some, :2], 2)
            first, second = found.distances.T
            is_sure = (first < _SURELY * second) & (first > _TINY) & (first < _HUGE)
            is_sure &= (first < _SURELY * most) | (first > most / _SURELY)
            if 2 * np.count_nonzero(is_sure) < len(is_sure):
                return None
        is_found = is_sure & (first < most)
        return some[is_found], self._visited[found.rows[is_found, 0]], some[~is_sure]

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
        return is_dear or (predicate is not None and self._expected(inputs) >= size)

    def _expected(self, inputs: NDArray[np.object_]) -> float:
        """Guess from some of both how many boxes of inputs and geometries overlap."""
        some = [_bounded(geometries[:: 1 + len(geometries) // _SAMPLE]) for geometries in (inputs, self.geometries)]
        if not all(is_finite and len(present) for _, present, is_finite in some):
            return 0.0
        one, other = (bounds[present] for bounds, present, _ in some)
        return bp.count_pairs(one, other) / (len(one) * len(other)) * len(inputs) * len(self.geometries)

    def _join_itself(self, predicate: str | None, types: NDArray[np.int32] | None) -> NDArray[np.int64] | None:
        """Query all the geometries; None where shapely's tree is faster."""
        geometries, alone = self.geometries, self._present
        if not len(alone):
            return np.empty((2, 0), np.int64)
        pairs = np.concatenate((alone[bp.pairs(self._bounds[alone]).T], (alone, alone)), axis=1)
        if predicate is None or types is None:
            return self._in_order(pairs, both_ways=True)
        is_symmetric = predicate in _SYMMETRIC
        if not is_symmetric:
            pairs = self._in_order(pairs, both_ways=True)
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

    def _in_order(self, pairs: NDArray[np.int64], *, both_ways: bool = False) -> NDArray[np.int64]:
        """Sort pairs, or pairs both ways, by input, and by the place in the tree of what it has found."""
        in_order: Any = pairs_in_order(pairs[0], pairs[1], both_ways, self._visited, len(self.geometries))
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
        needs_validity = predicate not in _OUTER  # where what crosses is False for all
        sample = [left[:: 1 + len(left) // _SAMPLE]] if len(left) >= _MANY else []
        for some in (*sample, left):
            features, one, other = self._features(inputs, pairs[:, some])
            found: Any = features_relate(_GEOS, features, one, other, needs_validity)
            relations, are_simple = found
            known = relations != _UNRELATED
            if 2 * np.count_nonzero(known) < len(known):
                return False
        crossing = known & (relations >= _CROSSING)  # of which GEOS reads more than one place
        if needs_validity and crossing.any():
            invalid = _marked(np.concatenate((one[crossing], other[crossing])), len(features)) & (are_simple == 0)
            invalid[invalid] = ~theirs.is_valid(features[invalid])
            relations[crossing & (invalid[one] | invalid[other])] = _UNRELATED
        decided[left] = np.take(np.array(_OF_RELATIONS[predicate], np.uint8), relations)
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
        asking, asked_numbers = _numbered(pairs[0], len(inputs))
        found, numbers = _numbered(pairs[1], len(self.geometries))
        features = np.concatenate((inputs[asking], self.geometries[found]))
        return features, asked_numbers[pairs[0]], numbers[pairs[1]] + len(asking)

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
    def _read(self) -> tuple[NDArray[np.float64], NDArray[np.int64], bool]:
        return _bounded(self.geometries)

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

    @cached_property
    def _types(self) -> NDArray[np.int32]:
        types: NDArray[np.int32] = theirs.get_type_id(self.geometries)
        return types

    @cached_property
    def _dimensions(self) -> NDArray[np.uint8]:
        return _DIMENSIONS[self._types]

    @cached_property
    def _visited(self) -> NDArray[np.int64]:
        """The geometries in the order in which shapely's tree visits them."""
        bounds = self._bounds[self._present]
        order: Any = str_order(bounds, min(as_index(self._node_capacity), max(len(bounds), 2)))
        if len(order) == len(bounds):  # where centers are equal, the order is that of a sort in GEOS
            visited: NDArray[np.int64] = self._present[order]
        else:
            everything = theirs.box(*bounds[:, :2].min(axis=0), *bounds[:, 2:].max(axis=0))
            visited = self._tree.query(everything)
        return visited


def sjoin(left_df: Any, right_df: Any, *args: Any, **options: Any) -> Any:
    """Join two GeoDataFrames by where their geometries are, as ``geopandas.sjoin``.

    Values, index, columns and order are those of geopandas. The ``sindex`` of one frame is made over `STRtree`, and
    kept by the frame as that of geopandas is.
    """
    predicate = options.get("predicate", args[1] if len(args) > 1 else "intersects")
    theirs_own = own("sjoin")
    _index_over_ours(left_df if predicate == "within" else right_df)  # as geopandas chooses
    token = _IN_ANY_ORDER.set(predicate == "within")  # what geopandas asks for then, it sorts
    try:
        return theirs_own(left_df, right_df, *args, **options)
    finally:
        _IN_ANY_ORDER.reset(token)


def sjoin_nearest(left_df: Any, right_df: Any, *args: Any, **options: Any) -> Any:
    """Join two GeoDataFrames by which geometries are nearest, as ``geopandas.sjoin_nearest``; see `sjoin`."""
    how = options.get("how", args[0] if args else "inner")
    theirs_own = own("sjoin_nearest")
    _index_over_ours(left_df if how == "right" else right_df)
    return theirs_own(left_df, right_df, *args, **options)


def own(name: str) -> Any:
    """Return `sjoin` or `sjoin_nearest` of geopandas, also where that of here has taken its place."""
    import_extra("geopandas", purpose=name, install="geopandas")
    return _own(name)


@cache
def _own(name: str) -> Any:
    return getattr(sys.modules["geopandas.tools.sjoin"], name)  # the attribute of the package is the function


def _index_over_ours(frame: Any) -> None:
    """Make the ``sindex`` of a frame of geopandas over `STRtree`, unless it is one."""
    geopandas: Any = sys.modules["geopandas"]
    if not isinstance(frame, geopandas.GeoDataFrame):
        return
    if frame.has_sindex and isinstance(frame.sindex._tree, STRtree):
        return
    geometries = frame.geometry.values
    index = geopandas.sindex.SpatialIndex.__new__(geopandas.sindex.SpatialIndex)
    index.geometries = np.array(geometries, dtype=np.object_)
    index._tree = STRtree(index.geometries)
    geometries._sindex = index


def _geos() -> GeosFunctions | None:
    """Find the functions of the GEOS that shapely has loaded; None where its symbols cannot be looked up."""
    try:
        library = ctypes.CDLL(theirs.lib.__file__)
        return GeosFunctions(lambda name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
    except (AttributeError, ImportError, OSError):
        return None


_GEOS = _geos()


def _bounded(geometries: NDArray[np.object_]) -> tuple[NDArray[np.float64], NDArray[np.int64], bool]:
    """Return the bounds, which geometries are neither None nor empty, and whether the bounds of these are finite."""
    found: Any
    if _GEOS is None or geometries.dtype != np.object_ or geometries.ndim != 1:
        found = theirs.bounds(geometries)
    else:
        found = geometry_bounds(_GEOS, geometries.copy())  # which no other thread changes
    bounds: NDArray[np.float64] = found
    if np.isfinite(bounds).all():
        return bounds, np.arange(len(bounds)), True
    present = np.isfinite(bounds).all(axis=1)
    others = geometries[~present]
    is_finite = bool((theirs.is_missing(others) | theirs.is_empty(others)).all())
    if not is_finite:
        present = ~(theirs.is_missing(geometries) | theirs.is_empty(geometries))
    return bounds, np.flatnonzero(present), is_finite


def _marked(rows: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
    marked = np.zeros(count, np.bool_)
    marked[rows] = True
    return marked


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
