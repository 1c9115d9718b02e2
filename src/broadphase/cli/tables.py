"""``broadphase pairs`` past memory: from files of boxes to a folder of pairs."""

from __future__ import annotations

import os
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from broadphase import data, scale
from broadphase.cli.options import naming_option
from broadphase.cli.screen import duration, print_facts, print_json, say, stage_bars
from broadphase.errors import FileFormatError, InvalidBoxError, clipped
from broadphase.scale.addresses import is_address, without_secrets
from broadphase.scale.engine import as_bytes
from broadphase.scale.source import column_names
from broadphase.tables.names import find_box_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Engine", "find_pairs_in_files", "is_folder", "is_set_of_files", "names_in"]


class Engine(StrEnum):
    """What runs the search."""

    LOCAL = "local"
    RAY = "ray"


def is_folder(output: str) -> bool:
    """Return whether the pairs are to go to a folder: a name that ends with a slash, an address, or a folder."""
    separators = tuple(one for one in ("/", os.sep, os.altsep) if one)
    return is_address(output) or output.endswith(separators) or os.path.isdir(output)


def is_set_of_files(file: str) -> bool:
    """Return whether FILE stands for more than one file on this machine: a pattern, a folder or an address."""
    return is_address(file) or os.path.isdir(file) or (any(one in file for one in "*?[") and not os.path.exists(file))


def find_pairs_in_files(
    files: list[str],
    output: str | None,
    *,
    columns: tuple[str | None, str | None, str | None],
    plan: Path | None,
    as_json: bool,
    progress: bool | None,
    **options: Any,
) -> None:
    """Run `broadphase.scale.pairs`, and print its report.

    `columns` name the id, the lower and the upper corner, by default those that the first file has; names are separated
    by commas. `plan` is a file of `Plan.to_json`; `options` are those of `broadphase.scale.pairs`.
    """
    if output is None:
        raise typer.BadParameter("name a folder for the pairs, such as --output pairs/", param_hint="--output")
    if not is_folder(output) and os.path.splitext(output)[1]:
        folder = os.path.splitext(output)[0]
        raise typer.BadParameter(
            f"{clipped(output)}: these pairs go to a folder, such as --output {clipped(folder)}/", param_hint="--output"
        )
    with naming_option("--memory"):
        as_bytes(options["memory"], "memory")
    bundled = next((file for file in files if file in data.NAMES and not os.path.exists(file)), None)
    if bundled is not None:
        raise typer.BadParameter(
            f"{bundled} is a bundled data set, not a file: leave out --memory, and write to a file, such as"
            f" --output {bundled}.csv",
            param_hint="FILE",
        )
    id_column, low, high = _columns(files[0], *columns)
    tiles = _plan_in(plan, len(low))
    with _reporting_interruptions(options["resume"]) as note, stage_bars(progress) as show:

        def step(stage: str, done: int, total: int) -> None:
            note(stage, done, total)
            show(stage, done, total)

        try:
            report = scale.pairs(
                *files, output=output, id=id_column, lower=low, upper=high, plan=tiles, progress=step, **options
            )
        except (FileFormatError, InvalidBoxError):
            raise
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
    place = without_secrets(output)
    sets = [without_secrets(file) for file in files]
    if as_json:
        print_json({"sets": sets, **report.to_dict(), "output": place})
    else:
        _show(report, sets, place)


def names_in(columns: str | None) -> tuple[str, ...]:
    """Take names of columns apart, which commas separate."""
    return tuple(name.strip() for name in columns.split(",")) if columns else ()


def _columns(
    file: str, id_column: str | None, lower: str | None, upper: str | None
) -> tuple[str | None, tuple[str, ...], tuple[str, ...]]:
    if (lower is None) != (upper is None):
        raise typer.BadParameter("--lower and --upper are given together", param_hint="--lower")
    names = column_names(file)
    if lower is None:
        shown = clipped(without_secrets(file))
        try:
            places = find_box_columns(names)
        except ValueError as error:
            raise FileFormatError(f"{shown}: {error}; name the columns by --lower and --upper") from None
        if places is None:
            raise FileFormatError(
                f"{shown}: no columns such as x0, y0, x1, y1; name them, such as --lower west,south --upper east,north"
            )
        corners = [names[place] for place in places]
        low, high = tuple(corners[: len(corners) // 2]), tuple(corners[len(corners) // 2 :])
    else:
        low, high = names_in(lower), names_in(upper)
    if id_column is None and "id" in names:
        id_column = "id"
    return id_column, low, high


def _plan_in(path: Path | None, dim: int) -> scale.Plan | None:
    if path is None:
        return None
    try:
        plan = scale.Plan.from_json(path.read_text("utf-8"))
    except ValueError as error:
        raise FileFormatError(f"{clipped(str(path))}: {error}") from None
    if plan.dim != dim:
        raise FileFormatError(f"{clipped(str(path))}: a plan for {plan.dim} axes, and the boxes have {dim}")
    return plan


@contextmanager
def _reporting_interruptions(resume: bool) -> Iterator[Any]:
    """Print how an interrupted run is resumed; yields a function that takes its progress."""
    last = ("plan", 0, 0)

    def note(*now: Any) -> None:
        nonlocal last
        last = now

    try:
        yield note
    except (KeyboardInterrupt, SystemExit):
        stage, done, total = last
        command = "the same command" + ("" if resume else ", without --no-resume,")
        say(f"interrupted: {stage} was {done / max(total, 1):.0%} done; {command} goes on from there")
        raise


def _show(report: scale.Report, sets: list[str], output: str) -> None:
    share = report.copies / max(report.box_count, 1)
    done = f", {report.resumed_tiles:,} of an earlier run" if report.resumed_tiles else ""
    facts = [
        ("boxes", f"{report.box_count:,} ({' and '.join(map(clipped, sets))})"),
        ("pairs", f"{report.pair_count:,}"),
        ("tiles", f"{report.tiles:,}{done}; {share:.1%} copies, {report.wide:,} wide boxes"),
        *((stage, _pace(stage, report.box_count, seconds)) for stage, seconds in report.seconds_by_stage.items()),
        ("spilled", f"{report.bytes_by_stage.get('assign', 0) / 1e6:,.0f} MB"),
        ("written", f"{report.bytes_by_stage.get('join', 0) / 1e6:,.0f} MB to {clipped(output)}"),
    ]
    print_facts("Overlapping pairs", facts)


def _pace(stage: str, rows: int, seconds: float) -> str:
    rate = "" if stage == "start" else f", {rows / max(seconds, 1e-9):,.0f} boxes/s"
    return duration(seconds) + rate
