"""Parts of glTF files: every node of the file, once, whole, and in its place; or a word about what is not read."""

import json
import random
import sys

import numpy as np
import pytest

import broadphase as bp
from broadphase.io import read_boxes, read_parts
from mesh_files import BOX, BOX_FACES, Gltf, names_in_runs, triangles_of

SQUARE = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]


def read(tmp_path, made, suffix=".gltf"):
    path = tmp_path / f"file{suffix}"
    path.write_bytes(made.as_gltf() if suffix == ".gltf" else made.as_glb())
    return read_parts(path).parts


def box_in_two(made):
    """Primitives that are the sides of a box, each with vertices of its own."""
    return made.primitive(BOX, BOX_FACES[:5]), made.primitive(BOX, BOX_FACES[5:])


@pytest.mark.parametrize("suffix", [".gltf", ".glb"])
def test_node_of_several_primitives_is_one_closed_part(tmp_path, suffix):
    made = Gltf()
    made.node(*box_in_two(made), name="house")
    small = 0.25 * BOX + 0.5
    made.node(made.primitive(small, BOX_FACES), name="cat")
    house, cat = read(tmp_path, made, suffix)
    assert (house.name, cat.name) == ("house", "cat")
    assert triangles_of(house.vertices, house.faces) == triangles_of(BOX, BOX_FACES)
    assert triangles_of(cat.vertices, cat.faces) == triangles_of(small, BOX_FACES)
    assert bp.Mesh(house.vertices, house.faces).is_watertight
    assert bp.clashes([house, cat]).kinds.tolist() == ["contains"]


def test_primitives_with_the_same_vertices_share_them(tmp_path):
    made = Gltf()
    first = made.primitive(BOX, BOX_FACES[:5])
    second = first | {"indices": made.accessor(np.ravel(BOX_FACES[5:]), "u4")}
    made.node(first, second)
    [part] = read(tmp_path, made)
    np.testing.assert_array_equal(part.vertices, BOX)
    np.testing.assert_array_equal(part.faces, BOX_FACES)


def test_names_are_those_of_the_file_in_its_order_and_numbered_where_they_repeat(tmp_path):
    made = Gltf()
    square = made.primitive(SQUARE, [[0, 1, 2]])
    group = made.node(name="bolt")
    for name in ("bolt", "bolt", "bolt (2)"):
        made.below(group, made.node(square, name=name))
    made.node(square, mesh={"name": "plate"})
    made.node(square)
    made.node(mesh=None, name="nothing")
    made.tree["scenes"][0]["nodes"].reverse()
    parts = read(tmp_path, made)
    assert [part.name for part in parts] == ["bolt", "bolt (3)", "bolt (2)", "plate", "file"]
    assert [part.parent for part in parts] == ["bolt (4)"] * 3 + [None] * 2


def test_names_are_the_same_in_every_run(tmp_path):
    made = Gltf()
    square = made.primitive(SQUARE, [[0, 1, 2]])
    for number in range(20):
        made.node(square, square, name=["a", "b", ""][number % 3], mesh={"name": f"mesh {number % 2}"})
    (tmp_path / "file.gltf").write_bytes(made.as_gltf())
    [names] = names_in_runs(tmp_path / "file.gltf")
    assert names.startswith("['a', 'b', 'mesh 0', 'a (2)', 'b (2)', 'mesh 1', ")


def turned(axis, angle):
    """A rotation about an axis after Rodrigues, and the quaternion (x, y, z, w)."""
    axis = np.array(axis, float) / np.linalg.norm(axis)
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    matrix = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    return matrix, [*(np.sin(angle / 2) * axis), np.cos(angle / 2)]


