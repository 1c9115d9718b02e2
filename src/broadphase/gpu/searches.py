"""The overlapping pairs of boxes on a device: all, as many as there is room for, or their number."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from broadphase.arguments import as_flag, as_real, as_whole
from broadphase.capacity import PaddedPairs, capacity_of
from broadphase.errors import TooManyPairsError, unknown_name
from broadphase.gpu.arrays import wp
from broadphase.gpu.boxes import Keys, boxes_on, invalid_box, keys_of, of_one_kind, passing_of
from broadphase.gpu.loading import load
from broadphase.gpu.pairs_kernels import FIRST, ONE_SET, SECOND, Results, pairs_kernels, row_kernels
from broadphase.gpu.tree import build, frame_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broadphase.boxes.forms import Boxes
    from broadphase.gpu.arrays import Place, Scratch
    from broadphase.gpu.boxes import DeviceBoxes
    from broadphase.gpu.tree import Tree

__all__ = [
    "Search", "answer", "count_of", "count_pairs", "found_all", "found_padded", "number_of", "pairs", "refuse_capture",
    "results_of", "row_bits", "sets_of", "way_of",
]  # fmt: skip

# Scenes of at most so many boxes, or with so few comparisons in all, are compared box by box: that takes one kernel, a
# tree takes eight. Chosen by counting memory accesses; not measured on a card yet.
SMALL_SCENE = 256
FEW_TESTS = 1 << 21
#: Room for so many pairs a box at first.
ROOM = 4

_COUNTERS = 3  # pairs, and the first invalid box of each set


def pairs(
    boxes: Boxes,
    other: Boxes | None = None,
    *,
    device: Any = None,
    sort: bool = False,
    touching: bool = True,
    margin: float = 0.0,
    layer: Any = None,
    mask: Any = None,
    group: Any = None,
    static: Any = None,
    ignore_shared: Any = None,
    batch: Any = None,
    max_pairs: int | None = None,
    capacity: int | None = None,
    invalid: str = "raise",
) -> Any:
    """Find every pair of overlapping boxes on a device: the pairs of `broadphase.pairs`.

    Parameters
    ----------
    boxes, other : array, shape (n, 2, d), (n, 2*d) or (E, n, 2, d), or tuple of two (n, d) or (E, n, d)
        Lower and upper corner of each box, d = 2 or 3: float32 or float64 on a device, of torch, CuPy, JAX, Warp or
        anything with the CUDA array interface or DLPack, of any strides; also ``wp.vec3`` and the like. Or boxes in
        host memory, as in `broadphase.pairs`, which are copied to the device. Both sets are on one device.
    device : str or device of Warp, optional
        "cuda:0" and so on, or "cpu", where Warp runs the kernels without a GPU. Default: the device of the boxes, or
        the current CUDA device if they are in host memory.
    sort : bool
        Sort the pairs by their first, then by their second row. Otherwise their order varies from call to call.
    touching, margin, layer, mask, group, static, ignore_shared, batch
        As in `broadphase.pairs`. Arrays are on the device of the boxes.
    max_pairs : int, optional
        Raise TooManyPairsError if there are more.
    capacity : int, optional
        Room for pairs. The result is then `PaddedPairs`: nothing waits for the device, only the result is allocated
        after the first call with equal sizes, and CUDA graphs can record the call.
    invalid : {"raise"}
        Boxes with NaN or lower > upper are errors.

    Returns
    -------
    array of shape (m, 2), int32, or PaddedPairs
        Row numbers, first < second, each pair once; with `other`, row of `boxes` and row of `other`. A new array of the
        library of `boxes`, on its device.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError, TooManyPairsError, MemoryError
        As `broadphase.pairs`; with `capacity`, `count` names an invalid box instead. Arrays on another device than the
        boxes.
    MissingExtraError
        Warp is not installed.

    Notes
    -----
    Work is put on the caller's stream: the current one of torch or CuPy, or that of Warp for the device. Without
    `capacity`, the call waits once for the number of pairs. Working memory, some 130 bytes a box and 16 a pair, is kept
    for later calls on the stream; `release` frees it.

    Boxes are sorted by classes of size and in Z order; a linear BVH is built over them, and each leaf walks those after
    it. Scenes of at most 256 boxes are compared box by box. Exact: nodes are not rounded.
    O(n log n + m) time for similar sizes.

    References
    ----------
    .. [1] A. Prokopenko, D. Lebrun-Grandié, "Revising Apetrei's bounding volume hierarchy construction algorithm to
       allow stackless traversal", 2024. arXiv 2402.00665

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.gpu.pairs([[0, 0, 2, 2], [1, 1, 3, 3], [9, 9, 9, 9]], device="cpu")
    array([[0, 1]], dtype=int32)
    >>> found = bp.gpu.pairs([[0, 0, 2, 2], [1, 1, 3, 3], [9, 9, 9, 9]], device="cpu", capacity=2)
    >>> found.pairs.tolist(), int(found.count)
    ([[0, 1], [-1, -1]], 1)
    """
    sort = as_flag(sort, "sort")
    limit = None if max_pairs is None else as_whole(max_pairs, "max_pairs", 0)
    room = None if capacity is None else capacity_of(capacity, max_pairs)
    filters = {"layer": layer, "mask": mask, "group": group, "static": static, "ignore_shared": ignore_shared}
    with _searching(boxes, other, device, touching, margin, batch, invalid, filters) as search:
        return answer(search, sort, limit, room)


def count_pairs(
    boxes: Boxes,
    other: Boxes | None = None,
    *,
    device: Any = None,
    touching: bool = True,
    margin: float = 0.0,
    layer: Any = None,
    mask: Any = None,
    group: Any = None,
    static: Any = None,
    ignore_shared: Any = None,
    batch: Any = None,
    invalid: str = "raise",
) -> int:
    """Count the pairs of overlapping boxes on a device, in memory that does not depend on their number.

    Parameters and errors are those of `pairs`.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.gpu.count_pairs([[0, 0, 1, 1]] * 1000, device="cpu")
    499500
    """
    filters = {"layer": layer, "mask": mask, "group": group, "static": static, "ignore_shared": ignore_shared}
    with _searching(boxes, other, device, touching, margin, batch, invalid, filters) as search:
        return number_of(search)


@contextmanager
def _searching(
    boxes: Any,
    other: Any,
    device: Any,
    touching: bool,
    margin: float,
    batch: Any,
    invalid: str,
    filters: dict[str, Any],
) -> Iterator[Search]:
    """Check the options of `pairs`, and yield a search on the caller's stream."""
    if invalid == "skip":
        raise ValueError('invalid="skip" is for boxes in host memory; on a device, leave out such boxes first')
    if invalid != "raise":
        raise ValueError(unknown_name("invalid", invalid, ["raise"]))
    sets, half_margin = sets_of(boxes, other, device, margin)
    touching = as_flag(touching, "touching")
    with sets[0].place.running() as scratch:
        passing = passing_of(sets, scratch, touching=touching, **filters)
        yield Search(sets, half_margin, passing, keys_of(batch, sets, scratch), scratch)


