"""BCF files of clashes: valid by the rules of both versions, with stable GUIDs and cameras that see the clash."""

import math
import os
import re
import subprocess
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest

import broadphase as bp
from broadphase.io import Part, PartFile, write_clashes
from mesh_files import BOX, BOX_FACES

VERTICES, FACES = np.array(BOX, float) - np.mean(BOX, axis=0), np.array(BOX_FACES)
SIZE = np.ptp(VERTICES, axis=0)
GUIDS = ["2O2Fr$t4X7Zf8NOew3FLOH", "1hOSvn6df7F8_7GcBWlRGQ", "0K7w7jY3bD_fZ4Vqk1s9aB", "3vB2YO$MX4xv5uCqZZG05x"]
VERSIONS = ("2.1", "3.0")


def part(name, place, scale=1.0, **more):
    return Part(name, VERTICES * scale, FACES, np.asarray(place, float) * SIZE, np.eye(4)[0], None, **more)


def house(suffix=".ifc"):
    """A wall, a pipe in it, another pipe near that, and a stone inside the wall; all are far from the origin."""
    known = [{"guid": guid} if suffix == ".ifc" else {} for guid in GUIDS]
    parts = [
        part("wall", (100, 50, 3), **known[0]), part("pipe & <duct>", (100.5, 50, 3), **known[1]),
        part("pipe (2)", (101.6, 50, 3), **known[2]), part("stone", (99.8, 50, 3), 0.01, **known[3]),
    ]  # fmt: skip
    return [PartFile(parts[:2], f"folder/one{suffix}", "m"), PartFile(parts[2:], f"two{suffix}", "m")]


def written(path, files, clearance=0.0, **options):
    found = bp.clashes([one for file in files for one in file.parts], clearance=clearance)
    write_clashes(path, found, files, **options)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def topics_of(content):
    """The root of the markup and that of the viewpoint, if there is one, of each topic."""
    names = [name for name in content if name.endswith("/markup.bcf")]
    read = ElementTree.fromstring
    return {
        name.split("/")[0]: (
            read(content[name]),
            read(content[view]) if (view := name.replace("markup.bcf", "viewpoint.bcfv")) in content else None,
        )
        for name in names
    }


def names_in(element):
    return [one.tag for one in element]


ORDERS = {  # of elements, by version, from the published documentation
    "2.1": {
        "Markup": ["Header", "Topic", "Comment", "Viewpoints"], "Header": ["File"],
        "Topic": ["ReferenceLink", "Title", "Priority", "Index", "Labels", "CreationDate", "CreationAuthor",
                  "ModifiedDate", "ModifiedAuthor", "DueDate", "AssignedTo", "Stage", "Description"],
        "VisualizationInfo": ["Components", "OrthogonalCamera", "PerspectiveCamera"],
        "Components": ["ViewSetupHints", "Selection", "Visibility", "Coloring"],
        "PerspectiveCamera": ["CameraViewPoint", "CameraDirection", "CameraUpVector", "FieldOfView"],
    },
    "3.0": {
        "Markup": ["Header", "Topic"], "Header": ["Files"],
        "Topic": ["ReferenceLinks", "Title", "Priority", "Index", "Labels", "CreationDate", "CreationAuthor",
                  "ModifiedDate", "ModifiedAuthor", "DueDate", "AssignedTo", "Stage", "Description", "BimSnippet",
                  "DocumentReferences", "RelatedTopics", "Comments", "Viewpoints"],
        "VisualizationInfo": ["Components", "OrthogonalCamera", "PerspectiveCamera"],
        "Components": ["Selection", "Visibility", "Coloring"],
        "PerspectiveCamera": ["CameraViewPoint", "CameraDirection", "CameraUpVector", "FieldOfView", "AspectRatio"],
    },
}  # fmt: skip
FORMS = {"Guid": r"[a-f0-9]{8}(-[a-f0-9]{4}){3}-[a-f0-9]{12}", "IfcGuid": r"[0-9A-Za-z_$]{22}",
         "Color": r"([0-9A-F]{2})?[0-9A-F]{6}", "TopicType": ".+", "TopicStatus": "Open|Closed",
         "DefaultVisibility": "true|false", "isExternal": "true", "IsExternal": "true"}  # fmt: skip
NEEDED = {"Topic": {"Guid", "TopicType", "TopicStatus"}, "VisualizationInfo": {"Guid"}, "ViewPoint": {"Guid"}}


