"""What `pairs` and all others take besides arrays, and what they refuse: nothing is silently misread."""

import re
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest

import broadphase as bp
from broadphase.boxes import as_boxes, as_corners, as_numbers
from broadphase.io import to_arrow
from broadphase.testing import oracle

BOXES = np.array([[[0, 0], [2, 1]], [[1, 1], [3, 3]], [[7, 8], [9, 9]]], np.float64)
FLAT = BOXES.reshape(3, 4)
NAMES = ["xmin", "ymin", "xmax", "ymax"]


def geometry_list():
    shapely = pytest.importorskip("shapely")
    return [shapely.box(*row) for row in FLAT.tolist()]


def geoseries():
    return pytest.importorskip("geopandas").GeoSeries(geometry_list(), index=[7, 3, 5])


def geodataframe():
    frame = pytest.importorskip("geopandas").GeoDataFrame({"xmin": [5, 5, 5]}, geometry=geometry_list())
    return frame.set_index(np.array([2, 2, 0]))


def pandas_frame():
    columns = {"name": ["a", "b", "c"], **{name: FLAT[:, k] for k, name in reversed(list(enumerate(NAMES)))}}
    return pytest.importorskip("pandas").DataFrame(columns, index=[9, 8, 9])


def nameless_frame():
    return pytest.importorskip("pandas").DataFrame(FLAT)


def geometry_array():
    return np.array(geometry_list(), object)


def meshes_of_bounds():
    return [SimpleNamespace(bounds=box) for box in BOXES]


def structured():
    return np.array([tuple(row) for row in FLAT], [(name, "f8") for name in NAMES])


def arrow(make):
    def made():
        return make(pytest.importorskip("pyarrow"))

    made.__name__ = make.__name__
    return made


@arrow
def arrow_lists(pa):
    return pa.FixedSizeListArray.from_arrays(pa.array(FLAT.reshape(-1)), 4)


@arrow
def arrow_sliced_lists(pa):
    padded = np.concatenate([[-1.0] * 4, FLAT.reshape(-1), [5.0] * 4])
    return pa.FixedSizeListArray.from_arrays(pa.array(padded), 4).slice(1, 3)


@arrow
def arrow_nested_lists(pa):
    return pa.FixedSizeListArray.from_arrays(pa.FixedSizeListArray.from_arrays(pa.array(FLAT.reshape(-1)), 2), 2)


@arrow
def arrow_lists_of_any_length(pa):
    return pa.array(FLAT.tolist())


@arrow
def arrow_chunks(pa):
    return pa.chunked_array(
        [pa.array(FLAT[:1].tolist(), pa.list_(pa.float64(), 4)), pa.array(FLAT[1:].tolist(), pa.list_(pa.float64(), 4))]
    )


@arrow
def geoarrow_boxes(pa):
    return pa.StructArray.from_arrays([pa.array(column) for column in FLAT.T.copy()], NAMES)


@arrow
def arrow_corners(pa):
    sides = [pa.FixedSizeListArray.from_arrays(pa.array(BOXES[:, k].reshape(-1)), 2) for k in (0, 1)]
    return pa.StructArray.from_arrays(sides, ["lower", "upper"])


@arrow
def arrow_table(pa):
    return pa.table({"id": [1, 2, 3], **{name: FLAT[:, k] for k, name in enumerate(NAMES)}})


@arrow
def arrow_batch_with_one_column_of_boxes(pa):
    return pa.record_batch({"id": [1, 2, 3], "bbox": geoarrow_boxes()})


@arrow
def arrow_reader(pa):
    return arrow_table().to_reader()


def arro3_lists():
    return pytest.importorskip("arro3.core").Array.from_arrow(arrow_lists())


def arro3_table():
    return pytest.importorskip("arro3.core").Table.from_arrow(arrow_table())


def polars_frame():
    return pytest.importorskip("polars").DataFrame(FLAT, schema=NAMES)


def duckdb_relation():
    return pytest.importorskip("duckdb").from_arrow(arrow_table())


