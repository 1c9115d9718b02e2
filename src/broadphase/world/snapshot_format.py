"""The container of a snapshot: a JSON header and named arrays in one run of bytes, with a checksum.

::

    0    magic, 8 bytes
    8    version of the format, uint32
    12   length of the header, uint32
    16   length of everything, uint64
    24   SHA-256 of all other bytes, 32 bytes
    56   header: JSON in UTF-8, {"about": ..., "arrays": [[name, dtype, shape], ...]}
         then the arrays in this order, in C order, each from the next multiple of 8 on; zeros in between

All numbers are little-endian. Where an array lies follows from those before it, so a header cannot make two of them
overlap. There is nothing to execute, no date, and nothing about the machine: equal worlds have equal bytes.
"""

from __future__ import annotations

import json
import struct
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

    from numpy.typing import NDArray

__all__ = ["VERSION", "as_json", "pack", "unpack"]

MAGIC = b"\x93bpWorld"
VERSION = 3

_FIXED = struct.Struct("<8sIIQ32s")
_DIGEST = slice(24, 56)
_ALIGNMENT = 8
_DTYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")
_MOST_AXES = 4
_LONGEST = 2**40  # numbers along an axis: far below where products of them overflow anything


def pack(about: Any, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Put a header, any JSON value, and named arrays into one run of bytes, which is the same on every machine.

    Arrays are of bool, integers or floats, of up to 4 axes, any layout and byte order; others raise TypeError, as does
    a header that is not JSON.

    >>> import numpy as np
    >>> from broadphase.world.snapshot_format import pack, unpack
    >>> about, arrays = unpack(pack({"dim": 2}, {"rows": np.array([3, 5])}))
    >>> about, arrays["rows"].tolist()
    ({'dim': 2}, [3, 5])
    """
    kept = {name: _as_little_endian(name, array) for name, array in arrays.items()}
    entries = [[name, array.dtype.str, list(array.shape)] for name, array in kept.items()]
    header = as_json({"about": about, "arrays": entries}, "the header").encode()
    total = _FIXED.size + len(header)
    parts = [header]
    for array in kept.values():
        gap = -total % _ALIGNMENT
        parts += [bytes(gap), array.tobytes()]
        total += gap + array.nbytes
    content = b"".join(parts)
    head = _FIXED.pack(MAGIC, VERSION, len(header), total, bytes(32))
    import hashlib  # takes 4 ms, and most programs save nothing

    digest = hashlib.sha256(head[: _DIGEST.start])
    digest.update(content)
    return head[: _DIGEST.start] + digest.digest() + content


def unpack(data: bytes | bytearray | memoryview) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Undo `pack`; the arrays are new, of native byte order, and can be written to.

    Raises ValueError for other bytes, damaged ones or another version, and says where; TypeError for what is not bytes.
    """
    view = memoryview(data).cast("B")
    if len(view) < _FIXED.size:
        raise ValueError(f"not a broadphase snapshot ({len(view)} bytes, at least {_FIXED.size} are needed)")
    magic, version, header_length, total, expected = _FIXED.unpack_from(view)
    if magic != MAGIC:
        raise ValueError("not a broadphase snapshot (bad magic bytes)")
    if version != VERSION:
        raise ValueError(
            f"snapshot format {version} is not supported: this version of broadphase reads format {VERSION}"
        )
    if total != len(view):
        what = "truncated" if total > len(view) else "followed by other bytes"
        raise ValueError(f"the snapshot is {what}: {len(view)} bytes, not {total}")
    import hashlib

    digest = hashlib.sha256(view[: _DIGEST.start])
    digest.update(view[_DIGEST.stop :])
    if digest.digest() != expected:
        raise ValueError("the snapshot is damaged (checksum mismatch)")
    end = _FIXED.size + header_length
    if end > total:
        raise ValueError(f"the header of the snapshot ends at byte {end}, after its end at {total}")
    header = _parse(bytes(view[_FIXED.size : end]))
    if not isinstance(header, dict) or set(header) != {"about", "arrays"} or not isinstance(header["arrays"], list):
        raise ValueError("the header of the snapshot is not of the form {about, arrays}")
    arrays: dict[str, NDArray[Any]] = {}
    for entry in header["arrays"]:
        name, dtype, shape = _checked_entry(entry)
        if name in arrays:
            raise ValueError(f"the snapshot has two arrays {quoted(name)}")
        begin = end + -end % _ALIGNMENT
        end_of_array = begin + dtype.itemsize * prod(shape)
        if end_of_array > total:
            raise ValueError(
                f"array {quoted(name)} of the snapshot ends at byte {end_of_array}, after its end at {total}"
            )
        if any(view[end:begin]):
            raise ValueError(f"there are bytes before array {quoted(name)} of the snapshot that should be 0")
        arrays[name] = _taken(view[begin:end_of_array], name, dtype, shape)
        end = end_of_array
    if end != total:
        raise ValueError(f"the arrays of the snapshot end at byte {end}, and the snapshot at {total}")
    return header["about"], arrays


def as_json(value: Any, what: str) -> str:
    """Write a value as JSON, if reading it again gives an equal one; TypeError, which names `what`, for any other.

    >>> as_json({"life": [1, 0.5, None]}, "data")
    '{"life":[1,0.5,null]}'
    >>> as_json({"home": (3, 4)}, "data of row 7")
    Traceback (most recent call last):
    TypeError: data of row 7 is not the same after it is written as JSON and read again
    """
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
        same = json.loads(text) == value
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{what} cannot be written as JSON: {error}") from error
    if not same:
        raise TypeError(f"{what} is not the same after it is written as JSON and read again")
    return text


def _as_little_endian(name: str, array: NDArray[Any]) -> NDArray[Any]:
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in _DTYPES or array.ndim > _MOST_AXES:
        raise TypeError(f"array {quoted(name)} of {array.dtype} and {array.ndim} axes cannot be stored in a snapshot")
    return np.asarray(array, dtype)


def _parse(text: bytes) -> Any:
    try:
        return json.loads(text.decode(), object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:  # bad UTF-8 is a ValueError, too
        raise ValueError(f"the header of the snapshot is not JSON: {error}") from None


def _without_duplicates(items: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(items)
    if len(found) != len(items):
        raise ValueError("duplicate key")
    return found


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _checked_entry(entry: Any) -> tuple[str, np.dtype[Any], tuple[int, ...]]:
    if not isinstance(entry, list) or len(entry) != 3 or not isinstance(entry[0], str):
        raise ValueError("an array of the snapshot is not described as [name, dtype, shape]")
    name, dtype, shape = entry
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise ValueError(f"array {quoted(name)} of the snapshot is of {quoted(dtype)}, not of {', '.join(_DTYPES)}")
    if not isinstance(shape, list) or len(shape) > _MOST_AXES:
        raise ValueError(f"array {quoted(name)} of the snapshot has a shape of more than {_MOST_AXES} axes")
    if not all(type(extent) is int and 0 <= extent <= _LONGEST for extent in shape):
        raise ValueError(f"array {quoted(name)} of the snapshot has a shape that is not made of whole numbers")
    if prod(filter(None, shape)) > _LONGEST:
        raise ValueError(f"array {quoted(name)} of the snapshot has a shape that does not fit into memory")
    return name, np.dtype(dtype), tuple(shape)


def _taken(data: memoryview, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if dtype.kind == "b" and (np.frombuffer(data, np.uint8) > 1).any():
        raise ValueError(f"array {quoted(name)} of the snapshot has a boolean that is neither 0 nor 1")
    return np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="))