def refuse_capture(place: Any) -> None:
    """Raise ValueError for a search without `capacity` while a CUDA graph is recorded."""
    if place.is_capturing:
        raise ValueError("the number of pairs is not known while a CUDA graph is recorded; pass capacity=")


def answer(search: Search, sort: bool, limit: int | None, capacity: int | None) -> Any:
    """Return all pairs of a search, or with `capacity` as many as there is room for."""
    place = search.sets[0].place
    search.is_sorted = sort
    size = capacity
    if size is None:
        refuse_capture(place)
        size = found_all(search, ROOM * sum(one.count for one in search.sets), limit)
    made = place.library.allocate((size, 2), wp.int32, place.device)
    packed = None
    if size:
        packed = wp.array(ptr=made.ptr, dtype=wp.int64, shape=(size,), device=place.device, copy=False)
    if capacity is not None and sort:
        found_padded(search, capacity)
    elif capacity is not None:
        if packed is not None:
            packed.fill_(-1)
        search.run(capacity, packed)
    elif size and not sort:
        wp.copy(packed, search.found, count=size)
    if size and sort:
        search.scratch.launch("pairs", row_kernels().unpack, size, [search.results, packed])
    pairs = place.library.give(made)
    return pairs if capacity is None else PaddedPairs(pairs, count_of(search, place))


def number_of(search: Search) -> int:
    """Return the number of pairs of a search."""
    refuse_capture(search.sets[0].place)
    search.run(0, None)
    return search.total()


