"""Boxes read from .csv and .parquet files."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.io import read_boxes, tables
from broadphase.tables.names import find_box_columns

BOXES = np.array([[[0.0, 1.0], [2.0, 3.5]], [[-1e-3, 1e9], [5.0, 2e9]]])


@pytest.fixture(params=["pyarrow", "plain"])
def reader(request, monkeypatch):
    """Both ways to read .csv: with pyarrow and without."""
    if request.param == "plain":
        monkeypatch.setattr(tables, "has_library", lambda name: False)
    else:
        pytest.importorskip("pyarrow")
    return request.param


def write(tmp_path, text, name="boxes.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("xmin,ymin,xmax,ymax\n0,1,2,3.5\n-0.001,1e9,5,2e9\n", False),
        ("name,xmin,xmax,ymin,ymax\nred,0,2,1,3.5\nblue,-1e-3,5,1000000000,2e9\n", True),
        (" Min_X ; Min_Y ; Max_X ; Max_Y ;label\n0;1;2;3.5;red\n-0.001;1e9;5;2e9;blue\n", True),
        ("id\tlower_x\tlower_y\tupper_x\tupper_y\nred\t0\t1\t2\t3.5\nblue\t-0.001\t1e9\t5\t2e9\n", True),
        ("x0,y0,x1,y1\n0,1,2,3.5\n\n-0.001,1e9,5,2e9\n", False),
        ("x1,y1,x2,y2\r\n0,1,2,3.5\r\n-0.001,1e9,5,2e9\r\n", False),
        ("west,south,east,north\n0,1,2,3.5\n-0.001,1e9,5,2e9", False),
        ("# xmin,ymin,xmax,ymax\n0,1,2,3.5\n-0.001,1e9,5,2e9\n", False),
        ("\ufeffxmin,ymin,xmax,ymax\n0,1,2,3.5\n-0.001,1e9,5,2e9\n", False),
        ("0,1,2,3.5\n-0.001,1e9,5,2e9\n", False),
        ("0;1;2;3.5\n-0.001;1e9;5;2e9\n", False),
        ('name,xmin,ymin,xmax,ymax\n"red",0,1,2,3.5\n"blue",-0.001,1e9,5,2e9\n', True),
    ],
)
def test_csv_of_every_style_gives_the_same_boxes(tmp_path, reader, text, named):
    file = read_boxes(write(tmp_path, text))
    np.testing.assert_array_equal(file.boxes, BOXES)
    assert file.boxes.dtype == np.float64
    assert (file.names is not None and file.names.tolist() == ["red", "blue"]) if named else file.names is None


def test_csv_of_each_dimension_without_header(tmp_path, reader):
    for dimension in (1, 2, 3, 4):
        rows = np.arange(6.0 * dimension).reshape(3, 2 * dimension)
        text = "\n".join(",".join(map(str, row)) for row in rows)
        np.testing.assert_array_equal(read_boxes(write(tmp_path, text)).boxes, rows.reshape(3, 2, dimension))


def test_csv_with_quoted_line_breaks_counts_rows_not_lines(tmp_path, reader):
    text = 'name,xmin,xmax\n"two\nlines",0,1\n"a, comma",5,6\n'
    file = read_boxes(write(tmp_path, text))
    assert file.names.tolist() == ["two\nlines", "a, comma"]
    with pytest.raises(
        bp.errors.FileFormatError, match=r"boxes\.csv, row 1 \(line 4\): column xmax is 'no', not a number"
    ):
        read_boxes(write(tmp_path, text.replace("6", "no")))


def test_csv_with_empty_cells_gives_nan(tmp_path, reader):
    file = read_boxes(write(tmp_path, "xmin,xmax\n0,1\n,2\n3,NaN\nNA,null\n"))
    np.testing.assert_array_equal(file.boxes[:, :, 0], [[0, 1], [np.nan, 2], [3, np.nan], [np.nan, np.nan]])
    assert file.blank == "an empty cell"
    first_row_blank = read_boxes(write(tmp_path, "0,,2,3\n0,1,2,3\n"))
    assert np.isnan(first_row_blank.boxes[0, 0, 1])


def test_csv_with_infinite_numbers_is_legal(tmp_path, reader):
    file = read_boxes(write(tmp_path, "xmin,xmax\n-inf,1\n0,inf\n0,Infinity\n"))
    np.testing.assert_array_equal(file.boxes[:, :, 0], [[-np.inf, 1], [0, np.inf], [0, np.inf]])


def test_csv_with_a_header_only_has_no_boxes(tmp_path, reader):
    assert read_boxes(write(tmp_path, "xmin,ymin,zmin,xmax,ymax,zmax\n")).boxes.shape == (0, 2, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("xmin,xmax\n0,1\n0,1\n0,one\n", r"boxes\.csv, row 2 \(line 4\): column xmax is 'one', not a number"),
        ("xmin,xmax\n0,1\n0,1_000\n", r"row 1 \(line 3\): column xmax is '1_000'"),
        ("0,1\n0,x\n", r"row 1 \(line 2\): column number 1 is 'x'"),
        ("xmin,xmax\n0,1\n0\n", r"row 1 \(line 3\) has 1 columns, not 2"),
        ("xmin,xmax\n0,1\n0,1,2\n", r"row 1 \(line 3\) has 3 columns, not 2"),
        ("", r"boxes\.csv: the file is empty"),
        ("\nxmin,xmax\n", r"boxes\.csv: the first line is empty"),
        ("left,right\n0,1\n", r"needs columns xmin"),
        ("xmin,ymin,xmax\n0,1,2\n", r"there is a column ymin, but no column ymax"),
        ("xmin,zmin,xmax,zmax\n0,1,2,3\n", r"there is a column zmin, but no column ymin"),
        ("0,1,2\n", r"3 numbers in a row"),
        (b"name,xmin,xmax\ncaf\xe9,0,1\n", r"boxes\.csv: not UTF-8 text"),
        (b"\x93NUMPY\x01\x00\xff\xff", r"boxes\.csv: not UTF-8 text"),
    ],
)
def test_csv_that_is_bad_names_file_row_and_column(tmp_path, reader, text, message):
    with pytest.raises(bp.errors.FileFormatError, match=message):
        read_boxes(write(tmp_path, text))


def test_csv_takes_names_from_the_column_asked_for(tmp_path, reader):
    path = write(tmp_path, "state,xmin,xmax,name\nOhio,0,1,Cook\n")
    assert read_boxes(path).names.tolist() == ["Cook"]
    assert read_boxes(path, name_column="state").names.tolist() == ["Ohio"]
    with pytest.raises(bp.errors.FileFormatError, match="unknown column 'county'"):
        read_boxes(path, name_column="county")


def test_csv_numbers_come_back_to_the_last_bit(tmp_path, reader):
    rows = np.random.default_rng(8).normal(size=(2000, 6)) * 10.0 ** np.random.default_rng(9).integers(
        -300, 300, (2000, 6)
    )
    text = "\n".join(",".join(map(repr, row)) for row in rows.tolist())
    np.testing.assert_array_equal(read_boxes(write(tmp_path, text)).boxes.reshape(-1, 6), rows)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "mixed"])
def test_parquet_of_every_number_type_is_read(tmp_path, dtype):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    types = ["f4", "f8", "i2", "u4"] if dtype == "mixed" else [dtype] * 4
    columns = [np.arange(3).astype(kind) for kind in types]
    table = pyarrow.table(dict(zip(["xmin", "ymin", "xmax", "ymax"], columns, strict=True)) | {"id": [7, 8, 9]})
    parquet.write_table(table, tmp_path / "boxes.parquet")
    file = read_boxes(tmp_path / "boxes.parquet")
    assert file.boxes.dtype == (np.float32 if dtype == "f4" else np.float64)
    np.testing.assert_array_equal(file.boxes[:, 1, 1], [0, 1, 2])
    assert file.names.tolist() == ["7", "8", "9"]


def test_parquet_with_a_struct_of_corners_is_read(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    bbox = [{"xmin": 0.0, "xmax": 1.0, "ymin": 2.0, "ymax": 3.0}, None]
    parquet.write_table(pyarrow.table({"bbox": bbox, "name": ["red", None]}), tmp_path / "boxes.parquet")
    file = read_boxes(tmp_path / "boxes.parquet")
    np.testing.assert_array_equal(file.boxes[0], [[0, 2], [1, 3]])
    assert np.isnan(file.boxes[1]).all()
    assert file.names.tolist() == ["red", None]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1.0]}, "needs columns xmin"),
        ({"xmin": [1.0], "xmax": ["x"]}, "the table, column xmax must hold numbers, not string"),
        ({"xmin": [1.0], "xmax": [2**60 + 1]}, "the table, column xmax: row 0 has the integer"),
    ],
)
def test_parquet_that_is_bad_names_file_and_column(tmp_path, columns, message):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(columns), tmp_path / "boxes.parquet")
    with pytest.raises(bp.errors.FileFormatError, match=rf"boxes\.parquet: {message}"):
        read_boxes(tmp_path / "boxes.parquet")


def test_parquet_that_is_damaged_names_the_file(tmp_path):
    pytest.importorskip("pyarrow")
    for content in (b"", b"PAR1", b"not parquet at all", b"PAR1" + bytes(100) + b"PAR1"):
        (tmp_path / "boxes.parquet").write_bytes(content)
        with pytest.raises(bp.errors.FileFormatError, match=r"boxes\.parquet: "):
            read_boxes(tmp_path / "boxes.parquet")


def test_columns_of_all_four_axes_are_found():
    assert find_box_columns(["XMIN", "YMIN", "ZMIN", "WMIN", "XMAX", "YMAX", "ZMAX", "WMAX"]) == list(range(8))
    assert find_box_columns(["x_lower", "x_upper"]) == [0, 1]


@pytest.mark.parametrize("name", ["xmax", "name"])
def test_parquet_in_which_a_column_has_lost_its_type_names_file_and_column(tmp_path, name):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"xmin": [1.0], "xmax": [2.0], "name": [3.0]})
    parquet.write_table(table, tmp_path / "boxes.parquet", store_schema=False)
    content = (tmp_path / "boxes.parquet").read_bytes()
    # Thrift's compact form: the type, a number of 32 bits, becomes one of 16, which is passed over. The order of one
    # column less is told.
    field, orders = b"\x15\x0a\x25\x02\x18" + bytes([len(name)]) + name.encode(), b"\x19%c" + 3 * b"\x1c\0\0"
    for old, new in ((field, b"\x14" + field[1:]), (orders % b"\x3c", orders[:-3] % b"\x2c")):
        assert content.count(old) == 1
        content = content.replace(old, new)
    size = int.from_bytes(content[-8:-4], "little") - 3
    (tmp_path / "boxes.parquet").write_bytes(content[:-8] + size.to_bytes(4, "little") + b"PAR1")
    with pytest.raises(bp.errors.FileFormatError, match=rf"boxes\.parquet: column {name} holds no values"):
        read_boxes(tmp_path / "boxes.parquet")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_of_a_corner_and_a_size_are_refused_with_what_makes_boxes(tmp_path, suffix):
    columns = {"x": [1.0], "y": [2.0], "w": [3.0], "h": [4.0]}
    path = tmp_path / f"boxes{suffix}"
    if suffix == ".csv":
        path.write_text("x,y,w,h\n1,2,3,4\n")
    else:
        pytest.importorskip("pyarrow.parquet").write_table(pytest.importorskip("pyarrow").table(columns), path)
    with pytest.raises(bp.errors.FileFormatError, match=r"has x, y, w, h; bp\.boxes\.from_xywh makes boxes"):
        read_boxes(path)
