"""Non-maximum suppression: of boxes that overlap too much, keep the one with the best score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, overload

import numpy as np

from broadphase import _native, thresholds
from broadphase.arguments import as_flag, as_own_array, as_real, as_whole
from broadphase.boxes.checking import as_row_pairs, first_bad_row, require_boxes, require_finite
from broadphase.boxes.detections import FORMS, FormName, as_detections, is_rotated, require_without_degrees
from broadphase.boxes.numbers import as_numbers
from broadphase.errors import InvalidBoxError, TooManyPairsError, unknown_name
from broadphase.filters import as_attribute
from broadphase.returned import as_given
from broadphase.searches import pairs as overlapping_pairs
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from broadphase.boxes.forms import Boxes

__all__ = ["DecayName", "KindName", "OverlapRatios", "RatioName", "SoftNMS", "iou", "nms", "soft_nms"]

#: What ``metric=`` takes.
RatioName: TypeAlias = Literal["iou", "ios", "diou"]
#: What ``decay=`` takes.
DecayName: TypeAlias = Literal["gaussian", "linear"]

#: What ``kind=`` takes.
KindName: TypeAlias = Literal["iou", "giou", "diou", "ciou"]

_KINDS = ("iou", "giou", "diou", "ciou")
_RATIOS = {
    "iou": _native.RatioTo.union,
    "ios": _native.RatioTo.smaller,
    "diou": _native.RatioTo.union_less_distance,
}
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


class OverlapRatios(NamedTuple):
    """The result of `iou` with a threshold: the pairs whose ratio exceeds it, and their ratios.

    Attributes
    ----------
    pairs : ndarray, shape (m, 2), int32
        As of `broadphase.pairs` with ``sort=True``.
    ratios : ndarray, shape (m,), float64
        The ratio of each of them.
    """

    pairs: NDArray[np.int32]
    ratios: NDArray[np.float64]


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
    score_threshold: float | None = None,
    max_output: int | None = None,
) -> NDArray[np.int32]:
    """Keep the best of boxes that overlap: greedy non-maximum suppression.

    Boxes are taken by descending score, equal ones by ascending row. Each is kept unless it overlaps a box that was
    kept before it by more than `threshold`.

    Parameters
    ----------
    boxes : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d); or as `form` says
        Lower and upper corners, finite, any one length unit, d = 1 to 4. With scores of two or three axes, as of a
        detector: (B, n, w) for B images, (n, w) for one image and C classes, (B, n, w) for both, or (B, n, C, w) if
        each class has its own boxes; w numbers a box. In errors, their rows are those of ``boxes.reshape(-1, w)``.
    scores : array_like of real numbers, shape (n,), (B, n), (n, C) or (B, n, C)
        How good each box is. Infinite scores are allowed. Only boxes of the same image and class suppress each other.
    threshold : float
        From 0 to 1. A box with exactly this ratio is kept.
    form : {"xyxy", "xywh", "cxcywh", "cxcywhr", "xyzlwhr"}
        What the numbers of a box are. ``"xyxy"``: its corners. ``"xywh"``: lower corner, sizes, shape (n, 2*d).
        ``"cxcywh"``: center, sizes. ``"cxcywhr"``: center, width, height, angle, shape (n, 5). ``"xyzlwhr"``: center,
        length, width, height, yaw, shape (n, 7). An angle, in radians, of any size, turns the box about its center, the
        x axis towards the y axis.
    degrees : bool
        The angles are in degrees. Multiples of 90 are exact.
    metric : {"iou", "ios", "diou"}
        The ratio of two boxes: the volume that they share (area in 2D, length in 1D) over that of their union, or over
        that of the smaller one, which finds parts of an object inside the whole. ``"diou"``: over that of their union,
        less the square of the distance of their centers over that of the diagonal of the box around both, which keeps
        objects that hide each other [2]_; of boxes without an angle. A box of zero volume overlaps none.
    workers : int
        Threads to use; -1 for one per core. Does not change the result.
    batch : array_like of int, shape (n,), or int, or tuple of two of these, optional
        Any int64. Only boxes with the same number suppress each other: images of a batch, or classes of objects. A
        tuple ``(image, label)`` of arrays: only those with both the same. With scores of shape (n,) alone.
    score_threshold : float, optional
        Only boxes whose score is above it take part. Default: all.
    max_output : int, optional
        At most so many boxes are kept of each image, the best ones of all classes; of a flat `batch`, of each of its
        numbers, or of each ``image`` of a tuple. Default: all.

    Returns
    -------
    rows : ndarray, int32
        What was kept, by descending score, equal ones by ascending row, then class:

        - scores (n,): rows, shape (m,);
        - (n, C): ``[class, row]``, shape (m, 2);
        - (B, n): ``[image, row]``, shape (m, 2), image by image; with `max_output` rows, shape (B, max_output);
        - (B, n, C): ``[image, class, row]``, shape (m, 3), image by image, as of NonMaxSuppression of ONNX; with
          `max_output` ``[class, row]``, shape (B, max_output, 2).

        Tables of `max_output` are filled up with -1. A tensor of torch if `boxes` is one.

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
    O(n) memory. The rule is that of [1]_.

    The corners of ``"xywh"`` and ``"cxcywh"`` are those of ``torchvision.ops.box_convert``, in the dtype of the boxes.
    Boxes with an angle are compared in float64; see `iou` for how exactly.

    References
    ----------
    .. [1] A. Neubeck, L. Van Gool, "Efficient Non-Maximum Suppression", ICPR, 2006.
       https://doi.org/10.1109/ICPR.2006.479
    .. [2] Z. Zheng et al., "Distance-IoU Loss: Faster and Better Learning for Bounding Box Regression", AAAI, 2020.
       https://doi.org/10.1609/aaai.v34i07.6999

    Examples
    --------
    >>> import broadphase as bp
    >>> boxes = [[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]]
    >>> bp.nms(boxes, [0.8, 0.9, 0.7], threshold=0.5)
    array([1, 2], dtype=int32)
    >>> boxes = [[5, 5, 8, 2, 0], [5, 5, 8, 2, 90], [5, 5, 8, 2, 170]]
    >>> bp.nms(boxes, [0.9, 0.8, 0.7], threshold=0.3, form="cxcywhr", degrees=True)
    array([0, 1], dtype=int32)

    Two images, and two classes of one box each:

    >>> boxes = [[[0, 0, 9, 9], [1, 0, 10, 9]], [[0, 0, 9, 9], [20, 0, 29, 9]]]
    >>> bp.nms(boxes, [[0.9, 0.8], [0.4, 0.7]], threshold=0.5, max_output=3)
    array([[ 0, -1, -1],
           [ 1,  0, -1]], dtype=int32)
    >>> bp.nms(boxes[0], [[0.9, 0.1], [0.8, 0.7]], threshold=0.5, score_threshold=0.2)
    array([[0, 0],
           [1, 1]], dtype=int32)
    """
    limit = as_real(threshold, "threshold")
    if not 0 <= limit <= 1:
        raise ValueError(f"threshold must be from 0 to 1, not {limit}")
    if not isinstance(metric, str) or metric not in _RATIOS:
        raise ValueError(unknown_name("metric", metric, _RATIOS))
    if metric == "diou" and isinstance(form, str) and is_rotated(form):
        raise ValueError(f"metric='diou' is for boxes without an angle, not for form={form!r}")
    least = None if score_threshold is None else as_real(score_threshold, "score_threshold")
    if least is not None and np.isnan(least):
        raise ValueError("score_threshold must not be NaN")
    most = None if max_output is None else as_whole(max_output, "max_output", 0)
    values = _as_numbers(scores)
    rule = _Rule(limit, metric, worker_count(workers))
    if values.ndim > 1:
        if batch is not None:
            raise ValueError(f"batch: scores of shape {values.shape} are batches already; leave it out")
        return as_given(boxes, _nms_of_images(boxes, values, form, degrees, rule, least, most))
    given, rotated = _as_given(boxes, form, degrees, "boxes")
    count = len(given)
    _require_each(values, count)
    ranked = _as_ranked(values)
    keys, images = _as_keys(batch, count)
    rows = None
    if least is not None:
        _require_no_nan(values)
        if rotated is None:
            given = given.copy()  # as it is checked
            _require_volumes(given, "boxes")
        rows = np.flatnonzero(values > least)
        given, ranked = given[rows], ranked[rows]
        rotated = None if rotated is None else _native.RotatedBoxes(given, as_flag(degrees, "degrees"))
        keys = None if keys is None else keys[rows]
    kept = rule.keep(given, rotated, ranked, keys)
    if kept is None:
        if rotated is None:
            _require_volumes(given, "boxes")
        raise ValueError(f"scores: row {first_bad_row(np.isnan(ranked))} is NaN")
    if rows is not None:
        kept = rows[kept].astype(np.int32)
    if most is not None:
        kept = kept[:most] if images is None else kept[_are_first(images[kept], most)]
    return as_given(boxes, kept)


class _Rule(NamedTuple):
    """When a box suppresses another one."""

    limit: float
    metric: RatioName
    workers: int

    def keep(
        self,
        given: NDArray[Any],
        rotated: _native.RotatedBoxes | None,
        ranked: NDArray[Any],
        keys: NDArray[np.int64] | None,
    ) -> NDArray[np.int32] | None:
        """Return the rows that are kept, by descending score; None for a box or a score that is not allowed."""
        rivals = None
        if self.limit < 1:  # no ratio exceeds 1
            rivals = _few_pairs(given, rotated, keys, self.workers)
        options = (ranked, keys, rivals, self.limit, _RATIOS[self.metric], self.workers)
        found: Any = _native.nms(given, *options) if rotated is None else rotated.nms(*options)
        return None if found is None else np.asarray(found)


_ENTRIES_AT_ONCE = 2**20  # boxes of images and classes that are looked at together: 40 to 100 MB


def _nms_of_images(
    boxes: Any,
    scores: NDArray[Any],
    form: FormName,
    degrees: bool,
    rule: _Rule,
    least: float | None,
    most: int | None,
) -> NDArray[np.int32]:
    """Suppress boxes per image and class, a few images at a time."""
    if not isinstance(form, str) or form not in FORMS:
        raise ValueError(unknown_name("form", form, FORMS))
    numbers = as_numbers(boxes, name="boxes")
    shape, leading = scores.shape, numbers.shape[:-1]
    is_own = leading == shape and len(shape) == 3  # each class has its own boxes
    has_classes = is_own or leading == shape[:-1]
    if not has_classes and leading != shape:
        raise ValueError(
            f"boxes have shape {numbers.shape} and scores {shape}: scores (B, n), (n, C) or (B, n, C) need boxes"
            " (B, n, w), (n, w), (B, n, w) or (B, n, C, w)"
        )
    has_images = len(shape) == 3 or not has_classes
    classes = shape[-1] if has_classes else 1
    images = shape[0] if has_images else 1
    count = shape[1] if has_images else shape[0]
    _require_no_nan(scores)
    given = as_detections(numbers.reshape(-1, numbers.shape[-1]), form, "boxes")
    is_in_degrees = as_flag(degrees, "degrees")
    if not is_rotated(form):
        require_without_degrees(is_in_degrees)
        given = np.array(given)  # as it is checked
        _require_volumes(given, "boxes")
    ranked, values = _as_ranked(scores.reshape(-1)), scores.reshape(-1)
    size = count * classes
    found = []
    step = max(1, _ENTRIES_AT_ONCE // max(size, 1))
    for first in range(0, images if size else 0, step):
        begin, end = first * size, min(first + step, images) * size
        entries = np.arange(begin, end) if least is None else begin + np.flatnonzero(values[begin:end] > least)
        image, label = entries // size, entries % classes
        part = given[entries if is_own else entries // classes]
        rotated = _native.RotatedBoxes(part, is_in_degrees) if is_rotated(form) else None
        kept: Any = rule.keep(part, rotated, ranked[entries], image * classes + label)
        kept = kept[np.argsort(image[kept], kind="stable")]
        if most is not None:
            kept = kept[_are_first(image[kept], most)]
        found.append(np.column_stack([image, label, entries % size // classes])[kept].astype(np.int32))
    rows = np.concatenate(found) if found else np.empty((0, 3), np.int32)
    columns = rows[:, [has_images, has_classes, True]]
    if most is None or not has_images:
        return np.ascontiguousarray(columns)
    table = np.full((images, most, 1 + has_classes), -1, np.int32)
    starts = np.searchsorted(rows[:, 0], np.arange(images))
    table[rows[:, 0], np.arange(len(rows)) - starts[rows[:, 0]]] = columns[:, 1:]
    return table if has_classes else table[:, :, 0]


def _are_first(groups: NDArray[Any], most: int) -> NDArray[np.bool_]:
    """Return which elements are among the first `most` of their group."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    are = np.empty(len(groups), bool)
    are[order] = np.arange(len(groups)) - np.searchsorted(ordered, ordered) < most
    return are


