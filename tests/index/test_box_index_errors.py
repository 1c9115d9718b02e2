"""Input that an index refuses: it names the row, and is unchanged."""

import pickle
from functools import partial

import numpy as np
import pytest

import broadphase as bp
from broadphase.index.queries import QUERIES
from broadphase.testing import make_scene
from cases import EACH_INDEX, capabilities_of
from query_cases import arguments_of

NAN = float("nan")
BAD_BOXES = [
    ([[0, 0, 1, 1], [0, NAN, 1, 1]], r"row 1: lower\[1\] is NaN"),
    ([[0, 0, 1, 1], [0, 3, 1, 1]], r"row 1: lower\[1\] > upper\[1\]"),
    ([[0, 0, 0, 1, 1, 1]] * 2, "boxes have 3 dimensions; 2 are needed"),
    ([[0.1, 0, 1, 1]] * 2, "row 0 has 0.1, which float32, the dtype of the index, does not hold exactly"),
    ([[0, 0, 1, 1e300]] * 2, "does not hold exactly"),
    ([0, 0, 1, 1], "boxes has shape"),
]


@pytest.fixture
def index():
    made = bp.BVH(make_scene("rects", 40), layer=1)
    made.remove([3, 30])
    return made


@pytest.fixture
def unchanged(index):
    def state():
        return index.boxes_of().tobytes(), index.handles().tolist(), index.slots, index.pairs(sort=True).tolist()

    before = state()
    yield
    index.validate()
    assert state() == before


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(("boxes", "message"), BAD_BOXES)
def test_bad_boxes_are_refused_and_named(index, boxes, message):
    with pytest.raises(ValueError, match=message):
        index.insert(boxes)
    with pytest.raises(ValueError, match=message):
        index.move([5, 6], boxes)


@pytest.mark.parametrize(("boxes", "message"), BAD_BOXES[:2])
def test_bad_boxes_make_no_index(boxes, message):
    with pytest.raises(bp.errors.InvalidBoxError, match=message) as caught:
        bp.BVH(boxes)
    assert caught.value.row == 1


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([5, 3], KeyError, "row 3 has been removed"),
        ([5, 40], KeyError, "row 40 does not exist: there are 40 rows"),
        ([-1, 5], KeyError, "row -1 does not exist"),
        ([2**40, 5], KeyError, "row 1099511627776 does not exist"),
        ([9, 5, 9], ValueError, "row 9 is repeated"),
        ([1.0, 2.0], TypeError, "rows must be integers"),
        ([True, False], TypeError, "rows must be integers"),
        ([[1, 2]], TypeError, "rows must be integers"),
    ],
)
def test_bad_rows_are_refused_and_named(index, rows, error, message):
    boxes = np.zeros((np.size(rows), 2, 2), np.float32)
    with pytest.raises(error, match=message):
        index.remove(rows)
    with pytest.raises(error, match=message):
        index.move(rows, boxes)
    if error is not ValueError:
        for ask in (index.boxes_of, index.handles, lambda rows: index.set_filters(rows, layer=1)):
            with pytest.raises(error, match=message):
                ask(rows)


@pytest.mark.usefixtures("unchanged")
def test_wrong_numbers_of_boxes_or_bits_are_refused(index):
    boxes = np.zeros((2, 2, 2), np.float32)
    with pytest.raises(ValueError, match="2 boxes for 3 rows"):
        index.move([1, 2, 4], boxes)
    with pytest.raises(ValueError, match="2 boxes for 38 rows"):
        index.update(boxes)
    with pytest.raises(ValueError, match="layer has shape"):
        index.insert(boxes, layer=[1, 2, 3])
    with pytest.raises(TypeError, match="mask must be integer"):
        index.insert(boxes, layer=[1, 2], mask=0.5)
    with pytest.raises(ValueError, match="mask has shape"):
        index.set_filters([1, 2], layer=7, mask=[1, 2, 3])


