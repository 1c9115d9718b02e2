"""Boxes of mesh files."""

import numpy as np
import pytest

import broadphase as bp
from broadphase import io
from broadphase.io import read_boxes

trimesh = pytest.importorskip("trimesh")

SUFFIXES = [".obj", ".stl", ".ply", ".glb"]


def corners(file):
    """Boxes in an order that does not depend on the file format."""
    rows = np.round(file.boxes.reshape(len(file.boxes), -1), 5)
    return rows[np.lexsort(rows.T)]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_mesh_gives_the_boxes_of_its_triangles(tmp_path, suffix):
    mesh = trimesh.creation.icosphere(subdivisions=2)
    path = tmp_path / f"ball{suffix}"
    mesh.export(path)
    file = read_boxes(path)
    assert file.boxes.shape == (320, 2, 3)
    assert (file.row_type, file.owners.max()) == ("triangle", 0)
    expected = bp.boxes.from_triangles(mesh.triangles).reshape(320, 6)
    rounded = np.round(expected, 5)
    np.testing.assert_allclose(corners(file), rounded[np.lexsort(rounded.T)], atol=2e-5)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_single_mesh_gives_its_connected_parts(tmp_path, suffix):
    boxes = [trimesh.creation.box(extents=(1, 1, 1)).apply_translation((3 * number, 0, 0)) for number in range(4)]
    path = tmp_path / f"row{suffix}"
    trimesh.util.concatenate(boxes).export(path)
    file = read_boxes(path, parts=True)
    assert file.row_type == "mesh part"
    expected = np.array([[[3 * n - 0.5, -0.5, -0.5], [3 * n + 0.5, 0.5, 0.5]] for n in range(4)])
    np.testing.assert_allclose(file.boxes, expected)


def test_mesh_scene_gives_boxes_at_the_placed_positions(tmp_path):
    scene = trimesh.Scene()
    wheel = trimesh.creation.box(extents=(1, 1, 1))
    for name, x in (("front", 0.0), ("rear", 10.0)):
        scene.add_geometry(
            wheel, node_name=name, geom_name="wheel", transform=trimesh.transformations.translation_matrix([x, 0, 0])
        )
    scene.export(tmp_path / "car.glb")
    file = read_boxes(tmp_path / "car.glb", parts=True)
    assert sorted(file.names) == ["front", "rear"]
    np.testing.assert_allclose(np.sort(file.boxes[:, 0, 0]), [-0.5, 9.5])
    triangles = read_boxes(tmp_path / "car.glb")
    assert triangles.boxes.shape == (24, 2, 3)
    assert triangles.owners.tolist() == [0] * 12 + [1] * 12
    np.testing.assert_array_equal(bp.boxes.merge(triangles.boxes[:12]), file.boxes[0])


def test_long_strip_is_one_part(tmp_path):
    count = 3000
    line = np.stack([np.arange(count), np.zeros(count), np.arange(count) % 2], axis=1).astype(float)
    order = np.random.default_rng(0).permutation(count)
    faces = np.stack([np.arange(count - 2), np.arange(1, count - 1), np.arange(2, count)], axis=1)
    mesh = trimesh.Trimesh(line[order], np.argsort(order)[faces], process=False)
    mesh.export(tmp_path / "strip.ply")
    file = read_boxes(tmp_path / "strip.ply", parts=True)
    np.testing.assert_array_equal(file.boxes, [[[0, 0, 0], [count - 1, 0, 1]]])


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("content", [b"", b"nothing of the kind", bytes(200)])
def test_damaged_mesh_names_the_file(tmp_path, suffix, content):
    path = tmp_path / f"broken{suffix}"
    path.write_bytes(content)
    with pytest.raises(bp.errors.FileFormatError, match=rf"broken\{suffix}: "):
        read_boxes(path)


def test_mesh_of_points_has_no_triangles(tmp_path):
    trimesh.PointCloud(np.zeros((5, 3))).export(tmp_path / "cloud.ply")
    with pytest.raises(bp.errors.FileFormatError, match=r"cloud\.ply: has no triangles"):
        read_boxes(tmp_path / "cloud.ply")


def test_mesh_with_nan_names_face_and_vertex(tmp_path):
    (tmp_path / "bad.obj").write_text("v 0 0 0\nv 1 0 0\nv nan 1 0\nv 0 1 0\nf 1 2 4\nf 1 2 3\n")
    with pytest.raises(bp.errors.FileFormatError, match=r"bad\.obj: faces: row 1 uses vertex \d, which has NaN"):
        read_boxes(tmp_path / "bad.obj")
    with pytest.raises(bp.errors.FileFormatError, match=r"bad\.obj: part bad: vertex 2 is not finite"):
        io.read_parts(tmp_path / "bad.obj")


