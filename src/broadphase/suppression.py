"""Non-maximum suppression: of boxes that overlap too much, keep the one with the best score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.arguments import as_array, as_real
from broadphase.boxes.checking import as_integers, first_bad_row, require_boxes, require_finite
from broadphase.boxes.forms import Boxes, as_boxes
from broadphase.errors import InvalidBoxError, TooManyPairsError, unknown_name
from broadphase.filters import as_attribute
from broadphase.pairs import pairs
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["RatioName", "iou", "nms"]

#: What ``metric=`` takes.
RatioName: TypeAlias = Literal["iou", "ios"]

_MANY = 1500  # boxes
_FEW_PAIRS = 16  # a box
_RATIOS = {"iou": _native.RatioTo.union, "ios": _native.RatioTo.smaller}


def nms(
    boxes: Boxes,
    scores: ArrayLike,
    threshold: float,
    *,
    metric: RatioName = "iou",
    batch: ArrayLike | None = None,
    workers: int = 1,
) -> NDArray[np.int32]:
    """Keep the best of boxes that overlap: greedy non-maximum suppression.

    Boxes are taken by descending score, equal ones by ascending row. Each is kept unless it overlaps a box that was
    kept before it by more than `threshold`.

    Parameters
    ----------
    boxes : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d)
        Lower and upper corners, finite, any one length unit, d = 1 to 4.
    scores : array_like of real numbers, shape (n,)
        How good each box is. Infinite scores are allowed.
    threshold : float
        From 0 to 1. A box with exactly this ratio is kept.
    metric : {"iou", "ios"}
        The ratio of two boxes: the volume that they share (area in 2D, length in 1D) over that of their union, or over
        that of the smaller one, which finds parts of an object inside the whole. A box of zero volume overlaps none.
    batch : array_like of int, shape (n,), or int, optional
        Any int64. Only boxes with the same number suppress each other: images of a batch, or classes of objects.
    workers : int
        Threads to use; -1 for one per core. Does not change the result.

    Returns
    -------
    rows : ndarray, shape (m,), int32
        The rows that were kept, by descending score.

    Raises
    ------
    ValueError
        Wrong shape, a threshold or metric that is not allowed, or NaN among the scores, with its row;
        InvalidBoxError for a box with NaN, an infinite corner or lower > upper, with its row.
    TypeError
        Boxes or scores that are not real numbers, `batch` that is not integers.

    See Also
    --------
    iou : The ratios of single pairs.
    pairs : All pairs that overlap.

    Notes
    -----
    Ratios of float32 boxes are computed in float32, as detectors and ``torchvision.ops.nms`` do, with the same result;
    of all others in float64: products of the sides axis by axis. A box is compared with those that are kept and near it
    in place and size: O(n) time but for the sorting of the scores, unless many boxes that are kept lie on one spot.
    O(n) memory. The rule is that of A. Neubeck and L. Van Gool, Efficient Non-Maximum Suppression, ICPR 2006.

    Examples
    --------
    >>> import broadphase as bp
    >>> boxes = [[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]]
    >>> bp.nms(boxes, [0.8, 0.9, 0.7], threshold=0.5)
    array([1, 2], dtype=int32)
    """
    limit = as_real(threshold, "threshold")
    if not 0 <= limit <= 1:
        raise ValueError(f"threshold must be from 0 to 1, not {limit}")
    if not isinstance(metric, str) or metric not in _RATIOS:
        raise ValueError(unknown_name("metric", metric, _RATIOS))
    corners = np.ascontiguousarray(as_boxes(boxes))
    count = len(corners)
    ranked = _as_ranked(_as_scores(scores, count))
    keys = None if batch is None else as_attribute("batch", batch, count, np.int64)
    rivals = _few_pairs(corners, keys, workers) if count >= _MANY else None
    found: Any = _native.nms(corners, ranked, keys, rivals, limit, _RATIOS[metric], worker_count(workers))
    if found is None:
        _require_volumes(corners, "boxes")
        raise ValueError(f"scores: row {first_bad_row(np.isnan(ranked))} is NaN")
    kept: NDArray[np.int32] = found
    return kept


def _few_pairs(corners: NDArray[Any], keys: NDArray[np.int64] | None, workers: int) -> NDArray[np.int32] | None:
    """Find the pairs that overlap, where they are so few that this is the shortest way."""
    if not _native.few_overlap(corners, _FEW_PAIRS):
        return None
    try:
        return pairs(corners, batch=keys, touching=False, workers=workers, max_pairs=_FEW_PAIRS * len(corners))
    except (TooManyPairsError, InvalidBoxError):  # `nms` says what is wrong
        return None


def iou(boxes: Boxes, other: Boxes | None = None, pairs: ArrayLike | None = None) -> NDArray[np.float64]:
    """Return the intersection over union of pairs of boxes.

    Parameters
    ----------
    boxes, other : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d)
        Lower and upper corners, finite, any one length unit, d = 1 to 4.
    pairs : array_like of int, shape (m, 2), optional
        Rows of `boxes` and of `other`; without `other`, both of `boxes`. Default: each box of `boxes` with the box of
        `other` in the same row.

    Returns
    -------
    ratios : ndarray, shape (m,), float64
        From 0 to 1: the volume that the boxes of a pair share (area in 2D, length in 1D) over that of their union. 0
        for boxes that only touch, and for boxes of zero volume.

    Raises
    ------
    ValueError
        Wrong shape, different numbers of axes or rows, or a pair with a row that is not there; InvalidBoxError for a
        box with NaN, an infinite corner or lower > upper, with its row.
    TypeError
        Boxes that are not real numbers, pairs that are not integers; or neither `other` nor `pairs`.

    Notes
    -----
    O(n + m) time. float64, whatever the dtype of the boxes: products of the sides axis by axis, without overflow.

    Examples
    --------
    >>> import broadphase as bp
    >>> boxes = [[0, 0, 2, 2], [1, 0, 3, 2], [1, 1, 3, 3]]
    >>> bp.iou(boxes, pairs=bp.pairs(boxes, sort=True)).round(3)
    array([0.333, 0.143, 0.333])
    """
    first = as_boxes(boxes)
    second = first if other is None else as_boxes(other, name="other", empty_dim=first.shape[2])
    if second.shape[2] != first.shape[2]:
        raise ValueError(f"boxes have {first.shape[2]} dimensions and other has {second.shape[2]}")
    _require_volumes(first, "boxes")
    if other is not None:
        _require_volumes(second, "other")
    if pairs is not None:
        rows = _as_row_pairs(pairs, len(first), len(second))
    elif other is None:
        raise TypeError("iou needs other= or pairs=")
    elif len(first) != len(second):
        raise ValueError(f"boxes has {len(first)} rows and other has {len(second)}: name the pairs by pairs=")
    else:
        rows = np.repeat(np.arange(len(first), dtype=np.int32)[:, np.newaxis], 2, axis=1)
    left, right = np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1])
    ratios: Any = _native.overlap_ratios(_flat(first), _flat(second), left, right, _RATIOS["iou"])
    answer: NDArray[np.float64] = ratios
    return answer


def _require_volumes(corners: NDArray[Any], name: str) -> None:
    require_finite(corners.reshape(len(corners), 2 * corners.shape[2]), name)
    require_boxes(corners, name)


def _flat(corners: NDArray[Any]) -> NDArray[np.float64]:
    count, _, dimension = corners.shape
    flat: NDArray[np.float64] = np.ascontiguousarray(corners, np.float64).reshape(count, 2 * dimension)
    return flat


def _as_scores(values: ArrayLike, count: int) -> NDArray[Any]:
    scores = as_array(values, "scores")
    if scores.size and scores.dtype.kind not in "biuf":
        raise TypeError(f"scores must be numbers, not {scores.dtype}")
    if scores.shape != (count,):
        raise ValueError(f"scores must have shape ({count},), one for each box, not {scores.shape}")
    return scores


def _as_ranked(scores: NDArray[Any]) -> NDArray[Any]:
    """Return floats or unsigned integers in the same order, as the core takes them."""
    kind, size = scores.dtype.kind, scores.dtype.itemsize
    if kind == "f" and size <= 8:
        return np.ascontiguousarray(scores, np.float32 if size <= 4 else np.float64)
    if kind == "i":
        return np.ascontiguousarray(scores, np.int64).view(np.uint64) ^ np.uint64(1 << 63)
    if kind in "bu":
        return np.ascontiguousarray(scores, np.uint64)
    if not scores.size:
        return np.empty(0)
    _, ranks = np.unique(scores, return_inverse=True)  # longer floats
    ranked: NDArray[np.float64] = np.where(np.isnan(scores), np.nan, ranks.astype(np.float64))
    return ranked


def _as_row_pairs(values: ArrayLike, count: int, others: int) -> NDArray[np.int32]:
    rows = as_integers(values, "pairs")
    if rows.shape == (0,):
        rows = rows.reshape(0, 2)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(f"pairs must have shape (m, 2), not {rows.shape}")
    for side, most in enumerate((count, others)):
        bad = first_bad_row((rows[:, side] < 0) | (rows[:, side] >= most))
        if bad is not None:
            raise ValueError(f"pairs: row {bad} names box {rows[bad, side]}, but there are {most} boxes, from 0")
    return rows.astype(np.int32)
