"""Ids that occur twice, among more of them than fit into memory."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import FileFormatError, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from broadphase.scale.source import Source

__all__ = ["are_apart", "check_ids", "id_range", "keys_of", "keys_that_repeat", "name_duplicate", "shares_of"]

_MIX = 0x9E3779B97F4A7C15  # an odd number whose multiples are far apart


def id_range(ids: Any) -> tuple[int, int] | None:
    """Return the first and the last of ids that ascend, one at least; None if they do not."""
    ascending = isinstance(ids, np.ndarray) and bool(np.all(ids[1:] > ids[:-1]))
    return (int(ids[0]), int(ids[-1])) if ascending else None


def are_apart(ranges: Sequence[tuple[int, int] | None]) -> bool:
    """Return whether no id can occur twice in pieces of these ranges: ids ascend in each, and ranges do not meet."""
    ordered = [one for one in ranges if one is not None]
    return None not in ranges and all(one[1] < other[0] for one, other in itertools.pairwise(sorted(ordered)))


def keys_of(ids: Any) -> NDArray[np.uint64]:
    """Return a number for each id: different for different integers, nearly always for different texts."""
    if isinstance(ids, np.ndarray):
        return ids.view(np.uint64) * np.uint64(_MIX)
    if len(ids) == 0:
        return np.empty(0, np.uint64)
    _, offsets_buffer, text = ids.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[ids.offset : ids.offset + len(ids) + 1]
    data = np.frombuffer(text, np.uint8) if text is not None else np.empty(0, np.uint8)
    lengths = np.diff(offsets)
    keys = lengths.astype(np.uint64)
    for place in range(int(lengths.max())):
        rows = np.flatnonzero(lengths > place)
        keys[rows] = (keys[rows] ^ data[offsets[rows] + place]) * np.uint64(_MIX)
        keys[rows] ^= keys[rows] >> np.uint64(29)
    return keys


def shares_of(keys: NDArray[np.uint64], count: int) -> NDArray[np.uint64]:
    """Return the share that each key belongs to."""
    return (keys >> np.uint64(32)) % np.uint64(count)


def keys_that_repeat(*keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the keys that occur twice."""
    ordered = np.sort(np.concatenate(keys)) if keys else np.empty(0, np.uint64)
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def check_ids(ids: Callable[[], Iterable[Any]], count: int, most: int, source: Source) -> None:
    """Raise FileFormatError, which names files and rows, if an id occurs twice.

    `ids` is called for each pass, and yields the ids of all `count` boxes in arrays. Up to `most` fit into memory; of
    more, each pass looks at a part.
    """
    passes = max(1, -(-count // most))
    for part in range(passes):
        found = [keys_of(some) for some in ids()]
        if passes > 1:
            found = [keys[shares_of(keys, passes) == part] for keys in found]
        twice = keys_that_repeat(*found)
        if len(twice):
            name_duplicate(source, twice)


def name_duplicate(source: Source, twice: NDArray[np.uint64]) -> None:
    """Raise FileFormatError if an id with one of these keys occurs twice."""
    seen: dict[Any, str] = {}
    for identity, place in _places(source, twice):
        if identity in seen:
            raise FileFormatError(f"{place}: id {quoted(identity)} is that of {seen[identity]}, too")
        seen[identity] = place


def _places(source: Source, keys: NDArray[np.uint64]) -> Iterator[tuple[Any, str]]:
    for stretch in source.stretches(1 << 18):
        for piece in source.read(stretch, 1 << 18):
            ids = piece.boxes.ids
            for row in np.flatnonzero(np.isin(keys_of(ids), keys)).tolist():
                yield (int(ids[row]) if isinstance(ids, np.ndarray) else ids[row].as_py()), piece.describe(row)
