"""Kernels that find pairs: by walks of trees, or in small scenes by comparing all boxes."""

from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import warp as wp

from broadphase.gpu.native import append
from broadphase.gpu.tree_kernels import kernel_module, lower_place, tree_kernels

__all__ = ["BY_GROUP", "BY_LAYER", "BY_SHARED", "BY_STATIC", "Filter", "pairs_kernels", "row_kernels"]

BY_LAYER, BY_GROUP, BY_STATIC, BY_SHARED = 1, 2, 4, 8
_BY_ROW = wp.constant(2)  # the lower row of a pair first


@wp.struct
class Filter:
    """Which overlaps of two sets count, see `broadphase.pairs`; with a step of 0, one value is for all rows.

    A search may stop after `most` pairs, unless that is 0.
    """

    parts: wp.int32
    most: wp.int64
    layers: wp.array(dtype=wp.int64)
    layer_step: wp.int32
    masks: wp.array(dtype=wp.int64)
    mask_step: wp.int32
    other_layers: wp.array(dtype=wp.int64)
    other_layer_step: wp.int32
    other_masks: wp.array(dtype=wp.int64)
    other_mask_step: wp.int32
    groups: wp.array(dtype=wp.int64)
    group_step: wp.int32
    other_groups: wp.array(dtype=wp.int64)
    other_group_step: wp.int32
    statics: wp.array(dtype=wp.uint8)
    static_step: wp.int32
    other_statics: wp.array(dtype=wp.uint8)
    other_static_step: wp.int32
    shared: wp.array2d(dtype=wp.int64)
    other_shared: wp.array2d(dtype=wp.int64)


@wp.func
def counts(passing: Filter, i: int, j: int) -> bool:
    """Return whether an overlap of row i of the first set and row j of the second one is a pair."""
    group = wp.int64(0)
    if (passing.parts & 2) != 0:
        group = passing.groups[i * passing.group_step]
        if group != passing.other_groups[j * passing.other_group_step]:
            group = wp.int64(0)
        if group < wp.int64(0):
            return False
    if (passing.parts & 1) != 0 and group == wp.int64(0):
        if (passing.layers[i * passing.layer_step] & passing.other_masks[j * passing.other_mask_step]) == wp.int64(0):
            return False
        if (passing.masks[i * passing.mask_step] & passing.other_layers[j * passing.other_layer_step]) == wp.int64(0):
            return False
    if (passing.parts & 4) != 0:
        own_static = passing.statics[i * passing.static_step]
        if own_static != wp.uint8(0) and passing.other_statics[j * passing.other_static_step] != wp.uint8(0):
            return False
    if (passing.parts & 8) != 0:
        for a in range(passing.shared.shape[1]):
            for b in range(passing.other_shared.shape[1]):
                if passing.shared[i, a] == passing.other_shared[j, b]:
                    return False
    return True


@wp.func
def write_pair(
    i: int,
    j: int,
    shift: int,
    most: wp.int64,
    capacity: wp.int64,
    found: wp.array(dtype=wp.int64),
    counters: wp.array(dtype=wp.int64),
) -> bool:
    """Count a pair, write it if there is room, and return whether to go on.

    With a shift of 0 it is written as two int32, otherwise as a key to sort by.
    """
    place = append(counters)
    if place < capacity:
        if shift == 0:
            found[place] = wp.int64(i) | (wp.int64(j) << wp.int64(32))
        else:
            found[place] = (wp.int64(i) << wp.int64(shift)) | wp.int64(j)
    return most == wp.int64(0) or place < most


