"""Products of IFC files as boxes and as parts; part names of glTF files whose numbers lie beside them."""

import json
import re
import zipfile

import numpy as np
import pytest

import broadphase as bp
from broadphase.io import read_boxes, read_parts, write_clashes


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """Two walls that cross, one in an assembly; a space around both; in millimetres."""
    ifcopenshell = pytest.importorskip("ifcopenshell")
    api = pytest.importorskip("ifcopenshell.api")
    model = api.run("project.create_file")
    project = api.run("root.create_entity", model, ifc_class="IfcProject", name="house")
    api.run("unit.assign_unit", model)
    root = api.run("context.add_context", model, context_type="Model")
    body = api.run(
        "context.add_context", model, context_type="Model", context_identifier="Body", target_view="MODEL_VIEW",
        parent=root,
    )  # fmt: skip
    storey = api.run("root.create_entity", model, ifc_class="IfcBuildingStorey", name="ground")
    api.run("aggregate.assign_object", model, products=[storey], relating_object=project)

    def add(kind, name, size, angle, place):
        product = api.run("root.create_entity", model, ifc_class=kind, name=name)
        length, thickness, height = size
        form = api.run(
            "geometry.add_wall_representation", model, context=body, length=length, height=height, thickness=thickness
        )
        api.run("geometry.assign_representation", model, product=product, representation=form)
        matrix = np.eye(4)
        matrix[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        matrix[:3, 3] = place
        api.run("geometry.edit_object_placement", model, product=product, matrix=matrix)
        return product

    north = add("IfcWall", "north", (5, 0.25, 3), 0.0, (0, 0, 0))
    add("IfcWall", None, (5, 0.25, 3), np.pi / 2, (4, -1, 0))
    add("IfcSpace", "room", (5, 4, 3), 0.0, (0, 0, 0))
    frame = api.run("root.create_entity", model, ifc_class="IfcElementAssembly", name="frame")
    api.run("aggregate.assign_object", model, products=[north], relating_object=frame)
    path = tmp_path_factory.mktemp("ifc") / "house.ifc"
    model.write(str(path))
    assert ifcopenshell.open(str(path)).schema.startswith("IFC4")
    return path


def test_ifc_gives_the_box_of_each_product_in_metres(house):
    file = read_boxes(house)
    assert file.row_type == "product"
    assert file.names[0] == "north"
    assert file.names[1].startswith("IfcWall ")
    np.testing.assert_allclose(file.boxes[0], [[0, 0, 0], [5, 0.25, 3]], atol=1e-9)
    np.testing.assert_allclose(file.boxes[1], [[3.75, -1, 0], [4, 4, 3]], atol=1e-9)
    assert bp.pairs(file.boxes).tolist() == [[0, 1]]


def test_ifc_gives_parts_that_clash(house):
    file = read_parts(house)
    assert (len(file.parts), file.unit) == (2, "m")
    assert file.parts[0].parent.startswith("frame ")
    assert file.parts[1].parent is None
    assert [part.type for part in file.parts] == ["IfcWall", "IfcWall"]
    assert file.parts[1].name == f"IfcWall {file.parts[1].guid}"
    assert [len(part.guid) for part in file.parts] == [22, 22]
    meshes = [bp.Mesh(part.vertices, part.faces) for part in file.parts]
    assert all(mesh.is_watertight for mesh in meshes)
    places, turns = [part.position for part in file.parts], [part.rotation for part in file.parts]
    assert bp.clashes(bp.Shapes(meshes, places, turns)).kinds.tolist() == ["penetrates"]
    for part, box in zip(file.parts, read_boxes(house).boxes, strict=True):
        np.testing.assert_allclose(part.placed_vertices().min(axis=0), box[0], atol=1e-9)


@pytest.mark.parametrize("blank", [None, "", " "])
def test_ifc_products_with_a_blank_name_are_named_by_type_and_guid(house, tmp_path, blank):
    model = __import__("ifcopenshell").open(str(house))
    wall = model.by_type("IfcWall")[0]
    wall.Name = blank
    model.write(str(tmp_path / "blank.ifc"))
    assert f"IfcWall {wall.GlobalId}" in [part.name for part in read_parts(tmp_path / "blank.ifc").parts]


def test_ifc_clashes_are_handed_on_with_the_guids_of_the_file(house, tmp_path):
    file = read_parts(house)
    found = bp.clashes(file.parts, parent=[part.parent for part in file.parts])
    write_clashes(tmp_path / "clashes.bcf", found, [file], group_by="type")
    walls = __import__("ifcopenshell").open(str(house)).by_type("IfcWall")
    with zipfile.ZipFile(tmp_path / "clashes.bcf") as archive:
        (markup,) = (archive.read(name).decode() for name in archive.namelist() if name.endswith("markup.bcf"))
        (view,) = (archive.read(name).decode() for name in archive.namelist() if name.endswith("viewpoint.bcfv"))
    assert "<Title>Clash 1: IfcWall – IfcWall</Title>" in markup
    assert set(re.findall('IfcGuid="(.{22})"', view)) == {wall.GlobalId for wall in walls}


@pytest.mark.parametrize("text", [b"", b"nothing", b"ISO-10303-21;\nHEADER;\nnothing"])
def test_ifc_that_is_damaged_names_the_file(tmp_path, text):
    pytest.importorskip("ifcopenshell")
    path = tmp_path / "house.ifc"
    path.write_bytes(text)
    for read in (read_boxes, read_parts):
        with pytest.raises(bp.errors.FileFormatError, match=r"house\.ifc: "):
            read(path)


def test_ifc_without_the_library_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ifcopenshell", None)
    with pytest.raises(
        bp.errors.MissingExtraError, match=r'reading \.ifc files needs ifcopenshell: pip install "broadphase\[ifc\]"'
    ):
        read_boxes(tmp_path / "house.ifc")


def test_gltf_with_numbers_beside_it_keeps_the_names_of_parts(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    scene = trimesh.Scene()
    for name, x in (("front wheel", 0.0), ("rear wheel", 10.0)):
        pose = trimesh.transformations.translation_matrix([x, 0, 0])
        scene.add_geometry(trimesh.creation.box((1, 1, 1)), node_name=name, geom_name="wheel", transform=pose)
    for name, content in trimesh.exchange.gltf.export_gltf(scene).items():
        (tmp_path / name).write_bytes(content)
    assert "nodes" in json.loads((tmp_path / "model.gltf").read_text("utf-8"))
    parts = {part.name: part for part in read_parts(tmp_path / "model.gltf").parts}
    assert sorted(parts) == ["front wheel", "rear wheel"]
    file = read_boxes(tmp_path / "model.gltf", parts=True)
    places = dict(zip(file.names, file.boxes[:, 0, 0].tolist(), strict=True))
    assert places == {"front wheel": -0.5, "rear wheel": 9.5}
