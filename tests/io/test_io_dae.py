"""Parts of COLLADA files: a node is one part, whatever its materials and the forms of its faces."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.io import read_parts
from mesh_files import BOX, BOX_FACES, names_in_runs, triangles_of

pytest.importorskip("collada")

NUMBERS = " ".join(map(str, BOX.ravel().tolist()))
INPUT = '<input semantic="VERTEX" source="#v" offset="0"/>'
SIDES = "0 3 2 1  4 5 6 7  0 1 5 4  1 2 6 5"
DOCUMENT = """<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="millimetre" meter="0.001"/></asset>
<library_geometries><geometry id="g" name="box"><mesh>
<source id="p"><float_array id="a" count="24">{numbers}</float_array><technique_common>
<accessor source="#a" count="8" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<polylist count="4" material="red">{input}<vcount>4 4 4 4</vcount><p>{sides}</p></polylist>
<triangles count="2" material="blue">{input}<p>2 3 7 2 7 6</p></triangles>
<polygons count="1" material="blue">{input}<p>3 0 4 7</p></polygons>
{more}
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s">
<node id="n1" name="assembly"><translate>0 0 5</translate>
<node id="n2" name="bolt"><scale>2 2 2</scale><instance_geometry url="#g"/></node>
<node id="n3" name="bolt"><translate>9 0 0</translate><instance_geometry url="#g"/></node></node>
<node><instance_geometry url="#g"/></node>
</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>
"""


def write(tmp_path, more="", sides=SIDES):
    path = tmp_path / "file.dae"
    path.write_text(DOCUMENT.format(numbers=NUMBERS, input=INPUT, sides=sides, more=more))
    return path


def test_node_is_one_closed_part_under_its_name(tmp_path):
    file = read_parts(write(tmp_path))
    assert [(part.name, part.parent) for part in file.parts] == [
        ("bolt", "assembly"), ("bolt (2)", "assembly"), ("box", None)
    ]  # fmt: skip
    assert file.unit == "0.001 * meters"
    metres = tmp_path / "metres.dae"
    metres.write_text((tmp_path / "file.dae").read_text().replace('meter="0.001"', 'meter="1"'))
    assert read_parts(metres).unit == "m"  # as of other formats
    for part, place in zip(file.parts, (np.add(2 * BOX, [0, 0, 5]), np.add(BOX, [9, 0, 5]), BOX), strict=True):
        assert len(part.faces) == len(BOX_FACES)
        assert bp.Mesh(part.vertices, part.faces).is_watertight
        np.testing.assert_array_equal(np.unique(part.placed_vertices(), axis=0), np.unique(place, axis=0))
    assert len(triangles_of(file.parts[2].vertices, file.parts[2].faces)) == 12
    assert names_in_runs(tmp_path / "file.dae") == {"['bolt', 'bolt (2)', 'box']"}


def test_lines_are_named_by_a_warning(tmp_path):
    path = write(tmp_path, f'<lines count="1">{INPUT}<p>0 1</p></lines>')
    with pytest.warns(bp.errors.PartialFileWarning, match=r"file\.dae: not read: lines \(geometry g, primitive 3\)"):
        assert len(read_parts(path).parts) == 3


@pytest.mark.parametrize(
    ("old", "new"),
    [("0 3 2 1 ", "0 3 2 99 "), ("0 3 2 1 ", "0 3 2 x "), ("</COLLADA>", ""), ("<vcount>4", "<vcount>9")],
)
def test_damaged_file_is_refused_by_name(tmp_path, old, new):
    path = write(tmp_path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(bp.errors.FileFormatError, match=r"file\.dae: "):
        read_parts(path)


def test_what_is_lost_with_a_damaged_element_is_named_by_a_warning(tmp_path):
    path = write(tmp_path)
    path.write_text(
        path.read_text().replace('<node><instance_geometry url="#g"/>', '<node><instance_geometry url="#h"/>')
    )
    with pytest.warns(bp.errors.PartialFileWarning, match=r"file\.dae: not read: damaged elements \(.*h"):
        assert len(read_parts(path).parts) == 2
