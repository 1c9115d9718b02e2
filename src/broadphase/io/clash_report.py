"""What a report of clashes says: clashes with their parts, in groups, and what has changed since an earlier report."""

from __future__ import annotations

import json
import math
import uuid
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broadphase.errors import FileFormatError, clipped, quoted, unknown_name
from broadphase.files import path_of, require_file
from broadphase.narrow.clash import CLASH_KINDS
from broadphase.shapes import Mesh

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from broadphase.io.part_file import Part, PartFile
    from broadphase.narrow import Clashes

__all__ = ["GROUPINGS", "Baseline", "describe_clashes", "parts_of_clash", "report_of"]

GROUPINGS = ("name", "parent", "type", "cell")
"""What clashes can be grouped by."""

_NAMESPACE = uuid.UUID("6f1c2f0e-5b0b-4b0f-9a55-0f6d3c1c7d11")  # of the GUIDs of clashes: never to be changed


def describe_clashes(
    clashes: Clashes,
    files: Sequence[PartFile],
    *,
    group_by: str | None = None,
    cell_size: float | None = None,
    baseline: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Return a report of clashes, as `write_clashes` writes it to a .json file.

    Parameters
    ----------
    clashes, files, group_by, cell_size, baseline
        As of `write_clashes`, and so are errors.

    Returns
    -------
    dict
        ``unit``, ``counts`` of each kind, ``parts``; ``clashes``, the worst first, each with its ``number``, its
        ``guid``, its ``status`` since the baseline and the numbers of its two ``parts``; ``gone``, the clashes of the
        baseline that are no more; ``groups``, the worst first, with the places of their ``clashes``. All values are
        those of JSON.
    """
    earlier = None if baseline is None else Baseline(path_of(baseline))
    return report_of(clashes, files, _are_closed(files), group_by, cell_size, earlier)


def report_of(
    clashes: Clashes,
    files: Sequence[PartFile],
    are_closed: Sequence[bool],
    group_by: str | None = None,
    cell_size: float | None = None,
    earlier: Baseline | None = None,
) -> dict[str, Any]:
    """Return the report of `describe_clashes`, where it is known of each part whether its mesh is closed."""
    known = [(file, part) for file in files for part in file.parts]
    if len(clashes.pairs) and clashes.pairs.max() >= len(known):
        raise ValueError(f"files have {len(known):,} parts, and there is a clash of part {clashes.pairs.max()}")
    if (group_by == "cell") != (cell_size is not None):
        raise ValueError("group_by='cell' needs cell_size, and nothing else does")
    names = _identities(known)
    found = []
    order = clashes.worst_first().tolist()
    number = 0 if earlier is None else earlier.last_number
    for row in order:
        one, two = clashes.pairs[row].tolist()
        guid = _guid("clash", *sorted([names[one], names[two]]))
        before = None if earlier is None else earlier.clashes.get(guid)
        number += before is None
        found.append(
            {
                "number": number if before is None else before["number"],
                "guid": guid,
                "status": None if earlier is None else "new" if before is None else "unchanged",
                "kind_before": None if before is None else before["kind"],
                **_describe(clashes, row),
            }
        )
    still = {clash["guid"] for clash in found}
    report = {
        "unit": next((file.unit for file in files if file.unit is not None), None),
        "counts": clashes.counts(),
        "baseline": None if earlier is None else earlier.source,
        "last_number": number,
        "parts": _describe_parts(known, are_closed),
        "clashes": found,
        "gone": [] if earlier is None else [one for guid, one in earlier.clashes.items() if guid not in still],
        "group_by": group_by,
        "cell_size": cell_size,
    }
    report["groups"] = None if group_by is None else _groups(clashes, known, report, order, earlier)
    return report


def parts_of_clash(clash: dict[str, Any], parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first and the second part of a clash of a report; of one that is gone, they are in it."""
    if clash["status"] == "gone":
        return [clash["first"], clash["second"]]
    return [parts[row] for row in clash["parts"]]


def _are_closed(files: Sequence[PartFile]) -> list[bool]:
    parts = [part for file in files for part in file.parts]
    meshes = {id(part.vertices): Mesh(part.vertices, part.faces) for part in parts}  # parts share geometry
    return [meshes[id(part.vertices)].is_watertight for part in parts]


def _describe_parts(known: list[tuple[PartFile, Part]], are_closed: Sequence[bool]) -> list[dict[str, Any]]:
    return [
        {
            "name": part.name,
            "file": file.source,
            "parent": part.parent,
            "type": part.type,
            "ifc_guid": part.guid,
            "triangles": len(part.faces),
            "watertight": bool(is_closed),
        }
        for (file, part), is_closed in zip(known, are_closed, strict=True)
    ]


def _describe(clashes: Clashes, row: int) -> dict[str, Any]:
    depth = float(clashes.depths[row])
    return {
        "kind": str(clashes.kinds[row]),
        "parts": clashes.pairs[row].tolist(),
        "gap": float(clashes.gaps[row]),
        "depth": None if math.isnan(depth) else depth,
        "depth_by": str(clashes.depths_by[row]) or None,
        "volume": None if clashes.volumes is None or math.isnan(clashes.volumes[row]) else float(clashes.volumes[row]),
        "outer": {1: 0, -1: 1}.get(int(clashes.inside[row])),  # the first or the second of the two
        "points": clashes.points[row].tolist(),
    }


# ---- What stays the same from report to report ----


def _identities(known: list[tuple[PartFile, Part]]) -> list[str]:
    """Return a text for each part that is the same in the next report: by GlobalId, or by file and name.

    Folders are left out, so that a report of moved files continues. Of equal ones, such as in two files of one name,
    the second and all others get a number.
    """
    seen: Counter[str] = Counter()
    found = []
    for file, part in known:
        name = _text(part.guid) if part.guid else _text(Path(file.source).name, part.name)
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return found


def _text(*words: str) -> str:
    return json.dumps(words)  # ASCII, even of what is no character


def _guid(*words: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, _text(*words)))


