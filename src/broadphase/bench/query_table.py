"""The figures of a comparison of queries for the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from broadphase.bench.peers import version_of
from broadphase.bench.query_peers import QUERY_PEERS
from broadphase.bench.query_tasks import TASKS, task_named
from broadphase.bench.table import duration, factor, grouped, show_table

if TYPE_CHECKING:
    from broadphase.bench.query_contest import QueryComparison, QueryOutcome

__all__ = ["best_other", "first_own", "query_tables", "ratio", "show_queries", "show_query_choices", "task_title"]


def first_own(outcomes: list[QueryOutcome]) -> QueryOutcome | None:
    """Give the outcome that stands for broadphase: the index that chooses by itself, else the first one timed."""
    own = [outcome for outcome in outcomes if outcome.ours and outcome.milliseconds is not None]
    return min(own, key=lambda outcome: outcome.contestant != "Index", default=None)


def best_other(outcomes: list[QueryOutcome]) -> QueryOutcome | None:
    """Give the outcome of the quickest other library."""
    others = [outcome for outcome in outcomes if not outcome.ours and outcome.milliseconds is not None]
    return min(others, key=lambda outcome: per_question(outcome), default=None)


def per_question(outcome: QueryOutcome) -> float:
    """Give the milliseconds of one question, building included."""
    return (outcome.milliseconds or 0.0) / outcome.question_count


def ratio(outcome: QueryOutcome, ours: QueryOutcome) -> float:
    """Say how many times longer one took than another, for as many questions."""
    return per_question(outcome) / per_question(ours)


def task_title(outcomes: list[QueryOutcome]) -> str:
    """Say what was asked, with the numbers."""
    first = max(outcomes, key=lambda outcome: outcome.question_count)
    return task_named(first.task).title.format(n=grouped(first.box_count), q=grouped(first.question_count))


def query_tables(comparison: QueryComparison) -> list[tuple[str, list[str], list[list[str]]]]:
    """Give title, columns and rows of one table for each kind of question: who, time, how many times ours, answer."""
    tables = []
    for name in dict.fromkeys(outcome.task for outcome in comparison.outcomes):
        outcomes = comparison.of(name)
        ours, most = first_own(outcomes), max(outcome.question_count for outcome in outcomes)
        rows = []
        for outcome in outcomes:
            notes = [outcome.verdict, outcome.remark]
            if outcome.question_count < most:
                notes.append(f"{grouped(outcome.question_count)} questions only")
            times = factor(ratio(outcome, ours)) if ours and outcome.milliseconds is not None else ""
            cells = [
                outcome.title,
                duration(outcome.milliseconds),
                duration(outcome.quickest),
                str(outcome.rounds),
                times,
            ]
            rows.append([*cells, "; ".join(note for note in notes if note)])
        who = ours.title if ours else "broadphase"
        tables.append((task_title(outcomes), ["", "median", "least", "rounds", f"times {who}", "answer"], rows))
    return tables


def show_queries(comparison: QueryComparison) -> None:
    """Print one table for each kind of question, the machine, and which peers are not installed."""
    for title, columns, rows in query_tables(comparison):
        show_table(columns, rows, title, strong=0)
    machine = comparison.machine
    print(
        f"{machine['processor']}, {machine['instruction sets']}; Python {machine['python']}, NumPy {machine['numpy']}, "
        f"broadphase {machine['broadphase']}. One thread; building included, but for boxes that move."
    )
    if comparison.not_installed:
        print(f"Not installed: {', '.join(comparison.not_installed)}. To compare: pip install 'broadphase[bench]'")
    for outcome in comparison.wrong:
        print(f"{outcome.title}, {outcome.task}: {outcome.verdict}", file=sys.stderr)


def show_query_choices() -> None:
    """Print the kinds of questions, and who answers them."""
    tasks = [[task.name, task.title.format(n="n", q="q")] for task in TASKS]
    show_table(["query", "what is asked"], tasks, left=2)
    peers = [
        [row.name, row.title, ", ".join(row.tasks), version_of(row.distribution) or "not installed", row.remark]
        for row in QUERY_PEERS
    ]
    show_table(["peer", "library", "queries", "version", "remark"], peers, left=5)
