"""Array forms: whatever the layout and dtype, the answer is that for the plain array."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import oracle
from cases import METHOD_NAMES, scene

DTYPES = ("f2", "f4", "f8", ">f4", ">f8", "i1", "i4", ">i8", "u2", "u8", "?")


def unaligned(boxes):
    memory = np.zeros(boxes.nbytes + 1, np.uint8)
    view = memory[1:].view(boxes.dtype).reshape(boxes.shape)
    view[...] = boxes
    return view


def within(boxes, *, rows=1, axes=0):
    """Put the boxes into every `rows`-th row of a larger array with `axes` more columns of other numbers."""
    n, _, dimension = boxes.shape
    wide = np.ones((n * rows, 2, dimension + axes), boxes.dtype)
    view = wide[::rows, :, :dimension]
    view[...] = boxes
    return view


def read_only(boxes):
    copy = boxes.copy()
    copy.setflags(write=False)
    return copy


class Holder:
    """Something that is no array but can become one."""

    def __init__(self, boxes):
        self.boxes = boxes

    def __array__(self, dtype=None, copy=None):
        return self.boxes if dtype is None else self.boxes.astype(dtype)


def in_rows(boxes):
    return boxes.reshape(len(boxes), 2 * boxes.shape[2])


LAYOUTS = {
    "plain": lambda boxes: boxes,
    "rows of 2 d": in_rows,
    "fortran order": np.asfortranarray,
    "fortran rows of 2 d": lambda boxes: np.asfortranarray(in_rows(boxes)),
    "corners first": lambda boxes: np.ascontiguousarray(boxes.transpose(1, 0, 2)).transpose(1, 0, 2),
    "axes first": lambda boxes: np.ascontiguousarray(boxes.transpose(2, 1, 0)).transpose(2, 1, 0),
    "every third row": lambda boxes: within(boxes, rows=3),
    "of wider rows": lambda boxes: within(boxes, axes=2),
    "rows backwards": lambda boxes: boxes[::-1].copy()[::-1],
    "axes backwards": lambda boxes: boxes[:, :, ::-1].copy()[:, :, ::-1],
    "corners backwards": lambda boxes: boxes[:, ::-1].copy()[:, ::-1],
    "read-only": read_only,
    "unaligned": unaligned,
    "pair of arrays": lambda boxes: (boxes[:, 0].copy(), boxes[:, 1].copy()),
    "pair of views": lambda boxes: (boxes[:, 0], boxes[:, 1]),
    "pair of unlike layout": lambda boxes: (np.asfortranarray(boxes[:, 0]), boxes[::-1, 1].copy()[::-1]),
    "lists": lambda boxes: boxes.tolist(),
    "pair of lists": lambda boxes: (boxes[:, 0].tolist(), boxes[:, 1].tolist()),
    "object with __array__": Holder,
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_and_dtype_gives_the_same_pairs(layout, dtype):
    for dimension in (1, 2, 3, 4):
        for n in (1, 2, 90):
            rng = np.random.default_rng(dimension)
            lower = rng.integers(0, 2, (n, dimension)) if dtype == "?" else rng.integers(0, 8, (n, dimension))
            upper = np.maximum(lower, rng.integers(0, 2, lower.shape)) if dtype == "?" else lower + 1
            boxes = np.stack([lower, upper], axis=1).astype(dtype)
            expected = oracle.pairs(boxes.astype("f8"))
            form = layout(boxes)
            for method in METHOD_NAMES:
                assert np.array_equal(bp.pairs(form, method=method, sort=True), expected), (dimension, n, method)
            assert bp.count_pairs(form) == len(expected)
            assert sum(map(len, bp.iter_pairs(form, chunk=5))) == len(expected)
            assert len(bp.pairs(form, boxes)) == len(bp.pairs(boxes, form)) == 2 * len(expected) + n


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_layout_of_a_large_scene_gives_the_same_pairs(layout, dtype):
    for name in ("uniform", "rects"):
        boxes = scene(name, 3000, 1, dtype)
        expected = bp.pairs(boxes, sort=True)
        for method in METHOD_NAMES:
            assert np.array_equal(bp.pairs(layout(boxes), method=method, sort=True), expected)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_of_no_boxes_gives_no_pairs(layout):
    if layout is LAYOUTS["lists"] or layout is LAYOUTS["pair of lists"]:
        assert bp.pairs(layout(np.empty((0, 2, 2)))).shape == (0, 2)
        return
    for dimension in (1, 2, 3, 4):
        assert bp.pairs(layout(np.empty((0, 2, dimension)))).shape == (0, 2)


def test_rows_that_all_are_one_broadcast_box_overlap():
    boxes = np.broadcast_to(np.array([[0.0, 0.0], [1.0, 1.0]]), (50, 2, 2))
    for method in METHOD_NAMES:
        assert bp.count_pairs(boxes, method=method) == 50 * 49 // 2


def test_boxes_in_a_memory_map_are_read(tmp_path):
    path = tmp_path / "boxes.npy"
    np.save(path, scene("rects", 500))
    assert np.array_equal(bp.pairs(np.load(path, mmap_mode="r")), bp.pairs(scene("rects", 500)))


def test_integers_are_exact_beyond_float32():
    base = 2**24
    boxes = [[base, 0, base + 1, 1], [base + 2, 0, base + 3, 1], [base + 3, 0, base + 4, 1]]
    for method in METHOD_NAMES:
        assert bp.pairs(np.array(boxes), method=method).tolist() == [[1, 2]]


def test_integers_that_float64_cannot_hold_are_refused():
    with pytest.raises(ValueError, match="row 1"):
        bp.pairs([[0, 0, 1, 1], [0, 0, 2**53 + 1, 1]])


def test_masked_values_are_refused_and_masked_arrays_without_them_read():
    boxes = np.ma.array(scene("rects", 50))
    assert np.array_equal(bp.pairs(boxes), bp.pairs(scene("rects", 50)))
    boxes[3, 0, 0] = np.ma.masked
    with pytest.raises(ValueError, match="row 3"):
        bp.pairs(boxes)


def test_subclass_of_array_gives_a_plain_array():
    class Tagged(np.ndarray):
        pass

    found = bp.pairs(scene("rects", 50).view(Tagged))
    assert type(found) is np.ndarray


def test_float32_and_float64_are_each_compared_as_given():
    # 0.1 is larger in float32: the same decimals overlap in one dtype and not in the other.
    lower, upper = np.array([[0.0], [np.float32(0.1)]]), np.array([[0.1], [1.0]])
    for method in METHOD_NAMES:
        assert bp.count_pairs((lower, upper), method=method) == 0
        assert bp.count_pairs((lower.astype("f4"), upper.astype("f4")), method=method) == 1
        assert bp.count_pairs((lower.astype("f4"), upper), method=method) == 0
