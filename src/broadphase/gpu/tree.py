"""A tree over boxes on a device: its arrays, and how they are filled; see `tree_kernels`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broadphase.gpu.arrays import wp
from broadphase.gpu.tree_kernels import AXIS_BITS, SAMPLES, SIZE_BITS, Frame, Order

if TYPE_CHECKING:
    from broadphase.gpu.arrays import Scratch
    from broadphase.gpu.boxes import DeviceBoxes, Keys

__all__ = ["Tree", "build", "frame_of", "refit"]

_MOST_BITS = 62  # of a code, so that the code after the last fits into int64


@dataclass(slots=True)
class Tree:
    """A tree over boxes; see `build`. `order` is what kernels read of its leaves, `code_bits` those below the class."""

    scratch: Scratch
    name: str
    kernels: Any
    count: int
    keys: Keys
    code_bits: int
    rows: Any
    nodes: Any
    order: Any


def axis_bits(dim: int, scene_count: int) -> int:
    """Return the bits of a cell along each axis, behind the bits of so many scenes."""
    left = _MOST_BITS - (SIZE_BITS + dim) - max(scene_count - 1, 0).bit_length()
    return min(AXIS_BITS[dim], left // dim)


def frame_of(boxes: DeviceBoxes, scratch: Scratch, name: str, scene_count: int) -> Any:
    """Return where boxes are, a `tree_kernels.Frame`; trees that are compared share it."""
    kernels = boxes.tree_kernels
    count = min(boxes.count, SAMPLES)
    samples = scratch.array(f"{name}.frame", 3 * SAMPLES, wp.float64)
    widths = scratch.array(f"{name}.widths", 3, wp.int64)
    bits = axis_bits(boxes.dim, scene_count)
    frame = scratch.struct(name, Frame, samples=samples, widths=widths, count=count, bits=bits)
    inputs = [boxes.struct(scratch, name), frame]
    scratch.launch(name, kernels.frame, count * boxes.dim, inputs)
    scratch.launch(name, kernels.widths, count * boxes.dim, inputs)
    return frame


def build(
    boxes: DeviceBoxes,
    half_margin: float,
    keys: Keys,
    scratch: Scratch,
    name: str,
    *,
    counters: Any,
    checked: int,
    frame: Any = None,
) -> Tree:
    """Build a tree over boxes, at least one, grown by `half_margin`, in arrays of `scratch` named from `name` on.

    For an invalid box, ``counters[checked]`` becomes at least ``2**31 - row``; with `checked` 0, boxes are not checked.
    `frame` is that of another tree, with which this one is compared.

    O(n) time except the sort, which has a pass for each byte of codes. 130 bytes a box, 180 in float64.
    """
    kernels, count = boxes.tree_kernels, boxes.count
    if frame is None:
        frame = frame_of(boxes, scratch, name, keys.scene_count)
    is_keyed = keys.rows is not None
    codes = scratch.array(f"{name}.codes", 2 * count, wp.int64)
    rows = scratch.array(f"{name}.order", 2 * count, wp.int32)
    first_codes = scratch.array(f"{name}.codes_of_rows", count, wp.int64) if is_keyed else codes
    sorted_keys = scratch.array(f"{name}.keys", 2 * count, wp.int64) if is_keyed else None
    order = scratch.struct(
        f"{name}.order",
        Order,
        count=count,
        rows=rows,
        is_keyed=int(is_keyed),
        keys=sorted_keys,
        codes=codes,
        levels=scratch.array(f"{name}.levels", count, wp.uint8),
        ends=scratch.array(f"{name}.ends", count, wp.int32),
        scene_size=keys.scene_size,
    )
    inputs = [boxes.struct(scratch, name), frame, order, count ** (-1 / boxes.dim), checked]
    scratch.launch(name, kernels.codes, count, [*inputs, first_codes, counters])
    if is_keyed:
        wp.copy(codes, first_codes, count=count)
    code_bits = axis_bits(boxes.dim, keys.scene_count) * boxes.dim
    all_bits = code_bits + kernels.class_bits + max(keys.scene_count - 1, 0).bit_length()
    wp.utils.radix_sort_pairs(codes, rows, count, 0, min(all_bits, 64))
    if is_keyed:
        scratch.launch(name, kernels.keys, count, [rows, keys.rows, keys.step, sorted_keys])
        wp.utils.radix_sort_pairs(sorted_keys, rows, count)
        scratch.launch(f"{name}.codes", kernels.keys, count, [rows, first_codes, 1, codes])
    if count > 1:
        scratch.launch(name, kernels.levels, count - 1, [order])
    nodes = scratch.array(f"{name}.nodes", 2 * count - 1, kernels.node_type)
    tree = Tree(scratch, name, kernels, count, keys, code_bits, rows, nodes, order)
    refit(tree, boxes, half_margin)
    return tree


def refit(tree: Tree, boxes: DeviceBoxes, half_margin: float) -> None:
    """Write the nodes of a tree again for boxes that have moved, in the old order."""
    inputs = [boxes.struct(tree.scratch, tree.name), half_margin, tree.order, tree.nodes]
    tree.scratch.launch(tree.name, tree.kernels.nodes, tree.count, inputs)
