"""Parts of 3MF files: objects where the build places them, also those of other models of the package."""

import zipfile

import numpy as np
import pytest

import broadphase as bp
from broadphase.io import read_boxes, read_parts
from mesh_files import BOX, BOX_FACES, triangles_of

CORE = "http://schemas.microsoft.com/3dmanufacturing/core/2015/02"
PRODUCTION = "http://schemas.microsoft.com/3dmanufacturing/production/2015/06"
RELATIONS = """<?xml version="1.0"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Type="http://schemas.microsoft.com/3dmanufacturing/2013/01/3dmodel" Target="{target}" Id="r0"/>
</Relationships>"""


def mesh(vertices=BOX, faces=BOX_FACES):
    rows = "".join(f'<vertex x="{x!r}" y="{y!r}" z="{z!r}"/>' for x, y, z in np.asarray(vertices).tolist())
    corners = "".join(f'<triangle v1="{a}" v2="{b}" v3="{c}" p1="0"/>' for a, b, c in np.asarray(faces).tolist())
    return f"<mesh><vertices>{rows}</vertices><triangles>{corners}</triangles></mesh>"


def model(resources, build="", attributes='unit="millimeter"'):
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><model xmlns="{CORE}" xmlns:p="{PRODUCTION}" {attributes}>'
        f"<resources>{resources}</resources><build>{build}</build></model>"
    )


def write(path, content, others=(), target="/3D/3dmodel.model"):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("[Content_Types].xml", "<Types/>")
        package.writestr("_rels/.rels", RELATIONS.format(target=target))
        package.writestr(target.lstrip("/"), content)
        for name, text in dict(others).items():
            package.writestr(name, text)
    return path


def at(x, y, z):
    return f'transform="1 0 0 0 1 0 0 0 1 {x} {y} {z}"'


def test_objects_are_parts_where_the_build_places_them(tmp_path):
    resources = (
        f'<object id="1" name="plate" type="model">{mesh()}</object><object id="2">{mesh(BOX / 2)}</object>'
        f'<object id="3" name="pair"><components><component objectid="1"/><component objectid="2" {at(0, 0, 7)}/>'
        f'</components></object><object id="4" name="rest">{mesh()}</object>'
    )
    turned = 'transform="0 2 0 -1 0 0 0 0 1 5 0 0"'  # twice as long along x, which becomes y; then y becomes -x
    build = f'<item objectid="1"/><item objectid="3" {turned} p:UUID="u"/><item objectid="2" {at(9, 9, 9)}/>'
    path = write(tmp_path / "a.3mf", model(resources, build, 'unit="inch"'))
    with pytest.warns(
        bp.errors.PartialFileWarning, match=r"a\.3mf: not read: objects outside of the build \(object 4 \(re"
    ):
        file = read_parts(path)
    assert (file.unit, file.part_type) == ("in", "object")
    assert [(part.name, part.given_name, part.parent) for part in file.parts] == [
        ("plate", "plate", None), ("plate (2)", "plate", "pair"), ("a", None, "pair"), ("a (2)", None, None)
    ]  # fmt: skip

    def turn(vertices):
        return np.stack([5 - vertices[:, 1], 2 * vertices[:, 0], vertices[:, 2]], axis=1)

    places = (BOX, turn(BOX), turn(BOX / 2 + [0, 0, 7]), BOX / 2 + 9)
    for part, expected in zip(file.parts, places, strict=True):
        assert triangles_of(part.placed_vertices(), part.faces) == triangles_of(expected, BOX_FACES)


def test_meshes_and_pieces(tmp_path):
    two = np.concatenate([BOX, BOX + 3]), np.concatenate([BOX_FACES, BOX_FACES + 8])
    path = write(
        tmp_path / "a.3mf",
        model(
            f'<object id="1" name="pins">{mesh(*two)}</object>',
            f'<item objectid="1"/><item objectid="1" {at(10, 0, 0)}/>',
        ),
    )
    [pins] = read_parts(path, parts="mesh").parts
    assert (pins.name, len(pins.faces)) == ("pins", 48)
    assert [part.name for part in read_parts(path, parts="connected").parts] == [
        "pins (1)", "pins (2)", "pins (2) (1)", "pins (2) (2)"
    ]  # fmt: skip
    assert len(read_parts(path).parts) == 2
    assert read_boxes(path).boxes.shape == (48, 2, 3)


