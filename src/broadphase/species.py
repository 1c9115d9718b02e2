"""Cutoffs of pairs of species: a table, or a dict by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from broadphase.arguments import as_own_array, as_real, as_reals
from broadphase.boxes.checking import first_bad_row

__all__ = ["NO_PAIR", "cutoffs_by_species"]

#: In a table of cutoffs: two species that are never a pair.
NO_PAIR = -1.0

_MOST_SPECIES = 10_000

#: A symmetric table (S, S), and the species of each row of each set, from 0 to S - 1.
BySpecies = tuple[npt.NDArray[np.float64] | None, npt.NDArray[np.int32] | None, npt.NDArray[np.int32] | None]


def cutoffs_by_species(cutoff: Any, species: Any, counts: tuple[int, ...]) -> BySpecies:
    """Return a table of cutoffs and the species of the rows of one or two sets, by their counts; None without species.

    >>> cutoffs_by_species({("O", "H"): 1.2}, ["O", "H", "C"], (3,))[1]
    array([0, 1, 2], dtype=int32)
    """
    is_table = isinstance(cutoff, Mapping)
    if not is_table and not isinstance(cutoff, int | float | tuple):
        is_table = as_own_array(cutoff, "cutoff").ndim == 2
    if species is None:
        if is_table:
            raise TypeError("cutoff: by species, and species= is not given")
        return None, None, None
    if not is_table:
        raise ValueError("species= needs a cutoff for each two of them: a table, or a dict")
    if len(counts) == 1:
        given = [_as_species(species, "species", counts[0])]
    elif isinstance(species, tuple) and len(species) == 2:
        given = [_as_species(one, f"species[{k}]", counts[k]) for k, one in enumerate(species)]
    else:
        raise ValueError("species: for two sets of points, give a tuple (for the first, for the second)")
    if isinstance(cutoff, Mapping):
        names, table = _by_name(cutoff)
        kinds = [_numbered(names, one) for one in given]
    else:
        table = _as_table(cutoff)
        names_of = ("species[0]", "species[1]") if given[1:] else ("species",)
        kinds = [_as_numbers(one, len(table), name) for one, name in zip(given, names_of, strict=True)]
    return table, kinds[0], kinds[1] if kinds[1:] else None


def _as_species(values: Any, name: str, count: int) -> npt.NDArray[Any]:
    array = as_own_array(values, name)
    if array.shape != (count,):
        raise ValueError(f"{name} must have shape ({count},), one for each point, not {array.shape}")
    if array.size and array.dtype.kind not in "iuU":
        raise TypeError(f"{name} must be integers or strings, not {array.dtype}")
    return array


def _as_table(cutoff: Any) -> npt.NDArray[np.float64]:
    table = np.array(as_reals(cutoff, "cutoff"), order="C")
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not 1 <= len(table) <= _MOST_SPECIES:
        raise ValueError(f"cutoff by species must have shape (S, S), S from 1 to {_MOST_SPECIES}, not {table.shape}")
    row = first_bad_row(~((table == table.T) & (table >= 0)).all(axis=1))
    if row is not None:
        raise ValueError(f"cutoff: row {row} of the table has a number below 0, or it is not symmetric there")
    return table


def _by_name(cutoff: Mapping[Any, Any]) -> tuple[dict[Any, int], npt.NDArray[np.float64]]:
    """Return the number of each name, and a table with a last row for all that have none."""
    limits: dict[tuple[Any, Any], float] = {}
    names: dict[Any, int] = {}
    for pair, value in cutoff.items():
        two = pair if isinstance(pair, tuple) and len(pair) == 2 else (None, None)
        if not all(isinstance(name, str | int | np.integer) for name in two):
            raise TypeError(f"cutoff: a key must be a tuple of two species, strings or integers, not {pair!r}")
        limit = as_real(value, f"cutoff[{pair!r}]")
        if not limit >= 0:
            raise ValueError(f"cutoff[{pair!r}] must be at least 0, not {limit}")
        if limits.setdefault(pair[::-1], limit) != limit:
            raise ValueError(f"cutoff: {pair!r} and {pair[::-1]!r} differ")
        limits[pair] = limit
        for name in pair:
            names.setdefault(name, len(names))
    if len(names) >= _MOST_SPECIES:
        raise ValueError(f"cutoff names {len(names)} species, and at most {_MOST_SPECIES - 1} are taken")
    if len({isinstance(name, str) for name in names}) > 1:
        raise TypeError("cutoff: its species are strings and integers; all must be of one kind")
    table = np.full((len(names) + 1,) * 2, NO_PAIR)
    for (one, other), limit in limits.items():
        table[names[one], names[other]] = limit
    return names, table


def _numbered(names: dict[Any, int], species: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    kinds = np.full(len(species), len(names), np.int32)
    if not len(species):
        return kinds
    are_strings = species.dtype.kind == "U"
    if any(isinstance(name, str) is not are_strings for name in names):
        raise TypeError(f"species are {'strings' if are_strings else 'integers'}, and those of cutoff are not")
    if not are_strings and species.min() >= 0 and species.max() <= 2 * len(species) + 1000:
        of_number = np.full(int(species.max()) + 1, len(names), np.int32)
        for name, number in names.items():
            if 0 <= name < len(of_number):
                of_number[name] = number
        kinds[:] = of_number[species]
        return kinds
    for name, number in names.items():
        kinds[species == name] = number
    return kinds


def _as_numbers(species: npt.NDArray[Any], most: int, name: str) -> npt.NDArray[np.int32]:
    if len(species) and species.dtype.kind == "U":
        raise TypeError(f"{name}: a table of cutoffs goes by numbers from 0; for names, give cutoff as a dict")
    bad = first_bad_row((species < 0) | (species >= most))
    if bad is not None:
        raise ValueError(f"{name}: row {bad} is {species[bad]}; the table of cutoffs is for 0 to {most - 1}")
    return np.ascontiguousarray(species, np.int32)
