"""Clashes to files: a table, JSON, a page, or BCF."""

from __future__ import annotations

import base64
import csv
import json
import re
import zlib
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import unknown_name
from broadphase.files import path_of, refuse_inputs, replacing, require_ending
from broadphase.io.bcf import BCF_VERSIONS, write_bcf
from broadphase.io.clash_report import describe_clashes, parts_of_clash
from broadphase.io.tables import spreadsheet_text

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from broadphase.io.part_file import PartFile
    from broadphase.narrow import Clashes

__all__ = ["CLASH_FORMATS", "require_bcf_version", "write_clashes", "write_report"]

CLASH_FORMATS = (".csv", ".json", ".html", ".bcf", ".bcfzip")
"""The file name endings that `write_clashes` knows."""

_BCF = (".bcf", ".bcfzip")

_COLUMNS = (
    "number", "status", "kind_before", "kind", "first", "second", "first_file", "second_file", "gap", "depth",
    "depth_by", "volume", "outer", "unit", "x1", "y1", "z1", "x2", "y2", "z2",
)  # fmt: skip


def write_clashes(
    path: str | os.PathLike[str],
    clashes: Clashes,
    files: Sequence[PartFile],
    *,
    group_by: str | None = None,
    cell_size: float | None = None,
    baseline: str | os.PathLike[str] | None = None,
    bcf_version: str | None = None,
) -> int:
    """Write clashes to a file, those of the worst kind first: of one kind, the deepest and then the nearest.

    The file is replaced only when the new one is complete.

    Parameters
    ----------
    path : path-like
        .csv: a row for each clash: its ``number`` and ``status``, ``kind``, the names and files of the parts, ``gap``,
        ``depth`` and how that is measured, ``volume`` if it is known, which part is the ``outer`` one that contains the
        other, the unit of lengths, and the points on both parts; a name that a spreadsheet would take for a formula
        gets an apostrophe in front, and control codes are written as escapes. With `group_by`, a row for each group
        with the number of its ``clashes``, and the rest of the worst of them. .json: the same as objects, with names as
        they are, and the parts, and how many clashes of each kind there are; see `describe_clashes`. .html: a page that
        lists them with filters and shows each in 3D; it needs neither Python nor a network, and holds the triangles of
        all parts that clash. .bcf or .bcfzip: a BCF file, which BIM programs open: a topic for each clash or group,
        with a camera that looks at it, and the GlobalIds of its IFC parts.
    clashes : Clashes
        Of `broadphase.clashes`; its rows are those of the parts of all files, one after the other.
    files : sequence of PartFile
        From `read_parts`.
    group_by : {"name", "parent", "type", "cell"}, optional
        Put clashes into one group whose parts have the same names without numbers (`Part.base_name`), or are of the
        same assemblies, or of the same IFC classes; or that are in the same cell of a grid. Default: no groups.
    cell_size : float, optional
        Edge of these cells.
    baseline : path-like, optional
        An earlier .json file of this function. A pair of parts that clashed there keeps its number, and is
        "unchanged"; others are "new", and get the numbers behind the last one. Clashes that are "gone" are listed at
        the end. A part is known again by its GlobalId in IFC files, and otherwise by the names of its file and itself.
        Default: clashes are numbered from 1.
    bcf_version : {"2.1", "3.0"}, optional
        Of .bcf and .bcfzip files. Default: 2.1, which most programs read.

    Returns
    -------
    int
        Number of clashes written.

    Raises
    ------
    ValueError
        The file name ending or `group_by` is unknown; `cell_size` without such groups, or none;
        `bcf_version` is unknown, or for another format.
    FileFormatError
        The baseline is no such report, which names what is wrong in it; no part of `files` has a type to group by.
    FileExistsError
        The file is one of `files`, or the baseline.
    """
    path = path_of(path)
    require_ending(path, CLASH_FORMATS)
    require_bcf_version(path, bcf_version)
    refuse_inputs(path, [*(file.source for file in files), *([] if baseline is None else [baseline])])
    report = describe_clashes(clashes, files, group_by=group_by, cell_size=cell_size, baseline=baseline)
    write_report(path, report, files, bcf_version)
    return len(clashes.pairs)


