"""Verdicts on answers to questions, by comparing them with those that are right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.bench.answers import sorted_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.bench.query_tasks import Setting

__all__ = ["judge_changes", "judge_first", "judge_nearest", "judge_sets"]

NEAR = 1e-9  # distances in float64 that differ by less, as a part of the distance, are the same
NEAR_IN_FLOAT32 = 1e-4  # likewise for who works in float32, in a scene of size 1
FEW = 1e-3  # of the rays may differ for who works in float32: they pass an edge, or two boxes begin together


def judge_sets(setting: Setting, answer: Any, right: Any) -> str:
    """Compare two sets of pairs (question, row); a superset is no fault, and is counted."""
    del setting
    given, wanted = (ordered_keys(*hits) for hits in (answer, right))
    if np.array_equal(given, wanted):
        return "exact"
    distinct = np.unique(given)
    missing = len(np.setdiff1d(wanted, distinct, assume_unique=True))
    extra = len(np.setdiff1d(distinct, wanted, assume_unique=True))
    faults = {"missing": missing, "twice": len(given) - len(distinct), "extra": extra}
    if missing or faults["twice"]:
        return "wrong: " + ", ".join(f"{count:,} {what}" for what, count in faults.items() if count)
    return f"{extra:,} of {len(given):,} are extra"


def ordered_keys(questions: Any, rows: Any) -> NDArray[np.int64]:
    """Pack each pair into one integer, and sort them."""
    keys = (np.asarray(questions, np.int64) << 32) | np.asarray(rows, np.int64)
    keys.sort()
    return keys


def judge_nearest(setting: Setting, answer: Any, right: Any) -> str:
    """Compare rows and distances of the nearest, each of shape (q, k)."""
    del setting
    (rows, distances), (wanted, exact) = answer, right
    rows, wanted, distances, exact = (
        np.asarray(part).reshape(len(exact), -1) for part in (rows, wanted, distances, exact)
    )
    if not np.allclose(distances, exact, rtol=NEAR, atol=0.0):
        return "wrong: other distances"
    swapped = int((rows != wanted).sum())
    return f"{swapped:,} equally near ones in another order" if swapped else "exact"


def judge_first(setting: Setting, answer: Any, right: Any) -> str:
    """Compare the boxes that rays hit first; a box that a ray enters as early but for rounding is no fault."""
    rows, wanted = np.asarray(answer[0]), np.asarray(right[0])
    other = np.flatnonzero(rows != wanted)
    if not len(other):
        return "exact"
    origins, directions = (np.asarray(part, np.float64)[other] for part in setting.asked)
    entries = entry(setting.boxes, rows[other], origins, directions)
    near = np.isclose(entries, right[1][other], rtol=0.0, atol=NEAR_IN_FLOAT32)
    if len(other) > FEW * len(rows):
        return f"wrong: {len(other):,} of {len(rows):,} rays hit another box"
    grazing = int((~near).sum())
    return f"{len(other):,} of {len(rows):,} rays hit another box" + (
        f", {grazing:,} of them past an edge" if grazing else ""
    )


def entry(
    boxes: NDArray[Any], rows: NDArray[Any], origins: NDArray[Any], directions: NDArray[Any]
) -> NDArray[np.float64]:
    """Give the distance at which each ray enters its box; infinite for a miss, or row -1."""
    found = boxes[np.maximum(rows, 0)].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        walls = (found - origins[:, None]) / directions[:, None]
    first, last = walls.min(axis=1).max(axis=1), walls.max(axis=1).min(axis=1)
    lengths = np.sqrt((directions**2).sum(axis=1))
    return np.where((rows >= 0) & (first <= last), np.maximum(first, 0.0) * lengths, np.inf)


def judge_changes(setting: Setting, answer: Any, right: Any) -> str:
    """Compare the pairs that began, and those that ended."""
    del setting
    faults = []
    for what, given, wanted in zip(("began", "ended"), answer, right, strict=True):
        if not np.array_equal(sorted_keys(given), sorted_keys(wanted)):
            faults.append(f"{len(given):,} {what} where {len(wanted):,} did")
    return "wrong: " + ", ".join(faults) if faults else "exact"