INPUTS = [
    geometry_list, geometry_array, geoseries, geodataframe, pandas_frame, nameless_frame, meshes_of_bounds, structured,
    arrow_lists, arrow_sliced_lists, arrow_nested_lists, arrow_lists_of_any_length, arrow_chunks, geoarrow_boxes,
    arrow_corners, arrow_table, arrow_batch_with_one_column_of_boxes, arrow_reader, arro3_lists, arro3_table,
    polars_frame, duckdb_relation,
]  # fmt: skip


@pytest.mark.parametrize("make", INPUTS, ids=lambda make: make.__name__)
def test_input_of_each_kind_gives_its_boxes(make):
    np.testing.assert_array_equal(as_boxes(make()), BOXES)
    np.testing.assert_array_equal(np.stack(as_corners(make()), axis=1), BOXES)
    assert bp.pairs(make()).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    "make", [geodataframe, pandas_frame, arrow_lists, meshes_of_bounds], ids=lambda make: make.__name__
)
def test_input_of_each_kind_serves_indexes_and_detections(make):
    index = bp.Index(make())
    assert index.pairs().tolist() == [[0, 1]]
    assert [rows.tolist() for rows in index.query(make())] == [[0, 1], [0, 1], [2]]
    assert bp.count_pairs(make(), make()) == 5
    assert bp.nms(make(), [0.5, 0.4, 0.3], 0.9).tolist() == [0, 1, 2]


def test_one_object_with_bounds_is_one_box_of_a_query():
    cube = SimpleNamespace(bounds=np.array([[0, 0], [1.0, 1.0]]))
    assert bp.Index(BOXES).query(cube).tolist() == [0, 1]
    assert bp.pairs(BOXES, cube, sort=True).tolist() == [[0, 0], [1, 0]]
    with pytest.raises(ValueError, match="boxes is one SimpleNamespace, which has one box and so no pairs"):
        bp.pairs(cube)


def test_geometry_that_is_empty_or_missing_is_a_row_to_skip():
    shapely = pytest.importorskip("shapely")
    geometries = [None, shapely.Point(), *geometry_list()]
    with pytest.warns(bp.errors.InvalidBoxWarning, match="skipped 2 invalid boxes"):
        assert bp.pairs(geometries, invalid="skip").tolist() == [[2, 3]]
    with pytest.raises(bp.errors.InvalidBoxError, match="boxes: row 0") as caught:
        bp.pairs(geometries)
    assert caught.value.row == 0


def test_bounds_of_plots_are_a_corner_and_a_size_and_yet_boxes():
    transforms = pytest.importorskip("matplotlib.transforms")
    boxes = [transforms.Bbox.from_extents(*row) for row in FLAT]
    np.testing.assert_array_equal(bp.boxes.from_geometries(boxes), BOXES)
    np.testing.assert_array_equal(as_boxes(boxes), BOXES)


Rectangle = namedtuple("Rectangle", "x y width height")