def test_nodes_are_where_all_nodes_above_place_them(tmp_path):
    made = Gltf()
    matrix, quaternion = turned([1, 2, 3], 0.7)
    square = made.primitive(SQUARE, [[0, 1, 2], [0, 2, 3]])
    top = made.node(name="top", translation=[1, 2, 3], rotation=quaternion)
    middle = made.node(name="middle", matrix=[0, 2, 0, 0, -2, 0, 0, 0, 0, 0, 2, 0, 5, 6, 7, 1])  # columns
    low = made.node(square, name="low", scale=[1, 2, -3], translation=[0, 0, 9])
    twin = made.node(name="twin", mesh=None)
    made.tree["nodes"][twin]["mesh"] = made.tree["nodes"][low]["mesh"]
    made.below(middle, low)
    made.below(top, middle)
    parts = {part.name: part for part in read(tmp_path, made)}
    quarter = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    expected = ((np.array(SQUARE) * [1, 2, -3] + [0, 0, 9]) @ (2 * quarter).T + [5, 6, 7]) @ matrix.T + [1, 2, 3]
    np.testing.assert_allclose(parts["low"].placed_vertices(), expected, atol=1e-12)
    np.testing.assert_array_equal(parts["twin"].placed_vertices(), SQUARE)
    assert (parts["low"].parent, parts["twin"].parent) == ("middle", None)
    np.testing.assert_allclose(
        read_boxes(tmp_path / "file.gltf", parts=True).boxes[0],
        [expected.min(axis=0), expected.max(axis=0)],
        atol=1e-12,
    )


def test_nodes_of_one_mesh_have_the_same_arrays(tmp_path):
    made = Gltf()
    made.node(made.primitive(BOX, BOX_FACES), name="a")
    made.node(name="b", translation=[3, 0, 0], mesh=None)
    made.tree["nodes"][1]["mesh"] = 0
    a, b = read(tmp_path, made)
    assert a.vertices is b.vertices
    assert b.position.tolist() == [3, 0, 0]


def test_strips_and_fans_are_read_and_what_joins_strips_is_not_drawn(tmp_path):
    made = Gltf()
    made.node(made.primitive(SQUARE, mode=5), name="strip")
    made.node(made.primitive([*SQUARE, [-1, 0.5, 0]], mode=6), name="fan")
    two = [*SQUARE, [9, 0, 0], [9, 1, 0], [9, 0, 1]]
    made.node(made.primitive(two, [0, 1, 2, 3, 3, 4, 4, 5, 6], mode=5), name="joined")
    strip, fan, joined = read(tmp_path, made)
    assert strip.faces.tolist() == [[0, 1, 2], [1, 3, 2]]
    assert fan.faces.tolist() == [[1, 2, 0], [2, 3, 0], [3, 4, 0]]
    assert joined.faces.tolist() == [[0, 1, 2], [1, 3, 2], [4, 5, 6]]
    assert triangles_of(joined.vertices, joined.faces) == triangles_of(two, [[0, 1, 2], [1, 2, 3], [4, 5, 6]])


def test_instances_are_parts(tmp_path):
    made = Gltf()
    matrix, quaternion = turned([0, 0, 1], np.pi / 2)
    attributes = {
        "TRANSLATION": made.accessor([[0, 0, 0], [5, 0, 0], [9, 0, 0]]),
        "ROTATION": made.accessor([[0, 0, 0, 1], [0, 0, 0, 1], quaternion]),
        "SCALE": made.accessor([[1, 1, 1], [2, 2, 2], [1, 1, 1]]),
    }
    made.node(
        made.primitive(SQUARE, [[0, 1, 2]]), name="tree", translation=[0, 0, 7],
        extensions={"EXT_mesh_gpu_instancing": {"attributes": attributes}},
    )  # fmt: skip
    made.tree["extensionsUsed"] = made.tree["extensionsRequired"] = ["EXT_mesh_gpu_instancing"]
    parts = read(tmp_path, made)
    assert [part.name for part in parts] == ["tree", "tree (2)", "tree (3)"]
    square = np.array(SQUARE, float)[:3]
    for part, expected in zip(parts, (square, 2 * square + [5, 0, 0], square @ matrix.T + [9, 0, 0]), strict=True):
        np.testing.assert_allclose(part.placed_vertices()[part.faces[0]], np.add(expected, [0, 0, 7]), atol=1e-6)


