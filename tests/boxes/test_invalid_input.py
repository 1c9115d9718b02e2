"""Bad input: the error names what is wrong and where, at every entry point, and nothing is dropped silently."""

import warnings

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs, oracle
from cases import DIMENSIONS, DTYPES, METHOD_NAMES, scene

ENTRIES = {
    "pairs": bp.pairs,
    "count_pairs": bp.count_pairs,
    "iter_pairs": lambda *args, **options: list(bp.iter_pairs(*args, **options)),
}
each_entry = pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)


@each_entry
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_nan_anywhere_is_refused_with_its_place(entry, dimension, dtype):
    n = 21
    good = scene("uniform", n, 1, dtype, dimension)
    for row in range(n):
        for corner, corner_name in enumerate(("lower", "upper")):
            for axis in range(dimension):
                bad = good.copy()
                bad[row, corner, axis] = np.nan
                place = rf"row {row}: {corner_name}\[{axis}\] is NaN"
                for arguments, name in (((bad,), "boxes"), ((bad, good), "boxes"), ((good, bad), "other")):
                    with pytest.raises(bp.errors.InvalidBoxError, match=place) as caught:
                        entry(*arguments)
                    assert caught.value.row == row
                    assert name in str(caught.value)


@each_entry
@pytest.mark.parametrize("method", METHOD_NAMES)
@pytest.mark.parametrize("n", [1, 100, 1000, 5000])
def test_nan_is_refused_by_every_method_and_size(entry, method, n):
    for dtype in DTYPES:
        bad = scene("uniform", n, 1, dtype).copy()
        for row in (0, n // 2, n - 1):
            bad[row:, 1, 2] = np.nan
            for workers in (1, 2):
                with pytest.raises(ValueError, match=rf"row {row}: .*NaN"):
                    entry(bad, method=method, workers=workers)
            bad[row:, 1, 2] = 1.0


@each_entry
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_lower_above_upper_is_refused_with_its_place(entry, dimension):
    n = 9
    good = scene("uniform", n, 1, "float64", dimension)
    for row in range(n):
        for axis in range(dimension):
            bad = good.copy()
            bad[row, 0, axis] = np.nextafter(bad[row, 1, axis], np.inf)
            for arguments in ((bad,), (bad, good), (good, bad)):
                place = rf"row {row}: lower\[{axis}\] > upper\[{axis}\]"
                with pytest.raises(bp.errors.InvalidBoxError, match=place) as caught:
                    entry(*arguments)
                assert caught.value.row == row


@each_entry
@pytest.mark.parametrize("method", METHOD_NAMES)
def test_lower_above_upper_is_refused_by_every_method(entry, method):
    bad = scene("uniform", 3000).copy()
    bad[2999] = bad[2999, ::-1]
    bad[1234] = bad[1234, ::-1]
    for workers in (1, 2):
        with pytest.raises(ValueError, match="row 1234: "):
            entry(bad, method=method, workers=workers)


@each_entry
def test_infinite_corners_the_wrong_way_round_are_refused(entry):
    with pytest.raises(ValueError, match=r"row 1: lower\[0\] > upper\[0\]"):
        entry([[0.0, 0.0, 1.0, 1.0], [np.inf, 0.0, -np.inf, 1.0]])


@each_entry
def test_bad_boxes_with_filters_or_margin_are_refused_all_the_same(entry):
    bad = scene("rects", 50).copy()
    bad[7, 0, 1] = np.nan
    for options in (
        {"margin": 3.0},
        {"touching": False},
        {"mask": 0},
        {"static": np.ones(50, bool)},
        {"group": [-1] * 50},
    ):
        with pytest.raises(ValueError, match="row 7: "):
            entry(bad, **options)


@each_entry
def test_bad_box_next_to_an_empty_set_is_refused(entry):
    bad = np.array([[[0.0, 0.0], [np.nan, 1.0]]])
    with pytest.raises(ValueError, match="row 0: "):
        entry(bad)
    with pytest.raises(ValueError, match="row 0: "):
        entry(bad, np.empty((0, 2, 2)))


def test_sort_does_not_hide_a_bad_box():
    bad = scene("rects", 50).copy()
    bad[7, 0, 1] = np.nan
    with pytest.raises(ValueError, match="row 7: "):
        bp.pairs(bad, sort=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [10, 500, 3000])
def test_skip_leaves_bad_rows_out_and_keeps_the_numbers_of_the_others(n, dtype):
    rng = np.random.default_rng(n)
    boxes = scene("rects", n, 1, dtype).copy()
    bad = rng.random(n) < 0.2
    bad[n // 2] = True
    boxes[bad] = boxes[bad][:, ::-1]
    boxes[n // 2, 0, 0] = np.nan
    rows = np.flatnonzero(~bad)
    expected = rows[oracle.pairs(boxes[rows])]
    first = np.flatnonzero(bad)[0]
    for method in METHOD_NAMES:
        with pytest.warns(bp.errors.InvalidBoxWarning, match=rf"{bad.sum()} .*row {first}: "):
            found = bp.pairs(boxes, method=method, invalid="skip", sort=True)
        assert np.array_equal(found, expected)
        with pytest.warns(bp.errors.InvalidBoxWarning):
            assert bp.count_pairs(boxes, method=method, invalid="skip") == len(expected)
        with pytest.warns(bp.errors.InvalidBoxWarning):
            chunks = list(bp.iter_pairs(boxes, method=method, invalid="skip", chunk=7))
        assert_same_pairs(np.concatenate([np.empty((0, 2), np.int32), *chunks]), expected)


def test_skip_of_two_sets_keeps_the_numbers_of_both():
    a, b = scene("rects", 300, 1).copy(), scene("rects", 200, 2).copy()
    a[::3, 0, 0], b[1::4, 1, 1] = np.nan, np.nan
    keep_a, keep_b = np.flatnonzero(np.arange(300) % 3), np.flatnonzero(np.arange(200) % 4 != 1)
    inner = oracle.pairs(a[keep_a], b[keep_b])
    expected = np.stack([keep_a[inner[:, 0]], keep_b[inner[:, 1]]], axis=1)
    with pytest.warns(bp.errors.InvalidBoxWarning):
        assert_same_pairs(bp.pairs(a, b, invalid="skip"), expected)


def test_skip_keeps_filters_with_their_boxes():
    n = 400
    rng = np.random.default_rng(1)
    boxes = scene("uniform", n, 1).copy()
    boxes[::5, 1, 0] = np.nan
    rows = np.flatnonzero(np.arange(n) % 5)
    all_pairs = rows[oracle.pairs(boxes[rows])]
    filters = {
        "layer": rng.integers(1, 8, n).astype(np.uint64),
        "mask": rng.integers(1, 8, n).astype(np.uint64),
        "group": rng.integers(-2, 3, n),
        "static": rng.random(n) < 0.5,
        "ignore_shared": rng.integers(0, n, (n, 2)),
    }
    expected = rows[oracle.pairs(boxes[rows], **{name: values[rows] for name, values in filters.items()})]
    ignored = np.concatenate([all_pairs[::2], [[0, 1]]])
    expected = expected[~np.isin(expected[:, 0] * n + expected[:, 1], ignored[:, 0] * n + ignored[:, 1])]
    with pytest.warns(bp.errors.InvalidBoxWarning):
        assert_same_pairs(bp.pairs(boxes, invalid="skip", ignore_pairs=ignored, **filters), expected)


def test_skip_of_every_row_gives_no_pairs():
    with pytest.warns(bp.errors.InvalidBoxWarning, match="2 "):
        assert bp.pairs(np.full((2, 2, 3), np.nan), invalid="skip").shape == (0, 2)


def test_skip_of_good_boxes_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(bp.pairs(scene("rects", 99), invalid="skip"), bp.pairs(scene("rects", 99)))


SHAPES = [
    (),
    (3,),
    (5, 3),
    (5, 5),
    (5, 10),
    (5, 7),
    (5, 0),
    (5, 1, 2),
    (5, 3, 2),
    (5, 2, 5),
    (5, 2, 0),
    (5, 2, 3, 2),
    (5, 2, 2, 5),
    (0, 3),
]


@each_entry
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_wrong_shapes_are_refused(entry, shape):
    with pytest.raises(ValueError, match="shape"):
        entry(np.zeros(shape))
    with pytest.raises(ValueError, match="shape"):
        entry(np.zeros((1, 2, 2)), np.zeros(shape))


@each_entry
def test_corners_of_unlike_shape_are_refused(entry):
    for lower, upper in (((5, 2), (5, 3)), ((5, 2), (4, 2)), ((5,), (5,)), ((5, 5), (5, 5)), ((5, 2, 5), (5, 2, 5))):
        with pytest.raises(ValueError, match="shape"):
            entry((np.zeros(lower), np.zeros(upper)))


@each_entry
def test_two_sets_of_unlike_dimension_are_refused(entry):
    with pytest.raises(ValueError, match="dimension"):
        entry(scene("rects", 5), scene("uniform", 5))


@each_entry
@pytest.mark.parametrize("dtype", ["complex64", "complex128", "U3", "S3", "O", "M8[s]", "m8[s]"])
def test_wrong_dtypes_are_refused(entry, dtype):
    with pytest.raises(TypeError, match="float32"):
        entry(np.zeros((5, 2, 2)).astype(dtype))


@each_entry
@pytest.mark.parametrize(
    "boxes", ["boxes", b"boxes", None, 3, {}, [[1, 2], [3]], pytest.param(object(), id="object")], ids=repr
)
def test_things_that_are_no_arrays_are_refused(entry, boxes):
    with pytest.raises((TypeError, ValueError)):
        entry(boxes)


@each_entry
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "quick"}, "method"),
        ({"method": None}, "method"),
        ({"workers": 0}, "workers"),
        ({"workers": -2}, "workers"),
        ({"workers": 1.5}, "workers"),
        ({"margin": -1.0}, "margin"),
        ({"margin": np.inf}, "margin"),
        ({"margin": np.nan}, "margin"),
        ({"invalid": "ignore"}, "invalid"),
        ({"invalid": None}, "invalid"),
    ],
)
def test_bad_options_are_refused_by_name(entry, options, message):
    for n in (0, 5, 3000):
        with pytest.raises((TypeError, ValueError), match=message):
            entry(scene("rects", n), **options)


