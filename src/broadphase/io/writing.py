"""Write pairs to a file, at once or a portion at a time."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.files import replacing
from broadphase.io.tables import write_csv, write_parquet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    Portions = Iterable[NDArray[Any]]
    Names = tuple[NDArray[np.object_], NDArray[np.object_]] | None

PAIR_FORMATS = (".npy", ".npz", ".csv", ".parquet")
"""The file name endings that `write_pairs` knows."""


def write_pairs(
    path: str | os.PathLike[str],
    pairs: ArrayLike | Iterable[NDArray[Any]],
    names: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
) -> int:
    """Write pairs to a file.

    The file appears under its name when it is complete: an error or Ctrl-C on the way leaves an older file as it was.

    Parameters
    ----------
    path : path-like
        .npy: one (m, 2) int32 array; .npz: the same, called ``pairs``; .csv and .parquet: columns ``first`` and
        ``second``, and with `names` also ``first_name`` and ``second_name``.
    pairs : array_like, shape (m, 2), or iterator of such arrays
        What `broadphase.pairs` or `broadphase.iter_pairs` returns. With an iterator, memory for one portion is enough.
    names : array_like of str, shape (n,), or tuple of two, optional
        Name of each box; for pairs between two sets a tuple, for the first and for the second. Only for .csv and
        .parquet.

    Returns
    -------
    int
        How many pairs were written.

    Raises
    ------
    ValueError
        An unknown file name ending, names with .npy or .npz, or pairs of a wrong shape.
    OSError
        The file cannot be written.
    MissingExtraError
        .parquet without pyarrow.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "pairs.csv")
    >>> write_pairs(path, np.array([[0, 1]], dtype=np.int32), names=["red", "blue"])
    1
    >>> print(path.read_text(), end="")
    first,second,first_name,second_name
    0,1,"red","blue"
    """
    path = Path(path)
    write = _WRITERS.get(path.suffix.lower())
    if write is None:
        raise ValueError(f"{path}: pairs are written to {', '.join(PAIR_FORMATS)}")
    if names is not None and path.suffix.lower() in (".npy", ".npz"):
        raise ValueError(f"{path}: names are written to .csv and .parquet only")
    both: Names = None
    if names is not None:
        first, second = names if isinstance(names, tuple) and len(names) == 2 else (names, names)
        both = np.asarray(first, dtype=object), np.asarray(second, dtype=object)
    is_whole = isinstance(pairs, list | tuple) or hasattr(pairs, "__array__") or not isinstance(pairs, Iterable)
    portions: Any = [pairs] if is_whole else pairs
    with replacing(path) as unfinished:
        return write(unfinished, (_check(portion, path) for portion in portions), both)


def _check(portion: Any, path: Path) -> NDArray[Any]:
    array = np.asarray(portion)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"{path}: pairs must have shape (m, 2), not {array.shape}")
    if array.dtype.kind not in "iu":
        raise ValueError(f"{path}: pairs must be integers, not {array.dtype}")
    return array.astype(np.int32, copy=False)


def _write_npy(path: Path, portions: Iterator[NDArray[Any]], names: Names) -> int:
    # The header is padded for any length, so it can be written again in place when the count is known.
    def header(count: int) -> None:
        fields = {"descr": "<i4", "fortran_order": False, "shape": (count, 2)}
        np.lib.format.write_array_header_1_0(stream, fields)

    count = 0
    with path.open("wb") as stream:
        header(0)
        begin = stream.tell()
        for portion in portions:
            stream.write(np.ascontiguousarray(portion, dtype="<i4").data)
            count += len(portion)
        stream.seek(0)
        header(count)
        if stream.tell() != begin:
            raise RuntimeError("this version of NumPy does not pad the header of .npy files")
    return count


def _write_npz(path: Path, portions: Iterator[NDArray[Any]], names: Names) -> int:
    inner = path.with_suffix(".npy")
    try:
        count = _write_npy(inner, portions, names)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.write(inner, "pairs.npy")
    finally:
        inner.unlink(missing_ok=True)
    return count


def _write_csv(path: Path, portions: Iterator[NDArray[Any]], names: Names) -> int:
    return write_csv(path, (_columns(portion, names) for portion in portions), _types(names))


def _write_parquet(path: Path, portions: Iterator[NDArray[Any]], names: Names) -> int:
    return write_parquet(path, (_columns(portion, names) for portion in portions), _types(names))


def _types(names: Names) -> dict[str, str]:
    numbers = {"first": "int32", "second": "int32"}
    return numbers if names is None else {**numbers, "first_name": "string", "second_name": "string"}


def _columns(portion: NDArray[Any], names: Names) -> dict[str, Any]:
    first, second = np.ascontiguousarray(portion[:, 0]), np.ascontiguousarray(portion[:, 1])
    columns = {"first": first, "second": second}
    if names is not None:
        columns["first_name"], columns["second_name"] = names[0][first], names[1][second]
    return columns


_WRITERS: dict[str, Callable[[Path, Iterator[NDArray[Any]], Names], int]] = {
    ".npy": _write_npy,
    ".npz": _write_npz,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
}