def check(root, version):
    """Elements are in their order, attributes have their forms, and what is needed is there."""
    for element in root.iter():
        order = ORDERS[version].get(element.tag)
        if order is not None and "Component" not in names_in(element):  # in colours of 3.0, Components are a list
            assert [order.index(name) for name in names_in(element)] == sorted(map(order.index, names_in(element)))
        assert element.tag not in ("Header", "Selection", "Exceptions", "Color") or len(element) > 0
        assert NEEDED.get(element.tag, set()) <= element.attrib.keys()
        for name, value in element.attrib.items():
            assert re.fullmatch(FORMS[name], value)
        if not len(element) and element.text is not None:
            assert element.text.strip()
    if root.tag == "Markup":
        topic = root.find("Topic")
        assert {"Title", "CreationDate", "CreationAuthor"} <= set(names_in(topic))
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", topic.find("CreationDate").text)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("suffix", [".ifc", ".stl"])
@pytest.mark.parametrize("group_by", [None, "name"])
def test_files_keep_the_rules_of_their_version(version, suffix, group_by, tmp_path):
    content = written(tmp_path / "a.bcf", house(suffix), 1.0, bcf_version=version, group_by=group_by)
    assert ElementTree.fromstring(content["bcf.version"]).attrib == {"VersionId": version}
    assert ("extensions.xml" in content) == (version == "3.0")
    topics = topics_of(content)
    assert len(topics) >= 3
    for guid, (markup, view) in topics.items():
        assert f"{guid}/" in content
        assert markup.find("Topic").get("Guid") == guid
        check(markup, version)
        check(view, version)
        place = markup.find("Viewpoints" if version == "2.1" else "Topic/Viewpoints/ViewPoint")
        assert place.get("Guid") == view.get("Guid") != guid
        assert place.find("Viewpoint").text == "viewpoint.bcfv"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("suffix", [".ifc", ".stl"])
def test_files_are_valid_by_the_published_schemas(version, suffix, tmp_path):
    """BROADPHASE_BCF_XML names a clone of github.com/buildingSMART/BCF-XML, whose licence allows no other copies."""
    etree = pytest.importorskip("lxml.etree")
    clone = os.environ.get("BROADPHASE_BCF_XML")
    if clone is None:
        pytest.skip("BROADPHASE_BCF_XML names no clone of buildingSMART/BCF-XML")
    schemas = {}
    names = ["markup", "visinfo", "version"] + (["extensions", "shared-types"] if version == "3.0" else [])
    for name in names:
        command = ["git", "-C", clone, "show", f"v{version}:Schemas/{name}.xsd"]
        (tmp_path / f"{name}.xsd").write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
    for name in names:
        schemas[name] = etree.XMLSchema(etree.parse(str(tmp_path / f"{name}.xsd")))
    files = house(suffix)
    write_clashes(tmp_path / "1.json", bp.clashes([one for file in files for one in file.parts]), files)
    gone = [files[0], files[1]._replace(parts=[files[1].parts[0]])]
    grid = {"group_by": "cell", "cell_size": 0.1}
    write_clashes(tmp_path / "2.json", bp.clashes([one for file in files for one in file.parts]), files, **grid)
    since = [{"baseline": tmp_path / "1.json"}, {"baseline": tmp_path / "2.json", **grid}]
    for options in ({}, {"group_by": "name"}, grid, *since):
        content = written(tmp_path / "a.bcf", gone, 1.0, bcf_version=version, **options)
        for name, text in content.items():
            kind = {"markup.bcf": "markup", "viewpoint.bcfv": "visinfo", "bcf.version": "version",
                    "extensions.xml": "extensions", "": None}[name.split("/")[-1]]  # fmt: skip
            if kind is not None:
                schemas[kind].assertValid(etree.fromstring(text))


def camera_of(view):
    camera = view.find("PerspectiveCamera")
    return [
        np.array([float(camera.find(f"{name}/{axis}").text) for axis in "XYZ"])
        for name in ("CameraViewPoint", "CameraDirection", "CameraUpVector")
    ]