def test_bad_options_of_one_function_are_refused_by_name():
    with pytest.raises(ValueError, match="max_pairs"):
        bp.pairs(scene("rects", 5), max_pairs=-1)
    for chunk in (0, -1):
        with pytest.raises(ValueError, match="chunk"):
            bp.iter_pairs(scene("rects", 5), chunk=chunk)


def test_names_from_an_array_of_text_are_names():
    boxes = [[0, 0, 1, 1], [1, 1, 2, 2]]
    for method, invalid in np.array([["grid", "raise"], ["bvh", "skip"]]):
        assert bp.pairs(boxes, method=method, invalid=invalid).tolist() == [[0, 1]]


def test_unknown_method_is_told_the_known_ones():
    with pytest.raises(ValueError, match="sweep_and_prune"):
        bp.pairs(scene("rects", 5), method="sap")


@each_entry
def test_options_must_be_named(entry):
    with pytest.raises(TypeError):
        entry(scene("rects", 5), None, "auto")


def test_work_goes_on_after_an_error():
    boxes = scene("uniform", 2000)
    expected = bp.pairs(boxes, sort=True)
    bad = boxes.copy()
    bad[77] = np.nan
    for _ in range(20):
        with pytest.raises(bp.errors.InvalidBoxError):
            bp.pairs(bad)
        assert np.array_equal(bp.pairs(boxes, sort=True), expected)


def test_invalid_box_error_is_a_value_error():
    assert issubclass(bp.errors.InvalidBoxError, ValueError)
    assert issubclass(bp.errors.TooManyPairsError, RuntimeError)
    assert issubclass(bp.errors.InvalidBoxWarning, UserWarning)
