"""Clashes to files: a table, JSON, or a page."""

from __future__ import annotations

import base64
import csv
import json
import math
import re
import zlib
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.files import path_of, refuse_inputs, replacing, require_ending
from broadphase.io.tables import spreadsheet_text

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from broadphase.io.part_file import PartFile

__all__ = ["CLASH_FORMATS", "CLASH_KINDS", "describe_clashes", "worst_first", "write_clashes"]

CLASH_FORMATS = (".csv", ".json", ".html")
"""The file name endings that `write_clashes` knows."""

CLASH_KINDS = ("duplicate", "penetrates", "contains", "touches", "near")  # worst first

_COLUMNS = (
    "kind", "first", "second", "first_file", "second_file", "gap", "depth", "depth_by", "outer", "unit",
    "x1", "y1", "z1", "x2", "y2", "z2",
)  # fmt: skip


def write_clashes(
    path: str | os.PathLike[str], clashes: Any, files: Sequence[PartFile], watertight: Sequence[bool]
) -> int:
    """Write clashes to a file, those of the worst kind first: of one kind, the deepest and then the nearest.

    The file is replaced only when the new one is complete.

    Parameters
    ----------
    path : path-like
        .csv: a row for each clash: ``kind``, the names and files of the parts, ``gap``, ``depth`` and how that is
        measured, which part is the ``outer`` one that contains the other, the unit of lengths, and the points on both
        parts; a name that a spreadsheet would take for a formula gets an apostrophe in front, and control codes are
        written as escapes. .json: the same as objects, with names as they are, and the parts, and how many clashes of
        each kind there are. .html: a page that lists them with filters and shows each in 3D; it needs neither Python
        nor a network, and holds the triangles of all parts that clash.
    clashes : Clashes
        Of `broadphase.clashes`; its rows are those of the parts of all files, one after the other.
    files : sequence of PartFile
        From `read_parts`.
    watertight : sequence of bool
        For each part whether it is closed, and so counts as solid.

    Returns
    -------
    int
        Number of clashes written.

    Raises
    ------
    ValueError
        The file name ending is unknown.
    FileExistsError
        The file is one of `files`.
    """
    path = path_of(path)
    suffix = require_ending(path, CLASH_FORMATS)
    refuse_inputs(path, [file.source for file in files])
    report = describe_clashes(clashes, files, watertight)
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
    return len(clashes.pairs)


def describe_clashes(clashes: Any, files: Sequence[PartFile], watertight: Sequence[bool]) -> dict[str, Any]:
    """Return clashes, in the order of `write_clashes`, and what clashes, as values for JSON."""
    known = [(file, part) for file in files for part in file.parts]
    parts = [
        {
            "name": part.name,
            "file": file.source,
            "parent": part.parent,
            "triangles": len(part.faces),
            "watertight": bool(closed),
        }
        for (file, part), closed in zip(known, watertight, strict=True)
    ]
    return {
        "unit": next((file.unit for file in files if file.unit is not None), None),
        "counts": clashes.counts(),
        "parts": parts,
        "clashes": [_describe(clashes, row) for row in worst_first(clashes)],
    }


def worst_first(clashes: Any) -> list[int]:
    """Return the rows of clashes by kind, then depth, then gap."""
    rank = {kind: place for place, kind in enumerate(CLASH_KINDS)}
    depths = np.nan_to_num(clashes.depths)
    return sorted(
        range(len(clashes.pairs)), key=lambda row: (rank[str(clashes.kinds[row])], -depths[row], clashes.gaps[row], row)
    )


def _describe(clashes: Any, row: int) -> dict[str, Any]:
    depth = float(clashes.depths[row])
    return {
        "kind": str(clashes.kinds[row]),
        "parts": clashes.pairs[row].tolist(),
        "gap": float(clashes.gaps[row]),
        "depth": None if math.isnan(depth) else depth,
        "depth_by": str(clashes.depths_by[row]) or None,
        "outer": {1: 0, -1: 1}.get(int(clashes.inside[row])),  # the first or the second of the two
        "points": clashes.points[row].tolist(),
    }


def _write_table(stream: Any, report: dict[str, Any]) -> None:
    stream.write(f"{','.join(_COLUMNS)}\r\n")
    writer = csv.writer(stream, quoting=csv.QUOTE_NONNUMERIC)
    for clash in report["clashes"]:
        first, second = (report["parts"][row] for row in clash["parts"])
        outer = "" if clash["outer"] is None else (first, second)[clash["outer"]]["name"]
        points = [value for point in clash["points"] for value in point]
        cells = [
            clash["kind"], first["name"], second["name"], first["file"], second["file"], clash["gap"],
            "" if clash["depth"] is None else clash["depth"], clash["depth_by"] or "", outer, report["unit"] or "",
            *points,
        ]  # fmt: skip
        writer.writerow([spreadsheet_text(cell) if isinstance(cell, str) else cell for cell in cells])


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
