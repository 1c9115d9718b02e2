"""What ``broadphase info`` says of a file of parts, before anything is searched."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

import broadphase as bp
from broadphase import io
from broadphase.cli.options import BOX_PARTS
from broadphase.cli.screen import print_facts, print_table, say
from broadphase.errors import clipped
from broadphase.io.meshes import PARTS_OF, part_type_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["about_parts", "boxes_of_parts", "is_file_of_parts", "print_parts", "require_parts", "unit_warning"]

_MOST_LISTED = 20  # parts in the table
_MOST_NAMES = 5  # in a warning
_MOST_TIMES = 50  # as large is another file, before a warning asks for the unit


def is_file_of_parts(file: str | Path) -> bool:
    """Return whether the parts of a file are read by name."""
    return Path(file).suffix.lower() in PARTS_OF


def require_parts(file: str | Path, parts: str | None) -> None:
    """Raise ValueError if a file of parts has none of this kind, or another file has no kinds of parts."""
    if parts in (None, BOX_PARTS[0]):
        return
    if is_file_of_parts(file):
        part_type_of(Path(file), parts)  # type: ignore[arg-type]
    else:
        raise ValueError(
            f"{clipped(str(file))} is not a file of meshes, and has one kind of parts: write --parts alone"
        )


def boxes_of_parts(file: io.PartFile, *, is_by_part: bool) -> io.BoxFile:
    """Return the boxes of a file of parts, as other commands read it: of parts, or of triangles."""
    if is_by_part or file.part_type == "product":
        names = np.array([part.name for part in file.parts], object)
        row_type = "product" if file.part_type == "product" else "mesh part"
        return io.BoxFile(_part_boxes(file), file.source, row_type, names)
    boxes = [bp.boxes.from_triangles(part.placed_vertices(), part.faces) for part in file.parts]
    return io.BoxFile(np.concatenate(boxes), file.source, "triangle")


def about_parts(file: io.PartFile) -> dict[str, Any]:
    """Return the parts of a file as values for JSON, and what users trip over as ``warnings``."""
    meshes: dict[int, bp.Mesh] = {}
    for part in file.parts:  # parts share geometry
        if id(part.vertices) not in meshes:
            meshes[id(part.vertices)] = bp.Mesh(part.vertices, part.faces)
    are_closed = [meshes[id(part.vertices)].is_watertight for part in file.parts]
    parts = [
        {
            "name": part.name,
            "parent": part.parent,
            "type": part.type,
            "triangles": len(part.faces),
            "closed": is_closed,
            "lower": box[0].tolist(),
            "upper": box[1].tolist(),
        }
        for part, is_closed, box in zip(file.parts, are_closed, _part_boxes(file), strict=True)
    ]
    return {
        "part_type": file.part_type,
        "part_count": len(parts),
        "unit": file.unit,
        "warnings": _warnings(file, are_closed),
        "parts": parts,
    }


def _part_boxes(file: io.PartFile) -> NDArray[np.float64]:
    boxes = []
    for part in file.parts:
        corners = part.placed_vertices()[part.faces].reshape(-1, 3)
        boxes.append([corners.min(axis=0), corners.max(axis=0)])
    return np.array(boxes).reshape(-1, 2, 3)


def _warnings(file: io.PartFile, are_closed: Sequence[bool]) -> list[str]:
    count = len(file.parts)
    found = []
    unnamed = [part.name for part in file.parts if part.given_name is None]
    if unnamed and count > 1:
        found.append(f"{_share(unnamed, count)} without a name in the file, called {_listed(unnamed)}")
    times = Counter(part.given_name for part in file.parts if part.given_name is not None)
    same = [f"{clipped(name, 60)} ({number:,} times)" for name, number in times.items() if number > 1]
    if same:
        found.append(f"the same name for several parts, which get numbers: {_listed(same)}")
    opened = [part.name for part, is_closed in zip(file.parts, are_closed, strict=True) if not is_closed]
    if opened:
        found.append(f"{_share(opened, count)} not closed, so that nothing can be inside: {_listed(opened)}")
    if file.empty:
        found.append(f"without triangles, and no parts: {_listed(file.empty)}")
    return found


def _share(names: list[str], count: int) -> str:
    return f"{len(names):,} of {count:,} parts"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(clipped(name, 80) for name in names[:_MOST_NAMES]) + more


def unit_warning(files: Sequence[io.PartFile]) -> str | None:
    """Return what to say of files of sizes so different that their units may be, where not all name one."""
    sizes = [float(np.ptp(_part_boxes(file), axis=(0, 1)).max()) for file in files]
    small, large = int(np.argmin(sizes)), int(np.argmax(sizes))
    if (files[small].unit and files[large].unit) or not 0 < sizes[small] * _MOST_TIMES < sizes[large] < np.inf:
        return None
    units = " and ".join(
        f"{clipped(file.source)} {f'is in {file.unit}' if file.unit else 'names no unit'}"
        for file in (files[large], files[small])
    )
    return (
        f"{clipped(files[large].source)} is {sizes[large] / sizes[small]:,.0f} times as large as"
        f" {clipped(files[small].source)}: {units}; are both in the same unit?"
    )


def print_parts(title: str, facts: list[tuple[str, str]], about: dict[str, Any]) -> None:
    """Print facts about a file, and a line for each of the first parts; warnings go to stderr."""
    unit = about["unit"] or "unit of the file"
    kinds = (
        ("parts", f"{about['part_count']:,}: {_plural(about['part_type'])}"),
        ("unit", about["unit"] or "not named"),
    )
    print_facts(title, [*facts, *kinds])
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("part", "parent", "triangles", "closed", f"lower ({unit})", f"upper ({unit})"):
        table.add_column(column, justify="right" if column == "triangles" else "left")
    for part in about["parts"][:_MOST_LISTED]:
        corners = [", ".join(f"{value:.6g}" for value in part[corner]) for corner in ("lower", "upper")]
        name, parent = clipped(part["name"], 60), clipped(part["parent"] or "", 60)
        table.add_row(name, parent, f"{part['triangles']:,}", "yes" if part["closed"] else "no", *corners)
    print_table(table)
    if about["part_count"] > _MOST_LISTED:
        print(f"and {about['part_count'] - _MOST_LISTED:,} more; --json lists all")
    for text in about["warnings"]:
        say(f"warning: {title}: {text}")


def _plural(part_type: str) -> str:
    """Return the word for several parts.

    >>> _plural("mesh"), _plural("connected piece of a node"), _plural("object")
    ('meshes', 'connected pieces of nodes', 'objects')
    """
    words = part_type.replace(" of an ", " of a ").split(" of a ")
    return " of ".join(f"{word}es" if word.endswith("sh") else f"{word}s" for word in words)
