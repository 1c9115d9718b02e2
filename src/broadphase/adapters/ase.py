"""Neighbor lists of atoms as in ``ase.neighborlist``: same arguments, same neighbors.

Docstrings say what differs from ASE. As there, an atom at exactly the cutoff is no neighbor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import broadphase as bp
from broadphase import _native
from broadphase.errors import quoted
from broadphase.extras import import_extra

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["NeighborList", "PrimitiveNeighborList", "neighbor_list", "primitive_neighbor_list"]

theirs: Any = import_extra("ase.neighborlist", purpose=__name__, install="ase")
_geometry: Any = import_module("ase.geometry")
_Cell: Any = import_module("ase.cell").Cell
_NUMBERS: Mapping[str, int] = import_module("ase.data").atomic_numbers

#: One cutoff; one for pairs of elements; or a radius for each atom.
Cutoff: TypeAlias = "float | Mapping[tuple[int | str, int | str], float] | Sequence[float] | NDArray[Any]"


def neighbor_list(
    quantities: str, a: Any, cutoff: Cutoff, self_interaction: bool = False, max_nbins: float = 1e6
) -> Any:
    """Find the neighbors of all atoms, as ``ase.neighborlist.neighbor_list`` does.

    Parameters
    ----------
    quantities, a, cutoff, self_interaction
        As in ASE.
    max_nbins
        Has no effect: the memory does not depend on the size of the cell.

    Notes
    -----
    O(n + m) time for n atoms that are spread evenly, and m pairs. Distances are those of ASE up to rounding.

    Examples
    --------
    >>> from ase.build import molecule
    >>> from broadphase.adapters.ase import neighbor_list
    >>> i, d = neighbor_list("id", molecule("H2O"), 1.2)
    >>> i, d.round(3)
    (array([0, 0, 1, 2]), array([0.969, 0.969, 0.969, 0.969]))
    """
    return primitive_neighbor_list(
        quantities, a.pbc, a.get_cell(complete=True), a.positions, cutoff, a.numbers, self_interaction
    )


def primitive_neighbor_list(
    quantities: str,
    pbc: ArrayLike,
    cell: Any,
    positions: ArrayLike,
    cutoff: Cutoff,
    numbers: ArrayLike | None = None,
    self_interaction: bool = False,
    use_scaled_positions: bool = False,
    max_nbins: float = 1e6,
) -> Any:
    """Find the neighbors of all points, as ``ase.neighborlist.primitive_neighbor_list`` does; see `neighbor_list`.

    Raises
    ------
    ValueError
        Another letter than i, j, d, D and S, a wrong number of radii, a position that is NaN.
    """
    unknown = set(quantities) - set("ijdDS")
    if unknown:
        raise ValueError(f"quantities: {quoted(min(unknown))} is none of i, j, d, D and S")
    places, vectors = _in_space(positions, cell, use_scaled_positions)
    _, *found = _listed(places, vectors, np.asarray(pbc, bool), cutoff, numbers, quantities, self_interaction)
    listed = dict(zip("ijdDS", found, strict=True))
    return listed[quantities] if len(quantities) == 1 else tuple(listed[name] for name in quantities)


def _in_space(positions: Any, cell: Any, are_scaled: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the places of points, and the vectors of a cell, none of them zero."""
    places, given = np.asarray(positions, np.float64).reshape(-1, 3), np.asarray(cell, np.float64)
    return places @ given if are_scaled else places, theirs.complete_cell(given)