@pytest.mark.parametrize(
    ("boxes", "message"),
    [
        ([Rectangle(0, 0, 5, 5)], "boxes: row 0 is a rectangle, which is not read as corners; use bp.boxes.from_rects"),
        ([[0, 0, 1, 1], Rectangle(0, 0, 5, 5)], "boxes: row 1 is a rectangle"),
        (Rectangle(0, 0, 5, 5), "boxes is a rectangle"),
        ([SimpleNamespace(rect=Rectangle(0, 0, 5, 5))], "boxes: row 0 is a rectangle"),
        ([{"xmin": 0}], "boxes: row 0 is a dict; for records use bp.boxes.from_frame"),
        ([{"type": "Feature", "geometry": None}], "boxes: row 0 is a GeoJSON object"),
        ([b"\x01"], "boxes: row 0 is bytes; for geometries as WKB use bp.boxes.from_geometries"),
        ([SimpleNamespace(bounds=(0, 0, 1, 1)), 5], "boxes: row 1 is a int, which has no bounds"),
        ({"x": [0], "y": [0], "w": [1], "h": [1]}, "boxes has columns x, y, w, h, a corner and a size; use"),
        ({"a": [0]}, "boxes needs columns xmin, ymin, xmax, ymax"),
        ({"xmin": [0], "xmax": [1], "ymin": [0]}, "boxes: there is a column ymin, but no column ymax"),
        ({"xmin": ["a"], "xmax": ["b"]}, "boxes, column 'xmin' must be float32, float64 or integer"),
        ((row for row in FLAT), "boxes is a generator, which can be read only once; pass list(boxes)"),
        ([bp.Circle(1.0)], "boxes: row 0 is a Circle; place shapes by bp.Shapes"),
        (bp.Shapes(bp.Circle(1.0), [[0, 0]]), "boxes must be boxes, not a Shapes; pass its boxes"),
    ],
)
def test_input_whose_meaning_is_uncertain_raises_and_names_what_to_call(boxes, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        bp.pairs(boxes)


def test_rects_of_games_raise_and_name_the_function():
    pygame = pytest.importorskip("pygame")
    rects = [pygame.Rect(10, 10, 30, 30), pygame.Rect(20, 20, 30, 30)]  # as corners they would be boxes, and no pair
    for call in (bp.pairs, bp.Index, bp.count_pairs, lambda given: bp.pairs(BOXES, given)):
        with pytest.raises(TypeError, match=r"row 0 is a rectangle.*from_rects"):
            call(rects)
    assert bp.pairs(bp.boxes.from_rects(rects)).tolist() == [[0, 1]]


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_two_arrays_that_may_be_corners_of_one_set_are_refused(dim):
    lower = np.sort(np.random.default_rng(4).random((5, dim)), axis=1)  # with dim=2, valid intervals
    for call in (bp.pairs, bp.count_pairs, bp.explain, bp.iter_pairs):
        with pytest.raises(ValueError, match=r"pass them as one tuple, \(lower, upper\)"):
            call(lower, lower + 1)
    assert len(bp.pairs((lower, lower + 1))) == 10
    intervals = np.sort(np.random.default_rng(4).random((5, 2, 1)), axis=1)
    assert len(bp.pairs(intervals, intervals)) >= 5
    assert bp.pairs({"xmin": [0], "xmax": [1]}, {"xmin": [1], "xmax": [2]}).tolist() == [[0, 0]]


class Tensor:
    """Shares its memory by DLPack alone."""

    def __init__(self, array, *, requires_grad=False, device=(1, 0), dtype="torch.float64"):
        self.array, self.requires_grad, self.device, self.dtype = array, requires_grad, device, dtype
        self.ndim, self.shape = array.ndim, array.shape

    def __len__(self):
        return len(self.array)

    def __dlpack_device__(self):
        if self.device[0] == "meta":
            raise ValueError("Unknown device type meta for Dlpack")
        return self.device

    def __dlpack__(self, **options):
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return self.array.__dlpack__(**options)


class TorchTensor(Tensor):
    """Has an array interface too, which raises what that of torch raises."""

    def __array__(self, dtype=None, copy=None):
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self.device[0] != 1:
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy first.")
        if "bfloat16" in self.dtype:
            raise TypeError("Got unsupported ScalarType BFloat16")
        if self.dtype == "torch.sparse":
            raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.dense() first.")
        return self.array


@pytest.mark.parametrize("kind", [Tensor, TorchTensor])
def test_tensor_in_host_memory_is_read_without_a_copy(kind):
    tensor = kind(BOXES.copy())
    assert np.shares_memory(as_boxes(tensor), tensor.array)
    assert all(np.shares_memory(corner, tensor.array) for corner in as_corners(tensor))
    assert np.shares_memory(as_corners((kind(tensor.array[:, 0]), kind(tensor.array[:, 1])))[1], tensor.array)
    assert bp.pairs(tensor).tolist() == [[0, 1]]
    assert np.shares_memory(as_numbers(kind(FLAT), name="points"), FLAT)


@pytest.mark.parametrize("kind", [Tensor, TorchTensor])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"requires_grad": True},
            "boxes is a tensor that requires a gradient, which no result has; pass boxes.detach()",
        ),
        ({"device": (2, 0)}, "boxes is on device cuda:0; copy it to host memory, such as boxes.cpu() of torch"),
        ({"device": (8, 0)}, "boxes is on device metal:0"),
        ({"device": (12, 3)}, "boxes is on device DLPack type 12:3"),
        ({"device": ("meta", 0)}, "boxes is on a device whose memory cannot be read: Unknown device type meta"),
        ({"dtype": "torch.bfloat16"}, "boxes is of dtype bfloat16, which NumPy does not have; pass boxes.float()"),
    ],
)
def test_tensor_that_numpy_cannot_read_names_the_remedy(kind, options, message):
    tensor = kind(BOXES, **options)
    with pytest.raises(TypeError, match=re.escape(message)):
        bp.Index(tensor)
    with pytest.raises(TypeError, match=re.escape(message.replace("boxes", "points"))):
        bp.boxes.from_points(kind(FLAT[:, :2], **options))
    told = message.replace("boxes.", "lower.").replace("boxes ", "boxes, lower ")
    with pytest.raises(TypeError, match=re.escape(told)):
        bp.Index((kind(FLAT[:, :2], **options), FLAT[:, 2:]))