def test_objects_of_other_models_are_found_by_their_path(tmp_path):
    inner = model(
        f'<object id="1" name="gear">{mesh()}</object>'
        '<object id="2" name="axle"><components><component objectid="1" p:path="/3D/deep/b.model"/></components>'
        "</object>"
    )
    deep = model(f'<object id="1" name="rod">{mesh(BOX / 4)}</object>')
    root = model(
        '<object id="1" name="set" p:UUID="1"><components>'
        f'<component objectid="1" p:path="/3D/a.model" p:UUID="2"/>'
        f'<component objectid="2" p:path="/3d/A.model" {at(4, 0, 0)}/></components></object>',
        f'<item objectid="1"/><item objectid="1" p:path="/3D/a.model" {at(0, 8, 0)} p:UUID="3"/>',
        'requiredextensions="p" unit="meter"',
    )
    others = {"3D/a.model": inner, "3D/deep/b.model": deep}
    file = read_parts(write(tmp_path / "a.3mf", root, others))
    assert [(part.name, part.parent) for part in file.parts] == [("gear", "set"), ("rod", "axle"), ("gear (2)", None)]
    assert [part.placed_vertices().min(axis=0).tolist() for part in file.parts] == [[0, 0, 0], [4, 0, 0], [0, 8, 0]]
    assert file.unit == "m"
    with pytest.raises(
        bp.errors.FileFormatError, match=r"a\.3mf: object 1 \(set\), component 0: there is no 3D/a\.model"
    ):
        read_parts(write(tmp_path / "a.3mf", root))


