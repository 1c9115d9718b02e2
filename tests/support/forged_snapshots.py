"""Snapshots with the right checksum and one wrong field: every field of the header, every array."""

import contextlib
import warnings

import numpy as np

import broadphase as bp
from broadphase.world.snapshot_format import pack, unpack

VALUES = (
    None, True, False, -1, 0, 1, 2, 3, 4, 2**31, 2**62, 2**63, 2**64, 10**30, 10**400, -(10**30), 0.5, -1.5, 1e308, "",
    "x", "auto", "none", "wrap", "all", [], [0], [[0, 1]], [[1, 2, 3]], ["default"], ["default", 1], {}, {"a": 1},
)  # fmt: skip
DTYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")


def with_value(about, path, value):
    """Give a header in which one field, named by the keys that lead to it, has another value, or is missing."""
    key, *rest = path
    copied = dict(about) if isinstance(about, dict) else list(about)
    if rest:
        copied[key] = with_value(about[key], rest, value)
    elif value is ...:
        del copied[key]
    else:
        copied[key] = value
    return copied


def paths_of(about):
    """Give the keys that lead to each field of a header."""
    yield from (("world",), ("data",), ("data", 0), ("data", 0, 0), ("data", 0, 1))
    for key in about["world"]:
        yield "world", key
    for key in ("names", "priorities"):
        yield "world", "layers", key
        yield "world", "layers", key, 0
        yield "world", "layers", key, 1


def forged_headers(data):
    """Give the path and the value of each forged field, and the bytes."""
    about, arrays = unpack(data)
    for path in paths_of(about):
        for value in (..., *VALUES):
            yield path, value, pack(with_value(about, path, value), arrays)


def other_arrays(array, rng):
    """Give arrays like this one but for dtype, shape, or some values."""
    for dtype in DTYPES:
        if np.dtype(dtype) != array.dtype:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield array.astype(dtype)
    yield from (array[np.newaxis], array.reshape(-1), array[..., np.newaxis], np.zeros((), array.dtype))
    if array.ndim:
        yield from (array[:-1], array[1:], array[:0], np.concatenate([array, array[-1:]]), array[::-1].copy())
    if array.dtype.kind == "f":
        values = [0.0, -1.0, 0.5, 1e39, 1e41, 1e200, -1e308, np.nan, np.inf, -np.inf]
    elif array.dtype.kind == "b":
        values = [False, True]
    else:
        info = np.iinfo(array.dtype)
        values = [
            v for v in (0, 1, 2, 3, 4, 7, 255, -1, 2**31 - 1, 2**31, info.min, info.max) if info.min <= v <= info.max
        ]
    for value in values:
        yield np.full_like(array, value)
        for _ in range(2):
            if array.size:
                forged = array.copy()
                forged.reshape(-1)[rng.integers(array.size)] = value
                yield forged


def forged_arrays(data, rng):
    """Give the name of each forged array, and the bytes."""
    about, arrays = unpack(data)
    for name, array in arrays.items():
        yield name, pack(about, {other: kept for other, kept in arrays.items() if other != name})
        for forged in other_arrays(array, rng):
            yield name, pack(about, arrays | {name: forged})


def refusal_of(data):
    """Load a forged snapshot; return the message of the ValueError, or None for a world that works."""
    try:
        world = bp.World.from_bytes(data)
    except ValueError as error:
        return str(error)
    assert bp.World.from_bytes(world.to_bytes()).to_bytes() == world.to_bytes()
    d = world.dim
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (
            lambda: world.step(0.1),
            lambda: world.step(0.1, budget=bp.Budget(tests=2)),
            lambda: world.query([[-1] * d + [1] * d]),
            lambda: world.nearest([[0] * d]),
            lambda: world.remove(world.rows[:1]),
            lambda: world.step(0.0),
        ):
            with contextlib.suppress(ValueError):  # a velocity, or a position, that is not finite: names the row
                call()
    return None
