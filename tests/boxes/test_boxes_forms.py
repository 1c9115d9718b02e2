"""Every accepted form of a box array, and what is refused."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.boxes import as_boxes, as_corners, describe_invalid, find_invalid

LOWER = np.arange(15.0).reshape(5, 3)
UPPER = LOWER + 2


def stacked(dtype=np.float64):
    return np.stack([LOWER, UPPER], axis=1).astype(dtype)


def layouts():
    boxes = stacked()
    wide = np.zeros((5, 4, 7))
    wide[:, 1:3, 2:5] = boxes
    field = np.zeros(5, dtype=[("flag", "u1"), ("box", "f8", (2, 3))])
    field["box"] = boxes
    repeated = np.broadcast_to(boxes[:1], (5, 2, 3))
    read_only = boxes.copy()
    read_only.flags.writeable = False
    return {
        "c order": (boxes, boxes),
        "flat rows": (boxes.reshape(5, 6), boxes),
        "list": (boxes.tolist(), boxes),
        "tuple": ((LOWER, UPPER), boxes),
        "tuple of lists": ((LOWER.tolist(), UPPER.tolist()), boxes),
        "fortran order": (np.asfortranarray(boxes), boxes),
        "flat fortran order": (np.asfortranarray(boxes.reshape(5, 6)), boxes),
        "reversed rows": (boxes[::-1], boxes[::-1]),
        "every other row": (boxes[::2], boxes[::2]),
        "reversed axes": (boxes[:, :, ::-1], boxes[:, :, ::-1]),
        "window": (wide[:, 1:3, 2:5], boxes),
        "unaligned": (field["box"], boxes),
        "repeated row": (repeated, repeated),
        "read-only": (read_only, boxes),
        "big-endian": (boxes.astype(">f8"), boxes),
        "tuple of fortran order": ((np.asfortranarray(LOWER), np.asfortranarray(UPPER)), boxes),
        "one box": (boxes[:1], boxes[:1]),
        "one box of reversed rows": (boxes[::-1][:1], boxes[-1:]),
        "no box": (boxes[:0], boxes[:0]),
        "subclass": (boxes.view(np.recarray), boxes),
    }


@pytest.mark.parametrize("form", layouts())
def test_corners_of_any_layout_are_as_the_core_reads_them(form):
    given, expected = layouts()[form]
    lower, upper = as_corners(given)
    np.testing.assert_array_equal(lower, expected[:, 0])
    np.testing.assert_array_equal(upper, expected[:, 1])
    np.testing.assert_array_equal(as_boxes(given), expected)
    for corner in (lower, upper):
        assert type(corner) is np.ndarray
        assert corner.flags.aligned
        assert corner.dtype.isnative
        if len(corner):
            assert corner.strides[1] == corner.itemsize
            assert corner.strides[0] > 0
            assert corner.strides[0] % corner.itemsize == 0


@pytest.mark.parametrize("form", ["c order", "flat rows", "window", "every other row", "read-only", "tuple"])
def test_corners_of_a_plain_layout_are_views(form):
    given, _ = layouts()[form]
    parts = given if isinstance(given, tuple) else (given, given)
    for corner, part in zip(as_corners(given), parts, strict=True):
        assert np.shares_memory(corner, part)


@pytest.mark.parametrize("dtype", ["f4", "f8", ">f4", ">f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"])
def test_dtype_of_corners_is_kept_or_float64(dtype):
    boxes = stacked().astype(dtype)
    lower, upper = as_corners(boxes)
    assert lower.dtype == upper.dtype == (np.float32 if dtype.endswith("f4") else np.float64)
    np.testing.assert_array_equal(lower, boxes[:, 0].astype(np.float64))


def test_corners_of_two_dtypes_become_float64():
    lower, upper = as_corners((LOWER.astype(np.float32), UPPER))
    assert lower.dtype == upper.dtype == np.float64


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_flat_rows_tell_their_dimension(dimension):
    assert as_boxes(np.zeros((7, 2 * dimension))).shape == (7, 2, dimension)
    assert as_boxes(np.zeros((7, 2, dimension))).shape == (7, 2, dimension)


def test_empty_list_takes_the_dimension_it_is_given():
    assert as_boxes([]).shape == (0, 2, 2)
    assert as_corners([], empty_dim=3)[1].shape == (0, 3)
    assert as_corners(([], []), empty_dim=3)[1].shape == (0, 3)


@pytest.mark.parametrize(
    "boxes",
    [
        5.0,
        [1.0, 2.0],
        np.zeros((3, 3)),
        np.zeros((3, 10)),
        np.zeros((3, 0)),
        np.zeros((3, 3, 2)),
        np.zeros((3, 2, 5)),
        np.zeros((3, 2, 0)),
        np.zeros((1, 2, 3, 4)),
        (np.zeros((3, 2)), np.zeros((4, 2))),
        (np.zeros((3, 2)), np.zeros((3, 3))),
        (np.zeros(3), np.zeros(3)),
        (np.zeros((3, 5)), np.zeros((3, 5))),
        "boxes",
        None,
    ],
)
def test_wrong_shape_raises_value_error(boxes):
    with pytest.raises(ValueError, match="shape"):
        as_corners(boxes)
    with pytest.raises(ValueError, match="shape"):
        as_boxes(boxes)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128, object, "S3", "U3", "M8[s]", "m8[s]", np.longdouble])
def test_dtype_that_is_no_real_number_raises_type_error(dtype):
    if np.dtype(dtype).kind == "f" and np.dtype(dtype).itemsize == 8:
        pytest.skip("longdouble is float64 here")
    with pytest.raises(TypeError, match="float32, float64 or integer"):
        as_corners(np.zeros((3, 2, 2), dtype=dtype))


def test_ragged_rows_name_the_first_odd_one():
    with pytest.raises(ValueError, match="row 2 has shape"):
        as_boxes([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1]])


def test_masked_value_names_its_row():
    boxes = np.ma.masked_greater(stacked(), 13)
    with pytest.raises(ValueError, match="row 4 has a masked value"):
        as_boxes(boxes)
    np.testing.assert_array_equal(as_boxes(np.ma.array(stacked())), stacked())


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1])
def test_integer_beyond_float64_names_its_row(value):
    boxes = np.zeros((4, 2, 2), np.int64)
    boxes[2, 1, 0] = value
    with pytest.raises(ValueError, match=f"row 2 has the integer {value}"):
        as_boxes(boxes)
    boxes[2, 1, 0] = 2**53
    assert as_boxes(boxes)[2, 1, 0] == 2.0**53


def test_unsigned_integer_beyond_float64_names_its_row():
    with pytest.raises(ValueError, match="row 1 has the integer 18446744073709551615"):
        as_boxes(np.array([[0, 1], [0, 2**64 - 1]], np.uint64))


def test_error_names_the_argument():
    with pytest.raises(ValueError, match=r"^walls has shape"):
        as_corners(np.zeros((3, 3)), name="walls")


def test_find_invalid_tells_each_bad_row():
    boxes = stacked(np.float32)
    boxes[1, 0, 2] = np.nan
    boxes[2, 1, 0] = -5
    boxes[4, 1, 1] = np.nan
    rows, reasons = find_invalid(boxes)
    assert rows.tolist() == [1, 2, 4]
    assert rows.dtype == np.int64
    assert reasons == [
        "row 1: lower[2] is NaN",
        "row 2: lower[0] > upper[0] (6.0 > -5.0)",
        "row 4: upper[1] is NaN",
    ]
    rows, reasons = find_invalid(boxes, limit=1)
    assert (len(rows), len(reasons)) == (3, 1)


def test_find_invalid_accepts_infinite_and_empty_boxes():
    boxes = [[-np.inf, 0, np.inf, 0], [0.0, 0.0, -0.0, 0.0], [np.inf, np.inf, np.inf, np.inf]]
    assert find_invalid(boxes)[0].size == 0
    assert describe_invalid(*as_corners(boxes), 0) == "row 0 is a valid box"


def test_find_invalid_and_pairs_say_the_same():
    boxes = stacked()
    boxes[3, 0, 1] = np.nan
    with pytest.raises(bp.errors.InvalidBoxError, match=r"row 3: lower\[1\] is NaN") as caught:
        bp.pairs(boxes)
    assert caught.value.row == 3