def angles(view, points):
    """The angle between each point and the middle of the picture, and that of the field of view."""
    at, direction, up = camera_of(view)
    assert np.isclose(np.linalg.norm(direction), 1)
    assert np.isclose(np.linalg.norm(up), 1)
    assert abs(direction @ up) < 1e-12
    rays = np.asarray(points) - at
    cosines = rays @ direction / np.linalg.norm(rays, axis=1)
    return np.degrees(np.arccos(np.clip(cosines, -1, 1))), float(view.find("PerspectiveCamera/FieldOfView").text)


def title(markup):
    return markup.find("Topic/Title").text


@pytest.mark.parametrize(
    ("unit", "scale"), [("m", 1.0), ("mm", 0.001), (None, 1.0), ("inches", 0.0254), ("0.01 * meters", 0.01)]
)
def test_camera_looks_at_the_clash_from_near_by(unit, scale, tmp_path):
    files = [file._replace(unit=unit) for file in house(".stl")]
    by_title = {title(markup): view for markup, view in topics_of(written(tmp_path / "a.bcf", files, 1.0)).values()}
    view = next(view for text, view in by_title.items() if text.endswith("wall – pipe & <duct>"))
    wall, pipe = (one.placed_vertices() for one in files[0].parts)
    begins = np.maximum(wall.min(axis=0), pipe.min(axis=0))
    ends = np.minimum(wall.max(axis=0), pipe.max(axis=0))
    corners = np.stack(np.meshgrid(*zip(begins, ends, strict=True)), axis=-1).reshape(-1, 3) * scale
    off, field = angles(view, corners)
    assert off.max() < field / 2
    at, direction, up = camera_of(view)
    distance = np.linalg.norm(at - corners.mean(axis=0))
    size = np.linalg.norm(np.ptp(corners, axis=0))
    assert size < distance < 3 * size
    assert direction[2] < 0 < up[2]
    assert abs(direction[0]) < 1e-9  # across the line from the wall to the pipe
    near = next(view for text, view in by_title.items() if "pipe & <duct> – pipe (2)" in text)
    ends = np.array([pipe.max(axis=0), files[1].parts[0].placed_vertices().min(axis=0)])
    off, field = angles(near, ends * scale)
    assert off.max() < field / 2


def test_gltf_has_its_y_axis_up(tmp_path):
    for _, view in topics_of(written(tmp_path / "a.bcf", house(".glb"))).values():
        _, direction, up = camera_of(view)
        assert direction[1] < 0 < up[1]


def test_parts_above_each_other_are_seen_from_a_corner(tmp_path):
    files = [PartFile([part("slab", (0, 0, 0)), part("column", (0, 0, 0.9))], "a.stl", "m")]
    ((_, view),) = topics_of(written(tmp_path / "a.bcf", files)).values()
    _, direction, _ = camera_of(view)
    assert np.isclose(abs(direction[0]), abs(direction[1]))
    assert direction[2] < 0


@pytest.mark.parametrize("version", VERSIONS)
def test_components_are_named_by_guid(version, tmp_path):
    topics = topics_of(written(tmp_path / "a.bcf", house(), bcf_version=version))
    by_title = {title(markup).split(": ")[1]: (markup, view) for markup, view in topics.values()}
    markup, view = by_title["wall – pipe & <duct>"]
    assert [one.get("IfcGuid") for one in view.findall("Components/Selection/Component")] == GUIDS[:2]
    assert view.find("Components/Visibility").get("DefaultVisibility") == "false"
    assert [one.get("IfcGuid") for one in view.findall("Components/Visibility/Exceptions/Component")] == GUIDS[:2]
    assert sorted(one.get("IfcGuid") for one in view.find("Components/Coloring").iter("Component")) == sorted(GUIDS[:2])
    assert len(view.findall("Components/Coloring/Color")) == 2
    assert [one.text for one in markup.iter("Filename")] == ["one.ifc"]
    _, view = by_title["wall – stone"]  # the outer one is transparent
    colours = {one.find(".//Component").get("IfcGuid"): one.get("Color") for one in view.iter("Color")}
    assert [len(colours[GUIDS[k]]) for k in (0, 3)] == [8, 6]
    _, view = topics_of(written(tmp_path / "b.bcf", house(".stl"))).popitem()[1]
    assert view.find("Components/Visibility").get("DefaultVisibility") == "true"
    assert view.find("Components/Coloring") is None
    for one in view.iter("Component"):
        assert one.attrib == {}
        assert one.find("AuthoringToolId").text in ("wall", "pipe & <duct>", "stone")


