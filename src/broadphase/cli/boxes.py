"""The commands on boxes: ``broadphase pairs``, ``count``, ``explain`` and ``info``."""

from __future__ import annotations

import dataclasses
import os
import platform
import re
import sys
import warnings
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import broadphase as bp
from broadphase import data, io
from broadphase.cli.options import (
    FileArgument,
    Invalid,
    InvalidOption,
    JsonOption,
    MarginOption,
    MethodOption,
    NamesOption,
    OptionalFileArgument,
    OtherArgument,
    PartsOption,
    ProgressOption,
    TouchingOption,
    WorkersOption,
    naming_option,
    parts_of_boxes,
    possible_workers,
)  # fmt: skip
from broadphase.cli.parts import about_parts, boxes_of_parts, is_file_of_parts, print_parts, require_parts
from broadphase.cli.screen import counted, duration, print_facts, print_json, progress_bar
from broadphase.cli.tables import Engine, find_pairs_in_files, is_folder, is_set_of_files, names_in
from broadphase.errors import clipped, quoted
from broadphase.files import refuse_inputs, require_ending
from broadphase.io import BoxFile
from broadphase.mesh_formats import PART_KINDS
from broadphase.scale.clock import Clock
from broadphase.testing import simd_levels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from broadphase.cli.screen import Step


_MOST_BESIDE = 10_000  # files of a folder whose names are compared with one that does not exist


def open_source(file: str, *, parts: str | None = None, names: str | None = None) -> BoxFile:
    """Read a file of boxes or, if there is no such file, the bundled data set of this name.

    A ``#`` and the name of a layer may follow the name of a file. `parts` is the value of ``--parts``; `names` is
    `name_column` of `broadphase.io.read_boxes`.
    """
    if Path(file).exists():
        with naming_option("--parts"):
            require_parts(file, parts)
        return io.read_boxes(file, parts=parts_of_boxes(parts), name_column=names)
    if file in data.NAMES:
        if parts or names is not None:
            raise typer.BadParameter(
                f"{file} is a bundled data set, which has neither parts nor names",
                param_hint="--parts" if parts else "--names",
            )
        return BoxFile(data.load(file), file, "bundled box")
    path, mark, layer = file.rpartition("#")
    if mark and Path(path).exists():
        return io.read_boxes(path, parts=parts_of_boxes(parts), name_column=names, layer=layer)
    near = get_close_matches(file.lower(), data.NAMES, n=1, cutoff=0.5)
    if near:
        raise FileNotFoundError(
            f"{clipped(file)}: no such file, and no bundled data set; did you mean the data set {near[0]!r}?"
        )
    advice = nearest_file(file) or f"; the bundled data sets are {', '.join(data.NAMES)}"
    raise FileNotFoundError(f"{clipped(file)}: no such file{advice}")


def nearest_file(file: str) -> str:
    """Return the end of a message: the file in the same folder whose name is nearest, or nothing."""
    path = Path(file)
    try:
        beside = [one.name for one in islice(path.parent.iterdir(), _MOST_BESIDE) if one.suffix.lower() in io.FORMATS]
    except OSError:
        beside = []
    names = get_close_matches(path.name, beside, n=1)
    return f"; did you mean {quoted(str(path.parent / names[0]))}?" if names else ""


def open_sources(*files: str | None, parts: str | None = None, names: str | None = None) -> list[BoxFile]:
    """Read one file or two; see `open_source`."""
    sets = [open_source(file, parts=parts, names=names) for file in files if file is not None]
    known = [one.crs for one in sets if one.crs is not None]
    if len({*known}) > 1:
        where = ", ".join(f"{one.source} is in {one.crs}" for one in sets)
        raise bp.errors.FileFormatError(
            f"files in different coordinate systems: {where}; convert one of them, such as by ogr2ogr -t_srs {known[0]}"
        )
    if len({one.boxes.shape[2] for one in sets}) > 1:
        axes = ", ".join(f"{one.source} has {one.boxes.shape[2]} axes" for one in sets)
        raise bp.errors.FileFormatError(
            f"boxes of different dimensions: {axes}; both must have the same (broadphase info FILE)"
        )
    return sets


