"""Buffers from outside: offsets, indices, lengths and strides are checked before anything is read."""

import sys

import numpy as np
import pytest

import broadphase as bp
from cases import run_script


def check_seeds(begin, end):
    """Offer the damaged buffers of these seeds to all functions that read such, in a process of their own."""
    script = f"import sys; sys.path[:0] = {sys.path!r}; sys.argv[1:] = {[str(begin), str(end)]!r}"
    printed = run_script(f"{script}; import damaged_buffers; damaged_buffers.main()", timeout=900)
    assert int(printed.split()[-1]) > end - begin, "too few were found to be damaged"


def test_functions_that_read_arrow_data_or_array_interfaces_refuse_damaged_buffers():
    pytest.importorskip("pyarrow")
    check_seeds(0, 800)


def test_join_names_the_column_whose_arrow_data_is_damaged():
    pa = pytest.importorskip("pyarrow")
    ends = {"lo": [1, 2, 1], "hi": [3, 4, 4]}
    names = pa.array(["a", "b", "c"])
    offsets, cut = pa.py_buffer(np.array([0, 3, 1, 2], np.int32)), pa.py_buffer(b"abc")
    keys = {
        r"position 2 out of bounds: 1234567": pa.DictionaryArray.from_arrays(
            pa.array([0, 1, 1234567], pa.int32()), names, safe=False
        ),
        r"position 1 out of bounds: -5": pa.DictionaryArray.from_arrays(
            pa.array([0, -5, 2], pa.int32()), names, safe=False
        ),
        r"non-monotonic offset at slot 2": pa.StringArray.from_buffers(3, offsets, cut),
    }
    for reason, key in keys.items():
        table = pa.table({**ends, "k": key})
        with pytest.raises(ValueError, match=rf"left, column 'k': the Arrow data is damaged: .*{reason}"):
            bp.join(table, table, lower="lo", upper="hi", by="k", keep=["lo"])
        with pytest.raises(ValueError, match=rf"right, column 'k': the Arrow data is damaged: .*{reason}"):
            bp.join(pa.table({**ends, "k": names}), table, lower="lo", upper="hi", how="left")


class Shared:
    """Columns of another library, which the core reads by the Arrow C interface alone."""

    def __init__(self, array):
        self._array = array

    def stream(self):
        pa = pytest.importorskip("pyarrow")
        return pa.chunked_array([self._array]).__arrow_c_stream__()


@pytest.mark.parametrize("damage", ["descends", "index", "negative index"])
def test_the_core_checks_offsets_and_indices_where_it_uses_them(damage):
    pa = pytest.importorskip("pyarrow", minversion="17")
    number_names = pytest.importorskip("broadphase._core").number_names
    if damage == "descends":
        offsets = pa.py_buffer(np.array([0, 8, 2, 12], np.int32))
        array = pa.StringArray.from_buffers(3, offsets, pa.py_buffer(b"abcdefghijkl"))
        reason = "row 1 is text from byte 8 to 2 of 12"
    else:
        index = 3 if damage == "index" else -1
        values = pa.array(["a", "b", "c"])
        array = pa.DictionaryArray.from_arrays(pa.array([0, index, 2], pa.int8()), values, safe=False)
        reason = rf"row 1 has the index {index} into a dictionary of 3"
    sound = Shared(pa.array(["a", "b"]))
    with pytest.raises(ValueError, match=f"^keys of right: the Arrow data is damaged: {reason}"):
        number_names([sound.stream(), Shared(array).stream()], ["keys of left", "keys of right"])


def test_views_of_text_are_checked_by_the_core():
    pa = pytest.importorskip("pyarrow", minversion="17")
    number_names = pytest.importorskip("broadphase._core").number_names
    long = "a text of more than twelve bytes"
    sound = pa.array([long, "short", None, long], pa.string_view())
    numbers, count = number_names([Shared(sound).stream()], ["keys"])
    assert numbers[0].tolist() == [0, 1, 2**32 - 1, 0]
    assert count == 2
    for place, word in [(0, -1), (0, 2**30), (2, 7), (2, -1), (3, 2**30), (3, -4)]:
        views = np.frombuffer(sound.buffers()[1], np.int32).copy()
        views[place] = word
        buffers = [sound.buffers()[0], pa.py_buffer(views), *sound.buffers()[2:]]
        damaged = pa.Array.from_buffers(pa.string_view(), 4, buffers)
        with pytest.raises(ValueError, match=r"keys: the Arrow data is damaged: row 0 is text of"):
            number_names([Shared(damaged).stream()], ["keys"])


def test_a_damaged_file_of_arrow_is_refused_by_scale(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from broadphase import scale

    key = pa.DictionaryArray.from_arrays(pa.array([0, 1, 9], pa.int8()), pa.array(["a", "b", "c"]), safe=False)
    table = pa.table({"x0": [0.0, 1, 2], "x1": [1.0, 2, 3], "id": key})
    path = tmp_path / "boxes.arrow"
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(bp.errors.FileFormatError, match=r"boxes.arrow, column 'id': the Arrow data is damaged"):
        scale.pairs(path, output=tmp_path / "out", lower=["x0"], upper=["x1"])


def test_wkb_that_is_none_is_named_by_its_row():
    pa = pytest.importorskip("pyarrow")
    shapely = pytest.importorskip("shapely")
    point = shapely.to_wkb(shapely.Point(1, 2))
    with pytest.raises(ValueError, match=r"geometries: row 1 is not WKB"):
        bp.boxes.from_geometries([point, point[:9]])
    assert bp.boxes.from_geometries(pa.array([point])).tolist() == [[[1, 2], [1, 2]]]
    with pytest.raises(TypeError, match=r"geometries must be geometries as WKB, an array of bytes, not of string"):
        bp.boxes.from_geometries(pa.array(["POINT (1 2)"]))