def test_tensor_of_another_layout_keeps_the_words_of_its_library():
    with pytest.raises(TypeError, match="boxes cannot be read as an array: can't convert Sparse layout"):
        bp.pairs(TorchTensor(BOXES, dtype="torch.sparse"))
    with pytest.raises(TypeError, match="boxes cannot be read as an array: Can't call numpy"):
        bp.pairs([TorchTensor(row, requires_grad=True) for row in FLAT])


def test_tensor_without_dimensions_is_a_number():
    tenth = TorchTensor(np.array(0.1))
    assert bp.pairs(FLAT, margin=tenth).tolist() == bp.pairs(FLAT, margin=0.1).tolist()
    with pytest.raises(TypeError, match=r"margin is a tensor that requires a gradient.*pass margin\.detach\(\)"):
        bp.pairs(FLAT, margin=TorchTensor(np.array(0.1), requires_grad=True))
    with pytest.raises(TypeError, match="margin must be a number"):
        bp.pairs(FLAT, margin=TorchTensor(np.array(True)))


def test_tensors_of_torch_itself_are_read_and_results_become_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    lower = torch.rand(200, 3, dtype=torch.float64)
    boxes = torch.cat([lower, lower + 0.15], 1)
    for given in (boxes, boxes.float(), boxes.half(), (100 * boxes).int(), boxes[::2], boxes.t().contiguous().t()):
        expected = oracle.pairs(given.double().numpy().copy())
        assert np.array_equal(bp.pairs(given, sort=True), expected)
        assert np.array_equal(bp.pairs((given[:, :3], given[:, 3:]), sort=True), expected)
        assert np.array_equal(bp.pairs(list(given), sort=True), expected)
    assert as_corners(boxes)[0].ctypes.data == boxes.data_ptr()
    pairs = bp.pairs(boxes)
    assert isinstance(pairs, torch.Tensor)
    assert pairs.dtype == torch.int32
    assert len(bp.pairs(boxes, margin=torch.tensor(0.1), period=torch.ones(3))) > len(pairs)
    for given, message in (
        (boxes.bfloat16(), r"is of dtype bfloat16, .* pass boxes\.float\(\)"),
        (boxes.clone().requires_grad_(), r"requires a gradient, .* pass boxes\.detach\(\)"),
        (torch.empty(5, 6, device="meta"), "whose memory cannot be read: Unknown device type meta"),
        (boxes.to_sparse(), "cannot be read as an array: can't convert Sparse layout"),
        (boxes.to(torch.complex64), "must be float32, float64 or integer, not complex64"),
    ):
        with pytest.raises(TypeError, match=message):
            bp.pairs(given)


