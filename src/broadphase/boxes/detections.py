"""Boxes of detectors: read by the name of their form, checked, and brought into one of two.

Boxes with sides along the axes become corners. Those with an angle stay rows of numbers: center, sizes, angle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from broadphase.boxes.checking import first_bad_row
from broadphase.boxes.forms import as_boxes
from broadphase.boxes.numbers import as_numbers
from broadphase.errors import InvalidBoxError, unknown_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.boxes.forms import Boxes

__all__ = ["FORMS", "FormName", "as_detections", "is_rotated", "require_without_degrees"]

#: What ``form=`` takes.
FormName: TypeAlias = Literal["xyxy", "xywh", "cxcywh", "cxcywhr", "xyzlwhr"]

FORMS = ("xyxy", "xywh", "cxcywh", "cxcywhr", "xyzlwhr")

# The columns of the forms with an angle: where the center and the sizes end, then the angle.
_ROTATED = {
    "cxcywhr": ("x", "y", "width", "height", "angle"),
    "xyzlwhr": ("x", "y", "z", "length", "width", "height", "yaw"),
}
_PLANE = {"xywh": ("x", "y", "width", "height"), "cxcywh": ("center x", "center y", "width", "height")}
_MOST = np.float64(1e300)  # sums and differences of such numbers are finite


def is_rotated(form: str) -> bool:
    """Return whether boxes of this form have an angle."""
    return form in _ROTATED


def require_without_degrees(is_in_degrees: bool) -> None:
    """Raise ValueError for ``degrees=True`` beside a form without an angle."""
    if is_in_degrees:
        raise ValueError(f"degrees=True needs a form with an angle, one of {', '.join(filter(is_rotated, FORMS))}")


def as_detections(
    boxes: Any, form: FormName, name: str, dtype: type[np.float64] | None = None, empty_dim: int = 2
) -> NDArray[Any]:
    """Return corners (n, 2, d), or for forms with an angle checked rows (n, 5) or (n, 7) in float64; contiguous.

    Corners are of `dtype`, by default that of the boxes, as ``torchvision.ops.box_convert`` does; those of ``"xyxy"``
    are not checked. Wrong numbers raise InvalidBoxError with the row, an unknown form or a wrong shape ValueError.

    >>> as_detections([[5, 5, 4, 2]], "cxcywh", "boxes")
    array([[[3., 4.], [7., 6.]]])
    """
    if not isinstance(form, str) or form not in FORMS:
        raise ValueError(unknown_name("form", form, FORMS))
    if form == "xyxy":
        given: Boxes = boxes
        return np.ascontiguousarray(as_boxes(given, name=name, empty_dim=empty_dim), dtype)
    numbers = as_numbers(boxes, name=name)
    rotated = _ROTATED.get(form)
    if numbers.shape == (0,):
        numbers = numbers.reshape(0, 2 * empty_dim if rotated is None else len(rotated))
    columns = numbers.shape[1] if numbers.ndim == 2 else 0
    if rotated is not None:
        if columns != len(rotated):
            raise ValueError(f"{name} must have shape (n, {len(rotated)}) for form={form!r}, not {numbers.shape}")
        numbers = np.array(numbers, np.float64, order="C")  # of one's own, as they are checked
        _require_numbers(numbers, len(rotated) // 2, rotated, name)
        return numbers
    if columns not in (2, 4, 6, 8):
        raise ValueError(f"{name} must have shape (n, 2*d), d = 1 to 4, for form={form!r}, not {numbers.shape}")
    dim = columns // 2
    of_row = [f"{part}[{axis}]" for part in ("position", "size") for axis in range(dim)]
    _require_numbers(numbers, dim, _PLANE[form] if dim == 2 else of_row, name)
    place, size = (np.asarray(part, dtype or numbers.dtype) for part in (numbers[:, :dim], numbers[:, dim:]))
    with np.errstate(over="ignore"):  # an infinite corner, which is refused as such
        if form == "xywh":
            return np.stack([place, place + size], axis=1)
        half = size / 2
        return np.stack([place - half, place + half], axis=1)


def _require_numbers(numbers: NDArray[Any], dim: int, columns: Any, name: str) -> None:
    """Raise InvalidBoxError unless all numbers are finite, and the sizes, which are `dim` columns, not negative."""
    sizes = slice(dim, 2 * dim)
    if not numbers.size or (np.abs(numbers).max() <= _MOST and numbers[:, sizes].min() >= 0):
        return
    wrong = ~(np.abs(numbers) <= _MOST)
    wrong[:, sizes] |= numbers[:, sizes] < 0
    row = first_bad_row(wrong)
    if row is None:
        return
    column = int(np.argmax(wrong[row]))
    value = float(numbers[row, column])
    what = "is NaN" if np.isnan(value) else "is infinite" if np.isinf(value) else f"is beyond {_MOST:g} ({value})"
    if -_MOST <= value < 0:
        what = f"is negative ({value})"
    raise InvalidBoxError(f"{name}: row {row}: {columns[column]} {what}", row)
