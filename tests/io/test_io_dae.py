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
    assert file.unit == "mm"
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


def test_materials_meshes_and_instances(tmp_path):
    """A node that is instanced is a part at each place; materials have the names of what is bound to their symbols."""
    path = write(tmp_path)
    text = path.read_text()
    library = (
        '<library_effects><effect id="e"><profile_COMMON><technique sid="t"><phong/></technique></profile_COMMON>'
        '</effect></library_effects><library_materials><material id="m" name="rust"><instance_effect url="#e"/>'
        '</material></library_materials><library_nodes><node id="k" name="pin">'
        '<instance_geometry url="#g"><bind_material><technique_common>'
        '<instance_material symbol="red" target="#m"/></technique_common></bind_material>'
        "</instance_geometry></node></library_nodes><library_visual_scenes>"
    )
    text = text.replace("<library_visual_scenes>", library)
    for place, name in ((1, "left"), (2, "right")):
        node = f'<node name="{name}"><translate>0 {place} 0</translate><instance_node url="#k"/></node>'
        text = text.replace("</visual_scene>", node + "</visual_scene>")
    path.write_text(text)
    parts = read_parts(path).parts
    assert [(part.name, part.parent) for part in parts] == [
        ("bolt", "assembly"), ("bolt (2)", "assembly"), ("box", None), ("pin", "left"), ("pin (2)", "right")
    ]  # fmt: skip
    assert [part.placed_vertices()[:, 1].min() for part in parts] == [0, 0, 0, 1, 2]
    assert parts[3].vertices is parts[4].vertices
    [box] = read_parts(path, parts="mesh").parts
    assert (box.name, len(box.faces)) == ("box", 60)
    materials = read_parts(path, parts="material").parts
    assert [(part.name, len(part.faces)) for part in materials[:2]] == [("red", 8), ("blue", 4)]
    assert [part.given_name for part in materials] == ["red", "blue"] * 3 + ["rust", "blue"] * 2
    assert [part.base_name for part in materials if part.parent == "pin"] == ["rust", "blue"]
    assert len(read_parts(path, parts="connected").parts) == 5
