"""Points within a cutoff of one another on a device, in open space or in periodic cells."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase import _native
from broadphase.arguments import as_flag, as_real, as_whole, is_on_device
from broadphase.boxes.checking import as_points, require_finite
from broadphase.boxes.numbers import as_numbers
from broadphase.errors import InvalidBoxError
from broadphase.gpu import neighbors_kernels as kernels
from broadphase.gpu.arrays import Struct, device_named, opened, place_of, view_of, wp
from broadphase.gpu.boxes import DeviceBoxes, is_in_host_memory, keys_of, of_one_kind, require_floats
from broadphase.gpu.loading import load
from broadphase.gpu.searches import refuse_capture, row_bits
from broadphase.points import Neighbors, _as_cells, _checked_cutoff, _many_images

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.gpu.arrays import Scratch
    from broadphase.gpu.boxes import Keys

__all__ = ["PaddedNeighbors", "neighbors"]

# Most cells for each point in a table of exact numbers: 16 bytes a point.
TABLE_CELLS = 4
# Cells along the first axis for each reach. More make stretches end nearer to the ball, but the table longer.
FINE, HASHED_FINE = (4, 2, 1), 2
# A search has at least so many threads, which share the rows around each point. Not measured on a card yet.
THREADS = 1 << 17
# Points of each thread of the kernel that finds the largest coordinates.
POINTS_A_THREAD = 8
_MOST_CELLS = 2.0**26  # along an axis, so that numbers of cells beyond the box also fit into 32 bits
_MOST_POINTS = 2**30 - 1  # sorting takes twice as many places, numbered by int32
_SLACK = 1 + 2.0**-10  # how much wider cells are than the cutoff, so that rounding seldom adds a cell to the reach


class PaddedNeighbors(NamedTuple):
    """Pairs of near points in memory of a fixed size; the result of `neighbors` with ``capacity=``.

    Attributes
    ----------
    pairs : array, shape (capacity, 2), int32
        As in `broadphase.points.Neighbors`, then -1.
    count : int32
        Number of pairs found; more than `capacity` if some are missing. On the device, an array of shape (), or of
        shape (1,) of Warp; ``-1 - row`` if the point of that row is not finite, has a key without a cell, or is too
        many cells away.
    distances : array, shape (capacity,), float64, or None
        As in `broadphase.points.Neighbors`, then infinity.
    vectors : array, shape (capacity, d), float64, or None
        As in `broadphase.points.Neighbors`, then 0.
    shifts : array, shape (capacity, d), int32, or None
        As in `broadphase.points.Neighbors`, then 0.
    """

    pairs: Any
    count: Any
    distances: Any
    vectors: Any
    shifts: Any


def neighbors(
    points: Any,
    cutoff: float,
    other: Any = None,
    *,
    cell: Any = None,
    periodic: Any = True,
    full: bool = False,
    distances: bool = False,
    vectors: bool = False,
    shifts: bool = False,
    device: Any = None,
    sort: bool = False,
    batch: Any = None,
    capacity: int | None = None,
) -> Any:
    """Find all pairs of points on a device within a cutoff, with all images in a periodic cell.

    Pairs, distances, vectors and shifts are those of `broadphase.neighbors`, to the last bit.

    Parameters
    ----------
    points, other : array, shape (n, d) or (E, n, d), d = 2 or 3
        float32 or float64 on a device, as boxes in `broadphase.gpu.pairs`. Or points in host memory, as in
        `broadphase.neighbors`, which are copied to the device. Computed in float64.
    cutoff : float
        The largest distance of a pair: one number for all points.
    cell, periodic
        As in `broadphase.neighbors`, in host memory. A cell on a device is copied from there, which waits for it.
    full, distances, vectors, shifts, sort : bool
        As in `broadphase.neighbors`.
    batch : int or array of int, shape (n,), optional
        As in `broadphase.neighbors`; on the device of the points.
    capacity : int, optional
        Room for pairs. The result is then `PaddedNeighbors`: nothing waits for the device, only the result is allocated
        after the first call with equal sizes, and CUDA graphs can record the call if all points have one cell.
    device : str or device of Warp, optional
        As in `broadphase.gpu.pairs`.

    Returns
    -------
    Neighbors or PaddedNeighbors
        As `broadphase.neighbors`, with arrays of the library of `points` on its device. Without `sort`, the order is
        the same in every run. With `capacity`, there are no `offsets` and `rows`.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError, MemoryError, MissingExtraError
        As `broadphase.neighbors` and `broadphase.gpu.pairs`; a cutoff for each point, or more than 2**31 - 1 pairs.
        With `capacity`, `count` names a point that is not finite instead.

    Notes
    -----
    Streams and waiting are as in `broadphase.gpu.pairs`. Working memory, some 120 bytes a point and 4 a pair, with
    `sort` 36 a pair, is kept for later calls on the stream; `broadphase.gpu.release` frees it.

    Points are sorted by cells as wide as the cutoff, and along one axis several times narrower. Each point is compared
    with those of the cells that its ball can reach: O(n + m) time if points are spread evenly. Many cells, or cells
    without end, are hashed into a table, so that points far away cost nothing. Pairs are found twice, first to count
    them; they are compared in float32, and in float64 by the formula of `broadphase.neighbors` if that leaves a doubt.

    Examples
    --------
    >>> import broadphase as bp
    >>> points = [[0.1, 0.1], [0.9, 0.1], [0.5, 0.5]]
    >>> nb = bp.gpu.neighbors(points, 0.3, cell=[1, 1], distances=True, shifts=True, device="cpu")
    >>> nb.pairs
    array([[0, 1]], dtype=int32)
    >>> nb.shifts
    array([[-1,  0]], dtype=int32)
    >>> nb.distances.round(3)
    array([0.2])
    >>> found = bp.gpu.neighbors(points, 0.3, cell=[1, 1], device="cpu", capacity=2)
    >>> found.pairs.tolist(), int(found.count)
    ([[0, 1], [-1, -1]], 1)
    """
    sets = _sets(points, other, device)
    limit = _one_cutoff(cutoff)
    full, sort = as_flag(full, "full"), as_flag(sort, "sort")
    wanted = as_flag(distances, "distances"), as_flag(vectors, "vectors"), as_flag(shifts, "shifts")
    room = None if capacity is None else as_whole(capacity, "capacity", 0, 2**31 - 1)
    place = sets[0].place
    with place.running() as scratch:
        if room is None:
            refuse_capture(place)
        keys = keys_of(batch, sets, scratch, what="points", shape="(E, n, d)")
        cells = _cells(cell, periodic, batch, keys, sets)
        search = _Search(sets, keys, cells, limit, full and len(sets) == 1, full or sort, sort, scratch)
        return search.lists(*wanted) if room is None else search.padded(room, *wanted)


# Arguments ------------------------------------------------------------------------------------------------------------


def _sets(points: Any, other: Any, device: Any) -> tuple[DeviceBoxes, ...]:
    own = _points_on(points, "points", device)
    if other is None:
        return (own,)
    return of_one_kind(own, _points_on(other, "other", own.device), "points")


def _points_on(points: Any, name: str, device: Any) -> DeviceBoxes:
    """Return points as boxes without extent: lower and upper are the same array, of shape (n, d)."""
    wanted = None if device is None else device_named(device)
    size = None
    if is_in_host_memory(points):
        numbers = as_numbers(points, name=name)
        if numbers.ndim == 3:
            size = numbers.shape[1]
            numbers = numbers.reshape(-1 if size else 0, numbers.shape[2])
        numbers = as_points(numbers, name)
        given = opened(numbers, name, device_named(device) if wanted is None else wanted)
    else:
        given = opened(points, name, wanted)
    array, place = given.array, place_of(given)
    if tuple(array.shape) == (0,):
        array = wp.empty((0, 2), dtype=array.dtype, device=array.device)
    require_floats(array, name)
    if array.ndim not in (2, 3) or not 2 <= array.shape[-1] <= 3:
        raise ValueError(f"{name} must have shape (n, d) or (E, n, d), d = 2 or 3, not {tuple(array.shape)}")
    if array.ndim == 3:
        size = int(array.shape[1])
        if not array.is_contiguous:
            with place.running():
                array = array.contiguous()
        array = array.reshape((array.shape[0] * size, array.shape[2]))
    if array.shape[0] > _MOST_POINTS:
        raise ValueError(f"{name}: at most {_MOST_POINTS} points a set on a device; divide them")
    return DeviceBoxes(array, array, size, place)


def _one_cutoff(cutoff: Any) -> float:
    if is_on_device(cutoff) or isinstance(cutoff, tuple | list) or np.ndim(cutoff):
        raise ValueError(
            "cutoff must be one number, in host memory; where points have their own, search with the longest of a pair"
            " and distances=True, and keep the pairs that are near enough"
        )
    return _checked_cutoff(as_real(cutoff, "cutoff"))


@dataclass(frozen=True)
class _Cells:
    """The periodic cells of batches, one or E."""

    vectors: NDArray[np.float64]
    repeats: NDArray[np.bool_]
    each_its_own: bool


def _cells(cell: Any, periodic: Any, batch: Any, keys: tuple[Keys, ...], sets: tuple[DeviceBoxes, ...]) -> _Cells:
    if cell is not None and not is_in_host_memory(cell):
        if sets[0].place.is_capturing:
            raise ValueError("cell is on a device, and no graph can read it from there; give it in host memory")
        cell = opened(cell, "cell").array.numpy()
    vectors, repeats = _as_cells(cell, periodic, sets[0].dim)
    if cell is None or np.ndim(cell) != 3:
        return _Cells(vectors, repeats, each_its_own=False)
    count = len(vectors)
    if batch is None and not any(one.scene_size for one in keys) and all(one.size is None for one in sets):
        raise ValueError("cell of shape (E, d, d): give batch=, or points of shape (E, n, d)")
    for name, one, key in zip(("points", "other"), sets, keys, strict=False):
        if one.size is not None and one.count and one.count // one.size != count:
            raise ValueError(f"{name} has {one.count // one.size} batches, and cell has {count}")
        if key.rows is None and one.size is None and one.count:
            # One key for all of a single set.
            number = as_whole(batch, "batch")
            if not 0 <= number < count:
                raise ValueError(_bad_key(0, number, count))
            return _Cells(vectors[number : number + 1], repeats[number : number + 1], each_its_own=False)
    return _Cells(vectors, repeats, each_its_own=True)


def _bad_key(row: int, key: int, count: int) -> str:
    return f"batch: row {row} is {key}; with {count} cells, keys are 0 to {count - 1}"


# Lattices -------------------------------------------------------------------------------------------------------------


def _lattices(
    vectors: NDArray[np.float64], repeats: NDArray[np.bool_], cutoff: float, dim: int, fine: int
) -> NDArray[Any]:
    """Return a record of each lattice, divided into cells for a cutoff; see `neighbors_kernels.Lattice`."""
    need = max(cutoff, kernels.LEAST_REACH) * _SLACK
    # Along axes without end, the width of cells has few bits, so that places within them are exact.
    mantissa, exponent = math.frexp(need)
    even = math.ldexp(math.ceil(mantissa * 2**11), exponent - 11)
    frames, parts, made_of, counts = _native.lattices(np.ascontiguousarray(vectors), np.ascontiguousarray(repeats))
    if dim == 2:  # the third axis of the frame of a plane is that of the space
        turned = frames[:, 1, 2] == 1
        frames[turned, 1:] = frames[turned, :0:-1]
    count, axes = len(vectors), np.arange(3)
    cells, widths, images = np.zeros((count, 3)), np.ones((count, 3)), np.zeros((count, 3))
    with np.errstate(all="ignore"):  # vectors without a volume
        for k in (2, 1, 0):
            each = fine if k == 0 else 1
            edge, is_periodic = parts[:, k, k], k < counts
            across = cutoff + ((images[:, k + 1 :] + 1) * np.abs(parts[:, k + 1 :, k])).sum(axis=1)
            number = np.clip(np.floor(each * edge / need), 1.0, _MOST_CELLS)
            cells[:, k] = np.where(is_periodic, number, float(k >= dim))
            widths[:, k] = np.where(is_periodic, edge / number, even / each if k < dim else 1.0)
            images[:, k] = np.where(is_periodic, np.floor(across / edge + 2), 0.0)  # as the core counts them
        shifts = (images[:, :, np.newaxis] * np.abs(made_of)).sum(axis=1)
        # Images and shifts are numbered by int32.
        is_few = (images < 1e6).all(axis=1) & ((2 * images + 3).prod(axis=1) < 2**31) & (shifts < 2**31).all(axis=1)
        # If axes that do not repeat have no part in the lattice, points are at most 2**30 cells away, which bounds
        # rounding.
        is_apart = ((axes[:, np.newaxis] >= counts[:, np.newaxis, np.newaxis]) & (frames == 1)).any(axis=1)
        shortest = np.where(axes < counts[:, np.newaxis], np.linalg.norm(parts, axis=2), np.inf).min(axis=1)
        bound = 2.01 * (cutoff + 2.0**-12 * (np.abs(vectors).sum(axis=2) * repeats).sum(axis=1))
        may_repeat = (counts > 0) & ((is_apart[:, :dim].sum(axis=1) != dim - counts) | ~(shortest > bound))
        # If there would be too many cells, they are wider than the cutoff by orders; floats hold both.
        units = 2.0 ** -np.ceil(np.log2(widths[:, :dim].max(axis=1)))
    wrong = np.where(counts < 0, kernels.FLAT, np.where(is_few, 0, kernels.MANY))
    # Points of a wrong cell are faults, but kernels need numbers.
    is_wrong = wrong != 0
    cells[is_wrong], widths[is_wrong], units[is_wrong], counts[is_wrong] = axes >= dim, even, 1.0, 0
    kind: Any = kernels.Lattice
    records: NDArray[Any] = np.zeros(count, kind.numpy_dtype())
    for name, values in (
        ("vectors", vectors), ("frame", frames), ("parts", parts), ("combination", made_of), ("cells", cells),
        ("widths", widths), ("apart", is_apart), ("room", 2.0**31 - shifts), ("unit", units), ("cutoff", cutoff),
        ("axes", counts), ("wrong", wrong), ("repeats", may_repeat),
    ):  # fmt: skip
        records[name] = values
    return records


@lru_cache(maxsize=64)
def _one_lattice(vectors: bytes, repeats: bytes, cutoff: float, dim: int, fine: int) -> tuple[NDArray[Any], Struct]:
    """Return the record of one lattice, also as a struct of kernels. Cached for the next step of a simulation."""
    records = _lattices(
        np.frombuffer(vectors).reshape(1, 3, 3), np.frombuffer(repeats, bool).reshape(1, 3), cutoff, dim, fine
    )
    kind: Any = kernels.Lattice
    return records, Struct(kind.ctype.from_buffer_copy(records.tobytes()), {})


def _largest_square(cutoff: float) -> float:
    """Return the largest number whose root is at most the cutoff, to compare squares of distances with."""
    square = cutoff * cutoff
    while math.sqrt(square) > cutoff:
        square = math.nextafter(square, 0.0)
    while math.sqrt(math.nextafter(square, math.inf)) <= cutoff:
        square = math.nextafter(square, math.inf)
    return square


# The search -----------------------------------------------------------------------------------------------------------


class _Search:
    """One search for near points: what it needs on the device."""

    def __init__(
        self,
        sets: tuple[DeviceBoxes, ...],
        keys: tuple[Keys, ...],
        cells: _Cells,
        cutoff: float,
        is_full: bool,
        is_by_row: bool,
        is_sorted: bool,
        scratch: Scratch,
    ) -> None:
        self._sets, self._keys, self._scratch = sets, keys, scratch
        self._cells, self._cutoff = cells, cutoff
        self._is_full, self._is_by_row, self._is_sorted = is_full, is_by_row, is_sorted
        self._kernels, self._results = kernels.neighbor_kernels(sets[0].dim), kernels.result_kernels()
        load(sets[0].device, *(self._filing(one).module for one in sets), self._kernels.module, self._results.module)
        self._counters = scratch.array("neighbors.counters", kernels.COUNTERS, wp.int64)
        self._counters.zero_()
        self._choose()
        self._plan()
        self._starts = scratch.array("neighbors.starts", self._table_size + 1, wp.int32)[: self._table_size + 1]
        self._starts.zero_()
        self._table = scratch.struct(
            "neighbors.table", kernels.Table, starts=self._starts, size=self._table_size, is_hashed=int(self._is_hashed)
        )
        for k in range(len(sets)):
            self._file(k)
        self._count()

    # In one set, each pair is found once, from either side, unless it must be listed with its lower row.
    @property
    def _is_half(self) -> bool:
        return len(self._sets) == 1 and not self._is_by_row

    @property
    def _is_upper(self) -> bool:
        return len(self._sets) == 1 and self._is_by_row and not self._is_full

    @property
    def _is_empty(self) -> bool:
        return not all(one.count for one in self._sets)

    def _filing(self, points: DeviceBoxes) -> Any:
        return kernels.filing_kernels(points.dim, points.dtype)

    def _choose(self) -> None:
        """Choose lattices, cells and the table, and take the lattices to the device."""
        scratch, cells = self._scratch, self._cells
        dim, table = self._sets[0].dim, self._sets[-1]
        has_keys = any(keys.rows is not None for keys in self._keys)
        self._table_size = 0
        record = None
        if len(cells.vectors) == 1:
            arguments = cells.vectors.tobytes(), cells.repeats.tobytes(), self._cutoff, dim
            scenes = max(1, *(keys.scene_count for keys in self._keys))
            for fine in FINE:
                records, record = _one_lattice(*arguments, fine)
                number = scenes * math.prod(records["cells"][0, :dim].tolist())
                if has_keys or cells.each_its_own or records["axes"][0] < dim:
                    break
                if number <= min(TABLE_CELLS * table.count, _MOST_POINTS):
                    self._table_size = int(number)
                    break
            if not self._table_size:
                records, record = _one_lattice(*arguments, HASHED_FINE)
        else:
            records = _lattices(cells.vectors, cells.repeats, self._cutoff, dim, HASHED_FINE)
        self._is_hashed = not self._table_size
        if self._is_hashed:
            self._table_size = 1 << min(max(1, (2 * table.count - 1).bit_length()), 30)
        self._is_periodic = bool(records["axes"].any())
        self._may_repeat = bool(records["repeats"].any())
        self._lattice_count = len(cells.vectors) if cells.each_its_own else 0
        # Without keys, it is known here which cells have points.
        self._wrong = records["wrong"]
        if not has_keys and self._wrong.any() and (self._wrong[0] == kernels.FLAT or not self._is_empty):
            self._refuse_cell(int(np.flatnonzero(self._wrong)[0]))
        self._lattices = self._structs("lattices", len(records), kernels.Lattice)
        if record is not None:
            scratch.launch("neighbors", self._kernels.take, 1, [record, self._lattices])
        elif self._sets[0].place.is_capturing:
            raise ValueError("cell of shape (E, d, d) cannot be recorded in a CUDA graph; give one cell for all")
        else:
            wp.copy(self._lattices, wp.array(records, dtype=kernels.Lattice, device="cpu"))
        # Before the plan, points are read without the arrays of their order.
        self._points = [self._struct(k) for k in range(len(self._sets))]

    def _structs(self, name: str, count: int, kind: Any) -> Any:
        """Return working memory for structs, which the allocators of libraries do not know."""
        words = ctypes.sizeof(kind.ctype) // 4
        memory = self._scratch.array(f"neighbors.{name}", count * words, wp.int32)
        return view_of(memory, 0, (count,), (4 * words,), kind)

    def _struct(self, k: int) -> Struct:
        """Return a set of points as kernels read it."""
        name, count, keys, scratch = f"neighbors{k}", self._sets[k].count, self._keys[k], self._scratch
        return scratch.struct(
            name,
            kernels.Points,
            scene_size=keys.scene_size,
            keys=keys.rows,
            step=keys.step,
            lattices=self._lattices,
            lattice_count=self._lattice_count,
            numbers=scratch.array(f"{name}.numbers", 2 * count, wp.int32),
            order=scratch.array(f"{name}.order", 2 * count, wp.int32),
            spots=scratch.array(f"{name}.spots", count, wp.vec4),
            cells=scratch.array(f"{name}.cells", count, wp.vec4i),
            exact=scratch.array(f"{name}.exact", count, wp.vec4d),
            wraps=scratch.array(f"{name}.wraps", count, wp.vec3i) if self._is_periodic else None,
        )

    def _refuse_cell(self, cell: int) -> None:
        if self._wrong[cell] == kernels.MANY:
            raise ValueError(_many_images(self._cutoff))
        which = f" of cell {cell}" if len(self._cells.vectors) > 1 else ""
        raise ValueError(f"cell: the periodic vectors{which} do not span a volume")

    def _plan(self) -> None:
        """Find how far to look; in a periodic cell, this depends on how far outside the points are."""
        scratch = self._scratch
        most = None
        if self._is_periodic:
            most = scratch.array("neighbors.most", 6, wp.int64)
            most.zero_()
            lanes = 32 if self._sets[0].device.is_cuda else 1
            for k, one in enumerate(self._sets):
                threads = -(-one.count // (POINTS_A_THREAD * lanes)) * lanes
                if threads:
                    inputs = [one.lower, self._points[k], threads, lanes, most]
                    scratch.launch(f"neighbors{k}", self._filing(one).measure, threads, inputs)
        self._plans = self._structs("plans", len(self._wrong), kernels.Plan)
        inputs = [self._lattices, most, self._plans, self._counters]
        scratch.launch("neighbors", self._kernels.bound, len(self._wrong), inputs)

    def _file(self, k: int) -> None:
        """Sort the points of a set by cells; the last set also gets the table of cells."""
        one, points, scratch = self._sets[k], self._points[k], self._scratch
        name, count, filing = f"neighbors{k}", one.count, self._filing(one)
        if not count:
            return
        is_last = k == len(self._sets) - 1
        inputs = [one.lower, points, self._table, int(is_last), 1 + kernels.FAULTS * k, self._counters]
        scratch.launch(name, filing.file, count, inputs)
        if self._is_empty:
            return
        numbers, order = (scratch.array(f"{name}.{part}", 2 * count, wp.int32) for part in ("numbers", "order"))
        wp.utils.radix_sort_pairs(numbers, order, count, 0, self._table_size.bit_length())
        scratch.launch(name, filing.gather, count, [one.lower, points, self._table])
        if is_last:
            wp.utils.array_scan(self._starts, self._starts, inclusive=False)

    def _count(self) -> None:
        """Count the pairs of each point."""
        count = self._sets[0].count
        rows_around = 3 ** (self._sets[0].dim - 1)
        self._slices = max(1, min(rows_around, THREADS // max(count, 1)))
        self._tasks = count * self._slices
        self._offsets = self._scratch.array("neighbors.offsets", self._tasks + 1, wp.int64)[: self._tasks + 1]
        if self._is_empty:
            self._offsets.zero_()
            return
        self._search("count", self._task(0, None, None))
        wp.utils.array_scan(self._offsets, self._offsets, inclusive=False)
        wp.copy(self._counters, self._offsets, dest_offset=0, src_offset=self._tasks, count=1)

    def _task(self, capacity: int, found: Any, images: Any) -> Struct:
        return self._scratch.struct(
            "neighbors.task",
            kernels.Task,
            is_half=int(self._is_half),
            is_by_row=int(self._is_by_row),
            is_upper=int(self._is_upper),
            is_one_set=int(len(self._sets) == 1),
            slices=self._slices,
            count=self._tasks,
            limit=_largest_square(self._cutoff),
            plans=self._plans,
            capacity=capacity,
            offsets=self._offsets,
            found=found,
            images=images,
        )

    def _search(self, name: str, task: Struct) -> None:
        inputs = [self._points[0], self._points[-1], self._table, task]
        self._scratch.launch(f"neighbors.{name}", self._kernels.search, self._tasks, inputs)

    def lists(self, distances: bool, vectors: bool, shifts: bool) -> Neighbors:
        """Wait for the number of pairs, and return all pairs."""
        place, count = self._sets[0].place, self._sets[0].count
        total = self._total()
        rows = place.library.allocate((total,), wp.int32, place.device) if self._is_by_row else None
        pairs, *more = self._written(total, rows, distances, vectors, shifts)
        offsets = None
        if self._is_by_row:
            offsets = place.library.allocate((count + 1,), wp.int64, place.device)
            inputs = [self._slices, self._offsets, offsets]
            self._scratch.launch("neighbors", self._results.offsets, count + 1, inputs)
        given: Any = [None if one is None else place.library.give(one) for one in (pairs, offsets, rows, *more)]
        return Neighbors(*given)

    def padded(self, capacity: int, distances: bool, vectors: bool, shifts: bool) -> PaddedNeighbors:
        """Return as many pairs as there is room for, and their number."""
        place = self._sets[0].place
        pairs, *more = self._written(capacity, None, distances, vectors, shifts)
        count = place.library.allocate((1,), wp.int32, place.device)
        self._scratch.launch("neighbors", self._results.count, 1, [self._counters, count])
        give = place.library.give
        return PaddedNeighbors(
            give(pairs), place.given_number(count), *(None if one is None else give(one) for one in more)
        )

    def _written(self, size: int, rows: Any, distances: bool, vectors: bool, shifts: bool) -> list[Any]:
        """Write up to `size` pairs, and their distances, vectors and shifts if wanted."""
        scratch, place = self._scratch, self._sets[0].place
        dim = self._sets[0].dim

        def made(is_wanted: bool, shape: tuple[int, ...], kind: Any) -> Any:
            return place.library.allocate(shape, kind, place.device) if is_wanted else None

        pairs = made(True, (size, 2), wp.int32)
        results = [
            made(distances, (size,), wp.float64),
            made(vectors, (size, dim), wp.float64),
            made(shifts, (size, dim), wp.int32),
        ]
        if not size:
            return [pairs, *results]
        packed = wp.array(ptr=pairs.ptr, dtype=wp.vec2i, shape=(size,), device=place.device, copy=False)
        found = scratch.array("neighbors.found", size, wp.vec2i) if self._is_sorted else packed
        images = scratch.array("neighbors.images", size, wp.int32) if self._is_periodic else None
        task = self._task(size, found, images)
        if not self._is_empty:
            self._search("write", task)
        first = [self._points[0], self._points[-1], task]
        order = self._sorted(size, first) if self._is_sorted else None
        scratch.launch("neighbors", self._kernels.tell, size, [*first, order, packed, rows, *results])
        return [pairs, *results]

    def _sorted(self, size: int, first: list[Any]) -> Any:
        """Return the places of pairs, sorted by rows, and by shifts if a pair can have several."""
        scratch = self._scratch
        if 2 * size > 2**31 - 1:
            raise MemoryError(f"{size} pairs are too many to sort on a device; leave out sort=True, or give batches")
        order = scratch.array("neighbors.sorted", 2 * size, wp.int32)
        keys = scratch.array("neighbors.keys", 2 * size, wp.int64)
        bits = row_bits(self._sets[-1].count)
        all_bits = bits + row_bits(self._sets[0].count)
        passes = [(axis, 0, 0, 33) for axis in reversed(range(self._sets[0].dim))] if self._may_repeat else []
        for turn, (axis, shift, padding, end) in enumerate([*passes, (-1, bits, 1 << all_bits, all_bits + 1)]):
            inputs = [*first, axis, int(turn == 0), shift, padding, order, keys]
            scratch.launch("neighbors", self._kernels.keys, size, inputs)
            wp.utils.radix_sort_pairs(keys, order, size, 0, end)
        return order

    # Faults -----------------------------------------------------------------------------------------------------------

    def _total(self) -> int:
        """Wait for the device, and return the number of pairs."""
        total, *faults = (int(value) for value in self._counters.numpy()[: kernels.COUNTERS])
        both = list(zip(("points", "other"), self._sets, self._keys, (0, kernels.FAULTS), strict=False))
        # In the order of the core: first faults of the arrays, then those of places in cells.
        for name, points, _, at in both:
            bad = [faults[at + kind] for kind in (kernels.NOT_A_NUMBER, kernels.INFINITE)]
            if any(bad):
                raise _not_finite(points, name, 2**31 - (bad[0] or bad[1]))
        for _, _, keys, at in both:
            if faults[at + kernels.BAD_KEY]:
                row = 2**31 - faults[at + kernels.BAD_KEY]
                raise ValueError(_bad_key(row, _key_of(keys, row), self._lattice_count))
        for name, _, keys, at in both:
            if faults[at + kernels.WRONG_CELL]:
                self._refuse_cell(_key_of(keys, 2**31 - faults[at + kernels.WRONG_CELL]))
            if faults[at + kernels.FAR]:
                raise ValueError(
                    f"{name}: row {2**31 - faults[at + kernels.FAR]} is more than 10^9 periodic cells away"
                )
            if faults[at + kernels.MANY_IMAGES]:
                raise ValueError(_many_images(self._cutoff))
        if faults[-1]:
            raise ValueError("points are so far from the cell that coordinates there are coarser than it is")
        if total > 2**31 - 1:
            raise MemoryError(f"{total} pairs are too many for arrays on a device; search in parts")
        return total


def _not_finite(points: DeviceBoxes, name: str, row: int) -> InvalidBoxError:
    """Return the error for a point that is not finite; copies it to the host."""
    try:
        require_finite(points.lower[row : row + 1].numpy(), name)
    except InvalidBoxError as error:
        return InvalidBoxError(str(error).replace("row 0", f"row {row}", 1), row)
    raise AssertionError("the point is finite")


def _key_of(keys: Keys, row: int) -> int:
    if keys.rows is None:
        return row // max(keys.scene_size, 1)
    at = row * keys.step
    return int(keys.rows[at : at + 1].numpy()[0])
