"""Which pairs of parts count: by their assemblies, and by patterns of their names."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase.errors import quoted
from broadphase.filters import as_attribute

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    Patterns: TypeAlias = Iterable[tuple[str, str]]
    Names: TypeAlias = Sequence[str | None]

__all__ = ["NamedPairs", "shared_parents"]


def shared_parents(parent: Any, counts: Sequence[int]) -> list[NDArray[np.int64]]:
    """Return the parents of the parts of one set or two, those without one with a number that no other has.

    >>> [found.tolist() for found in shared_parents([7, -1, 7], [3])]
    [[1, -1, 1]]
    >>> [found.tolist() for found in shared_parents((["crate", None], ["crate"]), [2, 1])]
    [[1, -1], [1]]
    """
    if len(counts) == 1:
        given = [parent]
    elif isinstance(parent, tuple) and len(parent) == 2:
        given = list(parent)
    else:
        raise TypeError("parent must be a tuple (for shapes, for other)")
    titles = ["parent"] if len(counts) == 1 else ["parent[0]", "parent[1]"]
    if any(_has_names(one) for one in given):
        numbers: dict[str | None, int] = {None: -1}
        given = [
            [numbers.setdefault(name, len(numbers)) for name in _as_names(title, one, count)]
            for title, one, count in zip(titles, given, counts, strict=True)
        ]
    arrays = [
        as_attribute(title, one, count, np.int64) for title, one, count in zip(titles, given, counts, strict=True)
    ]
    together = np.concatenate(arrays)
    alone = together == -1
    found = np.unique(together, return_inverse=True)[1].astype(np.int64)
    found[alone] = -1 - np.arange(alone.sum())
    return np.split(found, [counts[0]])[: len(counts)]


def _has_names(given: Any) -> bool:
    """Return True if parents are given by name: any of them is a text or None."""
    if isinstance(given, np.ndarray) and given.dtype.kind != "O":
        return given.dtype.kind in "UT" and given.ndim == 1
    if hasattr(given, "to_list"):  # a series of pandas or polars
        given = given.to_list()
    return isinstance(given, list | tuple | np.ndarray) and any(isinstance(one, str) or one is None for one in given)


def _as_names(title: str, given: Any, count: int) -> list[str | None]:
    """Check the names of `count` parts, of which some may have none."""
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise TypeError(f"{title} must be a list of names, not {quoted(given)}")
    listed = [str(name) if isinstance(name, str) else None if _is_nan(name) else name for name in given]
    if len(listed) != count:
        raise ValueError(f"{title} has {len(listed):,} names for {count:,} parts")
    for row, name in enumerate(listed):
        if name is not None and not isinstance(name, str):
            raise TypeError(f"{title}[{row}] must be a name or None, not {quoted(name)}")
    return listed


def _is_nan(name: Any) -> bool:
    """Return True for what pandas has in place of a missing text."""
    return isinstance(name, float) and np.isnan(name)


class NamedPairs(NamedTuple):
    """Which pairs count by the names of both parts, as `names`, `exclude` and `only` of `clearances` say."""

    names: Any
    exclude: Patterns
    only: Patterns

    def passing(self, pairs: NDArray[np.int32], own_names: Sequence[Names | None], counts: Sequence[int]) -> Any:
        """Return the pairs that pass; `own_names` are those that the parts of each set have themselves."""
        wanted = [("exclude", _as_patterns("exclude", self.exclude)), ("only", _as_patterns("only", self.only))]
        if not any(patterns for _, patterns in wanted):
            return pairs
        names = self._names_of(own_names, counts)
        for option, patterns in wanted:
            if patterns:
                are_matched = np.zeros(len(pairs), np.bool_)
                for one, two in patterns:
                    first, second = ([matching(listed, pattern) for listed in names] for pattern in (one, two))
                    for a, b in ((first, second), (second, first)):
                        are_matched |= a[0][pairs[:, 0]] & b[-1][pairs[:, 1]]
                pairs = pairs[are_matched if option == "only" else ~are_matched]
        return pairs

    def _names_of(self, own_names: Sequence[Names | None], counts: Sequence[int]) -> list[list[str]]:
        given: Sequence[Any]
        if self.names is None:
            given = own_names
        elif len(counts) == 1:
            given = [self.names]
        elif isinstance(self.names, tuple) and len(self.names) == 2:
            given = self.names
        else:
            raise TypeError("names must be a tuple (for shapes, for other)")
        titles = ["names"] if len(counts) == 1 else ["names[0]", "names[1]"]
        found = []
        for title, one, count in zip(titles, given, counts, strict=True):
            listed = [None] * count if one is None else _as_names(title, one, count)
            if None in listed:
                raise ValueError(f"exclude and only need names of all parts: part {listed.index(None)} has none; "
                                 "pass names=")  # fmt: skip
            found.append([str(name) for name in listed])
        return found


def matching(names: Iterable[str], pattern: str) -> NDArray[np.bool_]:
    """Return for each name whether it matches a glob pattern; upper and lower case differ.

    >>> matching(["bolt", "bolt (2)", "Bolt"], "bolt*").tolist()
    [True, True, False]
    """
    return np.array([fnmatchcase(name, pattern) for name in names], np.bool_)


def _as_patterns(option: str, given: Any) -> list[tuple[str, str]]:
    """Check pairs of patterns."""
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise TypeError(f"{option} must be a list of pairs of patterns, not {quoted(given)}")
    found = []
    for place, pair in enumerate(given):
        is_pair = isinstance(pair, list | tuple) and len(pair) == 2
        if not is_pair or not all(isinstance(one, str) for one in pair):
            raise TypeError(f"{option}[{place}] must be two patterns, such as ('bolt*', 'nut*'), not {quoted(pair)}")
        found.append((pair[0], pair[1]))
    return found
