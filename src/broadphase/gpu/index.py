"""An index of boxes on a device: a tree that is kept, follows the boxes, and answers queries there."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from broadphase.arguments import as_flag, as_real, as_whole
from broadphase.boxes.forms import as_rows
from broadphase.boxes.numbers import as_plain_array
from broadphase.capacity import capacity_of
from broadphase.errors import InvalidBoxError
from broadphase.gpu.arrays import NUMPY, WARP, Place, Scratch, opened, wp
from broadphase.gpu.boxes import (
    DeviceBoxes,
    Keys,
    boxes_on,
    integers_of,
    invalid_box,
    is_in_host_memory,
    keys_of,
    passing_of,
    range_error,
    require_floats,
)
from broadphase.gpu.index_kernels import (
    ALL_ROWS,
    BY_KEY,
    BY_SCENE,
    OCTAVE,
    Items,
    Queries,
    index_kernels,
)
from broadphase.gpu.loading import load
from broadphase.gpu.pairs_kernels import row_kernels
from broadphase.gpu.searches import Search, answer, count_of, found_all, found_padded, number_of, results_of, row_bits
from broadphase.gpu.tree import build, refit
from broadphase.gpu.tree_kernels import Order
from broadphase.index import queries
from broadphase.index.results import Nearest, RayHits
from broadphase.index.store import checked_corners

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broadphase.boxes.forms import Boxes
    from broadphase.gpu.arrays import Library
    from broadphase.gpu.tree import Tree

__all__ = ["Index", "PaddedRows", "QueryRows"]

#: A tree is built again if its nodes have grown by more octaves than this, on average. Measured on the CPU device with
#: boxes that drift: pairs, rays and nearest rows then take 1.2 times as long as with a new tree in 2D, 1.6 times in 3D;
#: with twice the growth, 1.7 and 3 times.
WORN = 0.3
#: Number of nodes whose growth is measured.
SAMPLES = 1024
# If the first refit after a build is worn at once, at most so many updates build before a refit is tried again.
_MOST_BUILDS_AHEAD = 15

# After so many nodes, a walk of a query leaves the rest to other walks, in so many pieces, and these may do so again.
# So one query that finds everything takes only the time of some thousand nodes.
BUDGET = 1024
PIECES = 32
_MOST_LEFT = 1 << 16  # pieces that may be divided again
_THREADS = 1 << 17  # for walks of pieces

_BAD_BOX, _GROWTH, _BAD_RAY = range(3)  # places in the state of an index
_COUNTERS = 5  # rows, first invalid box, first invalid query, pieces left after the first walks and after the second


class QueryRows(NamedTuple):
    """The rows found by each of q queries, as arrays of the library of the queries.

    Attributes
    ----------
    rows : array, shape (m,), int32
        The rows of all queries, one query after another, ascending within each.
    offsets : array, shape (q + 1,), int64
        The rows of query i are ``rows[offsets[i]:offsets[i + 1]]``.
    """

    rows: Any
    offsets: Any


class PaddedRows(NamedTuple):
    """`QueryRows` in memory of a fixed size; the result of queries with ``capacity=``.

    Attributes
    ----------
    rows : array, shape (capacity,), int32
        As in `QueryRows`, then -1. If there is too little room, any rows are missing.
    offsets : array, shape (q + 1,), int64
        As in `QueryRows`.
    count : int32
        Number of rows found; more than `capacity` if some are missing. An array of shape (), or of shape (1,) of Warp;
        ``-1 - row`` if the box or the query of that row is invalid.
    """

    rows: Any
    offsets: Any
    count: Any


@dataclass(slots=True)
class _Asked:
    """Points or vectors of queries on a device."""

    array: Any
    shape: tuple[int, ...]
    place: Place

    @property
    def count(self) -> int:
        """Number of queries."""
        return int(np.prod(self.shape))

    @property
    def size(self) -> int | None:
        """Queries of each scene, where they came as scenes of one size."""
        return self.shape[1] if len(self.shape) == 2 else None


class Index:
    """Boxes on a device, in a tree that is kept: queries do not build one, and most updates only refit it.

    Parameters
    ----------
    boxes : array, shape (n, 2, d), (n, 2*d) or (E, n, 2, d), or tuple of two (n, d) or (E, n, d), d = 2 or 3
        As in `broadphase.gpu.pairs`: float32 or float64 on a device, or in host memory. They are copied.
    batch : array of int, shape (n,), or int, optional
        A key for each box: boxes of different keys are never pairs, and a query with a key finds rows of that key only.
        Boxes of shape (E, n, 2, d) are E batches with the keys 0 to E - 1; row ``e * n + i`` is box i of batch e.
        Default: 0.
    device : str or device of Warp, optional
        As in `broadphase.gpu.pairs`.

    Attributes
    ----------
    build_count : int
        How often the tree was built.
    growth : float
        By how many octaves the nodes have grown since the tree was built, on average, as far as known.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError, MemoryError, MissingExtraError
        As `broadphase.gpu.pairs`; keys that do not fit.

    Notes
    -----
    Results are those of `broadphase.BVH`, to the last bit. Coordinates of boxes, and those of points, centers of balls,
    origins and directions, are 0 or from 1e-130 to 1e150 in size, which holds for every finite float32; boxes may be
    infinite too. Sums and products of such numbers stay finite. Others are invalid, as NaN is.

    Work is put on the caller's stream, of the library of the boxes for `update` and `pairs`, of that of the queries for
    queries, whose results are of that library too. If the stream changes, the new one waits for the old one.

    Only these wait for the device: `pairs`, `count_pairs` and queries for lists of rows without ``capacity``, once for
    the number of rows, and calls with arrays in host memory. So not every fault can raise an error at once:

    - After an invalid box in an `update` on a device, every later call that waits or learns of it raises
      InvalidBoxError, until the next update. Meanwhile, `nearest` and `raycast` return rows of -2 and distances of NaN,
      and counts with ``capacity`` are ``-1 - row``.
    - An invalid query returns the row -2 and the distance NaN, the count ``-1 - row``, or raises if the call waits.
      `raycast_any` has no such value: one later call that waits or learns of it raises InvalidBoxError.

    `validate` waits, and raises these errors.

    CUDA graphs can record every call that does not wait; `update` then refits the tree, unless ``rebuild`` is True.
    Memory: some 120 bytes a box, 190 in float64; 30 more with keys.

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.gpu.Index([[0, 0, 2, 2], [1, 1, 3, 3], [9, 9, 9, 9]], device="cpu")
    >>> index.pairs()
    array([[0, 1]], dtype=int32)
    >>> index.update([[0, 0, 2, 2], [5, 5, 7, 7], [6, 6, 8, 8]])
    >>> index.pairs()
    array([[1, 2]], dtype=int32)
    >>> index.raycast([[0, 6.5]], [[1, 0]])
    RayHits(rows=array([1], dtype=int32), distances=array([5.]))
    """

    def __reduce__(self) -> NoReturn:
        raise TypeError("a gpu.Index cannot be copied or pickled: it is in the memory of a device; build another")

    def __init__(self, boxes: Boxes, *, device: Any = None, batch: Any = None) -> None:
        given = _boxes_on(boxes, device, is_kept=True)
        place = given.place
        if place.is_capturing:
            raise ValueError("an index cannot be made while a CUDA graph is recorded; make it before")
        self._lock = threading.RLock()
        self._library: Library = place.library
        self._scratch = Scratch(place.device, WARP.allocate)
        self._stream: Any = None
        self._event: Any = None
        self._comes_later = place.device.is_cuda  # whether the state has to be copied to the host
        self._is_coming = self._is_behind = False
        self._versions = self._asked_versions = (0, 0)  # of the boxes and of the tree
        self._refits = 0  # since the tree was built
        self._builds_ahead = self._streak = 0
        self._bad_box = self._bad_ray = 0
        self._tree: Tree | None = None
        self.growth = 0.0
        self.build_count = 0
        with self._working(place) as scratch:
            own = [WARP.allocate((given.count, given.dim), given.dtype, place.device) for _ in range(2)]
            self._boxes = DeviceBoxes(own[0], own[1], given.size, place)
            self._state = self._scratch.array("state", 3, wp.int64)
            self._state.zero_()
            self._mirror = wp.zeros(3, dtype=wp.int64, device="cpu", pinned=place.device.is_cuda)
            self._keys, self._only_key = self._keys_of(batch, given, scratch)
            self._load()
            self._take(given)
            self._build()
            self.validate()

    def __len__(self) -> int:
        """Return the number of boxes."""
        return self._boxes.count

    def __repr__(self) -> str:
        kind = self._boxes.dtype.__name__
        return f"<gpu.Index of {len(self):,} boxes in {self.dim} dimensions, {kind}, on {self.device.alias}>"

    @property
    def dim(self) -> int:
        """Number of axes."""
        return self._boxes.dim

    @property
    def device(self) -> Any:
        """The device of Warp."""
        return self._boxes.device

    # Boxes ------------------------------------------------------------------------------------------------------------

    def update(self, boxes: Boxes, *, rebuild: bool | None = None) -> None:
        """Move the boxes: each row gets another box, and keeps its batch.

        Parameters
        ----------
        boxes : array or tuple
            As many boxes as the index has, of the same dimension and dtype.
        rebuild : bool, optional
            Whether to build the tree again. Default: None, if its nodes have grown too large.

        Raises
        ------
        InvalidBoxError, ValueError, TypeError
            NaN or lower > upper, in host memory; another number of boxes, dimension or dtype. Nothing has changed then.
            For boxes on a device, see the class.

        Notes
        -----
        A refit is faster than a build, and queries stay exact. But when neighbors move apart, nodes grow, and walks
        take longer. So each refit compares the sizes of a sample of nodes with their smallest sizes since the build. If
        they have grown by more than 0.3 octaves on average, of which each counts at most 4, the tree is built again: at
        once on the CPU device; on a CUDA device by the first update after the sum has come to the host, for which
        nothing waits. If even the first refit after a build is too much, the next updates build at once, up to 15
        before a refit is tried again.

        Examples
        --------
        >>> import numpy as np
        >>> import broadphase as bp
        >>> boxes = np.random.default_rng(0).random((1000, 1, 2)) + [[0, 0], [0.01, 0.01]]
        >>> index = bp.gpu.Index(boxes, device="cpu")
        >>> index.update(boxes + 0.001)
        >>> index.build_count
        1
        >>> index.update(boxes[np.argsort(boxes[:, 0, 0] * 97 % 1)])
        >>> index.build_count
        2
        """
        own, given = self._boxes, _boxes_on(boxes, self.device, self.dim, is_kept=True)
        if given.count != own.count:
            raise ValueError(f"boxes: {given.count}, and the index has {own.count}; make another index")
        self._require_dim(given.dim, given.count, "boxes")
        if given.size not in (None, own.size):
            raise ValueError(f"boxes: batches of {given.size}, and the index has {own.size or 'none'}")
        if given.dtype != own.dtype:
            raise TypeError(f"boxes are {given.dtype.__name__}, and those of the index are {own.dtype.__name__}")
        if rebuild is not None:
            rebuild = as_flag(rebuild, "rebuild")
        with self._working(given.place):
            is_recorded = given.place.is_capturing
            is_free = rebuild is None and not is_recorded
            if not is_recorded:
                self._settle()
            self._take(given)
            if rebuild or (is_free and self._must_build()):
                self._build()
            elif self._tree is not None:
                refit(self._tree, own, 0.0)
                self._refits += 1
                self._measure(is_first=False)
            if is_recorded:
                return
            self._ask_for_state()
            if not self._comes_later:
                self._settle()
                if is_free and self.growth > WORN and self._must_build():
                    self._build()

    def validate(self) -> None:
        """Wait for the device; raise InvalidBoxError for invalid boxes of the last update, or earlier invalid rays."""
        place = self._place()
        if place.is_capturing:
            raise ValueError("validate waits for the device, which it cannot while a CUDA graph is recorded")
        with self._working(place):
            self._is_behind = True
            self._complain(is_waiting=True)

    # Pairs ------------------------------------------------------------------------------------------------------------

    def pairs(
        self,
        *,
        sort: bool = False,
        touching: bool = True,
        layer: Any = None,
        mask: Any = None,
        group: Any = None,
        static: Any = None,
        ignore_shared: Any = None,
        max_pairs: int | None = None,
        capacity: int | None = None,
    ) -> Any:
        """Find every pair of overlapping boxes of one batch.

        Parameters, results and errors are those of `broadphase.gpu.pairs`; arrays are of the library of the boxes.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.gpu.Index([[0, 0, 2, 2], [1, 1, 3, 3], [2, 2, 3, 3]], device="cpu").pairs(sort=True, touching=False)
        array([[0, 1], [1, 2]], dtype=int32)
        """
        sort, touching = as_flag(sort, "sort"), as_flag(touching, "touching")
        limit = None if max_pairs is None else as_whole(max_pairs, "max_pairs", 0)
        room = None if capacity is None else capacity_of(capacity, max_pairs)
        options = {"layer": layer, "mask": mask, "group": group, "static": static, "ignore_shared": ignore_shared}
        with self._searching(touching, options) as search:
            return answer(search, sort, limit, room)

    def count_pairs(
        self,
        *,
        touching: bool = True,
        layer: Any = None,
        mask: Any = None,
        group: Any = None,
        static: Any = None,
        ignore_shared: Any = None,
    ) -> int:
        """Count the pairs that `pairs` finds, in memory that does not depend on their number; parameters as there.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.gpu.Index([[0, 0, 2, 2]] * 100, device="cpu").count_pairs()
        4950
        """
        options = {"layer": layer, "mask": mask, "group": group, "static": static, "ignore_shared": ignore_shared}
        with self._searching(as_flag(touching, "touching"), options) as search:
            return number_of(search)

    # Queries for lists of rows ----------------------------------------------------------------------------------------

    def query(self, boxes: Boxes, *, batch: Any = None, ignore: Any = None, capacity: int | None = None) -> Any:
        """Find the rows that overlap each of these boxes, as `broadphase.BVH.query`; boxes that only touch overlap.

        Parameters
        ----------
        boxes : array, shape (q, 2, d), (q, 2*d) or (E, q, 2, d), or tuple of two (q, d) or (E, q, d)
            float32 or float64; compared exactly with either dtype of the index. On the device of the index, or in host
            memory if its boxes were there too. Shape (E, q, 2, d) is q queries for each of the E batches of the index.
            Other queries without `batch` look at all batches.
        batch : array of int, shape (q,), or int, optional
            Key of each query, which finds rows of that key only.
        ignore : array of int, shape (q,) or (E, q), or int, optional
            A row that each query leaves out; -1 for none.
        capacity : int, optional
            Room for rows, as in `broadphase.gpu.pairs`. The result is then `PaddedRows`.

        Returns
        -------
        QueryRows or PaddedRows
            ``rows`` and ``offsets`` of all queries; new arrays on the device.

        Raises
        ------
        InvalidBoxError, ValueError, TypeError, MemoryError
            NaN or lower > upper, with the first bad row; with `capacity`, its count says so instead. Wrong shape, dtype
            or device; not enough memory, or more than 2**30 rows.

        Notes
        -----
        Each query walks the tree alone. After 1024 nodes, it leaves the rest to 32 other walks, and these may do so
        again: a query for everything takes little longer than others. Then rows are sorted. O(q log n + m log m) time
        for m rows.

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.gpu.Index([[0, 0, 2, 2], [1, 1, 3, 3], [8, 8, 9, 9]], device="cpu")
        >>> index.query([[2, 2, 4, 4], [5, 5, 8, 8]])
        QueryRows(rows=array([0, 1, 2], dtype=int32), offsets=array([0, 2, 3]))
        >>> index.query([[2, 2, 4, 4], [5, 5, 8, 8]], ignore=[1, -1], capacity=3).rows.tolist()
        [0, 2, -1]
        """
        given = _boxes_on(boxes, self.device, self.dim)
        self._require_dim(given.dim, given.count, "boxes")
        self._require_near(given.place.library, "boxes")
        shape = (given.count,) if given.size is None else (given.count // max(given.size, 1), given.size)
        lower = _Asked(given.lower, shape, given.place)
        return self._find(lower, given.upper, None, batch, ignore, capacity, "boxes")

    def query_points(self, points: Any, *, batch: Any = None, ignore: Any = None, capacity: int | None = None) -> Any:
        """Find the rows that contain each point, on their border too.

        Points have shape (q, d) or (E, q, d), and no NaN. All else is as in `query`.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.gpu.Index([[0, 0, 2, 2], [1, 1, 3, 3]], device="cpu").query_points([[2, 1]]).rows
        array([0, 1], dtype=int32)
        """
        asked = self._vectors(points, "points", is_finite=False)
        return self._find(asked, asked.array, None, batch, ignore, capacity, "points")

    def query_ball(
        self, centers: Any, radii: Any, *, batch: Any = None, ignore: Any = None, capacity: int | None = None
    ) -> Any:
        """Find the rows that overlap a closed ball around each point.

        Centers have shape (q, d) or (E, q, d), and are finite; radii have shape (q,) or (E, q), or are one number,
        finite and at least 0: float32 or float64. All else is as in `query`.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.gpu.Index([[0, 0, 2, 2], [8, 8, 9, 9]], device="cpu").query_ball([[5, 6]], 5).rows
        array([0, 1], dtype=int32)
        """
        asked = self._vectors(centers, "centers")
        return self._find(asked, asked.array, radii, batch, ignore, capacity, "centers")

    # Queries for one row or some --------------------------------------------------------------------------------------

    def nearest(
        self, points: Any, k: int = 1, max_distance: Any = np.inf, *, batch: Any = None, ignore: Any = None
    ) -> Nearest:
        """Find the rows nearest to each point, as `broadphase.BVH.nearest`.

        Parameters
        ----------
        points : array, shape (q, d) or (E, q, d), float32 or float64
            Finite.
        k : int
            How many rows for each point.
        max_distance : array, shape (q,) or (E, q), float32 or float64, or one number
            No row farther away than this is found.
        batch, ignore
            As in `query`.

        Returns
        -------
        Nearest
            ``rows``, int32, and ``distances``, float64, of shape (q, k), or (E, q, k), as in `broadphase.Nearest`; -2
            and NaN for an invalid query. New arrays on the device.

        Raises
        ------
        InvalidBoxError, ValueError, TypeError, MemoryError
            As `query`; points that are not finite, or a negative distance, only in host memory.

        Notes
        -----
        Nothing waits for the device. The time of a query grows with k, and with the number of boxes that are as near as
        those found, such as boxes that contain the point.

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.gpu.Index([[0, 0, 2, 2], [8, 8, 9, 9]], device="cpu")
        >>> index.nearest([[3, 2], [8, 8]], k=2, max_distance=5)
        Nearest(rows=array([[ 0, -1],
               [ 1, -1]], dtype=int32), distances=array([[ 1., inf],
               [ 0., inf]]))
        """
        k = as_whole(k, "k", 1, queries.MOST_NEAREST)
        asked = self._vectors(points, "points")
        with self._asking(asked.place) as scratch:
            fields = self._numbers(max_distance, "max_distance", asked)
            asking = self._struct(asked, fields, batch, ignore, scratch)
            rows, distances = self._results(asked, (k,), (wp.int32, wp.float64))
            if asked.count:
                inputs = [*self._walked(), asking, k, self._state, _flat(rows), _flat(distances), None]
                scratch.launch("nearest", self._kernels.nearest, asked.count, inputs)
            give = asked.place.library.give
            return Nearest(give(rows), give(distances))

    def raycast(
        self, origins: Any, directions: Any, max_distance: Any = np.inf, *, batch: Any = None, ignore: Any = None
    ) -> RayHits:
        """Find the first row on each ray, as `broadphase.BVH.raycast`.

        Parameters
        ----------
        origins : array, shape (q, d) or (E, q, d), float32 or float64
            Finite.
        directions : array of the same shape, or (d,) for all, float32 or float64
            Finite, of any length. A ray with a zero direction hits what it begins in.
        max_distance : array, shape (q,) or (E, q), float32 or float64, or one number
            Length of each ray in length units, whatever the length of its direction.
        batch, ignore
            As in `query`. Rays of a lidar ignore its own body, in which they begin.

        Returns
        -------
        RayHits
            ``rows``, int32, and ``distances``, float64, of shape (q,) or (E, q), as in `broadphase.RayHits`; -2 and NaN
            for an invalid ray. New arrays on the device.

        Raises
        ------
        InvalidBoxError, ValueError, TypeError, MemoryError
            As `nearest`.

        Notes
        -----
        Nothing waits for the device. O(log n) time for a ray in an ordinary scene. Neighboring queries should be
        neighboring rays: their threads walk together.

        Examples
        --------
        >>> import broadphase as bp
        >>> index = bp.gpu.Index([[2, 0, 3, 1], [5, 0, 6, 1]], device="cpu")
        >>> index.raycast([[0, 0.5], [9, 0.5], [0, 2]], [[1, 0], [-1, 0], [1, 0]])
        RayHits(rows=array([ 0,  1, -1], dtype=int32), distances=array([ 2.,  3., inf]))
        >>> index.raycast([[0, 0.5]], [1, 0], ignore=0).rows
        array([1], dtype=int32)
        """
        asked = self._vectors(origins, "origins")
        with self._asking(asked.place) as scratch:
            made = self._results(asked, (), (wp.int32, wp.float64))
            self._cast(asked, directions, max_distance, batch, ignore, scratch, [*map(_flat, made), None])
            give = asked.place.library.give
            return RayHits(give(made[0]), give(made[1]))

    def raycast_any(
        self, origins: Any, directions: Any, max_distance: Any = np.inf, *, batch: Any = None, ignore: Any = None
    ) -> Any:
        """Find out whether each ray hits anything: for shadows and lines of sight.

        The same as ``raycast(...).rows >= 0``, and faster. Parameters and errors are those of `raycast`; an invalid ray
        on a device returns False, and a later call raises: see the class.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.gpu.Index([[2, 0, 3, 1]], device="cpu").raycast_any([[0, 0.5], [0, 0.5]], [1, 0], [1, 2])
        array([False,  True])
        """
        asked = self._vectors(origins, "origins")
        with self._asking(asked.place) as scratch:
            (made,) = self._results(asked, (), (wp.bool,))
            self._cast(asked, directions, max_distance, batch, ignore, scratch, [None, None, _flat(made)])
            if asked.place.library is not NUMPY and not asked.place.is_capturing:
                self._ask_for_state()
            return asked.place.library.give(made)

    # The tree ---------------------------------------------------------------------------------------------------------

    @property
    def _kernels(self) -> Any:
        return index_kernels(self.dim, self._boxes.dtype)

    def _load(self) -> None:
        load(self.device, self._boxes.tree_kernels.module, self._kernels.module, row_kernels().module)

    def _keys_of(self, batch: Any, given: DeviceBoxes, scratch: Scratch) -> tuple[Keys, int]:
        """Return the keys of boxes, in memory of the index, and the only key if all have the same."""
        [keys] = keys_of(batch, (given,), scratch)
        if keys.rows is None:
            return keys, 0 if batch is None else as_whole(batch, "batch", -(2**63), 2**63 - 1)
        own = self._scratch.array("batch", given.count, wp.int64)
        if given.count:
            wp.copy(own, keys.rows, count=given.count)
        return Keys(rows=own), 0

    def _take(self, given: DeviceBoxes) -> None:
        """Copy boxes, and look for invalid ones."""
        own = self._boxes
        self._bad_box = 0
        self._versions = self._versions[0] + 1, self._versions[1]
        self._state[: _GROWTH + 1].zero_()
        if given.count:
            boxes = [one.struct(self._scratch, name) for one, name in ((given, "given"), (own, "own"))]
            self._scratch.launch("take", self._kernels.take, given.count, [*boxes, self._state])

    def _build(self) -> None:
        self.growth = 0.0
        self._refits = 0
        self._versions = self._versions[0], self._versions[1] + 1
        self._state[_GROWTH:_BAD_RAY].zero_()
        if not len(self):
            return
        scratch = self._scratch
        self._tree = build(self._boxes, 0.0, self._keys, scratch, "tree", counters=self._state, checked=0)
        self.build_count += 1
        self._measure(is_first=True)

    def _measure(self, *, is_first: bool) -> None:
        """Measure how much a sample of nodes has grown."""
        tree, inner = self._tree, len(self) - 1
        assert tree is not None
        if not inner:
            return
        sizes = self._scratch.array("sizes", SAMPLES, wp.float64)
        samples = min(SAMPLES, inner)
        inputs = [tree.nodes, inner, samples, int(is_first), sizes, self._state]
        self._scratch.launch("growth", self._kernels.growth, samples, inputs)

    def _must_build(self) -> bool:
        """Return whether to build the tree, by what is known of earlier updates."""
        if self._builds_ahead:
            self._builds_ahead -= 1
            return True
        if self.growth <= WORN:
            return False
        self._streak = min(2 * self._streak + 1, _MOST_BUILDS_AHEAD) if self._refits == 1 else 0
        self._builds_ahead = self._streak
        return True

    # The state on the device ------------------------------------------------------------------------------------------

    def _ask_for_state(self) -> None:
        """Start a copy of the state to the host, unless one is on the way.

        If each step of a host that is always ahead of the device started another, none would ever arrive.
        """
        self._is_behind = True
        if not self._is_coming or not self._comes_later or self._event.is_complete:
            self._settle()
            self._ask_again()

    def _ask_again(self) -> None:
        self._is_coming, self._is_behind = True, False
        self._asked_versions = self._versions
        if self._comes_later:
            wp.copy(self._mirror, self._state)
            self._event = self._stream.record_event(self._event)

    def _settle(self, *, is_waiting: bool = False) -> None:
        """Read the state if it has arrived, or wait for it."""
        if is_waiting and self._is_behind:
            self._ask_again()
        if not self._is_coming:
            return
        if self._comes_later and is_waiting:
            wp.synchronize_event(self._event)
        elif self._comes_later and not self._event.is_complete:
            return
        bad_box, growth, self._bad_ray = (
            int(value) for value in (self._mirror if self._comes_later else self._state).numpy()
        )
        boxes, tree = self._asked_versions
        if boxes == self._versions[0]:
            self._bad_box = bad_box
        if tree == self._versions[1]:
            self.growth = growth / OCTAVE / max(1, min(SAMPLES, len(self) - 1))
        self._is_coming = False
        if self._is_behind:
            self._ask_again()

    def _complain(self, *, is_waiting: bool) -> None:
        """Raise InvalidBoxError for invalid boxes and rays that are known."""
        self._settle(is_waiting=is_waiting)
        if self._bad_box:
            raise invalid_box(self._boxes, "boxes of the index", 2**31 - self._bad_box)
        if self._bad_ray:
            row = 2**31 - self._bad_ray
            self._bad_ray = 0
            self._state[_BAD_RAY:].zero_()
            raise InvalidBoxError(f"raycast_any: an earlier call had an invalid ray: row {row}", row)

    # Where work is done -----------------------------------------------------------------------------------------------

    def _place(self, library: Library | None = None) -> Place:
        """Return where a call of a library runs, by default of that of the boxes."""
        library = library or self._library
        return Place(self.device, library, library.stream(self.device))

    @contextmanager
    def _working(self, place: Place) -> Iterator[Scratch]:
        """Make a stream current, after the work of other streams on the index, and yield its working memory."""
        with self._lock, place.running() as scratch:
            if place.stream is not None and not place.is_capturing:
                before, self._stream = self._stream, place.stream
                if before is not None and before.cuda_stream != place.stream.cuda_stream:
                    place.stream.wait_stream(before)
            yield scratch

    @contextmanager
    def _asking(self, place: Place) -> Iterator[Scratch]:
        """As `_working`, for queries: raises for faults that are known."""
        with self._working(place) as scratch:
            if not place.is_capturing:
                self._complain(is_waiting=place.library is NUMPY)
            yield scratch

    @contextmanager
    def _searching(self, touching: bool, options: dict[str, Any]) -> Iterator[Search]:
        own, place = self._boxes, self._place()
        with self._asking(place) as scratch:
            boxes = DeviceBoxes(own.lower, own.upper, own.size, place)
            passing = passing_of((boxes,), scratch, touching=touching, **options)
            yield Search((boxes,), 0.0, passing, (self._keys,), scratch, tree=self._tree, checked=self._state)

    # Arguments of queries ---------------------------------------------------------------------------------------------

    def _require_dim(self, dim: int, count: int, name: str) -> None:
        if dim != self.dim and count:
            raise ValueError(f"{name} have {dim} dimensions; {self.dim} are needed")

    def _require_near(self, library: Library, name: str) -> None:
        """Refuse arrays in host memory if the boxes are on a device: copying would wait for the device."""
        if library is NUMPY and self._library is not NUMPY:
            raise TypeError(
                f"{name} is in host memory, and the boxes of the index are on {self.device.alias}: copy it there"
            )

    def _opened(self, values: Any, name: str, library: Library | None) -> tuple[Any, Library]:
        """Return an array on the device of the index, and its library; from host memory only with others from there."""
        given = opened(values, name, self.device)
        if library is None:
            self._require_near(given.library, name)
        elif given.library is NUMPY and library is not NUMPY:
            raise TypeError(f"{name} is in host memory, and the queries are on {self.device.alias}: copy it there")
        return given.array, given.library

    def _vectors(self, values: Any, name: str, near: _Asked | None = None, *, is_finite: bool = True) -> _Asked:
        """Return points, or vectors of points, of which one may be for all; checked if in host memory."""
        shape: tuple[int, ...] = ()
        is_checked = is_in_host_memory(values)
        if is_checked:
            values = as_plain_array(values, name)
            if near is not None and values.ndim == 1:
                values = values[np.newaxis]
            if values.ndim == 3:
                shape, values = values.shape[:2], values.reshape(-1, values.shape[2])
            given = (queries.finite_points if is_finite else queries.points_without_nan)(values, name, self.dim)
            if given.single:
                raise ValueError(f"{name} must have shape (q, {self.dim}) or (E, q, {self.dim}), not ({self.dim},)")
            values = given.rows
            error = range_error(values, name) if is_finite else None
            if error is not None:
                raise error
            shape = shape or (len(values),)
        array, library = self._opened(values, name, None if near is None else near.place.library)
        place = self._place(library)
        if not is_checked:
            if array.size:
                require_floats(array, name)
            if array.ndim != 2 and not array.is_contiguous:
                with self._working(place):
                    array = array.contiguous()
            if near is not None and array.ndim == 1:
                array = array.reshape((1, array.size))
            shape = tuple(array.shape[:-1])
            if len(shape) not in (1, 2) or (array.shape[-1] != self.dim and array.size):
                wanted = f"(q, {self.dim}) or (E, q, {self.dim})"
                raise ValueError(f"{name} must have shape {wanted}, not {tuple(array.shape)}")
            if len(shape) == 2:
                array = array.reshape((shape[0] * shape[1], array.shape[2]))
        return _Asked(array, shape, place)

    def _numbers(self, values: Any, name: str, asked: _Asked) -> dict[str, Any]:
        """Return one number, or one for each query, as fields of `Queries`; checked if in host memory."""
        is_finite = name == "radii"
        if isinstance(values, int | float | np.number):
            one = float(queries.nonnegative(as_real(values, name), name, is_finite=is_finite).rows[0])
            return {**_by_kind("number_", None), "number": one}
        if is_in_host_memory(values):
            plain = as_plain_array(values, name)
            plain = plain.reshape(-1) if plain.shape == asked.shape else plain
            values = queries.nonnegative(plain, name, is_finite=is_finite).rows
        array, _ = self._opened(values, name, asked.place.library)
        if array.size:
            require_floats(array, name)
        return _by_kind("number_", _one_each(array, name, asked))

    def _integers(self, values: Any, name: str, asked: _Asked, scratch: Scratch) -> Any:
        """Return one whole number for each query, as int64."""
        array, _ = self._opened(values, name, asked.place.library)
        return integers_of(_one_each(array, name, asked), name, scratch, wp.int64)

    def _struct(self, asked: _Asked, fields: dict[str, Any], batch: Any, ignore: Any, scratch: Scratch) -> Any:
        """Return queries as kernels read them, with which rows they look at, and which they leave out."""
        fields |= _by_kind("", asked.array)
        keys, by = self._keys, ALL_ROWS
        if asked.size is not None:
            if batch is not None:
                raise ValueError("batch: queries of shape (E, q, ...) are E batches of q already; leave it out")
            if keys.rows is None and asked.shape[0] != keys.scene_count and asked.count and len(self):
                has = f"{keys.scene_count} batches" if keys.scene_count else "none"
                raise ValueError(f"queries for {asked.shape[0]} batches, and the index has {has}")
        if batch is not None or asked.size is not None:
            by = BY_SCENE if keys.rows is None else BY_KEY
            fields["scene_size"] = keys.scene_size or max(len(self), 1)
            fields["first_key"] = 0 if keys.scene_size else self._only_key
        fields |= {"by": by, "query_size": asked.size or 0, "keys": None, "ignored_rows": None, "ignored": -1}
        if isinstance(batch, int | np.integer):
            fields["key"] = as_whole(batch, "batch", -(2**63), 2**63 - 1)
        elif batch is not None:
            fields["keys"] = self._integers(batch, "batch", asked, scratch)
        if isinstance(ignore, int | np.integer):
            fields["ignored"] = as_whole(ignore, "ignore", -1, 2**31 - 1)
        elif ignore is not None:
            fields["ignored_rows"] = self._integers(ignore, "ignore", asked, scratch)
        return scratch.struct("queries", Queries, **fields)

    # Answers ----------------------------------------------------------------------------------------------------------

    def _walked(self) -> list[Any]:
        """Return what kernels read of the tree."""
        if self._tree is None:
            return [None, self._scratch.struct("tree", Order, count=0)]
        return [self._tree.nodes, self._tree.order]

    def _results(self, asked: _Asked, inner: tuple[int, ...], kinds: tuple[Any, ...]) -> list[Any]:
        return [asked.place.library.allocate((*asked.shape, *inner), kind, self.device) for kind in kinds]

    def _cast(
        self,
        asked: _Asked,
        directions: Any,
        max_distance: Any,
        batch: Any,
        ignore: Any,
        scratch: Scratch,
        results: list[Any],
    ) -> None:
        ways = self._vectors(directions, "directions", asked)
        is_one = ways.shape == (1,)
        if not is_one and ways.count != asked.count:
            raise ValueError(f"directions: {ways.count} vectors for {asked.count} queries")
        fields = self._numbers(max_distance, "max_distance", asked) | _by_kind("other_", ways.array)
        asking = self._struct(asked, {**fields, "other_step": int(not is_one)}, batch, ignore, scratch)
        if asked.count:
            scratch.launch("cast", self._kernels.cast, asked.count, [*self._walked(), asking, 1, self._state, *results])

    def _find(
        self, asked: _Asked, upper: Any, radii: Any, batch: Any, ignore: Any, capacity: int | None, name: str
    ) -> Any:
        """Find the rows that overlap boxes, or with `radii` balls around their lower corners."""
        room = None if capacity is None else as_whole(capacity, "capacity", 0, 2**31 - 1)
        with self._asking(asked.place) as scratch:
            if room is None and asked.place.is_capturing:
                raise ValueError("the number of rows is not known while a CUDA graph is recorded; pass capacity=")
            fields = {**_by_kind("other_", upper), "other_step": 1, "is_ball": int(radii is not None)}
            if radii is not None:
                fields |= self._numbers(radii, "radii", asked)
            search = _RowSearch(self, asked, upper, self._struct(asked, fields, batch, ignore, scratch), name, scratch)
            return search.lists() if room is None else search.padded(room)


class _RowSearch:
    """One search for lists of rows: what it needs on the device."""

    is_sorted = True
    too_many = "rows are too many to sort on a device; ask in parts"
    found: Any
    results: Any

    def __init__(self, index: Index, asked: _Asked, upper: Any, asking: Any, name: str, scratch: Scratch) -> None:
        count = asked.count
        self.scratch = scratch
        self._index, self._asked, self._upper, self._asking, self._name = index, asked, upper, asking, name
        self.counters = scratch.array("index.counters", _COUNTERS, wp.int64)
        self.counters.zero_()
        wp.copy(self.counters, index._state, dest_offset=1, count=1)
        self._boxes = scratch.array("index.asked", count, index._kernels.box_type)
        begins, ends = (scratch.array(f"index.{part}", count, wp.int32) for part in ("begins", "ends"))
        self._items = scratch.struct("items", Items, queries=None, begins=begins, ends=ends, count=count, counter=0)
        self._has_run = False
        if count:
            inputs = [asking, index._walked()[1], self._boxes, self._items, self.counters]
            scratch.launch("ask", index._kernels.ask, count, inputs)

    @property
    def bits(self) -> tuple[int, int]:
        """Bits of a query, and of a row."""
        return row_bits(self._asked.count), row_bits(len(self._index))

    def run(self, capacity: int, found: Any, most: int = 0) -> None:
        """Find the rows, and write as many as there is room for; a second run only walks again."""
        index, count, scratch = self._index, self._asked.count, self.scratch
        if self._has_run:
            self.counters.zero_()
        self._has_run = True
        self.found = found
        self.results = results_of(scratch, self.bits[1], most, capacity, found, self.counters)
        if index._tree is None or not count:
            return
        items, pieces, threads = self._items, 1, count
        # Walks of small trees need no limit.
        for turn, room in enumerate((count, _MOST_LEFT, 0) if 2 * len(index) > BUDGET else (0,)):
            names = ("queries", "begins", "ends")
            arrays = {
                name: scratch.array(f"index.left{turn}.{name}", room, wp.int32) if room else None for name in names
            }
            left = scratch.struct(f"left{turn}", Items, **arrays, count=room, counter=3 + turn)
            inputs = [*index._walked(), self._asking, self._boxes, items, pieces, threads, BUDGET if room else -1, left]
            scratch.launch(f"find{turn}", index._kernels.find, threads, [*inputs, self.results])
            items, pieces, threads = left, PIECES, min(_THREADS, room * PIECES)

    def lists(self) -> QueryRows:
        """Return all rows."""
        total = found_all(self, 4 * self._asked.count)
        return QueryRows(*self._made(total))

    def padded(self, capacity: int) -> PaddedRows:
        """Return as many rows as there is room for, and the number of all."""
        found_padded(self, capacity)
        return PaddedRows(*self._made(capacity), count_of(self, self._asked.place))

    def _made(self, size: int) -> tuple[Any, Any]:
        """Return the rows, and where those of each query begin."""
        library, device, count = self._asked.place.library, self._index.device, self._asked.count
        rows = library.allocate((size,), wp.int32, device)
        offsets = library.allocate((count + 1,), wp.int64, device)
        if size:
            self.scratch.launch("rows", row_kernels().rows, size, [self.results, rows])
        self.scratch.launch("rows", row_kernels().offsets, count + 1, [self.results, offsets])
        return library.give(rows), library.give(offsets)

    def total(self) -> int:
        """Wait for the device, and return the number of rows."""
        total, bad_box, bad_query = (int(value) for value in self.counters.numpy()[:3])
        if bad_box:
            raise invalid_box(self._index._boxes, "boxes of the index", 2**31 - bad_box)
        if not bad_query:
            return total
        row, asked, name = 2**31 - bad_query, self._asked, self._name
        if name == "boxes":
            raise invalid_box(DeviceBoxes(asked.array, self._upper, None, asked.place), name, row)
        point = asked.array[row : row + 1].numpy()
        if np.isfinite(point).all():
            raise range_error(point, name, row) or InvalidBoxError(
                f"radii: row {row} is not finite and at least 0", row
            )
        fault = "has NaN" if np.isnan(point).any() else "is infinite"
        raise InvalidBoxError(f"{name}: row {row} {fault}, axis {int(np.argmin(np.isfinite(point)))}", row)


def _boxes_on(boxes: Any, device: Any, dim: int | None = None, *, is_kept: bool = False) -> DeviceBoxes:
    """Return boxes in any form; those in host memory are checked, also for range if the index keeps them."""
    if is_in_host_memory(boxes[0] if isinstance(boxes, tuple) and len(boxes) == 2 else boxes):
        corners = checked_corners(as_rows(boxes, "boxes")[0], "boxes", dim)
        error = range_error(np.stack(corners, axis=1), "boxes") if is_kept else None
        if error is not None:
            raise error
    return boxes_on(boxes, "boxes", device, empty_dim=dim or 2)


def _by_kind(name: str, array: Any) -> dict[str, Any]:
    """Return an array of floats or doubles, or none, as two fields of `Queries`."""
    is_double = array is not None and array.dtype == wp.float64
    return {f"{name}floats": None if is_double else array, f"{name}doubles": array if is_double else None}


def _flat(array: Any) -> Any:
    """Return a new array as one of one axis."""
    return array if array.ndim == 1 or not array.size else array.reshape((array.size,))


def _one_each(array: Any, name: str, asked: _Asked) -> Any:
    """Return one number for each query as an array of one axis."""
    if tuple(array.shape) not in ((asked.count,), asked.shape):
        raise ValueError(f"{name} has shape {tuple(array.shape)}; one for each query is needed: {asked.shape}")
    return array if array.ndim == 1 else array.contiguous().reshape((array.size,))
