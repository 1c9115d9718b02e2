"""Events written to files."""

import csv

import numpy as np
import pytest

from broadphase.io import EVENT_COLUMNS, EVENT_FORMATS, tables, write_events

MEETING = {
    "frame": [3, 3],
    "time": [0.30000000000000004, 0.30000000000000004],
    "event": ["enter", "exit"],
    "first": [0, 2],
    "second": [7, 2**31 - 65],
    "first_handle": [2**32, 2**62],
    "second_handle": [2**32 + 7, 5],
    "first_layer": ["ball", 'a "quoted", name'],
    "second_layer": ["wall", "ünï"],
}
NOTHING = {name: [] for name in EVENT_COLUMNS}


def read(path):
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        kinds = {"int32": int, "int64": int, "float64": float, "string": str}
        return {name: [kinds[kind](row[name]) for row in rows] for name, kind in EVENT_COLUMNS.items()}
    table = pytest.importorskip("pyarrow.parquet").read_table(path)
    assert {field.name: str(field.type).replace("double", "float64") for field in table.schema} == EVENT_COLUMNS
    return table.to_pydict()


@pytest.fixture(params=["pyarrow", "plain"])
def writer(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(tables, "has_library", lambda name: False)
    else:
        pytest.importorskip("pyarrow")


@pytest.mark.parametrize("suffix", EVENT_FORMATS)
def test_events_come_back_as_they_were(tmp_path, writer, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"events{suffix}"
    assert write_events(path, iter([MEETING, NOTHING, MEETING])) == 4
    assert read(path) == {name: 2 * values for name, values in MEETING.items()}
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", EVENT_FORMATS)
@pytest.mark.parametrize("portions", [[], [NOTHING]], ids=["no frames", "quiet frames"])
def test_no_events_give_an_empty_table(tmp_path, suffix, portions):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"events{suffix}"
    assert write_events(path, portions) == 0
    assert read(path) == NOTHING


def test_many_small_frames_become_few_row_groups(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "events.parquet"
    count = 130_000
    frame = {name: np.tile(np.array(values, object), 500) for name, values in MEETING.items()}
    assert write_events(path, (frame for _ in range(count // 1000))) == count
    assert parquet.ParquetFile(path).num_row_groups == 2


@pytest.mark.parametrize("suffix", EVENT_FORMATS)
def test_write_events_failing_keeps_the_older_file(tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"events{suffix}"
    path.write_text("old")

    def portions():
        yield MEETING
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        write_events(path, portions())
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_wrong_columns_lengths_and_endings_are_value_errors(tmp_path):
    with pytest.raises(ValueError, match="must have the columns frame"):
        write_events(tmp_path / "a.csv", [{"frame": [1]}])
    with pytest.raises(ValueError, match="one length"):
        write_events(tmp_path / "a.csv", [{**MEETING, "frame": [1]}])
    with pytest.raises(ValueError, match=r"must end in \.csv or \.parquet"):
        write_events(tmp_path / "a.npy", [MEETING])
