"""Kernels that find pairs: by walks of trees, or in small scenes by comparing all boxes."""

from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import warp as wp

from broadphase.gpu.native import append
from broadphase.gpu.tree_kernels import Order, kernel_module, lower_place, tree_kernels

__all__ = [
    "BY_GROUP", "BY_LAYER", "BY_SHARED", "BY_STATIC", "FIRST", "ONE_SET", "SECOND", "Filter", "Results", "append_key",
    "pairs_kernels", "row_kernels",
]  # fmt: skip

BY_LAYER, BY_GROUP, BY_STATIC, BY_SHARED = 1, 2, 4, 8
#: Whose leaves walk a tree: those of the first set, of the second one, or of the same tree.
FIRST, SECOND, ONE_SET = 0, 1, 2
_SECOND, _ONE_SET = wp.constant(SECOND), wp.constant(ONE_SET)
_LAST = wp.constant(wp.int64(0x7FFFFFFFFFFFFFFF))  # of keys and codes


@wp.struct
class Filter:
    """Which overlaps of a set count, see `broadphase.pairs`; with a step of 0, one value is for all rows."""

    touching: wp.int32
    parts: wp.int32
    layers: wp.array(dtype=wp.int64)
    layer_step: wp.int32
    masks: wp.array(dtype=wp.int64)
    mask_step: wp.int32
    groups: wp.array(dtype=wp.int64)
    group_step: wp.int32
    statics: wp.array(dtype=wp.uint8)
    static_step: wp.int32
    shared: wp.array2d(dtype=wp.int64)


@wp.func
def counts(own: Filter, other: Filter, i: int, j: int) -> bool:
    """Return whether an overlap of row i of the first set and row j of the second one is a pair."""
    group = wp.int64(0)
    if (own.parts & 2) != 0:
        group = own.groups[i * own.group_step]
        if group != other.groups[j * other.group_step]:
            group = wp.int64(0)
        if group < wp.int64(0):
            return False
    if (own.parts & 1) != 0 and group == wp.int64(0):
        if (own.layers[i * own.layer_step] & other.masks[j * other.mask_step]) == wp.int64(0):
            return False
        if (own.masks[i * own.mask_step] & other.layers[j * other.layer_step]) == wp.int64(0):
            return False
    if (own.parts & 4) != 0:
        if own.statics[i * own.static_step] != wp.uint8(0) and other.statics[j * other.static_step] != wp.uint8(0):
            return False
    if (own.parts & 8) != 0:
        for a in range(own.shared.shape[1]):
            for b in range(other.shared.shape[1]):
                if own.shared[i, a] == other.shared[j, b]:
                    return False
    return True


@wp.struct
class Results:
    """Where keys of two rows are written: the first row shifted by `shift`; with a shift of 0, two int32.

    A search may stop after `most`, unless that is 0. The first counter is the number of keys.
    """

    shift: wp.int32
    most: wp.int64
    capacity: wp.int64
    found: wp.array(dtype=wp.int64)
    counters: wp.array(dtype=wp.int64)


@wp.func
def append_key(results: Results, i: int, j: int) -> bool:
    """Count a key, write it if there is room, and return whether to go on."""
    place = append(results.counters)
    if place < results.capacity:
        if results.shift == 0:
            results.found[place] = wp.int64(i) | (wp.int64(j) << wp.int64(32))
        else:
            results.found[place] = (wp.int64(i) << wp.int64(results.shift)) | wp.int64(j)
    return results.most == wp.int64(0) or place < results.most


