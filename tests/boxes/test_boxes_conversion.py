"""Boxes from what other libraries have: rectangles, geometries, tables."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import broadphase as bp
from broadphase.boxes import from_frame, from_geometries, from_rects, from_xywh

NAN, INF = float("nan"), float("inf")


def test_from_xywh_of_exact_sums_gives_lower_and_upper_corners():
    assert from_xywh([[1, 2, 3, 4], [0, 0, 0, 0]]).tolist() == [[[1, 2], [4, 6]], [[0, 0], [0, 0]]]
    assert from_xywh([[1, 2, 3, 4, 5, 6]]).tolist() == [[[1, 2, 3], [5, 7, 9]]]
    assert from_xywh([]).shape == (0, 2, 2)
    assert from_xywh(np.ones((3, 4), np.float32)).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_from_xywh_of_inexact_sums_rounds_the_upper_corner_up(dtype):
    numbers = np.random.default_rng(1).random((1000, 4)).astype(dtype)
    boxes = from_xywh(numbers)
    assert boxes.dtype == dtype
    assert np.array_equal(boxes[:, 0], numbers[:, :2])
    exact = numbers[:, :2].astype(np.longdouble) + numbers[:, 2:]
    assert (boxes[:, 1] >= exact).all()
    assert (np.nextafter(boxes[:, 1], dtype(-INF)) < exact).all()


@pytest.mark.parametrize(
    ("xywh", "message"),
    [
        ([[0, 0, 1, 1], [0, 0, 1, -2]], "xywh: row 1 has the negative size -2.0, axis 1"),
        ([[0, 0, 1, NAN]], "xywh: row 0"),
        ([[INF, 0, 1, 1]], "xywh: row 0"),
        ([[1, 2, 3]], "xywh must have shape (n, 4)"),
    ],
)
def test_from_xywh_of_bad_numbers_names_the_row(xywh, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        from_xywh(xywh)


def test_from_rects_of_tuples_and_objects_of_either_y_axis():
    down = SimpleNamespace(left=1, right=3, top=2, bottom=5)
    up = SimpleNamespace(left=1, right=3, top=5, bottom=2)
    assert from_rects([down, up, (1, 2, 2, 3)]).tolist() == [[[1, 2], [3, 5]]] * 3
    assert from_rects([(1, 2, 2, 3), [0, 0, 1, 1]]).tolist() == [[[1, 2], [3, 5]], [[0, 0], [1, 1]]]
    assert from_rects(np.array([[1, 2, 2, 3]])).tolist() == [[[1, 2], [3, 5]]]
    assert from_rects(iter([])).shape == (0, 2, 2)


def test_from_rects_of_a_corner_and_a_size_takes_attributes_and_methods():
    as_methods = {name: (lambda value=value: value) for name, value in zip("xy", (1, 2), strict=True)}
    of_qt = SimpleNamespace(**as_methods, width=lambda: 2, height=lambda: 3, left=lambda: 1, right=lambda: 2)
    of_qt.top, of_qt.bottom = lambda: 2, lambda: 4  # the last pixels
    rects = [
        SimpleNamespace(x=1, y=2, w=2, h=3),
        SimpleNamespace(x=1, y=2, width=2, height=3),
        SimpleNamespace(left=1, top=2, width=2, height=3),
        SimpleNamespace(rect=SimpleNamespace(left=1, right=3, top=2, bottom=5)),
        of_qt,
    ]
    assert from_rects(rects).tolist() == [[[1, 2], [3, 5]]] * 5


@pytest.mark.parametrize("kind", ["Rect", "FRect"])
def test_from_rects_of_pygame_finds_the_collisions_of_pygame(kind):
    pygame = pytest.importorskip("pygame")
    rng = np.random.default_rng(2)
    numbers = rng.integers(-4, 12, (80, 4))  # of negative sizes and of no size too
    scale = 1 if kind == "Rect" else 0.25  # sums are exact
    rects = [getattr(pygame, kind)(*(scale * row).tolist()) for row in numbers]
    collide = [[i, j] for i in range(80) for j in rects[i].collidelistall(rects) if j > i]
    assert bp.pairs(from_rects(rects), touching=False, sort=True).tolist() == sorted(collide)


def test_from_rects_of_arcade_equals_its_overlaps():
    arcade = pytest.importorskip("arcade")
    numbers = np.random.default_rng(3).integers(0, 9, (50, 4)).tolist()
    rects = [arcade.LBWH(x, y, 1 + w, 1 + h) for x, y, w, h in numbers]
    meet = [[i, j] for i in range(50) for j in range(i + 1, 50) if rects[i].overlaps(rects[j])]
    assert bp.pairs(from_rects(rects), touching=False, sort=True).tolist() == meet


@pytest.mark.parametrize(
    ("rects", "message"),
    [
        ([(0, 0, 1, 1), (0, 0, -1, 1)], "rects: row 1 has the negative size -1.0, axis 0"),
        ([(0, 0, 1, 1), (0, 0, 1)], "rects: row 1 is (0, 0, 1); needed are left"),
        ([(0, 0, 1, 1), "rect"], "rects: row 1 is 'rect'; needed are left"),
        ([SimpleNamespace(left="a", right=1, top=0, bottom=1)], "rects: row 0, left is not a number but 'a'"),
        ([(0, 0, 1, 1), SimpleNamespace(left=NAN, right=1, top=0, bottom=1)], "rects: row 1 has NaN"),
        ([SimpleNamespace(x=0, y=0, w=1, h=-1)], "rects: row 0 has the negative size -1.0, axis 1"),
    ],
)
def test_from_rects_of_something_else_names_the_row(rects, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        from_rects(rects)


def test_from_geometries_of_bounds_in_either_form_and_any_dimension():
    flat, square = SimpleNamespace(bounds=(0, 1, 2, 3)), SimpleNamespace(bounds=[[0, 1], [2, 3]])
    assert from_geometries([flat, square]).tolist() == [[[0, 1], [2, 3]]] * 2
    solid = SimpleNamespace(bounds=np.array([[0, 1, 2], [3, 4, 5.0]]))
    assert from_geometries([solid]).tolist() == [[[0, 1, 2], [3, 4, 5]]]
    assert from_geometries([]).shape == (0, 2, 2)
    with pytest.raises(ValueError, match="geometries: row 0 has 2 dimensions and row 1 has 3"):
        from_geometries([flat, solid])
    with pytest.raises(TypeError, match="geometries: row 1 is a int, which has no bounds"):
        from_geometries([flat, 5])
    with pytest.raises(ValueError, match=re.escape("bounds of row 0 must have shape (2*d,) or (2, d), not (3,)")):
        from_geometries([SimpleNamespace(bounds=(1, 2, 3))])
    with pytest.raises(bp.errors.InvalidBoxError) as caught:
        from_geometries([flat, SimpleNamespace(bounds=(2, 0, 1, 1))])
    assert caught.value.row == 1


def test_from_geometries_of_shapely_equals_its_bounds():
    shapely = pytest.importorskip("shapely")
    points = shapely.points(np.random.default_rng(3).normal(size=(50, 2)))
    discs = shapely.buffer(points, np.linspace(0.1, 2, 50))
    wanted = shapely.bounds(discs).reshape(50, 2, 2)
    for given in (discs, list(discs), list(shapely.to_wkb(discs))):
        assert np.array_equal(from_geometries(given), wanted)
    mixed = [discs[0], SimpleNamespace(bounds=(0, 0, 1, 1))]
    assert np.array_equal(from_geometries(mixed), [wanted[0], [[0, 0], [1, 1]]])
    for empty in (shapely.Polygon(), None):
        with pytest.raises(bp.errors.InvalidBoxError, match="geometries: row 1 is empty or missing"):
            from_geometries([discs[0], empty])


def test_from_geometries_of_trimesh_gives_boxes_in_space():
    trimesh = pytest.importorskip("trimesh")
    boxes = from_geometries([trimesh.creation.box((1, 2, 3)), trimesh.creation.icosphere(radius=2.0)])
    assert boxes[0].tolist() == [[-0.5, -1, -1.5], [0.5, 1, 1.5]]
    assert np.allclose(boxes[1], [[-2] * 3, [2] * 3])


def test_from_geometries_of_wkb_without_shapely_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "shapely", None)
    with pytest.raises(bp.errors.MissingExtraError, match=r'pip install "broadphase\[gis\]"'):
        from_geometries([b"\x00"])


COLUMNS = {"x0": [0.0, 4.0], "y0": [0.0, 4.0], "x1": [1.0, 5.0], "y1": [2.0, 9.0]}
CORNERS = {"lower": ["x0", "y0"], "upper": ["x1", "y1"]}
BOXES = [[[0, 0], [1, 2]], [[4, 4], [5, 9]]]


@pytest.mark.parametrize(
    ("library", "make"),
    [(None, dict), ("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")],
)
def test_from_frame_of_any_table_gives_its_rows(library, make):
    if library:
        make = getattr(pytest.importorskip(library), make)
    assert from_frame(make(COLUMNS), **CORNERS).tolist() == BOXES
    assert from_frame(make(COLUMNS), "x0", "x1").tolist() == [[[0], [1]], [[4], [5]]]
    narrow = {name: np.array(values, np.float32) for name, values in COLUMNS.items()}
    assert from_frame(make(narrow), **CORNERS).dtype == np.float32
    gap = {**COLUMNS, "y0": [0.0, None]}
    with pytest.raises(bp.errors.InvalidBoxError, match="row 1: 'y0' is NaN or has no value") as caught:
        from_frame(make(gap), **CORNERS)
    assert caught.value.row == 1


def test_from_frame_without_names_knows_those_of_files():
    assert from_frame(COLUMNS).tolist() == BOXES
    records = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
    assert from_frame(records).tolist() == BOXES
    assert from_frame(records, **CORNERS).tolist() == BOXES
    rows = np.array(list(zip(*COLUMNS.values(), strict=True)), [(name, "f4") for name in COLUMNS])
    assert from_frame(rows).tolist() == BOXES
    assert from_frame(rows).dtype == np.float32
    with pytest.raises(bp.errors.InvalidBoxError, match=r"frame: row 1: lower\[1\] is NaN"):
        from_frame({**COLUMNS, "y0": [0.0, None]})


def test_from_frame_of_a_column_of_geometries():
    shapely = pytest.importorskip("shapely")
    discs = shapely.buffer(shapely.points([[0, 0], [5, 5]]), 1.0)
    wanted = shapely.bounds(discs).reshape(2, 2, 2)
    assert np.array_equal(from_frame({"shape": discs}, geometry="shape"), wanted)
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"shape": shapely.to_wkb(discs)})
    assert np.array_equal(from_frame(table, geometry="shape"), wanted)


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (COLUMNS, {"lower": ["x0", "yy0"], "upper": ["x1", "y1"]}, "unknown column 'yy0' (did you mean 'y0'?)"),
        (COLUMNS, {"lower": ["x0"], "upper": ["x1", "y1"]}, "must name as many columns, 1 to 4, not 1 and 2"),
        (COLUMNS, {"lower": ["x0", "y0"]}, "give both lower= and upper="),
        ({"a": [1.0]}, {}, "frame needs columns xmin, ymin, xmax, ymax"),
        ([{"xmin": 0}, {"xmax": 0}], {}, "frame: row 1 has no 'xmin', which row 0 has"),
        (COLUMNS, {**CORNERS, "geometry": "x0"}, "give either lower and upper, or geometry"),
        (COLUMNS, {"geometry": "x0"}, "column 'x0': row 0 is a float, which has no bounds"),
        ({**COLUMNS, "y1": [2.0, 3.0]}, CORNERS, "row 1: 'y0' > 'y1' (4.0 > 3.0)"),
        ({**COLUMNS, "y1": ["a", "b"]}, CORNERS, "column 'y1' must be float32, float64 or integer"),
        ({**COLUMNS, "y1": [2.0]}, CORNERS, "the columns must be of one length, not of 1, 2"),
        ([1, 2], CORNERS, "frame: row 0 is 1, not a dict of values by name"),
        (5, CORNERS, "frame must be a table or a mapping of columns, not int"),
    ],
)
def test_from_frame_of_bad_columns_names_row_and_column(frame, options, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        from_frame(frame, **options)