def test_quantized_positions_are_scaled(tmp_path):
    made = Gltf()
    for dtype, most in (("i1", 127), ("u1", 255), ("i2", 32767), ("u2", 65535)):
        for is_normalized in (False, True):
            rows = [[0, 0, 0], [most, 0, 0], [0, most // 2, 0]]
            made.node(
                {"attributes": {"POSITION": made.accessor(rows, dtype, normalized=is_normalized)}},
                name=f"{dtype} {is_normalized}",
            )
    low = made.accessor([[-128, 0, 0], [127, 0, 0], [0, 127, 0]], "i1", normalized=True)
    made.node({"attributes": {"POSITION": low}})
    made.tree["extensionsRequired"] = made.tree["extensionsUsed"] = ["KHR_mesh_quantization"]
    *parts, last = read(tmp_path, made)
    for part, most in zip(parts, np.repeat([127, 255, 32767, 65535], 2), strict=True):
        expected = np.array([[0, 0, 0], [most, 0, 0], [0, most // 2, 0]]) / (most if "True" in part.name else 1)
        np.testing.assert_array_equal(part.vertices, expected)
    assert last.vertices[0, 0] == -1.0


def test_sparse_strided_and_shared_accessors_are_read(tmp_path):
    made = Gltf()
    sparse = {
        "count": 2,
        "indices": {"bufferView": made.view(np.array([1, 2], "<u2").tobytes()), "componentType": 5123},
        "values": {"bufferView": made.view(np.array([[4, 0, 0], [0, 4, 0]], "<f4").tobytes())},
    }
    base = made.accessor([[7, 7, 7]] * 3)
    made.tree["accessors"][base]["sparse"] = sparse
    made.node({"attributes": {"POSITION": base}}, name="changed")
    empty = made.add("accessors", componentType=5126, count=3, type="VEC3", sparse=sparse)
    made.node({"attributes": {"POSITION": empty}}, name="zeros")
    rows = np.arange(3 * 5, dtype="<f4").reshape(3, 5)
    view = made.view(b"\0" * 4 + rows.tobytes(), byteStride=20)
    strided = made.add("accessors", bufferView=view, byteOffset=8, componentType=5126, count=3, type="VEC3")
    made.node({"attributes": {"POSITION": strided}}, name="strided")
    many = made.accessor(np.arange(300).reshape(100, 3))
    made.node({"attributes": {"POSITION": many}, "indices": made.accessor([97, 99, 98], "u1")}, name="few of many")
    changed, zeros, strided, few = read(tmp_path, made)
    assert changed.vertices.tolist() == [[7, 7, 7], [4, 0, 0], [0, 4, 0]]
    assert zeros.vertices.tolist() == [[0, 0, 0], [4, 0, 0], [0, 4, 0]]
    assert strided.vertices.tolist() == [[1, 2, 3], [6, 7, 8], [11, 12, 13]]
    assert few.vertices[few.faces[0]].tolist() == [[291, 292, 293], [297, 298, 299], [294, 295, 296]]
    assert len(few.vertices) == 3


def draco(made, name="KHR_draco_mesh_compression", content=b"DRACO"):
    made.tree["extensionsUsed"] = made.tree["extensionsRequired"] = ["KHR_draco_mesh_compression"]
    positions = made.add("accessors", componentType=5126, count=8, type="VEC3")
    indices = made.add("accessors", componentType=5123, count=36, type="SCALAR")
    extension = {"bufferView": made.view(content), "attributes": {"POSITION": 0}}
    return {"attributes": {"POSITION": positions}, "indices": indices, "extensions": {name: extension}}


def test_draco_is_decompressed_or_refused_by_name(tmp_path, monkeypatch):
    made = Gltf()
    made.node(draco(made))
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "DracoPy", None)
        with pytest.raises(
            bp.errors.MissingExtraError, match=r"file\.gltf: .*KHR_draco_mesh_compression.*broadphase\[draco\]"
        ):
            read(tmp_path, made)
    library = pytest.importorskip("DracoPy")
    with pytest.raises(
        bp.errors.FileFormatError, match=r"mesh 0, primitive 0, compressed by KHR_draco_mesh_compression"
    ):
        read(tmp_path, made)
    made = Gltf()
    made.node(draco(made, content=library.encode(BOX, BOX_FACES.astype(np.uint32), quantization_bits=0)), name="box")
    [box] = read(tmp_path, made)
    np.testing.assert_allclose(triangles_of(box.vertices, box.faces), triangles_of(BOX, BOX_FACES), atol=1e-3)
    assert bp.Mesh(box.vertices, box.faces).is_watertight


def test_extensions_of_looks_may_be_required(tmp_path):
    made = Gltf()
    made.node(made.primitive(SQUARE, [[0, 1, 2]]))
    names = ["KHR_texture_transform", "KHR_materials_unlit", "KHR_lights_punctual", "EXT_texture_webp"]
    made.tree["extensionsUsed"] = made.tree["extensionsRequired"] = names
    assert len(read(tmp_path, made)) == 1


def test_draco_that_is_not_required_is_passed_over_where_there_are_numbers(tmp_path):
    made = Gltf()
    made.node(made.primitive(SQUARE, [[0, 1, 2]], extensions={"KHR_draco_mesh_compression": {"bufferView": 0}}))
    made.tree["extensionsUsed"] = ["KHR_draco_mesh_compression"]
    assert len(read(tmp_path, made)[0].faces) == 1


def of_one(change=lambda tree: None):
    made = Gltf()
    made.node(made.primitive(SQUARE, [[0, 1, 2]]), name="plate")
    change(made.tree)
    return made


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"extensionsRequired": ["X_y"]}, r"needs the extension X_y \(extensionsRequired\)"),
        ({"asset": {"version": "1.0"}}, r"is glTF '1\.0': only glTF 2\.0 is read"),
        ({"asset": None}, "does not say its version"),
        ({"asset": {"version": 2.0}}, r"is glTF 2\.0"),
        ({"accessors": {"a": {}}}, "accessors must be an array"),
        ({"nodes": [{"mesh": 3}]}, "node 0: there is no mesh 3; the file has 1"),
        ({"nodes": [{"mesh": -1}]}, "node 0: there is no mesh -1"),
        ({"nodes": [{"mesh": True}]}, "node 0: there is no mesh True"),
        ({"nodes": [{"mesh": 0, "children": [0]}]}, "node 0 is in the scene twice"),
        ({"nodes": [{"mesh": 0, "name": "n", "translation": [1, 2]}]}, r"node 0 \(n\): translation must be 3 finite"),
        ({"nodes": [{"mesh": 0, "matrix": ["1"] * 16}]}, "node 0: matrix must be 16 finite numbers"),
        ({"nodes": [{"mesh": 0, "scale": [1e308] * 3, "children": [1]}, {"scale": [1e308] * 3}]}, "node 1 is placed"),
        ({"nodes": [{"mesh": 0, "rotation": [0, 0, 0, 0]}]}, "node 0: the rotation .* is not a quaternion"),
        ({"nodes": [{"mesh": 0, "name": 5}]}, "name must be a text"),
        ({"nodes": [7]}, "node 0 is 7, not an object"),
        ({"meshes": [{}]}, "mesh 0: primitives must be an array"),
        ({"meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "mode": 9}]}]}, "primitive 0: there is no mode 9"),
        ({"meshes": [{"primitives": [{"attributes": {"POSITION": 1}}]}]}, "accessor 1 .*type must be VEC3, not 'S"),
        ({"meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 0}]}]}, "type must be SCALAR"),
        ({"scene": 4}, "there is no scene 4"),
        ({"bufferViews": [{"buffer": 0, "byteLength": 9}] * 2}, "accessor 0 needs 48 bytes of bufferView 0"),
        ({"bufferViews": [{"buffer": 0, "byteLength": 999}] * 2}, "bufferView 0 ends at byte 999"),
        ({"bufferViews": [{"buffer": 5, "byteLength": 9}] * 2}, "bufferView 0: there is no buffer 5"),
    ],
)  # fmt: skip
def test_damaged_file_names_the_element(tmp_path, change, message):
    made = of_one(lambda tree: tree.update(change))
    with pytest.raises(bp.errors.FileFormatError, match=rf"file\.gltf: .*{message}"):
        read(tmp_path, made)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"uri": None}, "buffer 0 has no data: its uri is None"),
        ({"uri": "none.bin"}, "buffer 0 is missing: there is no file 'none.bin' beside this one"),
        ({"uri": "../file.bin"}, "buffer 0 is not in the folder"),
        ({"uri": "/etc/passwd"}, "buffer 0 is not in the folder"),
        ({"uri": "https://example.org/a.bin"}, "buffer 0 is not in the folder"),
        ({"uri": "."}, "buffer 0 is missing"),
        ({"uri": "n" * 5000}, "buffer 0 (is missing|cannot be read)"),
        ({"uri": "a%00b"}, "buffer 0 (is missing|cannot be read)"),
        ({"uri": "data:;base64,=x="}, "cannot be decoded"),
        ({"uri": "data:abc"}, "cannot be decoded"),
        ({"uri": "data:,abc"}, "buffer 0 has 3 bytes, and declares"),
        ({"byteLength": "9"}, "buffer 0: byteLength must be an integer"),
    ],
)  # fmt: skip
def test_damaged_buffer_is_named(tmp_path, change, message):
    tree = json.loads(of_one().as_gltf())
    tree["buffers"][0].update(change)
    (tmp_path / "file.gltf").write_text(json.dumps(tree))
    with pytest.raises(bp.errors.FileFormatError, match=rf"file\.gltf: .*{message}"):
        read_parts(tmp_path / "file.gltf")