def row_bits(count: int) -> int:
    """Return how many bits hold the rows of `count` boxes; at least 1, because 0 stands for pairs without order."""
    return max(1, (count - 1).bit_length())


def sets_of(boxes: Any, other: Any, device: Any, margin: Any) -> tuple[tuple[DeviceBoxes, ...], float]:
    """Return one set of boxes or two on a device, of one dtype, and half of the margin."""
    own = boxes_on(boxes, "boxes", device)
    sets: tuple[DeviceBoxes, ...] = (own,)
    if other is not None:
        second = boxes_on(other, "other", own.device, empty_dim=own.dim)
        own, second = of_one_kind(own, second, "boxes")
        if own.dtype != second.dtype:
            own, second = own.as_double(), second.as_double()
        sets = own, second
    half = as_real(margin, "margin") / 2
    largest = 3.4028234663852886e38 if own.dtype == wp.float32 else 1.7976931348623157e308
    if not 0.0 <= half <= largest:
        raise ValueError(
            f"margin must not be negative, and half of it must be a finite {own.dtype.__name__}, not {margin}"
        )
    return sets, half


class Search:
    """One search for pairs. The first `run` makes what it needs on the device, the next one uses it again.

    `way` is "none" if there can be no pairs, "scenes" if boxes are compared one by one, else "tree". A `tree` of the
    boxes may be given; then `checked` begins with the result of a check of them, as `build` writes it.
    """

    is_sorted = False
    too_many = "pairs are too many to sort on a device; leave out sort=True, or give batches"
    found: Any
    results: Any

    def __init__(
        self,
        sets: tuple[DeviceBoxes, ...],
        half_margin: float,
        passing: Any,
        keys: tuple[Keys, ...],
        scratch: Scratch,
        *,
        tree: Tree | None = None,
        checked: Any = None,
    ) -> None:
        self.sets, self.keys, self.scratch = sets, keys, scratch
        self.way = way_of(sets, keys)
        self._half_margin, self._passing = half_margin, passing
        self._trees: tuple[Tree, ...] = () if tree is None else (tree,)
        self._checked = checked
        self.counters = scratch.array("counters", _COUNTERS, wp.int64)

    @property
    def bits(self) -> tuple[int, int]:
        """Bits of the first row of a pair, and of the second one."""
        return row_bits(self.sets[0].count), row_bits(self.sets[-1].count)

    def run(self, capacity: int, found: Any, most: int = 0) -> None:
        """Find the pairs, and write as many as there is room for; a second run only walks again.

        If there are more than `most`, unless that is 0, their number may be any larger one.
        """
        own, scratch = self.sets[0], self.scratch
        kernels = pairs_kernels(own.dim, own.dtype)
        load(own.device, own.tree_kernels.module, kernels.module, row_kernels().module)
        self.counters.zero_()
        if self._checked is not None:
            wp.copy(self.counters, self._checked, dest_offset=1, count=1)
        shift = self.bits[1] if self.is_sorted else 0
        self.found, self.results = found, results_of(scratch, shift, most, capacity, found, self.counters)
        if self.way == "none":
            for k, one in enumerate(self.sets):
                self._check(kernels, one, 1 + k)
        elif self.way == "scenes":
            self._compare(kernels)
        else:
            if not self._trees:
                self._build()
            self._walk(kernels)

    def _check(self, kernels: Any, boxes: DeviceBoxes, counter: int) -> None:
        if boxes.count:
            name = f"set{counter}"
            self.scratch.launch(
                name, kernels.check, boxes.count, [boxes.struct(self.scratch, name), counter, self.counters]
            )

    def _compare(self, kernels: Any) -> None:
        own, other = self.sets[0], self.sets[-1]
        is_one = len(self.sets) == 1
        if not is_one:
            self._check(kernels, other, 2)
        sizes = [keys.scene_size or one.count for keys, one in zip(self.keys, self.sets, strict=True)]
        inputs = [
            own.struct(self.scratch, "set1"),
            sizes[0],
            other.struct(self.scratch, "set2"),
            sizes[-1],
            int(is_one),
        ]
        inputs += [self._half_margin, *self._passing, self.results]
        self.scratch.launch("pairs", kernels.in_scenes, own.count, inputs)

    def _build(self) -> None:
        half, counters, scratch = self._half_margin, self.counters, self.scratch
        if len(self.sets) == 1:
            tree = build(self.sets[0], half, self.keys[0], scratch, "tree", counters=counters, checked=1)
            self._trees = (tree,)
            return
        larger = max(self.sets, key=lambda one: one.count)
        frame = frame_of(larger, scratch, "tree", self.keys[0].scene_count)
        self._trees = tuple(
            build(one, half, keys, scratch, f"tree{k}", counters=counters, checked=1 + k, frame=frame)
            for k, (one, keys) in enumerate(zip(self.sets, self.keys, strict=True))
        )

    def _walk(self, kernels: Any) -> None:
        first, second = self._trees[0], self._trees[-1]
        # Each leaf of the first set looks for leaves of its class or larger, each of the second for larger ones.
        walks = (
            ((first, second, FIRST), (second, first, SECOND)) if len(self._trees) == 2 else ((first, first, ONE_SET),)
        )
        for own, other, whose in walks:
            inputs = [own.nodes, own.order, other.nodes, other.order, whose]
            inputs += [own.code_bits, own.code_bits + own.kernels.class_bits, *self._passing, self.results]
            self.scratch.launch(f"pairs{whose}", kernels.in_tree, own.count, inputs)

    def total(self) -> int:
        """Wait for the device, and return the number of pairs."""
        total, *bad = (int(value) for value in self.counters.numpy()[:_COUNTERS])
        for name, boxes, value in zip(("boxes", "other"), self.sets, bad, strict=False):
            if value:
                raise invalid_box(boxes, name, 2**31 - value)
        return total


