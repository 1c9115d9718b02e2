"""``shapely.STRtree`` and ``geopandas.sjoin`` over `broadphase.Index`: same arguments, same results, same order.

Queries by arrays are answered here; those by one geometry, by few, and the nearest ones by shapely's own tree, which is
built when it is first needed.
"""

from __future__ import annotations

import ctypes
from functools import cached_property
from importlib import import_module
from itertools import pairwise
from math import ceil, sqrt
from operator import index as as_index
from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from broadphase.adapters.library import import_library

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["STRtree", "sjoin"]

theirs: Any = import_library("shapely", install="shapely")

_GEOMETRY = theirs.Geometry
_FEW = 64  # inputs; arrays do not pay for fewer
_SYMMETRIC = frozenset(("intersects", "overlaps", "crosses", "touches"))
_OUTER = frozenset(("contains", "covers", "contains_properly"))  # the box of the input is around that of the other
_INNER = frozenset(("within", "covered_by"))
# Of a geometry and itself: what intersection is for all, and the others are for valid areas.
_OF_ITSELF = {
    "intersects": True,
    "within": True,
    "contains": True,
    "covers": True,
    "covered_by": True,
    "touches": False,
    "overlaps": False,
}
_AREAS = (3, 6)  # Polygon and MultiPolygon, as shapely numbers types
_PREDICATES = _SYMMETRIC | _OUTER | _INNER


