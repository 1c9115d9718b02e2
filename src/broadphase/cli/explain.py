"""The command ``broadphase explain``."""

from __future__ import annotations

import dataclasses

import broadphase as bp
from broadphase.cli.options import (
    FileArgument,
    Invalid,
    InvalidOption,
    JsonOption,
    PartsOption,
    SecondFileArgument,
    WorkersOption,
)
from broadphase.cli.screen import print_json
from broadphase.cli.sources import blaming_rows, open_sources, valid_boxes


def explain(
    file: FileArgument,
    file2: SecondFileArgument = None,
    workers: WorkersOption = 1,
    invalid: InvalidOption = Invalid.RAISE,
    parts: PartsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Explain which method "auto" takes for these boxes, why, and what each would cost.

    For example:

    - `broadphase explain us_counties`

    - `broadphase explain walls.csv pipes.csv --workers -1`
    """
    first, second = open_sources(file, file2, parts=parts)
    sets = [first] if second is None else [first, second]
    with blaming_rows(first, second):
        boxes = [valid_boxes(one) if invalid is Invalid.SKIP else one.boxes for one in sets]
        explanation = bp.explain(*boxes, workers=workers)
    if as_json:
        print_json(dataclasses.asdict(explanation))
    else:
        print(explanation)