def test_intervals_are_read_without_a_copy_whatever_the_step_of_their_axis():
    ends = np.array([[0.0, 2.0], [1.0, 3.0], [9.0, 9.5]])
    for given in (ends[:, :, np.newaxis], ends.reshape(3, 2, 1), ends, (ends[:, :1], ends[:, 1][:, np.newaxis])):
        lower, upper = as_corners(given)
        assert np.shares_memory(lower, ends)
        assert np.shares_memory(upper, ends)
        assert lower.strides == upper.strides == (16, 8)
        assert np.array_equal(np.hstack((lower, upper)), ends)
        assert bp.pairs(given).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    "make",
    [arrow_lists, arrow_sliced_lists, arrow_nested_lists, arrow_lists_of_any_length, arro3_lists],
    ids=lambda make: make.__name__,
)
def test_arrow_lists_are_read_without_a_copy(make):
    given = make()
    first, second = as_boxes(given), as_boxes(given)
    assert np.shares_memory(first, second)
    assert all(np.shares_memory(corner, first) for corner in as_corners(given))


def test_arrow_corners_are_read_without_a_copy():
    lower, upper = BOXES[:, 0].copy(), BOXES[:, 1].copy()
    pa = pytest.importorskip("pyarrow")
    sides = [pa.FixedSizeListArray.from_arrays(pa.array(side.reshape(-1)), 2) for side in (lower, upper)]
    for given in (pa.StructArray.from_arrays(sides, ["lower", "upper"]), tuple(sides)):
        found = as_corners(given)
        assert np.shares_memory(found[0], lower)
        assert np.shares_memory(found[1], upper)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int16", "uint8", "bool", "decimal128(9, 2)"])
def test_arrow_numbers_of_each_type_are_those_of_arrays(dtype):
    pa = pytest.importorskip("pyarrow")
    kind = pa.decimal128(9, 2) if dtype.startswith("decimal") else getattr(pa, dtype.replace("bool", "bool_"))()
    flat = (FLAT > 2) if dtype == "bool" else FLAT.astype(np.float16 if dtype == "float16" else np.int64)
    given = pa.FixedSizeListArray.from_arrays(pa.array(flat.reshape(-1).tolist(), kind), 4)
    found = as_boxes(given)
    assert found.dtype == (np.float32 if dtype == "float32" else np.float64)
    np.testing.assert_array_equal(found.reshape(3, 4), flat.astype(np.float64))


def test_arrow_null_in_place_of_a_box_or_a_number_is_a_row_to_skip():
    pa = pytest.importorskip("pyarrow")
    rows = FLAT.tolist()
    fixed = pa.list_(pa.float64(), 4)
    struct = pa.struct([(name, pa.float32()) for name in NAMES])
    for given in (
        pa.array([None, *rows], fixed),
        pa.array([None, *rows]),
        pa.array([[0, 0, None, 1], *rows], fixed),
        pa.array([None, *(dict(zip(NAMES, row, strict=True)) for row in rows)], struct),
        pa.table({name: [None, *column] for name, column in zip(NAMES, FLAT.T.astype(int).tolist(), strict=True)}),
    ):
        with pytest.warns(bp.errors.InvalidBoxWarning, match="skipped 1 invalid boxes"):
            assert bp.pairs(given, invalid="skip").tolist() == [[1, 2]]
        with pytest.raises(bp.errors.InvalidBoxError, match="boxes: row 0"):
            bp.pairs(given)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda pa: pa.array([[0, 1, 2, 3], [0, 1]]), "row 1 has 2 numbers, the first has 4"),
        (lambda pa: pa.array([b"wkb"]), "boxes is an array of bytes; for geometries as WKB use bp.boxes.from"),
        (lambda pa: pa.array(["a"]), "boxes must hold numbers, not string"),
        (lambda pa: pa.table({"a": [1]}), "boxes needs columns xmin, ymin, xmax, ymax"),
        (lambda pa: pa.table({"xmin": ["a"], "xmax": ["b"]}), "boxes, column xmin must hold numbers, not string"),
        (lambda pa: pa.array([1.0, 2.0]), "boxes has shape (2,)"),
    ],
)  # fmt: skip
def test_arrow_data_without_boxes_say_what_is_missing(make, message):
    given = make(pytest.importorskip("pyarrow"))
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        bp.pairs(given)


