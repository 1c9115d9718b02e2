"""Kernels that put boxes into Z order and build a linear tree over them.

The tree has n leaves in the order of their codes and n - 1 inner nodes. Node v < n - 1 is inner; otherwise v - (n - 1)
is the place of a leaf. An inner node has the number of its first leaf if it is a right child, that of its last leaf if
it is a left child, and the root has 0 (Karras 2012). So the node after a subtree in a walk, the right child that begins
where it ends, is known from its last leaf alone, and walks need no stack.

The highest bit in which the codes of two neighboring leaves differ, as one number for each gap (`levels`), determines
which leaves join first. The gaps on both sides of a subtree never have the same level. So the tree is unique, and one
pass from the leaves up builds nodes and bounds together (Apetrei 2014).

References
----------
.. [1] T. Karras, "Maximizing Parallelism in the Construction of BVHs, Octrees, and k-d Trees", HPG 2012.
   10.2312/EGGH/HPG12/033-037
.. [2] C. Apetrei, "Fast and Simple Agglomerative LBVH Construction", CGVC 2014. 10.2312/cgvc.20141206
.. [3] A. Prokopenko, D. Lebrun-Grandié, "Revising Apetrei's bounding volume hierarchy construction algorithm to allow
   stackless traversal", 2024. arXiv 2402.00665
"""

from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import warp as wp

from broadphase.gpu.native import fence, first_unequal_bit, node_access

__all__ = [
    "AXIS_BITS",
    "SAMPLES",
    "SIZE_BITS",
    "Frame",
    "Order",
    "kernel_module",
    "lower_place",
    "sampled_row",
    "tree_kernels",
]

#: Number of boxes in a sample.
SAMPLES = 512
#: Bits of the cells along each axis.
AXIS_BITS = {2: 24, 3: 17}
#: Bits of the class of size in front of them, before one bit for each axis along which a box is thin.
SIZE_BITS = 3

_INDEX_LEVELS = wp.constant(0)
_CODE_LEVELS = wp.constant(64)
_KEY_LEVELS = wp.constant(128)
_UNITS = wp.constant(wp.float64(2.0**40))


def kernel_module(name: str, dim: int, kind: Any) -> Any:
    """Return the module of Warp for kernels of a dimension and a type, which are compiled together."""
    module = wp.get_module(f"broadphase.gpu.{name}_{dim}d_{kind.__name__}")
    # Sums of products must round as written, the same on every device; nothing here has a gradient.
    module.options.update({"enable_backward": False, "fuse_fp": False, "max_unroll": 16})
    return module


@wp.func
def sampled_row(number: int, row_count: int, sample_count: int) -> int:
    """Return a row of the stretch of this number, of as many equal ones as there are samples, drawn by a fixed hash.

    Rows are often in the order of a grid. Rows at even distances would be from a few of its columns.
    """
    begin = int(wp.int64(number) * wp.int64(row_count) / wp.int64(sample_count))
    end = int((wp.int64(number) + wp.int64(1)) * wp.int64(row_count) / wp.int64(sample_count))
    return wp.randi(wp.rand_init(row_count, number), begin, end)


@wp.func
def spread_by_three(value: wp.int64) -> wp.int64:
    """Put two zeros between the lowest 21 bits."""
    x = value & wp.int64(0x1FFFFF)
    x = (x | (x << wp.int64(32))) & wp.int64(0x1F00000000FFFF)
    x = (x | (x << wp.int64(16))) & wp.int64(0x1F0000FF0000FF)
    x = (x | (x << wp.int64(8))) & wp.int64(0x100F00F00F00F00F)
    x = (x | (x << wp.int64(4))) & wp.int64(0x10C30C30C30C30C3)
    return (x | (x << wp.int64(2))) & wp.int64(0x1249249249249249)


@wp.func
def spread_by_two(value: wp.int64) -> wp.int64:
    """Put a zero between the lowest 32 bits."""
    x = value & wp.int64(0xFFFFFFFF)
    x = (x | (x << wp.int64(16))) & wp.int64(0x0000FFFF0000FFFF)
    x = (x | (x << wp.int64(8))) & wp.int64(0x00FF00FF00FF00FF)
    x = (x | (x << wp.int64(4))) & wp.int64(0x0F0F0F0F0F0F0F0F)
    x = (x | (x << wp.int64(2))) & wp.int64(0x3333333333333333)
    return (x | (x << wp.int64(1))) & wp.int64(0x5555555555555555)