def _as_keys(batch: Any, count: int) -> tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]:
    """Return the key of each box, and its image."""
    if batch is None:
        return None, None
    if not isinstance(batch, tuple) or len(batch) != 2 or not any(np.ndim(one) for one in batch):
        keys: Any = as_attribute("batch", batch, count, np.int64)
        return keys, keys
    image, label = (as_attribute(f"batch[{k}]", batch[k], count, np.int64) for k in range(2))
    both = (np.unique(one, return_inverse=True)[1].reshape(-1) for one in (image, label))
    first, second = both
    return first.astype(np.int64) * max(count, 1) + second, image


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
        return overlapping_pairs(corners, batch=keys, touching=False, workers=workers, max_pairs=most * len(corners))
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
    batch : array_like of int, shape (n,), or int, or tuple of two of these, optional
        As in `nms`: only boxes with the same number, or the same two, lower each other's scores.

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
    values = _as_numbers(scores)
    _require_each(values, count)
    before = np.ascontiguousarray(values, np.float64)
    bad = first_bad_row(~(np.isfinite(before) & (before >= 0)))
    if bad is not None:
        raise ValueError(f"scores: row {bad} is {before[bad]}, which is not finite and at least 0")
    keys, _ = _as_keys(batch, count)
    parameter = width if decay == "gaussian" else limit
    rivals = _few_pairs(given, rotated, keys, workers)
    options = (before, keys, rivals, _DECAYS[decay], parameter, least, worker_count(workers))
    found: Any = _native.soft_nms(_flat(given), *options) if rotated is None else rotated.soft_nms(*options)
    return as_given(boxes, SoftNMS(*found))


