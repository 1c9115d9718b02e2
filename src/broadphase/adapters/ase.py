"""Neighbor lists of atoms as in ``ase.neighborlist``: same arguments, same neighbors.

`neighbor_list`, `primitive_neighbor_list`, `NeighborList` and `PrimitiveNeighborList` stand in for those of ASE. As
there, an atom at exactly the cutoff is no neighbor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import broadphase as bp
from broadphase.adapters.library import import_library
from broadphase.errors import quoted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["NeighborList", "PrimitiveNeighborList", "neighbor_list", "primitive_neighbor_list"]

theirs: Any = import_library("ase.neighborlist", install="ase")
_NUMBERS: Mapping[str, int] = import_library("ase.data", install="ase").atomic_numbers

#: One cutoff; one for pairs of elements; or a radius for each atom.
Cutoff: TypeAlias = "float | Mapping[tuple[int | str, int | str], float] | Sequence[float] | NDArray[Any]"


def neighbor_list(
    quantities: str, a: Any, cutoff: Cutoff, self_interaction: bool = False, max_nbins: float = 1e6
) -> Any:
    """Find the neighbors of all atoms, as ``ase.neighborlist.neighbor_list`` does.

    Parameters
    ----------
    quantities : str
        What to return, a letter each: i and j, the atoms of each pair; d, distance; D, vector; S, shift of the cell.
    a : ase.Atoms
        The atoms.
    cutoff : float, dict of float or sequence of float
        A number for all; a dict by pairs of elements, as numbers or symbols; or a radius for each atom. Pairs with a
        distance less than it, or than the sum of both radii, are neighbors.
    self_interaction : bool
        Each atom is its own neighbor, too.
    max_nbins : float
        Of no effect: the memory does not depend on the size of the cell.

    Returns
    -------
    ndarray or tuple of ndarray
        An array for each letter. Pairs are in both directions, in the order of i.

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
    """Find the neighbors of all points, as ``ase.neighborlist.primitive_neighbor_list`` does.

    Parameters
    ----------
    quantities : str
        As for `neighbor_list`.
    pbc : array_like of bool, shape (3,)
        Along which vectors the cell repeats.
    cell : array_like or ase.cell.Cell, shape (3, 3)
        Its vectors, as rows. Those that do not repeat may be zero.
    positions : array_like, shape (n, 3)
        The points; in units of the cell if `use_scaled_positions`.
    cutoff : float, dict of float or sequence of float
        As for `neighbor_list`.
    numbers : array_like of int, shape (n,), optional
        The elements, for a `cutoff` by elements.
    self_interaction, max_nbins
        As for `neighbor_list`.
    use_scaled_positions : bool
        See `positions`.

    Returns
    -------
    ndarray or tuple of ndarray
        As for `neighbor_list`.

    Raises
    ------
    ValueError
        Another letter than i, j, d, D and S, a wrong number of radii, a position that is NaN.
    """
    unknown = set(quantities) - set("ijdDS")
    if unknown:
        raise ValueError(f"quantities: {quoted(min(unknown))} is none of i, j, d, D and S")
    places = np.asarray(positions, np.float64).reshape(-1, 3)
    vectors = theirs.complete_cell(np.asarray(cell, np.float64))
    if use_scaled_positions:
        places = places @ np.asarray(cell, np.float64)
    limits = np.asarray(max(cutoff.values(), default=0.0) if isinstance(cutoff, Mapping) else cutoff, np.float64)
    if limits.ndim and len(limits) != len(places):
        raise ValueError(f"cutoff: {len(limits)} radii for {len(places)} atoms")
    if limits.ndim and len(limits) and (limits == limits[0]).all():
        limits = 2 * limits[0]
    same_for_all = not limits.ndim and not isinstance(cutoff, Mapping) and limits > 0
    near = bp.neighbors(
        places,
        # A pair at exactly the cutoff is none.
        np.nextafter(limits, 0.0) if same_for_all else np.maximum(limits, 0.0),
        cell=vectors,
        periodic=np.asarray(pbc, bool),
        full=True,
        distances="d" in quantities or not same_for_all or self_interaction,
        vectors="D" in quantities,
        shifts="S" in quantities or self_interaction,
    )
    result: dict[str, Any] = {"i": near.pairs[:, 0], "j": near.pairs[:, 1]}
    result |= {"d": near.distances, "D": near.vectors, "S": near.shifts}
    if self_interaction:
        result = _with_selves(result, len(places))
    if isinstance(cutoff, Mapping):
        limits = _limits_by_element(cutoff, numbers, result["i"], result["j"])
    elif limits.ndim:
        limits = limits[result["i"]] + limits[result["j"]]
    if not same_for_all or self_interaction:
        inside = result["d"] < limits
        result = {name: result[name][inside] for name in quantities}
    types = {"d": np.float64, "D": np.float64}
    found = tuple(np.ascontiguousarray(result[name], types.get(name, np.int64)) for name in quantities)
    return found[0] if len(found) == 1 else found


