"""Parts of .stl files: each solid of a text file is one, and a binary file is one."""

import struct

import numpy as np
import pytest

import broadphase as bp
from broadphase.io import read_boxes, read_parts
from mesh_files import BOX, BOX_FACES, triangles_of


def text_of(name, vertices, end="endsolid"):
    facets = "".join(
        "  facet normal 0 0 0\n    outer loop\n"
        + "".join("      vertex {} {} {}\n".format(*row) for row in np.asarray(vertices)[face].tolist())
        + "    endloop\n  endfacet\n"
        for face in BOX_FACES
    )
    return f"solid {name}\n{facets}" + (f"{end} {name}\n" if end else "")


def binary_of(vertices, header=b"", count=None):
    rows = np.zeros(12, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")]))
    rows["corners"] = vertices[BOX_FACES]
    return header.ljust(80) + struct.pack("<I", 12 if count is None else count) + rows.tobytes()


def read(tmp_path, content):
    path = tmp_path / "file.stl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_parts(path).parts


@pytest.mark.parametrize("end", ["endsolid", ""])
def test_each_solid_of_a_text_file_is_a_part(tmp_path, end):
    solids = [("Vertex solid", BOX), ("bolt", BOX + 0.5), ("bolt", BOX * 0.25 + 0.125), ("", BOX + 9)]
    parts = read(tmp_path, "".join(text_of(name, vertices, end) for name, vertices in solids))
    assert [part.name for part in parts] == ["Vertex solid", "bolt", "bolt (2)", "file"]
    for part, (_, vertices) in zip(parts, solids, strict=True):
        assert triangles_of(part.vertices, part.faces) == triangles_of(vertices, BOX_FACES)
        assert bp.Mesh(part.vertices, part.faces).is_watertight
    found = bp.clashes(parts)
    assert dict(zip(map(tuple, found.pairs.tolist()), found.kinds, strict=True))[0, 1] == "penetrates"
    assert dict(zip(map(tuple, found.pairs.tolist()), found.kinds, strict=True))[0, 2] == "contains"
    assert len(read_boxes(tmp_path / "file.stl", parts=True).boxes) == 4


@pytest.mark.parametrize("header", [b"made by hand", b"solid that is none"])
def test_binary_file_is_one_part(tmp_path, header):
    [part] = read(tmp_path, binary_of(BOX, header))
    assert part.name == "file"
    assert triangles_of(part.vertices, part.faces) == triangles_of(BOX, BOX_FACES)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("vertex 0.0 0.0 0.0\n", "vertex 0.0 x 0.0\n", r"line 4: vertex 0\.0 x 0\.0: a vertex needs three numbers"),
        ("vertex 0.0 0.0 0.0\n", "vertex 0.0 0.0\n", "line 4: .*a vertex needs three numbers"),
        ("vertex 0.0 0.0 0.0\n", "", "line 6: a triangle of solid a has not three vertices"),
        ("outer loop\n", "outer loop vertex 0 0 0\n", "line 3: .*: not one statement of an .stl file"),
        ("facet normal", "face normal", "line 2: .*: not one statement of an .stl file"),
    ],
)
def test_damaged_line_is_named(tmp_path, old, new, message):
    text = text_of("a", BOX)
    assert old in text
    with pytest.raises(bp.errors.FileFormatError, match=rf"file\.stl: {message}"):
        read(tmp_path, text.replace(old, new, 1))


def test_text_that_is_cut_off_is_refused(tmp_path):
    text = text_of("a", BOX)
    with pytest.raises(bp.errors.FileFormatError, match="the last triangle of solid a has not three vertices"):
        read(tmp_path, text[: text.rindex("      vertex")])


def test_binary_file_of_another_length_is_refused_or_named(tmp_path):
    with pytest.raises(bp.errors.FileFormatError, match="declares 13 triangles, which need 734 bytes, and has 684"):
        read(tmp_path, binary_of(BOX, count=13))
    with pytest.warns(bp.errors.PartialFileWarning, match=r"bytes behind the last triangle \(from byte 634 on\)"):
        [part] = read(tmp_path, binary_of(BOX, count=11))
    assert len(part.faces) == 11
    with pytest.raises(bp.errors.FileFormatError, match="too short for a binary one"):
        read(tmp_path, b"PK")
    with pytest.raises(bp.errors.FileFormatError, match="has no triangles"):
        read(tmp_path, "solid a\nendsolid a\n")
