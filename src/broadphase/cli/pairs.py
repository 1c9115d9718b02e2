"""The command ``broadphase pairs``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import broadphase as bp
from broadphase import io
from broadphase.cli.options import (
    FileArgument,
    Invalid,
    InvalidOption,
    JsonOption,
    MarginOption,
    MethodOption,
    NamesOption,
    PartsOption,
    ProgressOption,
    SecondFileArgument,
    TouchingOption,
    WorkersOption,
)
from broadphase.cli.screen import print_json, progress_bar
from broadphase.cli.sources import blaming_rows, open_sources
from broadphase.cli.summary import Tally, describe_answer, print_answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from broadphase.cli.screen import Step

_CHUNK = 1_000_000  # pairs written, or counted into the summary, between two steps of the progress bar
_HELD = 50_000_000  # pairs held in memory (8 bytes each); more are found a chunk at a time, once they are counted


def pairs(
    file: FileArgument,
    file2: SecondFileArgument = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the pairs: .npy, .npz, .csv or .parquet.")
    ] = None,
    method: MethodOption = "auto",
    workers: WorkersOption = 1,
    sort: Annotated[bool, typer.Option("--sort", help="Order the pairs by row numbers.")] = False,
    touching: TouchingOption = True,
    margin: MarginOption = 0.0,
    max_pairs: Annotated[
        int | None, typer.Option("--max-pairs", min=0, help="Stop with an error if there are more.")
    ] = None,
    invalid: InvalidOption = Invalid.RAISE,
    parts: PartsOption = False,
    names: NamesOption = None,
    as_json: JsonOption = False,
    progress: ProgressOption = None,
) -> None:
    """Find every pair of overlapping boxes.

    Writes the pairs to a file with --output; without, shows a summary. Rows are counted from 0. Where the boxes have
    names, .csv and .parquet get them as well.

    For example:

    - `broadphase pairs us_counties`

    - `broadphase pairs rooms.csv --output overlaps.csv --no-touching`

    - `broadphase pairs walls.glb pipes.glb --parts --margin 0.05 --json`
    """
    if output is not None and output.suffix.lower() not in io.PAIR_FORMATS:
        raise typer.BadParameter(f"{output} does not end in {', '.join(io.PAIR_FORMATS)}", param_hint="--output")
    seconds: dict[str, float] = {}
    with progress_bar(progress) as step:
        step("reading")
        begin = time.perf_counter()
        first, second = open_sources(file, file2, parts=parts, names=names)
        seconds["read"] = time.perf_counter() - begin

        step("finding pairs")
        question: dict[str, Any] = {"method": method, "workers": workers, "touching": touching, "margin": margin}
        other = None if second is None else second.boxes
        begin = time.perf_counter()
        with blaming_rows(first, second):
            portions, total = _find(first.boxes, other, {**question, "invalid": invalid.value}, sort, max_pairs)
        seconds["find"] = time.perf_counter() - begin

        tally = Tally(len(first.boxes), None if second is None else len(second.boxes))
        steps = _step_by_step(portions, tally, step, "writing" if output else "summing up", total)
        begin = time.perf_counter()
        if output is None:
            for _ in steps:
                pass
        else:
            io.write_pairs(output, steps, _names_for(output, first, second))
        seconds["summary" if output is None else "write"] = time.perf_counter() - begin
    answer = describe_answer(first, second, tally, question, seconds, output)
    if as_json:
        print_json(answer)
    else:
        print_answer(answer)


def _find(
    boxes: NDArray[Any], other: NDArray[Any] | None, question: dict[str, Any], sort: bool, max_pairs: int | None
) -> tuple[Iterator[NDArray[Any]], int]:
    """Return the pairs in portions, and how many there are.

    Up to `_HELD` pairs are found at once. If there are more, they are counted, and then found while they are used.
    """
    limit = max_pairs if sort else min(_HELD, _HELD if max_pairs is None else max_pairs)
    try:
        found = bp.pairs(boxes, other, **question, sort=sort, max_pairs=limit)
    except bp.TooManyPairsError:
        if limit == max_pairs:
            raise
        total = bp.count_pairs(boxes, other, **question)
        if max_pairs is not None and total > max_pairs:
            raise bp.TooManyPairsError(f"there are {total:,} pairs, more than --max-pairs {max_pairs:,}") from None
        return iter(bp.iter_pairs(boxes, other, chunk=_CHUNK, **question)), total
    return (found[begin : begin + _CHUNK] for begin in range(0, len(found), _CHUNK)), len(found)


def _step_by_step(
    portions: Iterator[NDArray[Any]], tally: Tally, step: Step, text: str, total: int
) -> Iterator[NDArray[Any]]:
    for portion in portions:
        tally.add(portion)
        yield portion
        step(text, tally.pair_count, total)


def _names_for(output: Path, first: io.BoxFile, second: io.BoxFile | None) -> Any:
    if output.suffix.lower() not in (".csv", ".parquet"):
        return None
    if second is None:
        return first.names
    if first.names is None or second.names is None:
        return None
    return first.names, second.names
