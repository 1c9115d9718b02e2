"""Non-maximum suppression: of boxes that overlap too much, keep the one with the best score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from broadphase import _native, thresholds
from broadphase.arguments import as_flag, as_own_array, as_real
from broadphase.boxes.checking import as_row_pairs, first_bad_row, require_boxes, require_finite
from broadphase.boxes.detections import FORMS, FormName, as_detections, is_rotated
from broadphase.errors import InvalidBoxError, TooManyPairsError, unknown_name
from broadphase.filters import as_attribute
from broadphase.searches import pairs
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from broadphase.boxes.forms import Boxes

__all__ = ["DecayName", "RatioName", "SoftNMS", "iou", "nms", "soft_nms"]

#: What ``metric=`` takes.
RatioName: TypeAlias = Literal["iou", "ios"]
#: What ``decay=`` takes.
DecayName: TypeAlias = Literal["gaussian", "linear"]

_RATIOS = {"iou": _native.RatioTo.union, "ios": _native.RatioTo.smaller}
_DECAYS = {"gaussian": _native.Decay.gaussian, "linear": _native.Decay.linear}


class SoftNMS(NamedTuple):
    """The result of `soft_nms`: the boxes that are left, and their new scores.

    Attributes
    ----------
    rows : ndarray, shape (m,), int32
        By descending new score, equal ones by ascending row.
    scores : ndarray, shape (m,), float64
        The new score of each of them.
    """

    rows: NDArray[np.int32]
    scores: NDArray[np.float64]


def nms(
    boxes: Boxes,
    scores: ArrayLike,
    threshold: float,
    *,
    form: FormName = "xyxy",
    degrees: bool = False,
    metric: RatioName = "iou",
    workers: int = 1,
    batch: ArrayLike | None = None,
) -> NDArray[np.int32]:
    """Keep the best of boxes that overlap: greedy non-maximum suppression.

    Boxes are taken by descending score, equal ones by ascending row. Each is kept unless it overlaps a box that was
    kept before it by more than `threshold`.

    Parameters
    ----------
    boxes : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d); or as `form` says
        Lower and upper corners, finite, any one length unit, d = 1 to 4.
    scores : array_like of real numbers, shape (n,)
        How good each box is. Infinite scores are allowed.
    threshold : float
        From 0 to 1. A box with exactly this ratio is kept.
    form : {"xyxy", "xywh", "cxcywh", "cxcywhr", "xyzlwhr"}
        What the numbers of a box are. ``"xyxy"``: its corners. ``"xywh"``: lower corner, sizes, shape (n, 2*d).
        ``"cxcywh"``: center, sizes. ``"cxcywhr"``: center, width, height, angle, shape (n, 5). ``"xyzlwhr"``: center,
        length, width, height, yaw, shape (n, 7). An angle, in radians, of any size, turns the box about its center, the
        x axis towards the y axis.
    degrees : bool
        The angles are in degrees. Multiples of 90 are exact.
    metric : {"iou", "ios"}
        The ratio of two boxes: the volume that they share (area in 2D, length in 1D) over that of their union, or over
        that of the smaller one, which finds parts of an object inside the whole. A box of zero volume overlaps none.
    workers : int
        Threads to use; -1 for one per core. Does not change the result.
    batch : array_like of int, shape (n,), or int, optional
        Any int64. Only boxes with the same number suppress each other: images of a batch, or classes of objects.

    Returns
    -------
    rows : ndarray, shape (m,), int32
        The rows that were kept, by descending score.

    Raises
    ------
    ValueError, TypeError
        Wrong shape, a threshold, form or metric that is not allowed, or NaN among the scores, with its row;
        InvalidBoxError for a box with NaN, an infinite corner, lower > upper or a negative size, with its row. Boxes or
        scores that are not real numbers, `batch` that is not integers.

    See Also
    --------
    soft_nms : Lower the scores of boxes that overlap better ones, rather than remove them.
    iou : The ratios of single pairs.
    pairs : All pairs that overlap.

    Notes
    -----
    Ratios of float32 boxes are computed in float32, as detectors and ``torchvision.ops.nms`` do, with the same result;
    of all others in float64: products of the sides axis by axis. A box is compared with those that are kept and near it
    in place and size: O(n) time but for the sorting of the scores, unless many boxes that are kept lie on one spot.
    O(n) memory. The rule is that of A. Neubeck and L. Van Gool, Efficient Non-Maximum Suppression, ICPR 2006.

    The corners of ``"xywh"`` and ``"cxcywh"`` are those of ``torchvision.ops.box_convert``, in the dtype of the boxes.
    Boxes with an angle are compared in float64; see `iou` for how exactly.

    Examples
    --------
    >>> import broadphase as bp
    >>> boxes = [[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]]
    >>> bp.nms(boxes, [0.8, 0.9, 0.7], threshold=0.5)
    array([1, 2], dtype=int32)
    >>> boxes = [[5, 5, 8, 2, 0], [5, 5, 8, 2, 90], [5, 5, 8, 2, 170]]
    >>> bp.nms(boxes, [0.9, 0.8, 0.7], threshold=0.3, form="cxcywhr", degrees=True)
    array([0, 1], dtype=int32)
    """
    limit = as_real(threshold, "threshold")
    if not 0 <= limit <= 1:
        raise ValueError(f"threshold must be from 0 to 1, not {limit}")
    if not isinstance(metric, str) or metric not in _RATIOS:
        raise ValueError(unknown_name("metric", metric, _RATIOS))
    given, rotated = _as_given(boxes, form, degrees, "boxes")
    count = len(given)
    ranked = _as_ranked(_as_scores(scores, count))
    keys = None if batch is None else as_attribute("batch", batch, count, np.int64)
    rivals = None
    if limit < 1:  # no ratio exceeds 1
        rivals = _few_pairs(given, rotated, keys, workers)
    options = (ranked, keys, rivals, limit, _RATIOS[metric], worker_count(workers))
    found: Any = _native.nms(given, *options) if rotated is None else rotated.nms(*options)
    if found is None:
        if rotated is None:
            _require_volumes(given, "boxes")
        raise ValueError(f"scores: row {first_bad_row(np.isnan(ranked))} is NaN")
    kept: NDArray[np.int32] = found
    return kept


def _few_pairs(
    given: NDArray[Any], rotated: _native.RotatedBoxes | None, keys: NDArray[np.int64] | None, workers: int
) -> NDArray[np.int32] | None:
    """Find the pairs that overlap, where they are so few that this is the shortest way."""
    if len(given) < thresholds.FEWEST_WITH_PAIRS:
        return None
    corners: Any = given if rotated is None else rotated.enclosing()
    most = thresholds.MOST_PAIRS_EACH
    if not _native.few_overlap(corners, most):
        return None
    try:
        return pairs(corners, batch=keys, touching=False, workers=workers, max_pairs=most * len(corners))
    except (TooManyPairsError, InvalidBoxError):  # the caller says what is wrong
        return None


def soft_nms(
    boxes: Boxes,
    scores: ArrayLike,
    *,
    decay: DecayName = "gaussian",
    sigma: float = 0.5,
    threshold: float = 0.3,
    min_score: float = 0.001,
    form: FormName = "xyxy",
    degrees: bool = False,
    workers: int = 1,
    batch: ArrayLike | None = None,
) -> SoftNMS:
    """Lower the scores of boxes that overlap better ones: Soft-NMS.

    The box with the highest score is taken, equal ones by ascending row, and the scores of all others are multiplied by
    a factor that depends on how much they overlap it; then the next is taken, until no score is at least `min_score`.

    Parameters
    ----------
    boxes, form, degrees, workers
        As in `nms`.
    scores : array_like of real numbers, shape (n,)
        How good each box is: finite, at least 0.
    decay : {"gaussian", "linear"}
        The factor for an intersection over union r: ``exp(-r**2 / sigma)``, or ``1 - r`` where r is at least
        `threshold` and 1 elsewhere.
    sigma : float
        Above 0; of ``"gaussian"``. The smaller, the faster scores fall.
    threshold : float
        From 0 to 1; of ``"linear"``.
    min_score : float
        At least 0. Boxes whose score is or falls below it are left out.
    batch : array_like of int, shape (n,), or int, optional
        As in `nms`: only boxes with the same number lower each other's scores.

    Returns
    -------
    SoftNMS
        ``rows``, int32: those that are left, by descending new score; ``scores``, float64: their new scores. New
        arrays; a tuple of two.

    Raises
    ------
    ValueError, TypeError
        As `nms`; a score that is infinite or negative, with its row.

    See Also
    --------
    nms : Remove boxes that overlap better ones.

    Notes
    -----
    Factors are those of `iou`, in float64, multiplied in the order in which boxes are taken. A box is compared with
    those that were taken before it and near it, when it may be the next: O((n + p) log n) time for p such comparisons,
    and O(n) memory. In a crowd, scores soon fall below `min_score`; with ``min_score=0`` no box is left out, and p is
    the number of all pairs that overlap.

    References
    ----------
    .. [1] N. Bodla, B. Singh, R. Chellappa, L. S. Davis, "Soft-NMS -- Improving Object Detection With One Line of
       Code", ICCV, 2017. https://doi.org/10.1109/ICCV.2017.593

    Examples
    --------
    >>> import broadphase as bp
    >>> boxes = [[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]]
    >>> found = bp.soft_nms(boxes, [0.8, 0.9, 0.7])
    >>> found.rows
    array([1, 2, 0], dtype=int32)
    >>> found.scores.round(3)
    array([0.9  , 0.7  , 0.317])
    """
    if not isinstance(decay, str) or decay not in _DECAYS:
        raise ValueError(unknown_name("decay", decay, _DECAYS))
    width, limit, least = as_real(sigma, "sigma"), as_real(threshold, "threshold"), as_real(min_score, "min_score")
    if not 0 < width < np.inf:
        raise ValueError(f"sigma must be finite and above 0, not {width}")
    if not 0 <= limit <= 1:
        raise ValueError(f"threshold must be from 0 to 1, not {limit}")
    if not 0 <= least < np.inf:
        raise ValueError(f"min_score must be finite and at least 0, not {least}")
    given, rotated = _as_given(boxes, form, degrees, "boxes", np.float64)
    count = len(given)
    if rotated is None:
        given = given.copy()  # as it is checked
        _require_volumes(given, "boxes")
    before = np.ascontiguousarray(_as_scores(scores, count), np.float64)
    bad = first_bad_row(~(np.isfinite(before) & (before >= 0)))
    if bad is not None:
        raise ValueError(f"scores: row {bad} is {before[bad]}, which is not finite and at least 0")
    keys = None if batch is None else as_attribute("batch", batch, count, np.int64)
    parameter = width if decay == "gaussian" else limit
    rivals = _few_pairs(given, rotated, keys, workers)
    options = (before, keys, rivals, _DECAYS[decay], parameter, least, worker_count(workers))
    found: Any = _native.soft_nms(_flat(given), *options) if rotated is None else rotated.soft_nms(*options)
    return SoftNMS(*found)


def iou(
    boxes: Boxes,
    other: Boxes | None = None,
    pairs: ArrayLike | None = None,
    *,
    form: FormName = "xyxy",
    degrees: bool = False,
) -> NDArray[np.float64]:
    """Return the intersection over union of pairs of boxes.

    Parameters
    ----------
    boxes, other, form, degrees
        Two sets, each as in `nms`.
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
    ValueError, TypeError
        As `nms`; different numbers of axes or rows, a pair with a row that is not there; neither `other` nor `pairs`.

    Notes
    -----
    O(n + m) time. float64, whatever the dtype of the boxes: products of the sides axis by axis, without overflow.

    With an angle, the area is that of the smaller rectangle clipped to the larger one, a sum over its edges by Green's
    theorem; in space, times the height that both share. Where the sides of both are along each other, by equal angles
    or by multiples of 90 with ``degrees=True``, it is a product of lengths. Otherwise it is exact but for rounding:
    ratios are within 1e-15 of the exact ones, times how many times as long as wide the longer box is; so those of boxes
    that only touch may be as large as that. The ratio of a and b is that of b and a.

    Examples
    --------
    >>> import broadphase as bp
    >>> boxes = [[0, 0, 2, 2], [1, 0, 3, 2], [1, 1, 3, 3]]
    >>> bp.iou(boxes, pairs=bp.pairs(boxes, sort=True)).round(3)
    array([0.333, 0.143, 0.333])
    >>> bp.iou([[0, 0, 2, 2, 0]], [[0, 0, 2, 2, 45]], form="cxcywhr", degrees=True).round(3)
    array([0.707])
    """
    first, rotated = _as_given(boxes, form, degrees, "boxes", np.float64)
    second, other_rotated = (
        (first, rotated) if other is None else _as_given(other, form, degrees, "other", np.float64, first.shape[-1])
    )
    if second.shape[1:] != first.shape[1:]:
        raise ValueError(f"boxes have {first.shape[2]} dimensions and other has {second.shape[2]}")
    if rotated is None:
        _require_volumes(first, "boxes")
        if other is not None:
            _require_volumes(second, "other")
    if pairs is not None:
        rows = as_row_pairs(pairs, (len(first), len(second)), "boxes")
    elif other is None:
        raise TypeError("iou needs other= or pairs=")
    elif len(first) != len(second):
        raise ValueError(f"boxes has {len(first)} rows and other has {len(second)}: name the pairs by pairs=")
    else:
        rows = np.repeat(np.arange(len(first), dtype=np.int32)[:, np.newaxis], 2, axis=1)
    left, right = np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1])
    if rotated is None or other_rotated is None:
        ratios: Any = _native.overlap_ratios(_flat(first), _flat(second), left, right, _RATIOS["iou"])
    else:
        ratios = rotated.ratios(other_rotated, left, right, _RATIOS["iou"])
    answer: NDArray[np.float64] = ratios
    return answer


def _as_given(
    boxes: Any, form: FormName, degrees: bool, name: str, dtype: type[np.float64] | None = None, empty_dim: int = 2
) -> tuple[NDArray[Any], _native.RotatedBoxes | None]:
    """Return corners and None, or rows with an angle and what the core makes of them."""
    is_in_degrees = as_flag(degrees, "degrees")
    given = as_detections(boxes, form, name, dtype, empty_dim)
    if is_rotated(form):
        return given, _native.RotatedBoxes(given, is_in_degrees)
    if is_in_degrees:
        raise ValueError(f"degrees=True needs a form with an angle, one of {', '.join(filter(is_rotated, FORMS))}")
    return given, None


def _require_volumes(corners: NDArray[Any], name: str) -> None:
    require_finite(corners.reshape(len(corners), 2 * corners.shape[2]), name)
    require_boxes(corners, name)


def _flat(corners: NDArray[Any]) -> NDArray[np.float64]:
    count, _, dimension = corners.shape
    return np.ascontiguousarray(corners, np.float64).reshape(count, 2 * dimension)


def _as_scores(values: ArrayLike, count: int) -> NDArray[Any]:
    scores = as_own_array(values, "scores")
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
    return np.where(np.isnan(scores), np.nan, ranks.astype(np.float64))