@wp.struct
class Frame:
    """Where boxes are: samples of their centers, sorted along each axis, one axis after another.

    `widths` are the sums of the widths of the samples; `bits` is the number of bits of cells along each axis.
    """

    samples: wp.array(dtype=wp.float64)
    widths: wp.array(dtype=wp.int64)
    count: wp.int32
    bits: wp.int32


@wp.struct
class Order:
    """The leaves of a tree in their order. With `is_keyed`, they are sorted by keys first; `ends` is for the build."""

    count: wp.int32
    rows: wp.array(dtype=wp.int32)
    is_keyed: wp.int32
    keys: wp.array(dtype=wp.int64)
    codes: wp.array(dtype=wp.int64)
    levels: wp.array(dtype=wp.uint8)
    ends: wp.array(dtype=wp.int32)
    scene_size: wp.int32


@wp.func
def share_below(value: wp.float64, frame: Frame, axis: int) -> wp.float64:
    """Estimate the share of boxes whose center is below a coordinate, between samples in proportion.

    Beyond the samples, it changes with the distance, so that far boxes differ too, at any scale.
    """
    first = axis * frame.count
    low = int(0)
    high = frame.count
    while low < high:
        middle = (low + high) // 2
        if frame.samples[first + middle] <= value:
            low = middle + 1
        else:
            high = middle
    place = wp.float64(low)
    if low > 0 and low < frame.count:
        before = frame.samples[first + low - 1]
        place += (value - before) / (frame.samples[first + low] - before)
    else:
        least = frame.samples[first]
        most = frame.samples[first + frame.count - 1]
        usual = (wp.float64(0.5) * most - wp.float64(0.5) * least) / wp.float64(frame.count)
        beyond = wp.float64(0.5) * (value - most)
        if low == 0:
            beyond = wp.float64(0.5) * (least - value)
        share = beyond / wp.max(beyond + usual, wp.float64(1e-300))
        if low == 0:
            place = wp.float64(1.0) - share
        else:
            place += share
    return place / wp.float64(frame.count + 1)


@wp.func
def lower_place(order: Order, key: wp.int64, code: wp.int64) -> int:
    """Return the first place, of leaves sorted by key and code, that is not less than a key and a code."""
    low = int(0)
    high = order.count
    while low < high:
        middle = low + (high - low) // 2
        is_before = bool(False)
        if order.is_keyed != 0 and order.keys[middle] != key:
            is_before = order.keys[middle] < key
        else:
            is_before = order.codes[middle] < code
        if is_before:
            low = middle + 1
        else:
            high = middle
    return low


@wp.func
def node_behind(levels: wp.array(dtype=wp.uint8), last: int, inner: int) -> int:
    """Return the node after a subtree in a walk, from its last leaf; or the number of nodes."""
    if last == inner:
        return 2 * inner + 1
    if last + 1 == inner or levels[last] < levels[last + 1]:
        return inner + last + 1
    return last + 1


