"""Which method "auto" chooses for boxes, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.arguments import is_on_device
from broadphase.representations import html_facts
from broadphase.searches import of_device, prepare

if TYPE_CHECKING:
    from broadphase.boxes.forms import Boxes
    from broadphase.filters import ByRow
    from broadphase.gpu.explanation import DeviceExplanation
    from broadphase.periods import Period

__all__ = ["Explanation", "explain"]


@dataclass(frozen=True)
class Explanation:
    """The result of `explain`; ``print`` it for a table.

    Attributes
    ----------
    method : str
        The method that ``method="auto"`` chooses.
    reason : str
        Why, in one sentence.
    box_count : int
        Number of boxes, of both sets together where there are two.
    dim : int
        Number of axes.
    dtype : str
        The dtype in which boxes are compared.
    low, high : tuple of float
        Corners of the region that holds nearly all boxes.
    extents : tuple of float
        Mean size of a box along each axis.
    meeting : tuple of float
        Fraction of all pairs of boxes that overlap along each axis.
    clustering : float
        Density around a box relative to an even spread: about 1 where boxes are spread evenly.
    cells : tuple of int
        Number of cells of the grid along each axis.
    costs : dict of str to float
        Expected time of each method that "auto" considers, in milliseconds on one core of the machine on which the
        model was fitted. Compare them with each other only.
    batch_count : int
        Number of batches; 1 where all boxes are compared. With more, `method` and the figures, but for `box_count`,
        are those of the batch with the most pairs of boxes.
    largest_batch : int
        Number of its boxes.
    image_count : int
        Boxes that cross faces of a periodic cell are searched more than once: how often, in all.
    plans : int
        How many plans were made: more than 1 where the boxes, once filed in a grid, turned out to need far more tests
        than planned, or where a plan is so expensive that a larger sample was worth it. The figures are those of the
        last plan.
    """

    method: str
    reason: str
    box_count: int
    dim: int
    dtype: str
    low: tuple[float, ...]
    high: tuple[float, ...]
    extents: tuple[float, ...]
    meeting: tuple[float, ...]
    clustering: float
    cells: tuple[int, ...]
    costs: dict[str, float]
    batch_count: int
    largest_batch: int
    image_count: int
    plans: int

    def __str__(self) -> str:
        lines = [
            f"{self.box_count:,} boxes in {self.dim} dimensions, {self.dtype}",
            *([f"  batches            {self.batch_count:,}; of the largest:"] if self.batch_count > 1 else []),
            *([f"  images             {self.image_count:,} across faces of the cell"] if self.image_count else []),
            *([f"  plans              {self.plans}, the last by a larger sample"] if self.plans > 1 else []),
            f"  nearly all within  {_row(self.low)}  to  {_row(self.high)}",
            f"  mean size          {_row(self.extents)}",
            f"  pairs that meet    {'  '.join(f'{100 * share:.3g} %' for share in self.meeting)}  along each axis",
            f"  clustering         {self.clustering:.3g} (1: spread evenly)",
            f"  cells of the grid  {' x '.join(str(count) for count in self.cells)}",
            "expected cost",
        ]
        for name, cost in sorted(self.costs.items(), key=lambda item: item[1]):
            mark = "  <- chosen by auto" if name == self.method else ""
            lines.append(f"  {name:<16} {cost:>12,.3f} ms{mark}")
        return "\n".join([*lines, self.reason])

    def _repr_html_(self) -> str:
        costs = sorted(self.costs.items(), key=lambda item: item[1])
        return html_facts(
            f"{self.box_count:,} boxes in {self.dim} dimensions, {self.dtype}. {self.reason}",
            [(name, f"{cost:,.3f} ms{' (chosen by auto)' * (name == self.method)}") for name, cost in costs],
        )


def _row(values: tuple[float, ...]) -> str:
    return "  ".join(f"{value:.6g}" for value in values)


def explain(
    boxes: Boxes, other: Boxes | None = None, *, workers: int = 1, batch: ByRow = None, period: Period = None
) -> Explanation | DeviceExplanation:
    """Explain which method "auto" chooses for these boxes, why, and what each method would cost.

    Parameters
    ----------
    boxes, other, workers, batch, period
        As in `pairs`. Of batches, the one with the most pairs of boxes is explained; of a periodic cell, the boxes at
        their places in it, and their images.

    Returns
    -------
    Explanation
        Plain numbers by name; prints as a table. For boxes on a device, `broadphase.gpu.DeviceExplanation`.

    Raises
    ------
    ValueError, TypeError
        As `pairs`.

    Notes
    -----
    Samples at most 512 boxes of each set, and files all boxes if a grid is chosen, to see whether the plan holds: the
    time of `count_pairs` without its tests. Otherwise O(n).

    Examples
    --------
    >>> import numpy as np
    >>> import broadphase as bp
    >>> corners = np.random.default_rng(0).random((10_000, 3))
    >>> bp.explain((corners, corners + 0.01)).method
    'grid'
    """
    if type(boxes) is not np.ndarray and is_on_device(boxes):
        of_device({"workers": workers, "period": period})
        from broadphase.gpu.explanation import explain as on_device  # imported where there is a device

        return on_device(boxes, other, batch=batch)
    search = prepare(boxes, other, workers=workers, batch=batch, period=period)
    lower, upper, other_lower, other_upper = search.corners
    batches = search.arguments[-2]
    try:
        found: dict[str, Any] = _native.report(lower, upper, other_lower, other_upper, batches, search.periods)
    except _native.InvalidBoxes:
        raise search.invalid_box() from None
    width = found["width"]
    batch_count = 1 if batches is None else max(batches.key_count, 1)
    return Explanation(
        method=found["method"].name,
        reason=_reason(found, batch_count),
        box_count=len(lower) + (0 if other_lower is None else len(other_lower)),
        dim=lower.shape[1],
        dtype=str(lower.dtype),
        low=tuple(found["low"]),
        high=tuple(low + size for low, size in zip(found["low"], width, strict=True)),
        extents=tuple(share * size for share, size in zip(found["share"], width, strict=True)),
        meeting=tuple(min(2 * share, 1.0) for share in found["meeting"]),
        clustering=found["clustering"],
        cells=tuple(int(count) for count in found["cells"]),
        costs={name: found[name] for name in ("brute_force", "sweep_and_prune", "grid", "bvh")},
        batch_count=batch_count,
        largest_batch=found["largest_batch"],
        image_count=found["image_count"],
        plans=found["plans"],
    )


def _reason(found: dict[str, Any], batch_count: int) -> str:
    reason = _reason_of_choice(found, batch_count)
    if not found["found_tests"]:
        return reason
    expected, found_tests = found["expected_tests"], found["found_tests"]
    needed = "boxes cover too many of its cells" if np.isinf(found_tests) else f"it needs {found_tests:,.0f}"
    return f"{reason} An earlier plan that expected {expected:,.0f} tests of pairs was given up: {needed}."


def _reason_of_choice(found: dict[str, Any], batch_count: int) -> str:
    method = found["method"].name
    if batch_count > 1:
        searched = found["searched_batches"]
        return (
            f"{batch_count:,} batches: {searched:,} by a method that is chosen for each, the others pair by pair. "
            f"The largest, of {found['largest_batch']:,} boxes: {_reason_of_choice(found, 1)}"
        )
    if method == "brute_force":
        count = max(0, round(found["pair_count"]))  # of no boxes, the product is -0.0
        return f"brute_force: testing all {count:,} pairs costs less than preparing another method."
    if method == "sweep_and_prune":
        axis = min(range(len(found["meeting"])), key=found["meeting"].__getitem__)
        return (
            f"sweep_and_prune: few boxes overlap along axis {axis}, and either cutting the other axes gains nothing,"
            " or the sizes in the scene differ too much for a grid."
        )
    if method == "bvh":
        return "bvh: boxes overlap on each axis, but seldom on all of them: neither cells nor a sweep keep them apart."
    cells = " x ".join(str(int(count)) for count in found["cells"])
    if found["is_of_few"]:
        return (
            f"grid: a few boxes are put into {cells} cells, and each of the others is compared with those of its cell."
        )
    return f"grid: {cells} cells, swept along axis {found['sweep_axis']}, leave few candidates for each box."