def test_buffer_beside_the_file_is_read(tmp_path):
    made = of_one()
    tree = json.loads(made.as_gltf())
    tree["buffers"][0]["uri"] = "data/my%20numbers.bin"
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "my numbers.bin").write_bytes(made.body + b"more")
    (tmp_path / "file.gltf").write_text(json.dumps(tree))
    assert triangles_of(*read_parts(tmp_path / "file.gltf").parts[0][1:3]) == triangles_of(SQUARE, [[0, 1, 2]])
    (tmp_path / "data" / "my numbers.bin").write_bytes(made.body[:-1])
    with pytest.raises(bp.errors.FileFormatError, match="buffer 0 has 53 bytes, and declares 54"):
        read_parts(tmp_path / "file.gltf")


def test_indices_beyond_the_vertices_are_refused(tmp_path):
    made = Gltf()
    made.node(made.primitive(SQUARE, [[0, 1, 4]]))
    with pytest.raises(
        bp.errors.FileFormatError, match="mesh 0, primitive 0: a triangle has vertex 4, which does not exist"
    ):
        read(tmp_path, made)


def test_meshopt_without_a_mode_is_refused_by_name(tmp_path):
    made = of_one()
    compressed = {"EXT_meshopt_compression": {"buffer": 0, "byteLength": 4, "byteStride": 12, "count": 4}}
    made.tree["extensionsUsed"] = ["EXT_meshopt_compression"]
    for view in made.tree["bufferViews"]:
        view |= {"buffer": 1, "extensions": compressed}
    tree = json.loads(made.as_gltf())
    tree["buffers"].append({"byteLength": 99, "extensions": {"EXT_meshopt_compression": {"fallback": True}}})
    (tmp_path / "file.gltf").write_text(json.dumps(tree))
    with pytest.raises(bp.errors.FileFormatError, match="bufferView 0, compressed by meshopt: mode must be"):
        read_parts(tmp_path / "file.gltf")


