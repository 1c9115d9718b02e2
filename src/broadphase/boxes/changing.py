"""Change boxes: sweep them along their motion, grow them, merge them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.boxes.checking import as_radius, require_boxes
from broadphase.boxes.forms import as_boxes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from broadphase.boxes.forms import Boxes

__all__ = ["grow", "merge", "swept"]


def swept(before: Boxes, after: Boxes) -> NDArray[Any]:
    """Make the boxes of motion: each covers its box before the step, after it, and on the straight way between.

    Two moving boxes that meet at any time during the step have swept boxes that overlap.

    Parameters
    ----------
    before, after : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d)
        The boxes at the two ends of the step, row by row.

    Returns
    -------
    boxes : ndarray, shape (n, 2, d), float32 or float64
        Exact.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError
        NaN or lower > upper in either; names the first bad row. Different or wrong shapes, wrong dtype.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.boxes.swept([[0, 0, 1, 1]], [[5, 0, 6, 1]])
    array([[[0., 0.], [6., 1.]]])
    """
    first, last = as_boxes(before, name="before"), as_boxes(after, name="after")
    if first.shape != last.shape:
        raise ValueError(
            f"before has {len(first)} boxes of {first.shape[2]} axes, after has {len(last)} of {last.shape[2]}"
        )
    require_boxes(first, "before")
    require_boxes(last, "after")
    boxes = np.empty(first.shape, np.result_type(first, last))
    np.minimum(first[:, 0], last[:, 0], out=boxes[:, 0])
    np.maximum(first[:, 1], last[:, 1], out=boxes[:, 1])
    return boxes


def grow(boxes: Boxes, margin: ArrayLike) -> NDArray[Any]:
    """Grow boxes by half of `margin` on every side.

    So two boxes closer together than the margin along every axis overlap once both are grown, as with
    ``pairs(boxes, margin=margin)``. To add r on every side, pass ``2 * r``.

    Parameters
    ----------
    boxes : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d)
        The boxes.
    margin : array_like, shape (n,) or one number
        Added width of each box; finite, at least 0.

    Returns
    -------
    boxes : ndarray, shape (n, 2, d), of the boxes' dtype
        ``lower - margin / 2`` and ``upper + margin / 2``, each rounded to nearest, as in `pairs`.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError
        As `swept`; a negative or infinite margin, with its row.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.boxes.grow([[0, 0, 1, 1]], 2)
    array([[[-1., -1.], [ 2.,  2.]]])
    """
    old = require_boxes(as_boxes(boxes), "boxes")
    half = as_radius(margin, old[:, 0], "margin", round_up=False) / 2
    new = np.empty_like(old, order="C")
    with np.errstate(over="ignore"):  # a corner beyond the largest number is infinite, which is a legal corner
        np.subtract(old[:, 0], half, out=new[:, 0])
        np.add(old[:, 1], half, out=new[:, 1])
    return new


def merge(boxes: Boxes) -> NDArray[Any]:
    """Make the one box around all boxes.

    Parameters
    ----------
    boxes : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d)
        At least one box.

    Returns
    -------
    box : ndarray, shape (2, d), of the boxes' dtype
        Its lower and its upper corner. Exact.

    Raises
    ------
    InvalidBoxError, ValueError, TypeError
        As `swept`; no boxes.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.boxes.merge([[0, 0, 1, 1], [3, 4, 5, 9]])
    array([[0., 0.], [5., 9.]])
    """
    many = require_boxes(as_boxes(boxes), "boxes")
    if not len(many):
        raise ValueError("cannot merge zero boxes")
    return np.stack((many[:, 0].min(axis=0), many[:, 1].max(axis=0)))