@overload
def iou(
    boxes: Boxes,
    other: Boxes | None = None,
    pairs: ArrayLike | None = None,
    *,
    form: FormName = "xyxy",
    degrees: bool = False,
    kind: KindName = "iou",
    threshold: None = None,
    workers: int = 1,
    batch: Any = None,
) -> NDArray[np.float64]: ...


@overload
def iou(
    boxes: Boxes,
    other: Boxes | None = None,
    pairs: None = None,
    *,
    form: FormName = "xyxy",
    degrees: bool = False,
    kind: KindName = "iou",
    threshold: float,
    workers: int = 1,
    batch: Any = None,
) -> OverlapRatios: ...


def iou(
    boxes: Boxes,
    other: Boxes | None = None,
    pairs: ArrayLike | None = None,
    *,
    form: FormName = "xyxy",
    degrees: bool = False,
    kind: KindName = "iou",
    threshold: float | None = None,
    workers: int = 1,
    batch: Any = None,
) -> NDArray[np.float64] | OverlapRatios:
    """Return the intersection over union of pairs of boxes.

    Parameters
    ----------
    boxes, other, form, degrees
        Two sets, each as in `nms`.
    pairs : array_like of int, shape (m, 2), optional
        Rows of `boxes` and of `other`; without `other`, both of `boxes`. Default: each box of `boxes` with the box of
        `other` in the same row.

    kind : {"iou", "giou", "diou", "ciou"}
        With a penalty for boxes that are apart [1]_ [2]_; of boxes without an angle. ``"giou"``: less the share of the
        box around both that neither covers. ``"diou"``: less the square of the distance of the centers over that of the
        diagonal of the box around both. ``"ciou"``: also less a v, for v = (2/pi (atan(w/h) - atan(w'/h')))^2 and
        a = v / (1 - iou + v); in the plane.
    threshold : float, optional
        At least 0. Find all pairs whose ratio exceeds it, of one set or of two, in place of `pairs`.
    workers : int
        With `threshold`: threads to search with; -1 for one per core. Does not change the result.
    batch : array_like of int, shape (n,), or int, or tuple for two sets, optional
        With `threshold`: as in `broadphase.pairs`, boxes of different keys are not compared.

    Returns
    -------
    ratios : ndarray, shape (m,), float64
        From 0 to 1: the volume that the boxes of a pair share (area in 2D, length in 1D) over that of their union. 0
        for boxes that only touch, and for boxes of zero volume. The other kinds are above -1 (``"ciou"``: -2); their
        penalty is 0 where the box around both has no volume or diagonal. With `threshold`, `OverlapRatios`: ``pairs``
        and ``ratios``. Tensors of torch if `boxes` is one.

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

    References
    ----------
    .. [1] H. Rezatofighi et al., "Generalized Intersection over Union", CVPR, 2019.
       https://doi.org/10.1109/CVPR.2019.00075
    .. [2] Z. Zheng et al., "Distance-IoU Loss: Faster and Better Learning for Bounding Box Regression", AAAI, 2020.
       https://doi.org/10.1609/aaai.v34i07.6999

    Examples
    --------
    >>> import broadphase as bp
    >>> boxes = [[0, 0, 2, 2], [1, 0, 3, 2], [1, 1, 3, 3]]
    >>> found = bp.iou(boxes, threshold=0.2)
    >>> found.pairs
    array([[0, 1],
           [1, 2]], dtype=int32)
    >>> found.ratios.round(3)
    array([0.333, 0.333])
    >>> bp.iou(boxes, pairs=bp.pairs(boxes, sort=True)).round(3)
    array([0.333, 0.143, 0.333])
    >>> bp.iou([[0, 0, 2, 2, 0]], [[0, 0, 2, 2, 45]], form="cxcywhr", degrees=True).round(3)
    array([0.707])
    """
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(unknown_name("kind", kind, _KINDS))
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
    if kind != "iou" and rotated is not None:
        raise ValueError(f"kind={kind!r} is for boxes without an angle, not for form={form!r}")
    if kind == "ciou" and first.shape[2] != 2:
        raise ValueError(f"kind='ciou' is for boxes of two axes, not of {first.shape[2]}")
    least = None if threshold is None else as_real(threshold, "threshold")
    if least is None:
        if batch is not None:
            raise ValueError("batch needs threshold=: it says which boxes are compared")
    elif not least >= 0:
        raise ValueError(f"threshold must be at least 0, not {least}")
    elif pairs is not None:
        raise ValueError("threshold finds the pairs; leave out pairs=")
    else:
        corners: Any = first if rotated is None else rotated.enclosing()
        others: Any = None
        if other is not None:
            others = second if other_rotated is None else other_rotated.enclosing()
        pairs = overlapping_pairs(corners, others, batch=batch, touching=False, workers=workers, sort=True)
    if pairs is not None:
        rows = as_row_pairs(pairs, (len(first), len(second)), "boxes")
    elif other is None:
        raise TypeError("iou needs other= or pairs=, or threshold=")
    elif len(first) != len(second):
        raise ValueError(f"boxes has {len(first)} rows and other has {len(second)}: name the pairs by pairs=")
    else:
        rows = np.repeat(np.arange(len(first), dtype=np.int32)[:, np.newaxis], 2, axis=1)
    left, right = np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1])
    if rotated is None or other_rotated is None:
        answer = _ratios_of_kind(kind, first, second, left, right)
    else:
        ratios: Any = rotated.ratios(other_rotated, left, right, _RATIOS["iou"])
        answer = ratios
    if least is None:
        return as_given(boxes, answer)
    exceeds = answer > least
    return as_given(boxes, OverlapRatios(rows[exceeds], answer[exceeds]))