def with_points(made):
    made.tree["meshes"][0]["primitives"].append(made.primitive(SQUARE, mode=0))


def with_lines(made):
    made.node(made.primitive(SQUARE, mode=3), name="wire")


def with_skin(made):
    made.tree["nodes"][0]["skin"] = 0


def with_morph_targets(made):
    made.tree["meshes"][0]["primitives"][0]["targets"] = [{"POSITION": 0}]


def with_another_scene(made):
    made.tree["scenes"].append({"nodes": [made.node(made.primitive(SQUARE, mode=5), name="away")]})
    made.tree["scenes"][0]["nodes"].pop()


def with_a_mesh_of_no_node(made):
    made.add("meshes", primitives=[], name="spare")


def with_a_strange_extension(made):
    made.tree["extensionsUsed"] = ["OMI_physics_shape", "KHR_materials_unlit", "KHR_lights_punctual"]


def with_half_a_triangle(made):
    made.tree["meshes"][0]["primitives"].append(made.primitive(SQUARE))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_points, r"points \(mesh 0, primitive 1\)"),
        (with_lines, r"line strips \(mesh 1, primitive 0\)"),
        (with_skin, r"skins \(node 0 \(plate\)\)"),
        (with_morph_targets, r"morph targets \(mesh 0, primitive 0\)"),
        (with_another_scene, r"nodes outside of the scene \(node 1 \(away\)\)$"),
        (with_a_mesh_of_no_node, r"meshes of no node \(mesh 1 \(spare\)\)"),
        (with_a_strange_extension, r"extensions \(OMI_physics_shape\)$"),
        (with_half_a_triangle, r"corners behind the last triangle \(mesh 0, primitive 1\)"),
    ],
)
def test_what_is_not_read_is_named_by_a_warning(tmp_path, change, message):
    made = of_one()
    change(made)
    with pytest.warns(bp.errors.PartialFileWarning, match=rf"file\.gltf: not read: {message}"):
        parts = read(tmp_path, made)
    assert [part.name for part in parts] == ["plate"]
    with pytest.warns(bp.errors.PartialFileWarning, match=rf"file\.gltf: not read: {message}"):
        read_boxes(tmp_path / "file.gltf")


