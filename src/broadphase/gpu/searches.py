"""The overlapping pairs of boxes on a device: all, as many as there is room for, or their number."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broadphase.arguments import as_flag, as_real, as_whole
from broadphase.capacity import PaddedPairs, capacity_of
from broadphase.errors import TooManyPairsError, unknown_name
from broadphase.gpu.arrays import wp
from broadphase.gpu.boxes import Keys, boxes_on, invalid_box, keys_of, of_one_kind, passing_of
from broadphase.gpu.loading import load
from broadphase.gpu.pairs_kernels import pairs_kernels, row_kernels
from broadphase.gpu.tree import build, frame_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broadphase.boxes.forms import Boxes
    from broadphase.gpu.arrays import Scratch
    from broadphase.gpu.boxes import DeviceBoxes
    from broadphase.gpu.tree import Tree

__all__ = [
    "Found", "Search", "answer", "count_pairs", "find", "number_of", "pairs", "refuse_capture", "row_bits", "sets_of",
    "sort_keys", "way_of",
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
        passing = passing_of(sets, scratch, **filters)
        yield Search(sets, half_margin, touching, passing, keys_of(batch, sets, scratch), scratch)


def refuse_capture(place: Any) -> None:
    """Raise ValueError for a search without `capacity` while a CUDA graph is recorded."""
    if place.is_capturing:
        raise ValueError("the number of pairs is not known while a CUDA graph is recorded; pass capacity=")


def answer(search: Search, sort: bool, limit: int | None, capacity: int | None) -> Any:
    """Return all pairs of a search, or with `capacity` as many as there is room for."""
    if capacity is not None:
        return _padded(search, capacity, sort)
    refuse_capture(search.sets[0].place)
    return find(search, sort, limit, row_bits(search.sets[-1].count) if sort else 0).result()


def number_of(search: Search) -> int:
    """Return the number of pairs of a search."""
    refuse_capture(search.sets[0].place)
    search.run(0, 0, search.scratch.array("found", 1, wp.int64))
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

    def __init__(
        self,
        sets: tuple[DeviceBoxes, ...],
        half_margin: float,
        touching: bool,
        passing: Any,
        keys: tuple[Keys, ...],
        scratch: Scratch,
        *,
        tree: Tree | None = None,
        checked: Any = None,
    ) -> None:
        self.sets, self.keys, self.scratch = sets, keys, scratch
        self.way = way_of(sets, keys)
        self._half_margin, self._touching, self._passing = half_margin, int(touching), passing
        self._trees: tuple[Any, ...] = () if tree is None else (tree,)
        self._checked = checked
        self.counters = scratch.array("counters", _COUNTERS, wp.int64)

    @property
    def device(self) -> Any:
        """The device of Warp."""
        return self.sets[0].device

    def run(self, capacity: int, shift: int, found: Any, most: int = 0) -> None:
        """Find the pairs, and write as many as there is room for; a second run only walks again.

        If there are more than `most`, unless that is 0, their number may be any larger one.
        """
        self._passing.most = most
        own = self.sets[0]
        kernels = pairs_kernels(own.dim, own.dtype)
        load(self.device, own.tree_kernels.module, kernels.module, kernels.rows.module)
        self.counters.zero_()
        if self._checked is not None:
            wp.copy(self.counters, self._checked, dest_offset=1, count=1)
        if self.way == "none":
            for k, one in enumerate(self.sets):
                self._check(kernels, one, 1 + k)
        elif self.way == "scenes":
            self._compare(kernels, capacity, shift, found)
        else:
            if not self._trees:
                self._build()
            self._walk(kernels, capacity, shift, found)

    def _check(self, kernels: Any, boxes: DeviceBoxes, counter: int) -> None:
        if boxes.count:
            inputs = [boxes.lower, boxes.upper, counter, self.counters]
            self.scratch.launch(f"set{counter}", kernels.check, boxes.count, inputs)

    def _compare(self, kernels: Any, capacity: int, shift: int, found: Any) -> None:
        own, other = self.sets[0], self.sets[-1]
        is_one = len(self.sets) == 1
        if not is_one:
            self._check(kernels, other, 2)
        sizes = [keys.scene_size or one.count for keys, one in zip(self.keys, self.sets, strict=True)]
        inputs = [own.lower, own.upper, sizes[0], other.lower, other.upper, sizes[-1], int(is_one), self._half_margin]
        inputs += [self._touching, self._passing, shift, capacity, found, self.counters]
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

    def _walk(self, kernels: Any, capacity: int, shift: int, found: Any) -> None:
        end = [self._touching, self._passing, shift, capacity, found, self.counters]
        if len(self._trees) == 1:
            [tree] = self._trees
            inputs = [tree.nodes, tree.sorted_keys, tree.codes, tree.is_keyed, tree.keys.scene_size]
            self.scratch.launch("pairs", kernels.in_tree, tree.count, [*inputs, tree.count, *end])
            return
        # Each leaf of the first set looks for leaves of its class or larger, each of the second for larger ones.
        for own, other in (self._trees, self._trees[::-1]):
            is_second = int(own is self._trees[1])
            inputs = [own.nodes, own.sorted_keys, own.codes, own.count]
            inputs += [other.nodes, other.sorted_keys, other.codes, other.count]
            inputs += [own.is_keyed, int(own.keys.scene_size > 0)]
            inputs += [own.code_bits, own.code_bits + own.kernels.class_bits, is_second]
            self.scratch.launch(f"pairs{is_second}", kernels.of_trees, own.count, [*inputs, *end])

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


@dataclass
class Found:
    """All pairs of a search, in working memory."""

    search: Search
    total: int
    shift: int
    keys: Any

    def result(self) -> Any:
        """Return the pairs as a new array of the library of the boxes, shape (m, 2)."""
        place = self.search.sets[0].place
        made = place.library.allocate((self.total, 2), wp.int32, place.device)
        if self.total:
            packed = wp.array(ptr=made.ptr, dtype=wp.int64, shape=(self.total,), device=place.device, copy=False)
            if self.shift:
                inputs = [self.keys, self.shift, self.search.counters, packed]
                self.search.scratch.launch("pairs", row_kernels().unpack_keys, self.total, inputs)
            else:
                wp.copy(packed, self.keys, count=self.total)
        return place.library.give(made)


def find(search: Search, sort: bool, limit: int | None, shift: int) -> Found:
    """Find all pairs; walk a second time if there was too little room."""
    scratch = search.scratch
    factor = 2 if sort else 1  # sorting takes as much again
    found = scratch.array("found", max(1024, ROOM * sum(one.count for one in search.sets)) * factor, wp.int64)
    search.run(found.size // factor, shift, found, 0 if limit is None else limit + 1)
    total = search.total()
    if limit is not None and total > limit:
        raise TooManyPairsError(f"there are more than max_pairs={limit} pairs")
    if total > found.size // factor:
        found = scratch.array("found", total * factor, wp.int64)
        search.run(total, shift, found)
    if sort and total:
        sort_keys(found, total, shift + row_bits(search.sets[0].count), scratch)
    return Found(search, total, shift, found)


def sort_keys(keys: Any, count: int, bits: int, scratch: Scratch) -> None:
    """Sort the first `count` keys, of `bits` bits; the array must have room for twice as many."""
    if 2 * count > 2**31 - 1:
        raise MemoryError(f"{count} pairs are too many to sort on a device; leave out sort=True, or give batches")
    wp.utils.radix_sort_pairs(keys, scratch.array("sorted", 2 * count, wp.int32), count, 0, min(bits, 64))


def _padded(search: Search, capacity: int, sort: bool) -> PaddedPairs:
    rows = row_kernels()
    place, scratch, device = search.sets[0].place, search.scratch, search.device
    made = place.library.allocate((capacity, 2), wp.int32, device)
    count = place.library.allocate((1,), wp.int32, device)
    packed = made
    if capacity:
        packed = wp.array(ptr=made.ptr, dtype=wp.int64, shape=(capacity,), device=device, copy=False)
    if sort and capacity:
        shift = row_bits(search.sets[-1].count)
        bits = shift + row_bits(search.sets[0].count)
        keys = scratch.array("found", 2 * capacity, wp.int64)
        search.run(capacity, shift, keys)
        scratch.launch("pairs", rows.pad_keys, capacity, [capacity, 1 << bits, keys, search.counters])
        sort_keys(keys, capacity, bits + 1, scratch)
        scratch.launch("pairs", rows.unpack_keys, capacity, [keys, shift, search.counters, packed])
    else:
        if capacity:
            packed.fill_(-1)
        else:
            packed = scratch.array("found", 1, wp.int64)
        search.run(capacity, 0, packed)
    scratch.launch("pairs", rows.tell_count, 1, [search.counters, count])
    return PaddedPairs(place.library.give(made), place.given_number(count))
