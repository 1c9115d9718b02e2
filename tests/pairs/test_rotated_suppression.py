"""Boxes with an angle, in the plane and in space: ratios against decimal numbers, suppression against plain loops."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import broadphase as bp
from cases import DTYPES
from oracles.rotated_boxes import plain_rotated_iou

shapely = pytest.importorskip("shapely")

FORMS = {2: "cxcywhr", 3: "xyzlwhr"}


def rotated(rng, name, count, dimension):
    """Draw boxes with an angle in radians."""
    center, size = rng.random((count, dimension)) * 12, rng.uniform(0.5, 3, (count, dimension))
    angle = rng.uniform(-7, 7, count)
    if name == "clusters":
        objects = rng.integers(0, max(count // 12, 1), count)
        center = rng.random((count, dimension))[objects] * 2 * math.sqrt(count) + rng.normal(0, 0.1, center.shape)
        size, angle = size[objects] * rng.uniform(0.85, 1.2, size.shape), angle[objects] + rng.normal(0, 0.1, count)
    elif name == "one spot":
        center /= 12
    elif name == "sizes":
        size = np.exp(rng.uniform(-6, 3, size.shape))
    elif name == "sticks":
        size[:, 0] *= 30
    elif name == "quarters":
        center, size = np.floor(center), np.ceil(size)
        angle = rng.integers(-9, 9, count) * (math.pi / 2)
    elif name == "nearly parallel":
        angle = 1 + 10.0 ** -rng.integers(3, 18, count)
    elif name == "far":
        center[0], size[1, 0] = 1e9, 1e7
    elif name == "flat":
        size[::3, 1] = 0
    return np.concatenate([center, size, angle[:, np.newaxis]], axis=1)


SCENES = ("uniform", "clusters", "one spot", "sizes", "sticks", "quarters", "nearly parallel", "far", "flat")


def aspect(boxes):
    plane = boxes[:, 3:5] if boxes.shape[1] == 7 else boxes[:, 2:4]
    return plane.max(axis=1) / np.maximum(plane.min(axis=1), 1e-30)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("name", SCENES)
def test_iou_of_rotated_boxes_as_decimals(name, dimension, dtype):
    rng = np.random.default_rng([dimension, SCENES.index(name)])
    boxes, other = (rotated(rng, name, 60, dimension) for _ in range(2))
    other[:30, :dimension] = boxes[:30, :dimension] + rng.normal(0, 0.3, (30, dimension))
    boxes, other = boxes.astype(dtype), other.astype(dtype)
    found = bp.iou(boxes, other, form=FORMS[dimension])
    expected = [plain_rotated_iou(*both) for both in zip(boxes.tolist(), other.tolist(), strict=True)]
    assert found.dtype == np.float64
    bound = 1e-15 * np.maximum(aspect(boxes), aspect(other))
    assert (np.abs(found - expected) <= bound).all()
    assert bp.iou(other, boxes, form=FORMS[dimension]).tolist() == found.tolist()
    rows = np.column_stack([rng.integers(0, 60, 200)] * 2)
    assert bp.iou(boxes, pairs=rows, form=FORMS[dimension]).tolist() == [
        float(boxes[row, dimension : 2 * dimension].min() > 0) for row in rows[:, 0]
    ]


def test_iou_of_rotated_boxes_as_shapely():
    rng = np.random.default_rng(3)
    boxes = rotated(rng, "clusters", 400, 2)
    pairs = np.array([(i, j) for i in range(400) for j in range(i)])
    polygons = shapely_boxes(boxes)
    first, second = polygons[pairs[:, 0]], polygons[pairs[:, 1]]
    common = shapely.area(shapely.intersection(first, second))
    expected = common / (shapely.area(first) + shapely.area(second) - common)
    found = bp.iou(boxes, pairs=pairs, form="cxcywhr")
    assert np.abs(found - expected).max() < 1e-12
    assert (expected > 0).sum() > 1000


def shapely_boxes(boxes):
    width, height, angle = boxes[:, -3:].T if boxes.shape[1] == 5 else boxes[:, [3, 4, 6]].T
    cosine, sine = np.cos(angle), np.sin(angle)
    ring = [
        boxes[:, :2] + np.column_stack([u * width * cosine - v * height * sine, u * width * sine + v * height * cosine])
        for u, v in ((0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5), (0.5, -0.5))
    ]
    return shapely.polygons(np.stack(ring, axis=1))


@pytest.mark.parametrize("dimension", [2, 3])
def test_iou_of_quarter_turns_in_degrees_is_exact(dimension):
    rng = np.random.default_rng(dimension)
    numbers = np.concatenate(
        [rng.integers(-2, 3, (80, dimension)), rng.integers(0, 5, (80, dimension)), rng.integers(-9, 9, (80, 1)) * 90],
        axis=1,
    )
    numbers[::7, -1] += 360 * 10**12
    pairs = np.array([(i, j) for i in range(80) for j in range(i)])
    found = bp.iou(numbers, pairs=pairs, form=FORMS[dimension], degrees=True)
    assert found.tolist() == [whole_ratio(numbers[i].tolist(), numbers[j].tolist(), dimension) for i, j in pairs]
    assert (found > 0).sum() > 100


def whole_ratio(a, b, dimension):
    """Divide volumes of boxes at multiples of a right angle."""
    volumes, common = [1, 1], Fraction(1)
    for k in range(dimension):
        of = [1 - k if k < 2 and box[-1] % 180 else k for box in (a, b)]  # a quarter of a turn swaps width and height
        halves = [Fraction(box[dimension + axis], 2) for box, axis in zip((a, b), of, strict=True)]
        volumes = [volume * 2 * half for volume, half in zip(volumes, halves, strict=True)]
        common *= max(min(a[k] + halves[0], b[k] + halves[1]) - max(a[k] - halves[0], b[k] - halves[1]), 0)
    return float(common / (sum(volumes) - common)) if common else 0.0


def test_iou_at_angles_of_any_size():
    boxes = [[0, 0, 4, 2, angle] for angle in (0.0, 1e3, -1e8, 1e16, 1e22, -1e300, 5e-324)]
    other = [[0.5, 0.25, 3, 2, 0.0]] * len(boxes)
    expected = [plain_rotated_iou(*both) for both in zip(boxes, other, strict=True)]
    assert bp.iou(boxes, other, form="cxcywhr") == pytest.approx(expected, rel=1e-14)
    turned = np.array([[0, 0, 4, 2, 30.0]] * 4)
    turned[:, 4] += [0, 360, -720, 360 * 2.0**40]
    assert len(set(bp.iou(turned, other[:4], form="cxcywhr", degrees=True))) == 1


def test_iou_of_a_quarter_turn_and_swapped_sides_is_the_same():
    rng = np.random.default_rng(8)
    boxes, other = rotated(rng, "one spot", 200, 2), rotated(rng, "one spot", 200, 2)
    swapped = boxes[:, [0, 1, 3, 2, 4]]
    swapped[:, 4] += math.pi / 2
    assert bp.iou(swapped, other, form="cxcywhr") == pytest.approx(bp.iou(boxes, other, form="cxcywhr"), abs=1e-14)


@pytest.mark.parametrize("scale", [2.0**-900, 2.0**-300, 2.0**300, 2.0**900])
@pytest.mark.parametrize("dimension", [2, 3])
def test_rotated_ratios_at_any_scale_are_the_same(scale, dimension):
    rng = np.random.default_rng(5)
    boxes = rotated(rng, "one spot", 60, dimension)
    scaled = boxes * np.r_[np.full(2 * dimension, scale), 1]
    pairs = np.array([(i, j) for i in range(60) for j in range(i)])
    form = FORMS[dimension]
    assert bp.iou(scaled, pairs=pairs, form=form).tolist() == bp.iou(boxes, pairs=pairs, form=form).tolist()
    scores = rng.random(60)
    for metric in ("iou", "ios"):
        found = bp.nms(scaled, scores, 0.25, form=form, metric=metric).tolist()
        assert found == bp.nms(boxes, scores, 0.25, form=form, metric=metric).tolist()


def test_rotated_boxes_of_very_different_sizes():
    large, tiny = [0, 0, 1e150, 1e140, 0.5], [1e138, 0, 1e-150, 1e-160, 1.5]
    assert bp.iou([large], [tiny], form="cxcywhr").tolist() == [0.0]  # 1e-600
    assert bp.nms([large, tiny], [2, 1], 0.999, metric="ios", form="cxcywhr").tolist() == [0]
    within, across = [0, 0, 1e-3, 1e-3, 0.7], [0, 0, 1e6, 1e-3, 0.3]
    for pair in ((within, [5, 5, 1e4, 1e4, 0.2]), (within, across), ([0, 0, 1, 1, 0.7], across)):
        assert bp.iou([pair[0]], [pair[1]], form="cxcywhr")[0] == pytest.approx(plain_rotated_iou(*pair), rel=1e-9)


def test_rotated_boxes_that_do_not_meet_share_nothing():
    # Their enclosing boxes overlap. The last two are side by side, a gap of 1e-6 between them.
    pairs = [
        ([0, 0, 10, 1, 45], [2, -2, 10, 1, 45]),
        ([0, 0, 2, 2, 45], [1.9, 1.9, 2, 2, 0]),
        ([0, 0, 9, 1, 30], [0, 3, 9, 1, -30]),
        ([0, 0, 2, 2, 30], [(2 + 1e-6) * math.cos(math.pi / 6), (2 + 1e-6) * 0.5, 2, 2, 30]),
    ]
    expected = [plain_rotated_iou(*([*box[:4], math.radians(box[4])] for box in pair)) for pair in pairs]
    found = bp.iou([a for a, _ in pairs], [b for _, b in pairs], form="cxcywhr", degrees=True)
    assert found == pytest.approx(expected, abs=1e-15)
    assert [expected[k] == 0 for k in (0, 1, 3)] == [found[k] == 0 for k in (0, 1, 3)] == [True] * 3


@pytest.mark.parametrize("scale", [1.0, 1e60, 1e-200])
@pytest.mark.parametrize("dimension", [2, 3])
def test_nms_of_rotated_boxes_decides_by_the_ratio_of_iou(dimension, scale):
    # To the last bit: bounds that are tried before the ratio must not round to the other side of it.
    rng = np.random.default_rng(dimension)
    form = FORMS[dimension]
    for name in ("quarters", "one spot", "nearly parallel"):
        boxes, other = (rotated(rng, name, 200, dimension) for _ in range(2))
        other[:, :dimension] = boxes[:, :dimension] + rng.integers(-1, 2, (200, dimension)) / 2
        boxes, other = (numbers * np.r_[np.full(2 * dimension, scale), 1] for numbers in (boxes, other))
        ratios = bp.iou(boxes, other, form=form)
        assert (ratios > 0).sum() > 40
        for pair, ratio in zip(np.stack([boxes, other], axis=1), ratios.tolist(), strict=True):
            assert bp.nms(pair, [2, 1], ratio, form=form).tolist() == [0, 1]
            if ratio > 0:
                assert bp.nms(pair, [2, 1], np.nextafter(ratio, 0), form=form).tolist() == [0]


def plain_rotated_nms(boxes, scores, threshold, metric, keys):
    """Compare each box with all that were kept before it, by areas of shapely."""
    polygons = shapely_boxes(boxes)
    volumes, heights = shapely.area(polygons), np.ones(len(boxes))
    lower, upper = np.zeros(len(boxes)), np.ones(len(boxes))
    if boxes.shape[1] == 7:
        heights = boxes[:, 5]
        lower, upper = boxes[:, 2] - heights / 2, boxes[:, 2] + heights / 2
    volumes = volumes * heights
    kept = []
    for row in sorted(range(len(boxes)), key=lambda row: (-scores[row], row)):
        rivals = np.array([other for other in kept if keys[other] == keys[row]], int)
        both = np.minimum(upper[rivals], upper[row]) - np.maximum(lower[rivals], lower[row])
        common = shapely.area(shapely.intersection(polygons[rivals], polygons[row])) * np.maximum(both, 0)
        whole = volumes[rivals] + volumes[row] - common
        if metric == "ios":
            whole = np.minimum(volumes[rivals], volumes[row])
        ratios = common / np.where(whole > 0, whole, 1)
        assert not (np.abs(ratios - threshold) < 1e-9).any(), "a ratio too near the threshold to judge"
        if not (ratios > threshold).any():
            kept.append(row)
    return kept


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("name", [name for name in SCENES if name != "quarters"])
def test_nms_of_rotated_boxes_as_the_loop(name, dimension):
    rng = np.random.default_rng([dimension, SCENES.index(name)])
    for threshold, metric in zip((0.013, 0.21, 0.5, 0.5, 0.7, 0.95, 0.99), ("iou", "ios") * 3 + ("iou",), strict=True):
        boxes, scores = rotated(rng, name, 150, dimension), rng.integers(0, 100, 150) / 8
        batch = None if rng.random() < 0.7 else rng.integers(0, 3, 150)
        found = bp.nms(boxes, scores, threshold, metric=metric, batch=batch, form=FORMS[dimension], workers=2)
        assert found.dtype == np.int32
        keys = np.zeros(150) if batch is None else batch
        assert found.tolist() == plain_rotated_nms(boxes, scores, threshold, metric, keys)


@pytest.mark.parametrize("name", ["uniform", "clusters", "sizes"])
def test_nms_of_many_rotated_boxes_as_the_loop(name):
    # So many that pairs of few are found at once, and that kept boxes are in cells.
    rng = np.random.default_rng(SCENES.index(name))
    boxes = rotated(rng, name, 1510, 2)
    boxes[:, :2] *= {"uniform": 8, "clusters": 1, "sizes": 3}[name]
    scores, batch = rng.random(1510), rng.integers(0, 2, 1510)
    for threshold in (0.05, 0.5):
        expected = plain_rotated_nms(boxes, scores, threshold, "iou", np.zeros(1510))
        assert bp.nms(boxes, scores, threshold, form="cxcywhr").tolist() == expected
    expected = plain_rotated_nms(boxes, scores, 0.3, "ios", batch)
    for workers in (1, 2, 3):
        found = bp.nms(boxes, scores, 0.3, metric="ios", batch=batch, form="cxcywhr", workers=workers)
        assert found.tolist() == expected


@pytest.mark.parametrize("longest", [3.0, 30.0, 300.0])
def test_nms_of_long_boxes_in_all_directions_as_the_loop(longest):
    # Kept ones are in cells along their directions: of several sets, and beside those of boxes that are not long.
    rng = np.random.default_rng(int(longest))
    objects = rng.integers(0, 60, 400)
    center, size = rng.random((60, 2)) * 20, np.exp(rng.uniform(0, np.log(longest), (60, 2)))
    angle = rng.uniform(-4, 4, 60)
    spread = rng.normal(0, 0.1, (400, 5)) * [1, 1, 0.5, 0.5, 2 / longest]
    boxes = np.column_stack([center, size, angle])[objects]
    boxes[:, 2:4] *= np.exp(spread[:, 2:4])
    boxes[:, [0, 1, 4]] += spread[:, [0, 1, 4]]
    boxes[::2, :2] += rng.normal(0, longest / 9, (200, 2)) * np.column_stack(
        [np.cos(boxes[::2, 4]), np.sin(boxes[::2, 4])]
    )
    boxes[::3] = boxes[::3][:, [0, 1, 3, 2, 4]] + [0, 0, 0, 0, np.pi / 2]
    scores = rng.random(400)
    for threshold in (0.0771, 0.1571, 0.2571, 0.3371, 0.4571, 0.5571, 0.6971, 0.8571, 0.9571):
        expected = plain_rotated_nms(boxes, scores, threshold, "iou", np.zeros(400))
        assert bp.nms(boxes, scores, threshold, form="cxcywhr").tolist() == expected


def test_nms_of_quarter_turns_is_that_of_upright_boxes():
    rng = np.random.default_rng(6)
    center, size = rng.integers(0, 60, (300, 2)), rng.integers(1, 12, (300, 2)) * 2
    angle, scores = rng.integers(-4, 5, 300), rng.integers(0, 40, 300)
    boxes = np.column_stack([center, size, angle * 90])
    half = np.where((angle % 2 == 1)[:, np.newaxis], size[:, ::-1], size) // 2
    upright = np.concatenate([center - half, center + half], axis=1)
    for threshold, metric in product((0.0, 0.25, 1 / 3, 0.5, 1.0), ("iou", "ios")):
        found = bp.nms(boxes, scores, threshold, form="cxcywhr", degrees=True, metric=metric)
        assert found.tolist() == bp.nms(upright, scores, threshold, metric=metric).tolist()


@pytest.mark.parametrize("form", ["cxcywhr", "xyzlwhr"])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_nms_few_rotated_boxes(form, count):
    columns = 5 if form == "cxcywhr" else 7
    boxes = np.ones((count, columns))
    assert bp.nms(boxes, np.arange(count), 0.5, form=form).tolist() == ([] if count == 0 else [count - 1])
    assert bp.nms(boxes, np.arange(count), 0.5, form=form, batch=np.arange(count)).tolist() == [*range(count)][::-1]
    assert bp.iou(boxes, boxes, form=form).tolist() == [1.0] * count
    assert bp.nms([], [], 0.5, form=form).tolist() == []
    rows, scores = bp.soft_nms(boxes, np.ones(count), form=form, decay="linear")
    assert (rows.tolist(), scores.tolist()) == ([0][:count], [1.0][:count])


@pytest.mark.parametrize("dtype", [*DTYPES, "int32"])
def test_forms_without_an_angle_are_those_of_corners(dtype):
    rng = np.random.default_rng(2)
    for dimension in (1, 2, 3, 4):
        size = rng.integers(0, 9, (70, dimension)) * 2
        lower = rng.integers(0, 20, (70, dimension))
        corners = np.stack([lower, lower + size], axis=1).astype(dtype)
        forms = {
            "xywh": np.concatenate([lower, size], axis=1).astype(dtype),
            "cxcywh": np.concatenate([lower + size // 2, size], axis=1).astype(dtype),
        }
        scores, pairs = rng.random(70), rng.integers(0, 70, (200, 2))
        for form, numbers in forms.items():
            found = bp.nms(numbers, scores, 0.3, form=form)
            assert found.tolist() == bp.nms(corners, scores, 0.3).tolist()
            assert bp.iou(numbers, pairs=pairs, form=form).tolist() == bp.iou(corners, pairs=pairs).tolist()
            soft, plain = bp.soft_nms(numbers, scores, form=form), bp.soft_nms(corners, scores)
            assert all(a.tolist() == b.tolist() for a, b in zip(soft, plain, strict=True))


def test_corners_of_forms_are_computed_in_the_dtype():
    # 0.1 + 0.2 in float32 is the float32 next to 0.3; at a threshold of 0 a box that begins there only touches.
    first, second = np.float32([[0.1, 0, 0.2, 1]]), np.float32([[np.float32(0.1) + np.float32(0.2), 0, 1, 1]])
    both = np.concatenate([first, second])
    assert bp.nms(both, [2, 1], 0.0, form="xywh").tolist() == [0, 1]


@pytest.mark.parametrize(
    ("boxes", "form", "text"),
    [
        ([[0, 0, 1, 1, np.nan]], "cxcywhr", "boxes: row 0: angle is NaN"),
        ([[0, 0, 1, 1, 0], [0, 0, -1, 1, 0]], "cxcywhr", r"boxes: row 1: width is negative \(-1.0\)"),
        ([[0, 0, 0, 1, 1, -2, 0]], "xyzlwhr", r"boxes: row 0: height is negative \(-2.0\)"),
        ([[0, np.inf, 0, 1, 1, 2, 0]], "xyzlwhr", "boxes: row 0: y is infinite"),
        ([[0, 0, 1, 1, -np.inf]], "cxcywhr", "boxes: row 0: angle is infinite"),
        ([[0, 1e301, 1, 1, 0]], "cxcywhr", r"boxes: row 0: y is beyond 1e\+300 \(1e\+301\)"),
        ([[0, 0, 1, 1]], "cxcywhr", r"boxes must have shape \(n, 5\) for form='cxcywhr', not \(1, 4\)"),
        ([[0, 0, 1, 1, 0]], "xyzlwhr", r"boxes must have shape \(n, 7\)"),
        ([0, 0, 1, 1, 0], "cxcywhr", r"boxes must have shape \(n, 5\)"),
        ([[0, 0, 1, 1, 0]], "xywh", r"boxes must have shape \(n, 2\*d\)"),
        ([[0, 0, 1, -1]], "xywh", r"boxes: row 0: height is negative \(-1.0\)"),
        ([[0, np.nan, 1, 1]], "cxcywh", "boxes: row 0: center y is NaN"),
        ([[0, 0, 0, 1, 1, -3]], "cxcywh", r"boxes: row 0: size\[2\] is negative \(-3.0\)"),
        (np.float32([[3e38, 0, 3e38, 1]]), "xywh", "boxes: row 0 is infinite"),
        ([["a"] * 5], "cxcywhr", "boxes"),
        ([[0, 0, 1, 1]], "xyhw", "form"),
        ([[0, 0, 1, 1]], None, "form"),
    ],
)
def test_bad_boxes_of_every_form_are_named(boxes, form, text):
    for call in (
        lambda: bp.nms(boxes, np.ones(len(boxes)), 0.5, form=form),
        lambda: bp.iou(boxes, boxes, form=form),
        lambda: bp.soft_nms(boxes, np.ones(len(boxes)), form=form),
    ):
        if isinstance(boxes, np.ndarray) and call.__code__.co_names[1] != "nms":
            continue  # in float64 it fits
        with pytest.raises((ValueError, TypeError), match=text):
            call()


def test_rotated_scores_degrees_and_the_other_set_are_checked():
    boxes = [[0, 0, 1, 1, 0]] * 3
    with pytest.raises(ValueError, match="scores: row 1 is NaN"):
        bp.nms(boxes, [1, np.nan, 2], 0.5, form="cxcywhr")
    with pytest.raises(ValueError, match=r"scores must have shape \(3,\)"):
        bp.nms(boxes, [1, 2], 0.5, form="cxcywhr")
    with pytest.raises(ValueError, match="degrees=True needs a form with an angle, one of cxcywhr, xyzlwhr"):
        bp.nms([[0, 0, 1, 1]], [1], 0.5, degrees=True)
    with pytest.raises(TypeError, match="degrees must be True or False"):
        bp.iou(boxes, boxes, form="cxcywhr", degrees="yes")
    with pytest.raises(bp.errors.InvalidBoxError, match="other: row 2: height is negative") as caught:
        bp.iou(boxes, [*boxes[:2], [0, 0, 1, -1, 0]], form="cxcywhr")
    assert caught.value.row == 2
