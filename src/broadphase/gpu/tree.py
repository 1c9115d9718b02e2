"""A tree over boxes on a device: its arrays, and how they are filled; see `tree_kernels`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broadphase.gpu.arrays import wp
from broadphase.gpu.tree_kernels import AXIS_BITS, SAMPLES, SIZE_BITS

if TYPE_CHECKING:
    from broadphase.gpu.arrays import Scratch
    from broadphase.gpu.boxes import DeviceBoxes, Keys

__all__ = ["Frame", "Tree", "build", "frame_of", "refit"]

_MOST_BITS = 62  # of a code, so that the code after the last fits into int64


@dataclass(slots=True)
class Tree:
    """A tree over boxes; see `build`. Arrays may be longer than needed."""

    scratch: Scratch
    name: str
    kernels: Any
    dim: int
    count: int
    keys: Keys
    frame: Frame
    order: Any
    codes: Any
    sorted_keys: Any
    levels: Any
    ends: Any
    nodes: Any

    @property
    def is_keyed(self) -> int:
        """1 if rows have keys, otherwise 0."""
        return int(self.keys.rows is not None)

    @property
    def code_bits(self) -> int:
        """Bits of a code below the class of size."""
        return self.frame.bits * self.dim


def axis_bits(dim: int, scene_count: int) -> int:
    """Return the bits of a cell along each axis, behind the bits of so many scenes."""
    left = _MOST_BITS - (SIZE_BITS + dim) - max(scene_count - 1, 0).bit_length()
    return min(AXIS_BITS[dim], left // dim)


@dataclass(slots=True)
class Frame:
    """Where the boxes are: samples of their centers, sorted along each axis. Trees that are compared share a frame.

    `samples` has `count` centers of each axis, one axis after another; `widths` the sums of the widths of the samples;
    `bits` is the number of bits of cells along each axis.
    """

    samples: Any
    widths: Any
    count: int
    bits: int


def frame_of(boxes: DeviceBoxes, scratch: Scratch, name: str, scene_count: int) -> Frame:
    """Return the frame of boxes."""
    kernels = boxes.tree_kernels
    count = min(boxes.count, SAMPLES)
    samples = scratch.array(f"{name}.frame", 3 * SAMPLES, wp.float64)
    widths = scratch.array(f"{name}.widths", 3, wp.int64)
    inputs = [boxes.lower, boxes.upper, boxes.count, count, samples, widths]
    scratch.launch(name, kernels.frame, count * boxes.dim, inputs)
    scratch.launch(name, kernels.widths, count * boxes.dim, inputs)
    return Frame(samples, widths, count, axis_bits(boxes.dim, scene_count))


def build(
    boxes: DeviceBoxes,
    half_margin: float,
    keys: Keys,
    scratch: Scratch,
    name: str,
    *,
    counters: Any,
    checked: int,
    frame: Frame | None = None,
) -> Tree:
    """Build a tree over boxes, at least one, grown by `half_margin`, in arrays of `scratch` named from `name` on.

    For an invalid box, ``counters[checked]`` becomes at least ``2**31 - row``; with `checked` 0, boxes are not checked.
    `frame` is that of another tree, with which this one is compared.

    O(n) time except the sort, which has a pass for each byte of codes. 130 bytes a box, 180 in float64.
    """
    kernels, count = boxes.tree_kernels, boxes.count
    if frame is None:
        frame = frame_of(boxes, scratch, name, keys.scene_count)
    codes = scratch.array(f"{name}.codes", 2 * count, wp.int64)
    order = scratch.array(f"{name}.order", 2 * count, wp.int32)
    ends = scratch.array(f"{name}.ends", count, wp.int32)
    is_keyed = int(keys.rows is not None)
    first_codes = scratch.array(f"{name}.codes_of_rows", count, wp.int64) if is_keyed else codes
    sorted_keys = scratch.array(f"{name}.keys", 2 * count, wp.int64) if is_keyed else None
    spacing = count ** (-1 / boxes.dim)
    inputs = [boxes.lower, boxes.upper, spacing, frame.samples, frame.widths, frame.count]
    inputs += [frame.bits, keys.scene_size, checked]
    scratch.launch(name, kernels.codes, count, [*inputs, first_codes, order, ends, counters])
    if is_keyed:
        wp.copy(codes, first_codes, count=count)
    code_bits = frame.bits * boxes.dim + kernels.class_bits + max(keys.scene_count - 1, 0).bit_length()
    wp.utils.radix_sort_pairs(codes, order, count, 0, min(code_bits, 64))
    if is_keyed:
        scratch.launch(name, kernels.keys, count, [order, keys.rows, keys.step, sorted_keys])
        wp.utils.radix_sort_pairs(sorted_keys, order, count)
        scratch.launch(f"{name}.codes", kernels.keys, count, [order, first_codes, 1, codes])
    levels = scratch.array(f"{name}.levels", count, wp.uint8)
    if count > 1:
        scratch.launch(name, kernels.levels, count - 1, [sorted_keys, is_keyed, codes, levels])
    nodes = scratch.array(f"{name}.nodes", 2 * count - 1, kernels.node_type)
    tree = Tree(scratch, name, kernels, boxes.dim, count, keys, frame, order, codes, sorted_keys, levels, ends, nodes)
    refit(tree, boxes, half_margin)
    return tree


def refit(tree: Tree, boxes: DeviceBoxes, half_margin: float) -> None:
    """Write the nodes of a tree again for boxes that have moved, in the old order."""
    inputs = [boxes.lower, boxes.upper, half_margin, tree.order, tree.levels, tree.count, tree.ends]
    tree.scratch.launch(tree.name, tree.kernels.nodes, tree.count, [*inputs, tree.nodes])