def test_file_without_triangles_says_what_it_has(tmp_path):
    made = Gltf()
    made.node(made.primitive(SQUARE, mode=1))
    with pytest.raises(bp.errors.FileFormatError, match=r"has no triangles; not read: lines \(mesh 0, primitive 0\)"):
        read(tmp_path, made)


def test_binary_file_of_version_1_is_refused(tmp_path):
    (tmp_path / "file.glb").write_bytes(b"glTF\1\0\0\0" + bytes(40))
    with pytest.raises(bp.errors.FileFormatError, match=r"file\.glb: binary glTF of version 1: only version 2 is read"):
        read_parts(tmp_path / "file.glb")


def test_file_without_scenes_has_all_its_nodes(tmp_path):
    made = of_one()
    del made.tree["scenes"], made.tree["scene"]
    assert [part.name for part in read(tmp_path, made)] == ["plate"]


VALUES = (
    None, -1, 0, 1, 2, 3, 1e308, 2**31, 2**53, 10**400, True, "", "x", [], {}, [0], [[]], {"a": 1}, 0.5, float("nan"),
    5126, 5121, 5125, "VEC3", "SCALAR", 5, 6, "data:,", "..", [1, 2, 3], 1e9,
)  # fmt: skip


def places(tree, above=()):
    """Every place of a tree of JSON, as the keys that lead to it."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield (*above, key)
        yield from places(value, (*above, key))


def changed(rng, tree):
    """A tree of JSON with some values lost, doubled, moved or of another kind."""
    tree = json.loads(json.dumps(tree))
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        found = list(places(tree))
        if not found:
            break
        *above, key = rng.choice(found)
        holder = tree
        for one in above:
            holder = holder[one]
        kind = rng.randrange(4)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, list):
            holder.insert(key, json.loads(json.dumps(holder[key])))
        elif kind == 2:
            moved = tree
            for one in rng.choice(found):
                moved = moved[one]
            holder[key] = json.loads(json.dumps(moved))
        else:
            holder[key] = rng.choice(VALUES)
    return tree


def of_all_kinds():
    made = Gltf()
    square = made.primitive(SQUARE, [[0, 1, 2], [0, 2, 3]])
    top = made.node(*box_in_two(made), name="a", translation=[1, 2, 3], rotation=[0, 0, 0, 1], scale=[1, 1, 2])
    made.below(top, made.node(made.primitive(SQUARE, mode=5), made.primitive(SQUARE, mode=6), name="b"))
    moves = {"TRANSLATION": made.accessor([[0, 0, 0], [5, 0, 0]]), "SCALE": made.accessor([[1, 1, 1], [2, 2, 2]])}
    made.node(square, matrix=np.eye(4).ravel().tolist(), extensions={"EXT_mesh_gpu_instancing": {"attributes": moves}})
    sparse = {
        "count": 1,
        "indices": {"bufferView": made.view(bytes([1, 0])), "componentType": 5123},
        "values": {"bufferView": made.view(bytes(12))},
    }
    made.tree["accessors"][square["attributes"]["POSITION"]]["sparse"] = sparse
    made.node({"attributes": {"POSITION": made.accessor([[1, 2, 3], [4, 5, 6], [7, 8, 9]], "i2", normalized=True)}})
    made.tree["extensionsUsed"] = made.tree["extensionsRequired"] = ["EXT_mesh_gpu_instancing"]
    return made


@pytest.mark.filterwarnings("ignore::broadphase.errors.PartialFileWarning")
@pytest.mark.parametrize("seed", range(4))
def test_elements_changed_at_random_are_read_or_refused_by_name(tmp_path, seed):
    rng = random.Random(seed)
    tree = json.loads(of_all_kinds().as_gltf())
    path = tmp_path / "file.gltf"
    read_or_refused = {True: 0, False: 0}
    for _ in range(250):
        path.write_text(json.dumps(changed(rng, tree)))
        message = ""
        try:
            parts = read_parts(path).parts
        except bp.errors.FileFormatError as error:
            message = str(error)
        if message:
            assert message.startswith(str(path)), message
            assert len(message) < len(str(path)) + 1000, message
        else:
            assert len({part.name for part in parts}) == len(parts)
            assert all(np.isfinite(part.vertices).all() and part.faces.max() < len(part.vertices) for part in parts)
        read_or_refused[not message] += 1
    assert min(read_or_refused.values()) > 5
