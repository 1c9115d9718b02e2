"""Clashes of parts, by kind: what penetrates, contains, touches, is too near, or is there twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from broadphase import _native
from broadphase.arguments import as_flag, as_length
from broadphase.narrow.clearance import MEETS, Solids, measure, pairs_within, solids_of
from broadphase.narrow.grouping import ClashGroups, group_cells, group_keys
from broadphase.narrow.part_pairs import NamedPairs
from broadphase.narrow.volume import common_volumes, load_library
from broadphase.progress import Progress, Told, reporting, searching
from broadphase.representations import shown
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from broadphase.filters import ByRow
    from broadphase.narrow.clearance import Clearances, Parts
    from broadphase.narrow.part_pairs import Patterns

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]

__all__ = ["CLASH_KINDS", "DEPTHS_BY", "Clashes", "clashes"]

#: The kinds of clashes, worst first.
CLASH_KINDS = ("duplicate", "penetrates", "contains", "touches", "near")
#: How depths are measured, as the core numbers it; the last: there is none.
DEPTHS_BY = ("shapes", "vertices", "faces", "triangles", "")


@shown
class Clashes(NamedTuple):
    """Clashes of pairs of parts.

    Attributes
    ----------
    pairs : ndarray, shape (m, 2), int32
        Row numbers, in lexicographic order.
    kinds : ndarray, shape (m,), str
        "duplicate": the same geometry in the same place, within the tolerance. "penetrates": they overlap, deeper than
        the tolerance. "contains": one is wholly inside the other, without touching its surface; see `inside`.
        "touches": they are not farther apart than the tolerance, and not deeper in each other. "near": not farther
        apart than the clearance.
    gaps : ndarray, shape (m,), float64
        Their distances: 0 where they meet or one contains the other.
    depths : ndarray, shape (m,), float64
        How deep the surfaces that meet are in each other; NaN where they do not, and for duplicates.
    depths_by : ndarray, shape (m,), str
        How that is measured. "shapes": the shortest motion that separates two convex shapes. "vertices": the distance
        of the deepest vertex of one part inside the other to the surface of that. "faces": where no vertex is inside,
        that of the deepest middle of a triangle. "triangles": where none of these is, or no mesh is closed, the
        shortest motion that separates the two triangles that are deepest in each other. Else "".
    points : ndarray, shape (m, 2, 3), float64
        Where on each, as in `Clearances`.
    inside : ndarray, shape (m,), int8
        1 if the first contains the second, -1 if the second contains the first; else 0.
    are_solid : ndarray, shape (m, 2), bool
        Whether each counts as solid: False for open meshes.
    volumes : ndarray, shape (m,), float64, optional
        With ``volume=True``: the interference volume, which both have in common. 0 if they are apart. NaN if one is not
        solid or is round, or is a mesh whose faces are not oriented alike.
    """

    pairs: Rows
    kinds: NDArray[np.str_]
    gaps: Floats
    depths: Floats
    depths_by: NDArray[np.str_]
    points: Floats
    inside: NDArray[np.int8]
    are_solid: NDArray[np.bool_]
    volumes: Floats | None = None

    def counts(self) -> dict[str, int]:
        """Count the clashes of each kind, worst first."""
        return {kind: int((self.kinds == kind).sum()) for kind in CLASH_KINDS}

    def worst_first(self) -> NDArray[np.int64]:
        """Return the rows by kind, the worst first; of one kind, the deepest and then the nearest first."""
        ranks = np.zeros(len(self.kinds), np.int64)
        for rank, kind in enumerate(CLASH_KINDS):
            ranks[self.kinds == kind] = rank
        return np.lexsort((self.gaps, -np.nan_to_num(self.depths), ranks))

    def grouped(
        self, keys: Sequence[Any] | None = None, other: Sequence[Any] | None = None, *, cell: float | None = None
    ) -> ClashGroups:
        """Group clashes whose parts have the same keys, or that are in the same cell.

        Parameters
        ----------
        keys : sequence, shape (n,), optional
            A key for each part, such as ``[part.parent for part in parts]``. Clashes of the same two keys, in either
            order, are one group. A part of the key None stays alone.
        other : sequence, optional
            The same for the second set of parts, if there are two.
        cell : float, optional
            In place of keys: clashes in one cell of a grid of this edge are one group, by the middle of their points.

        Returns
        -------
        ClashGroups
            ``keys``, ``rows``, ``offsets``, ``counts`` and ``worst``.

        Raises
        ------
        ValueError, TypeError
            Not one of `keys` and `cell`; fewer keys than parts; a key that is not hashable, by its row.

        Examples
        --------
        >>> import broadphase as bp
        >>> bolts = [bp.Sphere(0.5)] * 3
        >>> parts = bp.Shapes([bp.Box(9, 1, 1), *bolts], [[0, 0, 0], [-3, 0, 0], [0, 0, 0], [3, 0, 0.75]])
        >>> found = bp.clashes(parts)
        >>> groups = found.grouped(["flange", "bolt", "bolt", "bolt"])
        >>> groups.keys, groups.counts.tolist(), found.pairs[groups.worst].tolist()
        ([('flange', 'bolt')], [3], [[0, 1]])
        """
        if (keys is None) == (cell is None):
            raise TypeError("grouped needs one of keys and cell")
        if cell is not None:
            return group_cells(self.points, self.worst_first(), cell)
        return group_keys(self.pairs, self.worst_first(), cast("Sequence[Any]", keys), other)


def clashes(
    shapes: Parts,
    other: Parts | None = None,
    *,
    clearance: float = 0.0,
    tolerance: float = 0.0,
    solid: bool = True,
    workers: int = 1,
    layer: ByRow = None,
    mask: ByRow = None,
    group: ByRow = None,
    ignore_pairs: ArrayLike | None = None,
    parent: Any = None,
    names: Any = None,
    exclude: Patterns = (),
    only: Patterns = (),
    volume: bool = False,
    progress: Progress = None,
) -> Clashes:
    """Find every pair of parts that clash, and how.

    Parameters
    ----------
    shapes, other, solid, workers, layer, mask, group, ignore_pairs, parent, names, exclude, only
        As in `clearances`, and so are errors.
    clearance : float
        Parts that are nearer are "near", in the unit of the shapes. Default: none are.
    tolerance : float
        Gaps and depths up to this "touch", and parts that are equal up to this are duplicates.
    volume : bool
        Also find the interference volumes of meshes, hulls and boxes, by ``manifold3d``; needs
        ``pip install "broadphase[volume]"``. Takes much longer than all the rest.
    progress : bool or callable, optional
        As in `clearances`; the stages are "prepare", "measure", "compare", "depths" and "volumes".

    Raises
    ------
    MissingExtraError
        `volume`, and manifold3d is not installed.

    Returns
    -------
    Clashes

    Notes
    -----
    The depth of two meshes takes the vertices of each that are inside the other one by one. A part that is inside
    another one and touches its surface from there penetrates it.

    Examples
    --------
    Two cubes share a face, a third one is half inside the second, a ball in the first:

    >>> import broadphase as bp
    >>> parts = bp.Shapes([bp.Box(2, 2, 2)] * 3 + [bp.Sphere(0.5)], [[0, 0, 0], [2, 0, 0], [3, 0, 0], [9, 0, 0]])
    >>> found = bp.clashes(parts, clearance=6)
    >>> for pair, kind, depth in zip(found.pairs.tolist(), found.kinds.tolist(), found.depths.tolist(), strict=True):
    ...     print(pair, kind, depth)
    [0, 1] touches 0.0
    [0, 2] near nan
    [1, 2] penetrates 1.0
    [1, 3] near nan
    [2, 3] near nan
    """
    near, close = as_length(clearance, "clearance"), as_length(tolerance, "tolerance")
    workers, wants_volume = worker_count(workers), as_flag(volume, "volume")
    if wants_volume:
        load_library()  # before the search, which may take long
    filters = {"layer": layer, "mask": mask, "group": group, "ignore_pairs": ignore_pairs}
    limit = max(near, close)
    with reporting(progress) as told:
        first, second = solids_of(shapes, other, solid, workers, told)
        candidates = pairs_within(first, second, limit, parent, NamedPairs(names, exclude, only), filters, workers)
        found, relations = measure(first, second, candidates, limit, workers, told)
        kinds = _by_kind(first, second, found, relations, close, workers, told)
        return kinds._replace(volumes=common_volumes(first, second, found, told)) if wants_volume else kinds


def _by_kind(
    first: Solids,
    second: Solids,
    found: Clearances,
    relations: NDArray[np.uint8],
    close: float,
    workers: int,
    told: Told,
) -> Clashes:
    are_equal = np.zeros(len(found.pairs), np.bool_)
    compared = np.flatnonzero((found.gaps <= close) & (found.inside == 0))
    if len(compared):
        rows = np.ascontiguousarray(found.pairs[compared, 0]), np.ascontiguousarray(found.pairs[compared, 1])
        with searching(told, "compare", len(compared)):
            equal: Any = _native.mesh_duplicates(*first.given, *second.given, *rows, close)
        are_equal[compared] = equal
    meeting = (relations == MEETS) & ~are_equal
    depths, measured = np.full(len(found.pairs), np.nan), np.full(len(found.pairs), len(DEPTHS_BY) - 1)
    if meeting.any():
        rows = np.ascontiguousarray(found.pairs[meeting, 0]), np.ascontiguousarray(found.pairs[meeting, 1])
        with searching(told, "depths", len(rows[0])):
            answer: Any = _native.mesh_depths(*first.native, *second.native, *rows, workers)
        depths[meeting], measured[meeting] = answer
    chosen = [are_equal, depths > close, found.inside != 0, found.gaps <= close]
    kinds = np.array(CLASH_KINDS)[np.select(chosen, range(len(chosen)), len(chosen))]
    return Clashes(
        found.pairs, kinds, found.gaps, depths, np.array(DEPTHS_BY)[measured], found.points, found.inside,
        found.are_solid,
    )  # fmt: skip
