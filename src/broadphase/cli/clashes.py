"""The command on parts: ``broadphase clash``."""

from __future__ import annotations

import fnmatch
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.table import Table

import broadphase as bp
from broadphase import io
from broadphase.cli.boxes import nearest_file
from broadphase.cli.options import JsonOption, ProgressOption, WorkersOption, naming_option, possible_length
from broadphase.cli.screen import counted, duration, print_facts, print_json, print_table, progress_bar, say
from broadphase.errors import clipped
from broadphase.files import refuse_inputs, require_ending
from broadphase.io.clashes import worst_first
from broadphase.scale.clock import Clock

if TYPE_CHECKING:
    from numpy.typing import NDArray

HARD = ("duplicate", "penetrates", "contains")  # the kinds that parts which fit together do not have
HARD_CLASHES, NO_PAIR = 4, 2  # exit codes
_MOST_LISTED = 20
_TOGETHER = 64  # meshes whose trees are built between two looks at the progress bar


class ObjParts(StrEnum):
    """What a part of an .obj file is."""

    OBJECT = "object"
    GROUP = "group"
    MATERIAL = "material"


def _patterns(values: list[str] | None) -> list[tuple[str, str]]:
    pairs = [tuple(value.split(":")) for value in values or ()]
    for value, pair in zip(values or (), pairs, strict=True):
        if len(pair) != 2:
            raise typer.BadParameter(
                f"{value}: must be two patterns of part names with a colon between them, such as 'bolt*:nut*'",
                param_hint="--ignore",
            )
    return [(one, two) for one, two in pairs]


def clash(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Meshes: .glb, .gltf, .obj, .stl, .ply and others; .ifc.")
    ],
    clearance: Annotated[
        float,
        typer.Option("--clearance", "-c", callback=possible_length, help="Parts that are nearer are listed as near."),
    ] = 0.0,
    tolerance: Annotated[
        float,
        typer.Option("--tolerance", "-t", callback=possible_length, help="Gaps and depths up to this only touch."),
    ] = 0.0,
    parts_of_obj: Annotated[
        ObjParts, typer.Option("--parts", help="What a part of an .obj file is: the faces of an o, a g, or a usemtl.")
    ] = ObjParts.OBJECT,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=f"Write the clashes: {', '.join(io.CLASH_FORMATS)}.")
    ] = None,
    between_files: Annotated[
        bool, typer.Option("--between-files", help="Only clashes of parts of different files.")
    ] = False,
    same_parent: Annotated[
        bool,
        typer.Option(
            "--same-parent/--no-same-parent", help="Whether pairs of parts below one node of a scene are clashes."
        ),
    ] = True,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="NAME:NAME", help="Pairs of part names that may clash, such as 'bolt*:nut*'."),
    ] = None,
    surfaces: Annotated[bool, typer.Option("--surfaces", help="Parts are surfaces: they contain nothing.")] = False,
    workers: WorkersOption = 1,
    as_json: JsonOption = False,
    progress: ProgressOption = None,
) -> int:
    """Find parts that penetrate, contain or touch each other, are too near, or are there twice.

    Parts are the nodes of scenes, the objects of .obj files, and the products of .ifc files, by name. Lengths are in
    the unit of the files, which is printed: metres in .glb, .gltf and .ifc files; other formats rarely say. The exit
    code is 4 if there are hard clashes: parts that penetrate or contain each other, or are there twice. It is 2, with a
    warning, if there is no pair to check: one file of a single part.

    For example:

    - `broadphase clash engine.glb --tolerance 0.0001 --output clashes.csv`

    - `broadphase clash walls.glb pipes.glb --clearance 0.05 --between-files --json`
    """
    if output is not None:
        with naming_option("--output"):
            require_ending(output, io.CLASH_FORMATS)
        refuse_inputs(output, files)
    patterns = _patterns(ignore)
    if parts_of_obj != ObjParts.OBJECT and not any(_is_obj(file) for file in files):
        raise typer.BadParameter("none of the files is an .obj file", param_hint="--parts")
    if between_files and len(files) == 1:
        raise typer.BadParameter("needs at least two files", param_hint="--between-files")
    clock = Clock()
    with progress_bar(progress) as step:
        read = []
        with clock.measure("read"):
            for number, file in enumerate(files):
                text = f"reading {clipped(file.name, 40)}"
                step(text, number, len(files))
                if not file.exists():
                    raise FileNotFoundError(f"{clipped(str(file))}: no such file{nearest_file(str(file))}")
                kind: Any = parts_of_obj.value if _is_obj(file) else "object"
                read.append(io.read_parts(file, parts=kind, progress=counted(step, text)))
        unit = _common_unit(read)
        parts = [part for file in read for part in file.parts]
        with clock.measure("trees"):
            known: dict[int, bp.Mesh] = {}
            for part in parts:
                if id(part.vertices) not in known:
                    known[id(part.vertices)] = bp.Mesh(part.vertices, part.faces)
            distinct = list(known.values())
            for begins in range(0, len(distinct), _TOGETHER):
                step("building trees", begins, len(distinct))
                bp.Mesh.prepare(distinct[begins : begins + _TOGETHER], workers=workers)
            meshes = [known[id(part.vertices)] for part in parts]
            watertight = [mesh.is_watertight for mesh in meshes]
        text = f"finding clashes of {len(parts):,} parts"
        step(text)
        files_of_parts = np.repeat(np.arange(len(read)), [len(file.parts) for file in read])
        with clock.measure("find"):
            found = bp.clashes(
                bp.Shapes(meshes, [part.position for part in parts], [part.rotation for part in parts]),
                clearance=clearance,
                tolerance=tolerance,
                solid=not surfaces,
                workers=workers,
                group=-1 - files_of_parts if between_files else None,  # parts of one file never clash
                parent=None if same_parent else _parents_of(read),
                progress=counted(step, text),
            )
            found = _without(found, [part.name for part in parts], patterns)
        if output is not None:
            step("writing")
            with clock.measure("write"):
                io.write_clashes(output, found, read, watertight)
    counts = found.counts()
    answer: dict[str, Any] = {
        "files": [file.source for file in read],
        "unit": unit,
        "parts": len(parts),
        "triangles": sum(len(part.faces) for part in parts),
        "open_parts": [part.name for part, closed in zip(parts, watertight, strict=True) if not closed],
        "clearance": clearance,
        "tolerance": tolerance,
        "counts": counts,
        "hard": sum(counts[kind] for kind in HARD),
        "seconds": clock.seconds,
        "output": None if output is None else str(output),
    }
    if as_json:
        print_json(answer)
    else:
        _print(answer, found, [part.name for part in parts])
    if len(parts) < 2:
        say(f"warning: {_only_part(read[0])}")
        return NO_PAIR
    return HARD_CLASHES if answer["hard"] else 0