def _box_counts(sets: list[BoxFile]) -> str:
    return f"{' x '.join(f'{len(one.boxes):,}' for one in sets)} boxes"


@contextmanager
def naming_rows(sets: list[BoxFile]) -> Iterator[None]:
    """Make errors and warnings about invalid boxes name the file and the row."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bp.errors.InvalidBoxWarning)
            yield
    except bp.errors.InvalidBoxError as error:
        known = next(filter(None, map(first_fault, sets)), str(error))
        raise bp.errors.InvalidBoxError(f"{known}; use --invalid skip to skip such rows", error.row) from error
    for text in filter(None, map(first_fault, sets)):
        warnings.warn(f"{text}; skipped", bp.errors.InvalidBoxWarning, stacklevel=3)


def valid_boxes(file: BoxFile) -> NDArray[Any]:
    """Return the boxes of a file without its invalid rows."""
    rows, _ = bp.boxes.find_invalid(file.boxes, limit=0)
    return np.delete(file.boxes, rows, axis=0) if len(rows) else file.boxes


def first_fault(file: BoxFile) -> str | None:
    """Describe the first invalid row of a file, and how many there are; None if all are valid."""
    rows, reasons = bp.boxes.find_invalid(file.boxes, limit=1)
    if not len(rows):
        return None
    row = int(rows[0])
    reason = reasons[0].removeprefix(f"row {row}")
    cause = f" ({file.blank})" if "NaN" in reason and file.blank else ""
    more = f"; {len(rows):,} such rows in total" if len(rows) > 1 else ""
    return f"{file.describe(row)}{reason}{cause}{more}"


_MOST_PAIRS = 5  # boxes listed


class Tally:
    """Counts all pairs, and the pairs of each box, portion by portion; with one count, pairs are within one set."""

    def __init__(self, *box_counts: int) -> None:
        self.pair_count = 0
        self.degrees = [np.zeros(count, np.int64) for count in box_counts]  # the pairs of each box, by set

    def add(self, portion: NDArray[Any]) -> None:
        """Count a portion of pairs, shape (k, 2)."""
        self.pair_count += len(portion)
        for column, degrees in ((0, self.degrees[0]), (1, self.degrees[-1])):
            found = np.bincount(portion[:, column], minlength=1)
            degrees[: len(found)] += found[: len(degrees)]


def describe_answer(
    sets: list[BoxFile], tally: Tally, query: dict[str, Any], seconds: dict[str, float], output: Path | None
) -> dict[str, Any]:
    """Return the summary as values for JSON."""
    first, *second = (len(one.boxes) for one in sets)
    method = query["method"]
    if method == "auto":
        method = bp.explain(*map(valid_boxes, sets), workers=query["workers"]).method
    return {
        "sets": list(map(_describe_set, sets, tally.degrees)),
        "pair_count": tally.pair_count,
        "pairs_per_box": tally.pair_count / max(1, first + sum(second)),
        "brute_force_tests": first * second[0] if second else first * (first - 1) // 2,
        "method": method,
        "chosen": query["method"] == "auto",
        **{name: query[name] for name in ("workers", "touching", "margin")},
        "seconds": seconds,
        "output": None if output is None else str(output),
    }


def _describe_set(file: BoxFile, degrees: NDArray[np.int64]) -> dict[str, Any]:
    most = np.argsort(-degrees, kind="stable")[:_MOST_PAIRS]
    return {
        "source": file.source,
        "row_type": file.row_type,
        "box_count": len(file.boxes),
        "dim": file.boxes.shape[2],
        "dtype": str(file.boxes.dtype),
        "without_pairs": int((degrees == 0).sum()),
        "most_pairs": [
            {"row": int(row), "pairs": int(degrees[row])}
            | ({} if file.names is None or file.names[row] is None else {"name": str(file.names[row])})
            for row in most
            if degrees[row]
        ],
    }


def print_answer(answer: dict[str, Any]) -> None:
    """Print the summary as a table."""
    facts = []
    for one in answer["sets"]:
        rows = f"{one['row_type']}{'es' if one['row_type'].endswith('x') else 's'}"
        facts.append(("boxes", f"{one['box_count']:,} ({rows} of {clipped(one['source'])}; {one['dim']} axes)"))
    facts.append(("pairs", f"{answer['pair_count']:,}"))
    facts.append(("pairs per box", f"{answer['pairs_per_box']:.2f}"))
    for one in answer["sets"]:
        of = f" of {clipped(one['source'])}" if len(answer["sets"]) > 1 else ""
        named = [f" ({clipped(box['name'], 60)})" if "name" in box else "" for box in one["most_pairs"]]
        most = ", ".join(
            f"row {box['row']}{name}: {box['pairs']:,}" for box, name in zip(one["most_pairs"], named, strict=True)
        )
        facts.append((f"most pairs{of}", most or "none"))
        facts.append((f"boxes without pairs{of}", f"{one['without_pairs']:,}"))
    facts.append(("method", answer["method"] + (" (chosen by auto)" if answer["chosen"] else "")))
    seconds = ", ".join(f"{name} {duration(value)}" for name, value in answer["seconds"].items())
    facts.append(("time", seconds))
    facts.append(("brute force", f"would test {answer['brute_force_tests']:,} pairs"))
    if answer["output"] is not None:
        facts.append(("written", answer["output"]))
    print_facts("Overlapping pairs", facts)


_CHUNK = 1_000_000  # pairs written or counted between two updates of the progress bar
_HELD = 50_000_000  # pairs held in memory (8 bytes each); more are counted first, then found a chunk at a time


_IN_MEMORY = ("method", "sort", "max_pairs", "invalid", "parts", "names")  # options of `pairs` for a file of pairs only
_FILES_PANEL = "From files to files, past memory (with --memory, or with an --output that is a folder)"


def _past(text: str, *names: str, **more: Any) -> Any:
    """Make an option of `pairs` from files to files."""
    return typer.Option(*names, help=text, rich_help_panel=_FILES_PANEL, **more)


def pairs(
    context: typer.Context,
    file: FileArgument,
    other: OtherArgument = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Write the pairs: .npy, .npz, .csv or .parquet; or a folder, see below."),
    ] = None,
    method: MethodOption = "auto",
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            "-w",
            callback=possible_workers,
            help="Number of threads; -1: one per core. Default: 1; from files to files -1.",
        ),
    ] = None,
    sort: Annotated[bool, typer.Option("--sort", help="Sort the pairs by row numbers.")] = False,
    touching: TouchingOption = True,
    margin: MarginOption = 0.0,
    max_pairs: Annotated[
        int | None, typer.Option("--max-pairs", min=0, help="Stop with an error if there are more pairs.")
    ] = None,
    invalid: InvalidOption = Invalid.RAISE,
    parts: PartsOption = None,
    names: NamesOption = None,
    memory: Annotated[str | None, _past("Memory to use, such as 500MB. Default: 2GB.", metavar="BYTES")] = None,
    engine: Annotated[Engine, _past("What runs the search.")] = Engine.LOCAL,
    address: Annotated[
        str | None, _past("A running Ray, such as auto. Default: one that is started for the run.")
    ] = None,
    id_column: Annotated[
        str | None, _past("The column that names each box. Default: id, or else rows.", "--id", metavar="COLUMN")
    ] = None,
    lower: Annotated[
        str | None,
        _past("The columns of the lower corner, separated by commas. Default: found by name.", metavar="COLUMNS"),
    ] = None,
    upper: Annotated[str | None, _past("Those of the upper corner.", metavar="COLUMNS")] = None,
    keep: Annotated[str | None, _past("Columns to write with each pair.", metavar="COLUMNS")] = None,
    layer: Annotated[str | None, _past("Column of the bits of the layers of a box.", metavar="COLUMN")] = None,
    mask: Annotated[str | None, _past("Column of the layers that a box meets.", metavar="COLUMN")] = None,
    group: Annotated[
        str | None, _past("Column of groups: below 0 never, above 0 always within a group.", metavar="COLUMN")
    ] = None,
    batch: Annotated[str | None, _past("Column of batches: pairs are within one.", metavar="COLUMN")] = None,
    plan: Annotated[Path | None, _past("A plan of tiles, written by Plan.to_json.")] = None,
    resume: Annotated[bool, _past("Go on where an earlier run stopped, or start from the beginning.")] = True,
    scratch: Annotated[
        Path | None,
        _past("For boxes on their way. Default: within --output; temporary if that is an address.", metavar="FOLDER"),
    ] = None,
    as_json: JsonOption = False,
    progress: ProgressOption = None,
) -> None:
    """Find every pair of overlapping boxes.

    Prints a summary; with --output, also writes the pairs to a file. Rows are counted from 0. If the boxes have names,
    .csv and .parquet files contain them.

    If --output is a folder, such as pairs/, or with --memory, boxes go from files to files in bounded memory: FILE is
    then also a folder or a pattern of .parquet, .arrow and .npy files, or an address such as s3://bucket/boxes. After
    Ctrl-C, the same command goes on where it stopped.

    For example:

    - `broadphase pairs us_counties`

    - `broadphase pairs rooms.csv --output overlaps.csv --no-touching`

    - `broadphase pairs walls.glb pipes.glb --parts --margin 0.05 --json`

    - `broadphase pairs 'boxes/*.parquet' --output pairs/ --memory 2GB`
    """
    given = [name for name in context.params if getattr(context.get_parameter_source(name), "name", "") != "DEFAULT"]
    known = {one.name: one for one in context.command.params}
    files = [file] if other is None else [file, other]
    if memory is not None or "engine" in given or (output is not None and is_folder(output)):
        wrong = [known[name].opts[0] for name in given if name in _IN_MEMORY]
        if wrong:
            raise typer.BadParameter("not from files to files: leave it out, or give --output a file", param_hint=wrong)
        find_pairs_in_files(
            files,
            output,
            columns=(id_column, lower, upper),
            plan=plan,
            as_json=as_json,
            progress=progress,
            keep=names_in(keep),
            memory=memory or "2GB",
            resume=resume,
            workers=-1 if workers is None else workers,
            layer=layer,
            mask=mask,
            group=group,
            batch=batch,
            touching=touching,
            margin=margin,
            engine=engine.value,
            address=address,
            scratch=scratch,
        )
        return
    past = (known[name] for name in given if getattr(known[name], "rich_help_panel", None) == _FILES_PANEL)
    wrong = [one.opts[0] for one in past]
    if wrong:
        raise typer.BadParameter("only where --output is a folder, such as --output pairs/", param_hint=wrong)
    if any(map(is_set_of_files, files)):
        raise typer.BadParameter(
            "a pattern, folder or address needs a folder for the pairs, such as --output pairs/", param_hint="FILE"
        )
    path = None if output is None else Path(output)
    if path is not None:
        with naming_option("--output", "; that of a folder in /"):
            require_ending(path, io.PAIR_FORMATS)
        refuse_inputs(path, [file if os.path.exists(file) else file.rpartition("#")[0] for file in files])
    query: dict[str, Any] = {"method": method, "workers": workers or 1, "touching": touching, "margin": margin}
    clock = Clock()
    with progress_bar(progress) as step:
        step("reading")
        with clock.measure("read"):
            sets = open_sources(*files, parts=parts, names=names)
        text = f"finding pairs of {_box_counts(sets)}"
        step(text)
        boxes = [one.boxes for one in sets]
        with clock.measure("find"), naming_rows(sets):
            portions, total = _find(boxes, {**query, "invalid": invalid.value}, sort, max_pairs, counted(step, text))
        tally = Tally(*map(len, boxes))
        steps = _step_by_step(portions, tally, step, "summarizing" if path is None else "writing", total)
        with clock.measure("summary" if path is None else "write"):
            if path is None:
                for _ in steps:
                    pass
            else:
                io.write_pairs(path, steps, _names_for(path, sets))
    answer = describe_answer(sets, tally, query, clock.seconds, path)
    if as_json:
        print_json(answer)
    else:
        print_answer(answer)


def _find(
    boxes: list[NDArray[Any]], query: dict[str, Any], sort: bool, max_pairs: int | None, progress: Step
) -> tuple[Iterator[NDArray[Any]], int]:
    """Return the pairs in portions, and their number.

    Up to `_HELD` pairs are found at once. More are counted first, and then found as they are used.
    """
    limit = max_pairs if sort else min(_HELD, _HELD if max_pairs is None else max_pairs)
    try:
        found = bp.pairs(*boxes, **query, sort=sort, max_pairs=limit, progress=progress)
    except bp.errors.TooManyPairsError:
        if limit == max_pairs:
            raise
        total = bp.count_pairs(*boxes, **query, progress=progress)
        if max_pairs is not None and total > max_pairs:
            raise bp.errors.TooManyPairsError(
                f"there are {total:,} pairs, more than --max-pairs {max_pairs:,}"
            ) from None
        return iter(bp.iter_pairs(*boxes, chunk=_CHUNK, **query)), total
    return (found[begin : begin + _CHUNK] for begin in range(0, len(found), _CHUNK)), len(found)


def _step_by_step(
    portions: Iterator[NDArray[Any]], tally: Tally, step: Step, text: str, total: int
) -> Iterator[NDArray[Any]]:
    for portion in portions:
        tally.add(portion)
        yield portion
        step(text, tally.pair_count, total)


def _names_for(output: Path, sets: list[BoxFile]) -> Any:
    names = [one.names for one in sets]
    if output.suffix.lower() not in (".csv", ".parquet") or any(one is None for one in names):
        return None
    return names[0] if len(names) == 1 else tuple(names)


def count(
    file: FileArgument,
    other: OtherArgument = None,
    method: MethodOption = "auto",
    workers: WorkersOption = 1,
    touching: TouchingOption = True,
    margin: MarginOption = 0.0,
    invalid: InvalidOption = Invalid.RAISE,
    parts: PartsOption = None,
    as_json: JsonOption = False,
    progress: ProgressOption = None,
) -> None:
    """Count the pairs of overlapping boxes, without storing them.

    Prints only the number, unless --json is given.

    For example:

    - `broadphase count us_counties`

    - `broadphase count walls.csv pipes.parquet --margin 0.05`
    """
    with progress_bar(progress) as step:
        step("reading")
        sets = open_sources(file, other, parts=parts)
        text = f"counting pairs of {_box_counts(sets)}"
        step(text)
        clock = Clock()
        query: dict[str, Any] = {"method": method, "workers": workers, "touching": touching, "margin": margin}
        with clock.measure("count"), naming_rows(sets):
            boxes = [one.boxes for one in sets]
            number = bp.count_pairs(*boxes, invalid=invalid.value, progress=counted(step, text), **query)
    if as_json:
        counts = [len(one.boxes) for one in sets]
        print_json({"pair_count": number, "box_counts": counts, "method": method, "seconds": clock.seconds["count"]})
    else:
        print(number)


def explain(
    file: FileArgument,
    other: OtherArgument = None,
    workers: WorkersOption = 1,
    invalid: InvalidOption = Invalid.RAISE,
    parts: PartsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which method "auto" chooses for these boxes, why, and the estimated cost of each.

    For example:

    - `broadphase explain us_counties`

    - `broadphase explain walls.csv pipes.csv --workers -1`
    """
    sets = open_sources(file, other, parts=parts)
    with naming_rows(sets):
        boxes = [valid_boxes(one) if invalid is Invalid.SKIP else one.boxes for one in sets]
        explanation = bp.explain(*boxes, workers=workers)
    if as_json:
        print_json(dataclasses.asdict(explanation))
    else:
        print(explanation)


