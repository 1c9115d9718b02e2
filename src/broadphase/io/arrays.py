"""Boxes in NumPy's own files."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from broadphase.boxes import as_boxes
from broadphase.io.box_file import BoxFile

_CORNER_KEYS = (("lower", "upper"), ("lo", "hi"))
_WANTED = frozenset({"boxes", *(key for pair in _CORNER_KEYS for key in pair)})


def read_npy(path: Path) -> BoxFile:
    """Read an .npy file that holds an array of boxes.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    BoxFile

    Raises
    ------
    ValueError
        Not an .npy file, a pickled one, or of the wrong shape or dtype.
    """
    with path.open("rb") as stream:
        if stream.read(6) != b"\x93NUMPY":
            raise ValueError(f"{path}: not a .npy file")
        stream.seek(0)
        try:
            array = np.lib.format.read_array(stream, allow_pickle=False)
        except MemoryError:
            raise
        except Exception as error:  # a damaged header makes NumPy fail in many ways, among them tokenize.TokenError
            raise ValueError(f"{path}: not a readable .npy file ({error})") from error
    return BoxFile(_as_boxes(array, path), str(path), "array row", blank="NaN in the array")


def read_npz(path: Path) -> BoxFile:
    """Read an .npz file with the array boxes, or lower and upper, or lo and hi, and optionally names.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    BoxFile

    Raises
    ------
    ValueError
        Not an .npz file, no such arrays, or of the wrong shape or dtype.
    """
    with path.open("rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                keys = [name.removesuffix(".npy") for name in archive.namelist()]
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as arrays:
                found = {key: arrays[key] for key in keys if key in _WANTED}
                names = arrays["names"] if "names" in keys else None
        except MemoryError:
            raise
        except Exception as error:  # as above, and zlib.error, NotImplementedError, RuntimeError from zipfile
            raise ValueError(f"{path}: not a readable .npz file ({error})") from error
    array = _as_boxes(_boxes_of(found, keys, path), path)
    if names is not None:
        if names.shape != (len(array),):
            raise ValueError(f"{path}: there are {len(array)} boxes, but names has shape {names.shape}")
        names = names.astype(str).astype(object)
    return BoxFile(array, str(path), "array row", names, blank="NaN in the array")


def _boxes_of(arrays: dict[str, Any], keys: list[str], path: Path) -> Any:
    if "boxes" in arrays:
        return arrays["boxes"]
    for lower, upper in _CORNER_KEYS:
        if lower in arrays and upper in arrays:
            return arrays[lower], arrays[upper]
    raise ValueError(
        f"{path}: has the arrays {', '.join(keys) or '(none)'}; wanted are boxes, or lower and upper, or lo and hi"
    )


def _as_boxes(array: Any, path: Path) -> Any:
    try:
        return as_boxes(array, name=f"{path}: the array")
    except TypeError as error:
        raise ValueError(str(error)) from error
