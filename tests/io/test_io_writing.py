"""Pairs written to files."""

import numpy as np
import pytest

from broadphase.io import PAIR_FORMATS, tables, write_pairs

PAIRS = np.array([[0, 1], [0, 2], [2**31 - 65, 5]], np.int32)
NAMES = ["red", "", 'a "quoted", name', "ünï", None]


def read(path):
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".npz":
        return np.load(path)["pairs"]
    if path.suffix == ".csv":
        return np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int32, ndmin=2).reshape(-1, 2)
    table = pytest.importorskip("pyarrow.parquet").read_table(path)
    return np.stack([table["first"].to_numpy(), table["second"].to_numpy()], axis=1)


@pytest.fixture(params=["pyarrow", "plain"])
def writer(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(tables, "has_library", lambda name: False)
    else:
        pytest.importorskip("pyarrow")


@pytest.mark.parametrize("suffix", PAIR_FORMATS)
@pytest.mark.parametrize("form", ["array", "list", "chunks", "transposed", "int64"])
def test_pairs_come_back_as_they_were(tmp_path, writer, suffix, form):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"pairs{suffix}"
    given = {
        "array": PAIRS,
        "list": PAIRS.tolist(),
        "chunks": iter([PAIRS[:1], PAIRS[1:1], PAIRS[1:]]),
        "transposed": np.asfortranarray(PAIRS),
        "int64": PAIRS.astype(np.int64),
    }[form]
    assert write_pairs(path, given) == 3
    np.testing.assert_array_equal(read(path), PAIRS)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.filterwarnings("ignore:loadtxt")
@pytest.mark.parametrize("suffix", PAIR_FORMATS)
@pytest.mark.parametrize("pairs", [np.empty((0, 2), np.int32), []], ids=["array", "no chunks"])
def test_no_pairs_give_an_empty_table(tmp_path, writer, suffix, pairs):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"pairs{suffix}"
    assert write_pairs(path, pairs if len(np.shape(pairs)) == 2 else iter(pairs)) == 0
    assert read(path).shape == (0, 2)


def test_names_are_written_with_csv(tmp_path, writer):
    path = tmp_path / "pairs.csv"
    write_pairs(path, [[0, 2], [1, 3], [3, 4]], names=NAMES)
    assert path.read_text("utf-8").splitlines() == [
        "first,second,first_name,second_name",
        '0,2,"red","a ""quoted"", name"',
        '1,3,"","ünï"',
        '3,4,"ünï",',
    ]


def test_names_of_two_sets_are_written_with_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    write_pairs(tmp_path / "pairs.parquet", [[0, 1]], names=(["wall"], ["pipe", "duct"]))
    assert parquet.read_table(tmp_path / "pairs.parquet").to_pylist() == [
        {"first": 0, "second": 1, "first_name": "wall", "second_name": "duct"}
    ]


def test_one_large_array_is_written_in_pieces_so_that_signals_do_not_wait(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    pairs = np.arange(2 * 600_000, dtype=np.int32).reshape(-1, 2)
    path = tmp_path / "pairs.parquet"
    assert write_pairs(path, pairs) == 600_000
    assert parquet.ParquetFile(path).num_row_groups == 2
    assert np.array_equal(read(path), pairs)


@pytest.mark.parametrize("suffix", PAIR_FORMATS)
def test_write_pairs_failing_keeps_the_older_file(tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"pairs{suffix}"
    path.write_text("older")

    def portions():
        yield PAIRS
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_pairs(path, portions())
    assert path.read_text() == "older"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("name", "pairs", "names", "message"),
    [
        ("pairs.txt", PAIRS, None, r"pairs\.txt: the file name must end in \.npy"),
        ("pairs.npy", PAIRS, ["a"], "only .csv and .parquet can hold names"),
        ("pairs.npy", PAIRS[:, :1], None, r"must have shape \(m, 2\), not \(3, 1\)"),
        ("pairs.npy", PAIRS.astype(float), None, "must be integers, not float64"),
        ("pairs.npy", np.array([[0, 1], [2**31, 0]]), None, "pairs: row 1 has a row number beyond int32"),
        ("pairs.csv", np.array([[2**64 - 1, 1]], np.uint64), None, "pairs: row 0 has a row number beyond int32"),
    ],
)
def test_what_cannot_be_written_raises(tmp_path, name, pairs, names, message):
    with pytest.raises(ValueError, match=message):
        write_pairs(tmp_path / name, pairs, names)
    assert not list(tmp_path.iterdir())


def test_folder_that_does_not_exist_raises_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_pairs(tmp_path / "nowhere" / "pairs.npy", PAIRS)