def info(
    file: OptionalFileArgument = None,
    parts: PartsOption = None,
    names: NamesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Describe this installation or, with FILE, its boxes and which of them are invalid.

    Of a file of meshes, lists the parts as `broadphase clash` reads them, and warns of parts without names, with the
    same name, without triangles, and of open meshes.

    For example:

    - `broadphase info`

    - `broadphase info rooms.csv --json`

    - `broadphase info engine.obj --parts group`
    """
    if file is not None and is_file_of_parts(file) and Path(file).exists():
        if names is not None:
            raise typer.BadParameter(f"{clipped(file)} is a file of parts, whose names are known", param_hint="--names")
        with naming_option("--parts"):
            require_parts(file, parts)
        found = io.read_parts(file, parts=parts if parts in PART_KINDS else "object")
        of_boxes = _about_boxes(boxes_of_parts(found, is_by_part=parts is not None))
        about = about_parts(found)
        if as_json:
            print_json({**of_boxes, **about})
        else:
            print_parts(file, [(name.replace("_", " "), _as_text(value)) for name, value in of_boxes.items()], about)
        return
    facts = _about_installation() if file is None else _about_boxes(open_source(file, parts=parts, names=names))
    if as_json:
        print_json(facts)
        return
    title = "Installation" if file is None else file
    print_facts(title, [(name.replace("_", " "), _as_text(value)) for name, value in facts.items()])


def _about_installation() -> dict[str, Any]:
    return {
        "broadphase": bp.__version__,
        "Python": f"{platform.python_version()} ({sys.implementation.name})",
        "NumPy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "SIMD_levels": simd_levels(),
        "methods": [method.name for method in bp.METHODS],
        "bundled_data": [f"{name} ({data.describe(name).box_count:,} boxes)" for name in data.NAMES],
        "extras": _extras(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def _extras() -> dict[str, str]:
    try:
        lines = metadata.requires("broadphase") or []
    except metadata.PackageNotFoundError:  # run from the source folder
        return {}
    extras: dict[str, list[str]] = {}
    for line in lines:
        match = re.match(r"""([\w.-]+).*extra\s*==\s*['"](\w+)['"]""", line)
        if match:
            library, extra = match.groups()
            extras.setdefault(extra, []).append(f"{library} {_version(library)}")
    return {extra: ", ".join(libraries) for extra, libraries in extras.items()}


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "missing"


def _about_boxes(file: BoxFile) -> dict[str, Any]:
    boxes, valid = file.boxes, valid_boxes(file)
    facts: dict[str, Any] = {
        "source": file.source,
        "row_type": file.row_type,
        "box_count": len(boxes),
        "dim": boxes.shape[2],
        "dtype": str(boxes.dtype),
        "named": file.names is not None,
    }
    if len(valid):
        with np.errstate(invalid="ignore"):  # the width of a box at infinity is NaN
            width = valid[:, 1] - valid[:, 0]
        bounds = bp.boxes.merge(valid)
        facts["lower"], facts["upper"] = bounds[0].tolist(), bounds[1].tolist()
        for name, function in (("smallest", np.min), ("median", np.median), ("mean", np.mean), ("largest", np.max)):
            facts[f"{name}_width"] = function(width, axis=0).tolist()
        facts["boxes_of_zero_width"] = int((width == 0).any(axis=1).sum())
        facts["infinite_boxes"] = int(np.isinf(valid).any(axis=(1, 2)).sum())
    facts["invalid_rows"] = len(boxes) - len(valid)
    if len(boxes) > len(valid):
        facts["first_invalid"] = first_fault(file)
    return facts


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(_as_text(item) for item in value)
    if isinstance(value, dict):
        return "\n".join(f"{key}: {item}" for key, item in value.items()) or "unknown"
    return str(value)
