"""Comparisons as JSON, and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from broadphase.bench.compare import Comparison, Outcome
from broadphase.bench.query_contest import QueryComparison, QueryOutcome

__all__ = ["as_json", "from_json", "queries_as_json", "queries_from_json"]


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


def queries_as_json(comparison: QueryComparison) -> dict[str, Any]:
    """Give a comparison of queries as plain dictionaries and lists, ready for `json.dump`."""
    return asdict(comparison)


def queries_from_json(told: dict[str, Any]) -> QueryComparison:
    """Give back the comparison that `queries_as_json` was made of."""
    return QueryComparison(
        told["machine"],
        told["versions"],
        [QueryOutcome(**outcome) for outcome in told["outcomes"]],
        told["not_installed"],
    )