class STRtree:
    """Geometries to search, as ``shapely.STRtree``.

    Parameters
    ----------
    geoms : sequence of Geometry
        None and empty ones are never found.
    node_capacity : int
        Of shapely's own tree; it decides on the order of results.

    Attributes
    ----------
    geometries : ndarray of Geometry
        A copy of the array that was given.
    """

    def __init__(self, geoms: Any, node_capacity: int = 10) -> None:
        self.geometries: NDArray[np.object_] = np.array(geoms, dtype=np.object_, copy=True)
        self._node_capacity = node_capacity
        if self.geometries.ndim != 1 or as_index(node_capacity) < 2:
            _ = self._tree  # which says what is wrong
        self._bounds, self._present, self._is_finite = _bounded(self.geometries)

    def __len__(self) -> int:
        """Return how many geometries are there that are not None and not empty."""
        return len(self._present)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.geometries, self._node_capacity)

    # Queries

    def query(self, geometry: Any, predicate: str | None = None, distance: Any = None) -> NDArray[np.int64]:
        """Find the geometries whose box overlaps that of each input, or only touches it, and that meet a predicate.

        Parameters
        ----------
        geometry : Geometry or array_like
            One input, or many; None and empty ones find nothing.
        predicate : str, optional
            intersects, within, contains, overlaps, crosses, touches, covers, covered_by, contains_properly or dwithin:
            ``predicate(input, geometry)``.
        distance : float or array_like, optional
            For dwithin: one, or one for each input.

        Returns
        -------
        ndarray of int64, shape (n,) or (2, n)
            Numbers of geometries; for an array, numbers of inputs, ascending, above them. The geometries of one input
            are in the order of shapely's tree.
        """
        if isinstance(geometry, _GEOMETRY):
            return self._ask(geometry, predicate, distance)
        inputs = np.asarray(geometry)
        if inputs.ndim != 1 or len(inputs) < _FEW or not self._is_finite:
            return self._ask(geometry, predicate, distance)
        reach = None
        if predicate == "dwithin":
            try:
                reach = np.broadcast_to(np.asarray(distance, np.float64), inputs.shape)
            except (TypeError, ValueError):
                return self._ask(geometry, predicate, distance)
            if not (np.isfinite(reach) & (reach >= 0)).all():
                return self._ask(geometry, predicate, distance)
        elif predicate is not None and predicate not in _PREDICATES:
            return self._ask(geometry, predicate, distance)
        is_itself = (
            reach is None
            and len(inputs) == len(self.geometries)
            and np.array_equal(_addresses(inputs), _addresses(self.geometries))
        )
        bounds, asking, is_finite = (self._bounds, self._present, True) if is_itself else _bounded(inputs)
        if not is_finite:
            return self._ask(geometry, predicate, distance)
        if not len(asking) or not len(self):
            return np.empty((2, 0), np.int64)
        lower, upper = bounds[asking, :2], bounds[asking, 2:]
        if reach is not None:  # rounded outwards
            margin = reach[asking, None]
            with np.errstate(over="ignore"):
                lower, upper = np.nextafter(lower - margin, -np.inf), np.nextafter(upper + margin, np.inf)
        found = self._index.query((lower, upper))
        pairs = np.stack((np.repeat(asking, np.diff(found.offsets)), self._visited[found.rows]))
        if predicate is None:
            return pairs
        if predicate in _OUTER or predicate in _INNER:
            outer, inner = bounds[pairs[0]], self._bounds[pairs[1]]
            if predicate in _INNER:
                outer, inner = inner, outer
            around = (outer[:, :2] <= inner[:, :2]).all(axis=1) & (outer[:, 2:] >= inner[:, 2:]).all(axis=1)
            pairs = np.compress(around, pairs, axis=1)
        if is_itself:
            meeting = self._meeting_each_other(pairs[0], pairs[1], predicate)
        else:
            meeting = self._meeting(inputs, pairs[0], pairs[1], predicate, reach)
        return np.compress(meeting, pairs, axis=1)

    def nearest(self, geometry: Any) -> Any:
        """Find one geometry nearest to each input, as shapely does, by shapely's tree.

        Parameters
        ----------
        geometry : Geometry or array_like
            None and empty ones raise.

        Returns
        -------
        int or ndarray of int64, or None
            None if the tree is empty.
        """
        return self._tree.nearest(geometry)

    def query_nearest(
        self,
        geometry: Any,
        max_distance: float | None = None,
        return_distance: bool = False,
        exclusive: bool = False,
        all_matches: bool = True,
    ) -> Any:
        """Find all geometries nearest to each input, as shapely does, by shapely's tree.

        Parameters
        ----------
        geometry : Geometry or array_like
            None and empty ones find nothing.
        max_distance : float, optional
            No geometry farther away is found.
        return_distance : bool
            Give the distances too.
        exclusive : bool
            Leave out geometries equal to the input.
        all_matches : bool
            False: one of those that are equally near.

        Returns
        -------
        ndarray of int64, or tuple of that and an ndarray of float64
            As `query`, with the distances.
        """
        return self._tree.query_nearest(geometry, max_distance, return_distance, exclusive, all_matches)

    def _ask(self, geometry: Any, predicate: str | None, distance: Any) -> NDArray[np.int64]:
        found: NDArray[np.int64] = self._tree.query(geometry, predicate, distance)
        return found

    def _meeting_each_other(
        self, one: NDArray[np.int64], other: NDArray[np.int64], predicate: str
    ) -> NDArray[np.bool_]:
        """Evaluate a predicate for pairs of these geometries; a symmetric one is evaluated once for two of them."""
        geometries, count = self.geometries, len(self.geometries)
        meeting = np.empty(len(one), np.bool_)
        alone = np.flatnonzero(one == other)
        meeting[alone] = _meeting_itself(geometries[one[alone]], predicate)
        if predicate not in _SYMMETRIC:
            rest = np.flatnonzero(one != other)
            meeting[rest] = self._meeting(geometries, one[rest], other[rest], predicate)
            return meeting
        first, second = np.flatnonzero(one < other), np.flatnonzero(one > other)
        meeting[first] = self._meeting(geometries, one[first], other[first], predicate)
        twins = np.argsort(one[first] * count + other[first]), np.argsort(other[second] * count + one[second])
        meeting[second[twins[1]]] = meeting[first[twins[0]]]
        return meeting

    def _meeting(
        self,
        inputs: NDArray[np.object_],
        asking: NDArray[np.int64],
        found: NDArray[np.int64],
        predicate: str,
        reach: NDArray[np.float64] | None = None,
    ) -> NDArray[np.bool_]:
        """Evaluate a predicate, with the inputs prepared as in shapely's tree."""
        asked = np.zeros(len(inputs), np.bool_)
        asked[asking] = True
        prepared = np.empty_like(inputs)
        prepared[asked] = _prepared(inputs[asked])
        given = () if reach is None else (reach[asking],)
        result: NDArray[np.bool_] = getattr(theirs, predicate)(prepared[asking], self.geometries[found], *given)
        return result

    # What is made when it is first needed

    @cached_property
    def _tree(self) -> Any:
        return theirs.STRtree(self.geometries, self._node_capacity)

    @cached_property
    def _index(self) -> bp.Index:
        return bp.Index(self._bounds[self._visited])

    @cached_property
    def _visited(self) -> NDArray[np.int64]:
        """The geometries in the order in which shapely's tree visits them."""
        bounds = self._bounds[self._present]
        order = _order_of_tree(bounds, self._node_capacity)
        if order is not None:
            return self._present[order]
        everything = theirs.box(*bounds[:, :2].min(axis=0), *bounds[:, 2:].max(axis=0))
        visited: NDArray[np.int64] = self._tree.query(everything)
        return visited