@lru_cache(maxsize=None)
def tree_kernels(dim: int, kind: Any) -> SimpleNamespace:
    """Return the kernels for boxes of a dimension and a type, float32 or float64."""
    module = kernel_module("tree", dim, kind)
    access = node_access(kind)
    node_type, put = access.type, access.put
    shares_type = wp.types.vector(length=dim, dtype=wp.float64)
    cells_type = wp.types.vector(length=dim, dtype=wp.int64)
    most = kind(3.4028234663852886e38 if kind is wp.float32 else 1.7976931348623157e308)

    @wp.struct
    class Boxes:
        lower: wp.array2d(dtype=kind)
        upper: wp.array2d(dtype=kind)
        count: wp.int32

    @wp.func
    def finite(value: kind) -> wp.float64:
        return wp.float64(wp.clamp(value, -most, most))

    @wp.func
    def middle(boxes: Boxes, row: int, axis: int) -> wp.float64:
        return wp.float64(0.5) * finite(boxes.lower[row, axis]) + wp.float64(0.5) * finite(boxes.upper[row, axis])

    @wp.func
    def place_of(boxes: Boxes, row: int, axis: int, frame: Frame) -> wp.vec2d:
        """Return the lower and the upper end of a box, as shares of the boxes."""
        low = share_below(finite(boxes.lower[row, axis]), frame, axis)
        return wp.vec2d(low, share_below(finite(boxes.upper[row, axis]), frame, axis))

    @wp.func
    def check(boxes: Boxes, row: int, counter: int, counters: wp.array(dtype=wp.int64)):
        """Report an invalid box: the counter becomes at least ``2**31 - row``."""
        is_box = bool(True)
        for axis in range(wp.static(dim)):
            is_box = is_box and boxes.lower[row, axis] <= boxes.upper[row, axis]
        if not is_box:
            wp.atomic_max(counters, counter, wp.int64(0x80000000) - wp.int64(row))

    @wp.func
    def grown(boxes: Boxes, row: int, half_margin: kind) -> node_type:
        """Return a box as a node without links."""
        node = node_type()
        for axis in range(wp.static(dim)):
            node[axis] = boxes.lower[row, axis] - half_margin
            node[axis + 3] = boxes.upper[row, axis] + half_margin
        return node

    @wp.func
    def meets(a: node_type, b: node_type) -> bool:
        is_hit = bool(True)
        for axis in range(wp.static(dim)):
            is_hit = is_hit and a[axis] <= b[axis + 3] and b[axis] <= a[axis + 3]
        return is_hit

    @wp.kernel(module=module, enable_backward=False)
    def frame_of_samples(boxes: Boxes, frame: Frame):
        """Sort the centers of samples along each axis, each by its rank."""
        task = wp.tid()
        axis = task // frame.count
        own = task - axis * frame.count
        value = middle(boxes, sampled_row(own, boxes.count, frame.count), axis)
        rank = int(0)
        for k in range(frame.count):
            that = middle(boxes, sampled_row(k, boxes.count, frame.count), axis)
            if that < value or (that == value and k < own):
                rank += 1
        frame.samples[axis * frame.count + rank] = value
        if own == 0:
            frame.widths[axis] = wp.int64(0)

    @wp.kernel(module=module, enable_backward=False)
    def widths_of_samples(boxes: Boxes, frame: Frame):
        """Add up the widths of the samples along each axis, in shares of the boxes times `_UNITS`."""
        task = wp.tid()
        axis = task // frame.count
        own = task - axis * frame.count
        ends = place_of(boxes, sampled_row(own, boxes.count, frame.count), axis, frame)
        wp.atomic_add(frame.widths, axis, wp.int64((ends[1] - ends[0]) * _UNITS))

    @wp.kernel(module=module, enable_backward=False)
    def codes_of_boxes(
        boxes: Boxes,
        frame: Frame,
        order: Order,
        spacing: wp.float64,
        checked: int,
        codes: wp.array(dtype=wp.int64),
        counters: wp.array(dtype=wp.int64),
    ):
        """Write the code of each box: scene, class of size, thin axes, cell in Z order; and look for invalid boxes.

        Sizes and places are shares of the boxes, so that crowds are divided finely, and empty space is not. Large boxes
        come after small ones, which find them, each in its own walk: a large box would find many in one walk. Sticks
        and plates come apart, by axis, and are first divided along the axes on which they are thin, because nodes of
        crossing sticks would cover everything.

        `spacing` is the usual distance of two boxes along an axis, as a share.
        """
        row = wp.tid()
        if checked != 0:
            check(boxes, row, checked, counters)
        places = shares_type()
        sides = shares_type()
        widest = wp.float64(0.0)
        for axis in range(wp.static(dim)):
            ends = place_of(boxes, row, axis, frame)
            places[axis] = wp.float64(0.5) * (ends[0] + ends[1])
            sides[axis] = wp.max(ends[1] - ends[0], wp.float64(0.5) * spacing)
            widest = wp.max(widest, sides[axis])
        thin = int(0)
        for axis in range(wp.static(dim)):
            if sides[axis] * wp.float64(8.0) < widest:
                thin |= wp.static(1 << axis)
        # Cells have the mean form of the boxes: axes on which boxes are wide are divided later.
        usual = shares_type()
        least = wp.float64(1.0)
        for axis in range(wp.static(dim)):
            usual[axis] = wp.float64(frame.widths[axis]) / (_UNITS * wp.float64(frame.count))
            usual[axis] = wp.max(usual[axis], wp.float64(0.5) * spacing)
            least = wp.min(least, usual[axis])
        largest = (wp.int64(1) << wp.int64(frame.bits)) - wp.int64(1)
        cells = cells_type()
        for axis in range(wp.static(dim)):
            cell = wp.int64(places[axis] * wp.float64(largest + wp.int64(1)))
            cell = wp.clamp(cell, wp.int64(0), largest)
            later = wp.int64(wp.log2(usual[axis] / least) + wp.float64(0.5))
            if thin != 0 and (thin & wp.static(1 << axis)) == 0:
                later = wp.max(later, wp.int64(4))
            cells[axis] = cell >> wp.min(later, wp.int64(frame.bits))
        code = wp.int64(0)
        if wp.static(dim == 2):
            code = spread_by_two(cells[0]) | (spread_by_two(cells[1]) << wp.int64(1))
        else:
            code = spread_by_three(cells[0]) | (spread_by_three(cells[1]) << wp.int64(1))
            code |= spread_by_three(cells[2]) << wp.int64(2)
        # Sizes of a class are up to 4 times those of the one before. Because samples are few, shares of small boxes
        # along two axes are rough, and the first class takes more.
        octaves = wp.float64(0.5) * wp.log2(widest / spacing)
        if wp.static(dim == 2):
            octaves -= wp.float64(1.0)
        size = wp.int64(wp.clamp(octaves, wp.float64(0.0), wp.float64(wp.static(2.0**SIZE_BITS - 1.0))))
        place = (size << wp.int64(wp.static(dim))) | wp.int64(thin)
        if order.scene_size > 0:
            place |= wp.int64(row // order.scene_size) << wp.int64(wp.static(SIZE_BITS + dim))
        codes[row] = code | (place << wp.int64(wp.static(dim) * frame.bits))
        order.rows[row] = row
        order.ends[row] = -1

    @wp.kernel(module=module, enable_backward=False)
    def keys_in_order(
        rows: wp.array(dtype=wp.int32),
        keys: wp.array(dtype=wp.int64),
        step: int,
        sorted_keys: wp.array(dtype=wp.int64),
    ):
        place = wp.tid()
        sorted_keys[place] = keys[rows[place] * step]

    @wp.kernel(module=module, enable_backward=False)
    def levels_of_gaps(order: Order):
        """Write the level of each gap between two leaves, the larger the less they have in common."""
        place = wp.tid()
        keys = order.keys
        codes = order.codes
        level = _INDEX_LEVELS + first_unequal_bit(wp.int64(place), wp.int64(place + 1))
        if codes[place] != codes[place + 1]:
            level = _CODE_LEVELS + first_unequal_bit(codes[place], codes[place + 1])
        if order.is_keyed != 0:
            if keys[place] != keys[place + 1]:
                level = _KEY_LEVELS + first_unequal_bit(keys[place], keys[place + 1])
        order.levels[place] = wp.uint8(level)

    @wp.kernel(module=module, enable_backward=False)
    def nodes_from_leaves(boxes: Boxes, half_margin: kind, order: Order, nodes: wp.array(dtype=node_type)):
        """Write the leaf of each place, and climb: of two children, the one that is ready last writes the parent.

        `ends` is -1 for each gap before and after; meanwhile, it is where the first child begins or ends.
        """
        place = wp.tid()
        levels = order.levels
        row = order.rows[place]
        node = grown(boxes, row, half_margin)
        first = place
        last = place
        inner = order.count - 1
        node[6] = put(row)
        node[7] = put(node_behind(levels, last, inner))
        number = inner + place
        nodes[number] = node
        while first > 0 or last < inner:
            is_right = first > 0 and (last == inner or levels[first - 1] < levels[last])
            gap = last
            told = first
            if is_right:
                gap = first - 1
                told = last
            fence()
            other = wp.atomic_exch(order.ends, gap, told)
            if other < 0:
                break
            fence()
            order.ends[gap] = -1
            sibling = gap
            child = gap
            if is_right:
                first = other
                if other == gap:
                    sibling += inner
                    child += inner
            else:
                last = other
                sibling = gap + 1
                if other == gap + 1:
                    sibling += inner
                if first == gap:
                    child += inner
            that = nodes[sibling]
            for axis in range(wp.static(dim)):
                node[axis] = wp.min(node[axis], that[axis])
                node[axis + 3] = wp.max(node[axis + 3], that[axis + 3])
            number = 0
            if first > 0 or last < inner:
                if first > 0 and (last == inner or levels[first - 1] < levels[last]):
                    number = first
                else:
                    number = last
            node[6] = put(child)
            node[7] = put(node_behind(levels, last, inner))
            nodes[number] = node

    return SimpleNamespace(
        frame=frame_of_samples,
        widths=widths_of_samples,
        codes=codes_of_boxes,
        keys=keys_in_order,
        levels=levels_of_gaps,
        nodes=nodes_from_leaves,
        class_bits=SIZE_BITS + dim,
        boxes_type=Boxes,
        check=check,
        grown=grown,
        meets=meets,
        access=access,
        node_type=node_type,
        module=module,
    )
