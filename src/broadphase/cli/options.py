"""Arguments and options of the commands that several of them have, each once; and errors that name an option."""

from __future__ import annotations

from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from broadphase import data
from broadphase.errors import unknown_name
from broadphase.mesh_formats import PART_KINDS
from broadphase.methods import METHOD_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Invalid(StrEnum):
    """What to do with invalid rows."""

    RAISE = "raise"
    SKIP = "skip"


def one_of(what: str, names: Iterable[str]) -> Callable[[str | None], str | None]:
    """Return what checks an option that is one of some names."""
    known = tuple(names)

    def check(name: str | None) -> str | None:
        if name is not None and name not in known:
            raise typer.BadParameter(unknown_name(what, name, known))
        return name

    return check


def possible_workers(workers: int | None) -> int | None:
    """Check a number of threads."""
    if workers is not None and (workers == 0 or workers < -1):
        raise typer.BadParameter("must be at least 1, or -1 for all cores")
    return workers


def possible_length(margin: float) -> float:
    """Check an option that is a length."""
    if not 0.0 <= margin < float("inf"):
        raise typer.BadParameter("must be finite and at least 0")
    return margin


class WithParts(TyperCommand):
    """A command whose ``--parts`` takes a value or none: what follows is one only if it is a kind of parts."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the command line."""
        ends = args.index("--") if "--" in args else len(args)
        for place, word in enumerate(args[:ends]):
            if word == "--parts" and (place + 1 == len(args) or args[place + 1] not in BOX_PARTS):
                args = [*args[:place], f"--parts={BOX_PARTS[0]}", *args[place + 1 :]]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


def parts_of_boxes(parts: str | None) -> Any:
    """Return `parts` of `read_boxes` for the value of ``--parts``."""
    return parts == BOX_PARTS[0] if parts in (None, BOX_PARTS[0]) else parts


@contextmanager
def naming_option(option: str, advice: str = "") -> Iterator[None]:
    """Make an error about a value that of the option, with advice at its end."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(f"{error}{advice}", param_hint=option) from None


def completed(incomplete: str, names: Iterable[str]) -> list[str]:
    """Complete the name of a data set or a scene; without any letter, the shell lists files."""
    return [name for name in names if incomplete and name.startswith(incomplete)]


FileArgument = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        autocompletion=lambda incomplete: completed(incomplete, data.NAMES),
        help="Boxes: a file, or the name of a bundled data set (us_counties).",
    ),
]
OptionalFileArgument = Annotated[str | None, typer.Argument(metavar="FILE", help="Boxes to describe.")]
OtherArgument = Annotated[
    str | None, typer.Argument(metavar="OTHER", help="A second set: find pairs of a box of FILE and a box of OTHER.")
]


def _method_option(text: str = "") -> Any:
    return typer.Option(
        "--method",
        "-m",
        metavar="METHOD",
        callback=one_of("method", METHOD_NAMES),
        autocompletion=lambda: list(METHOD_NAMES),
        help=f"Method: {', '.join(METHOD_NAMES)}. {text}The result does not depend on it.",
    )


MethodOption = Annotated[str, _method_option()]
SceneMethodOption = Annotated[str | None, _method_option("Default: that of the scene. ")]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of the method, such as leaf_capacity=1 of octree. May be given several times.",
    ),
]
WorkersOption = Annotated[
    int, typer.Option("--workers", "-w", callback=possible_workers, help="Number of threads; -1: one per core.")
]
TouchingOption = Annotated[
    bool, typer.Option("--touching/--no-touching", help="Whether boxes that only touch count as overlapping.")
]
MarginOption = Annotated[
    float,
    typer.Option("--margin", callback=possible_length, help="Also find pairs at most this far apart along each axis."),
]
InvalidOption = Annotated[
    Invalid,
    typer.Option("--invalid", help="Rows with NaN, or lower > upper: stop with an error, or skip them with a warning."),
]
BOX_PARTS = ("auto", *PART_KINDS)
"""What ``--parts`` of commands on boxes takes; without a value, it is the first."""

PartsOption = Annotated[
    str | None,
    typer.Option(
        "--parts",
        metavar="[KIND]",
        callback=one_of("parts", BOX_PARTS),
        autocompletion=lambda: list(BOX_PARTS),
        help="One box for each part of a feature or of a mesh. What a part of a mesh file is: "
        f"{', '.join(PART_KINDS)}. Without KIND: an object, or of a single one each connected piece.",
    ),
]
NamesOption = Annotated[
    str | None, typer.Option("--names", metavar="COLUMN", help="Column or property with the names of the boxes.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
ProgressOption = Annotated[
    bool | None, typer.Option("--progress/--no-progress", help="Progress bar on stderr.", show_default="on a terminal")
]