def sjoin(left_df: Any, right_df: Any, *args: Any, **options: Any) -> Any:
    """Join two GeoDataFrames by where their geometries are, as ``geopandas.sjoin``.

    Parameters
    ----------
    left_df, right_df : GeoDataFrame
    *args, **options
        As geopandas takes them: ``how``, ``predicate``, ``lsuffix``, ``rsuffix``, ``distance``, ``on_attribute``.

    Returns
    -------
    GeoDataFrame
        Equal to that of geopandas: values, index, columns and order.

    Notes
    -----
    The ``sindex`` of one frame is made over `STRtree`, and kept by the frame as that of geopandas is.
    """
    try:
        geopandas: Any = import_module("geopandas")
    except ModuleNotFoundError as error:
        raise bp.MissingExtraError("sjoin needs geopandas: pip install geopandas", name=error.name) from error
    predicate = options.get("predicate", args[1] if len(args) > 1 else "intersects")
    searched = left_df if predicate == "within" else right_df  # as geopandas chooses
    if isinstance(searched, geopandas.GeoDataFrame):
        index = searched.sindex if searched.has_sindex else None
        if index is None or not isinstance(index._tree, STRtree):
            geometries = searched.geometry.values
            index = geopandas.sindex.SpatialIndex.__new__(geopandas.sindex.SpatialIndex)
            index.geometries = np.array(geometries, dtype=np.object_)
            index._tree = STRtree(index.geometries)
            geometries._sindex = index
    return geopandas.sjoin(left_df, right_df, *args, **options)


def _bounded(geometries: NDArray[np.object_]) -> tuple[NDArray[np.float64], NDArray[np.int64], bool]:
    """Return the bounds, which geometries are neither None nor empty, and whether the bounds of these are finite."""
    bounds: NDArray[np.float64] = theirs.bounds(geometries)
    present = np.isfinite(bounds).all(axis=1)
    others = geometries[~present]
    is_finite = bool((theirs.is_missing(others) | theirs.is_empty(others)).all())
    if not is_finite:
        present = ~(theirs.is_missing(geometries) | theirs.is_empty(geometries))
    return bounds, np.flatnonzero(present), is_finite


def _meeting_itself(geometries: NDArray[np.object_], predicate: str) -> NDArray[np.bool_]:
    if predicate == "intersects":
        known = np.isfinite(theirs.length(geometries))  # a line or area with a NaN has no length
    elif predicate in _OF_ITSELF:
        known = np.isin(theirs.get_type_id(geometries), _AREAS)
        known[known] = theirs.is_valid(geometries[known])
    else:
        known = np.zeros(len(geometries), np.bool_)
    meeting = np.full(len(geometries), _OF_ITSELF.get(predicate, False))
    others = geometries[~known]
    meeting[~known] = getattr(theirs, predicate)(_prepared(others), others)
    return meeting


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


def _order_of_tree(bounds: NDArray[np.float64], capacity: int) -> NDArray[np.int64] | None:
    """Return the order of the leaves of a tree as GEOS packs it; None where equal centers leave that to its sort.

    References
    ----------
    .. [1] S. Leutenegger, M. Lopez, J. Edgington, "STR: A Simple and Efficient Algorithm for R-Tree Packing", ICDE
       1997. 10.1109/ICDE.1997.582015
    """
    levels: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    while len(bounds) > 1:
        count = len(bounds)
        x, y = (bounds[:, :2] + bounds[:, 2:]).T
        by_x = np.argsort(x)
        slices = ceil(sqrt(ceil(count / capacity)))
        size = ceil(count / slices)
        ends = [*range(0, count, size), count]
        order = np.concatenate([by_x[a:b][np.argsort(y[by_x[a:b]])] for a, b in pairwise(ends)])
        starts = np.concatenate([np.arange(a, b, capacity) for a, b in pairwise(ends)])
        same_slice = np.arange(1, count) % size != 0
        sorted_x, sorted_y = x[by_x], y[order]
        if (sorted_x[1:] == sorted_x[:-1]).any() or (same_slice & (sorted_y[1:] == sorted_y[:-1])).any():
            return None
        levels.append((order, starts))
        bounds = np.concatenate(
            (np.minimum.reduceat(bounds[order, :2], starts), np.maximum.reduceat(bounds[order, 2:], starts)), axis=1
        )
    visited = np.zeros(1, np.int64)
    for order, starts in reversed(levels):
        sizes = np.diff(starts, append=len(order))[visited]
        first = np.cumsum(sizes) - sizes
        places = np.repeat(starts[visited] - first, sizes) + np.arange(len(order))
        visited = order[places]
    return visited