def test_trimesh_reads_and_writes_the_same(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    pytest.importorskip("lxml")
    pytest.importorskip("networkx")
    scene = trimesh.Scene()
    for name, x in (("a", 0.0), ("b", 5.0)):
        pose = trimesh.transformations.translation_matrix([x, 1, 2])
        scene.add_geometry(trimesh.creation.icosphere(2), node_name=name, geom_name=name, transform=pose)
    (tmp_path / "a.3mf").write_bytes(scene.export(file_type="3mf"))
    parts = read_parts(tmp_path / "a.3mf").parts
    boxes = np.array([[part.placed_vertices().min(axis=0), part.placed_vertices().max(axis=0)] for part in parts])
    np.testing.assert_allclose(boxes.min(axis=(0, 1)), scene.bounds[0], atol=1e-6)
    np.testing.assert_allclose(boxes.max(axis=(0, 1)), scene.bounds[1], atol=1e-6)
    path = write(
        tmp_path / "b.3mf", model(f'<object id="1" name="x">{mesh()}</object>', f'<item objectid="1" {at(3, 4, 5)}/>')
    )
    second = trimesh.load_scene(path)
    [part] = read_parts(path).parts
    np.testing.assert_allclose(second.bounds, [part.placed_vertices().min(axis=0), part.placed_vertices().max(axis=0)])


def test_what_is_left_out_is_named(tmp_path):
    lattice = "http://schemas.microsoft.com/3dmanufacturing/beamlattice/2017/02"
    slices = "http://schemas.microsoft.com/3dmanufacturing/slice/2015/07"
    resources = (
        f'<object id="1" name="a">{mesh()}</object><object id="2" type="support">{mesh()}</object>'
        f'<object id="3" name="l">{mesh().replace("</mesh>", "<b:beamlattice/></mesh>")}</object>'
        f'<object id="4" s:meshresolution="lowres">{mesh()}</object><object id="5" name="e"><mesh/></object>'
    )
    build = "".join(f'<item objectid="{k}"/>' for k in (1, 2, 3, 4, 5))
    attributes = f'xmlns:b="{lattice}" xmlns:s="{slices}" requiredextensions="b s"'
    path = write(tmp_path / "a.3mf", model(resources, build, attributes))
    with pytest.warns(
        bp.errors.PartialFileWarning,
        match=r"not read: beams \(object 3 \(l\)\); slices in place of triangles \(object 4\); supports \(object 2\)",
    ):
        file = read_parts(path)
    assert [part.name for part in file.parts] == ["a", "l", "a (2)"]
    assert (file.unit, file.empty) == ("mm", ("e",))


@pytest.mark.parametrize(
    ("resources", "build", "attributes", "message"),
    [
        ("", '<item objectid="7"/>', "", r"build item 0: there is no object '7' in 3D/3dmodel\.model"),
        ("", "<item/>", "", r"line 1: build item 0: needs an objectid"),
        (
            f'<object id="1" name="n">{mesh(faces=[[0, 1, 8]])}</object>', '<item objectid="1"/>', "",
            r"object 1 \(n\): triangle 0 has vertex 8, which does not exist: there are 8",
        ),
        (f'<object id="1">{mesh(faces=[[0, 1, -1]])}</object>', '<item objectid="1"/>', "", "triangle 0 has vertex -1"),
        (
            '<object id="1"><mesh><vertices><vertex x="0" y="0"/></vertices></mesh></object>', "", "",
            "object 1: vertex 0 needs three numbers",
        ),
        (
            '<object id="1"><mesh><triangles><triangle v1="0" v2="1" v3="x"/></triangles></mesh></object>', "", "",
            "object 1: triangle 0 needs three row numbers",
        ),
        (
            f'<object id="1">{mesh()}</object>', '<item objectid="1" transform="1 0 0"/>', "",
            "build item 0: transform must be 12 finite numbers, not '1 0 0'",
        ),
        (
            '<object id="1"><components><component objectid="1"/></components></object>', '<item objectid="1"/>', "",
            r"object 1, component 0: object 1 holds itself",
        ),
        ('<object id="1"/><object id="1"/>', "", "", "object 1: the id must be there, and once only"),
        ("", "", 'unit="furlong"', "the unit 'furlong' is none of micron, millimeter"),
        ("", "", 'xmlns:q="urn:q" requiredextensions="q"', "needs the extension 'urn:q', which is not read"),
        ("<object", "", "", r"3D/3dmodel\.model: not readable XML"),
        ("", "", "", "has no triangles"),
    ],
)  # fmt: skip
def test_damage_is_named(tmp_path, resources, build, attributes, message):
    path = write(tmp_path / "a.3mf", model(resources, build, attributes))
    with pytest.raises(bp.errors.FileFormatError, match=rf"a\.3mf: .*{message}"):
        read_parts(path)


def test_what_is_no_package_or_grows_without_end_is_refused(tmp_path):
    path = tmp_path / "a.3mf"
    for content in (b"", b"PK\3\4" + bytes(50), bytes(100)):
        path.write_bytes(content)
        with pytest.raises(bp.errors.FileFormatError, match=r"a\.3mf: not a whole \.3mf file"):
            read_parts(path)
    write(path, '<!DOCTYPE x [<!ENTITY a "b">]><model/>')
    with pytest.raises(bp.errors.FileFormatError, match="a document type declaration"):
        read_parts(path)
    write(path, model("<!--" + " " * 30_000_000 + "-->"))
    with pytest.raises(bp.errors.FileFormatError, match="no model is compressed so well"):
        read_parts(path)
    doubled = f'<object id="0" name="a">{mesh()}</object>' + "".join(
        f'<object id="{k}"><components>{f"""<component objectid="{k - 1}"/>""" * 2}</components></object>'
        for k in range(1, 40)
    )
    write(path, model(doubled, '<item objectid="39"/>'))
    with pytest.raises(bp.errors.FileFormatError, match="more than 262,144 objects"):
        read_parts(path)
    whole = write(path, model(f'<object id="1">{mesh()}</object>', '<item objectid="1"/>')).read_bytes()
    rng = np.random.default_rng(0)
    said = []
    for _ in range(300):
        changed = bytearray(whole)
        changed[rng.integers(len(whole))] ^= 1 << int(rng.integers(8))
        path.write_bytes(changed)
        try:
            assert read_parts(path).parts
        except bp.errors.FileFormatError as error:
            said.append(str(error))
    assert said
    assert all("a.3mf: " in text for text in said)
