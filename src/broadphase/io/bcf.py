"""Clashes as BCF, the BIM Collaboration Format of buildingSMART: a topic with a viewpoint for each clash or group."""

from __future__ import annotations

import math
import re
import uuid
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from broadphase.errors import FileFormatError, clipped
from broadphase.io.clash_report import parts_of_clash
from broadphase.io.part_file import metres_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from broadphase.io.part_file import Part, PartFile

    Vector = Sequence[float]
    Box = tuple[Vector, Vector]

__all__ = ["BCF_VERSIONS", "write_bcf"]

BCF_VERSIONS = ("2.1", "3.0")
"""The versions of BCF that `write_clashes` writes, the one that most programs read first."""

_AUTHOR = "broadphase"
_TYPE, _OPEN, _CLOSED = "Clash", "Open", "Closed"
_COLOURS = ("599EDB", "E69E40")  # of the first and the second part, as on the page
_VEIL = "60"  # alpha in front of a colour: what is inside a part is seen through it
_FIELD_OF_VIEW = 60.0  # degrees; version 2.1 allows 45 to 60
_ASPECT = 16 / 9
_ELEVATION = math.radians(30.0)  # of the camera above the horizontal plane through what it looks at
_MOST_LISTED = 100  # clashes in the description of a group


class _Topic(NamedTuple):
    """A clash or a group: its sides are the rows of the parts of either colour, and are empty if it is gone."""

    guid: str
    title: str
    status: str
    labels: list[str]
    description: str
    sources: list[str]
    sides: tuple[list[int], list[int]]
    clashes: list[dict[str, Any]]


def write_bcf(stream: IO[bytes], report: dict[str, Any], files: Sequence[PartFile], version: str) -> None:
    """Write a report of `describe_clashes` of these files as a zip archive of topics.

    References
    ----------
    .. [1] buildingSMART International, "BIM Collaboration Format", versions 2.1 and 3.0,
       https://github.com/buildingSMART/BCF-XML.
    """
    scale = _scale_of(files)
    parts = [part for file in files for part in file.parts]
    boxes: dict[int, Box] = {}
    now = datetime.now(UTC).replace(microsecond=0).isoformat()
    topics = list(_topics(report))
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        is_third = version == "3.0"
        root = _Element("Version", VersionId=version)
        if not is_third:
            _add(root, "DetailedVersion", version)
        archive.writestr("bcf.version", _bytes(root))
        if is_third:
            archive.writestr("extensions.xml", _bytes(_extensions(topics)))
        for topic in topics:
            view = str(uuid.uuid5(uuid.UUID(topic.guid), "viewpoint")) if topic.clashes else None
            archive.mkdir(topic.guid)
            archive.writestr(f"{topic.guid}/markup.bcf", _bytes(_markup(topic, view, now, is_third)))
            if view is not None:
                element = _viewpoint(topic, view, parts, report["parts"], boxes, scale, is_third)
                archive.writestr(f"{topic.guid}/viewpoint.bcfv", _bytes(element))


def _scale_of(files: Sequence[PartFile]) -> float:
    """Return what makes metres of the lengths of the files; those without a unit are taken as metres."""
    for file in files:
        if file.unit is not None:
            try:
                return metres_of(file.unit)
            except ValueError as error:
                raise FileFormatError(f"{clipped(file.source)}: BCF is in metres, and {error}") from None
    return 1.0


# ---- What a topic says ----


def _topics(report: dict[str, Any]) -> Iterator[_Topic]:
    parts, unit = report["parts"], f" {report['unit']}" if report["unit"] else ""
    lines = report["groups"] if report["groups"] is not None else [*report["clashes"], *report["gone"]]
    for line in lines:
        is_gone = line["status"] == "gone"
        if report["groups"] is None:
            members = [] if is_gone else [line]
            labels = [part["name"] for part in parts_of_clash(line, parts)]
            sources = [part["file"] for part in parts_of_clash(line, parts)]
            description = _sentence(line, parts, unit)
        else:
            members = [report["clashes"][place] for place in line["clashes"]]
            labels = [label for label in (line["first"], line["second"]) if label is not None]
            sources = [part["file"] for clash in members for part in parts_of_clash(clash, parts)]
            sources += [source for source in (line["first_file"], line["second_file"]) if source is not None]
            texts = [f"{clash['number']}: {_sentence(clash, parts, unit)}" for clash in members[:_MOST_LISTED]]
            more = [f"and {len(members) - _MOST_LISTED:,} more"] if len(members) > _MOST_LISTED else []
            description = "\n".join([*texts, *more]) or "These parts do not clash any more."
        count = f" ({len(members):,} clashes)" if len(members) > 1 else ""
        yield _Topic(
            line["guid"],
            f"Clash {line['number']}: {' – '.join(labels)}{count}",
            _CLOSED if is_gone else _OPEN,
            [line["kind"], *([line["status"]] if line["status"] else [])],
            description,
            list(dict.fromkeys(Path(source).name for source in sources)),
            _sides(members),
            members,
        )