def _ratios_of_kind(
    kind: KindName,
    boxes: NDArray[np.float64],
    other: NDArray[np.float64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
) -> NDArray[np.float64]:
    """Return the ratios of pairs of boxes without an angle, less the penalties of a kind."""
    flat, other_flat = _flat(boxes), _flat(other)

    def ratios(measure: _native.RatioTo) -> NDArray[np.float64]:
        found: Any = _native.overlap_ratios(flat, other_flat, left, right, measure)
        return np.asarray(found)

    if kind == "diou":
        return ratios(_RATIOS["diou"])
    plain = ratios(_RATIOS["iou"])
    if kind == "iou":
        return plain
    first, second = boxes[left] / 2, other[right] / 2  # sides are finite
    sides, other_sides = first[:, 1] - first[:, 0], second[:, 1] - second[:, 0]
    if kind == "giou":
        around = np.maximum(first[:, 1], second[:, 1]) - np.minimum(first[:, 0], second[:, 0])
        has = (around > 0).all(axis=1)
        whole = np.where(around > 0, around, 1)
        common = np.clip(np.minimum(first[:, 1], second[:, 1]) - np.maximum(first[:, 0], second[:, 0]), 0, None)
        covered, more, shared = ((part / whole).prod(axis=1) for part in (sides, other_sides, common))
        bare = np.where(has, 1 - (covered + more - shared), 0.0)
        return np.asarray(plain - bare)
    turns = [np.arctan2(one[:, 0], one[:, 1]) for one in (sides, other_sides)]
    uneven = np.square(2 / np.pi * (turns[0] - turns[1]))
    weight = 1 - plain + uneven
    return np.asarray(ratios(_RATIOS["diou"]) - np.square(uneven) / np.where(weight > 0, weight, np.inf))


def _as_given(
    boxes: Any, form: FormName, degrees: bool, name: str, dtype: type[np.float64] | None = None, empty_dim: int = 2
) -> tuple[NDArray[Any], _native.RotatedBoxes | None]:
    """Return corners and None, or rows with an angle and what the core makes of them."""
    is_in_degrees = as_flag(degrees, "degrees")
    given = as_detections(boxes, form, name, dtype, empty_dim)
    if is_rotated(form):
        return given, _native.RotatedBoxes(given, is_in_degrees)
    require_without_degrees(is_in_degrees)
    return given, None


def _require_volumes(corners: NDArray[Any], name: str) -> None:
    require_finite(corners.reshape(len(corners), 2 * corners.shape[2]), name)
    require_boxes(corners, name)


def _flat(corners: NDArray[Any]) -> NDArray[np.float64]:
    count, _, dimension = corners.shape
    return np.ascontiguousarray(corners, np.float64).reshape(count, 2 * dimension)


def _as_numbers(scores: ArrayLike) -> NDArray[Any]:
    values = as_own_array(scores, "scores")
    if values.size and values.dtype.kind not in "biuf":
        raise TypeError(f"scores must be numbers, not {values.dtype}")
    if values.ndim > 3:
        raise ValueError(f"scores must have shape (n,), (B, n), (n, C) or (B, n, C), not {values.shape}")
    return values


def _require_each(scores: NDArray[Any], count: int) -> None:
    if scores.shape != (count,):
        raise ValueError(f"scores must have shape ({count},), one for each box, not {scores.shape}")


def _require_no_nan(scores: NDArray[Any]) -> None:
    if scores.dtype.kind == "f" and np.isnan(scores).any():
        place = tuple(np.argwhere(np.isnan(scores))[0].tolist())
        raise ValueError(f"scores: row {place[0] if len(place) == 1 else place} is NaN")


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