def require_bcf_version(path: Path, version: str | None) -> None:
    """Raise ValueError if a version of BCF is unknown, or given for another format."""
    if version is not None and version not in BCF_VERSIONS:
        raise ValueError(unknown_name("bcf_version", version, BCF_VERSIONS))
    if version is not None and path.suffix.lower() not in _BCF:
        raise ValueError(f"{path}: bcf_version is for {' and '.join(_BCF)} files")


def write_report(path: Path, report: dict[str, Any], files: Sequence[PartFile], bcf_version: str | None = None) -> None:
    """Write what `describe_clashes` has returned for these files, in the format that the file name ends in."""
    suffix = path.suffix.lower()
    if suffix in _BCF:
        with replacing(path) as target, target.open("wb") as archive:
            write_bcf(archive, report, files, bcf_version or BCF_VERSIONS[0])
        return
    # Names of files may hold what is no character, and names of parts half of one: then as an escape.
    escaping = "backslashreplace"
    with replacing(path) as target, target.open("w", encoding="utf-8", newline="", errors=escaping) as stream:
        if suffix == ".json":
            json.dump(report, stream, indent=1, ensure_ascii=False)
            stream.write("\n")
        elif suffix == ".html":
            stream.write(_page(report, files))
        else:
            _write_table(stream, report)


def _write_table(stream: Any, report: dict[str, Any]) -> None:
    grouped = report["groups"] is not None
    stream.write(f"{','.join(_COLUMNS + ('clashes',) * grouped)}\r\n")
    writer = csv.writer(stream, quoting=csv.QUOTE_NONNUMERIC)
    for cells in _group_rows(report) if grouped else _clash_rows(report):
        row = ["" if cells[name] is None else cells[name] for name in _COLUMNS] + [cells.get("clashes")] * grouped
        writer.writerow([spreadsheet_text(cell) if isinstance(cell, str) else cell for cell in row])


def _clash_rows(report: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the cells of each clash, and then of each that is gone."""
    for clash in [*report["clashes"], *report["gone"]]:
        first, second = parts_of_clash(clash, report["parts"])
        (x1, y1, z1), (x2, y2, z2) = clash["points"]
        yield {
            **clash,
            "first": first["name"],
            "second": second["name"],
            "first_file": first["file"],
            "second_file": second["file"],
            "outer": None if clash["outer"] is None else (first, second)[clash["outer"]]["name"],
            "unit": report["unit"],
            **{"x1": x1, "y1": y1, "z1": z1, "x2": x2, "y2": y2, "z2": z2},
        }


def _group_rows(report: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the cells of each group: its own, and those of its worst clash, if it is not gone."""
    rows = list(_clash_rows(report))
    for group in report["groups"]:
        worst = rows[group["clashes"][0]] if group["clashes"] else dict.fromkeys(_COLUMNS)
        yield {**worst, "outer": None, **group, "clashes": len(group["clashes"])}


def _page(report: dict[str, Any], files: Sequence[PartFile]) -> str:
    title = "Clashes of " + ", ".join(Path(file.source).name for file in files)
    parts = [part for file in files for part in file.parts]
    clashing = sorted({row for clash in report["clashes"] for row in clash["parts"]})
    meshes = {
        row: {
            "vertices": _packed(parts[row].placed_vertices().astype("<f8")),
            "faces": _packed(parts[row].faces.astype("<u4")),
        }
        for row in clashing
    }
    data = json.dumps({"title": title, **report, "meshes": meshes}, allow_nan=False)
    # Nothing in a name ends the script or begins a comment there.
    safe = data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    page = Path(__file__).with_name("clash_page.html").read_text("utf-8")
    values = {"TITLE": escape(title), "DATA": safe}
    return re.sub("%(TITLE|DATA)%", lambda name: values[name[1]], page)


def _packed(numbers: NDArray[Any]) -> str:
    return base64.b64encode(zlib.compress(np.ascontiguousarray(numbers).tobytes(), 6)).decode("ascii")