def test_arrow_data_without_pyarrow_say_what_to_install(monkeypatch):
    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            raise AssertionError("nobody can read it")

    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(
        bp.errors.MissingExtraError, match=r'boxes: reading Arrow data needs pyarrow: pip install "broadphase\[io\]"'
    ):
        bp.pairs(Stream())


def test_geometries_as_wkb_in_arrow_are_decoded():
    shapely, pa = pytest.importorskip("shapely"), pytest.importorskip("pyarrow")
    wkb = pa.array(shapely.to_wkb(geometry_array()))
    np.testing.assert_array_equal(bp.boxes.from_geometries(wkb), BOXES)


def test_results_become_arrow_data_without_a_copy():
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(5)
    boxes = bp.boxes.from_points(rng.random((200, 2)), 0.05)
    for pairs in (bp.pairs(boxes), bp.pairs(boxes, sort=True)):
        batch = to_arrow(pairs)
        assert batch.schema.names == ["first", "second"]
        for column, name in enumerate(batch.schema.names):
            assert np.shares_memory(batch.column(column).to_numpy(), pairs), name
            assert batch.column(column).to_pylist() == pairs[:, column].tolist()
    index = bp.Index(boxes)
    found = index.query(boxes)
    lists = to_arrow(found)
    assert lists.to_pylist() == [rows.tolist() for rows in found]
    assert np.shares_memory(lists.values.to_numpy(), found.rows)
    nearest = index.nearest(rng.random((7, 2)), k=3)
    batch = to_arrow(nearest)
    assert np.shares_memory(batch.column(1).values.to_numpy(), nearest.distances)
    assert batch.column(0).to_pylist() == nearest.rows.tolist()
    assert np.shares_memory(as_boxes(to_arrow(boxes)), boxes)
    contacts = bp.contacts(bp.Shapes(bp.Circle(1.0), [[0, 0], [1.5, 0]]))
    assert to_arrow(contacts).schema.names == ["first", "second", "normals", "depths", "points", "counts"]
    hits = index.raycast_all([[0, 0.5]], [[1.0, 0.0]])
    assert to_arrow(hits).column(0).to_pylist() == [hits[0][0].tolist()]
    with pytest.raises(TypeError, match="the arrays of Changes have different lengths"):
        to_arrow(bp.index.Changes(np.zeros((1, 2), np.int32), np.zeros((2, 2), np.int32)))
    with pytest.raises(TypeError, match="result must be an array or what a query returns, not 5"):
        to_arrow(5)


def test_results_are_shared_by_dlpack():
    pairs = bp.pairs(np.tile(BOXES, (2, 1, 1)))
    assert np.shares_memory(np.from_dlpack(pairs), pairs)


def test_integer_that_float64_cannot_hold_is_refused_in_every_table():
    pa, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    columns = {"xmin": [0, 1], "xmax": [None, 2**53 + 1]}
    for given in (
        columns,
        pa.table(columns),
        pa.table({**columns, "xmax": [5, 2**53 + 1]}),
        pa.array([None, [0, 2**53 + 1]]),
        pa.array([None, [0, 2**53 + 1]], pa.list_(pa.int64(), 2)),
        pandas.DataFrame(columns, dtype="Int64"),
    ):
        with pytest.raises(ValueError, match="row 1 has the integer 9007199254740993, which float64 cannot hold"):
            as_boxes(given)


def test_points_of_a_table_go_by_the_names_of_its_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"y": [1.0, 9.0], "x": [0.5, 9.0]})
    wanted = [[0, 1], []]
    boxes = [[0, 0, 1, 2], [0, 1, 2, 2], [1, 0, 2, 0.6]]  # y, x is in the last
    for points in (frame, frame.rename(columns=str.upper), dict(frame), frame[["x", "y"]].to_numpy()):
        assert [rows.tolist() for rows in bp.Index(boxes).query_points(points)] == wanted
    assert bp.boxes.from_points(pandas.DataFrame([[5.0, 6.0]])).tolist() == [[[5, 6], [5, 6]]]
    with pytest.raises(ValueError, match="points has columns lat, lon, not x, y; pass an array of the coordinates"):
        bp.boxes.from_points(pandas.DataFrame({"lat": [1.0], "lon": [2.0]}))


