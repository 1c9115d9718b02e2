"""Atoms: `broadphase.adapters.ase` beside ASE."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.adapters import faster
from benchmarks.measuring import load
from benchmarks.rows import Row


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows; each takes some seconds times `pace`."""
    theirs = load("ase.neighborlist", "ase")
    ours = load("broadphase.adapters.ase", "ase")
    bulk = load("ase.build", "ase").bulk

    def search(module: Any, quantities: str, atoms: Any, cutoff: float) -> Any:
        return lambda: module.neighbor_list(quantities, atoms, cutoff)

    for repeats, cutoff, quantities in ((2, 5.0, "ij"), (10, 5.0, "ijdDS"), (20, 4.0, "ij")):
        atoms = bulk("Cu", cubic=True) * repeats
        atoms.rattle(0.1, seed=1)
        what = f"neighbor_list {quantities!r}, {len(atoms):,} atoms, {cutoff:g} Å"
        yield faster(
            what, search(theirs, quantities, atoms, cutoff), search(ours, quantities, atoms, cutoff), 50.0, 6 * pace
        )
    atoms = bulk("Cu", cubic=True) * 10
    atoms.rattle(0.1, seed=1)

    def kept(primitive: Any, bothways: bool, count: int) -> Any:
        def listed() -> None:
            near = theirs.NeighborList([2.5] * len(atoms), bothways=bothways, primitive=primitive)
            near.update(atoms)
            for atom in range(count):
                near.get_neighbors(atom)

        return listed

    for what, bothways, count in (
        ("both ways", True, 0),
        ("both ways, and the neighbors of each", True, len(atoms)),
        ("each pair once", False, 0),
    ):
        yield faster(
            f"NeighborList, {len(atoms):,} atoms, {what}",
            kept(theirs.PrimitiveNeighborList, bothways, count),
            kept(ours.PrimitiveNeighborList, bothways, count),
            50.0,
            6 * pace,
        )
