"""The arguments and options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

import broadphase as bp


class Invalid(StrEnum):
    """What to do with rows that are not boxes."""

    RAISE = "raise"
    SKIP = "skip"


_METHODS = ("auto", *(method.name for method in bp.METHODS))


def _known_method(name: str | None) -> str | None:
    if name is not None and name not in _METHODS:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(_METHODS)}")
    return name


def _possible_workers(workers: int) -> int:
    if workers == 0 or workers < -1:
        raise typer.BadParameter("must be at least 1, or -1 for all cores")
    return workers


def _possible_margin(margin: float) -> float:
    if not 0.0 <= margin < float("inf"):
        raise typer.BadParameter("must be finite and at least 0")
    return margin


FileArgument = Annotated[
    str, typer.Argument(metavar="FILE", help="Boxes: a file, or the name of a bundled set (us_counties, ...).")
]
OptionalFileArgument = Annotated[str | None, typer.Argument(metavar="FILE", help="Boxes to look at as well.")]
SecondFileArgument = Annotated[
    str | None, typer.Argument(metavar="FILE2", help="A second set: find pairs of a box in FILE and one in FILE2.")
]
MethodOption = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        metavar="METHOD",
        callback=_known_method,
        help=f"How to find them: {', '.join(_METHODS)}. The answer is the same.",
    ),
]
SceneMethodOption = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        metavar="METHOD",
        callback=_known_method,
        help=f"How to find pairs: {', '.join(_METHODS)}; else as the scene says. The answer is the same.",
    ),
]
WorkersOption = Annotated[
    int, typer.Option("--workers", "-w", callback=_possible_workers, help="Threads; -1 for one per core.")
]
TouchingOption = Annotated[
    bool, typer.Option("--touching/--no-touching", help="Whether boxes that only touch are a pair.")
]
MarginOption = Annotated[
    float, typer.Option("--margin", callback=_possible_margin, help="Also pairs closer together than this.")
]
InvalidOption = Annotated[
    Invalid, typer.Option("--invalid", help="NaN, or lower > upper: stop with an error, or leave such rows out.")
]
PartsOption = Annotated[bool, typer.Option("--parts", help="One box for each part of a GeoJSON feature, or of a mesh.")]
NamesOption = Annotated[
    str | None, typer.Option("--names", metavar="COLUMN", help="The column or property that names the boxes.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
ProgressOption = Annotated[
    bool | None,
    typer.Option("--progress/--no-progress", help="Progress bar on stderr.", show_default="on a terminal"),
]
