"""The command: draws and measures cases, and lists the cliffs by their cause."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator

from benchmarks.measuring import one_core
from benchmarks.search_cliffs.costs import CLIFF, REFUSED, Cost, cause_of, cost_of
from benchmarks.search_cliffs.subjects import SIZES, SUBJECTS, drawn
from benchmarks.tables import duration, grouped, show_table


def seeds_of(given: argparse.Namespace, seconds: float) -> Iterator[int]:
    """Give the one seed, or one after the other until the time is over."""
    end, seed = time.monotonic() + seconds, given.first
    while given.seed is None and time.monotonic() < end:
        yield seed
        seed += 1
    if given.seed is not None:
        yield given.seed


def main() -> int:
    """Draw and measure cases, and print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search_cliffs", description="Calls that cost too much.")
    parser.add_argument(
        "subjects", nargs="*", metavar="SUBJECT", help=f"beginnings of {', '.join(SUBJECTS)}; default: all"
    )
    parser.add_argument("--quick", action="store_true", help="five minutes, smaller cases")
    parser.add_argument("--seconds", type=float, help="time to spend (default: 3600; 300 with --quick)")
    parser.add_argument("--seed", type=int, help="this case alone")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    given = parser.parse_args()
    if unknown := [name for name in given.subjects if not any(one.startswith(name) for one in SUBJECTS)]:
        parser.error(f"no subject begins with {unknown[0]!r}; there are {', '.join(SUBJECTS)}")
    warnings.simplefilter("ignore")
    limit, seconds = (2.0, 300.0) if given.quick else (10.0, 3600.0)
    most = SIZES[2] if given.quick else SIZES[-1]
    cliffs, left_out, count = list[tuple[Cost, int]](), Counter[str](), 0
    with one_core():
        for seed in seeds_of(given, given.seconds or seconds):
            case = drawn(seed)
            if given.seed is None and (case.n > most or not case.subject.startswith(tuple(given.subjects) or "")):
                continue
            try:
                cost = cost_of(case, limit)
                if cost.ratio > CLIFF:
                    cost = min(cost, *(cost_of(case, limit, fresh) for fresh in (1, 2)), key=lambda one: one.ratio)
            except REFUSED as error:
                left_out[f"{case.subject}: {type(error).__name__} {str(error)[:80]}"] += 1
                continue
            count += 1
            if given.seed is not None:
                print(f"{case.subject} {case.kind}, {case}: {described(cost)}")
            if cost.ratio > CLIFF:
                cost = cause_of(cost, limit)
                cliffs.append((cost, seed))
                print(f"seed {seed}, {case.subject} {case.kind}, {cost.case}: {described(cost)}", file=sys.stderr)
    report(cliffs)
    for reason, times in left_out.items():
        print(f"left out, {times} times: {reason}")
    print(f"{count} cases, {len(cliffs)} cliffs")
    return 0


def described(cost: Cost) -> str:
    """Say what a case costs."""
    times = f"{duration(1e3 * cost.seconds)} for {duration(1e3 * cost.plain)}"
    return f"{cost.ratio:.1f} ×, {times}" + (f", another way {duration(1e3 * cost.peer)}" if cost.peer else "")


def report(cliffs: list[tuple[Cost, int]]) -> None:
    """Show the cliffs by cause, the highest first."""
    groups = dict[tuple[str, str], list[tuple[Cost, int]]]()
    for cost, seed in cliffs:
        groups.setdefault((str(cost.case), cost.case.subject), []).append((cost, seed))
    lines = []
    for (cause, subject), several in groups.items():
        worst, seed = max(several, key=lambda one: one[0].ratio)
        case = worst.case
        size = f"{grouped(case.n)} {case.dim}-d {case.kind}"
        ratio = f"{worst.ratio:.1f}"
        times = (
            duration(1e3 * worst.seconds),
            duration(1e3 * worst.plain),
            duration(1e3 * worst.peer) if worst.peer else "-",
        )
        lines.append((worst.ratio, [cause, subject, size, str(len(several)), ratio, *times, str(seed)]))
    columns = ("cause", "call", "size", "cases", "× plain", "time", "plain", "another way", "seed")
    show_table(columns, [line for _, line in sorted(lines, key=lambda one: -one[0])], "Cliffs", left=3)


if __name__ == "__main__":
    sys.exit(main())
