"""Boxes read from .npy and .npz files, and what all readers have in common."""

import sys

import numpy as np
import pytest

import broadphase as bp
from broadphase import io

BOXES = np.arange(12.0, dtype=np.float32).reshape(3, 2, 2)


@pytest.mark.parametrize("array", [BOXES, BOXES.reshape(3, 4), np.asfortranarray(BOXES), BOXES[:0]])
def test_npy_gives_the_array(tmp_path, array):
    np.save(tmp_path / "boxes.npy", array)
    file = io.read_boxes(tmp_path / "boxes.npy")
    np.testing.assert_array_equal(file.boxes, array.reshape(-1, 2, 2))
    assert file.boxes.dtype == np.float32


@pytest.mark.parametrize(
    "arrays",
    [
        {"boxes": BOXES, "other": np.zeros(5)},
        {"lower": BOXES[:, 0], "upper": BOXES[:, 1]},
        {"lo": BOXES[:, 0], "hi": BOXES[:, 1], "frames": np.zeros((2, 3))},
    ],
)
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_gives_the_boxes(tmp_path, arrays, save):
    save(tmp_path / "boxes.npz", **arrays)
    np.testing.assert_array_equal(io.read_boxes(str(tmp_path / "boxes.npz")).boxes, BOXES)


def test_npz_gives_the_names(tmp_path):
    np.savez(tmp_path / "boxes.npz", boxes=BOXES, names=np.array(["a", "b", "c"]))
    assert io.read_boxes(tmp_path / "boxes.npz").names.tolist() == ["a", "b", "c"]
    np.savez(tmp_path / "boxes.npz", boxes=BOXES, names=np.array(["a", "b"]))
    with pytest.raises(bp.errors.FileFormatError, match=r"boxes\.npz: names must have shape \(3,\)"):
        io.read_boxes(tmp_path / "boxes.npz")


def test_npz_without_boxes_names_what_is_there(tmp_path):
    np.savez(tmp_path / "boxes.npz", lower=BOXES, frames=BOXES)
    with pytest.raises(
        bp.errors.FileFormatError,
        match=r"boxes\.npz: needs an array boxes, or lower and upper, or lo and hi; has lower, frames",
    ):
        io.read_boxes(tmp_path / "boxes.npz")


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_numpy_files_of_wrong_content_name_the_file(tmp_path, suffix):
    path = tmp_path / f"boxes{suffix}"
    save = np.save if suffix == ".npy" else lambda path, array: np.savez(path, boxes=array)
    for array in (np.zeros((3, 5)), np.zeros((3, 4), complex), np.array([["a"] * 4]), np.zeros(())):
        save(path, array)
        with pytest.raises(bp.errors.FileFormatError, match=rf"boxes\{suffix}: "):
            io.read_boxes(path)
    save(path, np.array([[object()] * 4]))
    with pytest.raises(bp.errors.FileFormatError, match=rf"boxes\{suffix}: .*allow_pickle"):
        io.read_boxes(path)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_numpy_files_cut_short_name_the_file(tmp_path, suffix):
    path = tmp_path / f"boxes{suffix}"
    (np.save if suffix == ".npy" else np.savez)(path, **{"arr" if suffix == ".npy" else "boxes": BOXES})
    whole = path.read_bytes()
    for length in range(0, len(whole) - 1, 7):
        path.write_bytes(whole[:length])
        with pytest.raises(bp.errors.FileFormatError, match=rf"boxes\{suffix}: "):
            io.read_boxes(path)


def test_unknown_ending_names_the_known_ones(tmp_path):
    with pytest.raises(
        bp.errors.FileFormatError, match=r"boxes\.xyz: unknown file name ending; known are \.npy, \.npz, \.csv"
    ):
        io.read_boxes(tmp_path / "boxes.xyz")


def test_format_overrides_the_ending(tmp_path):
    (tmp_path / "boxes.txt").write_text("0,0,1,1\n")
    assert io.read_boxes(tmp_path / "boxes.txt", format="csv").boxes.shape == (1, 2, 2)
    with pytest.raises(ValueError, match="unknown format 'txt'"):
        io.read_boxes(tmp_path / "boxes.txt", format="txt")


@pytest.mark.parametrize("suffix", io.FORMATS)
def test_file_that_does_not_exist_raises_os_error(tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    if suffix == ".ply":
        pytest.importorskip("trimesh")
    with pytest.raises(FileNotFoundError, match=rf"boxes\{suffix}"):
        io.read_boxes(tmp_path / f"boxes{suffix}")


@pytest.mark.parametrize("suffix", [".parquet", ".ply"])
def test_missing_extra_names_the_installation(tmp_path, suffix, monkeypatch):
    for library in ("pyarrow", "trimesh"):
        monkeypatch.setitem(sys.modules, library, None)
    (tmp_path / f"boxes{suffix}").write_bytes(b"")
    with pytest.raises(bp.errors.MissingExtraError, match=r'pip install "broadphase\[io\]"'):
        io.read_boxes(tmp_path / f"boxes{suffix}")
