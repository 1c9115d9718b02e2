"""A comparison as JSON, and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from broadphase.bench.compare import Comparison, Outcome

__all__ = ["as_json", "from_json"]


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Give a comparison as plain dictionaries and lists, ready for `json.dump`."""
    return {
        "machine": comparison.machine,
        "versions": comparison.versions,
        "argsort_milliseconds": {str(n): value for n, value in comparison.argsort_milliseconds.items()},
        "not_installed": comparison.not_installed,
        "outcomes": [asdict(outcome) for outcome in comparison.outcomes],
    }


def from_json(told: dict[str, Any]) -> Comparison:
    """Give back the comparison that `as_json` was made of."""
    return Comparison(
        told["machine"],
        told["versions"],
        [Outcome(**outcome) for outcome in told["outcomes"]],
        {int(n): value for n, value in told["argsort_milliseconds"].items()},
        told["not_installed"],
    )