def _sides(clashes: list[dict[str, Any]]) -> tuple[list[int], list[int]]:
    """Put each part on one of two sides, the parts of a clash on different ones where possible, such as all bolts."""
    side_of: dict[int, int] = {}
    for clash in clashes:
        first, second = clash["parts"]
        side_of.setdefault(first, 1 - side_of.get(second, 1))
        side_of.setdefault(second, 1 - side_of[first])
    return [row for row, side in side_of.items() if side == 0], [row for row, side in side_of.items() if side == 1]


def _sentence(clash: dict[str, Any], parts: list[dict[str, Any]], unit: str) -> str:
    first, second = parts_of_clash(clash, parts)
    pair = f"{first['name']} ({Path(first['file']).name}) and {second['name']} ({Path(second['file']).name})"
    if clash["status"] == "gone":
        return f"{pair} do not clash any more; they were: {clash['kind']}."
    if clash["depth"] is not None:
        depth = f"depth {clash['depth']:.6g}{unit}, measured by {clash['depth_by']}"
        volume = "" if clash["volume"] is None else f"; volume {clash['volume']:.6g}{unit and f'{unit}³'}"
        return f"{clash['kind']}: {pair}, {depth}{volume}."
    return f"{clash['kind']}: {pair}, gap {clash['gap']:.6g}{unit}."


# ---- Its files ----


def _extensions(topics: list[_Topic]) -> _Element:
    """Return which words topics use: version 3.0 wants them in a file."""
    root = _Element("Extensions")
    labels = sorted({label for topic in topics for label in topic.labels})
    for plural, single, words in (
        ("TopicTypes", "TopicType", [_TYPE]),
        ("TopicStatuses", "TopicStatus", [_OPEN, _CLOSED]),
        ("TopicLabels", "TopicLabel", labels),
        ("Users", "User", [_AUTHOR]),
    ):
        outer = _add(root, plural)
        for word in words:
            _add(outer, single, word)
    return root


def _markup(topic: _Topic, view: str | None, now: str, is_third: bool) -> _Element:
    root = _Element("Markup")
    if topic.sources:  # of a cell that is empty by now, none is known
        header = _add(root, "Header")
        listed = _add(header, "Files") if is_third else header
    for source in topic.sources:
        file = _add(listed, "File", **{"IsExternal" if is_third else "isExternal": "true"})
        _add(file, "Filename", source)
    about = _add(root, "Topic", Guid=topic.guid, TopicType=_TYPE, TopicStatus=topic.status)
    _add(about, "Title", topic.title)
    words = _add(about, "Labels") if is_third else about
    for label in topic.labels:
        _add(words, "Label" if is_third else "Labels", label)
    _add(about, "CreationDate", now)
    _add(about, "CreationAuthor", _AUTHOR)
    _add(about, "Description", topic.description)
    if view is not None:
        place = _add(_add(about, "Viewpoints"), "ViewPoint", Guid=view) if is_third else _add(
            root, "Viewpoints", Guid=view
        )  # fmt: skip
        _add(place, "Viewpoint", "viewpoint.bcfv")
    return root


def _viewpoint(
    topic: _Topic,
    view: str,
    parts: Sequence[Part],
    described: list[dict[str, Any]],
    boxes: dict[int, Box],
    scale: float,
    is_third: bool,
) -> _Element:
    root = _Element("VisualizationInfo", Guid=view)
    _add_components(_add(root, "Components"), topic, described, is_third)
    for row in [*topic.sides[0], *topic.sides[1]]:
        if row not in boxes:
            vertices = parts[row].placed_vertices()
            boxes[row] = vertices.min(axis=0).tolist(), vertices.max(axis=0).tolist()
    is_upright = Path(described[topic.clashes[0]["parts"][0]]["file"]).suffix.lower() not in (".glb", ".gltf")
    upwards = (0.0, 0.0, 1.0) if is_upright else (0.0, 1.0, 0.0)  # glTF: the y axis
    camera = _add(root, "PerspectiveCamera")
    at, direction, up = _camera(topic.clashes, boxes, upwards)
    for name, vector in (
        ("CameraViewPoint", [scale * one for one in at]), ("CameraDirection", direction), ("CameraUpVector", up),
    ):  # fmt: skip
        element = _add(camera, name)
        for axis, value in zip("XYZ", vector, strict=True):
            _add(element, axis, repr(value))
    _add(camera, "FieldOfView", repr(_FIELD_OF_VIEW))
    if is_third:
        _add(camera, "AspectRatio", repr(_ASPECT))
    return root


