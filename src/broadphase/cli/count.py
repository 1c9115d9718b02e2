"""The command ``broadphase count``."""

from __future__ import annotations

import time

import broadphase as bp
from broadphase.cli.options import (
    FileArgument,
    Invalid,
    InvalidOption,
    JsonOption,
    MarginOption,
    MethodOption,
    PartsOption,
    ProgressOption,
    SecondFileArgument,
    TouchingOption,
    WorkersOption,
)
from broadphase.cli.screen import print_json, progress_bar
from broadphase.cli.sources import blaming_rows, open_sources


def count(
    file: FileArgument,
    file2: SecondFileArgument = None,
    method: MethodOption = "auto",
    workers: WorkersOption = 1,
    touching: TouchingOption = True,
    margin: MarginOption = 0.0,
    invalid: InvalidOption = Invalid.RAISE,
    parts: PartsOption = False,
    as_json: JsonOption = False,
    progress: ProgressOption = None,
) -> None:
    """Count the pairs of overlapping boxes, in memory that does not depend on their number.

    Prints the number and nothing else, unless --json is given.

    For example:

    - `broadphase count us_counties`

    - `broadphase count walls.csv pipes.parquet --margin 0.05`
    """
    with progress_bar(progress) as step:
        step("reading")
        first, second = open_sources(file, file2, parts=parts)
        step("counting")
        begin = time.perf_counter()
        with blaming_rows(first, second):
            number = bp.count_pairs(
                first.boxes,
                None if second is None else second.boxes,
                method=method,
                workers=workers,
                touching=touching,
                margin=margin,
                invalid=invalid.value,
            )
        seconds = time.perf_counter() - begin
    if as_json:
        counts = [len(one.boxes) for one in (first, second) if one is not None]
        print_json({"pair_count": number, "box_counts": counts, "method": method, "seconds": seconds})
    else:
        print(number)