def way_of(sets: tuple[DeviceBoxes, ...], keys: tuple[Keys, ...]) -> str:
    """Return how pairs are found: "none", "scenes" or "tree"."""
    own, other = sets[0], sets[-1]
    if not own.count or not other.count or (len(sets) == 1 and own.count < 2):
        return "none"
    if any(one.rows is not None for one in keys):
        return "tree"
    size = keys[-1].scene_size or other.count
    return "scenes" if size <= SMALL_SCENE or own.count * size <= FEW_TESTS else "tree"


# Results, of pairs and of queries -------------------------------------------------------------------------------------


def results_of(scratch: Scratch, shift: int, most: int, capacity: int, found: Any, counters: Any) -> Any:
    """Return where kernels write keys of two rows."""
    return scratch.struct("results", Results, shift=shift, most=most, capacity=capacity, found=found, counters=counters)


def found_all(search: Any, room: int, limit: int | None = None) -> int:
    """Find all keys, sorted if wanted, and return their number; walk a second time if there was too little room."""
    scratch, factor = search.scratch, 2 if search.is_sorted else 1  # sorting takes as much again
    found = scratch.array("found", max(1024, room) * factor, wp.int64)
    search.run(found.size // factor, found, 0 if limit is None else limit + 1)
    total: int = search.total()
    if limit is not None and total > limit:
        raise TooManyPairsError(f"there are more than max_pairs={limit} pairs")
    if search.is_sorted and 2 * total > 2**31 - 1:
        raise MemoryError(f"{total} {search.too_many}")
    if total > found.size // factor:
        search.run(total, scratch.array("found", total * factor, wp.int64))
    if search.is_sorted and total:
        _sort(search, total, sum(search.bits))
    return total


def found_padded(search: Any, capacity: int) -> None:
    """Find as many keys as there is room for, and sort them; those after the last one are sorted last."""
    if 2 * capacity > 2**31 - 1:
        raise MemoryError(f"{capacity} {search.too_many}")
    search.run(capacity, search.scratch.array("found", 2 * capacity, wp.int64))
    if capacity:
        bits = sum(search.bits)
        search.scratch.launch("results", row_kernels().pad, capacity, [search.results, 1 << bits])
        _sort(search, capacity, bits + 1)


def _sort(search: Any, count: int, bits: int) -> None:
    """Sort the first `count` keys, of `bits` bits; the array must have room for twice as many."""
    wp.utils.radix_sort_pairs(
        search.found, search.scratch.array("sorted", 2 * count, wp.int32), count, 0, min(bits, 64)
    )


def count_of(search: Any, place: Place) -> Any:
    """Return the number of keys on the device, or -1 - row of what is invalid."""
    count = place.library.allocate((1,), wp.int32, place.device)
    search.scratch.launch("results", row_kernels().tell_count, 1, [search.counters, count])
    return place.given_number(count)