def test_meshes_without_names_are_called_after_their_file(tmp_path):
    for name in ("block", "bolt"):
        trimesh.creation.box((1, 1, 1)).export(tmp_path / f"{name}.stl")
    assert [part.name for name in ("block", "bolt") for part in io.read_parts(tmp_path / f"{name}.stl").parts] == [
        "block", "bolt"
    ]  # fmt: skip
    scene = trimesh.Scene()
    scene.add_geometry(trimesh.creation.box((1, 1, 1)), node_name="geometry_0", geom_name="geometry_0")
    scene.export(tmp_path / "named.glb")
    assert [part.name for part in io.read_parts(tmp_path / "named.glb").parts] == ["geometry_0"]


PLY = """ply
format ascii 1.0
element vertex 4
property float x
property float y
property float z
element {} 1
property list int int vertex_indices
element edge 1
property int vertex1
property int vertex2
end_header
0 0 0
1 0 0
0 1 0
1 1 0
4 0 1 3 2
0 3
"""


def test_elements_of_ply_that_are_not_faces_are_named(tmp_path):
    (tmp_path / "a.ply").write_text(PLY.format("face"))
    with pytest.warns(bp.errors.PartialFileWarning, match=r"a\.ply: not read: elements of .ply files \(edge\)"):
        [part] = io.read_parts(tmp_path / "a.ply").parts
    assert len(part.faces) == 2
    (tmp_path / "a.ply").write_text(PLY.format("tristrips"))
    with pytest.raises(bp.errors.FileFormatError, match=r"has no triangles; not read: .*\(tristrips and 1 more\)"):
        io.read_parts(tmp_path / "a.ply")


def test_what_trimesh_warns_of_is_named(tmp_path, monkeypatch):
    import logging

    whole = trimesh.load_scene

    def warning(*given, **options):
        logging.getLogger("trimesh").warning("id 9 included but not defined")
        return whole(*given, **options)

    trimesh.creation.box((1, 1, 1)).export(tmp_path / "a.ply")
    monkeypatch.setattr(trimesh, "load_scene", warning)
    with pytest.warns(bp.errors.PartialFileWarning, match=r"a\.ply: not read: what trimesh warns of \(id 9 included"):
        assert len(io.read_parts(tmp_path / "a.ply").parts) == 1


def test_formats_that_trimesh_does_not_read_are_refused_by_name(tmp_path):
    (tmp_path / "rows.csv").write_text("1,2,3,4")
    with pytest.raises(
        bp.errors.FileFormatError, match=r"no meshes are read from \.csv files; known are \.obj, .*\.3mf and others"
    ):
        io.read_parts(tmp_path / "rows.csv")
    (tmp_path / "part.step").write_text("ISO-10303-21;")
    with pytest.raises((bp.errors.MissingExtraError, bp.errors.FileFormatError)) as caught:
        io.read_parts(tmp_path / "part.step")
    assert "None" not in str(caught.value)


def test_parts_of_a_file_are_placed_in_a_list_of_parts(tmp_path):
    scene = trimesh.Scene()
    wheel = trimesh.creation.box((1, 1, 1))
    for name, x in (("front", 0.0), ("rear", 10.0), ("spare", 10.5)):
        pose = trimesh.transformations.translation_matrix([x, 0, 0])
        scene.add_geometry(wheel, node_name=name, geom_name="wheel", transform=pose)
    scene.export(tmp_path / "car.glb")
    file = io.read_parts(tmp_path / "car.glb")
    assert len(repr(file)) < 100
    assert len(repr(file.parts)) < 300
    [(first, second)] = bp.clashes(file.parts).pairs.tolist()
    assert {file.parts[first].name, file.parts[second].name} == {"rear", "spare"}
    assert bp.clearances(file.parts, [trimesh.creation.box((1, 1, 1))], max_distance=0.0).pairs[:, 0].tolist() == [
        [part.name for part in file.parts].index("front")
    ]


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ("block.stl", "read_parts"),
        (["block.stl"], "read_parts"),
        ({"block": bp.Box(1, 1, 1)}, r"list\(parts.values\(\)\)"),
        (trimesh.Scene(trimesh.creation.box((1, 1, 1))), r"scene.dump\(\)"),
        (trimesh.creation.box((1, 1, 1)), "pass a list"),
        (io.PartFile([], "block.stl", None), "pass its parts"),
        (bp.Box(1, 1, 1), "pass a list"),
    ],
)
def test_what_is_near_to_parts_is_refused_with_advice(given, advice):
    with pytest.raises(TypeError, match=advice):
        bp.clashes(given)
