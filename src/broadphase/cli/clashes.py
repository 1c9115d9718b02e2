"""The command on parts: ``broadphase clash``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.table import Table

import broadphase as bp
from broadphase import io
from broadphase.cli.boxes import nearest_file
from broadphase.cli.options import JsonOption, ProgressOption, WorkersOption, naming_option, one_of, possible_length
from broadphase.cli.parts import unit_warning
from broadphase.cli.screen import counted, duration, print_facts, print_json, print_table, progress_bar, say
from broadphase.errors import clipped
from broadphase.files import refuse_inputs, require_ending
from broadphase.io.clash_report import GROUPINGS, Baseline, report_of
from broadphase.io.clashes import require_bcf_version, write_report
from broadphase.io.meshes import PARTS_OF, part_type_of
from broadphase.mesh_formats import PART_KINDS
from broadphase.narrow.part_pairs import matching
from broadphase.scale.clock import Clock

if TYPE_CHECKING:
    from numpy.typing import NDArray

HARD = ("duplicate", "penetrates", "contains")  # the kinds that parts which fit together do not have
HARD_CLASHES, NO_PAIR = 4, 2  # exit codes
_MOST_LISTED = 20
_TOGETHER = 64  # meshes whose trees are built between two looks at the progress bar


def _patterns(option: str, values: list[str] | None) -> list[tuple[str, str]]:
    pairs = [tuple(value.split(":")) for value in values or ()]
    for value, pair in zip(values or (), pairs, strict=True):
        if len(pair) != 2:
            raise typer.BadParameter(
                f"{value}: must be two patterns of part names with a colon between them, such as 'bolt*:nut*'",
                param_hint=option,
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
    kind: Annotated[
        str,
        typer.Option(
            "--parts",
            metavar="KIND",
            callback=one_of("parts", PART_KINDS),
            autocompletion=lambda: list(PART_KINDS),
            help=f"What a part is, in files that have a choice: {', '.join(PART_KINDS)}.",
        ),
    ] = "object",
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
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude", metavar="NAME:NAME", help="Pairs of part names that may clash, such as 'bolt*:nut*'."
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME:NAME", help="Check only pairs of these names, such as 'pipe*:wall*'."),
    ] = None,
    grouping: Annotated[
        str | None,
        typer.Option(
            "--group-by",
            metavar="WHAT",
            callback=one_of("group_by", GROUPINGS),
            autocompletion=lambda: list(GROUPINGS),
            help=f"One line for all clashes ({', '.join(GROUPINGS)}) of parts of the same names without numbers, "
            "assemblies, or IFC classes, or in the same cell of a grid.",
        ),
    ] = None,
    cell_size: Annotated[
        float | None,
        typer.Option("--cell-size", help="Edge of the cells of --group-by cell."),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", help="An earlier .json report: says which clashes are new, unchanged or gone."),
    ] = None,
    bcf_version: Annotated[
        str | None, typer.Option("--bcf-version", help="Of .bcf and .bcfzip files: 2.1 (the default) or 3.0.")
    ] = None,
    volume: Annotated[
        bool, typer.Option("--volume", help="Also find the interference volumes; needs broadphase[volume].")
    ] = False,
    surfaces: Annotated[bool, typer.Option("--surfaces", help="Parts are surfaces: they contain nothing.")] = False,
    workers: WorkersOption = 1,
    as_json: JsonOption = False,
    progress: ProgressOption = None,
) -> int:
    """Find parts that penetrate, contain or touch each other, are too near, or are there twice.

    Parts are the nodes of scenes, the objects of .obj files, and the products of .ifc files, by name: `broadphase info`
    lists them. Lengths are in the unit of the files, which is printed: metres in .glb, .gltf, .step and .ifc files,
    that of the file in .3mf and .dae files; others rarely say. The exit
    code is 4 if there are hard clashes: parts that penetrate or contain each other, or are there twice. It is 2, with a
    warning, if there is no pair to check: one file of a single part.

    For example:

    - `broadphase clash engine.glb --tolerance 0.0001 --output clashes.csv`

    - `broadphase clash walls.glb pipes.glb --clearance 0.05 --between-files --json`

    - `broadphase clash engine.obj --parts group`

    - `broadphase clash house.ifc --group-by type --baseline monday.json --output friday.bcf`
    """
    if output is not None:
        with naming_option("--output"):
            require_ending(output, io.CLASH_FORMATS)
        with naming_option("--bcf-version"):
            require_bcf_version(output, bcf_version)
        refuse_inputs(output, files)
    elif bcf_version is not None:
        raise typer.BadParameter("needs --output", param_hint="--bcf-version")
    excluded, wanted = _patterns("--exclude", exclude), _patterns("--only", only)
    if (grouping == "cell") != (cell_size is not None):
        raise typer.BadParameter("--group-by cell needs it, and nothing else does", param_hint="--cell-size")
    if cell_size is not None and not 0.0 < cell_size < float("inf"):
        raise typer.BadParameter("must be finite and above 0", param_hint="--cell-size")
    kinds: list[Any] = [kind if kind in PARTS_OF.get(file.suffix.lower(), ()) else "object" for file in files]
    if kind not in kinds:
        with naming_option("--parts"):
            part_type_of(files[0], kind)  # type: ignore[arg-type]
    if between_files and len(files) == 1:
        raise typer.BadParameter("needs at least two files", param_hint="--between-files")
    earlier = None if baseline is None else Baseline(baseline)
    clock = Clock()
    with progress_bar(progress) as step:
        read = []
        with clock.measure("read"):
            for number, file in enumerate(files):
                text = f"reading {clipped(file.name, 40)}"
                step(text, number, len(files))
                if not file.exists():
                    raise FileNotFoundError(f"{clipped(str(file))}: no such file{nearest_file(str(file))}")
                read.append(io.read_parts(file, parts=kinds[number], progress=counted(step, text)))
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
            names = [part.name for part in parts]
            found = bp.clashes(
                bp.Shapes(meshes, [part.position for part in parts], [part.rotation for part in parts]),
                clearance=clearance,
                tolerance=tolerance,
                solid=not surfaces,
                workers=workers,
                group=-1 - files_of_parts if between_files else None,  # parts of one file never clash
                parent=None if same_parent else _parents_of(read),
                names=names,
                exclude=excluded,
                only=wanted,
                volume=volume,
                progress=counted(step, text),
            )
        with clock.measure("describe"):
            report = report_of(found, read, watertight, grouping, cell_size, earlier)
        if output is not None:
            step("writing")
            with clock.measure("write"):
                write_report(output, report, read, bcf_version)
    counts = report["counts"]
    answer: dict[str, Any] = {
        "files": [file.source for file in read],
        "part_types": [file.part_type for file in read],
        "unit": unit,
        "parts": len(parts),
        "triangles": sum(len(part.faces) for part in parts),
        "open_parts": [part.name for part, closed in zip(parts, watertight, strict=True) if not closed],
        "clearance": clearance,
        "tolerance": tolerance,
        "counts": counts,
        "groups": None if report["groups"] is None else len(report["groups"]),
        "statuses": None if baseline is None else _statuses(report),
        "hard": sum(counts[kind] for kind in HARD),
        "seconds": clock.seconds,
        "output": None if output is None else str(output),
    }
    if as_json:
        print_json(answer)
    else:
        _print(answer, report)
    for pattern in sorted({one for pair in [*excluded, *wanted] for one in pair}):
        if not matching(names, pattern).any():
            say(f"warning: no part has a name that matches {clipped(pattern)}")
    doubt = unit_warning(read)
    if doubt is not None:
        say(f"warning: {doubt}")
    if len(parts) < 2:
        say(f"warning: {_only_part(read[0])}")
        return NO_PAIR
    return HARD_CLASHES if answer["hard"] else 0


def _only_part(file: io.PartFile) -> str:
    """Return what to say of a file of one part: nothing can clash in it."""
    known = PARTS_OF.get(Path(file.source).suffix.lower(), {})
    others = [f"--parts {kind}" for kind, word in known.items() if word != file.part_type and kind != "mesh"]
    advice = f"name another file to check it against, or choose other parts by {' or '.join(others)}"
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


def _statuses(report: dict[str, Any]) -> dict[str, int]:
    """Count clashes by their status since the baseline."""
    given = [clash["status"] for clash in [*report["clashes"], *report["gone"]]]
    return {status: given.count(status) for status in ("new", "unchanged", "gone")}


def _print(answer: dict[str, Any], report: dict[str, Any]) -> None:
    unit = answer["unit"] or "unit of the file"
    opened = answer["open_parts"]
    facts = [
        ("parts", f"{answer['parts']:,} of {', '.join(clipped(file) for file in answer['files'])}"),
        ("triangles", f"{answer['triangles']:,}"),
        ("open parts", f"{len(opened):,}, which count as surfaces" if opened else "none: all are solid"),
        ("lengths", f"in {unit}: clearance {answer['clearance']:g}, tolerance {answer['tolerance']:g}"),
        *((kind, f"{count:,}") for kind, count in answer["counts"].items()),
        *((status, f"{count:,}") for status, count in (answer["statuses"] or {}).items()),
        ("time", ", ".join(f"{name} {duration(value)}" for name, value in answer["seconds"].items())),
    ]
    if answer["output"] is not None:
        facts.append(("written", answer["output"]))
    print_facts("Clashes", facts)
    _print_worst(report, unit)


def _print_worst(report: dict[str, Any], unit: str) -> None:
    """Print a line for each of the worst clashes, or of the groups of the worst."""
    clashes, groups = report["clashes"], report["groups"]
    lines = clashes if groups is None else groups
    if not lines:
        return
    titles = ["number", "status", "kind", "first", "second", f"gap ({unit})", f"depth ({unit})", "measured by"]
    has_volumes = any(clash["volume"] is not None for clash in clashes)
    if has_volumes:
        titles.append(f"volume ({unit}³)")
    if groups is not None:
        titles.append("clashes")
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in titles:
        if title != "status" or report["baseline"] is not None:
            table.add_column(title)
    for line in lines[:_MOST_LISTED]:
        worst = line if groups is None else clashes[line["clashes"][0]] if line["clashes"] else None
        labels = (
            [report["parts"][part]["name"] for part in line["parts"]]
            if groups is None
            else [line["first"], line["second"] or ""]
        )
        depth = None if worst is None else worst["depth"]
        cells = [str(line["number"]), *([] if line["status"] is None else [line["status"]]), line["kind"]]
        cells += [clipped(label, 60) for label in labels]
        cells += ["" if worst is None else f"{worst['gap']:.6g}", "" if depth is None else f"{depth:.6g}"]
        cells.append("" if worst is None else worst["depth_by"] or "")
        if has_volumes:
            cells.append("" if worst is None or worst["volume"] is None else f"{worst['volume']:.6g}")
        table.add_row(*cells, *([] if groups is None else [f"{len(line['clashes']):,}"]))
    print_table(table)
    if len(lines) > _MOST_LISTED:
        print(f"and {len(lines) - _MOST_LISTED:,} more; --output writes all")