def _listed(
    places: NDArray[np.float64],
    vectors: NDArray[np.float64],
    repeats: NDArray[np.bool_],
    cutoff: Cutoff,
    numbers: ArrayLike | None,
    quantities: str,
    self_interaction: bool,
    both: bool = True,
    ascending: bool = False,
) -> tuple[Any, ...]:
    """Return where the pairs of each atom start, and what the letters i, j, d, D and S stand for, or None."""
    count = len(places)
    limits: Any
    elements = radii = selves = None
    # A pair at exactly the cutoff is none.
    if isinstance(cutoff, Mapping):
        limits = _limits_by_element(cutoff)
        if numbers is None:
            raise ValueError("cutoff: by elements, and numbers is None")
        elements = np.array(numbers, np.int64)
        selves = np.isin(elements, [one for one, other in limits if one == other])
    else:
        given = np.asarray(cutoff, np.float64)
        if given.ndim and len(given) != count:
            raise ValueError(f"cutoff: {len(given)} radii for {count} atoms")
        if given.ndim and count and (given == given[0]).all():
            given = 2 * given[0]
        if not given.ndim and given > 0:
            limits = np.nextafter(given, 0.0)
        else:
            limits, radii = np.maximum(given, 0.0), given if given.ndim else np.full(count, given / 2)
            selves = radii > 0
    are_listed = both and radii is None and not self_interaction
    near: Any = bp.neighbors(
        places,
        limits,
        cell=vectors,
        periodic=repeats,
        species=elements,
        full=are_listed,
        distances="d" in quantities or radii is not None,
        vectors="D" in quantities,
        shifts="S" in quantities,
        sort=ascending,
    )
    if are_listed:
        first, second, shifts = (
            None if one is None else np.ascontiguousarray(one, np.int64)
            for one in (near.pairs[:, 0] if "i" in quantities else None, near.pairs[:, 1], near.shifts)
        )
        return near.offsets.view(np.int64), first, second, near.distances, near.vectors, shifts
    pairs, lengths, differences, shifts = near.pairs, near.distances, near.vectors, near.shifts
    if not self_interaction:
        selves = None
    elif selves is None:
        selves = np.ones(count, bool)
    listed: tuple[Any, ...] = _native.pairs_by_atom(
        pairs, lengths, differences, shifts, count, radii, selves, both, ascending, "i" in quantities
    )
    # The integers of the core are C's long long, of which NumPy's int64 need not be another name.
    return tuple(one.view(np.int64) if one is not None and one.dtype.kind == "i" else one for one in listed)


def _limits_by_element(cutoff: Mapping[tuple[int | str, int | str], float]) -> dict[tuple[int, int], float]:
    """Return the longest distance of the pairs of elements that can be near each other; the last of two that differ."""
    limits: dict[tuple[int, int], float] = {}
    for names, limit in cutoff.items():
        one, other = (_NUMBERS[name] if isinstance(name, str) else int(name) for name in names)
        limits.pop((other, one), None)
        limits[one, other] = float(limit)
    return {pair: float(np.nextafter(limit, 0.0)) for pair, limit in limits.items() if limit > 0}


def _either(positions: Any, coordinates: Any) -> Any:
    """Return the one of two arguments that is given."""
    if (positions is None) == (coordinates is None):
        raise TypeError("positions: give them once, as positions or as coordinates")
    return coordinates if positions is None else positions