def _is_obj(file: Path) -> bool:
    return file.suffix.lower() == ".obj"


def _only_part(file: io.PartFile) -> str:
    """Return what to say of a file of one part: nothing can clash in it."""
    advice = "name another file to check it against"
    if _is_obj(Path(file.source)):
        advice += ", or choose other parts by --parts group or --parts material"
    return f"{clipped(file.source)} has one part only, {clipped(file.parts[0].name)}, so there is no pair: {advice}"


def _common_unit(files: list[io.PartFile]) -> str | None:
    known = {file.unit: file.source for file in files if file.unit is not None}
    if len(known) > 1:
        texts = [f"{source} is in {unit}" for unit, source in known.items()]
        raise bp.errors.FileFormatError(f"files in different units: {', '.join(texts)}")
    return next(iter(known), None)


def _parents_of(files: list[io.PartFile]) -> NDArray[np.int64]:
    numbers: dict[tuple[int, str], int] = {}
    return np.array(
        [
            -1 if part.parent is None else numbers.setdefault((number, part.parent), len(numbers))
            for number, file in enumerate(files)
            for part in file.parts
        ],
        np.int64,
    )


def _without(found: bp.narrow.Clashes, names: list[str], patterns: list[tuple[str, str]]) -> bp.narrow.Clashes:
    """Leave out the pairs of names that match two patterns, in either order."""
    kept = np.ones(len(found.pairs), np.bool_)
    for one, two in patterns:
        are_one, are_two = (
            np.array([fnmatch.fnmatchcase(name, pattern) for name in names], np.bool_) for pattern in (one, two)
        )
        first, second = found.pairs.T
        kept &= ~((are_one[first] & are_two[second]) | (are_two[first] & are_one[second]))
    columns: Any = (column[kept] for column in found)
    return bp.narrow.Clashes(*columns)


def _print(answer: dict[str, Any], found: bp.narrow.Clashes, names: list[str]) -> None:
    unit = answer["unit"] or "unit of the file"
    opened = answer["open_parts"]
    facts = [
        ("parts", f"{answer['parts']:,} of {', '.join(clipped(file) for file in answer['files'])}"),
        ("triangles", f"{answer['triangles']:,}"),
        ("open parts", f"{len(opened):,}, which count as surfaces" if opened else "none: all are solid"),
        ("lengths", f"in {unit}: clearance {answer['clearance']:g}, tolerance {answer['tolerance']:g}"),
        *((kind, f"{count:,}") for kind, count in answer["counts"].items()),
        ("time", ", ".join(f"{name} {duration(value)}" for name, value in answer["seconds"].items())),
    ]
    if answer["output"] is not None:
        facts.append(("written", answer["output"]))
    print_facts("Clashes", facts)
    worst = worst_first(found)
    if not worst:
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("kind", "first", "second", f"gap ({unit})", f"depth ({unit})", "measured by"):
        table.add_column(title)
    for row in worst[:_MOST_LISTED]:
        depth = found.depths[row]
        table.add_row(
            str(found.kinds[row]), *(clipped(names[part], 60) for part in found.pairs[row].tolist()),
            f"{found.gaps[row]:.6g}", "" if np.isnan(depth) else f"{depth:.6g}", str(found.depths_by[row]),
        )  # fmt: skip
    print_table(table)
    if len(worst) > _MOST_LISTED:
        print(f"and {len(worst) - _MOST_LISTED:,} more; --output writes all")