def _add_components(root: _Element, topic: _Topic, described: list[dict[str, Any]], is_third: bool) -> None:
    """Select the parts, and show them alone and in two colours if all are known by their GlobalId."""

    def add_parts(element: _Element, rows: Sequence[int]) -> None:
        for row in rows:
            guid, name = _ifc_guid(described[row]), described[row]["name"]
            component = _add(element, "Component", **({"IfcGuid": guid} if guid else {}))
            if not guid and name.strip():
                _add(component, "OriginatingSystem", Path(described[row]["file"]).name)
                _add(component, "AuthoringToolId", name)

    first, second = topic.sides
    rows = [*first, *second]
    are_known = all(_ifc_guid(described[row]) for row in rows)
    add_parts(_add(root, "Selection"), rows)
    visibility = _add(root, "Visibility", DefaultVisibility="false" if are_known else "true")
    if not are_known:
        return
    add_parts(_add(visibility, "Exceptions"), rows)
    outer = {clash["parts"][clash["outer"]] for clash in topic.clashes if clash["outer"] is not None}
    colouring = _add(root, "Coloring")
    for colour, side in zip(_COLOURS, (first, second), strict=True):
        for veil in ("", _VEIL):
            wanted = [row for row in side if (row in outer) == bool(veil)]
            if wanted:
                element = _add(colouring, "Color", Color=f"{veil}{colour}")
                add_parts(_add(element, "Components") if is_third else element, wanted)


def _ifc_guid(part: dict[str, Any]) -> str | None:
    guid = part["ifc_guid"]
    return guid if guid and re.fullmatch(r"[0-3][0-9A-Za-z_$]{21}", guid) else None


def _camera(clashes: Sequence[dict[str, Any]], boxes: dict[int, Box], upwards: Vector) -> tuple[Vector, Vector, Vector]:
    """Return where a camera stands, which way it looks, and what is up in the picture.

    It looks at the middle of the space where the clashes are, which is where the boxes of both parts overlap, or what
    is between them; from above at an angle, and across the line from one part to the other, so that neither hides the
    other; from so far away that this space fits into the picture, and a tenth of the smaller part at least. A topic has
    few numbers, for which calls of NumPy would take most of the time.
    """
    corners: list[Vector] = []
    least = 0.0
    for clash in clashes:
        one, two = (boxes[row] for row in clash["parts"])
        corners += [list(map(max, one[0], two[0])), list(map(min, one[1], two[1])), *clash["points"]]
        least = max(least, 0.1 * min(math.dist(*one), math.dist(*two)))
    lower, upper = ([extreme(column) for column in zip(*corners, strict=True)] for extreme in (min, max))
    radius = max(math.dist(lower, upper) / 2, least / 2)
    start, end = clashes[0]["points"]
    if not clashes[0]["gap"] > 0:
        start, end = (
            [low / 2 + high / 2 for low, high in zip(*boxes[row], strict=True)] for row in clashes[0]["parts"]
        )
    across = _cross(upwards, [b - a for a, b in zip(start, end, strict=True)])
    front = _cross(upwards, [1.0 - one for one in upwards])  # a corner view, where one part is above the other
    side = _unit(across if math.hypot(*across) > 1e-9 * radius else front)
    if _dot(side, front) < 0:
        side = [-one for one in side]
    back = [s * math.cos(_ELEVATION) + u * math.sin(_ELEVATION) for s, u in zip(side, upwards, strict=True)]
    distance = 1.2 * radius / math.sin(math.radians(_FIELD_OF_VIEW / 2))
    at = [low / 2 + high / 2 + distance * b for low, high, b in zip(lower, upper, back, strict=True)]
    along = _dot(upwards, back)
    return at, [-one for one in back], _unit([u - along * b for u, b in zip(upwards, back, strict=True)])


def _dot(one: Vector, two: Vector) -> float:
    return sum(a * b for a, b in zip(one, two, strict=True))


def _cross(one: Vector, two: Vector) -> list[float]:
    (a, b, c), (x, y, z) = one, two
    return [b * z - c * y, c * x - a * z, a * y - b * x]


def _unit(vector: Vector) -> list[float]:
    length = math.hypot(*vector)
    return [one / length for one in vector]


# ---- XML ----


class _Element:
    """An element of an XML file, with a text or with elements: ElementTree takes five times as long to write them."""

    __slots__ = ("attributes", "children", "name", "text")

    def __init__(self, name: str, **attributes: str) -> None:
        self.name, self.attributes, self.text = name, attributes, ""
        self.children: list[_Element] = []

    def write(self, lines: list[str], margin: str = "") -> None:
        """Append the lines of the element."""
        head = f"{margin}<{self.name}{''.join(f' {name}={quoteattr(one)}' for name, one in self.attributes.items())}"
        if self.children:
            lines.append(f"{head}>")
            for child in self.children:
                child.write(lines, f"{margin}  ")
            lines.append(f"{margin}</{self.name}>")
        else:
            lines.append(f"{head}>{escape(self.text)}</{self.name}>" if self.text else f"{head} />")


def _add(parent: _Element, name: str, text: str = "", **attributes: str) -> _Element:
    element = _Element(name, **attributes)
    element.text = _NO_XML.sub(lambda one: ascii(one[0])[1:-1], text)
    parent.children.append(element)
    return element


_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not have, even escaped."""


def _bytes(root: _Element) -> bytes:
    lines = ["<?xml version='1.0' encoding='utf-8'?>"]
    root.write(lines)
    return "\n".join(lines).encode()