def test_guids_stay_and_gone_clashes_are_closed(tmp_path):
    files = house()
    first = topics_of(written(tmp_path / "a.bcf", files))
    assert topics_of(written(tmp_path / "b.bcfzip", files)).keys() == first.keys()
    write_clashes(tmp_path / "1.json", bp.clashes([one for file in files for one in file.parts]), files)
    less = [files[0]]
    again = topics_of(written(tmp_path / "c.bcf", less, baseline=tmp_path / "1.json"))
    assert again.keys() == first.keys()
    statuses = {guid: markup.find("Topic").get("TopicStatus") for guid, (markup, _) in again.items()}
    assert sorted(statuses.values()) == ["Closed", "Open"]
    for guid, (markup, view) in again.items():
        assert title(markup) == title(first[guid][0])
        assert (view is None) == (statuses[guid] == "Closed")
    labels = {one.text for markup, _ in again.values() for one in markup.iter("Labels")}
    assert labels == {"penetrates", "contains", "unchanged", "gone"}


@pytest.mark.parametrize("version", VERSIONS)
def test_cells_that_are_empty_by_now_are_closed(version, tmp_path):
    files, grid = house(), {"group_by": "cell", "cell_size": 0.1}
    write_clashes(tmp_path / "1.json", bp.clashes([one for file in files for one in file.parts]), files, **grid)
    less = [PartFile([files[0].parts[0]], "one.ifc", "m")]
    topics = topics_of(written(tmp_path / "a.bcf", less, baseline=tmp_path / "1.json", bcf_version=version, **grid))
    assert len(topics) == 2
    for markup, view in topics.values():
        assert view is None
        assert markup.find("Topic").get("TopicStatus") == "Closed"
        check(markup, version)


def test_many_bolts_of_a_flange_are_one_topic(tmp_path):
    bolts = [part(f"bolt ({k})", (math.sin(k) / 2, math.cos(k) / 2, 0.1), 0.3, guid=f"0{k:021d}") for k in range(120)]
    files = [PartFile([*bolts[:3], part("flange", (0, 0, 0), guid=GUIDS[0]), *bolts[3:]], "a.ifc", "m")]
    found = bp.clashes(files[0].parts, exclude=[("bolt*", "bolt*")])
    assert len(found.pairs) == 120
    write_clashes(tmp_path / "a.bcf", found, files, group_by="name")
    with zipfile.ZipFile(tmp_path / "a.bcf") as archive:
        ((markup, view),) = topics_of({name: archive.read(name) for name in archive.namelist()}).values()
    assert re.fullmatch(r"Clash 1: (bolt – flange|flange – bolt) \(120 clashes\)", title(markup))
    assert markup.find("Topic/Description").text.endswith("\nand 20 more")
    assert len(view.findall("Components/Selection/Component")) == 121
    sides = [[one.get("IfcGuid") for one in colour.iter("Component")] for colour in view.iter("Color")]
    assert sorted(map(len, sides)) == [1, 120]


def test_names_that_xml_cannot_hold_are_escaped(tmp_path):
    files = [PartFile([part("a\x00\x1b\ud800", (0, 0, 0)), part(" ", (0, 0, 0))], "caf\udce9.stl", "m")]
    for version in VERSIONS:
        ((markup, view),) = topics_of(written(tmp_path / "a.bcf", files, bcf_version=version)).values()
        assert "a\\x00\\x1b\\ud800" in title(markup)
        assert [one.text for one in markup.iter("Filename")] == ["caf\\udce9.stl"]
        check(view, version)


def test_what_bcf_cannot_hold_is_an_error(tmp_path):
    files = [file._replace(unit="furlong") for file in house()]
    with pytest.raises(bp.errors.FileFormatError, match=r"one\.ifc: BCF is in metres, and 'furlong'"):
        written(tmp_path / "a.bcf", files)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match=r"unknown bcf_version '2\.0'"):
        written(tmp_path / "a.bcf", house(), bcf_version="2.0")
    with pytest.raises(ValueError, match=r"bcf_version is for \.bcf and \.bcfzip files"):
        written(tmp_path / "a.csv", house(), bcf_version="3.0")


def test_no_clashes_are_a_file_without_topics(tmp_path):
    assert topics_of(written(tmp_path / "a.bcf", [PartFile([part("a", (0, 0, 0))], "a.stl", "m")])) == {}