def test_unknown_row_is_named_without_quotes_and_survives_pickling(index):
    with pytest.raises(bp.errors.UnknownRowError) as caught:
        index.remove(3)
    assert str(pickle.loads(pickle.dumps(caught.value))) == "row 3 has been removed"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda index: index.query([[0, 0, NAN, 1]]), r"boxes: row 0: upper\[0\] is NaN"),
        (lambda index: index.query([[0, 0, 1, 1], [1, 0, 0, 1]]), r"boxes: row 1: lower\[0\] > upper\[0\]"),
        (lambda index: index.query([[0, 0, 0, 1, 1, 1]]), "boxes have 3 dimensions; 2 are needed"),
        (lambda index: index.query_points([[0, 0], [NAN, 0]]), "points: row 1 has NaN"),
        (lambda index: index.query_points([[0, 0, 0]]), "points have 3 dimensions; 2 are needed"),
        (lambda index: index.query_ball([[np.inf, 0]], 1), "centers: row 0 is infinite"),
        (lambda index: index.query_ball([[0, 0], [0, 0]], [1, -1]), "radii: row 1 has -1.0, which is not finite"),
        (lambda index: index.query_ball([[0, 0]], np.inf), "radii: row 0 has inf"),
        (lambda index: index.query_ball([[0, 0]] * 3, [1, 2]), "centers has 3 rows and radii has 2"),
        (lambda index: index.query_ball([[0, 0]], [[1, 2]]), "radii must be one number or have shape"),
        (lambda index: index.nearest([[0, NAN]]), "points: row 0 has NaN"),
        (lambda index: index.nearest([[0, 0]], k=0), "k must be from 1 to"),
        (lambda index: index.nearest([[0, 0]], max_distance=NAN), "max_distance: row 0 has nan"),
        (lambda index: index.nearest([[0, 0]], max_distance=-1), "max_distance: row 0 has -1.0"),
        (lambda index: index.raycast([[0, 0]], [[1, np.inf]]), "directions: row 0 is infinite"),
        (lambda index: index.raycast([[0, 0]] * 3, [[1, 0], [0, 1]]), "origins has 3 rows and directions has 2"),
        (lambda index: index.raycast_all([[0, NAN]], [1, 0]), "origins: row 0 has NaN"),
        (lambda index: index.raycast_any([[0, 0]], [1, 0], max_distance=[NAN]), "max_distance: row 0 has nan"),
        (lambda index: index.shapecast([[0, 0, 1, 1]], [[NAN, 0]]), "motions: row 0 has NaN"),
        (lambda index: index.shapecast([[0, 0, 1, NAN]], [1, 0]), r"boxes: row 0: upper\[1\] is NaN"),
        (lambda index: index.query_obb([[0, 0, 0]], 1, np.eye(3)), "3 dimensions; 2 are needed"),
        (lambda index: index.frustum(), "frustum takes either a matrix or planes"),
        (lambda index: index.frustum(np.eye(3), planes=[[1, 0, 0]]), "frustum takes either a matrix or planes"),
        (lambda index: index.query([[0, 0, 1, 1]], workers=0), "workers must be a positive number"),
        (lambda index: index.query([[0, 0, 1, 1]], layer=[1, 2]), "layer has shape"),
        (lambda index: index.pairs(margin=-1), "margin must not be negative"),
        (lambda index: index.pairs(layer=[1]), "layer has shape"),
        (lambda index: index.pairs([[0, 0, 0, 1, 1, 1]]), "boxes have 2 dimensions and other has 3"),
        (lambda index: index.pairs([[0, NAN, 1, 1]]), "other: row 0: .* is NaN"),
        (lambda index: index.pairs(max_pairs=-1), "max_pairs must not be negative"),
    ],
)
def test_bad_queries_are_refused_and_named(index, ask, message):
    with pytest.raises(ValueError, match=message):
        ask(index)


def test_too_many_pairs_are_refused():
    index = bp.BVH([[0, 0, 1, 1]] * 100)
    for options in ({}, {"margin": 1.0}, {"other": index}):
        with pytest.raises(bp.errors.TooManyPairsError, match="more than max_pairs=50"):
            index.pairs(max_pairs=50, **options)


@EACH_INDEX
def test_unsupported_query_names_the_indexes_that_support_it(kind):
    index = kind(make_scene("rects", 10))
    given = arguments_of(np.zeros((1, 2, 2)), np.ones((1, 2)))
    queries = {
        **{row.capability: partial(getattr(index, row.name), **given[row.name]) for row in QUERIES},
        "changes": index.changes,
        "outline": index.outline,
    }
    for word, ask in queries.items():
        if word in capabilities_of(kind):
            ask()
        else:
            with pytest.raises(bp.errors.UnsupportedQueryError, match=f"does not support {word}; use one of .*BVH"):
                ask()
