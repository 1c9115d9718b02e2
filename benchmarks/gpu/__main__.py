"""Try and measure `broadphase.gpu` on a device: that all results are right, how long they take, and why.

    python -m benchmarks.gpu --device                        # on the first card, six minutes
    python -m benchmarks.gpu --device cuda:1 --output out    # tables in out/gpu.md, figures in out/gpu.json
    python -m benchmarks.gpu --device cpu --quick            # the same program on Warp's CPU device, in small
    python -m benchmarks.gpu --device --part times stages    # some parts only: compiling, exactness, libraries, ...

Each part has a share of the time. What did not fit is listed at the end as not run. Exits with 1 if a result was wrong.
Where a machine has a card but no Warp and no network, `python -m benchmarks.gpu.carry` takes it there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.gpu.parts import PARTS, Record, Report, Setting, run_apart, run_here
from benchmarks.tables import duration, factor, grouped, plain_table

MINUTES = 6.0
THE_DEVICE = "the device"  # the task that finds it


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all parts, or those that are named."""
    shape = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__, formatter_class=shape)
    top.add_argument("--device", nargs="?", const="cuda:0", default="cuda:0", help='"cuda:0" and so on, or "cpu"')
    top.add_argument("--quick", action="store_true", help="small sizes")
    top.add_argument("--minutes", type=float, default=MINUTES, help=f"for everything ({MINUTES:g})")
    top.add_argument("--output", type=Path, metavar="FOLDER", help="for gpu.json and gpu.md")
    top.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS), help="parts (all)")
    top.add_argument("--only", nargs="+", default=[], metavar="WORD", help="only tasks with one of these in their name")
    top.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    top.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    chosen = top.parse_args(arguments)
    setting = Setting(chosen.device, chosen.quick)
    if chosen.into is not None:
        run_here(chosen.part[0], setting, chosen.seconds, chosen.into, chosen.only)
        return 0
    reports = run_parts(setting, [part for part in PARTS if part in chosen.part], 60 * chosen.minutes, chosen)
    return 1 if any(report.has_failed for report in reports) else 0


def run_parts(setting: Setting, parts: Sequence[str], seconds: float, chosen: argparse.Namespace) -> list[Report]:
    """Run parts one after the other, print what they find, and write it after each."""
    end = time.monotonic() + seconds
    reports: list[Report] = []
    for part in parts:
        left = sum(PARTS[name] for name in parts[len(reports) :])
        share = max(end - time.monotonic(), 0.0) * PARTS[part] / left
        print(f"== {part}: {share:.0f} s at most", flush=True)
        report = run_apart(part, setting, share, only=chosen.only, told=show)
        if report.ended:
            print(f"  {part} {report.ended}", flush=True)
        for title, rows in tables_of([report]).items():
            print(f"\n{as_text(title, rows)}\n", flush=True)
        reports.append(report)
        if chosen.output is not None:
            write(chosen.output, setting, reports)
        if any(record.task == THE_DEVICE and record.failure_count for record in report.records):
            reports += [Report(rest, ended="not run") for rest in parts[len(reports) :]]  # they would fail as well
            break
    if chosen.output is not None:
        write(chosen.output, setting, reports)
    show_end(reports)
    return reports


def show(record: Record) -> None:
    """Print one line on a task, and one on each failure."""
    verdict = f"skipped: {record.skipped}" if record.skipped else "done"
    if record.compared:
        verdict = f"{record.compared:,} results right" if not record.failure_count else "WRONG"
    elif record.failure_count:
        verdict = "FAILED"
    print(f"  {record.seconds:6.1f} s  {record.task}: {verdict}", flush=True)
    for failure in record.failures:
        print(f"            {failure}", flush=True)
    if record.failure_count > len(record.failures):
        print(f"            and {record.failure_count - len(record.failures)} more", flush=True)