def _kept(part: dict[str, Any]) -> dict[str, Any]:
    """Return what is known of a part of a clash that is gone."""
    guid = part["ifc_guid"]
    return {"name": str(part["name"]), "file": str(part["file"]), "ifc_guid": None if guid is None else str(guid)}


class Baseline:
    """An earlier report: its clashes and groups by GUID, each clash with its two parts."""

    def __init__(self, path: Path) -> None:
        require_file(path)
        self.source = str(path)
        shown = clipped(self.source)
        try:
            report = json.loads(path.read_text("utf-8", errors="surrogateescape"))
        except (ValueError, RecursionError) as error:
            raise FileFormatError(f"{shown}: not a JSON file: {clipped(str(error))}") from None
        try:
            parts, listed, self.last_number = report["parts"], report["clashes"], int(report["last_number"])
            self.group_by, groups = report["group_by"], report["groups"] or []
        except (KeyError, TypeError, ValueError):
            raise FileFormatError(f"{shown}: no report of numbered clashes, as write_clashes writes it") from None
        self.clashes: dict[str, dict[str, Any]] = {}
        for place, clash in enumerate(listed):
            try:
                first, second = (_kept(parts[row]) for row in clash["parts"] if row >= 0)
                one, two = clash["points"]
                self.clashes[str(uuid.UUID(clash["guid"]))] = {
                    **{name: clash[name] for name in ("guid", "depth_by", "outer")},
                    "number": int(clash["number"]),
                    "gap": float(clash["gap"]),
                    "depth": None if clash["depth"] is None else float(clash["depth"]),
                    "volume": None if clash["volume"] is None else float(clash["volume"]),
                    "points": [[float(x), float(y), float(z)] for x, y, z in (one, two)],
                    "kind": CLASH_KINDS[CLASH_KINDS.index(clash["kind"])],
                    "status": "gone",
                    "kind_before": clash["kind"],
                    "first": first,
                    "second": second,
                }
            except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
                raise FileFormatError(f"{shown}: clash {place}: {_fault(error)}") from None
        self.groups: dict[str, dict[str, Any]] = {}
        for place, group in enumerate(groups):
            try:
                self.groups[str(uuid.UUID(group["guid"]))] = {
                    **{name: group[name] for name in ("guid", "first", "second", "first_file", "second_file", "kind")},
                    "number": int(group["number"]),
                    "status": "gone",
                    "clashes": [],
                }
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise FileFormatError(f"{shown}: group {place}: {_fault(error)}") from None


def _fault(error: Exception) -> str:
    return f"has no {clipped(str(error))}" if isinstance(error, KeyError) else f"is damaged ({clipped(str(error))})"


# ---- Groups ----


def _groups(
    clashes: Clashes,
    known: list[tuple[PartFile, Part]],
    report: dict[str, Any],
    order: list[int],
    earlier: Baseline | None,
) -> list[dict[str, Any]]:
    """Return the groups, the worst first, and those of the baseline that are no more, if it has the same grouping."""
    group_by = report["group_by"]
    found = clashes.grouped(cell=report["cell_size"]) if group_by == "cell" else clashes.grouped(_keys(known, group_by))
    place_of = {row: place for place, row in enumerate(order)}
    seen: Counter[str] = Counter()
    groups = []
    for group, key in enumerate(found.keys):
        places = [place_of[row] for row in found.rows_of(group).tolist()]
        members = [report["clashes"][place] for place in places]
        if group_by == "cell":
            guid = _guid("cell", repr(report["cell_size"]), *map(str, key))
            first, second, first_file, second_file = f"cell {' '.join(map(str, key))}", None, None, None
        else:
            texts: list[Any] = list(key)
            name = _text(*sorted(_text(Path(file or "").name, label) for file, label in texts))
            seen[name] += 1
            guid = _guid(group_by, name, *([] if seen[name] == 1 else [str(seen[name])]))  # of files of one name
            (first_file, first), (second_file, second) = texts
        is_new = all(clash["status"] == "new" for clash in members)
        groups.append(
            {
                "number": min(clash["number"] for clash in members),
                "guid": guid,
                "status": None if earlier is None else "new" if is_new else "unchanged",
                "first": first,
                "second": second,
                "first_file": first_file,
                "second_file": second_file,
                "kind": members[0]["kind"],
                "clashes": places,
            }
        )
    if earlier is not None and earlier.group_by == group_by:
        still = {group["guid"] for group in groups}
        groups += [group for guid, group in earlier.groups.items() if guid not in still]
    return groups


def _keys(known: list[tuple[PartFile, Part]], group_by: str) -> list[tuple[str | None, str]]:
    """Return the file and the label that parts of one group have in common; of types, the label alone."""
    if group_by not in GROUPINGS:
        raise ValueError(unknown_name("group_by", group_by, GROUPINGS))
    if group_by == "name":
        return [(file.source, part.base_name) for file, part in known]
    if group_by == "parent":
        return [(file.source, part.parent or part.name) for file, part in known]
    if all(part.type is None for _, part in known):
        sources = ", ".join(quoted(file.source) for file in {id(file): file for file, _ in known}.values())
        raise FileFormatError(f"group_by='type' needs types of parts, which only .ifc files have, and not {sources}")
    return [(None, part.type) if part.type else (file.source, Path(file.source).name) for file, part in known]