@lru_cache(maxsize=None)
def pairs_kernels(dim: int, kind: Any) -> SimpleNamespace:
    """Return the kernels for boxes of a dimension and a type, float32 or float64."""
    module = kernel_module("pairs", dim, kind)
    tree = tree_kernels(dim, kind)
    node_type, node_at, take = tree.node_type, tree.access.at, tree.access.take
    boxes_type, check, grown, meets = tree.boxes_type, tree.check, tree.grown, tree.meets

    @wp.func
    def overlap(own: node_type, that: node_type, touching: int) -> bool:
        for axis in range(wp.static(dim)):
            low = wp.max(own[axis], that[axis])
            high = wp.min(own[axis + 3], that[axis + 3])
            if low > high or (low == high and touching == 0):
                return False
        return True

    @wp.kernel(module=module, enable_backward=False)
    def pairs_in_tree(
        own_nodes: wp.array(dtype=node_type),
        own_order: Order,
        nodes: wp.array(dtype=node_type),
        order: Order,
        whose: int,
        code_bits: int,
        scene_bits: int,
        passing: Filter,
        other_passing: Filter,
        results: Results,
    ):
        """Find the pairs of each leaf of a tree with leaves of another one, of its class or a larger one.

        Large boxes come after small ones. So a box that overlaps many is found by these, each in its own walk. In one
        tree, each leaf looks for those after it; leaves of a second set look only for larger classes.
        """
        place = wp.tid()
        inner = order.count - 1
        own = node_at(own_nodes, own_order.count - 1 + place)
        row = take(own[6])
        key = wp.int64(0)
        if order.is_keyed != 0:
            key = own_order.keys[place]
        number = int(0)
        at = place + 1
        end = order.count
        if whose == _ONE_SET:
            # The node after a leaf begins with the next leaf.
            number = take(own[7])
            if order.scene_size > 0:
                end = (row // order.scene_size + 1) * order.scene_size
            elif order.is_keyed != 0:
                end = lower_place(order, key, _LAST)
        else:
            # From the lowest code of this class to the end of the scene or the key.
            begin_class = (own_order.codes[place] >> wp.int64(code_bits)) + wp.int64(whose)
            at = lower_place(order, key, begin_class << wp.int64(code_bits))
            last_code = _LAST
            if order.scene_size > 0:
                last_code = ((own_order.codes[place] >> wp.int64(scene_bits)) + wp.int64(1)) << wp.int64(scene_bits)
            if order.scene_size > 0 or order.is_keyed != 0:
                end = lower_place(order, key, last_code)
            if at > 0 and at < end:
                before = node_at(nodes, inner + at - 1)
                number = take(before[7])
        while at < end:
            node = node_at(nodes, number)
            if meets(own, node):
                if number < inner:
                    number = take(node[6])
                    continue
                if passing.touching != 0 or overlap(own, node, 0):
                    other = take(node[6])
                    i = row
                    j = other
                    if whose == _SECOND or (whose == _ONE_SET and other < row):
                        i = other
                        j = row
                    if passing.parts == 0 or counts(passing, other_passing, i, j):
                        if not append_key(results, i, j):
                            return
            number = take(node[7])
            at = number
            if number >= inner:
                at = number - inner

    @wp.kernel(module=module, enable_backward=False)
    def pairs_in_scenes(
        boxes: boxes_type,
        scene_size: int,
        others: boxes_type,
        other_size: int,
        is_one_set: int,
        half_margin: kind,
        passing: Filter,
        other_passing: Filter,
        results: Results,
    ):
        """Compare each box with all of its scene. Neighboring threads read the same box, from the cache."""
        row = wp.tid()
        check(boxes, row, 1, results.counters)
        own = grown(boxes, row, half_margin)
        first = row // scene_size * other_size
        for place in range(other_size):
            other = first + place
            if is_one_set != 0 and other <= row:
                continue
            that = grown(others, other, half_margin)
            if overlap(own, that, passing.touching):
                if passing.parts == 0 or counts(passing, other_passing, row, other):
                    if not append_key(results, row, other):
                        return

    @wp.kernel(module=module, enable_backward=False)
    def check_boxes(boxes: boxes_type, counter: int, counters: wp.array(dtype=wp.int64)):
        """Look for invalid boxes."""
        check(boxes, wp.tid(), counter, counters)

    return SimpleNamespace(
        in_tree=pairs_in_tree,
        in_scenes=pairs_in_scenes,
        check=check_boxes,
        rows=row_kernels(),
        module=module,
    )


@lru_cache(maxsize=None)
def row_kernels() -> SimpleNamespace:
    """Return the kernels for rows of any boxes."""
    module = wp.get_module("broadphase.gpu.rows")
    module.options.update({"enable_backward": False})

    @wp.kernel(module=module, enable_backward=False)
    def number_scenes(size: int, scenes: wp.array(dtype=wp.int64)):
        row = wp.tid()
        scenes[row] = wp.int64(row // size)

    @wp.kernel(module=module, enable_backward=False)
    def pad_keys(results: Results, padding: wp.int64):
        """Set the keys after the last to one that is sorted last."""
        place = wp.int64(wp.tid())
        if place >= results.counters[0]:
            results.found[place] = padding

    @wp.kernel(module=module, enable_backward=False)
    def unpack_keys(results: Results, pairs: wp.array(dtype=wp.int64)):
        """Turn sorted keys to pairs of two int32, then -1."""
        place = wp.tid()
        pairs[place] = wp.int64(-1)
        if wp.int64(place) < results.counters[0]:
            key = results.found[place]
            shift = wp.int64(results.shift)
            pairs[place] = (key >> shift) | ((key & ((wp.int64(1) << shift) - wp.int64(1))) << wp.int64(32))

    @wp.kernel(module=module, enable_backward=False)
    def rows_of_keys(results: Results, rows: wp.array(dtype=wp.int32)):
        """Write the second rows of keys, then -1."""
        place = wp.tid()
        rows[place] = -1
        if wp.int64(place) < results.counters[0]:
            rows[place] = int(results.found[place] & ((wp.int64(1) << wp.int64(results.shift)) - wp.int64(1)))

    @wp.kernel(module=module, enable_backward=False)
    def offsets_of_keys(results: Results, offsets: wp.array(dtype=wp.int64)):
        """Write where the keys of each first row begin, and where the last end."""
        row = wp.tid()
        key = wp.int64(row) << wp.int64(results.shift)
        low = wp.int64(0)
        high = wp.min(results.counters[0], results.capacity)
        while low < high:
            middle = low + (high - low) / wp.int64(2)
            if results.found[middle] < key:
                low = middle + wp.int64(1)
            else:
                high = middle
        offsets[row] = low

    @wp.kernel(module=module, enable_backward=False)
    def tell_count(counters: wp.array(dtype=wp.int64), count: wp.array(dtype=wp.int32)):
        """Write the number of pairs as an int32, at most the largest; or -1 - row of an invalid box."""
        total = wp.min(counters[0], wp.int64(0x7FFFFFFF))
        bad = wp.max(counters[1], counters[2])
        if bad > wp.int64(0):
            total = bad - wp.int64(0x80000001)
        count[0] = wp.int32(total)

    return SimpleNamespace(
        number_scenes=number_scenes,
        pad=pad_keys,
        unpack=unpack_keys,
        rows=rows_of_keys,
        offsets=offsets_of_keys,
        tell_count=tell_count,
        module=module,
    )
