"""Pairs of boxes as detectors give them: of every form as of corners, and turned ones as shapely's polygons."""

import numpy as np
import pytest

import broadphase as bp

shapely = pytest.importorskip("shapely")


def random_boxes(rng, count, dim=2):
    centers, sizes = rng.uniform(0, 10, (count, dim)), rng.uniform(0.01, 3, (count, dim))
    return centers, sizes


def polygons(centers, sizes, angles):
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) / 2 * sizes[:, None, :2]
    cosines, sines = np.cos(angles)[:, None], np.sin(angles)[:, None]
    x, y = corners[..., 0], corners[..., 1]
    turned = np.stack([cosines * x - sines * y, sines * x + cosines * y], axis=2) + centers[:, None, :2]
    return shapely.polygons(turned)


def meeting(one, other):
    """Which polygons meet, and which are so near touching that either answer is right."""
    shared, gaps = shapely.area(shapely.intersection(one, other)), shapely.distance(one, other)
    return (gaps == 0) & (shared > 1e-12), (gaps < 1e-12) & (shared < 1e-12)


@pytest.mark.parametrize("form", ["xywh", "cxcywh"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_upright_forms_as_corners(form, dtype):
    rng = np.random.default_rng(1)
    centers, sizes = random_boxes(rng, 300, 3)
    first = (centers - sizes / 2 if form == "xywh" else centers).astype(dtype)
    sizes = sizes.astype(dtype)
    lower = first if form == "xywh" else first - sizes / 2
    upper = first + sizes if form == "xywh" else first + sizes / 2
    given = np.concatenate([first, sizes], axis=1)
    options = {"batch": rng.integers(0, 2, 300), "touching": False, "margin": 0.1, "sort": True, "workers": 2}
    assert bp.pairs(given, form=form, **options).tolist() == bp.pairs((lower, upper), **options).tolist()
    two = bp.pairs(given[:100], given[50:], form=form, sort=True)
    assert two.tolist() == bp.pairs((lower[:100], upper[:100]), (lower[50:], upper[50:]), sort=True).tolist()


@pytest.mark.parametrize("form", ["cxcywhr", "xyzlwhr"])
@pytest.mark.parametrize("seed", range(4))
def test_turned_boxes_as_polygons(form, seed):
    rng = np.random.default_rng(seed)
    dim = 2 if form == "cxcywhr" else 3
    centers, sizes = random_boxes(rng, 150, dim)
    if seed % 2:
        sizes[:, 0] *= 6
        sizes[:, 1] /= 30
    angles = rng.uniform(-9, 9, 150)
    given = np.column_stack([centers, sizes, angles])
    shapes = polygons(centers, sizes, angles)
    first, second = np.triu_indices(150, 1)
    meet, either = meeting(shapes[first], shapes[second])
    if dim == 3:
        meet &= np.abs(centers[first, 2] - centers[second, 2]) <= (sizes[first, 2] + sizes[second, 2]) / 2
    assert not either.any()
    expected = np.column_stack([first, second])[meet].tolist()
    assert len(expected) > 100
    for options in ({}, {"touching": False}, {"workers": 2, "method": "grid"}):
        assert bp.pairs(given, form=form, sort=True, **options).tolist() == expected
    degrees = np.column_stack([centers, sizes, np.degrees(angles)])
    assert bp.pairs(degrees, form=form, degrees=True, sort=True).tolist() == expected
    keys = rng.integers(0, 2, 150)
    of_keys = [pair for pair in expected if keys[pair[0]] == keys[pair[1]]]
    assert bp.pairs(given, form=form, batch=keys, sort=True).tolist() == of_keys
    two = bp.pairs(given[:40], given, form=form, sort=True).tolist()
    both_ways = {(a, b) for a, b in expected} | {(b, a) for a, b in expected} | {(a, a) for a in range(40)}
    assert two == sorted([a, b] for a, b in both_ways if a < 40)
    assert [tuple(pair) for pair in bp.iou(given, form=form, threshold=0).pairs.tolist()] == [
        tuple(p) for p in expected
    ]


def test_boxes_at_right_angles_that_touch():
    boxes = [[0, 0, 2, 2, 90], [2, 0, 2, 2, 0], [0, 2, 2, 2, 180], [5, 5, 0, 2, 0]]
    options = {"form": "cxcywhr", "degrees": True, "sort": True}
    assert bp.pairs(boxes, **options).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert bp.pairs(boxes, touching=False, **options).tolist() == []
    thin = [[0, 0, 0, 4, 45], [0, 0, 2, 2, 0]]
    assert bp.pairs(thin, **options).tolist() == [[0, 1]]
    assert bp.pairs(thin, touching=False, **options).tolist() == []


def test_few_and_no_boxes_and_a_fixed_size():
    for form, width in (("xywh", 4), ("cxcywh", 4), ("cxcywhr", 5), ("xyzlwhr", 7)):
        assert bp.pairs(np.empty((0, width)), form=form).shape == (0, 2)
        assert bp.pairs(np.zeros((1, width)), form=form).shape == (0, 2)
        padded = bp.pairs(np.zeros((3, width)), form=form, capacity=2)
        assert padded.pairs.shape == (2, 2)
        assert padded.count == 3
        with pytest.raises(bp.errors.TooManyPairsError):
            bp.pairs(np.zeros((3, width)), form=form, max_pairs=2)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"form": "abc"}, "unknown form"),
        ({"form": "cxcywhr"}, r"boxes must have shape \(n, 5\) for form='cxcywhr', not \(1, 4\)"),
        ({"form": "xywh", "degrees": True}, "degrees=True needs a form with an angle"),
        ({"degrees": True}, "degrees=True needs a form with an angle"),
    ],
)
def test_bad_forms_are_named(options, text):
    with pytest.raises(ValueError, match=text):
        bp.pairs([[0, 0, 1, 1]], **options)
    for name, value in (("margin", 1.0), ("period", 5.0), ("invalid", "skip")):
        with pytest.raises(ValueError, match=f"{name}= is not for boxes with an angle"):
            bp.pairs([[0, 0, 1, 1, 0]], form="cxcywhr", **{name: value})
    with pytest.raises(bp.errors.InvalidBoxError, match="row 1: width is negative"):
        bp.pairs([[0, 0, 1, 1, 0], [0, 0, -1, 1, 0]], form="cxcywhr")