@lru_cache(maxsize=None)
def pairs_kernels(dim: int, kind: Any) -> SimpleNamespace:
    """Return the kernels for boxes of a dimension and a type, float32 or float64."""
    module = kernel_module("pairs", dim, kind)
    access = tree_kernels(dim, kind).access
    node_type, node_at, take = access.type, access.at, access.take
    box_type = wp.types.vector(length=2 * dim, dtype=kind)

    @wp.func
    def overlap(a: box_type, b: box_type, touching: int) -> bool:
        for axis in range(wp.static(dim)):
            low = wp.max(a[axis], b[axis])
            high = wp.min(a[axis + wp.static(dim)], b[axis + wp.static(dim)])
            if low > high or (low == high and touching == 0):
                return False
        return True

    @wp.func
    def meets(own: node_type, node: node_type) -> bool:
        is_hit = bool(True)
        for axis in range(wp.static(dim)):
            is_hit = is_hit and own[axis] <= node[axis + 3] and node[axis] <= own[axis + 3]
        return is_hit

    @wp.func
    def open_meets(own: node_type, node: node_type) -> bool:
        is_hit = bool(True)
        for axis in range(wp.static(dim)):
            is_hit = is_hit and wp.max(own[axis], node[axis]) < wp.min(own[axis + 3], node[axis + 3])
        return is_hit

    @wp.func
    def walk_leaves(
        nodes: wp.array(dtype=node_type),
        inner: int,
        own: node_type,
        first_node: int,
        first: int,
        end: int,
        order: int,
        touching: int,
        passing: Filter,
        shift: int,
        capacity: wp.int64,
        found: wp.array(dtype=wp.int64),
        counters: wp.array(dtype=wp.int64),
    ):
        """Find the pairs of a leaf with those at places from `first`, where `first_node` begins, to before `end`.

        The row of the leaf comes first; with `order` 1 second; with 2 the lower row comes first.
        """
        row = take(own[6])
        number = int(first_node)
        at = int(first)
        while at < end:
            node = node_at(nodes, number)
            if meets(own, node):
                if number < inner:
                    number = take(node[6])
                    continue
                if touching != 0 or open_meets(own, node):
                    other = take(node[6])
                    i = row
                    j = other
                    if order == 1 or (order == _BY_ROW and other < row):
                        i = other
                        j = row
                    if passing.parts == 0 or counts(passing, i, j):
                        if not write_pair(i, j, shift, passing.most, capacity, found, counters):
                            return
            number = take(node[7])
            at = number
            if number >= inner:
                at = number - inner

    @wp.kernel(module=module, enable_backward=False)
    def pairs_in_tree(
        nodes: wp.array(dtype=node_type),
        keys: wp.array(dtype=wp.int64),
        codes: wp.array(dtype=wp.int64),
        is_keyed: int,
        scene_size: int,
        leaf_count: int,
        touching: int,
        passing: Filter,
        shift: int,
        capacity: wp.int64,
        found: wp.array(dtype=wp.int64),
        counters: wp.array(dtype=wp.int64),
    ):
        """Find the pairs of each leaf with the leaves after it, each pair once.

        Large boxes come after small ones. So a box that overlaps many is found by these, each in its own walk.
        """
        place = wp.tid()
        inner = leaf_count - 1
        own = node_at(nodes, inner + place)
        row = take(own[6])
        end = leaf_count
        if scene_size > 0:
            end = (row // scene_size + 1) * scene_size
        elif is_keyed != 0:
            end = lower_place(keys, codes, 1, keys[place], wp.int64(0x7FFFFFFFFFFFFFFF), leaf_count)
        # The node after a leaf begins with the next leaf.
        walk_leaves(
            nodes, inner, own, take(own[7]), place + 1, end, _BY_ROW, touching, passing, shift, capacity, found,
            counters
        )  # fmt: skip

    @wp.kernel(module=module, enable_backward=False)
    def pairs_of_trees(
        own_nodes: wp.array(dtype=node_type),
        own_keys: wp.array(dtype=wp.int64),
        own_codes: wp.array(dtype=wp.int64),
        own_count: int,
        nodes: wp.array(dtype=node_type),
        keys: wp.array(dtype=wp.int64),
        codes: wp.array(dtype=wp.int64),
        leaf_count: int,
        is_keyed: int,
        has_scenes: int,
        code_bits: int,
        scene_bits: int,
        is_second: int,
        touching: int,
        passing: Filter,
        shift: int,
        capacity: wp.int64,
        found: wp.array(dtype=wp.int64),
        counters: wp.array(dtype=wp.int64),
    ):
        """Find the pairs of each leaf of a tree with the leaves of another tree of its class or a larger one.

        With `is_second`, the first tree is that of the second set, and its leaves look only for larger classes.
        """
        place = wp.tid()
        own_inner = own_count - 1
        inner = leaf_count - 1
        own = node_at(own_nodes, own_inner + place)
        # From the lowest code of this class to the end of the scene or the key.
        key = wp.int64(0)
        if is_keyed != 0:
            key = own_keys[place]
        begin_class = (own_codes[place] >> wp.int64(code_bits)) + wp.int64(is_second)
        at = lower_place(keys, codes, is_keyed, key, begin_class << wp.int64(code_bits), leaf_count)
        end = leaf_count
        if has_scenes != 0 or is_keyed != 0:
            last_code = wp.int64(0x7FFFFFFFFFFFFFFF)
            if has_scenes != 0:
                last_code = ((own_codes[place] >> wp.int64(scene_bits)) + wp.int64(1)) << wp.int64(scene_bits)
            end = lower_place(keys, codes, is_keyed, key, last_code, leaf_count)
        number = int(0)
        if at > 0 and at < end:
            before = node_at(nodes, inner + at - 1)
            number = take(before[7])
        walk_leaves(
            nodes, inner, own, number, at, end, is_second, touching, passing, shift, capacity, found, counters
        )  # fmt: skip

    @wp.kernel(module=module, enable_backward=False)
    def pairs_in_scenes(
        lower: wp.array2d(dtype=kind),
        upper: wp.array2d(dtype=kind),
        scene_size: int,
        other_lower: wp.array2d(dtype=kind),
        other_upper: wp.array2d(dtype=kind),
        other_size: int,
        is_one_set: int,
        half_margin: kind,
        touching: int,
        passing: Filter,
        shift: int,
        capacity: wp.int64,
        found: wp.array(dtype=wp.int64),
        counters: wp.array(dtype=wp.int64),
    ):
        """Compare each box with all of its scene. Neighboring threads read the same box, from the cache."""
        row = wp.tid()
        scene = row // scene_size
        own = box_type()
        is_box = bool(True)
        for axis in range(wp.static(dim)):
            is_box = is_box and lower[row, axis] <= upper[row, axis]
            own[axis] = lower[row, axis] - half_margin
            own[axis + wp.static(dim)] = upper[row, axis] + half_margin
        if not is_box:
            wp.atomic_max(counters, 1, wp.int64(0x80000000) - wp.int64(row))
        for place in range(other_size):
            other = scene * other_size + place
            if is_one_set != 0 and other <= row:
                continue
            that = box_type()
            for axis in range(wp.static(dim)):
                that[axis] = other_lower[other, axis] - half_margin
                that[axis + wp.static(dim)] = other_upper[other, axis] + half_margin
            if overlap(own, that, touching):
                if passing.parts == 0 or counts(passing, row, other):
                    if not write_pair(row, other, shift, passing.most, capacity, found, counters):
                        return

    @wp.kernel(module=module, enable_backward=False)
    def check_boxes(
        lower: wp.array2d(dtype=kind), upper: wp.array2d(dtype=kind), counter: int, counters: wp.array(dtype=wp.int64)
    ):
        """Look for invalid boxes."""
        row = wp.tid()
        is_box = bool(True)
        for axis in range(wp.static(dim)):
            is_box = is_box and lower[row, axis] <= upper[row, axis]
        if not is_box:
            wp.atomic_max(counters, counter, wp.int64(0x80000000) - wp.int64(row))

    return SimpleNamespace(
        in_tree=pairs_in_tree,
        of_trees=pairs_of_trees,
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
    def pad_keys(
        count: wp.int64, padding: wp.int64, keys: wp.array(dtype=wp.int64), counters: wp.array(dtype=wp.int64)
    ):
        """Set the keys after the last pair to one that is sorted last."""
        place = wp.int64(wp.tid())
        if place >= counters[0] and place < count:
            keys[place] = padding

    @wp.kernel(module=module, enable_backward=False)
    def unpack_keys(
        keys: wp.array(dtype=wp.int64), shift: int, counters: wp.array(dtype=wp.int64), found: wp.array(dtype=wp.int64)
    ):
        """Turn sorted keys to rows of two int32, then -1."""
        place = wp.tid()
        if wp.int64(place) < counters[0]:
            key = keys[place]
            i = key >> wp.int64(shift)
            j = key & ((wp.int64(1) << wp.int64(shift)) - wp.int64(1))
            found[place] = i | (j << wp.int64(32))
        else:
            found[place] = wp.int64(-1)

    @wp.kernel(module=module, enable_backward=False)
    def tell_count(counters: wp.array(dtype=wp.int64), count: wp.array(dtype=wp.int32)):
        """Write the number of pairs as an int32, at most the largest; or -1 - row of an invalid box."""
        total = wp.min(counters[0], wp.int64(0x7FFFFFFF))
        bad = wp.max(counters[1], counters[2])
        if bad > wp.int64(0):
            total = bad - wp.int64(0x80000001)
        count[0] = wp.int32(total)

    return SimpleNamespace(
        number_scenes=number_scenes, pad_keys=pad_keys, unpack_keys=unpack_keys, tell_count=tell_count, module=module
    )