def _wrapping(
    places: NDArray[np.float64], cell: NDArray[np.float64], repeats: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return how ASE shifts each point into its reduced cell, and what a shift by each vector of the cell is there.

    Each as one number, which is positive if the first component that is not zero is. None if the points are in the
    cell, and it is reduced. Sums of these numbers may overflow on the way to one that does not.
    """
    given = _Cell(cell)
    reduced, turn = _geometry.minkowski_reduce(given, repeats)
    wraps = given.scaled_positions(_geometry.wrap_positions(places, reduced, pbc=repeats, eps=0) - places).round()
    if not wraps.any() and (turn == np.eye(3)).all():
        return None
    weights = np.linalg.inv(turn).round().astype(np.int64) @ np.array([2**40, 2**20, 1], np.int64)
    return wraps.astype(np.int64) @ weights, weights


class PrimitiveNeighborList(theirs.NewPrimitiveNeighborList):  # type: ignore[misc]  # ASE has no types
    """Neighbors of points that move little, as ``ase.neighborlist.PrimitiveNeighborList``.

    Takes the arguments of that class, and those of ``NewPrimitiveNeighborList``. ASE uses it where it is given as
    ``primitive=PrimitiveNeighborList``. With ``bothways=False`` each pair is listed at the same one of its atoms as by
    ``ase.neighborlist.PrimitiveNeighborList``.

    Examples
    --------
    >>> from ase.build import bulk
    >>> from ase.neighborlist import NeighborList
    >>> from broadphase.adapters.ase import PrimitiveNeighborList
    >>> near = NeighborList([1.4], skin=0, self_interaction=False, bothways=True, primitive=PrimitiveNeighborList)
    >>> near.update(bulk("Cu"))
    True
    >>> len(near.get_neighbors(0)[0])
    12
    """

    def update(self, pbc: Any, cell: Any, positions: Any = None, numbers: Any = None, coordinates: Any = None) -> bool:
        """Search if something has changed by more than the skin; return whether it has. `numbers` has no effect."""
        return super().update(pbc, cell, _either(positions, coordinates))  # type: ignore[no-any-return]

    def build(self, pbc: Any, cell: Any, positions: Any = None, numbers: Any = None, coordinates: Any = None) -> None:
        """Search now; arguments as for `update`. Raises ValueError if there are not as many radii as points."""
        self.pbc, self.cell = np.array(pbc), np.array(cell)
        self.positions = np.array(_either(positions, coordinates), np.float64)
        if len(self.cutoffs) != len(self.positions):
            raise ValueError(f"Wrong number of cutoff radii: {len(self.cutoffs)} != {len(self.positions)}")
        places, vectors = _in_space(self.positions, self.cell, self.use_scaled_positions)
        both, ascending = bool(self.bothways), bool(self.sorted)
        repeats = np.broadcast_to(np.asarray(pbc, bool), 3)
        wrapping = None if both or not repeats.any() else _wrapping(places, self.cell, repeats)
        self.first_neigh, _, self.pair_second, _, _, self.offset_vec = _listed(
            places, vectors, repeats, self.cutoffs, None, "S", self.self_interaction, both, ascending
        )
        if wrapping is not None:
            self._turn_pairs(*wrapping)
        if ascending:
            self._sort_shifts()
        self._starts = self.first_neigh.tolist()
        self._views: list[Any] = [None] * len(self.positions)
        self.nupdates += 1

    def _turn_pairs(self, wraps: NDArray[np.int64], weights: NDArray[np.int64]) -> None:
        """Turn the pairs that ASE finds from the other atom, as it looks at shifts in the reduced cell."""
        first, second, shifts = self.pair_first, self.pair_second, self.offset_vec
        ahead = shifts @ weights + wraps[first] - wraps[second]
        turned = np.flatnonzero((ahead < 0) | ((ahead == 0) & (second < first)))
        if not len(turned):
            return
        first[turned], second[turned], shifts[turned] = second[turned], first[turned], -shifts[turned]
        count = len(self.positions)
        kind = np.uint16 if count <= 2**16 else np.int64  # NumPy sorts short integers by counting them
        order = np.argsort(second.astype(kind), kind="stable") if self.sorted else np.arange(len(first))
        order = order[np.argsort(first[order].astype(kind), kind="stable")]
        self.pair_second, self.offset_vec = second[order], shifts.take(order, axis=0)
        self.first_neigh = np.concatenate([[0], np.cumsum(np.bincount(first, minlength=count))])

    def _sort_shifts(self) -> None:
        """Sort entries of the same atom and neighbor by their shifts."""
        begins = np.ones(len(self.pair_second) + 1, bool)
        begins[1:-1] = self.pair_second[1:] != self.pair_second[:-1]
        begins[self.first_neigh] = True
        rows = np.flatnonzero(~(begins[:-1] & begins[1:]))  # those that are not alone
        if len(rows):
            shifts = self.offset_vec[rows]
            order = np.lexsort((*shifts.T[::-1], np.cumsum(begins[rows])))
            self.offset_vec[rows] = shifts[order]

    def get_neighbors(self, a: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the neighbors of an atom, and their shifts: views of the arrays of all atoms."""
        found = self._views[a]
        if type(found) is tuple:
            return found
        if found is None:
            a = a if a >= 0 else a + len(self._views)
            part = slice(self._starts[a], self._starts[a + 1])
            found = self._views[a] = self.pair_second[part], self.offset_vec[part]
            return found
        return self.neighbors[a], self.displacements[a]  # of a slice

    @property
    def coordinates(self) -> NDArray[np.float64]:
        """Another name of ``positions``, as in ASE."""
        return self.positions

    @property
    def pair_first(self) -> NDArray[np.int64]:
        """The atom that each entry of ``pair_second`` is a neighbor of."""
        return np.repeat(np.arange(len(self.positions)), np.diff(self.first_neigh))

    @property
    def neighbors(self) -> list[NDArray[np.int64]]:
        """The neighbors of each atom."""
        return np.split(self.pair_second, self.first_neigh[1:-1]) if len(self.positions) else []

    @property
    def displacements(self) -> list[NDArray[np.int64]]:
        """The shifts of the neighbors of each atom."""
        return np.split(self.offset_vec, self.first_neigh[1:-1]) if len(self.positions) else []


class NeighborList(theirs.NeighborList):  # type: ignore[misc]  # ASE has no types
    """Neighbors of atoms that move little, as ``ase.neighborlist.NeighborList``.

    Takes the same arguments, and is updated with ``ase.Atoms``; it searches by `PrimitiveNeighborList`.

    Examples
    --------
    >>> from ase.build import molecule
    >>> from broadphase.adapters.ase import NeighborList
    >>> near = NeighborList([0.76, 0.66], self_interaction=False)
    >>> near.update(molecule("CO"))
    True
    >>> near.get_neighbors(0)
    (array([1]), array([[0, 0, 0]]))
    """

    def __init__(
        self,
        cutoffs: ArrayLike,
        skin: float = 0.3,
        sorted: bool = False,
        self_interaction: bool = True,
        bothways: bool = False,
        primitive: Any = PrimitiveNeighborList,
    ) -> None:
        super().__init__(cutoffs, skin, sorted, self_interaction, bothways, primitive)