def test_points_of_geometries_name_the_function():
    shapely = pytest.importorskip("shapely")
    points = shapely.points([[0, 0], [1, 1]])
    for given in (points, list(points), points[0]):
        with pytest.raises(TypeError, match=r"points must be numbers, not geometries; pass shapely.get_coordinates"):
            bp.Index(BOXES).query_points(given)


def test_array_of_geometries_of_geopandas_is_read():
    assert as_boxes(geoseries().values).tolist() == BOXES.tolist()
    assert bp.boxes.from_geometries(geoseries().values).tolist() == BOXES.tolist()


def test_geometries_in_two_coordinate_systems_are_refused():
    here = geodataframe().set_crs(32633)
    there = here.to_crs(4326)
    with pytest.raises(ValueError, match=r"boxes are in EPSG:32633 and other in EPSG:4326: .*to_crs"):
        bp.pairs(here, there)
    swapped = there.set_crs("OGC:CRS84", allow_override=True)  # the same in another order of axes
    assert len(bp.pairs(there, swapped)) == len(bp.pairs(here, geodataframe())) == 5


def test_empty_geometries_are_refused_with_the_option_that_leaves_them_out():
    shapely = pytest.importorskip("shapely")
    with pytest.raises(bp.errors.InvalidBoxError, match=r'row 1: lower\[0\] is NaN; invalid="skip" leaves out'):
        bp.pairs([*geometry_list()[:1], shapely.Polygon()])


def test_boxes_across_the_antimeridian_say_how_maps_repeat():
    boxes = np.array([[0, 0, 1, 1], [179, -18, -178, -16], [-5, 50, 2, 56], [9, 9, 10, 10]], float)
    for search in (bp.pairs, bp.Index):
        with pytest.raises(bp.errors.InvalidBoxError, match=r"row 1: lower\[0\] > upper\[0\].*period=\(360, None\)"):
            search(boxes)
    for other in ([[0, 0, 1, 1], [5, 0, 2, 1]], [[179, 0, -178, 1], [5, 5, 4, 6]], [[900, 0, 0, 1]]):
        with pytest.raises(bp.errors.InvalidBoxError, match=r"upper\[0\] \([^()]*\)( \(1 more such rows\))?$"):
            bp.pairs(other)


@pytest.mark.parametrize("call", [bp.pairs, bp.Index, lambda boxes: bp.nms(boxes, np.ones(len(boxes)), 0.5)])
def test_corners_that_are_no_corners_are_refused_with_what_makes_boxes_of_them(call):
    with pytest.raises(bp.errors.InvalidBoxError, match=r"lower\[0\] > upper\[0\].*bp\.boxes\.from_xywh"):
        call(np.array([[30.0, 40, 5, 6]] * 3 + [[0, 0, 1, 1]]))
    with pytest.raises(
        bp.errors.InvalidBoxError, match=r"lower\[0\] > upper\[0\] \(30\.0 > 5\.0\)( \(1 more such rows\))?$"
    ):
        call(np.array([[30.0, 40, 5, 6]] * 2 + [[0, 0, 1, 1]] * 3))


def test_one_rectangle_and_one_point_are_refused_with_how_to_pass_one():
    with pytest.raises(TypeError, match=r"pass a list: \[rect\]"):
        bp.boxes.from_rects(GameRect())
    with pytest.raises(ValueError, match=r"not \(2,\); one of them is \[\[x, y\]\]"):
        bp.neighbors((5, 5), 1.0)


class GameRect:
    """A rectangle that can be iterated over, as that of pygame."""

    left, top, right, bottom = 0, 0, 1, 1

    def __iter__(self):
        return iter((0, 0, 1, 1))


def test_table_of_geometries_as_points_is_refused_with_what_gives_coordinates():
    with pytest.raises(TypeError, match=r"pass shapely\.get_coordinates\(points\.geometry\)"):
        bp.Index(BOXES).nearest(geodataframe())
