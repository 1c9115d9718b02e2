"""Which method "auto" takes for a scene, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from broadphase import _native
from broadphase.pairs import ask

__all__ = ["Explanation", "explain"]


@dataclass(frozen=True)
class Explanation:
    """What `explain` found; ``print`` it.

    Attributes
    ----------
    method : str
        The method that ``method="auto"`` takes.
    reason : str
        Why, in one sentence.
    box_count, dimension : int
        Of the boxes; of both sets together, where there are two.
    dtype : str
        What the comparisons are made in.
    low, high : tuple of float
        Where nearly all of the boxes lie, along each axis.
    extents : tuple of float
        Mean size of a box along each axis.
    meeting : tuple of float
        Of all pairs of boxes, the share that overlaps along each axis.
    clustering : float
        How much more crowded a box finds its surroundings than if all were spread evenly: about 1 for an even spread.
    cells : tuple of int
        How the grid would cut the scene, along each axis.
    costs : dict of str to float
        What each method that "auto" weighs is expected to take, in milliseconds on one core of the machine the estimate
        was fitted on. Their order matters, not their size. Trees are not weighed: for the pairs of one call, one of
        these is always quicker.
    """

    method: str
    reason: str
    box_count: int
    dimension: int
    dtype: str
    low: tuple[float, ...]
    high: tuple[float, ...]
    extents: tuple[float, ...]
    meeting: tuple[float, ...]
    clustering: float
    cells: tuple[int, ...]
    costs: dict[str, float]

    def __str__(self) -> str:
        lines = [
            f"{self.box_count:,} boxes in {self.dimension} dimensions, {self.dtype}",
            f"  nearly all within  {_row(self.low)}  to  {_row(self.high)}",
            f"  mean size          {_row(self.extents)}",
            f"  pairs that meet    {'  '.join(f'{100 * share:.3g} %' for share in self.meeting)}  along each axis",
            f"  clustering         {self.clustering:.3g} (1: spread evenly)",
            f"  cells of the grid  {' x '.join(str(count) for count in self.cells)}",
            "expected cost",
        ]
        for name, cost in sorted(self.costs.items(), key=lambda item: item[1]):
            mark = "  <- auto takes this" if name == self.method else ""
            lines.append(f"  {name:<16} {cost:>12,.3f} ms{mark}")
        return "\n".join([*lines, self.reason])


def _row(values: tuple[float, ...]) -> str:
    return "  ".join(f"{value:.6g}" for value in values)


def explain(boxes: Any, other: Any = None, *, workers: int = 1) -> Explanation:
    """Say which method "auto" takes for these boxes, why, and what each would cost.

    Parameters
    ----------
    boxes, other : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d)
        As in `pairs`.
    workers : int
        As in `pairs`; the choice does not depend on it.

    Returns
    -------
    Explanation
        Its fields are plain numbers; printed, it is a small table.

    Raises
    ------
    ValueError, TypeError
        As `pairs`.

    Notes
    -----
    Looks at 512 boxes of each set at the most, at even steps, besides checking all of them: O(n).

    Examples
    --------
    >>> import numpy as np
    >>> import broadphase as bp
    >>> corners = np.random.default_rng(0).random((10_000, 3))
    >>> bp.explain((corners, corners + 0.01)).method
    'grid'
    """
    question = ask(boxes, other, "auto", workers, True, 0.0, "raise")
    try:
        found: dict[str, Any] = _native.report(*question.corners)
    except _native.InvalidBoxes:
        raise question.invalid_box() from None
    lower = question.corners[0]
    width = found["width"]
    return Explanation(
        method=found["method"].name,
        reason=_reason(found),
        box_count=found["box_count"],
        dimension=lower.shape[1],
        dtype=str(lower.dtype),
        low=tuple(found["low"]),
        high=tuple(low + size for low, size in zip(found["low"], width, strict=True)),
        extents=tuple(share * size for share, size in zip(found["share"], width, strict=True)),
        meeting=tuple(2 * share for share in found["meeting"]),
        clustering=found["clustering"],
        cells=tuple(int(count) for count in found["cells"]),
        costs={name: found[name] for name in ("brute_force", "sweep_and_prune", "grid")},
    )


def _reason(found: dict[str, Any]) -> str:
    method = found["method"].name
    if method == "brute_force":
        return f"brute_force: with {found['pair_count']:,.0f} pairs to test, preparing anything would cost more."
    if method == "sweep_and_prune":
        axis = min(range(len(found["meeting"])), key=found["meeting"].__getitem__)
        return (
            f"sweep_and_prune: few boxes meet along axis {axis}, and either nothing is gained by cutting the others,"
            " or the scene's scales are too far apart for a grid."
        )
    cells = " x ".join(str(int(count)) for count in found["cells"])
    return f"grid: {cells} cells, swept along axis {found['sweep_axis']}, leave each box few candidates."
