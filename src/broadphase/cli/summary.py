"""The summary of an answer: how many pairs, which boxes have the most, how long it took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from broadphase.cli.screen import duration, print_facts
from broadphase.cli.sources import valid_boxes

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from broadphase.io import BoxFile

_BUSIEST = 5


class Tally:
    """Counts the pairs, and the pairs of each box, a portion at a time.

    Parameters
    ----------
    box_count : int
        Size of the first set.
    other_count : int, optional
        Size of the second; unset, pairs are within the first.
    """

    def __init__(self, box_count: int, other_count: int | None) -> None:
        self.pair_count = 0
        self._first = np.zeros(box_count, np.int64)
        self._second = self._first if other_count is None else np.zeros(other_count, np.int64)

    def add(self, portion: NDArray[Any]) -> None:
        """Count a portion of pairs, shape (k, 2)."""
        self.pair_count += len(portion)
        for column, degrees in ((0, self._first), (1, self._second)):
            found = np.bincount(portion[:, column], minlength=1)
            degrees[: len(found)] += found[: len(degrees)]

    def degrees(self, which: int) -> NDArray[np.int64]:
        """Return the number of pairs of each box of the first (0) or second (1) set."""
        return self._second if which else self._first


def describe_answer(
    first: BoxFile,
    second: BoxFile | None,
    tally: Tally,
    question: dict[str, Any],
    seconds: dict[str, float],
    output: Path | None,
) -> dict[str, Any]:
    """Gather what is shown, as values that JSON knows."""
    sets = [first] if second is None else [first, second]
    counts = [len(one.boxes) for one in sets]
    method = question["method"]
    if method == "auto":
        method = bp.explain(*map(valid_boxes, sets), workers=question["workers"]).method
    return {
        "sets": [_describe_set(one, tally.degrees(which)) for which, one in enumerate(sets)],
        "pair_count": tally.pair_count,
        "pairs_per_box": tally.pair_count / max(1, sum(counts)),
        "brute_force_tests": counts[0] * (counts[0] - 1) // 2 if second is None else counts[0] * counts[1],
        "method": method,
        "chosen": question["method"] == "auto",
        "workers": question["workers"],
        "touching": question["touching"],
        "margin": question["margin"],
        "seconds": seconds,
        "output": None if output is None else str(output),
    }


def _describe_set(file: BoxFile, degrees: NDArray[np.int64]) -> dict[str, Any]:
    busiest = np.argsort(-degrees, kind="stable")[:_BUSIEST]
    return {
        "source": file.source,
        "kind": file.kind,
        "box_count": len(file.boxes),
        "dimension": file.boxes.shape[2],
        "dtype": str(file.boxes.dtype),
        "without_pair": int((degrees == 0).sum()),
        "busiest": [
            {"row": int(row), "pairs": int(degrees[row])}
            | ({} if file.names is None else {"name": str(file.names[row])})
            for row in busiest
            if degrees[row]
        ],
    }


def print_answer(answer: dict[str, Any]) -> None:
    """Show the summary as a table."""
    facts = []
    for one in answer["sets"]:
        facts.append(("boxes", f"{one['box_count']:,} ({one['kind']}s of {one['source']}; {one['dimension']} axes)"))
    facts.append(("pairs", f"{answer['pair_count']:,}"))
    facts.append(("pairs per box", f"{answer['pairs_per_box']:.2f}"))
    for one in answer["sets"]:
        of = f" of {one['source']}" if len(answer["sets"]) > 1 else ""
        busiest = ", ".join(
            f"row {box['row']}{' (' + box['name'] + ')' if 'name' in box else ''}: {box['pairs']:,}"
            for box in one["busiest"]
        )
        facts.append((f"busiest boxes{of}", busiest or "none"))
        facts.append((f"boxes without pair{of}", f"{one['without_pair']:,}"))
    facts.append(("method", answer["method"] + (" (chosen by auto)" if answer["chosen"] else "")))
    seconds = ", ".join(f"{name} {duration(value)}" for name, value in answer["seconds"].items())
    facts.append(("time", seconds))
    facts.append(("brute force", f"would test {answer['brute_force_tests']:,} pairs"))
    if answer["output"] is not None:
        facts.append(("written", answer["output"]))
    print_facts("Overlapping pairs", facts)
