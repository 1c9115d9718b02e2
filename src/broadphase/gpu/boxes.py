"""Boxes on a device, and the options of `pairs` that filter them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.arguments import is_on_device
from broadphase.batches import batch_of_each
from broadphase.boxes.forms import as_corners, as_rows
from broadphase.errors import InvalidBoxError
from broadphase.gpu.arrays import NUMPY, device_named, opened, place_of, view_of, wp
from broadphase.gpu.loading import load
from broadphase.gpu.pairs_kernels import BY_GROUP, BY_LAYER, BY_SHARED, BY_STATIC, Filter, row_kernels
from broadphase.gpu.tree_kernels import tree_kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.gpu.arrays import Given, Place, Scratch

__all__ = [
    "LEAST", "MOST", "DeviceBoxes", "Keys", "boxes_on", "integers_of", "invalid_box", "is_in_host_memory", "keys_of",
    "of_one_kind", "passing_of", "range_error", "require_floats",
]  # fmt: skip

_FORMS = "boxes are an array of shape (n, 2, d), (n, 2*d) or (E, n, 2, d), or a tuple of two (n, d), d = 2 or 3"
_MOST_BOXES = 2**30 - 1  # a tree has twice as many nodes, numbered by int32
#: How small and how large numbers of `Index` are, but for 0 and infinite boxes. So no sum, product or quotient
#: overflows, and the rounding error of each product is a double; see `index_kernels`.
LEAST, MOST = 1e-130, 1e150
_ALL_BITS = -1
_ON_DEVICES = ("torch", "jax", "jaxlib", "warp")


@dataclass(slots=True)
class DeviceBoxes:
    """Boxes on a device: views of corners, (n, d); the size of batches of one size; and where a search runs."""

    lower: Any
    upper: Any
    size: int | None
    place: Place
    _struct: Any = None

    @property
    def count(self) -> int:
        """Number of boxes."""
        return int(self.lower.shape[0])

    @property
    def dim(self) -> int:
        """Number of axes."""
        return int(self.lower.shape[1])

    @property
    def dtype(self) -> Any:
        """Type of Warp of the corners."""
        return self.lower.dtype

    @property
    def device(self) -> Any:
        """The device of Warp."""
        return self.place.device

    @property
    def tree_kernels(self) -> Any:
        """The kernels of trees of such boxes."""
        return tree_kernels(self.dim, self.dtype)

    def struct(self, scratch: Scratch, name: str) -> Any:
        """Return the boxes as kernels read them, in memory kept by the first `name` given."""
        if self._struct is None:
            kind = self.tree_kernels.boxes_type
            self._struct = scratch.struct(name, kind, lower=self.lower, upper=self.upper, count=self.count)
        return self._struct

    def of_axes(self, dim: int) -> DeviceBoxes:
        """Return the boxes; an empty set gets `dim` axes."""
        if self.count:
            return self
        nothing = wp.empty((0, dim), dtype=self.dtype, device=self.device)
        return DeviceBoxes(nothing, nothing, self.size, self.place)

    def as_double(self) -> DeviceBoxes:
        """Return the boxes in float64, exactly."""
        if self.dtype == wp.float64:
            return self
        with self.place.current():
            made = [wp.empty(self.lower.shape, dtype=wp.float64, device=self.device) for _ in range(2)]
            if self.count:
                wp.utils.array_cast(self.lower, made[0])
                wp.utils.array_cast(self.upper, made[1])
        return DeviceBoxes(made[0], made[1], self.size, self.place)


@dataclass(slots=True)
class Keys:
    """The batches of boxes: scenes of one size one after another, a key for each row, or nothing.

    With a `step` of 0, `rows` has one key for all.
    """

    scene_count: int = 0
    scene_size: int = 0
    rows: Any = None
    step: int = 1


def boxes_on(boxes: Any, name: str, device: Any = None, *, empty_dim: int = 2) -> DeviceBoxes:
    """Return boxes in any form of `pairs` on a device: by default where they are, else on the current CUDA device.

    `empty_dim` is the number of axes of an empty list.
    """
    wanted = None if device is None else device_named(device)
    first = boxes[0] if isinstance(boxes, tuple) and len(boxes) == 2 else boxes
    if is_in_host_memory(first):
        wanted = device_named(device) if wanted is None else wanted
        rows, size = as_rows(boxes, name)
        lower, upper = as_corners(rows, name=name, empty_dim=empty_dim)
        _require_axes(lower.shape[1], name)
        both = opened(np.stack([lower, upper], axis=1), name, wanted)
        return DeviceBoxes(*_halves(both.array, 1), size, place_of(both))
    if isinstance(boxes, tuple) and len(boxes) == 2:
        given = [
            opened(corner, f"{name}, {side}", wanted) for corner, side in zip(boxes, ("lower", "upper"), strict=True)
        ]
        low, high = (one.array for one in given)
        if low.device != high.device:
            raise ValueError(f"{name} has corners on {low.device.alias} and {high.device.alias}")
        if low.shape != high.shape or low.ndim not in (2, 3):
            raise ValueError(f"{name} has corners of shape {low.shape} and {high.shape}; {_FORMS}")
        _require_axes(low.shape[-1], name)
        require_floats(low, f"{name}, lower")
        require_floats(high, f"{name}, upper")
        if low.dtype != high.dtype:
            raise TypeError(f"{name} has corners of two dtypes; convert one, so that no number is rounded by mistake")
        size = int(low.shape[1]) if low.ndim == 3 else None
        place = place_of(given[0])
        return _checked(DeviceBoxes(_as_table(low, place), _as_table(high, place), size, place), name)
    one = opened(boxes, name, wanted)
    array = one.array
    shape = tuple(array.shape)
    if shape == (0,):
        array, shape = wp.empty((0, 2, empty_dim), dtype=array.dtype, device=array.device), (0, 2, empty_dim)
    is_flat = len(shape) == 2 and shape[1] in (2, 4, 6, 8)
    if not is_flat and not (len(shape) in (3, 4) and shape[-2] == 2):
        raise ValueError(f"{name} has shape {shape}; {_FORMS}")
    _require_axes(shape[1] // 2 if is_flat else shape[-1], name)
    require_floats(array, name)
    size = int(shape[1]) if len(shape) == 4 else None
    lower, upper = _halves(array, 1 if is_flat else array.ndim - 2)
    place = place_of(one)
    return _checked(DeviceBoxes(_as_table(lower, place), _as_table(upper, place), size, place), name)


def is_in_host_memory(values: Any) -> bool:
    """Return whether NumPy reads an array: it is not on a device, nor of torch, JAX or Warp."""
    return not is_on_device(values) and type(values).__module__.partition(".")[0] not in _ON_DEVICES


def _checked(boxes: DeviceBoxes, name: str) -> DeviceBoxes:
    if boxes.count > _MOST_BOXES:
        raise ValueError(f"{name}: at most {_MOST_BOXES} boxes a set on a device; divide them, or use broadphase.scale")
    return boxes


def _require_axes(dim: int, name: str) -> None:
    if dim not in (2, 3):
        raise ValueError(f"{name}: boxes on a device have 2 or 3 axes, not {dim}; search these in host memory")


def require_floats(array: Any, name: str) -> None:
    """Raise TypeError for an array that is neither float32 nor float64."""
    if array.dtype not in (wp.float32, wp.float64):
        kind = getattr(array.dtype, "__name__", array.dtype)
        raise TypeError(f"{name} has dtype {kind}; on a device, it must be float32 or float64: convert it there")


def of_one_kind(own: DeviceBoxes, second: DeviceBoxes, what: str) -> tuple[DeviceBoxes, DeviceBoxes]:
    """Check that two sets are of one library and one dimension; `what` names the first in errors."""
    if second.place.library is not own.place.library:
        raise TypeError(
            f"{what} are of {own.place.library.name} and other of {second.place.library.name}; give both of one library"
        )
    if own.dim == second.dim:
        return own, second
    if own.count and second.count:
        raise ValueError(f"{what} have {own.dim} dimensions and other has {second.dim}")
    dim = own.dim if own.count else second.dim if second.count else max(own.dim, second.dim)
    return own.of_axes(dim), second.of_axes(dim)


def _halves(array: Any, axis: int) -> tuple[Any, Any]:
    """Return lower and upper corners, the halves of an array along an axis; an axis of length 2 is removed."""
    shape, strides = tuple(array.shape), tuple(array.strides)
    half = shape[axis] // 2
    if axis == array.ndim - 1:
        rest = (*shape[:axis], half), strides
    else:
        rest = (*shape[:axis], *shape[axis + 1 :]), (*strides[:axis], *strides[axis + 1 :])
    return view_of(array, 0, *rest), view_of(array, half * strides[axis], *rest)


def _as_table(corners: Any, place: Place) -> Any:
    """Return the corners of scenes one after another, shape (E * n, d)."""
    if corners.ndim == 2:
        return corners
    scenes, size, dim = corners.shape
    of_scene, of_row, of_axis = corners.strides
    if of_scene != size * of_row and scenes > 1:
        with place.current():
            corners = corners.contiguous()
        of_scene, of_row, of_axis = corners.strides
    return view_of(corners, 0, (scenes * size, dim), (of_row, of_axis))


def invalid_box(boxes: DeviceBoxes, name: str, row: int) -> InvalidBoxError:
    """Return the error for an invalid box; its row is copied to the host."""
    from broadphase.boxes.forms import describe_invalid

    lower, upper = (side[row : row + 1].numpy() for side in (boxes.lower, boxes.upper))
    error = range_error(np.stack([lower, upper], axis=1), name, row) if (lower <= upper).all() else None
    text = describe_invalid(lower, upper, 0).removeprefix("row 0")
    return error or InvalidBoxError(f"{name}: row {row}{text}", row=row)


def range_error(values: NDArray[Any], name: str, first_row: int = 0) -> InvalidBoxError | None:
    """Return the error for the first finite number that an index does not take, of points (n, d) or boxes (n, 2, d)."""
    if values.dtype != np.float64:  # a float32 is always in the range
        return None
    sizes = np.abs(values)
    bad = np.argwhere(np.isfinite(sizes) & (sizes != 0) & ((sizes < LEAST) | (sizes > MOST)))
    if not len(bad):
        return None
    row, axis = first_row + int(bad[0, 0]), int(bad[0, -1])
    return InvalidBoxError(
        f"{name}: row {row} has {values[tuple(bad[0])]}, axis {axis}; an index on a device takes 0 and numbers from"
        f" {LEAST} to {MOST} in size: use other units, or an index in host memory",
        row,
    )


# Options --------------------------------------------------------------------------------------------------------------


def keys_of(
    batch: Any, sets: tuple[DeviceBoxes, ...], scratch: Scratch, *, what: str = "boxes", shape: str = "(E, n, 2, d)"
) -> tuple[Keys, ...]:
    """Return the keys of one set or two, from ``batch=`` or the shape of their arrays; `what` names the first."""
    sizes = [one.size for one in sets]
    if batch is None and all(size is None for size in sizes):
        return tuple(Keys() for _ in sets)
    given = batch_of_each(batch, [one.count for one in sets], sizes, what, shape)
    if None not in sizes:
        return tuple(Keys(one.count // max(one.size or 0, 1), one.size or 0) for one in sets)
    found = []
    for one, (name, value) in zip(sets, given, strict=True):
        if one.size is not None:
            rows, step = _scene_numbers(one, scratch, f"{name}.scenes"), 1
        else:
            rows, step = _attribute(value, name, one, scratch, 0, wp.int64)
        found.append(Keys(rows=rows, step=step))
    if len(sets) == 1 and found[0].step == 0:
        return (Keys(),)
    return tuple(found)


def _scene_numbers(boxes: DeviceBoxes, scratch: Scratch, name: str) -> Any:
    kernels = row_kernels()
    load(boxes.device, kernels.module)
    rows = scratch.array(name, boxes.count, wp.int64)
    if boxes.count:
        scratch.launch(name, kernels.number_scenes, boxes.count, [boxes.size, rows])
    return rows


def passing_of(
    sets: tuple[DeviceBoxes, ...],
    scratch: Scratch,
    *,
    touching: bool,
    layer: Any = None,
    mask: Any = None,
    group: Any = None,
    static: Any = None,
    ignore_shared: Any = None,
) -> tuple[Any, Any]:
    """Return the filters of kernels for options of `broadphase.pairs`: one value each, or tuples for two sets."""
    parts = 0
    fields: tuple[dict[str, Any], ...] = tuple({"touching": int(touching)} for _ in sets)
    by_layer = layer is not None or mask is not None
    for name, value, is_given, part, default, kind in (
        ("layer", layer, by_layer, BY_LAYER, _ALL_BITS, wp.int64),
        ("mask", mask, by_layer, BY_LAYER, _ALL_BITS, wp.int64),
        ("group", group, group is not None, BY_GROUP, 0, wp.int64),
        ("static", static, static is not None, BY_STATIC, 0, wp.uint8),
    ):
        if is_given:
            parts |= part
            for k, (own, one) in enumerate(zip(fields, _each(name, value, sets), strict=True)):
                own[f"{name}s"], own[f"{name}_step"] = _attribute(one, _named(name, k), sets[k], scratch, default, kind)
    shared = _each("ignore_shared", ignore_shared, sets)
    if all(one is not None for one in shared):
        parts |= BY_SHARED
        for k, (own, one) in enumerate(zip(fields, shared, strict=True)):
            own["shared"] = _parts_of(one, _named("ignore_shared", k), sets[k], scratch)
    made = [scratch.struct(f"passing{k}", Filter, parts=parts, **own) for k, own in enumerate(fields)]
    return made[0], made[-1]


def _named(name: str, k: int) -> str:
    return f"{name}[1]" if k else name


def _each(name: str, value: Any, sets: tuple[DeviceBoxes, ...]) -> tuple[Any, ...]:
    """Return an option for each set."""
    if len(sets) == 1 or value is None or isinstance(value, int | np.integer | bool):
        return (value,) * len(sets)
    if not isinstance(value, tuple) or len(value) != 2:
        raise ValueError(f"{name}: for two sets of boxes, give a tuple (for the first, for the second)")
    return value


def _given(value: Any, name: str, boxes: DeviceBoxes) -> Given:
    """Return an option as an array on the device of the boxes; from host memory only if they are from there."""
    if is_in_host_memory(value) and boxes.place.library is not NUMPY:
        raise TypeError(
            f"{name} is a {type(value).__name__} in host memory, and the search is on {boxes.device.alias}:"
            f" copy {name} there"
        )
    return opened(value, name, boxes.device)


def _attribute(value: Any, name: str, boxes: DeviceBoxes, scratch: Scratch, default: int, kind: Any) -> tuple[Any, int]:
    """Return one 64-bit integer (static: one byte) for each box, or one for all; and the step, 1 or 0."""
    if value is None:
        value = default
    if isinstance(value, int | np.integer | bool | np.bool_):
        number = int(value)
        if kind == wp.uint8 and number not in (0, 1):
            raise TypeError(f"{name} must be bool, not {number}")
        if not -(2**63) <= number < 2**64:
            raise TypeError(f"{name} must hold integers of 64 bits")
        one = scratch.array(f"{name}.one", 1, kind)
        one.fill_(number - 2**64 if number >= 2**63 else number)
        return one, 0
    array = _given(value, name, boxes).array
    if array.ndim != 1 or array.shape[0] != boxes.count:
        raise ValueError(f"{name} has shape {tuple(array.shape)}; one per box is needed: ({boxes.count},)")
    return integers_of(array, name, scratch, kind), 1


def _parts_of(value: Any, name: str, boxes: DeviceBoxes, scratch: Scratch) -> Any:
    array = _given(value, name, boxes).array
    if array.ndim not in (1, 2) or array.shape[0] != boxes.count:
        wanted = f"({boxes.count}, k) or ({boxes.count},)"
        raise ValueError(f"{name} has shape {tuple(array.shape)}; one per box is needed: {wanted}")
    array = integers_of(array, name, scratch, wp.int64)
    return array if array.ndim == 2 else view_of(array, 0, (*array.shape, 1), (*array.strides, 8))


def integers_of(array: Any, name: str, scratch: Scratch, kind: Any) -> Any:
    """Return whole numbers as 64-bit integers, or Booleans as bytes; converted in working memory."""
    if kind == wp.uint8:
        if array.dtype not in (wp.bool, wp.uint8):
            raise TypeError(f"{name} must be bool, not {array.dtype.__name__}")
        return array if array.dtype == wp.uint8 else array.view(wp.uint8)
    whole = (wp.int8, wp.int16, wp.int32, wp.int64, wp.uint8, wp.uint16, wp.uint32, wp.uint64, wp.bool)
    if array.dtype not in whole:
        if array.size:
            raise TypeError(f"{name} must be integer, not {array.dtype.__name__}")
        return wp.empty(array.shape, dtype=kind, device=array.device)

    if array.dtype == kind:
        return array
    if array.dtype == wp.uint64:
        return array.view(wp.int64)
    shape = tuple(array.shape)
    made = scratch.array(f"{name}.integers", int(np.prod(shape)), kind)
    made = view_of(made, 0, shape, tuple(8 * int(np.prod(shape[k + 1 :])) for k in range(len(shape))))
    wp.utils.array_cast(array, made)
    return made