def _with_selves(result: dict[str, Any], count: int) -> dict[str, Any]:
    """Add a pair of each atom with itself, before its other pairs."""
    at = np.searchsorted(result["i"], np.arange(count))
    atoms = np.arange(count)
    selves: dict[str, Any] = {"i": atoms, "j": atoms, "d": 0.0, "D": 0.0, "S": 0}
    return {name: np.insert(values, at, selves[name], axis=0) for name, values in result.items() if values is not None}


def _limits_by_element(cutoff: Any, numbers: Any, first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """Return the cutoff of each pair of atoms: 0 for pairs of elements that are not named."""
    if numbers is None:
        raise ValueError("cutoff: by elements, and numbers is None")
    elements = np.asarray(numbers)
    table = np.zeros((elements.max(initial=0) + 1,) * 2)
    for (one, other), limit in cutoff.items():
        pair = tuple(_NUMBERS[name] if isinstance(name, str) else int(name) for name in (one, other))
        if max(pair) < len(table):
            table[pair] = table[pair[::-1]] = limit
    limits: NDArray[np.float64] = table[elements[first], elements[second]]
    return limits


class PrimitiveNeighborList(theirs.NewPrimitiveNeighborList):  # type: ignore[misc]  # ASE has no types
    """Neighbors of points that move little, as ``ase.neighborlist.PrimitiveNeighborList``.

    Takes the same arguments. Give it to ASE where that takes a class, ``primitive=PrimitiveNeighborList``. With
    ``bothways=False`` each pair is found from one of its atoms: without a shift from the one with the lower number, and
    otherwise from that for which the first component of the shift that is not zero is positive.

    Attributes
    ----------
    nupdates : int
        How often neighbors have been searched.
    neighbors, displacements : list of ndarray
        The neighbors of each atom, and their shifts.

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

    def build(self, pbc: Any, cell: Any, positions: Any, numbers: Any = None) -> None:
        """Search now. Raises ValueError if there are not as many radii as points."""
        self.pbc, self.cell = np.array(pbc), np.array(cell)
        self.positions = np.array(positions, np.float64)
        if len(self.cutoffs) != len(self.positions):
            raise ValueError(f"Wrong number of cutoff radii: {len(self.cutoffs)} != {len(self.positions)}")
        first, second, shifts = primitive_neighbor_list(
            "ijS",
            pbc,
            cell,
            self.positions,
            self.cutoffs,
            self_interaction=self.self_interaction,
            use_scaled_positions=self.use_scaled_positions,
        )
        if not self.bothways:
            x, y, z = shifts.T
            ahead = (x > 0) | ((x == 0) & ((y > 0) | ((y == 0) & ((z > 0) | ((z == 0) & (first <= second))))))
            first, second, shifts = first[ahead], second[ahead], shifts[ahead]
        self.pair_first, self.pair_second, self.offset_vec = first, second, shifts
        self.first_neigh = np.searchsorted(first, np.arange(len(self.positions) + 1))
        self.nupdates += 1

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