def show_end(reports: Sequence[Report]) -> None:
    """Print what failed, what did not run, and the sum."""
    records = [record for report in reports for record in report.records]
    compared = sum(record.compared for record in records)
    failed = [record for record in records if record.failure_count]
    seconds = sum(report.seconds for report in reports)
    print(f"{compared:,} results compared, {len(failed)} tasks of {len(records)} with failures; {seconds:.0f} s")
    for report in reports:
        if report.ended:
            print(f"{report.part}: {report.ended}")
        for name in report.not_run:
            print(f"not run: {report.part}: {name}")
    for record in failed:
        print(f"FAILED: {record.task}: {record.failures[0]}")
    sys.stdout.flush()


def tables_of(reports: Iterable[Report]) -> dict[str, list[dict[str, Any]]]:
    """Return the tables of parts by their titles."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for report in reports:
        for record in report.records:
            for title, rows in record.rows.items():
                tables.setdefault(title, []).extend(rows)
    return tables


def cell(column: str, value: Any) -> str:
    """Write a value as its column says.

    Examples
    --------
    >>> from benchmarks.gpu.__main__ import cell
    >>> cell("ms", 0.25), cell("×", 3.14159), cell("pairs", 12345), cell("of the bandwidth", 0.5), cell("note", None)
    ('250 µs', '3.1', '12,345', '50 %', '-')
    """
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if column.split(",")[0] in ("ms", "quickest"):
        return duration(value)
    if column.startswith("of "):
        return f"{100 * value:.0f} %"
    if column.startswith("×"):
        return factor(value)
    return f"{value:,.3g}" if isinstance(value, float) else grouped(value)


def as_cells(rows: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return the heads and the cells of a table; of rows that have other columns, what is missing is empty."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    return columns, [[cell(column, row[column]) if column in row else "" for column in columns] for row in rows]


def as_text(title: str, rows: list[dict[str, Any]]) -> str:
    """Return a table for the terminal."""
    columns, cells = as_cells(rows)
    words = sum(all(isinstance(row.get(column, ""), str) for row in rows) for column in columns[:3])
    return plain_table(columns, cells, title, left=max(1, words))


def as_markdown(title: str, rows: list[dict[str, Any]]) -> str:
    """Return a table for a page."""
    columns, cells = as_cells(rows)
    lines = ["| " + " | ".join(row) + " |" for row in (columns, ["---"] * len(columns), *cells)]
    return "\n".join([f"## {title}", "", *lines])


def write(folder: Path, setting: Setting, reports: Sequence[Report]) -> None:
    """Write all figures as JSON, and the tables as a page."""
    folder.mkdir(parents=True, exist_ok=True)
    records = [record for report in reports for record in report.records]
    facts = {name: value for record in records for name, value in record.facts.items()}
    found = {
        "device": setting.device,
        "quick": setting.quick,
        "facts": facts,
        "tables": tables_of(reports),
        "parts": [asdict(report) | {"has_failed": report.has_failed} for report in reports],
    }
    (folder / "gpu.json").write_text(json.dumps(found, indent=1) + "\n")
    checks = [
        {
            "task": record.task,
            "results compared": record.compared,
            "seconds": record.seconds,
            "verdict": f"skipped: {record.skipped}" if record.skipped else "; ".join(record.failures) or "right",
        }
        for record in records
        if record.compared or record.failures or record.skipped
    ]
    missing = [f"- {report.part}: {name}" for report in reports for name in report.not_run]
    missing += [f"- {report.part}: {report.ended}" for report in reports if report.ended]
    parts = [
        "# On a device",
        "\n".join(f"- {name}: {value}" for name, value in facts.items()),
        *(as_markdown(title, rows) for title, rows in tables_of(reports).items()),
        as_markdown("Exactness", checks) if checks else "",
        "\n".join(["## Not run", "", *missing]) if missing else "",
    ]
    (folder / "gpu.md").write_text("\n\n".join(part for part in parts if part) + "\n")


if __name__ == "__main__":
    raise SystemExit(main())
